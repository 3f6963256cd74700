//! Empties a victim: its valid pages are copied in batches, each page to the open segment of its class.

use alloc::vec;

use wearwell_flash::ErrorKind;

use super::{BATCH_PAGES, Cleaner, Job, Reason};
use crate::addr::{Class, Lpn, Ppn, Seg};
use crate::clean::which::VictimChoice;
use crate::ftl::{FtlError, Probe};
use crate::page::allocator::Allocator;
use crate::page::discards::DiscardMap;
use crate::page::log::{Kind, Log, Source};
use crate::page::map::PageMap;
use crate::place::{ClassPlacement, Copied, PlaceChoice};

impl<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice> Cleaner<L, P, M, V, W> {
    /// Moves up to `budget` pages out of the job's victim. When none is left, erases the victim and ends the job.
    pub(super) fn move_pages(&mut self, budget: u32) -> Result<u32, FtlError> {
        // The job stays where it is, since copying it in and out costs more than a page.
        let Some(Job { victim, reason, mut cursor, .. }) = self.job else { return Ok(0) };
        let mut moved = 0;
        while moved < budget {
            let most = BATCH_PAGES.min((budget - moved) as usize);
            let (slots, lpns) = (&mut self.batch.slots[..most], &mut self.batch.lpns[..most]);
            // The host may have written pages of the victim since the last batch, so live ones are looked up for each.
            let found = self.alloc.gather_live(victim, cursor, slots, lpns)?;
            if found == 0 {
                break;
            }
            let ended = self.move_batch(victim, reason, found);
            // What was moved before the end of the batch is counted, also if it ended early.
            if self.batch.moved > 0 {
                cursor = self.batch.slots[self.batch.moved - 1] + 1;
                moved += self.count_copies(cursor);
            }
            match ended {
                Ok(()) => {}
                Err(FtlError::WornOut { .. }) if self.gain_for_copies()? => {}
                Err(FtlError::WornOut { .. }) if self.leave_victim(victim) => return Ok(moved),
                Err(error) => return Err(error),
            }
        }
        // The count decides and not the cursor: the host may have written the last pages itself.
        if self.alloc.table().valid(victim) == 0 {
            self.finish_job()?;
        }
        Ok(moved)
    }

    /// Counts what was moved of the batch, so that the job goes on at slot `cursor`. Returns how many pages it was.
    fn count_copies(&mut self, cursor: u32) -> u32 {
        let pages = self.batch.moved as u32;
        let Some(job) = &mut self.job else { return pages };
        job.cursor = cursor;
        job.copied_pages += pages;
        match job.reason {
            Reason::Cleaning => self.alloc.stats_mut().copied_pages += u64::from(pages),
            Reason::Wear | Reason::Rescue => self.alloc.stats_mut().wear_copies += u64::from(pages),
        }
        pages
    }

    /// Erases an empty segment, between two batches. False if there is none.
    ///
    /// Copies find no free segment only if the free ones turned out bad. If the discard map is dirty, no segment can be
    /// erased, because the map would have to be written first and would need a slot too.
    #[cold]
    fn gain_for_copies(&mut self) -> Result<bool, FtlError> {
        Ok(self.discards.dirty_parts() == 0 && self.reclaim_one()?)
    }

    /// If the victim itself has the only room that is left, it is filled up, and not emptied. True if it is so.
    #[cold]
    fn leave_victim(&mut self, victim: Seg) -> bool {
        let has_room = self.alloc.is_continuable(victim);
        if has_room {
            self.job = None;
            self.alloc.pool_mut().spare(victim);
        }
        has_room
    }

    fn finish_job(&mut self) -> Result<(), FtlError> {
        // The job is over, even if the erase has to wait: `reclaim` queues the victim as empty then.
        let Some(job) = self.job.take() else { return Ok(()) };
        if job.reason == Reason::Cleaning {
            self.alloc.stats_mut().cleanings += 1;
        }
        self.reclaim(job.victim, job.copied_pages)
    }

    /// Moves the first `found` pages of the batch in runs. A run is pages of one class that fit its open segment.
    fn move_batch(&mut self, victim: Seg, reason: Reason, found: usize) -> Result<(), FtlError> {
        let common = self.classify(victim, reason, found);
        self.batch.moved = 0;
        while self.batch.moved < found {
            let at = self.batch.moved;
            let wanted = common.unwrap_or(self.batch.classes[at]);
            let class = self.alloc.slot_for_copy(wanted)?;
            let open = self.alloc.open_segment(class);
            // A group may end before the segment does, with a tag page (`stop`).
            let room = (open.stop - open.next) as usize;
            let most = room.min(found - at);
            // A run ends with its open segment, or where the next page has another class.
            let same = match common {
                Some(_) => most,
                None => self.batch.classes[at..at + most].iter().take_while(|&&class| class == wanted).count(),
            };
            let (slots, lpns) = (&self.batch.slots[at..at + same], &self.batch.lpns[at..at + same]);
            let (copied, ended) = self.alloc.copy_run(victim, slots, lpns, class)?;
            tell_moved(&mut self.alloc, &self.discards, victim, &lpns[..copied]);
            self.batch.moved += copied;
            match ended {
                // After a failed program the segment was given up. The rest of the batch goes to another one.
                Ok(()) | Err(ErrorKind::ProgramFailed) => {}
                Err(ErrorKind::Uncorrectable) => {
                    let at = self.batch.moved;
                    self.move_unreadable(victim, self.batch.slots[at], self.batch.lpns[at], wanted)?;
                    self.batch.moved += 1;
                }
                Err(error) => return Err(FtlError::Chip(error)),
            }
        }
        Ok(())
    }

    /// Tells the placement which pages it will be asked for, if it wants to know.
    pub(super) fn announce_victim(&mut self, victim: Seg) -> Result<(), FtlError> {
        let alloc = &mut self.alloc;
        // Few placements look at victims, and the lists below take memory.
        if !alloc.placement().wants_victims() {
            return Ok(());
        }
        let valid = alloc.table().valid(victim) as usize;
        let (mut slots, mut lpns) = (vec![0; valid], vec![Lpn(0); valid]);
        let found = alloc.gather_live(victim, 0, &mut slots, &mut lpns)?;
        alloc.announce(victim, &lpns[..found]);
        Ok(())
    }

    /// The class that all pages of the batch go to. If there is none, the placement is asked for each page.
    fn classify(&mut self, victim: Seg, reason: Reason, found: usize) -> Option<Class> {
        let (alloc, batch) = (&mut self.alloc, &mut self.batch);
        // Wear leveling has a class of its own: resting data moves to a worn segment.
        let common = if reason == Reason::Wear { Some(Class::WEAR) } else { alloc.placement_mut().class_of_copies() };
        if common.is_some() {
            return common;
        }
        let device_utilization = alloc.index().utilization::<L>();
        let from = alloc.table().class(victim);
        let clock = alloc.index().clock().host_pages;
        let victim_utilization = self.job.map_or(0.0, |job| job.utilization);
        // The placement reads what it keeps of these pages together, so that the cache misses overlap.
        alloc.placement_mut().expect(&batch.lpns[..found]);
        for (class, &lpn) in batch.classes.iter_mut().zip(&batch.lpns[..found]) {
            *class = alloc.placement_mut().copied(Copied {
                lpn,
                clock,
                victim,
                from,
                victim_utilization,
                device_utilization,
            });
        }
        None
    }

    /// Moves a page that could not be read when it was copied. A part of the discard map is written again from the map.
    /// A host page is read a second time, unless the mount has kept it. If that fails, it is lost, and the loss is
    /// recorded so that reading it is an error.
    #[cold]
    fn move_unreadable(&mut self, victim: Seg, slot: u32, lpn: Lpn, wanted: Class) -> Result<(), FtlError> {
        if let Some(part) = self.discards.part_in(lpn) {
            self.discards.mark_dirty(part);
            // A part that knows of a write must not outlast it, as in `write_for_erase`.
            self.alloc.pad_open()?;
            // Only this part is written: the cleaner may be about to move others.
            return self.discards.write_part(part, &mut self.alloc);
        }
        let from = self.alloc.index().slots().page(victim, slot);
        // With tag pages, only the page's tag may be gone.
        let untagged = self.alloc.log().has_tag_pages().then_some(Rest::Untagged);
        // Spec P11.
        let kept = self.find_kept(lpn);
        let spares = self.spares_of(lpn, from).into_iter().map(Rest::Page);
        let mut rests = untagged.into_iter().chain(kept.map(Rest::Kept)).chain(spares).chain([Rest::Nothing]);
        let mut rest = Rest::Page(from);
        // Each turn that fails uses up a slot, or goes on to what is left else. So the loop ends.
        loop {
            let class = self.alloc.slot_for_copy(wanted)?;
            let alloc = &mut self.alloc;
            let (kind, source) = match rest {
                Rest::Page(at) => (Kind::Data, Source::Copy(at)),
                Rest::Kept(index) => (Kind::Data, Source::Host(&self.kept[index].data, self.kept[index].seq)),
                Rest::Untagged => (Kind::Data, Source::Again(from, alloc.take_seq())),
                // The record has a number of its own, so it counts before the page, should that be readable again.
                Rest::Nothing => (Kind::Lost, Source::Host(&[], alloc.take_seq())),
            };
            let appended = alloc.append(lpn, class, kind, source, from);
            match appended {
                Ok(to) => {
                    alloc.move_run(victim, &[slot], &[lpn], to)?;
                    alloc.close_if_full(class)?;
                    alloc.note_turn(class);
                    if rest == Rest::Nothing {
                        // Only now: with no slot for the record, the page may be readable the next time.
                        let is_new = alloc.index_mut().lost_mut().note(lpn);
                        alloc.stats_mut().lost_pages += u64::from(is_new);
                    } else {
                        tell_moved(&mut self.alloc, &self.discards, victim, &[lpn]);
                    }
                    return Ok(());
                }
                Err(ErrorKind::ProgramFailed) => alloc.note_turn(class),
                Err(ErrorKind::Uncorrectable) => {
                    let Some(next) = rests.next() else { return Err(FtlError::Chip(ErrorKind::Uncorrectable)) };
                    rest = next;
                }
                Err(error) => return Err(FtlError::Chip(error)),
            }
        }
    }
}

/// What may be left of a page that could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// The page, at this place.
    Page(Ppn),
    /// Its data, without its tag.
    Untagged,
    /// The page in memory.
    Kept(usize),
    Nothing,
}

/// Tells the probe which of the host's pages were moved out of a victim, if it wants to know.
fn tell_moved<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice>(
    alloc: &mut Allocator<L, P, M, V, W>,
    discards: &DiscardMap,
    victim: Seg,
    lpns: &[Lpn],
) {
    if !alloc.probe_mut().wants_moves() {
        return;
    }
    let mut of_host = lpns.iter().filter(|lpn| discards.part_in(**lpn).is_none());
    if let Some(page) = of_host.next() {
        let class = alloc.table().class(victim);
        // The first page is out of the iterator.
        alloc.probe_mut().moved(victim.0, class.0, 1 + of_host.count() as u32, page.0);
    }
}
