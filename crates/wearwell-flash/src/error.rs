//! The errors of a chip, by what a caller can do about them.

use core::fmt::Debug;

/// The kinds of failure that the layers above distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The page was read, but has more wrong bits than the code can correct.
    Uncorrectable,
    /// The chip reported that a program failed: the block has grown bad. What the page holds is undefined.
    ProgramFailed,
    /// The chip reported that an erase failed: the block has grown bad.
    EraseFailed,
    /// The address is outside the chip, or the buffers have the wrong length. A defect of the caller.
    OutOfRange,
    /// The operation breaks the chip's contract: a page programmed twice or out of order, a NOR bit set
    /// by a program, a bank programmed while it erases. A defect of the caller.
    Contract,
    /// The chip no longer answers: the power is off, or the bus has failed.
    Unresponsive,
    /// Anything else.
    Other,
}

/// An error of a chip driver.
pub trait ChipError: Debug {
    /// The kind of failure, for generic code.
    fn kind(&self) -> ErrorKind;
}

impl ChipError for core::convert::Infallible {
    fn kind(&self) -> ErrorKind {
        match *self {}
    }
}

impl ChipError for ErrorKind {
    fn kind(&self) -> ErrorKind {
        *self
    }
}
