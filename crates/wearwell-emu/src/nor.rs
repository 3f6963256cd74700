//! A NOR chip that stores, wears, fails, and survives power cuts as the contract says.
//!
//! # How it errs
//!
//! - A failed program clears some of its bits and breaks its block: later programs and erases of it fail. A failed
//!   erase leaves, by a draw, the old content or any bits.
//! - A block erased as often as its endurance fails its next erase.
//! - Calls that break the contract (a program or an erase in a bank that erases, a read of the block being erased) are
//!   refused and counted in [`EmuNor::violations`].
//!
//! # How long an erase takes
//!
//! With times, until the timeline passes its end. Without, for a number of further calls on the chip, five unless
//! [`EmuNor::set_erase_calls`] says otherwise. Bits change when it ends.

use std::io;

use wearwell_flash::{BankAddr, BlockAddr, Nor, NorAddr, NorGeometry};

use crate::count::Counts;
use crate::error::{EmuError, SetupError};
use crate::faults::{Faults, Salt, rng};
use crate::layout::{self, BlockRecord, Layout, flag};
use crate::nand::{BlockCounts, check_setup, make_fresh};
use crate::power::{CutOutcome, OpKind, Power, PowerCut};
use crate::profile::{ChipKind, ChipProfile};
use crate::store::{MemStore, Store};
use crate::timeline::Timeline;

/// NOR cells are not shared.
const PAIRED_PAGES: u32 = 1;

/// The erase of a bank: in progress, or ended and not yet asked for.
#[derive(Debug, Clone, Copy)]
struct Erase {
    block: BlockAddr,
    /// Further calls until it ends, on a chip without times.
    calls_left: u32,
    fails: bool,
    ended: bool,
}

/// An emulated NOR chip over memory or an image file. The image keeps every bit inverted, so that erased is zero.
#[derive(Debug, Clone)]
pub struct EmuNor<S: Store = MemStore> {
    geometry: NorGeometry,
    layout: Layout,
    store: S,
    faults: Faults,
    power: Power,
    time: Timeline,
    counts: Counts,
    violations: u64,
    /// One for each bank.
    erases: Vec<Option<Erase>>,
    erase_calls: u32,
}

impl EmuNor<MemStore> {
    /// A fresh chip in memory.
    ///
    /// # Errors
    /// `Profile`, `WrongKind`, `Faults` or `Memory`.
    pub fn in_memory(profile: &ChipProfile, faults: Faults) -> Result<Self, SetupError> {
        Self::fresh(profile, faults, MemStore::new)
    }
}

impl<S: Store> EmuNor<S> {
    /// A fresh chip over the zeros that `store` makes.
    pub(crate) fn fresh(
        profile: &ChipProfile,
        faults: Faults,
        store: impl FnOnce(u64) -> Result<S, SetupError>,
    ) -> Result<Self, SetupError> {
        check_setup(profile, &faults, ChipKind::Nor)?;
        let mut store = store(Layout::new(profile).len())?;
        make_fresh(store.bytes_mut(), profile, &faults);
        Ok(Self::over(profile, faults, store))
    }

    /// The chip in the bytes of `store`, which must hold one of this profile. Erases that were going on when its
    /// process ended are torn.
    pub(crate) fn existing(profile: &ChipProfile, faults: Faults, store: S) -> Self {
        let mut chip = Self::over(profile, faults, store);
        for b in 0..chip.geometry.blocks {
            let record = chip.record(BlockAddr(b));
            if record.has(flag::ERASING) {
                let seed = rng(chip.faults.seed, Salt::TornErase, b, record.erases).u64(..);
                chip.leave_torn_erase(BlockAddr(b), CutOutcome::seeded(OpKind::NorErase, PAIRED_PAGES, seed));
            }
        }
        chip
    }

    fn over(profile: &ChipProfile, faults: Faults, store: S) -> Self {
        let mut time = Timeline::new(profile);
        time.advance_to(layout::clock_ns(store.bytes()));
        time.power_off();
        Self {
            geometry: profile.nor_geometry(),
            layout: Layout::new(profile),
            store,
            faults,
            power: Power::default(),
            time,
            counts: Counts::default(),
            violations: 0,
            erases: vec![None; profile.banks as usize],
            erase_calls: 5,
        }
    }

    /// On a chip without times, an erase ends after so many further calls.
    pub fn set_erase_calls(&mut self, calls: u32) {
        self.erase_calls = calls;
    }

    /// Lets a power cut come, or with `None` takes a coming one back. It also tears the erases in progress: with its
    /// outcome if it hits one of them, else each as drawn from the faults' seed.
    pub fn arm(&mut self, cut: Option<PowerCut>) {
        self.power.arm(cut);
    }

    /// True after a power cut, until [`power_on`](Self::power_on).
    pub fn is_off(&self) -> bool {
        self.power.is_off()
    }

    /// Power comes back. Without a cut before, this is a power cycle: it tears the erases in progress.
    pub fn power_on(&mut self) {
        self.tear_erases(None);
        self.power.on();
        self.time.power_off();
    }

    /// The number of the next state-changing operation.
    pub fn ops(&self) -> u64 {
        self.power.ops()
    }

    /// Begins to record the kind of every state-changing operation; the first is that of [`ops`](Self::ops).
    pub fn start_trace(&mut self) {
        self.power.start_trace();
    }

    /// The kinds recorded since [`start_trace`](Self::start_trace).
    pub fn trace(&self) -> &[OpKind] {
        self.power.trace()
    }

    /// Operations since the chip was made or opened.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Operations on a block since the chip was made, or `None` outside the chip.
    pub fn block_counts(&self, block: BlockAddr) -> Option<BlockCounts> {
        (block.0 < self.geometry.blocks).then(|| self.record(block).counts())
    }

    /// Erases of every block since the chip was made, ended ones only.
    pub fn erase_counts(&self) -> Vec<u32> {
        (0..self.geometry.blocks).map(|b| self.record(BlockAddr(b)).erases).collect()
    }

    /// Calls that broke the contract: defects of the layer above.
    pub fn violations(&self) -> u64 {
        self.violations
    }

    /// The chip's simulated time.
    pub fn time(&self) -> &Timeline {
        &self.time
    }

    /// The chip's simulated time, to begin commands and let time pass.
    pub fn time_mut(&mut self) -> &mut Timeline {
        &mut self.time
    }

    /// Changes what goes wrong from now on. Factory-bad blocks and endurances were settled when the chip was made.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// Makes everything durable, for an image file.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn sync(&mut self) -> io::Result<()> {
        layout::put_clock_ns(self.store.bytes_mut(), self.time.now_ns());
        self.store.sync()
    }

    fn record(&self, block: BlockAddr) -> BlockRecord {
        layout::block(self.store.bytes(), block.0)
    }

    /// Every change of the chip's content passes here, so the clock in the image keeps up.
    fn put_record(&mut self, block: BlockAddr, record: &BlockRecord) {
        layout::put_clock_ns(self.store.bytes_mut(), self.time.now_ns());
        layout::put_block(self.store.bytes_mut(), block.0, record);
    }

    /// The block's bytes, inverted.
    fn inverted(&mut self, block: BlockAddr) -> &mut [u8] {
        let at = self.layout.data(block.0, self.geometry.block_bytes);
        &mut self.store.bytes_mut()[at]
    }

    fn violation(&mut self, error: EmuError) -> Result<(), EmuError> {
        self.violations += 1;
        Err(error)
    }

    fn check_bytes(&mut self, at: NorAddr, len: usize) -> Result<(), EmuError> {
        let room = self.geometry.block_bytes.saturating_sub(at.offset) as usize;
        if at.block.0 < self.geometry.blocks && len <= room {
            return Ok(());
        }
        self.violation(EmuError::BytesOutOfRange { at, len })
    }

    /// Lets erases end that are due. Every call on the chip begins with this.
    fn pass(&mut self) {
        for bank in 0..self.erases.len() {
            let Some(erase) = &mut self.erases[bank] else { continue };
            erase.calls_left = erase.calls_left.saturating_sub(1);
            let due = if self.time.has_times() {
                !self.time.is_erasing(BankAddr(bank as u32))
            } else {
                erase.calls_left == 0
            };
            if due {
                self.end_erase(bank);
            }
        }
    }

    /// Brings the bank's erase to its end, if it is in progress.
    fn end_erase(&mut self, bank: usize) {
        let Some(erase) = self.erases[bank].filter(|erase| !erase.ended) else { return };
        self.erases[bank] = Some(Erase { ended: true, ..erase });
        if !erase.fails {
            return self.leave_torn_erase(erase.block, CutOutcome::EraseDone);
        }
        let mut record = self.record(erase.block);
        let mut draw = rng(self.faults.seed, Salt::FailedErase, erase.block.0, record.erases);
        record.flags = record.flags & !flag::ERASING | flag::GROWN_BAD;
        self.put_record(erase.block, &record);
        if draw.bool() {
            draw.fill(self.inverted(erase.block));
        }
    }

    fn in_progress(&self, bank: BankAddr) -> Option<Erase> {
        self.erases[bank.0 as usize].filter(|erase| !erase.ended)
    }

    /// A cut: tears every erase in progress, with the given outcome or each with a drawn one.
    fn tear_erases(&mut self, outcome: Option<CutOutcome>) {
        for bank in 0..self.erases.len() {
            if let Some(erase) = self.erases[bank].take().filter(|erase| !erase.ended) {
                let mut draw = rng(self.faults.seed, Salt::TornErase, erase.block.0, self.power.ops() as u32);
                let drawn = CutOutcome::seeded(OpKind::NorErase, PAIRED_PAGES, draw.u64(..));
                self.leave_torn_erase(erase.block, outcome.unwrap_or(drawn));
            }
        }
    }

    /// What is left of an erase that a cut hit, or that ended.
    fn leave_torn_erase(&mut self, block: BlockAddr, outcome: CutOutcome) {
        let mut record = self.record(block);
        let place = |seed| rng(seed, Salt::TornErase, block.0, record.erases);
        match outcome {
            CutOutcome::EraseOld => {}
            CutOutcome::NorEraseBits { seed } => {
                let mut draw = place(seed);
                self.inverted(block).iter_mut().for_each(|byte| *byte &= draw.u8(..));
            }
            CutOutcome::NorErasePrefix { seed } => {
                let erased = place(seed).usize(..=self.geometry.block_bytes as usize);
                self.inverted(block)[..erased].fill(0);
            }
            CutOutcome::NorEraseNoise { seed } => place(seed).fill(self.inverted(block)),
            _ => self.inverted(block).fill(0),
        }
        record.flags &= !flag::ERASING;
        if outcome != CutOutcome::EraseOld {
            record.erases = record.erases.saturating_add(1);
            record.reads_since_erase = 0;
        }
        self.put_record(block, &record);
    }

    /// Clears the bits that are zero in `bytes` and that `keep`, asked byte by byte for a mask of bits to leave
    /// alone, lets through.
    fn clear_bits(&mut self, at: NorAddr, bytes: &[u8], mut keep: impl FnMut() -> u8) {
        let cells = &mut self.inverted(at.block)[at.offset as usize..][..bytes.len()];
        for (cell, byte) in cells.iter_mut().zip(bytes) {
            *cell |= !byte & !keep();
        }
    }

    /// Clears some of the bits: by the seed half of them, few or most.
    fn clear_some_bits(&mut self, at: NorAddr, bytes: &[u8], seed: u64) {
        let mut draw = rng(seed, Salt::Noise, at.block.0, at.offset);
        self.clear_bits(at, bytes, || match seed % 3 {
            0 => draw.u8(..),
            1 => draw.u8(..) | draw.u8(..) | draw.u8(..),
            _ => draw.u8(..) & draw.u8(..) & draw.u8(..),
        });
    }

    /// Programs an address already checked.
    fn program_checked(&mut self, at: NorAddr, bytes: &[u8]) -> Result<(), EmuError> {
        let op = self.power.ops();
        let cut = self.power.op(OpKind::NorProgram, PAIRED_PAGES);
        let mut record = self.record(at.block);
        record.programs = record.programs.saturating_add(1);
        let programs = record.programs as u32;
        let fails = record.has(flag::BROKEN) || self.faults.program_fails(op, at.block.0, programs);
        if fails && cut.is_none() {
            record.flags |= flag::GROWN_BAD;
        }
        self.put_record(at.block, &record);
        match cut {
            None if fails => {
                self.clear_some_bits(at, bytes, rng(self.faults.seed, Salt::Noise, at.block.0, programs).u64(..));
                return Err(EmuError::NorProgramFailed(at));
            }
            None | Some(CutOutcome::NorProgramAll) => self.clear_bits(at, bytes, || 0),
            Some(CutOutcome::NorProgramSome { seed }) => self.clear_some_bits(at, bytes, seed),
            Some(_) => {}
        }
        if cut.is_some() {
            self.tear_erases(None);
            return Err(EmuError::PowerCut);
        }
        Ok(())
    }

    /// A moment in which an erase of the bank goes on, and in which a cut can hit it.
    fn erase_goes_on(&mut self) -> Result<(), EmuError> {
        match self.power.op(OpKind::NorErasing, PAIRED_PAGES) {
            None => Ok(()),
            outcome => {
                self.tear_erases(outcome);
                Err(EmuError::PowerCut)
            }
        }
    }
}

impl<S: Store> Nor for EmuNor<S> {
    type Error = EmuError;

    fn geometry(&self) -> NorGeometry {
        self.geometry
    }

    fn read(&mut self, at: NorAddr, buf: &mut [u8]) -> Result<(), EmuError> {
        self.power.check()?;
        self.check_bytes(at, buf.len())?;
        self.pass();
        let bank = self.geometry.bank_of(at.block);
        if self.in_progress(bank).is_some_and(|erase| erase.block == at.block) {
            return self.violation(EmuError::BlockErasing(at.block));
        }
        self.counts.reads += 1;
        self.time.read(bank, buf.len() as u32);
        let mut record = self.record(at.block);
        record.reads = record.reads.saturating_add(1);
        record.reads_since_erase = record.reads_since_erase.saturating_add(1);
        self.put_record(at.block, &record);
        let from = at.offset as usize;
        buf.copy_from_slice(&self.inverted(at.block)[from..][..buf.len()]);
        buf.iter_mut().for_each(|byte| *byte = !*byte);
        Ok(())
    }

    fn program(&mut self, at: NorAddr, bytes: &[u8]) -> Result<(), EmuError> {
        self.power.check()?;
        self.check_bytes(at, bytes.len())?;
        self.pass();
        let bank = self.geometry.bank_of(at.block);
        if self.in_progress(bank).is_some() {
            return self.violation(EmuError::BankErasing(bank));
        }
        self.counts.programs += 1;
        self.time.program(bank, bytes.len() as u32);
        self.program_checked(at, bytes)
    }

    fn erase_start(&mut self, block: BlockAddr) -> Result<(), EmuError> {
        self.power.check()?;
        if block.0 >= self.geometry.blocks {
            return self.violation(EmuError::BlockOutOfRange(block));
        }
        self.pass();
        let bank = self.geometry.bank_of(block);
        if self.in_progress(bank).is_some() {
            return self.violation(EmuError::BankErasing(bank));
        }
        let op = self.power.ops();
        let cut = self.power.op(OpKind::NorErase, PAIRED_PAGES);
        self.counts.erases += 1;
        self.time.erase(bank);
        let mut record = self.record(block);
        let fails =
            record.has(flag::BROKEN) || record.worn_out() || self.faults.erase_fails(op, block.0, record.erases);
        record.flags |= flag::ERASING;
        self.put_record(block, &record);
        self.erases[bank.0 as usize] = Some(Erase { block, calls_left: self.erase_calls, fails, ended: false });
        if cut.is_some() {
            self.tear_erases(cut);
            return Err(EmuError::PowerCut);
        }
        Ok(())
    }

    /// Also true when power is off or the bank is outside the chip: then [`erase_finish`](Nor::erase_finish) says so.
    fn erase_ready(&mut self, bank: BankAddr) -> bool {
        if self.power.is_off() || bank.0 >= self.geometry.banks {
            return true;
        }
        self.pass();
        self.in_progress(bank).is_none() || self.erase_goes_on().is_err()
    }

    fn erase_finish(&mut self, bank: BankAddr) -> Result<(), EmuError> {
        self.power.check()?;
        if bank.0 >= self.geometry.banks {
            return self.violation(EmuError::BankOutOfRange(bank));
        }
        self.pass();
        if self.in_progress(bank).is_some() {
            self.erase_goes_on()?;
            self.time.wait_erase(bank);
            self.end_erase(bank.0 as usize);
        }
        match self.erases[bank.0 as usize].take() {
            Some(erase) if erase.fails => Err(EmuError::EraseFailed(erase.block)),
            _ => Ok(()),
        }
    }
}
