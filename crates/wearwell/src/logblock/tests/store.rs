//! The store alone: who gets which segment, and what a failure costs.

use super::{DATA, SEGMENTS, fail_next, merger};
use crate::addr::Lpn;
use crate::logblock::addr::Lbn;
use crate::logblock::store::Use;
use crate::logblock::{Role, TagRead};

#[test]
fn a_segment_is_free_again_once_it_is_erased() {
    let mut store = merger().store;
    let seg = store.take(false).expect("one is free");
    assert_eq!((store.used(seg), store.free_segments()), (Use::Taken, SEGMENTS - 1));
    store.use_as_data(seg, Lbn(2));
    assert_eq!(store.used(seg), Use::Data(Lbn(2)));
    store.release(seg).expect("nothing fails");
    assert_eq!((store.used(seg), store.erases(seg), store.free_segments()), (Use::Free, 1, SEGMENTS));
}

#[test]
fn a_segment_in_which_a_program_failed_is_retired_without_an_erase() {
    let mut below = merger();
    let seg = below.store.take(false).expect("one is free");
    fail_next(&mut below);
    let store = &mut below.store;
    let error = store.program(store.page_in(seg, 0), &DATA, Lpn(0), Role::LogHead).expect_err("it fails");
    assert_eq!(store.note_failure(seg, error), Ok(Ok(())), "the command goes on");
    assert_eq!((store.used(seg), store.condemned()), (Use::Taken, &[seg][..]), "what is in it may be needed");
    store.release(seg).expect("only the program fails");
    assert_eq!((store.used(seg), store.condemned()), (Use::Bad, &[][..]));
    assert_eq!((store.good_segments(), store.stats.erases), (SEGMENTS - 1, 0));
}

#[test]
fn each_page_gets_a_number_of_its_own() {
    let mut store = merger().store;
    let seg = store.take(false).expect("one is free");
    let mut last = 0;
    for page in 0..3 {
        let at = store.page_in(seg, page);
        store.program(at, &DATA, Lpn(page), Role::Plain).expect("nothing fails");
        let TagRead::Tag(tag) = store.tag(at).expect("nothing fails") else { panic!("it was programmed") };
        assert!(tag.lpn == Lpn(page) && tag.seq > last);
        last = tag.seq;
    }
}

#[test]
fn nothing_is_erased_behind_the_mark_of_a_clean_shutdown() {
    let mut store = merger().store;
    let seg = store.take(false).expect("one is free");
    store.leave_mark().expect("nothing fails");
    assert!(store.has_clean_mark());
    store.prepare().expect("nothing fails");
    assert_eq!((store.has_clean_mark(), store.free_segments()), (false, SEGMENTS - 1), "the mark's segment is free");
    store.release(seg).expect("the mark is gone");
}

#[test]
#[should_panic(expected = "the mark of a clean shutdown goes first")]
fn an_erase_behind_the_mark_panics() {
    let mut store = merger().store;
    let seg = store.take(false).expect("one is free");
    store.leave_mark().expect("nothing fails");
    store.release(seg).expect("it panics before that");
}
