//! The soak: servers that are killed, chips that fail, and file systems that are full, with a client that knows what
//! the disk may hold.

use std::process::Command;

use crate::guests;
use crate::process::{self, TaskError};
use crate::workspace::Workspace;

/// The length and the seed of a soak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Soak {
    pub(crate) kills: u64,
    pub(crate) seconds: u64,
    pub(crate) fillings: u64,
    pub(crate) seed: u64,
}

impl Soak {
    /// The full soak: a thousand kills and ten minutes of faults over NBD, and as much over NVMe/TCP.
    pub(crate) const WHOLE: Self = Self { kills: 2000, seconds: 1200, fillings: 500, seed: 1 };
    /// The short soak of every test run.
    pub(crate) const SHORT: Self = Self { kills: 50, seconds: 60, fillings: 24, seed: 1 };
}

/// A fault on purpose, a soak that meets it, and the message that it must print.
const CANARIES: &[(&str, &[&str], &str)] = &[
    ("lost-flush", &["--kills", "50", "--seconds", "0"], "after a kill: sector"),
    ("flipped-bit", &["--kills", "5", "--seconds", "0"], "a read: sector"),
    ("lost-data", &["--kills", "0", "--seconds", "60"], "failed with error 5"),
    ("lost-flush", &["--kills", "0", "--seconds", "0", "--fillings", "40"], "after a kill: sector"),
];

/// Shows that the soak can fail, and then runs it. The programs are those of the tests, with assertions on.
pub(crate) fn run(workspace: &Workspace, soak: Soak) -> Result<(), TaskError> {
    process::run(&mut workspace.test_build())?;
    let program = || {
        let mut program = Command::new(workspace.target("debug/wearwell-soak"));
        program.arg(workspace.target("debug/wearwell"));
        program
    };
    for (canary, args, says) in CANARIES {
        let mut command = program();
        let output = process::capture(command.args(*args).args(["--canary", canary]))?;
        // Not every user may do all of it.
        if output.status.code() == Some(guests::SKIPPED) {
            continue;
        }
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.code() != Some(1) || !said.contains(says) {
            return Err(TaskError::Found(format!("the soak does not notice {canary}: {}\n{said}", output.status)));
        }
        println!("soak: notices {canary}");
    }
    let numbers =
        [("--kills", soak.kills), ("--seconds", soak.seconds), ("--fillings", soak.fillings), ("--seed", soak.seed)];
    guests::run_script(program().args(numbers.iter().flat_map(|(flag, n)| [(*flag).to_owned(), n.to_string()])))
}
