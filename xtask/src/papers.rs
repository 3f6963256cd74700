//! `cargo xtask papers`: the papers' experiments run again, their published figures beside ours.
//!
//! `papers/README.md` says which experiments there are and where their tables stand in it: each pair of marks
//! names a file below `papers/`, and what is between the marks is written here.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::process::{self, TaskError};
use crate::workspace::Workspace;

const README: &str = "papers/README.md";
const BEGIN: &str = "<!-- results: ";
const NAME_END: &str = " -->";
const END: &str = "<!-- end of results -->";

/// A deviation that needs no reason, in percent.
const USUAL_PERCENT: f64 = 10.0;

/// One table of a paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    title: String,
    row: Vec<Row>,
}

/// One experiment: a `wearwell run`, once with each seed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    /// Run to see what a choice moves. It is compared with what was published, but need not agree.
    #[serde(default)]
    sensitivity: bool,
    /// What follows `wearwell run`, but for the seed.
    args: String,
    /// The figures are the mean over these.
    seeds: Vec<u64>,
    #[serde(default)]
    published: Figures,
    /// How far off each figure may be; 10 % where nothing is said.
    #[serde(default)]
    tolerance_percent: Figures,
    note: Option<String>,
}

/// The figures that the papers publish.
#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figures {
    erases: Option<f64>,
    copied_pages: Option<f64>,
    throughput_kib_s: Option<f64>,
    stddev: Option<f64>,
}

/// Column titles, and digits behind the point.
const COLUMNS: [(&str, usize); 4] =
    [("erases", 0), ("copied pages", 0), ("throughput, KiB/s", 1), ("erase count, standard deviation", 2)];

impl Figures {
    fn columns(self) -> [Option<f64>; COLUMNS.len()] {
        [self.erases, self.copied_pages, self.throughput_kib_s, self.stddev]
    }

    /// Reads a report of `wearwell run`.
    fn of_report(report: &serde_json::Value) -> Self {
        Self {
            erases: report["erases"].as_f64(),
            copied_pages: report["copied_pages"].as_f64(),
            throughput_kib_s: report["throughput_kib_s"].as_f64(),
            stddev: report["erase_count"]["stddev"].as_f64(),
        }
    }

    fn mean(all: &[Self]) -> Self {
        let mean = |figure: fn(&Self) -> Option<f64>| {
            let sum: Option<f64> = all.iter().map(figure).sum();
            sum.map(|sum| sum / all.len() as f64)
        };
        Self {
            erases: mean(|f| f.erases),
            copied_pages: mean(|f| f.copied_pages),
            throughput_kib_s: mean(|f| f.throughput_kib_s),
            stddev: mean(|f| f.stddev),
        }
    }
}

/// Runs every experiment, prints the tables and writes them into the README.
///
/// # Errors
/// What cannot be read or built; and, once all is written, runs that failed or are further off than their rows allow.
pub(crate) fn run(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo(&["build", "--release", "--package", "wearwell-cli"]))?;
    let runner = Runner { program: workspace.target("release/wearwell"), root: workspace.path("") };
    let path = workspace.path(README);
    let text = fs::read_to_string(&path).map_err(TaskError::file(&path))?;
    let mut strays = Vec::new();
    let text = refresh(&text, |name| {
        let table = load(&workspace.path("papers").join(name))?;
        let mut measured = Vec::with_capacity(table.row.len());
        for row in &table.row {
            // A run that fails is reported with the others, and its figures are missing.
            let figures = runner.measure(row).unwrap_or_else(|error| {
                strays.push(format!("{name}: {}: {error}", row.name));
                Figures::default()
            });
            strays.extend(beyond(row, figures).map(|what| format!("{name}: {}: {what}", row.name)));
            measured.push(figures);
        }
        let section = section(&table, &measured);
        println!("{name}\n\n{section}");
        Ok(section)
    })?;
    fs::write(&path, text).map_err(TaskError::file(&path))?;
    if strays.is_empty() {
        Ok(())
    } else {
        Err(TaskError::Found(format!(
            "runs that failed, or are further off than their rows allow:\n  {}",
            strays.join("\n  ")
        )))
    }
}

/// The built command, and where relative paths in its arguments start.
struct Runner {
    program: PathBuf,
    root: PathBuf,
}

impl Runner {
    fn measure(&self, row: &Row) -> Result<Figures, TaskError> {
        let reports = row.seeds.iter().map(|&seed| self.once(row, seed)).collect::<Result<Vec<_>, _>>()?;
        Ok(Figures::mean(&reports))
    }

    fn once(&self, row: &Row, seed: u64) -> Result<Figures, TaskError> {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.root).arg("run").args(row.args.split_whitespace());
        command.args(["--seed", &seed.to_string(), "--json", "-"]);
        let output = process::capture(&mut command)?;
        if !output.status.success() {
            let (line, said) = (process::shown(&command), String::from_utf8_lossy(&output.stderr));
            return Err(TaskError::Found(format!("`{line}` ended with {}:\n{said}", output.status)));
        }
        let report = serde_json::from_slice(&output.stdout);
        let report = report
            .map_err(|error| TaskError::Found(format!("`{}` printed no report: {error}", process::shown(&command))))?;
        Ok(Figures::of_report(&report))
    }
}

fn load(path: &Path) -> Result<Table, TaskError> {
    let text = fs::read_to_string(path).map_err(TaskError::file(path))?;
    let table: Table =
        toml::from_str(&text).map_err(|error| TaskError::Found(format!("{}: {error}", path.display())))?;
    match table.row.iter().find(|row| row.seeds.is_empty()) {
        Some(row) => Err(TaskError::Found(format!("{}: row '{}' has no seeds", path.display(), row.name))),
        None => Ok(table),
    }
}

/// Replaces what stands between each pair of marks by what `results` gives for the name in the first.
fn refresh(text: &str, mut results: impl FnMut(&str) -> Result<String, TaskError>) -> Result<String, TaskError> {
    let unended = || TaskError::Found(format!("{README}: '{BEGIN}' without '{NAME_END}' or '{END}' behind it"));
    let mut refreshed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(BEGIN) {
        let (name, behind) = behind.split_once(NAME_END).ok_or_else(unended)?;
        let (_, behind) = behind.split_once(END).ok_or_else(unended)?;
        refreshed.extend([before, BEGIN, name, NAME_END, "\n", &results(name)?, END]);
        rest = behind;
    }
    refreshed.push_str(rest);
    Ok(refreshed)
}

/// How far off, in percent; none where nothing was published, or nothing happened and nothing should have.
fn deviation_percent(published: Option<f64>, measured: Option<f64>) -> Option<f64> {
    let (published, measured) = (published?, measured.unwrap_or(f64::NAN));
    if published == measured { Some(0.0) } else { Some((measured / published - 1.0) * 100.0) }
}

/// The figures of a row that are further off than it allows.
fn beyond(row: &Row, measured: Figures) -> impl Iterator<Item = String> {
    let figures = row.published.columns().into_iter().zip(measured.columns());
    let checked = figures.zip(row.tolerance_percent.columns()).zip(COLUMNS).filter(|_| !row.sensitivity);
    checked.filter_map(|(((published, measured), tolerance), (title, _))| {
        let percent = deviation_percent(published, measured)?;
        let allowed = tolerance.unwrap_or(USUAL_PERCENT);
        // Written so that a figure that is missing, NaN, is also beyond.
        let within = percent.abs() <= allowed;
        (!within).then(|| format!("{title} is off by {percent:+.1} %, allowed are {allowed} %"))
    })
}

/// `published → measured (deviation)`; deviations that need a reason are bold.
fn cell(published: Option<f64>, measured: Option<f64>, digits: usize) -> String {
    let shown = measured.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"));
    match (published, deviation_percent(published, measured)) {
        (Some(published), Some(percent)) => {
            let usual = percent.abs() <= USUAL_PERCENT;
            let mark = if usual { "" } else { "**" };
            format!("{published} → {shown} ({mark}{percent:+.1} %{mark})")
        }
        _ => shown,
    }
}

/// A table's rows, and the commands they are.
fn section(table: &Table, measured: &[Figures]) -> String {
    let mut text = format!("\n**{}**\n\n| run |", table.title);
    for (title, _) in COLUMNS {
        // Writing to a String cannot fail.
        let _ = write!(text, " {title} |");
    }
    let _ = write!(text, "\n| --- |{}\n", " --- |".repeat(COLUMNS.len()));
    for (row, measured) in table.row.iter().zip(measured) {
        let mark = if row.sensitivity { "↳ " } else { "" };
        let _ = write!(text, "| {mark}{} |", row.name);
        for ((published, measured), (_, digits)) in
            row.published.columns().into_iter().zip(measured.columns()).zip(COLUMNS)
        {
            let _ = write!(text, " {} |", cell(published, measured, digits));
        }
        text.push('\n');
    }
    for row in &table.row {
        if let Some(note) = &row.note {
            let _ = write!(text, "\n{}: {note}.\n", row.name);
        }
    }
    text.push_str("\n<details><summary>The commands</summary>\n\n```sh\n");
    for row in &table.row {
        let seeds = row.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(" and ");
        let _ = writeln!(text, "# {}\nwearwell run {} --seed {seeds}", row.name, row.args);
    }
    text.push_str("```\n\n</details>\n\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn papers() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../papers")
    }

    #[test]
    fn every_experiment_can_be_read_and_has_its_place_in_the_readme() {
        let mut named = Vec::new();
        let readme = fs::read_to_string(papers().join("README.md")).unwrap();
        refresh(&readme, |name| {
            named.push(name.to_owned());
            Ok(String::new())
        })
        .unwrap();
        let mut found = Vec::new();
        for paper in fs::read_dir(papers()).unwrap().map(|entry| entry.unwrap()).filter(|e| e.path().is_dir()) {
            for file in fs::read_dir(paper.path()).unwrap().map(|entry| entry.unwrap().path()) {
                if file.extension().is_some_and(|extension| extension == "toml") {
                    assert!(load(&file).unwrap().row.iter().all(|row| !row.name.contains('|')), "{}", file.display());
                    let name = file.file_name().unwrap().to_string_lossy();
                    found.push(format!("{}/{name}", paper.file_name().to_string_lossy()));
                }
            }
        }
        named.sort();
        found.sort();
        assert!(!found.is_empty());
        assert_eq!(named, found);
    }

    #[test]
    fn results_go_between_their_marks_and_nowhere_else() {
        let text = "a\n<!-- results: x.toml -->\nold\n<!-- end of results -->\nb <!-- results: y.toml --><!-- end of results -->";
        let once = refresh(text, |name| Ok(format!("new {name}\n"))).unwrap();
        let expected = "a\n<!-- results: x.toml -->\nnew x.toml\n<!-- end of results -->\nb <!-- results: y.toml -->\nnew y.toml\n<!-- end of results -->";
        assert_eq!(once, expected);
        assert_eq!(refresh(&once, |name| Ok(format!("new {name}\n"))).unwrap(), expected);
        assert!(refresh("<!-- results: x.toml -->", |_| Ok(String::new())).is_err());
    }

    fn row(published: &str, rest: &str) -> Row {
        toml::from_str(&format!("name = 'r'\nargs = ''\nseeds = [1]\npublished = {published}\n{rest}")).unwrap()
    }

    #[test]
    fn a_figure_is_beyond_when_it_is_further_off_than_allowed() {
        let measured = Figures { erases: Some(112.0), copied_pages: Some(0.0), ..Figures::default() };
        let count = |row: &Row| beyond(row, measured).count();
        assert_eq!(count(&row("{ erases = 100 }", "")), 1);
        assert_eq!(count(&row("{ erases = 105 }", "")), 0);
        assert_eq!(count(&row("{ erases = 100 }", "tolerance_percent = { erases = 13 }")), 0);
        assert_eq!(count(&row("{ erases = 100 }", "sensitivity = true")), 0);
        assert_eq!(count(&row("{ copied_pages = 0 }", "")), 0);
        assert_eq!(count(&row("{ copied_pages = 5 }", "")), 1);
        assert_eq!(count(&row("{ stddev = 5.0 }", "")), 1, "a figure that was not measured");
    }

    #[test]
    fn cells_show_both_and_how_far_apart() {
        assert_eq!(cell(Some(2634.0), Some(2475.0), 0), "2634 → 2475 (-6.0 %)");
        assert_eq!(cell(Some(40.0), Some(75.04), 1), "40 → 75.0 (**+87.6 %**)");
        assert_eq!(cell(None, Some(1.287), 2), "1.29");
        assert_eq!(cell(None, None, 1), "–");
    }

    #[test]
    fn figures_are_means_over_the_seeds() {
        let report = |erases: u64| {
            Figures::of_report(&serde_json::json!({
                "erases": erases, "copied_pages": 5, "throughput_kib_s": null, "erase_count": {"stddev": 1.5}
            }))
        };
        let expected =
            Figures { erases: Some(11.0), copied_pages: Some(5.0), throughput_kib_s: None, stddev: Some(1.5) };
        assert_eq!(Figures::mean(&[report(10), report(12)]), expected);
    }
}
