//! Cleaning: *when* it runs, *which* segment it takes, and when it erases dead blocks.

pub mod reclaim;
pub mod when;
pub mod which;
