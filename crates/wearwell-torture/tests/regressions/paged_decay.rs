//! The map on flash, where pages decay.

use super::assert_holds;

/// The newest copy of a page decayed, and the erase of the segment with the copy before it was cut. That copy was
/// served, since a translation page names it, and faded behind three mounts.
#[test]
fn many_pages_decay_between_cut_writes() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=4 blocks=144 dies=4 paired-pages=1 any-order mixed-erases
         paged blocks-per-segment=4 cache-entries=2 logical-pages=6 endurance=100000 seed=14697750483675032649",
        "write 0 1 2 3 4 5 0 0 0 0, mount, write 0 0 0 0 0, cut 1:48632, write 0+6, decay 21675, mount, cut 2:21621,
         write 0, decay 4 0 0, mount, decay 48271, cut 0:45856, write 0, decay 39640, mount, decay 5, fail 0:62564,
         cut 5:25636, write 0, decay 0 3 18525, mount, write 0, cut 0:54596, write 0, decay 3, mount, cut 2:45120,
         write 0, decay 1 1 34307, mount, mount, mount",
    );
}

/// A translation page decayed between two shutdowns, and so did a page of data, with the summary and the header of its
/// segment. The translation page was made anew without that page, which read as zeros.
#[test]
fn four_pages_decay_around_two_shutdowns() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=17 dies=1 paired-pages=1 paged
         blocks-per-segment=1 cache-entries=40 logical-pages=12 endurance=100000 seed=1625618434727208454",
        "write 0+12, decay 0, shutdown, decay 49 6, shutdown, decay 1, mount",
    );
}

/// Three translation pages decayed. What lay in one segment with another of them counted for a page of data that may be
/// gone, and a page that was never written was an error.
#[test]
fn a_decayed_translation_page_is_no_page_of_data() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=8 blocks=164 dies=4 paired-pages=1 any-order mixed-erases
         paged blocks-per-segment=2 cache-entries=8 logical-pages=536 endurance=100000 seed=12757120502837404230",
        "write 436 390 74 486 252 341, decay 58144, mount, write 2, mount, write 370 174, decay 55020, write 379 208,
         decay 32560, write 425 215 512, read 276",
    );
}
