//! Histories without decay, on the chips on which a cut erase may leave each page its own way, told with draws that
//! leave pages unevenly: most cuts a few of them, each its own way, and the others as they were. Few other draws do.

use std::iter;

use super::draws::Draws;
use super::words::Words;
use super::{History, SOURCES};
use crate::storm::seeds;

/// Draws with which an engine fails that lacks a rule (`cargo xtask canaries map-doubted lost-primary
/// second-without-room few-blocks`), and one, of `what_looks_like_a_replaced_block_gives_way`, that failed before these
/// rules came.
const LOST: [(&str, u64); 5] = [
    ("a_rescue_fades_while_it_is_looked_at", 463),
    ("what_looks_like_a_replaced_block_gives_way", 270),
    ("half_erased_blocks_give_way_to_the_rescue", 2765),
    ("half_erased_blocks_give_way_to_the_rescue", 25973),
    ("half_erased_blocks_give_way_to_the_rescue", 1226),
];

/// Histories of which a few draws fail, and one such draw. The book says what is known of them.
const OPEN: [(&str, u64); 9] = [
    ("a_rescue_fails_and_the_other_copy_is_erased", 75),
    ("zeros_behind_four_failures", 77),
    ("room_for_a_trusted_page_takes_its_other_copy", 430),
    ("the_erase_that_makes_room_fails", 430),
    ("copies_of_a_rescue_that_was_given_up", 712),
    ("one_of_two_copies_is_in_a_segment_in_erasure", 712),
    ("a_read_only_device_looks_for_the_header_of_the_original", 23),
    ("a_read_only_device_leaves_what_is_being_erased", 23),
    ("a_copy_whose_mark_an_erase_has_taken", 538),
];

impl History<'_> {
    fn tell_unevenly(&self, seeds: impl Iterator<Item = u64>) {
        let has_groups = self.setup.number("paired-pages") > 1;
        self.tell_with(seeds.map(|seed| (Draws::uneven(seed, has_groups), format!("with uneven seed {seed}"))));
    }

    /// The seeds that a list has of it.
    fn seeds_in(&self, list: &'static [(&str, u64)]) -> impl Iterator<Item = u64> {
        let name = self.name.to_owned();
        list.iter().filter(move |(of, _)| *of == name).map(|&(_, seed)| seed)
    }
}

/// Tells the histories of an engine, `least` at least.
fn tell_all(engine: &str, least: usize) {
    let is_told = |history: &History| {
        history.engine() == engine
            && history.can_be_told()
            && history.setup.has("mixed-erases")
            && !Words(history.steps).has("decay")
            && history.seeds_in(&OPEN).next().is_none()
    };
    let histories: Vec<History> = SOURCES.into_iter().flat_map(History::all).filter(is_told).collect();
    assert!(histories.len() >= least, "only {} histories can be told", histories.len());
    for history in histories {
        history.tell_unevenly((0..5 * seeds()).chain(history.seeds_in(&LOST)));
    }
}

#[test]
fn block_mapping() {
    tell_all("block", 32);
}

#[test]
fn page_mapping() {
    tell_all("page", 25);
}

#[test]
fn map_on_flash() {
    tell_all("paged", 7);
}

#[test]
#[ignore = "open: flushed pages are unreadable"]
fn open() {
    for (name, seed) in OPEN {
        let history = SOURCES.into_iter().flat_map(History::all).find(|history| history.name == name);
        history.expect("it is kept").tell_unevenly(iter::once(seed));
    }
}
