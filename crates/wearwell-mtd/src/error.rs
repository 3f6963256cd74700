//! The errors of a device, and of the driver.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;
use thiserror::Error;
use wearwell_flash::{ChipError, ErrorKind};

use crate::spare::STORED_BYTES;

/// Why a device cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The system does not open it.
    #[error("{}: {error}", path.display())]
    Io {
        /// The device.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Only root, or a group of its own, may use it.
    #[error("{}: permission denied: raw flash is for root", path.display())]
    Permission {
        /// The device.
        path: PathBuf,
    },
    /// It is something else.
    #[error("{}: not an MTD character device: name one as /dev/mtd0", path.display())]
    NotMtd {
        /// The path.
        path: PathBuf,
    },
    /// It is a block device over an MTD.
    #[error(
        "{}: the block device of an MTD has no spare bytes: name the character device, as /dev/mtd0",
        path.display()
    )]
    BlockDevice {
        /// The path.
        path: PathBuf,
    },
    /// NOR, or another kind of memory.
    #[error("{}: {what}, and only SLC NAND can hold a disk", path.display())]
    OtherKind {
        /// The device.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Nothing can be written beside a page.
    #[error("{}: its pages have no spare bytes", path.display())]
    NoOob {
        /// The device.
        path: PathBuf,
    },
    /// The chip's code takes most of the spare bytes.
    #[error(
        "{}: {free_bytes} spare bytes of a page are free, and a tag with its code takes {STORED_BYTES}",
        path.display()
    )]
    LittleOob {
        /// The device.
        path: PathBuf,
        /// Free spare bytes of a page.
        free_bytes: u32,
    },
    /// The device, or its partition, cannot be written to.
    #[error("{}: can only be read: its driver or partition table says so", path.display())]
    ReadOnly {
        /// The device.
        path: PathBuf,
    },
    /// Something else uses it.
    #[error("{}: in use by {by}", path.display())]
    InUse {
        /// The device.
        path: PathBuf,
        /// What it is.
        by: String,
    },
    /// The numbers that the kernel tells make no chip.
    #[error(
        "{}: {blocks} blocks of {block_bytes} bytes with pages of {page_bytes}: no such chip is known",
        path.display()
    )]
    Shape {
        /// The device.
        path: PathBuf,
        /// Blocks.
        blocks: u64,
        /// Bytes of a block.
        block_bytes: u32,
        /// Bytes of a page.
        page_bytes: u32,
    },
}

/// A failure of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MtdError {
    /// A page has too many wrong bits, in its data or beside it.
    #[error("page {page} has too many wrong bits")]
    Uncorrectable {
        /// The page.
        page: u32,
    },
    /// The chip reported that a program failed.
    #[error("the program of page {page} failed")]
    ProgramFailed {
        /// The page.
        page: u32,
    },
    /// The chip reported that an erase failed.
    #[error("the erase of block {block} failed")]
    EraseFailed {
        /// The block.
        block: u32,
    },
    /// An address outside the chip, or a buffer of another length.
    #[error("page {page} is outside the chip, or a buffer has the wrong length")]
    OutOfRange {
        /// The page; for a block its first one.
        page: u32,
    },
    /// The system refused an operation.
    #[error("{call} at {at}: {errno}")]
    System {
        /// The system call.
        call: &'static str,
        /// The first byte.
        at: u64,
        /// What the system says.
        errno: Errno,
    },
}

impl ChipError for MtdError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Uncorrectable { .. } => ErrorKind::Uncorrectable,
            Self::ProgramFailed { .. } => ErrorKind::ProgramFailed,
            Self::EraseFailed { .. } => ErrorKind::EraseFailed,
            Self::OutOfRange { .. } => ErrorKind::OutOfRange,
            // The device is gone or refuses: nothing can be said of its blocks.
            Self::System { .. } => ErrorKind::Unresponsive,
        }
    }
}
