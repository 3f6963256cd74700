//! Histories that fail. Each is a fault that is known and not repaired, or a state of the chip for which the table of
//! promises has no row yet: `cargo test -p wearwell-torture --test regressions -- --ignored` shows them.

use super::assert_holds;

/// Page mapping, behind three failures: the erase of a victim is cut, and a copy of one of its pages decays where a cut
/// may have hit it. So that page seems to be alone in the victim, which seems to be needed though its header is gone.
/// Another page is served there, and the segment with the copy that lasts is erased for a rescue.
#[test]
#[ignore = "open: flushed data is lost"]
fn a_victim_without_a_header_seems_to_be_needed() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=21 dies=1 paired-pages=1 mixed-erases page
         blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9 16
         29 31 23 51 13 31 50 18, fail 0:62299 2:34140, mount, mount, fail 3:16933, cut 8:64616, write 59, decay 115,
         mount",
    );
}

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
