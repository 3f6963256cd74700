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
