//! Groups by remaining life, after NoDaP, the placement that DOGI (FAST '26, section 3.1) measures itself by.
//!
//! A page goes to the first group whose end is no nearer than the page's death. So a segment of any group but the last
//! dies as a whole, soon after it was filled, and costs no copy. The last group takes what lives longest, and is
//! cleaned greedily. Where the groups end is searched: there is no closed form.
//!
//! Ours, not DOGI's: which ends are tried, and when a segment of another group is cleaned ([`LastGroupFirst`]).

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use wearwell::clean::which::{AgeClock, VictimSelection};
use wearwell::page::Segments;
use wearwell::place::{ClassCount, ClassPlacement, Copied, HostWrite};
use wearwell::{Class, Rng, Seg};

use super::future::Future;
use crate::engine::OwnPolicies;
use crate::run::{Progress, RunError};

/// Where groups of remaining life end: rising numbers of host pages. The last group has no end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    ends: Vec<u32>,
}

impl Groups {
    /// The most groups.
    pub const MOST: u32 = ClassCount::MOST;

    /// Groups that end so; one more than there are ends.
    ///
    /// # Panics
    /// If there are more than [`MOST`](Self::MOST).
    pub fn new(mut ends: Vec<u32>) -> Self {
        assert!(ends.len() < Self::MOST as usize, "a group is a class");
        ends.sort_unstable();
        Self { ends }
    }

    /// The ends.
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// Groups.
    pub fn count(&self) -> u32 {
        self.ends.len() as u32 + 1
    }

    /// The group of a page that dies in so many host pages.
    #[inline]
    fn of(&self, life: u32) -> Class {
        Class(self.ends.iter().position(|&end| life <= end).unwrap_or(self.ends.len()) as u8)
    }

    fn with(&self, end: u32) -> Self {
        Self::new(self.ends.iter().copied().chain([end]).collect())
    }

    /// With some ends at `by` times as much.
    fn with_ends_moved(&self, which: Range<usize>, by: f64) -> Self {
        let mut ends = self.ends.clone();
        ends[which].iter_mut().for_each(|end| *end = ((f64::from(*end) * by) as u32).max(1));
        Self::new(ends)
    }

    /// Placement and victims for these groups.
    pub fn policies(&self, future: &Arc<Future>) -> OwnPolicies {
        let last = Class(self.ends.len() as u8);
        // `new` has asserted that there are few enough groups.
        let classes = ClassCount::new(self.count()).unwrap_or(ClassCount::ONE);
        OwnPolicies::default()
            .placement("nodap", classes, Nodap::new(self.clone(), Arc::clone(future)))
            .victims("last group first", LastGroupFirst { last })
    }
}

/// The placement.
#[derive(Debug)]
pub struct Nodap {
    groups: Groups,
    future: Arc<Future>,
    /// When the newest version of each page dies.
    dies: Vec<u32>,
}

impl Nodap {
    /// A placement that is fed the future of what it will be asked.
    pub fn new(groups: Groups, future: Arc<Future>) -> Self {
        Self { dies: vec![Future::NEVER; future.pages()], groups, future }
    }

    #[inline]
    fn group(&self, dies: u32, clock: u64) -> Class {
        // What never dies must not come nearer to its death as the clock goes on.
        let life = if dies == Future::NEVER { u64::from(dies) } else { u64::from(dies).saturating_sub(clock) };
        self.groups.of(life as u32)
    }
}

impl ClassPlacement for Nodap {
    #[inline]
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        let dies = self.future.dies(write.clock);
        if let Some(known) = self.dies.get_mut(write.lpn.0 as usize) {
            *known = dies;
        }
        self.group(dies, write.clock)
    }

    #[inline]
    fn copied(&mut self, copy: Copied) -> Class {
        let dies = self.dies.get(copy.lpn.0 as usize).copied().unwrap_or(Future::NEVER);
        self.group(dies, copy.clock)
    }
}

/// The segment with the fewest pages to copy, where one of another group than the last counts as five sixths of a
/// segment more: its pages are about to die, so that copies of them are wasted. But copying most of a segment to gain a
/// few pages costs more than that: where the last group is nearly full, write amplification is 7 % less than with a
/// rule that always takes the last group first (the book, "How far from the best").
///
/// It looks at every segment for each victim. There are few of those.
#[derive(Debug)]
pub struct LastGroupFirst {
    last: Class,
}

impl VictimSelection for LastGroupFirst {
    fn added(&mut self, _seg: Seg, _segments: &Segments) {}

    fn invalidated(&mut self, _seg: Seg, _segments: &Segments) {}

    fn removed(&mut self, _seg: Seg, _segments: &Segments) {}

    fn best(&mut self, segments: &Segments, _clock: AgeClock, _rng: &mut Rng) -> Option<Seg> {
        let wasted = segments.slots() - segments.slots() / 6;
        let candidates = segments.all().filter(|&seg| segments.is_candidate(seg));
        candidates.min_by_key(|&seg| {
            let is_last = segments.class(seg) == self.last;
            let cost = segments.valid(seg) + if is_last { 0 } else { wasted };
            // Of equal costs the last group comes first. Its pages live on, and those of other groups are about to die.
            // Then ties go as in every policy: to the least worn segment, then to the lowest number.
            (cost, !is_last, segments.erases(seg), seg.0)
        })
    }

    fn score(&self, seg: Seg, segments: &Segments, _clock: AgeClock) -> f64 {
        f64::from(segments.slots() - segments.valid(seg))
    }
}

/// What groups cost.
type Cost<'a> = &'a (dyn Fn(&Groups) -> Result<f64, RunError> + Sync);

/// The search for the best ends, a group at a time.
///
/// Of all ends that grow by [`STEP`](Self::STEP) the one that helps most is added. Then each end is moved up and down,
/// and then all together, in several [`ROUNDS`](Self::ROUNDS).
#[derive(Debug)]
pub(super) struct Search {
    candidates: Vec<u32>,
    best: Groups,
    done: u64,
}

impl Search {
    const STEP: f64 = 1.9;
    /// By how much ends are moved in each round.
    const ROUNDS: [f64; 3] = [1.25, 1.25, 1.1];

    /// A search that begins with one group. The first end to try is a segment's pages, the last six times the device's.
    pub(super) fn new(pages_per_segment: u32, logical_pages: u64) -> Self {
        let most = 6.0 * logical_pages as f64;
        let ends = std::iter::successors(Some(f64::from(pages_per_segment)), |end| Some(end * Self::STEP));
        let candidates = ends.take_while(|&end| end <= most && end < f64::from(Future::NEVER));
        Self { candidates: candidates.map(|end| end as u32).collect(), best: Groups::new(Vec::new()), done: 0 }
    }

    /// Costs that are looked at for up to `most` groups.
    pub(super) fn steps(&self, most: u32) -> u64 {
        let moves = |groups| Self::ROUNDS.len() as u64 * 2 * groups;
        (2..=u64::from(most)).map(|groups| self.candidates.len() as u64 + moves(groups)).sum()
    }

    /// Adds a group. Returns the best ends, and what they cost.
    pub(super) fn add_group(&mut self, cost: Cost<'_>, progress: &mut dyn Progress) -> Result<(Groups, f64), RunError> {
        let with_one_more: Vec<Groups> = self.candidates.iter().map(|&end| self.best.with(end)).collect();
        // A group is added even if it costs more: the least is sought among those with as many groups.
        let (mut best, mut least) = (self.best.clone(), f64::INFINITY);
        self.try_all(with_one_more, cost, progress, (&mut best, &mut least))?;
        // `best` changes while ends are tried, so each end is moved from the best place so far.
        for step in Self::ROUNDS {
            for at in 0..best.ends.len() {
                let moved = [1.0 / step, step].map(|by| best.with_ends_moved(at..at + 1, by));
                self.try_all(moved.into(), cost, progress, (&mut best, &mut least))?;
            }
            let moved = [1.0 / step, step].map(|by| best.with_ends_moved(0..best.ends.len(), by));
            self.try_all(moved.into(), cost, progress, (&mut best, &mut least))?;
        }
        // The next group is added to these ends.
        self.best = best.clone();
        Ok((best, least))
    }

    /// Looks at the costs of all `tried`, as many at a time as there are processors. The first of equals is taken.
    fn try_all(
        &mut self,
        tried: Vec<Groups>,
        cost: Cost<'_>,
        progress: &mut dyn Progress,
        (best, least): (&mut Groups, &mut f64),
    ) -> Result<(), RunError> {
        // The costs come in the order of `tried`, however many run at once. So ties fall alike on every machine.
        let costs: Vec<_> = tried.par_iter().map(cost).collect();
        self.done += tried.len() as u64;
        for (groups, cost) in tried.into_iter().zip(costs) {
            let cost = cost?;
            if cost < *least {
                (*best, *least) = (groups, cost);
            }
        }
        progress.advance(self.done);
        if progress.is_stopped() { Err(RunError::Stopped { phase: "nodap", command: self.done }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_of_the_first_group_that_it_does_not_outlive() {
        let groups = Groups::new(vec![100, 10]);
        assert_eq!([0, 10, 11, 100, 101, Future::NEVER].map(|life| groups.of(life).0), [0, 0, 1, 1, 2, 2]);
        assert_eq!(groups.count(), 3);
    }

    #[test]
    fn the_search_finds_ends_that_cost_least() {
        let wanted = [300.0, 20_000.0];
        let cost = |groups: &Groups| {
            let misses = wanted.iter().map(|want: &f64| {
                let off = groups.ends().iter().map(|&end| (f64::from(end) / want).ln().abs());
                off.fold(10.0, f64::min)
            });
            Ok(misses.sum())
        };
        let mut search = Search::new(64, 4096);
        let (_, of_one_end) = search.add_group(&cost, &mut ()).expect("a cost");
        let (groups, least) = search.add_group(&cost, &mut ()).expect("a cost");
        assert!(least < 0.7 && of_one_end > 4.0, "{groups:?} {least}");
        assert_eq!(search.done, search.steps(3));
    }
}
