//! One run: a chip, an engine and a host, from the fill to the report.
//!
//! - [`run`] does what `wearwell run` does: [`RunConfig`] in, [`Report`] out. The engine code is compiled for every
//!   combination of engine, layout and chip, so that nothing is decided anew for every page.
//! - The host issues one command at a time, the next as soon as the last is complete. Requests of a trace are not
//!   held back until the time at which they were recorded. Idle time is what `--host-us-per-page` makes; a policy
//!   that cleans when idle cleans in it.
//! - A program over files ([`crate::workload::files`]) runs on a FAT volume in memory; what its file system does is
//!   issued transaction by transaction. Formatting and the program's first files come before the counters start.
//! - A journaling file system ([`crate::workload::journal`]) lies in the part that was filled, and its files are made
//!   before the counters start.
//! - With stored data every write has content of its own ([`content`]), every read is compared, and at the end all
//!   sectors are read back. A program's volume is stored as it is; so file systems can be seen from below
//!   ([`RunConfig::aware`]). Sectors then may also read as zeros at the end; but the files are compared as a file system reads them.

mod chip;
mod clock;
mod config;
pub mod content;
mod error;
mod host;
mod report;
mod streams;

use std::time::Instant;

use wearwell::logblock::{BlockConfig, BlockFtl, Costs, Pages, PlainPages, Scheme, TaggedPages};
use wearwell::page::log::{Log, NandLayoutError, NandLog, NorLog, PlainLog};
use wearwell::page::{Config, ConfigError, MountError, PageFtl, Policies};
use wearwell::{Ftl, InPlaceFtl, WhenSpec};
use wearwell_aware::Aware;
use wearwell_emu::{ChipProfile, CountChip, EmuNand, EmuNor, Faults};

pub use chip::OnChip;
pub use config::{AwareMode, DataMode, Engine, Layout, RunConfig, StreamSource};
pub use error::RunError;
pub use report::{Counters, EraseCount, Inferred, LatencyUs, Report, ReportConfig};
pub use streams::StreamPages;

use config::Plan;
use host::Host;
use report::Measured;
use streams::WrongStreams;

use crate::trace::{Trace, TraceError};
use crate::workload::{FileWorkload, Generator, JournalWorkload, WorkloadSpec};

/// Hears how far a run has come.
pub trait Progress {
    /// A part of the run begins, of so many steps.
    fn begin(&mut self, phase: &'static str, steps: u64) {
        let _ = (phase, steps);
    }
    /// So many of them are done.
    fn advance(&mut self, done: u64) {
        let _ = done;
    }
}

impl Progress for () {}

/// Reads the trace of a workload, if it is one; of the `device` named, if the trace has several.
///
/// # Errors
/// As [`crate::trace::open`] and [`crate::trace::open_device`].
pub fn load(workload: &WorkloadSpec, device: Option<&str>) -> Result<Option<Trace>, TraceError> {
    match (workload, device) {
        (WorkloadSpec::Trace(path), None) => crate::trace::open(path).map(Some),
        (WorkloadSpec::Trace(path), Some(device)) => crate::trace::open_device(path, device).map(Some),
        _ => Ok(None),
    }
}

/// Does a run. `trace` is what [`load`] made of its workload.
///
/// # Errors
/// A refusal ([`RunError::is_refusal`]) if the configuration makes no sense; otherwise what was found wrong.
pub fn run(config: &RunConfig, trace: Option<&Trace>, progress: &mut dyn Progress) -> Result<Report, RunError> {
    if matches!(config.workload, WorkloadSpec::Trace(_)) && trace.is_none() {
        return Err(RunError::NoTrace);
    }
    let plan = Plan::new(config, trace)?;
    let run = Run { config, plan: &plan, trace };
    match config.ftl {
        Engine::Page => run.with_page_mapping(progress),
        Engine::InPlace => run.with_updates_in_place(progress),
        Engine::LogBlock => run.with_block_mapping(Scheme::LogBlock(config.recycle), progress),
        Engine::PrimaryReplacement => run.with_block_mapping(Scheme::PrimaryReplacement, progress),
        Engine::Fast => run.with_block_mapping(Scheme::Fast, progress),
        Engine::FastByStream => run.with_block_mapping(Scheme::FastByStream, progress),
    }
}

/// The flag whose value an engine does not take.
fn flag_of(error: ConfigError) -> &'static str {
    match error {
        ConfigError::NoPages | ConfigError::TooLarge { .. } => "--logical",
        ConfigError::Watermark(_) => "--when",
        ConfigError::TooFewLogBlocks { .. } => "--log-blocks",
        _ => "--chip",
    }
}

/// What recycling costs on a chip, in microseconds; on one without times what it costs on Lee's.
fn recycling_costs(chip: &ChipProfile) -> Costs {
    let Some(times) = &chip.times else { return Costs::LEE_TABLE_1 };
    let page_bytes = f64::from(chip.page_bytes + chip.spare_bytes);
    let transfer_us = times.bus_bytes_per_us.map_or(0.0, |rate| page_bytes / rate);
    let read_us = times.read_us + times.read_us_per_byte * page_bytes;
    let program_us = times.program_us + times.program_us_per_byte * page_bytes;
    let over_the_bus = if chip.copy_back { 0.0 } else { 2.0 * transfer_us };
    Costs { erase: times.erase_us, copy: read_us + program_us + over_the_bus }
}

/// What a run consists of, before there is an engine.
struct Run<'a> {
    config: &'a RunConfig,
    plan: &'a Plan,
    trace: Option<&'a Trace>,
}

impl Run<'_> {
    fn policies(&self) -> Policies {
        let RunConfig { which, place, .. } = *self.config;
        Policies { when: self.plan.when, which, place, wear: self.plan.wear }
    }

    /// The page-mapped engine: an arm for each layout on each chip that it lies on.
    fn with_page_mapping(&self, progress: &mut dyn Progress) -> Result<Report, RunError> {
        let chip = &self.config.chip;
        let (stripe, slots, page_bytes) = (chip.stripe, chip.pages_per_block, chip.page_bytes);
        match (self.plan.layout, self.config.data) {
            (Layout::Plain, DataMode::None) => self.on_page(PlainLog::new(CountChip::new(chip), stripe), progress),
            (Layout::Plain, DataMode::Stored) => self.on_page(PlainLog::new(self.emulated_nand()?, stripe), progress),
            (Layout::Nand, DataMode::None) => self.on_log(NandLog::new(CountChip::new(chip), stripe), progress),
            (Layout::Nand, DataMode::Stored) => self.on_log(NandLog::new(self.emulated_nand()?, stripe), progress),
            (Layout::Nor, DataMode::None) => {
                self.on_log(NorLog::new(CountChip::new(chip), slots, page_bytes), progress)
            }
            (Layout::Nor, DataMode::Stored) => {
                self.on_log(NorLog::new(self.emulated_nor()?, slots, page_bytes), progress)
            }
        }
    }

    fn with_updates_in_place(&self, progress: &mut dyn Progress) -> Result<Report, RunError> {
        let chip = &self.config.chip;
        let pages = self.plan.logical_pages;
        if self.config.data == DataMode::None {
            let ftl = InPlaceFtl::format(CountChip::new(chip), pages);
            return self.on(ftl.map_err(|error| self.not_made(error))?, progress);
        }
        let ftl = InPlaceFtl::format(self.emulated_nand()?, pages);
        self.on(ftl.map_err(|error| self.not_made(error))?, progress)
    }

    /// Block mapping: an arm for each layout on each chip that it lies on.
    fn with_block_mapping(&self, scheme: Scheme, progress: &mut dyn Progress) -> Result<Report, RunError> {
        let (chip, layout) = (&self.config.chip, self.plan.layout);
        let refused = |error: NandLayoutError| RunError::LayoutRefused { layout, reason: error.to_string() };
        match (layout, self.config.data) {
            (Layout::Plain, DataMode::None) => {
                self.on_blocks(PlainPages::new(CountChip::new(chip), chip.stripe), scheme, progress)
            }
            (Layout::Plain, DataMode::Stored) => {
                self.on_blocks(PlainPages::new(self.emulated_nand()?, chip.stripe), scheme, progress)
            }
            (Layout::Nand, DataMode::None) => {
                let pages = TaggedPages::new(CountChip::new(chip), chip.stripe).map_err(refused)?;
                self.on_blocks(pages, scheme, progress)
            }
            (Layout::Nand, DataMode::Stored) => {
                let pages = TaggedPages::new(self.emulated_nand()?, chip.stripe).map_err(refused)?;
                self.on_blocks(pages, scheme, progress)
            }
            (Layout::Nor, _) => Err(RunError::LayoutOfBlocks { ftl: self.config.ftl }),
        }
    }

    /// Block mapping over pages.
    fn on_blocks<M: Pages + OnChip>(
        &self,
        pages: M,
        scheme: Scheme,
        progress: &mut dyn Progress,
    ) -> Result<Report, RunError> {
        let config = BlockConfig {
            logical_pages: self.plan.logical_pages,
            scheme,
            log_blocks: self.config.log_blocks,
            wear: self.plan.wear,
            costs: recycling_costs(&self.config.chip),
            endurance: self.config.chip.endurance_cycles,
        };
        let ftl = BlockFtl::format(pages, (), config).map_err(|error| self.not_made(error))?;
        self.on(ftl, progress)
    }

    fn emulated_nand(&self) -> Result<EmuNand, RunError> {
        Ok(EmuNand::in_memory(&self.config.chip, Faults::default())?)
    }

    fn emulated_nor(&self) -> Result<EmuNor, RunError> {
        let mut chip = EmuNor::in_memory(&self.config.chip, Faults::default())?;
        if self.config.chip.times.is_none() {
            // Over at the next call, as on a chip that only counts.
            chip.set_erase_calls(1);
        }
        Ok(chip)
    }

    /// The page-mapped engine over a log that may not fit its chip.
    fn on_log<L: Log + OnChip>(
        &self,
        log: Result<L, impl std::error::Error>,
        progress: &mut dyn Progress,
    ) -> Result<Report, RunError> {
        let refused = |reason: String| RunError::LayoutRefused { layout: self.plan.layout, reason };
        self.on_page(log.map_err(|error| refused(error.to_string()))?, progress)
    }

    /// The page-mapped engine over a log.
    fn on_page<L: Log + OnChip>(&self, log: L, progress: &mut dyn Progress) -> Result<Report, RunError> {
        let config = Config {
            logical_pages: self.plan.logical_pages,
            policies: self.policies(),
            seed: self.config.seed,
            endurance: self.config.chip.endurance_cycles,
        };
        let ftl = PageFtl::format(log, (), config).map_err(|error| self.not_made(error))?;
        self.on(ftl, progress)
    }

    fn not_made(&self, error: MountError) -> RunError {
        let page_bytes = u64::from(self.config.chip.page_bytes);
        match error {
            MountError::Config(ConfigError::TooLarge { physical_pages, reserve_pages, .. }) => {
                RunError::LogicalTooLarge {
                    logical_bytes: self.plan.logical_bytes,
                    physical_bytes: physical_pages * page_bytes,
                    reserve_bytes: reserve_pages * page_bytes,
                }
            }
            MountError::Config(error) => RunError::Engine { flag: flag_of(error), error },
            error => RunError::Format(error),
        }
    }

    /// Any engine, with inference in front of it if that is wanted.
    fn on<F: Ftl + OnChip>(&self, mut ftl: F, progress: &mut dyn Progress) -> Result<Report, RunError> {
        let Some(inference) = self.config.inference() else { return self.drive(&mut ftl, progress) };
        let mut aware = Aware::new(ftl, inference);
        let report = self.drive(&mut aware, progress)?;
        Ok(Report { inferred: Some(Inferred::new(&aware.counters(), aware.table_bytes())), ..report })
    }

    /// Drives an engine.
    fn drive<F: Ftl + OnChip>(&self, ftl: &mut F, progress: &mut dyn Progress) -> Result<Report, RunError> {
        let mut source = self.source()?;
        let stores = self.config.data == DataMode::Stored;
        let mut host = Host::new(ftl, stores, self.config.host_us_per_page, progress);
        host.wrong_streams = WrongStreams::new(self.config.wrong_streams, self.config.seed);
        host.cleans_when_idle = matches!(self.plan.when, WhenSpec::Idle { .. });
        host.infers = self.config.aware != AwareMode::Off;
        host.fill(self.plan.fill_pages)?;
        if let Source::Files(files) = &mut source {
            host.set_up(files)?;
        }
        if let Source::Journal(journal) = &mut source {
            host.create_files(journal)?;
        }
        host.ftl().reset_stats();
        let erases_before: Vec<u32> = host.ftl().erase_counts().collect();
        let began_ns = host.clock.as_ref().map(|clock| clock.now_ns());
        let began = Instant::now();
        match &mut source {
            Source::Trace(trace) => host.replay(&trace.requests, self.config.write_bytes)?,
            Source::Drawn(generator, units) => {
                let sectors = self.plan.unit_bytes / u64::from(wearwell::SECTOR_BYTES);
                host.write_units(&mut |out| generator.fill(out), *units, sectors)?;
            }
            Source::Files(files) => host.transact(files, self.config.write_bytes)?,
            Source::Journal(journal) => host.write_files(journal, self.plan.write_bytes.unwrap_or(0))?,
        }
        let wall_seconds = began.elapsed().as_secs_f64();
        let timed = self.config.chip.times.is_some();
        let clock = host.clock.as_ref().filter(|_| timed);
        let measured = Measured {
            wall_seconds,
            sim_seconds: clock.zip(began_ns).map(|(clock, began_ns)| (clock.now_ns() - began_ns) as f64 / 1e9),
            latency_us: clock.and_then(|clock| clock.latency_us()),
            host_written_bytes: host.written_bytes,
            host_read_bytes: host.read_bytes,
        };
        let config = self.report_config(host.ftl());
        let streams = host.streams.list();
        let mut report = Report { streams, ..Report::new(host.ftl(), config, &measured, &erases_before) };
        if stores {
            host.verify()?;
            report.verified_sectors = Some(host.ftl().sectors());
            if let Source::Files(files) = &mut source {
                report.verified_files = host.verify_files(files)?;
            }
        }
        Ok(report)
    }

    /// Where the host's requests come from.
    fn source(&self) -> Result<Source<'_>, RunError> {
        if let Some(trace) = self.trace {
            return Ok(Source::Trace(trace));
        }
        let range_bytes = u64::from(self.plan.range_pages) * u64::from(self.config.chip.page_bytes);
        if let WorkloadSpec::Files(files) = &self.config.workload {
            let sectors = range_bytes / u64::from(wearwell::SECTOR_BYTES);
            let stores = self.config.data == DataMode::Stored;
            let workload = FileWorkload::new(files, sectors, stores, self.config.seed).map_err(RunError::Volume)?;
            return Ok(Source::Files(Box::new(workload)));
        }
        if let WorkloadSpec::Journal(settings) = &self.config.workload {
            let journal = JournalWorkload::new(*settings, range_bytes, self.config.seed)?;
            return Ok(Source::Journal(Box::new(journal)));
        }
        let unit_bytes = self.plan.unit_bytes;
        if range_bytes < unit_bytes {
            return Err(RunError::FillTooSmall { fill: self.plan.fill, unit_bytes });
        }
        let generator = Generator::new(&self.config.workload, range_bytes / unit_bytes, unit_bytes, self.config.seed)?;
        let units = self.plan.write_bytes.unwrap_or(0).div_ceil(unit_bytes);
        Ok(Source::Drawn(Box::new(generator), units))
    }

    /// True if the engine has a pool of log blocks.
    fn has_log_blocks(&self) -> bool {
        matches!(self.config.ftl, Engine::LogBlock | Engine::Fast | Engine::FastByStream)
    }

    /// True if the workload is a pattern that units are drawn from.
    fn draws(&self) -> bool {
        self.trace.is_none() && !matches!(self.config.workload, WorkloadSpec::Files(_) | WorkloadSpec::Journal(_))
    }

    fn report_config<F: Ftl>(&self, ftl: &F) -> ReportConfig {
        let (config, plan, limits) = (self.config, self.plan, ftl.limits());
        ReportConfig {
            chip: config.chip.name.clone(),
            data: config.data.to_string(),
            ftl: config.ftl.to_string(),
            layout: plan.layout.to_string(),
            when: plan.when.to_string(),
            which: config.which.to_string(),
            r#where: config.place.to_string(),
            wear: plan.wear.to_string(),
            recycle: (config.ftl == Engine::LogBlock).then(|| config.recycle.to_string()),
            log_blocks: self.has_log_blocks().then_some(config.log_blocks),
            logical: plan.logical_bytes,
            fill: format!("{}%", plan.fill),
            workload: config.workload.to_string(),
            write: plan.write_bytes,
            unit: self.draws().then_some(plan.unit_bytes),
            seed: config.seed,
            host_us_per_page: config.host_us_per_page,
            aware: config.aware.to_string(),
            hold_s: (config.aware == AwareMode::Strict).then_some(config.hold_s),
            hold_flushes: (config.aware == AwareMode::Strict).then_some(config.hold_flushes),
            streams: config.streams.to_string(),
            wrong_streams: format!("{}%", config.wrong_streams),
            page_bytes: ftl.page_bytes(),
            pages_per_segment: limits.pages_per_segment,
            segments: limits.segments,
            logical_pages: limits.logical_pages,
            physical_pages: limits.physical_pages,
            fill_pages: u64::from(plan.fill_pages),
            max_ops_per_host_page: limits.max_ops_per_host_page,
            endurance_cycles: config.chip.endurance_cycles,
            table_bytes: limits.table_bytes,
            table_bytes_per_logical_page: limits.table_bytes as f64 / limits.logical_pages as f64,
            table_bytes_per_physical_page: limits.table_bytes as f64 / limits.physical_pages as f64,
        }
    }
}

enum Source<'a> {
    Trace(&'a Trace),
    Drawn(Box<Generator>, u64),
    Files(Box<FileWorkload>),
    Journal(Box<JournalWorkload>),
}
