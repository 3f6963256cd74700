//! Proves that wearwell's `no_std` crates need no standard library: this static library brings its own panic handler
//! and allocator, which rustc refuses as soon as any crate below pulls `std` in, and a C program links and runs it.
#![no_std]

mod chip;

#[cfg(feature = "canary-std")]
extern crate std;

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicUsize, Ordering};

use wearwell::logblock::{BlockConfig, Costs, Recycling, Scheme, TaggedPages};
use wearwell::page::PageConfig;
use wearwell::page::log::NandLog;
use wearwell::{BlockDevice, BlockFtl, Config, Inspect, PageFtl, Reclamation, Sectors, WearLeveling, WriteHint};
use wearwell_aware::Aware;

const LOGICAL_PAGES: u32 = 64;
const PASSES: u8 = 8;

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
    with_page_mapping()?;
    with_block_mapping().map_err(|step| 100 + step)
}

fn with_page_mapping() -> Result<(), i32> {
    let config = Config::new(LOGICAL_PAGES);
    #[cfg(feature = "every-policy")]
    let config = config.which(wearwell::VictimPolicy::Greedy).place(wearwell::Placement::Single);
    let config = PageConfig { logical_pages: LOGICAL_PAGES, policies: config.policies, seed: 1, endurance: 1000 };
    let log = NandLog::new(chip::Chip::new(), 1).map_err(|_| 1)?;
    let mut ftl = Aware::new(PageFtl::format(log, (), config).map_err(|_| 2)?, wearwell_aware::Config::DEFAULT);
    write_all(&mut ftl)?;
    let (ftl, _) = PageFtl::mount(ftl.into_inner().into_log(), (), config).map_err(|_| 6)?;
    check_all(&mut Aware::new(ftl, wearwell_aware::Config::DEFAULT))
}

fn with_block_mapping() -> Result<(), i32> {
    let config = BlockConfig {
        logical_pages: LOGICAL_PAGES,
        scheme: Scheme::LogBlock(Recycling::DEFAULT),
        log_blocks: 3,
        reclaim: Reclamation::AtOnce,
        wear: WearLeveling::None,
        costs: Costs::LEE_TABLE_1,
        endurance: 1000,
    };
    let pages = TaggedPages::new(chip::Chip::new(), 1).map_err(|_| 1)?;
    let mut ftl = BlockFtl::format(pages, (), config).map_err(|_| 2)?;
    write_all(&mut ftl)?;
    let (mut ftl, _) = BlockFtl::mount(ftl.into_pages(), (), config).map_err(|_| 6)?;
    check_all(&mut ftl)
}

/// Place of the `n`th page written.
fn page_at(n: u32) -> Sectors {
    let sectors = u64::from(chip::PAGE_BYTES / 512);
    Sectors { start: u64::from(n * 13 % LOGICAL_PAGES) * sectors, count: sectors }
}

/// Writes every page several times.
fn write_all(ftl: &mut (impl BlockDevice + Inspect)) -> Result<(), i32> {
    for pass in 0..PASSES {
        for n in 0..LOGICAL_PAGES {
            let page = [pass ^ n as u8; chip::PAGE_BYTES as usize];
            ftl.write(page_at(n), &page, WriteHint::NONE).map_err(|_| 3)?;
        }
    }
    ftl.flush().map_err(|_| 4)?;
    if ftl.stats().erases == 0 { Err(5) } else { Ok(()) }
}

/// Reads every page back.
fn check_all(ftl: &mut impl BlockDevice) -> Result<(), i32> {
    let mut page = [0; chip::PAGE_BYTES as usize];
    for n in 0..LOGICAL_PAGES {
        ftl.read(page_at(n), &mut page).map_err(|_| 7)?;
        if page.iter().any(|&byte| byte != (PASSES - 1) ^ n as u8) {
            return Err(8);
        }
    }
    Ok(())
}
