//! How a segment is divided on a chip of some shape, and what a log on NAND begins with.

use alloc::vec::Vec;
use core::marker::PhantomData;

use wearwell_flash::Nand;

use super::nand::NandLog;
use super::nand_bytes::{self, Extra};
use super::nand_groups::{TagPages, TagPlace};
use super::tag::TAG_BYTES;
use super::{KeptCosts, LogShape, Payload};
use crate::addr::SECTOR_BYTES;
use crate::stripe::Stripe;

/// The chip cannot hold this layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NandLayoutError {
    /// Pages are too small for a tag beside their data.
    #[error("pages of {page_bytes} + {spare_bytes} bytes cannot hold {TAG_BYTES} bytes of tag beside a sector of data")]
    PageTooSmall {
        /// Bytes in a page.
        page_bytes: u32,
        /// Free spare bytes beside it.
        spare_bytes: u32,
    },
    /// A segment is too small for a header, a summary, and between them a page rescued after a power cut.
    #[error(
        "a segment of {pages} pages is too small: header and summary take {overhead_pages}, and a page rescued \
         after a power cut needs a mark before it and padding behind it"
    )]
    SegmentTooSmall {
        /// Pages in a segment.
        pages: u32,
        /// Pages the layout takes.
        overhead_pages: u32,
    },
}

/// Pages of a segment that a cut may hit together: those that share cells, on all dies.
fn shared_group(paired_pages: u32, stripe: &Stripe) -> u32 {
    // Pages that share no cells are hit one at a time, in a stripe as well.
    if paired_pages == 1 { 1 } else { paired_pages * stripe.blocks_per_segment() }
}

impl<N: Nand> NandLog<N> {
    /// A log over a chip, whose segments are stripes of `blocks_per_segment` blocks on different dies.
    ///
    /// # Errors
    /// If the chip's pages or segments are too small.
    pub fn new(chip: N, blocks_per_segment: u32) -> Result<Self, NandLayoutError> {
        Self::with_payload(chip, blocks_per_segment)
    }
}

impl<N: Nand, B: Payload> NandLog<N, B> {
    /// As [`new`](NandLog::new), with bytes stored or counted.
    ///
    /// # Errors
    /// As it has.
    pub fn with_payload(chip: N, blocks_per_segment: u32) -> Result<Self, NandLayoutError> {
        Self::on(chip, blocks_per_segment)
    }
}

impl<N: Nand, B: Payload, T: TagPlace> NandLog<N, B, T> {
    /// As [`new`](NandLog::new), with or without tag pages.
    pub(super) fn on(chip: N, blocks_per_segment: u32) -> Result<Self, NandLayoutError> {
        let geometry = chip.geometry();
        let stripe = Stripe::new(geometry, blocks_per_segment);
        let (page_bytes, spare_bytes) = (geometry.page_bytes, geometry.spare_bytes);
        let tag_in_page = (spare_bytes as usize) < TAG_BYTES;
        // Where pages share cells, a tag page would have to end each group of cells, so the tag stays in the page.
        let has_tag_pages = T::HAS_TAG_PAGES && tag_in_page && geometry.paired_pages == 1;
        let is_tag_in_slot = tag_in_page && !has_tag_pages;
        if page_bytes < SECTOR_BYTES * (1 + u32::from(is_tag_in_slot)) {
            return Err(NandLayoutError::PageTooSmall { page_bytes, spare_bytes });
        }
        let mut log = Self {
            group: shared_group(geometry.paired_pages, &stripe),
            stripe,
            slots: 0,
            extra: Extra::Nothing,
            kept_segments: 0,
            has_failed_checkpoint: false,
            kept_costs: KeptCosts::default(),
            logical_pages: 0,
            summary_pages: 0,
            payload_bytes: page_bytes,
            summary_payload_bytes: page_bytes,
            tag_in_page,
            tag_pages: T::new(None),
            open: Vec::new(),
            doubts_sources: false,
            page: B::zeros(page_bytes),
            spare: B::zeros(spare_bytes),
            chip,
            payload: PhantomData,
        };
        log.lay_out(has_tag_pages)?;
        Ok(log)
    }

    /// Divides a segment between the layout's own pages and slots.
    fn lay_out(&mut self, has_tag_pages: bool) -> Result<(), NandLayoutError> {
        let page_bytes = self.chip.geometry().page_bytes;
        let tag_bytes = if self.tag_in_page { SECTOR_BYTES } else { 0 };
        let own_bytes = if has_tag_pages { TAG_BYTES as u32 } else { tag_bytes };
        self.payload_bytes = page_bytes - if has_tag_pages { 0 } else { tag_bytes };
        self.summary_payload_bytes = page_bytes - own_bytes;
        let pages = self.stripe.pages();
        let summary_payload_bytes = self.summary_payload_bytes.max(1) as usize;
        // How many slots there are depends on this, so it counts a tag for every page.
        self.summary_pages = nand_bytes::summary_bytes(pages).div_ceil(summary_payload_bytes) as u32;
        let summary_at = pages.saturating_sub(self.summary_pages) / self.group * self.group;
        let too_small = NandLayoutError::SegmentTooSmall { pages, overhead_pages: 1 + pages - summary_at };
        self.slots = summary_at.checked_sub(1).ok_or(too_small)?;
        self.tag_pages = T::new(has_tag_pages.then(|| TagPages::new(page_bytes, self.slots)));
        self.extra = if has_tag_pages { Extra::TagPages } else { Extra::Nothing };
        // A rescue needs a mark, padding behind it, one copy, and padding that puts the copy beyond suspicion.
        let is_enough = match self.tag_pages.get() {
            None => self.suspects_behind(self.slots) >= 2 + self.shared_padding(1),
            Some(tag_pages) => tag_pages.data_slots(self.slots) >= 2,
        };
        if is_enough { Ok(()) } else { Err(too_small) }
    }

    /// Slots to pad from slot `next` on, so that no later program endangers pages that share cells with those before.
    pub(super) fn shared_padding(&self, next: u32) -> u32 {
        // Slot `next` is page `next + 1`. In front of slot 0 is only the header.
        if next == 0 { 0 } else { (self.group - (next + 1) % self.group) % self.group }
    }

    /// The first slot that a cut may have hit, of slots with their tags, if `programmed` of them are programmed.
    pub(super) fn suspects_behind(&self, programmed: u32) -> u32 {
        // Spec N6: slot s is page s + 1; the group of the last programmed page begins at a multiple of its size.
        (programmed / self.group * self.group).saturating_sub(1)
    }

    /// [`Log::shape`](super::Log::shape).
    pub(super) fn shape_of_log(&self) -> LogShape {
        let of_cells = LogShape {
            segments: self.stripe.segments() - self.kept_segments,
            slots: self.slots,
            overhead_pages: self.stripe.pages() - self.slots,
            data_slots: self.slots,
            // Before a victim is erased, the last group of its copies is padded, by a group less one page at most.
            // Cleaning has to gain more than that.
            filled_slots: (self.slots + 1).saturating_sub(self.group),
            group_pages: self.group,
            // The slots behind the mark and its padding, without those that are suspect in a full segment.
            rescue_pages: self.suspects_behind(self.slots).saturating_sub(1 + self.shared_padding(1)),
            ops_per_page: 2,
            banks: self.stripe.banks(),
            page_bytes: self.payload_bytes,
            max_logical_pages: u32::MAX,
        };
        self.tag_pages.get().map_or(of_cells, |tag_pages| tag_pages.shape(of_cells))
    }
}
