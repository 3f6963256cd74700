//! exFAT: its boot region, and the bitmap that says which clusters are in use. Its allocation table does not say that:
//! it only chains the clusters of files that are not contiguous.
//!
//! The rest of this crate treats the bitmap as an allocation table with entries of one bit (Microsoft, "exFAT file
//! system specification", 1.00).

use super::boot::{BootError, FIRST_CLUSTER, Geometry, Width, field};
use super::volume::VolumeError;
use crate::source::{SECTOR, Sector, Source, has_signature, u16_at, u32_at, u64_at};

/// Fields of the boot sector that change while a volume is used. The checksum leaves them out.
const VOLUME_FLAGS: usize = 106;
const PERCENT_IN_USE: usize = 112;

/// The bit of the volume's flags that says which table and bitmap are active.
const ACTIVE_SECOND: u8 = 1;

/// Sectors of the boot region before its checksum, and from the boot sector to its backup.
const CHECKED_SECTORS: u32 = 11;
const BACKUP: u32 = 12;

/// Sectors of the root directory that are searched for the bitmap. It is among the first entries.
const ROOT_SECTORS: u64 = 16;
const ENTRY_BYTES: usize = 32;
const BITMAP_ENTRY: u8 = 0x81;

/// True if the sector carries the name of an exFAT volume.
pub(crate) fn has_name(sector: &Sector) -> bool {
    has_signature(sector) && sector.starts_with(b"\xEB\x76\x90EXFAT   ")
}

/// True if two boot sectors differ only in fields that change while the volume is used.
pub(crate) fn differ_in_use_only(one: &[u8], other: &Sector) -> bool {
    let counts = |at: &usize| *at != VOLUME_FLAGS && *at != PERCENT_IN_USE;
    let same = (0..SECTOR).filter(counts).all(|at| one.get(at) == Some(&other[at]));
    same && one.get(VOLUME_FLAGS).is_some_and(|flags| (flags ^ other[VOLUME_FLAGS]) & ACTIVE_SECOND == 0)
}

/// Finds the clusters and the active bitmap of the volume that begins with a boot sector.
pub(crate) fn find(
    source: &mut impl Source,
    boot: &Sector,
    start: u64,
    partition_sectors: u64,
) -> Result<Geometry, VolumeError> {
    let wrong = |error| VolumeError::Boot { lba: start, error };
    let layout = Layout::parse(boot, start, partition_sectors).map_err(wrong)?;
    layout.check(source, boot)?;
    let (first, bytes) = layout.bitmap(source)?.ok_or(wrong(BootError::Bitmap))?;
    let needed = u64::from(layout.clusters).div_ceil(8);
    let is_cluster = layout.is_cluster(first);
    // The bitmap must be contiguous, and its last cluster must be a cluster of the volume.
    let own = bytes.div_ceil(SECTOR as u64 * u64::from(layout.cluster_sectors));
    if bytes != needed || !is_cluster || !layout.is_in_one_piece(source, first, own)? {
        return Err(wrong(BootError::Bitmap));
    }
    Ok(Geometry {
        start,
        table_start: layout.sector_of(first),
        table_sectors: needed.div_ceil(SECTOR as u64),
        root_start: layout.data_start,
        data_start: layout.data_start,
        clusters: layout.clusters,
        cluster_sectors: layout.cluster_sectors,
        root_cluster: layout.root,
        backup_boot: BACKUP * layout.scale,
        width: Width::ExFat,
        tables: 1,
        only_table: None,
        media: 0,
    })
}

/// The layout from the boot sector, in sectors of 512 bytes.
struct Layout {
    start: u64,
    scale: u32,
    /// The active table.
    fat_start: u64,
    data_start: u64,
    clusters: u32,
    cluster_sectors: u32,
    root: u32,
    is_second_active: bool,
}

impl Layout {
    fn parse(boot: &Sector, start: u64, partition_sectors: u64) -> Result<Self, BootError> {
        // FAT has its fields there, so a sector cannot be the boot sector of both.
        if !has_name(boot) || boot[11..64].iter().any(|&byte| byte != 0) {
            return Err(BootError::NoBootSector);
        }
        let (sector_log, cluster_log) = (u32::from(boot[108]), u32::from(boot[109]));
        field("logarithm of a sector's bytes", sector_log, (9..=12).contains(&sector_log))?;
        // A cluster has at most 32 MiB.
        field("logarithm of a cluster's sectors", cluster_log, cluster_log <= 25 - sector_log)?;
        let version = u32::from(u16_at(boot, 104));
        field("version", version, version >> 8 == 1)?;
        let tables = u32::from(boot[110]);
        field("number of tables", tables, (1..=2).contains(&tables))?;
        let is_second_active = boot[VOLUME_FLAGS] & ACTIVE_SECOND != 0;
        field("active table", 1, !is_second_active || tables == 2)?;
        let scale = 1_u32 << (sector_log - 9);
        let wide = |at: usize| u64::from(u32_at(boot, at)) * u64::from(scale);
        let total = u64_at(boot, 72).saturating_mul(u64::from(scale));
        if total > partition_sectors || start.checked_add(total).is_none() {
            return Err(BootError::TooLarge { total, partition: partition_sectors });
        }
        let (fat, fat_sectors, heap) = (wide(80), wide(84), wide(88));
        let tables_end = fat + fat_sectors * u64::from(tables);
        let clusters = u32_at(boot, 92);
        let cluster_sectors = scale << cluster_log;
        let end = heap + u64::from(clusters) * u64::from(cluster_sectors);
        // The boot region and its backup come first, then the tables, then the clusters.
        if fat < u64::from(2 * BACKUP * scale) || tables_end > heap || end > total || clusters == 0 {
            return Err(BootError::NoRoom { total, tables: heap });
        }
        let entries = fat_sectors * (SECTOR as u64 / 4);
        if clusters > 0xFFFF_FFF4 || entries < u64::from(clusters) + u64::from(FIRST_CLUSTER) {
            return Err(BootError::ShortTable { entries, clusters: u64::from(clusters) });
        }
        let root = u32_at(boot, 96);
        let fat_start = start + fat + if is_second_active { fat_sectors } else { 0 };
        let data_start = start + heap;
        let layout = Self { start, scale, fat_start, data_start, clusters, cluster_sectors, root, is_second_active };
        field("root cluster", root, layout.is_cluster(root))?;
        Ok(layout)
    }

    fn is_cluster(&self, cluster: u32) -> bool {
        cluster.checked_sub(FIRST_CLUSTER).is_some_and(|place| place < self.clusters)
    }

    /// The first sector of a cluster.
    fn sector_of(&self, cluster: u32) -> u64 {
        self.data_start + u64::from(cluster - FIRST_CLUSTER) * u64::from(self.cluster_sectors)
    }

    /// Compares the boot region with its checksum.
    fn check(&self, source: &mut impl Source, boot: &Sector) -> Result<(), VolumeError> {
        let mut found = 0_u32;
        let mut sector = *boot;
        for index in 0..u64::from(CHECKED_SECTORS * self.scale) {
            read(source, self.start + index, &mut sector)?;
            for (at, &byte) in sector.iter().enumerate() {
                // The flags have two bytes. These fields change with use, and the checksum with none of them.
                let is_left_out = index == 0 && matches!(at, VOLUME_FLAGS | 107 | PERCENT_IN_USE);
                if !is_left_out {
                    found = found.rotate_right(1).wrapping_add(u32::from(byte));
                }
            }
        }
        read(source, self.start + u64::from(CHECKED_SECTORS * self.scale), &mut sector)?;
        let stored = u32_at(&sector, 0);
        let wrong = VolumeError::Boot { lba: self.start, error: BootError::Checksum { stored, found } };
        if found == stored { Ok(()) } else { Err(wrong) }
    }

    /// The first cluster and the bytes of the active bitmap, if the root directory names it.
    fn bitmap(&self, source: &mut impl Source) -> Result<Option<(u32, u64)>, VolumeError> {
        let first = self.sector_of(self.root);
        let mut sector = [0; SECTOR];
        // Only in the first cluster of the directory: the next one may lie anywhere.
        for lba in first..first + ROOT_SECTORS.min(u64::from(self.cluster_sectors)) {
            read(source, lba, &mut sector)?;
            for entry in sector.chunks_exact(ENTRY_BYTES) {
                // A zero ends the directory.
                if entry[0] == 0 {
                    return Ok(None);
                }
                // Bit 0 says which of the two tables the bitmap belongs to.
                if entry[0] == BITMAP_ENTRY && (entry[1] & 1 != 0) == self.is_second_active {
                    return Ok(Some((u32_at(entry, 20), u64_at(entry, 24))));
                }
            }
        }
        Ok(None)
    }

    /// True if the table chains this number of consecutive clusters and ends there.
    fn is_in_one_piece(&self, source: &mut impl Source, first: u32, clusters: u64) -> Result<bool, VolumeError> {
        let mut sector = [0; SECTOR];
        let mut held = None;
        for cluster in u64::from(first)..u64::from(first) + clusters {
            if cluster >= u64::from(self.clusters) + u64::from(FIRST_CLUSTER) {
                return Ok(false);
            }
            let index = cluster * 4 / SECTOR as u64;
            // A sector has 128 entries, and is read once for all of them.
            if held != Some(index) {
                read(source, self.fat_start + index, &mut sector)?;
                held = Some(index);
            }
            let next = u64::from(u32_at(&sector, (cluster * 4 % SECTOR as u64) as usize));
            let is_last = cluster + 1 == u64::from(first) + clusters;
            // The last cluster of a chain has all ones.
            let expected = if is_last { u64::from(u32::MAX) } else { cluster + 1 };
            if next != expected {
                return Ok(false);
            }
        }
        Ok(clusters > 0)
    }
}

fn read(source: &mut impl Source, lba: u64, sector: &mut Sector) -> Result<(), VolumeError> {
    source.read(lba, sector).map_err(|error| VolumeError::Read { lba, error })
}
