//! The log blocks in use.

use alloc::vec;
use alloc::vec::Vec;

use super::addr::{Lbn, LogId};
use crate::addr::{Lpn, Ppn, Seg};

/// A log block.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogBlock {
    pub(super) seg: Seg,
    /// The logical block it serves; none if it serves them all.
    pub(super) owner: Option<Lbn>,
    /// Page to program next; N_p in a block that is full or must not be continued.
    pub(super) next: u32,
    /// Pages that are the newest of what they hold, a discard record among them.
    pub(super) live: u32,
    /// Pages from the first on that lie at their own offset in the owner's block.
    pub(super) in_order: u32,
    /// Migrations since the last merge of the owner.
    pub(super) migrations: u32,
    /// When it was last written.
    pub(super) used: u64,
    /// The stream that was last written to it, where that matters.
    pub(super) stream: u16,
}

impl LogBlock {
    /// True if every page so far is the newest at its own offset: the block may become a data block.
    pub(super) fn is_prefix(&self) -> bool {
        self.in_order == self.next && self.live == self.next
    }
}

/// All log blocks, in a table with room for the most there may be.
///
/// Invariants: `by_seg[s]` is the number of the log block in segment s, and `current[b]` that of the one that takes
/// the next page of logical block b; entries of the table that are not in use have no segment.
#[derive(Debug, Clone)]
pub(super) struct Logs {
    table: Vec<LogBlock>,
    /// The logical page that each page of each log block was written as.
    holds: Vec<Lpn>,
    by_seg: Vec<u32>,
    current: Vec<u32>,
    unused: Vec<u32>,
    limit: u32,
    pages: u32,
    clock: u64,
}

const NONE: u32 = u32::MAX;
const UNUSED: LogBlock =
    LogBlock { seg: Seg(NONE), owner: None, next: 0, live: 0, in_order: 0, migrations: 0, used: 0, stream: 0 };

impl Logs {
    /// A table of so many entries, of which `limit` are used but for what a mount finds.
    pub(super) fn new(capacity: u32, limit: u32, segments: u32, logical_blocks: u32, pages: u32) -> Self {
        Self {
            table: vec![UNUSED; capacity as usize],
            holds: vec![Lpn(0); capacity as usize * pages as usize],
            by_seg: vec![NONE; segments as usize],
            current: vec![NONE; logical_blocks as usize],
            // Numbers are taken from the end, so the lowest one is used first.
            unused: (0..capacity).rev().collect(),
            limit,
            pages,
            clock: 0,
        }
    }

    pub(super) fn table_bytes(&self) -> u64 {
        let entries = self.table.capacity() * size_of::<LogBlock>();
        // `unused` has room for every entry of the table.
        (entries + (self.holds.len() + self.by_seg.len() + self.current.len() + self.table.len()) * 4) as u64
    }

    /// Log blocks in use.
    pub(super) fn len(&self) -> u32 {
        (self.table.len() - self.unused.len()) as u32
    }

    /// True if no further log block can be opened.
    pub(super) fn is_full(&self) -> bool {
        self.len() >= self.limit
    }

    /// Adds an empty log block, which is the current one of its owner. There is room.
    pub(super) fn open(&mut self, seg: Seg, owner: Option<Lbn>) -> LogId {
        let id = self.unused.pop().unwrap_or(NONE);
        assert!(id != NONE, "the caller has made room for a log block");
        // The opening counts as a write: a log block that was never used would be the first to be recycled.
        self.table[id as usize] = LogBlock { seg, owner, used: self.tick(), ..UNUSED };
        self.by_seg[seg.index()] = id;
        if let Some(owner) = owner {
            self.current[owner.index()] = id;
        }
        LogId(id)
    }

    /// Takes a log block out.
    pub(super) fn close(&mut self, id: LogId) -> LogBlock {
        let log = core::mem::replace(self.get_mut(id), UNUSED);
        self.unused.push(id.0);
        self.by_seg[log.seg.index()] = NONE;
        // Behind a mount a logical block may have several, of which another one is current.
        if let Some(owner) = log.owner
            && self.current[owner.index()] == id.0
        {
            self.current[owner.index()] = NONE;
        }
        log
    }

    /// Moves a log block to an erased segment that holds its pages now, in this order of logical pages. Returns the old
    /// segment.
    pub(super) fn move_to(&mut self, id: LogId, seg: Seg, held: &[Lpn]) -> Seg {
        let from = id.0 as usize * self.pages as usize;
        self.holds[from..from + held.len()].copy_from_slice(held);
        // The index sets the counts, once the map has the new places.
        let log = self.get_mut(id);
        let old = core::mem::replace(&mut log.seg, seg);
        log.next = held.len() as u32;
        self.by_seg[old.index()] = NONE;
        self.by_seg[seg.index()] = id.0;
        old
    }

    #[inline]
    pub(super) fn get(&self, id: LogId) -> &LogBlock {
        &self.table[id.0 as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: LogId) -> &mut LogBlock {
        let log = &mut self.table[id.0 as usize];
        assert!(log.seg.0 != NONE, "numbers of log blocks are kept only while they are open");
        log
    }

    /// True if a log block takes further pages.
    #[inline]
    pub(super) fn has_room(&self, id: LogId) -> bool {
        self.get(id).next < self.pages
    }

    /// The log block that takes the next page of a logical block.
    #[inline]
    pub(super) fn current(&self, lbn: Lbn) -> Option<LogId> {
        Some(LogId(self.current[lbn.index()])).filter(|id| id.0 != NONE)
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// The log block in a segment.
    pub(super) fn in_seg(&self, seg: Seg) -> Option<LogId> {
        Some(LogId(self.by_seg[seg.index()])).filter(|id| id.0 != NONE)
    }

    /// The log block that a page lies in.
    #[inline]
    pub(super) fn of_page(&self, at: Ppn) -> Option<LogId> {
        self.in_seg(Seg(at.0 / self.pages))
    }

    /// Notes that the next page of a log block was programmed as `lpn`. Returns its place.
    #[inline]
    pub(super) fn append(&mut self, id: LogId, lpn: Lpn) -> Ppn {
        let pages = self.pages;
        let used = self.tick();
        let log = self.get_mut(id);
        let (at, slot) = (Ppn(log.seg.0 * pages + log.next), id.0 as usize * pages as usize + log.next as usize);
        log.next += 1;
        log.used = used;
        // Only this says whose pages lie in a shared log block: `reclaim` merges those.
        self.holds[slot] = lpn;
        at
    }

    /// A log block takes no further pages.
    pub(super) fn close_to_appends(&mut self, id: LogId) {
        let from = id.0 as usize * self.pages as usize;
        let next = self.get(id).next as usize;
        // Pages that were never programmed stand for one that was: nothing live lies there.
        let first = self.holds[from];
        self.holds[from + next..from + self.pages as usize].fill(first);
        self.get_mut(id).next = self.pages;
    }

    /// No log block that all share takes further pages: only the one written last is continued after a mount.
    pub(super) fn close_shared(&mut self) {
        for id in (0..self.table.len() as u32).map(LogId) {
            let log = &self.table[id.0 as usize];
            if log.seg.0 != NONE && log.owner.is_none() && log.next < self.pages {
                self.close_to_appends(id);
            }
        }
    }

    /// What the pages programmed in a log block were written as.
    pub(super) fn held(&self, id: LogId) -> &[Lpn] {
        let from = id.0 as usize * self.pages as usize;
        &self.holds[from..from + self.get(id).next as usize]
    }

    /// All log blocks.
    pub(super) fn all(&self) -> impl Iterator<Item = (LogId, &LogBlock)> {
        let numbered = (0_u32..).zip(&self.table);
        numbered.filter(|(_, log)| log.seg.0 != NONE).map(|(id, log)| (LogId(id), log))
    }
}
