//! Byte ranges, and the sectors in and around them.

use wearwell::{SECTOR_BYTES, Sectors};

const SECTOR: u64 = SECTOR_BYTES as u64;

/// A range of bytes of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bytes {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// A range of bytes, split into whole sectors and the rests at its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Split {
    /// Bytes before the first whole sector; all of them if they begin and end in the same one.
    pub(super) head: Option<Bytes>,
    /// Whole sectors.
    pub(super) whole: Option<Sectors>,
    /// Bytes behind the last whole sector.
    pub(super) tail: Option<Bytes>,
}

impl Bytes {
    pub(super) fn len(self) -> u64 {
        self.end - self.start
    }

    /// True if it begins and ends with whole sectors.
    pub(super) fn is_of_sectors(self) -> bool {
        self.start.is_multiple_of(SECTOR) && self.end.is_multiple_of(SECTOR)
    }

    /// The range extended to whole sectors.
    pub(super) fn around_sectors(self) -> Self {
        Self { start: self.start / SECTOR * SECTOR, end: self.end.next_multiple_of(SECTOR) }
    }

    /// The range; none if it is empty.
    fn some(start: u64, end: u64) -> Option<Self> {
        (start < end).then_some(Self { start, end })
    }

    /// The part that consists of whole units of `unit` bytes, and the parts at the ends.
    fn cut(self, unit: u64) -> (Option<Self>, Option<Self>, Option<Self>) {
        let (first, last) = (self.start.next_multiple_of(unit), self.end / unit * unit);
        // It begins and ends inside one unit.
        if first > last {
            return (Some(self), None, None);
        }
        (Self::some(self.start, first), Self::some(first, last), Self::some(last, self.end))
    }

    pub(super) fn split(self) -> Split {
        let (head, whole, tail) = self.cut(SECTOR);
        Split { head, whole: whole.map(Self::sectors), tail }
    }

    /// The whole pages inside, and the parts before and after them.
    pub(super) fn around_pages(self, page_bytes: u32) -> (Option<Self>, Option<Self>, Option<Self>) {
        self.cut(u64::from(page_bytes))
    }

    /// The sectors of a range that begins and ends with whole sectors.
    pub(super) fn sectors(self) -> Sectors {
        debug_assert!(self.is_of_sectors(), "{self:?}");
        Sectors { start: self.start / SECTOR, count: self.len() / SECTOR }
    }

    /// The sector of a range that lies in one sector, and the place in it.
    pub(super) fn in_sector(self) -> (Sectors, std::ops::Range<usize>) {
        let start = self.start / SECTOR;
        let from = (self.start % SECTOR) as usize;
        (Sectors { start, count: 1 }, from..from + self.len() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(start: u64, end: u64) -> Bytes {
        Bytes { start, end }
    }

    #[test]
    fn ranges_are_cut_at_sectors() {
        let split = |start, end| {
            let Split { head, whole, tail } = bytes(start, end).split();
            (head, whole.map(|s| (s.start, s.count)), tail)
        };
        assert_eq!(split(0, 1024), (None, Some((0, 2)), None));
        assert_eq!(split(1, 1025), (Some(bytes(1, 512)), Some((1, 1)), Some(bytes(1024, 1025))));
        assert_eq!(split(5, 9), (Some(bytes(5, 9)), None, None));
        assert_eq!(split(500, 520), (Some(bytes(500, 512)), None, Some(bytes(512, 520))));
        assert_eq!(split(0, 0), (None, None, None));
        assert_eq!(split(512, 600), (None, None, Some(bytes(512, 600))));
    }

    #[test]
    fn a_part_of_a_sector_has_its_place() {
        let (sector, place) = bytes(513, 520).in_sector();
        assert_eq!((sector.start, sector.count, place), (1, 1, 1..8));
    }
}
