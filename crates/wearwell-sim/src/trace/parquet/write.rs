//! Writing, compressed by Zstandard.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::super::rows::{Batch, Select};
use super::super::{TraceError, scan_selected};
use crate::request::{Op, Request};

const SCHEMA: &str = "
    message trace {
        required int64 time_us (INTEGER(64, false));
        required binary op (STRING);
        required int64 offset (INTEGER(64, false));
        required int64 length (INTEGER(64, false));
        required int32 stream (INTEGER(16, false));
        required binary device (STRING);
    }";

/// Rows of a row group of a converted file.
const GROUP_ROWS: usize = 1 << 20;

const LEVEL: i32 = 3;

/// Writes requests of any devices to a file. The file is complete only after [`finish`](Self::finish).
pub struct ParquetWriter {
    file: SerializedFileWriter<File>,
    group_rows: usize,
    requests: Vec<Request>,
    /// The device of each, by its place among the names.
    devices: Vec<u32>,
    names: Vec<ByteArray>,
}

impl ParquetWriter {
    /// Begins a file with so many rows in a row group. That many are held in memory, at 36 bytes each.
    ///
    /// # Errors
    /// Those of the file.
    pub fn new(file: File, group_rows: usize) -> io::Result<Self> {
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let level = ZstdLevel::try_new(LEVEL)?;
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
        let file = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
        Ok(Self { file, group_rows, requests: Vec::new(), devices: Vec::new(), names: Vec::new() })
    }

    /// Adds requests. All batches must be of one trace.
    ///
    /// # Errors
    /// Those of the file.
    pub fn push(&mut self, batch: Batch<'_>) -> io::Result<()> {
        // The reader numbers the names, and only adds to them.
        self.names.extend(batch.names[self.names.len()..].iter().map(|name| ByteArray::from(name.clone())));
        for (&request, &device) in batch.requests.iter().zip(batch.devices) {
            self.requests.push(request);
            self.devices.push(device);
            if self.requests.len() >= self.group_rows {
                self.write_group()?;
            }
        }
        Ok(())
    }

    /// Completes the file.
    ///
    /// # Errors
    /// Those of the file.
    pub fn finish(mut self) -> io::Result<()> {
        if !self.requests.is_empty() {
            self.write_group()?;
        }
        // This writes the footer, without which nobody can read the file.
        self.file.into_inner()?.sync_data()
    }

    fn write_group(&mut self) -> io::Result<()> {
        let rows = &self.requests;
        let mut group = self.file.next_row_group()?;
        let ops = |op: Op| ByteArray::from(op.letter().to_string().into_bytes());
        // The schema says that numbers have no sign, so the bits are kept as they are.
        column::<Int64Type>(&mut group, rows.iter().map(|row| row.time_us as i64))?;
        column::<ByteArrayType>(&mut group, rows.iter().map(|row| ops(row.op)))?;
        column::<Int64Type>(&mut group, rows.iter().map(|row| row.offset_bytes as i64))?;
        column::<Int64Type>(&mut group, rows.iter().map(|row| row.length_bytes as i64))?;
        column::<Int32Type>(&mut group, rows.iter().map(|row| i32::from(row.stream)))?;
        let name = |&device: &u32| self.names[device as usize].clone();
        column::<ByteArrayType>(&mut group, self.devices.iter().map(name))?;
        group.close()?;
        self.requests.clear();
        self.devices.clear();
        Ok(())
    }
}

/// Writes the next column of a row group.
pub(super) fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: impl Iterator<Item = T::T>,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("no more columns than in the schema".to_owned()));
    };
    column.typed::<T>().write_batch(&values.collect::<Vec<_>>(), None, None)?;
    column.close()
}

/// Converts a trace of any format to Parquet in one pass: all its devices, or one. The file appears when it is
/// complete. Times are microseconds from the origin of the format. Returns how many requests there are.
///
/// # Errors
/// As [`scan`](crate::trace::scan), a recording, a device that is not there, and errors of writing.
pub fn convert(trace: &Path, to: &Path, device: Option<&str>) -> Result<u64, TraceError> {
    let failed = |source| TraceError::Write { name: to.display().to_string(), source };
    let mut part = to.as_os_str().to_owned();
    part.push(".part");
    let part = Path::new(&part);
    let done = fill(trace, part, device).and_then(|rows| fs::rename(part, to).map(|()| rows).map_err(failed));
    if done.is_err() {
        // An incomplete file is of no use.
        let _ = fs::remove_file(part);
    }
    done
}

fn fill(trace: &Path, to: &Path, device: Option<&str>) -> Result<u64, TraceError> {
    let failed = |source| TraceError::Write { name: to.display().to_string(), source };
    let begun = File::create(to).and_then(|file| ParquetWriter::new(file, GROUP_ROWS));
    let mut writer = begun.map_err(failed)?;
    let mut rows = 0;
    scan_selected(trace, device.map_or(Select::All, Select::One), &mut |batch| {
        batch.refuse_calls(trace)?;
        rows += batch.requests.len() as u64;
        writer.push(batch).map_err(failed)
    })?;
    writer.finish().map_err(failed)?;
    Ok(rows)
}
