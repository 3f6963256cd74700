//! The experiments of five papers on flash management: runs them again and judges the results.
//!
//! `papers/` holds the published figures as data. Every row has the arguments of a `wearwell run`.
//! [`Reproduction::new`] reads and checks them all. [`Reproduction::run`] runs them with every seed and judges the
//! means by one rule (`rule.rs`). The [`Report`] is written as a page, as JSON, as CSV and as tables in Markdown.
#![forbid(unsafe_code)]

mod andrew;
mod bench;
mod chart;
mod cold;
mod column;
mod estimate;
mod experiment;
mod html;
mod judge;
mod lines;
mod markdown;
mod matrix;
mod report;
mod rule;
mod source;
mod threshold;
#[cfg(test)]
mod written;

use std::fmt;
use std::path::Path;

use wearwell_sim::engine::EngineSpec;
use wearwell_sim::run::RunConfig;

pub use estimate::Estimate;
pub use judge::Finding;
pub use lines::HEAD;
pub use markdown::check as check_markdown;
pub use report::{ClaimResult, Item, PaperResult, Report, RowResult, TableResult};
pub use rule::Verdict;

use andrew::Benchmarks;
use bench::{Bench, Wanted};
use experiment::Paper;
use judge::{Explanations, Judge, Subject};
use source::Folder;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum PapersError {
    /// The request makes no sense.
    #[error("{0}")]
    Refused(String),
    /// The request makes sense, but could not be done.
    #[error("{0}")]
    Wrong(String),
}

#[cfg(target_os = "linux")]
impl From<wearwell_serve::disk::DiskError> for PapersError {
    fn from(error: wearwell_serve::disk::DiskError) -> Self {
        Self::Wrong(error.to_string())
    }
}

/// A run as `wearwell run` reads it.
pub struct Run {
    /// What is run.
    pub config: RunConfig,
    /// The device of a trace with several.
    pub device: Option<String>,
}

/// The command line's reading of a row, so that a row means the same as the command printed beside it.
pub trait CommandLine: Sync {
    /// Reads the arguments of `wearwell run`.
    ///
    /// # Errors
    /// What the command would say.
    fn run(&self, words: &[String]) -> Result<Run, String>;

    /// Reads the engine's flags of `wearwell serve`.
    ///
    /// # Errors
    /// What the command would say.
    fn engine(&self, words: &[String]) -> Result<EngineSpec, String>;
}

/// Receives the progress of the runs, from several threads.
pub trait Watch: Sync {
    /// `runs` runs begin.
    fn begin(&self, what: &str, runs: usize);
    /// One of them is done.
    fn done(&self);
}

/// The seeds of every row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seeds {
    /// The first.
    pub first: u64,
    /// Their number. With one seed there are no intervals, and so no verdicts.
    pub count: u32,
}

impl Seeds {
    /// All of them, in order.
    pub fn all(self) -> impl Iterator<Item = u64> {
        (0..u64::from(self.count)).map(move |at| self.first.wrapping_add(at))
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => write!(f, "{}", self.first),
            count => write!(f, "{} to {}", self.first, self.first.wrapping_add(u64::from(count) - 1)),
        }
    }
}

/// What to run.
pub struct Request<'a> {
    /// Experiments to run instead of those built in.
    pub folder: Option<&'a Path>,
    /// One paper; all if none is named.
    pub paper: Option<&'a str>,
    /// One table or figure.
    pub only: Option<&'a str>,
    /// The seeds of every row.
    pub seeds: Seeds,
    /// Runs at a time.
    pub jobs: usize,
    /// Also run the rows that need a file system of this machine's kernel.
    pub guests: bool,
}

/// Experiments that were read and checked.
pub struct Reproduction<'a> {
    request: Request<'a>,
    commands: &'a dyn CommandLine,
    folder: Folder,
    papers: Vec<Paper>,
}

impl<'a> Reproduction<'a> {
    /// Reads the experiments, and checks every row and every choice.
    ///
    /// # Errors
    /// Experiments that make no sense; with `guests`, what this machine lacks for them.
    pub fn new(request: Request<'a>, commands: &'a dyn CommandLine) -> Result<Self, PapersError> {
        let folder = request.folder.map_or_else(Folder::built_in, |root| Ok(Folder::at(root)))?;
        let papers = folder.papers(request.paper, request.only)?;
        let reproduction = Self { request, commands, folder, papers };
        reproduction.check()?;
        Ok(reproduction)
    }

    /// Parses every row, unchanged and with every choice.
    fn check(&self) -> Result<(), PapersError> {
        // Its runs are read here and never done.
        let mut bench = self.bench()?;
        for paper in &self.papers {
            let choices = || std::iter::once(None).chain(paper.about.choice.iter().map(Some));
            for subject in paper.subjects() {
                want(&mut bench, paper, choices().flat_map(|choice| paper.runs(subject, choice)))?;
            }
        }
        let has_guests = self.papers.iter().any(|paper| !andrew::rows(paper).is_empty());
        if self.request.guests && has_guests { andrew::check() } else { Ok(()) }
    }

    fn bench(&self) -> Result<Bench<'_>, PapersError> {
        Bench::new(&self.folder, self.commands, self.request.seeds, self.request.jobs)
    }

    /// The places of a paper's subjects that were asked for.
    fn asked(&self, paper: &Paper) -> Vec<usize> {
        let is_asked = |table: &str| self.request.only.is_none_or(|only| only == table);
        let wanted = |subject: &Subject<'_>| match subject {
            Subject::Row(table, _) => is_asked(&table.name),
            Subject::Pair(_, pair) => pair.iter().filter_map(|name| paper.row(name)).any(|(t, _)| is_asked(&t.name)),
        };
        let subjects = paper.subjects();
        (0..subjects.len()).filter(|&at| wanted(&subjects[at])).collect()
    }

    /// Does all runs and judges the results. A run that fails leaves its rows without figures.
    ///
    /// # Errors
    /// If the runs cannot be done at all.
    pub fn run(&self, watch: &dyn Watch) -> Result<Report, PapersError> {
        let judges = self.request.seeds.count > 1;
        let mut bench = self.bench()?;
        let asked: Vec<Vec<usize>> = self.papers.iter().map(|paper| self.asked(paper)).collect();
        for (paper, asked) in self.papers.iter().zip(&asked) {
            let subjects = paper.subjects();
            want(&mut bench, paper, asked.iter().flat_map(|&at| paper.runs(subjects[at], None)))?;
        }
        bench.work("rows", watch);
        let benchmarks = self.benchmarks(watch)?;
        let mut explanations = Vec::new();
        if judges {
            explanations = self.explain(&asked, &mut bench, &benchmarks, watch)?;
        }
        let result = |(at, paper): (usize, &Paper)| {
            let judge = Judge { paper, bench: &bench, benchmarks: &benchmarks };
            report::paper(judge, &asked[at], explanations.get(at), self.request.seeds)
        };
        Ok(Report {
            seeds: self.request.seeds,
            is_whole: self.request.only.is_none(),
            papers: self.papers.iter().enumerate().map(result).collect(),
        })
    }

    fn benchmarks(&self, watch: &dyn Watch) -> Result<Benchmarks, PapersError> {
        match self.request.guests {
            true => Benchmarks::measure(&self.papers, &self.folder, self.commands, self.request.seeds.first, watch),
            false => Ok(Benchmarks::default()),
        }
    }

    /// Tries the papers' choices on the deviating rows. A choice with which a row agrees is then tried on everything
    /// else that it touches.
    fn explain(
        &self,
        asked: &[Vec<usize>],
        bench: &mut Bench<'_>,
        benchmarks: &Benchmarks,
        watch: &dyn Watch,
    ) -> Result<Vec<Explanations>, PapersError> {
        for (paper, asked) in self.papers.iter().zip(asked) {
            let runs = Explanations::first_runs(Judge { paper, bench, benchmarks }, asked);
            want(bench, paper, runs)?;
        }
        bench.work("choices on what is off", watch);
        let mut all: Vec<Explanations> = Vec::new();
        for (paper, asked) in self.papers.iter().zip(asked) {
            let found = Explanations::new(Judge { paper, bench, benchmarks }, asked);
            let runs = found.second_runs(Judge { paper, bench, benchmarks });
            want(bench, paper, runs)?;
            all.push(found);
        }
        bench.work("choices on what agrees", watch);
        for (paper, found) in self.papers.iter().zip(&mut all) {
            found.weigh(Judge { paper, bench, benchmarks });
        }
        Ok(all)
    }
}

/// Notes the wanted runs of a paper.
fn want(bench: &mut Bench<'_>, paper: &Paper, runs: impl IntoIterator<Item = Wanted>) -> Result<(), PapersError> {
    for run in runs {
        bench.want(&format!("{}/{}", paper.folder, run.name), &run)?;
    }
    Ok(())
}
