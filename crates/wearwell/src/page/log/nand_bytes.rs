//! The bytes of a segment's header and of its summary on NAND (SPEC.md, "Layout `nand`").

use core::ops::RangeInclusive;

use super::SegmentHeader;
use super::tag::{CRC32, TAG_BYTES};
use crate::addr::Class;
use crate::le;

/// Version of the layout without a checkpoint.
const VERSION: u32 = 3;

/// Version of the layout with a checkpoint.
const WITH_CHECKPOINT: u32 = 4;

/// Version of the layout with a map on flash, and of the one without room for a checkpoint.
const WITH_MAP: u32 = 8;
const WITH_MAP_ALONE: u32 = 5;

/// Version of the layout with tag pages and without a checkpoint.
const TAG_PAGES: u32 = 6;

/// Version of the layout with tag pages and a checkpoint.
const TAG_PAGES_WITH_CHECKPOINT: u32 = 7;

/// What a chip holds beside the pages of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extra {
    Nothing,
    Checkpoint,
    Map,
    /// Tag pages.
    TagPages,
    /// Tag pages and a checkpoint.
    TagPagesAndCheckpoint,
}

impl Extra {
    /// With a checkpoint.
    pub(super) const fn and_checkpoint(self) -> Self {
        match self {
            Self::TagPages | Self::TagPagesAndCheckpoint => Self::TagPagesAndCheckpoint,
            Self::Nothing | Self::Checkpoint | Self::Map => Self::Checkpoint,
        }
    }

    /// The version that is written.
    pub(super) const fn version(self) -> u32 {
        match self {
            Self::Nothing => VERSION,
            Self::Checkpoint => WITH_CHECKPOINT,
            Self::Map => WITH_MAP,
            Self::TagPages => TAG_PAGES,
            Self::TagPagesAndCheckpoint => TAG_PAGES_WITH_CHECKPOINT,
        }
    }

    /// The versions that are read. In version 2 only full segments have summaries.
    pub(super) const fn read_versions(self) -> RangeInclusive<u32> {
        match self {
            Self::Nothing => 2..=VERSION,
            _ => self.version()..=self.version(),
        }
    }

    /// True if an engine whose map lies elsewhere wrote this version: in memory or on flash.
    pub(super) fn is_of_other_map(self, version: u32) -> bool {
        let is_of_map = [WITH_MAP, WITH_MAP_ALONE].contains(&version);
        // Spec N3. Of any other version it is not known where the map lies.
        (WITH_CAPACITY..=WITH_MAP).contains(&version) && is_of_map != (self == Self::Map)
    }
}

/// The first version that records the capacity.
const WITH_CAPACITY: u32 = 2;

/// Offsets of the fields of a header.
mod header {
    use core::ops::Range;

    pub(super) const MAGIC: Range<usize> = 0..4;
    pub(super) const VERSION: Range<usize> = 4..8;
    pub(super) const ERASES: Range<usize> = 8..12;
    pub(super) const LOGICAL_PAGES: Range<usize> = 12..16;
    pub(super) const CHECKED: Range<usize> = 0..16;
    pub(super) const CRC: Range<usize> = 16..20;
    pub(super) const BYTES: usize = CRC.end;
    pub(super) const MAGIC_BYTES: &[u8; 4] = b"WWsg";
    /// Version 1, which has no capacity.
    pub(super) const CHECKED_1: Range<usize> = 0..12;
    pub(super) const CRC_1: Range<usize> = 12..16;
}

/// Offsets of the fields of a summary, before its tags.
mod summary {
    use core::ops::Range;

    pub(super) const MAGIC: Range<usize> = 0..4;
    pub(super) const VERSION: Range<usize> = 4..8;
    pub(super) const ERASES: Range<usize> = 8..12;
    pub(super) const SLOTS: Range<usize> = 12..16;
    pub(super) const OPENED: Range<usize> = 16..24;
    pub(super) const CLASS: usize = 24;
    /// Covers the fields before it and all tags.
    pub(super) const CHECKED: Range<usize> = 0..28;
    pub(super) const CRC: Range<usize> = 28..32;
    pub(super) const BYTES: usize = CRC.end;
    pub(super) const MAGIC_BYTES: &[u8; 4] = b"WWsm";
}

/// Bytes of a header.
pub(super) const HEADER_BYTES: usize = header::BYTES;

/// Bytes of the summary of a segment with `slots` slots.
pub(super) const fn summary_bytes(slots: u32) -> usize {
    summary::BYTES + slots as usize * TAG_BYTES
}

/// The fields of a summary before its tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SummaryHead {
    /// Times that the segment was erased.
    pub(super) erases: u32,
    /// Age clock when it was opened.
    pub(super) opened: u64,
    /// Class that it was opened for.
    pub(super) class: Class,
}

/// The header of a segment that was erased `erases` times.
pub(super) fn encode_header(version: u32, erases: u32, logical_pages: u32) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[header::MAGIC].copy_from_slice(header::MAGIC_BYTES);
    le::put(&mut bytes, header::VERSION, version.into());
    le::put(&mut bytes, header::ERASES, erases.into());
    le::put(&mut bytes, header::LOGICAL_PAGES, logical_pages.into());
    let crc = CRC32.checksum(&bytes[header::CHECKED]);
    le::put(&mut bytes, header::CRC, crc.into());
    bytes
}

/// Decodes a header. None if the first bytes of a page are not one. A header of version 1 has no capacity.
pub(super) fn decode_header(bytes: &[u8]) -> Option<SegmentHeader> {
    if bytes[header::MAGIC] != *header::MAGIC_BYTES {
        return None;
    }
    // The version is read before the code is checked, because it says where the code lies.
    let version = le::get_u32(bytes, header::VERSION);
    let (checked, crc) = match version < WITH_CAPACITY {
        true => (header::CHECKED_1, header::CRC_1),
        false => (header::CHECKED, header::CRC),
    };
    let is_good = le::get_u32(bytes, crc) == CRC32.checksum(&bytes[checked]);
    is_good.then(|| SegmentHeader {
        version,
        erases: le::get_u32(bytes, header::ERASES),
        logical_pages: le::get_u32(bytes, header::LOGICAL_PAGES),
    })
}

/// The summary of a segment, before its tags, of which there is one for each slot.
pub(super) fn encode_summary_head(version: u32, head: SummaryHead, tags: &[u8]) -> [u8; summary::BYTES] {
    let slots = tags.len() / TAG_BYTES;
    let mut bytes = [0; summary::BYTES];
    bytes[summary::MAGIC].copy_from_slice(summary::MAGIC_BYTES);
    le::put(&mut bytes, summary::VERSION, version.into());
    le::put(&mut bytes, summary::ERASES, head.erases.into());
    le::put(&mut bytes, summary::SLOTS, slots as u64);
    le::put(&mut bytes, summary::OPENED, head.opened);
    bytes[summary::CLASS] = head.class.0;
    let crc = summary_crc(&bytes, tags);
    le::put(&mut bytes, summary::CRC, crc.into());
    bytes
}

/// Decodes a summary of `slots` slots and its tags. None if the bytes are not a summary of one of these versions.
pub(super) fn decode_summary(bytes: &[u8], slots: u32, versions: RangeInclusive<u32>) -> Option<(SummaryHead, &[u8])> {
    let (bytes, tags) = bytes.get(..summary_bytes(slots))?.split_at(summary::BYTES);
    let is_good = bytes[summary::MAGIC] == *summary::MAGIC_BYTES
        && versions.contains(&le::get_u32(bytes, summary::VERSION))
        && le::get_u32(bytes, summary::SLOTS) == slots
        && le::get_u32(bytes, summary::CRC) == summary_crc(bytes, tags);
    is_good.then(|| {
        let head = SummaryHead {
            erases: le::get_u32(bytes, summary::ERASES),
            opened: le::get(bytes, summary::OPENED),
            class: Class(bytes[summary::CLASS]),
        };
        (head, tags)
    })
}

fn summary_crc(head: &[u8], tags: &[u8]) -> u32 {
    let mut digest = CRC32.digest();
    digest.update(&head[summary::CHECKED]);
    digest.update(tags);
    digest.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::Lpn;
    use crate::page::log::tag::Record;
    use crate::page::log::{Kind, Tag};

    #[test]
    fn the_header_of_the_spec_is_what_is_written() {
        let spec = wearwell_spec::dump("nand-header");
        assert_eq!(encode_header(VERSION, 3, 300).as_slice(), spec);
        assert_eq!(decode_header(&spec), Some(SegmentHeader { version: VERSION, logical_pages: 300, erases: 3 }));
    }

    #[test]
    fn the_summary_of_the_spec_is_what_is_written() {
        let head = SummaryHead { erases: 3, opened: 500, class: Class(2) };
        let page = Tag { lpn: Lpn(7), seq: 1000, class: Class(2), kind: Kind::Data };
        let tags = [Record::Page(page), Record::Pad].map(Record::encode).concat();
        let spec = wearwell_spec::dump("nand-summary");
        assert_eq!([&encode_summary_head(VERSION, head, &tags), tags.as_slice()].concat(), spec);
        assert_eq!(decode_summary(&spec, 2, Extra::Nothing.read_versions()), Some((head, tags.as_slice())));
        assert_eq!(decode_summary(&spec, 1, Extra::Nothing.read_versions()), None, "of a segment of another shape");
        assert_eq!(decode_summary(&spec, 2, Extra::Checkpoint.read_versions()), None, "of another layout");
    }
}
