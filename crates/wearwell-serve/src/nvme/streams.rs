//! Streams, the older way to name what belongs together (Base 2.1, section 8.1.8.3), and the directive commands that
//! enable them. They exist on disks without reclaim unit handles. A host's identifiers are the engine's streams.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use wearwell::Placement;

use super::answer::Answer;
use super::blocks::{ALL_NAMESPACES, BLOCK_BYTES, NAMESPACE};
use super::command::Sqe;
use super::status::Status;
use super::subsystem::Subsystem;

/// Types of directives, in commands and in writes.
pub(super) mod directive {
    pub(in crate::nvme) const IDENTIFY: u8 = 0;
    pub(in crate::nvme) const STREAMS: u8 = 1;
    pub(in crate::nvme) const DATA_PLACEMENT: u8 = 2;
}

/// Operations of the directives.
mod operation {
    pub(super) const RETURN_PARAMETERS: u8 = 1;
    pub(super) const GET_STATUS: u8 = 2;
    pub(super) const ALLOCATE: u8 = 3;
    pub(super) const ENABLE: u8 = 1;
    pub(super) const RELEASE_IDENTIFIER: u8 = 1;
    pub(super) const RELEASE_RESOURCES: u8 = 2;
}

/// Streams that may be open at a time: as many as there can be handles.
const OPEN_STREAMS: u16 = Placement::HANDLES;
/// Most bytes that an operation returns: every stream identifier.
const STATUS_BYTES: usize = 2 << 16;

/// The streams of the namespace. Hosts share them.
#[derive(Debug, Default)]
pub(super) struct Streams(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The identifiers of the hosts that have enabled streams.
    hosts: Vec<[u8; 16]>,
    /// Streams that hosts keep for the namespace; 0 if none did.
    allocated: u16,
    /// The open streams. The one that was written to last is the last.
    open: VecDeque<u16>,
}

impl State {
    /// Closes what exceeds the most streams that may be open, those first whose last writes are oldest.
    fn close_surplus(&mut self) {
        // All streams that are open belong to the one namespace, which has what it allocated, or all if it did not.
        let most = usize::from(if self.allocated > 0 { self.allocated } else { OPEN_STREAMS });
        self.open.drain(..self.open.len().saturating_sub(most));
    }
}

impl Streams {
    fn state(&self) -> MutexGuard<'_, State> {
        // Lists are whole whatever happened.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn are_enabled(&self, host: &[u8; 16]) -> bool {
        self.state().hosts.contains(host)
    }

    fn enable(&self, host: &[u8; 16]) {
        let mut state = self.state();
        if !state.hosts.contains(host) {
            state.hosts.push(*host);
        }
    }

    /// Disables streams for a host. The last one closes all.
    pub(super) fn disable(&self, host: &[u8; 16]) {
        let mut state = self.state();
        state.hosts.retain(|enabled| enabled != host);
        if state.hosts.is_empty() {
            *state = State::default();
        }
    }

    /// Opens a stream that is written to, if it is not open. The one whose last write is oldest is closed for it.
    pub(super) fn write(&self, stream: u16) {
        let mut state = self.state();
        // A write to the stream of the write before leaves the list as it is, which saves the search.
        if state.open.back() == Some(&stream) {
            return;
        }
        state.open.retain(|open| *open != stream);
        state.open.push_back(stream);
        state.close_surplus();
    }

    fn parameters(&self, subsystem: &Subsystem) -> Vec<u8> {
        let state = self.state();
        let open = state.open.len() as u16;
        let of_nobody = if state.allocated == 0 { open } else { 0 };
        // The last one: hosts share the identifiers.
        let of_subsystem = [OPEN_STREAMS, OPEN_STREAMS - state.allocated, of_nobody, 1];
        let mut data = of_subsystem.map(u16::to_le_bytes).concat();
        // Behind the subsystem's part come the namespace's: the size to write in blocks, and the unit of allocation in
        // such sizes.
        data.resize(16, 0);
        data.extend((subsystem.page_bytes / BLOCK_BYTES).to_le_bytes());
        let pages = u16::try_from(subsystem.segment_bytes / u64::from(subsystem.page_bytes)).unwrap_or(u16::MAX);
        data.extend([pages, state.allocated, open].map(u16::to_le_bytes).concat());
        data
    }

    /// The number of open streams, and their identifiers in ascending order.
    fn status(&self) -> Vec<u8> {
        let mut open: Vec<u16> = self.state().open.iter().copied().collect();
        open.sort_unstable();
        std::iter::once(open.len() as u16).chain(open).flat_map(u16::to_le_bytes).collect()
    }

    /// Keeps up to so many streams for the namespace. Returns how many.
    fn allocate(&self, wanted: u16) -> Result<u16, Status> {
        let mut state = self.state();
        // Streams have to be released before others are allocated.
        if state.allocated > 0 {
            return Err(Status::INVALID_FIELD);
        }
        state.allocated = wanted.min(OPEN_STREAMS);
        state.close_surplus();
        Ok(state.allocated)
    }
}

/// The directive and the operation of a command, and the number that belongs to it.
fn wanted(entry: &Sqe) -> (u8, u8, u16) {
    let word = entry.word(11);
    ((word >> 8) as u8, word as u8, (word >> 16) as u16)
}

fn check_namespace(entry: &Sqe) -> Result<(), Status> {
    let is_known = [NAMESPACE, ALL_NAMESPACES].contains(&entry.namespace.get());
    if is_known { Ok(()) } else { Err(Status::INVALID_NAMESPACE) }
}

/// Directive send. None of its operations has data.
pub(super) fn send(entry: &Sqe, streams: &Streams, subsystem: &Subsystem, host: &[u8; 16]) -> Result<(), Status> {
    check_namespace(entry)?;
    match wanted(entry) {
        (directive::IDENTIFY, operation::ENABLE, _) => enable(entry, streams, subsystem.fdp.is_some(), host),
        (directive::STREAMS, operation::RELEASE_IDENTIFIER, stream)
            if streams.are_enabled(host) && entry.namespace.get() == NAMESPACE =>
        {
            // Only the bookkeeping of NVMe: the engine keeps the class of the stream, and a new write opens the stream
            // again.
            streams.state().open.retain(|open| *open != stream);
            Ok(())
        }
        (directive::STREAMS, operation::RELEASE_RESOURCES, _) if streams.are_enabled(host) => {
            streams.state().allocated = 0;
            Ok(())
        }
        _ => Err(Status::INVALID_FIELD),
    }
}

/// Enables or disables a directive for the command's host.
fn enable(entry: &Sqe, streams: &Streams, has_handles: bool, host: &[u8; 16]) -> Result<(), Status> {
    let (kind, is_wanted) = ((entry.word(12) >> 8) as u8, entry.word(12) & 1 != 0);
    match kind {
        directive::STREAMS if !has_handles => {
            if is_wanted {
                streams.enable(host)
            } else {
                streams.disable(host)
            }
            Ok(())
        }
        directive::DATA_PLACEMENT if !has_handles => Err(Status::FDP_DISABLED),
        directive::DATA_PLACEMENT if entry.namespace.get() == ALL_NAMESPACES => Err(Status::INVALID_NAMESPACE),
        // It is, and stays so.
        directive::DATA_PLACEMENT if is_wanted => Ok(()),
        _ => Err(Status::INVALID_FIELD),
    }
}

/// Directive receive.
pub(super) fn receive(
    entry: &Sqe,
    streams: &Streams,
    subsystem: &Subsystem,
    host: &[u8; 16],
) -> Result<Answer, Status> {
    check_namespace(entry)?;
    // Dwords, 0's based.
    let bytes = (entry.word(10) as usize).saturating_add(1).saturating_mul(4);
    let are_enabled = streams.are_enabled(host);
    let mut data = match wanted(entry) {
        (directive::IDENTIFY, operation::RETURN_PARAMETERS, _) if entry.namespace.get() == NAMESPACE => {
            directives(subsystem, are_enabled)
        }
        (directive::STREAMS, operation::RETURN_PARAMETERS, _) if are_enabled => streams.parameters(subsystem),
        (directive::STREAMS, operation::GET_STATUS, _) if are_enabled => streams.status(),
        (directive::STREAMS, operation::ALLOCATE, _) if are_enabled => {
            // Its number is in the result, and there is no data.
            return streams.allocate(entry.word(12) as u16).map(|count| Answer::Done(u64::from(count)));
        }
        _ => return Err(Status::INVALID_FIELD),
    };
    if bytes > STATUS_BYTES {
        return Err(Status::INVALID_FIELD);
    }
    data.resize(bytes, 0);
    Ok(Answer::Data(data, 0))
}

/// The directives that are supported, enabled, and enabled even after a reset, as sets of 32 bytes.
fn directives(subsystem: &Subsystem, streams_are_enabled: bool) -> Vec<u8> {
    let bit = |kind: u8| 1 << kind;
    let always = bit(directive::IDENTIFY);
    let sets = if subsystem.fdp.is_some() {
        let placement: u8 = bit(directive::DATA_PLACEMENT);
        [always | placement, always | placement, placement]
    } else {
        let enabled = if streams_are_enabled { bit(directive::STREAMS) } else { 0 };
        [always | bit(directive::STREAMS), always | enabled, 0]
    };
    let mut data = vec![0; 96];
    sets.into_iter().enumerate().for_each(|(at, set)| data[32 * at] = set);
    data
}
