//! The cleaner alone: it makes a slot for every page, and no page waits for more than it has to pay for.

use super::{Below, LOGICAL_PAGES, SEGMENTS, SLOTS, cleaner, put, valid};
use crate::random::Rng;

fn write(below: &mut Below, lpn: u32) {
    below.keep_up().expect("pages are invalid");
    let host_pages = &mut below.alloc_mut().index_mut().clock_mut().host_pages;
    *host_pages += 1;
    assert!(put(below, lpn), "a slot was made");
}

#[test]
fn every_page_gets_a_slot_however_often_all_are_written() {
    let mut below = cleaner();
    let mut rng = Rng::new(1);
    (0..LOGICAL_PAGES).for_each(|lpn| write(&mut below, lpn));
    for _ in 0..50 * SEGMENTS * SLOTS {
        write(&mut below, rng.below(LOGICAL_PAGES));
        assert_eq!(valid(&below), LOGICAL_PAGES);
    }
    assert!(below.alloc().stats().erases > u64::from(SEGMENTS));
}

#[test]
fn what_is_empty_is_erased_and_nothing_copied() {
    let mut below = cleaner();
    // In order, so that a segment is empty before the next one is needed.
    (0..20 * LOGICAL_PAGES).for_each(|page| write(&mut below, page % LOGICAL_PAGES));
    assert_eq!(below.alloc().stats().copied_pages, 0);
    assert!(below.alloc().stats().erases > 0);
}

#[test]
fn the_copies_of_a_victim_are_spread_over_the_pages_it_frees() {
    let mut below = cleaner();
    let mut rng = Rng::new(2);
    let mut most = 0;
    for _ in 0..2000 {
        let before = below.alloc().stats().copied_pages;
        write(&mut below, rng.below(LOGICAL_PAGES));
        most = most.max(below.alloc().stats().copied_pages - before);
    }
    assert!(below.alloc().stats().copied_pages > 100, "victims were emptied");
    assert!(most < u64::from(SLOTS), "no page waited for a whole victim, but one for {most}");
}

#[test]
fn an_idle_device_is_cleaned_up_to_a_mark() {
    let mut below = cleaner();
    let mut rng = Rng::new(3);
    (0..500).for_each(|_| write(&mut below, rng.below(LOGICAL_PAGES)));
    let free = below.alloc().free().usable();
    let mut calls = 0;
    while below.clean_in_background(1).expect("nothing fails") {
        calls += 1;
        assert!(calls < 1000, "it comes to an end");
    }
    assert!(below.alloc().free().usable() > free);
    assert_eq!(valid(&below), LOGICAL_PAGES, "nothing is lost");
}
