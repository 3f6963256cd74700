//! NOR: programs can only clear bits, blocks are erased whole and slowly, and there is no error correction.

use crate::{BankAddr, BlockAddr, ChipError};

/// The shape of a NOR chip (or of several, driven as one).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NorGeometry {
    /// Bytes in an erase block.
    pub block_bytes: u32,
    /// Erase blocks over all banks.
    pub blocks: u32,
    /// Banks, each with `blocks / banks` consecutive blocks.
    pub banks: u32,
}

impl NorGeometry {
    /// The bank that holds `block`.
    pub fn bank_of(&self, block: BlockAddr) -> BankAddr {
        BankAddr(block.0 / (self.blocks / self.banks))
    }
}

/// A byte of a NOR chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NorAddr {
    /// The erase block.
    pub block: BlockAddr,
    /// The byte in it, below `block_bytes`.
    pub offset: u32,
}

/// A NOR chip, or several driven as one.
///
/// # Contract
///
/// - A program can only clear bits. Bits that are set in the programmed bytes do not change (re-clearing a cleared bit
///   is allowed).
/// - An erase is started by [`erase_start`](Self::erase_start) and goes on in the background. While a bank
///   erases, its other blocks can be read (the chip suspends the erase) but not programmed.
/// - At most one block of a bank erases at a time.
/// - When a program returns, what it did is durable; an erase is durable once it is no longer in progress.
/// - A program that fails leaves any subset of the bits that were to be cleared cleared, and other bytes as they
///   were. Its block may fail all programs and erases from then on; it can be read as before.
///
/// # What a power cut may leave
///
/// | cut during | afterwards |
/// | --- | --- |
/// | program | any subset of the bits that were to be cleared is cleared |
/// | erase | any bits of the block, silently: NOR has no code to tell |
pub trait Nor {
    /// The driver's error.
    type Error: ChipError;

    /// The chip's shape. Constant for the life of the value.
    fn geometry(&self) -> NorGeometry;

    /// Reads `buf.len()` bytes from `at`; they must lie in one block.
    ///
    /// # Errors
    /// `OutOfRange` outside the block; the block that is being erased cannot be read (`Contract`).
    fn read(&mut self, at: NorAddr, buf: &mut [u8]) -> Result<(), Self::Error>;

    /// Clears the bits that are zero in `bytes`, from `at` on.
    ///
    /// # Errors
    /// `Contract` if the bank is erasing; `ProgramFailed` if the chip reports it.
    fn program(&mut self, at: NorAddr, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Starts to erase a block.
    ///
    /// # Errors
    /// `Contract` if the bank is erasing already.
    fn erase_start(&mut self, block: BlockAddr) -> Result<(), Self::Error>;

    /// True if no block of the bank is being erased. [`erase_finish`](Self::erase_finish) reports the end of an erase.
    fn erase_ready(&mut self, bank: BankAddr) -> bool;

    /// Waits for the erase in the bank, if there is one, and returns its result.
    ///
    /// # Errors
    /// `EraseFailed` if the chip reports it: the block must then be retired.
    fn erase_finish(&mut self, bank: BankAddr) -> Result<(), Self::Error>;
}
