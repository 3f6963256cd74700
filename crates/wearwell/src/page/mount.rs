//! Mounting: the map is built from the records on flash, and the traces of a power cut are repaired.
//!
//! Of all copies of a page the one with the greatest sequence number wins. Copies with equal numbers are an original
//! and its copies by cleaning. Any of them will do if it can be read. Pages that a cut may have hit are *suspect*: they
//! are served only after they have been [rescued](super::rescue). SPEC.md numbers the rules (P1 to P18).

mod damage;
mod known;
mod outcome;
mod reclaiming;
#[cfg(test)]
mod remembered;
mod states;
mod ties;
mod worn;

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::mem::take;

use wearwell_flash::ErrorKind;

use super::allocator::Allocator;
use super::config::{IMPLAUSIBLE_CLOCK, IMPLAUSIBLE_ERASES};
use super::discards::DiscardMap;
use super::found::{
    Found, LISTS_OF_SUSPECTS, LISTS_OF_TIES, MountError, MountReport, check_writer, expect_room, is_blank, is_worn_out,
    note, unless_worn_out, with_log,
};
use super::log::{Discards, Kind, Log, SegmentScan, Tag};
use super::map::FlatMap;
use super::rescue::{Rescue, decode_older};
use super::{PageConfig, PageFtl};
use crate::addr::{Lpn, Ppn, Seg};
use crate::clean::which::VictimChoice;
use crate::ftl::{FtlError, Probe};
use crate::place::{ClassPlacement, Found as FoundPage, PlaceChoice};
use crate::segments::SegState;
use damage::Damage;
use outcome::Outcome;
use states::Segments;

impl<L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> PageFtl<L, P, V, W> {
    /// Mounts a chip that was [formatted](Self::format) with the same capacity, after any number of power cuts.
    /// Policies may differ. A blank chip is mounted as an empty device.
    ///
    /// # Errors
    /// [`MountError::NoRecords`] for a layout without records, [`MountError::Foreign`] for a chip that is not blank and
    /// has no segment of this layout, [`MountError::OtherVersion`] for another version of it,
    /// [`MountError::OtherCapacity`] for another number of logical pages; otherwise only if the chip fails.
    pub fn mount(log: L, probe: P, config: PageConfig<V, W>) -> Result<(Self, MountReport), MountError> {
        Self::mount_or_return(log, probe, config).map_err(|(_, error)| error)
    }

    /// As [`mount`](Self::mount), but gives the log back if it fails.
    ///
    /// # Errors
    /// As [`mount`](Self::mount).
    pub fn mount_or_return(log: L, probe: P, config: PageConfig<V, W>) -> Result<(Self, MountReport), (L, MountError)> {
        let mut place = Some(log);
        let mounted = Self::mount_boxed(&mut place, probe, config);
        mounted.map(|(ftl, report)| (*ftl, report)).map_err(|error| with_log(place, error))
    }

    /// As [`mount_or_return`](Self::mount_or_return), as [`format_boxed`](Self::format_boxed) does it.
    pub(crate) fn mount_boxed(
        log: &mut Option<L>,
        mut probe: P,
        config: PageConfig<V, W>,
    ) -> Result<(Box<Self>, MountReport), MountError> {
        let mut faded = Vec::new();
        loop {
            let mut ftl = Self::empty(log, probe, config)?;
            let known = faded.len();
            let error = match ftl.recover(&mut faded) {
                Ok(report) => return Ok((ftl, report)),
                Err(error) => error,
            };
            ftl.cleaner.alloc_mut().abandon_open();
            probe = ftl.give_back(log);
            // A suspect page has faded. The mount begins again without it, as if the power had failed here. Each turn
            // knows one more, so the loop ends.
            if faded.len() == known {
                return Err(error);
            }
        }
    }

    /// Builds the map and repairs the flash, as if the suspect pages in `faded` could not be read. If another suspect
    /// page can no longer be read when it is copied, adds it to `faded` and fails.
    fn recover(&mut self, faded: &mut Vec<Ppn>) -> Result<MountReport, MountError> {
        let mut outcome = self.build_map(faded)?;
        self.repair(&mut outcome, faded)
    }

    // Not inline, as `repair`: what only one of the two needs would be on the stack in both.
    #[inline(never)]
    fn build_map(&mut self, faded: &mut Vec<Ppn>) -> Result<Outcome, MountError> {
        let Self { cleaner, scratch, .. } = self;
        let (alloc, discards) = cleaner.parts_mut();
        let mut recovery = Recovery::new(alloc, discards, scratch);
        let suspects = recovery.build(faded)?;
        recovery.finish(suspects)
    }

    // The outcome stays where it is. By value it would be on the stack twice.
    #[inline(never)]
    fn repair(&mut self, outcome: &mut Outcome, faded: &mut Vec<Ppn>) -> Result<MountReport, MountError> {
        let Outcome { suspects, uncertain, evidence, unrecorded, known_parts, unsealed, tied, .. } = outcome;
        let Outcome { passed_over, headless, is_settled, gaps, stale, report, .. } = outcome;
        // This is asked before anything on flash changes: a mount that runs out of memory later would stop half-way.
        expect_room((suspects.len() + uncertain.len()) * LISTS_OF_SUSPECTS)?;
        self.cleaner.alloc_mut().start();
        self.confirm_winners()?;
        // Blocks in which a flag could not be cleared are failing. Nothing may be written there from here on.
        self.cleaner.alloc_mut().note_failures();
        if let Some(erased) = self.cleaner.alloc_mut().add_header(headless)? {
            // What is written there from now on is not older than a rescue.
            unsealed.retain(|&seg| seg != erased);
        }
        // After a clean shutdown all pages that the map points to last. Others are as suspect as before.
        let mut is_keeping = false;
        if !report.clean {
            let mut trusted = take(uncertain);
            trusted.retain(|page| suspects.iter().all(|s| s.at != page.at));
            // If no page is uncertain that is not suspect, no mark names the segments with its copies.
            if trusted.is_empty() {
                tied.clear();
            }
            // Spec P11.
            let (alloc, discards) = self.cleaner.parts_mut();
            let mut rescue = Rescue::new(alloc, discards, tied.clone(), unsealed, gaps, &trusted);
            let (mut pages, left) = rescue.affordable(&trusted, suspects, unrecorded.len())?;
            let affordable = pages.len();
            // The uncertain ones come first: one of the segments that they empty may be erased for the others.
            pages.extend(&*suspects);
            let merged = rescue.merged(&pages, stale);
            // What the rescue empties is erased at once, because it may have taken the last free segment.
            *is_settled &= affordable == 0 && merged.is_empty();
            // Where there is no room for all, the rescue may erase other copies of the rest, so these are read before.
            is_keeping = self.keep_trusted(&left, passed_over)?;
            let mut ended = self.rescue(&pages, merged, tied.clone(), [unsealed, gaps], &trusted, faded);
            // Programs have failed, and only what a cut may have hit is copied.
            if affordable > 0 && is_worn_out(&ended) {
                is_keeping |= self.keep_trusted(&pages[..affordable], passed_over)?;
                ended = self.rescue(suspects, Vec::new(), take(tied), [unsealed, gaps], &trusted, faded);
            }
            report.rescued_pages = match ended {
                Err(MountError::Ftl(worn_out @ FtlError::WornOut { .. })) => {
                    self.give_up_rescue(suspects, passed_over, worn_out, faded)?;
                    0
                }
                ended => ended?,
            };
        }
        // Spec P11: an uncertain page that has faded would count again in the next mount.
        *is_settled &= faded.is_empty();
        self.note_growth(report.clean);
        self.reclaim_some(*is_settled, evidence, unrecorded)?;
        if is_keeping {
            self.move_trusted()?;
        }
        // Spec P15. If the power is cut later, nothing else says what this mount has shown as discarded.
        self.write_parts(known_parts)?;
        let cleaner = &self.cleaner;
        report.read_only = cleaner.alloc().writable().is_err();
        // What the mount has cost is no part of the host's counters.
        self.cleaner.alloc_mut().stats_mut().reset();
        Ok(*report)
    }

    /// Notes which parts of the discard map may not know of all mapped pages. A clean shutdown has written them.
    fn note_growth(&mut self, is_clean: bool) {
        let (alloc, discards) = self.cleaner.parts_mut();
        for part in 0..discards.parts() {
            let is_on_flash = alloc.index().place_of(discards.page_of(part)).is_some();
            if !is_clean || !is_on_flash {
                discards.note_growth(part);
            }
        }
    }

    /// Tells the log which copies won, so that the flags on flash agree with the map.
    fn confirm_winners(&mut self) -> Result<(), MountError> {
        let (log, index) = self.cleaner.alloc_mut().log_and_index();
        let map = index.map();
        // An entry may name a page beyond the capacity. No copy of such a page wins.
        log.confirm(&|lpn: Lpn| if lpn.0 < map.logical_pages() { map.place_of(lpn) } else { Ppn::NONE })?;
        Ok(())
    }
}

/// A mount in progress: what was found in the scan, and the decisions on it.
struct Recovery<'a, L, P, V: VictimChoice, W: PlaceChoice> {
    alloc: &'a mut Allocator<L, P, FlatMap, V, W>,
    discards: &'a DiscardMap,
    /// A page of working memory.
    page: &'a mut [u8],
    /// Sequence number of the copy that the map points to, by logical page.
    newest: Vec<u64>,
    greatest_seq: u64,
    /// Copies with the same number as the one in the map.
    ties: Vec<Found>,
    /// How many of them were found.
    copies: usize,
    /// Pages that a cut may have hit.
    suspects: Vec<Found>,
    /// What may be copies of rescues that have not ended.
    doubtful: Vec<Found>,
    segments: Segments,
    damage: Damage,
    /// What the repair of the flash needs of it.
    outcome: Outcome,
}

impl<'a, L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> Recovery<'a, L, P, V, W> {
    fn new(alloc: &'a mut Allocator<L, P, FlatMap, V, W>, discards: &'a DiscardMap, page: &'a mut [u8]) -> Self {
        let newest = vec![0; alloc.index().map().logical_pages() as usize];
        Self {
            alloc,
            discards,
            page,
            newest,
            greatest_seq: 0,
            ties: Vec::new(),
            copies: 0,
            suspects: Vec::new(),
            doubtful: Vec::new(),
            segments: Segments::default(),
            damage: Damage::default(),
            outcome: Outcome::default(),
        }
    }

    /// Builds the map from the flash, and sets the state of every segment. Returns all suspect pages. Those that the
    /// map points to have to be rescued.
    fn build(&mut self, faded: &mut Vec<Ppn>) -> Result<Vec<Found>, MountError> {
        // Spec P15.
        if self.take_checkpoint()? {
            return Ok(Vec::new());
        }
        for seg in self.alloc.table().all() {
            // Spec P1.
            let scan = self.alloc.log_mut().scan(seg)?.ok_or(MountError::NoRecords)?;
            check_writer(seg, &scan)?;
            self.take_in(seg, &scan, faded)?;
        }
        // To settle ties takes lists of the same pages.
        self.copies = self.ties.len();
        expect_room(self.copies * LISTS_OF_TIES)?;
        self.outcome.report.never_formatted = self.is_never_formatted()?;
        self.outcome.report.clean = self.alloc.clean_mark().is_some();
        // Suspect pages are weighed first, because a part of the discard map may be one of them. Ties are settled last,
        // because a page that turns out unmapped needs no copy.
        let suspects = self.weigh_suspects()?;
        self.revive_undone(faded)?;
        self.weigh_ties()?;
        self.apply_discards(&suspects, faded)?;
        self.outcome.uncertain = self.settle_ties(&suspects)?;
        // A missing header shows in an erase count that is not known, so this comes before counts are guessed.
        self.list_headless(&suspects);
        self.guess_erases()?;
        self.place_segments();
        self.list_losses()?;
        // Spec P12.
        self.alloc.number_from(self.greatest_seq + 1);
        let clock = self.alloc.index_mut().clock_mut();
        if clock.is_timed {
            // Every host page takes a number.
            clock.host_pages = self.greatest_seq;
        }
        self.tell_placement();
        Ok(suspects)
    }

    /// Tells the placement when each page was written. On NAND a number is a time, since every host page takes one.
    fn tell_placement(&mut self) {
        if L::DISCARDS != Discards::Logged {
            return;
        }
        let greatest_seq = self.greatest_seq;
        let (placement, index) = self.alloc.placement_and_index();
        let now = index.clock().host_pages;
        let pages = (0..).map(Lpn).zip(&self.newest).filter(|&(lpn, _)| index.place_of(lpn).is_some());
        // Records take numbers, too, so the difference may exceed the clock.
        let mut pages = pages.map(|(lpn, seq)| FoundPage { lpn, written: now.saturating_sub(greatest_seq - seq) });
        placement.found(&mut pages);
    }

    /// True if the chip is blank. A device that was formatted has a header in some segment, whatever was cut: segments
    /// are erased one at a time, and the next one not before this one's header is written. So without any header or tag
    /// the chip is blank or not ours; a format that was cut before its first header counts as neither.
    fn is_never_formatted(&mut self) -> Result<bool, MountError> {
        // A chip without a good segment is worn out, and not new. Where bytes are only counted, nothing can be read.
        if self.segments.is_ours || !L::STORES || self.alloc.table().good() == 0 {
            return Ok(false);
        }
        let (log, index) = self.alloc.log_and_index();
        let table = index.pool().table();
        is_blank(log, table.all().filter(|&seg| table.state(seg) != SegState::Bad))
    }

    fn place_of(&self, lpn: Lpn) -> Ppn {
        self.alloc.index().place_of(lpn)
    }

    fn segment_of(&self, at: Ppn) -> Seg {
        self.alloc.index().slots().segment_of(at)
    }

    /// Enters the scan of a segment.
    fn take_in(&mut self, seg: Seg, scan: &SegmentScan, faded: &[Ppn]) -> Result<(), MountError> {
        let slots = u64::from(self.alloc.shape().slots);
        let table = self.alloc.pool_mut().table_mut();
        if scan.bad {
            table.retire(seg);
            return Ok(());
        }
        // Spec P2.
        self.segments.is_ours |= scan.erases.is_some() || scan.tags.iter().any(Option::is_some);
        if let Some(erases) = scan.erases.filter(|&e| e < IMPLAUSIBLE_ERASES) {
            table.set_erases(seg, erases);
            self.segments.known_erases += u64::from(erases);
            self.segments.headers += 1;
        } else {
            // `guess_erases` finds these by their count.
            table.set_erases(seg, u32::MAX);
        }
        self.note_gaps(seg, scan)?;
        let table = self.alloc.pool_mut().table_mut();
        if scan.empty {
            if scan.needs_erase {
                table.suspect(seg);
            }
            return Ok(());
        }
        let opened = scan.opened.filter(|&clock| clock < IMPLAUSIBLE_CLOCK);
        // The greatest stamp stands for one that is not known (`place_segments`).
        table.enter_in_use(seg, scan.class, opened.unwrap_or(u64::MAX));
        let clock = self.alloc.index_mut().clock_mut();
        // Every slot may hold a host page, so the clock continues behind the last one that can have been written. A
        // header with a time says nothing of host pages.
        if let Some(opened) = opened.filter(|_| !clock.is_timed) {
            clock.host_pages = clock.host_pages.max(opened + slots);
        }
        if !scan.sealed {
            self.segments.open.push(seg);
            self.outcome.unsealed.push(seg);
            self.outcome.report.open_segments += 1;
        }
        if let Some(next) = scan.resume_at {
            self.segments.resume.push((seg, next));
        }
        // Pages that do not count have used up their numbers too.
        let newest = scan.tags.iter().flatten().map(|tag| tag.seq).filter(|&seq| seq < IMPLAUSIBLE_CLOCK).max();
        self.greatest_seq = self.greatest_seq.max(newest.unwrap_or(0));
        if scan.is_void() {
            self.outcome.report.undone_segments += 1;
            note(&mut self.segments.undone, seg)?;
            return Ok(());
        }
        self.take_in_pages(seg, scan, faded)
    }

    /// Enters the pages of a segment, except those in `faded`.
    fn take_in_pages(&mut self, seg: Seg, scan: &SegmentScan, faded: &[Ppn]) -> Result<(), MountError> {
        let records = scan.tags.iter().flatten().count();
        for (slot, tag) in scan.tags.iter().enumerate() {
            let Some(tag) = tag else { continue };
            // Spec P2.
            if tag.seq >= IMPLAUSIBLE_CLOCK {
                continue;
            }
            if tag.kind == Kind::CleanMark {
                // Spec P4.
                if records == 1 {
                    self.alloc.enter_clean_mark(seg);
                    self.segments.trusts_free = tag.lpn == Lpn(0);
                }
                continue;
            }
            // Spec P3: if the end of the rescue is in doubt, its copies do not count before what they were made from.
            if tag.kind == Kind::RescueMark && slot == 0 && !scan.doubts_end {
                self.segments.rescues.push((seg, tag.lpn.0));
            }
            let at = self.alloc.index().slots().page(seg, slot as u32);
            // A tag with a good code may still name a page that this device does not have.
            let is_page = matches!(tag.kind, Kind::Data | Kind::Lost) && tag.lpn.0 < self.newest.len() as u32;
            let suspect = !scan.sealed && slot as u32 >= scan.suspect_from;
            if is_page && faded.contains(&at) {
                // What a cut may have hit need not have been there.
                self.damage.gone.extend((!suspect).then_some((tag.lpn, seg, scan.doubts_end)));
            } else if is_page {
                self.offer(at, tag, suspect)?;
                if scan.doubts_end {
                    note(&mut self.doubtful, Found::new(tag, at))?;
                }
            }
        }
        Ok(())
    }

    /// Enters a copy of a page.
    fn offer(&mut self, at: Ppn, tag: &Tag, suspect: bool) -> Result<(), MountError> {
        let found = Found::new(tag, at);
        if tag.kind == Kind::Lost {
            self.damage.has_losses = true;
            note(&mut self.damage.losses, found)?;
        }
        // Suspect pages are weighed once all others are known (`weigh_suspects`).
        if suspect {
            return note(&mut self.suspects, found);
        }
        let mapped = self.place_of(tag.lpn).is_some();
        let newest = &mut self.newest[tag.lpn.0 as usize];
        // Spec P5.
        match L::newer(tag.seq, *newest) {
            Ordering::Greater => {
                *newest = tag.seq;
                self.alloc.index_mut().repoint(found.lpn, found.at);
            }
            Ordering::Equal if mapped => note(&mut self.ties, found)?,
            // The first copy that is found counts whatever its number is: NOR's updates begin at 0 and wrap.
            _ if !mapped => {
                *newest = tag.seq;
                self.alloc.index_mut().repoint(found.lpn, found.at);
            }
            Ordering::Equal | Ordering::Less => {}
        }
        Ok(())
    }

    /// True if the page at `at` can be read and belongs to `lpn`. Its data is then in `page`.
    fn holds(&mut self, at: Ppn, lpn: Lpn) -> Result<bool, MountError> {
        Ok(self.alloc.log_mut().holds(at, lpn, self.page)?)
    }

    /// Points the map at suspect pages that are the newest copies. Returns all suspect pages. Those that the map points
    /// to in the end have to be rescued.
    fn weigh_suspects(&mut self) -> Result<Vec<Found>, MountError> {
        let mut suspects = core::mem::take(&mut self.suspects);
        // In the order of their numbers, so that each is compared with the newest so far.
        suspects.sort_unstable_by_key(|s| (s.seq, s.at));
        for &suspect in &suspects {
            // Spec P6.
            if !self.holds(suspect.at, suspect.lpn)? {
                continue;
            }
            // Numbers are compared as they are, and not by `L::newer`: only NAND has suspect pages.
            let newest = self.newest[suspect.lpn.0 as usize];
            if suspect.seq > newest || !self.place_of(suspect.lpn).is_some() {
                self.newest[suspect.lpn.0 as usize] = suspect.seq;
                self.alloc.index_mut().repoint(suspect.lpn, suspect.at);
            } else if suspect.seq == newest {
                self.ties.push(suspect);
            }
        }
        Ok(suspects)
    }

    /// Unmaps the pages that the discard map calls unmapped, if their copy is older than that part of the map. Fails if
    /// a suspect part can no longer be read, or one with another copy, and adds it to `faded`.
    fn apply_discards(&mut self, suspects: &[Found], faded: &mut Vec<Ppn>) -> Result<(), MountError> {
        if L::DISCARDS != Discards::Logged || !L::STORES {
            return Ok(());
        }
        for part in 0..self.discards.parts() {
            let lpn = self.discards.page_of(part);
            let at = self.place_of(lpn);
            if !at.is_some() {
                continue;
            }
            // The record of a loss has zeros for data. Read as a part, it would call every page mapped.
            if !self.damage.losses.iter().any(|loss| loss.at == at) && self.holds(at, lpn)? {
                self.apply_part(part, self.newest[lpn.0 as usize]);
                continue;
            }
            if suspects.iter().any(|suspect| suspect.at == at) || self.ties.iter().any(|tie| tie.lpn == lpn) {
                faded.push(at);
                return Err(ErrorKind::Uncorrectable.into());
            }
            self.outcome.report.lost_discards += 1;
            self.damage.misses_copies = true;
            // The part is written anew from the map. Until then `reclaim_some` keeps the segment with the unreadable
            // one.
            self.outcome.unrecorded.push(part);
            self.outcome.evidence.push(self.segment_of(at));
            self.alloc.index_mut().unbind(lpn);
        }
        Ok(())
    }

    /// Reads the mark of a rescue into the page of the mount. False if it cannot be read.
    fn reads_rescue_mark(&mut self, rescue: Seg) -> Result<bool, MountError> {
        Ok(self.alloc.log_mut().read_mark(rescue, Kind::RescueMark, self.page)?.is_some())
    }

    /// Gives segments whose erase count is not known the mean of the others, but no less than a mark of a rescue names
    /// them with: what is written there later must not be taken for something older than that rescue.
    fn guess_erases(&mut self) -> Result<(), MountError> {
        // Spec P10.
        let mean = self.segments.known_erases.checked_div(self.segments.headers).unwrap_or(0) as u32;
        let unknown: Vec<Seg> =
            self.alloc.table().all().filter(|&seg| self.alloc.table().erases(seg) == u32::MAX).collect();
        for &seg in &unknown {
            self.alloc.pool_mut().table_mut().set_erases(seg, mean);
        }
        if unknown.is_empty() {
            return Ok(());
        }
        for (rescue, _) in self.segments.rescues.clone() {
            if !self.reads_rescue_mark(rescue)? {
                continue;
            }
            for (seg, erases) in decode_older(self.page).filter(|named| unknown.contains(&named.0)) {
                let table = self.alloc.pool_mut().table_mut();
                table.set_erases(seg, table.erases(seg).max(erases.min(IMPLAUSIBLE_ERASES)));
            }
        }
        Ok(())
    }
}
