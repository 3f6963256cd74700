//! The code of the spare bytes: one wrong bit is corrected, two are found.
//!
//! A chip's code covers the data of a page, and often not the spare bytes that it leaves free. Tags lie there, so that
//! they get two bytes of a code of their own: of the positions of all bits that are programmed, the parity of each bit
//! of the number and of its complement, as in the code of SmartMedia cards. All of it is inverted on flash, so that
//! erased spare bytes are a word of the code.

/// Bytes for the layer above.
pub const SPARE_BYTES: usize = 16;

/// Free spare bytes that are used: these, and the code (little-endian).
pub const STORED_BYTES: usize = SPARE_BYTES + 2;

/// Bits of the position of a bit.
const POSITION_BITS: u32 = 7;

/// All positions' bits.
const POSITIONS: u16 = (1 << POSITION_BITS) - 1;

/// The spare bytes that are stored for `spare`, which is filled up with ones.
pub fn encode(spare: &[u8]) -> [u8; STORED_BYTES] {
    let mut stored = [0xFF; STORED_BYTES];
    stored[..spare.len()].copy_from_slice(spare);
    // Inverted: erased spare bytes have no programmed bit, so their parities are zeros and their code is ones.
    let code = !parities(&stored);
    stored[SPARE_BYTES..].copy_from_slice(&code.to_le_bytes());
    stored
}

/// Corrects spare bytes that were read. The number of wrong bits, 0 or 1; none if there are more.
pub fn correct(stored: &mut [u8; STORED_BYTES]) -> Option<u32> {
    let code = u16::from_le_bytes([stored[SPARE_BYTES], stored[SPARE_BYTES + 1]]);
    // 14 of the 16 bits are used. The other two do not count, whatever they are.
    let wrong = (!code ^ parities(stored)) & (POSITIONS | POSITIONS << POSITION_BITS);
    let (position, complement) = (wrong & POSITIONS, wrong >> POSITION_BITS);
    match wrong.count_ones() {
        0 => Some(0),
        // A bit of the code itself.
        1 => Some(1),
        // One wrong bit changes the parity for each bit of its position or for that of the complement, and never both.
        _ if position ^ complement == POSITIONS => {
            stored[usize::from(position / 8)] ^= 1 << (position % 8);
            Some(1)
        }
        _ => None,
    }
}

/// The parities of the positions of programmed bits, and above them those of the complements.
fn parities(stored: &[u8; STORED_BYTES]) -> u16 {
    let mut parities = 0;
    for (byte, at) in stored[..SPARE_BYTES].iter().zip(0u16..) {
        for bit in (0..8).filter(|bit| byte >> bit & 1 == 0) {
            let position = at * 8 + bit;
            parities ^= position | (!position & POSITIONS) << POSITION_BITS;
        }
    }
    parities
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every bit that the code covers: two of the 144 are not used.
    fn bits() -> impl Iterator<Item = usize> + Clone {
        0..SPARE_BYTES * 8 + 2 * POSITION_BITS as usize
    }

    fn words() -> [[u8; STORED_BYTES]; 3] {
        let mut rng = fastrand::Rng::with_seed(7);
        [encode(&[]), encode(&[0; SPARE_BYTES]), encode(&[0; SPARE_BYTES].map(|_: u8| rng.u8(..)))]
    }

    #[test]
    fn the_spare_bytes_of_the_spec_are_what_is_stored() {
        let spec = wearwell_spec::dump("mtd-spare");
        assert_eq!(encode(&wearwell_spec::dump("nand-tag")).as_slice(), spec);
        let mut stored = spec.try_into().expect("as many as are stored");
        assert_eq!(correct(&mut stored), Some(0));
    }

    #[test]
    fn erased_bytes_are_a_word() {
        assert_eq!(encode(&[]), [0xFF; STORED_BYTES]);
        assert_eq!(correct(&mut [0xFF; STORED_BYTES]), Some(0));
    }

    #[test]
    fn every_single_wrong_bit_is_corrected() {
        for word in words() {
            for bit in bits() {
                let mut read = word;
                read[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(correct(&mut read), Some(1), "bit {bit}");
                assert_eq!(read[..SPARE_BYTES], word[..SPARE_BYTES], "bit {bit}");
            }
        }
    }

    #[test]
    fn every_two_wrong_bits_are_found() {
        for word in words() {
            for (one, other) in bits().flat_map(|one| (0..one).map(move |other| (one, other))) {
                let mut read = word;
                read[one / 8] ^= 1 << (one % 8);
                read[other / 8] ^= 1 << (other % 8);
                assert_eq!(correct(&mut read), None, "bits {one} and {other}");
            }
        }
    }
}
