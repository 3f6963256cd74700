//! Hot pages: a filter with two bits a page, and measurements of the segments of hot pages.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use crate::addr::Lpn;

/// The greatest count. Pages with it are hot.
const HOT: u8 = 3;

/// The number of windows that are remembered.
const REMEMBERED: usize = 10;

/// The place of the copy that a write replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OldPlace {
    /// In a segment of hot pages.
    Hot,
    /// In a segment of the host's other pages, which took its last page `age` host pages ago.
    First { age: u64 },
    /// Elsewhere.
    Other,
}

/// Measurements of the hot pages in a window.
#[derive(Debug, Clone, Copy)]
pub(super) struct HotShare {
    /// The fraction of the host's writes.
    pub(super) traffic: f64,
    /// The fraction of the pages in its segments that were still valid when the segments were emptied.
    pub(super) valid: f64,
    /// The number of segments with hot pages.
    pub(super) segments: f64,
}

/// A page is hot once it was overwritten within the window several times in a row.
///
/// The window is the time from filling a segment of hot pages to emptying it. It is measured and adjusted.
#[derive(Debug, Clone)]
pub(super) struct HotFilter {
    /// Two bits a page.
    bits: Vec<u8>,
    window: u64,
    /// Overwrites until the window is adjusted.
    left: i64,
    /// Overwrites at the beginning in which nothing is learned.
    warm_up: u32,
    host_writes: u64,
    hot_writes: u64,
    emptied: u64,
    ages_sum: u64,
    copied_pages: u64,
    shares: VecDeque<HotShare>,
}

impl HotFilter {
    pub(super) fn new(logical_pages: u32) -> Self {
        Self {
            bits: vec![0; logical_pages.div_ceil(4) as usize],
            window: u64::from(logical_pages),
            left: i64::from(logical_pages),
            warm_up: logical_pages,
            host_writes: 0,
            hot_writes: 0,
            emptied: 0,
            ages_sum: 0,
            copied_pages: 0,
            shares: VecDeque::with_capacity(REMEMBERED),
        }
    }

    fn get(&self, lpn: Lpn) -> u8 {
        self.bits[lpn.0 as usize / 4] >> (lpn.0 % 4 * 2) & 3
    }

    fn set(&mut self, lpn: Lpn, value: u8) {
        let (byte, shift) = (&mut self.bits[lpn.0 as usize / 4], lpn.0 % 4 * 2);
        *byte = *byte & !(3 << shift) | value << shift;
    }

    /// Notes that the host overwrites a page. True if the page is hot now.
    pub(super) fn overwritten(&mut self, lpn: Lpn, old: OldPlace) -> bool {
        if self.warm_up > 0 {
            self.warm_up -= 1;
            return false;
        }
        // It may fall below 0: the window ends only when a segment of hot pages was emptied, too.
        self.left -= 1;
        let value = self.get(lpn);
        let value = match old {
            OldPlace::Hot => (value + 1).min(HOT),
            OldPlace::First { age } if age <= self.window => (value + 1).min(HOT),
            OldPlace::First { .. } => value.saturating_sub(1),
            OldPlace::Other => value,
        };
        self.set(lpn, value);
        value == HOT
    }

    /// Notes a host write. `hot_segments` is the number of segments with hot pages.
    pub(super) fn wrote(&mut self, is_hot: bool, hot_segments: u32, slots: u32) {
        self.host_writes += 1;
        self.hot_writes += u64::from(is_hot);
        if self.left > 0 || self.emptied == 0 {
            return;
        }
        let age = self.ages_sum / self.emptied;
        // It grows by half at most, however old the segments were. From 0 it would not grow again.
        self.window = if age >= 2 * self.window { self.window * 3 / 2 } else { (age + self.window) / 2 }.max(1);
        self.left = self.window as i64;
        if self.shares.len() == REMEMBERED {
            self.shares.pop_front();
        }
        self.shares.push_back(HotShare {
            traffic: self.hot_writes as f64 / self.host_writes as f64,
            valid: self.copied_pages as f64 / (self.emptied * u64::from(slots)) as f64,
            segments: f64::from(hot_segments),
        });
        (self.host_writes, self.hot_writes) = (0, 0);
        (self.emptied, self.ages_sum, self.copied_pages) = (0, 0, 0);
    }

    /// Notes that a page is copied out of a segment of hot pages, or of the host's other pages.
    pub(super) fn note_copy(&mut self, lpn: Lpn, is_from_hot: bool) {
        let less = if is_from_hot { 2 } else { 1 };
        self.set(lpn, self.get(lpn).saturating_sub(less));
    }

    /// Notes that a segment of hot pages was emptied, `age` host pages after its last page was written.
    pub(super) fn note_emptied(&mut self, age: u64, copied_pages: u32) {
        self.emptied += 1;
        self.ages_sum += age;
        self.copied_pages += u64::from(copied_pages);
    }

    /// The mean of the windows since the last call. One of the segments is open.
    pub(super) fn take_share(&mut self) -> HotShare {
        let count = self.shares.len() as f64;
        if self.shares.is_empty() {
            // Nothing was measured. These are the values of the authors' simulator.
            return HotShare { traffic: 0.01, valid: 0.05, segments: 1.0 };
        }
        let mean = |of: fn(&HotShare) -> f64| self.shares.iter().map(of).sum::<f64>() / count;
        // One more for the open segment, and a half to round.
        let segments = (mean(|share| share.segments) + 1.5) as u32;
        let share = HotShare { traffic: mean(|s| s.traffic), valid: mean(|s| s.valid), segments: f64::from(segments) };
        self.shares.clear();
        share
    }

    pub(super) fn table_bytes(&self) -> u64 {
        self.bits.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active() -> HotFilter {
        HotFilter { warm_up: 0, left: 100, window: 50, ..HotFilter::new(10) }
    }

    #[test]
    fn pages_overwritten_soon_become_hot_and_cool_down() {
        let mut filter = active();
        let soon = OldPlace::First { age: 50 };
        assert_eq!([soon; 4].map(|old| filter.overwritten(Lpn(5), old)), [false, false, true, true]);
        assert!(!filter.overwritten(Lpn(5), OldPlace::First { age: 51 }));
        assert!(!filter.overwritten(Lpn(5), OldPlace::Other) && filter.overwritten(Lpn(5), OldPlace::Hot));
        filter.note_copy(Lpn(5), true);
        assert_eq!([4, 5, 6].map(|page| filter.get(Lpn(page))), [0, 1, 0]);
        filter.note_copy(Lpn(5), true);
        assert_eq!(filter.get(Lpn(5)), 0);
    }

    #[test]
    fn the_window_follows_the_ages_of_hot_segments() {
        for (age, window) in [(20, 35), (99, 74), (100, 75)] {
            let mut filter = active();
            filter.left = 0;
            filter.wrote(true, 3, 8);
            assert_eq!(filter.window, 50, "not before a segment was emptied");
            filter.note_emptied(age, 2);
            filter.wrote(false, 3, 8);
            assert_eq!((filter.window, filter.left), (window, window as i64));
            let share = filter.take_share();
            assert_eq!((share.traffic, share.valid, share.segments), (0.5, 0.25, 4.0));
            assert_eq!(filter.take_share().traffic, 0.01, "taken");
        }
    }
}
