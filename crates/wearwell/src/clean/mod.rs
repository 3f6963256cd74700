//! Cleaning: *when* it runs, *which* segment it takes, and when blocks are erased of which nothing is left.

pub mod reclaim;
pub(crate) mod tournament;
pub mod when;
pub mod which;
