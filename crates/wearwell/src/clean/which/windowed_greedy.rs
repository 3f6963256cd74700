//! Windowed greedy: greedy among the segments closed longest ago.

use alloc::vec;
use alloc::vec::Vec;

use super::greedy::Greedy;
use super::{AgeClock, VictimSelection};
use crate::addr::Seg;
use crate::random::Rng;
use crate::segments::Segments;

const END: u32 = u32::MAX;

/// The fewest valid pages among the `w` candidates closed longest ago.
///
/// Invariant: `head`, `next` and `prev` chain the candidates by the number they got when they were closed.
#[derive(Debug, Clone)]
pub struct WindowedGreedy {
    next: Vec<u32>,
    prev: Vec<u32>,
    head: u32,
    tail: u32,
    w: u32,
}

impl WindowedGreedy {
    pub fn new(segments: u32, _slots: u32, w: u32) -> Self {
        let n = segments as usize;
        Self { next: vec![END; n], prev: vec![END; n], head: END, tail: END, w }
    }

    /// The most bytes that it takes, with what it is overruled by.
    pub(super) const fn table_bytes(segments: u32, slots: u32) -> u64 {
        segments as u64 * 2 * size_of::<u32>() as u64 + Greedy::<true>::table_bytes(segments, slots)
    }

    fn link(&mut self, before: u32, after: u32) {
        if before == END {
            self.head = after
        } else {
            self.next[before as usize] = after
        }
        if after == END { self.tail = before } else { self.prev[after as usize] = before }
    }
}

impl VictimSelection for WindowedGreedy {
    fn added(&mut self, seg: Seg, segments: &Segments) {
        // Most segments become candidates soon after they are closed, so the walk from the young end is short.
        let mut before = self.tail;
        while before != END && segments.closed(Seg(before)) > segments.closed(seg) {
            before = self.prev[before as usize];
        }
        let after = if before == END { self.head } else { self.next[before as usize] };
        self.link(before, seg.0);
        self.link(seg.0, after);
    }

    fn invalidated(&mut self, _seg: Seg, _segments: &Segments) {}

    fn removed(&mut self, seg: Seg, _segments: &Segments) {
        let (before, after) = (self.prev[seg.index()], self.next[seg.index()]);
        // It is not in the list: a full segment was chosen, because of its wear or its health.
        if before == END && after == END && self.head != seg.0 {
            return;
        }
        self.link(before, after);
        self.next[seg.index()] = END;
        self.prev[seg.index()] = END;
    }

    fn best(&mut self, segments: &Segments, _clock: AgeClock, _rng: &mut Rng) -> Option<Seg> {
        let some = |s: u32| (s != END).then_some(s);
        core::iter::successors(some(self.head), |&s| some(self.next[s as usize]))
            .take(self.w as usize)
            .map(Seg)
            .min_by_key(|&s| (segments.valid(s), segments.erases(s), s.0))
    }

    /// Invalid pages.
    fn score(&self, seg: Seg, segments: &Segments, _clock: AgeClock) -> f64 {
        f64::from(segments.slots() - segments.valid(seg))
    }
}
