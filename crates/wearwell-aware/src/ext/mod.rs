//! ext3 and ext4 on a disk, as far as needed to find the journal. Nothing else of them is read, and nothing is
//! inferred to be dead.

mod error;
mod map;
mod superblock;
mod volume;

pub use error::ExtError;
pub(crate) use superblock::has_superblock;
pub(crate) use volume::{Found, SUPERBLOCK, Volume};
