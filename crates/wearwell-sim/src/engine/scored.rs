//! Victim policies that are a score of all candidates at a time, for languages in which a call costs more than a
//! segment.

use std::cmp::Ordering;
use std::fmt::Debug;

use wearwell::clean::which::{AgeClock, VictimSelection};
use wearwell::page::Segments;
use wearwell::{Rng, Seg};

/// A victim policy that scores all candidates at a time. The greatest score is taken first; of equal ones the least
/// worn segment, then the lowest number.
pub trait SegmentScores: Debug + Send {
    /// Victims that are taken by the scores of one call. With more than 1, later ones are chosen by old scores.
    fn victims_per_call(&self) -> usize;

    /// The scores. `now` is the clock in the units of the stamps.
    fn scores(&self, now: u64, candidates: &Candidates, scores: &mut [f64]);
}

/// What is known of a candidate. Stamps are in host pages, or in microseconds with `falling`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidateColumn {
    /// Its number.
    Segment,
    /// Valid pages.
    ValidPages,
    /// Pages that it has room for.
    Pages,
    /// Times erased.
    Erases,
    /// Its class.
    Class,
    /// When it was opened.
    Opened,
    /// When it was closed.
    Closed,
    /// When a page of it last became invalid.
    Invalidated,
    /// When its newest data was written.
    Newest,
}

const COLUMNS: usize = CandidateColumn::Newest as usize + 1;

/// The place of a segment that is no candidate.
const ABSENT: u32 = u32::MAX;

/// The segments that may be the victim: closed, and neither full nor empty. They are kept as columns from call to call,
/// so that a call only copies them.
///
/// Invariant: each column has a row for each candidate, as the engine's table has it, in no order. `places[s]` is the
/// row of segment `s`, or `ABSENT`.
#[derive(Debug, Default)]
pub struct Candidates {
    columns: [Vec<i64>; COLUMNS],
    places: Vec<u32>,
}

impl Candidates {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.columns[0].len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A column, a row for each.
    pub fn column(&self, column: CandidateColumn) -> &[i64] {
        &self.columns[column as usize]
    }

    /// All columns, in the order of [`CandidateColumn`].
    pub fn columns(&self) -> impl Iterator<Item = &[i64]> {
        self.columns.iter().map(Vec::as_slice)
    }

    /// The segment of a row.
    fn segment(&self, row: usize) -> Seg {
        Seg(self.column(CandidateColumn::Segment)[row] as u32)
    }

    fn add(&mut self, seg: Seg, segments: &Segments) {
        let row = [
            i64::from(seg.0),
            i64::from(segments.valid(seg)),
            i64::from(segments.slots()),
            i64::from(segments.erases(seg)),
            i64::from(segments.class(seg).0),
            segments.opened(seg) as i64,
            segments.sealed(seg) as i64,
            segments.invalidated(seg) as i64,
            segments.newest(seg) as i64,
        ];
        self.remove(seg);
        self.places.resize(segments.count() as usize, ABSENT);
        self.places[seg.index()] = self.len() as u32;
        self.columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }

    /// A candidate has lost a page.
    fn lose(&mut self, seg: Seg, segments: &Segments) {
        // The engine tells of candidates only, so the segment has a row.
        let row = self.places[seg.index()] as usize;
        self.columns[CandidateColumn::ValidPages as usize][row] = i64::from(segments.valid(seg));
        self.columns[CandidateColumn::Invalidated as usize][row] = segments.invalidated(seg) as i64;
    }

    /// Removes a segment, if it is there.
    fn remove(&mut self, seg: Seg) {
        let Some(place) = self.places.get_mut(seg.index()) else { return };
        let row = std::mem::replace(place, ABSENT);
        if row == ABSENT {
            return;
        }
        for column in &mut self.columns {
            column.swap_remove(row as usize);
        }
        // The last row has moved to this place, unless it is the one that is gone.
        if (row as usize) < self.len() {
            let moved = self.segment(row as usize);
            self.places[moved.index()] = row;
        }
    }
}

/// The policy in force.
#[derive(Debug)]
pub(super) struct Scored {
    policy: Box<dyn SegmentScores>,
    candidates: Candidates,
    scores: Vec<f64>,
    /// The best of the last call that have not been taken, the best one last.
    next: Vec<Seg>,
}

impl Scored {
    pub(super) fn new(policy: Box<dyn SegmentScores>) -> Self {
        Self { policy, candidates: Candidates::default(), scores: Vec::new(), next: Vec::new() }
    }

    /// Scores all candidates.
    fn score_all(&mut self, now: u64) {
        self.scores.clear();
        self.scores.resize(self.candidates.len(), 0.0);
        if !self.candidates.is_empty() {
            self.policy.scores(now, &self.candidates, &mut self.scores);
        }
    }

    /// The better row first.
    fn order(&self, a: usize, b: usize) -> Ordering {
        let erases = self.candidates.column(CandidateColumn::Erases);
        let by_wear = |row: usize| (erases[row], self.candidates.segment(row).0);
        self.scores[b].total_cmp(&self.scores[a]).then_with(|| by_wear(a).cmp(&by_wear(b)))
    }

    /// The best by the last scores, of those that are wanted.
    fn best_of(&self, wanted: impl Fn(Seg) -> bool) -> Option<Seg> {
        let wanted = (0..self.scores.len()).filter(|&row| wanted(self.candidates.segment(row)));
        wanted.min_by(|&a, &b| self.order(a, b)).map(|row| self.candidates.segment(row))
    }
}

impl VictimSelection for Scored {
    fn added(&mut self, seg: Seg, segments: &Segments) {
        self.candidates.add(seg, segments);
    }

    fn invalidated(&mut self, seg: Seg, segments: &Segments) {
        self.candidates.lose(seg, segments);
    }

    fn removed(&mut self, seg: Seg, _segments: &Segments) {
        self.candidates.remove(seg);
    }

    fn best(&mut self, segments: &Segments, clock: AgeClock, _rng: &mut Rng) -> Option<Seg> {
        while let Some(seg) = self.next.pop() {
            // It was chosen a while ago, and may have been emptied since.
            if segments.is_candidate(seg) {
                return Some(seg);
            }
        }
        self.score_all(clock.now);
        let most = self.policy.victims_per_call().max(1);
        // A single victim needs no order, only the best.
        if most == 1 {
            return self.best_of(|_| true);
        }
        let mut rows: Vec<usize> = (0..self.scores.len()).collect();
        // Only the best need an order. This brings them to the front without one.
        if most < rows.len() {
            rows.select_nth_unstable_by(most, |&a, &b| self.order(a, b));
            rows.truncate(most);
        }
        // The best comes last, where `pop` finds it.
        rows.sort_unstable_by(|&a, &b| self.order(b, a));
        self.next = rows.iter().map(|&row| self.candidates.segment(row)).collect();
        self.next.pop()
    }

    fn best_among(&mut self, _segments: &Segments, clock: AgeClock, wanted: &dyn Fn(Seg) -> bool) -> Option<Seg> {
        self.score_all(clock.now);
        self.best_of(wanted)
    }

    fn score(&self, seg: Seg, segments: &Segments, clock: AgeClock) -> f64 {
        let (mut alone, mut score) = (Candidates::default(), [0.0]);
        alone.add(seg, segments);
        self.policy.scores(clock.now, &alone, &mut score);
        score[0]
    }
}
