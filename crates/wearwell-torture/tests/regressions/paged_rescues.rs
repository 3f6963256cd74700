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

/// Failures left no segment for the suspect, which was complete: its original had been erased, and a rescue was being
/// copied there when a program failed. That copy lay where the original had been, held the same, and faded.
#[test]
fn a_rescue_that_failed_where_the_original_was() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=7 blocks=19 dies=1 paired-pages=1
         paged blocks-per-segment=1 cache-entries=2
         logical-pages=16 endurance=100000 seed=4252694619236115437",
        "write 0+16 13 4 3 10 0 7 13 12 0 4 9 1 3 12 5 2 5 1 12 9 2 3 5 1 2 1 10 2 6 11 8 13 2 2 10 10 6 8, fail
         2:24803, mount, write 2 0 7 15 12 3 15 0 1 0 2 15 0 0 13 11 12 5, mount, write 1, cut 8:12509, write 14,
         fail 0:51442, cut 4:40981, mount, fail 3:13823, cut 5:10135, mount, fail 0:50628, mount",
    );
}

/// A program failed, and a cut hit its page in the next segment. Two suspects are left, and the mount that finds no
/// segment for them reads the first one once more, which fades. The page from before both was served, and the next
/// mount served the second one.
#[test]
fn the_first_of_two_suspects_fades_on_a_read_only_device() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=23 dies=1 paired-pages=1 mixed-erases
         paged blocks-per-segment=1 cache-entries=3
         logical-pages=7 endurance=100000 seed=3117338781048517318",
        "write 4 1, mount, write 5 3, mount, fail 0:7795 2:54557 4:3774 6:62102 8:48827, write 1, fail 0:16017, cut
         3:18462, write 1, cut 0:46695, mount, cut 1:22957, mount, cut 0:29357, mount, fail 2:29459, cut 5:47078,
         mount, fail 0:12877 2:11291, cut 4:15036, mount, cut 0:39582, mount, cut 0:33235, mount, cut 0:33341, mount,
         fail 0:30356 2:55218, cut 4:25626, mount, cut 0:1364, mount, fail 0:20731, cut 1:54333, mount, fail 0:28343
         2:54004 4:7772, mount, mount",
    );
}
