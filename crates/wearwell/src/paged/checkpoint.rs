//! The checkpoint: the table of segments and the directory, which a shutdown leaves for the next mount.
//!
//! It is true until something else on flash changes. Before that its *end* is programmed, in a segment of its own that
//! was erased for it. So a checkpoint that can be read is true, unless its end is there or nothing can be told of the
//! place of the end. The rest is a matter of order (SPEC.md, M9 to M12):
//!
//! - The place of the end is only erased while the checkpoint is true, or while there is none.
//! - A checkpoint is erased to the last block before the next is programmed.
//! - Of what a mount does not believe, it erases what a later one might believe, before anything else changes.
//!
//! Cuts in any of these leave either a checkpoint that is still true, or one that nobody believes.

use wearwell_flash::{ErrorKind, Nand};

use super::PagedFtl;
use super::halt::Halt;
use super::map::is_place;
use super::place::StreamPlacement;
use super::store::{Checkpoint, Store};
use super::table::{Table, Use};
use super::which::VictimWorth;
use crate::addr::Ppn;
use crate::le;
use crate::page::IMPLAUSIBLE_CLOCK;
use crate::page::log::{CRC32, KeptPage, Log, MOST_BYTES_A_PART, MOST_BYTES_A_SEGMENT, MOST_HEAD_BYTES};

/// Offsets of the fields of the head.
mod head {
    use core::ops::Range;

    pub(super) const MAGIC: Range<usize> = 0..4;
    pub(super) const CODE: Range<usize> = 4..8;
    pub(super) const SEQ: Range<usize> = 8..16;
    pub(super) const LOGICAL_PAGES: Range<usize> = 16..20;
    pub(super) const SEGMENTS: Range<usize> = 20..24;
    pub(super) const BYTES: usize = SEGMENTS.end;
    pub(super) const MAGIC_BYTES: &[u8; 4] = b"WWmc";
}

/// Bytes of an entry of the directory.
const BYTES_A_PART: usize = size_of::<Ppn>();

// The log keeps so much room.
const _: () = assert!(head::BYTES <= MOST_HEAD_BYTES, "the head fits");
const _: () = assert!(Table::BYTES_PER_SEGMENT <= MOST_BYTES_A_SEGMENT, "the rows fit");
const _: () = assert!(BYTES_A_PART <= MOST_BYTES_A_PART, "the directory fits");

impl<N: Nand> Store<N> {
    /// Makes sure that no later mount believes a checkpoint. Called before anything else on flash changes.
    pub(super) fn end_checkpoint(&mut self) -> Result<(), ErrorKind> {
        // Spec M10, M12.
        let is_ended = match self.checkpoint {
            Checkpoint::None => return Ok(()),
            Checkpoint::True(seq) => {
                self.log.clear_end()? && self.log.program_end(seq)? || self.log.clear_map(self.checkpoint_pages())?
            }
            Checkpoint::Doubtful => self.log.clear_map(self.checkpoint_pages())?,
        };
        self.count_kept();
        if !is_ended && !self.log.forbid_checkpoint()? {
            // A mount might believe it for ever, so nothing may change any more.
            self.read_only = true;
            return Err(ErrorKind::Other);
        }
        self.checkpoint = Checkpoint::None;
        Ok(())
    }

    fn count_kept(&mut self) {
        self.stats.count_kept(self.log.take_kept_costs());
    }

    fn checkpoint_bytes(&self) -> usize {
        let of_rows = self.table.segments() as usize * Table::BYTES_PER_SEGMENT;
        head::BYTES + of_rows + self.plan.parts as usize * BYTES_A_PART
    }

    fn checkpoint_pages(&self) -> u32 {
        self.checkpoint_bytes().div_ceil(self.log.page_bytes() as usize) as u32
    }
}

impl<N: Nand, V: VictimWorth, W: StreamPlacement> PagedFtl<N, V, W> {
    /// Removes what a format must not leave.
    pub(super) fn drop_checkpoint(&mut self) -> Result<(), ErrorKind> {
        // Before its end, without which it would be believed. A kept segment that is bad ends it as well.
        let is_gone = self.store.log.clear_map(self.store.checkpoint_pages())?;
        if !is_gone && !self.store.log.forbid_checkpoint()? {
            return Err(ErrorKind::EraseFailed);
        }
        self.store.log.clear_end()?;
        self.store.count_kept();
        Ok(())
    }

    /// Writes a checkpoint at the end of a shutdown, if everything is in order. It is a hint: without one the next
    /// mount scans.
    pub(super) fn write_checkpoint(&mut self) -> Result<(), Halt> {
        let is_wanted = self.store.checkpoint == Checkpoint::None && !self.has_failed_writes && self.store.is_at_rest();
        let written = if is_wanted { self.program_checkpoint() } else { Ok(()) };
        self.store.count_kept();
        match written {
            Err(error @ ErrorKind::Unresponsive) => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn program_checkpoint(&mut self) -> Result<(), ErrorKind> {
        let pages = self.store.checkpoint_pages();
        // Spec M11. From here on there is none, until all pages are programmed.
        if self.store.log.is_checkpoint_worn()? || !self.store.log.clear_map(pages)? {
            return Ok(());
        }
        match self.store.log.end()? {
            KeptPage::Bad => return Ok(()),
            KeptPage::Unknown if !self.store.log.clear_end()? => return Ok(()),
            // Erased, or the end of another checkpoint: neither says anything of this one.
            _ => {}
        }
        let seq = self.store.next_seq;
        self.store.next_seq += 1;
        // A program that fails may have programmed its page.
        self.store.checkpoint = Checkpoint::True(seq);
        let (code, bytes) = (self.checkpoint_code(seq), self.store.checkpoint_bytes());
        let mut page = self.map.take_page();
        let programmed = (0..pages).try_for_each(|number| {
            let from = number as usize * page.len();
            for (at, byte) in (from..).zip(page.iter_mut()) {
                *byte = if at < bytes { self.checkpoint_byte(at, seq, code) } else { 0 };
            }
            self.store.log.program_checkpoint(number, &page, seq)
        });
        self.map.put_page(page);
        programmed
    }

    fn checkpoint_code(&self, seq: u64) -> u32 {
        // Byte by byte, since there is no memory to put the checkpoint together.
        let mut digest = CRC32.digest();
        (head::CODE.end..self.store.checkpoint_bytes())
            .for_each(|at| digest.update(&[self.checkpoint_byte(at, seq, 0)]));
        digest.finalize()
    }

    fn checkpoint_byte(&self, at: usize, seq: u64, code: u32) -> u8 {
        let of_rows = self.store.table.segments() as usize * Table::BYTES_PER_SEGMENT;
        if let Some(at) = at.checked_sub(head::BYTES) {
            return if at < of_rows { self.store.table.byte(at) } else { self.map.byte(at - of_rows) };
        }
        let mut bytes = [0; head::BYTES];
        bytes[head::MAGIC].copy_from_slice(head::MAGIC_BYTES);
        le::put(&mut bytes, head::CODE, code.into());
        le::put(&mut bytes, head::SEQ, seq);
        le::put(&mut bytes, head::LOGICAL_PAGES, self.map.logical_pages().into());
        le::put(&mut bytes, head::SEGMENTS, self.store.table.segments().into());
        bytes[at]
    }

    /// Fills the tables from the checkpoint, if there is one that is true. False if there is none, or if the mount does
    /// not trust any.
    pub(super) fn take_checkpoint(&mut self, trusts: bool) -> Result<bool, Halt> {
        let (first, end) = (self.store.log.kept_at(0)?, self.store.log.end()?);
        // Spec P2.
        let greatest = first.number().max(end.number());
        let is_plausible = greatest < IMPLAUSIBLE_CLOCK;
        if is_plausible {
            self.store.next_seq = 1 + greatest;
        }
        // Spec M9.
        self.store.checkpoint = match (first, end) {
            (KeptPage::Bad | KeptPage::Erased, _) | (_, KeptPage::Bad) => Checkpoint::None,
            (KeptPage::Of(seq), KeptPage::Of(ended)) if ended == seq => Checkpoint::None,
            (KeptPage::Of(seq), KeptPage::Of(_) | KeptPage::Erased)
                if trusts && is_plausible && self.is_checkpoint_whole(seq)? =>
            {
                Checkpoint::True(seq)
            }
            _ => Checkpoint::Doubtful,
        };
        if !matches!(self.store.checkpoint, Checkpoint::True(_)) {
            return Ok(false);
        }
        if !self.fill_tables()? {
            // The tables are filled in part, and have to be empty for a scan.
            return Err(self.store.begin_again());
        }
        Ok(true)
    }

    /// Gives `take` each byte of the checkpoint with its offset. False if a page is not one of it.
    fn read_checkpoint(
        &mut self,
        seq: Option<u64>,
        take: &mut dyn FnMut(&mut Self, usize, u8),
    ) -> Result<bool, ErrorKind> {
        let (pages, bytes) = (self.store.checkpoint_pages(), self.store.checkpoint_bytes());
        let mut page = self.map.take_page();
        let mut is_whole = Ok(true);
        for number in 0..pages {
            is_whole = self
                .store
                .log
                .read_checkpoint(number, &mut page)
                .map(|found| found.is_some() && seq.is_none_or(|seq| found == Some(seq)));
            if !matches!(is_whole, Ok(true)) {
                break;
            }
            let from = number as usize * page.len();
            (from..bytes).zip(page.iter()).for_each(|(at, &byte)| take(self, at, byte));
        }
        self.map.put_page(page);
        is_whole
    }

    fn is_checkpoint_whole(&mut self, seq: u64) -> Result<bool, ErrorKind> {
        let (mut digest, mut bytes) = (CRC32.digest(), [0; head::BYTES]);
        let is_read = self.read_checkpoint(Some(seq), &mut |_, at, byte| {
            if at >= head::CODE.end {
                digest.update(&[byte]);
            }
            if let Some(of_head) = bytes.get_mut(at) {
                *of_head = byte;
            }
        })?;
        let is_ours = (head::SEQ.start..head::BYTES).all(|at| bytes[at] == self.checkpoint_byte(at, seq, 0));
        let is_good = le::get_u32(&bytes, head::CODE) == digest.finalize();
        Ok(is_read && is_ours && is_good && bytes[head::MAGIC] == *head::MAGIC_BYTES)
    }

    /// Fills the tables. False if it cannot be read once more, or says what cannot be.
    fn fill_tables(&mut self) -> Result<bool, ErrorKind> {
        let of_rows = self.store.table.segments() as usize * Table::BYTES_PER_SEGMENT;
        let is_read = self.read_checkpoint(None, &mut |ftl, at, byte| match at.checked_sub(head::BYTES) {
            None => {}
            Some(at) if at < of_rows => ftl.store.table.set_byte(at, byte),
            Some(at) => ftl.map.set_byte(at - of_rows, byte),
        })?;
        let table = &mut self.store.table;
        for seg in table.all() {
            // Open segments without a page were left.
            if table.used_for(seg) == Use::Open {
                table.set_use(seg, Use::Suspect);
            }
        }
        self.store.recount_all();
        let store = &self.store;
        // `erase` asserts that what it erases holds nothing: bytes that say otherwise are not taken.
        let is_sound = |seg| store.table.is_in_use(seg) || store.table.valid(seg) == 0;
        let is_there = |part| {
            let at = self.map.place_of(part);
            !at.is_some() || is_place(at) && store.is_in_use(at)
        };
        Ok(is_read && store.table.all().all(is_sound) && (0..store.plan.parts).all(is_there))
    }
}

#[cfg(test)]
mod tests {
    use wearwell_flash::{NandGeometry, RamNand};

    use super::*;
    use crate::addr::Lpn;
    use crate::ftl::{BlockDevice, WriteHint};
    use crate::page::log::MapLog;
    use crate::paged::PagedConfig;

    const GEOMETRY: NandGeometry = NandGeometry { pages_per_block: 8, blocks: 16, ..RamNand::SMALL };
    const CONFIG: PagedConfig = PagedConfig::new(4, 2);

    type Small = PagedFtl<RamNand>;

    fn mounted(ftl: Small) -> (Small, bool) {
        let (ftl, report) = PagedFtl::mount(ftl.into_log(), CONFIG).expect("it mounts");
        (ftl, report.clean)
    }

    /// A device with one page, which was shut down.
    fn shut_down() -> Small {
        let log = MapLog::with_map(RamNand::new(GEOMETRY), 1).expect("it fits");
        let mut ftl = PagedFtl::format(log, CONFIG).expect("it fits");
        ftl.write_page(Lpn(3), &[1; 512], WriteHint::NONE).expect("there is room");
        ftl.shutdown().expect("nothing fails");
        ftl
    }

    #[test]
    fn the_checkpoint_of_the_spec_is_what_is_written() {
        let (mut ftl, mut page) = (shut_down(), [0xAA; 512]);
        let seq = ftl.store.log.read_checkpoint(0, &mut page).expect("nothing fails");
        let spec = wearwell_spec::dump("nand-map-checkpoint");
        assert_eq!((seq, &page[..spec.len()]), (Some(3), spec.as_slice()));
        assert!(page[spec.len()..].iter().all(|&byte| byte == 0), "the rest is zeros");
    }

    #[test]
    fn a_checkpoint_is_true_until_something_changes() {
        let (ftl, is_clean) = mounted(shut_down());
        assert!(is_clean);
        let (mut ftl, is_clean) = mounted(ftl);
        assert!(is_clean, "a mount alone changes nothing");
        let mut page = [0; 512];
        ftl.read_page(Lpn(3), &mut page).expect("it was written");
        assert_eq!(page, [1; 512]);
        ftl.write_page(Lpn(3), &[2; 512], WriteHint::NONE).expect("there is room");
        let (mut ftl, is_clean) = mounted(ftl);
        assert!(!is_clean, "a page was written since");
        ftl.read_page(Lpn(3), &mut page).expect("it was written");
        assert_eq!(page, [2; 512]);
        ftl.shutdown().expect("nothing fails");
        assert!(mounted(ftl).1, "it was shut down again");
    }

    #[test]
    fn what_may_be_outdated_is_erased_before_anything_changes() {
        let mut ftl = shut_down();
        // As if nothing could be told of the place of the end.
        ftl.store.checkpoint = Checkpoint::Doubtful;
        ftl.write_page(Lpn(0), &[2; 512], WriteHint::NONE).expect("there is room");
        assert_eq!(ftl.store.log.kept_at(0), Ok(KeptPage::Erased));
        assert!(!mounted(ftl).1);
    }
}
