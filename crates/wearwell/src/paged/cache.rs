//! The write-back cache: entries of the map that are newer than their translation page.

use alloc::vec::Vec;
use core::ops::Range;

use crate::addr::{Lpn, Ppn};

/// Set beside the logical page if the place that the translation page names is known to be superseded.
const KNOWN: u32 = 1 << 31;

/// Most logical pages: their numbers leave a bit free.
pub(super) const MOST_PAGES: u32 = KNOWN;

/// An entry: the place of a logical page.
#[derive(Debug, Clone, Copy)]
struct Entry {
    lpn: u32,
    at: Ppn,
}

impl Entry {
    fn lpn(self) -> Lpn {
        Lpn(self.lpn & !KNOWN)
    }
}

/// Entries in the order of their logical pages, so that those of a translation page lie together.
#[derive(Debug)]
pub(super) struct Cache {
    entries: Vec<Entry>,
    /// Entries that it has in service.
    limit: usize,
    /// Entries that it may have in a mount, which moves a segment at once.
    capacity: usize,
}

impl Cache {
    pub(super) const BYTES_PER_ENTRY: usize = size_of::<Entry>();

    pub(super) fn new(limit: u32, more_in_mounts: u32) -> Self {
        let capacity = (limit + more_in_mounts) as usize;
        Self { entries: Vec::with_capacity(capacity), limit: limit as usize, capacity }
    }

    fn find(&self, lpn: Lpn) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&lpn, |entry| entry.lpn())
    }

    pub(super) fn get(&self, lpn: Lpn) -> Option<Ppn> {
        self.find(lpn).ok().map(|index| self.entries[index].at)
    }

    /// True if the entry of `lpn` can be put without taking others out.
    pub(super) fn has_room(&self, lpn: Lpn) -> bool {
        self.entries.len() < self.limit || self.find(lpn).is_ok()
    }

    /// As [`has_room`](Self::has_room), in a mount.
    pub(super) fn has_room_in_mount(&self, lpn: Lpn) -> bool {
        self.entries.len() < self.capacity || self.find(lpn).is_ok()
    }

    /// Entries that it takes in a mount, beside those that it has.
    pub(super) fn room_in_mount(&self) -> u32 {
        (self.capacity - self.entries.len()) as u32
    }

    /// True if a mount has put more entries than there may be in service.
    pub(super) fn is_over(&self) -> bool {
        self.entries.len() > self.limit
    }

    pub(super) fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Puts an entry, for which there is room. Returns the one that it replaces. `is_known` says of a new one that the
    /// place in the translation page is superseded already.
    pub(super) fn put(&mut self, lpn: Lpn, at: Ppn, is_known: bool) -> Option<Ppn> {
        match self.find(lpn) {
            Ok(index) => Some(core::mem::replace(&mut self.entries[index].at, at)),
            Err(index) => {
                assert!(self.entries.len() < self.capacity, "whoever puts has made room");
                let known = if is_known { KNOWN } else { 0 };
                self.entries.insert(index, Entry { lpn: lpn.0 | known, at });
                None
            }
        }
    }

    pub(super) fn is_known(&self, lpn: Lpn) -> bool {
        self.find(lpn).is_ok_and(|index| self.entries[index].lpn & KNOWN != 0)
    }

    /// Notes that the place in the translation page of `lpn` is superseded.
    pub(super) fn set_known(&mut self, lpn: Lpn) {
        if let Ok(index) = self.find(lpn) {
            self.entries[index].lpn |= KNOWN;
        }
    }

    /// As [`set_known`](Self::set_known), for all of these logical pages.
    pub(super) fn set_all_known(&mut self, pages: &Range<u32>) {
        let range = self.range(pages);
        self.entries[range].iter_mut().for_each(|entry| entry.lpn |= KNOWN);
    }

    fn range(&self, pages: &Range<u32>) -> Range<usize> {
        let first = |lpn: u32| self.entries.partition_point(|entry| entry.lpn().0 < lpn);
        first(pages.start)..first(pages.end)
    }

    /// The entries of these logical pages: page, place, and whether the place before is known to be superseded.
    pub(super) fn among(&self, pages: &Range<u32>) -> impl Iterator<Item = (Lpn, Ppn, bool)> + '_ {
        self.entries[self.range(pages)].iter().map(|entry| (entry.lpn(), entry.at, entry.lpn & KNOWN != 0))
    }

    /// Takes out the entries of these logical pages.
    pub(super) fn remove(&mut self, pages: &Range<u32>) {
        let range = self.range(pages);
        self.entries.drain(range);
    }

    /// The translation page with the most entries, at `per_page` logical pages each.
    pub(super) fn fullest(&self, per_page: u32) -> Option<u32> {
        let mut best = None;
        let mut rest = &self.entries[..];
        while let Some(first) = rest.first() {
            let number = first.lpn().0 / per_page;
            let count = rest.partition_point(|entry| entry.lpn().0 / per_page == number);
            if best.is_none_or(|(most, _)| count > most) {
                best = Some((count, number));
            }
            rest = &rest[count..];
        }
        best.map(|(_, number)| number)
    }

    /// The number of translation pages that have entries here, at `per_page` logical pages each.
    pub(super) fn parts(&self, per_page: u32) -> u32 {
        self.entries.chunk_by(|a, b| a.lpn().0 / per_page == b.lpn().0 / per_page).count() as u32
    }

    /// The first translation page with an entry that is `wanted`.
    pub(super) fn first_with(&self, per_page: u32, wanted: impl Fn(Ppn) -> bool) -> Option<u32> {
        self.entries.iter().find(|entry| wanted(entry.at)).map(|entry| entry.lpn().0 / per_page)
    }

    pub(super) fn places(&self) -> impl Iterator<Item = (Lpn, Ppn)> + '_ {
        self.entries.iter().map(|entry| (entry.lpn(), entry.at))
    }

    pub(super) fn table_bytes(&self) -> u64 {
        (self.capacity * Self::BYTES_PER_ENTRY) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn entries_of_a_translation_page_lie_together() {
        let mut cache = Cache::new(4, 1);
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
}
