//! The translation table (Kawaguchi '95, section 2.6; Chiang '97, section 3.3) and its inverse.

use alloc::vec;
use alloc::vec::Vec;

use crate::addr::{Divider, Lpn, Ppn, Seg};

/// Where every logical page lies, and what every physical page holds.
///
/// Invariant: for every logical page l with p = `l2p[l]` mapped, `p2l[p] = l` and p's live bit is set; no
/// other live bit is set. `p2l` of a page whose live bit is clear is left over and means nothing.
#[derive(Debug, Clone)]
pub(crate) struct Map {
    l2p: Vec<u32>,
    p2l: Vec<u32>,
    live: Vec<u64>,
    live_pages: u64,
    slots: u32,
    words_per_segment: u32,
    by_slots: Divider,
}

impl Map {
    pub(crate) fn new(logical_pages: u32, segments: u32, slots: u32) -> Self {
        let words_per_segment = slots.div_ceil(64);
        Self {
            l2p: vec![Ppn::NONE.0; logical_pages as usize],
            p2l: vec![0; segments as usize * slots as usize],
            live: vec![0; segments as usize * words_per_segment as usize],
            live_pages: 0,
            slots,
            words_per_segment,
            by_slots: Divider::new(slots),
        }
    }

    pub(crate) fn logical_pages(&self) -> u32 {
        self.l2p.len() as u32
    }

    pub(crate) fn live_pages(&self) -> u64 {
        self.live_pages
    }

    #[inline]
    pub(crate) fn lookup(&self, lpn: Lpn) -> Ppn {
        Ppn(self.l2p[lpn.0 as usize])
    }

    #[inline]
    pub(crate) fn segment_of(&self, ppn: Ppn) -> Seg {
        Seg(self.by_slots.quotient(ppn.0))
    }

    #[inline]
    pub(crate) fn ppn(&self, seg: Seg, slot: u32) -> Ppn {
        debug_assert!(slot < self.slots);
        Ppn(seg.0 * self.slots + slot)
    }

    #[inline]
    fn live_bit(&self, seg: Seg, slot: u32) -> (usize, u64) {
        ((seg.0 * self.words_per_segment + slot / 64) as usize, 1 << (slot % 64))
    }

    /// Points `lpn` to slot `slot` of `seg`, which holds nothing live. What `lpn` pointed to before must have
    /// been [released](Self::release).
    #[inline]
    pub(crate) fn bind(&mut self, lpn: Lpn, seg: Seg, slot: u32) {
        self.point(lpn, seg, slot);
        self.live_pages += 1;
    }

    /// Clears the live bit of a page and returns its segment.
    #[inline]
    pub(crate) fn release(&mut self, ppn: Ppn) -> Seg {
        self.live_pages -= 1;
        self.clear(ppn)
    }

    /// Points a mapped logical page from `old` to slot `slot` of `seg`, and returns the segment of `old`.
    #[inline]
    pub(crate) fn rebind(&mut self, lpn: Lpn, old: Ppn, seg: Seg, slot: u32) -> Seg {
        let left = self.clear(old);
        self.point(lpn, seg, slot);
        left
    }

    #[inline]
    fn point(&mut self, lpn: Lpn, seg: Seg, slot: u32) {
        let ppn = self.ppn(seg, slot);
        let (word, bit) = self.live_bit(seg, slot);
        debug_assert_eq!(self.live[word] & bit, 0, "a page holds one logical page");
        self.live[word] |= bit;
        self.l2p[lpn.0 as usize] = ppn.0;
        self.p2l[ppn.0 as usize] = lpn.0;
    }

    #[inline]
    fn clear(&mut self, ppn: Ppn) -> Seg {
        let seg = self.segment_of(ppn);
        let (word, bit) = self.live_bit(seg, ppn.0 - seg.0 * self.slots);
        debug_assert_ne!(self.live[word] & bit, 0, "only a live page can be released");
        self.live[word] &= !bit;
        seg
    }

    /// Forgets a logical page. Its physical page must have been [released](Self::release).
    #[inline]
    pub(crate) fn unmap(&mut self, lpn: Lpn) {
        self.l2p[lpn.0 as usize] = Ppn::NONE.0;
    }

    /// Finds live slots of `seg` from `from` on, in order, with the logical pages they hold, and reads the map
    /// entries of these so that they are near when the pages are moved. Returns how many it found.
    #[inline]
    pub(crate) fn gather_live(&self, seg: Seg, from: u32, slots: &mut [u32], lpns: &mut [Lpn]) -> usize {
        let base = (seg.0 * self.words_per_segment) as usize;
        let words = &self.live[base..base + self.words_per_segment as usize];
        let first = self.ppn(seg, 0).0 as usize;
        let holders = &self.p2l[first..first + self.slots as usize];
        let mut index = (from / 64) as usize;
        let mut word = words.get(index).map_or(0, |word| word & (u64::MAX << (from % 64)));
        let mut sum = 0_u32;
        for (found, (slot, lpn)) in slots.iter_mut().zip(lpns.iter_mut()).enumerate() {
            while word == 0 {
                index += 1;
                match words.get(index) {
                    Some(&next) => word = next,
                    None => return found,
                }
            }
            *slot = index as u32 * 64 + word.trailing_zeros();
            *lpn = Lpn(holders[*slot as usize]);
            sum = sum.wrapping_add(self.l2p[lpn.0 as usize]);
            word &= word - 1;
        }
        core::hint::black_box(sum);
        slots.len().min(lpns.len())
    }

    /// Points logical pages, which are all that lives in `from` between the first and the last of `slots`, to
    /// consecutive slots of `to`, which hold nothing live.
    #[inline]
    pub(crate) fn move_run(&mut self, from: Seg, slots: &[u32], lpns: &[Lpn], to: Seg, first: u32) {
        let (Some(&lowest), Some(&highest)) = (slots.first(), slots.last()) else { return };
        let start = self.ppn(to, first).0;
        let holders = &mut self.p2l[start as usize..start as usize + lpns.len()];
        for (index, (lpn, holder)) in lpns.iter().zip(holders).enumerate() {
            *holder = lpn.0;
            self.l2p[lpn.0 as usize] = start + index as u32;
        }
        let words = self.words_per_segment as usize;
        let victim = &mut self.live[from.index() * words..(from.index() + 1) * words];
        let mut moved = 0;
        for (word, mask) in masks(lowest, highest) {
            moved += (victim[word] & mask).count_ones();
            victim[word] &= !mask;
        }
        assert!(moved as usize == lpns.len(), "a run is all that lives between its first and last slot");
        let taken = &mut self.live[to.index() * words..(to.index() + 1) * words];
        for (word, mask) in masks(first, first + lpns.len() as u32 - 1) {
            taken[word] |= mask;
        }
    }

    /// The word that holds the live bit of a page.
    #[inline]
    pub(crate) fn live_word(&self, ppn: Ppn) -> u64 {
        let seg = self.segment_of(ppn);
        self.live[self.live_bit(seg, ppn.0 - seg.0 * self.slots).0]
    }

    /// Reads the map entries of `pages` so that they are near when the pages are written. The loads do not
    /// depend on each other, so their cache misses overlap, which those of the writes would not.
    #[inline]
    pub(crate) fn fetch(&self, pages: &[Lpn]) {
        let sum = pages.iter().fold(0_u32, |sum, lpn| sum.wrapping_add(self.l2p[lpn.0 as usize]));
        core::hint::black_box(sum);
    }

    /// Bytes the tables take.
    pub(crate) fn table_bytes(&self) -> u64 {
        (self.l2p.len() as u64 + self.p2l.len() as u64) * 4 + self.live.len() as u64 * 8
    }
}

/// The words that hold bits `first` to `last`, each with the mask of those that it holds.
#[inline]
fn masks(first: u32, last: u32) -> impl Iterator<Item = (usize, u64)> {
    (first / 64..=last / 64).map(move |word| {
        let from = if word == first / 64 { first % 64 } else { 0 };
        let to = if word == last / 64 { last % 64 } else { 63 };
        (word as usize, (u64::MAX << from) & (u64::MAX >> (63 - to)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(map: &Map, seg: Seg, from: u32, most: usize) -> Vec<(u32, u32)> {
        let (mut slots, mut lpns) = (vec![0; most], vec![Lpn(0); most]);
        let found = map.gather_live(seg, from, &mut slots, &mut lpns);
        slots.into_iter().zip(lpns.into_iter().map(|lpn| lpn.0)).take(found).collect()
    }

    #[test]
    fn live_pages_are_found_in_order_and_moved() {
        let mut map = Map::new(100, 3, 70);
        for (lpn, slot) in [(5, 0), (6, 63), (7, 64), (8, 69)] {
            map.bind(Lpn(lpn), Seg(1), slot);
        }
        assert_eq!(live(&map, Seg(1), 0, 9), [(0, 5), (63, 6), (64, 7), (69, 8)]);
        assert_eq!(live(&map, Seg(1), 1, 2), [(63, 6), (64, 7)]);
        assert_eq!(map.release(map.lookup(Lpn(7))), Seg(1));
        assert_eq!(live(&map, Seg(1), 64, 9), [(69, 8)]);
        assert_eq!((live(&map, Seg(0), 0, 9), live(&map, Seg(2), 0, 9)), (vec![], vec![]));
        assert_eq!(map.live_pages(), 3);
        map.move_run(Seg(1), &[63, 69], &[Lpn(6), Lpn(8)], Seg(2), 62);
        assert_eq!(live(&map, Seg(1), 0, 9), [(0, 5)]);
        assert_eq!(live(&map, Seg(2), 0, 9), [(62, 6), (63, 8)]);
        assert_eq!(map.lookup(Lpn(8)), map.ppn(Seg(2), 63));
        assert_eq!(map.live_pages(), 3);
    }
}
