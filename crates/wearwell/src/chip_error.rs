//! The errors of chips, as the engines tell them.

use wearwell_flash::{ChipError, ErrorKind};

/// The kind of a chip's error.
#[expect(clippy::needless_pass_by_value, reason = "map_err passes by value")]
pub(crate) fn kind(error: impl ChipError) -> ErrorKind {
    error.kind()
}
