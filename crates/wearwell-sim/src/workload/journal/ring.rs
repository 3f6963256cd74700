//! The journal: a ring of transactions, after jbd2.

use std::collections::{BTreeMap, VecDeque};

use super::layout::Run;
use super::settings::DESCRIPTOR_TAGS;

/// A transaction that is in the ring.
#[derive(Debug)]
struct Transaction {
    number: u64,
    /// Blocks of the ring that it takes.
    length: u64,
    /// Homes of what it holds.
    homes: Vec<u64>,
}

/// The ring, and what in it has not been written home.
///
/// Invariants: the lengths of `live` add up to `used`, at most `size`; `newest` names, for every block that some live
/// transaction holds, the last that does.
#[derive(Debug)]
pub(super) struct Ring {
    /// The journal's first block, which tells where the ring begins and is not part of it.
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

/// Blocks that a transaction of so many takes: descriptors, the blocks, the commit block.
pub(super) fn length_of(logged: u64) -> u64 {
    logged.div_ceil(DESCRIPTOR_TAGS) + logged + 1
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

    /// Makes room for a transaction: if there is none, drops the oldest ones until a quarter of the ring is free.
    /// Returns what has to be written home for that, in order of its place.
    pub(super) fn make_room(&mut self, logged: u64) -> Vec<Run> {
        let length = length_of(logged);
        let mut homes = Vec::new();
        if self.used + length <= self.size {
            return Vec::new();
        }
        let wanted = length.max(self.size / 4);
        while self.size - self.used < wanted {
            let Some(oldest) = self.live.pop_front() else { break };
            self.used -= oldest.length;
            for home in oldest.homes {
                // What a later transaction holds goes home with that one.
                if self.newest.get(&home) == Some(&oldest.number) {
                    self.newest.remove(&home);
                    homes.push(home);
                }
            }
        }
        homes.sort_unstable();
        runs(&homes)
    }

    /// What has not been written home, in order of its place.
    #[cfg(test)]
    pub(super) fn not_home(&self) -> impl Iterator<Item = u64> {
        self.newest.keys().copied()
    }

    /// Adds a transaction, for which there is room. Returns where its blocks go, and its commit block.
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
        // The ring's end cuts a transaction in two.
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
