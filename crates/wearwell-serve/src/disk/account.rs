//! Counts what hosts read and wrote since a disk was opened, for its report.

use std::time::Instant;

use wearwell_sim::engine::DataMode;
use wearwell_sim::run::{HostConfig, Latencies, LatencyUs, Measured, Pace, StreamCounts, StreamPages};

use super::engine::DiskEngine;

/// Counters in addition to the engine's.
pub(super) struct Account {
    opened: Instant,
    written_bytes: u64,
    read_bytes: u64,
    streams: StreamCounts,
    latencies: Latencies,
    /// The arrival of the current command, in nanoseconds of the chip's time.
    arrived_ns: Option<u64>,
    /// Host pages of the commands so far.
    host_pages: u64,
    erases_before: Vec<u32>,
}

impl Account {
    pub(super) fn new(engine: &dyn DiskEngine) -> Self {
        Self {
            opened: Instant::now(),
            written_bytes: 0,
            read_bytes: 0,
            streams: StreamCounts::default(),
            latencies: Latencies::default(),
            arrived_ns: None,
            host_pages: 0,
            erases_before: engine.erase_counts(),
        }
    }

    pub(super) fn arrives(&mut self, now_ns: u64) {
        self.arrived_ns = Some(now_ns);
    }

    /// Completes the current command. It counts once, even if it makes several calls.
    pub(super) fn ends(&mut self, engine: &mut dyn DiskEngine) {
        // A disk without a server has no arrivals, and so no latencies.
        if let Some(arrived_ns) = self.arrived_ns.take() {
            let host_pages = engine.stats().host_pages;
            let written_pages = host_pages - std::mem::replace(&mut self.host_pages, host_pages);
            self.latencies.add(engine.chip().time().completion_ns().saturating_sub(arrived_ns), written_pages);
        }
    }

    pub(super) fn reads(&mut self, bytes: u64) {
        self.read_bytes += bytes;
    }

    /// Counts bytes that the engine took from a host, and their pages by the engine's own count, so that the streams
    /// add up to it.
    pub(super) fn writes(&mut self, bytes: u64, stream: u16, host_pages: u64) {
        self.written_bytes += bytes;
        self.streams.add(stream, host_pages);
    }

    pub(super) fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    pub(super) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    pub(super) fn streams(&self) -> Vec<StreamPages> {
        self.streams.list()
    }

    pub(super) fn latency_us(&self) -> Option<LatencyUs> {
        self.latencies.latency_us()
    }

    /// The host's entry in the report, for a host that is not configured.
    pub(super) fn host() -> HostConfig {
        HostConfig {
            data: DataMode::Stored,
            fill: "0%".to_owned(),
            fill_pages: 0,
            volume_at: None,
            workload: "served".to_owned(),
            write: None,
            unit: None,
            pace: Pace::Chip,
            host_us_per_page: 0.0,
            wrong_streams: "0%".to_owned(),
            gives_hints: false,
            window: None,
        }
    }

    /// `sim_seconds` is the time on the chip's timeline since the disk was opened, if the chip has times.
    pub(super) fn measured(&self, sim_seconds: Option<f64>) -> Measured {
        Measured {
            wall_seconds: self.opened.elapsed().as_secs_f64(),
            sim_seconds,
            latency_us: sim_seconds.and_then(|_| self.latencies.latency_us()),
            write_us_per_page: sim_seconds.and_then(|_| self.latencies.write_us_per_page()),
            host_written_bytes: self.written_bytes,
            host_read_bytes: self.read_bytes,
            streams: self.streams.list(),
            erases_before: self.erases_before.clone(),
            requests: None,
            second_half: None,
            windows: Vec::new(),
        }
    }
}
