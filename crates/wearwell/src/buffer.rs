//! Writes that are smaller than a page, gathered until they make one.

use alloc::vec;
use alloc::vec::Vec;

use crate::addr::{Lpn, SECTOR_BYTES};
use crate::pieces::Piece;

/// Pages the buffer holds.
const ENTRIES: usize = 8;

/// A page of which some sectors are waiting to be written.
#[derive(Debug, Clone)]
pub(crate) struct Partial {
    pub(crate) lpn: Lpn,
    pub(crate) stream: u16,
    /// A bit for each sector that is here.
    pub(crate) sectors: u128,
    pub(crate) data: Vec<u8>,
}

/// Partly written pages, oldest first. Host commands of different streams are never merged.
#[derive(Debug)]
pub(crate) struct WriteBuffer {
    entries: Vec<Partial>,
    spare: Vec<Vec<u8>>,
    all_sectors: u128,
}

impl WriteBuffer {
    pub(crate) fn new(page_bytes: u32, stores: bool) -> Self {
        let sectors = page_bytes / SECTOR_BYTES;
        assert!((1..=128).contains(&sectors), "a page holds 1 to 128 sectors");
        let bytes = if stores { page_bytes as usize } else { 0 };
        Self {
            entries: Vec::with_capacity(ENTRIES),
            spare: vec![vec![0; bytes]; ENTRIES],
            all_sectors: u128::MAX >> (128 - sectors),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() == ENTRIES
    }

    pub(crate) fn find(&self, lpn: Lpn) -> Option<&Partial> {
        self.entries.iter().find(|e| e.lpn == lpn)
    }

    /// True if every sector of the page is in the entry.
    pub(crate) fn is_complete(&self, entry: &Partial) -> bool {
        entry.sectors == self.all_sectors
    }

    /// Adds a piece of a page. The buffer has room, or the page is in it. Takes the page out if it is whole now.
    pub(crate) fn put(&mut self, piece: Piece, stream: u16, data: &[u8]) -> Option<Partial> {
        let Piece { lpn, first, count } = piece;
        let at = match self.entries.iter().position(|e| e.lpn == lpn) {
            Some(at) => at,
            None => {
                assert!(!self.is_full(), "the caller makes room first");
                let data = self.spare.pop().unwrap_or_default();
                self.entries.push(Partial { lpn, stream, sectors: 0, data });
                self.entries.len() - 1
            }
        };
        let entry = &mut self.entries[at];
        entry.sectors |= (u128::MAX >> (128 - count)) << first;
        if !data.is_empty() {
            let from = (first * SECTOR_BYTES) as usize;
            entry.data[from..from + data.len()].copy_from_slice(data);
        }
        self.is_complete(&self.entries[at]).then(|| self.entries.remove(at))
    }

    /// Takes out the page, if it is here.
    pub(crate) fn take(&mut self, lpn: Lpn) -> Option<Partial> {
        let at = self.entries.iter().position(|e| e.lpn == lpn)?;
        Some(self.entries.remove(at))
    }

    /// Takes out the page that has been here longest.
    pub(crate) fn take_oldest(&mut self) -> Option<Partial> {
        if self.entries.is_empty() { None } else { Some(self.entries.remove(0)) }
    }

    /// Drops the page if it is here: the host has written all of it, or discarded it.
    #[inline]
    pub(crate) fn drop_superseded(&mut self, lpn: Lpn) {
        if !self.is_empty()
            && let Some(entry) = self.take(lpn)
        {
            self.spare.push(entry.data);
        }
    }

    /// Puts back an entry that was taken out and could not be written.
    pub(crate) fn put_back(&mut self, entry: Partial) {
        assert!(!self.is_full(), "it was taken out of here");
        self.entries.insert(0, entry);
    }

    /// Gives back the bytes of an entry that was taken out.
    pub(crate) fn give_back(&mut self, entry: Partial) {
        self.spare.push(entry.data);
    }
}

impl Partial {
    /// Copies the sectors that are here over a part of the page that begins with sector `first`.
    pub(crate) fn overlay(&self, first: u32, part: &mut [u8]) {
        let bytes = SECTOR_BYTES as usize;
        let here = self.data.chunks_exact(bytes).enumerate().skip(first as usize);
        for ((sector, from), to) in here.zip(part.chunks_exact_mut(bytes)) {
            if self.sectors >> sector & 1 == 1 {
                to.copy_from_slice(from);
            }
        }
    }
}
