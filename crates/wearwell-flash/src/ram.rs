//! A NAND chip in memory that keeps the contract and refuses calls that break it.

use alloc::vec;
use alloc::vec::Vec;

use crate::{BlockAddr, ChipError, ErrorKind, Nand, NandGeometry, PageAddr, ProgramOrder, ReadReport};

/// A NAND chip in memory, for examples and for tests of layers above a driver.
///
/// It stores data, never fails, and holds callers to the [contract](Nand#contract): programming a page twice, or out of
/// order, is an error. For power cuts, wear and bit errors there is the emulator, `wearwell-emu`.
///
/// ```
/// use wearwell_flash::{ErrorKind, Nand, PageAddr, RamNand};
///
/// let mut chip = RamNand::new(RamNand::SMALL);
/// let page = [42; 512];
/// chip.program(PageAddr(0), &page, &[])?;
/// let again = chip.program(PageAddr(0), &page, &[]).unwrap_err();
/// assert_eq!(again.kind, ErrorKind::Contract);
/// # Ok::<(), wearwell_flash::RamNandError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RamNand {
    geometry: NandGeometry,
    /// Data and spare of every page.
    bytes: Vec<u8>,
    /// For each page, true if it must not be programmed before its block is erased.
    passed: Vec<bool>,
    bad: Vec<bool>,
}

/// A mistake of a caller, and its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RamNandError {
    /// [`OutOfRange`](ErrorKind::OutOfRange) or [`Contract`](ErrorKind::Contract).
    pub kind: ErrorKind,
    /// The page; for a refused erase or mark, the first page of the block.
    pub page: PageAddr,
}

impl core::fmt::Display for RamNandError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.kind {
            ErrorKind::Contract => write!(f, "page {} must not be programmed before its block is erased", self.page.0),
            _ => write!(f, "page {} is outside the chip, or a buffer has the wrong length", self.page.0),
        }
    }
}

impl core::error::Error for RamNandError {}

impl ChipError for RamNandError {
    fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl RamNand {
    /// The shape of a small chip: 16 blocks of 32 pages of 512 bytes, 256 KiB.
    pub const SMALL: NandGeometry =
        NandGeometry { page_bytes: 512, spare_bytes: 16, pages_per_block: 32, blocks: 16, ..NandGeometry::SLC };

    /// An erased chip.
    pub fn new(geometry: NandGeometry) -> Self {
        let pages = geometry.pages() as usize;
        Self {
            bytes: vec![0xFF; pages * (geometry.page_bytes + geometry.spare_bytes) as usize],
            passed: vec![false; pages],
            bad: vec![false; geometry.blocks as usize],
            geometry,
        }
    }

    /// The offset of a page, if the address and the buffers are valid.
    fn offset(&self, page: PageAddr, data: usize, spare: usize, is_read: bool) -> Result<usize, RamNandError> {
        let NandGeometry { page_bytes, spare_bytes, .. } = self.geometry;
        // A read may leave out either part. A program brings all of its data, and its spare may be short.
        let fits_data = data == page_bytes as usize || (is_read && data == 0);
        let fits_spare =
            if is_read { spare == 0 || spare == spare_bytes as usize } else { spare <= spare_bytes as usize };
        if u64::from(page.0) >= self.geometry.pages() || !fits_data || !fits_spare {
            return Err(RamNandError { kind: ErrorKind::OutOfRange, page });
        }
        Ok(page.0 as usize * (page_bytes + spare_bytes) as usize)
    }

    /// Pages of a block.
    fn pages_of(&self, block: BlockAddr) -> Result<core::ops::Range<usize>, RamNandError> {
        let per_block = self.geometry.pages_per_block;
        if block.0 >= self.geometry.blocks {
            return Err(RamNandError {
                kind: ErrorKind::OutOfRange,
                // The address may lie anywhere outside the chip, and is only for the message.
                page: PageAddr(block.0.saturating_mul(per_block)),
            });
        }
        let first = (block.0 * per_block) as usize;
        Ok(first..first + per_block as usize)
    }

    /// Notes that a page is programmed. On a chip with ascending order, all earlier pages of the block are closed too.
    fn pass(&mut self, page: PageAddr) -> Result<(), RamNandError> {
        let at = page.0 as usize;
        if self.passed[at] {
            return Err(RamNandError { kind: ErrorKind::Contract, page });
        }
        let first = match self.geometry.program_order {
            ProgramOrder::Ascending => self.pages_of(self.geometry.block_of(page))?.start,
            ProgramOrder::Any => at,
        };
        // Pages that were skipped are closed with this one.
        self.passed[first..=at].fill(true);
        Ok(())
    }
}

impl Nand for RamNand {
    type Error = RamNandError;

    fn geometry(&self) -> NandGeometry {
        self.geometry
    }

    fn read(&mut self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Result<ReadReport, RamNandError> {
        let at = self.offset(page, data.len(), spare.len(), true)?;
        data.copy_from_slice(&self.bytes[at..at + data.len()]);
        let at = at + self.geometry.page_bytes as usize;
        spare.copy_from_slice(&self.bytes[at..at + spare.len()]);
        Ok(ReadReport::default())
    }

    fn program(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Result<(), RamNandError> {
        let at = self.offset(page, data.len(), spare.len(), false)?;
        // Before anything is stored: a program that is refused leaves the page as it was.
        self.pass(page)?;
        self.bytes[at..at + data.len()].copy_from_slice(data);
        let at = at + data.len();
        self.bytes[at..at + spare.len()].copy_from_slice(spare);
        Ok(())
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), RamNandError> {
        let pages = self.pages_of(block)?;
        let bytes = (self.geometry.page_bytes + self.geometry.spare_bytes) as usize;
        self.bytes[pages.start * bytes..pages.end * bytes].fill(0xFF);
        self.passed[pages].fill(false);
        Ok(())
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, RamNandError> {
        // Only to check the address.
        self.pages_of(block)?;
        Ok(self.bad[block.0 as usize])
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), RamNandError> {
        self.pages_of(block)?;
        self.bad[block.0 as usize] = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of<T>(result: Result<T, RamNandError>) -> ErrorKind {
        result.map(drop).unwrap_err().kind
    }

    #[test]
    fn what_was_programmed_is_read_and_copied_until_it_is_erased() {
        let mut chip = RamNand::new(RamNand::SMALL);
        chip.program(PageAddr(3), &[7; 512], &[1, 2]).unwrap();
        chip.copy(PageAddr(3), PageAddr(40), &mut []).unwrap();
        let (mut data, mut spare) = ([0; 512], [0; 16]);
        chip.read(PageAddr(40), &mut data, &mut spare).unwrap();
        assert_eq!((data, &spare[..3]), ([7; 512], &[1, 2, 0xFF][..]));
        chip.erase(BlockAddr(1)).unwrap();
        chip.read(PageAddr(40), &mut data, &mut spare).unwrap();
        assert_eq!((data, spare), ([0xFF; 512], [0xFF; 16]));
    }

    #[test]
    fn pages_are_programmed_once_and_in_order() {
        let mut chip = RamNand::new(RamNand::SMALL);
        chip.program(PageAddr(33), &[0; 512], &[]).unwrap();
        assert_eq!(kind_of(chip.program(PageAddr(33), &[0; 512], &[])), ErrorKind::Contract);
        assert_eq!(kind_of(chip.program(PageAddr(32), &[0; 512], &[])), ErrorKind::Contract);
        assert_eq!(kind_of(chip.copy(PageAddr(33), PageAddr(32), &mut [])), ErrorKind::Contract);
        let mut any = RamNand::new(NandGeometry { program_order: ProgramOrder::Any, ..RamNand::SMALL });
        any.program(PageAddr(33), &[0; 512], &[]).unwrap();
        any.program(PageAddr(32), &[0; 512], &[]).unwrap();
        assert_eq!(kind_of(any.program(PageAddr(32), &[0; 512], &[])), ErrorKind::Contract);
    }

    #[test]
    fn addresses_and_lengths_are_checked() {
        let mut chip = RamNand::new(RamNand::SMALL);
        assert_eq!(kind_of(chip.program(PageAddr(512), &[0; 512], &[])), ErrorKind::OutOfRange);
        assert_eq!(kind_of(chip.program(PageAddr(0), &[0; 511], &[])), ErrorKind::OutOfRange);
        assert_eq!(kind_of(chip.program(PageAddr(0), &[0; 512], &[0; 17])), ErrorKind::OutOfRange);
        assert_eq!(kind_of(chip.read(PageAddr(0), &mut [0; 1], &mut [])), ErrorKind::OutOfRange);
        assert_eq!(kind_of(chip.erase(BlockAddr(16))), ErrorKind::OutOfRange);
        assert_eq!(kind_of(chip.is_bad(BlockAddr(u32::MAX))), ErrorKind::OutOfRange);
    }

    #[test]
    fn marks_stay() {
        let mut chip = RamNand::new(RamNand::SMALL);
        chip.mark_bad(BlockAddr(2)).unwrap();
        assert_eq!((chip.is_bad(BlockAddr(2)), chip.is_bad(BlockAddr(3))), (Ok(true), Ok(false)));
    }
}
