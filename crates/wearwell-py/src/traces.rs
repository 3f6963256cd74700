//! Traces: in a file, or in memory from columns and rows.

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt16Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader, UInt16Array, UInt64Array};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3_arrow::PyRecordBatchReader;
use wearwell_sim::trace::{self, Batch, Counter, ParquetWriter, Take, Trace as SimTrace, TraceError as SimTraceError};
use wearwell_sim::{Op, Request};

use crate::errors::{Raised, TraceError};

/// Batches that are read ahead of whoever takes them.
const AHEAD: usize = 2;

/// Requests in memory, as a single batch has them.
#[derive(Default)]
struct Rows {
    requests: Vec<Request>,
    devices: Vec<u32>,
    names: Vec<Vec<u8>>,
    /// The place of each name.
    places: HashMap<Vec<u8>, u32>,
}

impl Rows {
    fn push(&mut self, request: Request, device: &str) {
        let device = device.as_bytes();
        // Requests of one device often come together, and a comparison is cheaper than a look into the map.
        let last = self.devices.last().copied().filter(|&last| self.names[last as usize] == device);
        let device = match last.or_else(|| self.places.get(device).copied()) {
            Some(place) => place,
            None => {
                let place = self.names.len() as u32;
                self.names.push(device.to_owned());
                self.places.insert(device.to_owned(), place);
                place
            }
        };
        self.requests.push(request);
        self.devices.push(device);
    }

    fn batch(&self) -> Batch<'_> {
        Batch { requests: &self.requests, devices: &self.devices, names: &self.names }
    }
}

#[derive(Clone)]
enum Source {
    File(PathBuf),
    Memory(Arc<Rows>),
}

/// A trace, of one device or of several.
#[pyclass(frozen, from_py_object, module = "wearwell._native")]
#[derive(Clone)]
pub(crate) struct Trace {
    name: String,
    source: Source,
}

impl Trace {
    /// Equal for the same trace only, as long as both live.
    pub(crate) fn identity(&self) -> usize {
        match &self.source {
            Source::File(_) => 0,
            Source::Memory(rows) => Arc::as_ptr(rows) as usize,
        }
    }

    /// The requests of the device that is to be replayed.
    pub(crate) fn load(&self, device: Option<&str>) -> Result<SimTrace, SimTraceError> {
        match (&self.source, device) {
            (Source::File(path), None) => trace::open(path),
            (Source::File(path), Some(device)) => trace::open_device(path, device),
            (Source::Memory(rows), device) => trace::collect(&self.name, device, rows.batch()),
        }
    }
}

/// Hands on all requests of a source.
fn each(source: &Source, take: Take<'_>) -> Result<(), SimTraceError> {
    match source {
        Source::File(path) => trace::scan(path, take).map(drop),
        Source::Memory(rows) => take(rows.batch()),
    }
}

#[pymethods]
impl Trace {
    #[staticmethod]
    fn open(path: PathBuf) -> Self {
        Self { name: path.display().to_string(), source: Source::File(path) }
    }

    /// Takes columns, in a stream of Arrow batches.
    #[staticmethod]
    fn from_stream(py: Python<'_>, stream: PyRecordBatchReader, name: String) -> PyResult<Self> {
        let reader = stream.into_reader()?;
        let rows = py.detach(|| {
            let mut rows = Rows::default();
            for batch in reader {
                take_batch(&batch?, &mut rows)?;
            }
            Ok(rows)
        });
        let rows: Result<Rows, ArrowError> = rows;
        let rows = rows.map_err(|error| TraceError::new_err(format!("{name}: {error}")))?;
        Ok(Self { name, source: Source::Memory(Arc::new(rows)) })
    }

    /// Takes tuples (time_us, op, offset, length[, stream[, device]]).
    #[staticmethod]
    fn from_rows(given: &Bound<'_, PyAny>, name: String) -> PyResult<Self> {
        let mut rows = Rows::default();
        for (row, number) in given.try_iter()?.zip(1_u64..) {
            let row = row?;
            let wrong = |why: &dyn std::fmt::Display| TraceError::new_err(format!("{name}: row {number}: {why}"));
            let row = row.cast::<PyTuple>().map_err(|_| wrong(&"a tuple is wanted"))?;
            if !(4..=6).contains(&row.len()) {
                return Err(wrong(&"the form is (time_us, op, offset, length[, stream[, device]])"));
            }
            let whole = |at: usize| row.get_item(at)?.extract::<u64>();
            let op: String = row.get_item(1)?.extract()?;
            let request = Request {
                time_us: whole(0).map_err(|error| wrong(&error))?,
                op: op_of(&op).map_err(|why| wrong(&why))?,
                offset_bytes: whole(2).map_err(|error| wrong(&error))?,
                length_bytes: whole(3).map_err(|error| wrong(&error))?,
                stream: if row.len() > 4 { row.get_item(4)?.extract().map_err(|error| wrong(&error))? } else { 0 },
            };
            let device = if row.len() > 5 { row.get_item(5)?.str()?.to_string() } else { String::new() };
            rows.push(request, &device);
        }
        Ok(Self { name, source: Source::Memory(Arc::new(rows)) })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// What the requests are made of by device, as JSON.
    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        let mut counter = Counter::default();
        let counted = py.detach(|| {
            each(&self.source, &mut |batch| {
                counter.add(batch);
                Ok(())
            })
        });
        counted.map_err(Raised::raised)?;
        crate::json(&counter.finish())
    }

    /// The devices by name, and how many requests each has.
    fn volumes(&self, py: Python<'_>) -> PyResult<Vec<(String, u64)>> {
        let mut volumes: Vec<(String, u64)> = Vec::new();
        let counted = py.detach(|| {
            each(&self.source, &mut |batch| {
                // Names are only added, and never change their places.
                let new = &batch.names[volumes.len()..];
                volumes.extend(new.iter().map(|name| (String::from_utf8_lossy(name).into_owned(), 0)));
                batch.devices.iter().for_each(|&device| volumes[device as usize].1 += 1);
                Ok(())
            })
        });
        counted.map_err(Raised::raised)?;
        volumes.sort();
        Ok(volumes)
    }

    /// Writes all requests to a file in Parquet, with so many in a row group.
    fn to_parquet(&self, py: Python<'_>, path: PathBuf, rows: usize) -> PyResult<()> {
        let failed = |source| SimTraceError::Write { name: path.display().to_string(), source };
        let written = py.detach(|| {
            let begun = File::create(&path).and_then(|file| ParquetWriter::new(file, rows));
            let mut writer = begun.map_err(failed)?;
            each(&self.source, &mut |batch| writer.push(batch).map_err(failed))?;
            writer.finish().map_err(failed)
        });
        written.map_err(Raised::raised)
    }

    /// All requests as a stream of Arrow batches, of which a few are held at a time.
    fn batches(&self, rows: usize) -> PyRecordBatchReader {
        // The thread reads while Python works. It waits when enough batches are ahead, so that memory has a bound.
        let (sender, receiver) = mpsc::sync_channel(AHEAD);
        let source = self.source.clone();
        thread::spawn(move || {
            let mut columns = Columns::default();
            let stopped = || SimTraceError::Empty { name: String::new() };
            let read = each(&source, &mut |batch| {
                let mut left = batch;
                while !left.requests.is_empty() {
                    left = columns.add(left, rows);
                    // Nobody takes it any more: reading ends, with an error that nobody hears.
                    if columns.time_us.len() >= rows {
                        sender.send(columns.take()).map_err(|_| stopped())?;
                    }
                }
                Ok(())
            });
            let last = match read {
                Ok(()) => columns.take(),
                Err(error) => Err(ArrowError::ExternalError(Box::new(error))),
            };
            // Whoever read may have stopped. Then nobody wants it.
            let _ = sender.send(last);
        });
        PyRecordBatchReader::new(Box::new(Batches { schema: schema(), receiver }))
    }
}

/// The batches that a reading thread sends.
struct Batches {
    schema: SchemaRef,
    receiver: Receiver<Result<RecordBatch, ArrowError>>,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.receiver.recv().ok()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

fn schema() -> SchemaRef {
    let column = |name: &str, of: DataType| Field::new(name, of, false);
    Arc::new(Schema::new(vec![
        column("time_us", DataType::UInt64),
        column("op", DataType::Utf8),
        column("offset", DataType::UInt64),
        column("length", DataType::UInt64),
        column("stream", DataType::UInt16),
        column("device", DataType::Utf8),
    ]))
}

/// Columns that grow to a batch.
#[derive(Default)]
struct Columns {
    time_us: Vec<u64>,
    op: StringBuilder,
    offset: Vec<u64>,
    length: Vec<u64>,
    stream: Vec<u16>,
    device: StringBuilder,
}

impl Columns {
    /// Adds requests until there are `rows`. Returns what is left of the batch.
    fn add<'a>(&mut self, batch: Batch<'a>, rows: usize) -> Batch<'a> {
        let count = batch.requests.len().min(rows.max(1) - self.time_us.len());
        let (requests, left) = batch.requests.split_at(count);
        let (devices, devices_left) = batch.devices.split_at(count);
        self.time_us.extend(requests.iter().map(|request| request.time_us));
        self.offset.extend(requests.iter().map(|request| request.offset_bytes));
        self.length.extend(requests.iter().map(|request| request.length_bytes));
        self.stream.extend(requests.iter().map(|request| request.stream));
        requests.iter().for_each(|request| self.op.append_value(request.op.letter().encode_utf8(&mut [0; 4])));
        devices.iter().for_each(|&at| self.device.append_value(String::from_utf8_lossy(&batch.names[at as usize])));
        Batch { requests: left, devices: devices_left, names: batch.names }
    }

    fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        let mut all = std::mem::take(self);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from(all.time_us)),
            Arc::new(all.op.finish()),
            Arc::new(UInt64Array::from(all.offset)),
            Arc::new(UInt64Array::from(all.length)),
            Arc::new(UInt16Array::from(all.stream)),
            Arc::new(all.device.finish()),
        ];
        RecordBatch::try_new(schema(), columns)
    }
}

fn op_of(text: &str) -> Result<Op, String> {
    Op::from_letter(text.as_bytes()).ok_or_else(|| format!("unknown operation `{text}`; there are R, W, D, F and Z"))
}

/// Reads a batch of columns time_us, op, offset, length and maybe stream and device; others are left alone.
fn take_batch(batch: &RecordBatch, rows: &mut Rows) -> Result<(), ArrowError> {
    let optional = |name: &str, of: &DataType| batch.column_by_name(name).map(|column| cast(column, of)).transpose();
    let column = |name: &str, of: &DataType| {
        let column = optional(name, of)?;
        let column = column.ok_or_else(|| ArrowError::SchemaError(format!("there is no column `{name}`")))?;
        // A cast makes a null of a value that does not fit.
        if column.null_count() > 0 {
            return Err(ArrowError::CastError(format!("column `{name}`: a value is missing, or does not fit")));
        }
        Ok(column)
    };
    let time_us = column("time_us", &DataType::UInt64)?;
    let (offset, length) = (column("offset", &DataType::UInt64)?, column("length", &DataType::UInt64)?);
    let op = column("op", &DataType::Utf8)?;
    let (stream, device) = (optional("stream", &DataType::UInt16)?, optional("device", &DataType::Utf8)?);
    let whole = |column: &ArrayRef, row: usize| column.as_primitive::<UInt64Type>().value(row);
    for row in 0..batch.num_rows() {
        let op = op_of(op.as_string::<i32>().value(row)).map_err(ArrowError::CastError)?;
        let stream = stream.as_ref().map_or(0, |column| column.as_primitive::<UInt16Type>().value(row));
        let request = Request {
            time_us: whole(&time_us, row),
            op,
            offset_bytes: whole(&offset, row),
            length_bytes: whole(&length, row),
            stream,
        };
        rows.push(request, device.as_ref().map_or("", |column| column.as_string::<i32>().value(row)));
    }
    Ok(())
}
