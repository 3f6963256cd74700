//! Log pages (Base 2.1, section 5.1.12).

use std::net::IpAddr;
use std::sync::atomic::Ordering;

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::answer::ErrorEntry;
use super::blocks::{ALL_NAMESPACES, TRANSFER_BYTES};
use super::command::{Sqe, admin, io};
use super::controller::{Admin, Features};
use super::fdp::{self, ENDURANCE_GROUP, Placement};
use super::medium::{Health, Medium};
use super::status::Status;
use super::subsystem::Subsystem;
use super::target::{DISCOVERY_NQN, KEPT_ERRORS, Purpose, QUEUE_ENTRIES, Target};
use super::turn::Turn;
use crate::disk::SPARE_THRESHOLD_PERCENT;

/// The log page of health, as events name it.
pub(super) const HEALTH: u8 = lid::HEALTH;

/// Log pages.
mod lid {
    pub(super) const SUPPORTED: u8 = 0x00;
    pub(super) const ERRORS: u8 = 0x01;
    pub(super) const HEALTH: u8 = 0x02;
    pub(super) const FIRMWARE: u8 = 0x03;
    pub(super) const EFFECTS: u8 = 0x05;
    pub(super) const ENDURANCE_GROUP: u8 = 0x09;
    pub(super) const FEATURES: u8 = 0x12;
    pub(super) const FDP_CONFIGURATIONS: u8 = 0x20;
    pub(super) const FDP_USAGE: u8 = 0x21;
    pub(super) const FDP_STATISTICS: u8 = 0x22;
    pub(super) const FDP_EVENTS: u8 = 0x23;
    pub(super) const DISCOVERY: u8 = 0x70;
}

/// Pages that a controller for the disk has.
const LIST: [u8; 6] = [lid::SUPPORTED, lid::ERRORS, lid::HEALTH, lid::FIRMWARE, lid::EFFECTS, lid::FEATURES];
/// Pages of the endurance group, which a disk with reclaim unit handles has.
const GROUP_LIST: [u8; 5] =
    [lid::ENDURANCE_GROUP, lid::FDP_CONFIGURATIONS, lid::FDP_USAGE, lid::FDP_STATISTICS, lid::FDP_EVENTS];
/// The mark of a supported entry, in the logs of supported pages and features.
const SUPPORTED: u32 = 1;
/// An effect of commands: contents of blocks may change.
const CHANGES_BLOCKS: u32 = 1 << 1;
/// 25 °C in kelvin, as the temperature of an emulated chip.
const TEMPERATURE_K: u16 = 298;
/// Bytes of the unit of data units.
const DATA_UNIT_BYTES: u64 = 512_000;
/// Bytes of the endurance group's unit.
const GROUP_UNIT_BYTES: u64 = 1_000_000_000;
/// A flag of the log of FDP events: host events.
const EVENTS_OF_HOST: u32 = 1 << 8;
/// A flag: reading the log does not clear its event.
const RETAIN_EVENT: u32 = 1 << 15;
/// The offset is an index.
const OFFSET_IS_INDEX: u32 = 1 << 23;

/// A command that failed (figure 205).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct ErrorData {
    count: U64,
    queue: U16,
    command_id: U16,
    status: U16,
    parameter: U16,
    first_block: U64,
    namespace: U32,
    vendor: u8,
    transport: u8,
    reserved_30: [u8; 34],
}

impl ErrorData {
    fn of(error: &ErrorEntry) -> Self {
        let mut data = Self::new_zeroed();
        data.count = error.count.into();
        (data.queue, data.command_id) = (error.queue.into(), error.command_id);
        data.status = error.status.into();
        // No parameter of the command is named.
        data.parameter = u16::MAX.into();
        data.first_block = error.first_block.into();
        data.namespace = error.namespace.into();
        // TCP.
        data.transport = 3;
        data
    }
}

/// Health (figure 207). Counters have 16 bytes.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct HealthData {
    critical_warning: u8,
    temperature_k: U16,
    available_spare: u8,
    spare_threshold: u8,
    percentage_used: u8,
    endurance_group_warning: u8,
    reserved_7: [u8; 25],
    read_units: [U64; 2],
    written_units: [U64; 2],
    read_commands: [U64; 2],
    write_commands: [U64; 2],
    busy_minutes: [U64; 2],
    power_cycles: [U64; 2],
    power_on_hours: [U64; 2],
    unsafe_shutdowns: [U64; 2],
    media_errors: [U64; 2],
    error_entries: [U64; 2],
    reserved_192: [u8; 320],
}

/// The endurance group (figure 225).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct GroupData {
    critical_warning: u8,
    reserved_1: [u8; 2],
    available_spare: u8,
    spare_threshold: u8,
    percentage_used: u8,
    reserved_6: [u8; 26],
    estimate: [U64; 2],
    read_units: [U64; 2],
    written_units: [U64; 2],
    programmed_units: [U64; 2],
    read_commands: [U64; 2],
    write_commands: [U64; 2],
    media_errors: [U64; 2],
    error_entries: [U64; 2],
    reserved_160: [u8; 352],
}

/// An entry of the discovery log (figure 293).
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct DiscoveryEntry {
    transport: u8,
    family: u8,
    kind: u8,
    requirements: u8,
    port: U16,
    controller: U16,
    admin_entries: U16,
    flags: U16,
    reserved_12: [u8; 20],
    service: [u8; 32],
    reserved_64: [u8; 192],
    nqn: [u8; 256],
    address: [u8; 256],
    specific: [u8; 256],
}

/// Answers the command: the bytes that it wants, from the offset that it names.
pub(super) fn log_page<M: Medium>(entry: &Sqe, admin: &mut Admin, turn: &mut Turn<'_, M>) -> Result<Vec<u8>, Status> {
    let number = entry.word(10) as u8;
    // The number of dwords is in two halves, and 0's based.
    let dwords = u64::from(entry.word(10) >> 16) | u64::from(entry.word(11) & 0xffff) << 16;
    let (bytes, offset) = ((dwords + 1) * 4, entry.words(12));
    if bytes > u64::from(TRANSFER_BYTES) || !offset.is_multiple_of(4) || entry.word(14) & OFFSET_IS_INDEX != 0 {
        return Err(Status::INVALID_FIELD);
    }
    let page = page(number, entry, admin, turn)?;
    // An offset behind the page is wrong. A read over its end gets zeros.
    let start = usize::try_from(offset).map_err(|_| Status::INVALID_FIELD)?;
    let mut data = page.get(start..).ok_or(Status::INVALID_FIELD)?.to_vec();
    data.resize(bytes as usize, 0);
    Ok(data)
}

fn page<M: Medium>(number: u8, entry: &Sqe, admin: &mut Admin, turn: &mut Turn<'_, M>) -> Result<Vec<u8>, Status> {
    if admin.purpose == Purpose::Discovery {
        return if number == lid::DISCOVERY {
            Ok(discovery(&turn.target.subsystem))
        } else {
            Err(Status::INVALID_LOG_PAGE)
        };
    }
    match number {
        lid::SUPPORTED => {
            let of_group = GROUP_LIST.into_iter().filter(|_| turn.target.placement().is_ok());
            Ok(table::<256>(LIST.into_iter().chain(of_group).map(|number| (number, SUPPORTED))))
        }
        number if GROUP_LIST.contains(&number) => group_page(number, entry, turn),
        lid::ERRORS => {
            let (errors, _) = turn.target.errors(admin.id);
            let mut data: Vec<u8> = errors.iter().flat_map(|error| ErrorData::of(error).as_bytes().to_vec()).collect();
            data.resize(KEPT_ERRORS * size_of::<ErrorData>(), 0);
            Ok(data)
        }
        lid::HEALTH => {
            if ![0, ALL_NAMESPACES].contains(&entry.namespace.get()) {
                return Err(Status::INVALID_FIELD);
            }
            let health = turn.medium.health()?;
            if entry.word(10) & RETAIN_EVENT == 0 {
                // The host has seen the warnings. Whichever still holds is an event again.
                admin.told_warnings = 0;
            }
            Ok(health_data(&health, turn.target, admin).as_bytes().to_vec())
        }
        lid::FIRMWARE => Ok(firmware()),
        lid::EFFECTS => Ok(effects(turn.target.placement().is_ok())),
        lid::FEATURES => {
            // Each is the controller's: bit 20 of the scope.
            Ok(table::<256>(Features::list(turn.target).map(|(number, _)| (number, SUPPORTED | 1 << 20))))
        }
        _ => Err(Status::INVALID_LOG_PAGE),
    }
}

/// A page of the endurance group.
fn group_page<M: Medium>(number: u8, entry: &Sqe, turn: &mut Turn<'_, M>) -> Result<Vec<u8>, Status> {
    let Ok(placement) = turn.target.placement() else { return Err(Status::INVALID_LOG_PAGE) };
    // For these pages the upper half of dword 11 names the group.
    if entry.word(11) >> 16 != u32::from(ENDURANCE_GROUP) {
        return Err(Status::INVALID_FIELD);
    }
    match number {
        lid::FDP_CONFIGURATIONS => Ok(placement.configuration_log(&turn.target.subsystem)),
        lid::FDP_USAGE => Ok(placement.usage_log()),
        lid::FDP_STATISTICS => Ok(Placement::statistics_log(&turn.medium.health()?)),
        lid::FDP_EVENTS => {
            let of_host = entry.word(10) & EVENTS_OF_HOST != 0;
            fdp::event_log(of_host, turn.target.subsystem.page_bytes, turn.medium)
        }
        _ => Ok(group_data(&turn.medium.health()?, turn.target).as_bytes().to_vec()),
    }
}

fn group_data(health: &Health, target: &Target) -> GroupData {
    let counter = |value: u64| [U64::new(value), U64::new(0)];
    // Rounded up, so that a disk which was used does not show 0.
    let units = |bytes: u64| counter(bytes.div_ceil(GROUP_UNIT_BYTES));
    let mut data = GroupData::new_zeroed();
    // A group has no bit for the temperature.
    data.critical_warning = health.critical_warning(target.subsystem.is_read_only) & 0b1101;
    data.available_spare = health.available_spare_percent;
    data.spare_threshold = SPARE_THRESHOLD_PERCENT;
    data.percentage_used = health.percentage_used;
    (data.read_units, data.written_units) = (units(health.read_bytes), units(health.written_bytes));
    data.programmed_units = units(health.programmed_bytes);
    data.read_commands = counter(target.reads.load(Ordering::Relaxed));
    data.write_commands = counter(target.writes.load(Ordering::Relaxed));
    data.media_errors = counter(health.media_errors);
    data
}

/// A table of dwords, of which these are not zero.
fn table<const ENTRIES: usize>(set: impl IntoIterator<Item = (u8, u32)>) -> Vec<u8> {
    let mut words = [0_u32; ENTRIES];
    for (number, word) in set {
        words[usize::from(number)] = word;
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn health_data(health: &Health, target: &Target, admin: &Admin) -> HealthData {
    let counter = |value: u64| [U64::new(value), U64::new(0)];
    let units = |bytes: u64| counter(bytes.div_ceil(DATA_UNIT_BYTES));
    let mut data = HealthData::new_zeroed();
    data.critical_warning = health.critical_warning(target.subsystem.is_read_only);
    data.temperature_k = TEMPERATURE_K.into();
    data.available_spare = health.available_spare_percent;
    data.spare_threshold = SPARE_THRESHOLD_PERCENT;
    data.percentage_used = health.percentage_used;
    (data.read_units, data.written_units) = (units(health.read_bytes), units(health.written_bytes));
    data.read_commands = counter(target.reads.load(Ordering::Relaxed));
    data.write_commands = counter(target.writes.load(Ordering::Relaxed));
    data.power_cycles = counter(health.opens.into());
    data.media_errors = counter(health.media_errors);
    data.error_entries = counter(target.errors(admin.id).1);
    data
}

/// One slot, in use.
fn firmware() -> Vec<u8> {
    let mut data = vec![0; 512];
    // The active slot. There is no other one that could become active at a reset.
    data[0] = 1;
    let version = env!("CARGO_PKG_VERSION").bytes().chain(std::iter::repeat(b' '));
    data[8..16].iter_mut().zip(version).for_each(|(place, byte)| *place = byte);
    data
}

/// The effects of 256 admin commands and 256 I/O commands.
fn effects(has_handles: bool) -> Vec<u8> {
    let admin_commands = [
        admin::GET_LOG_PAGE,
        admin::IDENTIFY,
        admin::ABORT,
        admin::SET_FEATURES,
        admin::GET_FEATURES,
        admin::ASYNC_EVENT,
        admin::KEEP_ALIVE,
        admin::DIRECTIVE_SEND,
        admin::DIRECTIVE_RECEIVE,
    ];
    let reads = [io::FLUSH, io::READ, io::COMPARE, io::VERIFY];
    let writes = [io::WRITE, io::WRITE_ZEROES, io::DATASET_MANAGEMENT, io::COPY];
    let io_commands = reads.map(|opcode| (opcode, SUPPORTED)).into_iter();
    let io_commands = io_commands.chain(writes.map(|opcode| (opcode, SUPPORTED | CHANGES_BLOCKS)));
    let of_handles = [io::MANAGEMENT_RECEIVE, io::MANAGEMENT_SEND].into_iter().filter(|_| has_handles);
    let io_commands = io_commands.chain(of_handles.map(|opcode| (opcode, SUPPORTED)));
    let mut data = table::<256>(admin_commands.map(|opcode| (opcode, SUPPORTED)));
    data.extend(table::<256>(io_commands));
    // The rest of the page is reserved.
    data.resize(4096, 0);
    data
}

/// The discovery log, with its one subsystem.
fn discovery(subsystem: &Subsystem) -> Vec<u8> {
    let mut entry = DiscoveryEntry::new_zeroed();
    // TCP.
    entry.transport = 3;
    entry.family = if subsystem.address.is_ipv4() { 1 } else { 2 };
    // A subsystem with namespaces. It needs no secure channel, and queues may work without flow control.
    (entry.kind, entry.requirements) = (2, 0b10 | 1 << 2);
    entry.port = 1.into();
    // The dynamic model: connect makes a controller.
    entry.controller = u16::MAX.into();
    entry.admin_entries = QUEUE_ENTRIES.into();
    let ip: IpAddr = subsystem.address.ip();
    put_text(&mut entry.service, &subsystem.address.port().to_string());
    put_text(&mut entry.address, &ip.to_string());
    put_text(&mut entry.nqn, &subsystem.nqn);
    debug_assert!(subsystem.nqn != DISCOVERY_NQN, "a disk of its own");
    // The generation, the number of records, and their format.
    let mut data = [1_u64.to_le_bytes(), 1_u64.to_le_bytes()].concat();
    data.resize(1024, 0);
    data.extend_from_slice(entry.as_bytes());
    data
}

/// Writes a zero-padded text. Fields are longer than the texts.
fn put_text(field: &mut [u8], text: &str) {
    field.iter_mut().zip(text.bytes()).for_each(|(place, byte)| *place = byte);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_of_the_specification() {
        assert_eq!([size_of::<ErrorData>(), size_of::<HealthData>(), size_of::<GroupData>()], [64, 512, 512]);
        assert_eq!(std::mem::offset_of!(HealthData, media_errors), 160);
        assert_eq!((size_of::<DiscoveryEntry>(), std::mem::offset_of!(DiscoveryEntry, nqn)), (1024, 256));
        assert_eq!((effects(true).len(), firmware().len()), (4096, 512));
    }
}
