//! The flags that describe an engine and a run.

use std::path::Path;

use clap::{ArgAction, Args};
use wearwell::logblock::Recycling;
use wearwell::{CleaningTrigger, Placement, Reclamation, VictimPolicy, WearLeveling};
use wearwell_emu::ChipProfile;
use wearwell_sim::arguments::{
    DEFAULT_CHIP, EngineArguments, RunArguments, ValueError, aware, chip, data, pace, percent, streams, workload,
};
pub(crate) use wearwell_sim::arguments::{engine, hints, layout, place, reclaim, recycle, size, wear, when, which};
use wearwell_sim::engine::{AwareMode, DataMode, Engine, EngineSpec, Layout, StreamSource};
use wearwell_sim::run::RunConfig;
use wearwell_sim::size::Percent;
use wearwell_sim::workload::WorkloadSpec;

use crate::failure::Failure;

/// The heading of the flags that describe an engine.
pub(crate) const ENGINE: &str = "Engine";

/// A chip and the engine on it, for whatever puts one together.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = ENGINE)]
pub(crate) struct EngineArgs {
    /// The chip: a name from `wearwell chips`, a profile FILE.toml, or `geometry:PAGE:PAGES_PER_BLOCK:BLOCKS[:DIES]`
    #[arg(long, value_name = "CHIP", default_value = DEFAULT_CHIP, value_parser = chip)]
    chip: ChipProfile,
    #[arg(long, value_name = "ENGINE", default_value = "page", value_parser = engine)]
    #[arg(help = "The translation layer", long_help = choices("The translation layer", Engine::LIST))]
    ftl: Engine,
    #[arg(long, value_name = "LAYOUT", value_parser = layout)]
    #[arg(
        help = "How records lie on flash",
        long_help = choices("How records lie on flash", Layout::LIST)
            + " [default: plain; with stored data that of the chip's kind]"
    )]
    layout: Option<Layout>,
    #[arg(long, value_name = "POLICY", value_parser = when)]
    #[arg(
        help = "When cleaning runs",
        long_help = choices("When cleaning runs", CleaningTrigger::LIST)
            + " [default: the chip's own watermark, else 3:4]"
    )]
    when: Option<CleaningTrigger>,
    #[arg(long, value_name = "POLICY", value_parser = which)]
    #[arg(
        help = "Which segment cleaning takes",
        long_help = choices("Which segment cleaning takes", VictimPolicy::LIST) + " [default: greedy]"
    )]
    which: Option<VictimPolicy>,
    #[arg(long, value_name = "POLICY", value_parser = place)]
    #[arg(help = "Where pages go", long_help = choices("Where pages go", Placement::LIST) + " [default: single]")]
    r#where: Option<Placement>,
    #[arg(long, value_name = "POLICY", value_parser = wear)]
    #[arg(
        help = "How wear is leveled",
        long_help = choices("How wear is leveled", WearLeveling::LIST)
            + " [default: none; with primary-replacement static-threshold:15]"
    )]
    wear: Option<WearLeveling>,
    #[arg(long, value_name = "POLICY", value_parser = recycle)]
    #[arg(
        help = "How log-block recycles a full log block",
        long_help = choices("How log-block recycles a full log block", Recycling::LIST) + " [default: optimal]"
    )]
    recycle: Option<Recycling>,
    /// Log blocks of log-block, fast and fast-by-stream [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    log_blocks: Option<u32>,
    #[arg(long, value_name = "POLICY", value_parser = reclaim)]
    #[arg(
        help = "When page, primary-replacement and log-block erase blocks of which nothing is left",
        long_help = choices(
            "When page, primary-replacement and log-block erase blocks of which nothing is left",
            Reclamation::LIST
        ) + " [default: at-once]"
    )]
    reclaim: Option<Reclamation>,
    /// Capacity exported to the host [default: the chip's own, else 87.5 % of it]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    logical: Option<u64>,
    /// Seed of everything that is drawn: the same seed gives the same numbers on every machine
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[arg(long, value_name = "MODE", default_value = "off", value_parser = aware)]
    #[arg(
        help = "See file systems from below and infer what is dead",
        long_help = choices("See file systems from below and infer what is dead", AwareMode::LIST)
    )]
    aware: AwareMode,
    /// Seconds of simulated time for which a freed cluster must stay free, twice, before strict takes it for dead
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    hold: f64,
    /// Flushes that must pass in that time
    #[arg(long, value_name = "N", default_value_t = 1)]
    hold_flushes: u32,
    /// Where streams come from: host, inferred
    #[arg(long, value_name = "SOURCE", default_value = "host", value_parser = streams)]
    streams: StreamSource,
}

impl EngineArgs {
    fn said(&self) -> EngineArguments {
        EngineArguments {
            chip: Some(self.chip.clone()),
            ftl: Some(self.ftl),
            layout: self.layout,
            when: self.when,
            which: self.which,
            place: self.r#where,
            wear: self.wear,
            recycle: self.recycle,
            log_blocks: self.log_blocks,
            reclaim: self.reclaim,
            logical_bytes: self.logical,
            seed: Some(self.seed),
            aware: Some(self.aware),
            hold_s: Some(self.hold),
            hold_flushes: Some(self.hold_flushes),
            streams: Some(self.streams),
        }
    }

    pub(crate) fn spec(&self) -> EngineSpec {
        self.said().on(self.chip.clone())
    }
}

/// What a run is made of. Only the workload must be said.
#[derive(Args, Debug, Clone)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    engine: EngineArgs,
    /// Whether the chip keeps bytes: none only counts, stored checks everything that is read [default: none; with
    /// --aware stored]
    #[arg(long, value_name = "none|stored", value_parser = data)]
    data: Option<DataMode>,
    /// Part of the capacity that is written in sequence first; synthetic workloads and volumes stay inside it [default:
    /// 100%; with a workload on a FAT volume nothing is written but its format, and the volume takes all]
    #[arg(long, value_name = "P%", value_parser = percent)]
    fill: Option<Percent>,
    /// Where the volume of a program on a FAT volume begins, behind a partition table [default: at the first byte,
    /// without one]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    volume_at: Option<u64>,
    /// What the host does: sequential, random, hot:X/Y, 640-116, zipf:THETA, trace:FILE; on a FAT volume
    /// postmark:small, postmark:large, postmark:KEY=VALUE,..., fax, cell-phone, event-recorder, files:SIZE, camera; on
    /// a journaling file system journal:KEY=VALUE,...
    #[arg(long, value_name = "WORKLOAD", value_parser = workload, required = true)]
    workload: Option<WorkloadSpec>,
    /// The device to take from a trace that has several
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Bytes that the host writes [default: 4 times the capacity; a trace or a program runs whole]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    write: Option<u64>,
    /// Bytes of a request of a synthetic workload [default: the chip's page]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    unit: Option<u64>,
    /// When the requests of a trace come: chip, each as soon as the one before is complete; trace, at the times
    /// recorded
    #[arg(long, value_name = "chip|trace", default_value = "chip", value_parser = pace, action = ArgAction::Set)]
    pace: bool,
    /// How many times as fast as recorded they come with --pace trace [default: 1]
    #[arg(long, value_name = "N")]
    speedup: Option<f64>,
    /// The host's own time for every page that it asks for, in microseconds
    #[arg(long, value_name = "US", default_value_t = 0.0)]
    host_us_per_page: f64,
    /// Part of the requests to write that carry another stream's ID than theirs, drawn from those used so far
    #[arg(long, value_name = "P%", default_value = "0%", value_parser = percent)]
    wrong_streams: Percent,
    /// What the host says of its writes: none; or read-only, of pages that the run writes at most once (for
    /// --where hot-cold-readonly)
    #[arg(long, value_name = "none|read-only", default_value = "none", value_parser = hints, action = ArgAction::Set)]
    hints: bool,
    /// Show the run in windows, in each of which the host writes so much
    #[arg(long, value_name = "SIZE", value_parser = size)]
    window: Option<u64>,
}

impl RunArgs {
    /// What was said, for whoever makes a run of it.
    pub(crate) fn said(&self) -> RunArguments {
        RunArguments {
            engine: self.engine.said(),
            data: self.data,
            fill: self.fill,
            volume_at_bytes: self.volume_at,
            workload: self.workload.clone(),
            device: self.device.clone(),
            write_bytes: self.write,
            unit_bytes: self.unit,
            is_paced: Some(self.pace),
            speedup: self.speedup,
            host_us_per_page: Some(self.host_us_per_page),
            wrong_streams: Some(self.wrong_streams),
            gives_hints: Some(self.hints),
            window_bytes: self.window,
        }
    }

    /// The run.
    ///
    /// # Errors
    /// What can only be a mistake.
    pub(crate) fn config(&self) -> Result<RunConfig, Failure> {
        Ok(self.said().config()?)
    }

    /// The run, with this workload if one was named elsewhere.
    ///
    /// # Errors
    /// As [`config`](Self::config).
    pub(crate) fn config_of(&self, workload: Option<WorkloadSpec>) -> Result<RunConfig, Failure> {
        let said = self.said();
        Ok(RunArguments { workload: workload.or(said.workload.clone()), ..said }.config()?)
    }

    /// What was said and changes nothing with any of these engines, a line each.
    pub(crate) fn unused(&self, ftls: &[Engine]) -> Vec<String> {
        self.said().unused(ftls)
    }

    pub(crate) fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }
}

/// A workload by its name, or the trace in a file. What looks like a path is one: if there is no such file, reading it
/// says so.
///
/// # Errors
/// If it is neither.
pub(crate) fn workload_or_trace(text: &str) -> Result<WorkloadSpec, ValueError> {
    // A name with a colon is a workload with its parameters, as in hot:90/10, and so no path.
    let is_path = Path::new(text).is_file() || (text.contains(['/', '.']) && !text.contains(':'));
    workload(text).or_else(|error| if is_path { Ok(WorkloadSpec::Trace(text.into())) } else { Err(error) })
}

/// What a flag chooses, for its help: the list that is read and shown by `wearwell policies`.
pub(crate) fn choices(what: &str, list: &[(&str, &str)]) -> String {
    let forms: Vec<&str> = list.iter().map(|(form, _)| *form).collect();
    format!("{what}: {} (`wearwell policies` says more)", forms.join(", "))
}
