//! Flexible Data Placement (TP4146, now in Base 2.1). There is one reclaim group. Its reclaim units are segments, and
//! the handle of each placement identifier is a class of segments.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::blocks::{BLOCK_BYTES, NAMESPACE};
use super::command::Sqe;
use super::medium::{Health, Medium};
use super::status::Status;
use super::subsystem::Subsystem;
use crate::disk::{HandleDeed, HandleEvent, Watched};
use crate::fdp::FdpSpec;

/// The one endurance group.
pub(super) const ENDURANCE_GROUP: u16 = 1;
/// Bytes of the log of events, whatever their number. The disk keeps as many as fit.
const EVENT_LOG_BYTES: usize = 4096;
/// Most placement identifiers in one update command. Each may be named more than once.
const UPDATES: u32 = 128;

/// Every type of event that a disk with handles may log, and what it is. There is no limit to the time that a reclaim
/// unit is in use, so its event (0x01) cannot occur.
const EVENT_TYPES: [(u8, Watched); 5] = [
    (event::NOT_FULLY_WRITTEN, Watched::UNFILLED),
    (event::MODIFIED_BY_RESET, Watched::RESTARTED),
    (event::INVALID_IDENTIFIER, Watched::UNKNOWN),
    (event::REALLOCATED, Watched::MOVED),
    (event::IMPLICITLY_MODIFIED, Watched::TURNED),
];

/// Types of events: the host's, and from 0x80 on the controller's.
mod event {
    pub(super) const NOT_FULLY_WRITTEN: u8 = 0x00;
    pub(super) const MODIFIED_BY_RESET: u8 = 0x02;
    pub(super) const INVALID_IDENTIFIER: u8 = 0x03;
    pub(super) const REALLOCATED: u8 = 0x80;
    pub(super) const IMPLICITLY_MODIFIED: u8 = 0x81;
}

/// Flags of an event: its identifier, its namespace and its location are valid.
const EVENT_VALID: u8 = 0b111;
/// Only its location is.
const LOCATION_VALID: u8 = 0b100;

/// The placement of a disk with handles. The disk itself has all that varies.
#[derive(Debug)]
pub(super) struct Placement {
    spec: FdpSpec,
    /// Whether an image keeps what is enabled.
    keeps_events: bool,
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

/// What was reallocated, in an event (NVM Command Set, figure 112).
#[derive(Debug, Clone, Copy, FromZeros, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Reallocated {
    /// Bit 0: there is a block.
    flags: u8,
    reserved_1: u8,
    blocks: U16,
    block: U64,
    reserved_12: [u8; 4],
}

impl EventData {
    fn new(event: &HandleEvent, page_blocks: u32) -> Self {
        let mut data = Self::new_zeroed();
        (data.flags, data.namespace) = (EVENT_VALID, NAMESPACE.into());
        data.identifier = event.handle.into();
        // The upper 16 bits say how the time is counted. Zeros mean that no host has set it.
        data.timestamp = ((event.time_us / 1000) & 0xffff_ffff_ffff).into();
        data.handle = event.handle as u8;
        data.kind = match event.deed {
            HandleDeed::Unfilled => event::NOT_FULLY_WRITTEN,
            HandleDeed::Restarted => {
                (data.flags, data.namespace, data.identifier) = (LOCATION_VALID, 0.into(), 0.into());
                event::MODIFIED_BY_RESET
            }
            HandleDeed::Unknown { identifier } => {
                data.identifier = identifier.into();
                event::INVALID_IDENTIFIER
            }
            HandleDeed::Moved { pages, page } => {
                let mut moved = Reallocated::new_zeroed();
                moved.flags = 1;
                // The greatest number stands for itself and for more.
                moved.blocks = u16::try_from(pages.saturating_mul(page_blocks)).unwrap_or(u16::MAX).into();
                moved.block = (u64::from(page) * u64::from(page_blocks)).into();
                data.specific.copy_from_slice(moved.as_bytes());
                event::REALLOCATED
            }
            HandleDeed::Turned => event::IMPLICITLY_MODIFIED,
        };
        data
    }
}

/// The event log: those of the host, or those of the controller, oldest first.
pub(super) fn event_log<M: Medium>(of_host: bool, page_bytes: u32, medium: &mut M) -> Result<Vec<u8>, Status> {
    let page_blocks = page_bytes / BLOCK_BYTES;
    let events = medium.handle_events(of_host)?;
    let mut data = (events.len() as u32).to_le_bytes().to_vec();
    // The head is as long as an event, and begins with their number.
    data.resize(size_of::<EventData>(), 0);
    events.iter().for_each(|event| data.extend_from_slice(EventData::new(event, page_blocks).as_bytes()));
    // A head and 63 events fill it, which is why the disk keeps no more.
    data.resize(EVENT_LOG_BYTES, 0);
    Ok(data)
}

impl Placement {
    pub(super) fn new(spec: FdpSpec, keeps_events: bool) -> Self {
        Self { spec, keeps_events }
    }

    fn check(&self, handle: u16) -> Result<u16, Status> {
        if handle < self.spec.handles { Ok(handle) } else { Err(Status::INVALID_FIELD) }
    }

    /// The handle of a write's placement identifier. An invalid identifier is an event, and gives the first handle.
    pub(super) fn handle<M: Medium>(&self, identifier: u16, medium: &mut M) -> Result<u16, Status> {
        // There is one reclaim group, so that an identifier is the number of a handle.
        if let Ok(handle) = self.check(identifier) {
            return Ok(handle);
        }
        medium.note_unknown_handle(0, identifier)?;
        Ok(0)
    }

    /// The types of events that can be enabled. Only data that is isolated at first counts as reallocated when it is
    /// moved. A disk that does not keep what is enabled cannot log its own restart.
    fn event_types(&self) -> impl Iterator<Item = (u8, Watched)> {
        let is_isolated = self.spec.isolation.is_persistent();
        EVENT_TYPES.into_iter().filter(move |(kind, _)| match *kind {
            event::REALLOCATED => !is_isolated,
            event::MODIFIED_BY_RESET => self.keeps_events,
            _ => true,
        })
    }

    /// The types of events, and whether they are enabled for a handle.
    pub(super) fn events_of<M: Medium>(&self, handle: u16, medium: &mut M) -> Result<Vec<[u8; 2]>, Status> {
        let enabled = medium.watched(self.check(handle)?)?;
        Ok(self.event_types().map(|(kind, deed)| [kind, u8::from(enabled.has(deed))]).collect())
    }

    /// Enables or disables these types of events for a handle.
    pub(super) fn enable_events<M: Medium>(
        &self,
        handle: u16,
        types: &[u8],
        is_wanted: bool,
        medium: &mut M,
    ) -> Result<(), Status> {
        let handle = self.check(handle)?;
        let mut named = Watched::NONE;
        for kind in types {
            // Nothing is enabled before all types are known.
            let known = self.event_types().find(|(known, _)| known == kind);
            named = named.and(known.ok_or(Status::INVALID_FIELD)?.1);
        }
        let enabled = medium.watched(handle)?;
        medium.watch_handle(handle, if is_wanted { enabled.and(named) } else { enabled.without(named) })
    }

    /// The log of configurations.
    pub(super) fn configuration_log(&self, subsystem: &Subsystem) -> Vec<u8> {
        let FdpSpec { handles, isolation } = self.spec;
        // The descriptor, which begins behind the head, is filled up to a multiple of 8 bytes.
        let log_bytes = (size_of::<ConfigurationData>() + 4 * usize::from(handles)).next_multiple_of(8);
        let mut data = ConfigurationData::new_zeroed();
        data.log_bytes = (log_bytes as u32).into();
        // The 16 bytes of the log's head do not count.
        data.bytes = ((log_bytes - 16) as u16).into();
        // Valid; written data may be in a volatile cache; identifiers have no bits for a group.
        data.attributes = 1 << 7 | 1 << 4;
        data.groups = 1.into();
        data.handles = handles.into();
        data.identifiers_less_one = (handles - 1).into();
        data.namespaces = 1.into();
        data.unit_bytes = subsystem.segment_bytes.into();
        // The types of reclaim unit handles: initially isolated, and persistently isolated.
        let kind = if isolation.is_persistent() { 2 } else { 1 };
        let mut log = data.as_bytes().to_vec();
        (0..handles).for_each(|_| log.extend([kind, 0, 0, 0]));
        log.resize(log_bytes, 0);
        log
    }

    /// The log of handle usage: the namespace has all of them.
    pub(super) fn usage_log(&self) -> Vec<u8> {
        let mut log = self.spec.handles.to_le_bytes().to_vec();
        log.resize(8, 0);
        // Attribute 1: the host names it. The namespace has all handles, so none is the controller's alone.
        (0..self.spec.handles).for_each(|_| log.extend(1_u64.to_le_bytes()));
        log
    }

    /// The log of statistics: bytes that the host wrote, that were programmed, and that were erased.
    pub(super) fn statistics_log(health: &Health) -> Vec<u8> {
        let counters = [health.written_bytes, health.programmed_bytes, health.erased_bytes, 0];
        counters.into_iter().flat_map(|counter| u128::from(counter).to_le_bytes()).collect()
    }

    /// The status of handles, as many as fit. A handle without a segment has the status of its next one.
    pub(super) fn status<M: Medium>(&self, room: &mut [u8], segment_bytes: u64, medium: &mut M) -> Result<(), Status> {
        let handles = self.spec.handles;
        // The number of handles is at the end of a head of 16 bytes.
        let mut data = vec![0; 14];
        data.extend(handles.to_le_bytes());
        for handle in 0..handles {
            let left_bytes = medium.handle_room(handle)?.unwrap_or(segment_bytes);
            let mut of_handle = HandleData::new_zeroed();
            (of_handle.identifier, of_handle.handle) = (handle.into(), handle.into());
            of_handle.blocks_left = (left_bytes / u64::from(BLOCK_BYTES)).into();
            data.extend_from_slice(of_handle.as_bytes());
        }
        // The number in the head is that of all handles, also if the host has room for fewer.
        let fits = data.len().min(room.len());
        room[..fits].copy_from_slice(&data[..fits]);
        room[fits..].fill(0);
        Ok(())
    }

    /// Gives each of these identifiers an empty reclaim unit.
    pub(super) fn update<M: Medium>(&self, data: &[u8], medium: &mut M) -> Result<(), Status> {
        let handles: Result<Vec<u16>, Status> =
            data.chunks_exact(2).map(|bytes| self.check(u16::from_le_bytes([bytes[0], bytes[1]]))).collect();
        // All or none.
        for handle in handles? {
            medium.renew_handle(handle)?;
        }
        Ok(())
    }
}

/// Bytes that an I/O management receive returns.
pub(super) fn bytes_to_host(entry: &Sqe) -> usize {
    // Dwords, 0's based. On a machine of 32 bits the number may not fit; it is refused as too much.
    (entry.word(11) as usize).saturating_add(1).saturating_mul(4)
}

/// Bytes of an I/O management send: the identifiers to update.
pub(super) fn bytes_to_update(entry: &Sqe) -> Result<u32, Status> {
    // 0's based.
    let identifiers = (entry.word(10) >> 16) + 1;
    if identifiers > UPDATES { Err(Status::INVALID_FIELD) } else { Ok(identifiers * 2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_the_specification() {
        let sizes = [size_of::<EventData>(), size_of::<Reallocated>(), size_of::<HandleData>()];
        assert_eq!((sizes, size_of::<ConfigurationData>()), ([64, 16, 32], 80));
        assert_eq!(std::mem::offset_of!(EventData, handle), 34);
        assert_eq!(std::mem::offset_of!(ConfigurationData, unit_bytes), 32);
    }
}
