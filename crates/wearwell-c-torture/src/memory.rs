//! Memory: from the arena of a disk while a call works on it, from the system otherwise.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::arena::FromArena;

/// A call of the library is running, and none of its callbacks. There is one thread.
static IS_INSIDE: AtomicBool = AtomicBool::new(false);

fn with<T>(is_inside: bool, work: impl FnOnce() -> T) -> T {
    let before = IS_INSIDE.swap(is_inside, Ordering::Relaxed);
    let done = work();
    IS_INSIDE.store(before, Ordering::Relaxed);
    done
}

/// Runs a call of the library.
pub(crate) fn inside<T>(call: impl FnOnce() -> T) -> T {
    with(true, call)
}

/// Runs what a callback does.
pub(crate) fn outside<T>(callback: impl FnOnce() -> T) -> T {
    with(false, callback)
}

struct Memory;

#[global_allocator]
static MEMORY: Memory = Memory;

// SAFETY: both allocators keep this contract, and nothing moves between them: a disk frees only in calls, and callbacks
// keep nothing that they were given.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the contract of this function.
        unsafe { if IS_INSIDE.load(Ordering::Relaxed) { FromArena.alloc(layout) } else { System.alloc(layout) } }
    }

    unsafe fn dealloc(&self, given: *mut u8, layout: Layout) {
        // SAFETY: the contract of this function, and nothing moves between the allocators.
        unsafe {
            if IS_INSIDE.load(Ordering::Relaxed) {
                FromArena.dealloc(given, layout);
            } else {
                System.dealloc(given, layout);
            }
        }
    }
}
