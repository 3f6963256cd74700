//! `cargo xtask dist`: the Debian package, with man pages, completions and units.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::guests;
use crate::process::{self, TaskError};
use crate::workspace::Workspace;

/// The shells, and the file name of the completions that each looks for.
const SHELLS: [(&str, &str); 3] = [("bash", "wearwell"), ("zsh", "_wearwell"), ("fish", "wearwell.fish")];

/// The version of cargo-deb, which makes the package.
const CARGO_DEB: &str = "3.8.0";

/// Programs that the package's test needs, and the Debian packages that have them.
const TOOLS: &[(&str, &str)] = &[("nbdcopy", "libnbd-bin"), ("man", "man-db"), ("systemd-socket-activate", "systemd")];

/// Builds the command, and packages it with its man pages and completions.
pub(crate) fn run(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo(&["build", "--release", "--locked", "--package", "wearwell-cli"]))?;
    let package = package(workspace, "release/wearwell", &[])?;
    println!("{}; the man pages and completions are beside it", package.display());
    Ok(())
}

/// Packages the program of the tests, installs that into a scratch root, and serves a disk from there.
pub(crate) fn test(workspace: &Workspace) -> Result<(), TaskError> {
    if !guests::is_there("dpkg") {
        return Err(TaskError::Skipped("no dpkg".to_owned()));
    }
    guests::install(TOOLS)?;
    process::run(&mut workspace.test_build())?;
    let package = package(workspace, "debug/wearwell", &["--fast"])?;
    guests::run_script(Command::new("sh").arg(workspace.path("xtask/guests/package.sh")).arg(package))
}

/// Makes a package of a program that was built. All that goes into it is put into `target/dist`, which cargo-deb takes
/// for the folder of a profile with that name.
fn package(workspace: &Workspace, program: &str, how: &[&str]) -> Result<PathBuf, TaskError> {
    let (built, dist) = (workspace.target(program), workspace.target("dist"));
    if dist.exists() {
        // What an earlier build has left would go into the package.
        fs::remove_dir_all(&dist).map_err(TaskError::file(&dist))?;
    }
    fs::create_dir_all(&dist).map_err(TaskError::file(&dist))?;
    fs::copy(&built, dist.join("wearwell")).map_err(TaskError::file(&built))?;
    generate(&dist)?;
    let package = dist.join("wearwell.deb");
    let mut make = Command::new(install_cargo_deb(workspace)?);
    make.current_dir(workspace.path("")).args(["--no-build", "--package", "wearwell-cli", "--profile", "dist"]);
    process::run(make.args(how).arg("--output").arg(&package))?;
    Ok(package)
}

/// Lets the program write its man pages and completions.
fn generate(dist: &Path) -> Result<(), TaskError> {
    let (wearwell, man) = (dist.join("wearwell"), dist.join("man"));
    fs::create_dir_all(&man).map_err(TaskError::file(&man))?;
    process::run(Command::new(&wearwell).arg("man").arg(&man))?;
    // cargo-deb compresses only pages that are not in the folder of the build.
    process::run(Command::new("gzip").args(["--best", "--no-name", "--recursive"]).arg(&man))?;
    for (shell, name) in SHELLS {
        let (folder, mut asked) = (dist.join(shell), Command::new(&wearwell));
        let output = process::capture(asked.args(["completions", shell]))?;
        process::check(&asked, output.status)?;
        let file = folder.join(name);
        let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&file, output.stdout));
        written.map_err(TaskError::file(&file))?;
    }
    Ok(())
}

/// cargo-deb in the target folder. It is built without optimization, since it runs for a second.
fn install_cargo_deb(workspace: &Workspace) -> Result<PathBuf, TaskError> {
    let tools = workspace.target("tools");
    let mut install = workspace.cargo(&["install", "--quiet", "--locked", "--debug", "--no-default-features"]);
    install.args(["cargo-deb", "--version", CARGO_DEB, "--root"]).arg(&tools);
    process::run(install.arg("--target-dir").arg(tools.join("build")))?;
    Ok(tools.join("bin/cargo-deb"))
}
