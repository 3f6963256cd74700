//! Block mapping, where several mounts in a row were cut, until no segment was free and the device was read-only.

use super::*;

/// A log block that had been completed was half-erased, and its commit was gone. It was kept as a log block, and beside
/// it as many commits as beside a data block: more than there is room for.
#[test]
fn a_completed_log_block_without_its_commit_is_the_oldest() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 32,
            pages_per_block: 6,
            blocks: 21,
            dies: 3,
            paired_pages: 1,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 3,
            scheme: "fast",
            recycle: "cost-based",
            log_blocks: 2,
            wear: "dynamic",
            reclaim: "at-once",
        },
        logical_pages: 21,
        endurance: 100,
        seed: 10617178726191224161,
    };
    let history = [
        Write { page: 14, count: 1, stream: 0, read_only: false },
        Write { page: 11, count: 1, stream: 0, read_only: false },
        Write { page: 9, count: 1, stream: 0, read_only: false },
        Write { page: 19, count: 1, stream: 0, read_only: false },
        Write { page: 10, count: 1, stream: 0, read_only: false },
        Write { page: 5, count: 1, stream: 0, read_only: false },
        Write { page: 19, count: 1, stream: 0, read_only: false },
        Write { page: 15, count: 1, stream: 0, read_only: false },
        Write { page: 2, count: 1, stream: 0, read_only: false },
        Write { page: 14, count: 1, stream: 0, read_only: false },
        Discard { sector: 19, count: 2 },
        Write { page: 12, count: 1, stream: 0, read_only: false },
        Write { page: 18, count: 1, stream: 0, read_only: false },
        Write { page: 13, count: 1, stream: 0, read_only: false },
        Write { page: 2, count: 1, stream: 0, read_only: false },
        Write { page: 8, count: 1, stream: 0, read_only: false },
        Flush,
        Write { page: 3, count: 1, stream: 0, read_only: false },
        Write { page: 18, count: 1, stream: 0, read_only: false },
        Write { page: 17, count: 1, stream: 0, read_only: false },
        Write { page: 12, count: 1, stream: 0, read_only: false },
        Write { page: 5, count: 1, stream: 0, read_only: false },
        Cut { after: 2, draw: 29168 },
        Write { page: 0, count: 1, stream: 0, read_only: false },
        Cut { after: 4, draw: 36745 },
        Mount,
        Cut { after: 4, draw: 62570 },
        Mount,
        Cut { after: 4, draw: 62870 },
        Mount,
        Cut { after: 3, draw: 25163 },
        Mount,
        Cut { after: 5, draw: 57329 },
        Mount,
        Cut { after: 5, draw: 32968 },
        Mount,
        Cut { after: 5, draw: 15108 },
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// The same, where a merge had completed it.
#[test]
fn a_log_block_that_a_merge_completed_is_the_oldest_too() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 16,
            pages_per_block: 7,
            blocks: 80,
            dies: 2,
            paired_pages: 1,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 2,
            scheme: "fast",
            recycle: "periodic:3",
            log_blocks: 2,
            wear: "dynamic",
            reclaim: "at-once",
        },
        logical_pages: 490,
        endurance: 100000,
        seed: 5036755306247859714,
    };
    let history = [
        Write { page: 16, count: 1, stream: 0, read_only: false },
        Write { page: 17, count: 1, stream: 0, read_only: false },
        Write { page: 18, count: 1, stream: 0, read_only: false },
        Write { page: 19, count: 1, stream: 0, read_only: false },
        Write { page: 20, count: 1, stream: 0, read_only: false },
        Write { page: 21, count: 1, stream: 0, read_only: false },
        Write { page: 22, count: 1, stream: 0, read_only: false },
        Write { page: 99, count: 1, stream: 0, read_only: false },
        Write { page: 149, count: 1, stream: 0, read_only: false },
        Write { page: 180, count: 1, stream: 0, read_only: false },
        Write { page: 281, count: 1, stream: 0, read_only: false },
        Write { page: 195, count: 1, stream: 0, read_only: false },
        Write { page: 472, count: 1, stream: 0, read_only: false },
        Write { page: 353, count: 1, stream: 0, read_only: false },
        Write { page: 154, count: 1, stream: 0, read_only: false },
        Write { page: 211, count: 1, stream: 0, read_only: false },
        Write { page: 448, count: 1, stream: 0, read_only: false },
        Write { page: 53, count: 1, stream: 0, read_only: false },
        Write { page: 23, count: 6, stream: 0, read_only: false },
        Write { page: 11, count: 5, stream: 0, read_only: false },
        Write { page: 409, count: 1, stream: 0, read_only: false },
        Write { page: 334, count: 6, stream: 0, read_only: false },
        Write { page: 481, count: 1, stream: 0, read_only: false },
        Write { page: 385, count: 1, stream: 0, read_only: false },
        Write { page: 373, count: 1, stream: 0, read_only: false },
        Write { page: 250, count: 1, stream: 0, read_only: false },
        Write { page: 427, count: 1, stream: 0, read_only: false },
        Write { page: 66, count: 7, stream: 0, read_only: false },
        Write { page: 138, count: 1, stream: 0, read_only: false },
        Write { page: 268, count: 1, stream: 0, read_only: false },
        Write { page: 447, count: 1, stream: 0, read_only: false },
        Mount,
        Write { page: 27, count: 1, stream: 0, read_only: false },
        Discard { sector: 339, count: 6 },
        Write { page: 296, count: 1, stream: 0, read_only: false },
        Write { page: 11, count: 1, stream: 0, read_only: false },
        Write { page: 260, count: 1, stream: 0, read_only: false },
        Write { page: 399, count: 1, stream: 0, read_only: false },
        Write { page: 124, count: 1, stream: 0, read_only: false },
        Write { page: 92, count: 1, stream: 0, read_only: false },
        Write { page: 41, count: 1, stream: 0, read_only: false },
        Write { page: 320, count: 1, stream: 0, read_only: false },
        Write { page: 14, count: 1, stream: 0, read_only: false },
        Write { page: 236, count: 6, stream: 0, read_only: false },
        Write { page: 31, count: 1, stream: 0, read_only: false },
        Flush,
        Write { page: 208, count: 1, stream: 0, read_only: false },
        Write { page: 27, count: 1, stream: 0, read_only: false },
        Cut { after: 6, draw: 2621 },
        Mount,
        Cut { after: 19, draw: 32787 },
        Mount,
        Cut { after: 12, draw: 26881 },
        Mount,
        Cut { after: 18, draw: 800 },
        Mount,
        Cut { after: 16, draw: 3188 },
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// The commit of a merge was hit, and read well once. The mount that saw it read it a second time to learn what its
/// block lacks, and took the page that was never written for one that is lost.
#[test]
fn a_commit_that_fades_between_two_reads_loses_no_page() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 1024,
            spare_bytes: 32,
            pages_per_block: 6,
            blocks: 123,
            dies: 3,
            paired_pages: 2,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "log-block",
            recycle: "cost-based",
            log_blocks: 4,
            wear: "dynamic",
            reclaim: "at-once",
        },
        logical_pages: 696,
        endurance: 100,
        seed: 16572959623623095203,
    };
    let history = [
        Mount,
        Cut { after: 1, draw: 14290 },
        Write { page: 70, count: 1, stream: 0, read_only: false },
        Cut { after: 3, draw: 21043 },
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// A discard record stood in a segment of its own beside a log block that was being filled. Two cuts in the merges of
/// mounts then used up the segments that were left.
#[test]
fn a_record_of_an_empty_logical_block_leaves_the_reserve_whole() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 64,
            pages_per_block: 5,
            blocks: 30,
            dies: 1,
            paired_pages: 3,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "log-block",
            recycle: "periodic",
            log_blocks: 1,
            wear: "static-threshold:2",
            reclaim: "at-once",
        },
        logical_pages: 128,
        endurance: 100,
        seed: 16735897771670678575,
    };
    let history = [
        Write { page: 29, count: 1, stream: 0, read_only: false },
        Write { page: 34, count: 1, stream: 0, read_only: false },
        Write { page: 35, count: 1, stream: 0, read_only: false },
        Write { page: 44, count: 1, stream: 0, read_only: false },
        Write { page: 45, count: 1, stream: 0, read_only: false },
        Write { page: 54, count: 1, stream: 0, read_only: false },
        Write { page: 55, count: 1, stream: 0, read_only: false },
        Write { page: 64, count: 1, stream: 0, read_only: false },
        Write { page: 65, count: 1, stream: 0, read_only: false },
        Write { page: 74, count: 1, stream: 0, read_only: false },
        Write { page: 75, count: 1, stream: 0, read_only: false },
        Write { page: 84, count: 1, stream: 0, read_only: false },
        Write { page: 85, count: 1, stream: 0, read_only: false },
        Write { page: 94, count: 1, stream: 0, read_only: false },
        Write { page: 95, count: 1, stream: 0, read_only: false },
        Write { page: 104, count: 1, stream: 0, read_only: false },
        Write { page: 105, count: 1, stream: 0, read_only: false },
        Write { page: 114, count: 1, stream: 0, read_only: false },
        Write { page: 115, count: 1, stream: 0, read_only: false },
        Write { page: 124, count: 1, stream: 0, read_only: false },
        Write { page: 125, count: 1, stream: 0, read_only: false },
        Write { page: 3, count: 1, stream: 0, read_only: false },
        Write { page: 1, count: 1, stream: 0, read_only: false },
        Write { page: 2, count: 1, stream: 0, read_only: false },
        Write { page: 15, count: 1, stream: 0, read_only: false },
        Write { page: 23, count: 1, stream: 0, read_only: false },
        Write { page: 14, count: 1, stream: 0, read_only: false },
        Write { page: 6, count: 1, stream: 0, read_only: false },
        Write { page: 4, count: 1, stream: 0, read_only: false },
        Cut { after: 0, draw: 15925 },
        Discard { sector: 109, count: 6 },
        Cut { after: 5, draw: 23318 },
        Mount,
        Cut { after: 5, draw: 934 },
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// A block of one group was written in place. The cut in its last page harmed the first and the third, and the mount
/// believed that commit, since nothing it could have been copied from was left.
#[test]
fn a_harmed_block_of_one_group_is_no_merge() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 1024,
            spare_bytes: 64,
            pages_per_block: 4,
            blocks: 7,
            dies: 1,
            paired_pages: 4,
            program_order: Any,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "primary-replacement",
            recycle: "periodic:3",
            log_blocks: 2,
            wear: "none",
            reclaim: "at-once",
        },
        logical_pages: 12,
        endurance: 100000,
        seed: 4486300529416112441,
    };
    let history = [Cut { after: 3, draw: 12359 }, Write { page: 0, count: 4, stream: 0, read_only: false }, Mount];
    assert_holds(&setup, &history);
}

/// A half-erased merge was believed, and the pages that it lacked were taken for discarded.
#[test]
fn a_merge_that_lasts_is_kept_behind_a_half_erased_block() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 16,
            pages_per_block: 4,
            blocks: 35,
            dies: 1,
            paired_pages: 2,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: true, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "fast-by-stream",
            recycle: "periodic:3",
            log_blocks: 6,
            wear: "static-threshold:2",
            reclaim: "at-once",
        },
        logical_pages: 80,
        endurance: 100,
        seed: 13886459197458414346,
    };
    let history = [
        Write { page: 6, count: 1, stream: 0, read_only: false },
        Mount,
        Cut { after: 2, draw: 53729 },
        Mount,
        Cut { after: 5, draw: 7371 },
        Mount,
        Cut { after: 4, draw: 37970 },
        Mount,
        Cut { after: 3, draw: 29608 },
        Mount,
        Cut { after: 4, draw: 60520 },
        Mount,
        Cut { after: 1, draw: 2489 },
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// Each cut mount left another data block of one logical block, until none was free.
#[test]
fn merges_of_cut_mounts_leave_a_free_block() {
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

/// A record of discards counted as a data block, and with it a log block that had just been completed as the third.
#[test]
fn a_completed_log_block_is_not_a_second_merge() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 64,
            pages_per_block: 4,
            blocks: 38,
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
            log_blocks: 4,
            wear: "dynamic",
            reclaim: "at-once",
        },
        logical_pages: 3,
        endurance: 100,
        seed: 11533985433783099846,
    };
    let history = [
        Write { page: 0, count: 1, stream: 0, read_only: false },
        Discard { sector: 0, count: 3 },
        Flush,
        Write { page: 0, count: 1, stream: 0, read_only: false },
        Flush,
        Cut { after: 1, draw: 6859 },
        Write { page: 0, count: 1, stream: 0, read_only: false },
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// A second merge was being erased, and its head was gone. What it lacked by then passed for discarded.
#[test]
fn a_second_merge_whose_head_is_gone_is_not_believed() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 16,
            pages_per_block: 4,
            blocks: 10,
            dies: 1,
            paired_pages: 3,
            program_order: Any,
        }),
        temper: Temper { mixed_erases: true, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "fast",
            recycle: "periodic",
            log_blocks: 6,
            wear: "none",
            reclaim: "at-once",
        },
        logical_pages: 4,
        endurance: 100000,
        seed: 1073984868479346092,
    };
    let history = [
        Write { page: 0, count: 1, stream: 0, read_only: false },
        Mount,
        Cut { after: 2, draw: 1319 },
        Mount,
        Cut { after: 3, draw: 39127 },
        Mount,
        Cut { after: 5, draw: 7420 },
        Mount,
        Cut { after: 1, draw: 4553 },
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}
