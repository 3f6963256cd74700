//! Reading: only the columns of a trace, in batches, and only the row groups that may hold the wanted device.

use std::fs::File;

use parquet::basic::ConvertedType;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::schema::types::SchemaDescriptor;

use super::super::collect::{Row, Sink};
use super::super::error::{Fault, Position, TraceError, shown};
use super::super::source::read_error;
use super::super::{OPS, TraceFormat};
use super::{COLUMNS, REQUIRED};
use crate::request::Op;

/// A file's first bytes.
pub(in super::super) const MAGIC: &[u8] = b"PAR1";

/// Rows of each column that are held at a time.
const BATCH_ROWS: usize = 1 << 14;

/// Passes the rows on to a sink. `wanted` leaves out row groups in which there is no such device.
pub(in super::super) fn read(
    name: &str,
    file: File,
    wanted: Option<&str>,
    sink: &mut dyn Sink,
) -> Result<TraceFormat, TraceError> {
    let broken = |row: u64, error: ParquetError| read_error(name, Position::Record(row), std::io::Error::other(error));
    let reader = SerializedFileReader::new(file).map_err(|error| broken(1, error))?;
    let places = places(name, reader.metadata().file_metadata().schema_descr())?;
    sink.begin(TraceFormat::Parquet, 1);
    let device = places[REQUIRED + 1];
    let is_wanted = |group| wanted.is_none_or(|wanted| may_hold(reader.metadata().row_group(group), device, wanted));
    // If the device is nowhere, all is read, so that the error names those that are there.
    let is_anywhere = (0..reader.num_row_groups()).any(is_wanted);
    let mut row = 1;
    for group in 0..reader.num_row_groups() {
        let rows = reader.metadata().row_group(group).num_rows().max(0) as u64;
        if !is_anywhere || is_wanted(group) {
            let its = reader.get_row_group(group).map_err(|error| broken(row, error))?;
            Group::open(name, &*its, &places, row)?.read(rows, sink)?;
        }
        row += rows;
    }
    Ok(TraceFormat::Parquet)
}

/// Where each column of a trace is among the file's.
fn places(name: &str, schema: &SchemaDescriptor) -> Result<[Option<usize>; COLUMNS.len()], TraceError> {
    let mut places = [None; COLUMNS.len()];
    for (place, wanted) in places.iter_mut().zip(COLUMNS) {
        *place = schema.columns().iter().position(|column| column.path().string() == wanted);
    }
    let missing = places[..REQUIRED].iter().zip(COLUMNS).find(|(place, _)| place.is_none());
    match missing {
        Some((_, column)) => Err(TraceError::NoColumn { name: name.to_owned(), column }),
        None => Ok(places),
    }
}

/// False if the statistics of a row group say that it holds no row of the device.
fn may_hold(group: &RowGroupMetaData, place: Option<usize>, wanted: &str) -> bool {
    let Some(statistics) = place.and_then(|place| group.column(place).statistics()) else { return true };
    match (statistics, wanted.parse::<i64>()) {
        // The ends may be cut short: the least then sorts before all values, and the greatest behind them.
        (Statistics::ByteArray(of), _) => {
            let (least, most) = (of.min_opt().map(ByteArray::data), of.max_opt().map(ByteArray::data));
            least.is_none_or(|least| least <= wanted.as_bytes()) && most.is_none_or(|most| wanted.as_bytes() <= most)
        }
        (Statistics::Int64(of), Ok(wanted)) => {
            of.min_opt().is_none_or(|&least| least <= wanted) && of.max_opt().is_none_or(|&most| wanted <= most)
        }
        _ => true,
    }
}

/// A column of one row group, and the values of the batch.
enum Column {
    Wide(ColumnReaderImpl<Int64Type>, Vec<i64>),
    Narrow(ColumnReaderImpl<Int32Type>, Vec<i32>),
    Text(ColumnReaderImpl<ByteArrayType>, Vec<ByteArray>),
}

/// A row group that is being read.
struct Group<'n> {
    name: &'n str,
    /// In the order of `COLUMNS`, with whether numbers have a sign; none for one that the file does not have.
    columns: Vec<Option<(Column, bool)>>,
    /// The number of the next row in the file.
    row: u64,
}

impl<'n> Group<'n> {
    fn open(
        name: &'n str,
        group: &dyn RowGroupReader,
        places: &[Option<usize>; COLUMNS.len()],
        row: u64,
    ) -> Result<Self, TraceError> {
        let mut columns = Vec::with_capacity(places.len());
        for (place, column) in places.iter().zip(COLUMNS) {
            let Some(place) = *place else {
                columns.push(None);
                continue;
            };
            let of = group.metadata().column(place).column_descr();
            let is_signed = !matches!(
                of.converted_type(),
                ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
            );
            let reader = group.get_column_reader(place);
            let reader =
                reader.map_err(|error| read_error(name, Position::Record(row), std::io::Error::other(error)))?;
            let reader = match reader {
                ColumnReader::Int64ColumnReader(reader) => Column::Wide(reader, Vec::new()),
                ColumnReader::Int32ColumnReader(reader) => Column::Narrow(reader, Vec::new()),
                ColumnReader::ByteArrayColumnReader(reader) => Column::Text(reader, Vec::new()),
                _ => return Err(TraceError::ColumnType { name: name.to_owned(), column }),
            };
            columns.push(Some((reader, is_signed)));
        }
        Ok(Self { name, columns, row })
    }

    fn read(&mut self, rows: u64, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let mut left = rows;
        while left > 0 {
            let batch = left.min(BATCH_ROWS as u64) as usize;
            for (column, name) in self.columns.iter_mut().zip(COLUMNS) {
                let Some((column, _)) = column else { continue };
                let values = match column {
                    Column::Wide(reader, values) => next(reader, values, batch),
                    Column::Narrow(reader, values) => next(reader, values, batch),
                    Column::Text(reader, values) => next(reader, values, batch),
                };
                let at = Position::Record(self.row);
                let values = values.map_err(|error| read_error(self.name, at, std::io::Error::other(error)))?;
                if values != batch {
                    return Err(TraceError::MissingValue { name: self.name.to_owned(), at, column: name });
                }
            }
            for row in 0..batch {
                self.push(row, sink)?;
            }
            left -= batch as u64;
        }
        Ok(())
    }

    /// Passes on a row of the batch.
    fn push(&mut self, row: usize, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let at = Position::Record(self.row);
        let wrong = |fault| TraceError::Malformed { name: self.name.to_owned(), at, fault };
        let op = self.text(1, row).map_err(wrong)?.unwrap_or_default();
        let unknown = || wrong(Fault::UnknownOp { text: shown(op), known: OPS });
        // A device may be a number.
        let (device, number);
        device = match self.text(5, row) {
            Ok(text) => text.unwrap_or_default(),
            Err(_) => {
                number = self.number(5, row).map_err(wrong)?.to_string();
                number.as_bytes()
            }
        };
        let stream = self.number(4, row).map_err(wrong)?;
        let too_great = |_| wrong(Fault::NotANumber { field: COLUMNS[4], text: stream.to_string() });
        let request = Row {
            ticks: self.number(0, row).map_err(wrong)?,
            op: Op::from_letter(op).ok_or_else(unknown)?,
            offset_bytes: self.number(2, row).map_err(wrong)?,
            length_bytes: self.number(3, row).map_err(wrong)?,
            stream: u16::try_from(stream).map_err(too_great)?,
            device,
        };
        sink.push(at, &request)?;
        self.row += 1;
        Ok(())
    }

    /// A number of a row; 0 in a column that is not there.
    fn number(&self, column: usize, row: usize) -> Result<u64, Fault> {
        let (value, unsigned) = match &self.columns[column] {
            None => return Ok(0),
            Some((Column::Wide(_, values), is_signed)) => (values[row], (!is_signed).then(|| values[row] as u64)),
            Some((Column::Narrow(_, values), is_signed)) => {
                (i64::from(values[row]), (!is_signed).then(|| u64::from(values[row] as u32)))
            }
            Some((Column::Text(_, values), _)) => {
                return Err(Fault::NotANumber { field: COLUMNS[column], text: shown(values[row].data()) });
            }
        };
        let is_negative = || Fault::NotANumber { field: COLUMNS[column], text: value.to_string() };
        unsigned.or_else(|| u64::try_from(value).ok()).ok_or_else(is_negative)
    }

    /// A text of a row; none in a column that is not there. An error if the column holds numbers.
    fn text(&self, column: usize, row: usize) -> Result<Option<&[u8]>, Fault> {
        match &self.columns[column] {
            None => Ok(None),
            Some((Column::Text(_, values), _)) => Ok(Some(values[row].data())),
            Some(_) => Err(Fault::UnknownOp { text: self.number(column, row)?.to_string(), known: OPS }),
        }
    }
}

/// Reads so many values, without those that are missing. Returns how many there are.
fn next<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    values: &mut Vec<T::T>,
    rows: usize,
) -> Result<usize, ParquetError> {
    values.clear();
    let mut levels = Vec::new();
    while levels.len().max(values.len()) < rows {
        let before = levels.len().max(values.len());
        let (records, ..) = reader.read_records(rows - before, Some(&mut levels), None, values)?;
        if records == 0 {
            break;
        }
    }
    Ok(values.len())
}
