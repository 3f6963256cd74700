//! The map: translation pages on flash, a directory of them, and the cache of what is newer.
//!
//! Translation page *k*, or *part* k, holds the places of logical pages `k × per_part` and following. It is written as
//! logical page `capacity + k`. A write changes the cache alone and reads nothing. The place of the older copy is
//! found when the part is *merged*: read, brought up to date and appended. So of a page in the cache whose old place
//! is not *known*, the older copy is still counted as valid.
//!
//! Invariant: of a part with the number T, everything that was written or discarded before T is in it. For all
//! entries of a part are merged at once, and a page's entry is in the cache before the next page gets its number. So
//! a page with a greater number than its part is in the cache, and a mount finds at most as many as that holds.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use wearwell_flash::{ErrorKind, Nand};

use super::cache::{Cache, Form};
use super::config::{PagedConfig, Plan};
use super::halt::Halt;
use super::store::{Store, Stream};
use super::table::Use;
use crate::addr::{Lpn, Ppn, Seg};
use crate::le;
use crate::page::log::{Kind, Log, Tag};

/// The place of a page whose data is lost: reading it is an error until it is written or discarded.
pub(super) const LOST: Ppn = Ppn(u32::MAX - 1);

/// True if the entry names a page on flash. Others can only be found in a part.
pub(super) fn is_place(at: Ppn) -> bool {
    at.0 < LOST.0
}

#[derive(Debug)]
pub(super) struct Map {
    pub(super) cache: Cache,
    /// Where each part lies. [`LOST`] if a mount has found none with which all that is newer fits into the cache.
    directory: Vec<Ppn>,
    /// How often a part could not be read, so that its entries were gathered.
    pub(super) gathered_parts: u32,
    /// Pages from this number on are suspects that a mount has not copied yet (Spec M5). All others have lower ones.
    suspect_from: u64,
    /// The part in `page`. It is as on flash, or newer.
    loaded: Option<u32>,
    page: Vec<u8>,
    logical_pages: u32,
    plan: Plan,
}

impl Map {
    pub(super) fn new<V, W>(config: &PagedConfig<V, W>, plan: Plan, slots: u32, page_bytes: u32) -> Self {
        Self {
            cache: Cache::new(Form::new(config.logical_pages, plan.entry_bytes), config.cache_entries, slots),
            directory: vec![Ppn::NONE; plan.parts as usize],
            gathered_parts: 0,
            suspect_from: u64::MAX,
            loaded: None,
            page: vec![0; page_bytes as usize],
            logical_pages: config.logical_pages,
            plan,
        }
    }

    pub(super) fn page_bytes(&self) -> u32 {
        self.page.len() as u32
    }

    /// A byte of the directory.
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.directory[at / 4].0.to_le_bytes()[at % 4]
    }

    pub(super) fn set_byte(&mut self, at: usize, byte: u8) {
        let place = &mut self.directory[at / 4].0;
        *place = *place & !(0xFF << (8 * (at % 4))) | u32::from(byte) << (8 * (at % 4));
    }

    pub(super) fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    // Not inline, as another one here: a firmware would have it in many places.
    #[inline(never)]
    pub(super) fn part_for(&self, lpn: Lpn) -> u32 {
        lpn.0 / self.plan.per_part
    }

    /// The part that is written as this logical page.
    pub(super) fn part_in(&self, lpn: Lpn) -> Option<u32> {
        lpn.0.checked_sub(self.logical_pages).filter(|&part| part < self.plan.parts)
    }

    pub(super) fn page_of(&self, part: u32) -> Lpn {
        Lpn(self.logical_pages + part)
    }

    #[inline(never)]
    pub(super) fn place_of(&self, part: u32) -> Ppn {
        self.directory[part as usize]
    }

    /// A mount has found a part.
    pub(super) fn set_place(&mut self, part: u32, at: Ppn) {
        self.directory[part as usize] = at;
    }

    /// A mount suspects the pages from this number on. With the greatest number of all it suspects none.
    pub(super) fn set_suspect_from(&mut self, seq: u64) {
        self.suspect_from = seq;
    }

    /// True for the number of a page that is suspect.
    pub(super) fn is_suspect(&self, seq: u64) -> bool {
        seq >= self.suspect_from
    }

    /// A mount finds more entries than there is room for: a version of some part has decayed, or the cache is smaller
    /// than before the cut. Drops those of the part with most, which is [gathered](Self::gather) from now on.
    #[cold]
    pub(super) fn lose_fullest(&mut self) {
        // Spec M14.
        if let Some(part) = self.cache.fullest(self.plan.per_part) {
            self.cache.remove(&self.covered(part));
            self.set_place(part, LOST);
        }
    }

    /// The logical pages of a part.
    pub(super) fn covered(&self, part: u32) -> Range<u32> {
        let first = part * self.plan.per_part;
        first..self.logical_pages.min(first + self.plan.per_part)
    }

    fn field(&self, lpn: Lpn) -> Range<usize> {
        let bytes = self.plan.entry_bytes as usize;
        let from = (lpn.0 % self.plan.per_part) as usize * bytes;
        from..from + bytes
    }

    /// The entry of a page in the loaded part. What names no place on the chip is lost.
    pub(super) fn entry(&self, lpn: Lpn) -> Ppn {
        let none = u32::MAX >> (u32::BITS - 8 * self.plan.entry_bytes);
        match le::get_u32(&self.page, self.field(lpn)) {
            at if at == none => Ppn::NONE,
            at if at < self.plan.places => Ppn(at),
            _ => LOST,
        }
    }

    fn set_entry(&mut self, lpn: Lpn, at: Ppn) {
        let field = self.field(lpn);
        // What is no place loses upper bytes here, which are ones.
        le::put(&mut self.page, field, at.0.into());
    }

    /// Its page, as working memory that is put back. What was loaded is forgotten.
    pub(super) fn take_page(&mut self) -> Vec<u8> {
        self.loaded = None;
        core::mem::take(&mut self.page)
    }

    pub(super) fn put_page(&mut self, page: Vec<u8>) {
        self.page = page;
    }

    /// Its page, as working memory. What was loaded is forgotten.
    pub(super) fn lend(&mut self) -> &mut [u8] {
        self.loaded = None;
        &mut self.page
    }

    pub(super) fn table_bytes(&self) -> u64 {
        self.cache.table_bytes() + (self.directory.len() * size_of::<Ppn>()) as u64
    }
}

/// Reading.
impl Map {
    /// Reads a part. If it cannot be read any more, its entries are gathered from the tags of all pages. If there is an
    /// open segment for that, it is written anew then, and also if it fades.
    pub(super) fn load<N: Nand>(&mut self, part: u32, store: &mut Store<N>) -> Result<(), Halt> {
        if self.loaded == Some(part) {
            return Ok(());
        }
        // If the read fails, the page holds neither part.
        self.loaded = None;
        let at = self.place_of(part);
        let mut lasts = true;
        if at.is_some() {
            // Of a lost one there is nothing to read.
            let read = match at {
                LOST => Err(ErrorKind::Uncorrectable),
                _ => store.log.read(at, self.page_of(part), &mut self.page),
            };
            match read {
                Ok(report) => lasts = !report.refresh_soon,
                Err(ErrorKind::Uncorrectable) => {
                    self.gather(part, store)?;
                    self.gathered_parts = self.gathered_parts.saturating_add(1);
                    lasts = false;
                }
                Err(error) => return Err(error.into()),
            }
        } else {
            self.page.fill(0xFF);
        }
        self.loaded = Some(part);
        // Only where a slot is at hand: this is a read, which opens no segment, and a whole one has no slot to spare.
        let can_merge = store.has_room(Stream::Map) && !store.fills_whole() && !store.read_only;
        if lasts || !can_merge { Ok(()) } else { self.merge_here(part, store) }
    }

    /// A version of a part that is newer than all that is known of it becomes what is loaded, if it can be read.
    pub(super) fn load_newer<N: Nand>(&mut self, part: u32, at: Ppn, store: &mut Store<N>) -> Result<(), ErrorKind> {
        let page = self.page_of(part);
        if store.log.holds(at, page, self.lend())? {
            // It has them, and what was discarded since.
            self.cache.remove(&self.covered(part));
            self.loaded = Some(part);
        }
        Ok(())
    }

    /// True if a part was gathered, and is not written yet.
    pub(super) fn is_lost<N: Nand>(&mut self, part: u32, store: &mut Store<N>) -> Result<bool, ErrorKind> {
        Ok(self.gathered_parts > 0 && self.place_of(part).is_some() && !self.holds_part(part, store)?)
    }

    pub(super) fn holds_part<N: Nand>(&mut self, part: u32, store: &mut Store<N>) -> Result<bool, ErrorKind> {
        let (at, page) = (self.place_of(part), self.page_of(part));
        Ok(is_place(at) && store.log.holds(at, page, self.lend())?)
    }

    /// Where a page lies: a place, none, or [`LOST`].
    pub(super) fn lookup<N: Nand>(&mut self, lpn: Lpn, store: &mut Store<N>) -> Result<Ppn, Halt> {
        if let Some(at) = self.cache.get(lpn) {
            return Ok(at);
        }
        self.load(self.part_for(lpn), store)?;
        Ok(self.entry(lpn))
    }

    /// Fills the page with the entries of a part that is lost: the newest copy on flash of each of its pages. What was
    /// discarded may come back. So a mount begins again if the part may be of a rescue that never ended: without it,
    /// the version before counts.
    #[cold]
    fn gather<N: Nand>(&mut self, part: u32, store: &mut Store<N>) -> Result<(), Halt> {
        // Spec M13. A read-only device believes it.
        let at = self.place_of(part);
        let is_doubted = !store.read_only && is_place(at) && store.table.used_for(store.segment_of(at)) == Use::Doubted;
        // The next try does not find it any more, so this ends.
        if is_doubted && store.log.tag_at(at, false)?.is_none() {
            return Err(store.begin_again());
        }
        // What has faded since it was found is not found again, so this ends.
        while !self.has_gathered(part, store)? {}
        Ok(())
    }

    /// False if a copy has faded since it was found: nobody knows any more what it took the place of.
    pub(super) fn has_gathered<N: Nand>(&mut self, part: u32, store: &mut Store<N>) -> Result<bool, Halt> {
        // Spec M7.
        self.lend().fill(0xFF);
        let (covered, mut has_gaps) = (self.covered(part), false);
        for seg in store.table.all() {
            if !store.table.holds_pages(seg) {
                continue;
            }
            // Each tag is searched from the beginning, because `number_of` uses the log's page, too. A list would take
            // memory.
            let mut from = 0;
            while let Some((slot, tag)) = next_in(seg, from, &covered, &mut has_gaps, store)? {
                from = slot + 1;
                if self.is_suspect(tag.seq) {
                    continue;
                }
                let (at, known) = (store.slots.page(seg, slot), self.entry(tag.lpn));
                if !is_place(known) {
                    self.set_entry(tag.lpn, at);
                    continue;
                }
                let Some(number) = number_of(store, known)? else { return Ok(false) };
                if number < tag.seq {
                    self.set_entry(tag.lpn, at);
                }
            }
        }
        // What is gone may be any page of which there is no copy.
        for lpn in covered.map(Lpn).filter(|_| has_gaps) {
            if !self.entry(lpn).is_some() {
                self.set_entry(lpn, LOST);
            }
        }
        Ok(true)
    }
}

/// The first page of a segment from slot `from` on that is one of these logical pages. Notes whether a page of the
/// host's that counts may be gone there.
fn next_in<N: Nand>(
    seg: Seg,
    from: u32,
    pages: &Range<u32>,
    has_gaps: &mut bool,
    store: &mut Store<N>,
) -> Result<Option<(u32, Tag)>, ErrorKind> {
    let mut next = None;
    let mut take = |slot: u32, tag: &Tag| {
        let is_wanted = slot >= from && tag.kind == Kind::Data && pages.contains(&tag.lpn.0);
        next = next.or(is_wanted.then_some((slot, *tag)));
    };
    let is_gone = store.log.each_tag(seg, &mut take)?;
    // Among translation pages lies no page of the host's.
    *has_gaps |= is_gone && store.table.valid(seg) > 0 && !store.table.is_of_map(seg);
    Ok(next)
}

/// The number of a page: that of its tag, or if that cannot be read, of the summary.
pub(super) fn number_of<N: Nand>(store: &mut Store<N>, at: Ppn) -> Result<Option<u64>, ErrorKind> {
    if let Some(tag) = store.log.tag_at(at, false)? {
        return Ok(Some(tag.seq));
    }
    let (seg, mut number) = (store.segment_of(at), None);
    let wanted = store.slots.slot_in(seg, at);
    store.log.each_tag(seg, &mut |slot, tag| number = number.or((slot == wanted).then_some(tag.seq)))?;
    Ok(number)
}

/// Writing.
impl Map {
    /// Notes that a page lies at `at` now. There must be [room](Self::make_room).
    pub(super) fn point<N: Nand>(&mut self, lpn: Lpn, at: Ppn, store: &mut Store<N>) {
        // An older copy that the cache does not have is counted until its translation page is read.
        if let Some(old) = self.cache.put(lpn, at, false).filter(|&old| is_place(old)) {
            store.lose(old);
        }
        if is_place(at) {
            store.gain(at);
        }
    }

    /// As [`point`](Self::point), for a page that lay at `from`.
    pub(super) fn move_to<N: Nand>(&mut self, lpn: Lpn, from: Ppn, at: Ppn, store: &mut Store<N>) {
        // If it was in the cache, `from` is the place that is replaced there, and otherwise that of the part.
        self.cache.put(lpn, at, true);
        store.lose(from);
        if is_place(at) {
            store.gain(at);
        }
    }

    /// Makes room in the cache for the entry of a page, by merging the part with the most entries.
    pub(super) fn make_room<N: Nand>(&mut self, lpn: Lpn, store: &mut Store<N>) -> Result<(), Halt> {
        while !self.cache.has_room(lpn) {
            let Some(part) = self.cache.fullest(self.plan.per_part) else { break };
            self.merge(part, store)?;
        }
        Ok(())
    }

    /// The first part with entries that no page on flash shows: of discarded and of lost pages.
    fn first_unsettled(&self) -> Option<u32> {
        self.cache.first_with(self.plan.per_part, |at| !is_place(at))
    }

    /// True if there is no such part.
    pub(super) fn is_settled(&self) -> bool {
        self.first_unsettled().is_none()
    }

    /// Writes all such parts.
    pub(super) fn settle<N: Nand>(&mut self, store: &mut Store<N>) -> Result<(), Halt> {
        while let Some(part) = self.first_unsettled() {
            self.merge(part, store)?;
        }
        Ok(())
    }

    /// Writes all entries.
    pub(super) fn write_back<N: Nand>(&mut self, store: &mut Store<N>) -> Result<(), Halt> {
        while let Some(part) = self.cache.first_with(self.plan.per_part, |_| true) {
            self.merge(part, store)?;
        }
        Ok(())
    }

    /// Writes a part with all its entries in the cache.
    pub(super) fn merge<N: Nand>(&mut self, part: u32, store: &mut Store<N>) -> Result<(), Halt> {
        if !store.has_room(Stream::Map) {
            self.open_segment(store)?;
            // Behind the opening: what is emptied goes to the open segment.
            while store.map_segments() >= self.plan.map_segments && self.compact(store)? {}
        }
        self.merge_here(part, store)
    }

    fn open_segment<N: Nand>(&mut self, store: &mut Store<N>) -> Result<(), Halt> {
        if store.open(Stream::Map, false)? { Ok(()) } else { Err(store.worn_out()) }
    }

    /// [`merge`](Self::merge), without compacting other segments.
    pub(super) fn merge_here<N: Nand>(&mut self, part: u32, store: &mut Store<N>) -> Result<(), Halt> {
        self.load(part, store)?;
        self.update(part, store);
        // Only what is on flash may be loaded, unless it was written.
        self.loaded = None;
        let at = loop {
            if !store.has_room(Stream::Map) {
                self.open_segment(store)?;
            }
            match store.append(Stream::Map, Lpn(self.logical_pages + part), &self.page) {
                Ok(at) => break at,
                // Another segment takes the page. What was to count as a whole never will, and the mount begins again.
                Err(ErrorKind::ProgramFailed) if !store.fills_whole() => {}
                Err(error) => return Err(error.into()),
            }
        };
        store.stats.meta_programs += 1;
        store.gain(at);
        let old = core::mem::replace(&mut self.directory[part as usize], at);
        store.lose(old);
        // The cache forgets these places only now: until the program only the cache knew them.
        self.cache.remove(&self.covered(part));
        self.loaded = Some(part);
        Ok(())
    }

    /// Brings the loaded part up to date, and finds the older copies.
    fn update<N: Nand>(&mut self, part: u32, store: &mut Store<N>) {
        let covered = self.covered(part);
        let Self { cache, page, plan, .. } = self;
        let bytes = plan.entry_bytes as usize;
        for (lpn, at, is_known) in cache.among(&covered) {
            let from = (lpn.0 % plan.per_part) as usize * bytes;
            let old = le::get_u32(page, from..from + bytes);
            if !is_known && old < plan.places && old != at.0 {
                store.lose(Ppn(old));
            }
            le::put(page, from..from + bytes, at.0.into());
        }
        // If the part cannot be written now, its entries stay in the cache.
        cache.set_all_known(&covered);
    }

    /// Empties the segment of translation pages that holds the fewest into the open one, and erases it. False if there
    /// is none to empty.
    pub(super) fn compact<N: Nand>(&mut self, store: &mut Store<N>) -> Result<bool, Halt> {
        let table = &store.table;
        let is_mine = |seg: Seg| table.is_of_map(seg) && table.is_closed(seg);
        let failing = table.emptiest(&|seg| is_mine(seg) && table.used_for(seg) == Use::Failing);
        let Some(victim) = failing.or_else(|| table.emptiest(&is_mine)) else { return Ok(false) };
        for part in 0..self.plan.parts {
            if store.is_in(self.place_of(part), victim) {
                self.merge_here(part, store)?;
            }
        }
        if store.table.valid(victim) > 0 {
            // What it holds is not what its first tag says. The cleaner looks at each page.
            store.set_of_map(victim, false);
        } else {
            // What the new versions alone say has to last before the old ones go.
            self.secure(store)?;
            store.erase(victim)?;
        }
        Ok(true)
    }

    /// [Secures](Self::secure) the last translation page before a page of data is appended, if a mount would otherwise
    /// have no segment to copy that page to.
    pub(super) fn secure_for_data<N: Nand>(&mut self, store: &mut Store<N>) -> Result<(), Halt> {
        if store.has_empty() { Ok(()) } else { self.secure(store) }
    }

    /// Makes sure that the next mount suspects no translation page: if nothing is behind the last page of all, a mount
    /// copies it, or once it has faded writes it from what was there before it. What a translation page alone says must
    /// be secure before a segment becomes free, and before a flush returns: a mount finds data that is newer than it,
    /// but no discards.
    pub(super) fn secure<N: Nand>(&mut self, store: &mut Store<N>) -> Result<(), Halt> {
        while let Some(part) = store.insecure().and_then(|lpn| self.part_in(lpn)) {
            let padded =
                if store.has_room(Stream::Map) { store.pad(Stream::Map) } else { Err(ErrorKind::ProgramFailed) };
            match padded {
                Ok(()) => {}
                // Where there is no slot to pad, the part is written once more. The next round pads that.
                Err(ErrorKind::ProgramFailed) => self.merge_here(part, store)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// After errors.
impl Map {
    /// Nobody knows whether a page was written as the newest of `lpn`. Its entry, which stays what it was, goes to the
    /// cache, as if it were new: a mount may find that page, and has no more room than the cache.
    #[cold]
    pub(super) fn doubt<N: Nand>(&mut self, lpn: Lpn, store: &mut Store<N>) -> Result<(), Halt> {
        if self.cache.get(lpn).is_none() {
            let at = self.lookup(lpn, store)?;
            self.cache.put(lpn, at, false);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_translation_page_of_the_spec_is_what_is_written() {
        let config = PagedConfig::new(4, 2);
        let plan = Plan { places: 300, parts: 1, per_part: 4, entry_bytes: 2, map_segments: 6, needed_segments: 12 };
        let mut map = Map::new(&config, plan, 8, 8);
        let places = [Ppn(258), Ppn::NONE, LOST, Ppn(7)];
        (0..).zip(places).for_each(|(lpn, at)| map.set_entry(Lpn(lpn), at));
        assert_eq!(*map.page, *wearwell_spec::dump("nand-translation-page"));
        (0..).zip(places).for_each(|(lpn, at)| assert_eq!(map.entry(Lpn(lpn)), at));
    }
}
