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
//! On a chip with fewer free spare bytes than a tag, tags are kept in [pages of their own](super::nand_tag_pages). If
//! its pages share cells, or the map is on flash, a tag takes the page's last sector.

use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::RangeInclusive;

use wearwell_flash::{ErrorKind, Nand, PageAddr, ReadReport};

use super::nand_bytes::{self, Extra, HEADER_BYTES, SummaryHead};
use super::nand_groups::{TagPages, TagPlace};
use super::nand_layout::Layout;
use super::tag::{Record, TAG_BYTES, is_erased};
use super::{Discards, EraseProgress, Kind, Log, LogShape, Payload, SegmentHeader, SegmentScan, Source, Stored, Tag};
use crate::addr::{Class, Lpn, Ppn, Seg};
use crate::chip_error::kind;
use crate::stats::KeptCosts;

/// The tags of a segment that is being filled.
#[derive(Debug, Clone)]
pub(super) struct OpenTags {
    pub(super) seg: Seg,
    pub(super) tags: Vec<u8>,
}

/// A log on NAND. `T` says whether it has tag pages on chips that need them.
#[derive(Debug, Clone)]
pub struct NandLog<N, B = Stored, T = Option<TagPages>> {
    pub(super) chip: N,
    pub(super) payload: PhantomData<B>,
    pub(super) layout: Layout,
    pub(super) extra: Extra,
    /// A segment that is kept for a checkpoint has failed since the mount.
    pub(super) has_failed_checkpoint: bool,
    /// What has been programmed and erased there since it was asked for.
    pub(super) kept_costs: KeptCosts,
    /// Logical pages of the device.
    pub(super) logical_pages: u32,
    /// Where the tags of slots lie in tag pages.
    pub(super) tag_pages: T,
    pub(super) open: Vec<OpenTags>,
    /// A page to be copied may be gone without an error from the chip.
    pub(super) doubts_sources: bool,
    pub(super) page: Vec<u8>,
    pub(super) spare: Vec<u8>,
}

impl<N: Nand, B: Payload, T: TagPlace> NandLog<N, B, T> {
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
        self.layout.stripe.page(seg.0 * self.layout.stripe.pages() + page)
    }

    /// Address of a slot.
    pub(super) fn slot_address(&self, at: Ppn) -> PageAddr {
        self.address(Seg(at.0 / self.layout.slots), 1 + at.0 % self.layout.slots)
    }

    /// Programs a page with data, zeros after it, and a record.
    pub(super) fn program(&mut self, at: PageAddr, data: &[u8], record: Record) -> Result<(), ErrorKind> {
        if B::STORES {
            // A whole page is not copied first. Where the tag lies in the page, `data` is always shorter.
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
        if self.layout.tag_in_page {
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
        if self.layout.tag_in_page && B::STORES {
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
        if self.layout.tag_in_page {
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
        // A driver skips what gets an empty buffer. So a scan does not transfer the pages.
        let page: &mut [u8] = if data || self.layout.tag_in_page { &mut self.page } else { &mut [] };
        self.chip.read(at, page, &mut self.spare).map_err(kind)?;
        let from =
            if self.layout.tag_in_page { &self.page[self.page.len() - TAG_BYTES..] } else { &self.spare[..TAG_BYTES] };
        let mut tag = [0; TAG_BYTES];
        tag.copy_from_slice(from);
        Ok(tag)
    }

    /// The record of a page; none if no good one can be read. With `data`, the page's data is then in `self.page`.
    pub(super) fn record_at(&mut self, at: PageAddr, data: bool) -> Result<Option<Record>, ErrorKind> {
        match self.read_tag(at, data) {
            Ok(tag) => Ok(Record::decode(&tag)),
            Err(ErrorKind::Uncorrectable) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Appends a page with this tag.
    pub(crate) fn append_new(&mut self, at: Ppn, data: &[u8], tag: Tag) -> Result<(), ErrorKind> {
        let record = Record::Page(tag);
        self.program(self.slot_address(at), data, record)?;
        self.remember(Seg(at.0 / self.layout.slots), record.encode());
        Ok(())
    }

    pub(super) fn remember(&mut self, seg: Seg, tag: [u8; TAG_BYTES]) {
        if !B::STORES {
            return;
        }
        match self.open.iter_mut().find(|o| o.seg == seg) {
            Some(open) => open.tags.extend_from_slice(&tag),
            None => {
                // A summary takes a tag for each slot, so the list gets all its memory at once.
                let mut tags = Vec::with_capacity(self.layout.slots as usize * TAG_BYTES);
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
        match self.record_at(self.address(seg, 0), true)? {
            Some(Record::Header) => Ok(nand_bytes::decode_header(&self.page[..HEADER_BYTES])),
            _ => Ok(None),
        }
    }

    /// The version that this layout writes.
    fn version(&self) -> u32 {
        self.extra.version()
    }

    pub(super) fn read_versions(&self) -> RangeInclusive<u32> {
        self.extra.read_versions()
    }

    /// True if a page was programmed, successfully or not.
    pub(super) fn is_touched(&mut self, page: PageAddr) -> Result<bool, ErrorKind> {
        match self.read_tag(page, false) {
            Ok(tag) => Ok(!is_erased(&tag)),
            Err(ErrorKind::Uncorrectable) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// True if the summary of a segment was begun, so that all programs of its slots had ended.
    pub(crate) fn has_begun_summary(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        self.is_touched(self.address(seg, 1 + self.layout.slots))
    }

    /// Gives `take` what each slot of a segment holds, up to the first that is erased; none if it cannot be read. Where
    /// an erase may have begun, those behind erased ones follow.
    pub(super) fn each_slot(
        &mut self,
        seg: Seg,
        has_header: bool,
        take: &mut dyn FnMut(u32, Option<Record>),
    ) -> Result<(), ErrorKind> {
        let mut is_behind_gap = false;
        for slot in 0..self.layout.slots {
            let record = match self.read_tag(self.address(seg, 1 + slot), false) {
                // Spec N4.
                Ok(tag) if is_erased(&tag) => {
                    is_behind_gap = T::LOOKS_BEHIND_GAPS
                        && (is_behind_gap || !has_header || slot > 0 && self.has_lost_summary(seg)?);
                    if !is_behind_gap {
                        break;
                    }
                    continue;
                }
                Ok(tag) => Record::decode(&tag),
                Err(ErrorKind::Uncorrectable) => None,
                Err(error) => return Err(error),
            };
            take(slot, record);
        }
        Ok(())
    }

    /// Scans a segment.
    #[inline(never)]
    pub(crate) fn scan_segment(&mut self, seg: Seg) -> Result<SegmentScan, ErrorKind> {
        // Spec N1.
        let mut scan = SegmentScan { bad: self.is_bad(seg)?, ..SegmentScan::default() };
        if scan.bad {
            return Ok(scan);
        }
        if !B::STORES {
            (scan.empty, scan.needs_erase) = (true, true);
            return Ok(scan);
        }
        // Spec N2.
        if !self.read_summary(seg, &mut scan)? {
            match self.tag_pages.get() {
                Some(_) => self.scan_groups(seg, &mut scan)?,
                None => self.scan_slots(seg, &mut scan)?,
            }
        }
        Ok(scan)
    }

    /// Reads the tags of a segment without a summary.
    fn scan_slots(&mut self, seg: Seg, scan: &mut SegmentScan) -> Result<(), ErrorKind> {
        let header = self.read_header(seg)?;
        let (slots, mut recorded) = (self.layout.slots as usize, 0);
        let SegmentScan { tags, gone, .. } = scan;
        self.each_slot(seg, header.is_some(), &mut |slot, record| {
            if record.is_none() {
                // The lists are as long as they can get from their first entry on. So an erased segment takes no
                // memory.
                gone.reserve_exact(slots - gone.len());
                gone.push(slot);
            } else {
                recorded = slot + 1;
            }
            tags.reserve_exact(slots - tags.len());
            if T::LOOKS_BEHIND_GAPS {
                tags.resize(slot as usize, None);
            }
            tags.push(record.and_then(Record::page));
        })?;
        // Spec N6.
        let ends_before_summary = tags.len() == slots && self.has_begun_summary(seg)?;
        let suspect_from =
            if ends_before_summary { self.layout.slots } else { self.layout.suspects_behind(tags.len() as u32) };
        // Spec P3: what cannot be read does not show that a rescue had ended.
        let is_torn = (recorded as usize) < tags.len() && !self.is_summary_readable(seg)?;
        let certain_to = if is_torn { self.layout.suspects_behind(recorded) } else { suspect_from };
        let is_mark = |tag: &&Tag| tag.kind == Kind::RescueMark;
        let end = tags.first().and_then(Option::as_ref).filter(is_mark).map_or(0, |mark| mark.lpn.0);
        // Such a rescue counts, but none of its copies is certain. The first slot may have been a mark.
        scan.doubts_end = certain_to < end && end <= suspect_from || gone.first() == Some(&0);
        scan.empty = tags.is_empty();
        // Only a summary says what the segment was opened for. Without one the first tag is the best that is left.
        scan.class = tags.iter().flatten().next().map_or(Class(0), |t: &Tag| t.class);
        scan.suspect_from = suspect_from;
        self.note_header(scan, header);
        Ok(())
    }

    /// Notes the header of a segment, and how it differs from what this layout writes now.
    pub(super) fn note_header(&self, scan: &mut SegmentScan, header: Option<SegmentHeader>) {
        // Spec N5.
        scan.needs_erase |= header.is_none();
        // Spec N3.
        if let Some(header) = header {
            scan.erases = Some(header.erases);
            scan.other_map = self.extra.is_of_other_map(header.version);
            scan.compare(&header, self.read_versions(), self.logical_pages);
        }
    }
}

pub(super) fn page_tag(bytes: &[u8]) -> Option<Tag> {
    Record::decode(bytes).and_then(Record::page)
}

impl<N: Nand, B: Payload, T: TagPlace> Log for NandLog<N, B, T> {
    const STORES: bool = B::STORES;
    const DISCARDS: Discards = Discards::Logged;

    fn shape(&self) -> LogShape {
        self.shape_of_log()
    }

    fn set_capacity(&mut self, logical_pages: u32) {
        self.logical_pages = logical_pages;
    }

    fn forget(&mut self) {
        self.open.clear();
        self.tag_pages.get_mut().into_iter().for_each(TagPages::forget);
        self.has_failed_checkpoint = false;
        self.doubts_sources = false;
    }

    fn open(&mut self, seg: Seg, _class: Class, _age_clock: u64) -> Result<u32, ErrorKind> {
        // Spec N1.
        if self.is_bad(seg)? { Err(ErrorKind::ProgramFailed) } else { Ok(0) }
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
        if self.tag_pages.get().is_some() {
            return self.append_untagged(at, Tag { lpn, seq: 0, class, kind }, source);
        }
        let tag = match source {
            Source::Host(data, seq) => return self.append_new(at, data, Tag { lpn, seq, class, kind }),
            // Such a page has its tag.
            Source::Again(..) => return Err(ErrorKind::Uncorrectable),
            Source::Copy(from) => {
                // Spec P14: the page may be gone, although a summary names it, and its copy could not be undone.
                if self.doubts_sources
                    && !page_tag(&self.read_tag(self.slot_address(from), false)?).is_some_and(|tag| tag.is_page_of(lpn))
                {
                    return Err(ErrorKind::Uncorrectable);
                }
                self.copy(self.slot_address(from), to)?
            }
        };
        self.remember(Seg(at.0 / self.layout.slots), tag);
        Ok(())
    }

    fn padding(&self, seg: Seg, next: u32) -> u32 {
        match self.tag_pages.get() {
            None => self.layout.shared_padding(next),
            Some(tag_pages) => u32::from(tag_pages.has_pending(seg)),
        }
    }

    fn pad(&mut self, at: Ppn) -> Result<(), ErrorKind> {
        if self.tag_pages.get().is_some() {
            return self.pad_untagged(at);
        }
        self.program(self.slot_address(at), &[], Record::Pad)?;
        self.remember(Seg(at.0 / self.layout.slots), Record::Pad.encode());
        Ok(())
    }

    fn has_tag_pages(&self) -> bool {
        self.tag_pages.get().is_some()
    }

    fn stop_at(&self, seg: Seg, next: u32) -> u32 {
        self.tag_pages.get().map_or(self.layout.slots, |tag_pages| tag_pages.stop_at(seg, next, self.layout.slots))
    }

    fn slot_of(&self, page: u32) -> u32 {
        self.tag_pages.get().map_or(page, |tag_pages| tag_pages.slot_of(page))
    }

    #[inline]
    fn collides(&mut self, at: Ppn, source: Source<'_>) -> Result<bool, ErrorKind> {
        if B::STORES && self.tag_pages.get().is_some() { self.passes_for_own(at, source) } else { Ok(false) }
    }

    fn unsettled(&self) -> Option<(Seg, u32)> {
        self.tag_pages.get().and_then(TagPages::unsettled)
    }

    fn settle(&mut self, seg: Seg) {
        self.drop_tags(seg);
    }

    fn seal(&mut self, seg: Seg, erases: u32, opened: u64, class: Class) -> Result<u32, ErrorKind> {
        let mut tags = Vec::new();
        if B::STORES {
            let open = self.open.iter_mut().find(|open| open.seg == seg);
            tags = open.map(|open| core::mem::take(&mut open.tags)).unwrap_or_default();
            let all_bytes = self.layout.slots as usize * TAG_BYTES;
            assert!(!tags.is_empty() && tags.len() <= all_bytes, "what a segment held was remembered");
            // A segment that is ended early, as at a shutdown, has slots that were never programmed.
            tags.resize(all_bytes, 0xFF);
        }
        let head = nand_bytes::encode_summary_head(self.version(), SummaryHead { erases, opened, class }, &tags);
        self.drop_tags(seg);
        self.program_summary(seg, &head, &tags)?;
        Ok(self.layout.summary_pages)
    }

    fn abandon(&mut self, seg: Seg) {
        if !self.tag_pages.get_mut().is_some_and(|tag_pages| tag_pages.give_up(seg)) {
            self.drop_tags(seg);
        }
    }

    fn erase(&mut self, seg: Seg, erases: u32) -> Result<(EraseProgress, u32), ErrorKind> {
        self.drop_tags(seg);
        // Spec N1. An erase may take the mark of a block, too.
        if self.is_bad(seg)? {
            return Err(ErrorKind::EraseFailed);
        }
        // The block with the header goes first, so that its loss tells of an erase that was begun.
        for block in self.layout.stripe.blocks(seg) {
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
        if self.tag_pages.get().is_some() {
            return self.read_untagged(at, data);
        }
        let (report, tag) = self.read_with_tag(address, data)?;
        if tag.is_some_and(|tag| tag.is_page_of(lpn)) { Ok(report) } else { Err(ErrorKind::Uncorrectable) }
    }

    fn doubt_sources(&mut self) {
        self.doubts_sources = B::STORES;
    }

    fn doubts_sources(&self) -> bool {
        self.doubts_sources
    }

    fn take_kept_costs(&mut self) -> KeptCosts {
        core::mem::take(&mut self.kept_costs)
    }

    fn kept_segments(&self) -> impl Iterator<Item = Seg> + use<N, B, T> {
        (self.layout.segments()..self.layout.stripe.segments()).map(Seg)
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

    fn read_mark(&mut self, seg: Seg, kind: Kind, data: &mut [u8]) -> Result<Option<u64>, ErrorKind> {
        self.read_mark_in(seg, kind, data)
    }

    fn suspect_from(&self, seg: Seg, programmed: u32) -> u32 {
        match self.tag_pages.get() {
            None => self.layout.suspects_behind(programmed),
            Some(tag_pages) => tag_pages.suspect_from(seg, programmed),
        }
    }

    fn is_bad(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        self.layout.stripe.is_bad(&mut self.chip, seg)
    }

    fn retire(&mut self, seg: Seg) -> Result<(), ErrorKind> {
        self.drop_tags(seg);
        self.layout.stripe.mark_bad(&mut self.chip, seg)
    }

    fn is_blank(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        for page in 0..self.layout.stripe.pages() {
            match self.chip.read(self.address(seg, page), &mut self.page, &mut self.spare).map_err(kind) {
                // A page of ones that was programmed shows in its spare bytes.
                Ok(_) if is_erased(&self.page) && is_erased(&self.spare) => {}
                Ok(_) | Err(ErrorKind::Uncorrectable) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn has_traces(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        for page in 0..self.layout.stripe.pages() {
            // Slots have no tags then, so only a tag page tells whose the chip is.
            let is_untagged = self.tag_pages.get().is_some() && (1..=self.layout.slots).contains(&page);
            let read = match is_untagged {
                true => self.is_tag_page(seg, page - 1),
                false => self.record_at(self.address(seg, page), false).map(|record| record.is_some()),
            };
            match read {
                Ok(true) => return Ok(true),
                Ok(false) | Err(ErrorKind::Uncorrectable) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    fn is_half_erased(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        self.is_erased_in_part(seg)
    }

    fn shows_erase(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        self.shows_cut_erase(seg)
    }

    fn scan(&mut self, seg: Seg) -> Result<Option<SegmentScan>, ErrorKind> {
        self.scan_segment(seg).map(Some)
    }
}
