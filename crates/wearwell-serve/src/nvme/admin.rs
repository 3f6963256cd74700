//! The admin queue of a controller: its properties, its abilities, and keep-alive.

use zerocopy::little_endian::U16;

use super::answer::{Answer, Failed};
use super::command::{Direction, Sqe, admin, fabrics};
use super::controller::{Admin, EVENT_REQUESTS, Features, VERSION, configuration};
use super::identify;
use super::logs;
use super::medium::Medium;
use super::status::Status;
use super::streams;
use super::target::{Purpose, QUEUE_ENTRIES, Target};
use super::turn::Turn;

/// Timeout for enabling and disabling, in half seconds. Both happen at once, but hosts expect a value above 0.
const READY_HALF_SECONDS: u64 = 10;

/// Offsets of properties.
mod property {
    pub(super) const CAPABILITIES: u32 = 0x00;
    pub(super) const VERSION: u32 = 0x08;
    pub(super) const CONFIGURATION: u32 = 0x14;
    pub(super) const STATUS: u32 = 0x1c;
    pub(super) const READY_TIMEOUTS: u32 = 0x68;
}

/// Asynchronous events about the disk's health, by the bit of the critical warning (Base 2.1, figure 153): reliability
/// (0) or spare (2).
const WARNINGS: [(u8, u32); 2] = [(1 << 0, 2), (1 << 3, 0)];

impl Admin {
    /// The next event to report: the command to complete, and its result.
    pub(super) fn next_event(&mut self, target: &Target, medium: &mut impl Medium) -> Option<(U16, u64)> {
        // Without a command that waits, an event has nothing that could carry it. It is told when one comes.
        if !self.is_enabled() || self.events.is_empty() || self.purpose == Purpose::Discovery {
            return None;
        }
        let critical = medium.health().ok()?.critical_warning(target.subsystem.is_read_only);
        // The lowest byte of the event configuration enables events by the bits of the critical warning.
        let wanted = critical & !self.told_warnings & self.features.event_mask as u8;
        let &(bit, information) = WARNINGS.iter().find(|(bit, _)| wanted & bit != 0)?;
        self.told_warnings |= bit;
        // Dword 0 of the completion: the type of SMART and health events, the information, and the log page to read.
        let health_event = 1 | information << 8 | u32::from(logs::HEALTH) << 16;
        Some((self.events.remove(0), u64::from(health_event)))
    }

    /// Bytes of data that a command brings, if the command is allowed now.
    pub(super) fn plan(&self, entry: &Sqe, target: &Target) -> Result<u32, Status> {
        if entry.is_fabrics() {
            return match entry.fabrics_type() {
                fabrics::PROPERTY_GET | fabrics::PROPERTY_SET => Ok(0),
                // Only I/O queues can be disconnected. The admin queue ends with its connection.
                fabrics::DISCONNECT => Err(Status::INVALID_QUEUE_TYPE),
                _ => Err(Status::INVALID_OPCODE),
            };
        }
        // Until the host has enabled the controller, it can only get and set properties.
        if !self.is_enabled() {
            return Err(Status::COMMAND_SEQUENCE);
        }
        // A discovery controller has the commands that a host needs to read its log, and no others.
        let is_known = match entry.opcode {
            admin::KEEP_ALIVE
            | admin::GET_LOG_PAGE
            | admin::IDENTIFY
            | admin::SET_FEATURES
            | admin::GET_FEATURES
            | admin::ASYNC_EVENT => true,
            admin::ABORT | admin::DIRECTIVE_SEND | admin::DIRECTIVE_RECEIVE => self.purpose == Purpose::Disk,
            _ => false,
        };
        match entry.direction() {
            _ if !is_known => Err(Status::INVALID_OPCODE),
            Direction::FromHost if entry.opcode == admin::SET_FEATURES => {
                Features::bytes_to_set(entry, self.purpose, target)
            }
            _ => Ok(0),
        }
    }

    pub(super) fn execute<M: Medium>(
        &mut self,
        entry: &Sqe,
        data: &[u8],
        turn: &mut Turn<'_, M>,
    ) -> Result<Answer, Failed> {
        if entry.is_fabrics() {
            return match entry.fabrics_type() {
                fabrics::PROPERTY_GET => Ok(Answer::Done(self.property(entry)?)),
                _ => Ok(self.set_property(entry, turn).map(|()| Answer::Done(0))?),
            };
        }
        match entry.opcode {
            admin::IDENTIFY => Ok(Answer::Data(identify::identify(entry, self, turn)?, 0)),
            admin::GET_LOG_PAGE => Ok(Answer::Data(logs::log_page(entry, self, turn)?, 0)),
            admin::GET_FEATURES => Ok(Features::get(self, entry, turn)?),
            admin::SET_FEATURES => Ok(Features::set(self, entry, data, turn).map(Answer::Done)?),
            admin::KEEP_ALIVE => {
                self.keep_alive(turn.now_ms);
                Ok(Answer::Done(0))
            }
            admin::DIRECTIVE_SEND => Ok(streams::send(entry, &turn.target.streams, &turn.target.subsystem, &turn.host)
                .map(|()| Answer::Done(0))?),
            admin::DIRECTIVE_RECEIVE => {
                Ok(streams::receive(entry, &turn.target.streams, &turn.target.subsystem, &turn.host)?)
            }
            // Commands are done already or wait for their data. Bit 0 says that nothing was aborted.
            admin::ABORT => Ok(Answer::Done(1)),
            admin::ASYNC_EVENT if self.events.len() == EVENT_REQUESTS => Err(Status::EVENT_LIMIT.into()),
            admin::ASYNC_EVENT => {
                self.events.push(entry.command_id);
                Ok(Answer::Later)
            }
            _ => Err(Status::INVALID_OPCODE.into()),
        }
    }

    /// A property of 4 or 8 bytes.
    fn property(&self, entry: &Sqe) -> Result<u64, Status> {
        // Dword 11 is the offset of the property. The lowest bits of dword 10 say whether 4 or 8 bytes are wanted.
        let (bytes, value) = match entry.word(11) {
            property::CAPABILITIES => (8, capabilities()),
            property::VERSION => (4, u64::from(VERSION)),
            property::CONFIGURATION => (4, u64::from(self.configuration)),
            property::STATUS => (4, u64::from(self.status())),
            property::READY_TIMEOUTS => (4, READY_HALF_SECONDS),
            _ => return Err(Status::INVALID_FIELD),
        };
        if property_bytes(entry) == Some(bytes) { Ok(value) } else { Err(Status::INVALID_FIELD) }
    }

    fn status(&self) -> u32 {
        // CSTS: bit 0 is ready, and bits 3:2 are the status of the shutdown, here "complete".
        let shutdown = if self.is_shut_down { 0b10 << 2 } else { 0 };
        u32::from(self.is_enabled()) | shutdown
    }

    /// Only the configuration can be set.
    fn set_property<M: Medium>(&mut self, entry: &Sqe, turn: &mut Turn<'_, M>) -> Result<(), Status> {
        if entry.word(11) != property::CONFIGURATION || property_bytes(entry) != Some(4) {
            return Err(Status::INVALID_FIELD);
        }
        let (was_enabled, wanted) = (self.is_enabled(), entry.word(12));
        let is_enabled = wanted & configuration::ENABLE != 0;
        // In each of these fields 0 is the one choice that there is: the NVM command set, pages of 4 KiB, round robin.
        let fixed = configuration::COMMAND_SET | configuration::MEMORY_PAGE | configuration::ARBITRATION;
        if is_enabled && wanted & fixed != 0 {
            return Err(Status::INVALID_FIELD);
        }
        self.configuration = wanted;
        if is_enabled && !was_enabled {
            // The host's time begins anew: what the set-up took does not count.
            turn.target.enable(self.id);
            self.keep_alive(turn.now_ms);
        }
        if was_enabled && !is_enabled {
            // The other queues see the reset at their next message or tick, and end.
            self.reset(turn.target);
        }
        let shuts_down = wanted & configuration::SHUTDOWN != 0;
        if shuts_down && !self.is_shut_down {
            // Before the status says that the shutdown is complete: then the host may cut the power.
            turn.medium.flush()?;
        }
        self.is_shut_down = shuts_down;
        Ok(())
    }

    /// Returns to the state after connect, and keeps what connect set.
    fn reset(&mut self, target: &Target) {
        target.reset(self.id);
        self.events.clear();
        self.told_warnings = 0;
        // Connect has set it, and there is no new connect after a reset.
        let keep_alive_ms = self.features.keep_alive_ms;
        self.features = Features::default();
        self.features.keep_alive_ms = keep_alive_ms;
    }
}

/// Bytes of a property, from the command.
fn property_bytes(entry: &Sqe) -> Option<u32> {
    [4, 8].get(entry.word(10) as usize & 0b111).copied()
}

fn capabilities() -> u64 {
    let is_contiguous = 1 << 16;
    let has_nvm_commands = 1 << 37;
    // It is ready when its media are.
    let ready_with_media = 1 << 59;
    // CAP, where the number of entries is 0's based.
    u64::from(QUEUE_ENTRIES - 1) | is_contiguous | READY_HALF_SECONDS << 24 | has_nvm_commands | ready_with_media
}
