//! Histories that are told with a word for each fault.
//!
//! Each fails where an engine lacks a rule, and all of its faults have to leave the right thing at once, which no seed
//! among millions does. The words were found by following the torture: they leave on the emulator, fault by fault, what
//! its chip was left with when the same engine failed there. Where that was not enough, a few words or numbers beside
//! them were tried.

use std::iter;

use super::draws::Draws;
use super::words::Words;
use super::{History, SOURCES};

/// Histories of the torture with the words of their faults, for engines that lack a rule (`cargo xtask canaries
/// faded-commit exposed decayed-copy lone-victim shown-summary worn-copies map-newest continued lost-header first-slot
/// map-revived last-unpadded half-erased-pages headless-copies passed-over map-stale both-in-erasure marked-incomplete
/// decayed-tag-page suspect-named doubted-rescue tagged-rescue exposed-sealed faded-victim decayed-suspect
/// beside-decayed expendable expendable-evidence whole-victim map-erase-shows held-pages one-cut block-between
/// headless-group faded-older headless-commit gone-from-gaps half-erased-data beside-erasure lost-summary gone-copy
/// begun-summary tag-page-of-the-end unread-superseder newer-by-head begun-source unread-waits given-up-rescue
/// undone-copy emptied-room appended-commit kept-original second-with-gaps completed-copies older-copies some-uncertain
/// map-header-gone parts-room gone-evidence failed-shutdown loss-room least-number completed-gaps headless-uncertain
/// behind-gaps map-faded-copy`). Those of `shown-copy`, of `few-blocks` and of an undone merge that cannot be erased
/// failed on earlier engines, as did the first ones of `faded-older`, `expendable`, `passed-over`, `both-in-erasure`
/// and `block-between`; newer rules cover these now. So do those of `no-free-segment`, `primary-gaps`, `read-first`,
/// `map-comes-back`, `map-emptied` and `map-unfound`. Those of `half-erased`, `vacated` and `rescue-marks`, and the
/// first ones of `both-in-erasure` and `worn-copies`, take another course by now, or need more than these words say.
const SAID: [(&str, &str); 99] = [
    ("the_record_of_a_loss_takes_the_last_segment", "16 12 0x0 0xd"),
    ("what_shows_a_loss_is_no_free_segment", "16 12 0xe"),
    ("a_full_rescue_leaves_one_segment_for_a_record", "53 49 0x0"),
    ("what_has_faded_shows_a_loss", "0x62122102 17 0xe"),
    ("the_record_of_a_loss_needs_room", "9 6 0x4"),
    ("as_many_uncertain_pages_are_copied_as_fit", "9 14 kept kept"),
    ("a_read_only_device_looks_for_the_header_of_the_original", "0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x61411"),
    ("a_read_only_device_leaves_what_is_being_erased", "0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x61411"),
    ("a_page_that_no_scan_finds_is_copied", "1 0x21242010"),
    ("half_erased_blocks_give_way_to_the_rescue", "0x0a 0x110 0x20221c3 0x20f2a2 0x7f81620ff110001"),
    ("half_erased_blocks_give_way_to_the_rescue", "0xc1100b010d 0x177912f0d12100f 0x0f 0x16090225017f02 0x1"),
    (
        "what_looks_like_a_replaced_block_gives_way",
        "0x00020020b0003c 0x2013025002022121 blank 0x10000000e2 0x20000e10d0e600",
    ),
    ("a_completed_log_block_without_its_commit_has_copies", "0x039d200 31 0x120f02000"),
    ("a_third_block_behind_one_with_gaps_is_not_needed", "kept 0x111 0x10 0x8 0x11 spoilt 0x11"),
    ("a_commit_behind_a_head_that_decayed", "0x5 written 35"),
    ("the_original_of_a_suspect_copy_is_read", "0 0x1 0x8 0x8 0x1"),
    ("a_commit_that_fades_while_its_block_is_looked_at", "0x4 0x0122100"),
    ("a_third_block_beside_a_commit_that_fades", "written 0x8 spoilt 0x7221"),
    (
        "marks_save_segments_where_mounts_are_cut",
        "blank spoilt unwritten written spoilt gone 0x21210 0x21112 0x22212 written gone gone gone 0x4 spoilt
         unwritten",
    ),
    ("a_page_in_an_erased_segment_without_another_copy", "7 0x2 0x221221072 8"),
    ("an_original_beside_a_copy_whose_mark_decayed", "0x1 0x1222221b0 0 10"),
    (
        "a_read_only_device_reads_what_an_erase_has_left",
        "36 gone gone 44 76 gone written 0 0x1 gone whole gone 0x0 spoilt gone 0x0 written 73 0x0 0xf written 105
         gone 0x2 unwritten unwritten weak 0x0 0xe 0x4 blank 0xd spoilt spoilt unwritten 80 0x2 weak weak 82 36
         gone 0x4 0x7 53 0x0 0x0 unwritten 25 40 42 0x0 marked 85 spoilt whole 20 spoilt spoilt unwritten spoilt
         0x1 written 0x2 0x2 gone 0x0 0x4 spoilt kept 0xf 0x0 0x9",
    ),
    ("a_page_alone_in_a_segment_in_erasure_at_once", "0xbb22401 39"),
    ("a_summary_behind_erased_slots_shows_an_erase", "0x022410 72"),
    (
        "copies_are_kept_where_failures_have_taken_the_room",
        "0x0 0x1 0x0 marked 0x0 0x2 0x1 0x1 0x4 0x1 kept 0x1 0x2 spoilt 0x1 0x006b8 0x3",
    ),
    ("entries_of_two_mounts", "0x0 0x1 0xb 0x0 0x4 0x0 0x0 0x0 0x2 0x0 blank 0x0 seed:1"),
    ("an_undone_merge_that_cannot_be_erased", "0x18 0x0"),
    ("a_block_found_open_is_the_only_room", "0x0 seed:1 seed:1 seed:1"),
    ("what_comes_back_behind_the_last_look_is_moved", "124 940 538 532 995 69 153 84"),
    ("padding_that_decayed_shows_no_erase", "gone 1 0x04 1 blank 1 gone 2 217 0x1 marked 0x1 marked 0x2 0xc 0x12 0x2"),
    ("two_copies_in_erasure_are_both_uncertain", "9 0x22141 7 14 seed:1 seed:1"),
    ("an_original_beside_a_rescue_whose_header_decayed", "0 0 8 0x221b0"),
    ("an_erase_fails_where_no_segment_is_empty", "0x1 0x1 0x2 0x011911"),
    ("a_segment_in_erasure_is_not_needed_for_a_lone_page", "0x0102a7200 16"),
    ("a_copy_whose_mark_an_erase_has_taken", "0x5 unwritten 0x21519"),
    ("the_newest_copy_fades_between_two_looks", "whole 0x5 0x1222010"),
    ("a_page_that_a_cut_erase_has_left_is_in_use", "0 0xe 12 8 4 4 17 0 2 spoilt 12 0 0x020000020 1 unwritten"),
    ("a_failed_page_that_ends_its_group", "0x5 unmarked"),
    ("a_page_in_a_half_erased_merge_fades", "0x0005 0x01 0x1022a111001002451210311611126a72"),
    ("a_headless_block_stays_until_its_copy_lasts", "0xb 1 7 13 0x9 gone gone"),
    ("a_read_only_device_reads_what_seems_erased_in_part", "0x2 0x1 0x2 0xa 115"),
    ("a_suspect_copy_beside_a_victim_that_seems_needed", "0x2 0x1 0x5 0x032076 1"),
    (
        "the_translation_page_before_the_suspect_looks_like_one",
        "0x4 unwritten 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0",
    ),
    ("three_pages_that_decay_and_two_cut_writes", "7 7 7 gone 0x4 11"),
    ("two_copies_in_erasure_without_a_free_segment", "0x2 0x1 0x5 0x063022 25"),
    ("a_page_that_a_mount_has_read_fades_before_it_is_moved", "0x2 0x1 0x5 0x010b10 12 0x0"),
    ("a_tag_page_that_decays_stays_until_the_rescue_is_over", "0x826420120 7 0x0"),
    ("an_older_version_in_a_victim_with_its_summary", "0x0 0x1 0x1 0x0 0x021332 7"),
    ("a_rescue_without_its_header_and_padding", "0xd 1 weak 4 spoilt 11"),
    ("a_rescue_that_an_erase_seems_to_have_ended", "0x7 unwritten 0xd kept 0x10220014b9"),
    ("a_cut_write_and_one_decay", "0x420022821 6"),
    ("a_page_fades_in_a_victim_before_it_is_copied", "0x0 0x1 0x0 0x0 0x016211 8 0x0"),
    ("an_erase_makes_a_decayed_page_count", "0x1 0x1 0x1 0x0 0 spoilt 6 0x120800 0x0"),
    ("an_erase_makes_a_decayed_page_count_on_larger_blocks", "0x2 0x3 0x1 0x0 0x20020775 1 0x00211000 0x0 0x0"),
    ("a_decayed_page_beside_others_that_count", "26 0x021001000100"),
    ("a_victim_whose_header_decayed_is_no_room", "0x1 0x2 0x0 0xa 12"),
    ("a_loss_is_on_record_before_a_rescue_erases_what_shows_it", "23 0x0 0x2 0x2 0x2 19 whole"),
    ("a_whole_victim_beside_a_decayed_copy", "0x1 0x1 0x5 0x00600a 1"),
    ("many_pages_decay_between_cut_writes", "0x1 22 weak 4 0 0 49 kept 49 5 0x0 weak 0 3 45 0x1 3 0x1621 1 1 31"),
    (
        "a_read_only_device_serves_what_a_cut_erase_has_left",
        "0x1 0x1 unwritten 0x0 0x3 0x0 0x0 0x0 unwritten 0x02101013 unwritten 0x4 unwritten 0x0 spoilt 63 0x7
         0x2 0x1 0x1 0x0 0x0 0x1 unwritten kept 0x2 0x0 0x03011210",
    ),
    (
        "pages_taken_from_a_block_that_keeps_its_commit",
        "0xe 0x1 0x0010 unwritten 0x1 0x0 spoilt 0x2 unwritten 0x3 0x0014 0x1 0x1 kept spoilt kept weak
         unwritten 0x0022",
    ),
    ("a_page_decays_beside_a_cut_merge", "0x115 0x11e 11 0x0"),
    ("a_block_with_gaps_is_none_of_four", "0x50 0xb 0x89 kept 0xc"),
    ("a_page_decays_and_mounts_are_cut", "15 0x1b 0x112020230"),
    ("a_whole_group_beside_a_commit_that_has_faded", "0x012202210 2"),
    ("a_merge_whose_first_page_decays", "0x0a10a 5"),
    ("a_page_that_is_gone_beside_a_merge_without_a_commit", "0x041101 32"),
    ("a_page_that_is_gone_from_a_data_block_with_gaps", "0 1 1 0x8210 0"),
    ("a_page_that_is_gone_from_a_primary_block", "2 0x002110 0"),
    ("a_half_erased_data_block_beside_a_merge_without_a_commit", "0x041101 32 whole"),
    ("a_half_erased_data_block_with_gaps", "0xa1003 1"),
    ("one_of_two_copies_is_in_a_segment_in_erasure", "0x1 0x0 0x5 0x010b10 0x1 0x4"),
    ("an_open_segment_has_the_copy_that_lasts", "0x1 0x0 0x5 0x010b10 0x2 0x1 0x0"),
    ("a_summary_fades_behind_an_erase", "0x1 0x1 0x2 0x0 0x2 0x322011 8"),
    ("the_last_that_tells_of_a_page_fades_in_a_mount", "0x62122102 17"),
    ("a_rescue_that_an_erase_has_left_seems_incomplete", "0x7 unwritten 0xd kept 0x10220014b9"),
    ("a_rescue_that_an_erase_has_left_seems_incomplete", "0x7 unwritten 0xd kept 0x02ac110e68"),
    ("a_rescue_that_failed_where_the_original_was", "0x5 0x0 0x1 0x1 0x6 whole 0x1"),
    ("ones_of_a_half_erased_block_are_no_data", "0x0 0x02011120 4 4 4 4"),
    ("a_merge_without_its_commit_is_newer_by_its_head", "0x00210021 2 2"),
    ("a_merge_is_no_spare_if_an_erase_has_begun_in_what_it_read", "0x041101 32 0x1 0x0"),
    ("what_has_superseded_a_half_erased_block_waits_for_its_merge", "0x0 0x02011120 4 4 4 8 4 whole"),
    ("an_original_beside_a_copy_whose_header_decayed", "4 0x0020239a0 30 whole"),
    ("a_summary_fades_behind_an_erase", "0x1 0x1 0x2 0x0 0x2 0x622011 8"),
    ("a_rescue_that_an_erase_seems_to_have_ended", "0x7 unwritten 0xd kept 0x32110030b6"),
    ("a_page_that_a_mount_has_read_fades_before_it_is_moved", "0x0 0x2 0x5 0x010b50 13 0x0"),
    ("copies_of_a_rescue_that_was_given_up", "0x0 0x1 0x2 0x120a0a 0x1 0x0"),
    ("a_copy_of_a_rescue_that_never_ended_fades", "0x7 unwritten 0xd kept 0x12124a0f01"),
    ("what_is_copied_leaves_no_segment_empty", "written 19"),
    ("a_rescue_takes_what_shows_a_decay", "0x1 0x1 0x1 0x1 kept 6 0x500022 6 5 6"),
    ("programs_fail_in_a_shutdown", "0x0 0x1 0x0 0x1 0x1 0x6 0x2"),
    ("the_mark_of_a_rescue_tells_of_a_tag_page", "0x800121001 6"),
    ("two_failures_leave_the_last_other_copies", "0x10000900 0x2 0x1"),
    ("one_of_two_copies_is_in_a_cut_erase", "45 0x1 0x60f021 55 0x101222 12 0x1 0x5"),
    ("both_copies_are_in_cut_erases", "0x2 0x1 0x1 0x0b3002 25 kept"),
    ("a_merge_with_nothing_newer_than_what_it_read", "0x0021002f 2 2"),
    ("a_log_block_that_a_merge_had_begun_to_complete", "gone 0x0 spoilt"),
    ("a_page_that_came_back_fades_behind_a_cut_erase", "0x00011041 8"),
    ("pages_that_came_back_lie_behind_erased_slots", "0x0000 2 11"),
];

pub(super) fn say(history: &History, words: &str) {
    history.tell_with(iter::once((Draws::said(words), format!("with {words}"))));
}

/// A history that the torture keeps for each of several pages, with the one whose decay shows the missing rule (`cargo
/// xtask canaries map-void`).
#[test]
fn a_mount_erases_what_is_left_of_a_rescue() {
    let setup = Words(
        "exact nand page-bytes=512 spare-bytes=32 pages-per-block=8 blocks=24 dies=1 paired-pages=1
         paged blocks-per-segment=1 cache-entries=2
         logical-pages=14 endurance=100000 seed=1",
    );
    let steps = "write 0, flush, cut 0, write 0, cut 3, mount, mount, decay 0, mount";
    say(&History { name: "a_mount_erases_what_is_left_of_a_rescue", setup, steps }, "0x8 written 3");
}

/// A loss is recorded only before its evidence is erased (`cargo xtask canaries late-record`). The torture has armed
/// several cuts at once there, and here each is armed where it strikes.
#[test]
fn a_loss_is_recorded_before_its_evidence_is_copied() {
    let setup = Words(
        "exact nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=18 dies=1 paired-pages=1
         page blocks-per-segment=1 policies=watermark:1:1/greedy/single/none/at-once
         logical-pages=10 endurance=100000 seed=6484830147238403645",
    );
    let steps = "write 0+3, flush, write 2 7+2 1 0, cut 0, write 5+2 4+2, flush, decay 0, cut 0, mount, decay 0, cut 2,
                 mount, mount, mount";
    say(&History { name: "a_loss_is_recorded_before_its_evidence_is_copied", setup, steps }, "weak 17 whole 6 weak");
}

/// An erase fails, and so does the mark of its block, and both do again. What a merge was made of fades there, if it is
/// served when the commit has decayed (`cargo xtask canaries decayed-commit`). The torture lets the next mark fail, and
/// here the operations are counted.
#[test]
fn a_page_in_a_failed_block_whose_merge_has_decayed() {
    let setup = Words(
        "exact nand page-bytes=512 spare-bytes=16 pages-per-block=4 blocks=56 dies=1 paired-pages=1
         block blocks-per-segment=1 scheme=log-block recycle=merge-only log-blocks=15 wear=none reclaim=at-once
         logical-pages=60 endurance=100000 seed=1",
    );
    let steps = "write 8 12 16 20 24 28 32 36 48 52 3, cut 0, write 3, fail 3 5, fail-mark 4 6, mount, write 4, decay
                 12, mount, mount";
    say(&History { name: "a_page_in_a_failed_block_whose_merge_has_decayed", setup, steps }, "0x7 0x0 0x0 13");
}

/// What mounts that were cut have copied takes the room of the next one, if incomplete rescues count (`cargo xtask
/// canaries incomplete-rescue`). It is what is left of seed 18 of mode `mixed`, on which the torture found that engine
/// broken. With fewer mounts a page fades after as many reads as can be named.
#[test]
fn incomplete_rescues_take_no_room() {
    let setup = Words(
        "exact nand page-bytes=512 spare-bytes=64 pages-per-block=32 blocks=10 dies=1 paired-pages=2 mixed-erases page
         blocks-per-segment=1 policies=falling:5:0.5/fifo/by-stream/dynamic/proactive aware logical-pages=82
         endurance=100 seed=458980605701318401",
    );
    let steps =
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81
         30@2 32@1 5 2 59@1, cut 5, mount, mount, write 25@1, discard 24+6, write 2@2 46 30 37@1 20@2, discard 14+6,
         write 26@1 54 22@2, flush, write 15@1 10@39, discard 59+2, write 0@35 65@1 44@1 0 22 76 20@27 67 74@2 7@1!
         21@11 42 14@1 34@1, discard 10+6, write 6@2 23+4@4 52@2 4+2 26+4 33@1 68 19@1 64@30 1@32 52@1 6@2 25+2@4 43@1
         1, discard 6+3, write 50 29@2 53 60@2 29@2 51@1 70@1 27 3 61+4@4, discard 40+6, write 20@2 2@1 24+5 80 6@2
         56+8@1! 35 22+7 13 42@2! 12@2 16 25@1 36@2 79@2 3 24+8@3 73 23@29 29@2 46, clean 9, write 17 50@1 57@1 51@22
         65@1 26+5@2 41@1 71+7 4@1 57@2 5@1 79@2 73 32+5@3 8, cut 4, mount, mount, mount, write 37+3, cut 21, mount,
         mount, cut 1, write 40+3, mount, mount, cut 3, write 50+5, cut 2, mount, cut 5, mount, mount, mount, mount,
         cut 0, write 38, mount, mount, write 50, cut 0, mount, cut 3, mount, cut 7, mount, cut 3, mount, cut 6, mount";
    let words =
        "unwritten 0x10 0xd 0xb 0x03 0x09 gone 0x22212122222212221212222222212210 kept written 0x9 written unwritten";
    say(&History { name: "incomplete_rescues_take_no_room", setup, steps }, words);
}

/// Seven mounts are cut in their rescues, so that only segments of these are empty, and the erase of the first is cut.
/// What it has left fades, if it is believed although its copies take no room in the cache (`cargo xtask canaries
/// map-known-entries`). It is what is left of a history of the torture whose words were drawn.
#[test]
fn what_a_rescue_has_copied_takes_no_room_in_the_cache() {
    let setup = Words(
        "exact nand page-bytes=1024 spare-bytes=8 pages-per-block=32 blocks=24 dies=1 paired-pages=1 any-order
         mixed-erases paged blocks-per-segment=1 cache-entries=2 logical-pages=261 endurance=100
         seed=16121904024731090219",
    );
    let steps =
        "write 9 10 11 14 20 27 28 29 30 31 32 33 34 45 46 47 48 49 50 51 52 53 54 55 56 59 60 61 62 63 64 65 66 71
         72 73 74 77 78 81 82 83 84 85 86 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 120 121 122
         123 124 194 195 196 197 198 199 200 201 202 203 207 208 209 212 213 214 215 216 217 218 219 220 221 222
         223 224 225 226 227 228 229 230 231 232 233 239 240 241 242 245 248 249 250 251 252 253 254 255 49@27 90
         105+3@1 49@2! 214@1 18@1 258 22@39 160@1 15@1 126@38 17@2 121@2 25@1 13 167+6@1 137@25 107 20+5@4 98@1 41
         76@1 22@2! 25 99+8@2 212 27+5@3 19@2 170 92 34@2 16@4 72@2 8@2 163 158@2 39@2 18@36 45@2, mount, write
         41@1 75@13, mount, mount, write 125+2@4! 76 20@36 11@1 44, mount, write 28@18 232@11 33@1 40 37+6@2 14@2!
         179+8@4, mount, mount, write 15+5@4 0@2 227 0+6@3 259@4 30@2 32 147@2 6@2! 56 238@1 3@1 244@39 239 31+2@2!
         171@2 18@5 26@1 2@2 156@2 21@23 42@2, cut 13, mount, cut 19, mount, cut 16, mount, cut 8, mount, cut 11,
         mount, cut 13, mount, cut 19, mount, cut 0, mount, mount";
    let words = "0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0f10";
    say(&History { name: "what_a_rescue_has_copied_takes_no_room_in_the_cache", setup, steps }, words);
}

/// A page of a merge decays, and the page in the last place fades in the half-erased data block (`cargo xtask canaries
/// loss-is-other`). The torture's history has one cut more, which hits a program, and behind that each page of the
/// logical block is uncertain here.
#[test]
fn a_page_with_a_commit_is_more_than_a_loss() {
    let setup = Words(
        "exact nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=28 dies=1 paired-pages=1 mixed-erases block
         blocks-per-segment=1 scheme=fast recycle=periodic log-blocks=5 wear=static-threshold:2 reclaim=at-once
         logical-pages=99 endurance=100000 seed=8312244389328439551",
    );
    let steps =
        "write 3 5 12 20 26 30 35 40 77 80 85 95 59 61 87 71 92 2 2 3 68 47 76 26 14 67 46 39 29 5 27 43 55 6 78 89 62
         79 22 78 95 56 34 49 11 66 85 92 43 64 85 67 59 34 8 43 2 78 47 12 83 28 12 92 52 96 71 58 55 92 79 9 76 36 65
         96 16 52 22 13 53 44 86 46 78 92 74 84 12 97 88 17 5 95 75 6 29 72 89 61 22 64 52 89 87 35 76 81 53 66 96 49
         26 72 30 3 74 59 47 66 38 82 78, flush, write 29 76+2, cut 6, mount, decay 1, mount";
    say(&History { name: "a_page_with_a_commit_is_more_than_a_loss", setup, steps }, "0x40b10 1");
}

/// A commit has faded, and a newer one of its logical block has a whole group (`cargo xtask canaries faded-older`).
/// Beside the torture's history two more pages decay, one of them before anything is written.
#[test]
fn a_whole_group_beside_a_commit_that_has_faded() {
    let setup = Words(
        "exact nand page-bytes=512 spare-bytes=16 pages-per-block=9 blocks=8 dies=1 paired-pages=1 mixed-erases
         fading-pairs block blocks-per-segment=1 scheme=primary-replacement recycle=periodic:3 log-blocks=5
         wear=dynamic reclaim=at-once logical-pages=8 endurance=100000 seed=13735154796393882729",
    );
    let steps = "decay 0, write 2, mount, cut 4, mount, decay 0, decay 2, mount";
    say(&History { name: "a_whole_group_beside_a_commit_that_has_faded", setup, steps }, "73 0x042202210 17 176");
}

#[test]
fn histories_with_a_word_for_each_fault() {
    let mut told = 0;
    for history in SOURCES.into_iter().flat_map(History::all) {
        for (_, words) in SAID.iter().filter(|(name, _)| *name == history.name) {
            let setup = format!("exact {}", history.setup.0);
            say(&History { setup: Words(&setup), ..history }, words);
            told += 1;
        }
    }
    assert_eq!(told, SAID.len(), "a history has another name now");
}
