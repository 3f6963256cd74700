//! Putting an engine on a chip.

use wearwell::Probe;
use wearwell::logblock::{BlockConfig, BlockFtl, Costs, Pages, Scheme, TaggedPages};
use wearwell::page::log::{Log, NandLog, NorLog};
use wearwell::page::{ConfigError, MountError, MountReport, PageConfig, PageFtl};
use wearwell_aware::Aware;
use wearwell_emu::ChipProfile;
use wearwell_flash::{Nand, Nor};

use super::boxed::AnyOver;
use super::chip::OnChip;
use super::choices::{Engine, Layout};
use super::error::EngineError;
use super::spec::EnginePlan;
use super::view::AnyEngine;
use crate::inplace::InPlaceFtl;
use crate::plain::{PlainLog, PlainPages};

/// How an engine begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// With an empty device.
    Format,
    /// With what is on the chip.
    Mount,
}

/// The code that uses an engine, whatever the engine's type. So the engine is compiled for every combination of engine,
/// layout and chip, and nothing has to be decided for each page. With inference in front of it, it is in a box.
pub(crate) trait Tenant<C> {
    /// The tenant's result.
    type Out;

    /// Uses the engine. `found` is the report of its mount, if it was mounted.
    fn enter<F: AnyEngine + OnChip<Chip = C>>(self, ftl: F, found: Option<MountReport>) -> Self::Out;
}

/// The cost of recycling on a chip, in microseconds. A chip without times gets the costs of Lee's chip.
fn recycling_costs(chip: &ChipProfile) -> Costs {
    let Some(times) = &chip.times else { return Costs::LEE_TABLE_1 };
    let page_bytes = f64::from(chip.page_bytes + chip.spare_bytes);
    let transfer_us = times.bus_bytes_per_us.map_or(0.0, |rate| page_bytes / rate);
    let read_us = times.read_us + times.read_us_per_byte * page_bytes;
    let program_us = times.program_us + times.program_us_per_byte * page_bytes;
    // Without copy-back a page goes over the bus twice.
    let over_the_bus = if chip.copy_back { 0.0 } else { 2.0 * transfer_us };
    Costs { erase: times.erase_us, copy: read_us + program_us + over_the_bus }
}

/// The flag whose value an engine does not take.
fn flag_of(error: ConfigError) -> &'static str {
    match error {
        ConfigError::NoPages | ConfigError::TooLarge { .. } => "--logical",
        ConfigError::Watermark(_) => "--when",
        ConfigError::TooFewLogBlocks { .. } => "--log-blocks",
        ConfigError::ReclaimShared | ConfigError::TooManyBlocksToReclaim { .. } => "--reclaim",
        _ => "--chip",
    }
}

impl EnginePlan {
    /// Puts the engine on a NAND chip, or on one that only counts.
    ///
    /// # Errors
    /// If it does not fit the chip, or the chip fails.
    pub(crate) fn over_nand<C, P, T>(&self, chip: C, begin: Begin, probe: P, tenant: T) -> Result<T::Out, EngineError>
    where
        C: Nand + OnChip<Chip = C> + Send + 'static,
        P: Probe + Send + 'static,
        T: Tenant<C>,
    {
        self.check_memory()?;
        let (stripe, layout) = (self.spec.chip.stripe, self.layout);
        match (self.spec.ftl, layout) {
            (Engine::Page, Layout::Plain) => {
                self.on_log(PlainLog::<C, C::Payload>::with_payload(chip, stripe), begin, probe, tenant)
            }
            (Engine::Page, Layout::Nand | Layout::NandCheckpoint) => self.pages_over_nand(chip, begin, probe, tenant),
            (Engine::InPlace, Layout::Plain) => self.in_place(chip, begin, tenant),
            (Engine::LogBlock | Engine::PrimaryReplacement | Engine::Fast | Engine::FastByStream, Layout::Plain) => {
                self.on_pages(PlainPages::<C, C::Payload>::with_payload(chip, stripe), begin, probe, tenant)
            }
            (Engine::LogBlock | Engine::PrimaryReplacement | Engine::Fast | Engine::FastByStream, Layout::Nand) => {
                let pages =
                    TaggedPages::<C, C::Payload>::with_payload(chip, stripe).map_err(|error| self.refused(error))?;
                self.on_pages(pages, begin, probe, tenant)
            }
            (Engine::InPlace, Layout::Nand | Layout::NandCheckpoint | Layout::Nor) => Err(EngineError::LayoutInPlace),
            (ftl, Layout::NandCheckpoint | Layout::Nor) => Err(EngineError::LayoutOfBlocks { ftl }),
        }
    }

    /// Puts page mapping in a layout of NAND's on a chip, whatever engine and layout were named: for chips on which no
    /// other engine is ever put, so that none is compiled for them.
    ///
    /// # Errors
    /// As [`over_nand`](Self::over_nand).
    pub(super) fn pages_over_nand<C, P, T>(
        &self,
        chip: C,
        begin: Begin,
        probe: P,
        tenant: T,
    ) -> Result<T::Out, EngineError>
    where
        C: Nand + OnChip<Chip = C> + Send + 'static,
        P: Probe + Send + 'static,
        T: Tenant<C>,
    {
        self.check_memory()?;
        let log = NandLog::<C, C::Payload>::with_payload(chip, self.spec.chip.stripe);
        let log = log.map_err(|error| self.refused(error))?;
        let log = if self.layout == Layout::NandCheckpoint { log.with_checkpoint() } else { log };
        self.on_log(log, begin, probe, tenant)
    }

    /// Puts the engine on a NOR chip, or on one that only counts, in the layout made for it.
    ///
    /// # Errors
    /// As [`over_nand`](Self::over_nand).
    pub(crate) fn over_nor<C, P, T>(&self, chip: C, begin: Begin, probe: P, tenant: T) -> Result<T::Out, EngineError>
    where
        C: Nor + OnChip<Chip = C> + Send + 'static,
        P: Probe + Send + 'static,
        T: Tenant<C>,
    {
        if self.spec.ftl != Engine::Page {
            return Err(EngineError::LayoutOfBlocks { ftl: self.spec.ftl });
        }
        self.check_memory()?;
        let (slots, page_bytes) = (self.spec.chip.pages_per_block, self.spec.chip.page_bytes);
        let log =
            NorLog::<C, C::Payload>::with_payload(chip, slots, page_bytes).map_err(|error| self.refused(error))?;
        self.on_log(log, begin, probe, tenant)
    }

    /// Refuses a chip whose tables do not fit into memory, because the engine itself cannot report that. Page maps take
    /// four bytes a page in each direction, and each block takes a few dozen bytes.
    fn check_memory(&self) -> Result<(), EngineError> {
        let (physical_pages, table_bytes) = (self.spec.chip.pages(), self.table_bytes());
        // A trial: the space is given back at once.
        let has_room = usize::try_from(table_bytes).is_ok_and(|len| Vec::<u8>::new().try_reserve_exact(len).is_ok());
        if has_room { Ok(()) } else { Err(EngineError::Memory { physical_pages, table_bytes }) }
    }

    /// About how many bytes the engine's tables take.
    pub fn table_bytes(&self) -> u64 {
        const BLOCK_BYTES: u64 = 48;
        let chip = &self.spec.chip;
        let page_bytes = if self.spec.ftl == Engine::Page { 4 } else { 0 };
        (chip.pages() + u64::from(self.logical_pages)) * page_bytes + u64::from(chip.blocks) * BLOCK_BYTES
    }

    fn refused(&self, error: impl std::error::Error) -> EngineError {
        EngineError::LayoutRefused { layout: self.layout, reason: error.to_string() }
    }

    /// Page mapping.
    fn on_log<L, P, T>(&self, log: L, begin: Begin, probe: P, tenant: T) -> Result<T::Out, EngineError>
    where
        L: Log + OnChip + Send + 'static,
        P: Probe + Send + 'static,
        T: Tenant<L::Chip>,
    {
        let config = PageConfig {
            logical_pages: self.logical_pages,
            policies: self.policies(),
            seed: self.spec.seed,
            endurance: self.spec.chip.endurance_cycles,
        };
        let begun = match begin {
            Begin::Format => PageFtl::format(log, probe, config).map(|ftl| (ftl, None)),
            Begin::Mount => PageFtl::mount(log, probe, config).map(|(ftl, found)| (ftl, Some(found))),
        };
        let (ftl, found) = begun.map_err(|error| self.not_made(error, begin))?;
        Ok(self.hand_over(ftl, found, tenant))
    }

    /// Block mapping.
    fn on_pages<M, P, T>(&self, pages: M, begin: Begin, probe: P, tenant: T) -> Result<T::Out, EngineError>
    where
        M: Pages + OnChip + Send + 'static,
        P: Probe + Send + 'static,
        T: Tenant<M::Chip>,
    {
        let config = BlockConfig {
            logical_pages: self.logical_pages,
            scheme: match self.spec.ftl {
                Engine::PrimaryReplacement => Scheme::PrimaryReplacement,
                Engine::Fast => Scheme::Fast,
                Engine::FastByStream => Scheme::FastByStream,
                _ => Scheme::LogBlock(self.spec.recycle),
            },
            log_blocks: self.spec.log_blocks,
            reclaim: self.spec.reclaim,
            wear: self.wear,
            costs: recycling_costs(&self.spec.chip),
            endurance: self.spec.chip.endurance_cycles,
        };
        let begun = match begin {
            Begin::Format => BlockFtl::format(pages, probe, config).map(|ftl| (ftl, None)),
            Begin::Mount => BlockFtl::mount(pages, probe, config).map(|(ftl, found)| (ftl, Some(found))),
        };
        let (ftl, found) = begun.map_err(|error| self.not_made(error, begin))?;
        Ok(self.hand_over(ftl, found, tenant))
    }

    fn in_place<C, T>(&self, chip: C, begin: Begin, tenant: T) -> Result<T::Out, EngineError>
    where
        C: Nand + OnChip<Chip = C> + Send + 'static,
        T: Tenant<C>,
    {
        let begun = match begin {
            Begin::Format => InPlaceFtl::<C, C::Payload>::format_with_payload(chip, self.logical_pages),
            // What is valid is not recorded on flash.
            Begin::Mount => Err(MountError::NoRecords),
        };
        Ok(self.hand_over(begun.map_err(|error| self.not_made(error, begin))?, None, tenant))
    }

    /// Hands any engine to the tenant, with inference in front of it if wanted.
    fn hand_over<F, T>(&self, ftl: F, found: Option<MountReport>, tenant: T) -> T::Out
    where
        F: AnyEngine + OnChip,
        T: Tenant<F::Chip>,
    {
        match self.spec.inference() {
            None => tenant.enter(ftl, found),
            // Inference takes longer than a call through a table, so it is compiled for a type of chip only.
            Some(inference) => tenant.enter(Aware::new(Box::new(ftl) as AnyOver<F::Chip>, inference), found),
        }
    }

    fn not_made(&self, error: MountError, begin: Begin) -> EngineError {
        let page_bytes = u64::from(self.spec.chip.page_bytes);
        match error {
            MountError::Config(ConfigError::TooLarge { physical_pages, reserve_pages, .. }) => {
                // In bytes, as `--logical` is given.
                EngineError::LogicalTooLarge {
                    logical_bytes: self.logical_bytes,
                    physical_bytes: physical_pages * page_bytes,
                    reserve_bytes: reserve_pages * page_bytes,
                }
            }
            MountError::Config(error) => EngineError::Config { flag: flag_of(error), error },
            error if begin == Begin::Mount => EngineError::Mount(error),
            error => EngineError::Format(error),
        }
    }
}
