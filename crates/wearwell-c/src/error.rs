//! Errors as codes, and their meanings.

use core::ffi::{CStr, c_char, c_int};

use wearwell::page::ConfigError;
use wearwell::{Error, ErrorKind, FtlError, MountError};

/// The result of a call. After any error, everything that could be read can still be read.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ww_error {
    /// Success.
    WW_OK = 0,
    /// A pointer is null, or pages lie outside the disk.
    WW_BAD_ARGUMENT,
    /// The chip's shape is not supported: see `ww_geometry`.
    WW_BAD_GEOMETRY,
    /// The pages do not fit on the chip, which needs a reserve for cleaning.
    WW_TOO_LARGE,
    /// The arena is too small: see `ww_arena_bytes`. A chip with content that no power cut leaves may need even more.
    WW_ARENA_TOO_SMALL,
    /// The chip holds data that this library did not write. Nothing was changed.
    WW_FOREIGN,
    /// The chip was formatted for another number of pages. Nothing was changed.
    WW_OTHER_CAPACITY,
    /// The chip was formatted by another version. Nothing was changed.
    WW_OTHER_VERSION,
    /// The chip lost the page.
    WW_UNREADABLE,
    /// So many blocks have gone bad that the disk is read-only now.
    WW_WORN_OUT,
    /// The driver failed, and the call could not continue.
    WW_DRIVER_FAILED,
    /// The chip was formatted with its map on flash (`ww_format_paged`) and is mounted without, or the other way round.
    /// Nothing was changed.
    WW_OTHER_MAP,
}

/// The meaning of each code, in the order of the codes.
const TEXTS: [(ww_error, &CStr); 12] = [
    (ww_error::WW_OK, c"done"),
    (ww_error::WW_BAD_ARGUMENT, c"a pointer is null, or pages lie outside the disk"),
    (ww_error::WW_BAD_GEOMETRY, c"the chip's shape does not suit"),
    (ww_error::WW_TOO_LARGE, c"so many pages do not fit on the chip"),
    (ww_error::WW_ARENA_TOO_SMALL, c"the arena is too small"),
    (ww_error::WW_FOREIGN, c"the chip holds something that this library did not write"),
    (ww_error::WW_OTHER_CAPACITY, c"the chip was formatted for another number of pages"),
    (ww_error::WW_OTHER_VERSION, c"the chip was formatted by another version"),
    (ww_error::WW_UNREADABLE, c"the chip lost the page"),
    (ww_error::WW_WORN_OUT, c"the chip is worn out: the disk is read-only"),
    (ww_error::WW_DRIVER_FAILED, c"the driver failed"),
    (ww_error::WW_OTHER_MAP, c"the chip was formatted with its map elsewhere, on flash or in memory"),
];

/// The meaning of a `ww_error` in words. Never null.
#[unsafe(no_mangle)]
pub extern "C" fn ww_error_text(error: c_int) -> *const c_char {
    let found = TEXTS.iter().find(|(code, _)| *code as c_int == error);
    found.map_or(c"no error of this library has this number", |(_, text)| text).as_ptr()
}

impl From<Error<ErrorKind>> for ww_error {
    fn from(error: Error<ErrorKind>) -> Self {
        match error {
            Error::Command(error) => error.into(),
            Error::Mount(error) => error.into(),
            Error::Shape(_) => Self::WW_BAD_GEOMETRY,
            _ => Self::WW_DRIVER_FAILED,
        }
    }
}

impl From<FtlError> for ww_error {
    fn from(error: FtlError) -> Self {
        match error {
            FtlError::OutOfRange { .. } | FtlError::BufferLength { .. } => Self::WW_BAD_ARGUMENT,
            FtlError::Unreadable { .. } => Self::WW_UNREADABLE,
            FtlError::WornOut { .. } => Self::WW_WORN_OUT,
            _ => Self::WW_DRIVER_FAILED,
        }
    }
}

impl From<MountError> for ww_error {
    fn from(error: MountError) -> Self {
        match error {
            MountError::Config(ConfigError::NoPages | ConfigError::CacheTooSmall { .. }) => Self::WW_BAD_ARGUMENT,
            MountError::Config(ConfigError::TooLarge { .. } | ConfigError::TooManyLogicalPages { .. }) => {
                Self::WW_TOO_LARGE
            }
            MountError::Config(_) => Self::WW_BAD_GEOMETRY,
            MountError::NoMemory => Self::WW_ARENA_TOO_SMALL,
            MountError::Foreign | MountError::OtherScheme { .. } => Self::WW_FOREIGN,
            MountError::OtherCapacity { .. } => Self::WW_OTHER_CAPACITY,
            MountError::OtherMap { .. } => Self::WW_OTHER_MAP,
            MountError::OtherVersion { .. } => Self::WW_OTHER_VERSION,
            MountError::Ftl(error) => error.into(),
            _ => Self::WW_DRIVER_FAILED,
        }
    }
}
