//! What cost-benefit, LFS and CAT have in common: an age, weighted by utilization and wear.

use alloc::vec;
use alloc::vec::Vec;

use super::buckets::Buckets;
use super::{AgeClock, VictimSelection};
use crate::addr::Seg;
use crate::random::Rng;
use crate::segments::Segments;

/// A score of the form weight(valid) × age ÷ wear, greater being better.
pub trait AgeScore {
    /// The weight of a segment with `valid` of `slots` pages valid; never grows with `valid`.
    fn weight(valid: u32, slots: u32) -> f64;
    /// The stamp that the age counts from.
    fn stamp(&self, seg: Seg, segments: &Segments) -> u64;
    /// The score, from a weight, an age and an erase count. It never falls with age and never grows with erases.
    fn combine(weight: f64, age: f64, erases: u32) -> f64;
}

/// Exact selection by an [`AgeScore`], without looking at every segment.
///
/// Segments with equal valid counts share a bucket. A bucket knows its oldest stamp and least wear, and so its best
/// possible score. Buckets are searched in the order of that score, until none can hold a better one.
#[derive(Debug, Clone)]
pub struct AgeWeighted<S> {
    buckets: Buckets,
    weights: Vec<f64>,
    bounds: Vec<f64>,
    score: S,
}

impl<S: AgeScore> AgeWeighted<S> {
    pub(super) fn by(score: S, segments: u32, slots: u32) -> Self {
        Self {
            buckets: Buckets::new(segments, slots),
            weights: (0..=slots).map(|valid| S::weight(valid, slots)).collect(),
            bounds: vec![f64::NEG_INFINITY; slots as usize + 1],
            score,
        }
    }

    #[inline]
    fn insert(&mut self, seg: Seg, segments: &Segments) {
        let stamp = self.score.stamp(seg, segments);
        self.buckets.insert(seg, segments.valid(seg), stamp, segments.erases(seg));
    }

    /// The best score each bucket can hold.
    fn bound(&mut self, clock: AgeClock) {
        for valid in 0..self.buckets.lists() {
            self.bounds[valid] = if self.buckets.is_empty(valid) {
                f64::NEG_INFINITY
            } else {
                let age = clock.age(self.buckets.oldest[valid]);
                S::combine(self.weights[valid], age, self.buckets.least_worn[valid])
            };
        }
    }

    /// Looks at every segment of a bucket, tightening its bounds on the way, for one better than `best`
    /// that is wanted.
    #[inline(always)]
    fn search(
        &mut self,
        valid: usize,
        segments: &Segments,
        clock: AgeClock,
        wanted: impl Fn(Seg) -> bool,
        best: &mut Option<(f64, u32, Seg)>,
    ) {
        let (mut oldest, mut least_worn) = (u64::MAX, u32::MAX);
        for seg in self.buckets.iter(valid) {
            let (stamp, erases) = (self.score.stamp(seg, segments), segments.erases(seg));
            let score = S::combine(self.weights[valid], clock.age(stamp), erases);
            let better = best
                .is_none_or(|(top, worn, first)| score > top || (score == top && (erases, seg.0) < (worn, first.0)));
            if better && wanted(seg) {
                *best = Some((score, erases, seg));
            }
            oldest = oldest.min(stamp);
            least_worn = least_worn.min(erases);
        }
        self.buckets.oldest[valid] = oldest;
        self.buckets.least_worn[valid] = least_worn;
    }
}

impl<S: AgeScore> VictimSelection for AgeWeighted<S> {
    fn added(&mut self, seg: Seg, segments: &Segments) {
        self.insert(seg, segments);
    }

    #[inline]
    fn invalidated(&mut self, seg: Seg, segments: &Segments) {
        self.buckets.remove(seg);
        self.insert(seg, segments);
    }

    fn removed(&mut self, seg: Seg, _segments: &Segments) {
        self.buckets.remove(seg);
    }

    fn best(&mut self, segments: &Segments, clock: AgeClock, _rng: &mut Rng) -> Option<Seg> {
        self.best_among(segments, clock, |_| true)
    }

    fn best_among(&mut self, segments: &Segments, clock: AgeClock, wanted: impl Fn(Seg) -> bool) -> Option<Seg> {
        self.bound(clock);
        let mut best = None;
        loop {
            let (valid, bound) = greatest(&self.bounds);
            if bound == f64::NEG_INFINITY || best.is_some_and(|(top, _, _)| bound < top) {
                return best.map(|(_, _, seg)| seg);
            }
            self.search(valid, segments, clock, &wanted, &mut best);
            self.bounds[valid] = f64::NEG_INFINITY;
        }
    }

    fn score(&self, seg: Seg, segments: &Segments, clock: AgeClock) -> f64 {
        let weight = self.weights[segments.valid(seg) as usize];
        S::combine(weight, clock.age(self.score.stamp(seg, segments)), segments.erases(seg))
    }
}

/// Index and value of the greatest number; the first of equals.
fn greatest(values: &[f64]) -> (usize, f64) {
    let top = values.iter().fold(f64::NEG_INFINITY, |a, &b| if b > a { b } else { a });
    (values.iter().position(|&v| v == top).unwrap_or(0), top)
}
