//! The segments that hold data, and which of them wait for the cleaner.

use alloc::collections::VecDeque;

use crate::addr::{Class, Seg};
use crate::clean::which::{AgeClock, VictimSelection, VictimSelector};
use crate::random::Rng;
use crate::segments::{Health, SegState, Segments};

/// The table of segments, with what the cleaner finds its work by.
///
/// Invariants: exactly the [candidates](Segments::is_candidate) are known to `victims` (and full segments to those
/// policies that ask for them); exactly the closed segments without a valid page wait in `empties`, but for one that is
/// just being erased.
#[derive(Debug)]
pub(super) struct SegmentPool {
    table: Segments,
    victims: VictimSelector,
    empties: VecDeque<Seg>,
    attention: Attention,
}

/// When the cleaner should look again whether there is something to do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attention {
    is_wanted: bool,
    /// Not before so many pages were written by the host.
    from_page: u64,
}

impl Attention {
    /// Something came up: before the next host page.
    #[inline]
    pub(super) fn call(&mut self) {
        *self = Self { is_wanted: true, from_page: 0 };
    }

    /// The cleaner has done what the host's pages up to `page` pay for.
    pub(super) fn rest_until(&mut self, page: u64) {
        self.from_page = page;
    }

    /// The cleaner has looked, and there is something left to do or not.
    pub(super) fn set_wanted(&mut self, is_wanted: bool) {
        self.is_wanted = is_wanted;
    }

    #[inline(always)]
    pub(super) fn is_due(self, page: u64) -> bool {
        self.is_wanted && page >= self.from_page
    }
}

impl SegmentPool {
    pub(super) fn new(table: Segments, victims: VictimSelector) -> Self {
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

    /// An open segment takes no more pages.
    pub(super) fn close(&mut self, seg: Seg, age_clock: u64) {
        self.table.close(seg, age_clock);
        self.introduce(seg);
    }

    /// Enters a closed segment where the cleaner will find it.
    fn introduce(&mut self, seg: Seg) {
        if self.table.valid(seg) == 0 {
            self.empties.push_back(seg);
            self.attention.call();
        } else if self.table.is_candidate(seg) {
            self.victims.added(seg, &self.table);
        } else {
            self.victims.closed_full(seg);
        }
    }

    /// Puts another victim policy in force.
    pub(super) fn set_victims(&mut self, victims: VictimSelector) {
        self.victims = victims;
        for seg in self.table.all() {
            if matches!(self.table.state(seg), SegState::Closed(_)) && self.table.valid(seg) > 0 {
                self.introduce(seg);
            }
        }
    }

    /// The map points to one page of the segment less.
    #[inline(always)]
    pub(super) fn lose_page(&mut self, seg: Seg, age_clock: u64) {
        let valid = self.table.lose(seg, age_clock);
        if !matches!(self.table.state(seg), SegState::Closed(_)) {
            return;
        }
        if valid == 0 {
            self.queue_empty(seg);
        } else if valid + 1 == self.table.slots() {
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

    /// A suspect segment is erased before anybody counts on it.
    pub(super) fn queue_suspect(&mut self, seg: Seg) {
        self.table.close_suspect(seg);
        self.introduce(seg);
    }

    /// A closed segment with data is being emptied.
    pub(super) fn choose(&mut self, seg: Seg) {
        self.victims.removed(seg, &self.table);
        self.table.choose(seg);
    }

    /// Trusts the data in a segment no more than `health` says.
    pub(super) fn distrust(&mut self, seg: Seg, health: Health) {
        if self.table.distrust(seg, health) {
            self.attention.call();
        }
    }

    pub(super) fn best_victim(&mut self, clock: AgeClock, rng: &mut Rng) -> Option<Seg> {
        self.victims.best(&self.table, clock, rng)
    }

    /// The candidate with the fewest valid pages: for when the reserve is touched and the policy does not matter. One that
    /// is to be retired comes last: emptying it gives no segment back.
    pub(super) fn fewest_valid(&mut self, clock: AgeClock, rng: &mut Rng) -> Option<Seg> {
        let seg = self.victims.fewest_valid(&self.table, clock, rng)?;
        let is_failing = self.table.state(seg).health() == Health::Failing;
        if is_failing { self.table.fewest_valid() } else { Some(seg) }
    }

    pub(super) fn score(&self, seg: Seg, clock: AgeClock) -> f64 {
        self.victims.score(seg, &self.table, clock)
    }

    /// Takes the segment that has been empty longest.
    pub(super) fn take_empty(&mut self) -> Option<Seg> {
        self.empties.pop_front()
    }

    /// Takes one of the empty segments.
    pub(super) fn take_this_empty(&mut self, seg: Seg) {
        self.empties.retain(|&empty| empty != seg);
    }

    /// A segment that was to be erased has to wait.
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
