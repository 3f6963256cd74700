//! The cleaner of a log-structured file system (Rosenblum and Ousterhout '92): age × (1−u) / (1+u). It reads a whole
//! segment, so an empty one costs something, too.

use super::{Candidate, VictimWorth};

/// Fraction bits: so many that a single page is worth something. With those of slots (12) and ages (6) they fit into a
/// word.
const WORTH_BITS: u32 = 13;

/// The space that a segment gives back, times its age, for reading all of it and copying what counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lfs;

impl VictimWorth for Lfs {
    type Worth = u32;

    fn worth(self, candidate: &Candidate) -> u32 {
        ((candidate.dead() * candidate.age_halves) << WORTH_BITS) / (candidate.slots + candidate.valid)
    }
}
