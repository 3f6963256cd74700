//! Histories whose end the table of promises allows, though a flushed page is lost or nothing can be written any more.
//! The model was stricter than the table, or the table did not name them. In all but five pages decay.

use super::assert_holds;

/// `primary-replacement`: a page of a data block decays, and then a cut hits the commit of the merge that supersedes
/// the block. The block seems to be half-erased, and is erased before the rescue; the commit fades, and its page is
/// zeros.
#[test]
fn two_pages_that_decay_between_cut_mounts() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=64 pages-per-block=8 blocks=84 dies=3 paired-pages=1
         block blocks-per-segment=3 scheme=primary-replacement recycle=cost-based log-blocks=4 wear=dynamic
         reclaim=at-once
         logical-pages=272 endurance=100 seed=6889246152430065325",
        "part 177, write 7+8, flush, mount, write 29+4 2 23 4 17 246, mount, write 52, mount, write 10, cut 6:12167,
         mount, decay 7, cut 4:13885, mount, cut 16:52350, mount, decay 1, cut 13:19689, mount, cut 18:14373, mount,
         cut 14:52142, mount, cut 10:46110, mount, mount",
    );
}

/// The same with four pages a block, where a cut erase leaves each page its own way, and with a failure.
#[test]
fn zeros_behind_a_failure_decay_and_cut_mounts() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=32 pages-per-block=4 blocks=35 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=primary-replacement recycle=merge-only log-blocks=4 wear=swap:1
         reclaim=at-once
         logical-pages=124 endurance=100 seed=549428758076332470",
        "write 8 21, part 45+2@1, flush, decay 0, cut 5:52440, mount, decay 1, fail 0:31407, cut 4:23985, mount, cut
         5:23572, mount, cut 2:37101, mount, cut 0:57509, mount, mount",
    );
}

/// `fast`, on a chip of eight blocks of which six fail: pages decay, a mount that is read-only serves an older
/// version, and the next one finds that it was lost.
#[test]
fn an_error_behind_failures_and_decay() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=8 blocks=8 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=fast recycle=periodic log-blocks=4 wear=dynamic reclaim=at-once
         logical-pages=3 endurance=100000 seed=13655409666257112876",
        "write 0, fail 5:16712, mount, fail 0:23620, cut 10:59450, write 0+3, mount, mount, write 0 0+3, fail 0:45837,
         cut 1:8020, write 0, decay 3, cut 0:48354, decay 4, fail 1:7893, mount, cut 11:51296, mount, cut 9:8804,
         decay 0, mount, fail 0:26266 3:12310, decay 2, mount, decay 0, mount",
    );
}

/// `fast-by-stream`: a block fails, pages decay between mounts that are cut, and no block is left for the rescue,
/// though there are as many good ones as are needed. Nothing is lost, and nothing can be written.
#[test]
fn no_block_is_left_behind_decay_and_cut_mounts() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=64 blocks=8 dies=1 paired-pages=4 any-order
         block blocks-per-segment=1 scheme=fast-by-stream recycle=periodic:3 log-blocks=3 wear=swap:1 reclaim=at-once
         logical-pages=112 endurance=100 seed=4859972592880429898",
        "write 92 107 9 2, mount, write 81 68+4 36 72 3 101 64 97, flush, cut 11:58585, write 62+3, cut 4:18031,
         mount, mount, cut 12:14628, write 30, decay 3, cut 17:34733, mount, cut 14:35020, mount, fail 9:59924, cut
         17:8380, mount, decay 58766, cut 15:43037, mount, decay 50754, cut 8:44170, mount, cut 3:52300, mount, mount",
    );
}

/// `fast-by-stream`: two pages of a shared log block decay, and then one of the block that a merge has made of it,
/// which is the last commit. The merge seems to have been cut.
#[test]
fn an_older_page_behind_three_that_decay() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=16 pages-per-block=64 blocks=36 dies=4 paired-pages=4
         block blocks-per-segment=2 scheme=fast-by-stream recycle=merge-only log-blocks=4 wear=dynamic reclaim=at-once
         logical-pages=1408 endurance=100 seed=15640315631039553001",
        "write 475, flush, write 1374, flush, write 215+2 125 176 72, part 582+4@2, write 167+8 234 116, flush, write
         1341 1178+4@1 93 1125 174 533@1 92@1 207@1 1038@2, part 1099+9@2, write 973@1 92@1 988 171, cut 0:48636,
         write 195, mount, mount, decay 1, mount, decay 1, mount, decay 18220, cut 0:28020, mount, cut 0:11149, mount,
         cut 1:16892, mount, mount",
    );
}

/// The newest version of a page decays, and the erase of the segment with the version before was cut so that nothing
/// shows it. What is left may fade: the table of promises says so.
#[test]
fn a_version_behind_one_that_decayed_may_fade() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=9 blocks=18 dies=1 paired-pages=2 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/lfs/by-stream-shared/dynamic/proactive
         logical-pages=11 endurance=100000 seed=14011755436489751590",
        "write 0+3, decay 31470, fail 3:10495, decay 39, mount, mount, write 0, cut 0:23967, write 1, decay 7, mount,
         mount, cut 0:58357, mount",
    );
}

/// With the map on flash: the program of a translation page fails and leaves one that can be read, and the page that is
/// programmed in its place decays. A mount serves what is left, which fades, and a discard is forgotten.
#[test]
fn what_a_failed_program_has_left_of_a_translation_page() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=8 blocks=18 dies=1 paired-pages=1
         paged blocks-per-segment=1 cache-entries=2
         logical-pages=12 endurance=100000 seed=1831862209212615273",
        "write 0+3 1 1, discard 1, fail 0:63246, flush, decay 9, write 3, mount, mount",
    );
}

/// Tag pages: a cut hits the flush that writes the tag of a page, and failures leave the device read-only. A mount
/// serves the page, and the tag fades. The model asked only whether the page itself lasts.
#[test]
fn a_tag_fades_behind_a_mount_that_is_read_only() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=9 blocks=28 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:3:4/cost-benefit/single/none/at-once
         logical-pages=68 endurance=100000 seed=6194559170883534214",
        "write 13 14 15 16 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 25 13
         52 5 27 18 52 53 1 15 55 37 62 33 12 16 42 13 21 17 57 29 29 19 27 54 23 37 6 58 42 29 58 55 41 25 19 4 19 67
         44 51 21 59 66 50 15 18 55 17 8 20 17 64 3 22 26 31 54 67 36 32 13, mount, fail 0:24169, write 17, cut
         0:46443, flush, fail 0:5663 3:3525, mount, mount, mount",
    );
}

/// Failures leave the device read-only, and a page that was never flushed fades in that mount. The next one serves what
/// was there before it. The model took the error for what is there from then on.
#[test]
fn a_page_fades_in_a_mount_that_is_read_only() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=11 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:1:1/greedy/single/none/at-once
         logical-pages=23 endurance=100000 seed=1",
        "write 0+23 16 8 7 2 7 22 2 5 0, cut 0:29666, write 13, fail 2:31085 3:54211, mount, mount",
    );
}

/// A cut erase has taken the mark of a rescue and left its copy. The slot of the mark may have held a page that
/// decayed, so each page that was never written is lost.
#[test]
fn what_is_left_of_a_rescue_looks_like_a_lost_page() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=13 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:3:4/greedy/single/none/at-once
         logical-pages=8 endurance=100000 seed=1",
        "write 0, cut 0:11529, write 0, cut 4:17093, mount, cut 1:24983, mount, cut 2:10198, mount, mount",
    );
}

/// The same with tag pages. What the erase has left looks like a rescue that had ended, of which a tag page and the
/// padding behind it cannot be read.
#[test]
fn what_is_left_of_a_rescue_has_lost_a_tag_page() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=10 blocks=13 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:2:3/fifo/by-stream/none/proactive:0.05:0.5:0.01
         logical-pages=5 endurance=100000 seed=9996946996089570618",
        "write 3, flush, write 2, cut 1:28279, write 3, cut 7:58140, mount, cut 4:13734, mount, cut 3:54690, mount, cut
         0:6352, mount, mount",
    );
}

/// One cut and one decay leave the same segment as in the history before, and here the page is lost.
#[test]
fn a_rescue_that_had_ended_has_lost_a_tag_page() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=10 blocks=13 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:2:3/fifo/by-stream/none/proactive:0.05:0.5:0.01
         logical-pages=5 endurance=100000 seed=9996946996089570618",
        "write 3, flush, write 0, cut 1:28279, write 3, cut 7:145, mount, mount, mount, decay 8, mount",
    );
}

/// `primary-replacement`, on a chip of which three blocks are good: a cut has hit a page that no flush followed. It
/// fades while a mount that is read-only serves it, and the next one serves what was there before. The model took the
/// page for lost. No page decays.
#[test]
fn an_older_page_behind_an_error_of_a_read_only_device() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=8 dies=1 paired-pages=1 fading-pairs
         block blocks-per-segment=1 scheme=primary-replacement recycle=optimal log-blocks=2 wear=dynamic
         reclaim=at-once
         logical-pages=13 endurance=100000 seed=8492734658855467460",
        "write 0+13, cut 2:24044, write 2+7, fail 0:54843, cut 1:41232, mount, cut 0:49551, mount, cut 0:36417, mount,
         fail 0:32996, cut 1:20746, mount, cut 0:12883, mount, fail 0:14746 2:50074 4:56826, mount, mount",
    );
}

/// The same where a merge had copied the page. The copy seemed to last, but the commit of the merge did not, and
/// without it the next mount erased the merge to make room. No page decays.
#[test]
fn a_copy_in_a_merge_whose_commit_fades() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=7 blocks=9 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=primary-replacement recycle=cost-based log-blocks=5 wear=swap:1
         reclaim=at-once
         logical-pages=6 endurance=100000 seed=7934288521225209487",
        "write 1+3, fail 0:19521 1:42084 3:42076, write 1, cut 0:16825, write 1, fail 0:40898 2:20157, cut 4:64257,
         mount, fail 4:45265, cut 7:16987, mount, cut 5:13056, mount, mount, mount, mount, cut 0:28378, mount, fail
         0:10775, mount, mount, mount, mount",
    );
}

/// Page mapping: a rescue had copied a page, and the erase of what it was copied from was cut. Then the header and the
/// mark of the rescue decayed. So it looks like one whose own erase was cut, and goes. What is left in the other
/// segment looks like a page that was never copied, and fades.
#[test]
fn three_pages_decay_beside_a_failure() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=9 blocks=19 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/greedy-first/by-stream/none/at-once
         logical-pages=13 endurance=100000 seed=3747671476229709800",
        "write 0+3, mount, write 0, fail 0:63923, mount, cut 0:57453, write 0, decay 0 9 35, mount, mount, mount",
    );
}

/// On a chip with tag pages two segments were good. The header of one decayed, the erase of the other was cut, and the
/// tag page of the first decayed, too. What is left is a mark that nothing names, so the chip seems to be foreign.
#[test]
fn a_mark_without_its_tag_page_says_nothing() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=8 pages-per-block=12 blocks=11 dies=1 paired-pages=1 any-order
         page blocks-per-segment=1 policies=watermark:4:5/fifo/single/dynamic/at-once checkpoint
         logical-pages=4 endurance=100 seed=15215299154264990194",
        "mount, part 0+4@2, write 0, mount, write 0+2 0 0, mount, write 0, mount, discard 0+16, fail 0:16449 2:28696,
         write 0, mount, decay 21479, fail 0:25604 2:7897 4:54414, write 3, mount, cut 0:56524, write 0, fail 0:21364,
         mount, cut 6:7620, write 0, fail 0:9692, cut 5:43965, mount, decay 3, fail 0:14705, cut 1:51909, mount, cut
         1:7552, mount, decay 1, mount",
    );
}

/// Block mapping without a free block. The commit of a merge was cut, and the next mount had no room to merge it anew.
/// Then a page of the data block decayed that the merge has superseded. A mount takes that block for one whose erase
/// has begun, and erases it; then the commit fades, and with it the page of the host's that lies beside it.
#[test]
fn a_page_decays_where_no_mount_had_room() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=8 blocks=21 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=primary-replacement recycle=cost-based log-blocks=3 wear=dynamic
         reclaim=at-once
         logical-pages=135 endurance=100000 seed=44153100149495523",
        "write 62 101 131 0 40 10 106 51 87 117 65 126 38 29 92 17 21 59 20 78 78 19 22 23, mount, fail 3:35483 5:5532
         7:47907, mount, mount, cut 7:49220, mount, mount, decay 1, cut 0:24859, mount, mount",
    );
}

/// The same where the page decays while the device is mounted, read-only.
#[test]
fn a_page_decays_on_a_device_that_is_read_only() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=18 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=fast-by-stream recycle=periodic:3 log-blocks=3 wear=static-threshold:2
         reclaim=at-once
         logical-pages=58 endurance=100000 seed=9500642267829054488",
        "write 25 30 36 40 45 46 47 49 50 55 48 39 25 2 17 37 16 48 57 32 24 18 27 13 1 32 46 57 23 24 24 16 45, cut
         3:53503, mount, cut 6:15593, mount, cut 2:65085, mount, cut 2:8843, mount, cut 0:32312, mount, fail 0:59250
         2:54679, cut 4:7083, mount, cut 0:13287, mount, cut 0:57469, mount, fail 2:15377, mount, mount, decay 33,
         mount",
    );
}

/// On a chip with tag pages, pages of data, a part of the discard map and padding are left. The headers and the tag
/// pages decayed, so that the chip seems to be foreign.
#[test]
fn padding_without_its_tag_page_says_nothing() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=0 pages-per-block=7 blocks=21 dies=3 paired-pages=1
         page blocks-per-segment=3 policies=watermark:4:5/greedy/single/dynamic/proactive:0.05:0.5:0.01
         logical-pages=3 endurance=100 seed=9128541317745351715",
        "mount, write 0, mount, write 0, decay 2, mount, write 1, mount, write 1, mount, cut 1:15676, write 1, decay
         6, fail 1:7517, mount, write 1, cut 1:39780, write 2, mount, cut 1:51021, write 0, decay 1, fail 0:22319,
         mount, fail 0:413, cut 1:43934, write 1, mount, cut 0:9282, write 2, decay 0 0 0, mount",
    );
}

/// Block mapping on a device that failures have made read-only. A program had failed, and the commit of the merge that
/// was to make room said that the page was never written. It faded behind the mount that had served zeros, and what the
/// failed program had left counted.
#[test]
fn a_commit_that_fades_on_a_device_that_is_read_only() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=7 blocks=24 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=log-block recycle=periodic log-blocks=1 wear=none reclaim=at-once
         logical-pages=139 endurance=100000 seed=7867552222459477411",
        "write 120 121 122 123 67 129 4 78 53 87 28 25 115 41 72 124 98 96 19 59 47 133 13 111 83, cut 3:46143, mount,
         mount, fail 1:64776, cut 8:44051, write 125, cut 1:53323, mount, cut 2:34926, mount, fail 0:62875 3:54627,
         mount, mount",
    );
}

/// Block mapping: the commit of a merge failed, and the power was cut while the merge was made anew. A page of the data
/// block that it superseded decayed, so that its erase seemed to have begun. It was erased before the rescue, a mount
/// was cut, and what was left of the commit faded.
#[test]
fn a_page_decays_beside_a_commit_that_failed() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=23 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=fast-by-stream recycle=cost-based log-blocks=4 wear=static-threshold:2
         reclaim=at-once
         logical-pages=95 endurance=100000 seed=16789819962880712080",
        "write 4 74 73 22 45 45 82 13 4 33 20 83 61 62 43 46 69 67 50 23 53 14 93 23 63 6 92 2 55 28 69 92 37 37 27 40
         81 15 20 83 21 27 1 24 81 73 34 68 55 19 16 18, flush, fail 4:59670, cut 5:58365, write 12, decay 39, cut
         7:57240, mount, mount",
    );
}
