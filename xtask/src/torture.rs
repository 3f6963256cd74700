//! Random devices on random chips, under everything that can happen to a chip.

use std::process::Command;

use crate::process::{self, TaskError};
use crate::workspace::Workspace;

/// How long, from which seed on, and in which modes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Torture {
    pub(crate) seconds: u64,
    /// Without one, a fresh one.
    pub(crate) seed: Option<u64>,
    /// Without any, all.
    pub(crate) modes: Vec<String>,
}

impl Torture {
    /// What every test run has time for.
    pub(crate) const SHORT: Self = Self { seconds: 60, seed: None, modes: Vec::new() };
}

/// Runs the program that the tests have built: the assertions are on in it, and in the engines.
pub(crate) fn run(workspace: &Workspace, torture: &Torture) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo(&["test", "--package", "wearwell-torture", "--no-run"]))?;
    let mut program = Command::new(workspace.target("debug/wearwell-torture"));
    program.args(["--seconds", &torture.seconds.to_string()]);
    if let Some(seed) = torture.seed {
        program.args(["--seed", &seed.to_string()]);
    }
    process::run(program.args(&torture.modes))
}
