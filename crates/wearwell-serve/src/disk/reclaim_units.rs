//! The reclaim unit handles of a disk: their segments, and what hosts watch of them.

use wearwell::Class;

use super::handles::{HandleDeed, HandleEvent, Watched};
use super::{Disk, DiskError, SegmentState};
use crate::fdp::FdpSpec;

impl Disk {
    /// Reclaim unit handles; none if the disk was made without them.
    pub fn fdp(&self) -> Option<FdpSpec> {
        self.fdp
    }

    /// Whether the next process that opens the disk knows what hosts watch.
    pub fn keeps_watched(&self) -> bool {
        self.life.is_kept()
    }

    /// The class of what the host writes to a handle, if there is such a handle.
    fn class_of(&self, handle: u16) -> Option<Class> {
        self.fdp?.class_of(handle)
    }

    /// Bytes that still fit into the segment of a handle's writes; none if the next write opens a segment.
    pub fn handle_room(&self, handle: u16) -> Option<u64> {
        let pages = self.engine.room_of(self.class_of(handle)?.0)?;
        Some(u64::from(pages) * u64::from(self.page_bytes))
    }

    /// True if a handle's segment has room, and pages of the host.
    pub(super) fn has_begun(&self, handle: u16) -> bool {
        // No room is a full segment, and room for all of it is one that nothing was written to.
        self.handle_room(handle).is_some_and(|room| (1..self.segment_bytes).contains(&room))
    }

    /// The handles whose segment is partly written, of those whose host wants to hear of a restart: bit n is handle n.
    pub(super) fn begun_handles(&self) -> u16 {
        let watched = self.events.handles().all_watched();
        let wanted = (0..).zip(watched).filter(|(_, watched)| watched.has(Watched::RESTARTED));
        wanted.filter(|(handle, _)| self.has_begun(*handle)).fold(0, |begun, (handle, _)| begun | 1 << handle)
    }

    /// The open segments of handles.
    pub(super) fn handle_segments(&self) -> Vec<Option<u32>> {
        let rows = self.engine.segment_rows();
        let open_of =
            |class: Class| rows.iter().find(|row| row.class == Some(class.0) && row.state == SegmentState::Open);
        let handles = 0..self.fdp.map_or(0, |fdp| fdp.handles);
        handles.map(|handle| self.class_of(handle).and_then(open_of).map(|row| row.segment)).collect()
    }

    /// Sends the next write of a handle to an empty segment.
    ///
    /// # Errors
    /// `PowerOff`, `NoRoom`.
    pub fn renew_handle(&mut self, handle: u16) -> Result<(), DiskError> {
        self.check_changeable()?;
        // Asked before the segment is ended. To end one that is full, or empty, is no event.
        let was_begun = self.has_begun(handle);
        if let Some(class) = self.class_of(handle) {
            self.engine_end_segment(handle, class);
        }
        if was_begun {
            self.events.note_handle(handle, HandleDeed::Unfilled);
        }
        self.keep_life();
        Ok(())
    }

    /// Notes that a host named a handle that there is none of, for a write that goes to `handle`.
    pub fn note_unknown_handle(&mut self, handle: u16, identifier: u16) {
        self.events.note_handle(handle, HandleDeed::Unknown { identifier });
    }

    /// The kinds of deeds that are logged for a handle.
    pub fn watched(&self, handle: u16) -> Watched {
        self.events.handles().watched(handle)
    }

    /// Logs these kinds of deeds for a handle from now on.
    pub fn watch_handle(&mut self, handle: u16, watched: Watched) {
        self.events.handles().watch(handle, watched);
        self.keep_life();
    }

    /// The last deeds of the host or of the controller that were logged, the oldest first: at most 63.
    pub fn handle_events(&self, of_host: bool) -> Vec<HandleEvent> {
        self.events.handles().events(of_host)
    }
}
