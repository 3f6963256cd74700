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

/// A page in the group of the last commit decayed. Older decayed pages of log blocks seemed to be what the merge had
/// read, though the pages around them show that their numbers were others: the commit was not believed, and the page of
/// the commit itself was older.
#[test]
fn decayed_pages_with_other_numbers_were_no_sources() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=32 pages-per-block=12 blocks=86 dies=2 paired-pages=2
         block blocks-per-segment=2 scheme=fast recycle=optimal log-blocks=5 wear=dynamic reclaim=at-once
         logical-pages=128 endurance=100 seed=17579244245094754994",
        "write 0 1 2 3 5 6 7 12 13 14 15 16 17 18 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44
         45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80
         81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112
         113 114 115 116 117 118 120 121 122 123 124 125 126 127 11@1, part 86+4, cut 1:3441, flush, cut 3:16986,
         mount, decay 42369, mount, cut 1:2927, mount, mount, write 4@4 17@1 51@2 14@1 8@1 17@2 21@13 1 6@2, part
         83+2@1, write 17@2 16, cut 2:64353, flush, decay 32550, mount, part 4+11@2, write 24@21, fail 16:8667, cut
         25:47702, mount, mount, part 235+4, read 3, write 30, discard 28+23, write 17@39, part 48+3@1, read 19,
         flush, part 75+3@1, write 6@2 127@7 4@1 107@2 16@1 18@2, part 19+3@2, write 4+6@3! 11 16@1 11@2 0@31 16@1!,
         part 48+2@1, write 20+4@4 2 0! 1@1 7@1, decay 28286, write 20@15, flush, part 25+3 89+2, discard 16+16, write
         0@31, flush, write 36@1, part 40+4@1, write 23 15@2 16@1 15@2, part 34+2, write 24@1 23 19+5@2 18@1 7@2 2@1
         19@1, flush, write 16@1 15 4@21 14+3@1 110@1 13 14@2 16@2, read 8, clean 5, write 10@1 13@1 14 23 7@20, part
         29+4, write 18, read 6, write 23@2 53@1 8@12, part 83+3@1, write 17@36, cut 0:5524, write 8@1, fail 0:38553,
         mount, mount, discard 36, fail 71:51347, write 12@2 23@1, part 75+3@1 52+3@1, write 14@1 102@2 4@22 10@1 5@2
         97@2 21@2 7@5, flush, write 21+2@3 93+5@3 10@1! 20, part 41+12@2, write 7@16, cut 28:42231, write 24+6@2, cut
         4:37024, mount, mount, write 0@1, cut 8:45269, mount, cut 15:37331, mount, mount, cut 1:37768, write 15@2,
         decay 29468, mount, write 24@30, mount, write 18, read 11, write 13 17+3@3 18@1 13@6 8! 18@1 3@1 108@2 2+8@1
         17, part 30+2@1, write 112, part 16+4@2, write 15 20@1 18@2, cut 1:32143, mount, mount, cut 11:51910, mount,
         fail 2:2134, cut 10:49070, mount, decay 23614, cut 18:31362, mount, decay 24959, cut 0:25038, mount, cut
         6:34495, mount, decay 2820, cut 15:19195, mount, cut 11:37173, mount, fail 11:41973, cut 19:3480, mount, fail
         6:41762, cut 15:63214, mount, cut 2:15406, mount, fail 4:31757, cut 7:6235, mount, mount, decay 53427, cut
         4:20885, mount, cut 2:42969, mount, cut 4:57421, mount, decay 697, cut 5:65495, mount, mount, write 22,
         mount, discard 462+4, decay 47619, cut 0:32749, mount, decay 38378 32366, cut 0:48528, mount, decay 25734,
         mount, write 1@1 16@2 105@1 4+2@2, part 70+2@2, write 23@15, part 49+4@2, write 45@24, part 10+2@2, write 7,
         fail 2:64262, write 24+5@3 5, flush, part 10@1, write 11@1!, flush, write 12@2, flush, write 53+4! 11@1,
         flush, write 1+6@3 13+7@1 13+6, part 26, write 11 5, part 19@2 0+2 18+3@2 14+5, write 98 13 20@1 5@1 14+5@4,
         read 1, write 20@1 12@1 5@1 9@23 2@2 8@1 7+3@2!, decay 38994, write 56@1, fail 28:45252, write 24 14 48+3,
         flush, write 14+3 19@2, cut 21:33399, mount, cut 1:45570, mount, decay 26989 56635, cut 1:3815, mount, decay
         22991 23812, cut 1:31201, mount, decay 26687 43511, cut 1:302, mount, mount, write 20+7@3 6@2, flush, part
         185+3@2, discard 65+21, write 17 4@2 12@2, part 3+3@1, write 32 21@39 4@1 20@1, read 21 12, write 1 14@1,
         read 1, decay 8582, write 13@2 15@1 3@14, flush, part 68+2, write 108@27, part 79+4@1, write 21@1 23, discard
         300+21, part 4, write 10@2, part 14+4@1, write 10@2 1@1 20@15 13+4@2, part 168+6, flush, write 9@2 1 21@1!
         23+2, decay 18250, write 4, mount, decay 30841, cut 11:980, mount, decay 24546, cut 18:33516, mount, cut
         7:16427, mount, decay 1451, cut 9:10795, mount, decay 58582, cut 14:30578, mount, mount, write 10@2 5+2@4 19,
         read 8, write 4@2, part 20+3, write 14!, part 91+4@2 98+4@2, flush, write 7@2 12, flush, discard 4+13, write
         19 4@2 15@1 19 18@1, part 2+12@2 53+4@2 91+4@1, write 23@1 2+6@2 18 4@1, discard 30, write 1@1 15, flush,
         part 73+3@1, fail 0:15055, write 10+6@4 10 17@20 23+3@3 21@1, part 20@1, write 13, part 27@2, read 23, part
         50+12@1, write 23 7@1 20@2, flush, write 22@1 11@2, part 70+3@1, write 0@2, read 24, write 23@1 2@2, part
         63+3@1, write 21+5@2, part 117+9@2 87+4@2 33+2, write 59@2, part 0+4@1, discard 12+15, write 12@2, part 13+2,
         decay 29438, write 13@2 12@2 23+7@1 19@2! 12@1 3@7 16@1 16@2 11@9 3@2 93 2@2, discard 63+17, write 112@2,
         part 82@1 5+4, write 18@1 9@2 4@1 4@1, discard 118+15, write 126@1 21 24 22@2, flush, write 19@2 11@1 14@5 8
         5@1! 11@2 15, part 76+3@1, write 3 19@2, flush, write 1, discard 68, write 22@1 32@1 10@2 99, read 5, write
         3@2 7, part 370+10, write 24@2!, part 62, write 9@2 13@2 5@2, discard 7+2, write 1@2 3@1 24@26 3@1 111+3 19@2
         10 13@2 23@25 20@2, flush, write 14@2 11+3@4 12, flush, write 16+2@4, discard 186+12, write 87, discard
         31+15, write 7, read 57, fail 24:7499, part 96+4, write 6@1 52@25 3@1, read 8, write 6@35 4@2, verify,
         shutdown, decay 32251, mount, cut 1:42468, write 3@1, mount, cut 4:32761, write 19@1, cut 1:42486, mount,
         decay 52101, mount, cut 2:17158, write 7, mount, write 23, cut 0:36484, write 5@2, decay 59847 56310, cut
         1:63000, mount, decay 8332, mount, discard 340+5, part 4+6@2 82@2, write 4 8, discard 260+9 20+15, flush,
         write 5@37 3, cut 0:3286, write 20+8@4, fail 0:27937, cut 11:40763, mount, decay 48434, cut 8:13491, mount,
         mount, cut 3:16375, mount, decay 26719, cut 5:7391, mount, decay 50071, mount",
    );
}

/// The commit of a merge decayed behind a mount that had served it. The merge was erased before the rescue, because a
/// log block still had the page, but a cut had hit that copy, and it faded.
#[test]
fn a_merge_without_its_commit_stays_beside_a_fragile_copy() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=33 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=fast recycle=merge-only log-blocks=3 wear=swap:1 reclaim=at-once
         logical-pages=35 endurance=100 seed=15816110935904436825",
        "write 5, mount, write 3, cut 0:49170, write 22, mount, mount, mount, write 6, mount, decay 2, cut 0:21399,
         mount, cut 1:6527, mount, mount",
    );
}

/// Parts of two pages are lost. The flush names one of them, and the other is older after the mount.
#[test]
fn a_flush_names_one_lost_page() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=16 pages-per-block=5 blocks=45 dies=1 paired-pages=2
         block blocks-per-segment=1 scheme=fast-by-stream recycle=periodic:3 log-blocks=7 wear=swap:1 reclaim=at-once
         logical-pages=83 endurance=100000 seed=8126905221203514200",
        "write 19, part 239, write 81@2 19@2! 38@13 60 62@1 47, part 293, write 47 35, part 246, write 65, part 30+8
         198+2@2 106@1, flush, write 0 23 12+6@1, part 327+4, write 15 73@1 67@2 37@1 63 50, part 264+4@1, flush, part
         251, write 68@1 13+6@2, fail 1:8528, write 1@1 27 79 40 78 35 43@2 69+3@4 63@2! 33 66@2 28@1 38@1 46@1! 49,
         flush, write 26+4@2 12@1, cut 6:9958, write 46@11, mount, part 251, write 44 58+4@3, flush, write 5 81 71@2
         76, flush, write 20, part 40+6, write 54@2, flush, part 199+8@2 252+4@2, write 67 53+7@1 26@2 4@2 56, discard
         48+15, write 22 80 4@1 58@22 15, part 287+2@2, write 14 8 29@2 43@2, part 125, write 40+6 40 76, flush, write
         57 66@2 32+8@4 54 37 53, part 143+4@2, write 8 29@37, decay 24779 3581, part 219, flush, mount",
    );
}

/// The driver could not say whether a page of a log block was programmed. Behind a clean shutdown the block was
/// continued there, and a cut harmed a flushed page of the same cells.
#[test]
fn a_page_that_may_be_programmed_behind_a_shutdown() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=32 pages-per-block=32 blocks=22 dies=2 paired-pages=4 any-order
         block blocks-per-segment=2 scheme=fast recycle=merge-only log-blocks=3 wear=dynamic reclaim=at-once
         logical-pages=77 endurance=100 seed=2011409151140536587",
        "write 73 32, mount, write 69, mount, write 64 65 67, part 129+10@2, write 6+8, other 0:57660 26:55008, write
         60, shutdown, mount, cut 2:18672, write 53, mount",
    );
}

/// A whole page was written over a part of it in the buffer. It was on flash when a bad-block mark failed, and the
/// write with it; the flush mixed the two.
#[test]
fn a_part_in_the_buffer_is_older_than_a_write_that_failed() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=32 pages-per-block=5 blocks=39 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=fast-by-stream recycle=cost-based log-blocks=3 wear=dynamic reclaim=at-once
         logical-pages=10 endurance=100000 seed=4451551281043193868",
        "write 1+5, mount, write 0 1, part 39, write 1, fail 15:35504, fail-mark 16 18, write 4+6, flush, mount",
    );
}

/// The commit of a merge failed, and then the erase and the mark of its block. The host wrote elsewhere, a mount
/// believed what was left of the commit, and it faded.
#[test]
fn a_commit_that_failed_in_a_block_that_could_not_be_marked() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=6 blocks=126 dies=3 paired-pages=2
         block blocks-per-segment=1 scheme=primary-replacement recycle=periodic log-blocks=1 wear=swap:1
         reclaim=at-once
         logical-pages=297 endurance=100000 seed=5680012290294885996",
        "write 92 93 94 95 158 58 19 49, fail 0:8361, write 91 82 13, flush, write 39, mount, write 17 233 28 144 184,
         fail 6:14465, fail-mark 7 9, write 93 76, mount, mount",
    );
}

/// The same with a page of the host's in a shared log block: it had been answered with an error, and was lost.
#[test]
fn a_page_that_failed_in_a_block_that_could_not_be_marked() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=35 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=fast-by-stream recycle=periodic:3 log-blocks=6 wear=none reclaim=at-once
         logical-pages=208 endurance=100000 seed=63537967443206252",
        "write 39 46@37 10 1@1 206@20 22@1 27, fail 0:40854, fail-mark 7 9, write 25@2 31, mount",
    );
}

/// A command that ended at a mark that failed left a segment too few for the next one.
#[test]
fn marks_that_fail_end_no_command() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=12 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=log-block recycle=periodic log-blocks=2 wear=dynamic reclaim=at-once
         logical-pages=7 endurance=100000 seed=10869560883362126328",
        "fail 0:37290 1:52568 3:44010 5:39300, write 3+4, mount, write 0, mount, fail 2:47918, fail-mark 3 5, discard
         0+6, write 0 6, fail 2:52738, write 0",
    );
}

/// A page of the last commit's group decayed, and a cut mount left a block whose only page cannot be read and may have
/// been a source: the commit seemed to be cut. Its page was nowhere else, but gave way to an older one in a log block.
#[test]
fn the_page_of_a_commit_that_seems_cut_is_newer_than_a_log_block() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=8 blocks=16 dies=1 paired-pages=2
         block blocks-per-segment=1 scheme=fast recycle=merge-only log-blocks=2 wear=dynamic reclaim=at-once
         logical-pages=16 endurance=100 seed=1",
        "write 7 9 0+8 3+4, discard 0+3, flush, mount, cut 1:1, mount, decay 12, mount",
    );
}

/// A program failed, and other log blocks were padded before the block was marked. The cut came in between.
#[test]
fn a_failed_page_that_no_mark_covers_may_fade() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=12 blocks=108 dies=4 paired-pages=2
         block blocks-per-segment=1 scheme=fast-by-stream recycle=periodic:3 log-blocks=4 wear=none reclaim=at-once
         logical-pages=313 endurance=100 seed=12955314615158883242",
        "write 48 49 50 51 52 53 54 55 56 57 58 264 47 55@39 242@2 61@2, fail 0:46000, cut 16:125, write 211, mount,
         mount",
    );
}

/// A program failed, other blocks were padded, and the cut came before the block was marked. What the program had left
/// ended its group, was served, and faded.
#[test]
fn a_failed_page_that_ends_its_group() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=4 blocks=36 dies=1 paired-pages=2
         block blocks-per-segment=1 scheme=fast-by-stream recycle=periodic:3 log-blocks=3 wear=none reclaim=at-once
         logical-pages=60 endurance=100000 seed=1",
        "write 0+60 25@1 19@1 53 54 41@1 48@1, fail 0:46727, cut 7:30556, write 22@2, mount, mount",
    );
}

/// Two logical blocks had to be merged first: one whose commit a cut had hit, and one of which a page had decayed.
#[test]
fn only_one_logical_block_is_merged_first() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=16 blocks=18 dies=1 paired-pages=4 any-order
         block blocks-per-segment=1 scheme=fast recycle=periodic log-blocks=2 wear=dynamic reclaim=at-once
         logical-pages=50 endurance=100000 seed=9823175760647773270",
        "write 0 1 2 3 5 6 7 12 13 14 15 17 18 19 21 22 23 26 27 28 29 30 36 37 38 39 40 41 42 43 46 48, mount, fail
         7:33699, write 20, cut 3:17733, mount, fail 14:44080, mount, write 20 4, fail 1:21330, flush, fail 0:17473,
         write 8 44 9+3, fail 0:32744, write 4, decay 2, cut 15:37388, mount, fail 0:1855 9:14840, mount, decay 0 0,
         write 49, fail 4:51796, write 28+8, cut 0:64572, write 7, cut 16:23490, mount, mount, cut 36:31346, write 6,
         decay 1647, cut 8:30170, mount, mount",
    );
}

/// Head and commit of a data block had decayed, and it was erased although the only copy of a page was what a failed
/// program had left.
#[test]
fn head_and_commit_decayed() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=8 blocks=8 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=fast recycle=periodic log-blocks=4 wear=dynamic reclaim=at-once
         logical-pages=3 endurance=100000 seed=13655409666257112876",
        "write 0, cut 1:57734, mount, mount, fail 1:57980, mount, cut 3:21720, write 0+3, mount, mount, write 0, fail
         0:3549, cut 1:36568, write 0, decay 3, cut 0:62571, mount, cut 2:52824, mount, decay 1, mount",
    );
}

/// A log block that had become a data block lost its commit, and the data block beside it was not whole any more: what
/// was missing from that one must not be taken for holes.
#[test]
fn a_data_block_beside_a_completed_log_block_has_lost_pages() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=8 blocks=8 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=fast recycle=periodic log-blocks=4 wear=dynamic reclaim=at-once
         logical-pages=3 endurance=100000 seed=13655409666257112876",
        "cut 2:13601, write 0+3, fail 0:34719, cut 5:27132, mount, mount, write 0 0+3, fail 2:60181, cut 0:61289,
         write 0, decay 4, cut 11:33994, decay 2, cut 1:15851 11:16636, mount, mount, cut 3:2210 0:13238 7:3778
         3:18679, fail 4:21124, mount, cut 9:16922, mount, mount, mount, decay 0, mount, fail 9:29307, mount, fail
         12:4737, decay 0, fail 2:37006, decay 0, mount, mount",
    );
}

/// A page decayed behind a shutdown, and any page of the device may have been there. The mount recorded that in each
/// logical block, some of which got their first data block, until no segment was free.
#[test]
fn losses_of_all_logical_blocks() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=4 blocks=88 dies=2 paired-pages=2 block blocks-per-segment=2
         scheme=fast-by-stream recycle=periodic log-blocks=7 wear=none reclaim=at-once logical-pages=272
         endurance=100000 seed=6858390004018921273",
        "write 229 2 37@2 88 253 14 52 21, fail 0:41235, flush, mount, fail 0:16700, write 117 52 15 158@1 46 21,
         flush, write 36 34@2 26 38@1 108@38, fail 3:12047, cut 15:32166, mount, mount, write 9+5 13@1 78 32 31,
         discard 45+4, write 52@2, flush, write 95 6@2, flush, write 26@2 48+8 13, flush, write 49@2 20 143@2 9 30@20
         35@1 33 116 29 32 39 11, shutdown, decay 4, mount, write 17",
    );
}

/// The commit of a data block decayed, and four mounts in a row were cut in their merges: each of these blocks had to
/// stay, since the commit of each might have decayed, and no segment was left. They hold the same pages.
#[test]
fn merges_without_commits_give_way() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=8 pages-per-block=4 blocks=31 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=primary-replacement recycle=periodic log-blocks=2 wear=none reclaim=at-once
         logical-pages=108 endurance=100 seed=8027790126742242878",
        "write 3 7 9 10 12 19 23 24 31 32 39 40 47 48 55 56 63 64 71 72 79 80 87 88 95 96 103 104 6+3, cut 5:29684,
         mount, cut 4:22713, mount, cut 4:52962, mount, decay 4, cut 4:54946, mount, mount",
    );
}

/// A block failed and could not be marked, nor erased. The logical block was discarded and its commit erased; then what
/// the failed block held came back.
#[test]
fn a_discard_behind_a_mark_that_failed_twice() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=4 blocks=21 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=log-block recycle=cost-based log-blocks=1 wear=static-threshold:2
         reclaim=at-once logical-pages=3 endurance=100 seed=17146721989797960953",
        "write 0+3, fail 2:46740, mount, fail 1:2421, cut 7:34559, write 0, cut 3:65073, mount, fail-mark 14 16, mount,
         discard 0+3, mount",
    );
}

/// The erase of a block that held nothing any more failed, and its mark: what had been discarded came back.
#[test]
fn a_discard_whose_erase_and_mark_fail() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=4 blocks=21 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=log-block recycle=cost-based log-blocks=1 wear=none reclaim=at-once
         logical-pages=3 endurance=100 seed=1",
        "write 0+3 0 1, fail 1:40000, fail-mark 2 3, discard 0+3, flush, mount",
    );
}

/// The commit of a merge decayed, so that what it had been made of counted again: a page that an earlier cut had hit,
/// and that faded five mounts later.
#[test]
fn what_a_decayed_merge_was_made_of() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=5 blocks=41 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=fast recycle=cost-based log-blocks=4 wear=none reclaim=at-once
         logical-pages=126 endurance=100 seed=9365032074175543527",
        "write 57, cut 0:63080, write 109, mount, mount, write 46 103, cut 0:62404, write 119, mount, decay 2, mount,
         mount, mount, mount, cut 1:40805, mount, mount",
    );
}

/// Between the oldest data block and the last there was one with a page that had decayed, and no segment was free. The
/// two others had all that it held.
#[test]
fn a_data_block_with_a_gap_between_two() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=9 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=primary-replacement recycle=optimal log-blocks=3 wear=swap:1
         reclaim=at-once logical-pages=23 endurance=100 seed=7733247324407812220",
        "write 0 13 2 1 18 15+5 9 5 4 21, mount, cut 17:22949, write 6+6, mount, write 3 14, discard 18+4, cut 4:45916,
         write 13, mount, write 22 10 0, cut 3:25402, mount, decay 0, fail 0:15543, cut 1:43489, mount, decay 0 0, cut
         1:53977, mount, decay 32094 0, cut 0:35884, mount, decay 19917 58082, mount, write 3, cut 22:18552, write 14+7,
         cut 6:40387, mount, decay 38970, cut 3:58082, mount, decay 49703, cut 1:37295, mount, cut 7:28836, mount, cut
         6:2438, mount, cut 16:38153, mount, cut 3:8478, mount, cut 9:33749, mount, decay 28081, cut 2:4042, mount,
         decay 31365, cut 4:39932, mount, cut 10:15994, mount, fail 0:30944, cut 12:32057, mount, decay 26840, mount",
    );
}

/// Mounts in a row were cut in their merges of one logical block, and each left a block without a head that the last
/// merge seemed to have read. A failure then took the last free segment.
#[test]
fn what_the_last_merge_has_read_gives_way() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=6 blocks=22 dies=1 paired-pages=4 block
         blocks-per-segment=1 scheme=fast recycle=periodic log-blocks=7 wear=static-threshold:2 reclaim=at-once
         logical-pages=62 endurance=100 seed=973354186430789158",
        "write 47 49 59 60 20 28 19 9 38, fail 0:46377 1:15753 3:16207 5:45027, write 1 31, mount, write 8 4 61 51 4 57
         11 21, fail 0:6816, cut 16:4063, write 8, cut 2:17282, mount, cut 5:39700, mount, cut 2:56396, mount, cut
         3:63709, mount, cut 3:20699, mount, fail 1:10796, mount",
    );
}

/// A page decays behind a clean shutdown with which every page could be read. It is an error and not zeros, though its
/// tag is gone with it.
#[test]
fn a_page_that_decays_behind_a_shutdown_is_missed() {
    for scheme in ["log-block", "primary-replacement", "fast", "fast-by-stream"] {
        for decayed in 0..4 {
            let setup = format!(
                "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=14 dies=1 paired-pages=1
                 block blocks-per-segment=1 scheme={scheme} recycle=merge-only log-blocks=3 wear=none reclaim=at-once
                 logical-pages=40 endurance=100000 seed=1"
            );
            assert_holds(&setup, &format!("write 0+4, shutdown, decay {decayed}, mount"));
        }
    }
}

/// A page of the only merge of a logical block decayed, and an older log block had it as well. The next merge took it
/// from there. Under its old number it would have said that the first merge was being erased: that went before the
/// commit of the second one lasted, which a cut had hit, and which faded.
#[test]
fn what_a_log_block_has_of_a_decayed_page_is_no_erase() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=4 blocks=20 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=fast recycle=merge-only log-blocks=3 wear=none reclaim=at-once
         logical-pages=12 endurance=100000 seed=1",
        "write 3, flush, mount, write 5 1, flush, mount, decay 1, cut 3:155, mount, mount, mount",
    );
}

/// A cut hit the last page of a shared log block, and a mount copied it. Then all of the copy's block decayed, so that
/// the page counted again. It was served where it was, and faded mounts later.
#[test]
fn a_shared_log_block_of_cut_mounts_and_decay() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=8 blocks=108 dies=3 paired-pages=1 any-order block
         blocks-per-segment=1 scheme=fast recycle=cost-based log-blocks=6 wear=swap:1 reclaim=at-once
         logical-pages=792 endurance=100000 seed=3491488095770559969",
        "write 144 29, cut 0:6161, write 44, cut 2:18603, mount, mount, cut 1:57321, write 95, decay 62162, mount,
         write 751 51, decay 36564, cut 0:39292, mount, cut 1:56867, mount, decay 1579, cut 1:59687, mount, mount, cut
         3:26160, mount, cut 0:51000, mount, cut 1:31758, mount, cut 3:59148, mount, cut 1:64630, mount, cut 0:36748,
         mount, mount, mount, mount, mount, mount, mount, mount, cut 1:59069, mount, cut 0:46920, mount, mount, mount,
         mount, mount, mount, mount, mount, mount, mount, mount, mount, mount",
    );
}

/// A program failed in a shared log block, and the cut came when its logical block had been merged, but before the
/// block was marked. What the program had left counted again when the commit of that merge decayed.
#[test]
fn older_data_behind_failures_and_decay() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=16 pages-per-block=32 blocks=17 dies=1 paired-pages=2
         block blocks-per-segment=1 scheme=fast-by-stream recycle=optimal log-blocks=3 wear=none reclaim=at-once
         logical-pages=250 endurance=100 seed=748003685014039438",
        "write 153 85 4 154 191 243+7, part 494, write 119 125 49 221 86 66 215+3, part 317, write 110 164+8 63 183
         176 84 105, flush, part 535+2 989, write 196 122 118 88 104 34 218 135, part 394+4, write 171 231 57 131 166
         76, flush, write 59, discard 912+18, flush, write 203 243 203 247 186 78 159 172 87+8, mount, write 26 11 9,
         part 245, write 35, part 190+4@2, write 116 22, part 529+12@2, write 228, part 842+3@2, write 58 83 0 53 4 70
         8 20, part 993, write 212, part 459+4@2, write 38 139, part 23, write 153 231+7 189+8 126, flush, write 60
         67, cut 2:31356, write 71+7, mount, write 160 110 2 75 204+5 151, fail 0:55473, write 177, part 65 533+4,
         decay 20709, write 197, discard 360+8, write 122, part 769, write 141+5 164 91 55 127 42 140, flush, part
         677, write 46 67, fail 0:26032, cut 19:23228, flush, mount, cut 15:1128, mount, mount, cut 24:42130, write
         204, decay 3361, mount",
    );
}

/// A page of the only merge of a logical block decayed. The merge was doubted, since the last group had a page that was
/// never there, and what had been discarded came back from a shared log block.
#[test]
fn a_commit_whose_group_has_a_gap() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=8 blocks=33 dies=3 paired-pages=3 any-order
         block blocks-per-segment=1 scheme=fast recycle=periodic:3 log-blocks=7 wear=none reclaim=at-once
         logical-pages=37 endurance=100000 seed=1027110223231429133",
        "write 18 19 21 29 30 33 34, mount, mount, write 0, discard 40+7, cut 4:14700, flush, cut 0:13931, mount,
         mount, decay 8, mount",
    );
}
