//! What a format makes of the segments, and what a mount finds out about them.

use wearwell_flash::ErrorKind;

use super::{BlockStore, Use};
use crate::addr::{Ppn, Seg};
use crate::ftl::Probe;
use crate::logblock::pages::Pages;
use crate::spread::EraseSpread;

impl<M: Pages, P: Probe> BlockStore<M, P> {
    /// Erases every good segment, and begins with all of them free. Erase counts begin at zero.
    pub(in crate::logblock) fn format(&mut self) -> Result<(), ErrorKind> {
        for seg in self.all() {
            // A block that is marked bad is not erased, since the mark might go with what it holds.
            if self.pages.is_bad(seg)? {
                self.uses[seg.index()] = Use::Bad;
                continue;
            }
            // A layout without tags is not mounted, so nothing old can be believed.
            match if M::TAGGED { self.pages.erase(seg) } else { Ok(()) } {
                Ok(()) => {}
                Err(ErrorKind::EraseFailed) => {
                    self.pages.retire(seg)?;
                    self.uses[seg.index()] = Use::Bad;
                    continue;
                }
                Err(error) => return Err(error),
            }
            self.good_segments += 1;
            self.add_free(seg);
        }
        self.start();
        self.stats.reset();
        Ok(())
    }

    /// To be called once the erase counts are known.
    pub(in crate::logblock) fn start(&mut self) {
        self.spread = EraseSpread::of(self.good_erases());
    }

    /// A mount asks of each segment once whether it is bad.
    pub(in crate::logblock) fn find_bad(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        let is_bad = self.pages.is_bad(seg)?;
        if is_bad {
            self.uses[seg.index()] = Use::Bad;
        } else {
            self.good_segments += 1;
        }
        Ok(is_bad)
    }

    /// True if a page reads as erased, false if it holds something, and none if it cannot be read.
    pub(in crate::logblock) fn is_blank(&mut self, at: Ppn) -> Result<Option<bool>, ErrorKind> {
        self.pages.is_blank(at)
    }

    /// A segment was erased so often, as far as a mount knows.
    pub(in crate::logblock) fn enter_erases(&mut self, seg: Seg, erases: u32) {
        self.erases[seg.index()] = erases;
    }

    /// A segment may have pages that read as erased, but must not be programmed, or that may be unreadable later.
    pub(in crate::logblock) fn suspect(&mut self, seg: Seg) {
        self.suspect[seg.index()] = true;
    }

    /// True if it has not been erased since.
    pub(in crate::logblock) fn is_suspect(&self, seg: Seg) -> bool {
        self.suspect[seg.index()]
    }

    /// The greatest number that a mount has found.
    pub(in crate::logblock) fn enter_seq(&mut self, greatest: u64) {
        self.next_seq = greatest + 1;
    }
}
