//! The page of the mark of a rescue (SPEC.md, "The mark of a rescue"): it names segments that are older.

use alloc::vec;
use alloc::vec::Vec;

use crate::addr::Seg;
use crate::le;

/// Where the fields lie, from the beginning of the page.
mod field {
    use core::ops::Range;

    pub(super) const COUNT: Range<usize> = 0..4;
    /// Of the first so many entries the account was incomplete.
    pub(super) const INCOMPLETE: Range<usize> = 4..8;
    pub(super) const ENTRIES: usize = 8;
}

/// The same of an entry, from its beginning.
mod entry {
    use core::ops::Range;

    pub(super) const SEG: Range<usize> = 0..4;
    pub(super) const ERASES: Range<usize> = 4..8;
    pub(super) const BYTES: usize = ERASES.end;
}

/// The page: segments that are older than the rescue with their erase counts, as many as it has room for. The account
/// of the first so many was `incomplete`.
pub(super) fn encode_older(older: &[(Seg, u32)], incomplete: usize, page_bytes: u32) -> Vec<u8> {
    let room = (page_bytes as usize - field::ENTRIES) / entry::BYTES;
    let named = &older[..older.len().min(room)];
    let mut bytes = vec![0; field::ENTRIES + named.len() * entry::BYTES];
    le::put(&mut bytes, field::COUNT, named.len() as u64);
    le::put(&mut bytes, field::INCOMPLETE, incomplete as u64);
    for (bytes, &(seg, erases)) in bytes[field::ENTRIES..].chunks_exact_mut(entry::BYTES).zip(named) {
        le::put(bytes, entry::SEG, seg.0.into());
        le::put(bytes, entry::ERASES, erases.into());
    }
    bytes
}

/// What the page names: what is in a segment that was erased so often is older than the rescue. Of a page that says
/// more than it has room for, as many as there are.
pub(in crate::page) fn decode_older(page: &[u8]) -> impl Iterator<Item = (Seg, u32)> {
    let count = le::get_u32(page, field::COUNT) as usize;
    let entries = page[field::ENTRIES..].chunks_exact(entry::BYTES).take(count);
    entries.map(|bytes| (Seg(le::get_u32(bytes, entry::SEG)), le::get_u32(bytes, entry::ERASES)))
}

/// Those of which the account was incomplete.
pub(in crate::page) fn decode_incomplete(page: &[u8]) -> impl Iterator<Item = (Seg, u32)> {
    decode_older(page).take(le::get_u32(page, field::INCOMPLETE) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_the_spec_is_what_is_written() {
        let older = [(Seg(5), 3), (Seg(9), 12)];
        let spec = wearwell_spec::dump("nand-rescue-mark");
        assert_eq!(encode_older(&older, 1, 512), spec);
        assert!(decode_older(&spec).eq(older) && decode_incomplete(&spec).eq([older[0]]));
    }

    #[test]
    fn a_page_names_as_many_as_it_has_room_for() {
        let older: Vec<(Seg, u32)> = (0..100).map(|seg| (Seg(seg), seg)).collect();
        let page = encode_older(&older, 0, 512);
        assert_eq!(page.len(), 512);
        assert!(decode_older(&page).eq(older[..63].iter().copied()));
        assert!(decode_older(&[0xFF; 512]).count() == 63, "a page that says nonsense");
    }
}
