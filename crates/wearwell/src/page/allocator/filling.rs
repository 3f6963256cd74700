//! Filling the slots of open segments: with pages of the host, copies and padding.

use wearwell_flash::ErrorKind;

use super::{Allocator, OpenSegment, Purpose};
use crate::addr::{Class, Lpn, Ppn, Seg};
use crate::clean::which::VictimChoice;
use crate::ftl::{FtlError, Probe};
use crate::page::log::{Discards, Kind, Log, Source};
use crate::page::map::PageMap;
use crate::place::PlaceChoice;
use crate::segments::SegState;

impl<L: Log, P, M, V: VictimChoice, W: PlaceChoice> Allocator<L, P, M, V, W> {
    /// The open segment of a class.
    #[inline(always)]
    pub(in crate::page) fn open_segment(&self, class: Class) -> OpenSegment {
        self.open[class.index()]
    }

    #[inline(always)]
    pub(in crate::page) fn has_room(&self, class: Class) -> bool {
        let open = self.open[class.index()];
        open.is_open() && open.next < self.shape.slots
    }

    /// A number for the next page that is written.
    #[inline(always)]
    pub(in crate::page) fn take_seq(&mut self) -> u64 {
        let seq = self.next_seq;
        self.next_seq = seq + 1;
        seq
    }

    /// The number that the next page gets.
    pub(in crate::page) fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// The next page gets the number `seq`.
    pub(in crate::page) fn number_from(&mut self, seq: u64) {
        self.next_seq = seq;
    }
}

/// What the index answers, and what changes in it, with the log that a map on flash is read from.
impl<L: Log, P, M: PageMap<L>, V: VictimChoice, W: PlaceChoice> Allocator<L, P, M, V, W> {
    /// [`Index::lookup`].
    #[inline(always)]
    pub(in crate::page) fn lookup(&mut self, lpn: Lpn) -> Result<Ppn, FtlError> {
        self.index.lookup(&mut self.log, lpn)
    }

    /// [`PageMap::gather_live`].
    #[inline]
    pub(in crate::page) fn gather_live(
        &mut self,
        seg: Seg,
        from: u32,
        slots: &mut [u32],
        lpns: &mut [Lpn],
    ) -> Result<usize, FtlError> {
        self.index.gather_live(&mut self.log, seg, from, slots, lpns)
    }

    /// [`Index::move_run`].
    pub(in crate::page) fn move_run(
        &mut self,
        victim: Seg,
        slots: &[u32],
        lpns: &[Lpn],
        to: (Seg, u32),
    ) -> Result<(), FtlError> {
        self.index.move_run(&mut self.log, victim, slots, lpns, to)
    }

    /// [`Index::rebind_rescued`].
    pub(in crate::page) fn rebind_rescued(&mut self, lpn: Lpn, old: Ppn, seg: Seg, slot: u32) -> Result<(), FtlError> {
        self.index.rebind_rescued(&mut self.log, lpn, old, seg, slot)
    }

    /// [`Index::discard`].
    pub(in crate::page) fn discard(&mut self, lpn: Lpn, old: Ppn) -> Result<(), FtlError> {
        self.index.discard(&mut self.log, lpn, old)
    }
}

impl<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice> Allocator<L, P, M, V, W> {
    /// Writes a page of the host's as the newest of `lpn`, into the class that takes what is meant for `wanted`. False
    /// if the program failed, or if only cleaning can give a slot. Then the page needs another one.
    #[inline(always)]
    pub(in crate::page) fn put_wanted(&mut self, lpn: Lpn, wanted: Class, data: &[u8]) -> Result<bool, FtlError> {
        match self.find_slot(wanted, Purpose::Host)? {
            Some(class) => self.put(lpn, class, data),
            None => Ok(false),
        }
    }

    /// Writes a page of bytes as the newest of `lpn`, into a class that has [room](Self::has_room). False if the
    /// program failed.
    ///
    /// The page gets its number only here: making room may write parts of the discard map that call this page unmapped,
    /// and these must be older than the page. It is looked up only here too, because making room may move it.
    #[inline(always)]
    pub(in crate::page) fn put(&mut self, lpn: Lpn, class: Class, data: &[u8]) -> Result<bool, FtlError> {
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
    pub(in crate::page) fn append(
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
            // It goes to another slot, as after a program that failed. The padding may be the last slot of its group,
            // or of the segment.
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
    pub(in crate::page) fn copy_run(
        &mut self,
        victim: Seg,
        slots: &[u32],
        lpns: &[Lpn],
        class: Class,
    ) -> Result<(usize, Result<(), ErrorKind>), FtlError> {
        let OpenSegment { seg, next, .. } = self.open[class.index()];
        // The copies go to consecutive slots: the caller's run ends at `stop`.
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
                // After these errors the segment has been left.
                Ok(()) | Err(ErrorKind::ProgramFailed | ErrorKind::Other) => {}
                Err(error) => return Err(FtlError::Chip(error)),
            }
        }
        // If padding has cost the segment, the class has none open, and `close_if_full` finds nothing to close.
        match ended {
            Ok(()) | Err(ErrorKind::Uncorrectable) => self.close_if_full(class)?,
            Err(ErrorKind::ProgramFailed) => self.give_up(class),
            Err(_) => self.abandon(class),
        }
        self.note_turn(class);
        Ok((copied, ended))
    }

    /// Tells the probe that a class that had an open segment has none now, after something other than the host's page.
    pub(in crate::page) fn note_turn(&mut self, class: Class) {
        if !self.open[class.index()].is_open() {
            self.probe.turned(class.0);
        }
    }

    /// Closes the class's segment if its last slot has been written, and ends a group that is full. It is called after
    /// the map has the last page, so that the segment's valid count is right.
    #[inline]
    pub(in crate::page) fn close_if_full(&mut self, class: Class) -> Result<(), FtlError> {
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
    pub(in crate::page) fn end_group_if_full(&mut self, class: Class) -> Result<(), ErrorKind> {
        while self.open[class.index()].next == self.open[class.index()].stop && self.has_room(class) {
            self.append_pad(class)?;
        }
        Ok(())
    }

    /// Makes the pages of a class last that have been programmed, if they need tag pages for that.
    pub(in crate::page) fn end_group(&mut self, class: Class) -> Result<(), ErrorKind> {
        let OpenSegment { seg, next, .. } = self.open[class.index()];
        let is_due = self.log.has_tag_pages() && self.log.padding(seg, next) > 0;
        if is_due { self.append_pad(class) } else { Ok(()) }
    }

    /// The first slot of the open segment of a class that a mount would suspect.
    pub(in crate::page) fn suspect_from(&self, class: Class) -> u32 {
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
    pub(in crate::page) fn end_if_full(&mut self, class: Class) -> Result<(), ErrorKind> {
        let ended = if self.open[class.index()].next == self.shape.slots { self.end(class) } else { Ok(()) };
        match ended {
            Ok(()) => {}
            Err(ErrorKind::ProgramFailed) => self.give_up(class),
            Err(_) => self.abandon(class),
        }
        ended
    }

    /// Closes the class's segment, if it has a summary already.
    pub(in crate::page) fn close_if_ended(&mut self, class: Class) {
        if self.open[class.index()].next == self.shape.slots {
            self.close(class);
        }
    }

    pub(super) fn seal(&mut self, class: Class) -> Result<(), FtlError> {
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
    pub(in crate::page) fn append_pad(&mut self, class: Class) -> Result<(), ErrorKind> {
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
    pub(in crate::page) fn pad_open(&mut self) -> Result<(), FtlError> {
        loop {
            self.pad_while(|log, seg, _, next| log.padding(seg, next) > 0)?;
            // Spec T7.
            let Some((seg, first)) = self.log.unsettled() else { return Ok(()) };
            // The copies need tag pages, too, so padding begins anew.
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
            // The cleaner has a list of the victim's pages.
            if matches!(self.table().state(seg), SegState::Victim(_)) {
                return Err(self.worn_out());
            }
            let class = self.slot_for_copy(self.table().class(seg))?;
            let (at, lpn) = (self.index.slots().page(seg, slot[0]), lpn[0]);
            match self.append(lpn, class, Kind::Data, Source::Copy(at), at) {
                Ok((to, next)) => {
                    self.rebind_rescued(lpn, at, to, next)?;
                    self.close_if_full(class)?;
                    from = slot[0] + 1;
                }
                // The next turn copies the page to another slot.
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
    pub(in crate::page) fn pad_beyond_suspicion(&mut self) -> Result<(), FtlError> {
        self.pad_while(|log, seg, end, next| log.suspect_from(seg, next) < end)
    }

    /// Pads each open segment while `wanted` is true for it, the end of its data, and its next slot.
    fn pad_while(&mut self, wanted: impl Fn(&L, Seg, u32, u32) -> bool) -> Result<(), FtlError> {
        // Other layouts have no pages that a later program can damage.
        if L::DISCARDS != Discards::Logged {
            return Ok(());
        }
        for class in (0..Class::COUNT as u8).map(Class) {
            // `end` stays where the data ends, while padding moves the next slot.
            let OpenSegment { seg, next: end, .. } = self.open[class.index()];
            while self.has_room(class) && wanted(&self.log, seg, end, self.open[class.index()].next) {
                match self.append_pad(class) {
                    Ok(()) => self.close_if_full(class)?,
                    // No later program can harm its pages. `pad_open` copies those without a tag page.
                    Err(ErrorKind::ProgramFailed) => {}
                    Err(error) => return Err(FtlError::Chip(error)),
                }
                self.note_turn(class);
            }
        }
        Ok(())
    }
}
