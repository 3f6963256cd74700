//! Failures of a device.

/// Kinds of failure. A shortened history has to fail in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Bytes that nobody wrote there.
    Garbage,
    /// Content other than the newest, while the device was on.
    Wrong,
    /// Flushed data is gone after a mount; something older is there.
    Older,
    /// A page is unreadable, and no fault explains it.
    Unreadable,
    /// Writes are refused although there are enough segments.
    LockedUp,
    /// A command or a mount fails, and no fault explains it.
    Refused,
    /// The engine breaks the contract with the chip.
    Contract,
    /// The engine panics.
    Panic,
}

/// A device that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind:?}: {text}")]
pub struct Failure {
    /// The kind.
    pub kind: Kind,
    /// The details.
    pub text: String,
}

impl Failure {
    pub(crate) fn new(kind: Kind, text: String) -> Self {
        Self { kind, text }
    }
}
