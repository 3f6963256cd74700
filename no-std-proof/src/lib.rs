//! Proves that wearwell's lower floors need no standard library: this static library brings its own panic handler
//! and allocator, which rustc refuses as soon as any crate below pulls `std` in, and a C program links and runs it.
#![no_std]

mod chip;

#[cfg(feature = "canary-std")]
extern crate std;

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicUsize, Ordering};

use wearwell::page::log::NandLog;
use wearwell::page::{Config, PageFtl, Policies};
use wearwell::{Ftl, Sectors, WriteHint};

const ARENA_BYTES: usize = 1 << 20;

/// Gives out an array from front to back, and takes nothing back.
struct Bump {
    arena: UnsafeCell<[u8; ARENA_BYTES]>,
    used: AtomicUsize,
}

// SAFETY: the arena is only reached through `alloc`, which gives every part of it to one caller.
unsafe impl Sync for Bump {}

// SAFETY: `alloc` returns null or memory of the layout's size and alignment inside the arena. The counter only
// grows, by an atomic exchange that covers exactly the bytes given out, so no two results overlap.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = self.arena.get().cast::<u8>();
        let mut used = self.used.load(Ordering::Relaxed);
        loop {
            let from = (start as usize + used).next_multiple_of(layout.align()) - start as usize;
            let end = from.saturating_add(layout.size());
            if end > ARENA_BYTES {
                return core::ptr::null_mut();
            }
            match self.used.compare_exchange_weak(used, end, Ordering::Relaxed, Ordering::Relaxed) {
                // SAFETY: `from` and `end` lie inside the arena, as was just checked.
                Ok(_) => return unsafe { start.add(from) },
                Err(now) => used = now,
            }
        }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static HEAP: Bump = Bump { arena: UnsafeCell::new([0; ARENA_BYTES]), used: AtomicUsize::new(0) };

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        fn abort() -> !;
    }
    // SAFETY: C's `abort` has no preconditions and does not return.
    unsafe { abort() }
}

/// Formats a small device, overwrites it several times so that it has to clean, mounts it again as after a power cut,
/// and reads it back.
///
/// Returns 0 if all is well, else the number of the step that failed.
#[unsafe(no_mangle)]
pub extern "C" fn wearwell_no_std_proof() -> i32 {
    match run() {
        Ok(()) => 0,
        Err(step) => step,
    }
}

fn run() -> Result<(), i32> {
    let config = Config { logical_pages: 64, policies: Policies::default(), seed: 1, endurance: 1000 };
    let log = NandLog::new(chip::Chip::new(), 1).map_err(|_| 1)?;
    let mut ftl = PageFtl::format(log, (), config).map_err(|_| 2)?;
    let sectors = u64::from(chip::PAGE_BYTES / 512);
    let page_at = |lpn: u32| Sectors { start: u64::from(lpn) * sectors, count: sectors };
    for pass in 0..8_u8 {
        for lpn in 0..64 {
            let page = [pass ^ lpn as u8; chip::PAGE_BYTES as usize];
            ftl.write(page_at(lpn * 13 % 64), &page, WriteHint::NONE).map_err(|_| 3)?;
        }
    }
    ftl.flush().map_err(|_| 4)?;
    if ftl.stats().erases == 0 {
        return Err(5);
    }
    let (mut ftl, _) = PageFtl::mount(ftl.into_log(), (), config).map_err(|_| 6)?;
    let mut page = [0; chip::PAGE_BYTES as usize];
    for lpn in 0..64 {
        ftl.read(page_at(lpn * 13 % 64), &mut page).map_err(|_| 7)?;
        if page.iter().any(|&byte| byte != 7 ^ lpn as u8) {
            return Err(8);
        }
    }
    Ok(())
}
