//! Histories that fail. Each is a fault that is known and not repaired, or a state of the chip for which the table of
//! promises has no row yet: `cargo test -p wearwell-torture --test regressions -- --ignored` shows them.

use super::assert_holds;

/// Page mapping with tag pages. A mount copied a discard behind the mark of a rescue, and a cut hit the padding
/// behind it. Later mounts saw that padding and served the discard. Then the header of that segment decayed and the
/// padding faded, so that the rescue counted for nothing (Spec P3), and what had been discarded was there again.
/// Such a segment looks like one of a rescue that never ended and whose erase was cut. If its copies counted, and
/// were copied once more first, this history would hold. But then mounts that are cut in a row may take a free
/// segment each time.
#[test]
#[ignore = "open: a flushed discard comes back"]
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

/// Page mapping, by cuts alone, with erases that leave each page its own way: behind three mounts, two of them cut, the
/// device is read-only with as many good segments as it needs. It is not known which rule takes the room.
#[test]
#[ignore = "open: out of room"]
fn cut_mounts_use_up_the_room() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=5 blocks=42 dies=2 paired-pages=1 mixed-erases
         page blocks-per-segment=2 policies=watermark:1:1/windowed-greedy:4/separate-cleaning/none/at-once
         logical-pages=125 endurance=100000 seed=16363726756861764932",
        "write 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122
         123 88 63 123 99 14 95 101 94 35 67 55 43 62 32 87 20 2 70 91 46 123 95 67 6 33 77 3 11 88 38 73 124 33 86
         110 109 49 88 2 9 18 5 47 124 90 51 79 106 14 12 78 3 12 49 120 61 54 44 77 32 8 106 119 89 53 42 16 25 37 65
         124 66 7 103 59 20 77 64 40 46 102 86 69 72 57 64 120 116 34 66 0 45 89 3 59 14 21 29 19 66 25 120 46 16 114
         26 25 69 86 24 36 120 16 31, mount, mount, write 102, mount, cut 6:38087, mount, cut 4:14826, mount, mount",
    );
}

/// Page mapping with tag pages: behind one cut, one decay and mounts that were not cut a flushed page reads as zeros.
/// It was not looked into.
#[test]
#[ignore = "open: flushed data is lost"]
fn a_cut_write_and_one_decay() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=9 blocks=22 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=idle:3:4:5/cat/by-stream/none/at-once
         logical-pages=21 endurance=100000 seed=12824606577457135082",
        "write 0 1 2 3 4 5 16 17 15 15 2 1 4 9 2 14 16 0 15 9 19 11 16 15 13 13 19 16 13 6 14 12 13 14 5 4 11 19 8 8
         12, flush, mount, mount, cut 4:1592, write 9, decay 6, mount, mount, mount",
    );
}
