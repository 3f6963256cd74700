//! `cargo xtask test`: one step after the other, the quick ones first.

use std::time::Instant;

use crate::process::{self, TaskError};
use crate::soak::{self, Soak};
use crate::workspace::Workspace;
use crate::{cli, fuzz, guests, no_std};

/// Seconds that each fuzz target runs.
const FUZZ_SMOKE_SECONDS: u64 = 5;

type Task = fn(&Workspace) -> Result<(), TaskError>;

const STEPS: &[(&str, Task)] = &[
    ("format", format),
    ("clippy", clippy),
    ("documentation", documentation),
    ("tests", tests),
    ("no_std proof", no_std::prove),
    ("fuzz smoke", fuzz_smoke),
    ("command smoke", cli::smoke),
    ("other clients", guests::clients),
    ("soak", short_soak),
];

/// What is not for every machine.
const GUESTS: (&str, Task) = ("guests", guests::kernels);

/// Runs every step, also after one has failed. True if all passed.
pub(crate) fn run_all(workspace: &Workspace, with_guests: bool) -> bool {
    let mut results = Vec::with_capacity(STEPS.len() + 1);
    for (name, task) in STEPS.iter().chain(with_guests.then_some(&GUESTS)) {
        println!("\n==== {name}");
        let start = Instant::now();
        let result = task(workspace);
        if let Err(error) = &result {
            println!("error: {error}");
        }
        results.push((name, result.is_ok(), start.elapsed().as_secs_f64()));
    }
    println!();
    for (name, passed, seconds) in &results {
        println!("{} {name:<16} {seconds:7.1} s", if *passed { "passed" } else { "FAILED" });
    }
    let failed = results.iter().filter(|(_, passed, _)| !passed).count();
    println!("{} passed, {failed} failed", results.len() - failed);
    failed == 0
}

fn format(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo(&["fmt", "--all", "--check"]))?;
    for apart in ["no-std-proof", "fuzz"] {
        let manifest = workspace.path(apart).join("Cargo.toml");
        process::run(workspace.cargo(&["fmt", "--manifest-path"]).arg(manifest).arg("--check"))?;
    }
    Ok(())
}

fn clippy(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn documentation(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(workspace.cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

fn tests(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo(&["test", "--workspace"]))
}

fn fuzz_smoke(workspace: &Workspace) -> Result<(), TaskError> {
    fuzz::run(workspace, &[], fuzz::Effort::Smoke { seconds: FUZZ_SMOKE_SECONDS })
}

fn short_soak(workspace: &Workspace) -> Result<(), TaskError> {
    soak::run(workspace, Soak::SHORT)
}
