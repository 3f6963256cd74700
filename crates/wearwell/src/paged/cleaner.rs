//! The cleaner: one segment at a time, in steps that are paced by host pages.
//!
//! A victim's tags are read from its summary and sorted by logical page. Each page is looked up, so that each
//! translation page is read about once for a victim. What counts is appended elsewhere under a new number. So the
//! counts of valid pages and the ages of segments decide which one is emptied, and the map alone decides what may be
//! erased.

use wearwell_flash::{ErrorKind, Nand};

use super::PagedFtl;
use super::config::HELD_SEGMENTS;
use super::halt::Halt;
use super::map::LOST;
use super::place::StreamPlacement;
use super::store::Stream;
use super::table::Use;
use super::which::{Candidate, VictimWorth};
use crate::addr::{Lpn, Ppn, Seg};
use crate::page::log::{Kind, Tag};

/// Segments may differ by so many erases before resting data is moved.
const WEAR_SPREAD: u32 = 6;

/// Free segments beyond those held back: the host may open one if two are there, so that one is left for copies.
pub(super) const FREE_FOR_HOST: u32 = 2;

/// Free segments with which segments can be emptied.
pub(super) const FREE_TO_CLEAN: u32 = HELD_SEGMENTS + 1;
/// Fewer spare segments are cleaned for, beyond one for each stream of the host's: several may be full at once.
const CLEAN_BELOW: u32 = 2;
const CLEAN_WHEN_IDLE_BELOW: u32 = 4;

/// Most pages of resting data that are moved for a page of the host's. It frees nothing, so there is no hurry.
const RESTING_PAGES_A_STEP: u32 = 8;

/// A segment that is being emptied.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job {
    victim: Seg,
    /// The next of its pages to look up.
    next: usize,
    /// Pages to look up for each page of the host's, so that the victim is empty when the host has used up what it
    /// frees.
    pages_a_step: u32,
    /// Its data rests, and goes to a worn segment.
    rests: bool,
    /// Some of its pages are not known, because their tags cannot be read.
    has_gaps: bool,
    /// Parts had been gathered so often when the job began.
    gathered_parts: u32,
}

impl<N: Nand, V: VictimWorth, W: StreamPlacement> PagedFtl<N, V, W> {
    /// Cleans for the next page of the host's.
    pub(super) fn keep_up(&mut self) -> Result<(), Halt> {
        if self.job.is_none() && self.wants_cleaning(CLEAN_BELOW + W::HOST_STREAMS) {
            self.begin_job()?;
        }
        let Some(job) = self.job else { return Ok(()) };
        self.clean_step(job.pages_a_step)
    }

    pub(super) fn clean_in_background(&mut self, budget_pages: u32) -> Result<bool, Halt> {
        if self.store.read_only {
            return Ok(false);
        }
        if self.job.is_none() && self.wants_cleaning(CLEAN_WHEN_IDLE_BELOW + W::HOST_STREAMS) {
            self.begin_job()?;
        }
        self.clean_step(budget_pages)?;
        Ok(self.job.is_some())
    }

    fn wants_cleaning(&self, below: u32) -> bool {
        self.spare_segments() < below || self.fading.is_some() || self.first_failing().is_some()
    }

    /// Free segments beyond those that are held back.
    pub(super) fn spare_segments(&self) -> u32 {
        // Failures may have used up some of those that are held back.
        self.store.free_for_data().saturating_sub(self.store.held())
    }

    /// Cleans until that stream of the host's has room, and what is held back is there again.
    pub(super) fn make_slot(&mut self, stream: Stream) -> Result<(), Halt> {
        // Emptying a few victims gains a segment. More rounds than segments mean that nothing can be gained.
        for _ in 0..=2 * self.store.table.segments() {
            let has_room = self.store.has_room(stream);
            if has_room && self.store.has_held() {
                return Ok(());
            }
            if !has_room && self.spare_segments() >= FREE_FOR_HOST {
                self.store.open(stream, false)?;
                continue;
            }
            if self.job.is_none() && !self.begin_job()? {
                break;
            }
            // To the end of the victim, since the host waits for its segment.
            self.clean_step(u32::MAX)?;
        }
        if self.store.has_room(stream) { Ok(()) } else { Err(self.store.worn_out()) }
    }

    fn first_failing(&self) -> Option<Seg> {
        let table = &self.store.table;
        table.all().find(|&seg| table.used_for(seg) == Use::Failing && !table.is_of_map(seg))
    }

    /// Chooses a segment to empty. False if there is none.
    fn begin_job(&mut self) -> Result<bool, Halt> {
        let Some((victim, rests)) = self.choose()? else { return Ok(false) };
        self.begin(victim, rests)?;
        Ok(true)
    }

    fn choose(&mut self) -> Result<Option<(Seg, bool)>, Halt> {
        // These may give no segment back: one that failed is retired, and what fades or rests may be full.
        if self.spare_segments() >= FREE_FOR_HOST {
            let fading = self.fading.take().filter(|&seg| self.store.table.used_for(seg) == Use::Closed);
            if let Some(seg) = self.first_failing().or(fading) {
                return Ok(Some((seg, false)));
            }
            // Every other time at most: to move data that rests frees nothing.
            self.has_rested = !self.has_rested && self.most_rested().is_some();
            if let Some(seg) = self.most_rested().filter(|_| self.has_rested) {
                return Ok(Some((seg, true)));
            }
        }
        loop {
            if let Some(seg) = self.most_worth() {
                return Ok(Some((seg, false)));
            }
            // Older copies of the pages in the cache are not known yet.
            match self.map.cache.fullest(self.store.plan.per_part) {
                Some(part) => self.map.merge(part, &mut self.store)?,
                None => return Ok(self.first_failing().map(|seg| (seg, false))),
            }
        }
    }

    /// The segment that is worth most to the policy. Where segments are short, the emptiest one.
    fn most_worth(&self) -> Option<Seg> {
        let Self { store, .. } = self;
        let (table, slots, epoch) = (&store.table, store.slots.per_segment(), store.epoch(store.next_seq));
        let is_short = self.spare_segments() < FREE_FOR_HOST;
        let worth = |seg: Seg| {
            let (age, erases) = if is_short { (0, 0) } else { (table.age(seg, epoch), table.erases(seg)) };
            self.which.worth(&Candidate { slots, valid: table.valid(seg), age_halves: 2 * age + 1, erases })
        };
        let candidates = table.all().filter(|&seg| table.is_candidate(seg));
        candidates.max_by_key(|&seg| worth(seg)).filter(|&seg| table.valid(seg) < slots)
    }

    /// The least worn segment with data, if others are much more worn.
    fn most_rested(&self) -> Option<Seg> {
        let table = &self.store.table;
        let most = table.all().filter(|&seg| table.used_for(seg) != Use::Bad).map(|seg| table.erases(seg)).max()?;
        let candidates = table.all().filter(|&seg| table.is_candidate(seg));
        candidates.min_by_key(|&seg| table.erases(seg)).filter(|&seg| table.erases(seg) + WEAR_SPREAD < most)
    }

    /// Begins to empty a segment.
    fn begin(&mut self, victim: Seg, rests: bool) -> Result<(), Halt> {
        assert!(self.job.is_none(), "one segment is emptied at a time");
        let has_gaps = self.note_pages(victim)?;
        let (slots, valid) = (self.store.slots.per_segment(), self.store.table.valid(victim));
        // The count of valid pages may be too great, even greater than there are slots.
        let pages_a_step = match rests {
            true => RESTING_PAGES_A_STEP,
            false => slots.div_ceil(slots.saturating_sub(valid).max(1)),
        };
        let gathered_parts = self.map.gathered_parts;
        self.job = Some(Job { victim, next: 0, pages_a_step, rests, has_gaps, gathered_parts });
        Ok(())
    }

    /// Lists the pages of a segment in their order. True if some cannot be read.
    fn note_pages(&mut self, victim: Seg) -> Result<bool, Halt> {
        let Self { store, victims, .. } = self;
        victims.clear();
        let mut take = |slot: u32, tag: &Tag| {
            if tag.kind == Kind::Data {
                // Less code than a sort, or than an insertion in place. A segment has few pages.
                victims.push((tag.lpn, slot));
                let mut at = victims.len() - 1;
                while at > 0 && victims[at - 1] > victims[at] {
                    victims.swap(at - 1, at);
                    at -= 1;
                }
            }
        };
        Ok(store.log.each_tag(victim, &mut take)?)
    }

    /// Looks up so many pages of the victim, and moves those that count. Erases it behind the last.
    fn clean_step(&mut self, pages: u32) -> Result<(), Halt> {
        for _ in 0..pages {
            let Some(job) = &mut self.job else { return Ok(()) };
            let Some(&(lpn, slot)) = self.victims.get(job.next) else { break };
            let at = self.store.slots.page(job.victim, slot);
            self.weigh(lpn, at)?;
            // This comes last: if the page could not be moved, the next step looks at it again.
            if let Some(job) = &mut self.job {
                job.next += 1;
            }
        }
        match self.job {
            Some(job) if job.next >= self.victims.len() => self.finish(&job),
            _ => Ok(()),
        }
    }

    fn finish(&mut self, job: &Job) -> Result<(), Halt> {
        // Pages may be left to which no readable tag leads.
        let mut is_due = job.has_gaps || self.store.table.valid(job.victim) > 0;
        let mut gathered_parts = job.gathered_parts;
        loop {
            // Spec M7. What was discarded may have come back behind the step that looked it up, and is not counted.
            if is_due || self.map.gathered_parts != gathered_parts {
                self.find_rest(job.victim)?;
            }
            (is_due, gathered_parts) = (false, self.map.gathered_parts);
            // A mount finds out from newer pages that those of the victim are superseded, but not that one was
            // discarded. These may gather a part, too.
            self.map.settle(&mut self.store)?;
            self.map.secure(&mut self.store)?;
            if self.map.gathered_parts == gathered_parts {
                break;
            }
        }
        // Spec M5. What was copied here last may be suspect.
        if !self.store.has_empty() {
            self.store.secure_last()?;
        }
        // Every page was looked up. What is left of the count are copies whose successors were not known.
        self.store.table.set_valid(job.victim, 0);
        self.job = None;
        self.store.stats.cleanings += 1;
        self.store.erase(job.victim).map(|_| ())
    }

    /// Moves a page of the victim, if it counts.
    fn weigh(&mut self, lpn: Lpn, at: Ppn) -> Result<(), Halt> {
        let Self { map, store, .. } = self;
        if let Some(part) = map.part_in(lpn) {
            return if map.place_of(part) == at { map.merge(part, store) } else { Ok(()) };
        }
        if lpn.0 >= map.logical_pages() {
            return Ok(());
        }
        match map.cache.get(lpn) {
            Some(here) if here == at => {}
            // This copy left the count of valid pages when that became known.
            Some(_) if map.cache.is_known(lpn) => return Ok(()),
            Some(_) => {
                map.load(map.part_for(lpn), store)?;
                if map.entry(lpn) == at {
                    // The older copy is found, and must not be counted out once more when the part is merged.
                    map.cache.set_known(lpn);
                    store.lose(at);
                }
                return Ok(());
            }
            None => {
                map.load(map.part_for(lpn), store)?;
                if map.entry(lpn) != at {
                    return Ok(());
                }
            }
        }
        self.move_page(lpn, at)
    }

    /// Moves a page that counts. If it can no longer be read, it is lost.
    fn move_page(&mut self, lpn: Lpn, from: Ppn) -> Result<(), Halt> {
        if !self.try_move(lpn, from)? {
            self.store.stats.lost_pages += 1;
            self.map.move_to(lpn, from, LOST, &mut self.store);
        }
        Ok(())
    }

    /// Moves a page that counts. False if it cannot be read; there is room for its entry even then.
    fn try_move(&mut self, lpn: Lpn, from: Ppn) -> Result<bool, Halt> {
        // Before the page gets its number: a translation page that is written behind it has to have its entry.
        self.map.make_room(lpn, &mut self.store)?;
        loop {
            let stream = self.stream_for_copy()?;
            self.map.secure_for_data(&mut self.store)?;
            match self.store.append_copy(stream, lpn, from) {
                Ok(at) => {
                    self.store.stats.copied_pages += 1;
                    self.map.move_to(lpn, from, at, &mut self.store);
                    return Ok(true);
                }
                Err(ErrorKind::ProgramFailed) => {}
                Err(ErrorKind::Uncorrectable) => return Ok(false),
                Err(error) => {
                    self.map.doubt(lpn, &mut self.store)?;
                    return Err(error.into());
                }
            }
        }
    }

    /// The stream that takes a copy: one of the host's if no segment can be opened.
    fn stream_for_copy(&mut self) -> Result<Stream, Halt> {
        let rests = self.job.is_some_and(|job| job.rests);
        let store = &mut self.store;
        if store.has_room(Stream::Copy) {
            return Ok(Stream::Copy);
        }
        let of_host = Stream::HOST[..W::HOST_STREAMS as usize].iter().copied().find(|&stream| store.has_room(stream));
        // Translation pages are left theirs, and a mount the last one.
        if (store.free_for_data() > 1 || of_host.is_none()) && store.open(Stream::Copy, rests)? {
            return Ok(Stream::Copy);
        }
        of_host.ok_or_else(|| store.worn_out())
    }

    /// Finds what still counts in a victim whose tags do not show it: pages whose tags cannot be read are lost.
    #[cold]
    fn find_rest(&mut self, victim: Seg) -> Result<(), Halt> {
        // Translation pages that the victim holds are written anew, which moves them elsewhere. So are those that were
        // made anew: what is gone in the victim shows that their pages may be lost.
        for part in 0..self.store.plan.parts {
            if self.store.is_in(self.map.place_of(part), victim) || self.map.is_lost(part, &mut self.store)? {
                self.map.merge(part, &mut self.store)?;
            }
        }
        for lpn in (0..self.map.logical_pages()).map(Lpn) {
            let at = self.map.lookup(lpn, &mut self.store)?;
            if self.store.is_in(at, victim) {
                self.move_page(lpn, at)?;
            }
        }
        Ok(())
    }

    /// The data of a segment fades.
    pub(super) fn refresh(&mut self, seg: Seg) {
        if self.store.table.is_candidate(seg) {
            self.fading = Some(seg);
        }
    }
}
