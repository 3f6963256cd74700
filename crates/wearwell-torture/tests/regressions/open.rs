//! Histories that fail. Each is a fault that is known and not repaired: `cargo test -p wearwell-torture --test
//! regressions -- --ignored` shows them.

use super::assert_holds;

/// Translation pages decay behind a cut; a page of which no copy has decayed is an error. No row of the table of
/// promises speaks of the map on flash.
#[test]
#[ignore = "open: a page becomes an error"]
fn a_page_with_an_earlier_copy_that_decayed() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=6 blocks=42 dies=2 paired-pages=1 any-order paged
         blocks-per-segment=2 cache-entries=3 logical-pages=46 endurance=100000 seed=3159391539953118677",
        "write 23+3, decay 1, write 1, cut 2:37396, mount, decay 24669, mount, decay 0, mount, write 2, mount",
    );
}

/// A translation page decays behind a cut, and what it had does not fit a cache of three entries.
#[test]
#[ignore = "open: the mount is refused"]
fn a_translation_page_that_decayed_behind_a_cut() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=4 blocks=54 dies=2 paired-pages=1 paged
         blocks-per-segment=2 cache-entries=3 logical-pages=16 endurance=100 seed=10385239304992045698",
        "write 3 4 5 6 7 8 9 10 11, cut 1:35406, write 7, mount, write 15, decay 8, mount",
    );
}

/// Without spare bytes, with mixed erases and pages that decay: a page of which no copy has decayed is an error.
#[test]
#[ignore = "open: a page becomes an error"]
fn a_rescue_with_mixed_erases_and_decay() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=0 pages-per-block=12 blocks=7 dies=1 paired-pages=1 mixed-erases page
         blocks-per-segment=1 policies=idle:3:4:5/greedy/single/none/at-once checkpoint logical-pages=4 endurance=100
         seed=11811270419482104102",
        "write 0+4, discard 12+4, flush, write 1 2+2 0 0, mount, write 0 0 0 1 2 1, mount, write 0 0 1 0, mount, write
         0 2 0, decay 50203, write 0 0, decay 2, write 0, mount, cut 3:40059, write 3, mount, part 6 12+4@1, flush,
         write 0 0, cut 4:8592, part 0+10, decay 49931, mount, part 3+4@2, flush, mount",
    );
}

/// `fast`, with cut mounts and pages that decay: a flushed page reads as zeros.
#[test]
#[ignore = "open: flushed data is lost"]
fn a_shared_log_block_of_cut_mounts_and_decay() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=8 blocks=108 dies=3 paired-pages=1 any-order block
         blocks-per-segment=1 scheme=fast recycle=cost-based log-blocks=6 wear=swap:1 reclaim=at-once
         logical-pages=792 endurance=100000 seed=3491488095770559969",
        "write 144 29, cut 0:6161, write 44, cut 2:18603, mount, mount, cut 1:57321, write 95, decay 62162, mount,
         write 751 51, decay 36564, cut 0:39292, mount, cut 1:56867, mount, decay 1579, cut 1:59687, mount, mount, cut
         3:26160, mount, cut 0:51000, mount, cut 1:31758, mount, cut 3:59148, mount, cut 1:64630, mount, cut 0:36748,
         mount, mount, mount, mount, mount, mount, mount, mount, cut 1:59069, mount, cut 0:46920, mount, mount, mount,
         mount, mount, mount, mount, mount, mount, mount, mount, mount, mount",
    );
}
