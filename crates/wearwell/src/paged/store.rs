//! Where pages are appended, and how segments are opened, closed and erased.

use wearwell_flash::{ErrorKind, Nand};

use super::config::Plan;
use super::halt::{Halt, NO_PAGE};
use super::place::MOST_HOST_STREAMS;
use super::table::{Table, Use};
use crate::addr::{Class, Lpn, Ppn, Seg, Slots};
use crate::ftl::FtlError;
use crate::page::MountError;
use crate::page::log::{Kind, Log, MapLog, Tag};
use crate::stats::Stats;

/// What a segment is opened for. Each stream has at most one open segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    /// Pages that the host writes, and what a mount copies.
    Host,
    /// Pages that cleaning moves.
    Copy,
    /// Translation pages.
    Map,
    /// Pages that the host writes and that a placement keeps apart.
    SecondHost,
    ThirdHost,
}

impl Stream {
    const ALL: [Self; 5] = [Self::Host, Self::Copy, Self::Map, Self::SecondHost, Self::ThirdHost];

    /// Those of the host's.
    pub(super) const HOST: [Self; MOST_HOST_STREAMS as usize] = [Self::Host, Self::SecondHost, Self::ThirdHost];

    /// The class of its pages on flash.
    pub(super) const fn class(self) -> Class {
        Class(self as u8)
    }

    /// True if the pages of that class are translation pages.
    pub(super) fn is_of_map(class: Class) -> bool {
        class == Self::Map.class()
    }
}

/// Programs and erases that may fail one after the other, if there are enough segments.
const MOST_FAILURES: u32 = 4;

/// The open segment of a stream.
#[derive(Debug, Clone, Copy)]
struct Open {
    seg: Seg,
    next: u32,
    /// The number of the first page.
    opened: u64,
}

/// What is known of the checkpoint on flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checkpoint {
    /// No mount will believe any.
    None,
    /// The one with that number is true.
    True(u64),
    /// A later mount might read one that cannot be read now.
    Doubtful,
}

/// Open segments, the table of all, and the log below.
///
/// Invariants: every page that is programmed gets a number of its own, greater than all before it, copies included. A
/// segment is free only if it holds nothing that counts, and everything that superseded its pages is on flash and
/// [secure](Self::insecure).
#[derive(Debug)]
pub(super) struct Store<N: Nand> {
    pub(super) log: MapLog<N>,
    pub(super) slots: Slots,
    pub(super) plan: Plan,
    pub(super) table: Table,
    pub(super) stats: Stats,
    pub(super) next_seq: u64,
    open: [Option<Open>; Stream::ALL.len()],
    /// The stream whose open segment counts as a whole or not at all, and the slot behind its last page.
    whole: Option<(Stream, u32)>,
    /// The page with the greatest number, until something is programmed behind it in its segment.
    last: Option<(Stream, Lpn)>,
    /// The page with the greatest number is one whose program failed.
    has_failed: bool,
    /// Nothing is written any more.
    pub(super) read_only: bool,
    pub(super) checkpoint: Checkpoint,
    /// Why a mount has [refused](Halt::Refused) the chip.
    refused: Option<MountError>,
    /// Only empty segments are opened: what stale ones hold may count after all.
    pub(super) keeps_stale: bool,
    /// A mount has copied or read what will not count, and begins again.
    pub(super) begins_again: bool,
    /// Free segments.
    free: u32,
    /// Those that are empty.
    empty: u32,
    /// Segments with translation pages.
    map_segments: u32,
    /// Segments that are not bad, and in which no program has failed.
    good: u32,
}

impl<N: Nand> Store<N> {
    // Not inline, for less code.
    #[inline(never)]
    pub(super) fn new(log: MapLog<N>, plan: Plan) -> Self {
        let shape = log.shape();
        Self {
            log,
            slots: Slots::new(shape.slots),
            plan,
            table: Table::new(shape.segments),
            stats: Stats::default(),
            next_seq: 1,
            open: [None; Stream::ALL.len()],
            whole: None,
            last: None,
            has_failed: false,
            read_only: false,
            checkpoint: Checkpoint::None,
            refused: None,
            keeps_stale: false,
            begins_again: false,
            free: shape.segments,
            empty: shape.segments,
            map_segments: 0,
            good: shape.segments,
        }
    }

    /// Free segments that are held back: one for what a mount copies, and one for each program or erase that may fail
    /// before there is time to free others. Beyond the first, failures are only provided for with segments that data
    /// does not need.
    // Not inline, as some others here: a firmware would have it in a dozen places.
    #[inline(never)]
    pub(super) fn held(&self) -> u32 {
        1 + self.good.saturating_sub(self.plan.needed_segments).clamp(1, MOST_FAILURES)
    }

    /// True if as many segments are free, or if no more can be had.
    pub(super) fn has_held(&self) -> bool {
        self.free_for_data() >= self.held() || self.good < self.plan.needed_segments
    }

    /// True if there is a segment that is not bad, and in which no program has failed.
    pub(super) fn has_good(&self) -> bool {
        self.good > 0
    }

    pub(super) fn map_segments(&self) -> u32 {
        self.map_segments
    }

    /// Free segments without those that translation pages may still take.
    #[inline(never)]
    pub(super) fn free_for_data(&self) -> u32 {
        self.free.saturating_sub(self.plan.map_segments.saturating_sub(self.map_segments))
    }

    #[inline(never)]
    pub(super) fn segment_of(&self, at: Ppn) -> Seg {
        self.slots.segment_of(at)
    }

    /// True if a place is one of that segment. No segment has the places that are none.
    pub(super) fn is_in(&self, at: Ppn, seg: Seg) -> bool {
        self.segment_of(at) == seg
    }

    /// True if a place on flash may name this page: it is one of a segment in use.
    pub(super) fn is_in_use(&self, at: Ppn) -> bool {
        // What is damaged on flash may name a place behind the last one.
        let seg = self.segment_of(at);
        at.is_some() && seg.0 < self.table.segments() && self.table.is_in_use(seg)
    }

    /// A translation page names a place in a segment that seems to be empty, or that is bad. Nothing is erased or
    /// retired while one does. So if the page is there, what a mount looks for first has decayed, or what had taken the
    /// page's place, and the segment is in use: true.
    #[cold]
    pub(super) fn revive(&mut self, at: Ppn, lpn: Lpn) -> Result<bool, ErrorKind> {
        // Spec M15.
        let seg = self.segment_of(at);
        if seg.0 >= self.table.segments() {
            return Ok(false);
        }
        let to = match self.table.used_for(seg) {
            Use::Free | Use::Suspect => Use::Closed,
            // The cleaner empties it, and it is retired once more.
            Use::Bad => Use::Failing,
            _ => return Ok(false),
        };
        let holds = self.log.tag_at(at, false)?.is_some_and(|tag| tag.is_page_of(lpn));
        if holds {
            self.set_use(seg, to);
        }
        Ok(holds)
    }

    /// A page counts again that lies in a segment in which nothing may have counted any more.
    pub(super) fn take_back(&mut self, at: Ppn) {
        let seg = self.segment_of(at);
        if self.table.used_for(seg) == Use::Stale {
            self.set_use(seg, Use::Closed);
        }
    }

    /// The error if there is no segment for a page. What is left of a page whose program failed may fade, and a mount
    /// suspects the last page only. So nothing is written behind it.
    pub(super) fn worn_out(&mut self) -> Halt {
        self.read_only |= self.has_failed;
        Halt::WornOut
    }

    /// What the host is told of a command on page `lpn` that has not gone on.
    #[inline(never)]
    pub(super) fn told(&self, halt: Halt, lpn: Lpn) -> FtlError {
        match halt {
            Halt::WornOut => FtlError::WornOut { good_segments: self.good, needed_segments: self.plan.needed_segments },
            Halt::Unreadable => FtlError::Unreadable { lpn },
            Halt::Refused => unreachable!("only a mount ends with this"),
            Halt::Chip(kind) => FtlError::Chip(kind),
        }
    }

    /// The error of a mount or a format that has not gone on.
    #[inline(never)]
    pub(super) fn not_opened(&self, halt: Halt) -> MountError {
        match (halt, self.refused) {
            (Halt::Refused, Some(error)) => error,
            (Halt::Chip(kind), _) => MountError::Chip(kind),
            (halt, _) => self.told(halt, NO_PAGE).into(),
        }
    }

    /// Ends a mount with an error that is more than a byte.
    #[cold]
    pub(super) fn refuse(&mut self, error: MountError) -> Halt {
        self.refused = Some(error);
        Halt::Refused
    }

    /// Something has faded since the mount found it. The next try does without it.
    #[cold]
    pub(super) fn begin_again(&mut self) -> Halt {
        self.begins_again = true;
        ErrorKind::Uncorrectable.into()
    }

    /// Counts the segments anew, after the table was filled.
    pub(super) fn recount_all(&mut self) {
        (self.free, self.empty, self.map_segments, self.good) = (0, 0, 0, 0);
        self.table.all().for_each(|seg| self.count(seg, 1));
    }

    /// True if nothing was left to be done: no program has failed, and no page is the last of all and suspect.
    pub(super) fn is_at_rest(&self) -> bool {
        self.last.is_none() && !self.has_failed && !self.table.all().any(|seg| self.table.used_for(seg) == Use::Failing)
    }

    /// Changes what a segment is used for, and the counts of segments with it.
    pub(super) fn set_use(&mut self, seg: Seg, to: Use) {
        self.count(seg, -1);
        self.table.set_use(seg, to);
        self.count(seg, 1);
    }

    /// Notes whether a segment holds translation pages.
    pub(super) fn set_of_map(&mut self, seg: Seg, is_of_map: bool) {
        self.count(seg, -1);
        self.table.set_of_map(seg, is_of_map);
        self.count(seg, 1);
    }

    /// Counts a segment in, as the table has it, or out with a step of -1.
    fn count(&mut self, seg: Seg, step: i32) {
        let table = &self.table;
        let count = |count: &mut u32, is_one: bool| *count = count.wrapping_add_signed(if is_one { step } else { 0 });
        count(&mut self.free, table.is_free(seg));
        count(&mut self.empty, table.is_empty(seg));
        count(&mut self.map_segments, table.is_in_use(seg) && table.is_of_map(seg));
        count(&mut self.good, !matches!(table.used_for(seg), Use::Bad | Use::Failing));
    }

    pub(super) fn empty(&self) -> u32 {
        self.empty
    }

    /// True if enough segments are empty for a mount, which can use these whatever else counts.
    pub(super) fn has_empty(&self) -> bool {
        self.empty >= self.held()
    }

    /// A clock of numbers. It goes on by 512 to 1,024 while as many pages are programmed as the chip has, so no chip
    /// lasts until it is full.
    pub(super) fn clock(&self, number: u64) -> u32 {
        (number >> self.plan.places.ilog2().saturating_sub(9)) as u32
    }

    /// The epoch of a number, by which segments age. Eight to sixteen pass while as many pages are programmed as the
    /// chip has.
    #[inline(never)]
    pub(super) fn epoch(&self, number: u64) -> u32 {
        // The lower half of the number is enough: a few bits of the epoch are kept.
        number as u32 >> self.plan.places.ilog2().saturating_sub(3)
    }

    /// A place was taken by a page that counts.
    pub(super) fn gain(&mut self, at: Ppn) {
        self.table.gain(self.segment_of(at));
    }

    /// The page at a place no longer counts.
    pub(super) fn lose(&mut self, at: Ppn) {
        let seg = self.segment_of(at);
        if at.is_some() && seg.0 < self.table.segments() {
            self.table.lose(seg);
        }
    }
}

/// Programs a slot. A trait object, so that filling one is the same code for all.
type Program<'a, N> = &'a mut dyn FnMut(&mut MapLog<N>, Ppn) -> Result<(), ErrorKind>;

/// Appending.
impl<N: Nand> Store<N> {
    pub(super) fn has_room(&self, stream: Stream) -> bool {
        self.open[stream as usize].is_some()
    }

    /// Opens a segment for a stream that has none: the least worn of the free ones, or the most worn, for data that
    /// rests. False if none is free.
    pub(super) fn open(&mut self, stream: Stream, for_rest: bool) -> Result<bool, Halt> {
        assert!(!self.has_room(stream), "a stream fills one segment at a time");
        // An erase or a program that fails retires its segment, so each round has one less.
        loop {
            let table = &self.table;
            // Those that are held back stay empty, if there are others.
            let takes_empty = self.keeps_stale || self.empty > self.held() || self.empty == self.free;
            let takes_stale = !self.keeps_stale;
            let is_taken = |seg| if table.is_empty(seg) { takes_empty } else { takes_stale && table.is_free(seg) };
            let free = table.all().filter(|&seg| is_taken(seg));
            // One key for both ends, so that of equals the first is taken in either case.
            let by_wear = |seg: &Seg| if for_rest { u32::MAX - table.erases(*seg) } else { table.erases(*seg) };
            let Some(seg) = free.min_by_key(by_wear) else { return Ok(false) };
            // A cut may have left the segment erased in part.
            if self.table.used_for(seg) != Use::Free && !self.erase(seg)? {
                continue;
            }
            match self.log.open(seg, stream.class(), self.next_seq) {
                Ok(_) => {}
                Err(ErrorKind::ProgramFailed) => {
                    self.retire(seg)?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            self.set_of_map(seg, stream == Stream::Map);
            self.set_use(seg, Use::Open);
            self.table.set_opened(seg, self.epoch(self.next_seq));
            self.open[stream as usize] = Some(Open { seg, next: 0, opened: self.next_seq });
            return Ok(true);
        }
    }

    /// Appends a page to the open segment of a stream, which has room. After `ProgramFailed` the segment has been given
    /// up, and another one may be tried.
    pub(super) fn append(&mut self, stream: Stream, lpn: Lpn, data: &[u8]) -> Result<Ppn, ErrorKind> {
        let tag = Tag { lpn, seq: self.number(stream, lpn), class: stream.class(), kind: Kind::Data };
        let done = self.fill_slot(stream, &mut |log, at| log.append_new(at, data, tag));
        // A page behind the failed one makes it harmless: a mount suspects the last one only.
        self.has_failed = matches!(done, Err(ErrorKind::ProgramFailed));
        done
    }

    /// As [`append`](Self::append), of the page that lies at `from`. `Uncorrectable` if that cannot be read.
    pub(super) fn append_copy(&mut self, stream: Stream, lpn: Lpn, from: Ppn) -> Result<Ppn, ErrorKind> {
        let last = self.last;
        let tag = Tag { lpn, seq: self.number(stream, lpn), class: stream.class(), kind: Kind::Data };
        let copied = self.fill_slot(stream, &mut |log, at| log.append_again(from, at, tag));
        if matches!(copied, Err(ErrorKind::Uncorrectable)) {
            // Nothing was programmed.
            self.last = last;
        } else {
            self.has_failed = matches!(copied, Err(ErrorKind::ProgramFailed));
        }
        copied
    }

    /// The number of the next page. It is used up even if it is not certain that it was written.
    fn number(&mut self, stream: Stream, lpn: Lpn) -> u64 {
        self.last = Some((stream, lpn));
        self.next_seq += 1;
        self.next_seq - 1
    }

    /// The translation page that a mount would suspect, because it is the last of all and nothing was programmed
    /// behind it.
    pub(super) fn insecure(&self) -> Option<Lpn> {
        self.last.filter(|&(stream, _)| stream == Stream::Map).map(|(_, lpn)| lpn)
    }

    /// Appends padding, so that no mount suspects the page before it.
    pub(super) fn pad(&mut self, stream: Stream) -> Result<(), ErrorKind> {
        self.fill_slot(stream, &mut |log, at| log.pad(at))?;
        self.stats.meta_programs += 1;
        self.forget_last(stream);
        Ok(())
    }

    /// Appends padding behind the last page of all. A mount would suspect it, and may have no segment to copy it to:
    /// then nothing tells which of the two lasts, the page or what it was copied from.
    pub(super) fn secure_last(&mut self) -> Result<(), ErrorKind> {
        if let Some((stream, _)) = self.last
            && self.has_room(stream)
            && let Err(error) = self.pad(stream)
            && error != ErrorKind::ProgramFailed
        {
            return Err(error);
        }
        Ok(())
    }

    fn forget_last(&mut self, stream: Stream) {
        self.last = self.last.filter(|&(last, _)| last != stream);
    }

    /// Programs the next slot of the open segment of a stream, and ends the segment if it is full.
    fn fill_slot(&mut self, stream: Stream, program: Program<'_, N>) -> Result<Ppn, ErrorKind> {
        let Some(Open { seg, next, .. }) = self.open[stream as usize] else {
            unreachable!("whoever appends has made room");
        };
        let at = self.slots.page(seg, next);
        // Before anything else on flash changes (M10).
        self.end_checkpoint()?;
        if let Err(error) = program(&mut self.log, at) {
            if error == ErrorKind::Uncorrectable {
                // Nothing was programmed.
                return Err(error);
            }
            let is_failed = error == ErrorKind::ProgramFailed;
            self.close(stream, if is_failed { Use::Failing } else { Use::Closed });
            // Nothing in it counts. The next mount would take it for an empty one that can be used.
            if is_failed && (next == 0 || self.fills_whole()) {
                self.retire(seg)?;
            }
            return Err(error);
        }
        if let Some(open) = &mut self.open[stream as usize] {
            open.next = next + 1;
        }
        if next + 1 == self.slots.per_segment() {
            self.seal(stream)?;
        }
        Ok(at)
    }

    /// Ends the open segment of a stream with a summary, if there is one with a page.
    pub(super) fn seal(&mut self, stream: Stream) -> Result<(), ErrorKind> {
        let Some(Open { seg, next, opened }) = self.open[stream as usize] else { return Ok(()) };
        // A segment without a page is empty for a mount, and needs no summary.
        if next == 0 {
            return Ok(());
        }
        self.end_checkpoint()?;
        match self.log.seal(seg, self.table.erases(seg), opened, stream.class()) {
            Ok(pages) => {
                self.stats.meta_programs += u64::from(pages);
                self.forget_last(stream);
                self.close(stream, Use::Closed);
            }
            Err(ErrorKind::ProgramFailed) => self.close(stream, Use::Failing),
            Err(error) => {
                // The summary may be missing, but the pages are there. Nothing is programmed behind them.
                self.close(stream, Use::Closed);
                return if error == ErrorKind::Other { Ok(()) } else { Err(error) };
            }
        }
        Ok(())
    }

    /// Ends all open segments.
    pub(super) fn seal_all(&mut self) -> Result<(), ErrorKind> {
        Stream::ALL.into_iter().try_for_each(|stream| self.seal(stream))
    }

    fn close(&mut self, stream: Stream, to: Use) {
        if let Some(open) = self.open[stream as usize].take() {
            self.log.abandon(open.seg);
            self.set_use(open.seg, to);
        }
    }
}

/// Segments that count as a whole or not at all (Spec M3).
impl<N: Nand> Store<N> {
    /// Opens one for so many pages, and ends the one that the stream has. False if none is free.
    pub(super) fn open_whole(&mut self, stream: Stream, pages: u32) -> Result<bool, Halt> {
        self.seal(stream)?;
        // The slot behind the last page: the mark takes slot 0.
        let end = pages + 1;
        loop {
            if !self.open(stream, false)? {
                return Ok(false);
            }
            let mark = Tag { lpn: Lpn(end), seq: self.next_seq, class: stream.class(), kind: Kind::RescueMark };
            self.next_seq += 1;
            match self.fill_slot(stream, &mut |log, at| log.append_new(at, &[], mark)) {
                Ok(_) => break,
                Err(ErrorKind::ProgramFailed) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.stats.meta_programs += 1;
        self.whole = Some((stream, end));
        Ok(true)
    }

    /// True while such a segment is filled. If a program fails, what it holds will never count.
    pub(super) fn fills_whole(&self) -> bool {
        self.whole.is_some()
    }

    /// Pages that such a segment still takes.
    pub(super) fn room_in_whole(&self) -> u32 {
        let Some((stream, end)) = self.whole else { return 0 };
        self.open[stream as usize].map_or(0, |open| end.saturating_sub(open.next))
    }

    /// Pads it up to its end, and once more. Now it counts, and goes on as any other.
    pub(super) fn end_whole(&mut self) -> Result<(), ErrorKind> {
        let Some((stream, end)) = self.whole else { return Ok(()) };
        // One slot more than its end, so that no cut can have hit the last copy; and another one, so that this shows
        // even if one of the two decays. A full segment has its summary there.
        while self.open[stream as usize].is_some_and(|open| open.next <= end + 1) {
            self.pad(stream)?;
        }
        self.whole = None;
        Ok(())
    }
}

/// Erasing.
impl<N: Nand> Store<N> {
    /// Erases a segment of which nothing counts, and makes it free. One that failed is retired. False if it is free no
    /// more.
    pub(super) fn erase(&mut self, seg: Seg) -> Result<bool, Halt> {
        assert!(self.table.valid(seg) == 0, "only what holds nothing is erased");
        if self.table.used_for(seg) == Use::Failing {
            self.retire(seg)?;
            return Ok(false);
        }
        self.end_checkpoint()?;
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
                // It may be erased or not, and is erased again before it is used.
                self.set_use(seg, Use::Stale);
                Err(error.into())
            }
        }
    }

    fn retire(&mut self, seg: Seg) -> Result<(), ErrorKind> {
        // A bad-block mark is a change of the flash, too (M10).
        self.end_checkpoint()?;
        self.set_use(seg, Use::Bad);
        self.stats.retired_segments += 1;
        self.log.retire(seg)
    }
}
