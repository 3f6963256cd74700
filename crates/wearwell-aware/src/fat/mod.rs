//! FAT12, FAT16 and FAT32 as they lie on a disk.

mod boot;
mod table;
mod volume;

pub use boot::{BootError, Geometry, Width};

pub use volume::VolumeError;
pub(crate) use volume::{Learned, Ledger, Volume};
