//! A trace of ten million rows is split in the memory that the book's page on traces states.
#![cfg(target_os = "linux")]

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const ROWS: u64 = 10_000_000;

/// Rows that the file repeats, in a Zstandard frame.
const FRAME_ROWS: u64 = 100_000;

const VOLUMES: u64 = 1000;

/// Address space of the process, in KiB. The rows alone would be twice as much.
const LIMIT_KIB: u32 = 192 << 10;

/// Too little for the rows that wait.
const TOO_LITTLE_KIB: u32 = 40 << 10;

/// As of the Alibaba block traces.
fn write_trace(path: &Path) {
    let mut rows = String::new();
    for at in 0..FRAME_ROWS {
        let page = at * 7919 % 50_000;
        writeln!(rows, "{},W,{},4096,1577808000000000", at % VOLUMES, page * 4096).expect("a string takes it");
    }
    let frame = zstd::bulk::compress(rows.as_bytes(), 1).expect("compressed");
    fs::write(path, frame.repeat((ROWS / FRAME_ROWS) as usize)).expect("a file");
}

fn split(trace: &Path, into: &Path, limit_kib: u32) -> Output {
    let mut limited = Command::new("sh");
    // For the heap of each thread the C library would reserve 64 MiB of address space. That is no memory.
    limited.env("MALLOC_ARENA_MAX", "1");
    limited.args(["-c", "ulimit -v \"$0\" && exec \"$@\"", &limit_kib.to_string()]);
    limited.arg(env!("CARGO_BIN_EXE_wearwell")).args(["trace", "split"]).arg(trace).arg("--into").arg(into);
    limited.output().expect("it runs")
}

#[test]
fn ten_million_rows_are_split_in_bounded_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let (trace, parts) = (folder.path().join("trace.csv.zst"), folder.path().join("parts"));
    write_trace(&trace);
    let done = split(&trace, &parts, LIMIT_KIB);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let told = String::from_utf8_lossy(&done.stdout);
    let of_a_volume = format!("{} requests", ROWS / VOLUMES);
    assert_eq!(told.lines().filter(|line| line.replace(',', "").contains(&of_a_volume)).count(), VOLUMES as usize);
    assert_eq!(fs::read_dir(&parts).expect("the folder").count(), VOLUMES as usize);
    // The canary: with less the process fails, so the limit holds.
    assert!(!split(&trace, &folder.path().join("more"), TOO_LITTLE_KIB).status.success());
}
