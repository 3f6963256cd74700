//! The comma-separated formats: ours, MSR Cambridge, Alibaba and Tencent.

use crate::request::Op;

use super::collect::Row;
use super::error::{Fault, shown};
use super::fields::{digits, number, seconds_as_us, split};
use super::{OWN_HEADER, OWN_HEADER_WITH_STREAM, RECORDING_HEADER, TraceFormat};

/// What the first line of a text trace is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstLine {
    Header,
    Row,
}

/// A text format with one request or note in each line.
pub(super) trait LineFormat {
    /// Ticks of [`Row::ticks`] in a microsecond.
    const TICKS_PER_US: u64 = 1;

    fn format(&self) -> TraceFormat;

    /// The request in a line, if it holds one.
    fn row<'l>(&mut self, line: &'l [u8]) -> Result<Option<Row<'l>>, Fault>;
}

/// Our own: `time_us,op,offset,length[,stream]` with that header; op R, W, D, F or Z. A recording has `clock_us` in
/// place of `time_us`, always a stream, and also the ops C, E and M.
pub(super) struct Own {
    has_stream: bool,
    is_recording: bool,
}

/// The greatest clock of a recording, in microseconds: half of what nanoseconds can count, 292 years, so that the rest
/// of the run cannot overflow.
const MAX_CLOCK_US: u64 = u64::MAX / 2 / 1000;

impl Own {
    pub(super) fn detect(first_line: &[u8]) -> Option<(Self, FirstLine)> {
        let is_recording = first_line == RECORDING_HEADER.as_bytes();
        let has_stream = is_recording || first_line == OWN_HEADER_WITH_STREAM.as_bytes();
        let is_own = has_stream || first_line == OWN_HEADER.as_bytes();
        is_own.then_some((Self { has_stream, is_recording }, FirstLine::Header))
    }
}

impl LineFormat for Own {
    fn format(&self) -> TraceFormat {
        if self.is_recording { TraceFormat::Recording } else { TraceFormat::Own }
    }

    fn row<'l>(&mut self, line: &'l [u8]) -> Result<Option<Row<'l>>, Fault> {
        let (fields, stream) = if self.has_stream {
            let [time, op, offset, length, stream] = split(line, "5")?;
            let fault = || Fault::NotANumber { field: "stream", text: shown(stream) };
            let stream = digits(stream).and_then(|value| u16::try_from(value).ok()).ok_or_else(fault)?;
            ([time, op, offset, length], stream)
        } else {
            (split(line, "4")?, 0)
        };
        let [time, op, offset, length] = fields;
        let op = match (op, Op::from_letter(op)) {
            (_, Some(op)) => op,
            (b"C", _) if self.is_recording => Op::Clean,
            (b"E", _) if self.is_recording => Op::EndSegment,
            (b"M", _) if self.is_recording => Op::Mount,
            _ if self.is_recording => {
                return Err(Fault::UnknownOp { text: shown(op), known: "R, W, D, F, Z, C, E and M" });
            }
            _ => return Err(Fault::UnknownOp { text: shown(op), known: super::OPS }),
        };
        let field = if self.is_recording { "clock_us" } else { "time_us" };
        let ticks = number(field, time)?;
        if self.is_recording && ticks > MAX_CLOCK_US {
            return Err(Fault::NotANumber { field, text: shown(time) });
        }
        Ok(Some(Row {
            ticks,
            op,
            offset_bytes: number("offset", offset)?,
            length_bytes: number("length", length)?,
            stream,
            device: &[],
        }))
    }
}

/// MSR Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`; the time in Windows ticks of 100 ns,
/// offset and size in bytes. The device is the text `Hostname,DiskNumber`.
pub(super) struct Msr;

impl Msr {
    const HEADER: &'static [u8] = b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";

    pub(super) fn detect(first_line: &[u8]) -> Option<(Self, FirstLine)> {
        if first_line.eq_ignore_ascii_case(Self::HEADER) {
            return Some((Self, FirstLine::Header));
        }
        let [time, _, disk, op, offset, size, _] = split(first_line, "7").ok()?;
        let numbers = [time, disk, offset, size].iter().all(|field| digits(field).is_some());
        (numbers && Self::op(op).is_some()).then_some((Self, FirstLine::Row))
    }

    fn op(text: &[u8]) -> Option<Op> {
        let is = |name: &[u8]| text.eq_ignore_ascii_case(name);
        if is(b"Read") { Some(Op::Read) } else { is(b"Write").then_some(Op::Write) }
    }
}

impl LineFormat for Msr {
    const TICKS_PER_US: u64 = 10;

    fn format(&self) -> TraceFormat {
        TraceFormat::MsrCambridge
    }

    fn row<'l>(&mut self, line: &'l [u8]) -> Result<Option<Row<'l>>, Fault> {
        let [time, host, disk, op, offset, size, _response_time] = split(line, "7")?;
        let device_start = time.len() + 1;
        Ok(Some(Row {
            ticks: number("Timestamp", time)?,
            op: Self::op(op).ok_or_else(|| Fault::UnknownOp { text: shown(op), known: "Read and Write" })?,
            offset_bytes: number("Offset", offset)?,
            length_bytes: number("Size", size)?,
            stream: 0,
            device: &line[device_start..device_start + host.len() + 1 + disk.len()],
        }))
    }
}

/// Alibaba's block traces: `device_id,opcode,offset,length,timestamp`; opcode R or W, bytes,
/// microseconds.
pub(super) struct Alibaba;

impl Alibaba {
    const HEADER: &'static [u8] = b"device_id,opcode,offset,length,timestamp";

    pub(super) fn detect(first_line: &[u8]) -> Option<(Self, FirstLine)> {
        if first_line.eq_ignore_ascii_case(Self::HEADER) {
            return Some((Self, FirstLine::Header));
        }
        let [device, op, offset, length, time] = split(first_line, "5").ok()?;
        let numbers = [device, offset, length, time].iter().all(|field| digits(field).is_some());
        (numbers && matches!(op, b"R" | b"W")).then_some((Self, FirstLine::Row))
    }
}

impl LineFormat for Alibaba {
    fn format(&self) -> TraceFormat {
        TraceFormat::Alibaba
    }

    fn row<'l>(&mut self, line: &'l [u8]) -> Result<Option<Row<'l>>, Fault> {
        let [device, op, offset, length, time] = split(line, "5")?;
        let op = match op {
            b"R" => Op::Read,
            b"W" => Op::Write,
            _ => return Err(Fault::UnknownOp { text: shown(op), known: "R and W" }),
        };
        Ok(Some(Row {
            ticks: number("timestamp", time)?,
            op,
            offset_bytes: number("offset", offset)?,
            length_bytes: number("length", length)?,
            stream: 0,
            device,
        }))
    }
}

/// Tencent's block traces: `Timestamp,Offset,Size,IOType,VolumeID`; Unix seconds, sectors of 512 bytes,
/// 0 for read and 1 for write.
pub(super) struct Tencent;

impl Tencent {
    const HEADER: &'static [u8] = b"Timestamp,Offset,Size,IOType,VolumeID";
    const SECTOR_BYTES: u64 = 512;

    pub(super) fn detect(first_line: &[u8]) -> Option<(Self, FirstLine)> {
        if first_line.eq_ignore_ascii_case(Self::HEADER) {
            return Some((Self, FirstLine::Header));
        }
        let [time, offset, size, op, volume] = split(first_line, "5").ok()?;
        let numbers = [offset, size, volume].iter().all(|field| digits(field).is_some());
        let matches = numbers && seconds_as_us("Timestamp", time).is_ok() && matches!(op, b"0" | b"1");
        matches.then_some((Self, FirstLine::Row))
    }

    fn sectors(field: &'static str, text: &[u8]) -> Result<u64, Fault> {
        number(field, text)?.checked_mul(Self::SECTOR_BYTES).ok_or(Fault::Overflow)
    }
}

impl LineFormat for Tencent {
    fn format(&self) -> TraceFormat {
        TraceFormat::Tencent
    }

    fn row<'l>(&mut self, line: &'l [u8]) -> Result<Option<Row<'l>>, Fault> {
        let [time, offset, size, op, volume] = split(line, "5")?;
        let op = match op {
            b"0" => Op::Read,
            b"1" => Op::Write,
            _ => return Err(Fault::UnknownOp { text: shown(op), known: "0 for read and 1 for write" }),
        };
        Ok(Some(Row {
            ticks: seconds_as_us("Timestamp", time)?,
            op,
            offset_bytes: Self::sectors("Offset", offset)?,
            length_bytes: Self::sectors("Size", size)?,
            stream: 0,
            device: volume,
        }))
    }
}
