//! Page mapping, on devices that failures have left without room.

use crate::assert_holds;

/// A program failed, the copies of a cleaning went to two segments, and the erase of the victim was cut. Its summary
/// cannot be read, and the last slot reads as erased. So it looks like a segment that was open, as the one with the
/// copy of its first page does, and that one is vacated. Two more operations fail, and no segment is left for both
/// pages. So the uncertain one was trusted, and the segment with the copy that lasts was erased for the suspect one.
/// That failed, too, the device was read-only, and the page in the victim faded.
#[test]
fn a_victim_seems_to_be_open() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9
         16 29 31 23 51 13 31 50 18, fail 0:1489 2:34140, mount, mount, fail 3:16933, cut 7:48807, write 59, cut
         1:26299, mount, fail 0:32029 5:33673, mount",
    );
}

/// The same with a victim that lost its header then: what was left of it seemed to be a rescue that had never ended.
/// The page in it counted for nothing, and was zeros. Without the rule for trusted copies it is by the third mount.
#[test]
fn zeros_behind_four_failures() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 47 32 57 45 17 39 53 41 39 27 47 47 4 45 35 48 59 21 48
         48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9 16 29 31 23 51 13 31 50 18,
         fail 0:58178 3:49318, mount, fail 3:28318, cut 7:27824, write 42, fail 1:21245 4:28635, mount, mount, mount",
    );
}

/// The rescue of both pages was there, but the program of the padding behind it failed. Its segment was given up, and
/// was still searched for copies. So the one that lasts was erased for the next attempt.
#[test]
fn a_rescue_whose_padding_fails() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39
         27 47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2
         42 9 16 29 31 23 51 13 31 50 18, fail 0:1489 2:34140, mount, mount, fail 3:16933, cut 7:48807, write 59,
         cut 1:26299, mount, fail 0:32029 7:32328, mount",
    );
}

/// The erase of a victim was cut, and has left its summary. One page of it decayed in the segment that it had been
/// copied to, so the victim seemed to be needed, and what lay there to last. But a tied copy there could not be read,
/// and its header was erased. The copy of another page counted there and faded, though the one that it had been made
/// for was good.
#[test]
fn a_page_decays_beside_two_copies_in_erasure() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=21 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=13353128246199273785",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9 16
         29 31 23 51 13 31 50 18, fail 0:62299 2:27048, mount, mount, fail 3:16933, cut 8:43661, write 59, decay 16,
         mount, mount",
    );
}

/// One cut and six failures. The only page without a copy that was certain to last was a trusted one, and no page was
/// suspect. So there was nothing to rescue, and the segment with its other copy was erased to make room for it. That
/// failed, and what was left in the victim seemed to have lost pages.
#[test]
fn room_for_a_trusted_page_takes_its_other_copy() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 37 45 11 24 46 10 0 6 1 15 32 34 31 37 47 32 57 45 17 39 47 47 4 45 35 48 59
         21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 40 23 2 42 9 16 29 31 23 51 13 31
         50 18, fail 0:62299 2:34140, mount, fail 3:16933, cut 7:15259, write 22, fail 0:32029 5:33673 8:12764,
         mount, mount",
    );
}

/// The same behind two cuts: a rescue had failed before, and the page was zeros.
#[test]
fn a_rescue_fails_and_the_other_copy_is_erased() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 34 20 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 47 32 57 45 17 39 53 41 39 27 47 47 4 45 35 48 59 21 48
         48 36 15 0 51 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 56 40 23 2 42 9 16 29 31 23 51 13 31 50 18,
         fail 0:33252 2:62139, mount, fail 0:23253 5:52709, cut 9:38749, write 24, cut 0:21461, mount, fail 4:50187
         6:24526, mount, mount",
    );
}

/// Three cuts and four failures. The only empty segment held the other copy of a page that was not certain to last
/// where it counted. A mount that erased nothing for that took no writes, though it had the segments that are needed.
#[test]
fn no_room_without_the_other_copy() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 54 38 53 38 37 45 11 24 46 10 0 6 1 15 31 37 47 32 57 45 17 39 53 41 39 27 47 47 4 45 35 48 59 21 48
         48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9 16 29 31 23 51 13 31 50
         18, fail 0:6431 2:34140, mount, mount, fail 3:50929, cut 7:38058, write 59, cut 0:42680, mount, fail
         0:48558, cut 11:11193, mount, mount",
    );
}

/// A rescue whose padding failed had left all of its copies, and the next attempt took them for copies that last.
#[test]
fn copies_of_a_rescue_that_was_given_up() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9
         16 29 31 23 51 13 31 50 18, fail 0:41768 2:45119, mount, mount, fail 3:9440, cut 7:48807, write 59, fail
         0:34302 7:28599, mount",
    );
}

/// One cut and seven failures. The only page without a copy that was certain to last was a trusted one in a victim that
/// is erased in part. So the only empty segment, which had its other copy, was erased to make room. That failed, and
/// what was left in the victim seemed to have lost pages: one that was never written was an error.
#[test]
fn the_erase_that_makes_room_fails() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 37 45 11 24 46 10 0 6 1 15 32 34 31 37 47 32 57 45 17 39 47 47 4 45 35 48 59 21
         48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 40 23 2 42 9 16 29 31 23 51 13 31 50
         18, fail 0:57053 2:8012, mount, fail 3:16933, cut 7:15259, write 22, fail 0:32029 5:43687, mount, fail
         0:15375, mount, mount",
    );
}
