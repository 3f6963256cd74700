//! Histories that the torture found and shortened, as it printed them.

mod block;
mod block_cut_mounts;
mod block_half_erased;
mod block_media;
mod page_mounts;
mod paged;

use wearwell_flash::{NandGeometry, NorGeometry, ProgramOrder::*};
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

/// Pages were lost, no segment was free, and the empty ones waited for the record of the loss, which had no place.
#[test]
fn lost_pages_on_a_full_chip() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 32,
            pages_per_block: 8,
            blocks: 7,
            dies: 1,
            paired_pages: 1,
            program_order: Any,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: Page {
            blocks_per_segment: 1,
            policies: PolicyNames {
                when: "watermark:2:3",
                which: "cat",
                place: "hot-cold-readonly",
                wear: "dynamic",
                reclaim: "proactive",
            },
            aware: false,
            checkpoint: false,
        },
        logical_pages: 11,
        endurance: 100000,
        seed: 10230644956725479617,
    };
    let history = [
        Write { page: 0, count: 1, stream: 0, read_only: false },
        Write { page: 1, count: 1, stream: 0, read_only: false },
        Write { page: 3, count: 1, stream: 0, read_only: false },
        Write { page: 4, count: 1, stream: 0, read_only: false },
        Write { page: 5, count: 1, stream: 0, read_only: false },
        Write { page: 6, count: 1, stream: 0, read_only: false },
        Write { page: 7, count: 1, stream: 0, read_only: false },
        Write { page: 8, count: 1, stream: 0, read_only: false },
        Write { page: 9, count: 1, stream: 0, read_only: false },
        Write { page: 10, count: 1, stream: 0, read_only: false },
        Write { page: 2, count: 1, stream: 0, read_only: false },
        Write { page: 10, count: 1, stream: 0, read_only: false },
        Write { page: 5, count: 1, stream: 0, read_only: false },
        Write { page: 5, count: 1, stream: 0, read_only: false },
        Clean { pages: 11 },
        Write { page: 4, count: 1, stream: 0, read_only: false },
        Write { page: 2, count: 3, stream: 4, read_only: true },
        Cut { after: 2, draw: 24445 },
        Mount,
        Decay { draw: 4 },
        Cut { after: 0, draw: 49398 },
        Mount,
        Decay { draw: 7 },
        Cut { after: 4, draw: 15543 },
        Mount,
        Mount,
        Write { page: 6, count: 1, stream: 0, read_only: false },
    ];
    assert_holds(&setup, &history);
}

/// Every open segment was put aside because its bank was erasing, and their free slots were forgotten.
#[test]
fn room_in_segments_put_aside() {
    let setup = Setup {
        shape: Nor(NorGeometry { block_bytes: 8192, blocks: 8, banks: 1 }),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: NorPage {
            slots: 2,
            page_bytes: 1024,
            policies: PolicyNames {
                when: "watermark:1:1",
                which: "d-choices:3",
                place: "by-stream-shared",
                wear: "dynamic",
                reclaim: "at-once",
            },
        },
        logical_pages: 8,
        endurance: 100,
        seed: 10121955202005643274,
    };
    let history = [
        Write { page: 0, count: 1, stream: 28, read_only: false },
        Write { page: 0, count: 1, stream: 26, read_only: true },
        Write { page: 5, count: 3, stream: 0, read_only: false },
        Discard { sector: 4, count: 12 },
        Write { page: 0, count: 7, stream: 3, read_only: false },
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
        // What an erase had taken from a cut merge counted as sources of the last commit, of which a page had decayed.
        ("block-decay", 310_000_041),
        // A merge whose commit has decayed was a source.
        ("block-decay", 340_000_139),
        // A page was programmed over the record that it was lost.
        ("block-decay", 370_000_069),
    ];
    for (name, seed) in seeds {
        let (_, record) = torture(mode::named(name).expect("a mode of the list"), seed);
        assert_eq!(record.failure, None, "{name} {seed}");
    }
}
