//! Executes one request on the disk, and makes its reply.

use crate::nbd::{Allocation, Command, Errno, Output, Reply, Request, Session};

use super::batch::Batch;
use super::engine::{Access, Engine, errno};
use super::errors::CommandError;

/// Holes shorter than this are sent as zeros.
const HOLE_BYTES: u64 = 32 << 10;
/// The most bytes that an answer about allocation covers.
const STATUS_BYTES: u32 = 256 << 20;
/// The most extents in an answer about allocation.
const STATUS_EXTENTS: usize = 4096;

/// What a client is told of an error, which is counted.
fn told(engine: &Engine, error: &CommandError) -> Errno {
    engine.errors().add(error);
    match error {
        CommandError::Poisoned(_) => Errno::Io,
        CommandError::Disk(error) => errno(error),
    }
}

/// Executes `request`, and puts the reply into `output`.
pub(super) fn execute(batch: &mut Batch<'_>, session: Session, request: &Request<'_>, output: &mut Output) {
    // Once structured replies are agreed on, answers with data must have that form. All others stay simple, which is
    // shorter.
    let is_chunked = session.has_structured_replies;
    let mut reply = Reply::new(output, request.cookie);
    let engine = batch.engine();
    let done = match request.command {
        Command::Read { offset, length, is_whole } => {
            let read = match batch.powered() {
                Err(error) => Err(error),
                Ok(access) if is_chunked => read_chunks(access, &mut reply, offset, length, is_whole),
                // The header says success before the read has begun. If the read fails, the reply is taken back as a
                // whole.
                Ok(access) => access.command().read(offset, reply.data(length)).map_err(CommandError::from),
            };
            return match read {
                // No chunk of data may be empty, and without one nothing has ended the reply.
                Ok(()) if length == 0 && is_chunked => reply.end(),
                Ok(()) => {}
                Err(error) => reply.error(told(engine, &error), is_chunked),
            };
        }
        Command::BlockStatus { offset, length, is_one } => {
            return match batch.powered() {
                Ok(access) => block_status(access, reply, offset, length, is_one),
                Err(error) => reply.error(told(engine, &error), is_chunked),
            };
        }
        Command::Refused { error, is_chunked } => {
            engine.errors().add_refused();
            return reply.error(error, is_chunked);
        }
        Command::Disconnect => return,
        // There is nothing to do, but a disk without power should not say that it was done.
        Command::Cache => batch.powered().map(drop),
        Command::Write { offset, data, is_durable } => {
            batch.write(offset, data, session.stream).and_then(|()| durable(batch, is_durable))
        }
        Command::Flush => batch.flush(),
        Command::Trim { offset, length, is_durable } => {
            batch.discard(offset, u64::from(length)).and_then(|()| durable(batch, is_durable))
        }
        Command::WriteZeroes { offset, length, is_durable, keeps_allocated, is_fast_only } => {
            // It is faster than a write if a page can be discarded. The answer must be quick and change nothing
            // (proto.md, NBD_CMD_FLAG_FAST_ZERO).
            if is_fast_only && (keeps_allocated || !has_whole_page(batch.page_bytes(), offset, length)) {
                return reply.error(Errno::NotSupported, false);
            }
            let zeroed = batch.write_zeroes(offset, u64::from(length), session.stream, keeps_allocated);
            zeroed.and_then(|()| durable(batch, is_durable))
        }
    };
    match done {
        Ok(()) => reply.done(),
        Err(error) => reply.error(told(engine, &error), false),
    }
}

/// Flushes if the command is to be durable before its reply.
fn durable(batch: &mut Batch<'_>, is_durable: bool) -> Result<(), CommandError> {
    if is_durable { batch.flush() } else { Ok(()) }
}

fn has_whole_page(page_bytes: u32, offset: u64, length: u32) -> bool {
    let page_bytes = u64::from(page_bytes);
    let end = offset + u64::from(length);
    offset.div_ceil(page_bytes).saturating_add(1) <= end / page_bytes
}

/// Splits a range into chunks of data and of holes. An empty range has none.
fn read_chunks(
    access: &mut Access<'_>,
    reply: &mut Reply<'_>,
    offset: u64,
    length: u32,
    is_whole: bool,
) -> Result<(), CommandError> {
    let end = offset + u64::from(length);
    let mut at = offset;
    while at < end {
        let first = access.disk_mut().extent(at, end - at);
        // A short hole would cost a chunk of its own, and split the data around it. One that is all that is left splits
        // nothing.
        let is_hole = !first.allocated && (first.bytes >= HOLE_BYTES || first.bytes == end - at);
        // In one piece, a hole may be sent as one only if there is nothing else (proto.md, NBD_CMD_READ).
        if is_hole && (!is_whole || first.bytes == u64::from(length)) {
            reply.hole_chunk(at, first.bytes as u32, at + first.bytes == end);
            at += first.bytes;
            continue;
        }
        let next = if is_whole { end } else { data_end(access, at + first.bytes, end) };
        access.command().read(at, reply.data_chunk(at, (next - at) as u32, next == end))?;
        at = next;
    }
    Ok(())
}

/// The beginning of the next hole that is long enough for a chunk of its own.
fn data_end(access: &mut Access<'_>, mut at: u64, end: u64) -> u64 {
    while at < end {
        let extent = access.disk_mut().extent(at, end - at);
        if !extent.allocated && extent.bytes >= HOLE_BYTES {
            return at;
        }
        at += extent.bytes;
    }
    end
}

fn block_status(access: &mut Access<'_>, reply: Reply<'_>, offset: u64, length: u32, is_one: bool) {
    // The answer may cover less than the request; the client asks again for the rest. This bounds the time under the
    // lock.
    let end = offset + u64::from(length.min(STATUS_BYTES));
    let mut at = offset;
    let extents = std::iter::from_fn(|| {
        (at < end).then(|| {
            let extent = access.disk_mut().extent(at, end - at);
            at += extent.bytes;
            (extent.bytes as u32, if extent.allocated { Allocation::Data } else { Allocation::Hole })
        })
    });
    reply.block_status(extents.take(if is_one { 1 } else { STATUS_EXTENTS }));
}
