//! Splits a host command at the borders of pages, which every [`BlockDevice`](crate::BlockDevice) does first.

use crate::addr::{Lpn, SECTOR_BYTES, Sectors};
use crate::ftl::FtlError;

/// The part of a page that a command covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The page.
    pub lpn: Lpn,
    /// First sector within the page.
    pub first: u32,
    /// Sectors.
    pub count: u32,
}

impl Piece {
    fn bytes(self) -> usize {
        (self.count * SECTOR_BYTES) as usize
    }
}

/// Checks that a command lies on the device, and that its buffer has the right length. If `stores` is false, the buffer
/// may also be empty.
///
/// # Errors
/// [`FtlError::OutOfRange`], [`FtlError::BufferLength`].
pub fn check(at: Sectors, capacity: u64, bytes: Option<usize>, stores: bool) -> Result<(), FtlError> {
    // A sum beyond 2⁶⁴ has no end. So `pieces` may add without a check.
    if at.end().is_none_or(|end| end > capacity) {
        return Err(FtlError::OutOfRange { start: at.start, count: at.count, capacity });
    }
    let expected = at.count * u64::from(SECTOR_BYTES);
    match bytes {
        Some(got) if got as u64 != expected && (stores || got != 0) => {
            Err(FtlError::BufferLength { expected, got: got as u64 })
        }
        _ => Ok(()),
    }
}

/// The page of a sector, and its number in the page.
#[cfg(target_pointer_width = "64")]
fn split(sector: u64, per_page: u32) -> (Lpn, u32) {
    let per_page = u64::from(per_page);
    (Lpn((sector / per_page) as u32), (sector % per_page) as u32)
}

#[cfg(not(target_pointer_width = "64"))]
use long_division as split;

/// The same for processors of 32 bits. They lack the division of 64 bits, which takes a hundredth of a firmware. So
/// this is a long division, for pages of less than 32 MiB.
#[cfg(any(test, not(target_pointer_width = "64")))]
fn long_division(sector: u64, per_page: u32) -> (Lpn, u32) {
    let (high, low) = ((sector >> 16) as u32, sector as u32 & 0xFFFF);
    // A remainder is less than a page, below 2¹⁶ sectors, so the shift loses nothing.
    let rest = ((high % per_page) << 16) | low;
    (Lpn(((high / per_page) << 16) + rest / per_page), rest % per_page)
}

/// The pieces of a [checked](check) command, in ascending order.
pub fn pieces(at: Sectors, sectors_per_page: u32) -> impl Iterator<Item = Piece> {
    let end = at.start + at.count;
    let mut sector = at.start;
    core::iter::from_fn(move || {
        if sector == end {
            return None;
        }
        let (lpn, first) = split(sector, sectors_per_page);
        let count = (end - sector).min(u64::from(sectors_per_page - first)) as u32;
        sector += u64::from(count);
        Some(Piece { lpn, first, count })
    })
}

/// The [pieces] of a command, each with its part of the data, which is empty if bytes are only counted.
#[inline]
pub fn parts(at: Sectors, page_sectors: u32, stores: bool, data: &[u8]) -> impl Iterator<Item = (Piece, &[u8])> {
    let mut rest = data;
    pieces(at, page_sectors).map(move |piece| {
        // `check` has compared the lengths, so no piece ends behind the data.
        let (part, behind) = rest.split_at(if stores { piece.bytes() } else { 0 });
        rest = behind;
        (piece, part)
    })
}

/// As [`parts`], with mutable data.
#[inline]
pub fn parts_mut(
    at: Sectors,
    page_sectors: u32,
    stores: bool,
    data: &mut [u8],
) -> impl Iterator<Item = (Piece, &mut [u8])> {
    let mut rest = data;
    pieces(at, page_sectors).map(move |piece| {
        // `rest` is taken out, because each part outlives the turn that splits it off.
        let (part, behind) = core::mem::take(&mut rest).split_at_mut(if stores { piece.bytes() } else { 0 });
        rest = behind;
        (piece, part)
    })
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    #[test]
    fn a_long_division_is_the_same() {
        for per_page in [1, 3, 4, 8, 33, 65_535] {
            for page in [0, 1, 65_535, 65_536, 1 << 24, u32::MAX] {
                for first in [0, per_page / 2, per_page - 1] {
                    let sector = u64::from(page) * u64::from(per_page) + u64::from(first);
                    assert_eq!(long_division(sector, per_page), (Lpn(page), first));
                    assert_eq!(split(sector, per_page), (Lpn(page), first));
                }
            }
        }
    }

    #[test]
    fn commands_are_cut_at_the_borders_of_pages() {
        let cut = |start, count| pieces(Sectors { start, count }, 8).map(|p| (p.lpn.0, p.first, p.count));
        assert_eq!(cut(8, 16).collect::<Vec<_>>(), [(1, 0, 8), (2, 0, 8)]);
        assert_eq!(cut(3, 15).collect::<Vec<_>>(), [(0, 3, 5), (1, 0, 8), (2, 0, 2)]);
        assert_eq!(cut(9, 3).collect::<Vec<_>>(), [(1, 1, 3)]);
        assert_eq!(cut(16, 0).count(), 0);
    }

    #[test]
    fn every_piece_has_its_own_bytes_or_none() {
        let at = Sectors { start: 7, count: 10 };
        let mut filled = [0; 10 * 512];
        for (piece, part) in parts_mut(at, 8, true, &mut filled) {
            part.fill(1 + piece.lpn.0 as u8);
        }
        let expected = [vec![1; 512], vec![2; 8 * 512], vec![3; 512]];
        assert_eq!(filled[..], expected.concat());
        assert!(parts(at, 8, true, &filled).map(|(_, part)| part).eq(&expected));
        assert!(parts(at, 8, false, &filled).all(|(_, part)| part.is_empty()));
        assert!(parts_mut(at, 8, false, &mut []).all(|(_, part)| part.is_empty()));
    }

    #[test]
    fn commands_off_the_device_or_with_a_wrong_buffer_are_refused() {
        let check = |start, count, bytes, stores| check(Sectors { start, count }, 80, bytes, stores);
        assert_eq!(check(72, 8, Some(4096), true), Ok(()));
        assert_eq!(check(72, 8, None, true), Ok(()));
        assert_eq!(check(80, 0, Some(0), true), Ok(()));
        assert_eq!(check(73, 8, None, true), Err(FtlError::OutOfRange { start: 73, count: 8, capacity: 80 }));
        assert!(matches!(check(u64::MAX, 2, None, true), Err(FtlError::OutOfRange { .. })));
        assert_eq!(check(0, 8, Some(4095), true), Err(FtlError::BufferLength { expected: 4096, got: 4095 }));
        assert_eq!(check(0, 8, Some(0), true), Err(FtlError::BufferLength { expected: 4096, got: 0 }));
        assert_eq!(check(0, 8, Some(0), false), Ok(()));
    }
}
