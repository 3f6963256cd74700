//! The lock of a batch of requests, and the commands that run under it, from any protocol.

use crate::disk::DiskError;

use super::engine::{Access, Engine};
use super::errors::{CommandError, Poisoned};

/// The most bytes that a long command without data handles before it lets others use the disk.
const PIECE_BYTES: u64 = 16 << 20;

/// The lock of a batch of requests. The first request that needs it takes it.
pub(super) struct Batch<'e> {
    engine: &'e Engine,
    access: Option<Access<'e>>,
}

impl<'e> Batch<'e> {
    pub(super) fn new(engine: &'e Engine) -> Self {
        engine.announce();
        Self::silent(engine)
    }

    /// A batch for work that no client asked for.
    pub(super) fn silent(engine: &'e Engine) -> Self {
        Self { engine, access: None }
    }

    /// The disk's lock, which may be taken or not.
    pub(super) fn engine(&self) -> &'e Engine {
        self.engine
    }

    /// Bytes of a page.
    pub(super) fn page_bytes(&self) -> u32 {
        self.engine.page_bytes()
    }

    pub(super) fn access(&mut self) -> Result<&mut Access<'e>, Poisoned> {
        match &mut self.access {
            Some(access) => Ok(access),
            none => Ok(none.insert(self.engine.access()?)),
        }
    }

    /// The disk, for a command that only reads its tables and would not notice that the power is off.
    pub(super) fn powered(&mut self) -> Result<&mut Access<'e>, CommandError> {
        let access = self.access()?;
        if access.disk_mut().is_off() { Err(DiskError::PowerOff.into()) } else { Ok(access) }
    }

    /// The time on the chip's timeline at which the last command is complete; none if no command reached the disk.
    pub(super) fn complete_us(&mut self) -> Option<u64> {
        self.access.as_mut().map(Access::complete_us)
    }

    pub(super) fn write(&mut self, offset: u64, data: &[u8], stream: u16) -> Result<(), CommandError> {
        Ok(self.access()?.command().write(offset, data, stream)?)
    }

    pub(super) fn flush(&mut self) -> Result<(), CommandError> {
        Ok(self.access()?.command().flush()?)
    }

    pub(super) fn discard(&mut self, offset: u64, bytes: u64) -> Result<(), CommandError> {
        self.in_pieces(offset, bytes, |access, offset, bytes| access.command().discard(offset, bytes))
    }

    pub(super) fn write_zeroes(
        &mut self,
        offset: u64,
        bytes: u64,
        stream: u16,
        keeps: bool,
    ) -> Result<(), CommandError> {
        self.in_pieces(offset, bytes, |access, offset, bytes| {
            access.command().write_zeroes(offset, bytes, stream, keeps)
        })
    }

    /// Runs a command on a range that may be as long as the disk. The lock is free for a moment between two pieces.
    /// Pieces end with pages.
    fn in_pieces(
        &mut self,
        offset: u64,
        bytes: u64,
        mut piece: impl FnMut(&mut Access<'e>, u64, u64) -> Result<(), DiskError>,
    ) -> Result<(), CommandError> {
        let page_bytes = u64::from(self.page_bytes());
        // A page need not be a power of two, so 16 MiB need not be whole pages.
        let piece_bytes = PIECE_BYTES / page_bytes * page_bytes;
        let end = offset + bytes;
        let mut at = offset;
        loop {
            let next = (at / piece_bytes + 1).saturating_mul(piece_bytes).min(end);
            // An empty range is one piece, so that its place and the disk's power are checked all the same.
            piece(self.access()?, at, next - at)?;
            if next == end {
                return Ok(());
            }
            at = next;
            self.access = None;
            std::thread::yield_now();
        }
    }
}
