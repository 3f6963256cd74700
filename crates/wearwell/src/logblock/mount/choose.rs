//! Which blocks and which copies of pages count.

use alloc::vec::Vec;
use core::cmp::Reverse;

use wearwell_flash::ErrorKind;

use super::{Block, Commit, Found, Mount, Rank, Record, Recovery, Scanned};
use crate::addr::{Lpn, Ppn, Seg};
use crate::bits::is_set;
use crate::ftl::Probe;
use crate::logblock::addr::Lbn;
use crate::logblock::pages::{Pages, TagRead};
use crate::logblock::store::Use;
use crate::logblock::tag::{Content, Role};
use crate::page::MountError;

impl<M: Pages, P: Probe> Mount<'_, M, P> {
    /// Takes the last committed block of each logical block for its data block, or else a primary block.
    pub(super) fn choose_data_blocks(&mut self, recovery: &mut Recovery) -> Result<(), MountError> {
        let mut commits = core::mem::take(&mut recovery.commits);
        // Spec B9.
        commits.sort_by_key(|commit| (commit.lbn, Reverse(commit.seq)));
        for commits in commits.chunk_by(|one, other| one.lbn == other.lbn) {
            // A chunk has at least one commit.
            let [newest, older @ ..] = commits else { continue };
            self.list_older_commits(newest, older, recovery)?;
            recovery.committed[newest.lbn.index()] = newest.seq;
            self.set_data_block(newest.lbn, newest.seg);
            if let Some(scanned) = &newest.holes {
                recovery.scanned.push(scanned.clone());
            } else if self.may_be_superseded(newest.lbn, recovery)
                || !recovery.unreadable.is_empty() && self.lacks_pages(newest, recovery)?
            {
                // An erase may have begun here, and a merge may have a page that is gone.
                let scanned = self.scan_whole(newest, recovery)?;
                recovery.scanned.push(scanned);
            } else {
                // The commit vouches for each page, so a mount reads none of them.
                self.recycler.merger.index.enter_whole(newest.lbn);
                for lpn in self.map().range(newest.lbn) {
                    recovery.newest[lpn as usize] = newest.seq;
                }
            }
        }
        self.choose_primaries(recovery);
        Ok(())
    }

    /// Lists the blocks of older commits of a logical block as stale, the oldest last, and says which of them it may
    /// still need (Spec B13.3 to B13.5).
    fn list_older_commits(
        &mut self,
        newest: &Commit,
        older: &[Commit],
        recovery: &mut Recovery,
    ) -> Result<(), MountError> {
        let is_last = recovery.last_seq() == Some(newest.seq);
        let is_doubted = recovery.doubted.contains(&newest.lbn);
        let may_fade = is_last || is_doubted;
        // Spec B13.5: half-erased, it is superseded for good.
        let mut kept = older;
        while let Some((oldest, others)) = kept.split_last()
            && may_fade
            && self.gone_from(oldest.seg, oldest.seq, newest.seg, recovery)? > 0
        {
            kept = others;
        }
        // Of all commits, also of those that do not stay (B13.3).
        let first_commit = older.last().map_or(newest.seq, |oldest| oldest.seq);
        let segs: Vec<Seg> = kept.iter().map(|commit| commit.seg).collect();
        let blocks = if may_fade { self.count_older(newest.lbn, &segs, first_commit, recovery)? } else { 0 };
        if is_doubted && blocks >= 2 && !self.has_gaps(newest.seg, recovery)? {
            // The commit that does not count is the fourth.
            kept = &[];
            recovery.settled.push(newest.lbn);
        } else if is_last {
            // The last is the fourth, so that before it lasts.
            // One of the three at most has no commit, so `segs` has two or more.
            if blocks >= 3 && !self.has_gaps(segs[0], recovery)? {
                kept = &kept[..1];
                recovery.settled.push(newest.lbn);
            }
            // If the last fades, one of these counts: the logical block is merged twice. What does not stay is erased
            // before, and another mount takes what is older than all that stays for a data block (Spec B13.3).
            let first_left = kept.last().map_or(newest.seq, |oldest| oldest.seq);
            if blocks > 0 || self.uncommitted(newest.lbn, first_left, recovery).next().is_some() {
                recovery.unsure.push(newest.lbn);
            }
            self.list_idle(newest, kept, recovery)?;
        }
        for (index, commit) in older.iter().enumerate() {
            // `kept` is the beginning of `older`, so the place tells.
            let stays = may_fade && index < kept.len();
            recovery.stale.push((commit.seg, stays.then_some(commit.lbn)));
        }
        Ok(())
    }

    /// Lists which of the older data blocks, the oldest last, are not needed as long as the others stay (Spec B13.7):
    /// one with a page that cannot be read, if one between it and the oldest is whole, or the newest and the oldest
    /// have all that it holds.
    fn list_idle(&mut self, newest: &Commit, older: &[Commit], recovery: &mut Recovery) -> Result<(), MountError> {
        let [newer @ .., oldest] = older else { return Ok(()) };
        let gaps: Vec<bool> =
            newer.iter().map(|commit| self.has_gaps(commit.seg, recovery)).collect::<Result<_, _>>()?;
        let is_whole_between = gaps.contains(&false);
        for (index, commit) in newer.iter().enumerate().filter(|(index, _)| gaps[*index]) {
            // Index 0 is the last but one. It is given up only if others stand for it (Spec B13.7).
            if index > 0
                || is_whole_between
                || self.has_all_of(newest.seg, commit.seg, recovery)?
                    && self.has_all_of(oldest.seg, commit.seg, recovery)?
            {
                recovery.idle.push(commit.seg);
            }
        }
        Ok(())
    }

    /// True if a data block has a copy of each page of another one, but for that with the commit.
    fn has_all_of(&mut self, seg: Seg, other: Seg, recovery: &mut Recovery) -> Result<bool, MountError> {
        for page in 0..self.shape().pages - 1 {
            let TagRead::Tag(held) = self.read_tag(self.page_in(other, page), recovery)? else { continue };
            let copy = self.read_tag(self.page_in(seg, page), recovery)?;
            if held.kind == Content::Data && !matches!(copy, TagRead::Tag(tag) if tag.is_copy_of(&held)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// True if a newer data block of a logical block may have been found whose commit does not count: a merge, or a log
    /// block that one may have completed.
    fn may_be_superseded(&self, lbn: Lbn, recovery: &Recovery) -> bool {
        // Spec B10.
        let is_merge = |scanned: &Scanned| scanned.is_merge() && scanned.is_of(lbn, self.map());
        let mut others = recovery.scanned.iter();
        recovery.doubted.contains(&lbn)
            || others.any(|scanned| is_merge(scanned) || self.may_be_completed(scanned, lbn))
    }

    /// True if a page reads as erased of a data block that lacks none: an erase has begun. Where a block cannot be read
    /// at all, it may be what has superseded this one (Spec B10).
    fn lacks_pages(&mut self, commit: &Commit, recovery: &mut Recovery) -> Result<bool, MountError> {
        self.any_reads(TagRead::Erased, commit.seg, self.map().pages_of(commit.lbn), recovery)
    }

    /// Looks at each page of a data block that lacks none. What reads as erased was there. If a page cannot be read
    /// that the mount took for one that a cut may have hit, and that may fade, it begins anew without it.
    fn scan_whole(&mut self, commit: &Commit, recovery: &mut Recovery) -> Result<Scanned, MountError> {
        let mut scanned = self.read_tags(commit.seg, Block::Whole, recovery)?;
        let pages = (0_u32..).zip(&scanned.tags).filter(|&(_, tag)| *tag == TagRead::Unreadable);
        let mut gone = pages.map(|(page, _)| self.page_in(commit.seg, page));
        if let Some(at) = gone.find(|&at| recovery.fragile.contains(at)) {
            return Err(recovery.fragile.note_faded(at).into());
        }
        // Spec B10: what the commit has, and reads as erased, is gone like what cannot be read.
        let held = self.map().pages_of(commit.lbn) as usize;
        let erased = scanned.tags[..held].iter_mut().filter(|tag| **tag == TagRead::Erased);
        erased.for_each(|tag| *tag = TagRead::Unreadable);
        Ok(scanned)
    }

    /// True if a page of a data block is gone that a block with a merge may have a copy of. Where the data block may
    /// have lacked the page, only what a newer merge has read was there.
    fn is_gone(&self, lbn: Lbn, offset: u32, merged: &Scanned, recovery: &Recovery) -> bool {
        let is_gone = |data: &Scanned| {
            let read = data.tags[offset as usize];
            let is_merged = self.is_newer_merge(merged, lbn, recovery) && !matches!(read, TagRead::Tag(_));
            match data.what {
                Block::Whole => read == TagRead::Unreadable,
                Block::Holes => is_merged || read == TagRead::Unreadable,
                _ => false,
            }
        };
        recovery.scanned.iter().any(|data| self.map().data(lbn) == Some(data.seg) && is_gone(data))
    }

    /// True if what cannot be read in a data block was there. In a primary block a cut may have hit a page that was
    /// programmed into a gap, where nothing was before.
    fn has_lost(&self, data: &Scanned) -> bool {
        data.what == Block::Whole || data.what == Block::Holes && !self.recycler.merger.index.in_place().is_used()
    }

    /// True if a merge whose commit does not count, or cannot be read, is newer than the data block. It is if any page
    /// of it is: all of an older one were programmed before the commit of the data block. A commit that cannot be read
    /// had a number as well, which was greater than those of the other pages.
    fn is_newer_merge(&self, merged: &Scanned, lbn: Lbn, recovery: &Recovery) -> bool {
        let is_merge = merged.commit().is_some() || merged.is_merge();
        let least = merged.newest + u64::from(merged.commit().is_none());
        let is_newer = is_merge && least >= recovery.committed[lbn.index()];
        is_newer && !merged.what.is_trusted() && merged.is_of(lbn, self.map())
    }

    /// The data blocks beside a block that may be a merge whose commit does not count. If that has decayed, the data
    /// block was superseded, and its erase may have begun, whether it shows or not.
    pub(super) fn beside_merges<'a>(&'a self, recovery: &'a Recovery) -> impl Iterator<Item = &'a Scanned> + 'a {
        recovery.scanned.iter().filter(|data| {
            let Use::Data(lbn) = self.recycler.merger.store.used(data.seg) else { return false };
            let is_merge = |other: &Scanned| !other.what.is_trusted() && other.is_of(lbn, self.map());
            data.what == Block::Whole || data.what == Block::Holes && recovery.scanned.iter().any(is_merge)
        })
    }

    /// Takes the primary blocks of logical blocks without a commit for their data blocks.
    fn choose_primaries(&mut self, recovery: &mut Recovery) {
        for scanned in &mut recovery.scanned {
            if scanned.what != Block::Primary {
                continue;
            }
            let owner = scanned.lbns(self.map()).next();
            match owner.filter(|lbn| lbn.0 < self.map().blocks()) {
                Some(lbn) if self.map().data(lbn).is_none() => self.set_data_block(lbn, scanned.seg),
                // Whatever of it is newer than the data block still counts.
                _ => scanned.what = Block::Replaced,
            }
        }
    }

    /// True if a block's head says that a merge filled it.
    pub(super) fn is_merge(&mut self, seg: Seg, recovery: &mut Recovery) -> Result<bool, MountError> {
        let head = self.read_tag(self.page_in(seg, 0), recovery)?;
        Ok(matches!(head, TagRead::Tag(tag) if tag.role == Role::MergeHead))
    }

    fn set_data_block(&mut self, lbn: Lbn, seg: Seg) {
        self.recycler.merger.index.enter_data(lbn, seg);
        self.recycler.merger.store.use_as_data(seg, lbn);
    }

    /// Chooses the newest copy of every page.
    pub(super) fn choose_pages(&mut self, recovery: &mut Recovery) -> Result<Vec<Found>, MountError> {
        let alone = self.find_alone(recovery)?;
        let mut copies = Vec::new();
        for scanned in &recovery.scanned {
            let is_undone = scanned.what == Block::Undone;
            // The first page that shares cells with the commit.
            let commit_group = self.shape().last_group(self.shape().pages);
            let in_place = matches!(scanned.what, Block::Primary | Block::Holes | Block::Whole);
            let owner = scanned.lbns(self.map()).next();
            // Without its first page nothing says whether a merge filled it.
            let is_data = scanned.is_merge()
                || scanned.commit().is_some()
                || scanned.is_headless()
                || owner.is_some_and(|lbn| self.may_be_completed(scanned, lbn));
            let may_lose = self.has_lost(scanned);
            let programmed = scanned.programmed();
            // In groups. Of a block that is full the number is more than it has, so all of its pages are settled.
            let settled =
                if programmed == self.shape().pages { programmed } else { (programmed - 1) / self.shape().group };
            for (page, tag) in (0_u32..).zip(&scanned.tags) {
                let at = self.page_in(scanned.seg, page);
                let rank = Rank {
                    trusted: scanned.what.is_trusted(),
                    settled: page < settled * self.shape().group,
                    newest: scanned.newest,
                    programmed,
                };
                // Spec B10.
                let is_lost = matches!(tag, TagRead::Tag(tag) if tag.kind == Content::Lost);
                let undone = is_undone && (is_lost || page >= commit_group);
                let is_commit = matches!(tag, TagRead::Tag(tag) if tag.role.is_commit());
                let yields = is_undone && (is_lost || is_commit && !alone.contains(&at));
                let copy = match tag {
                    TagRead::Tag(tag) if matches!(tag.kind, Content::Data | Content::Lost) => {
                        Found { lpn: tag.lpn, seq: tag.seq, at, lost: tag.kind == Content::Lost, undone, yields, rank }
                    }
                    // A page of a complete block was there: it is lost, unless another block has it.
                    TagRead::Unreadable if may_lose => {
                        let Use::Data(lbn) = self.recycler.merger.store.used(scanned.seg) else { continue };
                        Found { lpn: self.map().join(lbn, page), seq: 0, at, lost: true, undone, yields: true, rank }
                    }
                    _ => continue,
                };
                // The last logical block may end beyond the device.
                if copy.lpn.0 >= self.map().logical_pages() {
                    continue;
                }
                let (lbn, offset) = self.map().split(copy.lpn);
                // In its place a page counts if this is the data block that was chosen. Elsewhere it has to be newer
                // than that, or to be copied from a page that is gone there.
                let counts = if in_place {
                    offset == page && self.map().data(lbn) == Some(scanned.seg)
                } else {
                    let is_copied = yields && self.map().is_mapped(copy.lpn);
                    let is_newer = copy.seq > recovery.committed[lbn.index()];
                    (is_newer || is_data && self.is_gone(lbn, offset, scanned, recovery)) && !is_copied
                };
                if counts && !self.was_discarded(&copy, scanned, recovery) {
                    copies.push(copy);
                }
            }
        }
        self.take_newest(&mut copies, recovery);
        Ok(copies)
    }

    /// True if a page of a log block is not in a merge that came behind it, whose commit cannot be read, and the erase
    /// of the log block has begun: then the merge had a commit, and the page was discarded before it (Spec B10).
    fn was_discarded(&self, copy: &Found, log: &Scanned, recovery: &Recovery) -> bool {
        let (lbn, offset) = self.map().split(copy.lpn);
        let is_left_out = |merged: &Scanned| {
            let is_of_same = merged.lacks_commit() && merged.is_of(lbn, self.map());
            is_of_same && merged.newest > copy.seq && merged.tags[offset as usize] == TagRead::Erased
        };
        let mut merges = recovery.scanned.iter().filter(|merged| is_left_out(merged));
        // Each page of each log block comes here. What looks at the pages of other blocks is asked last.
        log.what == Block::Log
            && merges.any(|merged| {
                // An erase of the merge, which could have taken the page, would mostly have left more of it unreadable.
                let is_whole = merged.unreadable() == 1;
                self.shows_erase(log, merged, lbn) && (is_whole || !self.may_have_moved(lbn, log, recovery))
            })
    }

    /// True if a page of a log block may have been migrated to another one, and have decayed there: the erase of the
    /// first one begins without any merge then.
    fn may_have_moved(&self, lbn: Lbn, log: &Scanned, recovery: &Recovery) -> bool {
        let may_have_it = |other: &Scanned| {
            let is_log = other.what == Block::Log || other.is_headless();
            is_log && other.unreadable() > 0 && other.has_page_of(lbn, self.map())
        };
        let mut others = recovery.scanned.iter().filter(|other| other.seg != log.seg);
        // Where no page tells, it has held one alone: of more, one would be left to tell.
        recovery.unreadable.iter().any(|other| other.unreadable() == 1) || others.any(may_have_it)
    }

    /// True if a log block was being erased that a merge has read. Pages are appended to it one after another, and
    /// behind a cut to another. So its erase has begun if one reads as erased before one that does not; but where a
    /// merge has begun to complete it, that page was never programmed. It also has if more cannot be read before the
    /// group that was programmed last than of the merge. Otherwise the merge may be what is erased, and they have
    /// decayed.
    fn shows_erase(&self, log: &Scanned, merged: &Scanned, lbn: Lbn) -> bool {
        let end = log.programmed();
        let programmed = &log.tags[..end as usize];
        let before = &programmed[..self.shape().last_group(end) as usize];
        let unreadable = before.iter().filter(|&tag| *tag == TagRead::Unreadable).count();
        programmed.contains(&TagRead::Erased) && !self.may_be_in_place(log, lbn) || unreadable > merged.unreadable()
    }

    /// Leaves of all copies of a page the newest, and notes which of these a cut may have hit.
    fn take_newest(&self, copies: &mut Vec<Found>, recovery: &mut Recovery) {
        // Spec B10.
        copies.sort_by_key(|copy| (copy.lpn, Reverse((!copy.yields, copy.seq, !copy.undone, copy.rank))));
        // Of a copy and its original one may have been hit, by the cut in a program or in the erase of its block, and
        // nothing says which: both stay until they are merged.
        for pair in copies.windows(2) {
            if (pair[0].lpn, pair[0].seq) == (pair[1].lpn, pair[1].seq) {
                // The first of a pair is the one that counts.
                recovery.fragile.insert(pair[0].at);
            }
        }
        copies.dedup_by_key(|copy| copy.lpn);
        for copy in copies {
            recovery.newest[copy.lpn.0 as usize] = copy.seq;
            if copy.undone {
                recovery.fragile.insert(copy.at);
            }
        }
    }

    /// The pages with the commits of undone merges whose originals are not left. Nothing was written behind the merge,
    /// so they are newer than what is.
    fn find_alone(&mut self, recovery: &Recovery) -> Result<Vec<Ppn>, MountError> {
        let mut alone = Vec::new();
        for merged in recovery.undone() {
            if self.is_alone(merged, recovery)? {
                alone.push(self.page_in(merged.seg, self.shape().pages - 1));
            }
        }
        Ok(alone)
    }

    /// The last discard record of each logical block, if it is newer than the data block.
    pub(super) fn newest_records(&self, recovery: &Recovery) -> Vec<Record> {
        let mut records = Vec::new();
        for scanned in &recovery.scanned {
            for (page, tag) in (0_u32..).zip(&scanned.tags) {
                let TagRead::Tag(tag) = tag else { continue };
                let (lbn, _) = self.map().split(tag.lpn);
                let counts = tag.kind == Content::Trim
                    && lbn.0 < self.map().blocks()
                    && tag.seq > recovery.committed[lbn.index()]
                    && !matches!(self.recycler.merger.store.used(scanned.seg), Use::Data(_));
                if counts {
                    records.push(Record { lbn, seq: tag.seq, at: self.page_in(scanned.seg, page) });
                }
            }
        }
        // A record has the whole state of its logical block, so those before the newest say nothing more.
        records.sort_by_key(|record| (record.lbn, Reverse(record.seq)));
        records.dedup_by_key(|record| record.lbn);
        records
    }

    /// Unmaps what a discard record calls unmapped, where the copy chosen is older than the record.
    pub(super) fn apply_discards(&mut self, records: &[Record], recovery: &mut Recovery) -> Result<(), MountError> {
        for &Record { lbn, seq, at } in records {
            let mut record = core::mem::take(&mut recovery.page);
            let read = self.recycler.merger.store.read(at, &mut record);
            // A cut may have hit the record: the mount begins anew without it.
            if read.is_err() && recovery.fragile.contains(at) {
                return Err(recovery.fragile.note_faded(at).into());
            }
            for (offset, lpn) in self.map().range(lbn).enumerate() {
                // Spec B11.
                if read.is_ok() && is_set(&record, offset) && recovery.newest[lpn as usize] < seq {
                    self.forget_page(Lpn(lpn));
                }
            }
            recovery.page = record;
            recovery.report.lost_discards += u32::from(read.is_err());
            self.recycler.merger.index.enter_record(lbn, at);
        }
        Ok(())
    }

    /// Unmaps what lies in logical blocks that a record calls dead and is older than it. All records count: what they
    /// say stays true.
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
            let mut record = core::mem::take(&mut recovery.page);
            let read = self.recycler.merger.store.read(at, &mut record);
            for lbn in (0..self.map().blocks()).filter(|&lbn| read.is_ok() && is_set(&record, lbn as usize)).map(Lbn) {
                for lpn in self.map().range(lbn).filter(|&lpn| recovery.newest[lpn as usize] < seq) {
                    self.forget_page(Lpn(lpn));
                }
                // Also without a page in the map: its blocks are still to be erased.
                recovery.dead.push(lbn);
            }
            recovery.page = record;
            match read {
                Ok(_) => {}
                // The flush that wrote it has not returned.
                Err(ErrorKind::Uncorrectable) if recovery.fragile.contains(at) => {}
                Err(ErrorKind::Uncorrectable) => recovery.report.lost_discards += 1,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// A page was discarded before the cut.
    fn forget_page(&mut self, lpn: Lpn) {
        if self.map().is_mapped(lpn) {
            self.recycler.merger.index.unmap(lpn);
        }
    }
}
