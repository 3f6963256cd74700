//! Published beside measured, and what to think of it.

use serde::Serialize;

use wearwell_sim::run::Observation;

use super::experiment::{COLUMNS, ChartSpec, Column, Figures, Place, Row};
use super::measure::{Measured, Outcome};
use super::source::Experiment;

/// What to think of a measured figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// Off by no more than needs a reason.
    Agrees,
    /// Off by more, but no more than its row allows, and a sensitivity run explains it.
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
    /// What the row that is named to explain the deviation measured; none where none is needed, or none is named.
    pub(crate) explained_by: Option<Explanation>,
}

/// A sensitivity run: the experiment with one choice changed that the paper leaves open.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Explanation {
    /// As `kawaguchi95/table5`.
    pub(crate) experiment: String,
    pub(crate) row: String,
    /// The same figure with that choice.
    pub(crate) measured: Option<f64>,
    pub(crate) deviation: Option<f64>,
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

    /// What explains the deviation, and how far off the figure is then.
    pub(crate) fn explanation_text(&self) -> String {
        let told = |by: &Explanation| {
            let off = by.deviation.filter(|off| !off.is_nan());
            let off = off.map_or_else(|| "not measured".to_owned(), |off| format!("{off:+.1} {}", self.unit));
            format!("{}: {} ({off})", by.experiment, by.row)
        };
        self.explained_by.as_ref().map(told).unwrap_or_default()
    }
}

/// A row and what it measured.
#[derive(Debug, Serialize)]
pub(crate) struct RowResult {
    pub(crate) name: String,
    pub(crate) args: String,
    /// What runs it again.
    #[serde(skip)]
    pub(crate) command: String,
    pub(crate) seeds: Vec<u64>,
    /// Run to see what a choice moves, and not judged.
    pub(crate) sensitivity: bool,
    pub(crate) against: Option<String>,
    pub(crate) note: Option<String>,
    /// Why a run of it failed.
    pub(crate) failure: Option<String>,
    /// How the run with the first seed went, where a chart shows it.
    #[serde(skip)]
    pub(crate) observation: Option<Observation>,
    /// Its place in charts.
    #[serde(skip)]
    pub(crate) series: Option<String>,
    #[serde(skip)]
    pub(crate) x: Option<Place>,
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
    #[serde(skip)]
    pub(crate) charts: Vec<ChartSpec>,
    pub(crate) rows: Vec<RowResult>,
}

/// What the rows of all experiments gave, in their order, beside what was published; judged.
pub(crate) fn results(experiments: &[Experiment], measured: Vec<Vec<Outcome>>) -> Vec<ExperimentResult> {
    let of = |(experiment, rows)| ExperimentResult::unjudged(experiment, rows);
    let mut results: Vec<ExperimentResult> = experiments.iter().zip(measured).map(of).collect();
    let verdicts: Vec<_> =
        experiments.iter().zip(&results).map(|(experiment, result)| judgements(experiment, result, &results)).collect();
    let items = results.iter_mut().flat_map(|result| &mut result.rows).flat_map(|row| &mut row.figures);
    for (item, (verdict, explanation)) in items.zip(verdicts.into_iter().flatten()) {
        (item.verdict, item.explained_by) = (verdict, explanation);
    }
    results
}

type Judgement = (Option<Verdict>, Option<Explanation>);

/// For every item of a result, in order.
fn judgements(experiment: &Experiment, result: &ExperimentResult, all: &[ExperimentResult]) -> Vec<Judgement> {
    let rows = experiment.table.row.iter().zip(&result.rows).filter(|(row, _)| !row.sensitivity);
    let unjudged = result.rows.iter().map(|row| row.figures.len());
    let mut judgements: Vec<Vec<Judgement>> = unjudged.map(|items| vec![(None, None); items]).collect();
    for (row, measured) in rows {
        let place = result.rows.iter().position(|r| r.name == measured.name).unwrap_or(0);
        let of = |item: &Item| {
            let Some(off) = item.deviation else { return (None, None) };
            let explanation = row.explaining(item.figure).and_then(|name| explanation(experiment, name, item, all));
            let verdict = verdict(row, item.column, off, explanation.as_ref());
            (Some(verdict), explanation.filter(|_| verdict != Verdict::Agrees))
        };
        judgements[place] = measured.figures.iter().map(of).collect();
    }
    judgements.into_iter().flatten().collect()
}

/// What the row of this name measured of the same figure; none if it was not run.
fn explanation(experiment: &Experiment, name: &str, item: &Item, all: &[ExperimentResult]) -> Option<Explanation> {
    let (path, row) = experiment.reference(name);
    let row = all.iter().find(|result| result.path() == path)?.rows.iter().find(|r| r.name == row)?;
    let measured = row.figures.iter().find(|own| own.figure == item.figure).and_then(|own| own.measured);
    let deviation = item.column.deviation(item.published, measured);
    Some(Explanation { experiment: path.clone().into_owned(), row: row.name.clone(), measured, deviation })
}

impl ExperimentResult {
    /// What the rows' runs gave, in the rows' order, beside what was published.
    fn unjudged(experiment: &Experiment, measured: Vec<Outcome>) -> Self {
        let table = &experiment.table;
        let columns = table.shown();
        let mut all: Vec<Figures> = Vec::with_capacity(measured.len());
        let mut rows = Vec::with_capacity(measured.len());
        for (row, measured) in table.row.iter().zip(measured) {
            let nothing = |why| (Measured { figures: Figures::default(), observation: None }, Some(why));
            let (Measured { figures, observation }, failure) = measured.map_or_else(nothing, |own| (own, None));
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
                command: command(experiment, row),
                seeds: row.seeds.clone(),
                sensitivity: row.sensitivity,
                against: row.against.clone(),
                note: row.note.clone(),
                failure,
                observation,
                series: row.series.clone(),
                x: row.x.clone(),
                figures: COLUMNS.iter().filter(is_told).map(|column| item(row, column, &figures)).collect(),
            });
            all.push(figures);
        }
        let (paper, name) = (experiment.paper.clone(), experiment.name.clone());
        Self { paper, name, title: table.title.clone(), columns, charts: table.chart.clone(), rows }
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

fn command(experiment: &Experiment, row: &Row) -> String {
    let seeds = row.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(" and ");
    match &row.andrew {
        None => format!("wearwell run {} --seed {seeds}", row.args),
        Some(benchmark) => {
            let again = format!("wearwell reproduce {} --only {} --guests", experiment.paper, experiment.name);
            format!("{again}  # serve {} --seed {seeds}; {benchmark}", row.args)
        }
    }
}

fn item(row: &Row, column: &'static Column, figures: &Figures) -> Item {
    let (published, measured) = (row.published.get(column.name), figures.get(column.name));
    let deviation = column.deviation(published, measured);
    let unit = column.unit();
    Item { column, figure: column.name, published, measured, deviation, unit, verdict: None, explained_by: None }
}

/// A sensitivity run explains a deviation if the choice that it changes brings the figure at least half of the way to
/// what was published, or past it.
fn explains(column: &Column, off: f64, explanation: &Explanation) -> bool {
    // Comparisons with NaN, a figure that is missing, are false.
    let with_choice = explanation.deviation.unwrap_or(f64::NAN);
    // There is no half of the way from something to nothing.
    let half = if off.is_finite() { off.abs() / 2.0 } else { 0.0 };
    with_choice.abs() <= column.usual().max(half) || with_choice * off < 0.0
}

fn verdict(row: &Row, column: &Column, off: f64, explanation: Option<&Explanation>) -> Verdict {
    let allowed = row.tolerance_percent.get(column.name).unwrap_or(column.usual());
    if off.abs() <= column.usual().min(allowed) {
        Verdict::Agrees
    } else if off.abs() <= allowed && explanation.is_some_and(|by| explains(column, off, by)) {
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
        let experiment = Experiment { paper: "paper".to_owned(), name: "table1".to_owned(), table, is_asked_for: true };
        let figures = |row: &&[(&str, f64)]| {
            let figures = Figures(row.iter().map(|&(name, value)| (name.to_owned(), value)).collect());
            Ok(Measured { figures, observation: None })
        };
        let measured = measured.iter().map(figures).collect();
        results(&[experiment], vec![measured]).pop().unwrap()
    }

    fn row(published: &str, rest: &str) -> String {
        format!("[[row]]\nname = 'r'\nargs = ''\nseeds = [1]\npublished = {published}\n{rest}\n")
    }

    #[test]
    fn a_deviation_agrees_is_explained_or_is_not() {
        use Verdict::{Agrees, Explained, Unexplained};
        // With the choice changed erases are 104.
        let with_choice = "[[row]]\nname = 's'\nargs = ''\nseeds = [1]\nsensitivity = true\n";
        let of = |published: &str, rest: &str| -> Vec<Verdict> {
            let rows = row(published, rest) + with_choice;
            let measured: [&[(&str, f64)]; 2] =
                [&[("erases", 112.0), ("copied_pages", 0.0)], &[("erases", 104.0), ("copied_pages", 0.0)]];
            result(&rows, &measured).judged().map(|(.., verdict)| verdict).collect()
        };
        let wide = "tolerance_percent = { erases = 30 }";
        let named = format!("{wide}\nexplained_by = 's'");
        assert_eq!(of("{ erases = 105 }", ""), [Agrees]);
        assert_eq!(of("{ erases = 100 }", ""), [Unexplained]);
        assert_eq!(of("{ erases = 100 }", wide), [Unexplained], "allowed without a run that explains it");
        assert_eq!(of("{ erases = 100 }", &named), [Explained]);
        assert_eq!(of("{ erases = 110 }", &named), [Agrees]);
        assert_eq!(of("{ erases = 100 }", "explained_by = 's'"), [Unexplained], "more than is allowed");
        assert_eq!(of("{ erases = 125 }", &named), [Unexplained], "the choice moves it away");
        assert_eq!(of("{ erases = 90 }", &named), [Unexplained], "less than half of the way, and more than 10 % off");
        let other = format!("{wide}\nexplained_by = {{ copied_pages = 's' }}");
        assert_eq!(of("{ erases = 100 }", &other), [Unexplained], "that explains another figure");
        assert_eq!(of("{ erases = 105 }", "tolerance_percent = { erases = 2 }"), [Unexplained], "less than usual");
        assert_eq!(of("{ erases = 100 }", "sensitivity = true"), []);
        assert_eq!(of("{ copied_pages = 0 }", ""), [Agrees]);
        assert_eq!(of("{ copied_pages = 5, erases = 110 }", ""), [Agrees, Unexplained]);
        let missing = "tolerance_percent = { stddev = 1000 }\nexplained_by = 's'";
        assert_eq!(of("{ stddev = 5.0 }", missing), [Unexplained], "missing");
    }

    #[test]
    fn an_explained_figure_names_the_run_and_what_it_measured() {
        let rows = row("{ erases = 100 }", "tolerance_percent = { erases = 30 }\nexplained_by = 's'")
            + "[[row]]\nname = 's'\nargs = ''\nseeds = [1]\nsensitivity = true\n";
        let result = result(&rows, &[&[("erases", 112.0)], &[("erases", 104.0)]]);
        let (_, item, _) = result.judged().next().unwrap();
        assert_eq!(item.explanation_text(), "paper/table1: s (+4.0 %)");
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
