//! The writer: where a page of the host's goes, as the scheme says.
//!
//! This file has what all schemes share, and `log-block`; `primary` and `shared` have the others. `discards` says where
//! a discard is recorded.

mod discards;
mod primary;
mod shared;

use super::config::{BlockConfig, Scheme};
use super::merger::Merger;
use super::pages::Pages;
use super::recycle::Recycling;
use super::recycler::Recycler;
use crate::addr::Lpn;
use crate::ftl::{FtlError, Probe};

/// Chooses the block for a page. If there is none, the recycler makes room.
#[derive(Debug)]
pub(super) struct Writer<M, P> {
    pub(super) recycler: Recycler<M, P>,
    scheme: Scheme,
    log_blocks: u32,
    /// A write of the host's failed: of a page that the map does not know there may be a copy on flash.
    has_failed_writes: bool,
}

impl<M: Pages, P: Probe> Writer<M, P> {
    pub(super) fn new(recycler: Recycler<M, P>, config: &BlockConfig) -> Self {
        Self { recycler, scheme: config.scheme, log_blocks: config.log_blocks, has_failed_writes: false }
    }

    fn merger(&self) -> &Merger<M, P> {
        &self.recycler.merger
    }

    fn merger_mut(&mut self) -> &mut Merger<M, P> {
        &mut self.recycler.merger
    }

    /// Writes a page.
    pub(super) fn put(&mut self, lpn: Lpn, data: &[u8], stream: u16) -> Result<(), FtlError> {
        debug_assert!(lpn.0 < self.merger().index.map().logical_pages());
        if self.merger().store.is_worn_out() {
            return Err(self.merger().store.worn_out());
        }
        let merger = self.merger_mut();
        // The mark of a clean shutdown goes before anything is programmed (Spec B7).
        merger.store.prepare()?;
        merger.leave_condemned()?;
        // The next record of dead blocks will be newer than this page, and must not name its logical block any more.
        merger.revive(merger.index.map().split(lpn).0)?;
        // One piece of work for each host page, so that the wait of a command is bounded.
        self.recycler.keep_up()?;
        let written = match self.scheme {
            Scheme::LogBlock(policy) => self.put_in_own_log(lpn, data, policy),
            Scheme::PrimaryReplacement => self.put_in_primary(lpn, data),
            Scheme::Fast => self.put_in_shared_log(lpn, data, 0),
            Scheme::FastByStream => self.put_in_shared_log(lpn, data, stream),
        };
        // The page may be on flash all the same: its discard is recorded then, though the map does not know it.
        self.has_failed_writes |= written.is_err();
        self.merger_mut().store.stats.host_programs += u64::from(written.is_ok());
        written
    }

    /// `log-block`: every logical block has a log block of its own (Lee '07, section 3).
    fn put_in_own_log(&mut self, lpn: Lpn, data: &[u8], policy: Recycling) -> Result<(), FtlError> {
        let (lbn, _) = self.merger().index.map().split(lpn);
        // A round without an append recycles or evicts a log block, or loses a segment for good. So this ends.
        loop {
            let id = match self.merger().index.logs().current(lbn) {
                Some(id) if self.merger().index.logs().has_room(id) => id,
                Some(id) => {
                    self.recycler.recycle(lbn, id, policy)?;
                    continue;
                }
                None if self.merger().can_open_log() => self.merger_mut().open_log(Some(lbn))?,
                None => {
                    self.recycler.evict()?;
                    continue;
                }
            };
            if self.merger_mut().append(id, lpn, data)? {
                return Ok(());
            }
        }
    }
}
