//! `fast`: one log block for a sequential stream, and log blocks that all logical blocks share (FAST, which Lee '07
//! compares itself with in section 2).
//!
//! Two things differ from FAST as it was published: a page that is written for the first time goes to a log block like
//! any other, and a stream is only begun by a write to the first page of a logical block.

use super::logs::{LogBlock, LogId};
use super::map::Lbn;
use super::merge::MergeCause;
use super::pages::Pages;
use super::{BlockFtl, Scheme};
use crate::addr::Lpn;
use crate::ftl::{FtlError, Probe};

impl<M: Pages, P: Probe> BlockFtl<M, P> {
    /// `fast`: a write to the first page of a logical block begins a stream, which has a log block to itself as long
    /// as it goes on; everything else goes to the shared ones.
    pub(super) fn put_in_shared_log(&mut self, lpn: Lpn, data: &[u8], stream: u16) -> Result<(), FtlError> {
        let (lbn, offset) = self.index.map().split(lpn);
        // Each round appends, empties a log block, or loses a segment for good. So this ends.
        loop {
            // The first page of a logical block: its merge will take a segment and free none.
            if self.index.map().data(lbn).is_none() && !self.index.map().has_overlay(lbn) && !self.has_room_for_log() {
                self.reclaim_oldest()?;
                continue;
            }
            let goes_on = self.index.sequential().filter(|&id| {
                let log = self.index.logs().get(id);
                // Once a page of it was written again elsewhere, it is no prefix, and cannot become the data block.
                log.owner == Some(lbn) && log.next == offset && log.is_prefix()
            });
            let id = match goes_on {
                Some(id) => id,
                None if offset == 0 => self.begin_stream(lbn)?,
                None => self.shared_log(stream)?,
            };
            if self.append(id, lpn, data)? {
                return Ok(());
            }
        }
    }

    /// Ends the stream that there is, and opens a log block for another one.
    fn begin_stream(&mut self, lbn: Lbn) -> Result<LogId, FtlError> {
        // A log block with an owner takes no pages of others, so nobody could fill up that of the last stream.
        if let Some(id) = self.index.sequential()
            && let Some(owner) = self.index.logs().get(id).owner
        {
            self.merge_log(owner, id)?;
        }
        while self.index.logs().is_full() || !self.has_room_for_log() {
            self.reclaim_oldest()?;
        }
        let id = self.open_log(Some(lbn))?;
        self.index.begin_stream(id);
        Ok(id)
    }

    /// The shared log block that takes the next page of a stream. Merging is put off until there is no other way.
    pub(super) fn shared_log(&mut self, stream: u16) -> Result<LogId, FtlError> {
        loop {
            if let Some(id) = self.open_shared_log(stream) {
                self.index.note_stream(id, stream);
                return Ok(id);
            }
            // One log block is kept for a stream.
            let streams = u32::from(self.index.sequential().is_some());
            let is_full = self.index.logs().len() - streams + 1 >= self.config.log_blocks;
            if !is_full && self.has_room_for_log() {
                let id = self.open_log(None)?;
                self.index.note_stream(id, stream);
                return Ok(id);
            }
            self.reclaim_oldest()?;
        }
    }

    /// The shared log block with room that a stream has, or if there are as many as may be open the one written longest
    /// ago: more streams than that share them, those that write most recently with nobody.
    fn open_shared_log(&self, stream: u16) -> Option<LogId> {
        let open = || self.index.logs().all().filter(|(_, log)| log.owner.is_none() && log.next < self.shape().pages);
        let own = open().find(|(_, log)| log.stream == stream);
        let is_most = open().count() as u32 >= self.most_open();
        let any = || open().filter(|_| is_most).min_by_key(|(_, log)| log.used);
        own.or_else(any).map(|(id, _)| id)
    }

    /// Shared log blocks that may be open at once: half of the pool, so that opening one seldom means emptying another
    /// that has room.
    fn most_open(&self) -> u32 {
        match self.config.scheme {
            Scheme::FastByStream => (self.config.log_blocks / 2).max(1),
            _ => 1,
        }
    }

    /// True if a segment can be taken for a log block, or for pages of a logical block that has no data block yet: each
    /// of those takes one when it is merged, and frees none.
    fn has_room_for_log(&self) -> bool {
        self.store.free_segments() > self.reserve() + self.index.map().without_data()
    }

    /// Empties the log block written longest ago.
    pub(super) fn reclaim_oldest(&mut self) -> Result<(), FtlError> {
        // The stream's log block goes last: it is not what keeps the others from being opened.
        let age = |(id, log): &(LogId, &LogBlock)| (self.index.sequential() == Some(*id), log.used);
        let oldest = self.index.logs().all().min_by_key(age).map(|(id, log)| (id, log.owner));
        match oldest {
            Some((id, None)) => self.reclaim(id),
            Some((id, Some(owner))) => self.merge_log(owner, id),
            None => Err(self.store.worn_out()),
        }
    }

    /// Empties a shared log block: every logical block with a live page in it is merged, and every one with a
    /// discarded page in it whose discard is not durable, since an older copy may lie behind it.
    pub(super) fn reclaim(&mut self, id: LogId) -> Result<(), FtlError> {
        let seg = self.index.logs().get(id).seg;
        // A merge closes only log blocks with an owner, so this one stays open.
        for page in 0..self.index.logs().held(id).len() {
            let (lbn, offset) = self.index.map().split(self.index.logs().held(id)[page]);
            let at = self.store.page_in(seg, page as u32);
            let is_live =
                self.index.map().logged(lbn, offset) == at || self.index.map().logged(lbn, self.shape().pages) == at;
            // Asked for each page anew, since the merges before have changed the map.
            if !is_live && !self.discards.is_dirty(lbn) {
                continue;
            }
            self.merge(lbn, MergeCause::Recycle)?;
        }
        debug_assert!(self.index.logs().get(id).live == 0);
        // What superseded pages in here may lie in a group that a later program endangers.
        self.index.close_to_appends(id);
        self.pad()?;
        self.index.close_log(id);
        self.store.release(seg)
    }
}
