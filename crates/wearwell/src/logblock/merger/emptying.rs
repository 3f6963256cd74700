//! What is emptied: a block in which a program failed, and a log block that logical blocks share.

use wearwell_flash::ErrorKind;

use super::{MergeCause, Merger};
use crate::addr::Seg;
use crate::ftl::{FtlError, Probe};
use crate::logblock::addr::{Lbn, LogId};
use crate::logblock::pages::Pages;
use crate::logblock::store::Use;

impl<M: Pages, P: Probe> Merger<M, P> {
    /// Empties the segments in which a program failed, where that ended with an error. It comes before anything is
    /// appended: what the program has left may fade, and a mount takes it for the page that a cut hit only as long as
    /// no page is newer.
    pub(in crate::logblock) fn leave_condemned(&mut self) -> Result<(), FtlError> {
        // The list is copied, since `release` takes segments off it.
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
                // Without a free segment this has to wait. A later step that needs one says so itself.
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
        // The failure is noted first, so that the merge retires the segment when it releases it.
        let answer = self.store.note_failure(seg, error)?;
        self.merge(lbn, MergeCause::Upkeep)?;
        answer
    }

    /// A program in a log block failed: what it holds is merged, and the block retired. After one that may have
    /// happened or not it is erased, and the error is the host's.
    #[cold]
    pub(super) fn give_up_log(&mut self, id: LogId, error: ErrorKind) -> Result<(), FtlError> {
        // The log block is closed first: what empties a shared one pads all, and must not program behind the page that
        // failed.
        self.index.close_to_appends(id);
        let (seg, owner) = (self.index.logs().get(id).seg, self.index.logs().get(id).owner);
        if let Some(lbn) = owner {
            return self.give_up(seg, lbn, error);
        }
        // The failure is noted first: `release` retires a condemned segment and erases any other.
        let answer = self.store.note_failure(seg, error)?;
        self.reclaim(id)?;
        answer
    }

    /// Empties a shared log block: every logical block with a live page in it is merged, and every one with a
    /// discarded page in it whose discard is not durable, since an older copy may lie behind it.
    pub(in crate::logblock) fn reclaim(&mut self, id: LogId) -> Result<(), FtlError> {
        let seg = self.index.logs().get(id).seg;
        // A merge closes only log blocks with an owner, so this one stays open.
        for page in 0..self.index.logs().held(id).len() {
            let (lbn, offset) = self.index.map().split(self.index.logs().held(id)[page]);
            let at = self.store.page_in(seg, page as u32);
            // The offset behind the last page is that of the discard record.
            let is_live = self.index.map().logged(lbn, offset) == at
                || self.index.map().logged(lbn, self.store.shape().pages) == at;
            // This is asked for each page anew, since the merges before have changed the map.
            if !is_live && !self.discards.is_dirty(lbn) {
                continue;
            }
            self.merge(lbn, MergeCause::Recycle)?;
        }
        debug_assert!(self.index.logs().get(id).live == 0);
        // What superseded pages in here may lie in a group that a later program endangers.
        self.index.close_to_appends(id);
        self.pad()?;
        self.index.close_log(id);
        self.store.release(seg)
    }
}
