//! `wearwell compare`: several policies side by side on one workload.

use clap::Args;
use comfy_table::{CellAlignment, Table};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value};
use wearwell_sim::arguments::{ValueError, compared_by_default};
use wearwell_sim::bound;
use wearwell_sim::engine::{Engine, EngineSpec, OwnPolicies};
use wearwell_sim::run::{self, Observation, Report, RunConfig};
use wearwell_sim::trace::Trace;

use crate::args::{self, RunArgs};
use crate::bound::{ends_meet, percent};
use crate::cells::{RESULT_COLUMNS, results};
use crate::failure::{Failure, tell};
use crate::list::table;
use crate::output::{self, Target};
use crate::progress::Bars;
use crate::run::{describe, windows};
use crate::run_page::{self, Run};
use crate::text::{bytes, micros, short};

/// Arguments of `wearwell compare`.
#[derive(Args)]
#[command(args_override_self = true)]
pub(crate) struct CompareCommand {
    #[command(flatten)]
    run: RunArgs,
    /// Values of --which to compare, all else equal [default, without --with:
    /// greedy,cost-benefit,cat; with log-block its recycling: merge-only,cost-based,optimal]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    policies: Vec<String>,
    /// One more run, with other choices: KEY=VALUE,… where KEY is ftl, layout, when, which, where, wear, recycle,
    /// reclaim, or name for what to call it; may be repeated
    #[arg(long, value_name = "KEY=VALUE,…")]
    with: Vec<String>,
    /// Write all reports as JSON to FILE, or with - to standard output and nothing else there
    #[arg(long, value_name = "FILE|-")]
    json: Option<Target>,
    /// Write all reports as CSV, a row each, to FILE, or with - to standard output and nothing else there
    #[arg(long, value_name = "FILE|-")]
    csv: Option<Target>,
    /// Write a page with charts of all runs to FILE, or with - to standard output and nothing else there
    #[arg(long, value_name = "FILE|-")]
    html: Option<Target>,
    /// Search a bound too, as `wearwell bound` does, and show how much of the gap between single and it each run closes
    #[arg(long)]
    bound: bool,
}

/// One of the runs, and its name.
struct Contender {
    name: String,
    config: RunConfig,
}

impl Contender {
    fn new(name: &str, base: &RunConfig, change: impl FnOnce(&mut EngineSpec)) -> Self {
        let mut config = base.clone();
        change(&mut config.engine);
        Self { name: name.to_owned(), config }
    }
}

/// A report with its name.
#[derive(Serialize)]
pub(crate) struct NamedReport {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) report: Report,
}

pub(crate) fn run(command: &CompareCommand) -> Result<(), Failure> {
    let targets = [&command.json, &command.csv, &command.html];
    // Before the runs, which may take long.
    output::check_all(&targets)?;
    let config = command.run.config()?;
    let contenders = contenders(command, &config)?;
    let trace = run::load(&config.workload, command.run.device())?;
    let (mut reports, observations) = run_all(&contenders, trace.as_ref(), command.html.is_some())?;
    if command.bound {
        let ends = bound::ends(&config, trace.as_ref(), &mut Bars::new().bar("bound"))?;
        tell(ends_meet(&ends).as_slice());
        reports.iter_mut().for_each(|named| named.report.gap = ends.gap(&named.report));
    }
    let ftls: Vec<Engine> = contenders.iter().map(|contender| contender.config.engine.ftl).collect();
    tell(&command.run.unused(&ftls));
    tell(&warnings(&reports));
    if !command.policies.is_empty() && !config.engine.ftl.chooses_victims() {
        tell(&[format!("--policies changes nothing: --ftl {} does not choose victims by them", config.engine.ftl)]);
    }
    // The table is printed first, so that the runs are not lost if a file cannot be written.
    let told = match targets.into_iter().flatten().any(|target| *target == Target::Stdout) {
        true => Ok(()),
        false => Target::Stdout.write(format!("{}\n{}", comparison(&reports), windows_of(&reports)).as_bytes()),
    };
    if let Some(target) = &command.json {
        target.write(&output::json(&reports)?)?;
    }
    if let Some(target) = &command.csv {
        target.write(&csv(&reports)?)?;
    }
    if let Some(target) = &command.html {
        target.write(page(&reports, &observations).as_bytes())?;
    }
    told
}

/// The runs that the flags describe, in their order.
fn contenders(command: &CompareCommand, base: &RunConfig) -> Result<Vec<Contender>, Failure> {
    let mut contenders = Vec::new();
    if command.policies.is_empty() && command.with.is_empty() {
        return by_default(base);
    }
    for name in &command.policies {
        let which = args::which(name).map_err(|why| Failure::Refused(format!("--policies '{name}': {why}")))?;
        contenders.push(Contender::new(name, base, |engine| engine.which = which));
    }
    for text in &command.with {
        let refused = |why: String| Failure::Refused(format!("--with '{text}': {why}"));
        contenders.push(with(text, base.clone()).map_err(refused)?);
    }
    Ok(contenders)
}

/// The default comparison: the engine's choices of victims, or of recycling log blocks.
fn by_default(base: &RunConfig) -> Result<Vec<Contender>, Failure> {
    let ftl = base.engine.ftl;
    let refused = |why: String| Failure::Refused(format!("--ftl {ftl}: {why}"));
    let Some((key, values)) = compared_by_default(ftl) else {
        let why = "it has no policies to compare by default; say what to compare by --with, as in --with ftl=page";
        return Err(refused(why.to_owned()));
    };
    values.into_iter().map(|value| with(&format!("{key}={value}"), base.clone()).map_err(refused)).collect()
}

/// Reads one `--with`.
fn with(text: &str, base: RunConfig) -> Result<Contender, String> {
    let mut contender = Contender { name: String::new(), config: base };
    let mut called = Vec::new();
    for pair in text.split(',') {
        let (key, value) = pair.split_once('=').ok_or_else(|| format!("'{pair}' is not KEY=VALUE"))?;
        let engine = &mut contender.config.engine;
        let text_of = |error: ValueError| error.to_string();
        match key {
            "ftl" => engine.ftl = args::engine(value).map_err(text_of)?,
            "layout" => engine.layout = Some(args::layout(value).map_err(text_of)?),
            "when" => engine.when = Some(args::when(value).map_err(text_of)?),
            "which" => engine.which = args::which(value).map_err(text_of)?,
            "where" => engine.place = args::place(value).map_err(text_of)?,
            "wear" => engine.wear = Some(args::wear(value).map_err(text_of)?),
            "recycle" => engine.recycle = args::recycle(value).map_err(text_of)?,
            "reclaim" => engine.reclaim = args::reclaim(value).map_err(text_of)?,
            "name" => contender.name = value.to_owned(),
            _ => {
                return Err(format!(
                    "'{key}' is not one of ftl, layout, when, which, where, wear, recycle, reclaim, name"
                ));
            }
        }
        called.push(value);
    }
    if contender.name.is_empty() {
        contender.name = called.join(" ");
    }
    Ok(contender)
}

/// The page of all runs.
fn page(reports: &[NamedReport], observations: &[Observation]) -> String {
    let runs = reports.iter().zip(observations);
    let runs: Vec<Run<'_>> =
        runs.map(|(named, observation)| Run { name: &named.name, report: &named.report, observation }).collect();
    let mut lines = Vec::new();
    if let Some(first) = reports.first() {
        describe(&first.report, &mut lines);
        // The compared choices differ between the runs.
        lines.retain(|(label, _)| label != "cleaning" && label != "recycling" && label != "engine");
    }
    run_page::page_of(&runs, &lines)
}

/// Runs them all, as many at a time as there are processors. If some fail, the first in order is reported. Observations
/// are empty unless they are wanted.
fn run_all(
    contenders: &[Contender],
    trace: Option<&Trace>,
    observes: bool,
) -> Result<(Vec<NamedReport>, Vec<Observation>), Failure> {
    let bars = Bars::new();
    let width = contenders.iter().map(|c| c.name.len()).max().unwrap_or(0);
    let once = |contender: &Contender| {
        let mut bar = bars.bar(&format!("{:width$}", contender.name));
        if observes {
            run::observed(&contender.config, trace, OwnPolicies::default(), &mut bar)
        } else {
            run::run(&contender.config, trace, &mut bar).map(|report| (report, Observation::default()))
        }
    };
    // All of them end, in the order of the flags: which error is told must not depend on which run was quicker.
    let results: Vec<_> = contenders.par_iter().map(once).collect();
    let (mut reports, mut observations) = (Vec::new(), Vec::new());
    for (contender, result) in contenders.iter().zip(results) {
        let (report, observation) = result?;
        reports.push(NamedReport { name: contender.name.clone(), report });
        observations.push(observation);
    }
    Ok((reports, observations))
}

/// The windows of each run behind its name; nothing without any.
fn windows_of(reports: &[NamedReport]) -> String {
    let has_any = reports.iter().filter(|named| !named.report.windows.is_empty());
    has_any.map(|named| format!("\n{}{}", named.name, windows(&named.report))).collect()
}

/// What is to be said of the runs: once if it is the same for all, else with their names.
fn warnings(reports: &[NamedReport]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for NamedReport { name, report } in reports {
        for warning in &report.warnings {
            let is_of_all = reports.iter().all(|other| other.report.warnings.contains(warning));
            let line = if is_of_all { warning.clone() } else { format!("{name}: {warning}") };
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// The table: a row for each run.
pub(crate) fn comparison(reports: &[NamedReport]) -> Table {
    let timed = reports.iter().any(|r| r.report.sim_seconds.is_some());
    let has_gap = reports.iter().any(|r| r.report.gap.is_some());
    let mut head = RESULT_COLUMNS.to_vec();
    if has_gap {
        head.push("gap closed");
    }
    if timed {
        head.extend(["KiB/s", "mean", "p99.9"]);
    }
    head.push("tables");
    let mut table = table(&head);
    for NamedReport { name, report } in reports {
        let mut row = results(name, report);
        if has_gap {
            row.push(report.gap.as_ref().map(|gap| percent(gap.closed)).unwrap_or_default());
        }
        if timed {
            row.push(report.throughput_kib_s.map(short).unwrap_or_default());
            row.push(report.latency_us.map(|l| micros(l.mean)).unwrap_or_default());
            row.push(report.latency_us.map(|l| micros(l.p999)).unwrap_or_default());
        }
        row.push(bytes(report.config.table_bytes as f64));
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// The reports as CSV: the fields of the JSON, nested ones joined by a dot.
fn csv(reports: &[NamedReport]) -> Result<Vec<u8>, Failure> {
    let wrong = |what: &dyn std::fmt::Display| Failure::Wrong(format!("CSV: {what}"));
    let mut out = csv::Writer::from_writer(Vec::new());
    for (at, report) in reports.iter().enumerate() {
        let mut fields = Vec::new();
        if let Value::Object(object) = serde_json::to_value(report).map_err(|error| wrong(&error))? {
            flatten("", &object, &mut fields);
        }
        if at == 0 {
            out.write_record(fields.iter().map(|(name, _)| name)).map_err(|error| wrong(&error))?;
        }
        out.write_record(fields.iter().map(|(_, value)| value)).map_err(|error| wrong(&error))?;
    }
    out.into_inner().map_err(|error| wrong(&error))
}

fn flatten(prefix: &str, object: &Map<String, Value>, fields: &mut Vec<(String, String)>) {
    for (name, value) in object {
        let name = format!("{prefix}{name}");
        match value {
            Value::Object(inner) => flatten(&format!("{name}."), inner, fields),
            Value::Null => fields.push((name, String::new())),
            Value::String(text) => fields.push((name, text.clone())),
            other => fields.push((name, other.to_string())),
        }
    }
}
