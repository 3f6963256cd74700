//! Servers that are killed and chips that fail, under a client that knows what the disk may hold.

use std::process::Command;

use crate::process::{self, TaskError};
use crate::workspace::Workspace;

/// How long, and with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Soak {
    pub(crate) kills: u64,
    pub(crate) seconds: u64,
    pub(crate) seed: u64,
}

impl Soak {
    /// What a user waits for.
    pub(crate) const WHOLE: Self = Self { kills: 1000, seconds: 600, seed: 1 };
    /// What every test run has time for.
    pub(crate) const SHORT: Self = Self { kills: 50, seconds: 60, seed: 1 };
}

/// What is broken on purpose, a soak that meets it, and what it must say then.
const CANARIES: &[(&str, [&str; 4], &str)] = &[
    ("lost-flush", ["--kills", "50", "--seconds", "0"], "after a kill: sector"),
    ("flipped-bit", ["--kills", "5", "--seconds", "0"], "a read: sector"),
    ("lost-data", ["--kills", "0", "--seconds", "60"], "failed with error 5"),
];

/// Shows that it can fail, and then runs it. The programs are those of the tests: their assertions are on.
pub(crate) fn run(workspace: &Workspace, soak: Soak) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo(&["test", "--workspace", "--no-run"]))?;
    let program = || {
        let mut program = Command::new(workspace.target("debug/wearwell-soak"));
        program.arg(workspace.target("debug/wearwell"));
        program
    };
    for (canary, args, says) in CANARIES {
        let mut command = program();
        let output = process::capture(command.args(args).args(["--canary", canary]))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.code() != Some(1) || !said.contains(says) {
            return Err(TaskError::Found(format!("the soak does not notice {canary}: {}\n{said}", output.status)));
        }
        println!("soak: notices {canary}");
    }
    let numbers = [("--kills", soak.kills), ("--seconds", soak.seconds), ("--seed", soak.seed)];
    process::run(program().args(numbers.iter().flat_map(|(flag, n)| [(*flag).to_owned(), n.to_string()])))
}
