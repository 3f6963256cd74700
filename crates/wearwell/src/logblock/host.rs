//! Host commands.

use wearwell_flash::ErrorKind;

use super::map::{Lbn, list};
use super::pages::Pages;
use super::tag::{Kind, Role, Tag};
use super::{BlockFtl, Scheme, Use};
use crate::addr::{Lpn, Ppn, SECTOR_BYTES, Sectors};
use crate::buffer::Partial;
use crate::ftl::{Ftl, FtlError, Limits, Probe, WriteHint};
use crate::pieces::{Piece, check, parts, parts_mut, pieces};
use crate::stats::Stats;

/// Logical blocks of weak pages that are remembered at once; a page that stays weak will be read again.
const WEAK_BLOCKS: usize = 8;

impl<M: Pages, P: Probe> BlockFtl<M, P> {
    fn sectors_per_page(&self) -> u32 {
        self.shape.page_bytes / SECTOR_BYTES
    }

    /// The stream of a write, if those are told apart.
    #[inline]
    fn stream_of(&self, hint: WriteHint) -> u16 {
        if self.config.scheme == Scheme::FastByStream { hint.stream } else { 0 }
    }

    /// Writes sectors that are less than a page: they wait in the buffer until the page is whole, the buffer is
    /// full, or the host flushes.
    fn write_part(&mut self, piece: Piece, data: &[u8], stream: u16) -> Result<(), FtlError> {
        self.stats.host_pages += 1;
        match self.buffer.find(piece.lpn) {
            Some(entry) if entry.stream != stream => self.drain(piece.lpn)?,
            Some(_) => {}
            None if self.buffer.is_full() => self.drain_oldest()?,
            None => {}
        }
        self.buffer.put(piece, stream, data).map_or(Ok(()), |whole| self.write_merged(whole))
    }

    fn drain(&mut self, lpn: Lpn) -> Result<(), FtlError> {
        self.buffer.take(lpn).map_or(Ok(()), |entry| self.write_merged(entry))
    }

    fn drain_oldest(&mut self) -> Result<(), FtlError> {
        self.buffer.take_oldest().map_or(Ok(()), |entry| self.write_merged(entry))
    }

    /// Writes a buffered page, with what the page held before around it. The host was told that it is written: if it
    /// cannot be, it goes on waiting, and is read from the buffer. Where what the page held before is lost, it is lost, too.
    fn write_merged(&mut self, entry: Partial) -> Result<(), FtlError> {
        let mut page = core::mem::take(&mut self.scratch);
        let result = self.compose(&entry, &mut page).and_then(|()| self.put_page(entry.lpn, &page, entry.stream));
        self.scratch = page;
        match result {
            Ok(()) => self.buffer.give_back(entry),
            Err(FtlError::Unreadable { lpn }) if lpn == entry.lpn => {
                self.note_loss(lpn);
                self.buffer.give_back(entry);
            }
            Err(_) => self.buffer.put_back(entry),
        }
        result
    }

    fn compose(&mut self, entry: &Partial, page: &mut [u8]) -> Result<(), FtlError> {
        let old = self.map.lookup(entry.lpn);
        if old.is_some() && !self.buffer.is_complete(entry) {
            self.stats.merge_reads += 1;
            self.read_page(entry.lpn, old, page)?;
        } else {
            page.fill(0);
        }
        entry.overlay(0, page);
        Ok(())
    }

    /// Reads a mapped page.
    fn read_page(&mut self, lpn: Lpn, at: Ppn, page: &mut [u8]) -> Result<(), FtlError> {
        if self.is_lost(lpn) {
            return Err(FtlError::Unreadable { lpn });
        }
        match self.pages.read(at, page) {
            Ok(report) => {
                let (lbn, _) = self.map.split(lpn);
                if report.refresh_soon && self.weak.len() < WEAK_BLOCKS && !self.weak.contains(&lbn) {
                    self.weak.push(lbn);
                }
                Ok(())
            }
            Err(ErrorKind::Uncorrectable) => Err(FtlError::Unreadable { lpn }),
            Err(error) => Err(FtlError::Chip(error)),
        }
    }

    /// Reads a piece of a page into `out`.
    fn read_piece(&mut self, piece: Piece, out: &mut [u8]) -> Result<(), FtlError> {
        self.stats.host_reads += 1;
        let at = self.map.lookup(piece.lpn);
        let whole = piece.count == self.sectors_per_page();
        let mut page = core::mem::take(&mut self.scratch);
        let from = if M::STORES { (piece.first * SECTOR_BYTES) as usize } else { 0 };
        let mut result = Ok(());
        if !at.is_some() {
            out.fill(0);
        } else if whole {
            result = self.read_page(piece.lpn, at, out);
        } else {
            result = self.read_page(piece.lpn, at, &mut page);
            out.copy_from_slice(page.get(from..from + out.len()).unwrap_or(&[]));
        }
        if let Some(entry) = self.buffer.find(piece.lpn) {
            entry.overlay(piece.first, out);
        }
        self.scratch = page;
        result
    }

    /// A page holds nothing from now on. Returns its logical block if that has anything to record.
    fn unmap(&mut self, lpn: Lpn) -> Option<Lbn> {
        self.buffer.drop_superseded(lpn);
        if !self.map.is_mapped(lpn) {
            return None;
        }
        let (lbn, offset) = self.map.split(lpn);
        self.map.set_mapped(lpn, false);
        let old = self.map.set_logged(lbn, offset, Ppn::NONE);
        self.left(old);
        self.forget_loss(lpn);
        self.stats.discarded_pages += 1;
        Some(lbn)
    }

    /// Frees the blocks of a logical block of which nothing is left.
    fn drop_if_empty(&mut self, lbn: Lbn) -> Result<(), FtlError> {
        if self.shares_logs() || self.map.mapped_in(lbn) > 0 {
            return Ok(());
        }
        self.prepare()?;
        self.drop_block(lbn)
    }

    /// Leaves the mark of a clean shutdown in a segment of its own.
    fn leave_mark(&mut self) -> Result<(), FtlError> {
        let seg = self.take_free(false)?;
        // Pages that must not be programmed will still not bear it after the next start.
        let suspects = self.suspect.iter().any(|&suspect| suspect);
        let tag = Tag {
            lpn: Lpn(u32::from(suspects)),
            seq: self.next_seq(),
            erases: self.erases[seg.index()],
            kind: Kind::CleanMark,
            role: Role::LogHead,
        };
        match self.program_meta(self.page_in(seg, 0), &tag) {
            Ok(()) => self.clean_mark = Some(seg),
            // Without a mark the next mount takes the device for cut.
            Err(ErrorKind::ProgramFailed) => {
                self.condemn(seg);
                self.release(seg)?;
            }
            Err(error) => return Err(FtlError::Chip(error)),
        }
        Ok(())
    }
}

impl<M: Pages, P: Probe> Ftl for BlockFtl<M, P> {
    fn sectors(&self) -> u64 {
        u64::from(self.config.logical_pages) * u64::from(self.sectors_per_page())
    }

    fn page_bytes(&self) -> u32 {
        self.shape.page_bytes
    }

    fn read(&mut self, at: Sectors, data: &mut [u8]) -> Result<(), FtlError> {
        check(at, self.sectors(), Some(data.len()), M::STORES)?;
        for (piece, out) in parts_mut(at, self.sectors_per_page(), M::STORES, data) {
            self.read_piece(piece, out)?;
        }
        Ok(())
    }

    /// Streams make a difference only where log blocks are shared, and then only if they are asked for by name.
    fn write(&mut self, at: Sectors, data: &[u8], hint: WriteHint) -> Result<(), FtlError> {
        check(at, self.sectors(), Some(data.len()), M::STORES)?;
        for (piece, part) in parts(at, self.sectors_per_page(), M::STORES, data) {
            if piece.count == self.sectors_per_page() {
                self.write_page(piece.lpn, part, hint)?;
            } else {
                self.write_part(piece, part, self.stream_of(hint))?;
            }
        }
        Ok(())
    }

    #[inline]
    fn write_page(&mut self, lpn: Lpn, data: &[u8], hint: WriteHint) -> Result<(), FtlError> {
        self.stats.host_pages += 1;
        self.put_page(lpn, data, self.stream_of(hint))?;
        // Not before: until then the buffer has what is read.
        self.buffer.drop_superseded(lpn);
        Ok(())
    }

    /// A logical block of which nothing is left is erased at once, unless its pages share log blocks with others;
    /// other discards are recorded when the host flushes.
    fn discard(&mut self, at: Sectors) -> Result<(), FtlError> {
        check(at, self.sectors(), None, M::STORES)?;
        let per_page = self.sectors_per_page();
        let mut touched = None;
        for piece in pieces(at, per_page).filter(|p| p.count == per_page) {
            let Some(lbn) = self.unmap(piece.lpn) else { continue };
            if !core::mem::replace(&mut self.dirty[lbn.index()], true) {
                list(&mut self.dirty_list, lbn, self.map.blocks());
            }
            if let Some(previous) = touched.replace(lbn)
                && previous != lbn
            {
                self.drop_if_empty(previous)?;
            }
        }
        touched.map_or(Ok(()), |lbn| self.drop_if_empty(lbn))
    }

    fn flush(&mut self) -> Result<(), FtlError> {
        self.stats.flushes += 1;
        while !self.buffer.is_empty() {
            self.drain_oldest()?;
        }
        // A record says what else is mapped: those pages have to be safe before it is.
        self.pad()?;
        while let Some(&lbn) = self.dirty_list.last() {
            if self.dirty[lbn.index()] {
                self.prepare()?;
                self.record_discards(lbn)?;
            } else {
                self.dirty_list.pop();
            }
        }
        self.pad()
    }

    /// Saves weak pages, levels wear and folds; a logical block is merged whole, whatever is left of the budget.
    fn clean(&mut self, budget_pages: u32) -> Result<bool, FtlError> {
        let mut moved = 0;
        while moved < budget_pages {
            if !self.is_behind() {
                return Ok(false);
            }
            self.prepare()?;
            if !self.keep_up()? {
                return Ok(false);
            }
            moved += self.shape.pages;
        }
        Ok(self.is_behind())
    }

    fn set_time_us(&mut self, _now_us: u64) {}

    fn shutdown(&mut self) -> Result<(), FtlError> {
        self.flush()?;
        if !M::TAGGED || self.clean_mark.is_some() {
            return Ok(());
        }
        if self.free.total() > 1 { self.leave_mark() } else { Ok(()) }
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reset_stats(&mut self) {
        self.stats.reset();
    }

    fn lookup(&self, lpn: Lpn) -> Ppn {
        self.map.lookup(lpn)
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.lookup(lpn).is_some() || self.buffer.find(lpn).is_some()
    }

    fn erase_counts(&self) -> impl Iterator<Item = u32> + '_ {
        self.erases.iter().zip(&self.uses).filter(|&(_, used)| *used != Use::Bad).map(|(&erases, _)| erases)
    }

    fn limits(&self) -> Limits {
        Limits {
            logical_pages: u64::from(self.config.logical_pages),
            physical_pages: u64::from(self.shape.segments) * u64::from(self.shape.pages),
            pages_per_segment: self.shape.pages,
            segments: self.shape.segments,
            live_pages: self.map.live_pages(),
            free_segments: self.free.total(),
            max_ops_per_host_page: self.config.max_ops_per_host_page(&self.shape),
            table_bytes: self.table_bytes(),
        }
    }
}
