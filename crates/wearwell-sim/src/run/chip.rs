//! Reaching the chip's clock through an engine.

use wearwell::logblock::{BlockFtl, Pages, PlainPages, TaggedPages};
use wearwell::page::PageFtl;
use wearwell::page::log::{Log, NandLog, NorLog, PlainLog};
use wearwell::{Ftl, InPlaceFtl, Probe};
use wearwell_aware::Aware;
use wearwell_emu::{CountChip, EmuChip, EmuNand, EmuNor, Store, Timeline};
use wearwell_flash::{Nand, Nor};

/// Something with an emulated chip at the bottom.
pub trait OnChip {
    /// The chip's simulated time.
    fn timeline(&mut self) -> &mut Timeline;
}

impl OnChip for CountChip {
    fn timeline(&mut self) -> &mut Timeline {
        self.time_mut()
    }
}

impl<S: Store> OnChip for EmuNand<S> {
    fn timeline(&mut self) -> &mut Timeline {
        self.time_mut()
    }
}

impl<S: Store> OnChip for EmuNor<S> {
    fn timeline(&mut self) -> &mut Timeline {
        self.time_mut()
    }
}

impl<N: Nand + OnChip> OnChip for PlainLog<N> {
    fn timeline(&mut self) -> &mut Timeline {
        self.chip_mut().timeline()
    }
}

impl<N: Nand + OnChip> OnChip for NandLog<N> {
    fn timeline(&mut self) -> &mut Timeline {
        self.chip_mut().timeline()
    }
}

impl<N: Nor + OnChip> OnChip for NorLog<N> {
    fn timeline(&mut self) -> &mut Timeline {
        self.chip_mut().timeline()
    }
}

impl<N: Nand + OnChip> OnChip for InPlaceFtl<N> {
    fn timeline(&mut self) -> &mut Timeline {
        self.chip_mut().timeline()
    }
}

impl<L: Log + OnChip, P: Probe> OnChip for PageFtl<L, P> {
    fn timeline(&mut self) -> &mut Timeline {
        self.log_mut().timeline()
    }
}

impl<F: Ftl + OnChip> OnChip for Aware<F> {
    fn timeline(&mut self) -> &mut Timeline {
        self.inner_mut().timeline()
    }
}

impl<N: Nand + OnChip> OnChip for PlainPages<N> {
    fn timeline(&mut self) -> &mut Timeline {
        self.chip_mut().timeline()
    }
}

impl<N: Nand + OnChip> OnChip for TaggedPages<N> {
    fn timeline(&mut self) -> &mut Timeline {
        self.chip_mut().timeline()
    }
}

impl<M: Pages + OnChip, P: Probe> OnChip for BlockFtl<M, P> {
    fn timeline(&mut self) -> &mut Timeline {
        self.pages_mut().timeline()
    }
}
