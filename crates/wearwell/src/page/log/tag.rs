//! The 16 bytes that say what a page holds (SPEC.md, "The tag").

use super::{Kind, Tag};
use crate::addr::{Class, Lpn};
use crate::checksum::Rows;
use crate::le;

/// Offsets of the fields of a tag.
mod field {
    use core::ops::Range;

    pub(super) const LPN: Range<usize> = 0..4;
    pub(super) const SEQ: Range<usize> = 4..10;
    pub(super) const CLASS: usize = 10;
    pub(super) const KIND: usize = 11;
    pub(super) const CHECKED: Range<usize> = 0..12;
    pub(super) const CRC: Range<usize> = 12..16;
    pub(super) const BYTES: usize = CRC.end;
}

/// Values of the byte for the kind.
mod kind {
    pub(super) const DATA: u8 = b'D';
    pub(super) const LOST: u8 = b'L';
    pub(super) const CLEAN_MARK: u8 = b'C';
    pub(super) const RESCUE_MARK: u8 = b'R';
    pub(super) const CHECKPOINT: u8 = b'K';
    pub(super) const HEADER: u8 = b'H';
    pub(super) const SUMMARY: u8 = b'S';
    pub(super) const PAD: u8 = b'P';
}

/// Bytes of a tag.
pub(crate) const TAG_BYTES: usize = field::BYTES;

pub(crate) const CRC32: crc::Crc<u32, Rows> = crc::Crc::<u32, Rows>::new(&crc::CRC_32_ISO_HDLC);

/// The code of bytes that come piece by piece.
pub(crate) type CodeOfMany = crc::Digest<'static, u32, Rows>;

/// The tag of a programmed page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record {
    /// A page of the engine.
    Page(Tag),
    /// The segment's header.
    Header,
    /// A part of the segment's summary.
    Summary,
    /// Padding, which keeps later programs away from earlier pages.
    Pad,
}

impl Record {
    pub(super) fn encode(self) -> [u8; TAG_BYTES] {
        let (lpn, seq, class, kind) = match self {
            Self::Page(tag) => (tag.lpn.0, tag.seq, tag.class.0, kind_byte(tag.kind)),
            Self::Header => (0, 0, 0, kind::HEADER),
            Self::Summary => (0, 0, 0, kind::SUMMARY),
            Self::Pad => (0, 0, 0, kind::PAD),
        };
        debug_assert!(seq < 1 << 48, "sequence numbers have 48 bits");
        let mut bytes = [0; TAG_BYTES];
        le::put(&mut bytes, field::LPN, lpn.into());
        le::put(&mut bytes, field::SEQ, seq);
        bytes[field::CLASS] = class;
        bytes[field::KIND] = kind;
        let crc = CRC32.checksum(&bytes[field::CHECKED]);
        le::put(&mut bytes, field::CRC, crc.into());
        bytes
    }

    /// The tag, if it is the tag of an engine's page.
    pub(super) fn page(self) -> Option<Tag> {
        match self {
            Self::Page(tag) => Some(tag),
            Self::Header | Self::Summary | Self::Pad => None,
        }
    }

    /// Decodes a tag. None if the bytes are not a tag.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; TAG_BYTES] = bytes.get(..TAG_BYTES)?.try_into().ok()?;
        if le::get_u32(bytes, field::CRC) != CRC32.checksum(&bytes[field::CHECKED]) {
            return None;
        }
        let kind = match bytes[field::KIND] {
            kind::HEADER => return Some(Self::Header),
            kind::SUMMARY => return Some(Self::Summary),
            kind::PAD => return Some(Self::Pad),
            kind::DATA => Kind::Data,
            kind::LOST => Kind::Lost,
            kind::CLEAN_MARK => Kind::CleanMark,
            kind::RESCUE_MARK => Kind::RescueMark,
            kind::CHECKPOINT => Kind::Checkpoint,
            _ => return None,
        };
        Some(Self::Page(Tag {
            lpn: Lpn(le::get_u32(bytes, field::LPN)),
            seq: le::get(bytes, field::SEQ),
            class: Class(bytes[field::CLASS]),
            kind,
        }))
    }
}

fn kind_byte(kind: Kind) -> u8 {
    match kind {
        Kind::Data => kind::DATA,
        Kind::Lost => kind::LOST,
        Kind::CleanMark => kind::CLEAN_MARK,
        Kind::RescueMark => kind::RESCUE_MARK,
        Kind::Checkpoint => kind::CHECKPOINT,
    }
}

/// True if all bytes are ones, as after an erase.
pub(crate) fn is_erased(bytes: &[u8]) -> bool {
    bytes.iter().all(|&b| b == 0xFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_read_back_and_every_flipped_bit_shows() {
        let tag = Tag { lpn: Lpn(0xDEAD_BEEF), seq: 0xABCD_EF01_2345, class: Class(7), kind: Kind::Lost };
        for record in [Record::Page(tag), Record::Header, Record::Summary, Record::Pad] {
            let bytes = record.encode();
            assert_eq!(Record::decode(&bytes), Some(record));
            for bit in 0..TAG_BYTES * 8 {
                let mut damaged = bytes;
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Record::decode(&damaged), None);
            }
        }
        assert_eq!(Record::decode(&[0xFF; TAG_BYTES]), None);
        assert_eq!(Record::decode(&[0; TAG_BYTES]), None);
    }

    #[test]
    fn the_tag_of_the_spec_is_what_is_written() {
        let tag = Tag { lpn: Lpn(7), seq: 1000, class: Class(2), kind: Kind::Data };
        let spec = wearwell_spec::dump("nand-tag");
        assert_eq!(Record::Page(tag).encode().as_slice(), spec);
        assert_eq!(Record::decode(&spec), Some(Record::Page(tag)));
    }
}
