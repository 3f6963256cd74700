//! The configuration of an engine.

use super::log::{Discards, LogShape};
use crate::clean::reclaim::Reclamation;
use crate::clean::when::CleaningTrigger;
use crate::clean::which::VictimPolicy;
use crate::free::held_for_failures;
use crate::place::{PlaceChoice, Placement};
use crate::wear::WearLeveling;

/// Segments that the host's data can never take. Two stay free, so that cleaning can always begin and a power cut in it
/// leaves one. One is open. One segment's worth of pages is invalid, so that there is something to clean.
pub const RESERVE_SEGMENTS: u32 = 4;

/// No chip reaches this erase count. A header that claims it is not believed (Spec P2).
pub(crate) const IMPLAUSIBLE_ERASES: u32 = 1 << 22;

/// Sequence numbers and age clocks of 48 bits are not believed from here on, because no device lives so long (Spec P2).
pub(crate) const IMPLAUSIBLE_CLOCK: u64 = 1 << 47;

/// The policies: the answers to the four questions, and when empty segments are erased.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policies<V = VictimPolicy, W = Placement> {
    /// When cleaning runs.
    pub when: CleaningTrigger,
    /// Which segment it takes.
    pub which: V,
    /// Where pages go.
    pub place: W,
    /// How wear is leveled.
    pub wear: WearLeveling,
    /// When empty segments are erased.
    pub reclaim: Reclamation,
}

/// The defaults of the papers and the command line, without wear leveling. A [`Config`](crate::Config) levels wear.
impl Default for Policies {
    fn default() -> Self {
        Self {
            when: CleaningTrigger::DEFAULT,
            which: VictimPolicy::Greedy,
            place: Placement::Single,
            wear: WearLeveling::None,
            reclaim: Reclamation::AtOnce,
        }
    }
}

/// The configuration of an engine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageConfig<V = VictimPolicy, W = Placement> {
    /// Pages that the host can address.
    pub logical_pages: u32,
    /// The first policies.
    pub policies: Policies<V, W>,
    /// Seed of policies that draw at random.
    pub seed: u64,
    /// Erases that a block is rated for.
    pub endurance: u32,
}

/// A configuration that makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The logical pages do not fit.
    #[error(
        "{logical_pages} logical pages do not fit: the flash has {physical_pages}, of which {reserve_pages} are kept \
         in reserve"
    )]
    TooLarge {
        /// Pages asked for.
        logical_pages: u64,
        /// Pages of flash that hold data.
        physical_pages: u64,
        /// Pages that cannot be used: the reserve, and the engine's own.
        reserve_pages: u64,
    },
    /// The layout cannot number this many logical pages.
    #[error("{logical_pages} logical pages are more than the {max_logical_pages} that this layout can number")]
    TooManyLogicalPages {
        /// Pages asked for.
        logical_pages: u32,
        /// Pages that can be numbered.
        max_logical_pages: u32,
    },
    /// There is nothing to address.
    #[error("a device needs at least one logical page")]
    NoPages,
    /// Physical page numbers do not fit 32 bits.
    #[error("{physical_pages} pages are more than the {} that 32-bit page numbers reach", u32::MAX - 1)]
    TooManyPages {
        /// Pages of flash.
        physical_pages: u64,
    },
    /// Pages are larger than the write buffer's.
    #[error("pages of {page_bytes} bytes are larger than 65536")]
    PageTooLarge {
        /// Bytes in a page.
        page_bytes: u32,
    },
    /// Fewer segments than the engine needs.
    #[error(
        "{segments} segments of {slots} pages are too few: the engine needs more than {reserve_segments} segments of \
         at least 2 pages"
    )]
    TooFewSegments {
        /// Segments there are.
        segments: u32,
        /// Data pages in each.
        slots: u32,
        /// Segments that are kept in reserve.
        reserve_segments: u32,
    },
    /// The marks of the cleaning policy do not fit the device.
    #[error("the cleaning policy does not fit: {0}")]
    Watermark(&'static str),
    /// Block mapping needs more segments than there are.
    #[error(
        "{segments} segments of {pages} pages are too few for block mapping, which keeps {reserve_segments} in reserve"
    )]
    TooFewBlocks {
        /// Segments there are.
        segments: u32,
        /// Pages in each.
        pages: u32,
        /// Segments for log blocks and for merging.
        reserve_segments: u32,
    },
    /// All pages of a block share cells.
    #[error(
        "all {pages} pages of a segment share cells, so a power cut in the last one can destroy the others; block \
         mapping needs a chip with two groups of such pages in a block"
    )]
    OneGroup {
        /// Pages in a segment.
        pages: u32,
    },
    /// Fewer log blocks than the scheme needs.
    #[error("{log_blocks} log blocks are too few; at least {least} are needed")]
    TooFewLogBlocks {
        /// Log blocks asked for.
        log_blocks: u32,
        /// The least number.
        least: u32,
    },
    /// Dead blocks cannot be kept if log blocks are shared.
    #[error("dead blocks cannot be kept if logical blocks share log blocks")]
    ReclaimShared,
    /// A bit for each logical block does not fit into a page.
    #[error("{blocks} logical blocks are more than the {most} that fit into a record of dead blocks")]
    TooManyBlocksToReclaim {
        /// Logical blocks.
        blocks: u32,
        /// Bits in a page.
        most: u32,
    },
    /// A map on flash needs pages that share no cells.
    #[error("a map on flash needs pages that share no cells; here {group_pages} do")]
    SharedCells {
        /// Pages that share cells.
        group_pages: u32,
    },
    /// Fewer entries in the cache of a map on flash than it needs.
    #[error("{entries} entries are too few for the cache of a map on flash; at least {least} are needed")]
    CacheTooSmall {
        /// Entries asked for.
        entries: u32,
        /// The least number.
        least: u32,
    },
    /// A bit for each page of a segment does not fit into a page.
    #[error("segments of {pages} pages are too large for block mapping on pages of {page_bytes} bytes")]
    SegmentTooLarge {
        /// Pages in a segment.
        pages: u32,
        /// Bytes in a page.
        page_bytes: u32,
    },
}

/// The settings of the allocator, which change with the policies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) wear: WearLeveling,
    /// Erases that a block is rated for.
    pub(super) endurance: u32,
    /// The cleaner is called when a segment is opened and fewer than this number are left.
    pub(super) alert_below: u32,
    /// Segments that the data and the reserve need.
    pub(super) needed_segments: u32,
    /// Free segments held back for recovery; 0 in layouts that need none.
    pub(super) recovery_segments: u32,
    /// Segments of the chip, good or bad.
    pub(super) segments: u32,
    /// False in layouts without a mount, which need to survive neither failures nor cuts.
    pub(super) is_mountable: bool,
}

impl Rules {
    /// Free segments to hold back if `good` segments are left.
    ///
    /// Those for recovery and the two of [`Supply::Scarce`](crate::clean::when::Supply::Scarce) are enough for power
    /// cuts: the next mount gets back every segment that a cut takes. On NOR a cut costs the slot that was being
    /// programmed, since copies are not undone there: many of them in a row can use up the segment that cleaning copies
    /// to, as failures do.
    pub(super) fn held_segments(&self, good: u32) -> u32 {
        let failing = if self.is_mountable { held_for_failures(self.segments, good, self.needed_segments) } else { 0 };
        self.recovery_segments + failing
    }
}

/// Logical pages that a page of the discard map covers, one bit each.
pub(super) fn covered_pages(page_bytes: u32) -> u32 {
    page_bytes * 8
}

impl<V, W: PlaceChoice> PageConfig<V, W> {
    /// Segments kept free for recovery.
    ///
    /// Pages that a cut may have hit are copied at the next mount, into segments opened for them, when cleaning may
    /// just have opened the last of the others: the last group of every open segment. Layouts without suspect pages
    /// need none.
    pub(crate) fn held_segments(classes: u32, shape: &LogShape, discards: Discards) -> u32 {
        let suspect_pages = classes * shape.group_pages;
        if discards == Discards::Logged { suspect_pages.div_ceil(shape.rescue_pages) } else { 0 }
    }

    /// Checks that the device can be made with a placement of so many classes, and says how many pages the discard map
    /// takes.
    pub(crate) fn check(&self, classes: u32, shape: &LogShape, discards: Discards) -> Result<u32, ConfigError> {
        let physical_pages = u64::from(shape.segments) * u64::from(shape.slots);
        let with_overhead = u64::from(shape.segments) * u64::from(shape.slots + shape.overhead_pages);
        // The log numbers its own pages as well, and the greatest number means none.
        if with_overhead >= u64::from(u32::MAX) {
            return Err(ConfigError::TooManyPages { physical_pages: with_overhead });
        }
        let reserve_segments = RESERVE_SEGMENTS + Self::held_segments(classes, shape, discards);
        // `Slots` cannot divide by one.
        if shape.segments <= reserve_segments || shape.slots < 2 {
            return Err(ConfigError::TooFewSegments { segments: shape.segments, slots: shape.slots, reserve_segments });
        }
        // The write buffer has 128 bits for the sectors of a page.
        if shape.page_bytes > 65_536 {
            return Err(ConfigError::PageTooLarge { page_bytes: shape.page_bytes });
        }
        if self.logical_pages == 0 {
            return Err(ConfigError::NoPages);
        }
        if self.logical_pages > shape.max_logical_pages {
            let (logical_pages, max_logical_pages) = (self.logical_pages, shape.max_logical_pages);
            return Err(ConfigError::TooManyLogicalPages { logical_pages, max_logical_pages });
        }
        let chunks = match discards {
            Discards::Logged => self.logical_pages.div_ceil(covered_pages(shape.page_bytes)),
            Discards::Forgotten | Discards::Flagged => 0,
        };
        let segments = u64::from(shape.segments - reserve_segments);
        let logical_pages = u64::from(self.logical_pages);
        let most_pages = segments * u64::from(shape.filled_slots);
        if logical_pages + u64::from(chunks) > most_pages {
            // The discard map for as many pages as would fit, not for those asked for.
            let discard_pages = match chunks {
                0 => 0,
                // Each part takes a page itself, hence the 1.
                _ => most_pages.div_ceil(u64::from(covered_pages(shape.page_bytes)) + 1),
            };
            let reserve_pages = physical_pages - most_pages + discard_pages;
            return Err(ConfigError::TooLarge { logical_pages, physical_pages, reserve_pages });
        }
        Ok(chunks)
    }

    /// Segments without which the data and the reserve do not fit.
    pub(crate) fn needed_segments(&self, classes: u32, shape: &LogShape, discards: Discards, chunks: u32) -> u32 {
        let held_segments = Self::held_segments(classes, shape, discards);
        let reserve_segments = RESERVE_SEGMENTS - 1 + u32::from(chunks > 0) + held_segments;
        (self.logical_pages + chunks).div_ceil(shape.filled_slots) + reserve_segments
    }

    /// Most victims that have to be emptied to gain a segment: ⌈u/(1−u)⌉ + 1 with u = logical ÷ (physical − reserve),
    /// because the segment with the fewest valid pages is no fuller than the average.
    pub(crate) fn victims_for_a_segment(&self, shape: &LogShape) -> u32 {
        // `check` has refused a device with fewer segments than that.
        let usable = u64::from(shape.segments - RESERVE_SEGMENTS) * u64::from(shape.filled_slots);
        let logical = u64::from(self.logical_pages).min(usable);
        let spare = (usable - logical).max(1);
        // Each victim gains a slot at least, so no more of them are needed than a segment has slots.
        (logical.div_ceil(spare) + 1).min(u64::from(shape.slots)) as u32
    }
}
