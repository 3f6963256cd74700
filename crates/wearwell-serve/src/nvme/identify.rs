//! Identify (Base 2.1, section 5.1.13; NVM Command Set 1.1, section 4.1.5).

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::blocks::{BLOCK_BYTES, NAMESPACE, TRANSFER_SHIFT};
use super::command::Sqe;
use super::controller::{Admin, EVENT_REQUESTS, KEEP_ALIVE_STEP_MS, VERSION};
use super::copy;
use super::fdp::ENDURANCE_GROUP;
use super::link::IN_CAPSULE_BYTES;
use super::medium::Medium;
use super::status::Status;
use super::subsystem::Subsystem;
use super::target::{DISCOVERY_NQN, KEPT_ERRORS, Purpose, QUEUE_ENTRIES, Target};
use super::turn::Turn;

/// Bytes of every answer.
const IDENTIFY_BYTES: usize = 4096;
/// The last number after which a list of namespaces may be asked for.
const LAST_NAMESPACE: u32 = 0xffff_fffd;

/// The namespace has its own atomic write sizes, and preferred sizes.
const NAMESPACE_FEATURES: u8 = 1 << 1 | 1 << 4;

/// The structures that can be asked for.
mod cns {
    pub(super) const NAMESPACE: u8 = 0x00;
    pub(super) const CONTROLLER: u8 = 0x01;
    pub(super) const ACTIVE: u8 = 0x02;
    pub(super) const DESCRIPTORS: u8 = 0x03;
    pub(super) const NAMESPACE_OF_SET: u8 = 0x05;
    pub(super) const CONTROLLER_OF_SET: u8 = 0x06;
    pub(super) const ACTIVE_OF_SET: u8 = 0x07;
    pub(super) const NAMESPACE_OF_ANY_SET: u8 = 0x08;
    pub(super) const ALLOCATED: u8 = 0x10;
    pub(super) const ALLOCATED_NAMESPACE: u8 = 0x11;
    pub(super) const CONTROLLERS_OF_NAMESPACE: u8 = 0x12;
    pub(super) const CONTROLLERS: u8 = 0x13;
    pub(super) const ENDURANCE_GROUPS: u8 = 0x19;
    pub(super) const COMMAND_SETS: u8 = 0x1c;
}

/// The controller (figure 328). The meanings of fields are given where they are set.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct ControllerData {
    vid: U16,
    ssvid: U16,
    serial_number: [u8; 20],
    model_number: [u8; 40],
    firmware: [u8; 8],
    rab: u8,
    ieee: [u8; 3],
    multi_path: u8,
    mdts: u8,
    controller: U16,
    version: U32,
    rtd3r: U32,
    rtd3e: U32,
    events: U32,
    attributes: U32,
    rrls: U16,
    reserved_102: [u8; 9],
    controller_type: u8,
    fguid: [u8; 16],
    crdt: [U16; 3],
    reserved_134: [u8; 122],
    admin_commands: U16,
    abort_limit: u8,
    event_limit: u8,
    firmware_updates: u8,
    log_attributes: u8,
    error_entries: u8,
    power_states: u8,
    avscc: u8,
    apsta: u8,
    warning_temperature: U16,
    critical_temperature: U16,
    mtfa: U16,
    hmpre: U32,
    hmmin: U32,
    total_capacity: [U64; 2],
    unallocated_capacity: [U64; 2],
    rpmbs: U32,
    edstt: U16,
    dsto: u8,
    fwug: u8,
    keep_alive_steps: U16,
    reserved_322: [u8; 18],
    last_endurance_group: U16,
    reserved_342: [u8; 170],
    submission_entry: u8,
    completion_entry: u8,
    max_commands: U16,
    namespaces: U32,
    commands: U16,
    fused: U16,
    format: u8,
    write_cache: u8,
    awun: U16,
    awupf: U16,
    icsvscc: u8,
    nwpc: u8,
    acwu: U16,
    copy_formats: U16,
    sgls: U32,
    max_allowed_namespaces: U32,
    reserved_544: [u8; 224],
    subsystem_nqn: [u8; 256],
    reserved_1024: [u8; 768],
    command_capsule_16_bytes: U32,
    response_capsule_16_bytes: U32,
    in_capsule_offset: U16,
    fabrics_attributes: u8,
    data_descriptors: u8,
    optional_fabrics_commands: U16,
    reserved_1806: [u8; 2290],
}

/// The namespace (NVM Command Set, figure 114).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct NamespaceData {
    size_blocks: U64,
    capacity_blocks: U64,
    used_blocks: U64,
    features: u8,
    formats: u8,
    format: u8,
    metadata: u8,
    protection: [u8; 2],
    sharing: u8,
    reservations: u8,
    fpi: u8,
    deallocation: u8,
    atomic_write: U16,
    atomic_write_power_fail: U16,
    atomic_compare_write: U16,
    atomic_boundary: U16,
    atomic_offset: U16,
    atomic_boundary_power_fail: U16,
    optimal_boundary: U16,
    capacity_bytes: [U64; 2],
    preferred_write: U16,
    preferred_write_alignment: U16,
    preferred_deallocate: U16,
    preferred_deallocate_alignment: U16,
    optimal_write: U16,
    copy_range_blocks: U16,
    copy_blocks: U32,
    copy_ranges: u8,
    reserved_81: [u8; 11],
    ana_group: U32,
    reserved_96: [u8; 3],
    attributes: u8,
    set: U16,
    endurance_group: U16,
    globally_unique: [u8; 16],
    eui64: [u8; 8],
    first_format: [u8; 4],
    reserved_132: [u8; 3964],
}

/// The part of a namespace that does not depend on the command set (figure 335).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct NamespaceOfAnySet {
    features: u8,
    sharing: u8,
    reservations: u8,
    fpi: u8,
    ana_group: U32,
    attributes: u8,
    reserved_9: u8,
    set: U16,
    endurance_group: U16,
    /// Bit 0: ready.
    status: u8,
    reserved_15: [u8; 4081],
}

/// Answers the command.
pub(super) fn identify<M: Medium>(entry: &Sqe, admin: &Admin, turn: &mut Turn<'_, M>) -> Result<Vec<u8>, Status> {
    let (what, command_set) = (entry.word(10) as u8, (entry.word(11) >> 24) as u8);
    let subsystem = &turn.target.subsystem;
    // It is the only structure that a discovery controller has.
    if what == cns::CONTROLLER {
        return Ok(controller(subsystem, admin).as_bytes().to_vec());
    }
    if admin.purpose == Purpose::Discovery {
        return Err(Status::INVALID_FIELD);
    }
    let only_nvm = |data| if command_set == 0 { Ok(data) } else { Err(Status::INVALID_FIELD) };
    match what {
        cns::NAMESPACE | cns::ALLOCATED_NAMESPACE => {
            check_namespace(entry)?;
            let live_bytes = turn.medium.health()?.live_bytes;
            Ok(namespace(subsystem, live_bytes).as_bytes().to_vec())
        }
        cns::NAMESPACE_OF_ANY_SET => {
            check_namespace(entry)?;
            Ok(namespace_of_any_set(subsystem).as_bytes().to_vec())
        }
        cns::NAMESPACE_OF_SET => {
            check_namespace(entry)?;
            // No protection, and no metadata.
            only_nvm(filled(&[]))
        }
        // No limits except that on transfers.
        cns::CONTROLLER_OF_SET => only_nvm(filled(&[])),
        cns::ACTIVE | cns::ALLOCATED => namespaces(entry),
        cns::ACTIVE_OF_SET => only_nvm(namespaces(entry)?),
        cns::DESCRIPTORS => {
            check_namespace(entry)?;
            Ok(descriptors(subsystem))
        }
        cns::CONTROLLERS_OF_NAMESPACE => {
            check_namespace(entry)?;
            Ok(controllers(turn.target, entry))
        }
        cns::CONTROLLERS => Ok(controllers(turn.target, entry)),
        cns::ENDURANCE_GROUPS if subsystem.fdp.is_some() => {
            let list = [1, ENDURANCE_GROUP].map(u16::to_le_bytes).concat();
            Ok(filled(if entry.word(11) as u16 <= ENDURANCE_GROUP { &list } else { &[] }))
        }
        // One combination: the NVM command set.
        cns::COMMAND_SETS => Ok(filled(&1u64.to_le_bytes())),
        _ => Err(Status::INVALID_FIELD),
    }
}

/// Bytes, padded with zeros.
fn filled(bytes: &[u8]) -> Vec<u8> {
    let mut data = bytes.to_vec();
    data.resize(IDENTIFY_BYTES, 0);
    data
}

/// The endurance group of the namespace, if there is one.
fn endurance_group(subsystem: &Subsystem) -> U16 {
    U16::new(if subsystem.fdp.is_some() { ENDURANCE_GROUP } else { 0 })
}

fn check_namespace(entry: &Sqe) -> Result<(), Status> {
    if entry.namespace.get() == NAMESPACE { Ok(()) } else { Err(Status::INVALID_NAMESPACE) }
}

/// Namespaces after the one that the command names.
fn namespaces(entry: &Sqe) -> Result<Vec<u8>, Status> {
    match entry.namespace.get() {
        // The two greatest numbers are no namespaces, so that nothing can come after them.
        behind if behind > LAST_NAMESPACE => Err(Status::INVALID_NAMESPACE),
        behind if behind < NAMESPACE => Ok(filled(&NAMESPACE.to_le_bytes())),
        _ => Ok(filled(&[])),
    }
}

/// The number and the list of controllers, from the one that the command names on.
fn controllers(target: &Target, entry: &Sqe) -> Vec<u8> {
    let from = (entry.word(10) >> 16) as u16;
    // They are 64 at most, which fit into the answer.
    let ids: Vec<u16> = target.ids().into_iter().filter(|&id| id >= from).collect();
    let list: Vec<u8> =
        std::iter::once(ids.len() as u16).chain(ids.iter().copied()).flat_map(u16::to_le_bytes).collect();
    filled(&list)
}

/// A text in a field, padded with spaces.
fn spaced<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    for (place, byte) in field.iter_mut().zip(text.bytes()) {
        *place = byte;
    }
    field
}

fn controller(subsystem: &Subsystem, admin: &Admin) -> ControllerData {
    let is_disk = admin.purpose == Purpose::Disk;
    let mut data = ControllerData::new_zeroed();
    // The field has 20 characters, so that half of the number has to do.
    data.serial_number = spaced(&format!("{:016x}", subsystem.unique as u64));
    data.model_number = spaced("wearwell");
    data.firmware = spaced(env!("CARGO_PKG_VERSION"));
    // The subsystem may have several controllers.
    data.multi_path = 1 << 1;
    data.mdts = TRANSFER_SHIFT;
    data.controller = admin.id.into();
    data.version = VERSION.into();
    // Host identifiers of 128 bits; endurance groups and flexible data placement.
    let has_handles = is_disk && subsystem.fdp.is_some();
    data.attributes = (1 | if has_handles { 1 << 4 | 1 << 19 } else { 0 }).into();
    data.last_endurance_group = endurance_group(subsystem);
    // An I/O controller, or a discovery controller.
    data.controller_type = if is_disk { 1 } else { 2 };
    // 0's based, as is the number of errors below.
    data.event_limit = EVENT_REQUESTS as u8 - 1;
    // The log of effects; reads of parts of logs; the logs of supported pages and features.
    data.log_attributes = 1 << 1 | 1 << 2 | 1 << 5;
    data.error_entries = KEPT_ERRORS as u8 - 1;
    data.keep_alive_steps = ((KEEP_ALIVE_STEP_MS / 100) as u16).into();
    data.max_commands = QUEUE_ENTRIES.into();
    // SGLs without alignment, that may be longer than the data; offsets in a capsule; a transport's own descriptors.
    data.sgls = (1 | 1 << 18 | 1 << 20 | 1 << 21).into();
    let nqn = if is_disk { subsystem.nqn.as_str() } else { DISCOVERY_NQN };
    for (place, byte) in data.subsystem_nqn.iter_mut().zip(nqn.bytes()) {
        *place = byte;
    }
    data.data_descriptors = 1;
    if !is_disk {
        return data;
    }
    // 0's based. An abort is answered and does nothing, so that any number would do.
    data.abort_limit = 3;
    // Directives.
    data.admin_commands = (1 << 5).into();
    // One slot, which cannot be written.
    data.firmware_updates = 1 | 1 << 1;
    // Kelvin: 70 °C and 85 °C. The emulated chip never comes near them.
    data.warning_temperature = 343.into();
    data.critical_temperature = 358.into();
    data.total_capacity = [subsystem.size_bytes.into(), 0.into()];
    // Least and greatest size as powers of two: entries of 64 bytes and of 16.
    (data.submission_entry, data.completion_entry) = (0x66, 0x44);
    data.namespaces = 1.into();
    data.max_allowed_namespaces = 1.into();
    // Compare, dataset management, write zeroes, verify, copy.
    data.commands = (1 | 1 << 2 | 1 << 3 | 1 << 7 | 1 << 8).into();
    // Of the first format.
    data.copy_formats = 1.into();
    // There is a cache, and a flush may name all namespaces.
    data.write_cache = 0b111;
    // Capsules are counted in units of 16 bytes: the entry with the data behind it, and the completion.
    data.command_capsule_16_bytes = ((64 + IN_CAPSULE_BYTES) / 16).into();
    data.response_capsule_16_bytes = 1.into();
    // Disconnect.
    data.optional_fabrics_commands = 1.into();
    data
}

fn namespace(subsystem: &Subsystem, live_bytes: u64) -> NamespaceData {
    let block_bytes = u64::from(BLOCK_BYTES);
    let blocks = subsystem.size_bytes / block_bytes;
    // The page is the unit that a power cut leaves whole, and the preferred unit of writes and discards.
    let page_less_one = U16::new((subsystem.page_bytes / BLOCK_BYTES - 1) as u16);
    let segment_blocks = subsystem.segment_bytes / block_bytes;
    let mut data = NamespaceData::new_zeroed();
    (data.size_blocks, data.capacity_blocks) = (blocks.into(), blocks.into());
    // The engine's own pages are among the live ones, so that they could exceed what the host has.
    data.used_blocks = (live_bytes / block_bytes).min(blocks).into();
    data.features = NAMESPACE_FEATURES;
    // Several controllers may have the namespace.
    data.sharing = 1;
    // Deallocated blocks read as zeros; write zeroes can deallocate.
    data.deallocation = 0b001 | 1 << 3;
    (data.atomic_write, data.atomic_write_power_fail) = (page_less_one, page_less_one);
    // A write across two pages is not atomic, however short it is.
    (data.atomic_boundary, data.atomic_boundary_power_fail) = (page_less_one, page_less_one);
    data.capacity_bytes = [subsystem.size_bytes.into(), 0.into()];
    (data.preferred_write, data.preferred_write_alignment) = (page_less_one, page_less_one);
    (data.preferred_deallocate, data.preferred_deallocate_alignment) = (page_less_one, page_less_one);
    // 0's based. It can name 65,536 blocks at most, and a larger segment is told as that.
    data.optimal_write = U16::new(u16::try_from(segment_blocks - 1).unwrap_or(u16::MAX));
    data.copy_range_blocks = (copy::BLOCKS as u16).into();
    data.copy_blocks = copy::BLOCKS.into();
    data.copy_ranges = copy::RANGES - 1;
    data.attributes = subsystem.is_read_only.into();
    data.endurance_group = endurance_group(subsystem);
    data.globally_unique = subsystem.unique.to_be_bytes();
    // No metadata, and blocks of 2^9 bytes, with the second best relative performance.
    data.first_format = [0, 0, BLOCK_BYTES.ilog2() as u8, 1];
    data
}

fn namespace_of_any_set(subsystem: &Subsystem) -> NamespaceOfAnySet {
    let mut data = NamespaceOfAnySet::new_zeroed();
    data.features = NAMESPACE_FEATURES;
    data.sharing = 1;
    data.attributes = subsystem.is_read_only.into();
    data.endurance_group = endurance_group(subsystem);
    data.status = 1;
    data
}

/// The identifiers of the namespace: an NGUID, and the NVM command set.
fn descriptors(subsystem: &Subsystem) -> Vec<u8> {
    let mut list = vec![2, 16, 0, 0];
    list.extend(subsystem.unique.to_be_bytes());
    list.extend([4, 1, 0, 0, 0]);
    filled(&list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_places_of_the_specification() {
        assert_eq!(size_of::<ControllerData>(), IDENTIFY_BYTES);
        assert_eq!(size_of::<NamespaceData>(), IDENTIFY_BYTES);
        assert_eq!(size_of::<NamespaceOfAnySet>(), IDENTIFY_BYTES);
        let places = [
            std::mem::offset_of!(ControllerData, controller_type),
            std::mem::offset_of!(ControllerData, admin_commands),
            std::mem::offset_of!(ControllerData, keep_alive_steps),
            std::mem::offset_of!(ControllerData, submission_entry),
            std::mem::offset_of!(ControllerData, copy_formats),
            std::mem::offset_of!(ControllerData, sgls),
            std::mem::offset_of!(ControllerData, subsystem_nqn),
            std::mem::offset_of!(ControllerData, command_capsule_16_bytes),
        ];
        assert_eq!(places, [111, 256, 320, 512, 534, 536, 768, 1792]);
        let places = [
            std::mem::offset_of!(NamespaceData, atomic_write),
            std::mem::offset_of!(NamespaceData, preferred_write),
            std::mem::offset_of!(NamespaceData, copy_ranges),
            std::mem::offset_of!(NamespaceData, attributes),
            std::mem::offset_of!(NamespaceData, endurance_group),
            std::mem::offset_of!(NamespaceData, globally_unique),
            std::mem::offset_of!(NamespaceData, first_format),
            std::mem::offset_of!(NamespaceOfAnySet, status),
        ];
        assert_eq!(places, [34, 64, 80, 99, 102, 104, 128, 14]);
    }
}
