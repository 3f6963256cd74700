//! From rows of any format to batches of requests. All checks are here, so that they are the same for every format.

use std::collections::HashMap;
use std::path::Path;

use crate::request::{Op, Request};

use super::ahead::Ahead;
use super::error::{Fault, Position, TraceError, shown};

/// Rows of a batch. A batch fits into a processor's cache.
pub(super) const BATCH_ROWS: usize = 1 << 13;

/// Devices that the error for a missing one lists.
const MAX_LISTED_DEVICES: usize = 16;

/// Requests in their recorded order.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// The requests.
    pub requests: &'a [Request],
    /// The device of each: its place among the names.
    pub devices: &'a [u32],
    /// The names of all devices so far, in the order in which they appeared.
    pub names: &'a [Vec<u8>],
}

impl<'a> Batch<'a> {
    /// Fails if the batch is of a recording: some of its rows are no requests of a host.
    pub(super) fn refuse_calls(&self, trace: &Path) -> Result<(), TraceError> {
        match self.requests.iter().any(|request| request.op.is_call()) {
            true => Err(TraceError::Recording { name: trace.display().to_string() }),
            false => Ok(()),
        }
    }

    /// The requests, each with the name of its device.
    pub fn iter(&self) -> impl Iterator<Item = (&'a Request, &'a [u8])> {
        let names = self.names;
        self.requests.iter().zip(self.devices).map(move |(request, &device)| (request, &names[device as usize][..]))
    }
}

/// Which devices' requests are read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Select<'a> {
    /// Those of all.
    All,
    /// Those of the only one. A second one is an error, because a simulation of two overlaid address spaces would mean
    /// nothing.
    Only,
    /// Those of one by name.
    One(&'a str),
}

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
    /// The request. Invariant of every request of a trace: only flushes, ends of segments and mounts have length 0, and
    /// the end is below 2⁶⁴. Its time is still in ticks.
    #[inline]
    fn request(&self) -> Result<Request, Fault> {
        let (offset_bytes, length_bytes) = match self.op {
            // What a format says of their range has no meaning.
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
        Ok(Request { time_us: self.ticks, op: self.op, offset_bytes, length_bytes, stream: self.stream })
    }
}

/// Reads a trace of one format, some rows at a time.
pub(super) trait Reader: Send {
    /// Adds rows until there are [`BATCH_ROWS`]; false at the end of the trace.
    fn read(&mut self, rows: &mut Rows<'_>) -> Result<bool, TraceError>;
}

/// Rows of which a batch is made. Times are in ticks of the format.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) requests: Vec<Request>,
    pub(super) devices: Vec<u32>,
    /// Names of devices that no chunk before has.
    pub(super) names: Vec<Vec<u8>>,
}

/// Receives the rows of a trace, in their order in the file.
pub(super) struct Rows<'a> {
    name: &'a str,
    select: Select<'a>,
    chunk: Chunk,
    /// True if a row was kept, in this chunk or before.
    has_any: bool,
    /// The names of all devices so far, and the place of each.
    names: Vec<Vec<u8>>,
    places: HashMap<Vec<u8>, u32>,
    /// The place of the last row's device.
    last: u32,
}

impl<'a> Rows<'a> {
    pub(super) fn new(name: &'a str, select: Select<'a>) -> Self {
        let (names, places) = (Vec::new(), HashMap::new());
        Self { name, select, chunk: Chunk::default(), has_any: false, names, places, last: 0 }
    }

    /// How many more rows the chunk takes.
    #[inline]
    pub(super) fn room(&self) -> usize {
        BATCH_ROWS.saturating_sub(self.chunk.requests.len())
    }

    /// Takes one row.
    #[inline]
    pub(super) fn push(&mut self, at: Position, row: &Row<'_>) -> Result<(), TraceError> {
        // First: rows of other devices are not checked any further.
        let Some(device) = self.select(at, row.device)? else { return Ok(()) };
        // A recording may begin with a mount. Later the engine exists already.
        let request = if row.op == Op::Mount && self.has_any { Err(Fault::LateMount) } else { row.request() };
        match request {
            Ok(request) => {
                self.has_any = true;
                self.chunk.requests.push(request);
                self.chunk.devices.push(device);
                Ok(())
            }
            Err(fault) => Err(TraceError::Malformed { name: self.name.to_owned(), at, fault }),
        }
    }

    /// The place of a row's device; none if its rows are not wanted.
    #[inline]
    fn select(&mut self, at: Position, device: &[u8]) -> Result<Option<u32>, TraceError> {
        match self.select {
            Select::One(wanted) if wanted.as_bytes() != device => {
                // The error for a missing device names some of those that are there.
                if self.names.len() < MAX_LISTED_DEVICES {
                    self.place(device);
                }
                return Ok(None);
            }
            _ => {}
        }
        let place = self.place(device);
        // The first device has place 0, so this is a second one.
        if matches!(self.select, Select::Only) && place > 0 {
            let (name, first, second) = (self.name.to_owned(), shown(&self.names[0]), shown(device));
            return Err(TraceError::SeveralDevices { name, at, first, second });
        }
        Ok(Some(place))
    }

    /// The place of a device among the names. Many rows name the same one as the row before.
    #[inline]
    fn place(&mut self, device: &[u8]) -> u32 {
        // Two empty names are not compared: `memcmp` may read at an address that is none then, with all bytes masked.
        // On some processors a row without a device takes twice the time for that.
        let is_other = |last: &Vec<u8>| last.len() != device.len() || !device.is_empty() && last != device;
        if self.names.get(self.last as usize).is_none_or(is_other) {
            self.last = self.places.get(device).copied().unwrap_or_else(|| {
                let place = self.names.len() as u32;
                self.names.push(device.to_owned());
                self.chunk.names.push(device.to_owned());
                self.places.insert(device.to_owned(), place);
                place
            });
        }
        self.last
    }

    /// Sorts the rows of the chunk by time. Rows with equal times keep their order.
    pub(super) fn sort_by_time(&mut self) {
        let Chunk { requests, devices, .. } = &mut self.chunk;
        let mut rows: Vec<(Request, u32)> = requests.drain(..).zip(devices.drain(..)).collect();
        rows.sort_by_key(|(request, _)| request.time_us);
        (*requests, *devices) = rows.into_iter().unzip();
    }

    /// The rows since the last call.
    pub(super) fn take(&mut self) -> Chunk {
        // Behind a full chunk there are probably more rows.
        let capacity = if self.room() == 0 { BATCH_ROWS } else { 0 };
        let (requests, devices) = (Vec::with_capacity(capacity), Vec::with_capacity(capacity));
        std::mem::replace(&mut self.chunk, Chunk { requests, devices, names: Vec::new() })
    }

    /// To be called behind the last row: a device that was chosen must be there.
    pub(super) fn finish(&self) -> Result<(), TraceError> {
        match self.select {
            Select::One(wanted) if !self.has_any => {
                let found = self.names.iter().map(|device| shown(device)).collect();
                Err(TraceError::NoSuchDevice { name: self.name.to_owned(), wanted: wanted.to_owned(), found })
            }
            _ => Ok(()),
        }
    }
}

/// The parts of a trace. An error is the last one, behind all rows before it.
pub(super) struct Chunks<'a> {
    reader: Box<dyn Reader + 'a>,
    rows: Rows<'a>,
    rest: Rest,
}

/// What is left of a trace.
enum Rest {
    Rows,
    Error(TraceError),
    Nothing,
}

impl<'a> Chunks<'a> {
    pub(super) fn new(reader: Box<dyn Reader + 'a>, rows: Rows<'a>) -> Self {
        Self { reader, rows, rest: Rest::Rows }
    }

    /// Reads on a thread of its own, if there is more than one chunk.
    pub(super) fn ahead<'s, 'e>(self, scope: &'s std::thread::Scope<'s, 'e>) -> Ahead<'s, 'e, Result<Chunk, TraceError>>
    where
        'a: 's,
    {
        Ahead::new(scope, self, |chunk| chunk.as_ref().is_ok_and(|chunk| chunk.requests.len() >= BATCH_ROWS))
    }
}

impl Iterator for Chunks<'_> {
    type Item = Result<Chunk, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        match std::mem::replace(&mut self.rest, Rest::Nothing) {
            Rest::Nothing => return None,
            Rest::Error(error) => return Some(Err(error)),
            Rest::Rows => {}
        }
        let read = self.reader.read(&mut self.rows);
        let read = read.and_then(|is_more| if is_more { Ok(true) } else { self.rows.finish().map(|()| false) });
        self.rest = match read {
            Ok(true) => Rest::Rows,
            Ok(false) => Rest::Nothing,
            Err(error) => Rest::Error(error),
        };
        // Also behind an error, which comes with the next call.
        Some(Ok(self.rows.take()))
    }
}
