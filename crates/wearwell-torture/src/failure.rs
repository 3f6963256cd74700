//! What a device can do wrong.

/// Kinds of failure: a history that is shortened has to fail in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Bytes that nobody wrote there.
    Garbage,
    /// Another content than the newest, while the device was on.
    Wrong,
    /// What was flushed is gone after a mount: something older is there.
    Older,
    /// A page is unreadable, and no fault explains it.
    Unreadable,
    /// No write is taken, with segments to spare.
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
    /// In which way.
    pub kind: Kind,
    /// With what.
    pub text: String,
}

impl Failure {
    pub(crate) fn new(kind: Kind, text: String) -> Self {
        Self { kind, text }
    }
}
