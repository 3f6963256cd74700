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
const KNOWING: &str = "knowing";

/// The pages of the book that have tables of their own.
const AWARE_PAGE: &str = "docs/src/simulate/aware.md";
const KNOWING_PAGE: &str = "docs/src/simulate/knowing.md";

/// Makes the traces that the rows of `knowing` replay.
const TRACES: &str = "papers/knowing/traces.sh";

/// The folder of the reports below the target folder.
const REPORTS: &str = "reproduction";

/// The record: every figure with every seed of the first range, and every verdict on the papers of both.
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
        let pages = [readme, workspace.path(AWARE_PAGE)];
        let shown = pages.iter().flat_map(|page| [Path::new("--markdown"), page.as_path()]);
        // The rows that need a kernel do not depend on the seed: they are run once.
        process::run(reproduce(workspace, folder, FIRST).arg("--guests").args(shown))?;
    }
    for folder in PAPERS {
        process::run(&mut reproduce(workspace, folder, AGAIN))?;
    }
    process::run(Command::new("sh").arg(TRACES).current_dir(workspace.path("")))?;
    // Nothing of it is judged, so one seed is enough.
    let page = workspace.path(KNOWING_PAGE);
    process::run(reproduce(workspace, KNOWING, FIRST).args(["--quick", "--markdown"]).arg(page))?;
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
    let mut lines = String::new();
    for folder in PAPERS {
        let of = |first| read(report(reports, folder, first).join("verdicts.txt"));
        lines += &verdicts::merged(&of(FIRST)?, &of(AGAIN)?)?;
    }
    let write = |path: &str, text: &str| fs::write(workspace.path(path), text).map_err(TaskError::file(path));
    write(FIGURES, &figures(reports)?)?;
    write(VERDICTS, &lines)?;
    write(COUNTS, &verdicts::counted_in(&read(workspace.path(COUNTS))?, &lines)?)
}

/// The figures of all reports of the first range as one file.
fn figures(reports: &Path) -> Result<String, TaskError> {
    let mut text = String::new();
    for folder in PAPERS.into_iter().chain([TODAY, KNOWING]) {
        let csv = read(report(reports, folder, FIRST).join("report.csv"))?;
        // All reports have the same columns. Their head stands once.
        let (head, rows) = csv.split_once('\n').unwrap_or_default();
        if text.is_empty() {
            text = format!("{head}\n");
        }
        text += rows;
    }
    Ok(text)
}

fn read(path: PathBuf) -> Result<String, TaskError> {
    fs::read_to_string(&path).map_err(TaskError::file(path))
}

/// Writes the printed series to their files.
fn write_series(workspace: &Workspace) -> Result<(), TaskError> {
    for (figure, file) in SERIES {
        let mut command = Command::new(workspace.target("release/examples/lee07"));
        let output = process::capture(command.arg(figure))?;
        process::check(&command, output.status)?;
        let path = workspace.path("papers").join(file);
        fs::write(&path, &output.stdout).map_err(TaskError::file(&path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_all_folders_are_one_file_with_one_head() {
        let reports = std::env::temp_dir().join(format!("wearwell-figures-{}", std::process::id()));
        for folder in PAPERS.into_iter().chain([TODAY, KNOWING]) {
            let path = report(&reports, folder, FIRST);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("report.csv"), format!("paper,mean\n{folder},1\n")).unwrap();
        }
        let found = figures(&reports).unwrap();
        fs::remove_dir_all(&reports).unwrap();
        let lines: Vec<&str> = found.lines().collect();
        assert_eq!(lines.len(), 1 + PAPERS.len() + 2, "{found}");
        assert_eq!((lines[0], lines[1], lines[7]), ("paper,mean", "kawaguchi95,1", "knowing,1"));
        assert!(figures(&reports).is_err(), "a report is missing");
    }
}
