//! Every placement with every victim policy, on random workloads and on recorded traces: write amplification of the
//! second half, as a Markdown table.
//!
//! ```sh
//! cargo run --release -p wearwell-sim --example placement_matrix [KEY=VALUE…] [best] [bound] [parts] [PLACEMENT…]
//! ```
//!
//! A random workload writes `pages=32768` in segments of `segment=64` pages twelve times over, from `seeds=5`. A figure
//! is their mean with its 95 % interval (Student's t). A trace has the capacity of its own device, in the same
//! segments, and runs a second time without its discards. One in `spare=9` of all segments is spare, or `segments=`
//! says how many there are. The fill is complete. `columns=` and `victims=` take names of workloads and policies, with
//! plus signs between them; `trace:FILE` runs whole. With names of placements, those run instead of all. `best` runs
//! each placement with its best victim policy only, and `bound` adds the one that knows the future, from the first
//! seed. `parts` runs the parts of `frequency:7` instead of placements.

mod parts;

use std::error::Error;

use wearwell::{Placement, VictimPolicy};
use wearwell_emu::ChipProfile;
use wearwell_sim::Op;
use wearwell_sim::bound::{Wanted, search};
use wearwell_sim::engine::OwnPolicies;
use wearwell_sim::run::{RunConfig, load, run_by};
use wearwell_sim::trace::Trace;
use wearwell_sim::workload::WorkloadSpec;

/// Placements without streams, and the victim policy with which each has the least mean in the first table of
/// docs/src/design/placement-matrix.md. Those that sort by stream are `single` or `separate-gc` here.
const PLACEMENTS: [(&str, &str); 13] = [
    ("single", "cost-benefit-settled"),
    ("separate-gc", "cost-benefit-settled"),
    ("separate-cleaning", "cost-benefit-sqrt:sealed"),
    ("hot-cold-readonly", "cost-benefit-settled"),
    ("dac:6", "cost-benefit-settled"),
    ("sepbit", "cost-benefit-settled"),
    ("midas", "cost-benefit-settled"),
    ("dogi", "cost-benefit:sealed"),
    ("fadac:6", "cost-benefit-settled"),
    ("warcip:6", "cost-benefit-settled"),
    ("sfs:6", "cost-benefit-settled"),
    ("multilog:6", "cost-benefit-settled"),
    ("frequency:7", "cost-benefit-settled"),
];

const VICTIMS: [&str; 8] = [
    "greedy",
    "cost-benefit-settled",
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

const PAGE_BYTES: u64 = 4096;
const PASSES: u64 = 12;

/// Of Student's distribution, for 95 % and one degree of freedom less than seeds, from two seeds on.
const T: [f64; 9] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];

/// What the command says.
struct Asked {
    pages: u64,
    segment_pages: u64,
    spare: u64,
    segments: Option<u64>,
    seeds: u64,
    columns: Vec<String>,
    victims: Vec<String>,
    placements: Vec<String>,
    best_only: bool,
    bound: bool,
    parts: bool,
}

impl Asked {
    fn new(arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let victims = VICTIMS.map(str::to_owned).to_vec();
        let (columns, placements) = (Vec::new(), Vec::new());
        let (best_only, bound, parts) = (false, false, false);
        let mut asked = Self {
            pages: 1 << 15,
            segment_pages: 64,
            spare: 9,
            segments: None,
            seeds: 5,
            columns,
            victims,
            placements,
            best_only,
            bound,
            parts,
        };
        for argument in arguments {
            let names = |list: &str| list.split('+').map(str::to_owned).collect();
            match argument.split_once('=') {
                Some(("pages", number)) => asked.pages = number.parse()?,
                Some(("segment", number)) => asked.segment_pages = number.parse()?,
                Some(("spare", number)) => asked.spare = number.parse()?,
                Some(("segments", number)) => asked.segments = Some(number.parse()?),
                Some(("seeds", number)) => asked.seeds = number.parse()?,
                Some(("columns", list)) => asked.columns = names(list),
                Some(("victims", list)) => asked.victims = names(list),
                Some(_) => return Err(argument.into()),
                None if argument == "best" => asked.best_only = true,
                None if argument == "bound" => asked.bound = true,
                None if argument == "parts" => asked.parts = true,
                None => asked.placements.push(argument),
            }
        }
        let most = T.len() as u64 + 1;
        if asked.spare < 2 || !(1..=most).contains(&asked.seeds) {
            return Err(format!("spare is 2 or more, and seeds 1 to {most}").into());
        }
        Ok(asked)
    }

    fn wants_column(&self, name: &str) -> bool {
        self.columns.is_empty() || self.columns.iter().any(|wanted| wanted == name)
    }

    fn config(&self, workload: WorkloadSpec, pages: u64, seed: u64) -> Result<RunConfig, Box<dyn Error>> {
        let by_spare = (pages / self.segment_pages * self.spare).div_ceil(self.spare - 1);
        let segments = self.segments.unwrap_or(by_spare);
        let chip = ChipProfile::resolve(&format!("geometry:{PAGE_BYTES}:{}:{segments}", self.segment_pages))?;
        let mut config = RunConfig::new(chip, workload);
        config.engine.logical_bytes = Some(pages * PAGE_BYTES);
        config.engine.seed = seed;
        Ok(config)
    }

    fn columns(&self) -> Result<Vec<Column>, Box<dyn Error>> {
        let mut columns = Vec::new();
        let is_recorded = |name: &String| TRACES.iter().any(|(trace, _)| name.starts_with(trace));
        let asked = self.columns.iter().filter(|name| !is_recorded(name)).map(String::as_str);
        for name in if self.columns.is_empty() { RANDOM.to_vec() } else { asked.collect() } {
            let random = |seed| {
                let mut config = self.config(name.parse()?, self.pages, seed)?;
                let runs_whole = matches!(config.workload, WorkloadSpec::Trace(_));
                config.write_bytes = (!runs_whole).then_some(PASSES * self.pages * PAGE_BYTES);
                Ok(config)
            };
            let configs = (1..=self.seeds).map(random).collect::<Result<Vec<_>, Box<dyn Error>>>()?;
            let trace = configs.first().map(|config| load(&config.workload, None)).transpose()?.flatten();
            columns.push(Column { name: name.to_owned(), configs, trace });
        }
        for (name, mib) in TRACES {
            let without_trim = format!("{name}, no TRIM");
            let path = format!("{}/../wearwell-cli/traces/{name}-ext4.csv.zst", env!("CARGO_MANIFEST_DIR"));
            let config = self.config(WorkloadSpec::Trace(path.into()), (mib << 20) / PAGE_BYTES, 1)?;
            let trace = load(&config.workload, None)?;
            let mut without = trace.clone();
            without.iter_mut().for_each(|trace| trace.requests.retain(|request| request.op != Op::Discard));
            for (name, trace) in [(name.to_owned(), trace), (without_trim, without)] {
                if self.wants_column(&name) {
                    columns.push(Column { name, configs: vec![config.clone()], trace });
                }
            }
        }
        Ok(columns)
    }
}

/// A column: configurations that differ in their seeds, and the trace that they share.
struct Column {
    name: String,
    configs: Vec<RunConfig>,
    trace: Option<Trace>,
}

/// Mean and half of the interval; no interval of one value.
fn mean(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let of_student = values.len().checked_sub(2).and_then(|at| T.get(at));
    (mean, of_student.map(|t| t * (squares / (count - 1.0) / count).sqrt()))
}

impl Column {
    fn measure(
        &self,
        place: Placement,
        which: VictimPolicy,
        own: impl Fn(u64) -> OwnPolicies,
    ) -> Result<(f64, Option<f64>), Box<dyn Error>> {
        let mut figures = Vec::new();
        for config in &self.configs {
            let mut config = config.clone();
            (config.engine.place, config.engine.which) = (place, which);
            let pages = config.engine.logical_bytes.unwrap_or_default() / PAGE_BYTES;
            let report = run_by(&config, self.trace.as_ref(), own(pages), &mut ())?;
            figures.push(report.second_half.ok_or("a run without a second half")?.wa_data);
        }
        Ok(mean(&figures))
    }

    /// The bound is for each page that the write buffer lets through, the other rows are for each page that the host's
    /// writes touch. The engine says how many of one come to the other.
    fn bound(&self) -> Result<f64, Box<dyn Error>> {
        let wanted = Wanted { most_groups: 7, open_segments: Vec::new() };
        let config = self.configs.first().ok_or("no seed")?;
        let bounds = search(config, self.trace.as_ref(), &wanted, &mut ())?;
        let bound = bounds.iter().find(|bound| bound.name == "nodap:7").ok_or("no bound")?.wa;
        let report = run_by(config, self.trace.as_ref(), OwnPolicies::default(), &mut ())?;
        let half = report.second_half.ok_or("a run without a second half")?;
        Ok(bound * half.host_programs as f64 / half.host_pages as f64)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let asked = Asked::new(std::env::args().skip(1))?;
    let columns = asked.columns()?;
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    println!("| placement | victim | {} | geometric mean |", names.join(" | "));
    println!("| --- | --- | {} --- |", "--- | ".repeat(names.len()));
    for parts in parts::PARTS.iter().filter(|_| asked.parts) {
        for victim in &asked.victims {
            let which = VictimPolicy::parse(victim).ok_or(victim.as_str())?;
            print_row(&columns, &format!("{} | `{victim}`", parts.name()), |column| {
                column.measure(Placement::Single, which, |pages| parts.policies(pages))
            })?;
        }
    }
    let listed = PLACEMENTS.iter().map(|(name, _)| (*name).to_owned());
    let names = if asked.placements.is_empty() { listed.collect() } else { asked.placements.clone() };
    for name in names.iter().filter(|_| !asked.parts) {
        let best = PLACEMENTS.iter().find(|(listed, _)| listed == name).map_or(VICTIMS[1], |(_, best)| *best);
        let victims = if asked.best_only { vec![best.to_owned()] } else { asked.victims.clone() };
        for victim in &victims {
            let place = Placement::parse(name).ok_or(name.as_str())?;
            let which = VictimPolicy::parse(victim).ok_or(victim.as_str())?;
            print_row(&columns, &format!("`{name}` | `{victim}`"), |column| {
                column.measure(place, which, |_| OwnPolicies::default())
            })?;
        }
    }
    if asked.bound {
        print_row(&columns, "`nodap:7` | its own", |column| Ok((column.bound()?, None)))?;
    }
    Ok(())
}

fn print_row(
    columns: &[Column],
    name: &str,
    measure: impl Fn(&Column) -> Result<(f64, Option<f64>), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let (mut cells, mut product) = (Vec::new(), 1.0);
    for column in columns {
        let (wa, half) = measure(column)?;
        product *= wa;
        cells.push(half.map_or_else(|| format!("{wa:.3}"), |half| format!("{wa:.3} ± {half:.3}")));
    }
    let geometric = product.powf(1.0 / columns.len() as f64);
    println!("| {name} | {} | {geometric:.3} |", cells.join(" | "));
    Ok(())
}
