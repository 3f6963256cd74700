//! Cost-benefit by the age since a segment was opened, as long as the segment has settled.
//!
//! An age since opening is right where pages become invalid independently of each other. Where they do so one after the
//! other, as in a journal or an overwritten file, a segment that has begun to empty goes on, and should be left alone.
//! Kawaguchi's age since the last invalidation does that, but it is one sample of the pace, and so mostly far off.
//!
//! Here a segment is as old as it says, but no older than the time in which half of its pages would become invalid at
//! the pace of the last one: age = min(since opened, half × since the last invalidation). `half` is half the pages of a
//! segment, rounded up to a power of two, so that multiplying by it is exact.

use super::age_weighted::AgeWeighted;
use super::cost_benefit::{Age, CostBenefit};
use super::greedy::Greedy;
use super::{AgeClock, VictimSelection};
use crate::addr::Seg;
use crate::random::Rng;
use crate::segments::Segments;

type ByAge = AgeWeighted<CostBenefit<false>>;

/// Exact selection, of the best of two.
///
/// From an invalidation on, the second of the two ages is the lower one, until a moment from which the first is, as
/// long as no other page becomes invalid. Then the segment has settled.
///
/// Invariants: a candidate is in exactly one of the lists. What is in `settled` has settled. What is in `restless` may
/// have: its score there is not below its own. It moves over when it would be chosen for that score.
#[derive(Debug, Clone)]
pub struct Settled {
    settled: ByAge,
    restless: ByAge,
    half: f64,
}

impl Settled {
    pub fn new(segments: u32, slots: u32) -> Self {
        Self {
            settled: ByAge::new(segments, slots, Age::Opened),
            restless: ByAge::new(segments, slots, Age::Invalidated),
            half: f64::from(slots.div_ceil(2).next_power_of_two()),
        }
    }

    /// The most bytes that it takes, with what it is overruled by, which each list counts.
    pub(super) const fn table_bytes(segments: u32, slots: u32) -> u64 {
        2 * ByAge::table_bytes(segments, slots) - Greedy::<true>::table_bytes(segments, slots)
    }

    /// The best of both lists, each asked by `best`.
    fn best_by(
        &mut self,
        segments: &Segments,
        clock: AgeClock,
        mut best: impl FnMut(&mut ByAge) -> Option<Seg>,
    ) -> Option<Seg> {
        let mut first = best(&mut self.settled).map(|seg| (self.settled.score(seg, segments, clock), seg));
        // Of equal scores, the least worn comes first, and then the lowest number.
        let is_before = |(score, seg): (f64, Seg), (other_score, other): (f64, Seg)| {
            let key = |seg: Seg| (segments.erases(seg), seg.0);
            score > other_score || (score == other_score && key(seg) < key(other))
        };
        // Each turn moves a segment over, or ends, so the loop ends.
        loop {
            let settled = first.map(|(_, seg)| seg);
            let Some(restless) = best(&mut self.restless) else { return settled };
            // Both scores have the same weight, so a score is one of the ages, times that weight.
            let bound = self.half * self.restless.score(restless, segments, clock);
            if first.is_some_and(|first| is_before(first, (bound, restless))) {
                return settled;
            }
            let score = self.settled.score(restless, segments, clock);
            // It has not settled: its score is the bound, and no other is better.
            if score > bound {
                return Some(restless);
            }
            self.restless.removed(restless, segments);
            self.settled.added(restless, segments);
            // Nothing else has changed among the settled.
            first = Some((score, restless)).filter(|&new| first.is_none_or(|first| is_before(new, first))).or(first);
        }
    }
}

impl VictimSelection for Settled {
    fn added(&mut self, seg: Seg, segments: &Segments) {
        self.restless.added(seg, segments);
    }

    fn invalidated(&mut self, seg: Seg, segments: &Segments) {
        // The last invalidation is now, so the second age is the lower one again.
        self.removed(seg, segments);
        self.restless.added(seg, segments);
    }

    fn removed(&mut self, seg: Seg, segments: &Segments) {
        self.settled.removed(seg, segments);
        self.restless.removed(seg, segments);
    }

    fn best(&mut self, segments: &Segments, clock: AgeClock, rng: &mut Rng) -> Option<Seg> {
        self.best_by(segments, clock, |list| list.best(segments, clock, rng))
    }

    fn best_among(&mut self, segments: &Segments, clock: AgeClock, wanted: &dyn Fn(Seg) -> bool) -> Option<Seg> {
        self.best_by(segments, clock, |list| list.best_among(segments, clock, wanted))
    }

    fn score(&self, seg: Seg, segments: &Segments, clock: AgeClock) -> f64 {
        let bound = self.half * self.restless.score(seg, segments, clock);
        self.settled.score(seg, segments, clock).min(bound)
    }
}
