//! The memory that a disk on NAND needs.
//!
//! Every table counts with its largest size, so the result is enough for the worst case, the mount after a power cut.
//! For a map on flash, `paged/memory.rs` has the sizes.
//! The data of a probe is not counted, and neither are sectors written through [`Disk::device`](super::Disk::device).

use wearwell_flash::NandGeometry;

use super::Config;
use crate::buffer::WriteBuffer;
use crate::clean::which::VictimChoice;
use crate::losses::Losses;
use crate::page::log::{Discards, Layout, LogShape, TAG_BYTES, Tag, shape_on};
use crate::page::{FOUND_BYTES, LISTS_OF_SUSPECTS, LISTS_OF_TIES};
use crate::paged::PagedConfig;
use crate::paged::place::StreamPlacement;
use crate::place::{ClassPlacement, PlaceChoice, Shape};
use crate::segments::Segments;
use crate::tournament::Tournament;

/// The most tables, and the bytes that an allocator may add to each.
const TABLES: usize = 64;
const BYTES_A_TABLE: usize = 32;

/// Segments whose data a cut leaves in two copies: victims that were not erased yet.
const TIED_SEGMENTS: usize = 2;

/// A list that grows by doubling takes up to twice its content, and half of that again while it grows.
const GROWING: usize = 3;

impl<V: VictimChoice, W: PlaceChoice> Config<V, W> {
    /// Bytes of memory that are enough for a [`Disk`](super::Disk) of this configuration on a NAND chip of this shape:
    /// to format it, to mount it after any power cut, and from then on. None if there can be no such disk.
    ///
    /// This supposes an allocator that wastes little. The engine itself and the driver are not included: see
    /// [`Disk::ENGINE_BYTES`](super::Disk::ENGINE_BYTES). A placement with tables of its own is built to ask for their
    /// size.
    pub fn arena_bytes(&self, geometry: &NandGeometry) -> Option<usize> {
        let Self { blocks_per_segment, .. } = *self;
        // As `Medium::into_log` checks it: `Stripe` would panic.
        let is_even = blocks_per_segment > 0 && geometry.dies.is_multiple_of(blocks_per_segment);
        if !is_even && blocks_per_segment != 1 {
            return None;
        }
        let shape = shape_on(geometry, blocks_per_segment).ok()?;
        let parts = self.engine().check(self.engine().policies.place.classes(), &shape, Discards::Logged).ok()?;
        let pages = self.logical_pages.checked_add(parts)?;
        let kept = of_pages(self, &shape, pages)?.checked_add(of_segments(self, &shape))?;
        let worst = of_mount(&shape, pages)?.max(of_sealing(&shape));
        kept.checked_add(worst)?.checked_add(of_buffers(&shape, geometry, parts))?.checked_add(TABLES * BYTES_A_TABLE)
    }
}

impl<V, W: StreamPlacement> PagedConfig<V, W> {
    /// Bytes of memory that are enough for a [`Disk`](super::Disk) of this configuration on a NAND chip of this shape:
    /// to format it, to mount it after any power cut, and from then on. None if there can be no such disk.
    ///
    /// This supposes an allocator that wastes little. The engine itself and the driver are not included: see
    /// [`Disk::ENGINE_BYTES`](super::Disk::ENGINE_BYTES). It is known when the program is built, so that a `static` can
    /// be as large:
    ///
    /// ```
    /// use wearwell::{NandGeometry, PagedConfig};
    ///
    /// const CHIP: NandGeometry =
    ///     NandGeometry { page_bytes: 2048, spare_bytes: 64, pages_per_block: 64, blocks: 1024, ..NandGeometry::SLC };
    /// const DISK: PagedConfig = PagedConfig::new(52_428, 279);
    /// const ARENA_BYTES: usize = DISK.arena_bytes(&CHIP).expect("there is room");
    /// static ARENA: [u8; ARENA_BYTES] = [0; ARENA_BYTES];
    /// ```
    pub const fn arena_bytes(&self, geometry: &NandGeometry) -> Option<usize> {
        match Layout::with_map(geometry, 1) {
            Ok(layout) => self.most_bytes(&layout.shape(), geometry),
            Err(_) => None,
        }
    }
}

/// The map, and the other tables with an entry for each page.
fn of_pages<V: VictimChoice, W: PlaceChoice>(config: &Config<V, W>, shape: &LogShape, pages: u32) -> Option<usize> {
    let physical = (shape.segments as usize).checked_mul(shape.slots as usize)?;
    // As if each segment had words of its own, which is an upper bound.
    let live = shape.segments as usize * shape.slots.div_ceil(u64::BITS) as usize * size_of::<u64>();
    let sizes = Shape { logical_pages: pages, segments: shape.segments, slots: shape.slots };
    let of_placement = config.policies.place.build(sizes).table_bytes() as usize;
    let logical = (pages as usize).checked_mul(4)?.checked_add(of_placement)?;
    physical.checked_mul(4)?.checked_add(logical)?.checked_add(live + Losses::bytes(pages))
}

/// The tables with an entry for each segment: the segment table, dead pages, empty segments, free segments, and the
/// lists of the victim policy.
fn of_segments<V: VictimChoice, W: PlaceChoice>(config: &Config<V, W>, shape: &LogShape) -> usize {
    let banks = shape.banks as usize;
    // The 4 bytes are the count of a bank's free segments.
    let free = banks * (Tournament::bytes(shape.segments.div_ceil(shape.banks)) + size_of::<Tournament>() + 4);
    let victims = config.policies.which.table_bytes(shape.segments, shape.slots) as usize;
    // One more class is wear leveling's.
    let open = (config.policies.place.classes() as usize + 1) * (shape.slots as usize * TAG_BYTES + 64);
    // With tag pages: the tags of a segment that is copied from, and of two in which programs failed.
    let of_tag_pages = 2 * shape.slots as usize * (TAG_BYTES + size_of::<Option<Tag>>()) + 256;
    let of_source = if shape.data_slots < shape.slots { of_tag_pages } else { 0 };
    // 4 bytes are the count of dead pages, and 4 a place in the queue of empty segments.
    shape.segments as usize * (Segments::BYTES_PER_SEGMENT + 4 + 4) + free + victims + open + of_source
}

/// Pages of bytes, and two flags for each part of the discard map.
fn of_buffers(shape: &LogShape, geometry: &NandGeometry, parts: u32) -> usize {
    let of_log = (geometry.page_bytes + geometry.spare_bytes) as usize;
    let of_commands = 2 * shape.page_bytes as usize;
    of_log + of_commands + 2 * parts as usize + WriteBuffer::bytes(shape.page_bytes)
}

/// Memory that a mount needs and frees. First it has a sequence number for each page, the scan of a segment, and lists
/// of the pages that a cut may have hit and of those with copies. Then it frees the numbers and rescues the pages.
///
/// A cut hits one group of each open segment. Over several sessions, every segment may have been open at a cut. A cut
/// leaves copies of the pages of a few segments. A chip with more copies than any cut leaves may need more memory; the
/// mount then returns an error.
fn of_mount(shape: &LogShape, pages: u32) -> Option<usize> {
    let slots = shape.slots as usize;
    let suspects = shape.segments as usize * shape.group_pages as usize;
    let ties = TIED_SEGMENTS * slots;
    let lists = (suspects + ties) * FOUND_BYTES * GROWING;
    let settling = ties * FOUND_BYTES * LISTS_OF_TIES;
    let rescuing = (suspects + ties) * FOUND_BYTES * LISTS_OF_SUSPECTS;
    let scanned =
        GROWING * (slots * size_of::<Option<Tag>>() + shape.overhead_pages as usize * shape.page_bytes as usize);
    let finding = (pages as usize).checked_mul(size_of::<u64>())?.checked_add(lists + settling)?;
    finding.max(lists + rescuing).checked_add(scanned)
}

/// Memory that closing a segment, or a pass over all segments, needs and frees.
fn of_sealing(shape: &LogShape) -> usize {
    shape.slots as usize * (TAG_BYTES + size_of::<u32>()) + 64
}
