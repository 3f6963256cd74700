//! The matrices: workloads under all systems, with one table for each figure.

use std::fmt::Write as _;

use wearwell_sim::charts::escaped;

use crate::column::Column;
use crate::report::{Report, RowResult, TableResult};

/// The folders whose tables are workloads, and whose rows are systems, each with what its workloads are.
pub(crate) const FOLDERS: [(&str, &str); 2] = [
    ("matrix", "Each paper's workload, on its chip, under all systems."),
    ("today", "Workloads of today, recorded traces among them, on TLC and on QLC, under the systems of the papers."),
];

/// The figures of the matrix, each with its meaning.
const FIGURES: [(&str, &str); 5] = [
    ("erases", "Segments or blocks erased: what wears a device out, and what cleaning costs."),
    ("wa", "Pages programmed with data for a page that the host wrote."),
    ("stddev", "Standard deviation of the segments' erase counts: how evenly they wear."),
    ("erases_max", "Erases of the segment that wore most: how long the device lasts."),
    ("latency_p999_us", "One command of a thousand takes longer than this, in microseconds."),
];

/// The matrices whose experiments were run.
pub(crate) fn sections(report: &Report, text: &mut String) {
    for (folder, what) in FOLDERS {
        let workloads = report.tables().filter(|(paper, _)| paper.folder == folder);
        let workloads: Vec<&TableResult> = workloads.map(|(_, workload)| workload).collect();
        if !workloads.is_empty() {
            section(folder, what, &workloads, text);
        }
    }
}

fn section(folder: &str, what: &str, workloads: &[&TableResult], text: &mut String) {
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "<h2 id=\"best-{folder}\">Which idea wins where</h2>\n<p>{what} The best of a column is \
         bold; green is up to 1.1, 1.5 and 2 times that, red more than 5 times. A system that a workload does not suit \
         is left out there: inference needs a file system that it can read.</p>",
    );
    for (name, what) in FIGURES {
        if let Some(column) = Column::named(name) {
            let _ = writeln!(text, "<h3>{}</h3>\n<p>{}</p>", escaped(column.title), escaped(what));
            matrix(folder, workloads, column, text);
        }
    }
}

/// The names of all systems, in order of appearance.
fn systems<'a>(workloads: &[&'a TableResult]) -> Vec<&'a str> {
    let mut systems: Vec<&str> = Vec::new();
    for row in workloads.iter().flat_map(|workload| &workload.rows) {
        if !systems.contains(&row.name.as_str()) {
            systems.push(&row.name);
        }
    }
    systems
}

fn measured(row: &RowResult, column: &Column) -> Option<f64> {
    row.items.iter().find(|item| item.column == column)?.finding.measured.map(|measured| measured.mean)
}

fn matrix(folder: &str, workloads: &[&TableResult], column: &Column, text: &mut String) {
    text.push_str("<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr><th>system</th>");
    for workload in workloads {
        let _ = write!(
            text,
            "<th class=\"number\"><a href=\"#{folder}-{}\">{}</a></th>",
            escaped(&workload.name),
            escaped(&workload.title)
        );
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    let best = |workload: &TableResult| {
        workload.rows.iter().filter_map(|row| measured(row, column)).fold(f64::INFINITY, f64::min)
    };
    let best: Vec<f64> = workloads.iter().map(|workload| best(workload)).collect();
    for system in systems(workloads) {
        let _ = write!(text, "<tr><td>{}</td>", escaped(system));
        for (workload, &best) in workloads.iter().zip(&best) {
            let found = workload.rows.iter().find(|row| row.name == *system).and_then(|row| measured(row, column));
            match found {
                None => text.push_str("<td></td>"),
                Some(value) => {
                    let _ = write!(text, "<td class=\"number {}\">{}</td>", class(value, best), column.shown(value));
                }
            }
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody>\n</table></div>\n");
}

/// The class of a figure, by its distance from the best.
fn class(value: f64, best: f64) -> &'static str {
    // The best may be zero: a system that erases nothing.
    match value / best.max(f64::MIN_POSITIVE) {
        _ if value <= best => "good0 best",
        times if times <= 1.1 => "good0",
        times if times <= 1.5 => "good1",
        times if times <= 2.0 => "good2",
        times if times <= 5.0 => "good3",
        _ => "good4",
    }
}
