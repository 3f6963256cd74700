//! A tournament over segments: the least key wins, and a change of a key is replayed only as far as it has an effect.

use alloc::vec;
use alloc::vec::Vec;

/// Finds the index with the least key; among equal keys, the lowest index.
///
/// Invariant: `tree[i] = min(tree[2i], tree[2i+1])` for every inner node i; leaf of index k is `tree[leaves + k]`; an
/// absent index has the key [`ABSENT`](Self::ABSENT).
#[derive(Debug, Clone)]
pub(crate) struct Tournament {
    tree: Vec<u64>,
    leaves: usize,
}

impl Tournament {
    pub(crate) const ABSENT: u64 = u64::MAX;

    pub(crate) fn new(count: u32) -> Self {
        let leaves = Self::leaves(count);
        Self { tree: vec![Self::ABSENT; 2 * leaves], leaves }
    }

    const fn leaves(count: u32) -> usize {
        (if count == 0 { 1 } else { count as usize }).next_power_of_two()
    }

    /// Bytes that it takes for so many.
    pub(crate) const fn bytes(count: u32) -> usize {
        2 * Self::leaves(count) * size_of::<u64>()
    }

    /// Gives `index` a new key. Climbs only while the minimum changes, about two levels on average.
    #[inline(never)]
    pub(crate) fn set(&mut self, index: u32, key: u64) {
        let mut node = self.leaves + index as usize;
        self.tree[node] = key;
        while node > 1 {
            // Nodes 2i and 2i + 1 are siblings.
            let min = self.tree[node].min(self.tree[node ^ 1]);
            node /= 2;
            // Above a minimum that has not changed, nothing changes.
            if self.tree[node] == min {
                break;
            }
            self.tree[node] = min;
        }
    }

    pub(crate) fn remove(&mut self, index: u32) {
        self.set(index, Self::ABSENT);
    }

    /// True if the index takes part.
    pub(crate) fn contains(&self, index: u32) -> bool {
        self.tree[self.leaves + index as usize] != Self::ABSENT
    }

    /// The index with the least key, if any takes part.
    pub(crate) fn winner(&self) -> Option<u32> {
        let least = self.tree[1];
        if least == Self::ABSENT {
            return None;
        }
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            // The left child comes first: of equal keys the lowest index wins.
            if self.tree[node] != least {
                node += 1;
            }
        }
        Some((node - self.leaves) as u32)
    }

    /// All indices that take part.
    pub(crate) fn members(&self) -> impl Iterator<Item = u32> + '_ {
        let leaves = self.tree[self.leaves..].iter().enumerate();
        leaves.filter(|&(_, &key)| key != Self::ABSENT).map(|(i, _)| i as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_winner_is_the_least_and_lowest() {
        let mut keys = [Tournament::ABSENT; 37];
        let mut tournament = Tournament::new(37);
        let mut x = 12345_u64;
        for _ in 0..5000 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let index = (x >> 33) as usize % keys.len();
            keys[index] = if (x >> 20).is_multiple_of(4) { Tournament::ABSENT } else { (x >> 50) % 9 };
            tournament.set(index as u32, keys[index]);
            let expected = (0..keys.len()).filter(|&i| keys[i] != Tournament::ABSENT).min_by_key(|&i| (keys[i], i));
            assert_eq!(tournament.winner(), expected.map(|i| i as u32));
        }
    }
}
