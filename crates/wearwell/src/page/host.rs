//! Host commands.

use alloc::vec::Vec;

use wearwell_flash::ErrorKind;

use super::PageFtl;
use super::log::checkpoint_bytes::encode_seal;
use super::log::{Discards, Kind, Log, Source};
use super::map::PageMap;
use crate::addr::{Class, Lpn, Ppn, Sectors};
use crate::buffer::{Buffered, WriteBuffer};
use crate::clean::which::VictimChoice;
use crate::ftl::{BlockDevice, FtlError, Inspect, Limits, Lookup, Probe, WriteHint};
use crate::losses::Losses;
use crate::pieces::{check, parts, parts_mut, pieces};
use crate::place::{ClassPlacement, PlaceChoice};
use crate::segments::{Health, SegState};
use crate::stats::Stats;

impl<L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> PageFtl<L, P, V, W> {
    /// Announces pages that will be written soon, so that what is kept of them can be fetched together. It is for
    /// replays. The engine behaves the same.
    pub fn expect_writes(&mut self, pages: &[Lpn]) {
        self.cleaner.alloc().index().fetch(pages);
        self.cleaner.alloc_mut().placement_mut().expect(pages);
    }

    /// Appends a host page, points the map at it and invalidates what it replaces.
    #[inline(always)]
    fn put_page(&mut self, lpn: Lpn, data: &[u8], hint: WriteHint) -> Result<(), FtlError> {
        debug_assert!(lpn.0 < self.config.logical_pages, "a page of the host's");
        // The log may have found failing blocks in the last append. Their segments must not take this page.
        self.cleaner.alloc_mut().note_failures();
        self.cleaner.keep_up()?;
        let (alloc, discards) = self.cleaner.parts_mut();
        // This tells the placement and the discard map what is replaced. `Allocator::put` looks the page up again: if a
        // program fails, room is made for another, and that may move the page.
        let old = alloc.lookup(lpn)?;
        // The part on flash may call a page unmapped that is mapped for the first time.
        let grows = if old.is_some() { None } else { discards.part_for(lpn) };
        let class = alloc.place(lpn, hint, old);
        if let Err(error) = self.append_page(lpn, class, data) {
            // The program may have left a copy that the map does not know. Discards of unmapped pages count from now
            // on.
            self.has_failed_writes = true;
            return Err(error);
        }
        if let Some(part) = grows {
            self.cleaner.discards_mut().note_growth(part);
        }
        self.cleaner.alloc_mut().stats_mut().host_programs += 1;
        Ok(())
    }

    #[inline(always)]
    fn append_page(&mut self, lpn: Lpn, wanted: Class, data: &[u8]) -> Result<(), FtlError> {
        // `keep_up` has seen to a slot. A segment that fails costs it, and then the page needs another one. If none is
        // left, `make_slot` fails, which ends the loop.
        while !self.cleaner.alloc_mut().put_wanted(lpn, wanted, data)? {
            self.cleaner.make_slot()?;
        }
        Ok(())
    }

    fn discard_page(&mut self, lpn: Lpn) -> Result<(), FtlError> {
        let is_lost = self.cleaner.alloc().index().lost().contains(lpn);
        // Nothing on flash can come back, so there is nothing to record.
        if !self.find_page(lpn)?.is_some() && !is_lost && !self.has_failed_writes {
            self.buffer.drop_superseded(lpn);
            return Ok(());
        }
        self.cleaner.alloc().writable()?;
        if L::DISCARDS == Discards::Flagged {
            // On NOR this flag is the discard, and it lasts at once. If it cannot be cleared, the page is still mapped.
            self.flag_discarded(lpn)?;
        }
        // The part is marked before the map changes: if there is no room for it, nothing was discarded.
        if let Some(part) = self.cleaner.discards().part_for(lpn) {
            self.cleaner.begin_discard(part)?;
        }
        // The buffer is not dropped before: if a step above fails, reads still come from it.
        self.buffer.drop_superseded(lpn);
        // The page is looked up only now, because making room may have moved it.
        let old = self.find_page(lpn)?;
        let alloc = self.cleaner.alloc_mut();
        if old.is_some() {
            alloc.discard(lpn, old)?;
            alloc.placement_mut().discarded(lpn);
            alloc.stats_mut().discarded_pages += 1;
        } else {
            alloc.index_mut().lost_mut().forget(lpn);
        }
        Ok(())
    }

    /// Flags the newest copy of a page invalid in place, if there is one, once no older copy is left that a mount could
    /// find.
    fn flag_discarded(&mut self, lpn: Lpn) -> Result<(), FtlError> {
        // Each turn retires the segments in which a flag failed, so the loop ends.
        loop {
            self.cleaner.retire_failing()?;
            self.cleaner.alloc().writable()?;
            // A segment that was retired may have held the page.
            let at = self.find_page(lpn)?;
            if !at.is_some() {
                return Ok(());
            }
            match self.cleaner.alloc_mut().log_mut().invalidate(at) {
                Err(ErrorKind::ProgramFailed) => {}
                flagged => return flagged.map_err(FtlError::Chip),
            }
        }
    }

    /// Reads another copy of a page that has faded, if the mount had no room to copy it.
    #[cold]
    fn read_spare(&mut self, lpn: Lpn, page: &mut [u8]) -> Result<(), FtlError> {
        // Spec P17.
        let of = self.find_page(lpn)?;
        for at in self.cleaner.spares_of(lpn, of) {
            if self.cleaner.alloc_mut().log_mut().holds(at, lpn, page).map_err(FtlError::Chip)? {
                return Ok(());
            }
        }
        Err(FtlError::Unreadable { lpn })
    }

    /// Ends every open segment that holds something with a summary, so that the next mount need not read its pages.
    fn seal_all(&mut self) -> Result<(), FtlError> {
        let alloc = self.cleaner.alloc_mut();
        // The summary may be cut: until it is there, padding keeps what is promised beyond suspicion.
        alloc.pad_beyond_suspicion()?;
        // If that failed in a segment, its last pages may still need a tag page.
        alloc.pad_open()?;
        if L::STORES { alloc.seal_open() } else { Ok(()) }
    }

    /// Leaves the mark of a clean shutdown in a segment of its own, which is free for it.
    fn leave_mark(&mut self) -> Result<(), FtlError> {
        let alloc = self.cleaner.alloc_mut();
        // The mark counts only if it is alone in its segment (Spec P4), so no open segment may take it.
        alloc.abandon_open();
        // A clean shutdown does not repair a free segment that a cut may have left torn, so the mark records them. One
        // whose first program failed and that has not been retired yet will look free, too.
        let is_suspect = |state: SegState| state == SegState::Suspect || state.health() == Health::Failing;
        let has_suspects = alloc.has_unmarked() || alloc.table().all().any(|seg| is_suspect(alloc.table().state(seg)));
        let class = self.cleaner.take_slot(Class(0))?;
        let alloc = self.cleaner.alloc_mut();
        let open = alloc.open_segment(class);
        if open.next > 0 {
            // A block failed, and cleaning has begun to fill the only free segment. The next mount scans as after a
            // cut.
            return Ok(());
        }
        // Of a write that failed there may be a copy that the map does not know. Only a scan finds it.
        let code =
            if self.has_failed_writes { None } else { alloc.write_checkpoint(open.seg).map_err(FtlError::Chip)? };
        let seal = code.map(encode_seal);
        let data = seal.as_ref().map_or(&[][..], |seal| seal);
        let (mark, source) = (Lpn(u32::from(has_suspects)), Source::Host(data, alloc.next_seq()));
        let marked = alloc.append(mark, class, Kind::CleanMark, source, Ppn::NONE);
        // With tag pages the mark has no tag before its group ends.
        match marked.and_then(|_| alloc.end_group(class)) {
            Ok(()) => {}
            // The program failed, but the mark may be readable. The segment is retired before anything is written that
            // would contradict the mark.
            Err(ErrorKind::ProgramFailed) => {
                alloc.pool_mut().take_this_empty(open.seg);
                return self.cleaner.reclaim(open.seg, 0);
            }
            // The mark may have been written. It is then true, because nothing else changes before it is erased.
            Err(error) => {
                alloc.pool_mut().take_this_empty(open.seg);
                alloc.keep_mark(open.seg);
                return Err(FtlError::Chip(error));
            }
        }
        // The checkpoint and its mark have one number, so it is taken only now.
        alloc.take_seq();
        alloc.stats_mut().meta_programs += 1;
        alloc.close_mark(class);
        Ok(())
    }
}

impl<L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> Buffered for PageFtl<L, P, V, W> {
    fn buffer(&mut self) -> &mut WriteBuffer {
        &mut self.buffer
    }

    fn scratch(&mut self) -> &mut Vec<u8> {
        &mut self.scratch
    }

    fn counters(&mut self) -> &mut Stats {
        self.cleaner.alloc_mut().stats_mut()
    }

    #[inline]
    fn find_page(&mut self, lpn: Lpn) -> Result<Ppn, FtlError> {
        self.cleaner.alloc_mut().lookup(lpn)
    }

    fn read_mapped(&mut self, lpn: Lpn, at: Ppn, page: &mut [u8]) -> Result<(), FtlError> {
        let alloc = self.cleaner.alloc_mut();
        // The map may point to the record of the loss, which reads as zeros.
        if alloc.index().lost().contains(lpn) {
            return Err(FtlError::Unreadable { lpn });
        }
        match alloc.log_mut().read(at, lpn, page) {
            Ok(report) => {
                let seg = alloc.index().slots().segment_of(at);
                // A victim is being emptied already.
                if report.refresh_soon && matches!(alloc.table().state(seg), SegState::Open(_) | SegState::Closed(_)) {
                    self.cleaner.refresh(seg);
                }
                Ok(())
            }
            Err(ErrorKind::Uncorrectable) => self.read_spare(lpn, page),
            Err(error) => Err(FtlError::Chip(error)),
        }
    }

    fn put_whole(&mut self, lpn: Lpn, data: &[u8], stream: u16) -> Result<(), FtlError> {
        self.put_page(lpn, data, WriteHint::stream(stream))
    }

    fn losses(&mut self) -> &mut Losses {
        self.cleaner.alloc_mut().index_mut().lost_mut()
    }

    fn writable(&self) -> Result<(), FtlError> {
        self.cleaner.alloc().writable()
    }
}

impl<L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> BlockDevice for PageFtl<L, P, V, W> {
    fn sectors(&self) -> u64 {
        u64::from(self.config.logical_pages) * u64::from(self.sectors_per_page())
    }

    fn page_bytes(&self) -> u32 {
        self.cleaner.alloc().shape().page_bytes
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
        self.cleaner.alloc_mut().stats_mut().host_pages += 1;
        self.put_page(lpn, data, hint).inspect_err(|_| self.drop_if_written(lpn, data))?;
        // Dropped only now: if the write fails, reads still come from the buffer.
        self.buffer.drop_superseded(lpn);
        Ok(())
    }

    fn discard(&mut self, at: Sectors) -> Result<(), FtlError> {
        check(at, self.sectors(), None, L::STORES)?;
        let per_page = self.sectors_per_page();
        // Pages that are covered in part keep their content.
        for piece in pieces(at, self.sectors_per_page()).filter(|p| p.count == per_page) {
            self.discard_page(piece.lpn)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), FtlError> {
        self.cleaner.alloc_mut().stats_mut().flushes += 1;
        // Parts of pages in the buffer have been answered, so they are promised, too. They take slots, so they come
        // before anything is padded.
        self.drain_all()?;
        // Parts of the discard map take slots like host pages, so the cleaner makes room for them too.
        if self.cleaner.discards().dirty_parts() > 0 {
            self.cleaner.make_room()?;
        }
        self.cleaner.settle()?;
        // A loss is reported when all the rest is durable.
        self.report_losses()
    }

    fn clean(&mut self, budget_pages: u32) -> Result<bool, FtlError> {
        self.cleaner.clean_in_background(budget_pages)
    }

    fn set_time_us(&mut self, now_us: u64) {
        let clock = self.cleaner.alloc_mut().index_mut().clock_mut();
        debug_assert!(now_us >= clock.now_us, "time does not go back");
        clock.now_us = now_us;
    }

    fn shutdown(&mut self) -> Result<(), FtlError> {
        // The mark promises that nothing was cut, so everything has to last before it is written.
        self.flush()?;
        let alloc = self.cleaner.alloc_mut();
        // On NOR the header is programmed behind the erase. Without it the next mount would erase the block again (Spec
        // O1).
        alloc.finish_erase(true)?;
        // Only NAND has marks. One that is still there says that nothing has changed since the last shutdown.
        if L::DISCARDS != Discards::Logged || alloc.clean_mark().is_some() || alloc.writable().is_err() {
            return Ok(());
        }
        // Parts of the discard map go first, so that the summaries name them, too.
        self.cleaner.record_growth()?;
        self.seal_all()?;
        // The mark needs a segment of its own. Without one to spare, the next mount works as after a cut. So it does if
        // a program has failed meanwhile: what it has left looks like a copy, and may fade (Spec P4).
        let alloc = self.cleaner.alloc_mut();
        alloc.note_failures();
        let is_sound = alloc.table().sound() == alloc.table().good();
        let is_fit = is_sound && !alloc.is_urgent();
        if is_fit { self.leave_mark() } else { Ok(()) }
    }
}

impl<L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> Inspect for PageFtl<L, P, V, W> {
    fn stats(&self) -> &Stats {
        self.cleaner.alloc().stats()
    }

    fn reset_stats(&mut self) {
        self.cleaner.alloc_mut().stats_mut().reset();
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.segments().good_erases().collect()
    }

    fn limits(&self) -> Limits {
        let alloc = self.cleaner.alloc();
        let shape = alloc.shape();
        let slots = u64::from(shape.slots);
        // A page may wait for the erases of two empty segments and for the victim that it pays for (`make_room`), and
        // if nothing is free, until a segment is (`clean_urgently`). Each segment costs a move for each slot, its
        // erase, and the pages of the layout.
        let own_pages = u64::from(shape.overhead_pages) + u64::from(self.cleaner.discards().parts()) + 1;
        let segment_ops = (slots + own_pages) * u64::from(shape.ops_per_page) + 8;
        let segments = 3 + u64::from(self.config.victims_for_a_segment(shape));
        Limits {
            logical_pages: u64::from(self.config.logical_pages),
            physical_pages: u64::from(shape.segments) * slots,
            pages_per_segment: shape.slots,
            segments: shape.segments,
            needed_segments: alloc.rules().needed_segments,
            live_pages: PageMap::<L>::live_pages(alloc.index().map()),
            dead_pages: alloc.index().dead().total(),
            free_segments: alloc.free().usable(),
            max_ops_per_host_page: segment_ops * segments + u64::from(shape.ops_per_page),
            table_bytes: PageMap::<L>::table_bytes(alloc.index().map())
                + alloc.table().table_bytes()
                + alloc.placement().table_bytes()
                + self.config.policies.which.table_bytes(shape.segments, shape.slots)
                + alloc.index().dead().table_bytes(),
        }
    }
}

impl<L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> Lookup for PageFtl<L, P, V, W> {
    fn lookup(&self, lpn: Lpn) -> Ppn {
        self.cleaner.alloc().index().place_of(lpn)
    }

    fn holds(&self, lpn: Lpn) -> bool {
        let is_lost = self.cleaner.alloc().index().lost().contains(lpn);
        self.lookup(lpn).is_some() || is_lost || self.buffer.find(lpn).is_some()
    }
}
