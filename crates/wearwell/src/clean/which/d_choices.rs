//! d-choices: greedy among a few drawn at random.

use super::candidates::Candidates;
use super::{AgeClock, Which};
use crate::addr::Seg;
use crate::page::Segments;
use crate::random::Rng;

/// The fewest valid pages among `d` draws, with replacement.
#[derive(Debug, Clone)]
pub(crate) struct DChoices {
    candidates: Candidates,
    d: u32,
}

impl DChoices {
    pub(crate) fn new(segments: u32, _slots: u32, d: u32) -> Self {
        Self { candidates: Candidates::new(segments), d }
    }
}

impl Which for DChoices {
    // Full segments are drawn as well, as the mean-field model has it; without them two choices came out 2 % low.
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

    fn best(&mut self, segments: &Segments, _clock: AgeClock, rng: &mut Rng) -> Option<Seg> {
        (0..self.d)
            .filter_map(|_| self.candidates.draw(rng))
            .min_by_key(|s| (segments.valid[s.index()], segments.erases[s.index()], s.0))
    }

    /// Invalid pages.
    fn score(&self, seg: Seg, segments: &Segments, _clock: AgeClock) -> f64 {
        f64::from(segments.slots - segments.valid[seg.index()])
    }
}
