//! What raw flash holds, before there is a disk on it.

use std::fmt;

/// What is on raw flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Nothing: every good block begins with an erased page.
    Nothing,
    /// A disk, with this capacity.
    Disk {
        /// Bytes for the host.
        bytes: u64,
        /// Version of the layout.
        version: u32,
    },
    /// Something else.
    Other {
        /// The first block that holds it.
        block: u32,
    },
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => write!(f, "nothing"),
            Self::Disk { bytes, .. } => write!(f, "a disk of {bytes} bytes"),
            Self::Other { block } => write!(f, "data of something else, first in block {block}"),
        }
    }
}
