//! A history: the commands and faults of a device, as data that can be replayed, shortened and pasted into a test.

use crate::setup::PolicyNames;

/// A command of the host, or a fault of the chip.
///
/// A command while the power is off is skipped, so that any part of a history is a valid history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Writes whole pages with one command.
    Write {
        /// The first.
        page: u32,
        /// How many.
        count: u32,
        /// The host's stream.
        stream: u16,
        /// The host promises not to write them again.
        read_only: bool,
    },
    /// Writes sectors.
    Part {
        /// The first.
        sector: u32,
        /// How many.
        count: u32,
        /// The host's stream.
        stream: u16,
    },
    /// Discards sectors.
    Discard {
        /// The first.
        sector: u32,
        /// How many.
        count: u32,
    },
    /// Flushes.
    Flush,
    /// Cleans in the background.
    Clean {
        /// Pages to move at most.
        pages: u32,
    },
    /// Reads a page and compares.
    Read {
        /// Which.
        page: u32,
    },
    /// Reads every page and compares.
    Verify,
    /// Shuts down. If that fails while the power is on, the device stays in use.
    Shutdown,
    /// Changes the policies.
    Policies(PolicyNames),
    /// Turns the power off, if it is on, and on again; mounts; reads every page and compares.
    Mount,
    /// The power fails in the program, erase or mark after `after` others.
    Cut {
        /// How many others.
        after: u32,
        /// Decides what is left.
        draw: u64,
    },
    /// The program or erase after `after` operations fails, and so do all later ones of its block.
    Fail {
        /// How many others.
        after: u32,
        /// Decides what is left.
        draw: u64,
    },
    /// The bad-block mark after `after` programs, erases and marks fails.
    FailMark {
        /// How many of them.
        after: u32,
    },
    /// The program or erase after `after` others ends with an error of the driver's own. It may or may not have
    /// happened.
    Other {
        /// How many others.
        after: u32,
        /// Decides whether it happened.
        draw: u64,
    },
    /// The read after `after` others asks for its page to be moved.
    Refresh {
        /// How many others.
        after: u32,
    },
    /// While the device is off, somebody else marks a block bad, of a segment that holds nothing.
    Mark {
        /// Decides which.
        draw: u64,
    },
    /// A page becomes unreadable.
    Decay {
        /// Decides which.
        draw: u64,
    },
}

impl Step {
    /// True for a fault that waits for a later operation.
    pub fn is_armed(&self) -> bool {
        self.after().is_some()
    }

    /// The number of operations that a fault lets pass.
    pub fn after(&self) -> Option<u32> {
        match *self {
            Self::Cut { after, .. }
            | Self::Fail { after, .. }
            | Self::FailMark { after }
            | Self::Other { after, .. }
            | Self::Refresh { after } => Some(after),
            _ => None,
        }
    }

    /// The same fault, `after` operations from now.
    pub fn with_after(self, after: u32) -> Self {
        match self {
            Self::Cut { draw, .. } => Self::Cut { after, draw },
            Self::Fail { draw, .. } => Self::Fail { after, draw },
            Self::FailMark { .. } => Self::FailMark { after },
            Self::Other { draw, .. } => Self::Other { after, draw },
            Self::Refresh { .. } => Self::Refresh { after },
            other => other,
        }
    }
}
