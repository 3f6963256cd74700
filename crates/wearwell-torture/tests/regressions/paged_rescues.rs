//! The map on flash, where few segments are left for what a mount copies.

use super::assert_holds;

/// The erase of a rescue that never ended was cut, and took its mark. Of its copies the last one seemed to be hit by a
/// cut. Two segments were empty, and still that one was copied to the segment with the original of the other, which
/// faded.
#[test]
fn a_suspect_leaves_the_original_of_a_doubted_copy() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=7 blocks=16 dies=1 paired-pages=1 mixed-erases
         paged blocks-per-segment=1 cache-entries=40
         logical-pages=3 endurance=100000 seed=13248633098142004803",
        "write 0 0 2 1 0 2 0 1 0 2 0 2 0 2 2 2 0 1 0, discard 2, write 0 2 1 0, mount, fail 0:34816, write 1 1, cut
         4:58362, mount, fail 1:47224, cut 3:2223, mount, cut 5:1012, mount, fail 0:17200, cut 2:15094, mount, fail
         1:59915, cut 4:47398, mount, cut 2:8481, mount, cut 2:62152, mount, cut 2:32859, mount, fail 0:18207, cut
         1:40985, mount, cut 0:13988, mount, fail 0:30006 2:13472, cut 4:33846, mount, mount",
    );
}
