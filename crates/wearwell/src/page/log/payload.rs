//! Whether the bytes of pages are kept, or only counted.

/// What becomes of the bytes of pages. A type, so that an engine that only counts compiles to map updates and counters.
pub trait Payload {
    /// True if bytes are written and can be read again; false if nobody makes or reads any.
    const STORES: bool;

    /// Zeros to work in: as many bytes as asked for, or none where none are stored.
    fn zeros(bytes: u32) -> alloc::vec::Vec<u8> {
        alloc::vec![0; if Self::STORES { bytes as usize } else { 0 }]
    }
}

/// The chip keeps the bytes: what every driver of a real chip does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored;

/// The chip counts operations and keeps no bytes: a simulation. NAND drivers get empty buffers. NOR drivers get buffers
/// as long as what is read or programmed, in which nothing is of meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted;

impl Payload for Stored {
    const STORES: bool = true;
}

impl Payload for Counted {
    const STORES: bool = false;
}
