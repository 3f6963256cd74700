//! The page of one run, or of several side by side: `--html` of `wearwell run` and `wearwell compare`.

use std::fmt::Write as _;

use wearwell_sim::charts::observed::{self, Named};
use wearwell_sim::charts::{escaped, page};
use wearwell_sim::run::{LatencyUs, Observation, Report};

use crate::bound::percent;
use crate::cells::{RESULT_COLUMNS, WINDOW_COLUMNS, results, window_row};
use crate::output;
use crate::text::{micros, short};

/// A run and its observation.
pub(crate) struct Run<'a> {
    pub(crate) name: &'a str,
    pub(crate) report: &'a Report,
    pub(crate) observation: &'a Observation,
}

/// The whole page. `summary` has the labels and values of the first run, as on a terminal.
pub(crate) fn page_of(runs: &[Run<'_>], summary: &[(String, String)]) -> String {
    let (mut body, typed) = (String::new(), output::typed());
    warned(runs, &mut body);
    match runs {
        [run] => {
            described(summary, &mut body);
            windows(run.report, &mut body);
            charts(runs, &mut body);
            page::page(&format!("{} on {}", run.report.config.workload, run.report.config.chip), &body, &typed)
        }
        _ => {
            let has_gap = runs.iter().any(|run| run.report.gap.is_some());
            page::table(&head(has_gap), &runs.iter().map(|run| row(run, has_gap)).collect::<Vec<_>>(), &mut body);
            for run in runs.iter().filter(|run| !run.report.windows.is_empty()) {
                // Writing to a String cannot fail.
                let _ = writeln!(body, "<h2>{}</h2>", escaped(run.name));
                windows(run.report, &mut body);
            }
            charts(runs, &mut body);
            described(summary, &mut body);
            let config = &runs.first().map(|run| &run.report.config);
            let title = config.map(|config| format!("{} on {}, compared", config.workload, config.chip));
            page::page(&title.unwrap_or_default(), &body, &typed)
        }
    }
}

fn charts(runs: &[Run<'_>], body: &mut String) {
    let named: Vec<Named<'_>> = runs.iter().map(|run| Named { name: run.name, observation: run.observation }).collect();
    page::charts(&observed::all(&named), body);
}

/// What makes results mean less than they seem to, above all of them.
fn warned(runs: &[Run<'_>], body: &mut String) {
    for run in runs {
        for warning in &run.report.warnings {
            // Writing to a String cannot fail.
            let _ = writeln!(body, "<p><strong>Warning:</strong> {}: {}</p>", escaped(run.name), escaped(warning));
        }
    }
}

/// The run in windows, if there are any.
fn windows(report: &Report, body: &mut String) {
    if !report.windows.is_empty() {
        let rows: Vec<Vec<String>> = report.windows.iter().map(window_row).collect();
        page::table(&WINDOW_COLUMNS.map(str::to_owned), &rows, body);
    }
}

/// Labels and values; an empty pair is a gap.
fn described(lines: &[(String, String)], body: &mut String) {
    body.push_str("<div class=\"wide\" tabindex=\"0\"><table>\n<tbody>\n");
    for (label, value) in lines.iter().filter(|(label, _)| !label.is_empty()) {
        // Writing to a String cannot fail.
        let _ = writeln!(body, "<tr><td>{}</td><td>{}</td></tr>", escaped(label), escaped(value));
    }
    body.push_str("</tbody>\n</table></div>\n");
}

fn head(has_gap: bool) -> Vec<String> {
    let gap = has_gap.then_some("gap closed");
    RESULT_COLUMNS.into_iter().chain(gap).chain(["KiB/s", "mean", "p99", "p99.9", "max"]).map(str::to_owned).collect()
}

fn row(run: &Run<'_>, has_gap: bool) -> Vec<String> {
    let report = run.report;
    let latency = |of: fn(&LatencyUs) -> f64| report.latency_us.as_ref().map(of).map(micros).unwrap_or_default();
    let mut row = results(run.name, report);
    if has_gap {
        row.push(report.gap.as_ref().map(|gap| percent(gap.closed)).unwrap_or_default());
    }
    row.extend([
        report.throughput_kib_s.map(short).unwrap_or_default(),
        latency(|l| l.mean),
        latency(|l| l.p99),
        latency(|l| l.p999),
        latency(|l| l.max),
    ]);
    row
}
