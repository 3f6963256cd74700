//! A disk in memory that stores only written sectors, for layers in front of engines.

use std::collections::BTreeMap;
use std::io;

use wearwell::{BlockDevice, FtlError, Inspect, Limits, Sectors, Stats, WriteHint};
use wearwell_sim::fat::Device;

pub(crate) const SECTOR: usize = 512;
pub(crate) const PAGE_SECTORS: u64 = 4;

/// Sectors that are not in the map are zeros.
#[derive(Clone)]
pub(crate) struct RamDisk {
    pub(crate) content: BTreeMap<u64, [u8; SECTOR]>,
    sectors: u64,
    stats: Stats,
}

impl RamDisk {
    pub(crate) fn new(sectors: u64) -> Self {
        Self { content: BTreeMap::new(), sectors, stats: Stats::default() }
    }

    /// The number of sectors, for all traits.
    pub(crate) fn size(&self) -> u64 {
        self.sectors
    }

    /// The content of a sector.
    pub(crate) fn sector(&self, lba: u64) -> [u8; SECTOR] {
        self.content.get(&lba).copied().unwrap_or([0; SECTOR])
    }

    fn check(&self, at: Sectors) -> Result<(), FtlError> {
        if at.end().is_some_and(|end| end <= self.sectors) {
            return Ok(());
        }
        Err(FtlError::OutOfRange { start: at.start, count: at.count, capacity: self.sectors })
    }
}

impl BlockDevice for RamDisk {
    fn sectors(&self) -> u64 {
        self.sectors
    }

    fn page_bytes(&self) -> u32 {
        PAGE_SECTORS as u32 * SECTOR as u32
    }

    fn read(&mut self, at: Sectors, data: &mut [u8]) -> Result<(), FtlError> {
        self.check(at)?;
        for (lba, out) in (at.start..).zip(data.chunks_exact_mut(SECTOR)) {
            out.copy_from_slice(&self.sector(lba));
        }
        Ok(())
    }

    fn write(&mut self, at: Sectors, data: &[u8], _: WriteHint) -> Result<(), FtlError> {
        self.check(at)?;
        let (sectors, _) = data.as_chunks();
        self.content.extend((at.start..).zip(sectors.iter().copied()));
        Ok(())
    }

    fn discard(&mut self, at: Sectors) -> Result<(), FtlError> {
        self.check(at)?;
        let start = at.start.next_multiple_of(PAGE_SECTORS);
        let end = (at.start + at.count) / PAGE_SECTORS * PAGE_SECTORS;
        if start < end {
            let gone: Vec<u64> = self.content.range(start..end).map(|(&lba, _)| lba).collect();
            for lba in gone {
                self.content.remove(&lba);
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), FtlError> {
        Ok(())
    }

    fn clean(&mut self, _: u32) -> Result<bool, FtlError> {
        Ok(false)
    }

    fn set_time_us(&mut self, _: u64) {}

    fn shutdown(&mut self) -> Result<(), FtlError> {
        Ok(())
    }
}

impl Inspect for RamDisk {
    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reset_stats(&mut self) {}

    fn erase_counts(&self) -> Vec<u32> {
        Vec::new()
    }

    fn limits(&self) -> Limits {
        Limits {
            logical_pages: self.sectors / PAGE_SECTORS,
            physical_pages: self.sectors / PAGE_SECTORS,
            pages_per_segment: 0,
            segments: 0,
            needed_segments: 0,
            live_pages: 0,
            dead_pages: 0,
            free_segments: 0,
            max_ops_per_host_page: 0,
            table_bytes: 0,
        }
    }
}

/// The formatter has its own device trait.
impl Device for RamDisk {
    fn sectors(&self) -> u64 {
        self.sectors
    }

    fn read(&mut self, sector: u64, data: &mut [u8]) -> io::Result<()> {
        let at = Sectors { start: sector, count: (data.len() / SECTOR) as u64 };
        BlockDevice::read(self, at, data).map_err(io::Error::other)
    }

    fn write(&mut self, sector: u64, data: &[u8]) -> io::Result<()> {
        let at = Sectors { start: sector, count: (data.len() / SECTOR) as u64 };
        BlockDevice::write(self, at, data, WriteHint::NONE).map_err(io::Error::other)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
