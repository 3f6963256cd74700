//! Where a discard is recorded: nowhere as long as it need not last, then in a log block, by a merge, or by an erase.

use super::Writer;
use crate::addr::Lpn;
use crate::ftl::{FtlError, Probe};
use crate::logblock::addr::Lbn;
use crate::logblock::merger::MergeCause;
use crate::logblock::pages::Pages;

impl<M: Pages, P: Probe> Writer<M, P> {
    /// A page holds nothing from now on. Returns its logical block if that has anything to record.
    pub(in crate::logblock) fn discard(&mut self, lpn: Lpn) -> Option<Lbn> {
        let (has_failed_writes, merger) = (self.has_failed_writes, self.merger_mut());
        let (lbn, _) = merger.index.map().split(lpn);
        if merger.index.map().is_mapped(lpn) {
            // The page is counted before it leaves the map, which says where it lies.
            merger.store.add_dead_page(merger.index.map().lookup(lpn));
            merger.index.unmap(lpn);
            merger.store.stats.discarded_pages += 1;
        } else if !has_failed_writes {
            return None;
        }
        // A write that failed may have left the page on flash: a mount would find it if nothing recorded the discard.
        merger.discards.note(lbn);
        Some(lbn)
    }

    /// Frees the blocks of a logical block of which nothing is left, or leaves that for later.
    pub(in crate::logblock) fn drop_if_empty(&mut self, lbn: Lbn) -> Result<(), FtlError> {
        // Shared log blocks hold pages of others and cannot be erased. A flush records the discards.
        let merger = self.merger_mut();
        if merger.index.shares_logs() || merger.index.map().mapped_in(lbn) > 0 {
            return Ok(());
        }
        if merger.keeps_dead() {
            merger.note_dead(lbn);
            return Ok(());
        }
        // An erase would make the mark of a clean shutdown false, so the mark goes first.
        merger.store.prepare()?;
        merger.drop_block(lbn)
    }

    /// Makes all that was written and discarded durable.
    pub(in crate::logblock) fn flush(&mut self) -> Result<(), FtlError> {
        let merger = self.merger_mut();
        merger.leave_condemned()?;
        // A record says what else is mapped: those pages have to be safe before it is.
        merger.pad()?;
        while let Some(lbn) = self.merger_mut().discards.next_dirty() {
            self.merger_mut().store.prepare()?;
            self.record_discards(lbn)?;
        }
        let merger = self.merger_mut();
        // This comes behind the loop: `record_discards` may have found logical blocks of which nothing is left.
        merger.record_dead()?;
        // The records of the loop lie in log blocks, where a later program may endanger them.
        merger.pad()
    }

    /// Makes the discards in a logical block durable: by a record in its log block, or by a merge without the pages. If
    /// a log block fails they are still dirty, and take another try.
    fn record_discards(&mut self, lbn: Lbn) -> Result<(), FtlError> {
        let merger = self.merger_mut();
        let nothing_left = merger.index.map().mapped_in(lbn) == 0;
        if nothing_left && merger.keeps_dead() {
            merger.note_dead(lbn);
            return Ok(());
        }
        let shares_logs = merger.index.shares_logs();
        if nothing_left && !shares_logs {
            return merger.drop_block(lbn);
        }
        if !M::TAGGED {
            // Without tags there is no mount that could bring a page back.
            merger.discards.settle(lbn);
            return if nothing_left { merger.drop_block(lbn) } else { Ok(()) };
        }
        let log = if shares_logs { Some(self.shared_log(0)?) } else { merger.index.logs().current(lbn) };
        let merger = self.merger_mut();
        // Finding room in a shared log block may have merged this logical block.
        if !merger.discards.is_dirty(lbn) {
            return Ok(());
        }
        match log.filter(|&id| merger.index.logs().has_room(id)) {
            Some(id) => merger.append_record(id, lbn)?,
            // No log block is opened for a record alone (decision 21).
            None => merger.merge(lbn, MergeCause::Recycle)?,
        }
        // All that a shared scheme leaves of a logical block without pages is the record. If that has failed, or what
        // pads its group has, a merge took its place, and only the commit of that keeps older pages from coming back.
        if nothing_left && !merger.discards.is_dirty(lbn) && merger.index.map().data(lbn).is_some() {
            merger.pad()?;
            if merger.index.map().logged(lbn, merger.store.shape().pages).is_some() {
                merger.drop_data(lbn)?;
            }
        }
        Ok(())
    }
}
