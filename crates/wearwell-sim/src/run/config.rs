//! The configuration of a run, and what follows from it.

use wearwell::SECTOR_BYTES;
use wearwell_emu::ChipProfile;

use super::error::RunError;
use crate::engine::{AwareMode, DataMode, EnginePlan, EngineSpec, StreamSource};
use crate::size::Percent;
use crate::trace::{Trace, TraceFormat};
use crate::workload::WorkloadSpec;

/// Host bytes that a synthetic workload writes by default, as a multiple of the exported capacity.
const DEFAULT_OVERWRITES: u64 = 4;

/// When the requests of a trace arrive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Each as soon as the previous one is complete.
    Chip,
    /// At the recorded times, sped up by `speedup`. A request that arrives during another one waits for it.
    Trace {
        /// How many times as fast; above 0.
        speedup: f64,
    },
}

impl Pace {
    /// When a request arrives, in nanoseconds from the first; none if arrivals do not count.
    pub(super) fn arrival_ns(self, time_us: u64) -> Option<u64> {
        match self {
            Self::Chip => None,
            Self::Trace { speedup } => Some((time_us as f64 * 1e3 / speedup) as u64),
        }
    }
}

/// A run, as the command line describes it. `None` leaves a choice to its default.
#[derive(Debug, Clone, PartialEq)]
pub struct RunConfig {
    /// The chip, and the engine on it.
    pub engine: EngineSpec,
    /// Whether the chip keeps bytes.
    pub data: DataMode,
    /// Part of the capacity that is written first, in sequence. The workload stays inside it. By default it is all of
    /// the capacity. With a program over files it is nothing, because formatting takes its place, and the volume has
    /// the whole capacity. With a recording it is nothing.
    pub fill: Option<Percent>,
    /// Where the volume of a program over files begins, in bytes. If it is not 0, there is a partition table.
    pub volume_at_bytes: u64,
    /// What the host does.
    pub workload: WorkloadSpec,
    /// Bytes that the host writes, rounded up to whole units. By default four times the capacity, the whole trace, or
    /// all transactions of a program.
    pub write_bytes: Option<u64>,
    /// Bytes of a request of a synthetic workload; by default a page.
    pub unit_bytes: Option<u64>,
    /// When the requests of a trace arrive. A recording is always replayed at its recorded times.
    pub pace: Pace,
    /// The host's own time for each page of a request, in microseconds.
    pub host_us_per_page: f64,
    /// Part of the write requests that carry a wrong stream ID.
    pub wrong_streams: Percent,
    /// True if the host says of pages that the run writes at most once that they are read-only.
    pub gives_hints: bool,
    /// Bytes that the host writes in each window of the report; none for no windows.
    pub window_bytes: Option<u64>,
}

impl RunConfig {
    /// A run with the defaults for everything else.
    pub fn new(chip: ChipProfile, workload: WorkloadSpec) -> Self {
        Self {
            engine: EngineSpec::new(chip),
            data: DataMode::None,
            fill: None,
            volume_at_bytes: 0,
            workload,
            write_bytes: None,
            unit_bytes: None,
            pace: Pace::Chip,
            host_us_per_page: 0.0,
            wrong_streams: Percent::ZERO,
            gives_hints: false,
            window_bytes: None,
        }
    }

    /// About how many bytes of memory the run takes, beside the requests of its trace. 0 if it makes no sense.
    pub fn memory_bytes(&self) -> u64 {
        let Ok(plan) = self.engine.plan(self.data) else { return 0 };
        let chip = &self.engine.chip;
        let stored_bytes = match self.data {
            DataMode::None => 0,
            DataMode::Stored => chip.pages() * u64::from(chip.page_bytes + chip.spare_bytes),
        };
        plan.table_bytes() + stored_bytes
    }
}

/// A run with all choices made, checked as far as possible without an engine.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) engine: EnginePlan,
    pub(super) fill: Percent,
    pub(super) fill_pages: u32,
    /// Pages that the workload stays inside.
    pub(super) range_pages: u32,
    /// None for a whole trace or program.
    pub(super) write_bytes: Option<u64>,
    pub(super) unit_bytes: u64,
    /// The first sector of a program's volume.
    pub(super) volume_at: u64,
}

impl Plan {
    pub(super) fn new(config: &RunConfig, trace: Option<&Trace>) -> Result<Self, RunError> {
        let engine = config.engine.plan(config.data)?;
        let page_bytes = u64::from(config.engine.chip.page_bytes);
        let (logical_bytes, logical_pages) = (engine.logical_bytes, engine.logical_pages);
        let is_program = matches!(config.workload, WorkloadSpec::Files(_));
        // A recording starts on an empty disk.
        let starts_empty = is_program || trace.is_some_and(|trace| trace.format == TraceFormat::Recording);
        let fill = config.fill.unwrap_or(if starts_empty { Percent::ZERO } else { Percent::FULL });
        // At most the logical pages, so it fits.
        let fill_pages = fill.of(u64::from(logical_pages)) as u32;
        // A program formats a volume over the whole capacity, unless a fill bounds it.
        let range_pages = if is_program && config.fill.is_none() { logical_pages } else { fill_pages };
        let unit_bytes = config.unit_bytes.unwrap_or(page_bytes);
        // Traces and programs have no unit, but one that was given has to make sense.
        if config.unit_bytes.is_some() || (trace.is_none() && !is_program) {
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
        check_pace(config, trace)?;
        check_window(config.window_bytes, page_bytes)?;
        check_inference(config)?;
        if config.gives_hints && matches!(config.workload, WorkloadSpec::Files(_) | WorkloadSpec::Journal(_)) {
            return Err(RunError::HintsOfProgram);
        }
        let volume_at = volume_at(config, u64::from(range_pages) * page_bytes)?;
        Ok(Self { engine, fill, fill_pages, range_pages, write_bytes, unit_bytes, volume_at })
    }

    /// Sectors of a page.
    pub(super) fn sectors_per_page(page_bytes: u32) -> u64 {
        u64::from(page_bytes / SECTOR_BYTES)
    }
}

/// Checks that a request lies in one page or consists of whole pages.
fn check_unit(unit_bytes: u64, page_bytes: u64) -> Result<(), RunError> {
    let fits = unit_bytes.is_multiple_of(page_bytes) || page_bytes.is_multiple_of(unit_bytes.max(1));
    if unit_bytes == 0 || !unit_bytes.is_multiple_of(u64::from(SECTOR_BYTES)) || !fits {
        return Err(RunError::Unit { unit_bytes, page_bytes });
    }
    Ok(())
}

/// Checks that a window holds at least a page.
fn check_window(window_bytes: Option<u64>, page_bytes: u64) -> Result<(), RunError> {
    match window_bytes {
        Some(window_bytes) if window_bytes < page_bytes => Err(RunError::Window { window_bytes, page_bytes }),
        _ => Ok(()),
    }
}

/// Checks that recorded arrivals belong to a trace and that the chip has a clock.
fn check_pace(config: &RunConfig, trace: Option<&Trace>) -> Result<(), RunError> {
    let Pace::Trace { speedup } = config.pace else { return Ok(()) };
    if trace.is_none() {
        return Err(RunError::PaceWithoutTrace);
    }
    let chip = &config.engine.chip;
    // A host with its own time has a clock even on a chip without times.
    if chip.times.is_none() && config.host_us_per_page <= 0.0 {
        return Err(RunError::PaceWithoutTime { chip: chip.name.clone() });
    }
    let makes_sense = speedup.is_finite() && (1e-9..=1e9).contains(&speedup);
    if makes_sense { Ok(()) } else { Err(RunError::Speedup { speedup }) }
}

/// Checks that inference can read what the host writes, and that its epochs have a clock.
fn check_inference(config: &RunConfig) -> Result<(), RunError> {
    let EngineSpec { aware, chip, .. } = &config.engine;
    if *aware == AwareMode::Off {
        return Ok(());
    }
    let tells = match config.workload {
        WorkloadSpec::Files(_) => true,
        // No dead data is inferred in ext, so only streams need the inference.
        WorkloadSpec::Journal(_) => config.engine.streams == StreamSource::Inferred,
        _ => false,
    };
    // Only a file system writes tables that can be read, and only stored bytes can be read back.
    if !tells || config.data != DataMode::Stored {
        return Err(RunError::NothingToInfer { data: config.data });
    }
    // Without a clock no epoch of `strict` would end, and nothing would ever be dead.
    if *aware == AwareMode::Strict && chip.times.is_none() && config.host_us_per_page <= 0.0 {
        return Err(RunError::InferenceWithoutTime { chip: chip.name.clone() });
    }
    Ok(())
}

/// The first sector of a program's volume, in a range of `range_bytes` bytes.
fn volume_at(config: &RunConfig, range_bytes: u64) -> Result<u64, RunError> {
    let at_bytes = config.volume_at_bytes;
    let is_program = matches!(config.workload, WorkloadSpec::Files(_));
    if at_bytes == 0 || (is_program && at_bytes.is_multiple_of(u64::from(SECTOR_BYTES)) && at_bytes < range_bytes) {
        return Ok(at_bytes / u64::from(SECTOR_BYTES));
    }
    Err(RunError::VolumeAt { at_bytes, range_bytes, is_program })
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
