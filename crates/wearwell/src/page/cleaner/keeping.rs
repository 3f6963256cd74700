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
        spares.filter(|spare| spare.erases == self.erases_of(of, spare.at)).map(|spare| spare.at).collect()
    }

    fn erases_of(&self, of: Ppn, at: Ppn) -> [u32; 2] {
        let slots = self.alloc.index().slots();
        [of, at].map(|at| self.alloc.table().erases(slots.segment_of(at)))
    }

    /// The segments with other copies.
    pub(super) fn spared_segments(&self) -> impl Iterator<Item = Seg> + '_ {
        let slots = self.alloc.index().slots();
        self.spares.iter().map(|spare| slots.segment_of(spare.at))
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
    /// Notes another copy of a page.
    pub(in crate::page) fn note_spare(&mut self, other: &Found) -> Result<(), MountError> {
        let &Found { lpn, at, .. } = other;
        let of = self.alloc.index().place_of(lpn);
        let erases = self.erases_of(of, at);
        note(&mut self.spares, Spare { lpn, of, at, erases })
    }
}
