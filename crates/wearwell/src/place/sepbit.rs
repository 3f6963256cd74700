//! SepBIT (Wang, Li, Lee, Xu, Li and Bao '22): classes by the time at which a page is expected to become invalid.
//!
//! A page whose last version was short-lived is expected to be overwritten soon again. A host write goes to class 0 if
//! the version that it replaces lived for less than ℓ, otherwise to class 1. ℓ is infinite at first. Each time that 16
//! segments of class 0 have been reclaimed, it becomes their mean lifetime. Copies out of class 0 go to class 2. Other
//! copies go by their age to class 3 (below 4 ℓ), 4 (below 16 ℓ) or 5.
//!
//! Times are in host pages. On NAND, a mount that scans knows the age of each page from the numbers in the tags. One by
//! checkpoint knows when the segment was opened, so that a copied page counts as written at its copy. On NOR, and if
//! the policy is put in force on a live disk, a page of unknown age counts as never written. ℓ starts anew.

use alloc::vec;
use alloc::vec::Vec;

use super::last_writes::LastWrites;
use super::{ClassPlacement, Copied, Found, HostWrite, Opened, Reclaimed, Shape};
use crate::addr::{Class, Lpn};

const SHORT_LIVED: Class = Class(0);
const LONG_LIVED: Class = Class(1);
const OUT_OF_SHORT_LIVED: Class = Class(2);
const YOUNG: Class = Class(3);
const OLDER: Class = Class(4);
const OLDEST: Class = Class(5);

/// Segments of class 0 over which ℓ is the mean.
const SAMPLES: u64 = 16;

/// 4 bytes a page and 8 a segment.
#[derive(Debug, Clone)]
pub struct SepBit {
    writes: LastWrites,
    /// When each segment was opened.
    opened: Vec<u64>,
    /// ℓ.
    short_life: u64,
    /// Segments of class 0 reclaimed since ℓ was last computed.
    lives: u64,
    lives_sum: u64,
}

impl SepBit {
    pub fn new(shape: Shape) -> Self {
        Self {
            writes: LastWrites::new(shape.logical_pages),
            opened: vec![0; shape.segments as usize],
            short_life: u64::MAX,
            lives: 0,
            lives_sum: 0,
        }
    }

    pub fn classes() -> u32 {
        6
    }
}

impl ClassPlacement for SepBit {
    #[inline]
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        // A page that is written again after a discard counts as new: its stamp is not the age of what is replaced.
        let age = write.old.and_then(|_| self.writes.age(write.lpn, write.clock));
        self.writes.note(write.lpn, write.clock);
        if age.is_some_and(|age| age < self.short_life) { SHORT_LIVED } else { LONG_LIVED }
    }

    #[inline]
    fn copied(&mut self, copy: Copied) -> Class {
        if copy.from == SHORT_LIVED {
            return OUT_OF_SHORT_LIVED;
        }
        // ℓ is as large as can be at first, so its multiples stop there.
        match self.writes.age(copy.lpn, copy.clock) {
            Some(age) if age < self.short_life.saturating_mul(4) => YOUNG,
            Some(age) if age < self.short_life.saturating_mul(16) => OLDER,
            _ => OLDEST,
        }
    }

    #[inline]
    fn expect(&self, pages: &[Lpn]) {
        self.writes.fetch(pages);
    }

    fn opened(&mut self, segment: Opened) {
        self.opened[segment.seg.index()] = segment.clock;
    }

    fn found(&mut self, pages: &mut dyn Iterator<Item = Found>) {
        self.writes.note_found(pages);
    }

    fn reclaimed(&mut self, segment: Reclaimed) {
        if segment.class != SHORT_LIVED {
            return;
        }
        self.lives += 1;
        self.lives_sum += segment.clock.saturating_sub(self.opened[segment.seg.index()]);
        if self.lives == SAMPLES {
            self.short_life = self.lives_sum / SAMPLES;
            (self.lives, self.lives_sum) = (0, 0);
        }
    }

    fn table_bytes(&self) -> u64 {
        self.writes.table_bytes() + 8 * self.opened.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::{Ppn, Seg, Slots};
    use crate::ftl::WriteHint;
    use crate::place::OldCopy;
    use crate::segments::Segments;

    const SHAPE: Shape = Shape { logical_pages: 4, segments: 4, slots: 2 };

    fn write(place: &mut SepBit, lpn: u32, clock: u64) -> u8 {
        let slots = Slots::new(SHAPE.slots);
        let segments = Segments::new(SHAPE.segments, SHAPE.slots);
        let old = OldCopy::new(Ppn(0), &slots, &segments);
        place.host(HostWrite { lpn: Lpn(lpn), hint: WriteHint::NONE, clock, old }).0
    }

    fn copy(place: &mut SepBit, lpn: u32, clock: u64, from: Class) -> u8 {
        let (victim_utilization, device_utilization) = (0.5, 0.5);
        place.copied(Copied { lpn: Lpn(lpn), clock, victim: Seg(0), from, victim_utilization, device_utilization }).0
    }

    /// A policy after 16 segments of class 0 that lived for 100 host pages, and after others that do not count.
    fn with_short_life_100() -> SepBit {
        let mut place = SepBit::new(SHAPE);
        for life in 93..109 {
            for (class, life) in [(SHORT_LIVED, life), (LONG_LIVED, 7), (Class::WEAR, 7)] {
                place.opened(Opened { seg: Seg(1), class, clock: 500 });
                place.reclaimed(Reclaimed { seg: Seg(1), class, clock: 500 + life, copied_pages: 0 });
            }
        }
        place
    }

    #[test]
    fn host_pages_go_by_the_life_of_what_they_replace() {
        let mut place = with_short_life_100();
        assert_eq!(place.short_life, 100);
        assert_eq!([0, 99, 199, 200].map(|clock| write(&mut place, 2, clock)), [1, 0, 1, 0]);
        let mut new = SepBit::new(SHAPE);
        assert_eq!([0, 1_000_000].map(|clock| write(&mut new, 2, clock)), [1, 0], "as long as nothing is known");
    }

    #[test]
    fn copies_go_by_age_unless_they_come_out_of_class_0() {
        let mut place = with_short_life_100();
        write(&mut place, 1, 1000);
        let ages = [0, 399, 400, 1599, 1600].map(|age| copy(&mut place, 1, 1000 + age, Class(3)));
        assert_eq!(ages, [3, 3, 4, 4, 5]);
        assert_eq!(copy(&mut place, 1, 1000, SHORT_LIVED), 2);
        assert_eq!(copy(&mut place, 1, 1000, Class::WEAR), 3);
        assert_eq!(copy(&mut place, 0, 1000, Class(1)), 5, "nothing is known of it");
        place.found(&mut [Found { lpn: Lpn(0), written: 600 }].into_iter());
        assert_eq!(copy(&mut place, 0, 1000, Class(1)), 4, "a mount knew it");
    }

    #[test]
    fn without_short_lives_hosts_and_copies_are_apart() {
        let mut place = SepBit { short_life: 0, ..SepBit::new(SHAPE) };
        for clock in 0..20 {
            assert_eq!(write(&mut place, clock as u32 % 4, clock), 1);
            assert_eq!(copy(&mut place, clock as u32 % 4, clock, Class(1)), 5);
        }
    }
}
