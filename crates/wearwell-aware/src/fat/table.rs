//! Entries of an allocation table, one sector at a time.

use core::ops::Range;

use wearwell::FtlError;

use super::boot::{FIRST_CLUSTER, Geometry, Width};
use crate::source::{SECTOR, Sector, Source};

/// Most entries that can lie in a sector, in whole or in part. exFAT's bitmap has the most.
pub(crate) const ENTRIES_MAX: usize = SECTOR * 8;

/// A set of entries of one sector, by their index in the sector.
pub(crate) type EntrySet = [u64; ENTRIES_MAX.div_ceil(64)];

pub(crate) const NO_ENTRIES: EntrySet = [0; ENTRIES_MAX.div_ceil(64)];

/// A sector of a table, with the byte before it and the byte after it, because a FAT12 entry can lie in two sectors.
pub(crate) struct Window {
    bytes: [u8; SECTOR + 2],
    /// The sector's place in its table.
    index: u64,
    width: Width,
}

impl Window {
    /// Reads a sector of a table, and for FAT12 the adjacent ones.
    pub(crate) fn read(geometry: &Geometry, source: &mut impl Source, table: u8, index: u64) -> Result<Self, FtlError> {
        let mut window = Self { bytes: [0; SECTOR + 2], index, width: geometry.width };
        let mut sector: Sector = [0; SECTOR];
        let lba = geometry.table_sector(table, index);
        source.read(lba, &mut sector)?;
        window.bytes[1..=SECTOR].copy_from_slice(&sector);
        if geometry.width == Width::Fat12 {
            if index > 0 {
                source.read(lba - 1, &mut sector)?;
                window.bytes[0] = sector[SECTOR - 1];
            }
            if index + 1 < geometry.table_sectors {
                source.read(lba + 1, &mut sector)?;
                window.bytes[SECTOR + 1] = sector[0];
            }
        }
        Ok(window)
    }

    /// The clusters whose entries lie in a sector of the table, in whole or in part.
    pub(crate) fn clusters(geometry: &Geometry, index: u64) -> Range<u32> {
        let first_byte = index * SECTOR as u64;
        let end_byte = first_byte + SECTOR as u64;
        let (first, end) = match geometry.width {
            // Entry e lies in bytes 3e/2 and 3e/2 + 1.
            Width::Fat12 => ((first_byte * 2).saturating_sub(2).div_ceil(3), (end_byte * 2).div_ceil(3)),
            Width::Fat16 => (first_byte / 2, end_byte / 2),
            Width::Fat32 => (first_byte / 4, end_byte / 4),
            // The first bit is the first cluster's.
            Width::ExFat => (first_byte * 8 + u64::from(FIRST_CLUSTER), end_byte * 8 + u64::from(FIRST_CLUSTER)),
        };
        // Entries 0 and 1 are no clusters, and a table may have more entries than the volume has clusters.
        let limit = |entry: u64| entry.clamp(u64::from(FIRST_CLUSTER), u64::from(geometry.cluster_end())) as u32;
        limit(first)..limit(end)
    }

    /// The entry of one of the sector's [clusters](Self::clusters); 0 is free.
    pub(crate) fn entry(&self, cluster: u32) -> u32 {
        let bit = cluster - FIRST_CLUSTER;
        let byte = match self.width {
            Width::Fat12 => u64::from(cluster) * 3 / 2,
            Width::Fat16 => u64::from(cluster) * 2,
            Width::Fat32 => u64::from(cluster) * 4,
            Width::ExFat => u64::from(bit / 8),
        };
        // The window begins a byte before the sector.
        let at = (byte + 1 - self.index * SECTOR as u64) as usize;
        let two = u32::from(self.bytes[at]) | u32::from(self.bytes[at + 1]) << 8;
        match self.width {
            Width::Fat12 if cluster.is_multiple_of(2) => two & 0xFFF,
            Width::Fat12 => two >> 4,
            Width::Fat16 => two,
            Width::ExFat => two >> (bit % 8) & 1,
            Width::Fat32 => {
                (two | u32::from(self.bytes[at + 2]) << 16 | u32::from(self.bytes[at + 3]) << 24) & 0x0FFF_FFFF
            }
        }
    }

    /// True if this is the first sector of a table and begins like one: entry 0 has the media descriptor in its lower
    /// byte, and ones above it. Otherwise the table is not formatted yet, or no longer a table.
    pub(crate) fn begins_table(&self, geometry: &Geometry) -> bool {
        let ones: &[u8] = match self.width {
            Width::Fat12 => &[0x0F],
            Width::Fat16 => &[0xFF],
            Width::Fat32 => &[0xFF, 0xFF, 0x0F],
            // A bitmap has no mark.
            Width::ExFat => return true,
        };
        self.bytes[1] == geometry.media && self.bytes[2..].iter().zip(ones).all(|(byte, ones)| byte & ones == *ones)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::image::Image;

    fn geometry(width: Width, clusters: u32, table_sectors: u64) -> Geometry {
        Geometry {
            start: 0,
            table_start: 1,
            table_sectors,
            root_start: 1 + table_sectors,
            data_start: 2 + table_sectors,
            clusters,
            cluster_sectors: 1,
            root_cluster: 0,
            backup_boot: 0,
            width,
            tables: 1,
            only_table: None,
            media: 0xF8,
        }
    }

    fn put12(table: &mut [u8], entry: usize, value: u16) {
        let at = entry * 3 / 2;
        let value = if entry % 2 == 1 { value << 4 } else { value };
        let keep = if entry % 2 == 1 { 0x000F } else { 0xF000 };
        let old = u16::from_le_bytes([table[at], table[at + 1]]);
        table[at..at + 2].copy_from_slice(&(old & keep | value).to_le_bytes());
    }

    #[test]
    fn entries_that_lie_in_two_sectors_are_read_from_either() {
        let geometry = geometry(Width::Fat12, 4000, 12);
        let mut image = Image::new(20);
        for entry in 0..4002 {
            put12(&mut image.0[512..], entry, (entry * 7 % 4096) as u16);
        }
        let mut seen = [0; 4002];
        for index in 0..12 {
            let window = Window::read(&geometry, &mut image, 0, index).expect("in memory");
            for cluster in Window::clusters(&geometry, index) {
                assert_eq!(window.entry(cluster), cluster * 7 % 4096, "entry {cluster} from sector {index}");
                seen[cluster as usize] += 1;
            }
            assert!(Window::clusters(&geometry, index).len() <= ENTRIES_MAX);
        }
        assert!(seen[2..].iter().all(|&n| n > 0));
        // Byte 511 ends in the middle of entry 341, byte 1023 in that of 682; 1365 begins at byte 2047.
        for (cluster, times) in [(340, 1), (341, 2), (342, 1), (682, 2), (683, 1), (1024, 1), (1365, 2)] {
            assert_eq!(seen[cluster], times, "entry {cluster}");
        }
    }

    #[test]
    fn wider_entries_lie_in_one_sector() {
        let mut image = Image::new(20);
        for (place, byte) in image.0.iter_mut().enumerate() {
            *byte = (place * 31 / 7) as u8;
        }
        for (width, per_sector) in [(Width::Fat16, 256), (Width::Fat32, 128)] {
            let geometry = geometry(width, per_sector * 3 - 10, 3);
            let window = Window::read(&geometry, &mut image, 0, 1).expect("in memory");
            assert_eq!(Window::clusters(&geometry, 0), 2..per_sector);
            assert_eq!(Window::clusters(&geometry, 1), per_sector..2 * per_sector);
            assert_eq!(Window::clusters(&geometry, 2), 2 * per_sector..3 * per_sector - 8);
            let bytes = &image.0[1024..];
            let expected = match width {
                Width::Fat16 => u32::from(u16::from_le_bytes([bytes[6], bytes[7]])),
                _ => u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]) & 0x0FFF_FFFF,
            };
            assert_eq!(window.entry(per_sector + 3), expected);
        }
    }

    #[test]
    fn the_upper_bits_of_fat32_mean_nothing() {
        let geometry = geometry(Width::Fat32, 100, 1);
        let mut image = Image::new(20);
        image.sector(1)[8..12].copy_from_slice(&0xF000_0000_u32.to_le_bytes());
        image.sector(1)[..4].copy_from_slice(&0xFFFF_FFF8_u32.to_le_bytes());
        let window = Window::read(&geometry, &mut image, 0, 0).expect("in memory");
        assert_eq!(window.entry(2), 0);
        assert!(window.begins_table(&geometry));
        image.sector(1)[3] = 0x07;
        assert!(!Window::read(&geometry, &mut image, 0, 0).expect("in memory").begins_table(&geometry));
    }
}
