//! The tables are filled with what was chosen, and the flash is put in order.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use wearwell_flash::ErrorKind;

use super::{Block, Found, Mount, Record, Recovery, Scanned};
use crate::addr::{Lpn, Ppn, Seg};
use crate::ftl::{FtlError, Probe};
use crate::logblock::addr::Lbn;
use crate::logblock::index::FoundLog;
use crate::logblock::merger::MergeCause;
use crate::logblock::pages::{Pages, TagRead};
use crate::logblock::store::Use;
use crate::logblock::tag::{Content, Tag};

impl<M: Pages, P: Probe> Mount<'_, M, P> {
    /// Makes the tables of log blocks, large enough for those from which a page was chosen, or which hold the last
    /// discard record of a logical block.
    pub(super) fn open_logs(&mut self, recovery: &Recovery, copies: &[Found], records: &[Record]) {
        let mut used = vec![false; self.shape().segments as usize];
        for at in copies.iter().map(|copy| copy.at).chain(records.iter().map(|record| record.at)) {
            used[self.segment_of(at).index()] = true;
        }
        let is_log = |scanned: &&Scanned| {
            used[scanned.seg.index()] && !matches!(self.recycler.merger.store.used(scanned.seg), Use::Data(_))
        };
        let mut logs: Vec<&Scanned> = recovery.scanned.iter().filter(is_log).collect();
        // The log block that was written last becomes the current one of its logical block.
        logs.sort_by_key(|scanned| (scanned.newest, scanned.what.is_trusted()));
        self.recycler.merger.index.make_room(logs.len() as u32);
        for scanned in logs {
            self.open_found_log(scanned, recovery);
        }
    }

    fn open_found_log(&mut self, scanned: &Scanned, recovery: &Recovery) {
        let owner = scanned.lbns(self.map()).next();
        let shared = scanned.lbns(self.map()).any(|lbn| Some(lbn) != owner);
        let owner = owner.filter(|_| !shared);
        let first = owner.map_or(0, |lbn| self.map().join(lbn, 0).0);
        let is_at =
            |tag: &TagRead, lpn: u32| matches!(tag, TagRead::Tag(t) if t.kind == Content::Data && t.lpn.0 == lpn);
        let in_order = (first..).zip(&scanned.tags).take_while(|&(place, tag)| is_at(tag, place)).count() as u32;
        let held = scanned.tags[..scanned.programmed() as usize].iter().map(|tag| match tag {
            TagRead::Tag(tag) if tag.lpn.0 < self.map().logical_pages() => tag.lpn,
            // No map points to this page, but its place is taken.
            _ => Lpn(first),
        });
        let held = held.collect();
        // After a cut the block takes no more. A cut may have made its room useless, or have hit a superseded page that
        // fades later. The cut may have been an earlier one, and nothing tells which page it has hit.
        let continues = recovery.continues && scanned.what.is_trusted();
        let id = self.recycler.merger.index.enter_log(&FoundLog { seg: scanned.seg, owner, held, in_order, continues });
        self.recycler.merger.store.use_as_log(scanned.seg, id);
        if !continues {
            self.recycler.merger.store.suspect(scanned.seg);
        }
    }

    /// Points the map at the copies chosen.
    pub(super) fn point_at_copies(&mut self, copies: &[Found], recovery: &Recovery) {
        for copy in copies {
            self.recycler.merger.index.enter_page(copy.lpn, copy.at, copy.lost);
        }
        for scanned in &recovery.scanned {
            let Use::Data(lbn) = self.recycler.merger.store.used(scanned.seg) else { continue };
            self.note_programmed_tags(lbn, &scanned.tags);
            // Nothing tells which page was being programmed when a cut came. So no place is programmed after one.
            if !recovery.continues {
                // This is asked before the block is closed, since a closed block has no room.
                if self.recycler.merger.index.in_place().has_room(lbn) {
                    self.recycler.merger.store.suspect(scanned.seg);
                }
                self.recycler.merger.index.in_place_mut().close(lbn);
            }
        }
    }

    fn note_programmed_tags(&mut self, lbn: Lbn, tags: &[TagRead]) {
        if self.recycler.merger.index.in_place().is_used() {
            for (offset, tag) in (0_u32..).zip(tags) {
                self.recycler.merger.index.in_place_mut().set(lbn, offset, *tag != TagRead::Erased);
            }
        }
    }

    /// Gives every block its use. What holds nothing of use is erased, so that it is not believed another time. What a
    /// cut may have hit is merged first, but for what has to be erased before that (Spec B13).
    pub(super) fn clear(&mut self, recovery: &mut Recovery) -> Result<(), FtlError> {
        // On a blank chip no count is known.
        let mean = recovery.known_erases.checked_div(recovery.known_blocks).unwrap_or(0) as u32;
        // Their counts are not known. With 0, wear leveling would take them for new.
        for &seg in recovery.blank.iter().chain(&recovery.uncounted) {
            self.recycler.merger.store.enter_erases(seg, mean);
        }
        self.recycler.merger.store.start();
        match recovery.mark {
            Some(mark) if recovery.report.clean => self.recycler.merger.store.enter_clean_mark(mark.seg),
            Some(mark) => recovery.stale.push((mark.seg, None)),
            None => {}
        }
        // An undone merge would be believed as soon as another logical block has a greater commit, so its own is merged
        // before any other (Spec B12.1).
        let undone: Vec<Lbn> = recovery.undone().filter_map(|merge| merge.lbns(self.map()).next()).collect();
        recovery.doubted.extend(undone);
        // Only one logical block can be the first (Spec B8.7).
        debug_assert!(recovery.doubted.windows(2).all(|pair| pair[0] == pair[1]), "a cut hits one logical block");
        let mut suspects = if recovery.report.clean { Vec::new() } else { self.suspects(recovery) };
        // What is dead is not merged but erased, older blocks first.
        recovery.dead.retain(|&lbn| self.map().mapped_in(lbn) == 0);
        suspects.retain(|lbn| !recovery.dead.contains(lbn));
        self.list_stale(&suspects, recovery)?;
        // Before the rescue takes what a cut may have hit.
        let passed_over = self.find_passed_over(recovery).map_err(FtlError::Chip)?;
        recovery.report.open_segments = self.logs().len();
        recovery.report.undone_segments = recovery.stale.len() as u32;
        self.add_blank(&suspects, recovery);
        let is_needed = |&(_, lbn): &(Seg, Option<Lbn>)| lbn.is_some_and(|lbn| suspects.contains(&lbn));
        let (needed, others): (Vec<_>, Vec<_>) = recovery.stale.iter().copied().partition(is_needed);
        // Spec B7: a cut in one of these erases must not be followed by a mount that still finds the mark.
        if !recovery.stale.is_empty() {
            self.recycler.merger.store.prepare()?;
        }
        recovery.stale = needed;
        for (seg, _) in others {
            self.recycler.merger.store.release(seg)?;
        }
        // Spec B12. A commit of a dead logical block would be a greater one of another, so it comes behind these.
        self.rescue(&suspects, recovery)?;
        if recovery.refused.is_none() {
            self.clear_dead(recovery)?;
            self.record_missing(recovery)?;
        }
        recovery.report.read_only = recovery.refused.is_some();
        if recovery.report.read_only {
            return Ok(());
        }
        for (seg, _) in &recovery.stale {
            self.recycler.merger.store.release(*seg)?;
        }
        self.leave_passed_over(&passed_over)?;
        self.restore_after_failures()
    }

    /// Adds the blocks that hold nothing to the free ones. Those that cannot be read may have held what an undone merge
    /// has read, or that with the last commit, which may fade: without them it would count (Spec B13.8). They stay as
    /// long as there is room.
    fn add_blank(&mut self, suspects: &[Lbn], recovery: &mut Recovery) {
        // One that is dead is not merged, and nothing waits for that. A block that cannot be read may also have
        // superseded a data block whose erase has begun, and nothing else shows that (Spec B10).
        let begun = recovery.scanned.iter().filter(|scanned| scanned.what == Block::Whole);
        let begun = begun.filter_map(|scanned| scanned.lbns(self.map()).next());
        let last = self.last_merged(recovery).map(|(_, lbn)| lbn);
        let mut merged = recovery.doubted.iter().copied().chain(last).chain(begun);
        let waits = merged.find(|lbn| suspects.contains(lbn));
        for seg in core::mem::take(&mut recovery.blank) {
            // Spec B14: what reads as erased behind a cut may be weak.
            if !recovery.continues {
                self.recycler.merger.store.suspect(seg);
            }
            if waits.is_some() && recovery.unreadable.iter().any(|scanned| scanned.seg == seg) {
                recovery.stale.push((seg, waits));
                recovery.spare.push(seg);
            } else {
                self.recycler.merger.store.add_free(seg);
            }
        }
    }

    /// The data block with the last commit, and its logical block.
    fn last_merged(&self, recovery: &Recovery) -> Option<(Seg, Lbn)> {
        let last = recovery.last.map(|(_, at)| self.segment_of(at))?;
        match self.recycler.merger.store.used(last) {
            Use::Data(lbn) => Some((last, lbn)),
            _ => None,
        }
    }

    /// Empties log blocks with a page that a commit has passed over: if the commit decays, the page would count again
    /// (Spec B13.9). If there is no room, they stay.
    fn leave_passed_over(&mut self, segs: &[Seg]) -> Result<(), FtlError> {
        for &seg in segs {
            // Looked up only now: the merges before may have closed it.
            let Some(id) = self.logs().in_seg(seg) else { continue };
            match self.recycler.merger.reclaim(id) {
                Ok(()) => {}
                Err(FtlError::WornOut { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Restores the reserve, so that failures that come between cuts do not add up.
    pub(super) fn restore_after_failures(&mut self) -> Result<(), FtlError> {
        while self.recycler.lacks_reserve() {
            self.recycler.merger.store.prepare()?;
            match self.recycler.restore_reserve() {
                Ok(()) => {}
                // All that was found is served. The next write says it again.
                Err(FtlError::WornOut { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Lists the blocks of which no page was chosen, and which of them logical blocks of suspect pages still need.
    fn list_stale(&mut self, suspects: &[Lbn], recovery: &mut Recovery) -> Result<(), FtlError> {
        let kept = if recovery.report.clean { Vec::new() } else { self.merges_to_keep(recovery) };
        // An undone merge goes before what it has read.
        let (undone, others): (Vec<&Scanned>, Vec<_>) =
            recovery.scanned.iter().partition(|scanned| scanned.what == Block::Undone);
        for scanned in undone.into_iter().chain(others) {
            // A data block, or a log block from which a page was chosen.
            if self.recycler.merger.store.used(scanned.seg) != Use::Taken {
                continue;
            }
            // Spec B13.1, B13.2.
            let goes = if scanned.is_merge() {
                let has_sources = self.has_sources(scanned, recovery).map_err(FtlError::Chip)?;
                let is_kept = kept.contains(&scanned.seg) || scanned.what == Block::Undone;
                let is_spare = if has_sources { is_kept } else { self.is_held_twice(scanned, recovery) };
                recovery.spare.extend(is_spare.then_some(scanned.seg));
                has_sources && !is_kept
            } else if scanned.is_headless() && !is_source(scanned, recovery) {
                // Spec B13.6, B13.8.
                let is_settled = self.is_copied(scanned, recovery, |at| !recovery.fragile.contains(at));
                let goes = is_settled && !self.has_last_read(scanned, recovery).map_err(FtlError::Chip)?;
                let is_short = scanned.programmed() <= self.shape().group;
                if !goes && (is_short || self.is_copied(scanned, recovery, |_| true)) {
                    recovery.spare.push(scanned.seg);
                }
                goes
            } else {
                if scanned.what == Block::Replaced && self.is_left_twice(scanned, recovery).map_err(FtlError::Chip)? {
                    recovery.spare.push(scanned.seg);
                }
                scanned.is_erased_in_part()
            };
            let needs = |lbn: &Lbn| suspects.contains(lbn) && !recovery.settled.contains(lbn);
            let needed_by = scanned.lbns(self.map()).find(needs).filter(|_| !goes);
            recovery.stale.push((scanned.seg, needed_by));
        }
        Ok(())
    }

    /// Merges whose commit cannot be read and may have decayed: of each logical block the one with the greatest numbers
    /// (Spec B13.2). One more would be left behind with each cut.
    fn merges_to_keep(&self, recovery: &Recovery) -> Vec<Seg> {
        let mut merges: Vec<(&Scanned, Lbn)> = Vec::new();
        let incomplete = recovery.scanned.iter().filter(|scanned| scanned.lacks_commit());
        for merge in incomplete {
            let Some(lbn) = merge.lbns(self.map()).next() else { continue };
            // Copies keep their numbers, so merges of the same pages may have the same. Then the one counts that lacks
            // fewest.
            let worth = |scanned: &Scanned| (scanned.newest, Reverse(scanned.unreadable()));
            match merges.iter_mut().find(|(_, other)| *other == lbn) {
                Some((kept, _)) if worth(kept) < worth(merge) => *kept = merge,
                Some(_) => {}
                None => merges.push((merge, lbn)),
            }
        }
        merges.into_iter().map(|(merge, _)| merge.seg).collect()
    }

    /// True if the commit of a merge cannot be read, and two other blocks that stay have a copy of each page of it, or
    /// a newer one was chosen that no cut can have hit.
    fn is_held_twice(&self, merge: &Scanned, recovery: &Recovery) -> bool {
        let is_held = |read: &TagRead| match read {
            TagRead::Tag(tag) if matches!(tag.kind, Content::Data | Content::Lost) => {
                let at = self.map().lookup(tag.lpn);
                let is_newer = recovery.newest.get(tag.lpn.0 as usize).is_some_and(|&newest| newest > tag.seq);
                is_newer && at.is_some() && !recovery.fragile.contains(at)
                    || recovery.others_that_stay(merge.seg).filter(|other| other.has_copy_of(tag)).count() >= 2
            }
            _ => true,
        };
        merge.lacks_commit() && merge.tags.iter().all(is_held)
    }

    /// True if the merge with the last commit has read a page of a block. If the commit fades, the merge would count
    /// without its sources (Spec B8.5), and with it what it has lost.
    fn has_last_read(&mut self, scanned: &Scanned, recovery: &Recovery) -> Result<bool, ErrorKind> {
        let Some((last, lbn)) = self.last_merged(recovery) else { return Ok(false) };
        for read in &scanned.tags {
            let TagRead::Tag(tag) = read else { continue };
            let (owner, offset) = self.map().split(tag.lpn);
            if owner == lbn && self.is_copied_at(self.page_in(last, offset), tag)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True if there are copies of each page of a replaced primary block in two other blocks that stay, the data block
    /// among them. It may be what an erase has left of a merge: nothing tells the two apart (Spec B13.8).
    fn is_left_twice(&mut self, replaced: &Scanned, recovery: &Recovery) -> Result<bool, ErrorKind> {
        for (page, read) in (0_u32..).zip(&replaced.tags) {
            let TagRead::Tag(tag) = read else { continue };
            let (lbn, _) = self.map().split(tag.lpn);
            if lbn.0 >= self.map().blocks() {
                return Ok(false);
            }
            let has_copy = |other: &&Scanned| other.has_copy_of(tag) || other.has_lost(lbn, page, self.map());
            let mut copies = recovery.others_that_stay(replaced.seg).filter(has_copy).count();
            // A data block that lacks no page was not scanned, and so is not among the others; nor is an older one.
            let is_scanned = |seg: Seg| recovery.scanned.iter().any(|scanned| scanned.seg == seg);
            let older = recovery.stale.iter().filter(|(_, needed_by)| *needed_by == Some(lbn)).map(|&(seg, _)| seg);
            for seg in self.map().data(lbn).into_iter().chain(older).filter(|&seg| !is_scanned(seg)) {
                copies += usize::from(self.is_copied_at(self.page_in(seg, page), tag)?);
            }
            if copies < 2 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// True if a page holds a copy of another.
    fn is_copied_at(&mut self, at: Ppn, tag: &Tag) -> Result<bool, ErrorKind> {
        Ok(matches!(self.recycler.merger.store.tag(at)?, TagRead::Tag(copy) if copy.is_copy_of(tag)))
    }

    /// True if each page of a block has a copy of the same number that `counts`, in a block that is to be trusted.
    fn is_copied(&self, scanned: &Scanned, recovery: &Recovery, counts: impl Fn(Ppn) -> bool) -> bool {
        scanned.tags.iter().all(|read| match read {
            TagRead::Tag(tag) => tag.kind == Content::Pad || self.copies_of(tag, recovery).any(&counts),
            _ => true,
        })
    }

    /// The copies of a page in blocks that are to be trusted.
    fn copies_of<'a>(&'a self, tag: &'a Tag, recovery: &'a Recovery) -> impl Iterator<Item = Ppn> + 'a {
        recovery.trusted().flat_map(move |other| {
            (0_u32..).zip(&other.tags).filter_map(move |(page, read)| match read {
                TagRead::Tag(copy) if copy.is_copy_of(tag) => Some(self.page_in(other.seg, page)),
                _ => None,
            })
        })
    }

    /// Erases blocks that are kept although all that they hold is elsewhere, if fewer than two segments are free: a
    /// logical block is merged twice, and without them there was room for that (Spec B13.1, B13.2, B13.7, B13.8).
    fn give_up_spares(&mut self, recovery: &mut Recovery) -> Result<(), FtlError> {
        while self.recycler.merger.store.free_segments() < 2
            && let Some(seg) = recovery.spare.pop()
        {
            if recovery.take_stale(seg) {
                self.recycler.merger.store.release(seg)?;
            }
        }
        Ok(())
    }

    /// True if what a merge has read is still there, or a commit has superseded it. If it is not, the commit of the
    /// merge has decayed, and its block may hold the last certain copy of a page (Spec B13.1).
    fn has_sources(&mut self, merged: &Scanned, recovery: &Recovery) -> Result<bool, ErrorKind> {
        for (page, read) in (0_u32..).zip(&merged.tags) {
            let TagRead::Tag(tag) = read else { continue };
            let (lbn, _) = self.map().split(tag.lpn);
            if tag.kind != Content::Data || tag.role.is_commit() || lbn.0 >= self.map().blocks() {
                continue;
            }
            let is_there = match merged.what {
                // What its logical block has was scanned.
                Block::Undone => lasts_elsewhere(tag, recovery),
                _ => self.has_source(tag, page, recovery)?,
            };
            if !is_there {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The same of one page, at offset `page` of the merge.
    fn has_source(&mut self, tag: &Tag, page: u32, recovery: &Recovery) -> Result<bool, ErrorKind> {
        let (lbn, _) = self.map().split(tag.lpn);
        if tag.seq < recovery.committed[lbn.index()] || recovery.trusted().any(|other| other.has_copy_of(tag)) {
            return Ok(true);
        }
        // A data block that lacks no page was not scanned. A copy is at the same offset there.
        let Some(data) = self.map().data(lbn) else { return Ok(false) };
        self.is_copied_at(self.page_in(data, page), tag)
    }

    /// Erases dead logical blocks, and then the records that name them.
    fn clear_dead(&mut self, recovery: &mut Recovery) -> Result<(), FtlError> {
        if recovery.records.is_empty() {
            return Ok(());
        }
        self.recycler.merger.store.prepare()?;
        // Spec B11.
        let appended = recovery.appended.map(|at| self.segment_of(at));
        let may_fade = recovery.records.iter().any(|records| Some(records.seg) == appended);
        for lbn in recovery.dead.clone() {
            self.give_up_spares(recovery)?;
            let cleared = if may_fade && self.recycler.merger.index.has_blocks(lbn) {
                self.recycler.merger.merge_to(lbn, MergeCause::Upkeep, false)
            } else {
                self.recycler.merger.erase_blocks_of(lbn)
            };
            if let Err(worn_out @ FtlError::WornOut { .. }) = cleared {
                // Spec B11. Without a commit only the records say it: they stay.
                recovery.refused = Some(worn_out);
                return Ok(());
            }
            cleared?;
        }
        // Last of all: until the blocks are erased, only the records say that they are dead.
        recovery.records.iter().try_for_each(|records| self.recycler.merger.store.release(records.seg))
    }

    /// Merges logical blocks with pages that a cut may have hit. If no block is left to merge to, what can be read
    /// can be read for now: the older copies stay, and nothing is written any more that would hide what was last.
    fn rescue(&mut self, suspects: &[Lbn], recovery: &mut Recovery) -> Result<(), FtlError> {
        for &lbn in suspects {
            let rescued = loop {
                self.make_room_to_rescue(recovery)?;
                let had_room = self.recycler.merger.store.free_segments() > 0;
                match self.rescue_block(lbn, recovery) {
                    // Operations have failed in it, and used up what was free.
                    Err(FtlError::WornOut { .. }) if had_room => {}
                    rescued => break rescued,
                }
            };
            match rescued {
                Ok(()) => recovery.report.rescued_pages += self.map().mapped_in(lbn),
                Err(worn_out @ FtlError::WornOut { .. }) => {
                    self.find_faded(recovery)?;
                    recovery.refused = Some(worn_out);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// If no segment is free for a merge, though there are as many good ones as are needed, a block in which nothing
    /// counts and whose erase may have begun gives its own: the one of which most is gone. If there is none, a data
    /// block that counts for nothing gives its own (Spec B13.7).
    fn make_room_to_rescue(&mut self, recovery: &mut Recovery) -> Result<(), FtlError> {
        // Spec B13.7.
        self.give_up_spares(recovery)?;
        while self.recycler.merger.store.free_segments() == 0 && !self.recycler.merger.store.is_worn_out() {
            let headless = recovery.scanned.iter().filter(|scanned| scanned.is_headless());
            let headless = headless.filter(|scanned| recovery.is_stale(scanned.seg));
            let headless = headless.max_by_key(|scanned| scanned.unreadable()).map(|scanned| scanned.seg);
            let Some(seg) = headless.or_else(|| recovery.idle.pop()) else { break };
            // An idle block may have been erased with others since.
            if !recovery.take_stale(seg) {
                continue;
            }
            self.recycler.merger.store.release(seg)?;
        }
        Ok(())
    }

    /// Merges a logical block; twice, if the last commit may fade and what is older stays because of that. Nothing that
    /// the mount has found is erased before the second one is complete: it shows that the first one lasts (Spec B13.3).
    fn rescue_block(&mut self, lbn: Lbn, recovery: &mut Recovery) -> Result<(), FtlError> {
        let first = self.recycler.merger.copy_to_fresh_block(lbn, MergeCause::Upkeep, false, &mut recovery.fragile)?;
        if !recovery.unsure.contains(&lbn) && !recovery.doubted.contains(&lbn) {
            return self.recycler.merger.adopt(lbn, first);
        }
        let second = loop {
            match self.recycler.merger.copy_to_fresh_block(lbn, MergeCause::Upkeep, false, &mut recovery.fragile) {
                Err(FtlError::WornOut { .. }) => self.make_room_to_rescue(recovery)?,
                merged => break merged?,
            }
            // Segments have failed, and there is no room for it.
            if self.recycler.merger.store.free_segments() == 0 {
                return self.recycler.merger.adopt(lbn, first);
            }
        };
        self.recycler.merger.adopt(lbn, second)?;
        // A log block that only it has read goes with them: in order, it would pass for a data block (Spec B13.3).
        let stays = |seg: Seg| {
            let mut found = recovery.scanned.iter().filter(|scanned| scanned.seg == seg);
            found.any(|scanned| scanned.is_headless() || scanned.lbns(self.map()).any(|other| other != lbn))
        };
        let is_older = |(seg, needed_by): &(Seg, Option<Lbn>)| *needed_by == Some(lbn) && !stays(*seg);
        let (older, others): (Vec<_>, Vec<_>) = recovery.stale.iter().partition(|stale| is_older(stale));
        recovery.stale = others;
        older.iter().try_for_each(|(seg, _)| self.recycler.merger.store.release(*seg))?;
        self.recycler.merger.store.release(first)
    }

    /// Fails if a fragile page that was chosen can be read no more: an older copy counts. Of the others it notes which
    /// pages hold the same: a merge that was cut has copied flushed data, too, and that must not fade with the copy.
    fn find_faded(&mut self, recovery: &mut Recovery) -> Result<(), FtlError> {
        let mut held = core::mem::take(&mut recovery.page);
        let mut found = Ok(());
        for lpn in (0..self.map().logical_pages()).map(Lpn) {
            let at = self.map().lookup(lpn);
            if !recovery.fragile.contains(at) || recovery.faded.contains(&at) {
                continue;
            }
            // There is no room to copy the page. If it has faded, the mount begins anew without it.
            found = match self.recycler.merger.store.read(at, &mut held) {
                Ok(_) => self.note_same(lpn, at, &held, recovery),
                Err(_) => Err(FtlError::Chip(recovery.fragile.note_faded(at))),
            };
            if found.is_err() {
                break;
            }
        }
        recovery.page = held;
        found
    }

    /// Notes which other pages hold the same version of a logical page. Each fragile page is read as seldom as can be.
    fn note_same(&mut self, lpn: Lpn, chosen: Ppn, held: &[u8], recovery: &mut Recovery) -> Result<(), FtlError> {
        let is_version =
            |tag: &TagRead| matches!(tag, TagRead::Tag(tag) if tag.lpn == lpn && tag.kind == Content::Data);
        let mut others: Vec<Ppn> = Vec::new();
        for scanned in &recovery.scanned {
            let versions = (0_u32..).zip(&scanned.tags).filter(|(_, tag)| is_version(tag));
            others.extend(versions.map(|(page, _)| self.page_in(scanned.seg, page)));
        }
        // An older data block, which was not scanned, has it in its place.
        let (_, offset) = self.map().split(lpn);
        for &(seg, _) in &recovery.stale {
            let at = self.page_in(seg, offset);
            if !others.contains(&at) && is_version(&self.recycler.merger.store.tag(at).map_err(FtlError::Chip)?) {
                others.push(at);
            }
        }
        let mut page = vec![0; held.len()];
        others.retain(|&at| at != chosen && self.recycler.merger.store.read(at, &mut page).is_ok() && page == held);
        recovery.same.extend(others.into_iter().map(|at| (lpn, at)));
        Ok(())
    }

    /// The logical blocks of the pages that a cut may have hit. Those whose commit is not believed, or is the last,
    /// must be merged first: a greater number makes such a commit count.
    fn suspects(&self, recovery: &Recovery) -> Vec<Lbn> {
        // Spec B12.1.
        let mut suspects = recovery.doubted.clone();
        // Spec B12.2.
        suspects.extend(self.last_merged(recovery).map(|(_, lbn)| lbn));
        // Spec B12.3.
        suspects.extend_from_slice(&recovery.unsettled);
        suspects.extend(self.in_headless(recovery));
        // Spec B12.4: if the commit of a merge has decayed, an earlier cut may have hit what it has read.
        let uncommitted = recovery.scanned.iter().filter(|scanned| scanned.lacks_commit());
        suspects.extend(uncommitted.filter_map(|scanned| scanned.lbns(self.map()).next()));
        let mut distinct: Vec<Lbn> = Vec::new();
        for lbn in suspects {
            if !distinct.contains(&lbn) {
                distinct.push(lbn);
            }
        }
        distinct
    }

    /// Logical blocks with pages in a block whose head cannot be read (Spec B12.5).
    fn in_headless(&self, recovery: &Recovery) -> Vec<Lbn> {
        let headless = recovery.scanned.iter().filter(|scanned| scanned.is_headless());
        let logs = headless.filter_map(|scanned| self.logs().in_seg(scanned.seg));
        let held = logs.flat_map(|id| (self.logs().get(id).seg.0 * self.shape().pages..).zip(self.logs().held(id)));
        let live = held.filter_map(|(at, &lpn)| {
            let (lbn, offset) = self.map().split(lpn);
            // The place behind the last page is that of the discard record.
            let counts = [offset, self.shape().pages].iter().any(|&place| self.map().logged(lbn, place) == Ppn(at));
            counts.then_some(lbn)
        });
        live.collect()
    }
}

/// True if an undone merge has read a page of a block. Without its originals the merge would count (Spec B8.5).
fn is_source(scanned: &Scanned, recovery: &Recovery) -> bool {
    let mut reads = recovery.undone().flat_map(|merge| &merge.tags);
    reads.any(|read| matches!(read, TagRead::Tag(copy) if scanned.has_copy_of(copy)))
}

/// True if a page has a copy in a block whose first page can be read. What a cut has left of any other may fade, since
/// its erase has begun (Spec B13.1).
fn lasts_elsewhere(tag: &Tag, recovery: &Recovery) -> bool {
    let has_begun = |other: &Scanned| other.tags.first() == Some(&TagRead::Unreadable);
    recovery.trusted().any(|other| other.has_copy_of(tag) && !has_begun(other))
}
