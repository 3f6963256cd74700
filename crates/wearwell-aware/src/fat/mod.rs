//! FAT12, FAT16, FAT32 and exFAT as they lie on a disk.

mod boot;
pub(crate) mod exfat;
mod table;
mod volume;

pub use boot::{BootError, Geometry, Width};

pub use volume::VolumeError;
pub(crate) use volume::{Learned, Ledger, Volume};
