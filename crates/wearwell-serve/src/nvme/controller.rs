//! A controller, as its admin queue has it: its state, and the numbers that hosts are told of it.

use zerocopy::little_endian::U16;

use super::target::{Host, Purpose};

/// Most asynchronous event requests that may wait.
pub(super) const EVENT_REQUESTS: usize = 4;
/// Keep-alive times are rounded up to a multiple of this.
pub(super) const KEEP_ALIVE_STEP_MS: u32 = 1000;
/// The lifetime of a discovery controller whose host sets no keep-alive.
const DISCOVERY_IDLE_MS: u64 = 120_000;

/// NVM Express 2.1.
pub(super) const VERSION: u32 = 0x0002_0100;

/// Bits of the configuration.
pub(super) mod configuration {
    pub(in crate::nvme) const ENABLE: u32 = 1;
    pub(in crate::nvme) const COMMAND_SET: u32 = 0b111 << 4;
    pub(in crate::nvme) const MEMORY_PAGE: u32 = 0b1111 << 7;
    pub(in crate::nvme) const ARBITRATION: u32 = 0b111 << 11;
    pub(in crate::nvme) const SHUTDOWN: u32 = 0b11 << 14;
}

/// Values of features. Those without an effect here are only stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Features {
    pub(super) keep_alive_ms: u32,
    /// The enabled events.
    pub(super) event_mask: u32,
    pub(super) arbitration: u32,
    pub(super) over_temperature: u32,
    pub(super) under_temperature: u32,
    pub(super) error_recovery: u32,
    pub(super) write_atomicity: u32,
    /// The used bytes of the feature of the host's behavior.
    pub(super) host_behavior: [u8; 8],
}

impl Default for Features {
    fn default() -> Self {
        Self {
            keep_alive_ms: 0,
            event_mask: 0,
            arbitration: 0,
            over_temperature: 0xffff,
            under_temperature: 0,
            error_recovery: 0,
            write_atomicity: 0,
            host_behavior: [0; 8],
        }
    }
}

/// A controller, as its admin queue has it.
pub(super) struct Admin {
    pub(super) id: u16,
    pub(super) purpose: Purpose,
    pub(super) host: Host,
    pub(super) configuration: u32,
    pub(super) is_shut_down: bool,
    pub(super) features: Features,
    /// When the controller expires without a keep-alive; none for never.
    expires_ms: Option<u64>,
    /// Commands that wait for events, oldest first.
    pub(super) events: Vec<U16>,
    /// Critical warnings that were reported, and whose log page was not read since.
    pub(super) told_warnings: u8,
}

impl Admin {
    pub(super) fn new(id: u16, purpose: Purpose, host: Host, keep_alive_ms: u32, now_ms: u64) -> Self {
        let mut admin = Self {
            id,
            purpose,
            host,
            configuration: 0,
            is_shut_down: false,
            features: Features::default(),
            expires_ms: None,
            events: Vec::new(),
            told_warnings: 0,
        };
        admin.features.keep_alive_ms = keep_alive_ms;
        admin.keep_alive(now_ms);
        admin
    }

    /// Notes a sign of the host.
    pub(super) fn keep_alive(&mut self, now_ms: u64) {
        // A timeout of 0 means that a disk's controller lives as long as its connection. Discovery controllers have two
        // minutes then.
        let time_ms = self.features.keep_alive_ms;
        self.expires_ms = match (time_ms, self.purpose) {
            (0, Purpose::Disk) => None,
            (0, Purpose::Discovery) => Some(now_ms + DISCOVERY_IDLE_MS),
            _ => Some(now_ms + u64::from(time_ms).next_multiple_of(u64::from(KEEP_ALIVE_STEP_MS))),
        };
    }

    pub(super) fn is_expired(&self, now_ms: u64) -> bool {
        self.expires_ms.is_some_and(|expires_ms| now_ms >= expires_ms)
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.configuration & configuration::ENABLE != 0
    }

    /// The number of commands that wait for events.
    pub(super) fn waiting(&self) -> usize {
        self.events.len()
    }

    pub(super) fn awaits(&self, command_id: U16) -> bool {
        self.events.contains(&command_id)
    }
}
