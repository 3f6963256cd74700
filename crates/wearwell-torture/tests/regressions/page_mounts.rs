//! Histories of page mapping: mounts that are cut again and again.

use super::*;

/// A copy of a page came back, out of a rescue that a cut had ended, when the segment of that rescue was half-erased.
#[test]
fn rescue_in_a_half_erased_segment() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=8 blocks=132 dies=3 paired-pages=1 any-order
         page blocks-per-segment=3 policies=watermark:2:3/windowed-greedy:4/separate-cleaning/none/at-once checkpoint
         logical-pages=445 endurance=100 seed=15032841288831845364",
        "write 102 304 360+7 15, part 888, write 246, cut 0:51828, flush, mount, write 59, part 56, discard 204+4,
         flush, part 43+2, write 180 36, discard 486+8, write 30 103 272, flush, part 873, write 70, discard 28+8,
         write 22 16, flush, write 344, discard 116+6, write 176 48, flush, write 100, discard 722+6, write 320+4
         140+6 412 0, flush, write 78 225 16 109 226+4 306 155 235, part 426+2, write 94 187 213, discard 602+8,
         flush, discard 56+8, write 352 316 106 70 15 145, part 818, write 226, part 615, flush, cut 6:10996, write
         281+4, mount, cut 4:54702, write 390, cut 0:42564, mount, cut 0:64933, mount, cut 2:21946, mount, cut
         5:23252, mount, cut 5:51829, mount, cut 1:39772, mount, cut 4:57379, mount, cut 0:10077, mount, mount, cut
         3:43010, part 610+2@1, mount, cut 4:15428, write 39, mount",
    );
}

/// A rescue had copied pages of a segment, and named it with its erase count. The erase of the segment was cut, and it
/// was believed before the rescue, since the count was lost with its header.
#[test]
fn a_rescue_names_a_segment_that_lost_its_count() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=12 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:2:3/greedy/single/none/at-once
         logical-pages=40 endurance=100000 seed=1",
        "write 0+40 27 11 26, discard 37, write 9, flush, mount, write 30 2 2 16, mount, mount, cut 1:65454, write 10,
         mount, cut 3:59592, write 33, mount, mount, mount",
    );
}

/// Of two copies of a part of the discard map one lay in a block whose erase was cut, and faded between two reads of
/// one mount. Its discards were forgotten.
#[test]
fn a_part_of_the_discard_map_has_a_second_copy() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=16 pages-per-block=5 blocks=25 dies=1 paired-pages=1 any-order mixed-erases
         page blocks-per-segment=1 policies=falling:5:0.5/cost-benefit/by-stream/dynamic/at-once
         logical-pages=7 endurance=100000 seed=7258402749950725103",
        "write 3 5 6 0 0@8!, mount, discard 0+18, cut 3:826, clean 3, mount, write 0, cut 1:1500, write 0, mount, cut
         0:8321, write 0, mount",
    );
}

/// With tag pages, an open segment whose data fades became the victim before its last pages had a tag page.
#[test]
fn refresh_424296() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=32 blocks=21 dies=1 paired-pages=1
         page blocks-per-segment=1 policies=watermark:3:4/lfs/single/swap:1/at-once
         logical-pages=11 endurance=100 seed=15397227348432878707",
        "write 5+6 1, refresh 0, read 1, write 1, flush",
    );
}

/// A slot decayed, so that its segment looked as if it was being erased. The rescue of a page that a cut had hit erased
/// the original there, and the copy faded.
#[test]
fn an_original_beside_a_decayed_page_stays() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=8 blocks=63 dies=3 paired-pages=1 any-order
         page blocks-per-segment=3 policies=watermark:3:4/lfs/single/dynamic/proactive checkpoint
         logical-pages=329 endurance=100 seed=1288689680631903956",
        "write 55 44 17 25 18 29 11 9 23 59 208+3 63 21 61 51 35 43 62 47 45 21 59 37 51+5, decay 4, mount, write 48 9
         2, mount, write 24 18 56 44 46 210 8, fail 0:17197, write 25 43, mount, write 12, decay 8, cut 7:52235,
         mount, cut 18:3722, mount, mount, write 41 210 44 56 66 55 44 53 99+2 8 49 61, mount, write 38 49 25 60 23+7
         46 43 116 43 37+6 35, decay 20833, write 47 57 58+6, cut 0:3796, write 17, decay 4, mount, write 49 147 14,
         fail 0:56722, write 30 7 26 12 36, cut 2:45780, mount, mount, write 7 6 7 1 32 46 27, cut 0:14941, write 22,
         cut 4:61358, mount, decay 62339, mount, write 33+5, fail 0:22522, write 38 13 61 18 31 11, mount, write 33 38
         4 31 297 1 23 46 8 1 24 3 5 40 38 27 23 46 51 43, decay 5, write 37 8 51, mount, decay 12088, mount, write 1
         90 5, mount, write 54+3 12 10 38 52, mount, write 58 0 11 20 32, mount, write 22 29 22 44 45 58 46 8 42 29 19
         58 48 42 57 33 2 60 3 198 35, decay 5 41671, cut 0:15513, mount, decay 5 39131, cut 1:7697, mount, cut
         4:23090, mount, fail 0:56732 4:45506, cut 5:43550, mount, cut 17:3906, mount, mount, cut 11:49548, write
         326+3, cut 22:10667, mount, cut 0:30135, mount, cut 3:693, mount, cut 0:19797, mount, fail 0:45568, cut
         2:25206, mount, fail 0:42341, cut 1:45345, mount, cut 4:15074, mount, fail 1:30727, mount",
    );
}

/// The same, and the map took the suspect copy although the original could be read, on a chip without room for a
/// rescue.
#[test]
fn an_original_beside_a_decayed_page_counts() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=16 blocks=58 dies=2 paired-pages=1
         page blocks-per-segment=2 policies=watermark:3:4/lfs/by-stream/none/proactive
         logical-pages=131 endurance=100 seed=7457137192591830809",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73
         74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107
         108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 44 108 52@2, cut
         0:208, write 1@34, mount, cut 5:51518, write 99+8@4, decay 29205, mount, cut 3:47895, write 93@2, mount,
         mount, write 15@1 44+4@3! 70@1 44@2, discard 93+4, write 102@2, cut 1:61578, mount, decay 43350, cut
         12:38475, mount, fail 14:65053, mount, write 83 50@2 57@2 84 1@15 93@15, read 95, write 37@1 103@2 79@1 2@1
         85@18 84@34, flush, write 19@1 97 38@2 127@1 30@1 61@2! 52@18 41, cut 1:49380, write 124@35, cut 4:31680,
         mount, cut 0:15937, mount, decay 36381, cut 5:38976, mount, decay 281, cut 1:6261, mount, decay 47481, cut
         0:22950, mount, decay 47475, cut 3:42484, mount, cut 2:38682, mount, decay 5382, cut 0:60640, mount, cut
         3:39558, mount, decay 56994, cut 3:36407, mount, cut 4:32589, mount, fail 7:45857, mount, cut 1:29130, write
         19+2@4, decay 3995, mount, flush, write 35@2, discard 70+4, write 49 38@19 107+4@3 119@2 68+5@1, discard 100,
         write 21+7@1 116+7@3 84@1 22@1 22 2 67@30 114, discard 85+4, write 130 64@1 50@22 73@1 68@26 81@1, discard
         63+5, write 45@2, read 25, write 6@1 72@1 61 106 42@2 14@2, flush, write 34+7@4 61@2 115@1! 58, decay 60836,
         write 4@2, flush, write 127@1 97+4@4 66, discard 129+2, flush, write 114@1 18@1 78@31 13@2 100@2 10@1 105@1,
         read 34, write 72@9 103, clean 5, write 68@39, decay 39028, write 64@5, discard 17+2, write 52@2 109@2 17@2
         69 96@2 119@14 20@2 91, decay 4028, write 74@38, read 99, write 42@2 39@1 109@1 67 114+2@4 12@1 121@1 69@4!
         43 102@1, discard 7+6, write 65@38 94@1, discard 30+4, write 48@34 33, read 106, write 112@33 6 66 71 43@1
         13@30 33@2 75 51@2 9@2 78, flush, flush, write 92@2, fail 0:12136, write 107@2, discard 98+5, fail 2:19356,
         write 81@1, flush, write 104@22 94+3 38@2 109 6@21 44@2 25, read 100, write 117 11@7 45@25 32@19, flush,
         write 42@1 33 42@1 31@2 102+5@4, read 21, write 98@2 41@1 14@2 101@1 114@36 97@1 125@15 75 39@36 76@1 72@2,
         flush, write 93@1 59@1 116, flush, write 71@2 7@26, discard 118+2, write 103@2 21 94@2, read 20, discard
         59+6, write 43@1 8, discard 45+2, write 77@1, flush, write 93@2 79@1 25@1 121 127@1 104 60@1, discard 85+5,
         write 91 24@1 38 4@1, flush, write 25 51@2, policies watermark:1:1/d-choices:3/by-stream/none/proactive, fail
         0:52495, write 12 105@38 96@11 59 97@7 24, flush, write 130@2, fail 3:47127, write 63! 72@2 24, read 3, write
         111@1, verify, cut 10:20640, shutdown, decay 16917, cut 5:63765, mount, fail 32:53512 39:11297, mount, write
         16@2 105@23 108+5@4 16@2, flush, write 39 80@19, discard 110+3, write 122 55@19 69 11@2 78@2, decay 30242,
         write 99@7 46 15@35 84 50 52@29, flush, discard 7+3, write 80@2, read 85, fail 1:5598, write 125@1 14@4 120,
         flush, write 86 68@2 121@2 6 118@1, read 77, write 19@1, clean 6, write 118+3@4 99+5@1, read 64, write 12
         23+3@4 7@21 48 13@1 107@1 24, read 30, write 20@15! 5@2 56@2, flush, write 60@2 20@2! 58@18 20@2 30@17 82@1,
         decay 14392, flush, write 45@27, decay 40336, write 79@1 124@1 105@1 78, discard 49+4, flush, write 90@9
         39@1, discard 116+6, write 29@2 103@30 71 70 5@2 102@2 130@2 35@1 38 42 90 14@2 84, discard 111+4 44, write
         87@1 55@10 66@2 88! 68, discard 47+4, write 89+8@4! 59@26 79@1 79@2 86 100 107@1, read 128, write 108 29@1
         88@2 54@31 7@31, discard 54+3, write 10@2 97+4@2, verify, cut 0:53267, mount, decay 2298, cut 0:25166, mount,
         mount, write 70@4 60@2 79@1 68 114 7@1 10, flush, decay 56880, write 104@9, decay 1862 8148, write 77@2 95 64
         31+2 98, policies watermark:2:3/random/by-stream/none/proactive:0.05:0.5:0.01, write 44@24 101 12@1 44@2
         128@2 106 56@1, cut 2:46673, write 74+8@2, cut 41:8728, mount, mount, write 116@1, cut 5:20907, discard 73+2,
         decay 3389, cut 10:17770, mount, mount, write 44 130@1, flush, write 22@1, decay 46239, mount, write 11 60,
         read 1, write 19@2 92@27 29@2, decay 49930, write 61@9 48@2 29@23 103@2, mount, write 51@1 1 78, discard
         89+3, write 128 116@1 104@1 116@3 49@2 30@1 74@1 45@2 11@1 79@2 16@2, decay 35334, mount, write 0@2 0@26 53,
         flush, write 32, cut 3:3892, write 99, fail 42:7672, mount, write 88@2 1 47, read 122, cut 0:10398, write
         87@2, mount, write 41@7 75@1 95@1 129@17 99@34 1@2, cut 10:25438, clean 12, fail 13:45139, mount, write 77@1,
         read 97, write 57@1, cut 0:24105, write 126, mount, write 40@1, mount, write 99@1 23@2 107@7 6@1 87@5, cut
         8:6473, write 19+8@4!, cut 1:60637, mount, cut 1:30637, mount, cut 1:17118, mount, decay 24451, cut 1:53293,
         mount, decay 9371, cut 1:32372, mount, decay 37747, fail 18:45056, mount, write 21@2, discard 65+2, write
         91@26!, cut 1:34914, write 99, cut 1:9367, mount, fail 0:21113, cut 1:50265, mount, cut 0:18226, mount, decay
         44689, cut 1:15299, mount, decay 48100 38069, cut 0:29190, mount, cut 1:61701, mount, cut 1:34617, mount, cut
         0:6182, mount, decay 30683 53240, fail 0:12726, cut 1:2540, mount, fail 0:56322, cut 1:30407, mount, fail
         0:64890, cut 1:530, mount, decay 41517, cut 0:8598, mount, decay 11818, fail 6:57961, mount, fail 18:59413,
         cut 25:20451, write 97+8@2!, mount, cut 6:51490, write 99@18, decay 23298, fail 0:55769, mount, write 58@13
         84, cut 6:49134, write 118+2, mount, mount, write 52+2@3!, mount, cut 1:271, write 67@1, mount, fail 0:61310,
         write 55, cut 3:5696, write 76@39, mount, cut 10:27693, write 96, cut 4:28057, mount, decay 5100, mount,
         write 63 125@2 16@2 59@1, cut 3:19096, discard 5+3, mount, decay 2916, write 56@2, cut 1:1879, write 119@2,
         mount, cut 7:58486, write 127@12, mount, mount, fail 11:22525, cut 23:58507, discard 29+2, cut 19:44836,
         mount, cut 14:57381, mount, cut 4:12060, mount, decay 63995, cut 14:16522, mount, fail 0:45369, mount",
    );
}

/// The table of promises: a part of the discard map lay in a segment without a summary, whose header and first slot
/// decayed one after the other.
#[test]
fn discards_in_a_segment_that_lost_its_header() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=32 pages-per-block=7 blocks=39 dies=3 paired-pages=1
         page blocks-per-segment=1 policies=idle:3:4:5/greedy/single/none/at-once checkpoint
         logical-pages=121 endurance=100000 seed=10795117608275975510",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73
         74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107
         108 109 110 111 112 113 114 115 116 117 118 119 120 47 82+8, discard 396+13, write 113 12 34 0 13 23, part
         466, write 37 4 99+2 14+6, discard 282+23, write 53, cut 0:49009, flush, mount, decay 0, write 2 20 29 11,
         discard 72+5, write 21, cut 1:37559, flush, decay 40115, mount, write 10+4 112 81 96 75 14, cut 1:63298,
         write 7, decay 0, mount, write 2, part 76+9@2, flush, part 48+4@1, write 6 58 22 21 5, decay 38445, mount",
    );
}

/// The table of promises: a summary of two pages was cut behind the first, so the segment is one without a summary.
#[test]
fn half_a_summary_is_none() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=12 blocks=72 dies=4 paired-pages=1
         page blocks-per-segment=4
         policies=watermark:2:3/greedy-first/separate-cleaning/static-threshold:5/proactive:0.05:0.5:0.01 checkpoint
         logical-pages=466 endurance=100000 seed=2808579114307804154",
        "write 80 82@1 67@1 8@1 32@2 60@2 57@1 44 14@7 12 12 39 9@2 260@1 303@1 367@32 65@1 41 30@1 90@1! 80@2 3@2,
         discard 13+3, write 0+4@4 354 61 62 77@1 43@12 53@2 63@2 72@2 26@23 66@11 48@1 9@1 48@6 52 52@1 79 127@10
         4@33, flush, discard 5+6, write 71+5@3 73@27! 22@2 60@2 51@18 42@1 66@1 21@10 28@28 41@2 367 86 21@17 11@2 18
         82@2 31@1 58@1 67 33@36, decay 15189, write 73+4! 50@8 56 1@17 86 40 86@2 46@2 9@2 85@1 53@2 39@2 80@1 43@2
         54@1, flush, write 34@1 57, discard 42, write 30@1 26@39 144 55+7@3 30@1 33 21@2 16@2 75@1 16@32 0 80@27 83
         11@1 79@2 43@36 4, decay 60798, write 5@2 47@1 38 50@11 3 14@1 56@2 51@26 56 40+4@4 44+6@4 433@2 43 260,
         flush, decay 31763, write 7@3 72@18 13 31 64@1 77 54@2 67 60@2 58@2 88 9@1 15 9@1 382@12! 8+7@4 80@1 63@1 63
         46@1 50@2 37@2 3@1 14@3! 28@2 79@2 80@2 36! 32+2@1 5 68+6@2 38 2@25, policies
         falling:4:2:3/greedy/separate-cleaning/static-threshold:5/proactive, write 12@1 80+6@3 423@32 59! 82@2 85 31
         9@2 44@2 73@27 2+5@3 42+7@2 14, decay 58884, write 13 17@1 10@2 74@1 85 1@13 74@36 5+6, discard 353+6, write
         18@2 37@1 22@1 91@2 91@1, flush, write 33@19! 33@2, discard 60, flush, write 71@1 48@2 82 24@1 7@34 24 77 65!
         65@1 37@1, discard 62+4, write 60+5@4 152@2 85@1 19@1 61+6@3 0@2, flush, write 57 71@29 71@2 27@1 89@1 65@2
         78 56@2! 360@2 40@2, decay 51166, write 39 25@26 31@13 365+5@2! 75 15@1, discard 50, write 23, flush, discard
         301+5, write 19@2 153 51 260+3@2 84@2, flush, write 2@3 62+4@4 12@1 36@1 92@17 5+3@1 76@24, discard 88+2,
         write 61@2 28@4 14@2 32@1 64@2 35@1 79@7 61@2 20 39@20 79@7! 81@1 86 72@2! 6 69@22 61@1 35@3 74@2 39+3 88@1
         61@32 50@1 81+2 58@2 72@7 81+4@2 45, flush, write 22 17@1 6+4@3 90+6@2, discard 0, write 79@1 18@1 35@1! 70@1
         90@1! 63@2 90 19@2 20@29 80@19 44@13 78+5@3 16@1 21@1 78 17@2 21@2 11@2 6@3 57 43@1 35@1 54@2 23@2 2@9 79@20
         65@1 62 59 0+4 37@2 52 33@1 245@1 32@1 49@2 87@21 67@1! 67@2 20@1, flush, write 31@2 90@1 3 43+5 60 14@1 38@2
         44@1! 60+6@2 83@2!, decay 43200, write 3 46 28@1 92@1! 91 42@26 35+2@3! 43@27 2 371 61@13 79@7 28 67@25 60@1
         68@2, policies watermark:4:5/lfs/separate-cleaning/static-threshold:1/proactive:0.05:0.5:0.01, write 12@37
         413@2 86@2 65@1 3+8@1 25 55+8@1, decay 10449, write 172@2 21 8@26 43@30 258@1 79@1 85@1 44@32 76@7 57 13 34@1
         69@13 38 21@2 15 25+3@3 18@2 29@19 78@2 21! 80@2 80 37@7 9@1 21@2 75@2 41@2! 78@1 38@1 15@2 34@1 87@2 14@1 15
         56@17 194@1 31@12 318+3@1 87 240 58+5 81@20 86+4 82@2! 74 24@1 74 52@1 14@39 58@34 63@3 75 92@1 42 90, cut
         0:29605, write 92, cut 1:10737, mount, decay 52021 15908, cut 0:12800, mount, cut 1:23332, mount, cut
         1:36990, mount, decay 14631, cut 1:62387, mount, cut 1:45384, mount, decay 5630, cut 1:55530, mount, cut
         1:39878, mount, decay 28656, cut 1:53474, mount, mount, write 51@1 52 0@2 26@7 57@21 58@7 25 28 63+7@3 25@2
         49@1 392@2 84@2 71@1 14@2 69@2 2 80@1 83!, discard 4+6, write 80 43+5 86@3 86@2, decay 11011, write 0@2 38@2
         71 89 82 28 63@2 72@1 15@2 45@2 77 34 26@2 27@1! 18@2! 72@2 421@2 75 88@1 54@31! 91@19 48@1 60 17@2 86 19@1
         63, discard 51+4, write 39 464@2, decay 17310, write 16@19 166@2 67+5@2 48 7 37 5@1 10@1 47 19 92@2 78+5@4
         71@1, discard 47+3, write 23@5, discard 42+5, write 63 86@1 13 32@1, clean 10, write 163 17, discard 40+2,
         write 76@1! 87@1 81@1 48@1 91 15@2 433@2 61@1 233@2 21@2 135@36! 75@30 72 230@2 11@35, flush, read 90, write
         37@4 17+8 70 84 62 30@2 41@1, discard 6+6, write 5+5, flush, cut 1:39281, write 49@2, mount, decay 27872,
         mount",
    );
}

/// NOR: each mount continued the block in which programs fail, and opened a free one behind it.
#[test]
fn a_failing_block_is_continued_last() {
    assert_holds(
        "nor block-bytes=16384 blocks=12 banks=2
         nor-page slots=21 page-bytes=512 policies=watermark:3:4/fifo/single/none/proactive:0.05:0.5:0.01
         logical-pages=168 endurance=100 seed=7732088541476368980",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73
         74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107
         108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 131 132 133 134
         135 136 137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 156 157 158 159 160 161
         162 163 164 165 166 167 26, fail 0:60329, cut 19:19898, write 28, mount, write 8, mount, cut 15:15272, write
         14, cut 8:56161, mount, mount, write 11",
    );
}

/// The torture's model: parts of a page that a mount had found lost were given up once more.
#[test]
fn parts_of_a_page_that_is_lost_are_given_up_once() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=0 pages-per-block=7 blocks=38 dies=1 paired-pages=1
         page blocks-per-segment=1 policies=falling:4:2:3/windowed-greedy:4/by-stream-shared/none/at-once checkpoint
         logical-pages=16 endurance=100000 seed=1329676767467492380",
        "write 11, part 30+10@2, flush, cut 5:5799, mount, mount, write 2, cut 8:19726, write 0+6@3, decay 63521,
         mount, part 4, mount, part 7, flush",
    );
}

/// NOR: cuts and a failing block had left several blocks that could be continued. The mount continued one of them, and
/// when no block was free nothing could be written, though the others had room.
#[test]
fn every_block_that_can_be_continued_has_room() {
    assert_holds(
        "nor block-bytes=8192 blocks=28 banks=2
         nor-page slots=6 page-bytes=512
         policies=watermark:1:1/greedy-first/single/static-threshold:1/proactive:0.05:0.5:0.01
         logical-pages=144 endurance=100000 seed=1320384941635911653",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73
         74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107
         108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 131 132 133 134
         135 136 137 138 139 140 141 142 25 11 18 21 1 4 15+2, cut 2:6074, write 16, mount, cut 1:23088, write 117,
         mount, cut 3:11270, write 0, mount, cut 3:33368, write 3, mount, fail 7:2994, cut 16:57194, write 22, mount,
         write 59",
    );
}

/// The erase of a stripe was cut, and the copy of a page for which it had begun decayed, in a segment with its summary.
/// The rescue copied what the erase had left of the page: ones, behind which the next mount looked at nothing.
#[test]
fn ones_are_not_rescued() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=32 pages-per-block=4 blocks=100 dies=4 paired-pages=1
         page blocks-per-segment=2 policies=watermark:3:4/fifo/by-stream-shared/swap:1/proactive:0.05:0.5:0.01
         logical-pages=141 endurance=100 seed=5728557645928474397",
        "write 9@2! 131 28@5, cut 0:12197, write 41@1, mount, write 29, cut 1:52484, write 8@2, mount, write 118 2+3@2
         24@1, decay 31849, mount, cut 2:38312, write 4, mount, part 9+4, flush, write 45@1, part 163+3@2, write 135@2
         84@2 5 27@2, part 94+7 259+3, write 37, part 72 37+6, write 132@1 94@30, flush, write 102@3 21 23@2 120@18
         18@1, discard 104+10, write 80@25 11, clean 1, write 13@2, part 443+2@2, decay 3248, write 23 66, part 97@2,
         decay 78, write 115, decay 5, write 11@1 29@2, fail 5:15623, write 72 18, part 475+3@2, flush, write 27,
         decay 62279, cut 6:16731, write 12, fail 22:19879, mount, write 27 23@1, fail 4:33199, write 7@2 8, cut
         3:26429, write 41+5, decay 0, mount, cut 4:44442, write 25, decay 0, mount, write 27 67 126 34 140, fail
         7:25256, write 18+6@4 7+3@1, cut 4:53046, write 59, mount, cut 4:65269, write 44, fail 3:58920 20:63459,
         mount, cut 4:26149, write 50, mount, part 88, write 128@21 18@2 95@1, flush, cut 2:8251, write 43+4@2, decay
         0, mount, mount, write 9@7 3@2! 25 40, part 353, write 1@2, discard 470+21, write 23@2 0@2, cut 3:28491,
         flush, decay 8630, cut 25:59818, mount, fail 15:45582 23:37764, mount, write 24+6, discard 28+21, cut
         5:18517, write 120, mount, part 94+7@2, flush, write 25+3 61@36, cut 0:47595, write 1@1, decay 12321, mount,
         mount",
    );
}

/// Nothing is held, one block of six works, and the cut of its erase leaves no header: nothing says whose the chip is.
#[test]
fn an_empty_chip_may_lose_its_last_header() {
    assert_holds(
        "nor block-bytes=2048 blocks=6 banks=1
         nor-page slots=2 page-bytes=512 policies=watermark:3:4/greedy/single/dynamic/at-once
         logical-pages=3 endurance=100 seed=8918439532496078100",
        "fail 0:41585 3:11456 4:34351, write 0, mount, cut 5:22256, write 0, mount, fail 1:40426, write 0 0, cut
         2:22923, write 0, fail 9:5172, mount, discard 0+2, cut 0:44016, write 0, mount",
    );
}

/// Each session is cut in the erase of another segment, and none of them keeps data.
#[test]
fn a_header_stays() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=64 blocks=24 dies=3 paired-pages=1
         page blocks-per-segment=3 policies=watermark:3:4/lfs/separate-cleaning/dynamic/proactive aware checkpoint
         logical-pages=133 endurance=100 seed=1686333944505807444",
        "mount, write 7, mount, write 14, mount, write 14, mount, write 6, mount, write 22, mount, policies
         falling:5:0.5/cost-benefit/separate-cleaning/none/proactive:0.05:0.5:0.01, write 16, mount, cut 0:18169,
         write 10, mount, cut 2:60888, part 8+2@1, mount, write 8, mount, write 5, mount, write 24, mount, cut
         1:57013, write 19, mount, write 83, mount, policies
         falling:5:0.5/cost-benefit/separate-cleaning/none/at-once, write 9, mount, part 26+2@2, mount, cut 0:51196,
         write 20, mount, cut 2:17100, write 7, mount, cut 0:57071, write 5, mount, cut 3:54632, write 19, mount",
    );
}

/// The same in mounts, until one header is left: the next erase is that of another segment.
#[test]
fn the_only_header_stays() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=7 blocks=7 dies=1 paired-pages=1
         page blocks-per-segment=1 policies=watermark:2:3/cost-benefit/separate-gc/dynamic/proactive:0.05:0.5:0.01
         logical-pages=2 endurance=100000 seed=8942810596253564017",
        "mount, cut 1:60020, write 0, mount, mount, mount, mount, cut 0:17288, write 0, mount, cut 0:24522, write 1,
         mount, cut 2:16528, write 1, cut 0:45969, mount, cut 0:65069, mount, cut 0:51188, mount, cut 0:2047, mount,
         cut 0:38768, mount, mount",
    );
}

/// The same where a cut had left a second header, which faded while the segment with the other one was erased.
#[test]
fn a_second_header_may_fade() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=0 pages-per-block=16 blocks=6 dies=1 paired-pages=1
         page blocks-per-segment=1 policies=watermark:1:1/random/separate-gc/dynamic/proactive
         logical-pages=1 endurance=100 seed=12493331618151439609",
        "mount, write 0, mount, write 0, mount, cut 0:39153, write 0, mount, cut 0:2386, write 0, mount, cut 0:43450,
         write 0, mount, cut 1:40760, write 0, mount, cut 1:20956, write 0, mount, cut 0:60845, write 0, mount",
    );
}

/// The only record of a discard decayed behind a shutdown. A mount by the checkpoint showed the page as discarded. The
/// next one had to scan, and showed what the page had held before.
#[test]
fn a_checkpoint_stands_for_the_discard_map() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=8 blocks=16 dies=1 paired-pages=1
         page blocks-per-segment=1 policies=watermark:2:3/greedy/single/none/at-once checkpoint
         logical-pages=20 endurance=100000 seed=1",
        "write 0 1, discard 1+1, shutdown, decay 3, mount, cut 0:0, write 0, mount",
    );
}

/// A program failed in a shutdown, and its segment held nothing else. It was to be retired, and the mark of the
/// shutdown called it erased.
#[test]
fn a_segment_that_failed_in_a_shutdown() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=5 blocks=19 dies=1 paired-pages=1
         page blocks-per-segment=1 policies=watermark:3:4/cat/single/none/proactive:0.05:0.5:0.01
         logical-pages=41 endurance=100 seed=6292460092863791505",
        "write 14 15 16 17 18 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 2+5 4, discard 20+4, write 0
         3 30 7 1, fail 0:4046, write 2 7 19+2 3 6, discard 20, write 7 1 6 0 0 2+5 21 1 3 7 4 6, fail 3:25505,
         shutdown, mount, write 1",
    );
}

/// A rescue was cut, and what it had copied was lost later. The mark of that rescue decayed, and its copy counted,
/// though an older page had been shown before.
#[test]
fn a_rescue_that_was_cut_stays_undone() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=64 pages-per-block=16 blocks=12 dies=1 paired-pages=2
         page blocks-per-segment=1 policies=watermark:4:5/windowed-greedy:4/single/dynamic/at-once
         logical-pages=8 endurance=100 seed=12087506350158512877",
        "part 6+3, write 0 0 0, part 1, flush, write 3, part 1+7@1, flush, write 2+2 0 0 2 0 6 7 7 2 5 6, flush, write
         3 4 0 0 4 4 0 0 0+6, discard 0+10, write 0 0 4 0 0 0, flush, write 4, part 3+2, shutdown, write 0, mount, cut
         1:64218, write 0, mount, write 5, mount, mount, write 3, cut 2:35837, clean 6, mount, write 0, mount, mount,
         fail 1:7313, cut 2:23094, write 7, mount, cut 4:15607, write 0, mount, part 3+2@2, write 7 0 7 7, fail
         0:53063, write 0, fail 0:55334, write 3, part 23, cut 6:22532, flush, mount, part 2+10@2, cut 0:9468, write
         7, mount, write 7, cut 1:56778, mount, cut 2:43510, mount, cut 5:38947, mount, cut 3:26187, mount, cut
         0:30342, mount, cut 4:61445, mount, cut 3:28359, mount, cut 3:50369, mount, cut 5:50024, mount, cut 3:5558,
         mount, cut 1:65070, mount, decay 0, mount, decay 33073, mount",
    );
}

/// The header of a segment that a rescue had begun decayed, and one of the copies. What was written behind the rescue
/// still shows that it had ended.
#[test]
fn what_lies_behind_a_rescue_shows_that_it_ended() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=16 pages-per-block=64 blocks=24 dies=2 paired-pages=1
         page blocks-per-segment=1 policies=falling:5:0.5/cost-benefit/by-stream/static-threshold:5/proactive
         checkpoint
         logical-pages=443 endurance=100 seed=12268656395780607124",
        "write 2@37 176 361+2@3! 42@1, cut 4:46153, write 426+5, mount, write 161, part 215+4@1, write 41+8 57 138+8
         51, part 1715+7@2, write 389+5 37 45 276, part 1680, write 388 30 42+8 283, part 1349, write 31 267 265, part
         38+4@1, write 84 413 407 240, part 210+3, flush, write 22 180 375 191 216@21 72 22+2 139, part 96, write 30
         228, decay 35738, write 275 292 75, part 1208, write 21 44 263 13 418 319 25 65 44 66, part 342+4, write 35
         234 75+7, part 142+7@2, write 9 379 237 36 6 51, discard 316+21, write 353 13 71+4 27 348, part 235, write 19
         10 240 11 157+3, part 1173+10@2, write 42 9 50 0 34 46+8 62 46 286 22 33, part 314 10+4, write 120 44 120+4,
         part 984 219, write 399, part 4, write 38 424 72 29+6, part 237, write 36 77 25@37 285@33 438 247 82 79 85 46
         373, flush, write 73@3 43 76@32 80 76 133+4@4, decay 19680, discard 1484+24, flush, mount",
    );
}

/// Of a rescue that had ended the last copy, the padding behind it and half of the summary decayed.
#[test]
fn decay_does_not_undo_a_rescue() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=32 blocks=25 dies=1 paired-pages=1 any-order
         page blocks-per-segment=1 policies=watermark:3:4/cat/by-stream/none/proactive checkpoint
         logical-pages=171 endurance=100 seed=6392021994813371190",
        "write 32@2, cut 0:62906, write 23@2, decay 64315, mount, write 4, mount, write 132@1, cut 1:53814, write
         20+7@1, cut 2:9940, mount, mount, cut 6:63288, write 22+5, cut 5:41973, mount, cut 4:52449, mount, cut
         4:63831, mount, cut 2:52365, mount, cut 4:54865, mount, cut 4:51354, mount, mount, write 157, cut 0:25767,
         write 167@2, mount, write 9, policies watermark:3:4/random/by-stream/static-threshold:1/at-once, cut 1:22285,
         write 123, decay 0, mount, write 27, decay 47154, cut 0:29520, write 28, decay 34875, mount, cut 2:10582,
         write 3, decay 38186, mount, write 105, cut 2:781, write 83@1, mount, write 12, decay 45305, write 135@2,
         fail 0:30230, cut 2:33734, write 30, fail 25:41239, mount, write 31@2 39@2!, mount, write 11, cut 2:940,
         mount, mount, write 33, fail 0:28664 3:34446 9:14089, mount, decay 42054 2, clean 4, cut 1:23431, write 12,
         decay 47167, mount, cut 2:43752, write 118, mount, cut 2:26984, write 150, cut 2:41346, mount, decay 11314,
         mount, mount, cut 0:46130, write 34, mount, write 23@1 21@1, mount, write 5, mount, write 79, mount, decay
         12275, cut 3:54342, mount, fail 0:58272, cut 3:13360, mount, decay 50926, mount",
    );
}

/// A rescue was cut, and then the erase of its segment. What that made unreadable behind the copies seemed to show that
/// the rescue had ended, and a copy faded.
#[test]
fn a_rescue_that_only_seems_to_have_ended() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=8 blocks=34 dies=1 paired-pages=2 mixed-erases page
         blocks-per-segment=1 policies=falling:5:0.5/greedy/separate-cleaning/none/proactive logical-pages=111
         endurance=100000 seed=15296105324693137707",
        "write 0 1 4 5 6 7 10+9 24 25 27+84, mount, cut 1:61931, write 7, mount, mount, write 13, mount, write 9 17,
         mount, write 5 19 72 5 16 14 2 20 3 0 0, part 42+4, write 27 8, part 88+2@2, write 7, policies
         watermark:1:1/fifo/separate-cleaning/static-threshold:1/proactive, write 3 21 3 19 19+7 20 3 11, part 40+5@1,
         write 11, mount, write 19, cut 5:53036, mount, cut 3:15196, mount, cut 2:40816, mount, cut 0:15231, mount,
         mount",
    );
}

/// A device that was mounted read-only served a page from a copy that a cut had hit, and gave an error when that faded.
/// The original was passed over: another page of its segment had decayed, so that it seemed to be erased in part.
#[test]
fn another_copy_of_a_suspect_page_is_read() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=64 pages-per-block=8 blocks=26 dies=1 paired-pages=1
         page blocks-per-segment=1 policies=watermark:3:4/random/separate-cleaning/static-threshold:5/at-once
         logical-pages=72 endurance=100000 seed=12117187116495649871",
        "write 2 6 11 9, part 60+6@2, write 3 12 2 7 1 11 7, part 10+2, write 18 5 3, decay 5817, write 1 7 8 13 65 8
         0, cut 0:26573, write 13, mount, write 8 7 12+2 6 13 6 2+4 43, part 4+5@1, write 2 10 3, part 26, write 8,
         part 27+3@1, write 4 8 11, cut 1:13711, write 9, mount, write 0 6, decay 10376, write 7 24, decay 15099,
         write 0 9, discard 14+8 26+11, flush, cut 0:24361, write 13, mount, write 9, cut 1:46592, write 10+7, decay
         3, mount, mount, write 5 4+5, fail 10:59014, write 42+6, cut 6:63302, write 12, mount, cut 0:60336, write 11,
         mount, write 3, cut 8:8526, mount, mount, fail 4:46928, cut 6:64618, write 11, mount, write 5 5 5 1 0 9, cut
         7:973, write 0+5, mount, write 8 4 5 3 58, fail 1:9878, cut 3:6392, write 6+7, mount, write 7, decay 19351,
         part 10+5, write 8 11 44 10 3, fail 0:37285 3:23471, cut 22:61258, mount, decay 63585, mount, write 11, part
         17, write 7 13 10 2, flush, write 2, cut 0:44020, write 7, mount, write 4, part 9, fail 0:45662, write 8 8 5,
         cut 4:35656, flush, cut 2:21481, mount, mount, write 1 13, mount, cut 3:58619, write 6, fail 5:44363, cut
         9:16016, mount, mount, part 0+2@1, write 4, cut 0:33245, write 6, cut 3:26241, mount, cut 4:23291, mount, cut
         0:44090, mount, cut 0:37855, mount, mount, cut 1:43604, write 1, decay 57407, fail 14:3881, mount, cut
         1:65048, write 4, mount, cut 0:20485, write 0, decay 28690, mount, write 5, discard 79+9, write 3, decay
         21204, write 8 11 6, flush, cut 2:13481, part 112+4, mount, cut 7:5632, write 4, cut 1:55889, mount, decay
         58900, fail 1:34023, mount, fail 0:386, write 17 9 7, cut 1:44815, mount, decay 60415 4668 61906, fail
         0:24416, cut 1:5003, mount, decay 16441, cut 0:36087, mount, cut 0:7998, mount, decay 2204, cut 0:54542,
         mount, cut 0:33534, mount, mount, cut 3:33740, write 4, mount, write 37 13 8 7, part 14+2@2, write 8 1 25,
         cut 6:41310, part 0+3@1, fail 1:43812, mount, write 11, cut 1:42005, write 63, fail 1:60596 3:22875, mount,
         cut 3:26037, write 6, mount, fail 0:42373, cut 8:37872, write 8, mount, discard 26+5, cut 3:39046, write 6,
         mount, cut 5:61149, write 13, fail 8:791, mount, fail 3:20915, cut 6:63829, write 10, mount",
    );
}

/// The erase of a segment was cut, and then the copy of one of its pages decayed. So it seemed to be needed for that
/// page, and was read for another one, of which a copy that lasts lay elsewhere. That page faded.
#[test]
fn a_lone_page_where_an_erase_shows() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=0 pages-per-block=12 blocks=7 dies=1 paired-pages=1 mixed-erases page
         blocks-per-segment=1 policies=idle:3:4:5/greedy/single/none/at-once checkpoint logical-pages=4 endurance=100
         seed=11811270419482104102",
        "write 0+4, discard 12+4, flush, write 1 2+2 0 0, mount, write 0 0 0 1 2 1, mount, write 0 0 1 0, mount, write
         0 2 0, decay 50203, write 0 0, decay 2, write 0, mount, cut 3:40059, write 3, mount, part 6 12+4@1, flush,
         write 0 0, cut 4:8592, part 0+10, decay 49931, mount, part 3+4@2, flush, mount",
    );
}

/// A copy that a cut had hit takes the place of one in a segment whose erase shows, though pages have decayed: that one
/// faded.
#[test]
fn a_suspect_copy_beside_an_erase_that_shows() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=8 blocks=63 dies=3 paired-pages=1 any-order mixed-erases
         page blocks-per-segment=3 policies=watermark:3:4/lfs/single/dynamic/proactive checkpoint
         logical-pages=329 endurance=100 seed=1288689680631903956",
        "write 17 59 37 51+5, decay 4, mount, write 9 2, mount, write 18 46 8, fail 0:28937, write 25 43, mount, write
         12 210 56 66 44 99+2, mount, write 38 49 25 23+7 43 116 43 37+6 35 47 57 58+6 17, mount, write 147 14, fail
         2:25085, write 30 7, mount, fail 2:6311, write 11 23 46 8 24 3 5 40 38 27 51, mount, decay 12088, mount,
         write 5, mount, mount, write 32, fail 6:39688, mount, write 29 22 44 35, decay 5, fail 1:63830 2:50106,
         mount, mount, write 326+3, fail 8:7762 7:14896, mount, cut 10:2953, fail 1:51806, mount, cut 7:9089, mount,
         mount",
    );
}

/// A cut erase left each page its own way, and a program failed in the mount behind it. That took the room for copies,
/// and the copy faded that the mount believed, while two others could be read.
#[test]
fn a_failure_in_the_mount_behind_a_cut_erase() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=12 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:2:3/greedy/single/none/at-once
         logical-pages=40 endurance=100000 seed=1",
        "write 0+40 27 11 26, discard 37, write 9, flush, mount, write 2 16, mount, mount, cut 3:59592, write 33, fail
         4:34171, mount",
    );
}

/// A rescue did not end, and then its erase was cut, which left its header and a copy, and no mark. The copy counted
/// as certain once the page had faded that it was made of.
#[test]
fn a_copy_that_a_cut_erase_has_left_of_a_rescue() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=16 pages-per-block=12 blocks=13 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:5:0.5/d-choices:3/by-stream-shared/dynamic/proactive:0.05:0.5:0.01
         logical-pages=50 endurance=100000 seed=5502158745350019851",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 25, cut 0:17572, write 45, mount, cut 1:44325, write 49, mount, cut
         2:47502, write 20, mount, write 11, cut 0:56870, clean 8, mount, cut 1:17969, discard 20+11, mount, write 18,
         cut 1:22013, write 18, cut 0:39718, mount, cut 7:40980, mount, cut 8:39729, mount, mount, cut 2:27713, write
         7, mount, cut 2:61973, write 25, mount, cut 1:63523, write 31, mount, cut 2:22294, write 9, mount, part 49,
         cut 3:18035, flush, mount, cut 6:41899, write 4, mount, cut 6:14155, write 19, mount, cut 3:18118, write 22,
         mount, cut 15:6698, write 10, mount, cut 0:53154, write 41, mount, cut 1:62869, write 37, mount, cut 6:4302,
         write 23, cut 0:57898, mount, cut 0:13368, mount, cut 2:28212, mount, cut 0:36252, mount, cut 2:46962, mount,
         cut 1:25326, mount, cut 2:11727, mount, cut 2:30113, mount, cut 3:53131, mount, cut 2:54783, mount, cut
         2:57906, mount, cut 0:2806, mount, cut 4:44117, mount, cut 5:22937, mount, cut 5:37133, mount, cut 4:34724,
         mount, cut 3:45957, mount, mount, mount, mount",
    );
}

/// The header of a rescue's segment decays, and the one that it was made of is being erased: both copies seem to be in
/// erasure. One of them was served as if it were certain, and faded.
#[test]
fn two_copies_in_erasure_are_both_uncertain() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=18 dies=1 paired-pages=1 mixed-erases page
         blocks-per-segment=1 policies=watermark:1:1/greedy/single/none/at-once logical-pages=12
         endurance=100000 seed=14434127679982953021",
        "write 0+3, flush, decay 31, write 2, flush, cut 8:20835, mount, write 3+2, decay 30, write 1, decay 13, cut
         3:46018, mount, mount, cut 2:21458, mount, flush, write 2, mount, mount",
    );
}

/// A page is gone, and another one in its segment shows it. The rescue copied that one, so that nothing showed the loss
/// to the next mount.
#[test]
fn a_loss_is_recorded_before_its_evidence_is_copied() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=18 dies=1 paired-pages=1 page blocks-per-segment=1
         policies=watermark:1:1/greedy/single/none/at-once logical-pages=10 endurance=100000
         seed=6484830147238403645",
        "write 0+3, flush, cut 6:40610, write 2, write 7+2, cut 3:55814, write 1, cut 5:53628, write 0, write 5+2,
         write 4+2, flush, decay 17, mount, decay 28, mount, mount, mount",
    );
}

/// A newer copy decayed, and a cut erase had left the older one, in a segment without a header. It was served where it
/// lay, and faded.
#[test]
fn a_page_in_an_erased_segment_without_another_copy() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=9 blocks=18 dies=1 paired-pages=2 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/lfs/by-stream-shared/dynamic/proactive
         logical-pages=11 endurance=100000 seed=14011755436489751590",
        "write 0+3, decay 7, fail 3:10495, mount, mount, write 0, cut 0:51947, write 1, decay 7, mount, mount",
    );
}

/// The same where the header is left.
#[test]
fn a_page_in_an_erased_segment_with_a_header() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=9 blocks=18 dies=1 paired-pages=2 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/lfs/by-stream-shared/dynamic/proactive
         logical-pages=11 endurance=100000 seed=14011755436489751590",
        "write 0+3, decay 7, fail 3:10495, decay 39, mount, mount, write 0, cut 0:53328, write 1, decay 7, mount, mount,
         cut 0:58357, mount",
    );
}

/// The mark of a rescue decayed, so that the segment of the copy seemed to be erased in part. The original was certain
/// because of it, but it was being erased, and faded.
#[test]
fn an_original_beside_a_copy_whose_mark_decayed() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=9 blocks=19 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/greedy-first/by-stream/none/at-once
         logical-pages=13 endurance=100000 seed=3747671476229709800",
        "write 0+3, mount, write 0, fail 0:28689, mount, cut 0:57453, write 0, decay 0 35, mount, mount",
    );
}
