//! Announcing the host's writes to a placement that is asked for many pages at a time.

use wearwell::{Sectors, WriteHint};

use super::host::{BATCH, Host, sectors_of};
use crate::engine::{AnyEngine, OnChip};
use crate::request::{Op, Request};

impl<F: AnyEngine + OnChip> Host<'_, F> {
    /// Units of so many sectors to draw at a time.
    pub(super) fn units_at_a_time(&self, unit_sectors: u64) -> usize {
        let Some(batched) = &self.announced_to else { return BATCH };
        let pages_per_unit = unit_sectors.div_ceil(self.sectors_per_page);
        // A unit may be longer than a batch. It is announced whole.
        (batched.batch_pages() / pages_per_unit as usize).max(1)
    }

    /// Announces the units that are written next.
    pub(super) fn announce_units(&self, units: &[u32], unit_sectors: u64) {
        let Some(batched) = &self.announced_to else { return };
        let sectors = |&unit: &u32| Sectors { start: u64::from(unit) * unit_sectors, count: unit_sectors };
        let pages = units.iter().map(sectors).flat_map(|at| self.pages_of(at));
        batched.announce(pages.map(|page| (page, WriteHint::NONE.stream)));
    }

    /// Announces the writes of the next requests, the first of which is done now. Discards are waited for: they change
    /// what is known of a page. With streams that may be wrong, every request is announced when it is done.
    pub(super) fn announce_requests(&self, requests: &[Request]) {
        let Some(batched) = &self.announced_to else { return };
        // Reads and flushes ask the placement nothing, so a batch waits for the next write.
        let is_write = requests.first().is_some_and(|request| request.op == Op::Write);
        if !is_write || self.wrong_streams.is_some() || !batched.is_used_up() {
            return;
        }
        let (most, mut pages) = (batched.batch_pages() as u64, 0);
        let until_discard = requests.iter().take_while(|next| !matches!(next.op, Op::Discard | Op::WriteZeroes));
        let writes = until_discard.filter(|next| next.op == Op::Write).map_while(|next| {
            // What came before decides, so that no request is announced in part.
            let (touched, is_wanted) = (self.pages_of(sectors_of(next)), pages < most);
            pages += touched.end - touched.start;
            is_wanted.then_some(touched.map(|page| (page, next.stream)))
        });
        batched.announce(writes.flatten());
    }
}
