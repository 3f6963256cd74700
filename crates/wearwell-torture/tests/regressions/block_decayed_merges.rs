//! Block mapping, when the merge decays that has superseded a data block, and the erase of that block was cut.

use super::*;

/// All of the merge decayed, so nothing said whose it was. The data block before it lacks no page, as its commit said,
/// and a page that the erase had taken was copied as ones.
#[test]
fn ones_of_a_half_erased_block_are_no_data() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=8 blocks=8 dies=1 paired-pages=1 mixed-erases
         fading-pairs
         block blocks-per-segment=1 scheme=fast recycle=periodic log-blocks=4 wear=dynamic reclaim=at-once
         logical-pages=3 endurance=100000 seed=13655409666257112876",
        "write 0+3, mount, write 0 0, fail 4:60181, cut 11:18226, mount, decay 4 4 4 4, mount",
    );
}

/// The commit of the merge decayed. It had a page that the erase of the data block with holes had taken, and that page
/// was zeros, although the head of the merge has a greater number than the commit of the data block.
#[test]
fn a_merge_without_its_commit_is_newer_by_its_head() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=16 dies=1 paired-pages=2 mixed-erases
         block blocks-per-segment=1 scheme=log-block recycle=cost-based log-blocks=3 wear=static-threshold:2
         reclaim=at-once
         logical-pages=16 endurance=100000 seed=1",
        "write 1 6, mount, cut 5:10811, mount, decay 2 2, mount",
    );
}

/// The same, and the mount that saw it was cut while it erased the block of that merge, to fill it anew. The next one
/// had nothing to doubt.
#[test]
fn what_has_superseded_a_half_erased_block_waits_for_its_merge() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=8 blocks=8 dies=1 paired-pages=1 mixed-erases
         fading-pairs
         block blocks-per-segment=1 scheme=fast recycle=periodic log-blocks=4 wear=dynamic reclaim=at-once
         logical-pages=3 endurance=100000 seed=13655409666257112876",
        "write 0+3, mount, write 0 0+3, fail 4:60181, cut 11:18226, mount, decay 4 4 4 8 4, cut 0:63704, mount, mount",
    );
}

/// A page of the merge with the last commit decayed, so that this seemed to have been cut. Two operations failed, no
/// segment was free, and the merge was erased, although the only other copy of a page lay where the erase had begun.
/// That copy faded, and the page was zeros.
#[test]
fn a_merge_is_no_spare_if_an_erase_has_begun_in_what_it_read() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=17 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=primary-replacement recycle=merge-only log-blocks=2 wear=swap:1
         reclaim=at-once
         logical-pages=77 endurance=100000 seed=13048956947070429169",
        "write 19 26 35 47 52 10 64 25 68 46 32 25 66 18 16 22 3 72 1 67 14 31 29 72 27 76 53 27 21 37 28 55 34 1 9 4
         35 25 69 27, flush, cut 7:10070, mount, decay 32, fail 2:38359 4:12439, mount",
    );
}
