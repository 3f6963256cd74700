//! From rows of any format to the requests of one device.

use crate::request::{Op, Request};

use super::error::{Fault, Position, TraceError, shown};

/// How many devices the error for a missing one lists.
const MAX_LISTED_DEVICES: usize = 16;

/// One request as a format gives it.
pub(super) struct Row<'l> {
    /// Arrival in the format's own ticks from any origin.
    pub(super) ticks: u64,
    pub(super) op: Op,
    pub(super) offset_bytes: u64,
    pub(super) length_bytes: u64,
    pub(super) stream: u16,
    /// What the format calls the device; empty where it has one only.
    pub(super) device: &'l [u8],
}

/// Collects the rows of one device, with the same checks for every format.
pub(super) struct Collector<'a> {
    name: &'a str,
    wanted: Option<&'a str>,
    /// Devices seen, the first ones only. Without a wanted device: the only one.
    seen: Vec<Vec<u8>>,
    requests: Vec<Request>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(name: &'a str, wanted: Option<&'a str>) -> Self {
        Self { name, wanted, seen: Vec::new(), requests: Vec::new() }
    }

    /// Takes one row. Invariant of everything collected: length 0 for flushes, ends of segments and mounts only, end below 2⁶⁴.
    pub(super) fn push(&mut self, at: Position, row: &Row<'_>) -> Result<(), TraceError> {
        if !self.selects(at, row.device)? {
            return Ok(());
        }
        let (offset_bytes, length_bytes) = match row.op {
            Op::Flush | Op::EndSegment | Op::Mount => (0, 0),
            Op::Clean => (0, row.length_bytes),
            _ => (row.offset_bytes, row.length_bytes),
        };
        let fault = match row.op {
            Op::Mount if !self.requests.is_empty() => Some(Fault::LateMount),
            Op::Flush | Op::EndSegment | Op::Mount => None,
            Op::Clean if length_bytes > u64::from(u32::MAX) => Some(Fault::Overflow),
            op if length_bytes == 0 => Some(Fault::ZeroLength { op }),
            _ if offset_bytes.checked_add(length_bytes).is_none() => Some(Fault::Overflow),
            _ => None,
        };
        if let Some(fault) = fault {
            return Err(TraceError::Malformed { name: self.name.to_owned(), at, fault });
        }
        self.requests.push(Request { time_us: row.ticks, op: row.op, offset_bytes, length_bytes, stream: row.stream });
        Ok(())
    }

    /// Whether the rows of `device` are wanted. Without a choice, a second device is an error: two
    /// address spaces laid over each other would simulate nothing.
    fn selects(&mut self, at: Position, device: &[u8]) -> Result<bool, TraceError> {
        if let Some(wanted) = self.wanted {
            let found = wanted.as_bytes() == device;
            if !found && self.seen.len() < MAX_LISTED_DEVICES && !self.seen.iter().any(|seen| seen == device) {
                self.seen.push(device.to_owned());
            }
            return Ok(found);
        }
        match self.seen.first() {
            Some(first) if first == device => Ok(true),
            Some(first) => Err(TraceError::SeveralDevices {
                name: self.name.to_owned(),
                at,
                first: shown(first),
                second: shown(device),
            }),
            None => {
                self.seen.push(device.to_owned());
                Ok(true)
            }
        }
    }

    /// Puts the rows in the order of their times; equal times keep the order they came in.
    pub(super) fn sort_by_time(&mut self) {
        self.requests.sort_by_key(|request| request.time_us);
    }

    /// The calls of a recording, whose clock is kept as it was, but never goes back.
    pub(super) fn finish_recording(mut self) -> Vec<Request> {
        let mut latest_us = 0;
        for request in &mut self.requests {
            latest_us = latest_us.max(request.time_us);
            request.time_us = latest_us;
        }
        self.requests
    }

    /// The requests, times in microseconds since the first. Times never go back: a row stamped earlier
    /// than the one before it counts as arriving with it, because the order of rows is what was recorded
    /// and the stamps only describe it.
    pub(super) fn finish(mut self, ticks_per_us: u64) -> Result<Vec<Request>, TraceError> {
        if let (Some(wanted), true) = (self.wanted, self.requests.is_empty()) {
            let found = self.seen.iter().map(|device| shown(device)).collect();
            return Err(TraceError::NoSuchDevice { name: self.name.to_owned(), wanted: wanted.to_owned(), found });
        }
        let first_ticks = self.requests.first().map_or(0, |request| request.time_us);
        let mut latest_us = 0;
        for request in &mut self.requests {
            latest_us = (request.time_us.saturating_sub(first_ticks) / ticks_per_us).max(latest_us);
            request.time_us = latest_us;
        }
        Ok(self.requests)
    }
}
