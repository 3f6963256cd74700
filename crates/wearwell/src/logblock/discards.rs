//! Discards that are in memory only.

use alloc::vec;
use alloc::vec::Vec;

use super::addr::Lbn;
use super::map::list;

/// Logical blocks with discards that are not durable.
///
/// Invariant: each of them is in the list, which may have others, too.
#[derive(Debug)]
pub(super) struct Discards {
    dirty: Vec<bool>,
    /// All that were dirty since the last flush.
    listed: Vec<Lbn>,
}

impl Discards {
    pub(super) fn new(blocks: u32) -> Self {
        Self { dirty: vec![false; blocks as usize], listed: Vec::new() }
    }

    /// A page of a logical block was discarded.
    pub(super) fn note(&mut self, lbn: Lbn) {
        if !core::mem::replace(&mut self.dirty[lbn.index()], true) {
            list(&mut self.listed, lbn, self.dirty.len() as u32);
        }
    }

    /// What was discarded in a logical block is durable.
    pub(super) fn settle(&mut self, lbn: Lbn) {
        self.dirty[lbn.index()] = false;
    }

    pub(super) fn is_dirty(&self, lbn: Lbn) -> bool {
        self.dirty[lbn.index()]
    }

    /// A logical block with discards to record. It stays one until they are, so that a flush behind an error finds it
    /// again.
    pub(super) fn next_dirty(&mut self) -> Option<Lbn> {
        while let Some(&lbn) = self.listed.last() {
            if self.is_dirty(lbn) {
                return Some(lbn);
            }
            self.listed.pop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_waits_until_its_discards_are_durable() {
        let mut discards = Discards::new(4);
        [2, 0, 2].into_iter().for_each(|lbn| discards.note(Lbn(lbn)));
        assert_eq!((discards.next_dirty(), discards.next_dirty()), (Some(Lbn(0)), Some(Lbn(0))));
        discards.settle(Lbn(0));
        assert_eq!(discards.next_dirty(), Some(Lbn(2)));
        discards.settle(Lbn(2));
        assert_eq!(discards.next_dirty(), None);
        discards.note(Lbn(0));
        assert!(discards.is_dirty(Lbn(0)) && !discards.is_dirty(Lbn(2)));
        assert_eq!(discards.next_dirty(), Some(Lbn(0)));
    }
}
