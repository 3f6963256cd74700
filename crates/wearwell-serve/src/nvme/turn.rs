//! The context of a command: the disk, its host, and the queue that it came by.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::target::Target;

/// The context of a command.
pub(super) struct Turn<'a, M> {
    pub(super) target: &'a Target,
    pub(super) medium: &'a mut M,
    /// Milliseconds on a clock that never goes back.
    pub(super) now_ms: u64,
    /// The identifier of the host; 0 before it has connected.
    pub(super) host: [u8; 16],
}

/// An I/O queue of a controller.
pub(super) struct IoQueue {
    pub(super) controller: u16,
    pub(super) queue: u16,
    pub(super) host: [u8; 16],
    /// False once the controller no longer has this queue.
    pub(super) is_up: Arc<AtomicBool>,
}

/// The host's queue of commands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queue {
    pub(super) entries: u16,
    /// Commands taken, modulo `entries`.
    pub(super) head: u16,
    /// Whether the host waits for free entries. If it does not, data may stand for its own completion.
    pub(super) has_flow_control: bool,
}
