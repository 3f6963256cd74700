//! Windows of a run: what the engine's counters said between two moments.

use serde::Serialize;
use wearwell::Stats;

/// A part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Window {
    /// Bytes that the host had written when it began.
    pub from_host_bytes: u64,
    /// Bytes that it had written when it ended.
    pub to_host_bytes: u64,
    /// Pages that host writes touched.
    pub host_pages: u64,
    /// Pages programmed with host data.
    pub host_programs: u64,
    /// Pages that cleaning moved.
    pub copied_pages: u64,
    /// All pages programmed.
    pub programmed_pages: u64,
    /// Segments erased.
    pub erases: u64,
    /// Host pages programmed and copied over host pages.
    pub wa_data: f64,
    /// All pages programmed over host pages.
    pub wa_total: f64,
}

impl Window {
    fn between(from: &Mark, to: &Mark) -> Self {
        let host_pages = to.stats.host_pages - from.stats.host_pages;
        let host_programs = to.stats.host_programs - from.stats.host_programs;
        let copied_pages = to.stats.copied_pages - from.stats.copied_pages;
        let programmed_pages = to.stats.programmed_pages() - from.stats.programmed_pages();
        let ratio = |pages: u64| if host_pages == 0 { 0.0 } else { pages as f64 / host_pages as f64 };
        Self {
            from_host_bytes: from.host_bytes,
            to_host_bytes: to.host_bytes,
            host_pages,
            host_programs,
            copied_pages,
            programmed_pages,
            erases: to.stats.erases - from.stats.erases,
            wa_data: ratio(host_programs + copied_pages),
            wa_total: ratio(programmed_pages),
        }
    }
}

/// A moment of a run.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    host_bytes: u64,
    stats: Stats,
}

/// Takes the windows.
///
/// Invariant: `next_bytes` is where the next of them ends, or the second half begins, whichever comes first.
#[derive(Debug)]
pub(super) struct Meter {
    window_bytes: Option<u64>,
    half_bytes: u64,
    next_bytes: u64,
    /// Where the window began that is open.
    began: Mark,
    half: Option<Mark>,
    windows: Vec<Window>,
}

impl Meter {
    /// A meter that takes nothing: for phases that do not count.
    pub(super) fn off() -> Self {
        Self {
            window_bytes: None,
            half_bytes: u64::MAX,
            next_bytes: u64::MAX,
            began: Mark::default(),
            half: None,
            windows: Vec::new(),
        }
    }

    /// A meter for a run that begins with these counters and will write `total_bytes`; none if nobody knows how much.
    pub(super) fn new(window_bytes: Option<u64>, total_bytes: Option<u64>, stats: &Stats) -> Self {
        // Where nobody knows the total, `halve` says when half is done.
        let half_bytes = total_bytes.map_or(u64::MAX, |total| total / 2);
        let next_bytes = half_bytes.min(window_bytes.unwrap_or(u64::MAX));
        Self { window_bytes, half_bytes, next_bytes, began: Mark { host_bytes: 0, stats: *stats }, ..Self::off() }
    }

    /// Units until the next mark, at least one.
    #[inline]
    pub(super) fn units_left(&self, host_bytes: u64, unit_bytes: u64) -> u64 {
        // A mark that is passed already must not make a batch empty.
        self.next_bytes.saturating_sub(host_bytes).div_ceil(unit_bytes).max(1)
    }

    /// Takes what is due.
    #[inline]
    pub(super) fn look(&mut self, host_bytes: u64, stats: &Stats) {
        if host_bytes >= self.next_bytes {
            self.take(Mark { host_bytes, stats: *stats });
        }
    }

    /// The second half begins now, unless it has already.
    pub(super) fn halve(&mut self, host_bytes: u64, stats: &Stats) {
        self.half.get_or_insert(Mark { host_bytes, stats: *stats });
    }

    #[cold]
    fn take(&mut self, now: Mark) {
        if now.host_bytes >= self.half_bytes {
            self.half.get_or_insert(now);
        }
        // Behind the half, only windows have marks.
        let half_bytes = if self.half.is_some() { u64::MAX } else { self.half_bytes };
        let mut window_end = u64::MAX;
        if let Some(bytes) = self.window_bytes {
            // The mark may be that of the half, in the middle of a window.
            if now.host_bytes / bytes > self.began.host_bytes / bytes {
                self.windows.push(Window::between(&self.began, &now));
                self.began = now;
            }
            // Windows end at whole multiples, even behind one that has ended late.
            window_end = (now.host_bytes / bytes + 1) * bytes;
        }
        self.next_bytes = half_bytes.min(window_end);
    }

    /// The second half, none if the host did not get so far, and all windows. The last may be shorter.
    pub(super) fn finish(mut self, host_bytes: u64, stats: &Stats) -> (Option<Window>, Vec<Window>) {
        let end = Mark { host_bytes, stats: *stats };
        if self.window_bytes.is_some() && host_bytes > self.began.host_bytes {
            self.windows.push(Window::between(&self.began, &end));
        }
        // A half in which nothing was written has no ratios.
        let half = self.half.filter(|half| half.host_bytes < host_bytes);
        (half.map(|half| Window::between(&half, &end)), self.windows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counters after so many bytes, a page of 512 bytes each, of which every page of the second half is copied once.
    fn stats(host_bytes: u64) -> Stats {
        let mut stats = Stats::default();
        stats.host_pages = host_bytes / 512;
        stats.host_programs = stats.host_pages;
        stats.copied_pages = stats.host_pages.saturating_sub(100);
        stats
    }

    #[test]
    fn windows_and_the_half_lie_where_they_should() {
        let mut meter = Meter::new(Some(30 * 512), Some(200 * 512), &stats(0));
        let mut bytes = 0;
        while bytes < 200 * 512 {
            bytes += 512 * meter.units_left(bytes, 512).min(200 - bytes / 512).min(64);
            meter.look(bytes, &stats(bytes));
        }
        let (half, windows) = meter.finish(bytes, &stats(bytes));
        let half = half.expect("the host got so far");
        assert_eq!((half.from_host_bytes, half.host_pages, half.wa_data), (100 * 512, 100, 2.0));
        let pages: Vec<u64> = windows.iter().map(|window| window.host_pages).collect();
        assert_eq!(pages, [30, 30, 30, 30, 30, 30, 20]);
        assert_eq!(windows[3].copied_pages, 20, "the window in which the second half begins goes on over it");
    }

    #[test]
    fn requests_longer_than_a_window_end_it_late() {
        let mut meter = Meter::new(Some(512), None, &stats(0));
        for bytes in [5 * 512, 5 * 512, 6 * 512] {
            meter.look(bytes, &stats(bytes));
        }
        let (half, windows) = meter.finish(6 * 512, &stats(6 * 512));
        assert!(half.is_none(), "nobody knows where the half is");
        let pages: Vec<u64> = windows.iter().map(|window| window.host_pages).collect();
        assert_eq!(pages, [5, 1]);
    }
}
