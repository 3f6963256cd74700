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
    /// In tags since version 3, in place of the count: the version, and the pages that a commit with gaps has.
    pub(super) const VERSION: usize = 9;
    pub(super) const HELD: Range<usize> = 10..12;
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
    /// The role in every tag that is new since version 2: its first version is in the place of the count.
    pub(super) const LATER: u8 = 7;
}

/// The version of the layout that knows [`Role::CommitHoles`] with its pages counted.
const VERSION: u8 = 3;

/// The role of a commit with gaps in version 2, which did not say how many pages it has.
const UNCOUNTED_HOLES: u8 = 5;

/// Bytes of a tag.
pub(super) const TAG_BYTES: usize = field::BYTES;

/// Sequence numbers have 40 bits: at 4 KiB a page, the last is reached after 4 PiB of writes.
pub(super) const MAX_SEQ: u64 = (1 << 40) - 1;

/// A tag holds the lowest 24 bits of the capacity.
const CAPACITY_MASK: u32 = (1 << 24) - 1;

/// Erase counts have 24 bits, far more than any chip lasts.
const MAX_ERASES: u32 = (1 << 24) - 1;

/// The erase count of a tag that says something else in its place: no count that can be believed.
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
pub enum Role {
    /// Nothing; a page copied within the chip may keep this from the block it comes from.
    Plain,
    /// First page of a log block.
    LogHead,
    /// First page of a block that a merge fills.
    MergeHead,
    /// Last page of a data block, programmed once all others are: every logical page is in it.
    Commit,
    /// The same for a data block that lacks some pages.
    CommitHoles {
        /// Pages of the block that were programmed before this one: if fewer are left, it was being erased.
        held: u16,
    },
    /// A page at its own place in a primary block.
    InPlace,
}

const CONTENTS: [Content; 6] =
    [Content::Data, Content::Trim, Content::Lost, Content::Pad, Content::CleanMark, Content::Dead];
const ROLES: [(u8, Role); 5] =
    [(1, Role::Plain), (2, Role::LogHead), (3, Role::MergeHead), (4, Role::Commit), (6, Role::InPlace)];

impl Role {
    /// The commit of a data block that lacks pages, of which so many were programmed before it.
    pub(super) fn commit_with_gaps(held: u32) -> Self {
        Self::CommitHoles { held: held.try_into().unwrap_or(u16::MAX) }
    }

    /// True if the page ends a complete data block.
    pub fn is_commit(self) -> bool {
        matches!(self, Self::Commit | Self::CommitHoles { .. })
    }

    /// Its bits in the byte of flags.
    fn code(self) -> u8 {
        // `CommitHoles` is not among these. Its code is that of every tag that is new since version 2.
        ROLES.iter().find(|&&(_, role)| role == self).map_or(flag::LATER, |&(code, _)| code)
    }

    /// True if page `page` of a block says the capacity, and not how often the block was erased. The pages that a mount
    /// asks for the erase count are the others: the first and the last of a block, and of a primary block, any of which
    /// may be missing, every second one.
    fn says_capacity(self, page: u32) -> bool {
        match self {
            Self::Plain => true,
            Self::InPlace => page % 2 == 1,
            Self::LogHead | Self::MergeHead | Self::Commit | Self::CommitHoles { .. } => false,
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
    /// Times that the block was erased. Not every tag records it: some have something else in its place.
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
        // A plain page may be a copy, with the count of the block that it comes from.
        self.role != Role::Plain && self.erases != NO_ERASES
    }

    /// True if this was read and says the capacity.
    pub(super) fn says_capacity(&self) -> bool {
        self.erases == NO_ERASES && !self.role.is_commit()
    }

    /// The tag of page `page` of a block, on a device of so many logical pages.
    pub(super) fn encode(&self, page: u32, logical_pages: u32) -> [u8; TAG_BYTES] {
        debug_assert!(self.seq <= MAX_SEQ, "a device lives for fewer writes");
        let (count, capacity) = match self.role.says_capacity(page) {
            true => (logical_pages & CAPACITY_MASK, flag::CAPACITY),
            // No mount believes a count as great (B6), so nothing is lost where it is cut off.
            false => (self.erases.min(MAX_ERASES), 0),
        };
        let mut bytes = [0; TAG_BYTES];
        le::put(&mut bytes, field::LPN, self.lpn.0.into());
        le::put(&mut bytes, field::SEQ, self.seq);
        le::put(&mut bytes, field::COUNT, count.into());
        // These two fields take the place of the whole count.
        if let Role::CommitHoles { held } = self.role {
            bytes[field::VERSION] = VERSION;
            le::put(&mut bytes, field::HELD, held.into());
        }
        let kind = (self.kind as u8) << flag::KIND.trailing_zeros();
        bytes[field::FLAGS] = capacity | kind | flag::VERSION_2 | self.role.code();
        let crc = CRC24.checksum(&bytes[field::CHECKED]);
        le::put(&mut bytes, field::CRC, crc.into());
        bytes
    }

    /// None if the bytes are no tag.
    pub(super) fn decode(bytes: &[u8]) -> Option<Decoded> {
        let bytes: &[u8; TAG_BYTES] = bytes.get(..TAG_BYTES)?.try_into().ok()?;
        // An erased page fails here, too. `Pages` tells it from a damaged one.
        if le::get_u32(bytes, field::CRC) != CRC24.checksum(&bytes[field::CHECKED]) {
            return None;
        }
        let (flags, count) = (bytes[field::FLAGS], le::get_u32(bytes, field::COUNT));
        // Spec B2.
        if flags & flag::VERSION_2 == 0 {
            return Some(Decoded::OtherVersion(1));
        }
        let says_capacity = flags & flag::CAPACITY != 0;
        let role = match flags & flag::ROLE {
            flag::LATER if bytes[field::VERSION] == VERSION => {
                Role::CommitHoles { held: le::get(bytes, field::HELD) as u16 }
            }
            flag::LATER => return Some(Decoded::OtherVersion(bytes[field::VERSION].into())),
            // Version 2 did not count them. With 0 none is missing, and a mount goes by the first page only.
            UNCOUNTED_HOLES => Role::CommitHoles { held: 0 },
            code => ROLES.iter().find(|(known, _)| *known == code)?.1,
        };
        // In a tag that is new since version 2, the version stands in place of the count.
        let says_erases = !says_capacity && flags & flag::ROLE != flag::LATER;
        let kind = (flags & flag::KIND) >> flag::KIND.trailing_zeros();
        let tag = Self {
            lpn: Lpn(le::get_u32(bytes, field::LPN)),
            seq: le::get(bytes, field::SEQ),
            erases: if says_erases { count } else { NO_ERASES },
            kind: *CONTENTS.iter().find(|&&known| known as u8 == kind)?,
            role,
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
        let roles = ROLES.into_iter().map(|(_, role)| role).chain([Role::CommitHoles { held: 0x1234 }]);
        for (role, kind) in roles.flat_map(|role| CONTENTS.map(|kind| (role, kind))) {
            for page in [0, 1] {
                let tag = tag(kind, role);
                let bytes = tag.encode(page, LOGICAL_PAGES);
                let uncounted = Tag { erases: NO_ERASES, ..tag };
                let read = match role {
                    Role::CommitHoles { .. } => Decoded::Tag(uncounted, None),
                    _ if role.says_capacity(page) => Decoded::Tag(uncounted, Some(LOGICAL_PAGES)),
                    _ => Decoded::Tag(tag, None),
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
        let with_gaps = flag::VERSION_2 | (Content::Data as u8) << flag::KIND.trailing_zeros() | UNCOUNTED_HOLES;
        let read = tag(Content::Data, Role::CommitHoles { held: 0 });
        assert_eq!(with_flags(with_gaps), Some(Decoded::Tag(read, None)), "version 2 counts erases there");
        assert_eq!(with_flags(flag::VERSION_2 | Role::Plain.code()), None, "kind 0");
    }

    #[test]
    fn the_tags_of_the_spec_are_what_is_written() {
        let head = Tag { lpn: Lpn(7), seq: 1000, erases: 3, kind: Content::Data, role: Role::LogHead };
        let spec = wearwell_spec::dump("block-tag-head");
        assert_eq!(head.encode(0, 300).as_slice(), spec);
        assert_eq!(Tag::decode(&spec), Some(Decoded::Tag(head, None)));
        let role = Role::CommitHoles { held: 5 };
        let commit = Tag { lpn: Lpn(15), seq: 1002, erases: NO_ERASES, kind: Content::Pad, role };
        let spec = wearwell_spec::dump("block-tag-commit");
        assert_eq!(commit.encode(7, 300).as_slice(), spec);
        assert_eq!(Tag::decode(&spec), Some(Decoded::Tag(commit, None)));
        let plain = Tag { lpn: Lpn(8), seq: 1001, erases: NO_ERASES, kind: Content::Data, role: Role::Plain };
        let spec = wearwell_spec::dump("block-tag-plain");
        assert_eq!(plain.encode(1, 300).as_slice(), spec);
        assert_eq!(Tag::decode(&spec), Some(Decoded::Tag(plain, Some(300))));
    }
}
