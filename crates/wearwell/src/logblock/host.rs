//! Host commands.

use alloc::vec::Vec;

use wearwell_flash::ErrorKind;

use super::map::Lbn;
use super::pages::Pages;
use super::{BlockFtl, Scheme};
use crate::addr::{Lpn, Ppn, Sectors};
use crate::buffer::{Buffered, WriteBuffer};
use crate::ftl::{BlockDevice, FtlError, Inspect, Limits, Probe, WriteHint};
use crate::losses::Losses;
use crate::pieces::{check, parts, parts_mut, pieces};
use crate::stats::Stats;

/// Logical blocks of weak pages that are remembered at once; a page that stays weak will be read again.
const WEAK_BLOCKS: usize = 8;

impl<M: Pages, P: Probe> BlockFtl<M, P> {
    /// The stream of a write, if those are told apart.
    #[inline]
    fn stream_of(&self, hint: WriteHint) -> u16 {
        if self.config.scheme == Scheme::FastByStream { hint.stream } else { 0 }
    }

    /// A page holds nothing from now on. Returns its logical block if that has anything to record.
    fn unmap(&mut self, lpn: Lpn) -> Option<Lbn> {
        // A part that waits in the buffer would bring the page back at the next flush.
        self.buffer.drop_superseded(lpn);
        let (lbn, _) = self.index.map().split(lpn);
        if !self.index.map().is_mapped(lpn) {
            // A write that failed may have left the page on flash: a mount would find it if nothing recorded the
            // discard.
            return self.has_failed_writes.then_some(lbn);
        }
        // Before the page leaves the map, which says where it lies.
        self.store.add_dead_page(self.index.map().lookup(lpn));
        self.index.unmap(lpn);
        self.store.stats.discarded_pages += 1;
        Some(lbn)
    }

    /// Frees the blocks of a logical block of which nothing is left, or leaves that for later.
    fn drop_if_empty(&mut self, lbn: Lbn) -> Result<(), FtlError> {
        // In shared log blocks lie pages of others, so they cannot be erased: a flush records the discards.
        if self.shares_logs() || self.index.map().mapped_in(lbn) > 0 {
            return Ok(());
        }
        if self.keeps_dead() {
            self.note_dead(lbn);
            return Ok(());
        }
        self.store.prepare()?;
        self.drop_block(lbn)
    }
}

impl<M: Pages, P: Probe> Buffered for BlockFtl<M, P> {
    fn buffer(&mut self) -> &mut WriteBuffer {
        &mut self.buffer
    }

    fn scratch(&mut self) -> &mut Vec<u8> {
        &mut self.scratch
    }

    fn counters(&mut self) -> &mut Stats {
        &mut self.store.stats
    }

    fn read_mapped(&mut self, lpn: Lpn, at: Ppn, page: &mut [u8]) -> Result<(), FtlError> {
        // At its place lies the record of the loss, which would read as zeros.
        if self.index.lost().contains(lpn) {
            return Err(FtlError::Unreadable { lpn });
        }
        match self.store.read(at, page) {
            Ok(report) => {
                let (lbn, _) = self.index.map().split(lpn);
                if report.refresh_soon && self.weak.len() < WEAK_BLOCKS && !self.weak.contains(&lbn) {
                    self.weak.push(lbn);
                }
                Ok(())
            }
            Err(ErrorKind::Uncorrectable) => {
                // Where no write is taken, a cut may have hit the page in the map: others that hold the same are asked.
                let mut same = self.same.iter().filter(|&&(held, _)| held == lpn);
                let found = same.any(|&(_, at)| self.store.read(at, page).is_ok());
                if found { Ok(()) } else { Err(FtlError::Unreadable { lpn }) }
            }
            Err(error) => Err(FtlError::Chip(error)),
        }
    }

    fn put_whole(&mut self, lpn: Lpn, data: &[u8], stream: u16) -> Result<(), FtlError> {
        self.put_page(lpn, data, stream)
    }

    fn losses(&mut self) -> &mut Losses {
        self.index.lost_mut()
    }

    fn writable(&self) -> Result<(), FtlError> {
        self.writable
    }
}

impl<M: Pages, P: Probe> BlockDevice for BlockFtl<M, P> {
    fn sectors(&self) -> u64 {
        u64::from(self.config.logical_pages) * u64::from(self.sectors_per_page())
    }

    fn page_bytes(&self) -> u32 {
        self.shape().page_bytes
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
        self.store.stats.host_pages += 1;
        let stream = self.stream_of(hint);
        self.put_page(lpn, data, stream).inspect_err(|_| self.drop_if_written(lpn, data))?;
        // Not before: until then the buffer has what is read.
        self.buffer.drop_superseded(lpn);
        Ok(())
    }

    /// A logical block of which nothing is left is erased at once or, under proactive reclamation, kept for a while,
    /// unless its pages share log blocks with others; other discards are recorded when the host flushes.
    fn discard(&mut self, at: Sectors) -> Result<(), FtlError> {
        check(at, self.sectors(), None, M::STORES)?;
        self.writable?;
        let per_page = self.sectors_per_page();
        let mut touched = None;
        // A part of a page cannot be unmapped, and stays as it is.
        for piece in pieces(at, per_page).filter(|p| p.count == per_page) {
            let Some(lbn) = self.unmap(piece.lpn) else { continue };
            self.discards.note(lbn);
            // The pages of a logical block follow one another: what is left of it is counted once, behind the last.
            if let Some(previous) = touched.replace(lbn)
                && previous != lbn
            {
                self.drop_if_empty(previous)?;
            }
        }
        touched.map_or(Ok(()), |lbn| self.drop_if_empty(lbn))
    }

    fn flush(&mut self) -> Result<(), FtlError> {
        self.store.stats.flushes += 1;
        self.drain_all()?;
        // No write or discard was taken since the mount, so there is nothing to record.
        if self.writable.is_err() {
            return self.report_losses();
        }
        self.leave_condemned()?;
        // A record says what else is mapped: those pages have to be safe before it is.
        self.pad()?;
        while let Some(lbn) = self.discards.next_dirty() {
            self.store.prepare()?;
            self.record_discards(lbn)?;
        }
        // Only now: `record_discards` may have found logical blocks of which nothing is left.
        self.record_dead()?;
        self.pad()?;
        self.report_losses()
    }

    /// Saves weak pages, levels wear and folds; a logical block is merged whole, whatever is left of the budget. Then
    /// erases dead blocks, each for the price of a merge: when the host is idle nothing speaks for keeping them.
    fn clean(&mut self, budget_pages: u32) -> Result<bool, FtlError> {
        let mut moved = 0;
        while moved < budget_pages && self.writable.is_ok() {
            if !self.is_behind() && !self.has_dead() {
                return Ok(false);
            }
            self.store.prepare()?;
            if !self.keep_up()? && !self.reclaim_dead()? {
                return Ok(false);
            }
            // Each piece of work counts as a merge, which copies up to a block of pages.
            moved += self.shape().pages;
        }
        Ok(self.writable.is_ok() && (self.is_behind() || self.has_dead()))
    }

    fn set_time_us(&mut self, _now_us: u64) {}

    fn shutdown(&mut self) -> Result<(), FtlError> {
        self.flush()?;
        // Behind a mark nothing has changed, so it is still true.
        if !M::TAGGED || self.store.has_clean_mark() || self.writable.is_err() {
            return Ok(());
        }
        // No record of dead blocks outlives a run of the engine (docs/src/design/discards.md).
        self.forget_records()?;
        // One stays free beside the mark. Should the mark's erase fail, a merge has still a place.
        if self.store.free_segments() > 1 { self.store.leave_mark() } else { Ok(()) }
    }
}

impl<M: Pages, P: Probe> Inspect for BlockFtl<M, P> {
    fn stats(&self) -> &Stats {
        &self.store.stats
    }

    fn reset_stats(&mut self) {
        self.store.stats.reset();
    }

    fn lookup(&self, lpn: Lpn) -> Ppn {
        self.index.map().lookup(lpn)
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.lookup(lpn).is_some() || self.buffer.find(lpn).is_some()
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.store.good_erases().collect()
    }

    fn limits(&self) -> Limits {
        Limits {
            logical_pages: u64::from(self.config.logical_pages),
            physical_pages: u64::from(self.shape().segments) * u64::from(self.shape().pages),
            pages_per_segment: self.shape().pages,
            segments: self.shape().segments,
            needed_segments: self.config.needed_segments(self.shape()),
            live_pages: self.index.map().live_pages(),
            dead_pages: self.store.dead_pages(),
            free_segments: self.store.free_segments(),
            max_ops_per_host_page: self.config.max_ops_per_host_page(self.shape()),
            table_bytes: self.table_bytes(),
        }
    }
}
