//! Block mapping, when data decays or a mark fails.

use super::*;

/// A page of the block that a merge had read decayed, so that its erase seemed to have begun, and a commit that the cut
/// had harmed was believed.
#[test]
fn a_decayed_page_hides_no_flushed_one() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 64,
            pages_per_block: 12,
            blocks: 40,
            dies: 1,
            paired_pages: 4,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "fast-by-stream",
            recycle: "merge-only",
            log_blocks: 4,
            wear: "swap:1",
            reclaim: "at-once",
        },
        logical_pages: 45,
        endurance: 100,
        seed: 17877992847247838112,
    };
    let history = [
        Write { page: 7, count: 7, stream: 0, read_only: false },
        Write { page: 1, count: 1, stream: 0, read_only: false },
        Write { page: 0, count: 1, stream: 0, read_only: false },
        Write { page: 6, count: 1, stream: 0, read_only: false },
        Mount,
        Write { page: 4, count: 1, stream: 0, read_only: false },
        Write { page: 3, count: 1, stream: 0, read_only: false },
        Write { page: 2, count: 1, stream: 0, read_only: false },
        Cut { after: 4, draw: 41286 },
        Mount,
        Cut { after: 12, draw: 23520 },
        Mount,
        Decay { draw: 0 },
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// The mark of a failed block failed too, and what had been discarded came back from it.
#[test]
fn a_discard_does_not_come_back_from_a_block_that_failed() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 64,
            pages_per_block: 6,
            blocks: 23,
            dies: 1,
            paired_pages: 2,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "log-block",
            recycle: "merge-only",
            log_blocks: 4,
            wear: "dynamic",
            reclaim: "at-once",
        },
        logical_pages: 15,
        endurance: 100000,
        seed: 17788337470610169035,
    };
    let history = [
        Write { page: 9, count: 1, stream: 0, read_only: false },
        Write { page: 13, count: 1, stream: 0, read_only: false },
        Mount,
        Write { page: 14, count: 1, stream: 0, read_only: false },
        Write { page: 0, count: 1, stream: 0, read_only: false },
        Fail { after: 1, draw: 15364 },
        FailMark { after: 8 },
        Flush,
        Discard { sector: 10, count: 5 },
        Flush,
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// The commit of a data block with holes decayed, and the page that a cut hit in that block was not seen as the last.
#[test]
fn a_page_appended_behind_a_decayed_commit_is_rescued() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 2048,
            spare_bytes: 8,
            pages_per_block: 32,
            blocks: 52,
            dies: 2,
            paired_pages: 1,
            program_order: Any,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 2,
            scheme: "primary-replacement",
            recycle: "periodic:3",
            log_blocks: 3,
            wear: "static-threshold:2",
            reclaim: "at-once",
        },
        logical_pages: 1408,
        endurance: 100,
        seed: 1093818571770146411,
    };
    let history = [
        Mount,
        Cut { after: 4, draw: 21357 },
        Write { page: 1034, count: 3, stream: 0, read_only: false },
        Decay { draw: 0 },
        Mount,
        Write { page: 920, count: 1, stream: 0, read_only: false },
        Decay { draw: 0 },
        Mount,
        Decay { draw: 2 },
        Part { sector: 2854, count: 3, stream: 2 },
        Cut { after: 1, draw: 38173 },
        Flush,
        Mount,
        Mount,
        Cut { after: 5, draw: 50667 },
        Mount,
        Cut { after: 5, draw: 21814 },
        Mount,
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}
