//! The PC's partition table: four entries in LBA 0, and chains of extended ones.

use super::{Holds, Layout, MAX_EXTENDED, Partition, PartitionError, read};
use crate::list::List;
use crate::source::{Sector, Source, has_signature, u32_at};

const ENTRIES: usize = 446;
const ENTRY_BYTES: usize = 16;

/// Types of partitions.
const EMPTY: u8 = 0x00;
const EXTENDED: [u8; 3] = [0x05, 0x0F, 0x85];
const PROTECTIVE: u8 = 0xEE;
/// FAT12, FAT16 up to 32 MiB, FAT16, exFAT or NTFS, FAT32, FAT32 and FAT16 by LBA; then the same, hidden. A partition
/// of another type may still begin with the boot sector of the FAT volume that it once was.
const FAT: [u8; 14] = [0x01, 0x04, 0x06, 0x07, 0x0B, 0x0C, 0x0E, 0x11, 0x14, 0x16, 0x17, 0x1B, 0x1C, 0x1E];

/// Linux's own file systems.
const LINUX: u8 = 0x83;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Entry {
    kind: u8,
    start: u64,
    sectors: u64,
}

/// The four entries of a table.
pub(super) struct Table([Entry; 4]);

impl Table {
    /// Parses a table. None if the sector lacks the mark, a status byte is neither 00 nor 80, or a partition begins at
    /// its own table or beyond the device.
    pub(super) fn parse(sector: &Sector, device_sectors: u64) -> Option<Self> {
        if !has_signature(sector) {
            return None;
        }
        let mut table = [Entry::default(); 4];
        for (entry, bytes) in table.iter_mut().zip(sector[ENTRIES..].chunks_exact(ENTRY_BYTES)) {
            *entry =
                Entry { kind: bytes[4], start: u64::from(u32_at(bytes, 8)), sectors: u64::from(u32_at(bytes, 12)) };
            let sane = entry.kind == EMPTY || (entry.sectors > 0 && (1..device_sectors).contains(&entry.start));
            if bytes[0] & 0x7F != 0 || !sane {
                return None;
            }
        }
        Some(Self(table))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|entry| entry.kind == EMPTY)
    }

    /// True if the table only protects a GPT from programs that do not know GPT.
    pub(super) fn is_protective(&self) -> bool {
        self.0.iter().any(|entry| entry.kind == PROTECTIVE)
    }
}

/// Finds the partitions of a table in LBA 0.
pub(super) fn find(source: &mut impl Source, table: &Table, layout: &mut Layout) -> Result<(), PartitionError> {
    let sectors = source.sectors();
    let mut result = Ok(());
    // One list for all chains: there is room to watch as many tables as it holds.
    let mut seen = List::default();
    for entry in table.0.iter().filter(|entry| entry.kind != EMPTY) {
        if EXTENDED.contains(&entry.kind) {
            // Followed also behind an error: the sectors of each chain are watched.
            result = result.and(find_extended(source, entry.start, layout, &mut seen));
        } else {
            layout.add(partition(entry, 0), sectors);
        }
    }
    result
}

fn partition(entry: &Entry, base: u64) -> Partition {
    let holds = match entry.kind {
        kind if FAT.contains(&kind) => Holds::Fat,
        LINUX => Holds::Linux,
        _ => Holds::Other,
    };
    Partition { start: base + entry.start, sectors: entry.sectors, holds }
}

/// Follows a chain of extended tables. Each has one partition, relative to the table, and a link to the next,
/// relative to the first.
fn find_extended(
    source: &mut impl Source,
    first: u64,
    layout: &mut Layout,
    seen: &mut List<u64, MAX_EXTENDED>,
) -> Result<(), PartitionError> {
    let sectors = source.sectors();
    let mut lba = first;
    loop {
        if seen.as_slice().contains(&lba) || !seen.push(lba) {
            return Err(PartitionError::Chain { lba });
        }
        // Before it is read: a write may make a table of what is none.
        layout.watch.point(lba);
        let table = Table::parse(&read(source, lba)?, sectors).ok_or(PartitionError::Extended { lba })?;
        let mut next = None;
        for entry in table.0.iter().filter(|entry| entry.kind != EMPTY) {
            if EXTENDED.contains(&entry.kind) {
                next = next.or(Some(first + entry.start));
            } else {
                layout.add(partition(entry, lba), sectors);
            }
        }
        let Some(link) = next else { return Ok(()) };
        lba = link;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::image::Image;
    use alloc::vec::Vec;

    pub(super) fn entry(image: &mut Image, lba: usize, slot: usize, kind: u8, start: u32, sectors: u32) {
        let sector = image.sector(lba);
        let bytes = &mut sector[ENTRIES + slot * ENTRY_BYTES..][..ENTRY_BYTES];
        bytes[4] = kind;
        bytes[8..12].copy_from_slice(&start.to_le_bytes());
        bytes[12..].copy_from_slice(&sectors.to_le_bytes());
        sector[510..].copy_from_slice(&[0x55, 0xAA]);
    }

    fn found(image: &mut Image) -> (Vec<(u64, u64)>, Result<(), PartitionError>) {
        let mut layout = Layout::default();
        let result = super::super::find(image, &mut layout);
        let fat = layout.partitions.as_slice().iter().filter(|p| p.holds == Holds::Fat);
        (fat.map(|p| (p.start, p.sectors)).collect(), result)
    }

    #[test]
    fn primary_and_extended_partitions_are_found() {
        let mut image = Image::new(1000);
        entry(&mut image, 0, 0, 0x0C, 10, 90);
        entry(&mut image, 0, 1, 0x83, 100, 50);
        entry(&mut image, 0, 2, 0x0F, 200, 800);
        entry(&mut image, 200, 0, 0x06, 5, 95);
        entry(&mut image, 200, 1, 0x05, 300, 200);
        entry(&mut image, 500, 0, 0x01, 1, 20);
        assert_eq!(found(&mut image), (Vec::from([(10, 90), (205, 95), (501, 20)]), Ok(())));
        let mut layout = Layout::default();
        super::super::find(&mut image, &mut layout).expect("a table");
        for watched in [0, 10, 200, 205, 500, 501] {
            assert!(layout.watch.hits(wearwell::Sectors { start: watched, count: 1 }), "{watched}");
        }
        assert!(!layout.watch.hits(wearwell::Sectors { start: 11, count: 180 }));
        assert_eq!(layout.watch.next_after(10), 200, "what is no FAT's is not watched");
    }

    #[test]
    fn loops_and_long_chains_end() {
        let mut image = Image::new(1000);
        entry(&mut image, 0, 0, 0x05, 200, 800);
        entry(&mut image, 200, 0, 0x01, 5, 10);
        entry(&mut image, 200, 1, 0x05, 100, 50);
        entry(&mut image, 300, 1, 0x05, 100, 50);
        assert_eq!(found(&mut image), (Vec::from([]), Err(PartitionError::Chain { lba: 300 })));
        for link in 0..50 {
            entry(&mut image, 200 + link * 2, 0, 0x01, 1, 1);
            entry(&mut image, 200 + link * 2, 1, 0x05, (link as u32 + 1) * 2, 2);
        }
        let (_, result) = found(&mut image);
        assert_eq!(result, Err(PartitionError::Chain { lba: 200 + 2 * MAX_EXTENDED as u64 }));
    }

    #[test]
    fn nonsense_is_no_table() {
        let mut image = Image::new(1000);
        assert_eq!(found(&mut image).1, Err(PartitionError::Unknown));
        entry(&mut image, 0, 0, 0x0C, 0, 90);
        assert_eq!(found(&mut image).1, Err(PartitionError::Unknown), "a partition over its own table");
        entry(&mut image, 0, 0, 0x0C, 1000, 90);
        assert_eq!(found(&mut image).1, Err(PartitionError::Unknown), "a partition beyond the device");
        entry(&mut image, 0, 0, 0x0C, 10, 1000);
        assert_eq!(found(&mut image), (Vec::new(), Ok(())), "a partition that is cut off");
        entry(&mut image, 0, 0, 0x0C, 10, 90);
        entry(&mut image, 0, 1, 0x83, 99, 50);
        entry(&mut image, 0, 2, 0x0C, 200, 50);
        assert_eq!(found(&mut image), (Vec::from([(200, 50)]), Ok(())), "two that overlap");
        image.sector(0)[ENTRIES] = 1;
        assert_eq!(found(&mut image).1, Err(PartitionError::Unknown), "a bad status byte");
        image.sector(0)[ENTRIES] = 0x80;
        entry(&mut image, 0, 3, 0x05, 300, 50);
        assert_eq!(found(&mut image).1, Err(PartitionError::Extended { lba: 300 }));
    }
}
