//! What becomes of a command: its answer, or its failure and what is kept of that.

use zerocopy::little_endian::U16;

use super::command::Sqe;
use super::status::Status;

/// Why a command failed, and the rest of its completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) status: Status,
    pub(super) result: u64,
}

impl From<Status> for Failed {
    fn from(status: Status) -> Self {
        Self { status, result: 0 }
    }
}

/// The answer of a successful command.
#[derive(Debug)]
pub(super) enum Answer {
    /// The result.
    Done(u64),
    /// Data, of the length that the command asked for, and the result.
    Data(Vec<u8>, u64),
    /// No answer yet.
    Later,
}

/// A command that failed (figure 205).
#[derive(Debug, Clone, Copy)]
pub(super) struct ErrorEntry {
    pub(super) count: u64,
    pub(super) queue: u16,
    pub(super) command_id: U16,
    pub(super) status: u16,
    pub(super) first_block: u64,
    pub(super) namespace: u32,
}

impl ErrorEntry {
    pub(super) fn of(entry: &Sqe, status: Status, queue: u16) -> Self {
        // Only I/O commands have blocks in dwords 10 and 11. Commands of the admin queue have other fields there.
        let has_blocks = queue > 0 && !entry.is_fabrics();
        Self {
            count: 0,
            queue,
            command_id: entry.command_id,
            status: status.field(),
            first_block: if has_blocks { entry.words(10) } else { 0 },
            namespace: if entry.is_fabrics() { 0 } else { entry.namespace.get() },
        }
    }
}
