//! The structures by which the journal is found, byte for byte as ext4 has them: the superblock, the first group's
//! descriptor, and the block of the inode table with the journal's inode.

use super::BLOCK_BYTES;
use super::layout::{INODE_BYTES, Layout, Run};
use crate::request::Request;

/// The journal's inode, as `mkfs.ext4` numbers it.
const JOURNAL_INODE: u64 = 8;

/// Most blocks of an extent, and most extents in an inode.
const EXTENT_BLOCKS: u64 = 1 << 15;
const EXTENTS: usize = 4;

type Block = [u8; BLOCK_BYTES as usize];

/// Blocks with meaningful bytes, by their number.
#[derive(Debug, Clone)]
pub struct Metadata {
    blocks: [(u64, Box<Block>); 3],
}

impl Metadata {
    pub(super) fn new(layout: &Layout) -> Self {
        let mut superblock = Box::new([0; BLOCK_BYTES as usize]);
        let inodes = (layout.inode_blocks() * (BLOCK_BYTES / INODE_BYTES)) as u32;
        let fields = [
            (0x00, inodes),
            (0x04, layout.blocks as u32),
            // The logarithm of the block's size over 1,024, and of the cluster's.
            (0x18, 2),
            (0x1C, 2),
            // Blocks and clusters of a group: as many as a block has bits. All inodes belong to the first group.
            (0x20, 1 << 15),
            (0x24, 1 << 15),
            (0x28, inodes),
            // The magic number, revision 1, and the first inode that a user's file may have.
            (0x38, 0xEF53),
            (0x4C, 1),
            (0x54, 11),
            (0x58, INODE_BYTES as u32),
            // A journal; types in directories, extents, groups together.
            (0x5C, 0x4),
            (0x60, 0x242),
            (0xE0, JOURNAL_INODE as u32),
        ];
        // The superblock lies at byte 1,024 of the volume, behind room for a boot loader.
        put(&mut superblock[1024..], &fields);
        let mut descriptors = Box::new([0; BLOCK_BYTES as usize]);
        put(
            &mut descriptors[..],
            &[(0x00, layout.bitmaps as u32), (0x04, layout.inode_bitmap as u32), (0x08, layout.inodes as u32)],
        );
        let mut inodes = Box::new([0; BLOCK_BYTES as usize]);
        put_inode(&mut inodes[((JOURNAL_INODE - 1) * INODE_BYTES) as usize..], layout.journal);
        Self { blocks: [(layout.superblock, superblock), (layout.descriptors, descriptors), (layout.inodes, inodes)] }
    }

    /// The blocks in ascending order.
    pub(super) fn runs(&self) -> impl Iterator<Item = Run> {
        self.blocks.iter().map(|&(start, _)| Run { start, blocks: 1 })
    }

    /// The bytes of a write of whole blocks, if some of the blocks have meaningful bytes. The others are zeros.
    pub fn bytes_of(&self, request: &Request) -> Option<Vec<u8>> {
        let end = request.end_bytes() / BLOCK_BYTES;
        let range = request.offset_bytes / BLOCK_BYTES..end;
        let mut bytes = Vec::new();
        for (number, block) in self.blocks.iter().filter(|(number, _)| range.contains(number)) {
            bytes.resize(request.length_bytes as usize, 0);
            let at = ((number - range.start) * BLOCK_BYTES) as usize;
            bytes[at..at + block.len()].copy_from_slice(&block[..]);
        }
        (!bytes.is_empty()).then_some(bytes)
    }
}

/// Writes little-endian words at their offsets.
fn put(bytes: &mut [u8], fields: &[(usize, u32)]) {
    for &(at, value) in fields {
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
}

/// A regular file, one run of blocks, mapped by extents in the inode itself.
fn put_inode(inode: &mut [u8], run: Run) {
    let bytes = run.blocks * BLOCK_BYTES;
    // A regular file; its size in two halves; and the flag of extents.
    put(inode, &[(0x00, 0x8180), (0x04, bytes as u32), (0x6C, (bytes >> 32) as u32), (0x20, 0x8_0000)]);
    let mut extents = 0;
    let mut done = 0;
    assert!(run.blocks <= EXTENT_BLOCKS * EXTENTS as u64, "the settings refuse a larger journal");
    while done < run.blocks {
        let length = EXTENT_BLOCKS.min(run.blocks - done);
        let entry = &mut inode[0x28 + 12 + extents * 12..];
        put(entry, &[(0, done as u32), (4, length as u32), (8, (run.start + done) as u32)]);
        (extents, done) = (extents + 1, done + length);
    }
    // The header of the extents: its magic number with the entries in use, and the most entries.
    put(&mut inode[0x28..], &[(0, 0xF30A | (extents as u32) << 16), (4, EXTENTS as u32)]);
}
