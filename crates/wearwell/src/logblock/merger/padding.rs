//! Pages are durable once they are programmed, but where they share cells a later program may endanger them.

use alloc::vec::Vec;

use super::Merger;
use crate::addr::Lpn;
use crate::ftl::{FtlError, Probe};
use crate::logblock::addr::LogId;
use crate::logblock::pages::Pages;
use crate::logblock::tag::{Content, Role};

impl<M: Pages, P: Probe> Merger<M, P> {
    /// Makes everything programmed so far safe from later programs.
    pub(in crate::logblock) fn pad(&mut self) -> Result<(), FtlError> {
        // Nothing was programmed since the mark of a clean shutdown, and a program would make it false.
        if self.store.shape().group == 1 || self.store.has_clean_mark() {
            return Ok(());
        }
        self.pad_primaries()?;
        self.pad_logs()
    }

    /// Fills the last group of pages of primary blocks, so that no later program endangers what is in it.
    fn pad_primaries(&mut self) -> Result<(), FtlError> {
        while let Some(lbn) = self.index.in_place_mut().take_unpadded() {
            // The logical block may have been dropped since it was listed.
            let Some(seg) = self.index.map().data(lbn) else { continue };
            // Places are programmed in ascending order where cells are shared. So only those behind the last one can be
            // filled.
            let next = self.index.in_place().end_of(lbn);
            for offset in next..self.group_end(next) {
                let (at, lpn) = (self.store.page_in(seg, offset), self.index.map().join(lbn, offset));
                // Whether this succeeds or not, the place must not be programmed again before an erase.
                self.index.in_place_mut().set(lbn, offset, true);
                match self.store.program_meta(at, &[], lpn, Content::Pad, Role::InPlace) {
                    Ok(()) => {}
                    Err(error) => {
                        self.index.in_place_mut().close(lbn);
                        self.give_up(seg, lbn, error)?;
                        // The logical block has moved, so nothing here needs padding any more.
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Fills the last group of pages of log blocks, likewise.
    fn pad_logs(&mut self) -> Result<(), FtlError> {
        // If a program fails, merges close log blocks of this list, too. An unused entry has no page, and none is
        // padded.
        let open: Vec<LogId> = self.index.logs().all().map(|(id, _)| id).collect();
        for id in open {
            // An empty log block has no group to fill, so padding is never the head of one.
            while self.index.logs().get(id).next < self.group_end(self.index.logs().get(id).next) {
                let log = *self.index.logs().get(id);
                let lpn = log.owner.map_or(Lpn(0), |lbn| self.index.map().join(lbn, 0));
                let at = self.store.page_in(log.seg, log.next);
                match self.store.program_meta(at, &[], lpn, Content::Pad, Role::Plain) {
                    Ok(()) => self.index.append_pad(id, lpn),
                    Err(error) => {
                        self.give_up_log(id, error)?;
                        break;
                    }
                };
            }
        }
        Ok(())
    }

    /// First page behind the group that the page before `next` lies in.
    fn group_end(&self, next: u32) -> u32 {
        // The last group of a segment may be cut short.
        next.next_multiple_of(self.store.shape().group).min(self.store.shape().pages)
    }
}
