//! The tables of `papers/*/README.md`: each pair of marks names a file, and what is between the marks is written here.

use std::fmt::Write as _;

use super::evaluate::{ExperimentResult, Item, RowResult};
use super::experiment::Column;

const BEGIN: &str = "<!-- results: ";
const NAME_END: &str = ".toml -->";
const END: &str = "<!-- end of results -->";

/// Why results cannot be put into a text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: '{BEGIN}' without '{NAME_END}' or '{END}' behind it")]
pub(crate) struct Unended {
    line: usize,
}

/// Replaces what stands between each pair of marks by the result that the first one names, if it is there.
pub(crate) fn refresh(text: &str, results: &[ExperimentResult]) -> Result<String, Unended> {
    let mut refreshed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(BEGIN) {
        let unended = || Unended { line: 1 + text[..text.len() - behind.len()].matches('\n').count() };
        let (name, behind) = behind.split_once(NAME_END).ok_or_else(unended)?;
        let (old, behind) = behind.split_once(END).ok_or_else(unended)?;
        refreshed.extend([before, BEGIN, name, NAME_END]);
        match results.iter().find(|result| result.path() == name) {
            Some(result) => refreshed.extend(["\n", &section(result)]),
            None => refreshed.push_str(old),
        }
        refreshed.push_str(END);
        rest = behind;
    }
    refreshed.push_str(rest);
    Ok(refreshed)
}

/// `published → measured (deviation)`; deviations that need a reason are bold.
fn cell(item: &Item) -> String {
    let shown = item.column.shown(item.measured);
    match (item.published, item.deviation) {
        (Some(published), Some(off)) => {
            let mark = if off.abs() <= item.column.usual() { "" } else { "**" };
            format!("{published} → {shown} ({mark}{off:+.1} {}{mark})", item.unit)
        }
        _ => shown,
    }
}

fn cell_of(row: &RowResult, column: &Column) -> String {
    row.figures.iter().find(|item| item.figure == column.name).map(cell).unwrap_or_default()
}

/// A table's rows, and the commands they are.
fn section(result: &ExperimentResult) -> String {
    let mut text = format!("\n**{}**\n\n| run |", result.title);
    for column in &result.columns {
        // Writing to a String cannot fail.
        let _ = write!(text, " {} |", column.title);
    }
    let _ = write!(text, "\n| --- |{}\n", " --- |".repeat(result.columns.len()));
    for row in &result.rows {
        let mark = if row.sensitivity { "↳ " } else { "" };
        let _ = write!(text, "| {mark}{} |", row.name);
        for column in &result.columns {
            let _ = write!(text, " {} |", cell_of(row, column));
        }
        text.push('\n');
    }
    for row in &result.rows {
        if let Some(note) = &row.note {
            let _ = write!(text, "\n{}: {note}.\n", row.name);
        }
    }
    for (row, item, _) in result.judged() {
        if item.explained_by.is_some() {
            let (figure, verdict, by) = (item.column.title, item.verdict_text(), item.explanation_text());
            let _ = write!(text, "\n{}: {figure}: *{verdict}* by {by}.\n", row.name);
        }
    }
    text.push_str("\n<details><summary>The commands</summary>\n\n```sh\n");
    for row in &result.rows {
        let _ = writeln!(text, "# {}\n{}", row.name, row.command);
    }
    text.push_str("```\n\n</details>\n\n");
    text
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::reproduce::evaluate::tests::result;
    use crate::reproduce::experiment::COLUMNS;
    use crate::reproduce::source::Papers;

    const ROW: &str = "[[row]]\nname = 'r'\nargs = ''\nseeds = [1]\n";

    #[test]
    fn every_experiment_has_its_place_in_its_papers_readme() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
        for experiment in Papers::folder(&folder).experiments(None, None).unwrap() {
            let readme = fs::read_to_string(folder.join(&experiment.paper).join("README.md")).unwrap();
            assert_eq!(refresh(&readme, &[]).unwrap(), readme);
            let mark = format!("{BEGIN}{}{NAME_END}", experiment.path());
            // What has no rows is only drawn.
            let places = usize::from(!experiment.table.row.is_empty());
            assert_eq!(readme.matches(&mark).count(), places, "{mark}");
            assert!(experiment.table.row.iter().all(|row| !row.name.contains('|')), "{mark}");
        }
    }

    #[test]
    fn results_go_between_their_marks_and_nowhere_else() {
        let results = [result(ROW, &[&[("erases", 5.0)]])];
        let text = "a\n<!-- results: paper/table1.toml -->\nold\n<!-- end of results -->\nb\n\
                    <!-- results: paper/table2.toml -->\nkept\n<!-- end of results -->";
        let once = refresh(text, &results).unwrap();
        assert!(once.starts_with("a\n<!-- results: paper/table1.toml -->\n\n**A <title>**\n"), "{once}");
        assert!(once.ends_with(&text[text.find("<!-- end").unwrap()..]), "{once}");
        assert_eq!(refresh(&once, &results).unwrap(), once);
        assert_eq!(refresh("\n<!-- results: x.toml -->", &[]), Err(Unended { line: 2 }));
    }

    #[test]
    fn cells_show_both_and_how_far_apart() {
        let cell = |published: &str, name: &str, measured: &[(&str, f64)]| {
            let rows = format!("columns = ['{name}']\n{ROW}{published}");
            let column = COLUMNS.iter().find(|column| column.name == name).unwrap();
            cell_of(&result(&rows, &[measured]).rows[0], column)
        };
        assert_eq!(cell("published = { erases = 2634 }", "erases", &[("erases", 2475.0)]), "2634 → 2475 (-6.0 %)");
        let rate = "throughput_kib_s";
        assert_eq!(cell("published = { throughput_kib_s = 40 }", rate, &[(rate, 75.04)]), "40 → 75.0 (**+87.6 %**)");
        assert_eq!(cell("", "stddev", &[("stddev", 1.287)]), "1.29");
        assert_eq!(cell("", rate, &[]), "–");
        let change = "time_change_percent";
        let published = |figure: i32| format!("published = {{ time_change_percent = {figure} }}");
        assert_eq!(cell(&published(-26), change, &[(change, -23.44)]), "-26 → -23.4 (+2.6 points)");
        assert_eq!(cell("", change, &[(change, 3.58)]), "+3.6");
        assert_eq!(cell(&published(-5), change, &[(change, -15.0)]), "-5 → -15.0 (**-10.0 points**)");
    }
}
