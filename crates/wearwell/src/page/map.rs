//! The translation table (Kawaguchi '95, section 2.6; Chiang '97, section 3.3) and its inverse.
//!
//! [`PageMap`] is the seam: everything that the running engine asks of a map. [`FlatMap`] answers from arrays in
//! memory. The seam also allows for a map that has to read flash to answer. So every question can fail and may use the
//! log. And pages are asked for in batches, those of a victim or of a run, so that such a map can read each of its
//! pages once. For the flat map the same batches overlap the cache misses of its look-ups.

use alloc::vec;
use alloc::vec::Vec;

use super::log::Log;
use crate::addr::{Lpn, Ppn, Seg, Slots};
use crate::fetch::fetch;
use crate::ftl::FtlError;

/// The place of every logical page, and the content of every physical page.
///
/// A map changes only through [`Index`](super::index::Index), which keeps the counts of valid pages in step with it.
pub(super) trait PageMap<L: Log> {
    /// The place of `lpn`; none if it is unmapped.
    ///
    /// # Errors
    /// Those of the log, if the answer has to be read.
    fn lookup(&mut self, log: &mut L, lpn: Lpn) -> Result<Ppn, FtlError>;

    /// Points `lpn` to `to`, which holds nothing live. `old` is its place until now, or none.
    ///
    /// # Errors
    /// As [`lookup`](Self::lookup); then nothing has changed.
    fn rebind(&mut self, log: &mut L, lpn: Lpn, old: Ppn, to: Ppn) -> Result<(), FtlError>;

    /// Forgets `lpn`, which lies at `old`.
    ///
    /// # Errors
    /// As [`rebind`](Self::rebind).
    fn unmap(&mut self, log: &mut L, lpn: Lpn, old: Ppn) -> Result<(), FtlError>;

    /// Finds live slots of `seg` from `from` on, in order, with their logical pages, as many as fit into `slots` and
    /// `lpns`. Returns their number.
    ///
    /// # Errors
    /// As [`lookup`](Self::lookup).
    fn gather_live(
        &mut self,
        log: &mut L,
        seg: Seg,
        from: u32,
        slots: &mut [u32],
        lpns: &mut [Lpn],
    ) -> Result<usize, FtlError>;

    /// Points `lpns` to consecutive slots of `to` from `first` on, which hold nothing live. They must be all live pages
    /// of `from` between the first and the last of `slots`.
    ///
    /// # Errors
    /// As [`rebind`](Self::rebind).
    fn move_run(
        &mut self,
        log: &mut L,
        from: Seg,
        slots: &[u32],
        lpns: &[Lpn],
        to: Seg,
        first: u32,
    ) -> Result<(), FtlError>;

    /// Logical pages mapped.
    fn live_pages(&self) -> u64;

    /// Bytes that the tables take.
    fn table_bytes(&self) -> u64;
}

/// Pages whose map entries the caches of a large processor hold, 4 MiB. To read those ahead would take longer than it
/// saves (docs/performance.md).
const CACHED_PAGES: usize = 1 << 20;

/// The map as flat arrays: four bytes a page in each direction, and a bit for each live page.
///
/// Invariant: for every logical page l with p = `l2p[l]` mapped, `p2l[p] = l` and p's live bit is set; no other live
/// bit is set. `p2l` of a page whose live bit is clear is stale and means nothing.
#[derive(Debug, Clone)]
pub(super) struct FlatMap {
    l2p: Vec<u32>,
    p2l: Vec<u32>,
    live: Vec<u64>,
    live_pages: u64,
    slots: Slots,
}

impl FlatMap {
    pub(super) fn new(logical_pages: u32, segments: u32, slots: Slots) -> Self {
        let pages = segments as usize * slots.per_segment() as usize;
        Self {
            l2p: vec![Ppn::NONE.0; logical_pages as usize],
            p2l: vec![0; pages],
            live: vec![0; pages.div_ceil(64)],
            live_pages: 0,
            slots,
        }
    }

    pub(super) fn logical_pages(&self) -> u32 {
        self.l2p.len() as u32
    }

    /// The place of `lpn`.
    #[inline]
    pub(super) fn place_of(&self, lpn: Lpn) -> Ppn {
        Ppn(self.l2p[lpn.0 as usize])
    }

    /// Points `lpn` to `to`, which holds nothing live. `old` is its place until now, or none.
    #[inline(always)]
    pub(super) fn point(&mut self, lpn: Lpn, old: Ppn, to: Ppn) {
        if old.is_some() {
            self.clear(old)
        } else {
            self.live_pages += 1
        }
        let (word, bit) = live_bit(to);
        debug_assert_eq!(self.live[word] & bit, 0, "a page holds one logical page");
        self.live[word] |= bit;
        self.l2p[lpn.0 as usize] = to.0;
        self.p2l[to.0 as usize] = lpn.0;
    }

    /// Forgets `lpn`, which lies at `old`.
    pub(super) fn forget(&mut self, lpn: Lpn, old: Ppn) {
        self.clear(old);
        self.live_pages -= 1;
        self.l2p[lpn.0 as usize] = Ppn::NONE.0;
    }

    /// [`PageMap::gather_live`], without a log. It also [fetches](Self::fetch) the map entries of the pages, so that
    /// they are in the cache when the pages are moved. Each loop does one thing, so that as many of its loads as
    /// possible overlap.
    #[inline]
    pub(super) fn live_in(&self, seg: Seg, from: u32, slots: &mut [u32], lpns: &mut [Lpn]) -> usize {
        let most = slots.len().min(lpns.len());
        let found = self.live_slots(seg, from, &mut slots[..most]);
        let (slots, lpns) = (&slots[..found], &mut lpns[..found]);
        let first = self.slots.page(seg, 0).0 as usize;
        let holders = &self.p2l[first..first + self.slots.per_segment() as usize];
        for (&slot, lpn) in slots.iter().zip(lpns.iter_mut()) {
            *lpn = Lpn(holders[slot as usize]);
        }
        self.fetch(lpns);
        found
    }

    /// The live slots of a segment from `from` on, as many as fit.
    #[inline]
    fn live_slots(&self, seg: Seg, from: u32, slots: &mut [u32]) -> usize {
        let base = self.slots.page(seg, 0).0;
        let mut found = 0;
        for (index, mask) in masks(base + from, base + self.slots.per_segment() - 1) {
            let mut word = self.live[index] & mask;
            // Slots of the segment, and before its first one the numbers wrap.
            let first = (index as u32 * 64).wrapping_sub(base);
            while word != 0 {
                let Some(slot) = slots.get_mut(found) else { return found };
                *slot = first.wrapping_add(word.trailing_zeros());
                found += 1;
                word &= word - 1;
            }
        }
        found
    }

    /// [`PageMap::move_run`], without a log.
    #[inline]
    fn shift_run(&mut self, from: Seg, slots: &[u32], lpns: &[Lpn], to: Seg, first: u32) {
        let (Some(&lowest), Some(&highest)) = (slots.first(), slots.last()) else { return };
        let start = self.slots.page(to, first).0;
        let holders = &mut self.p2l[start as usize..start as usize + lpns.len()];
        for (index, (lpn, holder)) in lpns.iter().zip(holders).enumerate() {
            *holder = lpn.0;
            self.l2p[lpn.0 as usize] = start + index as u32;
        }
        let mut moved = 0;
        // A run is all that lives between its ends, so the bits are cleared by words and not one by one.
        for (word, mask) in masks(self.slots.page(from, lowest).0, self.slots.page(from, highest).0) {
            moved += (self.live[word] & mask).count_ones();
            self.live[word] &= !mask;
        }
        assert!(moved as usize == lpns.len(), "a run is all that lives between its first and last slot");
        for (word, mask) in masks(start, start + lpns.len() as u32 - 1) {
            self.live[word] |= mask;
        }
    }

    /// The word that holds the live bit of a page.
    #[inline]
    pub(super) fn live_word(&self, at: Ppn) -> u64 {
        self.live[live_bit(at).0]
    }

    /// Reads the map entries that writes of `pages` will need, unless the caches hold all of them anyway.
    #[inline]
    pub(super) fn fetch(&self, pages: &[Lpn]) {
        if self.l2p.len() > CACHED_PAGES {
            fetch(&self.l2p, pages);
        }
    }

    #[inline]
    fn clear(&mut self, at: Ppn) {
        let (word, bit) = live_bit(at);
        debug_assert_ne!(self.live[word] & bit, 0, "only a live page can be released");
        self.live[word] &= !bit;
    }
}

impl<L: Log> PageMap<L> for FlatMap {
    #[inline(always)]
    fn lookup(&mut self, _log: &mut L, lpn: Lpn) -> Result<Ppn, FtlError> {
        Ok(self.place_of(lpn))
    }

    #[inline(always)]
    fn rebind(&mut self, _log: &mut L, lpn: Lpn, old: Ppn, to: Ppn) -> Result<(), FtlError> {
        self.point(lpn, old, to);
        Ok(())
    }

    fn unmap(&mut self, _log: &mut L, lpn: Lpn, old: Ppn) -> Result<(), FtlError> {
        self.forget(lpn, old);
        Ok(())
    }

    #[inline]
    fn gather_live(
        &mut self,
        _log: &mut L,
        seg: Seg,
        from: u32,
        slots: &mut [u32],
        lpns: &mut [Lpn],
    ) -> Result<usize, FtlError> {
        Ok(self.live_in(seg, from, slots, lpns))
    }

    #[inline]
    fn move_run(
        &mut self,
        _log: &mut L,
        from: Seg,
        slots: &[u32],
        lpns: &[Lpn],
        to: Seg,
        first: u32,
    ) -> Result<(), FtlError> {
        self.shift_run(from, slots, lpns, to, first);
        Ok(())
    }

    fn live_pages(&self) -> u64 {
        self.live_pages
    }

    fn table_bytes(&self) -> u64 {
        (self.l2p.len() as u64 + self.p2l.len() as u64) * 4 + self.live.len() as u64 * 8
    }
}

/// The word of the live bit of a page, and the bit in it. Segments follow one another without a gap, so that no page
/// has to be divided for it.
#[inline]
fn live_bit(at: Ppn) -> (usize, u64) {
    ((at.0 / 64) as usize, 1 << (at.0 % 64))
}

/// The words that hold bits `first` to `last`, each with the mask of its bits.
#[inline]
fn masks(first: u32, last: u32) -> impl Iterator<Item = (usize, u64)> {
    // An inclusive range would take more instructions a word.
    (first / 64..last / 64 + 1).map(move |word| {
        let from = if word == first / 64 { first % 64 } else { 0 };
        let to = if word == last / 64 { last % 64 } else { 63 };
        // No shift reaches 64, which would overflow: `from` and `to` are at most 63.
        (word as usize, (u64::MAX << from) & (u64::MAX >> (63 - to)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(map: &FlatMap, seg: Seg, from: u32, most: usize) -> Vec<(u32, u32)> {
        let (mut slots, mut lpns) = (vec![0; most], vec![Lpn(0); most]);
        let found = map.live_in(seg, from, &mut slots, &mut lpns);
        slots.into_iter().zip(lpns.into_iter().map(|lpn| lpn.0)).take(found).collect()
    }

    #[test]
    fn live_pages_are_found_in_order_and_moved() {
        let slots = Slots::new(70);
        let mut map = FlatMap::new(100, 3, slots);
        for (lpn, slot) in [(5, 0), (6, 63), (7, 64), (8, 69)] {
            map.point(Lpn(lpn), Ppn::NONE, slots.page(Seg(1), slot));
        }
        assert_eq!(live(&map, Seg(1), 0, 9), [(0, 5), (63, 6), (64, 7), (69, 8)]);
        assert_eq!(live(&map, Seg(1), 1, 2), [(63, 6), (64, 7)]);
        map.forget(Lpn(7), map.place_of(Lpn(7)));
        assert_eq!(live(&map, Seg(1), 64, 9), [(69, 8)]);
        assert_eq!((live(&map, Seg(0), 0, 9), live(&map, Seg(2), 0, 9)), (vec![], vec![]));
        assert_eq!(map.live_pages, 3);
        map.shift_run(Seg(1), &[63, 69], &[Lpn(6), Lpn(8)], Seg(2), 62);
        assert_eq!(live(&map, Seg(1), 0, 9), [(0, 5)]);
        assert_eq!(live(&map, Seg(2), 0, 9), [(62, 6), (63, 8)]);
        assert_eq!(map.place_of(Lpn(8)), slots.page(Seg(2), 63));
        assert_eq!(map.live_pages, 3);
    }
}
