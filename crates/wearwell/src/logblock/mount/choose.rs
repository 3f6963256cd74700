//! Which blocks and which copies of pages count.

use alloc::vec::Vec;
use core::cmp::Reverse;

use wearwell_flash::ErrorKind;

use super::{Block, Found, Rank, Record, Recovery, Scanned};
use crate::addr::{Lpn, Ppn, Seg};
use crate::ftl::Probe;
use crate::logblock::map::Lbn;
use crate::logblock::pages::{Pages, TagRead};
use crate::logblock::tag::{Content, Role};
use crate::logblock::{BlockFtl, Use};
use crate::page::MountError;

impl<M: Pages, P: Probe> BlockFtl<M, P> {
    /// Finds out what was programmed last. If it is a commit, a cut in it may have damaged pages that share cells with
    /// it; then what came before it was the last. A merge to a block of its own counts as undone: what it read is still
    /// there. A log block that was completed has pages that are nowhere else, so that its logical block is merged anew.
    pub(super) fn find_last(&mut self, recovery: &mut Recovery) -> Result<(), MountError> {
        recovery.last = self.last_programmed(recovery);
        while let Some(index) = recovery.commits.iter().position(|commit| Some(commit.seq) == recovery.last_seq()) {
            let seg = recovery.commits[index].seg;
            // Spec B8.
            if !self.is_harmed(seg, recovery)? {
                break;
            }
            let commit = recovery.commits.swap_remove(index);
            // Rule 4.
            let is_one_group = self.shape.pages <= self.shape.group;
            let is_copy = is_one_group || self.is_merge(seg, recovery)?;
            if !is_copy {
                recovery.doubted.push(commit.lbn);
                // Rule 2.
                recovery.fragile.extend(self.group_of(self.page_in(seg, self.shape.pages - 1)));
            }
            let what = if is_copy { Block::Undone } else { Block::Doubtful };
            let scanned = self.read_tags(seg, what, recovery)?;
            recovery.scanned.push(scanned);
            recovery.last = self.last_programmed(recovery);
        }
        if let Some((_, last)) = recovery.last {
            recovery.fragile.extend(self.group_of(last));
        }
        Ok(())
    }

    /// A page, and those before it that share cells with it.
    fn group_of(&self, at: Ppn) -> impl Iterator<Item = Ppn> + use<M, P> {
        let first = at.0 - at.0 % self.shape.pages % self.shape.group;
        (first..=at.0).map(Ppn)
    }

    /// The page with the greatest number, blocks left aside whose merge was cut: what was fragile before such a merge is
    /// so after it. A block whose head cannot be read may be a log block whose first pages a cut has hit, or such a
    /// merge; but data that a merge copies keeps its number.
    fn last_programmed(&self, recovery: &Recovery) -> Option<(u64, Ppn)> {
        let commits =
            recovery.commits.iter().map(|commit| (commit.seq, self.page_in(commit.seg, self.shape.pages - 1)));
        // A data block that lacks pages may have got some since its commit.
        let with_holes = recovery.commits.iter().filter_map(|commit| commit.holes.as_ref());
        let trusted = recovery.scanned.iter().filter(|scanned| scanned.what.is_trusted()).chain(with_holes);
        let trusted = trusted.chain(&recovery.records);
        let others = trusted.flat_map(|scanned| self.numbered(scanned, |_| true));
        let headless = recovery.scanned.iter().filter(|scanned| scanned.is_headless());
        let is_host_data = |kind| matches!(kind, Content::Data | Content::Trim);
        let headless = headless.flat_map(|scanned| self.numbered(scanned, is_host_data));
        // Of equal numbers the original comes before its copies, which are in blocks with greater ones.
        commits.chain(others).chain(headless).reduce(|last, page| if page.0 > last.0 { page } else { last })
    }

    /// The pages of a block that hold what is asked for, with their numbers.
    fn numbered<'a>(
        &'a self,
        scanned: &'a Scanned,
        counts: impl Fn(Content) -> bool + 'a,
    ) -> impl Iterator<Item = (u64, Ppn)> + 'a {
        (0_u32..).zip(&scanned.tags).filter_map(move |(page, tag)| match tag {
            TagRead::Tag(tag) if counts(tag.kind) => Some((tag.seq, self.page_in(scanned.seg, page))),
            _ => None,
        })
    }

    /// True if a page in the group of a block's commit cannot be read.
    fn is_harmed(&mut self, seg: Seg, recovery: &mut Recovery) -> Result<bool, MountError> {
        for at in self.group_of(self.page_in(seg, self.shape.pages - 1)) {
            if self.read_tag(at, recovery)? == TagRead::Unreadable {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes the last committed block of each logical block for its data block, or else a primary block.
    pub(super) fn choose_data_blocks(&mut self, recovery: &mut Recovery) -> Result<(), MountError> {
        let mut commits = core::mem::take(&mut recovery.commits);
        // Spec B9.
        commits.sort_by_key(|commit| (commit.lbn, Reverse(commit.seq)));
        let mut commits = commits.into_iter().peekable();
        while let Some(commit) = commits.next() {
            if self.map.data(commit.lbn).is_some() {
                // Rule 3.
                let is_oldest = commits.peek().is_none_or(|next| next.lbn != commit.lbn);
                let stays = is_oldest || !self.is_merge(commit.seg, recovery)?;
                recovery.stale.push((commit.seg, stays.then_some(commit.lbn)));
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
            let owner = scanned.lbns(&self.map).next();
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
        Ok(())
    }

    /// True if a block's head says that a merge filled it.
    fn is_merge(&mut self, seg: Seg, recovery: &mut Recovery) -> Result<bool, MountError> {
        let head = self.read_tag(self.page_in(seg, 0), recovery)?;
        Ok(matches!(head, TagRead::Tag(tag) if tag.role == Role::MergeHead))
    }

    fn set_data_block(&mut self, lbn: Lbn, seg: Seg) {
        self.map.set_data(lbn, Some(seg));
        self.uses[seg.index()] = Use::Data(lbn);
    }

    /// Chooses the newest copy of every page.
    pub(super) fn choose_pages(&mut self, recovery: &mut Recovery) -> Vec<Found> {
        let mut copies = Vec::new();
        for scanned in &recovery.scanned {
            let is_undone = scanned.what == Block::Undone;
            let commit_group = (self.shape.pages - 1) / self.shape.group * self.shape.group;
            let in_place = matches!(scanned.what, Block::Primary | Block::Holes);
            let programmed = scanned.programmed();
            let settled = if programmed == self.shape.pages { programmed } else { (programmed - 1) / self.shape.group };
            for (page, tag) in (0_u32..).zip(&scanned.tags) {
                let at = self.page_in(scanned.seg, page);
                let rank = Rank {
                    trusted: scanned.what.is_trusted(),
                    settled: page < settled * self.shape.group,
                    newest: scanned.newest,
                    programmed,
                };
                // Rule 5.
                let is_lost = matches!(tag, TagRead::Tag(tag) if tag.kind == Content::Lost);
                let undone = is_undone && (is_lost || page >= commit_group);
                let copy = match tag {
                    TagRead::Tag(tag) if matches!(tag.kind, Content::Data | Content::Lost) => {
                        Found { lpn: tag.lpn, seq: tag.seq, at, lost: tag.kind == Content::Lost, undone, rank }
                    }
                    // A page of a complete block was there: it is lost, unless a log block has it.
                    TagRead::Unreadable if scanned.what == Block::Holes && !self.has_primaries() => {
                        let Use::Data(lbn) = self.uses[scanned.seg.index()] else { continue };
                        Found { lpn: self.map.join(lbn, page), seq: 0, at, lost: true, undone, rank }
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
                    let is_copied = undone && self.map.is_mapped(copy.lpn);
                    copy.seq > recovery.committed[lbn.index()] && !is_copied
                };
                if counts {
                    copies.push(copy);
                }
            }
        }
        // Spec B10.
        copies.sort_by_key(|copy| (copy.lpn, Reverse((!copy.undone, copy.seq, copy.rank))));
        // Of a copy and its original one may have been hit, and nothing says which: both stay until they are merged.
        for pair in copies.windows(2) {
            if (pair[0].lpn, pair[0].seq) == (pair[1].lpn, pair[1].seq) && !pair[0].rank.settled {
                recovery.unsettled.push(self.map.split(pair[0].lpn).0);
                recovery.fragile.push(pair[0].at);
            }
        }
        copies.dedup_by_key(|copy| copy.lpn);
        for copy in &copies {
            recovery.newest[copy.lpn.0 as usize] = copy.seq;
            // What an undone merge had copied has faded since. Its commit is believed again as soon as it is not the
            // last, so that this logical block is merged before any other.
            if copy.undone {
                recovery.doubted.push(self.map.split(copy.lpn).0);
                recovery.fragile.push(copy.at);
            }
        }
        copies
    }

    /// The last discard record of each logical block, if it is newer than the data block.
    pub(super) fn newest_records(&self, recovery: &Recovery) -> Vec<Record> {
        let mut records = Vec::new();
        for scanned in &recovery.scanned {
            for (page, tag) in (0_u32..).zip(&scanned.tags) {
                let TagRead::Tag(tag) = tag else { continue };
                let (lbn, _) = self.map.split(tag.lpn);
                let counts = tag.kind == Content::Trim
                    && lbn.0 < self.map.blocks()
                    && tag.seq > recovery.committed[lbn.index()]
                    && !matches!(self.uses[scanned.seg.index()], Use::Data(_));
                if counts {
                    records.push(Record { lbn, seq: tag.seq, at: self.page_in(scanned.seg, page) });
                }
            }
        }
        records.sort_by_key(|record| (record.lbn, Reverse(record.seq)));
        records.dedup_by_key(|record| record.lbn);
        records
    }

    /// Unmaps what a discard record calls unmapped, where the copy chosen is older than the record.
    pub(super) fn apply_discards(&mut self, records: &[Record], recovery: &mut Recovery) -> Result<(), MountError> {
        for &Record { lbn, seq, at } in records {
            let mut record = core::mem::take(&mut self.record);
            let read = self.pages.read(at, &mut record);
            if read.is_err() && recovery.fragile.contains(&at) {
                self.faded = Some(at);
                return Err(ErrorKind::Uncorrectable.into());
            }
            for (offset, lpn) in self.map.range(lbn).enumerate() {
                // Spec B11.
                if read.is_ok() && has_bit(&record, offset) && recovery.newest[lpn as usize] < seq {
                    self.forget_page(Lpn(lpn));
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

    /// Unmaps what lies in logical blocks that a record calls dead and is older than it. All records count: what they say
    /// stays true.
    pub(super) fn apply_dead(&mut self, recovery: &mut Recovery) -> Result<(), MountError> {
        let mut found = Vec::new();
        for scanned in &recovery.records {
            for (page, tag) in (0_u32..).zip(&scanned.tags) {
                if let TagRead::Tag(tag) = tag
                    && tag.kind == Content::Dead
                {
                    found.push((tag.seq, self.page_in(scanned.seg, page)));
                }
            }
        }
        for (seq, at) in found {
            let mut record = core::mem::take(&mut self.record);
            let read = self.pages.read(at, &mut record);
            for lbn in (0..self.map.blocks()).filter(|&lbn| read.is_ok() && has_bit(&record, lbn as usize)).map(Lbn) {
                for lpn in self.map.range(lbn).filter(|&lpn| recovery.newest[lpn as usize] < seq) {
                    self.forget_page(Lpn(lpn));
                }
                recovery.dead.push(lbn);
            }
            self.record = record;
            match read {
                Ok(_) => {}
                // The flush that wrote it has not returned.
                Err(ErrorKind::Uncorrectable) if recovery.fragile.contains(&at) => {}
                Err(ErrorKind::Uncorrectable) => recovery.report.lost_discards += 1,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// A page was discarded before the cut.
    fn forget_page(&mut self, lpn: Lpn) {
        if self.map.is_mapped(lpn) {
            let (lbn, offset) = self.map.split(lpn);
            self.map.set_mapped(lpn, false);
            let old = self.map.set_logged(lbn, offset, Ppn::NONE);
            self.left(old);
            self.lost.forget(lpn);
        }
    }
}

/// A bit of a record; clear where the chip keeps no bytes.
fn has_bit(record: &[u8], at: usize) -> bool {
    record.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1)
}
