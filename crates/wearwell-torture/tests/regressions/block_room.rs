//! Block mapping that found no free segment, though nothing had failed: several mounts in a row were cut, and each left
//! something that the next one kept.

use super::*;

/// Merges of a mount whose erase was cut were taken for completed log blocks, since their heads were gone.
#[test]
fn a_merge_without_a_head_goes() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 64,
            pages_per_block: 6,
            blocks: 8,
            dies: 1,
            paired_pages: 1,
            program_order: Any,
        }),
        temper: Temper { mixed_erases: true, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "log-block",
            recycle: "cost-based",
            log_blocks: 1,
            wear: "dynamic",
            reclaim: "at-once",
        },
        logical_pages: 23,
        endurance: 100000,
        seed: 1951858943594955535,
    };
    let history = [
        Write { page: 11, count: 1, stream: 0, read_only: false },
        Write { page: 22, count: 1, stream: 0, read_only: false },
        Write { page: 14, count: 1, stream: 0, read_only: false },
        Write { page: 3, count: 1, stream: 0, read_only: false },
        Write { page: 14, count: 1, stream: 0, read_only: false },
        Cut { after: 0, draw: 25087 },
        Mount,
        Cut { after: 3, draw: 552 },
        Mount,
        Cut { after: 5, draw: 22981 },
        Mount,
        Cut { after: 3, draw: 16583 },
        Mount,
        Cut { after: 4, draw: 7312 },
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// The same, where log blocks are shared.
#[test]
fn a_merge_without_a_head_goes_where_logs_are_shared() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 32,
            pages_per_block: 4,
            blocks: 30,
            dies: 1,
            paired_pages: 2,
            program_order: Any,
        }),
        temper: Temper { mixed_erases: true, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "fast",
            recycle: "periodic:3",
            log_blocks: 2,
            wear: "swap:1",
            reclaim: "at-once",
        },
        logical_pages: 100,
        endurance: 100,
        seed: 2424072020205150881,
    };
    let history = [
        Write { page: 23, count: 1, stream: 0, read_only: false },
        Write { page: 24, count: 1, stream: 0, read_only: false },
        Write { page: 31, count: 1, stream: 0, read_only: false },
        Write { page: 32, count: 1, stream: 0, read_only: false },
        Write { page: 39, count: 1, stream: 0, read_only: false },
        Write { page: 43, count: 1, stream: 0, read_only: false },
        Write { page: 45, count: 1, stream: 0, read_only: false },
        Write { page: 51, count: 1, stream: 0, read_only: false },
        Write { page: 52, count: 1, stream: 0, read_only: false },
        Write { page: 59, count: 1, stream: 0, read_only: false },
        Write { page: 63, count: 1, stream: 0, read_only: false },
        Write { page: 64, count: 1, stream: 0, read_only: false },
        Write { page: 71, count: 1, stream: 0, read_only: false },
        Write { page: 72, count: 1, stream: 0, read_only: false },
        Write { page: 79, count: 1, stream: 0, read_only: false },
        Write { page: 83, count: 1, stream: 0, read_only: false },
        Write { page: 85, count: 1, stream: 0, read_only: false },
        Write { page: 91, count: 1, stream: 0, read_only: false },
        Write { page: 92, count: 1, stream: 0, read_only: false },
        Write { page: 99, count: 1, stream: 0, read_only: false },
        Write { page: 0, count: 1, stream: 0, read_only: false },
        Write { page: 10, count: 1, stream: 0, read_only: false },
        Flush,
        Write { page: 6, count: 1, stream: 0, read_only: false },
        Write { page: 9, count: 1, stream: 0, read_only: false },
        Write { page: 15, count: 1, stream: 0, read_only: false },
        Write { page: 17, count: 1, stream: 0, read_only: false },
        Write { page: 17, count: 1, stream: 0, read_only: false },
        Write { page: 8, count: 1, stream: 0, read_only: false },
        Cut { after: 3, draw: 21001 },
        Mount,
        Cut { after: 3, draw: 40017 },
        Mount,
        Cut { after: 4, draw: 45032 },
        Mount,
        Cut { after: 5, draw: 22061 },
        Mount,
        Cut { after: 5, draw: 20203 },
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// Merges whose erase was cut were taken for primary blocks, since their heads were erased.
#[test]
fn a_merge_without_a_head_is_no_primary_block() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 2048,
            spare_bytes: 0,
            pages_per_block: 5,
            blocks: 20,
            dies: 1,
            paired_pages: 1,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: true, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "primary-replacement",
            recycle: "optimal",
            log_blocks: 3,
            wear: "dynamic",
            reclaim: "at-once",
        },
        logical_pages: 80,
        endurance: 100000,
        seed: 11870585705933271599,
    };
    let history = [
        Write { page: 74, count: 1, stream: 0, read_only: false },
        Write { page: 14, count: 1, stream: 0, read_only: false },
        Write { page: 38, count: 1, stream: 0, read_only: false },
        Write { page: 55, count: 6, stream: 0, read_only: false },
        Write { page: 38, count: 1, stream: 0, read_only: false },
        Write { page: 66, count: 1, stream: 0, read_only: false },
        Write { page: 78, count: 2, stream: 0, read_only: false },
        Write { page: 8, count: 1, stream: 0, read_only: false },
        Write { page: 79, count: 1, stream: 0, read_only: false },
        Write { page: 14, count: 7, stream: 0, read_only: false },
        Write { page: 4, count: 1, stream: 0, read_only: false },
        Write { page: 73, count: 1, stream: 0, read_only: false },
        Write { page: 1, count: 1, stream: 0, read_only: false },
        Part { sector: 167, count: 3, stream: 1 },
        Shutdown,
        Cut { after: 0, draw: 49297 },
        Mount,
        Cut { after: 4, draw: 60091 },
        Mount,
        Cut { after: 0, draw: 34391 },
        Mount,
        Cut { after: 5, draw: 53299 },
        Mount,
        Cut { after: 0, draw: 52899 },
        Mount,
        Cut { after: 5, draw: 36469 },
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}
