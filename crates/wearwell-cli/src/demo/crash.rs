//! One policy's run through the trace: requests, power cuts, mounts, and a check of every sector after each.

use wearwell::page::log::{NandLayoutError, NandLog};
use wearwell::page::{MountError, PageConfig, PageFtl};
use wearwell::{BlockDevice, FtlError, Inspect, SECTOR_BYTES, Sectors, Stats, WriteHint};
use wearwell_emu::{ChipProfile, CutOutcome, EmuChip, EmuNand, Faults, PowerCut, SetupError};
use wearwell_sim::run::Progress;
use wearwell_sim::{Op, Request};

use super::model::{Broken, Model, Survival};

/// Sectors read at a time when everything is looked at: whole pages.
const PART_SECTORS: u64 = (1 << 20) / SECTOR_BYTES as u64;

/// A cut hits one of so many flash operations that follow the moment it was drawn for.
const CUT_WITHIN_OPS: u64 = 64;

/// Requests between two signs of progress.
const TICK_REQUESTS: usize = 512;

type Device = PageFtl<NandLog<EmuNand>>;

/// What to do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan<'a> {
    pub(super) chip: &'a ChipProfile,
    pub(super) config: PageConfig,
    pub(super) requests: &'a [Request],
    /// Power cuts to spread over the requests.
    pub(super) cuts: u32,
    pub(super) seed: u64,
}

/// What was seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Outcome {
    /// The engine's counters over all mounts.
    pub(super) stats: Stats,
    pub(super) erase_counts: Vec<u32>,
    pub(super) cuts: u32,
    /// Cuts that hit a mount.
    pub(super) cuts_in_mount: u32,
    /// Pages that a cut may have hit, and that mounts copied.
    pub(super) rescued_pages: u64,
    pub(super) checked_sectors: u64,
    pub(super) survival: Survival,
}

/// Why the demonstration failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(transparent)]
    Layout(#[from] NandLayoutError),
    #[error("mount: {0}")]
    Mount(#[from] MountError),
    #[error("request {request} failed while power was on: {error}")]
    Request { request: usize, error: FtlError },
    #[error("request {request}: {broken}")]
    Broken { request: usize, broken: Broken },
    #[error("after power cut {cut}, at request {request}, in flash operation {op}: {broken}")]
    AfterCut { cut: u32, request: usize, op: u64, broken: Broken },
    #[error("after power cut {cut}, at request {request}: sectors from {sector} on cannot be read: {error}")]
    Unreadable { cut: u32, request: usize, sector: u64, error: FtlError },
    #[error("the engine broke the chip's contract {0} times")]
    Contract(u64),
}

/// What a single request can end in.
enum Fault {
    Ftl(FtlError),
    Broken(Broken),
}

impl From<FtlError> for Fault {
    fn from(error: FtlError) -> Self {
        Self::Ftl(error)
    }
}

/// The host's side of the demonstration.
struct Session<'a> {
    plan: &'a Plan<'a>,
    model: Model,
    rng: fastrand::Rng,
    outcome: Outcome,
    buffer: Vec<u8>,
}

/// Replays the trace once, cutting the power on the way.
pub(super) fn replay(plan: &Plan<'_>, progress: &mut dyn Progress) -> Result<Outcome, Trouble> {
    let chip = EmuNand::in_memory(plan.chip, Faults { seed: plan.seed, ..Faults::default() })?;
    let mut device = Device::format(NandLog::new(chip, plan.chip.stripe)?, (), plan.config)?;
    let sectors_per_page = plan.chip.page_bytes / SECTOR_BYTES;
    let mut session = Session {
        plan,
        model: Model::new(plan.config.logical_pages, sectors_per_page),
        rng: fastrand::Rng::with_seed(plan.seed),
        outcome: Outcome::default(),
        buffer: Vec::new(),
    };
    progress.begin("", plan.requests.len() as u64);
    let moments = session.cut_moments();
    let mut moments = moments.iter().peekable();
    for (at, request) in plan.requests.iter().enumerate() {
        // A short trace may have several cuts before one request. The last one that is drawn counts.
        while moments.next_if(|&&moment| moment <= at).is_some() {
            session.arm(&mut device);
        }
        device = session.request(device, at, request)?;
        if at % TICK_REQUESTS == 0 {
            progress.advance(at as u64);
        }
    }
    session.finish(device)
}

impl Session<'_> {
    /// The requests before which cuts are drawn: one somewhere in each of as many equal parts of the trace.
    fn cut_moments(&mut self) -> Vec<usize> {
        let (cuts, requests) = (self.plan.cuts as usize, self.plan.requests.len());
        // With more cuts than requests a part would be empty, and nothing could be drawn from it.
        let bounds = |cut: usize| cut * requests / cuts..((cut + 1) * requests / cuts).max(cut * requests / cuts + 1);
        (0..cuts).map(|cut| self.rng.usize(bounds(cut))).collect()
    }

    fn arm(&mut self, device: &mut Device) {
        let chip = device.log_mut().chip_mut();
        let at_op = chip.ops() + self.rng.u64(..CUT_WITHIN_OPS);
        let seed = self.rng.u64(..);
        chip.arm(Some(PowerCut { at_op, outcome: CutOutcome::Seeded { seed } }));
    }

    /// Does a request; if the power fails in it, mounts again, looks at everything, and asks again.
    fn request(&mut self, mut device: Device, at: usize, request: &Request) -> Result<Device, Trouble> {
        loop {
            match self.attempt(&mut device, request) {
                Ok(()) => return Ok(device),
                Err(Fault::Broken(broken)) => return Err(Trouble::Broken { request: at + 1, broken }),
                // The request is asked again after the mount, as a host does that got no answer.
                Err(Fault::Ftl(_)) if device.log().chip().is_off() => device = self.recover(device, at + 1)?,
                Err(Fault::Ftl(error)) => return Err(Trouble::Request { request: at + 1, error }),
            }
        }
    }

    fn attempt(&mut self, device: &mut Device, request: &Request) -> Result<(), Fault> {
        let sector_bytes = u64::from(SECTOR_BYTES);
        let start = request.offset_bytes / sector_bytes;
        let at = Sectors { start, count: request.end_bytes().div_ceil(sector_bytes) - start };
        match request.op {
            Op::Read => self.read(device, at),
            // The model hears of it first: a cut may leave the new content, too.
            Op::Write => Ok(device.write(at, self.model.write(at), WriteHint::NONE)?),
            Op::Flush => {
                device.flush()?;
                self.model.flushed();
                Ok(())
            }
            Op::Discard => self.discard(device, at),
            Op::WriteZeroes => {
                self.model.clear(at);
                self.buffer.clear();
                self.buffer.resize((at.count * sector_bytes) as usize, 0);
                Ok(device.write(at, &self.buffer, WriteHint::NONE)?)
            }
            // The demo cleans and mounts when it likes.
            Op::Clean | Op::EndSegment | Op::Mount => Ok(()),
        }
    }

    fn read(&mut self, device: &mut Device, at: Sectors) -> Result<(), Fault> {
        self.buffer.resize((at.count * u64::from(SECTOR_BYTES)) as usize, 0);
        device.read(at, &mut self.buffer)?;
        self.model.check(at, &self.buffer).map_err(Fault::Broken)
    }

    /// Only whole pages lose their content.
    fn discard(&mut self, device: &mut Device, at: Sectors) -> Result<(), Fault> {
        let per_page = u64::from(self.plan.chip.page_bytes / SECTOR_BYTES);
        let start = at.start.next_multiple_of(per_page);
        let end = (at.start + at.count) / per_page * per_page;
        if start < end {
            self.model.clear(Sectors { start, count: end - start });
        }
        Ok(device.discard(at)?)
    }

    /// The power has failed: everything in memory is gone, and the chip is mounted again. One mount in four is cut,
    /// too.
    fn recover(&mut self, device: Device, request: usize) -> Result<Device, Trouble> {
        self.outcome.cuts += 1;
        add(&mut self.outcome.stats, device.stats());
        let mut chip = device.into_log().into_chip();
        let op = chip.ops();
        // Each mount is cut with a chance of a quarter, so that this ends.
        let mut device = loop {
            chip.power_on();
            if self.rng.u32(..4) == 0 {
                // A mount changes little, and a cut behind its last operation would hit nothing.
                let at_op = chip.ops() + self.rng.u64(..CUT_WITHIN_OPS / 8);
                let seed = self.rng.u64(..);
                chip.arm(Some(PowerCut { at_op, outcome: CutOutcome::Seeded { seed } }));
            }
            match Device::mount_or_return(NandLog::new(chip, self.plan.chip.stripe)?, (), self.plan.config) {
                Ok((device, report)) => {
                    self.outcome.rescued_pages += u64::from(report.rescued_pages);
                    break device;
                }
                Err((log, _)) if log.chip().is_off() => {
                    self.outcome.cuts_in_mount += 1;
                    chip = log.into_chip();
                }
                Err((_, error)) => return Err(error.into()),
            }
        };
        // A cut that the mount did not reach would hit the look at everything.
        device.log_mut().chip_mut().arm(None);
        let cut = self.outcome.cuts;
        self.look_at_everything(&mut device).map_err(|seen| seen.after(cut, request, op))?;
        Ok(device)
    }

    fn look_at_everything(&mut self, device: &mut Device) -> Result<(), Seen> {
        let sectors = self.model.sectors();
        let per_page = u64::from(self.plan.chip.page_bytes / SECTOR_BYTES);
        let mut start = 0;
        while start < sectors {
            let at = Sectors { start, count: PART_SECTORS.min(sectors - start) };
            self.buffer.resize((at.count * u64::from(SECTOR_BYTES)) as usize, 0);
            device.read(at, &mut self.buffer).map_err(|error| Seen::Unreadable(start, error))?;
            let first_page = (start / per_page) as u32;
            let survival = &mut self.outcome.survival;
            self.model.survey(first_page, &self.buffer, survival).map_err(Seen::Broken)?;
            start += at.count;
        }
        self.outcome.checked_sectors += sectors;
        Ok(())
    }

    /// Stops in good order, comes back once more, and reads everything a last time.
    fn finish(mut self, mut device: Device) -> Result<Outcome, Trouble> {
        device.log_mut().chip_mut().arm(None);
        let request = self.plan.requests.len();
        device.shutdown().map_err(|error| Trouble::Request { request, error })?;
        // A shutdown makes everything durable.
        self.model.flushed();
        add(&mut self.outcome.stats, device.stats());
        let mut chip = device.into_log().into_chip();
        chip.power_on();
        let (mut device, _) = Device::mount(NandLog::new(chip, self.plan.chip.stripe)?, (), self.plan.config)?;
        let cut = self.outcome.cuts;
        let op = device.log().chip().ops();
        self.look_at_everything(&mut device).map_err(|seen| seen.after(cut, request, op))?;
        self.outcome.erase_counts = device.erase_counts();
        // The chip counts what no real chip would bear, also where the result was right.
        match device.log().chip().violations() {
            0 => Ok(self.outcome),
            violations => Err(Trouble::Contract(violations)),
        }
    }
}

/// What a look at everything can find wrong.
enum Seen {
    Unreadable(u64, FtlError),
    Broken(Broken),
}

impl Seen {
    /// The same with where it was seen: after which cut, in which request and operation.
    fn after(self, cut: u32, request: usize, op: u64) -> Trouble {
        match self {
            Self::Unreadable(sector, error) => Trouble::Unreadable { cut, request, sector, error },
            Self::Broken(broken) => Trouble::AfterCut { cut, request, op, broken },
        }
    }
}

/// Adds the counters that the demonstration shows: every mount starts them again.
fn add(total: &mut Stats, stats: &Stats) {
    total.host_pages += stats.host_pages;
    total.host_programs += stats.host_programs;
    total.copied_pages += stats.copied_pages;
    total.wear_copies += stats.wear_copies;
    total.meta_programs += stats.meta_programs;
    total.erases += stats.erases;
    total.flushes += stats.flushes;
    total.lost_pages += stats.lost_pages;
}
