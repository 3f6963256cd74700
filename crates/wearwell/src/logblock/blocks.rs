//! Room: how many segments stay free, and what is emptied because it failed or rests.

use wearwell_flash::ErrorKind;

use super::BlockFtl;
use super::config::RESERVE_SEGMENTS;
use super::map::Lbn;
use super::merge::MergeCause;
use super::pages::Pages;
use super::store::Use;
use crate::addr::Seg;
use crate::ftl::{FtlError, Probe};

impl<M: Pages, P: Probe> BlockFtl<M, P> {
    /// Segments that stay free when a log block is opened. Without tags there is no mount, and no failure to survive.
    /// And what is held back for failures is not, as long as there is nothing that could give a segment back.
    pub(super) fn reserve(&self) -> u32 {
        let can_gain = self.index.logs().len() > 0 || self.has_dead();
        if M::TAGGED && can_gain { self.store.held_segments() } else { RESERVE_SEGMENTS }
    }

    /// Empties the segments in which a program failed, where that ended with an error. It comes before anything is
    /// appended: what the program has left may fade, and a mount takes it for the page that a cut hit only as long as
    /// no page is newer.
    pub(super) fn leave_condemned(&mut self) -> Result<(), FtlError> {
        // A copy, since `release` takes segments off the list.
        for seg in self.store.condemned().to_vec() {
            self.store.prepare()?;
            let left = match self.store.used(seg) {
                Use::Log(id) => match self.index.logs().get(id).owner {
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
        let answer = self.store.note_failure(seg, error)?;
        self.merge(lbn, MergeCause::Upkeep)?;
        answer
    }

    /// Moves data that rests to the most worn free segment, if that pays.
    pub(super) fn level_wear(&mut self) -> Result<(), FtlError> {
        self.store.choose_wear_move().map_or(Ok(()), |lbn| self.move_to_worn(lbn))
    }
}
