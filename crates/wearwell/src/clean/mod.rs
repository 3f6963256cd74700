//! Cleaning: *when* it runs, *which* segment it takes, and the step that moves pages.

pub(crate) mod tournament;
pub mod when;
pub mod which;
