//! `wearwell trace`: inspects, converts and splits recorded traces.

use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use comfy_table::CellAlignment;
use wearwell_sim::trace::{self, DeviceStats, TraceError};

use crate::failure::Failure;
use crate::list::table;
use crate::output::{self, Target};
use crate::text::{bytes, grouped};

/// Arguments of `wearwell trace`.
#[derive(Args)]
pub(crate) struct TraceCommand {
    #[command(subcommand)]
    ask: Ask,
}

#[derive(Subcommand)]
enum Ask {
    /// Show what a trace holds, by device: requests, bytes, working set, skew
    Stats {
        /// The trace, in any format
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the first requests of all devices, as a table
    Head {
        /// The trace, in any format
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// How many
        #[arg(long, value_name = "N", default_value_t = 10)]
        rows: usize,
    },
    /// Write one device's requests in wearwell's own format, or all requests as Parquet
    Convert {
        /// The trace, in any format
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Where to, or - for standard output; Parquet if the name ends in .parquet
        #[arg(long, value_name = "FILE|-", default_value = "-")]
        to: Target,
        /// The device to take from a trace that has several
        #[arg(long, value_name = "NAME")]
        device: Option<String>,
    },
    /// Write the requests of each device to a file of its own, compressed, in one pass
    Split {
        /// The trace, in any format
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The folder to make
        #[arg(long, value_name = "FOLDER")]
        into: PathBuf,
    },
}

pub(crate) fn run(command: &TraceCommand) -> Result<(), Failure> {
    match &command.ask {
        Ask::Stats { file, json } => {
            let stats = trace::stats(file)?;
            let text = if *json { output::json(&stats)? } else { stats_table(&stats).into_bytes() };
            Target::Stdout.write(&text)
        }
        Ask::Head { file, rows } => Target::Stdout.write(head(file, *rows)?.as_bytes()),
        Ask::Convert { file, to, device } => {
            // Before the trace is read, which may take long.
            to.check()?;
            if let Target::File(path) = to
                && path.extension().is_some_and(|extension| extension == "parquet")
            {
                // Parquet is written row group by row group, so that the trace need not fit into memory.
                trace::convert_to_parquet(file, path, device.as_deref())?;
                return Ok(());
            }
            let trace = match device {
                None => trace::open(file)?,
                Some(device) => trace::open_device(file, device)?,
            };
            let mut text = Vec::new();
            trace::write_csv(&mut text, &trace.requests)?;
            to.write(&text)
        }
        Ask::Split { file, into } => {
            let parts = trace::split(file, into)?;
            let line = |part: &trace::Part| {
                format!("{}  {} requests of {}\n", into.join(&part.file).display(), grouped(part.requests), part.device)
            };
            Target::Stdout.write(parts.iter().map(line).collect::<String>().as_bytes())
        }
    }
}

fn stats_table(stats: &[DeviceStats]) -> String {
    let mut table = table(&["device", "requests", "written", "read", "writes", "working set", "to the top fifth"]);
    let percent = |part: Option<f64>| part.map(|part| format!("{:.1} %", part * 100.0)).unwrap_or_default();
    for device in stats {
        table.add_row([
            device.device.clone(),
            grouped(device.requests),
            bytes(device.written_bytes as f64),
            bytes(device.read_bytes as f64),
            percent(device.write_ratio),
            bytes(device.working_set_bytes as f64),
            percent(device.writes_to_top_fifth),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

/// Ends a scan early.
fn enough() -> TraceError {
    TraceError::Empty { name: String::new() }
}

fn head(file: &std::path::Path, rows: usize) -> Result<String, Failure> {
    let (mut text, mut left) = ("time_us,op,offset,length,stream,device\n".to_owned(), rows);
    let read = trace::scan(file, &mut |batch| {
        for (request, device) in batch.iter().take(left) {
            let (op, device) = (request.op.letter(), String::from_utf8_lossy(device));
            let (offset, length) = (request.offset_bytes, request.length_bytes);
            // Writing to a text does not fail.
            let _ = writeln!(text, "{},{op},{offset},{length},{},\"{device}\"", request.time_us, request.stream);
        }
        left -= left.min(batch.requests.len());
        if left == 0 { Err(enough()) } else { Ok(()) }
    });
    match read {
        // The error is our own, from `enough`, by which the scan ended.
        Err(_) if left == 0 && rows > 0 => Ok(text),
        read => read.map(|_| text).map_err(Failure::from),
    }
}
