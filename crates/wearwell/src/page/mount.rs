//! Start-up: the map is built from what the log recorded, and what a power cut left is put in order.
//!
//! Of all copies of a page the one with the greatest sequence number wins. Copies with equal numbers are an
//! original and what cleaning made of it; either will do if it can be read. Pages that a cut may have hit are
//! *suspect*: they are served only after they have been [rescued](super::rescue).

mod ties;

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;

use wearwell_flash::ErrorKind;

use super::allocator::Allocator;
use super::config::{IMPLAUSIBLE_CLOCK, IMPLAUSIBLE_ERASES, URGENT_BELOW};
use super::discards::{DiscardMap, is_unmapped};
use super::log::{Discards, Kind, Log, SegmentScan, Tag};
use super::map::FlatMap;
use super::rescue::Rescue;
use super::{ConfigError, PageConfig, PageFtl};
use crate::addr::{Lpn, Ppn, Seg};
use crate::ftl::{FtlError, Probe};
use crate::place::{ClassPlacement, Found as FoundPage};
use crate::segments::SegState;

/// Why a chip could not be mounted or formatted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// The configuration does not fit the chip.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The layout records nothing that could be mounted.
    #[error("this layout keeps no records: it can be formatted, but not mounted")]
    NoRecords,
    /// A block holds what this engine never writes: the chip was formatted for another one.
    #[error("segment {} holds what this engine never writes; mount it with the one that formatted it", .segment.0)]
    OtherScheme {
        /// The segment.
        segment: Seg,
    },
    /// Another version of this layout wrote the segment. Nothing was changed.
    #[error("segment {} was written by version {version} of this layout, which this one does not read", .segment.0)]
    OtherVersion {
        /// The segment.
        segment: Seg,
        /// The version in its header.
        version: u32,
    },
    /// The chip was formatted for another capacity. Nothing was changed.
    #[error("segment {} was written for a device of {logical_pages} logical pages; mount it as one", .segment.0)]
    OtherCapacity {
        /// The segment.
        segment: Seg,
        /// The logical pages in its header.
        logical_pages: u32,
    },
    /// The chip holds something, and nothing that this layout has written. Nothing was changed.
    #[error("the chip holds something, but nothing that this layout wrote: format it, if that may be lost")]
    Foreign,
    /// The chip failed.
    #[error("the chip failed: {0:?}")]
    Chip(ErrorKind),
    /// Putting things in order failed.
    #[error(transparent)]
    Ftl(#[from] FtlError),
}

impl From<ErrorKind> for MountError {
    fn from(kind: ErrorKind) -> Self {
        Self::Chip(kind)
    }
}

/// What a mount found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MountReport {
    /// The device had been shut down; nothing was cut.
    pub clean: bool,
    /// The chip reads as erased throughout: it was never formatted. (Block mapping leaves a chip like this also when it
    /// is formatted, until the first write.) It is mounted as an empty device.
    pub never_formatted: bool,
    /// Segments that were found open.
    pub open_segments: u32,
    /// Pages that a cut may have hit, and that were copied.
    pub rescued_pages: u32,
    /// Segments free again because all they hold can be read elsewhere: cleaning or rescue was cut in them.
    pub undone_segments: u32,
    /// Parts of the discard map that could not be read.
    pub lost_discards: u32,
    /// The chip is worn out, so that nothing can be written; what can be read is as the cut left it.
    pub read_only: bool,
}

/// A copy of a page, as a scan finds it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) lpn: Lpn,
    pub(super) seq: u64,
    pub(super) at: Ppn,
}

impl Found {
    pub(super) const fn new(tag: &Tag, at: Ppn) -> Self {
        Self { lpn: tag.lpn, seq: tag.seq, at }
    }
}

impl<L: Log, P: Probe> PageFtl<L, P> {
    /// Mounts a chip that was [formatted](Self::format) before with the same capacity, whatever happened to it since.
    /// Policies may differ. A blank chip is mounted as an empty device.
    ///
    /// # Errors
    /// [`MountError::NoRecords`] for a layout without records, [`MountError::Foreign`] for a chip that is not blank and on
    /// which no segment is this layout's, [`MountError::OtherVersion`] for another version of it,
    /// [`MountError::OtherCapacity`] for another number of logical pages; otherwise only if the chip fails.
    pub fn mount(log: L, probe: P, config: PageConfig) -> Result<(Self, MountReport), MountError> {
        Self::mount_or_return(log, probe, config).map_err(|(_, error)| error)
    }

    /// As [`mount`](Self::mount), but gives the log back if it fails.
    ///
    /// # Errors
    /// As [`mount`](Self::mount).
    pub fn mount_or_return(log: L, probe: P, config: PageConfig) -> Result<(Self, MountReport), (L, MountError)> {
        let (mut log, mut probe, mut faded) = (log, probe, Vec::new());
        loop {
            let mut ftl = match Self::empty(log, probe, config) {
                Ok(ftl) => ftl,
                Err((log, error)) => return Err((log, error.into())),
            };
            let known = faded.len();
            match ftl.recover(&mut faded) {
                Ok(report) => return Ok((ftl, report)),
                // As if power had failed there: what counts now is what was there before.
                Err(_) if faded.len() > known => {
                    ftl.cleaner.alloc.abandon_open();
                    (log, probe) = (ftl.cleaner.alloc.log, ftl.cleaner.alloc.probe);
                }
                Err(error) => return Err((ftl.into_log(), error)),
            }
        }
    }

    /// Builds the map and puts the flash in order, as if the suspect pages in `faded` could not be read. If another one
    /// cannot be read any more when it is to be copied, adds it and fails.
    fn recover(&mut self, faded: &mut Vec<Ppn>) -> Result<MountReport, MountError> {
        let Self { cleaner, scratch, .. } = self;
        let mut recovery = Recovery::new(&mut cleaner.alloc, &cleaner.discards, scratch);
        let suspects = recovery.build(faded)?;
        let mut uncertain = core::mem::take(&mut recovery.uncertain);
        let mut report = recovery.report;
        self.start();
        self.confirm_winners()?;
        self.cleaner.alloc.note_failures();
        // After a clean shutdown all that the map points to lasts; what it does not point to is as suspect as before.
        if !report.clean {
            // Spec P11.
            uncertain = Rescue::new(&mut self.cleaner.alloc, &self.cleaner.discards).affordable(&suspects, uncertain);
            report.rescued_pages = self.rescue(&[suspects, uncertain.clone()].concat(), faded)?;
        }
        // As long as nothing is dirty, empty segments can be erased without a slot for the discard map.
        let cleaner = &mut self.cleaner;
        let is_settled = report.clean || uncertain.is_empty();
        let wants_free = |alloc: &Allocator<L, P, FlatMap>| alloc.free.usable() < URGENT_BELOW || !is_settled;
        while cleaner.alloc.writable.is_ok() && wants_free(&cleaner.alloc) && cleaner.reclaim_one()? {}
        report.read_only = cleaner.alloc.writable.is_err();
        cleaner.alloc.stats.reset();
        Ok(report)
    }

    /// Copies the suspect pages that the map points to. On a chip worn out for that, they can be read for now, as long as
    /// nothing is written or erased.
    fn rescue(&mut self, suspects: &[Found], faded: &mut Vec<Ppn>) -> Result<u32, MountError> {
        let Self { cleaner, scratch, .. } = self;
        match Rescue::new(&mut cleaner.alloc, &cleaner.discards).run(suspects, faded) {
            Err(MountError::Ftl(worn_out @ FtlError::WornOut { .. })) => {
                cleaner.alloc.abandon_open();
                find_faded(&mut cleaner.alloc, scratch, suspects, faded)?;
                cleaner.alloc.refuse_writes(worn_out);
                Ok(0)
            }
            ended => ended,
        }
    }

    /// Tells the log which copies won, so that flags on flash agree with the map.
    fn confirm_winners(&mut self) -> Result<(), MountError> {
        let Allocator { log, index, .. } = &mut self.cleaner.alloc;
        let map = index.map();
        log.confirm(&|lpn: Lpn| if lpn.0 < map.logical_pages() { map.place_of(lpn) } else { Ppn::NONE })?;
        Ok(())
    }
}

/// Fails if a suspect page that the map points to can be read no more, and adds it to `faded`: an older copy counts.
fn find_faded<L: Log, P>(
    alloc: &mut Allocator<L, P, FlatMap>,
    page: &mut [u8],
    suspects: &[Found],
    faded: &mut Vec<Ppn>,
) -> Result<(), MountError> {
    for suspect in suspects {
        if alloc.index.place_of(suspect.lpn) == suspect.at && !alloc.log.holds(suspect.at, suspect.lpn, page)? {
            faded.push(suspect.at);
            return Err(ErrorKind::Uncorrectable.into());
        }
    }
    Ok(())
}

/// A mount in progress: what is collected while segments are scanned, and weighed.
struct Recovery<'a, L, P> {
    alloc: &'a mut Allocator<L, P, FlatMap>,
    discards: &'a DiscardMap,
    /// A page of bytes to read into.
    page: &'a mut [u8],
    /// Sequence number of the copy that the map points to, by logical page.
    newest: Vec<u64>,
    /// Copies with the same number as the one in the map.
    ties: Vec<Found>,
    /// Pages that a cut may have hit, in the order of their numbers once sorted.
    suspects: Vec<Found>,
    /// Pages that the map points to in segments whose erase may have begun.
    uncertain: Vec<Found>,
    /// Records that a page was lost.
    losses: Vec<Found>,
    /// Segments that were open.
    open: Vec<Seg>,
    /// Those of them that may be continued, and from which slot on.
    resume: Vec<(Seg, u32)>,
    greatest_seq: u64,
    /// The mark of a clean shutdown says that free segments are erased throughout.
    trusts_free: bool,
    known_erases: u64,
    headers: u64,
    report: MountReport,
}

impl<'a, L: Log, P: Probe> Recovery<'a, L, P> {
    fn new(alloc: &'a mut Allocator<L, P, FlatMap>, discards: &'a DiscardMap, page: &'a mut [u8]) -> Self {
        let newest = vec![0; alloc.index.map().logical_pages() as usize];
        Self {
            alloc,
            discards,
            page,
            newest,
            ties: Vec::new(),
            suspects: Vec::new(),
            uncertain: Vec::new(),
            losses: Vec::new(),
            open: Vec::new(),
            resume: Vec::new(),
            greatest_seq: 0,
            trusts_free: false,
            known_erases: 0,
            headers: 0,
            report: MountReport::default(),
        }
    }

    /// Builds the map from what is on flash, and gives every segment its state. Returns all suspect pages: those that the
    /// map points to have to be rescued.
    fn build(&mut self, faded: &mut Vec<Ppn>) -> Result<Vec<Found>, MountError> {
        for seg in self.alloc.table().all() {
            // Spec P1.
            let scan = self.alloc.log.scan(seg)?.ok_or(MountError::NoRecords)?;
            if let Some(version) = scan.other_version {
                return Err(MountError::OtherVersion { segment: seg, version });
            }
            if let Some(logical_pages) = scan.other_capacity {
                return Err(MountError::OtherCapacity { segment: seg, logical_pages });
            }
            self.take_in(seg, &scan, faded);
        }
        self.report.never_formatted = self.is_never_formatted()?;
        self.report.clean = self.alloc.clean_mark.is_some();
        let suspects = self.weigh_suspects()?;
        self.weigh_ties()?;
        self.apply_discards(&suspects, faded)?;
        self.uncertain = self.settle_ties(&suspects)?;
        self.place_segments();
        // Spec P7.
        let losses = self.losses.iter().filter(|loss| self.place_of(loss.lpn) == loss.at);
        *self.alloc.index.lost_mut() = losses.map(|loss| loss.lpn).collect();
        // Spec P12.
        self.alloc.next_seq = self.greatest_seq + 1;
        self.tell_placement();
        Ok(suspects)
    }

    /// Tells the placement when each page was written. On NAND a number is a time, since every host page takes one.
    fn tell_placement(&mut self) {
        if L::DISCARDS != Discards::Logged {
            return;
        }
        let greatest_seq = self.greatest_seq;
        let Allocator { index, placement, .. } = &mut *self.alloc;
        let now = index.clock().host_pages;
        for (lpn, &seq) in (0..).map(Lpn).zip(&self.newest) {
            if index.place_of(lpn).is_some() {
                placement.found(FoundPage { lpn, written: now.saturating_sub(greatest_seq - seq) });
            }
        }
    }

    /// True if the chip is blank. A device that was formatted has a header in some segment, whatever was cut: segments are
    /// erased one at a time, and the next one not before this one's header is written. So without any header the chip
    /// is blank or not ours; a format that was cut before its first header counts as neither.
    fn is_never_formatted(&mut self) -> Result<bool, MountError> {
        if self.headers > 0 || !L::STORES || self.alloc.table().good() == 0 {
            return Ok(false);
        }
        for seg in self.alloc.table().all() {
            if self.alloc.table().state(seg) != SegState::Bad && !self.alloc.log.is_blank(seg)? {
                return Err(MountError::Foreign);
            }
        }
        Ok(true)
    }

    fn place_of(&self, lpn: Lpn) -> Ppn {
        self.alloc.index.place_of(lpn)
    }

    fn segment_of(&self, at: Ppn) -> Seg {
        self.alloc.index.slots().segment_of(at)
    }

    /// Enters what was found in a segment.
    fn take_in(&mut self, seg: Seg, scan: &SegmentScan, faded: &[Ppn]) {
        let slots = u64::from(self.alloc.shape.slots);
        let table = self.alloc.index.pool_mut().table_mut();
        if scan.bad {
            table.retire(seg);
            return;
        }
        // Spec P2.
        if let Some(erases) = scan.erases.filter(|&e| e < IMPLAUSIBLE_ERASES) {
            table.set_erases(seg, erases);
            self.known_erases += u64::from(erases);
            self.headers += 1;
        } else {
            table.set_erases(seg, u32::MAX);
        }
        if scan.empty {
            if scan.needs_erase {
                table.suspect(seg);
            }
            return;
        }
        let opened = scan.opened.filter(|&clock| clock < IMPLAUSIBLE_CLOCK);
        table.found_in_use(seg, scan.class, opened.unwrap_or(u64::MAX));
        let clock = self.alloc.index.clock_mut();
        clock.host_pages = clock.host_pages.max(opened.map_or(0, |opened| opened + slots));
        if !scan.sealed {
            self.open.push(seg);
            self.report.open_segments += 1;
        }
        if let Some(next) = scan.resume_at {
            self.resume.push((seg, next));
        }
        // Also what counts for nothing has used up its numbers.
        let newest = scan.tags.iter().flatten().map(|tag| tag.seq).filter(|&seq| seq < IMPLAUSIBLE_CLOCK).max();
        self.greatest_seq = self.greatest_seq.max(newest.unwrap_or(0));
        if scan.is_void() {
            self.report.undone_segments += 1;
        } else {
            self.take_in_pages(seg, scan, faded);
        }
    }

    /// Enters the pages of a segment but for those in `faded`.
    fn take_in_pages(&mut self, seg: Seg, scan: &SegmentScan, faded: &[Ppn]) {
        let records = scan.tags.iter().flatten().count();
        for (slot, tag) in scan.tags.iter().enumerate() {
            let Some(tag) = tag else { continue };
            if tag.seq >= IMPLAUSIBLE_CLOCK {
                continue;
            }
            if tag.kind == Kind::CleanMark {
                // Spec P4.
                if records == 1 {
                    self.alloc.clean_mark = Some(seg);
                    self.trusts_free = tag.lpn == Lpn(0);
                }
                continue;
            }
            let at = self.alloc.index.slots().page(seg, slot as u32);
            let is_page = tag.kind != Kind::RescueMark && tag.lpn.0 < self.newest.len() as u32;
            if is_page && !faded.contains(&at) {
                let suspect = !scan.sealed && slot as u32 >= scan.suspect_from;
                self.offer(at, tag, suspect);
            }
        }
    }

    /// Enters a copy of a page.
    fn offer(&mut self, at: Ppn, tag: &Tag, suspect: bool) {
        let found = Found::new(tag, at);
        if tag.kind == Kind::Lost {
            self.losses.push(found);
        }
        if suspect {
            self.suspects.push(found);
            return;
        }
        let mapped = self.place_of(tag.lpn).is_some();
        let newest = &mut self.newest[tag.lpn.0 as usize];
        // Spec P5.
        match L::newer(tag.seq, *newest) {
            Ordering::Greater => {
                *newest = tag.seq;
                self.alloc.index.repoint(found.lpn, found.at);
            }
            Ordering::Equal if mapped => self.ties.push(found),
            _ if !mapped => {
                *newest = tag.seq;
                self.alloc.index.repoint(found.lpn, found.at);
            }
            Ordering::Equal | Ordering::Less => {}
        }
    }

    /// True if the page at `at` can be read and is one of `lpn`; its data is then in `page`.
    fn holds(&mut self, at: Ppn, lpn: Lpn) -> Result<bool, MountError> {
        Ok(self.alloc.log.holds(at, lpn, self.page)?)
    }

    /// Decides which suspect pages are the newest of what they hold, and returns all suspects: those that the
    /// map points to in the end have to be rescued.
    fn weigh_suspects(&mut self) -> Result<Vec<Found>, MountError> {
        let mut suspects = core::mem::take(&mut self.suspects);
        suspects.sort_by_key(|s| (s.seq, s.at));
        for &suspect in &suspects {
            // Spec P6.
            if !self.holds(suspect.at, suspect.lpn)? {
                continue;
            }
            let newest = self.newest[suspect.lpn.0 as usize];
            if suspect.seq > newest || !self.place_of(suspect.lpn).is_some() {
                self.newest[suspect.lpn.0 as usize] = suspect.seq;
                self.alloc.index.repoint(suspect.lpn, suspect.at);
            } else if suspect.seq == newest {
                self.ties.push(suspect);
            }
        }
        Ok(suspects)
    }

    /// Unmaps what the discard map calls unmapped, where the copy is older than that part of the map. Fails if a part that
    /// is suspect can be read no more, and adds it to `faded`.
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
            if !self.losses.iter().any(|loss| loss.at == at) && self.holds(at, lpn)? {
                self.apply_part(part, self.newest[lpn.0 as usize]);
                continue;
            }
            if suspects.iter().any(|suspect| suspect.at == at) {
                faded.push(at);
                return Err(ErrorKind::Uncorrectable.into());
            }
            self.report.lost_discards += 1;
            self.alloc.index.unbind(lpn);
        }
        Ok(())
    }

    /// Unmaps what the part of the discard map in `page`, with number `written`, calls unmapped.
    fn apply_part(&mut self, part: u32, written: u64) {
        for (bit, lpn) in self.discards.covered_by(part).enumerate() {
            // Spec P8.
            let is_older = self.newest[lpn.0 as usize] < written;
            if is_unmapped(self.page, bit) && is_older && self.place_of(lpn).is_some() {
                let seg = self.alloc.index.unbind(lpn);
                self.alloc.index.dead_mut().add(seg);
            }
        }
    }

    /// Gives every segment its state, now that it is known what is valid in it.
    fn place_segments(&mut self) {
        let mean = self.known_erases.checked_div(self.headers).unwrap_or(0) as u32;
        let now = self.alloc.index.clock().host_pages;
        for seg in self.alloc.table().all() {
            let table = self.alloc.index.pool_mut().table_mut();
            // Spec P10.
            if table.erases(seg) == u32::MAX {
                table.set_erases(seg, mean);
            }
            table.stamp(seg, table.opened(seg).min(now));
            match table.state(seg) {
                SegState::Free | SegState::Suspect => self.place_free(seg),
                SegState::Open(_) if self.alloc.clean_mark == Some(seg) => table.start_erase(seg),
                SegState::Open(_) if self.resumes(seg) => {}
                SegState::Open(_) => self.alloc.index.close(seg),
                SegState::Closed(_) | SegState::Victim(_) | SegState::Erasing | SegState::Bad => {}
            }
        }
    }

    fn place_free(&mut self, seg: Seg) {
        let is_suspect = self.alloc.table().state(seg) == SegState::Suspect;
        // NOR has no bad-block marks: nobody counts on the block until its erase has shown that it is good.
        if L::DISCARDS == Discards::Flagged && is_suspect {
            self.alloc.index.pool_mut().queue_suspect(seg);
            return;
        }
        if L::DISCARDS == Discards::Logged && !self.trusts_free {
            self.alloc.index.pool_mut().table_mut().suspect(seg);
        }
        self.alloc.add_free(seg);
    }

    /// Takes up a segment that may be continued as the open one of its class, unless there is one.
    fn resumes(&mut self, seg: Seg) -> bool {
        let found = self.resume.iter().find(|(s, _)| *s == seg);
        found.is_some_and(|&(_, next)| self.alloc.resume(seg, next))
    }
}
