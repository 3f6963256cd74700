//! Any engine on an emulated chip, behind one type.

use super::events::Events;
use wearwell::page::MountReport;
use wearwell_emu::{EmuChip, ImageStore};
use wearwell_sim::engine::{AnyEngine, OnChip, Tenant};

/// An engine and its chip.
pub(super) trait DiskEngine: AnyEngine {
    /// The chip.
    fn chip(&mut self) -> &mut dyn EmuChip<Store = ImageStore>;
}

impl<F> DiskEngine for F
where
    F: AnyEngine + OnChip,
    F::Chip: EmuChip<Store = ImageStore> + 'static,
{
    fn chip(&mut self) -> &mut dyn EmuChip<Store = ImageStore> {
        self.bottom_chip()
    }
}

/// An engine on a chip, and the report of its mount.
pub(super) type Begun = (Box<dyn DiskEngine>, Option<MountReport>);

/// Boxes engines, and listens to them.
pub(super) struct Boxing(pub(super) Events);

impl<C: EmuChip<Store = ImageStore> + 'static> Tenant<C> for Boxing {
    type Out = Begun;
    type Probe = Events;

    fn probe(&self) -> Events {
        self.0.clone()
    }

    fn enter<F: AnyEngine + OnChip<Chip = C>>(self, ftl: F, found: Option<MountReport>) -> Begun {
        (Box::new(ftl), found)
    }
}
