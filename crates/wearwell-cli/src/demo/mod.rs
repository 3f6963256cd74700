//! `wearwell demo`: a recorded trace on an emulated chip whose power fails hundreds of times.

mod crash;
mod model;

use std::time::Instant;

use clap::Args;
use comfy_table::CellAlignment;
use rayon::prelude::*;
use wearwell::clean::which::Age;
use wearwell::page::{PageConfig, Policies};
use wearwell::{Placement, VictimPolicy};
use wearwell_emu::ChipProfile;
use wearwell_sim::run::EraseCount;
use wearwell_sim::trace::{self, Trace};

use crate::failure::Failure;
use crate::list::table;
use crate::output::Target;
use crate::progress::Bars;
use crate::text::{bytes, grouped, short};

use crash::{Outcome, Plan};

/// The trace, as `traces/README.md` describes it.
const TRACE: &[u8] = include_bytes!("../../traces/postmark-ext4.csv.zst");

/// Capacity of the device that the trace was recorded on.
const LOGICAL_BYTES: u64 = 160 << 20;

/// The chip: the real part has 1,024 blocks, which are too few for the recorded device.
const CHIP: &str = "w25n01gv";
const BLOCKS: u32 = 1408;

/// Arguments of `wearwell demo`.
#[derive(Args)]
pub(crate) struct DemoCommand {
    /// Power cuts for each policy
    #[arg(long, value_name = "N", default_value_t = 80, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    cuts: u32,
    /// Replay only the first N requests of the trace
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    requests: Option<u32>,
    /// Seed of the cuts: where they hit and what they leave
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

struct Contender {
    name: &'static str,
    policies: Policies,
}

fn contenders() -> [Contender; 3] {
    let policies = |which, place| Policies { which, place, ..Policies::default() };
    [
        Contender { name: "greedy", policies: policies(VictimPolicy::Greedy, Placement::Single) },
        Contender {
            name: "cost-benefit",
            policies: policies(VictimPolicy::CostBenefit { age: Age::Invalidated }, Placement::Single),
        },
        Contender { name: "cat, hot-cold-readonly", policies: policies(VictimPolicy::Cat, Placement::HotColdReadonly) },
    ]
}

pub(crate) fn run(command: &DemoCommand) -> Result<(), Failure> {
    let began = Instant::now();
    let mut trace = trace::parse("the demo's trace", &mut &TRACE[..])?;
    trace.requests.truncate(command.requests.map_or(usize::MAX, |n| n as usize));
    let chip = chip()?;
    Target::Stdout.write(introduction(&chip, &trace, command).as_bytes())?;
    let contenders = contenders();
    let bars = Bars::new();
    let once = |contender: &Contender| {
        let config = PageConfig {
            logical_pages: (LOGICAL_BYTES / u64::from(chip.page_bytes)) as u32,
            policies: contender.policies,
            seed: command.seed,
            endurance: chip.endurance_cycles,
        };
        let plan = Plan { chip: &chip, config, requests: &trace.requests, cuts: command.cuts, seed: command.seed };
        crash::replay(&plan, &mut bars.bar(&format!("{:22}", contender.name)))
    };
    let results: Vec<_> = contenders.par_iter().map(once).collect();
    // They have to be gone from the terminal before the table comes.
    drop(bars);
    let mut outcomes = Vec::new();
    for (contender, result) in contenders.iter().zip(results) {
        let outcome = result.map_err(|trouble| Failure::Wrong(format!("{}: {trouble}", contender.name)))?;
        outcomes.push((contender.name, outcome));
    }
    let text = format!("{}\n\n{}", comparison(&outcomes), conclusion(&outcomes, began.elapsed().as_secs_f64()));
    Target::Stdout.write(text.as_bytes())
}

fn chip() -> Result<ChipProfile, Failure> {
    let refused = |error: wearwell_emu::ProfileError| Failure::Refused(error.to_string());
    let mut chip = ChipProfile::by_name(CHIP).map_err(refused)?;
    chip.blocks = BLOCKS;
    chip.logical_bytes = LOGICAL_BYTES;
    chip.validate().map_err(refused)?;
    Ok(chip)
}

fn introduction(chip: &ChipProfile, trace: &Trace, command: &DemoCommand) -> String {
    format!(
        "Postmark on ext4, {} recorded requests, on an emulated {CHIP} with {} blocks ({}; the host sees {}).\n\
         Every byte is stored and checked. The power fails about {} times under each policy, in the middle of a flash\n\
         operation; then the chip is mounted again and every sector is compared with what it may hold.\n\n",
        grouped(trace.requests.len() as u64),
        grouped(u64::from(BLOCKS)),
        bytes(chip.physical_bytes() as f64),
        bytes(LOGICAL_BYTES as f64),
        command.cuts,
    )
}

fn comparison(outcomes: &[(&str, Outcome)]) -> comfy_table::Table {
    let mut table = table(&[
        "policy",
        "WA data",
        "WA total",
        "erases",
        "copied",
        "erases each",
        "σ",
        "cuts",
        "in mount",
        "rescued",
    ]);
    for (name, outcome) in outcomes {
        let (stats, spread) = (&outcome.stats, EraseCount::of(&outcome.erase_counts));
        table.add_row([
            (*name).to_owned(),
            format!("{:.3}", stats.wa_data()),
            format!("{:.3}", stats.wa_total()),
            grouped(stats.erases),
            grouped(stats.copied_pages),
            format!("{}–{}", spread.min, spread.max),
            short(spread.stddev),
            outcome.cuts.to_string(),
            outcome.cuts_in_mount.to_string(),
            grouped(outcome.rescued_pages),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn conclusion(outcomes: &[(&str, Outcome)], seconds: f64) -> String {
    let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(|(_, outcome)| of(outcome)).sum::<u64>();
    let (newest, between, flushed) =
        (sum(|o| o.survival.newest_pages), sum(|o| o.survival.between_pages), sum(|o| o.survival.flushed_pages));
    format!(
        "What survived {} power cuts and {} more during mounts, in {} sector reads:\n\
         - everything that was flushed: nothing lost, nothing discarded came back;\n\
         - of {} pages changed since the last flush, {} hold their newest content, {} an older state since the\n  \
           flush, {} that of the flush; none holds a mix or anything else.\n\
         {seconds:.1} seconds.\n",
        sum(|o| u64::from(o.cuts)),
        sum(|o| u64::from(o.cuts_in_mount)),
        grouped(sum(|o| o.checked_sectors)),
        grouped(newest + between + flushed),
        grouped(newest),
        grouped(between),
        grouped(flushed),
    )
}
