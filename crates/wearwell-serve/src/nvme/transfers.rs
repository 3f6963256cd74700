//! Commands whose data has not arrived.

use std::collections::VecDeque;

use zerocopy::little_endian::U16;

use crate::output::Output;

use super::command::Sqe;
use super::link::Link;
use super::pdu::{Fatal, Transfer, flag};

/// Most bytes that are requested at a time. A single command may exceed it.
const GRANTED_BYTES: u32 = 4 << 20;

/// A command, and the received part of its data.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) entry: Sqe,
    /// The received data, without gaps from the first byte on.
    pub(super) data: Vec<u8>,
    /// The total bytes of its data.
    bytes: u32,
    is_granted: bool,
    /// Whether some of it did not match its digest.
    pub(super) is_damaged: bool,
}

/// Transfers from the host. A transfer's tag is its index.
///
/// Invariant: `granted_bytes` is the sum over granted transfers. The others are in `waiting`, in order of arrival. So a
/// connection holds at most [`GRANTED_BYTES`], or the data of one command.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    places: Vec<Option<Pending>>,
    waiting: VecDeque<u16>,
    granted_bytes: u32,
}

impl Transfers {
    fn pending(&self) -> impl Iterator<Item = &Pending> {
        self.places.iter().flatten()
    }

    pub(super) fn len(&self) -> usize {
        self.pending().count()
    }

    pub(super) fn has(&self, command_id: U16) -> bool {
        self.pending().any(|pending| pending.entry.command_id == command_id)
    }

    /// True while requested data has not arrived.
    pub(super) fn is_owed(&self) -> bool {
        self.granted_bytes > 0
    }

    /// Adds a command that brings `bytes` bytes, more than 0.
    pub(super) fn begin(&mut self, entry: &Sqe, bytes: u32) {
        let free = self.places.iter().position(Option::is_none);
        let at = free.unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.places[at] =
            Some(Pending { entry: *entry, data: Vec::new(), bytes, is_granted: false, is_damaged: false });
        // Queues have fewer entries than tags there are.
        self.waiting.push_back(at as u16);
    }

    /// Requests the data of waiting transfers, as far as the limit allows.
    pub(super) fn grant(&mut self, link: &Link, output: &mut Output) {
        // In order: a large command at the front is not passed by small ones for ever.
        while let Some(&tag) = self.waiting.front()
            && let Some(Some(pending)) = self.places.get_mut(usize::from(tag))
        {
            // A command that is larger than the limit would wait for ever otherwise.
            if self.granted_bytes > 0 && self.granted_bytes + pending.bytes > GRANTED_BYTES {
                return;
            }
            self.granted_bytes += pending.bytes;
            pending.is_granted = true;
            self.waiting.pop_front();
            link.grant(output, pending.entry.command_id, tag, pending.bytes);
        }
    }

    /// Adds received data. Returns the command if its data is complete.
    pub(super) fn add(&mut self, header: &Transfer, data: &[u8], is_damaged: bool) -> Result<Option<Pending>, Fatal> {
        // The number of the field that is wrong is its place in the header: 10 is the tag, 8 the command, 1 the flags.
        let place = self.places.get_mut(usize::from(header.tag.get())).ok_or(Fatal::Header { at: 10 })?;
        let pending = place.as_mut().filter(|pending| pending.is_granted).ok_or(Fatal::Header { at: 10 })?;
        if pending.entry.command_id != header.command_id {
            return Err(Fatal::Header { at: 8 });
        }
        let (offset, have) = (header.offset.get(), pending.data.len() as u32);
        // Neither side asked for data out of order.
        if offset != have || data.len() as u64 > u64::from(pending.bytes - have) {
            return Err(Fatal::DataOutOfRange { at: offset });
        }
        // Memory grows with what has come, and not with what the command announces.
        pending.data.extend_from_slice(data);
        pending.is_damaged |= is_damaged;
        let is_whole = pending.data.len() as u32 == pending.bytes;
        // The host and we must agree on where the data ends.
        if is_whole != (header.common.flags & flag::LAST != 0) {
            return Err(Fatal::Header { at: 1 });
        }
        if is_whole {
            self.granted_bytes -= pending.bytes;
        }
        Ok(if is_whole { place.take() } else { None })
    }
}
