//! `nor`: the layout of the two papers, with flags that are cleared in place.
//!
//! ```text
//! byte 0    segment header: magic, version and logical pages, times erased, CRC; programmed when the erase has ended
//! byte 16   opening: age clock, class, CRC; programmed when the segment is opened
//! byte 64   an entry of 8 bytes for each slot: LPN (3), updates (2), CRC-16 (2), flags (1)
//! …         the data of the slots, up to the end of the block
//! ```
//!
//! An entry is written in Kawaguchi's order ('95, section 2.4): allocated; number and data; pre-valid; then the old
//! copy invalid; then valid. A flag is set by clearing its bit. If the bank of the old copy is erasing, the last two
//! steps wait in a queue.
//!
//! *Updates* is the FMS paper's count of updates of the block (Chiang '97, section 3.1), modulo 2¹⁶. It also orders
//! copies: with the queue a page may have three copies that are not flagged invalid, and Kawaguchi's flags order only
//! two. Before a segment is erased, its header is cleared to zeros, because an erase that is cut leaves any bits and
//! there is no error-correcting code. Without its header nothing in the block is believed.
//!
//! Nothing of a slot is programmed before its allocated flag, so a slot whose entry is erased was never touched. A
//! segment that was open when the power failed is continued behind the last touched slot, or in it, if it is not
//! pre-valid and gets the copy that it was begun with. This is necessary: cleaning flags each original invalid at once,
//! so a mount cannot go back to the originals as on NAND.
//!
//! # Programs that fail
//!
//! A block in which a program failed may not take flags any more, so copies in it may look valid for ever. As long as
//! their page is mapped, their updates are older and they lose. But they would come back after a discard, or when the
//! updates have wrapped. So the engine is told of the segment ([`Log::take_failed`]). Before it discards anything, it
//! moves the valid pages out of the segment and retires it. [`Log::retire`] damages the header until it cannot be read;
//! one changed bit is enough. Then a mount believes nothing in the block.

use alloc::vec::Vec;
use core::marker::PhantomData;

use wearwell_flash::{BlockAddr, ErrorKind, Nor, NorAddr, ReadReport};

use super::nor_bytes::flag::{ALLOCATED, INVALID, PRE_VALID, VALID};
use super::nor_bytes::part::{ENTRIES, HEADER, OPENING};
use super::nor_bytes::{
    self, ENTRY_BODY_BYTES, ENTRY_BYTES, FLAGS_AT, HEADER_BYTES, MAX_PAGES, OPENING_BYTES, VERSION,
};
use super::tag::is_erased;
use super::{Discards, EraseProgress, Kind, Log, LogShape, Payload, SegmentHeader, SegmentScan, Source, Stored};
use crate::addr::{Class, Lpn, Ppn, Seg};
use crate::chip_error::kind;

/// Flag updates that wait for an erase; Kawaguchi has 600 entries for the 500 blocks that can be written in the
/// second an erase takes ('95, section 2.4).
const QUEUE_ENTRIES: usize = 600;

/// Bytes that are compared at once.
const PART_BYTES: usize = 32;

/// Most attempts to damage the header of a failed block by programming zeros.
const RETIRE_PROGRAMS: u32 = 8;

/// The chip cannot hold this layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a block of {block_bytes} bytes does not hold {slots} slots of {page_bytes} bytes and a header of {overhead_bytes}"
)]
pub struct NorLayoutError {
    /// Bytes in a block.
    pub block_bytes: u32,
    /// Slots asked for.
    pub slots: u32,
    /// Bytes of each.
    pub page_bytes: u32,
    /// Bytes that header and entries take.
    pub overhead_bytes: u32,
}

/// A flag update that waits for an erase.
#[derive(Debug, Clone, Copy)]
struct Pending {
    old: Ppn,
    new: Ppn,
}

/// A log on NOR.
#[derive(Debug, Clone)]
pub struct NorLog<N, B = Stored> {
    chip: N,
    payload: PhantomData<B>,
    slots: u32,
    page_bytes: u32,
    data_offset: u32,
    /// Logical pages of the device.
    logical_pages: u32,
    erasing: Option<(Seg, u32)>,
    /// An erase that ended while the log waited for it, to be reported to the engine.
    ended: Option<(Seg, Result<(), ErrorKind>)>,
    queue: Vec<Pending>,
    /// Segments in which a flag could not be cleared, until the engine has taken them.
    failed: Vec<Seg>,
    /// Host pages whose append failed. Such an append may leave an entry that looks complete. Updates skip this number,
    /// so that later entries are newer.
    failed_appends: u16,
    /// Slots that a mount has found begun, each the last one of its block that was touched.
    begun: Vec<Ppn>,
    page: Vec<u8>,
}

impl<N: Nor> NorLog<N> {
    /// A log over a chip, each block of which is a segment of `slots` pages of `page_bytes`.
    ///
    /// # Errors
    /// If that does not fit a block.
    pub fn new(chip: N, slots: u32, page_bytes: u32) -> Result<Self, NorLayoutError> {
        Self::with_payload(chip, slots, page_bytes)
    }
}

impl<N: Nor, B: Payload> NorLog<N, B> {
    /// Most slots of `page_bytes` in a block.
    pub fn most_slots(block_bytes: u32, page_bytes: u32) -> u32 {
        block_bytes.saturating_sub(ENTRIES) / page_bytes.saturating_add(ENTRY_BYTES as u32)
    }

    /// As [`new`](NorLog::new), with bytes stored or counted.
    ///
    /// # Errors
    /// As it has.
    pub fn with_payload(chip: N, slots: u32, page_bytes: u32) -> Result<Self, NorLayoutError> {
        let block_bytes = chip.geometry().block_bytes;
        let overhead_bytes = ENTRIES + slots * ENTRY_BYTES as u32;
        let fits = u64::from(slots) * u64::from(page_bytes) + u64::from(overhead_bytes) <= u64::from(block_bytes);
        // `Slots` cannot divide by one.
        if !fits || slots < 2 {
            return Err(NorLayoutError { block_bytes, slots, page_bytes, overhead_bytes });
        }
        Ok(Self {
            chip,
            payload: PhantomData,
            slots,
            page_bytes,
            data_offset: block_bytes - slots * page_bytes,
            logical_pages: 0,
            erasing: None,
            ended: None,
            queue: Vec::with_capacity(QUEUE_ENTRIES),
            failed: Vec::new(),
            failed_appends: 0,
            begun: Vec::new(),
            page: alloc::vec![0; page_bytes as usize],
        })
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

    fn at(seg: Seg, offset: u32) -> NorAddr {
        NorAddr { block: BlockAddr(seg.0), offset }
    }

    fn entry(&self, at: Ppn) -> NorAddr {
        Self::at(Seg(at.0 / self.slots), ENTRIES + at.0 % self.slots * ENTRY_BYTES as u32)
    }

    fn data(&self, at: Ppn) -> NorAddr {
        Self::at(Seg(at.0 / self.slots), self.data_offset + at.0 % self.slots * self.page_bytes)
    }

    fn program(&mut self, at: NorAddr, bytes: &[u8]) -> Result<(), ErrorKind> {
        self.chip.program(at, bytes).map_err(kind)
    }

    fn read_bytes(&mut self, at: NorAddr, bytes: &mut [u8]) -> Result<(), ErrorKind> {
        self.chip.read(at, bytes).map_err(kind)
    }

    fn clear_flag(&mut self, at: Ppn, flag: u8) -> Result<(), ErrorKind> {
        let entry = self.entry(at);
        self.program(NorAddr { offset: entry.offset + FLAGS_AT, ..entry }, &[flag])
    }

    /// Clears a flag of an entry whose updates already carry the same information. A failure of its block is noted and
    /// is not an error.
    fn clear_flag_or_note(&mut self, at: Ppn, flag: u8) -> Result<(), ErrorKind> {
        match self.clear_flag(at, flag) {
            Err(ErrorKind::ProgramFailed) => {
                self.note_failure(at);
                Ok(())
            }
            cleared => cleared,
        }
    }

    #[cold]
    fn note_failure(&mut self, at: Ppn) {
        let seg = Seg(at.0 / self.slots);
        if !self.failed.contains(&seg) {
            self.failed.push(seg);
        }
    }

    fn bank(&self, seg: Seg) -> u32 {
        self.chip.geometry().bank_of(BlockAddr(seg.0)).0
    }

    /// True if the page lies in the bank that is erasing.
    fn is_behind_erase(&self, at: Ppn) -> bool {
        self.erasing.is_some_and(|(seg, _)| self.bank(seg) == self.bank(Seg(at.0 / self.slots)))
    }

    fn program_header(&mut self, seg: Seg, erases: u32) -> Result<(), ErrorKind> {
        let header = nor_bytes::encode_header(erases, self.logical_pages);
        self.program(Self::at(seg, HEADER), &header)
    }

    /// Ends the erase: makes the flag updates that waited, and writes the new header.
    fn finish(&mut self) -> Option<(Seg, Result<(), ErrorKind>)> {
        let (seg, erases) = self.erasing.take()?;
        let bank = self.chip.geometry().bank_of(BlockAddr(seg.0));
        let erased = self.chip.erase_finish(bank).map_err(kind);
        // The flags are updated even if the erase failed, because the queue is about other segments of the bank.
        let updated = self.update_flags();
        Some((seg, updated.and(erased).and_then(|()| self.program_header(seg, erases))))
    }

    /// Makes the flag updates that waited. A failed update does not concern the segment that was erased.
    fn update_flags(&mut self) -> Result<(), ErrorKind> {
        for index in 0..self.queue.len() {
            let Pending { old, new } = self.queue[index];
            self.clear_flag_or_note(old, INVALID)?;
            self.clear_flag_or_note(new, VALID)?;
        }
        // An error leaves the whole queue for the next attempt. To clear a flag twice does no harm.
        self.queue.clear();
        Ok(())
    }

    /// Waits for the erase now. The engine is told later.
    fn wait_inside(&mut self) -> Result<(), ErrorKind> {
        if let Some(ended) = self.finish() {
            assert!(self.ended.is_none(), "one erase at a time");
            self.ended = Some(ended);
            // Any other error is reported with the erased segment, and does not fail this call.
            if let Err(ErrorKind::Unresponsive) = ended.1 {
                return Err(ErrorKind::Unresponsive);
            }
        }
        Ok(())
    }

    /// The updates of a page, from the entry of its newest copy.
    fn updates(&mut self, at: Ppn) -> Result<u16, ErrorKind> {
        self.read_entry(at).map(|entry| nor_bytes::updates(&entry))
    }

    /// The opening record of a segment: age clock and class.
    fn read_opening(&mut self, seg: Seg) -> Result<Option<(u64, Class)>, ErrorKind> {
        let mut bytes = [0; OPENING_BYTES];
        self.read_bytes(Self::at(seg, OPENING), &mut bytes)?;
        Ok(nor_bytes::decode_opening(&bytes))
    }

    /// The header of a segment, if there is a good one.
    fn read_header(&mut self, seg: Seg) -> Result<Option<SegmentHeader>, ErrorKind> {
        let mut bytes = [0; HEADER_BYTES];
        self.read_bytes(Self::at(seg, HEADER), &mut bytes)?;
        Ok(nor_bytes::decode_header(&bytes))
    }

    fn read_entry(&mut self, at: Ppn) -> Result<[u8; ENTRY_BYTES], ErrorKind> {
        let mut entry = [0; ENTRY_BYTES];
        self.read_bytes(self.entry(at), &mut entry)?;
        Ok(entry)
    }
}

impl<N: Nor, B: Payload> Log for NorLog<N, B> {
    const STORES: bool = B::STORES;
    const DISCARDS: Discards = Discards::Flagged;

    fn shape(&self) -> LogShape {
        let geometry = self.chip.geometry();
        LogShape {
            segments: geometry.blocks,
            slots: self.slots,
            overhead_pages: 0,
            data_slots: self.slots,
            filled_slots: self.slots,
            group_pages: 1,
            rescue_pages: u32::MAX,
            ops_per_page: 9,
            banks: geometry.banks,
            page_bytes: self.page_bytes,
            max_logical_pages: MAX_PAGES,
        }
    }

    fn set_capacity(&mut self, logical_pages: u32) {
        assert!(logical_pages <= MAX_PAGES, "the engine asks the shape first");
        self.logical_pages = logical_pages;
    }

    fn forget(&mut self) {
        self.queue.clear();
        self.failed.clear();
        self.begun.clear();
        self.ended = None;
        if let Some((seg, _)) = self.erasing.take() {
            let bank = self.chip.geometry().bank_of(BlockAddr(seg.0));
            // The header is missing, so the next mount takes the erase for cut, however it ended.
            let _ = self.chip.erase_finish(bank);
        }
    }

    fn open(&mut self, seg: Seg, class: Class, age_clock: u64) -> Result<u32, ErrorKind> {
        let bytes = nor_bytes::encode_opening(age_clock, class);
        self.program(Self::at(seg, OPENING), &bytes).map(|()| 0)
    }

    fn append(
        &mut self,
        at: Ppn,
        lpn: Lpn,
        _class: Class,
        _kind: Kind,
        source: Source<'_>,
        replaces: Ppn,
    ) -> Result<(), ErrorKind> {
        assert!(lpn.0 < MAX_PAGES, "an entry holds 24 bits of page number");
        // An unmapped page begins anew: no older copy of it looks valid (`invalidate`).
        let mut updates = if replaces.is_some() { self.updates(replaces)? } else { 0 };
        let mut page = core::mem::take(&mut self.page);
        match source {
            Source::Host(data, _) => {
                // The count wraps, and only differences are looked at (Spec O7).
                updates = updates.wrapping_add(u16::from(replaces.is_some())).wrapping_add(self.failed_appends);
                page.iter_mut().zip(data).for_each(|(to, from)| *to = *from);
            }
            Source::Copy(from) | Source::Again(from, _) => {
                if let Err(error) = self.read_bytes(self.data(from), &mut page) {
                    self.page = page;
                    return Err(error);
                }
            }
        }
        let written = self.write_entry(at, lpn, updates, &page);
        self.page = page;
        if written.is_err() && matches!(source, Source::Host(..)) {
            // The entry of this attempt may look complete, so the next one skips its number.
            self.failed_appends = self.failed_appends.wrapping_add(1);
        }
        written?;
        self.supersede(at, replaces)
    }

    #[inline]
    fn collides(&mut self, at: Ppn, source: Source<'_>) -> Result<bool, ErrorKind> {
        if !self.begun.contains(&at) {
            return Ok(false);
        }
        // Whatever the answer is, the slot is used now or passed over.
        self.begun.retain(|&begun| begun != at);
        // Spec O6: only a copy may be what the slot was begun with.
        let (Source::Copy(from) | Source::Again(from, _)) = source else { return Ok(true) };
        self.is_in_the_way(at, from)
    }

    fn erase(&mut self, seg: Seg, erases: u32) -> Result<(EraseProgress, u32), ErrorKind> {
        self.begun.retain(|begun| begun.0 / self.slots != seg.0);
        assert!(self.erasing.is_none() && self.ended.is_none(), "one erase at a time");
        // A cut erase may leave any bits, but without its header nothing in the block is believed (Spec O1).
        self.program(Self::at(seg, HEADER), &[0; ENTRIES as usize])?;
        self.chip.erase_start(BlockAddr(seg.0)).map_err(kind)?;
        self.erasing = Some((seg, erases));
        Ok((EraseProgress::InBackground, 0))
    }

    fn poll_erase(&mut self) -> Option<(Seg, Result<(), ErrorKind>)> {
        if let Some(ended) = self.ended.take() {
            return Some(ended);
        }
        let (seg, _) = self.erasing?;
        let bank = self.chip.geometry().bank_of(BlockAddr(seg.0));
        if self.chip.erase_ready(bank) { self.finish() } else { None }
    }

    fn wait_erase(&mut self) -> Option<(Seg, Result<(), ErrorKind>)> {
        self.ended.take().or_else(|| self.finish())
    }

    fn is_erasing(&mut self, bank: u32) -> bool {
        self.erasing.is_some_and(|(seg, _)| self.bank(seg) == bank)
    }

    fn read(&mut self, at: Ppn, _lpn: Lpn, data: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        if B::STORES {
            self.read_bytes(self.data(at), data)?;
        } else {
            let at = self.data(at);
            self.chip.read(at, &mut self.page).map_err(kind)?;
        }
        Ok(ReadReport::default())
    }

    /// A discard is durable at once and does not wait in the queue. A page that is written again afterwards starts with
    /// no updates, so no older copy may still look valid.
    fn invalidate(&mut self, at: Ppn) -> Result<(), ErrorKind> {
        if !self.queue.is_empty() || self.is_behind_erase(at) {
            self.wait_inside()?;
        }
        // An update that waited may have failed. The newest copy is not invalidated while an older one looks valid.
        if self.failed.is_empty() {
            self.clear_flag_or_note(at, INVALID)?;
        }
        if self.failed.is_empty() { Ok(()) } else { Err(ErrorKind::ProgramFailed) }
    }

    #[inline]
    fn take_failed(&mut self) -> Option<Seg> {
        self.failed.pop()
    }

    fn is_bad(&mut self, _seg: Seg) -> Result<bool, ErrorKind> {
        Ok(false)
    }

    fn retire(&mut self, seg: Seg) -> Result<(), ErrorKind> {
        if self.is_behind_erase(Ppn(seg.0 * self.slots)) {
            self.wait_inside()?;
        }
        // A program that fails may still have changed a bit, so the header is read after each.
        for _ in 0..RETIRE_PROGRAMS {
            match self.program(Self::at(seg, HEADER), &[0; ENTRIES as usize]) {
                Ok(()) | Err(ErrorKind::ProgramFailed) => {}
                Err(error) => return Err(error),
            }
            if !B::STORES || self.read_header(seg)?.is_none() {
                return Ok(());
            }
        }
        Err(ErrorKind::ProgramFailed)
    }

    fn is_blank(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        let block_bytes = self.chip.geometry().block_bytes;
        let mut page = core::mem::take(&mut self.page);
        let mut blank = Ok(true);
        for offset in (0..block_bytes).step_by(page.len()) {
            let part = &mut page[..(block_bytes - offset).min(self.page_bytes) as usize];
            blank = self.read_bytes(Self::at(seg, offset), part).map(|()| is_erased(part));
            if blank != Ok(true) {
                break;
            }
        }
        self.page = page;
        blank
    }

    fn is_half_erased(&mut self, _seg: Seg) -> Result<bool, ErrorKind> {
        Ok(false)
    }

    fn scan(&mut self, seg: Seg) -> Result<Option<SegmentScan>, ErrorKind> {
        if !B::STORES {
            return Ok(Some(SegmentScan { empty: true, needs_erase: true, ..SegmentScan::default() }));
        }
        // Spec O1.
        let Some(header) = self.read_header(seg)? else {
            return Ok(Some(SegmentScan { empty: true, needs_erase: true, ..SegmentScan::default() }));
        };
        // Spec O4.
        let opening = self.read_opening(seg)?;
        let mut scan = SegmentScan {
            erases: Some(header.erases),
            opened: opening.map(|(clock, _)| clock),
            class: opening.map_or(Class(0), |(_, class)| class),
            suspect_from: self.slots,
            sealed: true,
            empty: true,
            ..SegmentScan::default()
        };
        // Spec O2.
        scan.compare(&header, VERSION..=VERSION, self.logical_pages);
        let (mut next, mut is_begun) = (0, false);
        for slot in 0..self.slots {
            let entry = self.read_entry(Ppn(seg.0 * self.slots + slot))?;
            let untouched = is_erased(&entry);
            if !untouched {
                next = slot + 1;
                is_begun = nor_bytes::is_begun(&entry);
            }
            // This says only that the block was not open: pages on NOR are never suspect.
            scan.sealed &= !untouched;
            scan.empty &= untouched;
            scan.tags.push(nor_bytes::decode_entry(&entry));
        }
        // Spec O6.
        if is_begun {
            next -= 1;
            self.begun.push(Ppn(seg.0 * self.slots + next));
        }
        scan.resume_at = (!scan.empty && next < self.slots).then_some(next);
        // Spec O3: with an opening but no entry, the block holds nothing, but it cannot be opened again without an
        // erase.
        let mut first = [0; OPENING_BYTES];
        self.read_bytes(Self::at(seg, OPENING), &mut first)?;
        scan.needs_erase = scan.empty && !is_erased(&first);
        Ok(Some(scan))
    }

    fn newer(a: u64, b: u64) -> core::cmp::Ordering {
        // Spec O7: as a signed number the difference is greater than 0 for the 2^15 − 1 numbers that follow.
        (a as u16).wrapping_sub(b as u16).cast_signed().cmp(&0)
    }

    fn confirm(&mut self, winner: &dyn Fn(Lpn) -> Ppn) -> Result<(), ErrorKind> {
        for seg in (0..self.chip.geometry().blocks).map(Seg) {
            // Spec O1: nothing in there is believed, so its flags do not matter.
            if self.read_header(seg)?.is_none() {
                continue;
            }
            for at in (seg.0 * self.slots..(seg.0 + 1) * self.slots).map(Ppn) {
                let entry = self.read_entry(at)?;
                let Some(tag) = nor_bytes::decode_entry(&entry) else { continue };
                // Spec O8.
                if winner(tag.lpn) != at {
                    self.clear_flag_or_note(at, INVALID)?;
                } else if !nor_bytes::has_flag(&entry, VALID) {
                    self.clear_flag_or_note(at, VALID)?;
                }
            }
        }
        Ok(())
    }
}

impl<N: Nor, B: Payload> NorLog<N, B> {
    /// True if a slot that was begun does not hold what a copy needs: a program only clears bits.
    fn is_in_the_way(&mut self, at: Ppn, from: Ppn) -> Result<bool, ErrorKind> {
        let clears_all =
            |begun: &[u8], wanted: &[u8]| begun.iter().zip(wanted).all(|(begun, wanted)| begun & wanted == *wanted);
        let (begun, wanted) = (self.read_entry(at)?, self.read_entry(from)?);
        // The flags are not in it: each is cleared by itself.
        let mut fits = clears_all(&begun[..ENTRY_BODY_BYTES], &wanted[..ENTRY_BODY_BYTES]);
        let (mut part, mut offset) = ([[0; PART_BYTES]; 2], 0);
        // In small parts, since the log has memory for one page only.
        while fits && offset < self.page_bytes {
            let bytes = PART_BYTES.min((self.page_bytes - offset) as usize);
            for (part, slot) in part.iter_mut().zip([at, from]) {
                let data = self.data(slot);
                self.read_bytes(NorAddr { offset: data.offset + offset, ..data }, &mut part[..bytes])?;
            }
            fits = clears_all(&part[0][..bytes], &part[1][..bytes]);
            offset += bytes as u32;
        }
        Ok(!fits)
    }

    /// Steps 1 to 3 of the flag order: the new copy is complete, and the old one still valid.
    fn write_entry(&mut self, at: Ppn, lpn: Lpn, updates: u16, page: &[u8]) -> Result<(), ErrorKind> {
        // This comes before any other bit: an erased entry proves that its slot was never touched (decision 11).
        self.clear_flag(at, ALLOCATED)?;
        let entry = nor_bytes::encode_entry(lpn, updates);
        self.program(self.entry(at), &entry)?;
        self.program(self.data(at), page)?;
        self.clear_flag(at, PRE_VALID)
    }

    /// Steps 4 and 5: the old copy becomes invalid, then the new one valid. If the bank of the old copy is erasing,
    /// they wait in the queue. If the queue is full, the call waits for the erase.
    fn supersede(&mut self, new: Ppn, old: Ppn) -> Result<(), ErrorKind> {
        // A bank that erases takes no programs.
        if old.is_some() && self.is_behind_erase(old) {
            if self.queue.len() == QUEUE_ENTRIES {
                self.wait_inside()?;
            } else {
                self.queue.push(Pending { old, new });
                return Ok(());
            }
        }
        if old.is_some() {
            self.clear_flag_or_note(old, INVALID)?;
        }
        self.clear_flag_or_note(new, VALID)
    }
}
