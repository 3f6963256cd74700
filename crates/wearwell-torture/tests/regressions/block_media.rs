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

/// The commit of a merge decayed. What the merge had read was gone, so that its block held the only certain copy, and
/// the mount erased it before a page that a cut had hit was safe.
#[test]
fn a_merge_with_a_decayed_commit_stays_until_the_rescue_is_over() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 64,
            pages_per_block: 4,
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
            recycle: "cost-based",
            log_blocks: 2,
            wear: "none",
            reclaim: "at-once",
        },
        logical_pages: 1,
        endurance: 100,
        seed: 9063636633608280929,
    };
    let history = [
        Write { page: 0, count: 1, stream: 0, read_only: false },
        Mount,
        Decay { draw: 1 },
        Cut { after: 1, draw: 27946 },
        Write { page: 0, count: 1, stream: 0, read_only: false },
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// A program failed, and so did the mark of the segment that its log block was merged to. The host went on in another
/// log block, and what the failed program had left faded when a mount merged it: no cut had hit it.
#[test]
fn what_a_failed_program_left_is_emptied_before_the_next_write() {
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

/// A mark failed, and the record that had to stay because of that took one of the segments held back for failures. With
/// no log block to recycle, the next write was refused.
#[test]
fn what_is_held_back_is_given_if_nothing_can_be_gained() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 32,
            pages_per_block: 4,
            blocks: 10,
            dies: 1,
            paired_pages: 1,
            program_order: Any,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "primary-replacement",
            recycle: "periodic:3",
            log_blocks: 5,
            wear: "static-threshold:2",
            reclaim: "at-once",
        },
        logical_pages: 7,
        endurance: 100,
        seed: 16361016193772732141,
    };
    let history = [
        Mount,
        Fail { after: 1, draw: 56355 },
        FailMark { after: 4 },
        FailMark { after: 6 },
        Write { page: 5, count: 1, stream: 0, read_only: false },
        Write { page: 3, count: 1, stream: 0, read_only: false },
        Write { page: 6, count: 1, stream: 0, read_only: false },
        Write { page: 3, count: 1, stream: 0, read_only: false },
    ];
    assert_holds(&setup, &history);
}

/// The torture's model allowed less than the table of promises.
#[test]
fn what_the_table_allows_is_no_failure() {
    let seeds = [
        // A commit decayed, and what had been discarded before it came back from shared log blocks.
        ("block-decay", 820_102),
        ("block-decay", 820_148),
        // The rest of a page was lost, a flush said so, and the part that had been written was expected.
        ("block-decay", 820_189),
        // The record of a lost page decayed before a flush.
        ("block-decay", 820_393),
        ("block-decay", 820_951),
        // A page was older because its newest copy had decayed, and then a part of the discard map decayed.
        ("decay", 820_954),
        // A page of a data block decayed behind the cut in the commit that superseded it, and then that commit faded.
        ("block-decay", 820_665),
        // A page of the block with the last commit decayed after a cut, and what had been discarded before came back.
        ("block-decay", 320_000_160),
        // Nothing on the chip could be read any more, so that it could not be told from a foreign one.
        ("decay", 820_159),
    ];
    for (name, seed) in seeds {
        let (_, record) = torture(mode::named(name).expect("a mode of the list"), seed);
        assert_eq!(record.failure, None, "{name} {seed}");
    }
}
