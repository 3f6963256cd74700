//! The functions that C calls.

use core::ffi::c_void;

use wearwell::{Config, Disk, PagedConfig};

use crate::driver::{ww_driver, ww_geometry};
use crate::error::ww_error::{self, WW_BAD_ARGUMENT, WW_OK};
use crate::open::{AnyDisk, arena_bytes, mount, open, with, ww_disk, ww_mount_report};

/// Properties of a disk, and its counters since it was formatted or mounted.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ww_disk_stats {
    /// Bytes in a page of the disk.
    pub page_bytes: u32,
    /// Pages of the disk.
    pub pages: u32,
    /// Pages that were written.
    pub written_pages: u64,
    /// All pages that were programmed, for any reason. Divided by `written_pages`, it is the write amplification.
    pub programmed_pages: u64,
    /// Pages that were read.
    pub read_pages: u64,
    /// Blocks that were erased.
    pub erases: u64,
    /// Blocks that went bad.
    pub retired_blocks: u64,
    /// Pages whose content was lost on the chip.
    pub lost_pages: u64,
    /// The most bytes of the arena in use at any time, during the mount and since.
    pub arena_peak_bytes: usize,
}

/// Bytes that an arena needs for a disk of `logical_pages` pages on a chip of this shape, at any address. 0 if the
/// shape is not supported, or if the pages do not fit.
///
/// # Safety
/// `geometry` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_arena_bytes(geometry: *const ww_geometry, logical_pages: u32) -> usize {
    // SAFETY: the contract of this function.
    let geometry = unsafe { geometry.as_ref() }.and_then(ww_geometry::checked);
    geometry.and_then(|geometry| arena_bytes(&Config::new(logical_pages), &geometry)).unwrap_or(0)
}

/// As `ww_arena_bytes`, for `ww_format_paged` and `ww_mount_paged`.
///
/// # Safety
/// `geometry` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_arena_bytes_paged(
    geometry: *const ww_geometry,
    logical_pages: u32,
    cache_entries: u32,
) -> usize {
    // SAFETY: the contract of this function.
    let geometry = unsafe { geometry.as_ref() }.and_then(ww_geometry::checked);
    geometry.and_then(|geometry| arena_bytes(&PagedConfig::new(logical_pages, cache_entries), &geometry)).unwrap_or(0)
}

/// Formats a chip as an empty disk of `logical_pages` pages. Everything on the chip is erased. Only the erase counts of
/// the blocks are kept, if an earlier disk recorded them.
///
/// `arena` belongs to the disk until it is unmounted or no longer used. On success `*disk` is the disk.
///
/// # Safety
/// `driver` and `disk` are null or valid. The callbacks meet the contract of `ww_driver`. `arena` is null or
/// `arena_bytes` bytes that nobody else uses. No other call is running, except one whose callback calls this function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_format(
    driver: *const ww_driver,
    logical_pages: u32,
    arena: *mut c_void,
    arena_bytes: usize,
    disk: *mut *mut ww_disk,
) -> ww_error {
    // SAFETY: the contract of this function.
    unsafe { open(driver, Config::new(logical_pages), (arena, arena_bytes), disk, Disk::format) }
}

/// As `ww_format`, but keeps the map on flash, and only `cache_entries` entries of it in memory, at least 2. Such a
/// disk needs a chip whose `paired_pages` is 1, and much less memory. It is mounted with `ww_mount_paged`. Everything
/// else is as with any disk.
///
/// # Safety
/// As for `ww_format`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_format_paged(
    driver: *const ww_driver,
    logical_pages: u32,
    cache_entries: u32,
    arena: *mut c_void,
    arena_bytes: usize,
    disk: *mut *mut ww_disk,
) -> ww_error {
    let config = PagedConfig::new(logical_pages, cache_entries);
    // SAFETY: the contract of this function.
    unsafe { open(driver, config, (arena, arena_bytes), disk, Disk::format) }
}

/// Mounts a disk that was formatted with the same number of pages, also after power cuts. `report` may be null.
/// Everything else is as for `ww_format`.
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
    // SAFETY: the contract of this function.
    unsafe { mount(driver, Config::new(logical_pages), (arena, arena_bytes), disk, report) }
}

/// Mounts a disk that `ww_format_paged` made with the same number of pages, also after power cuts. After a cut the
/// cache must have as many entries as before, or more. `clean` of the report is true only behind an unmount that left a
/// checkpoint: the first thousand do. Everything else is as for `ww_mount`.
///
/// # Safety
/// As for `ww_mount`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_mount_paged(
    driver: *const ww_driver,
    logical_pages: u32,
    cache_entries: u32,
    arena: *mut c_void,
    arena_bytes: usize,
    disk: *mut *mut ww_disk,
    report: *mut ww_mount_report,
) -> ww_error {
    // SAFETY: the contract of this function.
    unsafe { mount(driver, PagedConfig::new(logical_pages, cache_entries), (arena, arena_bytes), disk, report) }
}

/// Reads page `page` into `data`, which is as long as a page of the disk. A page that was never written, or was
/// trimmed, is zeros.
///
/// # Safety
/// `disk` is null or mounted; `data` is null or as long as a page. No other call is running, except one whose callback
/// calls this function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_read(disk: *mut ww_disk, page: u32, data: *mut c_void) -> ww_error {
    if data.is_null() {
        return WW_BAD_ARGUMENT;
    }
    let read = |disk: &mut dyn AnyDisk| {
        // SAFETY: `data` is as long as a page.
        let data = unsafe { core::slice::from_raw_parts_mut(data.cast::<u8>(), disk.page_bytes() as usize) };
        Ok(disk.read(page, data)?)
    };
    // SAFETY: the contract of this function.
    unsafe { with(disk, read) }
}

/// Writes page `page` from `data`, which is as long as a page of the disk. The page is durable from the next `ww_sync`
/// on.
///
/// # Safety
/// As for `ww_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_write(disk: *mut ww_disk, page: u32, data: *const c_void) -> ww_error {
    if data.is_null() {
        return WW_BAD_ARGUMENT;
    }
    let write = |disk: &mut dyn AnyDisk| {
        // SAFETY: `data` is as long as a page.
        let data = unsafe { core::slice::from_raw_parts(data.cast::<u8>(), disk.page_bytes() as usize) };
        Ok(disk.write(page, data)?)
    };
    // SAFETY: the contract of this function.
    unsafe { with(disk, write) }
}

/// Discards `count` pages from `first` on. They read as zeros. This is durable from the next `ww_sync` on.
///
/// # Safety
/// `disk` is null or mounted. No other call is running, except one whose callback calls this function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_trim(disk: *mut ww_disk, first: u32, count: u32) -> ww_error {
    let trim = |disk: &mut dyn AnyDisk| {
        // Both numbers are the caller's, and their sum may overflow.
        let end = first.checked_add(count).ok_or(WW_BAD_ARGUMENT)?;
        Ok(disk.discard(first..end)?)
    };
    // SAFETY: the contract of this function.
    unsafe { with(disk, trim) }
}

/// Makes everything durable that was written or trimmed.
///
/// # Safety
/// As for `ww_trim`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_sync(disk: *mut ww_disk) -> ww_error {
    // SAFETY: the contract of this function.
    unsafe { with(disk, |disk: &mut dyn AnyDisk| Ok(disk.flush()?)) }
}

/// Cleans in idle time, so that later writes take less time. Moves at most `budget_pages` pages. `*more` says whether
/// there is more to do; it may be null.
///
/// # Safety
/// As for `ww_trim`; `more` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_clean(disk: *mut ww_disk, budget_pages: u32, more: *mut bool) -> ww_error {
    let clean = |disk: &mut dyn AnyDisk| {
        let has_more = disk.clean(budget_pages)?;
        // SAFETY: `more` is null or valid.
        if let Some(more) = unsafe { more.as_mut() } {
            *more = has_more;
        }
        Ok(())
    };
    // SAFETY: the contract of this function.
    unsafe { with(disk, clean) }
}

/// Syncs, and writes a mark by which the next mount knows that there was no power cut. Whether it succeeds or not, the
/// disk ends, and its arena is free for other use.
///
/// # Safety
/// As for `ww_trim`. The disk is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_unmount(disk: *mut ww_disk) -> ww_error {
    // SAFETY: the contract of this function.
    let ended = unsafe { with(disk, |disk: &mut dyn AnyDisk| Ok(disk.shutdown()?)) };
    // Also after an error: the caller was told that the arena is free in any case.
    if !disk.is_null() {
        // The allocations end with the arena. A second unmount finds no disk.
        // SAFETY: the contract of this function; nothing of the old value is read again.
        unsafe { (&raw mut (*disk).disk).write(None) };
    }
    ended
}

/// Writes the properties and counters of a disk to `*stats`.
///
/// # Safety
/// `disk` is null or mounted; `stats` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ww_stats(disk: *const ww_disk, stats: *mut ww_disk_stats) -> ww_error {
    // SAFETY: the contract of this function.
    let (Some(disk), Some(stats)) = (unsafe { disk.as_ref() }, unsafe { stats.as_mut() }) else {
        return WW_BAD_ARGUMENT;
    };
    // The disk itself lies in the arena, in front of its heap.
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
