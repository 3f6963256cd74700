//! The report as a page: one file with everything in it, for screens of any width, in light or dark, and for paper.

use std::fmt::Write as _;

use wearwell_sim::charts::{escaped, page as pages};

use crate::lines::HEAD;
use crate::report::{PaperResult, Report, TableResult};
use crate::{Finding, Verdict, chart, matrix};

/// The rule in a few words; `rule.rs` has it in full.
const RULE: &str = "<p>A figure <em>agrees</em> if what was published lies within 10 % of the mean (5 points of a \
    share or a change), or within its 95 % confidence interval if that is wider. An ordering agrees if the interval \
    of the difference lies on the claimed side of zero, and the difference is as large as published. It is \
    <em>explained</em> if one choice that the paper leaves open brings in all that the row publishes, and no other \
    item of the paper leaves its own tolerance. It <em>contradicts</em> if an ordering or a sign comes out reversed. \
    Anything else is <em>unexplained</em>. No tolerance can be given for a row.</p>\n";

/// Why there is no verdict where something was published.
const ONE_SEED: &str = "one seed only";

impl Report {
    /// The whole page. `typed` is the command line that made it.
    #[must_use]
    pub fn html(&self, typed: &str) -> String {
        let mut text = format!(
            "<p>What five papers published beside what wearwell measures: {}. Every chart of figures has the \
             95 % confidence interval of the mean as a bar.</p>\n",
            escaped(&self.counts())
        );
        // What comes out reversed is on the first screen, above the long list of contents.
        if self.verdicts().next().is_some() {
            self.list("Reversed", &[Verdict::Contradicts], &mut text);
        }
        self.contents(&mut text);
        text.push_str(RULE);
        let _ = writeln!(text, "<p>Run again by</p>\n<pre>{}</pre>", escaped(typed));
        if self.verdicts().next().is_some() {
            self.overview(&mut text);
            self.list("Unexplained", &[Verdict::Unexplained], &mut text);
            self.list("Explained", &[Verdict::Explained], &mut text);
        }
        matrix::sections(self, &mut text);
        for paper in &self.papers {
            self.paper(paper, &mut text);
        }
        pages::page("The papers, run again", &text, typed)
    }

    /// Links to the sections, and to the tables of each paper.
    fn contents(&self, text: &mut String) {
        let link = |id: &str, title: &str| format!("<li><a href=\"#{}\">{}</a>", escaped(id), escaped(title));
        text.push_str("<nav aria-label=\"Contents\">\n<ul>\n");
        if self.verdicts().next().is_some() {
            for title in ["Reversed", "Summary", "Unexplained", "Explained"] {
                let _ = writeln!(text, "{}</li>", link(&title.to_lowercase(), title));
            }
        }
        if let Some((folder, _)) =
            matrix::FOLDERS.iter().find(|(name, _)| self.papers.iter().any(|p| p.folder == *name))
        {
            let _ = writeln!(text, "{}</li>", link(&format!("best-{folder}"), "Which idea wins where"));
        }
        for paper in &self.papers {
            let _ = writeln!(text, "{}\n<ul>", link(&paper.folder, &paper.title));
            if !paper.claims.is_empty() {
                let _ = writeln!(text, "{}</li>", link(&format!("{}-claims", paper.folder), "Orderings"));
            }
            for table in &paper.tables {
                let id = format!("{}-{}", paper.folder, table.name);
                let _ = writeln!(text, "{}</li>", link(&id, &table.title));
            }
            text.push_str("</ul></li>\n");
        }
        text.push_str("</ul>\n</nav>\n");
    }

    /// A table of the items with one of these verdicts.
    fn list(&self, title: &str, wanted: &[Verdict], text: &mut String) {
        let lines = self.lines(wanted);
        let _ = writeln!(text, "<h2 id=\"{}\">{title}: {}</h2>", title.to_lowercase(), lines.len());
        if !lines.is_empty() {
            let head = HEAD.map(str::to_owned);
            pages::table(&head, &lines.iter().map(|line| line.to_vec()).collect::<Vec<_>>(), text);
        }
    }

    /// Counts of verdicts: for the items of each table, and for the orderings of each paper.
    fn overview(&self, text: &mut String) {
        text.push_str("<h2 id=\"summary\">Summary</h2>\n<div class=\"wide\" tabindex=\"0\">");
        text.push_str("<table>\n<thead><tr><th>item</th>");
        for verdict in Verdict::ALL {
            let _ = write!(text, "<th class=\"number\">{}</th>", verdict.name());
        }
        text.push_str("</tr></thead>\n<tbody>\n");
        for paper in &self.papers {
            let claims = paper.claims.iter().map(|claim| &claim.finding);
            counted(&format!("{}-claims", paper.folder), &format!("{}: orderings", paper.folder), claims, text);
            for table in &paper.tables {
                let findings = table.rows.iter().flat_map(|row| &row.items).map(|item| &item.finding);
                let title = format!("{}: {}", paper.folder, table.title);
                counted(&anchor(paper, table), &title, findings, text);
            }
        }
        text.push_str("</tbody>\n</table></div>\n");
    }

    fn paper(&self, paper: &PaperResult, text: &mut String) {
        let _ = writeln!(text, "<h2 class=\"paper\" id=\"{}\">{}</h2>", escaped(&paper.folder), escaped(&paper.title));
        if !paper.claims.is_empty() {
            let _ = writeln!(text, "<section id=\"{}-claims\">\n<h3>Orderings</h3>", escaped(&paper.folder));
            claims(paper, text);
            text.push_str("</section>\n");
        }
        if !paper.choices.is_empty() {
            text.push_str("<details><summary>What the paper leaves open</summary>\n<dl>\n");
            for (name, sentence) in &paper.choices {
                let _ = writeln!(text, "<dt>{}</dt><dd>“{}”</dd>", escaped(name), escaped(sentence));
            }
            text.push_str("</dl>\n</details>\n");
        }
        for table in &paper.tables {
            let _ = writeln!(text, "<section id=\"{}\">\n<h3>{}</h3>", anchor(paper, table), escaped(&table.title));
            section(table, text);
            text.push_str("</section>\n");
        }
    }
}

/// The id of a table's section.
fn anchor(paper: &PaperResult, table: &TableResult) -> String {
    escaped(&format!("{}-{}", paper.folder, table.name))
}

/// A row of the overview; nothing if nothing was judged.
fn counted<'a>(anchor: &str, title: &str, findings: impl Iterator<Item = &'a Finding>, text: &mut String) {
    let verdicts: Vec<Verdict> = findings.filter_map(|finding| finding.verdict).collect();
    if verdicts.is_empty() {
        return;
    }
    let _ = write!(text, "<tr><td><a href=\"#{anchor}\">{}</a></td>", escaped(title));
    for wanted in Verdict::ALL {
        let count = verdicts.iter().filter(|verdict| **verdict == wanted).count();
        let class = if count == 0 { "none" } else { wanted.name() };
        let _ = write!(text, "<td class=\"number {class}\">{count}</td>");
    }
    text.push_str("</tr>\n");
}

/// The last cells of an item: its verdict, or `unjudged`, the reason that there is none.
fn verdict_cells(finding: &Finding, unjudged: &str, text: &mut String) {
    let (class, verdict) = finding.verdict.map_or(("none", unjudged), |verdict| (verdict.name(), verdict.name()));
    let because = escaped(finding.because.as_deref().unwrap_or_default());
    let _ = writeln!(text, "<td class=\"{class}\">{verdict}</td><td class=\"by\">{because}</td></tr>");
}

fn claims(paper: &PaperResult, text: &mut String) {
    text.push_str(
        "<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr><th>claim</th><th>rows</th><th>figure</th>\
         <th>published</th>\
         <th class=\"number\">measured</th><th>verdict</th><th>because</th></tr></thead>\n<tbody>\n",
    );
    for claim in &paper.claims {
        let _ = write!(
            text,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"number\">{}</td>",
            escaped(&claim.says),
            escaped(&claim.pair()),
            escaped(claim.figure),
            escaped(&claim.claimed()),
            escaped(&claim.measured_text())
        );
        verdict_cells(&claim.finding, ONE_SEED, text);
    }
    text.push_str("</tbody>\n</table></div>\n");
}

/// One table: its charts, a line for every item, its notes and commands.
fn section(table: &TableResult, text: &mut String) {
    let drawn: Vec<_> = table.charts.iter().map(|spec| chart::drawn(table, spec)).collect();
    if !drawn.is_empty() {
        pages::charts(&drawn, text);
    }
    if table.rows.is_empty() {
        return;
    }
    text.push_str(
        "<details class=\"all\" open><summary>Every row</summary>\n\
         <div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr><th>row</th>\
         <th>figure</th><th class=\"number\">published</th><th class=\"number\">measured</th>\
         <th class=\"number\">deviation</th><th>seeds</th><th>verdict</th><th>because</th></tr></thead>\n<tbody>\n",
    );
    for row in &table.rows {
        for item in &row.items {
            let _ = write!(
                text,
                "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
                 <td class=\"number\">{}</td><td>{}</td>",
                escaped(&row.name),
                escaped(item.column.title),
                escaped(&item.published_text()),
                escaped(&item.measured_text()),
                escaped(&item.deviation_text()),
                escaped(&row.seeds)
            );
            let unjudged = if item.finding.published.is_some() { ONE_SEED } else { "not published" };
            verdict_cells(&item.finding, unjudged, text);
        }
    }
    text.push_str("</tbody>\n</table></div>\n</details>\n");
    notes(table, text);
    text.push_str("<details><summary>The commands, with the first seed</summary>\n<pre>");
    for row in &table.rows {
        let _ = writeln!(text, "# {}\n{}", escaped(&row.name), escaped(&row.command));
    }
    text.push_str("</pre>\n</details>\n");
}

fn notes(table: &TableResult, text: &mut String) {
    let said = table.rows.iter().filter_map(|row| Some((&row.name, row.failure.as_ref().or(row.note.as_ref())?)));
    let mut said = said.peekable();
    if said.peek().is_none() {
        return;
    }
    text.push_str("<dl>\n");
    for (name, note) in said {
        let _ = writeln!(text, "<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(note));
    }
    text.push_str("</dl>\n");
}
