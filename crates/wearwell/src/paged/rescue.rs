//! What a mount copies before it serves anything: the suspect page, and whatever makes segments free.
//!
//! All of it goes to segments that count *as a whole or not at all*: first a mark that says how many pages follow, then
//! these pages, then padding. A mount that is cut in one of them leaves everything as it found it, and the next one has
//! as many free segments as this one had. Once the padding is there, no cut can undo any of the copies, and segments in
//! which nothing counts any more are free.
//!
//! Each of them either takes the suspect out of the way, which happens once, or frees more segments than it takes. So
//! no loop of cuts uses up the free segments.

use alloc::vec::Vec;

use wearwell_flash::{ErrorKind, Nand};

use super::PagedFtl;
use super::cleaner::{FREE_FOR_HOST, FREE_TO_CLEAN};
use super::halt::Halt;
use super::map::number_of;
use super::mount::{Latest, Page};
use super::place::StreamPlacement;
use super::store::Stream;
use super::table::{SegSet, Table, Use};
use super::which::VictimWorth;
use crate::addr::{Lpn, Ppn, Seg};
use crate::page::log::Log;

/// Segments without a summary that a mount leaves as they are: of each it has to read every page.
const MOST_UNSEALED: u32 = 6;

/// Free segments that a mount leaves beyond those held back, if it can: so many that a short session needs no cleaning,
/// which would leave half-filled segments.
const FREE_FOR_SESSION: u32 = 4;

/// True for the parts that are to be written. A trait object, so that writing them is the same code for all.
type Wanted<'a, F> = &'a dyn Fn(&mut F, u32) -> Result<bool, Halt>;

impl<N: Nand, V: VictimWorth, W: StreamPlacement> PagedFtl<N, V, W> {
    /// Makes everything that counts certain, and enough segments free. Returns how many pages were rescued, and whether
    /// the device is read-only because there is no free segment for that.
    pub(super) fn make_safe(&mut self, latest: &Latest, unsealed: &SegSet) -> Result<(u32, bool), Halt> {
        // Their segments are kept until one is copied.
        latest.suspects().iter().for_each(|page| self.store.gain(page.at));
        self.release_empty();
        let suspect = latest.suspects().first();
        if let Some(page) = suspect {
            // Spec M13. If none is empty, or programs that fail have used these up, the suspect may have others.
            let keeps_stale = self.store.keeps_stale;
            self.store.keeps_stale |= self.has_doubted() || self.map.gathered_parts > 0;
            let mut is_done = self.rescue(page)?;
            if !is_done {
                self.store.keeps_stale = keeps_stale;
                is_done = self.rescue(page)?;
            }
            if !is_done {
                self.serve_suspect(page)?;
                self.store.read_only = true;
                return Ok((0, true));
            }
            latest.suspects().iter().for_each(|page| self.store.lose(page.at));
            self.map.set_suspect_from(u64::MAX);
        }
        // Spec M7. What is emptied may be all that tells of pages that are gone.
        self.store.keeps_stale |= self.map.gathered_parts > 0;
        self.write_lost()?;
        self.renew_doubted()?;
        self.release_empty();
        // The suspect is certain, or there is none: what is stale may be erased.
        self.store.keeps_stale = false;
        self.join_unsealed(unsealed)?;
        // Each round gains a segment or room in the cache, so this ends.
        while self.free_more()? {}
        // The next mount has to find room for a segment's worth of entries, too.
        if self.map.cache.is_over() {
            self.move_parts(None, true)?;
        }
        self.write_lost()?;
        self.erase_void(unsealed)?;
        // Spec M15.
        if self.fading.is_some() && self.spare_segments() >= FREE_FOR_HOST {
            self.clean_in_background(u32::MAX)?;
        }
        Ok((u32::from(suspect.is_some()), false))
    }

    /// Makes the segments free in which nothing counts.
    fn release_empty(&mut self) {
        for seg in self.store.table.all() {
            if self.store.table.is_closed(seg) && self.store.table.valid(seg) == 0 {
                // Spec M8.
                self.store.set_use(seg, Use::Stale);
            }
        }
    }

    /// Copies what may be left of rescues that never ended, and then, if there is room, what ends with a page that an
    /// earlier cut may have hit. Until then nothing is erased that it supersedes: if it fades, what it was made from
    /// counts. So only empty segments take the copies. Without one it is believed, since nothing could be written any
    /// more otherwise.
    ///
    /// The suspect comes first: behind a copy with a greater number no mount would know it.
    fn renew_doubted(&mut self) -> Result<(), Halt> {
        // Spec M13.
        self.store.keeps_stale = true;
        for of_rescues in [true, false] {
            for seg in self.store.table.all() {
                if self.store.table.used_for(seg) != Use::Doubted
                    || of_rescues && !self.store.log.scan_segment(seg)?.doubts_end
                {
                    continue;
                }
                let left = if of_rescues { 0 } else { self.store.held() };
                let has_room = self.new_entries(seg) <= self.map.cache.room_in_mount() && self.store.empty() > left;
                // What does not fit into one segment takes two, and only one becomes free.
                if has_room && (self.store.table.valid(seg) <= self.most_moved() || !self.is_low()) {
                    self.renew(seg)?;
                } else if of_rescues {
                    self.go_back(seg)?;
                }
                self.store.set_use(seg, Use::Closed);
            }
        }
        Ok(())
    }

    /// There is no room for copies of a doubted segment. Where the same can be read in the place that it was copied
    /// from, that counts.
    fn go_back(&mut self, seg: Seg) -> Result<(), Halt> {
        // Spec M13. Of two rescues without an end the newer one counts, if nothing shows that it is being erased.
        let lasts = !self.store.log.may_fade(seg, false)?;
        for lpn in (0..self.map.logical_pages()).map(Lpn) {
            let Some(at) = self.map.cache.get(lpn).filter(|&at| self.store.is_in(at, seg)) else { continue };
            let original = self.copy_before(lpn, at)?;
            if self.is_copy(lpn, at, original, lasts)? {
                self.store.take_back(original);
                self.map.move_to(lpn, at, original, &mut self.store);
            }
        }
        Ok(())
    }

    /// The newest copy of a page that is older than the one at `at`. That may be newer than the translation page, so
    /// the entries are made from all tags.
    fn copy_before(&mut self, lpn: Lpn, at: Ppn) -> Result<Ppn, Halt> {
        let Self { map, store, .. } = self;
        let number = number_of(store, at)?.unwrap_or(0);
        map.set_suspect_from(number);
        while !map.has_gathered(map.part_for(lpn), store)? {}
        map.set_suspect_from(u64::MAX);
        Ok(map.entry(lpn))
    }

    /// Entries that the cache takes if what counts in a segment is copied. What a rescue that never ended has copied is
    /// newer than the translation pages, so the cache has its entries already.
    fn new_entries(&self, seg: Seg) -> u32 {
        let cached = self.map.cache.places().filter(|&(_, at)| self.store.is_in(at, seg)).count() as u32;
        self.store.table.valid(seg) - cached
    }

    /// True if a page of the host's counts in a segment, and its tag can be read.
    fn has_pages_to_move(&mut self, seg: Seg) -> Result<bool, Halt> {
        let Self { map, store, .. } = self;
        // To look is to read all translation pages.
        if store.table.valid(seg) == 0 {
            return Ok(false);
        }
        for lpn in (0..map.logical_pages()).map(Lpn) {
            let at = map.lookup(lpn, store)?;
            if store.is_in(at, seg) && store.log.tag_at(at, false)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Writes the parts anew that were gathered. What the next mount would gather may be others than those that this
    /// one serves.
    fn write_lost(&mut self) -> Result<(), Halt> {
        // Spec M7.
        let mut lost = self.lost_parts()?;
        while lost > 0 && self.move_parts(None, true)? {
            let left = self.lost_parts()?;
            // What was written cannot be read.
            if left >= lost {
                break;
            }
            lost = left;
        }
        Ok(())
    }

    /// Erases what is left of rescues that were cut. What a copy there was made of may have faded since, so that this
    /// mount serves what is older; and without its mark the copy would count.
    fn erase_void(&mut self, unsealed: &SegSet) -> Result<(), Halt> {
        // Spec M3.
        for seg in self.store.table.all() {
            if unsealed.contains(seg) && self.store.table.used_for(seg) == Use::Suspect {
                self.store.erase(seg)?;
            }
        }
        Ok(())
    }

    fn has_doubted(&self) -> bool {
        self.store.table.all().any(|seg| self.store.table.used_for(seg) == Use::Doubted)
    }

    /// Copies what counts in a doubted segment. The mount begins again if some of it has faded.
    fn renew(&mut self, seg: Seg) -> Result<(), Halt> {
        let is_here = |ftl: &mut Self, part| {
            Ok(ftl.store.is_in(ftl.map.place_of(part), seg) && ftl.map.holds_part(part, &mut ftl.store)?)
        };
        if self.store.table.is_of_map(seg) {
            self.write_parts(self.store.table.valid(seg), &is_here, false)?;
        }
        // A full segment takes two others, each with a mark and padding. What cannot be read stays, and would open one
        // in each mount.
        for _ in 0..2 {
            if self.has_pages_to_move(seg)? {
                self.move_pages(None, &[seg])?;
            }
        }
        let Self { map, store, .. } = self;
        let parts = (0..store.plan.parts).map(|part| map.place_of(part));
        // A translation page that names a place there is newer than the rescue, which had ended then.
        for at in map.cache.places().map(|(_, at)| at).chain(parts) {
            if store.is_in(at, seg) && store.log.tag_at(at, false)?.is_none() {
                // The next try does not find it any more, so this ends.
                return Err(store.begin_again());
            }
        }
        Ok(())
    }

    fn is_low(&self) -> bool {
        self.store.free_for_data() <= self.store.held()
    }

    /// Writes the suspect once more. False if there is no free segment. Of a translation page that can no longer be
    /// read, a new version is made from what was there before it.
    fn rescue(&mut self, suspect: &Page) -> Result<bool, Halt> {
        // With what programs may fail here, the next segments may be the last ones.
        let is_low = self.is_low();
        if let Some(part) = self.map.part_in(suspect.lpn) {
            return self.move_parts(Some((part, suspect.at)), is_low);
        }
        // One slot and one entry are the suspect's own.
        let room = self.most_moved().min(self.map.cache.room_in_mount()).saturating_sub(1);
        // Spec M13. It may be that no other segment is empty.
        let mut victims = self.emptiest_of(room, &|seg| self.store.table.used_for(seg) == Use::Doubted);
        if is_low && victims.is_empty() {
            victims = self.emptiest_of(room, &|_| true);
        }
        self.move_pages(Some(suspect), &victims)
    }

    /// Nothing can be written. A suspect page is served where it lies, unless an older place holds the same and lasts.
    fn serve_suspect(&mut self, suspect: &Page) -> Result<(), Halt> {
        let Page { lpn, at, .. } = *suspect;
        if self.map.part_in(lpn).is_none() {
            let original = self.map.lookup(lpn, &mut self.store)?;
            if !self.is_copy(lpn, at, original, false)? {
                self.map.cache.put(lpn, at, true);
            }
        }
        Ok(())
    }

    /// True if what a page at `at` holds can also be read at `original`, and lasts there. If the page itself does, a
    /// rescue without an end is no place for that.
    fn is_copy(&mut self, lpn: Lpn, at: Ppn, original: Ppn, lasts: bool) -> Result<bool, Halt> {
        let page = self.map.lend();
        if !self.store.log.holds(at, lpn, page)? {
            // It has faded.
            return Err(self.store.begin_again());
        }
        // What an erase has left fades. It begins only once the copy is complete.
        let seg = self.store.segment_of(original);
        // A place that is none, or that damaged flash names, lies behind the last segment.
        let is_better = seg.0 < self.store.table.segments() && !self.store.log.may_fade(seg, lasts)?;
        Ok(is_better && self.store.log.holds_same(original, lpn, page)?)
    }

    /// Copies segments without a summary to others that get one, until few are left: sessions that end in a cut would
    /// leave more and more of them.
    fn join_unsealed(&mut self, unsealed: &SegSet) -> Result<(), Halt> {
        let is_left = |table: &Table, seg| unsealed.contains(seg) && table.is_closed(seg) && !table.is_of_map(seg);
        let mut left = u32::MAX;
        loop {
            let table = &self.store.table;
            let left_now = table.count(|seg| is_left(table, seg));
            // What can no longer be read stays where it is.
            if left_now <= MOST_UNSEALED || left_now >= left || self.store.free_for_data() < FREE_TO_CLEAN {
                return Ok(());
            }
            left = left_now;
            if self.map.cache.is_over() && !self.move_parts(None, true)? {
                return Ok(());
            }
            let victims = self.emptiest_of(self.most_moved(), &|seg| unsealed.contains(seg));
            if victims.is_empty() || self.map.cache.is_over() || !self.move_pages(None, &victims)? {
                return Ok(());
            }
            self.store.seal(Stream::Host)?;
        }
    }

    /// Makes segments free, or room in the cache, if there is too little of it. False if there is enough, or no more
    /// can be had.
    fn free_more(&mut self) -> Result<bool, Halt> {
        let (entries, map_segments) = (self.map.cache.len(), self.store.map_segments());
        if self.map.cache.is_over() || map_segments >= self.store.plan.map_segments {
            self.move_parts(None, true)?;
            return Ok(self.map.cache.len() < entries || self.store.map_segments() < map_segments);
        }
        let (free, held) = (self.store.free_for_data(), self.store.held());
        if free >= held + FREE_FOR_SESSION {
            return Ok(false);
        }
        let victims = self.emptiest_of(self.most_moved(), &|_| true);
        let is_gain = victims.len() > 1 || free < FREE_TO_CLEAN.max(held) && !victims.is_empty();
        if is_gain {
            self.move_pages(None, &victims)?;
        }
        Ok(self.store.free_for_data() > free)
    }

    /// Pages that a segment can take between a mark and padding.
    fn most_moved(&self) -> u32 {
        self.store.slots.per_segment() - 2
    }

    /// The emptiest segments of those that are wanted and hold data, as many as `room` pages can empty.
    fn emptiest_of(&self, room: u32, wanted: &dyn Fn(Seg) -> bool) -> Vec<Seg> {
        self.emptiest_in(room, &|seg| !self.store.table.is_of_map(seg) && wanted(seg))
    }

    fn emptiest_in(&self, room: u32, wanted: &dyn Fn(Seg) -> bool) -> Vec<Seg> {
        let table = &self.store.table;
        // Each holds a page at least.
        let (mut chosen, mut room) = (Vec::with_capacity(room as usize), room);
        while let Some(seg) = table.emptiest(&|seg| table.is_closed(seg) && wanted(seg) && !chosen.contains(&seg)) {
            // All others hold as many pages or more.
            let Some(left) = room.checked_sub(table.valid(seg)) else { break };
            room = left;
            chosen.push(seg);
        }
        chosen
    }

    fn pages_of(&self, segments: &[Seg]) -> u32 {
        segments.iter().map(|&seg| self.store.table.valid(seg)).sum()
    }

    /// Copies a suspect page, and all pages of these segments. False if no segment is free.
    fn move_pages(&mut self, suspect: Option<&Page>, victims: &[Seg]) -> Result<bool, Halt> {
        let pages = self.pages_of(victims) + u32::from(suspect.is_some());
        if !self.store.open_whole(Stream::Host, pages.min(self.most_moved()))? {
            return Ok(false);
        }
        if let Some(page) = suspect
            && !self.move_newest(page.lpn, page.at)?
        {
            // It has faded.
            return Err(self.store.begin_again());
        }
        // The map knows pages that no scan finds: an erase that was cut may have emptied those before them.
        for lpn in (0..self.map.logical_pages()).map(Lpn) {
            // The suspect may be all that there is to copy.
            if self.store.room_in_whole() == 0 {
                break;
            }
            let at = self.map.lookup(lpn, &mut self.store)?;
            // One that can no longer be read stays where it is.
            if victims.contains(&self.store.segment_of(at)) {
                self.move_newest(lpn, at)?;
            }
        }
        self.end_whole()?;
        Ok(true)
    }

    /// Copies a page, which is the newest of its logical page, and for which the cache has room. False if it cannot be
    /// read.
    fn move_newest(&mut self, lpn: Lpn, from: Ppn) -> Result<bool, Halt> {
        let old = self.map.lookup(lpn, &mut self.store)?;
        match self.store.append_copy(Stream::Host, lpn, from) {
            Ok(at) => {
                self.map.move_to(lpn, old, at, &mut self.store);
                Ok(true)
            }
            Err(ErrorKind::Uncorrectable) => Ok(false),
            Err(error) => Err(self.broken(error)),
        }
    }

    /// Writes a suspect part anew, or without one the lost parts, and with `cleans` those in the emptiest segments of
    /// translation pages and those with most entries in the cache. False if no segment is free.
    fn move_parts(&mut self, suspect: Option<(u32, Ppn)>, cleans: bool) -> Result<bool, Halt> {
        let first = if suspect.is_some() { 1 } else { self.lost_parts()? };
        let room = if cleans { self.most_moved().saturating_sub(first) } else { 0 };
        let victims = self.emptiest_in(room, &|seg| self.store.table.is_of_map(seg));
        let cached = if cleans { self.map.cache.parts(self.store.plan.per_part) } else { 0 };
        let pages = (first + self.pages_of(&victims) + cached).min(self.most_moved());
        let is_moved = |ftl: &mut Self, part| {
            let is_first = match suspect {
                Some((suspect, at)) if suspect == part => {
                    ftl.map.load_newer(part, at, &mut ftl.store)?;
                    true
                }
                Some(_) => false,
                None => ftl.map.is_lost(part, &mut ftl.store)?,
            };
            Ok(is_first || victims.contains(&ftl.store.segment_of(ftl.map.place_of(part))))
        };
        self.write_parts(pages, &is_moved, cleans)
    }

    fn lost_parts(&mut self) -> Result<u32, Halt> {
        let Self { map, store, .. } = self;
        (0..store.plan.parts).try_fold(0, |lost, part| Ok(lost + u32::from(map.is_lost(part, store)?)))
    }

    /// Writes the wanted parts anew, and with `fills` those with most entries in the cache. False if no segment is
    /// free.
    fn write_parts(&mut self, pages: u32, wanted: Wanted<'_, Self>, fills: bool) -> Result<bool, Halt> {
        if pages == 0 || !self.store.open_whole(Stream::Map, pages)? {
            return Ok(false);
        }
        for part in 0..self.store.plan.parts {
            if self.store.room_in_whole() > 0 && wanted(self, part)? {
                self.merge_whole(part)?;
            }
        }
        // What is left goes to the parts with most entries, which makes room in the cache.
        while fills && self.store.room_in_whole() > 0 {
            let Some(part) = self.map.cache.fullest(self.store.plan.per_part) else { break };
            self.merge_whole(part)?;
        }
        self.end_whole()?;
        Ok(true)
    }

    fn merge_whole(&mut self, part: u32) -> Result<(), Halt> {
        self.map.merge_here(part, &mut self.store).map_err(|halt| match halt {
            Halt::Chip(error) => self.broken(error),
            halt => halt,
        })
    }

    /// Pads the segment that counts as a whole. Now it counts.
    fn end_whole(&mut self) -> Result<(), Halt> {
        if let Err(error) = self.store.end_whole() {
            return Err(self.broken(error));
        }
        self.release_empty();
        Ok(())
    }

    /// A program failed, so that what was copied will not count.
    fn broken(&mut self, error: ErrorKind) -> Halt {
        self.store.begins_again |= error == ErrorKind::ProgramFailed;
        error.into()
    }
}
