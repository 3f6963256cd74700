//! Errors of traces, with their position.

use std::fmt;
use std::io;

use thiserror::Error;

use crate::request::Op;

/// Bytes of a trace's text that an error shows.
const SHOWN_BYTES: usize = 48;

/// A place in a trace, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// A line of a text format.
    Line(u64),
    /// A record of a binary format, notes and other skipped records included.
    Record(u64),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "line {number}"),
            Self::Record(number) => write!(f, "record {number}"),
        }
    }
}

/// Why a trace could not be read. `name` is the trace in every variant.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file could not be opened.
    #[error("{name}: {source}")]
    Open {
        /// The trace.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// Reading or decompressing failed.
    #[error("{name}: {at}: {source}")]
    Read {
        /// The trace.
        name: String,
        /// The position of the read.
        at: Position,
        /// What the system or the decompressor said.
        source: io::Error,
    },
    /// The trace ends in the middle of something.
    #[error("{name}: {at}: cut short: {what} is incomplete")]
    Truncated {
        /// The trace.
        name: String,
        /// The position of the read.
        at: Position,
        /// What is incomplete.
        what: &'static str,
    },
    /// A line or record that its format does not allow.
    #[error("{name}: {at}: {fault}")]
    Malformed {
        /// The trace.
        name: String,
        /// The line or record.
        at: Position,
        /// What is wrong with it.
        fault: Fault,
    },
    /// The first line or record is of no known format.
    #[error("{name}: not a trace of a known format: it starts with `{start}`; known are {}", super::KNOWN_FORMATS)]
    UnknownFormat {
        /// The trace.
        name: String,
        /// Its first bytes, escaped.
        start: String,
    },
    /// Parquet without a column that a trace has.
    #[error("{name}: there is no column `{column}`")]
    NoColumn {
        /// The trace.
        name: String,
        /// The column.
        column: &'static str,
    },
    /// A column of Parquet with values that are no whole numbers and no text.
    #[error("{name}: column `{column}` holds neither whole numbers nor text")]
    ColumnType {
        /// The trace.
        name: String,
        /// The column.
        column: &'static str,
    },
    /// A value of Parquet that is not there.
    #[error("{name}: column `{column}`: a value is missing, at {at} or behind it")]
    MissingValue {
        /// The trace.
        name: String,
        /// The first row that was read with it.
        at: Position,
        /// The column.
        column: &'static str,
    },
    /// A known format in a version that is not.
    #[error("{name}: {format} version {version} is not supported, only {supported}")]
    UnsupportedVersion {
        /// The trace.
        name: String,
        /// The format.
        format: &'static str,
        /// The version found.
        version: u32,
        /// The versions that can be read.
        supported: &'static str,
    },
    /// The trace is a recording, which can only be replayed.
    #[error("{name}: a recording of a served disk can only be replayed, not converted or split")]
    Recording {
        /// The recording.
        name: String,
    },
    /// The output of a conversion could not be written.
    #[error("{name}: {source}")]
    Write {
        /// The file or folder.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// The trace has no bytes.
    #[error("{name}: empty")]
    Empty {
        /// The trace.
        name: String,
    },
    /// Requests of more than one device, and none was selected.
    #[error(
        "{name}: {at}: a second device: `{second}` after `{first}`; choose one of the devices in this trace by --device"
    )]
    SeveralDevices {
        /// The trace.
        name: String,
        /// Where the second device first appears.
        at: Position,
        /// The device of all requests before.
        first: String,
        /// The other device.
        second: String,
    },
    /// The selected device is not in the trace.
    #[error("{name}: no request of device `{wanted}`; {}", list(found))]
    NoSuchDevice {
        /// The trace.
        name: String,
        /// The device selected.
        wanted: String,
        /// The first devices found, a few at most.
        found: Vec<String>,
    },
}

/// What is wrong with one line or record.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// More or fewer fields than the format has.
    #[error("{found} fields instead of {expected}")]
    FieldCount {
        /// How many the format has.
        expected: &'static str,
        /// How many there are.
        found: usize,
    },
    /// A field that is not a whole number below 2⁶⁴, or not a time.
    #[error("{field} `{text}` is not a number that fits")]
    NotANumber {
        /// The field.
        field: &'static str,
        /// What it holds, escaped.
        text: String,
    },
    /// An operation the format does not have.
    #[error("unknown operation `{text}`; the format has {known}")]
    UnknownOp {
        /// What it says, escaped.
        text: String,
        /// The operations of the format.
        known: &'static str,
    },
    /// A request for nothing.
    #[error("{op:?} of length 0")]
    ZeroLength {
        /// The operation.
        op: Op,
    },
    /// A recording with a mount that is not its first operation.
    #[error("a mount that does not come first")]
    LateMount,
    /// A request that ends at 2⁶⁴ bytes or beyond.
    #[error("offset and length add up to 2^64 bytes or more")]
    Overflow,
    /// A line that is longer than in any real trace.
    #[error("longer than {limit_bytes} bytes")]
    LineTooLong {
        /// The most that is read.
        limit_bytes: usize,
    },
    /// A binary record that does not start with its format's magic number.
    #[error("starts with {found:#010x} instead of the format's magic number")]
    BadMagic {
        /// What it starts with.
        found: u32,
    },
}

/// Bytes of a trace for an error: escaped and shortened.
pub(super) fn shown(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(SHOWN_BYTES)];
    let ellipsis = if bytes.len() > SHOWN_BYTES { "…" } else { "" };
    format!("{}{ellipsis}", start.escape_ascii())
}

fn list(names: &[String]) -> String {
    match names {
        [] => "it has no requests".to_owned(),
        // Formats of one device do not name it.
        [only] if only.is_empty() => "a trace of this format names no devices: leave --device out".to_owned(),
        _ => format!("there are {}", names.join(" ")),
    }
}
