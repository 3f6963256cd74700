//! Histories that the torture found and shortened, as it printed them.

use wearwell_flash::{NandGeometry, ProgramOrder::*};
use wearwell_torture::history::Step::{self, *};
use wearwell_torture::nand::{Driver::*, Temper};
use wearwell_torture::setup::{Engine::*, PolicyNames, Setup, Shape::*};
use wearwell_torture::{mode, replay, torture};

fn assert_holds(setup: &Setup, history: &[Step]) {
    assert_eq!(replay(setup, history).failure, None);
}

/// The header of an open segment decays, and the segment is taken for one whose erase was cut. The table of promises
/// says so.
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
            checkpoint: false,
        },
        logical_pages: 60,
        endurance: 100_000,
        seed: 1,
    };
    let history = [Write { page: 5, count: 1, stream: 0, read_only: false }, Flush, Decay { draw: 0 }, Mount, Verify];
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
            checkpoint: false,
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
