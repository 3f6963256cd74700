//! How pages of the host's and records of discards are programmed, and the index is pointed at them.

use wearwell_flash::ErrorKind;

use super::Merger;
use crate::addr::{Lpn, Ppn, Seg};
use crate::bits;
use crate::ftl::{FtlError, Probe};
use crate::logblock::addr::{Lbn, LogId};
use crate::logblock::pages::Pages;
use crate::logblock::tag::{Content, Role};

impl<M: Pages, P: Probe> Merger<M, P> {
    pub(in crate::logblock) fn open_log(&mut self, owner: Option<Lbn>) -> Result<LogId, FtlError> {
        let seg = self.store.take(false)?;
        let id = self.index.open_log(seg, owner);
        self.store.use_as_log(seg, id);
        Ok(id)
    }

    /// Opens an erased primary block for a logical block that has no data block.
    pub(in crate::logblock) fn open_primary(&mut self, lbn: Lbn) -> Result<(), FtlError> {
        let seg = self.store.take(false)?;
        self.index.open_primary(lbn, seg);
        self.store.use_as_data(seg, lbn);
        Ok(())
    }

    /// Programs the next page of a log block and points the map at it. A log block that has all pages of its logical
    /// block in order becomes the data block with its last page: a switch merge (Lee '07, section 3). False if the
    /// program failed; the log block has then been emptied and given up.
    pub(in crate::logblock) fn append(&mut self, id: LogId, lpn: Lpn, data: &[u8]) -> Result<bool, FtlError> {
        let log = *self.index.logs().get(id);
        let (lbn, offset) = self.index.map().split(lpn);
        let is_next = log.owner == Some(lbn) && offset == log.next;
        let switches =
            is_next && log.is_prefix() && offset + 1 == self.store.shape().pages && !self.index.in_place().is_used();
        let role = match log.next {
            // The block has a record in place of a lost page. A mount looks at each page only behind such a commit.
            _ if switches && self.index.has_losses(lbn) => Role::commit_with_gaps(offset),
            _ if switches => Role::Commit,
            0 => Role::LogHead,
            _ => Role::Plain,
        };
        let at = self.store.page_in(log.seg, log.next);
        match self.store.program(at, data, lpn, role) {
            Ok(()) => {}
            Err(error) => return self.give_up_log(id, error).map(|()| false),
        }
        // The page is durable, so the tables may change. A program that failed has left the older copy in the map.
        self.index.append(id, lpn);
        if switches {
            self.store.stats.switch_merges += 1;
            // An error from here on finds the page written: `drop_if_written` sees to that.
            self.adopt(lbn, log.seg)?;
        }
        Ok(true)
    }

    /// Programs a page at its own place. False if that failed; the block has then been given up.
    pub(in crate::logblock) fn program_in_place(&mut self, lpn: Lpn, seg: Seg, data: &[u8]) -> Result<bool, FtlError> {
        let (lbn, offset) = self.index.map().split(lpn);
        let at = self.store.page_in(seg, offset);
        // The last page of a primary block that was written in order says that nothing is missing. Pages in a
        // replacement block would be older than this commit, and stale for a mount (Spec B10).
        let complete = offset + 1 == self.store.shape().pages
            && !self.index.map().has_overlay(lbn)
            && self.index.map().mapped_in(lbn) == offset
            && !self.index.has_losses(lbn);
        let role = if complete { Role::Commit } else { Role::InPlace };
        match self.store.program(at, data, lpn, role) {
            Ok(()) => {}
            Err(error) => {
                // If the merge fails, too, the block takes no further page in place.
                self.index.in_place_mut().close(lbn);
                return self.give_up(seg, lbn, error).map(|()| false);
            }
        }
        self.index.fill_in_place(lpn);
        Ok(true)
    }

    /// Programs a discard record as the next page of a log block.
    pub(in crate::logblock) fn append_record(&mut self, id: LogId, lbn: Lbn) -> Result<(), FtlError> {
        let log = *self.index.logs().get(id);
        let at = self.store.page_in(log.seg, log.next);
        let role = if log.next == 0 { Role::LogHead } else { Role::Plain };
        match self.program_discards(lbn, at, role) {
            Ok(()) => {}
            // Emptying the log block merges this logical block, which will do as well.
            Err(error) => return self.give_up_log(id, error),
        }
        self.index.append_record(id, lbn);
        // Both come behind the program. If it fails, the discards are still dirty, or a merge has made them durable.
        self.discards.settle(lbn);
        Ok(())
    }

    /// Programs a bitmap of the pages of a logical block that are unmapped.
    pub(super) fn program_discards(&mut self, lbn: Lbn, at: Ppn, role: Role) -> Result<(), ErrorKind> {
        let mut record = core::mem::take(&mut self.record);
        record.fill(0);
        // The last record of a logical block is the only one that counts (Spec B11). So it names all unmapped pages,
        // and not only those that were discarded since the one before.
        for (offset, lpn) in self.index.map().range(lbn).enumerate() {
            // `record` is empty where bytes are only counted.
            if M::STORES && !self.index.map().is_mapped(Lpn(lpn)) {
                bits::set(&mut record, offset);
            }
        }
        let programmed = self.store.program_meta(at, &record, self.index.map().join(lbn, 0), Content::Trim, role);
        self.record = record;
        programmed
    }
}
