//! The comma-separated formats: ours, MSR Cambridge, Alibaba and Tencent.

use crate::request::Op;

use super::error::{Fault, TraceError, shown};
use super::fields::{Fields, digits, seconds_as_us, split};
use super::rows::{Reader, Row, Rows};
use super::source::Lines;
use super::{Detected, OWN_HEADER, OWN_HEADER_WITH_STREAM, RECORDING_HEADER, TraceFormat};

/// What the first line of a text trace is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstLine {
    Header,
    Row,
}

/// A text format with one request or note in each line.
pub(super) trait LineFormat: Send {
    fn format(&self) -> TraceFormat;

    /// The request in a line, if it holds one.
    fn row<'l>(&mut self, line: &'l [u8]) -> Result<Option<Row<'l>>, Fault>;
}

/// Reads the lines of one text format.
pub(super) struct TextReader<'a, F> {
    name: &'a str,
    lines: Lines<'a>,
    format: F,
    /// True if the current line is a row that was not read yet.
    is_at_row: bool,
}

impl<'a, F: LineFormat + 'a> TextReader<'a, F> {
    /// The reader of a format that was recognized by the current line.
    pub(super) fn detected(name: &'a str, lines: Lines<'a>, (format, first_line): (F, FirstLine)) -> Detected<'a> {
        let found = format.format();
        (found, Box::new(Self { name, lines, format, is_at_row: first_line == FirstLine::Row }))
    }
}

impl<F: LineFormat> Reader for TextReader<'_, F> {
    fn read(&mut self, rows: &mut Rows<'_>) -> Result<bool, TraceError> {
        while rows.room() > 0 {
            // A first line that is no header is the first row, and stands here already.
            if !std::mem::take(&mut self.is_at_row) && !self.lines.advance()? {
                return Ok(false);
            }
            let line = self.lines.line();
            if line.is_empty() {
                continue;
            }
            match self.format.row(line) {
                Ok(Some(row)) => rows.push(self.lines.position(), &row)?,
                Ok(None) => {}
                Err(fault) => {
                    let at = self.lines.position();
                    return Err(TraceError::Malformed { name: self.name.to_owned(), at, fault });
                }
            }
        }
        Ok(true)
    }
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

    #[inline]
    fn ticks(&self, fields: &mut Fields<'_>) -> Result<u64, Fault> {
        if !self.is_recording {
            return fields.number("time_us");
        }
        let ticks = fields.number("clock_us")?;
        let too_late = || Fault::NotANumber { field: "clock_us", text: ticks.to_string() };
        if ticks > MAX_CLOCK_US { Err(too_late()) } else { Ok(ticks) }
    }

    #[inline]
    fn op(&self, text: &[u8]) -> Result<Op, Fault> {
        match (text, Op::from_letter(text)) {
            (_, Some(op)) => Ok(op),
            (b"C", _) if self.is_recording => Ok(Op::Clean),
            (b"E", _) if self.is_recording => Ok(Op::EndSegment),
            (b"M", _) if self.is_recording => Ok(Op::Mount),
            _ => {
                let known = if self.is_recording { "R, W, D, F, Z, C, E and M" } else { super::OPS };
                Err(Fault::UnknownOp { text: shown(text), known })
            }
        }
    }

    fn stream(text: &[u8]) -> Result<u16, Fault> {
        let fault = || Fault::NotANumber { field: "stream", text: shown(text) };
        digits(text).and_then(|value| u16::try_from(value).ok()).ok_or_else(fault)
    }
}

impl LineFormat for Own {
    fn format(&self) -> TraceFormat {
        if self.is_recording { TraceFormat::Recording } else { TraceFormat::Own }
    }

    #[inline]
    fn row<'l>(&mut self, line: &'l [u8]) -> Result<Option<Row<'l>>, Fault> {
        let count = if self.has_stream { (5, "5") } else { (4, "4") };
        Fields::of(line, count, |fields| {
            let (ticks, op) = (self.ticks(fields)?, self.op(fields.text())?);
            let (offset_bytes, length_bytes) = (fields.number("offset")?, fields.number("length")?);
            let stream = if self.has_stream { Self::stream(fields.text())? } else { 0 };
            Ok(Some(Row { ticks, op, offset_bytes, length_bytes, stream, device: &[] }))
        })
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
        // The host's name is any text, and the time of the response is not used.
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
    fn format(&self) -> TraceFormat {
        TraceFormat::MsrCambridge
    }

    fn row<'l>(&mut self, line: &'l [u8]) -> Result<Option<Row<'l>>, Fault> {
        Fields::of(line, (7, "7"), |fields| {
            let (ticks, device_at) = (fields.number("Timestamp")?, fields.at());
            // The host's name, a comma, and the disk's number, as they stand in the line.
            let device_bytes = fields.text().len() + 1 + fields.text().len();
            let op = fields.text();
            let op = Self::op(op).ok_or_else(|| Fault::UnknownOp { text: shown(op), known: "Read and Write" })?;
            let (offset_bytes, length_bytes) = (fields.number("Offset")?, fields.number("Size")?);
            // Taken only to be counted among the fields.
            let _response_time = fields.text();
            // Absent if fields are missing, which is found at the end.
            let device = line.get(device_at..device_at + device_bytes).unwrap_or_default();
            Ok(Some(Row { ticks, op, offset_bytes, length_bytes, stream: 0, device }))
        })
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
        Fields::of(line, (5, "5"), |fields| {
            let device = fields.text();
            let op = match fields.text() {
                b"R" => Op::Read,
                b"W" => Op::Write,
                op => return Err(Fault::UnknownOp { text: shown(op), known: "R and W" }),
            };
            let (offset_bytes, length_bytes) = (fields.number("offset")?, fields.number("length")?);
            Ok(Some(Row { ticks: fields.number("timestamp")?, op, offset_bytes, length_bytes, stream: 0, device }))
        })
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

    fn sectors(fields: &mut Fields<'_>, field: &'static str) -> Result<u64, Fault> {
        fields.number(field)?.checked_mul(Self::SECTOR_BYTES).ok_or(Fault::Overflow)
    }
}

impl LineFormat for Tencent {
    fn format(&self) -> TraceFormat {
        TraceFormat::Tencent
    }

    fn row<'l>(&mut self, line: &'l [u8]) -> Result<Option<Row<'l>>, Fault> {
        Fields::of(line, (5, "5"), |fields| {
            let ticks = seconds_as_us("Timestamp", fields.text())?;
            let (offset_bytes, length_bytes) = (Self::sectors(fields, "Offset")?, Self::sectors(fields, "Size")?);
            let op = match fields.text() {
                b"0" => Op::Read,
                b"1" => Op::Write,
                op => return Err(Fault::UnknownOp { text: shown(op), known: "0 for read and 1 for write" }),
            };
            Ok(Some(Row { ticks, op, offset_bytes, length_bytes, stream: 0, device: fields.text() }))
        })
    }
}
