//! `primary-replacement`: pages go to their own places as long as these can be programmed, and then to a replacement
//! block, until the two are folded (the NFTL of FSAF '09, sections 2 and 5.1).

use super::Writer;
use crate::addr::Lpn;
use crate::ftl::{FtlError, Probe};
use crate::logblock::merger::MergeCause;
use crate::logblock::pages::Pages;

impl<M: Pages, P: Probe> Writer<M, P> {
    /// `primary-replacement`: a page goes to its own place while that can be programmed (FSAF '09, section 2).
    pub(super) fn put_in_primary(&mut self, lpn: Lpn, data: &[u8]) -> Result<(), FtlError> {
        let (lbn, offset) = self.merger().index.map().split(lpn);
        // Each round programs the page, makes room, or loses a segment for good. So this ends.
        loop {
            if self.merger().index.map().is_nowhere(lbn) {
                // A primary block takes a free segment as a log block does, so the reserve has to be left behind it.
                self.make_room()?;
                self.merger_mut().open_primary(lbn)?;
            }
            if let Some(seg) = self.merger().index.map().data(lbn)
                && self.merger().index.in_place().can_program(lbn, offset)
            {
                if self.merger_mut().program_in_place(lpn, seg, data)? {
                    return Ok(());
                }
                // The block was given up, and its pages have moved.
                continue;
            }
            let id = match self.merger().index.logs().current(lbn) {
                Some(id) if self.merger().index.logs().has_room(id) => id,
                // The fold makes one new primary block of the two, which may have room in place.
                Some(_) => {
                    self.merger_mut().merge(lbn, MergeCause::Recycle)?;
                    continue;
                }
                None if self.merger().can_open_log() => {
                    self.recycler.check_folding();
                    self.merger_mut().open_log(Some(lbn))?
                }
                None => {
                    self.make_room()?;
                    continue;
                }
            };
            if self.merger_mut().append(id, lpn, data)? {
                return Ok(());
            }
        }
    }

    /// Folds until a segment can be taken and the reserve is left.
    fn make_room(&mut self) -> Result<(), FtlError> {
        self.recycler.check_folding();
        // Each fold closes a log block or drops a dead logical block, so this ends.
        while !self.merger().can_open_log() {
            if !self.recycler.fold_one()? {
                return Err(self.merger().store.worn_out());
            }
        }
        Ok(())
    }
}
