//! The groups of open segments on a chip with [tag pages](super::nand_tag_pages): which pages have no tag page yet.

use alloc::vec::Vec;

use super::nand_tag_bytes::most_tags;
use super::{LogShape, Tag};
use crate::addr::{Ppn, Seg};

/// Least pages of a full group, if a segment has as many.
const LEAST_PAGES: u32 = 2;

/// Full groups that a segment is divided into, if the tags of each fit a page. Each costs a page. More than a third of
/// a segment could not be rescued together with what is left in other open segments.
const GROUPS: u32 = 3;

/// The last group of an open segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    pub(super) seg: Seg,
    /// The slot behind the last tag page.
    pub(super) first: u32,
    /// The same of the group before.
    pub(super) before: u32,
    /// Pages of the engine's behind the last tag page.
    pub(super) pending: u32,
    pub(super) rescue_end: u32,
    /// Nothing will be appended to the segment any more.
    pub(super) is_given_up: bool,
}

impl Group {
    pub(super) const fn new(seg: Seg) -> Self {
        Self { seg, first: 0, before: 0, pending: 0, rescue_end: 0, is_given_up: false }
    }
}

/// Whether a log has tag pages on chips that need them: by default the chip decides (`Option<TagPages>`). A type, so
/// that a log that never has any takes neither code nor memory for them.
pub trait TagPlace {
    /// A scan looks at slots behind erased ones, too, where an erase may have begun.
    #[doc(hidden)]
    const LOOKS_BEHIND_GAPS: bool;
    #[doc(hidden)]
    fn get(&self) -> Option<&TagPages>;
    #[doc(hidden)]
    fn get_mut(&mut self) -> Option<&mut TagPages>;
}

impl TagPlace for Option<TagPages> {
    const LOOKS_BEHIND_GAPS: bool = true;

    fn get(&self) -> Option<&TagPages> {
        self.as_ref()
    }

    fn get_mut(&mut self) -> Option<&mut TagPages> {
        self.as_mut()
    }
}

/// No tag pages, whatever the chip: tags lie beside pages or in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoTagPages;

impl TagPlace for NoTagPages {
    // The smallest library has no room for it.
    const LOOKS_BEHIND_GAPS: bool = false;

    #[inline]
    fn get(&self) -> Option<&TagPages> {
        None
    }

    #[inline]
    fn get_mut(&mut self) -> Option<&mut TagPages> {
        None
    }
}

/// The groups of open segments.
///
/// Invariant: of a segment with pages behind its last tag page, `groups` has the group and `NandLog` the tags, until
/// the pages are elsewhere.
#[derive(Debug, Clone)]
pub struct TagPages {
    /// Pages of a full group.
    pub(super) most: u32,
    pub(super) groups: Vec<Group>,
    /// The tags of the segment that was last copied from.
    pub(super) source: Option<(Seg, Vec<Option<Tag>>)>,
    /// The page that was read to be appended elsewhere next.
    pub(super) loaded: Option<Ppn>,
    /// The number in the first page of the checkpoint that is being read.
    pub(super) checkpoint_seq: Option<u64>,
}

impl TagPages {
    pub(super) fn new(page_bytes: u32, slots: u32) -> Self {
        // One slot of each third is the tag page itself.
        let most = slots.div_ceil(GROUPS).saturating_sub(1).max(LEAST_PAGES).min(most_tags(page_bytes));
        Self { most, groups: Vec::new(), source: None, loaded: None, checkpoint_seq: None }
    }

    /// Most pages of the engine's in a segment of `slots` slots. The last is a tag page.
    pub(super) fn data_slots(&self, slots: u32) -> u32 {
        slots - slots.div_ceil(self.most + 1)
    }

    /// Slots that data may fill. Emptying a segment with fewer pages takes a tag page for each group of these, and
    /// three more: where the first segment that takes some is full already but for its last slot, where the group there
    /// was not empty, and at the end.
    fn filled_slots(&self, slots: u32) -> u32 {
        let is_enough = |filled: &u32| filled + (filled - 1).div_ceil(self.most) + 3 <= slots;
        (1..slots).rev().find(is_enough).unwrap_or(0)
    }

    /// The shape with tag pages, of a log of this shape without.
    pub(super) fn shape(&self, shape: LogShape) -> LogShape {
        let data_slots = self.data_slots(shape.slots);
        LogShape {
            data_slots,
            filled_slots: self.filled_slots(shape.slots),
            group_pages: self.most,
            rescue_pages: data_slots - 1,
            // A read, a program, a share of a tag page, and one of finding the tags of a victim.
            ops_per_page: 4,
            ..shape
        }
    }

    pub(super) fn forget(&mut self) {
        self.groups.clear();
        self.source = None;
        self.loaded = None;
    }

    pub(super) fn group(&self, seg: Seg) -> Option<&Group> {
        self.groups.iter().find(|group| group.seg == seg)
    }

    pub(super) fn group_mut(&mut self, seg: Seg) -> &mut Group {
        let at = self.groups.iter().position(|group| group.seg == seg);
        let at = at.unwrap_or_else(|| {
            self.groups.push(Group::new(seg));
            self.groups.len() - 1
        });
        &mut self.groups[at]
    }

    pub(super) fn drop_group(&mut self, seg: Seg) {
        self.groups.retain(|group| group.seg != seg);
    }

    /// True if the last pages of an open segment do not last yet.
    pub(super) fn has_pending(&self, seg: Seg) -> bool {
        self.group(seg).is_some_and(|group| group.pending > 0)
    }

    /// `Log::stop_at`.
    pub(super) fn stop_at(&self, seg: Seg, next: u32, slots: u32) -> u32 {
        let first = self.group(seg).map_or(0, |group| group.first);
        // Zeros behind a tag page take slots without pages of the engine's, so `next` may be beyond the full group.
        if next >= slots { slots } else { (first + self.most).min(slots - 1).max(next) }
    }

    /// `Log::slot_of`.
    pub(super) fn slot_of(&self, page: u32) -> u32 {
        // Each full group has a tag page behind it.
        page + page / self.most
    }

    /// `Log::suspect_from`.
    pub(super) fn suspect_from(&self, seg: Seg, programmed: u32) -> u32 {
        let group = self.group(seg).copied().unwrap_or(Group::new(seg));
        // If the last program was a tag page, it may fade, and its group with it (Spec T4).
        if group.first < programmed { group.first } else { group.before }
    }

    /// Notes that nothing will be appended to a segment any more. True if its last pages do not last.
    pub(super) fn give_up(&mut self, seg: Seg) -> bool {
        let is_pending = self.has_pending(seg);
        if is_pending {
            self.group_mut(seg).is_given_up = true;
        } else {
            self.drop_group(seg);
        }
        is_pending
    }

    /// `Log::unsettled`.
    pub(super) fn unsettled(&self) -> Option<(Seg, u32)> {
        self.groups.iter().find(|group| group.is_given_up).map(|group| (group.seg, group.first))
    }
}
