//! The engine's segments, as the chip sees them.

use super::NandChip;
use crate::medium::Layout;

/// The blocks of a segment: the same one of neighboring dies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub(super) first: usize,
    pub(super) blocks: usize,
    per_die: usize,
}

impl Segment {
    pub(super) fn iter(self) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.blocks).map(move |die| self.first + die * self.per_die)
    }
}

impl NandChip {
    /// The pages of a segment, in the order in which they are programmed.
    pub(super) fn in_order(&self, blocks: Segment) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let pages = self.geometry.pages_per_block as usize;
        (0..pages).flat_map(move |page| blocks.iter().map(move |block| block * pages + page))
    }

    /// True if a block is marked as bad. Then the whole segment is retired, and no engine looks at what it holds.
    pub(super) fn is_retired(&self, blocks: Segment) -> bool {
        blocks.iter().any(|block| self.blocks[block].marked)
    }

    /// The segment that a page lies in.
    pub(super) fn segment_with(&self, page: usize, layout: &Layout) -> Option<Segment> {
        let block = page / self.geometry.pages_per_block as usize;
        self.segments(layout.blocks_per_segment).find(|blocks| blocks.iter().any(|other| other == block))
    }

    pub(super) fn segments(&self, blocks_per_segment: u32) -> impl Iterator<Item = Segment> {
        let (blocks, per_die) = (blocks_per_segment as usize, (self.geometry.blocks / self.geometry.dies) as usize);
        (0..self.geometry.blocks as usize / blocks).map(move |segment| {
            let first_die = segment / per_die * blocks;
            Segment { first: first_die * per_die + segment % per_die, blocks, per_die }
        })
    }
}
