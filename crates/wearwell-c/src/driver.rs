//! A chip as C describes it: its shape, and a struct of callbacks.

use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use core::ptr;

use wearwell::{BlockAddr, ErrorKind, Nand, NandGeometry, PageAddr, ProgramOrder, ReadReport};

/// The callback succeeded.
pub const WW_NAND_OK: c_int = 0;
/// `read`, `copy`: the data is good, but should be moved before it becomes unreadable.
pub const WW_NAND_REFRESH: c_int = 1;
/// `read`, `copy`: more bits are wrong than the code can correct. Nothing was programmed.
pub const WW_NAND_UNCORRECTABLE: c_int = -1;
/// `program`, `copy`: the chip says that the program failed.
pub const WW_NAND_PROGRAM_FAILED: c_int = -2;
/// `erase`: the chip says that the erase failed.
pub const WW_NAND_ERASE_FAILED: c_int = -3;
/// The chip does not answer. The library takes any number that is not listed here for this one.
pub const WW_NAND_UNRESPONSIVE: c_int = -4;

/// The shape of a NAND chip.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ww_geometry {
    /// Bytes of data in a page: a power of two, from 512 to 65536.
    pub page_bytes: u32,
    /// Bytes of a page's spare area that the error-correcting code covers and leaves free. With fewer than 16, the disk
    /// keeps its records in pages of their own; with a map on flash, or if `paired_pages` is not 1, a page of the disk
    /// is 512 bytes smaller than a page of the chip.
    pub spare_bytes: u32,
    /// Pages in a block.
    pub pages_per_block: u32,
    /// Blocks of the chip.
    pub blocks: u32,
    /// Dies. Each has the same number of blocks, and the blocks of one follow those of another. Usually 1.
    pub dies: u32,
    /// Pages that share cells: 1 for SLC, 2 for MLC, 3 for TLC. If it is too low, a power cut can destroy old data.
    pub paired_pages: u32,
}

impl ww_geometry {
    /// The shape as the engine's type; none if it is not valid.
    pub(crate) fn checked(&self) -> Option<NandGeometry> {
        let Self { page_bytes, spare_bytes, pages_per_block, blocks, dies, paired_pages } = *self;
        // The greatest number of 32 bits stands for no page. The numbers are the caller's, and their product may
        // overflow.
        let is_sound = page_bytes.is_power_of_two()
            && (512..=65536).contains(&page_bytes)
            && spare_bytes <= page_bytes
            && pages_per_block > 0
            && blocks.checked_mul(pages_per_block).is_some_and(|pages| pages > 0 && pages < u32::MAX)
            && dies > 0
            && blocks.is_multiple_of(dies)
            && (1..=pages_per_block).contains(&paired_pages);
        let program_order = ProgramOrder::Ascending;
        is_sound.then_some(NandGeometry {
            page_bytes,
            spare_bytes,
            pages_per_block,
            blocks,
            dies,
            paired_pages,
            program_order,
        })
    }
}

/// A driver: the chip's shape, and the functions that the library calls. Every callback gets `context` as its first
/// argument, and returns `WW_NAND_OK` or another of the numbers above. Its effect is durable when it returns. The
/// number of a page is `block * pages_per_block + page in block`.
///
/// A page is programmed once between two erases of its block, in ascending order. A page that was not programmed since
/// the erase reads as all ones. The struct is copied; `context` is not.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ww_driver {
    /// The driver's own data. May be null.
    pub context: *mut c_void,
    /// The chip's shape.
    pub geometry: ww_geometry,
    /// Reads a page: `page_bytes` into `data`, and `spare_bytes` into `spare`. Either is null if it is not needed.
    pub read: Option<unsafe extern "C" fn(context: *mut c_void, page: u32, data: *mut u8, spare: *mut u8) -> c_int>,
    /// Programs a page with `page_bytes` of `data`, and with `spare_bytes` of `spare`. The rest of the spare stays
    /// ones.
    pub program: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            page: u32,
            data: *const u8,
            spare: *const u8,
            spare_bytes: u32,
        ) -> c_int,
    >,
    /// Programs page `to` with the data and spare of page `from`, inside the chip. Reads the spare into `spare`, which
    /// may be null. If this callback is null, pages are copied by `read` and `program`.
    pub copy: Option<unsafe extern "C" fn(context: *mut c_void, from: u32, to: u32, spare: *mut u8) -> c_int>,
    /// Erases a block.
    pub erase: Option<unsafe extern "C" fn(context: *mut c_void, block: u32) -> c_int>,
    /// 1 if the block was bad from the factory or has been marked bad; 0 if not.
    pub is_bad: Option<unsafe extern "C" fn(context: *mut c_void, block: u32) -> c_int>,
    /// Marks a block bad, durably.
    pub mark_bad: Option<unsafe extern "C" fn(context: *mut c_void, block: u32) -> c_int>,
}

type Read = unsafe extern "C" fn(*mut c_void, u32, *mut u8, *mut u8) -> c_int;
type Program = unsafe extern "C" fn(*mut c_void, u32, *const u8, *const u8, u32) -> c_int;
type CopyPage = unsafe extern "C" fn(*mut c_void, u32, u32, *mut u8) -> c_int;
type OnBlock = unsafe extern "C" fn(*mut c_void, u32) -> c_int;

/// A driver with all required callbacks. The engine calls it.
///
/// Invariant: the caller of `new` promised that the callbacks are sound with this context and with buffers of this
/// shape.
pub(crate) struct Chip {
    context: *mut c_void,
    geometry: NandGeometry,
    read: Read,
    program: Program,
    copy: Option<CopyPage>,
    erase: OnBlock,
    is_bad: OnBlock,
    mark_bad: OnBlock,
    /// A page and its spare between `read` and `program`; empty if the driver copies, or nobody does.
    moved: Vec<u8>,
}

impl Chip {
    /// None if a callback is missing. Allocates. Pages are copied only if `copies`.
    ///
    /// # Safety
    /// The callbacks meet the contract of `ww_driver`.
    pub(crate) unsafe fn new(driver: &ww_driver, geometry: NandGeometry, copies: bool) -> Option<Self> {
        let ww_driver { context, copy, .. } = *driver;
        // Memory for a page is much on a small machine, so it is taken only if pages are copied here.
        let moved_bytes = if copy.is_some() || !copies { 0 } else { geometry.page_bytes + geometry.spare_bytes };
        Some(Self {
            context,
            geometry,
            read: driver.read?,
            program: driver.program?,
            copy,
            erase: driver.erase?,
            is_bad: driver.is_bad?,
            mark_bad: driver.mark_bad?,
            moved: alloc::vec![0; moved_bytes as usize],
        })
    }

    fn on_block(&mut self, callback: OnBlock, block: BlockAddr) -> Result<(), ErrorKind> {
        // SAFETY: the invariant.
        checked(unsafe { callback(self.context, block.0) }).map(drop)
    }

    /// Copies a page through memory.
    fn move_page(&mut self, from: PageAddr, to: PageAddr, spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        assert!(!self.moved.is_empty(), "whoever copies has said so");
        // Taken out for the time of the copy, since `read` and `program` borrow the driver as a whole.
        let mut moved = core::mem::take(&mut self.moved);
        let (data, moved_spare) = moved.split_at_mut(self.geometry.page_bytes as usize);
        let report = self.read(from, data, moved_spare).and_then(|report| {
            self.program(to, data, moved_spare)?;
            // After the program: if that fails, the caller gets nothing of the page.
            spare.copy_from_slice(&moved_spare[..spare.len()]);
            Ok(report)
        });
        self.moved = moved;
        report
    }
}

/// The meaning of a callback's number.
fn checked(code: c_int) -> Result<ReadReport, ErrorKind> {
    match code {
        WW_NAND_OK => Ok(ReadReport::default()),
        WW_NAND_REFRESH => Ok(ReadReport { refresh_soon: true, ..ReadReport::default() }),
        WW_NAND_UNCORRECTABLE => Err(ErrorKind::Uncorrectable),
        WW_NAND_PROGRAM_FAILED => Err(ErrorKind::ProgramFailed),
        WW_NAND_ERASE_FAILED => Err(ErrorKind::EraseFailed),
        _ => Err(ErrorKind::Unresponsive),
    }
}

/// A buffer for C, null if it is empty.
fn pointer_mut(bytes: &mut [u8]) -> *mut u8 {
    if bytes.is_empty() { ptr::null_mut() } else { bytes.as_mut_ptr() }
}

impl Nand for Chip {
    type Error = ErrorKind;

    fn geometry(&self) -> NandGeometry {
        self.geometry
    }

    fn read(&mut self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        // SAFETY: the invariant; buffers are whole or empty, by the trait's contract.
        checked(unsafe { (self.read)(self.context, page.0, pointer_mut(data), pointer_mut(spare)) })
    }

    fn program(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Result<(), ErrorKind> {
        let spare_bytes = spare.len() as u32;
        // SAFETY: the invariant; `data` is a whole page, and `spare` no longer than the chip's, by the trait's
        // contract.
        checked(unsafe { (self.program)(self.context, page.0, data.as_ptr(), spare.as_ptr(), spare_bytes) }).map(drop)
    }

    fn copy(&mut self, from: PageAddr, to: PageAddr, spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        let Some(copy) = self.copy else { return self.move_page(from, to, spare) };
        // SAFETY: the invariant; `spare` is whole or empty, by the trait's contract.
        checked(unsafe { copy(self.context, from.0, to.0, pointer_mut(spare)) })
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        self.on_block(self.erase, block)
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, ErrorKind> {
        // SAFETY: the invariant.
        match unsafe { (self.is_bad)(self.context, block.0) } {
            0 => Ok(false),
            1 => Ok(true),
            // 0 and 1 are the only numbers of success, so that this is always an error.
            code => checked(code).map(|_| false),
        }
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        self.on_block(self.mark_bad, block)
    }
}
