//! From rows of any format to the requests of one device.

use crate::request::{Op, Request};

use super::error::{Fault, Position, TraceError, shown};
use super::{Take, TraceFormat};

/// Devices that the error for a missing one lists.
const MAX_LISTED_DEVICES: usize = 16;

/// One request as a format gives it.
pub(super) struct Row<'l> {
    /// Arrival in the format's own ticks from any origin.
    pub(super) ticks: u64,
    pub(super) op: Op,
    pub(super) offset_bytes: u64,
    pub(super) length_bytes: u64,
    pub(super) stream: u16,
    /// The device's name in the format; empty if the format has only one device.
    pub(super) device: &'l [u8],
}

impl Row<'_> {
    /// Offset and length in bytes. Invariant of every row that is passed on: only flushes, ends of segments and mounts
    /// have length 0, and the end is below 2⁶⁴.
    fn range(&self) -> Result<(u64, u64), Fault> {
        let (offset_bytes, length_bytes) = match self.op {
            Op::Flush | Op::EndSegment | Op::Mount => (0, 0),
            Op::Clean => (0, self.length_bytes),
            _ => (self.offset_bytes, self.length_bytes),
        };
        match self.op {
            Op::Flush | Op::EndSegment | Op::Mount => {}
            Op::Clean if length_bytes > u64::from(u32::MAX) => return Err(Fault::Overflow),
            op if length_bytes == 0 => return Err(Fault::ZeroLength { op }),
            _ if offset_bytes.checked_add(length_bytes).is_none() => return Err(Fault::Overflow),
            _ => {}
        }
        Ok((offset_bytes, length_bytes))
    }
}

/// Receives the rows of a trace, in their order in the file.
pub(super) trait Sink {
    /// Called first: the format, and its ticks per microsecond.
    fn begin(&mut self, format: TraceFormat, ticks_per_us: u64);

    /// Takes one row.
    fn push(&mut self, at: Position, row: &Row<'_>) -> Result<(), TraceError>;
}

/// Passes on the rows of all devices.
pub(super) struct Everyone<'a> {
    pub(super) name: &'a str,
    pub(super) ticks_per_us: u64,
    /// All rows, for formats that are not in the order of their times.
    pub(super) kept: Option<Vec<(Request, Vec<u8>)>>,
    pub(super) each: Take<'a>,
}

impl Sink for Everyone<'_> {
    fn begin(&mut self, format: TraceFormat, ticks_per_us: u64) {
        self.ticks_per_us = ticks_per_us;
        self.kept = (format == TraceFormat::Blktrace).then(Vec::new);
    }

    fn push(&mut self, at: Position, row: &Row<'_>) -> Result<(), TraceError> {
        let malformed = |fault| TraceError::Malformed { name: self.name.to_owned(), at, fault };
        let (offset_bytes, length_bytes) = row.range().map_err(malformed)?;
        let time_us = row.ticks / self.ticks_per_us;
        let request = Request { time_us, op: row.op, offset_bytes, length_bytes, stream: row.stream };
        match &mut self.kept {
            None => (self.each)(&request, row.device),
            Some(kept) => {
                kept.push((request, row.device.to_owned()));
                Ok(())
            }
        }
    }
}

impl Everyone<'_> {
    /// Passes on the kept rows, in the order of their times.
    pub(super) fn finish(self) -> Result<(), TraceError> {
        let mut kept = self.kept.unwrap_or_default();
        kept.sort_by_key(|(request, _)| request.time_us);
        kept.iter().try_for_each(|(request, device)| (self.each)(request, device))
    }
}

/// Collects the rows of one device, with the same checks for every format.
pub(super) struct Collector<'a> {
    name: &'a str,
    wanted: Option<&'a str>,
    /// The first devices seen. Without a wanted device, the only one.
    seen: Vec<Vec<u8>>,
    requests: Vec<Request>,
    ticks_per_us: u64,
}

impl Sink for Collector<'_> {
    fn begin(&mut self, _format: TraceFormat, ticks_per_us: u64) {
        self.ticks_per_us = ticks_per_us;
    }

    fn push(&mut self, at: Position, row: &Row<'_>) -> Result<(), TraceError> {
        if !self.selects(at, row.device)? {
            return Ok(());
        }
        let is_late = row.op == Op::Mount && !self.requests.is_empty();
        let range = if is_late { Err(Fault::LateMount) } else { row.range() };
        let malformed = |fault| TraceError::Malformed { name: self.name.to_owned(), at, fault };
        let (offset_bytes, length_bytes) = range.map_err(malformed)?;
        self.requests.push(Request { time_us: row.ticks, op: row.op, offset_bytes, length_bytes, stream: row.stream });
        Ok(())
    }
}

impl<'a> Collector<'a> {
    pub(super) fn new(name: &'a str, wanted: Option<&'a str>) -> Self {
        Self { name, wanted, seen: Vec::new(), requests: Vec::new(), ticks_per_us: 1 }
    }

    /// Whether the rows of `device` are wanted. Without a choice, a second device is an error, because a simulation of
    /// two overlaid address spaces would mean nothing.
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

    /// Sorts the rows by time. Rows with equal times keep their order.
    pub(super) fn sort_by_time(&mut self) {
        self.requests.sort_by_key(|request| request.time_us);
    }

    /// The calls of a recording. Its clock is kept, but never goes back.
    pub(super) fn finish_recording(mut self) -> Vec<Request> {
        let mut latest_us = 0;
        for request in &mut self.requests {
            latest_us = latest_us.max(request.time_us);
            request.time_us = latest_us;
        }
        self.requests
    }

    /// The requests, with times in microseconds since the first. Times never go back: a row that is stamped earlier
    /// than the previous one counts as arriving with it. The order of rows is what was recorded, and the stamps only
    /// describe it.
    pub(super) fn finish(mut self) -> Result<Vec<Request>, TraceError> {
        if let (Some(wanted), true) = (self.wanted, self.requests.is_empty()) {
            let found = self.seen.iter().map(|device| shown(device)).collect();
            return Err(TraceError::NoSuchDevice { name: self.name.to_owned(), wanted: wanted.to_owned(), found });
        }
        let first_ticks = self.requests.first().map_or(0, |request| request.time_us);
        let mut latest_us = 0;
        for request in &mut self.requests {
            latest_us = (request.time_us.saturating_sub(first_ticks) / self.ticks_per_us).max(latest_us);
            request.time_us = latest_us;
        }
        Ok(self.requests)
    }
}
