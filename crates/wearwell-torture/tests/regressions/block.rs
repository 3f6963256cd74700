//! Block mapping.

use super::*;

/// Block mapping programmed a page again after the driver had answered `Other`.
#[test]
fn a_page_that_may_have_been_programmed_is_left() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=7 blocks=36 dies=1 paired-pages=4 any-order
         block blocks-per-segment=1 scheme=fast-by-stream recycle=periodic:3 log-blocks=4 wear=static-threshold:2
         reclaim=at-once
         logical-pages=203 endurance=100000 seed=8626577183029265843",
        "other 0:60407, write 111@1 109@1",
    );
}

/// The last commit may fade, and the data block that it replaced was erased already.
#[test]
fn the_oldest_data_block_stays_until_the_last_commit_lasts() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=76 dies=4 paired-pages=3
         block blocks-per-segment=1 scheme=primary-replacement recycle=cost-based log-blocks=6 wear=none
         reclaim=at-once
         logical-pages=154 endurance=100 seed=9614277215355476601",
        "write 13 14 8+5, mount, cut 5:28816, mount, mount",
    );
}

/// The same for a log block whose pages the last commit replaced.
#[test]
fn log_blocks_stay_until_the_rescue_is_over() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=64 pages-per-block=4 blocks=46 dies=2 paired-pages=2 fading-pairs
         block blocks-per-segment=1 scheme=fast-by-stream recycle=optimal log-blocks=4 wear=static-threshold:2
         reclaim=at-once
         logical-pages=15 endurance=100 seed=17344330829166423738",
        "part 3, flush, write 7, mount, cut 2:4928, part 0+6@1, mount",
    );
}

/// Log blocks of which only the first group was programmed, and harmed, used up the free segments of a mount.
#[test]
fn cut_heads_of_log_blocks_use_up_no_segments() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=64 pages-per-block=12 blocks=15 dies=1 paired-pages=3 mixed-erases
         block blocks-per-segment=1 scheme=fast-by-stream recycle=optimal log-blocks=4 wear=swap:1 reclaim=at-once
         logical-pages=96 endurance=100000 seed=11336595510392579190",
        "write 62 16+5@4 76 43+8 11+7@1, part 381, write 33@1, flush, mount, write 3, part 192+4@1, write 18@2, cut
         3:32714, mount, cut 5:4789, mount, cut 4:35083, mount, cut 3:60371, mount, mount",
    );
}

/// Block mapping: a group of shared cells was open in a block of `primary-replacement`, and one of its pages faded.
#[test]
fn a_group_of_a_replacement_block_was_open() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=64 pages-per-block=8 blocks=34 dies=1 paired-pages=2 any-order
         block blocks-per-segment=1 scheme=primary-replacement recycle=periodic:3 log-blocks=3 wear=none
         reclaim=at-once
         logical-pages=240 endurance=100 seed=17407434961721007192",
        "write 192 193 194 195 197 198 199, mount, cut 2:61346, write 195+3, cut 8:14723, mount, mount, write 25,
         mount",
    );
}

/// The same, and it faded while it was rescued: it counted as lost, though nothing had been flushed.
#[test]
fn a_page_of_an_open_group_fades_in_its_rescue() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=12 blocks=39 dies=1 paired-pages=2 fading-pairs
         block blocks-per-segment=1 scheme=fast-by-stream recycle=periodic log-blocks=5 wear=swap:1 reclaim=at-once
         logical-pages=100 endurance=100000 seed=14371331907182083774",
        "write 86@2 11, cut 0:33905, write 9@2, cut 2:14371, mount, mount",
    );
}

/// The page that the cut hit could not be read, so that nothing said which of two open groups it was in; a page that
/// shares its cells faded after the mount had served it.
#[test]
fn a_page_of_an_open_group_fades_after_a_mount() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=32 pages-per-block=12 blocks=21 dies=1 paired-pages=3 fading-pairs
         block blocks-per-segment=1 scheme=fast-by-stream recycle=periodic:3 log-blocks=4 wear=dynamic reclaim=at-once
         logical-pages=118 endurance=100000 seed=17247977571032897689",
        "write 51, cut 1:3015, write 21+6, cut 6:22480, mount, mount, mount, mount",
    );
}

/// Of a page and its copy the original was believed, in a block whose erase was cut, and faded after the mount.
#[test]
fn an_original_in_a_half_erased_block_fades() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=32 pages-per-block=5 blocks=48 dies=2 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=log-block recycle=periodic:3 log-blocks=3 wear=none reclaim=at-once
         logical-pages=210 endurance=100000 seed=2074536878123219959",
        "part 115+3@1, write 36, mount, cut 2:9449, write 57, cut 1:13299, mount, mount",
    );
}

/// Commits of a mount had greater numbers than the page that the cut hit: the next mount forgot which group that was
/// in.
#[test]
fn the_group_written_last_outlasts_merges_of_mounts() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=64 pages-per-block=8 blocks=36 dies=3 paired-pages=2 mixed-erases
         block blocks-per-segment=1 scheme=fast recycle=cost-based log-blocks=5 wear=dynamic reclaim=at-once
         logical-pages=56 endurance=100 seed=8437533167301221694",
        "write 17 18 19 20 22 50 32+4 9+3 38, part 13 161, write 21 37, discard 41+22, flush, write 27 51, mount,
         write 10 32 10 21, cut 0:39699, write 52, cut 23:4646, mount, cut 0:27275, mount, mount, mount",
    );
}

/// A mount took pages from a merge whose commit a cut had harmed, and merged another logical block first. The next
/// mount believed that commit.
#[test]
fn a_merge_that_is_undone_is_done_again_first() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=7 blocks=126 dies=3 paired-pages=4 any-order mixed-erases
         block blocks-per-segment=1 scheme=fast recycle=periodic:3 log-blocks=3 wear=static-threshold:2
         reclaim=at-once
         logical-pages=840 endurance=100 seed=4403666324500898281",
        "write 506 507 508 589 591 592 593 116 590 509, cut 0:36441, write 79, cut 10:63040, mount, cut 16:22183,
         mount, cut 13:16437, mount, mount",
    );
}

/// Of two data blocks the older one was kept, though its erase had begun, and the other one erased.
#[test]
fn the_oldest_data_block_may_be_half_erased() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=32 pages-per-block=4 blocks=40 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=fast-by-stream recycle=cost-based log-blocks=2 wear=swap:1 reclaim=at-once
         logical-pages=140 endurance=100000 seed=5983615595768397941",
        "write 104 105 106 107, discard 428+6, flush, cut 5:22164, mount, cut 4:17821, mount, cut 4:3099, mount, mount",
    );
}

/// Merges whose erase was cut, and whose heads could not be read, used up the free segments of a mount.
#[test]
fn half_erased_merges_use_up_no_segments() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=16 pages-per-block=16 blocks=23 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=primary-replacement recycle=optimal log-blocks=4 wear=none reclaim=at-once
         logical-pages=304 endurance=100 seed=4585386175782477689",
        "write 14 47 62 77 80 108 127 128 159 161 191 193 222 239 242 271 272 296 57 1, cut 3:36816, mount, cut
         0:7160, mount, cut 3:51073, mount, cut 0:3336, mount, cut 4:43139, mount, mount",
    );
}

/// A cut hit the last page of a logical block, and a mount merged it. The erase of what that had read failed, and so
/// did the marks. Then the commit decayed, which is the copy of the page: it was served where it faded.
#[test]
fn a_page_in_a_failed_block_whose_merge_has_decayed() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=4 blocks=56 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=log-block recycle=merge-only log-blocks=15 wear=none reclaim=at-once
         logical-pages=60 endurance=100000 seed=1",
        "write 8 12 16 20 24 28 32 36 48 52 3, cut 0:27324, write 3, fail 3:27, fail-mark 0 0, mount, write 4, decay
         12, mount, mount",
    );
}

/// A log block that had become a data block lost its commit, and the erase of the data block beside it had begun. That
/// block was taken to have all its pages, and one that reads as erased was served as ones.
#[test]
fn a_data_block_beside_a_log_block_without_its_commit() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=8 blocks=8 dies=1 paired-pages=1 mixed-erases
         fading-pairs
         block blocks-per-segment=1 scheme=fast recycle=periodic log-blocks=4 wear=dynamic reclaim=at-once
         logical-pages=3 endurance=100000 seed=13655409666257112876",
        "write 0+3, mount, write 0 0+3, cut 1:32138, write 0, decay 4, fail 0:60181 5:40317, cut 11:53435, mount,
         decay 6, cut 3:2210, mount, decay 3, mount",
    );
}
