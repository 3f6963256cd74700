//! The time of each page's last host write.

use alloc::vec;
use alloc::vec::Vec;

use super::Found;
use crate::addr::Lpn;
use crate::fetch::fetch;

/// A stamp for each page: 4 bytes.
///
/// A stamp is the clock modulo 2³² − 1, plus one. It is 0 for a page that was not written yet. Ages are right for pages
/// that are written or copied at least once in four billion host pages. Other pages appear younger than they are.
#[derive(Debug, Clone)]
pub(super) struct LastWrites {
    stamps: Vec<u32>,
}

const ROUND: u64 = u32::MAX as u64;

impl LastWrites {
    pub(super) fn new(logical_pages: u32) -> Self {
        Self { stamps: vec![0; logical_pages as usize] }
    }

    /// Notes a write of the page at `clock`.
    #[inline]
    pub(super) fn note(&mut self, lpn: Lpn, clock: u64) {
        self.stamps[lpn.0 as usize] = (clock % ROUND) as u32 + 1;
    }

    /// Notes the writes of pages that a mount has found.
    pub(super) fn note_found(&mut self, pages: &mut dyn Iterator<Item = Found>) {
        pages.for_each(|page| self.note(page.lpn, page.written));
    }

    /// Host pages written since the page was; none if it has no stamp.
    #[inline]
    pub(super) fn age(&self, lpn: Lpn, clock: u64) -> Option<u64> {
        let stamp = u64::from(self.stamps[lpn.0 as usize]);
        // The stamp may be of an earlier round, and greater than the clock in this one.
        (stamp > 0).then(|| (clock % ROUND + ROUND - (stamp - 1)) % ROUND)
    }

    /// Reads the stamps of `pages` ahead.
    #[inline]
    pub(super) fn fetch(&self, pages: &[Lpn]) {
        fetch(&self.stamps, pages);
    }

    pub(super) fn table_bytes(&self) -> u64 {
        4 * self.stamps.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_count_from_the_last_write_over_the_end_of_a_round() {
        let mut writes = LastWrites::new(2);
        for clock in [0, 5, ROUND - 1, ROUND, 3 * ROUND + 7] {
            writes.note(Lpn(1), clock);
            for age in [0, 1, 77, ROUND - 1] {
                assert_eq!(writes.age(Lpn(1), clock + age), Some(age), "{clock} + {age}");
            }
        }
        assert_eq!(writes.age(Lpn(0), 9), None);
    }
}
