//! The merger: how blocks are filled, and how log blocks become data blocks (Lee '07, sections 3 and 4).
//!
//! A merge copies the newest copy of every page of a logical block to an erased segment, each to its own offset. The
//! last page is programmed last, under a tag of its own: it *commits* the merge. Before it, a mount finds the old
//! blocks untouched and drops the new one; after it, all that is older than the commit is stale and erased. Nothing is
//! erased before the commit is durable.
//!
//! A migration needs no commit: its copies keep their sequence numbers, so a mount may take each page from either log
//! block. The old one is erased when the new one has everything.
//!
//! `appending` has how the host's pages and records are programmed, `migrating` migrations, `padding` what makes pages
//! safe from later programs, `emptying` what becomes of blocks in which a program failed and of shared log blocks, and
//! `dropping` what becomes of logical blocks that hold nothing.

mod appending;
mod dropping;
mod emptying;
mod migrating;
mod padding;

use alloc::vec;
use alloc::vec::Vec;

use wearwell_flash::ErrorKind;

use super::addr::{Lbn, LogId};
use super::config::RESERVE_SEGMENTS;
use super::dead_blocks::DeadBlocks;
use super::discards::Discards;
use super::fragile::Fragile;
use super::index::BlockIndex;
use super::pages::Pages;
use super::store::BlockStore;
use super::tag::{Content, Role};
use crate::addr::{Lpn, Ppn, Seg};
use crate::ftl::{FtlError, Probe};

/// For whose sake a logical block is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MergeCause {
    /// To gain room.
    Recycle,
    /// To level wear, to save a page that gets weak, or to empty a block that failed.
    Upkeep,
}

/// Fills blocks and merges them. When that is to be done, and where a page of the host's goes, is said from above.
///
/// Invariants:
/// - a segment is erased only when a commit, or a complete migration, has made what it holds stale ([`adopt`],
///   `migrate`), or when its logical block holds nothing (`drop_block`);
/// - a logical block that is dead holds nothing and has no discards to record, and is erased before a page of it is
///   written again (`revive`).
///
/// [`adopt`]: Self::adopt
#[derive(Debug)]
pub(super) struct Merger<M, P> {
    pub(super) store: BlockStore<M, P>,
    pub(super) index: BlockIndex,
    pub(super) discards: Discards,
    /// Logical blocks that hold nothing but discarded pages.
    dead: DeadBlocks,
    /// Blocks of which nothing is left are kept for a while.
    keeps_dead: bool,
    /// A page of bytes for records; empty where none are stored.
    record: Vec<u8>,
    /// Pages that a migration has moved.
    moving: Vec<Lpn>,
}

impl<M: Pages, P: Probe> Merger<M, P> {
    pub(super) fn new(store: BlockStore<M, P>, index: BlockIndex, keeps_dead: bool) -> Self {
        let shape = *store.shape();
        Self {
            discards: Discards::new(index.map().blocks()),
            store,
            index,
            dead: DeadBlocks::default(),
            keeps_dead,
            record: vec![0; if M::STORES { shape.page_bytes as usize } else { 0 }],
            moving: Vec::with_capacity(shape.pages as usize),
        }
    }

    pub(super) fn table_bytes(&self) -> u64 {
        self.index.table_bytes() + self.store.table_bytes() + self.dead.table_bytes()
    }

    /// Makes reads of the page fail until it is written or discarded.
    #[cold]
    fn note_loss(&mut self, lpn: Lpn) {
        let is_new = self.index.lost_mut().note(lpn);
        self.store.stats.lost_pages += u64::from(is_new);
    }

    /// Segments that stay free when a log block is opened. Without tags there is no mount, and no failure to survive.
    /// And what is held back for failures is not, as long as there is nothing that could give a segment back.
    pub(super) fn reserve(&self) -> u32 {
        let can_gain = self.index.logs().len() > 0 || self.has_dead();
        if M::TAGGED && can_gain { self.store.held_segments() } else { RESERVE_SEGMENTS }
    }

    /// True if a log block can be opened: it takes one of the free segments, and the reserve has to be left behind it.
    pub(super) fn can_open_log(&self) -> bool {
        !self.index.logs().is_full() && self.store.free_segments() > self.reserve()
    }

    /// Merges a logical block: everything in it goes to one segment. A block without a page is dropped.
    pub(super) fn merge(&mut self, lbn: Lbn, cause: MergeCause) -> Result<(), FtlError> {
        // Where log blocks are shared, stale pages may be left in them: only a commit keeps these from coming back.
        let stays = self.index.map().mapped_in(lbn) > 0 || (M::TAGGED && self.index.shares_logs());
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
        // Each failure takes a segment, so this ends in `take` at the latest.
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
        // The copies go behind the pages that the log block has already, which are in their places.
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
        log.is_prefix() && log.next < self.store.shape().pages && log.next.is_multiple_of(self.store.shape().group)
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
        let last = self.store.shape().pages - 1;
        // All pages before `from` are there: a log block that is completed has them in order.
        let mut held = from;
        // The last place is programmed last, so that the commit stands only behind all others (Spec B9).
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
                // The first page says that a merge fills the block, and the last is the commit: neither may be a gap
                // (Spec B8.3).
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
        // Spec B8.2: a mount counts the pages, and finds out whether an erase of the block has begun.
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
        // The record of the loss lies at `from`, or nothing does, since a mount also finds pages lost of which no copy
        // is left.
        let copied = if known_lost {
            Err(ErrorKind::Uncorrectable)
        } else if role == Role::Plain {
            // The chip copies by itself where it can. The tag goes along, with role and count of the other block.
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
            Err(ErrorKind::Uncorrectable) if !known_lost && fragile.contains(from) => Err(fragile.note_faded(from)),
            Err(ErrorKind::Uncorrectable) => {
                self.note_loss(lpn);
                // The block lacks a page now, which its commit has to say. All others are there.
                let role =
                    if role == Role::Commit { Role::commit_with_gaps(self.store.shape().pages - 1) } else { role };
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

    /// Erases every log block of a logical block but for `except`. The one written last is erased last: if the power
    /// fails, older pages must not be all that is left.
    fn release_logs_of(&mut self, lbn: Lbn, except: Option<LogId>) -> Result<(), FtlError> {
        loop {
            let owned = self.index.logs().all().filter(|&(id, log)| log.owner == Some(lbn) && Some(id) != except);
            let Some((id, _)) = owned.min_by_key(|(_, log)| log.used) else { return Ok(()) };
            let seg = self.index.close_log(id);
            self.store.release(seg)?;
        }
    }
}
