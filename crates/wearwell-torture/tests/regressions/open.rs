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
