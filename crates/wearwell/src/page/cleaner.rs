//! The cleaner: one job at a time, in steps that are paced by host pages.
//!
//! This file decides what is emptied and when; `moving` empties it, and `erasing` erases what is empty. `keeping` has
//! what a mount had no room to copy.

mod erasing;
mod keeping;
mod moving;

use alloc::vec::Vec;

use super::allocator::{Allocator, Purpose};
use super::discards::DiscardMap;
use super::log::Log;
use super::map::PageMap;
use crate::addr::{Class, Lpn, Seg};
use crate::clean::reclaim::{Occupancy, Reclamation};
use crate::clean::when::{Ground, ResolvedTrigger, Supply};
use crate::clean::which::VictimChoice;
use crate::ftl::{FtlError, Probe};
use crate::place::PlaceChoice;
use crate::random::Rng;
use crate::segments::Health;
use keeping::{Kept, Spare};

/// Why a segment is being emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// For its invalid pages.
    Cleaning,
    /// Its data moves to a worn segment.
    Wear,
    /// A program failed in it, or its data fades.
    Rescue,
}

/// A segment that is being emptied.
#[derive(Debug, Clone, Copy)]
struct Job {
    victim: Seg,
    reason: Reason,
    /// The next slot to examine.
    cursor: u32,
    /// Valid fraction when it was chosen.
    utilization: f64,
    /// Pages moved so far.
    copied_pages: u32,
    /// Pages to move for each host page, rounded down, so that the victim is empty when the host has used up
    /// what it frees.
    pace_pages: u32,
    /// The clock at which copying may begin (Kawaguchi's cleaner is a daemon, which wakes up later).
    not_before: u64,
}

/// Pages that are moved together, so that the cache misses of their map entries overlap.
const BATCH_PAGES: usize = 32;

/// Pages of a victim, with their destinations. It is kept from batch to batch, because clearing it costs as much as
/// moving a page.
#[derive(Debug, Default)]
struct Batch {
    slots: [u32; BATCH_PAGES],
    lpns: [Lpn; BATCH_PAGES],
    classes: [Class; BATCH_PAGES],
    /// The first ones have been moved.
    moved: usize,
}

/// Frees segments: in the foreground as host pages need them, and in the background.
///
/// Calls run down only: the cleaner calls the discard map and the allocator, and neither calls the cleaner. So slots
/// are seen to beforehand:
///
/// - Before a page of the host's is given a class, the cleaner has [made a slot](Self::keep_up) for it. It makes
///   another one only if a segment fails.
/// - Copies of a victim fit the free segment that the host may not open.
/// - So do the parts of the discard map that an erase has to write first: half a segment of them may be dirty
///   ([`begin_discard`](Self::begin_discard)). As segments become scarce, they are written [before](Self::make_room)
///   anything is cleaned, so that a segment that fails costs none of these slots. The discard map asserts that they are
///   there.
#[derive(Debug)]
pub(super) struct Cleaner<L, P, M, V: VictimChoice, W: PlaceChoice> {
    alloc: Allocator<L, P, M, V, W>,
    discards: DiscardMap,
    /// Other copies of pages that may fade where the map has them, since a mount had no room for copies of them.
    spares: Vec<Spare>,
    /// In such a mount: these pages, read while they could be.
    kept: Vec<Kept>,
    trigger: ResolvedTrigger,
    reclaim: Reclamation,
    rng: Rng,
    job: Option<Job>,
    /// The pages of the job's victim that are being moved.
    batch: Batch,
    /// True between the marks of a watermark policy.
    is_cleaning: bool,
    /// True while proactive reclamation runs.
    is_reclaiming: bool,
}

impl<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice> Cleaner<L, P, M, V, W> {
    pub(super) fn new(
        alloc: Allocator<L, P, M, V, W>,
        discards: DiscardMap,
        trigger: ResolvedTrigger,
        reclaim: Reclamation,
        rng: Rng,
    ) -> Self {
        Self {
            alloc,
            discards,
            spares: Vec::new(),
            kept: Vec::new(),
            trigger,
            reclaim,
            rng,
            job: None,
            batch: Batch::default(),
            is_cleaning: false,
            is_reclaiming: false,
        }
    }

    #[inline(always)]
    pub(super) fn alloc(&self) -> &Allocator<L, P, M, V, W> {
        &self.alloc
    }

    #[inline(always)]
    pub(super) fn alloc_mut(&mut self) -> &mut Allocator<L, P, M, V, W> {
        &mut self.alloc
    }

    pub(super) fn into_alloc(self) -> Allocator<L, P, M, V, W> {
        self.alloc
    }

    #[inline(always)]
    pub(super) fn discards(&self) -> &DiscardMap {
        &self.discards
    }

    pub(super) fn discards_mut(&mut self) -> &mut DiscardMap {
        &mut self.discards
    }

    /// Both at once.
    pub(super) fn parts_mut(&mut self) -> (&mut Allocator<L, P, M, V, W>, &mut DiscardMap) {
        (&mut self.alloc, &mut self.discards)
    }

    /// Cleans by these policies from now on.
    pub(super) fn set_policies(&mut self, trigger: ResolvedTrigger, reclaim: Reclamation) {
        (self.trigger, self.reclaim) = (trigger, reclaim);
    }

    fn free_segments(&self) -> u32 {
        self.alloc.free().usable()
    }

    fn supply(&self) -> Supply {
        self.alloc.free().supply()
    }

    fn host_pages(&self) -> u64 {
        self.alloc.index().clock().host_pages
    }
}

/// In the foreground.
impl<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice> Cleaner<L, P, M, V, W> {
    /// Does what has to be done before the next host page, if anything. Afterwards there is a slot for it, whatever its
    /// class.
    #[inline(always)]
    pub(super) fn keep_up(&mut self) -> Result<(), FtlError> {
        let page = self.host_pages();
        if self.alloc.attention().is_due(page) {
            self.make_room()?;
        }
        if self.alloc.is_urgent() { self.make_slot() } else { Ok(()) }
    }

    /// Does what has to be done before the next host pages: notes erases that have ended, erases empty segments, and
    /// cleans at its pace.
    ///
    /// Afterwards a free segment is usable, and no host page mixes with copies that a power cut would have to undo (see
    /// [`Purpose`]).
    pub(super) fn make_room(&mut self) -> Result<(), FtlError> {
        self.alloc.writable()?;
        // An erase that has ended may give the segment that cleaning would have to gain.
        self.alloc.finish_erase(false)?;
        // With hardly a segment free, no erase below may need a slot for the discard map first.
        if self.discards.dirty_parts() > 0 && self.supply() < Supply::Enough {
            self.write_discards()?;
        }
        // Two at most, so that a host page waits for a bounded number of erases (promise 6).
        for _ in 0..2 {
            // The engine waits for an erase in the background only if free segments run out.
            if (self.alloc.is_erasing() && !self.alloc.is_urgent()) || !self.takes_empties() {
                break;
            }
            if !self.reclaim_empty()? {
                break;
            }
            self.alloc.stats_mut().reclaimed_blocks += u64::from(self.is_reclaiming);
        }
        self.alloc.stats_mut().urgent_pages += u64::from(self.alloc.is_urgent());
        self.pay()?;
        self.gain_segment()?;
        let has_work = self.has_work();
        self.alloc.attention().set_wanted(has_work);
        // A block that cannot even be retired may have been found.
        self.alloc.writable()
    }

    /// Cleans until a free segment is usable.
    pub(super) fn gain_segment(&mut self) -> Result<(), FtlError> {
        // Emptying a few victims gains a segment. More rounds than segments mean that nothing can be gained. From then
        // on each round gives up one of the segments that are held back, until `hold_less` fails.
        for round in 0.. {
            if self.free_segments() > 0 || self.alloc.writable().is_err() {
                break;
            }
            let goes_on = if round <= 2 * self.alloc.shape().segments { self.gain()? } else { self.alloc.hold_less() };
            if !goes_on {
                return Err(self.alloc.worn_out());
            }
        }
        Ok(())
    }

    /// Cleans until there is a slot for a page of the host's, whatever its class, and so may move pages and write parts
    /// of the discard map.
    #[cold]
    pub(super) fn make_slot(&mut self) -> Result<(), FtlError> {
        for _ in 0..=self.alloc.shape().segments {
            if self.alloc.has_slot()? {
                // A block that cannot even be retired may have been found.
                return self.alloc.writable();
            }
            if !self.gain()? {
                break;
            }
        }
        Err(self.alloc.worn_out())
    }

    /// The class that takes the next page of the engine's own meant for `wanted`, which ranks with the host's pages.
    pub(super) fn take_slot(&mut self, wanted: Class) -> Result<Class, FtlError> {
        // A free segment may turn out bad when it is opened. Then another one is gained, until there is none.
        loop {
            self.make_slot()?;
            if let Some(class) = self.alloc.find_slot(wanted, Purpose::Host)? {
                return Ok(class);
            }
        }
    }

    /// True if empty segments are erased now, and not only when the host is idle (FSAF '09, section 4.3). With
    /// `at-once` it is always true. Otherwise it is true if reclamation is due, or if cleaning would have to copy.
    fn takes_empties(&mut self) -> bool {
        let Reclamation::Proactive { rule } = self.reclaim else { return true };
        let table = self.alloc.table();
        // Failed segments are not kept, because a mount would believe them.
        if table.unsound() > 0 {
            return true;
        }
        let now = Occupancy {
            dead_pages: self.alloc.index().dead().total(),
            pages: u64::from(table.good()) * u64::from(table.slots()),
            used_blocks: table.good().saturating_sub(self.alloc.free().total()),
            blocks: table.good(),
        };
        self.is_reclaiming = self.alloc.pool().has_empties() && rule.goes_on(self.is_reclaiming, now);
        self.is_reclaiming || self.trigger.wants_segments(self.free_segments(), self.is_cleaning)
    }

    /// True if there are empty segments that are kept for a while. They are erased before anything is copied.
    fn keeps_empties(&self) -> bool {
        self.reclaim != Reclamation::AtOnce && self.alloc.pool().has_empties()
    }

    fn has_work(&self) -> bool {
        // Each write to a read-only device has to come to `make_room`, which refuses it.
        self.alloc.writable().is_err()
            || self.trigger.wants_segments(self.free_segments(), self.is_cleaning)
            || self.job.is_some()
            || self.alloc.is_erasing()
            || self.alloc.is_wear_due()
            || self.alloc.table().unsound() > 0
            || self.alloc.pool().has_empties()
            || self.alloc.is_urgent()
    }

    /// Cleans for the next few host pages: moves the pages out of the victim that these have to pay for.
    ///
    /// A victim with v of N pages valid frees N − v pages. It has to be empty when the host has written as many, which
    /// takes ⌊v/(N−v)⌋ pages, or one more, for each host page. So cleaning keeps pace with the host's writes and does
    /// not come in bursts.
    fn pay(&mut self) -> Result<(), FtlError> {
        if self.job.is_none() {
            self.choose_job(Ground::Foreground)?;
        }
        let Some(job) = self.job else { return Ok(()) };
        if self.is_waiting(&job) {
            return Ok(());
        }
        let step = self.trigger.next_step(self.free_segments(), job.pace_pages, self.alloc.shape().slots);
        let paid_until = self.host_pages() + u64::from(step.host_pages);
        self.alloc.attention().rest_until(paid_until);
        self.clean_step(step.pages, Ground::Foreground)?;
        Ok(())
    }

    /// True while the cleaner has chosen a victim and has not woken up. If segments run out, it does not wait.
    fn is_waiting(&self, job: &Job) -> bool {
        job.not_before > self.host_pages() && !self.alloc.is_urgent()
    }

    /// Moves up to `budget_pages` pages, choosing victims as the policies say. Returns how many it moved.
    fn clean_step(&mut self, budget_pages: u32, ground: Ground) -> Result<u32, FtlError> {
        let mut left = budget_pages;
        while left > 0 {
            if self.job.is_none() {
                self.choose_job(ground)?;
            }
            let Some(job) = self.job else { break };
            if self.is_waiting(&job) {
                break;
            }
            let moved = self.move_pages(left)?;
            left -= moved;
            // A job that ends without a copy may have been left (`leave_victim`), and would be chosen again.
            if self.job.is_some() || moved == 0 {
                break;
            }
        }
        Ok(budget_pages - left)
    }

    /// Gains a segment for the host, if need be one of those held back for failures. False if there is none.
    #[cold]
    fn gain(&mut self) -> Result<bool, FtlError> {
        Ok(self.clean_urgently()? || self.alloc.hold_less())
    }

    /// Cleans for a segment, whatever the policies say. False if nothing can be gained.
    #[cold]
    fn clean_urgently(&mut self) -> Result<bool, FtlError> {
        let before = self.free_segments();
        // An empty segment costs no copies.
        if self.reclaim_one()? {
            return Ok(true);
        }
        if self.job.is_none() {
            self.choose_job(Ground::Foreground)?;
        }
        if self.job.is_none() {
            // Nothing can be emptied, but a segment may have become free: choosing may wait for an erase.
            return Ok(self.free_segments() > before);
        }
        // No pace is kept: the host page waits for this segment.
        while self.job.is_some() {
            self.move_pages(u32::MAX)?;
        }
        // The segment counts as free only when its erase has ended.
        self.alloc.finish_erase(true)?;
        Ok(true)
    }

    /// Empties and retires every segment in which a program failed, so that no mount finds superseded copies in one.
    /// Discards wait for this, because nothing else would mark an old copy there as dead.
    #[inline]
    pub(super) fn retire_failing(&mut self) -> Result<(), FtlError> {
        self.alloc.note_failures();
        if self.alloc.table().unsound() > 0 { self.empty_failing() } else { Ok(()) }
    }

    #[cold]
    fn empty_failing(&mut self) -> Result<(), FtlError> {
        for _ in 0..=2 * self.alloc.shape().segments {
            if self.alloc.table().unsound() == 0 {
                return Ok(());
            }
            if !self.gain()? {
                break;
            }
            self.alloc.note_failures();
        }
        Err(self.alloc.worn_out())
    }
}

/// In the background.
impl<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice> Cleaner<L, P, M, V, W> {
    /// Background work for an idle host: as in the foreground, but up to the idle mark. Returns true if there is more
    /// to do.
    pub(super) fn clean_in_background(&mut self, budget_pages: u32) -> Result<bool, FtlError> {
        if self.alloc.writable().is_err() {
            return Ok(false);
        }
        self.alloc.finish_erase(false)?;
        self.alloc.note_failures();
        let is_kept = self.keeps_empties();
        let is_taken = self.reclaim_empty()?;
        self.alloc.stats_mut().reclaimed_blocks += u64::from(is_taken && is_kept);
        let moved_pages = self.clean_step(budget_pages, Ground::Background)?;
        // The next host page finds out whether anything is left to do.
        self.alloc.attention().set_wanted(true);
        let goes_on = self.trigger.has_more_in_background(self.free_segments(), self.is_cleaning, moved_pages);
        Ok(self.job.is_some() || self.alloc.pool().has_empties() || goes_on)
    }
}

/// Choosing what to empty.
impl<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice> Cleaner<L, P, M, V, W> {
    /// Chooses a segment to empty: first one that must be rescued, then an urgent one, then one that the policies want.
    ///
    /// Where free segments are [urgent](Supply::Urgent), nothing is rescued. A segment whose data fades may be full, so
    /// that emptying it gains nothing, and one that has failed is not given back. A cut behind its last copies would
    /// have used up a free segment either way.
    fn choose_job(&mut self, ground: Ground) -> Result<(), FtlError> {
        let rescues = self.alloc.table().unsound() > 0 && !self.alloc.is_urgent();
        if self.alloc.log().unsettled().is_some() || rescues && self.alloc.log().has_tag_pages() {
            // A victim has all its tags on flash, unless there is no room. So has an open segment that becomes one.
            match self.alloc.pad_open() {
                Ok(()) | Err(FtlError::WornOut { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        if rescues {
            // An open segment would fade while it waits to be filled, so it is closed and can be chosen.
            self.alloc.abandon_unsound();
            if let Some(seg) = self.alloc.table().first_unsound() {
                return self.begin(seg, Reason::Rescue, 0);
            }
        }
        // A segment that is being erased will be free, so the policies are not overridden because of it.
        if self.alloc.is_urgent() && self.alloc.is_erasing() {
            self.alloc.finish_erase(true)?;
        }
        // Asked again: the erase that has just ended may have given one.
        let supply = self.supply();
        if supply == Supply::Urgent {
            self.alloc.keep_place_for_copies();
            let clock = self.alloc.index().clock().for_ages();
            if let Some(seg) = self.alloc.pool_mut().fewest_valid(clock, &mut self.rng) {
                self.begin(seg, Reason::Cleaning, 0)?;
                self.alloc.stats_mut().urgent_cleanings += 1;
            }
            return Ok(());
        }
        // One segment at a time: the next is chosen when the last has been erased (Kawaguchi '95, section 2.8).
        if self.alloc.is_erasing() || self.keeps_empties() {
            return Ok(());
        }
        if let Some(seg) = self.policy_victim(ground) {
            self.begin(seg, Reason::Cleaning, self.trigger.lag_pages())?;
        } else if self.alloc.is_wear_due() && supply == Supply::Enough {
            // Wear leveling opens a segment of its own class, so one more than the reserve has to be free.
            self.alloc.take_wear_due();
            if let Some(seg) = self.alloc.table().least_worn_with_data() {
                self.begin(seg, Reason::Wear, 0)?;
            }
        }
        Ok(())
    }

    /// The victim that the policies want cleaned now.
    fn policy_victim(&mut self, ground: Ground) -> Option<Seg> {
        let free = self.free_segments();
        self.is_cleaning = self.trigger.is_cleaning(ground, free, self.is_cleaning);
        if !self.is_cleaning {
            return None;
        }
        let seg = self.alloc.choose_victim(&mut self.rng)?;
        let index = self.alloc.index();
        self.trigger.accepts(free, || index.pool().score(seg, index.clock().for_ages())).then_some(seg)
    }

    fn begin(&mut self, victim: Seg, reason: Reason, lag_pages: u32) -> Result<(), FtlError> {
        assert!(self.job.is_none(), "one segment is emptied at a time");
        self.alloc.pool_mut().choose(victim);
        let valid = self.alloc.table().valid(victim);
        if reason == Reason::Cleaning {
            self.alloc.probe_mut().victim(victim.0, valid);
        }
        let table = self.alloc.table();
        self.job = Some(Job {
            victim,
            reason,
            cursor: 0,
            utilization: table.utilization(victim),
            copied_pages: 0,
            // A victim may be full: its data fades, or `random` or `d-choices` has drawn it.
            pace_pages: valid / (table.slots() - valid).max(1),
            not_before: self.host_pages() + u64::from(lag_pages),
        });
        // Wear leveling has a class of its own, so nobody is asked.
        if reason == Reason::Wear { Ok(()) } else { self.announce_victim(victim) }
    }

    /// Asks for a segment to be emptied out of turn, because its data fades.
    #[cold]
    pub(super) fn refresh(&mut self, seg: Seg) {
        self.alloc.pool_mut().distrust(seg, Health::Fading);
    }
}

/// Making room for the discard map.
impl<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice> Cleaner<L, P, M, V, W> {
    /// Writes the dirty parts of the discard map as host writes. Making a slot may clean, and so write them already.
    pub(super) fn write_discards(&mut self) -> Result<(), FtlError> {
        // A part no longer calls a page unmapped that was written since. It must not outlast that write.
        self.alloc.pad_open()?;
        for part in 0..self.discards.parts() {
            while self.discards.is_dirty(part) {
                let class = self.take_slot(Class(0))?;
                if self.discards.is_dirty(part) {
                    self.discards.put(part, class, &mut self.alloc)?;
                }
            }
        }
        Ok(())
    }

    /// Makes everything that superseded a page durable: discards are on flash, and no page that a later program could
    /// damage is the only new copy.
    pub(super) fn settle(&mut self) -> Result<(), FtlError> {
        if self.discards.dirty_parts() > 0 {
            self.write_discards()?;
        }
        self.alloc.pad_open()
    }

    /// Notes that a part of the discard map will change. An erase in the middle of cleaning has to write the dirty
    /// parts first, so they are half a segment at most. While free segments are scarce, only one part may be dirty,
    /// and it is written before anything is cleaned.
    pub(super) fn begin_discard(&mut self, part: u32) -> Result<(), FtlError> {
        if self.discards.is_dirty(part) {
            return Ok(());
        }
        let is_scarce = self.supply() < Supply::Enough;
        if self.discards.dirty_parts() >= if is_scarce { 1 } else { self.alloc.shape().slots / 2 } {
            self.write_discards()?;
        }
        if is_scarce {
            // While the part is clean, cleaning can erase without writing it. Once it is dirty, an erase needs a slot
            // first.
            self.make_room()?;
            self.take_slot(Class(0))?;
            // The next host page writes the part before anything is cleaned (`make_room`).
            self.alloc.attention().call();
        }
        self.discards.mark_dirty(part);
        Ok(())
    }

    /// Writes the parts of the discard map that do not know of all mapped pages, if there is room: a later mount knows
    /// then what is missing. All that they call mapped is durable.
    pub(super) fn record_growth(&mut self) -> Result<(), FtlError> {
        while let Some(part) = self.discards.next_grown() {
            match self.begin_discard(part).and_then(|()| self.make_room()).and_then(|()| self.settle()) {
                Ok(()) => {}
                // Without room the next mount knows less of what is lost, which is no reason to fail.
                Err(FtlError::WornOut { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
