//! What each segment is after the mount: free, open again, or in use.

use alloc::vec::Vec;

use super::{Discards, Found, Log, Recovery};
use crate::addr::Seg;
use crate::clean::which::VictimChoice;
use crate::ftl::Probe;
use crate::place::PlaceChoice;
use crate::segments::SegState;

/// What the scan has found of whole segments.
#[derive(Default)]
pub(super) struct Segments {
    /// Set if something was found that only this layout writes.
    pub(super) is_ours: bool,
    /// Segments that were open.
    pub(super) open: Vec<Seg>,
    /// Open segments that may be continued, each with its next slot.
    pub(super) resume: Vec<(Seg, u32)>,
    /// Segments that a rescue has filled, each with the slot after its last copy.
    pub(super) rescues: Vec<(Seg, u32)>,
    /// Segments of rescues that were cut.
    pub(super) undone: Vec<Seg>,
    /// True if the mark of a clean shutdown says that free segments are erased throughout.
    pub(super) trusts_free: bool,
    /// The erase counts that headers say, added up; and of how many segments these are.
    pub(super) known_erases: u64,
    pub(super) headers: u64,
}

impl<L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> Recovery<'_, L, P, V, W> {
    /// Sets the state of every segment, once its valid pages are known.
    pub(super) fn place_segments(&mut self) {
        let (now, clean_mark) = (self.alloc.index().clock().host_pages, self.alloc.clean_mark());
        self.resume_emptiest();
        for seg in self.alloc.table().all() {
            let table = self.alloc.pool_mut().table_mut();
            // If nobody knows when a segment was opened, its stamp is the greatest, and it counts as opened now.
            table.stamp(seg, table.opened(seg).min(now));
            match table.state(seg) {
                SegState::Free | SegState::Suspect => self.place_free(seg),
                // As in `keep_mark`.
                SegState::Open(_) if clean_mark == Some(seg) => table.start_erase(seg),
                // `resume_emptiest` has opened it again.
                SegState::Open(_) if self.alloc.is_open(seg) => {}
                SegState::Open(_) => self.alloc.index_mut().close(seg),
                SegState::Closed(_) | SegState::Victim(_) | SegState::Erasing | SegState::Bad => {}
            }
        }
    }

    /// Lists the segments without a header that hold nothing, free ones or void, unless two headers are certain to
    /// last. What a cut has left of one may fade, and so may that of an empty segment or of one whose erase may have
    /// begun. So a header counts if its segment holds pages that count, and none of them is suspect or uncertain.
    pub(super) fn list_headless(&mut self, suspects: &[Found]) {
        // A chip that was never formatted stays as it is. Nothing has cut what a shutdown calls erased throughout.
        if !L::STORES || L::DISCARDS != Discards::Logged || !self.segments.is_ours || self.segments.trusts_free {
            return;
        }
        let table = self.alloc.table();
        let has_header = |seg: Seg| table.erases(seg) != u32::MAX;
        let is_doubted =
            |seg: Seg| self.outcome.tied.contains(&seg) || suspects.iter().any(|s| self.segment_of(s.at) == seg);
        let lasting = table.all().filter(|&seg| has_header(seg) && table.valid(seg) > 0 && !is_doubted(seg));
        if lasting.take(2).count() == 2 {
            return;
        }
        let is_free = |seg: Seg| matches!(table.state(seg), SegState::Free | SegState::Suspect);
        let headless =
            table.all().filter(|&seg| !has_header(seg) && (is_free(seg) || self.segments.undone.contains(&seg)));
        self.outcome.headless = headless.collect();
    }

    fn place_free(&mut self, seg: Seg) {
        // NOR has no bad-block marks, so the block does not count as free until an erase has shown that it is good.
        // Spec T2: a slot that cannot be read may show that other copies are in doubt. If a rescue erased it and were
        // cut, the next mount would not doubt them. So it waits with the empty segments that may be needed.
        let is_kept = L::DISCARDS == Discards::Flagged || self.damage.is_harmed(seg);
        if is_kept && self.alloc.table().state(seg) == SegState::Suspect {
            self.alloc.pool_mut().queue_suspect(seg);
            return;
        }
        // Only the mark of a clean shutdown says that free segments are erased throughout (Spec P4).
        if L::DISCARDS == Discards::Logged && !self.segments.trusts_free {
            self.alloc.pool_mut().table_mut().suspect(seg);
        }
        self.alloc.add_free(seg);
    }

    /// Reopens segments that may be continued: of each class the one with the fewest pages. On NOR, a block in which
    /// programs fail is found again after each mount, with as many pages as before. If it came first, each mount that
    /// is cut would take another free block. The others are closed, and the allocator continues them when no block is
    /// free: on a full device, what can be written may lie in them alone.
    fn resume_emptiest(&mut self) {
        let mut resume = core::mem::take(&mut self.segments.resume);
        resume.sort_unstable_by_key(|&(seg, next)| (next, seg));
        resume.iter().for_each(|&(seg, next)| self.alloc.resume(seg, next));
    }
}
