//! The index: where every page lies and which log blocks there are, changed together.

use alloc::vec::Vec;

use super::addr::{Lbn, LogId};
use super::config::BlockConfig;
use super::in_place::InPlace;
use super::logs::Logs;
use super::map::BlockMap;
use super::pages::PagesShape;
use crate::addr::{Lpn, Ppn, Seg};
use crate::losses::Losses;

/// The map, the log blocks, and what is known of places and losses.
///
/// Invariants: `live` of a log block is the number of entries in overlays that point into it; `sequential` is an open
/// log block; a page that is lost has a record in its place, or is unmapped.
#[derive(Debug)]
pub(super) struct BlockIndex {
    map: BlockMap,
    logs: Logs,
    in_place: InPlace,
    /// The log block of the sequential stream (`fast`).
    sequential: Option<LogId>,
    /// Pages whose data is gone: reading them is an error until they are written or discarded.
    lost: Losses,
    shape: PagesShape,
    /// Most log blocks there may be.
    most_logs: u32,
    /// Most logical blocks with pages in log blocks.
    most_overlays: u32,
    /// Pages of several logical blocks lie in one log block.
    shares_logs: bool,
    /// A merge programs the first and the last page of a block, whether they are mapped or not.
    fills_ends: bool,
}

/// What a migration has copied.
#[derive(Debug, Clone, Copy)]
pub(super) struct Copies {
    /// Pages of data, from the first page of the log block on.
    pub(super) pages: u32,
    /// A discard record stands behind them.
    pub(super) has_record: bool,
}

impl BlockIndex {
    /// An index without a page in it.
    pub(super) fn new(config: &BlockConfig, shape: PagesShape, is_tagged: bool) -> Self {
        let (most_logs, most_overlays) = (config.most_log_blocks(&shape), config.overlays(&shape));
        let map = BlockMap::new(config.logical_pages, shape.pages, most_overlays);
        Self {
            logs: Logs::new(most_logs, most_logs, shape.segments, map.blocks(), shape.pages),
            in_place: InPlace::new(config.programs_in_place(), map.blocks(), shape),
            sequential: None,
            lost: Losses::new(map.blocks() * shape.pages),
            map,
            shape,
            most_logs,
            most_overlays,
            shares_logs: config.shares_logs(),
            fills_ends: is_tagged,
        }
    }

    pub(super) fn map(&self) -> &BlockMap {
        &self.map
    }

    pub(super) fn logs(&self) -> &Logs {
        &self.logs
    }

    pub(super) fn in_place(&self) -> &InPlace {
        &self.in_place
    }

    /// Places change only by what is programmed there.
    pub(super) fn in_place_mut(&mut self) -> &mut InPlace {
        &mut self.in_place
    }

    /// True if pages of several logical blocks lie in one log block.
    pub(super) fn shares_logs(&self) -> bool {
        self.shares_logs
    }

    /// The log block of the sequential stream.
    pub(super) fn sequential(&self) -> Option<LogId> {
        self.sequential
    }

    pub(super) fn lost(&self) -> &Losses {
        &self.lost
    }

    pub(super) fn lost_mut(&mut self) -> &mut Losses {
        &mut self.lost
    }

    /// True if a page of the logical block is lost.
    pub(super) fn has_losses(&self, lbn: Lbn) -> bool {
        // Mostly nothing is lost, and no page is asked.
        !self.lost.is_empty() && (0..self.shape.pages).any(|page| self.lost.contains(self.map.join(lbn, page)))
    }

    /// True if a logical block has blocks of its own.
    pub(super) fn has_blocks(&self, lbn: Lbn) -> bool {
        self.map.data(lbn).is_some() || self.logs.all().any(|(_, log)| log.owner == Some(lbn))
    }

    /// Counts a copy that is no longer the newest one of its page, if it lies in a log block.
    #[inline]
    fn count_stale(&mut self, old: Ppn) {
        if old.is_some()
            && let Some(id) = self.logs.of_page(old)
        {
            self.logs.get_mut(id).live -= 1;
        }
    }

    /// Adds an empty log block. There is room.
    pub(super) fn open_log(&mut self, seg: Seg, owner: Option<Lbn>) -> LogId {
        self.logs.open(seg, owner)
    }

    /// A log block is that of the sequential stream from now on.
    pub(super) fn begin_stream(&mut self, id: LogId) {
        self.sequential = Some(id);
    }

    /// A shared log block was last written to by this stream.
    pub(super) fn note_stream(&mut self, id: LogId, stream: u16) {
        self.logs.get_mut(id).stream = stream;
    }

    /// A log block takes no further pages.
    pub(super) fn close_to_appends(&mut self, id: LogId) {
        self.logs.close_to_appends(id);
    }

    /// Takes a log block out of use. Returns its segment.
    pub(super) fn close_log(&mut self, id: LogId) -> Seg {
        self.sequential = self.sequential.filter(|&open| open != id);
        self.logs.close(id).seg
    }

    /// A page was programmed as the next one of a log block, and is the newest copy.
    pub(super) fn append(&mut self, id: LogId, lpn: Lpn) {
        // This is the log block before the append, which moves `next`.
        let log = *self.logs.get(id);
        let (lbn, offset) = self.map.split(lpn);
        self.lost.forget(lpn);
        let at = self.logs.append(id, lpn);
        self.map.set_mapped(lpn, true);
        let old = self.map.set_logged(lbn, offset, at);
        self.count_stale(old);
        let is_next = log.owner == Some(lbn) && offset == log.next;
        let grown = self.logs.get_mut(id);
        grown.live += 1;
        grown.in_order += u32::from(is_next && log.in_order == log.next);
    }

    /// A discard record of a logical block was programmed as the next page of a log block.
    pub(super) fn append_record(&mut self, id: LogId, lbn: Lbn) {
        let at = self.logs.append(id, self.map.join(lbn, 0));
        // The entry behind the last page of the logical block is that of its record. It counts as live, so that the log
        // block is not recycled without it.
        let old = self.map.set_logged(lbn, self.shape.pages, at);
        self.count_stale(old);
        self.logs.get_mut(id).live += 1;
    }

    /// A page that holds nothing was programmed as the next one of a log block.
    pub(super) fn append_pad(&mut self, id: LogId, lpn: Lpn) {
        // No entry points to it, so `live` stays as it is.
        self.logs.append(id, lpn);
    }

    /// A page was programmed in its place in the primary block, and is the newest copy.
    pub(super) fn fill_in_place(&mut self, lpn: Lpn) {
        let (lbn, offset) = self.map.split(lpn);
        self.lost.forget(lpn);
        self.in_place.fill(lbn, offset);
        self.map.set_mapped(lpn, true);
        // A page without an entry lies in its place in the data block.
        let old = self.map.set_logged(lbn, offset, Ppn::NONE);
        self.count_stale(old);
    }

    /// A page that is mapped holds nothing from now on.
    pub(super) fn unmap(&mut self, lpn: Lpn) {
        let (lbn, offset) = self.map.split(lpn);
        self.map.set_mapped(lpn, false);
        let old = self.map.set_logged(lbn, offset, Ppn::NONE);
        self.count_stale(old);
        self.lost.forget(lpn);
    }

    /// The pages of a logical block are in no log block any more.
    pub(super) fn forget_overlay(&mut self, lbn: Lbn) {
        let logs = &mut self.logs;
        self.map.clear_overlay(lbn, |at| {
            if let Some(id) = logs.of_page(at) {
                logs.get_mut(id).live -= 1;
            }
        });
    }

    /// A logical block has an erased primary block from now on.
    pub(super) fn open_primary(&mut self, lbn: Lbn, seg: Seg) {
        self.map.set_data(lbn, Some(seg));
        self.in_place.open(lbn);
    }

    /// A segment that has all pages of a logical block is its data block from now on. Returns the one before.
    pub(super) fn adopt(&mut self, lbn: Lbn, seg: Seg) -> Option<Seg> {
        let old = self.map.data(lbn);
        self.map.set_data(lbn, Some(seg));
        self.note_merged(lbn);
        self.forget_overlay(lbn);
        // It may have been a log block until now.
        if let Some(id) = self.logs.in_seg(seg) {
            self.close_log(id);
        }
        old
    }

    /// A merge has filled the primary block: what the logical block lacks can still be programmed in place.
    fn note_merged(&mut self, lbn: Lbn) {
        if !self.in_place.is_used() {
            return;
        }
        for offset in 0..self.shape.pages {
            let lpn = self.map.join(lbn, offset);
            let is_end = self.fills_ends && (offset == 0 || offset + 1 == self.shape.pages);
            // A lost page has a record in its place, also if the map does not know the page.
            let is_held = lpn.0 < self.map.logical_pages() && (self.map.is_mapped(lpn) || self.lost.contains(lpn));
            self.in_place.set(lbn, offset, is_end || is_held);
        }
    }

    /// A logical block has no data block any more. Returns the one that it had.
    pub(super) fn take_data(&mut self, lbn: Lbn) -> Option<Seg> {
        let data = self.map.data(lbn)?;
        self.map.set_data(lbn, None);
        Some(data)
    }

    /// Moves a log block to a segment that holds its pages now, in this order. Returns the old segment.
    pub(super) fn move_log(&mut self, lbn: Lbn, id: LogId, seg: Seg, held: &[Lpn], copies: Copies) -> Seg {
        let old = self.logs.move_to(id, seg, held);
        // This counts off what other log blocks held. The old segment is none any more, and `live` is set below.
        self.forget_overlay(lbn);
        let first = seg.0 * self.shape.pages;
        let mut in_order = 0;
        for (page, &lpn) in (0..copies.pages).zip(held) {
            let (_, offset) = self.map.split(lpn);
            self.map.set_logged(lbn, offset, Ppn(first + page));
            // Counts as long as no page was out of its place.
            in_order += u32::from(in_order == page && offset == page);
        }
        if copies.has_record {
            self.map.set_logged(lbn, self.shape.pages, Ppn(first + copies.pages));
        }
        let log = self.logs.get_mut(id);
        log.live = copies.pages + u32::from(copies.has_record);
        log.in_order = in_order;
        log.migrations += 1;
        old
    }

    pub(super) fn table_bytes(&self) -> u64 {
        self.map.table_bytes() + self.logs.table_bytes() + self.in_place.table_bytes()
    }
}

/// A log block that a mount has found.
#[derive(Debug)]
pub(super) struct FoundLog {
    pub(super) seg: Seg,
    /// The logical block it serves; none if it serves them all.
    pub(super) owner: Option<Lbn>,
    /// What its pages were written as.
    pub(super) held: Vec<Lpn>,
    /// Pages from the first on that lie at their own offset in the owner's block.
    pub(super) in_order: u32,
    /// It takes further pages.
    pub(super) continues: bool,
}

/// What a mount finds.
impl BlockIndex {
    /// Makes the tables of log blocks anew, for so many that were found.
    pub(super) fn make_room(&mut self, found: u32) {
        // Each page of a shared log block may be of another logical block.
        let overlays = self.most_overlays.max(found * if self.shares_logs { self.shape.pages } else { 1 });
        let mut map = BlockMap::new(self.map.logical_pages(), self.shape.pages, overlays.min(self.map.blocks()));
        map.take_blocks_of(&self.map);
        self.map = map;
        // There may be more than the configuration allows. They are served, and no other is opened before they are
        // fewer.
        let most = self.most_logs;
        self.logs = Logs::new(found.max(most), most, self.shape.segments, self.map.blocks(), self.shape.pages);
    }

    /// Adds a log block. The one written last comes last, and becomes the current one of its logical block.
    pub(super) fn enter_log(&mut self, found: &FoundLog) -> LogId {
        if found.owner.is_none() {
            self.logs.close_shared();
        }
        let id = self.logs.open(found.seg, found.owner);
        found.held.iter().for_each(|&lpn| _ = self.logs.append(id, lpn));
        self.logs.get_mut(id).in_order = found.in_order;
        if !found.continues {
            self.logs.close_to_appends(id);
        }
        id
    }

    pub(super) fn enter_data(&mut self, lbn: Lbn, seg: Seg) {
        self.map.set_data(lbn, Some(seg));
    }

    /// A data block lacks none of its pages.
    pub(super) fn enter_whole(&mut self, lbn: Lbn) {
        self.in_place.close(lbn);
        self.map.range(lbn).for_each(|lpn| self.map.set_mapped(Lpn(lpn), true));
    }

    /// The newest copy of a page lies here, or the record of its loss.
    pub(super) fn enter_page(&mut self, lpn: Lpn, at: Ppn, is_lost: bool) {
        self.map.set_mapped(lpn, true);
        // It is mapped all the same: an unmapped page would read as zeros.
        if is_lost {
            self.lost.note(lpn);
        }
        let (lbn, offset) = self.map.split(lpn);
        self.enter_logged(lbn, offset, at);
    }

    /// The last discard record of a logical block lies here. It is live like a page, so that its log block is not
    /// recycled without it.
    pub(super) fn enter_record(&mut self, lbn: Lbn, at: Ppn) {
        self.enter_logged(lbn, self.shape.pages, at);
    }

    fn enter_logged(&mut self, lbn: Lbn, offset: u32, at: Ppn) {
        // A page in its place in a data block needs no entry.
        if let Some(id) = self.logs.of_page(at) {
            self.map.set_logged(lbn, offset, at);
            self.logs.get_mut(id).live += 1;
        }
    }

    /// A lost page has a record in its place now.
    pub(super) fn enter_lost(&mut self, lpn: Lpn) {
        self.map.set_mapped(lpn, true);
    }
}
