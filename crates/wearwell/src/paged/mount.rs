//! Mounting: what lies on flash is found again, and then [made safe](super::rescue).
//!
//! Every page has a number of its own, so of all copies of a page, and of all versions of a translation page, the one
//! with the greatest number counts. What a translation page does not have yet is newer than it (see
//! [`map`](super::map)), and fits into the cache. What a cut erase has left does not count: all of it was superseded by
//! pages with greater numbers.
//!
//! A cut can have hit one page only: the one with the greatest number of all, if nothing was programmed behind it in
//! its segment. It may read well now and fail later. The same holds for what failed programs have left, and the numbers
//! before are those of such tries. They are the *suspects*, and the tables are made as if they were not there. That is
//! the state that the first try began with, and nothing was erased since that belongs to it: before a segment becomes
//! free, a translation page that is the last of all gets padding behind it ([`Map::secure`](super::map::Map)). So what
//! is free in this state is free whether the suspects last or fade.
//!
//! If all of them fade, the page before them will look like one. If that is a translation page, all is then as it was
//! before it. So until the suspect is copied, only empty segments are taken, and there are enough of these.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use wearwell_flash::Nand;

use super::halt::Halt;
use super::map::{LOST, is_place, number_of};
use super::place::StreamPlacement;
use super::store::{Store, Stream};
use super::table::{SegSet, Use};
use super::which::VictimWorth;
use super::{PagedConfig, PagedFtl};
use crate::addr::{Lpn, Ppn, Seg};
use crate::page::log::{Kind, Log, MapLog, SegmentScan, Tag};
use crate::page::{IMPLAUSIBLE_CLOCK, IMPLAUSIBLE_ERASES, MountError, MountReport, check_writer, is_blank, with_log};
use crate::stats::Stats;

/// A page that was found: which, where, and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) lpn: Lpn,
    pub(super) at: Ppn,
    pub(super) seq: u64,
    /// The last page of its segment, behind which nothing was programmed.
    is_last: bool,
}

const NO_PAGE: Page = Page { lpn: Lpn(u32::MAX), at: Ppn::NONE, seq: 0, is_last: false };

/// Most versions of one page of which a cut and failed programs may have left something, and the page before them.
const MOST_LATEST: usize = 8;

/// The pages with the greatest numbers of all that count for something, the greatest first.
#[derive(Debug)]
pub(super) struct Latest {
    pages: [Page; MOST_LATEST],
    len: usize,
}

impl Latest {
    const EMPTY: Self = Self { pages: [NO_PAGE; MOST_LATEST], len: 0 };

    /// Enters a page. Returns the one that has no place among them any more.
    fn enter(&mut self, page: Page) -> Option<Page> {
        let mut next = page;
        for known in &mut self.pages[..self.len] {
            if next.seq > known.seq {
                core::mem::swap(known, &mut next);
            }
        }
        let Some(free) = self.pages.get_mut(self.len) else { return Some(next) };
        *free = next;
        self.len += 1;
        None
    }

    /// The suspects, and those behind them: see M5.
    fn split(&self) -> (&[Page], &[Page]) {
        let pages = &self.pages[..self.len];
        let is_suspect = |page: &&Page| page.is_last && page.lpn == self.pages[0].lpn;
        pages.split_at(pages.iter().take_while(is_suspect).count())
    }

    /// Of one page, the versions that a cut or a failed program may have left, the newest first.
    pub(super) fn suspects(&self) -> &[Page] {
        self.split().0
    }

    /// The other pages.
    fn others(&self) -> &[Page] {
        self.split().1
    }
}

/// What a scan has found.
struct Found {
    /// The number of each translation page.
    parts: Vec<u64>,
    latest: Latest,
    /// Segments without a summary.
    unsealed: SegSet,
    /// The greatest number, also of pages that count for nothing.
    greatest_seq: u64,
    /// Something was found that only this engine writes.
    is_ours: bool,
    /// Of the segments with a header, as many erases as can be counted.
    known_erases: u32,
    headers: u32,
    /// Segments whose erase count cannot be read.
    unknown: SegSet,
    /// A slot cannot be read. What it held may have decayed, also if a cut may have hit it.
    has_gaps: bool,
}

impl<N: Nand, V: VictimWorth, W: StreamPlacement> PagedFtl<N, V, W> {
    /// Mounts a chip that was [formatted](Self::format) with the same capacity, after any number of power cuts. A blank
    /// chip is mounted as an empty device. With a smaller cache than before a cut, what was discarded may come back.
    ///
    /// # Errors
    /// As [`PageFtl::mount`](crate::PageFtl::mount).
    pub fn mount(log: MapLog<N>, config: PagedConfig<V, W>) -> Result<(Self, MountReport), MountError> {
        Self::mount_or_return(log, config).map_err(|(_, error)| error)
    }

    /// As [`mount`](Self::mount), but gives the log back if it fails.
    ///
    /// # Errors
    /// As [`mount`](Self::mount).
    #[expect(clippy::result_large_err, reason = "the log comes back with the error")]
    pub fn mount_or_return(
        log: MapLog<N>,
        config: PagedConfig<V, W>,
    ) -> Result<(Self, MountReport), (MapLog<N>, MountError)> {
        let mut place = Some(log);
        let mounted = Self::mount_boxed(&mut place, config);
        mounted.map(|(ftl, report)| (*ftl, report)).map_err(|error| with_log(place, error))
    }

    /// As [`mount_or_return`](Self::mount_or_return), with the engine at its place from the start. The log lies in
    /// `log`, and is back there with an error.
    // Not inline, for less code.
    #[inline(never)]
    pub(crate) fn mount_boxed(
        log: &mut Option<MapLog<N>>,
        config: PagedConfig<V, W>,
    ) -> Result<(Box<Self>, MountReport), MountError> {
        let mut trusts = true;
        loop {
            let mut ftl = Self::empty(log, config)?;
            let error = match ftl.recover(trusts) {
                Ok(report) => return Ok((ftl, report)),
                Err(halt) => ftl.store.not_opened(halt),
            };
            *log = Some(ftl.store.log);
            // What was copied counts for nothing, and the mount begins again, as if the power had failed here. Each
            // time there is a suspect or a doubted page less, or a block that works.
            if !ftl.store.begins_again {
                return Err(error);
            }
            // It may have been the checkpoint that could not be read twice.
            trusts = false;
        }
    }

    #[inline(never)]
    fn recover(&mut self, trusts: bool) -> Result<MountReport, Halt> {
        if self.take_checkpoint(trusts)? {
            return Ok(MountReport { clean: true, ..MountReport::default() });
        }
        let parts = self.store.plan.parts as usize;
        let mut found = Found {
            parts: vec![0; parts],
            latest: Latest::EMPTY,
            unsealed: SegSet::new(self.store.table.segments()),
            greatest_seq: 0,
            is_ours: false,
            known_erases: 0,
            headers: 0,
            unknown: SegSet::new(self.store.table.segments()),
            has_gaps: false,
        };
        for seg in self.store.table.all() {
            let scan = self.store.log.scan_segment(seg)?;
            self.take_segment(seg, &scan, &mut found)?;
            self.take_parts(seg, &scan, &mut found)?;
        }
        let never_formatted = self.is_never_formatted(&found)?;
        // Spec M5.
        let latest = core::mem::replace(&mut found.latest, Latest::EMPTY);
        self.map.set_suspect_from(latest.suspects().last().map_or(u64::MAX, |page| page.seq));
        latest.others().iter().for_each(|page| self.take_part(page, &mut found));
        // Nothing is entered of segments without pages that may be newer than their translation page.
        let oldest = found.parts.iter().fold(u64::MAX, |oldest, &number| oldest.min(number));
        let (since, until) = (self.store.clock(oldest), self.store.clock(found.greatest_seq));
        for seg in self.store.table.all() {
            if self.store.table.is_closed(seg) && self.store.table.may_be_newer(seg, since, until) {
                let scan = self.store.log.scan_segment(seg)?;
                self.take_pages(seg, &scan, &found)?;
            }
        }
        // Spec M14. A suspect is copied, which takes an entry, too.
        let is_data = |page: &Page| self.map.part_in(page.lpn).is_none();
        if let Some(page) = latest.suspects().first().filter(|page| is_data(page)) {
            self.make_room_in_mount(page.lpn);
        }
        let mean = found.known_erases.checked_div(found.headers).unwrap_or(0);
        let unknown = self.store.table.all().filter(|&seg| found.unknown.contains(seg));
        unknown.for_each(|seg| self.store.table.set_erases(seg, mean));
        // Spec M6.
        self.store.next_seq = self.store.next_seq.max(found.greatest_seq + 1);
        self.count_valid()?;
        let before = latest.others().first();
        // If all suspects fade, this page looks like one.
        self.store.keeps_stale = before.is_some_and(|page| page.is_last && self.map.part_in(page.lpn).is_some());
        let (rescued_pages, read_only) = self.make_safe(&latest, &found.unsealed)?;
        self.store.stats = Stats::default();
        let open_segments = found.unsealed.len();
        Ok(MountReport { never_formatted, open_segments, rescued_pages, read_only, ..MountReport::default() })
    }

    /// Enters what a segment is used for.
    fn take_segment(&mut self, seg: Seg, scan: &SegmentScan, found: &mut Found) -> Result<(), Halt> {
        check_writer(seg, scan).map_err(|error| self.store.refuse(error))?;
        if scan.bad {
            self.store.set_use(seg, Use::Bad);
            return Ok(());
        }
        // Also of a segment that is void, whose numbers are used up. Those that no device lives to see are passed over
        // (P2).
        let mut last = None;
        for tag in scan.tags.iter().flatten() {
            if tag.seq < IMPLAUSIBLE_CLOCK {
                found.greatest_seq = found.greatest_seq.max(tag.seq);
            }
            last = Some(tag.seq);
        }
        found.is_ours |= scan.erases.is_some() || last.is_some();
        match scan.erases.filter(|&erases| erases < IMPLAUSIBLE_ERASES) {
            Some(erases) => {
                self.store.table.set_erases(seg, erases);
                found.known_erases = found.known_erases.saturating_add(erases);
                found.headers += 1;
            }
            None => found.unknown.insert(seg),
        }
        found.has_gaps |= !scan.gone.is_empty();
        // Spec M3. Nothing tells whether a cut has hit the first page of an empty segment.
        if last.is_some() && !scan.sealed {
            found.unsealed.insert(seg);
        }
        let Some(last) = last.filter(|_| !scan.may_be_void()) else {
            self.store.set_use(seg, Use::Suspect);
            return Ok(());
        };
        self.store.table.set_epoch(seg, self.store.epoch(last));
        self.store.set_of_map(seg, Stream::is_of_map(scan.class));
        // Spec M13.
        let is_doubted = scan.doubts_end || scan.erases.is_none();
        self.store.set_use(seg, if is_doubted { Use::Doubted } else { Use::Closed });
        Ok(())
    }

    /// True if the chip is blank. A device that was formatted has a header or a tag in some segment, if need be where a
    /// scan does not look.
    fn is_never_formatted(&mut self, found: &Found) -> Result<bool, Halt> {
        if found.is_ours {
            return Ok(false);
        }
        let Store { log, table, .. } = &mut self.store;
        let good = table.all().filter(|&seg| table.used_for(seg) != Use::Bad);
        match is_blank(log, good) {
            Ok(is_blank) => Ok(is_blank && self.store.has_good()),
            Err(error) => Err(self.store.refuse(error)),
        }
    }

    /// Gives `take` the pages of a segment that take part. The last one of a segment that was not ended has to be
    /// readable for that.
    fn pages_in(
        &mut self,
        seg: Seg,
        scan: &SegmentScan,
        wanted: Range<u32>,
        take: &mut dyn FnMut(&mut Self, Page) -> Result<(), Halt>,
    ) -> Result<(), Halt> {
        if !self.store.table.is_closed(seg) {
            return Ok(());
        }
        for (slot, tag) in (0..).zip(&scan.tags) {
            let is_page =
                |tag: &Tag| tag.kind == Kind::Data && tag.seq < IMPLAUSIBLE_CLOCK && wanted.contains(&tag.lpn.0);
            let Some(tag) = tag.filter(is_page) else { continue };
            let at = self.store.slots.page(seg, slot);
            // The summary is asked for last, since that is a read.
            let is_last = !scan.sealed && slot >= scan.suspect_from && !self.store.log.has_begun_summary(seg)?;
            // Spec M4.
            if is_last && !self.store.log.holds(at, tag.lpn, self.map.lend())? {
                continue;
            }
            take(self, Page { lpn: tag.lpn, at, seq: tag.seq, is_last })?;
        }
        Ok(())
    }

    /// Enters the translation pages of a segment, but for the latest pages of all, which are only noted. Notes when the
    /// newest of the host's pages was written that are newer than their translation page, as far as this is found.
    /// Another version of it can only be newer still.
    fn take_parts(&mut self, seg: Seg, scan: &SegmentScan, found: &mut Found) -> Result<(), Halt> {
        let end = self.map.logical_pages() + self.store.plan.parts;
        self.pages_in(seg, scan, 0..end, &mut |ftl, page| {
            if page.lpn.0 < ftl.map.logical_pages() && page.seq > found.parts[ftl.map.part_for(page.lpn) as usize] {
                // Numbers only grow within a segment.
                let clock = ftl.store.clock(page.seq);
                ftl.store.table.note_newest(seg, clock);
            }
            if let Some(beyond) = found.latest.enter(page) {
                ftl.take_part(&beyond, found);
            }
            Ok(())
        })
    }

    /// Enters a page, if it is a translation page and the newest of its part.
    fn take_part(&mut self, page: &Page, found: &mut Found) {
        let Some(part) = self.map.part_in(page.lpn) else { return };
        let newest = &mut found.parts[part as usize];
        // Spec M1.
        if page.seq > *newest {
            *newest = page.seq;
            self.map.set_place(part, page.at);
        }
    }

    /// Enters the pages of a segment that are newer than their translation page, but for the suspects.
    fn take_pages(&mut self, seg: Seg, scan: &SegmentScan, found: &Found) -> Result<(), Halt> {
        let logical_pages = self.map.logical_pages();
        self.pages_in(seg, scan, 0..logical_pages, &mut |ftl, Page { lpn, at, seq, is_last }| {
            // Spec M2, M14.
            let part = ftl.map.part_for(lpn);
            let is_newer = seq > found.parts[part as usize] && ftl.map.place_of(part) != LOST;
            if !is_newer || ftl.map.is_suspect(seq) {
                return Ok(());
            }
            if let Some(known) = ftl.map.cache.get(lpn) {
                let Some(number) = number_of(&mut ftl.store, known)? else {
                    // It has faded since it was found, and nobody knows any more what it took the place of.
                    return Err(ftl.store.begin_again());
                };
                if number >= seq {
                    return Ok(());
                }
            }
            ftl.make_room_in_mount(lpn);
            if ftl.map.place_of(part) != LOST {
                // Known, since `count_valid` does not count what the translation page says of it.
                ftl.map.cache.put(lpn, at, true);
            }
            // Spec M13. Behind an earlier cut it was copied, and it may be that copy which cannot be read.
            if is_last && found.has_gaps {
                ftl.store.set_use(seg, Use::Doubted);
            }
            Ok(())
        })
    }

    /// Makes room for the entry of a page, if need be by losing a part, which may be the page's own.
    fn make_room_in_mount(&mut self, lpn: Lpn) {
        if !self.map.cache.has_room_in_mount(lpn) {
            self.map.lose_fullest();
        }
    }

    /// Counts the valid pages of each segment.
    fn count_valid(&mut self) -> Result<(), Halt> {
        loop {
            let table = &mut self.store.table;
            table.all().for_each(|seg| table.set_valid(seg, 0));
            // Pages of a segment that was revived had been passed over before.
            if !self.count_pages()? {
                return Ok(());
            }
        }
    }

    /// Counts the valid pages, and revives the segments that they lie in. True if there was one.
    fn count_pages(&mut self) -> Result<bool, Halt> {
        let Self { map, store, fading, .. } = self;
        let mut has_revived = false;
        for part in 0..store.plan.parts {
            let at = map.place_of(part);
            if !at.is_some() {
                continue;
            }
            if at != LOST {
                store.gain(at);
            }
            map.load(part, store)?;
            for lpn in map.covered(part).map(Lpn) {
                let at = map.entry(lpn);
                if !is_place(at) || map.cache.get(lpn).is_some() {
                    continue;
                }
                if store.is_in_use(at) {
                    store.gain(at);
                } else if store.revive(at, lpn)? {
                    // It may be that a newer copy has decayed, and that the erase of this one was cut.
                    *fading = Some(store.segment_of(at));
                    has_revived = true;
                }
            }
        }
        map.cache.places().for_each(|(_, at)| store.gain(at));
        Ok(has_revived)
    }
}

#[cfg(test)]
mod tests {
    use wearwell_flash::{BlockAddr, NandGeometry, RamNand};

    use super::*;
    use crate::ftl::{BlockDevice, WriteHint};

    const GEOMETRY: NandGeometry = NandGeometry { pages_per_block: 8, blocks: 16, ..RamNand::SMALL };
    const CONFIG: PagedConfig = PagedConfig::new(4, 2);

    #[test]
    fn a_page_in_a_bad_segment_is_moved_and_served() {
        let log = MapLog::with_map(RamNand::new(GEOMETRY), 1).expect("it fits");
        let mut ftl = PagedFtl::format(log, CONFIG).expect("it fits");
        ftl.write_page(Lpn(3), &[1; 512], WriteHint::NONE).expect("there is room");
        ftl.map.write_back(&mut ftl.store).expect("nothing fails");
        ftl.flush().expect("nothing fails");
        let at = ftl.map.lookup(Lpn(3), &mut ftl.store).expect("nothing fails");
        let was = ftl.store.segment_of(at);
        let mut log = ftl.into_log();
        // As if it had been emptied and retired, and the copy had decayed.
        log.chip_mut().mark_bad(BlockAddr(was.0)).expect("nothing fails");
        // There is room, so the mount moves it.
        let (mut ftl, _) = PagedFtl::mount(log, CONFIG).expect("it mounts");
        let at = ftl.map.lookup(Lpn(3), &mut ftl.store).expect("nothing fails");
        assert!(at.is_some() && !ftl.store.is_in(at, was), "it was moved");
        assert_eq!(ftl.store.table.used_for(was), Use::Bad);
        let mut page = [0; 512];
        ftl.read_page(Lpn(3), &mut page).expect("it was written");
        assert_eq!(page, [1; 512]);
    }
}
