//! No wear leveling.

use super::WearRule;

/// Free segments are used in the order in which they became free.
pub(super) struct NoLeveling;

impl WearRule for NoLeveling {}
