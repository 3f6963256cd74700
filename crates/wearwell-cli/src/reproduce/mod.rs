//! `wearwell reproduce`: the experiments of the papers run again, published beside measured.

mod chart;
mod evaluate;
mod experiment;
mod html;
mod markdown;
mod source;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Parser};
use serde::Serialize;
use wearwell_sim::run;

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::output::{self, Target};
use crate::parallel::{in_parallel, processors};
use crate::progress::Bars;
use evaluate::{ExperimentResult, Verdict};
use experiment::Figures;
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
    /// Where to write report.html, report.json and report.csv; made if it is not there
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    out: PathBuf,
    /// Experiments to run instead of those built in: a folder of a folder for each paper, as papers/ of the source
    #[arg(long, value_name = "DIR")]
    papers: Option<PathBuf>,
    /// Also write the tables between their marks in this file, as in papers/README.md of the source
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// A row's arguments, which are those of `wearwell run`.
#[derive(Parser)]
#[command(no_binary_name = true, args_override_self = true)]
struct RowCommand {
    #[command(flatten)]
    run: RunArgs,
}

/// One run: a row of an experiment, and a seed.
struct Job {
    /// The experiment's number and the row's in it.
    row: (usize, usize),
    name: String,
    run: RunArgs,
}

/// What report.json holds.
#[derive(Serialize)]
struct Report<'a> {
    agree: usize,
    explained: usize,
    unexplained: usize,
    /// Published figures of sensitivity runs.
    only_compared: usize,
    experiments: &'a [ExperimentResult],
}

pub(crate) fn run(command: &ReproduceCommand) -> Result<(), Failure> {
    let papers = command.papers.as_deref().map_or_else(Papers::built_in, |folder| Ok(Papers::folder(folder)))?;
    let experiments = papers.experiments(command.paper.as_deref(), command.only.as_deref())?;
    let jobs = jobs(&papers, &experiments)?;
    // What makes no sense is refused before, not after, minutes of work.
    let markdown = command.markdown.as_deref().map(read).transpose()?;
    if let (Some(path), Some(text)) = (&command.markdown, &markdown) {
        refreshed(path, text, &[])?;
    }
    fs::create_dir_all(&command.out).map_err(unusable(&command.out))?;

    let results = measure(&experiments, &jobs, command.jobs.map_or_else(processors, usize::from));
    write(&command.out, &results)?;
    if let (Some(path), Some(text)) = (&command.markdown, &markdown) {
        Target::File(path.clone()).write(refreshed(path, text, &results)?.as_bytes())?;
    }
    Target::Stdout.write(format!("{}\n{}\n", table::summary(&results), table::counts(&results)).as_bytes())?;
    verdict(&results)
}

fn unusable(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::Refused(format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(unusable(path))
}

fn refreshed(path: &Path, text: &str, results: &[ExperimentResult]) -> Result<String, Failure> {
    markdown::refresh(text, results).map_err(|error| Failure::Refused(format!("{}: {error}", path.display())))
}

/// Every run of the experiments.
fn jobs(papers: &Papers, experiments: &[Experiment]) -> Result<Vec<Job>, Failure> {
    let mut jobs = Vec::new();
    for (at, experiment) in experiments.iter().enumerate() {
        for (place, row) in experiment.table.row.iter().enumerate() {
            let name = format!("{}: {}", experiment.path(), row.name);
            for seed in &row.seeds {
                let words = row.args.split_whitespace().map(|word| papers.word(word));
                let words = words.chain(["--seed".to_owned(), seed.to_string()]);
                let row_command = RowCommand::try_parse_from(words).map_err(|error| {
                    Failure::Refused(format!("{name}: {}", Failure::from(error).line().unwrap_or_default()))
                })?;
                jobs.push(Job { row: (at, place), name: name.clone(), run: row_command.run });
            }
        }
    }
    Ok(jobs)
}

/// Does all runs. One that fails leaves its row without figures.
fn measure(experiments: &[Experiment], jobs: &[Job], threads: usize) -> Vec<ExperimentResult> {
    let bars = Bars::new();
    let total = bars.total(jobs.len());
    let done = in_parallel(jobs, threads, |job| {
        let figures = once(job, &bars).map_err(|failure| failure.line().unwrap_or_default());
        total.advance();
        figures
    });
    let mut done = jobs.iter().map(|job| job.row).zip(done).peekable();
    let mut row_figures = |row: (usize, usize)| {
        let mut seeds = Vec::new();
        while let Some((_, figures)) = done.next_if(|(of, _)| *of == row) {
            seeds.push(figures);
        }
        Ok(Figures::mean(&seeds.into_iter().collect::<Result<Vec<_>, String>>()?))
    };
    let of = |(at, experiment): (usize, &Experiment)| {
        let rows = (0..experiment.table.row.len()).map(|place| row_figures((at, place))).collect();
        ExperimentResult::of(experiment, rows)
    };
    experiments.iter().enumerate().map(of).collect()
}

fn once(job: &Job, bars: &Bars) -> Result<Figures, Failure> {
    let config = job.run.config();
    let trace = run::load(&config.workload, job.run.device())?;
    let report = run::run(&config, trace.as_ref(), &mut bars.bar(&job.name))?;
    let report = serde_json::to_value(&report).map_err(|error| Failure::Wrong(format!("JSON: {error}")))?;
    Ok(Figures::of_report(&report))
}

fn write(out: &Path, results: &[ExperimentResult]) -> Result<(), Failure> {
    let report = Report {
        agree: evaluate::count(results, Verdict::Agrees),
        explained: evaluate::count(results, Verdict::Explained),
        unexplained: evaluate::count(results, Verdict::Unexplained),
        only_compared: evaluate::count_unjudged(results),
        experiments: results,
    };
    let file = |name: &str| Target::File(out.join(name));
    file("report.json").write(&output::json(&report)?)?;
    file("report.csv").write(&table::csv(results)?)?;
    file("report.html").write(html::page(results).as_bytes())
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
