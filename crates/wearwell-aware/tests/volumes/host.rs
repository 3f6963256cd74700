//! A host that holds sectors back, as a page cache does.

use std::collections::BTreeMap;
use std::io;

use wearwell::{BlockDevice, Rng};
use wearwell_sim::fat::Device;

use crate::rig::{Disk, SECOND_US, SECTOR};

/// Nothing is held back for longer.
const EXPIRES_US: u64 = 30 * SECOND_US;

/// Writes to a sector that have not reached the disk: the time of the first, and each version since.
struct Dirty {
    since_us: u64,
    versions: Vec<Vec<u8>>,
}

/// Writes sectors in any order. The versions of one sector keep their order, but some may be skipped. A sector is
/// written at most 30 seconds after it became dirty. The host flushes the disk now and then, which does not cover
/// sectors that are still held back.
pub(crate) struct CachingHost<F> {
    pub(crate) disk: Disk<F>,
    dirty: BTreeMap<u64, Dirty>,
    rng: Rng,
    /// Counts of sectors that have reached the disk, in all and since the last check, and the count at which the power
    /// fails.
    pub(crate) written: u64,
    pub(crate) reached: Vec<u64>,
    pub(crate) fuse: Option<u64>,
    /// The sector that was being written when the power failed, and its new content.
    pub(crate) in_flight: Option<(u64, Vec<u8>)>,
}

impl<F: BlockDevice> CachingHost<F> {
    pub(crate) fn new(disk: Disk<F>, seed: u64) -> Self {
        Self {
            disk,
            dirty: BTreeMap::new(),
            rng: Rng::new(seed),
            written: 0,
            reached: Vec::new(),
            fuse: None,
            in_flight: None,
        }
    }

    /// Writes a version of a sector and drops the earlier ones.
    fn write_version(&mut self, sector: u64, version: usize) -> io::Result<()> {
        if self.in_flight.is_some() {
            return Err(io::Error::other("the power is off"));
        }
        let Some(dirty) = self.dirty.get_mut(&sector) else { return Ok(()) };
        let bytes = dirty.versions.drain(..=version).next_back().expect("there is one");
        if dirty.versions.is_empty() {
            self.dirty.remove(&sector);
        }
        if self.fuse == Some(self.written) {
            return Err(io::Error::other("the power fails here"));
        }
        self.disk.write(sector, &bytes).inspect_err(|_| self.in_flight = Some((sector, bytes.clone())))?;
        self.written += 1;
        self.reached.push(sector);
        Ok(())
    }

    fn newest(&self, sector: u64) -> usize {
        self.dirty[&sector].versions.len() - 1
    }

    /// Writes some of the sectors that are held back, and all that have expired.
    fn write_some(&mut self) -> io::Result<()> {
        let mut sectors: Vec<u64> = self.dirty.keys().copied().collect();
        for i in (1..sectors.len()).rev() {
            sectors.swap(i, self.rng.below(i as u32 + 1) as usize);
        }
        let few = 1 + self.rng.below(6);
        for sector in sectors {
            // The next call may come two seconds later.
            if self.disk.now_us - self.dirty[&sector].since_us > EXPIRES_US - 2 * SECOND_US {
                self.write_version(sector, self.newest(sector))?;
            } else if self.rng.below(6) < few {
                let version = self.rng.below(self.newest(sector) as u32 + 1) as usize;
                self.write_version(sector, version)?;
            }
        }
        Ok(())
    }

    /// Sectors whose newest content has not reached the disk.
    pub(crate) fn kept_back(&self) -> impl Iterator<Item = u64> + '_ {
        self.dirty.keys().copied().chain(self.in_flight.iter().map(|(sector, _)| *sector))
    }

    /// Writes everything, and flushes.
    pub(crate) fn drain(&mut self) -> io::Result<()> {
        while let Some(&sector) = self.dirty.keys().next() {
            self.write_version(sector, self.newest(sector))?;
        }
        self.disk.flush()
    }
}

impl<F: BlockDevice> Device for CachingHost<F> {
    fn sectors(&self) -> u64 {
        self.disk.sectors()
    }

    fn read(&mut self, sector: u64, data: &mut [u8]) -> io::Result<()> {
        self.disk.read(sector, data)?;
        for (sector, out) in (sector..).zip(data.chunks_mut(SECTOR)) {
            if let Some(version) = self.dirty.get(&sector).and_then(|dirty| dirty.versions.last()) {
                out.copy_from_slice(version);
            }
        }
        Ok(())
    }

    fn write(&mut self, sector: u64, data: &[u8]) -> io::Result<()> {
        let since_us = self.disk.now_us;
        for (sector, bytes) in (sector..).zip(data.chunks(SECTOR)) {
            let dirty = self.dirty.entry(sector).or_insert(Dirty { since_us, versions: Vec::new() });
            dirty.versions.push(bytes.to_vec());
        }
        Ok(())
    }

    /// The end of an operation.
    fn flush(&mut self) -> io::Result<()> {
        let seconds = u64::from(self.rng.below(3));
        self.disk.pass(seconds);
        self.write_some()?;
        if self.rng.below(3) == 0 { self.disk.flush() } else { Ok(()) }
    }
}
