//! Tag pages: where the tags of slots lie on a chip that has no room for them beside a page.
//!
//! A tag page holds the tags of the slots behind the tag page before it: its *group*. A group ends when it is full, at
//! the last slot, and when its pages have to last. Pages without a tag page behind them are unknown after a cut. What
//! is known to a mount by a tag page that may be the last program of all is suspect.
//!
//! Data pages have no mark of their own. So a tag page has a code of its place, and data that would pass for one there
//! goes to another place ([`Log::collides`]). A slot that was programmed never reads as ones: for a page of ones
//! another page stands, which is told in the same way.

use alloc::vec::Vec;

use wearwell_flash::{ErrorKind, Nand, PageAddr, ReadReport};

use super::checkpoint_bytes::number_in;
use super::nand::{NandLog, OpenTags, page_tag};
use super::nand_groups::{Group, TagPlace};
use super::nand_tag_bytes::{GroupHead, decode_group, encode_group, encode_ones, is_for_ones};
use super::tag::{Record, TAG_BYTES, is_erased};
use super::{Kind, Log, Payload, SegmentScan, Source, Tag};
use crate::addr::{Class, Ppn, Seg};
use crate::chip_error::kind;

/// What the tag pages of a segment say.
#[derive(Debug, Default)]
struct Groups {
    /// Of the slots up to the last tag page.
    tags: Vec<Option<Tag>>,
    /// Slots of which nothing is known; in the end also suspect ones that cannot be read.
    gone: Vec<u32>,
    /// The first slot of the last group.
    last_first: u32,
    rescue_end: u32,
    /// Slots that are not erased.
    programmed: u32,
    /// A page behind the last tag page can be read.
    has_data_behind: bool,
    /// Slots that cannot be read.
    unreadable: Vec<u32>,
}

impl Groups {
    fn known(&self) -> u32 {
        self.tags.len() as u32
    }

    /// Enters slots of which nothing is known, up to `end`.
    fn lose(&mut self, end: u32, slots: usize) {
        self.gone.reserve_exact(slots - self.gone.len());
        self.gone.extend(self.known()..end);
        self.tags.resize(end as usize, None);
    }

    /// Enters a group.
    fn take(&mut self, slot: u32, head: GroupHead, tags: &[u8], slots: usize) {
        self.tags.reserve_exact(slots - self.tags.len());
        if head.first > self.known() {
            self.lose(head.first, slots);
        }
        self.tags.truncate(head.first as usize);
        self.tags.extend(tags.chunks_exact(TAG_BYTES).map(page_tag));
        // The slot of the tag page itself holds no page.
        self.tags.push(None);
        self.last_first = head.first;
        self.rescue_end = self.rescue_end.max(head.rescue_end);
        self.has_data_behind = false;
        debug_assert!(self.known() == slot + 1, "a tag page names the slots before it");
    }
}

/// Reading.
impl<N: Nand, B: Payload, T: TagPlace> NandLog<N, B, T> {
    fn place(&self, at: Ppn) -> (Seg, u32) {
        (Seg(at.0 / self.layout.slots), at.0 % self.layout.slots)
    }

    /// Reads a slot into `self.page`.
    fn read_slot(&mut self, seg: Seg, slot: u32) -> Result<(), ErrorKind> {
        let at = self.address(seg, 1 + slot);
        self.chip.read(at, &mut self.page, &mut []).map(drop).map_err(kind)
    }

    /// True if a slot reads as erased.
    pub(super) fn is_untouched(&mut self, seg: Seg, slot: u32) -> Result<bool, ErrorKind> {
        self.read_slot(seg, slot)?;
        Ok(is_erased(&self.page))
    }

    /// True if a slot is a tag page of its place.
    pub(super) fn is_tag_page(&mut self, seg: Seg, slot: u32) -> Result<bool, ErrorKind> {
        self.read_slot(seg, slot)?;
        Ok(decode_group(&self.page, seg, slot).is_some())
    }

    /// [`Log::read`].
    pub(super) fn read_untagged(&mut self, at: Ppn, data: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        let (seg, slot) = self.place(at);
        let report = self.chip.read(self.slot_address(at), data, &mut []).map_err(kind)?;
        if is_erased(data) {
            // Spec T3.
            return Err(ErrorKind::Uncorrectable);
        }
        if is_for_ones(data, seg, slot) {
            data.fill(0xFF);
        }
        Ok(report)
    }

    /// Reads what the tag pages of a segment say.
    fn read_groups(&mut self, seg: Seg) -> Result<Groups, ErrorKind> {
        let (mut found, slots) = (Groups::default(), self.layout.slots as usize);
        for slot in 0..self.layout.slots {
            match self.read_slot(seg, slot) {
                // Spec T3.
                Ok(()) if is_erased(&self.page) => break,
                Ok(()) => match decode_group(&self.page, seg, slot) {
                    // Spec T1.
                    Some((head, tags)) => found.take(slot, head, tags, slots),
                    None => found.has_data_behind = true,
                },
                Err(ErrorKind::Uncorrectable) => {
                    found.unreadable.reserve_exact(slots - found.unreadable.len());
                    found.unreadable.push(slot);
                }
                Err(error) => return Err(error),
            }
            found.programmed = slot + 1;
        }
        Ok(found)
    }

    /// Reads the tags of a segment without a summary.
    pub(super) fn scan_groups(&mut self, seg: Seg, scan: &mut SegmentScan) -> Result<(), ErrorKind> {
        let header = self.read_header(seg)?;
        let mut found = self.read_groups(seg)?;
        let (programmed, known) = (found.programmed, found.known());
        // Spec T4. An erase that was cut may leave pages that cannot be read where nothing was programmed. Where slots
        // are left, padding is behind the last tag page before a summary is begun.
        let is_summary_readable = self.is_summary_readable(seg)?;
        let is_summary_touched =
            is_summary_readable || programmed == self.layout.slots && self.has_begun_summary(seg)?;
        let shows_more = found.has_data_behind || is_summary_readable;
        let has_more = shows_more || header.is_some() && (programmed > known || is_summary_touched);
        // Spec T5: a page that cannot be read, and that no cut has hit, may have been a tag page.
        let is_hit = |slot: &u32| slot + 1 == programmed && !is_summary_touched;
        let decayed = found.unreadable.iter().rfind(|&slot| !is_hit(slot));
        let lost = decayed.map_or(known, |slot| known.max(slot + 1));
        if lost > known {
            found.lose(lost, self.layout.slots as usize);
        }
        let suspect_from = if lost > known || has_more { lost } else { found.last_first };
        // A suspect slot that cannot be read does not count, whatever a tag page says of it.
        let from = suspect_from.max(found.gone.last().map_or(0, |slot| slot + 1));
        let suspects = found.unreadable.iter().filter(|&&slot| slot >= from);
        found.gone.reserve_exact(suspects.clone().count());
        found.gone.extend(suspects);
        // Spec P3: what cannot be read leaves in doubt whether a rescue had ended. A tag page is behind its last copy.
        let end = found.rescue_end + u32::from(found.rescue_end > 0);
        let certain_to = if shows_more { known } else { found.last_first };
        let is_behind = match header {
            Some(_) => end <= suspect_from,
            None => end <= programmed + u32::from(is_summary_touched),
        };
        scan.doubts_end = certain_to < end && is_behind;
        scan.empty = found.tags.is_empty();
        // Spec T2.
        scan.needs_erase = scan.empty && (programmed > 0 || is_summary_touched);
        scan.class = found.tags.iter().flatten().next().map_or(Class(0), |tag| tag.class);
        (scan.suspect_from, scan.rescue_end) = (suspect_from, end);
        (scan.tags, scan.gone) = (found.tags, found.gone);
        self.note_header(scan, header);
        Ok(())
    }

    /// The tag of a page; `Uncorrectable` if it is not known.
    fn find_tag(&mut self, at: Ppn) -> Result<Tag, ErrorKind> {
        let (seg, slot) = self.place(at);
        let from = slot as usize * TAG_BYTES;
        // The pages of an open segment may have no tag page yet, but their tags are in memory.
        let open = self.open.iter().find(|open| open.seg == seg);
        if let Some(bytes) = open.and_then(|open| open.tags.get(from..from + TAG_BYTES)) {
            return page_tag(bytes).ok_or(ErrorKind::Uncorrectable);
        }
        // The tags of one segment are kept: a victim is emptied page by page, and they are read once.
        if self.tag_pages.get().is_none_or(|known| known.source.as_ref().is_none_or(|source| source.0 != seg)) {
            self.find_tags(seg)?;
        }
        let source = self.tag_pages.get().and_then(|known| known.source.as_ref());
        source.and_then(|(_, tags)| *tags.get(slot as usize)?).ok_or(ErrorKind::Uncorrectable)
    }

    /// Reads the tags of a segment that is copied from.
    fn find_tags(&mut self, seg: Seg) -> Result<(), ErrorKind> {
        let tags = self.scan(seg)?.unwrap_or_default().tags;
        if let Some(known) = self.tag_pages.get_mut() {
            known.source = Some((seg, tags));
        }
        Ok(())
    }

    /// Reads a page and its tag. None if one cannot be read.
    pub(super) fn read_with_its_tag(&mut self, at: Ppn, data: &mut [u8]) -> Result<Option<Tag>, ErrorKind> {
        match self.find_tag(at).and_then(|tag| self.read_untagged(at, data).map(|_| tag)) {
            Ok(tag) => Ok(Some(tag)),
            Err(ErrorKind::Uncorrectable) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a page of the checkpoint, which has no tag. Whether it is one is up to the code of all.
    pub(super) fn read_untagged_checkpoint(
        &mut self,
        page: u32,
        at: PageAddr,
        data: &mut [u8],
    ) -> Result<Option<u64>, ErrorKind> {
        match self.chip.read(at, data, &mut []).map_err(kind) {
            Ok(_) => {}
            Err(ErrorKind::Uncorrectable) => return Ok(None),
            Err(error) => return Err(error),
        }
        let Some(known) = self.tag_pages.get_mut() else { return Ok(None) };
        // The number is in the first page only. The others are taken for pages of the same checkpoint.
        if page == 0 {
            known.checkpoint_seq = number_in(data);
        }
        Ok(known.checkpoint_seq)
    }
}

/// Writing.
impl<N: Nand, B: Payload, T: TagPlace> NandLog<N, B, T> {
    /// Reads a page into `self.page`, as it was written.
    fn load(&mut self, from: Ppn) -> Result<(), ErrorKind> {
        let mut page = core::mem::take(&mut self.page);
        let read = self.read_untagged(from, &mut page);
        self.page = page;
        read.map(drop)
    }

    /// [`Log::collides`].
    pub(super) fn passes_for_own(&mut self, at: Ppn, source: Source<'_>) -> Result<bool, ErrorKind> {
        let (seg, slot) = self.place(at);
        let is_own = |data: &[u8]| decode_group(data, seg, slot).is_some() || is_for_ones(data, seg, slot);
        match source {
            Source::Host(data, _) => return Ok(is_own(data)),
            // Finding its tag takes the place of a page in memory.
            Source::Copy(from) => {
                self.find_tag(from)?;
            }
            Source::Again(..) => {}
        }
        let (Source::Copy(from) | Source::Again(from, _)) = source else { return Ok(false) };
        self.load(from)?;
        // `program_loaded` takes the page from there, which saves a second read.
        self.tag_pages.get_mut().into_iter().for_each(|known| known.loaded = Some(from));
        Ok(is_own(&self.page))
    }

    /// [`Log::append`].
    pub(super) fn append_untagged(&mut self, at: Ppn, tag: Tag, source: Source<'_>) -> Result<(), ErrorKind> {
        let (seg, slot) = self.place(at);
        let tag = match source {
            Source::Host(data, seq) => {
                self.program_host(at, data)?;
                Tag { seq, ..tag }
            }
            Source::Copy(from) if !B::STORES => {
                self.count_tags_read(self.place(from).0)?;
                self.chip.copy(self.slot_address(from), self.slot_address(at), &mut []).map_err(kind)?;
                tag
            }
            Source::Copy(from) => {
                let known = self.find_tag(from)?;
                if !known.is_page_of(tag.lpn) {
                    return Err(ErrorKind::Uncorrectable);
                }
                self.program_loaded(from, at)?;
                known
            }
            Source::Again(from, seq) => {
                self.program_loaded(from, at)?;
                Tag { seq, ..tag }
            }
        };
        self.remember(seg, Record::Page(tag).encode());
        if let Some(known) = self.tag_pages.get_mut() {
            let group = known.group_mut(seg);
            group.pending += 1;
            if slot == 0 && tag.kind == Kind::RescueMark {
                // Each tag page of the segment repeats it, because the one with the mark's tag may be gone (Spec T6).
                group.rescue_end = tag.lpn.0;
            }
        }
        Ok(())
    }

    /// Counts the reads that finding the tags of a segment takes, where none are stored.
    fn count_tags_read(&mut self, seg: Seg) -> Result<(), ErrorKind> {
        let Some(known) = self.tag_pages.get_mut() else { return Ok(()) };
        if known.source.as_ref().is_some_and(|source| source.0 == seg) {
            return Ok(());
        }
        known.source = Some((seg, Vec::new()));
        for part in 0..self.layout.summary_pages {
            let at = self.address(seg, 1 + self.layout.slots + part);
            self.chip.read(at, &mut [], &mut []).map_err(kind)?;
        }
        Ok(())
    }

    fn program_host(&mut self, at: Ppn, data: &[u8]) -> Result<(), ErrorKind> {
        let address = self.slot_address(at);
        if !B::STORES {
            return self.chip.program(address, &[], &[]).map_err(kind);
        }
        // Shorter data gets zeros behind it, and is never all ones. A page of ones would read as never programmed
        // (Spec T3).
        if data.len() == self.page.len() && is_erased(data) {
            self.page.fill(0xFF);
            return self.program_slot(at);
        }
        self.program_untagged(address, data)
    }

    /// Programs a page with data, and zeros after it.
    pub(super) fn program_untagged(&mut self, at: PageAddr, data: &[u8]) -> Result<(), ErrorKind> {
        if data.len() == self.page.len() {
            return self.chip.program(at, data, &[]).map_err(kind);
        }
        self.page[..data.len()].copy_from_slice(data);
        self.page[data.len()..].fill(0);
        self.chip.program(at, &self.page, &[]).map_err(kind)
    }

    /// Programs a slot with what the page at `from` holds.
    fn program_loaded(&mut self, from: Ppn, at: Ppn) -> Result<(), ErrorKind> {
        let loaded = self.tag_pages.get_mut().and_then(|known| known.loaded.take());
        if loaded != Some(from) {
            self.load(from)?;
        }
        self.program_slot(at)
    }

    /// Programs a slot with what is in `self.page`.
    fn program_slot(&mut self, at: Ppn) -> Result<(), ErrorKind> {
        let (seg, slot) = self.place(at);
        if is_erased(&self.page) {
            encode_ones(&mut self.page, seg, slot);
        }
        self.chip.program(self.slot_address(at), &self.page, &[]).map_err(kind)
    }

    /// [`Log::pad`]: a tag page where it ends a group; otherwise zeros, which show that the tag page before is whole.
    pub(super) fn pad_untagged(&mut self, at: Ppn) -> Result<(), ErrorKind> {
        let (seg, slot) = self.place(at);
        let slots = self.layout.slots;
        let Some(known) = self.tag_pages.get_mut() else { return Ok(()) };
        // The last slot, and one behind a full group, is a tag page even if nothing is pending.
        let is_end = known.stop_at(seg, slot, slots) == slot;
        let Group { first, pending, rescue_end, .. } = *known.group_mut(seg);
        let ends_group = pending > 0 || is_end;
        if B::STORES && ends_group {
            let open = self.open.iter().find(|open| open.seg == seg);
            let tags = open.map_or(&[][..], |open| &open.tags[first as usize * TAG_BYTES..]);
            encode_group(&mut self.page, seg, slot, GroupHead { first, rescue_end }, tags);
        } else {
            self.page.fill(0);
        }
        self.chip.program(self.slot_address(at), &self.page, &[]).map_err(kind)?;
        self.remember(seg, Record::Pad.encode());
        if let Some(known) = self.tag_pages.get_mut().filter(|_| ends_group) {
            let group = known.group_mut(seg);
            (group.before, group.first, group.pending) = (first, slot + 1, 0);
        }
        Ok(())
    }

    /// Forgets what is in memory of the tags of a segment.
    pub(super) fn drop_tags(&mut self, seg: Seg) {
        self.open.retain(|open: &OpenTags| open.seg != seg);
        if let Some(known) = self.tag_pages.get_mut() {
            known.drop_group(seg);
            known.source = known.source.take().filter(|source| source.0 != seg);
        }
    }
}
