//! `fast`: one log block for a sequential stream, and log blocks that all logical blocks share (FAST, which Lee '07
//! compares itself with in section 2).
//!
//! Two things differ from FAST as it was published: a page that is written for the first time goes to a log block like
//! any other, and a stream is only begun by a write to the first page of a logical block.

use super::Writer;
use crate::addr::Lpn;
use crate::ftl::{FtlError, Probe};
use crate::logblock::addr::{Lbn, LogId};
use crate::logblock::config::Scheme;
use crate::logblock::pages::Pages;

impl<M: Pages, P: Probe> Writer<M, P> {
    /// `fast`: a write to the first page of a logical block begins a stream, which has a log block to itself as long
    /// as it goes on; everything else goes to the shared ones.
    pub(super) fn put_in_shared_log(&mut self, lpn: Lpn, data: &[u8], stream: u16) -> Result<(), FtlError> {
        let (lbn, offset) = self.merger().index.map().split(lpn);
        // Each round appends, empties a log block, or loses a segment for good. So this ends.
        loop {
            // The first page of a logical block: its merge will take a segment and free none.
            if self.merger().index.map().is_nowhere(lbn) && !self.has_room_for_log() {
                self.recycler.reclaim_oldest()?;
                continue;
            }
            let goes_on = self.merger().index.sequential().filter(|&id| {
                let log = self.merger().index.logs().get(id);
                // Once a page of it was written again elsewhere, it is no prefix, and cannot become the data block.
                log.owner == Some(lbn) && log.next == offset && log.is_prefix()
            });
            let id = match goes_on {
                Some(id) => id,
                None if offset == 0 => self.begin_stream(lbn)?,
                None => self.shared_log(stream)?,
            };
            if self.merger_mut().append(id, lpn, data)? {
                return Ok(());
            }
        }
    }

    /// Ends the stream that there is, and opens a log block for another one.
    fn begin_stream(&mut self, lbn: Lbn) -> Result<LogId, FtlError> {
        // A log block with an owner takes no pages of others, so nobody could fill up that of the last stream.
        if let Some(id) = self.merger().index.sequential()
            && let Some(owner) = self.merger().index.logs().get(id).owner
        {
            self.merger_mut().merge_log(owner, id)?;
        }
        // Each round closes a log block, or fails if there is none. So this ends.
        while self.merger().index.logs().is_full() || !self.has_room_for_log() {
            self.recycler.reclaim_oldest()?;
        }
        let id = self.merger_mut().open_log(Some(lbn))?;
        self.merger_mut().index.begin_stream(id);
        Ok(id)
    }

    /// The shared log block that takes the next page of a stream. Merging is put off until there is no other way.
    pub(super) fn shared_log(&mut self, stream: u16) -> Result<LogId, FtlError> {
        // Each round but the last closes a log block. So this ends.
        loop {
            if let Some(id) = self.open_shared_log(stream) {
                self.merger_mut().index.note_stream(id, stream);
                return Ok(id);
            }
            // One log block is kept for a stream.
            let streams = u32::from(self.merger().index.sequential().is_some());
            let is_full = self.merger().index.logs().len() - streams + 1 >= self.log_blocks;
            if !is_full && self.has_room_for_log() {
                let id = self.merger_mut().open_log(None)?;
                self.merger_mut().index.note_stream(id, stream);
                return Ok(id);
            }
            self.recycler.reclaim_oldest()?;
        }
    }

    /// The shared log block with room that a stream has, or if there are as many as may be open the one written longest
    /// ago: more streams than that share them, those that write most recently with nobody.
    fn open_shared_log(&self, stream: u16) -> Option<LogId> {
        let logs = self.merger().index.logs();
        let open = || logs.all().filter(|&(id, log)| log.owner.is_none() && logs.has_room(id));
        let own = open().find(|(_, log)| log.stream == stream);
        let is_most = open().count() as u32 >= self.most_open();
        let any = || open().filter(|_| is_most).min_by_key(|(_, log)| log.used);
        own.or_else(any).map(|(id, _)| id)
    }

    /// Shared log blocks that may be open at once: half of the pool, so that opening one seldom means emptying another
    /// that has room.
    fn most_open(&self) -> u32 {
        match self.scheme {
            Scheme::FastByStream => (self.log_blocks / 2).max(1),
            _ => 1,
        }
    }

    /// True if a segment can be taken for a log block, or for pages of a logical block that has no data block yet: each
    /// of those takes one when it is merged, and frees none.
    fn has_room_for_log(&self) -> bool {
        let merger = self.merger();
        merger.store.free_segments() > merger.reserve() + merger.index.map().without_data()
    }
}
