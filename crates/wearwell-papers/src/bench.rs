//! The runs behind the rows. Each run is done once with every seed, however many rows share it.

use std::collections::HashMap;

use rayon::ThreadPool;
use rayon::prelude::*;
use wearwell_sim::engine::OwnPolicies;
use wearwell_sim::run::{self, Observation};

use crate::column::{COLD_BLOCKS, Figures, THRESHOLD_BLOCKS};
use crate::source::Folder;
use crate::{CommandLine, PapersError, Seeds, Watch, cold, threshold};

/// The figures of a row with each seed. If the first two are equal, nothing is random, and there are only two.
pub(crate) type Sample = Vec<Figures>;

/// A run that is wanted.
pub(crate) struct Wanted {
    /// The row that wants it.
    pub(crate) name: String,
    pub(crate) args: String,
    pub(crate) extras: Extras,
}

/// What is wanted of a run beyond its report.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extras {
    /// True if a chart shows how it went.
    pub(crate) course: bool,
    /// True if the table shows cold blocks.
    pub(crate) cold_blocks: bool,
    /// True if the row publishes a threshold.
    pub(crate) threshold: bool,
}

impl Extras {
    /// The same, and what another row wants of the run.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            course: self.course || other.course,
            cold_blocks: self.cold_blocks || other.cold_blocks,
            threshold: self.threshold || other.threshold,
        }
    }
}

/// Arguments that rows share, and their results.
struct Spec {
    /// The name of the first row that wants the run.
    name: String,
    words: Vec<String>,
    extras: Extras,
    sample: Option<Result<Sample, String>>,
    /// The observation of the run with the first seed.
    observation: Option<Observation>,
}

/// The result of a run.
type Once = Result<(Figures, Option<Observation>), String>;

/// All runs so far.
pub(crate) struct Bench<'a> {
    folder: &'a Folder,
    commands: &'a dyn CommandLine,
    seeds: Seeds,
    pool: ThreadPool,
    specs: Vec<Spec>,
    /// Runs by the rows' arguments, and by the meaning of the arguments.
    known: HashMap<String, usize>,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(
        folder: &'a Folder,
        commands: &'a dyn CommandLine,
        seeds: Seeds,
        jobs: usize,
    ) -> Result<Self, PapersError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
        let pool = pool.map_err(|error| PapersError::Wrong(format!("threads: {error}")))?;
        Ok(Self { folder, commands, seeds, pool, specs: Vec::new(), known: HashMap::new() })
    }

    /// Notes that a run is wanted.
    ///
    /// # Errors
    /// Arguments that the command would refuse, with the row's name.
    pub(crate) fn want(&mut self, name: &str, run: &Wanted) -> Result<(), PapersError> {
        let at = match self.known.get(&run.args) {
            Some(&at) => at,
            None => self.place_of(name, &run.args)?,
        };
        self.specs[at].extras = self.specs[at].extras.and(run.extras);
        Ok(())
    }

    /// The place of arguments that were not seen before.
    fn place_of(&mut self, name: &str, args: &str) -> Result<usize, PapersError> {
        let words = self.folder.words(args);
        let read = self.commands.run(&with_seed(&words, self.seeds.first));
        let read = read.map_err(|why| PapersError::Refused(format!("{name}: {why}")))?;
        // Rows may say the same in other words. What was read from them is compared.
        let meaning = format!("{:?} {:?}", read.config, read.device);
        let at = *self.known.entry(meaning).or_insert(self.specs.len());
        if at == self.specs.len() {
            let (name, sample, observation) = (name.to_owned(), None, None);
            self.specs.push(Spec { name, words, extras: Extras::default(), sample, observation });
        }
        self.known.insert(args.to_owned(), at);
        Ok(at)
    }

    /// Does the wanted runs that are not done yet. A run that fails leaves its rows without figures.
    pub(crate) fn work(&mut self, what: &str, watch: &dyn Watch) {
        let all: Vec<u64> = self.seeds.all().collect();
        // Two seeds show whether anything is random. A run without draws needs no others.
        let (first, rest) = all.split_at(all.len().min(2));
        let new: Vec<usize> = (0..self.specs.len()).filter(|&at| self.specs[at].sample.is_none()).collect();
        self.batch(&new, first, what, watch);
        let is_drawn = |&at: &usize| match &self.specs[at].sample {
            Some(Ok(sample)) => sample.first() != sample.last(),
            _ => false,
        };
        let drawn: Vec<usize> = new.into_iter().filter(is_drawn).collect();
        self.batch(&drawn, rest, what, watch);
    }

    /// Runs each spec with each seed, and keeps the results.
    fn batch(&mut self, specs: &[usize], seeds: &[u64], what: &str, watch: &dyn Watch) {
        let runs: Vec<(usize, u64)> = specs.iter().flat_map(|&at| seeds.iter().map(move |&seed| (at, seed))).collect();
        watch.begin(what, runs.len());
        let once = |&(at, seed): &(usize, u64)| {
            let spec = &self.specs[at];
            let course = spec.extras.course && seed == self.seeds.first;
            let done = once(self.commands, &with_seed(&spec.words, seed), Extras { course, ..spec.extras });
            watch.done();
            done.map_err(|why| format!("{}: {why}", spec.name))
        };
        // The results have the order of `runs`, whichever thread is done first.
        let done: Vec<Once> = self.pool.install(|| runs.par_iter().map(once).collect());
        for (&(at, _), once) in runs.iter().zip(done) {
            let spec = &mut self.specs[at];
            match (once, spec.sample.get_or_insert_with(|| Ok(Vec::new()))) {
                (Ok((figures, observation)), Ok(sample)) => {
                    sample.push(figures);
                    spec.observation = spec.observation.take().or(observation);
                }
                (Err(why), sample) => *sample = Err(why),
                (_, Err(_)) => {}
            }
        }
    }

    fn spec(&self, args: &str) -> Option<&Spec> {
        Some(&self.specs[*self.known.get(args)?])
    }

    /// The result of a row with these arguments.
    pub(crate) fn sample(&self, args: &str) -> Result<Sample, String> {
        let sample = self.spec(args).and_then(|spec| spec.sample.clone());
        sample.unwrap_or_else(|| Err("it was not run".to_owned()))
    }

    /// The observation of its run with the first seed, if it was wanted.
    pub(crate) fn observation(&self, args: &str) -> Option<&Observation> {
        self.spec(args)?.observation.as_ref()
    }
}

fn with_seed(words: &[String], seed: u64) -> Vec<String> {
    words.iter().cloned().chain(["--seed".to_owned(), seed.to_string()]).collect()
}

fn once(commands: &dyn CommandLine, words: &[String], extras: Extras) -> Once {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let read = commands.run(words)?;
    let trace = run::load(&read.config.workload, read.device.as_deref()).map_err(|error| told(&error))?;
    let (report, observation) = match extras.course || extras.threshold {
        true => run::observed(&read.config, trace.as_ref(), OwnPolicies::default(), &mut ())
            .map(|(report, went)| (report, Some(went))),
        false => run::run(&read.config, trace.as_ref(), &mut ()).map(|report| (report, None)),
    }
    .map_err(|error| told(&error))?;
    let fields = serde_json::to_value(&report).map_err(|error| told(&error))?;
    let mut figures = Figures::of_report(&fields);
    if extras.cold_blocks {
        figures.0.insert(COLD_BLOCKS.to_owned(), cold::blocks(&read.config, &report)? as f64);
    }
    if let Some(observation) = observation.as_ref().filter(|_| extras.threshold) {
        figures.0.insert(THRESHOLD_BLOCKS.to_owned(), threshold::mean_blocks(&read.config, observation)?);
    }
    Ok((figures, observation.filter(|_| extras.course)))
}
