//! Generates a history: cycles of commands and faults. Each cycle ends with a mount, mostly after a cut.

use std::collections::VecDeque;

use fastrand::Rng;

use crate::history::Step;
use crate::mode::{Decay, Mode};
use crate::run::{Source, View};
use crate::setup::{PolicyNames, Setup, percent, pick};

/// Cycles in a history.
const CYCLES: u32 = 60;
/// Commands after which a cut that has not struck is given up.
const MOST_COMMANDS: u32 = 20_000;
/// Failed mounts in a row that faults cannot explain.
const MOST_MOUNTS: u32 = 200;

/// Where a history is. A short one has no cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Fill { next_page: u32 },
    CycleBegins,
    Commands { left: u32 },
    CycleEnds,
    Mounts { tries: u32, cuts: u32, span: u32 },
    WearIn { left: u32 },
    Short { left: u32 },
    Over,
}

/// A seed's history.
#[derive(Debug)]
pub struct Generator<'a> {
    mode: &'a Mode,
    rng: Rng,
    pages: u32,
    policies: Option<PolicyNames>,
    /// Percent of commands that prefer the first pages.
    hot_percent: u32,
    /// The greatest distance of a cut. Near cuts are more frequent.
    reach: u32,
    cycles_left: u32,
    phase: Phase,
    queue: VecDeque<Step>,
}

impl<'a> Generator<'a> {
    /// The history of a seed, for a device.
    pub fn new(mode: &'a Mode, setup: &Setup, mut rng: Rng) -> Self {
        let fills = percent(&mut rng, 70);
        let is_short = mode.short_histories > 0 && !mode.worn_in;
        let first = Step::Write { page: 0, count: 3, stream: 0, read_only: false };
        Self {
            mode,
            pages: setup.logical_pages,
            policies: setup.engine.policies(),
            hot_percent: pick(&mut rng, &[0, 50, 90]),
            reach: pick(&mut rng, &[6, 40, 400, 0]),
            cycles_left: CYCLES,
            phase: if is_short {
                Phase::Short { left: rng.u32(3..14) }
            } else if fills || mode.worn_in {
                Phase::Fill { next_page: 0 }
            } else {
                Phase::CycleBegins
            },
            queue: if is_short { [first, Step::Flush].into() } else { VecDeque::new() },
            rng,
        }
    }

    fn draw(&mut self) -> u64 {
        // Short, because people read it.
        u64::from(self.rng.u16(..))
    }

    /// A write to any page before a short history, or the flush behind the last one. Cleaning runs before they end.
    fn wear_in(&mut self, left: u32) {
        let page = self.rng.u32(..self.pages);
        let step = if left == 0 { Step::Flush } else { Step::Write { page, count: 1, stream: 0, read_only: false } };
        self.queue.push_back(step);
        self.phase = match left {
            0 => Phase::Short { left: self.rng.u32(6..30) },
            _ => Phase::WearIn { left: left - 1 },
        };
    }

    /// A step of a short history: of a few pages on an empty device, so that what happens to one is likely to matter.
    fn short_step(&mut self) {
        let page = self.rng.u32(..if self.mode.worn_in { self.pages } else { 4 });
        let write = |page, count| Step::Write { page, count, stream: 0, read_only: false };
        let step = match self.rng.u8(..12) {
            0 | 1 => write(page, 1),
            2 => Step::Discard { sector: page, count: 1 },
            3 => Step::Flush,
            4..=6 => {
                let (after, draw) = (self.rng.u32(..9), self.draw());
                self.queue.push_back(Step::Cut { after, draw });
                if self.rng.bool() { Step::Mount } else { write(page, 1) }
            }
            7..=9 => Step::Mount,
            10 if self.mode.failures > 0 => Step::Fail { after: self.rng.u32(..5), draw: self.draw() },
            11 if self.mode.decay != Decay::NEVER => Step::Decay { draw: self.rng.u64(..40) },
            _ => write(self.rng.u32(..self.pages - 1), 2),
        };
        self.queue.push_back(step);
    }

    fn begin_cycle(&mut self) {
        if self.cycles_left == 0 {
            self.phase = Phase::Over;
            return;
        }
        self.cycles_left -= 1;
        let is_cut = percent(&mut self.rng, self.mode.cut_percent);
        if is_cut {
            // A history without a reach draws one for each cycle.
            let reach = if self.reach == 0 { pick(&mut self.rng, &[4, 40, 400]) } else { self.reach };
            let (after, draw) = (self.rng.u32(1..=reach), self.draw());
            self.queue.push_back(Step::Cut { after, draw });
        }
        self.arm_failures();
        let most = if self.mode.cut_percent < 50 { 2000 } else { 200 };
        let left = if is_cut { MOST_COMMANDS } else { self.rng.u32(..most) };
        self.phase = Phase::Commands { left };
    }

    fn arm_failures(&mut self) {
        if self.mode.failures > 0 && percent(&mut self.rng, 40) {
            for _ in 0..self.rng.u32(1..=self.mode.failures) {
                let (after, draw) = (self.rng.u32(..600), self.draw());
                self.queue.push_back(Step::Fail { after, draw });
            }
        }
        if self.mode.failing_marks && percent(&mut self.rng, 20) {
            self.queue.push_back(Step::FailMark { after: self.rng.u32(..200) });
        }
        if self.mode.other_errors {
            let (after, draw) = (self.rng.u32(..800), self.draw());
            self.queue.push_back(Step::Other { after, draw });
        }
        if self.mode.refreshes {
            for _ in 0..self.rng.u32(..20) {
                let after = self.rng.u32(..2000);
                self.queue.push_back(Step::Refresh { after });
            }
        }
    }

    fn command(&mut self, view: View) -> Step {
        let Decay { every_commands, .. } = self.mode.decay;
        if every_commands > 0 && self.rng.u32(..every_commands) == 0 {
            return Step::Decay { draw: self.draw() };
        }
        if let Some(policies) = self.policies.filter(|_| self.rng.u32(..120) == 0) {
            return Step::Policies(PolicyNames::random(&mut self.rng, self.mode.choices, Some(policies.place)));
        }
        if percent(&mut self.rng, self.mode.discard_percent) {
            let page = self.rng.u32(..self.pages);
            // Whole pages. The usual discards have parts of pages as well.
            let count = self.rng.u32(1..=4).min(self.pages - page) * view.sectors_per_page;
            let discard = Step::Discard { sector: page * view.sectors_per_page, count };
            return if percent(&mut self.rng, 60) { discard } else { Step::Flush };
        }
        self.usual_command(view.sectors_per_page)
    }

    fn usual_command(&mut self, per_page: u32) -> Step {
        let (rng, pages) = (&mut self.rng, self.pages);
        let sectors = pages * per_page;
        let is_hot = percent(rng, self.hot_percent);
        let page = rng.u32(..if is_hot { (pages / 5).max(1) } else { pages });
        match rng.u32(..100) {
            0..=5 => Step::Flush,
            6..=11 => {
                let sector = if rng.bool() { page * per_page } else { rng.u32(..sectors) };
                Step::Discard { sector, count: rng.u32(1..=6 * per_page).min(sectors - sector) }
            }
            12 => Step::Clean { pages: rng.u32(1..=12) },
            13..=16 => Step::Read { page },
            17..=32 if per_page > 1 => {
                let sector = page * per_page + rng.u32(..per_page);
                let most = if percent(rng, 80) { per_page } else { 3 * per_page };
                Step::Part { sector, count: rng.u32(1..=most).min(sectors - sector), stream: rng.u16(..3) }
            }
            33..=40 => {
                let count = rng.u32(1..=8).min(pages - page);
                Step::Write { page, count, stream: rng.u16(..5), read_only: percent(rng, 10) }
            }
            _ => {
                let stream = if percent(rng, 80) { rng.u16(..3) } else { rng.u16(..40) };
                Step::Write { page, count: 1, stream, read_only: percent(rng, 5) }
            }
        }
    }

    fn end_cycle(&mut self, view: View) {
        if view.is_mounted {
            self.queue.push_back(Step::Verify);
            if !view.is_worn && percent(&mut self.rng, 50) {
                if percent(&mut self.rng, 50) {
                    let (after, draw) = (self.rng.u32(..12), self.draw());
                    self.queue.push_back(Step::Cut { after, draw });
                }
                self.queue.push_back(Step::Shutdown);
            }
        }
        // Behind a cut no engine believes that what reads as erased is, and finds each mark by an erase.
        let is_spared = self.mode.marks_empty && !percent(&mut self.rng, self.mode.cut_percent);
        let cuts = if is_spared {
            0
        } else if percent(&mut self.rng, 30) {
            self.rng.u32(..30)
        } else {
            self.rng.u32(..3)
        };
        self.phase = Phase::Mounts { tries: 0, cuts, span: pick(&mut self.rng, &[2, 6, 20, 80]) };
    }

    fn mount_again(&mut self, view: View, tries: u32, cuts: u32, span: u32) {
        // Before the first try, what is mounted is the device of the cycle.
        if tries > 0 && view.is_mounted || tries == MOST_MOUNTS {
            let ends = view.is_worn || tries == MOST_MOUNTS;
            // A worn device takes no commands, so further cycles would be empty.
            self.phase = if ends { Phase::Over } else { Phase::CycleBegins };
            return;
        }
        // A mount of a worn device may be refused for good, so nobody waits for one that succeeds.
        if view.is_worn && tries > cuts {
            self.phase = Phase::Over;
            return;
        }
        let Decay { mount_percent, .. } = self.mode.decay;
        if mount_percent > 0 && percent(&mut self.rng, mount_percent) {
            let draw = self.draw();
            self.queue.push_back(Step::Decay { draw });
        }
        if self.mode.marks_empty && tries == 0 && percent(&mut self.rng, 50) {
            let draw = self.draw();
            self.queue.push_back(Step::Mark { draw });
        }
        // A cut that did not strike in the last mount waits for this one.
        if tries < cuts && !view.awaits_cut {
            let (after, draw) = (self.rng.u32(..span), self.draw());
            self.queue.push_back(Step::Cut { after, draw });
        }
        if self.mode.mount_failures_percent > 0 && percent(&mut self.rng, self.mode.mount_failures_percent) {
            let (after, draw) = (self.rng.u32(..span), self.draw());
            self.queue.push_back(Step::Fail { after, draw });
        }
        self.queue.push_back(Step::Mount);
        self.phase = Phase::Mounts { tries: tries + 1, cuts, span };
    }

    fn advance(&mut self, view: View) {
        match self.phase {
            Phase::Fill { next_page } if next_page < self.pages && !view.is_worn => {
                self.queue.push_back(Step::Write { page: next_page, count: 1, stream: 0, read_only: false });
                self.phase = Phase::Fill { next_page: next_page + 1 };
            }
            Phase::Fill { .. } if self.mode.worn_in => {
                self.phase = Phase::WearIn { left: self.rng.u32(self.pages..self.pages * 3) };
            }
            Phase::Fill { .. } => self.phase = Phase::CycleBegins,
            Phase::CycleBegins => self.begin_cycle(),
            Phase::Commands { left } if left > 0 && view.is_mounted && !view.is_worn => {
                let command = self.command(view);
                self.queue.push_back(command);
                self.phase = Phase::Commands { left: left - 1 };
            }
            Phase::Commands { .. } => self.phase = Phase::CycleEnds,
            Phase::CycleEnds => self.end_cycle(view),
            Phase::Mounts { tries, cuts, span } => self.mount_again(view, tries, cuts, span),
            Phase::WearIn { left } => self.wear_in(left),
            Phase::Short { left: 0 } => {
                self.queue.extend([Step::Mount, Step::Mount]);
                self.phase = Phase::Over;
            }
            Phase::Short { left } => {
                self.short_step();
                self.phase = Phase::Short { left: left - 1 };
            }
            Phase::Over => {}
        }
    }
}

impl Source for Generator<'_> {
    fn next(&mut self, view: View) -> Option<Step> {
        while self.queue.is_empty() && self.phase != Phase::Over {
            self.advance(view);
        }
        self.queue.pop_front()
    }
}
