//! Connections to the disk, over NBD or NVMe/TCP, with the requests and errors of NBD.

use std::io;

use wearwell_soak::client::{Answer, Client, FLUSH, FUA, NO_HOLE, READ, TRIM, WRITE};
use wearwell_soak::expect;
use wearwell_soak::nvme::{Command, Completion, Options, Queue};

use crate::server::Serving;

/// NBD's error numbers that a disk may answer with once its chip fails.
pub(crate) const EIO: u32 = 5;
pub(crate) const ENOSPC: u32 = 28;
/// The block of an NVMe namespace.
const BLOCK_BYTES: u64 = 512;

/// A protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Nbd,
    Nvme,
}

impl Protocol {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Nbd => Self::Nvme,
            Self::Nvme => Self::Nbd,
        }
    }
}

/// A connection. The disk executes requests in the order in which they are sent: the model relies on it.
#[derive(Debug)]
pub(crate) enum Wire {
    Nbd(Client),
    /// A controller of its own, which goes with its admin queue.
    Nvme {
        _admin: Queue,
        io: Queue,
    },
}

impl Wire {
    pub(crate) fn connect(protocol: Protocol, serving: &Serving) -> io::Result<Self> {
        if protocol == Protocol::Nbd {
            return Ok(Self::Nbd(Client::connect(&serving.socket, "")?));
        }
        let (address, nqn) = serving.subsystem()?;
        let mut admin = Queue::admin(address, nqn, Options::default())?;
        expect(admin.enable()?.status == 0, "an enabled controller")?;
        let io = Queue::io(address, nqn, admin.controller, 1, Options::default())?;
        Ok(Self::Nvme { _admin: admin, io })
    }

    /// Sends a request and returns its cookie.
    pub(crate) fn send(&mut self, flags: u16, kind: u16, offset: u64, length: u32, data: &[u8]) -> io::Result<u64> {
        match self {
            Self::Nbd(client) => client.send(flags, kind, offset, length, data),
            Self::Nvme { io, .. } => {
                let range = range(offset, length);
                let data = if kind == TRIM { &range } else { data };
                let wanted_bytes = if kind == READ { length } else { 0 };
                io.send_whole(command(flags, kind, offset, length), data, wanted_bytes).map(u64::from)
            }
        }
    }

    /// The reply to a request, with `length` bytes if it is not an error.
    pub(crate) fn reply(&mut self, cookie: u64, length: u32) -> io::Result<Answer> {
        match self {
            Self::Nbd(client) => client.reply(cookie, length),
            Self::Nvme { io, .. } => {
                let completion = io.next()?;
                expect(u64::from(completion.id) == cookie, "the completion of the next command")?;
                let is_whole = completion.status != 0 || completion.data.len() == length as usize;
                expect(is_whole, "as much data as wanted")?;
                Ok(answer(completion))
            }
        }
    }
}

/// A range of Dataset Management.
fn range(offset: u64, length: u32) -> Vec<u8> {
    let (first, blocks) = (offset / BLOCK_BYTES, length / BLOCK_BYTES as u32);
    [&[0; 4], &blocks.to_le_bytes()[..], &first.to_le_bytes()].concat()
}

/// The NVMe command for a request.
fn command(flags: u16, kind: u16, offset: u64, length: u32) -> Command {
    let first = offset / BLOCK_BYTES;
    // The number of blocks counts from 0. A flush has none, and does not use it.
    let blocks = (length / BLOCK_BYTES as u32).wrapping_sub(1);
    let durable = u32::from(flags & FUA != 0) << 30;
    let (opcode, words) = match kind {
        FLUSH => (0x00, [0; 6]),
        // One range, to deallocate.
        TRIM => (0x09, [0, 4, 0, 0, 0, 0]),
        _ => {
            let deallocates = u32::from(kind != READ && kind != WRITE && flags & NO_HOLE == 0) << 25;
            let opcode = match kind {
                READ => 0x02,
                WRITE => 0x01,
                _ => 0x08,
            };
            (opcode, [first as u32, (first >> 32) as u32, blocks | durable | deallocates, 0, 0, 0])
        }
    };
    Command { opcode, namespace: 1, words }
}

/// The answer for a completion. A status without an error number of NBD stays.
fn answer(completion: Completion) -> Answer {
    match completion.status {
        0 => Ok(completion.data),
        // Capacity exceeded.
        0x081 => Err(ENOSPC),
        // Write fault, unrecovered read error.
        0x280 | 0x281 => Err(EIO),
        other => Err(u32::from(other)),
    }
}
