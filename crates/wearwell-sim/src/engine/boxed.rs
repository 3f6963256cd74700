//! Engines of every type over one type of chip, as one type. Code behind it is compiled once for all of them, and calls
//! through a table.

use wearwell::Lpn;
use wearwell::page::Policies;

use super::chip::OnChip;
use super::own::OwnPolicies;
use super::view::{AnyEngine, Inferred, PolicyError, SegmentRow};

/// An engine over a chip of type `C`.
pub trait EngineOver<C>: AnyEngine {
    /// The chip at the bottom.
    fn chip_below(&mut self) -> &mut C;
}

impl<F: AnyEngine + OnChip> EngineOver<F::Chip> for F {
    fn chip_below(&mut self) -> &mut F::Chip {
        self.bottom_chip()
    }
}

/// Any engine over a chip of type `C`.
pub type AnyOver<C> = Box<dyn EngineOver<C>>;

impl<C: OnChip<Chip = C> + 'static> OnChip for AnyOver<C> {
    type Chip = C;
    type Payload = C::Payload;

    fn bottom_chip(&mut self) -> &mut C {
        (**self).chip_below()
    }
}

impl<F: AnyEngine + ?Sized> AnyEngine for Box<F> {
    fn segment_rows(&self) -> Vec<SegmentRow> {
        (**self).segment_rows()
    }

    fn streams_of(&self, class: u8) -> Vec<u16> {
        (**self).streams_of(class)
    }

    fn room_of(&self, class: u8) -> Option<u32> {
        (**self).room_of(class)
    }

    fn end_segment_of(&mut self, class: u8) {
        (**self).end_segment_of(class);
    }

    fn policies(&self) -> Option<Policies> {
        (**self).policies()
    }

    fn set_policies(&mut self, policies: Policies) -> Result<(), PolicyError> {
        (**self).set_policies(policies)
    }

    fn set_own_policies(&mut self, own: OwnPolicies) -> Result<(), PolicyError> {
        (**self).set_own_policies(own)
    }

    fn inferred(&self) -> Option<Inferred> {
        (**self).inferred()
    }

    fn expect_writes(&mut self, pages: &[Lpn]) {
        (**self).expect_writes(pages);
    }
}
