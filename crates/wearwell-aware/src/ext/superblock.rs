//! The superblock, which says where the journal's inode lies. Its first sector has everything needed.

use super::error::ExtError;
use crate::source::{Sector, u16_at, u32_at};

const MAGIC: u16 = 0xEF53;

/// Features that matter here.
const HAS_JOURNAL: u32 = 0x4;
const IS_JOURNAL: u32 = 0x8;
const WIDE: u32 = 0x80;

/// Offsets of the copy of the journal inode's map, and of the field that says that there is one.
const BACKUP: usize = 0x10C;
const BACKUP_KIND: usize = 0xFD;
const BACKUP_OF_BLOCKS: u8 = 1;

/// Bytes of an inode's own part of its map.
pub(super) const ROOT_BYTES: usize = 60;

/// The fields of a superblock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Superblock {
    /// Sectors of a block.
    pub(super) block_sectors: u32,
    pub(super) blocks: u32,
    /// The sector with the group descriptor for the journal's inode, from the volume's beginning, and the offset in it.
    pub(super) descriptor: (u64, usize),
    /// True if the descriptor has the upper half of addresses.
    pub(super) is_wide: bool,
    /// The inode's place in its table, in bytes.
    pub(super) inode_offset: u64,
    /// The copy of the inode's map and its bytes.
    pub(super) backup: Option<([u8; ROOT_BYTES], u64)>,
}

fn field(field: &'static str, value: u32, is_good: bool) -> Result<u32, ExtError> {
    if is_good { Ok(value) } else { Err(ExtError::Field { field, value }) }
}

/// True if the sector has a superblock's magic number at its place.
pub(crate) fn has_superblock(sector: &Sector) -> bool {
    u16_at(sector, 0x38) == MAGIC
}

impl Superblock {
    /// Reads the first sector of a superblock. None if the volume has no journal, or has it on another device.
    pub(super) fn parse(sector: &Sector, volume_sectors: u64) -> Result<Option<Self>, ExtError> {
        if !has_superblock(sector) {
            return Err(ExtError::NoSuperblock);
        }
        let (compatible, incompatible) = (u32_at(sector, 0x5C), u32_at(sector, 0x60));
        let inode = u32_at(sector, 0xE0);
        if compatible & HAS_JOURNAL == 0 || incompatible & IS_JOURNAL != 0 || inode == 0 {
            return Ok(None);
        }
        let log = u32_at(sector, 0x18);
        // 0 stands for 1 KiB, two sectors, and 6 for 64 KiB.
        let block_sectors = 2 << field("logarithm of the block size", log, log <= 6)?;
        let is_wide = incompatible & WIDE != 0;
        let high = if is_wide { u32_at(sector, 0x150) } else { 0 };
        field("upper half of the number of blocks", high, high == 0)?;
        let blocks = u32_at(sector, 0x04);
        let fits = u64::from(blocks) * u64::from(block_sectors) <= volume_sectors;
        field("number of blocks", blocks, blocks > 0 && fits)?;
        // Revision 0 has no field for it.
        let inode_bytes = if u32_at(sector, 0x4C) == 0 { 128 } else { u32::from(u16_at(sector, 0x58)) };
        let sane = inode_bytes.is_power_of_two() && (128..=block_sectors * 512).contains(&inode_bytes);
        field("bytes of an inode", inode_bytes, sane)?;
        let descriptor_bytes = if is_wide { u32::from(u16_at(sector, 0xFE)) } else { 32 };
        let sane = descriptor_bytes.is_power_of_two() && (32..=512).contains(&descriptor_bytes);
        field("bytes of a descriptor", descriptor_bytes, sane)?;
        let per_group = u32_at(sector, 0x28);
        field("inodes of a group", per_group, per_group > 0)?;
        // Inodes are numbered from 1.
        let (group, place) = ((inode - 1) / per_group, (inode - 1) % per_group);
        // Further descriptors may lie elsewhere (`meta_bg`), but the journal's inode is number 8.
        field("journal inode", inode, group < block_sectors * 512 / descriptor_bytes)?;
        let offset = group * descriptor_bytes;
        // The block behind the superblock's.
        let block = if block_sectors == 2 { 2 } else { 1 };
        let descriptor = u64::from(block * block_sectors + offset / 512);
        Ok(Some(Self {
            block_sectors,
            blocks,
            descriptor: (descriptor, offset as usize % 512),
            is_wide: is_wide && descriptor_bytes >= 64,
            inode_offset: u64::from(place) * u64::from(inode_bytes),
            backup: backup(sector),
        }))
    }
}

fn backup(sector: &Sector) -> Option<([u8; ROOT_BYTES], u64)> {
    let root = sector[BACKUP..].first_chunk().filter(|_| sector[BACKUP_KIND] == BACKUP_OF_BLOCKS)?;
    let bytes =
        u64::from(u32_at(sector, BACKUP + ROOT_BYTES)) << 32 | u64::from(u32_at(sector, BACKUP + ROOT_BYTES + 4));
    Some((*root, bytes))
}
