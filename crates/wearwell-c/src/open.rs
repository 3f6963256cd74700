//! Open disks: how they are made, and what calls see of them.
//!
//! An open disk is a table of functions. So a program links the engines of those disks that it opens, and no other.

use alloc::boxed::Box;
use core::ffi::c_void;
use core::ptr;

use wearwell::{Config, Disk, EngineChoice, Error, ErrorKind, MountReport, NandGeometry, PagedConfig, Stats};

use crate::arena::{self, ArenaHeap};
use crate::driver::{Chip, ww_driver};
use crate::error::ww_error::{self, WW_ARENA_TOO_SMALL, WW_BAD_ARGUMENT, WW_BAD_GEOMETRY, WW_OK};

/// A disk. It lies at the front of its arena.
pub struct ww_disk {
    pub(crate) heap: ArenaHeap,
    /// The disk, allocated from `heap`; none until it is formatted or mounted.
    pub(crate) disk: Option<Box<dyn AnyDisk>>,
}

/// What a mount found.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ww_mount_report {
    /// The disk was unmounted before; there was no power cut.
    pub clean: bool,
    /// The chip reads as erased throughout. It is mounted as an empty disk.
    pub never_formatted: bool,
    /// The chip is worn out: the disk can only be read.
    pub read_only: bool,
    /// Pages that were copied because a power cut may have hit them.
    pub rescued_pages: u32,
}

impl From<MountReport> for ww_mount_report {
    fn from(report: MountReport) -> Self {
        let MountReport { clean, never_formatted, read_only, rescued_pages, .. } = report;
        Self { clean, never_formatted, read_only, rescued_pages }
    }
}

type Done<T = ()> = Result<T, Error<ErrorKind>>;

/// A disk, whatever its engine.
///
/// It is a trait of its own because [`Disk`] is a type for each engine, and the trait that engines have in common
/// (`BlockDevice`) counts in sectors and has only the kind of a driver's error.
pub(crate) trait AnyDisk {
    fn read(&mut self, page: u32, data: &mut [u8]) -> Done;
    fn write(&mut self, page: u32, data: &[u8]) -> Done;
    fn discard(&mut self, pages: core::ops::Range<u32>) -> Done;
    fn flush(&mut self) -> Done;
    fn clean(&mut self, budget_pages: u32) -> Done<bool>;
    fn shutdown(&mut self) -> Done;
    fn pages(&self) -> u32;
    fn page_bytes(&self) -> u32;
    fn stats(&self) -> &Stats;
}

impl<S: EngineChoice<Chip>> AnyDisk for Disk<Chip, S> {
    fn read(&mut self, page: u32, data: &mut [u8]) -> Done {
        self.read(page, data)
    }
    fn write(&mut self, page: u32, data: &[u8]) -> Done {
        self.write(page, data)
    }
    fn discard(&mut self, pages: core::ops::Range<u32>) -> Done {
        self.discard(pages)
    }
    fn flush(&mut self) -> Done {
        self.flush()
    }
    fn clean(&mut self, budget_pages: u32) -> Done<bool> {
        self.clean(budget_pages)
    }
    fn shutdown(&mut self) -> Done {
        self.shutdown()
    }
    fn pages(&self) -> u32 {
        self.pages()
    }
    fn page_bytes(&self) -> u32 {
        self.page_bytes()
    }
    fn stats(&self) -> &Stats {
        self.stats()
    }
}

/// A configuration to open a disk with.
pub(crate) trait Opens: EngineChoice<Chip> + 'static {
    /// The engine copies pages by the driver, which may need memory for that.
    const COPIES: bool;

    fn engine_bytes(&self, geometry: &NandGeometry) -> Option<usize>;
}

impl Opens for Config {
    const COPIES: bool = true;

    fn engine_bytes(&self, geometry: &NandGeometry) -> Option<usize> {
        self.arena_bytes(geometry)
    }
}

impl Opens for PagedConfig {
    const COPIES: bool = false;

    fn engine_bytes(&self, geometry: &NandGeometry) -> Option<usize> {
        self.arena_bytes(geometry)
    }
}

/// Bytes that the heap gives out at least.
const LEAST_BYTES: usize = 2 * size_of::<usize>();

/// Bytes that an arena needs for a disk of this configuration, at any address.
pub(crate) fn arena_bytes<S: Opens>(config: &S, geometry: &NandGeometry) -> Option<usize> {
    let moved_bytes = if S::COPIES { (geometry.page_bytes + geometry.spare_bytes) as usize } else { 0 };
    // The disk is allocated from its own heap, which rounds small requests up.
    let boxed = size_of::<Disk<Chip, S>>().max(LEAST_BYTES);
    // The caller's arena may begin at any address, so up to an alignment less one byte is skipped.
    let of_disk = size_of::<ww_disk>() + align_of::<ww_disk>() - 1 + boxed;
    config.engine_bytes(geometry)?.checked_add(of_disk + Disk::<Chip, S>::ENGINE_BYTES + moved_bytes)
}

/// Puts a disk at the front of an arena, and opens it by `make` with memory from the rest.
///
/// # Safety
/// As for `ww_format`.
pub(crate) unsafe fn open<S: Opens>(
    driver: *const ww_driver,
    config: S,
    (arena, bytes): (*mut c_void, usize),
    disk: *mut *mut ww_disk,
    make: impl FnOnce(Chip, S) -> Done<Disk<Chip, S>>,
) -> ww_error {
    // SAFETY: both are null or valid.
    let (Some(driver), Some(disk)) = (unsafe { driver.as_ref() }, unsafe { disk.as_mut() }) else {
        return WW_BAD_ARGUMENT;
    };
    // A caller who does not look at the error finds no disk then, and not one of before.
    *disk = ptr::null_mut();
    let Some(geometry) = driver.geometry.checked() else { return WW_BAD_GEOMETRY };
    if arena.is_null() {
        return WW_BAD_ARGUMENT;
    }
    // If no number of bytes is enough, the engine returns the reason.
    if arena_bytes(&config, &geometry).is_some_and(|needed| bytes < needed) {
        return WW_ARENA_TOO_SMALL;
    }
    let skipped = arena.cast::<u8>().align_offset(align_of::<ww_disk>());
    // The check above is left out for a disk that no arena is large enough for, and the arena may be of any size then.
    let Some(heap_bytes) = bytes.checked_sub(skipped + size_of::<ww_disk>()) else { return WW_ARENA_TOO_SMALL };
    // SAFETY: `made` lies aligned in the arena, with its heap behind it, and the arena belongs to the disk alone.
    // Nobody else uses the heap while `make` runs.
    unsafe {
        let made = arena.cast::<u8>().add(skipped).cast::<ww_disk>();
        made.write(ww_disk { heap: ArenaHeap::new(made.add(1).cast(), heap_bytes), disk: None });
        let opened = arena::enter(&raw mut (*made).heap, || {
            let chip = Chip::new(driver, geometry, S::COPIES).ok_or(WW_BAD_ARGUMENT)?;
            // The box comes from the arena as well, since it is made in here.
            let opened: Box<dyn AnyDisk> = Box::new(make(chip, config)?);
            Ok(opened)
        });
        match opened {
            Ok(opened) => {
                (&raw mut (*made).disk).write(Some(opened));
                *disk = made;
                WW_OK
            }
            // Nothing has to be freed: the whole arena is the caller's again.
            Err(error) => error,
        }
    }
}

/// Opens a disk by mounting it.
///
/// # Safety
/// As for `ww_mount`.
pub(crate) unsafe fn mount<S: Opens>(
    driver: *const ww_driver,
    config: S,
    arena: (*mut c_void, usize),
    disk: *mut *mut ww_disk,
    report: *mut ww_mount_report,
) -> ww_error {
    let make = |chip, config| {
        let (mounted, found) = Disk::mount(chip, config)?;
        // SAFETY: `report` is null or valid.
        if let Some(report) = unsafe { report.as_mut() } {
            *report = found.into();
        }
        Ok(mounted)
    };
    // SAFETY: the contract of this function.
    unsafe { open(driver, config, arena, disk, make) }
}

/// Runs `work` on a disk.
///
/// # Safety
/// `disk` is null or mounted. No other call is running, except one whose callback calls this function.
pub(crate) unsafe fn with(disk: *mut ww_disk, work: impl FnOnce(&mut dyn AnyDisk) -> Result<(), ww_error>) -> ww_error {
    if disk.is_null() {
        return WW_BAD_ARGUMENT;
    }
    // SAFETY: the disk and its heap are different fields, and each is borrowed once.
    unsafe {
        let (heap, disk) = (&raw mut (*disk).heap, &raw mut (*disk).disk);
        let worked = arena::enter(heap, || (*disk).as_deref_mut().map_or(Err(WW_BAD_ARGUMENT), work));
        worked.err().unwrap_or(WW_OK)
    }
}
