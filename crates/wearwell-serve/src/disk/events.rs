//! The last events of cleaning in an engine.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use wearwell::{Class, Probe};

use super::handles::{HandleDeed, HandleLog};
use crate::fdp::FdpSpec;

/// Events that are kept.
pub const KEPT_EVENTS: usize = 256;

/// Something that the engine did to clean, to level wear, or to merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Numbers start at 1 and have no gaps. Older events are dropped.
    pub number: u64,
    /// The start of the command in which it happened, in microseconds since the disk was opened.
    pub time_us: u64,
    /// What happened.
    #[serde(flatten)]
    pub deed: Deed,
}

/// What an engine did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Deed {
    /// A segment was chosen to be emptied.
    Victim {
        /// The segment.
        segment: u32,
        /// Pages to be moved out of it.
        valid_pages: u32,
    },
    /// A segment was erased.
    Erased {
        /// The segment.
        segment: u32,
        /// The segment's erases so far.
        erases: u32,
    },
    /// A log block moved to a fresh one.
    Migrated {
        /// The logical block.
        logical_block: u32,
        /// Pages that were copied.
        copied_pages: u32,
    },
}

/// The last events, and those of reclaim unit handles. The engine's probe adds them, and others read them. All clones
/// share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Events(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    now_us: AtomicU64,
    /// The handles, whose classes the engine tells of.
    fdp: Option<FdpSpec>,
    /// At most [`KEPT_EVENTS`], with numbers without gaps.
    last: Mutex<VecDeque<Event>>,
    handles: Mutex<HandleLog>,
}

impl Events {
    /// Of a disk with these handles.
    pub(super) fn of(fdp: Option<FdpSpec>) -> Self {
        Self(Arc::new(Shared { fdp, ..Shared::default() }))
    }

    pub(super) fn set_time_us(&self, now_us: u64) {
        self.0.now_us.store(now_us, Ordering::Relaxed);
    }

    fn now_us(&self) -> u64 {
        self.0.now_us.load(Ordering::Relaxed)
    }

    /// What happened to reclaim unit handles.
    pub(super) fn handles(&self) -> MutexGuard<'_, HandleLog> {
        // No panic can leave a list of events inconsistent.
        self.0.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what happened to a handle.
    pub(super) fn note_handle(&self, handle: u16, deed: HandleDeed) {
        self.handles().note(self.now_us(), handle, deed);
    }

    /// The events after number `seen`, the oldest first.
    pub(super) fn after(&self, seen: u64) -> Vec<Event> {
        self.last().iter().filter(|event| event.number > seen).cloned().collect()
    }

    fn last(&self) -> MutexGuard<'_, VecDeque<Event>> {
        // No panic can leave a list of events inconsistent.
        self.0.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, deed: Deed) {
        let time_us = self.now_us();
        let mut last = self.last();
        // Under the same lock as the row, so that the numbers have no gaps.
        let number = last.back().map_or(1, |event| event.number + 1);
        if last.len() == KEPT_EVENTS {
            last.pop_front();
        }
        last.push_back(Event { number, time_us, deed });
    }
}

impl Probe for Events {
    fn erased(&mut self, segment: u32, erases: u32) {
        self.add(Deed::Erased { segment, erases });
        self.handles().erased(segment);
    }

    fn victim(&mut self, segment: u32, valid_pages: u32) {
        self.add(Deed::Victim { segment, valid_pages });
    }

    fn wants_moves(&self) -> bool {
        true
    }

    fn moved(&mut self, segment: u32, class: u8, pages: u32, page: u32) {
        if let Some(handle) = self.0.fdp.and_then(|fdp| fdp.handle_of(Class(class))) {
            self.handles().moved(self.now_us(), segment, handle, pages, page);
        }
    }

    fn turned(&mut self, class: u8) {
        // Hosts know the segment that their writes go to. One that only copies went to is none of theirs.
        let written = |fdp: FdpSpec| fdp.handle_of(Class(class)).filter(|&to| fdp.class_of(to) == Some(Class(class)));
        if let Some(handle) = self.0.fdp.and_then(written) {
            self.note_handle(handle, HandleDeed::Turned);
        }
    }

    fn migrated(&mut self, logical_block: u32, copied_pages: u32, _: u32) {
        self.add(Deed::Migrated { logical_block, copied_pages });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_events_are_kept_with_their_times_and_numbers() {
        let events = Events::default();
        let mut probe = events.clone();
        for time_us in 1..=300 {
            events.set_time_us(time_us);
            probe.erased(7, time_us as u32);
        }
        let all = events.after(0);
        assert_eq!((all.len(), all[0].number, all[0].time_us), (KEPT_EVENTS, 45, 45));
        let deed = Deed::Erased { segment: 7, erases: 300 };
        assert_eq!(events.after(299), [Event { number: 300, time_us: 300, deed }]);
        assert!(events.after(300).is_empty());
    }
}
