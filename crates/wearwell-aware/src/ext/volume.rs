//! One volume: the place of its journal, and the writes that may move it.

use wearwell::Sectors;

use super::error::ExtError;
use super::map::{MapReader, Runs, begins_tree};
use super::superblock::{ROOT_BYTES, Superblock};
use crate::source::{SECTOR, Sector, Source, u16_at, u32_at};

/// The place of the superblock, in sectors from the beginning of its volume.
pub(crate) const SUPERBLOCK: u64 = 2;

/// The least blocks of a journal, as in jbd2.
const JOURNAL_BLOCKS_MIN: u64 = 1024;

const IS_REGULAR: u16 = 0x8000;
const TYPE_OF_FILE: u16 = 0xF000;
const HAS_EXTENTS: u32 = 0x8_0000;

/// An ext3 or ext4 volume with an internal journal.
#[derive(Debug)]
pub(crate) struct Volume {
    pub(crate) start: u64,
    /// Sectors of its partition.
    pub(crate) sectors: u64,
    block_sectors: u32,
    runs: Runs,
    /// The sectors of the group descriptor and of the journal's inode.
    descriptor: u64,
    inode: u64,
    /// True if a sector that says where the journal lies was written since it was read.
    pub(crate) is_stale: bool,
}

/// What was found at the beginning of a partition.
pub(crate) enum Found {
    Journal(Volume),
    /// A volume without a journal.
    None,
    /// No volume yet; a format may make one.
    Nothing(ExtError),
}

impl Volume {
    /// Looks for a volume with a journal in a partition.
    pub(crate) fn find(source: &mut impl Source, start: u64, sectors: u64) -> Found {
        match Self::open(source, start, sectors) {
            Ok(Some(volume)) => Found::Journal(volume),
            Ok(None) => Found::None,
            Err(error) => Found::Nothing(error),
        }
    }

    fn open(source: &mut impl Source, start: u64, sectors: u64) -> Result<Option<Self>, ExtError> {
        let mut sector = [0; SECTOR];
        read(source, start + SUPERBLOCK, &mut sector)?;
        let Some(superblock) = Superblock::parse(&sector, sectors)? else { return Ok(None) };
        let (inode, at) = superblock.inode(source, start, &mut sector)?;
        // An inode lies at a multiple of its size, a power of two from 128 on: its first 128 bytes are in one sector.
        let found = File::of_inode(&sector[at..]).and_then(|file| file.runs(source, &superblock, start));
        // The superblock has a copy of the map for the case that the inode is damaged.
        let runs = match (found, superblock.backup) {
            (Err(_), Some((root, bytes))) => File::of_backup(root, bytes).runs(source, &superblock, start)?,
            (found, _) => found?,
        };
        let descriptor = start + superblock.descriptor.0;
        let block_sectors = superblock.block_sectors;
        Ok(Some(Self { start, sectors, block_sectors, runs, descriptor, inode, is_stale: false }))
    }

    /// The sector behind the volume's partition.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.sectors
    }

    /// Notes sectors that are written or discarded.
    pub(crate) fn note(&mut self, at: Sectors) {
        let end = at.start.saturating_add(at.count);
        let watched = [self.start + SUPERBLOCK, self.descriptor, self.inode];
        self.is_stale |= watched.into_iter().any(|lba| at.start <= lba && lba < end);
    }

    /// The journal, in runs of sectors.
    pub(crate) fn journal(&self) -> impl Iterator<Item = Sectors> {
        let sectors = u64::from(self.block_sectors);
        let run = move |start: u32, blocks: u32| (self.start + u64::from(start) * sectors, u64::from(blocks) * sectors);
        self.runs.as_slice().iter().map(move |r| {
            let (start, count) = run(r.start, r.blocks);
            Sectors { start, count }
        })
    }

    /// True if a sector belongs to the journal; and a later sector up to which the answer is the same.
    pub(crate) fn journal_run(&self, lba: u64) -> (bool, u64) {
        let mut end = self.end();
        for run in self.journal() {
            if (run.start..run.start + run.count).contains(&lba) {
                return (true, run.start + run.count);
            }
            if run.start > lba {
                end = end.min(run.start);
            }
        }
        (false, end)
    }
}

impl Superblock {
    /// Reads the sector of the journal's inode. Returns its address, and the offset of the inode in it.
    fn inode(&self, source: &mut impl Source, start: u64, sector: &mut Sector) -> Result<(u64, usize), ExtError> {
        let (descriptor, at) = self.descriptor;
        read(source, start + descriptor, sector)?;
        let table = u32_at(sector, at + 8);
        let high = if self.is_wide { u32_at(sector, at + 0x28) } else { 0 };
        // Volumes of 2^32 blocks are not followed, so there is no upper half.
        if table == 0 || table >= self.blocks || high != 0 {
            return Err(ExtError::Inode);
        }
        let lba = start + u64::from(table) * u64::from(self.block_sectors) + self.inode_offset / SECTOR as u64;
        read(source, lba, sector)?;
        Ok((lba, self.inode_offset as usize % SECTOR))
    }
}

/// A file: its length, and the part of its block map that lies in the inode.
struct File {
    root: [u8; ROOT_BYTES],
    bytes: u64,
    has_extents: bool,
}

impl File {
    /// Reads the first 128 bytes of an inode.
    fn of_inode(inode: &[u8]) -> Result<Self, ExtError> {
        let root = inode[0x28..].first_chunk().ok_or(ExtError::Inode)?;
        if u16_at(inode, 0) & TYPE_OF_FILE != IS_REGULAR {
            return Err(ExtError::Inode);
        }
        let bytes = u64::from(u32_at(inode, 0x6C)) << 32 | u64::from(u32_at(inode, 4));
        Ok(Self { root: *root, bytes, has_extents: u32_at(inode, 0x20) & HAS_EXTENTS != 0 })
    }

    fn of_backup(root: [u8; ROOT_BYTES], bytes: u64) -> Self {
        Self { root, bytes, has_extents: begins_tree(&root) }
    }

    /// The blocks of the file, which must be a journal.
    fn runs(&self, source: &mut impl Source, volume: &Superblock, start: u64) -> Result<Runs, ExtError> {
        let Superblock { block_sectors, blocks, .. } = *volume;
        let own = self.bytes / (u64::from(block_sectors) * SECTOR as u64);
        // A file that is shorter than any journal is none.
        let own = u32::try_from(own).ok().filter(|&own| own < blocks && u64::from(own) >= JOURNAL_BLOCKS_MIN);
        let own = own.ok_or(ExtError::Inode)?;
        let mut map = MapReader { source, start, block_sectors, blocks, runs: Runs::default(), sectors_read: 0 };
        if self.has_extents {
            map.follow_extents(&self.root)?;
        } else {
            map.follow_blocks(&self.root, own)?;
        }
        Ok(map.runs)
    }
}

fn read(source: &mut impl Source, lba: u64, sector: &mut Sector) -> Result<(), ExtError> {
    source.read(lba, sector).map_err(|error| ExtError::Read { lba, error })
}
