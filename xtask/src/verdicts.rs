//! The verdicts of two ranges of seeds: in one file, and counted in `papers/README.md`.
//!
//! A line of `papers/verdicts.txt` is `ITEM: VERDICT`, or `ITEM: VERDICT; OTHER with seeds 11 to 20` where the second
//! range gave another one.

use std::fmt::Write as _;

use crate::process::TaskError;

/// What is between the verdict of the first range and that of the second, and behind it.
const BUT: &str = "; ";
const AGAIN: &str = " with seeds 11 to 20";

const NOT_RUN: &str = "not run";
const VERDICTS: [&str; 5] = ["agrees", "explained", "contradicts", "unexplained", NOT_RUN];

const BEGIN: &str = "<!-- verdicts -->\n";
const END: &str = "<!-- end of verdicts -->";

/// An item with its verdicts.
struct Line<'a> {
    item: &'a str,
    first: &'a str,
    again: &'a str,
}

impl Line<'_> {
    /// The verdict of the first range; that of the second if only the second was run.
    fn verdict(&self) -> &str {
        if self.first == NOT_RUN { self.again } else { self.first }
    }

    /// True if both ranges were run.
    fn is_compared(&self) -> bool {
        self.first != NOT_RUN && self.again != NOT_RUN
    }

    fn differs(&self) -> bool {
        self.is_compared() && self.first != self.again
    }
}

/// Reads a line of any of these files.
fn line(text: &str) -> Option<Line<'_>> {
    // The last colon: an item may have some of its own.
    let (item, verdict) = text.rsplit_once(": ")?;
    let both = verdict.split_once(BUT).and_then(|(first, again)| Some((first, again.strip_suffix(AGAIN)?)));
    let (first, again) = both.unwrap_or((verdict, verdict));
    Some(Line { item, first, again })
}

/// The lines of both ranges as one.
///
/// # Errors
/// Items that only one of the ranges has.
pub(crate) fn merged(first: &str, again: &str) -> Result<String, TaskError> {
    let different = || TaskError::Found("the two ranges of seeds have different items".to_owned());
    if first.lines().count() != again.lines().count() {
        return Err(different());
    }
    let mut text = String::new();
    for (one, other) in first.lines().zip(again.lines()) {
        let (one, other) = line(one).zip(line(other)).ok_or_else(different)?;
        if one.item != other.item {
            return Err(different());
        }
        let but = if one.first == other.first { String::new() } else { format!("{BUT}{}{AGAIN}", other.first) };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}: {}{but}", one.item, one.first);
    }
    Ok(text)
}

/// How many items have the same verdict in both ranges, and how many were run in both.
fn same(lines: &[&Line<'_>]) -> (usize, usize) {
    let compared = lines.iter().filter(|line| line.is_compared());
    let same = compared.clone().filter(|line| !line.differs());
    (same.count(), compared.count())
}

/// The counts of each folder, and the items whose verdicts differ.
fn counted(verdicts: &str) -> String {
    let lines: Vec<Line<'_>> = verdicts.lines().filter_map(line).collect();
    let folder = |line: &Line<'_>| line.item.split(['/', ':']).next().unwrap_or_default().to_owned();
    let mut folders: Vec<String> = lines.iter().map(folder).collect();
    // The lines of a folder follow each other.
    folders.dedup();
    let mut text = format!("\n| | {} | the same with seeds 11 to 20 |\n", VERDICTS.join(" | "));
    let _ = writeln!(text, "|{}", " --- |".repeat(VERDICTS.len() + 2));
    let mut row = |name: &str, of: &[&Line<'_>]| {
        let _ = write!(text, "| {name} |");
        for verdict in VERDICTS {
            let _ = write!(text, " {} |", of.iter().filter(|line| line.verdict() == verdict).count());
        }
        let (same, all) = same(of);
        let _ = writeln!(text, " {same} of {all} |");
    };
    for name in &folders {
        row(&format!("`{name}`"), &lines.iter().filter(|line| folder(line) == *name).collect::<Vec<_>>());
    }
    row("all", &lines.iter().collect::<Vec<_>>());
    text += "\nItems with another verdict in the second range:\n\n";
    for line in lines.iter().filter(|line| line.differs()) {
        let _ = writeln!(text, "- {}: {}, then {}", line.item, line.first, line.again);
    }
    text.push('\n');
    text
}

/// A page with the counts between its marks.
///
/// # Errors
/// A page without the marks.
pub(crate) fn counted_in(page: &str, verdicts: &str) -> Result<String, TaskError> {
    let missing = || TaskError::Found(format!("papers/README.md has no '{}' or no '{END}'", BEGIN.trim()));
    let (before, rest) = page.split_once(BEGIN).ok_or_else(missing)?;
    let (_, behind) = rest.split_once(END).ok_or_else(missing)?;
    Ok(format!("{before}{BEGIN}{}{END}{behind}", counted(verdicts)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = include_str!("../../papers/verdicts.txt");

    #[test]
    fn a_line_has_both_verdicts_only_where_they_differ() {
        let [first, again] = ["p/t: a: b: agrees\np: c: not run\n", "p/t: a: b: unexplained\np: c: not run\n"];
        let both = merged(first, again).unwrap();
        assert_eq!(both, "p/t: a: b: agrees; unexplained with seeds 11 to 20\np: c: not run\n");
        let counts = counted(&both);
        assert!(counts.contains("| `p` | 1 | 0 | 0 | 0 | 1 | 0 of 1 |"), "{counts}");
        assert!(counts.contains("\n- p/t: a: b: agrees, then unexplained\n"), "{counts}");
        assert!(merged(first, "p: c: not run\n").is_err());
        assert!(merged(first, "p/t: a: c: agrees\np: c: not run\n").is_err());
    }

    #[test]
    fn the_page_has_the_counts_of_the_written_verdicts() {
        let page = include_str!("../../papers/README.md");
        assert_eq!(counted_in(page, WRITTEN).unwrap(), page);
    }

    /// A verdict that hangs on the seeds is worth little.
    #[test]
    fn other_seeds_give_the_same_verdicts() {
        let lines: Vec<Line<'_>> = WRITTEN.lines().filter_map(line).collect();
        let (same, all) = same(&lines.iter().collect::<Vec<_>>());
        assert!(all > 100 && same * 100 >= all * 95, "{same} of {all}");
    }
}
