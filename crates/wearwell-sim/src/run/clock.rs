//! A host with one command in flight, and how long its commands take.

use hdrhistogram::Histogram;
use serde::Serialize;
use wearwell_emu::Timeline;

/// Queue depth 1: a command begins when the previous one is complete and the host has spent its own time, and not
/// before it arrives. Its latency counts from its arrival, if it has one, and so includes the wait for earlier
/// commands.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    /// When the next command arrives; none in a closed loop.
    arrival_ns: Option<u64>,
    /// When the last command completed.
    last_ns: u64,
    began_ns: u64,
    host_ns_per_page: f64,
    latencies: Latencies,
}

/// Durations of commands on the chip's timeline.
#[derive(Debug, Clone)]
pub struct Latencies {
    sum_ns: u64,
    ns: Histogram<u64>,
    /// Time of the commands that wrote, and pages that they touched.
    writing_ns: u64,
    written_pages: u64,
}

/// Latency of the host's commands, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatencyUs {
    /// Arithmetic mean, exact.
    pub mean: f64,
    /// Median; percentiles are exact to three digits.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// The longest, exact to three digits.
    pub max: f64,
}

impl Clock {
    /// A clock at the chip's time.
    pub(super) fn new(timeline: &Timeline, host_us_per_page: f64) -> Self {
        Self {
            arrival_ns: None,
            last_ns: timeline.now_ns(),
            began_ns: 0,
            host_ns_per_page: host_us_per_page * 1e3,
            latencies: Latencies::default(),
        }
    }

    /// When the next command begins, if it touches `pages` pages.
    pub(super) fn next_ns(&self, pages: u64) -> u64 {
        // The cast saturates, too. `has_run_out` tells of a clock that is full.
        let free_ns = self.last_ns.saturating_add((self.host_ns_per_page * pages as f64) as u64);
        free_ns.max(self.arrival_ns.unwrap_or(0))
    }

    /// Sets the arrival of the next command, on the chip's timeline.
    pub(super) fn set_arrival(&mut self, arrival_ns: u64) {
        self.arrival_ns = Some(arrival_ns);
    }

    /// Starts a command on `pages` pages. Returns the time, in microseconds.
    pub(super) fn begin(&mut self, timeline: &mut Timeline, pages: u64) -> u64 {
        self.begin_at(timeline, self.next_ns(pages));
        self.began_ns / 1000
    }

    /// Starts a command at the given time, on the chip's timeline.
    pub(super) fn begin_at(&mut self, timeline: &mut Timeline, began_ns: u64) {
        self.began_ns = began_ns;
        timeline.begin_command(began_ns);
    }

    /// Ends the command, which has written `written_pages` pages.
    pub(super) fn end(&mut self, timeline: &Timeline, written_pages: u64) {
        self.last_ns = timeline.completion_ns();
        // Taken, so that the next command does not count from it, too. A command never begins before its arrival, so
        // the difference below is not negative.
        let since_ns = self.arrival_ns.take().unwrap_or(self.began_ns);
        self.latencies.add(self.last_ns - since_ns, written_pages);
    }

    /// True if the time exceeds what can be counted: 584 years.
    pub(super) fn has_run_out(&self) -> bool {
        self.last_ns == u64::MAX
    }

    /// Forgets the latencies so far.
    pub(super) fn reset(&mut self) {
        self.latencies = Latencies::default();
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.last_ns
    }

    /// The latencies since the last reset.
    pub(super) fn latencies(&self) -> &Latencies {
        &self.latencies
    }
}

impl Default for Latencies {
    fn default() -> Self {
        let ns = Histogram::new(3).expect("a histogram of three digits is allowed");
        Self { sum_ns: 0, ns, writing_ns: 0, written_pages: 0 }
    }
}

impl Latencies {
    /// Adds a command that took `latency_ns` and wrote `written_pages` pages.
    pub fn add(&mut self, latency_ns: u64, written_pages: u64) {
        self.sum_ns = self.sum_ns.saturating_add(latency_ns);
        if written_pages > 0 {
            self.writing_ns = self.writing_ns.saturating_add(latency_ns);
            self.written_pages += written_pages;
        }
        // The histogram grows as needed, so recording cannot fail.
        let recorded = self.ns.record(latency_ns);
        debug_assert!(recorded.is_ok(), "{latency_ns} ns");
    }

    /// The given quantiles of the latency, in microseconds; empty without commands.
    pub(super) fn quantiles_us(&self, quantiles: &[f64]) -> Vec<(f64, f64)> {
        let all = if self.ns.is_empty() { &[] } else { quantiles };
        all.iter().map(|&quantile| (quantile, self.ns.value_at_quantile(quantile) as f64 / 1e3)).collect()
    }

    /// Microseconds to write a page: the time of commands that write, divided by the pages that they touch (FSAF '09:
    /// W-AMAT). None if no page was written.
    pub fn write_us_per_page(&self) -> Option<f64> {
        (self.written_pages > 0).then(|| self.writing_ns as f64 / 1e3 / self.written_pages as f64)
    }

    /// The latency of all commands; none without commands.
    pub fn latency_us(&self) -> Option<LatencyUs> {
        let commands = self.ns.len();
        let us = |ns: u64| ns as f64 / 1e3;
        let at = |quantile| us(self.ns.value_at_quantile(quantile));
        (commands > 0).then(|| LatencyUs {
            mean: us(self.sum_ns) / commands as f64,
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            max: us(self.ns.max()),
        })
    }
}
