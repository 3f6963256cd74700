//! The 16 bytes beside every page that say what it holds.

use crate::addr::Lpn;

/// Bytes of a tag: LPN (4), sequence (5), erase count (3), kind and role (1), CRC-24 of these (3), little-endian.
pub(super) const TAG_BYTES: usize = 16;

/// Sequence numbers have 40 bits: at 4 KiB a page, the last is reached after 4 PiB of writes.
pub(super) const MAX_SEQ: u64 = (1 << 40) - 1;

/// Erase counts have 24 bits, far more than any chip lasts.
const MAX_ERASES: u32 = (1 << 24) - 1;

const CRC24: crc::Crc<u32, crc::Table<16>> = crc::Crc::<u32, crc::Table<16>>::new(&crc::CRC_24_OPENPGP);

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Data of the logical page.
    Data = 1,
    /// A bitmap of the logical block's pages that hold nothing: discards, made durable.
    Trim = 2,
    /// Nothing: its data was lost, and reading the logical page is an error until it is written again.
    Lost = 3,
    /// Nothing at all: the page had to be programmed, or skipped.
    Pad = 4,
    /// The device was shut down in good order.
    CleanMark = 5,
    /// A bitmap of the logical blocks that hold nothing, though what they held is not erased yet: everything in them
    /// that is older is dead.
    Dead = 6,
}

/// What a page says about its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// Nothing; a page copied within the chip may keep this from the block it comes from.
    Plain = 1,
    /// First page of a log block.
    LogHead = 2,
    /// First page of a block that a merge fills.
    MergeHead = 3,
    /// Last page of a data block, programmed once all others are: every logical page is in it.
    Commit = 4,
    /// The same for a data block that lacks some pages.
    CommitHoles = 5,
    /// A page at its own place in a primary block.
    InPlace = 6,
}

const KINDS: [Kind; 6] = [Kind::Data, Kind::Trim, Kind::Lost, Kind::Pad, Kind::CleanMark, Kind::Dead];
const ROLES: [Role; 6] = [Role::Plain, Role::LogHead, Role::MergeHead, Role::Commit, Role::CommitHoles, Role::InPlace];

impl Role {
    /// True if the page ends a complete data block.
    pub fn is_commit(self) -> bool {
        matches!(self, Self::Commit | Self::CommitHoles)
    }
}

/// What is recorded of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// The logical page; for a page that is none, the one of that place in its logical block.
    pub lpn: Lpn,
    /// The order of writes. A copy keeps the number of its data, but the last page of a merge has one of its own.
    pub seq: u64,
    /// Times that the block was erased, in pages with a role; elsewhere that of some other block.
    pub erases: u32,
    /// What the page holds.
    pub kind: Kind,
    /// What it says of its block.
    pub role: Role,
}

impl Tag {
    pub(super) fn encode(&self) -> [u8; TAG_BYTES] {
        debug_assert!(self.seq <= MAX_SEQ, "a device lives for fewer writes");
        let mut bytes = [0; TAG_BYTES];
        bytes[..4].copy_from_slice(&self.lpn.0.to_le_bytes());
        bytes[4..9].copy_from_slice(&self.seq.to_le_bytes()[..5]);
        bytes[9..12].copy_from_slice(&self.erases.min(MAX_ERASES).to_le_bytes()[..3]);
        bytes[12] = (self.kind as u8) << 4 | self.role as u8;
        let crc = CRC24.checksum(&bytes[..13]);
        bytes[13..].copy_from_slice(&crc.to_le_bytes()[..3]);
        bytes
    }

    /// None if the bytes are no tag.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; TAG_BYTES] = bytes.get(..TAG_BYTES)?.try_into().ok()?;
        if bytes[13..] != CRC24.checksum(&bytes[..13]).to_le_bytes()[..3] {
            return None;
        }
        Some(Self {
            lpn: Lpn(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
            seq: u64::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], 0, 0, 0]),
            erases: u32::from_le_bytes([bytes[9], bytes[10], bytes[11], 0]),
            kind: *KINDS.iter().find(|&&kind| kind as u8 == bytes[12] >> 4)?,
            role: *ROLES.iter().find(|&&role| role as u8 == bytes[12] & 15)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_read_back_and_every_flipped_bit_shows() {
        for kind in KINDS {
            for role in ROLES {
                let tag = Tag { lpn: Lpn(0xDEAD_BEEF), seq: 0xAB_CDEF_0123, erases: 0x12_3456, kind, role };
                let bytes = tag.encode();
                assert_eq!(Tag::decode(&bytes), Some(tag));
                for bit in 0..TAG_BYTES * 8 {
                    let mut damaged = bytes;
                    damaged[bit / 8] ^= 1 << (bit % 8);
                    assert_eq!(Tag::decode(&damaged), None);
                }
            }
        }
        assert_eq!(Tag::decode(&[0xFF; TAG_BYTES]), None);
        assert_eq!(Tag::decode(&[0; TAG_BYTES]), None);
    }
}
