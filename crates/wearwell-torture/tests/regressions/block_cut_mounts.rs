//! Block mapping, where several mounts in a row were cut, until no segment was free and the device was read-only.

use super::*;

/// A log block that had been completed was half-erased, and its commit was gone. It was kept as a log block, and beside
/// it as many commits as beside a data block: more than there is room for.
#[test]
fn a_completed_log_block_without_its_commit_is_the_oldest() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=6 blocks=21 dies=3 paired-pages=1
         block blocks-per-segment=3 scheme=fast recycle=cost-based log-blocks=2 wear=dynamic reclaim=at-once
         logical-pages=21 endurance=100 seed=10617178726191224161",
        "write 14 11 9 19 10 5 19 15 2 14, discard 19+2, write 12 18 13 2 8, flush, write 3 18 17 12 5, cut 2:29168,
         write 0, cut 4:36745, mount, cut 4:62570, mount, cut 4:62870, mount, cut 3:25163, mount, cut 5:57329, mount,
         cut 5:32968, mount, cut 5:15108, mount, mount",
    );
}

/// The same, where a merge had completed it.
#[test]
fn a_log_block_that_a_merge_completed_is_the_oldest_too() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=7 blocks=80 dies=2 paired-pages=1
         block blocks-per-segment=2 scheme=fast recycle=periodic:3 log-blocks=2 wear=dynamic reclaim=at-once
         logical-pages=490 endurance=100000 seed=5036755306247859714",
        "write 16 17 18 19 20 21 22 99 149 180 281 195 472 353 154 211 448 53 23+6 11+5 409 334+6 481 385 373 250 427
         66+7 138 268 447, mount, write 27, discard 339+6, write 296 11 260 399 124 92 41 320 14 236+6 31, flush,
         write 208 27, cut 6:2621, mount, cut 19:32787, mount, cut 12:26881, mount, cut 18:800, mount, cut 16:3188,
         mount, mount",
    );
}

/// The commit of a merge was hit, and read well once. The mount that saw it read it a second time to learn what its
/// block lacks, and took the page that was never written for one that is lost.
#[test]
fn a_commit_that_fades_between_two_reads_loses_no_page() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=32 pages-per-block=6 blocks=123 dies=3 paired-pages=2
         block blocks-per-segment=1 scheme=log-block recycle=cost-based log-blocks=4 wear=dynamic reclaim=at-once
         logical-pages=696 endurance=100 seed=16572959623623095203",
        "mount, cut 1:14290, write 70, cut 3:21043, mount, mount",
    );
}

/// A discard record stood in a segment of its own beside a log block that was being filled. Two cuts in the merges of
/// mounts then used up the segments that were left.
#[test]
fn a_record_of_an_empty_logical_block_leaves_the_reserve_whole() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=5 blocks=30 dies=1 paired-pages=3
         block blocks-per-segment=1 scheme=log-block recycle=periodic log-blocks=1 wear=static-threshold:2
         reclaim=at-once
         logical-pages=128 endurance=100 seed=16735897771670678575",
        "write 29 34 35 44 45 54 55 64 65 74 75 84 85 94 95 104 105 114 115 124 125 3 1 2 15 23 14 6 4, cut 0:15925,
         discard 109+6, cut 5:23318, mount, cut 5:934, mount, mount",
    );
}

/// A half-erased merge was believed, and the pages that it lacked were taken for discarded.
#[test]
fn a_merge_that_lasts_is_kept_behind_a_half_erased_block() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=4 blocks=35 dies=1 paired-pages=2 mixed-erases
         block blocks-per-segment=1 scheme=fast-by-stream recycle=periodic:3 log-blocks=6 wear=static-threshold:2
         reclaim=at-once
         logical-pages=80 endurance=100 seed=13886459197458414346",
        "write 6, mount, cut 2:53729, mount, cut 5:7371, mount, cut 4:37970, mount, cut 3:29608, mount, cut 4:60520,
         mount, cut 1:2489, mount, mount",
    );
}

/// Each cut mount left another data block of one logical block, until none was free.
#[test]
fn merges_of_cut_mounts_leave_a_free_block() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=6 blocks=8 dies=1 paired-pages=1 any-order mixed-erases
         block blocks-per-segment=1 scheme=log-block recycle=cost-based log-blocks=1 wear=dynamic reclaim=at-once
         logical-pages=23 endurance=100000 seed=1951858943594955535",
        "write 11 22 14 3 14, cut 0:25087, mount, cut 3:552, mount, cut 5:22981, mount, cut 3:16583, mount, cut
         4:7312, mount, mount",
    );
}

/// A record of discards counted as a data block, and with it a log block that had just been completed as the third.
#[test]
fn a_completed_log_block_is_not_a_second_merge() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=4 blocks=38 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=fast recycle=periodic:3 log-blocks=4 wear=dynamic reclaim=at-once
         logical-pages=3 endurance=100 seed=11533985433783099846",
        "write 0, discard 0+3, flush, write 0, flush, cut 1:6859, write 0, mount",
    );
}

/// A second merge was being erased, and its head was gone. What it lacked by then passed for discarded.
#[test]
fn a_second_merge_whose_head_is_gone_is_not_believed() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=4 blocks=10 dies=1 paired-pages=3 any-order mixed-erases
         block blocks-per-segment=1 scheme=fast recycle=periodic log-blocks=6 wear=none reclaim=at-once
         logical-pages=4 endurance=100000 seed=1073984868479346092",
        "write 0, mount, cut 2:1319, mount, cut 3:39127, mount, cut 5:7420, mount, cut 1:4553, mount, mount",
    );
}

/// A page that a cut merge had read was in a log block without a head, so that the merge was kept. Another logical
/// block was merged first, and behind that commit the one that the cut had harmed counted.
#[test]
fn a_cut_merge_that_is_kept_is_merged_first() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=16 pages-per-block=8 blocks=22 dies=1 paired-pages=4
         block blocks-per-segment=1 scheme=fast-by-stream recycle=periodic log-blocks=5 wear=swap:1 reclaim=at-once
         logical-pages=112 endurance=100000 seed=2532915420690632616",
        "write 89 91 92 93 54, mount, write 49@2 0 37 13 94, cut 0:38114, write 105, cut 18:22561, mount, cut
         12:53907, mount, mount",
    );
}

/// The last page of a log block was hit by a cut and rescued, and stayed behind in the block. Other cuts followed, and
/// it was the last page no more when a mount found it. It faded behind a clean shutdown that said that every page can
/// be read, and a page that was never written was an error.
#[test]
fn a_page_that_an_earlier_cut_has_hit_may_fade_behind_a_shutdown() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=32 pages-per-block=4 blocks=40 dies=1 paired-pages=1 any-order
         block blocks-per-segment=1 scheme=fast recycle=optimal log-blocks=5 wear=dynamic reclaim=at-once
         logical-pages=128 endurance=100 seed=16535299927671972426",
        "write 87 119, part 171+3@2, write 37 79 14, part 124+10@2, write 90 17 6 114 1 7 121 10 9, part 75+2@1, write
         62 0 23 18 11, part 377, write 18, flush, write 20+5, mount, write 3 23 11 18 115 23 11, cut 0:40139, write
         15, mount, write 8, cut 6:63780, write 5, cut 4:31287, mount, mount, write 8 11 8 21+5 8+6 17 20 20,
         shutdown, mount",
    );
}

/// A log block without a readable head was erased before the merge that had read it, and that a cut had hit. Behind a
/// cut in between nothing showed that the merge had been cut: it counted, without the page that the cut had harmed.
#[test]
fn what_an_undone_merge_has_read_outlasts_it() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=8 blocks=100 dies=4 paired-pages=4 any-order
         block blocks-per-segment=2 scheme=fast recycle=periodic:3 log-blocks=6 wear=static-threshold:2
         reclaim=at-once
         logical-pages=195 endurance=100 seed=5546900418047433129",
        "write 44 73 9 62 155 11 5 147 137 68 82 145 181 167 142 24 169 19, mount, write 89, cut 8:14879, write 60+8,
         cut 15:42391, mount, cut 5:56149, mount, mount",
    );
}

/// A log block without a readable head was erased before the merge that had read it, as its last commit could be read.
/// The commit faded, and pages of its group were taken for lost.
#[test]
fn what_the_last_merge_has_read_outlasts_it() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=8 blocks=100 dies=4 paired-pages=4 any-order mixed-erases
         fading-pairs
         block blocks-per-segment=2 scheme=fast recycle=periodic:3 log-blocks=6 wear=static-threshold:2
         reclaim=at-once
         logical-pages=195 endurance=100 seed=5546900418047433129",
        "write 44 73 9 62 155 11 5 147 137 68 82 145 181 167 142 24 169 19, mount, write 89, cut 8:14879, write 60+8,
         cut 15:26743, mount, mount",
    );
}

/// A merge that a cut had hit lost a page later, and was counted as the second of four data blocks: the last but one
/// was believed, which a cut had hit as well, and the first was erased.
#[test]
fn a_block_with_gaps_is_none_of_four() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=8 pages-per-block=5 blocks=36 dies=1 paired-pages=3 fading-pairs
         block blocks-per-segment=1 scheme=log-block recycle=optimal log-blocks=2 wear=dynamic reclaim=at-once
         logical-pages=55 endurance=100000 seed=106463063430943572",
        "write 6+4, mount, cut 5:28565, mount, cut 5:52277, mount, cut 5:63993, mount, cut 2:42286, mount, cut
         1:32022, mount, mount",
    );
}

/// The group of a commit that a cut had made unreadable was taken for certain. A page of it was served, and faded.
#[test]
fn the_group_of_an_unreadable_commit_may_fade() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=8 pages-per-block=7 blocks=63 dies=3 paired-pages=4 fading-pairs
         block blocks-per-segment=1 scheme=fast recycle=periodic log-blocks=5 wear=dynamic reclaim=at-once
         logical-pages=337 endurance=100 seed=2140187784106977681",
        "write 29 30 32 33 322 323 324 325 326 327, mount, write 17 326, cut 0:4098, write 31, cut 16:3424, mount, cut
         10:40433, mount, mount, mount, cut 0:37978, mount, cut 0:33838, mount, cut 0:3274, mount, mount",
    );
}

/// A merge was cut in its first page, and then its erase: the page with its commit could not be read, though it had
/// never been programmed. The first page counted, and faded.
#[test]
fn the_last_page_of_a_merge_without_a_commit_may_fade() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=16 pages-per-block=5 blocks=111 dies=3 paired-pages=1
         block blocks-per-segment=3 scheme=log-block recycle=merge-only log-blocks=5 wear=dynamic reclaim=at-once
         logical-pages=1 endurance=100 seed=16070799924082589279",
        "write 0, flush, cut 0:37559, write 0, cut 3:65432, mount, cut 0:36147, mount, cut 0:46995, mount, cut 2:9183,
         mount, mount",
    );
}

/// The same as for a decayed merge, and mounts were cut behind the erase of that merge and before its logical block was
/// merged anew: no later mount knew of it.
#[test]
fn a_decayed_merge_stays_until_it_is_made_anew() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=8 blocks=108 dies=3 paired-pages=1 any-order
         block blocks-per-segment=1 scheme=fast recycle=cost-based log-blocks=6 wear=swap:1 reclaim=at-once
         logical-pages=792 endurance=100000 seed=3491488095770559969",
        "write 144 29, cut 0:26004, write 44, cut 2:48419, mount, mount, cut 1:60717, write 95, decay 4, mount, write
         751 51, decay 3, cut 0:7034, mount, cut 1:48317, mount, decay 3, cut 1:6727, mount, mount, cut 1:15659,
         mount, cut 1:25409, mount, cut 1:42238, mount, cut 1:29861, mount, cut 0:19968, mount, mount, mount, mount,
         mount, mount, mount, mount, cut 0:34804, mount, cut 0:29643, mount, mount, mount, mount, mount, mount, mount,
         mount, mount, mount, mount",
    );
}

/// Six of eight blocks failed, and the device was mounted read-only. The page that a cut had hit was served, and faded
/// behind that mount: no block was left to copy it to. It was never flushed, so it may be as it was before.
#[test]
fn failures_in_cut_mounts_of_a_small_chip() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=8 blocks=8 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=fast recycle=periodic log-blocks=4 wear=dynamic reclaim=at-once
         logical-pages=3 endurance=100000 seed=13655409666257112876",
        "write 1, fail 1:47116, mount, cut 1:1273, write 0, cut 0:12508, mount, cut 0:60839, mount, cut 1:45381, mount,
         fail 0:35271, cut 2:48941, mount, cut 1:62717, mount, fail 0:30855, cut 1:21160, mount, fail 2:17201, cut
         4:4985, mount, fail 0:34988, fail 2:32127, mount, mount",
    );
}

/// A cut had hit the commit of a merge, and the page faded that it had been made of. The mount merged to the block of
/// that page, and was cut: nothing showed any more that the merge had been made of something else, and it counted,
/// without a flushed page that the cut had harmed.
#[test]
fn what_a_cut_merge_was_made_of_is_filled() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=6 blocks=17 dies=1 paired-pages=3 any-order mixed-erases
         block blocks-per-segment=1 scheme=fast recycle=cost-based log-blocks=6 wear=swap:1 reclaim=at-once
         logical-pages=48 endurance=100 seed=13416286897577293382",
        "write 39 37, discard 36+3, flush, cut 0:26956, write 37, cut 4:12907, mount, cut 2:38365, mount, mount",
    );
}

/// `fast`: a cut had hit a merge. The mount erased it, and neither that nor the marks of the block succeeded. The next
/// mount found another commit that was the last, and believed the merge.
#[test]
fn an_undone_merge_that_cannot_be_erased() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=8 blocks=168 dies=4 paired-pages=3
         block blocks-per-segment=1 scheme=fast recycle=merge-only log-blocks=3 wear=static-threshold:2
         reclaim=at-once
         logical-pages=1230 endurance=100000 seed=4997550269388820650",
        "write 211 87, mount, write 214 88 142 249 879+6 3, mount, write 446 673, mount, cut 4:6770, write 1086, fail
         0:31551, fail-mark 1 3, mount, mount",
    );
}

/// As `what_the_last_merge_has_read_outlasts_it`: a mount erased a headless block that the merge with the last commit
/// had read, and that commit faded.
#[test]
fn a_headless_block_that_was_read_outlasts_the_last_merge() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=8 blocks=100 dies=4 paired-pages=4 any-order mixed-erases
         fading-pairs
         block blocks-per-segment=2 scheme=fast recycle=periodic:3 log-blocks=6 wear=static-threshold:2
         reclaim=at-once
         logical-pages=195 endurance=100 seed=5546900418047433129",
        "write 44 73 9 62 155 68 5 147 137 11 82 145 181 167 142 24 169 19, mount, write 89, cut 8:14879, write 60+8,
         cut 15:26743, mount, mount",
    );
}

/// `fast-by-stream`: the commit of a log block's logical block had failed, and faded in the mount. The mount had passed
/// over the merge behind it, because the one with the failed commit seemed to be whole, and then believed neither.
#[test]
fn a_commit_that_fades_while_its_block_is_looked_at() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=7 blocks=20 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=fast-by-stream recycle=merge-only log-blocks=6 wear=none reclaim=at-once
         logical-pages=9 endurance=100000 seed=4400420672099632533",
        "write 0+3 0, fail 2:43589, cut 7:24245, write 0, mount",
    );
}

/// `fast-by-stream`: a page faded, the mount began anew and filled the block that it had been in. Another page faded,
/// and what lay in the first one's place seemed to be unreadable.
#[test]
fn a_block_with_a_faded_page_is_filled() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=16 blocks=72 dies=2 paired-pages=2 mixed-erases block
         blocks-per-segment=1 scheme=fast-by-stream recycle=optimal log-blocks=2 wear=dynamic reclaim=at-once
         logical-pages=1072 endurance=100000 seed=8017926668272990473",
        "write 81 82 83 563, mount, cut 1:14137, write 80, cut 5:29932, mount, cut 0:48203, mount, cut 0:55341, mount,
         cut 5:12995, mount, cut 2:49370, mount, cut 4:47911, mount, cut 4:28072, mount, cut 5:29577, mount, cut
         2:3046, mount, cut 3:19820, mount, cut 4:60703, mount, cut 1:6938, mount, cut 0:15693, mount, cut 0:12752,
         mount, cut 2:42942, mount, cut 5:25196, mount, cut 5:10252, mount, cut 0:5811, mount, cut 2:19478, mount, cut
         3:52242, mount, mount",
    );
}

/// A cut hit a merge behind the record of a dead logical block. The mount gave the dead one a commit before it merged
/// what the cut had hit, and was cut: the merge was believed with its gaps.
#[test]
fn a_cut_merge_comes_before_a_dead_block() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=8 blocks=24 dies=1 paired-pages=4 block
         blocks-per-segment=1 scheme=log-block recycle=merge-only log-blocks=3 wear=none reclaim=proactive
         logical-pages=48 endurance=100000 seed=1",
        "write 8+8 0 1 3 2 4 5 6 7, discard 8+8, flush, cut 7:25654, write 0, cut 11:27552, mount, mount",
    );
}

/// The same with one cut: a page of the merge faded in the mount.
#[test]
fn a_merge_that_fades_comes_before_a_dead_block() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=8 blocks=24 dies=1 paired-pages=4 fading-pairs block
         blocks-per-segment=1 scheme=log-block recycle=merge-only log-blocks=3 wear=none reclaim=proactive
         logical-pages=48 endurance=100000 seed=1",
        "write 8+8 0 1 3 2 4 5 6 7, discard 8+8, flush, cut 7:16283, write 0, mount",
    );
}

/// Six mounts in a row were cut in merges of one logical block. A merge that a cut had hit lay between the older data
/// blocks and one that a later mount had made. So that counted though it was the third, and the next one, which lasted,
/// was erased for it.
#[test]
fn a_third_block_behind_one_with_gaps_is_not_needed() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=8 blocks=8 dies=1 paired-pages=3 fading-pairs
         block blocks-per-segment=1 scheme=fast-by-stream recycle=optimal log-blocks=3 wear=none reclaim=at-once
         logical-pages=11 endurance=100000 seed=13488174236990531289",
        "write 2 3 4 5 6 7, mount, write 0 1, cut 9:40922, write 0, cut 6:9089, mount, cut 18:53340, mount, cut
         9:50828, mount, cut 12:24546, mount, cut 2:31168, mount, cut 7:3434, mount, mount",
    );
}

/// A merge had begun to complete a log block in its place, which leaves gaps where the logical block has no pages, and
/// a cut hit its commit. A later merge of the logical block was cut, and then its erase. The gaps seemed to say that
/// the log block was being erased, so that what the later merge seemed to lack counted as discarded (`uneven`
/// 2100000000018).
#[test]
fn a_log_block_that_a_merge_had_begun_to_complete() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=32 blocks=51 dies=3 paired-pages=1 mixed-erases
         uneven-erases
         block blocks-per-segment=3 scheme=fast recycle=merge-only log-blocks=6 wear=none reclaim=at-once
         logical-pages=427 endurance=100000 seed=8017656465315328096",
        "write 217 218 219 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237 238 239 240 241 242
         243 244 245 246 247 248 249 250 251 252 253 254 255 256 257 258 259 260 261 262 263 264 265 266 267 268 269
         270 271 272 273 274 275 276 277 278 279 280 281 282 283 284 285 286 210 209 192 192+6 71 363, cut 72:31203,
         write 0, mount, write 10 172, mount, write 192 173 29, mount, cut 3:38195, write 422, cut 0:20614, mount,
         mount",
    );
}
