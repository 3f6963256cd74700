//! Engines that are broken on purpose, in their own source: each without one rule of a mount. The crash tests or the
//! torture have to notice.
//!
//! All of this happens in a copy of the tracked files, with a target folder of its own. The tests take minutes to
//! build and seconds to run. So they are built once, with all changes, each of which asks the environment whether it is
//! meant. If none is, nothing is broken, and the same tests have to pass.

pub(crate) mod list;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::{self, TaskError};
use crate::workspace::Workspace;
use list::{Canary, Evidence, Run};

/// The builds: with assertions, and quicker than a release.
const PROFILE: &[(&str, &str)] = &[
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
    ("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true"),
    ("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "true"),
];

/// The root of the engine's crate, and what the copy has at the end of it.
const ROOT: &str = "crates/wearwell/src/lib.rs";
const SWITCH: &str = r#"
extern crate std;

fn is_broken(canary: &str) -> bool {
    static NAMED: std::sync::OnceLock<Option<std::string::String>> = std::sync::OnceLock::new();
    NAMED.get_or_init(|| std::env::var("WEARWELL_CANARY").ok()).as_deref() == Some(canary)
}
"#;

/// The variable of the environment that names the canary to be broken.
const NAMED: &str = "WEARWELL_CANARY";

/// A broken engine may never come to an end.
const LONGEST: Duration = Duration::from_secs(600);

/// What tests and the torture print as soon as something has failed.
const FAILED: &str = "FAILED";

/// How a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    Endless,
}

/// Tries the named canaries, or all. Prints a row of a table for each.
pub(crate) fn run(workspace: &Workspace, names: &[String]) -> Result<(), TaskError> {
    let is_named = |canary: &&Canary| names.is_empty() || names.iter().any(|name| name == canary.name);
    let canaries: Vec<&Canary> = list::all().filter(is_named).collect();
    let tree = workspace.target("canaries/tree");
    copy_tracked(workspace, &tree)?;
    let programs = Programs::build(workspace, tree)?;
    // First without a canary: a test that fails by itself would catch all of them.
    programs.check_control(&canaries)?;
    println!("| what is broken | rule | crash tests | torture |\n| --- | --- | --- | --- |");
    let mut wrong = Vec::new();
    for canary in canaries {
        let mut outcomes = [Outcome::Passed; 2];
        for (outcome, evidence) in outcomes.iter_mut().zip([&canary.crash, &canary.torture]) {
            *outcome = programs.judge(Some(canary.name), &evidence.run)?;
            if evidence.catches != (*outcome != Outcome::Passed) {
                wrong.push(format!("{}: {outcome:?} of {}", canary.name, evidence.run));
            }
        }
        println!("{}", row(canary, outcomes));
        if outcomes == [Outcome::Passed; 2] && !list::UNNOTICED.contains(&canary.name) {
            wrong.push(format!("{}: nobody has noticed", canary.name));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(TaskError::Found(format!("not as listed:\n{}", wrong.join("\n")))) }
}

/// A row of the table.
fn row(canary: &Canary, [crash, torture]: [Outcome; 2]) -> String {
    let cell = |evidence: &Evidence, outcome| match outcome {
        Outcome::Passed => "–".to_owned(),
        Outcome::Failed => evidence.run.to_string(),
        Outcome::Endless => format!("{}, without an end", evidence.run),
    };
    let (crash, torture) = (cell(&canary.crash, crash), cell(&canary.torture, torture));
    format!("| {} | {} | {crash} | {torture} |", canary.broken, canary.rule)
}

/// Copies what is tracked, as it is in the workspace, and breaks it. What is there already keeps its time, so that it
/// is not built again.
fn copy_tracked(workspace: &Workspace, tree: &Path) -> Result<(), TaskError> {
    let mut git = Command::new("git");
    let listed = process::capture(git.current_dir(workspace.path("")).args(["ls-files", "-z"]))?;
    process::check(&git, listed.status)?;
    for name in String::from_utf8_lossy(&listed.stdout).split_terminator('\0') {
        let (from, to) = (workspace.path(name), tree.join(name));
        // One that is tracked may have been removed.
        if !from.is_file() {
            continue;
        }
        let mut bytes = fs::read(&from).map_err(TaskError::file(from))?;
        for canary in list::all().filter(|canary| canary.file == name) {
            let source = String::from_utf8_lossy(&bytes);
            bytes = canary.breaks(&source).map_err(TaskError::Found)?.into_bytes();
        }
        if name == ROOT {
            bytes.extend_from_slice(SWITCH.as_bytes());
        }
        if fs::read(&to).ok().as_ref() != Some(&bytes) {
            fs::create_dir_all(to.parent().unwrap_or(tree)).map_err(TaskError::file(&to))?;
            fs::write(&to, bytes).map_err(TaskError::file(to))?;
        }
    }
    Ok(())
}

/// What was built from the copy.
struct Programs {
    tree: PathBuf,
    /// Where the output of the last run is.
    log: PathBuf,
    crash: PathBuf,
    regressions: PathBuf,
    torture: PathBuf,
}

impl Programs {
    fn build(workspace: &Workspace, tree: PathBuf) -> Result<Self, TaskError> {
        let target = workspace.target("canaries/build");
        let mut cargo = workspace.cargo(&["test", "--release", "--no-run", "-p", "wearwell", "-p", "wearwell-torture"]);
        cargo.args(["--test", "crash", "--test", "regressions"]).current_dir(&tree);
        cargo.envs(PROFILE.iter().copied()).env("CARGO_TARGET_DIR", &target);
        let built = process::capture(&mut cargo)?;
        let said = String::from_utf8_lossy(&built.stderr);
        if !built.status.success() {
            return Err(TaskError::Found(format!("`{}`:\n{said}", process::shown(&cargo))));
        }
        let named = |test: &str| {
            // Cargo puts a hash into the name of each program, and says what it is.
            let line = said.lines().find(|line| line.trim_start().starts_with("Executable") && line.contains(test));
            let path = line.and_then(|line| line.rsplit_once('(')?.1.strip_suffix(')'));
            path.map(|path| tree.join(path)).ok_or_else(|| TaskError::Found(format!("cargo names no {test}")))
        };
        let (crash, regressions) = (named("tests/crash/")?, named("tests/regressions/")?);
        let (log, torture) = (target.join("run.log"), target.join("release/wearwell-torture"));
        Ok(Self { tree, log, crash, regressions, torture })
    }

    /// Fails if an engine that is not broken does not pass what the canaries have to fail, or if there is no such test.
    fn check_control(&self, canaries: &[&Canary]) -> Result<(), TaskError> {
        let mut done: Vec<Run> = Vec::new();
        for Evidence { run, .. } in canaries.iter().flat_map(|canary| [canary.crash, canary.torture]) {
            if done.contains(&run) {
                continue;
            }
            let outcome = self.judge(None, &run)?;
            let said = fs::read(&self.log).map_err(TaskError::file(&self.log))?;
            if outcome != Outcome::Passed || String::from_utf8_lossy(&said).contains("running 0 tests") {
                let log = self.log.display();
                return Err(TaskError::Found(format!("the control: {outcome:?} of {run}, or no such test; see {log}")));
            }
            done.push(run);
        }
        Ok(())
    }

    /// Runs tests or the torture, with an engine broken or with none, until something has failed or they have ended.
    fn judge(&self, canary: Option<&str>, run: &Run) -> Result<Outcome, TaskError> {
        let mut command = match run {
            Run::Crash(words) => test(&self.crash, words),
            Run::Kept(words) => test(&self.regressions, words),
            Run::Seeds(modes, seeds) => {
                let mut torture = Command::new(&self.torture);
                torture.args(*modes).args(["--seed", "1", "--seeds", &seeds.to_string()]);
                torture
            }
        };
        let files = File::create(&self.log).and_then(|file| Ok((file.try_clone()?, file)));
        let (out, err) = files.map_err(TaskError::file(&self.log))?;
        command.current_dir(self.tree.join("crates/wearwell")).env_remove(NAMED);
        command.envs(canary.map(|name| (NAMED, name))).stdin(Stdio::null()).stdout(out).stderr(err);
        let started = Instant::now();
        let spawned = command.spawn();
        let mut child =
            spawned.map_err(|source| TaskError::NotStarted { command: process::shown(&command), source })?;
        loop {
            if let Some(status) = child.try_wait().map_err(TaskError::file(&self.log))? {
                return Ok(if status.success() { Outcome::Passed } else { Outcome::Failed });
            }
            // The others need not be waited for, nor a history that is shortened.
            let has_failed = fs::read(&self.log).is_ok_and(|said| String::from_utf8_lossy(&said).contains(FAILED));
            if has_failed || started.elapsed() > LONGEST {
                // Without the wait it would stay a zombie until we end.
                child.kill().and_then(|()| child.wait()).map_err(TaskError::file(&self.log))?;
                return Ok(if has_failed { Outcome::Failed } else { Outcome::Endless });
            }
            thread::sleep(Duration::from_millis(200));
        }
    }
}

fn test(program: &Path, words: &str) -> Command {
    let mut test = Command::new(program);
    test.args(words.split_whitespace());
    test
}
