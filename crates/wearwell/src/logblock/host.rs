//! Host commands.

use alloc::vec::Vec;

use wearwell_flash::ErrorKind;

use super::pages::Pages;
use super::{BlockFtl, Scheme};
use crate::addr::{Lpn, Ppn, Sectors};
use crate::buffer::{Buffered, WriteBuffer};
use crate::ftl::{BlockDevice, FtlError, Inspect, Limits, Lookup, Probe, WriteHint};
use crate::losses::Losses;
use crate::pieces::{check, parts, parts_mut, pieces};
use crate::stats::Stats;

impl<M: Pages, P: Probe> BlockFtl<M, P> {
    /// The stream of a write, if those are told apart.
    #[inline]
    fn stream_of(&self, hint: WriteHint) -> u16 {
        if self.config.scheme == Scheme::FastByStream { hint.stream } else { 0 }
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
        &mut self.merger_mut().store.stats
    }

    fn find_page(&mut self, lpn: Lpn) -> Result<Ppn, FtlError> {
        Ok(self.merger().index.map().lookup(lpn))
    }

    fn read_mapped(&mut self, lpn: Lpn, at: Ppn, page: &mut [u8]) -> Result<(), FtlError> {
        // The map may name the record of the loss, which would read as zeros.
        if self.merger().index.lost().contains(lpn) {
            return Err(FtlError::Unreadable { lpn });
        }
        match self.writer.recycler.merger.store.read(at, page) {
            Ok(report) => {
                let (lbn, _) = self.merger().index.map().split(lpn);
                if report.refresh_soon {
                    self.writer.recycler.note_weak(lbn);
                }
                Ok(())
            }
            Err(ErrorKind::Uncorrectable) => {
                // Where no write is taken, a cut may have hit the page in the map: others that hold the same are asked.
                let mut same = self.same.iter().filter(|&&(held, _)| held == lpn);
                let found = same.any(|&(_, at)| self.writer.recycler.merger.store.read(at, page).is_ok());
                if found { Ok(()) } else { Err(FtlError::Unreadable { lpn }) }
            }
            Err(error) => Err(FtlError::Chip(error)),
        }
    }

    fn put_whole(&mut self, lpn: Lpn, data: &[u8], stream: u16) -> Result<(), FtlError> {
        self.writable?;
        self.writer.put(lpn, data, stream)
    }

    fn losses(&mut self) -> &mut Losses {
        self.merger_mut().index.lost_mut()
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
        self.merger().store.shape().page_bytes
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
        self.merger_mut().store.stats.host_pages += 1;
        let stream = self.stream_of(hint);
        self.put_whole(lpn, data, stream).inspect_err(|_| self.drop_if_written(lpn, data))?;
        // The buffer is not dropped before: if the write fails, reads still come from it.
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
            // A part that waits in the buffer would bring the page back at the next flush.
            self.buffer.drop_superseded(piece.lpn);
            let Some(lbn) = self.writer.discard(piece.lpn) else { continue };
            // The pages of a logical block follow one another: what is left of it is counted once, behind the last.
            if let Some(previous) = touched.replace(lbn)
                && previous != lbn
            {
                self.writer.drop_if_empty(previous)?;
            }
        }
        touched.map_or(Ok(()), |lbn| self.writer.drop_if_empty(lbn))
    }

    fn flush(&mut self) -> Result<(), FtlError> {
        self.merger_mut().store.stats.flushes += 1;
        self.drain_all()?;
        // No write or discard was taken since the mount, so there is nothing to record.
        if self.writable.is_err() {
            return self.report_losses();
        }
        self.writer.flush()?;
        self.report_losses()
    }

    fn clean(&mut self, budget_pages: u32) -> Result<bool, FtlError> {
        if self.writable.is_err() { Ok(false) } else { self.writer.recycler.clean(budget_pages) }
    }

    fn set_time_us(&mut self, _now_us: u64) {}

    fn shutdown(&mut self) -> Result<(), FtlError> {
        self.flush()?;
        // Behind a mark nothing has changed, so it is still true.
        if !M::TAGGED || self.merger().store.has_clean_mark() || self.writable.is_err() {
            return Ok(());
        }
        // No record of dead blocks outlives a run of the engine (docs/src/design/discards.md).
        self.merger_mut().forget_records()?;
        // One stays free beside the mark. If the mark's erase fails, a merge still has a place.
        if self.merger().store.free_segments() > 1 { self.merger_mut().store.leave_mark() } else { Ok(()) }
    }
}

impl<M: Pages, P: Probe> Inspect for BlockFtl<M, P> {
    fn stats(&self) -> &Stats {
        &self.merger().store.stats
    }

    fn reset_stats(&mut self) {
        self.merger_mut().store.stats.reset();
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.merger().store.good_erases().collect()
    }

    fn limits(&self) -> Limits {
        let (merger, shape) = (self.merger(), self.merger().store.shape());
        Limits {
            logical_pages: u64::from(self.config.logical_pages),
            physical_pages: u64::from(shape.segments) * u64::from(shape.pages),
            pages_per_segment: shape.pages,
            segments: shape.segments,
            needed_segments: self.config.needed_segments(shape),
            live_pages: merger.index.map().live_pages(),
            dead_pages: merger.store.dead_pages(),
            free_segments: merger.store.free_segments(),
            max_ops_per_host_page: self.config.max_ops_per_host_page(shape),
            table_bytes: merger.table_bytes(),
        }
    }
}

impl<M: Pages, P: Probe> Lookup for BlockFtl<M, P> {
    fn lookup(&self, lpn: Lpn) -> Ppn {
        self.merger().index.map().lookup(lpn)
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.lookup(lpn).is_some() || self.buffer.find(lpn).is_some()
    }
}
