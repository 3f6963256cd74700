//! The errors of a disk.

use core::fmt::Debug;

use crate::ftl::FtlError;
use crate::page::MountError;
use crate::page::log::{NandLayoutError, NorLayoutError};

/// Why a [`Disk`](super::Disk) failed. `E` is the driver's own error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error<E: Debug> {
    /// The driver failed with this error, and the disk could not continue without the operation.
    #[error("the driver failed: {0:?}")]
    Driver(E),
    /// A command was refused or failed. Readable data stays readable.
    #[error(transparent)]
    Command(FtlError),
    /// The chip was not formatted or mounted.
    #[error(transparent)]
    Mount(MountError),
    /// The chip's shape, or the number of blocks in a segment, does not fit.
    #[error(transparent)]
    Shape(ShapeError),
}

/// Why a chip cannot hold a disk at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A NAND chip.
    #[error(transparent)]
    Nand(#[from] NandLayoutError),
    /// A NOR chip.
    #[error(transparent)]
    Nor(#[from] NorLayoutError),
    /// The chip cannot be divided into segments of this number of blocks.
    #[error("{blocks} blocks on {dies} dies do not make segments of {blocks_per_segment} blocks on different dies")]
    Segments {
        /// Blocks of a segment.
        blocks_per_segment: u32,
        /// Blocks of the chip.
        blocks: u32,
        /// Its dies.
        dies: u32,
    },
    /// Pages must be whole sectors.
    #[error("pages of {page_bytes} bytes are not a multiple of 512")]
    PageBytes {
        /// Bytes of a page.
        page_bytes: u32,
    },
}
