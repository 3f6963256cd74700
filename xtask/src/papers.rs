//! `cargo xtask papers`: the papers' experiments run again, their tables written into the READMEs of their folders.
//!
//! `wearwell reproduce` runs and judges them. The series that are not tables are written here.

use std::fs;
use std::process::Command;

use crate::process::{self, TaskError};
use crate::workspace::Workspace;

/// The folders of `papers/`, each with a README that has its tables.
const FOLDERS: [&str; 5] = ["kawaguchi95", "chiang97", "lee07", "mylavarapu09", "lim14"];

/// A page of the book that has a table of its own.
const PAGE: &str = "docs/src/simulate/aware.md";

/// Folders that are run only if they are named.
const NAMED: [&str; 2] = ["matrix", "today"];

/// The folder of the report below the target folder: page, JSON and CSV.
const REPORT: &str = "reproduction";

/// Every verdict, a line each. A test runs some of the rows again and compares.
const VERDICTS: &str = "verdicts.txt";

/// Series: the argument of the program that prints one, and its file.
const SERIES: [(&str, &str); 2] = [("figure4", "lee07/figure4.csv"), ("figure8", "lee07/figure8.csv")];

/// Runs every experiment, prints the tables and writes them into the READMEs, and the verdicts beside them.
///
/// # Errors
/// Files that cannot be read or built; and, after everything is written, runs that failed.
pub(crate) fn run(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo(&["build", "--release", "--package", "wearwell-cli", "--bins", "--examples"]))?;
    write_series(workspace)?;
    let reproduce = |report: &str, folders: &[&str]| {
        let mut reproduce = Command::new(workspace.target("release/wearwell"));
        reproduce.arg("reproduce").arg("--papers").arg(workspace.path("papers"));
        for folder in folders {
            reproduce.arg("--markdown").arg(workspace.path("papers").join(folder).join("README.md"));
        }
        reproduce.arg("--out").arg(workspace.target(report));
        reproduce
    };
    process::run(reproduce(REPORT, &FOLDERS).arg("--markdown").arg(workspace.path(PAGE)))?;
    for folder in NAMED {
        process::run(reproduce(folder, &[folder]).arg(folder))?;
    }
    let (from, to) = (workspace.target(REPORT).join(VERDICTS), workspace.path("papers").join(VERDICTS));
    fs::copy(&from, &to).map(|_| ()).map_err(TaskError::file(&to))
}

/// Writes the printed series to their files.
fn write_series(workspace: &Workspace) -> Result<(), TaskError> {
    for (figure, file) in SERIES {
        let mut command = Command::new(workspace.target("release/examples/lee07"));
        let output = process::capture(command.arg(figure))?;
        if !output.status.success() {
            return Err(TaskError::Failed { command: process::shown(&command), status: output.status });
        }
        let path = workspace.path("papers").join(file);
        fs::write(&path, &output.stdout).map_err(TaskError::file(&path))?;
    }
    Ok(())
}
