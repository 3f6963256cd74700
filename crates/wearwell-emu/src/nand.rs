//! A NAND chip that stores, wears, fails, and survives power cuts as the contract says.
//!
//! # How it fails
//!
//! - A failed program leaves its page uncorrectable, or programmed as asked, at random; if the faults say so, only for
//!   a while. Its block is then broken: later programs and erases fail, and earlier pages stay readable. A failed erase
//!   leaves the old content or uncorrectable pages, at random. A test may name what either leaves. Marks fail if the
//!   faults say so.
//! - A block whose erases have reached its endurance fails its next erase. A marked block behaves like a broken one.
//! - An interrupted program or erase happened or not, at random, and the error is of the kind `Other`.
//! - A page decays when [`decay`](EmuNand::decay) is called.
//! - Checks beside a page notice when something else changed its bytes, and make the page uncorrectable.
//! - A program that breaks the contract (a page that is not erased, or behind a later one where the chip's order is
//!   ascending) is refused, counted in [`EmuChip::violations`], and leaves a page that was not erased uncorrectable.

mod again;
mod content;
mod torn;

use std::sync::atomic::{Ordering, compiler_fence};

use again::Undone;
use wearwell_flash::{BlockAddr, Nand, NandGeometry, PageAddr, ProgramOrder, ReadReport};

use crate::chip::{Body, Damage, EmuChip};
use crate::error::{EmuError, SetupError};
use crate::faults::{Faults, Salt, rng};
use crate::layout::{BlockRecord, flag};
use crate::page_record::{self, Checks, PAGE_RECORD_BYTES, checks_in, record};
use crate::power::{CutOutcome, OpKind};
use crate::profile::{ChipKind, ChipProfile};
use crate::store::{MemStore, Store};

/// What a page holds: the first byte of its record. The second is the detail.
mod state {
    pub(super) const ERASED: u8 = 0;
    pub(super) const PROGRAMMED: u8 = 1;
    /// Too many wrong bits.
    pub(super) const UNCORRECTABLE: u8 = 2;
    /// Reads as erased, must not be programmed.
    pub(super) const LOOKS_ERASED: u8 = 3;
    /// Reads well for now. The detail is the number of reads left, plus [`POWERED_ON`] after a power-on.
    pub(super) const FAILS_LATER: u8 = 4;
    /// Programmed over a weak erase: reads well until the next power-on.
    pub(super) const ON_WEAK_ERASE: u8 = 5;
    /// Reads well for now, whatever the power does. The detail is the number of reads left.
    pub(super) const FADES: u8 = 6;

    pub(super) const POWERED_ON: u8 = 0x80;
    /// Reads that are left of a page that fails later, or soon; and the most of one that fades.
    pub(super) const READS_LEFT: u8 = 8;
    pub(super) const READS_LEFT_SOON: u8 = 2;
    pub(super) const MOST_READS_LEFT: u8 = 40;
}

/// What a program stores.
enum Payload<'a> {
    Host { data: &'a [u8], spare: &'a [u8] },
    CopyOf(PageAddr),
}

/// An emulated NAND chip over memory or an image file.
#[derive(Debug, Clone)]
pub struct EmuNand<S: Store = MemStore> {
    geometry: NandGeometry,
    body: Body<S>,
    /// What the cut has left nothing of, until the power is on again.
    undone: Option<Undone>,
}

impl EmuNand<MemStore> {
    /// A fresh chip in memory, with its factory-bad blocks.
    ///
    /// # Errors
    /// `Profile`, `WrongKind`, `Faults` or `Memory`.
    pub fn in_memory(profile: &ChipProfile, faults: Faults) -> Result<Self, SetupError> {
        Self::fresh(profile, faults, MemStore::new)
    }
}

impl<S: Store> EmuNand<S> {
    /// The chip's bytes, as they are.
    #[cfg(test)]
    pub(crate) fn into_store(self) -> S {
        self.body.store
    }

    /// A fresh chip over the zeros that `store` makes.
    pub(crate) fn fresh(
        profile: &ChipProfile,
        faults: Faults,
        store: impl FnOnce(u64) -> Result<S, SetupError>,
    ) -> Result<Self, SetupError> {
        let body = Body::fresh(profile, faults, ChipKind::Nand, store)?;
        Ok(Self { geometry: profile.nand_geometry(), body, undone: None })
    }

    /// The chip in the bytes of `store`, which must hold one of this profile. Power comes on.
    pub(crate) fn existing(profile: &ChipProfile, faults: Faults, store: S) -> Self {
        let body = Body::new(profile, faults, store);
        let mut chip = Self { geometry: profile.nand_geometry(), body, undone: None };
        for b in 0..chip.geometry.blocks {
            // Spec I5.
            if chip.body.record(BlockAddr(b)).has(flag::ERASING) {
                chip.leave_torn_erase(BlockAddr(b), CutOutcome::EraseUncorrectable);
            }
        }
        // Opening an image switches the power on, so fragile pages age now.
        chip.power_on();
        chip
    }

    fn page_state(&self, page: PageAddr) -> (u8, u8) {
        let at = self.body.layout.page_records(page.0, 1).start;
        let bytes = &self.body.store.bytes()[at..];
        page_record::state_in(bytes)
    }

    /// What the page's bytes must hash to, if its record is as it was written.
    fn checks(&self, page: PageAddr) -> Checks {
        checks_in(self.body.store.is_checked(), &self.body.store.bytes()[self.body.layout.page_records(page.0, 1)])
    }

    /// The whole record of a page at once.
    fn set_page(&mut self, page: PageAddr, state: u8, detail: u8, checks: Checks) {
        let at = self.body.layout.page_records(page.0, 1);
        let record = record(self.body.store.is_checked(), state, detail, checks);
        self.body.store.bytes_mut()[at].copy_from_slice(&record);
    }

    /// The state of a page whose content is gone, or that never had any.
    fn set_empty(&mut self, page: PageAddr, state: u8) {
        self.set_page(page, state, 0, Checks::NONE);
    }

    fn set_all_empty(&mut self, block: BlockAddr, state: u8) {
        let g = self.geometry;
        let at = self.body.layout.page_records(g.page(block, 0).0, g.pages_per_block);
        let record = record(self.body.store.is_checked(), state, 0, Checks::NONE);
        for page in self.body.store.bytes_mut()[at].chunks_exact_mut(PAGE_RECORD_BYTES) {
            page.copy_from_slice(&record);
        }
    }

    fn check_page(&mut self, page: PageAddr) -> Result<BlockAddr, EmuError> {
        if u64::from(page.0) < self.geometry.pages() {
            return Ok(self.geometry.block_of(page));
        }
        self.body.refuse(EmuError::PageOutOfRange(page))
    }

    fn check_block(&mut self, block: BlockAddr) -> Result<(), EmuError> {
        if block.0 < self.geometry.blocks {
            return Ok(());
        }
        self.body.refuse(EmuError::BlockOutOfRange(block))
    }

    fn check_buffer(&mut self, page: PageAddr, got: usize, wanted: u32, fits: bool) -> Result<(), EmuError> {
        if fits {
            return Ok(());
        }
        self.body.refuse(EmuError::BufferLength { page, got, wanted })
    }

    /// Checks the read buffers: each has its full length, or is empty.
    fn check_read_buffers(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Result<(), EmuError> {
        for (got, wanted) in [(data.len(), self.geometry.page_bytes), (spare.len(), self.geometry.spare_bytes)] {
            self.check_buffer(page, got, wanted, got == 0 || got == wanted as usize)?;
        }
        Ok(())
    }

    /// Ages the fragile pages of a block at a power-on.
    fn age_fragile_pages(&mut self, block: BlockAddr) {
        let mut fragile = false;
        for i in 0..self.geometry.pages_per_block {
            let page = self.geometry.page(block, i);
            match self.page_state(page) {
                (state::FAILS_LATER, detail) if detail & state::POWERED_ON == 0 => {
                    // Content that does not match its check must not match it afterwards either.
                    self.set_page(page, state::FAILS_LATER, detail | state::POWERED_ON, self.checks(page));
                    fragile = true;
                }
                // This is the second power-on of a page that fails later, and the first of one on a weak erase.
                (state::FAILS_LATER | state::ON_WEAK_ERASE, _) => self.set_empty(page, state::UNCORRECTABLE),
                _ => {}
            }
        }
        // A page that fades does not depend on the power, so it needs no flag.
        if !fragile {
            let mut record = self.body.record(block);
            record.flags &= !flag::FRAGILE;
            self.body.put_record(block, &record);
        }
    }

    /// Reads a page inside the chip: counts the read and its wear, and says whether the content can be read.
    fn sense(&mut self, page: PageAddr) -> Result<ReadReport, EmuError> {
        let block = self.geometry.block_of(page);
        let mut record = self.body.record(block);
        record.reads = record.reads.saturating_add(1);
        record.reads_since_erase = record.reads_since_erase.saturating_add(1);
        // Reads disturb the block also where they fail.
        self.body.put_record(block, &record);
        match self.page_state(page) {
            (state::ERASED | state::LOOKS_ERASED, _) => Ok(ReadReport::default()),
            (state::PROGRAMMED | state::ON_WEAK_ERASE, _) => self.bit_errors(page, &record),
            // The count of reads is below the bit of the power-on, so the subtraction leaves that bit alone. Without
            // reads left the page is uncorrectable, whatever its bytes are.
            (state @ (state::FAILS_LATER | state::FADES), detail) if detail & !state::POWERED_ON != 0 => {
                self.set_page(page, state, detail - 1, self.checks(page));
                self.bit_errors(page, &record)
            }
            _ => Err(EmuError::Uncorrectable(page)),
        }
    }

    fn bit_errors(&self, page: PageAddr, record: &BlockRecord) -> Result<ReadReport, EmuError> {
        let Some(model) = &self.body.faults.bit_errors else { return Ok(ReadReport::default()) };
        let age_ns = self.body.time.now_ns().saturating_sub(record.first_program_ns);
        // The caller has counted this read already.
        let bits = model.bits(self.body.faults.seed, page.0, record.erases, record.reads_since_erase - 1, age_ns);
        if bits > model.correctable_bits {
            return Err(EmuError::Uncorrectable(page));
        }
        Ok(ReadReport { corrected_bits: bits, refresh_soon: bits >= model.refresh_bits })
    }

    /// Copies a page's content into the buffers that are not empty, or fails if it is not what was programmed.
    fn fetch(&self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Result<(), EmuError> {
        if matches!(self.page_state(page).0, state::ERASED | state::LOOKS_ERASED) {
            data.fill(0xFF);
            spare.fill(0xFF);
            return Ok(());
        }
        let (g, l, bytes) = (self.geometry, self.body.layout, self.body.store.bytes());
        // What nobody asked for is not hashed: a scan for tags reads spare bytes only.
        let stored_data = if data.is_empty() { &[] } else { &bytes[l.data(page.0, g.page_bytes)] };
        let stored_spare = if spare.is_empty() { &[] } else { &bytes[l.spare(page.0, g.spare_bytes)] };
        // Checked before they are copied: a check of the copies would wait for the copy's stores.
        let is_checked = self.body.store.is_checked();
        let (wanted, found) = (self.checks(page), Checks::of(is_checked, stored_data, stored_spare));
        let intact =
            (data.is_empty() || wanted.data == found.data) && (spare.is_empty() || wanted.spare == found.spare);
        // Spec I6.
        if !intact {
            return Err(EmuError::Uncorrectable(page));
        }
        data.copy_from_slice(stored_data);
        spare.copy_from_slice(stored_spare);
        Ok(())
    }

    /// Stores the payload of a program, without the page's record, and returns the checks for the record.
    fn store_payload(&mut self, page: PageAddr, payload: &Payload<'_>) -> Checks {
        let (g, l, is_checked) = (self.geometry, self.body.layout, self.body.store.is_checked());
        let (data_at, spare_at) = (l.data(page.0, g.page_bytes), l.spare(page.0, g.spare_bytes));
        let from_erased = |from: PageAddr| matches!(self.page_state(from).0, state::ERASED | state::LOOKS_ERASED);
        let checks = match *payload {
            Payload::Host { data, spare } => {
                let bytes = self.body.store.bytes_mut();
                bytes[data_at].copy_from_slice(data);
                let (given, rest) = bytes[spare_at.clone()].split_at_mut(spare.len());
                given.copy_from_slice(spare);
                // Spare bytes that were not given stay ones, as the contract says.
                rest.fill(0xFF);
                Checks::of(is_checked, data, &bytes[spare_at])
            }
            // The bytes of an erased page may be anything. It is what it reads as that is copied.
            Payload::CopyOf(from) if from_erased(from) => {
                let bytes = self.body.store.bytes_mut();
                bytes[data_at.clone()].fill(0xFF);
                bytes[spare_at.clone()].fill(0xFF);
                Checks::of(is_checked, &bytes[data_at], &bytes[spare_at])
            }
            Payload::CopyOf(from) => {
                // The checks are copied unchanged, so damage to the source stays visible in the copy.
                let checks = self.checks(from);
                let bytes = self.body.store.bytes_mut();
                bytes.copy_within(l.data(from.0, g.page_bytes), data_at.start);
                bytes.copy_within(l.spare(from.0, g.spare_bytes), spare_at.start);
                checks
            }
        };
        // A process that ends here leaves the page erased, never half of it: the state is stored last.
        compiler_fence(Ordering::SeqCst);
        checks
    }

    /// Reserves space for what a program of a page stores.
    fn make_room(&mut self, page: PageAddr) -> Result<(), EmuError> {
        let (g, l) = (self.geometry, self.body.layout);
        self.body.make_room(l.spare(page.0, g.spare_bytes))?;
        self.body.make_room(l.data(page.0, g.page_bytes))
    }

    /// Lets the space of an erased block go.
    fn release(&mut self, block: BlockAddr) {
        let (g, l, first) = (self.geometry, self.body.layout, self.geometry.page(block, 0).0);
        let end = first + g.pages_per_block - 1;
        self.body.store.release(l.data(first, g.page_bytes).start..l.data(end, g.page_bytes).end);
        self.body.store.release(l.spare(first, g.spare_bytes).start..l.spare(end, g.spare_bytes).end);
    }

    /// Refuses a program that breaks the contract. A program in a broken block passes, and fails later.
    fn check_programmable(&mut self, page: PageAddr, record: &BlockRecord) -> Result<(), EmuError> {
        let error = if record.has(flag::BROKEN) {
            return Ok(());
        } else if self.page_state(page).0 != state::ERASED {
            // Two programs without an erase between them leave neither content.
            self.set_empty(page, state::UNCORRECTABLE);
            EmuError::ProgrammedTwice(page)
        } else if self.geometry.program_order == ProgramOrder::Ascending
            && page.0 % self.geometry.pages_per_block < record.next_page
        {
            EmuError::OutOfOrder(page)
        } else {
            return Ok(());
        };
        self.body.refuse(error)
    }

    /// Programs an address that was checked. The caller has put the program on the timeline.
    fn program_checked(&mut self, page: PageAddr, payload: &Payload<'_>) -> Result<(), EmuError> {
        // Faults name an operation by its number, as cuts do, and `op` takes the next number.
        let op = self.body.power.ops();
        let cut = self.body.power.op(OpKind::Program, self.geometry.paired_pages);
        if cut == Some(CutOutcome::ProgramOld) {
            self.undone = Some(Undone::program(page, payload));
            return Err(EmuError::PowerCut);
        }
        self.program_with(page, payload, op, cut)
    }

    /// The program with this number, and what a cut leaves of it, if one hits it.
    fn program_with(
        &mut self,
        page: PageAddr,
        payload: &Payload<'_>,
        op: u64,
        cut: Option<CutOutcome>,
    ) -> Result<(), EmuError> {
        let block = self.geometry.block_of(page);
        let mut record = self.body.record(block);
        // A cut comes before an interruption or a failure: nobody is left to be told of them.
        let interrupted = self.body.faults.interrupts(op, page.0, record.erases).filter(|_| cut.is_none());
        if interrupted == Some(false) {
            return Err(EmuError::Interrupted);
        }
        // The age of a block's data counts from the first program after an erase.
        if record.next_page == 0 {
            record.first_program_ns = self.body.time.now_ns();
        }
        record.programs = record.programs.saturating_add(1);
        // A torn page counts as passed: only an erase makes it usable again.
        record.next_page = record.next_page.max(page.0 % self.geometry.pages_per_block + 1);
        let fails = record.has(flag::BROKEN) || self.body.faults.program_fails(op, page.0, record.erases);
        if fails && cut.is_none() {
            record.flags |= flag::GROWN_BAD;
            let named = self.body.faults.fails_as(op);
            if self.body.faults.failed_pages_fade || named.is_some() {
                record.flags |= flag::FRAGILE;
            }
            self.body.put_record(block, &record);
            match named {
                None => self.leave_failed_program(page, payload, &record),
                Some(state) => {
                    self.leave_whole_program(page, payload, &record);
                    self.leave_as(page, state);
                }
            }
            return Err(EmuError::ProgramFailed(page));
        }
        // A power-on looks only into blocks with this flag, so it is set before such a page exists.
        if record.has(flag::WEAK_ERASE)
            || matches!(
                cut,
                Some(
                    CutOutcome::ProgramFailsLater
                        | CutOutcome::ProgramFailsSoon
                        | CutOutcome::ProgramHarmsSomePairs { .. }
                        | CutOutcome::Each { .. }
                )
            )
        {
            record.flags |= flag::FRAGILE;
        }
        self.body.put_record(block, &record);
        use CutOutcome::{Each, ProgramHarmsPairs, ProgramHarmsSomePairs, ProgramNew, ProgramPairedDamage};
        match cut {
            None | Some(ProgramNew | ProgramHarmsPairs | ProgramHarmsSomePairs { .. } | Each { .. }) => {
                self.leave_whole_program(page, payload, &record);
            }
            Some(outcome) => self.leave_torn_program(page, payload, outcome),
        }
        // Behind the program: what is copied may be one of the pages that are harmed, and so may this page.
        if let Some(ProgramPairedDamage | ProgramHarmsPairs) = cut {
            self.harm_pairs(page);
        }
        if let Some(ProgramHarmsSomePairs { seed }) = cut {
            self.harm_some_pairs(page, &mut rng(seed, Salt::TornErase, page.0, record.erases));
        }
        if let Some(Each { states }) = cut {
            self.leave_group(page, states);
        }
        match cut {
            Some(_) => Err(EmuError::PowerCut),
            None if interrupted.is_some() => Err(EmuError::Interrupted),
            None => Ok(()),
        }
    }

    /// Makes a page that holds something uncorrectable, at any time. False if it holds nothing.
    pub fn decay(&mut self, page: PageAddr) -> bool {
        let is_inside = u64::from(page.0) < self.geometry.pages();
        let holds = is_inside && !matches!(self.page_state(page).0, state::ERASED | state::LOOKS_ERASED);
        if holds {
            self.set_empty(page, state::UNCORRECTABLE);
        }
        holds
    }

    /// Brings every page of a block into one state and counts the erase. If the process ends in between, the flag makes
    /// the image open with a torn erase.
    fn finish_erase(&mut self, block: BlockAddr, pages: u8, flags: u32) {
        let mut record = self.body.record(block);
        record.flags |= flag::ERASING;
        self.body.put_record(block, &record);
        compiler_fence(Ordering::SeqCst);
        self.set_all_empty(block, pages);
        compiler_fence(Ordering::SeqCst);
        record.erases = record.erases.saturating_add(1);
        // Where pages are not erased, only another erase makes the block usable.
        record.next_page = if pages == state::ERASED { 0 } else { self.geometry.pages_per_block };
        record.reads_since_erase = 0;
        self.body.put_record(block, &record);
        // The flag is cleared last. Otherwise a process that ends here could leave an erased block that takes no
        // program.
        compiler_fence(Ordering::SeqCst);
        record.flags = record.flags & !(flag::ERASING | flag::WEAK_ERASE | flag::FRAGILE) | flags;
        self.body.put_record(block, &record);
    }
}

impl<S: Store> EmuChip for EmuNand<S> {
    type Store = S;

    fn body(&self) -> &Body<S> {
        &self.body
    }

    fn body_mut(&mut self) -> &mut Body<S> {
        &mut self.body
    }

    fn cut_again(&mut self, outcome: CutOutcome) -> bool {
        self.cut_undone(outcome)
    }

    fn fingerprint(&self) -> u64 {
        self.hash()
    }

    fn damage(&self) -> Vec<Damage> {
        let pages = (0..self.geometry.pages() as u32).filter_map(|page| self.damage_of(PageAddr(page)));
        self.body.found.iter().copied().chain(pages).collect()
    }

    /// Without a cut before, this is an orderly power cycle. Pages that fail later still do so in their time.
    fn power_on(&mut self) {
        self.undone = None;
        self.body.power.on();
        self.body.time.power_off();
        for b in 0..self.geometry.blocks {
            if self.body.record(BlockAddr(b)).has(flag::FRAGILE) {
                self.age_fragile_pages(BlockAddr(b));
            }
        }
    }
}

impl<S: Store> Nand for EmuNand<S> {
    type Error = EmuError;

    fn geometry(&self) -> NandGeometry {
        self.geometry
    }

    fn read(&mut self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Result<ReadReport, EmuError> {
        self.body.power.check()?;
        let block = self.check_page(page)?;
        self.check_read_buffers(page, data, spare)?;
        self.body.counts.reads += 1;
        self.body.time.read(self.geometry.die_of(block), (data.len() + spare.len()) as u32);
        let read = self.sense(page).and_then(|report| self.fetch(page, data, spare).map(|()| report));
        match read {
            Ok(report) => Ok(report),
            Err(error) => {
                // The contract leaves the buffers undefined, and a layer that uses them has to be found out.
                let mut noise = rng(self.body.faults.seed, Salt::Noise, page.0, 0);
                noise.fill(data);
                noise.fill(spare);
                Err(error)
            }
        }
    }

    fn program(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Result<(), EmuError> {
        self.body.power.check()?;
        let block = self.check_page(page)?;
        let g = self.geometry;
        self.check_buffer(page, data.len(), g.page_bytes, data.len() == g.page_bytes as usize)?;
        self.check_buffer(page, spare.len(), g.spare_bytes, spare.len() <= g.spare_bytes as usize)?;
        self.check_programmable(page, &self.body.record(block))?;
        // Before anything is counted: without space nothing has happened.
        self.make_room(page)?;
        self.body.counts.programs += 1;
        self.body.time.program(g.die_of(block), g.page_bytes + g.spare_bytes);
        self.program_checked(page, &Payload::Host { data, spare })
    }

    fn copy(&mut self, from: PageAddr, to: PageAddr, spare: &mut [u8]) -> Result<ReadReport, EmuError> {
        self.body.power.check()?;
        let (from_block, to_block) = (self.check_page(from)?, self.check_page(to)?);
        self.check_read_buffers(from, &[], spare)?;
        let g = self.geometry;
        let report = match self.sense(from).and_then(|report| self.fetch(from, &mut [], spare).map(|()| report)) {
            Ok(report) => report,
            Err(error) => {
                // A copy whose read fails has programmed nothing. It costs a read.
                self.body.counts.reads += 1;
                self.body.time.read(g.die_of(from_block), g.page_bytes + g.spare_bytes);
                return Err(error);
            }
        };
        // Only behind the read. This check may damage the target, and a copy whose read fails must leave it as it was.
        self.check_programmable(to, &self.body.record(to_block))?;
        self.make_room(to)?;
        self.body.counts.copies += 1;
        self.body.time.copy(g.die_of(from_block), g.die_of(to_block), g.page_bytes + g.spare_bytes);
        self.program_checked(to, &Payload::CopyOf(from))?;
        Ok(report)
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), EmuError> {
        self.body.power.check()?;
        self.check_block(block)?;
        let op = self.body.power.ops();
        let cut = self.body.power.op(OpKind::Erase, self.geometry.paired_pages);
        self.body.counts.erases += 1;
        self.body.time.erase(self.geometry.die_of(block));
        // As for a program: nobody is left to be told of a failure or an interruption.
        if let Some(outcome) = cut {
            self.undone = (outcome == CutOutcome::EraseOld).then_some(Undone::Erase(block));
            self.leave_torn_erase(block, outcome);
            return Err(EmuError::PowerCut);
        }
        let record = self.body.record(block);
        let interrupted = self.body.faults.interrupts(op, block.0, record.erases);
        if interrupted == Some(false) {
            return Err(EmuError::Interrupted);
        }
        if record.has(flag::BROKEN) || record.worn_out() || self.body.faults.erase_fails(op, block.0, record.erases) {
            return Err(self.fail_erase(block, record, op));
        }
        self.finish_erase(block, state::ERASED, 0);
        // An erased page reads as erased whatever its bytes are.
        self.release(block);
        if interrupted.is_some() { Err(EmuError::Interrupted) } else { Ok(()) }
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, EmuError> {
        self.body.power.check()?;
        self.check_block(block)?;
        Ok(self.body.record(block).has(flag::FACTORY_BAD | flag::MARKED_BAD))
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), EmuError> {
        self.body.power.check()?;
        self.check_block(block)?;
        let op = self.body.power.ops();
        let cut = self.body.power.op(OpKind::MarkBad, self.geometry.paired_pages);
        if cut.is_none() && self.body.faults.fail_marks.contains(&op) {
            return Err(EmuError::MarkFailed(block));
        }
        if cut == Some(CutOutcome::MarkOld) {
            self.undone = Some(Undone::MarkBad(block));
        } else {
            let mut record = self.body.record(block);
            record.flags |= flag::MARKED_BAD;
            self.body.put_record(block, &record);
        }
        if cut.is_some() { Err(EmuError::PowerCut) } else { Ok(()) }
    }
}
