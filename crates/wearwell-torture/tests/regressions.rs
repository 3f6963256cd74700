//! Histories that the torture found and shortened, as it printed them.

use wearwell_flash::{NandGeometry, ProgramOrder::*};
use wearwell_torture::history::Step::{self, *};
use wearwell_torture::nand::{Driver::*, Temper};
use wearwell_torture::setup::{Engine::*, PolicyNames, Setup, Shape::*};
use wearwell_torture::{mode, replay, torture};

fn assert_holds(setup: &Setup, history: &[Step]) {
    assert_eq!(replay(setup, history).failure, None);
}

/// The header of an open segment decays, and the segment is taken for one whose erase was cut. The table of promises says so.
#[test]
fn decay_of_a_header() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 32,
            pages_per_block: 6,
            blocks: 41,
            dies: 1,
            paired_pages: 1,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: Page {
            blocks_per_segment: 1,
            policies: PolicyNames {
                when: "watermark:3:4",
                which: "greedy",
                place: "single",
                wear: "none",
                reclaim: "at-once",
            },
            aware: false,
        },
        logical_pages: 60,
        endurance: 100_000,
        seed: 1,
    };
    let history = [Write { page: 5, count: 1, stream: 0, read_only: false }, Flush, Decay { draw: 0 }, Mount, Verify];
    assert_holds(&setup, &history);
}

/// Block mapping programmed a page again after the driver had answered `Other`.
#[test]
fn a_page_that_may_have_been_programmed_is_left() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 1024,
            spare_bytes: 8,
            pages_per_block: 7,
            blocks: 36,
            dies: 1,
            paired_pages: 4,
            program_order: Any,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "fast-by-stream",
            recycle: "periodic:3",
            log_blocks: 4,
            wear: "static-threshold:2",
            reclaim: "at-once",
        },
        logical_pages: 203,
        endurance: 100000,
        seed: 8626577183029265843,
    };
    let history = [
        Other { after: 0, draw: 60407 },
        Write { page: 111, count: 1, stream: 1, read_only: false },
        Write { page: 109, count: 1, stream: 1, read_only: false },
    ];
    assert_holds(&setup, &history);
}

/// Rule 3 of the mount of block mapping: the last commit may fade, and the data block that it replaced was erased already.
#[test]
fn the_oldest_data_block_stays_until_the_last_commit_lasts() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 32,
            pages_per_block: 5,
            blocks: 76,
            dies: 4,
            paired_pages: 3,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "primary-replacement",
            recycle: "cost-based",
            log_blocks: 6,
            wear: "none",
            reclaim: "at-once",
        },
        logical_pages: 154,
        endurance: 100,
        seed: 9614277215355476601,
    };
    let history = [
        Write { page: 13, count: 1, stream: 0, read_only: false },
        Write { page: 14, count: 1, stream: 0, read_only: false },
        Write { page: 8, count: 5, stream: 0, read_only: false },
        Mount,
        Cut { after: 5, draw: 28816 },
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// The same for a log block whose pages the last commit replaced.
#[test]
fn log_blocks_stay_until_the_rescue_is_over() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 1024,
            spare_bytes: 64,
            pages_per_block: 4,
            blocks: 46,
            dies: 2,
            paired_pages: 2,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: true },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "fast-by-stream",
            recycle: "optimal",
            log_blocks: 4,
            wear: "static-threshold:2",
            reclaim: "at-once",
        },
        logical_pages: 15,
        endurance: 100,
        seed: 17344330829166423738,
    };
    let history = [
        Part { sector: 3, count: 1, stream: 0 },
        Flush,
        Write { page: 7, count: 1, stream: 0, read_only: false },
        Mount,
        Cut { after: 2, draw: 4928 },
        Part { sector: 0, count: 6, stream: 1 },
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// Rule 6: log blocks of which only the first group was programmed, and harmed, used up the free segments of a mount.
#[test]
fn cut_heads_of_log_blocks_use_up_no_segments() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 2048,
            spare_bytes: 64,
            pages_per_block: 12,
            blocks: 15,
            dies: 1,
            paired_pages: 3,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: true, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "fast-by-stream",
            recycle: "optimal",
            log_blocks: 4,
            wear: "swap:1",
            reclaim: "at-once",
        },
        logical_pages: 96,
        endurance: 100000,
        seed: 11336595510392579190,
    };
    let history = [
        Write { page: 62, count: 1, stream: 0, read_only: false },
        Write { page: 16, count: 5, stream: 4, read_only: false },
        Write { page: 76, count: 1, stream: 0, read_only: false },
        Write { page: 43, count: 8, stream: 0, read_only: false },
        Write { page: 11, count: 7, stream: 1, read_only: false },
        Part { sector: 381, count: 1, stream: 0 },
        Write { page: 33, count: 1, stream: 1, read_only: false },
        Flush,
        Mount,
        Write { page: 3, count: 1, stream: 0, read_only: false },
        Part { sector: 192, count: 4, stream: 1 },
        Write { page: 18, count: 1, stream: 2, read_only: false },
        Cut { after: 3, draw: 32714 },
        Mount,
        Cut { after: 5, draw: 4789 },
        Mount,
        Cut { after: 4, draw: 35083 },
        Mount,
        Cut { after: 3, draw: 60371 },
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// A cut erase leaves a page of its block to fade, and the mount believes it in place of its copy.
#[test]
fn uncertain_ties() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 2048,
            spare_bytes: 16,
            pages_per_block: 12,
            blocks: 12,
            dies: 1,
            paired_pages: 2,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: true, fading_pairs: false },
        driver: Honest,
        engine: Page {
            blocks_per_segment: 1,
            policies: PolicyNames {
                when: "watermark:2:3",
                which: "cat",
                place: "by-stream",
                wear: "none",
                reclaim: "proactive",
            },
            aware: true,
        },
        logical_pages: 14,
        endurance: 100_000,
        seed: 15_317_133_290_626_335_067,
    };
    let history = [
        Write { page: 1, count: 1, stream: 0, read_only: false },
        Mount,
        Write { page: 0, count: 1, stream: 0, read_only: false },
        Cut { after: 0, draw: 49799 },
        Write { page: 7, count: 1, stream: 0, read_only: false },
        Mount,
        Write { page: 1, count: 1, stream: 0, read_only: false },
        Part { sector: 48, count: 3, stream: 1 },
        Part { sector: 29, count: 3, stream: 1 },
        Flush,
        Write { page: 5, count: 1, stream: 2, read_only: false },
        Write { page: 1, count: 1, stream: 2, read_only: true },
        Write { page: 9, count: 1, stream: 20, read_only: false },
        Cut { after: 1, draw: 28832 },
        Write { page: 2, count: 1, stream: 0, read_only: false },
        Mount,
        Mount,
        Cut { after: 4, draw: 40179 },
        Write { page: 5, count: 1, stream: 0, read_only: false },
        Mount,
        Cut { after: 6, draw: 63919 },
        Write { page: 13, count: 1, stream: 0, read_only: false },
        Mount,
        Cut { after: 1, draw: 12135 },
        Write { page: 13, count: 1, stream: 0, read_only: false },
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// Seeds whose histories are long, and that failed before what is named there was repaired.
#[test]
fn seeds_that_failed_hold() {
    let seeds = [
        // Each mount copied again what the last had rescued, until no segment was free.
        ("decay", 500_031),
        // A segment that had lost its summary had one more page to be rescued.
        ("decay", 424_266),
        // All headers had decayed, and the chip was called foreign.
        ("decay", 500_017),
        // A copy that was made later was taken for what a rescue had copied, and the rescue for certain.
        ("mixed", 424_313),
    ];
    for (name, seed) in seeds {
        let (_, record) = torture(mode::named(name).expect("a mode of the list"), seed);
        assert_eq!(record.failure, None, "{name} {seed}");
    }
}
