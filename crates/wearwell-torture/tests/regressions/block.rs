//! Block mapping.

use super::*;

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

/// Rule 3 of the mount of block mapping: the last commit may fade, and the data block that it replaced was erased
/// already.
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

/// Block mapping: a group of shared cells was open in a block of `primary-replacement`, and one of its pages faded.
#[test]
fn a_group_of_a_replacement_block_was_open() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 2048,
            spare_bytes: 64,
            pages_per_block: 8,
            blocks: 34,
            dies: 1,
            paired_pages: 2,
            program_order: Any,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "primary-replacement",
            recycle: "periodic:3",
            log_blocks: 3,
            wear: "none",
            reclaim: "at-once",
        },
        logical_pages: 240,
        endurance: 100,
        seed: 17407434961721007192,
    };
    let history = [
        Write { page: 192, count: 1, stream: 0, read_only: false },
        Write { page: 193, count: 1, stream: 0, read_only: false },
        Write { page: 194, count: 1, stream: 0, read_only: false },
        Write { page: 195, count: 1, stream: 0, read_only: false },
        Write { page: 197, count: 1, stream: 0, read_only: false },
        Write { page: 198, count: 1, stream: 0, read_only: false },
        Write { page: 199, count: 1, stream: 0, read_only: false },
        Mount,
        Cut { after: 2, draw: 61346 },
        Write { page: 195, count: 3, stream: 0, read_only: false },
        Cut { after: 8, draw: 14723 },
        Mount,
        Mount,
        Write { page: 25, count: 1, stream: 0, read_only: false },
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// The same, and it faded while it was rescued: it counted as lost, though nothing had been flushed.
#[test]
fn a_page_of_an_open_group_fades_in_its_rescue() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 1024,
            spare_bytes: 16,
            pages_per_block: 12,
            blocks: 39,
            dies: 1,
            paired_pages: 2,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: true },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "fast-by-stream",
            recycle: "periodic",
            log_blocks: 5,
            wear: "swap:1",
            reclaim: "at-once",
        },
        logical_pages: 100,
        endurance: 100000,
        seed: 14371331907182083774,
    };
    let history = [
        Write { page: 86, count: 1, stream: 2, read_only: false },
        Write { page: 11, count: 1, stream: 0, read_only: false },
        Cut { after: 0, draw: 33905 },
        Write { page: 9, count: 1, stream: 2, read_only: false },
        Cut { after: 2, draw: 14371 },
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// The page that the cut hit could not be read, so that nothing said which of two open groups it was in; a page that
/// shares its cells faded after the mount had served it.
#[test]
fn a_page_of_an_open_group_fades_after_a_mount() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 2048,
            spare_bytes: 32,
            pages_per_block: 12,
            blocks: 21,
            dies: 1,
            paired_pages: 3,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: false, fading_pairs: true },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "fast-by-stream",
            recycle: "periodic:3",
            log_blocks: 4,
            wear: "dynamic",
            reclaim: "at-once",
        },
        logical_pages: 118,
        endurance: 100000,
        seed: 17247977571032897689,
    };
    let history = [
        Write { page: 51, count: 1, stream: 0, read_only: false },
        Cut { after: 1, draw: 3015 },
        Write { page: 21, count: 6, stream: 0, read_only: false },
        Cut { after: 6, draw: 22480 },
        Mount,
        Mount,
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// Of a page and its copy the original was believed, in a block whose erase was cut, and faded after the mount.
#[test]
fn an_original_in_a_half_erased_block_fades() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 1024,
            spare_bytes: 32,
            pages_per_block: 5,
            blocks: 48,
            dies: 2,
            paired_pages: 1,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: true, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "log-block",
            recycle: "periodic:3",
            log_blocks: 3,
            wear: "none",
            reclaim: "at-once",
        },
        logical_pages: 210,
        endurance: 100000,
        seed: 2074536878123219959,
    };
    let history = [
        Part { sector: 115, count: 3, stream: 1 },
        Write { page: 36, count: 1, stream: 0, read_only: false },
        Mount,
        Cut { after: 2, draw: 9449 },
        Write { page: 57, count: 1, stream: 0, read_only: false },
        Cut { after: 1, draw: 13299 },
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// Commits of a mount had greater numbers than the page that the cut hit: the next mount forgot which group that was
/// in.
#[test]
fn the_group_written_last_outlasts_merges_of_mounts() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 2048,
            spare_bytes: 64,
            pages_per_block: 8,
            blocks: 36,
            dies: 3,
            paired_pages: 2,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: true, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "fast",
            recycle: "cost-based",
            log_blocks: 5,
            wear: "dynamic",
            reclaim: "at-once",
        },
        logical_pages: 56,
        endurance: 100,
        seed: 8437533167301221694,
    };
    let history = [
        Write { page: 17, count: 1, stream: 0, read_only: false },
        Write { page: 18, count: 1, stream: 0, read_only: false },
        Write { page: 19, count: 1, stream: 0, read_only: false },
        Write { page: 20, count: 1, stream: 0, read_only: false },
        Write { page: 22, count: 1, stream: 0, read_only: false },
        Write { page: 50, count: 1, stream: 0, read_only: false },
        Write { page: 32, count: 4, stream: 0, read_only: false },
        Write { page: 9, count: 3, stream: 0, read_only: false },
        Write { page: 38, count: 1, stream: 0, read_only: false },
        Part { sector: 13, count: 1, stream: 0 },
        Part { sector: 161, count: 1, stream: 0 },
        Write { page: 21, count: 1, stream: 0, read_only: false },
        Write { page: 37, count: 1, stream: 0, read_only: false },
        Discard { sector: 41, count: 22 },
        Flush,
        Write { page: 27, count: 1, stream: 0, read_only: false },
        Write { page: 51, count: 1, stream: 0, read_only: false },
        Mount,
        Write { page: 10, count: 1, stream: 0, read_only: false },
        Write { page: 32, count: 1, stream: 0, read_only: false },
        Write { page: 10, count: 1, stream: 0, read_only: false },
        Write { page: 21, count: 1, stream: 0, read_only: false },
        Cut { after: 0, draw: 39699 },
        Write { page: 52, count: 1, stream: 0, read_only: false },
        Cut { after: 23, draw: 4646 },
        Mount,
        Cut { after: 0, draw: 27275 },
        Mount,
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// A mount took pages from a merge whose commit a cut had harmed, and merged another logical block first. The next
/// mount believed that commit.
#[test]
fn a_merge_that_is_undone_is_done_again_first() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 512,
            spare_bytes: 32,
            pages_per_block: 7,
            blocks: 126,
            dies: 3,
            paired_pages: 4,
            program_order: Any,
        }),
        temper: Temper { mixed_erases: true, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "fast",
            recycle: "periodic:3",
            log_blocks: 3,
            wear: "static-threshold:2",
            reclaim: "at-once",
        },
        logical_pages: 840,
        endurance: 100,
        seed: 4403666324500898281,
    };
    let history = [
        Write { page: 506, count: 1, stream: 0, read_only: false },
        Write { page: 507, count: 1, stream: 0, read_only: false },
        Write { page: 508, count: 1, stream: 0, read_only: false },
        Write { page: 589, count: 1, stream: 0, read_only: false },
        Write { page: 591, count: 1, stream: 0, read_only: false },
        Write { page: 592, count: 1, stream: 0, read_only: false },
        Write { page: 593, count: 1, stream: 0, read_only: false },
        Write { page: 116, count: 1, stream: 0, read_only: false },
        Write { page: 590, count: 1, stream: 0, read_only: false },
        Write { page: 509, count: 1, stream: 0, read_only: false },
        Cut { after: 0, draw: 36441 },
        Write { page: 79, count: 1, stream: 0, read_only: false },
        Cut { after: 10, draw: 63040 },
        Mount,
        Cut { after: 16, draw: 22183 },
        Mount,
        Cut { after: 13, draw: 16437 },
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// Rule 3: of two data blocks the older one was kept, though its erase had begun, and the other one erased.
#[test]
fn the_oldest_data_block_may_be_half_erased() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 2048,
            spare_bytes: 32,
            pages_per_block: 4,
            blocks: 40,
            dies: 1,
            paired_pages: 1,
            program_order: Ascending,
        }),
        temper: Temper { mixed_erases: true, fading_pairs: false },
        driver: Honest,
        engine: Block {
            blocks_per_segment: 1,
            scheme: "fast-by-stream",
            recycle: "cost-based",
            log_blocks: 2,
            wear: "swap:1",
            reclaim: "at-once",
        },
        logical_pages: 140,
        endurance: 100000,
        seed: 5983615595768397941,
    };
    let history = [
        Write { page: 104, count: 1, stream: 0, read_only: false },
        Write { page: 105, count: 1, stream: 0, read_only: false },
        Write { page: 106, count: 1, stream: 0, read_only: false },
        Write { page: 107, count: 1, stream: 0, read_only: false },
        Discard { sector: 428, count: 6 },
        Flush,
        Cut { after: 5, draw: 22164 },
        Mount,
        Cut { after: 4, draw: 17821 },
        Mount,
        Cut { after: 4, draw: 3099 },
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// Rule 6: merges whose erase was cut, and whose heads could not be read, used up the free segments of a mount.
#[test]
fn half_erased_merges_use_up_no_segments() {
    let setup = Setup {
        shape: Nand(NandGeometry {
            page_bytes: 2048,
            spare_bytes: 16,
            pages_per_block: 16,
            blocks: 23,
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
            log_blocks: 4,
            wear: "none",
            reclaim: "at-once",
        },
        logical_pages: 304,
        endurance: 100,
        seed: 4585386175782477689,
    };
    let history = [
        Write { page: 14, count: 1, stream: 0, read_only: false },
        Write { page: 47, count: 1, stream: 0, read_only: false },
        Write { page: 62, count: 1, stream: 0, read_only: false },
        Write { page: 77, count: 1, stream: 0, read_only: false },
        Write { page: 80, count: 1, stream: 0, read_only: false },
        Write { page: 108, count: 1, stream: 0, read_only: false },
        Write { page: 127, count: 1, stream: 0, read_only: false },
        Write { page: 128, count: 1, stream: 0, read_only: false },
        Write { page: 159, count: 1, stream: 0, read_only: false },
        Write { page: 161, count: 1, stream: 0, read_only: false },
        Write { page: 191, count: 1, stream: 0, read_only: false },
        Write { page: 193, count: 1, stream: 0, read_only: false },
        Write { page: 222, count: 1, stream: 0, read_only: false },
        Write { page: 239, count: 1, stream: 0, read_only: false },
        Write { page: 242, count: 1, stream: 0, read_only: false },
        Write { page: 271, count: 1, stream: 0, read_only: false },
        Write { page: 272, count: 1, stream: 0, read_only: false },
        Write { page: 296, count: 1, stream: 0, read_only: false },
        Write { page: 57, count: 1, stream: 0, read_only: false },
        Write { page: 1, count: 1, stream: 0, read_only: false },
        Cut { after: 3, draw: 36816 },
        Mount,
        Cut { after: 0, draw: 7160 },
        Mount,
        Cut { after: 3, draw: 51073 },
        Mount,
        Cut { after: 0, draw: 3336 },
        Mount,
        Cut { after: 4, draw: 43139 },
        Mount,
        Mount,
    ];
    assert_holds(&setup, &history);
}
