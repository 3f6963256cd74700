//! Dead pages: pages that the host has discarded and that still take up flash.

use alloc::vec;
use alloc::vec::Vec;

use crate::addr::Seg;

/// Dead pages, by segment. Invariant: `total` is the sum of `by_segment`.
#[derive(Debug, Clone)]
pub(crate) struct DeadPages {
    by_segment: Vec<u32>,
    total: u64,
}

impl DeadPages {
    pub(crate) fn new(segments: u32) -> Self {
        Self { by_segment: vec![0; segments as usize], total: 0 }
    }

    /// Counts a page of a segment that the host discarded.
    pub(crate) fn add(&mut self, seg: Seg) {
        self.by_segment[seg.index()] += 1;
        self.total += 1;
    }

    /// The dead pages of a segment.
    pub(crate) fn of(&self, seg: Seg) -> u32 {
        self.by_segment[seg.index()]
    }

    /// Forgets the dead pages of a segment that was erased or retired.
    #[inline]
    pub(crate) fn clear(&mut self, seg: Seg) {
        self.total -= u64::from(core::mem::take(&mut self.by_segment[seg.index()]));
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn table_bytes(&self) -> u64 {
        self.by_segment.len() as u64 * 4
    }
}
