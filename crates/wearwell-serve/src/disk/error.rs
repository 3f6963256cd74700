//! The errors of a disk.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;
use wearwell::page::MountError;
use wearwell::{FtlError, Placement};
use wearwell_emu::SetupError;
use wearwell_flash::ErrorKind;
use wearwell_mtd::{MtdError, OpenError};
use wearwell_sim::engine::{Engine, EngineError, PolicyError};

use super::header::HeaderFault;
use super::held::Held;

/// Why a disk cannot be made or opened, or a command failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DiskError {
    /// Another process uses the image.
    #[error("{}: in use{}", path.display(), holder.map(|pid| format!(" by process {pid}")).unwrap_or_default())]
    InUse {
        /// The image.
        path: PathBuf,
        /// The process that holds it, if the image says so.
        holder: Option<u32>,
    },
    /// The chip cannot be made, or the image cannot be opened.
    #[error(transparent)]
    Setup(SetupError),
    /// The image's header cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The image.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The file is not a disk image, or its header is damaged.
    #[error("{}: {fault}", path.display())]
    Header {
        /// The image.
        path: PathBuf,
        /// What is wrong, and at which byte.
        fault: HeaderFault,
    },
    /// No chip has so many blocks.
    #[error("{bytes} bytes are more than any chip has")]
    TooLarge {
        /// What was to be for the host.
        bytes: u64,
    },
    /// A disk needs room for something.
    #[error("a disk of 0 bytes could hold nothing: name another size")]
    Empty,
    /// The engine was refused, or the chip could not be formatted or mounted.
    #[error(transparent)]
    Engine(EngineError),
    /// The disk could never be opened again.
    #[error("--ftl {ftl} in layout plain keeps no records, so that a disk could not be mounted again: choose another")]
    NoRecords {
        /// The engine.
        ftl: Engine,
    },
    /// Reclaim unit handles need the placement policy for handles.
    #[error("--fdp: needs --ftl page, and placement by handle, which it chooses itself: leave --where out")]
    NoHandles,
    /// The disk's reclaim unit handles need their placement policy as long as there is the disk.
    #[error(
        "--where {asked}: this disk has reclaim unit handles, which need {needed}; leave --where out, or make a \
         disk without --fdp"
    )]
    PlacedByHandle {
        /// The placement asked for.
        asked: Placement,
        /// That of the handles.
        needed: Placement,
    },
    /// The bytes lie outside the disk.
    #[error("{bytes} bytes at {offset} lie beyond the disk's {capacity}")]
    OutOfRange {
        /// The first byte.
        offset: u64,
        /// How many.
        bytes: u64,
        /// Bytes of the disk.
        capacity: u64,
    },
    /// The power was cut. The disk has to be opened again.
    #[error("power is off")]
    PowerOff,
    /// The file system below the image is full. The disk takes no writes until it is mounted again.
    #[error("the file system has no room for the image: make some")]
    NoRoom,
    /// Data written since the last flush may be lost, because the disk was mounted again since.
    #[error("what was not flushed when the file system was full may be lost")]
    Remounted,
    /// The engine refused or failed a command.
    #[error(transparent)]
    Ftl(FtlError),
    /// The policies cannot be changed like this.
    #[error(transparent)]
    Policies(#[from] PolicyError),
    /// A recording keeps no bytes, and inference needs them.
    #[error("--record: what --aware infers cannot be replayed from a recording, which keeps no bytes")]
    NotRecordable,
    /// A recording holds only the calls since its start.
    #[error("--record: the disk was written to before, and a replay begins with a new one: create another image")]
    NotNew,
    /// The recording could not be written.
    #[error("the recording failed: {0}")]
    Recording(Arc<io::Error>),
    /// Only an image can be copied.
    #[error("there is no image to copy: this disk is in memory, or on a real chip")]
    NoImage,
    /// Raw flash that cannot be used.
    #[error(transparent)]
    Mtd(#[from] OpenError),
    /// Raw flash that cannot be read.
    #[error("{}: {error}", path.display())]
    MtdFailed {
        /// The flash's device.
        path: PathBuf,
        /// What happened.
        error: MtdError,
    },
    /// Raw flash that is not blank, and that nobody allowed to erase.
    #[error("{}: holds {held}; to erase all of it, use --force", path.display())]
    NotBlank {
        /// The flash's device.
        path: PathBuf,
        /// What is on it.
        held: Held,
    },
    /// Raw flash without a disk.
    #[error("{}: holds no disk: make one with --format", path.display())]
    NoDisk {
        /// The flash's device.
        path: PathBuf,
    },
    /// The emulator's means do not reach a real chip.
    #[error("the chip is real: only an emulated one fails on request")]
    RealChip,
    /// The image could not be made durable.
    #[error("the image could not be made durable: {0}")]
    Sync(io::Error),
}

impl From<SetupError> for DiskError {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::InUse { path } => Self::InUse { path, holder: None },
            error => Self::Setup(error),
        }
    }
}

/// Of a chip's errors, only an emulated one's full file system is of that kind.
impl From<FtlError> for DiskError {
    fn from(error: FtlError) -> Self {
        match error {
            FtlError::Chip(ErrorKind::Other) => Self::NoRoom,
            error => Self::Ftl(error),
        }
    }
}

impl From<EngineError> for DiskError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Format(error) | EngineError::Mount(error) if is_full(&error) => Self::NoRoom,
            error => Self::Engine(error),
        }
    }
}

fn is_full(error: &MountError) -> bool {
    matches!(error, MountError::Chip(ErrorKind::Other) | MountError::Ftl(FtlError::Chip(ErrorKind::Other)))
}

impl DiskError {
    /// True if the request was not valid or the resource is in use; false if a fault was found.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::InUse { .. }
            | Self::NoRecords { .. }
            | Self::TooLarge { .. }
            | Self::Empty
            | Self::NoHandles
            | Self::PlacedByHandle { .. }
            | Self::OutOfRange { .. }
            | Self::Policies(_) => true,
            Self::NotRecordable | Self::NotNew | Self::NoImage => true,
            Self::Mtd(_) | Self::NotBlank { .. } | Self::NoDisk { .. } | Self::RealChip => true,
            Self::Setup(error) => !matches!(error, SetupError::Image { .. }),
            Self::Engine(error) => error.is_refusal(),
            Self::Header { fault, .. } => {
                matches!(fault, HeaderFault::Foreign | HeaderFault::NoFile | HeaderFault::Version { .. })
            }
            Self::Io { .. } => true,
            Self::PowerOff | Self::NoRoom | Self::Remounted | Self::Ftl(_) | Self::MtdFailed { .. } => false,
            Self::Recording(_) | Self::Sync(_) => false,
        }
    }
}
