//! What a flush has to do: pages are durable once they are programmed, but where they share cells a later program may
//! endanger them, and discards are in memory.

use alloc::vec::Vec;

use wearwell_flash::ErrorKind;

use super::BlockFtl;
use super::logs::LogId;
use super::map::Lbn;
use super::merge::MergeCause;
use super::pages::Pages;
use super::tag::{Content, Role};
use crate::addr::{Lpn, Ppn};
use crate::ftl::{FtlError, Probe};

impl<M: Pages, P: Probe> BlockFtl<M, P> {
    /// Makes everything programmed so far safe from later programs.
    pub(super) fn pad(&mut self) -> Result<(), FtlError> {
        // Nothing was programmed since the mark of a clean shutdown, and a program would make it false.
        if self.shape().group == 1 || self.store.has_clean_mark() {
            return Ok(());
        }
        self.pad_primaries()?;
        self.pad_logs()
    }

    /// Fills the last group of pages of primary blocks, so that no later program endangers what is in it.
    fn pad_primaries(&mut self) -> Result<(), FtlError> {
        while let Some(lbn) = self.index.in_place_mut().take_unpadded() {
            // The logical block may have been dropped since it was listed.
            let Some(seg) = self.index.map().data(lbn) else { continue };
            // Places are programmed in ascending order where cells are shared. So only those behind the last one can be
            // filled.
            let next = self.index.in_place().end_of(lbn);
            for offset in next..self.group_end(next) {
                let (at, lpn) = (self.store.page_in(seg, offset), self.index.map().join(lbn, offset));
                // Whether this succeeds or not, the place must not be programmed again before an erase.
                self.index.in_place_mut().set(lbn, offset, true);
                match self.store.program_meta(at, &[], lpn, Content::Pad, Role::InPlace) {
                    Ok(()) => {}
                    Err(error) => {
                        self.index.in_place_mut().close(lbn);
                        self.give_up(seg, lbn, error)?;
                        // The logical block has moved, so nothing here needs padding any more.
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Fills the last group of pages of log blocks, likewise.
    fn pad_logs(&mut self) -> Result<(), FtlError> {
        // If a program fails, merges close log blocks of this list, too. An unused entry has no page, and none is
        // padded.
        let open: Vec<LogId> = self.index.logs().all().map(|(id, _)| id).collect();
        for id in open {
            // An empty log block has no group to fill, so padding is never the head of one.
            while self.index.logs().get(id).next < self.group_end(self.index.logs().get(id).next) {
                let log = *self.index.logs().get(id);
                let lpn = log.owner.map_or(Lpn(0), |lbn| self.index.map().join(lbn, 0));
                let at = self.store.page_in(log.seg, log.next);
                match self.store.program_meta(at, &[], lpn, Content::Pad, Role::Plain) {
                    Ok(()) => self.index.append_pad(id, lpn),
                    Err(error) => {
                        self.give_up_log(id, error)?;
                        break;
                    }
                };
            }
        }
        Ok(())
    }

    /// First page behind the group that the page before `next` lies in.
    fn group_end(&self, next: u32) -> u32 {
        // The last group of a segment may be cut short.
        next.next_multiple_of(self.shape().group).min(self.shape().pages)
    }

    /// Makes the discards in a logical block durable: by a record in its log block, or by a merge without the pages.
    /// They are when `dirty` says so; a log block that fails takes another try.
    pub(super) fn record_discards(&mut self, lbn: Lbn) -> Result<(), FtlError> {
        let nothing_left = self.index.map().mapped_in(lbn) == 0;
        if nothing_left && self.keeps_dead() {
            self.note_dead(lbn);
            return Ok(());
        }
        if nothing_left && !self.shares_logs() {
            return self.drop_block(lbn);
        }
        if !M::TAGGED {
            // Without tags there is no mount that could bring a page back.
            self.discards.settle(lbn);
            return if nothing_left { self.drop_block(lbn) } else { Ok(()) };
        }
        let log = if self.shares_logs() { Some(self.shared_log(0)?) } else { self.index.logs().current(lbn) };
        // Finding room in a shared log block may have merged this logical block.
        if !self.discards.is_dirty(lbn) {
            return Ok(());
        }
        match log.filter(|&id| self.index.logs().get(id).next < self.shape().pages) {
            Some(id) => self.append_record(id, lbn)?,
            // No log block is opened for a record alone (decision 21).
            None => self.merge(lbn, MergeCause::Recycle)?,
        }
        // All that a shared scheme leaves of a logical block without pages is the record. If that has failed, or what
        // pads its group has, a merge took its place, and only the commit of that keeps older pages from coming back.
        if nothing_left && !self.discards.is_dirty(lbn) && self.index.map().data(lbn).is_some() {
            self.pad()?;
            if self.index.map().logged(lbn, self.shape().pages).is_some() {
                self.drop_data(lbn)?;
            }
        }
        Ok(())
    }

    /// Programs a discard record as the next page of a log block.
    fn append_record(&mut self, id: LogId, lbn: Lbn) -> Result<(), FtlError> {
        let log = *self.index.logs().get(id);
        let at = self.store.page_in(log.seg, log.next);
        let role = if log.next == 0 { Role::LogHead } else { Role::Plain };
        match self.program_discards(lbn, at, role) {
            Ok(()) => {}
            // Emptying the log block merges this logical block, which will do as well.
            Err(error) => return self.give_up_log(id, error),
        }
        self.index.append_record(id, lbn);
        self.discards.settle(lbn);
        Ok(())
    }

    /// Programs a bitmap of the pages of a logical block that are unmapped.
    pub(super) fn program_discards(&mut self, lbn: Lbn, at: Ppn, role: Role) -> Result<(), ErrorKind> {
        let mut record = core::mem::take(&mut self.record);
        record.fill(0);
        for (offset, lpn) in self.index.map().range(lbn).enumerate() {
            // `record` is empty where bytes are only counted.
            if M::STORES && !self.index.map().is_mapped(Lpn(lpn)) {
                record[offset / 8] |= 1 << (offset % 8);
            }
        }
        let programmed = self.store.program_meta(at, &record, self.index.map().join(lbn, 0), Content::Trim, role);
        self.record = record;
        programmed
    }
}
