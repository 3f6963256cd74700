//! `nand`: a tag beside every page, a header at the front of a segment, a summary at its end.
//!
//! ```text
//! page 0        header: times erased, logical pages; programmed as soon as the segment has been erased
//! pages 1 …     the slots, each with its tag in the spare bytes
//! last page(s)  summary: all tags of the segment, when it was opened, its class; programmed when it is full, or when
//!               the device is shut down
//! ```
//!
//! Where pages share cells, the summary begins a group of its own, so that a cut in it hits no slot. So the slots of a
//! segment with a summary are not suspect. Pages that are left over behind the summary stay empty.
//!
//! A mount reads the summaries, and single pages only in segments without one. The header tells a completed erase from
//! one that was cut, and keeps the erase count of free segments.
//!
//! On a chip with fewer free spare bytes than a tag, the tag takes the page's last sector.

use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::RangeInclusive;

use wearwell_flash::{ErrorKind, Nand, PageAddr, ReadReport};

use super::nand_bytes::{self, Extra, HEADER_BYTES, SummaryHead};
use super::tag::{Record, TAG_BYTES, is_erased};
use super::{
    Discards, EraseProgress, Kind, Log, LogShape, Payload, SegmentHeader, SegmentScan, Source, Stored, Tag, kind,
};
use crate::addr::{Class, Lpn, Ppn, SECTOR_BYTES, Seg};
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

/// The tags of a segment that is being filled.
#[derive(Debug, Clone)]
struct OpenTags {
    seg: Seg,
    tags: Vec<u8>,
}

/// A log on NAND.
#[derive(Debug, Clone)]
pub struct NandLog<N, B = Stored> {
    pub(super) chip: N,
    payload: PhantomData<B>,
    pub(super) stripe: Stripe,
    pub(super) slots: u32,
    pub(super) extra: Extra,
    /// Segments at the end of the chip that are kept for a checkpoint.
    pub(super) kept_segments: u32,
    /// One of them has failed since the mount.
    pub(super) has_failed_checkpoint: bool,
    /// Logical pages of the device.
    logical_pages: u32,
    pub(super) summary_pages: u32,
    pub(super) payload_bytes: u32,
    /// Pages that a cut may hit together.
    group: u32,
    pub(super) tag_in_page: bool,
    open: Vec<OpenTags>,
    /// A page to be copied may be gone without an error from the chip.
    doubts_sources: bool,
    pub(super) page: Vec<u8>,
    spare: Vec<u8>,
}

/// Pages of a segment that a cut may hit together: those that share cells, on all dies.
fn shared_group(paired_pages: u32, stripe: &Stripe) -> u32 {
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
        let geometry = chip.geometry();
        let stripe = Stripe::new(geometry, blocks_per_segment);
        let (page_bytes, spare_bytes) = (geometry.page_bytes, geometry.spare_bytes);
        let tag_in_page = (spare_bytes as usize) < TAG_BYTES;
        if page_bytes < SECTOR_BYTES * (1 + u32::from(tag_in_page)) {
            return Err(NandLayoutError::PageTooSmall { page_bytes, spare_bytes });
        }
        let payload_bytes = page_bytes - if tag_in_page { SECTOR_BYTES } else { 0 };
        let pages = stripe.pages();
        let summary_pages = nand_bytes::summary_bytes(pages).div_ceil(payload_bytes as usize) as u32;
        let group = shared_group(geometry.paired_pages, &stripe);
        let summary_at = pages.saturating_sub(summary_pages) / group * group;
        let too_small = NandLayoutError::SegmentTooSmall { pages, overhead_pages: 1 + pages - summary_at };
        let slots = summary_at.checked_sub(1).ok_or(too_small)?;
        let log = Self {
            stripe,
            slots,
            extra: Extra::Nothing,
            kept_segments: 0,
            has_failed_checkpoint: false,
            logical_pages: 0,
            summary_pages,
            payload_bytes,
            group,
            tag_in_page,
            open: Vec::new(),
            doubts_sources: false,
            page: B::zeros(page_bytes),
            spare: B::zeros(spare_bytes),
            chip,
            payload: PhantomData,
        };
        // A rescue needs a mark, padding behind it, one copy, and padding that puts the copy beyond suspicion.
        if log.suspect_from(slots) < 2 + log.padding(1) { Err(too_small) } else { Ok(log) }
    }

    /// The chip.
    pub fn chip(&self) -> &N {
        &self.chip
    }

    /// The chip, to set its clock or its faults.
    pub fn chip_mut(&mut self) -> &mut N {
        &mut self.chip
    }

    /// Gives the chip back.
    pub fn into_chip(self) -> N {
        self.chip
    }

    /// Address of a page of a segment. The header is page 0.
    pub(super) fn address(&self, seg: Seg, page: u32) -> PageAddr {
        self.stripe.page(seg.0 * self.stripe.pages() + page)
    }

    /// Address of a slot.
    pub(super) fn slot_address(&self, at: Ppn) -> PageAddr {
        self.address(Seg(at.0 / self.slots), 1 + at.0 % self.slots)
    }

    /// Programs a page with data, zeros after it, and a record.
    pub(super) fn program(&mut self, at: PageAddr, data: &[u8], record: Record) -> Result<(), ErrorKind> {
        if B::STORES {
            if data.len() == self.page.len() {
                return self.chip.program(at, data, &record.encode()).map_err(kind);
            }
            self.page[..data.len()].copy_from_slice(data);
            self.page[data.len()..].fill(0);
        }
        self.program_page(at, record.encode())
    }

    /// Programs a page with what is in `self.page`, and a tag.
    pub(super) fn program_page(&mut self, at: PageAddr, tag: [u8; TAG_BYTES]) -> Result<(), ErrorKind> {
        if !B::STORES {
            return self.chip.program(at, &[], &[]).map_err(kind);
        }
        if self.tag_in_page {
            let end = self.page.len() - TAG_BYTES;
            self.page[end..].copy_from_slice(&tag);
            self.chip.program(at, &self.page, &[]).map_err(kind)
        } else {
            self.chip.program(at, &self.page, &tag).map_err(kind)
        }
    }

    /// Copies a page unchanged and returns its tag.
    fn copy(&mut self, from: PageAddr, to: PageAddr) -> Result<[u8; TAG_BYTES], ErrorKind> {
        let mut tag = [0; TAG_BYTES];
        // The summary needs the tag. A copy within the chip would not return one that lies in the page.
        if self.tag_in_page && B::STORES {
            self.chip.read(from, &mut self.page, &mut []).map_err(kind)?;
            tag.copy_from_slice(&self.page[self.page.len() - TAG_BYTES..]);
            self.chip.program(to, &self.page, &[]).map_err(kind)?;
        } else {
            self.chip.copy(from, to, &mut self.spare).map_err(kind)?;
            if B::STORES {
                tag.copy_from_slice(&self.spare[..TAG_BYTES]);
            }
        }
        Ok(tag)
    }

    /// Reads a page's data, and the tag if it is that of an engine's page.
    #[inline]
    pub(super) fn read_with_tag(
        &mut self,
        at: PageAddr,
        data: &mut [u8],
    ) -> Result<(ReadReport, Option<Tag>), ErrorKind> {
        if self.tag_in_page {
            let report = self.chip.read(at, &mut self.page, &mut []).map_err(kind)?;
            data.copy_from_slice(&self.page[..data.len()]);
            Ok((report, page_tag(&self.page[self.page.len() - TAG_BYTES..])))
        } else {
            let report = self.chip.read(at, data, &mut self.spare).map_err(kind)?;
            Ok((report, page_tag(&self.spare[..TAG_BYTES])))
        }
    }

    /// Reads a page's tag bytes. With `data`, the page's data is then in `self.page`.
    pub(super) fn read_tag(&mut self, at: PageAddr, data: bool) -> Result<[u8; TAG_BYTES], ErrorKind> {
        let page: &mut [u8] = if data || self.tag_in_page { &mut self.page } else { &mut [] };
        self.chip.read(at, page, &mut self.spare).map_err(kind)?;
        let from = if self.tag_in_page { &self.page[self.page.len() - TAG_BYTES..] } else { &self.spare[..TAG_BYTES] };
        let mut tag = [0; TAG_BYTES];
        tag.copy_from_slice(from);
        Ok(tag)
    }

    pub(super) fn remember(&mut self, seg: Seg, tag: [u8; TAG_BYTES]) {
        if !B::STORES {
            return;
        }
        match self.open.iter_mut().find(|o| o.seg == seg) {
            Some(open) => open.tags.extend_from_slice(&tag),
            None => {
                let mut tags = Vec::with_capacity(self.slots as usize * TAG_BYTES);
                tags.extend_from_slice(&tag);
                self.open.push(OpenTags { seg, tags });
            }
        }
    }

    fn program_header(&mut self, seg: Seg, erases: u32) -> Result<(), ErrorKind> {
        let header = nand_bytes::encode_header(self.version(), erases, self.logical_pages);
        self.program(self.address(seg, 0), &header, Record::Header)
    }

    /// The header of a segment, if there is a good one.
    pub(super) fn read_header(&mut self, seg: Seg) -> Result<Option<SegmentHeader>, ErrorKind> {
        match self.read_tag(self.address(seg, 0), true) {
            Ok(tag) if Record::decode(&tag) == Some(Record::Header) => {}
            Ok(_) | Err(ErrorKind::Uncorrectable) => return Ok(None),
            Err(error) => return Err(error),
        }
        Ok(nand_bytes::decode_header(&self.page[..HEADER_BYTES]))
    }

    /// The version that this layout writes.
    fn version(&self) -> u32 {
        self.extra.version()
    }

    pub(super) fn read_versions(&self) -> RangeInclusive<u32> {
        self.extra.read_versions()
    }

    /// True if a page was programmed, successfully or not.
    fn is_touched(&mut self, page: PageAddr) -> Result<bool, ErrorKind> {
        match self.read_tag(page, false) {
            Ok(tag) => Ok(!is_erased(&tag)),
            Err(ErrorKind::Uncorrectable) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// True if the summary of a segment was begun, so that all programs of its slots had ended.
    pub(crate) fn has_begun_summary(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        self.is_touched(self.address(seg, 1 + self.slots))
    }

    /// Gives `take` what each slot of a segment holds, up to the first that is erased; none if it cannot be read.
    pub(super) fn each_slot(&mut self, seg: Seg, mut take: impl FnMut(u32, Option<Record>)) -> Result<(), ErrorKind> {
        for slot in 0..self.slots {
            let record = match self.read_tag(self.address(seg, 1 + slot), false) {
                // Spec N4.
                Ok(tag) if is_erased(&tag) => break,
                Ok(tag) => Record::decode(&tag),
                Err(ErrorKind::Uncorrectable) => None,
                Err(error) => return Err(error),
            };
            take(slot, record);
        }
        Ok(())
    }

    /// Reads the tags of a segment without a summary.
    fn scan_slots(&mut self, seg: Seg) -> Result<SegmentScan, ErrorKind> {
        let header = self.read_header(seg)?;
        let slots = self.slots as usize;
        let (mut tags, mut gone) = (Vec::new(), Vec::new());
        self.each_slot(seg, |slot, record| {
            if record.is_none() {
                gone.reserve_exact(slots - gone.len());
                gone.push(slot);
            }
            tags.reserve_exact(slots - tags.len());
            tags.push(record.and_then(Record::page));
        })?;
        // Spec N6.
        let ends_before_summary = tags.len() == self.slots as usize && self.has_begun_summary(seg)?;
        let suspect_from = if ends_before_summary { self.slots } else { self.suspect_from(tags.len() as u32) };
        // Spec P3: what cannot be read does not show that a rescue had ended.
        let lasts_to = match gone.first() {
            Some(&first) if header.is_none() => self.suspect_from(first).min(suspect_from),
            _ => suspect_from,
        };
        let mut scan = SegmentScan {
            erases: header.map(|header| header.erases),
            empty: tags.is_empty(),
            // Spec N5.
            needs_erase: header.is_none(),
            class: tags.iter().flatten().next().map_or(Class(0), |t: &Tag| t.class),
            suspect_from,
            lasts_to,
            tags,
            gone,
            ..SegmentScan::default()
        };
        // Spec N3.
        if let Some(header) = header {
            scan.other_map = self.extra.is_of_other_map(header.version);
            scan.compare(&header, self.read_versions(), self.logical_pages);
        }
        Ok(scan)
    }
}

pub(super) fn page_tag(bytes: &[u8]) -> Option<Tag> {
    Record::decode(bytes).and_then(Record::page)
}

impl<N: Nand, B: Payload> Log for NandLog<N, B> {
    const STORES: bool = B::STORES;
    const DISCARDS: Discards = Discards::Logged;

    fn shape(&self) -> LogShape {
        LogShape {
            segments: self.stripe.segments() - self.kept_segments,
            slots: self.slots,
            overhead_pages: self.stripe.pages() - self.slots,
            group_pages: self.group,
            rescue_pages: self.suspect_from(self.slots) - 1 - self.padding(1),
            ops_per_page: 2,
            banks: self.stripe.banks(),
            page_bytes: self.payload_bytes,
            max_logical_pages: u32::MAX,
        }
    }

    fn set_capacity(&mut self, logical_pages: u32) {
        self.logical_pages = logical_pages;
    }

    fn forget(&mut self) {
        self.open.clear();
        self.has_failed_checkpoint = false;
        self.doubts_sources = false;
    }

    fn open(&mut self, _seg: Seg, _class: Class, _age_clock: u64) -> Result<u32, ErrorKind> {
        Ok(0)
    }

    fn append(
        &mut self,
        at: Ppn,
        lpn: Lpn,
        class: Class,
        kind: Kind,
        source: Source<'_>,
        _replaces: Ppn,
    ) -> Result<(), ErrorKind> {
        let to = self.slot_address(at);
        let tag = match source {
            Source::Host(data, seq) => {
                let record = Record::Page(Tag { lpn, seq, class, kind });
                self.program(to, data, record)?;
                record.encode()
            }
            Source::Copy(from) => {
                if self.doubts_sources && page_tag(&self.read_tag(self.slot_address(from), false)?).is_none() {
                    return Err(ErrorKind::Uncorrectable);
                }
                self.copy(self.slot_address(from), to)?
            }
        };
        self.remember(Seg(at.0 / self.slots), tag);
        Ok(())
    }

    fn padding(&self, next: u32) -> u32 {
        if next == 0 { 0 } else { (self.group - (next + 1) % self.group) % self.group }
    }

    fn pad(&mut self, at: Ppn) -> Result<(), ErrorKind> {
        self.program(self.slot_address(at), &[], Record::Pad)?;
        self.remember(Seg(at.0 / self.slots), Record::Pad.encode());
        Ok(())
    }

    fn seal(&mut self, seg: Seg, erases: u32, opened: u64, class: Class) -> Result<u32, ErrorKind> {
        let mut tags = Vec::new();
        if B::STORES {
            let at = self.open.iter().position(|o| o.seg == seg);
            tags = at.map(|at| self.open.swap_remove(at).tags).unwrap_or_default();
            let all_bytes = self.slots as usize * TAG_BYTES;
            assert!(!tags.is_empty() && tags.len() <= all_bytes, "what a segment held was remembered");
            tags.resize(all_bytes, 0xFF);
        }
        let head = nand_bytes::encode_summary_head(self.version(), SummaryHead { erases, opened, class }, &tags);
        self.program_summary(seg, &head, &tags)?;
        Ok(self.summary_pages)
    }

    fn abandon(&mut self, seg: Seg) {
        self.open.retain(|o| o.seg != seg);
    }

    fn erase(&mut self, seg: Seg, erases: u32) -> Result<(EraseProgress, u32), ErrorKind> {
        for block in self.stripe.blocks(seg) {
            self.chip.erase(block).map_err(kind)?;
        }
        // The header is programmed last: a segment without one was not erased to the end (Spec N5).
        self.program_header(seg, erases)?;
        Ok((EraseProgress::Done, 1))
    }

    fn poll_erase(&mut self) -> Option<(Seg, Result<(), ErrorKind>)> {
        None
    }

    fn wait_erase(&mut self) -> Option<(Seg, Result<(), ErrorKind>)> {
        None
    }

    fn is_erasing(&mut self, _bank: u32) -> bool {
        false
    }

    fn read(&mut self, at: Ppn, lpn: Lpn, data: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        let address = self.slot_address(at);
        if !B::STORES {
            return self.chip.read(address, data, &mut []).map_err(kind);
        }
        let (report, tag) = self.read_with_tag(address, data)?;
        // Spec P14.
        if tag.is_some_and(|tag| tag.lpn == lpn) { Ok(report) } else { Err(ErrorKind::Uncorrectable) }
    }

    fn doubt_sources(&mut self) {
        self.doubts_sources = B::STORES;
    }

    fn doubts_sources(&self) -> bool {
        self.doubts_sources
    }

    fn checkpoint_pages(&self) -> u32 {
        self.kept_pages()
    }

    fn clear_checkpoint(&mut self, pages: u32, most_erases: u32, mean_erases: u32) -> Result<bool, ErrorKind> {
        self.clear_kept(pages, most_erases, mean_erases)
    }

    fn program_checkpoint(&mut self, page: u32, data: &[u8], seq: u64) -> Result<(), ErrorKind> {
        self.program_kept(page, data, seq)
    }

    fn read_checkpoint(&mut self, page: u32, data: &mut [u8]) -> Result<Option<u64>, ErrorKind> {
        self.read_kept(page, data)
    }

    fn read_mark(&mut self, seg: Seg, data: &mut [u8]) -> Result<Option<u64>, ErrorKind> {
        self.read_mark_in(seg, data)
    }

    fn suspect_from(&self, programmed: u32) -> u32 {
        // Spec N6: slot s is page s + 1; the group of the last programmed page begins at a multiple of its size.
        (programmed / self.group * self.group).saturating_sub(1)
    }

    fn is_bad(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        self.stripe.is_bad(&mut self.chip, seg)
    }

    fn retire(&mut self, seg: Seg) -> Result<(), ErrorKind> {
        self.stripe.mark_bad(&mut self.chip, seg)
    }

    fn is_blank(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        for page in 0..self.stripe.pages() {
            match self.chip.read(self.address(seg, page), &mut self.page, &mut self.spare).map_err(kind) {
                Ok(_) if is_erased(&self.page) && is_erased(&self.spare) => {}
                Ok(_) | Err(ErrorKind::Uncorrectable) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn is_half_erased(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        // The header is in the block that is erased first. But a cut erase may leave each page of a block in another
        // state, so the slots are checked too.
        if self.read_header(seg)?.is_none() {
            return Ok(true);
        }
        let (mut programmed, mut unreadable) = (0, None);
        for slot in 0..self.slots {
            match self.read_tag(self.address(seg, 1 + slot), false) {
                Ok(tag) if is_erased(&tag) => continue,
                Ok(_) => {}
                Err(ErrorKind::Uncorrectable) => unreadable = unreadable.or(Some(slot)),
                Err(error) => return Err(error),
            }
            // A slot is erased before one that is programmed.
            if slot > programmed {
                return Ok(true);
            }
            programmed = slot + 1;
        }
        let is_torn = unreadable.is_some_and(|slot| slot < self.suspect_from(programmed));
        // Slots are missing before a summary that is still there.
        let summary = if programmed < self.slots { self.read_summary(seg)? } else { None };
        Ok(is_torn || summary.is_some_and(|scan| scan.tags.len() > programmed as usize))
    }

    fn scan(&mut self, seg: Seg) -> Result<Option<SegmentScan>, ErrorKind> {
        // Spec N1.
        if self.is_bad(seg)? {
            return Ok(Some(SegmentScan { bad: true, ..SegmentScan::default() }));
        }
        if !B::STORES {
            return Ok(Some(SegmentScan { empty: true, needs_erase: true, ..SegmentScan::default() }));
        }
        // Spec N2.
        match self.read_summary(seg)? {
            Some(scan) => Ok(Some(scan)),
            None => self.scan_slots(seg).map(Some),
        }
    }
}
