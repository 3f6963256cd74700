//! fio's I/O logs, as `write_iolog` records and `read_iolog` replays them: versions 2 and 3.
//!
//! A line is `filename action` when a file is opened or closed, or `filename action offset length` for I/O. Version 3
//! begins each line with a timestamp in microseconds. Version 2 has no times except in its `wait` lines, whose offset
//! is a time in microseconds after the previous one. fio ignores `wait` in version 3, and so does this reader. A file
//! counts as a device.

use crate::request::Op;

use super::error::{Fault, shown};
use super::fields::number;
use super::rows::Row;
use super::text::{FirstLine, LineFormat};
use super::{TraceError, TraceFormat};

const KNOWN_ACTIONS: &str = "read, write, trim, sync, datasync, sync_file_range, wait, add, open, close and unlink";

/// A log of either version.
pub(super) struct Fio {
    version: Version,
    /// Where the `wait` lines of version 2 have brought the clock.
    clock_us: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    Two,
    Three,
}

impl Fio {
    /// Recognises the first line. A version that cannot be read is an error.
    pub(super) fn detect(name: &str, first_line: &[u8]) -> Result<Option<(Self, FirstLine)>, TraceError> {
        let Some(rest) = first_line.strip_prefix(b"fio version ") else { return Ok(None) };
        let Some(version) = rest.strip_suffix(b" iolog") else { return Ok(None) };
        let version = match version {
            b"2" => Version::Two,
            b"3" => Version::Three,
            _ => {
                // A line without a number here is no header of fio's.
                let Some(version) = super::fields::digits(version) else { return Ok(None) };
                let version = u32::try_from(version).unwrap_or(u32::MAX);
                let (name, supported) = (name.to_owned(), "2 and 3");
                return Err(TraceError::UnsupportedVersion { name, format: "fio iolog", version, supported });
            }
        };
        Ok(Some((Self { version, clock_us: 0 }, FirstLine::Header)))
    }

    /// Splits a line at spaces into file, action and up to two more fields. Counts all fields.
    fn split(line: &[u8]) -> ([&[u8]; 4], usize) {
        let mut fields: [&[u8]; 4] = [&[]; 4];
        let mut found = 0;
        for field in line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()) {
            if found < fields.len() {
                fields[found] = field;
            }
            found += 1;
        }
        (fields, found)
    }
}

impl LineFormat for Fio {
    fn format(&self) -> TraceFormat {
        match self.version {
            Version::Two => TraceFormat::FioV2,
            Version::Three => TraceFormat::FioV3,
        }
    }

    fn row<'l>(&mut self, line: &'l [u8]) -> Result<Option<Row<'l>>, Fault> {
        let (ticks, line) = match self.version {
            Version::Two => (self.clock_us, line),
            Version::Three => {
                let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
                (number("timestamp", &line[..end])?, &line[end..])
            }
        };
        let ([file, action, offset, length], found) = Self::split(line);
        let op = match action {
            b"add" | b"open" | b"close" | b"unlink" if found == 2 => return Ok(None),
            b"sync_file_range" => return Ok(None),
            b"wait" => {
                if self.version == Version::Two {
                    let wait_us = number("offset", offset)?;
                    // Times never go back, so a clock that is full stays full.
                    self.clock_us = self.clock_us.saturating_add(wait_us);
                }
                return Ok(None);
            }
            // Some programs leave out the range, which a sync does not use.
            b"sync" | b"datasync" if found == 2 || found == 4 => Op::Flush,
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Discard,
            b"add" | b"open" | b"close" | b"unlink" | b"sync" | b"datasync" | b"" => {
                return Err(self.field_count(found));
            }
            _ => return Err(Fault::UnknownOp { text: shown(action), known: KNOWN_ACTIONS }),
        };
        if op != Op::Flush && found != 4 {
            return Err(self.field_count(found));
        }
        let (offset_bytes, length_bytes) =
            if op == Op::Flush { (0, 0) } else { (number("offset", offset)?, number("length", length)?) };
        Ok(Some(Row { ticks, op, offset_bytes, length_bytes, stream: 0, device: file }))
    }
}

impl Fio {
    fn field_count(&self, found: usize) -> Fault {
        match self.version {
            Version::Two => Fault::FieldCount { expected: "2 or 4", found },
            // The timestamp was taken off before the fields were counted.
            Version::Three => Fault::FieldCount { expected: "3 or 5", found: found + 1 },
        }
    }
}
