//! Closing segments that are not full, and putting them aside.

use super::{Allocator, OpenSegment};
use crate::addr::{Class, Seg};
use crate::clean::when::Supply;
use crate::clean::which::VictimChoice;
use crate::ftl::{FtlError, Probe};
use crate::page::log::Log;
use crate::page::map::PageMap;
use crate::place::{ClassPlacement, Closed, PlaceChoice};
use crate::segments::{Health, Segments};

impl<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice> Allocator<L, P, M, V, W> {
    /// Ends every open segment that holds something with a summary, so that later mounts know what was in it whatever
    /// becomes of its pages.
    pub(in crate::page) fn seal_open(&mut self) -> Result<(), FtlError> {
        for class in (0..Class::COUNT as u8).map(Class) {
            let OpenSegment { seg, next, .. } = self.open[class.index()];
            // Where no page counts, a mount needs no summary: the segment is erased before it is used.
            if self.open[class.index()].is_open() && next > 0 && self.table().valid(seg) > 0 {
                self.seal(class)?;
                self.note_turn(class);
            }
        }
        Ok(())
    }

    /// Ends the open segment of a class without a summary, because something in it failed.
    pub(in crate::page) fn abandon(&mut self, class: Class) {
        self.has_failed = true;
        self.log.abandon(self.open[class.index()].seg);
        self.close(class);
    }

    pub(super) fn close(&mut self, class: Class) {
        let seg = core::mem::replace(&mut self.open[class.index()], OpenSegment::NONE).seg;
        self.close_segment(seg);
    }

    /// A segment that is no longer among the open ones takes no more.
    fn close_segment(&mut self, seg: Seg) {
        self.index.close(seg);
        let class = self.table().class(seg);
        self.placement.closed(Closed { seg, class, clock: self.index.clock().host_pages });
    }

    /// Ends the open segment of a class that holds the mark of a clean shutdown and no page of the map.
    pub(in crate::page) fn close_mark(&mut self, class: Class) {
        let seg = core::mem::replace(&mut self.open[class.index()], OpenSegment::NONE).seg;
        self.log.abandon(seg);
        self.keep_mark(seg);
    }

    /// Keeps a segment that holds only the mark of a clean shutdown. It is erased before anything else changes.
    pub(in crate::page) fn keep_mark(&mut self, seg: Seg) {
        self.leave_class(seg, 0);
        // In this state nobody opens it, and no policy takes it.
        self.index.pool_mut().table_mut().start_erase(seg);
        self.clean_mark = Some(seg);
    }

    /// Gives up the open segment of a class because a program in it failed. Its data will be moved, and the segment
    /// retired.
    #[cold]
    pub(super) fn give_up(&mut self, class: Class) {
        let seg = self.open[class.index()].seg;
        self.abandon(class);
        self.index.pool_mut().distrust(seg, Health::Failing);
    }

    /// Closes every open segment.
    pub(in crate::page) fn abandon_open(&mut self) {
        self.abandon_where(|_, _| true);
    }

    /// Closes open segments that are to be emptied, because their data would fade while they wait to be filled.
    pub(in crate::page) fn abandon_unsound(&mut self) {
        self.abandon_where(|table, seg| table.state(seg).health() != Health::Sound);
    }

    /// Closes the open and the parked segments for which `wanted` is true.
    fn abandon_where(&mut self, wanted: impl Fn(&Segments, Seg) -> bool) {
        for class in (0..Class::COUNT as u8).map(Class) {
            for is_parked in [true, false] {
                let list = if is_parked { &mut self.parked } else { &mut self.open };
                let OpenSegment { seg, .. } = list[class.index()];
                if list[class.index()].is_open() && wanted(self.index.pool().table(), seg) {
                    list[class.index()] = OpenSegment::NONE;
                    self.log.abandon(seg);
                    self.close_segment(seg);
                    self.probe.turned(class.0);
                }
            }
        }
    }

    /// Gives up the segments in which flags could not be cleared, as [`give_up`](Self::give_up) does.
    #[inline]
    pub(in crate::page) fn note_failures(&mut self) {
        while let Some(seg) = self.log.take_failed() {
            self.note_failure(seg);
        }
    }

    #[cold]
    fn note_failure(&mut self, failed: Seg) {
        self.has_failed = true;
        self.abandon_where(|_, seg| seg == failed);
        // In any other state it holds nothing. If it can be erased, it is as good as any other.
        if self.table().state(failed).is_in_use() {
            self.index.pool_mut().distrust(failed, Health::Failing);
        }
    }

    /// Puts aside the open segments of a bank that begins to erase, because the bank takes no programs until the erase
    /// has ended (Kawaguchi '95, section 2.4). If too few segments are free to open others, waits instead.
    pub(in crate::page) fn park(&mut self, bank: u32) -> Result<(), FtlError> {
        for class in 0..Class::COUNT {
            let open = self.open[class];
            if !open.is_open() || self.free.bank_of(open.seg) != bank {
                continue;
            }
            // Each class that is put aside opens a free segment in its place, and puts one aside at most.
            if self.free.supply() < Supply::Enough || self.parked[class].is_open() {
                // Once the erase has ended, no class has to be put aside.
                return self.finish_erase(true);
            }
            self.parked[class] = core::mem::replace(&mut self.open[class], OpenSegment::NONE);
        }
        Ok(())
    }

    /// Reopens the parked segment of a class, if its bank has ended its erase.
    pub(super) fn unpark(&mut self, class: Class) -> bool {
        let parked = self.parked[class.index()];
        if !parked.is_open() || self.open[class.index()].is_open() || self.log.is_erasing(self.free.bank_of(parked.seg))
        {
            return false;
        }
        self.parked[class.index()] = OpenSegment::NONE;
        self.open[class.index()] = parked;
        true
    }
}
