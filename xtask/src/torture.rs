//! Random devices on random chips, under everything that can happen to a chip.

use std::process::Command;

use crate::process::{self, TaskError};
use crate::workspace::Workspace;

/// The length of a torture, its first seed, and its modes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Torture {
    pub(crate) seconds: u64,
    /// The first seed; by default a fresh one.
    pub(crate) seed: Option<u64>,
    /// The modes; by default all.
    pub(crate) modes: Vec<String>,
}

impl Torture {
    /// The default length.
    pub(crate) const SECONDS: u64 = 60;
}

/// The modes in which fresh seeds have long found nothing. What they found in the others is listed in
/// docs/src/design/power-cut-tests.md, *What the torture has found*.
const HOLDING: [&str; 10] = [
    "page",
    "refresh",
    "trim",
    "aware",
    "paged",
    "paged-fails",
    "log-block",
    "primary-replacement",
    "fast",
    "fast-by-stream",
];

/// The program that the tests have built, with assertions on in it and in the engines.
fn program(workspace: &Workspace) -> Result<Command, TaskError> {
    process::run(&mut workspace.test_build())?;
    Ok(Command::new(workspace.target("debug/wearwell-torture")))
}

/// The run of every test run: the same seeds of all modes each time, so that what once held holds, and then fresh ones
/// for two minutes, the first of which is printed. In some modes fresh seeds may still find a failure, so they cannot
/// decide whether a change may land. One core is enough: the steps beside this one keep the other busy.
pub(crate) fn run_short(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(program(workspace)?.args(["--jobs", "1", "--seed", "424200", "--seeds", "60"]))?;
    process::run(program(workspace)?.args(["--jobs", "1", "--seconds", "120"]).args(HOLDING))
}

pub(crate) fn run(workspace: &Workspace, torture: &Torture) -> Result<(), TaskError> {
    let mut program = program(workspace)?;
    program.args(["--seconds", &torture.seconds.to_string()]);
    if let Some(seed) = torture.seed {
        program.args(["--seed", &seed.to_string()]);
    }
    process::run(program.args(&torture.modes))
}
