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
