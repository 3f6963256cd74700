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

mod ahead;
mod blktrace;
mod error;
mod fields;
mod fio;
mod parquet;
mod rows;
mod source;
mod split;
mod stats;
mod text;

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, Write};
use std::path::Path;
use std::thread::{self, Scope};

pub use error::{Fault, Position, TraceError};
pub use parquet::{ParquetWriter, convert as convert_to_parquet};
pub use rows::Batch;
pub use split::{Part, split};
pub use stats::{Counter, DeviceStats, stats};

use blktrace::Blktrace;
use error::shown;
use fio::Fio;
use parquet::ParquetReader;
use rows::{Chunk, Chunks, Reader, Row, Rows, Select};
use source::Lines;
use text::{Alibaba, Msr, Own, Tencent, TextReader};

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

impl TraceFormat {
    /// Ticks of a recorded time in a microsecond.
    fn ticks_per_us(self) -> u64 {
        match self {
            Self::MsrCambridge => 10,
            Self::Blktrace => 1000,
            _ => 1,
        }
    }
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
    gather(|take| read_file(path, selected(device), take))
}

/// Without a choice, there must be one device.
fn selected(device: Option<&str>) -> Select<'_> {
    device.map_or(Select::Only, Select::One)
}

/// Receives the chunks of a trace: its format, and rows with times in ticks.
type TakeChunk<'t> = &'t mut dyn FnMut(TraceFormat, Chunk) -> Result<(), TraceError>;

/// Reads a file.
fn read_file<'a>(path: &Path, select: Select<'a>, take: TakeChunk<'_>) -> Result<TraceFormat, TraceError> {
    let name = &path.display().to_string();
    let failed = |source| TraceError::Open { name: name.clone(), source };
    let open = || File::open(path).map_err(failed);
    let mut file = BufReader::with_capacity(1 << 16, open()?);
    // A trace may come through a pipe. Parquet is read from its end.
    if file.fill_buf().map_err(failed)?.starts_with(parquet::MAGIC) {
        file.rewind().map_err(failed)?;
        let files = [file.into_inner(), open()?];
        let wanted = if let Select::One(device) = select { Some(device) } else { None };
        return read_by(name, select, take, |scope| {
            let reader = ParquetReader::new(name, files, wanted, scope)?;
            Ok((TraceFormat::Parquet, Box::new(reader)))
        });
    }
    read_bytes(name, &mut file, select, take)
}

/// Reads a trace of any format but Parquet from bytes.
fn read_bytes<'a>(
    name: &'a str,
    bytes: &'a mut (dyn BufRead + Send),
    select: Select<'a>,
    take: TakeChunk<'_>,
) -> Result<TraceFormat, TraceError> {
    read_by(name, select, take, |scope| detect(name, scope, bytes))
}

/// Reads a trace by the reader of its format. Reading, and decompressing, go on while `take` works.
fn read_by<'a>(
    name: &'a str,
    select: Select<'a>,
    take: TakeChunk<'_>,
    detect: impl for<'s> FnOnce(&'s Scope<'s, 'a>) -> Result<Detected<'s>, TraceError>,
) -> Result<TraceFormat, TraceError> {
    thread::scope(|scope| {
        let (format, reader) = detect(scope)?;
        let mut chunks = Chunks::new(reader, Rows::new(name, select)).ahead(scope);
        chunks.try_for_each(|chunk| take(format, chunk?))?;
        Ok(format)
    })
}

/// Reads a trace from bytes; `name` is what errors call it.
///
/// # Errors
/// As [`open`].
pub fn parse(name: &str, bytes: &mut (dyn BufRead + Send)) -> Result<Trace, TraceError> {
    gather(|take| read_bytes(name, bytes, Select::Only, take))
}

/// Reads the requests of one device from bytes; `name` is what errors call the trace.
///
/// # Errors
/// As [`open_device`].
pub fn parse_device(name: &str, bytes: &mut (dyn BufRead + Send), device: &str) -> Result<Trace, TraceError> {
    gather(|take| read_bytes(name, bytes, Select::One(device), take))
}

/// Collects the requests of one device, with times in microseconds since the first. Times never go back: a row that is
/// stamped earlier than the previous one counts as arriving with it. The order of rows is what was recorded, and the
/// stamps only describe it. The clock of a recording is kept.
fn gather(read: impl FnOnce(TakeChunk<'_>) -> Result<TraceFormat, TraceError>) -> Result<Trace, TraceError> {
    let mut requests: Vec<Request> = Vec::new();
    let (mut first_ticks, mut latest_us) = (None, 0);
    let format = read(&mut |format, mut chunk| {
        let began =
            if format == TraceFormat::Recording { Some(0) } else { chunk.requests.first().map(|of| of.time_us) };
        // A chunk without a request is the last one, so the first of all requests is in the first chunk.
        let first_ticks = *first_ticks.get_or_insert(began.unwrap_or(0));
        for request in &mut chunk.requests {
            latest_us = (request.time_us.saturating_sub(first_ticks) / format.ticks_per_us()).max(latest_us);
            request.time_us = latest_us;
        }
        requests.append(&mut chunk.requests);
        Ok(())
    })?;
    Ok(Trace { format, requests })
}

/// A trace of requests that do not come from a file. The checks are those of all formats.
///
/// # Errors
/// As [`parse`], or [`parse_device`] for one `device` of several.
pub fn collect(name: &str, device: Option<&str>, all: Batch<'_>) -> Result<Trace, TraceError> {
    let mut rows = Rows::new(name, selected(device));
    for ((request, device), record) in all.iter().zip(1..) {
        let &Request { time_us, op, offset_bytes, length_bytes, stream } = request;
        rows.push(Position::Record(record), &Row { ticks: time_us, op, offset_bytes, length_bytes, stream, device })?;
    }
    rows.finish()?;
    gather(|take| take(TraceFormat::Own, rows.take()).map(|()| TraceFormat::Own))
}

/// Receives some requests of a trace.
pub type Take<'t> = &'t mut dyn FnMut(Batch<'_>) -> Result<(), TraceError>;

/// Passes on the requests of all devices, in the recorded order. Only a few batches are kept in memory, except for a
/// blktrace, which has to be sorted because it records each CPU separately. Times are microseconds from the origin of
/// the format. Reading goes on while `take` works.
///
/// # Errors
/// As [`open`], and what `take` returns.
pub fn scan(path: &Path, take: Take<'_>) -> Result<TraceFormat, TraceError> {
    scan_selected(path, Select::All, take)
}

fn scan_selected(path: &Path, select: Select<'_>, take: Take<'_>) -> Result<TraceFormat, TraceError> {
    let mut names = Vec::new();
    read_file(path, select, &mut |format, mut chunk| {
        let ticks_per_us = format.ticks_per_us();
        if ticks_per_us > 1 {
            chunk.requests.iter_mut().for_each(|request| request.time_us /= ticks_per_us);
        }
        // A chunk names only devices that are new, and a batch numbers all so far.
        names.append(&mut chunk.names);
        take(Batch { requests: &chunk.requests, devices: &chunk.devices, names: &names })
    })
}

/// A format, and what reads it.
type Detected<'s> = (TraceFormat, Box<dyn Reader + 's>);

/// Recognizes the format.
fn detect<'s>(
    name: &'s str,
    scope: &'s Scope<'s, '_>,
    bytes: &'s mut (dyn BufRead + Send),
) -> Result<Detected<'s>, TraceError> {
    let read_error = |source| source::read_error(name, Position::Line(1), source);
    let content = source::content(scope, bytes).map_err(read_error)?;
    let (prefix, content) = source::peek(content).map_err(read_error)?;
    if let Some(order) = blktrace::detect(name, &prefix)? {
        return Ok((TraceFormat::Blktrace, Box::new(Blktrace::new(name, order, content))));
    }
    let mut lines = Lines::new(name, content);
    if !lines.advance()? {
        return Err(TraceError::Empty { name: name.to_owned() });
    }
    let first = lines.line();
    // Formats with a header of their own come first. Rows of Alibaba and of Tencent both have five fields, and differ
    // in their operations: letters and digits.
    if let Some(found) = Own::detect(first) {
        Ok(TextReader::detected(name, lines, found))
    } else if let Some(found) = Fio::detect(name, first)? {
        Ok(TextReader::detected(name, lines, found))
    } else if let Some(found) = Msr::detect(first) {
        Ok(TextReader::detected(name, lines, found))
    } else if let Some(found) = Alibaba::detect(first) {
        Ok(TextReader::detected(name, lines, found))
    } else if let Some(found) = Tencent::detect(first) {
        Ok(TextReader::detected(name, lines, found))
    } else {
        Err(TraceError::UnknownFormat { name: name.to_owned(), start: shown(first) })
    }
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
