//! The merger alone: what becomes of the blocks of a logical block.

use super::{BLOCKS, Below, DATA, PAGES, SEGMENTS, fail_next, merger};
use crate::addr::Lpn;
use crate::logblock::addr::{Lbn, LogId};
use crate::logblock::merger::MergeCause;
use crate::logblock::store::Use;

/// A log block of a logical block, with these pages in it.
fn log(below: &mut Below, lbn: u32, offsets: &[u32]) -> LogId {
    let id = below.open_log(Some(Lbn(lbn))).expect("there is room");
    for offset in offsets {
        assert!(below.append(id, Lpn(lbn * PAGES + offset), &DATA).expect("nothing fails"));
    }
    id
}

#[test]
fn a_merge_leaves_one_block_and_erases_the_others() {
    let mut below = merger();
    log(&mut below, 1, &[3, 0, 3]);
    below.merge(Lbn(1), MergeCause::Recycle).expect("nothing fails");
    let data = below.index.map().data(Lbn(1)).expect("it has a data block");
    assert_eq!(below.store.used(data), Use::Data(Lbn(1)));
    assert_eq!((below.index.logs().len(), below.store.free_segments()), (0, SEGMENTS - 1));
    assert_eq!((below.store.stats.copied_pages, below.store.stats.merges), (2, 1));
}

#[test]
fn a_log_block_in_order_needs_no_copy() {
    let mut below = merger();
    let id = log(&mut below, 0, &[0, 1]);
    let seg = below.index.logs().get(id).seg;
    [2, 3].into_iter().for_each(|lpn| assert!(below.append(id, Lpn(lpn), &DATA).expect("nothing fails")));
    assert_eq!((below.index.map().data(Lbn(0)), below.store.used(seg)), (Some(seg), Use::Data(Lbn(0))));
    assert_eq!((below.store.stats.switch_merges, below.store.stats.copied_pages), (1, 0));
}

#[test]
fn a_program_that_fails_costs_the_block_and_no_page() {
    let mut below = merger();
    let id = log(&mut below, 2, &[1]);
    let seg = below.index.logs().get(id).seg;
    fail_next(&mut below);
    assert!(!below.append(id, Lpn(2 * PAGES), &DATA).expect("the failure is dealt with"));
    assert_eq!(below.store.used(seg), Use::Bad);
    let at = below.index.map().lookup(Lpn(2 * PAGES + 1));
    assert!(at.is_some() && below.store.segment_of(at) != seg, "what was there has moved");
}

#[test]
fn a_logical_block_without_a_page_has_no_block() {
    let mut below = merger();
    for lbn in 0..BLOCKS {
        log(&mut below, lbn, &[1]);
        below.index.unmap(Lpn(lbn * PAGES + 1));
        below.merge(Lbn(lbn), MergeCause::Recycle).expect("nothing fails");
        assert!(below.index.map().is_nowhere(Lbn(lbn)));
    }
    assert_eq!(below.store.free_segments(), SEGMENTS);
}
