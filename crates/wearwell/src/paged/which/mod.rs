//! Which segment is emptied, with the map on flash. Each policy is a file, and a new one is a file and two lines here.
//!
//! A policy only says what a segment is worth, from the five bytes that the table has for it. So it needs no memory,
//! and a policy of your own is a type with one function. The type of the configuration names it
//! ([`PagedConfig::which`](super::PagedConfig::which)), and firmware links no other.

mod cat;
mod cost_benefit;
mod greedy;
mod lfs;

pub use cat::Cat;
pub use cost_benefit::CostBenefit;
pub use greedy::Greedy;
pub use lfs::Lfs;

use core::fmt::Debug;

/// What is known of a segment that may be emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Pages that the segment has room for, at most 4,095.
    pub slots: u32,
    /// Pages that count in it: at least as many as truly do, so perhaps more than there is room for.
    pub valid: u32,
    /// Twice its age, plus one: 1 to 63. The age is in epochs since it was opened, of which eight to sixteen pass while
    /// as many pages are programmed as the chip has. One of this epoch was opened half an epoch ago, on average.
    pub age_halves: u32,
    /// Times that it was erased, at most 524,287.
    pub erases: u32,
}

impl Candidate {
    /// Pages that do not count.
    pub fn dead(&self) -> u32 {
        self.slots.saturating_sub(self.valid)
    }
}

/// A victim policy of a map on flash. Of the segments with pages that do not count, the one that is worth most is
/// emptied.
pub trait VictimWorth: Copy + PartialEq + Debug {
    /// What segments are compared by.
    type Worth: Ord;

    /// What it is worth to empty a segment. Of two that differ in their valid pages alone, the one with fewer must be
    /// worth at least as much. Where segments are short, each is said to be as young as can be and never erased: then
    /// the emptiest one has to win, so that something is gained.
    fn worth(self, candidate: &Candidate) -> Self::Worth;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both promises of [`VictimWorth::worth`], over counts that are greater than there are slots, too.
    fn keeps_its_promises<V: VictimWorth>(policy: V) {
        for (slots, age_halves, erases) in [(5, 1, 0), (64, 1, 524_287), (64, 63, 9), (4095, 63, 524_287), (4095, 1, 0)]
        {
            let worth = |valid| policy.worth(&Candidate { slots, valid, age_halves, erases });
            assert!((0..slots + 9).all(|valid| worth(valid) >= worth(valid + 1)), "{policy:?}");
            assert!(erases > 0 || (0..slots).all(|valid| worth(valid) > worth(slots)), "{policy:?}");
        }
        let young = |valid| policy.worth(&Candidate { slots: 64, valid, age_halves: 1, erases: 0 });
        assert!((0..64).all(|valid| young(valid) > young(valid + 1)), "{policy:?}: the emptiest one wins");
    }

    #[test]
    fn the_emptier_segment_is_worth_as_much_at_least() {
        keeps_its_promises(Greedy);
        keeps_its_promises(CostBenefit);
        keeps_its_promises(Lfs);
        keeps_its_promises(Cat);
    }

    #[test]
    fn age_and_wear_weigh_as_their_formulas_say() {
        let candidate = Candidate { slots: 64, valid: 31, age_halves: 5, erases: 9 };
        let older = Candidate { age_halves: 10, ..candidate };
        assert_eq!(Greedy.worth(&older), Greedy.worth(&candidate));
        // With u + 1/64 for u: 33 ÷ 32 × 5.
        assert_eq!((CostBenefit.worth(&candidate), CostBenefit.worth(&older)), (42_240, 84_480));
        // 33 ÷ 95 × 5.
        assert_eq!(Lfs.worth(&candidate), ((33 * 5) << 13) / 95);
        let worn = Candidate { erases: 19, ..older };
        assert_eq!(Cat.worth(&worn), Cat.worth(&candidate), "twice as old, and erased twice as often");
    }
}
