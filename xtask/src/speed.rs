//! A served image beside nbdkit, as a table.

use std::process::Command;

use crate::process::{self, TaskError};
use crate::workspace::Workspace;

/// Measures for about ten minutes, with fio and nbdkit, and prints the table.
pub(crate) fn run(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo(&["build", "--release", "--package", "wearwell-cli"]))?;
    let mut shell = Command::new("sh");
    shell.env("wearwell", workspace.target("release/wearwell")).arg(workspace.path("xtask/guests/speed.sh"));
    process::run(shell.arg(workspace.path("docs/src/serve/speed.fio")))
}
