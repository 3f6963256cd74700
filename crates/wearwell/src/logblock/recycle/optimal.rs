//! The sequence of migrations and a merge that costs least (Lee '07, section 5).
//!
//! The paper lets p grow by α with every migration since the last merge. n migrations and a merge then cost, a page
//! gained,
//!
//! ```text
//!          α·C_cp/2·n² + (α·C_cp/2 + C_E)·n + C_merge
//! W(n) =   ------------------------------------------
//!               −α/2·n² + (N_p − α/2)·n + N_p
//! ```
//!
//! and W′(n₀) = 0 is a quadratic in n₀.

use super::{Costs, FullLog, RecyclingRule};

/// W(n): what a page gained by `migrations` migrations and a merge costs, if the live pages grow by `growth` (α)
/// with each. Infinite where the log block would not have a page to spare.
pub fn sequence_cost(pages: u32, growth: f64, migrations: f64, costs: Costs) -> f64 {
    let (pages, n, half) = (f64::from(pages), migrations, growth / 2.0);
    let spent = half * costs.copy * n * n + (half * costs.copy + costs.erase) * n + merge(pages, costs);
    let gained = -half * n * n + (pages - half) * n + pages;
    // After n migrations α·n pages are live. With all of them live, one more migration would gain nothing.
    let room_left = pages - growth * n;
    if room_left > 0.0 { spent / gained } else { f64::INFINITY }
}

/// n₀: how many migrations in a row, before a merge, cost least a page gained. 0 where the quadratic has no
/// positive root, `u32::MAX` where the live pages do not grow.
pub fn optimal_migrations(pages: u32, growth: f64, costs: Costs) -> u32 {
    if growth <= 0.0 {
        return u32::MAX;
    }
    let n_p = f64::from(pages);
    let (copy_all, merge) = (costs.copy * n_p, merge(n_p, costs));
    // The numerator of W′ is a·n² + b·n + c: the cubic terms cancel each other.
    let a = (costs.erase + copy_all) * growth / 2.0;
    let b = (copy_all + merge) * growth;
    let c = (copy_all + merge) * growth / 2.0 + n_p * (costs.erase - merge);
    // a and b are positive, so a positive root needs c < 0.
    if c >= 0.0 {
        return 0;
    }
    let root = (libm::sqrt(b * b - 4.0 * a * c) - b) / (2.0 * a);
    // Either neighbour of the real minimum may be the better whole number.
    let below = libm::floor(root);
    let cost = |n| sequence_cost(pages, growth, n, costs);
    (if cost(below) <= cost(below + 1.0) { below } else { below + 1.0 }) as u32
}

/// C_merge = 2·C_E + N_p·C_cp.
fn merge(pages: f64, costs: Costs) -> f64 {
    2.0 * costs.erase + pages * costs.copy
}

/// Merge after n₀ migrations. α is estimated from the log block's own history: the paper's p_n = α·n, so that after n
/// periods p/n is what each has added on average.
pub(super) struct Optimal;

impl RecyclingRule for Optimal {
    fn migrates(&self, log: FullLog, costs: Costs) -> bool {
        // The period that ends here counts, too.
        let growth = f64::from(log.live) / f64::from(log.migrations + 1);
        log.migrations < optimal_migrations(log.pages, growth, costs)
    }
}
