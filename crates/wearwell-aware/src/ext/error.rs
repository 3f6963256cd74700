//! Why a journal is not known.

use wearwell::FtlError;

/// Why the journal of a volume is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExtError {
    /// A sector could not be read.
    #[error("sector {lba} cannot be read: {error}")]
    Read {
        /// The sector.
        lba: u64,
        /// What the device says.
        error: FtlError,
    },
    /// There is no superblock of ext2, ext3 or ext4.
    #[error("no ext superblock")]
    NoSuperblock,
    /// A field of the superblock has an impossible or unknown value.
    #[error("the superblock's {field} cannot be {value}")]
    Field {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u32,
    },
    /// The journal's inode is not an inode, or lies outside the volume.
    #[error("the journal's inode is not valid")]
    Inode,
    /// The map of the journal's blocks makes no sense, or is too large.
    #[error("the map of the journal's blocks cannot be followed")]
    Map,
}
