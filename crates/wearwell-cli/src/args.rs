//! The flags that describe an engine and a run, and how their texts are read.

use clap::Args;
use wearwell::logblock::Recycling;
use wearwell::{CleaningTrigger, Placement, Reclamation, VictimPolicy, WearLeveling};
use wearwell_emu::ChipProfile;
use wearwell_sim::engine::{AwareMode, DataMode, Engine, EngineSpec, Layout, StreamSource};
use wearwell_sim::names::nearest;
use wearwell_sim::run::RunConfig;
use wearwell_sim::size::{Percent, parse_size};
use wearwell_sim::workload::WorkloadSpec;

use crate::failure::Failure;

/// A chip and the engine on it, for whatever puts one together.
#[derive(Args, Debug, Clone)]
pub(crate) struct EngineArgs {
    /// The chip: a name from `wearwell chips`, a profile FILE.toml, or `geometry:PAGE:PAGES_PER_BLOCK:BLOCKS[:DIES]`
    #[arg(long, value_name = "CHIP", default_value = "w25n01gv", value_parser = chip)]
    chip: ChipProfile,
    #[arg(long, value_name = "ENGINE", default_value = "page", value_parser = engine)]
    #[arg(help = choices("The translation layer", Engine::LIST))]
    ftl: Engine,
    #[arg(long, value_name = "LAYOUT", value_parser = layout)]
    #[arg(help = choices("How records lie on flash", Layout::LIST) + " [default: plain; with stored data that of the chip's kind]")]
    layout: Option<Layout>,
    #[arg(long, value_name = "POLICY", value_parser = when)]
    #[arg(help = choices("When cleaning runs", CleaningTrigger::LIST) + " [default: the chip's own watermark, else 3:4]")]
    when: Option<CleaningTrigger>,
    #[arg(long, value_name = "POLICY", value_parser = which)]
    #[arg(help = choices("Which segment cleaning takes", VictimPolicy::LIST) + " [default: greedy]")]
    which: Option<VictimPolicy>,
    #[arg(long, value_name = "POLICY", value_parser = place)]
    #[arg(help = choices("Where pages go", Placement::LIST) + " [default: single]")]
    r#where: Option<Placement>,
    #[arg(long, value_name = "POLICY", value_parser = wear)]
    #[arg(help = choices("How wear is leveled", WearLeveling::LIST) + " [default: none; with primary-replacement static-threshold:15]")]
    wear: Option<WearLeveling>,
    #[arg(long, value_name = "POLICY", value_parser = recycle)]
    #[arg(help = choices("How log-block recycles a full log block", Recycling::LIST) + " [default: optimal]")]
    recycle: Option<Recycling>,
    /// Log blocks of log-block, fast and fast-by-stream [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    log_blocks: Option<u32>,
    #[arg(long, value_name = "POLICY", value_parser = reclaim)]
    #[arg(help = choices("When page, primary-replacement and log-block erase blocks of which nothing is left", Reclamation::LIST) + " [default: at-once]")]
    reclaim: Option<Reclamation>,
    /// Capacity exported to the host [default: the chip's own, else 87.5 % of it]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    logical: Option<u64>,
    /// Seed of everything that is drawn: the same seed gives the same numbers on every machine
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[arg(long, value_name = "MODE", default_value = "off", value_parser = aware)]
    #[arg(help = choices("See file systems from below and infer what is dead", AwareMode::LIST))]
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
    /// What was said and says nothing to any of these engines, a line each.
    fn unused(&self, ftls: &[Engine]) -> Vec<String> {
        type Uses = fn(Engine) -> bool;
        let flags: [(&str, bool, Uses); 5] = [
            (
                "--when",
                self.when.is_some_and(|when| !matches!(when, CleaningTrigger::Idle { .. })),
                Engine::chooses_victims,
            ),
            ("--which", self.which.is_some(), Engine::chooses_victims),
            ("--where", self.r#where.is_some(), Engine::chooses_victims),
            ("--recycle", self.recycle.is_some(), |ftl| ftl == Engine::LogBlock),
            ("--log-blocks", self.log_blocks.is_some(), Engine::has_log_blocks),
        ];
        let names: Vec<String> = ftls.iter().map(ToString::to_string).collect();
        let unused = flags.into_iter().filter(|(_, is_said, uses)| *is_said && !ftls.iter().any(|ftl| uses(*ftl)));
        unused.map(|(flag, ..)| format!("{flag} changes nothing with --ftl {}", names.join(", "))).collect()
    }

    pub(crate) fn spec(&self) -> EngineSpec {
        let spec = EngineSpec::new(self.chip.clone());
        EngineSpec {
            ftl: self.ftl,
            layout: self.layout,
            when: self.when,
            which: self.which.unwrap_or(spec.which),
            place: self.r#where.unwrap_or(spec.place),
            wear: self.wear,
            recycle: self.recycle.unwrap_or(spec.recycle),
            log_blocks: self.log_blocks.unwrap_or(spec.log_blocks),
            reclaim: self.reclaim.unwrap_or(spec.reclaim),
            logical_bytes: self.logical,
            seed: self.seed,
            aware: self.aware,
            hold_s: self.hold,
            hold_flushes: self.hold_flushes,
            streams: self.streams,
            ..spec
        }
    }
}

/// What a run is made of. Only the workload must be said.
#[derive(Args, Debug, Clone)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    engine: EngineArgs,
    /// Whether the chip keeps bytes: none only counts, stored checks everything that is read
    #[arg(long, value_name = "none|stored", default_value = "none", value_parser = data)]
    data: DataMode,
    /// Part of the capacity that is written in sequence first; synthetic workloads and volumes stay inside it [default:
    /// 100%; with a workload on a FAT volume nothing is written but its format, and the volume takes all]
    #[arg(long, value_name = "P%", value_parser = percent)]
    fill: Option<Percent>,
    /// Where the volume of a program on a FAT volume begins, behind a partition table [default: at the first byte, without one]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    volume_at: Option<u64>,
    /// What the host does: sequential, random, hot:X/Y, 640-116, zipf:THETA, trace:FILE; on a FAT volume
    /// postmark:small, postmark:large, postmark:KEY=VALUE,..., fax, cell-phone, event-recorder, files:SIZE, camera; on
    /// a journaling file system journal:KEY=VALUE,...
    #[arg(long, value_name = "WORKLOAD", value_parser = workload)]
    workload: WorkloadSpec,
    /// The device to take from a trace that has several
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Bytes that the host writes [default: 4 times the capacity; a trace or a program runs whole]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    write: Option<u64>,
    /// Bytes of a request of a synthetic workload [default: the chip's page]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    unit: Option<u64>,
    /// The host's own time for every page that it asks for, in microseconds
    #[arg(long, value_name = "US", default_value_t = 0.0)]
    host_us_per_page: f64,
    /// Part of the requests to write that carry another stream's ID than theirs, drawn from those used so far
    #[arg(long, value_name = "P%", default_value = "0%", value_parser = percent)]
    wrong_streams: Percent,
}

impl RunArgs {
    pub(crate) fn config(&self) -> RunConfig {
        let engine = self.engine.spec();
        RunConfig {
            data: self.data,
            fill: self.fill,
            volume_at_bytes: self.volume_at.unwrap_or(0),
            write_bytes: self.write,
            unit_bytes: self.unit,
            host_us_per_page: self.host_us_per_page,
            wrong_streams: self.wrong_streams,
            engine: engine.clone(),
            ..RunConfig::new(engine.chip, self.workload.clone())
        }
    }

    /// Refuses what can only be a mistake.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match &self.device {
            Some(device) if !self.replays() => Err(Failure::Refused(format!(
                "--device {device} makes no sense: only a trace has devices, and the workload is {}",
                self.workload
            ))),
            _ => Ok(()),
        }
    }

    /// What was said and changes nothing with any of these engines, a line each.
    pub(crate) fn unused(&self, ftls: &[Engine]) -> Vec<String> {
        let mut lines = self.engine.unused(ftls);
        let draws = !self.replays() && !matches!(self.workload, WorkloadSpec::Files(_) | WorkloadSpec::Journal(_));
        if self.unit.is_some() && !draws {
            lines.push(format!("--unit changes nothing with --workload {}", self.workload));
        }
        lines
    }

    fn replays(&self) -> bool {
        matches!(self.workload, WorkloadSpec::Trace(_))
    }

    pub(crate) fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }
}

fn chip(text: &str) -> Result<ChipProfile, String> {
    ChipProfile::resolve(text).map_err(|error| error.to_string())
}

pub(crate) fn size(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|error| error.to_string())
}

fn percent(text: &str) -> Result<Percent, String> {
    text.parse().map_err(|error: wearwell_sim::size::SizeError| error.to_string())
}

fn workload(text: &str) -> Result<WorkloadSpec, String> {
    text.parse().map_err(|error: wearwell_sim::workload::WorkloadError| error.to_string())
}

fn data(text: &str) -> Result<DataMode, String> {
    DataMode::parse(text).ok_or_else(|| unknown(text, DataMode::LIST))
}

pub(crate) fn engine(text: &str) -> Result<Engine, String> {
    Engine::parse(text).ok_or_else(|| unknown(text, Engine::LIST))
}

pub(crate) fn layout(text: &str) -> Result<Layout, String> {
    Layout::parse(text).ok_or_else(|| unknown(text, Layout::LIST))
}

fn aware(text: &str) -> Result<AwareMode, String> {
    AwareMode::parse(text).ok_or_else(|| unknown(text, AwareMode::LIST))
}

fn streams(text: &str) -> Result<StreamSource, String> {
    StreamSource::parse(text).ok_or_else(|| unknown(text, StreamSource::LIST))
}

pub(crate) fn when(text: &str) -> Result<CleaningTrigger, String> {
    CleaningTrigger::parse(text).ok_or_else(|| unknown(text, CleaningTrigger::LIST))
}

pub(crate) fn which(text: &str) -> Result<VictimPolicy, String> {
    VictimPolicy::parse(text).ok_or_else(|| unknown(text, VictimPolicy::LIST))
}

pub(crate) fn place(text: &str) -> Result<Placement, String> {
    Placement::parse(text).ok_or_else(|| unknown(text, Placement::LIST))
}

pub(crate) fn wear(text: &str) -> Result<WearLeveling, String> {
    match WearLeveling::parse(text) {
        Some(WearLeveling::Swap { percent }) if percent > 100 => {
            Err("its number is a percentage of the rated erases, as in swap:90: at most 100".to_owned())
        }
        found => found.ok_or_else(|| unknown(text, WearLeveling::LIST)),
    }
}

pub(crate) fn recycle(text: &str) -> Result<Recycling, String> {
    Recycling::parse(text).ok_or_else(|| unknown(text, Recycling::LIST))
}

pub(crate) fn reclaim(text: &str) -> Result<Reclamation, String> {
    Reclamation::parse(text).ok_or_else(|| unknown(text, Reclamation::LIST))
}

/// What a flag chooses, for its help: the list that is read and shown by `wearwell policies`.
pub(crate) fn choices(what: &str, list: &[(&str, &str)]) -> String {
    let forms: Vec<&str> = list.iter().map(|(form, _)| *form).collect();
    format!("{what}: {} (`wearwell policies` says more)", forms.join(", "))
}

/// What to say of a name that is on no list: the form of the one that was misused, or the nearest one.
fn unknown(text: &str, list: &[(&str, &str)]) -> String {
    let base = |name: &str| name.split(':').next().unwrap_or_default().to_owned();
    let given = base(text);
    if let Some((form, _)) = list.iter().find(|(form, _)| base(form) == given) {
        return match form.split_once(':') {
            Some((_, numbers)) if numbers.starts_with(|c: char| c.is_ascii_digit()) => {
                format!("its number must be whole and above 0, as in {form}")
            }
            Some(_) => format!("the form is {form}"),
            None => format!("{form} takes no number"),
        };
    }
    let bases: Vec<String> = list.iter().map(|(form, _)| base(form)).collect();
    let near = nearest(&given, bases.iter().map(String::as_str)).unwrap_or_default();
    format!("did you mean {near}? There are {}", bases.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_find_the_nearest_and_known_ones_their_form() {
        assert!(which("gredy").expect_err("misspelt").starts_with("did you mean greedy?"));
        assert!(which("d-choices:0").expect_err("no number").ends_with("as in d-choices:10"));
        assert_eq!(which("greedy:3").expect_err("no number wanted"), "greedy takes no number");
        assert_eq!(when("watermark:3").expect_err("one mark"), "the form is watermark:LOW:HIGH");
        assert!(wear("swap:100").is_ok() && wear("swap:101").expect_err("of 100").contains("at most 100"));
    }
}
