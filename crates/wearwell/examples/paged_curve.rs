//! What a map on flash costs for how much memory: run with
//! `cargo run --release -p wearwell --example paged_curve [BLOCKS]`.
//!
//! 1,024 blocks of 64 pages of 2 KiB, or BLOCKS, a part of them filled and then overwritten at random. The first row
//! has the map in memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use wearwell::page::log::{MapLog, NandLog};
use wearwell::page::{PageConfig, PageFtl, Policies};
use wearwell::{BlockDevice, Lpn, NandGeometry, PagedConfig, PagedFtl, RamNand, Rng, WriteHint};

#[path = "paged_curve/chip.rs"]
mod chip;

use chip::{Chip, GEOMETRY, spread};

/// Counts the bytes that are allocated, and the most there were.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls go to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: as the caller has promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller has promised.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static MEMORY: Counting = Counting;

const READS: u32 = 50_000;

/// What a stream has cost: operations a page.
struct Cost {
    writes: f64,
    reads_a_write: f64,
    most_ops: u64,
    reads_a_read: f64,
    reads_in_order: f64,
}

/// Fills a device, overwrites it twice at random, and measures over a third time.
fn measure<F: BlockDevice>(
    ftl: &mut F,
    chip: impl Fn(&F) -> &Chip,
    logical_pages: u32,
    hot: bool,
) -> Result<Cost, Box<dyn std::error::Error>> {
    let (mut rng, mut page) = (Rng::new(1), [0; 2048]);
    for lpn in 0..logical_pages {
        ftl.write_page(Lpn(lpn), &page, WriteHint::NONE)?;
    }
    let next = |rng: &mut Rng| match rng.below(10) {
        1.. if hot => rng.below(logical_pages / 10),
        _ => rng.below(logical_pages),
    };
    for _ in 0..2 * logical_pages {
        ftl.write_page(Lpn(next(&mut rng)), &page, WriteHint::NONE)?;
    }
    let ops = |ftl: &F| (chip(ftl).reads, chip(ftl).programs, chip(ftl).erases);
    let before = ops(ftl);
    let mut most_ops = 0;
    for _ in 0..logical_pages {
        let (reads, programs, erases) = ops(ftl);
        ftl.write_page(Lpn(next(&mut rng)), &page, WriteHint::NONE)?;
        let after = ops(ftl);
        most_ops = most_ops.max(after.0 - reads + after.1 - programs + after.2 - erases);
    }
    let after = ops(ftl);
    let random = |rng: &mut Rng, _| rng.below(logical_pages);
    let mut read = |ftl: &mut F, pick: &dyn Fn(&mut Rng, u32) -> u32| -> Result<f64, wearwell::FtlError> {
        let before = chip(ftl).reads;
        for index in 0..READS {
            ftl.read_page(Lpn(pick(&mut rng, index)), &mut page)?;
        }
        Ok((chip(ftl).reads - before) as f64 / f64::from(READS))
    };
    let reads_a_read = read(ftl, &random)?;
    let reads_in_order = read(ftl, &|_, index| index % logical_pages)?;
    let a_page = |ops: u64| ops as f64 / f64::from(logical_pages);
    let (writes, reads_a_write) = (a_page(after.1 - before.1), a_page(after.0 - before.0));
    Ok(Cost { writes, reads_a_write, most_ops, reads_a_read, reads_in_order })
}

fn print(what: &str, bytes: usize, peak: usize, mount_reads: u64, cost: &Cost) {
    let Cost { writes, reads_a_write, most_ops, reads_a_read, reads_in_order } = cost;
    println!(
        "| {what} | {bytes} | {peak} | {writes:.2} | {reads_a_write:.2} | {most_ops} | {reads_a_read:.2} | \
         {reads_in_order:.2} | {mount_reads} |"
    );
}

fn in_memory(geometry: NandGeometry, logical_pages: u32, hot: bool) -> Result<(), Box<dyn std::error::Error>> {
    let ram = RamNand::new(geometry);
    let start = NOW.load(Ordering::Relaxed);
    let log = NandLog::new(Chip::new(ram), 1)?;
    let config = PageConfig { logical_pages, policies: Policies::default(), seed: 1, endurance: 100_000 };
    let mut ftl = PageFtl::format(log, (), config)?;
    let cost = measure(&mut ftl, |ftl| ftl.log().chip(), logical_pages, hot)?;
    let bytes = NOW.load(Ordering::Relaxed) - start;
    let log = ftl.into_log();
    let reads = log.chip().reads;
    MOST.store(0, Ordering::Relaxed);
    let (ftl, _) = PageFtl::mount(log, (), config)?;
    print("in memory", bytes, MOST.load(Ordering::Relaxed) - start, ftl.log().chip().reads - reads, &cost);
    Ok(())
}

fn on_flash(
    geometry: NandGeometry,
    logical_pages: u32,
    hot: bool,
    cache_entries: u32,
) -> Result<(), Box<dyn std::error::Error>> {
    let ram = RamNand::new(geometry);
    let start = NOW.load(Ordering::Relaxed);
    let log = MapLog::with_map(Chip::new(ram), 1)?;
    let config = PagedConfig::new(logical_pages, cache_entries);
    let mut ftl = PagedFtl::format(log, config)?;
    MOST.store(start, Ordering::Relaxed);
    let cost = measure(&mut ftl, |ftl| ftl.log().chip(), logical_pages, hot)?;
    let bytes = MOST.load(Ordering::Relaxed) - start;
    let spread = spread(&ftl);
    let log = ftl.into_log();
    let reads = log.chip().reads;
    MOST.store(0, Ordering::Relaxed);
    let (ftl, _) = PagedFtl::mount(log, config)?;
    let what = format!("{cache_entries} entries, erases differ by {spread}");
    print(&what, bytes, MOST.load(Ordering::Relaxed) - start, ftl.log().chip().reads - reads, &cost);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let blocks = std::env::args().nth(1).map_or(Ok(GEOMETRY.blocks), |blocks| blocks.parse())?;
    let geometry = NandGeometry { blocks, ..GEOMETRY };
    let pages = blocks * geometry.pages_per_block;
    for (what, percent, hot) in [("random", 80, false), ("random", 90, false), ("nine tenths to a tenth", 80, true)] {
        println!("\n{what}, {percent} % full\n");
        println!(
            "| map | bytes | peak of a mount | programs a write | reads a write | most operations | reads a read | in \
             order | reads of a mount |"
        );
        println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
        let logical_pages = pages / 100 * percent;
        in_memory(geometry, logical_pages, hot)?;
        for cache_entries in [2, 279, 480, 1040, 2560] {
            on_flash(geometry, logical_pages, hot, cache_entries)?;
        }
    }
    Ok(())
}
