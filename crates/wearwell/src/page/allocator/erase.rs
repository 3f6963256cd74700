//! How a segment without live pages becomes free again, or is retired.

use wearwell_flash::ErrorKind;

use super::Allocator;
use crate::addr::Seg;
use crate::clean::which::VictimChoice;
use crate::ftl::{FtlError, Probe};
use crate::page::found::MountError;
use crate::page::log::{Discards, EraseProgress, Log};
use crate::page::map::PageMap;
use crate::place::PlaceChoice;
use crate::place::{ClassPlacement, Reclaimed};
use crate::segments::SegState;
use crate::spread::EraseSpread;
use crate::wear::WearRule;

impl<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice> Allocator<L, P, M, V, W> {
    /// Erases an empty segment that `copied_pages` were moved out of, and makes it free. The erase runs in the
    /// background if the chip can do that. The caller has made sure of three things: everything that superseded its
    /// pages is durable, discards included; no page that a later program could damage is the only new copy
    /// ([`pad_open`](Self::pad_open)); and no mark says that the device was shut down
    /// ([`remove_clean_mark`](Self::remove_clean_mark)).
    pub(in crate::page) fn erase_empty(&mut self, seg: Seg, copied_pages: u32) -> Result<(), FtlError> {
        assert!(self.table().valid(seg) == 0, "only an empty segment is erased");
        assert!(self.clean_mark.is_none(), "the mark goes before anything else changes");
        self.leave_class(seg, copied_pages);
        // A block in which a program failed is not used again.
        if self.table().is_failing(seg) {
            return self.retire(seg);
        }
        // One erase runs at a time.
        self.finish_erase(true)?;
        self.index.pool_mut().table_mut().start_erase(seg);
        match self.start_erase(seg).inspect_err(|_| self.erase_again(seg))? {
            Some(EraseProgress::Done) => self.release(seg),
            Some(EraseProgress::InBackground) => {
                self.is_erasing = true;
                return self.park(self.free.bank_of(seg));
            }
            None => {}
        }
        Ok(())
    }

    /// Tells the placement that a segment no longer belongs to its class, after `copied_pages` were moved out of it.
    pub(in crate::page) fn leave_class(&mut self, seg: Seg, copied_pages: u32) {
        let (class, clock) = (self.table().class(seg), self.index.clock().host_pages);
        self.placement.reclaimed(Reclaimed { seg, class, clock, copied_pages });
    }

    /// Starts an erase. None if the segment had to be retired.
    fn start_erase(&mut self, seg: Seg) -> Result<Option<EraseProgress>, FtlError> {
        // Even an erase that fails may take what was open there.
        self.forget_continuable(seg);
        let erases = self.table().erases(seg) + 1;
        match self.log.erase(seg, erases) {
            Ok((progress, programmed)) => {
                self.stats.meta_programs += u64::from(programmed);
                self.stats.erases += 1;
                self.index.pool_mut().table_mut().set_erases(seg, erases);
                self.index.dead_mut().clear(seg);
                // The table has the new count by now, as this expects.
                self.spread.count_erase(erases, self.index.pool().table().good_erases());
                self.probe.erased(seg.0, erases);
                Ok(Some(progress))
            }
            Err(error) => self.heed_end(seg, Err(error)).map(|_| None),
        }
    }

    /// Heeds how an erase has ended. False if the segment had to be retired.
    fn heed_end(&mut self, seg: Seg, ended: Result<(), ErrorKind>) -> Result<bool, FtlError> {
        match ended {
            Ok(()) => Ok(true),
            Err(ErrorKind::EraseFailed | ErrorKind::ProgramFailed) => self.retire(seg).map(|()| false),
            Err(error) => Err(FtlError::Chip(error)),
        }
    }

    /// Erases a segment and waits for it. False if it had to be retired.
    fn erase_now(&mut self, seg: Seg) -> Result<bool, FtlError> {
        // One erase runs at a time.
        self.finish_erase(true)?;
        match self.start_erase(seg)? {
            Some(EraseProgress::Done) => Ok(true),
            Some(EraseProgress::InBackground) => {
                let ended = self.log.wait_erase().map_or(Ok(()), |(_, ended)| ended);
                self.heed_end(seg, ended)
            }
            None => Ok(false),
        }
    }

    /// Erases a segment that was taken from the free ones and that may be erased in part. False if it had to be
    /// retired.
    pub(in crate::page) fn erase_suspect(&mut self, seg: Seg) -> Result<bool, FtlError> {
        let is_erased = self.erase_now(seg)?;
        if is_erased {
            self.index.pool_mut().table_mut().release(seg);
        }
        Ok(is_erased)
    }

    /// Erases one of the `headless` segments, which hold nothing, and makes it free. Headers say whose the chip is, and
    /// the erase of one segment after another may be cut, each in its own session. Returns the segment.
    #[cold]
    pub(in crate::page) fn add_header(&mut self, headless: &[Seg]) -> Result<Option<Seg>, FtlError> {
        // Spec P18. A segment whose erase fails is retired, and the next one is tried.
        for &seg in headless {
            if self.table().state(seg).is_in_use() {
                // A void segment was closed without a valid page, so it waits among the empty ones.
                self.index.pool_mut().take_this_empty(seg);
                self.leave_class(seg, 0);
                self.index.pool_mut().table_mut().start_erase(seg);
            } else {
                self.free.remove(seg);
            }
            if self.erase_suspect(seg).inspect_err(|_| self.erase_again(seg))? {
                self.add_free(seg);
                return Ok(Some(seg));
            }
        }
        Ok(None)
    }

    /// Erases a segment for the format. False if it is bad.
    pub(in crate::page) fn erase_for_format(&mut self, seg: Seg) -> Result<bool, MountError> {
        let ended = match self.log.erase(seg, self.table().erases(seg)) {
            Ok((EraseProgress::Done, _)) => Ok(()),
            Ok((EraseProgress::InBackground, _)) => self.log.wait_erase().map_or(Ok(()), |(_, ended)| ended),
            Err(error) => Err(error),
        };
        match ended {
            Ok(()) => Ok(true),
            Err(ErrorKind::EraseFailed | ErrorKind::ProgramFailed) => {
                // `start` counts everything behind this, so the log and the table are all that has to know.
                self.log.retire(seg)?;
                self.index.pool_mut().table_mut().retire(seg);
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Notes the end of an erase in the background. With `wait`, waits for it.
    pub(in crate::page) fn finish_erase(&mut self, wait: bool) -> Result<(), FtlError> {
        if !self.is_erasing {
            return Ok(());
        }
        self.stats.erase_waits += u64::from(wait);
        let ended = if wait { self.log.wait_erase() } else { self.log.poll_erase() };
        let Some((seg, result)) = ended else { return Ok(()) };
        self.is_erasing = false;
        if self.heed_end(seg, result).inspect_err(|_| self.erase_again(seg))? {
            self.release(seg);
        }
        Ok(())
    }

    /// Adds an empty segment to the free ones after an error that leaves open whether its erase or first program
    /// happened. It is erased again before it is used.
    #[cold]
    pub(in crate::page) fn erase_again(&mut self, seg: Seg) {
        self.has_failed = true;
        // If it was the bad-block mark that failed, the segment is retired all the same.
        if self.table().state(seg) != SegState::Bad {
            self.index.pool_mut().table_mut().release(seg);
            self.index.pool_mut().table_mut().suspect(seg);
            self.add_free(seg);
        }
    }

    /// Makes a segment free after its erase.
    fn release(&mut self, seg: Seg) {
        self.index.pool_mut().table_mut().release(seg);
        self.add_free(seg);
        // With a segment more, what was lent to the host (`hold_less`) is held back again.
        self.hold_back();
        if self.rules().wear.wants_move(self.spread.spread(self.rules().endurance)) {
            self.is_wear_due = true;
            self.index.pool_mut().attention().call();
        }
    }

    pub(in crate::page) fn add_free(&mut self, seg: Seg) {
        let by_wear = self.rules().wear.opens_least_worn().then(|| self.table().erases(seg));
        self.free.add(seg, by_wear);
    }

    /// Sorts the free segments by the wear policy in force.
    pub(in crate::page) fn reorder_free(&mut self) {
        for seg in self.table().all() {
            if matches!(self.table().state(seg), SegState::Free | SegState::Suspect) {
                self.free.remove(seg);
                self.add_free(seg);
            }
        }
    }

    #[cold]
    pub(in crate::page) fn retire(&mut self, seg: Seg) -> Result<(), FtlError> {
        self.has_failed = true;
        // The table is first: if the mark fails, the segment is out of use nevertheless.
        self.index.pool_mut().table_mut().retire(seg);
        self.hold_back();
        self.index.dead_mut().clear(seg);
        // The segment may have been the one with the most erases, or the fewest.
        self.spread = EraseSpread::of(self.table().good_erases());
        self.stats.retired_segments += 1;
        match self.log.retire(seg) {
            // NOR has no bad-block marks. If not even the header can be damaged, the next mount may believe the block.
            Err(ErrorKind::ProgramFailed) if L::DISCARDS == Discards::Flagged => {
                self.refuse_writes(FtlError::Chip(ErrorKind::ProgramFailed));
                Ok(())
            }
            retired => retired.inspect_err(|_| self.has_unmarked = true).map_err(FtlError::Chip),
        }
    }

    /// Erases the mark of a clean shutdown, before anything else changes on flash.
    pub(in crate::page) fn remove_clean_mark(&mut self) -> Result<(), FtlError> {
        let Some(seg) = self.clean_mark else { return Ok(()) };
        // Until the erase has ended, the mark may still be there. If the erase fails, `clean_mark` stays, and the next
        // change tries again.
        let is_good = self.erase_now(seg)?;
        self.clean_mark = None;
        // A segment with a bad block holds nothing (Spec N1), so the mark is gone either way.
        if is_good {
            self.release(seg);
        }
        Ok(())
    }
}
