//! How a segment is divided on a chip of some shape.

use wearwell_flash::NandGeometry;

use super::LogShape;
use super::nand_bytes;
use super::nand_groups::TagPages;
use super::tag::TAG_BYTES;
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

/// Most bytes of a checkpoint before its rows, for a segment, and for a translation page. The engine says that its own
/// are not more.
pub(crate) const MOST_HEAD_BYTES: usize = 32;
pub(crate) const MOST_BYTES_A_SEGMENT: usize = 5;
pub(crate) const MOST_BYTES_A_PART: usize = 4;

/// How a segment is divided, and which segments are kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(super) stripe: Stripe,
    pub(super) slots: u32,
    /// Segments at the end of the chip that are kept for a checkpoint.
    pub(super) kept_segments: u32,
    pub(super) summary_pages: u32,
    pub(super) payload_bytes: u32,
    /// Bytes of a summary in a page.
    pub(super) summary_payload_bytes: u32,
    /// Pages that share cells, on all dies.
    pub(super) group: u32,
    /// The tag of a page that has one lies at its end.
    pub(super) tag_in_page: bool,
    pub(super) has_tag_pages: bool,
}

/// Pages of a segment that a cut may hit together: those that share cells, on all dies.
const fn shared_group(paired_pages: u32, stripe: &Stripe) -> u32 {
    // Pages that share no cells are hit one at a time, in a stripe as well.
    if paired_pages == 1 { 1 } else { paired_pages * stripe.blocks_per_segment() }
}

/// Segments that a checkpoint and its end take on a chip, at `pages` pages a segment.
const fn kept_segments(segments: u32, slots: u32, payload: u32, pages: u32) -> u32 {
    // An entry of a translation page takes four bytes at most. A chip with more pages than fit is refused later.
    let parts = segments.saturating_mul(slots).div_ceil(payload / 4);
    let of_parts = parts.saturating_mul(MOST_BYTES_A_PART as u32);
    let rows = segments.saturating_mul(MOST_BYTES_A_SEGMENT as u32).saturating_add(of_parts);
    let of_checkpoint = rows.saturating_add(MOST_HEAD_BYTES as u32).div_ceil(payload);
    // One more is for the end.
    let kept = of_checkpoint.div_ceil(pages) + 1;
    if kept < segments { kept } else { segments }
}

impl Layout {
    /// The layout on a chip, whose segments are stripes of `blocks_per_segment` blocks, with tag pages where they may
    /// be and are needed.
    #[inline(never)]
    pub(super) const fn new(
        geometry: &NandGeometry,
        blocks_per_segment: u32,
        may_have_tag_pages: bool,
    ) -> Result<Self, NandLayoutError> {
        let stripe = Stripe::new(*geometry, blocks_per_segment);
        let (page_bytes, spare_bytes) = (geometry.page_bytes, geometry.spare_bytes);
        let tag_in_page = (spare_bytes as usize) < TAG_BYTES;
        // Where pages share cells, a tag page would have to end each group of cells, so the tag stays in the page.
        let has_tag_pages = may_have_tag_pages && tag_in_page && geometry.paired_pages == 1;
        let tag_bytes = if tag_in_page && !has_tag_pages { SECTOR_BYTES } else { 0 };
        if page_bytes < SECTOR_BYTES + tag_bytes {
            return Err(NandLayoutError::PageTooSmall { page_bytes, spare_bytes });
        }
        // With tag pages, headers and summaries still keep their tag in the page.
        let own_bytes = if has_tag_pages { TAG_BYTES as u32 } else { tag_bytes };
        let (summary_payload_bytes, pages) = (page_bytes - own_bytes, stripe.pages());
        let group = shared_group(geometry.paired_pages, &stripe);
        // How many slots there are depends on this, so it counts a tag for every page.
        let summary_pages = nand_bytes::summary_bytes(pages).div_ceil(summary_payload_bytes as usize) as u32;
        // The summary begins a group of its own, so that a cut in it hits no slot (decision 5).
        let summary_at = pages.saturating_sub(summary_pages) / group * group;
        let too_small = NandLayoutError::SegmentTooSmall { pages, overhead_pages: 1 + pages - summary_at };
        if summary_at == 0 {
            return Err(too_small);
        }
        let layout = Self {
            stripe,
            slots: summary_at - 1,
            kept_segments: 0,
            summary_pages,
            payload_bytes: page_bytes - tag_bytes,
            summary_payload_bytes,
            group,
            tag_in_page,
            has_tag_pages,
        };
        // A rescue needs a mark, padding behind it, one copy, and padding that puts the copy beyond suspicion.
        let is_enough = has_tag_pages || layout.suspects_behind(layout.slots) >= 2 + layout.shared_padding(1);
        if is_enough { Ok(layout) } else { Err(too_small) }
    }

    /// The layout for an engine whose map is on flash.
    pub(crate) const fn with_map(geometry: &NandGeometry, blocks_per_segment: u32) -> Result<Self, NandLayoutError> {
        let mut layout = match Self::new(geometry, blocks_per_segment, false) {
            Ok(layout) => layout,
            Err(error) => return Err(error),
        };
        let stripe = &layout.stripe;
        layout.kept_segments =
            kept_segments(stripe.segments(), layout.slots, layout.payload_bytes, layout.checkpoint_slots());
        Ok(layout)
    }

    /// The tag pages of a chip that needs some.
    pub(super) fn tag_pages(&self) -> Result<Option<TagPages>, NandLayoutError> {
        if !self.has_tag_pages {
            return Ok(None);
        }
        let tag_pages = TagPages::new(self.payload_bytes, self.slots);
        // As for pages without tag pages: a mark, and one copy.
        if tag_pages.data_slots(self.slots) < 2 {
            let pages = self.stripe.pages();
            return Err(NandLayoutError::SegmentTooSmall { pages, overhead_pages: pages - self.slots });
        }
        Ok(Some(tag_pages))
    }

    /// Pages of a checkpoint in a kept segment.
    pub(super) const fn checkpoint_slots(&self) -> u32 {
        self.stripe.pages() - 1
    }

    /// Segments of the log.
    pub(super) const fn segments(&self) -> u32 {
        self.stripe.segments() - self.kept_segments
    }

    /// Slots to pad from slot `next` on, so that no later program endangers pages that share cells with those before.
    pub(super) const fn shared_padding(&self, next: u32) -> u32 {
        // Slot `next` is page `next + 1`. In front of slot 0 is only the header.
        if next == 0 { 0 } else { (self.group - (next + 1) % self.group) % self.group }
    }

    /// The first slot that a cut may have hit, of slots with their tags, if `programmed` of them are programmed.
    pub(super) const fn suspects_behind(&self, programmed: u32) -> u32 {
        // Spec N6: slot s is page s + 1; the group of the last programmed page begins at a multiple of its size.
        (programmed / self.group * self.group).saturating_sub(1)
    }

    /// The shape of a log without tag pages.
    pub(crate) const fn shape(&self) -> LogShape {
        LogShape {
            segments: self.segments(),
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
        }
    }
}

/// The shape of the log that [`NandLog::new`](super::NandLog::new) makes on a chip.
pub(crate) fn shape_on(geometry: &NandGeometry, blocks_per_segment: u32) -> Result<LogShape, NandLayoutError> {
    let layout = Layout::new(geometry, blocks_per_segment, true)?;
    let of_cells = layout.shape();
    Ok(layout.tag_pages()?.map_or(of_cells, |tag_pages| tag_pages.shape(of_cells)))
}
