//! The fuzz targets, on a stable toolchain: libFuzzer with the coverage of LLVM's own pass.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::process::{self, TaskError};
use crate::workspace::Workspace;

const FOLDER: &str = "fuzz";

/// Every target; each has a program in `fuzz/src/bin` and first inputs in `fuzz/corpus`.
pub(crate) const TARGETS: &[&str] = &[
    "trace",
    "workload_spec",
    "chip_profile",
    "mount",
    "mount_blocks",
    "mount_nor",
    "mount_paged",
    "chip_image",
    "aware",
    "nbd",
    "nvme",
    "nvme_session",
];

/// The flags of `cargo fuzz` without a sanitizer: counters of edges, and tracing of comparisons.
const COVERAGE_FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";

/// The effort of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Effort {
    /// From the seed corpus, with a fixed seed: for a test run.
    Smoke { seconds: u64 },
    /// From everything found so far, with a new seed.
    Search { seconds: u64 },
}

impl Effort {
    /// The profile in `fuzz/Cargo.toml` that the targets are built with.
    fn profile(self) -> &'static str {
        match self {
            Self::Smoke { .. } => "smoke",
            Self::Search { .. } => "release",
        }
    }
}

/// Runs the named targets, or all, as many at a time as there are cores. Without a C++ compiler for libFuzzer, the seed
/// corpus is mutated without coverage.
pub(crate) fn run(workspace: &Workspace, named: &[String], effort: Effort) -> Result<(), TaskError> {
    if let Some(unknown) = named.iter().find(|name| !TARGETS.contains(&name.as_str())) {
        return Err(TaskError::Found(format!(
            "no fuzz target is called '{unknown}'; there are {}",
            TARGETS.join(", ")
        )));
    }
    if !has_cpp_compiler() {
        println!("no C++ compiler to build libFuzzer with: mutating the seed corpus without coverage instead");
        let mut test = workspace.cargo_apart(FOLDER, FOLDER, &["test", "--no-default-features", "--release"]);
        return process::run(&mut test);
    }
    let programs = build(workspace, effort.profile())?;
    let chosen = TARGETS.iter().filter(|target| named.is_empty() || named.iter().any(|name| name == *target));
    let (chosen, crashed) = (Mutex::new(chosen), Mutex::new(Vec::new()));
    // The lock is held for the choice alone, and not while the target runs.
    let next = || chosen.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(target) = next() {
            if let Err(error) = fuzz(workspace, &programs, target, effort) {
                println!("{error}");
                crashed.lock().unwrap_or_else(PoisonError::into_inner).push(*target);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let crashed = crashed.into_inner().unwrap_or_else(PoisonError::into_inner);
    if crashed.is_empty() { Ok(()) } else { Err(TaskError::Found(format!("crashes in: {}", crashed.join(", ")))) }
}

fn has_cpp_compiler() -> bool {
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    Command::new(compiler).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Builds all targets and returns the folder they are in.
fn build(workspace: &Workspace, profile: &str) -> Result<PathBuf, TaskError> {
    let host = host_triple()?;
    // With an explicit target the flags do not apply to build scripts and macros.
    let mut build =
        workspace.cargo_apart(FOLDER, FOLDER, &["build", "--profile", profile, "--bins", "--target", &host]);
    process::run(build.env("RUSTFLAGS", COVERAGE_FLAGS))?;
    Ok(workspace.target(FOLDER).join(host).join(profile))
}

fn host_triple() -> Result<String, TaskError> {
    let output = process::capture(Command::new("rustc").arg("-vV"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| TaskError::Found("`rustc -vV` names no host".into()))
}

/// Runs one target and prints what it covered.
fn fuzz(workspace: &Workspace, programs: &std::path::Path, target: &str, effort: Effort) -> Result<(), TaskError> {
    let found = workspace.target("fuzz-corpus").join(target);
    let artifacts = workspace.target("fuzz-artifacts").join(target);
    if matches!(effort, Effort::Smoke { .. }) && found.exists() {
        // What earlier runs have found would make this run another one.
        fs::remove_dir_all(&found).map_err(TaskError::file(&found))?;
    }
    for folder in [&found, &artifacts] {
        fs::create_dir_all(folder).map_err(TaskError::file(folder))?;
    }
    let mut fuzzer = Command::new(programs.join(target));
    match effort {
        Effort::Smoke { seconds } => fuzzer.arg("-seed=1").arg(format!("-max_total_time={seconds}")),
        Effort::Search { seconds } => fuzzer.arg(format!("-max_total_time={seconds}")),
    };
    fuzzer.arg("-print_final_stats=1").arg("-timeout=10").arg(format!("-artifact_prefix={}/", artifacts.display()));
    // New inputs go to the first folder.
    fuzzer.arg(&found).arg(workspace.path("fuzz/corpus").join(target));
    let output = process::capture(&mut fuzzer)?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let artifact =
            log.lines().rev().find_map(|line| line.split_once("Test unit written to ").map(|(_, path)| path));
        let artifact = artifact.unwrap_or("no file: it failed before the first input");
        return Err(TaskError::Found(format!("{log}\n{target} failed; the input that does it: {artifact}")));
    }
    println!("{target}: {}", summary(&log));
    Ok(())
}

/// From libFuzzer's log: the number of runs, and the edges covered by the seed corpus and at the end.
fn summary(log: &str) -> String {
    let number_behind = |line: &str, word: &str| {
        let rest = line.split_once(word)?.1.trim_start();
        Some(rest.split_whitespace().next()?.to_owned())
    };
    let covered = |line: &str| number_behind(line, "cov:");
    let first = log.lines().filter(|line| line.contains("INITED")).find_map(covered).unwrap_or_default();
    let last = log.lines().rev().find_map(covered).unwrap_or_default();
    let runs = log.lines().find_map(|line| number_behind(line, "stat::number_of_executed_units:")).unwrap_or_default();
    format!("{runs} runs, {first} edges covered by the seed corpus, {last} in the end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_read_from_the_log() {
        let log = "INFO: seed\n#13\tINITED cov: 120 ft: 300 corp: 9/2Kb exec/s: 0 rss: 40Mb\n\
            #20\tNEW    cov: 121 ft: 301 corp: 10/2Kb\n#900\tDONE   cov: 140 ft: 350\nDone 900 runs in 5 second(s)\n\
            stat::number_of_executed_units: 900\nstat::average_exec_per_sec:     180\n";
        assert_eq!(summary(log), "900 runs, 120 edges covered by the seed corpus, 140 in the end");
    }
}
