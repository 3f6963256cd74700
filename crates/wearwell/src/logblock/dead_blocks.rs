//! Logical blocks that hold nothing, but are not erased yet: proactive reclamation (FSAF '09, section 4.3).

use alloc::collections::VecDeque;

use super::addr::Lbn;
use crate::addr::Seg;
use crate::bits;
use crate::clean::reclaim::{Occupancy, Proactive};

/// Dead logical blocks, and where the last record of them is.
///
/// Invariant: unless `unrecorded`, a record names each of them.
#[derive(Debug, Default)]
pub(super) struct DeadBlocks {
    /// In the order in which they died.
    blocks: VecDeque<Lbn>,
    /// Some have died since the last record.
    unrecorded: bool,
    /// Reclamation has begun and is not at its end.
    reclaiming: bool,
    /// The segment of the records, and its page to program next.
    records: Option<(Seg, u32)>,
}

impl DeadBlocks {
    /// Notes that nothing is left of a logical block.
    pub(super) fn note(&mut self, lbn: Lbn) {
        if !self.contains(lbn) {
            self.blocks.push_back(lbn);
            self.unrecorded = true;
        }
    }

    pub(super) fn remove(&mut self, lbn: Lbn) {
        if let Some(at) = self.blocks.iter().position(|&dead| dead == lbn) {
            self.blocks.remove(at);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(super) fn contains(&self, lbn: Lbn) -> bool {
        self.blocks.contains(&lbn)
    }

    /// The logical block that has been dead for longest.
    pub(super) fn oldest(&self) -> Option<Lbn> {
        self.blocks.front().copied()
    }

    /// True if a record on flash says that a logical block is dead.
    pub(super) fn is_recorded(&self, lbn: Lbn) -> bool {
        self.contains(lbn) && !self.unrecorded
    }

    /// True if there are dead blocks that no record names.
    pub(super) fn lacks_record(&self) -> bool {
        self.unrecorded && !self.is_empty()
    }

    /// What is dead is recorded, or need not be.
    pub(super) fn note_recorded(&mut self) {
        self.unrecorded = false;
    }

    /// The segment of the records, and its page to program next.
    pub(super) fn records(&self) -> Option<(Seg, u32)> {
        self.records
    }

    /// Replaces the segment of the records. Returns the one before.
    pub(super) fn set_records(&mut self, records: Option<(Seg, u32)>) -> Option<(Seg, u32)> {
        core::mem::replace(&mut self.records, records)
    }

    /// Sets the bit of each dead logical block in a record. A page has one for each: the configuration was checked.
    pub(super) fn write_to(&self, record: &mut [u8]) {
        self.blocks.iter().for_each(|lbn| bits::set(record, lbn.index()));
    }

    /// True if there are dead blocks that a rule wants erased.
    pub(super) fn is_reclaiming(&mut self, rule: Proactive, now: Occupancy) -> bool {
        // Kept, because reclamation begins at one mark and ends at another (FSAF '09, section 4.3).
        self.reclaiming = !self.is_empty() && rule.goes_on(self.reclaiming, now);
        self.reclaiming
    }

    pub(super) fn table_bytes(&self) -> u64 {
        (self.blocks.capacity() * size_of::<Lbn>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_has_died_since_the_record_is_not_in_it() {
        let mut dead = DeadBlocks::default();
        [9, 1].into_iter().for_each(|lbn| dead.note(Lbn(lbn)));
        assert!(dead.lacks_record() && !dead.is_recorded(Lbn(9)));
        let mut record = [0; 2];
        dead.write_to(&mut record);
        assert_eq!(record, [0b10, 0b10]);
        dead.note_recorded();
        assert!(dead.is_recorded(Lbn(9)) && !dead.is_recorded(Lbn(3)));
        dead.note(Lbn(3));
        assert!(!dead.is_recorded(Lbn(9)), "the next record has to name all of them");
        assert_eq!(dead.oldest(), Some(Lbn(9)));
        dead.remove(Lbn(9));
        assert_eq!(dead.oldest(), Some(Lbn(1)));
    }
}
