//! Histories of page mapping where a cut erase leaves each page its own way. Mostly a page decays, too.

use super::assert_holds;

/// A page is alone in a segment that is being erased, since its other copy has decayed. So the segment seemed to be
/// needed, and what it holds to last.
#[test]
fn a_page_alone_in_a_segment_in_erasure() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=6 blocks=24 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/greedy-first/separate-gc/none/at-once
         logical-pages=54 endurance=100000 seed=239176",
        "write 0+54, flush, write 45 19 34 24 33 10 28 37 20 30 22 24 1 16 16 52 31 44 32 1 10 47 23 11 21 26
         22 13 27 43 4 14 14 23 7 7 52 22 9 17 16 7 29 41 0 13 19 32 31 11 49 50 0 20 35 35 16 40 36 46 8 34 9
         7 34 26 8 3 51 25 28 34 13 46 45 4 34 37 29 12 37 5 44 23 51 19 28 25 26 48 35 14 19 39 47, flush,
         cut 4:43086, write 17 20 4 15 32 51 27 1 37 13 51 25 39 34 46 10, decay 12916, mount, mount, cut
         7:732, write 1 2 3 4 5 6 7, mount, mount, mount, verify",
    );
}

/// The same, and the mount that is cut is the first.
#[test]
fn a_page_alone_in_a_segment_in_erasure_at_once() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=7 blocks=16 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/greedy-first/by-stream/none/at-once
         logical-pages=29 endurance=100000 seed=1287049",
        "write 0+29, flush, write 23 9 28 0 20 13 12 8 16 23 17 3 15 12 4 13 20 11 28 5 17 19 11 23 27 16 9 13
         7 22 13 13 19 10 28 13 13 7 3 24 18 18 21 20 4 20 22 18 15 17 22 17 11 13 9 28 23 22 15 24 9 15 1 5
         27 2 15 5 5 10 19 28 25 24 3 18 26 28 1 6 24 7 3 12 2 20 1 16 14 2 24 7 2 5 20 25, flush, cut 4:3998,
         write 8 16 25 19 13 21 14 13 22 1 12 23 10 0 7 17, decay 9522, mount",
    );
}

/// The erase of a full segment was cut, and its summary is left. Slots that read as erased in front of it show the
/// erase, but only slots were looked at.
#[test]
fn a_summary_behind_erased_slots_shows_an_erase() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=6 blocks=18 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/greedy-first/hot-cold-readonly/none/at-once
         logical-pages=27 endurance=100000 seed=1021705",
        "write 0+27, flush, write 11 9 24 24 24 11 22 20 0 15 15 12 23 9 0 22 5 12 8 20 12 2 18 9 11 8 5 22 12
         6 19 13 25 24 10 9 22 12 5 13 24 0 3 4 2 18 13 8 26 24 3 25 5 1 10 26 6 7 25 25 9 17 0 25 23 25 18 22
         1 3 17 0 6 1 10 8 15 4 10 11 4 17 0 13 9 11 14 14 6 25 22 2 4 22 4 9 3 2 26 0 25 17 24 0 3 26 26 4,
         flush, cut 13:5130, write 14 14 16 13 1 3 20 2 14 6 25 25 8 15 4 25, decay 18647, mount",
    );
}

/// A rescue had copied a page. The header of its segment decayed, and the erase of the segment with the original was
/// cut so that nothing shows it. The original seemed to be the one that lasts, and faded.
#[test]
fn an_original_beside_a_rescue_whose_header_decayed() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=16 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:4:5/d-choices:3/separate-gc/none/proactive
         logical-pages=27 endurance=100000 seed=11522593433852473821",
        "write 0 1 2 6 7 8 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 5 25 18 14 4 12 23 1 5 6 21 1 17 23 24 11 8 0
         14 20 9 6, decay 0 0, mount, decay 8, cut 0:59135, write 13, mount, mount",
    );
}

/// The same with a copy of cleaning in an open segment.
#[test]
fn an_original_beside_a_copy_whose_header_decayed() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=9 blocks=19 dies=1 paired-pages=2 mixed-erases
         page blocks-per-segment=1
         policies=falling:4:2:3/random/by-stream-shared/static-threshold:5/proactive:0.05:0.5:0.01
         logical-pages=41 endurance=100000 seed=10098033909269260850",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 11 15 2 24 28 35 23 27 29 24 10 30 28 26 22 9 4 29 36 12 15 14 5 0 20 26 21 26 29 9 40 17 27 38 25
         28 14 7 38 24 22 9 32 4 25 30 32 22 13 18 22 32 5, mount, decay 4, cut 3:11226, write 20, decay 27, mount,
         mount, cut 0:49585, discard 2, mount",
    );
}

/// The erase of a segment was cut, and the copy of one of its pages decayed. So the segment seemed to be needed for
/// that page, and another one was read there, though a copy of it lasted elsewhere. It faded.
#[test]
fn a_segment_in_erasure_is_not_needed_for_a_lone_page() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=9 blocks=9 dies=1 paired-pages=1 mixed-erases fading-pairs
         page blocks-per-segment=1 policies=watermark:4:5/fifo/by-stream-shared/none/proactive:0.05:0.5:0.01
         logical-pages=13 endurance=100000 seed=14142644380103984012",
        "write 0+13 2, cut 7:13309, write 1+2 0+2, decay 14, mount, mount, mount, mount, mount, mount, mount, mount",
    );
}

/// A rescue was cut, and then the erase of what it had copied, since the original was gone. That took the mark and left
/// the copy, which counted without it and faded.
#[test]
fn a_copy_whose_mark_an_erase_has_taken() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=5 blocks=13 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:3:4/greedy/single/none/at-once
         logical-pages=8 endurance=100000 seed=1",
        "write 0+4, flush, cut 0:10479, write 0, cut 4:63447, mount, cut 0:51136, mount, mount",
    );
}

/// The erase of a segment was cut and left copies of pages that fade, beside others of the same numbers that last. One
/// that fades counted.
#[test]
fn copies_that_an_erase_has_left_give_way() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=7 blocks=7 dies=1 paired-pages=2 mixed-erases
         page blocks-per-segment=1 policies=watermark:2:3/fifo/separate-gc/static-threshold:1/at-once
         logical-pages=3 endurance=100000 seed=17525505291693120306",
        "write 0+3 0+3, mount, decay 28, cut 5:1546, mount, cut 0:20108, mount, fail 2:7923, cut 0:39049, mount, decay
         39, fail 0:20799, cut 3:25147, mount, mount, write 2, cut 2:29555, write 1, decay 2, mount",
    );
}

/// The erases of all segments of an empty device were cut, one after the other, until one header was left. The next
/// erase was that of its segment, and the chip was foreign.
#[test]
fn the_only_header_of_an_empty_device_stays() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=6 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:1:1/greedy/single/none/at-once
         logical-pages=4 endurance=100000 seed=1",
        "cut 0:18310, write 0, cut 0:3020, mount, cut 0:55347 0:65485, mount, cut 1:26093, mount, mount, cut 1:27921
         1:41953, mount, mount, cut 0:1899 0:54515, mount, mount, cut 0:40914 0:18012, mount, mount, cut 1:37498,
         mount, mount",
    );
}

/// The erase of a victim was cut so that nothing shows it, and the only other copy of one of its pages decayed. So the
/// victim seemed to be needed, and another page was served there, though its copy lasts.
#[test]
fn a_page_decays_behind_two_cut_writes() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=32 pages-per-block=8 blocks=8 dies=1 paired-pages=1 mixed-erases page
         blocks-per-segment=1 policies=watermark:3:4/greedy/separate-gc/none/at-once logical-pages=16 endurance=100000
         seed=7866506937626890823",
        "write 1 2 11+4 15, part 63, write 5, flush, write 14 15 0 7 7 2 4 7, cut 1:19015, write 9, mount, write 3 8
         12 5 11 0 4 0 4 0 4, cut 3:38464, write 0, decay 40859, mount",
    );
}

/// Behind three failures the erase of a victim was cut, and a copy of one of its pages decayed where a cut may have hit
/// it. So the victim seemed to be needed, though its header was gone. Another page was served there, and the segment
/// with the copy that lasts was erased for a rescue.
#[test]
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

/// A page decayed, and a mount copied all that counted beside it, since that may have been what a rescue had left. Then
/// a page that a cut had hit faded, and the mount began again: the segment was not needed any more, so that its gap
/// told of no loss, and zeros were served.
#[test]
fn three_pages_that_decay_and_two_cut_writes() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=16 blocks=160 dies=4 paired-pages=2 any-order
         mixed-erases page blocks-per-segment=1 policies=watermark:3:4/cost-benefit/hot-cold-readonly/none/at-once
         logical-pages=1375 endurance=100000 seed=13978932705109154881",
        "write 1073+3 137, decay 7 7 7, mount, write 220 5+8 93 192, cut 2:3525, part 26+5@2, mount, write 39 45 200,
         cut 0:29116, write 118, decay 55157, mount",
    );
}

/// Behind three failures the erase of a victim was cut, and it shows. A page decayed, so a copy may be missing, and the
/// victim seemed to be needed. A page was served there and faded, though its copy could be read, which a cut may have
/// hit.
#[test]
fn a_suspect_copy_beside_a_victim_that_seems_needed() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=21 dies=1 paired-pages=1 mixed-erases page
         blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9 16
         29 31 23 51 13 31 50 18, fail 0:62299 2:3577, mount, mount, fail 3:16933, cut 8:35283, write 59, decay 1,
         mount",
    );
}

/// The same, but the erase does not show. The victim seemed to be needed for a page whose copy had decayed, in a
/// segment that had another copy of what was copied once more. No other page was only there and in the victim.
#[test]
fn a_victim_beside_a_decayed_copy_in_another_segment() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=21 dies=1 paired-pages=1 mixed-erases page
         blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9 16
         29 31 23 51 13 31 50 18, fail 0:62299 2:3577, mount, mount, fail 3:16933, cut 8:18960, write 59, decay 1,
         mount",
    );
}

/// The same, and the victim looks whole to its summary. One page was served there and faded, though its copy could be
/// read, which a cut may have hit.
#[test]
fn a_whole_victim_beside_a_decayed_copy() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=21 dies=1 paired-pages=1 mixed-erases page
         blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9 16
         29 31 23 51 13 31 50 18, fail 0:62299 2:3577, mount, mount, fail 3:16933, cut 8:40109, write 59, decay 1,
         mount",
    );
}

/// Behind three failures the erase of a victim was cut, and the header decayed of the segment with the copies of its
/// pages. Both seem to be in erasure, and no segment is free: the copy in the victim was taken for certain, and faded.
#[test]
fn two_copies_in_erasure_without_a_free_segment() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=21 dies=1 paired-pages=1 mixed-erases page
         blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=13353128246199273785",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9 16
         29 31 23 51 13 31 50 18, fail 0:62299 2:27048, mount, mount, fail 3:16933, cut 8:43661, write 59, decay 23,
         mount, verify, verify, verify, verify",
    );
}

/// The same, and the copy in the victim fades only when it has been read in several mounts.
#[test]
fn two_copies_in_erasure_behind_more_mounts() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=21 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=13353128246199273785",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9
         16 29 31 23 51 13 31 50 18, fail 0:62299 2:27048, mount, mount, fail 3:16933, cut 8:43661, write 59, decay
         23, mount, mount, mount, verify, verify",
    );
}

/// There is no room for copies of all pages that an erase may have hit, and a program fails in the mount. So it erased
/// the segment with the other copy of such a page, and the page faded before it was moved. But it had been read.
#[test]
fn a_page_that_a_mount_has_read_fades_before_it_is_moved() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases page
         blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9 16
         29 31 23 51 13 31 50 18, fail 0:62299 2:34140, mount, mount, fail 3:16933, cut 7:38058, write 59, decay 12,
         fail 7:33673, mount",
    );
}

/// The same without decay: two programs fail in the mount. The page was served from the segment in erasure, and faded.
#[test]
fn one_of_two_copies_is_in_a_segment_in_erasure() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 58 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9
         16 29 31 23 51 13 31 50 18, fail 0:62299 2:34140, mount, mount, fail 3:16933, cut 7:38058, write 59, fail
         0:546 7:46720, mount",
    );
}

/// A program fails in the rescue of a mount. What the rescue had copied until then counted, and took room: the device
/// was read-only though it had segments to spare.
#[test]
fn what_a_rescue_has_copied_until_a_failure_takes_no_room() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27 47 47 4 45 35 48
         59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 40 23 2 42 9 16 29 31 23 51 13 31 50
         18, fail 0:62299 2:34140, mount, mount, fail 3:16933, cut 7:38058, write 59, fail 7:33673, mount",
    );
}

/// The erase of a victim without a header was cut, and the copy of its page decayed. What is left of the page in the
/// victim was served there, and faded.
#[test]
fn an_erase_shows_where_a_lone_page_has_no_header() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=9 blocks=18 dies=1 paired-pages=2 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/lfs/by-stream-shared/dynamic/proactive
         logical-pages=11 endurance=100000 seed=14011755436489751590",
        "write 0+3, fail 1:10495, mount, mount, write 0, cut 0:51947, write 1, decay 7, mount, mount",
    );
}

/// The copy of a page decayed behind the last program, in a group that a tag page names. The erase of its victim had
/// been cut, and shows there, but a summary that fades was left. So the page was served from the victim, and faded.
#[test]
fn a_cut_write_and_one_decay() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=9 blocks=22 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=idle:3:4:5/cat/by-stream/none/at-once
         logical-pages=21 endurance=100000 seed=12824606577457135082",
        "write 0 1 2 3 4 5 16 17 15 15 2 1 4 9 2 14 16 0 15 9 19 11 16 15 13 13 19 16 13 6 14 12 13 14 5 4 11 19 8 8
         12, flush, mount, mount, cut 4:1592, write 9, decay 6, mount, mount, mount",
    );
}

/// The same of a page that the host had written anew: the older version was served from the victim, and faded.
#[test]
fn an_older_version_in_a_victim_with_its_summary() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=6 blocks=18 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:3:4/cat/single/swap:1/proactive
         logical-pages=11 endurance=100000 seed=3964359694349310514",
        "write 2 3 4 5 6 7 8 9 3 2 1 3 5 7 0 4 6 2 8 0 9 10 8 8 10 2 8 10 8, flush, mount, fail 0:6678 2:49481 4:28756
         6:60172, write 8, mount, write 0, cut 1:46406, write 5, decay 7, mount, mount",
    );
}

/// The same where the tag page decayed. The segment seemed to be free, and was erased for the rescue of the page in the
/// victim. When the rescue was cut, nothing showed any more that the page has no other copy.
#[test]
fn a_tag_page_that_decays_stays_until_the_rescue_is_over() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=9 blocks=22 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=idle:3:4:5/cat/by-stream/none/at-once
         logical-pages=21 endurance=100000 seed=12824606577457135082",
        "write 0 1 2 3 4 5 16 17 15 15 2 1 4 9 2 14 16 0 15 9 19 11 16 15 13 13 19 16 13 6 14 12 13 14 5 4 11 19 8 8
         12, flush, mount, mount, cut 4:51813, write 9, decay 7, cut 1:13184, mount, mount, mount, mount",
    );
}

/// The same where the header decayed as well. A mount saw that the victim was being erased, and copied the page. For
/// that it erased what showed the decay, and was cut. The next one passed the copy over, had nothing to doubt, and
/// served the page from the victim. There the summary faded, and later the page was older.
#[test]
fn a_rescue_takes_what_shows_a_decay() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=6 blocks=18 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:3:4/cat/single/swap:1/proactive
         logical-pages=11 endurance=100000 seed=3964359694349310514",
        "write 2 3 4 5 6 7 8 9 3 2 1 3 5 7 0 4 6 2 8 0 9 10 8 8 10 2 8 10 8, flush, mount, fail 0:54242 2:58619
         4:1991 6:33941, write 8, cut 11:12335, mount, mount, decay 30159, mount, write 0, cut 1:10466, write 5,
         decay 6, decay 5, decay 6, mount, mount, mount, mount",
    );
}

/// The same where the page in the victim has faded when it is to be copied. An older version was served, and the victim
/// was left. A later write erased the segment with the decayed page, and was cut: the faded page counted again.
#[test]
fn a_page_fades_in_a_victim_before_it_is_copied() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=6 blocks=18 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:3:4/cat/single/swap:1/proactive
         logical-pages=11 endurance=100000 seed=3964359694349310514",
        "write 2 3 4 5 6 7 8 9 3 2 1 3 5 7 0 4 6 2 8 0 9 10 8 8 10 2 8 10 8, flush, mount, fail 0:39403 2:31988 4:44946
         6:689, write 8, mount, write 0, cut 1:32856, write 5, decay 8, mount, mount, write 1, cut 2:26610, mount,
         mount",
    );
}

/// All pages were discarded, and a mount that was cut in the padding of a rescue had copied the discard map. The header
/// of that segment decayed, and then the padding faded, which was all that showed that the rescue had ended. The
/// segment counted for nothing, and with it the discards.
#[test]
fn a_rescue_without_its_header_and_padding() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=16 blocks=9 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1
         policies=watermark:3:4/windowed-greedy:4/hot-cold-readonly/static-threshold:1/at-once checkpoint
         logical-pages=8 endurance=100 seed=2143235846499746746",
        "write 1 2 3 4 5 6 7 0 0, discard 0+8, flush, cut 5:45555, mount, mount, decay 1, mount, cut 0:35122, write 0,
         decay 4, cut 0:12919, mount, decay 63305, mount, mount, mount, mount, mount, mount",
    );
}

/// A summary decayed, and behind it a page. The segment was copied to the last free one, and then erased for the rescue
/// of another page, before it was on record that a page is lost. The cut came in that erase: zeros were served.
#[test]
fn a_loss_is_on_record_before_a_rescue_erases_what_shows_it() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=11 dies=1 paired-pages=1
         page blocks-per-segment=1 policies=watermark:3:4/cost-benefit/separate-cleaning/none/proactive
         logical-pages=22 endurance=100000 seed=2835",
        "write 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 8 2 3 20, flush, decay 23, fail 0:49244 2:50185
         4:60760, cut 9:30061, mount, decay 19, cut 7:62493, mount, mount",
    );
}

/// With tag pages and by cuts alone: two rescues were cut in the tag page behind their copies, the tag page of the
/// originals faded, and the erase of one of those rescues was cut. It left the header, a copy and that tag page, and
/// behind these a slot that cannot be read. So the rescue seemed to have ended, what was flushed was erased, and then
/// the header faded.
#[test]
fn a_rescue_that_an_erase_seems_to_have_ended() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=10 blocks=13 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:2:3/fifo/by-stream/none/proactive:0.05:0.5:0.01
         logical-pages=4 endurance=100000 seed=9996946996089570618",
        "write 0+4 2 3, flush, write 2, cut 1:28279, write 3, cut 7:58140, mount, cut 4:13734, mount, cut 3:54690,
         mount, cut 0:13420, mount, mount, mount, mount, mount",
    );
}

/// The last copy of a page decayed in a group that a cut may have hit, so that an older version was served. The erase
/// of that segment was cut, and left the tag page and something behind it. No cut could have hit the group any more,
/// and the page that had decayed counted.
#[test]
fn an_erase_makes_a_decayed_page_count() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=6 blocks=18 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:3:4/cat/single/swap:1/proactive
         logical-pages=11 endurance=100000 seed=3964359694349310514",
        "write 2 3 4 5 6 7 8 9 3 2 1 3 5 7 0 4 6 2 8 0 9 10 8 8 10 2 8 10 8, flush, mount, fail 0:5999 2:63334
         4:37915 6:15870, write 8, decay 0, mount, write 0, cut 1:7575, write 5, decay 6, cut 0:24160, mount, mount,
         write 1, cut 2:50563, mount, mount",
    );
}

/// The same on blocks of eight pages.
#[test]
fn an_erase_makes_a_decayed_page_count_on_larger_blocks() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=8 blocks=18 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:3:4/cat/single/swap:1/proactive
         logical-pages=11 endurance=100000 seed=3964359694349310514",
        "write 2 3 4 5 6 7 8 9 3 2 1 3 5 7 0 4 6 2 8 0 9 10 8 8 10 2 8 10 8, flush, mount, fail 0:62085 2:62208
         4:43521 6:21139, write 8, mount, write 0, cut 1:54988, write 5, decay 1, cut 0:53996, mount, mount, write 1,
         cut 2:14717, mount, mount, cut 9:8325, mount, mount",
    );
}

/// The same where other pages of that segment still count, so that the mount cannot just erase it. It takes one decay
/// and one cut.
#[test]
fn a_decayed_page_beside_others_that_count() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=12 blocks=18 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:3:4/cat/single/none/at-once
         logical-pages=11 endurance=100000 seed=3964359694349310514",
        "write 0 1 2 3 4 5 6 7 8 9 10, flush, mount, write 0, flush, write 3, flush, decay 26, mount, write 0 10, cut
         1:1375, write 1, mount, mount",
    );
}

/// The tag page of a page decayed that the host had written anew, while the victim with the copy before it was being
/// erased. Behind slots that were erased the victim still had its summary, which faded. The mount that copied the page
/// was cut. The next one read the summary, and found it gone when it looked for the traces of an erase. So nothing
/// showed that erase, and the page was served from there for once: no later mount knew whose it was.
#[test]
fn a_summary_fades_behind_an_erase() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=6 blocks=18 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:3:4/cat/single/swap:1/proactive
         logical-pages=11 endurance=100000 seed=3964359694349310514",
        "write 2 3 4 5 6 7 8 9 3 2 1 3 5 7 0 4 6 2 8 0 9 10 8 8 10 2 8 10 8, flush, mount, fail 0:59644 2:12894
         4:9937 6:41875, write 8, cut 11:24534, mount, mount, write 0, cut 1:10683, write 5, decay 8, mount, mount,
         mount",
    );
}

/// There the mount that saw the summary fade copied the page, and was cut before the tag page that says whose the copy
/// is. What is left of the victim looks like a segment whose last program was cut. The page fades there, and nothing
/// else on the chip tells of it, though the copy is good: this is what the table of promises says.
#[test]
fn a_copy_that_nothing_names() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=6 blocks=18 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:3:4/cat/single/swap:1/proactive
         logical-pages=11 endurance=100000 seed=3964359694349310514",
        "write 2 3 4 5 6 7 8 9 3 2 1 3 5 7 0 4 6 2 8 0 9 10 8 8 10 2 8 10 8, flush, mount, fail 0:14795 2:43691
         4:40304 6:26481, write 8, cut 11:39137, mount, decay 8, mount, write 0, cut 1:23697, write 5, decay 7, decay
         32437, mount, mount, mount",
    );
}

/// A cut erase left a summary that fades. It named a page whose other copy had decayed, and a mount that copied both
/// could not read it any more, and began again without it. The page beside it still had its other copy in the summary,
/// so nothing showed that anything was missing, and the first page read as zeros. It takes one cut and one decay.
#[test]
fn the_last_that_tells_of_a_page_fades_in_a_mount() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=17 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:5:0.5/windowed-greedy:4/separate-cleaning/none/at-once
         logical-pages=69 endurance=100000 seed=17311831826465163290",
        "write 4 5 6 7 16 17 18 19 20 22 23 24 25 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 46 47 48 49 50 51 52 53
         54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 53 2 11 21 61 13 56 46 27 0 45 45 26 46 9 54 10 4 19 44 15 55 52
         40 2 35 18 6, flush, cut 6:1422, write 40, decay 17, mount",
    );
}

/// By cuts and failures alone: a program failed, the copies of a cleaning went to two segments, and the erase of the
/// victim was cut. What it left unreadable may have decayed, so that neither copy of the first page was certain. The
/// open segment with the one that lasts was vacated, and erased for the other page when two more operations had failed.
#[test]
fn an_open_segment_has_the_copy_that_lasts() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9
         16 29 31 23 51 13 31 50 18, fail 0:62299 2:34140, mount, mount, fail 3:16933, cut 7:38058, write 59, cut
         1:26299, mount, fail 0:32029 5:33673, mount",
    );
}

/// Two rescues of decayed segments had taken what is held back, and the record of a lost page had no slot at first. An
/// assertion of the mount did not know that this may happen.
#[test]
fn no_slot_for_the_record_of_a_loss() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=5 blocks=27 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/random/single/dynamic/at-once
         logical-pages=65 endurance=100000 seed=5778034263424399593",
        "write 4 5 6 7 8 9 10 11 12 13 14 15 41 42 43 44 45 46 47 48 53 54 55 56 19 31 28 26 64 60 57 50 24 2 25 4 28
         20 32 59 18 11 43 30 54 2 28 49 39 33 34 3 1 27 0 64 16 23 63 62 26 48 32 52 10 41 45 39, decay 9, mount,
         write 16, decay 6, cut 4:14781, write 61, mount",
    );
}

/// The same behind another cut. The other copy of a page lay in the only empty segment, and a mount that erased nothing
/// for that was read-only for good, though nothing had failed.
#[test]
fn no_free_segment_where_nothing_has_failed() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=5 blocks=27 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/random/single/dynamic/at-once
         logical-pages=65 endurance=100000 seed=5778034263424399593",
        "write 4 5 6 7 8 9 10 11 12 13 14 15 41 42 43 44 45 46 47 48 53 54 55 56 19 31 28 26 64 60 57 50 24 2 25 4 28
         20 32 59 18 11 43 30 54 2 28 49 39 33 34 3 1 27 0 64 16 23 63 62 26 48 32 52 10 41 45 39, decay 9, mount,
         write 16, decay 6, cut 4:14781, mount, cut 5:14960, mount, mount",
    );
}

/// A page decayed behind a cut write, and an error told the host so. That has to be on record before the next write:
/// cleaning erases what shows the loss, and the older version would count.
#[test]
fn what_is_lost_is_on_record_before_the_next_write() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=18 dies=1 paired-pages=1 page blocks-per-segment=1
         policies=watermark:1:1/greedy/single/none/at-once logical-pages=10 endurance=100000
         seed=6484830147238403645",
        "write 0+3, flush, write 2 7+2 1 0, cut 0:40610, write 4, decay 6, mount, write 0, mount",
    );
}

/// A mark and a summary decayed, so that all pages of their segment were uncertain, and so were a few others. There was
/// room for copies of these, but not for all, so none was copied. The mount used up the last empty segment for what it
/// moved later, was cut there, and the next one found none (SPEC P11).
#[test]
fn as_many_uncertain_pages_are_copied_as_fit() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=8 blocks=24 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1
         policies=watermark:4:5/windowed-greedy:4/hot-cold-readonly/static-threshold:5/at-once
         logical-pages=113 endurance=100000 seed=18077744529798150523",
        "write 0 1 2 7 8 9 10 11 18 19 20 21 22 23 24 29 30 31 32 33 34 35 36 37 39 40 68 71 72 73 74 75 76 77 78 79
         83 84 85 86 87 88 89 90 91 92 93 95 97 110 111 112 87 49 101 51 45 15 44 85 54 32 79 52 37 108 41 98 70 63 48
         74 47 4 80 68 53 104 71 73 85 8 12 93 38 83 13 67 102 82 29 61 12 17 9 101 27 14 20 58 74 59 69 18 57 71 93
         56 6 46 105 15 51 79 58 96 103 101 83 16 109 3 50 107 26 76 75 39 94 66 8 100 58 14 61 99 81 14, mount, write
         95, mount, decay 9, mount, decay 14, cut 3:51467, write 74, cut 4:53464, mount, mount",
    );
}
