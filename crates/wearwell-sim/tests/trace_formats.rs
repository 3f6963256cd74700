//! Every trace format, read from realistic rows: the requests, and the errors.

use std::io::{BufReader, Write};

use wearwell_sim::trace::{self, Fault, Position, Trace, TraceError, TraceFormat, write_csv};
use wearwell_sim::{Op, Request};

const OWN: &str = "time_us,op,offset,length\n0,F,0,0\n4557,W,4096,512\n4870,R,0,16384\n4870,D,1048576,65536\n\
    5000,Z,8192,4096\n";

const OWN_WITH_STREAM: &str = "time_us,op,offset,length,stream\n10,W,0,4096,3\n11,W,4096,4096,65535\n";

const MSR: &str = "128166372003061629,usr,0,Read,7014609920,24576,41286\n\
    128166372016382155,usr,0,Write,2517696512,4096,1963\n128166372026382245,usr,0,Read,8436072960,512,1825\n";

const ALIBABA: &str = "419,W,8792731648,16384,1577808144360767\n419,R,22198427648,12288,1577808144360867\n";

const TENCENT: &str = "1538323200,12910952,128,0,1063\n1538323200,6338688,8,1,1063\n1538323201,1904106400,384,0,1063\n";

const FIO_V2: &str = "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdb write 0 4096\n/dev/sdb wait 1500 0\n\
    /dev/sdb read 8192 4096\n/dev/sdb sync 0 0\n/dev/sdb trim 4096 8192\n/dev/sdb wait 500 0\n/dev/sdb datasync\n\
    /dev/sdb close\n";

const FIO_V3: &str = "fio version 3 iolog\n2 nvme0n1 add\n872 nvme0n1 open\n878 nvme0n1 write 0 16384\n\
    888 nvme0n1 write 16384 16384\n891 nvme0n1 sync 0 0\n900 nvme0n1 trim 0 4096\n10001677 nvme0n1 close\n";

const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const QUEUE: u32 = 1 << 20;
const NOTIFY: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;
const FUA: u32 = 1 << 31;
const QUEUED: u32 = 1;
const COMPLETED: u32 = 8;
const CGROUP: u32 = 1 << 8;
const SDB: u32 = 8 << 20 | 16;

struct Event {
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
    payload: &'static [u8],
}

impl Event {
    fn queued(time_ns: u64, sector: u64, bytes: u32, kind: u32) -> Self {
        Self { time_ns, sector, bytes, action: QUEUED | QUEUE | kind, device: SDB, payload: b"" }
    }

    fn encode(&self, big_endian: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let mut put = |value: u64, width: usize| {
            if big_endian {
                out.extend_from_slice(&value.to_be_bytes()[8 - width..]);
            } else {
                out.extend_from_slice(&value.to_le_bytes()[..width]);
            }
        };
        put(0x6561_7407, 4);
        put(1, 4);
        put(self.time_ns, 8);
        put(self.sector, 8);
        put(self.bytes.into(), 4);
        put(self.action.into(), 4);
        put(4711, 4);
        put(self.device.into(), 4);
        put(0, 4);
        put(0, 2);
        put(self.payload.len() as u64, 2);
        out.extend_from_slice(self.payload);
        out
    }
}

fn blktrace(big_endian: bool) -> Vec<u8> {
    let mut notify = Event::queued(0, 0, 0, 0);
    notify.action = NOTIFY;
    notify.payload = b"kworker/0:1\0\0\0\0\0";
    let mut completed = Event::queued(3_000_000, 2048, 4096, WRITE);
    completed.action = COMPLETED | WRITE;
    let mut in_cgroup = Event::queued(9_000_999, 0, 512, READ);
    in_cgroup.action |= CGROUP;
    in_cgroup.payload = b"cgroupid";
    let events = [
        notify,
        Event::queued(2_000_000, 2048, 4096, WRITE),
        completed,
        in_cgroup,
        // An earlier record of another CPU.
        Event::queued(4_000_000, 4096, 65536, WRITE | DISCARD),
        Event::queued(5_000_000, 0, 0, WRITE | FLUSH),
        Event::queued(6_000_000, 8, 512, WRITE | FLUSH | FUA),
    ];
    events.iter().flat_map(|event| event.encode(big_endian)).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("to memory");
    encoder.finish().expect("to memory")
}

fn zstandard(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).expect("known level");
    encoder.include_checksum(true).expect("known parameter");
    encoder.write_all(bytes).expect("to memory");
    encoder.finish().expect("to memory")
}

fn parse(bytes: &[u8]) -> Result<Trace, TraceError> {
    trace::parse("t", &mut &*bytes)
}

fn error(text: &str) -> String {
    parse(text.as_bytes()).expect_err(text).to_string()
}

fn request(time_us: u64, op: Op, offset_bytes: u64, length_bytes: u64) -> Request {
    Request { time_us, op, offset_bytes, length_bytes, stream: 0 }
}

/// Every format with a sample and the requests in it.
fn samples() -> Vec<(TraceFormat, Vec<u8>, Vec<Request>)> {
    use Op::{Discard, Flush, Read, Write, WriteZeroes};
    let blktrace_requests = vec![
        request(0, Write, 1 << 20, 4096),
        request(2000, Discard, 2 << 20, 65536),
        request(3000, Flush, 0, 0),
        request(4000, Flush, 0, 0),
        request(4000, Write, 4096, 512),
        request(4000, Flush, 0, 0),
        request(7000, Read, 0, 512),
    ];
    vec![
        (
            TraceFormat::Own,
            OWN.into(),
            vec![
                request(0, Flush, 0, 0),
                request(4557, Write, 4096, 512),
                request(4870, Read, 0, 16384),
                request(4870, Discard, 1_048_576, 65536),
                request(5000, WriteZeroes, 8192, 4096),
            ],
        ),
        (
            TraceFormat::Own,
            OWN_WITH_STREAM.into(),
            vec![
                Request { stream: 3, ..request(0, Write, 0, 4096) },
                Request { stream: 65535, ..request(1, Write, 4096, 4096) },
            ],
        ),
        (
            TraceFormat::MsrCambridge,
            MSR.into(),
            vec![
                request(0, Read, 7_014_609_920, 24576),
                request(1_332_052, Write, 2_517_696_512, 4096),
                request(2_332_061, Read, 8_436_072_960, 512),
            ],
        ),
        (
            TraceFormat::Alibaba,
            ALIBABA.into(),
            vec![request(0, Write, 8_792_731_648, 16384), request(100, Read, 22_198_427_648, 12288)],
        ),
        (
            TraceFormat::Tencent,
            TENCENT.into(),
            vec![
                request(0, Read, 12_910_952 * 512, 65536),
                request(0, Write, 6_338_688 * 512, 4096),
                request(1_000_000, Read, 1_904_106_400 * 512, 384 * 512),
            ],
        ),
        (
            TraceFormat::FioV2,
            FIO_V2.into(),
            vec![
                request(0, Write, 0, 4096),
                request(1500, Read, 8192, 4096),
                request(1500, Flush, 0, 0),
                request(1500, Discard, 4096, 8192),
                request(2000, Flush, 0, 0),
            ],
        ),
        (
            TraceFormat::FioV3,
            FIO_V3.into(),
            vec![
                request(0, Write, 0, 16384),
                request(10, Write, 16384, 16384),
                request(13, Flush, 0, 0),
                request(22, Discard, 0, 4096),
            ],
        ),
        (TraceFormat::Blktrace, blktrace(false), blktrace_requests.clone()),
        (TraceFormat::Blktrace, blktrace(true), blktrace_requests),
    ]
}

#[test]
fn every_format_plain_and_compressed() {
    for (format, plain, requests) in samples() {
        for bytes in [plain.clone(), gzip(&plain), zstandard(&plain)] {
            let trace = parse(&bytes).unwrap_or_else(|error| panic!("{format}: {error}"));
            assert_eq!((trace.format, &trace.requests), (format, &requests));
            let end = requests.iter().map(|request| request.offset_bytes + request.length_bytes).max();
            assert_eq!(trace.end_bytes(), end.unwrap_or(0));
            // The same with one byte at a time.
            let trickle = trace::parse("t", &mut BufReader::with_capacity(1, &bytes[..]));
            assert_eq!(trickle.unwrap_or_else(|error| panic!("{format}: {error}")), trace);
        }
    }
}

#[test]
fn a_cut_at_any_byte_is_a_shorter_trace_or_an_error() {
    for (format, plain, requests) in samples() {
        for length in 0..plain.len() {
            if let Ok(trace) = parse(&plain[..length]) {
                // The last row may have lost digits or its line end, which plain text does not show. Nothing more may
                // be lost.
                let whole = trace.requests.len().saturating_sub(1);
                let blktrace = format == TraceFormat::Blktrace;
                assert!(blktrace || trace.requests[..whole] == requests[..whole], "{format} cut at {length}");
            }
        }
        for compressed in [gzip(&plain), zstandard(&plain)] {
            for length in 0..compressed.len() {
                let error = parse(&compressed[..length]).expect_err("cut short");
                let expected = length < 4 || matches!(error, TraceError::Truncated { .. });
                assert!(expected, "{format} cut at {length}: {error}");
            }
        }
    }
}

#[test]
fn a_changed_byte_never_panics() {
    for (_, plain, _) in samples() {
        for bytes in [plain.clone(), gzip(&plain), zstandard(&plain)] {
            for at in 0..bytes.len() {
                for flip in [1, 0x10, 0x80, 0xff] {
                    let mut changed = bytes.clone();
                    changed[at] ^= flip;
                    let _ = parse(&changed);
                }
            }
        }
    }
}

#[test]
fn a_cut_record_says_which() {
    let whole = blktrace(false);
    let error = parse(&whole[..whole.len() - 1]).expect_err("cut").to_string();
    assert_eq!(error, "t: record 7: cut short: the record is incomplete");
    let error = parse(&whole[..50]).expect_err("cut").to_string();
    assert_eq!(error, "t: record 1: cut short: the record's payload is incomplete");
    let mut wrong = whole;
    wrong[64] = 9;
    let error = parse(&wrong).expect_err("no magic").to_string();
    assert_eq!(error, "t: record 2: starts with 0x65617409 instead of the format's magic number");
}

#[test]
fn malformed_lines_are_named() {
    let with = |row: &str| error(&format!("{OWN}{row}\n"));
    assert_eq!(with("5001,W,4096"), "t: line 7: 3 fields instead of 4");
    assert_eq!(with("5001,W,4096,512,1"), "t: line 7: 5 fields instead of 4");
    assert_eq!(with("5001,X,4096,512"), "t: line 7: unknown operation `X`; the format has R, W, D, F and Z");
    assert_eq!(with("5001,W,-1,512"), "t: line 7: offset `-1` is not a number that fits");
    assert_eq!(with("\n5001,W,\u{1},512"), "t: line 8: offset `\\x01` is not a number that fits");
    assert_eq!(with("5001,W,4096,0"), "t: line 7: Write of length 0");
    assert_eq!(with("5001,D,18446744073709551615,1"), "t: line 7: offset and length add up to 2^64 bytes or more");
    assert!(with(&"9".repeat(5000)).ends_with("line 7: longer than 4096 bytes"));
    assert_eq!(
        error(&format!("{OWN_WITH_STREAM}1,W,0,1,65536\n")),
        "t: line 4: stream `65536` is not a number that fits"
    );
    assert_eq!(
        error(&format!("{MSR}1,usr,0,Erase,0,1,1\n")),
        "t: line 4: unknown operation `Erase`; the format has Read and Write"
    );
    assert_eq!(error(&format!("{ALIBABA}419,W,1,1\n")), "t: line 3: 4 fields instead of 5");
    assert_eq!(
        error(&format!("{TENCENT}1538323201,1,1,2,1063\n")),
        "t: line 4: unknown operation `2`; the format has 0 for read and 1 for write"
    );
    assert_eq!(
        error(&format!("{TENCENT}1,36028797018963968,1,1,1063\n")),
        "t: line 4: offset and length add up to 2^64 bytes or more"
    );
    assert_eq!(error(&format!("{FIO_V2}/dev/sdb write 0\n")), "t: line 12: 3 fields instead of 2 or 4");
    assert_eq!(error(&format!("{FIO_V3}1 nvme0n1 write 0 x\n")), "t: line 9: length `x` is not a number that fits");
    assert!(error(&format!("{FIO_V3}1 nvme0n1 scribble 0 1\n")).starts_with("t: line 9: unknown operation `scribble`"));
}

#[test]
fn compressed_streams_that_end_early_say_where() {
    let long: String = (0..20_000).map(|i| format!("{i},W,{},4096\n", i * 7919 % 1_000_003 * 512)).collect();
    let long = format!("time_us,op,offset,length\n{long}");
    for compressed in [gzip(long.as_bytes()), zstandard(long.as_bytes())] {
        let error = parse(&compressed[..compressed.len() / 2]).expect_err("cut");
        let TraceError::Truncated { at: Position::Line(line), .. } = error else { panic!("{error}") };
        assert!(line > 1 && line < 20_000, "line {line}");
    }
}

/// Rows enough for several batches and blocks, each with an offset of its own.
fn long_text(rows: u64) -> String {
    let row = |at: u64| format!("{at},W,{},4096\n", at * 512);
    format!("time_us,op,offset,length\n{}", (0..rows).map(row).collect::<String>())
}

#[test]
fn long_traces_come_whole_and_their_errors_name_the_line() {
    let rows = 50_000;
    let text = long_text(rows);
    for bytes in [text.clone().into_bytes(), gzip(text.as_bytes()), zstandard(text.as_bytes())] {
        let requests = parse(&bytes).expect("a trace").requests;
        assert_eq!(requests.len() as u64, rows);
        assert!(requests.iter().zip(0..).all(|(request, at)| *request == self::request(at, Op::Write, at * 512, 4096)));
    }
    let wrong = format!("{text}{rows},W,x,4096\n{text}");
    for bytes in [wrong.clone().into_bytes(), gzip(wrong.as_bytes()), zstandard(wrong.as_bytes())] {
        let error = parse(&bytes).expect_err("a wrong line").to_string();
        assert_eq!(error, format!("t: line {}: offset `x` is not a number that fits", rows + 2));
    }
}

#[test]
fn a_scan_hands_on_all_rows_before_an_error_and_ends_when_it_is_told() {
    let path = std::env::temp_dir().join(format!("wearwell-scan-early-{}.csv", std::process::id()));
    let rows = 50_000;
    std::fs::write(&path, format!("{}7,W\n", long_text(rows))).expect("a file");
    let mut found = 0;
    let scanned = trace::scan(&path, &mut |batch| {
        found += batch.requests.len() as u64;
        Ok(())
    });
    assert!(matches!(scanned, Err(TraceError::Malformed { at: Position::Line(line), .. }) if line == rows + 2));
    assert_eq!(found, rows);
    let mut batches = 0;
    let stopped = trace::scan(&path, &mut |_| {
        batches += 1;
        Err(TraceError::Empty { name: "stopped".to_owned() })
    });
    std::fs::remove_file(&path).expect("the file");
    assert!(matches!(stopped, Err(TraceError::Empty { name }) if name == "stopped"));
    assert_eq!(batches, 1);
}

#[test]
fn unknown_formats_show_their_start() {
    let error_of = |bytes: &[u8]| parse(bytes).expect_err("unknown").to_string();
    assert!(matches!(parse(b""), Err(TraceError::Empty { .. })));
    assert!(matches!(parse(&gzip(b"")), Err(TraceError::Empty { .. })));
    let message = error_of(b"offset,size\x07\n1,2\n");
    assert!(message.starts_with("t: not a trace of a known format: it starts with `offset,size\\x07`"), "{message}");
    assert!(message.contains("MSR Cambridge") && message.contains("blktrace"), "{message}");
    assert!(error_of(&[b'x'; 1000]).len() < 500);
    // Rows of our format without the header are not recognized.
    assert!(error_of(b"0,W,0,4096\n").contains("with the header"));
    assert_eq!(error_of(b"fio version 4 iolog\n"), "t: fio iolog version 4 is not supported, only 2 and 3");
    assert_eq!(error_of(&[8, 0x74, 0x61, 0x65, 0, 0]), "t: blktrace version 8 is not supported, only 7");
    let error = trace::open("/nonexistent/trace.csv".as_ref()).expect_err("no file");
    assert!(matches!(error, TraceError::Open { .. }) && error.to_string().starts_with("/nonexistent/trace.csv: "));
}

#[test]
fn garbage_without_line_ends_is_refused_early() {
    let endless = std::io::repeat(b'7');
    let result = trace::parse("t", &mut BufReader::new(endless));
    let fault = Fault::LineTooLong { limit_bytes: 4096 };
    assert!(matches!(result, Err(TraceError::Malformed { at: Position::Line(1), fault: f, .. }) if f == fault));
}

#[test]
fn several_devices_need_a_choice() {
    let mut other = Event::queued(7_000_000, 0, 512, READ);
    other.device = 8 << 20 | 32;
    let blktrace = [blktrace(false), other.encode(false)].concat();
    let cases: [(Vec<u8>, &str, &str, &str); 5] = [
        (format!("{MSR}128166372026382246,usr,1,Read,0,512,1\n").into(), "line 4", "usr,0", "usr,1"),
        (format!("{ALIBABA}725,R,0,512,1577808144360868\n").into(), "line 3", "419", "725"),
        (format!("{TENCENT}1538323201,0,1,0,1283\n").into(), "line 4", "1063", "1283"),
        (format!("{FIO_V3}10001700 /tmp/other read 0 512\n").into(), "line 9", "nvme0n1", "/tmp/other"),
        (blktrace, "record 8", "8,16", "8,32"),
    ];
    for (bytes, at, first, second) in cases {
        let message = parse(&bytes).expect_err("two devices").to_string();
        let expected = format!("t: {at}: a second device: `{second}` after `{first}`;");
        assert!(message.starts_with(&expected), "{message}");
        let of = |device| trace::parse_device("t", &mut &bytes[..], device);
        assert!(of(first).expect(first).requests.len() > 1);
        let expected = request(0, Op::Read, 0, 512);
        assert_eq!(of(second).expect(second).requests, [expected]);
        let message = of("none").expect_err("no such device").to_string();
        assert_eq!(message, format!("t: no request of device `none`; there are {first} {second}"));
    }
}

#[test]
fn headers_line_ends_and_blank_lines_are_forgiven() {
    let with_header = format!("device_id,opcode,offset,length,timestamp\n{ALIBABA}");
    assert_eq!(parse(with_header.as_bytes()).expect("header").requests.len(), 2);
    let with_header = format!("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n{MSR}");
    assert_eq!(parse(with_header.as_bytes()).expect("header").requests.len(), 3);
    let with_header = format!("Timestamp,Offset,Size,IOType,VolumeID\n{TENCENT}");
    assert_eq!(parse(with_header.as_bytes()).expect("header").requests.len(), 3);
    let dos = OWN.replace('\n', "\r\n");
    assert_eq!(parse(dos.as_bytes()).expect("CRLF"), parse(OWN.as_bytes()).expect("LF"));
    let spaced = format!("\n{}\n\n", OWN.trim_end()).replacen('\n', "", 1);
    assert_eq!(parse(spaced.as_bytes()).expect("blank"), parse(OWN.as_bytes()).expect("LF"));
    assert_eq!(parse(OWN.trim_end().as_bytes()).expect("no end"), parse(OWN.as_bytes()).expect("LF"));
}

#[test]
fn times_start_at_zero_and_never_go_back() {
    let trace =
        parse(b"time_us,op,offset,length\n100,W,0,1\n150,W,1,1\n90,W,2,1\n140,W,3,1\n160,W,4,1\n").expect("fine");
    let times: Vec<u64> = trace.requests.iter().map(|request| request.time_us).collect();
    assert_eq!(times, [0, 50, 50, 50, 60]);
    let offsets: Vec<u64> = trace.requests.iter().map(|request| request.offset_bytes).collect();
    assert_eq!(offsets, [0, 1, 2, 3, 4]);
}

#[test]
fn what_is_written_reads_back() {
    for (_, bytes, requests) in samples() {
        let mut written = Vec::new();
        write_csv(&mut written, &parse(&bytes).expect("sample").requests).expect("to memory");
        let trace = parse(&written).expect("own format");
        assert_eq!((trace.format, trace.requests), (TraceFormat::Own, requests));
    }
    let mut written = Vec::new();
    write_csv(&mut written, &[]).expect("to memory");
    assert_eq!(parse(&written).expect("header only").requests, []);
}

#[test]
fn a_recording_keeps_its_clock_and_comes_back_as_it_was_written() {
    let calls = [
        request(70, Op::Mount, 0, 0),
        Request { stream: 9, ..request(70, Op::Write, 2048, 512) },
        request(90, Op::Clean, 0, 8),
        Request { stream: 3, ..request(92, Op::EndSegment, 0, 0) },
        request(95, Op::Flush, 0, 0),
    ];
    let mut text = Vec::new();
    trace::begin_recording(&mut text).expect("to memory");
    calls.iter().for_each(|call| trace::write_recorded(&mut text, call).expect("to memory"));
    let read = parse(&text).expect("a recording");
    assert_eq!((read.format, &read.requests[..]), (TraceFormat::Recording, &calls[..]));
    assert_eq!(read.end_bytes(), 2560, "a budget is no place");
    let header = "clock_us,op,offset,length,stream\n";
    assert!(error(&format!("{header}0,F,0,0,0\n1,M,0,0,0\n")).contains("line 3: a mount that does not come first"));
    assert!(error(&format!("{header}0,C,0,0,0\n")).contains("length 0"));
    let never = u64::MAX;
    assert!(
        error(&format!("{header}{never},F,0,0,0\n")).contains(&format!("clock_us `{never}` is not a number that fits"))
    );
    assert!(error("time_us,op,offset,length\n0,C,0,8\n").contains("unknown operation `C`"));
}

#[test]
fn a_scan_hands_on_every_device() {
    let text = "128166372003061629,usr,0,Write,4096,512,1\n128166372003061649,src,1,Read,0,4096,1\n";
    let path = std::env::temp_dir().join(format!("wearwell-scan-{}.csv", std::process::id()));
    std::fs::write(&path, text).expect("a file");
    let mut found = Vec::new();
    let format = trace::scan(&path, &mut |batch| {
        let row = |(request, device): (&Request, &[u8])| {
            (request.time_us, request.op, request.length_bytes, String::from_utf8_lossy(device).into_owned())
        };
        found.extend(batch.iter().map(row));
        Ok(())
    });
    std::fs::remove_file(&path).expect("the file");
    assert_eq!(format.expect("a trace"), TraceFormat::MsrCambridge);
    let began_us = 12_816_637_200_306_162;
    assert_eq!(
        found,
        [(began_us, Op::Write, 512, "usr,0".to_owned()), (began_us + 2, Op::Read, 4096, "src,1".to_owned())]
    );
}
