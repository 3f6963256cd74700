//! NAND: pages are programmed whole and in order, blocks are erased whole, and an error-correcting code protects pages.

use alloc::vec;

use crate::{BankAddr, BlockAddr, ChipError, PageAddr};

/// In which order the pages of a block may be programmed between two erases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProgramOrder {
    /// Only in ascending order. Gaps are allowed, but skipped pages stay erased.
    #[default]
    Ascending,
    /// In any order, each page once, as small-page SLC chips allow.
    Any,
}

/// The shape of a NAND chip (or of several, driven as one).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NandGeometry {
    /// Bytes of data in a page; a power of two, at least 512.
    pub page_bytes: u32,
    /// Bytes beside a page's data that the error-correcting code covers and does not use itself.
    pub spare_bytes: u32,
    /// Pages in an erase block.
    pub pages_per_block: u32,
    /// Erase blocks over all dies.
    pub blocks: u32,
    /// Dies, each with `blocks / dies` consecutive blocks.
    pub dies: u32,
    /// Pages that share cells, as the size of a group. If the power fails while a page is programmed, earlier pages of
    /// its group may be damaged. 1 for SLC, 2 for MLC, 3 for TLC, 4 for QLC. Groups start at multiples of this number
    /// in a block.
    pub paired_pages: u32,
    /// In which order the pages of a block may be programmed.
    pub program_order: ProgramOrder,
}

impl NandGeometry {
    /// The shape of a chip without pages. What it says of dies, cells and order holds for an SLC chip with one die:
    /// `NandGeometry { page_bytes, spare_bytes, pages_per_block, blocks, ..NandGeometry::SLC }`.
    pub const SLC: Self = Self {
        page_bytes: 0,
        spare_bytes: 0,
        pages_per_block: 0,
        blocks: 0,
        dies: 1,
        paired_pages: 1,
        program_order: ProgramOrder::Ascending,
    };

    /// Pages of the whole chip.
    pub fn pages(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.pages_per_block)
    }

    /// Address of page `page` of `block`.
    pub fn page(&self, block: BlockAddr, page: u32) -> PageAddr {
        debug_assert!(block.0 < self.blocks && page < self.pages_per_block);
        PageAddr(block.0 * self.pages_per_block + page)
    }

    /// The block that holds `page`.
    pub fn block_of(&self, page: PageAddr) -> BlockAddr {
        BlockAddr(page.0 / self.pages_per_block)
    }

    /// The die that holds `block`.
    pub fn die_of(&self, block: BlockAddr) -> BankAddr {
        BankAddr(block.0 / (self.blocks / self.dies))
    }
}

/// The health of a page, from a successful read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadReport {
    /// Bits that the code corrected in the worst code word of the page.
    pub corrected_bits: u32,
    /// The driver asks for the data to be moved before it becomes unreadable.
    pub refresh_soon: bool,
}

/// A NAND chip, or several driven as one.
///
/// # Contract
///
/// - A page is programmed at most once between two erases of its block, and the pages of a block in the order
///   that [`NandGeometry::program_order`] allows.
/// - Operations happen in the order of the calls; when a call returns, what it did is durable.
/// - A page that was never programmed since the erase reads as all ones, data and spare.
///
/// # What a power cut may leave
///
/// | cut during | the page, or the block, afterwards |
/// | --- | --- |
/// | program | still erased; programmed; uncorrectable; reads as erased but must not be programmed; reads well now and becomes uncorrectable later. Earlier pages of the same group of `paired_pages` may have become uncorrectable |
/// | erase | the old content; erased; uncorrectable; reads as erased but must be erased again before use |
pub trait Nand {
    /// The driver's error.
    type Error: ChipError;

    /// The chip's shape. Constant for the life of the value.
    fn geometry(&self) -> NandGeometry;

    /// Reads a page into `data` (`page_bytes`) and its spare into `spare` (`spare_bytes`). An empty buffer skips that
    /// part.
    ///
    /// # Errors
    /// `Uncorrectable` if there are too many wrong bits; the buffers are then undefined.
    fn read(&mut self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Result<ReadReport, Self::Error>;

    /// Programs a page with `data` (`page_bytes`) and `spare` (up to `spare_bytes`, the rest stays ones).
    ///
    /// # Errors
    /// `ProgramFailed` if the chip reports it: the block must then be emptied and retired. The page may be readable or
    /// not.
    fn program(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Result<(), Self::Error>;

    /// Programs page `to` with the data and the spare of page `from`, unchanged, and reads that spare out
    /// into `spare` (`spare_bytes`, or empty to skip).
    ///
    /// As it stands, this moves the page over the bus, through memory that it allocates. A driver whose chip can copy
    /// within itself does that here, and one that has a buffer uses it.
    ///
    /// # Errors
    /// As [`read`](Self::read) for `from`, and then nothing is programmed; as [`program`](Self::program) for `to`.
    fn copy(&mut self, from: PageAddr, to: PageAddr, spare: &mut [u8]) -> Result<ReadReport, Self::Error> {
        let NandGeometry { page_bytes, spare_bytes, .. } = self.geometry();
        let mut cells = vec![0; (page_bytes + spare_bytes) as usize];
        let (data, beside) = cells.split_at_mut(page_bytes as usize);
        // The source comes first: a read that fails leaves the target as it was.
        let report = self.read(from, data, beside)?;
        self.program(to, data, beside)?;
        if !spare.is_empty() {
            spare.copy_from_slice(beside);
        }
        Ok(report)
    }

    /// Erases a block.
    ///
    /// # Errors
    /// `EraseFailed` if the chip reports it: the block must then be retired.
    fn erase(&mut self, block: BlockAddr) -> Result<(), Self::Error>;

    /// True if the block was bad from the factory or was marked bad since. Asked of all blocks in a mount without a
    /// checkpoint, and of each before it is erased and before it is filled.
    ///
    /// # Errors
    /// Whatever reading the mark can fail with.
    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, Self::Error>;

    /// Marks a block bad, durably.
    ///
    /// # Errors
    /// Whatever writing the mark can fail with.
    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), Self::Error>;

    /// True while the die is erasing. Only chips that erase in the background return true. The layers above then keep
    /// writes away from that die.
    fn is_erasing(&mut self, die: BankAddr) -> bool {
        let _ = die;
        false
    }

    /// Waits until the die has finished erasing.
    fn wait_erase(&mut self, die: BankAddr) {
        let _ = die;
    }
}
