//! The boot sector, which says where a volume's tables and clusters lie.

use crate::source::{SECTOR, Sector, has_signature, u16_at, u32_at};

/// Bits of an entry of the allocation table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// FAT12: three bytes hold two entries.
    Fat12,
    /// FAT16.
    Fat16,
    /// FAT32, whose upper four bits have no meaning.
    Fat32,
    /// The bitmap of exFAT.
    ExFat,
}

impl Width {
    /// The type follows from the number of clusters, and from nothing else (Microsoft, "FAT: General Overview of
    /// On-Disk Format", 1.03).
    const fn of(clusters: u64) -> Self {
        match clusters {
            0..4085 => Self::Fat12,
            4085..65525 => Self::Fat16,
            _ => Self::Fat32,
        }
    }

    /// Bits of an entry, including the unused ones of FAT32.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Fat12 => 12,
            Self::Fat16 => 16,
            Self::Fat32 => 32,
            Self::ExFat => 1,
        }
    }
}

/// Why a sector is not the boot sector of a FAT volume, or of one that is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BootError {
    /// No mark at the end, or no jump instruction at the beginning.
    #[error("no boot sector")]
    NoBootSector,
    /// A field has an impossible value.
    #[error("{field} cannot be {value}")]
    Field {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u32,
    },
    /// Tables and directory leave no space for clusters.
    #[error("{total} sectors have no room for {tables} of tables")]
    NoRoom {
        /// Sectors of the volume.
        total: u64,
        /// Sectors before its clusters.
        tables: u64,
    },
    /// The volume is larger than its partition.
    #[error("{total} sectors do not fit into a partition of {partition}")]
    TooLarge {
        /// Sectors of the volume.
        total: u64,
        /// Sectors of the partition.
        partition: u64,
    },
    /// The allocation table has fewer entries than there are clusters.
    #[error("a table of {entries} entries for {clusters} clusters")]
    ShortTable {
        /// Entries that fit into the table.
        entries: u64,
        /// Clusters.
        clusters: u64,
    },
    /// The checksum of exFAT's boot region is wrong.
    #[error("the boot region has checksum {found:08x}, not {stored:08x}")]
    Checksum {
        /// The stored checksum.
        stored: u32,
        /// The computed checksum.
        found: u32,
    },
    /// exFAT's root directory names no bitmap of the right size, or the bitmap is not contiguous.
    #[error("no contiguous allocation bitmap")]
    Bitmap,
    /// The number of clusters contradicts the fields that only one type has.
    #[error("{clusters} clusters make {width:?}, which contradicts other fields")]
    Type {
        /// Clusters.
        clusters: u64,
        /// The type by their number.
        width: Width,
    },
}

/// The layout of a volume, in sectors of 512 bytes, whatever the size of its own sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// LBA of the boot sector.
    pub start: u64,
    /// LBA of the first allocation table, or of exFAT's bitmap, which lies among the clusters.
    pub table_start: u64,
    /// Sectors of each allocation table, or of the bitmap.
    pub table_sectors: u64,
    /// LBA of the root directory's area, or of the first cluster if there is no such area.
    pub root_start: u64,
    /// LBA of the first cluster, whose number is 2.
    pub data_start: u64,
    /// Clusters.
    pub clusters: u32,
    /// Sectors of a cluster.
    pub cluster_sectors: u32,
    /// The first cluster of the root directory (FAT32, exFAT), or 0.
    pub root_cluster: u32,
    /// Sectors between the boot sector and its backup (FAT32, exFAT), or 0.
    pub backup_boot: u32,
    /// Type of the allocation table.
    pub width: Width,
    /// Allocation tables: one or two.
    pub tables: u8,
    /// The only table in use, if they are not all kept equal (FAT32's ExtFlags).
    pub only_table: Option<u8>,
    /// The media descriptor, which the first table entry repeats.
    pub media: u8,
}

/// The number of the first cluster.
pub(crate) const FIRST_CLUSTER: u32 = 2;

pub(super) fn field(field: &'static str, value: u32, is_good: bool) -> Result<u32, BootError> {
    if is_good { Ok(value) } else { Err(BootError::Field { field, value }) }
}

/// The fields of a boot sector, each checked by itself.
struct Fields {
    /// Sectors of 512 bytes in one of the volume's.
    scale: u64,
    cluster: u32,
    reserved: u32,
    tables: u32,
    root_entries: u32,
    total: u32,
    table: u32,
    is_fat32: bool,
    media: u32,
}

impl Fields {
    fn parse(sector: &Sector) -> Result<Self, BootError> {
        // The jump instruction is a short one with a no-op behind it, or a near one.
        if !has_signature(sector) || !matches!(sector, [0xEB, _, 0x90, ..] | [0xE9, ..]) {
            return Err(BootError::NoBootSector);
        }
        let bytes = u32::from(u16_at(sector, 11));
        let bytes = field("bytes of a sector", bytes, bytes.is_power_of_two() && (512..=4096).contains(&bytes))?;
        let cluster = u32::from(sector[13]);
        let (tables, media) = (u32::from(sector[16]), u32::from(sector[21]));
        let reserved = u32::from(u16_at(sector, 14));
        let (total16, table16) = (u32::from(u16_at(sector, 19)), u32::from(u16_at(sector, 22)));
        // The fields of 16 bits are 0 where the number needs 32.
        let total = if total16 == 0 { u32_at(sector, 32) } else { total16 };
        let table = if table16 == 0 { u32_at(sector, 36) } else { table16 };
        Ok(Self {
            scale: u64::from(bytes) / SECTOR as u64,
            cluster: field("sectors of a cluster", cluster, cluster.is_power_of_two())?,
            reserved: field("reserved sectors", reserved, reserved > 0)?,
            tables: field("number of tables", tables, (1..=2).contains(&tables))?,
            root_entries: u32::from(u16_at(sector, 17)),
            total: field("total sectors", total, total > 0)?,
            table: field("sectors of a table", table, table > 0)?,
            is_fat32: table16 == 0,
            media: field("media descriptor", media, media == 0xF0 || media >= 0xF8)?,
        })
    }
}

/// The fields that only FAT32 has; for other types their defaults.
#[derive(Default)]
struct Extended {
    only_table: Option<u8>,
    root_cluster: u32,
    backup_boot: u32,
}

impl Extended {
    fn parse(sector: &Sector, fields: &Fields, clusters: u64) -> Result<Self, BootError> {
        let flags = u32::from(u16_at(sector, 40));
        // Bit 7 says that one table is active, and bits 0 to 3 say which.
        let only = flags & 0x0F;
        let mirrored = flags & 0x80 == 0;
        field("active table", only, mirrored || only < fields.tables)?;
        let version = u32::from(u16_at(sector, 42));
        field("version", version, version == 0)?;
        let root = u32_at(sector, 44);
        let last = clusters + u64::from(FIRST_CLUSTER) - 1;
        let backup = u32::from(u16_at(sector, 50));
        Ok(Self {
            only_table: if mirrored { None } else { Some(only as u8) },
            root_cluster: field("root cluster", root, root >= FIRST_CLUSTER && u64::from(root) <= last)?,
            // It lies before the tables. Any other number says that there is none.
            backup_boot: if backup < fields.reserved { backup * fields.scale as u32 } else { 0 },
        })
    }
}

impl Geometry {
    /// Reads a boot sector at `start`, of a partition with this number of sectors.
    ///
    /// # Errors
    /// The first field that does not fit a FAT volume in that partition.
    pub fn parse(sector: &[u8; 512], start: u64, partition_sectors: u64) -> Result<Self, BootError> {
        let fields = Fields::parse(sector)?;
        let scale = fields.scale;
        let total = u64::from(fields.total) * scale;
        // Behind this check the address of no sector of the volume can wrap.
        if total > partition_sectors || start.checked_add(total).is_none() {
            return Err(BootError::TooLarge { total, partition: partition_sectors });
        }
        let reserved = u64::from(fields.reserved) * scale;
        let table_sectors = u64::from(fields.table) * scale;
        let root = u64::from(fields.root_entries) * 32;
        // The directory takes whole sectors of the volume's own size.
        let root_sectors = root.div_ceil(SECTOR as u64 * scale) * scale;
        let before = reserved + u64::from(fields.tables) * table_sectors;
        let tables = before + root_sectors;
        let cluster_sectors = u64::from(fields.cluster) * scale;
        let clusters = total.checked_sub(tables).ok_or(BootError::NoRoom { total, tables })? / cluster_sectors;
        if clusters == 0 {
            return Err(BootError::NoRoom { total, tables });
        }
        let width = Width::of(clusters);
        let is_fat32 = width == Width::Fat32;
        // The last cluster has the number `clusters + 1`, and from 0FFFFFF7 on numbers mean something else.
        if is_fat32 != fields.is_fat32 || is_fat32 != (fields.root_entries == 0) || clusters > 0x0FFF_FFF5 {
            return Err(BootError::Type { clusters, width });
        }
        let entries = table_sectors * (SECTOR as u64 * 8) / u64::from(width.bits());
        if entries < clusters + u64::from(FIRST_CLUSTER) {
            return Err(BootError::ShortTable { entries, clusters });
        }
        let extended = if is_fat32 { Extended::parse(sector, &fields, clusters)? } else { Extended::default() };
        Ok(Self {
            start,
            table_start: start + reserved,
            table_sectors,
            root_start: start + before,
            data_start: start + tables,
            clusters: clusters as u32,
            cluster_sectors: cluster_sectors as u32,
            root_cluster: extended.root_cluster,
            backup_boot: extended.backup_boot,
            width,
            tables: fields.tables as u8,
            only_table: extended.only_table,
            media: fields.media as u8,
        })
    }

    /// The sector behind the last cluster.
    pub fn data_end(&self) -> u64 {
        self.data_start + u64::from(self.clusters) * u64::from(self.cluster_sectors)
    }

    /// The last cluster's number plus one.
    pub(crate) fn cluster_end(&self) -> u32 {
        self.clusters + FIRST_CLUSTER
    }

    /// The first sector of a cluster.
    pub(crate) fn sector_of(&self, cluster: u32) -> u64 {
        self.data_start + u64::from(cluster - FIRST_CLUSTER) * u64::from(self.cluster_sectors)
    }

    /// The cluster of a sector, which must lie in the cluster area.
    pub(crate) fn cluster_of(&self, lba: u64) -> u32 {
        ((lba - self.data_start) / u64::from(self.cluster_sectors)) as u32 + FIRST_CLUSTER
    }

    /// The tables that say which clusters are free.
    pub(crate) fn active_tables(&self) -> core::ops::Range<u8> {
        self.only_table.map_or(0..self.tables, |only| only..only + 1)
    }

    /// The sector behind the last table.
    pub(crate) fn tables_end(&self) -> u64 {
        self.table_sector(self.tables, 0)
    }

    /// A sector of an allocation table.
    pub(crate) fn table_sector(&self, table: u8, index: u64) -> u64 {
        self.table_start + u64::from(table) * self.table_sectors + index
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use fatfs::{FatType, FormatVolumeOptions, format_volume};

    fn formatted(sectors: u32, options: FormatVolumeOptions) -> Vec<u8> {
        let mut image = vec![0; sectors as usize * 512];
        format_volume(std::io::Cursor::new(&mut image), options).expect("a size that FAT fits");
        image
    }

    fn boot(image: &[u8]) -> Sector {
        image[..512].try_into().expect("512 bytes")
    }

    #[test]
    fn geometry_is_that_of_the_other_side() {
        let cases = [
            (2880, None, 512, 2),
            (4096, None, 512, 1),
            (20_000, Some(FatType::Fat12), 512, 2),
            (20_000, None, 512, 2),
            (70_000, None, 512, 2),
            (40_000, None, 2048, 2),
            (75_000, Some(FatType::Fat32), 512, 2),
            (75_000, Some(FatType::Fat32), 512, 1),
        ];
        for (sectors, fat_type, sector_bytes, fats) in cases {
            let mut options = FormatVolumeOptions::new().fats(fats).bytes_per_sector(sector_bytes);
            if let Some(fat_type) = fat_type {
                options = options.fat_type(fat_type);
            }
            let mut image = formatted(sectors, options);
            let found = Geometry::parse(&boot(&image), 100, u64::from(sectors)).expect("a volume");
            let fs = fatfs::FileSystem::new(std::io::Cursor::new(&mut image), fatfs::FsOptions::new()).expect("one");
            let stats = fs.stats().expect("in memory");
            assert_eq!(found.clusters, stats.total_clusters());
            assert_eq!(found.cluster_sectors * 512, stats.cluster_size());
            let expected = match fs.fat_type() {
                FatType::Fat12 => Width::Fat12,
                FatType::Fat16 => Width::Fat16,
                FatType::Fat32 => Width::Fat32,
            };
            assert_eq!(found.width, expected);
            assert_eq!(u16::from(found.tables), u16::from(fats));
            assert_eq!(
                (found.root_cluster, found.backup_boot),
                if fat_type == Some(FatType::Fat32) { (2, 6) } else { (0, 0) }
            );
        }
    }

    #[test]
    fn the_number_of_clusters_makes_the_type() {
        assert_eq!([4084, 4085, 65524, 65525].map(Width::of), [Width::Fat12, Width::Fat16, Width::Fat16, Width::Fat32]);
    }

    #[test]
    fn fields_without_sense_are_refused_with_their_name() {
        let good = boot(&formatted(75_000, FormatVolumeOptions::new().fat_type(FatType::Fat32)));
        let cases: [(usize, &[u8], &str); 10] = [
            (11, &[0, 3], "bytes of a sector"),
            (11, &[0, 0], "bytes of a sector"),
            (13, &[3], "sectors of a cluster"),
            (13, &[0], "sectors of a cluster"),
            (14, &[0, 0], "reserved sectors"),
            (16, &[3], "number of tables"),
            (21, &[0xF1], "media descriptor"),
            (40, &[0x83], "active table"),
            (42, &[1], "version"),
            (44, &[1], "root cluster"),
        ];
        for (offset, bytes, name) in cases {
            let mut sector = good;
            sector[offset..offset + bytes.len()].copy_from_slice(bytes);
            let error = Geometry::parse(&sector, 0, 75_000).expect_err(name);
            assert!(matches!(error, BootError::Field { field, .. } if field == name), "{error}");
        }
        let parse = |edit: &dyn Fn(&mut Sector), partition| {
            let mut sector = good;
            edit(&mut sector);
            Geometry::parse(&sector, 0, partition).expect_err("nonsense")
        };
        assert!(matches!(parse(&|s| s[510] = 0, 75_000), BootError::NoBootSector));
        assert!(matches!(parse(&|_| (), 74_999), BootError::TooLarge { .. }));
        assert!(matches!(parse(&|s| s[36..40].fill(0xFF), 75_000), BootError::NoRoom { .. }));
        assert!(matches!(parse(&|s| s[36..40].copy_from_slice(&[9, 0, 0, 0]), 75_000), BootError::ShortTable { .. }));
        assert!(matches!(parse(&|s| s[13] = 2, 75_000), BootError::Type { .. }));
        assert!(matches!(parse(&|s| s[17] = 1, 75_000), BootError::Type { .. }));
    }

    #[test]
    fn one_table_may_be_the_active_one() {
        let mut sector = boot(&formatted(75_000, FormatVolumeOptions::new().fat_type(FatType::Fat32)));
        assert_eq!(Geometry::parse(&sector, 0, 75_000).expect("a volume").active_tables(), 0..2);
        sector[40] = 0x81;
        assert_eq!(Geometry::parse(&sector, 0, 75_000).expect("a volume").active_tables(), 1..2);
    }
}
