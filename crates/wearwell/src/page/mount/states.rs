//! What each segment is after the mount: free, open again, or in use.

use super::{Discards, Log, Recovery};
use crate::addr::Seg;
use crate::clean::which::VictimChoice;
use crate::ftl::Probe;
use crate::place::PlaceChoice;
use crate::segments::SegState;

impl<L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> Recovery<'_, L, P, V, W> {
    /// Sets the state of every segment, once its valid pages are known.
    pub(super) fn place_segments(&mut self) {
        let (now, clean_mark) = (self.alloc.index.clock().host_pages, self.alloc.clean_mark());
        self.resume_emptiest();
        for seg in self.alloc.table().all() {
            let table = self.alloc.index.pool_mut().table_mut();
            // If nobody knows when a segment was opened, its stamp is the greatest, and it counts as opened now.
            table.stamp(seg, table.opened(seg).min(now));
            match table.state(seg) {
                SegState::Free | SegState::Suspect => self.place_free(seg),
                // As in `keep_mark`.
                SegState::Open(_) if clean_mark == Some(seg) => table.start_erase(seg),
                // `resume_emptiest` has opened it again.
                SegState::Open(_) if self.alloc.is_open(seg) => {}
                SegState::Open(_) => self.alloc.index.close(seg),
                SegState::Closed(_) | SegState::Victim(_) | SegState::Erasing | SegState::Bad => {}
            }
        }
    }

    /// The segment with a header, if there is only one.
    pub(super) fn only_header(&self) -> Option<Seg> {
        let is_alone = L::STORES && L::DISCARDS == Discards::Logged && self.headers == 1;
        self.last_header.filter(|_| is_alone)
    }

    fn place_free(&mut self, seg: Seg) {
        let is_suspect = self.alloc.table().state(seg) == SegState::Suspect;
        // NOR has no bad-block marks, so the block does not count as free until an erase has shown that it is good.
        if L::DISCARDS == Discards::Flagged && is_suspect {
            self.alloc.index.pool_mut().queue_suspect(seg);
            return;
        }
        // Only the mark of a clean shutdown says that free segments are erased throughout (Spec P4).
        if L::DISCARDS == Discards::Logged && !self.trusts_free {
            self.alloc.index.pool_mut().table_mut().suspect(seg);
        }
        self.alloc.add_free(seg);
    }

    /// Reopens segments that may be continued: of each class the one with the fewest pages. On NOR, a block in which
    /// programs fail is found again after each mount, with as many pages as before. If it came first, each mount that
    /// is cut would take another free block. The others are closed, and the allocator continues them when no block is
    /// free: on a full device, what can be written may lie in them alone.
    fn resume_emptiest(&mut self) {
        let mut resume = core::mem::take(&mut self.resume);
        resume.sort_unstable_by_key(|&(seg, next)| (next, seg));
        resume.iter().for_each(|&(seg, next)| self.alloc.resume(seg, next));
    }
}
