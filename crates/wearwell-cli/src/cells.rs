//! The columns of runs and of windows, and their cells: the same on a terminal and on a page.

use wearwell_sim::run::{Report, Window};

use crate::text::{bytes, grouped, short};

/// The first columns of every table of runs.
pub(crate) const RESULT_COLUMNS: [&str; 9] =
    ["policy", "WA data", "WA total", "2nd half", "erases", "copied", "erases each", "σ", "lifetime"];

/// A run's cells below [`RESULT_COLUMNS`].
pub(crate) fn results(name: &str, report: &Report) -> Vec<String> {
    let erased = &report.erase_count;
    vec![
        name.to_owned(),
        format!("{:.3}", report.wa_data),
        format!("{:.3}", report.wa_total),
        report.second_half.map(|half| format!("{:.3}", half.wa_data)).unwrap_or_default(),
        grouped(report.erases),
        grouped(report.copied_pages),
        format!("{}–{}", erased.min, erased.max),
        short(erased.stddev),
        report.lifetime_host_bytes.map(bytes).unwrap_or_default(),
    ]
}

/// What the table of windows shows.
pub(crate) const WINDOW_COLUMNS: [&str; 5] = ["host bytes", "WA data", "WA total", "copied", "erases"];

/// A window's cells below [`WINDOW_COLUMNS`].
pub(crate) fn window_row(window: &Window) -> Vec<String> {
    vec![
        grouped(window.to_host_bytes),
        format!("{:.3}", window.wa_data),
        format!("{:.3}", window.wa_total),
        grouped(window.copied_pages),
        grouped(window.erases),
    ]
}
