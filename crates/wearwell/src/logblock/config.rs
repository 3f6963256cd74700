//! What a block-mapped engine is told when it is made.

use super::pages::PagesShape;
use super::recycle::{Costs, Recycling};
use crate::Reclamation;
use crate::free::held_for_failures;
use crate::page::ConfigError;
use crate::wear::WearLeveling;

/// Log blocks that Lee '07 uses (section 6).
pub const LOG_BLOCKS: u32 = 8;

/// Segments that stay free when a log block is opened: for the destination of a merge, for another one should that go
/// bad, and for the merge with which the next mount begins should the power fail then.
pub(super) const RESERVE_SEGMENTS: u32 = 3;

/// `primary-replacement` begins to fold below the first number of free segments, and ends at the second. Both are
/// percent of the good segments (FSAF '09, section 5.1).
pub(super) const FOLD_BELOW_PERCENT: u64 = 10;
pub(super) const FOLD_UNTIL_PERCENT: u64 = 20;

/// Erases between two moves of wear leveling: at most one erase in so many is its own.
pub(super) const ERASES_PER_WEAR_MOVE: u32 = 8;

/// How logical blocks share log blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Each logical block that is being written has a log block of its own, from a small pool (Lee '07).
    LogBlock(Recycling),
    /// A page goes to its own place in the primary block while that is possible, later ones to a replacement block
    /// that is folded when it is full (the NFTL of FSAF '09).
    PrimaryReplacement,
    /// One log block for a sequential stream, and a pool that all logical blocks share (FAST).
    Fast,
    /// The same, but writes of different streams do not share log blocks as long as there are enough ("virtually
    /// separable", Lim '14).
    FastByStream,
}

/// What a block-mapped engine is told when it is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockConfig {
    /// Pages that the host can address.
    pub logical_pages: u32,
    /// How logical blocks share log blocks.
    pub scheme: Scheme,
    /// Log blocks, at most; `primary-replacement` has as many as there are free segments.
    pub log_blocks: u32,
    /// How wear is leveled.
    pub wear: WearLeveling,
    /// When logical blocks are erased of which nothing is left; where log blocks are shared, at once.
    pub reclaim: Reclamation,
    /// What recycling costs on this chip.
    pub costs: Costs,
    /// Erases that a block is rated for.
    pub endurance: u32,
}

/// What the configuration says of blocks, whatever lies in them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) wear: WearLeveling,
    pub(super) endurance: u32,
    /// Segments without which the data and the reserve do not fit.
    pub(super) needed_segments: u32,
}

impl Rules {
    /// Segments that stay free when a log block is opened, on a device of so many good. A failure takes the segment
    /// that a merge fills, and log blocks give theirs back only by merges.
    pub(super) fn held_segments(&self, shape: &PagesShape, good: u32) -> u32 {
        RESERVE_SEGMENTS + held_for_failures(shape.segments, good, self.needed_segments)
    }
}

impl BlockConfig {
    /// True if data blocks take pages in place.
    pub(super) fn programs_in_place(&self) -> bool {
        self.scheme == Scheme::PrimaryReplacement
    }

    /// True if pages of several logical blocks lie in one log block.
    pub(super) fn shares_logs(&self) -> bool {
        matches!(self.scheme, Scheme::Fast | Scheme::FastByStream)
    }

    /// Fewest log blocks that the scheme works with.
    fn least_log_blocks(&self) -> u32 {
        match self.scheme {
            Scheme::LogBlock(_) | Scheme::PrimaryReplacement => 1,
            // One is kept for a stream, and the others are shared.
            Scheme::Fast | Scheme::FastByStream => 2,
        }
    }

    /// Segments without which the data and the reserve do not fit.
    pub(super) fn needed_segments(&self, shape: &PagesShape) -> u32 {
        self.logical_pages.div_ceil(shape.pages) + self.least_log_blocks() + RESERVE_SEGMENTS + self.record_segments()
    }

    /// What the store has to know.
    pub(super) fn rules(&self, shape: &PagesShape) -> Rules {
        Rules { wear: self.wear, endurance: self.endurance, needed_segments: self.needed_segments(shape) }
    }

    /// Segments that records of dead logical blocks take: one of them holds the last.
    fn record_segments(&self) -> u32 {
        u32::from(self.reclaim != Reclamation::AtOnce)
    }

    /// Most log blocks there can be at once.
    pub(super) fn most_log_blocks(&self, shape: &PagesShape) -> u32 {
        let logical_blocks = self.logical_pages.div_ceil(shape.pages);
        match self.scheme {
            Scheme::LogBlock(_) | Scheme::Fast | Scheme::FastByStream => self.log_blocks,
            // Each belongs to another logical block, and stands beside its primary.
            Scheme::PrimaryReplacement => logical_blocks.min(shape.segments / 2),
        }
    }

    /// Most logical blocks that can have pages in log blocks at once.
    pub(super) fn overlays(&self, shape: &PagesShape) -> u32 {
        let logs = self.most_log_blocks(shape);
        match self.scheme {
            Scheme::LogBlock(_) | Scheme::PrimaryReplacement => logs,
            Scheme::Fast | Scheme::FastByStream => {
                // Each page of a shared log block may be of another logical block.
                logs.saturating_mul(shape.pages).min(self.logical_pages.div_ceil(shape.pages))
            }
        }
    }

    /// Checks that the device can be made.
    pub(super) fn check(&self, shape: &PagesShape) -> Result<(), ConfigError> {
        let physical_pages = u64::from(shape.segments) * u64::from(shape.pages);
        // Page numbers have 32 bits, and the greatest is `Ppn::NONE`.
        if physical_pages >= u64::from(u32::MAX) {
            return Err(ConfigError::TooManyPages { physical_pages });
        }
        // The write buffer has a bit for each of at most 128 sectors.
        if shape.page_bytes > 65_536 {
            return Err(ConfigError::PageTooLarge { page_bytes: shape.page_bytes });
        }
        if self.logical_pages == 0 {
            return Err(ConfigError::NoPages);
        }
        let least = self.least_log_blocks();
        if self.log_blocks < least {
            return Err(ConfigError::TooFewLogBlocks { log_blocks: self.log_blocks, least });
        }
        // `primary-replacement` takes what is free, whatever `log_blocks` says. It needs one.
        let logs = if self.scheme == Scheme::PrimaryReplacement { 1 } else { self.log_blocks };
        // `log_blocks` may be any number, and must not wrap to one that fits.
        let reserve_segments = logs.saturating_add(RESERVE_SEGMENTS + self.record_segments());
        if self.reclaim != Reclamation::AtOnce {
            self.check_reclaim(shape)?;
        }
        // A discard record has a bit for each page of a logical block.
        if shape.pages.div_ceil(8) > shape.page_bytes {
            return Err(ConfigError::SegmentTooLarge { pages: shape.pages, page_bytes: shape.page_bytes });
        }
        // The first page says what a block is, and the last one that it is complete: these are two.
        if shape.pages < 2 || shape.segments <= reserve_segments {
            return Err(ConfigError::TooFewBlocks { segments: shape.segments, pages: shape.pages, reserve_segments });
        }
        // A cut in the commit would leave nothing of its block.
        if shape.pages <= shape.group {
            return Err(ConfigError::OneGroup { pages: shape.pages });
        }
        let reserve_pages = u64::from(reserve_segments) * u64::from(shape.pages);
        // The last logical block takes a whole segment, however few pages it has.
        let logical_pages = u64::from(self.logical_pages.div_ceil(shape.pages)) * u64::from(shape.pages);
        if logical_pages + reserve_pages > physical_pages {
            return Err(ConfigError::TooLarge { logical_pages, physical_pages, reserve_pages });
        }
        Ok(())
    }

    /// Checks that dead logical blocks can be kept: a page has a bit for each, and none shares its log blocks.
    fn check_reclaim(&self, shape: &PagesShape) -> Result<(), ConfigError> {
        if matches!(self.scheme, Scheme::Fast | Scheme::FastByStream) {
            return Err(ConfigError::ReclaimShared);
        }
        let (blocks, most) = (self.logical_pages.div_ceil(shape.pages), shape.page_bytes * 8);
        if blocks > most { Err(ConfigError::TooManyBlocksToReclaim { blocks, most }) } else { Ok(()) }
    }

    /// Flash operations that a host page can cost at most.
    pub(super) fn max_ops_per_host_page(&self, shape: &PagesShape) -> u64 {
        // Every page read and programmed, two segments erased, a commit of its own.
        let merge = 2 * u64::from(shape.pages) + 3;
        // Beside the page itself: its own log block recycled, another one's for room, one for wear or a weak page. A
        // dead block that is erased costs less than the merge in whose place that is done.
        let merges = match self.scheme {
            Scheme::LogBlock(_) | Scheme::PrimaryReplacement => 3,
            // The pages of a log block may belong to as many logical blocks; one makes room for the page, one for its
            // stream.
            Scheme::Fast | Scheme::FastByStream => 2 * u64::from(shape.pages) + 4,
        };
        merges * merge + u64::from(shape.group) + 2
    }
}
