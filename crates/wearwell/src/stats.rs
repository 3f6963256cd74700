//! The counters of every engine, and those of checkpoints, which a log keeps.

/// The counters of an engine since it was made, or since [`reset`](Stats::reset).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Pages that host writes touched; a page that is written in part counts once.
    pub host_pages: u64,
    /// Pages programmed with host data; fewer than `host_pages` if the write buffer merged parts.
    pub host_programs: u64,
    /// Pages that cleaning moved.
    pub copied_pages: u64,
    /// Pages that wear leveling, refresh and the retirement of bad blocks moved.
    pub wear_copies: u64,
    /// Pages programmed for the engine itself: headers, summaries, discard maps, padding, marks, checkpoints.
    pub meta_programs: u64,
    /// Segments erased.
    pub erases: u64,
    /// Pages the host read.
    pub host_reads: u64,
    /// Pages read for read-modify-write.
    pub merge_reads: u64,
    /// Pages the host discarded that were mapped.
    pub discarded_pages: u64,
    /// Flushes.
    pub flushes: u64,
    /// Victims that cleaning emptied by copying.
    pub cleanings: u64,
    /// Segments that became empty without a copy.
    pub free_erases: u64,
    /// Dead blocks (logical ones in block mapping, otherwise segments) that proactive reclamation erased early, or when
    /// the host was idle.
    pub reclaimed_blocks: u64,
    /// Times that the host found fewer free segments than the reserve when it was to write; cleaning, which runs for
    /// several pages at once, looks no more often.
    pub urgent_pages: u64,
    /// Victims that were taken because of that: the one with the fewest valid pages, whatever the policies.
    pub urgent_cleanings: u64,
    /// Times a write had to wait for an erase in the background.
    pub erase_waits: u64,
    /// Segments retired because a program or an erase failed.
    pub retired_segments: u64,
    /// Pages whose content could not be read when they had to be moved.
    pub lost_pages: u64,
    /// Log blocks merged with their data block, every page copied (block mapping).
    pub merges: u64,
    /// Sequential log blocks that became the data block (block mapping).
    pub switch_merges: u64,
    /// Sequential log blocks whose missing pages were copied behind them (block mapping).
    pub partial_merges: u64,
    /// Log blocks whose live pages moved to a fresh one (block mapping).
    pub migrations: u64,
    /// Replacement blocks folded with their primary block (block mapping).
    pub folds: u64,
}

impl Stats {
    /// All pages programmed.
    pub fn programmed_pages(&self) -> u64 {
        self.host_programs + self.copied_pages + self.wear_copies + self.meta_programs
    }

    /// Write amplification of data alone: host pages and cleaning's copies over host pages.
    pub fn wa_data(&self) -> f64 {
        ratio(self.host_programs + self.copied_pages, self.host_pages)
    }

    /// Write amplification of all programmed pages.
    pub fn wa_total(&self) -> f64 {
        ratio(self.programmed_pages(), self.host_pages)
    }

    /// Counts what a checkpoint has cost.
    pub(crate) fn count_kept(&mut self, costs: KeptCosts) {
        self.meta_programs += costs.programs;
        self.erases += costs.erases;
    }

    /// Starts all counters again at zero.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

/// What checkpoints have cost: pages programmed, headers among them, and segments erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeptCosts {
    /// Pages programmed.
    pub programs: u64,
    /// Segments erased.
    pub erases: u64,
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
