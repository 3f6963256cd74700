//! No migration: what Lee '07 measures the others against.

use super::{Costs, FullLog, Named, RecyclingRule};

/// Always merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeOnly;

impl Named for MergeOnly {
    fn with(number: Option<u32>) -> Option<Self> {
        number.is_none().then_some(Self)
    }
}

impl RecyclingRule for MergeOnly {
    fn migrates(&self, _log: FullLog, _costs: Costs) -> bool {
        false
    }
}
