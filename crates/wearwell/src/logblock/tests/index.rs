//! The index alone: what a log block counts follows from the map.

use wearwell_flash::ProgramOrder;

use super::{BLOCKS, PAGES, SEGMENTS, config};
use crate::addr::{Lpn, Ppn, Seg};
use crate::logblock::addr::Lbn;
use crate::logblock::in_place::InPlace;
use crate::logblock::index::{BlockIndex, Copies};
use crate::logblock::pages::PagesShape;
use crate::logblock::{Recycling, Scheme};
use crate::random::Rng;

const SHAPE: PagesShape =
    PagesShape { segments: SEGMENTS, pages: PAGES, page_bytes: 512, group: 1, order: ProgramOrder::Ascending };

/// The invariant of the log blocks: they count the entries of the map that point into them.
fn check(index: &BlockIndex) {
    for (_, log) in index.logs().all() {
        let places = (0..BLOCKS).flat_map(|lbn| (0..=PAGES).map(move |offset| (Lbn(lbn), offset)));
        let first = log.seg.0 * PAGES;
        let is_there =
            |&(lbn, offset): &(Lbn, u32)| (first..first + PAGES).contains(&index.map().logged(lbn, offset).0);
        assert_eq!(log.live as usize, places.filter(is_there).count(), "{log:?}");
    }
}

#[test]
fn a_log_block_counts_the_newest_pages_in_it() {
    let mut index = BlockIndex::new(&config(Scheme::Fast), SHAPE, true);
    let mut rng = Rng::new(3);
    for seg in (0..6).map(Seg) {
        let id = index.open_log(seg, None);
        while index.logs().has_room(id) {
            let lpn = Lpn(rng.below(BLOCKS * PAGES));
            match rng.below(6) {
                0 => index.append_record(id, index.map().split(lpn).0),
                1 if index.map().is_mapped(lpn) => index.unmap(lpn),
                2 => index.forget_overlay(index.map().split(lpn).0),
                _ => index.append(id, lpn),
            }
            check(&index);
        }
    }
    assert!(index.logs().all().any(|(_, log)| log.live > 0));
}

#[test]
fn a_log_block_in_order_becomes_the_data_block() {
    let mut index = BlockIndex::new(&config(Scheme::LogBlock(Recycling::MergeOnly)), SHAPE, true);
    let id = index.open_log(Seg(8), Some(Lbn(1)));
    for lpn in (PAGES..2 * PAGES).map(Lpn) {
        assert!(index.logs().get(id).is_prefix());
        index.append(id, lpn);
    }
    assert_eq!(index.adopt(Lbn(1), Seg(8)), None);
    assert_eq!((index.logs().len(), index.map().data(Lbn(1))), (0, Some(Seg(8))));
    assert_eq!(index.map().lookup(Lpn(PAGES + 2)), Ppn(8 * PAGES + 2), "it lies in its place now");
    assert_eq!(index.adopt(Lbn(1), Seg(9)), Some(Seg(8)), "the next merge frees it");
}

#[test]
fn a_log_block_that_moves_takes_its_pages_along() {
    let mut index = BlockIndex::new(&config(Scheme::LogBlock(Recycling::MergeOnly)), SHAPE, true);
    let id = index.open_log(Seg(8), Some(Lbn(0)));
    [2, 2, 0, 2].into_iter().for_each(|lpn| index.append(id, Lpn(lpn)));
    let copies = Copies { pages: 2, has_record: false };
    assert_eq!(index.move_log(Lbn(0), id, Seg(3), &[Lpn(0), Lpn(2)], copies), Seg(8));
    assert_eq!([0, 2].map(|lpn| index.map().lookup(Lpn(lpn))), [Ppn(3 * PAGES), Ppn(3 * PAGES + 1)]);
    let log = index.logs().get(id);
    assert_eq!((log.live, log.next, log.in_order, log.migrations), (2, 2, 1, 1));
    check(&index);
}

#[test]
fn places_behind_which_nothing_is_programmed_can_be() {
    for (order, between) in [(ProgramOrder::Ascending, false), (ProgramOrder::Any, true)] {
        let mut in_place = InPlace::new(true, BLOCKS, PagesShape { order, ..SHAPE });
        in_place.open(Lbn(2));
        in_place.fill(Lbn(2), 0);
        in_place.fill(Lbn(2), 2);
        assert_eq!([0, 1, 2, 3].map(|offset| in_place.can_program(Lbn(2), offset)), [false, between, false, true]);
        assert_eq!((in_place.end_of(Lbn(2)), in_place.programmed_in(Lbn(2))), (3, 2));
        in_place.close(Lbn(2));
        assert!(!in_place.has_room(Lbn(2)) && in_place.has_room(Lbn(1)));
        assert_eq!(in_place.take_unpadded(), None, "no pages share cells here");
    }
}
