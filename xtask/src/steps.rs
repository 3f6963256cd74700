//! `cargo xtask test`: steps that build in the common target folder, one after the other, and beside them those that
//! build in folders of their own.

use std::env;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Instant;

use crate::process::{self, TaskError};
use crate::soak::{self, Soak};
use crate::torture;
use crate::workspace::Workspace;
use crate::{c, cli, dist, firmware, fuzz, guests, no_std, python};

/// Seconds that each fuzz target runs.
const FUZZ_SMOKE_SECONDS: u64 = 3;

type Step = (&'static str, fn(&Workspace) -> Result<(), TaskError>);

/// Steps that wait for each other, the fast ones first.
const STEPS: &[Step] = &[
    ("format", format),
    ("clippy", clippy),
    ("documentation", documentation),
    ("tests", tests),
    ("commands", cli::smoke),
    ("clients", guests::clients),
    ("package", dist::test),
    ("soak", short_soak),
];

/// Steps whose compilers would have to wait for no other step, and often keep one core busy. Only the last uses a
/// program that the tests have built.
const APART: &[Step] = &[
    ("fuzz", fuzz_smoke),
    ("no_std", no_std::prove),
    ("c", c::test),
    ("firmware", firmware::run),
    ("python", python::test),
];

/// The step that not every machine can do.
const GUESTS: Step = ("guests", guests::kernels);

/// The last, on one core: what runs beside it has mostly single programs left to build.
const TORTURE: Step = ("torture", short_torture);

/// The names of all steps.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    all().map(|(name, _)| *name)
}

fn all() -> impl Iterator<Item = &'static Step> {
    STEPS.iter().chain(APART).chain([&GUESTS, &TORTURE])
}

/// Runs the named steps, one after the other. True if none has failed.
pub(crate) fn run_named(workspace: &Workspace, named: &[String]) -> bool {
    let lines: Vec<String> =
        all().filter(|(name, _)| named.iter().any(|n| n == name)).map(|step| run(workspace, step)).collect();
    tell(&lines)
}

/// Runs every step, even after a failure. True if none has failed.
pub(crate) fn run_all(workspace: &Workspace, with_guests: bool) -> bool {
    let beside = Beside::start(workspace);
    let ours = STEPS.iter().chain(with_guests.then_some(&GUESTS)).chain([&TORTURE]);
    let mut lines: Vec<String> = ours.map(|step| run(workspace, step)).collect();
    lines.extend(beside.and_then(Beside::finish).unwrap_or_else(|error| vec![line("beside", &Err(error), 0.0)]));
    tell(&lines)
}

/// Runs a step, and returns its line of the summary.
fn run(workspace: &Workspace, (name, task): &Step) -> String {
    println!("\n==== {name}");
    let start = Instant::now();
    let result = task(workspace);
    match &result {
        Ok(()) => {}
        Err(skipped @ TaskError::Skipped(_)) => println!("{skipped}"),
        Err(error) => println!("error: {error}"),
    }
    line(name, &result, start.elapsed().as_secs_f64())
}

/// This program with other steps, while we run ours. What it prints is kept in a file.
struct Beside {
    child: Child,
    output: PathBuf,
}

impl Beside {
    fn start(workspace: &Workspace) -> Result<Self, TaskError> {
        let output = workspace.target("steps-beside.log");
        let file = File::create(&output).map_err(TaskError::file(&output))?;
        let errors = file.try_clone().map_err(TaskError::file(&output))?;
        let program = env::current_exe().map_err(TaskError::file("xtask"))?;
        // They fill the time in which ours leave a core idle.
        let mut command = Command::new("nice");
        command.arg(program).arg("test").args(APART.iter().map(|(name, _)| name)).stdout(file).stderr(errors);
        let child = command.spawn();
        let child = child.map_err(|source| TaskError::NotStarted { command: process::shown(&command), source })?;
        println!("{} goes to {}", process::shown(&command), output.display());
        Ok(Self { child, output })
    }

    /// Waits for it, prints what it has printed, and returns the lines of its summary.
    fn finish(mut self) -> Result<Vec<String>, TaskError> {
        self.child.wait().map_err(TaskError::file(&self.output))?;
        let text = fs::read(&self.output).map_err(TaskError::file(&self.output))?;
        let text = String::from_utf8_lossy(&text);
        let (said, lines) = split(&text, APART.len());
        println!("{said}");
        lines.ok_or_else(|| TaskError::Found("they have ended before their summary".to_owned()))
    }
}

/// What a run of so many steps has said before its summary, and the summary's lines about the steps, if it came so far.
fn split(text: &str, steps: usize) -> (&str, Option<Vec<String>>) {
    let Some((said, summary)) = text.trim_end().rsplit_once("\n\n") else { return (text, None) };
    let is_step = |line: &&str| WORDS.iter().any(|word| line.starts_with(word));
    let lines: Vec<String> = summary.lines().take_while(is_step).map(str::to_owned).collect();
    // A program that was ended early leaves something else at its end. Then all of it is shown.
    if lines.len() == steps { (said, Some(lines)) } else { (text, None) }
}

/// The first words of lines of a summary.
const WORDS: [&str; 3] = ["passed", "skipped", "FAILED"];

fn line(name: &str, result: &Result<(), TaskError>, seconds: f64) -> String {
    // The whole of a long error was printed when the step ended.
    let note = |error: &dyn std::fmt::Display| {
        let text = error.to_string();
        format!("  {}", text.lines().next().unwrap_or_default())
    };
    let (word, note) = match result {
        Ok(()) => ("passed", String::new()),
        Err(TaskError::Skipped(what)) => ("skipped", note(what)),
        Err(error) => ("FAILED", note(error)),
    };
    format!("{word:<7} {name:<16} {seconds:7.1} s{note}")
}

/// Prints the summary. True if no step has failed.
fn tell(lines: &[String]) -> bool {
    let (summary, has_failed) = summary(lines);
    println!("\n{summary}");
    !has_failed
}

/// The result of each step, and whether one has failed. A step that was skipped, in whole or in part, has neither
/// passed nor failed.
fn summary(lines: &[String]) -> (String, bool) {
    let [passed, skipped, failed] = WORDS.map(|word| lines.iter().filter(|line| line.starts_with(word)).count());
    (format!("{}\n{passed} passed, {skipped} skipped, {failed} failed", lines.join("\n")), failed > 0)
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

fn tests(workspace: &Workspace) -> Result<(), TaskError> {
    let ended = process::run(workspace.tests().arg("--no-fail-fast"));
    process::run(&mut workspace.cargo(&["test", "--workspace", "--doc", "--no-fail-fast"])).and(ended)
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
        let (lines, has_failed) = summary(&[line("tests", &Ok(()), 1.0), line("guests", &skipped(), 2.0)]);
        assert!(!has_failed);
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines[1], "skipped guests               2.0 s  uml.sh");
        assert_eq!(lines[2], "1 passed, 1 skipped, 0 failed");
        let lost = Err(TaskError::Found("gone\n\nwith all it said".to_owned()));
        let (lines, has_failed) = summary(&[line("soak", &lost, 1.0), line("a", &skipped(), 0.0)]);
        assert!(has_failed && lines.ends_with("0 passed, 1 skipped, 1 failed"), "{lines}");
        assert!(lines.starts_with("FAILED  soak                 1.0 s  gone\n"), "{lines}");
    }

    #[test]
    fn the_summary_of_the_steps_beside_is_taken_over() {
        let lines = vec![line("fuzz", &Ok(()), 1.0), line("c", &Err(TaskError::Found("gone".to_owned())), 2.0)];
        let text = format!("==== fuzz\n\n==== c\nerror: gone\n\n{}\n", summary(&lines).0);
        assert_eq!(split(&text, 2), ("==== fuzz\n\n==== c\nerror: gone", Some(lines)));
        assert_eq!(split(&text, 3), (&text[..], None));
        assert_eq!(split("==== fuzz\n\npassed by\n", 2).1, None);
        assert_eq!(split("", 2), ("", None));
    }
}
