//! `cargo xtask papers`: the papers' experiments run again, their published figures beside ours.
//!
//! `papers/README.md` says which experiments there are and where their tables stand in it: each pair of marks
//! names a file below `papers/`, and what is between the marks is written here.

use std::collections::BTreeMap;
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

/// The same, in points, of a figure that is a change in percent.
const USUAL_POINTS: f64 = 5.0;

/// Series that are data rather than tables: the argument of the program that prints one, and its file.
const SERIES: [(&str, &str); 2] = [("figure4", "lee07/figure4.csv"), ("figure8", "lee07/figure8.csv")];

/// One table of a paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    title: String,
    /// Figures that are shown; the first four of [`COLUMNS`] where nothing is said.
    columns: Option<Vec<String>>,
    row: Vec<Row>,
}

impl Table {
    /// The numbers of the columns that are shown.
    fn shown(&self) -> Vec<usize> {
        let number = |name: &String| COLUMNS.iter().position(|column| column.name == name);
        self.columns.as_ref().map_or_else(|| (0..4).collect(), |names| names.iter().filter_map(number).collect())
    }

    /// Why the table makes no sense.
    fn fault(&self) -> Option<String> {
        let is_column = |name: &&String| COLUMNS.iter().any(|column| column.name == *name);
        if let Some(name) = self.columns.iter().flatten().find(|name| !is_column(name)) {
            return Some(format!("there is no column '{name}'"));
        }
        let figures = self.row.iter().flat_map(|row| row.published.0.keys().chain(row.tolerance_percent.0.keys()));
        if let Some(name) = figures.into_iter().find(|name| !is_column(name)) {
            return Some(format!("there is no figure '{name}'"));
        }
        if let Some(row) = self.row.iter().find(|row| row.seeds.is_empty()) {
            return Some(format!("row '{}' has no seeds", row.name));
        }
        let lacks_base = |&(place, row): &(usize, &Row)| {
            row.against.as_ref().is_some_and(|base| !self.row[..place].iter().any(|earlier| earlier.name == *base))
        };
        let row = self.row.iter().enumerate().find(lacks_base)?.1;
        Some(format!("row '{}' is against none of the rows above it", row.name))
    }
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
    /// The row above that changes are against.
    against: Option<String>,
    #[serde(default)]
    published: Figures,
    /// How far off each figure may be; where nothing is said 10 %, and 5 points for a change in percent.
    #[serde(default)]
    tolerance_percent: Figures,
    note: Option<String>,
}

/// Where a column's figure comes from.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// A field of the report, a JSON pointer.
    Report(&'static str),
    /// One field over another, or over one if that is zero.
    Ratio(&'static str, &'static str),
    /// How much another column's figure differs from that of the row that this one is against, in percent.
    ChangeOf(&'static str),
}

/// A column of a table.
struct Column {
    /// As rows and `columns` name it.
    name: &'static str,
    title: &'static str,
    /// Digits behind the point.
    digits: usize,
    origin: Origin,
}

/// Every figure that the papers publish, or that explains one.
const COLUMNS: [Column; 16] = [
    Column::new("erases", "erases", 0, Origin::Report("/erases")),
    Column::new("copied_pages", "copied pages", 0, Origin::Report("/copied_pages")),
    Column::new("throughput_kib_s", "throughput, KiB/s", 1, Origin::Report("/throughput_kib_s")),
    Column::new("stddev", "erase count, standard deviation", 2, Origin::Report("/erase_count/stddev")),
    Column::new("merges", "merges", 0, Origin::Report("/merges")),
    Column::new("migrations", "migrations", 0, Origin::Report("/migrations")),
    Column::new("cleanings", "cleanings", 0, Origin::Report("/cleanings")),
    Column::new("folds", "folds", 0, Origin::Report("/folds")),
    Column::new("copies_per_cleaning", "copies per cleaning", 1, Origin::Ratio("/copied_pages", "/cleanings")),
    Column::new("wa", "WA", 2, Origin::Report("/wa_data")),
    Column::new("time_s", "time, s", 1, Origin::Report("/sim_seconds")),
    Column::new("time_change_percent", "change of time, %", 1, Origin::ChangeOf("time_s")),
    Column::new("erases_change_percent", "change of erases, %", 1, Origin::ChangeOf("erases")),
    Column::new("throughput_change_percent", "change of throughput, %", 1, Origin::ChangeOf("throughput_kib_s")),
    Column::new("wa_change_percent", "change of WA, %", 1, Origin::ChangeOf("wa")),
    Column::new("folds_change_percent", "change of folds, %", 1, Origin::ChangeOf("folds")),
];

impl Column {
    const fn new(name: &'static str, title: &'static str, digits: usize, origin: Origin) -> Self {
        Self { name, title, digits, origin }
    }

    /// True if the figure is a change in percent, whose deviations are in points.
    fn is_change(&self) -> bool {
        matches!(self.origin, Origin::ChangeOf(_))
    }

    /// How far off a figure is; none where nothing was published, or nothing happened and nothing should have.
    fn deviation(&self, published: Option<f64>, measured: Option<f64>) -> Option<f64> {
        let (published, measured) = (published?, measured.unwrap_or(f64::NAN));
        match () {
            () if self.is_change() => Some(measured - published),
            () if published == measured => Some(0.0),
            () => Some((measured / published - 1.0) * 100.0),
        }
    }

    fn usual(&self) -> f64 {
        if self.is_change() { USUAL_POINTS } else { USUAL_PERCENT }
    }

    /// What deviations are counted in.
    fn unit(&self) -> &'static str {
        if self.is_change() { "points" } else { "%" }
    }
}

/// Figures by the names of their columns.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
struct Figures(BTreeMap<String, f64>);

impl Figures {
    fn get(&self, column: &str) -> Option<f64> {
        self.0.get(column).copied()
    }

    /// Reads a report of `wearwell run`.
    fn of_report(report: &serde_json::Value) -> Self {
        let field = |pointer| report.pointer(pointer).and_then(serde_json::Value::as_f64);
        let figure = |column: &Column| {
            let figure = match column.origin {
                Origin::Report(pointer) => field(pointer)?,
                Origin::Ratio(part, whole) => field(part)? / field(whole)?.max(1.0),
                Origin::ChangeOf(_) => return None,
            };
            Some((column.name.to_owned(), figure))
        };
        Self(COLUMNS.iter().filter_map(figure).collect())
    }

    /// The means of several runs' figures; only of those that each of them has.
    fn mean(all: &[Self]) -> Self {
        let mean = |column: &Column| {
            let sum: Option<f64> = all.iter().map(|figures| figures.get(column.name)).sum();
            Some((column.name.to_owned(), sum? / all.len() as f64))
        };
        Self(COLUMNS.iter().filter_map(mean).collect())
    }

    /// The same, compared with another run's.
    fn against(mut self, base: &Self) -> Self {
        for column in &COLUMNS {
            if let Origin::ChangeOf(of) = column.origin
                && let (Some(figure), Some(base)) = (self.get(of), base.get(of))
            {
                self.0.insert(column.name.to_owned(), (figure / base - 1.0) * 100.0);
            }
        }
        self
    }
}

/// Runs every experiment, prints the tables and writes them into the README.
///
/// # Errors
/// What cannot be read or built; and, once all is written, runs that failed or are further off than their rows allow.
pub(crate) fn run(workspace: &Workspace) -> Result<(), TaskError> {
    process::run(&mut workspace.cargo(&["build", "--release", "--package", "wearwell-cli", "--bins", "--examples"]))?;
    write_series(workspace)?;
    let runner = Runner { program: workspace.target("release/wearwell"), root: workspace.path("") };
    let path = workspace.path(README);
    let text = fs::read_to_string(&path).map_err(TaskError::file(&path))?;
    let mut strays = Vec::new();
    let text = refresh(&text, |name| {
        let table = load(&workspace.path("papers").join(name))?;
        let mut measured: Vec<Figures> = Vec::with_capacity(table.row.len());
        for row in &table.row {
            // A run that fails is reported with the others, and its figures are missing.
            let figures = runner.measure(row).unwrap_or_else(|error| {
                strays.push(format!("{name}: {}: {error}", row.name));
                Figures::default()
            });
            let base = table.row.iter().position(|base| Some(&base.name) == row.against.as_ref());
            let figures = match base {
                Some(base) => figures.against(&measured[base]),
                None => figures,
            };
            strays.extend(beyond(row, &figures).map(|what| format!("{name}: {}: {what}", row.name)));
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

/// Writes what is printed as a series.
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
    match table.fault() {
        Some(fault) => Err(TaskError::Found(format!("{}: {fault}", path.display()))),
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

/// The figures of a row that are further off than it allows.
fn beyond(row: &Row, measured: &Figures) -> impl Iterator<Item = String> {
    let checked = COLUMNS.iter().filter(|_| !row.sensitivity);
    checked.filter_map(|column| {
        let off = column.deviation(row.published.get(column.name), measured.get(column.name))?;
        let allowed = row.tolerance_percent.get(column.name).unwrap_or(column.usual());
        // Written so that a figure that is missing, NaN, is also beyond.
        let within = off.abs() <= allowed;
        let (title, unit) = (column.title, column.unit());
        (!within).then(|| format!("{title} is off by {off:+.1} {unit}, allowed are {allowed} {unit}"))
    })
}

/// `published → measured (deviation)`; deviations that need a reason are bold.
fn cell(column: &Column, published: Option<f64>, measured: Option<f64>) -> String {
    let digits = column.digits;
    let figure = |value| if column.is_change() { format!("{value:+.digits$}") } else { format!("{value:.digits$}") };
    let shown = measured.map_or_else(|| "–".to_owned(), figure);
    match (published, column.deviation(published, measured)) {
        (Some(published), Some(off)) => {
            let mark = if off.abs() <= column.usual() { "" } else { "**" };
            format!("{published} → {shown} ({mark}{off:+.1} {}{mark})", column.unit())
        }
        _ => shown,
    }
}

/// A table's rows, and the commands they are.
fn section(table: &Table, measured: &[Figures]) -> String {
    let mut text = format!("\n**{}**\n\n| run |", table.title);
    let columns = table.shown();
    for &column in &columns {
        // Writing to a String cannot fail.
        let _ = write!(text, " {} |", COLUMNS[column].title);
    }
    let _ = write!(text, "\n| --- |{}\n", " --- |".repeat(columns.len()));
    for (row, measured) in table.row.iter().zip(measured) {
        let mark = if row.sensitivity { "↳ " } else { "" };
        let _ = write!(text, "| {mark}{} |", row.name);
        for column in columns.iter().map(|&column| &COLUMNS[column]) {
            let (published, measured) = (row.published.get(column.name), measured.get(column.name));
            let _ = write!(text, " {} |", cell(column, published, measured));
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

    fn figures(figures: &[(&str, f64)]) -> Figures {
        Figures(figures.iter().map(|&(name, figure)| (name.to_owned(), figure)).collect())
    }

    fn row(published: &str, rest: &str) -> Row {
        toml::from_str(&format!("name = 'r'\nargs = ''\nseeds = [1]\npublished = {published}\n{rest}")).unwrap()
    }

    #[test]
    fn a_figure_is_beyond_when_it_is_further_off_than_allowed() {
        let measured = figures(&[("erases", 112.0), ("copied_pages", 0.0)]);
        let count = |row: &Row| beyond(row, &measured).count();
        assert_eq!(count(&row("{ erases = 100 }", "")), 1);
        assert_eq!(count(&row("{ erases = 105 }", "")), 0);
        assert_eq!(count(&row("{ erases = 100 }", "tolerance_percent = { erases = 13 }")), 0);
        assert_eq!(count(&row("{ erases = 100 }", "sensitivity = true")), 0);
        assert_eq!(count(&row("{ copied_pages = 0 }", "")), 0);
        assert_eq!(count(&row("{ copied_pages = 5 }", "")), 1);
        assert_eq!(count(&row("{ stddev = 5.0 }", "")), 1, "a figure that was not measured");
        let measured = figures(&[("time_change_percent", -20.0)]);
        let count = |published| beyond(&row(published, ""), &measured).count();
        assert_eq!((count("{ time_change_percent = -24 }"), count("{ time_change_percent = -26 }")), (0, 1));
    }

    #[test]
    fn tables_that_make_no_sense_are_refused() {
        let fault = |text: &str| toml::from_str::<Table>(&format!("title = 't'\n{text}")).unwrap().fault();
        let row = "[[row]]\nname = 'a'\nargs = ''\nseeds = [1]\n";
        assert_eq!(fault(row), None);
        assert_eq!(fault(&format!("columns = ['merges']\n{row}{row}against = 'a'")), None);
        assert!(fault(&format!("columns = ['merge']\n{row}")).is_some());
        assert!(fault(&format!("{row}against = 'a'")).is_some());
        assert!(fault(&format!("{row}published = {{ erased = 5 }}")).is_some());
        assert!(fault("[[row]]\nname = 'a'\nargs = ''\nseeds = []").is_some());
    }

    #[test]
    fn cells_show_both_and_how_far_apart() {
        let column = |name: &str| COLUMNS.iter().find(|column| column.name == name).unwrap();
        assert_eq!(cell(column("erases"), Some(2634.0), Some(2475.0)), "2634 → 2475 (-6.0 %)");
        assert_eq!(cell(column("throughput_kib_s"), Some(40.0), Some(75.04)), "40 → 75.0 (**+87.6 %**)");
        assert_eq!(cell(column("stddev"), None, Some(1.287)), "1.29");
        assert_eq!(cell(column("throughput_kib_s"), None, None), "–");
        let change = column("time_change_percent");
        assert_eq!(cell(change, Some(-26.0), Some(-23.44)), "-26 → -23.4 (+2.6 points)");
        assert_eq!(cell(change, None, Some(3.58)), "+3.6");
        assert_eq!(cell(change, Some(-5.0), Some(-15.0)), "-5 → -15.0 (**-10.0 points**)");
    }

    #[test]
    fn figures_are_means_over_the_seeds() {
        let report = |erases: u64, seconds: f64| {
            Figures::of_report(&serde_json::json!({
                "erases": erases, "copied_pages": 5, "throughput_kib_s": null, "erase_count": {"stddev": 1.5},
                "merges": 2, "sim_seconds": seconds
            }))
        };
        let expected = [("erases", 11.0), ("copied_pages", 5.0), ("stddev", 1.5), ("merges", 2.0), ("time_s", 8.0)];
        let expected = figures(&expected);
        assert_eq!(Figures::mean(&[report(10, 7.0), report(12, 9.0)]), expected);
        let change = expected.against(&figures(&[("time_s", 10.0)])).get("time_change_percent");
        assert!(change.is_some_and(|change| (change + 20.0).abs() < 1e-9), "{change:?}");
    }
}
