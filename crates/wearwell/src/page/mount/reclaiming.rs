//! What a mount erases before it serves anything.

use alloc::vec::Vec;

use super::{Found, FtlError, Log, MountError, PageFtl, unless_worn_out};
use crate::addr::{Ppn, Seg};
use crate::clean::which::VictimChoice;
use crate::ftl::Probe;
use crate::page::log::Discards;
use crate::page::rescue::{Page as RescuePage, Rescue};
use crate::place::PlaceChoice;

impl<L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> PageFtl<L, P, V, W> {
    /// Takes care of the `trusted` pages that still count where they may fade, since there was no room for copies of
    /// them. They are read before anything is erased, and their segments are to be emptied. `others` has their other
    /// places, which are erased last, or not at all: if the power is cut, what is in memory is gone. False if there is
    /// nothing to move.
    pub(super) fn keep_trusted(&mut self, trusted: &[Found], others: &[Found]) -> Result<bool, MountError> {
        // On NOR a block whose erase had begun has no header, so no copy is uncertain there.
        if L::DISCARDS != Discards::Logged {
            return Ok(false);
        }
        let index = self.cleaner.alloc().index();
        let trusted: Vec<&Found> = trusted.iter().filter(|page| index.place_of(page.lpn) == page.at).collect();
        let others: Vec<&Found> =
            others.iter().filter(|other| trusted.iter().any(|page| page.lpn == other.lpn)).collect();
        if others.is_empty() {
            return Ok(false);
        }
        let torn = self.torn_segments(&trusted)?;
        for other in &others {
            if self.cleaner.alloc_mut().log_mut().holds(other.at, other.lpn, &mut self.scratch)? {
                self.cleaner.note_spare(other, &torn)?;
            }
        }
        // A segment that is erased may hold other pages at these places.
        self.cleaner.alloc_mut().log_mut().doubt_sources();
        // Spec P11.
        for page in trusted {
            self.keep_page(page, &others)?;
            let seg = self.cleaner.alloc().index().slots().segment_of(page.at);
            if self.cleaner.alloc().table().is_candidate(seg) {
                self.cleaner.refresh(seg);
            }
        }
        Ok(true)
    }

    /// The segments of these pages that are erased in part.
    fn torn_segments(&mut self, pages: &[&Found]) -> Result<Vec<Seg>, MountError> {
        let slots = self.cleaner.alloc().index().slots();
        let mut segments: Vec<Seg> = pages.iter().map(|page| slots.segment_of(page.at)).collect();
        segments.sort_unstable();
        segments.dedup();
        let mut torn = Vec::new();
        for seg in segments {
            if self.cleaner.alloc_mut().log_mut().is_half_erased(seg)? {
                torn.push(seg);
            }
        }
        Ok(torn)
    }

    /// Copies these pages, of which those that are `uncertain` are some or none.
    pub(super) fn rescue(
        &mut self,
        pages: &[Found],
        merged: Vec<RescuePage>,
        tied: Vec<Seg>,
        [unsealed, incomplete]: [&[Seg]; 2],
        uncertain: &[Found],
        faded: &mut Vec<Ppn>,
    ) -> Result<u32, MountError> {
        let (alloc, discards) = self.cleaner.parts_mut();
        Rescue::new(alloc, discards, tied, unsealed, incomplete, uncertain).run(pages, merged, faded)
    }

    /// Moves the trusted pages, as far as there is room.
    pub(super) fn move_trusted(&mut self) -> Result<(), MountError> {
        let is_writable = self.cleaner.alloc().writable();
        let moved = is_writable.and_then(|()| self.cleaner.retire_failing());
        self.cleaner.drop_kept();
        unless_worn_out(moved)
    }

    /// Reads a page into memory, from wherever it can be read.
    fn keep_page(&mut self, page: &Found, others: &[&Found]) -> Result<(), MountError> {
        let &Found { lpn, seq, at } = page;
        // What is read of a lost page is no data.
        if self.cleaner.alloc().index().lost().contains(lpn) {
            return Ok(());
        }
        let places = others.iter().filter(|other| other.lpn == lpn).map(|other| other.at);
        for at in [at].into_iter().chain(places) {
            if self.cleaner.alloc_mut().log_mut().holds(at, lpn, &mut self.scratch)? {
                self.cleaner.keep(lpn, seq, &self.scratch);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Erases empty segments: as many as are needed, or all if there are many copies of pages or a rescue may have
    /// emptied some. While no part of the discard map is dirty, this needs no slot for it. The `evidence` of lost pages
    /// is not erased before the parts that record the loss are on flash. If the host could open no segment then, cleans
    /// until it can: what cuts and failures take between mounts must not add up.
    pub(super) fn reclaim_some(
        &mut self,
        is_settled: bool,
        evidence: &[Seg],
        unrecorded: &[u32],
    ) -> Result<(), MountError> {
        // Spec P13. Beyond the room for the record nothing is erased yet: it may show the loss as well.
        self.reclaim_but(evidence, is_settled || !unrecorded.is_empty())?;
        // The rescue may have copied what the evidence was.
        self.write_parts(unrecorded)?;
        self.reclaim_but(&[], is_settled)?;
        unless_worn_out(self.cleaner.gain_segment())
    }

    /// Erases empty segments that are not among the `kept`: as many as are needed, or all unless the mount
    /// `is_settled`.
    fn reclaim_but(&mut self, kept: &[Seg], is_settled: bool) -> Result<(), MountError> {
        let cleaner = &mut self.cleaner;
        while cleaner.alloc().writable().is_ok() && (!is_settled || cleaner.alloc().is_urgent()) {
            match cleaner.reclaim_one_but(kept) {
                Ok(true) => {}
                // A device that is too worn for this still serves what it holds.
                Ok(false) | Err(FtlError::WornOut { .. }) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
