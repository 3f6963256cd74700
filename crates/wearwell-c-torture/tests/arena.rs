//! A disk of the C library allocates nothing outside its arena, from the format to the unmount.
//!
//! As in the torture, the sources of the library are modules here. The torture serves every allocation of a call from
//! an arena, whether the library asks for that or not. Here only the library does: what it allocates while it has
//! entered no arena, or beyond what the arena holds, is counted.

// The names follow C.
#![allow(non_camel_case_types)]
// The library exports them.
#![allow(unreachable_pub)]

extern crate alloc;

#[path = "../../wearwell-c/src/arena.rs"]
mod arena;
#[path = "../../wearwell-c/src/calls.rs"]
mod calls;
#[path = "../../wearwell-c/src/driver.rs"]
mod driver;
#[path = "../../wearwell-c/src/error.rs"]
mod error;
#[path = "../../wearwell-c/src/open.rs"]
mod open;

use core::ffi::{c_int, c_void};
use core::ops::Range;
use core::{ptr, slice};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use wearwell::{BlockAddr, Nand, NandGeometry, PageAddr, RamNand, Rng};

use arena::FromArena;
use calls::*;
use driver::*;
use error::ww_error::{self, WW_OK};
use open::{ww_disk, ww_mount_report};

const GEOMETRY: NandGeometry = NandGeometry { blocks: 64, ..RamNand::SMALL };
const PAGES: u32 = 1400;
const CACHE_ENTRIES: u32 = 16;
const PAGE_BYTES: usize = GEOMETRY.page_bytes as usize;

std::thread_local! {
    /// This thread is in a call. Other threads are those of the test harness.
    static IS_CALL: Cell<bool> = const { Cell::new(false) };
    /// Allocations of calls.
    static FROM_ARENA: Cell<u32> = const { Cell::new(0) };
    static ELSEWHERE: Cell<u32> = const { Cell::new(0) };
    /// The addresses of the arena.
    static ARENA: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: both allocators keep this contract, and memory is freed where it came from.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if IS_CALL.get() {
            // SAFETY: the contract of this function. No other thread is in a call.
            let given = unsafe { FromArena.alloc(layout) };
            if !given.is_null() {
                FROM_ARENA.set(FROM_ARENA.get() + 1);
                return given;
            }
            ELSEWHERE.set(ELSEWHERE.get() + 1);
        }
        // SAFETY: the contract of this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, given: *mut u8, layout: Layout) {
        let (start, end) = ARENA.get();
        // SAFETY: the contract of this function.
        unsafe {
            if IS_CALL.get() && (start..end).contains(&given.addr()) {
                FromArena.dealloc(given, layout);
            } else {
                System.dealloc(given, layout);
            }
        }
    }
}

/// Runs a call of the library. Returns what it returns, and how often it allocated outside an arena.
fn counted<T>(call: impl FnOnce() -> T) -> (T, u32) {
    let before = ELSEWHERE.get();
    IS_CALL.set(true);
    let done = call();
    IS_CALL.set(false);
    (done, ELSEWHERE.get() - before)
}

/// Runs a call that succeeds, and allocates nothing outside the arena.
fn call(what: &str, call: impl FnOnce() -> ww_error) {
    assert_eq!(counted(call), (WW_OK, 0), "{what}: its result, and allocations outside the arena");
}

/// A chip, an arena of exactly the bytes that the library asks for, and the disk in it.
struct Rig {
    driver: ww_driver,
    /// None: the map is in memory.
    cache_entries: Option<u32>,
    arena: Vec<u8>,
    disk: *mut ww_disk,
}

impl Rig {
    fn new(chip: &mut RamNand, cache_entries: Option<u32>) -> Self {
        let NandGeometry { page_bytes, spare_bytes, pages_per_block, blocks, dies, paired_pages, .. } = GEOMETRY;
        let geometry = ww_geometry { page_bytes, spare_bytes, pages_per_block, blocks, dies, paired_pages };
        let driver = ww_driver {
            context: ptr::from_mut(chip).cast(),
            geometry,
            read: Some(read),
            program: Some(program),
            copy: None,
            erase: Some(erase),
            is_bad: Some(is_bad),
            mark_bad: Some(mark_bad),
        };
        // SAFETY: the geometry is valid.
        let (bytes, elsewhere) = counted(|| unsafe {
            match cache_entries {
                Some(entries) => ww_arena_bytes_paged(&raw const geometry, PAGES, entries),
                None => ww_arena_bytes(&raw const geometry, PAGES),
            }
        });
        assert_eq!(elsewhere, 0, "there is no arena yet, and none is needed");
        let arena = vec![0; bytes];
        let Range { start, end } = arena.as_ptr_range();
        ARENA.set((start.addr(), end.addr()));
        Self { driver, cache_entries, arena, disk: ptr::null_mut() }
    }

    fn format(&mut self) {
        let Self { driver, arena, disk, .. } = self;
        let (start, bytes) = (arena.as_mut_ptr().cast(), arena.len());
        // SAFETY: all pointers are valid, and the arena is the disk's alone.
        call("format", || unsafe {
            match self.cache_entries {
                Some(entries) => ww_format_paged(driver, PAGES, entries, start, bytes, disk),
                None => ww_format(driver, PAGES, start, bytes, disk),
            }
        });
    }

    /// Mounts the disk again. The old one is forgotten, as in a power cut.
    fn mount(&mut self) {
        let Self { driver, arena, disk, .. } = self;
        let (start, bytes) = (arena.as_mut_ptr().cast(), arena.len());
        let no_report: *mut ww_mount_report = ptr::null_mut();
        // SAFETY: as in `format`.
        call("mount", || unsafe {
            match self.cache_entries {
                Some(entries) => ww_mount_paged(driver, PAGES, entries, start, bytes, disk, no_report),
                None => ww_mount(driver, PAGES, start, bytes, disk, no_report),
            }
        });
    }

    fn write(&self, page: u32, content: &[u8; PAGE_BYTES]) {
        // SAFETY: the disk is mounted, and the data as long as a page.
        call("write", || unsafe { ww_write(self.disk, page, content.as_ptr().cast()) });
    }

    fn read(&self, page: u32) -> [u8; PAGE_BYTES] {
        let mut data = [0; PAGE_BYTES];
        // SAFETY: as in `write`.
        call("read", || unsafe { ww_read(self.disk, page, data.as_mut_ptr().cast()) });
        data
    }

    /// Writes at random, with some of every other command. Ends with a sync.
    fn work(&self, held: &mut [u8], rng: &mut Rng) {
        for turn in 0..4 * PAGES {
            let (page, content) = (rng.below(PAGES), rng.below(255) as u8 + 1);
            self.write(page, &[content; PAGE_BYTES]);
            held[page as usize] = content;
            let other = rng.below(PAGES);
            // SAFETY: the disk is mounted.
            match turn % 8 {
                0 => call("sync", || unsafe { ww_sync(self.disk) }),
                1 => call("clean", || unsafe { ww_clean(self.disk, 8, ptr::null_mut()) }),
                2 => {
                    call("trim", || unsafe { ww_trim(self.disk, other, 1) });
                    held[other as usize] = 0;
                }
                _ => assert_eq!(self.read(other), [held[other as usize]; PAGE_BYTES], "page {other}"),
            }
        }
        // SAFETY: the disk is mounted.
        call("sync", || unsafe { ww_sync(self.disk) });
    }

    fn check(&self, held: &[u8]) {
        (0..PAGES).zip(held).for_each(|(page, &content)| assert_eq!(self.read(page), [content; PAGE_BYTES]));
    }

    fn erases(&self) -> u64 {
        // SAFETY: numbers may be zero.
        let mut stats: ww_disk_stats = unsafe { core::mem::zeroed() };
        // SAFETY: the disk is mounted.
        call("stats", || unsafe { ww_stats(self.disk, &raw mut stats) });
        stats.erases
    }

    fn unmount(&self) {
        // SAFETY: the disk is mounted, and not used again.
        call("unmount", || unsafe { ww_unmount(self.disk) });
    }
}

/// One test for both maps and the canary, because calls must not overlap.
#[test]
fn a_disk_allocates_nothing_outside_its_arena() {
    // The canary: a call that allocates and has entered no arena.
    assert_eq!(counted(|| std::hint::black_box(vec![1_u8]).len()), (1, 1));
    for cache_entries in [None, Some(CACHE_ENTRIES)] {
        let (mut chip, mut held, mut rng) = (RamNand::new(GEOMETRY), vec![0; PAGES as usize], Rng::new(1));
        let mut rig = Rig::new(&mut chip, cache_entries);
        rig.format();
        (0..PAGES).zip(&mut held).for_each(|(page, held)| {
            rig.write(page, &[1; PAGE_BYTES]);
            *held = 1;
        });
        rig.work(&mut held, &mut rng);
        assert!(rig.erases() > GEOMETRY.blocks.into(), "segments were cleaned");
        // Behind a cut, and behind an unmount.
        rig.mount();
        rig.check(&held);
        rig.work(&mut held, &mut rng);
        rig.unmount();
        rig.mount();
        rig.check(&held);
        rig.unmount();
    }
    assert!(FROM_ARENA.get() > 0, "the allocator is asked");
}

/// Does with the chip what a callback is for. `RamNand` allocates nothing here.
///
/// # Safety
/// The context is that of `Rig::new`.
unsafe fn on_chip<T, E>(context: *mut c_void, work: impl FnOnce(&mut RamNand) -> Result<T, E>) -> c_int {
    // SAFETY: the contract of this function. The library calls one callback at a time.
    if work(unsafe { &mut *context.cast() }).is_ok() { WW_NAND_OK } else { WW_NAND_UNRESPONSIVE }
}

/// A buffer of the library's; none if it is null.
///
/// # Safety
/// It is null or has so many bytes.
unsafe fn buffer<'a>(bytes: *mut u8, count: u32) -> &'a mut [u8] {
    // SAFETY: the contract of this function.
    if bytes.is_null() { &mut [] } else { unsafe { slice::from_raw_parts_mut(bytes, count as usize) } }
}

unsafe extern "C" fn read(context: *mut c_void, page: u32, data: *mut u8, spare: *mut u8) -> c_int {
    // SAFETY: the contract of `ww_driver`.
    unsafe {
        let (data, spare) = (buffer(data, GEOMETRY.page_bytes), buffer(spare, GEOMETRY.spare_bytes));
        on_chip(context, |chip| chip.read(PageAddr(page), data, spare))
    }
}

unsafe extern "C" fn program(context: *mut c_void, page: u32, data: *const u8, spare: *const u8, bytes: u32) -> c_int {
    // SAFETY: the contract of `ww_driver`; neither is written to.
    unsafe {
        let (data, spare) = (buffer(data.cast_mut(), GEOMETRY.page_bytes), buffer(spare.cast_mut(), bytes));
        on_chip(context, |chip| chip.program(PageAddr(page), data, spare))
    }
}

unsafe extern "C" fn erase(context: *mut c_void, block: u32) -> c_int {
    // SAFETY: the contract of `ww_driver`.
    unsafe { on_chip(context, |chip| chip.erase(BlockAddr(block))) }
}

unsafe extern "C" fn is_bad(context: *mut c_void, block: u32) -> c_int {
    let mut bad = false;
    // SAFETY: the contract of `ww_driver`.
    let code = unsafe { on_chip(context, |chip| chip.is_bad(BlockAddr(block)).map(|is_bad| bad = is_bad)) };
    if bad { 1 } else { code }
}

unsafe extern "C" fn mark_bad(context: *mut c_void, block: u32) -> c_int {
    // SAFETY: the contract of `ww_driver`.
    unsafe { on_chip(context, |chip| chip.mark_bad(BlockAddr(block))) }
}
