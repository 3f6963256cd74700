//! The discard map: records on flash which logical pages are unmapped, in pages of the engine's own.
//!
//! A page of it, a *part*, holds a bit for each of `8 × page_bytes` logical pages. The bit is set if the logical page
//! is unmapped when the part is written. A copy that is older than a part which calls its page unmapped is dead. Parts
//! are numbered behind the host's pages. Like these, they are superseded by newer ones and moved by cleaning, and they
//! never expire.
//!
//! A part also says which pages are *not* unmapped. If a mount finds no copy of such a page, it is lost. So parts that
//! do not know of all mapped pages are written at a clean shutdown.

use alloc::vec;
use alloc::vec::Vec;

use super::allocator::Allocator;
use super::config::covered_pages;
use super::log::Log;
use super::map::PageMap;
use crate::addr::{Class, Lpn};
use crate::bits;
use crate::clean::which::VictimChoice;
use crate::ftl::{FtlError, Probe};
use crate::place::PlaceChoice;

/// The class of parts.
const CLASS: Class = Class(0);

/// The parts that have changed since they were last written. Invariants: `dirty_parts` is the number of parts that are
/// set in `is_dirty`; a part that is not in `has_grown` is on flash and calls no page unmapped that is mapped.
///
/// A device whose layout has no discard map has no parts.
#[derive(Debug)]
pub(super) struct DiscardMap {
    is_dirty: Vec<bool>,
    dirty_parts: u32,
    has_grown: Vec<bool>,
    logical_pages: u32,
    covered_pages: u32,
    /// A part as bytes; empty if bytes are only counted.
    bytes: Vec<u8>,
}

impl DiscardMap {
    pub(super) fn new(logical_pages: u32, parts: u32, page_bytes: u32, stores: bool) -> Self {
        Self {
            is_dirty: vec![false; parts as usize],
            dirty_parts: 0,
            has_grown: vec![false; parts as usize],
            logical_pages,
            covered_pages: covered_pages(page_bytes),
            bytes: vec![0; if stores { page_bytes as usize } else { 0 }],
        }
    }

    /// Parts, each a page.
    pub(super) fn parts(&self) -> u32 {
        self.is_dirty.len() as u32
    }

    /// Logical pages of the host. Parts are numbered from there on.
    pub(super) fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    /// The page that holds a part.
    pub(super) fn page_of(&self, part: u32) -> Lpn {
        Lpn(self.logical_pages + part)
    }

    /// The part in a page of the engine's own; none for a host page.
    pub(super) fn part_in(&self, lpn: Lpn) -> Option<u32> {
        lpn.0.checked_sub(self.logical_pages)
    }

    /// The part that covers a host page, if there is a discard map.
    pub(super) fn part_for(&self, lpn: Lpn) -> Option<u32> {
        (!self.is_dirty.is_empty()).then(|| lpn.0 / self.covered_pages)
    }

    /// The host pages that a part covers, in the order of its bits.
    pub(super) fn covered_by(&self, part: u32) -> impl Iterator<Item = Lpn> + use<> {
        let first = part * self.covered_pages;
        (first..self.logical_pages.min(first + self.covered_pages)).map(Lpn)
    }

    pub(super) fn is_dirty(&self, part: u32) -> bool {
        self.is_dirty[part as usize]
    }

    #[inline]
    pub(super) fn dirty_parts(&self) -> u32 {
        self.dirty_parts
    }

    /// Marks a part that differs from the one on flash, or that cannot be read there.
    pub(super) fn mark_dirty(&mut self, part: u32) {
        if !core::mem::replace(&mut self.is_dirty[part as usize], true) {
            self.dirty_parts += 1;
        }
    }

    /// Notes that the part on flash, if there is one, may call a page unmapped that is mapped.
    #[inline]
    pub(super) fn note_growth(&mut self, part: u32) {
        self.has_grown[part as usize] = true;
    }

    /// The next part that does not know of all mapped pages.
    pub(super) fn next_grown(&self) -> Option<u32> {
        self.has_grown.iter().position(|&grown| grown).map(|part| part as u32)
    }

    /// Writes a dirty part into a class that has room. It stays dirty if the program fails.
    pub(super) fn put<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice>(
        &mut self,
        part: u32,
        class: Class,
        alloc: &mut Allocator<L, P, M, V, W>,
    ) -> Result<(), FtlError> {
        debug_assert!(self.is_dirty(part), "what has not changed is not written");
        self.fill(part, alloc)?;
        if alloc.put(self.page_of(part), class, &self.bytes)? {
            alloc.stats_mut().meta_programs += 1;
            self.is_dirty[part as usize] = false;
            // `fill` has just read the map, so the part knows of all mapped pages.
            self.has_grown[part as usize] = false;
            self.dirty_parts -= 1;
            alloc.note_turn(class);
        }
        Ok(())
    }

    /// Writes a part as a copy, if it is dirty.
    pub(super) fn write_part<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice>(
        &mut self,
        part: u32,
        alloc: &mut Allocator<L, P, M, V, W>,
    ) -> Result<(), FtlError> {
        // A program that fails leaves the part dirty, and costs its segment or a slot. So the loop ends with a slot
        // that takes the part, or with none left.
        while self.is_dirty(part) {
            let class = alloc.slot_for_copy(CLASS)?;
            self.put(part, class, alloc)?;
        }
        Ok(())
    }

    /// Writes the dirty parts as copies. This comes before the erase of a segment that held pages which they call
    /// unmapped. There are slots for them (see `Cleaner`), so it fails only behind failures of the chip.
    ///
    /// Open segments are padded first. A page that was discarded and written again is mapped, so the new part does not
    /// call it unmapped. If a cut destroyed that write but not the part, the discarded content would come back.
    pub(super) fn write_for_erase<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice>(
        &mut self,
        alloc: &mut Allocator<L, P, M, V, W>,
    ) -> Result<(), FtlError> {
        if self.dirty_parts == 0 {
            return Ok(());
        }
        alloc.pad_open()?;
        debug_assert!(alloc.slots_for_copies() >= self.dirty_parts || alloc.may_lack_slots(), "dirty parts have slots");
        (0..self.parts()).try_for_each(|part| self.write_part(part, alloc))
    }

    /// Fills the bytes of a part from the map. A lost page does not count as unmapped: a later mount finds no copy of
    /// it and takes it for lost again (Spec P8).
    fn fill<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice>(
        &mut self,
        part: u32,
        alloc: &mut Allocator<L, P, M, V, W>,
    ) -> Result<(), FtlError> {
        self.bytes.fill(0);
        // Where bytes are only counted, there is nothing to fill.
        if self.bytes.is_empty() {
            return Ok(());
        }
        for (bit, lpn) in self.covered_by(part).enumerate() {
            if !alloc.lookup(lpn)?.is_some() && !alloc.index().lost().contains(lpn) {
                bits::set(&mut self.bytes, bit);
            }
        }
        Ok(())
    }
}

/// True if bit `bit` of a part as it was read says that its page is unmapped.
pub(super) fn is_unmapped(part: &[u8], bit: usize) -> bool {
    bits::is_set(part, bit)
}
