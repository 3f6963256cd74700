//! The choices a disk is made with.

use crate::clean::reclaim::Reclamation;
use crate::clean::when::CleaningTrigger;
use crate::clean::which::VictimPolicy;
use crate::page::{self, Policies};
use crate::place::Placement;
use crate::wear::WearLeveling;

/// Bytes of a page on NOR, unless another number is set.
const NOR_PAGE_BYTES: u32 = 512;

/// Difference of erase counts that wear leveling leaves alone: little beside what blocks are rated for, and so much
/// that few pages are moved for it.
const LEAST_UNEVEN: u32 = 50;

/// What a [`Disk`](super::Disk) is made with: its capacity, and defaults for everything else.
///
/// ```
/// use wearwell::wear::WearLeveling;
/// use wearwell::{Config, Policies};
///
/// let plain = Config::new(300);
/// assert_eq!(plain.policies.wear, WearLeveling::StaticThreshold { threshold: 50 });
/// let uneven = plain.policies(Policies { wear: WearLeveling::None, ..plain.policies });
/// assert_ne!(plain, uneven);
/// ```
///
/// Capacity has to be the same at each mount. All else may change, but for [`page_bytes`](Self::page_bytes) and
/// [`blocks_per_segment`](Self::blocks_per_segment), which are the shape of what lies on the chip.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// Pages that the host can address.
    pub logical_pages: u32,
    /// When, which and where cleaning is done, and how wear is leveled.
    pub policies: Policies,
    /// Seed of policies that draw at random.
    pub seed: u64,
    /// Erases that a block is rated for.
    pub endurance: u32,
    /// NAND: blocks, on different dies, that are filled and erased as one segment.
    pub blocks_per_segment: u32,
    /// NOR: bytes of a page, a multiple of 512. NAND chips have pages of their own.
    pub page_bytes: u32,
}

impl Config {
    /// A disk of so many pages. The least valid segment is cleaned, a few pages at a time and as late as possible. Wear
    /// is leveled: once erase counts differ by more than 50, the data of the least worn segment moves to a worn one.
    pub const fn new(logical_pages: u32) -> Self {
        Self {
            logical_pages,
            policies: Policies {
                when: CleaningTrigger::DEFAULT,
                which: VictimPolicy::Greedy,
                place: Placement::Single,
                wear: WearLeveling::StaticThreshold { threshold: LEAST_UNEVEN },
                reclaim: Reclamation::AtOnce,
            },
            seed: 1,
            endurance: 100_000,
            blocks_per_segment: 1,
            page_bytes: NOR_PAGE_BYTES,
        }
    }

    /// Other policies.
    #[must_use]
    pub const fn policies(self, policies: Policies) -> Self {
        Self { policies, ..self }
    }

    /// Another seed for policies that draw at random.
    #[must_use]
    pub const fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Erases that a block is rated for, as the data sheet says; by default 100,000. Policies that act near the end of
    /// a chip's life want to know.
    #[must_use]
    pub const fn endurance(self, endurance: u32) -> Self {
        Self { endurance, ..self }
    }

    /// NAND: makes segments of so many blocks on different dies, by default 1.
    #[must_use]
    pub const fn blocks_per_segment(self, blocks_per_segment: u32) -> Self {
        Self { blocks_per_segment, ..self }
    }

    /// NOR: makes pages of so many bytes, by default 512.
    #[must_use]
    pub const fn page_bytes(self, page_bytes: u32) -> Self {
        Self { page_bytes, ..self }
    }

    /// What the engine is told of it.
    pub(super) fn engine(&self) -> page::PageConfig {
        let Self { logical_pages, policies, seed, endurance, .. } = *self;
        page::PageConfig { logical_pages, policies, seed, endurance }
    }
}
