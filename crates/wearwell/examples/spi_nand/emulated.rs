//! An SPI NAND behind `embedded-hal`, in memory, whose power can be cut; and a disk on it under cuts.

use std::collections::BTreeMap;
use std::convert::Infallible;

use embedded_hal::spi::{ErrorType, Operation, SpiDevice};
use wearwell::{Config, Disk, NandGeometry, Rng};

use super::{CODE_UNCORRECTABLE, PAGES, command, started};

/// Bytes of a chip's page behind its data.
const SPARE: usize = 64;

/// What a chip that has no power says.
const NO_ANSWER: u8 = 0xFF;

#[derive(Clone, Copy, PartialEq)]
enum State {
    Erased,
    Good,
    Torn,
}

/// The chip: what it holds, and its buffer.
pub(crate) struct Chip {
    geometry: NandGeometry,
    cells: Vec<Vec<u8>>,
    states: Vec<State>,
    buffer: Vec<u8>,
    status: u8,
    has_power: bool,
    /// Programs and erases until the power fails.
    until_cut: Option<u32>,
    rng: Rng,
}

impl Chip {
    pub(crate) fn new(geometry: NandGeometry, seed: u64) -> Self {
        let pages = geometry.pages() as usize;
        let erased = vec![0xFF; geometry.page_bytes as usize + SPARE];
        Self {
            geometry,
            cells: vec![erased.clone(); pages],
            states: vec![State::Erased; pages],
            buffer: erased,
            status: 0,
            has_power: true,
            until_cut: None,
            rng: Rng::new(seed),
        }
    }

    /// Counts a program or an erase, and says what it comes to: all, if the power does not fail in it.
    fn outcome(&mut self) -> Option<State> {
        match &mut self.until_cut {
            Some(0) => {
                self.has_power = false;
                [None, Some(State::Torn), Some(State::Good)][self.rng.below(3) as usize]
            }
            Some(left) => {
                *left -= 1;
                Some(State::Good)
            }
            None => Some(State::Good),
        }
    }

    fn program(&mut self, page: usize) {
        assert!(self.states[page] != State::Good || self.buffer[self.geometry.page_bytes as usize] == 0, "twice");
        if let Some(state) = self.outcome() {
            self.cells[page].copy_from_slice(&self.buffer);
            self.states[page] = state;
        }
    }

    fn erase(&mut self, first: usize) {
        let Some(state) = self.outcome() else { return };
        for page in first..first + self.geometry.pages_per_block as usize {
            self.cells[page].fill(0xFF);
            self.states[page] = if state == State::Torn { State::Torn } else { State::Erased };
        }
    }

    /// Does a command that has been sent whole.
    fn command(&mut self, bytes: &[u8], data: &[u8]) {
        let address = bytes[1..].iter().fold(0, |address, &byte| address << 8 | usize::from(byte));
        match bytes[0] {
            command::PAGE_READ => {
                self.buffer.copy_from_slice(&self.cells[address]);
                self.status = if self.states[address] == State::Torn { CODE_UNCORRECTABLE } else { 0 };
            }
            command::LOAD | command::LOAD_MORE => {
                if bytes[0] == command::LOAD {
                    self.buffer.fill(0xFF);
                }
                self.buffer[address..address + data.len()].copy_from_slice(data);
            }
            command::PROGRAM => self.program(address),
            command::BLOCK_ERASE => self.erase(address),
            command::SET_FEATURE | command::WRITE_ENABLE => {}
            other => panic!("no command {other:#04x}"),
        }
    }

    fn answer(&self, bytes: &[u8], data: &mut [u8]) {
        match bytes[0] {
            _ if !self.has_power => data.fill(NO_ANSWER),
            command::GET_FEATURE => data.fill(self.status),
            command::READ_BUFFER => {
                let column = usize::from(u16::from_be_bytes([bytes[1], bytes[2]]));
                data.copy_from_slice(&self.buffer[column..column + data.len()]);
            }
            other => panic!("no answer to {other:#04x}"),
        }
    }
}

impl ErrorType for Chip {
    type Error = Infallible;
}

impl SpiDevice for Chip {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), Infallible> {
        match operations {
            [Operation::Write(bytes), Operation::Read(data)] => self.answer(bytes, data),
            [Operation::Write(bytes), Operation::Write(data)] if self.has_power => self.command(bytes, data),
            _ => {}
        }
        Ok(())
    }
}

/// Writes and flushes until the power fails, so many times. Each time what was flushed has to be there. Returns how
/// often that was.
pub(crate) fn write_under_cuts(cuts: u32) -> u32 {
    let mut rng = Rng::new(u64::from(cuts));
    let nand = started(Chip::new(super::GEOMETRY, 1));
    let mut disk = Disk::format(nand, Config::new(PAGES)).expect("the disk fits the chip");
    let (mut flushed, mut page) = (BTreeMap::new(), [0; 2048]);
    for cut in 0..cuts {
        disk.chip_mut().spi.until_cut = Some(rng.below(300));
        let mut written = BTreeMap::new();
        while disk.chip().spi.has_power {
            let (number, content) = (rng.below(PAGES), rng.next_u64() as u8);
            written.entry(number).or_insert_with(Vec::new).push(content);
            let is_written = disk.write(number, &[content; 2048]).is_ok();
            if is_written && rng.below(8) == 0 && disk.flush().is_ok() {
                for (number, contents) in core::mem::take(&mut written) {
                    flushed.insert(number, contents.last().copied().unwrap_or(0));
                }
            }
        }
        let mut chip = disk.into_chip().spi;
        chip.has_power = true;
        chip.until_cut = None;
        let mounted = Disk::mount(started(chip), Config::new(PAGES));
        disk = mounted.expect("what a cut leaves can be mounted").0;
        for number in 0..PAGES {
            disk.read(number, &mut page).expect("no page is lost");
            let old = flushed.get(&number).copied().unwrap_or(0);
            let is_new = written.get(&number).is_some_and(|contents| contents.contains(&page[0]));
            assert!((page[0] == old || is_new) && page == [page[0]; 2048], "page {number} after cut {cut}");
            flushed.insert(number, page[0]);
        }
    }
    cuts
}
