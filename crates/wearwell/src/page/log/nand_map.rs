//! What an engine whose map is on flash asks of NAND beyond [`Log`]: pages under new numbers, and tags without lists.

use wearwell_flash::{ErrorKind, Nand};

use super::nand::{NandLog, page_tag};
use super::nand_bytes::{Extra, decode_summary};
use super::nand_groups::NoTagPages;
use super::nand_layout::{Layout, NandLayoutError};
use super::tag::{Record, TAG_BYTES};
use super::{Payload, Stored, Tag};
use crate::addr::{Lpn, Ppn, Seg};

/// The log of an engine whose map is on flash. It never has tag pages: without room beside a page, the tag lies in it.
pub type MapLog<N, B = Stored> = NandLog<N, B, NoTagPages>;

impl<N: Nand, B: Payload> MapLog<N, B> {
    /// A log over a chip for an engine whose map is on flash, with segments as those of [`new`](NandLog::new). A chip
    /// that was formatted with it can only be mounted with it.
    ///
    /// # Errors
    /// If the chip's pages or segments are too small.
    pub fn with_map(chip: N, blocks_per_segment: u32) -> Result<Self, NandLayoutError> {
        let layout = Layout::with_map(&chip.geometry(), blocks_per_segment)?;
        Ok(Self::laid_out(chip, layout, NoTagPages, Extra::Map))
    }

    /// Bytes of data in a page.
    pub(crate) fn page_bytes(&self) -> u32 {
        self.layout.payload_bytes
    }

    /// The tag of a page; none if it cannot be read. With `data`, the page's data is then in `self.page`.
    pub(crate) fn tag_at(&mut self, at: Ppn, data: bool) -> Result<Option<Tag>, ErrorKind> {
        Ok(self.record_at(self.slot_address(at), data)?.and_then(Record::page))
    }

    /// Appends the page at `from` under another tag, if it is one of the same logical page; otherwise it is
    /// `Uncorrectable`.
    pub(crate) fn append_again(&mut self, from: Ppn, at: Ppn, tag: Tag) -> Result<(), ErrorKind> {
        // This leaves the data in `self.page`, where it is programmed from.
        if self.tag_at(from, true)?.is_none_or(|known| !known.is_page_of(tag.lpn)) {
            return Err(ErrorKind::Uncorrectable);
        }
        let tag = Record::Page(tag).encode();
        self.program_page(self.slot_address(at), tag)?;
        self.remember(Seg(at.0 / self.layout.slots), tag);
        Ok(())
    }

    /// Gives `take` the tag of each slot of a segment. True if there are slots whose tag cannot be read, and that no
    /// cut can have hit. If summaries take one page, this takes no memory.
    pub(crate) fn each_tag(&mut self, seg: Seg, take: &mut dyn FnMut(u32, &Tag)) -> Result<bool, ErrorKind> {
        // Such a summary has to be put together in memory before its code can be checked.
        if self.layout.summary_pages > 1 {
            let scan = self.scan_segment(seg)?;
            for (slot, tag) in (0..).zip(&scan.tags) {
                if let Some(tag) = tag {
                    take(slot, tag);
                }
            }
            return Ok(scan.gone.first().is_some_and(|&slot| slot < scan.suspect_from));
        }
        let record = self.record_at(self.address(seg, 1 + self.layout.slots), true)?;
        let bytes = &self.page[..self.layout.payload_bytes as usize];
        if matches!(record, Some(Record::Summary))
            && let Some((_, tags)) = decode_summary(bytes, self.layout.slots, self.read_versions())
        {
            for (slot, tag) in (0..).zip(tags.chunks_exact(TAG_BYTES)) {
                if let Some(tag) = page_tag(tag) {
                    take(slot, &tag);
                }
            }
            // The summary has the tags of all slots, so none is missing.
            return Ok(false);
        }
        let (mut is_gone, mut has_gaps) = (false, false);
        self.each_slot(seg, true, &mut |slot, record| {
            has_gaps |= is_gone;
            is_gone |= record.is_none();
            if let Some(Record::Page(tag)) = record {
                take(slot, &tag);
            }
        })?;
        Ok(has_gaps || is_gone && self.has_begun_summary(seg)?)
    }

    /// True if a page reads as erased in front of a programmed one, so that the erase of the segment has begun: no
    /// page that decays reads so. Or if the header is gone, of which an erase is the likelier cause. Or, where that is
    /// asked, if the end of a rescue cannot be read there. [`shows_erase`](super::Log::shows_erase) looks for more, in
    /// five times the code, which the smallest library has no room for.
    pub(crate) fn may_fade(&mut self, seg: Seg, without_end: bool) -> Result<bool, ErrorKind> {
        let scan = self.scan_segment(seg)?;
        // A segment may be sealed early.
        let slots = if scan.sealed { scan.tags.len() as u32 } else { self.layout.slots };
        let (mut is_behind, mut fades) = (scan.sealed, without_end && scan.doubts_end);
        for page in (1..=slots).rev() {
            let is_touched = self.is_touched(self.address(seg, page))?;
            fades |= is_behind && !is_touched;
            is_behind |= is_touched;
        }
        Ok(fades || self.read_header(seg)?.is_none())
    }

    /// True if the page at `at` is one of `lpn` and holds `data`.
    pub(crate) fn holds_same(&mut self, at: Ppn, lpn: Lpn, data: &[u8]) -> Result<bool, ErrorKind> {
        let tag = self.tag_at(at, true)?;
        Ok(tag.is_some_and(|tag| tag.is_page_of(lpn)) && self.page[..data.len()] == *data)
    }
}
