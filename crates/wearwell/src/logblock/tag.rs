//! The 16 bytes beside every page that say what it holds (SPEC.md, "Block mapping").

use crate::addr::Lpn;
use crate::checksum::Rows;
use crate::le;

/// Where the fields of a tag lie.
mod field {
    use core::ops::Range;

    pub(super) const LPN: Range<usize> = 0..4;
    pub(super) const SEQ: Range<usize> = 4..9;
    /// The erase count or the capacity, as a flag says.
    pub(super) const COUNT: Range<usize> = 9..12;
    pub(super) const FLAGS: usize = 12;
    pub(super) const CHECKED: Range<usize> = 0..13;
    pub(super) const CRC: Range<usize> = 13..16;
    pub(super) const BYTES: usize = CRC.end;
}

/// What the byte of flags is made of.
mod flag {
    /// What the page says about its block.
    pub(super) const ROLE: u8 = 0b0000_0111;
    /// Set since version 2 of the layout.
    pub(super) const VERSION_2: u8 = 0b0000_1000;
    /// What the page holds.
    pub(super) const KIND: u8 = 0b0111_0000;
    /// Set where the count is the capacity.
    pub(super) const CAPACITY: u8 = 0b1000_0000;
    /// The role in every tag of a later version, whose number is then the first byte of the count.
    pub(super) const LATER: u8 = 7;
}

/// Bytes of a tag.
pub(super) const TAG_BYTES: usize = field::BYTES;

/// Sequence numbers have 40 bits: at 4 KiB a page, the last is reached after 4 PiB of writes.
pub(super) const MAX_SEQ: u64 = (1 << 40) - 1;

/// A tag holds the lowest 24 bits of the capacity.
const CAPACITY_MASK: u32 = (1 << 24) - 1;

/// Erase counts have 24 bits, far more than any chip lasts.
const MAX_ERASES: u32 = (1 << 24) - 1;

/// The erase count of a tag that says the capacity in its place: no count that can be believed.
const NO_ERASES: u32 = u32::MAX;

const CRC24: crc::Crc<u32, Rows> = crc::Crc::<u32, Rows>::new(&crc::CRC_24_OPENPGP);

/// What a page holds: the kind in its tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Content {
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

const CONTENTS: [Content; 6] =
    [Content::Data, Content::Trim, Content::Lost, Content::Pad, Content::CleanMark, Content::Dead];
const ROLES: [Role; 6] = [Role::Plain, Role::LogHead, Role::MergeHead, Role::Commit, Role::CommitHoles, Role::InPlace];

impl Role {
    /// True if the page ends a complete data block.
    pub fn is_commit(self) -> bool {
        matches!(self, Self::Commit | Self::CommitHoles)
    }

    /// True if page `page` of a block says the capacity, and not how often the block was erased. The pages that a mount
    /// asks for the erase count are the others: the first and the last of a block, and of a primary block, any of which
    /// may be missing, every second one.
    fn says_capacity(self, page: u32) -> bool {
        match self {
            Self::Plain => true,
            Self::InPlace => page % 2 == 1,
            Self::LogHead | Self::MergeHead | Self::Commit | Self::CommitHoles => false,
        }
    }
}

/// What is recorded of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// The logical page; for a page that is none, the one of that place in its logical block.
    pub lpn: Lpn,
    /// The order of writes. A copy keeps the number of its data, but the last page of a merge has one of its own.
    pub seq: u64,
    /// Times that the block was erased. Not every tag records it: some have the capacity in its place.
    pub erases: u32,
    /// What the page holds.
    pub kind: Content,
    /// What it says of its block.
    pub role: Role,
}

/// What 16 bytes beside a page say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decoded {
    /// A tag of this version, and the lowest 24 bits of the capacity where it says them.
    Tag(Tag, Option<u32>),
    /// A tag of another version.
    OtherVersion(u32),
}

impl Tag {
    /// True if the two pages hold the same version of a logical page. A page with a commit is a copy of none.
    pub(super) fn is_copy_of(&self, other: &Self) -> bool {
        (self.lpn, self.seq) == (other.lpn, other.seq)
    }

    /// True if this was read and says how often its own block was erased.
    pub(super) fn says_erases(&self) -> bool {
        self.role != Role::Plain && self.erases != NO_ERASES
    }

    /// True if this was read and says the capacity.
    pub(super) fn says_capacity(&self) -> bool {
        self.erases == NO_ERASES
    }

    /// The tag of page `page` of a block, on a device of so many logical pages.
    pub(super) fn encode(&self, page: u32, logical_pages: u32) -> [u8; TAG_BYTES] {
        debug_assert!(self.seq <= MAX_SEQ, "a device lives for fewer writes");
        let (count, capacity) = match self.role.says_capacity(page) {
            true => (logical_pages & CAPACITY_MASK, flag::CAPACITY),
            false => (self.erases.min(MAX_ERASES), 0),
        };
        let mut bytes = [0; TAG_BYTES];
        le::put(&mut bytes, field::LPN, self.lpn.0.into());
        le::put(&mut bytes, field::SEQ, self.seq);
        le::put(&mut bytes, field::COUNT, count.into());
        let kind = (self.kind as u8) << flag::KIND.trailing_zeros();
        bytes[field::FLAGS] = capacity | kind | flag::VERSION_2 | self.role as u8;
        let crc = CRC24.checksum(&bytes[field::CHECKED]);
        le::put(&mut bytes, field::CRC, crc.into());
        bytes
    }

    /// None if the bytes are no tag.
    pub(super) fn decode(bytes: &[u8]) -> Option<Decoded> {
        let bytes: &[u8; TAG_BYTES] = bytes.get(..TAG_BYTES)?.try_into().ok()?;
        if le::get_u32(bytes, field::CRC) != CRC24.checksum(&bytes[field::CHECKED]) {
            return None;
        }
        let (flags, count) = (bytes[field::FLAGS], le::get_u32(bytes, field::COUNT));
        // Spec B2.
        if flags & flag::VERSION_2 == 0 {
            return Some(Decoded::OtherVersion(1));
        }
        if flags & flag::ROLE == flag::LATER {
            return Some(Decoded::OtherVersion(bytes[field::COUNT.start].into()));
        }
        let says_capacity = flags & flag::CAPACITY != 0;
        let kind = (flags & flag::KIND) >> flag::KIND.trailing_zeros();
        let tag = Self {
            lpn: Lpn(le::get_u32(bytes, field::LPN)),
            seq: le::get(bytes, field::SEQ),
            erases: if says_capacity { NO_ERASES } else { count },
            kind: *CONTENTS.iter().find(|&&known| known as u8 == kind)?,
            role: *ROLES.iter().find(|&&role| role as u8 == flags & flag::ROLE)?,
        };
        Some(Decoded::Tag(tag, says_capacity.then_some(count)))
    }
}

/// The capacity that a tag says on a device that is asked for one: the highest bits, which a tag has no room for, are
/// those of the one asked for.
pub(super) fn capacity_said(said: u32, asked: u32) -> u32 {
    asked & !CAPACITY_MASK | said
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGICAL_PAGES: u32 = 0x65_4321;

    fn tag(kind: Content, role: Role) -> Tag {
        Tag { lpn: Lpn(0xDEAD_BEEF), seq: 0xAB_CDEF_0123, erases: 0x12_3456, kind, role }
    }

    #[test]
    fn tags_read_back_and_every_flipped_bit_shows() {
        for (kind, role) in CONTENTS.into_iter().flat_map(|kind| ROLES.map(|role| (kind, role))) {
            for page in [0, 1] {
                let tag = tag(kind, role);
                let bytes = tag.encode(page, LOGICAL_PAGES);
                let read = match role.says_capacity(page) {
                    true => Decoded::Tag(Tag { erases: NO_ERASES, ..tag }, Some(LOGICAL_PAGES)),
                    false => Decoded::Tag(tag, None),
                };
                assert_eq!(Tag::decode(&bytes), Some(read));
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

    #[test]
    fn tags_of_other_versions_are_told_from_damage() {
        let mut bytes = tag(Content::Data, Role::LogHead).encode(0, LOGICAL_PAGES);
        let mut with_flags = |flags: u8| {
            bytes[field::FLAGS] = flags;
            let crc = CRC24.checksum(&bytes[field::CHECKED]);
            le::put(&mut bytes, field::CRC, crc.into());
            Tag::decode(&bytes)
        };
        // The first version had the kind in the upper half of the byte and the role in the lower.
        assert_eq!(with_flags(0x12), Some(Decoded::OtherVersion(1)));
        assert_eq!(with_flags(flag::VERSION_2 | flag::LATER), Some(Decoded::OtherVersion(0x56)));
        assert_eq!(with_flags(flag::VERSION_2 | Role::Plain as u8), None, "kind 0");
    }

    #[test]
    fn the_tags_of_the_spec_are_what_is_written() {
        let head = Tag { lpn: Lpn(7), seq: 1000, erases: 3, kind: Content::Data, role: Role::LogHead };
        let spec = wearwell_spec::dump("block-tag-head");
        assert_eq!(head.encode(0, 300).as_slice(), spec);
        assert_eq!(Tag::decode(&spec), Some(Decoded::Tag(head, None)));
        let plain = Tag { lpn: Lpn(8), seq: 1001, erases: NO_ERASES, kind: Content::Data, role: Role::Plain };
        let spec = wearwell_spec::dump("block-tag-plain");
        assert_eq!(plain.encode(1, 300).as_slice(), spec);
        assert_eq!(Tag::decode(&spec), Some(Decoded::Tag(plain, Some(300))));
    }
}
