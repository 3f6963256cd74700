//! Host commands.
//!
//! There is no write buffer: it would take as much memory as all the rest. A part of a page is completed at once.

use alloc::vec::Vec;

use wearwell_flash::{ErrorKind, Nand};

use super::PagedFtl;
use super::halt::{Halt, NO_PAGE};
use super::map::{LOST, is_place};
use super::place::StreamPlacement;
use super::store::{Store, Stream};
use super::table::Use;
use super::which::VictimWorth;
use crate::addr::{Lpn, Ppn, SECTOR_BYTES, Sectors};
use crate::ftl::{BlockDevice, FtlError, Inspect, Limits, WriteHint};
use crate::page::log::Log;
use crate::pieces::{Piece, check, parts, parts_mut, pieces};
use crate::stats::Stats;

impl<N: Nand, V: VictimWorth, W: StreamPlacement> PagedFtl<N, V, W> {
    fn sectors_per_page(&self) -> u32 {
        self.map.page_bytes() / SECTOR_BYTES
    }

    fn check_writable(&mut self) -> Result<(), Halt> {
        if self.store.read_only { Err(self.store.worn_out()) } else { Ok(()) }
    }

    /// Writes a page, or a part of one, as its newest copy.
    fn put(&mut self, piece: Piece, data: &[u8], stream: Stream) -> Result<(), Halt> {
        self.keep_up()?;
        self.make_slot(stream)?;
        // A program that fails costs its segment, and the page goes to another slot.
        loop {
            // Before the page gets its number: a translation page that is written behind it has to have its entry.
            self.map.make_room(piece.lpn, &mut self.store)?;
            self.map.secure_for_data(&mut self.store)?;
            // Behind what may write translation pages: these use the page of memory that `complete` fills, too.
            let appended = if piece.count == self.sectors_per_page() {
                self.store.append(stream, piece.lpn, data)
            } else {
                self.complete(piece, data)?;
                self.store.append(stream, piece.lpn, self.map.lend())
            };
            match appended {
                Ok(at) => {
                    self.store.stats.host_programs += 1;
                    self.map.point(piece.lpn, at, &mut self.store);
                    return Ok(());
                }
                Err(ErrorKind::ProgramFailed) => {
                    // Nothing is cleaned before that page is written: see `Store::worn_out`.
                    if !self.store.open(stream, false)? {
                        return Err(self.store.worn_out());
                    }
                }
                Err(error) => {
                    self.has_failed_writes = true;
                    self.map.doubt(piece.lpn, &mut self.store)?;
                    return Err(error.into());
                }
            }
        }
    }

    /// Fills the map's page with the content of a page, changed in part.
    fn complete(&mut self, piece: Piece, data: &[u8]) -> Result<(), Halt> {
        self.store.stats.merge_reads += 1;
        let at = self.map.lookup(piece.lpn, &mut self.store)?;
        read_at(piece.lpn, at, &mut self.store, self.map.lend())?;
        let from = (piece.first * SECTOR_BYTES) as usize;
        self.map.lend()[from..from + data.len()].copy_from_slice(data);
        Ok(())
    }

    fn read_piece(&mut self, piece: Piece, out: &mut [u8]) -> Result<(), Halt> {
        self.store.stats.host_reads += 1;
        let at = self.map.lookup(piece.lpn, &mut self.store)?;
        let fades = if piece.count == self.sectors_per_page() {
            read_at(piece.lpn, at, &mut self.store, out)?
        } else {
            let page = self.map.lend();
            let fades = read_at(piece.lpn, at, &mut self.store, page)?;
            let from = (piece.first * SECTOR_BYTES) as usize;
            out.copy_from_slice(&page[from..from + out.len()]);
            fades
        };
        if fades {
            self.refresh(self.store.segment_of(at));
        }
        Ok(())
    }

    fn discard_page(&mut self, lpn: Lpn) -> Result<(), Halt> {
        let at = self.map.lookup(lpn, &mut self.store)?;
        // A write that failed may have left a page that a mount would find: the entry says that it is gone.
        if at.is_some() || self.has_failed_writes {
            self.map.make_room(lpn, &mut self.store)?;
            self.map.point(lpn, Ppn::NONE, &mut self.store);
            self.store.stats.discarded_pages += u64::from(at.is_some());
        }
        Ok(())
    }

    /// Makes everything durable.
    fn settle(&mut self) -> Result<(), Halt> {
        self.store.stats.flushes += 1;
        if self.store.read_only {
            // Discards may be lost, and no more.
            return if self.map.is_settled() { Ok(()) } else { Err(self.store.worn_out()) };
        }
        self.map.settle(&mut self.store)?;
        self.map.secure(&mut self.store)
    }

    /// Makes everything durable, and leaves a checkpoint.
    fn settle_for_good(&mut self) -> Result<(), Halt> {
        self.settle()?;
        if self.store.read_only {
            return Ok(());
        }
        // The checkpoint has no entries of the cache, and nothing may be suspect behind it.
        self.map.write_back(&mut self.store)?;
        self.store.seal_all()?;
        self.write_checkpoint()
    }
}

/// Reads a page that lies at `at`. True if it fades.
fn read_at<N: Nand>(lpn: Lpn, at: Ppn, store: &mut Store<N>, page: &mut [u8]) -> Result<bool, Halt> {
    if !is_place(at) {
        page.fill(0);
        return if at == LOST { Err(Halt::Unreadable) } else { Ok(false) };
    }
    match store.log.read(at, lpn, page) {
        Ok(report) => Ok(report.refresh_soon),
        Err(ErrorKind::Uncorrectable) => Err(Halt::Unreadable),
        Err(error) => Err(error.into()),
    }
}

impl<N: Nand, V: VictimWorth, W: StreamPlacement> BlockDevice for PagedFtl<N, V, W> {
    fn sectors(&self) -> u64 {
        u64::from(self.map.logical_pages()) * u64::from(self.sectors_per_page())
    }

    fn page_bytes(&self) -> u32 {
        self.map.page_bytes()
    }

    fn read(&mut self, at: Sectors, data: &mut [u8]) -> Result<(), FtlError> {
        check(at, self.sectors(), Some(data.len()), true)?;
        for (piece, out) in parts_mut(at, self.sectors_per_page(), true, data) {
            self.read_piece(piece, out).map_err(|halt| self.store.told(halt, piece.lpn))?;
        }
        Ok(())
    }

    fn write(&mut self, at: Sectors, data: &[u8], hint: WriteHint) -> Result<(), FtlError> {
        check(at, self.sectors(), Some(data.len()), true)?;
        self.check_writable().map_err(|halt| self.store.told(halt, NO_PAGE))?;
        let stream = Stream::HOST[..W::HOST_STREAMS as usize][self.place.stream(hint) as usize];
        for (piece, part) in parts(at, self.sectors_per_page(), true, data) {
            self.store.stats.host_pages += 1;
            self.put(piece, part, stream).map_err(|halt| self.store.told(halt, piece.lpn))?;
        }
        Ok(())
    }

    fn discard(&mut self, at: Sectors) -> Result<(), FtlError> {
        check(at, self.sectors(), None, true)?;
        self.check_writable().map_err(|halt| self.store.told(halt, NO_PAGE))?;
        let per_page = self.sectors_per_page();
        for piece in pieces(at, per_page).filter(|piece| piece.count == per_page) {
            self.discard_page(piece.lpn).map_err(|halt| self.store.told(halt, piece.lpn))?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), FtlError> {
        self.settle().map_err(|halt| self.store.told(halt, NO_PAGE))
    }

    fn clean(&mut self, budget_pages: u32) -> Result<bool, FtlError> {
        self.clean_in_background(budget_pages).map_err(|halt| self.store.told(halt, NO_PAGE))
    }

    /// Nothing here depends on the time.
    fn set_time_us(&mut self, _now_us: u64) {}

    fn shutdown(&mut self) -> Result<(), FtlError> {
        self.settle_for_good().map_err(|halt| self.store.told(halt, NO_PAGE))
    }
}

impl<N: Nand, V: VictimWorth, W: StreamPlacement> Inspect for PagedFtl<N, V, W> {
    fn stats(&self) -> &Stats {
        &self.store.stats
    }

    fn reset_stats(&mut self) {
        self.store.stats.reset();
    }

    fn erase_counts(&self) -> Vec<u32> {
        let table = &self.store.table;
        table.all().filter(|&seg| table.used_for(seg) != Use::Bad).map(|seg| table.erases(seg)).collect()
    }

    fn limits(&self) -> Limits {
        let Self { store, map, .. } = self;
        let shape = store.log.shape();
        let slots = u64::from(shape.slots);
        // A page may wait for two victims, whose every page takes a look-up, a copy and a merge.
        let page_ops = 2 * (1 + u64::from(shape.ops_per_page));
        Limits {
            logical_pages: u64::from(map.logical_pages()),
            physical_pages: u64::from(shape.segments) * slots,
            pages_per_segment: shape.slots,
            segments: shape.segments,
            needed_segments: store.plan.needed_segments,
            live_pages: store.table.all().map(|seg| u64::from(store.table.valid(seg))).sum(),
            dead_pages: 0,
            free_segments: store.free_for_data(),
            max_ops_per_host_page: 2 * slots * slots * page_ops,
            table_bytes: store.table.table_bytes() + map.table_bytes(),
        }
    }
}
