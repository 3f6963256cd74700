//! Errors of an emulated chip, and of setting one up.

use std::path::PathBuf;

use wearwell_flash::{BankAddr, BlockAddr, ChipError, ErrorKind, NorAddr, PageAddr};

use crate::profile::{ChipKind, ProfileError};

/// A failure of an operation on an emulated chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmuError {
    /// The power is off, because of a cut in this or an earlier operation.
    #[error("power is off")]
    PowerCut,
    /// The page has more wrong bits than the code corrects.
    #[error("page {} is uncorrectable", .0.0)]
    Uncorrectable(PageAddr),
    /// The program of this page failed; its block has grown bad.
    #[error("the program of page {} failed", .0.0)]
    ProgramFailed(PageAddr),
    /// The program from this byte on failed; its block has grown bad.
    #[error("the program at block {}, byte {} failed", .0.block.0, .0.offset)]
    NorProgramFailed(NorAddr),
    /// The erase of this block failed; it has grown bad.
    #[error("the erase of block {} failed", .0.0)]
    EraseFailed(BlockAddr),
    /// The block could not be marked bad.
    #[error("the mark of block {} failed", .0.0)]
    MarkFailed(BlockAddr),
    /// The page is outside the chip.
    #[error("page {} is outside the chip", .0.0)]
    PageOutOfRange(PageAddr),
    /// The block is outside the chip.
    #[error("block {} is outside the chip", .0.0)]
    BlockOutOfRange(BlockAddr),
    /// The bank is outside the chip.
    #[error("bank {} is outside the chip", .0.0)]
    BankOutOfRange(BankAddr),
    /// The bytes are not inside one block of the chip.
    #[error("{len} bytes at block {}, byte {} are not inside one block", at.block.0, at.offset)]
    BytesOutOfRange {
        /// The first byte.
        at: NorAddr,
        /// How many.
        len: usize,
    },
    /// A buffer has the wrong length.
    #[error("a buffer for page {} has {got} bytes, not {wanted}", page.0)]
    BufferLength {
        /// The page that was to be read or programmed.
        page: PageAddr,
        /// Bytes in the buffer passed.
        got: usize,
        /// Bytes that it must have; for a spare to program, at most.
        wanted: u32,
    },
    /// The page is not erased.
    #[error("page {} is programmed a second time", .0.0)]
    ProgrammedTwice(PageAddr),
    /// A later page of the block was programmed already.
    #[error("page {} is programmed after a later page of its block", .0.0)]
    OutOfOrder(PageAddr),
    /// The bank is erasing: it can neither program nor start another erase.
    #[error("bank {} is erasing", .0.0)]
    BankErasing(BankAddr),
    /// The block is being erased and cannot be read.
    #[error("block {} is being erased", .0.0)]
    BlockErasing(BlockAddr),
    /// The bus failed in the middle of the operation, which may or may not have happened.
    #[error("the bus failed; the operation may have happened")]
    Interrupted,
    /// The file system has no space for what the operation would store. Nothing has changed.
    #[error("the file system has no room for the image")]
    NoRoom,
}

impl ChipError for EmuError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::PowerCut => ErrorKind::Unresponsive,
            Self::Uncorrectable(_) => ErrorKind::Uncorrectable,
            Self::ProgramFailed(_) | Self::NorProgramFailed(_) | Self::MarkFailed(_) => ErrorKind::ProgramFailed,
            Self::EraseFailed(_) => ErrorKind::EraseFailed,
            Self::PageOutOfRange(_)
            | Self::BlockOutOfRange(_)
            | Self::BankOutOfRange(_)
            | Self::BytesOutOfRange { .. }
            | Self::BufferLength { .. } => ErrorKind::OutOfRange,
            Self::ProgrammedTwice(_) | Self::OutOfOrder(_) | Self::BankErasing(_) | Self::BlockErasing(_) => {
                ErrorKind::Contract
            }
            Self::Interrupted | Self::NoRoom => ErrorKind::Other,
        }
    }
}

/// Why an emulated chip cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The profile describes no possible chip.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The profile is of the other kind.
    #[error("chip '{name}' is {is}, not {wanted}")]
    WrongKind {
        /// The profile's name.
        name: String,
        /// Its kind.
        is: ChipKind,
        /// The kind asked for.
        wanted: ChipKind,
    },
    /// The faults make no sense for this chip.
    #[error("faults: {0}")]
    Faults(String),
    /// The chip's bytes do not fit into memory.
    #[error("the chip needs {bytes} bytes, more memory than there is")]
    Memory {
        /// Bytes needed.
        bytes: u64,
    },
    /// The image file cannot be made, opened, locked or mapped.
    #[error("{}: {error}", path.display())]
    Io {
        /// The image file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// Another process has the image open.
    #[error("{}: in use by another process", path.display())]
    InUse {
        /// The image file.
        path: PathBuf,
    },
    /// The file is not a chip image, or not one that this version reads.
    #[error("{}: {fault}{}", path.display(), behind(*.chip_at))]
    Image {
        /// The image file.
        path: PathBuf,
        /// Where the chip begins in the file; offsets in `fault` count from there.
        chip_at: u64,
        /// What is wrong with it.
        fault: ImageFault,
    },
}

/// The byte that offsets in a fault's text count from, if it is not the file's first.
fn behind(chip_at: u64) -> String {
    if chip_at == 0 { String::new() } else { format!(", counted from byte {chip_at}, where the chip begins") }
}

/// What is wrong with an image's header or length.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageFault {
    /// The file does not begin with the mark of a chip image.
    #[error("not a chip image (no mark at byte 0)")]
    Foreign,
    /// The image is of another version of the format.
    #[error("image format {found}, this program reads {supported} (byte 8)")]
    Version {
        /// The file's version.
        found: u32,
        /// The version that can be read.
        supported: u32,
    },
    /// The header's checksum does not match.
    #[error("the header is damaged (checksum at byte 12)")]
    Checksum,
    /// The file is shorter or longer than its chip.
    #[error("{found} bytes long, its chip needs {expected}")]
    Length {
        /// The file's length in bytes.
        found: u64,
        /// The length that its chip needs.
        expected: u64,
    },
    /// The image holds another chip than the one asked for.
    #[error("the image holds chip '{found}' with another shape than '{wanted}' ({field} differs)")]
    OtherChip {
        /// Name in the image.
        found: String,
        /// Name of the profile asked for.
        wanted: String,
        /// The first field that differs.
        field: &'static str,
    },
    /// Both copies of the simulated time are damaged, or later than any run reaches.
    #[error("the clock is damaged (bytes 256 and 272)")]
    Clock,
    /// A block's record holds a value that no run writes.
    #[error("the record of block {block} is damaged: {what} (byte {at})")]
    Record {
        /// The block.
        block: u32,
        /// What is wrong.
        what: &'static str,
        /// Byte in the file.
        at: u64,
    },
}
