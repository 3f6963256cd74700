//! A page-mapped engine whose map is on flash, for devices with little memory.
//!
//! It keeps three things in memory: where the translation pages are, five bytes for each segment, and a cache of the
//! entries that are newer than their translation page. Decision 40 says why it is an engine beside
//! [`PageFtl`](crate::PageFtl), and what both share: the layout of the log, tags, summaries, errors and counters.
//!
//! | file | subject |
//! | --- | --- |
//! | `host` | host commands |
//! | `checkpoint` | what a shutdown leaves for the next mount |
//! | `mount` | what lies on flash is found again |
//! | `rescue` | what a mount copies before it serves anything |
//! | `cleaner` | what is emptied and when |
//! | `map` | translation pages, their directory, and the cache in front of them |
//! | `halt` | why a step does not go on |
//! | `store` | open segments, and how they are filled and erased |
//! | `table`, `cache` | five bytes for each segment; entries by logical page |
//! | `which`, `place` | which segment is emptied; which pages share segments |
//! | `config`, `memory` | what fits on a chip; how much memory that takes |
//!
//! Calls run down only, and mount is no part of the running engine.
//!
//! ```
//! use wearwell::page::log::MapLog;
//! use wearwell::paged::{PagedConfig, PagedFtl};
//! use wearwell::{BlockDevice, Lpn, NandGeometry, RamNand, WriteHint};
//!
//! let geometry = NandGeometry { blocks: 64, ..RamNand::SMALL };
//! let config = PagedConfig::new(300, 32);
//! let log = MapLog::with_map(RamNand::new(geometry), 1)?;
//! let mut ftl = PagedFtl::format(log, config)?;
//! let data = [42; 512];
//! ftl.write_page(Lpn(7), &data, WriteHint::NONE)?;
//! ftl.flush()?;
//! let (mut ftl, _report) = PagedFtl::mount(ftl.into_log(), config)?;
//! let mut again = [0; 512];
//! ftl.read_page(Lpn(7), &mut again)?;
//! assert_eq!(again, data);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cache;
mod checkpoint;
mod cleaner;
mod config;
mod halt;
mod host;
mod map;
mod memory;
mod mount;
pub mod place;
mod rescue;
mod store;
mod table;
pub mod which;

pub use config::PagedConfig;

use alloc::boxed::Box;
use alloc::vec::Vec;

use wearwell_flash::Nand;

use crate::addr::{Lpn, Seg};
use crate::page::log::{Log, MapLog};
use crate::page::{ConfigError, IMPLAUSIBLE_ERASES, MountError, take_log, with_log};
use crate::stats::Stats;
use cleaner::Job;
use halt::Halt;
use map::Map;
use place::{SeparateGc, StreamPlacement};
use store::Store;
use table::Use;
use which::{CostBenefit, VictimWorth};

/// The engine with its map on flash, on NAND whose pages share no cells.
#[derive(Debug)]
pub struct PagedFtl<N: Nand, V = CostBenefit, W = SeparateGc> {
    store: Store<N>,
    map: Map,
    which: V,
    place: W,
    job: Option<Job>,
    /// The pages of the victim: which, and in which slot. Kept here so that no job allocates.
    victims: Vec<(Lpn, u32)>,
    /// A segment whose data fades.
    fading: Option<Seg>,
    /// The last job moved resting data.
    has_rested: bool,
    /// A write of the host's failed: of a page that the map does not know there may be a copy on flash.
    has_failed_writes: bool,
}

impl<N: Nand, V: VictimWorth, W: StreamPlacement> PagedFtl<N, V, W> {
    /// The engine's tables, for a device whose content is not known yet.
    #[inline(never)]
    fn empty(place: &mut Option<MapLog<N>>, config: PagedConfig<V, W>) -> Result<Box<Self>, ConfigError> {
        let mut log = take_log(place);
        // A mount that begins again comes with the log that the last attempt has used.
        log.forget();
        let shape = log.shape();
        let plan = match config.plan(&shape) {
            Ok(plan) => plan,
            Err(error) => {
                *place = Some(log);
                return Err(error);
            }
        };
        log.set_capacity(config.logical_pages);
        Ok(Box::new(Self {
            store: Store::new(log, plan),
            map: Map::new(&config, plan, shape.slots, shape.page_bytes),
            which: config.which,
            place: config.place,
            job: None,
            victims: Vec::with_capacity(shape.slots as usize),
            fading: None,
            has_rested: false,
            has_failed_writes: false,
        }))
    }

    /// Makes an empty device on a chip. Erase counts of an earlier format are kept; everything else is erased.
    ///
    /// # Errors
    /// [`MountError::Config`] if the capacity does not fit; [`MountError::Chip`] if the chip fails.
    pub fn format(log: MapLog<N>, config: PagedConfig<V, W>) -> Result<Self, MountError> {
        Self::format_or_return(log, config).map_err(|(_, error)| error)
    }

    /// As [`format`](Self::format), but gives the log back if it fails.
    ///
    /// # Errors
    /// As [`format`](Self::format).
    #[expect(clippy::result_large_err, reason = "the log comes back with the error")]
    pub fn format_or_return(log: MapLog<N>, config: PagedConfig<V, W>) -> Result<Self, (MapLog<N>, MountError)> {
        let mut place = Some(log);
        let made = Self::format_boxed(&mut place, config);
        made.map(|ftl| *ftl).map_err(|error| with_log(place, error))
    }

    /// As [`format_or_return`](Self::format_or_return), with the engine at its place from the start. The log lies in
    /// `log`, and is back there with an error. Moved from call to call, both would take most of a small stack.
    pub(crate) fn format_boxed(
        log: &mut Option<MapLog<N>>,
        config: PagedConfig<V, W>,
    ) -> Result<Box<Self>, MountError> {
        let mut ftl = Self::empty(log, config)?;
        match ftl.erase_all() {
            Ok(()) => Ok(ftl),
            Err(halt) => {
                let error = ftl.store.not_opened(halt);
                *log = Some(ftl.store.log);
                Err(error)
            }
        }
    }

    #[inline(never)]
    fn erase_all(&mut self) -> Result<(), Halt> {
        // First of all: the next mount would believe a checkpoint that has outlived the format.
        self.drop_checkpoint()?;
        for seg in self.store.table.all() {
            let scan = self.store.log.scan_segment(seg)?;
            if scan.bad {
                self.store.set_use(seg, Use::Bad);
                continue;
            }
            let erases = scan.erases.filter(|&erases| erases < IMPLAUSIBLE_ERASES).unwrap_or(0);
            self.store.table.set_erases(seg, erases);
            self.store.erase(seg)?;
        }
        self.store.stats = Stats::default();
        Ok(())
    }

    /// The log, and through it the chip.
    pub fn log(&self) -> &MapLog<N> {
        &self.store.log
    }

    /// The log, to reach the chip's clock or faults. The engine does not notice changes made through it.
    pub fn log_mut(&mut self) -> &mut MapLog<N> {
        &mut self.store.log
    }

    /// Gives the log back and drops everything else, like a power cut.
    pub fn into_log(self) -> MapLog<N> {
        self.store.log
    }
}
