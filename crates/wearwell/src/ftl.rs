//! The contracts of the engines: what each is to a host, what each says of itself, and where those with a map in memory
//! say that a page lies.

use alloc::vec::Vec;

use wearwell_flash::ErrorKind;

use crate::addr::{Lpn, Ppn, Sectors};
use crate::stats::Stats;

/// The host's hint about a write. More fields may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WriteHint {
    /// The ID of the stream the data belongs to (Lim '14; NVMe's placement identifier); 0 is none.
    pub stream: u16,
    /// The host promises not to change this data again (Chiang '97, section 3.5).
    pub read_only: bool,
}

impl WriteHint {
    /// No stream, not read-only.
    pub const NONE: Self = Self { stream: 0, read_only: false };

    /// A hint that names a stream.
    pub const fn stream(stream: u16) -> Self {
        Self { stream, read_only: false }
    }

    /// A hint that the data will not change.
    pub const fn read_only() -> Self {
        Self { stream: 0, read_only: true }
    }
}

/// Why an engine refused or failed a command. After any of these, readable data stays readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FtlError {
    /// The sectors lie outside the device.
    #[error("sectors {start} + {count} lie beyond the device's {capacity}")]
    OutOfRange {
        /// First sector asked for.
        start: u64,
        /// How many.
        count: u64,
        /// Sectors the device has.
        capacity: u64,
    },
    /// The buffer does not have 512 bytes for each sector.
    #[error("a buffer of {got} bytes for {expected}")]
    BufferLength {
        /// Bytes the sectors need.
        expected: u64,
        /// Bytes the buffer has.
        got: u64,
    },
    /// The page's data is gone: the chip can no longer correct it.
    #[error("logical page {} is unreadable", .lpn.0)]
    Unreadable {
        /// The page.
        lpn: Lpn,
    },
    /// Too many blocks have gone bad for the data and the reserve. The device is read-only now.
    #[error("worn out: {good_segments} good segments are left, {needed_segments} are needed; the device is read-only")]
    WornOut {
        /// Segments still usable.
        good_segments: u32,
        /// Segments that the capacity and the reserve need.
        needed_segments: u32,
    },
    /// The chip failed in a way that the engine cannot repair.
    #[error("the chip failed: {0:?}")]
    Chip(ErrorKind),
}

/// The host's interface to a disk on flash. Usable as `dyn BlockDevice`.
///
/// # Promises
///
/// 1. After [`flush`](Self::flush) returns, everything written before survives any power cut, and so do discards.
/// 2. A page written and not flushed reads back, after a cut, with its old or its new content.
/// 3. Mounting works after a cut at any operation, also one during an earlier mount.
/// 4. A page that may be partly programmed is never programmed.
/// 5. Data is erased only when its newer copy is durable.
/// 6. Flash operations per host page are bounded; the bound is in [`Limits`].
/// 7. Out of space, worn out, or a failing chip: each is a distinct error, and readable data stays readable.
pub trait BlockDevice {
    /// Sectors the host can address.
    fn sectors(&self) -> u64;

    /// Bytes in a page, the unit of mapping. Writes of whole pages are cheapest.
    fn page_bytes(&self) -> u32;

    /// Reads sectors. Sectors that were never written, or were discarded, read as zeros.
    ///
    /// `data` has 512 bytes for each sector, or is empty in an engine that only counts.
    ///
    /// # Errors
    /// [`FtlError::Unreadable`] if the chip lost a page.
    fn read(&mut self, at: Sectors, data: &mut [u8]) -> Result<(), FtlError>;

    /// Reads a whole page: [`read`](Self::read) of its sectors. `lpn` must be below the device's capacity in pages.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn read_page(&mut self, lpn: Lpn, data: &mut [u8]) -> Result<(), FtlError> {
        self.read(lpn.sectors(self.page_bytes()), data)
    }

    /// Writes sectors. `data` as for [`read`](Self::read).
    ///
    /// # Errors
    /// [`FtlError::WornOut`] once blocks have failed beyond the reserve. [`FtlError::Unreadable`] for a part of a page
    /// whose rest is known to be lost. If the loss is found later, the next [`flush`](Self::flush) fails.
    fn write(&mut self, at: Sectors, data: &[u8], hint: WriteHint) -> Result<(), FtlError>;

    /// Writes a whole page: [`write`](Self::write) of its sectors, but faster. `lpn` must be below the device's
    /// capacity in pages.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    fn write_page(&mut self, lpn: Lpn, data: &[u8], hint: WriteHint) -> Result<(), FtlError> {
        self.write(lpn.sectors(self.page_bytes()), data, hint)
    }

    /// Discards the content of these sectors. Whole pages then read as zeros. Pages that are covered in part keep their
    /// content.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    fn discard(&mut self, at: Sectors) -> Result<(), FtlError>;

    /// Makes everything written or discarded so far durable.
    ///
    /// # Errors
    /// As [`write`](Self::write). [`FtlError::Unreadable`] if a part of a page was written whose rest turned out to be
    /// lost. It is reported once, after everything else is durable.
    fn flush(&mut self) -> Result<(), FtlError>;

    /// Cleans in the background, moving at most `budget_pages` pages. Returns true if there is more to do.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    fn clean(&mut self, budget_pages: u32) -> Result<bool, FtlError>;

    /// Sets the engine's time, in microseconds since any fixed moment. It must not go back.
    fn set_time_us(&mut self, now_us: u64);

    /// Flushes and leaves a mark, so that the next mount knows that nothing was cut.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    fn shutdown(&mut self) -> Result<(), FtlError>;
}

/// What every engine says of itself: counters, wear, sizes. Usable as `dyn Inspect`.
pub trait Inspect {
    /// The counters.
    fn stats(&self) -> &Stats;

    /// Starts the counters again at zero.
    fn reset_stats(&mut self);

    /// The erase counts of the good segments.
    fn erase_counts(&self) -> Vec<u32>;

    /// The engine's shape and limits.
    fn limits(&self) -> Limits;
}

/// What an engine with its map in memory says of a page. With its map on flash it would have to read there, and that
/// may fail. Usable as `dyn Lookup`.
pub trait Lookup: Inspect {
    /// Where a logical page lies now.
    fn lookup(&self, lpn: Lpn) -> Ppn;

    /// True if a logical page has content, on flash or in the write buffer. Other pages read as zeros.
    fn holds(&self, lpn: Lpn) -> bool {
        self.lookup(lpn).is_some()
    }
}

/// Fixed numbers of an engine, for reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Pages the host can address.
    pub logical_pages: u64,
    /// Pages of flash that can hold data, bad segments included.
    pub physical_pages: u64,
    /// Data pages in a segment.
    pub pages_per_segment: u32,
    /// Segments.
    pub segments: u32,
    /// Good segments without which the data and the reserve do not fit: with fewer the device may refuse writes.
    pub needed_segments: u32,
    /// Logical pages mapped now. With the map on flash: pages of flash not known to be superseded, those of the map
    /// included.
    pub live_pages: u64,
    /// Pages of flash that the host has discarded and that are not erased yet. Counted are pages discarded since the
    /// device was formatted or mounted, and those that a mount found in a discard map. Update in place does not count
    /// them.
    pub dead_pages: u64,
    /// Erased segments that are not open.
    pub free_segments: u32,
    /// The bound on flash operations for a host page (promise 6).
    pub max_ops_per_host_page: u64,
    /// Bytes of the map, the segment table and the policies. Buffers are not counted.
    pub table_bytes: u64,
}

/// Receives the events of an engine. The unit probe compiles to nothing.
pub trait Probe {
    /// A segment was erased, for the `erases`-th time.
    fn erased(&mut self, segment: u32, erases: u32) {
        let _ = (segment, erases);
    }
    /// Cleaning chose a victim with this many valid pages.
    fn victim(&mut self, segment: u32, valid_pages: u32) {
        let _ = (segment, valid_pages);
    }
    /// True if [`moved`](Self::moved) is to be called, for which the engine looks at each page that it copies.
    fn wants_moves(&self) -> bool {
        false
    }
    /// Pages of the host's were moved out of a segment of a class. `page` is one of them.
    fn moved(&mut self, segment: u32, class: u8, pages: u32, page: u32) {
        let _ = (segment, class, pages, page);
    }
    /// A class left its open segment although the host neither filled it nor asked for another one: copies or padding
    /// took the last slots, a program failed, or the segment was closed or put aside.
    fn turned(&mut self, class: u8) {
        let _ = class;
    }
    /// A log block moved to a fresh one with `copied_pages` copies. It was the `migrations`-th migration since the last
    /// merge of its logical block (Lee '07, figure 4).
    fn migrated(&mut self, logical_block: u32, copied_pages: u32, migrations: u32) {
        let _ = (logical_block, copied_pages, migrations);
    }
}

impl Probe for () {}
