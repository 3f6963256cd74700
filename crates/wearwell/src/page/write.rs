//! Host commands.

use alloc::vec::Vec;

use super::PageFtl;
use super::allocate::{OpenSegment, Purpose};
use super::config::{SCARCE_BELOW, URGENT_BELOW, discards_per_page};
use super::log::{Discards, Kind, Log, Source};
use super::segments::SegState;
use crate::addr::{Class, Lpn, Ppn, Sectors, Seg};
use crate::buffer::{Buffered, WriteBuffer};
use crate::clean::which::Which;
use crate::ftl::{BlockDevice, FtlError, Inspect, Limits, Probe, WriteHint};
use crate::losses::Losses;
use crate::pieces::{check, parts, parts_mut, pieces};
use crate::place::{HostWrite, Place};
use crate::stats::Stats;
use wearwell_flash::ErrorKind;

impl<L: Log, P: Probe> PageFtl<L, P> {
    /// Names pages that will be written soon, so that their map entries can be fetched together. For a replay, which
    /// knows what comes; it changes nothing that the engine does.
    pub fn expect_writes(&mut self, pages: &[Lpn]) {
        self.map.fetch(pages);
        // A loop of its own, so that these loads wait for none but those before them.
        let sum = pages.iter().map(|&lpn| self.map.lookup(lpn)).filter(|at| at.is_some()).fold(0, |sum: u64, at| {
            let i = self.map.segment_of(at).index();
            let row = u64::from(self.segments.valid[i]) ^ self.segments.invalidated[i];
            sum ^ row ^ self.map.live_word(at)
        });
        core::hint::black_box(sum);
    }

    /// Appends a host page, points the map at it and invalidates what it replaces.
    #[inline(always)]
    fn put_page(&mut self, lpn: Lpn, data: &[u8], hint: WriteHint) -> Result<(), FtlError> {
        debug_assert!(self.is_host_page(lpn));
        self.note_failures();
        if self.attention && self.clock >= self.next_step {
            self.make_room()?;
        }
        let old = self.place_of(lpn);
        let clock = self.clock;
        let class = self.placement.host(HostWrite { lpn, hint, clock, is_update: old.is_some() });
        self.clock += 1;
        if let Err(error) = self.put(lpn, class, data, Purpose::Host) {
            self.has_failed_writes = true;
            return Err(error);
        }
        self.stats.host_programs += 1;
        Ok(())
    }

    /// Appends a page of bytes as the newest of `lpn`.
    #[inline(always)]
    fn put(&mut self, lpn: Lpn, wanted: Class, data: &[u8], purpose: Purpose) -> Result<(), FtlError> {
        loop {
            let class = self.reserve(wanted, purpose)?;
            if self.put_reserved(lpn, class, data)? {
                return Ok(());
            }
        }
    }

    /// As [`put`](Self::put), into the next slot of a [reserved](Self::reserve) class. False if the program failed.
    ///
    /// The page gets its number only here: reserving may write parts of the discard map, which call this page unmapped
    /// and must be older than it.
    #[inline(always)]
    fn put_reserved(&mut self, lpn: Lpn, class: Class, data: &[u8]) -> Result<bool, FtlError> {
        let seq = self.next_seq;
        self.next_seq = seq + 1;
        // Looked up only now: reserving may have moved the page.
        let old = self.place_of(lpn);
        let (seg, slot) = match self.program(lpn, class, Kind::Data, Source::Host(data, seq), old) {
            Ok(at) => at,
            Err(ErrorKind::ProgramFailed) => return Ok(false),
            Err(error) => return Err(FtlError::Chip(error)),
        };
        self.lost.forget(lpn);
        if old.is_some() {
            let left = self.map.rebind(lpn, old, seg, slot);
            self.left(left);
        } else {
            self.map.bind(lpn, seg, slot);
        }
        self.segments.valid[seg.index()] += 1;
        self.segments.newest[seg.index()] = self.age_clock().now;
        self.close_if_full(class)?;
        Ok(true)
    }

    /// A page's newest copy is elsewhere now, or nowhere.
    pub(super) fn invalidate(&mut self, old: Ppn) {
        let seg = self.map.release(old);
        self.left(seg);
    }

    /// A segment has lost a valid page.
    #[inline(always)]
    fn left(&mut self, seg: Seg) {
        let i = seg.index();
        let valid = self.segments.valid[i] - 1;
        self.segments.valid[i] = valid;
        self.segments.invalidated[i] = self.age_clock().now;
        if self.segments.state[i] != SegState::Closed {
            return;
        }
        if valid == 0 {
            self.emptied(seg);
        } else if valid + 1 == self.shape.slots {
            self.victims.added(seg, &self.segments);
        } else {
            self.victims.invalidated(seg, &self.segments);
        }
    }

    fn emptied(&mut self, seg: Seg) {
        self.victims.removed(seg, &self.segments);
        self.empties.push_back(seg);
        self.alert();
    }

    fn discard_page(&mut self, lpn: Lpn) -> Result<(), FtlError> {
        if !self.place_of(lpn).is_some() && !self.has_failed_writes {
            self.buffer.drop_superseded(lpn);
            return Ok(());
        }
        self.writable?;
        if L::DISCARDS == Discards::Flagged {
            self.flag_discarded(lpn)?;
        }
        if let Some(chunk) = self.discard_chunk(lpn) {
            self.begin_discard(chunk)?;
        }
        self.buffer.drop_superseded(lpn);
        // Looked up only now: making room may have moved the page.
        let old = self.place_of(lpn);
        if !old.is_some() {
            return Ok(());
        }
        self.map.unmap(lpn);
        self.dead.discarded(self.map.segment_of(old));
        self.invalidate(old);
        self.lost.forget(lpn);
        self.stats.discarded_pages += 1;
        Ok(())
    }

    /// Flags the newest copy of a page invalid in place, if there is one, when no other that a mount could find is left.
    fn flag_discarded(&mut self, lpn: Lpn) -> Result<(), FtlError> {
        loop {
            self.retire_failing()?;
            self.writable?;
            // What was retired may have held the page.
            let at = self.place_of(lpn);
            if !at.is_some() {
                return Ok(());
            }
            match self.log.invalidate(at) {
                Err(ErrorKind::ProgramFailed) => {}
                flagged => return flagged.map_err(FtlError::Chip),
            }
        }
    }

    /// Notes that a part of the discard map will change. What an erase in the middle of cleaning may have to
    /// write first stays small; and while free segments are scarce it is nothing: there is room for one part,
    /// which is written before anything is cleaned.
    fn begin_discard(&mut self, chunk: usize) -> Result<(), FtlError> {
        if self.dirty_discards[chunk] {
            return Ok(());
        }
        let scarce = self.free.usable() < SCARCE_BELOW;
        if self.dirty_count >= if scarce { 1 } else { self.shape.slots / 2 } {
            self.write_discards(Purpose::Host)?;
        }
        if scarce {
            self.make_room()?;
            self.reserve(Class(0), Purpose::Host)?;
            self.alert();
        }
        self.dirty_discards[chunk] = true;
        self.dirty_count += 1;
        Ok(())
    }

    /// Writes the parts of the discard map that have changed: for each logical page a bit, set if it is
    /// unmapped. A copy older than the map that calls its page unmapped is dead. The parts are pages of the
    /// engine's own, behind the host's; like these they are superseded, moved, and never expire.
    ///
    /// A page that was discarded and then written again is mapped: if that write could still be lost, while the
    /// map that no longer calls the page unmapped is not, what was discarded would come back.
    pub(super) fn write_discards(&mut self, purpose: Purpose) -> Result<(), FtlError> {
        self.pad_open()?;
        for chunk in 0..self.dirty_discards.len() {
            self.write_discard_part(chunk, purpose)?;
        }
        Ok(())
    }

    /// Writes a part of the discard map, if it has changed. Reserving may clean, which may write it already.
    fn write_discard_part(&mut self, chunk: usize, purpose: Purpose) -> Result<(), FtlError> {
        while self.dirty_discards[chunk] {
            let class = self.reserve(Class(0), purpose)?;
            if !self.dirty_discards[chunk] {
                break;
            }
            let mut page = core::mem::take(&mut self.discard_page);
            self.fill_discards(chunk, &mut page);
            let written = self.put_reserved(Lpn(self.config.logical_pages + chunk as u32), class, &page);
            self.discard_page = page;
            if written? {
                self.stats.meta_programs += 1;
                self.dirty_discards[chunk] = false;
                self.dirty_count -= 1;
            }
        }
        Ok(())
    }

    /// Writes anew a part of the discard map that can no longer be read. What it says is in the map. Other parts stay
    /// where they are: the cleaner may be about to move them.
    #[cold]
    pub(super) fn rewrite_discards(&mut self, chunk: usize) -> Result<(), FtlError> {
        if !core::mem::replace(&mut self.dirty_discards[chunk], true) {
            self.dirty_count += 1;
        }
        self.pad_open()?;
        self.write_discard_part(chunk, Purpose::Copy)
    }

    /// Retires the segment of a clean mark that failed, before anything is written that the mark would deny.
    #[cold]
    fn drop_failed_mark(&mut self, seg: Seg) -> Result<(), FtlError> {
        self.empties.retain(|&empty| empty != seg);
        self.reclaim(seg, 0)
    }

    fn fill_discards(&self, chunk: usize, page: &mut [u8]) {
        let per_page = discards_per_page(self.shape.page_bytes);
        let first = chunk as u32 * per_page;
        page.fill(0);
        for (at, byte) in page.iter_mut().enumerate() {
            for bit in 0..8 {
                let lpn = first + at as u32 * 8 + bit;
                if lpn < self.config.logical_pages && !self.place_of(Lpn(lpn)).is_some() {
                    *byte |= 1 << bit;
                }
            }
        }
    }
}

impl<L: Log, P: Probe> Buffered for PageFtl<L, P> {
    fn buffer(&mut self) -> &mut WriteBuffer {
        &mut self.buffer
    }

    fn scratch(&mut self) -> &mut Vec<u8> {
        &mut self.scratch
    }

    fn counters(&mut self) -> &mut Stats {
        &mut self.stats
    }

    fn read_mapped(&mut self, lpn: Lpn, at: Ppn, page: &mut [u8]) -> Result<(), FtlError> {
        if self.lost.contains(lpn) {
            return Err(FtlError::Unreadable { lpn });
        }
        match self.log.read(at, page) {
            Ok(report) => {
                if report.refresh_soon {
                    let seg = self.map.segment_of(at);
                    if matches!(self.segments.state[seg.index()], SegState::Closed | SegState::Open) {
                        self.flag_urgent(seg);
                    }
                }
                Ok(())
            }
            Err(ErrorKind::Uncorrectable) => Err(FtlError::Unreadable { lpn }),
            Err(error) => Err(FtlError::Chip(error)),
        }
    }

    fn put_whole(&mut self, lpn: Lpn, data: &[u8], stream: u16) -> Result<(), FtlError> {
        self.put_page(lpn, data, WriteHint::stream(stream))
    }

    fn losses(&mut self) -> &mut Losses {
        &mut self.lost
    }

    fn writable(&self) -> Result<(), FtlError> {
        self.writable
    }
}

impl<L: Log, P: Probe> BlockDevice for PageFtl<L, P> {
    fn sectors(&self) -> u64 {
        u64::from(self.config.logical_pages) * u64::from(self.sectors_per_page())
    }

    fn page_bytes(&self) -> u32 {
        self.shape.page_bytes
    }

    fn read(&mut self, at: Sectors, data: &mut [u8]) -> Result<(), FtlError> {
        check(at, self.sectors(), Some(data.len()), L::STORES)?;
        for (piece, out) in parts_mut(at, self.sectors_per_page(), L::STORES, data) {
            self.read_piece(piece, out)?;
        }
        Ok(())
    }

    fn write(&mut self, at: Sectors, data: &[u8], hint: WriteHint) -> Result<(), FtlError> {
        check(at, self.sectors(), Some(data.len()), L::STORES)?;
        for (piece, part) in parts(at, self.sectors_per_page(), L::STORES, data) {
            if piece.count == self.sectors_per_page() {
                self.write_page(piece.lpn, part, hint)?;
            } else {
                self.write_part(piece, part, hint.stream)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn write_page(&mut self, lpn: Lpn, data: &[u8], hint: WriteHint) -> Result<(), FtlError> {
        self.stats.host_pages += 1;
        self.put_page(lpn, data, hint)?;
        // Not before: until then the buffer has what is read.
        self.buffer.drop_superseded(lpn);
        Ok(())
    }

    fn discard(&mut self, at: Sectors) -> Result<(), FtlError> {
        check(at, self.sectors(), None, L::STORES)?;
        let per_page = self.sectors_per_page();
        for piece in pieces(at, self.sectors_per_page()).filter(|p| p.count == per_page) {
            self.discard_page(piece.lpn)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), FtlError> {
        self.stats.flushes += 1;
        self.drain_all()?;
        if self.dirty_count > 0 {
            self.make_room()?;
        }
        self.settle(Purpose::Host)?;
        self.report_losses()
    }

    fn clean(&mut self, budget_pages: u32) -> Result<bool, FtlError> {
        self.clean_in_background(budget_pages)
    }

    fn set_time_us(&mut self, now_us: u64) {
        debug_assert!(now_us >= self.now_us, "time does not go back");
        self.now_us = now_us;
    }

    fn shutdown(&mut self) -> Result<(), FtlError> {
        self.flush()?;
        self.finish_erase(true)?;
        let has_room = self.free.usable() >= URGENT_BELOW && self.writable.is_ok();
        if L::DISCARDS != Discards::Logged || self.clean_mark.is_some() || !has_room {
            return Ok(());
        }
        self.pad_beyond_suspicion()?;
        self.abandon_open();
        // A free segment in which a cut program left its traces will be no better after the next start.
        let suspects = self.segments.all().any(|s| self.segments.suspect[s.index()]);
        let class = self.reserve(Class(0), Purpose::Host)?;
        if self.open[class.index()].next > 0 {
            // A block failed, and cleaning has begun the only segment there is. The next mount scans as after a cut.
            return Ok(());
        }
        let failing = self.open[class.index()].seg;
        let (mark, source) = (Lpn(u32::from(suspects)), Source::Host(&[], self.next_seq));
        let seg = match self.program(mark, class, Kind::CleanMark, source, Ppn::NONE) {
            Ok((seg, _)) => seg,
            // The block failed under the mark, which may be readable all the same.
            Err(ErrorKind::ProgramFailed) => return self.drop_failed_mark(failing),
            Err(error) => return Err(FtlError::Chip(error)),
        };
        self.next_seq += 1;
        self.stats.meta_programs += 1;
        self.log.abandon(seg);
        self.open[class.index()] = OpenSegment::NONE;
        self.leave_class(seg, 0);
        self.segments.state[seg.index()] = SegState::Erasing;
        self.clean_mark = Some(seg);
        Ok(())
    }
}

impl<L: Log, P: Probe> Inspect for PageFtl<L, P> {
    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reset_stats(&mut self) {
        self.stats.reset();
    }

    fn lookup(&self, lpn: Lpn) -> Ppn {
        self.place_of(lpn)
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.lookup(lpn).is_some() || self.buffer.find(lpn).is_some()
    }

    fn erase_counts(&self) -> Vec<u32> {
        let good = self.segments.all().filter(|s| self.segments.state[s.index()] != SegState::Bad);
        good.map(|s| self.segments.erases[s.index()]).collect()
    }

    fn limits(&self) -> Limits {
        let slots = u64::from(self.shape.slots);
        // A page waits for two empty segments to be erased and for the victim it pays for (`make_room`), and when
        // nothing is free, until one is (`clean_urgently`); each segment costs a move a slot, its erase, and
        // what the layout writes with it.
        let own_pages = u64::from(self.shape.overhead_pages) + self.dirty_discards.len() as u64 + 1;
        let segment_ops = (slots + own_pages) * u64::from(self.shape.ops_per_page) + 8;
        let segments = 3 + u64::from(self.config.victims_for_a_segment(&self.shape));
        Limits {
            logical_pages: u64::from(self.config.logical_pages),
            physical_pages: u64::from(self.shape.segments) * slots,
            pages_per_segment: self.shape.slots,
            segments: self.shape.segments,
            live_pages: self.map.live_pages(),
            dead_pages: self.dead.total(),
            free_segments: self.free.usable(),
            max_ops_per_host_page: segment_ops * segments + u64::from(self.shape.ops_per_page),
            table_bytes: self.table_bytes(),
        }
    }
}
