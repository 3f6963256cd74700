//! The namespace: its number, and its blocks.

use super::status::Status;
use super::subsystem::Subsystem;

/// The one namespace.
pub(super) const NAMESPACE: u32 = 1;
/// Bytes of a logical block.
pub(super) const BLOCK_BYTES: u32 = 512;
/// The limit of a command's data, as a shift of 4 KiB.
pub(super) const TRANSFER_SHIFT: u8 = 8;
/// The same in bytes.
pub(super) const TRANSFER_BYTES: u32 = 4096 << TRANSFER_SHIFT;
/// The namespace number that stands for all.
pub(super) const ALL_NAMESPACES: u32 = 0xffff_ffff;

/// Blocks in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// Blocks of the disk.
pub(super) fn extent(first: u64, blocks: u64, subsystem: &Subsystem) -> Result<Extent, Status> {
    let all = subsystem.size_bytes / u64::from(BLOCK_BYTES);
    // Not `first + blocks`: both numbers are the host's, and the sum may overflow.
    if first > all || blocks > all - first {
        return Err(Status::LBA_OUT_OF_RANGE);
    }
    Ok(Extent { offset: first * u64::from(BLOCK_BYTES), bytes: blocks * u64::from(BLOCK_BYTES) })
}
