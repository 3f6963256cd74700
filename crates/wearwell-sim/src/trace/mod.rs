//! Recorded requests.
//!
//! The format is recognized by the content of a file, not by its name. A file may be plain, gzip or Zstandard; Parquet
//! compresses itself:
//!
//! | format | looks like | device |
//! | --- | --- | --- |
//! | wearwell CSV | header `time_us,op,offset,length[,stream]` | none |
//! | recording | header `clock_us,op,offset,length,stream` | none |
//! | MSR Cambridge | `128166372003061629,usr,0,Read,7014609920,24576,41286` | `usr,0` |
//! | Alibaba | `419,W,8792731648,16384,1577808144360767` | `419` |
//! | Tencent | `1538323200,12910952,128,0,1063` | `1063` |
//! | blktrace | binary, version 7 | `8,16` |
//! | Parquet | columns `time_us`, `op`, `offset`, `length`, maybe `stream` and `device` | its column `device` |
//! | fio iolog | `fio version 2 iolog`, `fio version 3 iolog` | the file name |
//!
//! Requests keep the recorded order. (Those of blktrace are sorted by time, because it records each CPU separately.)
//! Times start at 0, except those of a [recording](TraceFormat::Recording), and never go back. Blank lines are skipped,
//! and the last line may lack its end. The length of lines is bounded, so garbage is refused without taking memory.

mod blktrace;
mod collect;
mod error;
mod fields;
mod fio;
mod parquet;
mod source;
mod split;
mod stats;
mod text;

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, Write};
use std::path::Path;

pub use error::{Fault, Position, TraceError};
pub use parquet::{ParquetWriter, convert as convert_to_parquet};
pub use split::{Part, split};
pub use stats::{Counter, DeviceStats, stats};

use collect::{Collector, Everyone, Row, Sink};
use error::shown;
use fio::Fio;
use source::Lines;
use text::{Alibaba, FirstLine, LineFormat, Msr, Own, Tencent};

use crate::request::Request;

const OWN_HEADER: &str = "time_us,op,offset,length";
const OWN_HEADER_WITH_STREAM: &str = "time_us,op,offset,length,stream";

const RECORDING_HEADER: &str = "clock_us,op,offset,length,stream";

const KNOWN_FORMATS: &str = "wearwell CSV (with the header `time_us,op,offset,length`), recordings, MSR Cambridge CSV, \
     Alibaba and Tencent block CSV, blktrace and fio iolog, each plain, gzip or Zstandard, and Parquet";

/// The operations of wearwell's own formats.
const OPS: &str = "R, W, D, F and Z";

/// A kind of trace file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TraceFormat {
    /// wearwell's own CSV.
    Own,
    /// Every call into the engine of a served disk, with its clock. A replay repeats the calls.
    Recording,
    /// CSV of the MSR Cambridge traces.
    MsrCambridge,
    /// CSV of the Alibaba block traces.
    Alibaba,
    /// CSV of the Tencent block traces.
    Tencent,
    /// Parquet with wearwell's columns.
    Parquet,
    /// Binary records of Linux's blktrace.
    Blktrace,
    /// fio's I/O log, version 2.
    FioV2,
    /// fio's I/O log, version 3.
    FioV3,
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own => "wearwell CSV",
            Self::Recording => "recording",
            Self::MsrCambridge => "MSR Cambridge CSV",
            Self::Alibaba => "Alibaba block CSV",
            Self::Tencent => "Tencent block CSV",
            Self::Parquet => "Parquet",
            Self::Blktrace => "blktrace",
            Self::FioV2 => "fio iolog version 2",
            Self::FioV3 => "fio iolog version 3",
        })
    }
}

/// The requests of one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// What it was read from.
    pub format: TraceFormat,
    /// The requests in their order; times never go back.
    pub requests: Vec<Request>,
}

impl Trace {
    /// The end of the highest request: the least capacity that the trace fits into.
    pub fn end_bytes(&self) -> u64 {
        self.requests.iter().map(Request::end_bytes).max().unwrap_or(0)
    }
}

/// Reads the trace in a file, which must be of one device.
///
/// # Errors
/// A file that cannot be read, is of no known format, is cut short or malformed, or holds requests of several devices.
/// All errors name the file, and the line or record if there is one.
pub fn open(path: &Path) -> Result<Trace, TraceError> {
    open_file(path, None)
}

/// Reads the requests of one device, named as in the [table of formats](self), from a file.
///
/// # Errors
/// As [`open`], and a device that the trace does not have.
pub fn open_device(path: &Path, device: &str) -> Result<Trace, TraceError> {
    open_file(path, Some(device))
}

fn open_file(path: &Path, device: Option<&str>) -> Result<Trace, TraceError> {
    let name = path.display().to_string();
    gather(&name, device, |collector| read_file(path, &name, device, collector))
}

/// Reads a file. Of devices that are not `wanted`, requests may be left out.
fn read_file(path: &Path, name: &str, wanted: Option<&str>, sink: &mut dyn Sink) -> Result<TraceFormat, TraceError> {
    let failed = |source| TraceError::Open { name: name.to_owned(), source };
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(failed)?);
    // A trace may come through a pipe. Parquet is read from its end.
    if file.fill_buf().map_err(failed)?.starts_with(parquet::MAGIC) {
        file.rewind().map_err(failed)?;
        return parquet::read(name, file.into_inner(), wanted, sink);
    }
    read(name, &mut file, sink)
}

/// Reads a trace from bytes; `name` is what errors call it.
///
/// # Errors
/// As [`open`].
pub fn parse(name: &str, bytes: &mut dyn BufRead) -> Result<Trace, TraceError> {
    parse_any(name, bytes, None)
}

/// Reads the requests of one device from bytes; `name` is what errors call the trace.
///
/// # Errors
/// As [`open_device`].
pub fn parse_device(name: &str, bytes: &mut dyn BufRead, device: &str) -> Result<Trace, TraceError> {
    parse_any(name, bytes, Some(device))
}

fn parse_any(name: &str, bytes: &mut dyn BufRead, device: Option<&str>) -> Result<Trace, TraceError> {
    gather(name, device, |collector| read(name, bytes, collector))
}

/// Collects the requests of one device.
fn gather<'a>(
    name: &'a str,
    device: Option<&'a str>,
    read: impl FnOnce(&mut Collector<'a>) -> Result<TraceFormat, TraceError>,
) -> Result<Trace, TraceError> {
    let mut collector = Collector::new(name, device);
    let format = read(&mut collector)?;
    if format == TraceFormat::Blktrace {
        collector.sort_by_time();
    }
    let requests = match format {
        TraceFormat::Recording => collector.finish_recording(),
        _ => collector.finish()?,
    };
    Ok(Trace { format, requests })
}

/// A trace of requests that do not come from a file, each with the name of its device. The checks are those of all
/// formats.
///
/// # Errors
/// As [`parse`], or [`parse_device`] for one `device` of several.
pub fn collect<'d>(
    name: &str,
    device: Option<&str>,
    requests: impl Iterator<Item = (Request, &'d [u8])>,
) -> Result<Trace, TraceError> {
    let mut collector = Collector::new(name, device);
    for ((request, device), record) in requests.zip(1..) {
        let Request { time_us, op, offset_bytes, length_bytes, stream } = request;
        collector
            .push(Position::Record(record), &Row { ticks: time_us, op, offset_bytes, length_bytes, stream, device })?;
    }
    Ok(Trace { format: TraceFormat::Own, requests: collector.finish()? })
}

/// Receives a request and the name of its device.
pub type Take<'a> = &'a mut dyn FnMut(&Request, &[u8]) -> Result<(), TraceError>;

/// Passes the requests of all devices to `each`, with the name of the device, in the recorded order. Requests are not
/// kept in memory, except those of a blktrace, which have to be sorted because it records each CPU separately. Times
/// are microseconds from the origin of the format.
///
/// # Errors
/// As [`open`], and what `each` returns.
pub fn scan(path: &Path, each: Take<'_>) -> Result<TraceFormat, TraceError> {
    let name = path.display().to_string();
    let mut sink = Everyone { name: &name, ticks_per_us: 1, kept: None, each };
    let format = read_file(path, &name, None, &mut sink)?;
    sink.finish()?;
    Ok(format)
}

/// Reads a trace of any format. Returns which it is.
fn read(name: &str, bytes: &mut dyn BufRead, sink: &mut dyn Sink) -> Result<TraceFormat, TraceError> {
    let read_error = |source| source::read_error(name, Position::Line(1), source);
    let mut content = source::decompress(bytes).map_err(read_error)?;
    let (prefix, content) = source::peek(&mut content).map_err(read_error)?;
    if let Some(order) = blktrace::detect(name, &prefix)? {
        blktrace::read(name, order, content, sink)?;
        return Ok(TraceFormat::Blktrace);
    }
    let mut lines = Lines::new(name, content);
    if !lines.advance()? {
        return Err(TraceError::Empty { name: name.to_owned() });
    }
    let first = lines.line();
    if let Some(found) = Own::detect(first) {
        read_lines(name, lines, found, sink)
    } else if let Some(found) = Fio::detect(name, first)? {
        read_lines(name, lines, found, sink)
    } else if let Some(found) = Msr::detect(first) {
        read_lines(name, lines, found, sink)
    } else if let Some(found) = Alibaba::detect(first) {
        read_lines(name, lines, found, sink)
    } else if let Some(found) = Tencent::detect(first) {
        read_lines(name, lines, found, sink)
    } else {
        Err(TraceError::UnknownFormat { name: name.to_owned(), start: shown(first) })
    }
}

/// Reads the lines of one text format, starting with the current one if it is a row.
fn read_lines<F: LineFormat>(
    name: &str,
    mut lines: Lines<'_>,
    (mut format, first_line): (F, FirstLine),
    sink: &mut dyn Sink,
) -> Result<TraceFormat, TraceError> {
    sink.begin(format.format(), F::TICKS_PER_US);
    let mut more = first_line == FirstLine::Row || lines.advance()?;
    while more {
        let at = lines.position();
        if !lines.line().is_empty() {
            let row = format.row(lines.line());
            let row = row.map_err(|fault| TraceError::Malformed { name: name.to_owned(), at, fault })?;
            if let Some(row) = row {
                sink.push(at, &row)?;
            }
        }
        more = lines.advance()?;
    }
    Ok(format.format())
}

/// Writes requests in wearwell's own format; with a stream column if any request has a stream.
///
/// # Errors
/// Those of `out`.
pub fn write_csv(out: &mut dyn Write, requests: &[Request]) -> io::Result<()> {
    let has_stream = requests.iter().any(|request| request.stream != 0);
    writeln!(out, "{}", if has_stream { OWN_HEADER_WITH_STREAM } else { OWN_HEADER })?;
    for request in requests {
        write_fields(out, request)?;
        if has_stream {
            write!(out, ",{}", request.stream)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Begins a recording.
///
/// # Errors
/// Those of `out`.
pub fn begin_recording(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{RECORDING_HEADER}")
}

/// Adds a call to a recording.
///
/// # Errors
/// Those of `out`.
pub fn write_recorded(out: &mut dyn Write, call: &Request) -> io::Result<()> {
    write_row(out, call)
}

/// A row with its stream.
fn write_row(out: &mut dyn Write, call: &Request) -> io::Result<()> {
    write_fields(out, call)?;
    writeln!(out, ",{}", call.stream)
}

fn write_fields(out: &mut dyn Write, request: &Request) -> io::Result<()> {
    let op = request.op.letter();
    write!(out, "{},{op},{},{}", request.time_us, request.offset_bytes, request.length_bytes)
}
