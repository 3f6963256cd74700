//! Page mapping: copies that fade while a mount works, what it concludes from that, and the losses that it records.

use super::*;

/// A copy in a segment in erasure faded while it was compared with another one, which had decayed before. So that one
/// counted, and was to be copied. It could not be read, and was taken for one that had faded in this mount: an older
/// version counted.
#[test]
fn what_could_not_be_read_has_not_faded() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=18 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:1:1/greedy/single/none/at-once
         logical-pages=12 endurance=100000 seed=14434127679982953021",
        "write 0+3 2, mount, cut 0:20835, write 3, decay 7, mount",
    );
}

/// The newest copy of a page decayed, and the other one, in a segment in erasure, faded before it was copied. That
/// segment was erased before the loss was on record, and the mount was cut.
#[test]
fn what_has_faded_shows_a_loss() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=17 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:5:0.5/windowed-greedy:4/separate-cleaning/none/at-once
         logical-pages=69 endurance=100000 seed=17311831826465163290",
        "write 4 5 6 7 16 17 18 19 20 22 23 24 25 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 46 47 48 49 50 51 52 53
         54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 53 2 11 21 61 13 56 46 27 0 45 45 26 46 9 54 10 4 19 44 15 55 52
         40 2 35 18 6, flush, cut 6:1422, write 40, decay 17, cut 13:29914, mount, mount",
    );
}

/// Pages in doubt took the last two free segments, and left none for the part of the discard map that was to record a
/// loss. Without it the only empty segment, which showed the loss, was not erased: the device took no more writes.
#[test]
fn the_record_of_a_loss_needs_room() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=5 blocks=27 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/random/single/dynamic/at-once
         logical-pages=65 endurance=100000 seed=5778034263424399593",
        "write 4 5 6 7 8 9 10 11 12 13 14 15 41 42 43 44 45 46 47 48 53 54 55 56 19 31 28 26 64 60 57 50 24 2 25 4 28
         20 32 59 18 11 43 30 54 2 28 49 39 33 34 3 1 27 0 64 16 23 63 62 26 48 32 52 10 41 45 39, decay 9, mount,
         write 16, decay 6, cut 4:20854, write 61, mount, write 3",
    );
}

/// Both copies of a page lie in segments whose erase was cut. One of them counted as it was, and faded.
#[test]
fn both_copies_are_in_cut_erases() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=21 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=13353128246199273785",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9
         16 29 31 23 51 13 31 50 18, fail 1:17657 3:27048, mount, mount, fail 3:33390, cut 8:43661, write 59, decay
         23, cut 3:57274, mount, mount, mount, verify, verify",
    );
}

/// A page and the summary behind it decayed, and what shows the loss was copied. Then the loss was recorded in the last
/// free segment, since an empty one was there. But that one showed the loss, and had to stay. The program was cut, and
/// there was no place to copy the record to.
#[test]
fn the_record_of_a_loss_takes_the_last_segment() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=22 dies=1 paired-pages=1
         page blocks-per-segment=1 policies=watermark:1:1/greedy/separate-gc/static-threshold:1/proactive
         logical-pages=65 endurance=100000 seed=6952933196327779986",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43
         44 45 46 47 48 49 50 51 52 53 55 56 57 58 59 60 61 62 63 28 61 20 64 20 56 16 14 31 51 53 51 38 58 63 9 15 48
         37 8 32 53 46 30 48 5 30 36 25 54 11 5 47 10 38 17 14 36 24 8 36 23 52 6 34, mount, decay 16 12, cut 6:15591,
         mount, cut 2:6876, mount, mount",
    );
}

/// As before, but what was copied left room for the pages of another segment. None was emptied, since the segment with
/// the loss counted as free.
#[test]
fn what_shows_a_loss_is_no_free_segment() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=22 dies=1 paired-pages=1
         page blocks-per-segment=1 policies=watermark:1:1/greedy/separate-gc/static-threshold:1/proactive
         logical-pages=65 endurance=100000 seed=6952933196327779986",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43
         44 45 46 47 48 49 50 51 52 53 55 56 57 58 59 60 61 62 63 28 61 20 64 20 56 16 14 31 51 53 51 38 58 63 9 15 48
         37 8 32 53 46 30 48 5 30 36 25 54 11 5 47 10 38 17 14 36 24 8 36 23 52 6 34, mount, decay 16 12, cut 9:44585,
         mount, mount",
    );
}

/// As before, but what was copied filled its segment.
#[test]
fn a_full_rescue_leaves_one_segment_for_a_record() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=22 dies=1 paired-pages=1
         page blocks-per-segment=1 policies=watermark:1:1/greedy/separate-gc/static-threshold:1/proactive
         logical-pages=65 endurance=100000 seed=6952933196327779986",
        "write 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 55 56 57 58 59 60 61 62 63 28 61 20 64 20
         56 16 14 31 51 53 51 38 58 63 9 15 48 37 8 32 53 46 30 48 5 30 36 25 54 11 5 47 10 38 17 14 36 24 8 36 23 52
         6 34, mount, decay 53 49, cut 9:15591, mount, mount",
    );
}

/// A part of the discard map decays, and the erase of the segment with the discarded page was cut. The page comes back,
/// which is allowed. Its segment has no header, and nothing else in it shows an erase (`short` 2100000001466).
#[test]
fn a_page_that_came_back_fades_behind_a_cut_erase() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=8 blocks=18 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:2:3/random/single/none/at-once
         logical-pages=11 endurance=100000 seed=15006057813136282383",
        "write 0+3, mount, mount, write 0, discard 1, cut 1:23397, write 0, decay 7, mount, mount",
    );
}

/// The same, and the segment still has its summary, so that no mount looks at it. Then that decays. Of the pages that
/// came back some lie behind slots that read as erased.
#[test]
fn pages_that_came_back_lie_behind_erased_slots() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=4 blocks=16 dies=2 paired-pages=1
         page blocks-per-segment=2 policies=watermark:1:1/greedy/single/none/at-once
         logical-pages=10 endurance=100000 seed=1",
        "write 0+7 3 1, discard 0+10, cut 2:54546, write 9, decay 2, mount, decay 11, mount",
    );
}

/// A page decayed where it had been copied to, and faded where its erase was cut. The mount that noticed erased an
/// empty segment first, which had held the decayed copy, and was cut before the loss was on record (SPEC P13). So the
/// next one read zeros.
#[test]
fn a_loss_is_on_record_before_any_erase() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=17 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:5:0.5/windowed-greedy:4/separate-cleaning/none/at-once
         logical-pages=69 endurance=100000 seed=17311831826465163290",
        "write 4 5 6 7 16 17 18 19 20 22 23 24 25 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 46 47 48 49 50 51 52
         53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 53 2 11 21 61 13 56 46 27 0 45 45 26 46 9 54 10 4 19 44 15
         55 52 40 2 35 18 6, flush, cut 6:1422, write 40, decay 17, cut 0:44172, mount, cut 13:29914, mount, mount",
    );
}
