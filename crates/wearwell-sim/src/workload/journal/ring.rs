//! The journal: a ring of transactions, after jbd2.

use std::collections::{BTreeMap, VecDeque};

use super::layout::Run;
use super::settings::length_of;

/// A transaction that is in the ring.
#[derive(Debug)]
struct Transaction {
    number: u64,
    /// Blocks of the ring that it takes.
    length: u64,
    /// The home places of its blocks.
    homes: Vec<u64>,
}

/// The ring, and its transactions that have not been written home.
///
/// Invariants: the lengths of `live` add up to `used`, at most `size`; `newest` names the last live transaction that
/// holds a block, for every such block.
#[derive(Debug)]
pub(super) struct Ring {
    /// The journal's first block, which records where the ring begins and is not part of it.
    start: u64,
    /// Blocks of the ring.
    size: u64,
    /// Where the next transaction begins.
    head: u64,
    used: u64,
    live: VecDeque<Transaction>,
    newest: BTreeMap<u64, u64>,
    next_number: u64,
}

impl Ring {
    pub(super) fn new(journal: Run) -> Self {
        let size = journal.blocks - 1;
        let (live, newest) = (VecDeque::new(), BTreeMap::new());
        Self { start: journal.start, size, head: 0, used: 0, live, newest, next_number: 0 }
    }

    /// The journal's first block.
    pub(super) fn superblock(&self) -> Run {
        Run { start: self.start, blocks: 1 }
    }

    /// Makes space for a transaction: if there is none, it drops the oldest ones until a quarter of the ring is free.
    /// Returns the blocks that have to be written home first, in ascending order.
    pub(super) fn make_room(&mut self, logged: u64) -> Vec<Run> {
        let length = length_of(logged);
        let mut homes = Vec::new();
        if self.used + length <= self.size {
            return Vec::new();
        }
        let wanted = length.max(self.size / 4);
        while self.size - self.used < wanted {
            // An empty ring has room, because the settings refuse transactions of more than a quarter of it.
            let Some(oldest) = self.live.pop_front() else { break };
            self.used -= oldest.length;
            for home in oldest.homes {
                // A block that a later transaction holds is written home with that one.
                if self.newest.get(&home) == Some(&oldest.number) {
                    self.newest.remove(&home);
                    homes.push(home);
                }
            }
        }
        homes.sort_unstable();
        runs(&homes)
    }

    /// The blocks that have not been written home, in ascending order.
    #[cfg(test)]
    pub(super) fn not_home(&self) -> impl Iterator<Item = u64> {
        self.newest.keys().copied()
    }

    /// Adds a transaction, for which there must be space. Returns the places of its blocks, and its commit block.
    pub(super) fn append(&mut self, logged: &[u64]) -> (impl Iterator<Item = Run> + use<>, Run) {
        let length = length_of(logged.len() as u64);
        assert!(self.used + length <= self.size, "the caller makes room first");
        let (body, number) = (self.head, self.next_number);
        self.head = (self.head + length) % self.size;
        self.used += length;
        self.next_number += 1;
        self.newest.extend(logged.iter().map(|&home| (home, number)));
        self.live.push_back(Transaction { number, length, homes: logged.to_vec() });
        let first = self.start + 1;
        // A transaction that reaches the end of the ring is split in two.
        let before = (length - 1).min(self.size - body);
        let parts = [Run { start: first + body, blocks: before }, Run { start: first, blocks: length - 1 - before }];
        let commit = Run { start: first + (body + length - 1) % self.size, blocks: 1 };
        (parts.into_iter().filter(|part| part.blocks > 0), commit)
    }
}

/// Blocks in order, as runs.
fn runs(blocks: &[u64]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for &block in blocks {
        match runs.last_mut() {
            Some(run) if run.start + run.blocks == block => run.blocks += 1,
            _ => runs.push(Run { start: block, blocks: 1 }),
        }
    }
    runs
}
