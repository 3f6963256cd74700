//! `wearwell compare`: several policies side by side on one workload.

use clap::Args;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;
use serde_json::{Map, Value};
use wearwell_sim::engine::EngineSpec;
use wearwell_sim::run::{self, Report, RunConfig};
use wearwell_sim::trace::Trace;

use crate::args::{self, RunArgs};
use crate::failure::Failure;
use crate::list::table;
use crate::output::{self, Target};
use crate::parallel::{in_parallel, processors};
use crate::progress::Bars;
use crate::text::{bytes, grouped, micros, short};

/// What is compared if nothing is said.
const DEFAULT_POLICIES: &str = "greedy,cost-benefit,cat";

/// Arguments of `wearwell compare`.
#[derive(Args)]
#[command(args_override_self = true)]
pub(crate) struct CompareCommand {
    #[command(flatten)]
    run: RunArgs,
    /// Values of --which to compare, all else equal [default, without --with: greedy,cost-benefit,cat]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    policies: Vec<String>,
    /// One more run, with other choices: KEY=VALUE,… where KEY is ftl, layout, when, which, where, wear, recycle, reclaim, or
    /// name for what to call it; may be repeated
    #[arg(long, value_name = "KEY=VALUE,…")]
    with: Vec<String>,
    /// Write all reports as JSON to FILE, or with - to standard output and nothing else there
    #[arg(long, value_name = "FILE|-")]
    json: Option<Target>,
    /// Write all reports as CSV, a row each, to FILE, or with - to standard output and nothing else there
    #[arg(long, value_name = "FILE|-")]
    csv: Option<Target>,
}

/// One of the runs, and what to call it.
struct Contender {
    name: String,
    config: RunConfig,
}

/// A report with its name.
#[derive(Serialize)]
pub(crate) struct NamedReport {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) report: Report,
}

pub(crate) fn run(command: &CompareCommand) -> Result<(), Failure> {
    if command.json == Some(Target::Stdout) && command.csv == Some(Target::Stdout) {
        return Err(Failure::Refused("--json - and --csv - cannot both have standard output; name a file".to_owned()));
    }
    let targets = [&command.json, &command.csv];
    targets.into_iter().flatten().try_for_each(Target::check)?;
    let contenders = contenders(command)?;
    let config = command.run.config();
    let trace = run::load(&config.workload, command.run.device())?;
    let reports = run_all(&contenders, trace.as_ref())?;
    if let Some(target) = &command.json {
        target.write(&output::json(&reports)?)?;
    }
    if let Some(target) = &command.csv {
        target.write(&csv(&reports)?)?;
    }
    if targets.into_iter().flatten().any(|target| *target == Target::Stdout) {
        return Ok(());
    }
    Target::Stdout.write(format!("{}\n", comparison(&reports)).as_bytes())
}

/// The runs that the flags describe, in their order.
fn contenders(command: &CompareCommand) -> Result<Vec<Contender>, Failure> {
    let base = command.run.config();
    let names = if command.policies.is_empty() && command.with.is_empty() {
        DEFAULT_POLICIES.split(',').map(str::to_owned).collect()
    } else {
        command.policies.clone()
    };
    let mut contenders = Vec::new();
    for name in names {
        let which = args::which(&name).map_err(|why| Failure::Refused(format!("--policies '{name}': {why}")))?;
        let engine = EngineSpec { which, ..base.engine.clone() };
        contenders.push(Contender { name, config: RunConfig { engine, ..base.clone() } });
    }
    for text in &command.with {
        let refused = |why: String| Failure::Refused(format!("--with '{text}': {why}"));
        contenders.push(with(text, base.clone()).map_err(refused)?);
    }
    Ok(contenders)
}

/// Reads one `--with`.
fn with(text: &str, base: RunConfig) -> Result<Contender, String> {
    let mut contender = Contender { name: String::new(), config: base };
    let mut called = Vec::new();
    for pair in text.split(',') {
        let (key, value) = pair.split_once('=').ok_or_else(|| format!("'{pair}' is not KEY=VALUE"))?;
        let engine = &mut contender.config.engine;
        match key {
            "ftl" => engine.ftl = args::engine(value)?,
            "layout" => engine.layout = Some(args::layout(value)?),
            "when" => engine.when = Some(args::when(value)?),
            "which" => engine.which = args::which(value)?,
            "where" => engine.place = args::place(value)?,
            "wear" => engine.wear = Some(args::wear(value)?),
            "recycle" => engine.recycle = args::recycle(value)?,
            "reclaim" => engine.reclaim = args::reclaim(value)?,
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

/// Runs them all, as many at a time as there are processors. The first in order that fails is what is reported.
fn run_all(contenders: &[Contender], trace: Option<&Trace>) -> Result<Vec<NamedReport>, Failure> {
    let bars = Bars::new();
    let width = contenders.iter().map(|c| c.name.len()).max().unwrap_or(0);
    let results = in_parallel(contenders, processors(), |contender| {
        run::run(&contender.config, trace, &mut bars.bar(&format!("{:width$}", contender.name)))
    });
    let mut reports = Vec::new();
    for (contender, result) in contenders.iter().zip(results) {
        reports.push(NamedReport { name: contender.name.clone(), report: result? });
    }
    Ok(reports)
}

/// The table: a row for each run.
pub(crate) fn comparison(reports: &[NamedReport]) -> Table {
    let timed = reports.iter().any(|r| r.report.sim_seconds.is_some());
    let mut head = vec!["policy", "WA data", "WA total", "erases", "copied", "erases each", "σ", "lifetime"];
    if timed {
        head.extend(["KiB/s", "mean", "p99.9"]);
    }
    head.push("tables");
    let mut table = table(&head);
    for NamedReport { name, report } in reports {
        let e = &report.erase_count;
        let mut row = vec![
            name.clone(),
            format!("{:.3}", report.wa_data),
            format!("{:.3}", report.wa_total),
            grouped(report.erases),
            grouped(report.copied_pages),
            format!("{}–{}", e.min, e.max),
            short(e.stddev),
            report.lifetime_host_bytes.map(bytes).unwrap_or_default(),
        ];
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
