//! Start-up: the map is built from what the log recorded, and what a power cut left is put in order.
//!
//! Of all copies of a page the one with the greatest sequence number wins. Copies with equal numbers are an
//! original and what cleaning made of it; either will do if it can be read. Pages that a cut may have hit are
//! *suspect*: they are served only after they have been [rescued](super::rescue).

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;

use wearwell_flash::ErrorKind;

use super::allocate::OpenSegment;
use super::config::{IMPLAUSIBLE_CLOCK, IMPLAUSIBLE_ERASES, URGENT_BELOW, discards_per_page};
use super::log::{Discards, Kind, Log, SegmentScan, Tag};
use super::segments::SegState;
use super::{Config, ConfigError, PageFtl};
use crate::addr::{Lpn, Ppn, Seg};
use crate::ftl::{FtlError, Probe};

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

/// What is collected while segments are scanned.
#[derive(Debug)]
struct Recovery {
    /// Sequence number of the copy that the map points to, by logical page.
    newest: Vec<u64>,
    /// Copies with the same number as the one in the map.
    ties: Vec<Found>,
    /// Pages that a cut may have hit, in the order of their numbers once sorted.
    suspects: Vec<Found>,
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

impl<L: Log, P: Probe> PageFtl<L, P> {
    /// Mounts a chip that was [formatted](Self::format) before with the same capacity, whatever happened to it since.
    /// Policies may differ. Nothing on flash says that another engine wrote it: keep that where you keep the chip's
    /// shape. (A disk image does, in its header.)
    ///
    /// # Errors
    /// [`MountError::NoRecords`] for a layout without records, [`MountError::OtherVersion`] for one of another version,
    /// [`MountError::OtherCapacity`] for another number of logical pages; otherwise only if the chip fails.
    pub fn mount(log: L, probe: P, config: Config) -> Result<(Self, MountReport), MountError> {
        Self::mount_or_return(log, probe, config).map_err(|(_, error)| error)
    }

    /// As [`mount`](Self::mount), but gives the log back if it fails.
    ///
    /// # Errors
    /// As [`mount`](Self::mount).
    pub fn mount_or_return(log: L, probe: P, config: Config) -> Result<(Self, MountReport), (L, MountError)> {
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
                    ftl.abandon_open();
                    (log, probe) = (ftl.log, ftl.probe);
                }
                Err(error) => return Err((ftl.log, error)),
            }
        }
    }

    /// Builds the map and puts the flash in order, as if the suspect pages in `faded` could not be read. If another one
    /// cannot be read any more when it is to be copied, adds it and fails.
    fn recover(&mut self, faded: &mut Vec<Ppn>) -> Result<MountReport, MountError> {
        let mut recovery = Recovery {
            newest: vec![0; self.map.logical_pages() as usize],
            ties: Vec::new(),
            suspects: Vec::new(),
            losses: Vec::new(),
            open: Vec::new(),
            resume: Vec::new(),
            greatest_seq: 0,
            trusts_free: false,
            known_erases: 0,
            headers: 0,
            report: MountReport::default(),
        };
        for seg in self.segments.all() {
            // Spec P1.
            let scan = self.log.scan(seg)?.ok_or(MountError::NoRecords)?;
            if let Some(version) = scan.other_version {
                return Err(MountError::OtherVersion { segment: seg, version });
            }
            if let Some(logical_pages) = scan.other_capacity {
                return Err(MountError::OtherCapacity { segment: seg, logical_pages });
            }
            self.take_in(seg, &scan, &mut recovery);
        }
        recovery.suspects.retain(|s| !faded.contains(&s.at));
        recovery.report.clean = self.clean_mark.is_some();
        let suspects = self.weigh_suspects(&mut recovery)?;
        self.weigh_ties(&mut recovery)?;
        self.apply_discards(&suspects, &mut recovery, faded)?;
        self.vacate_segments(&suspects, &mut recovery)?;
        self.place_segments(&recovery);
        // Spec P7.
        let losses = recovery.losses.iter().filter(|loss| self.place_of(loss.lpn) == loss.at);
        self.lost = losses.map(|loss| loss.lpn).collect();
        // Spec P12.
        self.next_seq = recovery.greatest_seq + 1;
        self.start();
        self.confirm_winners()?;
        self.note_failures();
        // After a clean shutdown all that the map points to lasts; what it does not point to is as suspect as before.
        if !recovery.report.clean {
            // Spec P11.
            match self.rescue(&suspects, faded) {
                Ok(rescued_pages) => recovery.report.rescued_pages = rescued_pages,
                // What is not rescued can be read for now, as long as nothing is written or erased.
                Err(MountError::Ftl(worn_out @ FtlError::WornOut { .. })) => {
                    self.abandon_open();
                    self.find_faded(&suspects, faded)?;
                    self.refuse_writes(worn_out);
                }
                Err(error) => return Err(error),
            }
        }
        // As long as nothing is dirty, empty segments can be erased without a slot for the discard map.
        while self.writable.is_ok() && self.free.usable() < URGENT_BELOW && self.reclaim_one()? {}
        recovery.report.read_only = self.writable.is_err();
        self.stats.reset();
        Ok(recovery.report)
    }

    /// Fails if a suspect page that the map points to can be read no more, and adds it to `faded`: an older copy counts.
    fn find_faded(&mut self, suspects: &[Found], faded: &mut Vec<Ppn>) -> Result<(), MountError> {
        for suspect in suspects {
            if self.place_of(suspect.lpn) == suspect.at && !self.holds(suspect.at, suspect.lpn)? {
                faded.push(suspect.at);
                return Err(ErrorKind::Uncorrectable.into());
            }
        }
        Ok(())
    }

    /// Enters what was found in a segment.
    fn take_in(&mut self, seg: Seg, scan: &SegmentScan, recovery: &mut Recovery) {
        let i = seg.index();
        if scan.bad {
            self.segments.set_bad(seg);
            return;
        }
        // Spec P2.
        if let Some(erases) = scan.erases.filter(|&e| e < IMPLAUSIBLE_ERASES) {
            self.segments.erases[i] = erases;
            recovery.known_erases += u64::from(erases);
            recovery.headers += 1;
        } else {
            self.segments.erases[i] = u32::MAX;
        }
        self.segments.suspect[i] = scan.needs_erase;
        if scan.empty {
            return;
        }
        self.segments.state[i] = SegState::Open;
        self.segments.class[i] = scan.class;
        let opened = scan.opened.filter(|&clock| clock < IMPLAUSIBLE_CLOCK);
        self.segments.opened[i] = opened.unwrap_or(u64::MAX);
        self.clock = self.clock.max(opened.map_or(0, |opened| opened + u64::from(self.shape.slots)));
        if !scan.sealed {
            recovery.open.push(seg);
            recovery.report.open_segments += 1;
        }
        if let Some(next) = scan.resume_at {
            recovery.resume.push((seg, next));
        }
        // Also what counts for nothing has used up its numbers.
        let newest = scan.tags.iter().flatten().map(|tag| tag.seq).filter(|&seq| seq < IMPLAUSIBLE_CLOCK).max();
        recovery.greatest_seq = recovery.greatest_seq.max(newest.unwrap_or(0));
        if scan.is_void() {
            recovery.report.undone_segments += 1;
            return;
        }
        let records = scan.tags.iter().flatten().count();
        for (slot, tag) in scan.tags.iter().enumerate() {
            let Some(tag) = tag else { continue };
            if tag.seq >= IMPLAUSIBLE_CLOCK {
                continue;
            }
            if tag.kind == Kind::CleanMark {
                // Spec P4.
                if records == 1 {
                    self.clean_mark = Some(seg);
                    recovery.trusts_free = tag.lpn == Lpn(0);
                }
            } else if tag.kind != Kind::RescueMark && tag.lpn.0 < self.map.logical_pages() {
                let suspect = !scan.sealed && slot as u32 >= scan.suspect_from;
                self.offer(self.map.ppn(seg, slot as u32), tag, suspect, recovery);
            }
        }
    }

    /// Enters a copy of a page.
    fn offer(&mut self, at: Ppn, tag: &Tag, suspect: bool, recovery: &mut Recovery) {
        let found = Found::new(tag, at);
        if tag.kind == Kind::Lost {
            recovery.losses.push(found);
        }
        if suspect {
            recovery.suspects.push(found);
            return;
        }
        let mapped = self.place_of(tag.lpn).is_some();
        let newest = &mut recovery.newest[tag.lpn.0 as usize];
        // Spec P5.
        match L::newer(tag.seq, *newest) {
            Ordering::Greater => {
                *newest = tag.seq;
                self.repoint(found);
            }
            Ordering::Equal if mapped => recovery.ties.push(found),
            _ if !mapped => {
                *newest = tag.seq;
                self.repoint(found);
            }
            Ordering::Equal | Ordering::Less => {}
        }
    }

    /// Points the map at a copy, in place of the one it points to.
    fn repoint(&mut self, found: Found) {
        let old = self.place_of(found.lpn);
        if old.is_some() {
            let seg = self.map.release(old);
            self.segments.valid[seg.index()] -= 1;
        }
        let seg = self.map.segment_of(found.at);
        self.map.bind(found.lpn, seg, found.at.0 - self.map.ppn(seg, 0).0);
        self.segments.valid[seg.index()] += 1;
    }

    /// True if the page at `at` can be read and is one of `lpn`; its data is then in `scratch`.
    fn holds(&mut self, at: Ppn, lpn: Lpn) -> Result<bool, MountError> {
        let mut page = core::mem::take(&mut self.scratch);
        let holds = self.log.holds(at, lpn, &mut page);
        self.scratch = page;
        Ok(holds?)
    }

    /// Decides which suspect pages are the newest of what they hold, and returns all suspects: those that the
    /// map points to in the end have to be rescued.
    fn weigh_suspects(&mut self, recovery: &mut Recovery) -> Result<Vec<Found>, MountError> {
        let mut suspects = core::mem::take(&mut recovery.suspects);
        suspects.sort_by_key(|s| (s.seq, s.at));
        for &suspect in &suspects {
            // Spec P6.
            if !self.holds(suspect.at, suspect.lpn)? {
                continue;
            }
            let newest = recovery.newest[suspect.lpn.0 as usize];
            let current = self.place_of(suspect.lpn);
            if suspect.seq > newest || !current.is_some() {
                recovery.newest[suspect.lpn.0 as usize] = suspect.seq;
                self.repoint(suspect);
            } else if suspect.seq == newest {
                recovery.ties.push(suspect);
            }
        }
        Ok(suspects)
    }

    /// Among copies with equal numbers, keeps one that can be read.
    fn weigh_ties(&mut self, recovery: &mut Recovery) -> Result<(), MountError> {
        let mut ties = core::mem::take(&mut recovery.ties);
        ties.retain(|tie| recovery.newest[tie.lpn.0 as usize] == tie.seq);
        for tie in &mut ties {
            let current = self.place_of(tie.lpn);
            if !self.holds(current, tie.lpn)? {
                self.repoint(*tie);
                tie.at = current;
            }
        }
        recovery.ties = ties;
        Ok(())
    }

    /// Where all that a segment holds can be read elsewhere as well, goes over to those copies, so that it comes
    /// free. Open segments come first: cleaning that is cut again and again must not use up the free ones. Behind
    /// them come victims of which a cut erase has left a part.
    fn vacate_segments(&mut self, suspects: &[Found], recovery: &mut Recovery) -> Result<(), MountError> {
        let mut ties = core::mem::take(&mut recovery.ties);
        ties.retain(|tie| self.place_of(tie.lpn).is_some());
        let places = ties.iter().flat_map(|tie| [tie.at, self.place_of(tie.lpn)]);
        let mut doomed = Vec::new();
        for seg in self.segments_of(places) {
            if self.log.is_half_erased(seg)? {
                doomed.push(seg);
            }
        }
        // What is suspect may be readable for the last time. But where an erase had begun, something certain was
        // elsewhere.
        let is_doomed = |ftl: &Self, at: Ppn| doomed.contains(&ftl.map.segment_of(at));
        let lasts = |tie: &Found| suspects.iter().all(|s| s.at != tie.at);
        ties.retain(|tie| !is_doomed(self, tie.at) && (is_doomed(self, self.place_of(tie.lpn)) || lasts(tie)));
        let others = self.segments_of(ties.iter().map(|tie| self.place_of(tie.lpn)));
        for seg in recovery.open.iter().copied().chain(others) {
            recovery.report.undone_segments += u32::from(self.vacate(seg, &mut ties)?);
        }
        Ok(())
    }

    /// The segments that pages lie in, each once.
    fn segments_of(&self, pages: impl Iterator<Item = Ppn>) -> Vec<Seg> {
        let mut segments: Vec<Seg> = pages.map(|at| self.map.segment_of(at)).collect();
        segments.sort();
        segments.dedup();
        segments
    }

    /// Points the map away from a segment, if `ties` have a readable copy elsewhere of each of its pages.
    fn vacate(&mut self, seg: Seg, ties: &mut Vec<Found>) -> Result<bool, MountError> {
        let is_held = |ftl: &Self, tie: &Found| ftl.map.segment_of(ftl.place_of(tie.lpn)) == seg;
        let is_elsewhere = |ftl: &Self, tie: &Found| ftl.map.segment_of(tie.at) != seg;
        let mut copies: Vec<Found> =
            ties.iter().copied().filter(|t| is_held(self, t) && is_elsewhere(self, t)).collect();
        copies.sort_by_key(|t| t.lpn);
        copies.dedup_by_key(|t| t.lpn);
        let valid = self.segments.valid[seg.index()];
        // Spec P9.
        if valid == 0 || copies.len() as u32 != valid {
            return Ok(false);
        }
        for copy in &copies {
            if !self.holds(copy.at, copy.lpn)? {
                return Ok(false);
            }
        }
        copies.iter().for_each(|&copy| self.repoint(copy));
        ties.retain(|t| is_elsewhere(self, t) && self.place_of(t.lpn) != t.at);
        Ok(true)
    }

    /// Unmaps what the discard map calls unmapped, where the copy is older than that part of the map. Fails if a part that
    /// is suspect can be read no more, and adds it to `faded`.
    fn apply_discards(
        &mut self,
        suspects: &[Found],
        recovery: &mut Recovery,
        faded: &mut Vec<Ppn>,
    ) -> Result<(), MountError> {
        if L::DISCARDS != Discards::Logged || !L::STORES {
            return Ok(());
        }
        let per_page = discards_per_page(self.shape.page_bytes);
        for chunk in 0..self.dirty_discards.len() as u32 {
            let part = Lpn(self.config.logical_pages + chunk);
            let at = self.place_of(part);
            if !at.is_some() {
                continue;
            }
            let written = recovery.newest[part.0 as usize];
            if recovery.losses.iter().any(|loss| loss.at == at) || !self.holds(at, part)? {
                if suspects.iter().any(|suspect| suspect.at == at) {
                    faded.push(at);
                    return Err(ErrorKind::Uncorrectable.into());
                }
                recovery.report.lost_discards += 1;
                self.unbind(part);
                continue;
            }
            let first = chunk * per_page;
            for lpn in (first..self.config.logical_pages.min(first + per_page)).map(Lpn) {
                let bit = lpn.0 - first;
                // Spec P8.
                let discarded = self.scratch[bit as usize / 8] >> (bit % 8) & 1 == 1;
                if discarded && self.place_of(lpn).is_some() && recovery.newest[lpn.0 as usize] < written {
                    let seg = self.unbind(lpn);
                    self.dead.discarded(seg);
                }
            }
        }
        Ok(())
    }

    /// Takes a mapped page out of the map. Returns the segment that it lies in.
    fn unbind(&mut self, lpn: Lpn) -> Seg {
        let seg = self.map.release(self.place_of(lpn));
        self.map.unmap(lpn);
        self.segments.valid[seg.index()] -= 1;
        seg
    }

    /// Gives every segment its state, now that it is known what is valid in it.
    fn place_segments(&mut self, recovery: &Recovery) {
        let mean = recovery.known_erases.checked_div(recovery.headers).unwrap_or(0) as u32;
        let now = self.clock;
        for seg in self.segments.all() {
            let i = seg.index();
            // Spec P10.
            if self.segments.erases[i] == u32::MAX {
                self.segments.erases[i] = mean;
            }
            let opened = self.segments.opened[i].min(now);
            self.segments.opened[i] = opened;
            self.segments.invalidated[i] = opened;
            self.segments.newest[i] = opened;
            let state = self.segments.state[i];
            match state {
                // NOR has no bad-block marks: nobody counts on the block until its erase has shown that it is good.
                SegState::Free if L::DISCARDS == Discards::Flagged && self.segments.suspect[i] => {
                    self.segments.state[i] = SegState::Closed;
                    self.empties.push_back(seg);
                }
                SegState::Free => {
                    self.segments.suspect[i] |= L::DISCARDS == Discards::Logged && !recovery.trusts_free;
                    self.add_free(seg);
                }
                SegState::Open if self.clean_mark == Some(seg) => self.segments.state[i] = SegState::Erasing,
                SegState::Open if self.resumes(seg, recovery) => {}
                SegState::Open => {
                    self.segments.close(seg);
                    if self.segments.valid[i] == 0 {
                        self.empties.push_back(seg);
                    }
                }
                SegState::Closed | SegState::Victim | SegState::Erasing | SegState::Bad => {}
            }
        }
    }

    /// Takes up a segment that may be continued as the open one of its class, unless there is one.
    fn resumes(&mut self, seg: Seg, recovery: &Recovery) -> bool {
        let open = &mut self.open[self.segments.class[seg.index()].index()];
        let Some(&(_, next)) = recovery.resume.iter().find(|(s, _)| *s == seg) else { return false };
        let is_first = !open.is_open();
        if is_first {
            *open = OpenSegment { seg, next };
        }
        is_first
    }

    /// Tells the log which copies won, so that flags on flash agree with the map.
    fn confirm_winners(&mut self) -> Result<(), MountError> {
        let map = &self.map;
        self.log.confirm(&|lpn: Lpn| if lpn.0 < map.logical_pages() { map.lookup(lpn) } else { Ppn::NONE })?;
        Ok(())
    }
}
