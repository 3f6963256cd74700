//! Pages that the host writes at most once in a whole run. With `--hints` it says of each of them that it is read-only
//! (Chiang '97, section 3.5).
//!
//! A real host knows what it never changes again: photos, installed programs. A workload does not say, so the writes of
//! the run are counted before it begins.

use wearwell::WriteHint;

use crate::request::{Op, Request};

/// For each logical page, whether the run writes it at most once.
#[derive(Debug)]
pub(super) struct WrittenOnce {
    writes: Vec<u8>,
}

impl WrittenOnce {
    /// A run that has filled the first `fill_pages` of `logical_pages` pages.
    pub(super) fn new(logical_pages: u64, fill_pages: u32) -> Self {
        let mut once = Self { writes: vec![0; logical_pages as usize] };
        once.count(0, u64::from(fill_pages));
        once
    }

    /// Counts a write of the pages from `first` to before `end`.
    pub(super) fn count(&mut self, first: u64, end: u64) {
        for writes in &mut self.writes[first as usize..end as usize] {
            // Only whether it is more than one matters.
            *writes = writes.saturating_add(1);
        }
    }

    /// Counts the writes of a trace.
    pub(super) fn count_trace(&mut self, requests: &[Request], page_bytes: u64) {
        for request in requests.iter().filter(|request| matches!(request.op, Op::Write | Op::WriteZeroes)) {
            self.count(request.offset_bytes / page_bytes, request.end_bytes().div_ceil(page_bytes));
        }
    }

    /// `hint`, and that the data is read-only if no page from `first` to before `end` is written a second time.
    #[inline]
    pub(super) fn hint(&self, first: u64, end: u64, hint: WriteHint) -> WriteHint {
        let mut hint = hint;
        hint.read_only = self.writes[first as usize..end as usize].iter().all(|writes| *writes <= 1);
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_twice_is_not_read_only() {
        let mut once = WrittenOnce::new(8, 4);
        let write =
            |offset_bytes, length_bytes| Request { time_us: 0, op: Op::Write, offset_bytes, length_bytes, stream: 0 };
        once.count_trace(&[write(4096, 1), write(3 * 4096 - 1, 2), write(5 * 4096, 4096)], 4096);
        let is_read_only = |first, end| once.hint(first, end, WriteHint::stream(3)).read_only;
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(|page| is_read_only(page, page + 1)),
            [true, false, false, false, true, true]
        );
        assert!(is_read_only(4, 6) && !is_read_only(0, 2));
        assert_eq!(once.hint(0, 1, WriteHint::stream(3)).stream, 3);
    }
}
