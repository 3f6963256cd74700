//! How a log block is recycled: merge, partial merge, switch merge and migration (Lee '07, sections 3 and 4).
//!
//! A merge copies the newest copy of every page of a logical block to an erased segment, each to its own offset. The
//! last page is programmed last, under a tag of its own: it *commits* the merge. Before it, a mount finds the old
//! blocks untouched and drops the new one; after it, all that is older than the commit is stale and erased. Nothing is
//! erased before the commit is durable.
//!
//! A migration needs no commit: its copies keep their sequence numbers, so a mount may take each page from either log
//! block. The old one is erased when the new one has everything.

use alloc::vec::Vec;

use wearwell_flash::ErrorKind;

use super::BlockFtl;
use super::fragile::Fragile;
use super::index::Copies;
use super::logs::LogId;
use super::map::Lbn;
use super::pages::Pages;
use super::recycle::{FullLog, Recycling, RecyclingRule};
use super::tag::{Content, Role};
use crate::addr::{Lpn, Ppn, Seg};
use crate::buffer::Buffered;
use crate::ftl::{FtlError, Probe};

/// For whose sake a logical block is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MergeCause {
    /// To gain room.
    Recycle,
    /// To level wear, to save a page that gets weak, or to empty a block that failed.
    Upkeep,
}

impl<M: Pages, P: Probe> BlockFtl<M, P> {
    /// Recycles the full log block of a logical block, by merge or migration, as the policy says.
    pub(super) fn recycle(&mut self, lbn: Lbn, id: LogId, policy: Recycling) -> Result<(), FtlError> {
        let live = self.index.map().logged_in(lbn);
        let full = FullLog { pages: self.shape().pages, live, migrations: self.index.logs().get(id).migrations };
        // A discard record, and what pads the last group of pages, must still leave room for the host.
        let fits = live + 1 + self.shape().group < self.shape().pages;
        if fits && policy.migrates(full, self.config.costs) {
            self.migrate(lbn, id)
        } else {
            self.merge(lbn, MergeCause::Recycle)
        }
    }

    /// Merges a logical block: everything in it goes to one segment. A block without a page is dropped.
    pub(super) fn merge(&mut self, lbn: Lbn, cause: MergeCause) -> Result<(), FtlError> {
        // Where log blocks are shared, stale pages may be left in them: only a commit keeps these from coming back.
        let stays = self.index.map().mapped_in(lbn) > 0 || (M::TAGGED && self.shares_logs());
        if stays { self.merge_to(lbn, cause, false) } else { self.drop_block(lbn) }
    }

    /// As [`merge`](Self::merge), to the most worn free segment.
    pub(super) fn move_to_worn(&mut self, lbn: Lbn) -> Result<(), FtlError> {
        self.merge_to(lbn, MergeCause::Upkeep, true)
    }

    /// Merges a logical block to a segment of its own, also one without a page.
    pub(super) fn merge_to(&mut self, lbn: Lbn, cause: MergeCause, most_worn: bool) -> Result<(), FtlError> {
        let seg = self.copy_to_fresh_block(lbn, cause, most_worn, &mut Fragile::default())?;
        self.adopt(lbn, seg)
    }

    /// The first half of a merge: it is committed, and nothing has been erased.
    pub(super) fn copy_to_fresh_block(
        &mut self,
        lbn: Lbn,
        cause: MergeCause,
        most_worn: bool,
        fragile: &mut Fragile,
    ) -> Result<Seg, FtlError> {
        // Each failure takes a segment, so this ends in `take_free` at the latest.
        let seg = loop {
            let seg = self.store.take(most_worn)?;
            match self.copy_block(lbn, seg, 0, cause, fragile) {
                Ok(()) => break seg,
                Err(error) => self.store.put_back(seg, error)?,
            }
        };
        if cause == MergeCause::Recycle {
            *if self.index.in_place().is_used() {
                &mut self.store.stats.folds
            } else {
                &mut self.store.stats.merges
            } += 1;
        }
        Ok(seg)
    }

    /// Merges a logical block in the cheapest way that the log block it owns allows.
    pub(super) fn merge_log(&mut self, lbn: Lbn, id: LogId) -> Result<(), FtlError> {
        if self.can_merge_partially(id) { self.merge_partially(lbn, id) } else { self.merge(lbn, MergeCause::Recycle) }
    }

    /// Completes a log block that holds the first pages of its logical block in order: the others are copied behind
    /// them, and it becomes the data block.
    fn merge_partially(&mut self, lbn: Lbn, id: LogId) -> Result<(), FtlError> {
        let log = *self.index.logs().get(id);
        debug_assert!(log.is_prefix() && log.owner == Some(lbn));
        match self.copy_block(lbn, log.seg, log.next, MergeCause::Recycle, &mut Fragile::default()) {
            Ok(()) => {
                self.store.stats.partial_merges += 1;
                self.adopt(lbn, log.seg)
            }
            // What was copied so far is in no map, so the merge that follows reads the originals.
            Err(error) => self.give_up_log(id, error),
        }
    }

    /// True if a log block can be completed in place: its pages are in order, and copies behind them endanger none
    /// that the host believes durable.
    fn can_merge_partially(&self, id: LogId) -> bool {
        let log = self.index.logs().get(id);
        log.is_prefix() && log.next < self.shape().pages && log.next.is_multiple_of(self.shape().group)
    }

    /// Copies the newest pages of a logical block, from an offset on, to their places in a segment, and commits.
    fn copy_block(
        &mut self,
        lbn: Lbn,
        seg: Seg,
        from: u32,
        cause: MergeCause,
        fragile: &mut Fragile,
    ) -> Result<(), ErrorKind> {
        let last = self.shape().pages - 1;
        // All pages before `from` are there: a log block that is completed has them in order.
        let mut held = from;
        for offset in from..=last {
            let lpn = self.index.map().join(lbn, offset);
            // The last logical block may end beyond the device.
            let source =
                if lpn.0 < self.index.map().logical_pages() { self.index.map().lookup(lpn) } else { Ppn::NONE };
            let role = match offset {
                _ if offset == last => self.commit_role(lbn, held),
                0 => Role::MergeHead,
                _ => Role::Plain,
            };
            let to = self.store.page_in(seg, offset);
            if source.is_some() || self.index.lost().contains(lpn) {
                self.copy_page(lpn, source, to, role, cause, fragile)?;
            } else if role != Role::Plain && M::TAGGED {
                // The first page says that a merge fills the block, and the last is the commit: neither may be a gap.
                self.store.program_meta(to, &[], lpn, Content::Pad, role)?;
            } else {
                // A gap, which the commit counts.
                continue;
            }
            held += 1;
        }
        Ok(())
    }

    /// What the last page of a complete data block says: whether a mount has to look for pages that are missing, or
    /// were lost, and how many pages were programmed before it.
    fn commit_role(&self, lbn: Lbn, held: u32) -> Role {
        let complete = self.index.map().mapped_in(lbn) == self.index.map().pages_of(lbn);
        if complete && !self.index.has_losses(lbn) { Role::Commit } else { Role::commit_with_gaps(held) }
    }

    /// Copies a page; one that cannot be read leaves a record that it was lost.
    fn copy_page(
        &mut self,
        lpn: Lpn,
        from: Ppn,
        to: Ppn,
        role: Role,
        cause: MergeCause,
        fragile: &mut Fragile,
    ) -> Result<(), ErrorKind> {
        let known_lost = self.index.lost().contains(lpn);
        // At `from` lies the record of the loss, or nothing: a mount also finds pages lost of which no copy is left.
        let copied = if known_lost {
            Err(ErrorKind::Uncorrectable)
        } else if role == Role::Plain {
            // Within the chip where it can: the tag goes along, with the role and the count of the other block.
            self.store.copy(from, to)
        } else {
            self.store.copy_as(from, to, lpn, role)
        };
        match copied {
            Ok(()) => {
                *if cause == MergeCause::Recycle {
                    &mut self.store.stats.copied_pages
                } else {
                    &mut self.store.stats.wear_copies
                } += 1;
                Ok(())
            }
            // There may be an older copy, which counts then; but a record of a loss is no copy, and did not fade.
            Err(ErrorKind::Uncorrectable) if !known_lost && fragile.contains(from) => {
                fragile.note_faded(from);
                Err(ErrorKind::Uncorrectable)
            }
            Err(ErrorKind::Uncorrectable) => {
                self.note_loss(lpn);
                // The block lacks a page now, which its commit has to say. All others are there.
                let role = if role == Role::Commit { Role::commit_with_gaps(self.shape().pages - 1) } else { role };
                self.store.program_meta(to, &[], lpn, Content::Lost, role)
            }
            Err(error) => Err(error),
        }
    }

    /// A committed segment is the data block of a logical block from now on; what it replaces is erased.
    pub(super) fn adopt(&mut self, lbn: Lbn, seg: Seg) -> Result<(), FtlError> {
        let old = self.index.adopt(lbn, seg);
        self.store.use_as_data(seg, lbn);
        // Copies hold what was not discarded, and nothing older is believed behind a commit.
        self.discards.settle(lbn);
        // The commit is durable. From here on a cut or a failure leaves what a mount finds to be stale.
        if let Some(old) = old {
            self.store.release(old)?;
        }
        self.release_logs_of(lbn, None)
    }

    /// Erases every log block of a logical block but for `except`, the one written last coming last: should the power
    /// fail, older pages must not be all that is left.
    pub(super) fn release_logs_of(&mut self, lbn: Lbn, except: Option<LogId>) -> Result<(), FtlError> {
        loop {
            let owned = self.index.logs().all().filter(|&(id, log)| log.owner == Some(lbn) && Some(id) != except);
            let Some((id, _)) = owned.min_by_key(|(_, log)| log.used) else { return Ok(()) };
            let seg = self.index.close_log(id);
            self.store.release(seg)?;
        }
    }

    /// Moves the live pages of a full log block to a fresh one (Lee '07, section 4).
    fn migrate(&mut self, lbn: Lbn, id: LogId) -> Result<(), FtlError> {
        // Taken out while it is filled, and put back in either case: its room was reserved once.
        let mut held = core::mem::take(&mut self.moving);
        let moved = self.copy_to_fresh_log(lbn, &mut held);
        if let Ok((seg, copies)) = moved {
            // The copies are complete. Until the old segment is erased, a mount takes each page from either.
            let old = self.index.move_log(lbn, id, seg, &held, copies);
            self.store.use_as_log(seg, id);
            self.moving = held;
            // `copy_log` has programmed a record if there was a discard.
            self.discards.settle(lbn);
            self.store.stats.migrations += 1;
            self.store.probe_mut().migrated(lbn.0, copies.pages, self.index.logs().get(id).migrations);
            self.store.release(old)?;
            return self.release_logs_of(lbn, Some(id));
        }
        self.moving = held;
        moved.map(|_| ())
    }

    /// Copies a logical block's logged pages to a free segment. Returns it, with how many pages are not padding.
    fn copy_to_fresh_log(&mut self, lbn: Lbn, held: &mut Vec<Lpn>) -> Result<(Seg, Copies), FtlError> {
        loop {
            let seg = self.store.take(false)?;
            // A try that failed has left entries.
            held.clear();
            match self.copy_log(lbn, seg, held) {
                Ok(copies) => return Ok((seg, copies)),
                Err(error) => self.store.put_back(seg, error)?,
            }
        }
    }

    /// Programs an erased segment with the logged pages of a logical block, one behind the other: first the copies,
    /// then records of what was lost, then the discards. A record has a new number, so none may come before a copy:
    /// a mount that finds a number newer than the old log block's knows that the copies are complete.
    fn copy_log(&mut self, lbn: Lbn, seg: Seg, held: &mut Vec<Lpn>) -> Result<Copies, ErrorKind> {
        let first = self.store.page_in(seg, 0).0;
        let next = |held: &Vec<Lpn>| {
            let role = if held.is_empty() { Role::LogHead } else { Role::Plain };
            (Ppn(first + held.len() as u32), role)
        };
        let mut losses = Vec::new();
        for offset in 0..self.shape().pages {
            let from = self.index.map().logged(lbn, offset);
            if !from.is_some() {
                continue;
            }
            let lpn = self.index.map().join(lbn, offset);
            let (to, role) = next(held);
            let copied = match role {
                _ if self.index.lost().contains(lpn) => Err(ErrorKind::Uncorrectable),
                // The head says what this block is and how often it was erased. The source's tag says that of another
                // block, or not at all.
                Role::LogHead => self.store.copy_as(from, to, lpn, role),
                _ => self.store.copy(from, to),
            };
            match copied {
                Ok(()) => held.push(lpn),
                Err(ErrorKind::Uncorrectable) => losses.push(lpn),
                Err(error) => return Err(error),
            }
            self.store.stats.copied_pages += u64::from(copied.is_ok());
        }
        for lpn in losses {
            self.note_loss(lpn);
            let (to, role) = next(held);
            self.store.program_meta(to, &[], lpn, Content::Lost, role)?;
            held.push(lpn);
        }
        let pages = held.len() as u32;
        let beginning = self.index.map().join(lbn, 0);
        // The record that there is goes with the old segment. Discards since then fit into the same page.
        let has_record = self.index.map().logged(lbn, self.shape().pages).is_some() || self.discards.is_dirty(lbn);
        if M::TAGGED && has_record {
            let (to, role) = next(held);
            self.program_discards(lbn, to, role)?;
            held.push(beginning);
        }
        // A later program here must not harm the copies, since their originals are erased.
        while !(held.len() as u32).is_multiple_of(self.shape().group) {
            let (to, role) = next(held);
            self.store.program_meta(to, &[], beginning, Content::Pad, role)?;
            held.push(beginning);
        }
        Ok(Copies { pages, has_record: M::TAGGED && has_record })
    }
}
