//! `wearwell-torture`: runs fresh seeds through all modes in turn, until the time is over.
//!
//! Each thread takes the next turn, a seed of a mode. What they find is told in the order of the turns, so that a
//! number of seeds prints the same whatever the number of threads.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Parser;

use wearwell_torture::history::as_test;
use wearwell_torture::mode::{self, MODES, Mode};
use wearwell_torture::run::{Record, Rig, Tally};
use wearwell_torture::shrink::shrink;
use wearwell_torture::torture;

/// What is run.
#[derive(Debug, Parser)]
struct Args {
    /// How long
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The first seed; without it, a fresh one
    #[arg(long)]
    seed: Option<u64>,
    /// So many seeds of each mode, however long that takes
    #[arg(long)]
    seeds: Option<u64>,
    /// So many threads; without it, one for each core
    #[arg(long)]
    jobs: Option<usize>,
    /// The modes; without any, all
    #[arg(value_parser = mode_named)]
    modes: Vec<&'static Mode>,
}

fn mode_named(name: &str) -> Result<&'static Mode, String> {
    let names = || MODES.iter().map(|mode| mode.name).collect::<Vec<_>>().join(", ");
    mode::named(name).ok_or_else(|| format!("no such mode; there are {}", names()))
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

fn main() -> ExitCode {
    let args = Args::parse();
    let first = args.seed.unwrap_or_else(fresh_seed);
    println!("torture: seed {first}");
    // A panic is a failure like others, and is printed as one.
    std::panic::set_hook(Box::new(|_| {}));
    let modes: Vec<&Mode> = if args.modes.is_empty() { MODES.iter().collect() } else { args.modes.clone() };
    let outcomes = run_all(&args, first, &modes);
    let code = summarize(&modes, &outcomes);
    for (mode, outcome) in modes.iter().zip(&outcomes) {
        if let (Some((rig, record)), Some(seed)) = (&outcome.first, outcome.failed.first()) {
            shorten(mode, *seed, rig, record);
        }
    }
    code
}

/// Runs all turns. Every turn that a thread takes is run, so that none is left out between two others.
fn run_all(args: &Args, first: u64, modes: &[&Mode]) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = modes.iter().map(|_| Outcome::default()).collect();
    let in_round = modes.len() as u64;
    let mode_of = |turn: u64| (turn % in_round) as usize;
    let seed_of = |turn: u64| first.wrapping_add(turn / in_round);
    let (turns, end) = (args.seeds.map(|seeds| seeds * in_round), Instant::now() + Duration::from_secs(args.seconds));
    let next_turn = AtomicU64::new(0);
    let jobs = args.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, Into::into)).max(1);
    thread::scope(|scope| {
        let (send, done) = mpsc::channel();
        for _ in 0..jobs {
            let (send, next_turn) = (send.clone(), &next_turn);
            scope.spawn(move || {
                while turns.is_some() || Instant::now() < end {
                    let turn = next_turn.fetch_add(1, Ordering::Relaxed);
                    if turns.is_some_and(|turns| turn >= turns) {
                        break;
                    }
                    let (rig, mut record) = torture(modes[mode_of(turn)], seed_of(turn));
                    if record.failure.is_none() {
                        // Nobody asks for it, and others may have to wait for an earlier turn.
                        record.history = Vec::new();
                    }
                    // The other end stays until all threads have ended.
                    _ = send.send((turn, (rig, record)));
                }
            });
        }
        drop(send);
        let (mut early, mut turn) = (BTreeMap::new(), 0);
        for (of_turn, result) in done {
            early.insert(of_turn, result);
            while let Some((rig, record)) = early.remove(&turn) {
                outcomes[mode_of(turn)].add(modes[mode_of(turn)], seed_of(turn), rig, record);
                turn += 1;
            }
        }
    });
    outcomes
}

fn tell(mode: &Mode, seed: u64, rig: &Rig, record: &Record) {
    let Some(failure) = &record.failure else { return };
    let text: String = failure.to_string().chars().take(300).collect();
    let engine: String = format!("{:?}", rig.setup.engine).chars().take(80).collect();
    println!("FAILED: {} --seed {seed} after {} steps ({engine}…): {text}", mode.name, record.history.len());
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

/// Short enough to type.
fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    fastrand::Rng::with_seed(now.as_nanos() as u64).u64(..1_000_000_000)
}
