//! Reading: only the columns of a trace, in batches, and only the row groups that may hold the wanted device.

use std::fs::File;
use std::thread::Scope;

use parquet::basic::ConvertedType;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::schema::types::SchemaDescriptor;

use super::super::OPS;
use super::super::ahead::Ahead;
use super::super::error::{Fault, Position, TraceError, shown};
use super::super::rows::{BATCH_ROWS, Reader, Row, Rows};
use super::super::source::read_error;
use super::{COLUMNS, DEVICE, OP, REQUIRED};
use crate::request::Op;

/// A file's first bytes.
pub(in super::super) const MAGIC: &[u8] = b"PAR1";

/// The error of a read at a row.
fn broken(name: &str, row: u64, error: ParquetError) -> TraceError {
    read_error(name, Position::Record(row), std::io::Error::other(error))
}

/// Passes on the rows of a file. Numbers and texts are read ahead, each beside the other: decompressing pages costs
/// most of the former, and looking values up most of the latter.
pub(in super::super) struct ParquetReader<'s, 'e> {
    name: &'s str,
    numbers: Ahead<'s, 'e, Result<Columns, TraceError>>,
    texts: Ahead<'s, 'e, Result<Columns, TraceError>>,
    /// The batch whose rows are passed on.
    columns: Columns,
}

impl<'s, 'e> ParquetReader<'s, 'e> {
    /// The same file is opened twice, because each half seeks in it. `wanted` leaves out row groups in which there is
    /// no such device.
    pub(in super::super) fn new(
        name: &'s str,
        files: [File; 2],
        wanted: Option<&str>,
        scope: &'s Scope<'s, 'e>,
    ) -> Result<Self, TraceError> {
        let ahead = |file, half| {
            let groups = RowGroups::new(name, file, half, wanted)?;
            Ok(Ahead::new(scope, groups, |batch| batch.as_ref().is_ok_and(|columns| columns.rows == BATCH_ROWS)))
        };
        let [numbers, texts] = files;
        let (numbers, texts) = (ahead(numbers, Half::Numbers)?, ahead(texts, Half::Texts)?);
        Ok(Self { name, numbers, texts, columns: Columns::default() })
    }
}

impl Reader for ParquetReader<'_, '_> {
    fn read(&mut self, rows: &mut Rows<'_>) -> Result<bool, TraceError> {
        while rows.room() > 0 {
            if self.columns.pass_on(self.name, rows)? {
                self.columns = match (self.numbers.next().transpose()?, self.texts.next().transpose()?) {
                    (None, None) => return Ok(false),
                    (Some(numbers), Some(texts)) if numbers.is_beside(&texts) => numbers.with_texts(texts),
                    (numbers, texts) => {
                        let error = ParquetError::General("the file has changed while it was read".to_owned());
                        return Err(broken(self.name, numbers.or(texts).map_or(1, |columns| columns.row), error));
                    }
                };
            }
        }
        Ok(true)
    }
}

/// The columns that are read together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    /// `op` and `device`.
    Texts,
    /// The others.
    Numbers,
}

impl Half {
    fn has(self, column: usize) -> bool {
        matches!(column, OP | DEVICE) == (self == Self::Texts)
    }
}

/// Reads one half of the columns, the row groups one after the other.
struct RowGroups<'a> {
    name: &'a str,
    file: SerializedFileReader<File>,
    half: Half,
    places: [Option<usize>; COLUMNS.len()],
    /// The row groups that are read, from the last to the first, with the number of the first row of each.
    groups: Vec<(usize, u64)>,
    /// The one that is being read.
    group: Option<Group>,
}

impl<'a> RowGroups<'a> {
    fn new(name: &'a str, file: File, half: Half, wanted: Option<&str>) -> Result<Self, TraceError> {
        let file = SerializedFileReader::new(file).map_err(|error| broken(name, 1, error))?;
        let metadata = file.metadata();
        let places = places(name, metadata.file_metadata().schema_descr())?;
        let device = places[DEVICE];
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
        Ok(Self { name, file, half, places, groups, group: None })
    }

    /// Opens the next row group; false if there is none.
    fn open_next(&mut self) -> Result<bool, TraceError> {
        let Some((group, row)) = self.groups.pop() else { return Ok(false) };
        let its = self.file.get_row_group(group).map_err(|error| broken(self.name, row, error))?;
        self.group = Some(Group::open(self.name, &*its, self.half, &self.places, row)?);
        Ok(true)
    }
}

impl Iterator for RowGroups<'_> {
    type Item = Result<Columns, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(group) = self.group.as_mut().filter(|group| group.left > 0) {
                return Some(group.read(self.name));
            }
            match self.open_next() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
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
    half: Half,
    /// Those of the half.
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
        half: Half,
        places: &[Option<usize>; COLUMNS.len()],
        row: u64,
    ) -> Result<Self, TraceError> {
        let mut columns = [const { Column::Absent }; COLUMNS.len()];
        let mut are_signed = [false; COLUMNS.len()];
        for (at, (place, column)) in places.iter().zip(COLUMNS).enumerate() {
            let Some(place) = place.filter(|_| half.has(at)) else { continue };
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
        Ok(Self { half, columns, are_signed, row, left: group.metadata().num_rows().max(0) as u64 })
    }

    /// Reads some rows. Each column is read, and understood, as a whole.
    fn read(&mut self, name: &str) -> Result<Columns, TraceError> {
        let count = self.left.min(BATCH_ROWS as u64) as usize;
        let row = self.row;
        for (column, name_of) in self.columns.iter_mut().zip(COLUMNS) {
            let values = match column {
                Column::Wide(reader, values) => next(reader, values, count),
                Column::Narrow(reader, values) => next(reader, values, count),
                Column::Text(reader, values) => next(reader, values, count),
                Column::Absent => Ok(count),
            };
            if values.map_err(|error| broken(name, row, error))? != count {
                let at = Position::Record(row);
                return Err(TraceError::MissingValue { name: name.to_owned(), at, column: name_of });
            }
        }
        (self.row, self.left) = (row + count as u64, self.left - count as u64);
        let mut its = Columns { row, rows: count, ..Columns::default() };
        let wrong = &mut its.wrong;
        if self.half == Half::Texts {
            (its.ops, its.devices) = (self.ops(count, wrong), self.devices(count, wrong));
        } else {
            its.times_us = self.numbers(0, count, wrong);
            (its.offsets, its.lengths) = (self.numbers(2, count, wrong), self.numbers(3, count, wrong));
            its.streams = self.streams(count, wrong);
        }
        Ok(its)
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
        let unknown = match &self.columns[OP] {
            Column::Text(_, values) => {
                ops.extend(values.iter().map_while(|value| Op::from_letter(value.data())));
                values.get(ops.len()).map(|value| shown(value.data()))
            }
            _ => Some(self.numbers(OP, count, wrong)[0].to_string()),
        };
        if let Some(text) = unknown {
            note(wrong, ops.len(), Fault::UnknownOp { text, known: OPS });
        }
        ops
    }

    fn devices(&self, count: usize, wrong: &mut Option<(usize, Fault)>) -> Devices {
        let mut devices = Devices::default();
        match &self.columns[DEVICE] {
            Column::Text(_, names) => names.iter().for_each(|name| devices.push(name.data())),
            Column::Absent => {}
            _ => {
                let numbers = self.numbers(DEVICE, count, wrong);
                numbers.iter().for_each(|number| devices.push(number.to_string().as_bytes()));
            }
        }
        devices
    }
}

/// Notes a fault if its row is before that of the one which is noted.
fn note(wrong: &mut Option<(usize, Fault)>, row: usize, fault: Fault) {
    if wrong.as_ref().is_none_or(|&(noted, _)| row < noted) {
        *wrong = Some((row, fault));
    }
}

/// The names of devices, one behind the other: to hand on the values of the column would count their references on two
/// threads.
#[derive(Default)]
struct Devices {
    names: Vec<u8>,
    /// Where the name of each row ends. Empty if the file has no devices.
    ends: Vec<usize>,
}

impl Devices {
    fn push(&mut self, name: &[u8]) {
        self.names.extend_from_slice(name);
        self.ends.push(self.names.len());
    }

    fn name(&self, row: usize) -> &[u8] {
        let Some(&end) = self.ends.get(row) else { return &[] };
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.names[start..end]
    }
}

/// Some rows of a row group, or one half of their columns.
#[derive(Default)]
struct Columns {
    /// The number of the first row in the file, and how many rows there are.
    row: u64,
    rows: usize,
    /// The next row to pass on.
    next: usize,
    times_us: Vec<u64>,
    ops: Vec<Op>,
    offsets: Vec<u64>,
    lengths: Vec<u64>,
    streams: Vec<u16>,
    devices: Devices,
    /// The first row that is wrong. What the columns say of it and the rows behind it has no meaning.
    wrong: Option<(usize, Fault)>,
}

impl Columns {
    /// True if the rows are the same.
    fn is_beside(&self, other: &Self) -> bool {
        (self.row, self.rows) == (other.row, other.rows)
    }

    /// These numbers, with the texts of the same rows.
    fn with_texts(mut self, texts: Self) -> Self {
        if let Some((row, fault)) = texts.wrong {
            note(&mut self.wrong, row, fault);
        }
        Self { ops: texts.ops, devices: texts.devices, ..self }
    }

    /// Passes on as many rows as there is room for; true behind the last. The rows before the faulty one are handed on,
    /// as in every format.
    fn pass_on(&mut self, name: &str, rows: &mut Rows<'_>) -> Result<bool, TraceError> {
        let at = |row: usize| Position::Record(self.row + row as u64);
        let end = self.wrong.as_ref().map_or(self.rows, |&(row, _)| row);
        let next = end.min(self.next + rows.room());
        for row in self.next..next {
            let (ticks, op, stream) = (self.times_us[row], self.ops[row], self.streams[row]);
            let (offset_bytes, length_bytes) = (self.offsets[row], self.lengths[row]);
            let device = self.devices.name(row);
            rows.push(at(row), &Row { ticks, op, offset_bytes, length_bytes, stream, device })?;
        }
        self.next = next;
        match self.wrong.take_if(|_| next == end) {
            None => Ok(next == end),
            Some((row, fault)) => Err(TraceError::Malformed { name: name.to_owned(), at: at(row), fault }),
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
