//! `wearwell run`: the whole simulator on one line.

use clap::Args;
use comfy_table::CellAlignment;
use wearwell_sim::bound;
use wearwell_sim::engine::OwnPolicies;
use wearwell_sim::run::{self, Counters, Report, ReportConfig};

use crate::args::RunArgs;
use crate::bound::{ends_meet, percent};
use crate::cells::{WINDOW_COLUMNS, window_row};
use crate::failure::{Failure, tell};
use crate::list::table;
use crate::output::{self, Target};
use crate::progress::Bars;
use crate::run_page::{self, Run};
use crate::text::{aligned, bytes, grouped, micros, short};

/// Arguments of `wearwell run`.
#[derive(Args)]
#[command(args_override_self = true)]
pub(crate) struct RunCommand {
    #[command(flatten)]
    run: RunArgs,
    /// Write the report as JSON to FILE, or with - to standard output and nothing else there
    #[arg(long, value_name = "FILE|-")]
    json: Option<Target>,
    /// Write a page with charts of the run to FILE, or with - to standard output and nothing else there
    #[arg(long, value_name = "FILE|-")]
    html: Option<Target>,
    /// Search a bound too, as `wearwell bound` does, and say how much of the gap between single and it this run closes
    #[arg(long)]
    bound: bool,
}

pub(crate) fn run(command: &RunCommand) -> Result<(), Failure> {
    let targets = [&command.json, &command.html];
    output::check_all(&targets)?;
    let config = command.run.config()?;
    let trace = run::load(&config.workload, command.run.device())?;
    let bars = Bars::new();
    // An observed run keeps samples, which costs time and memory. Only the page shows them.
    let (mut report, observation) = match command.html {
        None => (run::run(&config, trace.as_ref(), &mut bars.bar(""))?, None),
        Some(_) => {
            let (report, observation) =
                run::observed(&config, trace.as_ref(), OwnPolicies::default(), &mut bars.bar(""))?;
            (report, Some(observation))
        }
    };
    if command.bound {
        let ends = bound::ends(&config, trace.as_ref(), &mut bars.bar(""))?;
        tell(ends_meet(&ends).as_slice());
        report.gap = ends.gap(&report);
    }
    tell(&command.run.unused(&[config.engine.ftl]));
    tell(&report.warnings);
    let summary = summary(&report);
    // The summary first: where a file cannot be written, the run was not for nothing.
    let told = match targets.into_iter().flatten().any(|target| *target == Target::Stdout) {
        true => Ok(()),
        false => Target::Stdout.write((aligned(&summary) + &windows(&report)).as_bytes()),
    };
    if let (Some(target), Some(observation)) = (&command.html, &observation) {
        let run =
            Run { name: report.config.which.as_ref().unwrap_or(&report.config.ftl), report: &report, observation };
        target.write(run_page::page_of(&[run], &summary).as_bytes())?;
    }
    if let Some(target) = &command.json {
        target.write(&output::json(&report)?)?;
    }
    told
}

/// A report as people read it.
fn summary(report: &Report) -> Vec<Line> {
    let mut lines = Vec::new();
    describe(report, &mut lines);
    lines.push((String::new(), String::new()));
    outcome(report, &mut lines);
    lines
}

/// A label and what it says.
pub(crate) type Line = (String, String);

/// What was run.
pub(crate) fn describe(report: &Report, lines: &mut Vec<Line>) {
    let c = &report.config;
    let mut add = |label: &str, value: String| lines.push((label.to_owned(), value));
    let physical = (c.physical_pages * u64::from(c.page_bytes)) as f64;
    add(
        "chip",
        format!(
            "{}: {} for data, {} segments of {} pages of {}",
            c.chip,
            bytes(physical),
            grouped(u64::from(c.segments)),
            c.pages_per_segment,
            bytes(f64::from(c.page_bytes))
        ),
    );
    add("engine", format!("{}, layout {}, data {}", c.ftl, c.layout, c.data));
    match (&c.when, &c.which, &c.r#where) {
        (Some(when), Some(which), Some(place)) => {
            add("cleaning", format!("when {when}, which {which}, where {place}, wear {}", c.wear));
        }
        _ => add("recycling", recycling(c)),
    }
    add(
        "capacity",
        format!(
            "{} for the host, {} of it filled first; over-provisioning {:.1} %, spare {:.1} %",
            bytes(c.logical as f64),
            c.fill,
            report.op * 100.0,
            report.spare * 100.0
        ),
    );
    if c.aware != "off" {
        let hold = c.hold_s.map(|hold_s| format!(", hold {} s", short(hold_s))).unwrap_or_default();
        add("inference", format!("{}{hold}, streams {}", c.aware, c.streams));
    }
    let unit = c.unit.map(|unit| format!(" in requests of {}", bytes(unit as f64))).unwrap_or_default();
    add("workload", format!("{}: {} written{unit}, seed {}", c.workload, bytes(report.host_bytes as f64), c.seed));
}

/// How an engine without cleaning recycles its blocks.
fn recycling(config: &ReportConfig) -> String {
    let policy = config.recycle.as_ref().map(|recycle| format!("{recycle}, ")).unwrap_or_default();
    let logs = config.log_blocks.map(|logs| format!("{logs} log blocks, ")).unwrap_or_default();
    let reclaim = config.reclaim.as_ref().filter(|reclaim| *reclaim != "at-once");
    let reclaim = reclaim.map(|reclaim| format!("reclaim {reclaim}, ")).unwrap_or_default();
    format!("{policy}{logs}{reclaim}wear {}", config.wear)
}

/// How often block mapping did what, for those that it did; none if nothing was recycled.
fn block_recycling(counters: &Counters) -> Option<String> {
    let counts = [
        (counters.merges, "merges"),
        (counters.switch_merges, "switch merges"),
        (counters.partial_merges, "partial merges"),
        (counters.migrations, "migrations"),
        (counters.folds, "folds"),
    ];
    let done = counts.iter().filter(|(count, _)| *count > 0);
    let texts: Vec<String> = done.map(|(count, what)| format!("{} {what}", grouped(*count))).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

fn outcome(report: &Report, lines: &mut Vec<Line>) {
    let mut add = |label: &str, value: String| lines.push((label.to_owned(), value));
    let counters = &report.counters;
    let pages = format!("pages ÷ pages {:.3} data, {:.3} total", report.wa_data, report.wa_total);
    add("write amplification", format!("{pages}; bytes ÷ bytes {:.3}", report.wa_bytes));
    if let Some(half) = &report.second_half {
        add("in the second half", format!("pages ÷ pages {:.3} data, {:.3} total", half.wa_data, half.wa_total));
    }
    if let Some(gap) = &report.gap {
        let ends = format!("{:.3} with single and {:.3} with {}", gap.single, gap.bound, gap.name);
        add("gap closed", format!("{} of that between {ends}; {:.3} here", percent(gap.closed), gap.run));
    }
    if let Some(requests) = report.requests.filter(|requests| requests.served < requests.read) {
        let [read, served, refused] = [requests.read, requests.served, requests.refused].map(grouped);
        add("requests", format!("{read} read, {served} served, {refused} refused"));
    }
    add("host pages", grouped(report.host_pages));
    match block_recycling(counters) {
        None => {
            add(
                "copied pages",
                format!("{} in {} cleanings", grouped(report.copied_pages), grouped(counters.cleanings)),
            );
        }
        Some(recycled) => add("copied pages", format!("{} in {recycled}", grouped(report.copied_pages))),
    }
    add("erases", format!("{}, {} of them without a copy", grouped(report.erases), grouped(counters.free_erases)));
    let e = &report.erase_count;
    add(
        "erases of a segment",
        format!("{} to {}, mean {}, standard deviation {}", e.min, e.max, short(e.mean), short(e.stddev)),
    );
    if let Some(lifetime) = report.lifetime_host_bytes {
        let endurance = grouped(u64::from(report.config.endurance_cycles));
        add("lifetime", format!("{} of host writes until a block has {endurance} erases", bytes(lifetime)));
    }
    if let (Some(seconds), Some(rate)) = (report.sim_seconds, report.throughput_kib_s) {
        add("simulated time", format!("{} s, {} KiB/s", short(seconds), short(rate)));
    }
    if let Some(l) = &report.latency_us {
        let [mean, p50, p99, p999, max] = [l.mean, l.p50, l.p99, l.p999, l.max].map(micros);
        add("latency", format!("mean {mean}, p50 {p50}, p99 {p99}, p99.9 {p999}, max {max}"));
    }
    add("utilization", format!("{:.1} % of all pages are live", report.utilization * 100.0));
    if let Some(i) = &report.inferred {
        add(
            "inferred",
            format!(
                "{} clusters dead in all, {} of them now; {} spared in time; {} of tables",
                grouped(i.committed_clusters),
                grouped(i.dead_clusters),
                grouped(i.cancelled_clusters),
                bytes(i.table_bytes as f64)
            ),
        );
    }
    if let Some(sectors) = report.verified_sectors {
        let files = report.verified_files.map(|files| format!(", {} files", grouped(files))).unwrap_or_default();
        add("verified", format!("{} sectors{files} read back as written", grouped(sectors)));
    }
    add("map digest", report.map_digest.clone());
    add(
        "simulation speed",
        format!(
            "{:.2} million host pages, {:.2} million programmed pages a second ({} s)",
            report.host_pages_per_wall_second / 1e6,
            report.pages_programmed_per_wall_second / 1e6,
            short(report.wall_seconds)
        ),
    );
}

/// A table of the windows; nothing without any.
pub(crate) fn windows(report: &Report) -> String {
    if report.windows.is_empty() {
        return String::new();
    }
    let mut table = table(&WINDOW_COLUMNS);
    report.windows.iter().for_each(|window| {
        table.add_row(window_row(window));
    });
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    format!("\n{table}\n")
}
