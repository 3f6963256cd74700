//! The addresses of the translation layers. They are newtypes, so that no two kinds can be mixed up.

/// A sector of the host: 512 bytes.
pub const SECTOR_BYTES: u32 = 512;

/// A logical page: what the host addresses, in units of the mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lpn(pub u32);

impl Lpn {
    /// The sectors of this page, on a device with pages of `page_bytes` bytes.
    pub fn sectors(self, page_bytes: u32) -> Sectors {
        let count = u64::from(page_bytes / SECTOR_BYTES);
        Sectors { start: u64::from(self.0) * count, count }
    }
}

/// A physical page: `segment × slots + slot`. [`Ppn::NONE`] means unmapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ppn(pub u32);

impl Ppn {
    /// No page: the logical page is unmapped and reads as zeros.
    pub const NONE: Self = Self(u32::MAX);

    /// True unless this is [`NONE`](Self::NONE).
    pub const fn is_some(self) -> bool {
        self.0 != Self::NONE.0
    }
}

/// A segment: the unit of allocation, cleaning and erasing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seg(pub u32);

impl Seg {
    /// The segment's index in arrays with a value for each segment.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The kind of data that an open segment takes, as numbered by the placement policy: an index below [`Class::COUNT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Class(pub u8);

impl Class {
    /// Most open segments at a time, one for each class.
    pub const COUNT: usize = 16;
    /// The last class is for wear leveling, whose destination is a worn segment.
    pub const WEAR: Self = Self(Self::COUNT as u8 - 1);

    /// The class's index in arrays of [`COUNT`](Self::COUNT) entries.
    pub const fn index(self) -> usize {
        // A class that was read from flash may be any byte.
        self.0 as usize % Self::COUNT
    }
}

/// A range of sectors of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sectors {
    /// The first sector.
    pub start: u64,
    /// How many.
    pub count: u64,
}

impl Sectors {
    /// The sector after the last one, or none if it is beyond 2⁶⁴.
    pub fn end(self) -> Option<u64> {
        self.start.checked_add(self.count)
    }
}

/// Divides by a number that is fixed at run time. With 64 bits that is one multiplication.
///
/// It is exact for every `u32`: with m = ⌈2⁶⁴ / d⌉, ⌊n·m / 2⁶⁴⌋ = ⌊n / d⌋ for all n, d < 2³² (Lemire, Kaser and
/// Kurz, "Faster remainder by direct computation", 2019). The map divides for every page that it invalidates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Divider {
    divisor: u32,
    /// ⌈2⁶⁴ / divisor⌉. Processors of 32 bits would multiply for longer than they divide.
    #[cfg(target_pointer_width = "64")]
    magic: u64,
}

impl Divider {
    /// # Panics
    /// If `divisor` is below 2. The page count of a segment never is.
    pub(crate) const fn new(divisor: u32) -> Self {
        assert!(divisor >= 2, "a segment has at least two pages");
        Self {
            divisor,
            // Without a dividend of more than 64 bits.
            #[cfg(target_pointer_width = "64")]
            magic: u64::MAX / divisor as u64 + 1,
        }
    }

    #[cfg(target_pointer_width = "64")]
    #[inline]
    pub(crate) fn quotient(self, n: u32) -> u32 {
        ((u128::from(self.magic) * u128::from(n)) >> 64) as u32
    }

    #[cfg(not(target_pointer_width = "64"))]
    #[inline]
    pub(crate) fn quotient(self, n: u32) -> u32 {
        n / self.divisor
    }

    #[inline]
    pub(crate) fn remainder(self, n: u32) -> u32 {
        n - self.quotient(n) * self.divisor
    }
}

/// Segments of equal size: converts between page numbers and slots of segments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slots {
    per_segment: u32,
    by_slots: Divider,
}

impl Slots {
    pub(crate) fn new(per_segment: u32) -> Self {
        Self { per_segment, by_slots: Divider::new(per_segment) }
    }

    /// Slots of a segment.
    #[inline]
    pub(crate) fn per_segment(self) -> u32 {
        self.per_segment
    }

    #[inline]
    pub(crate) fn segment_of(self, at: Ppn) -> Seg {
        Seg(self.by_slots.quotient(at.0))
    }

    /// The slot that a page of `seg` is in.
    #[inline]
    pub(crate) fn slot_in(self, seg: Seg, at: Ppn) -> u32 {
        at.0 - seg.0 * self.per_segment
    }

    #[inline]
    pub(crate) fn page(self, seg: Seg, slot: u32) -> Ppn {
        debug_assert!(slot < self.per_segment, "a slot of the segment");
        Ppn(seg.0 * self.per_segment + slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_divider_divides() {
        for divisor in [2, 3, 7, 31, 62, 64, 254, 504, 512, 36_864, u32::MAX - 1] {
            let by = Divider::new(divisor);
            for n in [0, 1, divisor - 1, divisor, divisor.saturating_add(1), 123_456_789, u32::MAX - 1, u32::MAX] {
                assert_eq!(by.quotient(n), n / divisor, "{n} / {divisor}");
                assert_eq!(by.remainder(n), n % divisor, "{n} % {divisor}");
            }
        }
    }
}
