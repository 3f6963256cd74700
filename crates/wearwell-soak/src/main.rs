//! `wearwell-soak`: a real server under kills and faults, with a client that knows what the disk may hold.
//!
//! The written data depends only on a seed. The moment of a kill varies by microseconds and cannot be repeated.
#![forbid(unsafe_code)]

mod failure;
mod faults;
mod kills;
mod kinds;
mod model;
mod room;
mod server;
mod wire;
mod writer;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use failure::Failure;

/// The exit code if this user may not do all of it.
const SKIPPED: u8 = 77;

/// What is run.
#[derive(Debug, Parser)]
struct Args {
    /// The `wearwell` program to try
    program: PathBuf,
    /// How often a server is killed
    #[arg(long, default_value_t = 1000)]
    kills: u64,
    /// How long faults are injected
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// How often the file system of an image fills up and has room again; this takes root
    #[arg(long, default_value_t = 0)]
    fillings: u64,
    /// The seed of all requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Shows that it can fail
    #[arg(long)]
    canary: Option<Canary>,
}

/// What is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Canary {
    /// A flush counts as answered that the server has never received.
    LostFlush,
    /// A bit in the answer to a read is flipped.
    FlippedBit,
    /// Data that faults destroyed is expected to be there.
    LostData,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let Args { kills, seconds, fillings, seed, .. } = args;
    println!("soak: seed {seed}, {kills} kills, then faults for {seconds} s, then {fillings} full file systems");
    let folder = match tempfile::Builder::new().prefix("wearwell-soak-").tempdir() {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!("error: no folder for the disks: {error}");
            return ExitCode::FAILURE;
        }
    };
    let run = || -> Result<bool, Failure> {
        if args.kills > 0 {
            kills::run(&args.program, folder.path(), args.seed, args.kills, args.canary)?;
        }
        if args.seconds > 0 {
            faults::run(&args.program, folder.path(), args.seed, args.seconds, args.canary)?;
        }
        if args.fillings == 0 {
            return Ok(true);
        }
        room::run(&args.program, folder.path(), args.seed, args.fillings, args.canary)
    };
    match run() {
        Ok(false) => {
            println!("skipped: a file system can only be mounted by root");
            ExitCode::from(SKIPPED)
        }
        Ok(true) => {
            println!("soak: no flushed byte lost, no wrong byte returned");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            let kept = folder.keep();
            eprintln!("error: seed {}: {failure}\nthe disks are left in {}", args.seed, kept.display());
            ExitCode::FAILURE
        }
    }
}
