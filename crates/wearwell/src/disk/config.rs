//! The configuration of a disk.

use crate::clean::reclaim::Reclamation;
use crate::clean::when::CleaningTrigger;
use crate::clean::which::VictimPolicy;
use crate::page::{self, Policies};
use crate::place::Placement;
use crate::wear::WearLeveling;

/// Bytes of a page on NOR by default.
const NOR_PAGE_BYTES: u32 = 512;

/// The difference of erase counts that wear leveling tolerates. It is small against the rated erases, and large enough
/// that few pages are moved for it.
const LEAST_UNEVEN: u32 = 50;

/// The configuration of a [`Disk`](super::Disk): its capacity, and defaults for everything else.
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
/// The capacity has to be the same at each mount, and so do [`page_bytes`](Self::page_bytes) and
/// [`blocks_per_segment`](Self::blocks_per_segment), which are the shape of the data on the chip. Everything else may
/// change.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// Pages that the host can address.
    pub logical_pages: u32,
    /// The policies of cleaning, placement and wear leveling.
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
    /// A disk of `logical_pages` pages. Cleaning takes the segment with the fewest valid pages, a few pages at a time
    /// and as late as possible. Wear is leveled: once erase counts differ by more than 50, the data of the least worn
    /// segment moves to a worn one.
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

    /// Sets the policies.
    #[must_use]
    pub const fn policies(self, policies: Policies) -> Self {
        Self { policies, ..self }
    }

    /// Sets the seed of policies that draw at random.
    #[must_use]
    pub const fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets the rated erases of a block, from the data sheet; by default 100,000. Policies that act near the end of a
    /// chip's life use it.
    #[must_use]
    pub const fn endurance(self, endurance: u32) -> Self {
        Self { endurance, ..self }
    }

    /// NAND: sets the blocks of a segment, which lie on different dies; by default 1.
    #[must_use]
    pub const fn blocks_per_segment(self, blocks_per_segment: u32) -> Self {
        Self { blocks_per_segment, ..self }
    }

    /// NOR: sets the bytes of a page; by default 512.
    #[must_use]
    pub const fn page_bytes(self, page_bytes: u32) -> Self {
        Self { page_bytes, ..self }
    }

    /// The configuration of the engine.
    pub(super) fn engine(&self) -> page::PageConfig {
        let Self { logical_pages, policies, seed, endurance, .. } = *self;
        page::PageConfig { logical_pages, policies, seed, endurance }
    }
}
