//! How the bytes of a checkpoint lie: a head, a row for each segment, and an entry for each page of the map. The mark
//! of the shutdown has their code.

use crate::addr::{Class, Seg};
use crate::le;

/// Offsets of the fields of the head.
mod head {
    use core::ops::Range;

    pub(super) const MAGIC: Range<usize> = 0..4;
    pub(super) const MARK: Range<usize> = 4..8;
    pub(super) const SEQ: Range<usize> = 8..16;
    pub(super) const HOST_PAGES: Range<usize> = 16..24;
    pub(super) const SEGMENTS: Range<usize> = 24..28;
    pub(super) const ENTRIES: Range<usize> = 28..32;
    pub(super) const BYTES: usize = ENTRIES.end;
    pub(super) const MAGIC_BYTES: &[u8; 4] = b"WWcp";
}

/// Offsets of the fields of a segment's row.
mod row {
    use core::ops::Range;

    pub(super) const ERASES: Range<usize> = 0..3;
    pub(super) const USE: usize = 3;
    pub(super) const OPENED: Range<usize> = 4..10;
    pub(super) const DEAD: Range<usize> = 10..12;
    pub(super) const BYTES: usize = DEAD.end;
    pub(super) const FREE: u8 = 0;
    pub(super) const SUSPECT: u8 = 1;
    pub(super) const IN_USE: u8 = 2;
    pub(super) const BAD: u8 = 3;
}

/// Offsets of the fields in the page of a mark.
mod seal {
    use core::ops::Range;

    pub(super) const MAGIC: Range<usize> = 0..4;
    pub(super) const CODE: Range<usize> = 4..8;
    pub(super) const BYTES: usize = CODE.end;
}

/// Bytes of the head.
pub(in crate::page) const HEAD_BYTES: usize = head::BYTES;

/// Bytes of a segment's row.
pub(in crate::page) const ROW_BYTES: usize = row::BYTES;

/// Bytes of an entry of the map, whose numbers are below `pages` or all ones.
pub(in crate::page) const fn entry_bytes(pages: u32) -> usize {
    // The bits of the number of pages, and not of the last page, so that all ones stays free.
    (u32::BITS - pages.leading_zeros()).div_ceil(8) as usize
}

/// Most bytes of a checkpoint of so many segments of so many slots.
pub(super) const fn most_bytes(segments: u32, slots: u32) -> u64 {
    let pages = segments as u64 * slots as u64;
    HEAD_BYTES as u64 + segments as u64 * ROW_BYTES as u64 + pages * entry_bytes(segments * slots) as u64
}

/// What the mark says of the checkpoint with this code.
pub(in crate::page) fn encode_seal(code: u32) -> [u8; seal::BYTES] {
    let mut bytes = [0; seal::BYTES];
    bytes[seal::MAGIC].copy_from_slice(head::MAGIC_BYTES);
    le::put(&mut bytes, seal::CODE, code.into());
    bytes
}

/// The code of the checkpoint that the page of a mark names.
pub(in crate::page) fn decode_seal(page: &[u8]) -> Option<u32> {
    (page[seal::MAGIC] == *head::MAGIC_BYTES).then(|| le::get_u32(page, seal::CODE))
}

/// The fields of the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::page) struct Head {
    /// The segment of the mark.
    pub(in crate::page) mark: Seg,
    /// The number of the mark.
    pub(in crate::page) seq: u64,
    pub(in crate::page) host_pages: u64,
    pub(in crate::page) segments: u32,
    /// Entries of the map.
    pub(in crate::page) entries: u32,
}

impl Head {
    pub(in crate::page) fn encode(self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[head::MAGIC].copy_from_slice(head::MAGIC_BYTES);
        le::put(&mut bytes, head::MARK, self.mark.0.into());
        le::put(&mut bytes, head::SEQ, self.seq);
        le::put(&mut bytes, head::HOST_PAGES, self.host_pages);
        le::put(&mut bytes, head::SEGMENTS, self.segments.into());
        le::put(&mut bytes, head::ENTRIES, self.entries.into());
        bytes
    }

    pub(in crate::page) fn decode(bytes: &[u8]) -> Option<Self> {
        (bytes[head::MAGIC] == *head::MAGIC_BYTES).then(|| Self {
            mark: Seg(le::get_u32(bytes, head::MARK)),
            seq: le::get(bytes, head::SEQ),
            host_pages: le::get(bytes, head::HOST_PAGES),
            segments: le::get_u32(bytes, head::SEGMENTS),
            entries: le::get_u32(bytes, head::ENTRIES),
        })
    }
}

/// What is known of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::page) struct Row {
    pub(in crate::page) erases: u32,
    pub(in crate::page) usage: Usage,
    pub(in crate::page) opened: u64,
    /// Discarded pages.
    pub(in crate::page) dead: u32,
}

/// What a segment is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::page) enum Usage {
    Free,
    Suspect,
    InUse(Class),
    Bad,
}

impl Row {
    pub(in crate::page) fn encode(self) -> [u8; ROW_BYTES] {
        let (usage, class) = match self.usage {
            Usage::Free => (row::FREE, Class(0)),
            Usage::Suspect => (row::SUSPECT, Class(0)),
            Usage::InUse(class) => (row::IN_USE, class),
            Usage::Bad => (row::BAD, Class(0)),
        };
        let mut bytes = [0; ROW_BYTES];
        le::put(&mut bytes, row::ERASES, self.erases.into());
        bytes[row::USE] = usage | class.0 << 4;
        le::put(&mut bytes, row::OPENED, self.opened);
        // Only a counter and the time of reclamation depend on this, so a greater number may be cut.
        le::put(&mut bytes, row::DEAD, self.dead.min(u16::MAX.into()).into());
        bytes
    }

    pub(in crate::page) fn decode(bytes: &[u8]) -> Option<Self> {
        let usage = match bytes[row::USE] & 15 {
            row::FREE => Usage::Free,
            row::SUSPECT => Usage::Suspect,
            row::IN_USE => Usage::InUse(Class(bytes[row::USE] >> 4)),
            row::BAD => Usage::Bad,
            _ => return None,
        };
        let erases = le::get(bytes, row::ERASES) as u32;
        Some(Self { erases, usage, opened: le::get(bytes, row::OPENED), dead: le::get(bytes, row::DEAD) as u32 })
    }
}

/// The number in the first page of a checkpoint; none if it is not one.
pub(super) fn number_in(page: &[u8]) -> Option<u64> {
    Head::decode(page).map(|head| head.seq)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::Ppn;
    use crate::page::log::CRC32;

    #[test]
    fn the_checkpoint_of_the_spec_is_what_is_written() {
        let spec = wearwell_spec::dump("nand-checkpoint");
        let head = Head { mark: Seg(1), seq: 1001, host_pages: 500, segments: 2, entries: 3 };
        let rows = [
            Row { erases: 3, usage: Usage::InUse(Class(2)), opened: 500, dead: 1 },
            Row { erases: 4, usage: Usage::InUse(Class(0)), opened: 500, dead: 0 },
        ];
        let map = [Ppn(1), Ppn::NONE, Ppn(0)].map(|at| at.0.to_le_bytes()[0]);
        let bytes = [&head.encode()[..], &rows[0].encode(), &rows[1].encode(), &map].concat();
        assert_eq!(bytes, spec);
        assert_eq!(Head::decode(&spec), Some(head));
        assert_eq!(Row::decode(&spec[HEAD_BYTES..]), Some(rows[0]));
        let seal = wearwell_spec::dump("nand-checkpoint-mark");
        assert_eq!(encode_seal(CRC32.checksum(&spec)).as_slice(), seal);
        assert_eq!(decode_seal(&seal), Some(CRC32.checksum(&spec)));
    }

    #[test]
    fn no_page_has_the_number_that_means_unmapped() {
        assert_eq!([255, 256, 65_535, 65_536, 1 << 24].map(entry_bytes), [1, 2, 2, 3, 4]);
    }
}
