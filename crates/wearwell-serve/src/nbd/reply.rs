//! Replies of the transmission phase, as bytes.

use super::error::Errno;
use super::handshake::ALLOCATION_CONTEXT;
use super::wire::{SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC, allocation, chunk};
use crate::output::Output;

/// Bytes of a chunk's header. The last four are the length of the payload.
const CHUNK_HEADER_BYTES: usize = 20;

/// The allocation of a range of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocation {
    /// Something was written.
    Data,
    /// Never written, or discarded: reads as zeros.
    Hole,
}

/// The reply to one request, written into an [`Output`] piece by piece.
#[derive(Debug)]
pub struct Reply<'o> {
    output: &'o mut Output,
    cookie: u64,
    /// Where this reply begins.
    start: usize,
}

impl<'o> Reply<'o> {
    /// Begins the reply to the request with this cookie.
    pub fn new(output: &'o mut Output, cookie: u64) -> Self {
        let start = output.len();
        Self { output, cookie, start }
    }

    /// Ends the reply: success without data.
    pub fn done(self) {
        put_simple(self.output, self.cookie, 0);
    }

    /// Ends the reply: failure. Takes back what was written before. `is_chunked` is set if the command's replies are
    /// structured.
    pub fn error(self, error: Errno, is_chunked: bool) {
        // Nothing of this reply has been sent: the output leaves when the batch is done.
        self.output.cut_to(self.start);
        if !is_chunked {
            return put_simple(self.output, self.cookie, error as u32);
        }
        put_chunk(self.output, self.cookie, chunk::ERROR, true, 6);
        self.output.put_u32(error as u32);
        // No message: the number says it all.
        self.output.put_u16(0);
    }

    /// A simple reply with data. The caller fills all of it.
    pub fn data(&mut self, length: u32) -> &mut [u8] {
        put_simple(self.output, self.cookie, 0);
        self.output.room(length as usize)
    }

    /// A chunk of data, not empty, that begins at byte `offset` of the disk. The caller fills all of it.
    pub fn data_chunk(&mut self, offset: u64, length: u32, is_last: bool) -> &mut [u8] {
        debug_assert!(length > 0);
        put_chunk(self.output, self.cookie, chunk::OFFSET_DATA, is_last, 8 + length);
        self.output.put_u64(offset);
        self.output.room(length as usize)
    }

    /// A chunk of zeros, not empty, that begins at byte `offset` of the disk.
    pub fn hole_chunk(&mut self, offset: u64, length: u32, is_last: bool) {
        debug_assert!(length > 0);
        put_chunk(self.output, self.cookie, chunk::OFFSET_HOLE, is_last, 12);
        self.output.put_u64(offset);
        self.output.put_u32(length);
    }

    /// A chunk without data that ends the reply.
    pub fn end(self) {
        put_chunk(self.output, self.cookie, chunk::NONE, true, 0);
    }

    /// The allocation, as adjacent extents that are not empty. Extents of the same kind are joined.
    pub fn block_status(self, extents: impl Iterator<Item = (u32, Allocation)>) {
        // The number of extents is not known before they are joined, so the length is patched in at the end.
        put_chunk(self.output, self.cookie, chunk::BLOCK_STATUS, true, 0);
        let payload = self.output.len();
        self.output.put_u32(ALLOCATION_CONTEXT);
        let mut last: Option<(u32, Allocation)> = None;
        for (length, holds) in extents {
            debug_assert!(length > 0);
            last = match last {
                // The sum is no more than the request's length, which has 32 bits.
                Some((before, same)) if same == holds => Some((before + length, same)),
                Some(other) => {
                    put_extent(self.output, other);
                    Some((length, holds))
                }
                None => Some((length, holds)),
            };
        }
        if let Some(extent) = last {
            put_extent(self.output, extent);
        }
        let length = (self.output.len() - payload) as u32;
        // The length is the last field of the chunk's header.
        self.output.patch(payload - 4, &length.to_be_bytes());
    }
}

fn put_extent(output: &mut Output, (length, holds): (u32, Allocation)) {
    output.put_u32(length);
    output.put_u32(match holds {
        Allocation::Data => 0,
        // Both: a hole takes no flash, and it reads as zeros. Data that happens to be zeros is not looked for.
        Allocation::Hole => allocation::HOLE | allocation::ZERO,
    });
}

fn put_simple(output: &mut Output, cookie: u64, error: u32) {
    let mut header = [0; 16];
    header[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
    header[4..8].copy_from_slice(&error.to_be_bytes());
    header[8..].copy_from_slice(&cookie.to_be_bytes());
    output.put(&header);
}

fn put_chunk(output: &mut Output, cookie: u64, kind: u16, is_last: bool, length: u32) {
    let flags = if is_last { chunk::FLAG_DONE } else { 0 };
    let mut header = [0; CHUNK_HEADER_BYTES];
    header[..4].copy_from_slice(&STRUCTURED_REPLY_MAGIC.to_be_bytes());
    header[4..6].copy_from_slice(&flags.to_be_bytes());
    header[6..8].copy_from_slice(&kind.to_be_bytes());
    header[8..16].copy_from_slice(&cookie.to_be_bytes());
    header[16..].copy_from_slice(&length.to_be_bytes());
    output.put(&header);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(build: impl FnOnce(Reply<'_>)) -> Vec<u8> {
        let mut output = Output::default();
        build(Reply::new(&mut output, 0x0102_0304_0506_0708));
        output.filled().to_vec()
    }

    const COOKIE: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

    #[test]
    fn simple_replies() {
        let done = [&[0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0], &COOKIE[..]].concat();
        assert_eq!(reply(|reply| reply.done()), done);
        assert_eq!(reply(|mut reply| reply.data(2).copy_from_slice(b"ab")), [&done[..], b"ab"].concat());
        let failed = [&[0x67, 0x44, 0x66, 0x98, 0, 0, 0, 28], &COOKIE[..]].concat();
        assert_eq!(reply(|reply| reply.error(Errno::NoSpace, false)), failed);
    }

    #[test]
    fn chunks() {
        let chunk = |flags: u8, kind: [u8; 2], length: u8| {
            [&[0x66, 0x8e, 0x33, 0xef, 0, flags], &kind[..], &COOKIE, &[0, 0, 0, length]].concat()
        };
        let pieces = reply(|mut reply| {
            reply.hole_chunk(512, 256, false);
            reply.data_chunk(768, 1, true)[0] = 9;
        });
        let hole = [&chunk(0, [0, 2], 12)[..], &[0, 0, 0, 0, 0, 0, 2, 0], &[0, 0, 1, 0]].concat();
        let data = [&chunk(1, [0, 1], 9)[..], &[0, 0, 0, 0, 0, 0, 3, 0], &[9]].concat();
        assert_eq!(pieces, [hole, data].concat());
        assert_eq!(reply(|reply| reply.end()), chunk(1, [0, 0], 0));
        let failed = [&chunk(1, [0x80, 1], 6)[..], &[0, 0, 0, 5, 0, 0]].concat();
        assert_eq!(reply(|reply| reply.error(Errno::Io, true)), failed);
    }

    #[test]
    fn an_error_takes_back_what_was_said_before() {
        let taken_back = reply(|mut reply| {
            reply.data_chunk(0, 100, true).fill(1);
            reply.error(Errno::Io, true);
        });
        assert_eq!(taken_back, reply(|reply| reply.error(Errno::Io, true)));
    }

    #[test]
    fn extents_that_hold_the_same_are_one() {
        let extents = [(512, Allocation::Data), (1024, Allocation::Data), (256, Allocation::Hole)];
        let status = reply(|reply| reply.block_status(extents.into_iter()));
        let header = [&[0x66, 0x8e, 0x33, 0xef, 0, 1, 0, 5], &COOKIE[..], &[0, 0, 0, 20]].concat();
        let payload = [[0, 0, 0, 1], [0, 0, 6, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 3]].concat();
        assert_eq!(status, [header, payload].concat());
    }
}
