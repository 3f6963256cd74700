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

/// A program failed, then the mark of the block that was to take the rest, and what the first had left was believed by a
/// mount behind newer pages, and faded.
#[test]
fn what_a_failed_program_left_goes_first() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 16,
            pages_per_block: 64,
            blocks: 13,
            dies: 1,
            paired_pages: 1,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "fast",
            recycle: "merge-only",
            log_blocks: 5,
            wear: "swap:1",
            reclaim: "at-once",
        },
        logical_pages: 277,
        endurance: 100000,
        seed: 16416765245742131713,
    };
    let history = [
        Write { page: 46, count: 2, stream: 0, read_only: false },
        Write { page: 2, count: 1, stream: 0, read_only: false },
        Write { page: 40, count: 6, stream: 0, read_only: false },
        Write { page: 7, count: 1, stream: 0, read_only: false },
        Write { page: 5, count: 1, stream: 0, read_only: false },
        Write { page: 8, count: 1, stream: 0, read_only: false },
        Write { page: 15, count: 1, stream: 0, read_only: false },
        Write { page: 34, count: 1, stream: 0, read_only: false },
        Write { page: 1, count: 1, stream: 0, read_only: false },
        Write { page: 17, count: 1, stream: 0, read_only: false },
        Write { page: 13, count: 1, stream: 0, read_only: false },
        Write { page: 50, count: 5, stream: 0, read_only: false },
        Write { page: 20, count: 1, stream: 0, read_only: false },
        Write { page: 6, count: 1, stream: 0, read_only: false },
        Fail { after: 0, draw: 3892 },
        Fail { after: 11, draw: 16123 },
        FailMark { after: 12 },
        FailMark { after: 14 },
        Write { page: 32, count: 1, stream: 0, read_only: false },
        Write { page: 18, count: 1, stream: 0, read_only: false },
        Write { page: 26, count: 1, stream: 0, read_only: false },
        Fail { after: 31, draw: 33853 },
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// A page of an old data block decayed. The mount took the block for half-erased and erased it before the new one was
/// certain.
#[test]
fn one_page_that_is_gone_may_have_decayed() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 32,
            pages_per_block: 7,
            blocks: 60,
            dies: 2,
            paired_pages: 1,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 2,
            scheme: "fast-by-stream",
            recycle: "optimal",
            log_blocks: 7,
            wear: "dynamic",
            reclaim: "at-once",
        },
        logical_pages: 154,
        endurance: 100,
        seed: 2928337807576005122,
    };
    let history = [
        Write { page: 2, count: 1, stream: 0, read_only: false },
        Write { page: 125, count: 1, stream: 1, read_only: false },
        Write { page: 20, count: 1, stream: 0, read_only: false },
        Write { page: 144, count: 1, stream: 0, read_only: false },
        Write { page: 111, count: 1, stream: 0, read_only: false },
        Write { page: 13, count: 1, stream: 1, read_only: false },
        Shutdown,
        Decay { draw: 1 },
        Cut { after: 62, draw: 65022 },
        Mount,
        Mount,
        Write { page: 75, count: 1, stream: 1, read_only: false },
        Write { page: 20, count: 1, stream: 2, read_only: false },
        Write { page: 12, count: 1, stream: 0, read_only: false },
        Write { page: 28, count: 1, stream: 0, read_only: false },
        Cut { after: 12, draw: 48691 },
        Mount,
        Mount,
        Write { page: 28, count: 1, stream: 0, read_only: false },
        Write { page: 1, count: 1, stream: 0, read_only: false },
        Write { page: 100, count: 1, stream: 1, read_only: false },
        Write { page: 50, count: 1, stream: 0, read_only: false },
        Mount,
        Write { page: 96, count: 1, stream: 0, read_only: false },
        Write { page: 96, count: 1, stream: 22, read_only: false },
        Cut { after: 3, draw: 42410 },
        Write { page: 10, count: 1, stream: 4, read_only: false },
        Cut { after: 0, draw: 53830 },
        Mount,
        Mount,
        Mount,
        Write { page: 19, count: 1, stream: 0, read_only: false },
        Cut { after: 23, draw: 45604 },
        Write { page: 18, count: 1, stream: 1, read_only: false },
        Mount,
        Write { page: 9, count: 1, stream: 1, read_only: false },
        Write { page: 87, count: 1, stream: 0, read_only: false },
        Write { page: 23, count: 1, stream: 0, read_only: false },
        Mount,
        Write { page: 48, count: 1, stream: 1, read_only: false },
        Write { page: 153, count: 1, stream: 2, read_only: false },
        Write { page: 56, count: 1, stream: 0, read_only: false },
        Write { page: 27, count: 1, stream: 0, read_only: false },
        Write { page: 94, count: 1, stream: 0, read_only: false },
        Mount,
        Fail { after: 2, draw: 44127 },
        Cut { after: 29, draw: 24551 },
        Write { page: 20, count: 1, stream: 0, read_only: false },
        Cut { after: 4, draw: 15122 },
        Mount,
        Cut { after: 2, draw: 53088 },
        Mount,
        Decay { draw: 8 },
        Cut { after: 5, draw: 32507 },
        Mount,
        Cut { after: 2, draw: 48442 },
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// The commit of a data block decays, where log blocks are shared: what was discarded before it is as it was before the
/// discard. The table of promises says so.
#[test]
fn discards_before_a_commit_that_decays() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 16,
            pages_per_block: 12,
            blocks: 20,
            dies: 1,
            paired_pages: 1,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "fast",
            recycle: "periodic:3",
            log_blocks: 5,
            wear: "swap:1",
            reclaim: "at-once",
        },
        logical_pages: 144,
        endurance: 100000,
        seed: 11187573478635583568,
    };
    let history = [
        Write { page: 64, count: 1, stream: 0, read_only: false },
        Write { page: 70, count: 1, stream: 0, read_only: false },
        Write { page: 68, count: 1, stream: 0, read_only: false },
        Write { page: 27, count: 1, stream: 0, read_only: false },
        Write { page: 97, count: 1, stream: 0, read_only: false },
        Write { page: 106, count: 1, stream: 0, read_only: false },
        Write { page: 109, count: 1, stream: 0, read_only: false },
        Write { page: 134, count: 1, stream: 0, read_only: false },
        Write { page: 133, count: 1, stream: 0, read_only: false },
        Write { page: 14, count: 1, stream: 0, read_only: false },
        Write { page: 49, count: 1, stream: 0, read_only: false },
        Write { page: 54, count: 1, stream: 0, read_only: false },
        Discard { sector: 132, count: 6 },
        Flush,
        Write { page: 0, count: 1, stream: 0, read_only: false },
        Decay { draw: 27423 },
        Mount,
        Write { page: 133, count: 1, stream: 0, read_only: false },
        Write { page: 76, count: 1, stream: 0, read_only: false },
        Write { page: 34, count: 1, stream: 0, read_only: false },
        Write { page: 97, count: 1, stream: 0, read_only: false },
        Write { page: 133, count: 1, stream: 0, read_only: false },
        Write { page: 89, count: 1, stream: 0, read_only: false },
        Write { page: 87, count: 1, stream: 0, read_only: false },
        Write { page: 128, count: 1, stream: 0, read_only: false },
        Write { page: 143, count: 1, stream: 0, read_only: false },
        Mount,
        Write { page: 8, count: 1, stream: 0, read_only: false },
        Cut { after: 0, draw: 12105 },
        Write { page: 56, count: 1, stream: 0, read_only: false },
        Decay { draw: 53006 },
        Mount,
        Cut { after: 4, draw: 1739 },
        Mount,
        Mount,
        Write { page: 121, count: 1, stream: 0, read_only: false },
        Write { page: 38, count: 1, stream: 0, read_only: false },
        Decay { draw: 49427 },
        Mount,
    ];
    assert_holds(&setup, &history);
}
