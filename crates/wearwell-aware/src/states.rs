//! The state of each cluster, in two bits.

use alloc::collections::TryReserveError;
use alloc::vec::Vec;
use core::ops::Range;

/// How far a cluster is from being discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// In use, or written since it was last seen to be free.
    Live = 0,
    /// Seen to be free in this epoch.
    Young = 1,
    /// Free since an earlier epoch.
    Old = 2,
    /// Discarded: reads as zeros.
    Dead = 3,
}

const LANES: u32 = 32;
const LOW_BITS: u64 = 0x5555_5555_5555_5555;

/// The states of all clusters of a volume, by index (the cluster's number minus 2).
///
/// Invariant: `counts` has the number of clusters in each state. Lanes after the last cluster are live and not counted.
#[derive(Debug)]
pub(crate) struct States {
    words: Vec<u64>,
    counts: [u32; 4],
    clusters: u32,
}

impl States {
    /// All clusters are live.
    pub(crate) fn new(clusters: u32) -> Result<Self, TryReserveError> {
        let count = clusters.div_ceil(LANES) as usize;
        let mut words = Vec::new();
        // The number of clusters comes from the disk, so too little memory is an error and no abort.
        words.try_reserve_exact(count)?;
        words.resize(count, 0);
        Ok(Self { words, counts: [clusters, 0, 0, 0], clusters })
    }

    pub(crate) fn get(&self, place: u32) -> State {
        match self.words[(place / LANES) as usize] >> (place % LANES * 2) & 3 {
            0 => State::Live,
            1 => State::Young,
            2 => State::Old,
            _ => State::Dead,
        }
    }

    /// Changes a state, and returns what it was.
    pub(crate) fn set(&mut self, place: u32, state: State) -> State {
        debug_assert!(place < self.clusters);
        let old = self.get(place);
        self.counts[old as usize] -= 1;
        self.counts[state as usize] += 1;
        let shift = place % LANES * 2;
        let word = &mut self.words[(place / LANES) as usize];
        *word = *word & !(3 << shift) | (state as u64) << shift;
        old
    }

    /// Clusters in a state.
    pub(crate) fn count(&self, state: State) -> u32 {
        self.counts[state as usize]
    }

    /// The first run of clusters in a state from `from` on.
    pub(crate) fn next_run(&self, from: u32, state: State) -> Option<Range<u32>> {
        let mut place = from;
        while place < self.clusters {
            // A word without the state is passed over as a whole, 32 clusters in one step.
            if place.is_multiple_of(LANES) && !self.has(place / LANES, state) {
                place += LANES;
            } else if self.get(place) == state {
                let end = (place..self.clusters).find(|&p| self.get(p) != state).unwrap_or(self.clusters);
                return Some(place..end);
            } else {
                place += 1;
            }
        }
        None
    }

    /// True if a lane of the word has the state.
    fn has(&self, word: u32, state: State) -> bool {
        // The state in each lane, so that a lane that has it becomes 00.
        let different = self.words[word as usize] ^ (LOW_BITS * state as u64);
        // A lane that is 00 leaves its low bit clear.
        (different | different >> 1) & LOW_BITS != LOW_BITS
    }

    /// Makes all young clusters old.
    pub(crate) fn age(&mut self) {
        for word in &mut self.words {
            let (low, high) = (*word & LOW_BITS, *word >> 1 & LOW_BITS);
            // A young lane is 01, and becomes 10: 32 clusters at once.
            let young = low & !high;
            *word = *word ^ young ^ young << 1;
        }
        self.counts[State::Old as usize] += self.counts[State::Young as usize];
        self.counts[State::Young as usize] = 0;
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.words.capacity() as u64 * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_counts_and_ageing_agree_with_a_plain_list() {
        let all = [State::Live, State::Young, State::Old, State::Dead];
        for clusters in [1, 31, 32, 33, 500] {
            let mut rng = wearwell::Rng::new(u64::from(clusters));
            let mut states = States::new(clusters).expect("memory");
            let mut plain: Vec<State> = (0..clusters).map(|_| State::Live).collect();
            for step in 0..2000 {
                let (start, state) = (rng.below(clusters), all[rng.below(4) as usize]);
                for place in start..(start + rng.below(40)).min(clusters) {
                    let old = core::mem::replace(&mut plain[place as usize], state);
                    assert_eq!(states.set(place, state), old);
                }
                if step % 50 == 0 {
                    states.age();
                    plain.iter_mut().filter(|s| **s == State::Young).for_each(|s| *s = State::Old);
                }
                for state in all {
                    assert_eq!(states.count(state) as usize, plain.iter().filter(|s| **s == state).count());
                }
                let from = rng.below(clusters);
                let first = (from..clusters).find(|&p| plain[p as usize] == state);
                let run = first
                    .map(|first| first..(first..clusters).find(|&p| plain[p as usize] != state).unwrap_or(clusters));
                assert_eq!(states.next_run(from, state), run);
            }
        }
    }
}
