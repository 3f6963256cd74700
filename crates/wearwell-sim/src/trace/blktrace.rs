//! blktrace's binary records (`struct blk_io_trace`, version 7), of either byte order.
//!
//! A file holds the records of one CPU. Several files concatenated, or blkparse's dump of all, are one trace. Its
//! requests are sorted by time. Requests are the queue events: one for each bio that the file system or program sent.
//! The kernel does not mark writes of zeros in these records, so they count as writes.

use std::io::{BufRead, BufReader, Read};

use crate::request::Op;

use super::error::{Fault, Position, TraceError};
use super::rows::{Reader, Row, Rows};
use super::source::{Bytes, read_error};

/// The magic number without its lowest byte, which is the version.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;
const RECORD_BYTES: usize = 48;
const SECTOR_BYTES: u64 = 512;

/// The low half of `action` says what happened. These bits of the high half say to what kind of request.
const ACTION_QUEUE: u32 = 1;
/// Set beside the action if the record carries a control group.
const ACTION_CGROUP: u32 = 1 << 8;
const CATEGORY_WRITE: u32 = 1 << (1 + 16);
const CATEGORY_FLUSH: u32 = 1 << (2 + 16);
const CATEGORY_PASSTHROUGH: u32 = 1 << (9 + 16);
const CATEGORY_NOTIFY: u32 = 1 << (10 + 16);
const CATEGORY_DISCARD: u32 = 1 << (13 + 16);
const CATEGORY_FUA: u32 = 1 << (15 + 16);

/// The byte order of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }
}

/// Recognises a trace by its first four bytes. A trace of a version that cannot be read is an error.
pub(super) fn detect(name: &str, prefix: &[u8]) -> Result<Option<ByteOrder>, TraceError> {
    let Some(&bytes) = prefix.first_chunk::<4>() else { return Ok(None) };
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let magic = order.u32(bytes);
        if magic & !0xff == MAGIC {
            let version = magic & 0xff;
            if version == VERSION {
                return Ok(Some(order));
            }
            let (name, supported) = (name.to_owned(), "7");
            return Err(TraceError::UnsupportedVersion { name, format: "blktrace", version, supported });
        }
    }
    Ok(None)
}

/// Reads all records at once, because they have to be sorted. Times are in nanoseconds.
pub(super) struct Blktrace<'a> {
    name: &'a str,
    order: ByteOrder,
    bytes: BufReader<Bytes<'a>>,
}

impl<'a> Blktrace<'a> {
    pub(super) fn new(name: &'a str, order: ByteOrder, bytes: Bytes<'a>) -> Self {
        Self { name, order, bytes: BufReader::new(bytes) }
    }

    /// Adds all requests in their order in the file.
    fn read_all(&mut self, rows: &mut Rows<'_>) -> Result<(), TraceError> {
        let name = self.name;
        let mut devices = DeviceNames::default();
        for number in 1.. {
            let at = Position::Record(number);
            let mut record = [0; RECORD_BYTES];
            let got = read_up_to(&mut self.bytes, &mut record).map_err(|source| read_error(name, at, source))?;
            if got == 0 {
                break;
            }
            if got < RECORD_BYTES {
                return Err(TraceError::Truncated { name: name.to_owned(), at, what: "the record" });
            }
            let event = Event::decode(self.order, &record);
            if event.magic != MAGIC | VERSION {
                let fault = Fault::BadMagic { found: event.magic };
                return Err(TraceError::Malformed { name: name.to_owned(), at, fault });
            }
            skip(name, at, &mut self.bytes, event.payload_bytes)?;
            push_event(name, at, &event, &mut devices, rows)?;
        }
        Ok(())
    }
}

impl Reader for Blktrace<'_> {
    fn read(&mut self, rows: &mut Rows<'_>) -> Result<bool, TraceError> {
        let read = self.read_all(rows);
        // Behind an error too: the rows before it are handed on first.
        rows.sort_by_time();
        read.map(|()| false)
    }
}

/// The requests a queue event stands for. A write may ask for a flush before it, and (FUA) for itself to
/// be durable when it completes: that is a flush before, and one after it.
fn push_event(
    name: &str,
    at: Position,
    event: &Event,
    devices: &mut DeviceNames,
    rows: &mut Rows<'_>,
) -> Result<(), TraceError> {
    let is_queued = event.action & 0xffff & !ACTION_CGROUP == ACTION_QUEUE;
    // Notes of the tracer and commands that pass through the block layer are no reads and writes of a host.
    if !is_queued || event.has(CATEGORY_NOTIFY) || event.has(CATEGORY_PASSTHROUGH) {
        return Ok(());
    }
    let device = devices.name(event.device);
    let mut push = |op, offset_bytes, length_bytes| {
        rows.push(at, &Row { ticks: event.time_ns, op, offset_bytes, length_bytes, stream: 0, device })
    };
    if event.has(CATEGORY_FLUSH) {
        push(Op::Flush, 0, 0)?;
    }
    // A flush without a write has no length.
    if event.length_bytes == 0 {
        return Ok(());
    }
    let op = match (event.has(CATEGORY_DISCARD), event.has(CATEGORY_WRITE)) {
        // The kernel marks a discard as a write, too.
        (true, _) => Op::Discard,
        (false, true) => Op::Write,
        (false, false) => Op::Read,
    };
    let overflow = || TraceError::Malformed { name: name.to_owned(), at, fault: Fault::Overflow };
    let offset_bytes = event.sector.checked_mul(SECTOR_BYTES).ok_or_else(overflow)?;
    push(op, offset_bytes, event.length_bytes.into())?;
    if op == Op::Write && event.has(CATEGORY_FUA) {
        push(Op::Flush, 0, 0)?;
    }
    Ok(())
}

/// The fields of a record that matter here.
struct Event {
    magic: u32,
    time_ns: u64,
    sector: u64,
    length_bytes: u32,
    action: u32,
    device: u32,
    payload_bytes: u16,
}

impl Event {
    fn decode(order: ByteOrder, record: &[u8; RECORD_BYTES]) -> Self {
        let u32_at = |at: usize| order.u32([record[at], record[at + 1], record[at + 2], record[at + 3]]);
        let u64_at = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&record[at..at + 8]);
            order.u64(bytes)
        };
        Self {
            // Between these, `struct blk_io_trace` has the sequence, the process, the processor and the error.
            magic: u32_at(0),
            time_ns: u64_at(8),
            sector: u64_at(16),
            length_bytes: u32_at(24),
            action: u32_at(28),
            device: u32_at(36),
            payload_bytes: order.u16([record[46], record[47]]),
        }
    }

    fn has(&self, category: u32) -> bool {
        self.action & category != 0
    }
}

/// Writes device numbers as `major,minor`, like blkparse. Nearly all records name the same device as the one before, so
/// the last name is kept.
#[derive(Default)]
struct DeviceNames {
    last: Option<u32>,
    name: String,
}

impl DeviceNames {
    fn name(&mut self, device: u32) -> &[u8] {
        if self.last != Some(device) {
            self.last = Some(device);
            // The kernel keeps 20 bits for the minor number.
            self.name = format!("{},{}", device >> 20, device & 0xf_ffff);
        }
        self.name.as_bytes()
    }
}

/// Fills `record` as far as the input reaches.
fn read_up_to(bytes: &mut dyn BufRead, record: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < record.len() {
        match bytes.read(&mut record[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Skips what follows a record: names, messages, control groups.
fn skip(name: &str, at: Position, bytes: &mut dyn BufRead, count: u16) -> Result<(), TraceError> {
    let count = u64::from(count);
    let skipped = std::io::copy(&mut bytes.take(count), &mut std::io::sink());
    if skipped.map_err(|source| read_error(name, at, source))? < count {
        return Err(TraceError::Truncated { name: name.to_owned(), at, what: "the record's payload" });
    }
    Ok(())
}
