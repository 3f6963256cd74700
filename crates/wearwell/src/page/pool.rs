//! The pool: segments that hold data, and those that wait for the cleaner.

use alloc::collections::VecDeque;

use crate::addr::{Class, Seg};
use crate::clean::which::{AgeClock, Overrulable, VictimChoice, VictimSelection};
use crate::random::Rng;
use crate::segments::{Health, SegState, Segments};

/// The table of segments, with the lists from which the cleaner takes its work.
///
/// Invariants: `victims` knows exactly the [candidates](Segments::is_candidate), and for policies that use them the
/// full segments. `empties` holds exactly the closed segments without a valid page, except one that is just being
/// erased.
#[derive(Debug)]
pub(super) struct SegmentPool<V: VictimChoice> {
    table: Segments,
    victims: V::Policy,
    empties: VecDeque<Seg>,
    attention: Attention,
}

/// When the cleaner has to be called again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attention {
    is_wanted: bool,
    /// The count of host pages before which it is not called.
    from_page: u64,
}

impl Attention {
    /// Calls the cleaner before the next host page.
    #[inline]
    pub(super) fn call(&mut self) {
        *self = Self { is_wanted: true, from_page: 0 };
    }

    /// The cleaner has done the work of the host pages up to `page`.
    pub(super) fn rest_until(&mut self, page: u64) {
        self.from_page = page;
    }

    /// Notes whether the cleaner has more work.
    pub(super) fn set_wanted(&mut self, is_wanted: bool) {
        self.is_wanted = is_wanted;
    }

    #[inline(always)]
    pub(super) fn is_due(self, page: u64) -> bool {
        self.is_wanted && page >= self.from_page
    }
}

impl<V: VictimChoice> SegmentPool<V> {
    pub(super) fn new(table: Segments, victims: V::Policy) -> Self {
        // All segments may be empty at once. With this room, the queue never takes memory in the middle of a write.
        let empties = VecDeque::with_capacity(table.count() as usize);
        Self { table, victims, empties, attention: Attention { is_wanted: true, from_page: 0 } }
    }

    #[inline]
    pub(super) fn table(&self) -> &Segments {
        &self.table
    }

    /// The table, for changes that concern neither candidates nor empty segments.
    #[inline]
    pub(super) fn table_mut(&mut self) -> &mut Segments {
        &mut self.table
    }

    #[inline(always)]
    pub(super) fn attention(&mut self) -> &mut Attention {
        &mut self.attention
    }

    /// Closes an open segment.
    pub(super) fn close(&mut self, seg: Seg, age_clock: u64) {
        self.table.close(seg, age_clock);
        self.introduce(seg);
    }

    /// Enters a closed segment into the list that fits it.
    fn introduce(&mut self, seg: Seg) {
        if self.table.valid(seg) == 0 {
            self.empties.push_back(seg);
            self.attention.call();
        } else if self.table.is_candidate(seg) {
            self.victims.added(seg, &self.table);
        } else {
            // Emptying a full segment gains nothing. Most policies do not even look at one.
            self.victims.closed_full(seg);
        }
    }

    /// Opens a closed segment again that is a candidate.
    pub(super) fn reopen(&mut self, seg: Seg) {
        self.victims.removed(seg, &self.table);
        self.table.reopen(seg);
    }

    /// Puts another victim policy in force.
    pub(super) fn set_victims(&mut self, victims: V::Policy) {
        self.victims = victims;
        for seg in self.table.all() {
            // Segments without data wait in `empties` already.
            if matches!(self.table.state(seg), SegState::Closed(_)) && self.table.valid(seg) > 0 {
                self.introduce(seg);
            }
        }
    }

    /// Takes one off the segment's count of valid pages.
    #[inline(always)]
    pub(super) fn lose_page(&mut self, seg: Seg, age_clock: u64) {
        let valid = self.table.lose(seg, age_clock);
        // Only closed segments are in the lists.
        if !matches!(self.table.state(seg), SegState::Closed(_)) {
            return;
        }
        if valid == 0 {
            self.queue_empty(seg);
        } else if valid + 1 == self.table.slots() {
            // The segment was full until now.
            self.victims.added(seg, &self.table);
        } else {
            self.victims.invalidated(seg, &self.table);
        }
    }

    fn queue_empty(&mut self, seg: Seg) {
        self.victims.removed(seg, &self.table);
        self.empties.push_back(seg);
        self.attention.call();
    }

    /// Queues a suspect segment for its erase. It does not count as free before that.
    pub(super) fn queue_suspect(&mut self, seg: Seg) {
        self.table.close_suspect(seg);
        self.introduce(seg);
    }

    /// Makes a closed segment with data the victim.
    pub(super) fn choose(&mut self, seg: Seg) {
        self.victims.removed(seg, &self.table);
        self.table.choose(seg);
    }

    /// Lowers the health of a segment to at most `health`.
    pub(super) fn distrust(&mut self, seg: Seg, health: Health) {
        if self.table.distrust(seg, health) {
            self.attention.call();
        }
    }

    /// Returns a victim that still has valid pages to the closed segments.
    pub(super) fn spare(&mut self, seg: Seg) {
        self.table.spare(seg);
        self.introduce(seg);
    }

    pub(super) fn best_victim(&mut self, clock: AgeClock, rng: &mut Rng) -> Option<Seg> {
        self.victims.best(&self.table, clock, rng)
    }

    /// The best of the candidates that are `wanted`.
    pub(super) fn best_among(&mut self, clock: AgeClock, wanted: &dyn Fn(Seg) -> bool) -> Option<Seg> {
        self.victims.best_among(&self.table, clock, wanted)
    }

    /// The candidate with the fewest valid pages: for when the reserve is touched and the policy does not matter. One
    /// that is to be retired comes last: emptying it gives no segment back.
    pub(super) fn fewest_valid(&mut self, clock: AgeClock, rng: &mut Rng) -> Option<Seg> {
        let seg = self.victims.fewest_valid(&self.table, clock, rng)?;
        // The policy knows nothing of failures, so the table is asked, which looks at every segment.
        if self.table.is_failing(seg) { self.table.fewest_valid() } else { Some(seg) }
    }

    pub(super) fn score(&self, seg: Seg, clock: AgeClock) -> f64 {
        self.victims.score(seg, &self.table, clock)
    }

    /// Takes the segment that has been empty longest, of those that are not `kept`.
    pub(super) fn take_empty_but(&mut self, kept: &[Seg]) -> Option<Seg> {
        let at = self.empties.iter().position(|seg| !kept.contains(seg))?;
        self.empties.remove(at)
    }

    /// Takes the empty segment `seg`.
    pub(super) fn take_this_empty(&mut self, seg: Seg) {
        self.empties.retain(|&empty| empty != seg);
    }

    /// Puts a segment back whose erase has to wait.
    pub(super) fn keep_empty(&mut self, seg: Seg) {
        self.table.put_back(seg);
        self.introduce(seg);
    }

    pub(super) fn has_empties(&self) -> bool {
        !self.empties.is_empty()
    }

    pub(super) fn empties(&self) -> impl Iterator<Item = Seg> + '_ {
        self.empties.iter().copied()
    }

    /// The segments in use, and their classes.
    pub(super) fn in_use(&self) -> impl Iterator<Item = (Seg, Class)> + '_ {
        let used = self.table.all().filter(|&s| self.table.state(s).is_in_use());
        used.map(|s| (s, self.table.class(s)))
    }
}
