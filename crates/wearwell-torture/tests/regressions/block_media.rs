//! Block mapping, when data decays or a mark fails.

use super::*;

/// A page of the block that a merge had read decayed, so that its erase seemed to have begun, and a commit that the cut
/// had harmed was believed.
#[test]
fn a_decayed_page_hides_no_flushed_one() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=12 blocks=40 dies=1 paired-pages=4
         block blocks-per-segment=1 scheme=fast-by-stream recycle=merge-only log-blocks=4 wear=swap:1 reclaim=at-once
         logical-pages=45 endurance=100 seed=17877992847247838112",
        "write 7+7 1 0 6, mount, write 4 3 2, cut 4:41286, mount, cut 12:23520, mount, decay 0, mount",
    );
}

/// The mark of a failed block failed too, and what had been discarded came back from it.
#[test]
fn a_discard_does_not_come_back_from_a_block_that_failed() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=6 blocks=23 dies=1 paired-pages=2
         block blocks-per-segment=1 scheme=log-block recycle=merge-only log-blocks=4 wear=dynamic reclaim=at-once
         logical-pages=15 endurance=100000 seed=17788337470610169035",
        "write 9 13, mount, write 14 0, fail 1:15364, fail-mark 8, flush, discard 10+5, flush, mount",
    );
}

/// The commit of a data block with holes decayed, and the page that a cut hit in that block was not seen as the last.
#[test]
fn a_page_appended_behind_a_decayed_commit_is_rescued() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=8 pages-per-block=32 blocks=52 dies=2 paired-pages=1 any-order
         block blocks-per-segment=2 scheme=primary-replacement recycle=periodic:3 log-blocks=3 wear=static-threshold:2
         reclaim=at-once
         logical-pages=1408 endurance=100 seed=1093818571770146411",
        "mount, cut 4:21357, write 1034+3, decay 0, mount, write 920, decay 0, mount, decay 2, part 2854+3@2, cut
         1:38173, flush, mount, mount, cut 5:50667, mount, cut 5:21814, mount, mount, mount",
    );
}

/// The commit of a merge decayed. What the merge had read was gone, so that its block held the only certain copy, and
/// the mount erased it before a page that a cut had hit was safe.
#[test]
fn a_merge_with_a_decayed_commit_stays_until_the_rescue_is_over() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=4 blocks=13 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=fast recycle=cost-based log-blocks=2 wear=none reclaim=at-once
         logical-pages=1 endurance=100 seed=9063636633608280929",
        "write 0, mount, decay 1, cut 1:27946, write 0, mount",
    );
}

/// A program failed, and so did the mark of the segment that its log block was merged to. The host went on in another
/// log block, and what the failed program had left faded when a mount merged it: no cut had hit it.
#[test]
fn what_a_failed_program_left_is_emptied_before_the_next_write() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=64 blocks=13 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=fast recycle=merge-only log-blocks=5 wear=swap:1 reclaim=at-once
         logical-pages=277 endurance=100000 seed=16416765245742131713",
        "write 46+2 2 40+6 7 5 8 15 34 1 17 13 50+5 20 6, fail 0:3892 11:16123, fail-mark 12 14, write 32 18 26, fail
         31:33853, mount",
    );
}

/// A mark failed, and the record that had to stay because of that took one of the segments held back for failures. With
/// no log block to recycle, the next write was refused.
#[test]
fn what_is_held_back_is_given_if_nothing_can_be_gained() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=4 blocks=10 dies=1 paired-pages=1 any-order
         block blocks-per-segment=1 scheme=primary-replacement recycle=periodic:3 log-blocks=5 wear=static-threshold:2
         reclaim=at-once
         logical-pages=7 endurance=100 seed=16361016193772732141",
        "mount, fail 1:56355, fail-mark 4 6, write 5 3 6 3",
    );
}

/// The torture's model allowed less than the table of promises.
#[test]
fn what_the_table_allows_is_no_failure() {
    let seeds = [
        // A commit decayed, and what had been discarded before it came back from shared log blocks.
        ("block-decay", 820_102),
        ("block-decay", 820_148),
        // The rest of a page was lost, a flush said so, and the part that had been written was expected.
        ("block-decay", 820_189),
        // The record of a lost page decayed before a flush.
        ("block-decay", 820_393),
        ("block-decay", 820_951),
        // A page was older because its newest copy had decayed, and then a part of the discard map decayed.
        ("decay", 820_954),
        // A page of a data block decayed behind the cut in the commit that superseded it, and then that commit faded.
        ("block-decay", 820_665),
        // A page of the block with the last commit decayed after a cut, and what had been discarded before came back.
        ("block-decay", 320_000_160),
        // Nothing on the chip could be read any more, so that it could not be told from a foreign one.
        ("decay", 820_159),
    ];
    for (name, seed) in seeds {
        let (_, record) = torture(mode::named(name).expect("a mode of the list"), seed);
        assert_eq!(record.failure, None, "{name} {seed}");
    }
}

/// The erase of the mark of a clean shutdown failed, and so did the bad-block mark of its block: the next write
/// panicked.
#[test]
fn a_clean_mark_that_is_neither_erased_nor_retired() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=4 blocks=76 dies=2 paired-pages=2
         block blocks-per-segment=1 scheme=primary-replacement recycle=merge-only log-blocks=1 wear=none
         reclaim=at-once
         logical-pages=49 endurance=100000 seed=7515677367874672584",
        "shutdown, fail 0:12857, fail-mark 1 3, write 14 26",
    );
}

/// More failures in one write than are promised: the mount behind it may be read-only.
#[test]
fn five_failures_in_one_write() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=16 blocks=128 dies=4 paired-pages=3
         block blocks-per-segment=4 scheme=log-block recycle=cost-based log-blocks=4 wear=dynamic reclaim=at-once
         logical-pages=1426 endurance=100000 seed=12893501732061183146",
        "write 63 183 208 209 210 211 213 214 215 216 217 218 219 220 221 222 223 224 225 226 227 228 229 230 231 232
         233 234 235 236 237 238 239 240 241 242 243 244 245 246 247 248 249 250 251 252 253 254 272 364 437 454 546
         639 640 710 823 894 900 1004 1078 1091 1184 1279 1280 1405 1419 107 212 628 271 30, fail 4:14804 27:62824
         60:18331 74:13965 127:57788, write 157, mount",
    );
}

/// A page of the last data block decayed while the device was on. The block seemed to be a merge that a cut had hit,
/// although nothing was wrong with the group of its commit, and the page of the commit was older.
#[test]
fn a_commit_whose_group_is_whole_was_not_cut() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=43 dies=1 paired-pages=1 any-order
         block blocks-per-segment=1 scheme=fast recycle=cost-based log-blocks=7 wear=none reclaim=at-once
         logical-pages=264 endurance=100000 seed=17358603013042399946",
        "write 51 2 37 49+2 1 0 17 14 45, cut 2:24693, write 28+8, decay 3, mount, write 3 50 10 23 195 20 29+7 50+4
         32 38 39 6 5 42 31 14, cut 18:1571, write 27+6, mount, decay 8, mount",
    );
}

/// The same with the first page of the block, and what the merge had read faded once it did not count.
#[test]
fn a_commit_whose_head_has_decayed_was_not_cut() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=33 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=fast recycle=merge-only log-blocks=3 wear=swap:1 reclaim=at-once
         logical-pages=35 endurance=100 seed=15816110935904436825",
        "write 1 34 9, mount, write 3, cut 0:49170, write 22, decay 4, mount, decay 4, mount, mount, decay 3, cut
         0:21399, mount, mount",
    );
}

/// A page in the group of the last commit decayed. All that the merge had read was left but for the page of the commit
/// itself, whose number says nothing of what it was copied from.
#[test]
fn a_commit_whose_own_page_is_nowhere_else_counts() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=6 blocks=84 dies=4 paired-pages=4
         block blocks-per-segment=2 scheme=fast-by-stream recycle=periodic log-blocks=6 wear=none reclaim=at-once
         logical-pages=396 endurance=100000 seed=11888208023397644380",
        "write 5@1 20+3@1 87@2 243@1 6@1 2@1 199 45@1 73 66@1 44 72 24, flush, write 64 302@24 47@2 48, mount, cut
         4:31774, write 52+7, mount, write 47 24 1, cut 1:931, write 34@2, cut 22:51900, mount, mount, cut 6:39920,
         mount, decay 56893, mount",
    );
}

/// A program failed in the mount behind a cut in a commit, and no segment was left for the rescue. The page of the
/// commit faded behind the mount that had served it, although what it was a copy of was still there.
#[test]
fn a_copy_that_fades_on_a_worn_device_is_read_from_its_source() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=16 blocks=28 dies=4 paired-pages=3 any-order
         block blocks-per-segment=4 scheme=log-block recycle=periodic log-blocks=1 wear=dynamic reclaim=at-once
         logical-pages=192 endurance=100 seed=1795897957778361448",
        "write 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 89 90 91 92 93 94 95 96 97
         98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 116 117 118 119 120 121 122 123 124 125 126
         127 131 115, mount, write 88, fail 47:58532, cut 115:16578, write 32, cut 5:40108, mount, fail 11:24556,
         mount",
    );
}
