//! The intervals between host writes of a page: a histogram over an epoch, from a sample of the pages.

use alloc::vec;
use alloc::vec::Vec;

use crate::addr::Lpn;

/// The length of an epoch in host pages, divided by the logical pages.
const EPOCH_PASSES: u64 = 4;

/// How often pages are overwritten on average before the first epoch.
const WARM_UP_PASSES: u64 = 2;

/// Windows in which the shortest intervals of all pages are counted.
const SHORT_WINDOWS: u64 = 10;

/// Bins of the histogram for the pages of one segment.
pub(super) const BINS_PER_SEGMENT: u32 = 4;

/// How often an epoch may be doubled.
const DOUBLINGS: u32 = 4;

/// The sampler. A sample is 0 until its page is written in this epoch. Then it is twice the clock of the epoch plus
/// one, and one more once the page was written again.
#[derive(Debug, Clone)]
pub(super) struct Intervals {
    one_in: u32,
    samples: Vec<u64>,
    bins: Vec<u64>,
    /// Host pages of a bin.
    unit: u64,
    /// Overwrites before the first epoch.
    warm_up: u64,
    /// Host pages of this epoch.
    clock: u64,
    doublings: u32,
    /// The pages in the window for short intervals, and the number of writes to such a page.
    seen: Vec<Lpn>,
    met: u64,
}

impl Intervals {
    pub(super) fn new(logical_pages: u32, slots: u32) -> Self {
        let one_in = (logical_pages >> 16).clamp(4, 100);
        let unit = u64::from(slots / BINS_PER_SEGMENT).max(1);
        // `look_at_short` divides the bins by eleven, and no part may be empty.
        let bins = (EPOCH_PASSES * u64::from(logical_pages) / unit).max(SHORT_WINDOWS + 1);
        Self {
            one_in,
            samples: vec![0; logical_pages.div_ceil(one_in) as usize],
            bins: vec![0; bins as usize],
            unit,
            warm_up: WARM_UP_PASSES * u64::from(logical_pages),
            clock: 0,
            doublings: 0,
            seen: Vec::new(),
            met: 0,
        }
    }

    /// Host pages of an epoch.
    pub(super) fn epoch(&self) -> u64 {
        self.bins.len() as u64 * self.unit
    }

    /// Notes a host write.
    pub(super) fn note_written(&mut self, lpn: Lpn, is_update: bool) {
        if self.warm_up > 0 {
            self.warm_up -= u64::from(is_update);
            return;
        }
        // The next victim ends the epoch: its choice takes the histogram and begins another.
        if self.is_complete() {
            return;
        }
        self.look_at_short(lpn);
        if lpn.0.is_multiple_of(self.one_in) {
            self.sample(lpn);
        }
        self.clock += 1;
    }

    fn sample(&mut self, lpn: Lpn) {
        let sample = &mut self.samples[(lpn.0 / self.one_in) as usize];
        let known = *sample;
        *sample = self.clock * 2 + 1;
        if known > 0 {
            *sample += 1;
            // A sample is 2c + 1 or 2c + 2, and gives the clock c back in either case.
            let bin = (self.clock - (known - 1) / 2) / self.unit;
            let last = self.bins.len() - 1;
            self.bins[(bin as usize).min(last)] += 1;
        }
    }

    /// Counts the writes to pages that were already written in the same window. There are ten windows of one unit each.
    fn look_at_short(&mut self, lpn: Lpn) {
        let apart = self.bins.len() as u64 / (SHORT_WINDOWS + 1);
        let bin = self.clock / self.unit;
        // The first eleventh has no window, and neither has what is left over at the end.
        if bin == 0 || !bin.is_multiple_of(apart) || bin / apart > SHORT_WINDOWS {
            return;
        }
        if self.clock.is_multiple_of(self.unit) {
            self.seen.clear();
        }
        if self.seen.contains(&lpn) {
            self.met += 1;
        } else {
            self.seen.push(lpn);
        }
    }

    /// True at the end of an epoch.
    pub(super) fn is_complete(&self) -> bool {
        self.clock >= self.epoch()
    }

    /// The histogram of the epoch, corrected for intervals that its ends cut off.
    pub(super) fn histogram(&self) -> Vec<f64> {
        let mut bins = self.bins.clone();
        let count = bins.len() as u64;
        // Written once: twice the clock plus one.
        let once = self.samples.iter().filter(|&&sample| sample % 2 == 1).count() as u64;
        bins[count as usize - 1] += once;
        let made_up = |(i, &met): (u64, &u64)| match i {
            // All pages were counted here, in ten windows of one bin. The other bins count a sample, in the whole
            // epoch.
            0 => (self.met * count / SHORT_WINDOWS / u64::from(self.one_in)) as f64,
            _ => met as f64 * (1.0 + ((count % i) as f64 + i as f64 / 2.0) / count as f64),
        };
        (0..).zip(&bins).map(made_up).collect()
    }

    /// Begins another epoch, twice as long if `is_longer`, unless that would be too long.
    pub(super) fn begin(&mut self, is_longer: bool) {
        let is_longer = is_longer && self.doublings < DOUBLINGS;
        self.doublings += u32::from(is_longer);
        let bins = self.bins.len() << u32::from(is_longer);
        self.bins.clear();
        self.bins.resize(bins, 0);
        self.samples.fill(0);
        (self.clock, self.met) = (0, 0);
    }

    pub(super) fn table_bytes(&self) -> u64 {
        8 * (self.samples.len() + self.bins.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_counted_once_the_device_is_warm() {
        let mut intervals = Intervals::new(64, 16);
        assert_eq!((intervals.one_in, intervals.unit, intervals.epoch()), (4, 4, 256));
        (0..500).for_each(|i| intervals.note_written(Lpn(i % 64), false));
        (0..128).for_each(|i| intervals.note_written(Lpn(i % 64), true));
        assert_eq!(intervals.clock, 0);
        (0..256).for_each(|i| intervals.note_written(Lpn(i % 64), true));
        assert!(intervals.is_complete());
        let histogram = intervals.histogram();
        let counted: Vec<usize> = (0..64).filter(|&bin| histogram[bin] > 0.0).collect();
        assert_eq!(counted, [16], "every page is written again after 64");
        assert_eq!(histogram[16], 48.0 * (1.0 + 8.0 / 64.0));
    }

    #[test]
    fn what_was_written_once_lives_longest_and_short_intervals_count_for_all() {
        let mut intervals = Intervals { warm_up: 0, ..Intervals::new(1024, 16) };
        assert_eq!(intervals.one_in, 4);
        (0..intervals.epoch()).for_each(|i| intervals.note_written(Lpn((i / 2 % 1024) as u32), true));
        let histogram = intervals.histogram();
        let (first, last) = (histogram[0], histogram[histogram.len() - 1]);
        assert_eq!(first, f64::from(20 * 1024 / 10 / 4), "two of four writes of a window meet a page");
        assert!(last < 1.0, "{last}");
        intervals.begin(true);
        assert_eq!(intervals.epoch(), 8192);
        (0..8192).for_each(|i| intervals.note_written(Lpn(if i == 99 { 4 } else { 1 }), true));
        assert_eq!(intervals.histogram().last().map(|&last| last as u32), Some(1));
    }
}
