//! A driver for SPI NAND over `embedded-hal`, and a disk on it.
//!
//! The driver knows the commands that nearly all such chips share, and counts on the chip's own error-correcting code.
//! The numbers of your chip are in its data sheet. `main` runs on a chip that is emulated behind the same trait.

use core::convert::Infallible;

use embedded_hal::spi::{Operation, SpiDevice};
use wearwell::{
    BlockAddr, ChipError, Config, Disk, Error, ErrorKind, Nand, NandGeometry, PageAddr, ProgramOrder, ReadReport,
};

#[path = "spi_nand/emulated.rs"]
mod emulated;

/// The commands.
mod command {
    pub(crate) const GET_FEATURE: u8 = 0x0F;
    pub(crate) const SET_FEATURE: u8 = 0x1F;
    pub(crate) const WRITE_ENABLE: u8 = 0x06;
    /// From the array to the chip's buffer.
    pub(crate) const PAGE_READ: u8 = 0x13;
    pub(crate) const READ_BUFFER: u8 = 0x03;
    /// Into the buffer, the rest of which becomes ones.
    pub(crate) const LOAD: u8 = 0x02;
    /// Into the buffer, the rest of which stays.
    pub(crate) const LOAD_MORE: u8 = 0x84;
    /// From the buffer to the array.
    pub(crate) const PROGRAM: u8 = 0x10;
    pub(crate) const BLOCK_ERASE: u8 = 0xD8;
}

const PROTECTION: u8 = 0xA0;
const CONFIGURATION: u8 = 0xB0;
const STATUS: u8 = 0xC0;

/// In the configuration: the chip's code is on.
const CODE_ON: u8 = 0x10;

const BUSY: u8 = 0x01;
const ERASE_FAILED: u8 = 0x04;
const PROGRAM_FAILED: u8 = 0x08;
const CODE: u8 = 0x30;
const CODE_UNCORRECTABLE: u8 = 0x20;
const CODE_AT_ITS_LIMIT: u8 = 0x30;

/// What went wrong; `E` is the bus's own error.
#[derive(Debug)]
pub enum SpiNandError<E> {
    /// The bus failed.
    Bus(E),
    /// The chip does not become ready.
    Busy,
    /// More bits are wrong than the chip's code corrects.
    Uncorrectable,
    /// The chip says so.
    ProgramFailed,
    /// The chip says so.
    EraseFailed,
}

impl<E: core::fmt::Debug> ChipError for SpiNandError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Bus(_) => ErrorKind::Other,
            Self::Busy => ErrorKind::Unresponsive,
            Self::Uncorrectable => ErrorKind::Uncorrectable,
            Self::ProgramFailed => ErrorKind::ProgramFailed,
            Self::EraseFailed => ErrorKind::EraseFailed,
        }
    }
}

/// The driver.
pub struct SpiNand<S> {
    spi: S,
    geometry: NandGeometry,
    /// Column of the spare bytes that the chip's code covers and leaves free.
    spare_at: u16,
    /// Status is asked for so often before the chip counts as dead.
    patience: u32,
}

type Done<S, T = ()> = Result<T, SpiNandError<<S as embedded_hal::spi::ErrorType>::Error>>;

impl<S: SpiDevice> SpiNand<S> {
    /// Unlocks all blocks, and turns the chip's code on.
    pub fn start(spi: S, geometry: NandGeometry, spare_at: u16, patience: u32) -> Done<S, Self> {
        let mut nand = Self { spi, geometry, spare_at, patience };
        nand.finish()?;
        nand.send(&[command::SET_FEATURE, PROTECTION, 0], &[])?;
        nand.send(&[command::SET_FEATURE, CONFIGURATION, CODE_ON], &[])?;
        Ok(nand)
    }

    fn send(&mut self, command: &[u8], data: &[u8]) -> Done<S> {
        let mut operations = [Operation::Write(command), Operation::Write(data)];
        self.spi.transaction(&mut operations).map_err(SpiNandError::Bus)
    }

    fn receive(&mut self, command: &[u8], data: &mut [u8]) -> Done<S> {
        let mut operations = [Operation::Write(command), Operation::Read(data)];
        self.spi.transaction(&mut operations).map_err(SpiNandError::Bus)
    }

    /// Waits until the chip is ready, and returns its status.
    fn finish(&mut self) -> Done<S, u8> {
        for _ in 0..self.patience {
            let mut status = [0];
            self.receive(&[command::GET_FEATURE, STATUS], &mut status)?;
            if status[0] & BUSY == 0 {
                return Ok(status[0]);
            }
        }
        Err(SpiNandError::Busy)
    }

    /// Sends a command that works on a page, or on the block that it is in, and waits.
    fn on_page(&mut self, command: u8, page: u32) -> Done<S, u8> {
        let [_, high, middle, low] = page.to_be_bytes();
        self.send(&[command, high, middle, low], &[])?;
        self.finish()
    }

    /// Fills the chip's buffer from a page.
    fn fill_buffer(&mut self, page: PageAddr) -> Done<S, ReadReport> {
        match self.on_page(command::PAGE_READ, page.0)? & CODE {
            CODE_UNCORRECTABLE => Err(SpiNandError::Uncorrectable),
            code => Ok(ReadReport { refresh_soon: code == CODE_AT_ITS_LIMIT, ..ReadReport::default() }),
        }
    }

    fn read_buffer(&mut self, column: u16, data: &mut [u8]) -> Done<S> {
        if data.is_empty() {
            return Ok(());
        }
        let [high, low] = column.to_be_bytes();
        self.receive(&[command::READ_BUFFER, high, low, 0], data)
    }

    fn load(&mut self, command: u8, column: u16, data: &[u8]) -> Done<S> {
        let [high, low] = column.to_be_bytes();
        self.send(&[command, high, low], data)
    }

    /// Programs a page from the chip's buffer.
    fn program_buffer(&mut self, page: PageAddr) -> Done<S> {
        self.send(&[command::WRITE_ENABLE], &[])?;
        let status = self.on_page(command::PROGRAM, page.0)?;
        if status & PROGRAM_FAILED == 0 { Ok(()) } else { Err(SpiNandError::ProgramFailed) }
    }

    /// Column of the mark of a bad block, on its first page.
    fn mark_at(&self) -> u16 {
        self.geometry.page_bytes as u16
    }
}

impl<S: SpiDevice> Nand for SpiNand<S> {
    type Error = SpiNandError<S::Error>;

    fn geometry(&self) -> NandGeometry {
        self.geometry
    }

    fn read(&mut self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Done<S, ReadReport> {
        let report = self.fill_buffer(page)?;
        self.read_buffer(0, data)?;
        self.read_buffer(self.spare_at, spare)?;
        Ok(report)
    }

    fn program(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Done<S> {
        self.load(command::LOAD, 0, data)?;
        self.load(command::LOAD_MORE, self.spare_at, spare)?;
        self.program_buffer(page)
    }

    /// The page need not leave the chip: its code corrects what is in the buffer.
    fn copy(&mut self, from: PageAddr, to: PageAddr, spare: &mut [u8]) -> Done<S, ReadReport> {
        let report = self.fill_buffer(from)?;
        self.read_buffer(self.spare_at, spare)?;
        self.program_buffer(to)?;
        Ok(report)
    }

    fn erase(&mut self, block: BlockAddr) -> Done<S> {
        self.send(&[command::WRITE_ENABLE], &[])?;
        let status = self.on_page(command::BLOCK_ERASE, self.geometry.page(block, 0).0)?;
        if status & ERASE_FAILED == 0 { Ok(()) } else { Err(SpiNandError::EraseFailed) }
    }

    /// A mark that cannot be read with certainty counts as it was read.
    fn is_bad(&mut self, block: BlockAddr) -> Done<S, bool> {
        match self.fill_buffer(self.geometry.page(block, 0)) {
            Ok(_) | Err(SpiNandError::Uncorrectable) => {}
            Err(error) => return Err(error),
        }
        let mut mark = [0xFF];
        self.read_buffer(self.mark_at(), &mut mark)?;
        Ok(mark[0] != 0xFF)
    }

    /// The block is bad: whether the program succeeds does not matter, as long as the chip answers.
    fn mark_bad(&mut self, block: BlockAddr) -> Done<S> {
        self.load(command::LOAD, self.mark_at(), &[0])?;
        match self.program_buffer(self.geometry.page(block, 0)) {
            Ok(()) | Err(SpiNandError::ProgramFailed) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// A small chip, so that the example takes no time; yours has more blocks.
const GEOMETRY: NandGeometry = NandGeometry {
    page_bytes: 2048,
    spare_bytes: 32,
    pages_per_block: 16,
    blocks: 32,
    dies: 1,
    paired_pages: 1,
    program_order: ProgramOrder::Ascending,
};
const SPARE_AT: u16 = 2052;
const PATIENCE: u32 = 1000;
const PAGES: u32 = 300;

fn main() -> Result<(), Error<SpiNandError<Infallible>>> {
    let chip = started(emulated::Chip::new(GEOMETRY, 1));
    let mut disk = Disk::format(chip, Config::new(PAGES))?;
    disk.write(7, &[42; 2048])?;
    disk.flush()?;

    let (mut disk, _) = Disk::mount(disk.into_chip(), Config::new(PAGES))?;
    let mut page = [0; 2048];
    disk.read(7, &mut page)?;
    assert_eq!(page, [42; 2048]);
    println!("{} power cuts, after which all that was flushed was there", emulated::write_under_cuts(20));
    Ok(())
}

/// A driver for the emulated chip.
fn started(chip: emulated::Chip) -> SpiNand<emulated::Chip> {
    SpiNand::start(chip, GEOMETRY, SPARE_AT, PATIENCE).expect("the chip answers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_flushed_survives_every_cut() {
        assert_eq!(emulated::write_under_cuts(100), 100);
    }

    #[test]
    fn a_marked_block_is_bad() {
        let mut nand = started(emulated::Chip::new(GEOMETRY, 1));
        assert!(!nand.is_bad(BlockAddr(3)).expect("the chip answers"));
        nand.mark_bad(BlockAddr(3)).expect("the chip answers");
        assert!(nand.is_bad(BlockAddr(3)).expect("the chip answers"));
        let mut disk = Disk::format(nand, Config::new(PAGES)).expect("one block less will do");
        disk.write(7, &[42; 2048]).expect("there is room");
        assert!(disk.chip_mut().is_bad(BlockAddr(3)).expect("the chip answers"), "a format keeps the mark");
    }
}
