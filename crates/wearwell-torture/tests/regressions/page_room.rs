//! Page mapping, on devices with exactly the segments that they need.

use crate::assert_holds;

/// The driver gave up on a copy, and the next ones went to the last free segment. The erase of their victim was cut:
/// the last copy was suspect, there was no place to copy it to, and what the erase had made unreadable seemed to have
/// decayed. The device took no more writes.
#[test]
fn what_an_erase_has_left_is_known_from_decay() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=16 blocks=108 dies=3 paired-pages=1
         page blocks-per-segment=3 policies=falling:4:2:3/cost-benefit/separate-cleaning/dynamic/at-once
         logical-pages=1394 endurance=100000 seed=3205892423612616757",
        "write 0+128 128+128 256+128 384+128 512+128 640+128 768+128 896+128 1024+128 1152+128 1280+114 666@1 1291@15
         252 399+4@2! 210@30 521 931@1 1386@1 758 1357@23 1245@2 517@37 727@1 1173@1 1127@1! 21@20, clean 6, write
         654@2! 683@1, discard 829+3, write 955 240 1158 198 128@2! 624@1 1054@2 1347@1, read 312, clean 4, read 1171,
         write 65@2 1201@14 246@1 354@23, read 652, write 959@2 944@1, cut 0:21692, write 115, cut 4:58545, mount,
         mount, cut 3:39932, write 1258@1, mount, cut 1:24700, write 1026+8@4, mount, write 173 1122@2 578 586@2, cut
         2:5428, write 362@33, mount, write 373, cut 4:37991, write 1063@2, mount, cut 6:10221, write 163, cut
         8:52803, mount, mount, read 1245, write 812, cut 7:55487, write 1256, cut 0:29141, mount, cut 0:28134, mount,
         cut 1:28549, mount, cut 1:63147, mount, cut 1:17262, mount, cut 1:62424, mount, cut 0:15721, mount, cut
         1:28437, mount, cut 0:60114, mount, other 0:59702, mount, cut 0:9543, mount, cut 0:49448, mount, mount,
         policies falling:4:2:3/fifo/separate-cleaning/none/at-once, write 1027@9 1276@1 259@2!, cut 11:4843, write
         777+6@3, mount, cut 1:3043, write 767@1, mount, write 82!, flush, cut 16:42493, write 744, mount, cut
         3:26680, write 906+3, mount, flush, cut 12:22584, write 259@2, mount, other 2:27075, discard 1148+6, write
         775, flush, write 1143@2, cut 1:43282, write 1222, mount, write 1209@1, cut 2:37210, write 1072, mount, cut
         2:57464, write 372, mount, write 446, clean 5, cut 3:43421, write 652, cut 0:18042, mount, mount, write 1288!
         39@2, cut 2:24599, write 1365+3@1, mount, cut 2:37032, write 616, mount, cut 0:2136, write 146@2, mount,
         write 1008@28 805@2, read 831, write 652@1, read 939, other 2:19046, write 296, cut 5:4390, write 244@1,
         mount, cut 3:19033, discard 418+4, mount, other 8:38959, write 178 1151@1, other 0:32743, write 815@34, other
         6:9119, write 425@1, cut 2:50479, write 405, other 11:7808, mount, mount, other 0:60414, write 1+6@1 1052@2!,
         cut 3:50638, write 118+6, mount, cut 9:43364, write 325@2, other 0:62721, mount, cut 6:56768, mount, mount,
         write 196@2, other 4:57901, write 939@2 1327@2 1007@2 144@1 1335@2, cut 0:217, write 923, cut 1:22856, mount,
         cut 2:35508, mount, cut 8:20627, mount, mount, cut 3:64363, write 829@2, mount, read 1010, cut 8:11823, write
         141@28, cut 1:26921, mount, mount, discard 175+3, write 692 125@2, flush, discard 698+5, write 22@1 1208@16,
         discard 956+4, write 882@2, cut 1:56477, write 165+5@2, mount, cut 0:2780, write 739@1, mount, write 1348,
         cut 5:59917, write 573@1, mount, cut 0:21121, write 44@1, mount, flush, write 225@2! 760!, cut 8:35715, write
         1371@29, cut 6:35118, mount, other 3:21071, mount, other 0:51078, mount, other 1:8428, mount, other 19:55559,
         mount, other 20:46625, mount, other 9:1992, mount, other 15:40473, mount, mount, other 1:15908, write
         1051@39!, other 0:58372, write 436@2, cut 20:45343, write 316@8, cut 3:1306, mount, mount, cut 1:64211, write
         966@1, mount, cut 5:61338, write 24@12, mount, cut 2:9031, write 120@35, cut 0:32648, mount, mount, cut
         2:56950, write 476, other 1:29428, mount, mount, write 111@2, other 2:11791, write 59@1, cut 5:44837, write
         592, mount, other 7:5974, write 71+8@4, cut 3:35144, write 1155@2, mount, cut 3:27355, write 1158@21, mount,
         other 11:12264, write 854, cut 7:22554, write 1188+7, cut 1:34163, mount, other 3:3683, mount, mount, flush,
         flush, write 954@13, other 4:11138, write 679, cut 1:31408, write 382+2@2, mount, cut 1:26748, write 451,
         mount, other 2:62779, write 52@2, cut 20:58007, write 913, mount, write 1173@30",
    );
}

/// A page of a victim had decayed, and copying it was cut: with the record that it was lost, the victim seemed to be
/// erased in part. So its copies, cut too, were not undone. A failure took the last free segment.
#[test]
fn a_lost_page_makes_no_segment_seem_erased() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=7 blocks=156 dies=4 paired-pages=1 any-order
         page blocks-per-segment=2 policies=falling:5:0.5/cat/separate-gc/static-threshold:5/at-once
         logical-pages=762 endurance=100000 seed=11609366080695202997",
        "write 0+128 128+128 256+128 384+128 512+128 640+122, discard 176+10, part 1011@2, write 686, cut 0:3290,
         write 1@32, cut 0:33960, mount, mount, cut 0:6069, write 591@1, mount, cut 1:39474, write 662@2, mount,
         discard 1158, cut 3:25042, write 307@2, decay 26355, cut 1:30532, mount, mount, write 584@6 732@2 439, part
         243+2, cut 0:61297, part 1384+5@2, decay 56112, mount, write 64@2, discard 1426+12, part 1234, write 288,
         part 262, write 431@2 232@2 201@1, part 982+6@1, write 381@2 569 106@2, clean 11, part 1462@2, write 366@2
         197@2 152@25 579+2 454@9! 527 239 309@28 143@6!, part 701+2@2, write 587@22, part 543+2, write 350@32 416@1
         109, policies watermark:1:1/fifo/separate-gc/dynamic/proactive:0.05:0.5:0.01, part 1434+2@1, write 61@2
         196@1, fail 0:62169, write 217 207 610@1, discard 1159+11, write 261+8@2 533@1 375, decay 61046, part 917+2@1
         229+3@2, write 306@2 193@1 474, part 800+3@2, write 231+8@3!, clean 12, decay 49390, write 126@1, part 927+2,
         write 109@2, read 355, write 377, part 655+2@1, write 145, policies idle:3:4:5/lfs/separate-gc/none/at-once,
         write 247+5@2 106@39, fail 18:33892, flush, discard 1200+6, write 354@17 109@1 758@1 46@1 249@32, discard
         678+12, write 596@39, read 637, write 213@2 371@1 604, fail 0:40726, write 652@23!, part 91+3, write 150@1
         277@4, fail 36:30294, write 293+8@4 59@1 517@10 374, part 140@2, discard 127+4, policies
         watermark:2:3/lfs/separate-gc/swap:1/at-once, discard 690+10, part 623+2, read 717, part 175, write 167@1 208
         424 464 7 640 383@1 633@2 368@2 488@2, part 154+5, write 684 685@1, cut 0:14622, mount, cut 0:11044, mount,
         cut 0:17367, mount, decay 56957, cut 0:27443, mount, cut 0:26828, mount, write 373@14, fail 0:64932, cut
         3:10604, mount, mount, fail 0:44999, cut 2:43567, write 493@19, decay 52167, mount, fail 0:38525, cut
         3:31866, write 53, mount, cut 3:53488, write 165, mount, mount, flush, cut 6:30032, write 573!, fail 0:3401,
         cut 1:6983, mount, mount, mount, cut 8:41494, write 23@2!, cut 5:31504, mount, fail 2:6226, cut 4:36537,
         mount, mount, write 516+7@3",
    );
}

/// A page of padding in a sealed segment had decayed. The segment seemed to be erased in part, and was erased for the
/// rescue of a page of which it held the last certain copy.
#[test]
fn padding_that_decayed_shows_no_erase() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=7 blocks=52 dies=2 paired-pages=2
         page blocks-per-segment=2 policies=falling:5:0.5/greedy/single/none/at-once checkpoint
         logical-pages=159 endurance=100 seed=7421258044904672616",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73
         74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107
         108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 131 132 133 134
         135 136 137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 156 157 158 28 11, cut
         0:42264, write 6, mount, write 4, mount, decay 1, mount, policies
         watermark:2:3/windowed-greedy:4/single/static-threshold:1/proactive:0.05:0.5:0.01, write 8 12, mount, cut
         2:12971, write 0, mount, write 28, decay 1, mount, write 3, cut 5:60668, write 1, mount, decay 1, cut
         6:11085, write 7, mount, write 18, decay 2 14833, mount, mount, fail 0:6592, cut 2:23579, write 3, mount,
         fail 1:5205, cut 3:35782, write 25, mount, fail 0:53600, cut 6:64780, write 19, cut 4:45285, mount, fail
         1:13905, mount",
    );
}

/// Each of several cut mounts took a free segment for a rescue and emptied none, until the last but one was gone.
#[test]
fn failures_in_mounts_that_are_cut() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=32 blocks=42 dies=2 paired-pages=1 page blocks-per-segment=1
         policies=watermark:3:4/d-choices:3/separate-cleaning/static-threshold:5/at-once checkpoint logical-pages=810
         endurance=100000 seed=3514901671583474906",
        "write 0+808 85@1 311@1! 518@2 199 254@1, flush, write 484, discard 370+2, write 737@1, cut 0:21617, write
         503@30, cut 3:25363, mount, cut 1:35873, mount, cut 1:22763, mount, mount, cut 5:18708, write 505+2@4!,
         mount, write 751@38, flush, write 598, flush, write 550@2, discard 290+3, write 393@2, mount, write 83@2,
         discard 527+2, write 314@13 24@2 423 199 541+4@4 632@2, flush, write 372@1 272@1, read 660, write 605@1,
         flush, write 616@2 536@2 604, discard 517+2, write 695@1 192@1 604 223@1 401@1! 569@2, read 269, write 695
         647 123@1 616+8 33@2 67@2 515@11 346@1 742! 697@1 591@2, flush, write 2@1, flush, write 270@2 593@1 189 87@36
         760@1 411@1 655+8 455@1 108+4@2 517 197@3 171@2 32@2 366@2 245, clean 1, write 74, read 333, write 268@2
         465@1, discard 175, write 370@1 570@2 8 94 777@22 483@15 239@1, flush, write 144 115@2 594@2 651 517 708
         311@1 79@2, discard 545+6, write 545@1 375 738 580@1, verify, shutdown, mount, cut 6:32747, write 296@2,
         mount, discard 408, fail 6:38426, flush, cut 6:41453, write 123@16, mount, cut 1:11762, write 663, mount,
         write 645, cut 0:51898, write 144+5, cut 13:32292, mount, mount, fail 1:20217, write 255@1 638@2 511@2, cut
         0:7970, discard 477+5, fail 10:36118, cut 18:21915, mount, cut 4:58199, mount, cut 0:61536, mount, fail
         7:961, cut 17:21917, mount, fail 0:62563, cut 6:42057, mount, cut 10:4265, mount, cut 4:34640, mount, fail
         2:38481, mount, write 365@1",
    );
}

/// Nine mounts in a row were cut while they emptied a victim into the last free block, and each gave up the slot that
/// it had begun.
#[test]
fn nine_cut_mounts_on_nor() {
    assert_holds(
        "nor block-bytes=16384 blocks=17 banks=1 nor-page slots=11 page-bytes=512
         policies=falling:4:2:3/random/separate-cleaning/static-threshold:5/proactive logical-pages=143 endurance=100000
         seed=921317665759242914",
        "write 0+143 24 7 11 28 19, mount, write 0 5 68, fail 70:40144, write 11 122 43 61, cut 37:7702, write 3,
         mount, cut 1:63759, write 58, mount, cut 18:64978, write 23, cut 5:10662, mount, cut 5:58746, mount, cut
         4:53367, mount, cut 3:13253, mount, cut 4:19108, mount, cut 3:56626, mount, cut 2:24638, mount, cut 4:52161,
         mount, cut 4:55787, mount, mount, write 124",
    );
}

/// Four mounts were cut, each gave up the slot that it had begun, and a block failed.
#[test]
fn cut_mounts_and_a_failure_on_nor() {
    assert_holds(
        "nor block-bytes=4096 blocks=27 banks=3
         nor-page slots=7 page-bytes=512 policies=watermark:1:1/cat/single/static-threshold:5/at-once
         logical-pages=161 endurance=100 seed=7509686645968966147",
        "write 0+161 35 34 139 122 153 108 137 4, cut 14:64459, write 127, mount, cut 10:1154, write 29, mount, cut
         3:52771, write 115, mount, cut 3:59639, write 39, cut 8:10300, mount, cut 0:24309, mount, cut 1:16956, mount,
         cut 1:49111, mount, cut 1:6626, mount, fail 0:53259, mount, write 36",
    );
}

/// Mounts were cut while they cleaned: each cut left a segment with a page or two, until none was free. A rescue
/// empties as many of them now as were taken.
#[test]
fn cut_mounts_while_they_clean() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=64 pages-per-block=12 blocks=48 dies=2 paired-pages=1 page
         blocks-per-segment=2 policies=falling:4:2:3/d-choices:3/hot-cold-readonly/none/at-once checkpoint
         logical-pages=115 endurance=100000 seed=7901853213709122098",
        "write 10 48 0+5 8 3 21 70 21 22! 20+7 2 3 0 7 45 10 20@1! 6 37+7 2! 2, discard 172+13, write 15 65 11 49 5
         17+8 85 22 29+3 13 104 19 22 1+6, part 183+3, write 88 17 35 15 53 99, discard 57+11, write 7+3 95 29 6@18!,
         part 187+2@2, write 109, part 431+3@1, write 9+6 14, part 15+6@2, decay 38300, write 42 12 16 9+7 97+3 0,
         part 71+6, write 32 14 10 66, part 169, write 7 10 80 77 94 58 11 31 49+4@3! 32, discard 60+16, part 26
         41+4@2, write 18, flush, write 77+3, part 49+7, write 49 39+7 7 102 21+4, part 50+3@2 49 219+2@1 212, write
         14 45 95 98 32 112 1, part 84 227+4@1 74, write 9 2 105+6 37, part 14+12 101+4@2, write 11 44 104 61 1, part
         75+2@1 237, flush, write 22 57! 10 17 82 6 9 19 21+8 9 15 11 15+5, part 71+2, write 15 86 13 7 62, flush,
         write 11 17+6 21 11 8 105, shutdown, mount, cut 3:47369, write 13, decay 13279, mount, cut 4:17990, write 10,
         decay 5 5, mount, write 9, mount, cut 2:31057, write 23, mount, fail 1:50011, cut 6:34476, write 80, decay
         34140, mount, fail 10:62037, write 94+5 18 8 74 19 12, cut 0:61428, write 111, cut 1:12096, mount, decay
         35090, mount, fail 3:62077, write 15 13, mount, mount, write 13, fail 4:54463, mount, cut 4:1627, write 17,
         cut 4:37551, mount, cut 5:9443, mount, mount, fail 2:34163, cut 4:64586, write 20, decay 6, mount, fail
         1:1241, cut 2:54733, write 9, fail 1:43390, cut 2:23300, mount, cut 5:26214, mount, fail 0:870 4:39834, cut
         6:62649, mount, cut 4:34895, mount, mount, write 20",
    );
}

/// A mount emptied a victim into the last free segment and was cut while it erased the victim. Old copies of discarded
/// pages there kept it from being erased for the next rescue.
#[test]
fn dead_copies_in_a_half_erased_segment() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=32 pages-per-block=12 blocks=28 dies=4 paired-pages=1 page
         blocks-per-segment=4 policies=watermark:3:4/greedy/by-stream/dynamic/proactive:0.05:0.5:0.01 logical-pages=91
         endurance=100 seed=12547348362324100353",
        "write 0+91, flush, part 223+3@1, write 11@1 20@5, cut 15:62212, write 44, refresh 28 77, cut 18:59688, mount,
         refresh 113, mount, read 82, write 13@14, part 206+4, write 21@1, refresh 37, write 65, refresh 21, part
         356+8@2, write 74@1 62, flush, part 288@2, discard 273+12, read 48, write 9@23, discard 336+14, write 31@2,
         discard 72+13, write 4@1, part 182+12@2, write 7@2, read 81, write 37@2 42@2 50, discard 196+4, part 88+2
         60+4@2, discard 148+9, write 6@2, refresh 4, part 96+4@2, refresh 13, flush, write 32, flush, part 27+3@2,
         write 21@1 24@36 33@2 81@2 8 34@6 63+3@4, flush, write 38@2 81, part 7+4@2, write 56+7@3, refresh 124, mount,
         read 53, part 202@2, write 51@2 62@1, refresh 1, write 69+3 3@1 49@1, part 198+3@1, refresh 5, flush, part
         131+12 326+4@2 236+4@1, write 85@1, part 161+4@2, write 23@1 42@1 90 58@35 44@1, refresh 7, write 7 45@27,
         flush, flush, part 278+2@2, write 31 48@2, read 26, write 25, clean 9, part 239+4@1, write 8@2, read 2, write
         11@1 4+5@4, cut 24:58403, write 86@1, refresh 25 37, mount, cut 3:42336, write 60+5@3, refresh 8, mount,
         flush, policies watermark:3:4/d-choices:3/by-stream/none/at-once, write 41 73, cut 0:42825, discard 172+21,
         refresh 100, mount, refresh 173 200, mount, cut 4:56409, write 53@1, refresh 1 34 68, mount, refresh 0 3,
         discard 304+15, read 37, write 77@2 63@2, refresh 0, write 65 60, refresh 0, write 88@1! 76@1, refresh 5,
         write 52, refresh 5, write 57, refresh 7 8 26 40 63 68, write 77+8 80@2 43+6@3 33 42+5 78@14, refresh 15 18,
         write 11@17 16+3@2 85@1 57@2, part 85+3@2, refresh 4 6 57, cut 87:42053, write 22@11, refresh 2 3 27 30 38,
         mount, write 88, refresh 5 6, write 86@2, cut 3:50952, write 31@2, refresh 9 101 127 190 195 250, mount, part
         85+6, cut 4:55597, write 27, refresh 21 112 141, cut 1:60372, mount, refresh 39 132 163, mount, write 67 46@2,
         discard 217+14, part 29+4@2, discard 352+12, write 6@1 7!, part 51+4@2, write 68@2 32@1 54+4@1, refresh 12 17
         34, flush, write 24@2 62@1 11@1, refresh 7 10, write 22@16 58+8 33, clean 2, write 25@2 6@2 81@1, clean 6,
         write 78@21, flush, write 27@15 61+3@2 49@33, part 143@1, write 28@1, part 296+10, discard 356+8, part
         107+2@1, write 5@1 63@14 35@6 15 38@1 4 62@1 23@1, part 307 335+4@1, cut 10:39547, write 22+8@3, refresh 95
         108 111 167, mount, discard 271+5, write 82+2@1!, flush, write 14@2, cut 1:22192, write 78@1, refresh 107 146
         184, mount, refresh 7 48 208 242 245, mount, cut 1:50238, write 90@2, refresh 47 247, mount, cut 3:41584,
         discard 104+14, refresh 25 71 109 153 231, mount, refresh 2, write 67@9!, cut 2:4838, write 38@38, refresh 7
         52 75 80 109 141, mount, refresh 4, write 76@1, part 84+3, write 61@1 59@2, part 292+3@1, write 3@2, discard
         282+3, write 60@2 2, refresh 6, write 4, refresh 1, write 87, refresh 4, write 83@1! 28@2 79@2, refresh 2,
         write 59, policies watermark:3:4/cat/by-stream/none/at-once, write 14@32, refresh 10 24 98, write 55+7@3 33
         59, part 325+2@2, write 71@1 54@2 41@1, part 48+4@2, clean 12, discard 292+14, write 35@1 6@1, part 149+6,
         write 86@1 82@1 81 6@1, refresh 64, flush, cut 10:13544, write 66@2, refresh 7 51 68 73 79 160 178 193 200,
         mount, cut 2:10869, write 19@1, refresh 9 23, mount, policies
         watermark:2:3/greedy-first/by-stream/static-threshold:5/proactive:0.05:0.5:0.01, cut 3:28886, write 48,
         refresh 26 66 105 120 131 153 190 196 197 217, mount, part 129+2, cut 10:29650, write 86@2, refresh 23 64 97
         143 152 195 203, mount, write 72+2@4! 53@1, part 41+3@2, refresh 6, write 30@4 44, refresh 5 10, write 59@2,
         refresh 3, write 63@1, discard 296+2, refresh 5, write 21 79@1, part 59+4, cut 2:15413, write 2@24, refresh
         28, mount, flush, flush, cut 4:63341, write 47@30, refresh 8 82 102 143 145 149 180 186, mount, write 68@2,
         part 68, write 0, policies falling:4:2:3/greedy-first/by-stream/none/at-once, write 39@2, refresh 0, discard
         70+13, write 38@2, part 17+3@2, write 2@11 60@2, part 223+3@1, write 64@1, policies
         falling:4:2:3/random/by-stream/static-threshold:5/proactive:0.05:0.5:0.01, refresh 0, write 1@1, refresh 4,
         write 82@2 71@14, cut 23:12062, flush, refresh 261 279 281 284, mount, discard 268+21, part 14+2@1, refresh
         176 187 197 236 283, mount, part 192+3@1, read 35, write 12@1 51@1, refresh 5, write 17@2, part 208+3@1, write
         20@1, part 251+2 290+4, write 24@1, refresh 2, cut 14:36605, flush, refresh 12 52 84 110, cut 7:61361, mount,
         refresh 76, cut 2:43839, mount, refresh 38 59 66 111 144, cut 5:34215, mount, refresh 17 28 107 134 153 189
         503 515 517, cut 5:24839, mount, refresh 10 291 358 418 478, cut 16:3799, mount, refresh 331, mount, part
         336+4@1 132+2@2, cut 0:29493, write 32+2@2, mount, write 25@1 51@2 58@2, part 194+4@2 41+3@1, cut 1:62166,
         write 32@2, refresh 9 72 99 106 205 208 226, mount, part 142+2, write 62@1 41@2, part 303+4@1, write 84@2 15,
         cut 0:30446, write 66@27, mount, write 46@2 31@18! 63 37@2, discard 8+12, write 16@2, part 332+3@1 314+3@2,
         write 3@1, part 187@1, write 16@33 2@2! 1+6 47@2 58@1 10@2, discard 304+2, part 258@2, write 86@1, part
         11+4@1, write 63@1 20@37 2@31 19! 51+6@2 31 22@1 23@1 86+5@3, flush, write 8, discard 202+24, write 60@2,
         discard 104+20, part 209@1, clean 11, write 9 83@6, read 3, write 64@2 88@26 89@2, read 80, write 38@2, part
         362+2, write 80@2, flush, cut 7:44243, write 26+7@3, refresh 77 186, mount, part 4+3@2, refresh 3, cut
         3:42341, write 58@27, refresh 87 151, mount, cut 12:2322, write 61+5, refresh 6 47 130 177 178, mount, cut
         3:32940, write 40@32!, refresh 7 38 52 92 132, mount, write 29, refresh 4, write 25, part 11+3, flush, write
         82, refresh 6, write 3, refresh 3, write 71@1, part 161+4, discard 217+11, write 53, part 336+2, write 84,
         refresh 4 15 22, write 70+3@1 15+8@1 55@1 3@1 42@2 42, clean 3, discard 195+11, write 22@2, read 23, write 24
         64 12@2 43+3@1 85@2, flush, write 47+6@4 5@2 80@2, read 63, flush, part 257, write 65@20! 69 50@16 82@31, part
         324, refresh 3, cut 5:40293, discard 112+12, refresh 55 56 66 87 102 117 157, mount, write 10, part 87+3@1
         30+5, write 70 11@2 69@1 7@38, read 85, write 22@1, part 103+2@2, write 86@1, refresh 4, write 33+7@2 5@20,
         part 113+8, mount, refresh 33 60 83 167, mount, cut 0:20650, write 64+8@2, refresh 3 12 15 18 37 41 155 179,
         mount, refresh 3, cut 18:25566, write 38+7@3, cut 0:26985, mount, refresh 5 9 11 12 60 95 100 128, mount, cut
         3:33189, write 29@1, refresh 18 88 106, cut 1:45179, mount, refresh 63 76 93 157 203, mount, flush, read 88,
         write 52@11, refresh 1, write 67@2, read 13, refresh 12, cut 12:60946, write 65@1, refresh 44 90 93 111 137
         221, mount, write 13 38@2, read 79, write 8@2, refresh 2, write 41@1, read 49, cut 6:11093, write 68+5@4,
         refresh 5 17 179 228, mount, part 335+2, read 70, part 209+2, cut 13:36060, write 73+4@1, refresh 85 113, cut
         0:56041, mount, refresh 81 113 135 233 270, mount, write 90@8!, discard 328+2, write 58@2 73@2 60, discard
         74+18, write 42 10@1, refresh 2, write 29@2, part 297+4, write 87, discard 312+24, read 79, write 83, refresh
         0 2, write 6@1 90, refresh 15 33, flush, read 44, write 27@3!, discard 336+14, write 7@2, flush, write 19 70+5
         59+3@3! 67@2, refresh 28, write 62+6@4, flush, part 356+4, write 21+3! 54, flush, write 57@2, flush, write 79,
         flush, clean 3, refresh 1 3, write 14! 71+3@4, part 296+2@1, refresh 5, write 9@2 75+4@2 82@1 68 83@29 21@2
         84@29 30@2 48+2@2 78+6@2 9+3@1!, part 298+4@1, write 7@1, part 348+4@1, write 47@4, part 238+7 261, write
         48@2, part 212+3, write 25, refresh 6, write 26@29 74@3 31@2, part 243, refresh 6, write 73 36 73, discard
         40+4, write 60, flush, write 30@2 37 28@34, part 229+4@2, write 14+7@3 68 83@2, part 222+3@2, write 90@31,
         part 74+3, policies falling:4:2:3/cat/by-stream/none/proactive:0.05:0.5:0.01, write 53@1, refresh 11, write
         33, refresh 6, write 12 74@2, refresh 8, write 76@2 82@27, discard 300+16, write 81, refresh 3, write 41@15 7
         71@1 47@23, flush, write 52 65@2, discard 162+22, write 24+4@4 40+7@4 61+3@3 66@1, part 141@2, discard 26+5,
         refresh 13, write 56+8 3 53@1 90@1, part 359 103+2@1 40+3@2, write 39 36, part 287+4, write 36@23 65@2 62@1
         75@1 68@2 18@1 59@2 14@2!, read 35 29, part 14+3@1, refresh 18, flush, write 56 57+2@4 25@1, refresh 20 28,
         write 65+4@3 7, flush, refresh 30 76, write 2+6@1 60 89@1, part 41+4 272@1, write 31@1, verify, refresh 2,
         shutdown, cut 1:5184, mount, cut 1:17367, mount, refresh 18, cut 0:36248, mount, refresh 49, cut 0:28622,
         mount, mount, part 282+4 28+4@2, write 85 40, flush, write 27+4@2 37 4@1 89 31@7 80@1, read 88, part 322+4@1,
         write 13@1, refresh 1, write 36, part 296+3@2, refresh 3, write 40 44@2, part 226+4@1, discard 112+9, write 43
         83+2@1 35@1 34, read 5 44, part 166+4@1, clean 8, write 73, discard 184+15, part 97+4, write 82 49, part
         100+2, refresh 6 18, write 59+4@1, part 235+12@2, write 89@2 57@1 53@30 52@4 64@1 30@1, cut 10:6861, write
         46@1, refresh 17, cut 0:56948, mount, refresh 1 60 232, mount, write 76@2, flush, write 72@1! 90@2, discard
         100+13, write 88@2, discard 344+20, write 12@2 78@1, refresh 3, write 9@1 7@2 68@2 76@2 59 89@25 26@34 89@2,
         flush, write 35@1, read 56, write 80@33, discard 117+20, write 18 73@19 79@1 75@2 63@1, read 63, write 53
         78@30 40@2, flush, write 4@22 21+7@2, discard 102+24, flush, read 32, write 60+7@3 39@2! 69@6, discard 172+2,
         part 115, write 39@22 51@1 87@1, read 21, write 14 57@1, clean 3, part 248 264+2, write 66+2!, discard 268+13,
         write 66, part 160+4@1, write 10@20, read 59, write 14@1! 38@2 26@1 63@2 11@2 10 66@2, flush, write 55@1,
         flush, part 309+3@2, refresh 5, write 46@20, refresh 7, write 59@1 66, part 358+3@1, write 13@24 43@1, part
         224+4@2, write 70@2 50@1 22+4!, part 77+3@1, write 42, read 44, part 160+4@1, write 44@22, part 205+4@2, write
         39, read 75, write 22 18@1 9@36 72 8@2 54@1, cut 14:3165, write 3+7@2, refresh 61 158, mount, part 310+2
         131+3@2 327+4@1, cut 3:9911, write 29@2, refresh 44 63 67 110 115 117 169, mount, write 89, refresh 0 10 14
         27, write 45+3, flush, part 106+2, cut 5:61645, write 37@13, refresh 7 11 41 66 97 126 148 185, mount, write
         24@1 34@2, discard 97+2, read 70, discard 104+16, part 139+2@2, write 52@1, refresh 5, write 28 42@2 88@2 29
         81 74@2 73@35, flush, flush, write 42@2, part 321+10@1, write 74@1 65@30 36+5@3, discard 147+17, part 199+4,
         policies watermark:3:4/fifo/by-stream/swap:1/at-once, write 38, discard 285+19, write 41+4@4, part 238+8@1,
         write 2@1 11 11@2 45@1 41@1 58@1 65@2 23@1 85@1, clean 8, part 282+2@1, write 51@2 60@1 68@1 16+4 38@1 8@1
         39@2 14, refresh 25, write 54+8, refresh 2, write 4, refresh 2 3, write 44@1, refresh 3, write 64@17, read 20,
         part 213+2, write 78 70@1, part 129+2@1, write 3 57@1, part 123+2@1, write 70+8@3, part 121+3@1, write 63+6@4
         31@1 9@2, discard 329+14, cut 1:32001, write 12@1, refresh 25 60 75 117 204, mount, write 75@2 84@2, part
         323@2 145+2@1 285, write 88@9, part 85+3, refresh 14 15, cut 23:33132, flush, refresh 3 16 28 218, mount, read
         73, write 34, refresh 1, write 59@39, part 230+2@1, refresh 3, write 37, refresh 3, write 46@32, refresh 0,
         write 68@30 33@1 68 23@29, flush, part 16+4@1, write 44@1 70@2, refresh 0, write 23@2! 14@2 18@1 46, part
         275+12@1, read 26 24, write 32+8@3 18@2, part 287+10@1, write 28@1! 47@2 3@2, part 98+2@2, write 53+7@1!,
         discard 40+22, write 72@1 64@1 5@27 35@2, part 280+4@2, write 5@2 36@3, part 210@2, discard 88+10, write 10,
         refresh 5, write 73@10, refresh 10, cut 10:52731, clean 11, refresh 94 100 114, cut 10:18770, mount, refresh
         79 150 168 179, cut 10:15797, mount, refresh 27 73 308 338 358 535 708, mount",
    );
}

/// Page mapping, with failures and cut mounts: a mount had no room to copy what a cut rescue had copied, and believed
/// it. A cut had hit the padding behind that. The header decayed, and four mounts later the padding had faded: the
/// segment was void, and a discard was lost.
#[test]
fn a_header_decays_before_padding_that_fades() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=12 blocks=20 dies=1 paired-pages=1
         page blocks-per-segment=1 policies=watermark:2:3/greedy/hot-cold-readonly/static-threshold:5/at-once
         logical-pages=94 endurance=100000 seed=7782462239683265593",
        "write 73, cut 0:16656, write 17, mount, mount, write 11, cut 0:10498, mount, mount, cut 5:41730, write 12,
         mount, write 0 66 16 8@1! 5 5 12+4 2 57 9 15 13 3 8 4 5+5 14 10 2 1 1 13+4 15 3 7 5 6+8 15 3 9 3 1 3 13 7 2
         3+4 2 1 8, mount, mount, write 7, mount, mount, write 0, mount, mount, write 12, fail 0:55541, write 5,
         mount, mount, fail 0:11495, write 13, fail 2:16382, mount, fail 2:13824, write 15 3, mount, discard 6+6, cut
         3:3263, write 14, fail 0:24215 2:49236 4:26567 6:24812, mount, write 15, cut 9:26861, mount, fail 3:52798,
         mount, decay 0, mount, mount, mount, mount",
    );
}

/// Page mapping, where a cut erase leaves each page its own way: a rescue found no room, because a program of it had
/// failed. The mount believed the page in the segment whose erase was cut, and that faded.
#[test]
fn a_rescue_without_room_behind_a_cut_erase() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=8 blocks=69 dies=3 paired-pages=1 any-order mixed-erases
         page blocks-per-segment=1 policies=falling:5:0.5/random/hot-cold-readonly/dynamic/at-once
         logical-pages=125 endurance=100 seed=3660805692868912565",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73
         74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107
         108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124, discard 95+12, write 19 35+4@1 117
         122@2, flush, write 110@2 46@29 46@2, part 197@1, flush, write 74@30, part 136+4@2, write 28@1, part 200+2@2,
         write 111@1 107@2 7@2 104 58@18 30@20 59@1 4 100@4 73+4@3 9@2 65@37 93+2@4!, discard 208+8, fail 2:29880
         3:53484, write 42@2 73@1, discard 20+5, write 29@2, part 6@1, write 1@1! 106@2 51@1, part 144+2@2, write 38@5
         124@1, part 235+2@2, flush, discard 208+7, write 10@14, discard 139+8, write 121 116 53@38 21@22, discard
         90+3, write 109@1 68@1 2@1 13, part 230+2@1, write 58@1, part 202+2@2, write 57 75+8@3! 122@1 95@1 111 77
         28@2! 8@4, flush, write 61@1 77 1@1 105@24 63+5@1!, part 184+4@1, write 78@2 3@1 115@1! 102@2!, part 73,
         write 11@1! 8 102@15 30@1 3@23 56@2, part 59@2, write 75, part 181@1 45+2@1, write 112@1 110@1, read 40,
         write 0@2 57 23@1 71@1 43 96+7@1 8@2 23@1, flush, mount, flush, cut 1:64820, write 119@1, mount, write 110@1,
         part 183+4 216@1 245+2@2, write 112@1 31+2@2 120@2 53@2! 85@2, read 98, flush, write 81@2!, cut 4:13752,
         write 62+7@2, mount, write 42+2@1 45@1 119+6@3 61@2 64@1, part 20+2@2, write 74@23 57@1 110@12 19@25 36+6@3,
         part 151+2, write 96@1 85@2 26+7@4 64@1 49@2, flush, write 108@2 117, part 79+2 112+2@2, write 7@2 74@2 108
         122 66@1 68@1, part 220+2, write 65@2, part 228@2, discard 143+7, part 53+2@2, write 108+7@4, read 64, part
         170@1, write 66, fail 6:38066 22:12461, flush, cut 0:36198, write 13, mount, read 3, fail 29:30285, write
         94+8@4, part 163+2@2, write 37@2 101, fail 13:6483, write 83+3, fail 7:40385, write 39, discard 81+12, fail
         0:42991, cut 3:42645, write 12@1, mount, write 27@1 121@2 56@32 99@1 88@3, cut 4:49789, write 115@2, mount,
         write 24 23@2 120@1, read 53, write 34+6@2 98@25 14@7, part 240@2, write 54@1 83@2 103+2@4 100 6@1 55@1 120
         38 72@1, flush, part 224+6@2 94+2@1, write 95@1 105+4@1 67@2, part 201+2, write 107 91@2, fail 3:59433, write
         72 72 25 46@2 94@27, part 230+2, flush, discard 224+6 164+12, write 48 48@2 40 6 86@2, read 2, write 81 80@5,
         cut 2:34420, mount, mount, cut 1:65139, write 122@18, mount, write 1@2 2+8 67@2 39, flush, write 84@1 31@2,
         part 182+2@1, write 88@31 70 1@1 69@1, read 48, fail 3:27388, write 118 115@1 61@2 54 20@24! 2@2! 98@15
         87@27! 64@11, policies falling:5:0.5/windowed-greedy:4/hot-cold-readonly/static-threshold:1/proactive, write
         60@2, part 6+2@1, flush, write 115@1!, policies watermark:2:3/random/hot-cold-readonly/swap:1/proactive, cut
         4:52916, write 17+5@2!, mount, write 87@1 120@1 27@5, discard 242+6 198+11, flush, write 115@1 110@25, part
         1+2@2, flush, write 36@3, discard 22+10, write 32@22!, part 32@1, discard 113+5, fail 1:40081, flush, write
         42 42@1 93@2 99@2 28@1, read 114, write 27, discard 228+9, part 19+2@1, write 66@1 57@11 46+3@1, discard
         50+9, part 232@1, verify, shutdown, mount, fail 1:29031, write 5@32, part 39, write 60 119@2, read 40, write
         31@2!, flush, write 63 62@2 1@2, policies watermark:4:5/greedy/hot-cold-readonly/static-threshold:1/at-once,
         write 23@1! 53+7@4 56@23 120@2 95+4@4, part 213+2@1, fail 0:37633, cut 4:24483, write 112@1, mount, read 100,
         write 17@2, part 1, write 36@2, flush, write 84@22 3@1 109+3 35@37, discard 82+12, write 49@1 36@6, discard
         36+12, write 56@25, read 94, write 74, part 146, write 27@2 76@1!, part 162, write 122+3@1, part 135+2@2,
         write 57@1, discard 108+4, write 103, part 120+2@1, write 73@2 60 53@1, part 173+2@1, fail 2:48634, write
         55@17 32@2 48@39 13+4@1 78@1 13@2, read 107, write 118 123+2@4! 35@1, discard 222+10, write 119@2 107, part
         202+2, write 1@1 70@36 11 68 40@23, part 89+2@1, write 124@36, part 14, write 56@1 92@17 56@2, part 17, write
         14@2 51+3@4 78@1, part 204+2, discard 18+11, write 88 77, flush, write 33 107@2 21 105@1, part 175@2, fail
         0:28457, write 78@34!, flush, write 76@1 73@1, part 209+2, write 54@1, policies
         watermark:1:1/cat/hot-cold-readonly/static-threshold:1/at-once, write 115@2 104@2, part 46+2@1, write 2, read
         119, flush, write 124@1 118@2, part 213+2, cut 6:17916, write 92@3, mount, write 99@1, part 165+2, fail
         7:19158 14:15670, write 103@17 84@2 37@1, cut 17:18862, write 84, fail 0:39575, mount, read 108, write 3@1!,
         part 59@1, write 35, read 33, discard 128, part 56+6@2, cut 5:43950, write 82@2, mount, part 100+2 180+2@2,
         write 39@20 16@6 84 11@1, part 188+2@2 223 205, write 27@22 35@2, flush, write 5@2, part 43+2@2 152+2@2,
         write 23@12, part 113+4@2, write 75, cut 7:10749, write 53@38, mount, flush, write 52@1 3@2, part 96+2@2,
         write 39 33 61@1 85@4 92, read 6, write 0@2 82@2, part 93@2, write 103@3! 71@39, discard 66+5, write 123
         17@27 47+3, discard 163+4, cut 4:56687, part 88+2@2, mount, write 42 73@2, part 97@2 155@1, write 55@1 34,
         fail 3:54214, write 55, cut 30:17406, write 118+7@2, mount, read 15, part 159+3@2, write 80, discard 198+2,
         write 53, cut 9:52529, write 81@2, mount, write 98, cut 13:59958, write 15@1, mount, write 18@19, part
         207+4@2, write 46@2 31@35, part 157+2, cut 8:37072, flush, mount, read 31, discard 0+7, fail 0:17336, write
         92@2, part 75+2@1 4+2, fail 4:49869, write 93, discard 186, write 6+3@3, part 202@2, write 84@4!, fail
         29:2753, flush, fail 12:8678, write 2@2, cut 1:58871, write 100@28!, fail 7:26361, mount, fail 11:56560,
         write 44@25 7@1, flush, cut 10:48622, write 70@36, mount, flush, write 86@1!, cut 4:43226, discard 196+6,
         mount, part 161@2, cut 16:30448, flush, mount, write 29@2 123@4 41, part 212+2@2, write 16@1, discard 228+3,
         policies watermark:3:4/random/hot-cold-readonly/swap:1/proactive, write 76@2, flush, write 42@1, part
         222+2@1, write 59@13 79 78@1, discard 198+3, cut 11:18515, write 52+8@3, mount, write 8@1 61@2, fail 3:49920,
         write 18@2, fail 7:20489, write 68@2! 113@1 124 110@1, cut 11:43563, write 2@29, mount, write 10, part 247+2,
         write 95@2!, part 173+2@2, write 22@16, cut 6:14990, write 64@35, mount, write 116@1, mount, write 71@1 19
         86, flush, write 77@26, verify, mount, write 11@10, fail 0:4971 2:27488, write 69, fail 5:38302, write 16@27
         82 4 43@1 59@1, part 97+2@2, cut 24:27305, part 157+4, fail 0:53846, cut 12:26965, mount, mount, clean 3,
         mount, write 35@2, part 131+2@2, write 62, fail 26:56118, write 14, flush, write 41, part 212, write 90@2,
         fail 21:53879, cut 64:42687, write 19, mount, fail 136:41778, cut 288:19588, write 55, mount, part 134@2, cut
         390:61204, write 38@2, cut 13:49644, mount, mount",
    );
}

/// The same in twelve steps: of two copies the mount erased the segment of one to make room, and the other one faded.
#[test]
fn a_copy_is_erased_for_want_of_room() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=12 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:2:3/greedy/single/none/at-once
         logical-pages=40 endurance=100000 seed=1",
        "write 0+40 27 11 26, discard 37, write 9, mount, flush, mount, write 2 16, mount, mount, cut 3:59592, write 33,
         fail 4:34171, mount",
    );
}

/// Page mapping on a device that is worn out, where a cut erase leaves each page its own way: without a segment for a
/// rescue it was mounted read-only, and a page faded in the segment whose erase had been cut.
#[test]
fn a_page_of_a_worn_device_fades() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=16 blocks=11 dies=1 paired-pages=4 mixed-erases
         page blocks-per-segment=1 policies=falling:5:0.5/greedy-first/single/none/at-once
         logical-pages=47 endurance=100 seed=3230497856277832717",
        "write 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39
         40 41 42 43 44 45 46 3 44, fail 0:11248 2:56414, write 2, fail 0:16310 2:19430, write 5, fail 0:33165, mount,
         cut 3:1917, write 32, cut 9:31355, mount, mount",
    );
}

/// The same where the device takes writes: it finds no room behind the mount either.
#[test]
fn a_page_fades_behind_a_mount_without_room() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=8 blocks=33 dies=1 paired-pages=2 mixed-erases
         page blocks-per-segment=1 policies=watermark:3:4/cat/by-stream-shared/none/at-once
         logical-pages=55 endurance=100000 seed=5092764340065724009",
        "write 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44
         45 46 47 48 49 50 51 52 53 54 34 41 12+6@1 31@1 7@1 1@2 14@2, fail 0:13587, write 43, fail 0:9973, cut
         1:32779, mount, fail 0:30622 2:25450 4:8759 6:14885 8:19045 25:19883 27:36501 30:34183 37:1173 51:25421
         56:38709 73:7650 88:26329 94:30242 132:49062 156:53381 377:49375 402:30487, mount, cut 69:55506, mount, mount",
    );
}

/// Mounts are cut one after the other while they copy. A mark that cannot be read makes each rescue take a segment
/// more, until none is left.
#[test]
fn marks_save_segments_where_mounts_are_cut() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=26 dies=2 paired-pages=1 mixed-erases
         page blocks-per-segment=1
         policies=falling:5:0.5/windowed-greedy:4/by-stream-shared/dynamic/proactive:0.05:0.5:0.01 aware checkpoint
         logical-pages=17 endurance=100000 seed=3604727919941482160",
        "write 12 11 8@1 15 0 7@2 6@2 10@8 7@2 1 3+7@3 2+7 14@20, cut 5:13981, mount, cut 0:12067, mount, cut 4:9762,
         mount, cut 2:13546, mount, cut 0:9954, mount, cut 2:38111, mount, cut 0:40995, mount, cut 0:45079, mount, cut
         0:31605, mount, cut 2:53138, mount, cut 2:62318, mount, cut 2:53846, mount, cut 3:24705, mount, cut 5:8673,
         mount, cut 0:28705, mount, cut 7:59521, mount, mount, write 9",
    );
}

/// A device is mounted read-only, since there is no room for a rescue. What it serves has faded, and another copy lies
/// in a segment whose erase was cut.
#[test]
fn a_read_only_device_reads_what_an_erase_has_left() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=64 pages-per-block=8 blocks=26 dies=1 paired-pages=1
         page blocks-per-segment=1 policies=watermark:3:4/random/separate-cleaning/static-threshold:5/at-once
         logical-pages=72 endurance=100000 seed=12117187116495649871",
        "write 2 6 11 9, part 60+6@2, write 3 12 2 7 1 11 7, part 10+2, write 18 5 3, decay 5817, write 1 7 8 13 65 8
         0, cut 0:26573, write 13, mount, write 8 7 12+2 6 13 6 2+4 43, part 4+5@1, write 2 10 3, part 26, write 8,
         part 27+3@1, write 4 8 11, cut 1:13711, write 9, mount, write 0 6, decay 10376, write 7 24, decay 15099,
         write 0 9, discard 14+8 26+11, flush, cut 0:24361, write 13, mount, write 9, cut 1:46592, write 10+7, decay
         0, mount, mount, write 5 4+5, fail 10:59014, write 42+6, cut 6:63302, write 12, mount, cut 0:60336, write 11,
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
         cut 6:41310, part 0+3@1, fail 1:43812, mount, write 11, cut 1:15778, write 63, fail 1:60596 3:22875, mount,
         cut 3:26037, write 6, mount, fail 0:42373, cut 8:37872, write 8, mount, discard 26+5, cut 3:39046, write 6,
         mount, cut 5:61149, write 13, fail 8:791, mount, fail 3:20915, cut 6:63829, write 10, mount",
    );
}

/// A block fails on a full device over NOR while mounts are cut. The only room that is left is in a block that a mount
/// found open.
#[test]
fn a_block_found_open_is_the_only_room() {
    assert_holds(
        "nor block-bytes=16384 blocks=12 banks=2
         nor-page slots=21 page-bytes=512 policies=watermark:3:4/fifo/single/none/proactive:0.05:0.5:0.01
         logical-pages=168 endurance=100 seed=7732088541476368980",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73
         74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107
         108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 131 132 133 134
         135 136 137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 156 157 158 159 160 161
         162 163 164 165 166 167 26, fail 0:50587, cut 19:19898, write 28, mount, write 8, mount, cut 15:15272, write
         14, cut 9:56161, mount, mount, write 11",
    );
}

/// A device with half of the segments that it needs: the copies of a cleaning were erased to make room for pages in
/// its victim, an erase of which was cut. The first program behind that failed.
#[test]
fn copies_are_kept_where_failures_have_taken_the_room() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=69 dies=3 paired-pages=1 mixed-erases
         page blocks-per-segment=3 policies=falling:5:0.5/windowed-greedy:4/hot-cold-readonly/none/proactive
         logical-pages=233 endurance=100 seed=396966750694670359",
        "write 13 37@1! 97 7 75 163 80 14 4 34 45 29 86 29 37 104 29 170 22 33 40 18 34 215 159 4 39 16 13
         25+3 40 37 176 15 6 178 30 37! 41 21 18 2 76 5 4 11 66 22 166+6@1! 6 230 18 13 0+2, discard 5+2,
         write 34 6 9 14 48 37 10 1 17 44 125 40 94 157 216 143 185 7+2 39 189 1 19 89 10 169 25 26 43 165 13
         104 193 191+8 43 129+3 75 27 21 28 17 10 3+4 39 15 193 163 0 27 47 6 25 40 18 19 201 66+2@1! 29 83 12
         33 133+7, flush, write 43 205 36 154 59 1 13 57 13 7 33, mount, write 25 201 181 207 128 119 36 124
         39 3 3 26 95 173 196 136 31+8 200 138 149 33+3@2! 65 40 2 15 67, discard 201+6, write 20 30 4 221+4
         42 58 41 91 206 42 134+8, fail 0:34735, write 34 41 39 151 176 14 132, fail 0:31243 1:56102, write 5
         19 84! 190!, cut 1:11736, write 49, mount, mount, write 193 68 60 102 21 49 18 45 152 114 45, fail
         2:31093, mount, write 37 54, fail 1:25373, write 230+3 19, fail 2:46438, write 2 34 6, fail 3:39472,
         write 43 12, cut 0:13816, write 6, mount, fail 0:24754, cut 2:13340, write 203, mount, fail 12:28462
         20:3701, cut 32:346, write 65, mount, mount, fail 0:48586, cut 35:59801, discard 89, fail 4:58311,
         mount",
    );
}

/// Both copies of a page seemed uncertain, and there was no segment for another one: the one that would have lasted was
/// erased for it, which failed.
#[test]
fn an_erase_fails_where_no_segment_is_empty() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=21 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 55 27 31 10 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40
         23 2 42 9 16 29 39 57 33 16 31 23 51 13 31 50 18, fail 0:10554 2:18527, mount, mount, fail 3:26966, cut
         8:30897, write 59, mount",
    );
}

/// Three operations fail on a device that has no segment to spare, and an erase is cut. There was no room for copies of
/// the pages that it may have hit. So only those were copied that a cut had hit, and for these a segment was erased
/// with copies of the others, before they had been read.
#[test]
fn what_is_trusted_is_read_before_a_rescue_erases() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=21 dies=1 paired-pages=1 mixed-erases page
         blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9
         16 29 31 23 51 13 31 50 18, fail 0:56318 2:25407, mount, mount, fail 3:14295, cut 8:52665, write 59, mount,
         mount",
    );
}

/// The last copy that cleaning made was cut, and the header of its victim decayed, so that the victim seemed to be
/// erased in part. Failures had left no segment for a rescue. So the device is read-only, the copy fades while it is
/// served, and the victim has the page.
#[test]
fn a_read_only_device_reads_what_seems_erased_in_part() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=21 dies=1 paired-pages=1 mixed-erases page
         blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9 16
         29 31 23 51 13 31 50 18, fail 0:10554 2:18527, mount, mount, fail 3:26966, cut 7:27639, write 59, decay 116,
         mount",
    );
}

/// The same, but the copy fades before it is served. A mount that erases the victim to make room for another copy loses
/// the page.
#[test]
fn a_victim_whose_header_decayed_is_no_room() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=21 dies=1 paired-pages=1 mixed-erases page
         blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9 16
         29 31 23 51 13 31 50 18, fail 0:25573 2:5023, mount, mount, fail 3:52683, cut 7:20448, write 59, decay 119,
         mount",
    );
}

/// By cuts alone: a rescue took the last free segment that was not held back, and emptied none. The next mount had
/// nothing to rescue. It emptied a segment into the last free one, and the erase of that was cut. The copy was suspect,
/// there was no place to copy it to, and a header that cannot be read may have decayed.
#[test]
fn cut_mounts_use_up_the_room() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=5 blocks=42 dies=2 paired-pages=1 mixed-erases
         page blocks-per-segment=2 policies=watermark:1:1/windowed-greedy:4/separate-cleaning/none/at-once
         logical-pages=125 endurance=100000 seed=16363726756861764932",
        "write 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122
         123 88 63 123 99 14 95 101 94 35 67 55 43 62 32 87 20 2 70 91 46 123 95 67 6 33 77 3 11 88 38 73 124 33 86
         110 109 49 88 2 9 18 5 47 124 90 51 79 106 14 12 78 3 12 49 120 61 54 44 77 32 8 106 119 89 53 42 16 25 37 65
         124 66 7 103 59 20 77 64 40 46 102 86 69 72 57 64 120 116 34 66 0 45 89 3 59 14 21 29 19 66 25 120 46 16 114
         26 25 69 86 24 36 120 16 31, mount, mount, write 102, mount, cut 6:38087, mount, cut 4:14826, mount, mount",
    );
}
