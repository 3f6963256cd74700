//! The cleaner: one job at a time, in steps that a host page pays for.

use wearwell_flash::ErrorKind;

use super::PageFtl;
use super::allocate::{OpenSegment, Purpose};
use super::config::{SCARCE_BELOW, URGENT_BELOW, step_pages};
use super::log::{Kind, Log, Source};
use super::segments::SegState;
use crate::addr::{Class, Lpn, Ppn, Seg};
use crate::buffer::Buffered;
use crate::clean::reclaim::{Occupancy, ReclaimSpec};
use crate::clean::when::When;
use crate::clean::which::Which;
use crate::ftl::{FtlError, Probe};
use crate::place::{Copied, Place};

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

/// Pages that are moved together, so that the cache misses of their map entries overlap.
const BATCH_PAGES: usize = 32;

/// Pages of a victim, with where they are to go.
#[derive(Debug, Default)]
struct Batch {
    slots: [u32; BATCH_PAGES],
    lpns: [Lpn; BATCH_PAGES],
    classes: [Class; BATCH_PAGES],
}

/// A segment that is being emptied.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job {
    victim: Seg,
    reason: Reason,
    /// Slot to look at next.
    cursor: u32,
    /// Valid fraction when it was chosen.
    utilization: f64,
    /// Pages moved so far.
    copied_pages: u32,
    /// Pages to move for each host page, rounded down, so that the victim is empty when the host has used up
    /// what it frees.
    pace_pages: u32,
    /// The clock at which copying may begin (Kawaguchi's cleaner is a daemon that has to wake up).
    not_before: u64,
}

impl<L: Log, P: Probe> PageFtl<L, P> {
    /// What has to happen before the next host pages are taken: erases that ended are noted, empty segments erased,
    /// and cleaning goes on by its pace.
    ///
    /// Behind it a free segment is usable, and none of the host's pages mix with copies that a power cut would
    /// have to undo (see [`Purpose`]).
    pub(super) fn make_room(&mut self) -> Result<(), FtlError> {
        self.writable?;
        self.finish_erase(false)?;
        if self.dirty_count > 0 && self.free.usable() < SCARCE_BELOW {
            self.write_discards(Purpose::Host)?;
        }
        for _ in 0..2 {
            // An erase in the background is waited for only if free segments run out.
            if (self.erasing && self.free.usable() >= URGENT_BELOW) || !self.takes_empties() {
                break;
            }
            let is_taken = self.reclaim_empty()?;
            self.stats.reclaimed_blocks += u64::from(is_taken && self.reclaiming);
        }
        self.stats.urgent_pages += u64::from(self.free.usable() < URGENT_BELOW);
        self.pay()?;
        // A segment is gained by emptying a few; more rounds than segments mean that nothing can be.
        for round in 0.. {
            if self.free.usable() > 0 {
                break;
            }
            if round > 2 * self.shape.segments || !self.clean_urgently()? {
                return Err(self.worn_out());
            }
        }
        self.attention = self.has_work();
        // A block that cannot even be retired may have turned up.
        self.writable
    }

    /// True if empty segments are erased now, not only when the host is idle (FSAF '09, section 4.3): always; or when
    /// reclamation is due; or where there would be copying otherwise.
    fn takes_empties(&mut self) -> bool {
        let ReclaimSpec::Proactive(rule) = self.config.policies.reclaim else { return true };
        // What has failed is not kept: a mount would believe it.
        if self.urgent_segments > 0 {
            return true;
        }
        let good = self.segments.good();
        let now = Occupancy {
            dead_pages: self.dead.total(),
            pages: u64::from(good) * u64::from(self.shape.slots),
            used_blocks: good.saturating_sub(self.free.total()),
            blocks: good,
        };
        self.reclaiming = !self.empties.is_empty() && rule.goes_on(self.reclaiming, now);
        self.reclaiming || self.wants_segments()
    }

    /// True if empty segments are kept for a while. Then they are taken before anything is copied.
    fn keeps_empties(&self) -> bool {
        self.config.policies.reclaim != ReclaimSpec::AtOnce && !self.empties.is_empty()
    }

    /// True if there are so few free segments that the policy cleans.
    fn wants_segments(&self) -> bool {
        match self.when {
            When::Watermark { low, .. } => self.cleaning || self.free.usable() < low,
            When::Falling { n, .. } => self.free.usable() <= n,
        }
    }

    fn has_work(&self) -> bool {
        self.writable.is_err()
            || self.wants_segments()
            || self.job.is_some()
            || self.erasing
            || self.wear_due
            || self.urgent_segments > 0
            || !self.empties.is_empty()
            || self.free.usable() < URGENT_BELOW
    }

    /// Cleans for the next few host pages: moves as many pages out of the victim as these have to pay for.
    ///
    /// A victim with v of N pages valid frees N − v, so that it has to be empty when the host has written as
    /// many: ⌊v/(N−v)⌋ pages or one more for each. While fewer segments are free than cleaning is to keep, two
    /// more are moved, and twice as many when the reserve is touched. Cleaning thus goes along with the host's
    /// writes, a portion at a time, instead of coming in bursts.
    fn pay(&mut self) -> Result<(), FtlError> {
        if self.job.is_none() {
            self.choose_job()?;
        }
        let Some(job) = self.job else { return Ok(()) };
        if self.is_waiting(&job) {
            return Ok(());
        }
        let free = self.free.usable();
        let pages = match self.when {
            _ if free < URGENT_BELOW => 2 * job.pace_pages + 4,
            When::Watermark { low, .. } if free >= low => job.pace_pages.max(1),
            When::Watermark { .. } | When::Falling { .. } => job.pace_pages + 2,
        };
        let host_pages = (step_pages(self.shape.slots) / pages).max(1);
        self.next_step = self.clock + u64::from(host_pages);
        self.clean_step(pages * host_pages)?;
        Ok(())
    }

    /// True while the cleaner has chosen, and not woken up yet; it is not waited for when segments run out.
    fn is_waiting(&self, job: &Job) -> bool {
        job.not_before > self.clock && self.free.usable() >= URGENT_BELOW
    }

    /// Moves up to `budget_pages` pages, choosing victims as the policies say. Returns how many it moved.
    pub(super) fn clean_step(&mut self, budget_pages: u32) -> Result<u32, FtlError> {
        let mut left = budget_pages;
        while left > 0 {
            if self.job.is_none() {
                self.choose_job()?;
            }
            let Some(job) = self.job else { break };
            if self.is_waiting(&job) {
                break;
            }
            let moved = self.move_pages(left)?;
            left -= moved;
            if self.job.is_some() || moved == 0 {
                break;
            }
        }
        Ok(budget_pages - left)
    }

    /// Cleans until the host may open a segment, whatever the policies say. False if nothing can be gained.
    #[cold]
    pub(super) fn clean_urgently(&mut self) -> Result<bool, FtlError> {
        let before = self.free.usable();
        if self.reclaim_one()? {
            return Ok(true);
        }
        if self.job.is_none() {
            self.choose_job()?;
        }
        if self.job.is_none() {
            return Ok(self.free.usable() > before);
        }
        while self.job.is_some() {
            self.move_pages(u32::MAX)?;
        }
        self.finish_erase(true)?;
        Ok(true)
    }

    /// Finds something to empty: first what must be rescued, then what is urgent, then what the policies want.
    fn choose_job(&mut self) -> Result<(), FtlError> {
        let free = self.free.usable();
        if self.urgent_segments > 0 && self.free.total() > 0 {
            self.abandon_urgent();
            let ready = |s: &Seg| self.segments.urgent[s.index()] && self.segments.state[s.index()] == SegState::Closed;
            if let Some(seg) = self.segments.all().find(|s| ready(s) && self.segments.valid[s.index()] > 0) {
                self.begin(seg, Reason::Rescue, 0);
                return Ok(());
            }
        }
        // What is being erased will be free: the policies are not overridden for its sake.
        if free < URGENT_BELOW && self.erasing {
            self.finish_erase(true)?;
        }
        let free = self.free.usable();
        if free < URGENT_BELOW {
            if let Some(seg) = self.segments.fewest_valid() {
                self.begin(seg, Reason::Cleaning, 0);
            }
            return Ok(());
        }
        // One segment at a time: the next is chosen when the last has been erased (Kawaguchi '95, 2.8).
        if self.erasing {
            return Ok(());
        }
        if self.keeps_empties() {
            return Ok(());
        }
        if let Some((seg, lag_pages)) = self.policy_victim(free) {
            self.begin(seg, Reason::Cleaning, lag_pages);
        } else if self.wear_due && free > URGENT_BELOW {
            self.wear_due = false;
            if let Some(seg) = self.segments.least_worn_with_data() {
                self.begin(seg, Reason::Wear, 0);
            }
        }
        Ok(())
    }

    /// The victim that the policies want cleaned now, and how long to wait before.
    fn policy_victim(&mut self, free: u32) -> Option<(Seg, u32)> {
        let clock = self.age_clock();
        match self.when {
            When::Watermark { low, high, .. } => {
                self.cleaning = free < low || (self.cleaning && free < high);
                if !self.cleaning {
                    return None;
                }
                self.victims.best(&self.segments, clock, &mut self.rng).map(|seg| (seg, 0))
            }
            When::Falling { n, per_free_segment, lag_pages } => {
                if free > n {
                    return None;
                }
                let seg = self.victims.best(&self.segments, clock, &mut self.rng)?;
                let score = self.victims.score(seg, &self.segments, clock);
                // The paper's threshold reaches zero when no segment is free. Here it does when only the
                // reserve is, since below that the policy would no longer be asked.
                let wanted = free <= URGENT_BELOW || score > per_free_segment * f64::from(free);
                wanted.then_some((seg, lag_pages))
            }
        }
    }

    fn begin(&mut self, victim: Seg, reason: Reason, lag_pages: u32) {
        let i = victim.index();
        assert!(self.job.is_none() && self.segments.state[i] == SegState::Closed, "a closed segment, one at a time");
        assert!(self.segments.valid[i] > 0, "a segment without data is erased, not emptied");
        self.victims.removed(victim, &self.segments);
        self.segments.state[i] = SegState::Victim;
        if reason == Reason::Cleaning {
            self.probe.victim(victim.0, self.segments.valid[i]);
        }
        self.job = Some(Job {
            victim,
            reason,
            cursor: 0,
            utilization: self.segments.utilization(victim),
            copied_pages: 0,
            pace_pages: self.segments.valid[i] / (self.shape.slots - self.segments.valid[i]).max(1),
            not_before: self.clock + u64::from(lag_pages),
        });
    }

    /// Moves up to `budget` pages out of the job's victim; when none is left, erases it and ends the job.
    fn move_pages(&mut self, budget: u32) -> Result<u32, FtlError> {
        let Some(mut job) = self.job else { return Ok(0) };
        let mut batch = Batch::default();
        let mut moved = 0;
        while moved < budget {
            let most = BATCH_PAGES.min((budget - moved) as usize);
            let (slots, lpns) = (&mut batch.slots[..most], &mut batch.lpns[..most]);
            let found = self.map.gather_live(job.victim, job.cursor, slots, lpns);
            if found == 0 {
                break;
            }
            self.move_batch(&job, &mut batch, found)?;
            job.cursor = batch.slots[found - 1] + 1;
            moved += found as u32;
        }
        job.copied_pages += moved;
        match job.reason {
            Reason::Cleaning => self.stats.copied_pages += u64::from(moved),
            Reason::Wear | Reason::Rescue => self.stats.wear_copies += u64::from(moved),
        }
        self.job = Some(job);
        if self.segments.valid[job.victim.index()] == 0 {
            self.finish_job(job)?;
        }
        Ok(moved)
    }

    /// Moves the first `found` pages of a batch, run by run: pages of one class that fit its open segment.
    fn move_batch(&mut self, job: &Job, batch: &mut Batch, found: usize) -> Result<(), FtlError> {
        let alike = self.classify(job, batch, found);
        let mut at = 0;
        while at < found {
            let class = self.reserve(batch.classes[at], Purpose::Copy)?;
            let OpenSegment { seg, next } = self.open[class.index()];
            let room = (self.shape.slots - next) as usize;
            let most = room.min(found - at);
            let same = if alike {
                most
            } else {
                batch.classes[at..at + most].iter().take_while(|&&c| c == batch.classes[at]).count()
            };
            let (slots, lpns) = (&batch.slots[at..at + same], &batch.lpns[at..at + same]);
            let (appended, ended) = self.append_run(job.victim, slots, lpns, class);
            self.map.move_run(job.victim, &slots[..appended], &lpns[..appended], seg, next);
            self.moved(job.victim, seg, appended as u32);
            self.open[class.index()].next = next + appended as u32;
            self.close_if_full(class)?;
            at += appended;
            match ended {
                Ok(()) => {}
                Err(ErrorKind::ProgramFailed) => self.give_up(class),
                Err(ErrorKind::Uncorrectable) => {
                    match self.discards_in(batch.lpns[at]) {
                        Some(chunk) => self.rewrite_discards(chunk)?,
                        None => self.move_page(job.victim, batch.slots[at], batch.lpns[at], batch.classes[at])?,
                    }
                    at += 1;
                }
                Err(error) => return Err(FtlError::Chip(error)),
            }
        }
        Ok(())
    }

    /// Asks the placement for the class of each page of a batch. True if they have one in common.
    fn classify(&mut self, job: &Job, batch: &mut Batch, found: usize) -> bool {
        let common = if job.reason == Reason::Wear { Some(Class::WEAR) } else { self.placement.class_of_copies() };
        if let Some(class) = common {
            batch.classes = [class; BATCH_PAGES];
            return true;
        }
        let device_utilization = self.utilization();
        let from = self.segments.class[job.victim.index()];
        let (clock, victim_utilization) = (self.clock, job.utilization);
        for (class, &lpn) in batch.classes.iter_mut().zip(&batch.lpns[..found]) {
            *class = self.placement.copied(Copied { lpn, clock, from, victim_utilization, device_utilization });
        }
        false
    }

    /// Appends copies to the open segment of a class, which has room for them. Returns how many were, and what
    /// ended it.
    #[inline]
    fn append_run(&mut self, victim: Seg, slots: &[u32], lpns: &[Lpn], class: Class) -> (usize, Result<(), ErrorKind>) {
        let OpenSegment { seg, next } = self.open[class.index()];
        let (to, base) = (self.map.ppn(seg, next).0, self.map.ppn(victim, 0).0);
        for (index, (&slot, &lpn)) in slots.iter().zip(lpns).enumerate() {
            let from = Ppn(base + slot);
            let appended = self.log.append(Ppn(to + index as u32), lpn, class, Kind::Data, Source::Copy(from), from);
            if appended.is_err() {
                return (index, appended);
            }
        }
        (slots.len(), Ok(()))
    }

    /// Valid pages have moved from one segment to another.
    fn moved(&mut self, victim: Seg, to: Seg, pages: u32) {
        self.segments.valid[victim.index()] -= pages;
        self.segments.valid[to.index()] += pages;
        let newest = self.segments.newest[victim.index()].max(self.segments.newest[to.index()]);
        self.segments.newest[to.index()] = newest;
    }

    /// Moves one page of the host's, which may be unreadable.
    fn move_page(&mut self, victim: Seg, slot: u32, lpn: Lpn, wanted: Class) -> Result<(), FtlError> {
        let (class, seg, at) = self.append_copy(lpn, wanted, self.map.ppn(victim, slot))?;
        self.map.move_run(victim, &[slot], &[lpn], seg, at);
        self.moved(victim, seg, 1);
        self.close_if_full(class)
    }

    /// Appends a copy of the page at `from`. If that cannot be read its data is gone, and what remains is to
    /// record the loss, so that reading it is an error.
    #[inline]
    fn append_copy(&mut self, lpn: Lpn, wanted: Class, from: Ppn) -> Result<(Class, Seg, u32), FtlError> {
        let mut is_lost = false;
        loop {
            let class = self.reserve(wanted, Purpose::Copy)?;
            let appended = if is_lost {
                let seq = self.next_seq;
                self.next_seq = seq + 1;
                self.program(lpn, class, Kind::Lost, Source::Host(&[], seq), from)
            } else {
                self.program(lpn, class, Kind::Data, Source::Copy(from), from)
            };
            match appended {
                Ok((seg, slot)) => return Ok((class, seg, slot)),
                Err(ErrorKind::ProgramFailed) => {}
                Err(ErrorKind::Uncorrectable) if !is_lost => {
                    self.note_loss(lpn);
                    is_lost = true;
                }
                Err(error) => return Err(FtlError::Chip(error)),
            }
        }
    }

    fn finish_job(&mut self, job: Job) -> Result<(), FtlError> {
        self.job = None;
        if job.reason == Reason::Cleaning {
            self.stats.cleanings += 1;
        }
        self.reclaim(job.victim, job.copied_pages)
    }

    /// Background work for an idle host: as in the foreground, but on to the idle mark.
    pub(super) fn clean_in_background(&mut self, budget_pages: u32) -> Result<bool, FtlError> {
        if self.writable.is_err() {
            return Ok(false);
        }
        self.finish_erase(false)?;
        self.note_failures();
        let is_kept = self.keeps_empties();
        let is_taken = self.reclaim_empty()?;
        self.stats.reclaimed_blocks += u64::from(is_taken && is_kept);
        if let When::Watermark { low, high, idle } = self.when {
            self.when = When::Watermark { low: idle, high: idle, idle };
            let step = self.clean_step(budget_pages);
            self.when = When::Watermark { low, high, idle };
            step?;
            self.attention = true;
            return Ok(self.job.is_some() || !self.empties.is_empty() || (self.cleaning && self.free.usable() < idle));
        }
        let moved = self.clean_step(budget_pages)?;
        self.attention = true;
        Ok(moved > 0 || self.job.is_some() || !self.empties.is_empty())
    }
}
