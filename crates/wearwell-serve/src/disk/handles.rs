//! What the engine did to reclaim unit handles without being told: the controller's events of Flexible Data Placement.

use std::collections::VecDeque;

use wearwell::Placement;

/// Events that are kept. NVMe's log has room for as many.
const KEPT_EVENTS: usize = 63;

/// Something that happened to a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandleEvent {
    /// The handle.
    pub handle: u16,
    /// The start of the command in which it happened, in microseconds since the disk was opened.
    pub time_us: u64,
    /// What happened.
    pub deed: HandleDeed,
}

/// What the engine did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandleDeed {
    /// Pages that the host had written by the handle were moved out of their segment.
    Moved {
        /// Their number.
        pages: u32,
        /// One of them.
        page: u32,
    },
    /// The handle left its segment, which the host had neither filled nor ended.
    Turned,
}

/// The deeds that are logged for a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Watched {
    /// [`HandleDeed::Moved`].
    pub moved: bool,
    /// [`HandleDeed::Turned`].
    pub turned: bool,
}

/// The log. The class of a handle has its number.
///
/// What is moved out of one segment is one event. It is added when the segment is erased, when the next one is begun,
/// or when somebody reads the log.
#[derive(Debug, Default)]
pub(super) struct HandleLog {
    watched: [Watched; Placement::HANDLES as usize],
    /// The oldest first, at most [`KEPT_EVENTS`].
    events: VecDeque<HandleEvent>,
    /// The segment that is being emptied, and its event.
    moving: Option<(u32, HandleEvent)>,
}

impl HandleLog {
    /// Logs these deeds for a handle from now on.
    pub(super) fn watch(&mut self, handle: u16, watched: Watched) {
        self.end_moving();
        if let Some(place) = self.watched.get_mut(usize::from(handle)) {
            *place = watched;
        }
    }

    pub(super) fn events(&mut self) -> Vec<HandleEvent> {
        self.end_moving();
        self.events.iter().copied().collect()
    }

    pub(super) fn moved(&mut self, time_us: u64, segment: u32, class: u8, pages: u32, page: u32) {
        if !self.watched(class).moved {
            return;
        }
        match &mut self.moving {
            Some((from, HandleEvent { deed: HandleDeed::Moved { pages: sum, .. }, .. })) if *from == segment => {
                *sum += pages;
            }
            _ => {
                self.end_moving();
                let deed = HandleDeed::Moved { pages, page };
                self.moving = Some((segment, HandleEvent { handle: u16::from(class), time_us, deed }));
            }
        }
    }

    pub(super) fn turned(&mut self, time_us: u64, class: u8) {
        if self.watched(class).turned {
            self.add(HandleEvent { handle: u16::from(class), time_us, deed: HandleDeed::Turned });
        }
    }

    /// What is logged of a class; nothing of one that is no handle's.
    fn watched(&self, class: u8) -> Watched {
        self.watched.get(usize::from(class)).copied().unwrap_or_default()
    }

    pub(super) fn erased(&mut self, segment: u32) {
        if self.moving.is_some_and(|(from, _)| from == segment) {
            self.end_moving();
        }
    }

    fn end_moving(&mut self) {
        if let Some((_, event)) = self.moving.take() {
            self.add(event);
        }
    }

    fn add(&mut self, event: HandleEvent) {
        if self.events.len() == KEPT_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_one_segment_is_one_event_and_only_what_is_watched_is_logged() {
        let mut log = HandleLog::default();
        log.moved(1, 7, 2, 5, 100);
        log.turned(1, 2);
        assert_eq!(log.events(), [], "nobody wants to know");
        log.watch(2, Watched { moved: true, turned: false });
        log.moved(2, 7, 2, 5, 100);
        log.moved(3, 7, 2, 3, 200);
        log.turned(3, 2);
        log.moved(3, 8, 3, 9, 300);
        log.erased(7);
        log.moved(4, 7, 2, 1, 400);
        let moved = |time_us, pages, page| HandleEvent { handle: 2, time_us, deed: HandleDeed::Moved { pages, page } };
        assert_eq!(log.events(), [moved(2, 8, 100), moved(4, 1, 400)], "erased in between, so two events");
        log.watch(15, Watched { moved: true, turned: true });
        log.watch(2, Watched { moved: false, turned: true });
        (0..100).for_each(|time_us| log.turned(time_us, 2));
        let events = log.events();
        assert_eq!((events.len(), events[0].time_us), (63, 37), "the last ones");
    }
}
