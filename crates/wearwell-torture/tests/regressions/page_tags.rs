//! Page mapping on chips without spare bytes for tags.

use super::assert_holds;

/// The erase of a rescue that never ended was cut, and left its header, a copy and the last tag page. The slots behind
/// read as erased, and the summary's place could not be read, as if it had been begun. So the rescue seemed to have
/// ended, and to have lost a page: one that was never written was an error, by cuts alone.
#[test]
fn a_rescue_that_an_erase_has_left_seems_incomplete() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=10 blocks=13 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:2:3/fifo/by-stream/none/proactive:0.05:0.5:0.01
         logical-pages=5 endurance=100000 seed=9996946996089570618",
        "write 3, flush, write 2, cut 1:28279, write 3, cut 7:58140, mount, cut 4:13734, mount, cut 3:54690, mount, cut
         0:13420, mount, mount",
    );
}

/// Another draw of that erase. Here the rescue would seem to have ended, had it not to be known that a tag page lies
/// behind the last copy (SPEC T6).
#[test]
fn a_rescue_without_the_tag_page_of_its_last_copy() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=10 blocks=13 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:2:3/fifo/by-stream/none/proactive:0.05:0.5:0.01
         logical-pages=5 endurance=100000 seed=9996946996089570618",
        "write 3, flush, write 2, cut 1:28279, write 3, cut 7:58140, mount, cut 4:13734, mount, cut 3:54690, mount, cut
         0:686, mount, mount",
    );
}

/// A change of `a_rescue_that_an_erase_seems_to_have_ended` in what two cut mounts have left. It notices an engine to
/// which a slot that cannot be read shows the end of a rescue (SPEC P3), which that history does not any more.
#[test]
fn what_an_erase_has_left_of_two_rescues() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=10 blocks=13 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:2:3/fifo/by-stream/none/proactive:0.05:0.5:0.01
         logical-pages=4 endurance=100000 seed=9996946996089570618",
        "write 0+4 2 3, flush, write 2, cut 1:28279, write 3, cut 7:58140, mount, cut 4:60878, mount, cut 3:17323,
         mount, cut 0:13420, mount, mount, mount, mount, mount",
    );
}

/// Behind that, the erase has left more of the rescue, and a copy that it had made of a page that was never flushed. It
/// faded in the mount, and counted as lost, by cuts alone.
#[test]
fn a_copy_of_a_rescue_that_never_ended_fades() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=10 blocks=13 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:2:3/fifo/by-stream/none/proactive:0.05:0.5:0.01
         logical-pages=5 endurance=100000 seed=9996946996089570618",
        "write 3, flush, write 2, cut 1:28279, write 3, cut 7:58140, mount, cut 4:13734, mount, cut 3:54690, mount, cut
         0:58, mount, mount",
    );
}

/// A tag page had decayed, and later mounts find the pages of its segment in a rescue. That the account of the segment
/// was incomplete is only what the mark of this rescue says. Without it the page reads as zeros.
#[test]
fn the_mark_of_a_rescue_tells_of_a_tag_page() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=9 blocks=22 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=idle:3:4:5/cat/by-stream/none/at-once
         logical-pages=21 endurance=100000 seed=12824606577457135082",
        "write 0 1 2 3 4 5 16 17 15 15 2 1 4 9 2 14 16 0 15 9 19 11 16 15 13 13 19 16 13 6 14 12 13 14 5 4 11 19 8 8
         12, flush, mount, mount, cut 4:16256, write 9, decay 6, mount, mount, mount, mount, mount, mount, mount",
    );
}
