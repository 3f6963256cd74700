//! Histories that the torture found and shortened, as it printed them.

use wearwell_flash::{NandGeometry, ProgramOrder::*};
use wearwell_torture::history::Step::{self, *};
use wearwell_torture::nand::{Driver::*, Temper};
use wearwell_torture::replay;
use wearwell_torture::setup::{Engine::*, PolicyNames, Setup, Shape::*};

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
        },
        logical_pages: 60,
        endurance: 100_000,
        seed: 1,
    };
    let history = [Write { page: 5, count: 1, stream: 0, read_only: false }, Flush, Decay { draw: 0 }, Mount, Verify];
    assert_holds(&setup, &history);
}
