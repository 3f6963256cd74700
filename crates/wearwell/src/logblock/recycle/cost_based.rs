//! The cheaper of merge and migration, a page gained (Lee '07, section 4).

use super::{Costs, FullLog, RecyclingRule};

/// W_merge: what a page gained by a merge costs, (2·C_E + N_p·C_cp) / N_p.
pub fn merge_cost(pages: u32, costs: Costs) -> f64 {
    let pages = f64::from(pages);
    (2.0 * costs.erase + pages * costs.copy) / pages
}

/// W_mig: what a page gained by migrating `live` pages costs, (C_E + p·C_cp) / (N_p − p). Fewer than `pages` live.
pub fn migration_cost(pages: u32, live: u32, costs: Costs) -> f64 {
    (costs.erase + f64::from(live) * costs.copy) / f64::from(pages - live)
}

/// Migrate where that costs less: below p = N_p / 2, whatever the chip's times.
pub(super) struct CostBased;

impl RecyclingRule for CostBased {
    fn migrates(&self, log: FullLog, costs: Costs) -> bool {
        migration_cost(log.pages, log.live, costs) < merge_cost(log.pages, costs)
    }
}
