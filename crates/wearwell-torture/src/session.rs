//! A session: seeds of some modes in turn, until the time is over.
//!
//! Each thread takes the next turn, a seed of a mode. What they find is told in the order of the turns, so that a
//! number of seeds prints the same whatever the number of threads.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::mode::Mode;
use crate::run::{Record, Rig, Tally};
use crate::setup::Setup;
use crate::shrink::shrink;
use crate::text::as_test;
use crate::torture_as;

/// Which seeds are run: flags of every program that runs sessions.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Length {
    /// How long
    #[arg(long, default_value_t = 60)]
    pub seconds: u64,
    /// The first seed; without it, a fresh one
    #[arg(long, default_value_t = fresh_seed(), hide_default_value = true)]
    pub seed: u64,
    /// So many seeds of each mode, however long that takes
    #[arg(long)]
    pub seeds: Option<u64>,
}

/// What is run.
#[derive(Debug, Clone, Copy)]
pub struct Session<'a> {
    /// The modes.
    pub modes: &'a [&'a Mode],
    /// Which seeds.
    pub length: Length,
    /// Threads. With one, none is made.
    pub jobs: usize,
    /// Makes the device of a setup.
    pub rig: fn(Setup) -> Rig,
}

/// The results of a mode.
#[derive(Debug, Default)]
struct Outcome {
    seeds: u64,
    failed: Vec<u64>,
    /// The first failure.
    first: Option<(Rig, Record)>,
    tally: Tally,
}

impl Outcome {
    fn add(&mut self, mode: &Mode, seed: u64, rig: Rig, record: Record) {
        self.seeds += 1;
        self.tally.add(&record.tally);
        if record.failure.is_some() {
            tell(mode, seed, &rig, &record);
            self.failed.push(seed);
            self.first.get_or_insert((rig, record));
        }
    }
}

/// Turns that threads take. Every turn that is taken is run, so that none is left out between two others.
struct Turns {
    next: AtomicU64,
    end: Instant,
    most: Option<u64>,
}

impl Turns {
    fn take(&self) -> Option<u64> {
        if self.most.is_none() && Instant::now() >= self.end {
            return None;
        }
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        self.most.is_none_or(|most| turn < most).then_some(turn)
    }
}

impl Session<'_> {
    /// Runs it, and prints what it finds.
    pub fn run(&self) -> ExitCode {
        println!("torture: seed {}", self.length.seed);
        let outcomes = self.run_all();
        let code = summarize(self.modes, &outcomes);
        for (mode, outcome) in self.modes.iter().zip(&outcomes) {
            if let (Some((rig, record)), Some(seed)) = (&outcome.first, outcome.failed.first()) {
                shorten(mode, *seed, rig, record);
            }
        }
        code
    }

    fn mode_of(&self, turn: u64) -> usize {
        (turn % self.modes.len() as u64) as usize
    }

    fn seed_of(&self, turn: u64) -> u64 {
        self.length.seed.wrapping_add(turn / self.modes.len() as u64)
    }

    fn run_turn(&self, turn: u64) -> (Rig, Record) {
        let (rig, mut record) = torture_as(self.modes[self.mode_of(turn)], self.seed_of(turn), self.rig);
        if record.failure.is_none() {
            // Nobody asks for it, and it may have to wait for an earlier turn.
            record.history = Vec::new();
        }
        (rig, record)
    }

    fn run_all(&self) -> Vec<Outcome> {
        let mut outcomes: Vec<Outcome> = self.modes.iter().map(|_| Outcome::default()).collect();
        let mut add = |turn, (rig, record)| {
            let mode = self.mode_of(turn);
            outcomes[mode].add(self.modes[mode], self.seed_of(turn), rig, record);
        };
        let turns = Turns {
            next: AtomicU64::new(0),
            end: Instant::now() + Duration::from_secs(self.length.seconds),
            most: self.length.seeds.map(|seeds| seeds * self.modes.len() as u64),
        };
        if self.jobs <= 1 {
            while let Some(turn) = turns.take() {
                add(turn, self.run_turn(turn));
            }
            return outcomes;
        }
        thread::scope(|scope| {
            let (send, done) = mpsc::channel();
            for _ in 0..self.jobs {
                let (send, turns) = (send.clone(), &turns);
                scope.spawn(move || {
                    while let Some(turn) = turns.take() {
                        // The other end stays until all threads have ended.
                        _ = send.send((turn, self.run_turn(turn)));
                    }
                });
            }
            // The loop below ends when the last sender is gone, and this one is not a thread's.
            drop(send);
            let (mut early, mut next) = (BTreeMap::new(), 0);
            for (turn, result) in done {
                early.insert(turn, result);
                while let Some(result) = early.remove(&next) {
                    add(next, result);
                    next += 1;
                }
            }
        });
        outcomes
    }
}

fn tell(mode: &Mode, seed: u64, rig: &Rig, record: &Record) {
    let Some(failure) = &record.failure else { return };
    let text: String = failure.to_string().chars().take(300).collect();
    let setup = rig.setup.to_string();
    let engine = setup.lines().nth(1).unwrap_or_default();
    println!("FAILED: {} --seed {seed} after {} steps ({engine}): {text}", mode.name, record.history.len());
}

/// Only the first failure of a mode is shortened, after all seeds, because that takes a while.
fn shorten(mode: &Mode, seed: u64, rig: &Rig, record: &Record) {
    println!("\n{} --seed {seed}:", mode.name);
    match shrink(rig, record) {
        None => println!("It does not fail when replayed: the torture is broken, too."),
        Some(shrunk) => {
            let name = format!("{}_{seed}", mode.name.replace('-', "_"));
            println!("{} steps are enough: {}\n", shrunk.history.len(), shrunk.failure);
            println!("{}", as_test(&name, &rig.setup, &shrunk.history));
        }
    }
}

fn summarize(modes: &[&Mode], outcomes: &[Outcome]) -> ExitCode {
    println!(
        "\n{:<20}{:>7}{:>8}{:>10}{:>9}{:>12}{:>9}{:>8}{:>11}{:>6}",
        "mode", "seeds", "failed", "commands", "cuts", "mount cuts", "mounts", "faults", "explained", "worn"
    );
    let line = |name: &str, seeds: u64, failed: usize, t: &Tally| {
        println!(
            "{name:<20}{seeds:>7}{failed:>8}{:>10}{:>9}{:>12}{:>9}{:>8}{:>11}{:>6}",
            t.commands, t.cuts, t.mount_cuts, t.mounts, t.faults, t.explained, t.worn
        );
    };
    let (mut seeds, mut failed, mut all) = (0, 0, Tally::default());
    for (mode, outcome) in modes.iter().zip(outcomes) {
        line(mode.name, outcome.seeds, outcome.failed.len(), &outcome.tally);
        seeds += outcome.seeds;
        failed += outcome.failed.len();
        all.add(&outcome.tally);
    }
    line("all", seeds, failed, &all);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A seed that is short enough to type.
fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    fastrand::Rng::with_seed(now.as_nanos() as u64).u64(..1_000_000_000)
}
