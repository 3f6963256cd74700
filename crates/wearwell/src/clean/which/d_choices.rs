//! d-choices: greedy among a few drawn at random.

use super::candidates::Candidates;
use super::greedy::Greedy;
use super::{AgeClock, VictimSelection};
use crate::addr::Seg;
use crate::random::Rng;
use crate::segments::Segments;

/// The fewest valid pages among `d` draws, with replacement. If `d` is at least the number of segments, it is the
/// fewest of all, so that a victim never costs more than one look at each.
#[derive(Debug, Clone)]
pub struct DChoices {
    candidates: Candidates,
    d: u32,
    takes_all: bool,
}

impl DChoices {
    pub fn new(segments: u32, _slots: u32, d: u32) -> Self {
        Self { candidates: Candidates::new(segments), d, takes_all: d >= segments }
    }

    /// The most bytes that it takes, with what it is overruled by.
    pub(super) const fn table_bytes(segments: u32, slots: u32) -> u64 {
        Candidates::bytes(segments) as u64 + Greedy::<true>::table_bytes(segments, slots)
    }
}

impl VictimSelection for DChoices {
    // Full segments are drawn too, as in the mean-field model. Without them, two choices measured 2 % too low.
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
        let key = |&s: &Seg| (segments.valid(s), segments.erases(s), s.0);
        if self.takes_all {
            return self.candidates.iter().min_by_key(key);
        }
        (0..self.d).filter_map(|_| self.candidates.draw(rng)).min_by_key(key)
    }

    /// Invalid pages.
    fn score(&self, seg: Seg, segments: &Segments, _clock: AgeClock) -> f64 {
        f64::from(segments.slots() - segments.valid(seg))
    }
}
