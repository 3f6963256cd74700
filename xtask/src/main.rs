//! `cargo xtask`: the project's own commands.
#![forbid(unsafe_code)]

mod args;
mod c;
mod canaries;
#[cfg(test)]
mod circles;
mod cli;
mod dist;
mod firmware;
mod fuzz;
mod guests;
#[cfg(test)]
mod house;
#[cfg(test)]
mod layers;
mod no_std;
mod papers;
mod pictures;
mod process;
mod python;
mod soak;
mod speed;
mod steps;
mod torture;
mod verdicts;
mod workspace;

use std::process::ExitCode;

use args::Command;
use process::TaskError;
use workspace::Workspace;

fn main() -> ExitCode {
    let command = match args::parse(std::env::args().skip(1)) {
        Ok(command) => command,
        Err(error) => {
            eprintln!("error: {error}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    let workspace = Workspace::find();
    let done = match command {
        Command::Help => {
            println!("{}", args::USAGE);
            return ExitCode::SUCCESS;
        }
        Command::Test { guests } => {
            return if steps::run_all(&workspace, guests) { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
        Command::Steps { named } => {
            return if steps::run_named(&workspace, &named) { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
        Command::Papers => papers::run(&workspace),
        Command::Dist => dist::run(&workspace),
        Command::Pictures => pictures::run(&workspace),
        Command::Speed => speed::run(&workspace),
        Command::Firmware => firmware::run(&workspace),
        Command::Soak(soak) => soak::run(&workspace, soak),
        Command::Torture(torture) => torture::run(&workspace, &torture),
        Command::Crash { seeds } => crash(&workspace, seeds),
        Command::Canaries { named } => canaries::run(&workspace, &named),
        Command::Bench { rest } => bench(&workspace, &rest),
        Command::Fuzz { seconds, targets } => fuzz::run(&workspace, &targets, fuzz::Effort::Search { seconds }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Cuts the power at seeded moments on larger chips than the exhaustive tests can afford.
fn crash(workspace: &Workspace, seeds: u64) -> Result<(), TaskError> {
    let mut test = workspace.cargo(&["test", "--package", "wearwell", "--test", "crash", "storm"]);
    test.env("WEARWELL_CRASH_SEEDS", seeds.to_string());
    process::run(&mut test)
}

fn bench(workspace: &Workspace, rest: &[String]) -> Result<(), TaskError> {
    process::run(workspace.cargo(&["bench", "--workspace"]).args(rest))
}
