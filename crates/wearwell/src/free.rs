//! The free segments, bank by bank.

use alloc::vec::Vec;

use crate::addr::Seg;
use crate::clean::when::Supply;
use crate::tournament::Tournament;

/// Free segments held back for operations that fail: of those that a device has beyond the `needed` ones.
///
/// A failed operation takes its segment for good, and the copies that were to go there need another one. If that was
/// the last free segment, nothing can be emptied any more, however many pages are invalid elsewhere. So a segment is
/// kept free for each failure that may come before cleaning, or merging, has made up for the last one: two, and four
/// where a segment has failed before. With fewer than the `needed` segments the device is worn out anyway, so capacity
/// does not depend on this. More failures in a row than are held back for can lock a device up.
pub(crate) fn held_for_failures(all: u32, good: u32, needed: u32) -> u32 {
    let likely = if good < all { 4 } else { 2 };
    good.saturating_sub(needed).min(likely)
}

/// Free segments in the order in which they are to be opened.
///
/// Invariant: `counts[b]` is the number of segments in `order[b]`; `total` is their sum. No segment is added twice.
///
/// `held` of the free segments are held back for recovery. Only a copy that has no other place may open them, and
/// policies do not see them.
#[derive(Debug, Clone)]
pub(crate) struct FreePool {
    order: Vec<Tournament>,
    counts: Vec<u32>,
    segments_per_bank: u32,
    total: u32,
    held: u32,
    /// The bank that takes writes, while it has free segments (Kawaguchi '95, section 2.5).
    active: u32,
    next_turn: u64,
}

impl FreePool {
    pub(crate) fn new(segments: u32, banks: u32) -> Self {
        assert!(banks > 0, "every segment lies in a bank");
        // The last bank has fewer if the layout keeps segments at the end of the chip.
        let segments_per_bank = segments.div_ceil(banks);
        Self {
            order: (0..banks).map(|_| Tournament::new(segments_per_bank)).collect(),
            counts: alloc::vec![0; banks as usize],
            segments_per_bank,
            total: 0,
            held: 0,
            active: 0,
            next_turn: 0,
        }
    }

    /// Holds `held` segments back from now on.
    pub(crate) fn hold(&mut self, held: u32) {
        self.held = held;
    }

    pub(crate) fn held(&self) -> u32 {
        self.held
    }

    /// All free segments.
    pub(crate) fn total(&self) -> u32 {
        self.total
    }

    /// Free segments without those held back.
    pub(crate) fn usable(&self) -> u32 {
        // More may be held back than are free.
        self.total.saturating_sub(self.held)
    }

    /// Whether there are enough of them.
    #[inline(always)]
    pub(crate) fn supply(&self) -> Supply {
        Supply::of(self.usable())
    }

    pub(crate) fn bank_of(&self, seg: Seg) -> u32 {
        seg.0 / self.segments_per_bank
    }

    /// Adds a free segment: after the others, or by its wear.
    pub(crate) fn add(&mut self, seg: Seg, by_wear: Option<u32>) {
        let bank = self.bank_of(seg);
        let place = seg.0 % self.segments_per_bank;
        assert!(!self.order[bank as usize].contains(place), "a segment is free once");
        // The two kinds of keys never mix: a change of wear leveling sorts all anew.
        let key = by_wear.map_or(self.next_turn, u64::from);
        self.next_turn += 1;
        self.order[bank as usize].set(place, key);
        self.counts[bank as usize] += 1;
        self.total += 1;
    }

    pub(crate) fn remove(&mut self, seg: Seg) {
        let bank = self.bank_of(seg);
        let place = seg.0 % self.segments_per_bank;
        assert!(self.order[bank as usize].contains(place), "only a free segment can be taken");
        self.order[bank as usize].remove(place);
        self.counts[bank as usize] -= 1;
        self.total -= 1;
    }

    /// The segment to open next: the first of the active bank. If that bank has none, or is erasing, the bank with the
    /// most free segments becomes active. None if only erasing banks have free segments.
    pub(crate) fn next(&mut self, mut is_erasing: impl FnMut(u32) -> bool) -> Option<Seg> {
        if self.counts[self.active as usize] == 0 || is_erasing(self.active) {
            let banks = 0..self.counts.len() as u32;
            let most = banks
                .filter(|&b| self.counts[b as usize] > 0 && !is_erasing(b))
                // The lowest of equal banks is taken, so that equal runs give equal results.
                .max_by_key(|&b| (self.counts[b as usize], core::cmp::Reverse(b)));
            self.active = most?;
        }
        let place = self.order[self.active as usize].winner()?;
        Some(Seg(self.active * self.segments_per_bank + place))
    }

    /// The free segment that was erased most often.
    pub(crate) fn most_worn(&self, erases: impl Fn(Seg) -> u32) -> Option<Seg> {
        let per_bank = self.segments_per_bank;
        let members = self
            .order
            .iter()
            .enumerate()
            .flat_map(|(bank, order)| order.members().map(move |place| Seg(bank as u32 * per_bank + place)));
        // Of equally worn ones the lowest number, as in `next`.
        members.max_by_key(|&s| (erases(s), core::cmp::Reverse(s.0)))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Takes all free segments in the order in which they would be opened.
    fn taken(mut free: FreePool) -> Vec<u32> {
        core::iter::from_fn(|| {
            let seg = free.next(|_| false)?;
            free.remove(seg);
            Some(seg.0)
        })
        .collect()
    }

    #[test]
    fn segments_are_opened_in_the_order_in_which_they_became_free() {
        let mut free = FreePool::new(8, 1);
        [5, 2, 7].into_iter().for_each(|seg| free.add(Seg(seg), None));
        assert_eq!(taken(free), [5, 2, 7]);
    }

    #[test]
    fn by_wear_the_least_worn_is_opened_first() {
        let mut free = FreePool::new(8, 1);
        [(5, 9), (2, 3), (7, 4)].into_iter().for_each(|(seg, erases)| free.add(Seg(seg), Some(erases)));
        assert_eq!(free.most_worn(|seg| seg.0), Some(Seg(7)));
        assert_eq!(taken(free), [2, 7, 5]);
    }

    #[test]
    fn a_bank_is_used_up_before_the_fullest_of_the_others() {
        // Banks of 0 to 3, 4 to 7 and 8 to 11.
        let mut free = FreePool::new(12, 3);
        [1, 4, 8, 9].into_iter().for_each(|seg| free.add(Seg(seg), None));
        assert_eq!(taken(free.clone()), [1, 8, 9, 4]);
        assert_eq!(free.next(|bank| bank != 1), Some(Seg(4)), "banks that erase are passed over");
        assert_eq!(free.next(|_| true), None);
    }

    #[test]
    fn policies_do_not_see_what_is_held_back() {
        let mut free = FreePool::new(8, 1);
        [0, 1, 2].into_iter().for_each(|seg| free.add(Seg(seg), None));
        free.hold(2);
        assert_eq!((free.total(), free.usable()), (3, 1));
        free.hold(5);
        assert_eq!((free.total(), free.usable()), (3, 0));
    }

    #[test]
    #[should_panic(expected = "a segment is free once")]
    fn a_segment_is_not_free_twice() {
        let mut free = FreePool::new(8, 1);
        free.add(Seg(3), None);
        free.add(Seg(3), None);
    }

    #[test]
    fn more_is_held_back_once_a_segment_has_failed() {
        assert_eq!(held_for_failures(16, 16, 10), 2);
        assert_eq!(held_for_failures(16, 15, 10), 4);
        assert_eq!(held_for_failures(16, 11, 10), 1, "no more than there is to spare");
        assert_eq!(held_for_failures(16, 9, 10), 0);
    }
}
