//! An experiment of a paper as data: what is run, what was published, and how far off it may be.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::andrew::Benchmark;

/// A deviation that needs no reason, in percent.
const USUAL_PERCENT: f64 = 10.0;

/// The same, in points, of a figure that is a change in percent.
const USUAL_POINTS: f64 = 5.0;

/// One table or figure of a paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) title: String,
    /// Figures that are shown; the first four of [`COLUMNS`] where nothing is said.
    columns: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) row: Vec<Row>,
    /// Charts as the paper drew them.
    #[serde(default)]
    pub(crate) chart: Vec<ChartSpec>,
}

/// A chart, of the rows that have a `series`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChartSpec {
    pub(crate) title: String,
    pub(crate) kind: ChartKind,
    /// Only of rows whose names begin so.
    #[serde(default)]
    pub(crate) rows: String,
    /// The column that lines and columns show.
    pub(crate) figure: Option<String>,
    /// What the axes of lines and columns show.
    #[serde(default)]
    pub(crate) x_title: String,
    #[serde(default)]
    pub(crate) y_title: String,
    /// A file of comma-separated values in the paper's folder.
    pub(crate) file: Option<String>,
    /// Points of it that the paper states.
    #[serde(default)]
    pub(crate) points: Vec<[f64; 2]>,
    /// What the file holds.
    #[serde(skip)]
    pub(crate) text: String,
}

/// What a chart shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ChartKind {
    /// A figure of rows over their `x`.
    #[default]
    Lines,
    /// The same as columns side by side.
    Columns,
    /// Throughput over the bytes written.
    Throughput,
    /// How many segments are how full at the end.
    Utilization,
    /// How often every segment was erased.
    Erases,
    /// How many segments have which shares of rewritten and of untouched pages; of the first row.
    Cold,
    /// Every segment by how full it is; of the first row.
    Map,
    /// The columns of a file.
    File,
}

/// Where a row is on a chart's axis.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Place {
    Number(f64),
    Name(String),
}

impl ChartSpec {
    /// True if a row of this name and series is in the chart.
    pub(crate) fn takes(&self, name: &str, series: Option<&str>) -> bool {
        series.is_some() && name.starts_with(&self.rows)
    }

    /// The column that is shown.
    pub(crate) fn column(&self) -> Option<&'static Column> {
        COLUMNS.iter().find(|column| Some(column.name) == self.figure.as_deref())
    }

    /// True if the chart shows how runs went.
    fn observes(&self) -> bool {
        !matches!(self.kind, ChartKind::Lines | ChartKind::Columns | ChartKind::File)
    }

    /// Why the chart makes no sense.
    fn fault(&self, rows: &[Row]) -> Option<String> {
        let refused = |why: &str| Some(format!("chart '{}' {why}", self.title));
        match self.kind {
            ChartKind::File => return if self.file.is_some() { None } else { refused("names no file") },
            ChartKind::Lines | ChartKind::Columns if self.column().is_none() => {
                return refused("shows a figure that there is not");
            }
            _ => {}
        }
        let has_rows = rows.iter().any(|row| self.takes(&row.name, row.series.as_deref()));
        if has_rows { None } else { refused("has no row with a series") }
    }
}

impl Table {
    /// The columns that are shown.
    pub(crate) fn shown(&self) -> Vec<&'static Column> {
        match &self.columns {
            None => COLUMNS.iter().take(4).collect(),
            Some(names) => names.iter().filter_map(|name| COLUMNS.iter().find(|column| column.name == name)).collect(),
        }
    }

    /// The place of the row that a row's changes are against.
    pub(crate) fn base_of(&self, row: &Row) -> Option<usize> {
        self.row.iter().position(|base| Some(&base.name) == row.against.as_ref())
    }

    /// True if a chart shows how a row's run went.
    pub(crate) fn observes(&self, row: &Row) -> bool {
        self.chart.iter().any(|chart| chart.observes() && chart.takes(&row.name, row.series.as_deref()))
    }

    /// True if it has rows that run on a served disk.
    pub(crate) fn needs_guests(&self) -> bool {
        self.row.iter().any(|row| row.andrew.is_some())
    }

    /// Why the table makes no sense.
    pub(crate) fn fault(&self) -> Option<String> {
        let is_column = |name: &str| COLUMNS.iter().any(|column| column.name == name);
        if let Some(name) = self.columns.iter().flatten().find(|name| !is_column(name)) {
            return Some(format!("there is no column '{name}'"));
        }
        let figures = self.row.iter().flat_map(|row| row.published.0.keys().chain(row.tolerance_percent.0.keys()));
        let explained = self.row.iter().flat_map(Row::all_explaining).filter_map(|(figure, _)| figure);
        if let Some(name) = figures.map(String::as_str).chain(explained).find(|name| !is_column(name)) {
            return Some(format!("there is no figure '{name}'"));
        }
        if let Some(row) = self.row.iter().find(|row| row.seeds.is_empty()) {
            return Some(format!("row '{}' has no seeds", row.name));
        }
        let lacks_base = |&(place, row): &(usize, &Row)| {
            row.against.as_ref().is_some_and(|base| !self.row[..place].iter().any(|earlier| earlier.name == *base))
        };
        if let Some((_, row)) = self.row.iter().enumerate().find(lacks_base) {
            return Some(format!("row '{}' is against none of the rows above it", row.name));
        }
        self.chart.iter().find_map(|chart| chart.fault(&self.row))
    }
}

/// One experiment: a `wearwell run`, once with each seed, or a benchmark on a served disk.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// Run to see what a choice moves. It is compared with what was published, but not judged.
    #[serde(default)]
    pub(crate) sensitivity: bool,
    /// What follows `wearwell run`, but for the seed; of a benchmark the flags of the served disk's engine.
    pub(crate) args: String,
    /// The benchmark, if it is one.
    pub(crate) andrew: Option<Benchmark>,
    /// The figures are the mean over these.
    pub(crate) seeds: Vec<u64>,
    /// The row above that changes are against.
    pub(crate) against: Option<String>,
    #[serde(default)]
    pub(crate) published: Figures,
    /// How far off each figure may be; where nothing is said 10 %, and 5 points for a change in percent.
    #[serde(default)]
    pub(crate) tolerance_percent: Figures,
    /// The sensitivity run that explains why figures are further off than needs no reason.
    pub(crate) explained_by: Option<Explaining>,
    /// What is off, and what else is to be said of it.
    pub(crate) note: Option<String>,
    /// The line or the colour of it in charts; none where it is in none.
    pub(crate) series: Option<String>,
    /// Its place on the axis.
    pub(crate) x: Option<Place>,
}

/// Names of rows: in the same table, or as `lim14/open: name` in another.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Explaining {
    /// One for every figure.
    All(String),
    /// One for each figure named.
    Each(BTreeMap<String, String>),
}

impl Row {
    /// The row that explains a figure.
    pub(crate) fn explaining(&self, column: &str) -> Option<&str> {
        match self.explained_by.as_ref()? {
            Explaining::All(row) => Some(row),
            Explaining::Each(rows) => rows.get(column).map(String::as_str),
        }
    }

    /// Every row that explains a figure of this one, with the figures' names where they are given.
    pub(crate) fn all_explaining(&self) -> impl Iterator<Item = (Option<&str>, &str)> {
        let (all, each) = match &self.explained_by {
            None => (None, None),
            Some(Explaining::All(row)) => (Some((None, row.as_str())), None),
            Some(Explaining::Each(rows)) => (None, Some(rows.iter())),
        };
        all.into_iter().chain(each.into_iter().flatten().map(|(figure, row)| (Some(figure.as_str()), row.as_str())))
    }
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
#[derive(Debug)]
pub(crate) struct Column {
    /// As rows and `columns` name it.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// Digits behind the point.
    digits: usize,
    origin: Origin,
}

/// Every figure that the papers publish, or that explains one.
pub(crate) const COLUMNS: [Column; 30] = [
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
    Column::new("erases_max", "most erases of a segment", 0, Origin::Report("/erase_count/max")),
    Column::new("latency_p999_us", "latency, p99.9, µs", 0, Origin::Report("/latency_us/p999")),
    Column::new("folds_change_percent", "change of folds, %", 1, Origin::ChangeOf("folds")),
    Column::new("write_us", "write time of a page, µs", 0, Origin::Report("/write_us_per_page")),
    Column::new("write_change_percent", "change of write time, %", 1, Origin::ChangeOf("write_us")),
    Column::new("cleanings_change_percent", "change of cleanings, %", 1, Origin::ChangeOf("cleanings")),
    Column::new("reclaimed_blocks", "blocks reclaimed early", 0, Origin::Report("/reclaimed_blocks")),
    Column::new("make_s", "make folders, s", 2, Origin::Report("/andrew/phases_s/0")),
    Column::new("copy_s", "copy, s", 2, Origin::Report("/andrew/phases_s/1")),
    Column::new("stat_s", "stat, s", 2, Origin::Report("/andrew/phases_s/2")),
    Column::new("read_s", "read, s", 2, Origin::Report("/andrew/phases_s/3")),
    Column::new("compile_s", "compile, s", 2, Origin::Report("/andrew/phases_s/4")),
    Column::new("run_s", "all phases, s", 2, Origin::Report("/andrew/run_s")),
    Column::new("flash_s", "of it for flash, s", 2, Origin::Report("/andrew/flash_s")),
    Column::new("used_percent", "file system used, %", 1, Origin::Report("/andrew/used_percent")),
];

impl Column {
    const fn new(name: &'static str, title: &'static str, digits: usize, origin: Origin) -> Self {
        Self { name, title, digits, origin }
    }

    /// True if the figure is a change in percent, whose deviations are in points.
    fn is_change(&self) -> bool {
        matches!(self.origin, Origin::ChangeOf(_))
    }

    /// How far off a figure is, NaN if it is missing; none where nothing was published.
    pub(crate) fn deviation(&self, published: Option<f64>, measured: Option<f64>) -> Option<f64> {
        let (published, measured) = (published?, measured.unwrap_or(f64::NAN));
        match () {
            () if self.is_change() => Some(measured - published),
            // Nothing happened, and nothing should have.
            () if published == measured => Some(0.0),
            () => Some((measured / published - 1.0) * 100.0),
        }
    }

    /// The deviation that needs no reason.
    pub(crate) fn usual(&self) -> f64 {
        if self.is_change() { USUAL_POINTS } else { USUAL_PERCENT }
    }

    /// What deviations are counted in.
    pub(crate) fn unit(&self) -> &'static str {
        if self.is_change() { "points" } else { "%" }
    }

    /// A measured figure as it is shown.
    pub(crate) fn shown(&self, measured: Option<f64>) -> String {
        let digits = self.digits;
        let figure = |value| if self.is_change() { format!("{value:+.digits$}") } else { format!("{value:.digits$}") };
        measured.map_or_else(|| "–".to_owned(), figure)
    }
}

/// Figures by the names of their columns.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
pub(crate) struct Figures(pub(crate) BTreeMap<String, f64>);

impl Figures {
    pub(crate) fn get(&self, column: &str) -> Option<f64> {
        self.0.get(column).copied()
    }

    /// Reads a report of `wearwell run`.
    pub(crate) fn of_report(report: &serde_json::Value) -> Self {
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
    pub(crate) fn mean(all: &[&Self]) -> Self {
        let mean = |column: &Column| {
            let sum: Option<f64> = all.iter().map(|figures| figures.get(column.name)).sum();
            Some((column.name.to_owned(), sum? / all.len() as f64))
        };
        Self(COLUMNS.iter().filter_map(mean).collect())
    }

    /// The same, compared with another run's.
    pub(crate) fn against(mut self, base: &Self) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_make_no_sense_are_refused() {
        let fault = |text: &str| toml::from_str::<Table>(&format!("title = 't'\n{text}")).unwrap().fault();
        let row = "[[row]]\nname = 'a'\nargs = ''\nseeds = [1]\n";
        assert_eq!(fault(row), None);
        assert_eq!(fault(&format!("columns = ['merges']\n{row}{row}against = 'a'")), None);
        assert!(fault(&format!("columns = ['merge']\n{row}")).is_some());
        assert!(fault(&format!("{row}against = 'a'")).is_some());
        assert!(fault(&format!("{row}published = {{ erased = 5 }}")).is_some());
        assert!(fault(&format!("{row}explained_by = {{ erased = 'a' }}")).is_some());
        assert!(fault("[[row]]\nname = 'a'\nargs = ''\nseeds = []").is_some());
        let chart = |more: &str| format!("[[chart]]\ntitle = 'c'\n{more}\n");
        assert_eq!(fault(&format!("{row}series = 's'\n{}", chart("kind = 'lines'\nfigure = 'erases'"))), None);
        assert!(fault(&format!("{row}{}", chart("kind = 'lines'\nfigure = 'erases'"))).is_some(), "no series");
        assert!(fault(&format!("{row}series = 's'\n{}", chart("kind = 'lines'\nfigure = 'erased'"))).is_some());
        assert!(fault(&chart("kind = 'file'")).is_some());
    }

    #[test]
    fn figures_are_means_over_the_seeds() {
        let figures =
            |figures: &[(&str, f64)]| Figures(figures.iter().map(|&(name, value)| (name.to_owned(), value)).collect());
        let report = |erases: u64, seconds: f64| {
            Figures::of_report(&serde_json::json!({
                "erases": erases, "copied_pages": 5, "throughput_kib_s": null, "erase_count": {"stddev": 1.5},
                "merges": 2, "sim_seconds": seconds
            }))
        };
        let expected = [("erases", 11.0), ("copied_pages", 5.0), ("stddev", 1.5), ("merges", 2.0), ("time_s", 8.0)];
        let expected = figures(&expected);
        assert_eq!(Figures::mean(&[&report(10, 7.0), &report(12, 9.0)]), expected);
        let change = expected.against(&figures(&[("time_s", 10.0)])).get("time_change_percent");
        assert!(change.is_some_and(|change| (change + 20.0).abs() < 1e-9), "{change:?}");
    }
}
