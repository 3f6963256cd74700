//! Random: any closed segment, uniformly.
//!
//! Full segments are drawn too. The closed form α/(α−1) supposes that a victim is as full as the average. Leaving out
//! the full ones, a part of about A·U/T ÷ pages per segment, shifts the result by 3 % at 256 pages.

use super::candidates::Candidates;
use super::greedy::Greedy;
use super::{AgeClock, VictimSelection};
use crate::addr::Seg;
use crate::random::Rng;
use crate::segments::Segments;

/// A uniform draw.
#[derive(Debug, Clone)]
pub struct Random {
    candidates: Candidates,
}

impl Random {
    pub fn new(segments: u32, _slots: u32) -> Self {
        Self { candidates: Candidates::new(segments) }
    }

    /// The most bytes that it takes, with what it is overruled by.
    pub(super) const fn table_bytes(segments: u32, slots: u32) -> u64 {
        Candidates::bytes(segments) as u64 + Greedy::<true>::table_bytes(segments, slots)
    }
}

impl VictimSelection for Random {
    fn closed_full(&mut self, seg: Seg) {
        self.candidates.insert(seg);
    }

    fn added(&mut self, seg: Seg, _segments: &Segments) {
        self.candidates.insert(seg);
    }

    fn invalidated(&mut self, _seg: Seg, _segments: &Segments) {}

    fn removed(&mut self, seg: Seg, _segments: &Segments) {
        self.candidates.remove(seg);
    }

    fn best(&mut self, _segments: &Segments, _clock: AgeClock, rng: &mut Rng) -> Option<Seg> {
        self.candidates.draw(rng)
    }

    /// Invalid pages.
    fn score(&self, seg: Seg, segments: &Segments, _clock: AgeClock) -> f64 {
        f64::from(segments.slots() - segments.valid(seg))
    }
}
