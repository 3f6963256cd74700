//! Segments as stripes of erase blocks across dies.

use wearwell_flash::{BlockAddr, ErrorKind, Nand, NandGeometry, PageAddr};

use crate::addr::{Divider, Seg};
use crate::chip_error::kind;

/// The blocks of a segment, and the places of its pages.
///
/// A segment of one block is that block. A segment of n blocks takes one block of each of n dies, at the same place in
/// every die. Its pages are interleaved over the dies, so that consecutive pages can be programmed together.
#[derive(Debug, Clone, Copy)]
pub struct Stripe {
    geometry: NandGeometry,
    blocks: u32,
    by_pages: Divider,
    by_blocks: Divider,
}

impl Stripe {
    /// Segments of `blocks` blocks each.
    ///
    /// # Panics
    /// Unless `blocks` is 1 or divides the number of dies.
    pub const fn new(geometry: NandGeometry, blocks: u32) -> Self {
        assert!(blocks == 1 || (blocks > 0 && geometry.dies.is_multiple_of(blocks)), "a stripe lies across dies");
        // Stripes of one block are never divided.
        let (pages, parts) = (blocks * geometry.pages_per_block, blocks);
        let (pages, parts) = (if pages < 2 { 2 } else { pages }, if parts < 2 { 2 } else { parts });
        Self { geometry, blocks, by_pages: Divider::new(pages), by_blocks: Divider::new(parts) }
    }

    /// Pages in a segment.
    pub const fn pages(&self) -> u32 {
        self.blocks * self.geometry.pages_per_block
    }

    /// Blocks in a segment.
    pub const fn blocks_per_segment(&self) -> u32 {
        self.blocks
    }

    /// Segments of the chip.
    pub const fn segments(&self) -> u32 {
        self.geometry.blocks / self.blocks
    }

    /// Groups of segments that can erase at the same time.
    pub const fn banks(&self) -> u32 {
        self.geometry.dies / self.blocks
    }

    /// Block `part` of a segment. The groups of dies follow one another.
    fn block(&self, seg: Seg, part: u32) -> BlockAddr {
        let blocks_per_die = self.geometry.blocks / self.geometry.dies;
        let (group, place) = (seg.0 / blocks_per_die, seg.0 % blocks_per_die);
        BlockAddr((group * self.blocks + part) * blocks_per_die + place)
    }

    /// The segment's blocks, in the order in which they are erased.
    pub fn blocks(&self, seg: Seg) -> impl DoubleEndedIterator<Item = BlockAddr> + use<> {
        let stripe = *self;
        (0..self.blocks).map(move |part| stripe.block(seg, part))
    }

    /// Address of a page numbered over all segments.
    #[inline]
    pub fn page(&self, number: u32) -> PageAddr {
        // This saves the divisions of every page.
        if self.blocks == 1 {
            return PageAddr(number);
        }
        let seg = Seg(self.by_pages.quotient(number));
        let page = self.by_pages.remainder(number);
        let row = self.by_blocks.quotient(page);
        self.geometry.page(self.block(seg, page - row * self.blocks), row)
    }

    /// True if one of a segment's blocks is bad.
    ///
    /// # Errors
    /// As the chip's.
    pub fn is_bad<N: Nand>(&self, chip: &mut N, seg: Seg) -> Result<bool, ErrorKind> {
        for block in self.blocks(seg) {
            if chip.is_bad(block).map_err(kind)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Marks the blocks of a segment bad. One mark is enough. If none succeeds, the segment is erased, so that no mount
    /// believes what it holds, and marked once more.
    ///
    /// # Errors
    /// As the chip's.
    pub fn mark_bad<N: Nand>(&self, chip: &mut N, seg: Seg) -> Result<(), ErrorKind> {
        match self.mark_any(chip, seg) {
            Ok(()) => Ok(()),
            // A chip that no longer answers takes neither an erase nor a mark.
            Err(ErrorKind::Unresponsive) => Err(ErrorKind::Unresponsive),
            Err(_) => match self.erase_last_first(chip, seg) {
                Err(ErrorKind::Unresponsive) => Err(ErrorKind::Unresponsive),
                // Whatever the erase has ended with, the marks decide.
                _ => self.mark_any(chip, seg),
            },
        }
    }

    /// Fails if not one block could be marked.
    fn mark_any<N: Nand>(&self, chip: &mut N, seg: Seg) -> Result<(), ErrorKind> {
        let mut marked = Err(ErrorKind::Other);
        for block in self.blocks(seg) {
            match chip.mark_bad(block).map_err(kind) {
                Ok(()) => marked = Ok(()),
                Err(ErrorKind::Unresponsive) => return Err(ErrorKind::Unresponsive),
                // One mark is enough, whatever becomes of the others.
                Err(error) => marked = marked.or(Err(error)),
            }
        }
        marked
    }

    /// Erases every block of a segment and waits for it. The last block goes first.
    ///
    /// # Errors
    /// As the chip's.
    pub fn erase_last_first<N: Nand>(&self, chip: &mut N, seg: Seg) -> Result<(), ErrorKind> {
        for block in self.blocks(seg).rev() {
            chip.erase(block).map_err(kind)?;
            chip.wait_erase(self.geometry.die_of(block));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use wearwell_flash::ProgramOrder;

    #[test]
    fn every_page_has_one_address() {
        let geometry = NandGeometry {
            page_bytes: 512,
            spare_bytes: 16,
            pages_per_block: 6,
            blocks: 32,
            dies: 8,
            paired_pages: 1,
            program_order: ProgramOrder::Ascending,
        };
        for blocks in [1, 2, 4, 8] {
            let stripe = Stripe::new(geometry, blocks);
            let mut seen = vec![false; geometry.pages() as usize];
            for number in 0..stripe.segments() * stripe.pages() {
                let page = stripe.page(number);
                let seg = Seg(number / stripe.pages());
                assert!(stripe.blocks(seg).any(|b| b == geometry.block_of(page)));
                assert!(!core::mem::replace(&mut seen[page.0 as usize], true));
            }
            assert!(seen.iter().all(|&s| s));
        }
    }
}
