//! Commands on the namespace: the NVM command set (revision 1.1).

use std::sync::atomic::Ordering;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::blocks::{ALL_NAMESPACES, Extent, NAMESPACE, TRANSFER_BYTES, extent};
use super::command::{Sqe, io};
use super::copy;
use super::fdp;
use super::medium::Medium;
use super::status::Status;
use super::streams::directive;
use super::subsystem::Subsystem;
use super::turn::Turn;

const FORCE_UNIT_ACCESS: u32 = 1 << 30;
/// A flag of write zeroes.
const DEALLOCATE: u32 = 1 << 25;
/// A flag of dataset management.
const ATTRIBUTE_DEALLOCATE: u32 = 1 << 2;
const DIRECTIVE_SHIFT: u32 = 20;
const DIRECTIVE_MASK: u32 = 0b1111;

/// A range of dataset management.
#[derive(Debug, Clone, Copy, FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Range {
    attributes: U32,
    blocks: U32,
    first: U64,
}

/// The blocks that a command names in the usual places.
fn blocks(entry: &Sqe, subsystem: &Subsystem) -> Result<Extent, Status> {
    // The number of blocks is 0's based.
    extent(entry.words(10), u64::from(entry.word(12) & 0xffff) + 1, subsystem)
}

/// The blocks of a command that has data for all of them.
fn transferred(entry: &Sqe, subsystem: &Subsystem) -> Result<Extent, Status> {
    let extent = blocks(entry, subsystem)?;
    // Hosts are told the limit by MDTS. It bounds what a command makes the server hold.
    if extent.bytes > u64::from(TRANSFER_BYTES) { Err(Status::INVALID_FIELD) } else { Ok(extent) }
}

fn check_writable(subsystem: &Subsystem) -> Result<(), Status> {
    if subsystem.is_read_only { Err(Status::WRITE_PROTECTED) } else { Ok(()) }
}

fn check_namespace(entry: &Sqe) -> Result<(), Status> {
    // A flush is of everything here, whichever name it has.
    let is_flush_of_all = entry.opcode == io::FLUSH && entry.namespace.get() == ALL_NAMESPACES;
    if entry.namespace.get() == NAMESPACE || is_flush_of_all { Ok(()) } else { Err(Status::INVALID_NAMESPACE) }
}

/// The type of a write's directive.
fn directive(entry: &Sqe) -> u8 {
    (entry.word(12) >> DIRECTIVE_SHIFT & DIRECTIVE_MASK) as u8
}

/// Refuses directives that are not enabled, unless none is.
fn check_directive<M>(entry: &Sqe, turn: &Turn<'_, M>) -> Result<(), Status> {
    let kind = directive(entry);
    if kind == directive::IDENTIFY {
        return Ok(());
    }
    let enabled = match turn.target.subsystem.fdp {
        Some(_) => Some(directive::DATA_PLACEMENT),
        None if turn.target.streams.are_enabled(&turn.host) => Some(directive::STREAMS),
        None => None,
    };
    if enabled.is_none_or(|enabled| enabled == kind) { Ok(()) } else { Err(Status::INVALID_FIELD) }
}

/// The engine's stream of a write whose directive was checked: its handle, or the host's stream.
fn stream<M: Medium>(entry: &Sqe, turn: &mut Turn<'_, M>) -> Result<u16, Status> {
    let number = (entry.word(13) >> 16) as u16;
    match (directive(entry), turn.target.placement()) {
        (directive::DATA_PLACEMENT, Ok(placement)) => placement.handle(number, turn.medium),
        // Stream 0 stands for no stream.
        (directive::STREAMS, Err(_)) if number > 0 && turn.target.streams.are_enabled(&turn.host) => {
            turn.target.streams.write(number);
            Ok(number)
        }
        _ => Ok(0),
    }
}

/// The operation of I/O management on handles: their status (receive), or their update (send).
const RECLAIM_UNITS: u32 = 1;

/// Refuses I/O management of anything except the handles of a disk that has some.
fn check_management(entry: &Sqe, subsystem: &Subsystem) -> Result<(), Status> {
    match (entry.word(10) & 0xff, subsystem.fdp) {
        (RECLAIM_UNITS, Some(_)) => Ok(()),
        (RECLAIM_UNITS, None) => Err(Status::FDP_DISABLED),
        _ => Err(Status::INVALID_FIELD),
    }
}

/// Bytes of data that a command brings, if the command is valid.
pub(super) fn plan<M>(entry: &Sqe, turn: &Turn<'_, M>) -> Result<u32, Status> {
    let subsystem = &turn.target.subsystem;
    let is_known = matches!(
        entry.opcode,
        io::FLUSH
            | io::WRITE
            | io::READ
            | io::COMPARE
            | io::WRITE_ZEROES
            | io::DATASET_MANAGEMENT
            | io::VERIFY
            | io::MANAGEMENT_RECEIVE
            | io::COPY
            | io::MANAGEMENT_SEND
    );
    if !is_known {
        return Err(Status::INVALID_OPCODE);
    }
    // What can be refused is refused here, before the host sends the data.
    check_namespace(entry)?;
    match entry.opcode {
        io::WRITE => {
            check_writable(subsystem)?;
            check_directive(entry, turn)?;
            Ok(transferred(entry, subsystem)?.bytes as u32)
        }
        io::COMPARE => Ok(transferred(entry, subsystem)?.bytes as u32),
        io::WRITE_ZEROES => {
            check_writable(subsystem)?;
            check_directive(entry, turn)?;
            blocks(entry, subsystem).map(|_| 0)
        }
        io::VERIFY => blocks(entry, subsystem).map(|_| 0),
        io::READ => transferred(entry, subsystem).map(|_| 0),
        // The number of ranges is 0's based. Whether the disk may be written is asked later: other attributes than the
        // discard change nothing.
        io::DATASET_MANAGEMENT => Ok(((entry.word(10) & 0xff) + 1) * size_of::<Range>() as u32),
        io::COPY => {
            check_writable(subsystem)?;
            check_directive(entry, turn)?;
            copy::plan(entry)
        }
        io::MANAGEMENT_SEND => {
            check_management(entry, subsystem)?;
            fdp::bytes_to_update(entry)
        }
        io::MANAGEMENT_RECEIVE => {
            check_management(entry, subsystem)?;
            let is_too_much = fdp::bytes_to_host(entry) > TRANSFER_BYTES as usize;
            if is_too_much { Err(Status::INVALID_FIELD) } else { Ok(0) }
        }
        _ => Ok(0),
    }
}

/// Does a command that returns only a completion.
pub(super) fn execute<M: Medium>(entry: &Sqe, data: &[u8], turn: &mut Turn<'_, M>) -> Result<(), Status> {
    let subsystem = &turn.target.subsystem;
    match entry.opcode {
        io::FLUSH => turn.medium.flush(),
        io::WRITE => {
            turn.target.writes.fetch_add(1, Ordering::Relaxed);
            let Extent { offset, .. } = transferred(entry, subsystem)?;
            let stream = stream(entry, turn)?;
            turn.medium.write(offset, data, stream)?;
            durable(entry, turn)
        }
        io::WRITE_ZEROES => {
            turn.target.writes.fetch_add(1, Ordering::Relaxed);
            let Extent { offset, bytes } = blocks(entry, subsystem)?;
            // Without the bit, the host does not ask for the space to be given up.
            let keeps_allocated = entry.word(12) & DEALLOCATE == 0;
            let stream = stream(entry, turn)?;
            turn.medium.write_zeroes(offset, bytes, stream, keeps_allocated)?;
            durable(entry, turn)
        }
        io::COMPARE => compare(entry, data, turn),
        io::VERIFY => verify(entry, turn),
        io::DATASET_MANAGEMENT => manage(entry, data, turn),
        io::COPY => {
            turn.target.writes.fetch_add(1, Ordering::Relaxed);
            let stream = stream(entry, turn)?;
            copy::copy(entry, data, stream, turn)?;
            durable(entry, turn)
        }
        io::MANAGEMENT_SEND => turn.target.placement()?.update(data, turn.medium),
        _ => Err(Status::INVALID_OPCODE),
    }
}

/// Flushes after a write with forced unit access.
fn durable<M: Medium>(entry: &Sqe, turn: &mut Turn<'_, M>) -> Result<(), Status> {
    if entry.word(12) & FORCE_UNIT_ACCESS != 0 { turn.medium.flush() } else { Ok(()) }
}

fn compare<M: Medium>(entry: &Sqe, data: &[u8], turn: &mut Turn<'_, M>) -> Result<(), Status> {
    turn.target.reads.fetch_add(1, Ordering::Relaxed);
    let Extent { offset, .. } = transferred(entry, &turn.target.subsystem)?;
    let mut found = vec![0; data.len()];
    turn.medium.read(offset, &mut found)?;
    if found == data { Ok(()) } else { Err(Status::COMPARE_FAILURE) }
}

/// Reads without returning data.
fn verify<M: Medium>(entry: &Sqe, turn: &mut Turn<'_, M>) -> Result<(), Status> {
    let Extent { offset, bytes } = blocks(entry, &turn.target.subsystem)?;
    // A verify has no data, so that its blocks are not bounded by that: 32 MiB are read in pieces.
    let mut found = vec![0; bytes.min(u64::from(TRANSFER_BYTES)) as usize];
    let mut done = 0;
    while done < bytes {
        let piece = (bytes - done).min(u64::from(TRANSFER_BYTES));
        turn.medium.read(offset + done, &mut found[..piece as usize])?;
        done += piece;
    }
    Ok(())
}

/// Deallocates ranges. Other attributes of ranges are ignored.
fn manage<M: Medium>(entry: &Sqe, data: &[u8], turn: &mut Turn<'_, M>) -> Result<(), Status> {
    // The other attributes are hints about how the host will use the blocks.
    if entry.word(11) & ATTRIBUTE_DEALLOCATE == 0 {
        return Ok(());
    }
    let subsystem = &turn.target.subsystem;
    check_writable(subsystem)?;
    let ranges = data.chunks_exact(size_of::<Range>()).filter_map(|bytes| Range::read_from_bytes(bytes).ok());
    let extents: Result<Vec<Extent>, Status> =
        ranges.map(|range| extent(range.first.get(), u64::from(range.blocks.get()), subsystem)).collect();
    // All or none.
    for Extent { offset, bytes } in extents? {
        turn.medium.discard(offset, bytes)?;
    }
    Ok(())
}

/// Bytes that a command returns to the host.
pub(super) fn bytes_to_host(entry: &Sqe, subsystem: &Subsystem) -> Result<usize, Status> {
    match entry.opcode {
        io::MANAGEMENT_RECEIVE => Ok(fdp::bytes_to_host(entry)),
        _ => Ok(transferred(entry, subsystem)?.bytes as usize),
    }
}

/// Fills in the data that a command returns to the host.
pub(super) fn fill<M: Medium>(entry: &Sqe, room: &mut [u8], turn: &mut Turn<'_, M>) -> Result<(), Status> {
    if entry.opcode == io::MANAGEMENT_RECEIVE {
        let segment_bytes = turn.target.subsystem.segment_bytes;
        return turn.target.placement()?.status(room, segment_bytes, turn.medium);
    }
    turn.target.reads.fetch_add(1, Ordering::Relaxed);
    let Extent { offset, .. } = transferred(entry, &turn.target.subsystem)?;
    // A read with forced unit access returns what is durable (NVM Command Set, Read), so what was written before is
    // flushed first.
    durable(entry, turn)?;
    turn.medium.read(offset, room)
}
