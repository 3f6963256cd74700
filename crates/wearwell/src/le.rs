//! Fields of records on flash: little-endian whole numbers of up to eight bytes.

use core::ops::Range;

/// The number in a field.
#[inline]
pub(crate) fn get(bytes: &[u8], field: Range<usize>) -> u64 {
    let mut word = [0; 8];
    word[..field.len()].copy_from_slice(&bytes[field]);
    u64::from_le_bytes(word)
}

/// The number in a field of four bytes or fewer.
#[inline]
pub(crate) fn get_u32(bytes: &[u8], field: Range<usize>) -> u32 {
    let mut word = [0; 4];
    word[..field.len()].copy_from_slice(&bytes[field]);
    u32::from_le_bytes(word)
}

/// Writes the low bytes of a number into a field.
#[inline]
pub(crate) fn put(bytes: &mut [u8], field: Range<usize>, value: u64) {
    let len = field.len();
    bytes[field].copy_from_slice(&value.to_le_bytes()[..len]);
}
