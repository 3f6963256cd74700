//! `cargo xtask papers`: the papers' experiments run again, with two ranges of seeds, and what they gave written down.
//!
//! `wearwell reproduce` runs and judges them, and writes the tables of the READMEs. The record over all papers, and the
//! series that are not tables, are written here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, TaskError};
use crate::verdicts;
use crate::workspace::Workspace;

/// The folders of `papers/` that are papers.
const PAPERS: [&str; 5] = ["kawaguchi95", "chiang97", "lee07", "mylavarapu09", "lim14"];

/// Our own sentences of today, and what nobody judges.
const TODAY: &str = "today";
const MATRIX: &str = "matrix";

/// A page of the book that has tables of its own.
const PAGE: &str = "docs/src/simulate/aware.md";

/// The folder of the reports below the target folder.
const REPORTS: &str = "reproduction";

/// The record on the papers: every figure with every seed of the first range, and every verdict of both.
const FIGURES: &str = "papers/figures.csv";
const VERDICTS: &str = "papers/verdicts.txt";

/// The page with the verdicts' counts.
const COUNTS: &str = "papers/README.md";

/// The first seeds of the two ranges, ten seeds each.
const FIRST: u64 = 1;
const AGAIN: u64 = 11;

/// Series: the argument of the program that prints one, and its file.
const SERIES: [(&str, &str); 2] = [("figure4", "lee07/figure4.csv"), ("figure8", "lee07/figure8.csv")];

/// Runs every experiment, prints the tables and writes them into the READMEs, and the record beside them.
///
/// # Errors
/// Files that cannot be read or built; runs that failed.
pub(crate) fn run(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo(&["build", "--release", "--package", "wearwell-cli", "--bins", "--examples"]))?;
    write_series(workspace)?;
    for folder in PAPERS.into_iter().chain([TODAY, MATRIX]) {
        let readme = workspace.path("papers").join(folder).join("README.md");
        let pages = [readme, workspace.path(PAGE)];
        let shown = pages.iter().flat_map(|page| [Path::new("--markdown"), page.as_path()]);
        // The rows that need a kernel do not depend on the seed: they are run once.
        process::run(reproduce(workspace, folder, FIRST).arg("--guests").args(shown))?;
    }
    for folder in PAPERS {
        process::run(&mut reproduce(workspace, folder, AGAIN))?;
    }
    record(workspace, &workspace.target(REPORTS))
}

/// The command that runs a folder with ten seeds from `first` on.
fn reproduce(workspace: &Workspace, folder: &str, first: u64) -> Command {
    let mut command = Command::new(workspace.target("release/wearwell"));
    // Recorded traces are named from the root.
    command.current_dir(workspace.path("")).args(["reproduce", folder, "--papers", "papers"]);
    command.args(["--first-seed", &first.to_string(), "--out"]).arg(report(&workspace.target(REPORTS), folder, first));
    command
}

/// The folder of a report.
fn report(reports: &Path, folder: &str, first: u64) -> PathBuf {
    reports.join(format!("{folder}-{first}"))
}

/// Writes the record from the reports.
fn record(workspace: &Workspace, reports: &Path) -> Result<(), TaskError> {
    let read = |path: PathBuf| fs::read_to_string(&path).map_err(TaskError::file(path));
    let (mut figures, mut lines) = (String::new(), String::new());
    for folder in PAPERS {
        let of = |first, file: &str| read(report(reports, folder, first).join(file));
        let csv = of(FIRST, "report.csv")?;
        let (head, rows) = csv.split_once('\n').unwrap_or_default();
        if figures.is_empty() {
            figures = format!("{head}\n");
        }
        figures += rows;
        lines += &verdicts::merged(&of(FIRST, "verdicts.txt")?, &of(AGAIN, "verdicts.txt")?)?;
    }
    let write = |path: &str, text: &str| fs::write(workspace.path(path), text).map_err(TaskError::file(path));
    write(FIGURES, &figures)?;
    write(VERDICTS, &lines)?;
    write(COUNTS, &verdicts::counted_in(&read(workspace.path(COUNTS))?, &lines)?)
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
