//! The allocator alone: who gets which slot, and what a failure costs.

use alloc::vec;

use wearwell_emu::{EmuChip, Faults};

use super::{HOST, SEGMENTS, SLOTS, cleaner, put, valid};
use crate::addr::Lpn;
use crate::page::allocator::Purpose;
use crate::segments::{Health, SegState};

#[test]
fn the_host_leaves_a_segment_for_cleaning() {
    let mut below = cleaner();
    let held = below.alloc().free().held();
    let mut written = 0;
    while put(&mut below, written % 4) {
        written += 1;
    }
    assert_eq!(written, (SEGMENTS - held - 1) * SLOTS, "the host fills all segments but one");
    assert_eq!(below.alloc().free().usable(), 1);
    let copies = below.alloc_mut().find_slot(HOST, Purpose::Copy).expect("nothing fails");
    assert_eq!(copies, Some(HOST), "a copy may open the last one");
    assert_eq!(below.alloc().free().usable(), 0);
}

#[test]
fn a_page_is_found_where_it_was_written_last() {
    let mut below = cleaner();
    for _ in 0..=SLOTS {
        assert!(put(&mut below, 3));
    }
    let at = below.alloc().index().place_of(Lpn(3));
    let open = below.alloc().open_segment(HOST);
    assert_eq!(at, below.alloc().index().slots().page(open.seg, 0), "the last one went to a new segment");
    assert_eq!(valid(&below), 1);
}

#[test]
fn a_failed_program_costs_its_segment_and_no_page() {
    let mut below = cleaner();
    assert!(put(&mut below, 0));
    let first = below.alloc().open_segment(HOST).seg;
    let chip = below.alloc_mut().log_mut().chip_mut();
    let next_op = chip.ops();
    chip.set_faults(Faults { fail_ops: vec![next_op], ..Faults::default() });
    assert!(!put(&mut below, 0), "the program fails");
    assert!(!below.alloc().has_room(HOST), "its segment takes no more");
    assert_eq!(below.alloc().table().state(first), SegState::Closed(Health::Failing));
    assert_eq!(
        below.alloc().index().slots().segment_of(below.alloc().index().place_of(Lpn(0))),
        first,
        "the old copy counts"
    );
    assert!(put(&mut below, 0), "the page goes elsewhere");
    assert_eq!(below.alloc().table().valid(first), 0);
}

#[test]
fn an_erase_gives_the_segment_back_and_counts() {
    let mut below = cleaner();
    for page in 0..SLOTS {
        assert!(put(&mut below, page));
    }
    let first = below.alloc().table().all().find(|&seg| below.alloc().table().valid(seg) == SLOTS).expect("it is full");
    for page in 0..SLOTS {
        assert!(put(&mut below, page));
    }
    let (free, erases) = (below.alloc().free().total(), below.alloc().table().erases(first));
    below.alloc_mut().pool_mut().take_this_empty(first);
    below.alloc_mut().erase_empty(first, 0).expect("nothing fails");
    assert_eq!(below.alloc().free().total(), free + 1);
    assert_eq!((below.alloc().table().erases(first), below.alloc().table().state(first)), (erases + 1, SegState::Free));
}

#[test]
#[should_panic(expected = "only an empty segment is erased")]
fn a_segment_with_data_is_not_erased() {
    let mut below = cleaner();
    assert!(put(&mut below, 0));
    let seg = below.alloc().open_segment(HOST).seg;
    below.alloc_mut().abandon(HOST);
    below.alloc_mut().erase_empty(seg, 0).expect("it panics before that");
}
