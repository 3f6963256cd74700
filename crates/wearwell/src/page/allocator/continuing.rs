//! Continuing segments that a mount found open, on NOR.
//!
//! One segment of each class is opened again at once. The others are closed, so that they can be emptied like any
//! other. But they have free slots: where no segment is free, these may be all that copies or the host can be given.

use super::{Allocator, OpenSegment};
use crate::addr::{Class, Seg};
use crate::clean::which::VictimChoice;
use crate::ftl::Probe;
use crate::page::log::Log;
use crate::page::map::PageMap;
use crate::place::{ClassPlacement, Opened, PlaceChoice};
use crate::segments::{Health, SegState};

impl<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice> Allocator<L, P, M, V, W> {
    /// True if a segment is the open one of its class.
    pub(in crate::page) fn is_open(&self, seg: Seg) -> bool {
        self.open_segment(self.table().class(seg)).seg == seg
    }

    /// Continues a segment that a mount found open: now, or if its class has one already, when there is no other place.
    pub(in crate::page) fn resume(&mut self, seg: Seg, next: u32) {
        let open = &mut self.open[self.index.pool().table().class(seg).index()];
        // Only NOR comes here, which has no tag pages.
        let found = OpenSegment { seg, next, stop: self.shape.slots };
        if open.is_open() {
            self.continuable.push(found);
        } else {
            *open = found;
        }
    }

    /// True if a segment can be continued that was not.
    pub(in crate::page) fn is_continuable(&self, seg: Seg) -> bool {
        self.continuable.iter().any(|found| found.seg == seg)
    }

    /// Where free segments are scarce, copies go to what has room. If only a segment that can be continued has, it must
    /// not be the next one to be emptied, though it may well have the fewest valid pages: the last free segment may
    /// turn out bad.
    pub(in crate::page) fn keep_place_for_copies(&mut self) {
        if !self.continuable.is_empty() {
            self.find_room();
        }
    }

    /// Opens one of the segments again that a mount has not continued. Returns its class, or none if there is none.
    pub(super) fn continue_another(&mut self) -> Option<Class> {
        // Spec O6.
        let at = (0..self.continuable.len()).find(|&at| self.takes_more(self.continuable[at].seg))?;
        let found = self.continuable.remove(at);
        let class = self.table().class(found.seg);
        self.index.pool_mut().reopen(found.seg);
        self.placement.opened(Opened { seg: found.seg, class, clock: self.index.clock().host_pages });
        self.open[class.index()] = found;
        Some(class)
    }

    /// True if a segment that can be continued is neither being emptied nor empty, nothing in it has failed, and its
    /// bank takes programs.
    fn takes_more(&mut self, seg: Seg) -> bool {
        let table = self.index.pool().table();
        // Without a valid page it waits among the empty segments for its erase, and `reopen` takes candidates only.
        let is_closed = table.state(seg) == SegState::Closed(Health::Sound) && table.valid(seg) > 0;
        let has_place = !self.open[table.class(seg).index()].is_open();
        is_closed && has_place && !self.log.is_erasing(self.free.bank_of(seg))
    }

    /// A segment that is erased begins anew.
    pub(in crate::page) fn forget_continuable(&mut self, seg: Seg) {
        self.continuable.retain(|found| found.seg != seg);
    }
}
