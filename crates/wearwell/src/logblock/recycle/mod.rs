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

/// Makes the list of policies: an enum with one variant each, their names, and the dispatch.
macro_rules! policies {
    ($($variant:ident($type:ty) = $name:literal, $listed:literal, $about:literal;)*) => {
        /// A choice of recycling, by name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Recycling { $(
            #[doc = $about]
            $variant($type),
        )* }

        impl Recycling {
            /// Every policy: its name as [`parse`](Self::parse) takes it, and what it does.
            pub const LIST: &'static [(&'static str, &'static str)] = &[$(($listed, $about),)*];

            /// Reads a name, with a number behind a colon where the policy takes one.
            pub fn parse(text: &str) -> Option<Self> {
                let (name, number) = match text.split_once(':') {
                    Some((name, number)) => (name, Some(number.parse::<u32>().ok().filter(|&n| n > 0)?)),
                    None => (text, None),
                };
                match name {
                    $($name => <$type>::with(number).map(Self::$variant),)*
                    _ => None,
                }
            }
        }

        impl core::fmt::Display for Recycling {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self { $(Self::$variant(policy) => {
                    f.write_str($name)?;
                    policy.number().map_or(Ok(()), |number| write!(f, ":{number}"))
                })* }
            }
        }

        impl RecyclingRule for Recycling {
            fn migrates(&self, log: FullLog, costs: Costs) -> bool {
                // A log block without a page to spare gains nothing by moving.
                log.live < log.pages && match self { $(Self::$variant(p) => p.migrates(log, costs),)* }
            }
        }
    };
}

/// How policies are made from what stands behind their names.
trait Named: Sized {
    /// The policy with its number, or without one; none if it takes none.
    fn with(number: Option<u32>) -> Option<Self>;
    /// The number, to be printed.
    fn number(&self) -> Option<u32> {
        None
    }
}

policies! {
    MergeOnly(merge_only::MergeOnly) = "merge-only", "merge-only", "always merge";
    CostBased(cost_based::CostBased) = "cost-based", "cost-based",
        "whichever costs less a page gained: migrate below about half a block of live pages (Lee '07, section 4)";
    Periodic(periodic::Periodic) = "periodic", "periodic:LIMIT",
        "cost-based, but merge after LIMIT migrations, by default half the pages of a block (Lee '07, section 6)";
    Optimal(optimal::Optimal) = "optimal", "optimal",
        "merge after the number of migrations that costs least in the long run, estimated on line (Lee '07, section 5)";
}

impl Recycling {
    /// What is taken where nothing is said: it adapts to what the host does.
    pub const DEFAULT: Self = Self::Optimal(optimal::Optimal);
}

#[cfg(test)]
mod tests;
