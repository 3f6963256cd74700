//! `wearwell reproduce`: runs the experiments of the papers again, and shows published beside measured figures.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::{Args, Parser};
use comfy_table::{CellAlignment, Table};
use indicatif::ProgressBar;
use wearwell_papers::{CommandLine, HEAD, PapersError, Report, Reproduction, Request, Run, Seeds, Verdict, Watch};
use wearwell_sim::engine::EngineSpec;

use crate::args::{EngineArgs, RunArgs};
use crate::failure::Failure;
use crate::list::table;
use crate::output::{self, Target};
use crate::progress;

/// Arguments of `wearwell reproduce`.
#[derive(Args)]
pub(crate) struct ReproduceCommand {
    /// The paper: kawaguchi95, chiang97, lee07, mylavarapu09, lim14; matrix, today or knowing [default: the five
    /// papers]
    paper: Option<String>,
    /// Only the table or figure of this name, such as table5
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Runs of every row with random draws, each with another seed
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=1000))]
    seeds: u32,
    /// The seed of the first of these runs; the others take the following seeds
    #[arg(long, value_name = "N", default_value_t = 1)]
    first_seed: u64,
    /// One run of every row: no intervals, and so no verdicts
    #[arg(long, conflicts_with_all = ["seeds", "strict"])]
    quick: bool,
    /// End with 1 unless everything agrees or is explained
    #[arg(long)]
    strict: bool,
    /// Runs at a time [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Also run the rows that need a file system of this machine's kernel on a served disk; needs root
    #[arg(long)]
    guests: bool,
    /// Where to write report.html, report.json, report.csv and verdicts.txt; created if it does not exist
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    out: PathBuf,
    /// Experiments to run instead of those built in: a folder like papers/ of the source
    #[arg(long, value_name = "DIR")]
    papers: Option<PathBuf>,
    /// Also write the tables between their marks in this file, as in papers/lee07/README.md; may be repeated
    #[arg(long, value_name = "FILE")]
    markdown: Vec<PathBuf>,
}

pub(crate) fn run(command: &ReproduceCommand) -> Result<(), Failure> {
    let request = Request {
        folder: command.papers.as_deref(),
        paper: command.paper.as_deref(),
        only: command.only.as_deref(),
        seeds: Seeds { first: command.first_seed, count: if command.quick { 1 } else { command.seeds } },
        // Zero means as many threads as processors.
        jobs: command.jobs.map_or(0, usize::from),
        guests: command.guests,
    };
    let reproduction = Reproduction::new(request, &Words)?;
    // Errors in the arguments are found before minutes of work, not after.
    for path in &command.markdown {
        wearwell_papers::check_markdown(&read(path)?).map_err(|error| at(path, &error))?;
    }
    fs::create_dir_all(&command.out).map_err(|error| at(&command.out, &error))?;
    let report = reproduction.run(&Bar::default())?;
    write(command, &report)?;
    Target::Stdout.write(format!("{}\n{}\n", summary(&report), report.counts()).as_bytes())?;
    verdict(&report, command.strict)
}

/// The rows of the experiments are command lines.
struct Words;

/// The arguments of `wearwell run` in a row.
#[derive(Parser)]
#[command(no_binary_name = true, args_override_self = true)]
struct RunWords {
    #[command(flatten)]
    run: RunArgs,
}

/// The engine's flags of `wearwell serve`.
#[derive(Parser)]
#[command(no_binary_name = true, args_override_self = true)]
struct EngineWords {
    #[command(flatten)]
    engine: EngineArgs,
}

fn parsed<P: Parser>(words: &[String]) -> Result<P, String> {
    P::try_parse_from(words).map_err(|error| Failure::from(error).line().unwrap_or_default())
}

impl CommandLine for Words {
    fn run(&self, words: &[String]) -> Result<Run, String> {
        let row: RunWords = parsed(words)?;
        let config = row.run.config().map_err(|failure| failure.line().unwrap_or_default())?;
        Ok(Run { config, device: row.run.device().map(str::to_owned) })
    }

    fn engine(&self, words: &[String]) -> Result<EngineSpec, String> {
        parsed::<EngineWords>(words).map(|row| row.engine.spec())
    }
}

/// A progress bar for each part of the work.
#[derive(Default)]
struct Bar(Mutex<Option<ProgressBar>>);

impl Bar {
    fn with(&self, change: impl FnOnce(&mut Option<ProgressBar>)) {
        // A thread that panicked leaves the bar as it was, which is good enough for a bar.
        change(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
}

impl Watch for Bar {
    fn begin(&self, what: &str, runs: usize) {
        self.with(|bar| {
            if let Some(last) = bar.take() {
                last.finish_and_clear();
            }
            *bar = progress::of_runs(what, runs);
        });
    }

    fn done(&self) {
        self.with(|bar| {
            if let Some(bar) = bar {
                bar.inc(1);
            }
        });
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.begin("", 0);
    }
}

impl From<PapersError> for Failure {
    fn from(error: PapersError) -> Self {
        match error {
            PapersError::Refused(why) => Self::Refused(why),
            PapersError::Wrong(why) => Self::Wrong(why),
        }
    }
}

fn at(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Refused(format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| at(path, &error))
}

fn write(command: &ReproduceCommand, report: &Report) -> Result<(), Failure> {
    let file = |name: &str| Target::File(command.out.join(name));
    file("report.json").write(&report.json()?)?;
    file("report.csv").write(&report.csv()?)?;
    file("report.html").write(report.html(&output::typed()).as_bytes())?;
    file("verdicts.txt").write(report.verdict_lines().as_bytes())?;
    for path in &command.markdown {
        let text = report.markdown(&read(path)?).map_err(|error| at(path, &error))?;
        Target::File(path.clone()).write(text.as_bytes())?;
    }
    Ok(())
}

/// Everything that is judged, contradictions first.
fn summary(report: &Report) -> Table {
    let mut table = table(&HEAD);
    for verdict in [Verdict::Contradicts, Verdict::Unexplained, Verdict::NotRun, Verdict::Explained, Verdict::Agrees] {
        table.add_rows(report.lines(&[verdict]));
    }
    for column in table.column_iter_mut().skip(2).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Fails if a run failed, and with `--strict` also if a verdict is not good.
fn verdict(report: &Report, is_strict: bool) -> Result<(), Failure> {
    let failures = report.failures();
    if let Some(first) = failures.first() {
        return Err(Failure::Wrong(format!("rows that failed: {}, the first of them {first}", failures.len())));
    }
    let count = report.verdicts().filter(|(_, verdict)| !verdict.is_good()).count();
    match is_strict && count > 0 {
        true => Err(Failure::Wrong(format!("neither agree nor are explained: {count}"))),
        false => Ok(()),
    }
}
