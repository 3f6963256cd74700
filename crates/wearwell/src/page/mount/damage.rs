//! Lost pages: data that was written and can no longer be found reads as an error, never as zeros.
//!
//! A page of which a mount finds no copy was never written, was discarded, or is lost. If the part of the discard map
//! for it is on flash, it says which. A page that the part does not call unmapped had a copy when the part was written.
//! Copies are only erased when something newer lasts, so that page is lost. If there is no such part, a page counts as
//! lost if the account of any segment is incomplete. An account is incomplete if one of the segment's slots cannot be
//! read, no cut can have hit it, and the segment was not being erased. It certainly was not if it holds a page without
//! another copy.

use alloc::vec::Vec;

use super::{Discards, Found, Log, MountError, Recovery, SegmentScan, note};
use crate::addr::{Lpn, Ppn, Seg};
use crate::clean::which::VictimChoice;
use crate::ftl::Probe;
use crate::page::config::IMPLAUSIBLE_CLOCK;
use crate::page::discards::is_unmapped;
use crate::page::log::Kind;
use crate::page::rescue::decode_incomplete;
use crate::place::PlaceChoice;

/// What says that something is lost, or may be.
#[derive(Default)]
pub(super) struct Damage {
    /// Records that a page was lost.
    pub(super) losses: Vec<Found>,
    /// There is such a record.
    pub(super) has_losses: bool,
    /// Pages without a copy, although a part of the discard map says that there was one.
    pub(super) vanished: Vec<Lpn>,
    /// Pages of which an uncertain copy has faded in this mount, each with the segment that it lay in, and whether its
    /// rescue may not have ended.
    pub(super) gone: Vec<(Lpn, Seg, bool)>,
    /// A slot that no cut has hit, or a part of the discard map, cannot be read. So a page may have a copy that was not
    /// found, or be discarded, and its segment may not be needed.
    pub(super) misses_copies: bool,
    /// Segments with a slot that cannot be read, whatever it was, in order.
    pub(super) harmed: Vec<Seg>,
    /// Segments with a copy that cannot be read, of a page that has another one, and that was found first.
    pub(super) torn: Vec<Seg>,
    /// Copies that count though they could not be read, nor what they were compared with.
    pub(super) unreadable: Vec<Ppn>,
    /// Slots of which nothing is known, where no erase shows: at most as many copies were not found.
    pub(super) unknown: usize,
}

impl Damage {
    /// True if a slot of a segment cannot be read.
    pub(super) fn is_harmed(&self, seg: Seg) -> bool {
        self.harmed.binary_search(&seg).is_ok()
    }
}

impl<L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> Recovery<'_, L, P, V, W> {
    /// Notes slots that cannot be read. Where an erase has certainly begun, nothing was lost with them: what counted
    /// there has a copy elsewhere.
    pub(super) fn note_gaps(&mut self, seg: Seg, scan: &SegmentScan) -> Result<(), MountError> {
        if scan.gone.is_empty() {
            return Ok(());
        }
        // The lost pages may be the copies because of which a segment was being erased that seems to be needed now.
        self.alloc.log_mut().doubt_sources();
        assert!(self.damage.harmed.last().is_none_or(|&last| last < seg), "a scan takes segments in order");
        note(&mut self.damage.harmed, seg)?;
        if self.alloc.log_mut().shows_erase(seg)? {
            return Ok(());
        }
        if scan.is_void() {
            // Of what can be read there nothing counts either.
            self.damage.unknown += scan.tags.len();
            return Ok(());
        }
        self.damage.unknown += scan.gone.len();
        // A slot that a cut may have hit need not have held anything, nor one of which the erase of a rescue has left
        // nothing. In any other one something was programmed.
        if !scan.may_be_void() && scan.gone.iter().any(|&slot| scan.sealed || slot < scan.suspect_from) {
            self.damage.misses_copies = true;
            self.outcome.gaps.push(seg);
        }
        Ok(())
    }

    /// True if something has decayed. That may be why a segment seems to have been in erasure.
    pub(super) fn misses_records(&self) -> bool {
        self.damage.misses_copies || self.damage.has_losses
    }

    /// True if a rescue that was cut holds a newer copy of a page than the one that counts, because what it was copied
    /// from is gone. Its segment is erased before the older copy is served: if its mark decays, it would count.
    pub(super) fn is_undone_newer(&mut self) -> Result<bool, MountError> {
        // Spec P3.
        for seg in core::mem::take(&mut self.segments.undone) {
            let copies = self.copies_in(seg)?;
            if copies.iter().any(|copy| self.newest.get(copy.lpn.0 as usize).is_some_and(|&seq| seq < copy.seq)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The copies in a void segment: nothing of the first scan was kept. A tag with a good code may still name a page
    /// that this device does not have.
    fn copies_in(&mut self, seg: Seg) -> Result<Vec<Found>, MountError> {
        let scan = self.alloc.log_mut().scan(seg)?.ok_or(MountError::NoRecords)?;
        let mut copies = Vec::new();
        for (slot, tag) in (0..).zip(&scan.tags) {
            if let Some(tag) = tag.filter(|tag| tag.kind == Kind::Data && tag.seq < IMPLAUSIBLE_CLOCK) {
                note(&mut copies, Found::new(&tag, self.alloc.index().slots().page(seg, slot)))?;
            }
        }
        Ok(copies)
    }

    /// Takes copies from void segments for pages whose copy that counts cannot be read. Where header and mark are gone,
    /// a rescue may have ended, and they may be all that is left of its pages. If it had not, they are as new.
    pub(super) fn revive_undone(&mut self, faded: &[Ppn]) -> Result<(), MountError> {
        // Nothing is copied on NOR that may have been in erasure.
        if L::DISCARDS != Discards::Logged {
            return Ok(());
        }
        // Spec P3. Erase counts are guessed later: so far no count says that there is no header.
        for seg in core::mem::take(&mut self.segments.undone) {
            let is_headless = self.alloc.table().erases(seg) == u32::MAX;
            let revived = if is_headless { self.last_copies_in(seg, faded)? } else { Vec::new() };
            if revived.is_empty() {
                self.segments.undone.push(seg);
            }
            for copy in revived {
                note(&mut self.ties, copy)?;
                note(&mut self.doubtful, copy)?;
            }
        }
        Ok(())
    }

    /// The copies in a segment that can be read and are as new as those that count, which cannot.
    fn last_copies_in(&mut self, seg: Seg, faded: &[Ppn]) -> Result<Vec<Found>, MountError> {
        let mut last = Vec::new();
        for copy in self.copies_in(seg)? {
            let Found { lpn, seq, at } = copy;
            let is_as_new = self.newest.get(lpn.0 as usize) == Some(&seq) && self.place_of(lpn).is_some();
            let may_count = is_as_new && !faded.contains(&at);
            if may_count && !self.holds(self.place_of(lpn), lpn)? && self.holds(at, lpn)? {
                note(&mut last, copy)?;
            }
        }
        Ok(last)
    }

    /// Decides which segments with gaps were not being erased.
    pub(super) fn weigh_gaps(&mut self, ties: &[Found]) -> Result<(), MountError> {
        // Spec P13.
        for seg in core::mem::take(&mut self.outcome.gaps) {
            if self.is_needed(seg, ties) || self.is_marked_incomplete(seg)? {
                self.outcome.gaps.push(seg);
            }
        }
        self.outcome.report.incomplete_segments = self.outcome.gaps.len() as u32;
        self.outcome.evidence.extend(&self.outcome.gaps);
        Ok(())
    }

    /// True if the mark of a rescue says that the account of a segment was incomplete. Its pages may have been copied
    /// since, so that it is not needed, and the mount may have been cut before the loss was on record.
    fn is_marked_incomplete(&mut self, seg: Seg) -> Result<bool, MountError> {
        let erases = self.alloc.table().erases(seg);
        for (rescue, _) in self.segments.rescues.clone() {
            if self.reads_rescue_mark(rescue)? && decode_incomplete(self.page).any(|named| named == (seg, erases)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Unmaps the pages that the part of the discard map in `page` calls unmapped. `written` is the part's number.
    pub(super) fn apply_part(&mut self, part: u32, written: u64) {
        for (bit, lpn) in self.discards.covered_by(part).enumerate() {
            // Spec P8.
            let is_older = self.newest[lpn.0 as usize] < written;
            match (is_unmapped(self.page, bit), self.place_of(lpn).is_some()) {
                (true, true) if is_older => {
                    let seg = self.alloc.index_mut().unbind(lpn);
                    self.alloc.index_mut().dead_mut().add(seg);
                }
                // It had a copy when the part was written, and a copy is erased only when something newer lasts.
                (false, false) => self.damage.vanished.push(lpn),
                _ => {}
            }
        }
    }

    /// Lists the pages that are lost.
    pub(super) fn list_losses(&mut self) -> Result<(), MountError> {
        // Spec P7.
        for loss in core::mem::take(&mut self.damage.losses) {
            if self.place_of(loss.lpn) == loss.at {
                self.alloc.index_mut().lost_mut().note(loss.lpn);
            }
        }
        for lpn in core::mem::take(&mut self.damage.vanished) {
            self.alloc.index_mut().lost_mut().note(lpn);
        }
        self.add_gone();
        if self.outcome.report.incomplete_segments > 0 {
            self.add_missing()?;
        }
        self.outcome.unrecorded.sort_unstable();
        self.outcome.unrecorded.dedup();
        self.outcome.report.lost_pages = self.alloc.index().lost().len();
        Ok(())
    }

    /// Adds the host's pages of which an uncertain copy has faded in this mount, if no other copy is left. It was no
    /// suspect, so it was there, and no part of the discard map called it unmapped.
    fn add_gone(&mut self) {
        // Spec P13.
        for (lpn, seg, is_doubtful) in core::mem::take(&mut self.damage.gone) {
            // If nothing has decayed, what counts in a rescue that had ended has another copy, or is one.
            if is_doubtful && !self.misses_records() {
                continue;
            }
            let is_hosts = lpn.0 < self.discards.logical_pages();
            if is_hosts && !self.place_of(lpn).is_some() && self.alloc.index_mut().lost_mut().note(lpn) {
                self.outcome.unrecorded.extend(self.discards.part_for(lpn));
                self.outcome.evidence.push(seg);
            }
        }
    }

    /// Adds the pages without a copy that no part of the discard map calls unmapped.
    fn add_missing(&mut self) -> Result<(), MountError> {
        for part in 0..self.discards.parts() {
            let at = self.place_of(self.discards.page_of(part));
            // This leaves the part in `page`, for the loop below.
            let is_recorded = at.is_some() && self.holds(at, self.discards.page_of(part))?;
            let mut has_new = false;
            for (bit, lpn) in self.discards.covered_by(part).enumerate() {
                let is_explained = is_recorded && is_unmapped(self.page, bit);
                if !self.place_of(lpn).is_some() && !is_explained {
                    has_new |= self.alloc.index_mut().lost_mut().note(lpn);
                }
            }
            // With the part on flash, a later mount knows the loss without this segment.
            if has_new {
                self.outcome.unrecorded.push(part);
            }
        }
        Ok(())
    }
}
