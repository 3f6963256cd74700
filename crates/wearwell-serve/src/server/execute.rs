//! One request, done on the disk, and its reply.

use crate::disk::DiskError;
use crate::nbd::{Allocation, Command, Errno, Output, Reply, Request, Session};

use super::engine::{Access, Engine, Poisoned, errno};

/// Bytes that a long command without data handles before it lets others at the disk.
const PIECE_BYTES: u64 = 16 << 20;
/// Holes shorter than this are read as the zeros they are.
const HOLE_BYTES: u64 = 32 << 10;
/// Bytes that one answer on what is allocated covers at most.
const STATUS_BYTES: u32 = 256 << 20;
/// Extents that one answer on what is allocated has at most.
const STATUS_EXTENTS: usize = 4096;

/// The lock of a batch of requests: taken with the first that needs it.
pub(super) struct Batch<'e> {
    engine: &'e Engine,
    access: Option<Access<'e>>,
}

/// Why a request failed: what the client hears.
struct Failed(Errno);

impl From<Poisoned> for Failed {
    fn from(_: Poisoned) -> Self {
        Self(Errno::Io)
    }
}

impl From<DiskError> for Failed {
    fn from(error: DiskError) -> Self {
        Self(errno(&error))
    }
}

impl<'e> Batch<'e> {
    pub(super) fn new(engine: &'e Engine) -> Self {
        engine.announce();
        Self { engine, access: None }
    }

    fn access(&mut self) -> Result<&mut Access<'e>, Poisoned> {
        match &mut self.access {
            Some(access) => Ok(access),
            none => Ok(none.insert(self.engine.access()?)),
        }
    }

    /// The disk, for what only looks at its tables and would not notice that its power is off.
    fn powered(&mut self) -> Result<&mut Access<'e>, Failed> {
        let access = self.access()?;
        if access.disk_mut().is_off() { Err(Failed(Errno::Io)) } else { Ok(access) }
    }

    /// When the last command is complete on the chip's timeline; none if none came to the disk.
    pub(super) fn complete_us(&mut self) -> Option<u64> {
        self.access.as_mut().map(Access::complete_us)
    }

    /// Does what `request` asks for, and puts the reply into `output`.
    pub(super) fn execute(&mut self, session: Session, request: &Request<'_>, output: &mut Output) {
        let is_chunked = session.has_structured_replies;
        let mut reply = Reply::new(output, request.cookie);
        let done = match request.command {
            Command::Read { offset, length, is_whole } => {
                let read = match self.powered() {
                    Err(failed) => Err(failed),
                    Ok(access) if is_chunked => read_chunks(access, &mut reply, offset, length, is_whole),
                    Ok(access) => access.command().read(offset, reply.data(length)).map_err(Failed::from),
                };
                return match read {
                    Ok(()) if length == 0 && is_chunked => reply.end(),
                    Ok(()) => {}
                    Err(Failed(error)) => reply.error(error, is_chunked),
                };
            }
            Command::BlockStatus { offset, length, is_one } => {
                return match self.powered() {
                    Ok(access) => block_status(access, reply, offset, length, is_one),
                    Err(Failed(error)) => reply.error(error, is_chunked),
                };
            }
            Command::Refused { error, is_chunked } => return reply.error(error, is_chunked),
            Command::Disconnect => return,
            Command::Cache => self.powered().map(drop),
            Command::Write { offset, data, is_durable } => self.write(offset, data, session.stream, is_durable),
            Command::Flush => self.flush(),
            Command::Trim { offset, length, is_durable } => self.trim(offset, length, is_durable),
            Command::WriteZeroes { offset, length, is_durable, keeps_allocated, is_fast_only } => {
                if is_fast_only && (keeps_allocated || !self.has_whole_page(offset, length)) {
                    return reply.error(Errno::NotSupported, false);
                }
                self.write_zeroes(offset, length, session.stream, keeps_allocated, is_durable)
            }
        };
        match done {
            Ok(()) => reply.done(),
            Err(Failed(error)) => reply.error(error, false),
        }
    }

    fn write(&mut self, offset: u64, data: &[u8], stream: u16, is_durable: bool) -> Result<(), Failed> {
        let access = self.access()?;
        access.command().write(offset, data, stream)?;
        if is_durable { Ok(access.command().flush()?) } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Failed> {
        Ok(self.access()?.command().flush()?)
    }

    fn trim(&mut self, offset: u64, length: u32, is_durable: bool) -> Result<(), Failed> {
        self.in_pieces(offset, length, |access, offset, bytes| access.command().discard(offset, bytes))?;
        if is_durable { self.flush() } else { Ok(()) }
    }

    fn write_zeroes(
        &mut self,
        offset: u64,
        length: u32,
        stream: u16,
        keeps: bool,
        is_durable: bool,
    ) -> Result<(), Failed> {
        self.in_pieces(offset, length, |access, offset, bytes| {
            access.command().write_zeroes(offset, bytes, stream, keeps)
        })?;
        if is_durable { self.flush() } else { Ok(()) }
    }

    /// Does a command on a range that may be as long as the disk. The lock is free for a moment between two pieces,
    /// which meet at multiples of their size, and so at the border of pages.
    fn in_pieces(
        &mut self,
        offset: u64,
        length: u32,
        mut piece: impl FnMut(&mut Access<'e>, u64, u64) -> Result<(), DiskError>,
    ) -> Result<(), Failed> {
        let end = offset + u64::from(length);
        let mut at = offset;
        loop {
            let next = (at / PIECE_BYTES + 1).saturating_mul(PIECE_BYTES).min(end);
            piece(self.access()?, at, next - at)?;
            if next == end {
                return Ok(());
            }
            at = next;
            self.access = None;
            std::thread::yield_now();
        }
    }

    fn has_whole_page(&self, offset: u64, length: u32) -> bool {
        let page_bytes = u64::from(self.engine.page_bytes());
        let end = offset + u64::from(length);
        offset.div_ceil(page_bytes).saturating_add(1) <= end / page_bytes
    }
}

/// Puts data and holes into chunks. An empty range has none.
fn read_chunks(
    access: &mut Access<'_>,
    reply: &mut Reply<'_>,
    offset: u64,
    length: u32,
    is_whole: bool,
) -> Result<(), Failed> {
    let end = offset + u64::from(length);
    let mut at = offset;
    while at < end {
        let first = access.disk_mut().extent(at, end - at);
        let is_hole = !first.allocated && (first.bytes >= HOLE_BYTES || first.bytes == end - at);
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

/// Where the next hole begins that is worth a chunk of its own.
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
