//! FIFO: the segment closed longest ago.

use super::greedy::Greedy;
use super::{AgeClock, VictimSelection};
use crate::addr::Seg;
use crate::random::Rng;
use crate::segments::Segments;
use crate::tournament::Tournament;

/// Candidates in the order in which they were closed.
#[derive(Debug, Clone)]
pub struct Fifo {
    by_age: Tournament,
}

impl Fifo {
    pub fn new(segments: u32, _slots: u32) -> Self {
        Self { by_age: Tournament::new(segments) }
    }

    /// The most bytes that it takes, with what it is overruled by.
    pub(super) const fn table_bytes(segments: u32, slots: u32) -> u64 {
        Tournament::bytes(segments) as u64 + Greedy::<true>::table_bytes(segments, slots)
    }
}

impl VictimSelection for Fifo {
    fn added(&mut self, seg: Seg, segments: &Segments) {
        self.by_age.set(seg.0, segments.closed(seg));
    }

    fn invalidated(&mut self, _seg: Seg, _segments: &Segments) {}

    fn removed(&mut self, seg: Seg, _segments: &Segments) {
        self.by_age.remove(seg.0);
    }

    fn best(&mut self, _segments: &Segments, _clock: AgeClock, _rng: &mut Rng) -> Option<Seg> {
        self.by_age.winner().map(Seg)
    }

    /// Age since the segment was opened.
    fn score(&self, seg: Seg, segments: &Segments, clock: AgeClock) -> f64 {
        clock.age(segments.opened(seg))
    }
}
