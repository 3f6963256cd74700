//! Merge or migrate: how a full log block is recycled (Lee '07). One file a policy; a new one is its file and a line
//! in the list below.

mod cost_based;
mod merge_only;
mod optimal;
mod periodic;

pub use cost_based::{merge_cost, migration_cost};
pub use optimal::{optimal_migrations, sequence_cost};

/// What recycling costs on a chip, in any one unit of time (Lee '07, section 4: C_E and C_cp).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// Erasing a block.
    pub erase: f64,
    /// Copying a page: within the chip where it has copy-back, else a read and a program.
    pub copy: f64,
}

impl Costs {
    /// Lee's table 1, in milliseconds.
    pub const LEE_TABLE_1: Self = Self { erase: 1.5, copy: 1.128 };
}

/// A full log block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullLog {
    /// Pages of a block: N_p.
    pub pages: u32,
    /// Pages of the log block that are the newest of what they hold, a discard record among them: p.
    pub live: u32,
    /// Times it was migrated since the last merge of its logical block.
    pub migrations: u32,
}

/// A policy of recycling.
pub trait RecyclingRule {
    /// True if the log block's live pages move to a fresh log block; false if the block is merged.
    fn migrates(&self, log: FullLog, costs: Costs) -> bool;
}

/// The policies.
macro_rules! recyclings {
    ($make:ident! $($head:tt)*) => { $make! { $($head)*
        MergeOnly (merge_only::MergeOnly) = "merge-only", "always merge";
        CostBased (cost_based::CostBased) = "cost-based",
            "whichever costs less a page gained: migrate below about half a block of live pages (Lee '07, section 4)";
        Periodic {
            /// Migrations in a row; none is half the pages of a block.
            limit: Option<u32> = None
        } (periodic::Periodic) = "periodic:LIMIT",
            "cost-based, but merge after LIMIT migrations, by default half the pages of a block (Lee '07, section 6)";
        Optimal (optimal::Optimal) = "optimal",
            "merge after the number of migrations that costs least in the long run, estimated on line \
             (Lee '07, section 5)";
    } };
}

recyclings! { policies!
    /// How a full log block is recycled.
    #[derive(Eq)]
    Recycling:
}

impl Recycling {
    /// What is taken where nothing is said: it adapts to what the host does.
    pub const DEFAULT: Self = Self::Optimal;
}

/// Lets the choice ask the policy's rule, which has nothing but its parameters.
macro_rules! rule {
    ($(
        $variant:ident $({ $($(#[$note:meta])* $param:ident: $number:ty = $default:expr),+ })? ($($rule:tt)+)
            = $form:literal, $about:literal;
    )+) => {
        impl RecyclingRule for Recycling {
            fn migrates(&self, log: FullLog, costs: Costs) -> bool {
                // A log block without a page to spare gains nothing by moving.
                log.live < log.pages && match *self { $(
                    Self::$variant $({ $($param),+ })? => $($rule)+ { $($($param),+)? }.migrates(log, costs),
                )+ }
            }
        }
    };
}

recyclings!(rule!);

#[cfg(test)]
mod tests;
