//! DAC, dynamic data clustering (Chiang, Lee and Chang '99), in the variant of SepBIT's simulator (Wang '22).
//!
//! Regions are numbered by how often their pages are updated. A page begins in region 0. Each update by the host moves
//! it one region up, and each copy moves it one down. Host writes and copies of a region share an open segment.
//!
//! The region of a page is the class of its segment. So no memory is needed, nothing is lost at a mount, and pages that
//! another policy placed are sorted over time. Pages that wear leveling moved count as region 0, because they were the
//! coldest.

use super::{ClassCount, ClassPlacement, Copied, HostWrite, Shape};
use crate::addr::Class;

/// The greatest region. 0 bytes a page.
#[derive(Debug, Clone)]
pub struct Dac {
    hottest: u8,
}

impl Dac {
    pub fn new(_shape: Shape, regions: ClassCount) -> Self {
        Self { hottest: regions.get() - 1 }
    }

    pub fn classes(regions: ClassCount) -> u32 {
        u32::from(regions.get())
    }
}

/// The region of the pages in segments of a class.
fn region_of(class: Class) -> u8 {
    if class == Class::WEAR { 0 } else { class.0 }
}

impl ClassPlacement for Dac {
    #[inline]
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        Class(write.old.map_or(0, |old| (region_of(old.class()) + 1).min(self.hottest)))
    }

    #[inline]
    fn copied(&mut self, copy: Copied) -> Class {
        // Another policy may have left greater classes than there are regions.
        Class(region_of(copy.from).saturating_sub(1).min(self.hottest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::{Lpn, Ppn, Seg, Slots};
    use crate::ftl::WriteHint;
    use crate::place::OldCopy;
    use crate::segments::Segments;

    const SHAPE: Shape = Shape { logical_pages: 0, segments: 16, slots: 2 };

    /// Classes of an update and of a copy of a page in a segment of `class`.
    fn moves(regions: u32, class: u8) -> (u8, u8) {
        let mut place = Dac::new(SHAPE, ClassCount::new(regions).expect("a number of regions"));
        let slots = Slots::new(SHAPE.slots);
        let mut segments = Segments::new(SHAPE.segments, SHAPE.slots);
        segments.open(Seg(3), Class(class), 0);
        let old = OldCopy::new(Ppn(3 * SHAPE.slots), &slots, &segments);
        let update = place.host(HostWrite { lpn: Lpn(0), hint: WriteHint::NONE, clock: 0, old });
        let copy = Copied::out_of(Class(class));
        (update.0, place.copied(copy).0)
    }

    #[test]
    fn an_update_goes_up_and_a_copy_goes_down() {
        assert_eq!([0, 1, 4, 5].map(|class| moves(6, class)), [(1, 0), (2, 0), (5, 3), (5, 4)]);
        assert_eq!(moves(1, 0), (0, 0));
        let write = HostWrite { lpn: Lpn(0), hint: WriteHint::NONE, clock: 0, old: None };
        assert_eq!(Dac { hottest: 5 }.host(write), Class(0));
    }

    #[test]
    fn what_other_policies_wrote_is_of_some_region() {
        assert_eq!(moves(4, 14), (3, 3));
        assert_eq!(moves(6, Class::WEAR.0), (1, 0));
    }
}
