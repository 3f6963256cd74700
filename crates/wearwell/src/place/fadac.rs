//! FADaC, a fading average data classifier (Kremer and Brinkmann '19), in the variant of SepBIT's simulator (Wang '22).
//!
//! Each page has a count. A host write raises it by one, and a copy lowers it by one, but not below 0. The class of a
//! page is the number of times that the average has to be multiplied by ten to reach the count: 0 up to the average, 1
//! up to ten times the average, and so on.
//!
//! In that simulator the average fades from request to request, towards the number of pages of a request. Here every
//! page is a request of its own, and so the average is 1. Without requests of several pages, both are the same.
//!
//! The counts are lost at a mount and when the policy is changed.

use alloc::vec;
use alloc::vec::Vec;

use super::{ClassCount, ClassPlacement, Copied, HostWrite, Shape};
use crate::addr::Class;

/// 4 bytes a page.
#[derive(Debug, Clone)]
pub struct Fadac {
    counts: Vec<u32>,
    hottest: u8,
}

impl Fadac {
    pub fn new(shape: Shape, classes: ClassCount) -> Self {
        Self { counts: vec![0; shape.logical_pages as usize], hottest: classes.get() - 1 }
    }

    pub fn classes(classes: ClassCount) -> u32 {
        u32::from(classes.get())
    }

    fn class(&self, count: u32) -> Class {
        let (mut class, mut exceeded) = (0, 1_u32);
        // No count is greater than a bound that has saturated, so this ends.
        while count > exceeded && class < self.hottest {
            class += 1;
            exceeded = exceeded.saturating_mul(10);
        }
        Class(class)
    }
}

impl ClassPlacement for Fadac {
    #[inline]
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        let count = &mut self.counts[write.lpn.0 as usize];
        *count = count.saturating_add(1);
        let count = *count;
        self.class(count)
    }

    #[inline]
    fn copied(&mut self, copy: Copied) -> Class {
        let count = &mut self.counts[copy.lpn.0 as usize];
        *count = count.saturating_sub(1);
        let count = *count;
        self.class(count)
    }

    fn table_bytes(&self) -> u64 {
        4 * self.counts.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::{Lpn, Seg};
    use crate::ftl::WriteHint;

    #[test]
    fn classes_are_powers_of_ten_of_writes_less_copies() {
        let shape = Shape { logical_pages: 2, segments: 1, slots: 2 };
        let mut place = Fadac::new(shape, ClassCount::new(4).expect("a count"));
        let mut write = || place.host(HostWrite { lpn: Lpn(1), hint: WriteHint::NONE, clock: 0, old: None }).0;
        let classes: Vec<u8> = (0..1001).map(|_| write()).collect();
        assert_eq!([1, 2, 10, 11, 100, 101, 1001].map(|count| classes[count - 1]), [0, 1, 1, 2, 2, 3, 3]);
        let (victim_utilization, device_utilization) = (0.5, 0.5);
        let copy =
            Copied { lpn: Lpn(1), clock: 0, victim: Seg(0), from: Class(3), victim_utilization, device_utilization };
        let classes: Vec<u8> = (0..1002).map(|_| place.copied(copy).0).collect();
        assert_eq!([900, 901, 990, 991, 1000, 1002].map(|copies| classes[copies - 1]), [3, 2, 2, 1, 0, 0]);
    }
}
