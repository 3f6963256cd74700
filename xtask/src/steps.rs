//! `cargo xtask test`: runs one step after the other, the fast ones first.

use std::time::Instant;

use crate::process::{self, TaskError};
use crate::soak::{self, Soak};
use crate::torture;
use crate::workspace::Workspace;
use crate::{c, cli, dist, firmware, fuzz, guests, no_std, python};

/// Seconds that each fuzz target runs.
const FUZZ_SMOKE_SECONDS: u64 = 3;

type Task = fn(&Workspace) -> Result<(), TaskError>;

const STEPS: &[(&str, Task)] = &[
    ("format", format),
    ("clippy", clippy),
    ("documentation", documentation),
    ("book", book),
    ("tests", tests),
    ("no_std proof", no_std::prove),
    ("C library", c::test),
    ("firmware", firmware::run),
    ("fuzz smoke", fuzz_smoke),
    ("command smoke", cli::smoke),
    ("python", python::test),
    ("other clients", guests::clients),
    ("package", dist::test),
    ("soak", short_soak),
    ("torture", short_torture),
];

/// The step that not every machine can do.
const GUESTS: (&str, Task) = ("guests", guests::kernels);

/// Runs every step, even after a failure. True if none has failed.
pub(crate) fn run_all(workspace: &Workspace, with_guests: bool) -> bool {
    let mut results = Vec::with_capacity(STEPS.len() + 1);
    for (name, task) in STEPS.iter().chain(with_guests.then_some(&GUESTS)) {
        println!("\n==== {name}");
        let start = Instant::now();
        let result = task(workspace);
        match &result {
            Ok(()) => {}
            Err(skipped @ TaskError::Skipped(_)) => println!("{skipped}"),
            Err(error) => println!("error: {error}"),
        }
        results.push((*name, result, start.elapsed().as_secs_f64()));
    }
    let (summary, has_failed) = summary(&results);
    println!("\n{summary}");
    !has_failed
}

/// The result of each step, and whether one has failed. A step that was skipped, in whole or in part, has neither
/// passed nor failed.
fn summary(results: &[(&str, Result<(), TaskError>, f64)]) -> (String, bool) {
    let (mut passed, mut skipped, mut failed) = (0, 0, 0);
    let mut lines = String::new();
    for (name, result, seconds) in results {
        let (count, word, note) = match result {
            Ok(()) => (&mut passed, "passed", String::new()),
            Err(TaskError::Skipped(what)) => (&mut skipped, "skipped", format!("  {what}")),
            Err(error) => (&mut failed, "FAILED", format!("  {error}")),
        };
        *count += 1;
        lines += &format!("{word:<7} {name:<16} {seconds:7.1} s{note}\n");
    }
    lines += &format!("{passed} passed, {skipped} skipped, {failed} failed");
    (lines, failed > 0)
}

fn format(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo(&["fmt", "--all", "--check"]))?;
    for apart in ["no-std-proof", "fuzz", "crates/wearwell-c", "crates/wearwell-py"] {
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

/// The book's tool is a separate crate, so that only this step waits for mdBook to be compiled.
fn book(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo(&["run", "--quiet", "--package", "wearwell-book"]))
}

fn tests(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo(&["test", "--workspace", "--no-fail-fast"]))
}

fn fuzz_smoke(workspace: &Workspace) -> Result<(), TaskError> {
    fuzz::run(workspace, &[], fuzz::Effort::Smoke { seconds: FUZZ_SMOKE_SECONDS })
}

fn short_soak(workspace: &Workspace) -> Result<(), TaskError> {
    soak::run(workspace, Soak::SHORT)
}

fn short_torture(workspace: &Workspace) -> Result<(), TaskError> {
    torture::run_short(workspace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_skipped_has_neither_passed_nor_failed() {
        let skipped = || Err(TaskError::Skipped("uml.sh".to_owned()));
        let (lines, has_failed) = summary(&[("tests", Ok(()), 1.0), ("guests", skipped(), 2.0)]);
        assert!(!has_failed);
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines[1], "skipped guests               2.0 s  uml.sh");
        assert_eq!(lines[2], "1 passed, 1 skipped, 0 failed");
        let (lines, has_failed) =
            summary(&[("soak", Err(TaskError::Found("gone".to_owned())), 1.0), ("a", skipped(), 0.0)]);
        assert!(has_failed && lines.ends_with("0 passed, 1 skipped, 1 failed"), "{lines}");
        assert!(lines.contains("FAILED  soak                 1.0 s  gone"), "{lines}");
    }
}
