//! The runs behind the experiments: each that is needed is done once, however many rows share it.

use std::collections::HashMap;

use clap::Parser;
use wearwell_sim::run::{self, Observation, RunConfig};

use super::andrew;
use super::experiment::Figures;
use super::source::{Experiment, Papers};
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::parallel::in_parallel;
use crate::progress::Bars;

/// A row's arguments, which are those of `wearwell run`.
#[derive(Parser)]
#[command(no_binary_name = true, args_override_self = true)]
struct RowCommand {
    #[command(flatten)]
    run: RunArgs,
}

/// One run.
struct Job {
    /// Of the first row that wants it.
    name: String,
    config: RunConfig,
    device: Option<String>,
    /// True if a chart shows how it went.
    observes: bool,
}

/// What makes up a row.
#[derive(Debug, PartialEq, Eq)]
enum Work {
    /// Runs, one for each seed.
    Runs(Vec<usize>),
    /// A benchmark on a served disk.
    Benchmark(usize),
}

/// What a row measured.
pub(crate) struct Measured {
    /// Means over the seeds.
    pub(crate) figures: Figures,
    /// How the run with the first seed went, where a chart wants to know.
    pub(crate) observation: Option<Observation>,
}

/// What a row measured, or why there is nothing.
pub(crate) type Outcome = Result<Measured, String>;

/// All runs, and which of them make up which row.
pub(crate) struct Plan {
    jobs: Vec<Job>,
    benchmarks: Vec<andrew::Job>,
    /// By experiment and row.
    of_row: Vec<Vec<Work>>,
}

impl Plan {
    /// Reads every row's arguments.
    ///
    /// # Errors
    /// Arguments that `wearwell run` or `serve` would refuse, with the row's name.
    pub(crate) fn new(papers: &Papers, experiments: &[Experiment]) -> Result<Self, Failure> {
        let mut jobs: Vec<Job> = Vec::new();
        let mut benchmarks = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut of_row = Vec::new();
        for experiment in experiments {
            let mut rows = Vec::new();
            for row in &experiment.table.row {
                let name = format!("{}: {}", experiment.path(), row.name);
                if let Some(benchmark) = &row.andrew {
                    rows.push(Work::Benchmark(benchmarks.len()));
                    benchmarks.push(andrew::Job::new(papers, &name, row, benchmark)?);
                    continue;
                }
                let mut seeds = Vec::new();
                for (place, seed) in row.seeds.iter().enumerate() {
                    let job = job(papers, &name, &row.args, *seed)?;
                    let key = format!("{:?} {:?}", job.config, job.device);
                    let at = *known.entry(key).or_insert(jobs.len());
                    if at == jobs.len() {
                        jobs.push(job);
                    }
                    jobs[at].observes |= place == 0 && experiment.table.observes(row);
                    seeds.push(at);
                }
                rows.push(Work::Runs(seeds));
            }
            of_row.push(rows);
        }
        Ok(Self { jobs, benchmarks, of_row })
    }

    /// True if a row runs on a served disk.
    pub(crate) fn has_guests(&self) -> bool {
        !self.benchmarks.is_empty()
    }

    /// Does all runs. One that fails leaves its rows without figures.
    pub(crate) fn measure(&self, threads: usize) -> Vec<Vec<Outcome>> {
        let bars = Bars::new();
        let total = bars.total(self.jobs.len());
        let done = in_parallel(&self.jobs, threads, |job| {
            let figures = once(job, &bars).map_err(|failure| failure.line().unwrap_or_default());
            total.advance();
            figures
        });
        // One at a time, with nothing beside it.
        let benchmarks = andrew::measure(&self.benchmarks, &bars);
        let row = |work: &Work| -> Outcome {
            let seeds = match work {
                Work::Runs(seeds) => seeds,
                &Work::Benchmark(at) => {
                    return benchmarks[at].clone().map(|figures| Measured { figures, observation: None });
                }
            };
            let mut all = Vec::new();
            for &at in seeds {
                all.push(done[at].as_ref().map_err(Clone::clone)?);
            }
            let figures: Vec<&Figures> = all.iter().map(|(figures, _)| figures).collect();
            let observation = all.first().and_then(|(_, observation)| observation.clone());
            Ok(Measured { figures: Figures::mean(&figures), observation })
        };
        self.of_row.iter().map(|rows| rows.iter().map(row).collect()).collect()
    }
}

fn job(papers: &Papers, name: &str, args: &str, seed: u64) -> Result<Job, Failure> {
    let words = args.split_whitespace().map(|word| papers.word(word));
    let words = words.chain(["--seed".to_owned(), seed.to_string()]);
    let row = RowCommand::try_parse_from(words)
        .map_err(|error| Failure::Refused(format!("{name}: {}", Failure::from(error).line().unwrap_or_default())))?;
    let device = row.run.device().map(str::to_owned);
    Ok(Job { name: name.to_owned(), config: row.run.config(), device, observes: false })
}

fn once(job: &Job, bars: &Bars) -> Result<(Figures, Option<Observation>), Failure> {
    let trace = run::load(&job.config.workload, job.device.as_deref())?;
    let mut bar = bars.bar(&job.name);
    let (report, observation) = if job.observes {
        let (report, observation) = run::observed(&job.config, trace.as_ref(), &mut bar)?;
        (report, Some(observation))
    } else {
        (run::run(&job.config, trace.as_ref(), &mut bar)?, None)
    };
    let report = serde_json::to_value(&report).map_err(|error| Failure::Wrong(format!("JSON: {error}")))?;
    Ok((Figures::of_report(&report), observation))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn rows_with_the_same_arguments_share_a_run() {
        let row = |name: &str, more: &str| {
            format!(
                "[[row]]\nname = '{name}'\nargs = '--chip geometry:512:16:64 --workload random{more}'\nseeds = [1, 2]\n"
            )
        };
        let rows = row("a", "") + &row("b", " --which greedy") + &row("c", " --which fifo");
        let table = toml::from_str(&format!("title = 't'\n{rows}")).unwrap();
        let experiment = Experiment { paper: "p".to_owned(), name: "t".to_owned(), table, is_asked_for: true };
        let plan = Plan::new(&Papers::folder(Path::new("/nowhere")), &[experiment]).unwrap();
        assert_eq!(plan.of_row, [[[0, 1], [0, 1], [2, 3]].map(|seeds| Work::Runs(seeds.to_vec()))]);
        let rows = plan.measure(2).remove(0);
        let erases = |at: usize| rows[at].as_ref().ok().and_then(|row| row.figures.get("erases"));
        assert!(erases(0).is_some_and(|erases| erases > 0.0) && erases(0) == erases(1) && erases(0) != erases(2));
    }
}
