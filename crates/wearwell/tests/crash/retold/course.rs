//! A device in the course of a history, and what it may refuse.

use wearwell::page::MountError;
use wearwell::{BlockDevice, FtlError, Inspect};
use wearwell_emu::{EmuChip, Faults, OpKind, PowerCut};
use wearwell_flash::ErrorKind;

use super::doubts::{Cells, Doubts, LastCut, Layout};
use super::draws::Draws;
use super::words::Step;
use crate::model::{Command, Model};
use crate::rig::Rig;

/// Failures since a device has last made up for all before. It survives as many in a row as it has segments to spare
/// for. A written page ends a row, and so does a mount in which nothing fails, but not on NOR, which has no marks.
/// Under block mapping only mounts do.
#[derive(Debug, Clone, Copy)]
struct Row {
    segments: u32,
    needed: u32,
    has_marks: bool,
    is_block: bool,
    /// Failures before the row.
    before: u32,
    /// Failures in a row that the device survives.
    most: u32,
    has_written: bool,
}

impl Row {
    /// Notes a command or a mount, after which so many have failed, in so many marked blocks.
    fn note(&mut self, failed: u32, failed_before: u32, marked: u32, is_write: bool, is_mount: bool) {
        let has_failed = failed > failed_before;
        self.has_written = (self.has_written || is_write) && !has_failed;
        let is_survived = self.has_written || self.has_marks && failed - self.before <= self.most;
        if is_mount && is_survived && !has_failed || self.has_written && !self.is_block {
            self.begin(failed, marked);
        }
    }

    fn begin(&mut self, failed: u32, marked: u32) {
        let likely = if marked > 0 { 4 } else { 2 };
        self.most = self.segments.saturating_sub(failed + self.needed).clamp(1, likely);
        (self.before, self.has_written) = (failed, false);
    }

    /// True if so many have failed that writes may be refused. A block without a mark may fail again, and is counted
    /// once more.
    fn may_refuse(&self, failed: u32, marked: u32) -> bool {
        let again = self.before.saturating_sub(marked);
        self.segments < self.needed + failed || failed - self.before + again > self.most
    }
}

/// A device in the course of a history.
pub(super) struct Course<'a, R: Rig> {
    rig: &'a R,
    /// The engine, or the chip of one whose power has failed.
    device: Result<R::Ftl, R::Chip>,
    cut: Option<PowerCut>,
    last_cut: LastCut,
    faults: Faults,
    row: Row,
    draws: Draws<'a>,
    model: Model,
    doubts: Doubts,
    /// The device takes no writes any more, or is foreign, and may be so.
    is_over: bool,
    what: String,
}

impl<'a, R: Rig> Course<'a, R>
where
    R::Chip: Cells,
{
    /// A new device, and what its faults leave.
    pub(super) fn new(rig: &'a R, layout: Layout, draws: Draws<'a>, what: String) -> Self {
        let mut ftl = rig.format();
        R::chip_of_mut(&mut ftl).start_trace();
        let (model, limits) = (Model::new(rig.logical_pages(), ftl.page_bytes() / 512), ftl.limits());
        let mut row = Row {
            segments: limits.segments,
            needed: limits.needed_segments,
            has_marks: layout.pages_per_block > 0,
            is_block: layout.blocks.is_some(),
            before: 0,
            most: 0,
            has_written: false,
        };
        row.begin(0, 0);
        Self {
            rig,
            device: Ok(ftl),
            cut: None,
            last_cut: LastCut::None,
            faults: Faults::default(),
            row,
            draws,
            model,
            doubts: Doubts::new(layout, rig.logical_pages()),
            is_over: false,
            what,
        }
    }

    pub(super) fn step(mut self, step: Step) -> Self {
        if self.is_over {
            return self;
        }
        match step {
            Step::Do(command) => return self.command(command),
            Step::Read(page) => self.read(page..page + 1),
            Step::Verify => self.read(0..self.model.pages()),
            Step::Cut(after) => self.arm(after),
            Step::Fail(after) => self.fail(after, false),
            Step::Other(after) => self.fail(after, true),
            Step::FailMark(after) => self.fail_mark(after),
            Step::Policies(policies) => {
                if let Ok(ftl) = &mut self.device {
                    self.rig.set_policies(ftl, policies);
                }
            }
            Step::Decay(number) => self.decay(number),
            Step::Mount => return self.mount(),
        }
        self
    }

    /// Mounts once more, with nothing cut.
    pub(super) fn end(mut self) {
        self.cut = None;
        if !self.is_over {
            self.mount();
        }
    }

    /// A command while the power is off is none.
    fn command(mut self, command: Command) -> Self {
        let (failed_before, given_up_before) = (self.failed(), self.given_up());
        let Ok(mut ftl) = self.device else { return self };
        let done = self.model.run(&mut ftl, command);
        if R::chip_of(&ftl).is_off() {
            self.device = Err(R::into_chip(ftl));
            self.note_cut();
            return self;
        }
        self.device = Ok(ftl);
        match done {
            Ok(()) => {
                self.doubts.done(command, &self.model);
                let is_write =
                    matches!(command, Command::Write { .. } | Command::WriteRun { .. } | Command::WriteHinted { .. });
                self.note(failed_before, is_write, false);
            }
            // Each page of the command is old or new then.
            Err(FtlError::Chip(ErrorKind::Other)) if self.given_up() > given_up_before => {
                self.note(failed_before, false, false);
            }
            Err(error) => self.refused(error, &format!("{command:?}")),
        }
        self
    }

    /// Reads pages while the device is on.
    fn read(&mut self, mut pages: std::ops::Range<u32>) {
        let Ok(ftl) = &mut self.device else { return };
        let read = match self.doubts.has_gaps() {
            false => pages.try_for_each(|page| self.model.check_page(ftl, page)),
            // With draws a page that fades would be read more often, and all later ones be others.
            true if self.draws.are_said() => self.doubts.check_readable(ftl, &self.model, pages),
            true => Ok(()),
        };
        read.unwrap_or_else(|error| panic!("{}: {error}", self.what));
    }

    /// Operations that have failed or were given up. One that a cut has hit instead counts, too.
    fn failed(&self) -> u32 {
        self.passed(&self.faults.fail_ops) + self.given_up()
    }

    fn given_up(&self) -> u32 {
        self.passed(&self.faults.interrupt_ops)
    }

    /// How many of these operations were reached.
    fn passed(&self, armed: &[u64]) -> u32 {
        let ops = self.chip().ops();
        armed.iter().filter(|&&op| op < ops).count() as u32
    }

    fn note(&mut self, failed_before: u32, is_write: bool, is_mount: bool) {
        if self.faults == Faults::default() {
            return;
        }
        let (failed, marked) = (self.failed(), self.chip_mut().marked());
        self.row.note(failed, failed_before, marked, is_write, is_mount);
    }

    /// Checks whether a fault explains an error.
    fn refused(&mut self, error: FtlError, command: &str) {
        let (failed, marked) = (self.failed(), self.chip_mut().marked());
        let is_explained = match error {
            FtlError::Unreadable { lpn } => self.doubts.explains(lpn.0),
            FtlError::WornOut { .. } => failed > 0 && self.row.may_refuse(failed, marked),
            _ => false,
        };
        assert!(is_explained, "{}: {command}: {error:?}, {failed} have failed, {:?}", self.what, self.row);
        self.is_over = true;
    }

    /// True if nothing may be left that says whose the chip is: something has decayed, or nothing is held, and of all
    /// segments one is good.
    fn may_be_foreign(&self) -> bool {
        let is_empty = || (0..self.model.pages()).all(|page| self.model.may_hold(page, 0));
        self.doubts.has_gaps() || self.row.segments <= self.failed() + 1 && is_empty()
    }

    fn arm(&mut self, after: u64) {
        let (after, outcome) = (self.draws.shifted(after), self.draws.outcome());
        self.cut = Some(PowerCut { at_op: self.chip().ops() + after, outcome });
        if let Ok(ftl) = &mut self.device {
            R::chip_of_mut(ftl).arm(self.cut);
        }
    }

    /// An operation is going to fail, or the driver to give up on it.
    fn fail(&mut self, after: u64, is_given_up: bool) {
        let op = self.chip().ops() + self.draws.shifted(after);
        if is_given_up {
            self.faults.interrupt_ops.push(op);
            self.faults.seed = self.draws.given_up();
        } else {
            let (seed, said) = self.draws.failure();
            self.faults.fail_ops.push(op);
            self.faults.fails_as.extend(said.map(|bits| (op, bits)));
            self.faults.seed = seed;
        }
        self.faults.failed_pages_fade = self.draws.failed_pages_fade();
        let faults = self.faults.clone();
        self.chip_mut().set_faults(faults);
    }

    fn fail_mark(&mut self, after: u64) {
        self.faults.fail_marks.push(self.chip().ops() + after);
        let faults = self.faults.clone();
        self.chip_mut().set_faults(faults);
    }

    fn decay(&mut self, number: u64) {
        let (number, per_page) = (self.draws.decayed(number), self.model.sectors_per_page());
        if let Some(gone) = self.chip_mut().decay_one(number, per_page) {
            self.doubts.decayed(gone, &self.model, self.last_cut);
        }
    }

    /// The power has failed in the last operation.
    fn note_cut(&mut self) {
        if self.chip().trace().last() == Some(&OpKind::Program) {
            self.last_cut = LastCut::InProgram;
            self.doubts.program_was_cut();
        } else if self.last_cut == LastCut::None {
            self.last_cut = LastCut::Elsewhere;
        }
    }

    fn chip(&self) -> &R::Chip {
        match &self.device {
            Ok(ftl) => R::chip_of(ftl),
            Err(chip) => chip,
        }
    }

    fn chip_mut(&mut self) -> &mut R::Chip {
        match &mut self.device {
            Ok(ftl) => R::chip_of_mut(ftl),
            Err(chip) => chip,
        }
    }

    fn mount(mut self) -> Self {
        let (failed_before, given_up_before) = (self.failed(), self.given_up());
        let mut chip = match self.device {
            Ok(ftl) => R::into_chip(ftl),
            Err(chip) => chip,
        };
        chip.power_on();
        let cut = self.cut.filter(|cut| cut.at_op >= chip.ops());
        chip.arm(cut);
        self.doubts.before_mount(&chip, &self.model);
        match self.rig.mount_or_return(chip) {
            Ok((mut ftl, report)) => {
                // What is read on a device that is mounted read-only need not stay.
                let checked = match (report.read_only, self.doubts.has_gaps()) {
                    (true, _) => self.doubts.check_worn(&mut ftl, &self.model),
                    (_, true) => self.doubts.check_mounted(&mut ftl, &mut self.model),
                    _ => self.model.check_after_cut(&mut ftl),
                };
                let violations = R::chip_of(&ftl).violations();
                (self.device, self.last_cut) = (Ok(ftl), LastCut::None);
                self.note(failed_before, false, true);
                if report.read_only {
                    self.refused(FtlError::WornOut { good_segments: 0, needed_segments: 0 }, "a mount");
                }
                checked.unwrap_or_else(|error| panic!("{}: {error}", self.what));
                assert_eq!(violations, 0, "{}: the chip's contract was broken", self.what);
            }
            Err((chip, error)) => {
                let is_off = chip.is_off();
                self.device = Err(chip);
                if is_off {
                    self.note_cut();
                }
                match error {
                    _ if is_off => {}
                    MountError::Chip(ErrorKind::Other) | MountError::Ftl(FtlError::Chip(ErrorKind::Other))
                        if self.given_up() > given_up_before => {}
                    MountError::Foreign if self.may_be_foreign() => self.is_over = true,
                    MountError::Ftl(error) => self.refused(error, "a mount"),
                    error => panic!("{}: cannot be mounted: {error}", self.what),
                }
            }
        }
        self
    }
}
