//! What becomes of logical blocks that hold nothing: they are erased, or dead for a while.
//!
//! What makes a discard durable in block mapping is the erase of the logical block. Where that is put off, a record
//! stands in: a bitmap of all logical blocks that are dead, in a segment of its own. It says that everything in them is
//! dead that is older than the record, which stays true for ever: a block is erased before a page of it is written
//! again. So of several records all count, whatever became of the blocks since, and none has to be kept longer than the
//! next one takes to be written. A mount erases what they name, and then them.

use wearwell_flash::ErrorKind;

use super::{MergeCause, Merger};
use crate::addr::{Lpn, Seg};
use crate::clean::reclaim::Proactive;
use crate::ftl::{FtlError, Probe};
use crate::logblock::addr::Lbn;
use crate::logblock::config::RESERVE_SEGMENTS;
use crate::logblock::pages::Pages;
use crate::logblock::tag::{Content, Role};

impl<M: Pages, P: Probe> Merger<M, P> {
    /// True if blocks of which nothing is left are kept for a while.
    pub(in crate::logblock) fn keeps_dead(&self) -> bool {
        self.keeps_dead
    }

    /// Notes that nothing is left of a logical block.
    pub(in crate::logblock) fn note_dead(&mut self, lbn: Lbn) {
        debug_assert!(self.index.map().mapped_in(lbn) == 0 && self.keeps_dead());
        // The record of dead blocks says it for all of its pages, so no discard record is needed.
        self.discards.settle(lbn);
        self.dead.note(lbn);
    }

    pub(in crate::logblock) fn has_dead(&self) -> bool {
        !self.dead.is_empty()
    }

    /// Dead pages may be written again: what is there goes first.
    pub(in crate::logblock) fn revive(&mut self, lbn: Lbn) -> Result<(), FtlError> {
        // The cheapest question comes first: mostly nothing is dead, and the list is searched from its beginning.
        let is_dead = self.has_dead() && self.index.map().mapped_in(lbn) == 0 && self.dead.contains(lbn);
        if is_dead { self.drop_block(lbn) } else { Ok(()) }
    }

    /// True if there are dead blocks that a rule wants erased.
    pub(in crate::logblock) fn is_reclaiming(&mut self, rule: Proactive) -> bool {
        self.dead.is_reclaiming(rule, self.store.occupancy())
    }

    /// Erases the logical block that has been dead for longest, before that is necessary. False if there is none.
    pub(in crate::logblock) fn reclaim_dead(&mut self) -> Result<bool, FtlError> {
        let is_any = self.drop_dead()?;
        self.store.stats.reclaimed_blocks += u64::from(is_any);
        Ok(is_any)
    }

    /// Erases the logical block that has been dead for longest. False if there is none.
    pub(in crate::logblock) fn drop_dead(&mut self) -> Result<bool, FtlError> {
        let Some(lbn) = self.dead.oldest() else { return Ok(false) };
        self.drop_block(lbn)?;
        Ok(true)
    }

    /// A logical block holds nothing: its blocks are erased. What an erase that is cut leaves may be any part of them,
    /// older pages without the newer ones. So something elsewhere has to say that they are dead: the record of dead
    /// blocks, or else a discard record in a log block of its own, which goes last.
    ///
    /// A failed block without a mark cannot be erased, and the next mount believes what it holds. As long as there is
    /// one, the logical block keeps a commit.
    pub(in crate::logblock) fn drop_block(&mut self, lbn: Lbn) -> Result<(), FtlError> {
        debug_assert!(self.index.map().mapped_in(lbn) == 0);
        // Spec B11.
        if self.store.has_unmarked()? {
            // It is dead until then, so that a record goes on saying it if there is no room.
            self.merge_to(lbn, MergeCause::Upkeep, false)?;
            self.dead.remove(lbn);
            return Ok(());
        }
        let is_recorded = self.dead.is_recorded(lbn);
        let record =
            if M::TAGGED && self.index.has_blocks(lbn) && !is_recorded { Some(self.record_apart(lbn)?) } else { None };
        // If this ends with an error, the record stays, or the block is still dead.
        self.erase_blocks_of(lbn)?;
        self.dead.remove(lbn);
        record.map_or(Ok(()), |seg| self.store.release(seg))
    }

    /// Programs a discard record of a logical block that holds nothing to a segment of its own. Returns that. If the
    /// power fails then, a mount needs the whole reserve beside it, for a log block that was being filled; so where no
    /// more is free, log blocks are merged first.
    fn record_apart(&mut self, lbn: Lbn) -> Result<Seg, FtlError> {
        while self.store.free_segments() <= RESERVE_SEGMENTS
            && let Some((_, log)) = self.index.logs().all().min_by_key(|(_, log)| log.used)
            && let Some(owner) = log.owner
        {
            // `merge` would drop a logical block without pages, and come back here.
            self.merge_to(owner, MergeCause::Recycle, false)?;
        }
        // Each failure takes a segment, so this ends in `take` at the latest.
        loop {
            let seg = self.store.take(false)?;
            match self.program_discards(lbn, self.store.page_in(seg, 0), Role::LogHead) {
                Ok(()) => return Ok(seg),
                Err(error) => self.store.put_back(seg, error)?,
            }
        }
    }

    /// Erases the blocks of a logical block that holds nothing, which flash says already. If one could be neither
    /// erased nor marked bad, a commit says it from now on.
    pub(in crate::logblock) fn erase_blocks_of(&mut self, lbn: Lbn) -> Result<(), FtlError> {
        self.drop_data(lbn)?;
        // The entries go before the log blocks, so that none points into an erased segment.
        self.index.forget_overlay(lbn);
        self.release_logs_of(lbn, None)?;
        // Spec B11. This is asked behind the erases, since one of them may have failed, and the mark with it.
        let comes_back = self.store.has_unmarked()?;
        if comes_back {
            self.merge_to(lbn, MergeCause::Upkeep, false)?;
        }
        // The discards stay dirty until here: if a step before has failed, the next flush tries again.
        if !self.index.shares_logs() {
            self.discards.settle(lbn);
        }
        Ok(())
    }

    /// Erases the data block of a logical block that holds nothing.
    pub(in crate::logblock) fn drop_data(&mut self, lbn: Lbn) -> Result<(), FtlError> {
        let Some(data) = self.index.take_data(lbn) else { return Ok(()) };
        self.store.stats.free_erases += 1;
        self.store.release(data)
    }

    /// Makes it durable that what is dead is dead.
    pub(in crate::logblock) fn record_dead(&mut self) -> Result<(), FtlError> {
        if M::TAGGED && self.dead.lacks_record() {
            self.write_dead()?;
        }
        self.dead.note_recorded();
        Ok(())
    }

    fn write_dead(&mut self) -> Result<(), FtlError> {
        self.store.prepare()?;
        if let Some((seg, next)) = self.dead.records()
            && next < self.store.shape().pages
        {
            // Unless it succeeds, the segment takes no further record.
            self.dead.set_records(Some((seg, self.store.shape().pages)));
            match self.program_dead(seg, next) {
                Ok(end) => {
                    self.dead.set_records(Some((seg, end)));
                    return Ok(());
                }
                // The segment stays until the next record is in another one: what its records say still counts.
                Err(error) => self.store.note_failure(seg, error)??,
            }
        }
        // Where hardly a block is free, erasing what is dead makes room, and may leave nothing to record.
        while self.store.free_segments() < self.reserve() && self.drop_dead()? {}
        let mut records = None;
        // Each failure takes a segment, so this ends in `take` at the latest. If nothing is dead any more, no
        // record is needed.
        while self.has_dead() && records.is_none() {
            let seg = self.store.take(false)?;
            match self.program_dead(seg, 0) {
                Ok(end) => records = Some((seg, end)),
                Err(error) => self.store.put_back(seg, error)?,
            }
        }
        // The old records are erased only now: until the new one stands, only they say that these blocks are dead.
        let old = self.dead.set_records(records);
        old.map_or(Ok(()), |(seg, _)| self.store.release(seg))
    }

    /// Programs a record of the dead logical blocks, and fills the group of pages that it shares cells with. Returns
    /// the page behind it.
    fn program_dead(&mut self, seg: Seg, page: u32) -> Result<u32, ErrorKind> {
        let end = (page + 1).next_multiple_of(self.store.shape().group).min(self.store.shape().pages);
        for page in page..end {
            let at = self.store.page_in(seg, page);
            let role = if page == 0 { Role::LogHead } else { Role::Plain };
            // The first page of a group is the record. The others only fill the group, so that no later program damages
            // it.
            let kind = if page % self.store.shape().group == 0 { Content::Dead } else { Content::Pad };
            let mut record = core::mem::take(&mut self.record);
            record.fill(0);
            if M::STORES && kind == Content::Dead {
                self.dead.write_to(&mut record);
            }
            let programmed = self.store.program_meta(at, &record, Lpn(0), kind, role);
            self.record = record;
            programmed?;
        }
        Ok(end)
    }

    /// Erases what is dead, and then the records of it.
    pub(in crate::logblock) fn forget_records(&mut self) -> Result<(), FtlError> {
        while self.reclaim_dead()? {}
        // The records go last: until then only they say that what an erase has left is dead.
        self.dead.set_records(None).map_or(Ok(()), |(seg, _)| self.store.release(seg))
    }
}
