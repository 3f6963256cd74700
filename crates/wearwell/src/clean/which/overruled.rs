//! A policy, and what is done while it is overruled: when the reserve is touched, cleaning takes the segment with the
//! fewest valid pages, whatever the policy.

use super::greedy::Greedy;
use super::{AgeClock, Overrulable, VictimSelection};
use crate::addr::Seg;
use crate::random::Rng;
use crate::segments::Segments;

/// Invariant: `fewest`, made when it is first needed, knows the same candidates as the policy. One that takes the
/// fewest valid pages anyway needs none.
#[derive(Debug)]
pub struct Overruled<P> {
    policy: P,
    fewest: Option<Greedy<true>>,
}

impl<P: VictimSelection> Overruled<P> {
    /// The policy, never overruled so far.
    pub fn new(policy: P) -> Self {
        Self { policy, fewest: None }
    }

    #[inline(always)]
    fn fewest(&mut self) -> Option<&mut Greedy<true>> {
        if self.policy.takes_fewest_valid() { None } else { self.fewest.as_mut() }
    }
}

impl<P: VictimSelection> Overrulable for Overruled<P> {
    fn fewest_valid(&mut self, segments: &Segments, clock: AgeClock, rng: &mut Rng) -> Option<Seg> {
        if self.policy.takes_fewest_valid() {
            return self.policy.best(segments, clock, rng);
        }
        // A device that is never short of segments takes no memory for this.
        let fewest = self.fewest.get_or_insert_with(|| {
            let mut all = Greedy::new(segments.count(), segments.slots());
            segments.all().filter(|&s| segments.is_candidate(s)).for_each(|s| all.added(s, segments));
            all
        });
        fewest.best(segments, clock, rng)
    }
}

impl<P: VictimSelection> VictimSelection for Overruled<P> {
    fn takes_fewest_valid(&self) -> bool {
        self.policy.takes_fewest_valid()
    }

    fn closed_full(&mut self, seg: Seg) {
        self.policy.closed_full(seg);
    }

    fn added(&mut self, seg: Seg, segments: &Segments) {
        self.policy.added(seg, segments);
        if let Some(fewest) = self.fewest() {
            fewest.added(seg, segments);
        }
    }

    #[inline(always)]
    fn invalidated(&mut self, seg: Seg, segments: &Segments) {
        self.policy.invalidated(seg, segments);
        if let Some(fewest) = self.fewest() {
            fewest.invalidated(seg, segments);
        }
    }

    fn removed(&mut self, seg: Seg, segments: &Segments) {
        self.policy.removed(seg, segments);
        if let Some(fewest) = self.fewest() {
            fewest.removed(seg, segments);
        }
    }

    fn best(&mut self, segments: &Segments, clock: AgeClock, rng: &mut Rng) -> Option<Seg> {
        self.policy.best(segments, clock, rng)
    }

    fn best_among(&mut self, segments: &Segments, clock: AgeClock, wanted: &dyn Fn(Seg) -> bool) -> Option<Seg> {
        self.policy.best_among(segments, clock, wanted)
    }

    fn score(&self, seg: Seg, segments: &Segments, clock: AgeClock) -> f64 {
        self.policy.score(seg, segments, clock)
    }
}
