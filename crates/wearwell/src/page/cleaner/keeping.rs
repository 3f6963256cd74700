//! Pages that may fade where the map has them, and that a mount had no room to copy (Spec P11): their other copies, and
//! what it has read of them.

use alloc::vec::Vec;

use super::Cleaner;
use crate::addr::{Lpn, Ppn, Seg};
use crate::clean::which::VictimChoice;
use crate::ftl::Probe;
use crate::page::found::{Found, MountError, note};
use crate::page::log::Log;
use crate::page::map::{FlatMap, PageMap};
use crate::place::PlaceChoice;

/// Another copy of a page. It is one as long as the page lies where it lay, and neither segment was erased.
#[derive(Debug)]
pub(super) struct Spare {
    lpn: Lpn,
    of: Ppn,
    at: Ppn,
    erases: [u32; 2],
    /// The segment of the page is erased in part, so that this copy is more likely to last.
    is_better: bool,
}

/// A page that may fade on flash, in memory.
#[derive(Debug)]
pub(super) struct Kept {
    lpn: Lpn,
    pub(super) seq: u64,
    pub(super) data: Vec<u8>,
}

impl<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice> Cleaner<L, P, M, V, W> {
    /// The other copies of a page that lies at `of`.
    pub(in crate::page) fn spares_of(&self, lpn: Lpn, of: Ppn) -> Vec<Ppn> {
        let spares = self.spares.iter().filter(|spare| spare.lpn == lpn && spare.of == of);
        spares.filter(|spare| self.is_there(spare)).map(|spare| spare.at).collect()
    }

    /// True if neither segment was erased.
    fn is_there(&self, spare: &Spare) -> bool {
        spare.erases == self.erases_of(spare.of, spare.at)
    }

    fn erases_of(&self, of: Ppn, at: Ppn) -> [u32; 2] {
        [of, at].map(|at| self.alloc.table().erases(self.segment_of(at)))
    }

    /// The segments with other copies that may count.
    pub(super) fn spared_segments(&self) -> impl Iterator<Item = Seg> + '_ {
        self.spares.iter().filter(|spare| self.may_count(spare)).map(|spare| self.segment_of(spare.at))
    }

    /// True if the page may lie where it lay. If it was moved, nobody needs this copy.
    fn may_count(&self, spare: &Spare) -> bool {
        self.is_there(spare) && self.alloc.table().valid(self.segment_of(spare.of)) > 0
    }

    fn segment_of(&self, at: Ppn) -> Seg {
        self.alloc.index().slots().segment_of(at)
    }

    /// The segments with the last other copy of a page that may be needed: it is more likely to last, or a failure may
    /// take the place of what is erased to make room.
    pub(super) fn needed_spares(&self) -> impl Iterator<Item = Seg> + '_ {
        // Spec P11.
        let is_needed = |spare: &&Spare| {
            let (seg, copies) = (self.segment_of(spare.at), self.spares_of(spare.lpn, spare.of));
            let is_last = copies.into_iter().all(|at| self.segment_of(at) == seg);
            self.may_count(spare) && is_last && (spare.is_better || self.alloc.may_lack_slots())
        };
        self.spares.iter().filter(is_needed).map(|spare| self.segment_of(spare.at))
    }

    /// Keeps a page in memory, if there is memory for it. Without it the page is only moved.
    pub(in crate::page) fn keep(&mut self, lpn: Lpn, seq: u64, page: &[u8]) {
        let mut data = Vec::new();
        if data.try_reserve_exact(page.len()).is_ok() && self.kept.try_reserve(1).is_ok() {
            data.extend_from_slice(page);
            self.kept.push(Kept { lpn, seq, data });
        }
    }

    /// Drops the pages in memory.
    pub(in crate::page) fn drop_kept(&mut self) {
        self.kept.clear();
    }

    /// Where a page is in memory.
    pub(super) fn find_kept(&self, lpn: Lpn) -> Option<usize> {
        self.kept.iter().position(|kept| kept.lpn == lpn)
    }
}

impl<L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> Cleaner<L, P, FlatMap, V, W> {
    /// Notes another copy of a page, which is better if the page lies in one of the `torn` segments.
    pub(in crate::page) fn note_spare(&mut self, other: &Found, torn: &[Seg]) -> Result<(), MountError> {
        let &Found { lpn, at, .. } = other;
        let of = self.alloc.index().place_of(lpn);
        let is_better = torn.contains(&self.segment_of(of));
        let erases = self.erases_of(of, at);
        note(&mut self.spares, Spare { lpn, of, at, erases, is_better })
    }
}
