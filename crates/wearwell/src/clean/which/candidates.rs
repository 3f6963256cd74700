//! The candidates as a dense list, to draw from at random.

use alloc::vec;
use alloc::vec::Vec;

use crate::addr::Seg;
use crate::random::Rng;

/// A set of segments with constant-time insert, remove and draw.
///
/// Invariant: `place[list[i]] = i` for every i; `place[s] = ABSENT` for every s not in `list`.
#[derive(Debug, Clone)]
pub(super) struct Candidates {
    list: Vec<Seg>,
    place: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl Candidates {
    pub(super) fn new(segments: u32) -> Self {
        Self { list: Vec::with_capacity(segments as usize), place: vec![ABSENT; segments as usize] }
    }

    /// Bytes that it takes.
    pub(super) const fn bytes(segments: u32) -> usize {
        segments as usize * (size_of::<Seg>() + size_of::<u32>())
    }

    /// Adds a segment, if it is not there already.
    pub(super) fn insert(&mut self, seg: Seg) {
        // A full segment that was entered as one has lost its first page.
        if self.place[seg.index()] != ABSENT {
            return;
        }
        self.place[seg.index()] = self.list.len() as u32;
        self.list.push(seg);
    }

    pub(super) fn remove(&mut self, seg: Seg) {
        let place = core::mem::replace(&mut self.place[seg.index()], ABSENT);
        if place == ABSENT {
            return;
        }
        self.list.swap_remove(place as usize);
        // If it was the last, nothing has moved.
        if let Some(moved) = self.list.get(place as usize) {
            self.place[moved.index()] = place;
        }
    }

    /// All of them, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Seg> {
        self.list.iter().copied()
    }

    /// One of them, each equally likely.
    pub(super) fn draw(&self, rng: &mut Rng) -> Option<Seg> {
        if self.list.is_empty() { None } else { Some(self.list[rng.below(self.list.len() as u32) as usize]) }
    }
}
