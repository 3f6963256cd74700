//! The record of a NAND page: its state, and what its bytes must hash to (SPEC.md, "The record of a page").

/// Bytes of a record.
pub(crate) const PAGE_RECORD_BYTES: usize = field::BYTES;

/// Where its fields lie.
mod field {
    use std::ops::Range;

    pub(super) const STATE: usize = 0;
    pub(super) const DETAIL: usize = 1;
    pub(super) const SPARE_CHECK: Range<usize> = 2..4;
    pub(super) const DATA_CHECK: Range<usize> = 4..8;
    pub(super) const BYTES: usize = DATA_CHECK.end;
}

/// What the bytes of a page must hash to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Checks {
    pub(crate) spare: u16,
    pub(crate) data: u32,
}

impl Checks {
    /// The checks of a page without content.
    pub(crate) const NONE: Self = Self { spare: 0, data: 0 };

    /// Zero in stores that nothing else can change: checks there would cost more than the rest of a program.
    pub(crate) fn of(is_checked: bool, data: &[u8], spare: &[u8]) -> Self {
        if !is_checked {
            return Self::NONE;
        }
        Self { spare: crc32fast::hash(spare) as u16, data: crc32fast::hash(data) }
    }
}

/// Added to the check of the spare bytes, so that a changed state or detail does not match it. Zero for an erased page,
/// and different for every other state.
fn mark(is_checked: bool, state: u8, detail: u8) -> u16 {
    // An odd factor maps different words to different products.
    if is_checked { u16::from_le_bytes([state, detail]).wrapping_mul(0x9E37) } else { 0 }
}

/// The record of a page, one word.
pub(crate) fn record(is_checked: bool, state: u8, detail: u8, checks: Checks) -> [u8; PAGE_RECORD_BYTES] {
    let mut bytes = [0; PAGE_RECORD_BYTES];
    bytes[field::STATE] = state;
    bytes[field::DETAIL] = detail;
    bytes[field::SPARE_CHECK].copy_from_slice(&(checks.spare ^ mark(is_checked, state, detail)).to_le_bytes());
    bytes[field::DATA_CHECK].copy_from_slice(&checks.data.to_le_bytes());
    bytes
}

/// What a page must hash to, from its record.
pub(crate) fn checks_in(is_checked: bool, record: &[u8]) -> Checks {
    let (mut spare, mut data) = ([0; 2], [0; 4]);
    spare.copy_from_slice(&record[field::SPARE_CHECK]);
    data.copy_from_slice(&record[field::DATA_CHECK]);
    let mark = mark(is_checked, record[field::STATE], record[field::DETAIL]);
    Checks { spare: u16::from_le_bytes(spare) ^ mark, data: u32::from_le_bytes(data) }
}

/// State and detail of a page.
pub(crate) fn state_in(record: &[u8]) -> (u8, u8) {
    (record[field::STATE], record[field::DETAIL])
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_page_record_of_the_spec_is_what_is_written() {
        const PROGRAMMED: u8 = 1;
        let checks = Checks::of(true, &[0; 512], &[0xFF; 16]);
        let spec = wearwell_spec::dump("chip-page-record");
        assert_eq!(record(true, PROGRAMMED, 0, checks).as_slice(), spec);
        assert!(checks_in(true, &spec) == checks);
    }
}
