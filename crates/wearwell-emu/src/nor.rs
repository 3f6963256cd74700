//! A NOR chip that stores, wears, fails, and survives power cuts as the contract says.
//!
//! # How it fails
//!
//! - A failed program clears some of its bits and breaks its block: later programs and erases of that block fail. A
//!   failed erase leaves the old content or any bits, at random.
//! - A block whose erases have reached its endurance fails its next erase.
//! - Calls that break the contract (a program or an erase in a bank that erases, a read of the block being erased) are
//!   refused and counted in [`EmuChip::violations`].
//!
//! # How long an erase takes
//!
//! On a chip with times, an erase lasts until the timeline passes its end. Without times it lasts for a number of
//! further calls on the chip: five, unless [`EmuNor::set_erase_calls`] sets another number. Bits change at the end.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{Ordering, compiler_fence};

use wearwell_flash::{BankAddr, BlockAddr, Nor, NorAddr, NorGeometry};
use xxhash_rust::xxh3::Xxh3;

use crate::chip::{Body, EmuChip};
use crate::error::{EmuError, SetupError};
use crate::faults::{Faults, Salt, rng};
use crate::layout::flag;
use crate::power::{CutOutcome, OpKind};
use crate::profile::{ChipKind, ChipProfile};
use crate::store::{MemStore, Store};

/// NOR cells are not shared.
const PAIRED_PAGES: u32 = 1;

/// The erase of a bank: in progress, or ended and not yet finished by the caller.
#[derive(Debug, Clone, Copy, Hash)]
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
    body: Body<S>,
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
        Ok(Self::over(profile, Body::fresh(profile, faults, ChipKind::Nor, store)?))
    }

    /// The chip in the bytes of `store`, which must hold a chip of this profile. Erases that were in progress when its
    /// process ended are torn.
    pub(crate) fn existing(profile: &ChipProfile, faults: Faults, store: S) -> Self {
        let mut chip = Self::over(profile, Body::new(profile, faults, store));
        for b in 0..chip.geometry.blocks {
            let record = chip.body.record(BlockAddr(b));
            if record.has(flag::ERASING) {
                // Place and wear decide, not the process, so that the image opens the same way each time.
                let seed = rng(chip.body.faults.seed, Salt::TornErase, b, record.erases).u64(..);
                chip.leave_torn_erase(BlockAddr(b), CutOutcome::seeded(OpKind::NorErase, PAIRED_PAGES, seed));
            }
        }
        chip
    }

    fn over(profile: &ChipProfile, body: Body<S>) -> Self {
        Self { geometry: profile.nor_geometry(), body, erases: vec![None; profile.banks as usize], erase_calls: 5 }
    }

    /// On a chip without times, an erase ends after this number of further calls.
    pub fn set_erase_calls(&mut self, calls: u32) {
        self.erase_calls = calls;
    }

    /// The block's bytes, inverted.
    fn inverted(&mut self, block: BlockAddr) -> &mut [u8] {
        let at = self.body.layout.data(block.0, self.geometry.block_bytes);
        &mut self.body.store.bytes_mut()[at]
    }

    fn check_bytes(&mut self, at: NorAddr, len: usize) -> Result<(), EmuError> {
        let room = self.geometry.block_bytes.saturating_sub(at.offset) as usize;
        if at.block.0 < self.geometry.blocks && len <= room {
            return Ok(());
        }
        self.body.refuse(EmuError::BytesOutOfRange { at, len })
    }

    /// Ends the erases that are due. Every call on the chip begins with this.
    fn pass(&mut self) {
        for bank in 0..self.erases.len() {
            let Some(erase) = &mut self.erases[bank] else { continue };
            // An erase that has ended stays here until the caller finishes it.
            erase.calls_left = erase.calls_left.saturating_sub(1);
            let due = if self.body.time.has_times() {
                !self.body.time.is_erasing(BankAddr(bank as u32))
            } else {
                erase.calls_left == 0
            };
            if due {
                self.end_erase(bank);
            }
        }
    }

    /// Ends the bank's erase, if it is in progress.
    fn end_erase(&mut self, bank: usize) {
        let Some(erase) = self.erases[bank].filter(|erase| !erase.ended) else { return };
        self.erases[bank] = Some(Erase { ended: true, ..erase });
        if !erase.fails {
            return self.leave_torn_erase(erase.block, CutOutcome::EraseDone);
        }
        let mut record = self.body.record(erase.block);
        let mut draw = rng(self.body.faults.seed, Salt::FailedErase, erase.block.0, record.erases);
        record.flags = record.flags & !flag::ERASING | flag::GROWN_BAD;
        self.body.put_record(erase.block, &record);
        if draw.bool() {
            draw.fill(self.inverted(erase.block));
        }
    }

    fn in_progress(&self, bank: BankAddr) -> Option<Erase> {
        self.erases[bank.0 as usize].filter(|erase| !erase.ended)
    }

    /// Tears every erase in progress at a cut, with the given outcome or each with a drawn one.
    fn tear_erases(&mut self, outcome: Option<CutOutcome>) {
        for bank in 0..self.erases.len() {
            // The bits of an erase that has ended have changed already: a cut only makes the chip forget it.
            if let Some(erase) = self.erases[bank].take().filter(|erase| !erase.ended) {
                // An erase that leaves the old content is not counted. The number of the operation tells two such cuts
                // apart.
                let mut draw = rng(self.body.faults.seed, Salt::TornErase, erase.block.0, self.body.power.ops() as u32);
                let drawn = CutOutcome::seeded(OpKind::NorErase, PAIRED_PAGES, draw.u64(..));
                self.leave_torn_erase(erase.block, outcome.unwrap_or(drawn));
            }
        }
    }

    /// Applies the outcome of an erase that was cut, or that ended.
    fn leave_torn_erase(&mut self, block: BlockAddr, outcome: CutOutcome) {
        let mut record = self.body.record(block);
        let place = |seed| rng(seed, Salt::TornErase, block.0, record.erases);
        match outcome {
            CutOutcome::EraseOld => {}
            CutOutcome::NorEraseBits { seed } => {
                let mut draw = place(seed);
                // The bytes are inverted: an erase clears bits here, and any subset may still be set.
                self.inverted(block).iter_mut().for_each(|byte| *byte &= draw.u8(..));
            }
            CutOutcome::NorErasePrefix { seed } => {
                let erased = place(seed).usize(..=self.geometry.block_bytes as usize);
                self.inverted(block)[..erased].fill(0);
            }
            CutOutcome::NorEraseNoise { seed } => place(seed).fill(self.inverted(block)),
            // Inverted bits are zero when they are erased.
            _ => self.inverted(block).fill(0),
        }
        // If the process ends before the flag is cleared, the erase is torn when the image is opened.
        compiler_fence(Ordering::SeqCst);
        record.flags &= !flag::ERASING;
        if outcome != CutOutcome::EraseOld {
            record.erases = record.erases.saturating_add(1);
            record.reads_since_erase = 0;
        }
        self.body.put_record(block, &record);
    }

    /// Clears the bits that are zero in `bytes`. `keep` gives for each byte a mask of bits to leave alone.
    fn clear_bits(&mut self, at: NorAddr, bytes: &[u8], mut keep: impl FnMut() -> u8) {
        let cells = &mut self.inverted(at.block)[at.offset as usize..][..bytes.len()];
        for (cell, byte) in cells.iter_mut().zip(bytes) {
            // Inverted, too: a program sets bits here, and never clears one.
            *cell |= !byte & !keep();
        }
    }

    /// Clears some of the bits. The seed decides whether half of them, few or most.
    fn clear_some_bits(&mut self, at: NorAddr, bytes: &[u8], seed: u64) {
        let mut draw = rng(seed, Salt::Noise, at.block.0, at.offset);
        self.clear_bits(at, bytes, || match seed % 3 {
            0 => draw.u8(..),
            // Joined by "or", three draws keep seven bits of eight. Joined by "and", they keep one.
            1 => draw.u8(..) | draw.u8(..) | draw.u8(..),
            _ => draw.u8(..) & draw.u8(..) & draw.u8(..),
        });
    }

    /// Programs an address that was checked.
    fn program_checked(&mut self, at: NorAddr, bytes: &[u8]) -> Result<(), EmuError> {
        let op = self.body.power.ops();
        let cut = self.body.power.op(OpKind::NorProgram, PAIRED_PAGES);
        let mut record = self.body.record(at.block);
        record.programs = record.programs.saturating_add(1);
        // A block takes many programs between two erases. Their number stands for the cycle, so that each of them draws
        // anew.
        let programs = record.programs as u32;
        let fails = record.has(flag::BROKEN) || self.body.faults.program_fails(op, at.block.0, programs);
        if fails && cut.is_none() {
            record.flags |= flag::GROWN_BAD;
        }
        self.body.put_record(at.block, &record);
        match cut {
            None if fails => {
                self.clear_some_bits(at, bytes, rng(self.body.faults.seed, Salt::Noise, at.block.0, programs).u64(..));
                return Err(EmuError::NorProgramFailed(at));
            }
            None | Some(CutOutcome::NorProgramAll) => self.clear_bits(at, bytes, || 0),
            Some(CutOutcome::NorProgramSome { seed }) => self.clear_some_bits(at, bytes, seed),
            // Only `NorProgramNone` is left.
            Some(_) => {}
        }
        if cut.is_some() {
            // All banks lose their power with this one.
            self.tear_erases(None);
            return Err(EmuError::PowerCut);
        }
        Ok(())
    }

    /// A step of a running erase, at which a cut can hit it.
    fn erase_goes_on(&mut self) -> Result<(), EmuError> {
        match self.body.power.op(OpKind::NorErasing, PAIRED_PAGES) {
            None => Ok(()),
            outcome => {
                self.tear_erases(outcome);
                Err(EmuError::PowerCut)
            }
        }
    }
}

impl<S: Store> EmuChip for EmuNor<S> {
    type Store = S;

    fn body(&self) -> &Body<S> {
        &self.body
    }

    fn body_mut(&mut self) -> &mut Body<S> {
        &mut self.body
    }

    fn fingerprint(&self) -> u64 {
        let mut hasher = Xxh3::new();
        self.body.hash_state(&mut hasher);
        self.erases.hash(&mut hasher);
        for block in 0..self.geometry.blocks {
            hasher.write(&self.body.store.bytes()[self.body.layout.data(block, self.geometry.block_bytes)]);
        }
        hasher.finish()
    }

    /// Without a cut before, this is a power cycle: it tears the erases in progress.
    fn power_on(&mut self) {
        self.tear_erases(None);
        self.body.power.on();
        self.body.time.power_off();
    }
}

impl<S: Store> Nor for EmuNor<S> {
    type Error = EmuError;

    fn geometry(&self) -> NorGeometry {
        self.geometry
    }

    fn read(&mut self, at: NorAddr, buf: &mut [u8]) -> Result<(), EmuError> {
        self.body.power.check()?;
        self.check_bytes(at, buf.len())?;
        self.pass();
        let bank = self.geometry.bank_of(at.block);
        // Behind `pass`, which may have ended the erase of this block.
        if self.in_progress(bank).is_some_and(|erase| erase.block == at.block) {
            return self.body.refuse(EmuError::BlockErasing(at.block));
        }
        self.body.counts.reads += 1;
        self.body.time.read(bank, buf.len() as u32);
        let mut record = self.body.record(at.block);
        record.reads = record.reads.saturating_add(1);
        record.reads_since_erase = record.reads_since_erase.saturating_add(1);
        self.body.put_record(at.block, &record);
        let from = at.offset as usize;
        buf.copy_from_slice(&self.inverted(at.block)[from..][..buf.len()]);
        buf.iter_mut().for_each(|byte| *byte = !*byte);
        Ok(())
    }

    fn program(&mut self, at: NorAddr, bytes: &[u8]) -> Result<(), EmuError> {
        self.body.power.check()?;
        self.check_bytes(at, bytes.len())?;
        self.pass();
        let bank = self.geometry.bank_of(at.block);
        if self.in_progress(bank).is_some() {
            return self.body.refuse(EmuError::BankErasing(bank));
        }
        self.body.counts.programs += 1;
        self.body.time.program(bank, bytes.len() as u32);
        self.program_checked(at, bytes)
    }

    fn erase_start(&mut self, block: BlockAddr) -> Result<(), EmuError> {
        self.body.power.check()?;
        if block.0 >= self.geometry.blocks {
            return self.body.refuse(EmuError::BlockOutOfRange(block));
        }
        self.pass();
        let bank = self.geometry.bank_of(block);
        if self.in_progress(bank).is_some() {
            return self.body.refuse(EmuError::BankErasing(bank));
        }
        let op = self.body.power.ops();
        let cut = self.body.power.op(OpKind::NorErase, PAIRED_PAGES);
        self.body.counts.erases += 1;
        self.body.time.erase(bank);
        let mut record = self.body.record(block);
        let fails =
            record.has(flag::BROKEN) || record.worn_out() || self.body.faults.erase_fails(op, block.0, record.erases);
        // From here on the image says so: a process that ends before the erase does leaves a torn one.
        record.flags |= flag::ERASING;
        self.body.put_record(block, &record);
        self.erases[bank.0 as usize] = Some(Erase { block, calls_left: self.erase_calls, fails, ended: false });
        if cut.is_some() {
            // The new erase is in the list already, so it is torn like those of other banks.
            self.tear_erases(cut);
            return Err(EmuError::PowerCut);
        }
        Ok(())
    }

    /// Also true if the power is off or the bank is outside the chip; [`erase_finish`](Nor::erase_finish) then returns
    /// the error.
    fn erase_ready(&mut self, bank: BankAddr) -> bool {
        if self.body.power.is_off() || bank.0 >= self.geometry.banks {
            return true;
        }
        self.pass();
        // A poll is a step at which a cut can hit the erase. The bank counts as ready then, and `erase_finish` has the
        // error.
        self.in_progress(bank).is_none() || self.erase_goes_on().is_err()
    }

    fn erase_finish(&mut self, bank: BankAddr) -> Result<(), EmuError> {
        self.body.power.check()?;
        if bank.0 >= self.geometry.banks {
            return self.body.refuse(EmuError::BankOutOfRange(bank));
        }
        self.pass();
        if self.in_progress(bank).is_some() {
            // The wait is a step as well. Otherwise no cut could hit the erases of a caller that never polls.
            self.erase_goes_on()?;
            self.body.time.wait_erase(bank);
            self.end_erase(bank.0 as usize);
        }
        match self.erases[bank.0 as usize].take() {
            Some(erase) if erase.fails => Err(EmuError::EraseFailed(erase.block)),
            _ => Ok(()),
        }
    }
}
