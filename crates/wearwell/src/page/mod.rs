//! The page-mapped engine: a log over flash (Kawaguchi '95), with classes of segments (Chiang '97).
//!
//! A host page is appended to the open segment of its class, the map is pointed at it, and the copy it
//! replaces becomes invalid. Cleaning takes a closed segment, appends its valid pages elsewhere and erases it.
//!
//! | file | subject |
//! | --- | --- |
//! | [`log`] | how records lie on flash |
//! | `map` | where every page is |
//! | `segments` | what is known of every segment |
//! | `write` | host commands |
//! | `allocate` | slots of open segments |
//! | `step` | the cleaner |
//! | `mount` | start-up after a clean or an unclean stop |
//! | `rescue` | pages that a power cut may have hit |

mod allocate;
mod config;
pub mod log;
mod map;
mod mount;
mod rescue;
mod segments;
mod step;
mod write;

pub use config::{Config, ConfigError, Policies, RESERVE_SEGMENTS};
pub use mount::{MountError, MountReport};
pub use segments::{SegState, Segments};

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use crate::addr::{Class, Lpn, Ppn, Seg};
use crate::buffer::WriteBuffer;
use crate::clean::when::When;
use crate::clean::which::{AgeClock, Victims};
use crate::dead::DeadPages;
use crate::free::FreePool;
use crate::ftl::{FtlError, Probe};
use crate::losses::Losses;
use crate::place::{Place, Placement};
use crate::random::Rng;
use crate::spread::EraseSpread;
use crate::stats::Stats;
use allocate::OpenSegment;
use log::{Discards, Log, LogShape};
use map::Map;
use step::Job;

/// The page-mapped engine over a [`Log`].
///
/// Invariants, each kept in one place:
/// - the map and `segments.valid` agree (`put_reserved` and `left` in `write`, `moved` in `step`; in a mount `repoint` and
///   `bind_rescued`);
/// - every candidate, and nothing else, is known to `victims` (`close`, `left`, `begin`);
/// - a free segment is left for cleaning, and one more for recovery, when the host opens one (`allocate`);
/// - a segment is erased only once what superseded its pages cannot be lost (`settle`, called by `reclaim`).
#[derive(Debug)]
pub struct PageFtl<L, P = ()> {
    log: L,
    shape: LogShape,
    probe: P,
    config: Config,
    map: Map,
    segments: Segments,
    free: FreePool,
    open: [OpenSegment; Class::COUNT],
    /// Open segments put aside while their bank erases; at most one a class.
    parked: [OpenSegment; Class::COUNT],
    victims: Victims,
    placement: Placement,
    when: When,
    rng: Rng,
    /// What cleaning is doing now.
    job: Option<Job>,
    /// Between the marks of a watermark policy.
    cleaning: bool,
    /// Closed segments without a valid page, to be erased.
    empties: VecDeque<Seg>,
    /// Proactive reclamation has begun and is not at its end.
    reclaiming: bool,
    /// Segments flagged urgent.
    urgent_segments: u32,
    /// A segment is being erased in the background.
    erasing: bool,
    /// There may be something to do before the next host page; see `make_room`.
    attention: bool,
    /// The clock at which the cleaner's next step is due.
    next_step: u64,
    spread: EraseSpread,
    dead: DeadPages,
    wear_due: bool,
    /// Host pages ever written: the clock of ages.
    clock: u64,
    now_us: u64,
    next_seq: u64,
    buffer: WriteBuffer,
    /// Parts of the discard map that have changed since they were last written, and how many.
    dirty_discards: Vec<bool>,
    dirty_count: u32,
    /// Pages whose data is gone: reading them is an error until they are written or discarded.
    lost: Losses,
    /// The error that every write and discard gets, if none is taken any more: a segment failed that the next mount may believe, stale copies and
    /// all; or what a power cut may have hit finds no place to be copied to.
    writable: Result<(), FtlError>,
    /// A write of the host's failed: of a page that the map does not know there may be a copy on flash.
    has_failed_writes: bool,
    /// The segment that holds the mark of a clean shutdown.
    clean_mark: Option<Seg>,
    /// A page of bytes for a host command to work in; empty where none are stored.
    scratch: Vec<u8>,
    /// Another one for the discard map, which may have to be written in the middle of a host command.
    discard_page: Vec<u8>,
    stats: Stats,
}

impl<L: Log, P: Probe> PageFtl<L, P> {
    /// The engine's tables, for a device of which nothing is known yet.
    fn empty(mut log: L, probe: P, config: Config) -> Result<Self, (L, ConfigError)> {
        log.forget();
        let shape = log.shape();
        let built = config.check(&shape, L::DISCARDS).and_then(|chunks| {
            let when = config.policies.when.build(shape.segments, shape.slots);
            Ok((chunks, when.map_err(ConfigError::Watermark)?))
        });
        let (chunks, when) = match built {
            Ok(built) => built,
            Err(error) => return Err((log, error)),
        };
        log.set_capacity(config.logical_pages);
        let pages = config.logical_pages + chunks;
        Ok(Self {
            map: Map::new(pages, shape.segments, shape.slots),
            segments: Segments::new(shape.segments, shape.slots),
            free: FreePool::new(shape.segments, shape.banks, config.held_segments(&shape, L::DISCARDS)),
            open: [OpenSegment::NONE; Class::COUNT],
            parked: [OpenSegment::NONE; Class::COUNT],
            victims: config.policies.which.build(shape.segments, shape.slots),
            placement: config.policies.place.build(pages),
            when,
            rng: Rng::new(config.seed),
            job: None,
            cleaning: false,
            empties: VecDeque::with_capacity(shape.segments as usize),
            reclaiming: false,
            urgent_segments: 0,
            erasing: false,
            attention: true,
            next_step: 0,
            spread: EraseSpread::default(),
            dead: DeadPages::new(shape.segments),
            wear_due: false,
            clock: 0,
            now_us: 0,
            next_seq: 1,
            buffer: WriteBuffer::new(shape.page_bytes, L::STORES),
            dirty_discards: vec![false; chunks as usize],
            dirty_count: 0,
            lost: Losses::default(),
            writable: Ok(()),
            has_failed_writes: false,
            clean_mark: None,
            scratch: vec![0; if L::STORES { shape.page_bytes as usize } else { 0 }],
            discard_page: vec![0; if L::STORES { shape.page_bytes as usize } else { 0 }],
            stats: Stats::default(),
            log,
            shape,
            probe,
            config,
        })
    }

    /// Makes an empty device of a chip. Erase counts that an earlier format left are kept; all else is erased.
    ///
    /// # Errors
    /// [`MountError::Config`] if the capacity does not fit; [`MountError::Chip`] if the chip fails.
    pub fn format(log: L, probe: P, config: Config) -> Result<Self, MountError> {
        let mut ftl = Self::empty(log, probe, config).map_err(|(_, error)| error)?;
        for seg in ftl.segments.all() {
            let scan = ftl.log.scan(seg)?;
            let bad = ftl.log.is_bad(seg)?;
            if bad {
                ftl.segments.set_bad(seg);
                continue;
            }
            if let Some(scan) = scan {
                ftl.segments.erases[seg.index()] = scan.erases.filter(|&e| e < config::IMPLAUSIBLE_ERASES).unwrap_or(0);
                if !ftl.erase_for_format(seg)? {
                    continue;
                }
            }
            ftl.add_free(seg);
        }
        ftl.start();
        ftl.stats.reset();
        Ok(ftl)
    }

    /// What is left to do once segments and map are known.
    fn start(&mut self) {
        let good = self.segments.all().filter(|s| self.segments.state[s.index()] != SegState::Bad);
        self.spread = EraseSpread::of(good.map(|s| self.segments.erases[s.index()]));
        self.introduce_all();
        self.list_classes();
        self.alert();
    }

    /// Tells the placement which classes the segments in use are of.
    fn list_classes(&mut self) {
        for seg in self.segments.all() {
            if matches!(self.segments.state[seg.index()], SegState::Open | SegState::Closed | SegState::Victim) {
                self.placement.opened(self.segments.class[seg.index()]);
            }
        }
    }

    fn introduce_all(&mut self) {
        for seg in self.segments.all() {
            if self.segments.valid[seg.index()] > 0 {
                self.introduce(seg);
            }
        }
    }

    /// The log, and through it the chip.
    pub fn log(&self) -> &L {
        &self.log
    }

    /// The log, to reach the chip's clock or faults. The engine does not notice what is written behind it.
    pub fn log_mut(&mut self) -> &mut L {
        &mut self.log
    }

    /// Gives the log back and forgets everything else, as a power cut would.
    pub fn into_log(self) -> L {
        self.log
    }

    /// The table of segments.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// The policies in force.
    pub fn policies(&self) -> Policies {
        self.config.policies
    }

    /// The streams that write to segments of a class, in ascending order, where placement keeps streams apart. What wrote
    /// before a mount is not known.
    pub fn streams_of(&self, class: Class) -> Vec<u16> {
        let mut streams = Vec::new();
        self.placement.streams_of(class, &mut |stream| streams.push(stream));
        streams.sort_unstable();
        streams
    }

    /// Pages that still fit into the open segment of a class; none if it has none, so that the next page opens one.
    pub fn room_of(&self, class: Class) -> Option<u32> {
        let open = self.open[class.index()];
        open.is_open().then(|| self.shape.slots.saturating_sub(open.next))
    }

    /// Ends the open segment of a class where it stands, so that the next page of the class opens another; one that holds
    /// nothing stays.
    pub fn end_segment_of(&mut self, class: Class) {
        let open = self.open[class.index()];
        if open.is_open() && open.next > 0 {
            self.abandon(class);
        }
    }

    /// Puts other policies in force. Open segments are closed when placement changes, since classes then
    /// mean something else.
    ///
    /// # Errors
    /// [`ConfigError::Watermark`] if the marks do not fit, [`ConfigError::TooLarge`] or [`ConfigError::TooFewSegments`] if
    /// placement takes more segments than are left; nothing has changed then.
    pub fn set_policies(&mut self, policies: Policies) -> Result<(), ConfigError> {
        let (segments, slots) = (self.shape.segments, self.shape.slots);
        let config = Config { policies, ..self.config };
        config.check(&self.shape, L::DISCARDS)?;
        self.when = policies.when.build(segments, slots).map_err(ConfigError::Watermark)?;
        let old = core::mem::replace(&mut self.config.policies, policies);
        if old.when.ages_in_seconds() != policies.when.ages_in_seconds() {
            self.restamp();
        }
        if old.which != policies.which || old.when.ages_in_seconds() != policies.when.ages_in_seconds() {
            self.victims = policies.which.build(segments, slots);
            self.introduce_all();
        }
        if old.place != policies.place {
            self.free.hold(config.held_segments(&self.shape, L::DISCARDS));
            self.abandon_open();
            self.placement = policies.place.build(self.map.logical_pages());
            self.list_classes();
        }
        if old.wear != policies.wear {
            self.reorder_free();
        }
        self.alert();
        Ok(())
    }

    /// Ages are measured in another unit from now on: everything counts as of this moment.
    fn restamp(&mut self) {
        let now = self.age_clock().now;
        for stamps in [&mut self.segments.opened, &mut self.segments.invalidated, &mut self.segments.newest] {
            stamps.fill(now);
        }
    }

    /// The moment that ages are measured against.
    #[inline]
    fn age_clock(&self) -> AgeClock {
        if self.config.policies.when.ages_in_seconds() {
            AgeClock { now: self.now_us, unit: 1e-6 }
        } else {
            AgeClock { now: self.clock, unit: 1.0 }
        }
    }

    /// Live pages over the pages of all good segments.
    fn utilization(&self) -> f64 {
        let pages = f64::from(self.segments.good()) * f64::from(self.shape.slots);
        self.map.live_pages() as f64 / pages
    }

    /// True if `lpn` is the host's, not one of the engine's own pages behind them.
    fn is_host_page(&self, lpn: Lpn) -> bool {
        lpn.0 < self.config.logical_pages
    }

    /// The part of the discard map that a page of the engine's own holds.
    fn discards_in(&self, lpn: Lpn) -> Option<usize> {
        lpn.0.checked_sub(self.config.logical_pages).map(|chunk| chunk as usize)
    }

    /// The part of the discard map that covers `lpn`, if this layout has one.
    fn discard_chunk(&self, lpn: Lpn) -> Option<usize> {
        let pages_per_chunk = config::discards_per_page(self.shape.page_bytes);
        (L::DISCARDS == Discards::Logged).then(|| (lpn.0 / pages_per_chunk) as usize)
    }

    /// Bytes of all tables.
    fn table_bytes(&self) -> u64 {
        self.map.table_bytes() + self.segments.table_bytes() + self.placement.table_bytes() + self.dead.table_bytes()
    }

    /// Something came up that the cleaner should look at before the next host page.
    #[inline]
    fn alert(&mut self) {
        self.attention = true;
        self.next_step = self.clock;
    }

    /// Where `lpn` lies.
    #[inline]
    fn place_of(&self, lpn: Lpn) -> Ppn {
        self.map.lookup(lpn)
    }
}
