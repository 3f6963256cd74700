//! The 16 bytes that say what a page holds.

use super::{Kind, Tag};
use crate::addr::{Class, Lpn};

/// Bytes of a tag: LPN (4), sequence (6), class (1), kind (1), CRC-32 of these (4), little-endian.
pub(super) const TAG_BYTES: usize = 16;

/// A table of 16 × 256 entries: a tag is checked with every page that a mount scans.
pub(super) const CRC32: crc::Crc<u32, crc::Table<16>> = crc::Crc::<u32, crc::Table<16>>::new(&crc::CRC_32_ISO_HDLC);

const HEADER: u8 = 0x48;
const SUMMARY: u8 = 0x53;
const PAD: u8 = 0x50;

/// What the tag of a programmed page says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record {
    /// A page of the engine's.
    Page(Tag),
    /// The segment's header.
    Header,
    /// A part of the segment's summary.
    Summary,
    /// Nothing: it keeps later programs away from earlier pages.
    Pad,
}

impl Record {
    pub(super) fn encode(self) -> [u8; TAG_BYTES] {
        let (lpn, seq, class, kind) = match self {
            Self::Page(tag) => (tag.lpn.0, tag.seq, tag.class.0, kind_byte(tag.kind)),
            Self::Header => (0, 0, 0, HEADER),
            Self::Summary => (0, 0, 0, SUMMARY),
            Self::Pad => (0, 0, 0, PAD),
        };
        debug_assert!(seq < 1 << 48, "sequence numbers have 48 bits");
        let mut bytes = [0; TAG_BYTES];
        bytes[..4].copy_from_slice(&lpn.to_le_bytes());
        bytes[4..10].copy_from_slice(&seq.to_le_bytes()[..6]);
        bytes[10] = class;
        bytes[11] = kind;
        let crc = CRC32.checksum(&bytes[..12]);
        bytes[12..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// None if the bytes are no tag.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; TAG_BYTES] = bytes.get(..TAG_BYTES)?.try_into().ok()?;
        let crc = u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
        if crc != CRC32.checksum(&bytes[..12]) {
            return None;
        }
        let kind = match bytes[11] {
            HEADER => return Some(Self::Header),
            SUMMARY => return Some(Self::Summary),
            PAD => return Some(Self::Pad),
            byte => [Kind::Data, Kind::Lost, Kind::CleanMark, Kind::RescueMark]
                .into_iter()
                .find(|&k| kind_byte(k) == byte)?,
        };
        Some(Self::Page(Tag {
            lpn: Lpn(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
            seq: u64::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9], 0, 0]),
            class: Class(bytes[10]),
            kind,
        }))
    }
}

fn kind_byte(kind: Kind) -> u8 {
    match kind {
        Kind::Data => 0x44,
        Kind::Lost => 0x4C,
        Kind::CleanMark => 0x43,
        Kind::RescueMark => 0x52,
    }
}

/// True if all bytes are ones, as after an erase.
pub(super) fn is_erased(bytes: &[u8]) -> bool {
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
}
