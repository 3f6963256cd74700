//! Histories of page mapping: mounts that are cut again and again.

use super::*;

/// A copy of a page came back, out of a rescue that a cut had ended, when the segment of that rescue was half-erased.
#[test]
fn rescue_in_a_half_erased_segment() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=8 blocks=132 dies=3 paired-pages=1 any-order
         page blocks-per-segment=3 policies=watermark:2:3/windowed-greedy:4/separate-cleaning/none/at-once checkpoint
         logical-pages=445 endurance=100 seed=15032841288831845364",
        "write 102 304 360+7 15, part 888, write 246, cut 0:51828, flush, mount, write 59, part 56, discard 204+4,
         flush, part 43+2, write 180 36, discard 486+8, write 30 103 272, flush, part 873, write 70, discard 28+8,
         write 22 16, flush, write 344, discard 116+6, write 176 48, flush, write 100, discard 722+6, write 320+4
         140+6 412 0, flush, write 78 225 16 109 226+4 306 155 235, part 426+2, write 94 187 213, discard 602+8,
         flush, discard 56+8, write 352 316 106 70 15 145, part 818, write 226, part 615, flush, cut 6:10996, write
         281+4, mount, cut 4:54702, write 390, cut 0:42564, mount, cut 0:64933, mount, cut 2:21946, mount, cut
         5:23252, mount, cut 5:51829, mount, cut 1:39772, mount, cut 4:57379, mount, cut 0:10077, mount, mount, cut
         3:43010, part 610+2@1, mount, cut 4:15428, write 39, mount",
    );
}

/// Of two copies of a part of the discard map one lay in a block whose erase was cut, and faded between two reads of
/// one mount. Its discards were forgotten.
#[test]
fn a_part_of_the_discard_map_has_a_second_copy() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=16 pages-per-block=5 blocks=25 dies=1 paired-pages=1 any-order mixed-erases
         page blocks-per-segment=1 policies=falling:5:0.5/cost-benefit/by-stream/dynamic/at-once
         logical-pages=7 endurance=100000 seed=7258402749950725103",
        "write 3 5 6 0 0@8!, mount, discard 0+18, cut 3:826, clean 3, mount, write 0, cut 1:1500, write 0, mount, cut
         0:8321, write 0, mount",
    );
}

/// With tag pages, an open segment whose data fades became the victim before its last pages had a tag page.
#[test]
fn refresh_424296() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=32 blocks=21 dies=1 paired-pages=1
         page blocks-per-segment=1 policies=watermark:3:4/lfs/single/swap:1/at-once
         logical-pages=11 endurance=100 seed=15397227348432878707",
        "write 5+6 1, refresh 0, read 1, write 1, flush",
    );
}
