//! Rescue: pages that a power cut may have hit are copied at the next mount, before they are served.
//!
//! A suspect page may be readable for the last time. Or an older copy may be the one that a flush promised. So a rescue
//! takes effect as a whole or not at all:
//!
//! - It has a segment of its own: a mark that says where the copies end, the copies, and padding until no later cut can
//!   make them suspect.
//! - The map changes when all of this is on flash. A rescue that is cut before does not count: the next mount
//!   [ignores](super::log::SegmentScan::is_void) its segment and begins again.
//! - Until then no segment is erased that holds the last certain copy of a page. The segment of an unfinished rescue
//!   may be erased, so cut mounts use up no free segment.
//! - A page that fades before it is copied ends the attempt, like a cut. The next attempt does without the page.
//! - A rescue that takes the last free segment, or one of those that are held back, also empties others, as far as
//!   their pages fit. If the power is cut right after that, the next mount has these segments to erase.

mod mark;

use alloc::vec::Vec;

use wearwell_flash::ErrorKind;

use super::allocator::Allocator;
use super::discards::DiscardMap;
use super::found::{Found, MountError, note, unless_worn_out};
use super::log::{Discards, Kind, Log, Source};
use super::map::FlatMap;
use crate::addr::{Class, Lpn, Ppn, Seg};
use crate::clean::which::VictimChoice;
use crate::ftl::{FtlError, Probe};
use crate::place::PlaceChoice;

use mark::encode_older;
pub(super) use mark::{decode_incomplete, decode_older};

/// The class of rescued pages.
const CLASS: Class = Class(0);

/// Segments without a summary that a mount leaves as they are: of each it has to read every page.
const MOST_UNSEALED: usize = 4;

/// A page that is to be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Page {
    lpn: Lpn,
    at: Ppn,
    /// True if a cut may have hit it; otherwise it is copied to empty a segment.
    suspect: bool,
    /// True if it may have been in erasure.
    uncertain: bool,
}

/// A copy on flash of a page that is rescued.
#[derive(Debug, Clone, Copy)]
struct Copy {
    found: Found,
    /// True if a cut may have hit it: it is in a group that had not ended.
    torn: bool,
    /// True if a cut may have hit it or its segment, so that it is not certain to last.
    suspect: bool,
    /// True if its segment may have been in erasure.
    doubtful: bool,
    /// True if its segment certainly was. Then a certain copy was elsewhere.
    doomed: bool,
}

impl Copy {
    /// True if this copy is not needed as long as `other` is there.
    fn yields_to(&self, other: &Self) -> bool {
        // Spec P11: what was being erased also yields to a suspect copy.
        let certain = !other.suspect || self.doomed;
        certain && !other.doubtful && other.found.lpn == self.found.lpn && other.found.seq >= self.found.seq
    }
}

/// A rescue in progress. No part of the discard map is dirty yet, so an erase needs no slot for it.
pub(super) struct Rescue<'a, L, P, V: VictimChoice, W: PlaceChoice> {
    alloc: &'a mut Allocator<L, P, FlatMap, V, W>,
    discards: &'a DiscardMap,
    /// Segments with a copy of an uncertain page. Its marks name them.
    tied: Vec<Seg>,
    /// Segments without a summary. Its marks name them, too.
    unsealed: &'a [Seg],
    /// Segments whose account is incomplete. Its marks say so: behind a rescue of their pages nothing else does.
    incomplete: &'a [Seg],
    /// The uncertain pages, whether there is room for copies of them or not.
    uncertain: &'a [Found],
}

impl<'a, L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> Rescue<'a, L, P, V, W> {
    pub(super) fn new(
        alloc: &'a mut Allocator<L, P, FlatMap, V, W>,
        discards: &'a DiscardMap,
        tied: Vec<Seg>,
        unsealed: &'a [Seg],
        incomplete: &'a [Seg],
        uncertain: &'a [Found],
    ) -> Self {
        assert!(discards.dirty_parts() == 0, "a mount has discarded nothing");
        Self { alloc, discards, tied, unsealed, incomplete, uncertain }
    }

    fn place_of(&self, lpn: Lpn) -> Ppn {
        self.alloc.index().place_of(lpn)
    }

    fn segment_of(&self, at: Ppn) -> Seg {
        self.alloc.index().slots().segment_of(at)
    }

    /// The `uncertain` pages, none of which is suspect, of as many segments as there is room for copies of, those with
    /// the fewest pages first; and those that are left. On NOR all are: a block whose erase had begun has no header.
    /// Behind them so many `parts` of the discard map have to be written.
    pub(super) fn affordable(
        &mut self,
        uncertain: &[Found],
        suspects: &[Found],
        parts: usize,
    ) -> Result<(Vec<Found>, Vec<Found>), MountError> {
        let (mut affordable, mut left) = (Vec::new(), uncertain.to_vec());
        if L::DISCARDS != Discards::Logged || left.is_empty() {
            return Ok((affordable, left));
        }
        if self.has_room(suspects, uncertain, parts)? {
            return Ok((left, affordable));
        }
        // Spec P11.
        loop {
            let count = |seg: Seg| left.iter().filter(|page| self.segment_of(page.at) == seg).count();
            let segments = left.iter().map(|page| self.segment_of(page.at));
            let Some((_, seg)) = segments.map(|seg| (count(seg), seg)).min() else { return Ok((affordable, left)) };
            let before = affordable.len();
            affordable.extend(left.iter().filter(|page| self.segment_of(page.at) == seg));
            if !self.has_room(suspects, &affordable, parts)? {
                affordable.truncate(before);
                return Ok((affordable, left));
            }
            left.retain(|page| self.segment_of(page.at) != seg);
        }
    }

    /// True if all can be copied, and so many `parts` be written. The uncertain ones come first. They may take the last
    /// free segment if that leaves one of theirs empty, which may be erased for the others.
    fn has_room(&mut self, suspects: &[Found], uncertain: &[Found], parts: usize) -> Result<bool, MountError> {
        let due: Vec<Page> = suspects.iter().filter_map(|found| self.due(found)).collect();
        let mut all: Vec<Page> = uncertain.iter().filter_map(|found| self.due(found)).collect();
        let (first, most) = (all.len(), self.most_copies());
        // What seems to be needed holds other pages, too, and stays.
        let emptied: Vec<Seg> = self.emptied(&all).collect();
        all.extend(&due);
        let room = match self.alloc.free().total() as usize {
            // The rescue would begin with an erase.
            0 => usize::from(self.find_expendable(&all, &self.empties())?.is_some()),
            free => free,
        };
        Ok(match (all.len() + parts).div_ceil(most) {
            // A segment is missing: the first copies leave one empty, which may be erased for the others.
            needed if needed == room + 1 && room > 0 && first <= most => {
                self.find_expendable(&due, &emptied)?.is_some()
            }
            needed => needed <= room,
        })
    }

    /// A page that a cut may have hit, if the map points to it.
    fn due(&self, found: &Found) -> Option<Page> {
        (self.place_of(found.lpn) == found.at).then_some(Page {
            lpn: found.lpn,
            at: found.at,
            suspect: true,
            uncertain: false,
        })
    }

    /// The pages to be copied along with the `suspects` so that none of the `stale` segments and no more than a few
    /// unsealed ones are left, where what is held back is not needed for that: sessions that end in a cut would leave
    /// more and more of them.
    pub(super) fn merged(&self, suspects: &[Found], stale: &[Seg]) -> Vec<Page> {
        let mut merged = Vec::new();
        let table = self.alloc.table();
        let mut unsealed = self.unsealed.to_vec();
        // An empty one is erased before it is used, and needs no copies.
        unsealed.retain(|&seg| table.valid(seg) > 0);
        if L::DISCARDS != Discards::Logged {
            return merged;
        }
        if unsealed.len() <= MOST_UNSEALED {
            unsealed.retain(|seg| stale.contains(seg));
        }
        // A stable sort would take 4 KiB of stack.
        unsealed.sort_unstable_by_key(|&seg| (table.valid(seg), seg));
        let due = suspects.iter().filter(|s| self.place_of(s.lpn) == s.at).count();
        for seg in unsealed {
            let pages = due + merged.len() + table.valid(seg) as usize;
            if pages.div_ceil(self.most_copies()) > self.alloc.free().usable() as usize {
                // Those behind it hold more pages, or as many, so they fit no better.
                break;
            }
            let live = self.live_in(seg).into_iter().filter(|page| suspects.iter().all(|s| s.at != page.at));
            merged.extend(live);
        }
        merged
    }

    /// The pages that a segment holds.
    fn live_in(&self, seg: Seg) -> Vec<Page> {
        let live = self.alloc.index().live_in(seg).into_iter();
        let is_uncertain = |at: Ppn| self.uncertain.iter().any(|page| page.at == at);
        live.map(|(lpn, at)| Page { lpn, at, suspect: false, uncertain: is_uncertain(at) }).collect()
    }

    /// As many as fit behind the mark. So the pages of a segment that cleaning gained something from always fit.
    fn most_copies(&self) -> usize {
        (self.alloc.shape().data_slots - self.first_copy()) as usize
    }

    /// Copies the suspect pages that the map points to, and those that are `merged`. Returns the number of the former.
    /// Fails if one of them can no longer be read, and adds it to `faded`.
    pub(super) fn run(
        &mut self,
        suspects: &[Found],
        merged: Vec<Page>,
        faded: &mut Vec<Ppn>,
    ) -> Result<u32, MountError> {
        let mut rest: Vec<Page> = suspects.iter().filter_map(|suspect| self.due(suspect)).collect();
        let rescued_pages = rest.len() as u32;
        let is_merging = !merged.is_empty();
        rest.extend(merged);
        // With nothing to rescue the mount would clean, and open the last free segment for it. If the erase of what
        // that empties were cut, there would be no place to copy the last copy to.
        if rest.is_empty() && self.is_at_last() {
            self.add_victims(&mut rest, &[]);
        }
        self.copy_in_batches(rest, is_merging, faded)?;
        // The record of a loss takes the last free segment, too, and what shows the loss stays until then. If that
        // program were cut, there would be no place to copy the record to.
        if !self.incomplete.is_empty() && self.is_at_last() {
            let mut more = Vec::new();
            self.add_victims(&mut more, &[]);
            unless_worn_out(self.copy_in_batches(more, false, faded))?;
        }
        Ok(rescued_pages)
    }

    /// Copies these pages, as many at a time as a segment takes, and with them those of others that it empties.
    fn copy_in_batches(
        &mut self,
        mut rest: Vec<Page>,
        is_merging: bool,
        faded: &mut Vec<Ppn>,
    ) -> Result<(), MountError> {
        while !rest.is_empty() {
            // An empty segment may hold an older copy that counts if the rescue is cut. Only one without such a copy is
            // erased for the rescue. If that erase fails, its segment is retired, and another one is tried.
            while self.alloc.free().total() == 0 && self.erase_expendable(&rest)? {}
            let mut batch = rest[..self.most_copies().min(rest.len())].to_vec();
            // Where hardly more segments are free than are held back, the rescue has to empty others. Otherwise mounts
            // that are cut one after another, and failures in them, would use up all of them.
            self.add_victims(&mut batch, &rest);
            // With no other free segment this fails, so the loop ends.
            if !self.open_for_rescue()? {
                continue;
            }
            match self.copy_all(&batch, faded) {
                Ok(slots) => {
                    self.bind_rescued(&batch, &slots)?;
                    // What took in unsealed segments must not become one itself.
                    if is_merging {
                        self.alloc.seal_open()?;
                    }
                }
                // The block was given up. The map has none of the copies, so all of the batch that has to be copied is
                // copied again.
                Err(ErrorKind::ProgramFailed) => rest.retain(|page| page.suspect),
                Err(error) => return Err(error.into()),
            }
            // A victim may have held some of the remaining pages.
            rest.retain(|page| self.place_of(page.lpn) == page.at);
        }
        Ok(())
    }

    /// Adds the other valid pages of the segments that become free with the fewest additional pages: as long as they
    /// fit, and until more are free than are held back. Some of the pages may be among the `suspects`.
    fn add_victims(&self, pages: &mut Vec<Page>, suspects: &[Page]) {
        let emptied = self.emptied(pages).filter(|&seg| !self.shows_loss(seg)).count();
        for _ in emptied..self.wanted_victims() {
            let more = self.candidates(pages).filter(|&(others, _)| others > 0).min();
            let Some((_, victim)) = more.filter(|(others, _)| pages.len() + others <= self.most_copies()) else {
                return;
            };
            for page in self.live_in(victim) {
                if pages.iter().all(|known| known.at != page.at) {
                    // A suspect page stays one. If it cannot be read, it is not lost, because an older copy may count.
                    pages.push(suspects.iter().find(|suspect| suspect.at == page.at).copied().unwrap_or(page));
                }
            }
        }
    }

    /// The segments that hold nothing but these pages.
    fn emptied(&self, pages: &[Page]) -> impl Iterator<Item = Seg> + use<'_, 'a, L, P, V, W> {
        self.candidates(pages).filter(|&(others, _)| others == 0).map(|(_, seg)| seg)
    }

    /// The segments that cleaning may choose, each with the number of its valid pages that are not among these.
    fn candidates(&self, pages: &[Page]) -> impl Iterator<Item = (usize, Seg)> + use<'_, 'a, L, P, V, W> {
        let mut of_pages: Vec<Seg> = pages.iter().map(|page| self.segment_of(page.at)).collect();
        of_pages.sort_unstable();
        let table = self.alloc.table();
        table.all().filter(|&seg| table.is_candidate(seg)).map(move |seg| {
            // Two searches in the sorted list count the pages of a segment.
            let among = of_pages.partition_point(|&of| of <= seg) - of_pages.partition_point(|&of| of < seg);
            (table.valid(seg) as usize - among, seg)
        })
    }

    /// Segments that a rescue has to empty, which takes a free one itself, so that more are free than are held back.
    fn wanted_victims(&self) -> usize {
        let free = self.alloc.free();
        // One of the two is the segment that the rescue takes.
        (free.held() + 2).saturating_sub(free.total()) as usize
    }

    /// True if a segment shows that pages are lost. It stays until that is on record, which takes a free segment.
    fn shows_loss(&self, seg: Seg) -> bool {
        self.incomplete.contains(&seg)
    }

    /// True if there are free or empty segments, and all of them are held back. On NOR what is copied is never suspect.
    fn is_at_last(&self) -> bool {
        // Spec P11.
        let empty = self.alloc.pool().empties().filter(|&seg| !self.shows_loss(seg)).count();
        let free = self.alloc.free().total() + empty as u32;
        L::DISCARDS == Discards::Logged && free > 0 && free <= self.alloc.free().held()
    }

    /// Opens a segment for the rescue alone. False if the segment turned out bad.
    fn open_for_rescue(&mut self) -> Result<bool, FtlError> {
        // A batch before this one may have left its segment open. A mark counts only in the first slot of a segment.
        if self.alloc.open_segment(CLASS).is_open() {
            self.alloc.abandon(CLASS);
        }
        self.alloc.open_for(CLASS)
    }

    /// The first slot behind the mark whose program cannot damage the mark.
    fn first_copy(&self) -> u32 {
        if self.alloc.log().has_tag_pages() { 1 } else { 1 + self.alloc.log().padding(Seg(0), 1) }
    }

    /// Programs mark and copies, and behind them padding, or the summary if the segment is full. Returns the places of
    /// the copies.
    fn copy_all(&mut self, pages: &[Page], faded: &mut Vec<Ppn>) -> Result<Vec<(Seg, u32)>, ErrorKind> {
        // With tag pages among them, the copies are not in consecutive slots.
        let end = self.alloc.log().slot_of(self.first_copy() + pages.len() as u32 - 1) + 1;
        let older = self.incomplete.iter().chain(&self.tied).chain(self.unsealed);
        let older: Vec<_> = older.map(|&seg| (seg, self.alloc.table().erases(seg))).collect();
        let (incomplete, page_bytes) = (self.incomplete.len(), self.alloc.shape().page_bytes);
        let named = if L::STORES { encode_older(&older, incomplete, page_bytes) } else { Vec::new() };
        let mark = Source::Host(&named, self.alloc.next_seq());
        // The mark is first: without it, copies would count one by one, and not all or none (Spec P3).
        self.alloc.append(Lpn(end), CLASS, Kind::RescueMark, mark, Ppn::NONE)?;
        // Where pages share cells, a copy that is cut must not take the mark with it.
        while self.alloc.open_segment(CLASS).next < self.first_copy() {
            self.alloc.append_pad(CLASS)?;
        }
        let slots = pages.iter().map(|page| self.copy_one(page, faded)).collect::<Result<_, _>>()?;
        // Until no later cut can make a copy suspect.
        while self.alloc.has_room(CLASS) && self.alloc.suspect_from(CLASS) < end {
            self.alloc.append_pad(CLASS)?;
        }
        self.alloc.end_group_if_full(CLASS)?;
        // If the copies fill the segment, the summary shows that the rescue has ended (Spec P3).
        self.alloc.end_if_full(CLASS)?;
        Ok(slots)
    }

    /// Copies a page. If a page that is not suspect can no longer be read, it is recorded as lost. If a suspect page
    /// can no longer be read, the attempt fails, because an older copy may count then.
    fn copy_one(&mut self, page: &Page, faded: &mut Vec<Ppn>) -> Result<(Seg, u32), ErrorKind> {
        let copied = self.alloc.append(page.lpn, CLASS, Kind::Data, Source::Copy(page.at), page.at);
        let copied = match copied {
            Err(ErrorKind::Uncorrectable) if page.suspect || page.uncertain => {
                faded.push(page.at);
                Err(ErrorKind::Uncorrectable)
            }
            Err(ErrorKind::Uncorrectable) => {
                // The record is newer than the page, so it counts even if that can be read again.
                let record = Source::Host(&[], self.alloc.take_seq());
                self.alloc.index_mut().lost_mut().note(page.lpn);
                self.alloc.append(page.lpn, CLASS, Kind::Lost, record, page.at)
            }
            copied => copied,
        }?;
        self.alloc.end_group_if_full(CLASS)?;
        Ok(copied)
    }

    /// Points the map at the copies.
    fn bind_rescued(&mut self, pages: &[Page], slots: &[(Seg, u32)]) -> Result<(), FtlError> {
        for (page, &(seg, slot)) in pages.iter().zip(slots) {
            let from = self.segment_of(page.at);
            self.alloc.rebind_rescued(page.lpn, page.at, seg, slot)?;
            let class = self.alloc.table().class(from);
            let probe = self.alloc.probe_mut();
            // The probe is told of pages of the host's. Parts of the discard map are none.
            if self.discards.part_in(page.lpn).is_none() && probe.wants_moves() {
                probe.moved(from.0, class.0, 1, page.lpn.0);
            }
        }
        // The map has the copies now, so the valid count is right.
        self.alloc.close_if_ended(CLASS);
        Ok(())
    }

    /// Erases an empty segment that the rescue of `pages` does not need. False if there is none.
    #[cold]
    fn erase_expendable(&mut self, pages: &[Page]) -> Result<bool, MountError> {
        // Spec P11: nor one that a page may need that counts as it is, since there was no room for a copy.
        let mut needing = pages.to_vec();
        needing.extend(self.uncertain.iter().filter_map(|page| self.due(page)));
        let Some(seg) = self.find_expendable(&needing, &self.empties())? else { return Ok(false) };
        self.alloc.pool_mut().take_this_empty(seg);
        // No part of the discard map is dirty here, so nothing else has to be written before an erase.
        self.alloc.remove_clean_mark()?;
        self.alloc.pad_open()?;
        self.alloc.erase_empty(seg, 0)?;
        self.alloc.finish_erase(true)?;
        Ok(true)
    }

    fn empties(&self) -> Vec<Seg> {
        self.alloc.pool().empties().collect()
    }

    /// One of these segments without which all of `pages` can still be rescued.
    fn find_expendable(&mut self, pages: &[Page], among: &[Seg]) -> Result<Option<Seg>, MountError> {
        let mut copies = self.copies_of(pages)?;
        let found = self.expendable(&copies, pages, among);
        // Spec P11: where something fails, no copy may be left.
        let is_sound = !self.alloc.may_lack_slots();
        if found.is_some() || !is_sound {
            return Ok(found);
        }
        self.trust_victims(&mut copies);
        Ok(self.expendable(&copies, pages, among))
    }

    /// One of these segments whose `copies` are not needed.
    fn expendable(&self, copies: &[Copy], pages: &[Page], among: &[Seg]) -> Option<Seg> {
        let segment_of = |copy: &Copy| self.segment_of(copy.found.at);
        let is_spare = |copy: &Copy| copies.iter().any(|c| segment_of(c) != segment_of(copy) && copy.yields_to(c));
        // Spec P11: what called it unmapped was on flash before the erase began.
        let is_dead = |copy: &Copy| copy.doomed && pages.iter().all(|page| page.lpn != copy.found.lpn);
        let in_segment = |seg: Seg| copies.iter().filter(move |copy| segment_of(copy) == seg);
        // Spec P13: what shows that pages are lost stays until that is on record.
        let is_expendable =
            |seg: &Seg| !self.incomplete.contains(seg) && in_segment(*seg).all(|copy| is_spare(copy) || is_dead(copy));
        among.iter().copied().find(is_expendable)
    }

    /// Takes the copies in a segment for certain if those that were made of one of them are in a group that had not
    /// ended: a group is ended before anything is erased, so no erase of the segment had begun.
    fn trust_victims(&self, copies: &mut [Copy]) {
        // Spec P11.
        let segment_of = |copy: &Copy| self.segment_of(copy.found.at);
        let is_of_torn = |copy: &Copy| {
            let is_of_it = |c: &&Copy| (c.found.lpn, c.found.seq) == (copy.found.lpn, copy.found.seq);
            let mut others = copies.iter().filter(is_of_it).filter(|c| c.found.at != copy.found.at).peekable();
            !copy.torn && others.peek().is_some() && others.all(|other| other.torn)
        };
        let mut whole: Vec<Seg> = copies.iter().filter(|copy| is_of_torn(copy)).map(segment_of).collect();
        whole.retain(|&seg| self.tied.contains(&seg) && !self.alloc.table().is_failing(seg));
        for copy in &mut *copies {
            copy.suspect = copy.suspect && (copy.torn || !whole.contains(&self.segment_of(copy.found.at)));
        }
    }

    /// Every copy on flash of the pages to be rescued, and of pages that are unmapped by a part of the discard map that
    /// is itself to be rescued.
    fn copies_of(&mut self, pages: &[Page]) -> Result<Vec<Copy>, MountError> {
        let mut copies = Vec::new();
        for seg in self.alloc.table().all() {
            // The mount has kept the copies that may count, and not all that there are.
            let scan = self.alloc.log_mut().scan(seg)?.ok_or(MountError::NoRecords)?;
            if scan.bad || scan.is_void() {
                continue;
            }
            let doubtful = self.alloc.log_mut().is_half_erased(seg)?;
            let doomed = doubtful && self.alloc.log_mut().shows_erase(seg)?;
            // Nothing counts in what a rescue has given up, though all of its copies may be there.
            let has_failed = self.alloc.table().is_failing(seg);
            for (slot, tag) in scan.tags.iter().enumerate() {
                let Some(tag) = tag.filter(|tag| self.hangs_on(tag.lpn, pages)) else { continue };
                if matches!(tag.kind, Kind::Data | Kind::Lost) {
                    let found = Found::new(&tag, self.alloc.index().slots().page(seg, slot as u32));
                    // A segment with its summary was complete before the cut.
                    let torn = !scan.sealed && slot as u32 >= scan.suspect_from;
                    let suspect = torn || has_failed || self.tied.contains(&seg);
                    note(&mut copies, Copy { found, torn, suspect, doubtful, doomed })?;
                }
            }
        }
        Ok(copies)
    }

    /// True if the content of a page after the next cut may depend on the rescue of `pages`.
    fn hangs_on(&self, lpn: Lpn, pages: &[Page]) -> bool {
        let is_among = |lpn: Lpn| pages.iter().any(|page| page.lpn == lpn);
        let is_hosts = lpn.0 < self.discards.logical_pages();
        let part = self.discards.part_for(lpn).map(|part| self.discards.page_of(part));
        let is_unmapped = is_hosts && !self.place_of(lpn).is_some();
        // An old copy of an unmapped page would count again without the part that calls it unmapped.
        is_among(lpn) || (is_unmapped && part.is_some_and(is_among))
    }
}
