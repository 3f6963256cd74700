//! Shortens a failing history: removes commands and faults as long as it fails in the same way.

use crate::failure::Failure;
use crate::faults::Struck;
use crate::history::Step;
use crate::run::{Record, Replay, Rig, run};

/// Most steps to replay for one history.
const MOST_STEPS: usize = 800_000;

/// The shortest history found, and how it fails.
#[derive(Debug)]
pub struct Shrunk {
    /// The steps.
    pub history: Vec<Step>,
    /// How it fails.
    pub failure: Failure,
}

/// Shortens the history of a failed run. `None` if the run did not fail, or does not fail when replayed.
pub fn shrink(rig: &Rig, record: &Record) -> Option<Shrunk> {
    let failure = record.failure.clone()?;
    let best = Shrunk { history: record.history.clone(), failure };
    let mut search = Search { rig, best, struck: Vec::new(), steps_left: MOST_STEPS };
    // This also checks that a replay fails as the run did.
    let history = search.best.history.clone();
    search.accepts(&history).then_some(())?;
    loop {
        let before = search.best.history.clone();
        search.remove_parts();
        search.simplify_steps();
        if search.best.history == before || search.steps_left == 0 {
            return Some(search.best);
        }
    }
}

struct Search<'a> {
    rig: &'a Rig,
    best: Shrunk,
    /// Where the faults of the best history strike.
    struck: Vec<Struck>,
    steps_left: usize,
}

impl Search<'_> {
    /// Replays a history. If it fails in the same way, it becomes the best one, without the steps after the failure and
    /// the faults that did not strike.
    fn accepts(&mut self, history: &[Step]) -> bool {
        if !self.fails_alike(history) {
            return false;
        }
        let tidy = self.tidied();
        if tidy != self.best.history {
            // Faults that are armed elsewhere count from elsewhere, so the result has to be tried.
            self.fails_alike(&tidy);
        }
        true
    }

    fn fails_alike(&mut self, history: &[Step]) -> bool {
        if self.steps_left == 0 {
            return false;
        }
        let record = run(self.rig, &mut Replay(history.iter()));
        self.steps_left = self.steps_left.saturating_sub(record.history.len());
        let Some(failure) = record.failure.filter(|failure| failure.kind == self.best.failure.kind) else {
            return false;
        };
        self.best = Shrunk { history: record.history, failure };
        self.struck = record.struck;
        true
    }

    /// The best history with each fault right before the step that it strikes in, and without faults that never strike.
    fn tidied(&self) -> Vec<Step> {
        let history = &self.best.history;
        let mut tidy = Vec::with_capacity(history.len());
        for (number, step) in history.iter().enumerate() {
            for fault in self.struck.iter().filter(|fault| fault.in_step == number) {
                tidy.push(history[fault.armed_by].with_after(fault.after));
            }
            if !step.is_armed() {
                tidy.push(*step);
            }
        }
        tidy
    }

    /// Removes runs of steps, long ones first.
    fn remove_parts(&mut self) {
        let mut length = self.best.history.len().div_ceil(2);
        while length > 0 && self.steps_left > 0 {
            let mut from = 0;
            while from < self.best.history.len() {
                let to = (from + length).min(self.best.history.len());
                let rest = [&self.best.history[..from], &self.best.history[to..]].concat();
                // The remaining steps move up to this place.
                if !self.accepts(&rest) {
                    from = to;
                }
            }
            // Rounding up never gets below 1, so the last round ends the loop here.
            length = if length == 1 { 0 } else { length.div_ceil(2) };
        }
    }

    /// Makes single steps smaller.
    fn simplify_steps(&mut self) {
        let mut at = 0;
        while at < self.best.history.len() {
            for simpler in simpler(&self.best.history[at]) {
                let mut history = self.best.history.clone();
                // A candidate that was accepted ends with its failure, so it may have become shorter.
                if at < history.len() {
                    history[at] = simpler;
                    self.fails_alike(&history);
                }
            }
            at += 1;
        }
    }
}

fn simpler(step: &Step) -> Vec<Step> {
    match *step {
        Step::Write { page, count, stream, read_only } if count > 1 || stream > 0 || read_only => vec![
            Step::Write { page, count: 1, stream, read_only },
            Step::Write { page, count, stream: 0, read_only: false },
            Step::Write { page, count: 1, stream: 0, read_only: false },
        ],
        Step::Part { sector, count, stream } if count > 1 || stream > 0 => {
            vec![Step::Part { sector, count: 1, stream: 0 }]
        }
        // With few pages, trying finds the right one.
        Step::Decay { draw } => (0..draw.min(9)).map(|draw| Step::Decay { draw }).collect(),
        Step::Mark { draw } => (0..draw.min(9)).map(|draw| Step::Mark { draw }).collect(),
        _ => vec![],
    }
}
