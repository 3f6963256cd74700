//! `wearwell bound`: what placements that know the future would save on a workload or a trace.

use clap::Args;
use comfy_table::CellAlignment;
use serde::Serialize;
use wearwell_sim::Op;
use wearwell_sim::bound::{self, Bound, Wanted};
use wearwell_sim::run::{self, RunConfig};
use wearwell_sim::trace::Trace;

use crate::args::{RunArgs, workload_or_trace};
use crate::failure::{Failure, tell};
use crate::list::table;
use crate::output::{self, Target};
use crate::progress::Bars;
use crate::text::{aligned, grouped};

/// Arguments of `wearwell bound`.
#[derive(Args)]
#[command(args_override_self = true)]
pub(crate) struct BoundCommand {
    /// The workload, as for `run`, or the file of a trace
    #[arg(value_name = "WORKLOAD|TRACE", required_unless_present = "workload", conflicts_with = "workload")]
    what: Option<String>,
    #[command(flatten)]
    run: RunArgs,
    /// The most groups of nodap, from 2 to 15
    #[arg(long, value_name = "N", default_value_t = 8)]
    groups: u32,
    /// Numbers of open segments for sorted-runs [default: 8,16,32,64, without those that the device has no room for]
    #[arg(long, value_name = "R,…", value_delimiter = ',')]
    open: Vec<u32>,
    /// Write the bounds as JSON to FILE, or with - to standard output and nothing else there
    #[arg(long, value_name = "FILE|-")]
    json: Option<Target>,
}

/// The bounds of a workload, as JSON.
#[derive(Serialize)]
struct Bounds<'a> {
    workload: String,
    chip: &'a str,
    bounds: &'a [Bound],
}

impl BoundCommand {
    /// What was said and changes nothing here, a line each.
    fn unused(&self) -> Vec<String> {
        let said = self.run.said();
        let flags = [
            ("--which", said.engine.which.is_some()),
            ("--where", said.engine.place.is_some()),
            ("--wear", said.engine.wear.is_some()),
            ("--window", said.window_bytes.is_some()),
        ];
        let unused = flags.into_iter().filter(|(_, is_said)| *is_said);
        unused.map(|(flag, _)| format!("{flag} changes nothing with wearwell bound")).collect()
    }
}

pub(crate) fn run(command: &BoundCommand) -> Result<(), Failure> {
    output::check_all(&[&command.json])?;
    let workload = command.what.as_deref().map(workload_or_trace).transpose()?;
    let config = command.run.config_of(workload)?;
    let trace = run::load(&config.workload, command.run.device())?;
    tell(cut_short(&config, trace.as_ref()).as_slice());
    let wanted = Wanted { most_groups: command.groups, open_segments: command.open.clone() };
    let bars = Bars::new();
    let bounds = bound::search(&config, trace.as_ref(), &wanted, &mut bars.bar(""))?;
    // After the search, whose bars would write over it.
    tell(&command.run.unused(&[config.engine.ftl]));
    tell(&command.unused());
    if let Some(target) = &command.json {
        let all = Bounds { workload: config.workload.to_string(), chip: &config.engine.chip.name, bounds: &bounds };
        target.write(&output::json(&all)?)?;
    }
    match &command.json {
        Some(Target::Stdout) => Ok(()),
        _ => Target::Stdout.write(shown(&bounds).as_bytes()),
    }
}

/// What is to be said of a trace that does not run to its end.
fn cut_short(config: &RunConfig, trace: Option<&Trace>) -> Option<String> {
    let writes = trace?.requests.iter().filter(|request| request.op == Op::Write);
    let is_cut = config.write_bytes? < writes.map(|request| request.length_bytes).sum();
    is_cut.then(|| "the trace was cut short: --write ended it".to_owned())
}

/// What is to be said of a gap that is none.
pub(crate) fn ends_meet(ends: &bound::Ends) -> Option<String> {
    let groups = bound::GAP_GROUPS;
    (!ends.are_apart()).then(|| format!("--bound found no gap to close: nodap:{groups} saves nothing against single"))
}

/// The table, and what its rows are.
fn shown(bounds: &[Bound]) -> String {
    let mut table = table(&["placement", "WA, 2nd half", "gap closed", "groups end at, in host pages"]);
    let mut words: Vec<(String, String)> = Vec::new();
    for bound in bounds {
        let ends: Vec<String> = bound.group_ends.iter().map(|&end| grouped(end.into())).collect();
        table.add_row([
            bound.name.clone(),
            format!("{:.3}", bound.wa),
            bound.gap_closed.map(percent).unwrap_or_default(),
            ends.join("  "),
        ]);
        let kind = bound.name.split(':').next().unwrap_or_default();
        // Bounds of one kind follow each other, and are explained once.
        if words.last().is_none_or(|(last, _)| last != kind) {
            words.push((kind.to_owned(), bound.about.to_owned()));
        }
    }
    for column in table.column_iter_mut().skip(1).take(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n{}", aligned(&words))
}

/// A part of the gap.
pub(crate) fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}
