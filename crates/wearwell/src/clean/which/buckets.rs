//! Candidates by valid count, with bounds by which a search can skip most of them.

use alloc::vec;
use alloc::vec::Vec;

use crate::addr::Seg;

const END: u32 = u32::MAX;

/// Doubly linked lists of segments, one for each number of valid pages.
///
/// Invariants: a segment is in at most one list. For every segment s in list v, `oldest[v]` is at most s's stamp and
/// `least_worn[v]` at most its erase count: adding keeps these bounds tight, removing may leave them loose.
#[derive(Debug, Clone)]
pub(super) struct Buckets {
    head: Vec<u32>,
    links: Vec<Link>,
    /// Lower bound of the stamps, by valid count.
    pub(super) oldest: Vec<u64>,
    /// Lower bound of the erase counts, by valid count.
    pub(super) least_worn: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    next: u32,
    prev: u32,
    list: u32,
}

impl Buckets {
    pub(super) fn new(segments: u32, slots: u32) -> Self {
        let lists = slots as usize + 1;
        Self {
            head: vec![END; lists],
            links: vec![Link { next: END, prev: END, list: END }; segments as usize],
            oldest: vec![u64::MAX; lists],
            least_worn: vec![u32::MAX; lists],
        }
    }

    pub(super) fn lists(&self) -> usize {
        self.head.len()
    }

    pub(super) fn is_empty(&self, valid: usize) -> bool {
        self.head[valid] == END
    }

    #[inline]
    pub(super) fn insert(&mut self, seg: Seg, valid: u32, stamp: u64, erases: u32) {
        let list = valid as usize;
        let head = self.head[list];
        debug_assert_eq!(self.links[seg.index()].list, END, "in one list at a time");
        if head == END {
            self.oldest[list] = stamp;
            self.least_worn[list] = erases;
        } else {
            self.links[head as usize].prev = seg.0;
            self.oldest[list] = self.oldest[list].min(stamp);
            self.least_worn[list] = self.least_worn[list].min(erases);
        }
        self.links[seg.index()] = Link { next: head, prev: END, list: valid };
        self.head[list] = seg.0;
    }

    #[inline]
    pub(super) fn remove(&mut self, seg: Seg) {
        let link = core::mem::replace(&mut self.links[seg.index()], Link { next: END, prev: END, list: END });
        if link.list == END {
            return;
        }
        if link.prev == END {
            self.head[link.list as usize] = link.next;
        } else {
            self.links[link.prev as usize].next = link.next;
        }
        if link.next != END {
            self.links[link.next as usize].prev = link.prev;
        }
    }

    /// The segments with this many valid pages, in no particular order.
    pub(super) fn iter(&self, valid: usize) -> impl Iterator<Item = Seg> + '_ {
        let some = |s: u32| (s != END).then_some(s);
        core::iter::successors(some(self.head[valid]), move |&s| some(self.links[s as usize].next)).map(Seg)
    }
}
