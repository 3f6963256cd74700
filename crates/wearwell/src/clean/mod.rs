//! Cleaning: *when* it runs, *which* segment it takes, and when dead blocks are erased.

pub mod reclaim;
pub mod when;
pub mod which;
