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

/// `fast`: a page decays while the device is on, and a flush and a mount behind it are cut.
#[test]
#[ignore = "open: flushed data is lost"]
fn a_page_decays_and_mounts_are_cut() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=9 blocks=15 dies=1 paired-pages=2 mixed-erases block
         blocks-per-segment=1 scheme=fast recycle=optimal log-blocks=5 wear=dynamic reclaim=at-once logical-pages=63
         endurance=100000 seed=2910677430185874349",
        "write 1+6 0 3 0 1, decay 49, flush, cut 2:48832, mount, cut 0:55146, mount, mount",
    );
}

/// `fast`: every page of a half-erased data block can be read when it is scanned, and one fades in the rescue.
#[test]
#[ignore = "open: flushed data is lost"]
fn a_half_erased_block_that_can_be_read() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=3 blocks=14 dies=1 paired-pages=1 mixed-erases block
         blocks-per-segment=1 scheme=fast recycle=optimal log-blocks=3 wear=dynamic reclaim=at-once logical-pages=3
         endurance=100000 seed=186974566735",
        "write 0+3, mount, write 2+1, cut 4:7778, mount, decay 0, mount, mount",
    );
}

/// `fast-by-stream`: the commit of a merge decays beside a block that was written in place, and nothing tells which is
/// the newer one.
#[test]
#[ignore = "open: flushed data is lost"]
fn a_commit_that_decays_beside_a_block_written_in_place() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=5 blocks=12 dies=1 paired-pages=3 mixed-erases block
         blocks-per-segment=1 scheme=fast-by-stream recycle=merge-only log-blocks=3 wear=dynamic reclaim=at-once
         logical-pages=2 endurance=100000 seed=786662729112",
        "write 1+1, discard 1, mount, write 0+1, cut 4:54833, mount, decay 0, cut 1:18151, mount, decay 6, mount,
         mount",
    );
}
