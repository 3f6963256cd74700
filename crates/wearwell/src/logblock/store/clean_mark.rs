//! The mark of a clean shutdown, in a segment of its own.

use wearwell_flash::ErrorKind;

use super::{BlockStore, Use};
use crate::addr::{Lpn, Seg};
use crate::ftl::{FtlError, Probe};
use crate::logblock::pages::Pages;
use crate::logblock::tag::{Content, Role};

impl<M: Pages, P: Probe> BlockStore<M, P> {
    /// Nothing was programmed or erased since the mark of a clean shutdown.
    pub(in crate::logblock) fn has_clean_mark(&self) -> bool {
        self.clean_mark.is_some()
    }

    /// A mount has found the mark.
    pub(in crate::logblock) fn enter_clean_mark(&mut self, seg: Seg) {
        self.clean_mark = Some(seg);
    }

    /// To be called before anything is programmed or erased: the mark of a clean shutdown is no longer true.
    pub(in crate::logblock) fn prepare(&mut self) -> Result<(), FtlError> {
        // The mark is taken out first, because `erase` asserts that there is none. It is put back only if it cannot go.
        let Some(mark) = self.clean_mark.take() else { return Ok(()) };
        // If a mark was not erased and its block not marked bad either, only the latter is left to be tried.
        let is_retired = self.uses[mark.index()] == Use::Bad;
        let mut released = if is_retired { self.mark_bad(mark) } else { self.release(mark) };
        // A bad-block mark that fails ends no other command.
        if released.is_ok() && self.uses[mark.index()] == Use::Bad && self.suspect[mark.index()] {
            released = Err(FtlError::Chip(ErrorKind::ProgramFailed));
        }
        self.clean_mark = released.is_err().then_some(mark);
        released
    }

    /// Leaves the mark of a clean shutdown.
    pub(in crate::logblock) fn leave_mark(&mut self) -> Result<(), FtlError> {
        let seg = self.take(false)?;
        // Spec B14: pages that must not be programmed will still not bear it after the next start.
        let suspects = self.suspect.iter().any(|&suspect| suspect);
        let lpn = Lpn(u32::from(suspects));
        // Spec B7: the mark has the greatest number, because `prepare` erases it before anything else is programmed.
        match self.program_meta(self.page_in(seg, 0), &[], lpn, Content::CleanMark, Role::LogHead) {
            Ok(()) => self.clean_mark = Some(seg),
            // Without a mark the next mount takes the device for cut.
            Err(error) => self.put_back(seg, error)?,
        }
        Ok(())
    }
}
