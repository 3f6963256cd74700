//! Every placement with every victim policy, on random workloads and on recorded traces: write amplification of the
//! second half, as a Markdown table.
//!
//! ```sh
//! cargo run --release -p wearwell-sim --example placement_matrix [PLACEMENT…]
//! ```
//!
//! Random workloads write 32,768 pages in segments of 64 twelve times over, from five seeds. A figure is their mean
//! with its 95 % interval (Student's t). A trace has the capacity of its own device, in the same segments, and runs a
//! second time without its discards. One ninth of all segments is spare, and the fill is complete. With names of
//! placements, only those run.

use std::error::Error;

use wearwell::{Placement, VictimPolicy};
use wearwell_emu::ChipProfile;
use wearwell_sim::Op;
use wearwell_sim::run::{RunConfig, load, run};
use wearwell_sim::trace::Trace;
use wearwell_sim::workload::WorkloadSpec;

/// Placements without streams. Those that sort by stream are `single` or `separate-gc` here.
const PLACEMENTS: [&str; 12] = [
    "single",
    "separate-gc",
    "separate-cleaning",
    "hot-cold-readonly",
    "dac:6",
    "sepbit",
    "midas",
    "dogi",
    "fadac:6",
    "warcip:6",
    "sfs:6",
    "multilog:6",
];

const VICTIMS: [&str; 7] = [
    "greedy",
    "cost-benefit:invalidated",
    "cost-benefit:opened",
    "cost-benefit:sealed",
    "cost-benefit-sqrt:sealed",
    "cat",
    "lfs",
];

const RANDOM: [&str; 5] = ["random", "scattered:90/10", "zipf:0.8", "zipf:0.99", "zipf:1.1"];

/// Recorded traces, and the MiB of their devices.
const TRACES: [(&str, u64); 3] = [("sqlite", 512), ("postmark", 160), ("build", 96)];

const SEGMENT_PAGES: u64 = 64;
const PAGE_BYTES: u64 = 4096;
const PAGES: u64 = 1 << 15;
const PASSES: u64 = 12;
const SEEDS: u64 = 5;

/// Of Student's distribution, for 95 % and one degree of freedom less than seeds.
const T: f64 = 2.776;

/// A column: configurations that differ in their seeds, and the trace that they share.
struct Column {
    name: String,
    configs: Vec<RunConfig>,
    trace: Option<Trace>,
}

fn config(workload: WorkloadSpec, pages: u64, seed: u64) -> Result<RunConfig, Box<dyn Error>> {
    let segments = (pages / SEGMENT_PAGES * 9).div_ceil(8);
    let chip = ChipProfile::resolve(&format!("geometry:{PAGE_BYTES}:{SEGMENT_PAGES}:{segments}"))?;
    let mut config = RunConfig::new(chip, workload);
    config.engine.logical_bytes = Some(pages * PAGE_BYTES);
    config.engine.seed = seed;
    Ok(config)
}

fn columns() -> Result<Vec<Column>, Box<dyn Error>> {
    let mut columns = Vec::new();
    for name in RANDOM {
        let random = |seed| {
            let mut config = config(name.parse()?, PAGES, seed)?;
            config.write_bytes = Some(PASSES * PAGES * PAGE_BYTES);
            Ok(config)
        };
        let configs = (1..=SEEDS).map(random).collect::<Result<_, Box<dyn Error>>>()?;
        columns.push(Column { name: name.to_owned(), configs, trace: None });
    }
    for (name, mib) in TRACES {
        let path = format!("{}/../wearwell-cli/traces/{name}-ext4.csv.zst", env!("CARGO_MANIFEST_DIR"));
        let config = config(WorkloadSpec::Trace(path.into()), (mib << 20) / PAGE_BYTES, 1)?;
        let trace = load(&config.workload, None)?;
        let mut without = trace.clone();
        without.iter_mut().for_each(|trace| trace.requests.retain(|request| request.op != Op::Discard));
        for (name, trace) in [(name.to_owned(), trace), (format!("{name}, no TRIM"), without)] {
            columns.push(Column { name, configs: vec![config.clone()], trace });
        }
    }
    Ok(columns)
}

/// Mean and half of the interval; no interval of one value.
fn mean(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, (values.len() > 1).then(|| T * (squares / (count - 1.0) / count).sqrt()))
}

impl Column {
    fn measure(&self, place: Placement, which: VictimPolicy) -> Result<(f64, Option<f64>), Box<dyn Error>> {
        let mut figures = Vec::new();
        for config in &self.configs {
            let mut config = config.clone();
            (config.engine.place, config.engine.which) = (place, which);
            let report = run(&config, self.trace.as_ref(), &mut ())?;
            figures.push(report.second_half.ok_or("a run without a second half")?.wa_data);
        }
        Ok(mean(&figures))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let columns = columns()?;
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    println!("| placement | victim | {} | geometric mean |", names.join(" | "));
    println!("| --- | --- | {} --- |", "--- | ".repeat(names.len()));
    for name in PLACEMENTS.iter().filter(|name| wanted.is_empty() || wanted.iter().any(|wanted| wanted == *name)) {
        for victim in VICTIMS {
            let place = Placement::parse(name).ok_or(*name)?;
            let which = VictimPolicy::parse(victim).ok_or(victim)?;
            let (mut cells, mut product) = (Vec::new(), 1.0);
            for column in &columns {
                let (wa, half) = column.measure(place, which)?;
                product *= wa;
                cells.push(half.map_or_else(|| format!("{wa:.3}"), |half| format!("{wa:.3} ± {half:.3}")));
            }
            let geometric = product.powf(1.0 / columns.len() as f64);
            println!("| `{name}` | `{victim}` | {} | {geometric:.3} |", cells.join(" | "));
        }
    }
    Ok(())
}
