//! Splits a trace of many devices into a trace for each, in one pass.
//!
//! Up to [`WAITING_ROWS`] rows wait in memory, at 32 bytes each. Then the rows of the devices with the most are
//! written, each as one Zstandard frame that is appended to the device's file. So memory is bounded, whatever the
//! length of the trace and the number of its devices, except for their names. One file is open at a time.
//!
//! Rows keep their recorded order, and times never go back, as in every trace that is read for one device.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{Batch, OWN_HEADER_WITH_STREAM, TraceError, scan, write_row};
use crate::request::Request;

/// Most rows that wait in memory.
const WAITING_ROWS: usize = 1 << 20;

/// Level of the compression.
const LEVEL: i32 = 3;

/// The trace of one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The device.
    pub device: String,
    /// Name of its file in the folder.
    pub file: String,
    /// Its requests.
    pub requests: u64,
}

/// Writes the requests of each device to a file of its own, in wearwell's format, compressed. The folder must not
/// exist. It appears when it is complete.
///
/// # Errors
/// As [`scan`]; a recording; and errors of writing.
pub fn split(trace: &Path, folder: &Path) -> Result<Vec<Part>, TraceError> {
    split_with(trace, folder, WAITING_ROWS)
}

fn split_with(trace: &Path, folder: &Path, waiting_rows: usize) -> Result<Vec<Part>, TraceError> {
    let failed = |source| not_written(folder, source);
    if folder.exists() {
        return Err(failed(io::Error::from(io::ErrorKind::AlreadyExists)));
    }
    // A folder beside the wanted one lies on the same file system, where a rename takes one step.
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let beside = folder.with_file_name(name);
    fs::create_dir_all(&beside).map_err(failed)?;
    let mut splitter = Splitter::new(beside.clone());
    // All files are durable before the folder gets its name.
    let done = splitter.run(trace, waiting_rows).and_then(|()| splitter.sync());
    let done = done.and_then(|()| fs::rename(&beside, folder).map_err(failed));
    if let Err(error) = done {
        // An incomplete folder is of no use.
        let _ = fs::remove_dir_all(&beside);
        return Err(error);
    }
    splitter.devices.sort_by(|a, b| a.name.cmp(&b.name));
    let part = |its: Device| Part {
        device: String::from_utf8_lossy(&its.name).into_owned(),
        file: its.file,
        requests: its.requests,
    };
    Ok(splitter.devices.into_iter().map(part).collect())
}

/// A device, and its rows that are not written yet.
struct Device {
    name: Vec<u8>,
    file: String,
    requests: u64,
    latest_us: u64,
    rows: Vec<Request>,
}

struct Splitter {
    folder: PathBuf,
    /// In the order in which they appeared.
    devices: Vec<Device>,
    /// Names that are taken.
    files: HashSet<String>,
    /// Rows of all devices.
    waiting: usize,
}

impl Splitter {
    fn new(folder: PathBuf) -> Self {
        Self { folder, devices: Vec::new(), files: HashSet::new(), waiting: 0 }
    }

    fn run(&mut self, trace: &Path, waiting_rows: usize) -> Result<(), TraceError> {
        scan(trace, &mut |batch| {
            batch.refuse_calls(trace)?;
            self.push(batch, waiting_rows)
        })?;
        self.write_down_to(0)
    }

    fn push(&mut self, batch: Batch<'_>, waiting_rows: usize) -> Result<(), TraceError> {
        // The list of names only grows, so what is behind the known devices is new.
        for name in &batch.names[self.devices.len()..] {
            let file = self.file_for(name);
            self.devices.push(Device { name: name.clone(), file, requests: 0, latest_us: 0, rows: Vec::new() });
        }
        for (request, &device) in batch.requests.iter().zip(batch.devices) {
            let its = &mut self.devices[device as usize];
            its.latest_us = its.latest_us.max(request.time_us);
            its.rows.push(Request { time_us: its.latest_us, ..*request });
            its.requests += 1;
            self.waiting += 1;
            if self.waiting >= waiting_rows {
                // Down to half, so that the devices are sorted once for very many rows.
                self.write_down_to(waiting_rows / 2)?;
            }
        }
        Ok(())
    }

    /// A file name that no other device has, whatever the device is called.
    fn file_for(&mut self, device: &[u8]) -> String {
        let plain = |&byte: &u8| if byte.is_ascii_alphanumeric() || b".-".contains(&byte) { byte as char } else { '_' };
        let stem: String = device.iter().take(100).map(plain).collect();
        let numbered = |number: u32| format!("{stem}~{number}.csv.zst");
        let first = format!("{}.csv.zst", if stem.is_empty() { "device" } else { &stem });
        let mut names = std::iter::once(first).chain((2..).map(numbered));
        // Not all file systems tell upper and lower case apart.
        names.find(|name| self.files.insert(name.to_lowercase())).unwrap_or_default()
    }

    /// Writes the devices with the most rows, until at most `rows` rows wait.
    fn write_down_to(&mut self, rows: usize) -> Result<(), TraceError> {
        let mut fullest: Vec<&mut Device> = self.devices.iter_mut().filter(|its| !its.rows.is_empty()).collect();
        fullest.sort_by_key(|its| std::cmp::Reverse(its.rows.len()));
        for its in fullest {
            if self.waiting <= rows {
                break;
            }
            let path = self.folder.join(&its.file);
            append(&path, &its.rows).map_err(|source| not_written(&path, source))?;
            self.waiting -= its.rows.len();
            // A new list instead of an empty one gives the memory back.
            its.rows = Vec::new();
        }
        Ok(())
    }

    /// Each file once, and not each frame: there may be very many of these.
    fn sync(&self) -> Result<(), TraceError> {
        self.devices.iter().try_for_each(|its| {
            let path = self.folder.join(&its.file);
            File::open(&path).and_then(|file| file.sync_data()).map_err(|source| not_written(&path, source))
        })
    }
}

fn not_written(path: &Path, source: io::Error) -> TraceError {
    TraceError::Write { name: path.display().to_string(), source }
}

/// Appends rows as a frame; the first one begins with the header.
fn append(path: &Path, rows: &[Request]) -> io::Result<()> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let is_first = file.metadata()?.len() == 0;
    let mut out = BufWriter::new(zstd::stream::write::Encoder::new(file, LEVEL)?);
    if is_first {
        writeln!(out, "{OWN_HEADER_WITH_STREAM}")?;
    }
    rows.iter().try_for_each(|row| write_row(&mut out, row))?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.finish().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{open, open_device};

    /// A folder of one test, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("wearwell-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).expect("a folder");
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn each_device_gets_its_requests_however_few_rows_may_wait() {
        let folder = Folder::new("split");
        let trace = folder.0.join("trace.csv");
        let row = |at: u64| format!("{},W,{},4096,{}\n", at * at % 5, at * 4096, at * 10);
        fs::write(&trace, (1..1000).map(row).collect::<String>()).expect("a file");
        for waiting_rows in [1, 7, 100, WAITING_ROWS] {
            let parts = folder.0.join(format!("parts-{waiting_rows}"));
            let found = split_with(&trace, &parts, waiting_rows).expect("it is split");
            assert_eq!(found.iter().map(|part| part.requests).sum::<u64>(), 999);
            for part in found {
                let whole = open_device(&trace, &part.device).expect("the device");
                let alone = open(&parts.join(&part.file)).expect("its file");
                assert_eq!(alone.requests, whole.requests, "device {}, {waiting_rows} rows", part.device);
                let mut latest_us = 0;
                let in_order = scan(&parts.join(&part.file), &mut |batch| {
                    for request in batch.requests {
                        assert!(request.time_us >= latest_us, "device {}, {waiting_rows} rows", part.device);
                        latest_us = request.time_us;
                    }
                    Ok(())
                });
                in_order.expect("it is read");
            }
        }
    }

    #[test]
    fn names_are_plain_and_never_shared() {
        let folder = Folder::new("names");
        let mut splitter = Splitter::new(folder.0.clone());
        let names: Vec<String> =
            ["usr,0", "usr/0", "USR_0", "", "../x"].iter().map(|device| splitter.file_for(device.as_bytes())).collect();
        assert_eq!(names, ["usr_0.csv.zst", "usr_0~2.csv.zst", "USR_0~3.csv.zst", "device.csv.zst", ".._x.csv.zst"]);
    }

    #[test]
    fn a_trace_that_cannot_be_split_leaves_nothing() {
        let folder = Folder::new("left");
        let trace = folder.0.join("trace.csv");
        fs::write(&trace, "0,W,0,4096,1\n0,W,0,x,1\n").expect("a file");
        let parts = folder.0.join("parts");
        assert!(matches!(split(&trace, &parts), Err(TraceError::Malformed { .. })));
        for call in ["M,0,0,0", "E,0,0,1", "C,0,8,0"] {
            fs::write(&trace, format!("clock_us,op,offset,length,stream\n0,{call}\n")).expect("a file");
            assert!(matches!(split(&trace, &parts), Err(TraceError::Recording { .. })), "{call}");
        }
        let left: Vec<_> = fs::read_dir(&folder.0).expect("the folder").collect();
        assert_eq!(left.len(), 1, "{left:?}");
        fs::create_dir(&parts).expect("a folder");
        assert!(matches!(split(&trace, &parts), Err(TraceError::Write { .. })), "what is there is not replaced");
    }
}
