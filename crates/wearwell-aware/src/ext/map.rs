//! The blocks of a file: a tree of extents (ext4), or the classic map of blocks (ext3).

use super::error::ExtError;
use super::superblock::ROOT_BYTES;
use crate::list::List;
use crate::source::{SECTOR, Sector, Source, u16_at, u32_at};

/// Most runs that are remembered. Further runs count as the rest of the volume.
pub(super) const MAX_RUNS: usize = 8;

/// Levels below the root that are followed. ext4 has up to five; a journal has none, or one.
const MAX_DEPTH: u16 = 2;

/// Most sectors of maps that are read: enough for a map of 131,072 blocks.
const MAX_MAP_SECTORS: u32 = 1024;

const EXTENT_MAGIC: u16 = 0xF30A;
const EXTENT_BYTES: usize = 12;
/// A greater length marks an extent that is not written yet.
const MAX_EXTENT: u32 = 0x8000;

/// Blocks that an inode names directly.
const DIRECT: usize = 12;

/// True if an inode's part of a map is the root of a tree of extents.
pub(super) fn begins_tree(root: &[u8; ROOT_BYTES]) -> bool {
    u16_at(root, 0) == EXTENT_MAGIC
}

/// Consecutive blocks, numbered from the volume's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Run {
    pub(super) start: u32,
    pub(super) blocks: u32,
}

impl Run {
    fn end(self) -> u32 {
        self.start + self.blocks
    }
}

pub(super) type Runs = List<Run, MAX_RUNS>;

/// Reads the map of one file of a volume.
///
/// The blocks of the map itself count as the file's: they lie among its blocks, and are not written again.
pub(super) struct MapReader<'a, S> {
    pub(super) source: &'a mut S,
    /// Where the volume begins.
    pub(super) start: u64,
    pub(super) block_sectors: u32,
    /// Blocks of the volume.
    pub(super) blocks: u32,
    pub(super) runs: Runs,
    pub(super) sectors_read: u32,
}

impl<S: Source> MapReader<'_, S> {
    /// Follows a tree of extents from the inode's part of it.
    pub(super) fn follow_extents(&mut self, root: &[u8; ROOT_BYTES]) -> Result<(), ExtError> {
        let depth = u16_at(root, 6);
        let entries = usize::from(u16_at(root, 2));
        // The head of the tree takes the room of an entry.
        if !begins_tree(root) || depth > MAX_DEPTH || entries > ROOT_BYTES / EXTENT_BYTES - 1 {
            return Err(ExtError::Map);
        }
        for entry in root.chunks_exact(EXTENT_BYTES).skip(1).take(entries) {
            self.follow_entry(entry, depth)?;
        }
        Ok(())
    }

    /// An extent, or at a depth above 0 a block of entries.
    fn follow_entry(&mut self, entry: &[u8], depth: u16) -> Result<(), ExtError> {
        // The upper half of the address stands before the lower one in an extent, and behind it in an index.
        let (high, low) = if depth == 0 { (6, 8) } else { (8, 4) };
        // Volumes of 2³² blocks are not followed.
        if u16_at(entry, high) != 0 {
            return Err(ExtError::Map);
        }
        let start = u32_at(entry, low);
        if depth > 0 {
            return self.follow_node(start, depth - 1);
        }
        let length = u32::from(u16_at(entry, 4));
        self.add(start, if length > MAX_EXTENT { length - MAX_EXTENT } else { length })
    }

    fn follow_node(&mut self, block: u32, depth: u16) -> Result<(), ExtError> {
        self.add(block, 1)?;
        let mut sector = [0; SECTOR];
        self.read(block, 0, &mut sector)?;
        let entries = usize::from(u16_at(&sector, 2));
        // The head of the block takes the room of an entry.
        let room = self.block_sectors as usize * SECTOR / EXTENT_BYTES - 1;
        // The depth falls by one with each level, so that a tree that names itself ends.
        if u16_at(&sector, 0) != EXTENT_MAGIC || u16_at(&sector, 6) != depth || entries > room {
            return Err(ExtError::Map);
        }
        let mut held = 0;
        for nth in 1..=entries {
            // Entries may lie in two sectors.
            let mut entry = [0; EXTENT_BYTES];
            for (byte, at) in entry.iter_mut().zip(nth * EXTENT_BYTES..) {
                if at / SECTOR != held {
                    held = at / SECTOR;
                    self.read(block, held as u32, &mut sector)?;
                }
                *byte = sector[at % SECTOR];
            }
            self.follow_entry(&entry, depth)?;
        }
        Ok(())
    }

    /// Follows a map of `blocks` blocks: twelve direct ones, then an indirect block, a double indirect block, and so
    /// on.
    pub(super) fn follow_blocks(&mut self, root: &[u8; ROOT_BYTES], blocks: u32) -> Result<(), ExtError> {
        let mut left = blocks;
        for (place, pointer) in root.chunks_exact(4).enumerate() {
            // Places 0 to 11 are blocks of the file, and the three behind them begin levels 1 to 3.
            let level = place.saturating_sub(DIRECT - 1) as u32;
            self.follow_pointer(u32_at(pointer, 0), level, &mut left)?;
        }
        // A map that ends before its file does is not that of a journal.
        if left == 0 { Ok(()) } else { Err(ExtError::Map) }
    }

    /// A block of the file, or at a level above 0 an indirect block.
    fn follow_pointer(&mut self, block: u32, level: u32, left: &mut u32) -> Result<(), ExtError> {
        if *left == 0 {
            return Ok(());
        }
        // A journal has no holes, so a pointer of 0 is an error.
        self.add(block, 1)?;
        if level == 0 {
            *left -= 1;
            return Ok(());
        }
        let mut sector = [0; SECTOR];
        for index in 0..self.block_sectors {
            if *left == 0 {
                break;
            }
            // `left` and the limit on reads end a map that makes no sense.
            self.read(block, index, &mut sector)?;
            for pointer in sector.chunks_exact(4) {
                self.follow_pointer(u32_at(pointer, 0), level - 1, left)?;
            }
        }
        Ok(())
    }

    fn read(&mut self, block: u32, index: u32, sector: &mut Sector) -> Result<(), ExtError> {
        self.sectors_read += 1;
        if self.sectors_read > MAX_MAP_SECTORS {
            return Err(ExtError::Map);
        }
        let lba = self.start + u64::from(block) * u64::from(self.block_sectors) + u64::from(index);
        self.source.read(lba, sector).map_err(|error| ExtError::Read { lba, error })
    }

    /// Adds blocks to the known ones. Block 0 never belongs to a file.
    fn add(&mut self, start: u32, blocks: u32) -> Result<(), ExtError> {
        let run = Run { start, blocks };
        if start == 0 || start.checked_add(blocks).is_none_or(|end| end > self.blocks) {
            return Err(ExtError::Map);
        }
        for known in self.runs.as_mut_slice() {
            // Both runs end within the volume, so no sum wraps.
            if known.end() == run.start {
                known.blocks += run.blocks;
                return Ok(());
            }
            if run.end() == known.start {
                (known.start, known.blocks) = (run.start, known.blocks + run.blocks);
                return Ok(());
            }
        }
        // If the list is full, the run counts as the rest of the volume.
        self.runs.push(run);
        Ok(())
    }
}
