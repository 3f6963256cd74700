//! Flexible Data Placement (TP4146, now in Base 2.1). There is one reclaim group. Its reclaim units are segments, and
//! the handle of each placement identifier is a class of segments.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::command::Sqe;
use super::io::{BLOCK_BYTES, NAMESPACE};
use super::medium::{Health, Medium};
use super::session::Turn;
use super::status::Status;
use super::target::Subsystem;
use crate::fdp::{FdpSpec, Isolation};

/// The one endurance group.
pub(super) const ENDURANCE_GROUP: u16 = 1;
/// Events that are kept, the newest.
const KEPT_EVENTS: usize = 63;
/// Most placement identifiers in one update command. Each may be named more than once.
const UPDATES: u32 = 128;

/// Types of host events.
mod event {
    pub(super) const NOT_FULLY_WRITTEN: u8 = 0x00;
    pub(super) const INVALID_IDENTIFIER: u8 = 0x03;
}

/// Every type of event that can be logged. The index of a type is its bit among the enabled ones.
const EVENT_TYPES: [u8; 2] = [event::NOT_FULLY_WRITTEN, event::INVALID_IDENTIFIER];
/// Flags of an event: its identifier, its namespace and its location are valid.
const EVENT_VALID: u8 = 0b111;

/// The variable state of placement: the enabled events, and the logged ones.
#[derive(Debug)]
pub(super) struct Placement {
    spec: FdpSpec,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// A set of event types for each handle.
    enabled: Vec<u8>,
    /// The oldest first.
    events: VecDeque<EventData>,
}

/// An event (Base 2.1, figure 281).
#[derive(Debug, Clone, Copy, FromZeros, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct EventData {
    kind: u8,
    flags: u8,
    identifier: U16,
    /// Milliseconds, in 48 bits, and how they are counted.
    timestamp: U64,
    namespace: U32,
    specific: [u8; 16],
    group: U16,
    handle: u8,
    reserved_35: [u8; 5],
    vendor: [u8; 24],
}

/// A configuration (figure 277), of which there is one.
#[derive(Debug, Clone, Copy, FromZeros, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct ConfigurationData {
    configurations_less_one: U16,
    version: u8,
    reserved_3: u8,
    log_bytes: U32,
    reserved_8: [u8; 8],
    bytes: U16,
    attributes: u8,
    vendor_bytes: u8,
    groups: U32,
    handles: U16,
    identifiers_less_one: U16,
    namespaces: U32,
    unit_bytes: U64,
    time_limit: U32,
    reserved_28: [u8; 36],
}

/// A handle's reclaim unit (NVM Command Set, figure 99).
#[derive(Debug, Clone, Copy, FromZeros, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct HandleData {
    identifier: U16,
    handle: U16,
    time_left: U32,
    blocks_left: U64,
    reserved_16: [u8; 16],
}

impl Placement {
    pub(super) fn new(spec: FdpSpec) -> Self {
        let enabled = vec![0; usize::from(spec.handles)];
        Self { spec, state: Mutex::new(State { enabled, events: VecDeque::new() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Sets and a list are whole whatever happened.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, handle: u16) -> Result<u16, Status> {
        if handle < self.spec.handles { Ok(handle) } else { Err(Status::INVALID_FIELD) }
    }

    /// The handle of a write's placement identifier. An invalid identifier is an event, and gives the first handle.
    pub(super) fn handle(&self, identifier: u16, now_ms: u64) -> u16 {
        self.check(identifier).unwrap_or_else(|_| {
            self.log(event::INVALID_IDENTIFIER, identifier, 0, now_ms);
            0
        })
    }

    /// Logs an event if it is enabled for the handle.
    fn log(&self, kind: u8, identifier: u16, handle: u16, now_ms: u64) {
        let bit = EVENT_TYPES.iter().position(|&known| known == kind).map_or(0, |at| 1 << at);
        let mut state = self.state();
        if state.enabled.get(usize::from(handle)).is_none_or(|enabled| enabled & bit == 0) {
            return;
        }
        let mut data = EventData::new_zeroed();
        (data.kind, data.flags) = (kind, EVENT_VALID);
        data.identifier = identifier.into();
        data.timestamp = (now_ms & 0xffff_ffff_ffff).into();
        data.namespace = NAMESPACE.into();
        data.handle = handle as u8;
        if state.events.len() == KEPT_EVENTS {
            state.events.pop_front();
        }
        state.events.push_back(data);
    }

    /// The event log: host events, oldest first. There are no controller events.
    pub(super) fn event_log(&self, of_host: bool) -> Vec<u8> {
        let state = self.state();
        let events: &[EventData] = &state.events.iter().copied().filter(|_| of_host).collect::<Vec<_>>();
        let mut data = (events.len() as u32).to_le_bytes().to_vec();
        data.resize(64, 0);
        data.extend_from_slice(events.as_bytes());
        data
    }

    /// The types of events, and which of them are enabled for a handle: at most `most`.
    pub(super) fn events_of(&self, handle: u16, most: usize) -> Result<Vec<u8>, Status> {
        let enabled = self.state().enabled[usize::from(self.check(handle)?)];
        let types = EVENT_TYPES.iter().enumerate().take(most);
        Ok(types.flat_map(|(at, &kind)| [kind, enabled >> at & 1]).collect())
    }

    /// Enables or disables these types of events for a handle.
    pub(super) fn enable_events(&self, handle: u16, types: &[u8], is_wanted: bool) -> Result<(), Status> {
        let handle = self.check(handle)?;
        let mut bits = 0;
        for kind in types {
            bits |= 1 << EVENT_TYPES.iter().position(|known| known == kind).ok_or(Status::INVALID_FIELD)?;
        }
        let enabled = &mut self.state().enabled[usize::from(handle)];
        *enabled = if is_wanted { *enabled | bits } else { *enabled & !bits };
        Ok(())
    }

    /// The log of configurations.
    pub(super) fn configuration_log(&self, subsystem: &Subsystem) -> Vec<u8> {
        let FdpSpec { handles, isolation } = self.spec;
        let log_bytes = size_of::<ConfigurationData>() + 4 * usize::from(handles);
        let mut data = ConfigurationData::new_zeroed();
        data.log_bytes = (log_bytes as u32).into();
        data.bytes = ((log_bytes - 16) as u16).into();
        // Valid; written data may be in a volatile cache; identifiers have no bits for a group.
        data.attributes = 1 << 7 | 1 << 4;
        data.groups = 1.into();
        data.handles = handles.into();
        data.identifiers_less_one = (handles - 1).into();
        data.namespaces = 1.into();
        data.unit_bytes = subsystem.segment_bytes.into();
        let kind = if isolation == Isolation::Initially { 1 } else { 2 };
        let mut log = data.as_bytes().to_vec();
        (0..handles).for_each(|_| log.extend([kind, 0, 0, 0]));
        log
    }

    /// The log of handle usage: the namespace has all of them.
    pub(super) fn usage_log(&self) -> Vec<u8> {
        let mut log = self.spec.handles.to_le_bytes().to_vec();
        log.resize(8, 0);
        (0..self.spec.handles).for_each(|_| log.extend(1_u64.to_le_bytes()));
        log
    }

    /// The log of statistics: bytes that the host wrote, that were programmed, and that were erased.
    pub(super) fn statistics_log(health: &Health) -> Vec<u8> {
        let counters = [health.written_bytes, health.programmed_bytes, health.erased_bytes, 0];
        counters.into_iter().flat_map(|counter| u128::from(counter).to_le_bytes()).collect()
    }
}

/// Bytes that an I/O management receive returns.
pub(super) fn bytes_to_host(entry: &Sqe) -> usize {
    (entry.word(11) as usize).saturating_add(1).saturating_mul(4)
}

/// The status of handles, as many as fit. A handle without a segment has the status of its next one.
pub(super) fn status<M: Medium>(room: &mut [u8], turn: &mut Turn<'_, M>) -> Result<(), Status> {
    let (placement, subsystem) = (turn.target.placement()?, &turn.target.subsystem);
    let handles = placement.spec.handles;
    let mut data = vec![0; 14];
    data.extend(handles.to_le_bytes());
    for handle in 0..handles {
        let left_bytes = turn.medium.handle_room(handle)?.unwrap_or(subsystem.segment_bytes);
        let mut of_handle = HandleData::new_zeroed();
        (of_handle.identifier, of_handle.handle) = (handle.into(), handle.into());
        of_handle.blocks_left = (left_bytes / u64::from(BLOCK_BYTES)).into();
        data.extend_from_slice(of_handle.as_bytes());
    }
    let fits = data.len().min(room.len());
    room[..fits].copy_from_slice(&data[..fits]);
    room[fits..].fill(0);
    Ok(())
}

/// Bytes of an I/O management send: the identifiers to update.
pub(super) fn bytes_to_update(entry: &Sqe) -> Result<u32, Status> {
    let identifiers = (entry.word(10) >> 16) + 1;
    if identifiers > UPDATES { Err(Status::INVALID_FIELD) } else { Ok(identifiers * 2) }
}

/// Gives each of these identifiers an empty reclaim unit.
pub(super) fn update<M: Medium>(data: &[u8], turn: &mut Turn<'_, M>) -> Result<(), Status> {
    let (placement, subsystem) = (turn.target.placement()?, &turn.target.subsystem);
    let handles: Result<Vec<u16>, Status> =
        data.chunks_exact(2).map(|bytes| placement.check(u16::from_le_bytes([bytes[0], bytes[1]]))).collect();
    // All or none.
    for handle in handles? {
        let left_bytes = turn.medium.handle_room(handle)?;
        turn.medium.renew_handle(handle)?;
        if left_bytes.is_some_and(|left_bytes| (1..subsystem.segment_bytes).contains(&left_bytes)) {
            placement.log(event::NOT_FULLY_WRITTEN, handle, handle, turn.now_ms);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_the_specification() {
        let sizes = [size_of::<EventData>(), size_of::<ConfigurationData>(), size_of::<HandleData>()];
        assert_eq!(sizes, [64, 80, 32]);
        assert_eq!(std::mem::offset_of!(EventData, handle), 34);
        assert_eq!(std::mem::offset_of!(ConfigurationData, unit_bytes), 32);
    }
}
