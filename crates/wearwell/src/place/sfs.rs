//! SFS (Min and others '12), in the variant of SepBIT's simulator (Wang '22): pages and segments by how hot they are.
//!
//! A page is as hot as its number of writes over the host pages written since the last of them. A segment is as hot as
//! the writes of its pages over the sum of these times. Whenever a victim is chosen, the segments are divided into
//! groups of like heat, by three rounds of k-means from the centres of the last time. A page goes to the class of the
//! nearest centre, the hottest first, whether the host writes it or cleaning copies it. A page's first write is as hot
//! as can be.
//!
//! A page that the host discards stays in the sums of its segment. A mount and a change of policy forget the counts and
//! the sums. On NAND a mount that scans knows when pages were last written; behind a checkpoint a copied page counts as
//! written at its copy.

use alloc::vec;
use alloc::vec::Vec;

use super::last_writes::LastWrites;
use super::{ClassCount, ClassPlacement, Closed, Copied, Found, HostWrite, OldCopy, Opened, Reclaimed, Shape, Wanted};
use crate::addr::{Class, Lpn, Seg};
use crate::segments::{SegState, Segments};

/// Rounds of k-means.
const ROUNDS: u32 = 3;

/// The pages of a segment.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    pages: u32,
    /// Of their writes.
    writes: u64,
    /// Of the clocks at their last writes.
    clocks: u64,
}

impl Sums {
    fn add(&mut self, writes: u32, clock: u64) {
        self.pages += 1;
        self.writes += u64::from(writes);
        self.clocks += clock;
    }

    /// What a mount or a change of policy forgot is not there to be taken out.
    fn take(&mut self, writes: u32, clock: u64) {
        self.pages = self.pages.saturating_sub(1);
        self.writes = self.writes.saturating_sub(u64::from(writes));
        self.clocks = self.clocks.saturating_sub(clock);
    }

    fn heat(self, clock: u64) -> Option<f64> {
        // A segment of which nothing is known takes no part in the groups.
        (self.pages > 0).then(|| heat(self.writes, (u64::from(self.pages) * clock).saturating_sub(self.clocks)))
    }
}

/// Writes over host pages since; what was written just now is as hot as can be.
fn heat(writes: u64, since: u64) -> f64 {
    if since == 0 { f64::MAX } else { writes as f64 / since as f64 }
}

/// Takes 8 bytes a page and 32 a segment.
///
/// Invariant: the centres fall, and there is one for each class.
#[derive(Debug, Clone)]
pub struct Sfs {
    counts: Vec<u32>,
    writes: LastWrites,
    sums: Vec<Sums>,
    /// The open segment of each class.
    open: Vec<Option<Seg>>,
    /// Pages that wait for the next segment of their class.
    waiting: Vec<Sums>,
    centres: Vec<f64>,
    /// The heat of each segment, when a victim is chosen.
    heats: Vec<f64>,
    clock: u64,
}

impl Sfs {
    pub fn new(shape: Shape, classes: ClassCount) -> Self {
        let classes = usize::from(classes.get());
        Self {
            counts: vec![0; shape.logical_pages as usize],
            writes: LastWrites::new(shape.logical_pages),
            sums: vec![Sums::default(); shape.segments as usize],
            open: vec![None; classes],
            waiting: vec![Sums::default(); classes],
            centres: vec![0.0; classes],
            heats: Vec::with_capacity(shape.segments as usize),
            clock: 0,
        }
    }

    pub fn classes(classes: ClassCount) -> u32 {
        u32::from(classes.get())
    }

    fn nearest(&self, heat: f64) -> usize {
        let far = |centre: &f64| (centre - heat).abs();
        // Of equally near ones the coldest; what was never written before is equally far from all, and goes to the
        // hottest.
        let mut best = (0, f64::MAX);
        for (class, centre) in self.centres.iter().enumerate().rev() {
            if far(centre) < best.1 {
                best = (class, far(centre));
            }
        }
        best.0
    }

    /// Enters a page into the segment that it will lie in.
    fn enter(&mut self, class: usize, lpn: Lpn, clock: u64) {
        let count = self.counts[lpn.0 as usize];
        match self.open[class] {
            Some(seg) => self.sums[seg.index()].add(count, clock),
            None => self.waiting[class].add(count, clock),
        }
    }

    /// One round of k-means: each centre moves to the mean of the segments that it is nearest to, or to 0.
    fn settle(&mut self) {
        // No more centres than classes, so each has a place here.
        let mut groups = [(0.0, 0.0); Class::COUNT];
        for &heat in &self.heats {
            let (sum, count) = &mut groups[self.nearest(heat)];
            *sum += heat;
            *count += 1.0;
        }
        for (centre, (sum, count)) in self.centres.iter_mut().zip(groups) {
            *centre = if count > 0.0 { sum / count } else { 0.0 };
        }
    }
}

impl ClassPlacement for Sfs {
    #[inline]
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        let lpn = write.lpn;
        let (count, age) = (self.counts[lpn.0 as usize], self.writes.age(lpn, write.clock));
        // The old copy leaves with the numbers that it was entered with, so before they change.
        if let (Some(old), Some(age)) = (write.old.map(OldCopy::seg), age) {
            self.sums[old.index()].take(count, write.clock.saturating_sub(age));
        }
        // By the writes before this one: counted with it, every page would be as hot as can be.
        let class = age.map_or(0, |age| self.nearest(heat(u64::from(count), age)));
        self.counts[lpn.0 as usize] = count.saturating_add(1);
        self.writes.note(lpn, write.clock);
        self.enter(class, lpn, write.clock);
        self.clock = write.clock;
        Class(class as u8)
    }

    #[inline]
    fn copied(&mut self, copy: Copied) -> Class {
        // A page of which nothing is known is as cold as can be.
        let age = self.writes.age(copy.lpn, copy.clock).unwrap_or(copy.clock);
        let class = self.nearest(heat(u64::from(self.counts[copy.lpn.0 as usize]), age));
        self.enter(class, copy.lpn, copy.clock.saturating_sub(age));
        Class(class as u8)
    }

    fn opened(&mut self, segment: Opened) {
        let class = usize::from(segment.class.0);
        // Segments of wear leveling have a class without a centre.
        if let Some(open) = self.open.get_mut(class) {
            *open = Some(segment.seg);
            // A page is sorted before the segment for it is opened.
            self.sums[segment.seg.index()] = core::mem::take(&mut self.waiting[class]);
        }
    }

    fn closed(&mut self, segment: Closed) {
        if let Some(open) = self.open.get_mut(usize::from(segment.class.0)) {
            *open = None;
        }
    }

    fn found(&mut self, pages: &mut dyn Iterator<Item = Found>) {
        self.writes.note_found(pages);
    }

    fn reclaimed(&mut self, segment: Reclaimed) {
        self.sums[segment.seg.index()] = Sums::default();
    }

    fn has_a_say_in_victims() -> bool {
        true
    }

    fn victim(&mut self, segments: &Segments) -> Wanted {
        // The last write has made it one host page later.
        let clock = self.clock + 1;
        self.heats.clear();
        let closed = segments.all().filter(|&seg| matches!(segments.state(seg), SegState::Closed(_)));
        self.heats.extend(closed.filter_map(|seg| self.sums[seg.index()].heat(clock)));
        // So few segments make no groups: each centre is the heat of one of them.
        if self.heats.len() > self.centres.len() {
            (0..ROUNDS).for_each(|_| self.settle());
        } else if !self.heats.is_empty() {
            let heats = self.heats.iter().cycle();
            self.centres.iter_mut().zip(heats).for_each(|(centre, &heat)| *centre = heat);
        }
        // Classes go from the hottest to the coldest. The means may have passed each other.
        self.centres.sort_unstable_by(|a, b| b.total_cmp(a));
        Wanted::Any
    }

    fn table_bytes(&self) -> u64 {
        let segment_bytes = size_of::<Sums>() + size_of::<f64>();
        4 * self.counts.len() as u64 + self.writes.table_bytes() + (self.sums.len() * segment_bytes) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::WriteHint;

    const SHAPE: Shape = Shape { logical_pages: 64, segments: 8, slots: 2 };

    fn write(place: &mut Sfs, lpn: u32, clock: u64) -> u8 {
        place.host(HostWrite { lpn: Lpn(lpn), hint: WriteHint::NONE, clock, old: None }).0
    }

    /// Segments of two pages each, the first two of one group of heat and the last two of another.
    fn filled() -> (Sfs, Segments) {
        let mut place = Sfs::new(SHAPE, ClassCount::new(2).expect("a count"));
        let mut table = Segments::new(SHAPE.segments, SHAPE.slots);
        for (seg, clock) in (0..4).map(Seg).zip([10, 20, 80, 90]) {
            let class = Class(0);
            table.open(seg, class, clock);
            place.opened(Opened { seg, class, clock });
            for lpn in [2 * seg.0, 2 * seg.0 + 1] {
                assert_eq!(write(&mut place, lpn, clock), 0, "a first write is as hot as can be");
                table.gain(seg, clock);
            }
            table.close(seg, clock);
            place.closed(Closed { seg, class, clock });
        }
        place.clock = 99;
        (place, table)
    }

    #[test]
    fn centres_are_the_means_of_groups_of_segments() {
        let (mut place, table) = filled();
        assert_eq!(place.victim(&table), Wanted::Any);
        // At 100 the pages have waited 90, 80, 20 and 10.
        let mean = |one: f64, other: f64| (1.0 / one + 1.0 / other) / 2.0;
        assert!((place.centres[1] - mean(90.0, 80.0)).abs() < 1e-9, "{:?}", place.centres);
        assert!((place.centres[0] - mean(20.0, 10.0)).abs() < 1e-9, "{:?}", place.centres);
        let copy = |lpn| Copied { lpn: Lpn(lpn), clock: 100, ..Copied::out_of(Class(0)) };
        assert_eq!([0, 7].map(|lpn| place.copied(copy(lpn)).0), [1, 0], "copies go by the same heat");
    }

    #[test]
    fn a_page_leaves_the_sums_of_its_segment_when_it_is_rewritten() {
        let (mut place, table) = filled();
        let slots = crate::addr::Slots::new(SHAPE.slots);
        let old = OldCopy::new(crate::addr::Ppn(0), &slots, &table);
        place.host(HostWrite { lpn: Lpn(0), hint: WriteHint::NONE, clock: 100, old });
        let Sums { pages, writes, clocks } = place.sums[0];
        assert_eq!((pages, writes, clocks), (1, 1, 10));
        let waiting: u32 = place.waiting.iter().map(|sums| sums.pages).sum();
        assert_eq!(waiting, 1, "its class has no open segment yet");
        place.reclaimed(Reclaimed { seg: Seg(0), class: Class(0), clock: 101, copied_pages: 1 });
        assert_eq!(place.sums[0].pages, 0);
    }
}
