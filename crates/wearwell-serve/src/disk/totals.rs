//! Counters of a served disk that do not need the map.

use wearwell::{Limits, Stats};
use wearwell_sim::run::{LatencyUs, StreamPages};

use super::{Disk, WearSpread};

/// Numbers of a disk, collected in time proportional to its segments. Counters begin when the disk is opened; wear is
/// the chip's.
#[derive(Debug, Clone, PartialEq)]
pub struct Totals {
    /// The engine's counters.
    pub stats: Stats,
    /// The size of the disk, and how much of it is in use.
    pub limits: Limits,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Bytes that hosts wrote.
    pub host_bytes: u64,
    /// Bytes that they read.
    pub read_bytes: u64,
    /// What they wrote to each stream.
    pub streams: Vec<StreamPages>,
    /// Erases of each segment that is not bad.
    pub erases: Vec<u32>,
    /// Erases that a block is rated for.
    pub rated_erases: u32,
}

impl Totals {
    /// Segments that are bad.
    pub fn bad_segments(&self) -> u32 {
        self.limits.segments - self.erases.len() as u32
    }

    /// Bytes programmed, in whole pages.
    pub fn flash_bytes(&self) -> u64 {
        self.stats.programmed_pages() * u64::from(self.page_bytes)
    }

    /// Write amplification of bytes: those programmed over those that hosts wrote.
    pub fn wa_bytes(&self) -> f64 {
        if self.host_bytes == 0 { 0.0 } else { self.flash_bytes() as f64 / self.host_bytes as f64 }
    }

    /// The distribution of the erases.
    pub fn wear(&self) -> WearSpread {
        WearSpread::of(self.erases.clone(), self.rated_erases)
    }
}

impl Disk {
    /// The counters of the disk, as [`report`](Self::report) has them, without the map's digest.
    pub fn totals(&self) -> Totals {
        Totals {
            stats: *self.engine.stats(),
            limits: self.engine.limits(),
            page_bytes: self.page_bytes,
            host_bytes: self.account.written_bytes(),
            read_bytes: self.account.read_bytes(),
            streams: self.account.streams(),
            erases: self.engine.erase_counts(),
            rated_erases: self.plan.spec.chip.endurance_cycles,
        }
    }

    /// The latencies of commands on the chip's timeline; none for a chip without times.
    pub fn latency_us(&self) -> Option<LatencyUs> {
        self.plan.spec.chip.times.and_then(|_| self.account.latency_us())
    }
}
