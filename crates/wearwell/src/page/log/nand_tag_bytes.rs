//! The bytes of a tag page, and of a page that stands for one of ones (SPEC.md, "Tag pages").

use super::tag::{CRC32, TAG_BYTES};
use crate::addr::Seg;
use crate::le;

/// Offsets of the fields of a tag page, before its tags.
mod head {
    use core::ops::Range;

    pub(super) const MAGIC: Range<usize> = 0..4;
    pub(super) const CODE: Range<usize> = 4..8;
    pub(super) const FIRST: Range<usize> = 8..12;
    pub(super) const RESCUE_END: Range<usize> = 12..16;
    pub(super) const BYTES: usize = RESCUE_END.end;
    pub(super) const MAGIC_BYTES: &[u8; 4] = b"WWtg";
    /// The first bytes of a page that stands for one of ones. The code is next.
    pub(super) const ONES_BYTES: &[u8; 4] = b"WWff";
}

/// Tags that fit a page of so many bytes.
pub(super) const fn most_tags(page_bytes: u32) -> u32 {
    (page_bytes - head::BYTES as u32) / TAG_BYTES as u32
}

/// What a tag page says before its tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GroupHead {
    /// The slot of the first tag.
    pub(super) first: u32,
    /// The slot behind the last copy, if a rescue fills the segment; otherwise 0.
    pub(super) rescue_end: u32,
}

/// Code of bytes of the page of a slot.
fn code_at(seg: Seg, slot: u32, bytes: &[u8]) -> u32 {
    let mut digest = CRC32.digest();
    digest.update(&seg.0.to_le_bytes());
    digest.update(&slot.to_le_bytes());
    digest.update(bytes);
    digest.finalize()
}

/// Fills a page with the tags of the slots from `head.first` to the one before `slot`, its own.
pub(super) fn encode_group(page: &mut [u8], seg: Seg, slot: u32, head: GroupHead, tags: &[u8]) {
    let end = head::BYTES + tags.len();
    page[head::MAGIC].copy_from_slice(head::MAGIC_BYTES);
    le::put(page, head::FIRST, head.first.into());
    le::put(page, head::RESCUE_END, head.rescue_end.into());
    page[head::BYTES..end].copy_from_slice(tags);
    page[end..].fill(0);
    let code = code_at(seg, slot, &page[head::CODE.end..end]);
    le::put(page, head::CODE, code.into());
}

/// Decodes the tag page in slot `slot`, and its tags. None if the bytes are no tag page of that place.
pub(super) fn decode_group(page: &[u8], seg: Seg, slot: u32) -> Option<(GroupHead, &[u8])> {
    if page.get(head::MAGIC) != Some(head::MAGIC_BYTES) || page.len() < head::BYTES {
        return None;
    }
    let (first, rescue_end) = (le::get_u32(page, head::FIRST), le::get_u32(page, head::RESCUE_END));
    // `first` may be anything until the code is checked, so none of this may panic.
    let tags = page.get(head::BYTES..head::BYTES + slot.checked_sub(first)? as usize * TAG_BYTES)?;
    let is_good = le::get_u32(page, head::CODE) == code_at(seg, slot, &page[head::CODE.end..][..8 + tags.len()]);
    is_good.then_some((GroupHead { first, rescue_end }, tags))
}

/// Fills a page with what stands in slot `slot` for a page of ones.
pub(super) fn encode_ones(page: &mut [u8], seg: Seg, slot: u32) {
    page.fill(0);
    page[head::MAGIC].copy_from_slice(head::ONES_BYTES);
    le::put(page, head::CODE, code_at(seg, slot, &[]).into());
}

/// True if the page in slot `slot` stands for one of ones.
pub(super) fn is_for_ones(page: &[u8], seg: Seg, slot: u32) -> bool {
    page.len() >= head::CODE.end
        && page[head::MAGIC] == *head::ONES_BYTES
        && le::get_u32(page, head::CODE) == code_at(seg, slot, &[])
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::addr::{Class, Lpn};
    use crate::page::log::tag::Record;
    use crate::page::log::{Kind, Tag};

    /// Segment 5, slot 2, behind logical page 7 under number 1000, and padding.
    fn page_of_the_spec(page: &mut [u8]) -> Vec<u8> {
        let tag = Tag { lpn: Lpn(7), seq: 1000, class: Class(2), kind: Kind::Data };
        let tags = [Record::Page(tag), Record::Pad].map(Record::encode).concat();
        encode_group(page, Seg(5), 2, GroupHead { first: 0, rescue_end: 0 }, &tags);
        tags
    }

    #[test]
    fn the_tag_page_of_the_spec_is_what_is_written() {
        let mut page = [0xAA; 512];
        let tags = page_of_the_spec(&mut page);
        let spec = wearwell_spec::dump("nand-tag-page");
        assert_eq!(page[..spec.len()], spec);
        assert!(page[spec.len()..].iter().all(|&byte| byte == 0), "the rest is zeros");
        let head = GroupHead { first: 0, rescue_end: 0 };
        assert_eq!(decode_group(&page, Seg(5), 2), Some((head, tags.as_slice())));
    }

    #[test]
    fn a_tag_page_is_one_at_its_place_only_and_every_flipped_bit_shows() {
        let mut page = [0; 512];
        page_of_the_spec(&mut page);
        for slot in [0, 1, 3, 10] {
            assert_eq!(decode_group(&page, Seg(5), slot), None, "in slot {slot}");
        }
        assert_eq!(decode_group(&page, Seg(4), 2), None, "in another segment");
        for bit in 0..48 * 8 {
            let mut damaged = page;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode_group(&damaged, Seg(5), 2), None, "without bit {bit}");
        }
        for (first, len) in [(u32::MAX, 512), (3, 512), (0, 40), (0, 3)] {
            le::put(&mut page, head::FIRST, first.into());
            assert_eq!(decode_group(&page[..len], Seg(5), 2), None, "nothing is read beyond its end");
        }
    }

    #[test]
    fn the_page_of_the_spec_stands_for_ones_at_its_place() {
        let mut page = [0xFF; 512];
        encode_ones(&mut page, Seg(5), 2);
        let spec = wearwell_spec::dump("nand-ones");
        assert_eq!(page[..spec.len()], spec);
        assert!(is_for_ones(&page, Seg(5), 2));
        assert!(!is_for_ones(&page, Seg(5), 3) && !is_for_ones(&page, Seg(6), 2), "it stands at one place");
    }
}
