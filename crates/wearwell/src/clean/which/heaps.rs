//! Candidates in heaps by age.

use alloc::vec;
use alloc::vec::Vec;

use crate::addr::Seg;
use crate::segments::Segments;

const END: u32 = u32::MAX;

/// Pairing heaps of segments. The first member of a heap is the one with the oldest stamp; of equal ones the least
/// worn, then the lowest number.
///
/// Adding takes one comparison, removing a logarithmic number on average over many calls, and mostly one or none,
/// because a member has one child on average. A walk in order costs what removing would, once: it leaves its members
/// in order, so that the next walk finds them sorted.
///
/// Invariants: a segment is in at most one heap. No member comes before its parent. The first child's `prev` is its
/// parent; another child's is the sibling before it; a root has neither `prev` nor `next`.
#[derive(Debug, Clone)]
pub(super) struct Heaps {
    roots: Vec<u32>,
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    stamp: u64,
    heap: u32,
    child: u32,
    next: u32,
    prev: u32,
}

impl Heaps {
    pub(super) fn new(segments: u32, heaps: usize) -> Self {
        let absent = Node { stamp: 0, heap: END, child: END, next: END, prev: END };
        Self { roots: vec![END; heaps], nodes: vec![absent; segments as usize] }
    }

    /// Bytes that so many heaps of so many segments take.
    pub(super) const fn bytes(segments: u32, heaps: usize) -> usize {
        heaps * size_of::<u32>() + segments as usize * size_of::<Node>()
    }

    /// The first member of a heap.
    #[inline]
    pub(super) fn first(&self, heap: usize) -> Option<Seg> {
        let root = self.roots[heap];
        (root != END).then_some(Seg(root))
    }

    /// The heap that a segment is in.
    #[inline]
    pub(super) fn heap_of(&self, seg: Seg) -> Option<usize> {
        let heap = self.nodes[seg.index()].heap;
        (heap != END).then_some(heap as usize)
    }

    /// The stamp of a member.
    #[inline]
    pub(super) fn stamp(&self, seg: Seg) -> u64 {
        self.nodes[seg.index()].stamp
    }

    /// Adds a segment that is in no heap.
    #[inline]
    pub(super) fn insert(&mut self, seg: Seg, heap: usize, stamp: u64, segments: &Segments) {
        debug_assert!(self.heap_of(seg).is_none(), "in one heap at a time");
        self.nodes[seg.index()] = Node { stamp, heap: heap as u32, child: END, next: END, prev: END };
        let root = self.roots[heap];
        self.roots[heap] = if root == END { seg.0 } else { self.link(root, seg.0, segments) };
    }

    /// Removes a segment from its heap, if it is in one.
    #[inline]
    pub(super) fn remove(&mut self, seg: Seg, segments: &Segments) {
        let Node { heap, child, next, prev, .. } = self.nodes[seg.index()];
        if heap == END {
            return;
        }
        self.nodes[seg.index()].heap = END;
        // What was below it takes its place.
        let heir = self.merge(child, segments);
        let after = if heir == END { next } else { heir };
        // It is a root, or a first child, whose `prev` is its parent, or it is behind a sibling.
        if prev == END {
            self.roots[heap as usize] = heir;
        } else if self.nodes[prev as usize].child == seg.0 {
            self.nodes[prev as usize].child = after;
        } else {
            self.nodes[prev as usize].next = after;
        }
        if heir != END {
            (self.nodes[heir as usize].prev, self.nodes[heir as usize].next) = (prev, next);
        }
        if next != END {
            self.nodes[next as usize].prev = if heir == END { prev } else { heir };
        }
    }

    /// The member that comes next in a heap, after all those that were found from [`first`](Self::first) on.
    pub(super) fn next(&mut self, seg: Seg, segments: &Segments) -> Option<Seg> {
        let child = self.nodes[seg.index()].child;
        let first = self.merge(child, segments);
        if first == END {
            return None;
        }
        // All that come later hang below this one child now, so the walk goes down from here.
        self.nodes[seg.index()].child = first;
        (self.nodes[first as usize].prev, self.nodes[first as usize].next) = (seg.0, END);
        Some(Seg(first))
    }

    /// Makes a heap of siblings, from `first` on. Its root is returned, whose `next` and `prev` are to be set.
    #[inline]
    fn merge(&mut self, first: u32, segments: &Segments) -> u32 {
        if first == END || self.nodes[first as usize].next == END {
            return first;
        }
        // Pairs from left to right, which are chained the other way round,
        let (mut at, mut pairs) = (first, END);
        while at != END {
            let second = self.nodes[at as usize].next;
            let rest = if second == END { END } else { self.nodes[second as usize].next };
            let pair = if second == END { at } else { self.link(at, second, segments) };
            self.nodes[pair as usize].next = pairs;
            (at, pairs) = (rest, pair);
        }
        // and these from right to left.
        let mut root = pairs;
        let mut at = self.nodes[root as usize].next;
        while at != END {
            let rest = self.nodes[at as usize].next;
            root = self.link(root, at, segments);
            at = rest;
        }
        root
    }

    /// Puts one root below the other. The upper one's `next` and `prev` stay as they are.
    #[inline]
    fn link(&mut self, a: u32, b: u32, segments: &Segments) -> u32 {
        let (upper, lower) = if self.is_before(a, b, segments) { (a, b) } else { (b, a) };
        let child = core::mem::replace(&mut self.nodes[upper as usize].child, lower);
        if child != END {
            self.nodes[child as usize].prev = lower;
        }
        let below = &mut self.nodes[lower as usize];
        (below.next, below.prev) = (child, upper);
        upper
    }

    #[inline]
    fn is_before(&self, a: u32, b: u32, segments: &Segments) -> bool {
        let (since, since_other) = (self.nodes[a as usize].stamp, self.nodes[b as usize].stamp);
        let key = |seg: u32| (segments.erases(Seg(seg)), seg);
        since < since_other || (since == since_other && key(a) < key(b))
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;
    use crate::random::Rng;

    /// All members of a heap, by a walk.
    fn walk(heaps: &mut Heaps, heap: usize, segments: &Segments) -> Vec<Seg> {
        let mut found: Vec<Seg> = heaps.first(heap).into_iter().collect();
        while let Some(seg) = found.last().and_then(|&seg| heaps.next(seg, segments)) {
            found.push(seg);
        }
        found
    }

    #[test]
    fn walks_find_what_was_added_and_not_removed_in_order() {
        for seed in 0..20 {
            let mut rng = Rng::new(seed);
            let mut segments = Segments::new(60, 8);
            segments.all().for_each(|seg| segments.set_erases(seg, rng.below(3)));
            let mut heaps = Heaps::new(60, 3);
            let mut expected = [const { BTreeSet::new() }; 3];
            for step in 0..3000 {
                let seg = Seg(rng.below(60));
                match heaps.heap_of(seg) {
                    Some(heap) => {
                        assert!(expected[heap].remove(&(heaps.stamp(seg), segments.erases(seg), seg)));
                        heaps.remove(seg, &segments);
                    }
                    None => {
                        let (heap, stamp) = (rng.below(3) as usize, u64::from(rng.below(20)));
                        heaps.insert(seg, heap, stamp, &segments);
                        expected[heap].insert((stamp, segments.erases(seg), seg));
                    }
                }
                // Mostly the heaps are left as they grow.
                let is_walked = rng.below(10) == 0;
                for (heap, expected) in expected.iter().enumerate() {
                    assert_eq!(heaps.first(heap), expected.first().map(|key| key.2), "seed {seed}, step {step}");
                    if is_walked {
                        let found = walk(&mut heaps, heap, &segments);
                        assert!(found.into_iter().eq(expected.iter().map(|key| key.2)), "seed {seed}, step {step}");
                    }
                }
            }
        }
    }
}
