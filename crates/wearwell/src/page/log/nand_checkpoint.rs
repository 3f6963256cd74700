//! Where a checkpoint lies on NAND: in the last segments of the chip, which the engine does not see.
//!
//! Each begins with a header, like any other. A checkpoint is programmed from the first of them on, after as many as it
//! takes were erased. They are erased at every clean shutdown, but not once they are more worn than the others.

use wearwell_flash::{ErrorKind, Nand, PageAddr};

use super::checkpoint_bytes::most_bytes;
use super::nand::NandLog;
use super::nand_groups::TagPlace;
use super::tag::Record;
use super::{Kind, Log, Payload, Tag};
use crate::addr::{Class, Lpn, Ppn, Seg};

impl<N: Nand, B: Payload, T: TagPlace> NandLog<N, B, T> {
    /// Keeps room at the end of the chip for a [checkpoint](Log::checkpoint_pages), as much as it takes. A chip that
    /// was formatted with it can only be mounted with it.
    #[must_use]
    pub fn with_checkpoint(mut self) -> Self {
        // All segments of the chip count, because how many are left for data depends on the result.
        let pages =
            most_bytes(self.layout.stripe.segments(), self.layout.slots).div_ceil(u64::from(self.layout.payload_bytes));
        let segments = pages.div_ceil(u64::from(self.layout.checkpoint_slots()));
        self.extra = self.extra.and_checkpoint();
        // On a chip that is too small no segment is left, which the configuration refuses.
        self.layout.kept_segments = u32::try_from(segments).unwrap_or(u32::MAX).min(self.layout.stripe.segments());
        self
    }

    /// The kept segment that holds a page of the checkpoint.
    pub(super) fn checkpoint_segment(&self, page: u32) -> Seg {
        Seg(self.layout.segments() + page / self.layout.checkpoint_slots())
    }

    pub(super) fn checkpoint_address(&self, page: u32) -> PageAddr {
        self.address(self.checkpoint_segment(page), 1 + page % self.layout.checkpoint_slots())
    }

    /// Pages that can hold a checkpoint.
    pub(super) fn kept_pages(&self) -> u32 {
        self.layout.kept_segments * self.layout.checkpoint_slots()
    }

    /// [`Log::clear_checkpoint`].
    pub(super) fn clear_kept(&mut self, pages: u32, most_erases: u32, mean_erases: u32) -> Result<bool, ErrorKind> {
        if pages == 0 || pages > self.kept_pages() || self.has_failed_checkpoint {
            return Ok(false);
        }
        self.clear_kept_pages(pages, most_erases, mean_erases)
    }

    /// Erases the kept segments that so many pages lie in. False as for [`clear_kept`](Self::clear_kept).
    pub(super) fn clear_kept_pages(
        &mut self,
        pages: u32,
        most_erases: u32,
        mean_erases: u32,
    ) -> Result<bool, ErrorKind> {
        for number in self.checkpoint_segment(0).0..=self.checkpoint_segment(pages - 1).0 {
            if !self.clear_kept_segment(Seg(number), most_erases, mean_erases)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Erases a kept segment. False as for [`clear_kept`](Self::clear_kept).
    pub(super) fn clear_kept_segment(
        &mut self,
        seg: Seg,
        most_erases: u32,
        mean_erases: u32,
    ) -> Result<bool, ErrorKind> {
        if self.is_bad(seg)? {
            return Ok(false);
        }
        let erases = self.read_header(seg)?.map_or(mean_erases, |header| header.erases);
        if erases >= most_erases {
            return Ok(false);
        }
        // Nobody has looked whether the count is plausible, so it may be the greatest number.
        let erased = self.erase(seg, erases.saturating_add(1));
        match self.heed_failure(seg, erased) {
            Ok((_, programmed)) => {
                self.kept_costs.erases += 1;
                self.kept_costs.programs += u64::from(programmed);
                Ok(true)
            }
            Err(ErrorKind::ProgramFailed | ErrorKind::EraseFailed) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// [`Log::program_checkpoint`].
    pub(super) fn program_kept(&mut self, page: u32, data: &[u8], seq: u64) -> Result<(), ErrorKind> {
        let record = Record::Page(Tag { lpn: Lpn(page), seq, class: Class(0), kind: Kind::Checkpoint });
        let at = self.checkpoint_address(page);
        let programmed = match self.tag_pages.get() {
            None => self.program(at, data, record),
            Some(_) => self.program_untagged(at, data),
        };
        self.heed_failure(self.checkpoint_segment(page), programmed)?;
        self.kept_costs.programs += 1;
        Ok(())
    }

    /// Retires a kept segment in which something failed. If it cannot be marked, it is not used until the next mount.
    fn heed_failure<D>(&mut self, seg: Seg, done: Result<D, ErrorKind>) -> Result<D, ErrorKind> {
        if let Err(ErrorKind::ProgramFailed | ErrorKind::EraseFailed) = done {
            self.has_failed_checkpoint = true;
            match self.layout.stripe.mark_bad(&mut self.chip, seg) {
                Ok(()) | Err(ErrorKind::ProgramFailed | ErrorKind::EraseFailed | ErrorKind::Other) => {}
                Err(error) => return Err(error),
            }
        }
        done
    }

    /// [`Log::read_checkpoint`].
    pub(super) fn read_kept(&mut self, page: u32, data: &mut [u8]) -> Result<Option<u64>, ErrorKind> {
        // Pages are read in order, so it is enough to ask once for each segment whether it is bad.
        let is_first = page.is_multiple_of(self.layout.checkpoint_slots());
        if page >= self.kept_pages() || (is_first && self.is_bad(self.checkpoint_segment(page))?) {
            return Ok(None);
        }
        if self.tag_pages.get().is_some() {
            return self.read_untagged_checkpoint(page, self.checkpoint_address(page), data);
        }
        let tag = self.read_whole(self.checkpoint_address(page), data)?;
        Ok(tag.filter(|tag| tag.kind == Kind::Checkpoint && tag.lpn == Lpn(page)).map(|tag| tag.seq))
    }

    /// [`Log::read_mark`].
    pub(super) fn read_mark_in(&mut self, seg: Seg, kind: Kind, data: &mut [u8]) -> Result<Option<u64>, ErrorKind> {
        // Spec P15.
        if self.is_bad(seg)? {
            return Ok(None);
        }
        let at = Ppn(seg.0 * self.layout.slots);
        let tag = match self.tag_pages.get() {
            None => self.read_whole(self.slot_address(at), data)?,
            Some(_) => self.read_with_its_tag(at, data)?,
        };
        Ok(tag.filter(|tag| tag.kind == kind).map(|tag| tag.seq))
    }

    /// Reads a page, and returns its tag. None if it cannot be read.
    fn read_whole(&mut self, at: PageAddr, data: &mut [u8]) -> Result<Option<Tag>, ErrorKind> {
        match self.read_with_tag(at, data) {
            Ok((_, tag)) => Ok(tag),
            Err(ErrorKind::Uncorrectable) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
