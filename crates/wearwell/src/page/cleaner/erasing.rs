//! Erasing what is empty.

use alloc::vec::Vec;

use super::Cleaner;
use crate::addr::Seg;
use crate::clean::which::VictimChoice;
use crate::ftl::{FtlError, Probe};
use crate::page::log::Log;
use crate::page::map::PageMap;
use crate::place::PlaceChoice;

impl<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice> Cleaner<L, P, M, V, W> {
    /// Erases a segment without live pages, after `copied_pages` were moved out of it, and makes it free. The erase
    /// runs in the background if the chip can do that.
    pub(in crate::page) fn reclaim(&mut self, seg: Seg, copied_pages: u32) -> Result<(), FtlError> {
        // Everything that superseded the segment's pages must be durable before the erase destroys them.
        let prepared = self.alloc.remove_clean_mark();
        // The mark is gone by now, because parts of the discard map and padding are changes, too.
        let prepared = prepared.and_then(|()| self.discards.write_for_erase(&mut self.alloc));
        // The parts that were just written have to last as well, so padding comes behind them.
        if let Err(error) = prepared.and_then(|()| self.alloc.pad_open()) {
            // Nothing was erased, so the segment waits for another attempt.
            self.alloc.pool_mut().keep_empty(seg);
            return Err(error);
        }
        self.alloc.erase_empty(seg, copied_pages)
    }

    /// Erases the segment that has been empty longest. False if there is none, as for most pages.
    #[inline]
    pub(in crate::page) fn reclaim_empty(&mut self) -> Result<bool, FtlError> {
        if self.alloc.pool().has_empties() { self.reclaim_empty_but(&[]) } else { Ok(false) }
    }

    pub(in crate::page) fn reclaim_empty_but(&mut self, kept: &[Seg]) -> Result<bool, FtlError> {
        let Some(seg) = self.take_empty_but(kept) else { return Ok(false) };
        self.alloc.stats_mut().free_erases += 1;
        self.reclaim(seg, 0)?;
        Ok(true)
    }

    /// The segment that has been empty longest. One with other copies of what may fade is only taken if no segment is
    /// free, and not even then if such a copy is needed.
    fn take_empty_but(&mut self, kept: &[Seg]) -> Option<Seg> {
        if self.spares.is_empty() {
            return self.alloc.pool_mut().take_empty_but(kept);
        }
        let spared: Vec<Seg> = self.spared_segments().chain(kept.iter().copied()).collect();
        let taken = self.alloc.pool_mut().take_empty_but(&spared);
        if taken.is_some() || self.alloc.free().total() > 0 {
            return taken;
        }
        let needed: Vec<Seg> = self.needed_spares().chain(kept.iter().copied()).collect();
        self.alloc.pool_mut().take_empty_but(&needed)
    }

    /// Erases one of the empty segments and waits for it. False if there is none.
    pub(in crate::page) fn reclaim_one(&mut self) -> Result<bool, FtlError> {
        self.reclaim_one_but(&[])
    }

    /// As [`reclaim_one`](Self::reclaim_one), but leaves the `kept` segments alone.
    pub(in crate::page) fn reclaim_one_but(&mut self, kept: &[Seg]) -> Result<bool, FtlError> {
        self.alloc.finish_erase(true)?;
        let is_reclaimed = self.reclaim_empty_but(kept)?;
        self.alloc.finish_erase(true)?;
        Ok(is_reclaimed)
    }
}
