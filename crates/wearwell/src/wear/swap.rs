//! Chiang's swap ('97, section 4): when a segment nears its projected limit, the segment erased most often
//! and the one erased least often change places.

use super::{Spread, WearRule};

/// Swaps once the most worn segment has used `percent` of its rated erases, and the spread is worth it.
pub(super) struct Swap {
    /// Percent of the rated erases from which on segments are swapped.
    pub(super) percent: u32,
}

impl WearRule for Swap {
    fn wants_move(&self, spread: Spread) -> bool {
        // A hundredfold count may not fit into 32 bits.
        let used = u64::from(spread.max_erases) * 100;
        used >= u64::from(spread.endurance) * u64::from(self.percent) && spread.max_erases - spread.min_erases > 1
    }
}
