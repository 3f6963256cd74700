//! What cost-benefit, LFS and CAT have in common: an age, weighted by utilization and wear.

use alloc::vec;
use alloc::vec::Vec;

use super::greedy::Greedy;
use super::heaps::Heaps;
use super::{AgeClock, VictimSelection};
use crate::addr::Seg;
use crate::random::Rng;
use crate::segments::Segments;

/// A score of the form weight(valid) × age ÷ wear, greater being better.
pub trait AgeScore: core::fmt::Debug {
    /// Segments with equal valid counts are kept apart by their erase counts modulo this, a power of two: 1 if the
    /// score does not depend on wear.
    const WEAR_CLASSES: u32 = 1;

    /// The weight of a segment with `valid` of `slots` pages valid; never grows with `valid`.
    fn weight(valid: u32, slots: u32) -> f64;
    /// The stamp that the age counts from. It does not change while a segment is closed and loses no page.
    fn stamp(&self, seg: Seg, segments: &Segments) -> u64;
    /// The score, from a weight, an age and an erase count. It never falls with age and never grows with erases.
    fn combine(weight: f64, age: f64, erases: u32) -> f64;
}

/// Exact selection by an [`AgeScore`], without looking at every segment.
///
/// Of segments that are equally full and equally worn, the oldest has the best score, whenever it is asked for. So they
/// share a heap, and its first member stands for all. A list is the heaps of one valid count. It knows bounds of its
/// members' stamps and wear, and so of their scores. Only lists whose bound reaches the best score found are looked at.
///
/// A heap is walked beyond its first member only while the next may be as good: if they are not equally worn, because
/// their erase counts differ by a multiple of [`WEAR_CLASSES`](AgeScore::WEAR_CLASSES); if their ages differ by less
/// than the score can tell; or if the first is not wanted.
#[derive(Debug, Clone)]
pub struct AgeWeighted<S> {
    heaps: Heaps,
    lists: Vec<List>,
    /// The best score that each list can hold, when a victim was last chosen.
    bounds: Vec<f64>,
    score: S,
}

/// The candidates with one number of valid pages.
///
/// Invariant: `oldest` is at most the stamp of each and `least_worn` at most its erase count. Adding keeps these bounds
/// tight, removing may leave them loose.
#[derive(Debug, Clone, Copy)]
struct List {
    weight: f64,
    oldest: u64,
    least_worn: u32,
    members: u32,
}

/// The best candidate so far, with what decides.
#[derive(Debug, Clone, Copy)]
struct Best {
    score: f64,
    erases: u32,
    seg: Seg,
}

impl Best {
    /// Ties go to the least worn, then to the lowest number.
    #[inline]
    fn is_behind(&self, score: f64, erases: u32, seg: Seg) -> bool {
        score > self.score || (score == self.score && (erases, seg.0) < (self.erases, self.seg.0))
    }
}

impl<S: AgeScore> AgeWeighted<S> {
    pub(super) fn by(score: S, segments: u32, slots: u32) -> Self {
        let list = |valid| List { weight: S::weight(valid, slots), oldest: u64::MAX, least_worn: u32::MAX, members: 0 };
        let lists = slots as usize + 1;
        Self {
            heaps: Heaps::new(segments, lists * S::WEAR_CLASSES as usize),
            lists: (0..=slots).map(list).collect(),
            bounds: vec![f64::NEG_INFINITY; lists],
            score,
        }
    }

    /// The most bytes that it takes, with what it is overruled by.
    pub(super) const fn table_bytes(segments: u32, slots: u32) -> u64 {
        let lists = slots as usize + 1;
        let own =
            Heaps::bytes(segments, lists * S::WEAR_CLASSES as usize) + lists * (size_of::<List>() + size_of::<f64>());
        own as u64 + Greedy::<true>::table_bytes(segments, slots)
    }

    /// The heap of a valid count and an erase count.
    #[inline]
    fn heap(valid: u32, erases: u32) -> usize {
        (valid * S::WEAR_CLASSES + erases % S::WEAR_CLASSES) as usize
    }

    #[inline]
    fn insert(&mut self, seg: Seg, segments: &Segments) {
        let (valid, erases) = (segments.valid(seg), segments.erases(seg));
        let stamp = self.score.stamp(seg, segments);
        let list = &mut self.lists[valid as usize];
        // An empty list has the bounds of members that are gone.
        if list.members == 0 {
            (list.oldest, list.least_worn) = (stamp, erases);
        } else {
            (list.oldest, list.least_worn) = (list.oldest.min(stamp), list.least_worn.min(erases));
        }
        list.members += 1;
        self.heaps.insert(seg, Self::heap(valid, erases), stamp, segments);
    }

    #[inline]
    fn remove(&mut self, seg: Seg, segments: &Segments) {
        // The valid count has changed already, so the heap tells which list the segment is in.
        if let Some(heap) = self.heaps.heap_of(seg) {
            self.lists[heap / S::WEAR_CLASSES as usize].members -= 1;
            self.heaps.remove(seg, segments);
        }
    }

    /// The best score that each list can hold. Returns the list that can hold the best of all.
    fn bound(&mut self, clock: AgeClock) -> usize {
        let (mut top, mut greatest) = (0, f64::NEG_INFINITY);
        for (valid, (list, bound)) in self.lists.iter().zip(&mut self.bounds).enumerate() {
            *bound = f64::NEG_INFINITY;
            if list.members > 0 {
                *bound = S::combine(list.weight, clock.age(list.oldest), list.least_worn);
                if *bound > greatest {
                    (top, greatest) = (valid, *bound);
                }
            }
        }
        top
    }

    /// Looks through a list for a candidate better than `best` that is wanted, and tightens its bounds.
    fn search(
        &mut self,
        valid: usize,
        segments: &Segments,
        clock: AgeClock,
        wanted: &impl Fn(Seg) -> bool,
        best: &mut Option<Best>,
    ) {
        let List { weight, least_worn, .. } = self.lists[valid];
        let (mut oldest, mut least) = (u64::MAX, u32::MAX);
        for class in 0..S::WEAR_CLASSES {
            let heap = Self::heap(valid as u32, class);
            let Some(first) = self.heaps.first(heap) else { continue };
            // The least erase count of this class that the list can hold. The subtraction may wrap, because the number
            // of classes divides 2³².
            let bound = least_worn + class.wrapping_sub(least_worn) % S::WEAR_CLASSES;
            oldest = oldest.min(self.heaps.stamp(first));
            least = least.min(bound);
            self.walk(first, weight, bound, segments, clock, wanted, best);
        }
        (self.lists[valid].oldest, self.lists[valid].least_worn) = (oldest, least);
    }

    /// Walks through a heap from its first member on, as long as a later one may be better than `best`. No member was
    /// erased less than `least` times.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "a loop of its caller's, taken out")]
    fn walk(
        &mut self,
        first: Seg,
        weight: f64,
        least: u32,
        segments: &Segments,
        clock: AgeClock,
        wanted: &impl Fn(Seg) -> bool,
        best: &mut Option<Best>,
    ) {
        let mut at = Some(first);
        while let Some(seg) = at {
            let (stamp, erases) = (self.heaps.stamp(seg), segments.erases(seg));
            let score = S::combine(weight, clock.age(stamp), erases);
            let is_better = best.is_none_or(|best| best.is_behind(score, erases, seg));
            let is_taken = is_better && wanted(seg);
            if is_taken {
                *best = Some(Best { score, erases, seg });
            }
            // Of equal stamps, this member is the best. So the others are not better either, unless it is not wanted.
            let may_equals = is_better && !is_taken;
            let of_younger = S::combine(weight, clock.age(stamp.saturating_add(1)), least);
            if !may_equals && best.is_some_and(|best| of_younger < best.score) {
                return;
            }
            at = self.heaps.next(seg, segments);
        }
    }

    /// The best of the candidates that are `wanted`.
    fn best_of(&mut self, segments: &Segments, clock: AgeClock, wanted: impl Fn(Seg) -> bool) -> Option<Seg> {
        // The list that can hold the best is looked through first, because a good score rules out most others.
        let top = self.bound(clock);
        let mut best = None;
        self.search(top, segments, clock, &wanted, &mut best);
        // It is not looked through again below.
        self.bounds[top] = f64::NEG_INFINITY;
        for valid in 0..self.bounds.len() {
            let bound = self.bounds[valid];
            // A bound that only equals the score counts: the tie may go to a segment in that list.
            if bound > f64::NEG_INFINITY && best.is_none_or(|best: Best| bound >= best.score) {
                self.search(valid, segments, clock, &wanted, &mut best);
            }
        }
        best.map(|best| best.seg)
    }
}

impl<S: AgeScore> VictimSelection for AgeWeighted<S> {
    fn added(&mut self, seg: Seg, segments: &Segments) {
        self.insert(seg, segments);
    }

    #[inline]
    fn invalidated(&mut self, seg: Seg, segments: &Segments) {
        self.remove(seg, segments);
        self.insert(seg, segments);
    }

    fn removed(&mut self, seg: Seg, segments: &Segments) {
        self.remove(seg, segments);
    }

    fn best(&mut self, segments: &Segments, clock: AgeClock, _rng: &mut Rng) -> Option<Seg> {
        self.best_of(segments, clock, |_| true)
    }

    fn best_among(&mut self, segments: &Segments, clock: AgeClock, wanted: &dyn Fn(Seg) -> bool) -> Option<Seg> {
        self.best_of(segments, clock, wanted)
    }

    fn score(&self, seg: Seg, segments: &Segments, clock: AgeClock) -> f64 {
        let weight = self.lists[segments.valid(seg) as usize].weight;
        S::combine(weight, clock.age(self.score.stamp(seg, segments)), segments.erases(seg))
    }
}
