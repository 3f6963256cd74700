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
