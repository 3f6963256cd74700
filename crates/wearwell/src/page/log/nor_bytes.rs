//! The bytes of a block's header, its opening and its entries on NOR (SPEC.md, "Layout `nor`").

use super::{Kind, SegmentHeader, Tag};
use crate::addr::{Class, Lpn};
use crate::checksum::FewRows;
use crate::le;

const CRC32: crc::Crc<u32, FewRows> = crc::Crc::<u32, FewRows>::new(&crc::CRC_32_ISO_HDLC);
const CRC16: crc::Crc<u16, FewRows> = crc::Crc::<u16, FewRows>::new(&crc::CRC_16_IBM_3740);

/// Version of the layout.
pub(super) const VERSION: u32 = 2;

/// Offsets of the parts of a block. The data of the slots ends with the block.
pub(super) mod part {
    pub(in crate::page::log) const HEADER: u32 = 0;
    pub(in crate::page::log) const OPENING: u32 = 16;
    pub(in crate::page::log) const ENTRIES: u32 = 64;
}

/// Offsets of the fields of a header.
mod header {
    use core::ops::Range;

    pub(super) const MAGIC: Range<usize> = 0..4;
    pub(super) const VERSION: usize = 4;
    pub(super) const LOGICAL_PAGES: Range<usize> = 5..8;
    pub(super) const ERASES: Range<usize> = 8..12;
    pub(super) const CHECKED: Range<usize> = 0..12;
    pub(super) const CRC: Range<usize> = 12..16;
    pub(super) const BYTES: usize = CRC.end;
    pub(super) const MAGIC_BYTES: &[u8; 4] = b"WWnr";
}

/// Offsets of the fields of an opening.
mod opening {
    use core::ops::Range;

    pub(super) const CLOCK: Range<usize> = 0..8;
    pub(super) const CLASS: usize = 8;
    pub(super) const CHECKED: Range<usize> = 0..12;
    pub(super) const CRC: Range<usize> = 12..16;
    pub(super) const BYTES: usize = CRC.end;
}

/// Offsets of the fields of an entry.
mod entry {
    use core::ops::Range;

    pub(super) const LPN: Range<usize> = 0..3;
    pub(super) const UPDATES: Range<usize> = 3..5;
    pub(super) const CHECKED: Range<usize> = 0..5;
    pub(super) const CRC: Range<usize> = 5..7;
    pub(super) const FLAGS: usize = 7;
    pub(super) const BYTES: usize = FLAGS + 1;
}

/// Flags of an entry, each as the byte that clears its bit.
pub(super) mod flag {
    pub(in crate::page::log) const ALLOCATED: u8 = !1;
    pub(in crate::page::log) const PRE_VALID: u8 = !2;
    pub(in crate::page::log) const VALID: u8 = !4;
    pub(in crate::page::log) const INVALID: u8 = !8;
}

/// Bytes of a header.
pub(super) const HEADER_BYTES: usize = header::BYTES;
/// Bytes of an opening.
pub(super) const OPENING_BYTES: usize = opening::BYTES;
/// Bytes of an entry.
pub(super) const ENTRY_BYTES: usize = entry::BYTES;
/// Bytes of an entry that are programmed at once: all except the flags.
pub(super) const ENTRY_BODY_BYTES: usize = entry::FLAGS;
/// The number of page numbers that an entry, and of pages that a header, can hold.
pub(super) const MAX_PAGES: u32 = 0xFF_FFFF;

/// The header of a block that was erased `erases` times.
pub(super) fn encode_header(erases: u32, logical_pages: u32) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[header::MAGIC].copy_from_slice(header::MAGIC_BYTES);
    bytes[header::VERSION] = VERSION as u8;
    le::put(&mut bytes, header::LOGICAL_PAGES, logical_pages.into());
    le::put(&mut bytes, header::ERASES, erases.into());
    let crc = CRC32.checksum(&bytes[header::CHECKED]);
    le::put(&mut bytes, header::CRC, crc.into());
    bytes
}

/// Decodes a header. None if the bytes are not one.
pub(super) fn decode_header(bytes: &[u8; HEADER_BYTES]) -> Option<SegmentHeader> {
    let is_good = bytes[header::MAGIC] == *header::MAGIC_BYTES
        && le::get_u32(bytes, header::CRC) == CRC32.checksum(&bytes[header::CHECKED]);
    is_good.then(|| SegmentHeader {
        version: bytes[header::VERSION].into(),
        logical_pages: le::get_u32(bytes, header::LOGICAL_PAGES),
        erases: le::get_u32(bytes, header::ERASES),
    })
}

/// The opening of a segment: age clock and class.
pub(super) fn encode_opening(clock: u64, class: Class) -> [u8; OPENING_BYTES] {
    let mut bytes = [0; OPENING_BYTES];
    le::put(&mut bytes, opening::CLOCK, clock);
    bytes[opening::CLASS] = class.0;
    let crc = CRC32.checksum(&bytes[opening::CHECKED]);
    le::put(&mut bytes, opening::CRC, crc.into());
    bytes
}

/// Decodes an opening. None if the bytes are not one.
pub(super) fn decode_opening(bytes: &[u8; OPENING_BYTES]) -> Option<(u64, Class)> {
    let is_good = le::get_u32(bytes, opening::CRC) == CRC32.checksum(&bytes[opening::CHECKED]);
    is_good.then(|| (le::get(bytes, opening::CLOCK), Class(bytes[opening::CLASS])))
}

/// An entry without its flags.
pub(super) fn encode_entry(lpn: Lpn, updates: u16) -> [u8; ENTRY_BODY_BYTES] {
    let mut bytes = [0; ENTRY_BODY_BYTES];
    le::put(&mut bytes, entry::LPN, lpn.0.into());
    le::put(&mut bytes, entry::UPDATES, updates.into());
    let crc = CRC16.checksum(&bytes[entry::CHECKED]);
    le::put(&mut bytes, entry::CRC, crc.into());
    bytes
}

/// The tag of an entry, if it was completed and is not flagged invalid.
pub(super) fn decode_entry(bytes: &[u8; ENTRY_BYTES]) -> Option<Tag> {
    let is_whole = le::get_u32(bytes, entry::CRC) == u32::from(CRC16.checksum(&bytes[entry::CHECKED]));
    // Spec O5: the last two flags may be missing behind a cut, and the updates tell which copy is newer.
    if !has_flag(bytes, flag::PRE_VALID) || has_flag(bytes, flag::INVALID) || !is_whole {
        return None;
    }
    let lpn = Lpn(le::get_u32(bytes, entry::LPN));
    Some(Tag { lpn, seq: updates(bytes).into(), class: Class(0), kind: Kind::Data })
}

/// True if a page was begun in the slot of an entry, and is not complete.
pub(super) fn is_begun(bytes: &[u8; ENTRY_BYTES]) -> bool {
    !has_flag(bytes, flag::PRE_VALID) && !has_flag(bytes, flag::INVALID)
}

/// The updates in an entry.
pub(super) fn updates(bytes: &[u8; ENTRY_BYTES]) -> u16 {
    le::get_u32(bytes, entry::UPDATES) as u16
}

/// True if a flag was cleared.
pub(super) fn has_flag(bytes: &[u8; ENTRY_BYTES], flag: u8) -> bool {
    bytes[entry::FLAGS] & !flag == 0
}

/// Offset of the flags in an entry.
pub(super) const FLAGS_AT: u32 = entry::FLAGS as u32;

#[cfg(test)]
mod tests {
    use super::*;

    /// A dump of a structure whose size the code knows.
    fn dump<const BYTES: usize>(name: &str) -> [u8; BYTES] {
        wearwell_spec::dump(name).try_into().expect("a dump of the structure's size")
    }

    #[test]
    fn the_structures_of_the_spec_are_what_is_written() {
        let header = dump("nor-header");
        assert_eq!(encode_header(3, 300), header);
        assert_eq!(decode_header(&header), Some(SegmentHeader { version: VERSION, logical_pages: 300, erases: 3 }));
        let opening = dump("nor-opening");
        assert_eq!(encode_opening(500, Class(2)), opening);
        assert_eq!(decode_opening(&opening), Some((500, Class(2))));
    }

    #[test]
    fn the_entry_of_the_spec_is_what_is_written() {
        let entry: [u8; ENTRY_BYTES] = dump("nor-entry");
        assert_eq!(encode_entry(Lpn(7), 5), entry[..ENTRY_BODY_BYTES]);
        assert_eq!(entry[ENTRY_BODY_BYTES], flag::ALLOCATED & flag::PRE_VALID & flag::VALID);
        assert_eq!(decode_entry(&entry), Some(Tag { lpn: Lpn(7), seq: 5, class: Class(0), kind: Kind::Data }));
    }
}
