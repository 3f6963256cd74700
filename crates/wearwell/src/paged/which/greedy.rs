//! Greedy: the segment with the fewest valid pages.

use super::{Candidate, VictimWorth};

/// The segment with the fewest valid pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Greedy;

impl VictimWorth for Greedy {
    type Worth = u32;

    fn worth(self, candidate: &Candidate) -> u32 {
        candidate.dead()
    }
}
