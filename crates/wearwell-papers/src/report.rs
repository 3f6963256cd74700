//! The results: papers, tables, rows and items, as they are shown and written.

use serde::Serialize;
use wearwell_sim::run::Observation;

use crate::column::{COLUMNS, Column};
use crate::estimate::Estimate;
use crate::experiment::{ChartSpec, Order, Place, Row, Table};
use crate::judge::{Explanations, Finding, Judge, Subject};
use crate::rule::Verdict;
use crate::{PapersError, Seeds};

/// The results of all runs.
pub struct Report {
    pub(crate) seeds: Seeds,
    /// False if only one table was run.
    pub(crate) is_whole: bool,
    /// The papers, with the tables that were asked for.
    pub papers: Vec<PaperResult>,
}

/// A paper.
#[derive(Serialize)]
pub struct PaperResult {
    /// As `kawaguchi95`.
    pub folder: String,
    /// Who wrote what, and when.
    pub title: String,
    /// The choices that it leaves open, each with its sentence.
    pub choices: Vec<(String, String)>,
    /// Orderings that it states.
    pub claims: Vec<ClaimResult>,
    /// Its tables and figures.
    pub tables: Vec<TableResult>,
}

/// A pair of rows for which a paper states an ordering.
#[derive(Serialize)]
pub struct ClaimResult {
    /// In our words.
    pub says: String,
    /// As `table6: greedy`.
    pub row: String,
    /// The row that it is compared with.
    pub than: String,
    /// The figure that is compared.
    pub figure: &'static str,
    /// The unit of the difference.
    pub unit: &'static str,
    /// What the paper claims the difference to be.
    pub is: &'static str,
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
}

/// A table or figure.
#[derive(Serialize)]
pub struct TableResult {
    /// As `table5`.
    pub name: String,
    /// As the paper has it.
    pub title: String,
    #[serde(skip)]
    pub(crate) columns: Vec<&'static Column>,
    #[serde(skip)]
    pub(crate) charts: Vec<ChartSpec>,
    /// Its rows.
    pub rows: Vec<RowResult>,
}

/// A row and what it measured.
#[derive(Serialize)]
pub struct RowResult {
    /// As the table has it.
    pub name: String,
    /// The command that runs it with the first seed, or the source of the figures.
    pub command: String,
    /// The seeds of the figures.
    pub seeds: String,
    pub(crate) note: Option<String>,
    /// Why there are no figures.
    pub failure: Option<String>,
    /// True if the row said so beforehand.
    pub(crate) is_left_out: bool,
    #[serde(skip)]
    pub(crate) observation: Option<Observation>,
    /// Its place in charts.
    #[serde(skip)]
    pub(crate) series: Option<String>,
    #[serde(skip)]
    pub(crate) x: Option<Place>,
    /// Figures that are shown or published.
    pub items: Vec<Item>,
}

/// A figure of a row.
#[derive(Serialize)]
pub struct Item {
    #[serde(skip)]
    pub(crate) column: &'static Column,
    /// The figure's name.
    pub figure: &'static str,
    /// The values with each seed, in order.
    pub by_seed: Vec<f64>,
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
}

impl PaperResult {
    /// All findings, the figures first.
    pub(crate) fn findings(&self) -> impl Iterator<Item = &Finding> {
        let items = self.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.items);
        items.map(|item| &item.finding).chain(self.claims.iter().map(|claim| &claim.finding))
    }
}

impl Finding {
    /// The mean and its interval as text.
    pub(crate) fn measured_text(&self, shown: impl Fn(f64) -> String) -> String {
        match self.measured {
            None => "–".to_owned(),
            Some(Estimate { mean, half: 0.0, .. }) => shown(mean),
            Some(Estimate { mean, half, .. }) => format!("{} ± {}", shown(mean), shown(half).trim_start_matches('+')),
        }
    }

    /// The verdict as text; empty if there is none.
    pub(crate) fn verdict_text(&self) -> &'static str {
        self.verdict.map_or("", Verdict::name)
    }
}

impl Item {
    /// The deviation of the mean, with its unit.
    pub(crate) fn deviation_text(&self) -> String {
        let both = self.finding.published.zip(self.finding.measured);
        let text = both.map(|(published, measured)| {
            format!("{:+.1} {}", self.column.deviation(published, measured.mean), self.column.unit())
        });
        text.unwrap_or_default()
    }

    pub(crate) fn measured_text(&self) -> String {
        self.finding.measured_text(|value| self.column.shown(value))
    }
}

impl Order {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::More => "more",
            Self::Less => "less",
            Self::SlightlyMore => "slightly more",
            Self::SlightlyLess => "slightly less",
            Self::AsMuch => "as much",
        }
    }
}

/// The results of a paper.
pub(crate) fn paper(judge: Judge<'_>, asked: &[usize], by: Option<&Explanations>, seeds: Seeds) -> PaperResult {
    let paper = judge.paper;
    let (mut tables, mut claims): (Vec<TableResult>, Vec<ClaimResult>) = (Vec::new(), Vec::new());
    for (at, subject) in paper.subjects().into_iter().enumerate().filter(|(at, _)| asked.contains(at)) {
        match subject {
            Subject::Row(table, row) => {
                // Rows of a table follow each other.
                if tables.last().is_none_or(|last| last.name != table.name) {
                    tables.push(empty(table));
                }
                tables.last_mut().into_iter().for_each(|last| {
                    last.rows.push(row_result(judge, (table, row), by, at, seeds));
                });
            }
            Subject::Pair(claim, pair) => claims.push(ClaimResult {
                says: claim.says.clone(),
                row: pair[0].clone(),
                than: pair[1].clone(),
                figure: Column::named(&claim.figure).map_or("", |column| column.title),
                unit: Column::named(&claim.figure).map_or("", Column::unit),
                is: claim.is.name(),
                finding: judge.pair_found(claim, pair, by, at),
            }),
        }
    }
    let choices = paper.about.choice.iter().map(|choice| (choice.name.clone(), choice.sentence.clone())).collect();
    PaperResult { folder: paper.folder.clone(), title: paper.about.title.clone(), choices, claims, tables }
}

fn empty(table: &Table) -> TableResult {
    TableResult {
        name: table.name.clone(),
        title: table.title.clone(),
        columns: table.shown(),
        charts: table.chart.clone(),
        rows: Vec::new(),
    }
}

fn row_result(
    judge: Judge<'_>,
    at: (&Table, &Row),
    by: Option<&Explanations>,
    subject: usize,
    seeds: Seeds,
) -> RowResult {
    let (table, row) = at;
    let sample = judge.sample(at, None);
    let columns = table.shown();
    let is_told = |column: &&'static Column| row.published.get(column).is_some() || columns.contains(column);
    let item = |column: &'static Column| Item {
        column,
        figure: column.name,
        by_seed: sample.iter().flatten().filter_map(|figures| figures.get(column)).collect(),
        finding: judge.figure_found(at, column, by, subject),
    };
    let runs = sample.as_ref().map_or(0, Vec::len);
    RowResult {
        name: row.name.clone(),
        command: command(row, seeds.first),
        seeds: match runs {
            0 => "none".to_owned(),
            _ => Seeds { count: u32::try_from(runs).unwrap_or(u32::MAX), ..seeds }.to_string(),
        },
        note: row.note.clone(),
        failure: sample.as_ref().err().cloned(),
        is_left_out: judge.is_left_out(at),
        observation: row.args.as_ref().and_then(|args| judge.bench.observation(args)).cloned(),
        series: row.series.clone(),
        x: row.x.clone(),
        items: COLUMNS.iter().filter(is_told).map(item).collect(),
    }
}

/// The command that runs a row.
fn command(row: &Row, seed: u64) -> String {
    match row {
        Row { args: Some(args), andrew: None, .. } => format!("wearwell run {args} --seed {seed}"),
        Row { args: Some(args), andrew: Some(benchmark), .. } => {
            format!("wearwell reproduce --guests  # serve {args} --seed {seed}; {benchmark}")
        }
        Row { mean_of: Some(rows), .. } => format!("# the mean of {}", rows.join("; ")),
        Row { file: Some(point), .. } => format!("# {} at {}", point.name, point.at),
        Row { cannot, .. } => format!("# not run: {}", cannot.as_deref().unwrap_or_default()),
    }
}

impl Report {
    /// All tables, each with its paper.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (&PaperResult, &TableResult)> {
        self.papers.iter().flat_map(|paper| paper.tables.iter().map(move |table| (paper, table)))
    }

    /// Everything that was judged, by name: `kawaguchi95/table5: 90 %: erases`.
    pub fn verdicts(&self) -> impl Iterator<Item = (String, Verdict)> {
        let figures = self.tables().flat_map(|(paper, table)| {
            let of = move |(row, item): (&RowResult, &Item)| {
                let name = format!("{}/{}: {}: {}", paper.folder, table.name, row.name, item.column.title);
                Some((name, item.finding.verdict?))
            };
            table.rows.iter().flat_map(|row| row.items.iter().map(move |item| (row, item))).filter_map(of)
        });
        let claims = self.papers.iter().flat_map(|paper| {
            paper.claims.iter().filter_map(|claim| {
                let name = format!("{}: {} ({} to {})", paper.folder, claim.says, claim.row, claim.than);
                Some((name, claim.finding.verdict?))
            })
        });
        figures.chain(claims)
    }

    /// How many items got a verdict.
    #[must_use]
    pub fn count(&self, wanted: Verdict) -> usize {
        self.verdicts().filter(|(_, verdict)| *verdict == wanted).count()
    }

    /// Counts of items by verdict, in one sentence.
    #[must_use]
    pub fn counts(&self) -> String {
        if self.seeds.count < 2 {
            return format!("seed {} only: no intervals, no verdicts", self.seeds.first);
        }
        let counts = Verdict::ALL.map(|verdict| format!("{} {}", self.count(verdict), plural(verdict)));
        format!("seeds {}: {}", self.seeds, counts.join(", "))
    }

    /// Rows whose runs failed, each with the reason.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let rows = self.tables().flat_map(|(paper, table)| table.rows.iter().map(move |row| (paper, table, row)));
        let failed = rows.filter(|(.., row)| !row.is_left_out);
        failed
            .filter_map(|(paper, table, row)| {
                Some(format!("{}/{}: {}: {}", paper.folder, table.name, row.name, row.failure.as_ref()?))
            })
            .collect()
    }

    /// The whole report.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn json(&self) -> Result<Vec<u8>, PapersError> {
        let verdicts: serde_json::Map<String, serde_json::Value> =
            Verdict::ALL.iter().map(|&verdict| (plural(verdict).to_owned(), self.count(verdict).into())).collect();
        let value = serde_json::json!({
            "first_seed": self.seeds.first, "seeds": self.seeds.count, "verdicts": verdicts, "papers": self.papers,
        });
        let mut bytes =
            serde_json::to_vec_pretty(&value).map_err(|error| PapersError::Wrong(format!("JSON: {error}")))?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

fn plural(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Agrees => "agree",
        Verdict::Contradicts => "contradict",
        other => other.name(),
    }
}
