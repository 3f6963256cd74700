//! One run: a chip, an engine and a host, from the fill to the report.
//!
//! - [`run`] does what `wearwell run` does: [`RunConfig`] in, [`Report`] out. The engine code is compiled for every
//!   combination of engine, layout and chip ([`crate::engine`]), so that nothing has to be decided for each page.
//! - The host issues one command at a time, the next as soon as the last is complete. With [`Pace::Trace`] requests of
//!   a trace wait for their recorded times. A recording of a served disk is always replayed at its recorded times.
//!   Otherwise only `--host-us-per-page` makes idle time. A policy that cleans when idle cleans in idle time.
//! - A program over files ([`crate::workload::files`]) runs on a FAT volume in memory. The requests of its file system
//!   are issued transaction by transaction. Formatting and the program's first files come before the counters start.
//! - A journaling file system ([`crate::workload::journal`]) lies in the part that was filled, and its files are made
//!   before the counters start.
//! - With stored data every write has content of its own ([`content`]), every read is compared, and at the end all
//!   sectors are read back. A program's volume is stored as it is, so inference can read it
//!   ([`crate::engine::EngineSpec::aware`]). With inference, sectors may also read as zeros at the end. Files are
//!   compared as a file system reads them, without that exception.

mod announce;
mod clock;
mod config;
pub mod content;
mod error;
mod host;
mod meter;
mod observe;
mod once;
mod programs;
mod report;
mod streams;
mod warnings;

use std::time::Instant;

use wearwell::CleaningTrigger;
use wearwell::page::MountReport;
use wearwell_emu::{AnyStore, CountChip, EmuChip, EmuNand, EmuNor, Faults};

pub use clock::Latencies;
pub use config::{Pace, RunConfig};
pub use error::RunError;
pub use meter::Window;
pub use observe::{Observation, Sample, SegmentUse};
pub use report::{
    Counters, EraseCount, Gap, HostConfig, Inferred, LatencyUs, Measured, Report, ReportConfig, Requests,
};
pub use streams::{StreamCounts, StreamPages};

use clock::Clock;
use config::Plan;
use host::Host;
use meter::Meter;
use observe::Observer;
use once::WrittenOnce;
use streams::WrongStreams;

use crate::engine::{
    AnyEngine, AwareMode, Batched, Begin, Begun, DataMode, EngineError, Layout, OnChip, OwnPolicies, Tenant,
};
use crate::request::Op;
use crate::trace::{Trace, TraceError, TraceFormat};
use crate::workload::{FileWorkload, Generator, JournalWorkload, WorkloadSpec};

/// Receives the progress of a run.
pub trait Progress {
    /// A phase of `steps` steps begins.
    fn begin(&mut self, phase: &'static str, steps: u64) {
        let _ = (phase, steps);
    }
    /// `done` steps of the phase are done.
    fn advance(&mut self, done: u64) {
        let _ = done;
    }
    /// True if the run shall stop here. It is asked after each [`advance`](Self::advance).
    fn is_stopped(&self) -> bool {
        false
    }
}

impl Progress for () {}

/// Reads the trace of a workload, if the workload is one. `device` chooses one of several devices.
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

/// Does a run. `trace` is the result of [`load`] for its workload.
///
/// # Errors
/// A refusal ([`RunError::is_refusal`]) if the configuration makes no sense; otherwise what went wrong.
pub fn run(config: &RunConfig, trace: Option<&Trace>, progress: &mut dyn Progress) -> Result<Report, RunError> {
    Ok(begin(config, trace, OwnPolicies::default(), false, progress)?.0)
}

/// The same run, with an observation of it, and maybe by policies from outside. The report is equal.
///
/// # Errors
/// As [`run_by`].
pub fn observed(
    config: &RunConfig,
    trace: Option<&Trace>,
    own: OwnPolicies,
    progress: &mut dyn Progress,
) -> Result<(Report, Observation), RunError> {
    begin(config, trace, own, true, progress)
}

/// The same run by policies from outside, in place of those that the configuration names.
///
/// # Errors
/// As [`run`], and if the engine takes no such policies.
pub fn run_by(
    config: &RunConfig,
    trace: Option<&Trace>,
    own: OwnPolicies,
    progress: &mut dyn Progress,
) -> Result<Report, RunError> {
    Ok(begin(config, trace, own, false, progress)?.0)
}

fn begin(
    config: &RunConfig,
    trace: Option<&Trace>,
    own: OwnPolicies,
    observes: bool,
    progress: &mut dyn Progress,
) -> Result<(Report, Observation), RunError> {
    if matches!(config.workload, WorkloadSpec::Trace(_)) && trace.is_none() {
        return Err(RunError::NoTrace);
    }
    let plan = Plan::new(config, trace)?;
    let run = Run { config, plan: &plan, trace, observes };
    run.begin(own, progress)
}

/// Drives the engine it is given.
struct Driver<'a> {
    run: &'a Run<'a>,
    own: OwnPolicies,
    progress: &'a mut dyn Progress,
}

impl<C> Tenant<C> for Driver<'_> {
    type Out = Result<(Report, Observation), RunError>;

    fn enter<F: AnyEngine + OnChip<Chip = C>>(mut self, mut ftl: F, _found: Option<MountReport>) -> Self::Out {
        // The engine gets the other side of it, with the placement.
        let announced_to = self.own.batched.take();
        if let Some(batched) = &announced_to {
            batched.start(&ftl.limits());
        }
        // The engine takes the policies from outside, and its own report names those of the plan.
        let name_of_placement = self.own.placement.as_ref().map(|own| own.name.clone());
        let name_of_victims = self.own.victims.as_ref().map(|own| own.name.clone());
        ftl.set_own_policies(self.own)?;
        let (mut report, observation) = self.run.drive(&mut ftl, announced_to, self.progress)?;
        report.config.r#where = name_of_placement.or(report.config.r#where);
        report.config.which = name_of_victims.or(report.config.which);
        // Behind the names, because a warning says which policies were overruled.
        report.warnings = warnings::of(&report, &ftl.segment_rows());
        Ok((report, observation))
    }
}

/// The engine on the first of two fresh chips, shut down and mounted. The other chip takes its place in the engine that
/// was shut down.
fn mounted<C: EmuChip + 'static>(
    put_on: impl Fn(C, Begin) -> Result<Begun<C>, EngineError>,
    [chip, spare]: [C; 2],
) -> Result<Begun<C>, EngineError> {
    let (mut made, _) = put_on(chip, Begin::Format)?;
    made.shutdown().map_err(EngineError::Shutdown)?;
    let mut chip = std::mem::replace(made.chip_below(), spare);
    chip.power_on();
    put_on(chip, Begin::Mount)
}

/// A run before it has an engine.
struct Run<'a> {
    config: &'a RunConfig,
    plan: &'a Plan,
    trace: Option<&'a Trace>,
    /// True if the run is observed; otherwise the observation is empty.
    observes: bool,
}

impl Run<'_> {
    /// Puts the engine on a chip of the right kind, and drives it.
    fn begin(&self, own: OwnPolicies, progress: &mut dyn Progress) -> Result<(Report, Observation), RunError> {
        let (engine, chip) = (&self.plan.engine, &self.config.engine.chip);
        let driver = Driver { run: self, own, progress };
        match (self.config.data, engine.layout) {
            // First: a mount needs a chip that keeps bytes, and only `begin_mounted` says so.
            _ if self.starts_with_mount() => self.begin_mounted(driver),
            (DataMode::None, Layout::Nor) => engine.over_nor(CountChip::new(chip), Begin::Format, (), driver)?,
            (DataMode::None, _) => engine.over_nand(CountChip::new(chip), Begin::Format, (), driver)?,
            (DataMode::Stored, Layout::Nor) => {
                let (ftl, _) = engine.on_nor(self.emulated_nor()?, Begin::Format, Box::new(()))?;
                driver.enter(ftl, None)
            }
            (DataMode::Stored, _) => {
                let (ftl, _) = engine.on_nand(self.emulated_nand()?, Begin::Format, Box::new(()))?;
                driver.enter(ftl, None)
            }
        }
    }

    /// True for a recording of a disk that was made, shut down, and mounted.
    fn starts_with_mount(&self) -> bool {
        self.trace.and_then(|trace| trace.requests.first()).is_some_and(|first| first.op == Op::Mount)
    }

    /// Makes the disk, shuts it down, and mounts it.
    fn begin_mounted(&self, driver: Driver<'_>) -> Result<(Report, Observation), RunError> {
        let engine = &self.plan.engine;
        match (self.config.data, engine.layout) {
            // A chip that only counts holds nothing that a mount could find.
            (DataMode::None, _) => Err(RunError::MountWithoutData),
            (DataMode::Stored, Layout::Nor) => {
                let put_on = |chip, begin| engine.on_nor(chip, begin, Box::new(()));
                let (ftl, found) = mounted(put_on, [self.emulated_nor()?, self.emulated_nor()?])?;
                driver.enter(ftl, found)
            }
            (DataMode::Stored, _) => {
                let put_on = |chip, begin| engine.on_nand(chip, begin, Box::new(()));
                let (ftl, found) = mounted(put_on, [self.emulated_nand()?, self.emulated_nand()?])?;
                driver.enter(ftl, found)
            }
        }
    }

    fn emulated_nand(&self) -> Result<EmuNand<AnyStore>, RunError> {
        Ok(EmuNand::without_file(&self.config.engine.chip, Faults::default())?)
    }

    fn emulated_nor(&self) -> Result<EmuNor<AnyStore>, RunError> {
        Ok(EmuNor::without_file(&self.config.engine.chip, Faults::default())?)
    }

    /// Drives an engine.
    fn drive<F: AnyEngine + OnChip>(
        &self,
        ftl: &mut F,
        announced_to: Option<Batched>,
        progress: &mut dyn Progress,
    ) -> Result<(Report, Observation), RunError> {
        let mut source = self.source()?;
        let stores = self.config.data == DataMode::Stored;
        let mut host = Host::new(ftl, stores, self.config.host_us_per_page, progress);
        host.wrong_streams = WrongStreams::new(self.config.wrong_streams, self.config.engine.seed);
        host.announced_to = announced_to;
        host.cleans_when_idle = matches!(self.plan.engine.when, CleaningTrigger::Idle { .. });
        host.infers = self.config.engine.aware != AwareMode::Off;
        host.written_once = self.written_once(host.ftl().limits().logical_pages)?;
        host.fill(self.plan.fill_pages)?;
        if let Source::Files(files) = &mut source {
            host.set_up(files)?;
        }
        if let Source::Journal(journal) = &mut source {
            host.create_files(journal)?;
        }
        let is_recording = self.trace.is_some_and(|trace| trace.format == TraceFormat::Recording);
        // A recording begins with a new disk, and its counters with it.
        if !is_recording || self.plan.fill_pages > 0 {
            host.ftl().reset_stats();
        }
        if self.observes {
            host.observer = Some(Observer::new(host.ftl().limits().logical_pages));
        }
        host.meter = Meter::new(self.config.window_bytes, self.total_bytes(), host.ftl().stats());
        let erases_before = host.ftl().erase_counts();
        let began_ns = host.clock.as_ref().map(|clock| clock.now_ns());
        let began = Instant::now();
        self.play(&mut source, &mut host, is_recording)?;
        let wall_seconds = began.elapsed().as_secs_f64();
        let (written_bytes, meter) = (host.written_bytes, std::mem::replace(&mut host.meter, Meter::off()));
        let (second_half, windows) = meter.finish(written_bytes, host.ftl().stats());
        let timed = self.config.engine.chip.times.is_some();
        // A host with its own time has a clock on a chip without times, too, but the report has none.
        let clock = host.clock.as_ref().filter(|_| timed);
        if clock.is_some_and(|clock| clock.has_run_out()) {
            return Err(RunError::TimeRanOut);
        }
        // A recording holds calls, not commands: one command may take several calls, and nobody waited for the chip.
        let latencies = clock.filter(|_| !is_recording).map(Clock::latencies);
        let measured = Measured {
            wall_seconds,
            sim_seconds: clock.zip(began_ns).map(|(clock, began_ns)| (clock.now_ns() - began_ns) as f64 / 1e9),
            latency_us: latencies.and_then(Latencies::latency_us),
            write_us_per_page: latencies.and_then(Latencies::write_us_per_page),
            host_written_bytes: host.written_bytes,
            host_read_bytes: host.read_bytes,
            streams: host.streams.list(),
            erases_before,
            requests: Some(self.requests(host.requests)),
            second_half,
            windows,
        };
        // Before everything is read back, which counts and takes time.
        let last = host.sample();
        let observation = host.observer.take().map(|observer| {
            let clock = host.clock.as_ref().filter(|_| timed && !is_recording);
            let latencies = clock.map(|clock| clock.latencies().clone());
            observer.finish(host.ftl(), latencies.as_ref(), last)
        });
        let config = ReportConfig::new(host.ftl(), &self.plan.engine, &self.host_config());
        let mut report = Report::new(host.ftl(), config, &measured);
        if stores {
            host.verify()?;
            report.verified_sectors = Some(host.ftl().sectors());
            if let Source::Files(files) = &mut source {
                report.verified_files = host.verify_files(files)?;
            }
        }
        Ok((report, observation.unwrap_or_default()))
    }

    /// Does the requests of the run: what is measured.
    fn play<F: AnyEngine + OnChip>(
        &self,
        source: &mut Source<'_>,
        host: &mut Host<'_, F>,
        is_recording: bool,
    ) -> Result<(), RunError> {
        match source {
            Source::Trace(trace) if is_recording => {
                host.replay_recording(&trace.requests, self.config.write_bytes)?;
            }
            Source::Trace(trace) => host.replay(&trace.requests, self.config.pace, self.config.write_bytes)?,
            Source::Drawn(generator, units) => {
                let sectors = self.plan.unit_bytes / u64::from(wearwell::SECTOR_BYTES);
                host.write_units(&mut |out| generator.fill(out), *units, sectors)?;
            }
            Source::Files(files) => host.transact(files, self.config.write_bytes)?,
            // `Plan` gives a journal a number of bytes, so the 0 never counts.
            Source::Journal(journal) => host.write_files(journal, self.plan.write_bytes.unwrap_or(0))?,
        }
        Ok(())
    }

    /// Bytes that the host will write; none for a program that is to do so many transactions.
    fn total_bytes(&self) -> Option<u64> {
        // Only plain writes count, because only they add to the bytes that the meter compares with this.
        let writes = |trace: &Trace| {
            let writes = trace.requests.iter().filter(|request| request.op == Op::Write);
            let bytes = writes.map(|request| request.length_bytes).sum::<u64>();
            self.config.write_bytes.map_or(bytes, |limit| limit.min(bytes))
        };
        self.trace.map(writes).or(self.plan.write_bytes)
    }

    /// What became of the requests, of which `done` were done.
    fn requests(&self, done: Requests) -> Requests {
        // A workload makes no request that is not done. A trace may have more, if --write ended it.
        let done_or_refused = done.served + done.refused;
        Requests { read: self.trace.map_or(done_or_refused, |trace| trace.requests.len() as u64), ..done }
    }

    /// The source of the host's requests.
    fn source(&self) -> Result<Source<'_>, RunError> {
        if let Some(trace) = self.trace {
            return Ok(Source::Trace(trace));
        }
        let range_bytes = u64::from(self.plan.range_pages) * u64::from(self.config.engine.chip.page_bytes);
        if let WorkloadSpec::Files(files) = &self.config.workload {
            let first_sector = self.plan.volume_at;
            // `Plan` has checked that the volume begins inside the range.
            let sectors = range_bytes / u64::from(wearwell::SECTOR_BYTES) - first_sector;
            let stores = self.config.data == DataMode::Stored;
            let workload =
                FileWorkload::new(files, sectors, stores, self.config.engine.seed).map_err(RunError::Volume)?;
            let workload = workload.behind_table(first_sector).map_err(RunError::Volume)?;
            return Ok(Source::Files(Box::new(workload)));
        }
        if let WorkloadSpec::Journal(settings) = &self.config.workload {
            let journal = JournalWorkload::new(*settings, range_bytes, self.config.engine.seed)?;
            return Ok(Source::Journal(Box::new(journal)));
        }
        let unit_bytes = self.plan.unit_bytes;
        if range_bytes < unit_bytes {
            return Err(RunError::FillTooSmall { fill: self.plan.fill, unit_bytes });
        }
        let generator =
            Generator::new(&self.config.workload, range_bytes / unit_bytes, unit_bytes, self.config.engine.seed)?;
        let units = self.plan.write_bytes.unwrap_or(0).div_ceil(unit_bytes);
        Ok(Source::Drawn(Box::new(generator), units))
    }

    /// The pages that the run writes at most once, if the host is to give hints.
    fn written_once(&self, logical_pages: u64) -> Result<Option<WrittenOnce>, RunError> {
        if !self.config.gives_hints {
            return Ok(None);
        }
        let page_bytes = u64::from(self.config.engine.chip.page_bytes);
        let mut once = WrittenOnce::new(logical_pages, self.plan.fill_pages);
        // A source of its own: the same seed gives the units that the run will write.
        match self.source()? {
            Source::Trace(trace) => once.count_trace(&trace.requests, page_bytes),
            Source::Drawn(mut generator, units) => {
                // One unit at a time gives the same numbers: they do not depend on the size of batches.
                for _ in 0..units {
                    let mut unit = [0];
                    generator.fill(&mut unit);
                    let at_bytes = u64::from(unit[0]) * self.plan.unit_bytes;
                    once.count(at_bytes / page_bytes, (at_bytes + self.plan.unit_bytes).div_ceil(page_bytes));
                }
            }
            // `Plan` has refused programs.
            Source::Files(_) | Source::Journal(_) => {}
        }
        Ok(Some(once))
    }

    /// True if the workload is a pattern from which units are drawn.
    fn draws(&self) -> bool {
        self.trace.is_none() && !matches!(self.config.workload, WorkloadSpec::Files(_) | WorkloadSpec::Journal(_))
    }

    fn host_config(&self) -> HostConfig {
        let (config, plan) = (self.config, self.plan);
        HostConfig {
            data: config.data,
            fill: format!("{}%", plan.fill),
            fill_pages: u64::from(plan.fill_pages),
            volume_at: matches!(config.workload, WorkloadSpec::Files(_)).then_some(config.volume_at_bytes),
            workload: config.workload.to_string(),
            write: plan.write_bytes,
            unit: self.draws().then_some(plan.unit_bytes),
            pace: config.pace,
            host_us_per_page: config.host_us_per_page,
            wrong_streams: format!("{}%", config.wrong_streams),
            gives_hints: config.gives_hints,
            window: config.window_bytes,
        }
    }
}

enum Source<'a> {
    Trace(&'a Trace),
    Drawn(Box<Generator>, u64),
    Files(Box<FileWorkload>),
    Journal(Box<JournalWorkload>),
}
