//! `report.html`: one file with everything in it, for a screen of any width, in light or dark, and for paper.

use std::fmt::Write as _;

use super::evaluate::{ExperimentResult, Item, RowResult, Verdict};
use super::experiment::Column;
use super::{chart, matrix, table};
use crate::report::{escaped, page as pages};

/// What the folders' papers are called.
const PAPERS: [(&str, &str); 6] = [
    ("kawaguchi95", "Kawaguchi, Nishioka, Motoda: A Flash-Memory Based File System (1995)"),
    ("chiang97", "Chiang, Lee, Chang: Flash Memory Management for Lightweight Storage Systems (1997)"),
    ("lee07", "Lee and others: Block Recycling Schemes and Their Cost-based Optimization (2007)"),
    ("mylavarapu09", "Mylavarapu and others: FSAF, File System Aware Flash Translation Layer (2009)"),
    ("lim14", "Lim: Virtually Separable Block Management in Flash Storage System (2014)"),
    ("matrix", "Each paper's workload under all systems"),
];

/// The whole page.
pub(crate) fn page(results: &[ExperimentResult], needs_guests: &[String]) -> String {
    let mut text = format!(
        "<p>Published figures beside those that wearwell {} measures: {}.</p>\n",
        env!("CARGO_PKG_VERSION"),
        escaped(&table::counts(results))
    );
    text.push_str(
        "<p>A figure <em>agrees</em> if it is off by 10 % at most, or by 5 points if it is a change in percent. It is \
         <em>explained</em> if a sensitivity run, which changes one choice that the paper leaves open, brings it at \
         least half of the way to what was published, or past it; the run is named, with how far off the figure is in \
         it. Such runs begin with ↳; they are compared with what was published, but not judged. Anything else is \
         <em>unexplained</em>.</p>\n",
    );
    if !needs_guests.is_empty() {
        let _ = writeln!(text, "<p>Not run: {}.</p>", escaped(table::left_out(needs_guests).trim()));
    }
    overview(results, &mut text);
    matrix::section(results, &mut text);
    for (at, result) in results.iter().enumerate() {
        if at == 0 || results[at - 1].paper != result.paper {
            let name =
                PAPERS.iter().find(|(folder, _)| *folder == result.paper).map_or(&*result.paper, |(_, name)| name);
            let _ = writeln!(text, "<h2 class=\"paper\">{}</h2>", escaped(name));
        }
        section(result, &mut text);
    }
    pages::page("The papers, run again", &text)
}

/// The id of a result's section.
fn anchor(result: &ExperimentResult) -> String {
    escaped(&format!("{}-{}", result.paper, result.name))
}

/// How many figures of each experiment got which verdict, then each of them.
fn overview(results: &[ExperimentResult], text: &mut String) {
    text.push_str("<h2>Summary</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>item</th>");
    for verdict in Verdict::ALL {
        let _ = write!(text, "<th class=\"number\">{}</th>", verdict.name());
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    for result in results {
        let _ = write!(text, "<tr><td><a href=\"#{}\">{}</a></td>", anchor(result), escaped(&in_full(result)));
        let is_unjudged = result.judged().next().is_none();
        for wanted in Verdict::ALL {
            let count = result.judged().filter(|&(.., verdict)| verdict == wanted).count();
            if is_unjudged {
                text.push_str("<td></td>");
                continue;
            }
            let class = if count == 0 { "none" } else { wanted.name() };
            let _ = write!(text, "<td class=\"number {class}\">{count}</td>");
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody>\n</table></div>\n");
    let of = |is_listed: fn(Verdict) -> bool| {
        results.iter().flat_map(ExperimentResult::judged_in_full).filter(move |&(.., verdict)| is_listed(verdict))
    };
    if of(|verdict| verdict == Verdict::Unexplained).next().is_some() {
        text.push_str("<h3>Unexplained</h3>\n");
        judged(of(|verdict| verdict == Verdict::Unexplained), text);
    }
    text.push_str("<details class=\"printed\"><summary>Every figure that is judged</summary>\n");
    judged(of(|_| true), text);
    text.push_str("</details>\n");
}

fn in_full(result: &ExperimentResult) -> String {
    format!("{}: {}", result.paper, result.title)
}

/// A table of figures and their verdicts.
fn judged<'a>(
    figures: impl Iterator<Item = (&'a ExperimentResult, &'a RowResult, &'a Item, Verdict)>,
    text: &mut String,
) {
    text.push_str("<div class=\"wide\"><table>\n<thead><tr><th>item</th><th>row</th><th>figure</th>");
    text.push_str(FIGURES_HEAD);
    for (result, row, item, _) in figures {
        let _ = write!(
            text,
            "<tr><td><a href=\"#{}\">{}</a></td><td>{}</td><td>{}</td>",
            anchor(result),
            escaped(&result.path()),
            escaped(&row.name),
            escaped(item.column.title)
        );
        figures_cells(item, text);
    }
    text.push_str("</tbody>\n</table></div>\n");
}

const FIGURES_HEAD: &str = "<th class=\"number\">published</th><th class=\"number\">measured</th>\
     <th class=\"number\">deviation</th><th>verdict</th><th>explained by</th></tr></thead>\n<tbody>\n";

fn figures_cells(item: &Item, text: &mut String) {
    let verdict = item.verdict_text();
    let _ = writeln!(
        text,
        "<td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
         <td class=\"{verdict}\">{verdict}</td><td class=\"by\">{}</td></tr>",
        escaped(&item.published_text()),
        escaped(&item.column.shown(item.measured)),
        escaped(&item.deviation_text()),
        escaped(&item.explanation_text())
    );
}

/// One experiment: its charts, its notes, its commands.
fn section(result: &ExperimentResult, text: &mut String) {
    let _ = writeln!(text, "<section id=\"{}\">\n<h3>{}</h3>", anchor(result), escaped(&result.title));
    let drawn: Vec<_> = result.charts.iter().map(|spec| chart::drawn(result, spec)).collect();
    if !drawn.is_empty() {
        pages::charts(&drawn, text);
    }
    let bars: Vec<_> =
        result.columns.iter().map(|column| chart::column(result, column, rows(result, column))).collect();
    if bars.iter().any(|chart| !chart.svg.is_empty()) {
        let is_open = if drawn.is_empty() { " open" } else { "" };
        let _ = writeln!(
            text,
            "<details class=\"all\"{is_open}><summary>Every row of {}</summary>\n\
             <p class=\"legend\"><span class=\"key published\">published</span> \
             <span class=\"key measured\">measured</span> <span class=\"key off\">measured, unexplained</span></p>",
            escaped(&result.path())
        );
        pages::charts(&bars, text);
        text.push_str("</details>\n");
    }
    notes(result, text);
    commands(result, text);
    text.push_str("</section>\n");
}

/// The table behind a column's bars.
fn rows(result: &ExperimentResult, column: &Column) -> String {
    let mut text = format!("<thead><tr><th>row</th>{FIGURES_HEAD}");
    for row in &result.rows {
        if let Some(item) = row.figures.iter().find(|item| item.figure == column.name) {
            let mark = if row.sensitivity { "↳ " } else { "" };
            let _ = write!(text, "<tr><td>{mark}{}</td>", escaped(&row.name));
            figures_cells(item, &mut text);
        }
    }
    text.push_str("</tbody>\n");
    text
}

fn notes(result: &ExperimentResult, text: &mut String) {
    let told = |row: &RowResult| {
        let failure = row.failure.as_ref().map(|why| format!("failed: {why}"));
        failure.or_else(|| row.note.clone())
    };
    let notes: Vec<_> = result.rows.iter().filter_map(|row| Some((&row.name, told(row)?))).collect();
    if notes.is_empty() {
        return;
    }
    text.push_str("<dl>\n");
    for (name, note) in notes {
        let _ = writeln!(text, "<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(&note));
    }
    text.push_str("</dl>\n");
}

fn commands(result: &ExperimentResult, text: &mut String) {
    if result.rows.is_empty() {
        return;
    }
    text.push_str("<details><summary>The commands</summary>\n<pre>");
    for row in &result.rows {
        let _ = writeln!(text, "# {}\n{}", escaped(&row.name), escaped(&row.command));
    }
    text.push_str("</pre>\n</details>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::page::tests::{assert_alone, assert_balanced};
    use crate::reproduce::evaluate::tests::result;

    fn fake() -> Vec<ExperimentResult> {
        let row =
            |name: &str, rest: &str| format!("[[row]]\nname = '{name}'\nargs = '--a \"b\"'\nseeds = [1]\n{rest}\n");
        let rows = row("a </td><script>", "published = { erases = 100, stddev = 4 }\nnote = 'x < y'")
            + &row("b & c", "against = 'a </td><script>'\nsensitivity = true\npublished = { erases = 100 }");
        vec![result(&rows, &[&[("erases", 150.0), ("copied_pages", 0.0)], &[("erases", 90.0)]])]
    }

    #[test]
    fn a_page_is_whole_and_nothing_in_it_comes_from_elsewhere() {
        let page = page(&fake(), &[]);
        assert_balanced(&page);
        assert_alone(&page);
        assert!(page.len() < 100_000, "{}", page.len());
        assert!(page.contains("a &lt;/td&gt;&lt;script&gt;") && page.contains("x &lt; y"));
        assert!(page.contains("prefers-color-scheme: dark") && page.contains("@media print"));
    }

    #[test]
    fn every_chart_has_its_data_behind_it() {
        let page = page(&fake(), &[]);
        let count = |what: &str| page.matches(what).count();
        assert_eq!(count("<svg"), 3, "no row has a throughput; of the standard deviation one was published");
        assert_eq!(count("<summary>Data</summary>"), count("<svg"));
        assert_eq!(
            count("<td class=\"unexplained\">"),
            2 + 2 + 2,
            "in both tables of the summary, and with the charts"
        );
    }
}
