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
