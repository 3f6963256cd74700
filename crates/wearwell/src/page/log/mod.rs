//! How records lie on flash: the seam below the page-mapped engine.
//!
//! The engine decides what is written where; a [`Log`] knows how a page, what it is, and what it replaces
//! are kept on one kind of chip, so that a mount finds them again.

mod nand;
mod nand_bytes;
mod nor;
mod nor_bytes;
mod payload;
mod plain;
mod tag;

pub use nand::{NandLayoutError, NandLog};
pub use nor::{NorLayoutError, NorLog};
pub use payload::{Counted, Payload, Stored};
pub use plain::PlainLog;
pub(crate) use tag::is_erased;

use alloc::vec::Vec;
use core::ops::RangeInclusive;

use wearwell_flash::{ErrorKind, ReadReport};

use crate::addr::{Class, Lpn, Ppn, Seg};

/// The shape of a log, in the engine's terms. A group of pages that share cells is smaller than a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogShape {
    /// Segments.
    pub segments: u32,
    /// Pages of a segment that hold data.
    pub slots: u32,
    /// Pages of a segment that the layout takes for itself.
    pub overhead_pages: u32,
    /// Pages that share cells, which a cut may hit together.
    pub group_pages: u32,
    /// Pages that a mount can save from a cut in one segment.
    pub rescue_pages: u32,
    /// Flash operations that appending a page takes at most, reads included.
    pub ops_per_page: u32,
    /// Banks that erase on their own, each with as many consecutive segments.
    pub banks: u32,
    /// Bytes of data in a page.
    pub page_bytes: u32,
    /// Logical pages that the layout can number.
    pub max_logical_pages: u32,
}

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Data of a logical page, or the engine's own page of a number behind the last logical page.
    Data,
    /// A logical page whose data was lost; reading it is an error until it is written again.
    Lost,
    /// Left at a clean shutdown, and erased before anything else is done: nothing was cut.
    CleanMark,
    /// First in a segment that a mount fills: the copies behind it, up to the slot that is its number, count only
    /// together.
    RescueMark,
}

/// What is recorded of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// The logical page.
    pub lpn: Lpn,
    /// The order of writes: of two copies, the one with the greater number is newer. A page that cleaning
    /// moves keeps its number.
    pub seq: u64,
    /// Class that the page was written as.
    pub class: Class,
    /// What the page holds.
    pub kind: Kind,
}

/// Where an appended page's content comes from.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// From the host (or the engine), tagged with this number; the bytes are empty where none are stored.
    Host(&'a [u8], u64),
    /// The page at this place, which keeps its number.
    Copy(Ppn),
}

/// How a layout remembers that pages were discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discards {
    /// Not at all.
    Forgotten,
    /// The engine writes discard maps as pages of its own.
    Logged,
    /// A flag of the page is cleared in place.
    Flagged,
}

/// How far an erase has come when the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EraseProgress {
    /// It is done.
    Done,
    /// The chip goes on with it; [`Log::poll_erase`] will say when it is done.
    InBackground,
}

/// What the header of a segment says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    /// Version of the layout that wrote it.
    version: u32,
    /// Logical pages that the chip was formatted for.
    logical_pages: u32,
    /// Times erased.
    erases: u32,
}

/// What a scan found in a segment.
#[derive(Debug, Clone, Default)]
pub struct SegmentScan {
    /// The segment is bad.
    pub bad: bool,
    /// The version of the layout that wrote it, where it is another one than this.
    pub other_version: Option<u32>,
    /// The logical pages that the chip was formatted for, where these are others than [`Log::set_capacity`] said.
    pub other_capacity: Option<u32>,
    /// Times erased, where a header says so.
    pub erases: Option<u32>,
    /// Erased, or never completely written: holds no data.
    pub empty: bool,
    /// Must be erased before it is used.
    pub needs_erase: bool,
    /// Was closed in good order: its summary was found.
    pub sealed: bool,
    /// Slot from which on nothing was ever touched, where the layout can tell and the segment may be continued.
    pub resume_at: Option<u32>,
    /// Age clock when it was opened, where that is recorded.
    pub opened: Option<u64>,
    /// Class it was opened for.
    pub class: Class,
    /// What each slot holds; none where nothing readable is recorded.
    pub tags: Vec<Option<Tag>>,
    /// The slots that were programmed, and of which nothing can be told any more.
    pub gone: Vec<u32>,
    /// Slots from here on, up to the last that was programmed, may have been hit by a power cut.
    pub suspect_from: u32,
}

impl SegmentScan {
    /// Notes in what the header differs from what this layout writes now.
    fn compare(&mut self, header: &Header, versions: RangeInclusive<u32>, logical_pages: u32) {
        if !versions.contains(&header.version) {
            self.other_version = Some(header.version);
        } else if header.logical_pages != logical_pages {
            self.other_capacity = Some(header.logical_pages);
        }
    }

    /// True if nothing here counts: a mount was cut while it copied suspect pages here, and what they were copied from
    /// is still there; or neither the header nor the first slot can be read, so that an erase was cut which may have
    /// taken the mark that would say so. (Or the very first group of pages was; nothing in it was promised.)
    pub(super) fn is_void(&self) -> bool {
        // Spec P3.
        match self.tags.first() {
            _ if self.sealed => false,
            Some(Some(mark)) => mark.kind == Kind::RescueMark && self.suspect_from < mark.lpn.0,
            Some(None) => self.erases.is_none(),
            None => false,
        }
    }
}

/// A layout of the log on a chip.
///
/// Slots of an open segment are appended in order; a call that returns `Ok` has made its record durable.
/// Errors are kinds of the chip's: `ProgramFailed` asks the engine to leave the segment and try elsewhere,
/// `Uncorrectable` from a copy says that the source is unreadable and nothing was programmed.
pub trait Log {
    /// False if bytes are only counted; see [`Payload`].
    const STORES: bool;
    /// How discards are remembered.
    const DISCARDS: Discards;

    /// The shape. Constant for the life of the log.
    fn shape(&self) -> LogShape;

    /// Says how many logical pages the device has, before anything else is done. Headers record it, since pages of the
    /// engine's own are numbered from there on.
    fn set_capacity(&mut self, logical_pages: u32);

    /// Forgets everything that is not on flash, as a power cut would. An erase in the background is waited for.
    fn forget(&mut self);

    /// Prepares an erased segment for records of a class. Returns the pages programmed.
    ///
    /// # Errors
    /// As the chip's.
    fn open(&mut self, seg: Seg, class: Class, age_clock: u64) -> Result<u32, ErrorKind>;

    /// Appends a page and returns once it is durable and `replaces` is superseded.
    ///
    /// # Errors
    /// As the chip's.
    fn append(
        &mut self,
        at: Ppn,
        lpn: Lpn,
        class: Class,
        kind: Kind,
        source: Source<'_>,
        replaces: Ppn,
    ) -> Result<(), ErrorKind>;

    /// Slots that must be skipped behind slot `next` of a segment, so that no later program endangers the
    /// pages before it.
    fn padding(&self, next: u32) -> u32;

    /// Programs an empty page.
    ///
    /// # Errors
    /// As the chip's.
    fn pad(&mut self, at: Ppn) -> Result<(), ErrorKind>;

    /// Ends a segment: nothing will be appended any more. Returns the pages programmed.
    ///
    /// # Errors
    /// As the chip's.
    fn seal(&mut self, seg: Seg, erases: u32, opened: u64, class: Class) -> Result<u32, ErrorKind>;

    /// Gives up a segment that will neither be filled nor ended.
    fn abandon(&mut self, seg: Seg);

    /// Erases a segment, which has then been erased `erases` times. Returns the pages programmed with it.
    ///
    /// # Errors
    /// As the chip's.
    fn erase(&mut self, seg: Seg, erases: u32) -> Result<(EraseProgress, u32), ErrorKind>;

    /// A segment whose erase in the background has ended since the last call, and how.
    fn poll_erase(&mut self) -> Option<(Seg, Result<(), ErrorKind>)>;

    /// Waits for the erase in the background, if there is one.
    fn wait_erase(&mut self) -> Option<(Seg, Result<(), ErrorKind>)>;

    /// True if the bank takes no programs now because it erases.
    fn is_erasing(&mut self, bank: u32) -> bool;

    /// Reads a page, which is one of `lpn`.
    ///
    /// # Errors
    /// As the chip's. `Uncorrectable` also where the layout can tell that the page is none of `lpn`'s any more: a summary
    /// may name pages of a segment that is erased in part.
    fn read(&mut self, at: Ppn, lpn: Lpn, data: &mut [u8]) -> Result<ReadReport, ErrorKind>;

    /// Reads a page into `data` and tells whether it can be read as one of `lpn`.
    ///
    /// # Errors
    /// As the chip's, but an unreadable page is an answer.
    fn holds(&mut self, at: Ppn, lpn: Lpn, data: &mut [u8]) -> Result<bool, ErrorKind> {
        match self.read(at, lpn, data) {
            Ok(_) => Ok(true),
            Err(ErrorKind::Uncorrectable) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// From now on pages are read before they are copied: some may be gone that a summary names. A copy of such a page is
    /// no program that can be taken back. Forgotten with all else.
    fn doubt_sources(&mut self) {}

    /// Clears a page's valid flag in place. Only called where discards are [`Discards::Flagged`].
    ///
    /// # Errors
    /// As the chip's. `ProgramFailed` asks the engine to retire what [`take_failed`](Self::take_failed) names, and
    /// to try again.
    fn invalidate(&mut self, at: Ppn) -> Result<(), ErrorKind> {
        let _ = at;
        Ok(())
    }

    /// A segment in which a flag could not be cleared, while what was asked for is done. It has to be emptied and
    /// retired, and no page may be discarded before: older copies in it may look valid.
    fn take_failed(&mut self) -> Option<Seg> {
        None
    }

    /// True if the segment was marked bad.
    ///
    /// # Errors
    /// As the chip's.
    fn is_bad(&mut self, seg: Seg) -> Result<bool, ErrorKind>;

    /// Marks a segment bad, durably where the chip has marks. NOR has none: no mount believes what is in the block, but
    /// erases it again, and retires it when that fails.
    ///
    /// # Errors
    /// As the chip's. `ProgramFailed` where a mount may still believe what is in the segment.
    fn retire(&mut self, seg: Seg) -> Result<(), ErrorKind>;

    /// Finds out what a segment holds. None if the layout records nothing.
    ///
    /// # Errors
    /// As the chip's, but unreadable pages are part of what is found.
    fn scan(&mut self, seg: Seg) -> Result<Option<SegmentScan>, ErrorKind>;

    /// True if all of a segment reads as erased.
    ///
    /// # Errors
    /// As the chip's, but an unreadable page is an answer.
    fn is_blank(&mut self, seg: Seg) -> Result<bool, ErrorKind>;

    /// Of a segment whose first `programmed` slots were programmed before a cut, the slot from which on the cut
    /// may have hit them.
    fn suspect_from(&self, programmed: u32) -> u32;

    /// True if an erase of a segment was begun and not completed, though pages of it may still be readable.
    ///
    /// # Errors
    /// As the chip's.
    fn is_half_erased(&mut self, seg: Seg) -> Result<bool, ErrorKind>;

    /// Which of two sequence numbers of the same page is newer.
    fn newer(a: u64, b: u64) -> core::cmp::Ordering {
        a.cmp(&b)
    }

    /// After a mount: `winner` says where each logical page lies now; flags of other copies that would call
    /// them valid are cleared.
    ///
    /// # Errors
    /// As the chip's.
    fn confirm(&mut self, winner: &dyn Fn(Lpn) -> Ppn) -> Result<(), ErrorKind> {
        let _ = winner;
        Ok(())
    }
}
