//! A mount by the checkpoint: what is known is entered, and nothing is scanned.
//!
//! The checkpoint counts for this mount only. If the power is cut in what follows, the next one scans, and must find
//! discarded what this one has shown as discarded. So a part of the discard map that cannot be read any more is written
//! again before anything is served.

use super::{Log, MountError, Recovery};
use crate::addr::{Lpn, Ppn};
use crate::clean::which::VictimChoice;
use crate::ftl::Probe;
use crate::page::PageFtl;
use crate::page::checkpoint::Checkpoint;
use crate::page::config::IMPLAUSIBLE_CLOCK;
use crate::page::found::unless_worn_out;
use crate::page::log::checkpoint_bytes::{Row, Usage};
use crate::place::{ClassPlacement, Found as FoundPage, PlaceChoice};

/// The mapped pages of a checkpoint, each with its place.
fn mapped(known: &Checkpoint) -> impl Iterator<Item = (Lpn, Ppn)> {
    (0..).map(Lpn).zip(known.places.iter().copied()).filter(|(_, place)| place.is_some())
}

impl<L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> Recovery<'_, L, P, V, W> {
    /// Enters what the checkpoint says. False, and nothing has changed, if there is none that counts.
    // Not inline: a mount that scans has no use for what this takes of the stack.
    #[inline(never)]
    pub(super) fn take_checkpoint(&mut self) -> Result<bool, MountError> {
        let entries = self.newest.len() as u32;
        match Checkpoint::read(self.alloc.log_mut(), entries, self.page)? {
            Some(known) => self.take_known(&known),
            None => Ok(false),
        }
    }

    /// Enters what a checkpoint says. False, and nothing has changed, if it contradicts itself.
    fn take_known(&mut self, known: &Checkpoint) -> Result<bool, MountError> {
        // All is checked before anything is entered: if it is refused, the mount scans into the same tables.
        if !self.is_sound(known) {
            return Ok(false);
        }
        for (seg, row) in self.alloc.table().all().zip(&known.rows) {
            let table = self.alloc.pool_mut().table_mut();
            table.set_erases(seg, row.erases);
            match row.usage {
                Usage::Free => {}
                Usage::Suspect => table.suspect(seg),
                Usage::Bad => table.retire(seg),
                Usage::InUse(class) => table.enter_in_use(seg, class, row.opened),
            }
            (0..row.dead).for_each(|_| self.alloc.index_mut().dead_mut().add(seg));
        }
        for (lpn, place) in mapped(known) {
            self.alloc.index_mut().repoint(lpn, place);
        }
        self.alloc.index_mut().clock_mut().host_pages = known.host_pages;
        // Spec P12: the mark has taken the greatest number, and the checkpoint shares it.
        self.alloc.number_from(known.seq + 1);
        self.alloc.enter_clean_mark(known.mark);
        // The rows name the free segments that are suspect, so the others are erased throughout.
        self.segments.trusts_free = true;
        self.outcome.report.clean = true;
        // As a scan would count it: the segment of the mark has no summary.
        self.outcome.report.open_segments = 1;
        self.place_segments();
        self.tell_placement_of_segments(known);
        self.list_known_parts()?;
        Ok(true)
    }

    /// Tells the placement when the segment of each page was opened, as it stands in the table: no later than now. The
    /// checkpoint has no tags, and reading them would be a scan. So a page that was copied counts as written at its
    /// copy.
    fn tell_placement_of_segments(&mut self, known: &Checkpoint) {
        let (placement, index) = self.alloc.placement_and_index();
        let written = |place| index.pool().table().opened(index.slots().segment_of(place));
        placement.found(&mut mapped(known).map(|(lpn, place)| FoundPage { lpn, written: written(place) }));
    }

    /// Lists the parts of the discard map that cannot be read.
    fn list_known_parts(&mut self) -> Result<(), MountError> {
        for part in 0..self.discards.parts() {
            let lpn = self.discards.page_of(part);
            let at = self.place_of(lpn);
            if at.is_some() && !self.holds(at, lpn)? {
                self.outcome.known_parts.push(part);
            }
        }
        Ok(())
    }

    /// True if its clocks may be believed, each place is in a segment in use, no two pages have the same, and the
    /// mark's segment holds none.
    fn is_sound(&self, known: &Checkpoint) -> bool {
        if known.host_pages >= IMPLAUSIBLE_CLOCK || known.seq >= IMPLAUSIBLE_CLOCK {
            return false;
        }
        let slots = self.alloc.shape().slots;
        // A bit for each slot: of two pages in one, the map could only find one.
        let mut taken = alloc::vec![0_u64; (known.rows.len() * slots as usize).div_ceil(64)];
        let is_used = |row: &Row| matches!(row.usage, Usage::InUse(_));
        let is_held = |at: u32| {
            let seg = at / slots;
            known.rows.get(seg as usize).is_some_and(is_used) && seg != known.mark.0
        };
        let places_are_sound = known.places.iter().filter(|at| at.is_some()).all(|at| {
            let (word, bit) = ((at.0 / 64) as usize, 1 << (at.0 % 64));
            // `is_held` comes first: a place beyond the chip has no bit in `taken`.
            let is_new = is_held(at.0) && taken[word] & bit == 0;
            if is_new {
                taken[word] |= bit;
            }
            is_new
        });
        places_are_sound && known.rows.get(known.mark.index()).is_some_and(is_used)
    }
}

impl<L: Log, P: Probe, V: VictimChoice, W: PlaceChoice> PageFtl<L, P, V, W> {
    /// Writes parts of the discard map again that are lost, and makes them durable.
    pub(super) fn write_parts(&mut self, lost: &[u32]) -> Result<(), MountError> {
        if lost.is_empty() {
            return Ok(());
        }
        let cleaner = &mut self.cleaner;
        lost.iter().for_each(|&part| cleaner.discards_mut().mark_dirty(part));
        cleaner.alloc_mut().note_damage();
        // Parts take slots like pages of the host's, so the cleaner makes room first.
        unless_worn_out(cleaner.make_room().and_then(|()| cleaner.settle()))
    }
}
