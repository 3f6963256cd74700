//! Tests of what is written down: the record `papers/figures.csv` against the rule and the experiments, and the figures
//! in prose against the record.
//!
//! A figure in prose has a mark behind it, `21,054<!-- kawaguchi95 | text | figure 9 | cold_blocks -->`. The parts are
//! the beginnings of the first four fields of one line of the record. `minus` before them turns the sign, for "1.3 %
//! less".

use std::fs;
use std::path::{Path, PathBuf};

use csv::StringRecord;

use crate::column::{COLUMNS, Column};
use crate::estimate::Estimate;
use crate::experiment::Order;
use crate::rule;
use crate::source::Folder;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The lines of the record. Its fields are those of [`Report::csv`](crate::Report::csv).
fn record() -> Vec<StringRecord> {
    let text = fs::read_to_string(root().join("papers/figures.csv")).unwrap();
    csv::Reader::from_reader(text.as_bytes()).records().collect::<Result<_, _>>().unwrap()
}

fn number(field: &str) -> Option<f64> {
    field.parse().ok()
}

/// The estimate that a line has.
fn estimate(line: &StringRecord) -> Option<Estimate> {
    Some(Estimate { mean: number(&line[5])?, half: number(&line[6])?, runs: 10 })
}

/// The verdict of the rule on a line that was judged, before choices are tried.
fn verdict(line: &StringRecord) -> Option<&'static str> {
    let published = number(&line[4]);
    if let Some(column) = Column::named(&line[3]) {
        return published.map(|published| rule::on_figure(column, published, estimate(line)).name());
    }
    let (title, rest) = line[3].split_once(", difference in ")?;
    let column = COLUMNS.iter().find(|column| column.title == title)?;
    let all = [Order::More, Order::Less, Order::SlightlyMore, Order::SlightlyLess, Order::AsMuch];
    let order = all.into_iter().find(|order| rest.ends_with(&format!(", claimed {}", order.name())))?;
    Some(rule::on_order(column, order, published, estimate(line)).name())
}

#[test]
fn the_verdicts_on_record_are_those_of_the_rule() {
    let mut judged = 0;
    for line in record().iter().filter(|line| !line[7].is_empty() && &line[7] != "not run") {
        let before = if &line[7] == "explained" { "unexplained" } else { &line[7] };
        assert_eq!(verdict(line), Some(before), "{line:?}");
        judged += 1;
    }
    assert!(judged > 200, "{judged}");
}

#[test]
fn the_means_on_record_are_those_of_its_seeds() {
    for line in record().iter().filter(|line| !line[10].is_empty()) {
        let by_seed: Vec<f64> = line[10].split(' ').filter_map(number).collect();
        let found = Estimate::of(&by_seed).map(|found| (found.mean, found.half));
        assert_eq!(found, estimate(line).map(|told| (told.mean, told.half)), "{line:?}");
    }
}

#[test]
fn every_published_figure_and_every_ordering_has_a_verdict_on_record() {
    let root = root().join("papers");
    let verdicts = fs::read_to_string(root.join("verdicts.txt")).unwrap();
    let verdicts = format!("\n{verdicts}");
    let judged = |name: &str| assert!(verdicts.contains(&format!("\n{name}: ")), "{name}");
    for paper in Folder::at(&root).papers(None, None).unwrap() {
        for (table, row) in paper.tables.iter().flat_map(|table| table.row.iter().map(move |row| (table, row))) {
            for figure in row.published.0.keys().filter_map(|name| Column::named(name)) {
                judged(&format!("{}/{}: {}: {}", paper.folder, table.name, row.name, figure.title));
            }
        }
        for claim in &paper.about.claim {
            for [row, than] in &claim.pairs {
                judged(&format!("{}: {} ({row} to {than})", paper.folder, claim.says));
            }
        }
    }
}

/// The pages with prose: `.md` files of a folder and those below it.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => pages(&path, found),
            false if path.extension().is_some_and(|ending| ending == "md") => found.push(path),
            false => {}
        }
    }
}

/// Why a marked figure is not the one on record.
fn fault(typed: &str, mark: &str, record: &[StringRecord]) -> Option<String> {
    let (turned, key) = mark.strip_prefix("minus ").map_or((1.0, mark), |key| (-1.0, key));
    let parts: Vec<&str> = key.split(" | ").collect();
    let is_it = |line: &&StringRecord| parts.iter().enumerate().all(|(at, part)| line[at].starts_with(part));
    let mut lines: Vec<&StringRecord> = record.iter().filter(is_it).collect();
    // A whole name may be the beginning of another's.
    for (at, part) in parts.iter().enumerate() {
        if lines.iter().any(|line| line[at] == **part) {
            lines.retain(|line| line[at] == **part);
        }
    }
    let [line] = lines[..] else { return Some(format!("'{mark}' means {} lines", lines.len())) };
    let plain = typed.replace(',', "");
    let digits = plain.split_once('.').map_or(0, |(_, behind)| behind.len());
    let mean = number(&line[5]).map(|mean| format!("{:.digits$}", turned * mean));
    (mean.as_ref() != Some(&plain)).then(|| format!("'{typed}' of '{mark}' is {mean:?}"))
}

/// The marked figures of a page: what is typed before the mark, and the mark.
fn marked(page: &str) -> impl Iterator<Item = (&str, &str)> {
    page.match_indices("<!-- ").filter_map(|(at, begin)| {
        let (mark, _) = page[at + begin.len()..].split_once(" -->")?;
        let typed = page[..at].rsplit(|c: char| !c.is_ascii_digit() && c != ',' && c != '.').next();
        typed.filter(|_| mark.contains(" | ")).map(|typed| (typed, mark))
    })
}

#[test]
fn marked_figures_in_prose_are_those_on_record() {
    let record = record();
    let mut files = vec![root().join("README.md")];
    ["docs", "papers"].iter().for_each(|folder| pages(&root().join(folder), &mut files));
    let mut checked = 0;
    for file in files {
        let page = fs::read_to_string(&file).unwrap();
        for (typed, mark) in marked(&page) {
            assert_eq!(fault(typed, mark, &record), None, "{}", file.display());
            checked += 1;
        }
    }
    assert!(checked > 10, "{checked}");
}

#[test]
fn a_wrong_figure_is_found() {
    let line = |figure, mean| StringRecord::from(vec!["p", "t", "row 1", figure, "", mean, "0", "", "", "", "", ""]);
    let record = [line("erases", "1234.56")];
    let page =
        "a (1,234.6<!-- p | t | row 1 | era -->), b -1235<!-- minus p | t -->, c 1235<!-- p | t --> <!-- end -->";
    let found: Vec<_> = marked(page).collect();
    assert_eq!(found.iter().map(|(typed, _)| *typed).collect::<Vec<_>>(), ["1,234.6", "1235", "1235"]);
    let faults: Vec<bool> = found.iter().map(|(typed, mark)| fault(typed, mark, &record).is_some()).collect();
    assert_eq!(faults, [false, true, false]);
    assert!(fault("1235", "p | u", &record).is_some() && fault("1236", "p | t", &record).is_some());
    let two = [line("erases", "5"), line("erases_max", "2")];
    assert_eq!(fault("5", "p | t | row | erases", &two), None);
    assert!(fault("5", "p | t | row | era", &two).is_some_and(|why| why.contains("2 lines")));
}
