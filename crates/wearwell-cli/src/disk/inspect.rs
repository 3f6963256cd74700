//! `wearwell inspect`: shows what a disk image is, and its state.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use wearwell_serve::disk::{Disk, Inspection, MountReport, SegmentRow};

use super::check_there;
use super::waiting::while_waiting;
use crate::failure::Failure;
use crate::list::table;
use crate::output::{self, Target};
use crate::text::{aligned, bytes, grouped, short};

/// Arguments of `wearwell inspect`.
#[derive(Args)]
pub(crate) struct InspectCommand {
    /// The image; it is not changed, and no server may hold it
    #[arg(value_name = "IMAGE")]
    image: PathBuf,
    /// Also list every segment
    #[arg(long)]
    segments: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The JSON output.
#[derive(Serialize)]
struct Printed {
    #[serde(flatten)]
    inspection: Inspection,
    mount: Mount,
    #[serde(skip_serializing_if = "Option::is_none")]
    segments: Option<Vec<SegmentRow>>,
}

/// What mounting the private copy found.
#[derive(Serialize)]
struct Mount {
    /// None if the layout does not record it.
    clean_shutdown: Option<bool>,
    open_segments: u32,
    rescued_pages: u32,
    undone_segments: u32,
    lost_discards: u32,
    incomplete_segments: u32,
    lost_pages: u32,
    read_only: bool,
}

impl Mount {
    fn new(disk: &Disk, found: MountReport) -> Self {
        Self {
            clean_shutdown: disk.records_shutdowns().then_some(found.clean),
            open_segments: found.open_segments,
            rescued_pages: found.rescued_pages,
            undone_segments: found.undone_segments,
            lost_discards: found.lost_discards,
            incomplete_segments: found.incomplete_segments,
            lost_pages: found.lost_pages,
            read_only: found.read_only,
        }
    }
}

pub(crate) fn inspect(command: &InspectCommand) -> Result<(), Failure> {
    let image = &command.image;
    check_there(image)?;
    let (mut disk, found) = while_waiting(&format!("mounting {}", image.display()), || Disk::open_private(image))?;
    let segments = command.segments.then(|| disk.segments());
    let mount = Mount::new(&disk, found);
    let printed = Printed { inspection: disk.inspect(), mount, segments };
    if command.json {
        return Target::Stdout.write(&output::json(&printed)?);
    }
    Target::Stdout.write(text(&printed).as_bytes())
}

fn text(printed: &Printed) -> String {
    let i = &printed.inspection;
    let mut out = aligned(&summary(i, &printed.mount));
    let mut states = table(&["state", "segments", "valid pages"]);
    for row in &i.states {
        states.add_row([name(&row.state), grouped(u64::from(row.segments)), grouped(row.valid_pages)]);
    }
    out += &format!("\n{states}\n");
    if i.classes.len() > 1 {
        let mut classes = table(&["class", "segments", "valid pages"]);
        for row in &i.classes {
            classes.add_row([row.class.to_string(), grouped(u64::from(row.segments)), grouped(row.valid_pages)]);
        }
        out += &format!("\n{classes}\n");
        if i.engine.r#where.starts_with("by-stream") {
            out += "Each class is of a stream. Which one, flash does not say: the page of the served disk does, once \
                it writes.\n";
        }
    }
    if let Some(rows) = &printed.segments {
        let mut segments = table(&["segment", "state", "valid pages", "of", "erases", "class", "bank"]);
        for row in rows {
            segments.add_row([
                row.segment.to_string(),
                name(&row.state),
                row.valid_pages.to_string(),
                row.pages.to_string(),
                row.erases.to_string(),
                row.class.map(|class| class.to_string()).unwrap_or_default(),
                row.bank.to_string(),
            ]);
        }
        out += &format!("\n{segments}\n");
    }
    out
}

/// A state as it is written in JSON.
fn name(state: &impl Serialize) -> String {
    serde_json::to_value(state).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn summary(i: &Inspection, mount: &Mount) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let mut add = |label: &str, value: String| lines.push((label.to_owned(), value));
    let (c, e, w) = (&i.capacity, &i.engine, &i.wear);
    add("health", i.health.to_string());
    add("image", i.image.as_ref().map(|path| path.display().to_string()).unwrap_or_default());
    let pages = grouped(u64::from(c.pages_per_segment));
    let segments = grouped(u64::from(c.segments));
    add("chip", format!("{}: {segments} segments of {pages} pages of {}", i.chip.name, bytes(f64::from(c.page_bytes))));
    add("engine", format!("{}, layout {}", e.ftl, e.layout));
    match e.ftl.as_str() {
        "page" => add("cleaning", format!("when {}, which {}, where {}, wear {}", e.when, e.which, e.r#where, e.wear)),
        "log-block" => add("recycling", format!("{}, {} log blocks, wear {}", e.recycle, e.log_blocks, e.wear)),
        "fast" => add("recycling", format!("{} log blocks, wear {}", e.log_blocks, e.wear)),
        _ => add("recycling", format!("wear {}", e.wear)),
    }
    if e.reclaim != "at-once" {
        add("reclaiming", e.reclaim.clone());
    }
    if e.aware != "off" {
        add("inference", format!("{}, hold {} s, streams {}", e.aware, short(e.hold_s), e.streams));
    }
    let (op, spare) = (c.op * 100.0, c.spare * 100.0);
    add(
        "capacity",
        format!("{} for the host; over-provisioning {op:.1} %, spare {spare:.1} %", bytes(c.host_bytes as f64)),
    );
    let mapped = i.map.mapped * 100.0;
    add("map", format!("{} pages mapped, {mapped:.1} %; digest {}", grouped(i.map.mapped_pages), i.map.digest));
    add("memory", bytes(i.map.table_bytes as f64));
    add(
        "wear",
        format!(
            "{} to {} erases, mean {}, standard deviation {}; half at most {}, 90 % {}, 99 % {}; {:.2} % of {} used",
            w.erases.min,
            w.erases.max,
            short(w.erases.mean),
            short(w.erases.stddev),
            w.p50,
            w.p90,
            w.p99,
            w.percent_used,
            grouped(u64::from(w.rated))
        ),
    );
    let left = match mount.clean_shutdown {
        Some(true) => "in good order",
        Some(false) => "cut off",
        None => "not recorded",
    };
    let rescued = grouped(u64::from(mount.rescued_pages));
    let worn_out = if mount.read_only { "; worn out, and read-only" } else { "" };
    let open = mount.open_segments;
    if mount.lost_pages > 0 {
        let (pages, segments) = (grouped(u64::from(mount.lost_pages)), mount.incomplete_segments);
        add("damage", format!("{pages} pages are lost; {segments} segments have pages of which nothing can be told"));
    }
    add("last shutdown", format!("{left}; {open} segments were open, {rescued} pages to rescue{worn_out}"));
    lines
}
