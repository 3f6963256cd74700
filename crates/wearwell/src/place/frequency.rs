//! Frequency: classes by how often a page is written, against the mean of all pages.
//!
//! Each page has a count of its host writes, which fades by half while the host writes twice as many pages as there
//! are. The mean is of the counts of all pages that were ever written. The level of a page is the number of times that
//! half the mean has to be multiplied by four to reach its count, and 0 for what was written once.
//!
//! A page that lies long without a write is no longer written as often as its count says. So a copy counts for at most
//! one and a half times the mean, over its age in device fills. A copy of level 1 has outlived pages that are written
//! about as often as most. All such copies share a class of their own. Otherwise host writes and copies of a level
//! share an open segment.
//!
//! On NAND, a mount that scans knows the age of each page from the numbers in the tags, and one by checkpoint when its
//! segment was opened. Each page counts as written once then. On NOR, and if the policy is put in force on a live disk,
//! the counts begin at nothing.

use alloc::vec;
use alloc::vec::Vec;

use super::{ClassCount, ClassPlacement, Copied, Found, HostWrite, Shape};
use crate::addr::{Class, Lpn};
use crate::fetch::fetch;

/// Levels that differ by four, which the counts can tell apart.
const MOST_LEVELS: usize = 6;

/// Host pages are counted in ticks. There are so many to as many pages as the device has.
const TICKS: u64 = 256;

/// The ticks in which a count halves.
const HALF_LIFE: u64 = 2 * TICKS;

/// One write. A count goes up to 2,047.
const ONE: u64 = 32;

/// 4 bytes a page.
///
/// An entry holds a count in its upper half and the tick of the page's last write, modulo 2¹⁶, in its lower half. It is
/// 0 for a page of which nothing is known. Pages that were not written for 256 device fills appear younger than they
/// are.
#[derive(Debug, Clone)]
pub struct Frequency {
    entries: Vec<u32>,
    levels: usize,
    /// Where copies of level 1 go, if they are apart.
    survivors: Option<Class>,
    tick_pages: u64,
    tick: u64,
    /// The clock at which the next tick begins.
    next_tick: u64,
    /// Entries that are not 0, and the sum of their counts.
    known: u64,
    total: u64,
    /// The greatest count of each level.
    ends: [u64; MOST_LEVELS],
    /// The greatest count of a copy that is one tick old.
    copy_most: u64,
}

/// A count, or a sum of counts, after it has faded for so many ticks: halved for each [`HALF_LIFE`], and in between by
/// a parabola that is within 1 % of the power.
#[inline]
fn faded(count: u64, ticks: u64) -> u64 {
    let (halvings, rest) = ((ticks / HALF_LIFE).min(63), ticks % HALF_LIFE);
    let whole = 16 * HALF_LIFE * HALF_LIFE;
    // The factor is 1 at the beginning of a half-life, 1/2 at its end, and at most 2²² before the division. A count has
    // 16 bits, and the sum of 2³² counts tends to 2.9 writes for each, below 2³⁹. So nothing overflows.
    (count >> halvings) * (whole - 11 * HALF_LIFE * rest + 3 * rest * rest) / whole
}

impl Frequency {
    pub fn new(shape: Shape, classes: ClassCount) -> Self {
        let classes = Self::classes(classes) as usize;
        // One class or two leave none for copies.
        let levels = if classes > 2 { classes - 1 } else { classes };
        let tick_pages = (u64::from(shape.logical_pages) / TICKS).max(1);
        let mut place = Self {
            entries: vec![0; shape.logical_pages as usize],
            levels,
            survivors: (classes > 2).then_some(Class(levels as u8)),
            tick_pages,
            tick: 0,
            next_tick: tick_pages,
            known: 0,
            total: 0,
            ends: [0; MOST_LEVELS],
            copy_most: 0,
        };
        place.compare_with_mean();
        place
    }

    pub fn classes(classes: ClassCount) -> u32 {
        u32::from(classes.get()).min(MOST_LEVELS as u32 + 1)
    }

    fn compare_with_mean(&mut self) {
        // The mean is one write at least, also before a page is known.
        let mean = self.total.checked_div(self.known).unwrap_or(0).max(ONE);
        // What was written once is of level 0, however low the mean is.
        let mut end = (mean / 2).max(ONE);
        for level in &mut self.ends {
            *level = end;
            end *= 4;
        }
        // Ages are in ticks, and the bound is for an age in device fills.
        self.copy_most = mean * 3 / 2 * TICKS;
    }

    #[inline]
    fn advance(&mut self, clock: u64) {
        if clock >= self.next_tick {
            self.begin_tick(clock / self.tick_pages);
        }
    }

    fn begin_tick(&mut self, tick: u64) {
        // The sum fades like each count in it, so no page has to be looked at.
        self.total = faded(self.total, tick - self.tick);
        self.tick = tick;
        self.next_tick = (tick + 1) * self.tick_pages;
        self.compare_with_mean();
    }

    /// The count of an entry now, and the ticks since the page was written.
    #[inline]
    fn count_and_age(&self, entry: u32) -> (u64, u64) {
        // Both are modulo 2¹⁶.
        let age = u64::from((self.tick as u16).wrapping_sub(entry as u16));
        (faded(u64::from(entry >> 16), age), age)
    }

    #[inline]
    fn level(&self, count: u64) -> usize {
        self.ends[..self.levels - 1].iter().take_while(|&&end| count > end).count()
    }

    /// Enters a page with a count, written in a tick.
    #[inline]
    fn enter(&mut self, index: usize, count: u64, tick: u64) {
        let count = count.min(u64::from(u16::MAX));
        self.known += u64::from(self.entries[index] == 0);
        self.entries[index] = (count as u32) << 16 | u32::from(tick as u16);
    }
}

impl ClassPlacement for Frequency {
    #[inline]
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        self.advance(write.clock);
        let index = write.lpn.0 as usize;
        let count = self.count_and_age(self.entries[index]).0 + ONE;
        self.enter(index, count, self.tick);
        self.total += ONE;
        Class(self.level(count) as u8)
    }

    #[inline]
    fn copied(&mut self, copy: Copied) -> Class {
        self.advance(copy.clock);
        let (count, age) = self.count_and_age(self.entries[copy.lpn.0 as usize]);
        // The entry stays as it is, since a copy is no write.
        let level = self.level(count.min(self.copy_most / age.max(1)));
        self.survivors.filter(|_| level == 1).unwrap_or(Class(level as u8))
    }

    #[inline]
    fn expect(&self, pages: &[Lpn]) {
        fetch(&self.entries, pages);
    }

    fn found(&mut self, pages: &mut dyn Iterator<Item = Found>) {
        for page in pages {
            let tick = page.written / self.tick_pages;
            self.enter(page.lpn.0 as usize, ONE, tick);
            self.tick = self.tick.max(tick);
        }
        // As if all had been written just now: the sum knows no ages.
        self.total = self.known * ONE;
        self.begin_tick(self.tick);
    }

    fn table_bytes(&self) -> u64 {
        4 * self.entries.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::Seg;
    use crate::ftl::WriteHint;

    const PAGES: u32 = 1024;

    fn place(classes: u32) -> Frequency {
        let shape = Shape { logical_pages: PAGES, segments: 16, slots: 64 };
        Frequency::new(shape, ClassCount::new(classes).expect("a count"))
    }

    fn write(place: &mut Frequency, lpn: u32, clock: u64) -> u8 {
        place.host(HostWrite { lpn: Lpn(lpn), hint: WriteHint::NONE, clock, old: None }).0
    }

    fn copy(place: &mut Frequency, lpn: u32, clock: u64) -> u8 {
        let (victim_utilization, device_utilization) = (0.5, 0.5);
        let (victim, from) = (Seg(0), Class(3));
        place.copied(Copied { lpn: Lpn(lpn), clock, victim, from, victim_utilization, device_utilization }).0
    }

    /// Every page once, and then page 7 each fourth time, up to a clock.
    fn written_until(clock: u64) -> Frequency {
        let mut place = place(7);
        for clock in 0..clock {
            let is_hot = clock >= u64::from(PAGES) && clock % 4 == 0;
            write(&mut place, if is_hot { 7 } else { clock as u32 % PAGES }, clock);
        }
        place
    }

    #[test]
    fn counts_fade_by_half_in_a_half_life() {
        for (ticks, power) in
            [(0, 1.0), (1, 0.99865), (128, 0.8409), (256, core::f64::consts::FRAC_1_SQRT_2), (512, 0.5), (1536, 0.125)]
        {
            let measured = faded(1 << 20, ticks) as f64 / f64::from(1 << 20);
            assert!((measured / power - 1.0).abs() < 0.01, "{ticks}: {measured}");
        }
        assert_eq!(faded(u64::from(u16::MAX), 1 << 40), 0);
    }

    #[test]
    fn what_is_written_often_is_on_a_high_level_and_falls_when_it_rests() {
        let clock = 8 * u64::from(PAGES);
        let mut place = written_until(clock);
        assert_eq!(write(&mut place, 7, clock), 5, "more than 4⁴ times half the mean");
        assert_eq!(write(&mut place, 9, clock), 1, "about the mean");
        assert_eq!(copy(&mut place, 7, clock), 5);
        // Only the others are written from now on.
        let mut levels = Vec::new();
        for clock in clock..clock + 4 * u64::from(PAGES) {
            let lpn = clock as u32 % PAGES;
            write(&mut place, if lpn == 7 { 8 } else { lpn }, clock);
            if lpn == PAGES - 1 {
                levels.push(copy(&mut place, 7, clock));
            }
        }
        assert_eq!((levels[0], levels[1], levels[3]), (6, 6, 0), "copies of level 1 are apart, then it is cold");
    }

    #[test]
    fn pages_written_alike_are_on_one_level() {
        let mut place = place(7);
        let (mut rng, mut levels) = (crate::Rng::new(3), [0; 7]);
        for clock in 0..16 * u64::from(PAGES) {
            let level = write(&mut place, rng.below(PAGES), clock);
            levels[usize::from(level)] += u32::from(clock > 8 * u64::from(PAGES));
        }
        assert!(levels[1] > 5 * (levels[0] + levels[2]), "{levels:?}");
        assert_eq!(levels[3..], [0; 4]);
    }

    #[test]
    fn few_classes_have_no_class_of_their_own_for_copies() {
        for classes in 1..=ClassCount::MOST {
            let count = Frequency::classes(ClassCount::new(classes).expect("a count"));
            let mut place = place(classes);
            for clock in 0..20_000_u64 {
                let lpn = (clock * clock % 97) as u32;
                assert!(u32::from(write(&mut place, lpn, clock)) < count);
                assert!(u32::from(copy(&mut place, lpn, clock)) < count);
            }
            assert_eq!(place.survivors.is_some(), classes > 2);
        }
        assert_eq!(Frequency::classes(ClassCount::new(15).expect("a count")), 7);
    }

    #[test]
    fn a_mount_knows_ages_and_nothing_else() {
        let mut place = place(7);
        let now = 1_000_000;
        let found = |lpn: u32| Found { lpn: Lpn(lpn), written: now - 13 * u64::from(lpn) };
        place.found(&mut (0..PAGES).map(found));
        assert_eq!((place.known, place.total), (1024, 1024 * ONE));
        assert_eq!(write(&mut place, 0, now), 1, "written twice within a short time");
        assert_eq!(write(&mut place, 1000, now), 0, "nearly nothing is left of the first");
        assert_eq!(copy(&mut place, 500, now), 0);
    }
}
