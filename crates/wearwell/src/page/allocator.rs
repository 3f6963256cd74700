//! The allocator: which open segment a page goes to, and how segments are opened, filled and closed.
//!
//! `closing` has how they are closed before they are full, `continuing` how those that a mount found open are filled
//! up, and [`erase`](super::erase) how they are erased and retired.

mod closing;
mod continuing;

use alloc::vec::Vec;

use wearwell_flash::ErrorKind;

use super::config::{Rules, URGENT_BELOW};
use super::index::Index;
use super::log::{Discards, Kind, Log, LogShape, Source};
use super::map::PageMap;
use crate::addr::{Class, Lpn, Ppn, Seg};
use crate::clean::which::VictimChoice;
use crate::free::FreePool;
use crate::ftl::{FtlError, Probe};
use crate::place::{ClassPlacement, Opened, PlaceChoice};
use crate::segments::{SegState, Segments};
use crate::spread::EraseSpread;
use crate::stats::Stats;

/// The open segment of a class, and the slot that is written next.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenSegment {
    pub(super) seg: Seg,
    pub(super) next: u32,
    /// The slot at which it is closed, or padded first; 0 if there is none. Invariant: `next` is below it, except while
    /// the page before it is being entered.
    pub(super) stop: u32,
}

impl OpenSegment {
    pub(super) const NONE: Self = Self { seg: Seg(u32::MAX), next: u32::MAX, stop: 0 };

    pub(super) fn is_open(self) -> bool {
        self.next != u32::MAX
    }
}

/// Who asks for a slot.
///
/// A host write may open a segment only if another one stays free, so that cleaning can always begin. A copy may open
/// the last one: the victim that it empties becomes free, and a segment opened like this holds only copies whose
/// originals are still there if the power fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Host,
    Copy,
}

/// Open segments, the free pool, and the log below them.
///
/// Invariants: a class has at most one open segment, and one more that is parked while its bank erases. These are the
/// segments whose state is open. When the host opens a segment, a free one is left for cleaning, and one more for
/// recovery ([`find_slot`](Self::find_slot)).
#[derive(Debug)]
pub(super) struct Allocator<L, P, M, V: VictimChoice, W: PlaceChoice> {
    pub(super) log: L,
    pub(super) shape: LogShape,
    pub(super) probe: P,
    pub(super) index: Index<M, V>,
    pub(super) placement: W::Policy,
    pub(super) stats: Stats,
    rules: Rules,
    pub(super) free: FreePool,
    open: [OpenSegment; Class::COUNT],
    /// Open segments that are put aside while their bank erases; at most one for each class.
    parked: [OpenSegment; Class::COUNT],
    /// Closed segments that take more once there is no other place: a mount found several of a class open.
    continuable: Vec<OpenSegment>,
    pub(super) next_seq: u64,
    /// A segment is being erased in the background.
    pub(super) is_erasing: bool,
    /// The segment that holds the mark of a clean shutdown.
    pub(super) clean_mark: Option<Seg>,
    /// A bad segment could not be marked. The next mount finds out by an erase, also behind a clean shutdown.
    pub(super) has_unmarked: bool,
    pub(super) spread: EraseSpread,
    /// The wear policy wants the data of the least worn segment moved.
    pub(super) is_wear_due: bool,
    /// The error of every write and discard, if the device takes no more. This is so if a segment failed that the next
    /// mount may believe, with its stale copies; or if there is no place for copies of pages that a power cut may have
    /// hit.
    pub(super) writable: Result<(), FtlError>,
}

impl<L: Log, P, M, V: VictimChoice, W: PlaceChoice> Allocator<L, P, M, V, W> {
    pub(super) fn new(
        log: L,
        probe: P,
        index: Index<M, V>,
        placement: W::Policy,
        free: FreePool,
        rules: Rules,
    ) -> Self {
        Self {
            shape: log.shape(),
            log,
            probe,
            index,
            placement,
            stats: Stats::default(),
            rules,
            free,
            open: [OpenSegment::NONE; Class::COUNT],
            parked: [OpenSegment::NONE; Class::COUNT],
            continuable: Vec::new(),
            next_seq: 1,
            is_erasing: false,
            clean_mark: None,
            has_unmarked: false,
            spread: EraseSpread::default(),
            is_wear_due: false,
            writable: Ok(()),
        }
    }

    pub(super) fn table(&self) -> &Segments {
        self.index.pool().table()
    }

    /// The open segment of a class.
    #[inline(always)]
    pub(super) fn open_segment(&self, class: Class) -> OpenSegment {
        self.open[class.index()]
    }

    #[inline(always)]
    pub(super) fn has_room(&self, class: Class) -> bool {
        let open = self.open[class.index()];
        open.is_open() && open.next < self.shape.slots
    }

    /// A number for the next page that is written.
    #[inline(always)]
    pub(super) fn take_seq(&mut self) -> u64 {
        let seq = self.next_seq;
        self.next_seq = seq + 1;
        seq
    }

    pub(super) fn worn_out(&self) -> FtlError {
        FtlError::WornOut { good_segments: self.table().sound(), needed_segments: self.rules.needed_segments }
    }

    /// Makes the device read-only.
    pub(super) fn refuse_writes(&mut self, why: FtlError) {
        self.writable = Err(why);
        self.index.pool_mut().attention().call();
    }

    pub(super) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Replaces the rules.
    pub(super) fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
        self.hold_back();
    }

    /// Holds as many free segments back as the good ones allow. It is called again after each retirement.
    pub(super) fn hold_back(&mut self) {
        self.free.hold(self.rules.held_segments(self.table().good()));
    }

    /// Holds back one segment less for failures, because cleaning can gain none: what is invalid lies in open segments.
    /// False if only those for recovery are held back. They are held back again when a segment becomes free.
    #[cold]
    pub(super) fn hold_less(&mut self) -> bool {
        let held = self.free.held().min(self.free.total());
        let is_more = held > self.rules.recovery_segments;
        if is_more {
            self.free.hold(held - 1);
        }
        is_more
    }

    /// Tells the placement the classes of the segments in use.
    pub(super) fn list_classes(&mut self) {
        let Self { index, placement, .. } = self;
        let (clock, table) = (index.clock(), index.pool().table());
        for (seg, class) in index.pool().in_use() {
            let opened = if clock.is_timed { clock.host_pages } else { table.opened(seg) };
            placement.opened(Opened { seg, class, clock: opened });
        }
    }
}

/// Finding slots.
impl<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice> Allocator<L, P, M, V, W> {
    /// The class whose open segment takes the next page meant for `wanted`. It is another class if no segment can be
    /// opened for `wanted`. None if only cleaning can help.
    #[inline]
    pub(super) fn find_slot(&mut self, wanted: Class, purpose: Purpose) -> Result<Option<Class>, FtlError> {
        if self.has_room(wanted) { Ok(Some(wanted)) } else { self.make_slot(wanted, purpose) }
    }

    #[cold]
    fn make_slot(&mut self, wanted: Class, purpose: Purpose) -> Result<Option<Class>, FtlError> {
        if self.unpark(wanted) {
            return Ok(Some(wanted));
        }
        // Free segments may turn out bad when they are opened, but not more often than there are segments.
        for _ in 0..=self.shape.segments {
            let plenty = self.free.usable() >= URGENT_BELOW;
            let room = if plenty { None } else { self.find_room() };
            // A copy takes the last free segment only if no open segment of any class can take it.
            if plenty || (purpose == Purpose::Copy && room.is_none() && self.free.total() > 0) {
                if self.open_for(wanted)? {
                    return Ok(Some(wanted));
                }
            } else if room.is_some() {
                return Ok(room);
            } else if self.is_erasing {
                self.finish_erase(true)?;
            } else {
                return Ok(None);
            }
        }
        Err(self.worn_out())
    }

    /// A class that has room, if need be in a segment that was put aside, or in one that a mount found open.
    fn find_room(&mut self) -> Option<Class> {
        let classes = || (0..Class::COUNT as u8).map(Class);
        let room = classes().find(|&class| self.has_room(class));
        room.or_else(|| classes().find(|&class| self.unpark(class))).or_else(|| self.continue_another())
    }

    /// The free segment to open next, waiting for an erase if only erasing banks have one.
    fn next_free(&mut self, class: Class) -> Result<Seg, FtlError> {
        // Resting data goes to the most worn free segment, which then rests too.
        if class == Class::WEAR
            && let Some(seg) = self.free.most_worn(|s| self.table().erases(s))
            && !self.log.is_erasing(self.free.bank_of(seg))
        {
            return Ok(seg);
        }
        loop {
            let log = &mut self.log;
            if let Some(seg) = self.free.next(|bank| log.is_erasing(bank)) {
                return Ok(seg);
            }
            if !self.is_erasing {
                return Err(self.worn_out());
            }
            self.finish_erase(true)?;
        }
    }

    /// Opens a free segment for a class that has none open. False if the segment chosen turned out bad.
    pub(super) fn open_for(&mut self, class: Class) -> Result<bool, FtlError> {
        assert!(!self.has_room(class), "a class fills one segment at a time");
        // The mark says that nothing changed after it (Spec P4), so it goes before the first program.
        self.remove_clean_mark()?;
        let seg = self.next_free(class)?;
        self.free.remove(seg);
        // A cut may have left the segment erased in part.
        if self.table().state(seg) == SegState::Suspect
            && !self.erase_suspect(seg).inspect_err(|_| self.erase_again(seg))?
        {
            return Ok(false);
        }
        let stamp = self.index.clock().stamp();
        match self.log.open(seg, class, stamp) {
            Ok(programmed) => self.stats.meta_programs += u64::from(programmed),
            Err(ErrorKind::ProgramFailed) => {
                self.retire(seg)?;
                return Ok(false);
            }
            Err(error) => {
                self.erase_again(seg);
                return Err(FtlError::Chip(error));
            }
        }
        self.index.pool_mut().table_mut().open(seg, class, stamp);
        self.placement.opened(Opened { seg, class, clock: self.index.clock().host_pages });
        let stop = self.log.stop_at(seg, 0);
        self.open[class.index()] = OpenSegment { seg, next: 0, stop };
        if self.parked[class.index()].is_open() {
            self.probe.turned(class.0);
        }
        if self.free.usable() < self.rules.alert_below {
            self.index.pool_mut().attention().call();
        }
        Ok(true)
    }
}

/// Filling slots.
impl<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice> Allocator<L, P, M, V, W> {
    /// Writes a page of bytes as the newest of `lpn`, into a class that has [room](Self::has_room). False if the
    /// program failed.
    ///
    /// The page gets its number only here: making room may write parts of the discard map that call this page unmapped,
    /// and these must be older than the page. It is looked up only here too, because making room may move it.
    #[inline(always)]
    pub(super) fn put(&mut self, lpn: Lpn, class: Class, data: &[u8]) -> Result<bool, FtlError> {
        let seq = self.take_seq();
        let old = self.index.lookup(&mut self.log, lpn)?;
        match self.append(lpn, class, Kind::Data, Source::Host(data, seq), old) {
            Ok((seg, slot)) => self.index.rebind(&mut self.log, lpn, old, seg, slot)?,
            Err(error) => {
                self.note_turn(class);
                return if error == ErrorKind::ProgramFailed { Ok(false) } else { Err(FtlError::Chip(error)) };
            }
        }
        self.close_if_full(class)?;
        Ok(true)
    }

    /// Appends a record to the open segment of a class, which has room. The map does not know the record yet. After
    /// `ProgramFailed` the segment has been given up.
    #[inline(always)]
    pub(super) fn append(
        &mut self,
        lpn: Lpn,
        class: Class,
        kind: Kind,
        source: Source<'_>,
        replaces: Ppn,
    ) -> Result<(Seg, u32), ErrorKind> {
        let OpenSegment { seg, next, .. } = self.open[class.index()];
        assert!(next < self.shape.slots, "whoever writes has made room");
        let at = self.index.slots().page(seg, next);
        if self.log.collides(at, source)? {
            // It goes to another slot, as after a program that failed.
            self.append_pad(class)?;
            self.end_group_if_full(class)?;
            self.end_if_full(class)?;
            self.close_if_ended(class);
            return Err(ErrorKind::ProgramFailed);
        }
        debug_assert!(next < self.open[class.index()].stop, "that slot takes no page");
        let appended = self.log.append(at, lpn, class, kind, source, replaces);
        match appended {
            Ok(()) => self.open[class.index()].next = next + 1,
            Err(ErrorKind::ProgramFailed) => self.give_up(class),
            // The source of a copy cannot be read. Nothing was programmed.
            Err(ErrorKind::Uncorrectable) => {}
            // The program may have happened, as in a cut. So the segment is not continued, as after a cut.
            Err(_) => self.abandon(class),
        }
        appended.map(|()| (seg, next))
    }

    /// Copies pages of a victim to the open segment of a class, which has room for them, and points the map at the
    /// copies. Returns the number of copies, and the error that ended the run, if any.
    #[inline]
    pub(super) fn copy_run(
        &mut self,
        victim: Seg,
        slots: &[u32],
        lpns: &[Lpn],
        class: Class,
    ) -> Result<(usize, Result<(), ErrorKind>), FtlError> {
        let OpenSegment { seg, next, .. } = self.open[class.index()];
        let (to, base) = (self.index.slots().page(seg, next).0, self.index.slots().page(victim, 0).0);
        let mut copied = 0;
        let mut ended = Ok(());
        let mut collides = false;
        for (&slot, &lpn) in slots.iter().zip(lpns) {
            let from = Ppn(base + slot);
            let at = Ppn(to + copied as u32);
            match self.log.collides(at, Source::Copy(from)) {
                Ok(false) => {}
                Ok(true) => {
                    collides = true;
                    break;
                }
                Err(error) => {
                    ended = Err(error);
                    break;
                }
            }
            // A copy keeps the sequence number of its original, so a stale copy never wins (Spec P5).
            ended = self.log.append(at, lpn, class, Kind::Data, Source::Copy(from), from);
            if ended.is_err() {
                break;
            }
            copied += 1;
        }
        // The copies made so far count, even if the run ended early.
        self.index.move_run(&mut self.log, victim, &slots[..copied], &lpns[..copied], (seg, next))?;
        self.open[class.index()].next = next + copied as u32;
        if collides {
            // The rest goes to other slots, as after a program that failed.
            match self.append_pad(class) {
                Ok(()) | Err(ErrorKind::ProgramFailed | ErrorKind::Other) => {}
                Err(error) => return Err(FtlError::Chip(error)),
            }
        }
        match ended {
            Ok(()) | Err(ErrorKind::Uncorrectable) => self.close_if_full(class)?,
            Err(ErrorKind::ProgramFailed) => self.give_up(class),
            Err(_) => self.abandon(class),
        }
        self.note_turn(class);
        Ok((copied, ended))
    }

    /// Tells the probe that a class that had an open segment has none now, after something other than the host's page.
    pub(super) fn note_turn(&mut self, class: Class) {
        if !self.open[class.index()].is_open() {
            self.probe.turned(class.0);
        }
    }

    /// Closes the class's segment if its last slot has been written, and ends a group that is full. It is called after
    /// the map has the last page, so that the segment's valid count is right.
    #[inline]
    pub(super) fn close_if_full(&mut self, class: Class) -> Result<(), FtlError> {
        let OpenSegment { next, stop, .. } = self.open[class.index()];
        if next == stop { self.end_at_stop(class) } else { Ok(()) }
    }

    fn end_at_stop(&mut self, class: Class) -> Result<(), FtlError> {
        match self.end_group_if_full(class) {
            Ok(()) if self.open[class.index()].next == self.shape.slots => self.seal(class),
            // The tag page may be missing, but the pages are there. What comes before a flush or an erase copies them.
            Ok(()) | Err(ErrorKind::ProgramFailed | ErrorKind::Other) => Ok(()),
            Err(error) => Err(FtlError::Chip(error)),
        }
    }

    /// Pads the open segment of a class while the slot that is next takes no page.
    pub(super) fn end_group_if_full(&mut self, class: Class) -> Result<(), ErrorKind> {
        while self.open[class.index()].next == self.open[class.index()].stop && self.has_room(class) {
            self.append_pad(class)?;
        }
        Ok(())
    }

    /// Makes the pages of a class last that have been programmed, if they need tag pages for that.
    pub(super) fn end_group(&mut self, class: Class) -> Result<(), ErrorKind> {
        let OpenSegment { seg, next, .. } = self.open[class.index()];
        let is_due = self.log.has_tag_pages() && self.log.padding(seg, next) > 0;
        if is_due { self.append_pad(class) } else { Ok(()) }
    }

    /// The first slot of the open segment of a class that a mount would suspect.
    pub(super) fn suspect_from(&self, class: Class) -> u32 {
        let OpenSegment { seg, next, .. } = self.open[class.index()];
        self.log.suspect_from(seg, next)
    }

    /// Programs the summary of an open segment.
    fn end(&mut self, class: Class) -> Result<(), ErrorKind> {
        let seg = self.open[class.index()].seg;
        let table = self.index.pool().table();
        let programmed = self.log.seal(seg, table.erases(seg), table.opened(seg), table.class(seg))?;
        self.stats.meta_programs += u64::from(programmed);
        Ok(())
    }

    /// Programs the summary of the class's segment if its last slot has been written, for a rescue, whose pages count
    /// only behind that. Whoever calls it closes the segment once the map has them.
    pub(super) fn end_if_full(&mut self, class: Class) -> Result<(), ErrorKind> {
        let ended = if self.open[class.index()].next == self.shape.slots { self.end(class) } else { Ok(()) };
        match ended {
            Ok(()) => {}
            Err(ErrorKind::ProgramFailed) => self.give_up(class),
            Err(_) => self.abandon(class),
        }
        ended
    }

    /// Closes the class's segment, if it has a summary already.
    pub(super) fn close_if_ended(&mut self, class: Class) {
        if self.open[class.index()].next == self.shape.slots {
            self.close(class);
        }
    }

    fn seal(&mut self, class: Class) -> Result<(), FtlError> {
        match self.end(class) {
            Ok(()) => {
                self.close(class);
                Ok(())
            }
            // Without its summary the segment is scanned page by page. Its data must leave the failing block.
            Err(ErrorKind::ProgramFailed) => {
                self.give_up(class);
                Ok(())
            }
            // The summary may be missing, but the pages are there. The write of the last page has not failed.
            Err(ErrorKind::Other) => {
                self.abandon(class);
                Ok(())
            }
            Err(error) => Err(FtlError::Chip(error)),
        }
    }

    /// Programs padding into the next slot of a class, as [`append`](Self::append) programs a page.
    pub(super) fn append_pad(&mut self, class: Class) -> Result<(), ErrorKind> {
        let OpenSegment { seg, next, .. } = self.open[class.index()];
        assert!(next < self.shape.slots, "padding goes where there is room");
        let padded = self.log.pad(self.index.slots().page(seg, next));
        match padded {
            Ok(()) => {
                // On NOR the slot is passed over.
                self.stats.meta_programs += u64::from(L::DISCARDS == Discards::Logged);
                let stop = self.log.stop_at(seg, next + 1);
                self.open[class.index()] = OpenSegment { seg, next: next + 1, stop };
            }
            Err(ErrorKind::ProgramFailed) => self.give_up(class),
            Err(_) => self.abandon(class),
        }
        padded
    }

    /// Pads open segments until a mount finds each page in them, and no later program can damage one. Pages that were
    /// left in a segment without their tags are copied first.
    pub(super) fn pad_open(&mut self) -> Result<(), FtlError> {
        loop {
            self.pad_while(|log, seg, _, next| log.padding(seg, next) > 0)?;
            // Spec T7.
            let Some((seg, first)) = self.log.unsettled() else { return Ok(()) };
            self.copy_unsettled(seg, first)?;
        }
    }

    /// Copies the pages of a segment from slot `first` on that no tag page names.
    #[cold]
    fn copy_unsettled(&mut self, seg: Seg, first: u32) -> Result<(), FtlError> {
        let mut from = first;
        loop {
            let (mut slot, mut lpn) = ([0], [Lpn(0)]);
            if self.index.gather_live(&mut self.log, seg, from, &mut slot, &mut lpn)? == 0 {
                break;
            }
            let class = match self.table().state(seg) {
                // The cleaner has a list of its pages.
                SegState::Victim(_) => None,
                _ => self.find_slot(self.table().class(seg), Purpose::Copy)?,
            };
            let class = class.ok_or_else(|| self.worn_out())?;
            let (at, lpn) = (self.index.slots().page(seg, slot[0]), lpn[0]);
            match self.append(lpn, class, Kind::Data, Source::Copy(at), at) {
                Ok((to, next)) => {
                    self.index.rebind_rescued(&mut self.log, lpn, at, to, next)?;
                    self.close_if_full(class)?;
                    from = slot[0] + 1;
                }
                Err(ErrorKind::ProgramFailed) => {}
                // What cannot be read stays where it is: a read says so.
                Err(ErrorKind::Uncorrectable) => from = slot[0] + 1,
                Err(error) => return Err(FtlError::Chip(error)),
            }
            self.note_turn(class);
        }
        self.log.settle(seg);
        Ok(())
    }

    /// Pads open segments until no later mount suspects a page in them.
    pub(super) fn pad_beyond_suspicion(&mut self) -> Result<(), FtlError> {
        self.pad_while(|log, seg, end, next| log.suspect_from(seg, next) < end)
    }

    /// Pads each open segment while `wanted` is true for it, the end of its data, and its next slot.
    fn pad_while(&mut self, wanted: impl Fn(&L, Seg, u32, u32) -> bool) -> Result<(), FtlError> {
        if L::DISCARDS != Discards::Logged {
            return Ok(());
        }
        for class in (0..Class::COUNT as u8).map(Class) {
            let OpenSegment { seg, next: end, .. } = self.open[class.index()];
            while self.has_room(class) && wanted(&self.log, seg, end, self.open[class.index()].next) {
                match self.append_pad(class) {
                    Ok(()) => self.close_if_full(class)?,
                    Err(ErrorKind::ProgramFailed) => {}
                    Err(error) => return Err(FtlError::Chip(error)),
                }
                self.note_turn(class);
            }
        }
        Ok(())
    }
}
