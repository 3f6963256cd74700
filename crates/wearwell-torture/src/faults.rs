//! Faults to come: each waits for an operation, counted from the moment it was armed.

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
    /// An error of the driver's own.
    Other(u64),
}

/// Where a fault struck: what is needed to arm it right before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Struck {
    /// The step that armed it.
    pub armed_by: usize,
    /// The step that it struck in.
    pub in_step: usize,
    /// Operations of that step before it.
    pub after: u32,
}

#[derive(Debug, Clone, Copy)]
struct Armed {
    by: usize,
    fault: Step,
    /// The count of operations (reads for a refresh) at which it strikes.
    at: u64,
}

/// The power of a chip and the faults that wait for it.
#[derive(Debug, Default)]
pub struct Faults {
    off: bool,
    ops: u64,
    reads: u64,
    step: usize,
    ops_before_step: u64,
    reads_before_step: u64,
    armed: Vec<Armed>,
    /// What struck so far.
    pub struck: Vec<Struck>,
    /// Errors that a driver may return and that no engine can hide, since the last [`begin_step`](Self::begin_step).
    pub shown: u32,
}

impl Faults {
    /// True while there is no power.
    pub fn is_off(&self) -> bool {
        self.off
    }

    /// Turns the power on.
    pub fn power_on(&mut self) {
        self.off = false;
    }

    /// A step of the history begins: what strikes from now on struck in it.
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

    /// True if a cut waits.
    pub fn has_cut(&self) -> bool {
        self.armed.iter().any(|armed| matches!(armed.fault, Step::Cut { .. }))
    }

    /// Nothing waits any more.
    pub fn disarm(&mut self) {
        self.armed.clear();
    }

    /// Counts an operation, and says what happens to it. A cut goes before all else.
    pub fn strike(&mut self, op: Op) -> Option<Hit> {
        let now = self.ops;
        self.ops += 1;
        let fault = self
            .take(now, self.ops_before_step, |fault| matches!(fault, Step::Cut { .. }))
            .or_else(|| self.take(now, self.ops_before_step, |fault| can_strike(fault, op)))?;
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
