//! The configuration of a disk.

use crate::clean::reclaim::Reclamation;
use crate::clean::when::CleaningTrigger;
use crate::clean::which;
use crate::page::{PageConfig, Policies};
use crate::place;
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
/// use wearwell::{Config, VictimPolicy, clean::which, place};
///
/// let config = Config::new(300);
/// assert_eq!(config.policies.wear, WearLeveling::StaticThreshold { threshold: 50 });
/// let other = config.which(which::only::Cat).place(place::only::SeparateGc).wear(WearLeveling::None);
/// # assert_eq!(other.policies.place, place::only::SeparateGc);
/// let chosen_at_run_time = config.which(VictimPolicy::Greedy);
/// # assert_eq!(chosen_at_run_time.policies.which, VictimPolicy::Greedy);
/// ```
///
/// The victim policy and the placement are types, so that firmware links those that it names and no other. A
/// [`VictimPolicy`](crate::VictimPolicy) or a [`Placement`](crate::Placement) stands for any of them, and links all.
///
/// The capacity has to be the same at each mount, and so do [`page_bytes`](Self::page_bytes) and
/// [`blocks_per_segment`](Self::blocks_per_segment), which are the shape of the data on the chip. Everything else may
/// change.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Config<V = which::only::Greedy, W = place::only::Single> {
    /// Pages that the host can address.
    pub logical_pages: u32,
    /// The policies of cleaning, placement and wear leveling.
    pub policies: Policies<V, W>,
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
                which: which::only::Greedy,
                place: place::only::Single,
                wear: WearLeveling::StaticThreshold { threshold: LEAST_UNEVEN },
                reclaim: Reclamation::AtOnce,
            },
            seed: 1,
            endurance: 100_000,
            blocks_per_segment: 1,
            page_bytes: NOR_PAGE_BYTES,
        }
    }
}

impl<V: Copy, W: Copy> Config<V, W> {
    const fn with<V2, W2>(self, policies: Policies<V2, W2>) -> Config<V2, W2> {
        let Self { logical_pages, seed, endurance, blocks_per_segment, page_bytes, .. } = self;
        Config { logical_pages, policies, seed, endurance, blocks_per_segment, page_bytes }
    }

    /// Other moments to clean.
    #[must_use]
    pub const fn when(self, when: CleaningTrigger) -> Self {
        self.with(Policies { when, ..self.policies })
    }

    /// Other victims.
    #[must_use]
    pub const fn which<V2: Copy>(self, which: V2) -> Config<V2, W> {
        let Policies { when, place, wear, reclaim, .. } = self.policies;
        self.with(Policies { when, which, place, wear, reclaim })
    }

    /// Another placement.
    #[must_use]
    pub const fn place<W2: Copy>(self, place: W2) -> Config<V, W2> {
        let Policies { when, which, wear, reclaim, .. } = self.policies;
        self.with(Policies { when, which, place, wear, reclaim })
    }

    /// Another wear leveling.
    #[must_use]
    pub const fn wear(self, wear: WearLeveling) -> Self {
        self.with(Policies { wear, ..self.policies })
    }

    /// Another moment to erase segments that nothing is left in.
    #[must_use]
    pub const fn reclaim(self, reclaim: Reclamation) -> Self {
        self.with(Policies { reclaim, ..self.policies })
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
    pub(super) fn engine(&self) -> PageConfig<V, W> {
        let Self { logical_pages, policies, seed, endurance, .. } = *self;
        PageConfig { logical_pages, policies, seed, endurance }
    }
}
