//! Mounting: the directory is found from the tags of translation pages, and then what is newer than these.
//!
//! Every page has a number of its own, so of all copies of a page, and of all versions of a translation page, the one
//! with the greatest number counts. What a translation page does not have yet is newer than it (see
//! [`map`](super::map)), and fits into the cache. What a cut erase has left does not count: all of it was superseded by
//! pages with greater numbers.
//!
//! The last page that was programmed in a segment without a summary is *suspect*: a cut may have left it so that it
//! reads well now and fails later. If it counts, it is written again before anything else.

use alloc::vec;
use alloc::vec::Vec;

use wearwell_flash::{ErrorKind, Nand};

use super::map::{is_place, number_of};
use super::store::Stream;
use super::table::Use;
use super::{IMPLAUSIBLE_ERASES, PagedConfig, PagedFtl};
use crate::addr::{Lpn, Ppn, Seg};
use crate::ftl::FtlError;
use crate::page::log::{Kind, Log, NandLog, SegmentScan, Tag};
use crate::page::{MountError, MountReport};
use crate::stats::Stats;

/// Numbers from here on are not believed, because no device lives so long (Spec P2).
const IMPLAUSIBLE_SEQ: u64 = 1 << 47;

/// Segments without a summary that a mount leaves as they are: of each it has to read every page.
const MOST_UNSEALED: usize = 4;

/// What a scan has found.
struct Found {
    /// The number of each translation page.
    parts: Vec<u64>,
    /// The number of the newest version of each translation page that no cut can have hit.
    certain: Vec<u64>,
    /// Pages that a cut may have hit, and that can be read.
    suspects: Vec<(Lpn, Ppn)>,
    /// Segments without a summary.
    unsealed: Vec<Seg>,
    greatest_seq: u64,
    /// Something was found that only this engine writes.
    is_ours: bool,
    known_erases: u64,
    headers: u64,
    /// Segments whose erase count cannot be read.
    unknown: Vec<Seg>,
}

/// Adds to a list. How long one gets is up to what is on the chip, so that only here memory may run out.
fn note<T>(list: &mut Vec<T>, found: T) -> Result<(), MountError> {
    list.try_reserve(1).map_err(|_| MountError::NoMemory)?;
    list.push(found);
    Ok(())
}

impl<N: Nand> PagedFtl<N> {
    /// Mounts a chip that was [formatted](Self::format) with the same capacity, after any number of power cuts. A blank
    /// chip is mounted as an empty device.
    ///
    /// # Errors
    /// As [`PageFtl::mount`](crate::PageFtl::mount). [`MountError::NoMemory`] also if the cache has fewer entries than it
    /// had before a cut.
    pub fn mount(log: NandLog<N>, config: PagedConfig) -> Result<(Self, MountReport), MountError> {
        Self::mount_or_return(log, config).map_err(|(_, error)| error)
    }

    /// As [`mount`](Self::mount), but gives the log back if it fails.
    ///
    /// # Errors
    /// As [`mount`](Self::mount).
    #[expect(clippy::result_large_err, reason = "the log comes back with the error")]
    pub fn mount_or_return(
        log: NandLog<N>,
        config: PagedConfig,
    ) -> Result<(Self, MountReport), (NandLog<N>, MountError)> {
        let (mut log, mut faded) = (log, Vec::new());
        loop {
            let mut ftl = Self::empty(log, config).map_err(|(log, error)| (log, error.into()))?;
            let known = faded.len();
            match ftl.recover(&mut faded) {
                Ok(report) => return Ok((ftl, report)),
                // A suspect page has faded. The mount begins again without it, as if the power had failed here.
                Err(_) if faded.len() > known => log = ftl.into_log(),
                Err(error) => return Err((ftl.into_log(), error)),
            }
        }
    }

    fn recover(&mut self, faded: &mut Vec<Ppn>) -> Result<MountReport, MountError> {
        let mut found = Found {
            parts: vec![0; self.store.plan.parts as usize],
            certain: vec![0; self.store.plan.parts as usize],
            suspects: Vec::new(),
            unsealed: Vec::new(),
            greatest_seq: 0,
            is_ours: false,
            known_erases: 0,
            headers: 0,
            unknown: Vec::new(),
        };
        for seg in self.store.table.all() {
            let scan = self.scan(seg)?;
            self.take_segment(seg, &scan, &mut found)?;
            self.take_parts(seg, &scan, &mut found, faded)?;
        }
        let never_formatted = self.is_never_formatted(&found)?;
        for seg in self.store.table.all() {
            if self.store.table.is_closed(seg) {
                let scan = self.scan(seg)?;
                self.take_pages(seg, &scan, &mut found, faded)?;
            }
        }
        let mean = found.known_erases.checked_div(found.headers).unwrap_or(0) as u32;
        found.unknown.iter().for_each(|&seg| self.store.table.set_erases(seg, mean));
        // Spec M6.
        self.store.next_seq = found.greatest_seq + 1;
        self.count_valid(&found, faded)?;
        let rescued_pages = self.rescue(&found, faded)?;
        match self.empty_unsealed(&found) {
            // It would only have spared later mounts some reads.
            Ok(()) | Err(MountError::Ftl(FtlError::WornOut { .. })) => {}
            Err(error) => return Err(error),
        }
        self.store.stats = Stats::default();
        let open_segments = found.unsealed.len() as u32;
        Ok(MountReport { never_formatted, open_segments, rescued_pages, ..MountReport::default() })
    }

    fn scan(&mut self, seg: Seg) -> Result<SegmentScan, MountError> {
        self.store.log.scan(seg)?.ok_or(MountError::NoRecords)
    }

    /// Enters what a segment is used for.
    fn take_segment(&mut self, seg: Seg, scan: &SegmentScan, found: &mut Found) -> Result<(), MountError> {
        if let Some(version) = scan.other_version {
            return Err(MountError::OtherVersion { segment: seg, version });
        }
        if let Some(logical_pages) = scan.other_capacity {
            return Err(MountError::OtherCapacity { segment: seg, logical_pages });
        }
        if scan.bad {
            self.store.set_use(seg, Use::Bad);
            return Ok(());
        }
        found.is_ours |= scan.erases.is_some() || scan.tags.iter().any(Option::is_some);
        match scan.erases.filter(|&erases| erases < IMPLAUSIBLE_ERASES) {
            Some(erases) => {
                self.store.table.set_erases(seg, erases);
                found.known_erases += u64::from(erases);
                found.headers += 1;
            }
            None => note(&mut found.unknown, seg)?,
        }
        let tags = scan.tags.iter().flatten();
        let greatest = tags.map(|tag| tag.seq).filter(|&seq| seq < IMPLAUSIBLE_SEQ).max();
        found.greatest_seq = found.greatest_seq.max(greatest.unwrap_or(0));
        if scan.empty {
            // Nothing tells whether a cut has hit the first page.
            self.store.set_use(seg, Use::Suspect);
            return Ok(());
        }
        self.store.set_of_map(seg, scan.class == Stream::Map.class());
        self.store.set_use(seg, Use::Closed);
        if !scan.sealed {
            note(&mut found.unsealed, seg)?;
        }
        Ok(())
    }

    /// True if the chip is blank. A device that was formatted has a header or a tag in some segment.
    fn is_never_formatted(&mut self, found: &Found) -> Result<bool, MountError> {
        if found.is_ours {
            return Ok(false);
        }
        for seg in self.store.table.all() {
            if self.store.table.used_for(seg) != Use::Bad && !self.store.log.is_blank(seg)? {
                return Err(MountError::Foreign);
            }
        }
        Ok(self.store.table.all().any(|seg| self.store.table.used_for(seg) != Use::Bad))
    }

    /// The pages of a segment that take part: place, page and number. A suspect page takes part if it can be read.
    fn pages_in(
        &mut self,
        seg: Seg,
        scan: &SegmentScan,
        wanted: impl Fn(Lpn) -> bool,
        faded: &[Ppn],
        mut take: impl FnMut(&mut Self, Ppn, Lpn, u64, bool) -> Result<(), MountError>,
    ) -> Result<(), MountError> {
        for (slot, tag) in (0..).zip(&scan.tags) {
            let is_page = |lpn: Lpn, kind: Kind, seq: u64| kind == Kind::Data && seq < IMPLAUSIBLE_SEQ && wanted(lpn);
            let Some(tag) = tag.filter(|tag| is_page(tag.lpn, tag.kind, tag.seq)) else { continue };
            let at = self.store.slots.page(seg, slot);
            let is_suspect = !scan.sealed && slot >= scan.suspect_from;
            // Spec M3.
            if is_suspect && (faded.contains(&at) || !self.store.log.holds(at, tag.lpn, self.map.lend())?) {
                continue;
            }
            take(self, at, tag.lpn, tag.seq, is_suspect)?;
        }
        Ok(())
    }

    /// Enters the translation pages of a segment.
    fn take_parts(&mut self, seg: Seg, scan: &SegmentScan, found: &mut Found, faded: &[Ppn]) -> Result<(), MountError> {
        let (first, parts) = (self.map.logical_pages(), self.store.plan.parts);
        let is_part = move |lpn: Lpn| lpn.0.checked_sub(first).is_some_and(|part| part < parts);
        self.pages_in(seg, scan, is_part, faded, |ftl, at, lpn, seq, is_suspect| {
            let part = lpn.0 - first;
            if !is_suspect {
                let certain = &mut found.certain[part as usize];
                *certain = seq.max(*certain);
            }
            let newest = &mut found.parts[part as usize];
            // Spec M1.
            if seq > *newest {
                *newest = seq;
                ftl.map.set_place(part, at);
                if is_suspect {
                    note(&mut found.suspects, (lpn, at))?;
                }
            }
            Ok(())
        })
    }

    /// Enters the pages of a segment that are newer than their translation page.
    fn take_pages(&mut self, seg: Seg, scan: &SegmentScan, found: &mut Found, faded: &[Ppn]) -> Result<(), MountError> {
        let logical_pages = self.map.logical_pages();
        self.pages_in(
            seg,
            scan,
            |lpn| lpn.0 < logical_pages,
            faded,
            |ftl, at, lpn, seq, is_suspect| {
                // Spec M2.
                let is_newer = seq > found.parts[ftl.map.part_for(lpn) as usize];
                let known = ftl.map.cache.get(lpn);
                if !is_newer || (known.is_some() && number_of(&mut ftl.store, known.unwrap_or(at))? >= Some(seq)) {
                    return Ok(());
                }
                if !ftl.map.cache.has_room(lpn) {
                    return Err(MountError::NoMemory);
                }
                ftl.map.cache.put(lpn, at, true);
                if is_suspect {
                    note(&mut found.suspects, (lpn, at))?;
                }
                Ok(())
            },
        )
    }

    /// Counts the valid pages of each segment. Fails if a suspect translation page can no
    /// longer be read, and adds it to `faded`.
    fn count_valid(&mut self, found: &Found, faded: &mut Vec<Ppn>) -> Result<(), MountError> {
        let Self { map, store, .. } = self;
        for part in 0..store.plan.parts {
            let at = map.place_of(part);
            if !at.is_some() {
                continue;
            }
            store.gain(at);
            let is_suspect = found.suspects.contains(&(map.page_of(part), at));
            if is_suspect && map.try_load(part, store)?.is_none() {
                note(faded, at)?;
                return Err(ErrorKind::Uncorrectable.into());
            }
            map.load(part, store)?;
            for lpn in map.covered(part).map(Lpn) {
                let at = map.entry(lpn);
                if is_place(at) && map.cache.get(lpn).is_none() && store.is_in_use(at) {
                    store.gain(at);
                }
            }
        }
        map.cache.places().for_each(|(_, at)| store.gain(at));
        Ok(())
    }

    /// Makes the segments free of which nothing counts, and nothing will if these suspect pages fade.
    fn release_empty(&mut self, suspects: &[(Lpn, Ppn)], certain: &[u64]) -> Result<(), MountError> {
        for seg in self.store.table.all() {
            if !self.store.table.is_closed(seg) || self.store.table.valid(seg) > 0 {
                continue;
            }
            let is_kept = !suspects.is_empty() && {
                let scan = self.scan(seg)?;
                let hangs = |tag: &Tag| suspects.iter().any(|&(lpn, _)| self.hangs_on(tag, lpn, certain));
                scan.tags.iter().flatten().any(hangs)
            };
            if !is_kept {
                // Spec M4.
                self.store.set_use(seg, Use::Suspect);
            }
        }
        Ok(())
    }

    /// True if it may depend on `suspect` whether a copy counts: an older one of that page, or, if that is a translation
    /// page, of a page that it covers. Versions before the newest certain one are needed in no case.
    fn hangs_on(&self, copy: &Tag, suspect: Lpn, certain: &[u64]) -> bool {
        match self.map.part_in(suspect) {
            Some(part) if suspect == copy.lpn => copy.seq >= certain[part as usize],
            Some(part) => self.map.covered(part).contains(&copy.lpn.0),
            None => suspect == copy.lpn,
        }
    }

    /// Writes the suspect pages that count once more. Returns their number. Fails if one of them can no longer be read,
    /// and adds it to `faded`.
    ///
    /// Until all are written, no segment is erased that holds what counts if they fade: older copies of them, and all that
    /// a suspect translation page may have superseded.
    fn rescue(&mut self, found: &Found, faded: &mut Vec<Ppn>) -> Result<u32, MountError> {
        let mut rescued = 0;
        self.release_empty(&found.suspects, &found.certain)?;
        // Host pages, which were found last, come first: translation pages take their entries out of the cache.
        for &(lpn, at) in found.suspects.iter().rev() {
            let part = self.map.part_in(lpn);
            let counts = match part {
                Some(part) => self.map.place_of(part) == at,
                None => self.map.cache.get(lpn) == Some(at),
            };
            if !counts {
                continue;
            }
            let is_readable = match part {
                Some(part) => self.map.rescue(part, &mut self.store)?,
                None => match self.try_move(lpn, at) {
                    Err(FtlError::Unreadable { .. }) => false,
                    moved => moved.map(|()| true)?,
                },
            };
            if !is_readable {
                note(faded, at)?;
                return Err(ErrorKind::Uncorrectable.into());
            }
            rescued += 1;
        }
        if rescued > 0 {
            self.store.pad_all()?;
        }
        self.release_empty(&[], &[])?;
        Ok(rescued)
    }

    /// Empties segments without a summary, if there are many: sessions that end in a cut would leave more and more of
    /// them.
    fn empty_unsealed(&mut self, found: &Found) -> Result<(), MountError> {
        while self.store.map_segments() > self.store.plan.map_segments && self.map.compact_more(&mut self.store)? {}
        let mut unsealed: Vec<Seg> = found.unsealed.clone();
        unsealed.retain(|&seg| self.store.table.is_closed(seg) && !self.store.table.is_of_map(seg));
        unsealed.sort_by_key(|&seg| core::cmp::Reverse(self.store.table.valid(seg)));
        for &victim in unsealed.iter().skip(MOST_UNSEALED) {
            self.begin(victim, false)?;
            self.clean_step(u32::MAX)?;
        }
        Ok(())
    }
}
