//! The tables of `papers/*/README.md`: each pair of marks names a table, and the text between the marks is written
//! here.

use std::fmt::Write as _;

use crate::column::Column;
use crate::report::{Item, PaperResult, Report, RowResult, TableResult};
use crate::{PapersError, Verdict};

const BEGIN: &str = "<!-- results: ";
const NAME_END: &str = " -->";
const END: &str = "<!-- end of results -->";

/// Checks that every mark has its end.
///
/// # Errors
/// The line of a mark that has none.
pub fn check(text: &str) -> Result<(), PapersError> {
    refresh(text, |_| None).map(|_| ())
}

impl Report {
    /// Replaces the text between each pair of marks by what the first mark names, if it was run: `kawaguchi95/table5`,
    /// or, if all of the paper was run, `kawaguchi95/counts`, `claims` or `choices`.
    ///
    /// # Errors
    /// The line of a mark that has no end.
    pub fn markdown(&self, text: &str) -> Result<String, PapersError> {
        refresh(text, |name| {
            let (folder, name) = name.split_once('/')?;
            let paper = self.papers.iter().find(|paper| paper.folder == folder)?;
            match name {
                "counts" | "claims" | "choices" if !self.is_whole => None,
                "counts" => Some(counts(paper, &self.seeds.to_string())),
                "claims" => Some(claims(paper)),
                "choices" => Some(choices(paper)),
                _ => paper.tables.iter().find(|table| table.name == name).map(table),
            }
        })
    }
}

fn refresh(text: &str, section: impl Fn(&str) -> Option<String>) -> Result<String, PapersError> {
    let mut refreshed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(BEGIN) {
        let unended = || {
            let line = 1 + text[..text.len() - behind.len()].matches('\n').count();
            PapersError::Refused(format!("line {line}: '{BEGIN}' without '{NAME_END}' or '{END}' behind it"))
        };
        let (name, behind) = behind.split_once(NAME_END).ok_or_else(unended)?;
        let (old, behind) = behind.split_once(END).ok_or_else(unended)?;
        refreshed.extend([before, BEGIN, name, NAME_END]);
        match section(name) {
            Some(new) => refreshed.extend(["\n", &new]),
            None => refreshed.push_str(old),
        }
        refreshed.push_str(END);
        rest = behind;
    }
    refreshed.push_str(rest);
    Ok(refreshed)
}

/// `published → measured, verdict`. A verdict other than agrees or explained is bold.
fn cell(item: &Item) -> String {
    let measured = item.measured_text();
    let (Some(published), Some(verdict)) = (item.finding.published, item.finding.verdict) else { return measured };
    let mark = if verdict.is_good() { "" } else { "**" };
    let off = item.deviation_text();
    let off = if off.is_empty() { off } else { format!("{off}, ") };
    format!("{published} → {measured} ({off}{mark}{}{mark})", verdict.name())
}

fn cell_of(row: &RowResult, column: &Column) -> String {
    row.items.iter().find(|item| item.column == column).map(cell).unwrap_or_default()
}

/// A table's rows, their notes and their commands.
fn table(result: &TableResult) -> String {
    let published = result.rows.iter().flat_map(|row| &row.items).filter(|item| item.finding.published.is_some());
    let mut columns = result.columns.clone();
    for item in published {
        if !columns.contains(&item.column) {
            columns.push(item.column);
        }
    }
    let mut text = format!("\n**{}**\n\n| run | seeds |", result.title);
    // Writing to a String cannot fail.
    let titles: String = columns.iter().map(|column| format!(" {} |", column.title)).collect();
    let _ = writeln!(text, "{titles}\n| --- | --- |{}", " --- |".repeat(columns.len()));
    for row in &result.rows {
        let cells: String = columns.iter().map(|column| format!(" {} |", cell_of(row, column))).collect();
        let _ = writeln!(text, "| {} | {} |{cells}", row.name, row.seeds);
    }
    for row in &result.rows {
        if let Some(said) = row.failure.as_ref().or(row.note.as_ref()) {
            let _ = write!(text, "\n{}: {said}.\n", row.name);
        }
        for item in &row.items {
            if let Some(because) = &item.finding.because {
                let (figure, verdict) = (item.column.title, item.finding.verdict_text());
                let _ = write!(text, "\n{}: {figure}: *{verdict}*; {because}.\n", row.name);
            }
        }
    }
    text.push_str("\n<details><summary>The commands, with the first seed</summary>\n\n```sh\n");
    for row in &result.rows {
        let _ = writeln!(text, "# {}\n{}", row.name, row.command);
    }
    text.push_str("```\n\n</details>\n\n");
    text
}

/// Counts of a paper's items by verdict.
fn counts(paper: &PaperResult, seeds: &str) -> String {
    let findings = paper.findings().filter_map(|finding| finding.verdict);
    let verdicts: Vec<Verdict> = findings.collect();
    if verdicts.is_empty() {
        return format!("\nSeed {seeds} was run only, so there are no verdicts.\n\n");
    }
    let count = |wanted: Verdict| {
        let count = verdicts.iter().filter(|verdict| **verdict == wanted).count();
        format!("| {} | {count} |\n", wanted.name())
    };
    format!("\n| verdict | items, seeds {seeds} |\n| --- | --- |\n{}\n", Verdict::ALL.map(count).concat())
}

/// The orderings that a paper states.
fn claims(paper: &PaperResult) -> String {
    let mut text = "\n| claim | rows | figure | published | measured | verdict |\n\
                    | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for claim in &paper.claims {
        let finding = &claim.finding;
        let mark = if finding.verdict.is_none_or(Verdict::is_good) { "" } else { "**" };
        let because = finding.because.as_ref().map(|because| format!("; {because}")).unwrap_or_default();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {mark}{}{mark}{because} |",
            claim.says,
            claim.pair(),
            claim.figure,
            claim.claimed(),
            claim.measured_text(),
            finding.verdict_text()
        );
    }
    text.push('\n');
    text
}

/// What a paper leaves open.
fn choices(paper: &PaperResult) -> String {
    let mut text = "\n| choice | the sentence that leaves it open |\n| --- | --- |\n".to_owned();
    for (name, sentence) in &paper.choices {
        let _ = writeln!(text, "| {name} | “{sentence}” |");
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::source::Folder;

    #[test]
    fn every_table_has_its_place_on_its_page() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
        let papers = |name| Folder::at(&folder).papers(name, None).unwrap();
        let named = ["matrix", "today", "knowing"].into_iter().flat_map(|name| papers(Some(name)));
        for paper in papers(None).into_iter().chain(named) {
            let page = match paper.folder.as_str() {
                "knowing" => folder.join("../docs/src/simulate/knowing.md"),
                name => folder.join(name).join("README.md"),
            };
            let readme = fs::read_to_string(page).unwrap();
            check(&readme).unwrap();
            let claims = (!paper.about.claim.is_empty()).then_some("claims");
            let choices = (!paper.about.choice.is_empty()).then_some("choices");
            // Tables without rows are only drawn.
            let tables = paper.tables.iter().filter(|table| !table.row.is_empty()).map(|table| table.name.as_str());
            for name in tables.chain(claims).chain(choices) {
                let mark = format!("{BEGIN}{}/{name}{NAME_END}", paper.folder);
                assert_eq!(readme.matches(&mark).count(), 1, "{mark}");
            }
        }
    }

    #[test]
    fn results_go_between_their_marks_and_nowhere_else() {
        let text = "a\n<!-- results: p/t -->\nold\n<!-- end of results -->\nb\n\
                    <!-- results: p/u -->\nkept\n<!-- end of results -->";
        let section = |name: &str| (name == "p/t").then(|| "new\n".to_owned());
        let once = refresh(text, section).unwrap();
        assert_eq!(once, text.replace("old", "new"));
        assert_eq!(refresh(&once, section).unwrap(), once);
        let unended = check("\n<!-- results: x -->").unwrap_err().to_string();
        assert!(unended.starts_with("line 2: "), "{unended}");
    }
}
