//! The wall-clock time of requests, from the start of one until its reply may be sent. It includes waiting for the
//! disk's lock and, with `--timing real`, for the chip's timeline.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::nbd::Command;

/// Upper bounds of the histogram's buckets, in microseconds. One more bucket has no bound.
pub(super) const BOUNDS_US: [u64; 19] = [
    10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000,
];

/// The names of the kinds of request.
pub(super) const COMMANDS: [&str; 7] = ["read", "write", "flush", "trim", "write_zeroes", "cache", "block_status"];

/// The positions of some of them in the list.
pub(super) const READ: usize = 0;
pub(super) const WRITE: usize = 1;
pub(super) const FLUSH: usize = 2;
pub(super) const TRIM: usize = 3;
pub(super) const WRITE_ZEROES: usize = 4;

/// A histogram for each kind of request.
#[derive(Debug, Default)]
pub(super) struct Latencies([Histogram; COMMANDS.len()]);

#[derive(Debug, Default)]
struct Histogram {
    /// Requests in each bucket alone.
    counts: [AtomicU64; BOUNDS_US.len() + 1],
    sum_ns: AtomicU64,
}

/// The content of a histogram at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// Requests that took at most the bound with the same index.
    pub(super) up_to: [u64; BOUNDS_US.len()],
    /// All requests.
    pub(super) count: u64,
    pub(super) sum_ns: u64,
}

/// The kind of a request; none if it was refused before it reached the disk, or has no reply.
pub(super) fn kind(command: &Command<'_>) -> Option<usize> {
    Some(match command {
        Command::Read { .. } => READ,
        Command::Write { .. } => WRITE,
        Command::Flush => FLUSH,
        Command::Trim { .. } => TRIM,
        Command::WriteZeroes { .. } => WRITE_ZEROES,
        Command::Cache => 5,
        Command::BlockStatus { .. } => 6,
        Command::Disconnect | Command::Refused { .. } => return None,
    })
}

impl Latencies {
    /// Adds a request of a kind that took this time.
    pub(super) fn add(&self, kind: usize, took: Duration) {
        let Histogram { counts, sum_ns } = &self.0[kind];
        // A time equal to a bound is in its bucket. One above all bounds is in the last bucket, which has none.
        let bucket = BOUNDS_US.partition_point(|&bound_us| Duration::from_micros(bound_us) < took);
        // No count depends on another, so that no order between them is needed. A snapshot may miss requests of this
        // moment.
        counts[bucket].fetch_add(1, Ordering::Relaxed);
        sum_ns.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(super) fn snapshots(&self) -> [Snapshot; COMMANDS.len()] {
        std::array::from_fn(|kind| self.0[kind].snapshot())
    }

    /// All kinds together.
    pub(super) fn all(&self) -> Snapshot {
        self.snapshots().iter().fold(Snapshot::default(), |sum, one| sum.zip(one, |sum, one| sum + one))
    }
}

impl Snapshot {
    /// What came since an earlier time.
    pub(super) fn since(&self, before: &Self) -> Self {
        self.zip(before, u64::saturating_sub)
    }

    fn zip(&self, other: &Self, with: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            up_to: std::array::from_fn(|bucket| with(self.up_to[bucket], other.up_to[bucket])),
            count: with(self.count, other.count),
            sum_ns: with(self.sum_ns, other.sum_ns),
        }
    }

    /// The lowest bound that so many percent of the requests do not exceed; the highest one for slower requests. None
    /// if there is no request.
    pub(super) fn at_most_us(&self, percent: u64) -> Option<u64> {
        // At least one request, so that the first bucket with requests is found.
        let wanted = (self.count * percent).div_ceil(100);
        let bucket = self.up_to.partition_point(|&up_to| up_to < wanted).min(BOUNDS_US.len() - 1);
        (self.count > 0).then(|| BOUNDS_US[bucket])
    }
}

impl Histogram {
    fn snapshot(&self) -> Snapshot {
        let mut count = 0;
        // The buckets are added up as Prometheus wants them: each holds those below it.
        let mut so_far = |bucket: usize| {
            count += self.counts[bucket].load(Ordering::Relaxed);
            count
        };
        let up_to = std::array::from_fn(&mut so_far);
        let count = so_far(BOUNDS_US.len());
        Snapshot { up_to, count, sum_ns: self.sum_ns.load(Ordering::Relaxed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_counts_in_its_bucket_and_all_above() {
        let latencies = Latencies::default();
        for us in [1, 10, 11, 20_000_000] {
            latencies.add(1, Duration::from_micros(us));
        }
        let found = latencies.snapshots();
        assert_eq!((found[1].up_to[0], found[1].up_to[1], found[1].up_to[18], found[1].count), (2, 3, 3, 4));
        assert_eq!(found[1].sum_ns, 20_000_022_000);
        assert_eq!(
            (found[1].at_most_us(50), found[1].at_most_us(75), found[1].at_most_us(99)),
            (Some(10), Some(25), Some(10_000_000))
        );
        let before = latencies.all();
        latencies.add(0, Duration::from_micros(400));
        let since = latencies.all().since(&before);
        assert_eq!((since.count, since.at_most_us(50), before.since(&before).at_most_us(50)), (1, Some(500), None));
        assert_eq!((found[0].count, kind(&Command::Flush), kind(&Command::Disconnect)), (0, Some(2), None));
    }
}
