//! Start-up: what every block holds is found again, and what a power cut left is put in order.
//!
//! 1. *Look*: the last page of a block tells a data block; of others the first page, and of log blocks all pages.
//! 2. *Choose*: of the data blocks of a logical block, the last one committed; of all copies of a page newer than
//!    that, the one with the greatest number; then the discards, and what is recorded to be dead.
//! 3. *Clear*: blocks of which nothing was chosen are erased.
//! 4. *Rescue*: the page programmed last may read well now and fail later, so its logical block is merged before
//!    anything is served. What is older in the same logical block is erased only then, and so is what is dead. After
//!    a clean shutdown there is no such page.
//!
//! If a page fades between the moment it is found and its rescue, the mount begins anew without it, as after another
//! cut: nothing older has been erased. Log blocks found after a cut are not continued.
//!
//! One recovery serves all schemes, and is cut itself, again and again. Its rules are B1 to B14 in `docs/SPEC.md`,
//! which the code cites. The book says why they are so (`docs/src/design/block-mapping.md`).

mod capacity;
mod choose;
mod clear;
mod last;
mod missing;
mod scanned;

use alloc::vec;
use alloc::vec::Vec;

use capacity::CapacityCheck;
use scanned::{Block, Scanned};

use super::addr::Lbn;
use super::fragile::Fragile;
use super::logs::Logs;
use super::map::BlockMap;
use super::pages::{Pages, PagesShape, TagRead};
use super::recycler::Recycler;
use super::store::Use;
use super::tag::{Content, MAX_SEQ, Role, Tag};
use super::{BlockConfig, BlockFtl};
use crate::addr::{Lpn, Ppn, Seg};
use crate::ftl::{FtlError, Probe};
use crate::page::{IMPLAUSIBLE_ERASES, MountError, MountReport};

/// A complete data block.
#[derive(Debug)]
struct Commit {
    lbn: Lbn,
    seq: u64,
    seg: Seg,
    /// What is in it, if pages are missing.
    holes: Option<Scanned>,
}

/// A copy of a page.
#[derive(Debug, Clone, Copy)]
struct Found {
    lpn: Lpn,
    seq: u64,
    at: Ppn,
    lost: bool,
    /// Of an undone merge, and a cut may have hit it.
    undone: bool,
    /// Counts only where there is no other.
    yields: bool,
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

/// A discard record.
#[derive(Debug, Clone, Copy)]
struct Record {
    lbn: Lbn,
    seq: u64,
    at: Ppn,
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
    /// still need them. Once those that none needs are erased, these are the ones that wait for a merge.
    stale: Vec<(Seg, Option<Lbn>)>,
    /// Blocks of records of dead logical blocks; and what these name.
    records: Vec<Scanned>,
    dead: Vec<Lbn>,
    /// Blocks that read as erased, or hold nothing readable.
    blank: Vec<Seg>,
    /// Of these, the ones that do not read as erased.
    unreadable: Vec<Scanned>,
    /// The page that was programmed last, with its number. After a clean shutdown no cut has hit it.
    last: Option<(u64, Ppn)>,
    greatest_seq: u64,
    /// Nothing was cut, and blocks that were being filled are continued.
    continues: bool,
    /// The logical block of each commit that is not believed. It is the same one, and is merged first (Spec B8.7).
    doubted: Vec<Lbn>,
    /// Logical blocks whose newest data block may fade, and which have older ones. And those of which the one before
    /// the newest lasts.
    unsure: Vec<Lbn>,
    settled: Vec<Lbn>,
    /// Older data blocks with a page that cannot be read, which are not needed as long as others stay (Spec B13.7).
    idle: Vec<Seg>,
    /// Blocks that stay as long as there is room, since the other copies of what they hold may fade (Spec B13.1, B13.2,
    /// B13.7, B13.8).
    spare: Vec<Seg>,
    /// Logical blocks with a page of which a cut may have hit the copy that was chosen.
    unsettled: Vec<Lbn>,
    /// The page with the greatest number that no commit is.
    appended: Option<Ppn>,
    /// Pages that a cut may have hit (Spec B12.5 to B12.8), copies of which one may be, and those of undone merges.
    fragile: Fragile,
    /// Pages that were fragile in an earlier attempt, and could not be read when they were to be copied.
    faded: Vec<Ppn>,
    /// Erase counts that tags say, to be taken for those that none does.
    known_erases: u64,
    known_blocks: u64,
    /// Blocks with data whose erase count nothing says.
    uncounted: Vec<Seg>,
    /// By logical block: the number of its data block's commit.
    committed: Vec<u64>,
    /// By logical page: the number of the copy chosen.
    newest: Vec<u64>,
    /// A page of bytes to work in; empty where none are stored.
    page: Vec<u8>,
    /// The error that every write and discard gets, if the mount ends in a device that takes none any more.
    refused: Option<FtlError>,
    /// Where that is so: other pages that hold the same as one that a cut may have hit, and that is served.
    same: Vec<(Lpn, Ppn)>,
    capacity: CapacityCheck,
    report: MountReport,
}

impl Recovery {
    /// True if no block holds anything of the engine's.
    fn has_nothing(&self) -> bool {
        let blocks = self.commits.len() + self.scanned.len() + self.records.len() + self.stale.len();
        blocks == 0 && self.mark.is_none()
    }

    fn last_seq(&self) -> Option<u64> {
        self.last.map(|(seq, _)| seq)
    }

    /// The merges that a cut has hit.
    fn undone(&self) -> impl Iterator<Item = &Scanned> {
        self.scanned.iter().filter(|scanned| scanned.what == Block::Undone)
    }

    /// The blocks but for one, and for those that give way where room is short.
    fn others_that_stay(&self, seg: Seg) -> impl Iterator<Item = &Scanned> {
        self.scanned.iter().filter(move |other| other.seg != seg && !self.spare.contains(&other.seg))
    }

    fn is_stale(&self, seg: Seg) -> bool {
        self.stale.iter().any(|&(stale, _)| stale == seg)
    }

    /// Takes a block off the stale ones, because it is erased now. False if it is none, and may be in use again.
    fn take_stale(&mut self, seg: Seg) -> bool {
        let is_stale = self.is_stale(seg);
        self.stale.retain(|&(stale, _)| stale != seg);
        is_stale
    }

    /// The blocks whose records are to be trusted.
    fn trusted(&self) -> impl Iterator<Item = &Scanned> {
        self.scanned.iter().filter(|scanned| scanned.what.is_trusted())
    }
}

/// A mount, as long as it takes. What it finds out is in a [`Recovery`]; what it finds goes to the store and the index.
struct Mount<'a, M, P> {
    recycler: &'a mut Recycler<M, P>,
}

impl<M: Pages, P: Probe> BlockFtl<M, P> {
    /// Mounts a chip that was [formatted](Self::format) with the same capacity and scheme, whatever happened to it
    /// since.
    ///
    /// # Errors
    /// [`MountError::NoRecords`] for a layout without tags; [`MountError::Foreign`] if the chip holds something that no
    /// block mapping writes, [`MountError::OtherScheme`] if it holds what this scheme never writes;
    /// [`MountError::OtherVersion`] or [`MountError::OtherCapacity`] if another version of the layout or a device of
    /// another capacity wrote it; otherwise only if the chip fails.
    pub fn mount(pages: M, probe: P, config: BlockConfig) -> Result<(Self, MountReport), MountError> {
        Self::mount_or_return(pages, probe, config).map_err(|(_, error)| error)
    }

    /// As [`mount`](Self::mount), but gives the pages back if it fails.
    ///
    /// # Errors
    /// As [`mount`](Self::mount).
    pub fn mount_or_return(pages: M, probe: P, config: BlockConfig) -> Result<(Self, MountReport), (M, MountError)> {
        let (mut pages, mut probe, mut faded) = (pages, probe, Vec::new());
        loop {
            let mut ftl = match Self::empty(pages, probe, config) {
                Ok(ftl) => ftl,
                Err((pages, error)) => return Err((pages, error.into())),
            };
            let store = &mut ftl.writer.recycler.merger.store;
            faded.iter().for_each(|&at| store.suspect(store.segment_of(at)));
            let mut recovery = Recovery {
                faded,
                committed: vec![0; ftl.merger().index.map().blocks() as usize],
                newest: vec![0; config.logical_pages as usize],
                page: core::mem::take(&mut ftl.scratch),
                ..Recovery::default()
            };
            match (Mount { recycler: &mut ftl.writer.recycler }.recover(&mut recovery), recovery.fragile.faded()) {
                (Ok(()), _) => {
                    ftl.writable = recovery.refused.map_or(Ok(()), Err);
                    ftl.same = recovery.same;
                    ftl.scratch = recovery.page;
                    return Ok((ftl, recovery.report));
                }
                // Each round takes a page more for unreadable, or has erased a block with such a page, so this ends.
                (Err(_), Some(at)) => {
                    faded = recovery.faded;
                    // Spec B1: where a block has been erased since, another page may be by now.
                    faded.retain(|&at| ftl.merger().store.is_suspect(ftl.merger().store.segment_of(at)));
                    faded.push(at);
                    (pages, probe) = ftl.into_parts();
                }
                (Err(error), None) => return Err((ftl.into_pages(), error)),
            }
        }
    }
}

impl<M: Pages, P: Probe> Mount<'_, M, P> {
    fn map(&self) -> &BlockMap {
        self.recycler.merger.index.map()
    }

    fn logs(&self) -> &Logs {
        self.recycler.merger.index.logs()
    }

    /// What the chip is.
    fn shape(&self) -> &PagesShape {
        self.recycler.merger.store.shape()
    }

    fn page_in(&self, seg: Seg, page: u32) -> Ppn {
        self.recycler.merger.store.page_in(seg, page)
    }

    fn segment_of(&self, at: Ppn) -> Seg {
        self.recycler.merger.store.segment_of(at)
    }

    fn recover(&mut self, recovery: &mut Recovery) -> Result<(), MountError> {
        if !M::TAGGED {
            return Err(MountError::NoRecords);
        }
        for seg in (0..self.shape().segments).map(Seg) {
            self.look_at(seg, recovery)?;
        }
        // Only a chip without a block of ours is read as a whole.
        recovery.report.never_formatted = recovery.has_nothing() && self.is_blank()?;
        // Before anything on the chip is changed.
        self.check_capacity(recovery)?;
        // Spec B7.
        recovery.report.clean = recovery.mark.is_some_and(|mark| mark.seq > recovery.greatest_seq);
        recovery.continues = recovery.report.clean && recovery.mark.is_some_and(|mark| mark.continues);
        self.recycler.merger.store.enter_seq(recovery.greatest_seq.max(recovery.mark.map_or(0, |mark| mark.seq)));
        if !recovery.report.clean {
            self.find_last(recovery)?;
        }
        self.choose_data_blocks(recovery)?;
        if !recovery.report.clean {
            self.find_half_erased(recovery);
        }
        // Behind the data blocks: a page of a log block counts only if it is newer than the commit (Spec B10).
        let copies = self.choose_pages(recovery)?;
        let records = self.newest_records(recovery);
        if !recovery.report.clean {
            self.find_unsettled(&copies, &records, recovery);
        }
        // Before the map points at them: each page that counts is counted as live in its log block.
        self.open_logs(recovery, &copies, &records);
        self.point_at_copies(&copies, recovery);
        // Behind the copies: what a record unmaps is taken out of the map and of the counts again.
        self.apply_discards(&records, recovery)?;
        self.apply_dead(recovery)?;
        self.note_missing(recovery);
        self.clear(recovery)?;
        self.recycler.merger.store.stats.reset();
        Ok(())
    }

    /// Looks at every page of a chip on which no block is the engine's. True if all are erased. A cut may leave pages
    /// that cannot be read, but none that reads well and has no tag: the chip holds somebody else's data then.
    fn is_blank(&mut self) -> Result<bool, MountError> {
        let mut is_blank = true;
        for seg in (0..self.shape().segments).map(Seg) {
            if self.recycler.merger.store.used(seg) == Use::Bad {
                continue;
            }
            for page in 0..self.shape().pages {
                let at = self.page_in(seg, page);
                // The tag first: a page that a cut has hit may read well once.
                let is_ours = matches!(self.recycler.merger.store.tag(at)?, TagRead::Tag(_));
                match self.recycler.merger.store.is_blank(at)? {
                    Some(true) => {}
                    Some(false) if !is_ours => return Err(MountError::Foreign),
                    Some(false) | None => is_blank = false,
                }
            }
        }
        Ok(is_blank)
    }

    /// Finds out what a block is.
    fn look_at(&mut self, seg: Seg, recovery: &mut Recovery) -> Result<(), MountError> {
        // Spec B1.
        if self.recycler.merger.store.find_bad(seg)? {
            return Ok(());
        }
        let last_page = self.page_in(seg, self.shape().pages - 1);
        // The last page first: of a data block that lacks none, it is the only one that is read.
        let last = self.read_tag(last_page, recovery)?;
        if let TagRead::Tag(tag) = last
            && tag.role.is_commit()
        {
            let (lbn, offset) = self.map().split(tag.lpn);
            // A damaged tag may name any page. Its block is scanned.
            if lbn.0 < self.map().blocks() && offset + 1 == self.shape().pages {
                self.believe_erases(seg, &tag, recovery);
                recovery.greatest_seq = recovery.greatest_seq.max(tag.seq);
                let mut holes = None;
                if let Role::CommitHoles { held } = tag.role {
                    let mut scanned = self.read_tags(seg, Block::Holes, recovery)?;
                    scanned.keep(self.shape().pages - 1, tag);
                    match scanned.tags[0] {
                        // Since version 3 such a commit has no erase count, but the first page does (decision 19).
                        _ if tag.says_erases() => {}
                        TagRead::Tag(head) if head.says_erases() => self.believe_erases(seg, &head, recovery),
                        _ => recovery.uncounted.push(seg),
                    }
                    // Spec B8.2, B8.3: an erase has begun, and goes on before the rescue.
                    if scanned.lacks_held(held.into(), tag.seq) {
                        recovery.stale.push((seg, None));
                        return Ok(());
                    }
                    holes = Some(scanned);
                }
                recovery.commits.push(Commit { lbn, seq: tag.seq, seg, holes });
                return Ok(());
            }
        }
        let first = self.read_tag(self.page_in(seg, 0), recovery)?;
        if let TagRead::Tag(tag) = first {
            self.believe_erases(seg, &tag, recovery);
            if tag.kind == Content::CleanMark {
                let found = Mark { seg, seq: tag.seq, continues: tag.lpn == Lpn(0) };
                // A segment that could be neither erased nor marked bad keeps an older one.
                let (newer, older) = match recovery.mark {
                    Some(other) if other.seq > found.seq => (other, Some(found)),
                    other => (found, other),
                };
                recovery.mark = Some(newer);
                recovery.stale.extend(older.map(|mark| (mark.seg, None)));
                return Ok(());
            }
        }
        let primaries = self.recycler.merger.index.in_place().is_used();
        match first {
            // A primary block may have pages between two that were never programmed, so each of them is looked at.
            TagRead::Erased if last == TagRead::Erased && !primaries => recovery.blank.push(seg),
            // A merge that was cut before its commit, or a block that was being erased: nothing in it is needed.
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
            TagRead::Erased if self.recycler.merger.index.in_place().is_used() => Block::Primary,
            // The head cannot be read, or says that a merge filled the block.
            _ => Block::Doubtful,
        };
        let mut scanned = self.read_tags(seg, what, recovery)?;
        match (first, scanned.own_tag()) {
            (TagRead::Tag(head), _) => scanned.keep(0, head),
            (_, Some(tag)) => self.believe_erases(seg, &tag, recovery),
            (_, None) => recovery.uncounted.push(seg),
        }
        if scanned.tags.iter().any(|tag| matches!(tag, TagRead::Tag(tag) if tag.kind == Content::Dead)) {
            recovery.records.push(scanned);
            return Ok(());
        }
        let owner = scanned.lbns(self.map()).next();
        // Pages of several logical blocks lie in one only where log blocks are shared.
        let mixed = !self.recycler.merger.index.shares_logs() && scanned.lbns(self.map()).any(|lbn| Some(lbn) != owner);
        let in_place = !self.recycler.merger.index.in_place().is_used() && what == Block::Primary;
        if owner.is_none() {
            recovery.blank.push(seg);
            let is_erased = scanned.tags.iter().all(|tag| *tag == TagRead::Erased);
            // What cannot be read may have held something (Spec B14).
            recovery.unreadable.extend((!is_erased).then_some(scanned));
        } else if mixed || in_place {
            return Err(MountError::OtherScheme { segment: seg });
        } else {
            recovery.scanned.push(scanned);
        }
        Ok(())
    }

    fn read_tags(&mut self, seg: Seg, what: Block, recovery: &mut Recovery) -> Result<Scanned, MountError> {
        let mut tags = Vec::with_capacity(self.shape().pages as usize);
        let mut newest = 0;
        for page in 0..self.shape().pages {
            let at = self.page_in(seg, page);
            let tag = self.read_tag(at, recovery)?;
            if let TagRead::Tag(tag) = tag {
                newest = newest.max(tag.seq);
                recovery.greatest_seq = recovery.greatest_seq.max(tag.seq);
            }
            tags.push(tag);
        }
        Ok(Scanned { seg, what, tags, newest })
    }

    /// Reads a tag. One with a number that no device lives to see is not believed: the next one must not run out.
    fn read_tag(&mut self, at: Ppn, recovery: &mut Recovery) -> Result<TagRead, MountError> {
        let (tag, segment) = (self.recycler.merger.store.tag(at)?, self.segment_of(at));
        recovery.capacity.look_at(&tag, segment, self.map())?;
        Ok(match tag {
            // Spec B6.
            TagRead::Tag(tag) if tag.seq > MAX_SEQ / 2 => TagRead::Unreadable,
            TagRead::Tag(tag) if recovery.faded.contains(&at) => {
                // The page does not count, but its number is used up.
                recovery.greatest_seq = recovery.greatest_seq.max(tag.seq);
                TagRead::Unreadable
            }
            tag => tag,
        })
    }

    fn believe_erases(&mut self, seg: Seg, tag: &Tag, recovery: &mut Recovery) {
        // `NO_ERASES` is greater, too: a tag that says no count is passed over.
        if tag.erases < IMPLAUSIBLE_ERASES {
            self.recycler.merger.store.enter_erases(seg, tag.erases);
            recovery.known_erases += u64::from(tag.erases);
            recovery.known_blocks += 1;
        }
    }
}
