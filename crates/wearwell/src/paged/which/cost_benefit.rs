//! Cost-benefit (Kawaguchi '95, section 2.8): age × (1−u) / 2u, with the age since the segment was opened. What was
//! opened not long ago loses pages by itself, if it is only left alone.

use super::{Candidate, VictimWorth};

/// Fraction bits: so many that a single page is worth something. With those of slots (12) and ages (6) they fit into a
/// word.
const WORTH_BITS: u32 = 13;

/// The space that a segment gives back for each page to copy, times its age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CostBenefit;

impl VictimWorth for CostBenefit {
    type Worth = u32;

    fn worth(self, candidate: &Candidate) -> u32 {
        ((candidate.dead() * candidate.age_halves) << WORTH_BITS) / (candidate.valid + 1)
    }
}
