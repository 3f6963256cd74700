//! DOGI (Kim, Oh and others '26) without its neural network: groups by predicted life.
//!
//! A page's category is the life that its next version is expected to have. A table of counts predicts it from the
//! last life and from the number of the last windows in which the page was written ([lives]). A page whose last life
//! was very short is hot. The hot pages and all groups but the last are queues: a segment that was opened long enough
//! ago is the victim, however full. If there is none, the victim comes from the last group and from the frozen pages,
//! by the victim policy in force. Pages that were not updated for some passes are frozen when they are copied.
//!
//! How many groups there are, and which categories they hold, follows the host: from survival curves of each category,
//! a [model](groups) predicts the write amplification of all divisions.
//!
//! Four things are not as in the paper. The curves follow survivors through all queues, and count what is valid in a
//! queue while it waits, not only at its end. A survivor goes to the first queue in which half of its like die, by its
//! age. Copies out of the last group have a class of their own, and are cleaned with it. The bound of hot pages stays
//! what the paper begins with.
//!
//! On NAND a mount that scans knows the ages of pages; behind a checkpoint a copied page counts as written at its copy.
//! Everything else is lost then, and when the policy is put in force: it begins with one group, and learns for two
//! passes. At the end of a window a bit of every page is cleared, and the search for the oldest segment looks at all.
//! So the policy suits simulations, and devices of some ten thousand segments.

mod groups;
mod lives;

use alloc::vec;
use alloc::vec::Vec;

use super::last_writes::LastWrites;
use super::{ClassPlacement, Copied, Found, HostWrite, Opened, Shape, Wanted};
use crate::addr::{Class, Lpn, Seg};
use crate::segments::{SegState, Segments};
use groups::{Groups, Load, MOST_GROUPS};
use lives::{HOT_CELL, Lives, UNKNOWN_CELL};

/// Copies of pages that were not updated for long.
const FROZEN: Class = Class(MOST_GROUPS as u8 + 2);

/// Logical pages for each host page that a hot page's last life may have had: 200,000 of 33.5 million in the paper.
const PAGES_FOR_HOT_LIFE: u64 = 168;

/// Windows in which writes are remembered, and host pages of each in percent of the logical pages: 40 million of 33.5
/// million in all.
const WINDOWS: u32 = 8;
const WINDOW_PERCENT: u64 = 15;

/// Host pages between two divisions into groups, divided by the logical pages.
const DIVISION_PASSES: u64 = 2;

/// Host pages after which a page has to be updated again not to be frozen, divided by the logical pages.
const FROZEN_PASSES: u64 = 6;

/// The flag of a page that was updated, beside its cell.
const UPDATED: u8 = 0x80;

/// Takes 6 bytes a page and 10 a segment, and 15 KiB for counts.
#[derive(Debug, Clone)]
pub struct Dogi {
    shape: Shape,
    writes: LastWrites,
    /// The windows in which each page was written.
    windows: Vec<u8>,
    /// The features of each page at its last write, and [`UPDATED`].
    cells: Vec<u8>,
    lives: Lives,
    groups: Groups,
    /// The class of each segment, and the clock when it was opened.
    class: Vec<Class>,
    opened: Vec<u64>,
    clock: u64,
    /// Host pages since the policy is in force.
    host_pages: u64,
    is_division_due: bool,
}

impl Dogi {
    pub fn new(shape: Shape) -> Self {
        let (pages, segments) = (shape.logical_pages as usize, shape.segments as usize);
        Self {
            shape,
            writes: LastWrites::new(shape.logical_pages),
            windows: vec![0; pages],
            cells: vec![UNKNOWN_CELL; pages],
            lives: Lives::new(shape.logical_pages),
            groups: Groups::one(),
            class: vec![FROZEN; segments],
            opened: vec![0; segments],
            clock: 0,
            host_pages: 0,
            is_division_due: false,
        }
    }

    /// The hot pages, the groups, copies out of the last of them, and the frozen pages.
    pub fn classes() -> u32 {
        MOST_GROUPS as u32 + 3
    }

    fn hot_life(&self) -> u64 {
        u64::from(self.shape.logical_pages) / PAGES_FOR_HOT_LIFE
    }

    fn window(&self) -> u32 {
        let pages = (u64::from(self.shape.logical_pages) * WINDOW_PERCENT / 100).max(1);
        (self.host_pages / pages % u64::from(WINDOWS)) as u32
    }

    /// Notes that the host writes a page, and what ends with that.
    fn count_page(&mut self, clock: u64) {
        let before = self.window();
        self.clock = clock;
        self.host_pages += 1;
        let window = self.window();
        // The bit was last used eight windows ago.
        if window != before {
            self.windows.iter_mut().for_each(|windows| *windows &= !(1 << window));
        }
        let pages = u64::from(self.shape.logical_pages);
        self.is_division_due |= self.host_pages.is_multiple_of(DIVISION_PASSES * pages);
        // Each page has to be updated again, or its copies are frozen.
        if self.host_pages.is_multiple_of(FROZEN_PASSES * pages) {
            self.cells.iter_mut().for_each(|cell| *cell &= !UPDATED);
        }
    }

    fn cell(&self, lpn: Lpn) -> u8 {
        self.cells[lpn.0 as usize] & !UPDATED
    }

    /// The end of a version of a page, and how long it lived; none if that is not known.
    fn end_life(&mut self, lpn: Lpn, clock: u64) -> Option<u64> {
        let life = self.writes.age(lpn, clock)?;
        self.lives.note_death(self.cell(lpn), life);
        Some(life)
    }

    fn divide(&mut self, segments: &Segments) {
        let load = Load {
            segments: f64::from(self.shape.segments),
            slots: f64::from(self.shape.slots),
            valid_pages: segments.all().map(|seg| f64::from(segments.valid(seg))).sum(),
            hot_stay: self.hot_life() as f64,
        };
        // Segments keep their classes, which may be other groups now. Pages go to theirs when they are copied.
        self.groups = Groups::best(&self.lives, load).unwrap_or_else(Groups::one);
        self.lives.fade();
        self.is_division_due = false;
    }
}

impl ClassPlacement for Dogi {
    fn host(&mut self, write: HostWrite<'_>) -> Class {
        self.count_page(write.clock);
        let page = write.lpn.0 as usize;
        let life = write.old.and_then(|_| self.end_life(write.lpn, write.clock));
        let is_hot = life.is_some_and(|life| life < self.hot_life());
        // The features are those before this write, so it is not among the windows yet.
        let cell = if is_hot { HOT_CELL } else { self.lives.cell(life, self.windows[page].count_ones()) };
        // A first write, also one after a discard, is no update.
        let updated = if write.old.is_some() { UPDATED } else { 0 };
        self.windows[page] |= 1 << self.window();
        self.cells[page] = cell | updated;
        self.writes.note(write.lpn, write.clock);
        let category = self.lives.predict(cell);
        self.lives.note_write(category);
        Class(self.groups.of(category))
    }

    fn copied(&mut self, copy: Copied) -> Class {
        if self.cells[copy.lpn.0 as usize] & UPDATED == 0 {
            FROZEN
        } else if copy.from.0 >= self.groups.last() {
            // Frozen pages that were updated since, and those of wear leveling, go with the copies of the last group.
            Class(self.groups.behind_last())
        } else {
            let category = self.lives.predict(self.cell(copy.lpn));
            // A page of unknown age counts as old as the device.
            let age = self.writes.age(copy.lpn, copy.clock).unwrap_or(copy.clock);
            Class(self.groups.behind(category, copy.from.0, age as f64))
        }
    }

    fn opened(&mut self, segment: Opened) {
        self.class[segment.seg.index()] = segment.class;
        self.opened[segment.seg.index()] = segment.clock;
    }

    fn found(&mut self, pages: &mut dyn Iterator<Item = Found>) {
        self.writes.note_found(pages);
    }

    fn discarded(&mut self, lpn: Lpn) {
        self.end_life(lpn, self.clock);
    }

    fn has_a_say_in_victims() -> bool {
        true
    }

    fn victim(&mut self, segments: &Segments) -> Wanted {
        // Now and not in `host`: the model needs the valid pages of all segments.
        if self.is_division_due {
            self.divide(segments);
        }
        for (queue, &stay) in self.groups.stays().iter().enumerate() {
            let is_due = |seg: &Seg| {
                let (class, age) = (self.class[seg.index()], self.clock.saturating_sub(self.opened[seg.index()]));
                usize::from(class.0) == queue && age as f64 > stay
            };
            // Segments without valid pages are erased without being victims.
            let has_data = |seg: &Seg| matches!(segments.state(*seg), SegState::Closed(_)) && segments.valid(*seg) > 0;
            let due = segments.all().filter(is_due).filter(has_data);
            if let Some(oldest) = due.min_by_key(|&seg| segments.closed(seg)) {
                return Wanted::This(oldest);
            }
        }
        Wanted::Among
    }

    fn may_take(&self, seg: Seg) -> bool {
        self.class[seg.index()].0 >= self.groups.last()
    }

    fn table_bytes(&self) -> u64 {
        let page_bytes = self.windows.len() + self.cells.len();
        let segment_bytes = (size_of::<Class>() + size_of::<u64>()) * self.class.len();
        self.writes.table_bytes()
            + self.lives.table_bytes()
            + self.groups.table_bytes()
            + (page_bytes + segment_bytes) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::{Ppn, Slots};
    use crate::ftl::WriteHint;
    use crate::place::OldCopy;

    const SHAPE: Shape = Shape { logical_pages: 1000, segments: 8, slots: 4 };

    fn write(place: &mut Dogi, lpn: u32, clock: u64) -> u8 {
        let slots = Slots::new(SHAPE.slots);
        let segments = Segments::new(SHAPE.segments, SHAPE.slots);
        let old = OldCopy::new(Ppn(0), &slots, &segments);
        place.host(HostWrite { lpn: Lpn(lpn), hint: WriteHint::NONE, clock, old }).0
    }

    /// Categories up to 8 % of the pages in a queue, the others behind it.
    fn with_a_queue() -> Dogi {
        let mut place = Dogi::new(SHAPE);
        place.groups =
            Groups::cut(0b1000, &place.lives, Load { segments: 8.0, slots: 4.0, valid_pages: 20.0, hot_stay: 5.0 });
        place
    }

    #[test]
    fn pages_go_by_their_last_life_as_long_as_nothing_is_known() {
        let mut place = with_a_queue();
        let classes = [100, 104, 184, 265].map(|clock| write(&mut place, 7, clock));
        assert_eq!(classes, [2, 0, 1, 2], "unknown, hot, within 8 %, longer");
        assert_eq!([0, 1].map(|lpn| write(&mut Dogi::new(SHAPE), lpn, 1)), [1, 1], "one group at the beginning");
    }

    #[test]
    fn copies_go_on_and_pages_without_updates_are_frozen() {
        let mut place = with_a_queue();
        write(&mut place, 7, 100);
        let copy = |lpn, class| Copied { lpn: Lpn(lpn), clock: 150, ..Copied::out_of(Class(class)) };
        assert_eq!(
            [(7, 1), (8, 1), (7, 2), (7, Class::WEAR.0)].map(|(lpn, class)| place.copied(copy(lpn, class)).0),
            [2, 8, 3, 3]
        );
        place.host_pages = FROZEN_PASSES * u64::from(SHAPE.logical_pages) - 1;
        write(&mut place, 8, 151);
        assert_eq!(place.copied(copy(7, 1)), FROZEN, "its flag was cleared");
        assert!(place.is_division_due);
    }

    #[test]
    fn the_oldest_segment_of_a_queue_is_taken_when_its_time_is_up() {
        let mut place = with_a_queue();
        let mut table = Segments::new(SHAPE.segments, SHAPE.slots);
        for (seg, class, clock) in [(0, 2, 0), (1, 1, 4), (2, 1, 8), (3, 8, 12)] {
            let (seg, class) = (Seg(seg), Class(class));
            table.open(seg, class, clock);
            place.opened(Opened { seg, class, clock });
            (0..SHAPE.slots).for_each(|_| table.gain(seg, clock));
            table.close(seg, clock + 4);
        }
        for (clock, wanted) in [(84, Wanted::Among), (85, Wanted::This(Seg(1))), (500, Wanted::This(Seg(1)))] {
            place.clock = clock;
            assert_eq!(place.victim(&table), wanted, "{clock}");
        }
        assert_eq!([0, 1, 2, 3].map(|seg| place.may_take(Seg(seg))), [true, false, false, true]);
    }
}
