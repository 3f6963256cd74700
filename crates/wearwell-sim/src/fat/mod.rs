//! A real FAT file system whose disk is a simulated one.
//!
//! The file system is the `fatfs` crate; FAT12, FAT16 or FAT32 and the size of a cluster follow from the size of
//! the volume, as that crate chooses them. Three parts lie between it and the flash:
//!
//! - [`Volume`] does whole operations on files (create, append, overwrite, read, remove). An operation ends with a
//!   sync: what it changed is written, and a flush follows, as in an embedded file system when a file is closed.
//! - The window: 32 sectors of memory, as a small controller can afford. Parts of sectors (entries of the allocation
//!   table, of directories, the ends of files) are changed there, so that the many small updates of one operation to
//!   one sector become one write of that sector when the operation ends. Whole sectors bypass it.
//! - A [`Device`] reads and writes sectors: an engine, or the [`Recorder`], which turns every access into a
//!   [`Request`](crate::Request) and answers reads from its own memory. With it a workload can be issued to an engine
//!   one transaction at a time, even to an engine that stores nothing.
//!
//! Nothing depends on the time of day. A volume's clock advances by two seconds an operation, the resolution of FAT,
//! so every change of a file changes its directory entry too.

mod image;
mod partition;
mod recorder;
mod root;
mod volume;
mod window;

use std::io;

use thiserror::Error;

pub(crate) use image::SparseImage;
pub(crate) use partition::table as partition_table;
pub use recorder::Recorder;
pub use volume::Volume;

const SECTOR: usize = wearwell::SECTOR_BYTES as usize;

/// A store of sectors of 512 bytes that can hold a volume.
pub trait Device {
    /// Its number of sectors.
    fn sectors(&self) -> u64;

    /// Reads whole sectors, from `sector` on; `data` is a multiple of 512 bytes.
    ///
    /// # Errors
    /// The device's own.
    fn read(&mut self, sector: u64, data: &mut [u8]) -> io::Result<()>;

    /// Writes whole sectors, from `sector` on; `data` is a multiple of 512 bytes.
    ///
    /// # Errors
    /// The device's own.
    fn write(&mut self, sector: u64, data: &[u8]) -> io::Result<()>;

    /// Makes everything written so far durable.
    ///
    /// # Errors
    /// The device's own.
    fn flush(&mut self) -> io::Result<()>;
}

impl<D: Device> Device for &mut D {
    fn sectors(&self) -> u64 {
        (**self).sectors()
    }

    fn read(&mut self, sector: u64, data: &mut [u8]) -> io::Result<()> {
        (**self).read(sector, data)
    }

    fn write(&mut self, sector: u64, data: &[u8]) -> io::Result<()> {
        (**self).write(sector, data)
    }

    fn flush(&mut self) -> io::Result<()> {
        (**self).flush()
    }
}

/// Errors of a file system.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FatError {
    /// FAT numbers its sectors with 32 bits.
    #[error("a FAT volume has fewer than 2^32 sectors; {sectors} are too many")]
    TooLarge {
        /// Sectors of the device.
        sectors: u64,
    },
    /// FAT does not fit this number of sectors.
    #[error("{sectors} sectors cannot be formatted as FAT: {reason}")]
    Format {
        /// Sectors of the device.
        sectors: u64,
        /// What the file system says.
        reason: io::Error,
    },
    /// The volume could not be mounted.
    #[error("the FAT volume cannot be mounted: {0}")]
    Mount(io::Error),
    /// A file differs from what was written.
    #[error("`{path}` differs from what was written")]
    Differs {
        /// The file.
        path: String,
    },
    /// The volume could not be unmounted.
    #[error("the FAT volume cannot be unmounted: {0}")]
    Unmount(io::Error),
    /// The first files of a workload do not fit the volume.
    #[error("the FAT volume has no room for {what}: {free_bytes} bytes are free, {needed_bytes} needed")]
    NoRoom {
        /// What did not fit.
        what: String,
        /// Bytes in free clusters.
        free_bytes: u64,
        /// Bytes that it takes.
        needed_bytes: u64,
    },
    /// An operation failed.
    #[error("{operation} `{path}`: {reason}")]
    Operation {
        /// The operation.
        operation: &'static str,
        /// The file or directory.
        path: String,
        /// What the file system or the device says.
        reason: io::Error,
    },
}
