//! The page-mapped engine: a log over flash (Kawaguchi '95), with classes of segments (Chiang '97).
//!
//! A host page is appended to the open segment of its class, the map is pointed at it, and the copy it
//! replaces becomes invalid. Cleaning takes a closed segment, appends its valid pages elsewhere and erases it.
//!
//! | file | subject |
//! | --- | --- |
//! | `host` | host commands |
//! | `cleaner` | what is emptied and when; makes slots for host pages; `cleaner/moving` empties a victim |
//! | `discards` | the discard map |
//! | `allocator` | slots of open segments; `allocator/erase` makes segments free again |
//! | `index` | the map and the table of segments, changed together |
//! | `map`, [segments](Segments), `pool` | where every page is; the state of every segment; which segments wait for the cleaner |
//! | [`log`] | how records lie on flash |
//! | `mount` | start-up after a clean or an unclean stop |
//! | `checkpoint` | what a clean shutdown leaves, so that the next mount need not scan |
//! | `rescue` | pages that a power cut may have hit |
//! | `found` | what mount and rescue find, and what they can end in |
//! | `own` | policies from outside this crate |
//!
//! Each file except the last five owns its state and calls only files below it in this list: host commands call the
//! cleaner, the cleaner calls the discard map and the allocator, and the allocator calls the index and the log. Before
//! a host page is given a class, the cleaner makes a slot for it. Nothing below the cleaner cleans by itself.

mod allocator;
mod checkpoint;
mod cleaner;
mod config;
mod discards;
mod found;
mod host;
mod index;
pub mod log;
mod map;
mod mount;
mod own;
mod pool;
mod rescue;
#[cfg(test)]
mod tests;

pub use crate::segments::{Health, SegState, Segments};
pub use config::{ConfigError, PageConfig, Policies, RESERVE_SEGMENTS};
pub(crate) use config::{IMPLAUSIBLE_CLOCK, IMPLAUSIBLE_ERASES};
pub(crate) use found::{FOUND_BYTES, LISTS_OF_SUSPECTS, LISTS_OF_TIES, check_writer, is_blank, take_log, with_log};
pub use found::{MountError, MountReport};

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use crate::addr::{Class, Slots};
use crate::buffer::WriteBuffer;
use crate::clean::which::{VictimChoice, VictimPolicy};
use crate::free::FreePool;
use crate::ftl::Probe;
use crate::place::{ClassPlacement, PlaceChoice, Placement, Shape};
use crate::random::Rng;
use allocator::Allocator;
use cleaner::Cleaner;
use config::Rules;
use discards::DiscardMap;
use index::{Clock, Index};
use log::{Discards, Log, LogShape};
use map::FlatMap;
use pool::SegmentPool;

/// The page-mapped engine over a [`Log`].
#[derive(Debug)]
pub struct PageFtl<L, P = (), V: VictimChoice = VictimPolicy, W: PlaceChoice = Placement> {
    cleaner: Cleaner<L, P, FlatMap, V, W>,
    buffer: WriteBuffer,
    config: PageConfig<V, W>,
    /// Classes of the placement in force.
    classes: u32,
    /// A write of the host's failed: of a page that the map does not know there may be a copy on flash.
    has_failed_writes: bool,
    /// A page of working memory for a host command; empty if bytes are only counted.
    scratch: Vec<u8>,
}

impl<L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> PageFtl<L, P, V, W> {
    /// The engine's tables, for a device whose content is not known yet.
    #[inline(never)]
    fn empty(place: &mut Option<L>, probe: P, config: PageConfig<V, W>) -> Result<Box<Self>, ConfigError> {
        let mut log = take_log(place);
        // The log may come from a mount that failed. What it remembers of that is no longer true.
        log.forget();
        let shape = log.shape();
        let (segments, slots, data_slots) = (shape.segments, shape.slots, shape.data_slots);
        let classes = config.policies.place.classes();
        let built = config.check(classes, &shape, L::DISCARDS).and_then(|parts| {
            let trigger = config.policies.when.build(segments, slots);
            Ok((parts, trigger.map_err(ConfigError::Watermark)?))
        });
        let (parts, trigger) = match built {
            Ok(built) => built,
            Err(error) => {
                // Whoever called still owns the chip. `with_log` counts on it.
                *place = Some(log);
                return Err(error);
            }
        };
        // Headers name the host's capacity only: the parts of the discard map are numbered from there on.
        log.set_capacity(config.logical_pages);
        let pages = config.logical_pages + parts;
        let by_slots = Slots::new(slots);
        // The table counts slots that can hold pages of the engine's. With tag pages a segment is full without the
        // other slots. The map numbers all of them.
        let pool =
            SegmentPool::new(Segments::new(segments, data_slots), config.policies.which.build(segments, data_slots));
        let clock = Clock { host_pages: 0, now_us: 0, is_timed: config.policies.when.ages_in_seconds() };
        let index = Index::new(FlatMap::new(pages, segments, by_slots), pages, pool, by_slots, clock);
        let free = FreePool::new(segments, shape.banks);
        let rules = Self::rules(&config, classes, &shape, parts, trigger.alert_below());
        let alloc = Allocator::new(
            log,
            probe,
            index,
            config.policies.place.build(Shape { logical_pages: pages, segments, slots }),
            free,
            rules,
        );
        let discards = DiscardMap::new(config.logical_pages, parts, shape.page_bytes, L::STORES);
        let rng = Rng::new(config.seed);
        Ok(Box::new(Self {
            cleaner: Cleaner::new(alloc, discards, trigger, config.policies.reclaim, rng),
            buffer: WriteBuffer::new(shape.page_bytes, L::STORES),
            config,
            classes,
            has_failed_writes: false,
            scratch: vec![0; if L::STORES { shape.page_bytes as usize } else { 0 }],
        }))
    }

    fn rules(config: &PageConfig<V, W>, classes: u32, shape: &LogShape, parts: u32, alert_below: u32) -> Rules {
        Rules {
            wear: config.policies.wear,
            endurance: config.endurance,
            alert_below,
            needed_segments: config.needed_segments(classes, shape, L::DISCARDS, parts),
            recovery_segments: PageConfig::<V, W>::held_segments(classes, shape, L::DISCARDS),
            segments: shape.segments,
            is_mountable: L::DISCARDS != Discards::Forgotten,
        }
    }

    /// Makes an empty device on a chip. Erase counts of an earlier format are kept; everything else is erased.
    ///
    /// # Errors
    /// [`MountError::Config`] if the capacity does not fit; [`MountError::Chip`] if the chip fails.
    pub fn format(log: L, probe: P, config: PageConfig<V, W>) -> Result<Self, MountError> {
        Self::format_or_return(log, probe, config).map_err(|(_, error)| error)
    }

    /// As [`format`](Self::format), but gives the log back if it fails.
    ///
    /// # Errors
    /// As [`format`](Self::format).
    pub fn format_or_return(log: L, probe: P, config: PageConfig<V, W>) -> Result<Self, (L, MountError)> {
        let mut place = Some(log);
        let made = Self::format_boxed(&mut place, probe, config);
        made.map(|ftl| *ftl).map_err(|error| with_log(place, error))
    }

    /// As [`format_or_return`](Self::format_or_return), with the engine at its place from the start. The log lies in
    /// `log`, and is back there with an error. Moved from call to call, both would take most of a small stack.
    pub(crate) fn format_boxed(
        log: &mut Option<L>,
        probe: P,
        config: PageConfig<V, W>,
    ) -> Result<Box<Self>, MountError> {
        let mut ftl = Self::empty(log, probe, config)?;
        match ftl.erase_all() {
            Ok(()) => Ok(ftl),
            Err(error) => {
                ftl.give_back(log);
                Err(error)
            }
        }
    }

    /// Puts the log where it was taken from, and returns the probe.
    #[inline(never)]
    #[expect(clippy::boxed_local, reason = "only the log is to be moved, and not the engine")]
    fn give_back(self: Box<Self>, log: &mut Option<L>) -> P {
        let (given, probe) = self.cleaner.into_alloc().into_parts();
        *log = Some(given);
        probe
    }

    /// Erases every good segment and begins with all of them free.
    #[inline(never)]
    fn erase_all(&mut self) -> Result<(), MountError> {
        let alloc = self.cleaner.alloc_mut();
        // A format that is cut must not leave a checkpoint of what it has erased in part.
        if alloc.log().checkpoint_pages() > 0 {
            // Its first segment is enough: without the first page no mount believes the rest (Spec P15), and none
            // believes one in a bad segment.
            alloc.log_mut().clear_checkpoint(1, u32::MAX, 0)?;
            alloc.count_kept();
        }
        for seg in alloc.table().all() {
            // The scan only tells the erase count.
            let scan = alloc.log_mut().scan(seg)?;
            if alloc.log_mut().is_bad(seg)? {
                alloc.pool_mut().table_mut().retire(seg);
                continue;
            }
            // The layout `plain` has no records, and begins with what the chip holds. Nothing can mount it.
            if let Some(scan) = scan {
                // Spec P2.
                let erases = scan.erases.filter(|&e| e < IMPLAUSIBLE_ERASES).unwrap_or(0);
                alloc.pool_mut().table_mut().set_erases(seg, erases);
                if !alloc.erase_for_format(seg)? {
                    continue;
                }
            }
            alloc.add_free(seg);
        }
        self.cleaner.alloc_mut().start();
        // What the format has cost is no part of the host's counters.
        self.cleaner.alloc_mut().stats_mut().reset();
        Ok(())
    }

    /// The log, and through it the chip.
    pub fn log(&self) -> &L {
        self.cleaner.alloc().log()
    }

    /// The log, to reach the chip's clock or faults. The engine does not notice changes made through it.
    pub fn log_mut(&mut self) -> &mut L {
        self.cleaner.alloc_mut().log_mut()
    }

    /// Gives the log back and drops everything else, like a power cut.
    pub fn into_log(self) -> L {
        self.cleaner.into_alloc().into_parts().0
    }

    /// The probe that receives the engine's events.
    pub fn probe_mut(&mut self) -> &mut P {
        self.cleaner.alloc_mut().probe_mut()
    }

    /// The table of segments.
    pub fn segments(&self) -> &Segments {
        self.cleaner.alloc().table()
    }

    /// The policies in force.
    pub fn policies(&self) -> Policies<V, W> {
        self.config.policies
    }

    /// The streams that write to segments of a class, in ascending order, if placement keeps streams apart. Streams are
    /// not known until they have written since the mount.
    pub fn streams_of(&self, class: Class) -> Vec<u16> {
        let mut streams = Vec::new();
        self.cleaner.alloc().placement().streams_of(class, &mut |stream| streams.push(stream));
        streams.sort_unstable();
        streams
    }

    /// Free pages in the open segment of a class; none if it has no open segment, so that the next page opens one.
    pub fn room_of(&self, class: Class) -> Option<u32> {
        let alloc = self.cleaner.alloc();
        let open = alloc.open_segment(class);
        open.is_open().then(|| alloc.shape().slots.saturating_sub(open.next))
    }

    /// Ends the open segment of a class, so that the next page of the class opens another. An open segment without a
    /// page stays.
    pub fn end_segment_of(&mut self, class: Class) {
        let alloc = self.cleaner.alloc_mut();
        let open = alloc.open_segment(class);
        if open.is_open() && open.next > 0 {
            alloc.abandon(class);
        }
    }

    /// Changes the policies. If placement changes, open segments are closed, because classes then have another meaning.
    ///
    /// # Errors
    /// [`ConfigError::Watermark`] if the marks do not fit, [`ConfigError::TooLarge`] or [`ConfigError::TooFewSegments`]
    /// if placement takes more segments than are left; nothing has changed then.
    pub fn set_policies(&mut self, policies: Policies<V, W>) -> Result<(), ConfigError> {
        let shape = *self.cleaner.alloc().shape();
        let config = PageConfig { policies, ..self.config };
        let is_placed_anew = policies.place != self.config.policies.place;
        // A placement from outside may be in force, whose classes no configuration names (`set_own_placement`).
        let classes = if is_placed_anew { policies.place.classes() } else { self.classes };
        let parts = config.check(classes, &shape, L::DISCARDS)?;
        let trigger = policies.when.build(shape.segments, shape.slots).map_err(ConfigError::Watermark)?;
        // Nothing fails from here on, so a refused change leaves everything as it was.
        let old = core::mem::replace(&mut self.config, config).policies;
        self.classes = classes;
        self.cleaner.set_policies(trigger, policies.reclaim);
        let alloc = self.cleaner.alloc_mut();
        alloc.set_rules(Self::rules(&config, classes, &shape, parts, trigger.alert_below()));
        let is_timed = policies.when.ages_in_seconds();
        let other_ages = old.when.ages_in_seconds() != is_timed;
        if other_ages {
            // The unit changes first, so that `now` is in the new one.
            alloc.index_mut().clock_mut().is_timed = is_timed;
            let now = alloc.index().clock().stamp();
            alloc.pool_mut().table_mut().restamp(now);
        }
        // Policies by age keep their lists in the order of the stamps, which `restamp` has changed.
        if old.which != policies.which || other_ages {
            let victims = policies.which.build(shape.segments, shape.data_slots);
            alloc.pool_mut().set_victims(victims);
        }
        if is_placed_anew {
            let LogShape { segments, slots, .. } = shape;
            let logical_pages = config.logical_pages + parts;
            alloc.place_by(policies.place.build(Shape { logical_pages, segments, slots }));
        }
        if old.wear != policies.wear {
            // Keys of free segments are erase counts or turns, as the wear policy wants, and must not mix.
            alloc.reorder_free();
        }
        // The new marks may be above what is free now, and only the cleaner finds out.
        alloc.attention().call();
        Ok(())
    }
}
