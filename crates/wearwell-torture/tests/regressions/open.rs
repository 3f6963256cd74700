//! Histories that fail. Each is a fault that is known and not repaired: `cargo test -p wearwell-torture --test
//! regressions -- --ignored` shows them.

use super::assert_holds;

/// `fast`, with cut mounts and pages that decay: a flushed page reads as zeros.
#[test]
#[ignore = "open: flushed data is lost"]
fn a_shared_log_block_of_cut_mounts_and_decay() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=8 blocks=108 dies=3 paired-pages=1 any-order block
         blocks-per-segment=1 scheme=fast recycle=cost-based log-blocks=6 wear=swap:1 reclaim=at-once
         logical-pages=792 endurance=100000 seed=3491488095770559969",
        "write 144 29, cut 0:6161, write 44, cut 2:18603, mount, mount, cut 1:57321, write 95, decay 62162, mount,
         write 751 51, decay 36564, cut 0:39292, mount, cut 1:56867, mount, decay 1579, cut 1:59687, mount, mount, cut
         3:26160, mount, cut 0:51000, mount, cut 1:31758, mount, cut 3:59148, mount, cut 1:64630, mount, cut 0:36748,
         mount, mount, mount, mount, mount, mount, mount, mount, cut 1:59069, mount, cut 0:46920, mount, mount, mount,
         mount, mount, mount, mount, mount, mount, mount, mount, mount, mount",
    );
}

/// `fast-by-stream`, with failures, cut mounts and a page that decays: a flushed page is older behind a mount.
#[test]
#[ignore = "open: flushed data is lost"]
fn older_data_behind_failures_and_decay() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=16 pages-per-block=32 blocks=17 dies=1 paired-pages=2
         block blocks-per-segment=1 scheme=fast-by-stream recycle=optimal log-blocks=3 wear=none reclaim=at-once
         logical-pages=250 endurance=100 seed=748003685014039438",
        "write 153 85 4 154 191 243+7, part 494, write 119 125 49 221 86 66 215+3, part 317, write 110 164+8 63 183
         176 84 105, flush, part 535+2 989, write 196 122 118 88 104 34 218 135, part 394+4, write 171 231 57 131 166
         76, flush, write 59, discard 912+18, flush, write 203 243 203 247 186 78 159 172 87+8, mount, write 26 11 9,
         part 245, write 35, part 190+4@2, write 116 22, part 529+12@2, write 228, part 842+3@2, write 58 83 0 53 4 70
         8 20, part 993, write 212, part 459+4@2, write 38 139, part 23, write 153 231+7 189+8 126, flush, write 60
         67, cut 2:31356, write 71+7, mount, write 160 110 2 75 204+5 151, fail 0:55473, write 177, part 65 533+4,
         decay 20709, write 197, discard 360+8, write 122, part 769, write 141+5 164 91 55 127 42 140, flush, part
         677, write 46 67, fail 0:26032, cut 19:23228, flush, mount, cut 15:1128, mount, mount, cut 24:42130, write
         204, decay 3361, mount",
    );
}

/// Page mapping, where a cut erase leaves each page its own way: one cut, and a failure in the mount behind it. A
/// flushed page cannot be read.
#[test]
#[ignore = "open: flushed data is lost"]
fn a_failure_in_the_mount_behind_a_cut_erase() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=12 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:2:3/greedy/single/none/at-once
         logical-pages=40 endurance=100000 seed=1",
        "write 0+40 27 11 26, discard 37, write 9, flush, mount, write 2 16, mount, mount, cut 3:59592, write 33, fail
         4:34171, mount",
    );
}

/// `primary-replacement`, where a cut erase leaves each page its own way, with pages that decay, a failure and cut
/// mounts: a flushed page, no copy of which has decayed, reads as zeros.
#[test]
#[ignore = "open: flushed data is lost"]
fn zeros_behind_a_failure_decay_and_cut_mounts() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=32 pages-per-block=4 blocks=35 dies=1 paired-pages=1 mixed-erases
         block blocks-per-segment=1 scheme=primary-replacement recycle=merge-only log-blocks=4 wear=swap:1
         reclaim=at-once
         logical-pages=124 endurance=100 seed=549428758076332470",
        "write 8 21, part 45+2@1, flush, decay 0, cut 5:52440, mount, decay 1, fail 0:31407, cut 4:23985, mount, cut
         5:23572, mount, cut 2:37101, mount, cut 0:57509, mount, mount",
    );
}

/// `fast`, with failures, cut mounts and pages that decay: a flushed page cannot be read.
#[test]
#[ignore = "open: flushed data is lost"]
fn an_error_behind_failures_and_decay() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=8 blocks=8 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=fast recycle=periodic log-blocks=4 wear=dynamic reclaim=at-once
         logical-pages=3 endurance=100000 seed=13655409666257112876",
        "write 0, fail 5:16712, mount, fail 0:23620, cut 10:59450, write 0+3, mount, mount, write 0 0+3, fail 0:45837,
         cut 1:8020, write 0, decay 3, cut 0:48354, decay 4, fail 1:7893, mount, cut 11:51296, mount, cut 9:8804,
         decay 0, mount, fail 0:26266 3:12310, decay 2, mount, decay 0, mount",
    );
}
