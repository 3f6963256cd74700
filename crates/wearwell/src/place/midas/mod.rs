//! MiDAS, a chain of groups (Oh and others '24), after its authors' simulator.
//!
//! The host writes to the group of hot pages or to the first group behind it. Copies go to the next group; copies out
//! of the last group stay in it. The groups in front are queues with a size. If a queue is longer than its size, its
//! oldest segment is the victim, however full. Otherwise the victim comes from the last group, by the victim policy in
//! force (`cost-benefit-sqrt:sealed` in the paper).
//!
//! The number of groups and their sizes follow the host. From a [histogram of intervals](intervals), a [model](model)
//! predicts write amplification. The division with the least is used if it has at least two groups besides the hot one,
//! and if its prediction is below the measured value. A [filter](filter) learns which pages are hot.
//!
//! Before that, and from a group on that has more valid pages than predicted, the groups are a chain of four classes
//! that share one pool of segments. If emptying gains nothing, the last queue is given up.
//!
//! At a mount, and when the policy is put in force, everything but the classes of segments is lost, and the policy
//! begins with one pool. The search for the oldest segment of a queue looks at all its segments. So the policy suits
//! simulations, and devices of some ten thousand segments.

mod filter;
mod intervals;
mod model;

use alloc::vec;
use alloc::vec::Vec;

use super::{ClassPlacement, Closed, Copied, HostWrite, Opened, Reclaimed, Shape, Wanted};
use crate::addr::{Class, Seg};
use crate::segments::{SegState, Segments};
use filter::{HotFilter, OldPlace};
use intervals::Intervals;
use model::{Load, MOST_GROUPS, Model};

const HOT: u8 = 0;
const FIRST: u8 = 1;

/// The number of classes in the chain that shares the pool, if the pool is not one group.
const CHAIN: u8 = 4;

/// The group of segments in the pool.
const POOL: u8 = u8::MAX;

/// Segments that are free, or kept free.
const FREE_SEGMENTS: u32 = 4;

/// A group whose valid fraction exceeds the prediction by this much ends the division from there on.
const TOLERANCE: f64 = 0.1;

/// The number of victims that have to gain a segment.
const PATIENCE: u32 = 25;

/// Measurements from emptying a group.
#[derive(Debug, Clone, Copy, Default)]
struct Emptied {
    pages: u64,
    copied: u64,
}

/// Takes a quarter of a byte a page, 8 bytes for each sampled page (one in 4 to 100), and 17 bytes a segment. The
/// histogram takes 128 bytes for each segment's worth of logical pages, or up to 2,048 if the epoch has to be longer.
///
/// Invariants: groups 0 to `last` − 1 are queues with a size in `sizes`. If `sizes` is empty, all segments are in the
/// pool. A segment keeps the group that it was opened for until that group is given up.
#[derive(Debug, Clone)]
pub struct Midas {
    shape: Shape,
    filter: HotFilter,
    intervals: Intervals,
    /// The group of each segment.
    group: Vec<u8>,
    sealed: Vec<Option<u64>>,
    /// The full segments of each queue, and the most that it may have.
    full: Vec<u32>,
    sizes: Vec<u32>,
    /// For each queue, the predicted valid fraction, and the one measured since `since`.
    valid: Vec<f64>,
    emptied: Vec<Emptied>,
    since: Option<u64>,
    /// The first group that is not a queue.
    last: u8,
    is_chain: bool,
    host_pages: u64,
    copied_pages: u64,
    victims: u32,
    gained_pages: u64,
    clock: u64,
}

impl Midas {
    pub fn new(shape: Shape) -> Self {
        let segments = shape.segments as usize;
        Self {
            shape,
            filter: HotFilter::new(shape.logical_pages),
            intervals: Intervals::new(shape.logical_pages, shape.slots),
            group: vec![POOL; segments],
            sealed: vec![None; segments],
            full: vec![0; MOST_GROUPS + 1],
            sizes: Vec::new(),
            valid: Vec::new(),
            emptied: vec![Emptied::default(); MOST_GROUPS + 1],
            since: None,
            last: FIRST,
            is_chain: true,
            host_pages: 0,
            copied_pages: 0,
            victims: 0,
            gained_pages: 0,
            clock: 0,
        }
    }

    pub fn classes() -> u32 {
        MOST_GROUPS as u32 + u32::from(CHAIN) - 1
    }

    fn is_queue(&self, group: u8) -> bool {
        usize::from(group) < self.sizes.len()
    }

    /// The place of a copy in a segment of `class`.
    fn place_of(&self, class: Class, seg: Seg) -> OldPlace {
        match class.0 {
            HOT => OldPlace::Hot,
            FIRST => OldPlace::First { age: self.age(seg) },
            _ => OldPlace::Other,
        }
    }

    /// Host pages since a segment became full; 0 for an open one.
    fn age(&self, seg: Seg) -> u64 {
        self.sealed[seg.index()].map_or(0, |sealed| self.clock.saturating_sub(sealed))
    }

    /// The class of copies out of a segment.
    fn behind(&self, seg: Seg, class: Class) -> Class {
        let group = self.group[seg.index()];
        if self.is_queue(group) {
            return Class(group + 1);
        }
        // Copies out of the last group stay in it.
        if !self.is_chain {
            return Class(self.last);
        }
        let end = self.last + CHAIN - 1;
        // Segments in the pool may have a class in front of the chain, and count as of its first.
        let from = if class.0 == HOT { HOT } else { class.0.max(self.last) };
        Class(from.saturating_add(1).min(end))
    }
}

/// The division into groups.
impl Midas {
    /// At the end of an epoch: looks for a better division.
    fn divide(&mut self, segments: &Segments) {
        // Since the last look, whatever becomes of this one.
        let measured = 1.0 + self.copied_pages as f64 / self.host_pages.max(1) as f64;
        (self.host_pages, self.copied_pages) = (0, 0);
        let hot = self.filter.take_share();
        // The bounds are those of the authors' simulator.
        let is_too_valid = hot.valid > if hot.segments > 1.0 { 0.18 } else { 0.30 };
        let histogram = self.intervals.histogram();
        self.intervals.begin(is_too_valid);
        if is_too_valid {
            return;
        }
        let load = Load {
            segments: self.shape.segments.saturating_sub(FREE_SEGMENTS),
            slots: self.shape.slots,
            valid_pages: self.written_pages(segments),
            hot,
        };
        let Some(best) = Model::new(load, &histogram).best() else { return };
        if best.sizes.len() < 2 || best.wa > measured {
            return;
        }
        let queues = &best.sizes[..best.sizes.len() - 1];
        // One segment of each is open.
        self.sizes = core::iter::once(&best.hot_segments).chain(queues).map(|&size| size.saturating_sub(1)).collect();
        // `check` does not look at the hot group.
        self.valid = core::iter::once(1.0).chain(best.valid).take(self.sizes.len()).collect();
        self.last = self.sizes.len() as u8;
        self.is_chain = false;
        self.since = None;
        // The time at which a segment became full is unknown if that was before the policy was in force.
        for seg in segments.all().filter(|&seg| matches!(segments.state(seg), SegState::Closed(_))) {
            if self.sealed[seg.index()].is_none() {
                self.group[seg.index()] = POOL;
            }
        }
        self.restrict_groups();
    }

    /// Valid pages without those that seem never to be written again. These are in full segments of the pool in which
    /// all pages are valid, less a twentieth of the pages in the pool.
    fn written_pages(&self, segments: &Segments) -> f64 {
        let pool = || segments.all().filter(|seg| !self.is_queue(self.group[seg.index()]));
        let closed = || pool().filter(|&seg| matches!(segments.state(seg), SegState::Closed(_)));
        let untouched = closed().filter(|&seg| segments.valid(seg) == self.shape.slots).count() as f64;
        let slots = f64::from(self.shape.slots);
        let never = (untouched - 0.05 * closed().count() as f64) * slots;
        let valid: f64 = segments.all().map(|seg| f64::from(segments.valid(seg))).sum();
        let is_much = never >= 0.2 * slots * f64::from(self.shape.segments);
        valid - if is_much { never } else { 0.0 }
    }

    /// Gives up all groups from `group` on. They become a chain with one pool.
    fn give_up(&mut self, group: u8) {
        // The hot group is no queue without the first one.
        let queues = if group <= FIRST { 0 } else { usize::from(group) };
        self.sizes.truncate(queues);
        self.last = group.max(FIRST);
        self.is_chain = true;
        self.since = None;
        self.restrict_groups();
    }

    /// Puts the segments of groups that are no longer queues into the pool, and counts the queues again.
    fn restrict_groups(&mut self) {
        self.full.fill(0);
        self.emptied.fill(Emptied::default());
        for (group, sealed) in self.group.iter_mut().zip(&self.sealed) {
            if usize::from(*group) >= self.sizes.len() {
                *group = POOL;
            } else if sealed.is_some() {
                self.full[usize::from(*group)] += 1;
            }
        }
    }

    /// Compares the queues with the prediction, once all of them are full.
    fn check(&mut self) {
        let Some(since) = self.since else { return };
        if (self.clock - since) as f64 <= 0.3 * self.intervals.epoch() as f64 {
            return;
        }
        // A group of which nothing was emptied has no valid fraction.
        let differs = |&group: &usize| {
            let Emptied { pages, copied } = self.emptied[group];
            pages > 0 && copied as f64 / pages as f64 >= self.valid[group] + TOLERANCE
        };
        let irregular = (usize::from(FIRST)..self.sizes.len()).find(differs);
        // The next check is about what is emptied from now on.
        self.since = Some(self.clock);
        self.emptied.fill(Emptied::default());
        if let Some(group) = irregular {
            self.give_up(group as u8);
        }
    }
}

impl ClassPlacement for Midas {
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        // First, because the age of the old copy counts up to it.
        self.clock = write.clock;
        self.host_pages += 1;
        self.intervals.note_written(write.lpn, write.old.is_some());
        let old = write.old.map(|old| self.place_of(old.class(), old.seg()));
        let is_hot = old.is_some_and(|old| self.filter.overwritten(write.lpn, old));
        self.filter.wrote(is_hot, self.full[usize::from(HOT)], self.shape.slots);
        Class(if is_hot { HOT } else { FIRST })
    }

    fn copied(&mut self, copy: Copied) -> Class {
        self.copied_pages += 1;
        // Pages that a division moved to the pool are no longer in the first group.
        let is_first = copy.from.0 == FIRST && (self.is_chain || self.group[copy.victim.index()] == FIRST);
        if copy.from.0 == HOT || is_first {
            self.filter.note_copy(copy.lpn, copy.from.0 == HOT);
        }
        self.behind(copy.victim, copy.from)
    }

    fn opened(&mut self, segment: Opened) {
        // An open segment has no age, and is not counted as full.
        self.sealed[segment.seg.index()] = None;
        self.group[segment.seg.index()] =
            if self.is_queue(segment.class.0) || segment.class.0 == HOT { segment.class.0 } else { POOL };
    }

    fn closed(&mut self, segment: Closed) {
        self.sealed[segment.seg.index()] = Some(segment.clock);
        let group = self.group[segment.seg.index()];
        if group != POOL {
            self.full[usize::from(group)] += 1;
        }
    }

    fn reclaimed(&mut self, segment: Reclaimed) {
        let seg = segment.seg.index();
        let group = core::mem::replace(&mut self.group[seg], POOL);
        // Nobody knows when a segment that a mount found was full, so it was never counted.
        if group != POOL && self.sealed[seg].is_some() {
            self.full[usize::from(group)] -= 1;
            self.emptied[usize::from(group)].pages += u64::from(self.shape.slots);
            self.emptied[usize::from(group)].copied += u64::from(segment.copied_pages);
        }
        if group == HOT {
            self.filter.note_emptied(self.age(segment.seg), segment.copied_pages);
        }
        self.victims += 1;
        self.gained_pages += u64::from(self.shape.slots.saturating_sub(segment.copied_pages));
    }

    fn has_a_say_in_victims() -> bool {
        true
    }

    fn victim(&mut self, segments: &Segments) -> Wanted {
        // Now and not in `host`: a division looks at all segments.
        if self.intervals.is_complete() {
            self.divide(segments);
        }
        self.check();
        if self.victims >= PATIENCE {
            let gained_nothing = self.gained_pages < u64::from(self.shape.slots);
            (self.victims, self.gained_pages) = (0, 0);
            if gained_nothing && self.last > FIRST {
                self.give_up(self.last - 1);
            }
        }
        let Some(group) = (0..self.sizes.len()).find(|&group| self.full[group] > self.sizes[group]) else {
            return if self.sizes.is_empty() { Wanted::Any } else { Wanted::Among };
        };
        // The last queue runs over when all before it are full.
        if group + 1 == self.sizes.len() && self.since.is_none() {
            self.since = Some(self.clock);
            self.emptied.fill(Emptied::default());
        }
        let is_full = |seg: &Seg| usize::from(self.group[seg.index()]) == group && self.sealed[seg.index()].is_some();
        // Segments without valid pages are erased without being victims.
        let has_data = |seg: &Seg| matches!(segments.state(*seg), SegState::Closed(_)) && segments.valid(*seg) > 0;
        let oldest = segments.all().filter(is_full).filter(has_data).min_by_key(|seg| segments.closed(*seg));
        // A queue may be too long by segments that are empty already.
        oldest.map_or(Wanted::Among, Wanted::This)
    }

    fn may_take(&self, seg: Seg) -> bool {
        !self.is_queue(self.group[seg.index()])
    }

    fn table_bytes(&self) -> u64 {
        self.filter.table_bytes() + self.intervals.table_bytes() + 17 * self.group.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::Lpn;

    const SHAPE: Shape = Shape { logical_pages: 64, segments: 12, slots: 8 };

    /// Segments 0 to 8 full, of classes 0, 0, 0, 1, 1, 1, 2, 2, 2, in this order.
    fn filled(sizes: &[u32]) -> (Midas, Segments) {
        let mut place = Midas::new(SHAPE);
        place.sizes = sizes.to_vec();
        place.valid = vec![0.5; sizes.len()];
        place.last = (sizes.len() as u8).max(FIRST);
        place.is_chain = sizes.is_empty();
        let mut table = Segments::new(SHAPE.segments, SHAPE.slots);
        for at in 0..9 {
            let (seg, class, clock) = (Seg(at), Class(at as u8 / 3), u64::from(at) * 8);
            table.open(seg, class, clock);
            place.opened(Opened { seg, class, clock });
            (0..SHAPE.slots).for_each(|_| table.gain(seg, clock));
            table.close(seg, clock + 8);
            place.closed(Closed { seg, class, clock: clock + 8 });
        }
        (place, table)
    }

    fn reclaim(place: &mut Midas, seg: Seg, copied_pages: u32) {
        place.reclaimed(Reclaimed { seg, class: Class(0), clock: 80, copied_pages });
    }

    fn copied(place: &mut Midas, victim: u32, from: u8) -> u8 {
        let (victim_utilization, device_utilization) = (0.5, 0.5);
        let (lpn, victim, from) = (Lpn(0), Seg(victim), Class(from));
        place.copied(Copied { lpn, clock: 0, victim, from, victim_utilization, device_utilization }).0
    }

    #[test]
    fn a_queue_that_is_too_long_gives_its_oldest_segment() {
        let (mut place, table) = filled(&[2, 2]);
        assert_eq!(place.victim(&table), Wanted::This(Seg(0)));
        reclaim(&mut place, Seg(0), 3);
        assert_eq!(place.victim(&table), Wanted::This(Seg(3)));
        reclaim(&mut place, Seg(3), 3);
        assert_eq!(place.victim(&table), Wanted::Among);
        let taken: Vec<u32> = (0..9).filter(|&seg| place.may_take(Seg(seg))).collect();
        assert_eq!(taken, [0, 3, 6, 7, 8], "the last group, and what is empty");
    }

    #[test]
    fn copies_go_one_group_further_and_the_last_keeps_its_own() {
        let (mut place, _) = filled(&[2, 2]);
        assert_eq!([(0, 0), (3, 1), (6, 2)].map(|(seg, class)| copied(&mut place, seg, class)), [1, 2, 2]);
        let (mut chain, _) = filled(&[]);
        assert_eq!([0, 1, 2, 4, 15].map(|class| copied(&mut chain, 6, class)), [1, 2, 3, 4, 4]);
    }

    #[test]
    fn a_queue_more_valid_than_predicted_is_given_up_with_all_behind_it() {
        for (copied_pages, queues) in [(4, 3), (5, 0)] {
            let (mut place, table) = filled(&[9, 9, 9]);
            // Classes 2 and 1 were emptied since all queues were full: 4 of 8 pages were to be valid.
            place.since = Some(0);
            place.clock = place.intervals.epoch();
            reclaim(&mut place, Seg(6), 4);
            reclaim(&mut place, Seg(3), copied_pages);
            place.victim(&table);
            assert_eq!((place.sizes.len(), place.is_chain), (queues, queues == 0), "{copied_pages}");
        }
    }

    #[test]
    fn victims_that_gain_nothing_end_the_last_queue() {
        let (mut place, table) = filled(&[9, 9, 9]);
        (0..PATIENCE).for_each(|_| reclaim(&mut place, Seg(9), SHAPE.slots));
        place.victim(&table);
        assert_eq!((place.sizes.len(), place.last, place.is_chain), (2, 2, true));
        assert!(place.may_take(Seg(6)) && !place.may_take(Seg(3)));
    }
}
