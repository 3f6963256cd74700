//! Copy: blocks of the namespace to another place in it (NVM Command Set 1.1, section 3.3.2).

use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::blocks::{BLOCK_BYTES, Extent, TRANSFER_BYTES, extent};
use super::command::Sqe;
use super::medium::Medium;
use super::status::Status;
use super::turn::Turn;

/// Most blocks of a copy, and of each of its ranges.
pub(super) const BLOCKS: u32 = TRANSFER_BYTES / BLOCK_BYTES;
/// Most ranges of a copy.
pub(super) const RANGES: u8 = 128;

/// A range to copy from, in the first format.
#[derive(Debug, Clone, Copy, FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Source {
    reserved_0: U64,
    first: U64,
    blocks_less_one: U16,
    reserved_18: [u8; 14],
}

/// Bytes of ranges that the command brings.
pub(super) fn plan(entry: &Sqe) -> Result<u32, Status> {
    // The number of ranges is 0's based.
    let (ranges, format) = ((entry.word(12) & 0xff) + 1, entry.word(12) >> 8 & 0b1111);
    match (format, ranges <= u32::from(RANGES)) {
        (0, true) => Ok(ranges * size_of::<Source>() as u32),
        (0, false) => Err(Status::COPY_TOO_LARGE),
        _ => Err(Status::INVALID_FIELD),
    }
}

/// Reads all ranges, and writes them one behind the other. So ranges may overlap the place that they are copied to.
pub(super) fn copy<M: Medium>(entry: &Sqe, ranges: &[u8], stream: u16, turn: &mut Turn<'_, M>) -> Result<(), Status> {
    let subsystem = &turn.target.subsystem;
    let sources = ranges.chunks_exact(size_of::<Source>()).filter_map(|bytes| Source::read_from_bytes(bytes).ok());
    let sources: Vec<(u64, u32)> =
        sources.map(|source| (source.first.get(), u32::from(source.blocks_less_one.get()) + 1)).collect();
    // At most 128 ranges of 65,536 blocks, which a sum of 32 bits holds.
    let blocks: u32 = sources.iter().map(|(_, blocks)| blocks).sum();
    if blocks > BLOCKS {
        return Err(Status::COPY_TOO_LARGE);
    }
    let Extent { offset, bytes } = extent(entry.words(10), u64::from(blocks), subsystem)?;
    // After the check above: these are 1 MiB at most.
    let mut data = vec![0; bytes as usize];
    let mut rest = &mut data[..];
    for (first, blocks) in sources {
        let from = extent(first, u64::from(blocks), subsystem)?;
        let (piece, behind) = rest.split_at_mut(from.bytes as usize);
        turn.medium.read(from.offset, piece)?;
        rest = behind;
    }
    turn.medium.write(offset, &data, stream)
}
