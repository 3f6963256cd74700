//! MultiLog (Stoica and Ailamaki '13), in the variant of SepBIT's simulator (Wang '22): a log for each level of update
//! rate.
//!
//! A page begins in level 0, and goes one level further whenever it is copied. The last level is opened when the one
//! before it holds a segment's worth of valid pages. A page that is rewritten sooner than the pages of its level are
//! expected to be goes one level back, with a probability that grows with how much sooner. The pages of a level are
//! expected to be rewritten once in half as many host pages as it has valid pages, less the share of pages that were
//! invalid when its segments were emptied.
//!
//! The level of a page is the class of the segment that it lies in. So a mount and a change of policy forget no level.
//! They forget the shares, and on NOR, and when the policy is changed, the times of the last writes. Behind a
//! checkpoint a copied page counts as written at its copy, and goes back more often than it should.

use super::last_writes::LastWrites;
use super::{ClassCount, ClassPlacement, Copied, Found, HostWrite, OldCopy, Opened, Reclaimed, Shape, Wanted};
use crate::addr::Class;
use crate::random::Rng;
use crate::segments::Segments;

/// What is known of a level.
#[derive(Debug, Clone, Copy, Default)]
struct Level {
    /// Valid pages when a victim was last chosen.
    valid: u64,
    /// Pages of the segments that were emptied, and those of them that had to be moved.
    emptied: u64,
    moved: u64,
}

impl Level {
    /// Host pages after which half of its pages are expected to be rewritten; none before a segment was emptied.
    fn expected(self) -> Option<u64> {
        // The counts of pages never stop growing, so the product with the valid pages needs 128 bits.
        let share = |pages: u64| u128::from(self.valid) * u128::from(pages) / (2 * u128::from(self.emptied));
        (self.emptied > 0).then(|| share(self.moved) as u64)
    }
}

/// Takes 4 bytes a page.
///
/// Invariant: no page goes to a level beyond `last`, which is a class of this policy.
#[derive(Debug, Clone)]
pub struct MultiLog {
    writes: LastWrites,
    levels: [Level; Class::COUNT],
    last: u8,
    classes: u8,
    slots: u32,
    rng: Rng,
}

impl MultiLog {
    pub fn new(shape: Shape, classes: ClassCount) -> Self {
        Self {
            writes: LastWrites::new(shape.logical_pages),
            levels: [Level::default(); Class::COUNT],
            last: 0,
            classes: classes.get(),
            slots: shape.slots,
            rng: Rng::new(0),
        }
    }

    pub fn classes(classes: ClassCount) -> u32 {
        u32::from(classes.get())
    }

    /// The level of pages in segments of a class. Those that wear leveling moved rest.
    fn level(&self, class: Class) -> u8 {
        class.0.min(self.last)
    }

    /// True if a page of this level that was rewritten after `age` host pages goes one level back.
    fn goes_back(&mut self, level: u8, age: u64) -> bool {
        // `below` takes 32 bits. Half of the valid pages are never more.
        let expected = self.levels[usize::from(level)].expected().unwrap_or(0).min(u64::from(u32::MAX));
        // `expected` is greater than the age where `below` is asked, and so not 0.
        level > 0 && age < expected && u64::from(self.rng.below(expected as u32)) < expected - age
    }
}

impl ClassPlacement for MultiLog {
    #[inline]
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        let level = write.old.map(OldCopy::class).map_or(0, |class| self.level(class));
        // A page of unknown age is not early.
        let age = self.writes.age(write.lpn, write.clock).unwrap_or(u64::MAX);
        self.writes.note(write.lpn, write.clock);
        Class(level - u8::from(self.goes_back(level, age)))
    }

    #[inline]
    fn copied(&mut self, copy: Copied) -> Class {
        let level = self.level(copy.from);
        // A further level costs an open segment, so it waits until the last one has the pages of a segment.
        let may_open = self.last + 1 < self.classes;
        if level == self.last && may_open && self.levels[usize::from(level)].valid >= u64::from(self.slots) {
            self.last += 1;
        }
        Class(self.last.min(level + 1))
    }

    fn opened(&mut self, segment: Opened) {
        // Also what a mount found.
        if segment.class.0 < self.classes {
            self.last = self.last.max(segment.class.0);
        }
    }

    fn found(&mut self, pages: &mut dyn Iterator<Item = Found>) {
        self.writes.note_found(pages);
    }

    fn reclaimed(&mut self, segment: Reclaimed) {
        let level = &mut self.levels[usize::from(segment.class.0)];
        level.emptied += u64::from(self.slots);
        level.moved += u64::from(segment.copied_pages);
    }

    fn has_a_say_in_victims() -> bool {
        true
    }

    fn victim(&mut self, segments: &Segments) -> Wanted {
        // Counted anew for each victim: the policy is not told where discarded pages lay.
        self.levels.iter_mut().for_each(|level| level.valid = 0);
        for seg in segments.all() {
            self.levels[usize::from(segments.class(seg).0)].valid += u64::from(segments.valid(seg));
        }
        Wanted::Any
    }

    fn table_bytes(&self) -> u64 {
        self.writes.table_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::{Lpn, Ppn, Seg, Slots};
    use crate::ftl::WriteHint;

    const SHAPE: Shape = Shape { logical_pages: 64, segments: 8, slots: 4 };

    /// A segment of each of the classes 0 to 2, full of valid pages.
    fn table() -> Segments {
        let mut table = Segments::new(SHAPE.segments, SHAPE.slots);
        for seg in 0..3_u8 {
            table.open(Seg(u32::from(seg)), Class(seg), 0);
            (0..SHAPE.slots).for_each(|_| table.gain(Seg(u32::from(seg)), 0));
        }
        table
    }

    fn place(classes: u32) -> MultiLog {
        MultiLog::new(SHAPE, ClassCount::new(classes).expect("a count"))
    }

    #[test]
    fn copies_go_one_level_further_and_open_one_when_the_last_is_full() {
        let mut place = place(3);
        assert_eq!(place.copied(Copied::out_of(Class(0))), Class(0), "nothing is known to be in level 0");
        place.victim(&table());
        let go = [0, 0, 1, 2, Class::WEAR.0].map(|from| place.copied(Copied::out_of(Class(from))).0);
        assert_eq!(go, [1, 1, 2, 2, 2], "one after the other, up to the last of three classes");
    }

    #[test]
    fn what_is_rewritten_early_goes_one_level_back() {
        let (mut place, table, slots) = (place(3), table(), Slots::new(SHAPE.slots));
        place.opened(Opened { seg: Seg(2), class: Class(2), clock: 0 });
        let write = |place: &mut MultiLog, age: u64| {
            let old = OldCopy::new(Ppn(2 * SHAPE.slots), &slots, &table);
            place.writes.note(Lpn(1), 0);
            place.host(HostWrite { lpn: Lpn(1), hint: WriteHint::NONE, clock: age, old }).0
        };
        place.victim(&table);
        assert_eq!(write(&mut place, 0), 2, "of level 2 no segment was emptied yet");
        let emptied = Reclaimed { seg: Seg(7), class: Class(2), clock: 0, copied_pages: SHAPE.slots };
        place.reclaimed(emptied);
        // Four valid pages, none of which was invalid: two host pages are expected.
        assert_eq!(write(&mut place, 0), 1);
        assert_eq!(write(&mut place, 2), 2);
        let back = (0..1000).filter(|_| write(&mut place, 1) == 1).count();
        assert!((400..600).contains(&back), "{back}");
    }
}
