//! Known clusters of directories.
//!
//! A cluster is known as a directory's in four cases: it is the first of a FAT32 root; a write to it began with the
//! entries `.` and `..`; a written directory entry named it; a written table entry links a known one to it. The last
//! few are remembered. Others count as data, which only gives them a worse stream.

/// Clusters that are remembered.
const REMEMBERED: usize = 24;

const ENTRY_BYTES: usize = 32;
const IS_DIRECTORY: u8 = 0x10;
/// Kinds of exFAT's entries: the first and the second of a file.
const EXFAT_FILE: u8 = 0x85;
const EXFAT_STREAM: u8 = 0xC0;
/// Attribute bits that are all set only in parts of long names.
const LONG_NAME: u8 = 0x0F;

/// An entry of a directory, as 32 bytes.
pub(crate) struct DirectoryEntry;

impl DirectoryEntry {
    /// True if a sector begins with the two entries of every directory that is not a root.
    pub(crate) fn begins_directory(sector: &[u8]) -> bool {
        let entry = |at: usize, name: &[u8; 11]| sector[at..].starts_with(name) && sector[at + 11] & IS_DIRECTORY != 0;
        entry(0, b".          ") && entry(ENTRY_BYTES, b"..         ")
    }

    /// The first clusters of the directories that a sector of a directory names.
    pub(crate) fn directories(sector: &[u8]) -> impl Iterator<Item = u32> {
        // E5 marks an entry that was deleted. `.` and `..` name the directory itself and the one above it.
        let names_one = |entry: &&[u8]| {
            !matches!(entry[0], 0 | 0xE5 | b'.') && entry[11] & LONG_NAME != LONG_NAME && entry[11] & IS_DIRECTORY != 0
        };
        // A zero ends the directory, and what is behind it is old.
        sector.chunks_exact(ENTRY_BYTES).take_while(|entry| entry[0] != 0).filter(names_one).map(|entry| {
            // The two halves of the cluster's number lie apart.
            let half = |at: usize| u32::from(u16::from_le_bytes([entry[at], entry[at + 1]]));
            half(20) << 16 | half(26)
        })
    }

    /// The same for exFAT: an entry with the attributes is followed by one with the first cluster. If the second entry
    /// is in the next sector, the directory is missed.
    pub(crate) fn exfat_directories(sector: &[u8]) -> impl Iterator<Item = u32> {
        let entries = sector.chunks_exact(ENTRY_BYTES);
        let pairs = entries.clone().zip(entries.skip(1));
        // The first entry has the attributes in byte 4, and the second one the cluster from byte 20 on.
        let is_one = |(file, stream): &(&[u8], &[u8])| {
            file[0] == EXFAT_FILE && file[4] & IS_DIRECTORY != 0 && stream[0] == EXFAT_STREAM
        };
        pairs.filter(is_one).map(|(_, stream)| u32::from_le_bytes([stream[20], stream[21], stream[22], stream[23]]))
    }
}

/// The known clusters. The oldest is replaced first. A place holds the volume's number above 28 bits of cluster, or 0.
#[derive(Debug, Default)]
pub(crate) struct Directories {
    places: [u32; REMEMBERED],
    next: u8,
}

fn place(volume: u8, cluster: u32) -> u32 {
    u32::from(volume) << 28 | cluster
}

impl Directories {
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn contains(&self, volume: u8, cluster: u32) -> bool {
        self.places.contains(&place(volume, cluster))
    }

    pub(crate) fn add(&mut self, volume: u8, cluster: u32) {
        if !self.contains(volume, cluster) {
            self.places[usize::from(self.next)] = place(volume, cluster);
            self.next = (self.next + 1) % REMEMBERED as u8;
        }
    }

    /// Notes that a directory continues in another cluster.
    pub(crate) fn follow(&mut self, volume: u8, cluster: u32, next: u32) {
        if self.contains(volume, cluster) {
            self.add(volume, next);
        }
    }

    pub(crate) fn forget(&mut self, volume: u8, cluster: u32) {
        let gone = place(volume, cluster);
        for place in &mut self.places {
            if *place == gone {
                *place = 0;
            }
        }
    }

    /// The first known cluster behind another.
    pub(crate) fn next_after(&self, volume: u8, cluster: u32) -> Option<u32> {
        let (low, high) = (place(volume, cluster), place(volume, 0x0FFF_FFFF));
        // A place that is empty is 0, below every cluster.
        self.places.iter().copied().filter(|&p| p > low && p <= high).min().map(|p| p & 0x0FFF_FFFF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn the_oldest_makes_room() {
        let mut known = Directories::default();
        for cluster in 2..2 + REMEMBERED as u32 {
            known.add(1, cluster);
        }
        known.follow(1, 5, 100);
        assert!(known.contains(1, 100) && !known.contains(1, 2) && known.contains(1, 3) && !known.contains(0, 100));
        known.follow(1, 2, 101);
        assert!(!known.contains(1, 101), "unknown is the cluster that it follows");
        known.forget(1, 7);
        assert_eq!(known.next_after(1, 6), Some(8));
        assert_eq!((known.next_after(1, 100), known.next_after(0, 2)), (None, None));
    }

    #[test]
    fn entries_name_directories() {
        let mut sector = [0; 512];
        let mut put = |at: usize, name: &[u8; 11], attributes: u8, cluster: u32| {
            let entry = &mut sector[at * ENTRY_BYTES..][..ENTRY_BYTES];
            entry[..11].copy_from_slice(name);
            entry[11] = attributes;
            entry[20..22].copy_from_slice(&cluster.to_le_bytes()[2..]);
            entry[26..28].copy_from_slice(&cluster.to_le_bytes()[..2]);
        };
        put(0, b".          ", 0x10, 7);
        put(1, b"..         ", 0x10, 0);
        put(2, b"A          ", 0x10, 0x12345);
        put(3, b"FILE       ", 0x20, 9);
        put(4, b"LONG NAME..", 0x0F, 10);
        put(5, b"\xE5          ", 0x10, 11);
        put(7, b"BEHIND END ", 0x10, 12);
        assert!(DirectoryEntry::begins_directory(&sector));
        assert_eq!(DirectoryEntry::directories(&sector).collect::<Vec<_>>(), [0x12345]);
        sector[0] = b'x';
        assert!(!DirectoryEntry::begins_directory(&sector));
    }
}
