//! What the disk did in each second of the last hour, for the page. It is kept here, so that it survives a reload.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::latency::Snapshot;
use crate::disk::Totals;

/// The seconds that are kept.
const KEPT: usize = 3600;
/// The shortest time between two rows. The keeper looks a little more often, at its own pace.
const SECOND_US: u64 = 1_000_000;

/// What happened in about a second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Second {
    /// When it ended, in microseconds since the server started.
    at_us: u64,
    /// How long it was.
    took_us: u64,
    written_bytes: u64,
    flash_bytes: u64,
    read_bytes: u64,
    requests: u64,
    /// Half of the requests took at most this long; none without requests.
    p50_us: Option<u64>,
    p99_us: Option<u64>,
}

/// Counters since the disk was opened.
#[derive(Debug, Clone, Default)]
pub(super) struct Counted {
    written_bytes: u64,
    flash_bytes: u64,
    read_bytes: u64,
    requests: Snapshot,
}

impl Counted {
    pub(super) fn new(totals: &Totals, requests: Snapshot) -> Self {
        let (written_bytes, read_bytes) = (totals.host_bytes, totals.read_bytes);
        Self { written_bytes, flash_bytes: totals.flash_bytes(), read_bytes, requests }
    }
}

/// The rows of the last hour, the oldest first.
#[derive(Debug, Default)]
pub(super) struct History(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    rows: VecDeque<Second>,
    /// The counters at the last row, and when that was.
    last: Counted,
    last_us: u64,
}

impl History {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        // No panic can leave a list of numbers inconsistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if it is time for another row.
    pub(super) fn is_due(&self, now_us: u64) -> bool {
        now_us.saturating_sub(self.kept().last_us) >= SECOND_US
    }

    /// Adds a row. Counters of a disk that was mounted again begin anew, and count as nothing once.
    pub(super) fn add(&self, now_us: u64, now: Counted) {
        let mut kept = self.kept();
        let requests = now.requests.since(&kept.last.requests);
        // A disk that was mounted again counts from 0. Latencies are the server's, and go on.
        let since = |now: u64, before: u64| now.saturating_sub(before);
        let row = Second {
            at_us: now_us,
            took_us: now_us - kept.last_us,
            written_bytes: since(now.written_bytes, kept.last.written_bytes),
            flash_bytes: since(now.flash_bytes, kept.last.flash_bytes),
            read_bytes: since(now.read_bytes, kept.last.read_bytes),
            requests: requests.count,
            p50_us: requests.at_most_us(50),
            p99_us: requests.at_most_us(99),
        };
        if kept.rows.len() == KEPT {
            kept.rows.pop_front();
        }
        kept.rows.push_back(row);
        (kept.last, kept.last_us) = (now, now_us);
    }

    /// The rows that end after a time.
    pub(super) fn after(&self, at_us: u64) -> Vec<Second> {
        self.kept().rows.iter().filter(|row| row.at_us > at_us).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_differences_and_the_oldest_go() {
        let history = History::default();
        assert!(!history.is_due(SECOND_US - 1) && history.is_due(SECOND_US));
        for second in 1..=KEPT as u64 + 5 {
            let counted = Counted { written_bytes: second * second, read_bytes: 7, ..Counted::default() };
            history.add(second * SECOND_US, counted);
        }
        let rows = history.after(0);
        assert_eq!((rows.len(), rows[0].at_us, rows[0].took_us), (KEPT, 6 * SECOND_US, SECOND_US));
        assert_eq!((rows[0].written_bytes, rows[0].read_bytes, rows[0].p50_us), (36 - 25, 0, None));
        let last = history.after((KEPT as u64 + 4) * SECOND_US);
        assert_eq!(last, [rows[KEPT - 1].clone()]);
    }
}
