//! Engines over chips that keep bytes. Each is compiled here, once, for simulated runs and for disks: what such a chip
//! does for a page takes longer than a call through a table.

use wearwell::Probe;
use wearwell::page::MountReport;
use wearwell_emu::{AnyStore, EmuNand, EmuNor};
use wearwell_flash::Nand;

use super::assemble::{Begin, Tenant};
use super::boxed::AnyOver;
use super::chip::OnChip;
use super::error::EngineError;
use super::spec::EnginePlan;
use super::view::AnyEngine;

/// An engine over a chip of type `C`, and the report of its mount, if it was mounted.
pub type Begun<C> = (AnyOver<C>, Option<MountReport>);

/// What is told of erases, victims and moves.
pub type AnyProbe = Box<dyn Probe + Send>;

/// Takes the engine in a box.
struct Boxing;

impl<C> Tenant<C> for Boxing {
    type Out = Begun<C>;

    fn enter<F: AnyEngine + OnChip<Chip = C>>(self, ftl: F, found: Option<MountReport>) -> Begun<C> {
        (Box::new(ftl), found)
    }
}

impl EnginePlan {
    /// Puts the engine on an emulated NAND chip.
    ///
    /// # Errors
    /// If it does not fit the chip, or the chip fails.
    pub fn on_nand(
        &self,
        chip: EmuNand<AnyStore>,
        begin: Begin,
        probe: AnyProbe,
    ) -> Result<Begun<EmuNand<AnyStore>>, EngineError> {
        self.over_nand(chip, begin, probe, Boxing)
    }

    /// Puts the engine on an emulated NOR chip, in the layout made for it.
    ///
    /// # Errors
    /// As [`on_nand`](Self::on_nand).
    pub fn on_nor(
        &self,
        mut chip: EmuNor<AnyStore>,
        begin: Begin,
        probe: AnyProbe,
    ) -> Result<Begun<EmuNor<AnyStore>>, EngineError> {
        if self.spec.chip.times.is_none() {
            // An erase ends at the next call, as on a chip that only counts.
            chip.set_erase_calls(1);
        }
        self.over_nor(chip, begin, probe, Boxing)
    }

    /// Puts page mapping in a layout of NAND's on a chip, whatever engine and layout were named: for chips on which no
    /// other engine is ever put, so that none is compiled for them.
    ///
    /// # Errors
    /// As [`on_nand`](Self::on_nand).
    pub fn on_other_nand<C>(&self, chip: C, begin: Begin, probe: AnyProbe) -> Result<Begun<C>, EngineError>
    where
        C: Nand + OnChip<Chip = C> + Send + 'static,
    {
        self.pages_over_nand(chip, begin, probe, Boxing)
    }
}
