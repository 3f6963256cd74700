//! Cost-Age-Times (Chiang '97): least u / (1−u) × erases / age, so that a worn segment waits longer.

use super::{Candidate, VictimWorth};

/// Fraction bits. With those of slots (12) and ages (6) they fit into the double word, and outweigh those of erases.
const WORTH_BITS: u32 = 40;

/// As cost-benefit, divided by how often the segment was erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cat;

impl VictimWorth for Cat {
    type Worth = u64;

    fn worth(self, candidate: &Candidate) -> u64 {
        let Candidate { valid, age_halves, erases, .. } = *candidate;
        let benefit = u64::from(candidate.dead() * age_halves) << WORTH_BITS;
        benefit / (u64::from(valid + 1) * u64::from(erases + 1))
    }
}
