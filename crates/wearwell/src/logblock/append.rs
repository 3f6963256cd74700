//! Where a page goes, and how it is appended to a log block. This file has what all schemes share and `log-block`;
//! `primary` and `shared` have the other two.

use wearwell_flash::ErrorKind;

use super::logs::LogId;
use super::map::Lbn;
use super::merge::MergeCause;
use super::pages::Pages;
use super::recycle::Recycling;
use super::tag::Role;
use super::{BlockFtl, Scheme};
use crate::addr::Lpn;
use crate::ftl::{FtlError, Probe};

impl<M: Pages, P: Probe> BlockFtl<M, P> {
    /// Writes a page.
    pub(super) fn put_page(&mut self, lpn: Lpn, data: &[u8], stream: u16) -> Result<(), FtlError> {
        debug_assert!(lpn.0 < self.index.map().logical_pages());
        self.writable?;
        if self.store.is_worn_out() {
            return Err(self.store.worn_out());
        }
        self.store.prepare()?;
        self.leave_condemned()?;
        // The next record of dead blocks will be newer than this page, and must not name its logical block any more.
        self.revive(self.index.map().split(lpn).0)?;
        // One piece of work for each host page, so that the wait of a command is bounded.
        self.keep_up()?;
        let written = match self.config.scheme {
            Scheme::LogBlock(policy) => self.put_in_own_log(lpn, data, policy),
            Scheme::PrimaryReplacement => self.put_in_primary(lpn, data),
            Scheme::Fast => self.put_in_shared_log(lpn, data, 0),
            Scheme::FastByStream => self.put_in_shared_log(lpn, data, stream),
        };
        // The page may be on flash all the same: `unmap` then records its discard, though the map does not know it.
        self.has_failed_writes |= written.is_err();
        self.store.stats.host_programs += u64::from(written.is_ok());
        written
    }

    /// Work that is due, a bounded part of it: a page that gets weak, wear leveling, a dead block, a fold. Returns
    /// false if there was none.
    pub(super) fn keep_up(&mut self) -> Result<bool, FtlError> {
        // The reserve comes first: a merge takes a free segment before it gives one back.
        if self.lacks_reserve() {
            self.restore_reserve()?;
        } else if let Some(lbn) = self.weak.pop() {
            self.merge(lbn, MergeCause::Upkeep)?;
        } else if self.store.is_wear_due() {
            self.level_wear()?;
        } else if self.is_reclaiming() {
            self.reclaim_dead()?;
        } else if self.folding {
            // One block for each host page (decision 23): to fold up to the second mark at once would make one command
            // wait.
            self.fold_one()?;
            self.check_folding();
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// True if `keep_up` has something to do.
    pub(super) fn is_behind(&mut self) -> bool {
        self.lacks_reserve()
            || !self.weak.is_empty()
            || self.store.is_wear_due()
            || self.folding
            || self.is_reclaiming()
    }

    /// True if blocks that went bad have used up the reserve, and there are log blocks to restore it from.
    pub(super) fn lacks_reserve(&self) -> bool {
        self.store.free_segments() < self.reserve() && (self.index.logs().len() > 0 || self.has_dead())
    }

    /// Recycles a log block to gain a free segment.
    #[cold]
    pub(super) fn restore_reserve(&mut self) -> Result<(), FtlError> {
        match self.config.scheme {
            Scheme::LogBlock(_) => self.evict(),
            Scheme::PrimaryReplacement => self.fold_one().map(|_| ()),
            Scheme::Fast | Scheme::FastByStream => self.reclaim_oldest(),
        }
    }

    /// `log-block`: every logical block has a log block of its own (Lee '07, section 3).
    fn put_in_own_log(&mut self, lpn: Lpn, data: &[u8], policy: Recycling) -> Result<(), FtlError> {
        let (lbn, _) = self.index.map().split(lpn);
        // A round without an append recycles or evicts a log block, or loses a segment for good. So this ends.
        loop {
            let id = match self.index.logs().current(lbn) {
                Some(id) if self.index.logs().get(id).next < self.shape().pages => id,
                Some(id) => {
                    self.recycle(lbn, id, policy)?;
                    continue;
                }
                // The log block takes one of the free segments, and the reserve has to be left behind it.
                None if self.index.logs().is_full() || self.store.free_segments() <= self.reserve() => {
                    self.evict()?;
                    continue;
                }
                None => self.open_log(Some(lbn))?,
            };
            if self.append(id, lpn, data)? {
                return Ok(());
            }
        }
    }

    /// Takes the log block away from the logical block that was written longest ago; but first, what is dead goes.
    fn evict(&mut self) -> Result<(), FtlError> {
        // That copies no data, while a merge copies up to a block of it.
        if self.drop_dead()? {
            return Ok(());
        }
        let oldest = self.index.logs().all().min_by_key(|(_, log)| log.used);
        // Without a log block there is nothing that a merge could gain.
        let Some((id, Some(lbn))) = oldest.map(|(id, log)| (id, log.owner)) else { return Err(self.store.worn_out()) };
        self.merge_log(lbn, id)
    }

    pub(super) fn open_log(&mut self, owner: Option<Lbn>) -> Result<LogId, FtlError> {
        let seg = self.store.take(false)?;
        let id = self.index.open_log(seg, owner);
        self.store.use_as_log(seg, id);
        Ok(id)
    }

    /// Programs the next page of a log block and points the map at it. A log block that has all pages of its logical
    /// block in order becomes the data block with its last page: a switch merge (Lee '07, section 3). False if the
    /// program failed; the log block has then been emptied and given up.
    pub(super) fn append(&mut self, id: LogId, lpn: Lpn, data: &[u8]) -> Result<bool, FtlError> {
        let log = *self.index.logs().get(id);
        let (lbn, offset) = self.index.map().split(lpn);
        let is_next = log.owner == Some(lbn) && offset == log.next;
        let switches = is_next && log.is_prefix() && offset + 1 == self.shape().pages && self.switches();
        let role = match log.next {
            // In place of a lost page the block has a record. Only behind such a commit does a mount look at each page.
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

    /// True if a log block in order is made the data block. The NFTL of FSAF '09 consolidates into a new block always.
    fn switches(&self) -> bool {
        self.config.scheme != Scheme::PrimaryReplacement
    }

    /// A program in a log block failed: what it holds is merged, and the block retired. After one that may have
    /// happened or not it is erased, and the error is the host's.
    #[cold]
    pub(super) fn give_up_log(&mut self, id: LogId, error: ErrorKind) -> Result<(), FtlError> {
        // Closed first: emptying a shared log block pads the others, and must not program behind the page that failed.
        self.index.close_to_appends(id);
        let (seg, owner) = (self.index.logs().get(id).seg, self.index.logs().get(id).owner);
        if let Some(lbn) = owner {
            return self.give_up(seg, lbn, error);
        }
        // Noted before it is emptied: `release` retires a condemned segment and erases any other.
        let answer = self.store.note_failure(seg, error)?;
        self.reclaim(id)?;
        answer
    }
}
