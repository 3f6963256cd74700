//! No wear leveling.

use super::WearRule;

/// Free segments are used in the order in which they became free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoLeveling;

impl WearRule for NoLeveling {}
