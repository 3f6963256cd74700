//! The state of a served disk, for the page and for metrics.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::path::Path;

use serde::Serialize;
use wearwell::Class;
use wearwell_sim::run::LatencyUs;

use super::class_names::class_name;
use super::clients::{Clients, Connections};
use super::engine::Engine;
use super::errors::Poisoned;
use super::errors::REASONS;
use super::history::Second;
use super::latency::{BOUNDS_US, COMMANDS, Latencies, Snapshot};
use crate::disk::{Condition, Event, Health, SegmentState, Totals};

/// The state that the page polls.
#[derive(Serialize)]
pub(super) struct State {
    name: String,
    /// The health as a readable line.
    health_line: String,
    health: Health,
    /// Microseconds since the server started.
    time_us: u64,
    capacity_bytes: u64,
    chip: String,
    /// The policies in force; none for engines without a choice.
    policies: Option<[String; 4]>,
    page_bytes: u32,
    pages_per_segment: u32,
    rated_erases: u32,
    logical_pages: u64,
    live_pages: u64,
    free_segments: u32,
    host_pages: u64,
    written_bytes: u64,
    read_bytes: u64,
    discarded_pages: u64,
    programmed_pages: u64,
    flash_bytes: u64,
    copied_pages: u64,
    erases: u64,
    cleanings: u64,
    /// Clients of the disk that are connected.
    clients: usize,
    /// State, valid pages, erases and class of every segment.
    segments: Vec<(SegmentState, u32, u32, Option<u8>)>,
    /// The classes of segments that have a name or are in use: the name, and the streams that write to it, as far as
    /// they are known and kept apart.
    classes: BTreeMap<u8, (Option<String>, Vec<u16>)>,
    /// The last events of cleaning, the oldest first.
    events: Vec<Event>,
    /// What the disk did in each second, the oldest first.
    history: Vec<Second>,
}

impl State {
    /// The state now, with the history after a time.
    pub(super) fn of(engine: &Engine, clients: &Clients, after_us: u64) -> Result<Self, Poisoned> {
        // The disk's lock is held for all of it, so that the figures belong to one moment. The locks of clients and
        // history come after it, and nobody takes them the other way round.
        let mut access = engine.access()?;
        let disk = access.disk_mut();
        let health = disk.health();
        let (totals, chip) = (disk.totals(), disk.chip_profile());
        let (stats, limits) = (&totals.stats, &totals.limits);
        let (policies, rows) = (disk.policies(), disk.segments());
        let is_used = |class| rows.iter().any(|row| row.class == Some(class));
        let class = |class| {
            let name = policies.and_then(|now| class_name(now.place, class));
            // Wear leveling has a class under every policy, which is shown only where it is used.
            let is_shown = is_used(class) || (name.is_some() && Class(class) != Class::WEAR);
            is_shown.then(|| (class, (name, disk.streams_of(class))))
        };
        let name = disk.path().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        Ok(Self {
            name: name.unwrap_or_else(|| "a disk in memory".to_owned()),
            health_line: health.to_string(),
            health,
            time_us: engine.now_us(),
            capacity_bytes: disk.bytes(),
            chip: chip.name.clone(),
            policies: policies
                .map(|now| [now.when.to_string(), now.which.to_string(), now.place.to_string(), now.wear.to_string()]),
            page_bytes: disk.page_bytes(),
            pages_per_segment: limits.pages_per_segment,
            rated_erases: chip.endurance_cycles,
            logical_pages: limits.logical_pages,
            live_pages: limits.live_pages,
            free_segments: limits.free_segments,
            host_pages: stats.host_pages,
            written_bytes: totals.host_bytes,
            read_bytes: totals.read_bytes,
            discarded_pages: stats.discarded_pages,
            programmed_pages: stats.programmed_pages(),
            flash_bytes: totals.flash_bytes(),
            copied_pages: stats.copied_pages,
            erases: stats.erases,
            cleanings: stats.cleanings,
            clients: clients.connections().of_disk(),
            segments: rows.iter().map(|row| (row.state, row.valid_pages, row.erases, row.class)).collect(),
            classes: (0..Class::COUNT as u8).filter_map(class).collect(),
            events: disk.events_after(0),
            history: engine.history().after(after_us),
        })
    }
}

/// Metrics in the text format of Prometheus.
struct Metrics(String);

impl Metrics {
    fn begin(&mut self, name: &str, kind: &str, about: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "# HELP wearwell_{name} {about}\n# TYPE wearwell_{name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = writeln!(self.0, "wearwell_{name}{labels} {value}");
    }

    fn one(&mut self, name: &str, kind: &str, about: &str, value: impl Display) {
        self.begin(name, kind, about);
        self.sample(name, "", value);
    }
}

/// All metrics. They count from the time when the disk was opened, except wear, which is the chip's.
pub(super) fn metrics(
    totals: &Totals,
    health: &Health,
    latency_us: Option<LatencyUs>,
    engine: &Engine,
    connections: &Connections,
) -> String {
    let mut out = Metrics(String::new());
    let version = env!("CARGO_PKG_VERSION");
    out.begin("build_info", "gauge", "Always 1; the version is a label.");
    out.sample("build_info", &format!("{{version=\"{version}\"}}"), 1);
    let (stats, limits, wear) = (&totals.stats, &totals.limits, totals.wear());
    out.begin("health", "gauge", "1 for the state that the disk is in, 0 for the others.");
    for state in Condition::ALL {
        let is_it = u8::from(state == health.state);
        out.sample("health", &format!("{{state=\"{}\"}}", state.name()), is_it);
    }
    let about = "Pages whose content was found to be gone, at least.";
    out.one("lost_pages", "gauge", about, health.lost_pages);
    out.one("host_written_bytes_total", "counter", "Bytes that hosts wrote.", totals.host_bytes);
    out.one("host_read_bytes_total", "counter", "Bytes that hosts read.", totals.read_bytes);
    let about = "Bytes programmed, copies and records included.";
    out.one("media_written_bytes_total", "counter", about, totals.flash_bytes());
    out.one("write_amplification", "gauge", "Pages programmed over pages that hosts wrote.", stats.wa_total());
    let about = "Bytes programmed over bytes that hosts wrote.";
    out.one("write_amplification_bytes", "gauge", about, totals.wa_bytes());
    out.one("erases_total", "counter", "Segments erased.", stats.erases);
    out.one("copied_pages_total", "counter", "Pages that cleaning moved.", stats.copied_pages);
    out.one("cleanings_total", "counter", "Victims emptied by copying.", stats.cleanings);
    out.one("live_pages", "gauge", "Mapped pages, those of the discard map included.", limits.live_pages);
    out.one("free_segments", "gauge", "Erased segments that are not open.", limits.free_segments);
    out.one("bad_segments", "gauge", "Segments retired.", health.bad_segments);
    let about = "Segments that may still fail before there are too few.";
    out.one("spare_segments", "gauge", about, health.spare_segments);
    out.begin("segment_erases", "gauge", "Erases that so many percent of the good segments do not exceed.");
    let percentiles =
        [("0", wear.erases.min), ("50", wear.p50), ("90", wear.p90), ("99", wear.p99), ("100", wear.erases.max)];
    for (percentile, erases) in percentiles {
        out.sample("segment_erases", &format!("{{percentile=\"{percentile}\"}}"), erases);
    }
    out.one("percentage_used", "gauge", "Mean erases in percent of the rated ones.", wear.percent_used);
    out.one("available_spare_percent", "gauge", "Spare segments left, in percent.", health.spare_percent);
    out.begin("stream_host_pages_total", "counter", "Pages that hosts wrote, by stream.");
    for stream in &totals.streams {
        out.sample("stream_host_pages_total", &format!("{{stream=\"{}\"}}", stream.id), stream.host_pages);
    }
    requests(&mut out, engine.latencies());
    out.begin("errors_total", "counter", "Requests that were answered with an error, by reason.");
    for (reason, count) in REASONS.iter().zip(engine.errors().counts()) {
        out.sample("errors_total", &format!("{{reason=\"{reason}\"}}"), count);
    }
    out.one("connections_total", "counter", "Connections that have come, of all kinds.", connections.came);
    out.begin("connections", "gauge", "Open connections, by what they are at.");
    for (at, count) in connections.open {
        out.sample("connections", &format!("{{at=\"{at}\"}}"), count);
    }
    if let Some(latency) = latency_us {
        let about = "Seconds on the chip's timeline that so many percent of the commands do not exceed.";
        out.begin("command_seconds", "gauge", about);
        for (percentile, us) in [("50", latency.p50), ("99", latency.p99), ("99.9", latency.p999), ("100", latency.max)]
        {
            out.sample("command_seconds", &format!("{{percentile=\"{percentile}\"}}"), us / 1e6);
        }
    }
    out.0
}

/// The times of requests, for each kind with at least one.
fn requests(out: &mut Metrics, latencies: &Latencies) {
    let name = "request_seconds";
    out.begin(name, "histogram", "Time from when a request is looked at to its reply, by command.");
    for (command, Snapshot { up_to, count, sum_ns }) in COMMANDS.iter().zip(latencies.snapshots()) {
        if count == 0 {
            continue;
        }
        let bounds = BOUNDS_US.map(|bound_us| (bound_us as f64 / 1e6).to_string());
        // The last bucket has to have all requests, by Prometheus's format.
        let buckets = bounds.iter().map(String::as_str).zip(up_to).chain([("+Inf", count)]);
        for (bound, up_to) in buckets {
            out.sample("request_seconds_bucket", &format!("{{command=\"{command}\",le=\"{bound}\"}}"), up_to);
        }
        out.sample("request_seconds_sum", &format!("{{command=\"{command}\"}}"), sum_ns as f64 / 1e9);
        out.sample("request_seconds_count", &format!("{{command=\"{command}\"}}"), count);
    }
}
