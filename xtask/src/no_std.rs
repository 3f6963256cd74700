//! The `no_std` crates need no standard library: `no-std-proof` links them without it, and runs. It links the policies
//! that it names, and no other.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use crate::process::{self, TaskError};
use crate::workspace::Workspace;

const FOLDER: &str = "no-std-proof";

/// Builds the proof, links it into a C program with only the C library, and runs that program.
pub(crate) fn prove(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut Command::new(link(workspace, &[])?))?;
    links_what_it_names(workspace)?;
    refuses_std(workspace)
}

/// The program, built with these arguments.
fn link(workspace: &Workspace, args: &[&str]) -> Result<PathBuf, TaskError> {
    process::run(workspace.cargo_apart(FOLDER, FOLDER, &["build"]).args(args))?;
    let profile = if args.contains(&"--release") { "release" } else { "debug" };
    let library = workspace.target(FOLDER).join(profile).join("libno_std_proof.a");
    let program = workspace.target(FOLDER).join("no-std-proof");
    let mut link = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    // Unused sections are dropped first: in them the precompiled alloc crate refers to the unwinder.
    link.args(["-nodefaultlibs", "-Wl,--gc-sections", "-Wl,--strip-debug"]);
    link.arg(workspace.path(FOLDER).join("main.c")).arg(library);
    process::run(link.arg("-lc").arg("-o").arg(&program))?;
    Ok(program)
}

/// A policy that the proof does not name, as symbols have it.
const UNNAMED: &[u8] = b"windowed_greedy";

/// An engine whose type names its policies has no code of the others. The canary is the same one that is told its
/// policies when it runs: there they must be found.
fn links_what_it_names(workspace: &Workspace) -> Result<(), TaskError> {
    for (args, expected) in [(&["--release"][..], false), (&["--release", "--features", "every-policy"], true)] {
        let program = link(workspace, args)?;
        let bytes = fs::read(&program).map_err(TaskError::file(program))?;
        if bytes.windows(UNNAMED.len()).any(|part| part == UNNAMED) != expected {
            let found = if expected { "is not there" } else { "is linked" };
            let policy = String::from_utf8_lossy(UNNAMED);
            return Err(TaskError::Found(format!("built with {}, {policy} {found}", args.join(" "))));
        }
    }
    Ok(())
}

/// The canary: with std, the same library must not build, because std has a panic handler too.
fn refuses_std(workspace: &Workspace) -> Result<(), TaskError> {
    let mut canary = workspace.cargo_apart(FOLDER, FOLDER, &["build", "--features", "canary-std"]);
    let output = process::capture(&mut canary)?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() || !said.contains("duplicate lang item `panic_impl`") {
        return Err(TaskError::Found(format!("the proof does not notice std: `{}`\n{said}", process::shown(&canary))));
    }
    println!("linked without std and without policies that it does not name, ran, and refuses std");
    Ok(())
}
