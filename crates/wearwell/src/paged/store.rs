//! Where pages are appended, and how segments are opened, closed and erased.

use wearwell_flash::{ErrorKind, Nand};

use super::config::Plan;
use super::table::{Table, Use};
use crate::addr::{Class, Lpn, Ppn, Seg, Slots};
use crate::ftl::FtlError;
use crate::page::log::{Kind, Log, LogShape, NandLog, Source, Tag};
use crate::stats::Stats;

/// What a segment is opened for. Each stream has at most one open segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    /// Pages that the host writes.
    Host,
    /// Pages that cleaning moves.
    Copy,
    /// Translation pages.
    Map,
}

impl Stream {
    const ALL: [Self; 3] = [Self::Host, Self::Copy, Self::Map];

    /// The class of its segments on flash.
    pub(super) const fn class(self) -> Class {
        Class(self as u8)
    }
}

/// The open segment of a stream.
#[derive(Debug, Clone, Copy)]
struct Open {
    seg: Seg,
    next: u32,
    /// The number of the first page.
    opened: u64,
}

/// Open segments, the table of all, and the log below.
///
/// Invariants: every page that is programmed gets a number of its own, greater than all before it, copies included. A
/// segment is erased only if it holds nothing that counts, and everything that superseded its pages is on flash.
#[derive(Debug)]
pub(super) struct Store<N: Nand> {
    pub(super) log: NandLog<N>,
    pub(super) shape: LogShape,
    pub(super) slots: Slots,
    pub(super) plan: Plan,
    pub(super) table: Table,
    pub(super) stats: Stats,
    pub(super) next_seq: u64,
    open: [Option<Open>; Stream::ALL.len()],
    /// Free segments.
    free: u32,
    /// Segments with translation pages.
    map_segments: u32,
}

impl<N: Nand> Store<N> {
    pub(super) fn new(log: NandLog<N>, plan: Plan) -> Self {
        let shape = log.shape();
        Self {
            log,
            shape,
            slots: Slots::new(shape.slots),
            plan,
            table: Table::new(shape.segments),
            stats: Stats::default(),
            next_seq: 1,
            open: [None; Stream::ALL.len()],
            free: shape.segments,
            map_segments: 0,
        }
    }

    pub(super) fn map_segments(&self) -> u32 {
        self.map_segments
    }

    /// Free segments without those that translation pages may still take.
    pub(super) fn free_for_data(&self) -> u32 {
        self.free.saturating_sub(self.plan.map_segments.saturating_sub(self.map_segments))
    }

    pub(super) fn segment_of(&self, at: Ppn) -> Seg {
        self.slots.segment_of(at)
    }

    /// True if a place on flash may name this page: it is one of a segment in use.
    pub(super) fn is_in_use(&self, at: Ppn) -> bool {
        let seg = self.segment_of(at);
        at.is_some() && seg.0 < self.shape.segments && self.table.is_in_use(seg)
    }

    pub(super) fn worn_out(&self) -> FtlError {
        let good_segments = self.table.count(|seg| !matches!(self.table.used_for(seg), Use::Bad | Use::Failing));
        FtlError::WornOut { good_segments, needed_segments: self.plan.needed_segments }
    }

    /// Changes what a segment is used for, and the counts of segments with it.
    pub(super) fn set_use(&mut self, seg: Seg, to: Use) {
        self.recount(seg, |table| table.set_use(seg, to));
    }

    /// Notes whether a segment holds translation pages.
    pub(super) fn set_of_map(&mut self, seg: Seg, is_of_map: bool) {
        self.recount(seg, |table| table.set_of_map(seg, is_of_map));
    }

    fn recount(&mut self, seg: Seg, change: impl FnOnce(&mut Table)) {
        let counts = |table: &Table| {
            let is_of_map = table.is_in_use(seg) && table.is_of_map(seg);
            (u32::from(table.is_free(seg)), u32::from(is_of_map))
        };
        let before = counts(&self.table);
        change(&mut self.table);
        let after = counts(&self.table);
        self.free = self.free + after.0 - before.0;
        self.map_segments = self.map_segments + after.1 - before.1;
    }

    /// A place was taken by a page that counts.
    pub(super) fn gain(&mut self, at: Ppn) {
        self.table.gain(self.segment_of(at));
    }

    /// The page at a place no longer counts.
    pub(super) fn lose(&mut self, at: Ppn) {
        let seg = self.segment_of(at);
        if at.is_some() && seg.0 < self.shape.segments {
            self.table.lose(seg);
        }
    }
}

/// Appending.
impl<N: Nand> Store<N> {
    pub(super) fn has_room(&self, stream: Stream) -> bool {
        self.open[stream as usize].is_some()
    }

    /// Opens a segment for a stream that has none: the least worn of the free ones, or the most worn, for data that rests.
    /// False if none is free.
    pub(super) fn open(&mut self, stream: Stream, for_rest: bool) -> Result<bool, FtlError> {
        assert!(!self.has_room(stream), "a stream fills one segment at a time");
        loop {
            let table = &self.table;
            let free = table.all().filter(|&seg| table.is_free(seg));
            let by_wear = |seg: &Seg| if for_rest { u32::MAX - table.erases(*seg) } else { table.erases(*seg) };
            let Some(seg) = free.min_by_key(by_wear) else { return Ok(false) };
            // A cut may have left the segment erased in part.
            if self.table.used_for(seg) == Use::Suspect && !self.erase(seg)? {
                continue;
            }
            self.set_of_map(seg, stream == Stream::Map);
            self.set_use(seg, Use::Open);
            self.open[stream as usize] = Some(Open { seg, next: 0, opened: self.next_seq });
            return Ok(true);
        }
    }

    /// Appends a page to the open segment of a stream, which has room. After `ProgramFailed` the segment has been given
    /// up, and another one may be tried.
    pub(super) fn append(&mut self, stream: Stream, lpn: Lpn, data: &[u8]) -> Result<Ppn, ErrorKind> {
        let seq = self.next_seq;
        // A number is used up even if it is not certain that it was written.
        self.next_seq += 1;
        let source = Source::Host(data, seq);
        self.fill_slot(stream, |log, at| log.append(at, lpn, stream.class(), Kind::Data, source, Ppn::NONE))
    }

    /// As [`append`](Self::append), of the page that lies at `from`. `Uncorrectable` if that cannot be read.
    pub(super) fn append_copy(&mut self, stream: Stream, lpn: Lpn, from: Ppn) -> Result<Ppn, ErrorKind> {
        let tag = Tag { lpn, seq: self.next_seq, class: stream.class(), kind: Kind::Data };
        self.next_seq += 1;
        self.fill_slot(stream, |log, at| log.append_again(from, at, tag))
    }

    /// Pads all open segments, so that no mount suspects the last page in them.
    pub(super) fn pad_all(&mut self) -> Result<(), FtlError> {
        for stream in Stream::ALL {
            if !self.has_room(stream) {
                continue;
            }
            match self.fill_slot(stream, |log, at| log.pad(at)) {
                Ok(_) => self.stats.meta_programs += 1,
                Err(ErrorKind::ProgramFailed) => {}
                Err(error) => return Err(FtlError::Chip(error)),
            }
        }
        Ok(())
    }

    /// Programs the next slot of the open segment of a stream, and ends the segment if it is full.
    fn fill_slot(
        &mut self,
        stream: Stream,
        program: impl FnOnce(&mut NandLog<N>, Ppn) -> Result<(), ErrorKind>,
    ) -> Result<Ppn, ErrorKind> {
        let Some(Open { seg, next, .. }) = self.open[stream as usize] else {
            unreachable!("whoever appends has made room");
        };
        let at = self.slots.page(seg, next);
        if let Err(error) = program(&mut self.log, at) {
            if error == ErrorKind::Uncorrectable {
                // Nothing was programmed.
                return Err(error);
            }
            let is_failed = error == ErrorKind::ProgramFailed;
            self.close(stream, if is_failed { Use::Failing } else { Use::Closed });
            return Err(error);
        }
        if let Some(open) = &mut self.open[stream as usize] {
            open.next = next + 1;
        }
        if next + 1 == self.shape.slots {
            self.seal(stream)?;
        }
        Ok(at)
    }

    /// Ends the open segment of a stream with a summary, if there is one with a page.
    fn seal(&mut self, stream: Stream) -> Result<(), ErrorKind> {
        let Some(Open { seg, next, opened }) = self.open[stream as usize] else { return Ok(()) };
        if next == 0 {
            return Ok(());
        }
        match self.log.seal(seg, self.table.erases(seg), opened, stream.class()) {
            Ok(pages) => {
                self.stats.meta_programs += u64::from(pages);
                self.close(stream, Use::Closed);
            }
            Err(ErrorKind::ProgramFailed) => self.close(stream, Use::Failing),
            // The summary may be missing, but the pages are there.
            Err(ErrorKind::Other) => self.close(stream, Use::Closed),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Ends all open segments.
    pub(super) fn seal_all(&mut self) -> Result<(), FtlError> {
        Stream::ALL.into_iter().try_for_each(|stream| self.seal(stream)).map_err(FtlError::Chip)
    }

    fn close(&mut self, stream: Stream, to: Use) {
        if let Some(open) = self.open[stream as usize].take() {
            self.log.abandon(open.seg);
            self.set_use(open.seg, to);
        }
    }
}

/// Erasing.
impl<N: Nand> Store<N> {
    /// Erases a segment of which nothing counts, and makes it free. One that failed is retired. False if it is free no
    /// more.
    pub(super) fn erase(&mut self, seg: Seg) -> Result<bool, FtlError> {
        assert!(self.table.valid(seg) == 0, "only what holds nothing is erased");
        if self.table.used_for(seg) == Use::Failing {
            self.retire(seg)?;
            return Ok(false);
        }
        let erases = self.table.erases(seg) + 1;
        match self.log.erase(seg, erases) {
            Ok((_, programmed)) => {
                self.stats.meta_programs += u64::from(programmed);
                self.stats.erases += 1;
                self.table.set_erases(seg, erases);
                self.set_use(seg, Use::Free);
                Ok(true)
            }
            Err(ErrorKind::EraseFailed | ErrorKind::ProgramFailed) => {
                self.retire(seg)?;
                Ok(false)
            }
            Err(error) => {
                self.set_use(seg, Use::Suspect);
                Err(FtlError::Chip(error))
            }
        }
    }

    pub(super) fn retire(&mut self, seg: Seg) -> Result<(), FtlError> {
        self.set_use(seg, Use::Bad);
        self.stats.retired_segments += 1;
        self.log.retire(seg).map_err(FtlError::Chip)
    }
}
