//! A served image beside nbdkit, the price of its space and its mount, and NVMe/TCP beside NBD, as tables.

use std::process::Command;

use crate::guests;
use crate::process::{self, TaskError};
use crate::workspace::Workspace;

/// Measures for about twelve minutes with fio and nbdkit, then two minutes with an image of 8 GiB and two with a load
/// of our own, and prints the tables.
pub(crate) fn run(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo(&[
        "build",
        "--release",
        "--package",
        "wearwell-cli",
        "--package",
        "wearwell-soak",
    ]))?;
    let program = workspace.target("release/wearwell");
    let shell = |script: &str| {
        let mut shell = Command::new("sh");
        shell.env("wearwell", &program).arg(workspace.path("xtask/guests").join(script));
        shell
    };
    for script in ["speed.sh", "space.sh"] {
        process::run(shell(script).arg(workspace.path("docs/src/serve/speed.fio")))?;
    }
    // Not every user may do it.
    let mounted = guests::run_script(shell("mount.sh").arg(workspace.target("")));
    process::run(Command::new(workspace.target("release/wearwell-load")).arg(&program))?;
    mounted
}
