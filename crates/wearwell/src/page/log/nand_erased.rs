//! What an erase that was cut has left of a segment on NAND.
//!
//! It may leave each page as it was, erased, unreadable, or readable for now. Decay only ever makes a page unreadable.

use wearwell_flash::{ErrorKind, Nand};

use super::SegmentScan;
use super::nand::NandLog;
use super::nand_groups::TagPlace;
use super::payload::Payload;
use super::tag::is_erased;
use crate::addr::Seg;

/// The states of a segment's slots.
#[derive(Debug, Clone, Copy, Default)]
struct SlotStates {
    /// The slot after the last that is not erased.
    programmed: u32,
    /// The first slot that cannot be read.
    unreadable: Option<u32>,
    /// A slot is erased before one that is not.
    is_erased_between: bool,
}

impl<N: Nand, B: Payload, T: TagPlace> NandLog<N, B, T> {
    /// True if something that was programmed is gone: an erase was cut, or a page has decayed.
    pub(super) fn is_erased_in_part(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        // The header is in the block that is erased first. But a cut erase may leave each page of a block in another
        // state, so the slots are checked too.
        if self.read_header(seg)?.is_none() {
            return Ok(true);
        }
        let slots = self.read_slots(seg)?;
        let is_torn = slots.unreadable.is_some_and(|slot| slot < self.layout.suspects_behind(slots.programmed));
        Ok(slots.is_erased_between || is_torn || self.is_summary_behind(seg, slots.programmed)?)
    }

    /// True if slots from `programmed` on read as erased, though a summary is behind them that names more.
    fn is_summary_behind(&mut self, seg: Seg, programmed: u32) -> Result<bool, ErrorKind> {
        // Where no slot is missing the summary has nothing to contradict, so it is not read.
        if programmed >= self.layout.slots {
            return Ok(false);
        }
        // One that cannot be read shows nothing: a block that is gone as a whole may have been erased there.
        let mut scan = SegmentScan::default();
        Ok(self.read_summary(seg, &mut scan)? && scan.tags.len() > programmed as usize)
    }

    /// True if the erase of a segment has certainly begun: something reads as erased in front of what was programmed,
    /// or nothing can be read of the block that is erased first. Pages that decay leave the former never, and the
    /// latter only if it is every page of that block.
    pub(super) fn shows_cut_erase(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        let slots = self.read_slots(seg)?;
        if slots.is_erased_between || self.is_summary_behind(seg, slots.programmed)? {
            return Ok(true);
        }
        match self.read_tag(self.address(seg, 0), false) {
            // A segment that is erased throughout holds nothing that could tell of an erase.
            Ok(tag) => Ok(is_erased(&tag) && slots.programmed > 0),
            Err(ErrorKind::Uncorrectable) => self.is_first_block_gone(seg),
            Err(error) => Err(error),
        }
    }

    /// True if no page of the block that is erased first can be read.
    fn is_first_block_gone(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        // Pages of a stripe go round its dies, so each of these lies in the block with the header.
        for page in (0..self.layout.stripe.pages()).step_by(self.layout.stripe.blocks_per_segment() as usize) {
            match self.read_tag(self.address(seg, page), false) {
                Err(ErrorKind::Uncorrectable) => {}
                Ok(_) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Reads what states the slots of a segment are in, up to the first programmed one that is behind an erased one.
    fn read_slots(&mut self, seg: Seg) -> Result<SlotStates, ErrorKind> {
        let mut states = SlotStates::default();
        for slot in 0..self.layout.slots {
            match self.is_slot_erased(seg, slot) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(ErrorKind::Uncorrectable) => states.unreadable = states.unreadable.or(Some(slot)),
                Err(error) => return Err(error),
            }
            states.is_erased_between = slot > states.programmed;
            states.programmed = slot + 1;
            // This is what the callers look for. The states of the others change nothing.
            if states.is_erased_between {
                break;
            }
        }
        Ok(states)
    }

    /// True if a slot reads as erased.
    fn is_slot_erased(&mut self, seg: Seg, slot: u32) -> Result<bool, ErrorKind> {
        if self.tag_pages.get().is_some() {
            return self.is_untouched(seg, slot);
        }
        self.read_tag(self.address(seg, 1 + slot), false).map(|tag| is_erased(&tag))
    }

    /// True if the first page of a summary cannot be read, so that there may have been one.
    pub(super) fn has_lost_summary(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        match self.is_slot_erased(seg, self.layout.slots) {
            Err(ErrorKind::Uncorrectable) => Ok(true),
            is_erased => is_erased.map(|_| false),
        }
    }

    /// True if the first page of a summary can be read.
    pub(super) fn is_summary_readable(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        match self.is_slot_erased(seg, self.layout.slots) {
            Ok(is_erased) => Ok(!is_erased),
            Err(ErrorKind::Uncorrectable) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
