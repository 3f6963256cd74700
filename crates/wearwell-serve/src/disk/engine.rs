//! Any engine on a chip, behind one type.

use wearwell::page::MountReport;
use wearwell_emu::{AnyStore, EmuChip, Timeline};
use wearwell_sim::engine::{AnyEngine, OnChip};

/// A chip below a disk.
pub(super) trait DiskChip {
    /// Its simulated time, in which a real chip takes none.
    fn time(&mut self) -> &mut Timeline;

    /// What only an emulated chip has: its image, its faults, its power.
    fn emulated(&mut self) -> Option<&mut dyn EmuChip<Store = AnyStore>>;
}

impl<C: EmuChip<Store = AnyStore>> DiskChip for C {
    fn time(&mut self) -> &mut Timeline {
        self.time_mut()
    }

    fn emulated(&mut self) -> Option<&mut dyn EmuChip<Store = AnyStore>> {
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
