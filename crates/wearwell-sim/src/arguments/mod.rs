//! A run by its arguments: the names, values and defaults of the command line, for other interfaces too.
//!
//! [`RunArguments`] keeps given arguments apart from defaults, so that [`RunArguments::unused`] can name those without
//! effect. [`RunArguments::set`] reads an argument by name. A command line that parses its own flags fills in the
//! fields.

mod value;

use std::num::NonZeroU32;

use thiserror::Error;
use wearwell::logblock::Recycling;
use wearwell::{CleaningTrigger, Placement, Reclamation, VictimPolicy, WearLeveling};
use wearwell_emu::{ChipProfile, ProfileError};

pub use value::{
    ValueError, aware, chip, data, engine, hints, layout, pace, percent, place, reclaim, recycle, size, streams, wear,
    when, which, workload,
};

use crate::engine::{AwareMode, DataMode, Engine, EngineSpec, Layout, StreamSource};
use crate::names::nearest;
use crate::run::{Pace, RunConfig};
use crate::size::Percent;
use crate::workload::{WORKLOADS, WorkloadSpec};

/// The default chip.
pub const DEFAULT_CHIP: &str = "w25n01gv";

/// Why arguments do not make a run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// No argument has this name.
    #[error("there is no argument '{name}'; did you mean '{near}'?")]
    UnknownName {
        /// What was said.
        name: String,
        /// The nearest name.
        near: &'static str,
    },
    /// A value that the argument does not take.
    #[error("invalid value '{text}' for '--{name}': {error}")]
    Value {
        /// The argument.
        name: &'static str,
        /// What was said.
        text: String,
        /// What is wrong with it.
        error: ValueError,
    },
    /// No workload was given.
    #[error("a workload is missing, as in zipf:0.99 or trace:FILE")]
    NoWorkload,
    /// The default chip is not available.
    #[error(transparent)]
    DefaultChip(#[from] ProfileError),
    /// A device was named for a workload that has none.
    #[error("--device {device} makes no sense: only a trace has devices, and the workload is {workload}")]
    DeviceOfNoTrace {
        /// The device.
        device: String,
        /// The workload.
        workload: WorkloadSpec,
    },
}

/// Arguments of a chip and the engine on it; `None` where none was given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EngineArguments {
    /// `chip`.
    pub chip: Option<ChipProfile>,
    /// `ftl`.
    pub ftl: Option<Engine>,
    /// `layout`.
    pub layout: Option<Layout>,
    /// `when`.
    pub when: Option<CleaningTrigger>,
    /// `which`.
    pub which: Option<VictimPolicy>,
    /// `where`.
    pub place: Option<Placement>,
    /// `wear`.
    pub wear: Option<WearLeveling>,
    /// `recycle`.
    pub recycle: Option<Recycling>,
    /// `log-blocks`.
    pub log_blocks: Option<u32>,
    /// `reclaim`.
    pub reclaim: Option<Reclamation>,
    /// `logical`.
    pub logical_bytes: Option<u64>,
    /// `seed`.
    pub seed: Option<u64>,
    /// `aware`.
    pub aware: Option<AwareMode>,
    /// `hold`.
    pub hold_s: Option<f64>,
    /// `hold-flushes`.
    pub hold_flushes: Option<u32>,
    /// `streams`.
    pub streams: Option<StreamSource>,
}

impl EngineArguments {
    /// The engine, with defaults for arguments that were not given.
    ///
    /// # Errors
    /// If no chip was given and the default one is not available.
    pub fn spec(&self) -> Result<EngineSpec, ProfileError> {
        let chip = match &self.chip {
            Some(chip) => chip.clone(),
            None => ChipProfile::by_name(DEFAULT_CHIP)?,
        };
        Ok(self.on(chip))
    }

    /// The same engine on `chip`.
    pub fn on(&self, chip: ChipProfile) -> EngineSpec {
        let spec = EngineSpec::new(chip);
        EngineSpec {
            ftl: self.ftl.unwrap_or(spec.ftl),
            layout: self.layout,
            when: self.when,
            which: self.which.unwrap_or(spec.which),
            place: self.place.unwrap_or(spec.place),
            wear: self.wear,
            recycle: self.recycle.unwrap_or(spec.recycle),
            log_blocks: self.log_blocks.unwrap_or(spec.log_blocks),
            reclaim: self.reclaim.unwrap_or(spec.reclaim),
            logical_bytes: self.logical_bytes,
            seed: self.seed.unwrap_or(spec.seed),
            aware: self.aware.unwrap_or(spec.aware),
            hold_s: self.hold_s.unwrap_or(spec.hold_s),
            hold_flushes: self.hold_flushes.unwrap_or(spec.hold_flushes),
            streams: self.streams.unwrap_or(spec.streams),
            ..spec
        }
    }

    /// Arguments that have no effect on any of these engines, a line each.
    fn unused(&self, ftls: &[Engine]) -> Vec<String> {
        type Uses = fn(Engine) -> bool;
        let flags: [(&str, bool, Uses); 5] = [
            (
                "--when",
                // With `idle` the host asks for cleaning, whatever the engine.
                self.when.is_some_and(|when| !matches!(when, CleaningTrigger::Idle { .. })),
                Engine::chooses_victims,
            ),
            ("--which", self.which.is_some(), Engine::chooses_victims),
            ("--where", self.place.is_some(), Engine::chooses_victims),
            ("--recycle", self.recycle.is_some(), |ftl| ftl == Engine::LogBlock),
            ("--log-blocks", self.log_blocks.is_some(), Engine::has_log_blocks),
        ];
        let names: Vec<String> = ftls.iter().map(ToString::to_string).collect();
        let unused = flags.into_iter().filter(|(_, is_said, uses)| *is_said && !ftls.iter().any(|ftl| uses(*ftl)));
        unused.map(|(flag, ..)| format!("{flag} changes nothing with --ftl {}", names.join(", "))).collect()
    }
}

/// Arguments of a run; `None` where none was given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunArguments {
    /// The chip, and the engine on it.
    pub engine: EngineArguments,
    /// `data`.
    pub data: Option<DataMode>,
    /// `fill`.
    pub fill: Option<Percent>,
    /// `volume-at`.
    pub volume_at_bytes: Option<u64>,
    /// `workload`.
    pub workload: Option<WorkloadSpec>,
    /// `device`.
    pub device: Option<String>,
    /// `write`.
    pub write_bytes: Option<u64>,
    /// `unit`.
    pub unit_bytes: Option<u64>,
    /// `pace`: whether requests arrive at their recorded times.
    pub is_paced: Option<bool>,
    /// `speedup`.
    pub speedup: Option<f64>,
    /// `host-us-per-page`.
    pub host_us_per_page: Option<f64>,
    /// `wrong-streams`.
    pub wrong_streams: Option<Percent>,
    /// `hints`.
    pub gives_hints: Option<bool>,
    /// `window`.
    pub window_bytes: Option<u64>,
}

/// Reads a text into the field of an argument.
type Setter = fn(&mut RunArguments, &str) -> Result<(), ValueError>;

fn put<T>(field: &mut Option<T>, value: Result<T, ValueError>) -> Result<(), ValueError> {
    *field = Some(value?);
    Ok(())
}

/// Every argument of a run.
const ARGUMENTS: &[(&str, Setter)] = &[
    ("chip", |said, text| put(&mut said.engine.chip, chip(text))),
    ("ftl", |said, text| put(&mut said.engine.ftl, engine(text))),
    ("layout", |said, text| put(&mut said.engine.layout, layout(text))),
    ("when", |said, text| put(&mut said.engine.when, when(text))),
    ("which", |said, text| put(&mut said.engine.which, which(text))),
    ("where", |said, text| put(&mut said.engine.place, place(text))),
    ("wear", |said, text| put(&mut said.engine.wear, wear(text))),
    ("recycle", |said, text| put(&mut said.engine.recycle, recycle(text))),
    ("log-blocks", |said, text| {
        let blocks = value::number::<NonZeroU32>(text, "it must be a whole number above 0");
        put(&mut said.engine.log_blocks, blocks.map(NonZeroU32::get))
    }),
    ("reclaim", |said, text| put(&mut said.engine.reclaim, reclaim(text))),
    ("logical", |said, text| put(&mut said.engine.logical_bytes, size(text))),
    ("seed", |said, text| put(&mut said.engine.seed, value::number(text, "it must be a whole number below 2^64"))),
    ("aware", |said, text| put(&mut said.engine.aware, aware(text))),
    ("hold", |said, text| put(&mut said.engine.hold_s, value::number(text, "it must be a number of seconds"))),
    ("hold-flushes", |said, text| {
        put(&mut said.engine.hold_flushes, value::number(text, "it must be a whole number below 2^32"))
    }),
    ("streams", |said, text| put(&mut said.engine.streams, streams(text))),
    ("data", |said, text| put(&mut said.data, data(text))),
    ("fill", |said, text| put(&mut said.fill, percent(text))),
    ("volume-at", |said, text| put(&mut said.volume_at_bytes, size(text))),
    ("workload", |said, text| put(&mut said.workload, workload(text))),
    ("device", |said, text| put(&mut said.device, Ok(text.to_owned()))),
    ("write", |said, text| put(&mut said.write_bytes, size(text))),
    ("unit", |said, text| put(&mut said.unit_bytes, size(text))),
    ("pace", |said, text| put(&mut said.is_paced, pace(text))),
    ("speedup", |said, text| put(&mut said.speedup, value::number(text, "it must be a number above 0"))),
    ("host-us-per-page", |said, text| {
        put(&mut said.host_us_per_page, value::number(text, "it must be a number of microseconds"))
    }),
    ("wrong-streams", |said, text| put(&mut said.wrong_streams, percent(text))),
    ("hints", |said, text| put(&mut said.gives_hints, hints(text))),
    ("window", |said, text| put(&mut said.window_bytes, size(text))),
];

fn argument(name: &str) -> Result<(&'static str, Setter), ArgumentError> {
    let name = name.replace('_', "-");
    if let Some(&found) = ARGUMENTS.iter().find(|(known, _)| *known == name) {
        return Ok(found);
    }
    let near = nearest(&name, ARGUMENTS.iter().map(|(known, _)| *known)).unwrap_or_default();
    Err(ArgumentError::UnknownName { name, near })
}

impl RunArguments {
    /// Checks that there is an argument of this name. Names are those of the flags; an underscore counts as a hyphen.
    ///
    /// # Errors
    /// If there is none, with the nearest name.
    pub fn check_name(name: &str) -> Result<(), ArgumentError> {
        argument(name).map(drop)
    }

    /// Reads an argument by name.
    ///
    /// # Errors
    /// An unknown name, or a value that the argument does not take.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), ArgumentError> {
        let (name, setter) = argument(name)?;
        setter(self, text).map_err(|error| ArgumentError::Value { name, text: text.to_owned(), error })
    }

    /// The run, with defaults for arguments that were not given.
    ///
    /// # Errors
    /// If the workload is missing, or a combination can only be a mistake.
    pub fn config(&self) -> Result<RunConfig, ArgumentError> {
        let workload = self.workload.clone().ok_or(ArgumentError::NoWorkload)?;
        if let Some(device) = &self.device
            && !matches!(workload, WorkloadSpec::Trace(_))
        {
            return Err(ArgumentError::DeviceOfNoTrace { device: device.clone(), workload });
        }
        let engine = self.engine.spec()?;
        let config = RunConfig::new(engine.chip.clone(), workload);
        // Inference reads what is stored.
        let data = if engine.aware == AwareMode::Off { config.data } else { DataMode::Stored };
        Ok(RunConfig {
            engine,
            data: self.data.unwrap_or(data),
            fill: self.fill,
            volume_at_bytes: self.volume_at_bytes.unwrap_or(config.volume_at_bytes),
            write_bytes: self.write_bytes,
            unit_bytes: self.unit_bytes,
            pace: match self.is_paced {
                Some(true) => Pace::Trace { speedup: self.speedup.unwrap_or(1.0) },
                _ => config.pace,
            },
            host_us_per_page: self.host_us_per_page.unwrap_or(config.host_us_per_page),
            wrong_streams: self.wrong_streams.unwrap_or(config.wrong_streams),
            gives_hints: self.gives_hints.unwrap_or(config.gives_hints),
            window_bytes: self.window_bytes,
            ..config
        })
    }

    /// Arguments that change nothing with any of these engines, a line each.
    pub fn unused(&self, ftls: &[Engine]) -> Vec<String> {
        let mut lines = self.engine.unused(ftls);
        if self.speedup.is_some() && self.is_paced != Some(true) {
            lines.push("--speedup changes nothing without --pace trace".to_owned());
        }
        if let (Some(_), Some(workload)) = (self.unit_bytes, &self.workload)
            && matches!(workload, WorkloadSpec::Trace(_) | WorkloadSpec::Files(_) | WorkloadSpec::Journal(_))
        {
            lines.push(format!("--unit changes nothing with --workload {workload}"));
        }
        lines
    }
}

/// Something that an argument chooses by name.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Choice {
    /// The argument, as a flag.
    pub flag: &'static str,
    /// How it is written.
    pub name: &'static str,
    /// A line about it.
    pub description: &'static str,
    /// The names of its parameters, for `NAME=VALUE` in the place of a value.
    pub parameters: Vec<&'static str>,
}

/// All names that arguments choose from.
pub fn choices() -> Vec<Choice> {
    type List = [(&'static str, &'static str)];
    let mut choices = Vec::new();
    let mut add = |flag, list: &List, parameters: &dyn Fn(&str) -> Vec<&'static str>| {
        choices.extend(list.iter().map(|&(name, description)| {
            let parameters = parameters(name);
            Choice { flag, name, description, parameters }
        }));
    };
    let none = |_: &str| Vec::new();
    add("--ftl", Engine::LIST, &none);
    add("--layout", Layout::LIST, &none);
    add("--when", CleaningTrigger::LIST, &|name| CleaningTrigger::parameters(name).collect());
    add("--which", VictimPolicy::LIST, &|name| VictimPolicy::parameters(name).collect());
    add("--where", Placement::LIST, &|name| Placement::parameters(name).collect());
    add("--wear", WearLeveling::LIST, &|name| WearLeveling::parameters(name).collect());
    add("--recycle", Recycling::LIST, &|name| Recycling::parameters(name).collect());
    add("--reclaim", Reclamation::LIST, &|name| Reclamation::parameters(name).collect());
    add("--data", DataMode::LIST, &none);
    add("--aware", AwareMode::LIST, &none);
    add("--streams", StreamSource::LIST, &none);
    add("--workload", &WORKLOADS, &none);
    choices
}

/// The argument and the values that `compare` uses by default for an engine; none for engines without such a choice.
pub fn compared_by_default(ftl: Engine) -> Option<(&'static str, [&'static str; 3])> {
    match ftl {
        _ if ftl.chooses_victims() => Some(("which", ["greedy", "cost-benefit", "cat"])),
        Engine::LogBlock => Some(("recycle", ["merge-only", "cost-based", "optimal"])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(arguments: &[(&str, &str)]) -> Result<RunArguments, ArgumentError> {
        let mut said = RunArguments::default();
        arguments.iter().try_for_each(|(name, text)| said.set(name, text))?;
        Ok(said)
    }

    fn refused(arguments: &[(&str, &str)]) -> String {
        said(arguments).and_then(|said| said.config()).expect_err("refused").to_string()
    }

    #[test]
    fn only_the_workload_must_be_said() {
        let config = said(&[("workload", "random")]).and_then(|said| said.config()).expect("a run");
        let chip = ChipProfile::by_name(DEFAULT_CHIP).expect("there is one");
        assert_eq!(config, RunConfig::new(chip, WorkloadSpec::Random));
        assert_eq!(refused(&[]), "a workload is missing, as in zipf:0.99 or trace:FILE");
    }

    #[test]
    fn inference_stores_data_unless_told_otherwise() {
        let data = |arguments: &[(&str, &str)]| said(arguments).and_then(|said| said.config()).expect("a run").data;
        assert_eq!(data(&[("workload", "camera")]), DataMode::None);
        assert_eq!(data(&[("workload", "camera"), ("aware", "strict")]), DataMode::Stored);
        assert_eq!(data(&[("workload", "camera"), ("aware", "strict"), ("data", "none")]), DataMode::None);
    }

    #[test]
    fn every_argument_is_read_and_kept() {
        let all = said(&[
            ("chip", "geometry:4096:64:128"),
            ("ftl", "log-block"),
            ("layout", "nand"),
            ("when", "watermark:5:6"),
            ("which", "cat"),
            ("where", "separate-gc"),
            ("wear", "dynamic"),
            ("recycle", "merge-only"),
            ("log_blocks", "3"),
            ("reclaim", "proactive"),
            ("logical", "16MiB"),
            ("seed", "7"),
            ("aware", "strict"),
            ("hold", "1.5"),
            ("hold-flushes", "2"),
            ("streams", "inferred"),
            ("data", "stored"),
            ("fill", "50%"),
            ("volume_at", "1MiB"),
            ("workload", "trace:x.csv"),
            ("device", "d"),
            ("write", "1GiB"),
            ("unit", "4KiB"),
            ("pace", "trace"),
            ("speedup", "10"),
            ("host_us_per_page", "2.5"),
            ("wrong-streams", "5%"),
            ("hints", "read-only"),
            ("window", "2MiB"),
        ]);
        let all = all.expect("all of them make sense");
        let config = all.config().expect("a run");
        let plain = RunConfig::new(ChipProfile::by_name(DEFAULT_CHIP).expect("there is one"), WorkloadSpec::Random);
        let (engine, default) = (&config.engine, &plain.engine);
        assert!(engine.chip != default.chip && engine.ftl != default.ftl && engine.which != default.which);
        assert!(engine.place != default.place && engine.recycle != default.recycle && engine.seed != default.seed);
        assert!(engine.reclaim != default.reclaim && engine.streams != default.streams && engine.log_blocks == 3);
        assert_eq!((engine.hold_s, engine.hold_flushes, engine.logical_bytes), (1.5, 2, Some(16 << 20)));
        assert!(engine.layout.is_some() && engine.when.is_some() && engine.wear.is_some());
        assert!(config.data == DataMode::Stored && engine.aware == AwareMode::Strict && config.fill.is_some());
        assert_eq!(
            (config.volume_at_bytes, config.write_bytes, config.unit_bytes),
            (1 << 20, Some(1 << 30), Some(4096))
        );
        assert_eq!((config.pace, config.window_bytes), (Pace::Trace { speedup: 10.0 }, Some(2 << 20)));
        assert!(
            config.host_us_per_page == 2.5
                && !config.wrong_streams.is_zero()
                && config.gives_hints
                && all.device.is_some()
        );
        assert_eq!(
            all.unused(&[Engine::InPlace]).len(),
            6,
            "when, which, where, recycle, log-blocks, and unit with a trace"
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_would() {
        assert_eq!(refused(&[("wich", "greedy")]), "there is no argument 'wich'; did you mean 'which'?");
        let message = refused(&[("which", "gredy")]);
        assert!(message.starts_with("invalid value 'gredy' for '--which': did you mean greedy?"), "{message}");
        assert!(refused(&[("log-blocks", "0")]).ends_with("above 0"));
        assert!(refused(&[("workload", "random"), ("device", "x")]).contains("only a trace has devices"));
    }

    #[test]
    fn what_is_compared_by_default_can_be_set() {
        for ftl in [Engine::Page, Engine::LogBlock] {
            let (name, values) = compared_by_default(ftl).expect("a choice");
            values.iter().for_each(|value| said(&[(name, value)]).map(drop).expect(value));
        }
    }
}
