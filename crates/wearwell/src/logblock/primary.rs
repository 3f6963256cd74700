//! `primary-replacement`: pages go to their own places as long as these can be programmed, and then to a replacement
//! block, until the two are folded (the NFTL of FSAF '09, sections 2 and 5.1).

use core::ops::Range;

use wearwell_flash::ProgramOrder;

use super::config::{FOLD_BELOW_PERCENT, FOLD_UNTIL_PERCENT};
use super::map::{Lbn, list};
use super::merge::MergeCause;
use super::pages::Pages;
use super::tag::Role;
use super::{BlockFtl, Scheme};
use crate::addr::{Lpn, Ppn, Seg};
use crate::ftl::{FtlError, Probe};

impl<M: Pages, P: Probe> BlockFtl<M, P> {
    /// `primary-replacement`: a page goes to its own place while that can be programmed (FSAF '09, section 2).
    pub(super) fn put_in_primary(&mut self, lpn: Lpn, data: &[u8]) -> Result<(), FtlError> {
        let (lbn, offset) = self.map.split(lpn);
        // Each round programs the page, makes room, or loses a segment for good. So this ends.
        loop {
            if self.map.data(lbn).is_none() && !self.map.has_overlay(lbn) {
                self.make_room()?;
                let seg = self.store.take(false)?;
                self.map.set_data(lbn, Some(seg));
                self.store.use_as_data(seg, lbn);
                // The bits go by logical block, so they are still those of its last primary block.
                self.programmed.set_all(self.places_of(lbn), false);
            }
            if let Some(seg) = self.map.data(lbn)
                && self.can_program_in_place(lbn, offset)
            {
                if self.program_in_place(lpn, seg, data)? {
                    return Ok(());
                }
                // The block was given up, and its pages have moved.
                continue;
            }
            let id = match self.logs.current(lbn) {
                Some(id) if self.logs.get(id).next < self.shape().pages => id,
                // The fold makes one new primary block of the two, which may have room in place.
                Some(_) => {
                    self.merge(lbn, MergeCause::Recycle)?;
                    continue;
                }
                // The replacement block takes one of the free segments, and the reserve has to be left behind it.
                None if self.logs.is_full() || self.store.free_segments() <= self.reserve() => {
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

    /// Bits of a logical block in `programmed`.
    pub(super) fn places_of(&self, lbn: Lbn) -> Range<u32> {
        lbn.0 * self.shape().pages..(lbn.0 + 1) * self.shape().pages
    }

    /// True if a page's own place in its primary block can be programmed.
    fn can_program_in_place(&self, lbn: Lbn, offset: u32) -> bool {
        let places = self.places_of(lbn);
        match self.order() {
            ProgramOrder::Any => !self.programmed.get(Lpn(places.start + offset)),
            // A page behind this one that is programmed rules it out, too.
            ProgramOrder::Ascending => self.programmed.count(places.start + offset..places.end) == 0,
        }
    }

    /// True if any page of a primary block can be programmed in its place.
    pub(super) fn has_room_in_place(&self, lbn: Lbn) -> bool {
        let pages = self.shape().pages;
        self.has_primaries() && (0..pages).any(|page| self.can_program_in_place(lbn, page))
    }

    /// Pages that share cells are programmed in order, so that a group can be filled before it matters.
    fn order(&self) -> ProgramOrder {
        if self.shape().group == 1 { self.shape().order } else { ProgramOrder::Ascending }
    }

    /// A primary block takes no further pages in place.
    pub(super) fn close_primary(&mut self, lbn: Lbn) {
        if self.has_primaries() {
            self.programmed.set_all(self.places_of(lbn), true);
        }
    }

    /// A merge has filled the primary block: what the logical block lacks can still be programmed in place.
    pub(super) fn note_programmed(&mut self, lbn: Lbn) {
        if !self.has_primaries() {
            return;
        }
        for (offset, place) in (0_u32..).zip(self.places_of(lbn)) {
            let lpn = self.map.join(lbn, offset);
            // `copy_block` programs these two, whether their pages are mapped or not.
            let own = M::TAGGED && (offset == 0 || offset + 1 == self.shape().pages);
            // A lost page has a record in its place, also if the map does not know the page.
            let is_held = lpn.0 < self.map.logical_pages() && (self.map.is_mapped(lpn) || self.lost.contains(lpn));
            let programmed = own || is_held;
            self.programmed.set(Lpn(place), programmed);
        }
    }

    /// Programs a page at its own place. False if that failed; the block has then been given up.
    fn program_in_place(&mut self, lpn: Lpn, seg: Seg, data: &[u8]) -> Result<bool, FtlError> {
        let (lbn, offset) = self.map.split(lpn);
        let at = self.store.page_in(seg, offset);
        // The last page of a primary block that was written in order says that nothing is missing. Pages in a
        // replacement block would be older than this commit, and stale for a mount.
        let complete = offset + 1 == self.shape().pages
            && !self.map.has_overlay(lbn)
            && self.map.mapped_in(lbn) == offset
            && !self.has_losses(lbn);
        let role = if complete { Role::Commit } else { Role::InPlace };
        match self.store.program(at, data, lpn, role) {
            Ok(()) => {}
            Err(error) => {
                // If the merge fails, too, the block takes no further page in place.
                self.close_primary(lbn);
                return self.give_up(seg, lbn, error).map(|()| false);
            }
        }
        self.lost.forget(lpn);
        self.programmed.set(lpn, true);
        if self.shape().group > 1 {
            list(&mut self.unpadded, lbn, self.map.blocks());
        }
        self.map.set_mapped(lpn, true);
        let old = self.map.set_logged(lbn, offset, Ppn::NONE);
        self.count_stale(old);
        Ok(true)
    }

    /// Folds until a segment can be taken and the reserve is left.
    fn make_room(&mut self) -> Result<(), FtlError> {
        self.check_folding();
        // Each fold closes a log block or drops a dead logical block, so this ends.
        while self.logs.is_full() || self.store.free_segments() <= self.reserve() {
            if !self.fold_one()? {
                return Err(self.store.worn_out());
            }
        }
        Ok(())
    }

    /// Folding begins below one mark of free segments and ends at another (FSAF '09, section 5.1), or where nothing is
    /// left to fold but the block that is being written: a device that is full of data never reaches the second mark.
    pub(super) fn check_folding(&mut self) {
        if !self.has_primaries() {
            return;
        }
        let (free, good) = (u64::from(self.store.free_segments()) * 100, u64::from(self.store.good_segments()));
        if !self.folding && free < good * FOLD_BELOW_PERCENT {
            self.folding = true;
            self.store.stats.cleanings += 1;
        } else if free >= good * FOLD_UNTIL_PERCENT || (self.logs.len() <= 1 && !self.has_dead()) {
            self.folding = false;
        }
    }

    /// True if data blocks take pages in place.
    pub(super) fn has_primaries(&self) -> bool {
        self.config.scheme == Scheme::PrimaryReplacement
    }

    /// Folds the logical block with the most invalid pages: one that is dead, if there is any. False if none is, and
    /// none has a replacement block.
    pub(super) fn fold_one(&mut self) -> Result<bool, FtlError> {
        if self.drop_dead()? {
            return Ok(true);
        }
        let invalid = |lbn: Lbn, next: u32| {
            let programmed = next + self.programmed.count(self.places_of(lbn));
            programmed.saturating_sub(self.map.mapped_in(lbn))
        };
        let folds = self.logs.all().filter_map(|(_, log)| Some((log.owner?, log.next)));
        // Ties go to the lowest number, so that equal runs give equal results (invariant 8).
        let Some((lbn, _)) = folds.max_by_key(|&(lbn, next)| (invalid(lbn, next), core::cmp::Reverse(lbn))) else {
            self.folding = false;
            return Ok(false);
        };
        self.merge(lbn, MergeCause::Recycle)?;
        Ok(true)
    }
}
