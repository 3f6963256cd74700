//! No migration: what Lee '07 measures the others against.

use super::{Costs, FullLog, RecyclingRule};

/// Always merge.
pub(super) struct MergeOnly;

impl RecyclingRule for MergeOnly {
    fn migrates(&self, _log: FullLog, _costs: Costs) -> bool {
        false
    }
}
