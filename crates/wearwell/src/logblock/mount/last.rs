//! What a cut may have hit: the last commit, and the groups of pages that were being filled.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::Range;

use wearwell_flash::ErrorKind;

use super::{Block, Commit, Found, Mount, Record, Recovery, Scanned};
use crate::addr::{Ppn, Seg};
use crate::ftl::Probe;
use crate::logblock::addr::Lbn;
use crate::logblock::pages::{Pages, TagRead};
use crate::logblock::tag::{Content, Role, Tag};
use crate::page::MountError;

impl<M: Pages, P: Probe> Mount<'_, M, P> {
    /// Finds out what was programmed last, and which pages a cut may have hit. If the last is a commit that does not
    /// count, what came before it was the last. A merge to a block of its own counts as undone then: what it read is
    /// still there. A log block that was completed has pages that are nowhere else, so its logical block is merged
    /// anew.
    pub(super) fn find_last(&mut self, recovery: &mut Recovery) -> Result<(), MountError> {
        recovery.last = self.last_programmed(recovery);
        let mut harmed: Option<Lbn> = None;
        // Each round takes a commit away, or is the last one.
        while let Some(index) = recovery.commits.iter().position(|commit| Some(commit.seq) == recovery.last_seq()) {
            let commit = recovery.commits.swap_remove(index);
            let (seg, last_page) = (commit.seg, self.page_in(commit.seg, self.shape().pages - 1));
            // Spec B13.4.
            if self.is_third(&commit, recovery)? {
                recovery.stale.push((seg, None));
                recovery.last = self.last_programmed(recovery);
                continue;
            }
            // Spec B8.7, B8.1: behind a commit that a cut has hit, none of another logical block comes first.
            if harmed.is_some_and(|lbn| lbn != commit.lbn) || !self.is_harmed(&commit, recovery)? {
                // Spec B12.5.
                let pages = (0..self.shape().pages).map(|page| self.page_in(seg, page));
                recovery.fragile.extend(pages.filter(|at| !recovery.faded.contains(at)));
                recovery.commits.push(commit);
                break;
            }
            harmed = Some(commit.lbn);
            let is_merge = self.is_merge(seg, recovery)?;
            if !is_merge {
                recovery.doubted.push(commit.lbn);
                // Spec B12.6.
                recovery.fragile.extend(self.group_of(last_page));
            }
            let what = if is_merge { Block::Undone } else { Block::Doubtful };
            let scanned = self.read_tags(seg, what, recovery)?;
            recovery.scanned.push(scanned);
            recovery.last = self.last_programmed(recovery);
        }
        self.find_open_groups(recovery);
        Ok(())
    }

    /// True if the logical block of the last commit has two older data blocks, a newer one of which is whole, and the
    /// last is no completed log block. Then it is not needed (Spec B13.4). If its head is gone, it was being erased. A
    /// page that cannot be read counts as gone though the last has none in its place: a merge programs no page there,
    /// but an erase that is cut may leave anything.
    fn is_third(&mut self, last: &Commit, recovery: &mut Recovery) -> Result<bool, MountError> {
        let head = self.read_tag(self.page_in(last.seg, 0), recovery)?;
        // A completed log block has pages that are nowhere else.
        if matches!(head, TagRead::Tag(tag) if tag.role != Role::MergeHead) {
            return Ok(false);
        }
        let of_same = recovery.commits.iter().filter(|commit| commit.lbn == last.lbn);
        let mut older: Vec<(u64, Seg)> = of_same.map(|commit| (commit.seq, commit.seg)).collect();
        older.sort_unstable_by_key(|&(seq, _)| Reverse(seq));
        let Some(&(first, _)) = older.last() else { return Ok(false) };
        let segs: Vec<Seg> = older.iter().map(|&(_, seg)| seg).collect();
        if self.count_older(last.lbn, &segs, first, recovery)? != 2 {
            return Ok(false);
        }
        let Some((seq, second)) = self.newest_whole(&older, recovery)? else { return Ok(false) };
        // A page that is gone from the second, and has a copy in the last, says that the erase of the second has begun.
        // Then the last is needed.
        Ok(self.gone_from(second, seq, last.seg, recovery)? == 0)
    }

    /// The newest of data blocks of which each page can be read. One with gaps is passed over: a cut has hit it, and a
    /// merge that a mount has made since would count as if it were needed (Spec B13.4).
    fn newest_whole(
        &mut self,
        blocks: &[(u64, Seg)],
        recovery: &mut Recovery,
    ) -> Result<Option<(u64, Seg)>, MountError> {
        for &(seq, seg) in blocks {
            if !self.has_gaps(seg, recovery)? {
                return Ok(Some((seq, seg)));
            }
        }
        Ok(None)
    }

    /// Counts the data blocks of a logical block behind the newest: those in `older`, the oldest last, and one without
    /// a commit that is older than the `first_commit`. Of the former, only the oldest and whole ones count (Spec
    /// B13.4), and the latter only if its head is there: without it, it may be what an erase has left of a merge that
    /// was newer.
    pub(super) fn count_older(
        &mut self,
        lbn: Lbn,
        older: &[Seg],
        first_commit: u64,
        recovery: &mut Recovery,
    ) -> Result<u32, MountError> {
        let has_head = |scanned: &Scanned| matches!(scanned.tags.first(), Some(TagRead::Tag(_)));
        let mut blocks = u32::from(self.uncommitted(lbn, first_commit, recovery).any(has_head));
        if let [between @ .., _] = older {
            blocks += 1;
            // One with gaps may be a merge that a cut has hit, and that was believed once (Spec B13.4).
            for &seg in between {
                blocks += u32::from(!self.has_gaps(seg, recovery)?);
            }
        }
        Ok(blocks)
    }

    /// True if a page of a block with a commit cannot be read.
    pub(super) fn has_gaps(&mut self, seg: Seg, recovery: &mut Recovery) -> Result<bool, MountError> {
        // All but the last, which is the commit and was read.
        self.any_reads(TagRead::Unreadable, seg, self.shape().pages - 1, recovery)
    }

    /// True if one of the first `pages` pages of a block reads `so`.
    pub(super) fn any_reads(
        &mut self,
        so: TagRead,
        seg: Seg,
        pages: u32,
        recovery: &mut Recovery,
    ) -> Result<bool, MountError> {
        for page in 0..pages {
            if self.read_tag(self.page_in(seg, page), recovery)? == so {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The blocks that may be a data block without a commit that is older than the first with one: a primary block, or
    /// a completed log block that lost its commit when its erase was cut. A log block that was written in order and
    /// never completed looks the same, and there is no data block before it. What an erase has left of a merge looks
    /// the same, too, where a primary block may lack its head.
    pub(super) fn uncommitted<'a>(
        &'a self,
        lbn: Lbn,
        first_commit: u64,
        recovery: &'a Recovery,
    ) -> impl Iterator<Item = &'a Scanned> + 'a {
        let is_older = move |scanned: &&Scanned| {
            matches!(scanned.what, Block::Log | Block::Primary) && scanned.newest < first_commit
        };
        recovery.scanned.iter().filter(is_older).filter(move |scanned| self.may_be_in_place(scanned, lbn))
    }

    /// True if each page of a block that can be read is in its place of a logical block.
    pub(super) fn may_be_in_place(&self, scanned: &Scanned, lbn: Lbn) -> bool {
        let is_in_place = |place: u32, tag: &Tag| tag.lpn.0 == place && tag.kind != Content::Trim;
        (self.map().range(lbn).start..)
            .zip(&scanned.tags)
            .all(|(place, tag)| !matches!(tag, TagRead::Tag(tag) if !is_in_place(place, tag)))
    }

    /// Finds the groups of pages that were being filled. That of the last page is one of them; and that of the last
    /// that is no padding, since its program may have failed: other blocks are padded before its own is marked. But the
    /// page that the cut hit may be unreadable, and then no number says which it was in: so every group that is not
    /// full, or has an unreadable page, is one as well.
    fn find_open_groups(&self, recovery: &mut Recovery) {
        let appended = self.last_appended(recovery, |_| true).map(|(_, at)| at);
        recovery.appended = appended;
        let unpadded = self.last_appended(recovery, |tag| tag.kind != Content::Pad).map(|(_, at)| at);
        // Spec B12.6.
        let last = appended.into_iter().chain(unpadded);
        recovery.fragile.extend(last.flat_map(|last| self.group_of(last)));
        // Spec B12.7.
        for scanned in recovery.scanned.iter().filter(|scanned| scanned.may_be_open()) {
            let end = scanned.programmed();
            // Of a merge it may be what cut erases have left: any page of it may fade.
            let first = if scanned.lacks_commit() { 0 } else { self.shape().last_group(end) };
            let is_full = end.is_multiple_of(self.shape().group) || end == self.shape().pages;
            if !is_full || scanned.tags[first as usize..end as usize].contains(&TagRead::Unreadable) {
                recovery.fragile.extend((first..end).map(|page| self.page_in(scanned.seg, page)));
            }
        }
        // What has faded can fade no more: this mount does without it.
        recovery.fragile.leave_out(&recovery.faded);
    }

    /// Notes the pages of blocks whose erase may have begun: cut, it may leave any page for a while.
    pub(super) fn find_half_erased(&self, recovery: &mut Recovery) {
        // Spec B12.5.
        let begun = recovery.scanned.iter().filter(|scanned| scanned.is_headless() || scanned.is_erased_in_part());
        let begun = begun.chain(self.beside_merges(recovery));
        let pages: Vec<Ppn> =
            begun.flat_map(|scanned| (0..self.shape().pages).map(|page| self.page_in(scanned.seg, page))).collect();
        recovery.fragile.extend(pages);
        recovery.fragile.leave_out(&recovery.faded);
    }

    /// Lists the logical blocks of which a fragile page or record was chosen.
    pub(super) fn find_unsettled(&self, copies: &[Found], records: &[Record], recovery: &mut Recovery) {
        // Spec B12.8.
        let last: Vec<Ppn> = self.last_shared(recovery).collect();
        let is_alone = |copy: &&Found| self.map().data(self.map().split(copy.lpn).0).is_none();
        let forgotten = copies.iter().filter(is_alone).map(|copy| copy.at).filter(|at| last.contains(at));
        recovery.fragile.extend(forgotten.filter(|at| !recovery.faded.contains(at)));
        let copies = copies.iter().map(|copy| (self.map().split(copy.lpn).0, copy.at));
        let chosen = copies.chain(records.iter().map(|record| (record.lbn, record.at)));
        let fragile = chosen.filter(|&(_, at)| recovery.fragile.contains(at)).map(|(lbn, _)| lbn);
        recovery.unsettled.extend(fragile);
    }

    /// The last groups that were programmed of log blocks with pages of several logical blocks.
    fn last_shared<'a>(&'a self, recovery: &'a Recovery) -> impl Iterator<Item = Ppn> + 'a {
        recovery.scanned.iter().filter(|scanned| self.is_shared(scanned)).flat_map(|scanned| {
            let end = scanned.programmed();
            (self.shape().last_group(end)..end).map(|page| self.page_in(scanned.seg, page))
        })
    }

    /// True for a log block with pages of several logical blocks.
    fn is_shared(&self, scanned: &Scanned) -> bool {
        let owner = scanned.lbns(self.map()).next();
        scanned.what == Block::Log && scanned.lbns(self.map()).any(|lbn| Some(lbn) != owner)
    }

    /// The log blocks of several logical blocks with a page that a cut may have hit, and that a commit has passed over:
    /// the data block has an older one, or none (Spec B13.9). Its program failed, and the cut came before its block was
    /// marked; or it was discarded.
    pub(super) fn find_passed_over(&mut self, recovery: &Recovery) -> Result<Vec<Seg>, ErrorKind> {
        let mut found = Vec::new();
        for scanned in &recovery.scanned {
            if self.is_shared(scanned) && self.has_passed_over(scanned, recovery)? {
                found.push(scanned.seg);
            }
        }
        Ok(found)
    }

    fn has_passed_over(&mut self, scanned: &Scanned, recovery: &Recovery) -> Result<bool, ErrorKind> {
        for (page, read) in (0_u32..).zip(&scanned.tags) {
            let TagRead::Tag(tag) = read else { continue };
            let (lbn, offset) = self.map().split(tag.lpn);
            // A damaged tag may name no logical block of the device.
            let is_old = recovery.committed.get(lbn.index()).is_some_and(|&commit| tag.seq < commit);
            let is_fragile = recovery.fragile.contains(self.page_in(scanned.seg, page));
            if !is_old || !is_fragile || tag.kind != Content::Data {
                continue;
            }
            let Some(data) = self.map().data(lbn) else { continue };
            match self.recycler.merger.store.tag(self.page_in(data, offset))? {
                TagRead::Tag(copy) if copy.seq < tag.seq => return Ok(true),
                TagRead::Erased => return Ok(true),
                _ => {}
            }
        }
        Ok(false)
    }

    /// A page, and those before it that share cells with it.
    fn group_of(&self, at: Ppn) -> impl Iterator<Item = Ppn> + use<M, P> {
        // Groups are counted from the beginning of a block, whose pages need not be a multiple of them.
        let first = at.0 - at.0 % self.shape().pages % self.shape().group;
        (first..=at.0).map(Ppn)
    }

    /// The page with the greatest number, blocks left aside whose merge was cut: what was fragile before such a merge
    /// is so after it.
    fn last_programmed(&self, recovery: &Recovery) -> Option<(u64, Ppn)> {
        let commits =
            recovery.commits.iter().map(|commit| (commit.seq, self.page_in(commit.seg, self.shape().pages - 1)));
        greatest(commits.chain(self.last_appended(recovery, |_| true)))
    }

    /// Of the pages that count, the one with the greatest number that no commit is. The merges of a mount leave it
    /// where it is. A block whose head cannot be read may be a log block whose first pages a cut has hit, or a merge
    /// that was cut; but data that a merge copies keeps its number.
    fn last_appended(&self, recovery: &Recovery, counts: impl Fn(&Tag) -> bool + Copy) -> Option<(u64, Ppn)> {
        let trusted = recovery.trusted().chain(&recovery.records);
        let trusted = trusted.flat_map(|scanned| self.numbered(scanned, counts));
        // A data block that lacks pages may have got some since its commit.
        let with_holes = recovery.commits.iter().filter_map(|commit| commit.holes.as_ref());
        let in_place =
            with_holes.flat_map(|scanned| self.numbered(scanned, move |tag| tag.role == Role::InPlace && counts(tag)));
        // One whose commit has decayed may have got some, too. What the merge has copied is older than the head.
        let doubtful = recovery.scanned.iter().filter(|scanned| scanned.what == Block::Doubtful);
        let since_merge = doubtful.flat_map(|scanned| {
            let head = if let Some(TagRead::Tag(head)) = scanned.tags.first() { head.seq } else { u64::MAX };
            self.numbered(scanned, move |tag| tag.role == Role::InPlace && tag.seq > head && counts(tag))
        });
        let headless = recovery.scanned.iter().filter(|scanned| scanned.is_headless());
        let is_host_data = |tag: &Tag| matches!(tag.kind, Content::Data | Content::Trim) && !tag.role.is_commit();
        let headless = headless.flat_map(|scanned| self.numbered(scanned, is_host_data));
        // Of equal numbers the original comes before its copies, which are in blocks with greater ones.
        greatest(trusted.chain(in_place).chain(since_merge).chain(headless))
    }

    /// The pages of a block that count, with their numbers.
    fn numbered<'a>(
        &'a self,
        scanned: &'a Scanned,
        counts: impl Fn(&Tag) -> bool + 'a,
    ) -> impl Iterator<Item = (u64, Ppn)> + 'a {
        (0_u32..).zip(&scanned.tags).filter_map(move |(page, tag)| match tag {
            TagRead::Tag(tag) if counts(tag) => Some((tag.seq, self.page_in(scanned.seg, page))),
            _ => None,
        })
    }

    /// True if the last commit does not count: a page of its group cannot be read, or of a merge any page, since a
    /// mount that found such a commit may have begun to erase it. If the commit itself can be read no more, the mount
    /// begins anew without it.
    fn is_harmed(&mut self, commit: &Commit, recovery: &mut Recovery) -> Result<bool, MountError> {
        let (head, last) = (self.page_in(commit.seg, 0), self.page_in(commit.seg, self.shape().pages - 1));
        let head_tag = self.read_tag(head, recovery)?;
        let is_merge = matches!(head_tag, TagRead::Tag(tag) if tag.role == Role::MergeHead);
        let is_appended = !is_merge && matches!(head_tag, TagRead::Tag(_));
        let first = if is_appended { self.group_of(last).next().unwrap_or(last) } else { head };
        // Only the pages of a commit that lacks none, and those that the device has, have to be there.
        let held = if commit.holes.is_none() { self.map().pages_of(commit.lbn) } else { 0 };
        let mut harmed = 0;
        for at in (first.0..=last.0).map(Ppn) {
            let tag = self.read_tag(at, recovery)?;
            // Spec B1: it has faded.
            if at == last && tag == TagRead::Unreadable {
                return Err(recovery.fragile.note_faded(last).into());
            }
            harmed += u32::from(tag == TagRead::Unreadable || (tag == TagRead::Erased && at.0 - head.0 < held));
        }
        Ok(harmed > 0 && (is_appended || !self.lacks_sources(commit, harmed, recovery)?))
    }

    /// True if what a merge read is gone. It stays until the commit lasts, so it does: its page has decayed. A page
    /// that is gone may have decayed itself, while the commit was cut. What takes fewer faults is believed: one cut
    /// in the commit explains all that is `harmed` there, and one in the erase all that is gone.
    fn lacks_sources(&mut self, commit: &Commit, harmed: u32, recovery: &mut Recovery) -> Result<bool, MountError> {
        // Spec B8.4.
        let older = recovery.commits.iter().filter(|older| older.lbn == commit.lbn);
        if let Some(old) = older.min_by_key(|older| older.seq) {
            let (seq, seg, is_whole) = (old.seq, old.seg, old.holes.is_none());
            // No decay makes a page read as erased: if one does that was there, the erase has begun.
            let held = self.map().pages_of(commit.lbn);
            return Ok(is_whole && self.any_reads(TagRead::Erased, seg, held, recovery)?
                || self.gone_from(seg, seq, commit.seg, recovery)? > harmed);
        }
        let merged = self.read_tags(commit.seg, Block::Undone, recovery)?;
        // What a cut in a log block has harmed is gone, too. What an erase has taken from another merge was no source.
        let logs = recovery.scanned.iter().filter(|scanned| !scanned.is_merge());
        let begun = recovery.unreadable.iter().filter(|scanned| scanned.programmed() <= self.shape().group);
        let gone: Vec<Range<u64>> = logs.chain(begun).flat_map(|scanned| self.unreadable_numbers(scanned)).collect();
        // Spec B8.6. If the commit of another block has faded, there was an older one.
        if self.has_whole_group(&merged, commit.lbn) && !self.may_lack_commit(commit.lbn, recovery) {
            return Ok(true);
        }
        // Spec B8.5.
        let has_copy = |tag: &Tag| recovery.scanned.iter().any(|scanned| scanned.has_copy_of(tag));
        let is_left = |read: &&TagRead| {
            let TagRead::Tag(tag) = read else { return false };
            tag.kind == Content::Data && !tag.role.is_commit() && !has_copy(tag)
        };
        let is_lost = |read: &TagRead| matches!(read, TagRead::Tag(tag) if !gone.iter().any(|n| n.contains(&tag.seq)));
        if merged.tags.iter().filter(is_left).any(is_lost) {
            return Ok(true);
        }
        Ok(merged.tags.iter().filter(is_left).count() > gone.len())
    }

    /// For each page of a block that cannot be read, the numbers that it may have had. Where log blocks are shared, all
    /// but those that a merge may have completed take pages in the order of their numbers, and no copies: an unreadable
    /// page was none that is older than what stands before it, or newer than what stands behind it.
    fn unreadable_numbers(&self, scanned: &Scanned) -> Vec<Range<u64>> {
        let owner = scanned.lbns(self.map()).next().filter(|lbn| lbn.0 < self.map().blocks());
        let is_ordered = self.recycler.merger.index.shares_logs()
            && scanned.what == Block::Log
            && owner.is_some_and(|lbn| !self.may_be_in_place(scanned, lbn));
        let number = |read: &TagRead| if let TagRead::Tag(tag) = read { Some(tag.seq) } else { None };
        let mut found = Vec::new();
        for (page, _) in scanned.tags.iter().enumerate().filter(|(_, read)| **read == TagRead::Unreadable) {
            let (before, behind) = scanned.tags.split_at(page);
            let first = before.iter().rev().find_map(number).filter(|_| is_ordered);
            let end = behind.iter().find_map(number).filter(|_| is_ordered);
            // The page may have had any number where pages are in no order.
            found.push(first.unwrap_or(0)..end.unwrap_or(u64::MAX));
        }
        found
    }

    /// True if a data block of a logical block may have been found whose commit cannot be read: a merge, or a log block
    /// that one may have completed.
    fn may_lack_commit(&self, lbn: Lbn, recovery: &Recovery) -> bool {
        let is_data = |scanned: &Scanned| scanned.lacks_commit() || self.may_be_completed(scanned, lbn);
        recovery.scanned.iter().any(|scanned| scanned.is_of(lbn, self.map()) && is_data(scanned))
    }

    /// True if a block may be a log block that a merge has completed, and whose commit cannot be read.
    pub(super) fn may_be_completed(&self, scanned: &Scanned, lbn: Lbn) -> bool {
        scanned.tags.last() == Some(&TagRead::Unreadable) && self.may_be_in_place(scanned, lbn)
    }

    /// True if each page of a commit's group can be read, or reads as erased and was never there, as the commit says.
    /// Then no cut has hit the commit, and no mount has begun to erase its block because of one: what cannot be read
    /// before the group has decayed. With an older commit beside it that proves nothing, since a mount may have begun
    /// to erase the third block of three; nor with one that cannot be read any more.
    fn has_whole_group(&self, merged: &Scanned, lbn: Lbn) -> bool {
        let group = self.shape().last_group(self.shape().pages) as usize;
        let has_all = merged.has_all_held(self.map().pages_of(lbn) as usize);
        let is_whole = |read: &TagRead| matches!(read, TagRead::Tag(_)) || *read == TagRead::Erased && has_all;
        merged.tags[group..].iter().all(is_whole)
    }

    /// True if nothing outside its block holds what the page of a commit does. That page has a number of its own, so
    /// only its data can tell whether what it was copied from is still there. No undone merge is that: none was read.
    pub(super) fn is_alone(&mut self, merged: &Scanned, recovery: &Recovery) -> Result<bool, MountError> {
        let Some(TagRead::Tag(commit)) = merged.tags.last() else { return Ok(false) };
        let is_version =
            |tag: &TagRead| matches!(tag, TagRead::Tag(tag) if tag.lpn == commit.lpn && tag.kind == commit.kind);
        let (mut copied, mut page) = (vec![0; recovery.page.len()], vec![0; recovery.page.len()]);
        let last = self.page_in(merged.seg, self.shape().pages - 1);
        // The record of a loss has no data that could tell.
        if commit.kind != Content::Data || !self.is_read(last, &mut copied)? {
            return Ok(false);
        }
        // A complete data block that the merge has read was not scanned. It has the page in the same place.
        let data =
            self.map().data(self.map().split(commit.lpn).0).map(|data| self.page_in(data, self.shape().pages - 1));
        let mut others: Vec<Ppn> = data.into_iter().collect();
        for scanned in recovery.scanned.iter().filter(|scanned| scanned.what != Block::Undone) {
            let versions = (0_u32..).zip(&scanned.tags).filter(|(_, tag)| is_version(tag));
            others.extend(versions.map(|(number, _)| self.page_in(scanned.seg, number)));
        }
        for other in others {
            // One that has faded since its tag was read may have been the same.
            if !self.is_read(other, &mut page)? || page == copied {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads a page's data. False if it cannot be read.
    fn is_read(&mut self, at: Ppn, page: &mut [u8]) -> Result<bool, MountError> {
        match self.recycler.merger.store.read(at, page) {
            Ok(_) => Ok(true),
            Err(ErrorKind::Uncorrectable) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Pages of an old data block that are gone and were there when the newest was filled. If its erase has begun, the
    /// commit that superseded it lasts.
    pub(super) fn gone_from(
        &mut self,
        old: Seg,
        old_seq: u64,
        newest: Seg,
        recovery: &mut Recovery,
    ) -> Result<u32, MountError> {
        let mut gone = 0;
        // The last page is the commit. It has a number of its own, and is a copy of none.
        for page in 0..self.shape().pages - 1 {
            // What is older than the old commit can only come from its block.
            let is_copy = |tag| matches!(tag, TagRead::Tag(tag) if tag.seq < old_seq);
            if !matches!(self.read_tag(self.page_in(old, page), recovery)?, TagRead::Tag(_))
                && is_copy(self.read_tag(self.page_in(newest, page), recovery)?)
            {
                gone += 1;
            }
        }
        Ok(gone)
    }
}

/// The page with the greatest number; of equals, the first.
fn greatest(pages: impl Iterator<Item = (u64, Ppn)>) -> Option<(u64, Ppn)> {
    pages.reduce(|last, page| if page.0 > last.0 { page } else { last })
}
