//! What a run is told, and what follows from it.

use std::fmt;

use wearwell::logblock::{LOG_BLOCKS, RecycleSpec};
use wearwell::wear::{NoLeveling, StaticThreshold};
use wearwell::{PlaceSpec, SECTOR_BYTES, WearSpec, WhenSpec, WhichSpec};
use wearwell_aware::{Mode, Streams};
use wearwell_emu::{ChipKind, ChipProfile};

use super::error::RunError;
use crate::size::Percent;
use crate::trace::Trace;
use crate::workload::WorkloadSpec;

/// Host bytes that a synthetic workload writes by default, in times of the exported capacity.
const DEFAULT_OVERWRITES: u64 = 4;

/// Makes an enum of what can be chosen by name, with a line about each choice.
macro_rules! choices {
    ($(#[$about:meta])* $type:ident { $($variant:ident = $name:literal, $line:literal;)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $type { $(#[doc = $line] $variant,)* }

        impl $type {
            /// Every choice: its name, and a line about it.
            pub const LIST: &'static [(&'static str, &'static str)] = &[$(($name, $line),)*];

            /// Reads a name.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($name => Some(Self::$variant),)* _ => None }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $name,)* })
            }
        }
    };
}

choices! {
    /// Whether the emulated chip keeps bytes.
    DataMode {
        None = "none", "the chip only counts operations: fastest";
        Stored = "stored", "the chip keeps every byte, and everything read is checked";
    }
}

choices! {
    /// A flash translation layer.
    Engine {
        Page = "page", "page mapping over a log (Kawaguchi '95, Chiang '97)";
        LogBlock = "log-block", "block mapping, a log block for each block being written (Lee '07)";
        PrimaryReplacement = "primary-replacement", "block mapping, primary and replacement blocks (FSAF '09)";
        Fast = "fast", "block mapping, log blocks shared by all (FAST)";
        FastByStream = "fast-by-stream", "as fast, but streams do not share log blocks (after Lim '14)";
        InPlace = "in-place", "update in place, the baseline of Chiang '97";
    }
}

choices! {
    /// How records lie on flash.
    Layout {
        Plain = "plain", "data only: what the models and the papers' counts assume";
        Nand = "nand", "tags in the spare bytes, and a summary in each segment";
        Nor = "nor", "headers and flags that are cleared in place, as in the papers";
    }
}

choices! {
    /// Whether file systems are seen from below, and how much is believed of what is seen.
    AwareMode {
        Off = "off", "no inference";
        Paper = "paper", "a freed cluster is dead at once (FSAF '09): loses data under hosts that keep writes back";
        OrderedHost = "ordered-host", "dead two flushes later, for hosts that write in order";
        Strict = "strict", "dead after a whole epoch of the hold time without a sign of life, for any host";
    }
}

choices! {
    /// Where the streams of writes come from.
    StreamSource {
        Host = "host", "the workload's own, if it has any";
        Inferred = "inferred", "from the kind of data, where the workload gives none; needs inference";
    }
}

/// A run, as the command line describes it. `None` leaves a choice to its default.
#[derive(Debug, Clone, PartialEq)]
pub struct RunConfig {
    /// The chip.
    pub chip: ChipProfile,
    /// Whether it keeps bytes.
    pub data: DataMode,
    /// The translation layer.
    pub ftl: Engine,
    /// By default `plain`; with stored data that of the chip's kind.
    pub layout: Option<Layout>,
    /// By default the chip's own watermark, else 3:4.
    pub when: Option<WhenSpec>,
    /// Which segment cleaning takes.
    pub which: WhichSpec,
    /// Where pages go.
    pub place: PlaceSpec,
    /// Wear leveling; by default none, and for `primary-replacement` that of FSAF's set-up, a threshold of 15.
    pub wear: Option<WearSpec>,
    /// How block mapping recycles log blocks.
    pub recycle: RecycleSpec,
    /// Log blocks of block mapping.
    pub log_blocks: u32,
    /// Capacity for the host, in bytes; by default the chip's own.
    pub logical_bytes: Option<u64>,
    /// Part of it that is written first, in sequence, and that the workload stays inside; by default all, and with a
    /// program over files nothing, since formatting takes its place, with a volume of the whole capacity.
    pub fill: Option<Percent>,
    /// What the host does.
    pub workload: WorkloadSpec,
    /// Bytes that the host writes, rounded up to whole units; by default four times the capacity, all of a
    /// trace, and the transactions of a program.
    pub write_bytes: Option<u64>,
    /// Bytes of a request of a synthetic workload; by default a page.
    pub unit_bytes: Option<u64>,
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// The host's own time for every page it asks for, in microseconds.
    pub host_us_per_page: f64,
    /// Inference of dead data.
    pub aware: AwareMode,
    /// Least duration of an epoch of the inference, in seconds of simulated time.
    pub hold_s: f64,
    /// Least number of flushes in such an epoch.
    pub hold_flushes: u32,
    /// Where streams come from.
    pub streams: StreamSource,
    /// Part of the requests to write that carry another stream's ID than theirs.
    pub wrong_streams: Percent,
}

impl RunConfig {
    /// A run with the defaults for everything else.
    pub fn new(chip: ChipProfile, workload: WorkloadSpec) -> Self {
        Self {
            chip,
            data: DataMode::None,
            ftl: Engine::Page,
            layout: None,
            when: None,
            which: WhichSpec::Greedy,
            place: PlaceSpec::Single,
            wear: None,
            recycle: RecycleSpec::DEFAULT,
            log_blocks: LOG_BLOCKS,
            logical_bytes: None,
            fill: None,
            workload,
            write_bytes: None,
            unit_bytes: None,
            seed: 1,
            host_us_per_page: 0.0,
            aware: AwareMode::Off,
            hold_s: 60.0,
            hold_flushes: 1,
            streams: StreamSource::Host,
            wrong_streams: Percent::ZERO,
        }
    }

    /// The settings of the inference; none if there is none.
    pub(super) fn inference(&self) -> Option<wearwell_aware::Config> {
        let mode = match self.aware {
            AwareMode::Off => return None,
            AwareMode::Paper => Mode::Paper,
            AwareMode::OrderedHost => Mode::OrderedHost,
            AwareMode::Strict => Mode::Strict,
        };
        let streams = match self.streams {
            StreamSource::Host => Streams::NONE,
            StreamSource::Inferred => Streams::DEFAULT,
        };
        Some(wearwell_aware::Config { mode, hold_us: (self.hold_s * 1e6) as u64, flushes: self.hold_flushes, streams })
    }
}

/// A run with every choice made and checked as far as that needs no engine.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) layout: Layout,
    pub(super) when: WhenSpec,
    pub(super) wear: WearSpec,
    pub(super) logical_bytes: u64,
    pub(super) logical_pages: u32,
    pub(super) fill: Percent,
    pub(super) fill_pages: u32,
    /// Pages that the workload stays inside.
    pub(super) range_pages: u32,
    /// None: a trace or a program, whole.
    pub(super) write_bytes: Option<u64>,
    pub(super) unit_bytes: u64,
}

impl Plan {
    pub(super) fn new(config: &RunConfig, trace: Option<&Trace>) -> Result<Self, RunError> {
        let page_bytes = u64::from(config.chip.page_bytes);
        let logical_bytes = config.logical_bytes.unwrap_or(config.chip.logical_bytes);
        if !logical_bytes.is_multiple_of(page_bytes) {
            return Err(RunError::LogicalNotWhole { logical_bytes, page_bytes });
        }
        let logical_pages = u32::try_from(logical_bytes / page_bytes)
            .map_err(|_| RunError::TooManyPages { pages: logical_bytes / page_bytes })?;
        let is_program = matches!(config.workload, WorkloadSpec::Files(_));
        let fill = config.fill.unwrap_or(if is_program { Percent::ZERO } else { Percent::FULL });
        // No more than the logical pages, which fit.
        let fill_pages = fill.of(u64::from(logical_pages)) as u32;
        let range_pages = if is_program && config.fill.is_none() { logical_pages } else { fill_pages };
        let unit_bytes = config.unit_bytes.unwrap_or(page_bytes);
        if trace.is_none() && !is_program {
            check_unit(unit_bytes, page_bytes)?;
        }
        let write_bytes = match (config.write_bytes, trace) {
            (Some(bytes), _) => Some(bytes),
            (None, Some(_)) => None,
            (None, None) if is_program => None,
            (None, None) => Some(logical_bytes.saturating_mul(DEFAULT_OVERWRITES)),
        };
        if let Some(trace) = trace {
            check_trace(trace, logical_bytes)?;
        }
        if !(config.host_us_per_page.is_finite() && (0.0..=1e9).contains(&config.host_us_per_page)) {
            return Err(RunError::HostTime { us: config.host_us_per_page });
        }
        check_inference(config)?;
        let when = match (&config.when, &config.chip.watermark) {
            (Some(when), _) => *when,
            (None, Some(marks)) => WhenSpec::parse(&format!("watermark:{marks}"))
                .ok_or_else(|| RunError::Watermark { chip: config.chip.name.clone(), marks: marks.clone() })?,
            (None, None) => WhenSpec::DEFAULT,
        };
        let layout = layout_of(config)?;
        let wear = config.wear.unwrap_or(match config.ftl {
            Engine::PrimaryReplacement => WearSpec::StaticThreshold(StaticThreshold { threshold: 15 }),
            _ => WearSpec::None(NoLeveling),
        });
        Ok(Self {
            layout,
            when,
            wear,
            logical_bytes,
            logical_pages,
            fill,
            fill_pages,
            range_pages,
            write_bytes,
            unit_bytes,
        })
    }

    /// Sectors of a page.
    pub(super) fn sectors_per_page(page_bytes: u32) -> u64 {
        u64::from(page_bytes / SECTOR_BYTES)
    }
}

/// A request lies in one page, or is made of whole ones.
fn check_unit(unit_bytes: u64, page_bytes: u64) -> Result<(), RunError> {
    let fits = unit_bytes.is_multiple_of(page_bytes) || page_bytes.is_multiple_of(unit_bytes.max(1));
    if unit_bytes == 0 || !unit_bytes.is_multiple_of(u64::from(SECTOR_BYTES)) || !fits {
        return Err(RunError::Unit { unit_bytes, page_bytes });
    }
    Ok(())
}

/// Inference reads what the host writes, and its epochs need a clock.
fn check_inference(config: &RunConfig) -> Result<(), RunError> {
    if config.aware == AwareMode::Off {
        return if config.streams == StreamSource::Inferred { Err(RunError::StreamsWithoutInference) } else { Ok(()) };
    }
    let tells = match config.workload {
        WorkloadSpec::Files(_) => true,
        // Nothing in ext is inferred to be dead.
        WorkloadSpec::Journal(_) => config.streams == StreamSource::Inferred,
        _ => false,
    };
    if !tells || config.data != DataMode::Stored {
        return Err(RunError::NothingToInfer { data: config.data });
    }
    if config.aware == AwareMode::Strict && config.chip.times.is_none() && config.host_us_per_page <= 0.0 {
        return Err(RunError::InferenceWithoutTime { chip: config.chip.name.clone() });
    }
    if config.hold_s.is_finite() && (0.0..=1e9).contains(&config.hold_s) {
        return Ok(());
    }
    Err(RunError::Hold { hold_s: config.hold_s })
}

fn check_trace(trace: &Trace, logical_bytes: u64) -> Result<(), RunError> {
    match trace.requests.iter().position(|request| request.end_bytes() > logical_bytes) {
        None => Ok(()),
        Some(index) => Err(RunError::TraceBeyondEnd {
            request: index as u64 + 1,
            request_end_bytes: trace.requests[index].end_bytes(),
            end_bytes: trace.end_bytes(),
            logical_bytes,
        }),
    }
}

/// The layout asked for, or the default one: `plain` where nothing is stored, else that of the chip's kind.
fn layout_of(config: &RunConfig) -> Result<Layout, RunError> {
    let (kind, stores) = (config.chip.kind, config.data == DataMode::Stored);
    let native = match kind {
        ChipKind::Nand => Layout::Nand,
        ChipKind::Nor => Layout::Nor,
    };
    if config.ftl == Engine::InPlace {
        return match config.layout {
            None | Some(Layout::Plain) if stores && kind == ChipKind::Nor => Err(RunError::InPlaceStoredOnNor),
            None | Some(Layout::Plain) => Ok(Layout::Plain),
            Some(_) => Err(RunError::LayoutInPlace),
        };
    }
    let layout = config.layout.unwrap_or(if stores { native } else { Layout::Plain });
    if layout == Layout::Nor && config.ftl != Engine::Page {
        return Err(RunError::LayoutOfBlocks { ftl: config.ftl });
    }
    // Plain pages have no place on a NOR chip: over one that only counts, they are its data pages.
    let possible = layout == native || (layout == Layout::Plain && (kind == ChipKind::Nand || !stores));
    if possible { Ok(layout) } else { Err(RunError::LayoutForKind { layout, kind, native }) }
}
