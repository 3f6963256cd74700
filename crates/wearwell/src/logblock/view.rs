//! What can be seen of the segments from outside.

use alloc::vec;
use alloc::vec::Vec;

use super::BlockFtl;
use super::pages::Pages;
use super::store::Use;
use crate::addr::Lpn;
use crate::ftl::Probe;

/// What a segment is used for, as [`BlockFtl::segments`] tells it.
///
/// The engine's own list of uses also says which logical block or log block it is. Their numbers mean nothing outside,
/// so they are left out here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockUse {
    /// Erased, or to be erased before use.
    Free,
    /// Being filled, or being erased.
    Taken,
    /// The data block of a logical block.
    Data,
    /// A log block.
    Log,
    /// Bad.
    Bad,
}

/// A segment of block mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSegment {
    /// What it is used for.
    pub used: BlockUse,
    /// Pages of it that the map points to.
    pub valid_pages: u32,
    /// Times erased.
    pub erases: u32,
}

impl<M: Pages, P: Probe> BlockFtl<M, P> {
    /// Every segment, in order. Looks at the whole map.
    pub fn segments(&self) -> Vec<BlockSegment> {
        // The engine counts the valid pages of log blocks only.
        let mut valid = vec![0; self.merger().store.shape().segments as usize];
        for lpn in 0..self.config.logical_pages {
            let at = self.merger().index.map().lookup(Lpn(lpn));
            if at.is_some() {
                valid[self.merger().store.segment_of(at).index()] += 1;
            }
        }
        let used = self.merger().store.all().map(|seg| match self.merger().store.used(seg) {
            Use::Free => BlockUse::Free,
            Use::Taken => BlockUse::Taken,
            Use::Data(_) => BlockUse::Data,
            Use::Log(_) => BlockUse::Log,
            Use::Bad => BlockUse::Bad,
        });
        let counts = valid.into_iter().zip(self.merger().store.all().map(|seg| self.merger().store.erases(seg)));
        used.zip(counts).map(|(used, (valid_pages, erases))| BlockSegment { used, valid_pages, erases }).collect()
    }
}
