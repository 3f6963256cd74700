//! The root directory of FAT32, which grows like a file.
//!
//! `fatfs` 0.3.6 does not clear the clusters by which it grows (`File::is_dir` is false for the root, which has no
//! entry of its own). A cluster that a file has used before would then show that file's bytes as entries.

use super::SECTOR;

/// The end of a chain, and what marks it: the lower 28 bits of an entry count.
const CHAIN_END: u32 = 0x0FFF_FFF8;
const ENTRY_MASK: u32 = 0x0FFF_FFFF;
const ENTRY_BYTES: u64 = 4;

/// Where the tables of a FAT32 volume lie, and the last cluster of its root.
///
/// Invariant: `last` is the cluster by whose entry the root goes on when it grows.
#[derive(Debug, Clone, Copy)]
pub(super) struct RootChain {
    table_at: u64,
    table_bytes: u64,
    data_sector: u64,
    cluster_sectors: u64,
    last: u32,
}

impl RootChain {
    /// The chain as the boot sector of a FAT32 volume begins it.
    pub(super) fn new(boot: &[u8; SECTOR]) -> Self {
        let two = |at: usize| u64::from(u16::from_le_bytes([boot[at], boot[at + 1]]));
        let four = |at: usize| u32::from_le_bytes([boot[at], boot[at + 1], boot[at + 2], boot[at + 3]]);
        // Fields of the boot sector, by their offsets: sectors before the tables, tables, and sectors of each.
        let (reserved, tables, table_sectors) = (two(14), u64::from(boot[16]), u64::from(four(36)));
        Self {
            table_at: reserved * SECTOR as u64,
            table_bytes: table_sectors * SECTOR as u64,
            data_sector: reserved + tables * table_sectors,
            cluster_sectors: u64::from(boot[13]),
            last: four(44),
        }
    }

    /// Entries of the table.
    pub(super) fn entries(&self) -> u64 {
        self.table_bytes / ENTRY_BYTES
    }

    /// The byte at which the entry of the last cluster begins.
    pub(super) fn entry_at(&self) -> u64 {
        self.table_at + ENTRY_BYTES * u64::from(self.last)
    }

    /// Takes what the table has, or is about to have, at a byte. Returns the sectors of the cluster that follows the
    /// last one there, if any.
    pub(super) fn follow(&mut self, at: u64, data: &[u8]) -> Option<std::ops::Range<u64>> {
        let entry = u32::from_le_bytes(data.try_into().ok()?) & ENTRY_MASK;
        // A boot sector may name a cluster that the table does not have.
        let is_last = at == self.entry_at() && at - self.table_at < self.table_bytes;
        if !is_last || !(2..CHAIN_END).contains(&entry) {
            return None;
        }
        self.last = entry;
        let first = self.data_sector + u64::from(entry - 2) * self.cluster_sectors;
        Some(first..first + self.cluster_sectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fat::{Device, FatError, Recorder, Volume};

    /// A cluster of the root is a sector, which holds the entries of some files.
    #[test]
    fn the_root_grows_by_empty_entries_where_files_have_been() {
        let mut volume = Volume::format_fat32(Recorder::new(70_000)).expect("room for FAT32");
        let free_bytes = volume.free_bytes().expect("free clusters") as usize;
        volume.create("all", &vec![b'A'; free_bytes]).expect("all fits");
        volume.remove("all").expect("removed");
        let mut names: Vec<String> = (0..100).map(|number| format!("file{number}")).collect();
        for name in &names {
            volume.create(name, b"y").expect("room");
            assert_eq!(volume.read(name).expect("read"), b"y");
        }
        let mut found = volume.files().expect("a sound directory");
        found.sort_unstable();
        names.sort_unstable();
        assert_eq!(found, names);
    }

    #[test]
    fn a_root_that_runs_in_a_circle_is_an_error() {
        let mut device = Recorder::new(70_000);
        Volume::format_fat32(&mut device).expect("room for FAT32").unmount().expect("a disk in memory");
        let mut sector = [0; SECTOR];
        device.read(0, &mut sector).expect("the boot sector");
        let root = RootChain::new(&sector);
        let (at, within) = (root.entry_at() / SECTOR as u64, (root.entry_at() % SECTOR as u64) as usize);
        device.read(at, &mut sector).expect("the table");
        sector[within..within + 4].copy_from_slice(&root.last.to_le_bytes());
        device.write(at, &sector).expect("the table");
        let Err(FatError::Mount(error)) = Volume::mount(device) else { panic!("it mounts") };
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    }

    #[test]
    fn the_root_goes_on_where_its_last_entry_says() {
        let mut boot = [0; SECTOR];
        (boot[13], boot[14], boot[16], boot[36], boot[44]) = (4, 32, 2, 100, 2);
        let mut root = RootChain::new(&boot);
        assert_eq!(root.entry_at(), 32 * 512 + 8);
        assert_eq!(root.follow(32 * 512 + 12, &[9, 0, 0, 0]), None, "another cluster's");
        assert_eq!(root.follow(32 * 512 + 8, &[0xFF, 0xFF, 0xFF, 0x0F]), None, "the end");
        assert_eq!(root.follow(32 * 512 + 8, &[9, 0, 0, 0xF0]), Some(260..264));
        assert_eq!(root.entry_at(), 32 * 512 + 36);
        assert_eq!(root.follow(132 * 512 + 36, &[11, 0, 0, 0]), None, "the second table");
    }
}
