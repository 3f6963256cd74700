//! Segments: which are free, and how one is erased, taken, given back and retired.

use wearwell_flash::ErrorKind;

use super::config::{ERASES_PER_WEAR_MOVE, RESERVE_SEGMENTS};
use super::map::Lbn;
use super::merge::MergeCause;
use super::pages::Pages;
use super::{BlockFtl, Use};
use crate::addr::Seg;
use crate::ftl::{FtlError, Probe};
use crate::spread::EraseSpread;
use crate::wear::WearRule;

/// How often an erase is given again that may have happened or not.
const ERASE_RETRIES: u32 = 3;

impl<M: Pages, P: Probe> BlockFtl<M, P> {
    /// Segments that stay free when a log block is opened. Without tags there is no mount, and no failure to survive.
    /// And what is held back for failures is not, as long as there is nothing that could give a segment back.
    pub(super) fn reserve(&self) -> u32 {
        let can_gain = self.logs.len() > 0 || self.has_dead();
        if M::TAGGED && can_gain {
            self.config.held_segments(&self.shape, self.good_segments)
        } else {
            RESERVE_SEGMENTS
        }
    }

    /// Takes an erased segment: the next in turn, or the most worn one.
    pub(super) fn take_free(&mut self, most_worn: bool) -> Result<Seg, FtlError> {
        // An erase that fails retires its segment, so each round has a free one less.
        loop {
            // There is one bank, and `erase` waits: no segment is passed over because another one erases.
            let seg =
                if most_worn { self.free.most_worn(|s| self.erases[s.index()]) } else { self.free.next(|_| false) };
            let seg = seg.ok_or_else(|| self.worn_out())?;
            self.free.remove(seg);
            debug_assert!(self.uses[seg.index()] == Use::Free);
            self.uses[seg.index()] = Use::Taken;
            // What reads as erased after a power cut may be weak: it is erased again before it is used.
            if !self.suspect[seg.index()] || self.erase(seg)? {
                return Ok(seg);
            }
        }
    }

    /// Gives a segment back whose content is of no use any more: it is erased, or retired if it has failed.
    pub(super) fn release(&mut self, seg: Seg) -> Result<(), FtlError> {
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
    pub(super) fn add_free(&mut self, seg: Seg) {
        self.uses[seg.index()] = Use::Free;
        let by_wear = self.config.wear.opens_least_worn().then(|| self.erases[seg.index()]);
        self.free.add(seg, by_wear);
    }

    /// Erases a segment. False if that failed, and it was retired.
    pub(super) fn erase(&mut self, seg: Seg) -> Result<bool, FtlError> {
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
        // Not collected: `count_erase` looks at all counts only when the last segment with the least one was erased.
        let good = self.erases.iter().zip(&self.uses).filter(|&(_, used)| *used != Use::Bad);
        self.spread.count_erase(erases, good.map(|(&erases, _)| erases));
        self.erases_since_move += 1;
        if self.erases_since_move >= ERASES_PER_WEAR_MOVE {
            self.wear_due = self.config.wear.wants_move(self.spread.spread(self.config.endurance));
        }
        self.probe.erased(seg.0, erases);
        Ok(true)
    }

    /// Marks a segment bad. If the mark fails, it is out of use until the next mount all the same. A mount may believe
    /// what the segment holds until it fades: so the command goes on, and writes what is newer elsewhere.
    #[cold]
    pub(super) fn retire(&mut self, seg: Seg) -> Result<(), FtlError> {
        self.uses[seg.index()] = Use::Bad;
        self.dead_pages.clear(seg);
        // Counted anew: the segment may have been the only one with the least or the greatest count.
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

    /// A program in this segment failed: it is retired as soon as nothing in it is needed.
    #[cold]
    pub(super) fn condemn(&mut self, seg: Seg) {
        if !self.condemned.contains(&seg) {
            self.condemned.push(seg);
        }
    }

    /// Empties the segments in which a program failed, where that ended with an error. It comes before anything is
    /// appended: what the program has left may fade, and a mount takes it for the page that a cut hit only as long as
    /// no page is newer.
    pub(super) fn leave_condemned(&mut self) -> Result<(), FtlError> {
        // A copy, since `release` takes segments off the list.
        for seg in self.condemned.clone() {
            self.prepare()?;
            let left = match self.uses[seg.index()] {
                Use::Log(id) => match self.logs.get(id).owner {
                    Some(owner) => self.merge(owner, MergeCause::Upkeep),
                    None => self.reclaim(id),
                },
                Use::Data(lbn) => self.merge(lbn, MergeCause::Upkeep),
                // Records of dead blocks: the next record takes their place, and the segment is released.
                _ => Ok(()),
            };
            match left {
                // Whoever needs a segment says it.
                Ok(()) | Err(FtlError::WornOut { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A program in this segment, which serves a logical block, did not succeed: the logical block is merged to another
    /// one.
    #[cold]
    pub(super) fn give_up(&mut self, seg: Seg, lbn: Lbn, error: ErrorKind) -> Result<(), FtlError> {
        // Noted first, so that the merge retires the segment when it releases it.
        let answer = self.note_failure(seg, error)?;
        self.merge(lbn, MergeCause::Upkeep)?;
        answer
    }

    /// A program in this segment, of which nothing is needed yet, did not succeed: it is given back.
    #[cold]
    pub(super) fn put_back(&mut self, seg: Seg, error: ErrorKind) -> Result<(), FtlError> {
        let answer = self.note_failure(seg, error)?;
        self.release(seg)?;
        answer
    }

    /// Takes note of a program that did not succeed, and says what the command is to answer once the segment has been
    /// left. An error of the driver's own leaves it open whether the program happened: the segment is not bad, but
    /// takes no further page.
    pub(super) fn note_failure(&mut self, seg: Seg, error: ErrorKind) -> Result<Result<(), FtlError>, FtlError> {
        match error {
            ErrorKind::ProgramFailed => {
                self.condemn(seg);
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

    #[cold]
    pub(super) fn worn_out(&self) -> FtlError {
        let needed_segments = self.config.needed_segments(&self.shape);
        FtlError::WornOut { good_segments: self.good_segments, needed_segments }
    }

    /// Moves the data of the least worn segment to the most worn free one, if that has been erased more often: data
    /// that stays put frees a segment that has been spared (FSAF '09, section 5.1).
    pub(super) fn level_wear(&mut self) -> Result<(), FtlError> {
        // Whatever comes of it: the next move waits for as many erases again.
        self.wear_due = false;
        self.erases_since_move = 0;
        let uses = (0_u32..).zip(&self.uses);
        let data = uses.filter_map(|(seg, used)| if let Use::Data(lbn) = used { Some((Seg(seg), *lbn)) } else { None });
        // Ties go to the lowest number, so that equal runs give equal results (invariant 8).
        let least: Option<(Seg, Lbn)> = data.min_by_key(|(seg, _)| (self.erases[seg.index()], seg.0));
        let (Some((seg, lbn)), Some(worn)) = (least, self.free.most_worn(|s| self.erases[s.index()])) else {
            return Ok(());
        };
        // Data that stays put spares its segment. That pays only for a segment that is worn more.
        if self.erases[worn.index()] > self.erases[seg.index()] {
            self.move_to_worn(lbn)?;
        }
        Ok(())
    }
}
