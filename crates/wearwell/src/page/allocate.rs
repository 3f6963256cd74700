//! Slots: which open segment a page goes to, and how segments are opened, closed, erased and retired.

use wearwell_flash::ErrorKind;

use super::config::URGENT_BELOW;
use super::log::{Discards, EraseProgress, Kind, Log, Source};
use super::segments::SegState;
use super::{MountError, PageFtl};
use crate::addr::{Class, Lpn, Ppn, Seg};
use crate::clean::when::When;
use crate::clean::which::Which;
use crate::ftl::{FtlError, Probe};
use crate::place::{Place, Reclaimed};
use crate::wear::Wear;

/// The open segment of a class, and the slot that is written next.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenSegment {
    pub(super) seg: Seg,
    pub(super) next: u32,
}

impl OpenSegment {
    pub(super) const NONE: Self = Self { seg: Seg(u32::MAX), next: u32::MAX };

    pub(super) fn is_open(self) -> bool {
        self.next != u32::MAX
    }
}

/// Who asks for a slot.
///
/// A host write may open a segment only if one stays free behind it, so that cleaning can always begin. A copy
/// may open the last one, since the victim it empties comes free, and since a segment opened like this holds
/// nothing but copies whose originals are still there if the power fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Host,
    Copy,
}

impl<L: Log, P: Probe> PageFtl<L, P> {
    fn has_room(&self, class: Class) -> bool {
        let open = self.open[class.index()];
        open.is_open() && open.next < self.shape.slots
    }

    /// The class whose open segment takes the next page meant for `wanted`: that one, unless no segment can
    /// be opened for it. For the host this may clean, and so move pages.
    #[inline]
    pub(super) fn reserve(&mut self, wanted: Class, purpose: Purpose) -> Result<Class, FtlError> {
        if self.has_room(wanted) { Ok(wanted) } else { self.make_open(wanted, purpose) }
    }

    /// Programs a page into the next slot of a [reserved](Self::reserve) class. After `ProgramFailed` the segment has
    /// been given up: reserve again.
    #[inline(always)]
    pub(super) fn program(
        &mut self,
        lpn: Lpn,
        class: Class,
        kind: Kind,
        source: Source<'_>,
        replaces: Ppn,
    ) -> Result<(Seg, u32), ErrorKind> {
        let OpenSegment { seg, next } = self.open[class.index()];
        let appended = self.log.append(self.map.ppn(seg, next), lpn, class, kind, source, replaces);
        match appended {
            Ok(()) => self.open[class.index()].next = next + 1,
            Err(ErrorKind::ProgramFailed) => self.give_up(class),
            Err(_) => {}
        }
        appended.map(|()| (seg, next))
    }

    /// Closes the class's segment if its last slot has been written. Comes after the last page was bound, so
    /// that the segment's valid count is right.
    #[inline]
    pub(super) fn close_if_full(&mut self, class: Class) -> Result<(), FtlError> {
        if self.open[class.index()].next == self.shape.slots { self.seal(class) } else { Ok(()) }
    }

    fn seal(&mut self, class: Class) -> Result<(), FtlError> {
        let seg = self.open[class.index()].seg;
        let i = seg.index();
        let sealed = self.log.seal(seg, self.segments.erases[i], self.segments.opened[i], self.segments.class[i]);
        match sealed {
            Ok(programmed) => {
                self.stats.meta_programs += u64::from(programmed);
                self.close(class);
                Ok(())
            }
            // Without its summary the segment is scanned page by page; its data must leave the failing block.
            Err(ErrorKind::ProgramFailed) => {
                self.give_up(class);
                Ok(())
            }
            Err(error) => Err(FtlError::Chip(error)),
        }
    }

    /// Ends the open segment of a class where it stands, without a summary.
    pub(super) fn abandon(&mut self, class: Class) {
        self.log.abandon(self.open[class.index()].seg);
        self.close(class);
    }

    /// Ends the open segment of a class, whatever it holds.
    fn close(&mut self, class: Class) {
        let seg = core::mem::replace(&mut self.open[class.index()], OpenSegment::NONE).seg;
        self.segments.close(seg);
        if self.segments.valid[seg.index()] == 0 {
            self.empties.push_back(seg);
            self.alert();
        } else {
            self.introduce(seg);
        }
    }

    /// Tells the victim policy of a closed segment that is not empty.
    pub(super) fn introduce(&mut self, seg: Seg) {
        if self.segments.is_candidate(seg) {
            self.victims.added(seg, &self.segments);
        } else if self.segments.state[seg.index()] == SegState::Closed {
            self.victims.closed_full(seg);
        }
    }

    /// Gives up the open segment of a class because a program failed in it: its data will be moved, and the
    /// segment retired.
    #[cold]
    pub(super) fn give_up(&mut self, class: Class) {
        let seg = self.open[class.index()].seg;
        self.abandon(class);
        self.condemn(seg);
    }

    /// Has a segment emptied out of turn and retired.
    fn condemn(&mut self, seg: Seg) {
        self.segments.failing[seg.index()] = true;
        self.flag_urgent(seg);
    }

    /// Takes note of the segments in which flags could not be cleared: as after [`give_up`](Self::give_up).
    #[inline]
    pub(super) fn note_failures(&mut self) {
        while let Some(seg) = self.log.take_failed() {
            self.note_failure(seg);
        }
    }

    #[cold]
    fn note_failure(&mut self, seg: Seg) {
        for class in (0..Class::COUNT as u8).map(Class) {
            if self.parked[class.index()].is_open() && self.parked[class.index()].seg == seg {
                self.abandon_parked(class);
            }
            if self.open[class.index()].is_open() && self.open[class.index()].seg == seg {
                self.abandon(class);
            }
        }
        // In any other state it holds nothing; and if it can be erased, it is as good as any.
        if matches!(self.segments.state[seg.index()], SegState::Closed | SegState::Victim) {
            self.condemn(seg);
        }
    }

    /// Empties and retires every segment in which a program failed, so that no mount finds in one what is superseded.
    /// Discards wait for that: nothing else would speak against an old copy there.
    #[inline]
    pub(super) fn retire_failing(&mut self) -> Result<(), FtlError> {
        self.note_failures();
        if self.urgent_segments > 0 { self.empty_failing() } else { Ok(()) }
    }

    #[cold]
    fn empty_failing(&mut self) -> Result<(), FtlError> {
        for _ in 0..=2 * self.shape.segments {
            if self.urgent_segments == 0 {
                return Ok(());
            }
            if !self.clean_urgently()? {
                break;
            }
            self.note_failures();
        }
        Err(self.worn_out())
    }

    /// Puts the open segments of a bank that begins to erase aside, since it takes no programs until it has
    /// ended (Kawaguchi '95, section 2.4). Where too few segments are free to open others, waits instead.
    fn park(&mut self, bank: u32) -> Result<(), FtlError> {
        for class in 0..Class::COUNT {
            let open = self.open[class];
            if !open.is_open() || self.free.bank_of(open.seg) != bank {
                continue;
            }
            if self.free.usable() <= URGENT_BELOW || self.parked[class].is_open() {
                return self.finish_erase(true);
            }
            self.parked[class] = core::mem::replace(&mut self.open[class], OpenSegment::NONE);
        }
        Ok(())
    }

    /// Takes up again what was put aside for a class, if its bank has ended its erase.
    fn unpark(&mut self, class: Class) -> bool {
        let parked = self.parked[class.index()];
        if !parked.is_open() || self.open[class.index()].is_open() || self.log.is_erasing(self.free.bank_of(parked.seg))
        {
            return false;
        }
        self.parked[class.index()] = OpenSegment::NONE;
        self.open[class.index()] = parked;
        true
    }

    /// Closes the segment that was put aside for a class.
    fn abandon_parked(&mut self, class: Class) {
        let parked = core::mem::replace(&mut self.parked[class.index()], OpenSegment::NONE);
        let open = core::mem::replace(&mut self.open[class.index()], parked);
        self.abandon(class);
        self.open[class.index()] = open;
    }

    /// Closes every open segment where it stands.
    pub(super) fn abandon_open(&mut self) {
        for class in (0..Class::COUNT as u8).map(Class) {
            if self.parked[class.index()].is_open() {
                self.abandon_parked(class);
            }
            if self.open[class.index()].is_open() {
                self.abandon(class);
            }
        }
    }

    /// Asks for a segment to be emptied out of turn.
    pub(super) fn flag_urgent(&mut self, seg: Seg) {
        if !core::mem::replace(&mut self.segments.urgent[seg.index()], true) {
            self.urgent_segments += 1;
            self.alert();
        }
    }

    /// Closes open segments that are to be emptied: their data fades while they wait to be filled.
    pub(super) fn abandon_urgent(&mut self) {
        for class in (0..Class::COUNT as u8).map(Class) {
            let open = self.open[class.index()];
            if open.is_open() && self.segments.urgent[open.seg.index()] {
                self.abandon(class);
            }
        }
    }

    pub(super) fn clear_urgent(&mut self, seg: Seg) {
        if core::mem::replace(&mut self.segments.urgent[seg.index()], false) {
            self.urgent_segments -= 1;
        }
    }

    /// Opens a segment for `wanted`, or finds another class's that has room.
    #[cold]
    fn make_open(&mut self, wanted: Class, purpose: Purpose) -> Result<Class, FtlError> {
        if self.unpark(wanted) {
            return Ok(wanted);
        }
        for _ in 0..=self.shape.segments {
            let room = (0..Class::COUNT as u8).map(Class).find(|&c| self.has_room(c));
            let plenty = self.free.usable() >= URGENT_BELOW;
            if plenty || (purpose == Purpose::Copy && room.is_none() && self.free.total() > 0) {
                if self.open_segment(wanted)? {
                    return Ok(wanted);
                }
            } else if let Some(other) = room {
                return Ok(other);
            } else if self.erasing {
                self.finish_erase(true)?;
            } else {
                // A copy finds nothing free only where what was free has turned out bad. The discard map, which has to be
                // written before an erase, would be another copy.
                let gains = match purpose {
                    Purpose::Host => self.clean_urgently()?,
                    Purpose::Copy => self.dirty_count == 0 && self.reclaim_one()?,
                };
                if !gains {
                    break;
                }
            }
        }
        Err(self.worn_out())
    }

    pub(super) fn worn_out(&self) -> FtlError {
        FtlError::WornOut {
            good_segments: self.segments.sound(),
            needed_segments: self.config.needed_segments(&self.shape, L::DISCARDS, self.dirty_discards.len() as u32),
        }
    }

    /// The free segment to open next, waiting for an erase if only erasing banks have one.
    fn next_free(&mut self, class: Class) -> Result<Seg, FtlError> {
        if class == Class::WEAR
            && let Some(seg) = self.free.most_worn(&self.segments.erases)
            && !self.log.is_erasing(self.free.bank_of(seg))
        {
            return Ok(seg);
        }
        loop {
            let log = &mut self.log;
            if let Some(seg) = self.free.next(|bank| log.is_erasing(bank)) {
                return Ok(seg);
            }
            if !self.erasing {
                return Err(self.worn_out());
            }
            self.finish_erase(true)?;
        }
    }

    /// Opens a free segment for a class. False if the segment chosen turned out bad.
    pub(super) fn open_segment(&mut self, class: Class) -> Result<bool, FtlError> {
        self.remove_clean_mark()?;
        let seg = self.next_free(class)?;
        self.free.remove(seg);
        if self.segments.suspect[seg.index()] && !self.erase_now(seg)? {
            return Ok(false);
        }
        match self.log.open(seg, class, self.age_clock().now) {
            Ok(programmed) => self.stats.meta_programs += u64::from(programmed),
            Err(ErrorKind::ProgramFailed) => {
                self.retire(seg)?;
                return Ok(false);
            }
            Err(error) => return Err(FtlError::Chip(error)),
        }
        self.segments.open(seg, class, self.age_clock().now);
        self.placement.opened(class);
        self.open[class.index()] = OpenSegment { seg, next: 0 };
        let free = self.free.usable();
        let wanted = match self.when {
            When::Watermark { low, .. } => free < low,
            When::Falling { .. } => true,
        };
        if wanted || free < URGENT_BELOW {
            self.alert();
        }
        Ok(true)
    }

    /// Erases a segment that holds nothing live, after `copied_pages` were moved out of it, and makes it free, in the
    /// background if the chip does so.
    pub(super) fn reclaim(&mut self, seg: Seg, copied_pages: u32) -> Result<(), FtlError> {
        let i = seg.index();
        assert!(self.segments.valid[i] == 0, "only an empty segment is erased");
        self.leave_class(seg, copied_pages);
        self.remove_clean_mark()?;
        self.settle(Purpose::Copy)?;
        self.clear_urgent(seg);
        if core::mem::replace(&mut self.segments.failing[i], false) {
            return self.retire(seg);
        }
        self.finish_erase(true)?;
        self.segments.state[i] = SegState::Erasing;
        match self.start_erase(seg)? {
            Some(EraseProgress::Done) => self.freed(seg),
            Some(EraseProgress::InBackground) => {
                self.erasing = true;
                return self.park(self.free.bank_of(seg));
            }
            None => {}
        }
        Ok(())
    }

    /// Tells the placement that a segment is no longer of its class.
    pub(super) fn leave_class(&mut self, seg: Seg, copied_pages: u32) {
        let i = seg.index();
        let lifetime = self.age_clock().now.saturating_sub(self.segments.opened[i]);
        self.placement.reclaimed(Reclaimed { class: self.segments.class[i], lifetime, copied_pages });
    }

    /// Starts an erase; none if the segment had to be retired.
    fn start_erase(&mut self, seg: Seg) -> Result<Option<EraseProgress>, FtlError> {
        let erases = self.segments.erases[seg.index()] + 1;
        match self.log.erase(seg, erases) {
            Ok((progress, programmed)) => {
                self.stats.meta_programs += u64::from(programmed);
                self.stats.erases += 1;
                self.segments.erases[seg.index()] = erases;
                self.dead.gone(seg);
                self.spread.erased(erases);
                self.probe.erased(seg.0, erases);
                Ok(Some(progress))
            }
            Err(ErrorKind::EraseFailed | ErrorKind::ProgramFailed) => self.retire(seg).map(|()| None),
            Err(error) => Err(FtlError::Chip(error)),
        }
    }

    /// Erases a segment and waits for it. False if it had to be retired.
    fn erase_now(&mut self, seg: Seg) -> Result<bool, FtlError> {
        self.finish_erase(true)?;
        match self.start_erase(seg)? {
            Some(EraseProgress::Done) => Ok(true),
            Some(EraseProgress::InBackground) => match self.log.wait_erase() {
                Some((_, Err(_))) => self.retire(seg).map(|()| false),
                Some((_, Ok(()))) | None => Ok(true),
            },
            None => Ok(false),
        }
    }

    /// Erases a segment for the format. False if it is bad.
    pub(super) fn erase_for_format(&mut self, seg: Seg) -> Result<bool, MountError> {
        let erases = self.segments.erases[seg.index()];
        let ended = match self.log.erase(seg, erases) {
            Ok((EraseProgress::Done, _)) => Ok(()),
            Ok((EraseProgress::InBackground, _)) => self.log.wait_erase().map_or(Ok(()), |(_, ended)| ended),
            Err(error) => Err(error),
        };
        match ended {
            Ok(()) => Ok(true),
            Err(ErrorKind::EraseFailed | ErrorKind::ProgramFailed) => {
                self.log.retire(seg)?;
                self.segments.set_bad(seg);
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Takes note of an erase in the background that has ended; with `wait`, waits for it.
    pub(super) fn finish_erase(&mut self, wait: bool) -> Result<(), FtlError> {
        if !self.erasing {
            return Ok(());
        }
        self.stats.erase_waits += u64::from(wait);
        let ended = if wait { self.log.wait_erase() } else { self.log.poll_erase() };
        let Some((seg, result)) = ended else { return Ok(()) };
        self.erasing = false;
        match result {
            Ok(()) => self.freed(seg),
            Err(ErrorKind::EraseFailed | ErrorKind::ProgramFailed) => self.retire(seg)?,
            Err(error) => return Err(FtlError::Chip(error)),
        }
        Ok(())
    }

    /// A segment has been erased and can be opened again.
    fn freed(&mut self, seg: Seg) {
        self.segments.state[seg.index()] = SegState::Free;
        self.segments.suspect[seg.index()] = false;
        self.add_free(seg);
        if self.config.policies.wear.wants_move(self.spread.spread(self.config.endurance)) {
            self.wear_due = true;
            self.alert();
        }
    }

    pub(super) fn add_free(&mut self, seg: Seg) {
        let by_wear = self.config.policies.wear.opens_least_worn().then(|| self.segments.erases[seg.index()]);
        self.free.add(seg, by_wear);
    }

    /// Puts the free segments in the order of the wear policy in force.
    pub(super) fn reorder_free(&mut self) {
        for seg in self.segments.all() {
            if self.segments.state[seg.index()] == SegState::Free {
                self.free.remove(seg);
                self.add_free(seg);
            }
        }
    }

    #[cold]
    fn retire(&mut self, seg: Seg) -> Result<(), FtlError> {
        let i = seg.index();
        assert!(self.segments.valid[i] == 0, "a segment is emptied before it is retired");
        self.segments.set_bad(seg);
        self.clear_urgent(seg);
        self.dead.gone(seg);
        self.spread.retired(self.segments.erases[i]);
        self.stats.retired_segments += 1;
        match self.log.retire(seg) {
            Err(ErrorKind::ProgramFailed) if L::DISCARDS == Discards::Flagged => {
                self.refuse_writes(FtlError::Chip(ErrorKind::ProgramFailed));
                Ok(())
            }
            retired => retired.map_err(FtlError::Chip),
        }
    }

    /// From now on the device can only be read.
    pub(super) fn refuse_writes(&mut self, why: FtlError) {
        self.writable = Err(why);
        self.alert();
    }

    /// Erases one of the empty segments and waits for it. False if there is none.
    pub(super) fn reclaim_one(&mut self) -> Result<bool, FtlError> {
        self.finish_erase(true)?;
        let reclaimed = self.reclaim_empty()?;
        self.finish_erase(true)?;
        Ok(reclaimed)
    }

    /// Erases the segment that has been empty longest. False if there is none.
    pub(super) fn reclaim_empty(&mut self) -> Result<bool, FtlError> {
        let Some(seg) = self.empties.pop_front() else { return Ok(false) };
        self.stats.free_erases += 1;
        self.reclaim(seg, 0)?;
        Ok(true)
    }

    /// Erases the mark of a clean shutdown, before anything else changes on flash.
    pub(super) fn remove_clean_mark(&mut self) -> Result<(), FtlError> {
        let Some(seg) = self.clean_mark.take() else { return Ok(()) };
        if self.erase_now(seg)? {
            self.freed(seg);
        }
        Ok(())
    }

    /// Makes sure that nothing which superseded a page can be lost: discards are on flash, and no page that
    /// a later program could damage is the only new copy.
    pub(super) fn settle(&mut self, purpose: Purpose) -> Result<(), FtlError> {
        if L::DISCARDS != Discards::Logged {
            return Ok(());
        }
        if self.dirty_count > 0 {
            self.write_discards(purpose)?;
        }
        self.pad_open()
    }

    /// Pads open segments until no later program can damage a page that is in them.
    pub(super) fn pad_open(&mut self) -> Result<(), FtlError> {
        self.pad_while(|log, _, next| log.padding(next) > 0)
    }

    /// Pads open segments until no later mount can take what is in them for torn.
    pub(super) fn pad_beyond_suspicion(&mut self) -> Result<(), FtlError> {
        self.pad_while(|log, end, next| log.suspect_from(next) < end)
    }

    /// Pads each open segment while `wanted` says so of where its data ends and of the slot that is next.
    fn pad_while(&mut self, wanted: impl Fn(&L, u32, u32) -> bool) -> Result<(), FtlError> {
        for class in (0..Class::COUNT as u8).map(Class) {
            let end = self.open[class.index()].next;
            while self.has_room(class) && wanted(&self.log, end, self.open[class.index()].next) {
                self.pad(class)?;
            }
        }
        Ok(())
    }

    fn pad(&mut self, class: Class) -> Result<(), FtlError> {
        match self.program_pad(class) {
            Ok(()) => self.close_if_full(class),
            Err(ErrorKind::ProgramFailed) => Ok(()),
            Err(error) => Err(FtlError::Chip(error)),
        }
    }

    /// Programs padding into the next slot of a class, as [`program`](Self::program) does a page.
    pub(super) fn program_pad(&mut self, class: Class) -> Result<(), ErrorKind> {
        let OpenSegment { seg, next } = self.open[class.index()];
        assert!(next < self.shape.slots, "padding goes where there is room");
        let padded = self.log.pad(self.map.ppn(seg, next));
        match padded {
            Ok(()) => {
                self.stats.meta_programs += 1;
                self.open[class.index()].next = next + 1;
            }
            Err(ErrorKind::ProgramFailed) => self.give_up(class),
            Err(_) => {}
        }
        padded
    }
}
