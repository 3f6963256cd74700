//! The chip of these examples: it counts what is done to it.

use wearwell::{BlockAddr, Inspect, Nand, NandGeometry, PageAddr, RamNand, RamNandError, ReadReport};

/// A chip that counts.
#[derive(Debug)]
pub(crate) struct Chip {
    ram: RamNand,
    pub(crate) reads: u64,
    pub(crate) programs: u64,
    pub(crate) erases: u64,
}

impl Chip {
    pub(crate) fn new(ram: RamNand) -> Self {
        Self { ram, reads: 0, programs: 0, erases: 0 }
    }
}

impl Nand for Chip {
    type Error = RamNandError;
    fn geometry(&self) -> NandGeometry {
        self.ram.geometry()
    }
    fn read(&mut self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Result<ReadReport, RamNandError> {
        self.reads += 1;
        self.ram.read(page, data, spare)
    }
    fn program(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Result<(), RamNandError> {
        self.programs += 1;
        self.ram.program(page, data, spare)
    }
    fn erase(&mut self, block: BlockAddr) -> Result<(), RamNandError> {
        self.erases += 1;
        self.ram.erase(block)
    }
    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, RamNandError> {
        self.ram.is_bad(block)
    }
    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), RamNandError> {
        self.ram.mark_bad(block)
    }
}

pub(crate) const GEOMETRY: NandGeometry =
    NandGeometry { page_bytes: 2048, spare_bytes: 64, pages_per_block: 64, blocks: 1024, ..NandGeometry::SLC };

/// By how much the erase counts of a device differ.
pub(crate) fn spread(device: &impl Inspect) -> u32 {
    let erases = device.erase_counts();
    erases.iter().max().unwrap_or(&0) - erases.iter().min().unwrap_or(&0)
}
