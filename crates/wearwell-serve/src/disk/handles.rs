//! The events of Flexible Data Placement: what became of a handle's segment, by its host or without.

use std::collections::VecDeque;

use wearwell::Placement;

/// Events of the host, and of the controller, that are kept. NVMe's logs have room for as many.
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

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandleDeed {
    /// The host ended a segment that was partly written.
    Unfilled,
    /// The disk was opened by another process, and the segment was partly written.
    Restarted,
    /// The host named a handle that there is none of. The write went to this one.
    Unknown {
        /// What it named.
        identifier: u16,
    },
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

impl HandleDeed {
    /// The set of only this kind.
    fn kind(self) -> Watched {
        match self {
            Self::Unfilled => Watched::UNFILLED,
            Self::Restarted => Watched::RESTARTED,
            Self::Unknown { .. } => Watched::UNKNOWN,
            Self::Moved { .. } => Watched::MOVED,
            Self::Turned => Watched::TURNED,
        }
    }

    /// Whether it is the host's, as the specification sorts events. All others are the controller's.
    pub fn is_hosts(self) -> bool {
        matches!(self, Self::Unfilled | Self::Restarted | Self::Unknown { .. })
    }
}

/// The kinds of deeds that are logged for a handle. An image keeps them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Watched(u8);

impl Watched {
    /// None.
    pub const NONE: Self = Self(0);
    /// [`HandleDeed::Unfilled`].
    pub const UNFILLED: Self = Self(1);
    /// [`HandleDeed::Restarted`].
    pub const RESTARTED: Self = Self(2);
    /// [`HandleDeed::Unknown`].
    pub const UNKNOWN: Self = Self(4);
    /// [`HandleDeed::Moved`].
    pub const MOVED: Self = Self(8);
    /// [`HandleDeed::Turned`].
    pub const TURNED: Self = Self(16);

    /// These kinds and others.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// These kinds without others.
    #[must_use]
    pub fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether all of these are among them.
    pub fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    pub(super) fn bits(self) -> u8 {
        self.0
    }

    pub(super) fn from_bits(bits: u8) -> Self {
        Self(bits)
    }
}

/// The log.
///
/// What is moved out of one segment is one event. It is added when the segment is erased, when the next one is begun,
/// or when somebody reads the log.
#[derive(Debug, Default)]
pub(super) struct HandleLog {
    watched: [Watched; Placement::HANDLES as usize],
    /// Of the host, and of the controller; the oldest first, at most [`KEPT_EVENTS`] of each.
    hosts: VecDeque<HandleEvent>,
    controllers: VecDeque<HandleEvent>,
    /// The segment that is being emptied, and its event.
    moving: Option<(u32, HandleEvent)>,
}

impl HandleLog {
    /// Logs these kinds of deeds of a handle from now on.
    pub(super) fn watch(&mut self, handle: u16, watched: Watched) {
        // What was moved so far was moved under the old wish.
        self.end_moving();
        if let Some(place) = self.watched.get_mut(usize::from(handle)) {
            *place = watched;
        }
    }

    /// What is logged of each handle.
    pub(super) fn all_watched(&self) -> [Watched; Placement::HANDLES as usize] {
        self.watched
    }

    pub(super) fn events(&mut self, of_host: bool) -> Vec<HandleEvent> {
        self.end_moving();
        let events = if of_host { &self.hosts } else { &self.controllers };
        events.iter().copied().collect()
    }

    /// Logs a deed, if somebody wants to hear of it.
    pub(super) fn note(&mut self, time_us: u64, handle: u16, deed: HandleDeed) {
        if self.watched(handle).has(deed.kind()) {
            self.add(HandleEvent { handle, time_us, deed });
        }
    }

    pub(super) fn moved(&mut self, time_us: u64, segment: u32, handle: u16, pages: u32, page: u32) {
        if !self.watched(handle).has(Watched::MOVED) {
            return;
        }
        match &mut self.moving {
            Some((from, HandleEvent { deed: HandleDeed::Moved { pages: sum, .. }, .. })) if *from == segment => {
                *sum += pages;
            }
            _ => {
                self.end_moving();
                let deed = HandleDeed::Moved { pages, page };
                self.moving = Some((segment, HandleEvent { handle, time_us, deed }));
            }
        }
    }

    /// What is logged of a handle; nothing of one that there is not.
    pub(super) fn watched(&self, handle: u16) -> Watched {
        self.watched.get(usize::from(handle)).copied().unwrap_or_default()
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
        let events = if event.deed.is_hosts() { &mut self.hosts } else { &mut self.controllers };
        if events.len() == KEPT_EVENTS {
            events.pop_front();
        }
        events.push_back(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_one_segment_is_one_event_and_only_what_is_watched_is_logged() {
        let mut log = HandleLog::default();
        log.moved(1, 7, 2, 5, 100);
        log.note(1, 2, HandleDeed::Turned);
        assert_eq!(log.events(false), [], "nobody wants to know");
        log.watch(2, Watched::MOVED);
        log.moved(2, 7, 2, 5, 100);
        log.moved(3, 7, 2, 3, 200);
        log.note(3, 2, HandleDeed::Turned);
        log.moved(3, 8, 3, 9, 300);
        log.erased(7);
        log.moved(4, 7, 2, 1, 400);
        let moved = |time_us, pages, page| HandleEvent { handle: 2, time_us, deed: HandleDeed::Moved { pages, page } };
        assert_eq!(log.events(false), [moved(2, 8, 100), moved(4, 1, 400)], "erased in between, so two events");
        log.watch(15, Watched::MOVED.and(Watched::TURNED));
        log.watch(2, Watched::TURNED.and(Watched::UNFILLED));
        log.note(5, 2, HandleDeed::Unfilled);
        (0..100).for_each(|time_us| log.note(time_us, 2, HandleDeed::Turned));
        let events = log.events(false);
        assert_eq!((events.len(), events[0].time_us), (63, 37), "the last ones");
        let unfilled = HandleEvent { handle: 2, time_us: 5, deed: HandleDeed::Unfilled };
        assert_eq!(log.events(true), [unfilled], "the host's are apart");
    }
}
