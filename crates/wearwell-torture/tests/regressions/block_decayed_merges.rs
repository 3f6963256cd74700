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

/// A program in a shared log block failed, and the power was cut in the commit of the merge that was to make room. The
/// first page of the merge decayed. Its commit was taken for the page that was written last, so what the failed program
/// had left was not copied. It was served once, and faded.
#[test]
fn a_commit_behind_a_head_that_decayed() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=7 blocks=15 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=fast recycle=cost-based log-blocks=4 wear=swap:1 reclaim=at-once
         logical-pages=54 endurance=100000 seed=10565218057024817375",
        "write 0 1 2 3 4 5 7 14 15 16 21 35 36 37 42 43 44 45 46 47 48 49 42 36 18 31 25 47 3 30 15 38 52 19 18 18 17
         17 28 9 30 31 21 30 18 26 47 9 45 24 17 0 7 26 43 9 43 46 4 6 15 15 15 53 39 15 11 46 42 12 6 18 2 24 10 47
         42 40 44 49 43 16 40 1, fail 0:64631, cut 7:37803, write 29, decay 34, mount, mount",
    );
}

/// The same behind a chain of cuts, failures and decays.
#[test]
fn a_chain_of_cuts_and_decays_of_shared_logs() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=4 blocks=24 dies=2 paired-pages=1 mixed-erases
         fading-pairs
         block blocks-per-segment=2 scheme=fast-by-stream recycle=merge-only log-blocks=3 wear=swap:1 reclaim=at-once
         logical-pages=27 endurance=100000 seed=10433098351413546000",
        "write 1+3, mount, write 4 0, cut 8:31922, mount, decay 0, cut 12:17202, mount, cut 4:42719, mount, cut
         3:35731, mount, decay 5, cut 2:57117, mount, cut 18:60203, mount, fail 3:65155 6:35783 9:41249, cut
         12:54676, mount, fail 0:32261 3:241, cut 13:29396, mount, cut 11:5809, mount, decay 1 6, fail 1:26040
         5:4178, mount, decay 1, mount",
    );
}

/// The commit of a log block that a merge had completed decayed, and the erase of the data block before was cut. Two
/// pages of that were gone, and taken for lost, though the log block had copies of them. The records of that loss were
/// all that an erase had left of the next merge.
#[test]
fn a_completed_log_block_without_its_commit_has_copies() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=7 blocks=24 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=fast recycle=cost-based log-blocks=7 wear=swap:1 reclaim=at-once
         logical-pages=97 endurance=100000 seed=7472823434228802356",
        "write 29 52 53 54 55 56 57 58 59 60 61 62 77 84 73 29 11 35 41 10 28 61 39 42 73 68 33 1 95 63 74 81 24 32 61
         33 36 42 40 13 18 75 75 96 60 63 16 2 55 38 8 89 11 14 37 6 2 96 75 13 36 55 68 86 60 49 56 56, flush, cut
         6:2893, write 77, decay 27, cut 7:13009, mount, mount",
    );
}

/// The erase of a log block of two blocks was cut, and the commit of the merge that had read it decayed. A page that
/// was discarded before the merge is left in the log block, and its discard record is not.
#[test]
fn a_discarded_page_beside_a_merge_whose_commit_decayed() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=34 dies=2 paired-pages=1 any-order
         block blocks-per-segment=2 scheme=log-block recycle=cost-based log-blocks=3 wear=dynamic reclaim=at-once
         logical-pages=18 endurance=100000 seed=4436419387906581789",
        "write 1 9+7, fail 3:4655, mount, cut 8:65340, mount, fail 8:28046, mount, write 3 16 0, discard 2+5, write
         7+6 8 4 10, flush, write 9 2 15+3 11, cut 17:12508, write 4, cut 5:2459, mount, cut 3:13112, mount, decay 2,
         cut 4:33026, mount, decay 37559, mount",
    );
}

/// The same, but the erase has left pages that cannot be read, and none that reads as erased.
#[test]
fn a_discarded_page_where_an_erase_left_pages_unreadable() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=34 dies=2 paired-pages=1 any-order
         block blocks-per-segment=2 scheme=log-block recycle=cost-based log-blocks=3 wear=dynamic reclaim=at-once
         logical-pages=18 endurance=100000 seed=4436419387906581789",
        "write 1 9+7, fail 3:4655, mount, cut 8:65340, mount, fail 8:16394, mount, write 3 16 0, discard 2+5, write
         7+6 8 4 10, flush, write 9 2 15+3 11, cut 17:58528, write 4, cut 5:6534, mount, cut 3:13112, mount, decay 2,
         cut 4:3875, mount, decay 37559, mount",
    );
}

/// Two pages of a log block decayed, and the merge beside it is what a cut erase has left. The pages that the merge
/// seems to lack were no discarded ones.
#[test]
fn two_pages_of_a_log_block_that_decayed() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=34 dies=2 paired-pages=1 any-order
         block blocks-per-segment=2 scheme=log-block recycle=cost-based log-blocks=3 wear=dynamic reclaim=at-once
         logical-pages=18 endurance=100000 seed=4436419387906581789",
        "write 7+6, flush, cut 7:12508, mount, decay 1, cut 0:20207, mount, decay 1, mount",
    );
}

/// The commit of a merge decayed, and so did another page of it, behind a cut in the erase of the data block with holes
/// that it had read. That erase has left a page that cannot be read where none was programmed, and has taken one that
/// was: its commit counts as many pages as before. Nothing was written between the two, so that the copies that are
/// left of the merge all have smaller numbers.
#[test]
fn a_merge_with_nothing_newer_than_what_it_read() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=16 dies=1 paired-pages=2 mixed-erases
         block blocks-per-segment=1 scheme=log-block recycle=cost-based log-blocks=3 wear=static-threshold:2
         reclaim=at-once
         logical-pages=16 endurance=100000 seed=1",
        "write 1 6 0, mount, cut 5:10811, mount, decay 2 2, mount",
    );
}

/// A page that was discarded is left in a log block whose erase was cut, and the commit of the merge has decayed. What
/// a cut has left of another block is one page that cannot be read: a page may have been migrated there, and have
/// decayed. But this merge has lost nothing else, so it lacks the page because that was discarded.
#[test]
fn a_page_left_out_beside_a_block_of_one_page() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=34 dies=2 paired-pages=1 any-order
         block blocks-per-segment=2 scheme=log-block recycle=cost-based log-blocks=3 wear=dynamic reclaim=at-once
         logical-pages=18 endurance=100000 seed=4436419387906581789",
        "write 1 9+7, fail 3:4655, mount, cut 8:65340, mount, fail 8:28046, mount, write 3 16 0, discard 2+5, write
         7+6 8 4 10, flush, write 9 2 15+3 11, cut 17:12508, write 4, cut 2:2459, mount, cut 7:63516, mount, cut
         3:65062, mount, decay 2, cut 4:61784, mount, decay 37559, mount",
    );
}

/// The same without such a block, but another page of the merge has decayed as well. Of the log block more is gone.
#[test]
fn a_discarded_page_where_the_merge_has_lost_two() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=34 dies=2 paired-pages=1 any-order
         block blocks-per-segment=2 scheme=log-block recycle=cost-based log-blocks=3 wear=dynamic reclaim=at-once
         logical-pages=18 endurance=100000 seed=4436419387906581789",
        "write 1 9+7, fail 3:10183, mount, cut 7:59192, mount, fail 8:45294, mount, write 3 16 0, discard 2+5, write
         7+6 8 4 10, flush, write 9 2 15+3 11, cut 17:58528, write 4, cut 5:6534, mount, cut 1:17309, mount, decay 25,
         cut 7:521, mount, decay 33, mount",
    );
}
