//! The window: the few sectors that a small file system keeps in memory, presented as a stream of bytes.

use std::io::{self, Read, Seek, SeekFrom, Write};

use super::root::RootChain;
use super::{Device, SECTOR};

/// Sectors in memory: 16 KiB.
const SLOTS: usize = 32;

/// One sector in memory.
struct Slot {
    sector: u64,
    /// True if the device holds something older.
    dirty: bool,
    /// The window's count of uses when this slot was used last.
    used: u64,
    bytes: [u8; SECTOR],
}

/// A device as a stream of bytes, through a write-back window.
///
/// Invariant: no sector is in two slots, and a sector in a slot is at least as new there as on the device.
pub(super) struct Window<D> {
    device: D,
    position: u64,
    slots: Vec<Slot>,
    uses: u64,
    /// The slot used last, which is the most likely one for the next use.
    recent: usize,
    /// True if the device was written to since it was flushed.
    unflushed: bool,
    /// On FAT32.
    root: Option<RootChain>,
    /// Sectors by which the root has grown, and that nothing was written to since.
    fresh: Vec<u64>,
}

impl<D: Device> Window<D> {
    pub(super) fn new(device: D) -> Self {
        Self {
            device,
            position: 0,
            slots: Vec::with_capacity(SLOTS),
            uses: 0,
            recent: 0,
            unflushed: false,
            root: None,
            fresh: Vec::new(),
        }
    }

    /// Clears whatever the root directory of a FAT32 volume grows by from now on.
    pub(super) fn watch_root(&mut self) -> io::Result<()> {
        let mut root = RootChain::new(&self.peek(0)?);
        // A chain has no more clusters than the table has entries. On a damaged volume it may run in a circle.
        for clusters in 0.. {
            if clusters > root.entries() {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the clusters of the root directory form a circle",
                ));
            }
            let (sector, within) = (root.entry_at() / SECTOR as u64, (root.entry_at() % SECTOR as u64) as usize);
            if root.follow(root.entry_at(), &self.peek(sector)?[within..within + 4]).is_none() {
                break;
            }
        }
        self.root = Some(root);
        Ok(())
    }

    /// The bytes of a sector. The window stays as it is.
    fn peek(&mut self, sector: u64) -> io::Result<[u8; SECTOR]> {
        let mut bytes = [0; SECTOR];
        match self.find(sector) {
            Some(slot) => bytes = self.slots[slot].bytes,
            None => self.device.read(sector, &mut bytes)?,
        }
        Ok(bytes)
    }

    /// Reads whole sectors. Those by which the root has grown are empty, whatever the device has there.
    fn read_device(&mut self, sector: u64, out: &mut [u8]) -> io::Result<()> {
        self.device.read(sector, out)?;
        for (sector, bytes) in (sector..).zip(out.chunks_exact_mut(SECTOR)) {
            if self.fresh.contains(&sector) {
                bytes.fill(0);
            }
        }
        Ok(())
    }

    pub(super) fn device(&mut self) -> &mut D {
        &mut self.device
    }

    /// Writes everything back, in the order of the sectors, and flushes the device if it was written to.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        // Before the tables, whose entries make these sectors a part of the root.
        for sector in std::mem::take(&mut self.fresh) {
            self.device.write(sector, &[0; SECTOR])?;
            self.unflushed = true;
        }
        let mut dirty: Vec<usize> = (0..self.slots.len()).filter(|&slot| self.slots[slot].dirty).collect();
        dirty.sort_unstable_by_key(|&slot| self.slots[slot].sector);
        for slot in dirty {
            self.write_back(slot)?;
        }
        if self.unflushed {
            self.device.flush()?;
            self.unflushed = false;
        }
        Ok(())
    }

    fn write_back(&mut self, slot: usize) -> io::Result<()> {
        let slot = &mut self.slots[slot];
        if slot.dirty {
            self.device.write(slot.sector, &slot.bytes)?;
            slot.dirty = false;
            self.unflushed = true;
        }
        Ok(())
    }

    fn find(&self, sector: u64) -> Option<usize> {
        match self.slots.get(self.recent) {
            Some(slot) if slot.sector == sector => Some(self.recent),
            _ => self.slots.iter().position(|slot| slot.sector == sector),
        }
    }

    /// The slot that holds a sector. If there is none, the sector is read from the device into the least recently used
    /// slot.
    fn slot(&mut self, sector: u64) -> io::Result<&mut Slot> {
        let found = match self.find(sector) {
            Some(slot) => slot,
            None => self.load(sector)?,
        };
        self.uses += 1;
        self.recent = found;
        let slot = &mut self.slots[found];
        slot.used = self.uses;
        Ok(slot)
    }

    fn load(&mut self, sector: u64) -> io::Result<usize> {
        let mut bytes = [0; SECTOR];
        // Before a slot is given up: a read that fails leaves the window as it was.
        self.read_device(sector, &mut bytes)?;
        let new = Slot { sector, dirty: false, used: 0, bytes };
        if self.slots.len() < SLOTS {
            self.slots.push(new);
            return Ok(self.slots.len() - 1);
        }
        let oldest = (0..SLOTS).min_by_key(|&slot| self.slots[slot].used).unwrap_or(0);
        self.write_back(oldest)?;
        self.slots[oldest] = new;
        Ok(oldest)
    }

    /// The sector and the offset of the next byte. None at the end.
    fn place(&self) -> Option<(u64, usize)> {
        let sector = self.position / SECTOR as u64;
        (sector < self.device.sectors()).then_some((sector, (self.position % SECTOR as u64) as usize))
    }

    /// How many whole sectors of `bytes` can be transferred from a sector on.
    fn whole_sectors(&self, sector: u64, within: usize, bytes: usize) -> u64 {
        if within > 0 { 0 } else { (bytes as u64 / SECTOR as u64).min(self.device.sectors() - sector) }
    }
}

impl<D: Device> Read for Window<D> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some((sector, within)) = self.place() else { return Ok(0) };
        let whole = self.whole_sectors(sector, within, out.len());
        // What the window has is newer, so a transfer ends before the first of its sectors.
        let outside = (sector..sector + whole).take_while(|&sector| self.find(sector).is_none()).count();
        let count = if outside > 0 {
            let bytes = outside * SECTOR;
            self.read_device(sector, &mut out[..bytes])?;
            bytes
        } else {
            let count = out.len().min(SECTOR - within);
            out[..count].copy_from_slice(&self.slot(sector)?.bytes[within..within + count]);
            count
        };
        self.position += count as u64;
        Ok(count)
    }
}

impl<D: Device> Write for Window<D> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let Some((sector, within)) = self.place() else { return Ok(0) };
        // The file system writes an entry of the table as four bytes, and `follow` takes nothing else.
        if let Some(grown) = self.root.as_mut().and_then(|root| root.follow(self.position, data)) {
            self.fresh.extend(grown.clone());
            // What is there of these sectors belongs to what was in the cluster before.
            self.slots.retain(|slot| !grown.contains(&slot.sector));
        }
        let whole = self.whole_sectors(sector, within, data.len());
        let count = if whole > 0 {
            let bytes = whole as usize * SECTOR;
            // What is written now must not be cleared by `sync`.
            self.fresh.retain(|fresh| !(sector..sector + whole).contains(fresh));
            self.device.write(sector, &data[..bytes])?;
            self.unflushed = true;
            // The window's copies of these sectors are out of date.
            self.slots.retain(|slot| !(sector..sector + whole).contains(&slot.sector));
            bytes
        } else {
            let count = data.len().min(SECTOR - within);
            let slot = self.slot(sector)?;
            slot.bytes[within..within + count].copy_from_slice(&data[..count]);
            slot.dirty = true;
            // A fresh sector was read as zeros, and holds something now. `sync` must not clear it any more.
            self.fresh.retain(|&fresh| fresh != sector);
            count
        };
        self.position += count as u64;
        Ok(count)
    }

    /// Does nothing: the file system flushes whenever it drops a directory, even in the middle of an operation.
    /// [`sync`](Window::sync) is called at the end of an operation.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<D: Device> Seek for Window<D> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => (self.device.sectors() * SECTOR as u64).checked_add_signed(by),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fat::Recorder;
    use crate::request::Op;

    fn window() -> Window<Recorder> {
        Window::new(Recorder::new(256))
    }

    fn put(window: &mut Window<Recorder>, at: u64, data: &[u8]) {
        window.seek(SeekFrom::Start(at)).expect("a place");
        window.write_all(data).expect("room");
    }

    fn writes(window: &mut Window<Recorder>) -> Vec<(u64, u64)> {
        let requests = window.device().take_requests();
        let writes = requests.iter().filter(|request| request.op == Op::Write);
        writes.map(|request| (request.offset_bytes / 512, request.length_bytes / 512)).collect()
    }

    #[test]
    fn small_changes_to_a_sector_become_one_write() {
        let mut window = window();
        for entry in 0..100 {
            put(&mut window, 5 * 512 + entry * 4, &[1; 4]);
            put(&mut window, 9 * 512 + entry * 4, &[2; 4]);
        }
        assert_eq!(writes(&mut window), []);
        window.sync().expect("in memory");
        assert_eq!(writes(&mut window), [(5, 1), (9, 1)]);
        window.sync().expect("in memory");
        assert!(window.device().take_requests().is_empty(), "nothing is left to write, so nothing to flush");
    }

    #[test]
    fn whole_sectors_pass_by_and_are_newer_than_the_window() {
        let mut window = window();
        put(&mut window, 3 * 512 + 7, &[1; 600]);
        put(&mut window, 3 * 512, &[2; 1024]);
        assert_eq!(writes(&mut window), [(3, 2)]);
        window.sync().expect("in memory");
        assert_eq!(writes(&mut window), []);
        let mut found = [0; 1024];
        window.seek(SeekFrom::Start(3 * 512)).expect("a place");
        window.read_exact(&mut found).expect("in memory");
        assert_eq!(found, [2; 1024]);
    }

    #[test]
    fn the_least_recently_used_sector_makes_room() {
        let mut window = window();
        for sector in 0..SLOTS as u64 {
            put(&mut window, sector * 512, &[1]);
        }
        put(&mut window, 0, &[1]);
        put(&mut window, 100 * 512, &[1]);
        assert_eq!(writes(&mut window), [(1, 1)]);
        let mut all = vec![0; 101 * 512];
        window.seek(SeekFrom::Start(0)).expect("a place");
        window.read_exact(&mut all).expect("in memory");
        assert_eq!(all.iter().map(|&byte| usize::from(byte)).sum::<usize>(), SLOTS + 1);
        window.seek(SeekFrom::Start(256 * 512)).expect("the end");
        assert_eq!(window.write(&[1]).expect("no error"), 0, "nothing lies behind the end");
    }
}
