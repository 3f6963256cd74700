//! Static wear leveling with a threshold, as in the set-up of FSAF '09.

use super::{Spread, WearRule};

/// Moves the least worn segment's data once the erase counts differ by more than `threshold`.
pub(super) struct StaticThreshold {
    /// The greatest tolerated difference.
    pub(super) threshold: u32,
}

impl WearRule for StaticThreshold {
    fn wants_move(&self, spread: Spread) -> bool {
        spread.max_erases - spread.min_erases > self.threshold
    }
}
