//! How records lie on flash: the seam below the page-mapped engine.
//!
//! The engine decides what is written where. A [`Log`] knows how one kind of chip keeps a page, its kind, and what it
//! replaces, so that a mount finds them again.

pub(super) mod checkpoint_bytes;
mod nand;
mod nand_bytes;
mod nand_checkpoint;
mod nand_erased;
mod nand_groups;
mod nand_layout;
mod nand_map;
mod nand_map_checkpoint;
mod nand_new;
mod nand_summary;
mod nand_tag_bytes;
mod nand_tag_pages;
#[cfg(test)]
mod nand_tag_tests;
mod nor;
mod nor_bytes;
mod payload;
mod tag;

pub use nand::NandLog;
pub use nand_groups::{NoTagPages, TagPlace};
pub use nand_layout::NandLayoutError;
pub(crate) use nand_layout::{Layout, MOST_BYTES_A_PART, MOST_BYTES_A_SEGMENT, MOST_HEAD_BYTES, shape_on};
pub use nand_map::MapLog;
pub(crate) use nand_map_checkpoint::KeptPage;
pub use nor::{NorLayoutError, NorLog};
pub use payload::{Counted, Payload, Stored};
pub(crate) use tag::{CRC32, CodeOfMany, TAG_BYTES, is_erased};

use alloc::vec::Vec;
use core::ops::RangeInclusive;

use wearwell_flash::{ErrorKind, ReadReport};

use crate::addr::{Class, Lpn, Ppn, Seg};
use crate::stats::KeptCosts;

/// The shape of a log, in the engine's terms. A group of pages must be smaller than a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogShape {
    /// Segments.
    pub segments: u32,
    /// Pages of a segment that hold data.
    pub slots: u32,
    /// Pages of a segment that the layout uses itself.
    pub overhead_pages: u32,
    /// Most slots that hold pages of the engine's: all, but where some are taken by tag pages.
    pub data_slots: u32,
    /// Slots that data may fill so that emptying a segment gains a slot, whatever groups have to be ended for it.
    pub filled_slots: u32,
    /// Most pages that a cut may hit together: those that share cells, or a tag page.
    pub group_pages: u32,
    /// Pages that a rescue can copy into one segment.
    pub rescue_pages: u32,
    /// Most flash operations of an append, reads included.
    pub ops_per_page: u32,
    /// Banks that erase independently, each with the same number of consecutive segments.
    pub banks: u32,
    /// Bytes of data in a page.
    pub page_bytes: u32,
    /// Logical pages that the layout can number.
    pub max_logical_pages: u32,
}

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Data of a logical page, or a page of the engine's own, which is numbered behind the last logical page.
    Data,
    /// A logical page whose data was lost. Reading it is an error until it is written again.
    Lost,
    /// The mark of a clean shutdown: nothing was cut. It is erased before anything else changes.
    CleanMark,
    /// The mark of a rescue, first in a segment that a mount fills. The copies behind it count only together, up to the
    /// slot that is its page number.
    RescueMark,
    /// A page of the checkpoint, which has that number.
    Checkpoint,
}

/// What is recorded of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// The logical page.
    pub lpn: Lpn,
    /// The sequence number: of two copies, the one with the greater number is newer. A page that cleaning moves keeps
    /// its number.
    pub seq: u64,
    /// Class that the page was written as.
    pub class: Class,
    /// What the page holds.
    pub kind: Kind,
}

impl Tag {
    /// True if the page is one of that logical page: its data, or the record that it was lost. The mark of a rescue has
    /// a count in place of the number.
    pub(crate) fn is_page_of(&self, lpn: Lpn) -> bool {
        // Spec P14.
        matches!(self.kind, Kind::Data | Kind::Lost) && self.lpn == lpn
    }
}

/// The source of an appended page.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// Bytes of the host or the engine, tagged with this number. They are empty if bytes are only counted.
    Host(&'a [u8], u64),
    /// A copy of the page at this place, which keeps its number.
    Copy(Ppn),
    /// The page at this place, which is the newest of its logical page, under a new number.
    Again(Ppn, u64),
}

/// How a layout records discards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discards {
    /// Not at all.
    Forgotten,
    /// The engine writes discard maps as pages of its own.
    Logged,
    /// A flag of the page is cleared in place.
    Flagged,
}

/// The progress of an erase when the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EraseProgress {
    /// The erase is done.
    Done,
    /// The chip continues it. [`Log::poll_erase`] reports its end.
    InBackground,
}

/// The header of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Version of the layout that wrote it.
    pub version: u32,
    /// Logical pages that the chip was formatted for.
    pub logical_pages: u32,
    /// Times erased.
    pub erases: u32,
}

impl SegmentHeader {
    /// The header in the first page of a segment on NAND, if there is one: for who wants to know what a chip holds
    /// before it is mounted.
    pub fn on_nand(page: &[u8]) -> Option<Self> {
        page.get(..nand_bytes::HEADER_BYTES).and_then(nand_bytes::decode_header)
    }
}

/// The result of the scan of a segment.
#[derive(Debug, Clone, Default)]
pub struct SegmentScan {
    /// The segment is bad.
    pub bad: bool,
    /// An engine whose map lies elsewhere wrote it.
    pub other_map: bool,
    /// The version of the layout that wrote it, if it is another version.
    pub other_version: Option<u32>,
    /// The logical pages that the chip was formatted for, if the number differs from that of [`Log::set_capacity`].
    pub other_capacity: Option<u32>,
    /// Times erased, if a header says it.
    pub erases: Option<u32>,
    /// True if it holds no data: it is erased, or was never completely written.
    pub empty: bool,
    /// True if it must be erased before it is used.
    pub needs_erase: bool,
    /// True if it was closed in good order: its summary was found.
    pub sealed: bool,
    /// The first slot that was never touched, or the one before it that was begun, if the layout can tell and the
    /// segment may be continued.
    pub resume_at: Option<u32>,
    /// Age clock when it was opened, if it is recorded.
    pub opened: Option<u64>,
    /// Class it was opened for.
    pub class: Class,
    /// The tag of each slot; none if nothing readable is recorded.
    pub tags: Vec<Option<Tag>>,
    /// The slots that were programmed and can no longer be read.
    pub gone: Vec<u32>,
    /// The first slot that a power cut may have hit. All programmed slots from here on are suspect.
    pub suspect_from: u32,
    /// Only slots that cannot be read show that the rescue which filled the segment had ended. Or the first slot cannot
    /// be read, so that there may have been one.
    pub doubts_end: bool,
    /// The slot behind the tag page of the last copy, if tag pages say that a rescue filled the segment; or 0.
    pub rescue_end: u32,
}

impl SegmentScan {
    /// Notes how the header differs from what this layout writes now.
    fn compare(&mut self, header: &SegmentHeader, versions: RangeInclusive<u32>, logical_pages: u32) {
        // In another version the capacity may lie elsewhere, so it is not compared.
        if !versions.contains(&header.version) {
            self.other_version = Some(header.version);
        } else if header.logical_pages != logical_pages {
            self.other_capacity = Some(header.logical_pages);
        }
    }

    /// True if the segment is void, or an erase may have left it of a rescue that never ended: no header says that none
    /// was cut.
    pub(crate) fn may_be_void(&self) -> bool {
        self.is_void() || self.doubts_end && self.erases.is_none()
    }

    /// True if nothing in the segment counts. Either a mount was cut while it copied suspect pages here, and the
    /// originals are still there. Or neither the header nor the first slot can be read: then an erase was cut that may
    /// have destroyed the mark of such a rescue. (Or the first group of pages was cut, in which nothing was promised.)
    pub(crate) fn is_void(&self) -> bool {
        // Spec P3.
        match self.tags.first() {
            // A summary comes behind everything that a rescue writes, so it has ended.
            _ if self.sealed => false,
            // Its end is in doubt: its copies may be the last of their pages.
            Some(Some(_)) if self.doubts_end => false,
            // Spec T6.
            _ if self.suspect_from < self.rescue_end => true,
            Some(Some(mark)) => mark.kind == Kind::RescueMark && self.suspect_from < mark.lpn.0,
            Some(None) => self.erases.is_none(),
            None => false,
        }
    }
}

/// A layout of the log on a chip.
///
/// Slots of an open segment are appended in order. A call that returns `Ok` has made its record durable. Errors are the
/// kinds of the chip's errors. `ProgramFailed` asks the engine to leave the segment and to try another one.
/// `Uncorrectable` from a copy says that the source is unreadable and nothing was programmed.
pub trait Log {
    /// False if bytes are only counted; see [`Payload`].
    const STORES: bool;
    /// How discards are remembered.
    const DISCARDS: Discards;

    /// The shape. Constant for the life of the log.
    fn shape(&self) -> LogShape;

    /// Sets the number of logical pages, before anything else is done. Headers record it, because pages of the engine's
    /// own are numbered from there on.
    fn set_capacity(&mut self, logical_pages: u32);

    /// Drops everything that is not on flash, like a power cut. Waits for an erase in the background.
    fn forget(&mut self);

    /// Prepares an erased segment for records of a class. Returns the pages programmed.
    ///
    /// # Errors
    /// As the chip's. `ProgramFailed` also if the segment was marked bad since it was erased.
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

    /// Slots to pad in an open segment from slot `next` on, so that a mount finds the pages before it and no later
    /// program endangers them. None if pages share no cells and have tags of their own.
    fn padding(&self, _seg: Seg, _next: u32) -> u32 {
        0
    }

    /// Programs a page that is none of the engine's. Only called where [`padding`](Self::padding) asks for it, or
    /// [`suspect_from`](Self::suspect_from), at the slot that [`stop_at`](Self::stop_at) names, or where a page
    /// [`collides`](Self::collides).
    ///
    /// # Errors
    /// As the chip's.
    fn pad(&mut self, _at: Ppn) -> Result<(), ErrorKind> {
        Ok(())
    }

    /// True if the tags of pages are kept in tag pages: then pages last only once a tag page is behind them.
    fn has_tag_pages(&self) -> bool {
        false
    }

    /// The first slot of an open segment, from slot `next` on, that takes no page of the engine's. If it is none behind
    /// the last, it is [padded](Self::pad) as soon as the slots before it are filled.
    fn stop_at(&self, _seg: Seg, _next: u32) -> u32 {
        self.shape().slots
    }

    /// The slot of page `page` of a segment that is filled without more padding than [`stop_at`](Self::stop_at) asks
    /// for.
    fn slot_of(&self, page: u32) -> u32 {
        page
    }

    /// True if a page has to go to another place: it would pass for one of the layout's own here, or another one was
    /// begun here.
    ///
    /// # Errors
    /// As the chip's.
    fn collides(&mut self, _at: Ppn, _source: Source<'_>) -> Result<bool, ErrorKind> {
        Ok(false)
    }

    /// A segment that was [abandoned](Self::abandon) with pages behind its last tag page, and the first of these. They
    /// do not last.
    fn unsettled(&self) -> Option<(Seg, u32)> {
        None
    }

    /// The pages of the segment that [`unsettled`](Self::unsettled) named are elsewhere now.
    fn settle(&mut self, _seg: Seg) {}

    /// Ends a segment: nothing will be appended any more. Returns the pages programmed: none if the layout has no
    /// summaries.
    ///
    /// # Errors
    /// As the chip's.
    fn seal(&mut self, _seg: Seg, _erases: u32, _opened: u64, _class: Class) -> Result<u32, ErrorKind> {
        Ok(0)
    }

    /// Gives up a segment that will neither be filled nor ended.
    fn abandon(&mut self, _seg: Seg) {}

    /// Erases a segment, which has then been erased `erases` times. Returns the pages programmed with it.
    ///
    /// # Errors
    /// As the chip's.
    fn erase(&mut self, seg: Seg, erases: u32) -> Result<(EraseProgress, u32), ErrorKind>;

    /// A segment whose erase in the background has ended since the last call, with its result.
    fn poll_erase(&mut self) -> Option<(Seg, Result<(), ErrorKind>)>;

    /// Waits for the erase in the background, if there is one.
    fn wait_erase(&mut self) -> Option<(Seg, Result<(), ErrorKind>)>;

    /// True if the bank takes no programs because it is erasing.
    fn is_erasing(&mut self, bank: u32) -> bool;

    /// Reads a page of `lpn`.
    ///
    /// # Errors
    /// As the chip's. It is also `Uncorrectable` if the layout can tell that the page is no longer one of `lpn`: a
    /// summary may name pages of a segment that is erased in part.
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

    /// From now on, pages are read before they are copied, because some pages that a summary names may be gone. A copy
    /// of such a page could not be undone. [`forget`](Self::forget) ends this.
    fn doubt_sources(&mut self) {}

    /// True from [`doubt_sources`](Self::doubt_sources) on.
    fn doubts_sources(&self) -> bool {
        false
    }

    /// Segments behind the others that are kept for a checkpoint.
    fn kept_segments(&self) -> impl Iterator<Item = Seg> + use<Self> {
        (0..0).map(Seg)
    }

    /// Pages that a checkpoint may take; 0 if the layout keeps none. They are not slots.
    fn checkpoint_pages(&self) -> u32 {
        0
    }

    /// Erases what the first `pages` pages of a checkpoint lie in. False if it is bad or was erased `most_erases` times
    /// or more. What was erased a number of times that cannot be read counts as erased `mean_erases` times.
    ///
    /// # Errors
    /// As the chip's.
    fn clear_checkpoint(&mut self, pages: u32, most_erases: u32, mean_erases: u32) -> Result<bool, ErrorKind> {
        let _ = (pages, most_erases, mean_erases);
        Ok(false)
    }

    /// Programs page `page` of the checkpoint of the mark with the number `seq`. Pages are programmed in order.
    ///
    /// # Errors
    /// As the chip's.
    fn program_checkpoint(&mut self, page: u32, data: &[u8], seq: u64) -> Result<(), ErrorKind> {
        let _ = (page, data, seq);
        Ok(())
    }

    /// What checkpoints have cost since the last call.
    fn take_kept_costs(&mut self) -> KeptCosts {
        KeptCosts::default()
    }

    /// Reads page `page` of the checkpoint into `data`. Returns the number of its mark; none if it cannot be read.
    ///
    /// # Errors
    /// As the chip's, but an unreadable page is an answer.
    fn read_checkpoint(&mut self, page: u32, data: &mut [u8]) -> Result<Option<u64>, ErrorKind> {
        let _ = (page, data);
        Ok(None)
    }

    /// Reads the mark with which a segment begins into `data`. Returns its number; none if it is none of that kind.
    ///
    /// # Errors
    /// As the chip's, but an unreadable page is an answer.
    fn read_mark(&mut self, seg: Seg, kind: Kind, data: &mut [u8]) -> Result<Option<u64>, ErrorKind> {
        let _ = (seg, kind, data);
        Ok(None)
    }

    /// Flags a page invalid in place. Only called if discards are [`Discards::Flagged`].
    ///
    /// # Errors
    /// As the chip's. `ProgramFailed` asks the engine to retire what [`take_failed`](Self::take_failed) names, and
    /// to try again.
    fn invalidate(&mut self, at: Ppn) -> Result<(), ErrorKind> {
        let _ = at;
        Ok(())
    }

    /// A segment in which a flag could not be cleared, though the call succeeded. It has to be emptied and retired
    /// before any page is discarded, because older copies in it may look valid.
    fn take_failed(&mut self) -> Option<Seg> {
        None
    }

    /// True if the segment was marked bad.
    ///
    /// # Errors
    /// As the chip's.
    fn is_bad(&mut self, seg: Seg) -> Result<bool, ErrorKind>;

    /// Marks a segment bad, durably if the chip has marks. NOR has none: a mount does not believe such a block, erases
    /// it again, and retires it if that fails.
    ///
    /// # Errors
    /// As the chip's. `ProgramFailed` if a mount may still believe the content of the segment.
    fn retire(&mut self, seg: Seg) -> Result<(), ErrorKind>;

    /// Scans a segment. None if the layout keeps no records.
    ///
    /// # Errors
    /// As the chip's, but unreadable pages are part of the result.
    fn scan(&mut self, seg: Seg) -> Result<Option<SegmentScan>, ErrorKind>;

    /// True if the whole segment reads as erased.
    ///
    /// # Errors
    /// As the chip's, but an unreadable page is an answer.
    fn is_blank(&mut self, seg: Seg) -> Result<bool, ErrorKind>;

    /// True if anything at all in a segment was written by this layout, in whatever state an erase has left the rest.
    /// False where a header is all that tells.
    ///
    /// # Errors
    /// As the chip's, but an unreadable page holds nothing.
    fn has_traces(&mut self, _seg: Seg) -> Result<bool, ErrorKind> {
        Ok(false)
    }

    /// The first suspect slot of an open segment whose first `programmed` slots are programmed, if there were a cut
    /// now. The next one, if pages share no cells.
    fn suspect_from(&self, _seg: Seg, programmed: u32) -> u32 {
        programmed
    }

    /// True if the erase of a segment was begun and not completed. Pages of it may still be readable.
    ///
    /// # Errors
    /// As the chip's.
    fn is_half_erased(&mut self, seg: Seg) -> Result<bool, ErrorKind>;

    /// True if the erase of a segment was certainly begun: it reads as no page that decays leaves it.
    ///
    /// # Errors
    /// As the chip's.
    fn shows_erase(&mut self, _seg: Seg) -> Result<bool, ErrorKind> {
        Ok(false)
    }

    /// Compares two sequence numbers of the same page; the greater one is newer.
    fn newer(a: u64, b: u64) -> core::cmp::Ordering {
        a.cmp(&b)
    }

    /// Called after a mount. `winner` gives the place of each logical page. Other copies are flagged invalid.
    ///
    /// # Errors
    /// As the chip's.
    fn confirm(&mut self, winner: &dyn Fn(Lpn) -> Ppn) -> Result<(), ErrorKind> {
        let _ = winner;
        Ok(())
    }
}
