//! Which places of primary blocks can still be programmed (`primary-replacement`).

use alloc::vec::Vec;
use core::ops::Range;

use wearwell_flash::ProgramOrder;

use super::addr::Lbn;
use super::map::{Bits, list};
use super::pages::PagesShape;
use crate::addr::Lpn;

/// Places of primary blocks that have been programmed, or must not be. The bits go by logical block, so they are those
/// of the primary block that it has.
///
/// No other scheme programs pages in place, and there are no bits then.
#[derive(Debug)]
pub(super) struct InPlace {
    programmed: Bits,
    /// Primary blocks whose last group of pages is not full.
    unpadded: Vec<Lbn>,
    is_used: bool,
    blocks: u32,
    shape: PagesShape,
}

impl InPlace {
    pub(super) fn new(is_used: bool, blocks: u32, shape: PagesShape) -> Self {
        let programmed = Bits::new(if is_used { blocks * shape.pages } else { 0 });
        Self { programmed, unpadded: Vec::new(), is_used, blocks, shape }
    }

    /// True if data blocks take pages in place.
    pub(super) fn is_used(&self) -> bool {
        self.is_used
    }

    fn places_of(&self, lbn: Lbn) -> Range<u32> {
        lbn.0 * self.shape.pages..(lbn.0 + 1) * self.shape.pages
    }

    /// True if a page's own place in its primary block can be programmed.
    pub(super) fn can_program(&self, lbn: Lbn, offset: u32) -> bool {
        let places = self.places_of(lbn);
        match self.order() {
            ProgramOrder::Any => !self.programmed.get(Lpn(places.start + offset)),
            // A page behind this one that is programmed rules it out, too.
            ProgramOrder::Ascending => self.programmed.count(places.start + offset..places.end) == 0,
        }
    }

    /// True if any page of a primary block can be programmed in its place.
    pub(super) fn has_room(&self, lbn: Lbn) -> bool {
        self.is_used && (0..self.shape.pages).any(|page| self.can_program(lbn, page))
    }

    /// Pages that share cells are programmed in order, so that a group can be filled before it matters.
    fn order(&self) -> ProgramOrder {
        if self.shape.group == 1 { self.shape.order } else { ProgramOrder::Ascending }
    }

    /// Places of a logical block that are programmed.
    pub(super) fn programmed_in(&self, lbn: Lbn) -> u32 {
        self.programmed.count(self.places_of(lbn))
    }

    /// The place behind the last one that is programmed.
    pub(super) fn end_of(&self, lbn: Lbn) -> u32 {
        let places = self.places_of(lbn);
        let last = places.clone().rev().find(|&place| self.programmed.get(Lpn(place)));
        last.map_or(0, |last| last + 1 - places.start)
    }

    /// Notes whether a place is programmed.
    pub(super) fn set(&mut self, lbn: Lbn, offset: u32, is_programmed: bool) {
        self.programmed.set(Lpn(lbn.0 * self.shape.pages + offset), is_programmed);
    }

    /// The host's page was programmed in its place.
    pub(super) fn fill(&mut self, lbn: Lbn, offset: u32) {
        self.set(lbn, offset, true);
        if self.shape.group > 1 {
            list(&mut self.unpadded, lbn, self.blocks);
        }
    }

    /// A logical block has an erased primary block.
    pub(super) fn open(&mut self, lbn: Lbn) {
        self.programmed.set_all(self.places_of(lbn), false);
    }

    /// A primary block takes no further pages in place.
    pub(super) fn close(&mut self, lbn: Lbn) {
        if self.is_used {
            self.programmed.set_all(self.places_of(lbn), true);
        }
    }

    /// Takes one of the primary blocks whose last group of pages is not full.
    pub(super) fn take_unpadded(&mut self) -> Option<Lbn> {
        self.unpadded.pop()
    }

    pub(super) fn table_bytes(&self) -> u64 {
        self.programmed.bytes()
    }
}
