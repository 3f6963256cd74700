//! Where a page goes: one function for each scheme.

use alloc::vec::Vec;
use core::ops::Range;

use wearwell_flash::{ErrorKind, ProgramOrder};

use super::config::{FOLD_BELOW_PERCENT, FOLD_UNTIL_PERCENT, RESERVE_SEGMENTS};
use super::logs::{LogBlock, LogId};
use super::map::Lbn;
use super::merge::Purpose;
use super::pages::Pages;
use super::recycle::RecycleSpec;
use super::tag::{Kind, Role, Tag};
use super::{BlockFtl, Scheme, Use};
use crate::addr::{Lpn, Ppn, Seg};
use crate::ftl::{FtlError, Probe};

impl<M: Pages, P: Probe> BlockFtl<M, P> {
    /// Writes a page.
    pub(super) fn put_page(&mut self, lpn: Lpn, data: &[u8]) -> Result<(), FtlError> {
        debug_assert!(lpn.0 < self.map.logical_pages());
        if self.good_segments < self.config.needed_segments(&self.shape) {
            return Err(self.worn_out());
        }
        self.prepare()?;
        self.keep_up()?;
        match self.config.scheme {
            Scheme::LogBlock(policy) => self.put_in_own_log(lpn, data, policy)?,
            Scheme::PrimaryReplacement => self.put_in_primary(lpn, data)?,
            Scheme::Fast => self.put_in_shared_log(lpn, data)?,
        }
        self.stats.host_programs += 1;
        Ok(())
    }

    /// To be called before anything is programmed or erased: the mark of a clean shutdown is no longer true.
    pub(super) fn prepare(&mut self) -> Result<(), FtlError> {
        self.clean_mark.take().map_or(Ok(()), |seg| self.release(seg))
    }

    /// Work that is due, a bounded part of it: a page that gets weak, wear leveling, a fold. Returns false if there
    /// was none.
    pub(super) fn keep_up(&mut self) -> Result<bool, FtlError> {
        if self.free.total() < RESERVE_SEGMENTS - 1 && self.logs.len() > 0 {
            self.restore_reserve()?;
        } else if let Some(lbn) = self.weak.pop() {
            self.merge(lbn, Purpose::Upkeep)?;
        } else if self.wear_due {
            self.level_wear()?;
        } else if self.folding {
            self.fold_one()?;
            self.check_folding();
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// True if `keep_up` has something to do.
    pub(super) fn is_behind(&self) -> bool {
        let short = self.free.total() < RESERVE_SEGMENTS - 1 && self.logs.len() > 0;
        short || !self.weak.is_empty() || self.wear_due || self.folding
    }

    /// Recycles a log block to gain a free segment: blocks that went bad have used up the reserve.
    #[cold]
    fn restore_reserve(&mut self) -> Result<(), FtlError> {
        match self.config.scheme {
            Scheme::LogBlock(_) => self.evict(),
            Scheme::PrimaryReplacement => self.fold_one().map(|_| ()),
            Scheme::Fast => self.reclaim_oldest(),
        }
    }

    /// `log-block`: every logical block has a log block of its own (Lee '07, section 3).
    fn put_in_own_log(&mut self, lpn: Lpn, data: &[u8], policy: RecycleSpec) -> Result<(), FtlError> {
        let (lbn, _) = self.map.split(lpn);
        loop {
            let id = match self.logs.current(lbn) {
                Some(id) if self.logs.get(id).next < self.shape.pages => id,
                Some(id) => {
                    self.recycle(lbn, id, policy)?;
                    continue;
                }
                None if self.logs.is_full() || self.free.total() < RESERVE_SEGMENTS => {
                    self.evict()?;
                    continue;
                }
                None => self.open_log(Some(lbn))?,
            };
            if self.append(id, lpn, data)? {
                return Ok(());
            }
        }
    }

    /// Takes the log block away from the logical block that was written longest ago.
    fn evict(&mut self) -> Result<(), FtlError> {
        let oldest = self.logs.all().min_by_key(|(_, log)| log.used);
        let Some((id, Some(lbn))) = oldest.map(|(id, log)| (id, log.owner)) else { return Err(self.worn_out()) };
        if self.can_merge_partially(id) { self.merge_partially(lbn, id) } else { self.merge(lbn, Purpose::Recycle) }
    }

    fn open_log(&mut self, owner: Option<Lbn>) -> Result<LogId, FtlError> {
        let seg = self.take_free(false)?;
        let id = self.logs.open(seg, owner);
        self.uses[seg.index()] = Use::Log(id);
        Ok(id)
    }

    /// Programs the next page of a log block and points the map at it. A log block that has all pages of its logical
    /// block in order becomes the data block with its last page: a switch merge (Lee '07, section 3). False if the
    /// program failed; the log block has then been emptied and given up.
    fn append(&mut self, id: LogId, lpn: Lpn, data: &[u8]) -> Result<bool, FtlError> {
        let log = *self.logs.get(id);
        let (lbn, offset) = self.map.split(lpn);
        let is_next = log.owner == Some(lbn) && offset == log.next;
        let switches = is_next && log.is_prefix() && offset + 1 == self.shape.pages && self.switches();
        self.forget_loss(lpn);
        let role = match log.next {
            _ if switches && self.lost.iter().any(|&lost| self.map.split(lost).0 == lbn) => Role::CommitHoles,
            _ if switches => Role::Commit,
            0 => Role::LogHead,
            _ => Role::Plain,
        };
        let at = Ppn(log.seg.0 * self.shape.pages + log.next);
        let tag = Tag { lpn, seq: self.next_seq(), erases: self.erases[log.seg.index()], kind: Kind::Data, role };
        match self.pages.program(at, data, &tag) {
            Ok(()) => {}
            Err(ErrorKind::ProgramFailed) => return self.give_up_log(id).map(|()| false),
            Err(error) => return Err(FtlError::Chip(error)),
        }
        self.logs.append(id, lpn);
        self.map.set_mapped(lpn, true);
        let old = self.map.set_logged(lbn, offset, at);
        self.left(old);
        let grown = self.logs.get_mut(id);
        grown.live += 1;
        grown.in_order += u32::from(is_next && log.in_order == log.next);
        if switches {
            self.stats.switch_merges += 1;
            self.adopt(lbn, log.seg)?;
        }
        Ok(true)
    }

    /// True if a log block in order is made the data block. The NFTL of FSAF '09 consolidates into a new block always.
    fn switches(&self) -> bool {
        self.config.scheme != Scheme::PrimaryReplacement
    }

    /// A program in a log block failed: what it holds is merged, and the block retired.
    #[cold]
    pub(super) fn give_up_log(&mut self, id: LogId) -> Result<(), FtlError> {
        self.logs.close_to_appends(id);
        let (seg, owner) = (self.logs.get(id).seg, self.logs.get(id).owner);
        self.condemn(seg);
        match owner {
            Some(lbn) => self.merge(lbn, Purpose::Upkeep),
            None => self.reclaim(id),
        }
    }

    /// `primary-replacement`: a page goes to its own place while that can be programmed (FSAF '09, section 2).
    fn put_in_primary(&mut self, lpn: Lpn, data: &[u8]) -> Result<(), FtlError> {
        let (lbn, offset) = self.map.split(lpn);
        loop {
            if self.map.data(lbn).is_none() && !self.map.has_overlay(lbn) {
                self.make_room()?;
                let seg = self.take_free(false)?;
                self.map.set_data(lbn, Some(seg));
                self.uses[seg.index()] = Use::Data(lbn);
                self.programmed.set_all(self.places_of(lbn), false);
            }
            if let Some(seg) = self.map.data(lbn)
                && self.can_program_in_place(lbn, offset)
            {
                if self.program_in_place(lpn, seg, data)? {
                    return Ok(());
                }
                continue;
            }
            let id = match self.logs.current(lbn) {
                Some(id) if self.logs.get(id).next < self.shape.pages => id,
                Some(_) => {
                    self.merge(lbn, Purpose::Recycle)?;
                    continue;
                }
                None if self.logs.is_full() || self.free.total() < RESERVE_SEGMENTS => {
                    self.make_room()?;
                    continue;
                }
                None => {
                    self.check_folding();
                    self.open_log(Some(lbn))?
                }
            };
            if self.append(id, lpn, data)? {
                return Ok(());
            }
        }
    }

    /// Bits of a logical block in `programmed`.
    fn places_of(&self, lbn: Lbn) -> Range<u32> {
        lbn.0 * self.shape.pages..(lbn.0 + 1) * self.shape.pages
    }

    /// True if a page's own place in its primary block can be programmed.
    fn can_program_in_place(&self, lbn: Lbn, offset: u32) -> bool {
        let places = self.places_of(lbn);
        match self.order() {
            ProgramOrder::Any => !self.programmed.get(Lpn(places.start + offset)),
            ProgramOrder::Ascending => self.programmed.count(places.start + offset..places.end) == 0,
        }
    }

    /// True if any page of a primary block can be programmed in its place.
    pub(super) fn has_room_in_place(&self, lbn: Lbn) -> bool {
        let pages = self.shape.pages;
        self.has_primaries() && (0..pages).any(|page| self.can_program_in_place(lbn, page))
    }

    /// Pages that share cells are programmed in order, so that a group can be filled before it matters.
    fn order(&self) -> ProgramOrder {
        if self.shape.group == 1 { self.shape.order } else { ProgramOrder::Ascending }
    }

    /// A primary block takes no further pages in place.
    pub(super) fn close_primary(&mut self, lbn: Lbn) {
        if self.has_primaries() {
            self.programmed.set_all(self.places_of(lbn), true);
        }
    }

    /// A merge has filled the primary block: what the logical block lacks can still be programmed in place.
    pub(super) fn note_programmed(&mut self, lbn: Lbn) {
        if !self.has_primaries() {
            return;
        }
        for (offset, place) in (0_u32..).zip(self.places_of(lbn)) {
            let lpn = self.map.join(lbn, offset);
            let own = M::TAGGED && (offset == 0 || offset + 1 == self.shape.pages);
            let programmed = own || (lpn.0 < self.map.logical_pages() && self.map.is_mapped(lpn));
            self.programmed.set(Lpn(place), programmed);
        }
    }

    /// Fills the last group of pages of primary blocks, so that no later program endangers what is in it.
    pub(super) fn pad_primaries(&mut self) -> Result<(), FtlError> {
        while let Some(lbn) = self.unpadded.pop() {
            let Some(seg) = self.map.data(lbn) else { continue };
            let places = self.places_of(lbn);
            let next = places
                .clone()
                .rev()
                .find(|&place| self.programmed.get(Lpn(place)))
                .map_or(places.start, |last| last + 1);
            let end = places.start + self.group_end(next - places.start);
            for place in next..end {
                let offset = place - places.start;
                let (lpn, erases) = (self.map.join(lbn, offset), self.erases[seg.index()]);
                let tag = Tag { lpn, seq: self.next_seq(), erases, kind: Kind::Pad, role: Role::InPlace };
                self.programmed.set(Lpn(place), true);
                match self.program_meta(Ppn(seg.0 * self.shape.pages + offset), &tag) {
                    Ok(()) => {}
                    Err(ErrorKind::ProgramFailed) => {
                        self.condemn(seg);
                        self.close_primary(lbn);
                        self.merge(lbn, Purpose::Upkeep)?;
                        break;
                    }
                    Err(error) => return Err(FtlError::Chip(error)),
                }
            }
        }
        Ok(())
    }

    /// First page behind the group that the page before `next` lies in.
    fn group_end(&self, next: u32) -> u32 {
        next.next_multiple_of(self.shape.group).min(self.shape.pages)
    }

    /// Makes everything programmed so far safe from later programs.
    pub(super) fn pad(&mut self) -> Result<(), FtlError> {
        if self.shape.group == 1 || self.clean_mark.is_some() {
            return Ok(());
        }
        self.pad_primaries()?;
        self.pad_logs()
    }

    /// Fills the last group of pages of log blocks, likewise.
    pub(super) fn pad_logs(&mut self) -> Result<(), FtlError> {
        let open: Vec<LogId> = self.logs.all().map(|(id, _)| id).collect();
        for id in open {
            while self.logs.get(id).next < self.group_end(self.logs.get(id).next) {
                let log = *self.logs.get(id);
                let lpn = log.owner.map_or(Lpn(0), |lbn| self.map.join(lbn, 0));
                let (at, erases) = (Ppn(log.seg.0 * self.shape.pages + log.next), self.erases[log.seg.index()]);
                let tag = Tag { lpn, seq: self.next_seq(), erases, kind: Kind::Pad, role: Role::Plain };
                match self.program_meta(at, &tag) {
                    Ok(()) => self.logs.append(id, lpn),
                    Err(ErrorKind::ProgramFailed) => {
                        self.give_up_log(id)?;
                        break;
                    }
                    Err(error) => return Err(FtlError::Chip(error)),
                };
            }
        }
        Ok(())
    }

    /// Programs a page at its own place. False if that failed; the block has then been given up.
    fn program_in_place(&mut self, lpn: Lpn, seg: Seg, data: &[u8]) -> Result<bool, FtlError> {
        let (lbn, offset) = self.map.split(lpn);
        let at = Ppn(seg.0 * self.shape.pages + offset);
        self.forget_loss(lpn);
        // The last page of a primary block that was written in order says that nothing is missing.
        let complete = offset + 1 == self.shape.pages
            && !self.map.has_overlay(lbn)
            && self.map.mapped_in(lbn) == offset
            && !self.lost.iter().any(|&lost| self.map.split(lost).0 == lbn);
        let role = if complete { Role::Commit } else { Role::InPlace };
        let tag = Tag { lpn, seq: self.next_seq(), erases: self.erases[seg.index()], kind: Kind::Data, role };
        match self.pages.program(at, data, &tag) {
            Ok(()) => {}
            Err(ErrorKind::ProgramFailed) => {
                self.condemn(seg);
                self.close_primary(lbn);
                return self.merge(lbn, Purpose::Upkeep).map(|()| false);
            }
            Err(error) => return Err(FtlError::Chip(error)),
        }
        self.programmed.set(Lpn(lbn.0 * self.shape.pages + offset), true);
        if self.shape.group > 1 && self.unpadded.last() != Some(&lbn) {
            self.unpadded.push(lbn);
        }
        self.map.set_mapped(lpn, true);
        let old = self.map.set_logged(lbn, offset, Ppn::NONE);
        self.left(old);
        Ok(true)
    }

    /// Folds until a segment can be taken and another is left for a fold.
    fn make_room(&mut self) -> Result<(), FtlError> {
        self.check_folding();
        while self.logs.is_full() || self.free.total() < RESERVE_SEGMENTS {
            if !self.fold_one()? {
                return Err(self.worn_out());
            }
        }
        Ok(())
    }

    /// Folding begins below one mark of free segments and ends at another (FSAF '09, section 5.1), or where nothing is
    /// left to fold but the block that is being written: a device that is full of data never reaches the second mark.
    fn check_folding(&mut self) {
        if !self.has_primaries() {
            return;
        }
        let (free, good) = (u64::from(self.free.total()) * 100, u64::from(self.good_segments));
        if !self.folding && free < good * FOLD_BELOW_PERCENT {
            self.folding = true;
            self.stats.cleanings += 1;
        } else if free >= good * FOLD_UNTIL_PERCENT || self.logs.len() <= 1 {
            self.folding = false;
        }
    }

    /// True if data blocks take pages in place.
    pub(super) fn has_primaries(&self) -> bool {
        self.config.scheme == Scheme::PrimaryReplacement
    }

    /// Folds the logical block with the most invalid pages. False if none has a replacement block.
    pub(super) fn fold_one(&mut self) -> Result<bool, FtlError> {
        let invalid = |lbn: Lbn, next: u32| {
            let first = lbn.0 * self.shape.pages;
            let programmed = next + self.programmed.count(first..first + self.shape.pages);
            programmed.saturating_sub(self.map.mapped_in(lbn))
        };
        let folds = self.logs.all().filter_map(|(_, log)| Some((log.owner?, log.next)));
        let Some((lbn, _)) = folds.max_by_key(|&(lbn, next)| (invalid(lbn, next), core::cmp::Reverse(lbn))) else {
            self.folding = false;
            return Ok(false);
        };
        self.merge(lbn, Purpose::Recycle)?;
        Ok(true)
    }

    /// `fast`: a write to the first page of a logical block begins a stream, which has a log block to itself as long
    /// as it goes on; everything else goes to the shared ones.
    fn put_in_shared_log(&mut self, lpn: Lpn, data: &[u8]) -> Result<(), FtlError> {
        let (lbn, offset) = self.map.split(lpn);
        loop {
            if self.map.data(lbn).is_none() && !self.map.has_overlay(lbn) && !self.has_room_for_log() {
                self.reclaim_oldest()?;
                continue;
            }
            let goes_on = self.sequential.filter(|&id| {
                let log = self.logs.get(id);
                log.owner == Some(lbn) && log.next == offset && log.is_prefix()
            });
            let id = match goes_on {
                Some(id) => id,
                None if offset == 0 => self.begin_stream(lbn)?,
                None => self.shared_log()?,
            };
            if self.append(id, lpn, data)? {
                return Ok(());
            }
        }
    }

    /// Ends the stream that there is, and opens a log block for another one.
    fn begin_stream(&mut self, lbn: Lbn) -> Result<LogId, FtlError> {
        if let Some(id) = self.sequential
            && let Some(owner) = self.logs.get(id).owner
        {
            let partially = self.can_merge_partially(id);
            if partially { self.merge_partially(owner, id)? } else { self.merge(owner, Purpose::Recycle)? }
        }
        while self.logs.is_full() || !self.has_room_for_log() {
            self.reclaim_oldest()?;
        }
        let id = self.open_log(Some(lbn))?;
        self.sequential = Some(id);
        Ok(id)
    }

    /// The shared log block that takes the next page. Merging is put off until there is no other way.
    pub(super) fn shared_log(&mut self) -> Result<LogId, FtlError> {
        loop {
            if let Some(id) = self.shared
                && self.logs.get(id).next < self.shape.pages
            {
                return Ok(id);
            }
            // One log block is kept for a stream.
            let streams = u32::from(self.sequential.is_some());
            let is_full = self.logs.len() - streams + 1 >= self.config.log_blocks;
            if !is_full && self.has_room_for_log() {
                let id = self.open_log(None)?;
                self.shared = Some(id);
                return Ok(id);
            }
            self.reclaim_oldest()?;
        }
    }

    /// True if a segment can be taken for a log block, or for pages of a logical block that has no data block yet: each
    /// of those takes one when it is merged, and frees none.
    fn has_room_for_log(&self) -> bool {
        self.free.total() >= RESERVE_SEGMENTS + self.map.without_data()
    }

    /// Empties the log block written longest ago.
    fn reclaim_oldest(&mut self) -> Result<(), FtlError> {
        // The stream's log block goes last: it is not what keeps the others from being opened.
        let age = |(id, log): &(LogId, &LogBlock)| (self.sequential == Some(*id), log.used);
        let oldest = self.logs.all().min_by_key(age).map(|(id, log)| (id, log.owner));
        match oldest {
            Some((id, None)) => self.reclaim(id),
            Some((id, Some(owner))) if self.can_merge_partially(id) => self.merge_partially(owner, id),
            Some((_, Some(owner))) => self.merge(owner, Purpose::Recycle),
            None => Err(self.worn_out()),
        }
    }

    /// Empties a shared log block: every logical block with a live page in it is merged, and every one with a
    /// discarded page in it whose discard is not durable, since an older copy may lie behind it.
    pub(super) fn reclaim(&mut self, id: LogId) -> Result<(), FtlError> {
        let seg = self.logs.get(id).seg;
        for page in 0..self.logs.held(id).len() {
            let (lbn, offset) = self.map.split(self.logs.held(id)[page]);
            let at = Ppn(seg.0 * self.shape.pages + page as u32);
            let is_live = self.map.logged(lbn, offset) == at || self.map.logged(lbn, self.shape.pages) == at;
            if !is_live && !self.dirty[lbn.index()] {
                continue;
            }
            let holds_nothing = self.map.data(lbn).is_none() && self.map.mapped_in(lbn) == 0;
            if holds_nothing && !self.is_named_elsewhere(lbn, id) {
                self.forget_overlay(lbn);
                self.dirty[lbn.index()] = false;
            } else {
                self.merge(lbn, Purpose::Recycle)?;
            }
        }
        debug_assert!(self.logs.get(id).live == 0);
        // What superseded pages in here may lie in a group that a later program endangers.
        self.logs.close_to_appends(id);
        self.pad()?;
        self.close_log(id);
        self.release(seg)
    }

    /// True if pages of a logical block, stale ones too, lie in another log block.
    fn is_named_elsewhere(&self, lbn: Lbn, except: LogId) -> bool {
        let others = self.logs.all().map(|(id, _)| id).filter(|&id| id != except);
        others.into_iter().any(|id| self.logs.held(id).iter().any(|&lpn| self.map.split(lpn).0 == lbn))
    }

    /// Makes the discards in a logical block durable: by a record in its log block, or by a merge without the pages.
    /// They are when `dirty` says so; a log block that fails takes another try.
    pub(super) fn record_discards(&mut self, lbn: Lbn) -> Result<(), FtlError> {
        let nothing_left = self.map.mapped_in(lbn) == 0;
        if nothing_left && !self.shares_logs() {
            return self.drop_block(lbn);
        }
        if !M::TAGGED {
            self.dirty[lbn.index()] = false;
            return if nothing_left { self.drop_block(lbn) } else { Ok(()) };
        }
        let log = if self.shares_logs() { Some(self.shared_log()?) } else { self.logs.current(lbn) };
        // Finding room in a shared log block may have merged this logical block.
        if !self.dirty[lbn.index()] {
            return Ok(());
        }
        match log.filter(|&id| self.logs.get(id).next < self.shape.pages) {
            Some(id) => self.append_record(id, lbn)?,
            None => self.merge(lbn, Purpose::Recycle)?,
        }
        // All that a shared scheme leaves of a logical block without pages is the record.
        if nothing_left
            && !self.dirty[lbn.index()]
            && let Some(data) = self.map.data(lbn)
        {
            self.pad()?;
            self.map.set_data(lbn, None);
            self.stats.free_erases += 1;
            self.release(data)?;
        }
        Ok(())
    }

    /// Programs a discard record as the next page of a log block.
    fn append_record(&mut self, id: LogId, lbn: Lbn) -> Result<(), FtlError> {
        let log = *self.logs.get(id);
        let at = Ppn(log.seg.0 * self.shape.pages + log.next);
        let role = if log.next == 0 { Role::LogHead } else { Role::Plain };
        let (lpn, erases) = (self.map.join(lbn, 0), self.erases[log.seg.index()]);
        let tag = Tag { lpn, seq: self.next_seq(), erases, kind: Kind::Trim, role };
        match self.program_discards(lbn, at, &tag) {
            Ok(()) => {}
            // Emptying the log block merges this logical block, which will do as well.
            Err(ErrorKind::ProgramFailed) => return self.give_up_log(id),
            Err(error) => return Err(FtlError::Chip(error)),
        }
        self.logs.append(id, lpn);
        let old = self.map.set_logged(lbn, self.shape.pages, at);
        self.left(old);
        self.logs.get_mut(id).live += 1;
        self.dirty[lbn.index()] = false;
        Ok(())
    }

    /// Programs a bitmap of the pages of a logical block that are unmapped.
    pub(super) fn program_discards(&mut self, lbn: Lbn, at: Ppn, tag: &Tag) -> Result<(), ErrorKind> {
        let mut record = core::mem::take(&mut self.record);
        record.fill(0);
        for (offset, lpn) in self.map.range(lbn).enumerate() {
            if M::STORES && !self.map.is_mapped(Lpn(lpn)) {
                record[offset / 8] |= 1 << (offset % 8);
            }
        }
        self.stats.meta_programs += 1;
        let programmed = self.pages.program(at, &record, tag);
        self.record = record;
        programmed
    }
}
