//! The least and the greatest erase count, kept up to date in constant time.

use alloc::vec::Vec;

use crate::wear::Spread;

/// How many good segments have been erased how often.
///
/// Invariant: `min` is the first index of `segments` that is not 0, and the last index is one, too.
#[derive(Debug, Clone, Default)]
pub(crate) struct EraseSpread {
    segments: Vec<u32>,
    min: usize,
}

impl EraseSpread {
    pub(crate) fn of(erases: impl Iterator<Item = u32>) -> Self {
        let mut spread = Self::default();
        for count in erases {
            *spread.at(count) += 1;
        }
        spread.settle();
        spread
    }

    fn at(&mut self, erases: u32) -> &mut u32 {
        let index = erases as usize;
        if self.segments.len() <= index {
            self.segments.resize(index + 1, 0);
        }
        &mut self.segments[index]
    }

    fn settle(&mut self) {
        while self.segments.get(self.min) == Some(&0) && self.min + 1 < self.segments.len() {
            self.min += 1;
        }
    }

    /// Counts an erase of a segment, which now has been erased so often.
    pub(crate) fn count_erase(&mut self, erases: u32) {
        *self.at(erases) += 1;
        self.remove(erases - 1);
    }

    /// Takes out a segment with this count.
    pub(crate) fn remove(&mut self, erases: u32) {
        let count = self.at(erases);
        debug_assert!(*count > 0, "a segment is retired once");
        *count = count.saturating_sub(1);
        while self.segments.last() == Some(&0) {
            self.segments.pop();
        }
        self.settle();
    }

    pub(crate) fn spread(&self, endurance: u32) -> Spread {
        let max_erases = self.segments.len().saturating_sub(1) as u32;
        Spread { min_erases: self.min as u32, max_erases, endurance }
    }
}
