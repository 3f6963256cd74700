//! Where the checkpoint of a map on flash lies: in the last segments of the chip, which the engine does not see.
//!
//! All but the last of them hold the checkpoint. The last has one page, which says of which checkpoint the truth has
//! ended: its *end*.

use wearwell_flash::{ErrorKind, Nand};

use super::nand_map::MapLog;
use super::tag::{Record, is_erased};
use super::{Kind, Log, Payload};

/// A segment erased as often takes no more checkpoints.
const MOST_ERASES: u32 = 1000;

/// What a kept page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeptPage {
    /// It reads as erased.
    Erased,
    /// A page of the checkpoint with that number, or its end.
    Of(u64),
    /// Nothing can be told.
    Unknown,
    /// Its segment is bad.
    Bad,
}

impl KeptPage {
    /// The number of its checkpoint, or 0.
    pub(crate) fn number(self) -> u64 {
        if let Self::Of(seq) = self { seq } else { 0 }
    }
}

impl<N: Nand, B: Payload> MapLog<N, B> {
    /// The page number of the end.
    fn end_page(&self) -> u32 {
        (self.layout.kept_segments - 1) * self.layout.checkpoint_slots()
    }

    /// Erases what the first `pages` pages of a checkpoint lie in. False if it is bad.
    pub(crate) fn clear_map(&mut self, pages: u32) -> Result<bool, ErrorKind> {
        // What is outdated has to go, however worn its place is. A shutdown has asked before (`is_checkpoint_worn`).
        self.clear_kept_pages(pages, u32::MAX, 0)
    }

    /// Erases the place of the end. False if it is bad.
    pub(crate) fn clear_end(&mut self) -> Result<bool, ErrorKind> {
        self.clear_kept_segment(self.checkpoint_segment(self.end_page()), u32::MAX, 0)
    }

    /// Programs the end of the checkpoint with the number `seq` at its cleared place.
    pub(crate) fn program_end(&mut self, seq: u64) -> Result<bool, ErrorKind> {
        match self.program_kept(self.end_page(), &[], seq) {
            Ok(()) => Ok(true),
            Err(ErrorKind::ProgramFailed) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What the place of the end holds.
    pub(crate) fn end(&mut self) -> Result<KeptPage, ErrorKind> {
        self.kept_at(self.end_page())
    }

    /// What a page of the checkpoint holds, as its tag says.
    pub(crate) fn kept_at(&mut self, page: u32) -> Result<KeptPage, ErrorKind> {
        if self.is_bad(self.checkpoint_segment(page))? {
            return Ok(KeptPage::Bad);
        }
        match self.read_tag(self.checkpoint_address(page), false) {
            Ok(tag) if is_erased(&tag) => Ok(KeptPage::Erased),
            Ok(tag) => Ok(match Record::decode(&tag).and_then(Record::page) {
                Some(tag) if tag.kind == Kind::Checkpoint && tag.lpn.0 == page => KeptPage::Of(tag.seq),
                _ => KeptPage::Unknown,
            }),
            Err(ErrorKind::Uncorrectable) => Ok(KeptPage::Unknown),
            Err(error) => Err(error),
        }
    }

    /// Makes sure that a kept segment is bad, so that no checkpoint is believed any more. False if none can be marked.
    pub(crate) fn forbid_checkpoint(&mut self) -> Result<bool, ErrorKind> {
        // The checkpoint begins in the one, and its end lies in the other.
        let segments = [0, self.end_page()].map(|page| self.checkpoint_segment(page));
        for seg in segments {
            if self.is_bad(seg)? {
                return Ok(true);
            }
        }
        // One bad segment is enough (Spec M9), so the second is marked only if the first cannot be.
        for seg in segments {
            match self.layout.stripe.mark_bad(&mut self.chip, seg) {
                Ok(()) => return Ok(true),
                Err(ErrorKind::Unresponsive) => return Err(ErrorKind::Unresponsive),
                Err(_) => {}
            }
        }
        Ok(false)
    }

    /// True if the kept segments wear out by checkpoints.
    pub(crate) fn is_checkpoint_worn(&mut self) -> Result<bool, ErrorKind> {
        for page in [self.end_page(), 0] {
            let header = self.read_header(self.checkpoint_segment(page))?;
            if header.is_some_and(|header| header.erases >= MOST_ERASES) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
