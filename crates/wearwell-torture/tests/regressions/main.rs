//! Histories that the torture found and shortened, as it printed them.

mod allowed;
mod block;
mod block_cut_mounts;
mod block_decayed_merges;
mod block_half_erased;
mod block_media;
mod one_rule;
mod open;
mod page_decay;
mod page_faded;
mod page_mounts;
mod page_room;
mod page_tags;
mod page_worn;
mod paged;
mod paged_decay;
mod paged_rescues;

use wearwell_torture::text::read_history;
use wearwell_torture::{mode, replay, torture};

fn assert_holds(setup: &str, history: &str) {
    let setup = setup.parse().unwrap_or_else(|unknown| panic!("{unknown}"));
    let history = read_history(history).unwrap_or_else(|unknown| panic!("{unknown}"));
    assert_eq!(replay(&setup, &history).failure, None);
}

/// The header of an open segment decays, and the segment is taken for one whose erase was cut. The table of promises
/// says so.
#[test]
fn decay_of_a_header() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=6 blocks=41 dies=1 paired-pages=1
         page blocks-per-segment=1 policies=watermark:3:4/greedy/single/none/at-once
         logical-pages=60 endurance=100000 seed=1",
        "write 5, flush, decay 0, mount, verify",
    );
}

/// Reads ask for a refresh, and mounts are cut. A mount that read each copy of a page of which there were two came to
/// a device that took no writes.
#[test]
fn refreshes_in_mounts_of_a_full_device() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=64 pages-per-block=6 blocks=14 dies=1 paired-pages=1
         page blocks-per-segment=1 policies=watermark:4:5/lfs/separate-cleaning/none/at-once aware checkpoint
         logical-pages=31 endurance=100 seed=14598275787739489458",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 2 4, cut 1:47188,
         write 5, mount, cut 5:28058, write 0, mount, cut 5:41872, clean 10, mount, cut 3:61346, write 2, mount, cut
         3:25486, write 0, mount, mount, cut 4:15438, write 0, mount, write 3 0, cut 4:8008, write 5, mount, cut
         2:35084, write 4, refresh 31 62, mount, part 1+8, cut 1:19012, write 1, refresh 50, mount, cut 6:39864,
         write 5, cut 0:55523, mount, mount, cut 4:299, write 2, cut 0:47956, mount, refresh 134, mount, cut 4:32775,
         write 4, mount, cut 3:35881, write 0, refresh 150, mount, cut 3:3863, write 4, refresh 102, mount, cut
         5:39306, write 4, mount, cut 5:50755, part 7+6@1, mount, write 4",
    );
}

/// All headers decay, and what can still be read lies behind pages that a cut erase of a stripe has emptied. The chip
/// was called foreign.
#[test]
fn tags_behind_erased_slots_say_whose_a_chip_is() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=8 blocks=36 dies=4 paired-pages=1
         page blocks-per-segment=4 policies=watermark:4:5/fifo/single/none/proactive:0.05:0.5:0.01
         logical-pages=115 endurance=100 seed=2753313458348702413",
        "write 17 21, cut 5:57161, mount, decay 5, cut 0:3458, mount, decay 7, cut 1:12799, mount, decay 0 0, mount,
         cut 1:45509, write 18, mount, cut 1:31643, write 14, mount, cut 1:23027, write 19, decay 0 0 0, mount",
    );
}

/// An erase of a stripe was cut behind its first block, and then everything decayed but a page of the second one. A
/// scan of the segment ends at the slots that are erased before it, and finds nothing.
#[test]
fn a_tag_behind_erased_slots_is_looked_for() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=4 blocks=16 dies=2 paired-pages=1
         page blocks-per-segment=2 policies=watermark:1:1/greedy/single/none/at-once
         logical-pages=10 endurance=100000 seed=1",
        "write 0+7 3 3 1, discard 0+10, cut 2:54546, write 9, decay 63292 0 0 0 0 0 7 0 6 0 0 0 0 2, mount",
    );
}

/// A page of an open segment decays, and was the only copy. Nothing else names it. But the other pages of the segment
/// are nowhere else, so the segment was not being erased, and something is missing.
#[test]
fn the_only_copy_in_an_open_segment_is_missed() {
    for decayed in 1..4 {
        assert_holds(
            "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=12 dies=1 paired-pages=1
             page blocks-per-segment=1 policies=watermark:1:1/greedy/single/none/at-once
             logical-pages=20 endurance=100000 seed=1",
            &format!("write 0+4, flush, decay {decayed}, mount"),
        );
    }
}

/// Everything decays outside a bad block. The chip is foreign, and the table of promises says so: a bad block is never
/// erased again, so it may be of an earlier owner.
#[test]
fn a_bad_block_does_not_say_whose_a_chip_is() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=32 blocks=7 dies=1 paired-pages=1
         page blocks-per-segment=1 policies=watermark:4:5/greedy/by-stream/dynamic/at-once checkpoint
         logical-pages=28 endurance=100000 seed=7050427026715846178",
        "write 4, mount, write 4, cut 0:56162, mount, decay 8 5, cut 0:8918, mount, decay 1, cut 0:13214, mount, decay
         3 0 0, mount",
    );
}

/// A cut erase leaves a page of its block to fade, and the mount believes it in place of its copy.
#[test]
fn uncertain_ties() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=16 pages-per-block=12 blocks=12 dies=1 paired-pages=2 mixed-erases
         page blocks-per-segment=1 policies=watermark:2:3/cat/by-stream/none/proactive aware
         logical-pages=14 endurance=100000 seed=15317133290626335067",
        "write 1, mount, write 0, cut 0:49799, write 7, mount, write 1, part 48+3@1 29+3@1, flush, write 5@2 1@2!
         9@20, cut 1:28832, write 2, mount, mount, cut 4:40179, write 5, mount, cut 6:63919, write 13, mount, cut
         1:12135, write 13, mount",
    );
}

/// Pages were lost, no segment was free, and the empty ones waited for the record of the loss, which had no place.
#[test]
fn lost_pages_on_a_full_chip() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=8 blocks=7 dies=1 paired-pages=1 any-order
         page blocks-per-segment=1 policies=watermark:2:3/cat/hot-cold-readonly/dynamic/proactive
         logical-pages=11 endurance=100000 seed=10230644956725479617",
        "write 0 1 3 4 5 6 7 8 9 10 2 10 5 5, clean 11, write 4 2+3@4!, cut 2:24445, mount, decay 4, cut 0:49398,
         mount, decay 7, cut 4:15543, mount, mount, write 6",
    );
}

/// Every open segment was put aside because its bank was erasing, and their free slots were forgotten.
#[test]
fn room_in_segments_put_aside() {
    assert_holds(
        "nor block-bytes=8192 blocks=8 banks=1
         nor-page slots=2 page-bytes=1024 policies=watermark:1:1/d-choices:3/by-stream-shared/dynamic/at-once
         logical-pages=8 endurance=100 seed=10121955202005643274",
        "write 0@28 0@26! 5+3, discard 4+12, write 0+7@3",
    );
}

/// Behind a mount a page was written anew, with a number that another page had already. The version before it had that
/// number.
#[test]
fn a_page_is_written_behind_a_mount() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=16 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=idle:3:4:5/lfs/single/none/at-once
         logical-pages=10 endurance=100000 seed=16316230833625706664",
        "write 0+3, mount, write 2, flush, mount",
    );
}

/// Seeds whose histories are long, and that failed before what is named there was repaired.
#[test]
fn seeds_that_failed_hold() {
    let seeds = [
        // Each mount copied again what the last had rescued, until no segment was free.
        ("decay", 500_031),
        // A device was mounted read-only, and of two copies that a cut may have hit it had the one that faded.
        ("decay", 390_000_115),
        // A segment that had lost its summary had one more page to be rescued.
        ("decay", 424_266),
        // All headers had decayed, and the chip was called foreign.
        ("decay", 500_017),
        // The same, beside bad blocks with headers that can be read.
        ("decay", 840_000_625),
        // A copy that was made later was taken for what a rescue had copied, and the rescue for certain.
        ("mixed", 424_313),
        // What an erase had taken from a cut merge counted as sources of the last commit, of which a page had decayed.
        ("block-decay", 310_000_041),
        // A merge whose commit has decayed was a source.
        ("block-decay", 340_000_139),
        // A copy in a segment that was being erased in truth was kept beside a suspect one: no segment was free.
        ("aware", 800_000_422),
        // A page that had decayed, and was recorded as lost, made the segment of an original seem to be in erasure.
        ("decay", 1_000_000_210),
        // The same beside a copy in an open segment, on a chip without spare bytes.
        ("decay", 912_001_308),
        // An erase was cut with no segment free, and the copies of its victim were suspect.
        ("other", 1_320_000_481),
        // A slot of a rescue had decayed, and what was programmed behind it did not show that it had ended.
        ("decay", 2_600_000_046),
        // A page was programmed over the record that it was lost.
        ("block-decay", 370_000_069),
        // What had been discarded came back when a translation page decayed, and its old copy had decayed as well.
        ("paged-decay", 50_000_000_269),
        // The last copy of a rescue decayed, and all padding behind it, which a cut had hit: the others were lost, too.
        ("paged-decay", 53_000_000_259),
    ];
    for (name, seed) in seeds {
        let (_, record) = torture(mode::named(name).expect("a mode of the list"), seed);
        assert_eq!(record.failure, None, "{name} {seed}");
    }
}
