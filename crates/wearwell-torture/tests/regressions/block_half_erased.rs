//! Block mapping: cut erases that left each page of a block its own way, and blocks of one group.

use super::*;

/// Three blocks of one logical block had lost their heads to erases. They were kept, because a head may have decayed as
/// well, and no segment was left for the rescue.
#[test]
fn half_erased_blocks_give_way_to_the_rescue() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=32 pages-per-block=4 blocks=35 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=primary-replacement recycle=merge-only log-blocks=4 wear=swap:1
         reclaim=at-once
         logical-pages=124 endurance=100 seed=549428758076332470",
        "write 7 8 20 21 27 29 35 39 41 47 51 53 59 63 65 71 75 77 83 87 89 95 99 101 107 123, part 31+2, write 8,
         part 221 45+2@1 27, write 18, flush, write 22, cut 5:25211, mount, cut 3:36792, mount, cut 4:34045, mount,
         cut 0:1190, mount, cut 5:52440, mount, mount",
    );
}

/// The same, but what an erase had left of a merge looked like a primary block that the next merge had replaced. It was
/// kept, and no segment was left for the rescue.
#[test]
fn what_looks_like_a_replaced_block_gives_way() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=32 pages-per-block=4 blocks=35 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=primary-replacement recycle=merge-only log-blocks=4 wear=swap:1
         reclaim=at-once
         logical-pages=124 endurance=100 seed=549428758076332470",
        "write 7 8 21 27 29 35 39 41 47 51 53 59 63 65 71 75 77 83 87 89 95 99 101 107 123, part 31+2, write 8, part
         221 45 27, write 18, flush, write 22, cut 5:39877, mount, cut 3:42229, mount, cut 4:38458, mount, cut 0:5806,
         mount, cut 5:39495, mount, mount",
    );
}

/// The head of a half-erased merge reads as erased, and it was kept as one that a cut had hit is.
#[test]
fn a_merge_whose_head_reads_as_erased_was_being_erased() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=0 pages-per-block=4 blocks=21 dies=1 paired-pages=2 any-order mixed-erases
         block blocks-per-segment=1 scheme=fast-by-stream recycle=periodic:3 log-blocks=2 wear=swap:1 reclaim=at-once
         logical-pages=61 endurance=100 seed=12691620189619399846",
        "write 29+5 18+5 52, part 178+3, write 3, flush, write 49 39+8 2 6+7 35 51 27 36 1, cut 5:65294, mount, cut
         3:5903, mount, cut 0:436, mount, cut 5:7040, mount, mount",
    );
}

/// The same with another draw of the last cut: another page of the merge can still be read.
#[test]
fn a_merge_without_a_head_goes_before_the_rescue() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=0 pages-per-block=4 blocks=21 dies=1 paired-pages=2 any-order mixed-erases
         block blocks-per-segment=1 scheme=fast-by-stream recycle=periodic:3 log-blocks=2 wear=swap:1 reclaim=at-once
         logical-pages=61 endurance=100 seed=12691620189619399846",
        "write 29+5 18+5 52, part 178+3, write 3, flush, write 49 39+8 2 6+7 35 51 27 36 1, cut 5:65294, mount, cut
         3:5903, mount, cut 0:436, mount, cut 5:59859, mount, mount",
    );
}

/// A cut hit the last page of a log block. It was superseded, and the mark of a clean shutdown said that every page can
/// be read; then it faded, and pages that were never written counted as lost.
#[test]
fn a_superseded_page_that_fades_behind_a_clean_shutdown() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=7 blocks=72 dies=2 paired-pages=2 mixed-erases
         block blocks-per-segment=1 scheme=fast recycle=optimal log-blocks=6 wear=none reclaim=at-once
         logical-pages=421 endurance=100 seed=6996758222908093125",
        "write 85 115 125 132 133 145 150 151 179 184 187 191 202 203 227 237 244 245 258 259 272 273 295 313 337 349
         353 363 370 371 377 379 384 385 395 405 407 412 413 420 331 289 281, mount, write 5+7 32 27 26 68 40 4 23 60
         54 64 161 65+2 26 79 40, flush, write 67 62 38 319 18 43 45 23, discard 151+5, write 72 52 41 39 71 33 61,
         discard 410+3, write 25 36 19, discard 376+5, write 66 75 47+4 15 76 68 24 41 82 53, flush, write 76 162+7 47
         47+6 40 31, discard 180+5, write 64 4, discard 45, write 43 82 66 286, flush, write 35 78 66, cut 0:51612,
         write 53, mount, write 72 64 3, flush, write 2 46 238 38 24, shutdown, cut 0:46152, mount, cut 0:25355,
         mount, mount",
    );
}

/// The second of three data blocks was half-erased behind the commit of the last. All pages that it held could be read,
/// but not those in between. The last was dropped because of it, then the second did not count either, and the oldest,
/// a log block, faded.
#[test]
fn a_second_block_with_an_unreadable_page_is_being_erased() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=5 blocks=64 dies=2 paired-pages=3 any-order mixed-erases
         block blocks-per-segment=2 scheme=fast recycle=periodic:3 log-blocks=6 wear=static-threshold:2
         reclaim=at-once
         logical-pages=1 endurance=100 seed=9305277269169666237",
        "write 0, flush, write 0, cut 3:668, mount, cut 15:19143, mount, cut 10:9861, mount, mount",
    );
}

/// Five mounts were cut in their merges and in the erases of these. What was left of them had no head, and of each page
/// the original was elsewhere; kept for good, it took all segments.
#[test]
fn what_is_left_of_cut_merges_gives_way() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=32 pages-per-block=5 blocks=8 dies=1 paired-pages=3 mixed-erases block
         blocks-per-segment=1 scheme=fast-by-stream recycle=periodic:3 log-blocks=3 wear=static-threshold:2
         reclaim=at-once logical-pages=10 endurance=100 seed=13828941720885092584",
        "write 7 6 3+5 1 1 0, cut 3:2635, mount, cut 5:51278, mount, cut 4:23704, mount, cut 5:553, mount, cut
         5:57235, mount, mount",
    );
}

/// A third data block with holes was half-erased: its head and all pages but the commit read as erased. It seemed to be
/// one that lacks all these pages, and counted.
#[test]
fn a_third_block_whose_head_reads_as_erased() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=8 pages-per-block=7 blocks=43 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=primary-replacement recycle=periodic:3 log-blocks=4 wear=swap:1
         reclaim=at-once logical-pages=67 endurance=100000 seed=5174866982916849476",
        "write 8 2+7 13 32, discard 24+13, shutdown, write 30, mount, mount, cut 2:46481, mount, cut 3:27736, mount,
         cut 0:39658, mount, cut 0:47150, mount, cut 4:40877, mount, cut 3:16926, mount, cut 0:25307, mount, mount",
    );
}

/// Each mount that was cut left another data block of one logical block.
#[test]
fn four_data_blocks_of_one_logical_block() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=5 blocks=54 dies=2 paired-pages=1 mixed-erases
         block blocks-per-segment=2 scheme=primary-replacement recycle=cost-based log-blocks=2 wear=static-threshold:2
         reclaim=at-once logical-pages=223 endurance=100000 seed=7498216990569009316",
        "write 18+6 6 50 50 60 160 4 115 19 92 157 173 33+8 101 139+8 130 146 21 27 157 39 28, cut 8:17502, mount, cut
         5:23616, mount, cut 19:8538, mount, cut 8:23560, mount, mount",
    );
}

/// Erases of data blocks with holes were cut, mount after mount, and took pages from the middle of one that was
/// superseded. Its commit could be read, and became the greatest when that of the next one faded.
#[test]
fn pages_that_an_erase_has_taken_are_no_holes() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=4 blocks=24 dies=2 paired-pages=1 mixed-erases block
         blocks-per-segment=2 scheme=fast-by-stream recycle=merge-only log-blocks=3 wear=swap:1 reclaim=at-once
         logical-pages=27 endurance=100000 seed=10433098351413546000",
        "write 1+3, mount, write 4, cut 2:45488, write 0, cut 7:47907, mount, cut 12:17628, mount, cut 0:2366, mount,
         cut 4:32933, mount, cut 4:30801, mount, cut 13:57938, mount, cut 2:6924, mount, cut 11:4937, mount, cut
         12:49866, mount, cut 7:42195, mount, cut 9:25506, mount, cut 19:64580, mount, cut 9:56163, mount, cut
         12:47758, mount, cut 10:19966, mount, cut 10:6791, mount, cut 19:48171, mount, cut 3:21274, mount, cut
         15:41442, mount, cut 2:15700, mount, mount",
    );
}

/// The same device. Behind four mounts that were cut, the only block that is older than what stays is a data block
/// whose commit an erase has taken. Unless its logical block is merged twice, a flushed page is lost (SPEC B13.3).
#[test]
fn a_block_without_its_commit_is_older_than_what_stays() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=4 blocks=24 dies=2 paired-pages=1 mixed-erases block
         blocks-per-segment=2 scheme=fast-by-stream recycle=merge-only log-blocks=3 wear=swap:1 reclaim=at-once
         logical-pages=27 endurance=100000 seed=10433098351413546000",
        "write 1+3, mount, write 4 0, cut 8:47907, mount, cut 10:24920, mount, cut 0:47224, mount, cut 4:32933, mount,
         mount",
    );
}

/// A page that no flush had followed was hit by a cut, and so were a merge of it and the erase of that merge. Behind 22
/// mounts in a row that were cut, the page faded; then the first page of what was left of the merge counted as certain,
/// and faded as well: an error.
#[test]
fn a_page_behind_many_cut_mounts() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=16 blocks=72 dies=2 paired-pages=2 mixed-erases
         block blocks-per-segment=1 scheme=fast-by-stream recycle=optimal log-blocks=2 wear=dynamic reclaim=at-once
         logical-pages=1072 endurance=100000 seed=8017926668272990473",
        "write 81 82 83 84, mount, cut 1:14137, write 80, cut 5:1412, mount, cut 0:48203, mount, cut 0:31149, mount,
         cut 5:12995, mount, cut 2:49370, mount, cut 4:47911, mount, cut 4:28072, mount, cut 5:29577, mount, cut
         2:3046, mount, cut 3:19820, mount, cut 4:60703, mount, cut 1:6938, mount, cut 0:49229, mount, cut 0:12752,
         mount, cut 2:42942, mount, cut 5:25196, mount, cut 5:10252, mount, cut 0:5811, mount, cut 2:19478, mount, cut
         3:52242, mount, mount",
    );
}

/// A mount began to erase the third data block of a logical block, and the commit of the second faded. All that showed
/// that the third was not whole was its first page, which seemed to have decayed.
#[test]
fn a_third_block_beside_a_commit_that_fades() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=4 blocks=19 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=log-block recycle=periodic log-blocks=4 wear=dynamic reclaim=at-once
         logical-pages=43 endurance=100000 seed=10742439609203291879",
        "cut 5:24091, write 27+16, cut 2:36604, mount, cut 3:25383, mount, cut 0:2834, mount, mount",
    );
}

/// All that was left of a chip was a page of padding in a half-erased stripe. It faded between two reads of a mount,
/// and the chip was called foreign.
#[test]
fn a_page_that_fades_while_a_mount_asks_whose_it_is() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=108 dies=3 paired-pages=4 mixed-erases
         block blocks-per-segment=3 scheme=fast recycle=periodic log-blocks=6 wear=none reclaim=at-once
         logical-pages=327 endurance=100 seed=16121860720760980819",
        "write 192, cut 2:48730, flush, cut 1:37114, mount, cut 2:24690, mount, mount",
    );
}

/// As above, with primary blocks: mounts are cut in their merges, and the blocks that they leave behind are the only
/// ones that can give way.
#[test]
fn half_erased_primary_blocks_give_way() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=32 pages-per-block=4 blocks=35 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=primary-replacement recycle=merge-only log-blocks=4 wear=swap:1
         reclaim=at-once
         logical-pages=124 endurance=100 seed=549428758076332470",
        "write 7 8 20 21 27 29 35 39 41 47 51 53 59 63 65 71 75 77 83 87 89 95 99 101 107 123, part 31+2, write 8,
         part 221 45+2@1 27, write 18, flush, write 22, cut 5:25211, mount, cut 4:34045, mount, cut 0:1190, mount, cut
         4:52440, mount, mount",
    );
}

/// The commit of a merge had decayed, and the erase of the data block that it replaced had been cut. A page that was
/// left there for a while was copied, and faded, though the merge had it as well.
#[test]
fn a_half_erased_data_block_beside_a_merge_without_a_commit() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=17 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=primary-replacement recycle=merge-only log-blocks=2 wear=swap:1
         reclaim=at-once
         logical-pages=77 endurance=100000 seed=13048956947070429169",
        "write 0 7 17 18 26 35 45 51 65 66 76 28 44 16 43 38 66 24 50 29 72 59 69 50 42 70 27 6 62 38 68 1 11 32 20 55
         12 25 35 27, flush, cut 7:10070, mount, decay 32, cut 0:65068, mount, mount",
    );
}

/// The first page of a merge had decayed, and the erase of the data block that it replaced had been cut. So its commit
/// did not count, and nothing said that it was a merge. A page that the erase had taken was lost, though it was there.
#[test]
fn a_merge_whose_first_page_decays() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=5 blocks=24 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=primary-replacement recycle=periodic:3 log-blocks=6 wear=none
         reclaim=at-once
         logical-pages=100 endurance=100000 seed=14899521966935208950",
        "write 5 12 30 51 79 82 89 91 98 37 47 55 28 82 5 77 45 18 51 98 71 4 91 34 16 31 20 33 37 32, mount, cut
         6:24840, mount, decay 5, mount",
    );
}

/// A page of a merge had decayed, and the erase of the data block that it replaced had been cut. The merge seemed to
/// have been cut, and was erased before the rescue. Another page, which only the data block had then, faded, and was
/// zeros.
#[test]
fn a_merge_beside_a_half_erased_data_block() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=28 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=fast recycle=periodic log-blocks=5 wear=static-threshold:2 reclaim=at-once
         logical-pages=99 endurance=100000 seed=8312244389328439551",
        "write 3 5 12 20 26 30 35 40 77 80 85 95 59 61 87 71 92 2 2 3 68 47 76 26 14 67 46 39 29 5 27 43 55 6 78 89 62
         79 22 78 95 56 34 49 11 66 85 92 43 64 85 67 59 34 8 43 2 78 47 12 83 28 12 92 52 96 71 58 55 92 79 9 76 36
         65 96 16 52 22 13 53 44 86 46 78 92 74 84 12 97 88 17 5 95 75 6 29 72 89 61 22 64 52 89 87 35 76 81 53 66 96
         49 26 72 30 3 74 59 47 66 38 82 78, flush, write 29 76+2, cut 4:50432, mount, cut 7:4159, mount, decay 1, cut
         0:55898, mount, mount",
    );
}

/// A cut had hit a page that no flush followed. A mount copied it to a merge, which was cut, and so was the erase of
/// that merge. What this left of the copy was all that could be read. It faded in the rescue, and was an error.
#[test]
fn a_page_in_a_half_erased_merge_fades() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=32 blocks=24 dies=1 paired-pages=4 any-order mixed-erases
         block blocks-per-segment=1 scheme=fast-by-stream recycle=periodic log-blocks=4 wear=swap:1 reclaim=at-once
         logical-pages=171 endurance=100000 seed=11846274353466705174",
        "write 27 20 72 16 29 1 19 13 73 24 17 15 1 22 21 2 14 5 111 26 85 62 6 1+3 163 1 23 30 12 25 141 7@1! 105,
         mount, cut 4:26067, write 8+4, cut 29:39408, mount, cut 0:50028, mount, mount",
    );
}

/// A page of a merge had decayed, and the erase of the data block that it replaced had been cut. That one lacked pages,
/// and an erase had left a page in a gap of it that cannot be read: so no page seemed to be gone. Another one faded,
/// though the merge had it as well.
#[test]
fn a_half_erased_data_block_with_gaps() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=5 blocks=14 dies=1 paired-pages=3 mixed-erases fading-pairs
         block blocks-per-segment=1 scheme=fast recycle=cost-based log-blocks=3 wear=swap:1 reclaim=at-once
         logical-pages=3 endurance=100000 seed=15148510015719508879",
        "write 0, mount, write 1+2, cut 5:43413, mount, decay 1, mount",
    );
}

/// The same with a page that could be read nowhere but in the merge.
#[test]
fn a_page_that_is_gone_from_a_data_block_with_gaps() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=4 blocks=7 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=log-block recycle=merge-only log-blocks=3 wear=dynamic reclaim=at-once
         logical-pages=4 endurance=100000 seed=2302903802505951546",
        "write 0+4, mount, mount, decay 0 1 1, mount, cut 4:59481, mount, decay 0, mount",
    );
}

/// The same in a primary block, where a gap may hold what a cut has hit.
#[test]
fn a_page_that_is_gone_from_a_primary_block() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=14 dies=1 paired-pages=1 mixed-erases fading-pairs
         block blocks-per-segment=1 scheme=primary-replacement recycle=optimal log-blocks=4 wear=dynamic
         reclaim=at-once
         logical-pages=60 endurance=100000 seed=160596708964862668",
        "write 0+3 17, mount, decay 2, mount, cut 4:47748, mount, decay 0, mount",
    );
}

/// The head of a log block had decayed. Its other page was moved, and a cut hit the copy. The block was erased for that
/// copy, which faded while mounts that merged it were cut.
#[test]
fn a_headless_block_stays_until_its_copy_lasts() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=15 dies=1 paired-pages=1 mixed-erases fading-pairs
         block blocks-per-segment=1 scheme=log-block recycle=optimal log-blocks=3 wear=static-threshold:2
         reclaim=at-once logical-pages=13 endurance=100000 seed=11613993875060877793",
        "write 0+13, cut 0:12784, write 9+4, mount, write 3 2+6 2 3 2, decay 35, shutdown, decay 58 13, mount, cut
         2:11907, write 1+8, cut 5:58982, mount, cut 5:48700, mount, mount",
    );
}

/// Block mapping: a page decays between a mount that is cut in an erase and the next one.
#[test]
fn a_page_decays_behind_a_mount_cut_in_an_erase() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=9 blocks=8 dies=1 paired-pages=1 mixed-erases fading-pairs
         block blocks-per-segment=1 scheme=primary-replacement recycle=periodic:3 log-blocks=5 wear=dynamic
         reclaim=at-once logical-pages=8 endurance=100000 seed=13735154796393882729",
        "write 2, mount, cut 4:1769, mount, decay 0, mount",
    );
}

/// `primary-replacement`: a page of a merge decayed beside a half-erased block with holes. The merge was undone, and
/// what the block had left faded.
#[test]
fn a_half_erased_block_with_holes() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=17 dies=1 paired-pages=1 mixed-erases block
         blocks-per-segment=1 scheme=primary-replacement recycle=merge-only log-blocks=2 wear=swap:1 reclaim=at-once
         logical-pages=77 endurance=100000 seed=13048956947070429169",
        "write 19 26 35 47 52 10 64 25 68 46 32 25 66 18 16 22 3 72 1 67 14 31 29 72 27 76 53 27 21 37 28 55 34 1 9 4
         35 25 69 27, flush, cut 7:10070, mount, decay 32, mount",
    );
}

/// `fast`: a page had decayed while the device was on, and a mount that copied the other page of its group was cut.
/// The block that held it was erased for that copy, which faded.
#[test]
fn a_page_decays_and_mounts_are_cut() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=9 blocks=15 dies=1 paired-pages=2 mixed-erases block
         blocks-per-segment=1 scheme=fast recycle=optimal log-blocks=5 wear=dynamic reclaim=at-once logical-pages=63
         endurance=100000 seed=2910677430185874349",
        "write 1+6 0 3 0 1, decay 49, flush, cut 2:48832, mount, cut 0:55146, mount, mount",
    );
}

/// `fast`: a page of a merge had decayed beside a half-erased data block, every page of which could be read when it
/// was scanned. One faded in the rescue.
#[test]
fn a_half_erased_block_that_can_be_read() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=3 blocks=14 dies=1 paired-pages=1 mixed-erases block
         blocks-per-segment=1 scheme=fast recycle=optimal log-blocks=3 wear=dynamic reclaim=at-once logical-pages=3
         endurance=100000 seed=186974566735",
        "write 0+3, mount, write 2+1, cut 4:7778, mount, decay 0, mount, mount",
    );
}

/// `fast-by-stream`: the first page of a merge decays, and then its commit. What was gone from the half-erased data
/// block was only there.
#[test]
fn a_merge_that_loses_its_first_page_and_its_commit() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=5 blocks=12 dies=1 paired-pages=3 mixed-erases block
         blocks-per-segment=1 scheme=fast-by-stream recycle=merge-only log-blocks=3 wear=dynamic reclaim=at-once
         logical-pages=2 endurance=100000 seed=786662729112",
        "write 1+1, discard 1, mount, write 0+1, cut 4:54833, mount, decay 0, cut 1:18151, mount, decay 6, mount,
         mount",
    );
}

/// `fast`: the commit of a merge decayed beside a half-erased data block that lacked pages. One of those that it had
/// faded, though the merge had it, too.
#[test]
fn a_half_erased_data_block_that_lacked_pages() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=5 blocks=14 dies=1 paired-pages=3 mixed-erases
         fading-pairs block blocks-per-segment=1 scheme=fast recycle=cost-based log-blocks=3 wear=swap:1
         reclaim=at-once logical-pages=3 endurance=100000 seed=15148510015719508879",
        "write 0, mount, write 1+2, cut 5:43413, mount, decay 3, mount",
    );
}

/// `primary-replacement`: the same with a page that could not be read any more. It was zeros.
#[test]
fn a_page_that_is_gone_beside_a_merge_without_a_commit() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=17 dies=1 paired-pages=1 mixed-erases block
         blocks-per-segment=1 scheme=primary-replacement recycle=merge-only log-blocks=2 wear=swap:1 reclaim=at-once
         logical-pages=77 endurance=100000 seed=13048956947070429169",
        "write 19 26 35 47 52 10 64 25 68 46 18 16 22 72 1 67 72 27 21 37 28 55 34 1 9 4 35 25 69 27, flush, cut
         7:10070, mount, decay 32, mount",
    );
}

/// `fast`: a page of a merge decayed, and the page in the last place faded in the half-erased data block. The one with
/// the commit of the merge, which is the same, gave way to the record of that loss.
#[test]
fn a_page_with_a_commit_is_more_than_a_loss() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=28 dies=1 paired-pages=1 mixed-erases block
         blocks-per-segment=1 scheme=fast recycle=periodic log-blocks=5 wear=static-threshold:2 reclaim=at-once
         logical-pages=99 endurance=100000 seed=8312244389328439551",
        "write 3 5 12 20 26 30 35 40 77 80 85 95 59 61 87 71 92 2 2 3 68 47 76 26 14 67 46 39 29 5 27 43 55 6 78 89
         62 79 22 78 95 56 34 49 11 66 85 92 43 64 85 67 59 34 8 43 2 78 47 12 83 28 12 92 52 96 71 58 55 92 79 9 76
         36 65 96 16 52 22 13 53 44 86 46 78 92 74 84 12 97 88 17 5 95 75 6 29 72 89 61 22 64 52 89 87 35 76 81 53 66
         96 49 26 72 30 3 74 59 47 66 38 82 78, flush, write 29 76+2, cut 4:50432, mount, cut 7:4159, mount, decay 1,
         mount",
    );
}

/// `fast`: a page of the last commit's block decayed, a page of a log block faded, and that seemed to have been what
/// is not programmed in the group of the commit. A discard was undone.
#[test]
fn a_commit_knows_the_gaps_of_its_group() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=8 blocks=33 dies=3 paired-pages=3 any-order block
         blocks-per-segment=1 scheme=fast recycle=periodic:3 log-blocks=7 wear=none reclaim=at-once logical-pages=37
         endurance=100000 seed=1027110223231429133",
        "write 18 19 21 29, cut 0:5245, write 34, mount, mount, write 24, discard 40+7, cut 4:14700, flush, mount,
         decay 8, mount",
    );
}

/// `fast`: a cut had hit one merge, and the first page of another one had decayed. Only one logical block can be
/// merged first, so the former is erased before that.
#[test]
fn a_cut_merge_beside_one_that_has_decayed() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=16 blocks=18 dies=1 paired-pages=4 any-order block
         blocks-per-segment=1 scheme=fast recycle=periodic log-blocks=2 wear=dynamic reclaim=at-once logical-pages=50
         endurance=100000 seed=9823175760647773270",
        "write 1 2 3 5 6 7 12 13 14 17 18 19 21 22 23 26 27 28 29 30 36 37 38 39 40 41 42 43 46 48, mount, fail
         7:33699, write 20, cut 3:17733, mount, fail 14:44080, mount, write 20 4, fail 1:21330, flush, fail 0:17473,
         write 8 44 9+3, fail 0:32744, write 4, decay 0, cut 15:37388, mount, fail 0:1855 9:14840, mount, decay 0 0,
         write 49, fail 4:51796, write 28+8, cut 0:64572, write 7, cut 6:38914, mount, mount, cut 36:31346, write 6,
         decay 1647, cut 4:64760, mount, mount",
    );
}

/// `fast-by-stream`: a cut had hit the merge of one logical block, and a page of the merge before it, of another one,
/// had decayed. Both seemed to be cut, and both had to stay. The former counted behind the copy of the latter.
#[test]
fn a_page_decays_beside_a_cut_merge() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=16 pages-per-block=8 blocks=22 dies=1 paired-pages=4 block
         blocks-per-segment=1 scheme=fast-by-stream recycle=periodic log-blocks=5 wear=swap:1 reclaim=at-once
         logical-pages=112 endurance=100000 seed=2532915420690632616",
        "write 89 91 92 93 54, mount, write 49@2 0 37 13 94, cut 0:38114, write 105, cut 18:22561, mount, decay 26,
         cut 12:53907, mount, mount",
    );
}

/// `fast-by-stream`: commits were cut in three mounts in a row, and an erase failed in the next one. What counted for
/// nothing held the room.
#[test]
fn cut_merges_give_way_when_an_erase_fails() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=32 pages-per-block=5 blocks=8 dies=1 paired-pages=3 mixed-erases block
         blocks-per-segment=1 scheme=fast-by-stream recycle=periodic:3 log-blocks=3 wear=static-threshold:2
         reclaim=at-once logical-pages=10 endurance=100 seed=13828941720885092584",
        "write 7 6 3+5 1 1 0, cut 3:2635, mount, cut 5:51278, mount, cut 4:23704, mount, cut 5:553, mount, fail
         0:11491, mount",
    );
}

/// `primary-replacement`: the commit with a whole group is the last, and that of the block beside it may have faded.
#[test]
fn a_whole_group_beside_a_commit_that_has_faded() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=9 blocks=8 dies=1 paired-pages=1 mixed-erases
         fading-pairs block blocks-per-segment=1 scheme=primary-replacement recycle=periodic:3 log-blocks=5
         wear=dynamic reclaim=at-once logical-pages=8 endurance=100000 seed=13735154796393882729",
        "write 2, mount, cut 4:1769, mount, decay 2, mount",
    );
}

/// The same behind a write of two pages. If the commit with the whole group counted, the first of them would be zeros,
/// though no copy of it has decayed.
#[test]
fn a_group_of_two_pages_beside_a_commit_that_has_faded() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=9 blocks=8 dies=1 paired-pages=1 mixed-erases
         fading-pairs block blocks-per-segment=1 scheme=primary-replacement recycle=periodic:3 log-blocks=5
         wear=dynamic reclaim=at-once logical-pages=8 endurance=100000 seed=13735154796393882729",
        "write 2 0, mount, mount, cut 4:1769, mount, decay 4, mount",
    );
}

/// `primary-replacement`: seven mounts in a row are cut, and an erase has taken pages of a block whose commit is left.
#[test]
fn pages_taken_from_a_block_that_keeps_its_commit() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=4 blocks=24 dies=2 paired-pages=1 mixed-erases block
         blocks-per-segment=2 scheme=fast-by-stream recycle=merge-only log-blocks=3 wear=swap:1 reclaim=at-once
         logical-pages=27 endurance=100000 seed=10433098351413546000",
        "write 1+3, mount, write 4, cut 2:45488, write 0, cut 7:64510, mount, cut 0:2366, mount, cut 4:57803, mount,
         cut 4:30801, mount, cut 2:6924, mount, cut 11:4937, mount, cut 12:49866, mount, cut 7:42195, mount, cut
         9:25506, mount, cut 19:64580, mount, cut 9:56163, mount, cut 12:26836, mount, cut 10:19966, mount, cut
         10:6791, mount, cut 19:48171, mount, cut 3:21274, mount, cut 15:41442, mount, cut 2:15700, mount, mount",
    );
}
