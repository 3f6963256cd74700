//! `cargo xtask dist`: the files that are packaged with the command.

use std::fs;
use std::process::Command;

use crate::process::{self, TaskError, shown};
use crate::workspace::Workspace;

/// The shells, and the file name of the completions that each looks for.
const SHELLS: [(&str, &str); 3] = [("bash", "wearwell"), ("zsh", "_wearwell"), ("fish", "wearwell.fish")];

/// Builds the command, and lets it write man pages and completions into `target/dist`.
pub(crate) fn run(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo(&["build", "--release", "--locked", "--package", "wearwell-cli"]))?;
    let (wearwell, dist) = (workspace.target("release/wearwell"), workspace.target("dist"));
    let man = dist.join("man");
    fs::create_dir_all(&man).map_err(TaskError::file(&man))?;
    process::run(Command::new(&wearwell).arg("man").arg(&man))?;
    for (shell, name) in SHELLS {
        let (folder, mut asked) = (dist.join(shell), Command::new(&wearwell));
        let output = process::capture(asked.args(["completions", shell]))?;
        if !output.status.success() {
            return Err(TaskError::Failed { command: shown(&asked), status: output.status });
        }
        let file = folder.join(name);
        let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&file, output.stdout));
        written.map_err(TaskError::file(&file))?;
    }
    println!("{}: man pages and completions; the command is {}", dist.display(), wearwell.display());
    Ok(())
}
