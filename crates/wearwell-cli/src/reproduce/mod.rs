//! `wearwell reproduce`: the experiments of the papers run again, published beside measured.

mod andrew;
mod chart;
mod evaluate;
mod experiment;
mod html;
mod markdown;
mod matrix;
mod measure;
mod source;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::{self, Target};
use crate::parallel::processors;
use evaluate::{ExperimentResult, Verdict};
use measure::Plan;
use source::{Experiment, Papers};

/// Arguments of `wearwell reproduce`.
#[derive(Args)]
pub(crate) struct ReproduceCommand {
    /// The paper: kawaguchi95, chiang97, lee07, mylavarapu09, lim14 [default: all]
    paper: Option<String>,
    /// Only the table or figure of this name, as table5
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Runs at a time [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Also run what needs a file system of this machine's kernel on a served disk; only root can
    #[arg(long)]
    guests: bool,
    /// Where to write report.html, report.json and report.csv; made if it is not there
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    out: PathBuf,
    /// Experiments to run instead of those built in: a folder of a folder for each paper, as papers/ of the source
    #[arg(long, value_name = "DIR")]
    papers: Option<PathBuf>,
    /// Also write the tables between their marks in this file, as in papers/lee07/README.md of the source; may be repeated
    #[arg(long, value_name = "FILE")]
    markdown: Vec<PathBuf>,
}

/// What report.json holds.
#[derive(Serialize)]
struct Report<'a> {
    agree: usize,
    explained: usize,
    unexplained: usize,
    /// Published figures of sensitivity runs.
    only_compared: usize,
    /// Experiments that were left out, since they need a file system of this machine's kernel.
    needs_guests: &'a [String],
    experiments: &'a [ExperimentResult],
}

pub(crate) fn run(command: &ReproduceCommand) -> Result<(), Failure> {
    let papers = command.papers.as_deref().map_or_else(Papers::built_in, |folder| Ok(Papers::folder(folder)))?;
    let mut experiments = papers.experiments(command.paper.as_deref(), command.only.as_deref())?;
    let needs_guests = if command.guests { Vec::new() } else { leave_out_guests(&mut experiments)? };
    let plan = Plan::new(&papers, &experiments)?;
    if plan.has_guests() {
        andrew::check()?;
    }
    // What makes no sense is refused before, not after, minutes of work.
    for path in &command.markdown {
        refreshed(path, &[])?;
    }
    fs::create_dir_all(&command.out).map_err(unusable(&command.out))?;

    let measured = plan.measure(command.jobs.map_or_else(processors, usize::from));
    let mut results = evaluate::results(&experiments, measured);
    let mut is_asked_for = experiments.iter().map(|experiment| experiment.is_asked_for);
    results.retain(|_| is_asked_for.next().unwrap_or(true));
    write(&command.out, &results, &needs_guests)?;
    for path in &command.markdown {
        Target::File(path.clone()).write(refreshed(path, &results)?.as_bytes())?;
    }
    let text = format!("{}\n{}\n{}", table::summary(&results), table::counts(&results), table::left_out(&needs_guests));
    Target::Stdout.write(text.as_bytes())?;
    verdict(&results)
}

/// Takes out what only `--guests` runs, and returns its names.
///
/// # Errors
/// If there is nothing else.
fn leave_out_guests(experiments: &mut Vec<Experiment>) -> Result<Vec<String>, Failure> {
    let left_out: Vec<Experiment> = experiments.extract_if(.., |experiment| experiment.table.needs_guests()).collect();
    let names: Vec<String> = left_out.iter().map(Experiment::path).collect();
    match experiments.iter().any(|experiment| experiment.is_asked_for) {
        true => Ok(names),
        false => Err(Failure::Refused(table::left_out(&names))),
    }
}

fn unusable(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::Refused(format!("{}: {error}", path.display()))
}

/// A file with the results between their marks.
fn refreshed(path: &Path, results: &[ExperimentResult]) -> Result<String, Failure> {
    let text = fs::read_to_string(path).map_err(unusable(path))?;
    markdown::refresh(&text, results).map_err(|error| Failure::Refused(format!("{}: {error}", path.display())))
}

fn write(out: &Path, results: &[ExperimentResult], needs_guests: &[String]) -> Result<(), Failure> {
    let report = Report {
        agree: evaluate::count(results, Verdict::Agrees),
        explained: evaluate::count(results, Verdict::Explained),
        unexplained: evaluate::count(results, Verdict::Unexplained),
        only_compared: evaluate::count_unjudged(results),
        needs_guests,
        experiments: results,
    };
    let file = |name: &str| Target::File(out.join(name));
    file("report.json").write(&output::json(&report)?)?;
    file("report.csv").write(&table::csv(results)?)?;
    file("report.html").write(html::page(results, needs_guests).as_bytes())
}

/// Done, unless a run failed or a figure is off without a reason.
fn verdict(results: &[ExperimentResult]) -> Result<(), Failure> {
    let rows = results.iter().flat_map(|result| result.rows.iter().map(move |row| (result, row)));
    let failed =
        rows.filter_map(|(result, row)| Some(format!("{}: {}: {}", result.path(), row.name, row.failure.as_ref()?)));
    let failed: Vec<String> = failed.collect();
    if let Some(first) = failed.first() {
        return Err(Failure::Wrong(format!("rows that failed: {}, the first of them {first}", failed.len())));
    }
    match evaluate::count(results, Verdict::Unexplained) {
        0 => Ok(()),
        count => Err(Failure::Wrong(format!("unexplained deviations: {count}"))),
    }
}
