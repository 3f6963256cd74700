//! Histories that fail. Each is a fault that is known and not repaired: `cargo test -p wearwell-torture --test
//! regressions -- --ignored` shows them.

use super::assert_holds;

/// By cuts alone: a cut had hit the commit of a merge, and the page faded that it had been made of. The mount merged to
/// the block of that page, and was cut: nothing shows any more that the merge had been made of something else, and it
/// counts, without a flushed page that the cut had harmed.
#[test]
#[ignore = "open: flushed data is lost"]
fn what_a_cut_merge_was_made_of_is_filled() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=6 blocks=17 dies=1 paired-pages=3 any-order mixed-erases
         block blocks-per-segment=1 scheme=fast recycle=cost-based log-blocks=6 wear=swap:1 reclaim=at-once
         logical-pages=48 endurance=100 seed=13416286897577293382",
        "write 39 37, discard 36+3, flush, cut 0:26956, write 37, cut 4:12907, mount, cut 2:38365, mount, mount",
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

/// `fast`, on a chip of eight blocks of which six fail, in mounts that are cut: a flushed page reads as zeros.
#[test]
#[ignore = "open: flushed data is lost"]
fn failures_in_cut_mounts_of_a_small_chip() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=8 blocks=8 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=fast recycle=periodic log-blocks=4 wear=dynamic reclaim=at-once
         logical-pages=3 endurance=100000 seed=13655409666257112876",
        "write 1, fail 1:47116, mount, cut 1:1273, write 0, cut 0:12508, mount, cut 0:60839, mount, cut 1:45381, mount,
         fail 0:35271, cut 2:48941, mount, cut 1:62717, mount, fail 0:30855, cut 1:21160, mount, fail 2:17201, cut
         4:4985, mount, fail 0:34988, fail 2:32127, mount, mount",
    );
}
