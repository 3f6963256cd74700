//! The configuration, and what it leaves of a chip.

use super::cache::MOST_PAGES;
use super::place::{MOST_HOST_STREAMS, SeparateGc, StreamPlacement};
use super::table::MOST_SLOTS;
use super::which::CostBenefit;
use crate::page::ConfigError;
use crate::page::log::LogShape;

/// The configuration of a [`PagedFtl`](super::PagedFtl).
///
/// The victim policy and the placement are types, so that firmware links those that it names and no other:
///
/// ```
/// use wearwell::PagedConfig;
/// use wearwell::paged::{place, which};
///
/// let config = PagedConfig::new(300, 32);
/// let other = config.which(which::Greedy).place(place::ByHandle);
/// # assert_eq!((other.logical_pages, other.cache_entries, other.place), (300, 32, place::ByHandle));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PagedConfig<V = CostBenefit, W = SeparateGc> {
    /// Pages that the host can address.
    pub logical_pages: u32,
    /// Entries in the cache of the map, at least two. After a power cut a device can only be mounted with as many as it
    /// had before, or more.
    pub cache_entries: u32,
    /// Which segment is emptied.
    pub which: V,
    /// Which pages share segments.
    pub place: W,
}

/// Fewest entries in the cache.
const LEAST_ENTRIES: u32 = 2;

/// Free segments held back: one for what a mount copies, and one for a program or an erase that fails.
pub(super) const HELD_SEGMENTS: u32 = 2;

/// Fewest slots of a segment: a mark, a page and padding.
const LEAST_SLOTS: u32 = 3;

/// Numbers that follow from the configuration and the chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    /// Places on the chip.
    pub(super) places: u32,
    /// Translation pages.
    pub(super) parts: u32,
    /// Logical pages whose entries a translation page holds.
    pub(super) per_part: u32,
    /// Bytes of an entry.
    pub(super) entry_bytes: u32,
    /// Most segments of translation pages, so many that the emptiest of them holds few that count.
    pub(super) map_segments: u32,
    /// Segments without which data and reserve do not fit.
    pub(super) needed_segments: u32,
}

impl PagedConfig {
    /// The configuration of a device of so many pages, with so many entries in its cache. Victims are chosen by age,
    /// and what cleaning moves has segments of its own.
    #[must_use]
    pub const fn new(logical_pages: u32, cache_entries: u32) -> Self {
        Self { logical_pages, cache_entries, which: CostBenefit, place: SeparateGc }
    }
}

impl<V: Copy, W: Copy> PagedConfig<V, W> {
    /// Other victims. A device can be mounted with others than before.
    #[must_use]
    pub const fn which<V2>(self, which: V2) -> PagedConfig<V2, W> {
        let Self { logical_pages, cache_entries, place, .. } = self;
        PagedConfig { logical_pages, cache_entries, which, place }
    }

    /// Another placement. A device can be mounted with another than before, if it has the segments for it.
    #[must_use]
    pub const fn place<W2>(self, place: W2) -> PagedConfig<V, W2> {
        let Self { logical_pages, cache_entries, which, .. } = self;
        PagedConfig { logical_pages, cache_entries, which, place }
    }
}

impl<V, W: StreamPlacement> PagedConfig<V, W> {
    // Such functions, and those that they call, are for firmware that sets its memory aside when it is built: no `?`
    // and no `min` can be in them.
    pub(super) const fn plan(&self, shape: &LogShape) -> Result<Plan, ConfigError> {
        const { assert!(W::HOST_STREAMS >= 1 && W::HOST_STREAMS <= MOST_HOST_STREAMS, "streams of a placement") };
        let Self { logical_pages, .. } = *self;
        let with_overhead = shape.segments as u64 * (shape.slots + shape.overhead_pages) as u64;
        if with_overhead >= u32::MAX as u64 {
            return Err(ConfigError::TooManyPages { physical_pages: with_overhead });
        }
        let places = shape.segments * shape.slots;
        if logical_pages == 0 {
            return Err(ConfigError::NoPages);
        }
        // A cut could hit more pages than the one with the greatest number, and a mount suspects no other.
        if shape.group_pages > 1 {
            return Err(ConfigError::SharedCells { group_pages: shape.group_pages });
        }
        if self.cache_entries < LEAST_ENTRIES {
            return Err(ConfigError::CacheTooSmall { entries: self.cache_entries, least: LEAST_ENTRIES });
        }
        if shape.slots < LEAST_SLOTS || shape.slots > MOST_SLOTS {
            let (segments, slots) = (shape.segments, shape.slots);
            return Err(ConfigError::TooFewSegments { segments, slots, reserve_segments: 0 });
        }
        let most = if shape.max_logical_pages < MOST_PAGES { shape.max_logical_pages } else { MOST_PAGES } - 1;
        if logical_pages > most {
            return Err(ConfigError::TooManyLogicalPages { logical_pages, max_logical_pages: most });
        }
        // The greatest two numbers name no place.
        let entry_bytes = if (places + 2).ilog2() < 16 { 2 } else { (places + 2).ilog2() / 8 + 1 };
        let per_part = shape.page_bytes / entry_bytes;
        // As many pages as fit, of those asked for: how many these are is told with the error.
        let mut fits = if logical_pages < places { logical_pages } else { places };
        let plan = loop {
            let parts = fits.div_ceil(per_part);
            let map_segments = 4 * parts.div_ceil(shape.slots) + 2;
            // In service a segment of each stream of the host's and one of copies are open, one more is free for the
            // host and one for copies, and one is full.
            let in_service = HELD_SEGMENTS + 4 + W::HOST_STREAMS + fits.div_ceil(shape.slots);
            // A mount that finds fewer free ones moves the pages of the emptiest between a mark and padding. So these
            // have to be fewer than fit there.
            let in_mounts = HELD_SEGMENTS + 1 + fits / (shape.slots - 2);
            let needed_segments = map_segments + if in_service > in_mounts { in_service } else { in_mounts };
            if fits == 0 || needed_segments <= shape.segments {
                break Plan { places, parts, per_part, entry_bytes, map_segments, needed_segments };
            }
            fits -= 1;
        };
        if fits == logical_pages {
            return Ok(plan);
        }
        let (physical_pages, reserve_pages) = (places as u64, (places - fits) as u64);
        Err(ConfigError::TooLarge { logical_pages: logical_pages as u64, physical_pages, reserve_pages })
    }
}
