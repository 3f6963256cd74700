//! The write buffer: gathers writes that are smaller than a page.

use alloc::vec;
use alloc::vec::Vec;

use crate::addr::{Lpn, Ppn, SECTOR_BYTES};
use crate::ftl::{BlockDevice, FtlError};
use crate::losses::Losses;
use crate::pieces::Piece;
use crate::stats::Stats;

/// Most pages in the buffer.
const ENTRIES: usize = 8;

/// A page with some sectors that wait to be written.
#[derive(Debug, Clone)]
pub(crate) struct Partial {
    pub(crate) lpn: Lpn,
    pub(crate) stream: u16,
    /// A bit for each sector in the entry.
    pub(crate) sectors: u128,
    pub(crate) data: Vec<u8>,
}

/// Partly written pages, oldest first. Host commands of different streams are never merged.
#[derive(Debug)]
pub(crate) struct WriteBuffer {
    entries: Vec<Partial>,
    spare: Vec<Vec<u8>>,
    all_sectors: u128,
    /// Lost pages with sectors whose write had been answered. The next flush reports them.
    unreported: Vec<Lpn>,
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
            unreported: Vec::new(),
        }
    }

    /// Bytes that it takes for pages of so many.
    pub(crate) const fn bytes(page_bytes: u32) -> usize {
        ENTRIES * (page_bytes as usize + size_of::<Vec<u8>>() + size_of::<Partial>())
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

    /// Adds a piece of a page. The buffer must have a free entry or hold the page. Takes the page out if it is complete
    /// now.
    pub(crate) fn put(&mut self, piece: Piece, stream: u16, data: &[u8]) -> Option<Partial> {
        let Piece { lpn, first, count } = piece;
        let at = match self.entries.iter().position(|e| e.lpn == lpn) {
            Some(at) => at,
            None => {
                assert!(!self.is_full(), "the caller makes room first");
                // There are bytes for each entry that fits, so some are left.
                let data = self.spare.pop().unwrap_or_default();
                self.entries.push(Partial { lpn, stream, sectors: 0, data });
                self.entries.len() - 1
            }
        };
        let entry = &mut self.entries[at];
        // A piece has at least one sector, so no shift reaches 128.
        entry.sectors |= (u128::MAX >> (128 - count)) << first;
        if !data.is_empty() {
            let from = (first * SECTOR_BYTES) as usize;
            entry.data[from..from + data.len()].copy_from_slice(data);
        }
        self.is_complete(&self.entries[at]).then(|| self.entries.remove(at))
    }

    /// Takes the page out, if the buffer holds it.
    pub(crate) fn take(&mut self, lpn: Lpn) -> Option<Partial> {
        let at = self.entries.iter().position(|e| e.lpn == lpn)?;
        Some(self.entries.remove(at))
    }

    /// Takes out the oldest page.
    pub(crate) fn take_oldest(&mut self) -> Option<Partial> {
        if self.entries.is_empty() { None } else { Some(self.entries.remove(0)) }
    }

    /// Drops the page, if the buffer holds it, because the host has written all of it or discarded it.
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

    /// Returns the bytes of an entry that was taken out.
    pub(crate) fn give_back(&mut self, entry: Partial) {
        self.spare.push(entry.data);
    }
}

impl Partial {
    /// Copies the entry's sectors over a part of the page that begins with sector `first`.
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

/// An engine with a write buffer: how parts of pages are written, completed and read.
///
/// A part of a page whose rest is lost cannot be written. If the loss is known, the write fails. Otherwise it is found
/// when the page leaves the buffer, mostly because of another request. That request goes on, reads of the page fail
/// from then on, and the next flush fails. (Reading the rest when the first part arrives would find the loss earlier.
/// It would cost a read of flash for every page that becomes complete in the buffer.)
pub(crate) trait Buffered: BlockDevice {
    fn buffer(&mut self) -> &mut WriteBuffer;

    /// A page of working memory for a host command; empty if bytes are only counted.
    fn scratch(&mut self) -> &mut Vec<u8>;

    fn counters(&mut self) -> &mut Stats;

    /// Where a page lies; none if it is unmapped. A map on flash would have to read for that, and may fail.
    fn find_page(&mut self, lpn: Lpn) -> Result<Ppn, FtlError>;

    /// Reads a mapped page.
    fn read_mapped(&mut self, lpn: Lpn, at: Ppn, page: &mut [u8]) -> Result<(), FtlError>;

    /// Writes a page for the host.
    fn put_whole(&mut self, lpn: Lpn, data: &[u8], stream: u16) -> Result<(), FtlError>;

    fn losses(&mut self) -> &mut Losses;

    /// The error of every write and discard, if the device takes no more.
    fn writable(&self) -> Result<(), FtlError>;

    /// Makes reads of the page fail until it is written or discarded.
    #[cold]
    fn note_loss(&mut self, lpn: Lpn) {
        let is_new = self.losses().note(lpn);
        self.counters().lost_pages += u64::from(is_new);
    }

    fn sectors_per_page(&self) -> u32 {
        self.page_bytes() / SECTOR_BYTES
    }

    /// Writes sectors that do not make a page. They wait in the buffer until the page is complete, the buffer is full,
    /// or the host flushes.
    fn write_part(&mut self, piece: Piece, data: &[u8], stream: u16) -> Result<(), FtlError> {
        self.writable()?;
        self.counters().host_pages += 1;
        let other_stream = self.buffer().find(piece.lpn).map(|entry| entry.stream != stream);
        if other_stream == Some(true) {
            self.drain(piece.lpn)?;
        }
        // The drain may have found out that the rest of the page is lost.
        if self.losses().contains(piece.lpn) {
            return Err(FtlError::Unreadable { lpn: piece.lpn });
        }
        // If the page was in the buffer, it has an entry, or the drain has made room for one.
        if other_stream.is_none() && self.buffer().is_full() {
            self.drain_oldest()?;
        }
        self.buffer().put(piece, stream, data).map_or(Ok(()), |whole| self.write_merged(whole))
    }

    fn drain(&mut self, lpn: Lpn) -> Result<(), FtlError> {
        self.buffer().take(lpn).map_or(Ok(()), |entry| self.write_merged(entry))
    }

    fn drain_oldest(&mut self) -> Result<(), FtlError> {
        self.buffer().take_oldest().map_or(Ok(()), |entry| self.write_merged(entry))
    }

    /// The write of a whole page has failed. It may be on flash all the same, if what failed came behind its program:
    /// then the buffer has nothing newer of it, and would mix the two at the next flush.
    #[cold]
    fn drop_if_written(&mut self, lpn: Lpn, data: &[u8]) {
        let Ok(at) = self.find_page(lpn) else { return };
        if !at.is_some() || self.buffer().find(lpn).is_none() {
            return;
        }
        let mut page = core::mem::take(self.scratch());
        // If the page cannot be read, the buffer keeps what it has.
        let is_written = self.read_mapped(lpn, at, &mut page).is_ok() && page == data;
        *self.scratch() = page;
        if is_written {
            self.buffer().drop_superseded(lpn);
        }
    }

    /// Writes all pages in the buffer.
    fn drain_all(&mut self) -> Result<(), FtlError> {
        while !self.buffer().is_empty() {
            self.drain_oldest()?;
        }
        Ok(())
    }

    /// Fails once if pages were lost after their write had been answered, and the host has not written or discarded
    /// them since.
    fn report_losses(&mut self) -> Result<(), FtlError> {
        if self.buffer().unreported.is_empty() {
            return Ok(());
        }
        let unreported = core::mem::take(&mut self.buffer().unreported);
        let lost = unreported.into_iter().find(|&lpn| self.losses().contains(lpn));
        lost.map_or(Ok(()), |lpn| Err(FtlError::Unreadable { lpn }))
    }

    /// Completes a buffered page with its old content, and writes it. The host has its answer already. So if the write
    /// fails, the page stays in the buffer and is read from there. If the old content is lost, the whole page is lost.
    /// The request that pushed it out of the buffer must not fail for that.
    fn write_merged(&mut self, entry: Partial) -> Result<(), FtlError> {
        let mut page = core::mem::take(self.scratch());
        let result = self.merge_around(&entry, &mut page).and_then(|()| self.put_whole(entry.lpn, &page, entry.stream));
        *self.scratch() = page;
        match result {
            Ok(()) => self.buffer().give_back(entry),
            Err(FtlError::Unreadable { lpn }) if lpn == entry.lpn => {
                self.note_loss(lpn);
                // Another request may have pushed the page out. The host learns of it at its next flush (decision 15).
                self.buffer().unreported.push(lpn);
                self.buffer().give_back(entry);
                return Ok(());
            }
            Err(_) => self.buffer().put_back(entry),
        }
        result
    }

    fn merge_around(&mut self, entry: &Partial, page: &mut [u8]) -> Result<(), FtlError> {
        let old = self.find_page(entry.lpn)?;
        // An entry that is complete needs no old content, not even if that is lost.
        if old.is_some() && !self.buffer().is_complete(entry) {
            self.counters().merge_reads += 1;
            self.read_mapped(entry.lpn, old, page)?;
        } else if self.losses().contains(entry.lpn) && !self.buffer().is_complete(entry) {
            return Err(FtlError::Unreadable { lpn: entry.lpn });
        } else {
            page.fill(0);
        }
        entry.overlay(0, page);
        Ok(())
    }

    /// Reads a piece of a page into `out`.
    fn read_piece(&mut self, piece: Piece, out: &mut [u8]) -> Result<(), FtlError> {
        self.counters().host_reads += 1;
        let at = self.find_page(piece.lpn)?;
        let mut result = Ok(());
        if !at.is_some() {
            out.fill(0);
            if self.losses().contains(piece.lpn) {
                result = Err(FtlError::Unreadable { lpn: piece.lpn });
            }
        } else if piece.count == self.sectors_per_page() {
            result = self.read_mapped(piece.lpn, at, out);
        } else {
            let mut page = core::mem::take(self.scratch());
            result = self.read_mapped(piece.lpn, at, &mut page);
            // If bytes are only counted, both are empty.
            let from = (piece.first * SECTOR_BYTES) as usize;
            out.copy_from_slice(page.get(from..from + out.len()).unwrap_or(&[]));
            *self.scratch() = page;
        }
        // The sectors in the buffer are newer than what is on flash.
        if let Some(entry) = self.buffer().find(piece.lpn) {
            entry.overlay(piece.first, out);
        }
        result
    }
}
