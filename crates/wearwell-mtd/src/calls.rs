//! What the driver asks of the system: the seam between it and the kernel.

use rustix::io::Errno;

/// The kind of memory behind a device (`MTD_*` of `mtd-abi.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MtdKind {
    /// NAND with one bit in a cell.
    SlcNand,
    /// NAND with more bits in a cell.
    MlcNand,
    /// NOR.
    Nor,
    /// A UBI volume that looks like an MTD.
    UbiVolume,
    /// Another kind, by its number.
    Other(u8),
}

/// What the kernel tells of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// Its name, as its driver or its partition table has it.
    pub name: String,
    /// What it is.
    pub kind: MtdKind,
    /// Bytes of all blocks.
    pub bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Spare bytes of a page.
    pub oob_bytes: u32,
    /// Those of them that neither the code nor the marks of bad blocks take.
    pub free_oob_bytes: u32,
    /// Where these are, as first byte and length. It may be cut short: the kernel tells of eight ranges.
    pub free_oob: Vec<(u32, u32)>,
    /// Corrected bits in a code word from which on data is to be moved; none if the kernel does not say.
    pub refresh_bits: Option<u32>,
    /// False if it cannot be written to.
    pub is_writable: bool,
}

/// What the code did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EccStats {
    /// Bits that were corrected.
    pub corrected_bits: u32,
    /// The most of them in one code word; none if the kernel does not say.
    pub most_bits: Option<u32>,
    /// Code words that could not be corrected.
    pub failures: u32,
}

/// The system calls on an open device. Offsets are in bytes from its start, and those of pages or blocks.
///
/// An error of the code is not an [`Errno`] but a count in [`EccStats`].
pub trait Calls {
    /// `MEMREAD` in mode `MTD_OPS_AUTO_OOB`: a page, and free spare bytes from the first on. An empty buffer leaves
    /// that part out. Linux has it from 6.1 on.
    ///
    /// # Errors
    /// `ENOTTY` if the kernel is older.
    fn read_page(&mut self, at: u64, data: &mut [u8], oob: &mut [u8]) -> Result<EccStats, Errno>;

    /// `pread`: the data of a page. What the code did is only in [`ecc_stats`](Self::ecc_stats).
    ///
    /// # Errors
    /// Whatever the system says.
    fn read_data(&mut self, at: u64, data: &mut [u8]) -> Result<(), Errno>;

    /// `MEMREADOOB64`: spare bytes from the first on, free or not.
    ///
    /// # Errors
    /// Whatever the system says.
    fn read_oob(&mut self, at: u64, oob: &mut [u8]) -> Result<(), Errno>;

    /// `ECCGETSTATS`: counts since the device was found.
    ///
    /// # Errors
    /// Whatever the system says.
    fn ecc_stats(&mut self) -> Result<EccStats, Errno>;

    /// `MEMWRITE` in mode `MTD_OPS_AUTO_OOB`: a page and free spare bytes, in one program.
    ///
    /// # Errors
    /// `EIO` if the chip reports a failure.
    fn write_page(&mut self, at: u64, data: &[u8], oob: &[u8]) -> Result<(), Errno>;

    /// `MEMERASE64`: one block.
    ///
    /// # Errors
    /// `EIO` if the chip reports a failure, or the block is bad.
    fn erase_block(&mut self, at: u64, bytes: u64) -> Result<(), Errno>;

    /// `MEMGETBADBLOCK`.
    ///
    /// # Errors
    /// Whatever the system says.
    fn is_bad(&mut self, at: u64) -> Result<bool, Errno>;

    /// `MEMSETBADBLOCK`.
    ///
    /// # Errors
    /// Whatever the system says.
    fn mark_bad(&mut self, at: u64) -> Result<(), Errno>;
}
