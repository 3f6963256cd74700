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

    /// A disk with at least so many bytes for the host, on a chip that suits it: for one in memory, of which nobody
    /// cares what chip it is. The chip has pages of 4 KiB in blocks of 64, an eighth more than the host gets, and
    /// takes no time.
    ///
    /// # Errors
    /// If no chip is so large.
    pub fn of_size(bytes: u64) -> Result<Self, DiskError> {
        const PAGE_BYTES: u64 = 4096;
        const BLOCK_BYTES: u64 = 64 * PAGE_BYTES;
        let logical_bytes = bytes.div_ceil(PAGE_BYTES).saturating_mul(PAGE_BYTES);
        // What headers and summaries take is less than a sixteenth; eight blocks are more than the reserve.
        let blocks = (logical_bytes / 14).saturating_mul(16).div_ceil(BLOCK_BYTES) + 8;
        let chip = ChipProfile::from_geometry_str(&format!("geometry:{PAGE_BYTES}:64:{blocks}"))
            .map_err(|error| DiskError::Setup(error.into()))?;
        let engine = EngineSpec { logical_bytes: Some(logical_bytes), ..EngineSpec::new(chip) };
        Ok(Self { engine, fdp: None, faults: Faults::default() })
    }

    /// Every choice made.
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
