//! The bare loop: greedy page mapping and nothing else, as fast as safe code makes it. It is the baseline for the cost
//! of the engine's promises, policies and layouts.
//!
//! It cleans as the engine's default does: below three free segments, until there are four.

use std::collections::VecDeque;
use std::hint::black_box;

/// Pages of a segment; fixed, so that divisions are shifts.
pub(crate) const SLOTS: usize = 512;

const NONE: u32 = u32::MAX;

/// A segment: its valid pages, and its neighbours among those with as many.
#[derive(Clone, Copy)]
struct Segment {
    valid: u32,
    next: u32,
    prev: u32,
}

/// Invariants: `l2p` and `p2l` are each other's inverse where a live bit is set. Every segment that is neither
/// free nor open is in the list of its valid count. No list below `fewest` has a member.
pub(crate) struct Bare {
    l2p: Vec<u32>,
    p2l: Vec<u32>,
    live: Vec<u64>,
    segments: Vec<Segment>,
    /// First of each list, by valid count.
    head: [u32; SLOTS + 1],
    fewest: usize,
    free: VecDeque<u32>,
    open: usize,
    next: usize,
    pub(crate) programmed: u64,
}

impl Bare {
    /// A device without data.
    pub(crate) fn new(logical_pages: usize, segments: usize) -> Self {
        Self {
            l2p: vec![NONE; logical_pages],
            p2l: vec![NONE; segments * SLOTS],
            live: vec![0; segments * SLOTS / 64],
            segments: vec![Segment { valid: SLOTS as u32, next: NONE, prev: NONE }; segments],
            head: [NONE; SLOTS + 1],
            fewest: SLOTS,
            free: (1..segments as u32).collect(),
            open: 0,
            next: 0,
            programmed: 0,
        }
    }

    /// Bytes of all tables.
    pub(crate) fn table_bytes(&self) -> usize {
        (self.l2p.len() + self.p2l.len()) * 4 + self.live.len() * 8 + self.segments.len() * 12
    }

    /// Writes pages, after a gather load of all their map entries.
    pub(crate) fn write(&mut self, pages: &[u32]) {
        self.fetch(pages);
        for &page in pages {
            self.invalidate(page);
            self.append(page);
            if self.next == SLOTS {
                self.open_next();
                self.clean();
            }
        }
    }

    /// Loads map entries ahead of their use, so that their cache misses overlap.
    #[inline]
    fn fetch(&self, pages: &[u32]) {
        black_box(pages.iter().fold(0_u32, |sum, &page| sum.wrapping_add(self.l2p[page as usize])));
    }

    #[inline]
    fn invalidate(&mut self, page: u32) {
        let old = self.l2p[page as usize];
        if old == NONE {
            return;
        }
        let (old, segment) = (old as usize, old as usize / SLOTS);
        self.live[old / 64] &= !(1 << (old % 64));
        if segment == self.open {
            self.segments[segment].valid -= 1;
        } else {
            self.unlink(segment);
            self.segments[segment].valid -= 1;
            self.link(segment);
        }
    }

    #[inline]
    fn append(&mut self, page: u32) {
        let to = self.open * SLOTS + self.next;
        self.l2p[page as usize] = to as u32;
        self.p2l[to] = page;
        self.live[to / 64] |= 1 << (to % 64);
        self.next += 1;
        self.programmed += 1;
    }

    #[inline]
    fn link(&mut self, segment: usize) {
        let valid = self.segments[segment].valid as usize;
        let head = std::mem::replace(&mut self.head[valid], segment as u32);
        self.segments[segment].next = head;
        self.segments[segment].prev = NONE;
        if head != NONE {
            self.segments[head as usize].prev = segment as u32;
        }
        self.fewest = self.fewest.min(valid);
    }

    #[inline]
    fn unlink(&mut self, segment: usize) {
        let Segment { valid, next, prev } = self.segments[segment];
        match prev {
            NONE => self.head[valid as usize] = next,
            prev => self.segments[prev as usize].next = next,
        }
        if next != NONE {
            self.segments[next as usize].prev = prev;
        }
    }

    #[cold]
    fn open_next(&mut self) {
        self.link(self.open);
        self.open = self.free.pop_front().expect("cleaning keeps segments free") as usize;
        self.segments[self.open].valid = SLOTS as u32;
        self.next = 0;
    }

    fn clean(&mut self) {
        if self.free.len() >= 3 {
            return;
        }
        while self.free.len() < 4 {
            while self.head[self.fewest] == NONE {
                self.fewest += 1;
            }
            let victim = self.head[self.fewest] as usize;
            self.unlink(victim);
            for word in victim * SLOTS / 64..(victim + 1) * SLOTS / 64 {
                self.move_word(word);
            }
            self.free.push_back(victim as u32);
        }
    }

    /// Moves the live pages of 64 slots.
    fn move_word(&mut self, word: usize) {
        let mut pages = [0; 64];
        let mut count = 0;
        let mut bits = std::mem::take(&mut self.live[word]);
        while bits != 0 {
            pages[count] = self.p2l[word * 64 + bits.trailing_zeros() as usize];
            count += 1;
            bits &= bits - 1;
        }
        let pages = &pages[..count];
        self.fetch(pages);
        for &page in pages {
            self.append(page);
            if self.next == SLOTS {
                self.open_next();
            }
        }
    }
}
