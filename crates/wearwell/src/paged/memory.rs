//! The memory that the engine needs, at most.

use wearwell_flash::NandGeometry;

use super::PagedConfig;
use super::cache::Form;
use super::config::Plan;
use super::place::StreamPlacement;
use super::table::{SegSet, Table};
use crate::addr::{Lpn, Ppn, Seg};
use crate::page::log::{LogShape, TAG_BYTES, Tag};

/// The most tables at any time, and the bytes that an allocator may add to each.
const TABLES: usize = 19;
const BYTES_A_TABLE: usize = 32;

/// Bytes of the list of open segments in the log.
const OPEN_LIST_BYTES: usize = 128;

impl<V, W: StreamPlacement> PagedConfig<V, W> {
    /// Bytes that the engine allocates at most on a chip of this shape: as it is formatted, in a mount after any power
    /// cut, and from then on. None if there can be no such device.
    pub(crate) const fn most_bytes(&self, shape: &LogShape, geometry: &NandGeometry) -> Option<usize> {
        let Ok(plan) = self.plan(shape) else { return None };
        let slots = shape.slots as usize;
        let entry_bytes = Form::new(self.logical_pages, plan.entry_bytes).bytes();
        let Some(entries) = (self.cache_entries as usize).checked_add(slots) else { return None };
        let Some(of_cache) = entries.checked_mul(entry_bytes) else { return None };
        let of_parts = plan.parts as usize * size_of::<Ppn>();
        let of_segments = shape.segments as usize * Table::BYTES_PER_SEGMENT;
        let pages = (geometry.page_bytes + geometry.spare_bytes + shape.page_bytes) as usize;
        let victims = slots * size_of::<(Lpn, u32)>();
        let (in_service, in_mount) = (in_service(shape, W::HOST_STREAMS), in_mount(shape, &plan));
        let worst = if in_service > in_mount { in_service } else { in_mount };
        let others = of_parts + of_segments + pages + victims + OPEN_LIST_BYTES + worst + TABLES * BYTES_A_TABLE;
        of_cache.checked_add(others)
    }
}

/// The tags of a segment that is being filled.
const fn of_open(shape: &LogShape) -> usize {
    shape.slots as usize * TAG_BYTES
}

/// What the scan of a segment finds: its tags, the slots that cannot be read, and a summary of several pages.
const fn of_scan(shape: &LogShape) -> usize {
    let of_summary = if is_in_one_page(shape) { 0 } else { shape.overhead_pages as usize * shape.page_bytes as usize };
    shape.slots as usize * (size_of::<Option<Tag>>() + size_of::<u32>()) + of_summary
}

/// True if a summary takes one page, so that it is read without a scan: a header and a summary are all the overhead.
const fn is_in_one_page(shape: &LogShape) -> bool {
    shape.overhead_pages == 2
}

/// Beside the tables: each stream of the host's, that of copies and that of translation pages fill a segment.
const fn in_service(shape: &LogShape, host_streams: u32) -> usize {
    (host_streams as usize + 2) * of_open(shape) + if is_in_one_page(shape) { 0 } else { of_scan(shape) }
}

/// In a mount, beside the tables: numbers of the translation pages and two sets of segments. With them, first a scan,
/// and then two segments that are filled from a list of victims.
const fn in_mount(shape: &LogShape, plan: &Plan) -> usize {
    let set = SegSet::bytes(shape.segments);
    let found = plan.parts as usize * size_of::<u64>() + 2 * set;
    let moving = 2 * of_open(shape) + shape.slots as usize * size_of::<Seg>();
    let reading = if is_in_one_page(shape) { 0 } else { of_scan(shape) };
    let (scanning, moving) = (of_scan(shape), moving + reading);
    found + if scanning > moving { scanning } else { moving }
}
