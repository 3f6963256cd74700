//! The layout of the volume.

use super::settings::{FileOp, Journal};
use super::{BLOCK_BYTES, FILE_BLOCKS};
use crate::workload::WorkloadError;

/// Blocks that one bitmap block covers.
const BLOCKS_PER_BITMAP: u64 = BLOCK_BYTES * 8;
/// Bytes of an inode.
pub(super) const INODE_BYTES: u64 = 256;
const INODES_PER_BLOCK: u64 = BLOCK_BYTES / INODE_BYTES;
/// Blocks of inodes before the first file's: ext4's own ten inodes, and some for directories.
const OWN_INODE_BLOCKS: u64 = 1;
/// Directory entries in a block; IOzone's names are short.
const ENTRIES_PER_BLOCK: u64 = BLOCK_BYTES / 32;

/// Consecutive blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) start: u64,
    pub(super) blocks: u64,
}

/// The parts of the volume, in this order: superblock, group descriptors, the bitmap of inodes, bitmaps of blocks,
/// directory, inode table, journal, files. ext4 packs metadata together in the same way (`flex_bg`).
///
/// Invariant: all parts lie within the volume.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) superblock: u64,
    pub(super) descriptors: u64,
    pub(super) inode_bitmap: u64,
    pub(super) bitmaps: u64,
    directory: u64,
    pub(super) inodes: u64,
    pub(super) journal: Run,
    first_file: u64,
    pub(super) files: u64,
    /// Blocks of the volume.
    pub(super) blocks: u64,
}

impl Layout {
    /// Places `settings.files` files on a volume of `blocks` blocks; by default as many as fit.
    pub(super) fn new(settings: &Journal, blocks: u64) -> Result<Self, WorkloadError> {
        let most = blocks / FILE_BLOCKS;
        let files = settings.files.map_or(most, u64::from);
        let mut layout = Self::with(settings, blocks, files);
        if settings.files.is_none() {
            // Metadata takes the place of the last files.
            let beyond = layout.end().saturating_sub(blocks);
            layout = Self::with(settings, blocks, files.saturating_sub(beyond.div_ceil(FILE_BLOCKS)));
        }
        if layout.files == 0 || layout.end() > blocks {
            // Where no file fits, the error says what one of them would need.
            let needed = Self::with(settings, blocks, files.max(1)).end();
            let [needed_bytes, range_bytes] = [needed, blocks].map(|blocks| blocks.saturating_mul(BLOCK_BYTES));
            return Err(WorkloadError::Volume { needed_bytes, range_bytes });
        }
        Ok(layout)
    }

    fn with(settings: &Journal, blocks: u64, files: u64) -> Self {
        let (superblock, descriptors, inode_bitmap, bitmaps) = (0, 1, 2, 3);
        let directory = bitmaps + blocks.div_ceil(BLOCKS_PER_BITMAP);
        let inodes = directory + files.div_ceil(ENTRIES_PER_BLOCK);
        let start = inodes + OWN_INODE_BLOCKS + files.div_ceil(INODES_PER_BLOCK);
        let journal = Run { start, blocks: settings.journal_blocks() };
        let first_file = journal.start + journal.blocks;
        Self { superblock, descriptors, inode_bitmap, bitmaps, directory, inodes, journal, first_file, files, blocks }
    }

    /// Blocks of the inode table.
    pub(super) fn inode_blocks(&self) -> u64 {
        self.journal.start - self.inodes
    }

    fn end(&self) -> u64 {
        self.first_file + self.files * FILE_BLOCKS
    }

    /// The first block of a file.
    pub(super) fn file(&self, file: u64) -> u64 {
        self.first_file + file * FILE_BLOCKS
    }

    /// The blocks behind the journal: the files, and data that the program does not touch.
    pub(super) fn data(&self) -> Run {
        Run { start: self.first_file, blocks: self.blocks - self.first_file }
    }

    /// Metadata blocks that change with a write: the inode; the bitmap, if blocks are allocated; and the directory, if
    /// the file is new.
    pub(super) fn changed(&self, file: u64, op: FileOp, is_first: bool) -> Vec<u64> {
        let mut blocks = vec![self.inodes + OWN_INODE_BLOCKS + file / INODES_PER_BLOCK];
        if op == FileOp::Write {
            blocks.extend([self.descriptors, self.bitmaps + self.file(file) / BLOCKS_PER_BITMAP]);
            if is_first {
                blocks.extend([self.inode_bitmap, self.directory + file / ENTRIES_PER_BLOCK]);
            }
        }
        blocks
    }
}
