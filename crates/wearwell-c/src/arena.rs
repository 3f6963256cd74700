//! All memory of a disk comes from its arena.
//!
//! While a call works on a disk, [`enter`] makes the disk's heap the one that the global allocator serves from. A disk
//! frees its allocations only in later calls on itself, so no memory moves between arenas. A call on a second disk from
//! a callback of the first one is served from the second arena; after it, the first arena is current again.
//!
//! The current heap is one static, so calls must not overlap. A program with threads takes a lock around all calls.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, Ordering};

use linked_list_allocator::Heap;

/// The heap of one arena.
pub(crate) struct ArenaHeap {
    heap: Heap,
    peak_bytes: usize,
}

impl ArenaHeap {
    /// Makes a heap of the `bytes` bytes from `start` on.
    ///
    /// # Safety
    /// The bytes belong to the heap alone, as long as it is used.
    pub(crate) unsafe fn new(start: *mut u8, bytes: usize) -> Self {
        let mut heap = Heap::empty();
        // SAFETY: the contract of this function.
        unsafe { heap.init(start, bytes) };
        Self { heap, peak_bytes: 0 }
    }

    /// The most bytes in use at any time.
    pub(crate) const fn peak_bytes(&self) -> usize {
        self.peak_bytes
    }
}

/// The heap of the disk that a call works on. Null between calls.
static CURRENT: AtomicPtr<ArenaHeap> = AtomicPtr::new(ptr::null_mut());

/// Runs `work` with memory from `heap`.
///
/// # Safety
/// The heap exists until `work` returns, nobody else uses it, and no other thread is in a call.
pub(crate) unsafe fn enter<T>(heap: *mut ArenaHeap, work: impl FnOnce() -> T) -> T {
    // Two plain accesses, because the smallest cores have no atomic exchange.
    let before = CURRENT.load(Ordering::Relaxed);
    CURRENT.store(heap, Ordering::Relaxed);
    let done = work();
    // A panic does not unwind, so nothing passes this by.
    CURRENT.store(before, Ordering::Relaxed);
    done
}

/// The allocator of the library.
pub(crate) struct FromArena;

// SAFETY: memory comes from a `Heap`, which keeps this contract. If no heap is set, allocations fail.
unsafe impl GlobalAlloc for FromArena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the contract of `enter` the heap exists and nobody else uses it. It is not borrowed beyond this
        // call.
        let Some(arena) = (unsafe { CURRENT.load(Ordering::Relaxed).as_mut() }) else { return ptr::null_mut() };
        let given = arena.heap.allocate_first_fit(layout);
        // Memory is taken only here, so that the most that was ever used is seen here.
        arena.peak_bytes = arena.peak_bytes.max(arena.heap.used());
        given.map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, given: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`.
        let arena = unsafe { CURRENT.load(Ordering::Relaxed).as_mut() };
        if let (Some(arena), Some(given)) = (arena, NonNull::new(given)) {
            // SAFETY: `given` came from this heap with this layout: a disk frees what it allocated.
            unsafe { arena.heap.deallocate(given, layout) };
        }
    }
}
