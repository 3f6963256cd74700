//! A served image beside nbdkit, and NVMe/TCP beside NBD, as tables.

use std::process::Command;

use crate::process::{self, TaskError};
use crate::workspace::Workspace;

/// Measures for about ten minutes with fio and nbdkit, then two minutes with a load of our own, and prints the tables.
pub(crate) fn run(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo(&[
        "build",
        "--release",
        "--package",
        "wearwell-cli",
        "--package",
        "wearwell-soak",
    ]))?;
    let mut shell = Command::new("sh");
    shell.env("wearwell", workspace.target("release/wearwell")).arg(workspace.path("xtask/guests/speed.sh"));
    process::run(shell.arg(workspace.path("docs/src/serve/speed.fio")))?;
    let mut load = Command::new(workspace.target("release/wearwell-load"));
    process::run(load.arg(workspace.target("release/wearwell")))
}
