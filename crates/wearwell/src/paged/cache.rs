//! The write-back cache: entries of the map that are newer than their translation page.
//!
//! An entry takes as few bytes as its numbers need: five on a chip of 1 Gbit. More entries in the same memory mean
//! fewer programs, since more of them are of one translation page when that is merged.

use alloc::vec::Vec;
use core::ops::Range;

use crate::addr::{Lpn, Ppn};
use crate::le;

/// Most logical pages: their numbers leave a bit of four bytes free.
pub(super) const MOST_PAGES: u32 = 1 << 31;

/// An entry: the place of a logical page.
#[derive(Debug, Clone, Copy)]
struct Entry {
    lpn: Lpn,
    at: Ppn,
    /// The place that the translation page names is known to be superseded.
    is_known: bool,
}

/// How an entry lies in memory: the logical page, whose highest bit says whether the older place is known, and the
/// place. Both are little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    lpn_bytes: usize,
    place_bytes: usize,
}

impl Form {
    /// The form for so many logical pages, with places as wide as in a translation page.
    pub(super) const fn new(logical_pages: u32, place_bytes: u32) -> Self {
        let lpn_bytes = if logical_pages < 1 << 23 { 3 } else { 4 };
        Self { lpn_bytes, place_bytes: place_bytes as usize }
    }

    pub(super) const fn bytes(self) -> usize {
        self.lpn_bytes + self.place_bytes
    }

    fn known(self) -> u32 {
        1 << (8 * self.lpn_bytes - 1)
    }

    fn read(self, bytes: &[u8]) -> Entry {
        // Each number lies in one of these words, so a search among hundreds of entries need not copy bytes.
        let (first, last) = words(bytes);
        let page = u32::from_le_bytes(first) & u32::MAX >> (u32::BITS as usize - 8 * self.lpn_bytes);
        let unused = u32::BITS as usize - 8 * self.place_bytes;
        let (place, all) = (u32::from_le_bytes(last) >> unused, u32::MAX >> unused);
        // The greatest numbers say that there is no place. No page lies there, however wide the numbers are.
        let at = Ppn(if place >= all - 1 { place | !all } else { place });
        Entry { lpn: Lpn(page & !self.known()), at, is_known: page & self.known() != 0 }
    }

    fn write(self, bytes: &mut [u8], entry: Entry) {
        let known = if entry.is_known { self.known() } else { 0 };
        le::put(bytes, 0..self.lpn_bytes, (entry.lpn.0 | known).into());
        // What is no place loses upper bits here, which are ones.
        le::put(bytes, self.lpn_bytes..self.bytes(), entry.at.0.into());
    }
}

/// The first four bytes of an entry, and its last four.
#[inline(always)]
fn words(entry: &[u8]) -> ([u8; 4], [u8; 4]) {
    let (Some(&first), Some(&last)) = (entry.first_chunk(), entry.last_chunk()) else {
        unreachable!("an entry has five bytes or more")
    };
    (first, last)
}

/// Overwrites an entry. Returns what it was.
#[inline(always)]
fn put_words(entry: &mut [u8], (first, last): ([u8; 4], [u8; 4])) -> ([u8; 4], [u8; 4]) {
    let old = words(entry);
    if let Some(place) = entry.first_chunk_mut() {
        *place = first;
    }
    if let Some(place) = entry.last_chunk_mut() {
        *place = last;
    }
    old
}

/// Entries in the order of their logical pages, so that those of a translation page lie together.
#[derive(Debug)]
pub(super) struct Cache {
    form: Form,
    /// The entries, each in `form`.
    bytes: Vec<u8>,
    /// Entries that it has in service.
    limit: usize,
    /// Entries that it may have in a mount, which moves a segment at once.
    capacity: usize,
}

impl Cache {
    pub(super) fn new(form: Form, limit: u32, more_in_mounts: u32) -> Self {
        let capacity = (limit + more_in_mounts) as usize;
        Self { form, bytes: Vec::with_capacity(capacity * form.bytes()), limit: limit as usize, capacity }
    }

    fn entries(&self) -> usize {
        self.bytes.len() / self.form.bytes()
    }

    fn field(&self, index: usize) -> Range<usize> {
        index * self.form.bytes()..(index + 1) * self.form.bytes()
    }

    // Not inline: these three would stand in dozens of places of a firmware.
    #[inline(never)]
    fn entry(&self, index: usize) -> Entry {
        self.form.read(&self.bytes[self.field(index)])
    }

    #[inline(never)]
    fn set_entry(&mut self, index: usize, entry: Entry) {
        let field = self.field(index);
        self.form.write(&mut self.bytes[field], entry);
    }

    fn iter(&self) -> impl Iterator<Item = Entry> + '_ {
        (0..self.entries()).map(|index| self.entry(index))
    }

    /// The index of the first entry whose logical page is not below `lpn`.
    #[inline(never)]
    fn first_from(&self, lpn: Lpn) -> usize {
        let (mut from, mut to) = (0, self.entries());
        while from < to {
            let middle = from + (to - from) / 2;
            if self.entry(middle).lpn < lpn { from = middle + 1 } else { to = middle }
        }
        from
    }

    /// The index of an entry, or the one that it would have.
    fn find(&self, lpn: Lpn) -> Result<usize, usize> {
        let index = self.first_from(lpn);
        if index < self.entries() && self.entry(index).lpn == lpn { Ok(index) } else { Err(index) }
    }

    pub(super) fn get(&self, lpn: Lpn) -> Option<Ppn> {
        self.find(lpn).ok().map(|index| self.entry(index).at)
    }

    /// True if the entry of `lpn` can be put without taking others out.
    pub(super) fn has_room(&self, lpn: Lpn) -> bool {
        self.entries() < self.limit || self.find(lpn).is_ok()
    }

    /// As [`has_room`](Self::has_room), in a mount.
    pub(super) fn has_room_in_mount(&self, lpn: Lpn) -> bool {
        self.entries() < self.capacity || self.find(lpn).is_ok()
    }

    /// Entries that it takes in a mount, beside those that it has.
    pub(super) fn room_in_mount(&self) -> u32 {
        (self.capacity - self.entries()) as u32
    }

    /// True if a mount has put more entries than there may be in service.
    pub(super) fn is_over(&self) -> bool {
        self.entries() > self.limit
    }

    pub(super) fn len(&self) -> u32 {
        self.entries() as u32
    }

    /// Puts an entry, for which there is room. Returns the one that it replaces. `is_known` says of a new one that the
    /// place in the translation page is superseded already.
    pub(super) fn put(&mut self, lpn: Lpn, at: Ppn, is_known: bool) -> Option<Ppn> {
        match self.find(lpn) {
            Ok(index) => {
                let old = self.entry(index);
                // Whether the place in the translation page is superseded does not change with a newer one.
                self.set_entry(index, Entry { at, ..old });
                Some(old.at)
            }
            Err(index) => {
                assert!(self.entries() < self.capacity, "whoever puts has made room");
                let (from, end) = (self.field(index).start, self.entries());
                self.bytes.resize(self.field(end).end, 0);
                self.set_entry(end, Entry { lpn, at, is_known });
                // To its place, and those behind it by one. Words, because moved as bytes a firmware needs `memmove`.
                let mut moved = words(&self.bytes[self.field(end)]);
                for entry in self.bytes[from..].chunks_exact_mut(self.form.bytes()) {
                    moved = put_words(entry, moved);
                }
                None
            }
        }
    }

    pub(super) fn is_known(&self, lpn: Lpn) -> bool {
        self.find(lpn).is_ok_and(|index| self.entry(index).is_known)
    }

    /// Notes that the place in the translation page of `lpn` is superseded.
    pub(super) fn set_known(&mut self, lpn: Lpn) {
        self.set_all_known(&(lpn.0..lpn.0 + 1));
    }

    /// As [`set_known`](Self::set_known), for all of these logical pages.
    pub(super) fn set_all_known(&mut self, pages: &Range<u32>) {
        for index in self.range(pages) {
            let entry = self.entry(index);
            self.set_entry(index, Entry { is_known: true, ..entry });
        }
    }

    fn range(&self, pages: &Range<u32>) -> Range<usize> {
        self.first_from(Lpn(pages.start))..self.first_from(Lpn(pages.end))
    }

    /// The entries of these logical pages: page, place, and whether the place before is known to be superseded.
    pub(super) fn among(&self, pages: &Range<u32>) -> impl Iterator<Item = (Lpn, Ppn, bool)> + '_ {
        self.range(pages).map(|index| self.entry(index)).map(|entry| (entry.lpn, entry.at, entry.is_known))
    }

    /// Takes out the entries of these logical pages.
    pub(super) fn remove(&mut self, pages: &Range<u32>) {
        let Range { start, end } = self.range(pages);
        let gap = (end - start) * self.form.bytes();
        let mut from = end * self.form.bytes();
        // As many bytes as have room at a time, so that none is read behind its overwriting.
        while gap > 0 && from < self.bytes.len() {
            let (to, rest) = self.bytes.split_at_mut(from);
            let moved = gap.min(rest.len());
            to[from - gap..from - gap + moved].copy_from_slice(&rest[..moved]);
            from += moved;
        }
        self.bytes.truncate(self.bytes.len() - gap);
    }

    /// The translation page with the most entries, at `per_page` logical pages each; of several the first.
    pub(super) fn fullest(&self, per_page: u32) -> Option<u32> {
        let (mut best, mut run) = (None, (0, 0));
        // One pass: entries of a translation page are neighbours.
        for number in self.iter().map(|entry| entry.lpn.0 / per_page) {
            run = if run.1 == number { (run.0 + 1, number) } else { (1, number) };
            best = best.filter(|&(most, _)| most >= run.0).or(Some(run));
        }
        best.map(|(_, number)| number)
    }

    /// The number of translation pages that have entries here, at `per_page` logical pages each.
    pub(super) fn parts(&self, per_page: u32) -> u32 {
        let mut last = None;
        let numbers = self.iter().map(|entry| entry.lpn.0 / per_page);
        numbers.filter(|&number| last.replace(number) != Some(number)).count() as u32
    }

    /// The first translation page with an entry that is `wanted`.
    pub(super) fn first_with(&self, per_page: u32, wanted: impl Fn(Ppn) -> bool) -> Option<u32> {
        self.iter().find(|entry| wanted(entry.at)).map(|entry| entry.lpn.0 / per_page)
    }

    pub(super) fn places(&self) -> impl Iterator<Item = (Lpn, Ppn)> + '_ {
        self.iter().map(|entry| (entry.lpn, entry.at))
    }

    pub(super) fn table_bytes(&self) -> u64 {
        (self.capacity * self.form.bytes()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::map::LOST;
    use super::*;
    use crate::random::Rng;
    use alloc::collections::BTreeMap;
    use alloc::vec;

    #[test]
    fn entries_of_a_translation_page_lie_together() {
        let mut cache = Cache::new(Form::new(100, 2), 4, 1);
        for (lpn, at) in [(17, 1), (3, 2), (12, 3), (11, 4)] {
            assert_eq!(cache.put(Lpn(lpn), Ppn(at), lpn == 3), None);
        }
        assert!(!cache.has_room(Lpn(4)) && cache.has_room(Lpn(12)));
        assert!(cache.has_room_in_mount(Lpn(4)) && !cache.is_over());
        assert_eq!(cache.parts(10), 2);
        assert_eq!(cache.put(Lpn(12), Ppn(5), true), Some(Ppn(3)));
        assert!(cache.is_known(Lpn(3)) && !cache.is_known(Lpn(12)), "the old place stays as unknown as it was");
        assert_eq!(cache.fullest(10), Some(1));
        let among: Vec<_> = cache.among(&(10..20)).collect();
        assert_eq!(among, [(Lpn(11), Ppn(4), false), (Lpn(12), Ppn(5), false), (Lpn(17), Ppn(1), false)]);
        cache.remove(&(10..20));
        assert_eq!(cache.places().collect::<Vec<_>>(), vec![(Lpn(3), Ppn(2))]);
        assert_eq!(cache.first_with(10, |at| at == Ppn(2)), Some(0));
    }

    #[test]
    fn entries_stay_what_they_are_where_others_come_and_go() {
        for (logical_pages, place_bytes) in [(200, 2), (200, 3), (1 << 23, 3), (1 << 23, 4)] {
            let mut cache = Cache::new(Form::new(logical_pages, place_bytes), 60, 0);
            let (mut model, mut rng) = (BTreeMap::new(), Rng::new(1));
            for at in 0..2000 {
                let lpn = rng.below(200);
                if cache.has_room(Lpn(lpn)) {
                    assert_eq!(cache.put(Lpn(lpn), Ppn(at), false), model.insert(Lpn(lpn), Ppn(at)));
                } else {
                    let gone = lpn..lpn + rng.below(60);
                    cache.remove(&gone);
                    model.retain(|known, _| !gone.contains(&known.0));
                }
                assert!(cache.places().eq(model.iter().map(|(&lpn, &at)| (lpn, at))), "{at}: {cache:?}");
            }
        }
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        for (logical_pages, place_bytes) in [(60_000, 2), ((1 << 23) - 1, 3), (1 << 23, 3), (MOST_PAGES - 1, 4)] {
            let form = Form::new(logical_pages, place_bytes);
            let greatest = Ppn((u32::MAX >> (u32::BITS - 8 * place_bytes)) - 2);
            for at in [Ppn(0), Ppn(258), greatest, LOST, Ppn::NONE] {
                for (lpn, is_known) in [(0, true), (logical_pages - 1, false), (logical_pages - 1, true)] {
                    let mut bytes = vec![0x5A; form.bytes()];
                    form.write(&mut bytes, Entry { lpn: Lpn(lpn), at, is_known });
                    let read = form.read(&bytes);
                    assert_eq!((read.lpn, read.at, read.is_known), (Lpn(lpn), at, is_known), "{form:?}");
                }
            }
        }
    }
}
