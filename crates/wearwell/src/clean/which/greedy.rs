//! Greedy: the segment with the fewest valid pages.

use super::{AgeClock, VictimSelection};
use crate::addr::Seg;
use crate::random::Rng;
use crate::segments::{SegState, Segments};
use crate::tournament::Tournament;

/// Exact greedy selection.
///
/// Invariant: exactly the candidates with at most `limit` valid pages take part in the tournament. Valid counts only
/// fall, so a candidate above the limit cannot win before the tournament is empty. Then the limit is raised. Most
/// invalidations hit segments above the limit and cost one comparison.
///
/// Ties go to the least worn if `LEVELS`, otherwise to the lowest number. With few pages a segment, ties are frequent,
/// and their order decides how evenly greedy wears (Chiang '97, section 5.3, does not state an order).
#[derive(Debug, Clone)]
pub struct Greedy<const LEVELS: bool> {
    tournament: Tournament,
    limit: u32,
    segments: u32,
}

impl<const LEVELS: bool> Greedy<LEVELS> {
    pub fn new(segments: u32, _slots: u32) -> Self {
        Self { tournament: Tournament::new(segments), limit: 0, segments }
    }

    /// The most bytes that it takes, and what it is overruled by, if anything.
    pub(super) const fn table_bytes(segments: u32, slots: u32) -> u64 {
        let others = if LEVELS { 0 } else { Greedy::<true>::table_bytes(segments, slots) };
        (Tournament::bytes(segments) + slots as usize * size_of::<u32>()) as u64 + others
    }

    fn key(seg: Seg, segments: &Segments) -> u64 {
        let wear = if LEVELS { segments.erases(seg) } else { 0 };
        u64::from(segments.valid(seg)) << 32 | u64::from(wear)
    }

    #[inline(always)]
    fn enter(&mut self, seg: Seg, segments: &Segments) {
        if segments.valid(seg) <= self.limit {
            self.tournament.set(seg.0, Self::key(seg, segments));
        }
    }

    /// Raises the limit so that at least one in sixteen segments takes part, if there are as many candidates.
    #[cold]
    fn raise(&mut self, segments: &Segments) {
        let mut by_valid = alloc::vec![0_u32; segments.slots() as usize];
        for seg in segments.all().filter(|&s| segments.is_candidate(s)) {
            // A candidate is not full, so there is an entry for it.
            by_valid[segments.valid(seg) as usize] += 1;
        }
        // Few take part, so that most invalidations cost one comparison. But there are enough that the limit is not
        // raised for each victim.
        let wanted = self.segments / 16 + 1;
        let mut seen = 0;
        self.limit = by_valid
            .iter()
            .position(|&count| {
                seen += count;
                seen >= wanted
            })
            // With fewer candidates than that, all take part.
            .map_or(segments.slots(), |valid| valid as u32);
        for seg in segments.all().filter(|&s| segments.is_candidate(s)) {
            self.enter(seg, segments);
        }
    }
}

impl<const LEVELS: bool> VictimSelection for Greedy<LEVELS> {
    #[inline]
    fn takes_fewest_valid(&self) -> bool {
        LEVELS
    }

    fn added(&mut self, seg: Seg, segments: &Segments) {
        self.enter(seg, segments);
    }

    #[inline]
    fn invalidated(&mut self, seg: Seg, segments: &Segments) {
        self.enter(seg, segments);
    }

    fn removed(&mut self, seg: Seg, segments: &Segments) {
        debug_assert!(segments.state(seg) != SegState::Free, "removed before it is freed");
        // A segment above the limit is absent already, and stays so.
        self.tournament.remove(seg.0);
    }

    fn best(&mut self, segments: &Segments, _clock: AgeClock, _rng: &mut Rng) -> Option<Seg> {
        if self.tournament.winner().is_none() {
            self.raise(segments);
        }
        self.tournament.winner().map(Seg)
    }

    /// Invalid pages (Kawaguchi '95, section 2.8).
    fn score(&self, seg: Seg, segments: &Segments, _clock: AgeClock) -> f64 {
        f64::from(segments.slots() - segments.valid(seg))
    }
}
