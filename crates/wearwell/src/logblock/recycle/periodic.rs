//! Migration with a merge now and then, which flushes cold pages from the log block (Lee '07, section 6).

use super::cost_based::CostBased;
use super::{Costs, FullLog, Named, RecyclingRule};

/// As `cost-based`, but merge after so many migrations in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Periodic {
    /// Migrations in a row; none is half the pages of a block.
    limit: Option<u32>,
}

impl Named for Periodic {
    fn with(number: Option<u32>) -> Option<Self> {
        Some(Self { limit: number })
    }
    fn number(&self) -> Option<u32> {
        self.limit
    }
}

impl RecyclingRule for Periodic {
    fn migrates(&self, log: FullLog, costs: Costs) -> bool {
        log.migrations < self.limit.unwrap_or(log.pages / 2) && CostBased.migrates(log, costs)
    }
}
