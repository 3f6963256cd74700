//! The streams that a host names: how much it writes to each, and wrong names if they are wanted.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::Serialize;

use crate::size::Percent;
use crate::workload::below;

/// Pages that a host wrote to one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StreamPages {
    /// The stream's ID; 0 is that of writes without one.
    pub id: u16,
    /// Pages that its host writes touched, counted as in [`Report::host_pages`](super::Report::host_pages).
    pub host_pages: u64,
}

/// Pages of every stream, by ID; as long as the greatest ID needs.
#[derive(Debug, Default)]
pub struct StreamCounts(Vec<u64>);

impl StreamCounts {
    /// Adds `pages` pages to a stream.
    #[inline]
    pub fn add(&mut self, stream: u16, pages: u64) {
        let at = usize::from(stream);
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        self.0[at] += pages;
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The streams that were written to, in order of their IDs.
    pub fn list(&self) -> Vec<StreamPages> {
        let all = self.0.iter().enumerate().map(|(at, &host_pages)| StreamPages { id: at as u16, host_pages });
        all.filter(|stream| stream.host_pages > 0).collect()
    }
}

/// A host that names wrong streams: a part of its write requests carry another ID, drawn evenly from those that it has
/// used.
#[derive(Debug)]
pub(super) struct WrongStreams {
    rng: Xoshiro256PlusPlus,
    /// The part, in units of 2⁻⁶³.
    threshold: u64,
    /// Right IDs so far, in the order in which they came.
    seen: Vec<u16>,
}

impl WrongStreams {
    /// None for a part of 0 %.
    pub(super) fn new(part: Percent, seed: u64) -> Option<Self> {
        // A seed of its own, so that it does not repeat the workload's draws.
        let rng = Xoshiro256PlusPlus::seed_from_u64(!seed);
        (!part.is_zero()).then(|| Self { rng, threshold: part.of(1 << 63), seen: Vec::new() })
    }

    /// The ID that a write of `stream` carries.
    pub(super) fn given(&mut self, stream: u16) -> u16 {
        let own = self.seen.iter().position(|&seen| seen == stream).unwrap_or_else(|| {
            self.seen.push(stream);
            self.seen.len() - 1
        });
        // A draw of 63 bits is below 2⁶³, so a part of 100 % always errs.
        let errs = self.rng.next_u64() >> 1 < self.threshold;
        let others = self.seen.len() as u32 - 1;
        if !errs || others == 0 {
            return stream;
        }
        let other = below(self.rng.next_u64(), others) as usize;
        // From its own place on a number means the next stream, so that its own is never drawn.
        self.seen[other + usize::from(other >= own)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(part: &str) -> Option<WrongStreams> {
        WrongStreams::new(part.parse().expect(part), 1)
    }

    #[test]
    fn so_many_are_wrong_and_wrong_ones_are_others_that_were_seen() {
        assert!(wrong("0%").is_none());
        let mut host = wrong("20%").expect("it errs");
        assert!((0..100).all(|_| host.given(7) == 7), "there is no other");
        let mut given = [[0u32; 3]; 3];
        for turn in 0..30_000 {
            let right = turn % 3;
            let id = host.given([7, 0, 9][right]);
            let at = [7, 0, 9].iter().position(|&known| known == id).expect("seen before");
            given[right][at] += 1;
        }
        for (right, row) in given.iter().enumerate() {
            let wrong: Vec<u32> = (0..3).filter(|&at| at != right).map(|at| row[at]).collect();
            assert!(wrong.iter().all(|count| (900..1100).contains(count)), "{given:?}");
        }
    }

    #[test]
    fn all_can_be_wrong() {
        let mut host = wrong("100%").expect("it errs");
        host.given(1);
        assert_eq!([2, 1, 2].map(|stream| host.given(stream)), [1, 2, 1]);
    }

    #[test]
    fn streams_are_listed_by_id() {
        let mut counts = StreamCounts::default();
        counts.add(5, 2);
        counts.add(0, 1);
        counts.add(5, 3);
        let listed = [StreamPages { id: 0, host_pages: 1 }, StreamPages { id: 5, host_pages: 5 }];
        assert_eq!(counts.list(), listed);
        counts.clear();
        assert!(counts.list().is_empty());
    }
}
