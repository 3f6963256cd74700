//! Armed faults. Each waits for an operation, counted from the moment it was armed.

use crate::history::Step;

/// A kind of operation of a chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// A program.
    Program,
    /// An erase.
    Erase,
    /// A bad-block mark.
    Mark,
}

/// What happens to an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hit {
    /// The power fails.
    Cut(u64),
    /// It fails.
    Fail(u64),
    /// The driver returns an error of its own.
    Other(u64),
}

/// Where a fault struck, so that it can be armed right before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Struck {
    /// The step that armed it.
    pub armed_by: usize,
    /// The step that it struck in.
    pub in_step: usize,
    /// Operations of that step before the fault.
    pub after: u32,
}

#[derive(Debug, Clone, Copy)]
struct Armed {
    by: usize,
    fault: Step,
    /// The count of operations (reads for a refresh) at which it strikes.
    at: u64,
}

/// The power of a chip, and its armed faults.
#[derive(Debug, Default)]
pub struct Faults {
    off: bool,
    ops: u64,
    reads: u64,
    step: usize,
    ops_before_step: u64,
    reads_before_step: u64,
    armed: Vec<Armed>,
    /// The faults that have struck.
    pub struck: Vec<Struck>,
    /// Errors that a driver may return and that no engine can hide, since the last [`begin_step`](Self::begin_step).
    pub shown: u32,
    /// A cut has hit the last page of a block, or its program has failed in this command or the one that was cut, and
    /// no mount has succeeded since. Block mapping commits a merge with it.
    pub has_cut_commit: bool,
    /// Programs and erases that have failed or ended with an error of the driver's own.
    pub failures: u32,
    /// Of each erase that failed because its block had failed before: which of the failures that was.
    pub again: Vec<u32>,
}

impl Faults {
    /// True while the power is off.
    pub fn is_off(&self) -> bool {
        self.off
    }

    /// Turns the power on.
    pub fn power_on(&mut self) {
        self.off = false;
    }

    /// Begins a step of the history. Faults that strike from now on are recorded in it.
    pub fn begin_step(&mut self, step: usize) {
        (self.step, self.ops_before_step, self.reads_before_step) = (step, self.ops, self.reads);
        self.shown = 0;
    }

    /// Arms the fault of the current step.
    pub fn arm(&mut self, fault: Step) {
        let Some(after) = fault.after() else { return };
        let now = if matches!(fault, Step::Refresh { .. }) { self.reads } else { self.ops };
        self.armed.push(Armed { by: self.step, fault, at: now + u64::from(after) });
    }

    /// True if a cut is armed.
    pub fn has_cut(&self) -> bool {
        self.armed.iter().any(|armed| matches!(armed.fault, Step::Cut { .. }))
    }

    /// Counts an operation, and returns what happens to it. A cut takes precedence.
    pub fn strike(&mut self, op: Op) -> Option<Hit> {
        let now = self.ops;
        self.ops += 1;
        let fault = self
            .take(now, self.ops_before_step, |fault| matches!(fault, Step::Cut { .. }))
            .or_else(|| self.take(now, self.ops_before_step, |fault| can_strike(fault, op)))?;
        self.failures += u32::from(matches!(fault, Step::Fail { .. } | Step::Other { .. }));
        Some(match fault {
            Step::Cut { draw, .. } => {
                self.off = true;
                Hit::Cut(draw)
            }
            Step::Other { draw, .. } => {
                self.shown += 1;
                Hit::Other(draw)
            }
            Step::Fail { draw, .. } => Hit::Fail(draw),
            _ => {
                self.shown += 1;
                Hit::Fail(0)
            }
        })
    }

    /// Counts a read. True if it asks for its page to be moved.
    pub fn strike_read(&mut self) -> bool {
        let now = self.reads;
        self.reads += 1;
        self.take(now, self.reads_before_step, |fault| matches!(fault, Step::Refresh { .. })).is_some()
    }

    fn take(&mut self, now: u64, before_step: u64, matches: impl Fn(&Step) -> bool) -> Option<Step> {
        // A fault that met no operation of its kind when it was due strikes the next one.
        let found = self.armed.iter().position(|armed| armed.at <= now && matches(&armed.fault))?;
        let armed = self.armed.swap_remove(found);
        self.struck.push(Struck { armed_by: armed.by, in_step: self.step, after: (now - before_step) as u32 });
        Some(armed.fault)
    }
}

fn can_strike(fault: &Step, op: Op) -> bool {
    match fault {
        Step::Fail { .. } | Step::Other { .. } => op != Op::Mark,
        Step::FailMark { .. } => op == Op::Mark,
        _ => false,
    }
}
