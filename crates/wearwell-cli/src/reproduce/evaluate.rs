//! Published beside measured, and what to think of it.

use serde::Serialize;

use super::experiment::{COLUMNS, Column, Figures, Row};
use super::source::Experiment;

/// What to think of a measured figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// Off by no more than needs a reason.
    Agrees,
    /// Off by more, but no more than its row allows, and the row's note says why.
    Explained,
    /// Anything else; a figure that was not measured, too.
    Unexplained,
}

impl Verdict {
    pub(crate) const ALL: [Self; 3] = [Self::Agrees, Self::Explained, Self::Unexplained];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Explained => "explained",
            Self::Unexplained => "unexplained",
        }
    }
}

/// One measured figure.
#[derive(Debug, Serialize)]
pub(crate) struct Item {
    #[serde(skip)]
    pub(crate) column: &'static Column,
    /// The column's name.
    pub(crate) figure: &'static str,
    pub(crate) published: Option<f64>,
    pub(crate) measured: Option<f64>,
    /// How far apart they are, in `unit`.
    pub(crate) deviation: Option<f64>,
    pub(crate) unit: &'static str,
    /// None of a figure that was not published, or that is not judged.
    pub(crate) verdict: Option<Verdict>,
}

impl Item {
    /// The published figure as it is shown.
    pub(crate) fn published_text(&self) -> String {
        self.published.map(|figure| figure.to_string()).unwrap_or_default()
    }

    /// The deviation as it is shown.
    pub(crate) fn deviation_text(&self) -> String {
        match self.deviation {
            None => String::new(),
            Some(off) if off.is_nan() => "not measured".to_owned(),
            Some(off) => format!("{off:+.1} {}", self.unit),
        }
    }

    pub(crate) fn verdict_text(&self) -> &'static str {
        self.verdict.map_or("", Verdict::name)
    }
}

/// A row and what it measured.
#[derive(Debug, Serialize)]
pub(crate) struct RowResult {
    pub(crate) name: String,
    pub(crate) args: String,
    pub(crate) seeds: Vec<u64>,
    /// Run to see what a choice moves, and not judged.
    pub(crate) sensitivity: bool,
    pub(crate) against: Option<String>,
    pub(crate) note: Option<String>,
    /// Why a run of it failed.
    pub(crate) failure: Option<String>,
    /// The figures that are shown or were published.
    pub(crate) figures: Vec<Item>,
}

/// An experiment and what it measured.
#[derive(Debug, Serialize)]
pub(crate) struct ExperimentResult {
    pub(crate) paper: String,
    pub(crate) name: String,
    pub(crate) title: String,
    #[serde(skip)]
    pub(crate) columns: Vec<&'static Column>,
    pub(crate) rows: Vec<RowResult>,
}

impl ExperimentResult {
    /// What the rows' runs gave, in the rows' order, beside what was published.
    pub(crate) fn of(experiment: &Experiment, measured: Vec<Result<Figures, String>>) -> Self {
        let table = &experiment.table;
        let columns = table.shown();
        let mut all: Vec<Figures> = Vec::with_capacity(measured.len());
        let mut rows = Vec::with_capacity(measured.len());
        for (row, measured) in table.row.iter().zip(measured) {
            let (figures, failure) = measured.map_or_else(|why| (Figures::default(), Some(why)), |own| (own, None));
            let figures = match table.base_of(row) {
                Some(base) => figures.against(&all[base]),
                None => figures,
            };
            let is_told = |column: &&Column| {
                row.published.get(column.name).is_some() || columns.iter().any(|c| c.name == column.name)
            };
            rows.push(RowResult {
                name: row.name.clone(),
                args: row.args.clone(),
                seeds: row.seeds.clone(),
                sensitivity: row.sensitivity,
                against: row.against.clone(),
                note: row.note.clone(),
                failure,
                figures: COLUMNS.iter().filter(is_told).map(|column| item(row, column, &figures)).collect(),
            });
            all.push(figures);
        }
        let (paper, name) = (experiment.paper.clone(), experiment.name.clone());
        Self { paper, name, title: table.title.clone(), columns, rows }
    }

    /// As `kawaguchi95/table5`.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.paper, self.name)
    }

    /// The figures that are judged, with their rows.
    pub(crate) fn judged(&self) -> impl Iterator<Item = (&RowResult, &Item, Verdict)> {
        let items = self.rows.iter().flat_map(|row| row.figures.iter().map(move |item| (row, item)));
        items.filter_map(|(row, item)| Some((row, item, item.verdict?)))
    }

    /// The same, each with its experiment.
    pub(crate) fn judged_in_full(&self) -> impl Iterator<Item = (&Self, &RowResult, &Item, Verdict)> {
        self.judged().map(move |(row, item, verdict)| (self, row, item, verdict))
    }
}

/// How many figures got a verdict.
pub(crate) fn count(results: &[ExperimentResult], wanted: Verdict) -> usize {
    results.iter().flat_map(ExperimentResult::judged).filter(|&(.., verdict)| verdict == wanted).count()
}

/// How many published figures are only compared, since their rows are sensitivity runs.
pub(crate) fn count_unjudged(results: &[ExperimentResult]) -> usize {
    let items = results.iter().flat_map(|result| &result.rows).flat_map(|row| &row.figures);
    items.filter(|item| item.published.is_some() && item.verdict.is_none()).count()
}

fn item(row: &Row, column: &'static Column, figures: &Figures) -> Item {
    let (published, measured) = (row.published.get(column.name), figures.get(column.name));
    let deviation = column.deviation(published, measured);
    let verdict = deviation.filter(|_| !row.sensitivity).map(|off| verdict(row, column, off));
    Item { column, figure: column.name, published, measured, deviation, unit: column.unit(), verdict }
}

fn verdict(row: &Row, column: &Column, off: f64) -> Verdict {
    // Comparisons with NaN, a figure that is missing, are false.
    let allowed = row.tolerance_percent.get(column.name).unwrap_or(column.usual());
    let is_disowned = row.unexplained.iter().any(|name| name == column.name);
    if off.abs() <= column.usual().min(allowed) {
        Verdict::Agrees
    } else if off.abs() <= allowed && row.note.is_some() && !is_disowned {
        Verdict::Explained
    } else {
        Verdict::Unexplained
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A result of an experiment of hand-made rows.
    pub(crate) fn result(rows: &str, measured: &[&[(&str, f64)]]) -> ExperimentResult {
        let table = toml::from_str(&format!("title = 'A <title>'\n{rows}")).unwrap();
        let experiment = Experiment { paper: "paper".to_owned(), name: "table1".to_owned(), table };
        let figures =
            |row: &&[(&str, f64)]| Ok(Figures(row.iter().map(|&(name, value)| (name.to_owned(), value)).collect()));
        ExperimentResult::of(&experiment, measured.iter().map(figures).collect())
    }

    fn row(published: &str, rest: &str) -> String {
        format!("[[row]]\nname = 'r'\nargs = ''\nseeds = [1]\npublished = {published}\n{rest}\n")
    }

    fn verdicts(published: &str, rest: &str, measured: &[(&str, f64)]) -> Vec<Verdict> {
        result(&row(published, rest), &[measured]).judged().map(|(.., verdict)| verdict).collect()
    }

    #[test]
    fn a_deviation_agrees_is_explained_or_is_not() {
        use Verdict::{Agrees, Explained, Unexplained};
        let measured = [("erases", 112.0), ("copied_pages", 0.0)];
        let of = |published, rest| verdicts(published, rest, &measured);
        let wide = "tolerance_percent = { erases = 13 }";
        let noted = format!("{wide}\nnote = 'since'");
        let disowned = format!("{noted}\nunexplained = ['erases']");
        assert_eq!(of("{ erases = 105 }", ""), [Agrees]);
        assert_eq!(of("{ erases = 100 }", ""), [Unexplained]);
        assert_eq!(of("{ erases = 100 }", wide), [Unexplained], "allowed without a reason");
        assert_eq!(of("{ erases = 100 }", &noted), [Explained]);
        assert_eq!(of("{ erases = 90 }", &noted), [Unexplained], "more than the reason explains");
        assert_eq!(of("{ erases = 100 }", &disowned), [Unexplained]);
        assert_eq!(of("{ erases = 105 }", &disowned), [Agrees]);
        assert_eq!(of("{ erases = 105 }", "tolerance_percent = { erases = 2 }"), [Unexplained], "less than usual");
        assert_eq!(of("{ erases = 100 }", "sensitivity = true"), []);
        assert_eq!(of("{ copied_pages = 0 }", ""), [Agrees]);
        assert_eq!(of("{ copied_pages = 5, erases = 110 }", ""), [Agrees, Unexplained]);
        assert_eq!(
            of("{ stddev = 5.0 }", "tolerance_percent = { stddev = 1000 }\nnote = 'n'"),
            [Unexplained],
            "missing"
        );
    }

    #[test]
    fn changes_are_against_their_row_and_off_by_points() {
        let rows = |published: &str| {
            let base = "[[row]]\nname = 'base'\nargs = ''\nseeds = [1]\n";
            base.to_owned() + &row(&format!("{{ time_change_percent = {published} }}"), "against = 'base'")
        };
        let verdict = |published| {
            let result = result(&rows(published), &[&[("time_s", 10.0)], &[("time_s", 8.0)]]);
            assert_eq!(result.rows[1].figures.iter().filter(|item| item.unit == "points").count(), 1);
            count(&[result], Verdict::Agrees)
        };
        assert_eq!((verdict("-24"), verdict("-26")), (1, 0));
    }

    #[test]
    fn published_figures_of_sensitivity_runs_are_counted_apart() {
        let results = [result(&row("{ erases = 5, folds = 1 }", "sensitivity = true"), &[&[("erases", 9.0)]])];
        assert_eq!(count_unjudged(&results), 2);
        assert!(Verdict::ALL.iter().all(|&verdict| count(&results, verdict) == 0));
    }
}
