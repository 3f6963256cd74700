//! The GUID partition table: a header in LBA 1, and an array of entries, both with a checksum.

use crc::{CRC_32_ISO_HDLC, Crc, Table};

use super::{Holds, Layout, Partition, PartitionError, read};
use crate::source::{SECTOR, Sector, Source, u32_at, u64_at};

const CRC: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_32_ISO_HDLC);

/// Bytes of the header that are defined.
const HEADER_BYTES: u32 = 92;
/// Bytes of the array of entries: the least that must be reserved for it, and the most that is read.
const ENTRIES_BYTES_MIN: u64 = 16 << 10;
const ENTRIES_BYTES_MAX: u64 = 64 << 10;

/// Types of partitions that hold FAT: basic data, EFI system. In the byte order of the disk.
const BASIC_DATA: [u8; 16] = 0xC79926B7_B668C087_4433B9E5_EBD0A0A2_u128.to_le_bytes();
const EFI_SYSTEM: [u8; 16] = 0x3BC93EC9_A0004BBA_11D2F81F_C12A7328_u128.to_le_bytes();
/// Linux's own file systems.
const LINUX: [u8; 16] = 0xE47D47D8_69798E72_47728483_0FC63DAF_u128.to_le_bytes();

/// The fields of the header.
struct Header {
    entries_lba: u64,
    entries: u64,
    entry_bytes: u64,
    entries_crc: u32,
    first_usable: u64,
    last_usable: u64,
}

impl Header {
    fn parse(sector: &Sector, device_sectors: u64) -> Result<Self, PartitionError> {
        let bad = |field| PartitionError::GptHeader { field };
        if !sector.starts_with(b"EFI PART") {
            return Err(bad("signature"));
        }
        let bytes = u32_at(sector, 12);
        if !(HEADER_BYTES..=SECTOR as u32).contains(&bytes) {
            return Err(bad("size"));
        }
        let stored = u32_at(sector, 16);
        let mut checked = *sector;
        // The checksum is of the header with zeros in its own place.
        checked[16..20].fill(0);
        let found = CRC.checksum(&checked[..bytes as usize]);
        if found != stored {
            return Err(PartitionError::GptChecksum { of: "header", stored, found });
        }
        let header = Self {
            entries_lba: u64_at(sector, 72),
            entries: u64::from(u32_at(sector, 80)),
            entry_bytes: u64::from(u32_at(sector, 84)),
            entries_crc: u32_at(sector, 88),
            first_usable: u64_at(sector, 40),
            last_usable: u64_at(sector, 48),
        };
        if u64_at(sector, 24) != 1 {
            return Err(bad("own address"));
        }
        // Larger entries would not fit into a sector; none are in use.
        if ![128, 256, 512].contains(&header.entry_bytes) {
            return Err(bad("size of an entry"));
        }
        // Both numbers have 32 bits on the disk, so the product fits.
        if header.entries * header.entry_bytes > ENTRIES_BYTES_MAX {
            return Err(bad("number of entries"));
        }
        let usable = (2..=header.last_usable).contains(&header.first_usable) && header.last_usable < device_sectors;
        if !usable {
            return Err(bad("range of usable sectors"));
        }
        if header.entries_lba < 2 || header.entries_end() > header.first_usable {
            return Err(bad("address of the entries"));
        }
        Ok(header)
    }

    /// The sector behind the entries.
    fn entries_end(&self) -> u64 {
        self.entries_lba.saturating_add((self.entries * self.entry_bytes).div_ceil(SECTOR as u64))
    }
}

/// Finds the partitions. Only the table at the beginning counts. While it is damaged, nothing is inferred.
pub(super) fn find(source: &mut impl Source, layout: &mut Layout) -> Result<(), PartitionError> {
    let sectors = source.sectors();
    let table_sectors = 1 + ENTRIES_BYTES_MIN / SECTOR as u64;
    // Without a header that can be trusted, both ends are watched in the least size that a table has.
    let header = Header::parse(&read(source, 1)?, sectors).inspect_err(|_| {
        layout.watch.range(0, 1 + table_sectors);
        layout.watch.range(sectors.saturating_sub(table_sectors), sectors);
    })?;
    layout.watch.range(0, header.first_usable);
    layout.watch.range(header.last_usable + 1, sectors);
    // What a wrong checksum covers was added by then: `super::find` drops it.
    let found = entries(source, &header, layout)?;
    if found == header.entries_crc {
        return Ok(());
    }
    Err(PartitionError::GptChecksum { of: "entries", stored: header.entries_crc, found })
}

fn holds(entry: &[u8]) -> Holds {
    match &entry[..16] {
        kind if *kind == BASIC_DATA || *kind == EFI_SYSTEM => Holds::Fat,
        kind if *kind == LINUX => Holds::Linux,
        _ => Holds::Other,
    }
}

/// Reads the entries, and returns their checksum.
fn entries(source: &mut impl Source, header: &Header, layout: &mut Layout) -> Result<u32, PartitionError> {
    let sectors = source.sectors();
    let mut digest = CRC.digest();
    let mut left = header.entries * header.entry_bytes;
    for lba in header.entries_lba..header.entries_end() {
        let sector = read(source, lba)?;
        // The entries may end within a sector, and the checksum with them.
        let bytes = &sector[..left.min(SECTOR as u64) as usize];
        digest.update(bytes);
        left -= bytes.len() as u64;
        // The size of an entry divides that of a sector, so no entry lies in two.
        for entry in bytes.chunks_exact(header.entry_bytes as usize) {
            let (first, last) = (u64_at(entry, 32), u64_at(entry, 40));
            if entry[..16] != [0; 16] && first <= last {
                // A partition outside this range holds nothing, and still excludes what overlaps it.
                let is_usable = first >= header.first_usable && last <= header.last_usable;
                let holds = if is_usable { holds(entry) } else { Holds::Other };
                layout.add(Partition { start: first, sectors: (last - first).saturating_add(1), holds }, sectors);
            }
        }
    }
    Ok(digest.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::image::Image;
    use alloc::vec::Vec;

    fn put(image: &mut Image, lba: usize, offset: usize, bytes: &[u8]) {
        image.sector(lba)[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn seal(image: &mut Image) {
        let entries = CRC.checksum(&image.0[2 * SECTOR..34 * SECTOR]);
        put(image, 1, 88, &entries.to_le_bytes());
        put(image, 1, 16, &[0; 4]);
        let header = CRC.checksum(&image.sector(1)[..92]);
        put(image, 1, 16, &header.to_le_bytes());
    }

    fn disk() -> Image {
        let mut image = Image::new(2000);
        put(&mut image, 0, 450, &[0xEE]);
        put(&mut image, 0, 454, &1_u32.to_le_bytes());
        put(&mut image, 0, 458, &u32::MAX.to_le_bytes());
        put(&mut image, 0, 510, &[0x55, 0xAA]);
        put(&mut image, 1, 0, b"EFI PART");
        put(&mut image, 1, 12, &92_u32.to_le_bytes());
        for (offset, value) in [(24, 1_u64), (32, 1999), (40, 34), (48, 1966), (72, 2)] {
            put(&mut image, 1, offset, &value.to_le_bytes());
        }
        put(&mut image, 1, 80, &128_u32.to_le_bytes());
        put(&mut image, 1, 84, &128_u32.to_le_bytes());
        for (slot, kind, first, last) in
            [(0, EFI_SYSTEM, 100, 199_u64), (3, LINUX, 200, 299), (127, BASIC_DATA, 300, 1966)]
        {
            let (lba, offset) = (2 + slot / 4, slot % 4 * 128);
            put(&mut image, lba, offset, &kind);
            put(&mut image, lba, offset + 32, &u64::to_le_bytes(first));
            put(&mut image, lba, offset + 40, &last.to_le_bytes());
        }
        seal(&mut image);
        image
    }

    fn found(image: &mut Image) -> (Vec<(u64, u64)>, Result<(), PartitionError>) {
        let mut layout = Layout::default();
        let result = super::super::find(image, &mut layout);
        assert!(layout.watch.hits(wearwell::Sectors { start: 33, count: 1 }), "entries are watched, good or bad");
        assert!(layout.watch.hits(wearwell::Sectors { start: 1999, count: 1 }), "so is the copy at the end");
        assert!(!layout.watch.hits(wearwell::Sectors { start: 34, count: 10 }));
        let fat = layout.partitions.as_slice().iter().filter(|p| p.holds == Holds::Fat);
        (fat.map(|p| (p.start, p.sectors)).collect(), result)
    }

    #[test]
    fn fat_partitions_are_found() {
        assert_eq!(found(&mut disk()), (Vec::from([(100, 100), (300, 1667)]), Ok(())));
        let guid = "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7".replace('-', "");
        let byte = |i: usize| u8::from_str_radix(&guid[2 * i..2 * i + 2], 16).expect("hexadecimal");
        let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
        assert_eq!(BASIC_DATA, order.map(byte));
        let guid = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B".replace('-', "");
        let byte = |i: usize| u8::from_str_radix(&guid[2 * i..2 * i + 2], 16).expect("hexadecimal");
        assert_eq!(EFI_SYSTEM, order.map(byte));
    }

    #[test]
    fn any_wrong_bit_of_the_table_is_noticed() {
        for (lba, byte) in [(1, 0), (1, 12), (1, 17), (1, 24), (1, 40), (1, 72), (1, 88), (2, 32), (33, 511)] {
            let mut image = disk();
            image.sector(lba)[byte] ^= 4;
            let (partitions, result) = found(&mut image);
            assert!(partitions.is_empty() && result.is_err(), "{lba} {byte}");
        }
    }

    #[test]
    fn numbers_without_sense_are_refused_with_their_name() {
        let huge = u64::MAX.to_le_bytes();
        let cases: [(usize, &[u8], &str); 6] = [
            (24, &huge, "own address"),
            (40, &huge, "range of usable sectors"),
            (48, &huge, "range of usable sectors"),
            (72, &huge, "address of the entries"),
            (80, &huge[..4], "number of entries"),
            (84, &huge[..4], "size of an entry"),
        ];
        for (offset, bytes, field) in cases {
            let mut image = disk();
            put(&mut image, 1, offset, bytes);
            seal(&mut image);
            assert_eq!(found(&mut image).1, Err(PartitionError::GptHeader { field }));
        }
    }
}
