//! The index: the map and the table of segments, which change together and only here.

use alloc::vec;
use alloc::vec::Vec;

use super::log::Log;
use super::map::{FlatMap, PageMap};
use super::pool::SegmentPool;
use crate::addr::{Lpn, Ppn, Seg, Slots};
use crate::clean::which::{AgeClock, VictimChoice};
use crate::dead::DeadPages;
use crate::ftl::FtlError;
use crate::losses::Losses;

/// The clocks that ages are counted in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    /// Host pages ever written.
    pub(super) host_pages: u64,
    pub(super) now_us: u64,
    /// True if ages are in microseconds; otherwise they are in host pages.
    pub(super) is_timed: bool,
}

impl Clock {
    /// The stamp of the current moment.
    #[inline(always)]
    pub(super) fn stamp(self) -> u64 {
        if self.is_timed { self.now_us } else { self.host_pages }
    }

    /// The moment that ages are measured against.
    pub(super) fn for_ages(self) -> AgeClock {
        AgeClock { now: self.stamp(), unit: if self.is_timed { 1e-6 } else { 1.0 } }
    }
}

/// The map, the table of segments, and the lost and dead pages.
///
/// Invariant 1 (docs/src/design/invariants.md): `valid(s)` of the table is the number of pages in s that the map points
/// to.
#[derive(Debug)]
pub(super) struct Index<M, V: VictimChoice> {
    map: M,
    pool: SegmentPool<V>,
    slots: Slots,
    clock: Clock,
    lost: Losses,
    dead: DeadPages,
}

impl<M, V: VictimChoice> Index<M, V> {
    /// For `pages` logical pages, the engine's own among them.
    pub(super) fn new(map: M, pages: u32, pool: SegmentPool<V>, slots: Slots, clock: Clock) -> Self {
        let dead = DeadPages::new(pool.table().count());
        Self { map, pool, slots, clock, lost: Losses::new(pages), dead }
    }

    #[inline(always)]
    pub(super) fn map(&self) -> &M {
        &self.map
    }

    #[inline(always)]
    pub(super) fn pool(&self) -> &SegmentPool<V> {
        &self.pool
    }

    /// The pool, for changes that do not concern valid pages.
    #[inline(always)]
    pub(super) fn pool_mut(&mut self) -> &mut SegmentPool<V> {
        &mut self.pool
    }

    #[inline(always)]
    pub(super) fn slots(&self) -> &Slots {
        &self.slots
    }

    #[inline(always)]
    pub(super) fn clock(&self) -> Clock {
        self.clock
    }

    #[inline(always)]
    pub(super) fn clock_mut(&mut self) -> &mut Clock {
        &mut self.clock
    }

    /// An open segment takes no more pages.
    pub(super) fn close(&mut self, seg: Seg) {
        self.pool.close(seg, self.clock.stamp());
    }

    pub(super) fn lost(&self) -> &Losses {
        &self.lost
    }

    pub(super) fn lost_mut(&mut self) -> &mut Losses {
        &mut self.lost
    }

    pub(super) fn dead(&self) -> &DeadPages {
        &self.dead
    }

    pub(super) fn dead_mut(&mut self) -> &mut DeadPages {
        &mut self.dead
    }

    /// Where `lpn` lies; none if it is unmapped.
    #[inline(always)]
    pub(super) fn lookup<L: Log>(&mut self, log: &mut L, lpn: Lpn) -> Result<Ppn, FtlError>
    where
        M: PageMap<L>,
    {
        self.map.lookup(log, lpn)
    }

    /// Points `lpn`, which lay at `old` or nowhere, to its newest copy in slot `slot` of `seg`.
    #[inline(always)]
    pub(super) fn rebind<L: Log>(
        &mut self,
        log: &mut L,
        lpn: Lpn,
        old: Ppn,
        seg: Seg,
        slot: u32,
    ) -> Result<(), FtlError>
    where
        M: PageMap<L>,
    {
        self.point(log, lpn, old, seg, slot)?;
        self.lost.forget(lpn);
        self.pool.table_mut().gain(seg, self.clock.stamp());
        Ok(())
    }

    /// Points `lpn` to the copy that a rescue made from `old` in slot `slot` of `seg`. Lost data stays lost.
    pub(super) fn rebind_rescued<L: Log>(
        &mut self,
        log: &mut L,
        lpn: Lpn,
        old: Ppn,
        seg: Seg,
        slot: u32,
    ) -> Result<(), FtlError>
    where
        M: PageMap<L>,
    {
        self.point(log, lpn, old, seg, slot)?;
        self.pool.table_mut().count_valid(seg);
        Ok(())
    }

    /// Points the map at slot `slot` of `seg`. The segment of the old copy, if there is one, has a page less.
    #[inline(always)]
    fn point<L: Log>(&mut self, log: &mut L, lpn: Lpn, old: Ppn, seg: Seg, slot: u32) -> Result<(), FtlError>
    where
        M: PageMap<L>,
    {
        // The map goes first: it may have to read flash, and if that fails, no count has changed.
        self.map.rebind(log, lpn, old, self.slots.page(seg, slot))?;
        if old.is_some() {
            self.pool.lose_page(self.slots.segment_of(old), self.clock.stamp());
        }
        Ok(())
    }

    /// Discards `lpn`, which lies at `old`.
    pub(super) fn discard<L: Log>(&mut self, log: &mut L, lpn: Lpn, old: Ppn) -> Result<(), FtlError>
    where
        M: PageMap<L>,
    {
        // The map goes first, as in `point`.
        self.map.unmap(log, lpn, old)?;
        let seg = self.slots.segment_of(old);
        self.dead.add(seg);
        self.pool.lose_page(seg, self.clock.stamp());
        self.lost.forget(lpn);
        Ok(())
    }

    /// [`PageMap::gather_live`].
    #[inline]
    pub(super) fn gather_live<L: Log>(
        &mut self,
        log: &mut L,
        seg: Seg,
        from: u32,
        slots: &mut [u32],
        lpns: &mut [Lpn],
    ) -> Result<usize, FtlError>
    where
        M: PageMap<L>,
    {
        self.map.gather_live(log, seg, from, slots, lpns)
    }

    /// Points the pages of a victim to their copies in consecutive slots of `to`. They must be all live pages between
    /// the first and the last of `slots`.
    #[inline]
    pub(super) fn move_run<L: Log>(
        &mut self,
        log: &mut L,
        victim: Seg,
        slots: &[u32],
        lpns: &[Lpn],
        to: (Seg, u32),
    ) -> Result<(), FtlError>
    where
        M: PageMap<L>,
    {
        self.map.move_run(log, victim, slots, lpns, to.0, to.1)?;
        // A victim is in no list of the pool, so only the counts change.
        self.pool.table_mut().transfer(victim, to.0, slots.len() as u32);
        Ok(())
    }

    /// Live pages over the pages of all good segments.
    pub(super) fn utilization<L: Log>(&self) -> f64
    where
        M: PageMap<L>,
    {
        let table = self.pool.table();
        self.map.live_pages() as f64 / (f64::from(table.good()) * f64::from(table.slots()))
    }
}

/// Changes by a mount.
impl<V: VictimChoice> Index<FlatMap, V> {
    /// Where `lpn` lies; none if it is unmapped.
    #[inline]
    pub(super) fn place_of(&self, lpn: Lpn) -> Ppn {
        self.map.place_of(lpn)
    }

    /// The pages that count in a segment, and their places.
    pub(super) fn live_in(&self, seg: Seg) -> Vec<(Lpn, Ppn)> {
        let valid = self.pool.table().valid(seg) as usize;
        let (mut slots, mut lpns) = (vec![0; valid], vec![Lpn(0); valid]);
        let live = self.map.live_in(seg, 0, &mut slots, &mut lpns);
        lpns.into_iter().zip(slots).take(live).map(|(lpn, slot)| (lpn, self.slots.page(seg, slot))).collect()
    }

    /// Points the map at a copy of `lpn`, in place of the one it points to.
    pub(super) fn repoint(&mut self, lpn: Lpn, at: Ppn) {
        let old = self.place_of(lpn);
        self.map.point(lpn, old, at);
        // The table alone is told, and not the pool: a mount fills the lists of candidates once all counts are known.
        if old.is_some() {
            self.pool.table_mut().drop_valid(self.slots.segment_of(old));
        }
        self.pool.table_mut().count_valid(self.slots.segment_of(at));
    }

    /// Unmaps a mapped page. Returns the segment that it lay in.
    pub(super) fn unbind(&mut self, lpn: Lpn) -> Seg {
        let old = self.place_of(lpn);
        self.map.forget(lpn, old);
        let seg = self.slots.segment_of(old);
        self.pool.table_mut().drop_valid(seg);
        seg
    }

    /// Reads the entries that the next writes of these pages will need, so that the cache misses overlap.
    pub(super) fn fetch(&self, pages: &[Lpn]) {
        self.map.fetch(pages);
        // This is a separate loop, so that its loads depend only on the loads of the map above.
        let places = pages.iter().map(|&lpn| self.map.place_of(lpn)).filter(|at| at.is_some());
        let sum = places.fold(0, |sum: u64, at| {
            let seg = self.slots.segment_of(at);
            let row = u64::from(self.pool.table().valid(seg)) ^ self.pool.table().invalidated(seg);
            sum ^ row ^ self.map.live_word(at)
        });
        // The compiler would drop loads whose result is not used.
        core::hint::black_box(sum);
    }
}
