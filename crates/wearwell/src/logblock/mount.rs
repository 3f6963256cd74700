//! Start-up: what every block holds is found again, and what a power cut left is put in order.
//!
//! 1. *Look*: the last page of a block tells a data block; of others the first page, and of log blocks all pages.
//! 2. *Choose*: of the data blocks of a logical block, the last one committed; of all copies of a page newer than
//!    that, the one with the greatest number; then the discards.
//! 3. *Clear*: blocks of which nothing was chosen are erased.
//! 4. *Rescue*: the page programmed last may read well now and fail later, so its logical block is merged before
//!    anything is served. What is older in the same logical block is erased only then. After a clean shutdown there
//!    is no such page.
//!
//! Log blocks found after a cut are not continued.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::logs::Logs;
use super::map::{BlockMap, Lbn};
use super::merge::Purpose;
use super::pages::{Pages, TagRead};
use super::tag::{Kind, MAX_SEQ, Role, Tag};
use super::{BlockConfig, BlockFtl, Scheme, Use};
use crate::addr::{Lpn, Ppn, Seg};
use crate::ftl::{FtlError, Probe};
use crate::page::{MountError, MountReport};
use crate::spread::EraseSpread;

/// Erase counts from here on are no chip's: a tag that claims one is not believed.
const IMPLAUSIBLE_ERASES: u32 = 1 << 22;

/// A complete data block.
#[derive(Debug)]
struct Commit {
    lbn: Lbn,
    seq: u64,
    seg: Seg,
    /// What is in it, if pages are missing.
    holes: Option<Scanned>,
}

/// A block whose pages were all looked at.
#[derive(Debug, Clone)]
struct Scanned {
    seg: Seg,
    what: Block,
    tags: Vec<TagRead>,
    /// Greatest number in it.
    newest: u64,
}

impl Scanned {
    /// Pages up to the last that was programmed; at least one was.
    fn programmed(&self) -> u32 {
        self.tags.iter().rposition(|tag| *tag != TagRead::Erased).map_or(1, |last| last as u32 + 1)
    }
}

/// What a scanned block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    /// A log block.
    Log,
    /// A primary block that has no commit yet.
    Primary,
    /// A primary block in whose place a merge has put another.
    Replaced,
    /// A block that a merge filled, but whose commit cannot be trusted: its pages count where no other has them.
    Doubtful,
    /// A data block that lacks pages.
    Holes,
}

/// A copy of a page.
#[derive(Debug, Clone, Copy)]
struct Found {
    lpn: Lpn,
    seq: u64,
    at: Ppn,
    lost: bool,
    /// Of equal copies, the one with the greatest rank is taken: rather one of a block that is to be trusted, that was
    /// not the last to be programmed, and whose block was written last.
    rank: Rank,
}

/// See [`Found::rank`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    trusted: bool,
    /// Not in the last group of pages of a block that is not full: a cut may have hit these.
    settled: bool,
    newest: u64,
    programmed: u32,
}

/// The mark of a clean shutdown.
#[derive(Debug, Clone, Copy)]
struct Mark {
    seg: Seg,
    seq: u64,
    /// Blocks that were being filled may be continued. They may not if an earlier cut had left its traces in some.
    continues: bool,
}

/// What is collected while blocks are looked at.
#[derive(Debug, Default)]
struct Recovery {
    commits: Vec<Commit>,
    scanned: Vec<Scanned>,
    mark: Option<Mark>,
    /// Blocks that hold nothing of use, but would be believed if they were left; and the logical block that may
    /// still need them.
    stale: Vec<(Seg, Option<Lbn>)>,
    /// Blocks that read as erased, or hold nothing readable.
    blank: Vec<Seg>,
    /// The page with the greatest number, blocks left aside whose merge was cut: what was fragile before such a merge
    /// is so after it.
    last: Option<(u64, Ppn)>,
    greatest_seq: u64,
    /// Nothing was cut, and blocks that were being filled are continued.
    continues: bool,
    /// Logical blocks with a page of which a cut may have hit the copy that was chosen.
    unsettled: Vec<Lbn>,
    known_erases: u64,
    known_blocks: u64,
    /// By logical block: the number of its data block's commit.
    committed: Vec<u64>,
    /// By logical page: the number of the copy chosen.
    newest: Vec<u64>,
    report: MountReport,
}

impl Recovery {
    fn saw(&mut self, seq: u64, at: Ppn) {
        self.greatest_seq = self.greatest_seq.max(seq);
        if self.last.is_none_or(|(last, _)| seq > last) {
            self.last = Some((seq, at));
        }
    }
}

impl<M: Pages, P: Probe> BlockFtl<M, P> {
    /// Mounts a chip that was [formatted](Self::format) with the same capacity and scheme, whatever happened to it
    /// since.
    ///
    /// # Errors
    /// [`MountError::NoRecords`] for a layout without tags; [`MountError::OtherScheme`] if the chip holds something
    /// that this scheme never writes; otherwise only if the chip fails.
    pub fn mount(pages: M, probe: P, config: BlockConfig) -> Result<(Self, MountReport), MountError> {
        Self::mount_or_return(pages, probe, config).map_err(|(_, error)| error)
    }

    /// As [`mount`](Self::mount), but gives the pages back if it fails.
    ///
    /// # Errors
    /// As [`mount`](Self::mount).
    pub fn mount_or_return(pages: M, probe: P, config: BlockConfig) -> Result<(Self, MountReport), (M, MountError)> {
        let mut ftl = match Self::empty(pages, probe, config) {
            Ok(ftl) => ftl,
            Err((pages, error)) => return Err((pages, error.into())),
        };
        match ftl.recover() {
            Ok(report) => Ok((ftl, report)),
            Err(error) => Err((ftl.pages, error)),
        }
    }

    fn recover(&mut self) -> Result<MountReport, MountError> {
        if !M::TAGGED {
            return Err(MountError::NoRecords);
        }
        let mut recovery = Recovery {
            committed: vec![0; self.map.blocks() as usize],
            newest: vec![0; self.config.logical_pages as usize],
            ..Recovery::default()
        };
        for seg in (0..self.shape.segments).map(Seg) {
            self.look_at(seg, &mut recovery)?;
        }
        recovery.report.clean = recovery.mark.is_some_and(|mark| mark.seq > recovery.greatest_seq);
        recovery.continues = recovery.report.clean && recovery.mark.is_some_and(|mark| mark.continues);
        self.seq = recovery.greatest_seq.max(recovery.mark.map_or(0, |mark| mark.seq)) + 1;
        self.doubt_last_commit(&mut recovery)?;
        self.choose_data_blocks(&mut recovery);
        let copies = self.choose_pages(&mut recovery);
        self.open_logs(&recovery, &copies);
        self.point_at_copies(&copies, &mut recovery);
        self.apply_discards(&mut recovery)?;
        self.clear(&mut recovery)?;
        self.stats.reset();
        Ok(recovery.report)
    }

    /// Finds out what a block is.
    fn look_at(&mut self, seg: Seg, recovery: &mut Recovery) -> Result<(), MountError> {
        if self.pages.is_bad(seg)? {
            self.uses[seg.index()] = Use::Bad;
            return Ok(());
        }
        self.good_segments += 1;
        let last_page = self.page_in(seg, self.shape.pages - 1);
        let last = self.read_tag(last_page)?;
        if let TagRead::Tag(tag) = last
            && tag.role.is_commit()
        {
            let (lbn, offset) = self.map.split(tag.lpn);
            if lbn.0 < self.map.blocks() && offset + 1 == self.shape.pages {
                self.believe_erases(seg, &tag, recovery);
                recovery.saw(tag.seq, last_page);
                let has_holes = tag.role == Role::CommitHoles;
                let holes = if has_holes { Some(self.read_tags(seg, Block::Holes, recovery)?) } else { None };
                recovery.commits.push(Commit { lbn, seq: tag.seq, seg, holes });
                return Ok(());
            }
        }
        let first = self.read_tag(self.page_in(seg, 0))?;
        if let TagRead::Tag(tag) = first {
            self.believe_erases(seg, &tag, recovery);
            if tag.kind == Kind::CleanMark {
                let found = Mark { seg, seq: tag.seq, continues: tag.lpn == Lpn(0) };
                let (newer, older) = match recovery.mark {
                    Some(other) if other.seq > found.seq => (other, Some(found)),
                    other => (found, other),
                };
                recovery.mark = Some(newer);
                recovery.stale.extend(older.map(|mark| (mark.seg, None)));
                return Ok(());
            }
        }
        let primaries = self.config.scheme == Scheme::PrimaryReplacement;
        match first {
            TagRead::Erased if last == TagRead::Erased && !primaries => recovery.blank.push(seg),
            TagRead::Tag(tag) if tag.role == Role::MergeHead && last == TagRead::Erased => {
                recovery.stale.push((seg, None))
            }
            _ => self.scan(seg, first, recovery)?,
        }
        Ok(())
    }

    /// Looks at every page of a block that is no complete data block.
    fn scan(&mut self, seg: Seg, first: TagRead, recovery: &mut Recovery) -> Result<(), MountError> {
        let what = match first {
            TagRead::Tag(tag) if tag.role == Role::LogHead => Block::Log,
            TagRead::Tag(tag) if tag.role == Role::InPlace => Block::Primary,
            TagRead::Erased if self.has_primaries() => Block::Primary,
            // The head cannot be read, or says that a merge filled the block.
            _ => Block::Doubtful,
        };
        let scanned = self.read_tags(seg, what, recovery)?;
        let mut owner = None;
        for tag in &scanned.tags {
            let TagRead::Tag(tag) = tag else { continue };
            if !self.shares_logs() && *owner.get_or_insert(self.map.split(tag.lpn).0) != self.map.split(tag.lpn).0 {
                return Err(MountError::OtherScheme { segment: seg });
            }
        }
        let foreign = what == Block::Primary && self.config.scheme != Scheme::PrimaryReplacement;
        if scanned.tags.iter().all(|tag| !matches!(tag, TagRead::Tag(_))) {
            recovery.blank.push(seg);
        } else if foreign && matches!(first, TagRead::Tag(_)) {
            return Err(MountError::OtherScheme { segment: seg });
        } else {
            recovery.scanned.push(scanned);
        }
        Ok(())
    }

    fn read_tags(&mut self, seg: Seg, what: Block, recovery: &mut Recovery) -> Result<Scanned, MountError> {
        let mut tags = Vec::with_capacity(self.shape.pages as usize);
        let mut newest = 0;
        for page in 0..self.shape.pages {
            let at = self.page_in(seg, page);
            let tag = self.read_tag(at)?;
            if let TagRead::Tag(tag) = tag {
                newest = newest.max(tag.seq);
                recovery.greatest_seq = recovery.greatest_seq.max(tag.seq);
                if what != Block::Doubtful {
                    recovery.saw(tag.seq, at);
                }
            }
            tags.push(tag);
        }
        Ok(Scanned { seg, what, tags, newest })
    }

    /// Reads a tag. One with a number that no device lives to see is not believed: the next one must not run out.
    fn read_tag(&mut self, at: Ppn) -> Result<TagRead, MountError> {
        Ok(match self.pages.tag(at)? {
            TagRead::Tag(tag) if tag.seq > MAX_SEQ / 2 => TagRead::Unreadable,
            tag => tag,
        })
    }

    fn believe_erases(&mut self, seg: Seg, tag: &Tag, recovery: &mut Recovery) {
        if tag.erases < IMPLAUSIBLE_ERASES {
            self.erases[seg.index()] = tag.erases;
            recovery.known_erases += u64::from(tag.erases);
            recovery.known_blocks += 1;
        }
    }

    fn page_in(&self, seg: Seg, page: u32) -> Ppn {
        Ppn(seg.0 * self.shape.pages + page)
    }

    /// If a commit is the last thing that was programmed, a cut in it may have damaged pages that share cells with
    /// it. Then the merge counts as undone: what it read is still there.
    fn doubt_last_commit(&mut self, recovery: &mut Recovery) -> Result<(), MountError> {
        let Some((seq, _)) = recovery.last.filter(|_| !recovery.report.clean) else { return Ok(()) };
        let Some(index) = recovery.commits.iter().position(|commit| commit.seq == seq) else { return Ok(()) };
        let seg = recovery.commits[index].seg;
        for page in self.shape.pages - self.shape.group.min(self.shape.pages)..self.shape.pages {
            if self.pages.tag(self.page_in(seg, page))? == TagRead::Unreadable {
                recovery.commits.swap_remove(index);
                let scanned = self.read_tags(seg, Block::Doubtful, recovery)?;
                recovery.scanned.push(scanned);
                break;
            }
        }
        Ok(())
    }

    /// Takes the last committed block of each logical block for its data block, or else a primary block.
    fn choose_data_blocks(&mut self, recovery: &mut Recovery) {
        let mut commits = core::mem::take(&mut recovery.commits);
        commits.sort_by_key(|commit| (commit.lbn, Reverse(commit.seq)));
        let mut commits = commits.into_iter().peekable();
        while let Some(commit) = commits.next() {
            if self.map.data(commit.lbn).is_some() {
                // Cuts in several mounts leave several: with the log blocks, the oldest has all that the others have.
                let is_oldest = commits.peek().is_none_or(|next| next.lbn != commit.lbn);
                recovery.stale.push((commit.seg, is_oldest.then_some(commit.lbn)));
                continue;
            }
            recovery.committed[commit.lbn.index()] = commit.seq;
            self.set_data_block(commit.lbn, commit.seg);
            if let Some(scanned) = commit.holes {
                recovery.scanned.push(scanned);
            } else {
                self.close_primary(commit.lbn);
                for lpn in self.map.range(commit.lbn) {
                    self.map.set_mapped(Lpn(lpn), true);
                    recovery.newest[lpn as usize] = commit.seq;
                }
            }
        }
        for scanned in &mut recovery.scanned {
            if scanned.what != Block::Primary {
                continue;
            }
            let owner = scanned.tags.iter().find_map(|tag| match tag {
                TagRead::Tag(tag) => Some(self.map.split(tag.lpn).0),
                _ => None,
            });
            match owner.filter(|lbn| lbn.0 < self.map.blocks()) {
                Some(lbn) if self.map.data(lbn).is_none() => self.set_data_block(lbn, scanned.seg),
                // Whatever of it is newer than the data block still counts; and it has what commits in between have.
                owner => {
                    scanned.what = Block::Replaced;
                    let between = recovery.stale.iter_mut().filter(|(_, needed_by)| *needed_by == owner);
                    between.for_each(|(_, needed_by)| *needed_by = None);
                }
            }
        }
    }

    fn set_data_block(&mut self, lbn: Lbn, seg: Seg) {
        self.map.set_data(lbn, Some(seg));
        self.uses[seg.index()] = Use::Data(lbn);
    }

    /// Chooses the newest copy of every page.
    fn choose_pages(&mut self, recovery: &mut Recovery) -> Vec<Found> {
        let mut copies = Vec::new();
        for scanned in &recovery.scanned {
            let in_place = matches!(scanned.what, Block::Primary | Block::Holes);
            let programmed = scanned.programmed();
            let settled = if programmed == self.shape.pages { programmed } else { (programmed - 1) / self.shape.group };
            for (page, tag) in (0_u32..).zip(&scanned.tags) {
                let at = self.page_in(scanned.seg, page);
                let rank = Rank {
                    trusted: scanned.what != Block::Doubtful,
                    settled: page < settled * self.shape.group,
                    newest: scanned.newest,
                    programmed,
                };
                let copy = match tag {
                    TagRead::Tag(tag) if matches!(tag.kind, Kind::Data | Kind::Lost) => {
                        Found { lpn: tag.lpn, seq: tag.seq, at, lost: tag.kind == Kind::Lost, rank }
                    }
                    // A page of a complete block was there: it is lost, unless a log block has it.
                    TagRead::Unreadable if scanned.what == Block::Holes && !self.has_primaries() => {
                        let Use::Data(lbn) = self.uses[scanned.seg.index()] else { continue };
                        Found { lpn: self.map.join(lbn, page), seq: 0, at, lost: true, rank }
                    }
                    _ => continue,
                };
                if copy.lpn.0 >= self.config.logical_pages {
                    continue;
                }
                let (lbn, offset) = self.map.split(copy.lpn);
                let counts = if in_place {
                    offset == page && self.map.data(lbn) == Some(scanned.seg)
                } else {
                    copy.seq > recovery.committed[lbn.index()]
                };
                if counts {
                    copies.push(copy);
                }
            }
        }
        copies.sort_by_key(|copy| (copy.lpn, Reverse((copy.seq, copy.rank))));
        // Of a copy and its original one may have been hit, and nothing says which: both stay until they are merged.
        for pair in copies.windows(2) {
            if (pair[0].lpn, pair[0].seq) == (pair[1].lpn, pair[1].seq) && !pair[0].rank.settled {
                recovery.unsettled.push(self.map.split(pair[0].lpn).0);
            }
        }
        copies.dedup_by_key(|copy| copy.lpn);
        for copy in &copies {
            recovery.newest[copy.lpn.0 as usize] = copy.seq;
        }
        copies
    }

    /// Makes the tables of log blocks, large enough for those from which a page was chosen, or which hold the last
    /// discard record of a logical block.
    fn open_logs(&mut self, recovery: &Recovery, copies: &[Found]) {
        let mut used = vec![false; self.shape.segments as usize];
        for copy in copies {
            used[(copy.at.0 / self.shape.pages) as usize] = true;
        }
        for (_, _, at) in self.newest_records(recovery) {
            used[(at.0 / self.shape.pages) as usize] = true;
        }
        let is_log =
            |scanned: &&Scanned| used[scanned.seg.index()] && !matches!(self.uses[scanned.seg.index()], Use::Data(_));
        let mut logs: Vec<&Scanned> = recovery.scanned.iter().filter(is_log).collect();
        // The one written last becomes the current one of its logical block.
        logs.sort_by_key(|scanned| (scanned.newest, scanned.what != Block::Doubtful));
        let (found, most) = (logs.len() as u32, self.config.most_log_blocks(&self.shape));
        let overlays =
            self.config.overlays(&self.shape).max(found * if self.shares_logs() { self.shape.pages } else { 1 });
        let mut map = BlockMap::new(self.config.logical_pages, self.shape.pages, overlays.min(self.map.blocks()));
        map.take_blocks_of(&self.map);
        self.map = map;
        self.logs = Logs::new(found.max(most), most, self.shape.segments, self.map.blocks(), self.shape.pages);
        for scanned in logs {
            self.open_found_log(scanned, recovery.continues);
        }
    }

    fn open_found_log(&mut self, scanned: &Scanned, continues: bool) {
        let lpn_of = |tag: &TagRead| if let TagRead::Tag(tag) = tag { Some(tag.lpn) } else { None };
        let lbn_of = |tag: &TagRead| lpn_of(tag).map(|lpn| self.map.split(lpn).0);
        let owner = scanned.tags.iter().find_map(lbn_of);
        let shared = scanned.tags.iter().filter_map(lbn_of).any(|lbn| Some(lbn) != owner);
        let owner = owner.filter(|_| !shared);
        let first = owner.map_or(0, |lbn| self.map.join(lbn, 0).0);
        let is_at = |tag: &TagRead, lpn: u32| matches!(tag, TagRead::Tag(t) if t.kind == Kind::Data && t.lpn.0 == lpn);
        let in_order = (first..).zip(&scanned.tags).take_while(|&(place, tag)| is_at(tag, place)).count() as u32;
        let id = self.logs.open(scanned.seg, owner);
        for tag in &scanned.tags[..scanned.programmed() as usize] {
            self.logs.append(id, lpn_of(tag).filter(|lpn| lpn.0 < self.config.logical_pages).unwrap_or(Lpn(first)));
        }
        self.uses[scanned.seg.index()] = Use::Log(id);
        if shared {
            self.shared = Some(id);
        }
        let log = self.logs.get_mut(id);
        log.in_order = in_order;
        if !continues || scanned.what == Block::Doubtful {
            self.suspect[scanned.seg.index()] = scanned.programmed() < self.shape.pages;
            self.logs.close_to_appends(id);
        }
    }

    /// Points the map at the copies chosen.
    fn point_at_copies(&mut self, copies: &[Found], recovery: &mut Recovery) {
        for copy in copies {
            self.map.set_mapped(copy.lpn, true);
            if copy.lost {
                self.lost.push(copy.lpn);
            }
            let (lbn, offset) = self.map.split(copy.lpn);
            if let Some(id) = self.logs.of_page(copy.at) {
                self.map.set_logged(lbn, offset, copy.at);
                self.logs.get_mut(id).live += 1;
            }
        }
        for scanned in &recovery.scanned {
            let Use::Data(lbn) = self.uses[scanned.seg.index()] else { continue };
            self.note_programmed_tags(lbn, &scanned.tags);
            // Which pages were being programmed is not known: after a cut, none are.
            if !recovery.continues {
                self.suspect[scanned.seg.index()] = self.has_room_in_place(lbn);
                self.close_primary(lbn);
            }
        }
    }

    fn note_programmed_tags(&mut self, lbn: Lbn, tags: &[TagRead]) {
        if self.config.scheme == Scheme::PrimaryReplacement {
            for (offset, tag) in (0_u32..).zip(tags) {
                self.programmed.set(Lpn(lbn.0 * self.shape.pages + offset), *tag != TagRead::Erased);
            }
        }
    }

    /// The last discard record of each logical block, if it is newer than the data block.
    fn newest_records(&self, recovery: &Recovery) -> Vec<(Lbn, u64, Ppn)> {
        let mut records = Vec::new();
        for scanned in &recovery.scanned {
            for (page, tag) in (0_u32..).zip(&scanned.tags) {
                let TagRead::Tag(tag) = tag else { continue };
                let (lbn, _) = self.map.split(tag.lpn);
                let counts = tag.kind == Kind::Trim
                    && lbn.0 < self.map.blocks()
                    && tag.seq > recovery.committed[lbn.index()]
                    && !matches!(self.uses[scanned.seg.index()], Use::Data(_));
                if counts {
                    records.push((lbn, tag.seq, self.page_in(scanned.seg, page)));
                }
            }
        }
        records.sort_by_key(|&(lbn, seq, _)| (lbn, Reverse(seq)));
        records.dedup_by_key(|&mut (lbn, ..)| lbn);
        records
    }

    /// Unmaps what a discard record calls unmapped, where the copy chosen is older than the record.
    fn apply_discards(&mut self, recovery: &mut Recovery) -> Result<(), MountError> {
        for (lbn, seq, at) in self.newest_records(recovery) {
            let mut record = core::mem::take(&mut self.record);
            let read = self.pages.read(at, &mut record);
            for (offset, lpn) in self.map.range(lbn).enumerate() {
                let bit = record.get(offset / 8).is_some_and(|byte| byte >> (offset % 8) & 1 == 1);
                if bit && read.is_ok() && self.map.is_mapped(Lpn(lpn)) && recovery.newest[lpn as usize] < seq {
                    self.map.set_mapped(Lpn(lpn), false);
                    let old = self.map.set_logged(lbn, offset as u32, Ppn::NONE);
                    self.left(old);
                    self.forget_loss(Lpn(lpn));
                }
            }
            self.record = record;
            recovery.report.lost_discards += u32::from(read.is_err());
            if let Some(id) = self.logs.of_page(at) {
                self.map.set_logged(lbn, self.shape.pages, at);
                self.logs.get_mut(id).live += 1;
            }
        }
        Ok(())
    }

    /// Gives every block its use. What holds nothing of use is erased, so that it is not believed another time; but
    /// first, what a cut may have hit is merged.
    fn clear(&mut self, recovery: &mut Recovery) -> Result<(), FtlError> {
        let mean = recovery.known_erases.checked_div(recovery.known_blocks).unwrap_or(0) as u32;
        for &seg in &recovery.blank {
            self.erases[seg.index()] = mean;
        }
        let good = self.uses.iter().zip(&self.erases).filter(|&(used, _)| *used != Use::Bad);
        self.spread = EraseSpread::of(good.map(|(_, &erases)| erases));
        for &seg in &recovery.blank {
            self.suspect[seg.index()] = !recovery.continues;
            self.add_free(seg);
        }
        match recovery.mark {
            Some(mark) if recovery.report.clean => self.clean_mark = Some(mark.seg),
            Some(mark) => recovery.stale.push((mark.seg, None)),
            None => {}
        }
        let suspects = if recovery.report.clean { Vec::new() } else { self.suspects(recovery) };
        for scanned in recovery.scanned.iter().filter(|scanned| self.uses[scanned.seg.index()] == Use::Taken) {
            let lbns = scanned.tags.iter().filter_map(|tag| match tag {
                TagRead::Tag(tag) => Some(self.map.split(tag.lpn).0),
                _ => None,
            });
            let needed_by = lbns.into_iter().find(|lbn| suspects.contains(lbn));
            // What an untrusted merge has read is still there.
            recovery.stale.push((scanned.seg, needed_by.filter(|_| scanned.what != Block::Doubtful)));
        }
        recovery.report.open_segments = self.logs.len();
        recovery.report.undone_segments = recovery.stale.len() as u32;
        let needed = |lbn: &Option<Lbn>| lbn.is_some_and(|lbn| suspects.contains(&lbn));
        for (seg, _) in recovery.stale.iter().filter(|(_, lbn)| !needed(lbn)) {
            self.release(*seg)?;
        }
        for &lbn in &suspects {
            match self.merge(lbn, Purpose::Upkeep) {
                Ok(()) => recovery.report.rescued_pages += self.map.mapped_in(lbn),
                // No block is left to merge to. What can be read can still be read, so the older copies stay.
                Err(FtlError::WornOut { .. }) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        for (seg, _) in recovery.stale.iter().filter(|(_, lbn)| needed(lbn)) {
            self.release(*seg)?;
        }
        Ok(())
    }

    /// The logical blocks of the pages that a cut may have hit: that of the page programmed last, and then those of the
    /// pages that share cells with it. The first must be merged first, since its number is what tells the others.
    fn suspects(&self, recovery: &Recovery) -> Vec<Lbn> {
        let mut suspects = Vec::new();
        if let Some((_, last)) = recovery.last {
            match self.uses[(last.0 / self.shape.pages) as usize] {
                Use::Data(lbn) => suspects.push(lbn),
                Use::Log(id) => {
                    let last = (last.0 % self.shape.pages) as usize;
                    let group = self.shape.group as usize;
                    let held = self.logs.held(id).iter().take(last + 1).skip(last - last % group);
                    suspects.extend(held.rev().map(|&lpn| self.map.split(lpn).0));
                }
                Use::Free | Use::Taken | Use::Bad => {}
            }
        }
        let mut distinct: Vec<Lbn> = Vec::new();
        for &lbn in suspects.iter().chain(&recovery.unsettled) {
            if !distinct.contains(&lbn) {
                distinct.push(lbn);
            }
        }
        distinct
    }
}
