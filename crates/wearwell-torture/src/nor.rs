//! The torture's own NOR chip: bytes whose bits programs can only clear.
//!
//! # Fault model
//!
//! | what happens | what it leaves |
//! | --- | --- |
//! | a program is cut, or fails | any of the bits that were to be cleared are cleared: none, few, half, most or all. Where it failed, all later programs and erases of the block fail |
//! | an erase is cut, or fails | old bits and set ones mixed; the first bytes erased and the rest old; noise; the block as it was; or erased |
//! | the power fails in anything | all erases that are in progress are cut |
//!
//! Nothing decays here: without an error-correcting code nobody could notice it.

use std::cell::RefCell;
use std::rc::Rc;

use fastrand::Rng;
use wearwell_flash::{BankAddr, BlockAddr, ErrorKind, Nor, NorAddr, NorGeometry};

use crate::content::Content;
use crate::faults::{Faults, Hit, Op};
use crate::medium::{Decayed, Layout, Medium, Unsure};

/// Polls of a bank until its erase has ended.
const POLLS_OF_AN_ERASE: u32 = 5;

#[derive(Debug, Clone, Copy)]
struct Erase {
    block: u32,
    polls_left: u32,
    /// If set, the erase fails, and the value decides what it leaves.
    fails: Option<u64>,
}

/// The chip.
#[derive(Debug)]
pub struct NorChip {
    geometry: NorGeometry,
    blocks: Vec<Vec<u8>>,
    broken: Vec<bool>,
    erases: Vec<Option<Erase>>,
    faults: Faults,
    violations: Vec<String>,
}

impl NorChip {
    /// A chip, erased.
    pub fn new(geometry: NorGeometry) -> Self {
        Self {
            geometry,
            blocks: vec![vec![0xFF; geometry.block_bytes as usize]; geometry.blocks as usize],
            broken: vec![false; geometry.blocks as usize],
            erases: vec![None; geometry.banks as usize],
            faults: Faults::default(),
            violations: Vec::new(),
        }
    }

    fn bank_of(&self, block: BlockAddr) -> usize {
        self.geometry.bank_of(block).0 as usize
    }

    fn check(&mut self, rule: &str, holds: bool) -> Result<(), ErrorKind> {
        if self.faults.is_off() {
            return Err(ErrorKind::Unresponsive);
        }
        if holds {
            return Ok(());
        }
        self.violations.push(format!("the engine {rule}"));
        Err(ErrorKind::Contract)
    }

    fn is_inside(&self, at: NorAddr, len: usize) -> bool {
        let end = u64::from(at.offset) + len as u64;
        at.block.0 < self.geometry.blocks && end <= u64::from(self.geometry.block_bytes)
    }

    /// Clears the bits that are zero in `bytes`, except those that `keep` draws.
    fn clear_bits(&mut self, at: NorAddr, bytes: &[u8], mut keep: impl FnMut() -> u8) {
        let cells = &mut self.blocks[at.block.0 as usize][at.offset as usize..][..bytes.len()];
        for (cell, byte) in cells.iter_mut().zip(bytes) {
            *cell &= byte | keep();
        }
    }

    fn clear_some_bits(&mut self, at: NorAddr, bytes: &[u8], draw: u64) {
        let mut rng = Rng::with_seed(draw);
        match rng.u8(..5) {
            0 => {}
            1 => self.clear_bits(at, bytes, || 0),
            2 => self.clear_bits(at, bytes, || rng.u8(..)),
            3 => self.clear_bits(at, bytes, || rng.u8(..) & rng.u8(..) & rng.u8(..)),
            _ => self.clear_bits(at, bytes, || rng.u8(..) | rng.u8(..) | rng.u8(..)),
        }
    }

    fn tear_erase(&mut self, block: u32, draw: u64) {
        let mut rng = Rng::with_seed(draw ^ u64::from(block));
        let bytes = &mut self.blocks[block as usize];
        match rng.u8(..5) {
            0 => {}
            1 => bytes.fill(0xFF),
            2 => bytes.iter_mut().for_each(|byte| *byte |= rng.u8(..)),
            3 => {
                let erased = rng.usize(..bytes.len());
                bytes[..erased].fill(0xFF);
            }
            _ => rng.fill(bytes),
        }
    }

    /// Tears all erases in progress when the power fails.
    fn tear_all(&mut self, draw: u64) {
        for bank in 0..self.erases.len() {
            if let Some(erase) = self.erases[bank].take() {
                self.tear_erase(erase.block, draw);
            }
        }
    }

    /// Ends a bank's erase.
    fn end_erase(&mut self, bank: usize) -> Result<(), ErrorKind> {
        let Some(erase) = self.erases[bank].take() else { return Ok(()) };
        match erase.fails {
            None => {
                self.blocks[erase.block as usize].fill(0xFF);
                Ok(())
            }
            Some(draw) => {
                self.tear_erase(erase.block, draw);
                Err(ErrorKind::EraseFailed)
            }
        }
    }

    /// A step of a running erase, at which the power can fail.
    fn erase_goes_on(&mut self) -> Result<(), ErrorKind> {
        // As a mark, so that failures of programs and erases wait for their own kinds.
        if let Some(Hit::Cut(draw)) = self.faults.strike(Op::Mark) {
            self.tear_all(draw);
            return Err(ErrorKind::Unresponsive);
        }
        Ok(())
    }
}

impl Medium for NorChip {
    fn faults(&mut self) -> &mut Faults {
        &mut self.faults
    }

    fn violations(&mut self) -> Vec<String> {
        std::mem::take(&mut self.violations)
    }

    fn power_on(&mut self) {
        // An engine that was dropped may have left an erase in progress, without any cut.
        self.tear_all(1);
        self.faults.power_on();
    }

    fn decay(&mut self, _draw: u64, _layout: &Layout) -> Vec<Decayed> {
        Vec::new()
    }

    fn mark_empty(&mut self, _draw: u64, _layout: &Layout) -> bool {
        false
    }

    fn unsure(&self, _layout: &Layout) -> Vec<Unsure> {
        Vec::new()
    }

    fn hides_rescue(&self, _: &Layout) -> bool {
        false
    }

    fn has_lost_segment(&self, _layout: &Layout) -> bool {
        false
    }

    fn has_lasting(&self, _page: u32, _content: &Content, _layout: &Layout) -> bool {
        // Nothing fades here.
        true
    }

    fn fades_unseen(&self, _page: u32, _content: &Content, _layout: &Layout) -> bool {
        false
    }

    fn is_unreadable(&self, _layout: &Layout) -> bool {
        false
    }

    fn good_segments(&self, _layout: &Layout) -> u32 {
        self.broken.iter().filter(|broken| !**broken).count() as u32
    }

    fn has_bad_segments(&self, _layout: &Layout) -> bool {
        self.broken.contains(&true)
    }
}

/// A driver: the engine holds one, the torture keeps the chip.
#[derive(Debug, Clone)]
pub struct NorDriver(pub Rc<RefCell<NorChip>>);

impl Nor for NorDriver {
    type Error = ErrorKind;

    fn geometry(&self) -> NorGeometry {
        self.0.borrow().geometry
    }

    fn read(&mut self, at: NorAddr, buf: &mut [u8]) -> Result<(), ErrorKind> {
        let mut chip = self.0.borrow_mut();
        let inside = chip.is_inside(at, buf.len());
        chip.check("reads outside the chip", inside)?;
        let bank = chip.bank_of(at.block);
        let is_erasing = chip.erases[bank].is_some_and(|erase| erase.block == at.block.0);
        chip.check("reads a block that is being erased", !is_erasing)?;
        buf.copy_from_slice(&chip.blocks[at.block.0 as usize][at.offset as usize..][..buf.len()]);
        Ok(())
    }

    fn program(&mut self, at: NorAddr, bytes: &[u8]) -> Result<(), ErrorKind> {
        let mut chip = self.0.borrow_mut();
        let inside = chip.is_inside(at, bytes.len());
        chip.check("programs outside the chip", inside)?;
        let bank = chip.bank_of(at.block);
        let is_erasing = chip.erases[bank].is_some();
        chip.check("programs a bank that is being erased", !is_erasing)?;
        let hit = chip.faults.strike(Op::Program);
        match hit {
            Some(Hit::Cut(draw)) => {
                chip.clear_some_bits(at, bytes, draw);
                chip.tear_all(draw);
                Err(ErrorKind::Unresponsive)
            }
            Some(Hit::Other(draw)) => {
                chip.clear_some_bits(at, bytes, draw);
                Err(ErrorKind::Other)
            }
            Some(Hit::Fail(draw)) => {
                chip.broken[at.block.0 as usize] = true;
                chip.clear_some_bits(at, bytes, draw);
                Err(ErrorKind::ProgramFailed)
            }
            None if chip.broken[at.block.0 as usize] => {
                chip.clear_some_bits(at, bytes, u64::from(at.offset));
                Err(ErrorKind::ProgramFailed)
            }
            None => {
                chip.clear_bits(at, bytes, || 0);
                Ok(())
            }
        }
    }

    fn erase_start(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        let mut chip = self.0.borrow_mut();
        let inside = block.0 < chip.geometry.blocks;
        chip.check("erases outside the chip", inside)?;
        let bank = chip.bank_of(block);
        let is_erasing = chip.erases[bank].is_some();
        chip.check("erases in a bank that is being erased", !is_erasing)?;
        let hit = chip.faults.strike(Op::Erase);
        let fails = match hit {
            Some(Hit::Other(_)) => return Err(ErrorKind::Other),
            Some(Hit::Fail(draw)) => {
                chip.broken[block.0 as usize] = true;
                Some(draw)
            }
            _ => chip.broken[block.0 as usize].then_some(u64::from(block.0)),
        };
        chip.erases[bank] = Some(Erase { block: block.0, polls_left: POLLS_OF_AN_ERASE, fails });
        if let Some(Hit::Cut(draw)) = hit {
            chip.tear_all(draw);
            return Err(ErrorKind::Unresponsive);
        }
        Ok(())
    }

    fn erase_ready(&mut self, bank: BankAddr) -> bool {
        let mut chip = self.0.borrow_mut();
        // Ready, so that no caller polls for ever. The finish says that the power is off.
        if chip.faults.is_off() {
            return true;
        }
        let Some(erase) = &mut chip.erases[bank.0 as usize] else { return true };
        if erase.polls_left == 0 {
            return true;
        }
        erase.polls_left -= 1;
        chip.erase_goes_on().is_err()
    }

    fn erase_finish(&mut self, bank: BankAddr) -> Result<(), ErrorKind> {
        let mut chip = self.0.borrow_mut();
        let is_inside = (bank.0 as usize) < chip.erases.len();
        chip.check("waits for a bank outside the chip", is_inside)?;
        if chip.erases[bank.0 as usize].is_some() {
            chip.erase_goes_on()?;
        }
        chip.end_erase(bank.0 as usize)
    }
}
