//! Statistics of a trace, by device. Memory grows with the pages that are written, not with the length of the trace.

use std::collections::HashMap;
use std::path::Path;

use super::{Batch, TraceError, scan};
use crate::request::{Op, Request};
use serde::Serialize;

/// The page size for working set, skew and intervals.
const PAGE_BYTES: u64 = 4096;

/// The quantiles of update intervals.
const QUANTILES: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 0.9];

/// The requests to a device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceStats {
    /// Its name.
    pub device: String,
    /// All requests.
    pub requests: u64,
    /// Requests to read.
    pub reads: u64,
    /// Requests to write.
    pub writes: u64,
    /// Requests to discard.
    pub discards: u64,
    /// Requests to flush.
    pub flushes: u64,
    /// Bytes of the requests to read.
    pub read_bytes: u64,
    /// Bytes of the requests to write.
    pub written_bytes: u64,
    /// Write requests divided by read and write requests.
    pub write_ratio: Option<f64>,
    /// Microseconds from the first request to the last.
    pub duration_us: u64,
    /// The end of the highest request.
    pub end_bytes: u64,
    /// Bytes of the pages of 4 KiB that were written.
    pub working_set_bytes: u64,
    /// Part of the page writes that went to the most written fifth of those pages.
    pub writes_to_top_fifth: Option<f64>,
    /// Bytes written between two writes of the same page: quantile and bytes.
    pub update_interval_bytes: Vec<(f64, u64)>,
}

/// A page that was written.
#[derive(Default, Clone, Copy)]
struct Written {
    times: u32,
    /// Pages that the device had written when this page was last written.
    last: u64,
}

/// Counts one device.
#[derive(Default)]
struct Device {
    counts: [u64; Op::COUNT],
    read_bytes: u64,
    written_bytes: u64,
    first_us: Option<u64>,
    last_us: u64,
    end_bytes: u64,
    pages: HashMap<u64, Written>,
    page_writes: u64,
    /// Numbers of intervals, in pages, by their number of bits. The last one counts all longer intervals.
    intervals: [u64; 32],
}

impl Device {
    fn add(&mut self, request: &Request) {
        self.counts[request.op as usize] += 1;
        self.first_us.get_or_insert(request.time_us);
        self.last_us = self.last_us.max(request.time_us);
        self.end_bytes = self.end_bytes.max(request.end_bytes());
        match request.op {
            Op::Read => self.read_bytes += request.length_bytes,
            Op::Write => {
                self.written_bytes += request.length_bytes;
                for page in request.offset_bytes / PAGE_BYTES..request.end_bytes().div_ceil(PAGE_BYTES) {
                    self.write_page(page);
                }
            }
            _ => {}
        }
    }

    fn write_page(&mut self, page: u64) {
        self.page_writes += 1;
        let written = self.pages.entry(page).or_default();
        if written.times > 0 {
            let interval = self.page_writes - written.last;
            // An interval of n bits is below 2ⁿ pages, which is what the quantiles report.
            self.intervals[(64 - interval.leading_zeros() as usize).min(31)] += 1;
        }
        written.times = written.times.saturating_add(1);
        written.last = self.page_writes;
    }

    fn writes_to_top_fifth(&self) -> Option<f64> {
        let mut times: Vec<u32> = self.pages.values().map(|page| page.times).collect();
        times.sort_unstable_by(|a, b| b.cmp(a));
        // Rounded up, so that a few pages have a fifth, too.
        let top: u64 = times.iter().take(times.len().div_ceil(5)).map(|&times| u64::from(times)).sum();
        (self.page_writes > 0).then(|| top as f64 / self.page_writes as f64)
    }

    /// Upper bounds of the quantiles, each a power of two.
    fn update_intervals(&self) -> Vec<(f64, u64)> {
        let all: u64 = self.intervals.iter().sum();
        let at = |&quantile: &f64| {
            let mut below = 0;
            let bits = self.intervals.iter().position(|count| {
                below += count;
                below as f64 >= quantile * all as f64
            });
            (quantile, (1_u64 << bits.unwrap_or(0)) * PAGE_BYTES)
        };
        if all == 0 { Vec::new() } else { QUANTILES.iter().map(at).collect() }
    }

    fn stats(&self, name: &[u8]) -> DeviceStats {
        let count = |op: Op| self.counts[op as usize];
        let (reads, writes) = (count(Op::Read), count(Op::Write));
        DeviceStats {
            device: String::from_utf8_lossy(name).into_owned(),
            requests: self.counts.iter().sum(),
            reads,
            writes,
            discards: count(Op::Discard),
            flushes: count(Op::Flush),
            read_bytes: self.read_bytes,
            written_bytes: self.written_bytes,
            write_ratio: (reads + writes > 0).then(|| writes as f64 / (reads + writes) as f64),
            // The first request counts for the last time, too. So this is not negative, even if times go back.
            duration_us: self.last_us - self.first_us.unwrap_or(self.last_us),
            end_bytes: self.end_bytes,
            working_set_bytes: self.pages.len() as u64 * PAGE_BYTES,
            writes_to_top_fifth: self.writes_to_top_fifth(),
            update_interval_bytes: self.update_intervals(),
        }
    }
}

/// The statistics of the trace in a file.
///
/// # Errors
/// As [`scan`].
pub fn stats(trace: &Path) -> Result<Vec<DeviceStats>, TraceError> {
    let mut counter = Counter::default();
    scan(trace, &mut |batch| {
        counter.add(batch);
        Ok(())
    })?;
    Ok(counter.finish())
}

/// Counts all devices of a trace.
#[derive(Default)]
pub struct Counter(Vec<(Vec<u8>, Device)>);

impl Counter {
    /// Counts requests. All batches must be of one trace.
    pub fn add(&mut self, batch: Batch<'_>) {
        self.0.extend(batch.names[self.0.len()..].iter().map(|name| (name.clone(), Device::default())));
        for (request, &device) in batch.requests.iter().zip(batch.devices) {
            self.0[device as usize].1.add(request);
        }
    }

    /// The statistics by device, in the order of their names.
    pub fn finish(self) -> Vec<DeviceStats> {
        let mut all: Vec<DeviceStats> = self.0.iter().map(|(name, device)| device.stats(name)).collect();
        all.sort_by(|a, b| a.device.cmp(&b.device));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(page: u64) -> Request {
        Request { time_us: page, op: Op::Write, offset_bytes: page * 4096, length_bytes: 4096, stream: 0 }
    }

    #[test]
    fn skew_and_intervals_are_those_of_the_pages() {
        let mut counter = Counter::default();
        // Page 0 every other time, four others in turn.
        let writes: Vec<Request> = (0..80).map(|at| write(if at % 2 == 0 { 0 } else { 1 + at / 2 % 4 })).collect();
        let names = [b"a".to_vec(), b"b".to_vec()];
        counter.add(Batch { requests: &writes[..30], devices: &[0; 30], names: &names[..1] });
        counter.add(Batch { requests: &writes[30..], devices: &[0; 50], names: &names });
        counter.add(Batch { requests: &[Request { op: Op::Read, ..write(9) }], devices: &[1], names: &names });
        let found = counter.finish();
        let [a, b] = &found[..] else { panic!("{found:?}") };
        assert_eq!((a.working_set_bytes, a.writes, a.writes_to_top_fifth), (5 * 4096, 80, Some(0.5)));
        // Two pages apart, or eight.
        assert_eq!(a.update_interval_bytes.first(), Some(&(0.1, 4 * 4096)));
        assert_eq!(a.update_interval_bytes.last(), Some(&(0.9, 16 * 4096)));
        assert_eq!((b.writes, b.writes_to_top_fifth, b.write_ratio), (0, None, Some(0.0)));
        assert!(b.update_interval_bytes.is_empty() && b.end_bytes == 10 * 4096);
    }

    #[test]
    fn every_operation_of_a_recording_is_counted() {
        let mut counter = Counter::default();
        let requests = [Op::Mount, Op::Write, Op::EndSegment, Op::Clean].map(|op| Request { op, ..write(0) });
        counter.add(Batch { requests: &requests, devices: &[0; 4], names: &[b"a".to_vec()] });
        assert_eq!(counter.finish()[0].requests, 4);
    }
}
