//! Bits in bytes on flash: the bitmaps that record what is unmapped, and what is dead.

/// Sets a bit. The bytes have it.
pub(crate) fn set(bytes: &mut [u8], bit: usize) {
    bytes[bit / 8] |= 1 << (bit % 8);
}

/// True if a bit is set; false for one behind the end, as all are where a chip keeps no bytes.
pub(crate) fn is_set(bytes: &[u8], bit: usize) -> bool {
    bytes.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_bit_of_a_byte_is_the_first() {
        let mut bytes = [0; 2];
        [0, 3, 15].into_iter().for_each(|bit| set(&mut bytes, bit));
        assert_eq!(bytes, [0b1001, 0b1000_0000]);
        assert!((0..16).filter(|&bit| is_set(&bytes, bit)).eq([0, 3, 15]));
        assert!(!is_set(&bytes, 16) && !is_set(&[], 0));
    }
}
