//! Results as lines: for the terminal at the end, and as CSV.

use crate::report::{ClaimResult, Item, PaperResult, Report};
use crate::{Finding, PapersError, Verdict};

/// The titles of [`Report::lines`].
pub const HEAD: [&str; 7] = ["item", "figure", "published", "measured", "deviation", "verdict", "because"];

impl ClaimResult {
    /// The two rows that are compared.
    pub(crate) fn pair(&self) -> String {
        format!("{} against {}", self.row, self.than)
    }

    /// What the paper claims the difference to be.
    pub(crate) fn claimed(&self) -> String {
        let amount = self.finding.published.map(|amount| format!(" ({amount:+.1} {})", self.unit));
        format!("{}{}", self.is, amount.unwrap_or_default())
    }

    pub(crate) fn measured_text(&self) -> String {
        format!("{} {}", self.finding.measured_text(|value| format!("{value:+.1}")), self.unit)
    }
}

impl Item {
    pub(crate) fn published_text(&self) -> String {
        self.finding.published.map(|figure| figure.to_string()).unwrap_or_default()
    }
}

impl Report {
    /// The items with one of these verdicts, a line each, below [`HEAD`].
    #[must_use]
    pub fn lines(&self, wanted: &[Verdict]) -> Vec<[String; 7]> {
        let is_wanted = |finding: &Finding| finding.verdict.is_some_and(|verdict| wanted.contains(&verdict));
        let mut lines = Vec::new();
        for paper in &self.papers {
            for claim in paper.claims.iter().filter(|claim| is_wanted(&claim.finding)) {
                lines.push(claim_line(paper, claim));
            }
            for table in &paper.tables {
                let items = table.rows.iter().flat_map(|row| row.items.iter().map(move |item| (row, item)));
                for (row, item) in items.filter(|(_, item)| is_wanted(&item.finding)) {
                    let name = format!("{}/{}: {}", paper.folder, table.name, row.name);
                    lines.push(line(
                        name,
                        item.column.title,
                        [item.published_text(), item.measured_text(), item.deviation_text()],
                        &item.finding,
                    ));
                }
            }
        }
        lines
    }

    /// Every judged item with its verdict, a line each, sorted, so that `diff` can compare two of these.
    #[must_use]
    pub fn verdict_lines(&self) -> String {
        let mut lines: Vec<String> =
            self.verdicts().map(|(name, verdict)| format!("{name}: {}\n", verdict.name())).collect();
        lines.sort_unstable();
        lines.concat()
    }

    /// Every figure and every ordering, a line each.
    ///
    /// # Errors
    /// If it cannot be written as CSV.
    pub fn csv(&self) -> Result<Vec<u8>, PapersError> {
        let wrong = |what: &dyn std::fmt::Display| PapersError::Wrong(format!("CSV: {what}"));
        let mut out = csv::Writer::from_writer(Vec::new());
        let head = "paper,item,row,figure,published,mean,half of the interval,verdict,because,seeds,by seed,command";
        out.write_record(head.split(',')).map_err(|error| wrong(&error))?;
        for (paper, table) in self.tables() {
            for (row, item) in table.rows.iter().flat_map(|row| row.items.iter().map(move |item| (row, item))) {
                let by_seed = item.by_seed.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
                let [published, mean, half, verdict, because] = cells(&item.finding);
                let name = [&paper.folder, &table.name, &row.name].map(String::clone);
                let rest = [verdict, because, row.seeds.clone(), by_seed, row.command.clone()];
                let figure = [item.figure.to_owned(), published, mean, half];
                out.write_record(name.iter().chain(&figure).chain(&rest)).map_err(|error| wrong(&error))?;
            }
        }
        for (paper, claim) in self.papers.iter().flat_map(|paper| paper.claims.iter().map(move |one| (paper, one))) {
            let [published, mean, half, verdict, because] = cells(&claim.finding);
            let figure = format!("{}, difference in {}, claimed {}", claim.figure, claim.unit, claim.is);
            let name = [paper.folder.clone(), claim.says.clone(), claim.pair(), figure];
            let rest = [published, mean, half, verdict, because, self.seeds.to_string(), String::new(), String::new()];
            out.write_record(name.iter().chain(&rest)).map_err(|error| wrong(&error))?;
        }
        out.into_inner().map_err(|error| wrong(&error))
    }
}

fn cells(finding: &Finding) -> [String; 5] {
    let number = |number: Option<f64>| number.map(|n| n.to_string()).unwrap_or_default();
    [
        number(finding.published),
        number(finding.measured.map(|measured| measured.mean)),
        number(finding.measured.map(|measured| measured.half)),
        finding.verdict_text().to_owned(),
        finding.because.clone().unwrap_or_default(),
    ]
}

fn line(name: String, figure: &str, figures: [String; 3], finding: &Finding) -> [String; 7] {
    let [published, measured, deviation] = figures;
    let because = finding.because.clone().unwrap_or_default();
    [name, figure.to_owned(), published, measured, deviation, finding.verdict_text().to_owned(), because]
}

fn claim_line(paper: &PaperResult, claim: &ClaimResult) -> [String; 7] {
    let name = format!("{}: {}: {}", paper.folder, claim.says, claim.pair());
    line(name, claim.figure, [claim.claimed(), claim.measured_text(), String::new()], &claim.finding)
}
