//! Migration with a merge now and then, which flushes cold pages from the log block (Lee '07, section 6).

use super::cost_based::CostBased;
use super::{Costs, FullLog, RecyclingRule};

/// As `cost-based`, but merge after so many migrations in a row.
pub(super) struct Periodic {
    /// Migrations in a row; none is half the pages of a block.
    pub(super) limit: Option<u32>,
}

impl RecyclingRule for Periodic {
    fn migrates(&self, log: FullLog, costs: Costs) -> bool {
        log.migrations < self.limit.unwrap_or(log.pages / 2) && CostBased.migrates(log, costs)
    }
}
