//! Any engine on a chip, behind one type.

use super::events::Events;
use wearwell::page::MountReport;
use wearwell_emu::{EmuChip, ImageStore, Timeline};
use wearwell_sim::engine::{AnyEngine, OnChip, Tenant};

/// A chip below a disk.
pub(super) trait DiskChip {
    /// Its simulated time, in which a real chip takes none.
    fn time(&mut self) -> &mut Timeline;

    /// What only an emulated chip has: its image, its faults, its power.
    fn emulated(&mut self) -> Option<&mut dyn EmuChip<Store = ImageStore>>;
}

impl<C: EmuChip<Store = ImageStore>> DiskChip for C {
    fn time(&mut self) -> &mut Timeline {
        self.time_mut()
    }

    fn emulated(&mut self) -> Option<&mut dyn EmuChip<Store = ImageStore>> {
        Some(self)
    }
}

/// An engine and its chip.
pub(super) trait DiskEngine: AnyEngine {
    /// The chip.
    fn chip(&mut self) -> &mut dyn DiskChip;
}

impl<F> DiskEngine for F
where
    F: AnyEngine + OnChip,
    F::Chip: DiskChip + 'static,
{
    fn chip(&mut self) -> &mut dyn DiskChip {
        self.bottom_chip()
    }
}

/// An engine on a chip, and the report of its mount.
pub(super) type Begun = (Box<dyn DiskEngine>, Option<MountReport>);

/// Boxes engines, and listens to them.
pub(super) struct Boxing(pub(super) Events);

impl<C: DiskChip + 'static> Tenant<C> for Boxing {
    type Out = Begun;
    type Probe = Events;

    fn probe(&self) -> Events {
        self.0.clone()
    }

    fn enter<F: AnyEngine + OnChip<Chip = C>>(self, ftl: F, found: Option<MountReport>) -> Begun {
        (Box::new(ftl), found)
    }
}
