//! Checks the commands that users type first.

use std::process::Command;

use crate::process::{self, TaskError};
use crate::workspace::Workspace;

/// A command, its exit code, and a word of its output.
struct Case {
    args: &'static [&'static str],
    code: i32,
    says: &'static str,
}

const RUN: &[&str] = &[
    "run",
    "--chip",
    "geometry:4096:64:256",
    "--workload",
    "hot:90/10",
    "--write",
    "128MiB",
    "--which",
    "cat",
    "--json",
    "-",
];

/// A profile of the papers, whose capacity must fit the engine's reserve.
const PROFILE: &[&str] = &[
    "run",
    "--chip",
    "papers/today/chips/tlc-640mib.toml",
    "--layout",
    "nand",
    "--workload",
    "sequential",
    "--write",
    "16MiB",
];

const DEMO: &[&str] = &["demo"];

const CASES: &[Case] = &[
    Case { args: &["--help"], code: 0, says: "run" },
    Case { args: &["chips"], code: 0, says: "kawaguchi-28f008sa" },
    Case { args: &["policies"], code: 0, says: "cost-benefit" },
    Case { args: RUN, code: 0, says: "\"map_digest\"" },
    Case { args: &["run", "--workload", "randon"], code: 2, says: "random" },
    Case { args: &["run", "--workload", "random", "--logical", "8TiB"], code: 2, says: "logical" },
    Case { args: &["run", "--workload", "trace:no-such-file.csv"], code: 2, says: "no-such-file.csv" },
    Case { args: PROFILE, code: 0, says: "write amplification" },
    Case { args: DEMO, code: 0, says: "nothing lost" },
];

/// Checks that the README shows what the demo prints: every line except the last, which is the time it took.
fn check_shown(workspace: &Workspace, shown: &str) -> Result<(), TaskError> {
    let path = workspace.path("README.md");
    let readme = std::fs::read_to_string(&path).map_err(TaskError::file(&path))?;
    let is_time = |line: &str| line.ends_with(" seconds.");
    match shown.lines().map(str::trim_end).find(|line| !is_time(line) && !readme.contains(line)) {
        None => Ok(()),
        Some(line) => Err(TaskError::Found(format!("the README's demo is stale; it lacks the line\n{line}"))),
    }
}

/// Runs the command as it was built for the tests. Another way of building would have other features and build it
/// again.
pub(crate) fn smoke(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut workspace.test_build())?;
    let program = workspace.target("debug/wearwell");
    for case in CASES {
        let mut command = Command::new(&program);
        let output = process::capture(command.current_dir(workspace.path("")).args(case.args))?;
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        // Results are on one stream, and errors on the other.
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        if output.status.code() != Some(case.code) || !said.contains(case.says) {
            let line = process::shown(&command);
            let (code, says) = (case.code, case.says);
            let ended = output.status;
            return Err(TaskError::Found(format!(
                "`{line}` ended with {ended} instead of exit code {code}, or did not say {says}:\n{said}"
            )));
        }
        if case.args == DEMO {
            check_shown(workspace, &shown)?;
        }
        println!("wearwell {}: exit code {}", case.args.join(" "), case.code);
    }
    Ok(())
}
