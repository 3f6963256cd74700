//! A victim policy from outside this crate.

use alloc::boxed::Box;

use super::{AgeClock, VictimSelection};
use crate::addr::Seg;
use crate::random::Rng;
use crate::segments::Segments;

/// The policy.
#[derive(Debug)]
pub struct Own(pub(super) Box<dyn VictimSelection + Send>);

impl VictimSelection for Own {
    fn takes_fewest_valid(&self) -> bool {
        self.0.takes_fewest_valid()
    }

    fn closed_full(&mut self, seg: Seg) {
        self.0.closed_full(seg);
    }

    fn added(&mut self, seg: Seg, segments: &Segments) {
        self.0.added(seg, segments);
    }

    fn invalidated(&mut self, seg: Seg, segments: &Segments) {
        self.0.invalidated(seg, segments);
    }

    fn removed(&mut self, seg: Seg, segments: &Segments) {
        self.0.removed(seg, segments);
    }

    fn best(&mut self, segments: &Segments, clock: AgeClock, rng: &mut Rng) -> Option<Seg> {
        self.0.best(segments, clock, rng)
    }

    fn best_among(&mut self, segments: &Segments, clock: AgeClock, wanted: &dyn Fn(Seg) -> bool) -> Option<Seg> {
        self.0.best_among(segments, clock, wanted)
    }

    fn score(&self, seg: Seg, segments: &Segments, clock: AgeClock) -> f64 {
        self.0.score(seg, segments, clock)
    }
}
