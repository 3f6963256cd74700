//! The runs behind the rows: each that is needed is done once with every seed, however many rows share it.

use std::collections::HashMap;

use rayon::ThreadPool;
use rayon::prelude::*;
use wearwell_sim::run::{self, Observation};

use crate::column::Figures;
use crate::source::Folder;
use crate::{CommandLine, PapersError, Seeds, Watch};

/// The figures of a row with each seed; with the first two only where these are equal, since nothing is drawn then.
pub(crate) type Sample = Vec<Figures>;

/// Arguments that rows share, and what they gave.
struct Spec {
    /// Of the first row that wants it.
    name: String,
    words: Vec<String>,
    /// True if a chart shows how it went.
    observes: bool,
    sample: Option<Result<Sample, String>>,
    /// How the run with the first seed went.
    observation: Option<Observation>,
}

/// What a run gave.
type Once = Result<(Figures, Option<Observation>), String>;

/// All runs so far.
pub(crate) struct Bench<'a> {
    folder: &'a Folder,
    commands: &'a dyn CommandLine,
    seeds: Seeds,
    pool: ThreadPool,
    specs: Vec<Spec>,
    /// By arguments as rows have them, and by what these mean.
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

    /// Takes down that a row with these arguments is wanted.
    ///
    /// # Errors
    /// Arguments that the command would refuse, with the row's name.
    pub(crate) fn want(&mut self, name: &str, args: &str, observes: bool) -> Result<(), PapersError> {
        if let Some(&at) = self.known.get(args) {
            self.specs[at].observes |= observes;
            return Ok(());
        }
        let words = self.folder.words(args);
        let read = self.commands.run(&with_seed(&words, self.seeds.first));
        let read = read.map_err(|why| PapersError::Refused(format!("{name}: {why}")))?;
        let meaning = format!("{:?} {:?}", read.config, read.device);
        let at = *self.known.entry(meaning).or_insert(self.specs.len());
        if at == self.specs.len() {
            self.specs.push(Spec { name: name.to_owned(), words, observes, sample: None, observation: None });
        }
        self.specs[at].observes |= observes;
        self.known.insert(args.to_owned(), at);
        Ok(())
    }

    /// Does what is wanted and not done yet. A run that fails leaves its rows without figures.
    pub(crate) fn work(&mut self, what: &str, watch: &dyn Watch) {
        let all: Vec<u64> = self.seeds.all().collect();
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

    /// Runs each of these with each of these seeds, and keeps what they give.
    fn batch(&mut self, specs: &[usize], seeds: &[u64], what: &str, watch: &dyn Watch) {
        let runs: Vec<(usize, u64)> = specs.iter().flat_map(|&at| seeds.iter().map(move |&seed| (at, seed))).collect();
        watch.begin(what, runs.len());
        let once = |&(at, seed): &(usize, u64)| {
            let spec = &self.specs[at];
            let observes = spec.observes && seed == self.seeds.first;
            let done = once(self.commands, &with_seed(&spec.words, seed), observes);
            watch.done();
            done.map_err(|why| format!("{}: {why}", spec.name))
        };
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

    /// What a row with these arguments gave.
    pub(crate) fn sample(&self, args: &str) -> Result<Sample, String> {
        let sample = self.spec(args).and_then(|spec| spec.sample.clone());
        sample.unwrap_or_else(|| Err("it was not run".to_owned()))
    }

    /// How its run with the first seed went, where that was wanted.
    pub(crate) fn observation(&self, args: &str) -> Option<&Observation> {
        self.spec(args)?.observation.as_ref()
    }
}

fn with_seed(words: &[String], seed: u64) -> Vec<String> {
    words.iter().cloned().chain(["--seed".to_owned(), seed.to_string()]).collect()
}

fn once(commands: &dyn CommandLine, words: &[String], observes: bool) -> Once {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let read = commands.run(words)?;
    let trace = run::load(&read.config.workload, read.device.as_deref()).map_err(|error| told(&error))?;
    let (report, observation) = match observes {
        true => run::observed(&read.config, trace.as_ref(), &mut ()).map(|(report, went)| (report, Some(went))),
        false => run::run(&read.config, trace.as_ref(), &mut ()).map(|report| (report, None)),
    }
    .map_err(|error| told(&error))?;
    let report = serde_json::to_value(&report).map_err(|error| told(&error))?;
    Ok((Figures::of_report(&report), observation))
}
