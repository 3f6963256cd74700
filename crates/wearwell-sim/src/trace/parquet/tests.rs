//! What is written is read again, and what is not wanted is not read.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::read::may_hold_number;
use super::write::{ParquetWriter, column};
use crate::request::{Op, Request};
use crate::trace::{Batch, Trace, TraceError, TraceFormat, convert_to_parquet, open, open_device, scan};

/// A file of one test, removed at its end.
struct Made(PathBuf);

impl Made {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("wearwell-{name}-{}.parquet", std::process::id())))
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

const OPS: [Op; 5] = [Op::Write, Op::Read, Op::Discard, Op::Flush, Op::WriteZeroes];

fn request(at: u64) -> Request {
    let op = OPS[at as usize % OPS.len()];
    let length_bytes = if op == Op::Flush { 0 } else { 4096 + at };
    let offset_bytes = if op == Op::Flush { 0 } else { at << 40 };
    Request { time_us: at * 3, op, offset_bytes, length_bytes, stream: at as u16 * 7 }
}

/// Requests of devices `a` to `d`, each in row groups of its own.
fn write(path: &Path, rows: u64, group_rows: usize) {
    let mut writer = ParquetWriter::new(File::create(path).expect("a file"), group_rows).expect("begun");
    let requests: Vec<Request> = (0..rows).map(request).collect();
    let devices: Vec<u32> = (0..rows).map(|at| (at * 4 / rows) as u32).collect();
    let names = [b"a", b"b", b"c", b"d"].map(|name| name.to_vec());
    writer.push(Batch { requests: &requests, devices: &devices, names: &names }).expect("written");
    writer.finish().expect("complete");
}

#[test]
fn what_is_written_is_read_again() {
    let file = Made::new("again");
    for group_rows in [7, 25, 1000] {
        write(&file.0, 100, group_rows);
        let mut read = Vec::new();
        let format = scan(&file.0, &mut |batch| {
            read.extend(batch.iter().map(|(request, device)| (*request, device.to_owned())));
            Ok(())
        });
        assert_eq!(format.expect("read"), TraceFormat::Parquet);
        let written: Vec<_> = (0..100).map(|at| (request(at), vec![b'a' + (at / 25) as u8])).collect();
        assert_eq!(read, written, "groups of {group_rows}");
        let of_c = open_device(&file.0, "c").expect("the device").requests;
        assert_eq!(of_c.len(), 25);
        assert_eq!((of_c[0].time_us, of_c[0].offset_bytes, of_c[24].time_us), (0, 50 << 40, 72));
        let Err(TraceError::NoSuchDevice { found, .. }) = open_device(&file.0, "e") else { panic!("there is no e") };
        assert_eq!(found, ["a", "b", "c", "d"]);
        assert!(matches!(open(&file.0), Err(TraceError::SeveralDevices { .. })));
    }
}

/// Damages the pages of a row group: whoever reads them fails.
fn damage(path: &Path, group: usize) {
    let reader = SerializedFileReader::new(File::open(path).expect("the file")).expect("parquet");
    let its = reader.metadata().row_group(group).clone();
    let mut file = File::options().write(true).open(path).expect("the file");
    for column in its.columns() {
        let (start, length) = column.byte_range();
        file.seek(SeekFrom::Start(start)).expect("sought");
        file.write_all(&vec![0xff; length as usize]).expect("damaged");
    }
}

#[test]
fn the_ends_of_unsigned_numbers_may_seem_the_wrong_way_round() {
    assert!(may_hold_number(Some(3), Some(5), 4) && !may_hold_number(Some(3), Some(5), 6));
    // From 3 to 2^63 + 1.
    assert!(may_hold_number(Some(3), Some(i64::MIN + 1), 6));
    assert!(may_hold_number(None, Some(5), 6), "an end that is not known says nothing");
}

#[test]
fn row_groups_of_other_devices_are_not_read() {
    let file = Made::new("skipped");
    write(&file.0, 100, 25);
    damage(&file.0, 1);
    assert_eq!(open_device(&file.0, "c").expect("not in the damaged group").requests.len(), 25);
    assert!(matches!(open_device(&file.0, "b"), Err(TraceError::Read { .. } | TraceError::Truncated { .. })));
}

#[test]
fn a_trace_is_converted_whole_or_not_at_all() {
    let (csv, to) = (Made::new("from"), Made::new("to"));
    let row = |at: u64| format!("{},{},{},4096,{at}\n", at % 3, ["R", "W"][at as usize % 2], at * 4096);
    fs::write(&csv.0, (0..300).map(row).collect::<String>()).expect("a file");
    assert_eq!(convert_to_parquet(&csv.0, &to.0, None).expect("converted"), 300);
    assert_eq!(open_device(&to.0, "1").expect("its rows"), Trace { format: TraceFormat::Parquet, ..of(&csv.0, "1") });
    assert_eq!(convert_to_parquet(&csv.0, &to.0, Some("2")).expect("converted"), 100);
    assert_eq!(open(&to.0).expect("one device").requests, of(&csv.0, "2").requests);
    fs::remove_file(&to.0).expect("removed");
    fs::write(&csv.0, "1,R,0,4096,0\n1,R,0,x,0\n").expect("a file");
    assert!(matches!(convert_to_parquet(&csv.0, &to.0, None), Err(TraceError::Malformed { .. })));
    assert!(matches!(convert_to_parquet(&to.0, &to.0, None), Err(TraceError::Open { .. })), "nothing is left");
}

fn of(path: &Path, device: &str) -> Trace {
    open_device(path, device).expect("the device")
}

#[test]
fn a_file_that_is_cut_short_is_an_error() {
    let file = Made::new("short");
    write(&file.0, 100, 25);
    let whole = fs::read(&file.0).expect("the file");
    for length in [4, 100, whole.len() / 2, whole.len() - 1] {
        fs::write(&file.0, &whole[..length]).expect("a file");
        assert!(open_device(&file.0, "a").is_err(), "{length} bytes");
    }
}

/// A file as other programs write it: numbers with a sign, and any text as operation.
fn write_foreign(path: &Path, ops: &[&str], offsets: &[i64]) {
    let schema = "message trace { required int64 time_us; required binary op (STRING); required int64 offset;
        required int64 length; required int32 device; }";
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let file = File::create(path).expect("a file");
    let mut file = SerializedFileWriter::new(file, schema, Arc::default()).expect("begun");
    let mut group = file.next_row_group().expect("a group");
    let text: Vec<ByteArray> = ops.iter().map(|&op| ByteArray::from(op)).collect();
    column::<Int64Type>(&mut group, 0..ops.len() as i64).expect("written");
    column::<ByteArrayType>(&mut group, text.into_iter()).expect("written");
    column::<Int64Type>(&mut group, offsets.iter().copied()).expect("written");
    column::<Int64Type>(&mut group, ops.iter().map(|_| 512)).expect("written");
    column::<Int32Type>(&mut group, ops.iter().map(|_| 1063)).expect("written");
    group.close().expect("complete");
    file.close().expect("complete");
}

#[test]
fn the_first_wrong_row_is_named_behind_all_rows_before_it() {
    let file = Made::new("wrong");
    for (ops, offsets, wanted) in [
        (["W", "R", "W", "X"], [0, 1, -7, 0], "record 3: offset `-7` is not a number that fits"),
        (["W", "R", "X", "W"], [0, 1, 2, -7], "record 3: unknown operation `X`; the format has R, W, D, F and Z"),
        (["W", "R", "W", "W"], [0, 1, i64::MAX, 0], ""),
    ] {
        write_foreign(&file.0, &ops, &offsets);
        let mut read = Vec::new();
        let scanned = scan(&file.0, &mut |batch| {
            read.extend(batch.iter().map(|(request, device)| (request.offset_bytes, device.to_owned())));
            Ok(())
        });
        assert_eq!(read[..2], [(0, b"1063".to_vec()), (1, b"1063".to_vec())]);
        match scanned {
            Ok(_) => assert!(wanted.is_empty() && read.len() == 4, "{read:?}"),
            Err(error) => assert!(!wanted.is_empty() && error.to_string().ends_with(wanted), "{error}"),
        }
    }
}
