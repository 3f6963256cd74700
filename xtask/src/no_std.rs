//! The `no_std` crates need no standard library: `no-std-proof` links them without it, and runs.

use std::env;
use std::process::Command;

use crate::process::{self, TaskError};
use crate::workspace::Workspace;

const FOLDER: &str = "no-std-proof";

/// Builds the proof, links it into a C program with only the C library, and runs that program.
pub(crate) fn prove(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo_apart(FOLDER, FOLDER, &["build"]))?;
    let library = workspace.target(FOLDER).join("debug/libno_std_proof.a");
    let program = workspace.target(FOLDER).join("no-std-proof");
    let mut link = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    // Unused sections are dropped first: in them the precompiled alloc crate refers to the unwinder.
    link.args(["-nodefaultlibs", "-Wl,--gc-sections"]).arg(workspace.path(FOLDER).join("main.c"));
    process::run(link.arg(library).arg("-lc").arg("-o").arg(&program))?;
    process::run(&mut Command::new(program))?;
    refuses_std(workspace)
}

/// The canary: with std, the same library must not build, because std has a panic handler too.
fn refuses_std(workspace: &Workspace) -> Result<(), TaskError> {
    let mut canary = workspace.cargo_apart(FOLDER, FOLDER, &["build", "--features", "canary-std"]);
    let output = process::capture(&mut canary)?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() || !said.contains("duplicate lang item `panic_impl`") {
        return Err(TaskError::Found(format!("the proof does not notice std: `{}`\n{said}", process::shown(&canary))));
    }
    println!("linked without std, ran, and refuses std");
    Ok(())
}
