//! How fast traces are read: records a second, from a file to requests in memory, and to batches that are only counted.
//!
//! `cargo bench -p wearwell-sim --bench traces`

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use wearwell::Rng;
use wearwell_sim::trace;

const RECORDS: u64 = 2_000_000;

/// How often each file is read.
const TURNS: u32 = 5;

/// Rows of the project's CSV: pages of a device of 32 GiB, requests of up to 64 KiB.
fn own_csv() -> String {
    let mut rng = Rng::new(7);
    let mut text = String::from("time_us,op,offset,length\n");
    for record in 0..RECORDS {
        let op = ["W", "R"][rng.below(2) as usize];
        let (offset, length) = (u64::from(rng.below(1 << 23)) * 4096, (rng.below(16) + 1) * 4096);
        writeln!(text, "{},{op},{offset},{length}", record * 137).expect("a string takes it");
    }
    text
}

fn msr_csv() -> String {
    let mut rng = Rng::new(7);
    let mut text = String::new();
    for record in 0..RECORDS {
        let op = ["Write", "Read"][rng.below(2) as usize];
        let (offset, length) = (u64::from(rng.below(1 << 23)) * 4096, (rng.below(16) + 1) * 4096);
        let time = 128_166_372_003_061_629 + record * 1370;
        writeln!(text, "{time},usr,0,{op},{offset},{length},41286").expect("a string takes it");
    }
    text
}

/// Files of all kinds with the same requests.
fn files(folder: &Path) -> Vec<(&'static str, PathBuf)> {
    let own = own_csv();
    let compressed = zstd::encode_all(own.as_bytes(), 3).expect("compressed");
    let file = |name: &'static str, extension: &str, bytes: &[u8]| {
        let path = folder.join(name.replace(' ', "-")).with_extension(extension);
        fs::write(&path, bytes).expect("a file");
        (name, path)
    };
    let csv = file("CSV", "csv", own.as_bytes());
    let parquet = folder.join("trace.parquet");
    trace::convert_to_parquet(&csv.1, &parquet, None).expect("converted");
    let compressed = file("CSV Zstandard", "zst", &compressed);
    vec![csv, compressed, ("Parquet", parquet), file("MSR Cambridge", "csv", msr_csv().as_bytes())]
}

/// Reads a trace as a whole, or in batches that are only counted. Returns how many requests it has.
fn read(path: &Path, whole: bool) -> u64 {
    if whole {
        return trace::open(path).expect("a trace").requests.len() as u64;
    }
    let mut records = 0;
    let counted = trace::scan(path, &mut |batch| {
        records += batch.requests.len() as u64;
        Ok(())
    });
    counted.expect("a trace");
    records
}

/// Processor time of all threads so far, in seconds. Linux counts it in hundredths; elsewhere it is not known.
fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

/// Millions of records a second in the best of some turns: by the clock, and by processor time.
fn rates(path: &Path, whole: bool) -> [f64; 2] {
    let mut best = [0.0_f64; 2];
    for _ in 0..TURNS {
        let (began, processor) = (Instant::now(), processor_seconds());
        let records = read(path, whole) as f64 / 1e6;
        let processor = processor.zip(processor_seconds()).map_or(f64::NAN, |(from, to)| to - from);
        best[0] = best[0].max(records / began.elapsed().as_secs_f64());
        best[1] = best[1].max(records / processor);
    }
    best
}

fn main() {
    let folder = std::env::temp_dir().join(format!("wearwell-traces-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    println!("millions of records a second, best of {TURNS}: by the clock, by processor time of all threads");
    println!("| file | bytes a record | `open` | | `scan` | |");
    for (name, path) in files(&folder) {
        let bytes = fs::metadata(&path).expect("the file").len() as f64 / RECORDS as f64;
        let [open, scan] = [true, false].map(|whole| rates(&path, whole));
        println!("| {name} | {bytes:.1} | {:.1} | {:.1} | {:.1} | {:.1} |", open[0], open[1], scan[0], scan[1]);
    }
    fs::remove_dir_all(&folder).expect("the folder");
}
