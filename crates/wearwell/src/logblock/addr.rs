//! The numbers of logical blocks and of log blocks.

/// A logical block: as many consecutive logical pages as a segment has pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Lbn(pub(super) u32);

impl Lbn {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A log block's number: its place in the table of `logs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogId(pub(super) u32);
