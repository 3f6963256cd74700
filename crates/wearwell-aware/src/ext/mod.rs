//! ext3 and ext4 on a disk, as far as needed to find the journal. Nothing else of them is read, and nothing is
//! inferred to be dead.

mod map;
mod superblock;
mod volume;

pub(crate) use superblock::has_superblock;
pub use volume::ExtError;
pub(crate) use volume::{Found, SUPERBLOCK, Volume};
