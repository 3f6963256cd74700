//! A disk of the C library, as a device of the torture.

use core::ffi::{c_int, c_void};
use core::ptr;
use core::slice;
use std::cell::RefCell;

use wearwell_flash::{BlockAddr, ErrorKind, Nand, PageAddr, ReadReport};
use wearwell_torture::content::SECTOR_BYTES;
use wearwell_torture::device::{self, Chip, Device, Mounted, Opener, Refusal};
use wearwell_torture::nand::NandDriver;
use wearwell_torture::setup::{Engine, PolicyNames, Setup, Shape};

use crate::calls::*;
use crate::driver::*;
use crate::error::ww_error::{self, *};
use crate::memory::{inside, outside};
use crate::open::{ww_disk, ww_mount_report};

/// Opens disks by the functions of the library.
pub(crate) const C_LIBRARY: Opener = Opener { format, mount };

std::thread_local! {
    /// The device that is running, to be printed by a panic.
    static CURRENT: RefCell<Option<Setup>> = const { RefCell::new(None) };
}

/// The device that is running, in words.
pub(crate) fn current() -> String {
    CURRENT.with_borrow(|setup| format!("{setup:?}"))
}

fn format(setup: &Setup, chip: &Chip) -> Result<Box<dyn Device>, Refusal> {
    CURRENT.set(Some(*setup));
    Ok(Box::new(CDisk::open(setup, chip, Way::Format)?))
}

fn mount(setup: &Setup, chip: &Chip) -> Result<Mounted, Refusal> {
    let disk = CDisk::open(setup, chip, Way::Mount)?;
    Ok(Mounted { read_only: disk.read_only, device: Box::new(disk) })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Format,
    Mount,
}

struct CDisk {
    /// It lies in `arena`, and ends with it.
    disk: *mut ww_disk,
    #[expect(dead_code, reason = "the disk lies in it")]
    arena: Vec<u64>,
    /// The context of the callbacks.
    #[expect(dead_code, reason = "the disk points to it")]
    driver: Box<NandDriver>,
    page_bytes: u32,
    read_only: bool,
    /// What the engine has said to the torture; the library does not say it.
    segments: (u32, u32),
}

impl CDisk {
    fn open(setup: &Setup, chip: &Chip, way: Way) -> Result<Self, Refusal> {
        let (Chip::Nand(nand), Shape::Nand(shape)) = (chip, setup.shape) else {
            return Err(Refusal::Else("the library is for NAND".to_owned()));
        };
        let geometry = ww_geometry {
            page_bytes: shape.page_bytes,
            spare_bytes: shape.spare_bytes,
            pages_per_block: shape.pages_per_block,
            blocks: shape.blocks,
            dies: shape.dies,
            paired_pages: shape.paired_pages,
        };
        let mut driver = Box::new(NandDriver(nand.clone()));
        let callbacks = ww_driver {
            context: (&raw mut *driver).cast(),
            geometry,
            read: Some(read),
            program: Some(program),
            // Half of all drivers copy inside the chip.
            copy: if setup.seed.is_multiple_of(2) { Some(copy) } else { None },
            erase: Some(erase),
            is_bad: Some(is_bad),
            mark_bad: Some(mark_bad),
        };
        let (pages, mut disk) = (setup.logical_pages, ptr::null_mut());
        let mut report = ww_mount_report { clean: false, never_formatted: false, read_only: false, rescued_pages: 0 };
        let cache = if let Engine::Paged { cache_entries, .. } = setup.engine { Some(cache_entries) } else { None };
        // SAFETY: the geometry is valid.
        let bytes = inside(|| unsafe {
            match cache {
                Some(cache) => ww_arena_bytes_paged(&raw const geometry, pages, cache),
                None => ww_arena_bytes(&raw const geometry, pages),
            }
        });
        let mut arena = vec![0_u64; bytes.div_ceil(size_of::<u64>())];
        let (start, to, at) = (arena.as_mut_ptr().cast::<c_void>(), &raw mut disk, &raw const callbacks);
        // SAFETY: all pointers are valid, the arena is the disk's alone, and the callbacks take the context that is
        // there. No other call runs.
        let opened = inside(|| unsafe {
            match (way, cache) {
                (Way::Format, None) => ww_format(at, pages, start, bytes, to),
                (Way::Format, Some(cache)) => ww_format_paged(at, pages, cache, start, bytes, to),
                (Way::Mount, None) => ww_mount(at, pages, start, bytes, to, &raw mut report),
                (Way::Mount, Some(cache)) => ww_mount_paged(at, pages, cache, start, bytes, to, &raw mut report),
            }
        });
        let segments = segments(setup)?;
        answer(opened, None, segments)?;
        let mut done = Self { disk, arena, driver, page_bytes: 0, read_only: report.read_only, segments };
        done.page_bytes = done.stats().page_bytes;
        Ok(done)
    }

    fn stats(&self) -> ww_disk_stats {
        // SAFETY: numbers may be zero.
        let mut stats = unsafe { core::mem::zeroed() };
        // SAFETY: the disk is mounted.
        inside(|| unsafe { ww_stats(self.disk, &raw mut stats) });
        stats
    }

    fn sectors_per_page(&self) -> u32 {
        self.page_bytes / SECTOR_BYTES as u32
    }

    /// Reads a page.
    fn read_page(&mut self, page: u32, data: &mut [u8]) -> Result<(), Refusal> {
        // SAFETY: the disk is mounted, and the data as long as a page.
        let read = inside(|| unsafe { ww_read(self.disk, page, data.as_mut_ptr().cast()) });
        answer(read, Some(page), self.segments)
    }

    /// Writes sectors of a page.
    fn write_part(&mut self, page: u32, first: u32, data: &[u8]) -> Result<(), Refusal> {
        let mut whole = vec![0; self.page_bytes as usize];
        if data.len() < whole.len() {
            self.read_page(page, &mut whole)?;
        }
        whole[first as usize * SECTOR_BYTES..][..data.len()].copy_from_slice(data);
        // SAFETY: the disk is mounted, and the data as long as a page.
        let written = inside(|| unsafe { ww_write(self.disk, page, whole.as_ptr().cast()) });
        answer(written, Some(page), self.segments)
    }
}

/// Segments that the engine uses, and those that it needs.
fn segments(setup: &Setup) -> Result<(u32, u32), Refusal> {
    device::format(setup, &Chip::new(setup)).map(|device| device.segments())
}

/// What a code means to the torture.
fn answer(code: ww_error, page: Option<u32>, (_, needed): (u32, u32)) -> Result<(), Refusal> {
    Err(match (code, page) {
        (WW_OK, _) => return Ok(()),
        (WW_UNREADABLE, Some(page)) => Refusal::Unreadable { page },
        (WW_WORN_OUT, _) => Refusal::WornOut { good: 0, needed },
        (WW_DRIVER_FAILED, _) => Refusal::Chip(ErrorKind::Unresponsive),
        (WW_FOREIGN, _) => Refusal::Foreign,
        (code, _) => Refusal::Else(format!("{code:?}")),
    })
}

impl Device for CDisk {
    fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    fn segments(&self) -> (u32, u32) {
        self.segments
    }

    fn read(&mut self, sector: u32, data: &mut [u8]) -> Result<(), Refusal> {
        let (first, bytes) = (sector / self.sectors_per_page(), self.page_bytes as usize);
        (first..).zip(data.chunks_mut(bytes)).try_for_each(|(page, data)| self.read_page(page, data))
    }

    fn write(&mut self, sector: u32, data: &[u8], _stream: u16, _read_only: bool) -> Result<(), Refusal> {
        let (per_page, mut sector, mut data) = (self.sectors_per_page(), sector, data);
        while !data.is_empty() {
            let (page, first) = (sector / per_page, sector % per_page);
            let sectors = (per_page - first).min((data.len() / SECTOR_BYTES) as u32);
            let (part, rest) = data.split_at(sectors as usize * SECTOR_BYTES);
            self.write_part(page, first, part)?;
            (sector, data) = (sector + sectors, rest);
        }
        Ok(())
    }

    fn discard(&mut self, sector: u32, count: u32) -> Result<(), Refusal> {
        let (first, end) = (sector.div_ceil(self.sectors_per_page()), (sector + count) / self.sectors_per_page());
        // SAFETY: the disk is mounted.
        let trimmed = inside(|| unsafe { ww_trim(self.disk, first, end.saturating_sub(first)) });
        answer(trimmed, None, self.segments)
    }

    fn flush(&mut self) -> Result<(), Refusal> {
        // SAFETY: the disk is mounted.
        answer(inside(|| unsafe { ww_sync(self.disk) }), None, self.segments)
    }

    fn clean(&mut self, pages: u32) -> Result<(), Refusal> {
        // SAFETY: the disk is mounted; nobody asks whether there is more.
        answer(inside(|| unsafe { ww_clean(self.disk, pages, ptr::null_mut()) }), None, self.segments)
    }

    fn shutdown(&mut self) -> Result<(), Refusal> {
        // SAFETY: the disk is mounted, and if it was unmounted before, this is an error.
        answer(inside(|| unsafe { ww_unmount(self.disk) }), None, self.segments)
    }

    fn set_policies(&mut self, _policies: PolicyNames) {}
}

/// The number for what a chip has answered.
fn code(answer: Result<ReadReport, ErrorKind>) -> c_int {
    match answer {
        Ok(report) if report.refresh_soon => WW_NAND_REFRESH,
        Ok(_) => WW_NAND_OK,
        Err(ErrorKind::Uncorrectable) => WW_NAND_UNCORRECTABLE,
        Err(ErrorKind::ProgramFailed) => WW_NAND_PROGRAM_FAILED,
        Err(ErrorKind::EraseFailed) => WW_NAND_ERASE_FAILED,
        Err(_) => WW_NAND_UNRESPONSIVE,
    }
}

/// Does with the chip what a callback is for.
///
/// # Safety
/// The context is that of `CDisk::open`.
unsafe fn on_chip(context: *mut c_void, work: impl FnOnce(&mut NandDriver) -> c_int) -> c_int {
    // SAFETY: the contract of this function. The library calls one callback at a time.
    outside(|| work(unsafe { &mut *context.cast::<NandDriver>() }))
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
        on_chip(context, |chip| {
            let shape = chip.geometry();
            code(chip.read(PageAddr(page), buffer(data, shape.page_bytes), buffer(spare, shape.spare_bytes)))
        })
    }
}

unsafe extern "C" fn program(context: *mut c_void, page: u32, data: *const u8, spare: *const u8, bytes: u32) -> c_int {
    // SAFETY: the contract of `ww_driver`; neither is written to.
    unsafe {
        on_chip(context, |chip| {
            let (data, spare) = (buffer(data.cast_mut(), chip.geometry().page_bytes), buffer(spare.cast_mut(), bytes));
            code(chip.program(PageAddr(page), data, spare).map(|()| ReadReport::default()))
        })
    }
}

unsafe extern "C" fn copy(context: *mut c_void, from: u32, to: u32, spare: *mut u8) -> c_int {
    // SAFETY: the contract of `ww_driver`.
    unsafe {
        on_chip(context, |chip| {
            let spare = buffer(spare, chip.geometry().spare_bytes);
            code(chip.copy(PageAddr(from), PageAddr(to), spare))
        })
    }
}

unsafe extern "C" fn erase(context: *mut c_void, block: u32) -> c_int {
    // SAFETY: the contract of `ww_driver`.
    unsafe { on_chip(context, |chip| code(chip.erase(BlockAddr(block)).map(|()| ReadReport::default()))) }
}

unsafe extern "C" fn is_bad(context: *mut c_void, block: u32) -> c_int {
    // SAFETY: the contract of `ww_driver`.
    unsafe {
        on_chip(context, |chip| match chip.is_bad(BlockAddr(block)) {
            Ok(is_bad) => c_int::from(is_bad),
            Err(error) => code(Err(error)),
        })
    }
}

unsafe extern "C" fn mark_bad(context: *mut c_void, block: u32) -> c_int {
    // SAFETY: the contract of `ww_driver`.
    unsafe { on_chip(context, |chip| code(chip.mark_bad(BlockAddr(block)).map(|()| ReadReport::default()))) }
}
