//! The memory that a placement says it keeps is what it allocates. A device of 24,000 segments shows a byte of each.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use wearwell::Placement;
use wearwell::place::{ClassPlacement, PlaceChoice, Shape};

std::thread_local! {
    /// Bytes that this thread has allocated and not freed. Other threads are those of the test harness.
    static HELD: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: each call is handed on as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.set(HELD.get() + layout.size() as isize);
        // SAFETY: the contract of this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, given: *mut u8, layout: Layout) {
        HELD.set(HELD.get() - layout.size() as isize);
        // SAFETY: the contract of this function.
        unsafe { System.dealloc(given, layout) }
    }
}

/// Lists of a few entries, which grow with neither pages nor segments.
const SMALL_LISTS: isize = 4096;

#[test]
fn a_placement_counts_what_it_allocates() {
    for (name, _) in Placement::LIST {
        let name = name.split([':', ' ']).next().expect("a name");
        let place = Placement::parse(name).expect(name);
        for (logical_pages, segments) in [(1 << 14, 300), (1 << 20, 24_000)] {
            let before = HELD.get();
            let placer = place.build(Shape { logical_pages, segments, slots: 64 });
            let (held, said) = (HELD.get() - before, placer.table_bytes() as isize);
            assert!(
                (said..=said + SMALL_LISTS).contains(&held),
                "{name}: {held} bytes for {logical_pages} pages in {segments} segments, and says {said}"
            );
        }
    }
}
