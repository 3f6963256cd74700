//! Runs a history, generated or replayed, and judges the device.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use crate::content::SECTOR_BYTES;
use crate::device::{self, Chip, Device, Opener, Refusal};
use crate::failure::{Failure, Kind};
use crate::faults::{Faults, Struck};
use crate::history::Step;
use crate::medium::{Decayed, Layout, Medium};
use crate::model::{LastCut, Model};
use crate::setup::{Engine, Setup, Shape};

/// The state of the run that a source can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// True if the device is mounted.
    pub is_mounted: bool,
    /// True if it takes no writes because too many blocks have failed.
    pub is_worn: bool,
    /// True if a cut is armed.
    pub awaits_cut: bool,
    /// Sectors in a page.
    pub sectors_per_page: u32,
}

/// A source of steps.
pub trait Source {
    /// The next step; `None` ends the run.
    fn next(&mut self, view: View) -> Option<Step>;
}

/// A list of steps.
#[derive(Debug)]
pub struct Replay<'a>(pub std::slice::Iter<'a, Step>);

impl Source for Replay<'_> {
    fn next(&mut self, _view: View) -> Option<Step> {
        self.0.next().copied()
    }
}

/// Wraps a device, for canaries that break it.
pub type Wrap = fn(Box<dyn Device>) -> Box<dyn Device>;

/// Returns the device unchanged.
pub fn unchanged(device: Box<dyn Device>) -> Box<dyn Device> {
    device
}

/// A device to run, what opens it, and its wrapper.
#[derive(Debug, Clone, Copy)]
pub struct Rig {
    /// The device.
    pub setup: Setup,
    /// What formats and mounts it.
    pub opener: Opener,
    /// The wrapper.
    pub wrap: Wrap,
}

impl Rig {
    /// The engine that the setup names.
    pub fn new(setup: Setup) -> Self {
        Self { setup, opener: device::ENGINES, wrap: unchanged }
    }
}

/// The counts of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Commands given.
    pub commands: u64,
    /// Power cuts while the device was on.
    pub cuts: u64,
    /// Power cuts in mounts.
    pub mount_cuts: u64,
    /// Mounts that succeeded.
    pub mounts: u64,
    /// Faults other than cuts that struck, decay included.
    pub faults: u64,
    /// Pages that were found unreadable or older, with an explanation.
    pub explained: u64,
    /// Devices that were worn out.
    pub worn: u64,
}

impl Tally {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        self.commands += other.commands;
        self.cuts += other.cuts;
        self.mount_cuts += other.mount_cuts;
        self.mounts += other.mounts;
        self.faults += other.faults;
        self.explained += other.explained;
        self.worn += other.worn;
    }
}

/// The record of a run.
#[derive(Debug, Default)]
pub struct Record {
    /// All steps, the failing one last.
    pub history: Vec<Step>,
    /// Where the faults struck.
    pub struck: Vec<Struck>,
    /// The counts.
    pub tally: Tally,
    /// How it failed.
    pub failure: Option<Failure>,
}

/// Runs a source's steps. It never panics: a panic of an engine is a failure.
pub fn run(rig: &Rig, source: &mut dyn Source) -> Record {
    let mut record = Record::default();
    // Outside of what may panic: the faults that struck are read from it afterwards.
    let chip = Chip::new(&rig.setup);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let mut runner = Runner::new(rig, &chip)?;
        while let Some(step) = source.next(runner.view()) {
            record.history.push(step);
            let number = record.history.len() - 1;
            let done = runner.step(number, &step);
            // Before a failure ends the loop, so that the failing step counts too.
            record.tally = runner.tally;
            record.tally.explained = runner.model.explained;
            done?;
        }
        Ok(())
    }));
    record.failure = match ended {
        Ok(done) => done.err(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Some(Failure::new(Kind::Panic, text.unwrap_or_default()))
        }
    };
    if let Ok(mut medium) = chip.medium().try_borrow_mut() {
        record.struck = std::mem::take(&mut medium.faults().struck);
    }
    let cuts = record.tally.cuts + record.tally.mount_cuts;
    // Cuts are among those that struck, and have counts of their own.
    record.tally.faults += (record.struck.len() as u64).saturating_sub(cuts);
    record
}

/// What an engine holds back for failures, and those that have struck since it last had the time to.
///
/// The promise: a device with the segments it needs takes writes, unless more operations have failed in a row than it
/// had segments to spare for. That is one, or as many as it has beyond those it needs, up to two, and up to four on a
/// chip with bad segments, which are marked. A written page ends a row; under block mapping, a mount after it does. A
/// mount in which nothing fails ends a row that the engine survives, but not on NOR: it has no bad-block marks, so a
/// block that has failed fails again after the mount.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// The chip's count of failures when the row began.
    failures_before: u32,
    /// As `failures_before`, of erases that failed once more.
    again_before: usize,
    /// Failures in a row that the engine survives.
    most: u32,
    /// A page has been written since the last failure.
    has_written: bool,
}

struct Runner<'a> {
    rig: &'a Rig,
    chip: &'a Chip,
    medium: Rc<RefCell<dyn Medium>>,
    device: Option<Box<dyn Device>>,
    model: Model,
    layout: Layout,
    needed_segments: u32,
    row: Row,
    is_worn: bool,
    /// Data on a worn device may fade.
    is_fading: bool,
    /// The last command was a shutdown.
    is_shut_down: bool,
    /// The power has gone off without a shutdown.
    has_stopped: bool,
    /// A mount was cut since one has last succeeded.
    has_cut_mount: bool,
    /// The chip has hidden a rescue from a mount since one has last succeeded, and it may have put losses on record.
    hides_rescue: bool,
    tally: Tally,
}

impl<'a> Runner<'a> {
    fn new(rig: &'a Rig, chip: &'a Chip) -> Result<Self, Failure> {
        let device = (rig.opener.format)(&rig.setup, chip);
        let device = device.map_err(|refusal| Failure::new(Kind::Refused, format!("format: {refusal}")))?;
        let sectors_per_page = device.page_bytes() / SECTOR_BYTES as u32;
        let engine = &rig.setup.engine;
        let has_spare_tags = matches!(rig.setup.shape, Shape::Nand(_)) && !rig.setup.has_tag_pages();
        let (segments, needed_segments) = device.segments();
        let mut runner = Self {
            rig,
            chip,
            medium: chip.medium(),
            device: Some((rig.wrap)(device)),
            model: Model::new(
                rig.setup.logical_pages,
                sectors_per_page,
                rig.setup.blocks(),
                matches!(engine, Engine::Paged { .. }),
            ),
            layout: Layout {
                blocks_per_segment: engine.blocks_per_segment(),
                segments,
                sectors_per_page,
                has_summaries: !engine.is_block(),
                has_tag_pages: rig.setup.has_tag_pages(),
                has_counted_copies: matches!(engine, Engine::Paged { .. }),
                shows_losses: matches!(engine, Engine::Page { aware: false, .. }) && has_spare_tags,
            },
            needed_segments,
            row: Row { failures_before: 0, again_before: 0, most: 0, has_written: false },
            is_worn: false,
            is_fading: false,
            is_shut_down: false,
            has_stopped: false,
            has_cut_mount: false,
            hides_rescue: false,
            tally: Tally::default(),
        };
        runner.rest();
        Ok(runner)
    }

    /// The engine has restored its reserve.
    fn rest(&mut self) {
        let medium = self.medium.borrow();
        let likely = if medium.has_bad_segments(&self.layout) { 4 } else { 2 };
        let good = medium.good_segments(&self.layout);
        drop(medium);
        let most = good.saturating_sub(self.needed_segments).clamp(1, likely);
        let (failures_before, again_before) = self.failures();
        self.row = Row { failures_before, again_before, most, has_written: false };
    }

    /// Failures, and how many erases failed once more.
    fn failures(&self) -> (u32, usize) {
        let mut medium = self.medium.borrow_mut();
        (medium.faults().failures, medium.faults().again.len())
    }

    /// Failures in this row. A block that failed in an earlier one takes a segment again: a mount has forgotten it.
    fn in_row(&self) -> u32 {
        let Row { failures_before, again_before, .. } = self.row;
        let mut medium = self.medium.borrow_mut();
        let Faults { failures, again, .. } = medium.faults();
        let earlier = again[again_before..].iter().filter(|&&first| first <= failures_before).count();
        *failures - failures_before + earlier as u32
    }

    fn view(&self) -> View {
        View {
            is_mounted: self.device.is_some(),
            is_worn: self.is_worn,
            awaits_cut: self.medium.borrow_mut().faults().has_cut(),
            sectors_per_page: self.layout.sectors_per_page,
        }
    }

    fn step(&mut self, number: usize, step: &Step) -> Result<(), Failure> {
        self.medium.borrow_mut().faults().begin_step(number);
        match step {
            Step::Mount => {
                let mounted = self.mount();
                self.end_record();
                mounted?;
            }
            Step::Mark { draw } => {
                // With one segment less, the device must still have those it needs.
                let is_spare = self.medium.borrow().good_segments(&self.layout) > self.needed_segments;
                if is_spare && (self.device.is_none() || self.is_shut_down) {
                    self.device = None;
                    self.tally.faults += u64::from(self.medium.borrow_mut().mark_empty(*draw, &self.layout));
                }
            }
            Step::Decay { draw } => {
                let decayed = self.medium.borrow_mut().decay(*draw, &self.layout);
                self.tally.faults += u64::from(!decayed.is_empty());
                // A device that is mounted behind such a cut is read-only: it has not merged anew what was hit.
                let in_commit = self.medium.borrow_mut().faults().has_cut_commit;
                let cut = match &self.device {
                    _ if in_commit => LastCut::InCommit,
                    Some(_) => LastCut::None,
                    None => LastCut::Elsewhere,
                };
                decayed.iter().for_each(|decayed| self.model.decayed(decayed, cut));
            }
            fault if fault.is_armed() => self.medium.borrow_mut().faults().arm(*fault),
            command => self.command(command)?,
        }
        Ok(())
    }

    fn command(&mut self, step: &Step) -> Result<(), Failure> {
        let failures = self.failures();
        if self.device.is_none() || self.is_fading {
            return Ok(());
        }
        self.end_record();
        let Some(device) = &mut self.device else { return Ok(()) };
        self.tally.commands += 1;
        self.is_shut_down = false;
        let done = self.model.command(device.as_mut(), step);
        // A breach counts even if the power failed in the same command.
        self.check_contract()?;
        // Whatever the command returned, the host would not have got an answer.
        if self.medium.borrow_mut().faults().is_off() {
            self.tally.cuts += 1;
            self.device = None;
            self.note_cut_commit();
            return Ok(());
        }
        // A commit that failed in this command has been dealt with.
        self.medium.borrow_mut().faults().has_cut_commit = false;
        let has_failed = self.failures() != failures;
        self.row.has_written &= !has_failed;
        match done? {
            Ok(()) => {
                self.is_shut_down = *step == Step::Shutdown;
                if self.is_shut_down {
                    self.begin_record();
                }
                self.row.has_written |= !has_failed && matches!(step, Step::Write { .. });
                if self.row.has_written && !self.rig.setup.engine.is_block() {
                    self.rest();
                }
                Ok(())
            }
            Err(refusal) => self.judge(&refusal, &step.to_string()),
        }
    }

    /// A clean shutdown has recorded which pages hold something. Block mapping does so if every page can be read, and
    /// will be: what any fault has left may not be, and neither may what was written last before the power went off.
    fn begin_record(&mut self) {
        let has_faults = |faults: &Faults| faults.failures > 0 || !faults.struck.is_empty();
        let is_sound = !self.has_stopped && !self.model.has_gaps() && !has_faults(self.medium.borrow_mut().faults());
        if !self.rig.setup.engine.is_block() || is_sound {
            self.model.record();
        }
    }

    /// The device goes on, or is mounted again. Under block mapping the record is for that mount only.
    fn end_record(&mut self) {
        if self.rig.setup.engine.is_block() {
            self.model.forget_record();
        }
    }

    fn mount(&mut self) -> Result<(), Failure> {
        // The chip loses power with the engine, so that fading content can be lost.
        self.device = None;
        self.has_stopped |= !self.is_shut_down;
        self.is_shut_down = false;
        self.medium.borrow_mut().power_on();
        let failures = self.failures();
        // Before the mount, which may erase what has decayed.
        self.model.unsure(&self.medium.borrow().unsure(&self.layout));
        if self.medium.borrow().has_lost_segment(&self.layout) {
            self.model.decayed(&Decayed::Metadata, LastCut::None);
            self.model.has_lost_segment = true;
        }
        self.hides_rescue |= self.medium.borrow().hides_rescue(&self.layout);
        let mounted = (self.rig.opener.mount)(&self.rig.setup, self.chip);
        let has_failed = self.failures() != failures;
        self.row.has_written &= !has_failed;
        self.check_contract()?;
        if self.medium.borrow_mut().faults().is_off() {
            self.tally.mount_cuts += 1;
            self.has_cut_mount = true;
            self.note_cut_commit();
            return Ok(());
        }
        match mounted {
            Err(refusal) => self.judge(&refusal, "mount"),
            Ok(mounted) => {
                self.tally.mounts += 1;
                let has_marks = matches!(self.rig.setup.shape, Shape::Nand(_));
                let is_survived = self.row.has_written || has_marks && self.in_row() <= self.row.most;
                if !has_failed && is_survived {
                    self.rest();
                }
                self.model.has_failed = self.failures().0 > 0;
                let device = self.device.insert((self.rig.wrap)(mounted.device));
                let (medium, layout) = (&self.medium, &self.layout);
                let lasts = |page, content: &_| medium.borrow().has_lasting(page, content, layout);
                let fades = |page, content: &_| medium.borrow().fades_unseen(page, content, layout);
                self.model.check_mounted(device.as_mut(), mounted.read_only, self.hides_rescue, lasts, fades)?;
                if mounted.read_only {
                    return self.check_read_only();
                }
                // A device that is read-only had no room to merge anew what the cut has hit.
                self.medium.borrow_mut().faults().has_cut_commit = false;
                (self.has_cut_mount, self.hides_rescue, self.model.has_lost_segment) = (false, false, false);
                Ok(())
            }
        }
    }

    fn note_cut_commit(&mut self) {
        if self.medium.borrow_mut().faults().has_cut_commit {
            self.model.commit_was_cut();
        }
    }

    /// Checks that a device that is mounted read-only has a true reason.
    fn check_read_only(&mut self) -> Result<(), Failure> {
        self.is_fading = true;
        let Some(device) = &mut self.device else { return Ok(()) };
        let data = vec![0; self.layout.sectors_per_page as usize * SECTOR_BYTES];
        match device.write(0, &data, 0, false) {
            Ok(()) => Err(Failure::new(Kind::Refused, "mounted read-only, and takes a write".to_owned())),
            Err(refusal) => self.judge(&refusal, "a write on a device that is mounted read-only"),
        }
    }

    fn check_contract(&self) -> Result<(), Failure> {
        match self.medium.borrow_mut().violations().first() {
            None => Ok(()),
            Some(violation) => Err(Failure::new(Kind::Contract, violation.clone())),
        }
    }

    /// True if nothing may be left that says whose the chip is: all that can be read has decayed; or nothing is held,
    /// and the only segment that still works may be without a header, since its erase was cut.
    fn may_be_foreign(&self) -> bool {
        let medium = self.medium.borrow();
        let is_unreadable = self.model.has_gaps() && medium.is_unreadable(&self.layout);
        is_unreadable || self.model.may_be_empty() && medium.good_segments(&self.layout) <= 1
    }

    /// Checks whether a fault explains the refusal.
    fn judge(&mut self, refusal: &Refusal, what: &str) -> Result<(), Failure> {
        let fail = |kind, text: String| Err(Failure::new(kind, format!("{what}: {refusal}{text}")));
        match *refusal {
            Refusal::Unreadable { page } if self.model.explains(page) => Ok(()),
            Refusal::Unreadable { .. } => fail(Kind::Unreadable, String::new()),
            Refusal::WornOut { needed, .. } => {
                let really_good = self.medium.borrow().good_segments(&self.layout);
                let in_row = self.in_row();
                // What decays between mounts that are cut takes room, and block mapping holds none back for that.
                let is_short = self.has_cut_mount && self.model.has_lost_blocks() && really_good == needed;
                if really_good >= needed && in_row <= self.row.most && !is_short {
                    let reserve = format!("{in_row} failures in a row, {} promised", self.row.most);
                    return fail(Kind::LockedUp, format!("; {really_good} really are good; {reserve}"));
                }
                if !self.is_worn {
                    self.tally.worn += 1;
                }
                self.is_worn = true;
                Ok(())
            }
            Refusal::Chip(_) if self.medium.borrow_mut().faults().shown > 0 => Ok(()),
            Refusal::Foreign if self.may_be_foreign() => {
                self.is_worn = true;
                Ok(())
            }
            Refusal::Chip(_) | Refusal::Foreign | Refusal::Else(_) => fail(Kind::Refused, String::new()),
        }
    }
}
