//! The two maps of a block-mapped device: one of blocks, and one of the pages that lie in log blocks.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::addr::Lbn;
use crate::addr::{Divider, Lpn, Ppn, Seg};

/// A bit for every logical page.
#[derive(Debug, Clone)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn new(bits: u32) -> Self {
        Self(vec![0; bits.div_ceil(64) as usize])
    }

    pub(super) fn bytes(&self) -> u64 {
        self.0.len() as u64 * 8
    }

    #[inline]
    pub(super) fn get(&self, lpn: Lpn) -> bool {
        self.0[lpn.0 as usize / 64] >> (lpn.0 % 64) & 1 == 1
    }

    /// Sets or clears a bit. Returns what it was.
    #[inline]
    pub(super) fn set(&mut self, lpn: Lpn, value: bool) -> bool {
        let (word, bit) = (&mut self.0[lpn.0 as usize / 64], 1 << (lpn.0 % 64));
        let was = *word & bit != 0;
        *word = if value { *word | bit } else { *word & !bit };
        was
    }

    pub(super) fn set_all(&mut self, range: Range<u32>, value: bool) {
        range.for_each(|lpn| {
            self.set(Lpn(lpn), value);
        });
    }

    /// Bits set in a range.
    pub(super) fn count(&self, range: Range<u32>) -> u32 {
        let (mut from, mut count) = (range.start, 0);
        while from < range.end {
            let to = range.end.min((from / 64 + 1) * 64);
            // These are 1 to 64 bits of a word, so neither shift reaches 64.
            let mask = (u64::MAX >> (64 - (to - from))) << (from % 64);
            count += (self.0[from as usize / 64] & mask).count_ones();
            from = to;
        }
        count
    }
}

/// Lists one of `blocks` logical blocks. It may be in the list several times, but that never has more than twice as
/// many entries as there are.
pub(super) fn list(listed: &mut Vec<Lbn>, lbn: Lbn, blocks: u32) {
    // At least half of such a list are duplicates, so two sorts are at least `blocks` entries apart.
    if listed.len() >= 2 * blocks as usize {
        // No one who takes entries out depends on their order.
        listed.sort_unstable();
        listed.dedup();
    }
    // Mostly it is the same one as before.
    if listed.last() != Some(&lbn) {
        listed.push(lbn);
    }
}

const NONE: u32 = u32::MAX;

/// Where every logical page is.
///
/// Invariants:
/// - a page with an entry in the overlay of its logical block lies there; one without lies in the data block at its
///   own offset, if its bit in `mapped` is set; otherwise it is nowhere;
/// - a page with an entry in an overlay has its bit in `mapped` set;
/// - `live_pages` is the number of bits set.
#[derive(Debug, Clone)]
pub(super) struct BlockMap {
    pages: Divider,
    pages_per_block: u32,
    logical_pages: u32,
    /// Data block by logical block.
    data: Vec<u32>,
    /// A bit for every logical page.
    mapped: Bits,
    live_pages: u64,
    /// Overlay by logical block.
    overlay_of: Vec<u32>,
    /// For each overlay, the place of every page of its logical block, and behind them that of its discard record.
    places: Vec<Ppn>,
    unused_overlays: Vec<u32>,
}

impl BlockMap {
    /// A map without a page in it, of at most so many logical blocks with pages in log blocks.
    pub(super) fn new(logical_pages: u32, pages_per_block: u32, overlays: u32) -> Self {
        let blocks = logical_pages.div_ceil(pages_per_block) as usize;
        Self {
            pages: Divider::new(pages_per_block),
            pages_per_block,
            logical_pages,
            data: vec![NONE; blocks],
            mapped: Bits::new(logical_pages),
            live_pages: 0,
            overlay_of: vec![NONE; blocks],
            places: vec![Ppn::NONE; overlays as usize * (pages_per_block as usize + 1)],
            unused_overlays: (0..overlays).rev().collect(),
        }
    }

    /// Takes over the data blocks, and what is mapped, of another map of the same device.
    pub(super) fn take_blocks_of(&mut self, other: &Self) {
        self.data.clone_from(&other.data);
        self.mapped.clone_from(&other.mapped);
        self.live_pages = other.live_pages;
    }

    pub(super) fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    pub(super) fn blocks(&self) -> u32 {
        self.data.len() as u32
    }

    pub(super) fn live_pages(&self) -> u64 {
        self.live_pages
    }

    pub(super) fn table_bytes(&self) -> u64 {
        let words = self.data.len() + self.overlay_of.len() + self.places.len() + self.unused_overlays.capacity();
        words as u64 * 4 + self.mapped.bytes()
    }

    /// The logical block of a page, and the page's offset in it.
    #[inline]
    pub(super) fn split(&self, lpn: Lpn) -> (Lbn, u32) {
        let block = self.pages.quotient(lpn.0);
        (Lbn(block), lpn.0 - block * self.pages_per_block)
    }

    /// The page at an offset of a logical block; beyond the device for some of the last block's.
    pub(super) fn join(&self, lbn: Lbn, offset: u32) -> Lpn {
        Lpn(lbn.0 * self.pages_per_block + offset)
    }

    /// Pages that a logical block has: all but the last have a whole block of them.
    pub(super) fn pages_of(&self, lbn: Lbn) -> u32 {
        (self.logical_pages - lbn.0 * self.pages_per_block).min(self.pages_per_block)
    }

    /// The logical pages of a logical block.
    pub(super) fn range(&self, lbn: Lbn) -> Range<u32> {
        let first = lbn.0 * self.pages_per_block;
        first..first + self.pages_of(lbn)
    }

    pub(super) fn data(&self, lbn: Lbn) -> Option<Seg> {
        Some(Seg(self.data[lbn.index()])).filter(|seg| seg.0 != NONE)
    }

    /// Logical blocks that have pages in log blocks, but no data block.
    pub(super) fn without_data(&self) -> u32 {
        self.data.iter().zip(&self.overlay_of).filter(|&(&data, &overlay)| data == NONE && overlay != NONE).count()
            as u32
    }

    /// True if a logical block has neither a data block nor pages in log blocks.
    pub(super) fn is_nowhere(&self, lbn: Lbn) -> bool {
        self.data(lbn).is_none() && !self.has_overlay(lbn)
    }

    pub(super) fn set_data(&mut self, lbn: Lbn, seg: Option<Seg>) {
        self.data[lbn.index()] = seg.map_or(NONE, |seg| seg.0);
    }

    #[inline]
    pub(super) fn is_mapped(&self, lpn: Lpn) -> bool {
        self.mapped.get(lpn)
    }

    #[inline]
    pub(super) fn set_mapped(&mut self, lpn: Lpn, mapped: bool) {
        let was = self.mapped.set(lpn, mapped);
        self.live_pages = self.live_pages + u64::from(mapped) - u64::from(was);
    }

    /// Mapped pages of a logical block.
    pub(super) fn mapped_in(&self, lbn: Lbn) -> u32 {
        self.mapped.count(self.range(lbn))
    }

    /// Where a page lies; nowhere if it is unmapped.
    #[inline]
    pub(super) fn lookup(&self, lpn: Lpn) -> Ppn {
        if !self.is_mapped(lpn) {
            return Ppn::NONE;
        }
        let (lbn, offset) = self.split(lpn);
        let logged = self.logged(lbn, offset);
        // If it lies in no log block, there is a data block: see the invariants.
        if logged.is_some() { logged } else { Ppn(self.data[lbn.index()] * self.pages_per_block + offset) }
    }

    /// Where an offset of a logical block lies in a log block, if it does. The offset behind the last page is the
    /// discard record's.
    #[inline]
    pub(super) fn logged(&self, lbn: Lbn, offset: u32) -> Ppn {
        let overlay = self.overlay_of[lbn.index()];
        if overlay == NONE { Ppn::NONE } else { self.places[self.slot(overlay, offset)] }
    }

    /// Entries that a logical block has in log blocks, that of its discard record among them.
    pub(super) fn logged_in(&self, lbn: Lbn) -> u32 {
        (0..=self.pages_per_block).filter(|&offset| self.logged(lbn, offset).is_some()).count() as u32
    }

    pub(super) fn has_overlay(&self, lbn: Lbn) -> bool {
        self.overlay_of[lbn.index()] != NONE
    }

    /// Notes that an offset of a logical block lies in a log block now, or no longer. Returns where it lay before.
    #[inline]
    pub(super) fn set_logged(&mut self, lbn: Lbn, offset: u32, at: Ppn) -> Ppn {
        let mut overlay = self.overlay_of[lbn.index()];
        if overlay == NONE {
            if !at.is_some() {
                // There is nothing to forget. An overlay that is made for that might be one too many.
                return Ppn::NONE;
            }
            overlay = self.new_overlay(lbn);
        }
        let slot = self.slot(overlay, offset);
        core::mem::replace(&mut self.places[slot], at)
    }

    #[cold]
    fn new_overlay(&mut self, lbn: Lbn) -> u32 {
        let overlay = self.unused_overlays.pop();
        assert!(overlay.is_some(), "there are overlays for as many logical blocks as log blocks can serve");
        let overlay = overlay.unwrap_or(NONE);
        self.overlay_of[lbn.index()] = overlay;
        overlay
    }

    /// Takes the overlay of a logical block away, and hands out every place that was in it.
    pub(super) fn clear_overlay(&mut self, lbn: Lbn, mut left: impl FnMut(Ppn)) {
        let overlay = core::mem::replace(&mut self.overlay_of[lbn.index()], NONE);
        if overlay == NONE {
            return;
        }
        let slots = self.slot(overlay, 0)..self.slot(overlay + 1, 0);
        for place in &mut self.places[slots] {
            if place.is_some() {
                // `new_overlay` hands them out with nothing in them.
                left(core::mem::replace(place, Ppn::NONE));
            }
        }
        self.unused_overlays.push(overlay);
    }

    fn slot(&self, overlay: u32, offset: u32) -> usize {
        // One place more than there are pages: the last is that of the discard record.
        overlay as usize * (self.pages_per_block as usize + 1) + offset as usize
    }
}
