//! Features: settings of a controller that a host can read and change.

use super::answer::Answer;
use super::command::Sqe;
use super::controller::{Admin, Features};
use super::fdp::ENDURANCE_GROUP;
use super::medium::Medium;
use super::status::Status;
use super::target::{IO_QUEUES, Purpose, Target};
use super::turn::Turn;

/// Identifiers (Base 2.1, figure 401).
pub(super) mod id {
    pub(in crate::nvme) const ARBITRATION: u8 = 0x01;
    pub(in crate::nvme) const POWER: u8 = 0x02;
    pub(in crate::nvme) const TEMPERATURE: u8 = 0x04;
    pub(in crate::nvme) const ERROR_RECOVERY: u8 = 0x05;
    pub(in crate::nvme) const WRITE_CACHE: u8 = 0x06;
    pub(in crate::nvme) const QUEUES: u8 = 0x07;
    pub(in crate::nvme) const WRITE_ATOMICITY: u8 = 0x0a;
    pub(in crate::nvme) const EVENTS: u8 = 0x0b;
    pub(in crate::nvme) const KEEP_ALIVE: u8 = 0x0f;
    pub(in crate::nvme) const HOST_BEHAVIOR: u8 = 0x16;
    pub(in crate::nvme) const FDP: u8 = 0x1d;
    pub(in crate::nvme) const FDP_EVENTS: u8 = 0x1e;
    pub(in crate::nvme) const HOST_ID: u8 = 0x81;
}

/// Every feature of a controller for the disk, and whether it can be changed.
const LIST: [(u8, bool); 11] = [
    (id::ARBITRATION, true),
    (id::POWER, true),
    (id::TEMPERATURE, true),
    (id::ERROR_RECOVERY, true),
    (id::WRITE_CACHE, false),
    (id::QUEUES, true),
    (id::WRITE_ATOMICITY, true),
    (id::EVENTS, true),
    (id::KEEP_ALIVE, true),
    (id::HOST_BEHAVIOR, true),
    (id::HOST_ID, false),
];

/// Features of a disk with reclaim unit handles.
const FDP_LIST: [(u8, bool); 2] = [(id::FDP, false), (id::FDP_EVENTS, true)];

/// Bytes of the host behaviour feature.
const HOST_BEHAVIOR_BYTES: u32 = 512;
/// Which value of the feature is asked for.
const SELECT_DEFAULT: u32 = 1;
const SELECT_SAVED: u32 = 2;
const SELECT_CAPABILITIES: u32 = 3;
const SAVE: u32 = 1 << 31;
const CAN_BE_CHANGED: u64 = 1 << 2;

impl Features {
    fn has(purpose: Purpose, feature: u8, target: &Target) -> bool {
        match purpose {
            Purpose::Disk => Self::list(target).any(|(id, _)| id == feature),
            Purpose::Discovery => matches!(feature, id::EVENTS | id::KEEP_ALIVE | id::HOST_ID),
        }
    }

    /// The features of the disk, and whether they can be changed.
    pub(super) fn list(target: &Target) -> impl Iterator<Item = (u8, bool)> {
        LIST.into_iter().chain(FDP_LIST.into_iter().filter(|_| target.placement().is_ok()))
    }

    /// Bytes of data for setting a feature.
    pub(super) fn bytes_to_set(entry: &Sqe, purpose: Purpose, target: &Target) -> Result<u32, Status> {
        let feature = entry.word(10) as u8;
        if !Self::has(purpose, feature, target) {
            return Err(Status::INVALID_FIELD);
        }
        Ok(match feature {
            id::HOST_BEHAVIOR => HOST_BEHAVIOR_BYTES,
            id::FDP_EVENTS => event_types(entry),
            _ => 0,
        })
    }

    /// The value of a feature.
    pub(super) fn get<M: Medium>(admin: &Admin, entry: &Sqe, turn: &mut Turn<'_, M>) -> Result<Answer, Status> {
        let target = turn.target;
        let (feature, select) = (entry.word(10) as u8, entry.word(10) >> 8 & 0b111);
        if !Self::has(admin.purpose, feature, target) || select > SELECT_CAPABILITIES {
            return Err(Status::INVALID_FIELD);
        }
        // Nothing can be saved, so that bit 0 is never set.
        if select == SELECT_CAPABILITIES {
            let can_be_changed = Self::list(target).any(|(id, can)| id == feature && can);
            return Ok(Answer::Done(if can_be_changed { CAN_BE_CHANGED } else { 0 }));
        }
        // Nothing is ever saved, and then the default stands for it.
        let is_default = matches!(select, SELECT_DEFAULT | SELECT_SAVED);
        let mut now = if is_default { Features::default() } else { admin.features };
        let value = match feature {
            id::ARBITRATION => now.arbitration,
            id::POWER => 0,
            id::TEMPERATURE => *now.temperature_mut(entry.word(11)).ok_or(Status::INVALID_FIELD)?,
            id::ERROR_RECOVERY => now.error_recovery,
            id::WRITE_CACHE => 1,
            id::QUEUES => queues(),
            id::WRITE_ATOMICITY => now.write_atomicity,
            id::EVENTS => now.event_mask,
            id::KEEP_ALIVE => now.keep_alive_ms,
            id::HOST_BEHAVIOR => {
                let mut data = now.host_behavior.to_vec();
                data.resize(HOST_BEHAVIOR_BYTES as usize, 0);
                return Ok(Answer::Data(data, 0));
            }
            // Enabled, with the first configuration.
            id::FDP => group(entry).map(|_| 1)?,
            id::FDP_EVENTS => {
                // The result is the number of types, also if the host has room for fewer.
                let types = target.placement()?.events_of(entry.word(11) as u16, turn.medium)?;
                let mut data = types.concat();
                data.resize(entry.data.length.get().min(512) as usize, 0);
                return Ok(Answer::Data(data, types.len() as u64));
            }
            // 128 bits, from connect.
            _ => return Ok(Answer::Data(admin.host.id.to_vec(), 0)),
        };
        Ok(Answer::Done(u64::from(value)))
    }

    /// Sets a feature. Returns the result.
    pub(super) fn set<M: Medium>(
        admin: &mut Admin,
        entry: &Sqe,
        data: &[u8],
        turn: &mut Turn<'_, M>,
    ) -> Result<u64, Status> {
        let (feature, value) = (entry.word(10) as u8, entry.word(11));
        if entry.word(10) & SAVE != 0 {
            return Err(Status::FEATURE_NOT_SAVEABLE);
        }
        let features = &mut admin.features;
        match feature {
            id::ARBITRATION => features.arbitration = value,
            // There is one power state. The other bits are a hint about the workload.
            id::POWER if value & 0b1_1111 == 0 => {}
            // For all sensors, and there are none.
            id::TEMPERATURE if value >> 16 & 0b1111 == 0b1111 => {}
            id::TEMPERATURE => *features.temperature_mut(value).ok_or(Status::INVALID_FIELD)? = value & 0xffff,
            id::ERROR_RECOVERY => features.error_recovery = value,
            // There is a write cache, and it stays on.
            id::WRITE_CACHE if value & 1 == 1 => {}
            id::WRITE_CACHE | id::HOST_ID => return Err(Status::FEATURE_NOT_CHANGEABLE),
            // A request for 65,536 queues is invalid.
            id::QUEUES if value as u16 == u16::MAX || (value >> 16) as u16 == u16::MAX => {
                return Err(Status::INVALID_FIELD);
            }
            id::QUEUES => return Ok(u64::from(queues())),
            id::WRITE_ATOMICITY => features.write_atomicity = value & 1,
            id::EVENTS => features.event_mask = value,
            id::KEEP_ALIVE => {
                // Its time begins again: the host has just shown that it is there.
                features.keep_alive_ms = value;
                admin.keep_alive(turn.now_ms);
            }
            id::HOST_BEHAVIOR => {
                let said = data.first_chunk().ok_or(Status::SGL_LENGTH_INVALID)?;
                features.host_behavior = *said;
            }
            // It cannot be changed while there is a namespace, and there always is one.
            id::FDP => return Err(Status::COMMAND_SEQUENCE),
            id::FDP_EVENTS => {
                let is_wanted = entry.word(12) & 1 != 0;
                turn.target.placement()?.enable_events(value as u16, data, is_wanted, turn.medium)?;
            }
            _ => return Err(Status::INVALID_FIELD),
        }
        Ok(0)
    }

    /// The threshold that a dword names: over or under, for the composite temperature.
    fn temperature_mut(&mut self, word: u32) -> Option<&mut u32> {
        match (word >> 16 & 0b1111, word >> 20 & 0b11) {
            (0, 0) => Some(&mut self.over_temperature),
            (0, 1) => Some(&mut self.under_temperature),
            _ => None,
        }
    }
}

/// The endurance group that a feature command names.
fn group(entry: &Sqe) -> Result<u16, Status> {
    let group = entry.word(11) as u16;
    if group == ENDURANCE_GROUP { Ok(group) } else { Err(Status::INVALID_FIELD) }
}

/// The FDP event types in a command.
fn event_types(entry: &Sqe) -> u32 {
    entry.word(11) >> 16 & 0xff
}

/// The numbers of queues of both kinds, each minus one.
fn queues() -> u32 {
    // A host may ask for any number, and is told how many it has. One half is for submission queues, the other for
    // completion queues.
    let most = u32::from(IO_QUEUES - 1);
    most << 16 | most
}
