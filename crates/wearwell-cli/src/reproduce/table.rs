//! Results as lines: the last table on the terminal, and CSV.

use comfy_table::{CellAlignment, Table};

use super::evaluate::{self, ExperimentResult, Verdict};
use crate::failure::Failure;
use crate::list::table;

/// The last table: every figure that is judged.
pub(crate) fn summary(results: &[ExperimentResult]) -> Table {
    let mut table = table(&["item", "row", "figure", "published", "measured", "deviation", "verdict", "explained by"]);
    for result in results {
        for (row, item, verdict) in result.judged() {
            table.add_row([
                result.path(),
                row.name.clone(),
                item.column.title.to_owned(),
                item.published_text(),
                item.column.shown(item.measured),
                item.deviation_text(),
                verdict.name().to_owned(),
                item.explanation_text(),
            ]);
        }
    }
    for column in table.column_iter_mut().skip(3).take(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// How many figures got which verdict, in one sentence.
pub(crate) fn counts(results: &[ExperimentResult]) -> String {
    let [agree, explained, unexplained] = Verdict::ALL.map(|verdict| evaluate::count(results, verdict));
    let unjudged = match evaluate::count_unjudged(results) {
        0 => String::new(),
        count => format!("; {count} published figures of sensitivity runs are only compared"),
    };
    format!("{agree} agree, {explained} explained, {unexplained} unexplained{unjudged}")
}

/// Which experiments were not run, and what runs them; nothing if all were.
pub(crate) fn left_out(needs_guests: &[String]) -> String {
    let say = |name: &String| format!("{name} needs a file system on a served disk: it runs with --guests, as root\n");
    needs_guests.iter().map(say).collect()
}

/// Every figure that was measured, a line each.
pub(crate) fn csv(results: &[ExperimentResult]) -> Result<Vec<u8>, Failure> {
    let wrong = |what: &dyn std::fmt::Display| Failure::Wrong(format!("CSV: {what}"));
    let mut out = csv::Writer::from_writer(Vec::new());
    let head = [
        "paper",
        "item",
        "row",
        "sensitivity",
        "figure",
        "published",
        "measured",
        "deviation",
        "unit",
        "verdict",
        "explained by",
        "note",
    ];
    out.write_record(head).map_err(|error| wrong(&error))?;
    let number = |number: Option<f64>| number.filter(|n| n.is_finite()).map(|n| n.to_string()).unwrap_or_default();
    for result in results {
        for row in &result.rows {
            for item in &row.figures {
                let fields = [
                    result.paper.clone(),
                    result.name.clone(),
                    row.name.clone(),
                    row.sensitivity.to_string(),
                    item.figure.to_owned(),
                    number(item.published),
                    number(item.measured),
                    number(item.deviation),
                    item.unit.to_owned(),
                    item.verdict_text().to_owned(),
                    item.explanation_text(),
                    row.note.clone().unwrap_or_default(),
                ];
                out.write_record(&fields).map_err(|error| wrong(&error))?;
            }
        }
    }
    out.into_inner().map_err(|error| wrong(&error))
}
