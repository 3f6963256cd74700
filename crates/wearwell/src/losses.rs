//! Lost pages.

use alloc::vec;
use alloc::vec::Vec;

use crate::addr::Lpn;

/// Logical pages that the chip lost. Reading one is an error until it is written or discarded. Mostly there are none.
/// After damage that a mount cannot narrow down, there may be as many as the device has pages.
///
/// A bit for each page, made at once, so that a dying chip takes no memory. Invariant: `count` bits are set.
#[derive(Debug, Clone)]
pub(crate) struct Losses {
    bits: Vec<u64>,
    count: u32,
}

impl Losses {
    pub(crate) fn new(pages: u32) -> Self {
        Self { bits: vec![0; Self::words(pages)], count: 0 }
    }

    const fn words(pages: u32) -> usize {
        pages.div_ceil(u64::BITS) as usize
    }

    /// Bytes that it takes for so many pages.
    pub(crate) const fn bytes(pages: u32) -> usize {
        Self::words(pages) * size_of::<u64>()
    }

    const fn place(lpn: Lpn) -> (usize, u64) {
        ((lpn.0 / u64::BITS) as usize, 1 << (lpn.0 % u64::BITS))
    }

    /// Adds a lost page. False if its loss was known.
    #[cold]
    pub(crate) fn note(&mut self, lpn: Lpn) -> bool {
        let (word, bit) = Self::place(lpn);
        let is_new = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        self.count += u32::from(is_new);
        is_new
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub(crate) fn contains(&self, lpn: Lpn) -> bool {
        !self.is_empty() && self.is_noted(lpn)
    }

    /// Removes a page that was written or discarded. Few devices ever have a lost page, so nothing is computed before
    /// there is one.
    #[inline]
    pub(crate) fn forget(&mut self, lpn: Lpn) {
        if !self.is_empty() {
            self.remove(lpn);
        }
    }

    #[cold]
    fn remove(&mut self, lpn: Lpn) {
        if self.is_noted(lpn) {
            let (word, bit) = Self::place(lpn);
            self.bits[word] &= !bit;
            self.count -= 1;
        }
    }

    fn is_noted(&self, lpn: Lpn) -> bool {
        let (word, bit) = Self::place(lpn);
        self.bits[word] & bit != 0
    }

    pub(crate) fn len(&self) -> u32 {
        self.count
    }
}
