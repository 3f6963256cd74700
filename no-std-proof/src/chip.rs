//! The smallest chip there can be: arrays.

use wearwell_flash::{BlockAddr, ErrorKind, Nand, NandGeometry, PageAddr, ReadReport};

pub(crate) const PAGE_BYTES: u32 = 512;
const SPARE_BYTES: u32 = 16;
const PAGES_PER_BLOCK: u32 = 8;
const BLOCKS: u32 = 16;
const PAGES: usize = (BLOCKS * PAGES_PER_BLOCK) as usize;

#[derive(Clone, Copy)]
struct Page {
    data: [u8; PAGE_BYTES as usize],
    spare: [u8; SPARE_BYTES as usize],
    programmed: bool,
}

const ERASED: Page = Page { data: [0xFF; PAGE_BYTES as usize], spare: [0xFF; SPARE_BYTES as usize], programmed: false };

pub(crate) struct Chip {
    pages: [Page; PAGES],
}

impl Chip {
    pub(crate) const fn new() -> Self {
        Self { pages: [ERASED; PAGES] }
    }
}

/// Copies as much as the shorter one holds.
fn fill(to: &mut [u8], from: &[u8]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

impl Nand for Chip {
    type Error = ErrorKind;

    fn geometry(&self) -> NandGeometry {
        NandGeometry {
            page_bytes: PAGE_BYTES,
            spare_bytes: SPARE_BYTES,
            pages_per_block: PAGES_PER_BLOCK,
            blocks: BLOCKS,
            ..NandGeometry::SLC
        }
    }

    fn read(&mut self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        let stored = self.pages.get(page.0 as usize).ok_or(ErrorKind::OutOfRange)?;
        fill(data, &stored.data);
        fill(spare, &stored.spare);
        Ok(ReadReport::default())
    }

    fn program(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Result<(), ErrorKind> {
        let stored = self.pages.get_mut(page.0 as usize).ok_or(ErrorKind::OutOfRange)?;
        if stored.programmed {
            return Err(ErrorKind::Contract);
        }
        stored.programmed = true;
        fill(&mut stored.data, data);
        fill(&mut stored.spare, spare);
        Ok(())
    }

    fn copy(&mut self, from: PageAddr, to: PageAddr, spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        let source = *self.pages.get(from.0 as usize).ok_or(ErrorKind::OutOfRange)?;
        fill(spare, &source.spare);
        self.program(to, &source.data, &source.spare)?;
        Ok(ReadReport::default())
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        let first = block.0 as usize * PAGES_PER_BLOCK as usize;
        let pages = self.pages.get_mut(first..first + PAGES_PER_BLOCK as usize).ok_or(ErrorKind::OutOfRange)?;
        pages.fill(ERASED);
        Ok(())
    }

    fn is_bad(&mut self, _: BlockAddr) -> Result<bool, ErrorKind> {
        Ok(false)
    }

    fn mark_bad(&mut self, _: BlockAddr) -> Result<(), ErrorKind> {
        Ok(())
    }
}
