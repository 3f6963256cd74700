//! What a flash chip is: geometry, addresses, the [`Nand`] and [`Nor`] traits, and their errors.
//!
//! This is the lowest layer. It knows only chips. A driver for a real part implements one of the two traits. The
//! emulator in `wearwell-emu` implements both, and [`RamNand`] is a chip in memory. The trait methods state the
//! contract of a driver, and what a power cut during each operation may leave.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod error;
mod nand;
mod nor;
mod ram;

pub use error::{ChipError, ErrorKind};
pub use nand::{Nand, NandGeometry, ProgramOrder, ReadReport};
pub use nor::{Nor, NorAddr, NorGeometry};
pub use ram::{RamNand, RamNandError};

/// An erase block of a chip, counted from 0 over all banks: bank 0's blocks first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockAddr(pub u32);

/// A page of a NAND chip: `block × pages_per_block + page in block`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageAddr(pub u32);

/// A part of a chip that can erase or program independently of the others: a NAND die or a NOR bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BankAddr(pub u32);
