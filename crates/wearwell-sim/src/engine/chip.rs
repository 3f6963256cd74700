//! Access to the chip through an engine.

use wearwell::logblock::{BlockFtl, Pages, TaggedPages};
use wearwell::page::PageFtl;
use wearwell::page::log::{Counted, Log, NandLog, NorLog, Payload, Stored};
use wearwell::{BlockDevice, Probe};
use wearwell_aware::Aware;
use wearwell_emu::{CountChip, EmuChip, EmuNand, EmuNor, Store, Timeline};
use wearwell_flash::{Nand, Nor};

use crate::inplace::InPlaceFtl;
use crate::plain::{PlainLog, PlainPages};

/// Something with an emulated chip at the bottom.
pub trait OnChip {
    /// The chip.
    type Chip: OnChip<Chip = Self::Chip>;

    /// Whether it keeps bytes.
    type Payload: Payload + Send + 'static;

    /// The chip at the bottom.
    fn bottom_chip(&mut self) -> &mut Self::Chip;

    /// The chip's simulated time.
    fn timeline(&mut self) -> &mut Timeline {
        self.bottom_chip().timeline()
    }
}

impl OnChip for CountChip {
    type Chip = Self;
    type Payload = Counted;

    fn bottom_chip(&mut self) -> &mut Self {
        self
    }

    fn timeline(&mut self) -> &mut Timeline {
        self.time_mut()
    }
}

impl<S: Store> OnChip for EmuNand<S> {
    type Chip = Self;
    type Payload = Stored;

    fn bottom_chip(&mut self) -> &mut Self {
        self
    }

    fn timeline(&mut self) -> &mut Timeline {
        self.time_mut()
    }
}

impl<S: Store> OnChip for EmuNor<S> {
    type Chip = Self;
    type Payload = Stored;

    fn bottom_chip(&mut self) -> &mut Self {
        self
    }

    fn timeline(&mut self) -> &mut Timeline {
        self.time_mut()
    }
}

/// Implements [`OnChip`] for a layer on a chip of type `N`, by going one layer down.
macro_rules! over_chip {
    ($($type:ident<$chip:ident: $kind:ident>;)*) => { $(
        impl<$chip: $kind + OnChip, B: Payload> OnChip for $type<$chip, B> {
            type Chip = $chip::Chip;
            type Payload = $chip::Payload;

            fn bottom_chip(&mut self) -> &mut Self::Chip {
                self.chip_mut().bottom_chip()
            }
        }
    )* };
}

over_chip! {
    PlainLog<N: Nand>;
    NandLog<N: Nand>;
    NorLog<N: Nor>;
    InPlaceFtl<N: Nand>;
    PlainPages<N: Nand>;
    TaggedPages<N: Nand>;
}

impl<L: Log + OnChip, P: Probe> OnChip for PageFtl<L, P> {
    type Chip = L::Chip;
    type Payload = L::Payload;

    fn bottom_chip(&mut self) -> &mut Self::Chip {
        self.log_mut().bottom_chip()
    }
}

impl<M: Pages + OnChip, P: Probe> OnChip for BlockFtl<M, P> {
    type Chip = M::Chip;
    type Payload = M::Payload;

    fn bottom_chip(&mut self) -> &mut Self::Chip {
        self.pages_mut().bottom_chip()
    }
}

impl<F: BlockDevice + OnChip> OnChip for Aware<F> {
    type Chip = F::Chip;
    type Payload = F::Payload;

    fn bottom_chip(&mut self) -> &mut Self::Chip {
        self.inner_mut().bottom_chip()
    }
}
