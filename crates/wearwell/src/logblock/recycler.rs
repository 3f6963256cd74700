//! The recycler: when room is made, and what is merged for it.
//!
//! A full log block is merged or migrated, as a [policy](super::recycle) says. Beside that there is work that is due
//! without a write that asks for it: the reserve of free segments, pages that get weak, wear, and what is dead.

use alloc::vec::Vec;

use super::addr::{Lbn, LogId};
use super::config::{BlockConfig, FOLD_BELOW_PERCENT, FOLD_UNTIL_PERCENT, Scheme};
use super::logs::LogBlock;
use super::merger::{MergeCause, Merger};
use super::pages::Pages;
use super::recycle::{Costs, FullLog, Recycling, RecyclingRule};
use crate::Reclamation;
use crate::ftl::{FtlError, Probe};

/// Logical blocks of weak pages that are remembered at once; a page that stays weak will be read again.
const WEAK_BLOCKS: usize = 8;

/// Makes room, and does what is due.
///
/// Invariant: when a log block has been opened, three segments are free, and up to four more that are held back for
/// failures ([`Merger::reserve`]). [`keep_up`](Self::keep_up) restores them.
#[derive(Debug)]
pub(super) struct Recycler<M, P> {
    pub(super) merger: Merger<M, P>,
    scheme: Scheme,
    costs: Costs,
    reclaim: Reclamation,
    /// Logical blocks of pages that get weak.
    weak: Vec<Lbn>,
    /// Between the marks of `primary-replacement`.
    is_folding: bool,
}

impl<M: Pages, P: Probe> Recycler<M, P> {
    pub(super) fn new(merger: Merger<M, P>, config: &BlockConfig) -> Self {
        let BlockConfig { scheme, costs, reclaim, .. } = *config;
        Self { merger, scheme, costs, reclaim, weak: Vec::new(), is_folding: false }
    }

    /// A read has found a page of a logical block weak: it is merged when there is time.
    pub(super) fn note_weak(&mut self, lbn: Lbn) {
        if self.weak.len() < WEAK_BLOCKS && !self.weak.contains(&lbn) {
            self.weak.push(lbn);
        }
    }

    /// Recycles the full log block of a logical block, by merge or migration, as the policy says.
    pub(super) fn recycle(&mut self, lbn: Lbn, id: LogId, policy: Recycling) -> Result<(), FtlError> {
        let (index, shape) = (&self.merger.index, self.merger.store.shape());
        let (live, migrations) = (index.map().logged_in(lbn), index.logs().get(id).migrations);
        let full = FullLog { pages: shape.pages, live, migrations };
        // A discard record, and what pads the last group of pages, must still leave room for the host.
        let fits = live + 1 + shape.group < shape.pages;
        if fits && policy.migrates(full, self.costs) {
            self.merger.migrate(lbn, id)
        } else {
            self.merger.merge(lbn, MergeCause::Recycle)
        }
    }

    /// Work that is due, a bounded part of it: a page that gets weak, wear leveling, a dead block, a fold. Returns
    /// false if there was none.
    pub(super) fn keep_up(&mut self) -> Result<bool, FtlError> {
        // The reserve comes first: a merge takes a free segment before it gives one back.
        if self.lacks_reserve() {
            self.restore_reserve()?;
        } else if let Some(lbn) = self.weak.pop() {
            self.merger.merge(lbn, MergeCause::Upkeep)?;
        } else if self.merger.store.is_wear_due() {
            // Data that rests moves to the most worn free segment, if that pays.
            if let Some(lbn) = self.merger.store.choose_wear_move() {
                self.merger.move_to_worn(lbn)?;
            }
        } else if self.is_reclaiming() {
            self.merger.reclaim_dead()?;
        } else if self.is_folding {
            // One block for each host page (decision 23): to fold up to the second mark at once would make one command
            // wait.
            self.fold_one()?;
            self.check_folding();
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// True if `keep_up` has something to do.
    fn is_behind(&mut self) -> bool {
        self.lacks_reserve()
            || !self.weak.is_empty()
            || self.merger.store.is_wear_due()
            || self.is_folding
            || self.is_reclaiming()
    }

    /// True if there are dead blocks that the policy wants erased.
    fn is_reclaiming(&mut self) -> bool {
        let Reclamation::Proactive { rule } = self.reclaim else { return false };
        self.merger.is_reclaiming(rule)
    }

    /// Saves weak pages, levels wear and folds; a logical block is merged whole, whatever is left of the budget. Then
    /// erases dead blocks, each for the price of a merge: when the host is idle nothing speaks for keeping them. True
    /// if there is more to do.
    pub(super) fn clean(&mut self, budget_pages: u32) -> Result<bool, FtlError> {
        let mut moved = 0;
        while moved < budget_pages {
            if !self.is_behind() && !self.merger.has_dead() {
                return Ok(false);
            }
            // What follows programs and erases, so the mark of a clean shutdown goes first.
            self.merger.store.prepare()?;
            if !self.keep_up()? && !self.merger.reclaim_dead()? {
                return Ok(false);
            }
            // Each piece of work counts as a merge, which copies up to a block of pages.
            moved += self.merger.store.shape().pages;
        }
        Ok(self.is_behind() || self.merger.has_dead())
    }

    /// True if blocks that went bad have used up the reserve, and there are log blocks to restore it from.
    pub(super) fn lacks_reserve(&self) -> bool {
        self.merger.store.free_segments() < self.merger.reserve()
            && (self.merger.index.logs().len() > 0 || self.merger.has_dead())
    }

    /// Recycles a log block to gain a free segment.
    #[cold]
    pub(super) fn restore_reserve(&mut self) -> Result<(), FtlError> {
        match self.scheme {
            Scheme::LogBlock(_) => self.evict(),
            Scheme::PrimaryReplacement => self.fold_one().map(|_| ()),
            Scheme::Fast | Scheme::FastByStream => self.reclaim_oldest(),
        }
    }

    /// Takes the log block away from the logical block that was written longest ago; but first, what is dead goes.
    pub(super) fn evict(&mut self) -> Result<(), FtlError> {
        // That copies no data, while a merge copies up to a block of it.
        if self.merger.drop_dead()? {
            return Ok(());
        }
        let oldest = self.merger.index.logs().all().min_by_key(|(_, log)| log.used);
        // Without a log block there is nothing that a merge could gain.
        let Some((id, Some(lbn))) = oldest.map(|(id, log)| (id, log.owner)) else {
            return Err(self.merger.store.worn_out());
        };
        self.merger.merge_log(lbn, id)
    }

    /// Empties the log block written longest ago.
    pub(super) fn reclaim_oldest(&mut self) -> Result<(), FtlError> {
        // The stream's log block goes last: it is not what keeps the others from being opened.
        let age = |(id, log): &(LogId, &LogBlock)| (self.merger.index.sequential() == Some(*id), log.used);
        let oldest = self.merger.index.logs().all().min_by_key(age).map(|(id, log)| (id, log.owner));
        match oldest {
            Some((id, None)) => self.merger.reclaim(id),
            Some((id, Some(owner))) => self.merger.merge_log(owner, id),
            None => Err(self.merger.store.worn_out()),
        }
    }

    /// Folding begins below one mark of free segments and ends at another (FSAF '09, section 5.1), or where nothing is
    /// left to fold but the block that is being written: a device that is full of data never reaches the second mark.
    pub(super) fn check_folding(&mut self) {
        if !self.merger.index.in_place().is_used() {
            return;
        }
        let store = &self.merger.store;
        let (free, good) = (u64::from(store.free_segments()) * 100, u64::from(store.good_segments()));
        let is_at_end = self.merger.index.logs().len() <= 1 && !self.merger.has_dead();
        if !self.is_folding && free < good * FOLD_BELOW_PERCENT {
            self.is_folding = true;
            self.merger.store.stats.cleanings += 1;
        } else if free >= good * FOLD_UNTIL_PERCENT || is_at_end {
            self.is_folding = false;
        }
    }

    /// Folds the logical block with the most invalid pages: one that is dead, if there is any. False if none is, and
    /// none has a replacement block.
    pub(super) fn fold_one(&mut self) -> Result<bool, FtlError> {
        if self.merger.drop_dead()? {
            return Ok(true);
        }
        let invalid = |lbn: Lbn, next: u32| {
            let programmed = next + self.merger.index.in_place().programmed_in(lbn);
            programmed.saturating_sub(self.merger.index.map().mapped_in(lbn))
        };
        let folds = self.merger.index.logs().all().filter_map(|(_, log)| Some((log.owner?, log.next)));
        // Ties go to the lowest number, so that equal runs give equal results (invariant 8).
        let Some((lbn, _)) = folds.max_by_key(|&(lbn, next)| (invalid(lbn, next), core::cmp::Reverse(lbn))) else {
            self.is_folding = false;
            return Ok(false);
        };
        self.merger.merge(lbn, MergeCause::Recycle)?;
        Ok(true)
    }
}
