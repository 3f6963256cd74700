//! `wearwell-torture`: runs fresh seeds through all modes in turn, until the time is over.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::thread;

use clap::Parser;

use wearwell_torture::mode::{self, MODES, Mode};
use wearwell_torture::run::Rig;
use wearwell_torture::session::{Length, Session};

/// What is run.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    length: Length,
    /// So many threads; without it, one for each core
    #[arg(long)]
    jobs: Option<usize>,
    /// The modes; without any, all but those whose names begin with `near`
    #[arg(value_parser = mode_named)]
    modes: Vec<&'static Mode>,
}

fn mode_named(name: &str) -> Result<&'static Mode, String> {
    let names = || mode::all().map(|mode| mode.name).collect::<Vec<_>>().join(", ");
    mode::named(name).ok_or_else(|| format!("no such mode; there are {}", names()))
}

fn main() -> ExitCode {
    let args = Args::parse();
    // A panic is a failure like others, and is printed as one.
    std::panic::set_hook(Box::new(|_| {}));
    let session = Session {
        modes: &if args.modes.is_empty() { MODES.iter().collect() } else { args.modes },
        length: args.length,
        jobs: args.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, Into::into)),
        rig: Rig::new,
    };
    session.run()
}
