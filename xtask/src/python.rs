//! The Python package as its users get it: a fresh virtual environment, `pip install` from the checkout, its tests, and
//! the whole notebooks.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::process::{self, TaskError};
use crate::workspace::Workspace;

const FOLDER: &str = "crates/wearwell-py";

const NOTEBOOKS: &[&str] = &["first-run", "your-trace", "your-policy", "study", "figures"];

/// Builds, installs and tests it. Skipped without a suitable Python.
pub(crate) fn test(workspace: &Workspace) -> Result<(), TaskError> {
    let environment = workspace.target("python/environment");
    make_environment(&environment)?;
    let python = environment.join("bin/python");
    let mut install = Command::new(&python);
    // Most of what is installed is never imported, and what is gets compiled then.
    install.args(["-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]);
    install.arg(format!("{}[test,dask]", workspace.path(FOLDER).display()));
    // The build is kept, so that the next one is fast.
    install.env("CARGO_TARGET_DIR", workspace.target("python/cargo")).env("MATURIN_PEP517_ARGS", "--profile quick");
    process::run(&mut install)?;
    // The same build as for the tests, so that nothing is built again.
    process::run(&mut workspace.test_build())?;
    let mut tests = Command::new(&python);
    // Not run in the package's own folder, where its sources lie without the built library.
    tests.args(["-m", "pytest", "--quiet"]).arg(workspace.path(FOLDER).join("tests"));
    process::run(tests.current_dir(&environment).env("WEARWELL", workspace.target("debug/wearwell")))?;
    let mut execute = Command::new(environment.join("bin/jupyter-execute"));
    execute.args(NOTEBOOKS.iter().map(|name| workspace.path(&format!("docs/notebooks/{name}.ipynb"))));
    process::run(execute.env("PATH", path_with(&environment)).current_dir(&environment))
}

/// A fresh environment. If Python cannot make one, the step is skipped.
fn make_environment(environment: &Path) -> Result<(), TaskError> {
    if environment.exists() {
        fs::remove_dir_all(environment).map_err(TaskError::file(environment))?;
    }
    let mut make = Command::new("python3");
    make.args(["-m", "venv"]).arg(environment);
    let skipped = |why: &str| TaskError::Skipped(format!("the Python package: {why}"));
    match process::capture(&mut make) {
        Ok(made) if made.status.success() => Ok(()),
        Ok(made) => {
            let why = String::from_utf8_lossy(&made.stderr).into_owned() + &String::from_utf8_lossy(&made.stdout);
            Err(skipped(why.lines().next().unwrap_or("no virtual environment can be made")))
        }
        Err(_) => Err(skipped("there is no python3")),
    }
}

/// The path with the environment's programs first: a notebook's kernel is found by the name of the interpreter.
fn path_with(environment: &Path) -> std::ffi::OsString {
    let mut path = environment.join("bin").into_os_string();
    if let Some(rest) = std::env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    path
}
