//! Compares every row and every claim with what was published, and tries the choices that may explain a deviation.
//!
//! A choice is tried on a row that deviates. If all figures of the row then agree, it is tried on every other row of
//! the paper that it touches. So an explanation never causes a deviation elsewhere.

use serde::Serialize;

use crate::andrew::Benchmarks;
use crate::bench::{Bench, Extras, Sample, Wanted};
use crate::column::{COLD_BLOCKS, COLUMNS, Column, Figures, THRESHOLD_BLOCKS};
use crate::estimate::Estimate;
use crate::experiment::{Choice, Claim, Paper, Row, Table};
use crate::rule::{self, Verdict};

/// A table and one of its rows.
type At<'a> = (&'a Table, &'a Row);

/// The finding on one published figure or claimed ordering.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// The published value. For an ordering, the difference in percent, if the paper states it.
    pub published: Option<f64>,
    /// The mean. For an ordering, the mean of the difference in percent.
    pub measured: Option<Estimate>,
    /// None for figures that were not published, and if only one seed was run.
    pub verdict: Option<Verdict>,
    /// The choice that explains the deviation, with the value measured with it; or the choice that would explain it,
    /// with the items that it takes away.
    pub because: Option<String>,
}

/// Measures and judges the rows and claims of a paper.
#[derive(Clone, Copy)]
pub(crate) struct Judge<'a> {
    pub(crate) paper: &'a Paper,
    pub(crate) bench: &'a Bench<'a>,
    pub(crate) benchmarks: &'a Benchmarks,
}

/// The unit of judging: all figures of a row, or one pair of a claim.
#[derive(Clone, Copy)]
pub(crate) enum Subject<'a> {
    Row(&'a Table, &'a Row),
    Pair(&'a Claim, &'a [String; 2]),
}

impl Judge<'_> {
    /// The results of a row with each seed, with a choice or unchanged.
    pub(crate) fn sample(&self, (table, row): At<'_>, choice: Option<&Choice>) -> Result<Sample, String> {
        let named = |name: &String| table.row(name).ok_or_else(|| format!("there is no row '{name}'"));
        if let Some(why) = &row.cannot {
            return Err(why.clone());
        }
        let own = match (&row.args, &row.mean_of, &row.file) {
            (Some(_), ..) if row.andrew.is_some() => self.benchmarks.sample(&table.name, row)?,
            (Some(args), ..) => {
                let changed = choice.and_then(|choice| choice.applied(args));
                self.bench.sample(changed.as_ref().unwrap_or(args))?
            }
            (None, Some(rows), _) => {
                let of = |name| self.sample((table, named(name)?), choice);
                mean_of(&rows.iter().map(of).collect::<Result<Vec<_>, String>>()?)
            }
            (None, None, Some(point)) => vec![point.figures()],
            (None, None, None) => return Err("nothing says where its figures come from".to_owned()),
        };
        match &row.against {
            None => Ok(own),
            Some(base) => {
                let base = self.sample((table, named(base)?), choice)?;
                Ok(paired(&own, &base, |own, base| own.clone().against(base)))
            }
        }
    }

    /// The mean of a figure of a row.
    pub(crate) fn estimate(&self, at: At<'_>, column: &Column, choice: Option<&Choice>) -> Option<Estimate> {
        let sample = self.sample(at, choice).ok()?;
        Estimate::of(&sample.iter().map(|figures| figures.get(column)).collect::<Option<Vec<f64>>>()?)
    }

    fn on_figure(&self, at: At<'_>, column: &Column, choice: Option<&Choice>) -> Option<Verdict> {
        let published = at.1.published.get(column)?;
        Some(rule::on_figure(column, published, self.estimate(at, column, choice)))
    }

    /// The difference between the figures of two rows, as published and as measured.
    fn difference(
        &self,
        claim: &Claim,
        pair: &[String; 2],
        choice: Option<&Choice>,
    ) -> Option<(Option<f64>, Option<Estimate>)> {
        let column = Column::named(&claim.figure)?;
        let (row, than) = (self.paper.row(&pair[0])?, self.paper.row(&pair[1])?);
        let of = |at: At<'_>| at.1.published.get(column);
        let both = of(row).zip(of(than)).map(|(row, than)| column.difference(row, than));
        let measured = self.sample(row, choice).ok().zip(self.sample(than, choice).ok()).and_then(|(row, than)| {
            // Nothing against nothing is no comparison.
            let both = |row: &Figures, than: &Figures| {
                row.get(column).zip(than.get(column)).filter(|(row, than)| *row != 0.0 || *than != 0.0)
            };
            let change =
                |row: &Figures, than: &Figures| both(row, than).map(|(row, than)| column.difference(row, than));
            let changes: Option<Vec<f64>> = paired(&row, &than, change).into_iter().collect();
            Estimate::of(&changes?)
        });
        Some((claim.by_percent.or(both), measured))
    }

    fn on_claim(&self, claim: &Claim, pair: &[String; 2], choice: Option<&Choice>) -> Option<Verdict> {
        let (published, measured) = self.difference(claim, pair, choice)?;
        Some(rule::on_order(Column::named(&claim.figure)?, claim.is, published, measured))
    }

    /// The verdicts on all published items of a subject, with their names, before choices are tried.
    fn verdicts(&self, subject: Subject<'_>, choice: Option<&Choice>) -> Vec<(String, Verdict)> {
        match subject {
            Subject::Row(table, row) => {
                let of = |column: &'static Column| {
                    let verdict = self.on_figure((table, row), column, choice)?;
                    Some((format!("{}: {}: {}", table.name, row.name, column.title), verdict))
                };
                COLUMNS.iter().filter_map(of).collect()
            }
            Subject::Pair(claim, pair) => {
                let verdict = self.on_claim(claim, pair, choice);
                verdict.map(|verdict| (format!("{} ({})", claim.says, pair[0]), verdict)).into_iter().collect()
            }
        }
    }

    /// True if an item of a subject deviates and a choice may explain it.
    fn is_off(&self, subject: Subject<'_>) -> bool {
        self.verdicts(subject, None).iter().any(|(_, verdict)| *verdict == Verdict::Unexplained)
    }

    /// True if all published items of a subject agree with a choice.
    fn fits(&self, subject: Subject<'_>, choice: &Choice) -> bool {
        self.verdicts(subject, Some(choice)).iter().all(|(_, verdict)| *verdict == Verdict::Agrees)
    }

    /// The items of a subject that agree without a choice and not with it.
    fn harms(&self, subject: Subject<'_>, choice: &Choice) -> Vec<String> {
        let with = self.verdicts(subject, Some(choice));
        // What was published decides which items there are, so both lists have the same.
        let both = self.verdicts(subject, None).into_iter().zip(with);
        let leaves = |((_, before), (_, with)): &((String, Verdict), (String, Verdict))| {
            *before == Verdict::Agrees && *with != Verdict::Agrees
        };
        both.filter(leaves).map(|((name, _), _)| name).collect()
    }

    /// True if a choice changes the runs of a row.
    fn row_is_touched(choice: &Choice, (table, row): At<'_>) -> bool {
        // Benchmarks run with their own arguments only.
        let own = row.andrew.is_none() && row.args.as_ref().is_some_and(|args| choice.applied(args).is_some());
        let others = row.against.iter().chain(row.mean_of.iter().flatten());
        own || others.filter_map(|name| table.row(name)).any(|other| Self::row_is_touched(choice, (table, other)))
    }

    /// True if a choice changes the runs of a subject.
    fn touches(&self, choice: &Choice, subject: Subject<'_>) -> bool {
        match subject {
            Subject::Row(table, row) => Self::row_is_touched(choice, (table, row)),
            Subject::Pair(_, pair) => {
                pair.iter().filter_map(|name| self.paper.row(name)).any(|at| Self::row_is_touched(choice, at))
            }
        }
    }
}

/// Combines the results of two rows seed by seed. A row without random draws has the same results with all seeds.
fn paired<R>(left: &Sample, right: &Sample, both: impl Fn(&Figures, &Figures) -> R) -> Vec<R> {
    let longest = left.len().max(right.len());
    let of = |sample: &Sample, at: usize| sample.get(at).or(sample.first()).cloned().unwrap_or_default();
    (0..longest).map(|at| both(&of(left, at), &of(right, at))).collect()
}

/// The mean of several rows with each seed.
fn mean_of(samples: &[Sample]) -> Sample {
    let longest = samples.iter().map(Vec::len).max().unwrap_or(0);
    let of = |at: usize| {
        let figures: Vec<&Figures> = samples.iter().filter_map(|sample| sample.get(at).or(sample.first())).collect();
        Figures::mean_of(&figures)
    };
    (0..longest).map(of).collect()
}

impl Paper {
    /// Everything that is judged, the rows first.
    pub(crate) fn subjects(&self) -> Vec<Subject<'_>> {
        let rows = self.tables.iter().flat_map(|table| table.row.iter().map(move |row| Subject::Row(table, row)));
        let claims = &self.about.claim;
        let pairs = claims.iter().flat_map(|claim| claim.pairs.iter().map(move |pair| Subject::Pair(claim, pair)));
        rows.chain(pairs).collect()
    }

    /// The runs of a subject, with a choice or unchanged.
    pub(crate) fn runs(&self, subject: Subject<'_>, choice: Option<&Choice>) -> Vec<Wanted> {
        let mut runs = Vec::new();
        match subject {
            Subject::Row(table, row) => runs_of((table, row), choice, &mut runs),
            Subject::Pair(_, pair) => {
                pair.iter().filter_map(|name| self.row(name)).for_each(|at| runs_of(at, choice, &mut runs));
            }
        }
        runs
    }
}

fn runs_of((table, row): At<'_>, choice: Option<&Choice>, runs: &mut Vec<Wanted>) {
    if let (Some(args), None) = (&row.args, &row.andrew) {
        let changed = choice.and_then(|choice| choice.applied(args));
        let extras = Extras {
            // Charts show a row as it is.
            course: choice.is_none() && table.observes(row),
            cold_blocks: table.shown().iter().any(|column| column.name == COLD_BLOCKS),
            threshold: row.published.0.contains_key(THRESHOLD_BLOCKS),
        };
        let name = format!("{}: {}", table.name, row.name);
        let args = changed.unwrap_or_else(|| args.clone());
        runs.push(Wanted { name, args, extras });
    }
    for other in row.against.iter().chain(row.mean_of.iter().flatten()).filter_map(|name| table.row(name)) {
        runs_of((table, other), choice, runs);
    }
}

/// The choices that may explain deviations in a paper.
#[derive(Default)]
pub(crate) struct Explanations {
    /// For each choice, the places of the subjects that agree with it.
    brought_in: Vec<Vec<usize>>,
    /// For each choice, the items that no longer agree with it.
    harms: Vec<Vec<String>>,
}

impl Explanations {
    /// The runs that show whether a deviating subject agrees with a choice.
    pub(crate) fn first_runs(judge: Judge<'_>, asked: &[usize]) -> Vec<Wanted> {
        let subjects = judge.paper.subjects();
        let off: Vec<Subject<'_>> = asked.iter().map(|&at| subjects[at]).filter(|s| judge.is_off(*s)).collect();
        let tried = judge.paper.about.choice.iter().flat_map(|choice| {
            let touched = off.iter().filter(|subject| judge.touches(choice, **subject));
            touched.flat_map(|subject| judge.paper.runs(*subject, Some(choice))).collect::<Vec<_>>()
        });
        tried.collect()
    }

    /// Finds the choices with which subjects agree, once the first runs are done.
    pub(crate) fn new(judge: Judge<'_>, asked: &[usize]) -> Self {
        let subjects = judge.paper.subjects();
        let off: Vec<usize> = asked.iter().copied().filter(|&at| judge.is_off(subjects[at])).collect();
        let brought_in = judge.paper.about.choice.iter().map(|choice| {
            let is_in = |&at: &usize| judge.touches(choice, subjects[at]) && judge.fits(subjects[at], choice);
            off.iter().copied().filter(is_in).collect()
        });
        Self { brought_in: brought_in.collect(), harms: Vec::new() }
    }

    /// The runs that show the effect of those choices on everything else that they touch.
    pub(crate) fn second_runs(&self, judge: Judge<'_>) -> Vec<Wanted> {
        let mut runs = Vec::new();
        for (choice, _) in self.of(judge.paper) {
            for subject in judge.paper.subjects().into_iter().filter(|subject| judge.touches(choice, *subject)) {
                // Subjects that were not asked for have not been run yet.
                runs.extend(judge.paper.runs(subject, None));
                runs.extend(judge.paper.runs(subject, Some(choice)));
            }
        }
        runs
    }

    /// Notes the items that the choices harm, once the second runs are done.
    pub(crate) fn weigh(&mut self, judge: Judge<'_>) {
        let harms = |(choice, brought_in): (&Choice, &Vec<usize>)| match brought_in.is_empty() {
            true => Vec::new(),
            false => judge.paper.subjects().into_iter().flat_map(|subject| judge.harms(subject, choice)).collect(),
        };
        self.harms = judge.paper.about.choice.iter().zip(&self.brought_in).map(harms).collect();
    }

    /// The choices with which subjects agree, each with these subjects.
    fn of<'p>(&'p self, paper: &'p Paper) -> impl Iterator<Item = (&'p Choice, &'p Vec<usize>)> {
        paper.about.choice.iter().zip(&self.brought_in).filter(|(_, brought_in)| !brought_in.is_empty())
    }

    /// The final verdict on a deviating item of a subject, and the explanation.
    fn explain(&self, paper: &Paper, subject: usize) -> (Verdict, Option<(usize, String)>) {
        let mut spoiled = None;
        for (at, brought_in) in self.brought_in.iter().enumerate().filter(|(_, all)| all.contains(&subject)) {
            debug_assert!(!brought_in.is_empty());
            let name = &paper.about.choice[at].name;
            match self.harms.get(at).map(Vec::as_slice) {
                Some([]) => return (Verdict::Explained, Some((at, name.clone()))),
                Some([first, rest @ ..]) => {
                    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
                    // The first of these is told, unless a later choice harms nothing.
                    spoiled.get_or_insert((at, format!("{name} would, but takes away {first}{more}")));
                }
                None => {}
            }
        }
        (Verdict::Unexplained, spoiled)
    }
}

impl Judge<'_> {
    /// A figure of a row: measured, judged and explained. `by` is none if only one seed was run.
    pub(crate) fn figure_found(
        &self,
        at: At<'_>,
        column: &Column,
        by: Option<&Explanations>,
        subject: usize,
    ) -> Finding {
        let published = at.1.published.get(column);
        let measured = self.estimate(at, column, None);
        let verdict = published.map(|published| rule::on_figure(column, published, measured));
        let verdict = verdict.map(|verdict| if self.is_left_out(at) { Verdict::NotRun } else { verdict });
        let shown = |choice: &Choice| self.estimate(at, column, Some(choice)).map(|e| column.shown(e.mean));
        self.finding(published, measured, verdict, by, subject, &shown)
    }

    /// A pair of a claim: measured, judged and explained.
    pub(crate) fn pair_found(
        &self,
        claim: &Claim,
        pair: &[String; 2],
        by: Option<&Explanations>,
        subject: usize,
    ) -> Finding {
        let (published, measured) = self.difference(claim, pair, None).unwrap_or((None, None));
        let is_left_out = pair.iter().filter_map(|name| self.paper.row(name)).any(|at| self.is_left_out(at));
        let column = Column::named(&claim.figure);
        let verdict = match column {
            Some(column) if !is_left_out => rule::on_order(column, claim.is, published, measured),
            _ => Verdict::NotRun,
        };
        let shown = |choice: &Choice| {
            let (_, measured) = self.difference(claim, pair, Some(choice))?;
            let unit = Column::named(&claim.figure)?.unit();
            Some(format!("{:+.1} {unit}", measured?.mean))
        };
        self.finding(published, measured, Some(verdict), by, subject, &shown)
    }

    /// True for a row that says why it cannot be run, and for a benchmark that was not asked for.
    pub(crate) fn is_left_out(&self, (table, row): At<'_>) -> bool {
        let parts = row.against.iter().chain(row.mean_of.iter().flatten()).filter_map(|name| table.row(name));
        row.cannot.is_some()
            || (row.andrew.is_some() && !self.benchmarks.were_run())
            || parts.into_iter().any(|part| self.is_left_out((table, part)))
    }

    fn finding(
        &self,
        published: Option<f64>,
        measured: Option<Estimate>,
        verdict: Option<Verdict>,
        by: Option<&Explanations>,
        subject: usize,
        shown: &dyn Fn(&Choice) -> Option<String>,
    ) -> Finding {
        let Some(by) = by else { return Finding { published, measured, verdict: None, because: None } };
        let (verdict, because) = match verdict {
            Some(Verdict::Unexplained) => {
                let (verdict, because) = by.explain(self.paper, subject);
                (Some(verdict), because)
            }
            other => (other, None),
        };
        let said = |(choice, text): (usize, String)| {
            let with = shown(&self.paper.about.choice[choice]).map(|with| format!(": {with}"));
            format!("{text}{}", with.unwrap_or_default())
        };
        Finding { published, measured, verdict, because: because.map(said) }
    }
}
