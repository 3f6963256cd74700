//! The engines behind one small trait. Nothing else in this crate calls the engines.

use std::cell::RefCell;
use std::rc::Rc;

use wearwell::logblock::{BlockConfig, Costs, Recycling, Scheme, TaggedPages};
use wearwell::page::log::{Log, MapLog, NandLog, NorLog};
use wearwell::page::{ConfigError, MountError, PageConfig, Policies};
use wearwell::paged::place::{ByHandle, StreamPlacement};
use wearwell::paged::which::{Cat, Greedy, Lfs, VictimWorth};
use wearwell::{
    BlockDevice, BlockFtl, CleaningTrigger, FtlError, Inspect, Limits, PageFtl, PagedConfig, PagedFtl, Placement,
    Reclamation, Sectors, VictimPolicy, WearLeveling, WriteHint,
};
use wearwell_aware::Aware;
use wearwell_flash::ErrorKind;

use crate::medium::Medium;
use crate::nand::{NandChip, NandDriver};
use crate::nor::{NorChip, NorDriver};
use crate::setup::{Engine, PolicyNames, Setup, Shape};

/// Why a device refused a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A page's data is gone.
    #[error("page {page} is unreadable")]
    Unreadable {
        /// The page.
        page: u32,
    },
    /// Too many blocks have failed.
    #[error("worn out: {good} good segments, {needed} needed")]
    WornOut {
        /// Segments that the engine counts as good.
        good: u32,
        /// Segments without which it takes no writes.
        needed: u32,
    },
    /// The chip failed.
    #[error("the chip failed: {0:?}")]
    Chip(ErrorKind),
    /// The chip is not blank, and nothing on it is the engine's.
    #[error("the chip is foreign")]
    Foreign,
    /// Anything else.
    #[error("{0}")]
    Else(String),
}

/// A device under torture: everything that the torture knows of an engine.
pub trait Device {
    /// Bytes in a page.
    fn page_bytes(&self) -> u32;

    /// Segments that the engine uses, good or bad, and those that it needs.
    fn segments(&self) -> (u32, u32);

    /// Reads sectors.
    ///
    /// # Errors
    /// If a page is gone.
    fn read(&mut self, sector: u32, data: &mut [u8]) -> Result<(), Refusal>;

    /// Writes sectors.
    ///
    /// # Errors
    /// As the engine says.
    fn write(&mut self, sector: u32, data: &[u8], stream: u16, read_only: bool) -> Result<(), Refusal>;

    /// Discards sectors.
    ///
    /// # Errors
    /// As the engine says.
    fn discard(&mut self, sector: u32, count: u32) -> Result<(), Refusal>;

    /// Flushes.
    ///
    /// # Errors
    /// As the engine says.
    fn flush(&mut self) -> Result<(), Refusal>;

    /// Cleans in the background.
    ///
    /// # Errors
    /// As the engine says.
    fn clean(&mut self, pages: u32) -> Result<(), Refusal>;

    /// Shuts down.
    ///
    /// # Errors
    /// As the engine says.
    fn shutdown(&mut self) -> Result<(), Refusal>;

    /// Changes the policies, if the engine has policies and they fit.
    fn set_policies(&mut self, policies: PolicyNames);
}

/// A mounted device.
pub struct Mounted {
    /// The device.
    pub device: Box<dyn Device>,
    /// True if it takes no writes.
    pub read_only: bool,
}

/// Does something with a chip, for a device of that setup.
pub type OnChip<T> = fn(&Setup, &Chip) -> Result<T, Refusal>;

/// What formats and mounts devices.
#[derive(Debug, Clone, Copy)]
pub struct Opener {
    /// Makes an empty device.
    pub format: OnChip<Box<dyn Device>>,
    /// Mounts a device that was formatted.
    pub mount: OnChip<Mounted>,
}

/// The engines themselves.
pub const ENGINES: Opener = Opener { format, mount };

/// A chip, which the torture keeps while engines are made and dropped.
#[derive(Debug, Clone)]
pub enum Chip {
    /// NAND.
    Nand(Rc<RefCell<NandChip>>),
    /// NOR.
    Nor(Rc<RefCell<NorChip>>),
}

impl Chip {
    /// An erased chip.
    pub fn new(setup: &Setup) -> Self {
        match setup.shape {
            Shape::Nand(geometry) => {
                Self::Nand(Rc::new(RefCell::new(NandChip::new(geometry, setup.temper, setup.driver))))
            }
            Shape::Nor(geometry) => Self::Nor(Rc::new(RefCell::new(NorChip::new(geometry)))),
        }
    }

    /// The common interface of chips.
    pub fn medium(&self) -> Rc<RefCell<dyn Medium>> {
        match self {
            Self::Nand(chip) => chip.clone(),
            Self::Nor(chip) => chip.clone(),
        }
    }
}

/// Makes an empty device.
///
/// # Errors
/// As the engine says.
pub fn format(setup: &Setup, chip: &Chip) -> Result<Box<dyn Device>, Refusal> {
    open(setup, chip, &Way::Format).map(|mounted| mounted.device).map_err(refusal_of_mount)
}

/// Mounts a device that was formatted.
///
/// # Errors
/// As the engine says.
pub fn mount(setup: &Setup, chip: &Chip) -> Result<Mounted, Refusal> {
    open(setup, chip, &Way::Mount).map_err(refusal_of_mount)
}

/// The most logical pages that fit the setup's chip. `None` if the engine does not fit at all.
pub fn most_logical_pages(setup: &Setup) -> Option<u32> {
    match open(setup, &Chip::new(setup), &Way::Format) {
        Err(MountError::Config(ConfigError::TooLarge { physical_pages, reserve_pages, .. })) => {
            u32::try_from(physical_pages.saturating_sub(reserve_pages)).ok()
        }
        Err(MountError::Config(ConfigError::TooManyLogicalPages { max_logical_pages, .. })) => {
            // This refusal comes before the one that counts the reserve. The second call gets that one.
            most_logical_pages(&Setup { logical_pages: max_logical_pages, ..*setup })
        }
        _ => None,
    }
}

enum Way {
    Format,
    Mount,
}

fn open(setup: &Setup, chip: &Chip, way: &Way) -> Result<Mounted, MountError> {
    // A layout that does not fit the chip counts as a setup that does not fit.
    let misfit = || MountError::Config(ConfigError::NoPages);
    match (setup.engine, chip) {
        (Engine::Page { blocks_per_segment, policies, aware, checkpoint }, Chip::Nand(nand)) => {
            let log = NandLog::new(NandDriver(nand.clone()), blocks_per_segment).map_err(|_| misfit())?;
            let log = if checkpoint { log.with_checkpoint() } else { log };
            open_page(setup, log, policies, aware, way)
        }
        (Engine::Paged { blocks_per_segment, cache_entries, policies }, Chip::Nand(nand)) => {
            let log = MapLog::with_map(NandDriver(nand.clone()), blocks_per_segment).map_err(|_| misfit())?;
            let config = PagedConfig::new(setup.logical_pages, cache_entries);
            match policies {
                "greedy,separate-gc" => open_paged(log, config.which(Greedy), way),
                "greedy,by-handle" => open_paged(log, config.which(Greedy).place(ByHandle), way),
                "cost-benefit,by-handle" => open_paged(log, config.place(ByHandle), way),
                "lfs,separate-gc" => open_paged(log, config.which(Lfs), way),
                "cat,by-handle" => open_paged(log, config.which(Cat).place(ByHandle), way),
                "cost-benefit,separate-gc" => open_paged(log, config, way),
                other => unreachable!("{other}: no policies of the list"),
            }
        }
        (Engine::NorPage { slots, page_bytes, policies }, Chip::Nor(nor)) => {
            let log = NorLog::new(NorDriver(nor.clone()), slots, page_bytes).map_err(|_| misfit())?;
            open_page(setup, log, policies, false, way)
        }
        (Engine::Block { blocks_per_segment, .. }, Chip::Nand(nand)) => {
            let pages = TaggedPages::new(NandDriver(nand.clone()), blocks_per_segment).map_err(|_| misfit())?;
            let config = block_config(setup);
            let (ftl, read_only) = match way {
                Way::Format => (BlockFtl::format(pages, (), config)?, false),
                Way::Mount => BlockFtl::mount(pages, (), config).map(|(ftl, report)| (ftl, report.read_only))?,
            };
            let segments = segments_of(ftl.limits());
            Ok(Mounted { device: Box::new(Driven { ftl, segments, switch: |_, _| () }), read_only })
        }
        _ => unreachable!("engines lie on the chips that they were drawn for"),
    }
}

fn open_paged<V: VictimWorth + 'static, W: StreamPlacement + 'static>(
    log: MapLog<NandDriver>,
    config: PagedConfig<V, W>,
    way: &Way,
) -> Result<Mounted, MountError> {
    let (ftl, read_only) = match way {
        Way::Format => (PagedFtl::format(log, config)?, false),
        Way::Mount => PagedFtl::mount(log, config).map(|(ftl, report)| (ftl, report.read_only))?,
    };
    let segments = segments_of(ftl.limits());
    Ok(Mounted { device: Box::new(Driven { ftl, segments, switch: |_, _| () }), read_only })
}

fn open_page<L: Log + 'static>(
    setup: &Setup,
    log: L,
    policies: PolicyNames,
    aware: bool,
    way: &Way,
) -> Result<Mounted, MountError> {
    let Setup { logical_pages, seed, endurance, .. } = *setup;
    let config = PageConfig { logical_pages, policies: parse(policies), seed, endurance };
    let (ftl, read_only) = match way {
        Way::Format => (PageFtl::format(log, (), config)?, false),
        Way::Mount => PageFtl::mount(log, (), config).map(|(ftl, report)| (ftl, report.read_only))?,
    };
    // Policies that do not fit are refused and change nothing.
    fn ignore(_: Result<(), ConfigError>) {}
    let segments = segments_of(ftl.limits());
    let device: Box<dyn Device> = if aware {
        // Without a hold each flush ends an epoch: no time passes here.
        let ftl = Aware::new(ftl, wearwell_aware::Config { hold_us: 0, ..wearwell_aware::Config::DEFAULT });
        Box::new(Driven { ftl, segments, switch: |aware, to| ignore(aware.inner_mut().set_policies(to)) })
    } else {
        Box::new(Driven { ftl, segments, switch: |ftl, to| ignore(ftl.set_policies(to)) })
    };
    Ok(Mounted { device, read_only })
}

fn block_config(setup: &Setup) -> BlockConfig {
    let Engine::Block { scheme, recycle, log_blocks, wear, reclaim, .. } = setup.engine else {
        unreachable!("asked for block mapping only")
    };
    let scheme = match scheme {
        "log-block" => Scheme::LogBlock(Recycling::parse(recycle).expect("a policy of the list")),
        "primary-replacement" => Scheme::PrimaryReplacement,
        "fast" => Scheme::Fast,
        _ => Scheme::FastByStream,
    };
    BlockConfig {
        logical_pages: setup.logical_pages,
        scheme,
        log_blocks,
        wear: WearLeveling::parse(wear).expect("a policy of the list"),
        reclaim: Reclamation::parse(reclaim).expect("a policy of the list"),
        costs: Costs::LEE_TABLE_1,
        endurance: setup.endurance,
    }
}

fn parse(names: PolicyNames) -> Policies {
    Policies {
        when: CleaningTrigger::parse(names.when).expect("a policy of the list"),
        which: VictimPolicy::parse(names.which).expect("a policy of the list"),
        place: Placement::parse(names.place).expect("a policy of the list"),
        wear: WearLeveling::parse(names.wear).expect("a policy of the list"),
        reclaim: Reclamation::parse(names.reclaim).expect("a policy of the list"),
    }
}

fn refusal_of_mount(error: MountError) -> Refusal {
    match error {
        MountError::Ftl(error) => refusal(error),
        MountError::Chip(kind) => Refusal::Chip(kind),
        MountError::Foreign => Refusal::Foreign,
        other => Refusal::Else(other.to_string()),
    }
}

fn refusal(error: FtlError) -> Refusal {
    match error {
        FtlError::Unreadable { lpn } => Refusal::Unreadable { page: lpn.0 },
        FtlError::WornOut { good_segments, needed_segments } => {
            Refusal::WornOut { good: good_segments, needed: needed_segments }
        }
        FtlError::Chip(kind) => Refusal::Chip(kind),
        other => Refusal::Else(other.to_string()),
    }
}

fn segments_of(limits: Limits) -> (u32, u32) {
    (limits.segments, limits.needed_segments)
}

/// Any engine that keeps the contract.
struct Driven<F> {
    ftl: F,
    /// Those that it uses, and those that it needs.
    segments: (u32, u32),
    switch: fn(&mut F, Policies),
}

impl<F: BlockDevice> Device for Driven<F> {
    fn page_bytes(&self) -> u32 {
        self.ftl.page_bytes()
    }

    fn segments(&self) -> (u32, u32) {
        self.segments
    }

    fn read(&mut self, sector: u32, data: &mut [u8]) -> Result<(), Refusal> {
        self.ftl.read(sectors(sector, data.len()), data).map_err(refusal)
    }

    fn write(&mut self, sector: u32, data: &[u8], stream: u16, read_only: bool) -> Result<(), Refusal> {
        let mut hint = if read_only { WriteHint::read_only() } else { WriteHint::NONE };
        hint.stream = stream;
        self.ftl.write(sectors(sector, data.len()), data, hint).map_err(refusal)
    }

    fn discard(&mut self, sector: u32, count: u32) -> Result<(), Refusal> {
        self.ftl.discard(Sectors { start: sector.into(), count: count.into() }).map_err(refusal)
    }

    fn flush(&mut self) -> Result<(), Refusal> {
        self.ftl.flush().map_err(refusal)
    }

    fn clean(&mut self, pages: u32) -> Result<(), Refusal> {
        self.ftl.clean(pages).map(|_| ()).map_err(refusal)
    }

    fn shutdown(&mut self) -> Result<(), Refusal> {
        self.ftl.shutdown().map_err(refusal)
    }

    fn set_policies(&mut self, policies: PolicyNames) {
        (self.switch)(&mut self.ftl, parse(policies));
    }
}

fn sectors(first: u32, bytes: usize) -> Sectors {
    Sectors { start: first.into(), count: (bytes / crate::content::SECTOR_BYTES) as u64 }
}
