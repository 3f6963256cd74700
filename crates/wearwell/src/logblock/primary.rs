//! `primary-replacement`: pages go to their own places as long as these can be programmed, and then to a replacement
//! block, until the two are folded (the NFTL of FSAF '09, sections 2 and 5.1).

use super::BlockFtl;
use super::config::{FOLD_BELOW_PERCENT, FOLD_UNTIL_PERCENT};
use super::map::Lbn;
use super::merge::MergeCause;
use super::pages::Pages;
use super::tag::Role;
use crate::addr::{Lpn, Seg};
use crate::ftl::{FtlError, Probe};

impl<M: Pages, P: Probe> BlockFtl<M, P> {
    /// `primary-replacement`: a page goes to its own place while that can be programmed (FSAF '09, section 2).
    pub(super) fn put_in_primary(&mut self, lpn: Lpn, data: &[u8]) -> Result<(), FtlError> {
        let (lbn, offset) = self.index.map().split(lpn);
        // Each round programs the page, makes room, or loses a segment for good. So this ends.
        loop {
            if self.index.map().data(lbn).is_none() && !self.index.map().has_overlay(lbn) {
                self.make_room()?;
                let seg = self.store.take(false)?;
                self.index.open_primary(lbn, seg);
                self.store.use_as_data(seg, lbn);
            }
            if let Some(seg) = self.index.map().data(lbn)
                && self.index.in_place().can_program(lbn, offset)
            {
                if self.program_in_place(lpn, seg, data)? {
                    return Ok(());
                }
                // The block was given up, and its pages have moved.
                continue;
            }
            let id = match self.index.logs().current(lbn) {
                Some(id) if self.index.logs().get(id).next < self.shape().pages => id,
                // The fold makes one new primary block of the two, which may have room in place.
                Some(_) => {
                    self.merge(lbn, MergeCause::Recycle)?;
                    continue;
                }
                // The replacement block takes one of the free segments, and the reserve has to be left behind it.
                None if self.index.logs().is_full() || self.store.free_segments() <= self.reserve() => {
                    self.make_room()?;
                    continue;
                }
                None => {
                    self.check_folding();
                    self.open_log(Some(lbn))?
                }
            };
            if self.append(id, lpn, data)? {
                return Ok(());
            }
        }
    }

    /// Programs a page at its own place. False if that failed; the block has then been given up.
    fn program_in_place(&mut self, lpn: Lpn, seg: Seg, data: &[u8]) -> Result<bool, FtlError> {
        let (lbn, offset) = self.index.map().split(lpn);
        let at = self.store.page_in(seg, offset);
        // The last page of a primary block that was written in order says that nothing is missing. Pages in a
        // replacement block would be older than this commit, and stale for a mount.
        let complete = offset + 1 == self.shape().pages
            && !self.index.map().has_overlay(lbn)
            && self.index.map().mapped_in(lbn) == offset
            && !self.index.has_losses(lbn);
        let role = if complete { Role::Commit } else { Role::InPlace };
        match self.store.program(at, data, lpn, role) {
            Ok(()) => {}
            Err(error) => {
                // If the merge fails, too, the block takes no further page in place.
                self.index.in_place_mut().close(lbn);
                return self.give_up(seg, lbn, error).map(|()| false);
            }
        }
        self.index.fill_in_place(lpn);
        Ok(true)
    }

    /// Folds until a segment can be taken and the reserve is left.
    fn make_room(&mut self) -> Result<(), FtlError> {
        self.check_folding();
        // Each fold closes a log block or drops a dead logical block, so this ends.
        while self.index.logs().is_full() || self.store.free_segments() <= self.reserve() {
            if !self.fold_one()? {
                return Err(self.store.worn_out());
            }
        }
        Ok(())
    }

    /// Folding begins below one mark of free segments and ends at another (FSAF '09, section 5.1), or where nothing is
    /// left to fold but the block that is being written: a device that is full of data never reaches the second mark.
    pub(super) fn check_folding(&mut self) {
        if !self.index.in_place().is_used() {
            return;
        }
        let (free, good) = (u64::from(self.store.free_segments()) * 100, u64::from(self.store.good_segments()));
        if !self.folding && free < good * FOLD_BELOW_PERCENT {
            self.folding = true;
            self.store.stats.cleanings += 1;
        } else if free >= good * FOLD_UNTIL_PERCENT || (self.index.logs().len() <= 1 && !self.has_dead()) {
            self.folding = false;
        }
    }

    /// Folds the logical block with the most invalid pages: one that is dead, if there is any. False if none is, and
    /// none has a replacement block.
    pub(super) fn fold_one(&mut self) -> Result<bool, FtlError> {
        if self.drop_dead()? {
            return Ok(true);
        }
        let invalid = |lbn: Lbn, next: u32| {
            let programmed = next + self.index.in_place().programmed_in(lbn);
            programmed.saturating_sub(self.index.map().mapped_in(lbn))
        };
        let folds = self.index.logs().all().filter_map(|(_, log)| Some((log.owner?, log.next)));
        // Ties go to the lowest number, so that equal runs give equal results (invariant 8).
        let Some((lbn, _)) = folds.max_by_key(|&(lbn, next)| (invalid(lbn, next), core::cmp::Reverse(lbn))) else {
            self.folding = false;
            return Ok(false);
        };
        self.merge(lbn, MergeCause::Recycle)?;
        Ok(true)
    }
}
