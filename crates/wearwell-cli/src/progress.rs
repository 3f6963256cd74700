//! Shows that work goes on which takes longer than a second, only on a terminal.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use wearwell_sim::run::Progress;

/// How long nothing is shown.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// Bars of several runs, one below another.
pub(crate) struct Bars(Option<MultiProgress>);

impl Bars {
    /// Bars on standard error, if that is a terminal.
    pub(crate) fn new() -> Self {
        let on_terminal = stderr().is_terminal();
        Self(on_terminal.then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr())))
    }

    /// A bar for one run.
    pub(crate) fn bar(&self, name: &str) -> Bar<'_> {
        Bar { bars: self, name: name.to_owned(), began: Instant::now(), phase: "", steps: 0, shown: None }
    }
}

/// A bar over `runs` runs on standard error, if that is a terminal.
pub(crate) fn of_runs(what: &str, runs: usize) -> Option<ProgressBar> {
    if runs == 0 || !stderr().is_terminal() {
        return None;
    }
    let bar = ProgressBar::with_draw_target(Some(runs as u64), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{prefix}: {pos} of {len} runs {wide_bar} {elapsed}, {eta} to go") {
        bar.set_style(style);
    }
    bar.set_prefix(what.to_owned());
    Some(bar)
}

/// The bar of one run: hidden until the run has taken a second.
pub(crate) struct Bar<'a> {
    bars: &'a Bars,
    name: String,
    began: Instant,
    phase: &'static str,
    steps: u64,
    shown: Option<ProgressBar>,
}

impl Progress for Bar<'_> {
    fn begin(&mut self, phase: &'static str, steps: u64) {
        (self.phase, self.steps) = (phase, steps);
        if let Some(bar) = &self.shown {
            bar.set_length(steps);
            bar.set_position(0);
            bar.set_message(phase);
        }
    }

    fn advance(&mut self, done: u64) {
        if let Some(bar) = &self.shown {
            bar.set_position(done);
        } else if let Some(bars) = &self.bars.0
            && self.began.elapsed() > PATIENCE
        {
            let bar = bars.add(ProgressBar::new(self.steps).with_position(done));
            if let Ok(style) = ProgressStyle::with_template("{prefix} {msg} {wide_bar} {percent:>3} %  {eta}") {
                bar.set_style(style);
            }
            bar.set_prefix(self.name.clone());
            bar.set_message(self.phase);
            self.shown = Some(bar);
        }
    }
}

impl Drop for Bar<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}
