//! The experiments of a paper as data: what is run, what was published, what is claimed, and what is left open.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use crate::column::{COLUMNS, Column, Figures};

/// A folder of `papers/`: what `paper.toml` says, and the tables beside it.
pub(crate) struct Paper {
    /// As `kawaguchi95`.
    pub(crate) folder: String,
    pub(crate) about: About,
    pub(crate) tables: Vec<Table>,
}

/// What `paper.toml` says of the paper as a whole.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    pub(crate) title: String,
    /// True of what is no paper, and takes long: it is run if it is named.
    #[serde(default)]
    pub(crate) only_if_named: bool,
    /// What the paper leaves open.
    #[serde(default)]
    pub(crate) choice: Vec<Choice>,
    /// Orderings that it states.
    #[serde(default)]
    pub(crate) claim: Vec<Claim>,
}

/// One choice that a paper leaves open, made differently.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Choice {
    pub(crate) name: String,
    /// The sentence of the paper that leaves it open.
    pub(crate) sentence: String,
    /// Words of a row's arguments, and what stands there instead.
    #[serde(default)]
    change: BTreeMap<String, String>,
    /// A flag and its value, added to every row that does not have this flag.
    add: Option<String>,
}

impl Choice {
    /// A row's arguments with this choice; none if the choice does not touch the row.
    pub(crate) fn applied(&self, args: &str) -> Option<String> {
        // With spaces around them only whole words match.
        let mut changed = format!(" {args} ");
        for (from, to) in &self.change {
            changed = changed.replace(&format!(" {from} "), &format!(" {to} "));
        }
        if let Some(flag) = self.add.as_deref().and_then(|add| add.split_whitespace().next())
            && !changed.contains(&format!(" {flag} "))
        {
            changed = format!("{changed}{} ", self.add.as_deref().unwrap_or_default());
        }
        let changed = changed.trim();
        (changed != args).then(|| changed.to_owned())
    }
}

/// An ordering that a paper states, of one or more pairs of rows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    /// In our words.
    pub(crate) says: String,
    /// Each row, and the row that it is compared with; named as `table6: greedy`.
    pub(crate) pairs: Vec<[String; 2]>,
    /// The figure that is compared.
    pub(crate) figure: String,
    pub(crate) is: Order,
    /// The size of the difference in percent. If absent, it follows from the published figures of both rows.
    pub(crate) by_percent: Option<f64>,
}

/// Parts of a run of the Andrew-like benchmark: removing the oldest, and Andrew's five phases.
pub(crate) const PARTS: usize = 6;

/// How a row runs the Andrew-like benchmark.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Benchmark {
    /// Runs to keep: from then on, each run first removes the oldest.
    pub(crate) keep: u32,
    #[serde(default = "sixty")]
    pub(crate) runs: u32,
    /// Options of `mkfs.ext4`.
    pub(crate) mkfs: String,
    /// Options of `mount`.
    pub(crate) mount: String,
    /// Seconds that each part of a run takes the host alone: removing the oldest, then the phases.
    pub(crate) host_s: [f64; PARTS],
}

fn sixty() -> u32 {
    60
}

impl fmt::Display for Benchmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { keep, runs, mkfs, mount, .. } = self;
        write!(f, "{runs} runs, {keep} kept, on mkfs.ext4 {mkfs}; mount -o {mount}")
    }
}

/// The ordering of a row's figure against that of the other row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    More,
    Less,
    /// More, and by no relevant difference.
    SlightlyMore,
    SlightlyLess,
    /// No relevant difference.
    AsMuch,
}

/// One table or figure of a paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    /// The file's name without its ending, as `table5`.
    #[serde(skip)]
    pub(crate) name: String,
    pub(crate) title: String,
    /// Figures that are shown; by default the first four of [`COLUMNS`].
    columns: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) row: Vec<Row>,
    /// Charts as the paper drew them.
    #[serde(default)]
    pub(crate) chart: Vec<ChartSpec>,
}

/// One experiment. Exactly one of `args`, `mean_of`, `file` and `cannot` says where its figures come from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// The arguments of `wearwell run`, without the seed; for a benchmark, the engine flags of the served disk.
    pub(crate) args: Option<String>,
    /// The benchmark that `args` are for, if it is one.
    pub(crate) andrew: Option<Benchmark>,
    /// The rows above whose mean figures these are.
    pub(crate) mean_of: Option<Vec<String>>,
    /// A chart's file, and the place in it.
    pub(crate) file: Option<FilePoint>,
    /// Why it cannot be run.
    pub(crate) cannot: Option<String>,
    /// The row above that changes refer to.
    pub(crate) against: Option<String>,
    #[serde(default)]
    pub(crate) published: Figures,
    /// A note on the row.
    pub(crate) note: Option<String>,
    /// Its line or colour in charts; none if it is in no chart.
    pub(crate) series: Option<String>,
    /// Its place on the axis.
    pub(crate) x: Option<Place>,
}

/// A line of a file of comma-separated numbers, whose first line names them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilePoint {
    pub(crate) name: String,
    /// The number that the line begins with.
    pub(crate) at: f64,
    /// What the file holds.
    #[serde(skip)]
    pub(crate) text: String,
}

impl FilePoint {
    /// The numbers of the line, and as `lowest_at` the place where the second column is lowest.
    pub(crate) fn figures(&self) -> Figures {
        let mut lines = self.text.lines().filter(|line| !line.starts_with('#'));
        let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        let records: Vec<Vec<f64>> =
            lines.map(|line| line.split(',').map_while(|field| field.trim().parse().ok()).collect()).collect();
        let mut report = serde_json::Map::new();
        if let Some(record) = records.iter().find(|record| record.first() == Some(&self.at)) {
            report.extend(names.iter().zip(record).map(|(name, value)| ((*name).to_owned(), (*value).into())));
        }
        let lowest = records.iter().filter(|record| record.len() > 1).min_by(|a, b| a[1].total_cmp(&b[1]));
        report.extend(lowest.map(|record| ("lowest_at".to_owned(), record[0].into())));
        Figures::of_report(&report.into())
    }
}

/// The place of a row on a chart's axis.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Place {
    Number(f64),
    Name(String),
}

/// A chart, of the rows that have a `series`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChartSpec {
    pub(crate) title: String,
    pub(crate) kind: ChartKind,
    /// Only rows whose names begin with this text.
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
    /// Points that the paper states.
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
    /// The distribution of segments by utilization at the end.
    Utilization,
    /// Erases of every segment.
    Erases,
    /// The distribution of segments by their shares of rewritten and untouched pages; of the first row.
    Cold,
    /// Every segment by how full it is; of the first row.
    Map,
    /// The columns of a file.
    File,
}

impl ChartSpec {
    /// True if a row is in the chart.
    pub(crate) fn takes(&self, row: &Row) -> bool {
        row.series.is_some() && row.name.starts_with(&self.rows)
    }

    /// The column that is shown.
    pub(crate) fn column(&self) -> Option<&'static Column> {
        self.figure.as_deref().and_then(Column::named)
    }

    /// True if the chart needs observations of runs.
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
        if rows.iter().any(|row| self.takes(row)) { None } else { refused("has no row with a series") }
    }
}

impl Table {
    /// The columns that are shown.
    pub(crate) fn shown(&self) -> Vec<&'static Column> {
        match &self.columns {
            None => COLUMNS.iter().take(4).collect(),
            Some(names) => names.iter().filter_map(|name| Column::named(name)).collect(),
        }
    }

    /// The row of a name.
    pub(crate) fn row(&self, name: &str) -> Option<&Row> {
        self.row.iter().find(|row| row.name == name)
    }

    /// True if a chart needs an observation of a row's run.
    pub(crate) fn observes(&self, row: &Row) -> bool {
        self.chart.iter().any(|chart| chart.observes() && chart.takes(row))
    }

    /// Why the table makes no sense.
    pub(crate) fn fault(&self) -> Option<String> {
        let published = self.row.iter().flat_map(|row| row.published.0.keys());
        let names = self.columns.iter().flatten().chain(published);
        if let Some(name) = names.into_iter().find(|name| Column::named(name).is_none()) {
            return Some(format!("there is no figure '{name}'"));
        }
        let fault = |(at, row): (usize, &Row)| {
            let above = |name: &String| self.row[..at].iter().any(|earlier| earlier.name == *name);
            let sources = [row.args.is_some(), row.mean_of.is_some(), row.file.is_some(), row.cannot.is_some()];
            let refused = |why: &str| Some(format!("row '{}' {why}", row.name));
            match () {
                () if above(&row.name) => refused("is there twice"),
                () if sources.iter().filter(|is_said| **is_said).count() != 1 => {
                    refused("must have one of args, mean_of, file and cannot")
                }
                () if !row.against.iter().all(above) => refused("is against none of the rows above it"),
                () if !row.mean_of.iter().flatten().all(above) => refused("is the mean of rows that are not above"),
                () => None,
            }
        };
        self.row.iter().enumerate().find_map(fault).or_else(|| self.chart.iter().find_map(|c| c.fault(&self.row)))
    }
}

impl Paper {
    /// The table and the row that a name like `table6: greedy` means.
    pub(crate) fn row(&self, name: &str) -> Option<(&Table, &Row)> {
        let (table, row) = name.split_once(": ")?;
        let table = self.tables.iter().find(|own| own.name == table)?;
        Some((table, table.row(row)?))
    }

    /// Why its claims or choices make no sense.
    pub(crate) fn fault(&self) -> Option<String> {
        for claim in &self.about.claim {
            if Column::named(&claim.figure).is_none() {
                return Some(format!("claim '{}': there is no figure '{}'", claim.says, claim.figure));
            }
            if let Some(name) = claim.pairs.iter().flatten().find(|name| self.row(name).is_none()) {
                return Some(format!("claim '{}': there is no row '{name}'", claim.says));
            }
        }
        let args = || self.tables.iter().flat_map(|table| &table.row).filter_map(|row| row.args.as_deref());
        let idle = self.about.choice.iter().find(|choice| !args().any(|args| choice.applied(args).is_some()));
        idle.map(|choice| format!("choice '{}' touches no row", choice.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_make_no_sense_are_refused() {
        let fault = |text: &str| toml::from_str::<Table>(&format!("title = 't'\n{text}")).unwrap().fault();
        let row = "[[row]]\nname = 'a'\nargs = ''\n";
        let other = "[[row]]\nname = 'b'\nargs = ''\n";
        assert_eq!(fault(row), None);
        assert_eq!(fault(&format!("columns = ['merges']\n{row}{other}against = 'a'")), None);
        assert_eq!(fault(&format!("{row}[[row]]\nname = 'm'\nmean_of = ['a']")), None);
        let chart = |more: &str| format!("[[chart]]\ntitle = 'c'\n{more}\n");
        assert_eq!(fault(&format!("{row}series = 's'\n{}", chart("kind = 'lines'\nfigure = 'erases'"))), None);
        for wrong in [
            format!("columns = ['merge']\n{row}"),
            format!("{row}{row}"),
            format!("{row}against = 'a'"),
            format!("{row}published = {{ erased = 5 }}"),
            format!("{row}cannot = 'why'"),
            "[[row]]\nname = 'a'".to_owned(),
            format!("[[row]]\nname = 'm'\nmean_of = ['a']\n{row}"),
            format!("{row}{}", chart("kind = 'lines'\nfigure = 'erases'")),
            format!("{row}series = 's'\n{}", chart("kind = 'lines'\nfigure = 'erased'")),
            chart("kind = 'file'"),
        ] {
            assert!(fault(&wrong).is_some(), "{wrong}");
        }
        assert!(toml::from_str::<Row>("name = 'a'\nargs = ''\ntolerance_percent = {}").is_err(), "no such field");
    }

    #[test]
    fn a_choice_changes_whole_words_and_adds_what_is_not_there() {
        let choice = |text: &str| toml::from_str::<Choice>(&format!("name = 'c'\nsentence = 's'\n{text}")).unwrap();
        let fill = choice("change = { '--fill 90%' = '--fill 92%' }");
        assert_eq!(fill.applied("--a b --fill 90%"), Some("--a b --fill 92%".to_owned()));
        assert_eq!(fill.applied("--fill 90%5"), None);
        let apart = choice("add = '--where separate-gc'");
        assert_eq!(apart.applied("--a b"), Some("--a b --where separate-gc".to_owned()));
        assert_eq!(apart.applied("--where single"), None);
    }
}
