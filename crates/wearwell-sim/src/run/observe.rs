//! What a report does not show: the course of a run, and the state of every segment at the end.

use serde::Serialize;
use wearwell::Lpn;

use super::clock::Latencies;
use crate::engine::{AnyEngine, SegmentState};

/// Most samples. At this number every second one is dropped, and the interval is doubled.
const MAX_SAMPLES: usize = 192;

/// Host bytes between the first samples.
const FIRST_STEP_BYTES: u64 = 1 << 16;

/// Quantiles of the latency that are recorded.
const QUANTILES: [f64; 11] = [0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999, 1.0];

/// The counters of the engine and the host at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sample {
    /// Bytes that the host wrote.
    pub host_bytes: u64,
    /// Simulated time; 0 for a chip without times.
    pub sim_ns: u64,
    /// Pages that the host wrote.
    pub host_pages: u64,
    /// All pages programmed.
    pub programmed_pages: u64,
    /// Pages that cleaning moved.
    pub copied_pages: u64,
    /// Segments erased.
    pub erases: u64,
    /// Segments that are free.
    pub free_segments: u32,
}

/// One segment at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SegmentUse {
    /// What it is used for.
    pub state: SegmentState,
    /// Data pages that it can hold.
    pub pages: u32,
    /// Pages that the map points to.
    pub valid_pages: u32,
    /// Valid pages that the workload has never written: they hold the fill, in place or copied.
    pub untouched_pages: u32,
    /// Times erased.
    pub erases: u32,
}

/// The observation of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Observation {
    /// Counters over time, at least two if anything was written. The first is the start.
    pub samples: Vec<Sample>,
    /// Quantiles of the commands' latency, in microseconds; empty for a chip without times.
    pub latency_us: Vec<(f64, f64)>,
    /// Every segment at the end; empty for an engine without any.
    pub segments: Vec<SegmentUse>,
}

/// Takes the samples. Wherever the run ends, samples are at most twice as far apart as would fill the list.
#[derive(Debug)]
pub(super) struct Observer {
    samples: Vec<Sample>,
    step_bytes: u64,
    next_bytes: u64,
    logical_pages: u64,
    /// A bit for each logical page: few enough bytes to stay in the processor's cache, since the host touches them in
    /// any order.
    touched: Vec<u64>,
}

impl Observer {
    /// An observer for a host that can address `logical_pages` pages.
    pub(super) fn new(logical_pages: u64) -> Self {
        Self {
            samples: Vec::new(),
            step_bytes: FIRST_STEP_BYTES,
            next_bytes: 0,
            logical_pages,
            touched: vec![0; logical_pages.div_ceil(64) as usize],
        }
    }

    /// Notes that the host writes these pages.
    pub(super) fn touch(&mut self, pages: std::ops::Range<u64>) {
        for page in pages.start..pages.end.min(self.logical_pages) {
            self.touched[(page / 64) as usize] |= 1 << (page % 64);
        }
    }

    fn is_touched(&self, page: u64) -> bool {
        self.touched[(page / 64) as usize] >> (page % 64) & 1 == 1
    }

    /// True if a sample is due.
    #[inline]
    pub(super) fn is_due(&self, host_bytes: u64) -> bool {
        host_bytes >= self.next_bytes
    }

    pub(super) fn add(&mut self, sample: Sample) {
        self.samples.push(sample);
        if self.samples.len() > MAX_SAMPLES {
            // The first sample stays, since it is the start.
            let mut at = 0;
            self.samples.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            // Samples may come further apart than asked for.
            self.step_bytes = (self.step_bytes * 2).max(self.samples[1].host_bytes - self.samples[0].host_bytes);
        }
        // At multiples of the step, so that one late sample does not move all others.
        self.next_bytes = (sample.host_bytes / self.step_bytes + 1) * self.step_bytes;
    }

    /// The observation at the end, with `last` as the last sample.
    pub(super) fn finish<F: AnyEngine>(mut self, ftl: &F, latencies: Option<&Latencies>, last: Sample) -> Observation {
        // A run that ended right behind a sample has its last one already.
        if self.samples.last().is_none_or(|sample| sample.host_bytes < last.host_bytes) {
            self.samples.push(last);
        }
        let latency_us = latencies.map(|latencies| latencies.quantiles_us(&QUANTILES)).unwrap_or_default();
        let segments = self.segments(ftl);
        Observation { samples: self.samples, latency_us, segments }
    }

    fn segments<F: AnyEngine>(&self, ftl: &F) -> Vec<SegmentUse> {
        let rows = ftl.segment_rows();
        let mut untouched = vec![0; rows.len()];
        let per_segment = ftl.limits().pages_per_segment;
        for lpn in (0..self.logical_pages).filter(|&page| !self.is_touched(page)) {
            let ppn = ftl.lookup(Lpn(lpn as u32));
            // An engine without segments has no rows, so its pages count nowhere.
            if ppn.is_some()
                && let Some(count) = untouched.get_mut((ppn.0 / per_segment) as usize)
            {
                *count += 1;
            }
        }
        let used = |(row, &untouched): (&crate::engine::SegmentRow, &u32)| SegmentUse {
            state: row.state,
            pages: row.pages,
            valid_pages: row.valid_pages,
            untouched_pages: untouched,
            erases: row.erases,
        };
        rows.iter().zip(&untouched).map(used).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(host_bytes: u64) -> Sample {
        Sample {
            host_bytes,
            sim_ns: 0,
            host_pages: 0,
            programmed_pages: 0,
            copied_pages: 0,
            erases: 0,
            free_segments: 0,
        }
    }

    #[test]
    fn samples_stay_few_and_evenly_spaced() {
        // The host checks after every page, or after every 64 pages.
        for look_bytes in [4096, 1 << 18] {
            let mut observer = Observer::new(0);
            for host_bytes in (0..100 << 20).step_by(look_bytes) {
                if observer.is_due(host_bytes) {
                    observer.add(sample(host_bytes));
                }
            }
            let samples = &observer.samples;
            assert!((MAX_SAMPLES / 2..=MAX_SAMPLES).contains(&samples.len()), "{}", samples.len());
            assert_eq!(samples[0].host_bytes, 0);
            assert!(samples.windows(2).all(|two| two[1].host_bytes - two[0].host_bytes == observer.step_bytes));
        }
    }
}
