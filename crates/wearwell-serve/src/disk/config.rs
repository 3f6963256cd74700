//! The configuration of a disk.

use wearwell_emu::{ChipProfile, Faults};
use wearwell_sim::engine::{DataMode, Engine, EnginePlan, EngineSpec, Layout};

use super::error::DiskError;
use crate::fdp::FdpSpec;

/// The configuration of a new disk.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskConfig {
    /// The chip, and the engine on it, as `wearwell run` takes them.
    pub engine: EngineSpec,
    /// Reclaim unit handles, if any. They need the placement policy of their isolation.
    pub fdp: Option<FdpSpec>,
    /// The faults of the chip. Factory-bad blocks and endurances stay with the chip; the rest lasts as long as the
    /// process.
    pub faults: Faults,
}

impl DiskConfig {
    /// A disk with the defaults for everything but the chip.
    pub fn new(chip: ChipProfile) -> Self {
        Self { engine: EngineSpec::new(chip), fdp: None, faults: Faults::default() }
    }

    /// A disk in memory with at least so many bytes for the host, and the defaults for everything else.
    ///
    /// # Errors
    /// As [`sized`](Self::sized).
    pub fn of_size(bytes: u64) -> Result<Self, DiskError> {
        let engine = Self::sized(EngineSpec::new(Self::memory_chip()?), bytes)?;
        Ok(Self { engine, fdp: None, faults: Faults::default() })
    }

    /// The chip of a disk in memory, of which nobody cares what chip it is. It has pages of 4 KiB in blocks of 64, and
    /// takes no time.
    ///
    /// # Errors
    /// None that can be met: the chip is always the same.
    pub fn memory_chip() -> Result<ChipProfile, DiskError> {
        ChipProfile::from_geometry_str("geometry:4096:64:16").map_err(|error| DiskError::Setup(error.into()))
    }

    /// An engine with at least so many bytes for the host, on a chip like its own. That chip has as many blocks as
    /// those bytes need with an eighth of all to spare, and beside these the engine's reserve.
    ///
    /// # Errors
    /// `Empty`; `TooLarge` if no chip has so many.
    pub fn sized(engine: EngineSpec, bytes: u64) -> Result<EngineSpec, DiskError> {
        if bytes == 0 {
            return Err(DiskError::Empty);
        }
        let too_large = || DiskError::TooLarge { bytes };
        let chip = &engine.chip;
        let page_bytes = u64::from(chip.page_bytes);
        let logical_bytes = bytes.div_ceil(page_bytes).checked_mul(page_bytes).ok_or_else(too_large)?;
        // Eight segments are more than any engine's reserve, apart from the log blocks that it may be given.
        let log_blocks = if engine.ftl.has_log_blocks() { engine.log_blocks } else { 0 };
        let reserve_blocks = (8 + u64::from(log_blocks)) * u64::from(chip.stripe);
        // Headers and summaries take less than a sixteenth.
        let blocks = (logical_bytes / 14).saturating_mul(16).div_ceil(u64::from(chip.block_bytes)) + reserve_blocks;
        // Each bank of a chip has as many blocks as the others.
        let blocks = blocks.next_multiple_of(u64::from(chip.banks)).try_into().map_err(|_| too_large())?;
        // As large a part of the blocks as on the chip that it is like.
        let bad = u64::from(chip.max_bad_blocks) * u64::from(blocks) / u64::from(chip.blocks.max(1));
        let name = format!("{} with {blocks} blocks", chip.name);
        let chip = ChipProfile { name, blocks, max_bad_blocks: bad as u32, logical_bytes, ..engine.chip };
        chip.validate().map_err(|_| too_large())?;
        Ok(EngineSpec { chip, logical_bytes: Some(logical_bytes), ..engine })
    }

    /// The complete plan.
    ///
    /// # Errors
    /// As [`EngineSpec::plan`]. Also if the layout keeps no records, so that the disk could not be mounted again.
    pub(super) fn plan(&self) -> Result<EnginePlan, DiskError> {
        let plan = self.engine.plan(DataMode::Stored)?;
        if self.fdp.is_some_and(|fdp| plan.spec.ftl != Engine::Page || plan.spec.place != fdp.place()) {
            return Err(DiskError::NoHandles);
        }
        if plan.layout == Layout::Plain {
            return Err(DiskError::NoRecords { ftl: plan.spec.ftl });
        }
        Ok(plan)
    }
}
