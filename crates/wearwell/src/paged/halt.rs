//! Why a step of the engine does not go on.

use wearwell_flash::ErrorKind;

use crate::addr::Lpn;

/// Why a step of the engine does not go on. It fits into a register: with the errors that a host is told, passing them
/// on took a twentieth of the engine's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    /// There is no segment for a page.
    WornOut,
    /// The host's page is lost.
    Unreadable,
    /// Another one wrote what is on the chip. What is told of that is [kept aside](super::store::Store::refuse).
    Refused,
    /// The chip failed.
    Chip(ErrorKind),
}

/// For commands that read no page of the host's.
pub(super) const NO_PAGE: Lpn = Lpn(u32::MAX);

impl From<ErrorKind> for Halt {
    fn from(kind: ErrorKind) -> Self {
        Self::Chip(kind)
    }
}
