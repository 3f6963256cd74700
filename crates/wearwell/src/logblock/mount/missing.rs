//! Lost pages: what was written and can no longer be found reads as an error, never as zeros.
//!
//! A cut leaves pages that cannot be read, and so does damage. A block with such a page is erased before it is used
//! again, and while there is one, the mark of a clean shutdown says so. Behind a mark that says there is none, each
//! page that cannot be read has held something: a page of the device without a copy may have been there, and is lost.

use alloc::vec::Vec;

use super::{Block, Mount, Recovery, Scanned};
use crate::addr::Lpn;
use crate::ftl::{FtlError, Probe};
use crate::logblock::addr::Lbn;
use crate::logblock::merger::MergeCause;
use crate::logblock::pages::{Pages, TagRead};
use crate::logblock::tag::Role;

impl<M: Pages, P: Probe> Mount<'_, M, P> {
    /// Notes blocks that cannot be read as a whole, and the pages that are lost with them.
    pub(super) fn note_missing(&mut self, recovery: &mut Recovery) {
        let mut missing = Vec::new();
        for scanned in recovery.scanned.iter().chain(&recovery.unreadable) {
            if !scanned.tags.contains(&TagRead::Unreadable) {
                continue;
            }
            self.recycler.merger.store.suspect(scanned.seg);
            // Spec B14.
            if recovery.continues {
                recovery.report.incomplete_segments += 1;
                missing.extend(self.may_have_held(scanned).into_iter().filter(|&lpn| !self.map().is_mapped(lpn)));
            }
        }
        missing.iter().for_each(|&lpn| _ = self.recycler.merger.index.lost_mut().note(lpn));
    }

    /// The logical pages that may have been where a block cannot be read.
    fn may_have_held(&self, scanned: &Scanned) -> Vec<Lpn> {
        let owner = scanned.lbns(self.map()).next();
        // Pages lie at their own offsets in these, so the place tells which one is gone.
        let is_in_place = match (scanned.what, scanned.tags.first()) {
            (Block::Primary | Block::Replaced | Block::Holes | Block::Whole, _) => true,
            (_, Some(TagRead::Tag(tag))) => tag.role == Role::MergeHead,
            _ => false,
        };
        let pages = match owner.filter(|lbn| lbn.0 < self.map().blocks()) {
            Some(lbn) if is_in_place => {
                let gone = (0..self.shape().pages).filter(|&page| scanned.tags[page as usize] == TagRead::Unreadable);
                return gone
                    .map(|page| self.map().join(lbn, page))
                    .filter(|lpn| lpn.0 < self.map().logical_pages())
                    .collect();
            }
            Some(lbn) if !self.recycler.merger.index.shares_logs() => self.map().range(lbn),
            // Of a shared log block, or if no tag says whose block it was, any page may be gone.
            _ => 0..self.map().logical_pages(),
        };
        pages.map(Lpn).collect()
    }

    /// Merges the logical blocks with pages that this mount has found to be lost, so that later ones know it, too.
    pub(super) fn record_missing(&mut self, recovery: &mut Recovery) -> Result<(), FtlError> {
        recovery.report.lost_pages = self.recycler.merger.index.lost().len();
        for lbn in (0..self.map().blocks()).map(Lbn) {
            let missing: Vec<u32> = self.missing_in(lbn).collect();
            if missing.is_empty() {
                continue;
            }
            self.recycler.merger.store.prepare()?;
            // Many logical blocks may get their first data block here.
            if recovery.report.clean {
                self.restore_after_failures()?;
            }
            // Not `merge`: that drops a logical block without pages, and the loss would be forgotten.
            match self.recycler.merger.merge_to(lbn, MergeCause::Upkeep, false) {
                // Each has a record in its place, to which the map points.
                Ok(()) => missing.into_iter().for_each(|lpn| self.recycler.merger.index.enter_lost(Lpn(lpn))),
                // They are errors for as long as the device is on. The next write says it again.
                Err(FtlError::WornOut { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn missing_in(&self, lbn: Lbn) -> impl Iterator<Item = u32> {
        let is_missing =
            |&lpn: &u32| self.recycler.merger.index.lost().contains(Lpn(lpn)) && !self.map().is_mapped(Lpn(lpn));
        self.map().range(lbn).filter(is_missing)
    }
}
