//! Histories that fail. Each is a fault that is known and not repaired, or a state of the chip for which the table of
//! promises has no row yet: `cargo test -p wearwell-torture --test regressions -- --ignored` shows them.

use super::assert_holds;

/// Page mapping with tag pages, by cuts alone: the erase of a rescue that never ended was cut, and left its header, a
/// copy and the last tag page. What the copy was made of has faded, so it counts, and the slots in front of it seem to
/// be lost: a page that was never written is an error (Spec P13). Pages that decay of a rescue that had ended leave the
/// same, and then something may be lost.
#[test]
#[ignore = "open: a page that was never written is an error"]
fn a_rescue_that_an_erase_has_left_seems_incomplete() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=10 blocks=13 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:2:3/fifo/by-stream/none/proactive:0.05:0.5:0.01
         logical-pages=5 endurance=100000 seed=9996946996089570618",
        "write 3, flush, write 2, cut 1:28279, write 3, cut 7:58140, mount, cut 4:13734, mount, cut 3:54690, mount, cut
         0:13420, mount, mount",
    );
}

/// Page mapping with tag pages: a mount saw that the victim of a cleaning was being erased, and copied the page whose
/// newest copy had decayed. For that it erased what showed the decay. It was cut before the copy was certain to last,
/// so that the next mount passes it over. That one has nothing to doubt, and serves the page from the victim. There the
/// summary fades, and later the page is older, while the copy that was passed over is good.
#[test]
#[ignore = "open: flushed data is older"]
fn a_rescue_takes_what_shows_a_decay() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=6 blocks=18 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:3:4/cat/single/swap:1/proactive
         logical-pages=11 endurance=100000 seed=3964359694349310514",
        "write 2 3 4 5 6 7 8 9 3 2 1 3 5 7 0 4 6 2 8 0 9 10 8 8 10 2 8 10 8, flush, mount, fail 0:54242 2:58619
         4:1991 6:33941, write 8, cut 11:12335, mount, mount, decay 30159, mount, write 0, cut 1:10466, write 5, decay
         6, decay 5, decay 6, mount, mount, mount, mount",
    );
}
