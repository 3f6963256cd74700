//! What each sector of the disk may hold: a [`Held`] of digests, and how bytes become sectors.

use std::collections::BTreeSet;
use std::fmt;

use wearwell_emu::Held;
pub(crate) use wearwell_emu::Seq;
use xxhash_rust::xxh3::xxh3_64;

/// The unit of the model.
pub(crate) const SECTOR_BYTES: usize = 512;

/// The possible contents of the disk.
#[derive(Debug)]
pub(crate) struct Model {
    /// The newest content of every sector, once all sent requests are done.
    newest: Vec<u8>,
    held: Held<u64>,
}

/// A sector that holds what it must not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// The sector.
    pub(crate) sector: u32,
    /// How many contents it might have had.
    pub(crate) allowed: usize,
    /// True if it holds zeros.
    pub(crate) is_zero: bool,
}

impl Wrong {
    fn new(wrong: &wearwell_emu::Wrong<u64>, found: &[u8]) -> Self {
        let is_zero = found.iter().all(|&byte| byte == 0);
        Self { sector: wrong.unit, allowed: wrong.allowed.len(), is_zero }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zeros = if self.is_zero { ", but zeros" } else { "" };
        write!(f, "sector {} holds none of the {} contents it may have{zeros}", self.sector, self.allowed)
    }
}

fn sectors(offset: u64, length: usize) -> std::ops::Range<u32> {
    let sector_bytes = SECTOR_BYTES as u64;
    // A sector that is written in part has a new content, too.
    (offset / sector_bytes) as u32..(offset + length as u64).div_ceil(sector_bytes) as u32
}

impl Model {
    /// A disk of zeros.
    pub(crate) fn new(bytes: u64) -> Self {
        let held = Held::new(sectors(0, bytes as usize).end, xxh3_64(&[0; SECTOR_BYTES]));
        Self { newest: vec![0; bytes as usize], held }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.newest.len() as u64
    }

    /// A write was sent.
    pub(crate) fn sent(&mut self, seq: Seq, offset: u64, data: &[u8]) {
        self.newest[offset as usize..][..data.len()].copy_from_slice(data);
        for sector in sectors(offset, data.len()) {
            let digest = xxh3_64(&self.newest[sector as usize * SECTOR_BYTES..][..SECTOR_BYTES]);
            self.held.sent(seq, sector, digest);
        }
    }

    /// A write was answered without an error: nothing older may be read any more.
    pub(crate) fn note_written(&mut self, seq: Seq, offset: u64, length: usize) {
        sectors(offset, length).for_each(|sector| self.held.note_written(seq, sector));
    }

    /// A durable write was answered: nothing older may come back in its range.
    pub(crate) fn note_durable(&mut self, seq: Seq, offset: u64, length: usize) {
        sectors(offset, length).for_each(|sector| self.held.note_durable(seq, sector));
    }

    /// Flush number `seq` was answered: what could be read when it was sent is durable.
    pub(crate) fn flushed(&mut self, seq: Seq) {
        self.held.flushed(seq);
    }

    /// Request number `seq` read these bytes, which are whole sectors.
    pub(crate) fn read(&mut self, seq: Seq, offset: u64, data: &[u8]) -> Result<(), Wrong> {
        for (sector, bytes) in sectors(offset, data.len()).zip(data.chunks(SECTOR_BYTES)) {
            self.held.read(seq, sector, &xxh3_64(bytes)).map_err(|wrong| Wrong::new(&wrong, bytes))?;
        }
        Ok(())
    }

    /// After a kill, the next server returned these bytes from `offset` on. They must stay like this.
    pub(crate) fn check_after_kill(&mut self, offset: u64, data: &[u8]) -> Result<(), Wrong> {
        for (sector, bytes) in sectors(offset, data.len()).zip(data.chunks(SECTOR_BYTES)) {
            self.held.check_after_cut(sector, xxh3_64(bytes)).map_err(|wrong| Wrong::new(&wrong, bytes))?;
        }
        // Later writes that begin or end inside a sector build on what was found.
        self.newest[offset as usize..][..data.len()].copy_from_slice(data);
        Ok(())
    }

    /// The pages in which something may still be lost.
    pub(crate) fn open_pages(&self, page_bytes: u64) -> BTreeSet<u64> {
        self.held.open_units().map(|sector| u64::from(sector) * SECTOR_BYTES as u64 / page_bytes).collect()
    }

    /// These bytes cannot be read, after a kill or after writes were lost. They keep all possible contents.
    pub(crate) fn may_have_any(&mut self, offset: u64, length: usize) {
        sectors(offset, length).for_each(|sector| self.held.may_have_any(sector));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: [u8; 1024] = [1; 1024];
    const NEW: [u8; 1024] = [2; 1024];

    #[test]
    fn what_is_in_flight_is_old_or_new_by_sector() {
        let in_flight = || {
            let mut model = Model::new(4096);
            model.sent(1, 512, &OLD);
            model.note_written(1, 512, 1024);
            model.flushed(2);
            model.sent(3, 512, &NEW);
            model
        };
        let mixed = [&OLD[..512], &NEW[..512]].concat();
        assert_eq!(in_flight().check_after_kill(512, &mixed), Ok(()));
        assert_eq!(in_flight().read(4, 512, &mixed), Ok(()));
        let torn = [&OLD[..500], &NEW[..524]].concat();
        let wrong = |is_zero| Err(Wrong { sector: 1, allowed: 2, is_zero });
        assert_eq!(in_flight().check_after_kill(512, &torn), wrong(false));
        assert_eq!(in_flight().read(4, 512, &torn), wrong(false));
        assert_eq!(in_flight().check_after_kill(512, &[0; 512]), wrong(true));
    }

    #[test]
    fn a_write_of_parts_of_sectors_keeps_the_rest() {
        let mut model = Model::new(4096);
        model.sent(1, 512, &OLD);
        model.sent(2, 800, &NEW[..400]);
        model.note_written(2, 800, 400);
        let both = [&OLD[..288], &NEW[..400], &OLD[..336]].concat();
        assert_eq!(model.read(3, 512, &both), Ok(()));
    }
}
