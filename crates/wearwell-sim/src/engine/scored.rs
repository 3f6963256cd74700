//! Victim policies that are a score of all candidates at a time, for languages in which a call costs more than a
//! segment.

use std::cmp::Ordering;
use std::fmt::Debug;

use wearwell::clean::which::{AgeClock, VictimSelection};
use wearwell::page::Segments;
use wearwell::{Class, Rng, Seg};

/// A victim policy that scores all candidates at a time. The greatest score is taken first; of equal ones the least worn
/// segment, then the lowest number.
pub trait SegmentScores: Debug + Send {
    /// Victims that are taken by the scores of one call. With more than 1, later ones are chosen by old scores.
    fn victims_per_call(&self) -> usize;

    /// The scores. `now` is the clock in the units of the rows' stamps.
    fn scores(&self, now: u64, rows: &[SegmentScored], scores: &mut [f64]);
}

/// A segment that may be the victim: closed, and neither full nor empty. Stamps are in host pages, or in microseconds
/// with `falling`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentScored {
    /// Its number.
    pub segment: u32,
    /// Valid pages.
    pub valid_pages: u32,
    /// Pages that it has room for.
    pub pages: u32,
    /// Times erased.
    pub erases: u32,
    /// Its class.
    pub class: Class,
    /// When it was opened.
    pub opened: u64,
    /// When it was closed.
    pub closed: u64,
    /// When a page of it last became invalid.
    pub invalidated: u64,
    /// When its newest data was written.
    pub newest: u64,
}

impl SegmentScored {
    fn new(seg: Seg, segments: &Segments) -> Self {
        Self {
            segment: seg.0,
            valid_pages: segments.valid(seg),
            pages: segments.slots(),
            erases: segments.erases(seg),
            class: segments.class(seg),
            opened: segments.opened(seg),
            closed: segments.sealed(seg),
            invalidated: segments.invalidated(seg),
            newest: segments.newest(seg),
        }
    }
}

/// The policy in force.
#[derive(Debug)]
pub(super) struct Scored {
    policy: Box<dyn SegmentScores>,
    rows: Vec<SegmentScored>,
    scores: Vec<f64>,
    /// The best of the last call that have not been taken, the best one last.
    next: Vec<Seg>,
}

impl Scored {
    pub(super) fn new(policy: Box<dyn SegmentScores>) -> Self {
        Self { policy, rows: Vec::new(), scores: Vec::new(), next: Vec::new() }
    }

    /// Scores the candidates that are `wanted`.
    fn score_all(&mut self, segments: &Segments, now: u64, wanted: &dyn Fn(Seg) -> bool) {
        self.rows.clear();
        let candidates = segments.all().filter(|&seg| segments.is_candidate(seg) && wanted(seg));
        self.rows.extend(candidates.map(|seg| SegmentScored::new(seg, segments)));
        self.scores.clear();
        self.scores.resize(self.rows.len(), 0.0);
        if !self.rows.is_empty() {
            self.policy.scores(now, &self.rows, &mut self.scores);
        }
    }

    /// The place of the best row first.
    fn order(&self, a: usize, b: usize) -> Ordering {
        let by_wear = |at: usize| (self.rows[at].erases, self.rows[at].segment);
        self.scores[b].total_cmp(&self.scores[a]).then(by_wear(a).cmp(&by_wear(b)))
    }
}

impl VictimSelection for Scored {
    // It looks at every segment, so it needs no list of them.
    fn added(&mut self, _seg: Seg, _segments: &Segments) {}

    fn invalidated(&mut self, _seg: Seg, _segments: &Segments) {}

    fn removed(&mut self, _seg: Seg, _segments: &Segments) {}

    fn best(&mut self, segments: &Segments, clock: AgeClock, _rng: &mut Rng) -> Option<Seg> {
        while let Some(seg) = self.next.pop() {
            if segments.is_candidate(seg) {
                return Some(seg);
            }
        }
        self.score_all(segments, clock.now, &|_| true);
        let mut places: Vec<usize> = (0..self.rows.len()).collect();
        let most = self.policy.victims_per_call().clamp(1, places.len().max(1));
        if most < places.len() {
            places.select_nth_unstable_by(most, |&a, &b| self.order(a, b));
            places.truncate(most);
        }
        places.sort_unstable_by(|&a, &b| self.order(b, a));
        self.next = places.iter().map(|&at| Seg(self.rows[at].segment)).collect();
        self.next.pop()
    }

    fn best_among(&mut self, segments: &Segments, clock: AgeClock, wanted: &dyn Fn(Seg) -> bool) -> Option<Seg> {
        self.score_all(segments, clock.now, wanted);
        let best = (0..self.rows.len()).min_by(|&a, &b| self.order(a, b))?;
        Some(Seg(self.rows[best].segment))
    }

    fn score(&self, seg: Seg, segments: &Segments, clock: AgeClock) -> f64 {
        let mut score = [0.0];
        self.policy.scores(clock.now, &[SegmentScored::new(seg, segments)], &mut score);
        score[0]
    }
}
