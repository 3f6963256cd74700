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

/// The same, and here the erase left a tag page with the *end* of the rescue, and the tag page of the last copy did not
/// outlast it. So the rescue had not ended (SPEC T6).
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
