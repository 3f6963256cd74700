//! Copies with equal numbers: an original, and copies of it by cleaning or a rescue.
//!
//! One of them may lie in a block whose erase had begun when the power failed. Such a block may read well for now and
//! fade later, and nothing in it shows this for certain. But a segment is only erased when each page that counts in it
//! has a copy elsewhere. So a segment is *needed*, and was not being erased, if it holds a page that counts and has no
//! other copy. A copy in a needed segment lasts; unless that segment may be the victim of a cleaning, and something has
//! decayed, for that may be the other copy. A page without such a copy is copied once more, as if a cut had hit it.

use alloc::vec::Vec;

use super::{Found, Log, MountError, Recovery, note};
use crate::addr::{Lpn, Ppn, Seg};
use crate::clean::which::VictimChoice;
use crate::ftl::Probe;
use crate::page::rescue::decode_older;
use crate::place::PlaceChoice;
use crate::segments::SegState;

impl<L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> Recovery<'_, L, P, V, W> {
    /// Among copies with equal numbers, keeps one that can be read.
    pub(super) fn weigh_ties(&mut self) -> Result<(), MountError> {
        let mut ties = core::mem::take(&mut self.ties);
        // Of others a newer copy was found since.
        ties.retain(|tie| self.newest[tie.lpn.0 as usize] == tie.seq);
        for tie in &mut ties {
            let current = self.place_of(tie.lpn);
            if !self.holds(current, tie.lpn)? {
                // Spec P14: of the other one, too, a summary may be all that an erase has left.
                self.alloc.log_mut().doubt_sources();
                self.alloc.index_mut().repoint(tie.lpn, tie.at);
                // Spec P11: if this one cannot be read either, it has not faded while it was copied.
                if !self.holds(tie.at, tie.lpn)? {
                    note(&mut self.damage.unreadable, tie.at)?;
                }
                // The unreadable copy stays a tie. Without it the page would seem to be alone in its segment.
                tie.at = current;
                let torn = self.segment_of(current);
                note(&mut self.damage.torn, torn)?;
            }
        }
        self.ties = ties;
        Ok(())
    }

    /// Decides between copies with equal numbers. Returns the pages without a copy that is certain to last.
    pub(super) fn settle_ties(&mut self, suspects: &[Found]) -> Result<Vec<Found>, MountError> {
        let is_suspect = |at: Ppn| suspects.iter().any(|s| s.at == at);
        let mut ties = core::mem::take(&mut self.ties);
        // Of what was discarded no copy has to last.
        ties.retain(|tie| self.place_of(tie.lpn).is_some());
        let mut others = ties.clone();
        others.extend(ties.iter().map(|tie| Found { at: self.place_of(tie.lpn), ..*tie }));
        // This is first, while every tie is known: without one of them its page would seem to be alone, and the segment
        // to have lost pages.
        self.weigh_gaps(&ties)?;
        let doomed = self.leave_doomed(&mut ties, is_suspect)?;
        self.drop_rescued(&mut ties)?;
        let mut copies = ties.clone();
        copies.extend(ties.iter().map(|tie| Found { at: self.place_of(tie.lpn), ..*tie }));
        // Suspect copies count here like others: only a page without any other copy shows that no erase had begun.
        let needed = self.certain_segments(&ties)?;
        // A suspect page may be readable for the last time, and so may one in erasure (Spec P9).
        let is_doomed = |at: Ppn| doomed.contains(&self.segment_of(at));
        ties.retain(|tie| !is_suspect(tie.at) && (!is_doomed(tie.at) || is_doomed(self.place_of(tie.lpn))));
        self.vacate_segments(ties)?;
        let is_needed = |segment: Seg| needed.binary_search(&segment).is_ok();
        for copy in copies.iter().filter(|copy| !is_suspect(copy.at)) {
            // What lies in a segment that was not being erased is certain to last, so it counts if it can be read. Spec
            // P5: of two that seem to be needed one may have been in erasure, if the copy of its lone page has decayed.
            let (seg, current) = (self.segment_of(copy.at), self.segment_of(self.place_of(copy.lpn)));
            let is_better = is_needed(seg) && (!is_needed(current) || self.is_opened_later(seg, current));
            if is_better && self.holds(copy.at, copy.lpn)? {
                self.alloc.index_mut().repoint(copy.lpn, copy.at);
            }
        }
        // Spec P11: those that are left are uncertain.
        copies.retain(|copy| !is_needed(self.segment_of(self.place_of(copy.lpn))));
        // Spec P3.
        copies.append(&mut self.doubtful);
        self.add_exposed(&mut copies, &others)?;
        self.outcome.tied = self.segments_of(copies.iter().map(|copy| copy.at));
        // Only the copies that count are copied. `tied` has the segments of all.
        copies.retain(|copy| self.place_of(copy.lpn) == copy.at && !self.damage.unreadable.contains(&copy.at));
        copies.sort_unstable_by_key(|copy| copy.lpn);
        copies.dedup_by_key(|copy| copy.lpn);
        // Spec P17: where nothing can be copied, they are all that is left if the one that counts fades.
        let is_due =
            |lpn: Lpn| is_suspect(self.place_of(lpn)) || copies.binary_search_by_key(&lpn, |copy| copy.lpn).is_ok();
        others.retain(|other| is_due(other.lpn) && self.place_of(other.lpn) != other.at);
        self.outcome.passed_over.append(&mut others);
        Ok(copies)
    }

    /// Adds the pages that count in segments in which an erase shows. The copies for which these were erased have
    /// decayed, and what is left may fade. To look for that takes a read for each page: it is done where the header is
    /// gone; and if something could not be read, where the summary is, or where so few pages are without another copy
    /// in `ties` that these may have been what cannot be read. Where the header is gone, an erase need not show.
    fn add_exposed(&mut self, copies: &mut Vec<Found>, ties: &[Found]) -> Result<(), MountError> {
        // Spec P11. Erase counts are guessed later: so far no count says that there is no header.
        let table = self.alloc.table();
        let is_superseded = |seg: Seg| (1..=self.damage.unknown).contains(&self.lone_pages(seg, ties));
        let is_unread = |seg: Seg| {
            self.alloc.log().doubts_sources() && (self.outcome.unsealed.contains(&seg) || is_superseded(seg))
        };
        let is_doubted = |seg: Seg| table.erases(seg) == u32::MAX || self.damage.torn.contains(&seg) || is_unread(seg);
        let is_exposed = |seg: &Seg| table.valid(*seg) > 0 && is_doubted(*seg);
        let exposed: Vec<Seg> = table.all().filter(is_exposed).collect();
        for seg in exposed {
            let shows = self.alloc.log_mut().shows_erase(seg)? || self.has_lost_summary(seg)?;
            let is_headless = self.alloc.table().erases(seg) == u32::MAX;
            for (lpn, at) in self.alloc.index().live_in(seg) {
                // If the header alone has decayed, a page that cannot be read is lost, and has not faded.
                if shows || is_headless && self.holds(at, lpn)? {
                    note(copies, Found { lpn, seq: self.newest[lpn.0 as usize], at })?;
                }
            }
        }
        Ok(())
    }

    /// True if the summary of a segment could be read in this mount, and can no longer: what fades was cut.
    fn has_lost_summary(&mut self, seg: Seg) -> Result<bool, MountError> {
        // Spec P11.
        let was_sealed = !self.outcome.unsealed.contains(&seg);
        Ok(was_sealed && !self.alloc.log_mut().scan(seg)?.ok_or(MountError::NoRecords)?.sealed)
    }

    /// Takes the copies that a rescue has made, and drops those that are older.
    fn drop_rescued(&mut self, ties: &mut Vec<Found>) -> Result<(), MountError> {
        // Spec P11: a copy made by a rescue is never erased because of what it was made from.
        for tie in &mut *ties {
            let current = self.place_of(tie.lpn);
            if self.is_rescued(tie.at, self.segment_of(current))? && self.holds(tie.at, tie.lpn)? {
                self.alloc.index_mut().repoint(tie.lpn, tie.at);
                tie.at = current;
            }
        }
        for tie in core::mem::take(ties) {
            if !self.is_rescued(self.place_of(tie.lpn), self.segment_of(tie.at))? {
                ties.push(tie);
            }
        }
        Ok(())
    }

    /// True if a rescue has made the copy, and the mark of it names the segment `older`.
    fn is_rescued(&mut self, at: Ppn, older: Seg) -> Result<bool, MountError> {
        let seg = self.segment_of(at);
        let mark = self.alloc.index().slots().page(seg, 0);
        // The mark says where its copies end. What lies behind them is padding, or was written later.
        if !self.segments.rescues.iter().any(|&(rescue, end)| rescue == seg && at.0 - mark.0 < end) {
            return Ok(false);
        }
        // With another erase count the segment has been erased since, and what it holds now is not older.
        let older = (older, self.alloc.table().erases(older));
        Ok(self.reads_rescue_mark(seg)? && decode_older(self.page).any(|named| named == older))
    }

    /// Points the map away from pages in segments that are erased in part, if there is another copy, and drops the
    /// copies there. Returns these segments. To know it of one takes a read for each page, so needed ones are left out:
    /// a mount would read more and more of them. If a copy there cannot be read, one is looked at, too: what it is
    /// needed for may be the page whose other copy has decayed. Where a record is gone, what seems to be needed may not
    /// be; and that record may be what makes a segment look as if it was being erased, so that no suspect copy takes
    /// the place of one there.
    fn leave_doomed(
        &mut self,
        ties: &mut Vec<Found>,
        is_suspect: impl Fn(Ppn) -> bool,
    ) -> Result<Vec<Seg>, MountError> {
        let mut doomed = Vec::new();
        for seg in self.segments_of(ties.iter().flat_map(|tie| [tie.at, self.place_of(tie.lpn)])) {
            // Spec P5.
            let is_needed = !self.damage.misses_copies && self.is_needed(seg, ties);
            let is_doomed = if is_needed {
                self.damage.torn.contains(&seg) && self.alloc.log_mut().shows_erase(seg)?
            } else {
                self.alloc.log_mut().is_half_erased(seg)?
            };
            if is_doomed {
                doomed.push(seg);
            }
        }
        for tie in &mut *ties {
            let current = self.place_of(tie.lpn);
            let is_better = doomed.contains(&self.segment_of(current)) && !doomed.contains(&self.segment_of(tie.at));
            let is_doubted = self.misses_records() && is_suspect(tie.at);
            if is_better && !is_doubted && self.holds(tie.at, tie.lpn)? {
                self.alloc.index_mut().repoint(tie.lpn, tie.at);
                tie.at = current;
            }
        }
        // Decay may have made a segment look so: a header that has decayed is enough. Then the other copies of its
        // pages are not certain because of it. Without a segment for copies of both, an erase is the likelier cause.
        let is_certain = !self.misses_records() && !self.has_free();
        let mut dropped = Vec::with_capacity(doomed.len());
        for &seg in &doomed {
            if is_certain || self.alloc.log_mut().shows_erase(seg)? {
                dropped.push(seg);
            }
        }
        let is_dropped = |at: Ppn| dropped.contains(&self.segment_of(at));
        let is_doomed_at = |at: Ppn| doomed.contains(&self.segment_of(at));
        // If both seem to be in erasure, neither is certain.
        let is_doomed = |tie: &Found| is_dropped(tie.at) && !is_doomed_at(self.place_of(tie.lpn));
        // Spec P17: without a place for copies of the suspect ones, these may be all that is left.
        let others = ties.iter().filter(|tie| is_doomed(tie) && is_suspect(self.place_of(tie.lpn)));
        let others: Vec<Found> = others.copied().collect();
        ties.retain(|tie| !is_doomed(tie));
        self.outcome.passed_over = others;
        Ok(doomed)
    }

    /// True if a segment was opened later than `other`, as far as that is known of both. Then `other` is mostly the
    /// victim, and this one what its pages were copied to.
    fn is_opened_later(&self, seg: Seg, other: Seg) -> bool {
        let table = self.alloc.table();
        table.opened(seg) != u64::MAX && table.opened(seg) > table.opened(other)
    }

    /// True if a segment is empty.
    fn has_free(&self) -> bool {
        let table = self.alloc.table();
        table.all().any(|seg| matches!(table.state(seg), SegState::Free | SegState::Suspect))
    }

    /// The segments with tied pages that also hold a page without another copy.
    fn needed_segments(&self, ties: &[Found]) -> Vec<Seg> {
        let mut segments = self.segments_of(ties.iter().flat_map(|tie| [tie.at, self.place_of(tie.lpn)]));
        segments.retain(|&seg| self.is_needed(seg, ties));
        segments
    }

    /// The needed segments that last. Of a page that is alone in another one the other copy may have decayed, where
    /// that page cannot be read, or something in a segment that was opened later cannot. If no cut can have hit what
    /// is gone, such a segment may have been in erasure though it looks whole. Otherwise it is looked at, which takes
    /// a read for each page: a cut leaves mostly something that cannot be read, and copies for each such segment would
    /// be many.
    fn certain_segments(&mut self, ties: &[Found]) -> Result<Vec<Seg>, MountError> {
        let mut certain = Vec::new();
        for seg in self.needed_segments(ties) {
            // Spec P5: such a segment is in doubt.
            let may_be_victim = self.may_be_victim(seg) || !self.holds_lone_page(seg, ties)?;
            if !(may_be_victim && (self.damage.misses_copies || self.alloc.log_mut().is_half_erased(seg)?)) {
                certain.push(seg);
            }
        }
        Ok(certain)
    }

    /// True if a copy here cannot be read, or something in a segment that was not opened before this one, as far as
    /// that is known. That may be the other copy of any page here, and nothing else there has to be of a page that is
    /// here.
    fn may_be_victim(&self, seg: Seg) -> bool {
        let opened = |seg: Seg| self.alloc.table().opened(seg);
        // One that is still open has the greatest stamp here.
        self.damage.torn.contains(&seg)
            || self.damage.harmed.iter().any(|&other| other != seg && opened(other) >= opened(seg))
    }

    /// True if the first page in a segment without another copy in `ties` can be read.
    fn holds_lone_page(&mut self, seg: Seg, ties: &[Found]) -> Result<bool, MountError> {
        let is_lone = |&(lpn, _): &(Lpn, Ppn)| ties.iter().all(|tie| tie.lpn != lpn);
        let lone = self.alloc.index().live_in(seg).into_iter().find(is_lone);
        lone.map_or(Ok(false), |(lpn, at)| self.holds(at, lpn))
    }

    /// True if a segment holds a page without another copy in `ties`.
    pub(super) fn is_needed(&self, seg: Seg, ties: &[Found]) -> bool {
        self.lone_pages(seg, ties) > 0
    }

    /// The pages of a segment without another copy in `ties`.
    fn lone_pages(&self, seg: Seg, ties: &[Found]) -> usize {
        let here = ties.iter().filter(|tie| self.segment_of(self.place_of(tie.lpn)) == seg);
        let mut tied: Vec<_> = here.map(|tie| tie.lpn).collect();
        tied.sort_unstable();
        // A page of which there are three copies is in the list twice.
        tied.dedup();
        self.alloc.table().valid(seg) as usize - tied.len()
    }

    /// If everything in a segment can also be read elsewhere, points the map to those copies, so that the segment
    /// becomes free. Open segments come first: cleaning that is cut again and again must not use up the free ones. Then
    /// come victims of which a cut erase has left a part.
    fn vacate_segments(&mut self, mut ties: Vec<Found>) -> Result<(), MountError> {
        let others = self.segments_of(ties.iter().map(|tie| self.place_of(tie.lpn)));
        for seg in core::mem::take(&mut self.segments.open).into_iter().chain(others) {
            let is_vacated = self.vacate(seg, &mut ties)?;
            self.outcome.report.undone_segments += u32::from(is_vacated);
        }
        Ok(())
    }

    /// The segments that pages lie in, each once.
    fn segments_of(&self, pages: impl Iterator<Item = Ppn>) -> Vec<Seg> {
        let mut segments: Vec<Seg> = pages.map(|at| self.segment_of(at)).collect();
        segments.sort_unstable();
        segments.dedup();
        segments
    }

    /// Points the map away from a segment, if `ties` have a readable copy elsewhere of each of its pages.
    fn vacate(&mut self, seg: Seg, ties: &mut Vec<Found>) -> Result<bool, MountError> {
        let is_held = |tie: &Found| self.segment_of(self.place_of(tie.lpn)) == seg;
        let is_elsewhere = |tie: &Found| self.segment_of(tie.at) != seg;
        let mut copies: Vec<Found> = ties.iter().copied().filter(|t| is_held(t) && is_elsewhere(t)).collect();
        copies.sort_unstable_by_key(|t| (t.lpn, t.at));
        // A page may have several copies elsewhere. It needs one.
        copies.dedup_by_key(|t| t.lpn);
        let valid = self.alloc.table().valid(seg);
        // Spec P9.
        if valid == 0 || copies.len() as u32 != valid {
            return Ok(false);
        }
        // All are read before the map changes: a segment that is left in part is not free.
        for copy in &copies {
            if !self.holds(copy.at, copy.lpn)? {
                return Ok(false);
            }
        }
        copies.iter().for_each(|&copy| self.alloc.index_mut().repoint(copy.lpn, copy.at));
        // What lies here will be erased, and a copy that counts now is no tie any more.
        ties.retain(|t| self.segment_of(t.at) != seg && self.place_of(t.lpn) != t.at);
        Ok(true)
    }
}
