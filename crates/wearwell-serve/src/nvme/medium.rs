//! A controller's interface to its disk.

use super::status::Status;
use crate::disk::{HandleEvent, SPARE_THRESHOLD_PERCENT, Watched};

/// A disk, for as long as a command takes. Offsets and lengths are in bytes, and lie within it.
pub trait Medium {
    /// Reads bytes.
    ///
    /// # Errors
    /// The status for the host.
    fn read(&mut self, offset: u64, data: &mut [u8]) -> Result<(), Status>;

    /// Writes bytes as part of a stream.
    ///
    /// # Errors
    /// The status for the host.
    fn write(&mut self, offset: u64, data: &[u8], stream: u16) -> Result<(), Status>;

    /// Sets bytes to zero. `keeps_allocated` keeps flash for them.
    ///
    /// # Errors
    /// The status for the host.
    fn write_zeroes(&mut self, offset: u64, bytes: u64, stream: u16, keeps_allocated: bool) -> Result<(), Status>;

    /// Discards bytes. Whole pages read as zeros from then on.
    ///
    /// # Errors
    /// The status for the host.
    fn discard(&mut self, offset: u64, bytes: u64) -> Result<(), Status>;

    /// Makes everything durable.
    ///
    /// # Errors
    /// The status for the host.
    fn flush(&mut self) -> Result<(), Status>;

    /// Free bytes in the segment that a handle writes to; none if the next write opens a segment. Only called for disks
    /// with handles.
    ///
    /// # Errors
    /// The status for the host.
    fn handle_room(&mut self, handle: u16) -> Result<Option<u64>, Status>;

    /// Makes the next write of a handle go to an empty segment.
    ///
    /// # Errors
    /// The status for the host.
    fn renew_handle(&mut self, handle: u16) -> Result<(), Status>;

    /// Notes that a write to `handle` named another one, which there is none of.
    ///
    /// # Errors
    /// The status for the host.
    fn note_unknown_handle(&mut self, handle: u16, identifier: u16) -> Result<(), Status>;

    /// The kinds of deeds that are logged for a handle.
    ///
    /// # Errors
    /// The status for the host.
    fn watched(&mut self, handle: u16) -> Result<Watched, Status>;

    /// Logs these kinds of deeds for a handle from now on.
    ///
    /// # Errors
    /// The status for the host.
    fn watch_handle(&mut self, handle: u16, watched: Watched) -> Result<(), Status>;

    /// What was logged of the host or of the controller, the oldest first.
    ///
    /// # Errors
    /// The status for the host.
    fn handle_events(&mut self, of_host: bool) -> Result<Vec<HandleEvent>, Status>;

    /// How the disk is.
    ///
    /// # Errors
    /// The status for the host.
    fn health(&mut self) -> Result<Health, Status>;
}

/// The health of a disk, for log pages. Its counters of bytes are those of its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Health {
    /// Segments that may still fail before there are too few, in percent of the original number.
    pub available_spare_percent: u8,
    /// The mean of erases in percent of the rated ones, at most 255.
    pub percentage_used: u8,
    /// How often the disk was opened.
    pub opens: u32,
    /// Bytes that hosts read.
    pub read_bytes: u64,
    /// Bytes that hosts wrote.
    pub written_bytes: u64,
    /// Bytes that were programmed.
    pub programmed_bytes: u64,
    /// Bytes that were erased.
    pub erased_bytes: u64,
    /// Bytes of pages that hold something.
    pub live_bytes: u64,
    /// Pages that were lost, as far as known since the disk was opened.
    pub media_errors: u64,
    /// Whether the disk can no longer be written.
    pub is_read_only: bool,
}

impl Health {
    /// The bits of the critical warning (Base 2.1, figure 207).
    pub(super) fn critical_warning(&self, is_export_read_only: bool) -> u8 {
        let is_short = self.available_spare_percent < SPARE_THRESHOLD_PERCENT;
        u8::from(is_short) | u8::from(is_export_read_only || self.is_read_only) << 3
    }
}
