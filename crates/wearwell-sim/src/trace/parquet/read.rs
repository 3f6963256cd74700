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

use super::super::OPS;
use super::super::error::{Fault, Position, TraceError, shown};
use super::super::rows::{Reader, Row, Rows};
use super::super::source::read_error;
use super::{COLUMNS, REQUIRED};
use crate::request::Op;

/// A file's first bytes.
pub(in super::super) const MAGIC: &[u8] = b"PAR1";

/// The error of a read at a row.
fn broken(name: &str, row: u64, error: ParquetError) -> TraceError {
    read_error(name, Position::Record(row), std::io::Error::other(error))
}

/// Reads the row groups one after the other.
pub(in super::super) struct ParquetReader<'a> {
    name: &'a str,
    file: SerializedFileReader<File>,
    places: [Option<usize>; COLUMNS.len()],
    /// The row groups that are read, from the last to the first, with the number of the first row of each.
    groups: Vec<(usize, u64)>,
    /// The one that is being read.
    group: Option<Group>,
}

impl<'a> ParquetReader<'a> {
    /// `wanted` leaves out row groups in which there is no such device.
    pub(in super::super) fn new(name: &'a str, file: File, wanted: Option<&str>) -> Result<Self, TraceError> {
        let file = SerializedFileReader::new(file).map_err(|error| broken(name, 1, error))?;
        let metadata = file.metadata();
        let places = places(name, metadata.file_metadata().schema_descr())?;
        let device = places[REQUIRED + 1];
        let is_wanted = |group| wanted.is_none_or(|wanted| may_hold(metadata.row_group(group), device, wanted));
        // If the device is nowhere, all is read, so that the error names those that are there.
        let is_anywhere = (0..metadata.num_row_groups()).any(is_wanted);
        let (mut groups, mut row) = (Vec::new(), 1);
        for group in 0..metadata.num_row_groups() {
            if !is_anywhere || is_wanted(group) {
                groups.push((group, row));
            }
            // A broken file may count below 0.
            row += metadata.row_group(group).num_rows().max(0) as u64;
        }
        // `open_next` takes them from the end.
        groups.reverse();
        Ok(Self { name, file, places, groups, group: None })
    }

    /// Opens the next row group; false if there is none.
    fn open_next(&mut self) -> Result<bool, TraceError> {
        let Some((group, row)) = self.groups.pop() else { return Ok(false) };
        let its = self.file.get_row_group(group).map_err(|error| broken(self.name, row, error))?;
        self.group = Some(Group::open(self.name, &*its, &self.places, row)?);
        Ok(true)
    }
}

impl Reader for ParquetReader<'_> {
    fn read(&mut self, rows: &mut Rows<'_>) -> Result<bool, TraceError> {
        while rows.room() > 0 {
            if let Some(group) = self.group.as_mut().filter(|group| group.left > 0) {
                group.read(self.name, rows)?;
            } else if !self.open_next()? {
                return Ok(false);
            }
        }
        Ok(true)
    }
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
        (Statistics::Int64(of), Ok(wanted)) => may_hold_number(of.min_opt().copied(), of.max_opt().copied(), wanted),
        // Other statistics are not compared, and the rows decide.
        _ => true,
    }
}

/// False if the least and the greatest number of a row group say that it holds no `wanted` one. The ends of unsigned
/// numbers are in the order of these, and so may seem to be the wrong way round. Then they say nothing.
pub(super) fn may_hold_number(least: Option<i64>, most: Option<i64>, wanted: i64) -> bool {
    match (least, most) {
        (Some(least), Some(most)) if least <= most => least <= wanted && wanted <= most,
        _ => true,
    }
}

/// A column of one row group, and some of its values.
enum Column {
    Wide(ColumnReaderImpl<Int64Type>, Vec<i64>),
    Narrow(ColumnReaderImpl<Int32Type>, Vec<i32>),
    Text(ColumnReaderImpl<ByteArrayType>, Vec<ByteArray>),
    /// The file does not have it.
    Absent,
}

/// A row group that is being read.
struct Group {
    columns: [Column; COLUMNS.len()],
    /// Whether the numbers of each column have a sign.
    are_signed: [bool; COLUMNS.len()],
    /// The number of the next row in the file, and how many rows are left.
    row: u64,
    left: u64,
}

impl Group {
    fn open(
        name: &str,
        group: &dyn RowGroupReader,
        places: &[Option<usize>; COLUMNS.len()],
        row: u64,
    ) -> Result<Self, TraceError> {
        let mut columns = [const { Column::Absent }; COLUMNS.len()];
        let mut are_signed = [false; COLUMNS.len()];
        for (at, (place, column)) in places.iter().zip(COLUMNS).enumerate() {
            let Some(place) = *place else { continue };
            let of = group.metadata().column(place).column_descr();
            // In Parquet a number without a mark has a sign.
            are_signed[at] = !matches!(
                of.converted_type(),
                ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
            );
            columns[at] = match group.get_column_reader(place).map_err(|error| broken(name, row, error))? {
                ColumnReader::Int64ColumnReader(reader) => Column::Wide(reader, Vec::new()),
                ColumnReader::Int32ColumnReader(reader) => Column::Narrow(reader, Vec::new()),
                ColumnReader::ByteArrayColumnReader(reader) => Column::Text(reader, Vec::new()),
                _ => return Err(TraceError::ColumnType { name: name.to_owned(), column }),
            };
        }
        Ok(Self { columns, are_signed, row, left: group.metadata().num_rows().max(0) as u64 })
    }

    /// Passes on as many rows as there is room for. Each column is read, and understood, as a whole.
    fn read(&mut self, name: &str, rows: &mut Rows<'_>) -> Result<(), TraceError> {
        let count = self.left.min(rows.room() as u64) as usize;
        let first = self.row;
        let at = |row: usize| Position::Record(first + row as u64);
        for (column, name_of) in self.columns.iter_mut().zip(COLUMNS) {
            let values = match column {
                Column::Wide(reader, values) => next(reader, values, count),
                Column::Narrow(reader, values) => next(reader, values, count),
                Column::Text(reader, values) => next(reader, values, count),
                Column::Absent => Ok(count),
            };
            if values.map_err(|error| broken(name, first, error))? != count {
                return Err(TraceError::MissingValue { name: name.to_owned(), at: at(0), column: name_of });
            }
        }
        let mut wrong = None;
        let times_us = self.numbers(0, count, &mut wrong);
        let ops = self.ops(count, &mut wrong);
        let (offsets, lengths) = (self.numbers(2, count, &mut wrong), self.numbers(3, count, &mut wrong));
        let streams = self.streams(count, &mut wrong);
        let devices = Devices::of(self, count, &mut wrong);
        // The rows before the faulty one are handed on, as in every format.
        for row in 0..wrong.as_ref().map_or(count, |&(row, _)| row) {
            let (ticks, op, stream) = (times_us[row], ops[row], streams[row]);
            let (offset_bytes, length_bytes, device) = (offsets[row], lengths[row], devices.name(row));
            rows.push(at(row), &Row { ticks, op, offset_bytes, length_bytes, stream, device })?;
        }
        (self.row, self.left) = (self.row + count as u64, self.left - count as u64);
        match wrong {
            None => Ok(()),
            Some((row, fault)) => Err(TraceError::Malformed { name: name.to_owned(), at: at(row), fault }),
        }
    }

    /// The numbers of a column; zeros if it is absent. The first row of which one is `wrong` is noted, if it is before
    /// that of the columns so far. What is said of it and the rows behind it has no meaning.
    fn numbers(&self, column: usize, count: usize, wrong: &mut Option<(usize, Fault)>) -> Vec<u64> {
        let is_signed = self.are_signed[column];
        let (numbers, negative): (Vec<u64>, _) = match &self.columns[column] {
            Column::Wide(_, values) => {
                let negative = is_signed.then(|| values.iter().position(|&value| value < 0)).flatten();
                // A column without a sign keeps the upper half of its numbers as negative ones.
                (values.iter().map(|&value| value as u64).collect(), negative.map(|row| (row, values[row].to_string())))
            }
            Column::Narrow(_, values) => {
                let negative = is_signed.then(|| values.iter().position(|&value| value < 0)).flatten();
                let numbers = values.iter().map(|&value| u64::from(value as u32)).collect();
                (numbers, negative.map(|row| (row, values[row].to_string())))
            }
            // A batch has a row at least, so there is a first value.
            Column::Text(_, values) => (vec![0; count], Some((0, shown(values[0].data())))),
            Column::Absent => (vec![0; count], None),
        };
        if let Some((row, text)) = negative {
            note(wrong, row, Fault::NotANumber { field: COLUMNS[column], text });
        }
        numbers
    }

    fn streams(&self, count: usize, wrong: &mut Option<(usize, Fault)>) -> Vec<u16> {
        let numbers = self.numbers(4, count, wrong);
        if let Some(row) = numbers.iter().position(|&stream| stream > u64::from(u16::MAX)) {
            note(wrong, row, Fault::NotANumber { field: COLUMNS[4], text: numbers[row].to_string() });
        }
        numbers.into_iter().map(|stream| stream as u16).collect()
    }

    fn ops(&self, count: usize, wrong: &mut Option<(usize, Fault)>) -> Vec<Op> {
        let mut ops = Vec::with_capacity(count);
        let unknown = match &self.columns[1] {
            Column::Text(_, values) => {
                ops.extend(values.iter().map_while(|value| Op::from_letter(value.data())));
                values.get(ops.len()).map(|value| shown(value.data()))
            }
            _ => Some(self.numbers(1, count, wrong)[0].to_string()),
        };
        if let Some(text) = unknown {
            note(wrong, ops.len(), Fault::UnknownOp { text, known: OPS });
        }
        ops
    }
}

/// Notes a fault if its row is before that of the one which is noted.
fn note(wrong: &mut Option<(usize, Fault)>, row: usize, fault: Fault) {
    if wrong.as_ref().is_none_or(|&(noted, _)| row < noted) {
        *wrong = Some((row, fault));
    }
}

/// The names of devices, which may be numbers.
enum Devices<'g> {
    Names(&'g [ByteArray]),
    Numbers(Vec<String>),
    Absent,
}

impl<'g> Devices<'g> {
    fn of(group: &'g Group, count: usize, wrong: &mut Option<(usize, Fault)>) -> Self {
        match &group.columns[REQUIRED + 1] {
            Column::Text(_, names) => Self::Names(names),
            Column::Absent => Self::Absent,
            _ => {
                let numbers = group.numbers(REQUIRED + 1, count, wrong);
                Self::Numbers(numbers.iter().map(u64::to_string).collect())
            }
        }
    }

    fn name(&self, row: usize) -> &[u8] {
        match self {
            Self::Names(names) => names[row].data(),
            Self::Numbers(names) => names[row].as_bytes(),
            Self::Absent => &[],
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
    // A required column has no levels. An optional one has a level for each row, and fewer values if some are missing.
    while levels.len().max(values.len()) < rows {
        let before = levels.len().max(values.len());
        let (records, ..) = reader.read_records(rows - before, Some(&mut levels), None, values)?;
        if records == 0 {
            break;
        }
    }
    Ok(values.len())
}
