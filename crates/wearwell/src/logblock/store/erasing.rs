//! How a segment is taken, erased, given back and retired.

use wearwell_flash::ErrorKind;

use super::{BlockStore, Use};
use crate::addr::Seg;
use crate::ftl::{FtlError, Probe};
use crate::logblock::config::ERASES_PER_WEAR_MOVE;
use crate::logblock::pages::Pages;
use crate::spread::EraseSpread;
use crate::wear::WearRule;

/// How often an erase is given again that may have happened or not.
const ERASE_RETRIES: u32 = 3;

impl<M: Pages, P: Probe> BlockStore<M, P> {
    /// Takes an erased segment: the next in turn, or the most worn one.
    pub(in crate::logblock) fn take(&mut self, most_worn: bool) -> Result<Seg, FtlError> {
        // An erase that fails retires its segment, so each round has a free one less.
        loop {
            // There is one bank, and `erase` waits: no segment is passed over because another one erases.
            let seg =
                if most_worn { self.free.most_worn(|s| self.erases[s.index()]) } else { self.free.next(|_| false) };
            let seg = seg.ok_or_else(|| self.worn_out())?;
            self.free.remove(seg);
            debug_assert!(self.uses[seg.index()] == Use::Free);
            self.uses[seg.index()] = Use::Taken;
            // Spec B14: what reads as erased after a power cut may be weak. It is erased again before it is used.
            if !self.suspect[seg.index()] || self.erase(seg)? {
                return Ok(seg);
            }
        }
    }

    /// Gives a segment back whose content is of no use any more: it is erased, or retired if it has failed.
    pub(in crate::logblock) fn release(&mut self, seg: Seg) -> Result<(), FtlError> {
        debug_assert!(!matches!(self.uses[seg.index()], Use::Free | Use::Bad));
        self.uses[seg.index()] = Use::Taken;
        // The chip's contract wants a block in which a program failed retired, so it is not erased again.
        if let Some(at) = self.condemned.iter().position(|&s| s == seg) {
            self.condemned.swap_remove(at);
            return self.retire(seg);
        }
        if self.erase(seg)? {
            self.add_free(seg);
        }
        Ok(())
    }

    /// Adds an erased segment to the free ones.
    pub(in crate::logblock) fn add_free(&mut self, seg: Seg) {
        self.uses[seg.index()] = Use::Free;
        let by_wear = self.rules.wear.opens_least_worn().then(|| self.erases[seg.index()]);
        self.free.add(seg, by_wear);
    }

    /// Erases a segment. False if that failed, and it was retired.
    fn erase(&mut self, seg: Seg) -> Result<bool, FtlError> {
        assert!(self.clean_mark.is_none(), "the mark of a clean shutdown goes first");
        let mut erased = self.pages.erase(seg);
        // The block may be erased or not, and an erase more does no harm. Given up, it would be out of use for a while.
        for _ in 0..ERASE_RETRIES {
            if erased == Err(ErrorKind::Other) {
                erased = self.pages.erase(seg);
            }
        }
        match erased {
            Ok(()) => {}
            Err(ErrorKind::EraseFailed) => {
                self.retire(seg)?;
                return Ok(false);
            }
            // The segment stays `Taken`, out of use until the next mount: nothing tells what it holds.
            Err(error) => return Err(FtlError::Chip(error)),
        }
        self.suspect[seg.index()] = false;
        self.dead_pages.clear(seg);
        self.erases[seg.index()] += 1;
        let erases = self.erases[seg.index()];
        self.stats.erases += 1;
        // The counts are not collected: `count_erase` looks at all of them only when the last segment with the least
        // count was erased.
        let good = self.erases.iter().zip(&self.uses).filter(|&(_, used)| *used != Use::Bad);
        self.spread.count_erase(erases, good.map(|(&erases, _)| erases));
        self.erases_since_move += 1;
        if self.erases_since_move >= ERASES_PER_WEAR_MOVE {
            self.is_wear_due = self.rules.wear.wants_move(self.spread.spread(self.rules.endurance));
        }
        self.probe.erased(seg.0, erases);
        Ok(true)
    }

    /// Marks a segment bad. If the mark fails, it is out of use until the next mount all the same. A mount may believe
    /// what the segment holds until it fades: so the command goes on, and writes what is newer elsewhere.
    #[cold]
    fn retire(&mut self, seg: Seg) -> Result<(), FtlError> {
        // The table is first: if the mark fails, the segment is out of use nevertheless.
        self.uses[seg.index()] = Use::Bad;
        self.dead_pages.clear(seg);
        // The spread is counted anew: the segment may have been the only one with the least or the greatest count.
        self.spread = EraseSpread::of(self.good_erases());
        self.good_segments -= 1;
        self.stats.retired_segments += 1;
        match self.mark_bad(seg) {
            Err(FtlError::Chip(ErrorKind::ProgramFailed)) => Ok(()),
            marked => marked,
        }
    }

    /// Programs the bad-block marks of a segment that is out of use.
    #[cold]
    pub(super) fn mark_bad(&mut self, seg: Seg) -> Result<(), FtlError> {
        assert!(self.uses[seg.index()] == Use::Bad, "only a segment out of use is marked");
        // Without the mark, the next mount finds out by an erase, also after a clean shutdown.
        let marked = self.pages.retire(seg);
        self.suspect[seg.index()] = marked.is_err();
        marked.map_err(FtlError::Chip)
    }

    /// True if a segment is out of use and its mark has failed, so that the next mount may believe what it holds.
    fn is_unmarked(&self, seg: Seg) -> bool {
        self.uses[seg.index()] == Use::Bad && self.suspect[seg.index()]
    }

    /// Tries the bad-block marks again that have failed. True if one still does, and a mount could believe the block.
    pub(in crate::logblock) fn has_unmarked(&mut self) -> Result<bool, FtlError> {
        if !M::TAGGED {
            return Ok(false);
        }
        for seg in self.all() {
            if self.is_unmarked(seg) {
                match self.mark_bad(seg) {
                    Ok(()) => {}
                    Err(FtlError::Chip(ErrorKind::ProgramFailed)) => return Ok(true),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(false)
    }

    /// A program in this segment, of which nothing is needed yet, did not succeed: it is given back.
    #[cold]
    pub(in crate::logblock) fn put_back(&mut self, seg: Seg, error: ErrorKind) -> Result<(), FtlError> {
        // The failure is noted first, since `release` retires a segment that has failed and erases any other.
        let answer = self.note_failure(seg, error)?;
        self.release(seg)?;
        answer
    }

    /// Takes note of a program that did not succeed, and says what the command is to answer once the segment has been
    /// left. An error of the driver's own leaves it open whether the program happened: the segment is not bad, but
    /// takes no further page.
    pub(in crate::logblock) fn note_failure(
        &mut self,
        seg: Seg,
        error: ErrorKind,
    ) -> Result<Result<(), FtlError>, FtlError> {
        match error {
            // It is retired as soon as nothing in it is needed.
            ErrorKind::ProgramFailed => {
                if !self.condemned.contains(&seg) {
                    self.condemned.push(seg);
                }
                Ok(Ok(()))
            }
            ErrorKind::Other => {
                // Spec B14. After a clean shutdown a mount would continue the block.
                self.suspect[seg.index()] = true;
                Ok(Err(FtlError::Chip(error)))
            }
            // `Uncorrectable` is one of these: a page faded while a mount copied it, and the mount begins anew.
            _ => Err(FtlError::Chip(error)),
        }
    }
}
