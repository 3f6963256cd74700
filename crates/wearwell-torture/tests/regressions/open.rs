//! Histories that fail. Each is a fault that is known and not repaired, or a state of the chip for which the table of
//! promises has no row yet: `cargo test -p wearwell-torture --test regressions -- --ignored` shows them.

use super::assert_holds;

/// Page mapping: pages decay before a mount, and two writes behind it are cut.
#[test]
#[ignore = "open: flushed data is lost"]
fn three_pages_that_decay_and_two_cut_writes() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=16 blocks=160 dies=4 paired-pages=2 any-order
         mixed-erases page blocks-per-segment=1 policies=watermark:3:4/cost-benefit/hot-cold-readonly/none/at-once
         logical-pages=1375 endurance=100000 seed=13978932705109154881",
        "write 1073+3 137, decay 7 7 7, mount, write 220 5+8 93 192, cut 2:3525, part 26+5@2, mount, write 39 45 200,
         cut 0:29116, write 118, decay 55157, mount",
    );
}
