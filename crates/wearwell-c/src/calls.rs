//! What C calls.

use core::ffi::c_void;
use core::ptr;

use wearwell::{Config, Disk, MountReport, NandGeometry};

use crate::arena::{self, ArenaHeap};
use crate::driver::{Chip, ww_driver, ww_geometry};
use crate::error::ww_error::{self, WW_ARENA_TOO_SMALL, WW_BAD_ARGUMENT, WW_BAD_GEOMETRY, WW_OK};

/// A disk. It lies at the front of its arena.
pub struct ww_disk {
    heap: ArenaHeap,
    /// Allocated from `heap`; none until it is formatted or mounted.
    disk: Option<Disk<Chip>>,
}

/// What a mount found.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ww_mount_report {
    /// The disk had been unmounted; nothing was cut.
    pub clean: bool,
    /// The chip reads as erased throughout. It is mounted as an empty disk.
    pub never_formatted: bool,
    /// The chip is worn out: the disk can only be read.
    pub read_only: bool,
    /// Pages that a power cut may have hit, and that were copied.
    pub rescued_pages: u32,
}

impl From<MountReport> for ww_mount_report {
    fn from(report: MountReport) -> Self {
        let MountReport { clean, never_formatted, read_only, rescued_pages, .. } = report;
        Self { clean, never_formatted, read_only, rescued_pages }
    }
}

/// What a disk is, and what it did since it was formatted or mounted.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ww_disk_stats {
    /// Bytes in a page of the disk.
    pub page_bytes: u32,
    /// Pages of the disk.
    pub pages: u32,
    /// Pages that were written.
    pub written_pages: u64,
    /// Pages that were programmed in all, for whatever reason: over `written_pages`, the write amplification.
    pub programmed_pages: u64,
    /// Pages that were read.
    pub read_pages: u64,
    /// Blocks that were erased.
    pub erases: u64,
    /// Blocks that went bad.
    pub retired_blocks: u64,
    /// Pages whose content was lost on the chip.
    pub lost_pages: u64,
    /// Bytes of the arena that were in use at most, during the mount and since.
    pub arena_peak_bytes: usize,
}

/// Bytes that an arena needs for a disk of `logical_pages` pages on a chip of this shape, wherever the arena begins.
/// 0 if the shape does not suit, or if so many pages do not fit.
///
/// # Safety
/// `geometry` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_arena_bytes(geometry: *const ww_geometry, logical_pages: u32) -> usize {
    // SAFETY: as this function says.
    let geometry = unsafe { geometry.as_ref() }.and_then(ww_geometry::checked);
    geometry.and_then(|geometry| arena_bytes(&geometry, logical_pages)).unwrap_or(0)
}

fn arena_bytes(geometry: &NandGeometry, logical_pages: u32) -> Option<usize> {
    let moved_bytes = (geometry.page_bytes + geometry.spare_bytes) as usize;
    let slack = align_of::<ww_disk>() - 1;
    let of_engine = Config::new(logical_pages).arena_bytes(geometry)?;
    of_engine.checked_add(size_of::<ww_disk>() + moved_bytes + slack)
}

/// Makes an empty disk of `logical_pages` pages of a chip. Everything on the chip is erased, but for how often its
/// blocks were erased, if an earlier disk knew that.
///
/// `arena` belongs to the disk until it is unmounted or not used any more. On success `*disk` is the disk.
///
/// # Safety
/// `driver` and `disk` are null or valid; the callbacks are as `ww_driver` says; `arena` is null or `arena_bytes` bytes
/// that nobody else uses. No other call is under way, but the one whose callback calls this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_format(
    driver: *const ww_driver,
    logical_pages: u32,
    arena: *mut c_void,
    arena_bytes: usize,
    disk: *mut *mut ww_disk,
) -> ww_error {
    let make = |chip, config| Disk::format(chip, config);
    // SAFETY: as this function says.
    unsafe { open(driver, logical_pages, (arena, arena_bytes), disk, make) }
}

/// Mounts a disk that was formatted with the same number of pages, whatever happened to it since. `report` may be null.
/// All else is as for `ww_format`.
///
/// # Safety
/// As for `ww_format`; `report` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_mount(
    driver: *const ww_driver,
    logical_pages: u32,
    arena: *mut c_void,
    arena_bytes: usize,
    disk: *mut *mut ww_disk,
    report: *mut ww_mount_report,
) -> ww_error {
    let make = |chip, config| {
        let (mounted, found) = Disk::mount(chip, config)?;
        // SAFETY: as this function says.
        if let Some(report) = unsafe { report.as_mut() } {
            *report = found.into();
        }
        Ok(mounted)
    };
    // SAFETY: as this function says.
    unsafe { open(driver, logical_pages, (arena, arena_bytes), disk, make) }
}

/// Puts a disk at the front of an arena, and opens it by `make` with memory from the rest.
///
/// # Safety
/// As for `ww_format`.
unsafe fn open(
    driver: *const ww_driver,
    logical_pages: u32,
    (arena, bytes): (*mut c_void, usize),
    disk: *mut *mut ww_disk,
    make: impl FnOnce(Chip, Config) -> Result<Disk<Chip>, wearwell::Error<wearwell::ErrorKind>>,
) -> ww_error {
    // SAFETY: both are null or valid.
    let (Some(driver), Some(disk)) = (unsafe { driver.as_ref() }, unsafe { disk.as_mut() }) else {
        return WW_BAD_ARGUMENT;
    };
    *disk = ptr::null_mut();
    let Some(geometry) = driver.geometry.checked() else { return WW_BAD_GEOMETRY };
    let config = Config::new(logical_pages);
    if arena.is_null() {
        return WW_BAD_ARGUMENT;
    }
    // Where no number of bytes would do, the engine says why.
    if arena_bytes(&geometry, logical_pages).is_some_and(|needed| bytes < needed) {
        return WW_ARENA_TOO_SMALL;
    }
    let skipped = arena.cast::<u8>().align_offset(align_of::<ww_disk>());
    let Some(heap_bytes) = bytes.checked_sub(skipped + size_of::<ww_disk>()) else { return WW_ARENA_TOO_SMALL };
    // SAFETY: `made` lies aligned in the arena, its heap behind it, and the arena is the disk's alone. Nobody else has
    // the heap while `make` works.
    unsafe {
        let made = arena.cast::<u8>().add(skipped).cast::<ww_disk>();
        made.write(ww_disk { heap: ArenaHeap::new(made.add(1).cast(), heap_bytes), disk: None });
        let opened = arena::enter(&raw mut (*made).heap, || {
            let chip = Chip::new(driver, geometry).ok_or(WW_BAD_ARGUMENT)?;
            make(chip, config).map_err(ww_error::from)
        });
        match opened {
            Ok(opened) => {
                (&raw mut (*made).disk).write(Some(opened));
                *disk = made;
                WW_OK
            }
            Err(error) => error,
        }
    }
}

/// Does something with a disk.
///
/// # Safety
/// `disk` is null or one that is mounted. No other call is under way, but the one whose callback calls this.
unsafe fn with(disk: *mut ww_disk, work: impl FnOnce(&mut Disk<Chip>) -> Result<(), ww_error>) -> ww_error {
    if disk.is_null() {
        return WW_BAD_ARGUMENT;
    }
    // SAFETY: the disk and its heap are different fields, and each is borrowed once.
    unsafe {
        let (heap, disk) = (&raw mut (*disk).heap, &raw mut (*disk).disk);
        let worked = arena::enter(heap, || (*disk).as_mut().map_or(Err(WW_BAD_ARGUMENT), work));
        worked.err().unwrap_or(WW_OK)
    }
}

/// Reads page `page` into `data`, a page of the disk long. One that was never written, or was trimmed, is zeros.
///
/// # Safety
/// `disk` is null or mounted; `data` is null or as long as a page. No other call is under way, but the one whose
/// callback calls this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_read(disk: *mut ww_disk, page: u32, data: *mut c_void) -> ww_error {
    if data.is_null() {
        return WW_BAD_ARGUMENT;
    }
    let read = |disk: &mut Disk<Chip>| {
        // SAFETY: `data` is as long as a page.
        let data = unsafe { core::slice::from_raw_parts_mut(data.cast::<u8>(), disk.page_bytes() as usize) };
        Ok(disk.read(page, data)?)
    };
    // SAFETY: as this function says.
    unsafe { with(disk, read) }
}

/// Writes page `page` from `data`, a page of the disk long. It is durable from the next `ww_sync` on.
///
/// # Safety
/// As for `ww_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_write(disk: *mut ww_disk, page: u32, data: *const c_void) -> ww_error {
    if data.is_null() {
        return WW_BAD_ARGUMENT;
    }
    let write = |disk: &mut Disk<Chip>| {
        // SAFETY: `data` is as long as a page.
        let data = unsafe { core::slice::from_raw_parts(data.cast::<u8>(), disk.page_bytes() as usize) };
        Ok(disk.write(page, data)?)
    };
    // SAFETY: as this function says.
    unsafe { with(disk, write) }
}

/// Says that the content of `count` pages from `first` on is no longer needed. They read as zeros. Durable from the next
/// `ww_sync` on.
///
/// # Safety
/// `disk` is null or mounted. No other call is under way, but the one whose callback calls this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_trim(disk: *mut ww_disk, first: u32, count: u32) -> ww_error {
    let trim = |disk: &mut Disk<Chip>| {
        let end = first.checked_add(count).ok_or(WW_BAD_ARGUMENT)?;
        Ok(disk.discard(first..end)?)
    };
    // SAFETY: as this function says.
    unsafe { with(disk, trim) }
}

/// Makes all that was written or trimmed durable.
///
/// # Safety
/// As for `ww_trim`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_sync(disk: *mut ww_disk) -> ww_error {
    // SAFETY: as this function says.
    unsafe { with(disk, |disk| Ok(disk.flush()?)) }
}

/// Cleans while there is nothing else to do, so that later writes are shorter. Moves at most `budget_pages` pages.
/// `*more` says whether there is more to do; it may be null.
///
/// # Safety
/// As for `ww_trim`; `more` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_clean(disk: *mut ww_disk, budget_pages: u32, more: *mut bool) -> ww_error {
    let clean = |disk: &mut Disk<Chip>| {
        let has_more = disk.clean(budget_pages)?;
        // SAFETY: `more` is null or valid.
        if let Some(more) = unsafe { more.as_mut() } {
            *more = has_more;
        }
        Ok(())
    };
    // SAFETY: as this function says.
    unsafe { with(disk, clean) }
}

/// Syncs, and leaves a mark so that the next mount knows that nothing was cut. Whether it succeeds or not, the disk is
/// no more, and its arena is free for other use.
///
/// # Safety
/// As for `ww_trim`. The disk is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_unmount(disk: *mut ww_disk) -> ww_error {
    // SAFETY: as this function says.
    let ended = unsafe { with(disk, |disk| Ok(disk.shutdown()?)) };
    if !disk.is_null() {
        // What was allocated goes with the arena. A second unmount finds no disk.
        // SAFETY: as this function says; nothing of the old value is read again.
        unsafe { (&raw mut (*disk).disk).write(None) };
    }
    ended
}

/// Says what a disk is and what it did, in `*stats`.
///
/// # Safety
/// `disk` is null or mounted; `stats` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_stats(disk: *const ww_disk, stats: *mut ww_disk_stats) -> ww_error {
    // SAFETY: as this function says.
    let (Some(disk), Some(stats)) = (unsafe { disk.as_ref() }, unsafe { stats.as_mut() }) else {
        return WW_BAD_ARGUMENT;
    };
    let arena_peak_bytes = disk.heap.peak_bytes() + size_of::<ww_disk>();
    let Some(disk) = &disk.disk else { return WW_BAD_ARGUMENT };
    let done = disk.stats();
    *stats = ww_disk_stats {
        page_bytes: disk.page_bytes(),
        pages: disk.pages(),
        written_pages: done.host_pages,
        programmed_pages: done.programmed_pages(),
        read_pages: done.host_reads,
        erases: done.erases,
        retired_blocks: done.retired_segments,
        lost_pages: done.lost_pages,
        arena_peak_bytes,
    };
    WW_OK
}
