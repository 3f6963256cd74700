//! Histories of the engine with its map on flash.

use super::*;

/// The program of a translation page failed, and a cut hit the next try. What was left of both faded.
#[test]
fn two_versions_that_fade() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=16 blocks=57 dies=3 paired-pages=1
         paged blocks-per-segment=1 cache-entries=2
         logical-pages=551 endurance=100000 seed=1",
        "mount, write 545, discard 544+6, flush, write 536 516, fail 0:247 4:36437, cut 7:46629, write 264, mount",
    );
}

/// The translation page decays behind a shutdown. It is made anew of the tags, and of two copies of a page the newer
/// one counts.
#[test]
fn a_translation_page_is_made_of_the_newest_copies() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=20 dies=1 paired-pages=1
         paged blocks-per-segment=1 cache-entries=40
         logical-pages=20 endurance=100000 seed=1",
        "write 5 5, shutdown, decay 5, mount",
    );
}

/// A mount was cut while it copied, and the next one in the erase of what it had copied to. That left some of the
/// copies, and behind them pages that could not be read: they seemed to show that all had been copied. What was left
/// faded.
#[test]
fn what_an_erase_has_left_of_a_rescue_is_void() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=6 blocks=24 dies=1 paired-pages=1 any-order mixed-erases
         paged blocks-per-segment=1 cache-entries=8
         logical-pages=27 endurance=100000 seed=15595399340107686873",
        "write 7 8 9 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 1 2 1 0 3+7, cut 9:35052, write 3+8, mount, write
         25 1+6 2 1 4 4, cut 0:1143, write 0, mount, write 0, mount, write 2, cut 1:24204, mount, mount, cut 4:14217,
         write 25+2, cut 2:15437, mount, cut 1:15831, mount, cut 0:58481, mount, cut 4:61385, mount, cut 4:25792,
         mount, cut 0:33636, mount, cut 4:1140, mount, mount",
    );
}

/// The same, and all of the copies were left. So the rescue seemed to have ended, and the original was erased before
/// the copy faded.
#[test]
fn what_an_erase_has_left_of_a_rescue_is_copied() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=6 blocks=24 dies=1 paired-pages=1 any-order mixed-erases
         paged blocks-per-segment=1 cache-entries=8 logical-pages=27 endurance=100000 seed=15595399340107686873",
        "write 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 1+5 2 1 0 3+7 3, mount, write 1 3, mount, write
         25 1+6 2 1 4 4 2 0, mount, cut 2:19498, write 4, mount, write 2 3 2 1 3, cut 2:32274, mount, cut 2:52212,
         mount, cut 3:3004, mount, cut 3:15437, mount, cut 1:58481, mount, cut 3:25792, mount, cut 0:33636, mount,
         mount",
    );
}

/// Nothing decays. Four mounts in a row were cut in the padding of a rescue, and each copied once more what the one
/// before it had copied, to an empty segment. The erase of the last one was cut, and no segment was empty for another
/// copy. So what that erase had left was believed, and faded.
#[test]
fn mounts_that_are_cut_use_up_the_empty_segments() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=64 pages-per-block=6 blocks=16 dies=2 paired-pages=1 mixed-erases paged
         blocks-per-segment=1 cache-entries=2 logical-pages=4 endurance=100000 seed=2215308910429334808",
        "write 2 1 2, part 9+4@1, write 1 0 0 2 2 0+2 3 3 3 0 3 1 0 2 2 0 0 3 1 2 3 1, part 9, write 3 3 0 0 0 1 2,
         discard 12+4, flush, part 9, write 3 2 1, part 9+4 14 10+4@2, write 0, cut 27:54584, mount, cut 5:30892,
         mount, cut 5:18564, mount, cut 5:38389, mount, cut 0:63986, mount, mount, cut 5:59144, write 2, mount",
    );
}

/// A translation page decayed behind a cut. What it had did not fit a cache of three entries, so the mount was refused.
#[test]
fn a_translation_page_that_decayed_behind_a_cut() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=4 blocks=54 dies=2 paired-pages=1 paged
         blocks-per-segment=2 cache-entries=3 logical-pages=16 endurance=100 seed=10385239304992045698",
        "write 3 4 5 6 7 8 9 10 11, cut 1:35406, write 7, mount, write 15, decay 8, mount",
    );
}

/// The last translation page of its segment decayed. A cut might have hit such a page, but not this one, and the mount
/// was refused.
#[test]
fn the_last_translation_page_of_a_segment_decayed() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=6 blocks=45 dies=1 paired-pages=1 any-order
         paged blocks-per-segment=1 cache-entries=2
         logical-pages=69 endurance=100 seed=10474780493058745060",
        "write 7 10, shutdown, write 23 6, cut 12:36061, write 3+7, mount, write 6, cut 5:11750, write 4+4, mount,
         write 11, cut 0:46641, write 65, decay 7639, mount",
    );
}

/// A translation page decayed, and the mount made it anew from tags, but only in memory. Its segment was erased, and to
/// the next mount the cache seemed to be too small.
#[test]
fn a_translation_page_that_is_made_anew_twice() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=64 pages-per-block=6 blocks=21 dies=1 paired-pages=1
         paged blocks-per-segment=1 cache-entries=8
         logical-pages=21 endurance=100000 seed=6089130938874670962",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 20 2 0 3, cut 0:20931, write 13, cut 3:5081,
         mount, mount, mount, cut 1:19232, write 2, mount, write 3, mount, cut 2:26917, part 3+4, decay 62082, mount,
         write 2, mount",
    );
}

/// Header and first slot of a segment decayed. The pages that were left of it were served, until the segment was
/// erased.
#[test]
fn a_segment_that_a_translation_page_names_is_in_use() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=32 pages-per-block=7 blocks=42 dies=1 paired-pages=1
         paged blocks-per-segment=1 cache-entries=3
         logical-pages=89 endurance=100 seed=11873218380710829891",
        "write 26 7+3, decay 0, mount, decay 0, mount, write 0, mount",
    );
}

/// Header, first slots and summary of a segment decayed, and the erase with which a mount answered was cut. It left a
/// page that a translation page names. That page was served, until the next write erased the segment.
#[test]
fn a_page_that_a_cut_erase_has_left_is_in_use() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=9 blocks=16 dies=1 paired-pages=1 mixed-erases fading-pairs
         paged blocks-per-segment=1 cache-entries=3
         logical-pages=5 endurance=100000 seed=16801085990931395982",
        "write 0+5 1, decay 46, cut 2:10464, shutdown, decay 59 54 48 46 56 38, mount, decay 56, cut 0:11734, write
         0+5, decay 59 15, cut 0:33966, decay 43, mount, mount, cut 1:9701, write 1, mount",
    );
}

/// A translation page decayed, and a mount made it anew from tags, the suspect page's among them. So the page before
/// that counted for nothing and was erased, and the suspect faded.
#[test]
fn a_translation_page_is_not_made_of_suspects() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=27 dies=3 paired-pages=1
         paged blocks-per-segment=1 cache-entries=300
         logical-pages=33 endurance=100 seed=10418480566356108630",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 1 1+8, discard
         1+5, flush, write 28, mount, write 30 9+4 27 28 13+5 16, mount, write 20 13 19 28, discard 28+3, write 19 13
         3 14 5 25 18 0, discard 3, flush, write 9 32, fail 1:63167, mount, write 7 8 7+7 26, cut 17:29345, write
         21+8, cut 3:20635, mount, mount, write 22 10 28 32 17+6 11 31 13+3 16 25 11 1, cut 1:51644, write 15, mount,
         write 30 23 31 27 11, cut 2:59755, write 0, cut 1:26367, mount, cut 1:53965, mount, cut 1:54918, mount, cut
         0:48729, mount, cut 1:36611, mount, cut 0:9218, mount, cut 0:62517, mount, mount, write 28 3 10 25, mount,
         write 17 18, cut 15:43635, mount, mount, discard 5+4, write 1 13 8 24 14 15 6 17, fail 0:65533, write 32,
         discard 0+3, write 17 22 25, cut 2:61989, write 22, mount, cut 7:62355, write 25+6, decay 6, mount, write 18
         10+4 18, discard 27, cut 5:48667, write 22, mount, fail 2:49719, write 22 21 11 10 21+4, cut 2:9262, write
         16, decay 13642, cut 4:32418, mount, decay 0, cut 1:49786, mount, cut 3:13912, mount, decay 13097, mount,
         write 8, mount, write 12 22 5 11 20 8, fail 0:51881, mount, write 21, cut 1:9783, write 19, mount",
    );
}

/// The newest copy of a page decayed. The place of the older one held the mark of a rescue by now, whose count was the
/// page's number: it was served as the page.
#[test]
fn the_mark_of_a_rescue_is_no_page() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=5 blocks=17 dies=1 paired-pages=1
         paged blocks-per-segment=1 cache-entries=40
         logical-pages=6 endurance=100000 seed=1958335098728321369",
        "write 0 1 2 3 4 5 3 1 1 4 0 0 0, discard 3+3, write 5 0 0 0+4 4 0 1 0 0 3 0 0 0 3 0 3+3 0+4 3 0 0 0+6,
         discard 3+3, write 0 5 0+2 0 0 1 0 0 0 3 0 5 0 0 5 0, discard 1+4, write 3 1 0 0 5 3 0 2 5, discard 0+3,
         write 0 0 0 2 0 0 4 1 0 2 4, discard 5, write 0 4 3 0 0 0 0 0 0 2 0 0 5 5 5 3 3+3 1 4 4+2 0 3 2 0 4 0 3 4+2 3
         4 0 2 0 5, discard 3+2, write 3 0, cut 3:36171, write 4, mount, cut 0:43214, write 5, mount, write 0, cut
         0:32070, write 5, mount, cut 2:11978, write 0, mount, cut 1:38288, write 2, mount, write 5, discard 3+3,
         write 2 0 2 0 4 4+2 0 0 0 2 0 4 0 4 0, fail 5:39328, write 0+4, fail 3:21905, write 0+6 0 2 0 0 0 4 2,
         discard 0+3, write 0 0 4, discard 0+5, write 2 0, clean 6, write 4 0+4 0 3 0 0, cut 2:63666, write 0, decay
         2, mount, write 0 0 5 0, decay 7, discard 4+2, decay 3, write 1 0 4 2 3 0 2 1, discard 2+4, write 0 2 2 5,
         discard 0+5, write 0 0 4 5 0 5 4, discard 0+2, write 0, fail 1:28059, clean 2, write 0 0 3 0 3+2 2 0 0 3 0 0
         2, cut 7:15891, write 0+2, decay 30559, mount, write 0 0 3 0 0, fail 2:18963, mount, write 0, verify",
    );
}

/// A cut hit the padding behind what a mount had copied. The last copy decayed, and the padding faded: nothing showed
/// any more that the mount had copied all, and all copies went with the one.
#[test]
fn a_page_that_a_mount_copied_decays() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=32 pages-per-block=12 blocks=28 dies=1 paired-pages=1
         paged blocks-per-segment=1 cache-entries=300
         logical-pages=127 endurance=100000 seed=1021749091225978779",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73
         74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107
         108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 65 8, decay 10286, write 9 9 32,
         part 24, write 23 97, part 47+5@1 252, write 44+7 5 116 98+5 56 114 21 9, discard 75+9, write 15 8, part 103,
         write 16 11, clean 4, write 19, decay 61618, write 20 14, discard 39+12, write 7 59, discard 44+10, write 6,
         discard 184+5, write 19 99 48 19 25, decay 5360, write 7 52 15 1 121, part 85+3@2, write 90 11 52 22+6 105 66
         16 26, decay 8, cut 3:31210, write 23, decay 28154, cut 1:27649, mount, cut 4:31646, mount, cut 4:30113,
         mount, cut 1:58209, mount, decay 5, cut 2:32437, mount, cut 0:22898, mount, decay 36526, cut 2:3528, mount,
         cut 3:18906, mount, cut 2:30506, mount, cut 0:45587, mount, cut 2:40089, mount, cut 5:19282, mount, mount,
         part 29, write 5 101 11 84, part 34, write 109+4 52 24 19 24, part 68, write 21 7, part 115, write 18,
         discard 10+11, write 21 39 55 109 0, discard 36+7, write 29, part 35, write 3, decay 14555, write 2, part
         171+4@2 172, write 92 73+7 21 126 11 46 109+2 10 76 28, discard 161+9, write 9 32 65, part 26+6@2, write 57
         23, discard 2+7, write 118 113 2 95 18, part 28, discard 98+6, write 10 22 11 93+7 22 20, part 85+6@2, write
         108 2 98, part 27+2@1, discard 40+3, write 9 0 4 11, part 9+2@2, write 66 4 10 22, discard 46+6, part 19+6@2,
         write 8, part 19 35, write 22 20 70 16+3 70 92, part 132, write 16+4, cut 5:17935, write 21+4, cut 1:35762,
         mount, cut 1:56020, mount, mount, write 0 112 91 13 59+7 109 56, part 49+2, write 9 47 7 20 125 5 9, discard
         38+9, write 22 14 87, discard 204+7, cut 11:29170, write 19+8, mount, write 12 1, cut 7:64605, write 16+3,
         cut 0:52102, mount, mount, write 6 82 6 24, part 159+2, write 30 15, discard 180+9, write 7 12 2 5 18+6,
         decay 25433, part 11+2@2, verify",
    );
}

/// The same, and what the other copies were made from was erased. The model allowed that they are lost.
#[test]
fn a_flushed_page_behind_pages_that_decay_and_cut_mounts() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=16 blocks=34 dies=1 paired-pages=1
         paged blocks-per-segment=1 cache-entries=8
         logical-pages=266 endurance=100 seed=200355781157960197",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73
         74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107
         108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 131 132 133 134
         135 136 137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 156 157 158 159 160 161
         162 163 164 165 166 167 168 169 170 171 172 173 174 175 176 177 178 179 180 181 182 183 184 185 186 187 188
         189 190 191 192 193 194 195 196 197 198 199 200 201 202 203 204 205 206 207 208 209 210 211 212 213 214 215
         216 217 218 219 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237 238 239 240 241 242
         243 244 245 246 247 248 249 250 251 252 253 254 255 256 257 258 259 260 261 262 263 264 265 70 98, cut
         6:36515, write 21+8, mount, write 1 29 146 51 57 28 230 18 247 35, mount, write 21 29 32 24 21 185, discard
         54+2, write 35 136 175 30 8 33 256 47 16+7 30+8 244 242 225 9 111 5 8 175 29 43 167+6, discard 126+3, write
         121, decay 42869, write 189 27 28 76 210 200 218, cut 1:32500, write 5, mount, write 34, decay 7, write 40 9
         1 50+3 5 4 31 44 35 96 41 10 29, decay 7, clean 2, write 117, cut 6:45517, write 35, fail 18:482, cut
         35:29605, mount, decay 45364, cut 1:14769, mount, decay 23798 46905, mount",
    );
}

/// Programs failed in a mount that could take empty segments only, and there was one.
#[test]
fn failures_in_a_mount() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=64 pages-per-block=7 blocks=35 dies=1 paired-pages=1
         paged blocks-per-segment=1 cache-entries=2
         logical-pages=9 endurance=100000 seed=1",
        "mount, fail 0:15282, write 5, fail 0:60764 4:55447, write 3+6, mount, write 7, fail 0:26204, write 4 0,
         mount, write 0 3, fail 1:28907 4:28763, part 11, write 4, fail 0:5332 2:22508, part 20, write 1 6 2 7 1,
         mount, write 6, part 26, write 0, mount, part 4, mount, write 5, mount, fail 0:33927 2:47907, write 4, mount,
         mount, fail 0:58003, write 7, fail 0:16354, mount",
    );
}

const SMALL: &str = "nand page-bytes=512 spare-bytes=16 pages-per-block=8 dies=1 paired-pages=1
     paged blocks-per-segment=1 endurance=100000 seed=1";

/// Pages to be written.
fn listed(pages: impl Iterator<Item = u32>) -> String {
    pages.map(|page| page.to_string()).collect::<Vec<_>>().join(" ")
}

/// Each write survives as many failures in a row as there are segments to spare, wherever the cleaner is. What one row
/// has used up is there again for the next.
#[test]
fn failures_in_a_row() {
    let setup = format!("{SMALL} blocks=48 cache-entries=4 logical-pages=100");
    let row = "fail 0:1 1:1 2:1 3:1, write 5 6";
    for writes in 100..300 {
        let (first, again) = (listed(0..100), listed((0..writes).map(|index| index * 37 % 100)));
        assert_holds(&setup, &format!("fail 0:1, write {first} {again}, {row}, {row}"));
    }
}

/// A shutdown was cut in the summary behind the newest translation page. A mount could read it, and erased the older
/// translation page. Then the summary faded, and the newer page seemed to be the one that the cut had hit.
#[test]
fn a_summary_that_fades() {
    let setup = format!("{SMALL} blocks=40 cache-entries=40 logical-pages=60");
    // These fill a segment of translation pages.
    let full = format!("write {}, discard 1, flush, discard 2, flush, discard 3, flush", listed(0..13));
    for (shutdown, draw) in (0..4).flat_map(|after| (0..60).map(move |draw| (after, draw))) {
        for erase in 0..3 {
            let cut = format!("write 5, cut {shutdown}:{draw}, shutdown, mount");
            assert_holds(&setup, &format!("{full}, {cut}, cut {erase}:1, write 20, mount, verify"));
        }
    }
}

/// A mount moved as many pages as a segment takes, and left more entries in the cache than there may be in service. The
/// next one moved as many again, and had no room for their entries.
#[test]
fn entries_of_two_mounts() {
    assert_holds(
        "nand page-bytes=2048 spare-bytes=64 pages-per-block=64 blocks=24 dies=2 paired-pages=1 any-order
         paged blocks-per-segment=1 cache-entries=8
         logical-pages=558 endurance=100000 seed=1",
        "write 30 65 78 102 104 0, part 133, write 95 105 322 79, part 407+3@2, write 56+5 45 20, part 109, write 36+4
         45+4 19 55 24, part 291+4@2, write 51 58, part 105 270+3 50+4@1, write 93 97+3, part 419, write 74 105 89 90
         46 78 54 314 10, part 30+3, write 87 78 79+2 99 24 50+4 97 42 45, mount, write 475+2 98 15, part 90, write
         101 100 32, mount, write 113, part 344, write 72 33 27 10 36 7 82 191 70+2 3, part 242, write 59 519 457 102
         62 99, part 226+3@2, write 54 103 55 99 70 12 88 1 19 265 30 92, part 1790+3@1, write 82 11+3 95 1 74 1+7
         523+7 47 1 46 17, fail 1:20192, part 143+3@2, write 14 3, part 366+3@2, write 55 16 0 529 58 94 108 68, part
         415+4 297, write 78+7, part 420+9@2, write 7, part 277, write 21 41 105 88 76 70 81 384 19 8, fail 0:41888,
         part 1980 375, write 5 32 54 75 20, cut 5:6935, part 106+3@2, mount, write 102+5, mount, part 253, mount,
         write 37, mount, write 470, fail 39:47539 41:49724 57:37284 58:49031 72:36648, mount, write 80 56 74, part 74
         260, write 73, discard 1047+24, flush, write 507, part 258, write 77, fail 0:12807, write 16 32 373 75 104,
         part 15+3@1, write 54 27, part 291+4@2, fail 1:43532, write 33+2 49 32 28, part 104, cut 8:59426, write 48+7,
         mount, write 32, part 261+4, write 65+7 7 62 90 389 102 74 86 84 40 11 21 101, part 381+4@1 324, write 32 34
         92 56 100 11, part 116, write 47 106+4 70 48 99 24 73, fail 0:34523, write 48 93, mount, cut 4:60269, write
         44, mount",
    );
}

/// Programs failed in mounts and in first pages of segments, until nothing but such segments seemed to be empty.
#[test]
fn failed_segments_that_look_empty() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=32 blocks=54 dies=3 paired-pages=1
         paged blocks-per-segment=1 cache-entries=2
         logical-pages=76 endurance=100 seed=5954893866063270089",
        "write 74 75, mount, write 13, mount, mount, write 53+7, mount, mount, write 3 5, mount, write 1, mount, write
         45 10 14, mount, write 23, mount, write 75, cut 8:29854, mount, cut 12:35464, mount, fail 4:55797, mount,
         write 31 55, mount, write 1, mount, mount, write 39 68, fail 19:54008, mount, write 61 14, mount, write 53 6,
         fail 1:23286, mount, write 9, mount, write 7 0 13, fail 3:65278 8:2376, mount, fail 3:43176, write 9, fail
         8:2243, mount, fail 2:31272, write 38, fail 2:1480 5:33990 8:7284, mount, write 5, cut 4:35614, write 5+5,
         mount",
    );
}

/// A mount copied the suspect page alone to one of the last free segments, though a cut had left half of the others in
/// the middle of cleaning, and two programs failed.
#[test]
fn failures_where_few_are_free() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=64 pages-per-block=16 blocks=152 dies=4 paired-pages=1
         paged blocks-per-segment=2 cache-entries=40
         logical-pages=1415 endurance=100 seed=14771038111933563210",
        "write 0+1415 108@1 157@1, clean 3, discard 427+2, write 457, read 660, write 514@1 187@2!, cut 0:22558, write
         515, mount, write 1232 683@2 81@1 166@11 271@37, cut 0:38967, write 1208@1, cut 1:49650, mount, cut 1:48575,
         mount, cut 1:26997, mount, cut 0:3759, mount, cut 0:48061, mount, mount, write 130 6@2, flush, write 90 113@2
         1318@1 1063@1!, cut 0:53719, write 130@1, cut 4:9594, mount, cut 4:62453, mount, mount, write 66@39 276@17
         227@38 280 125@2 977@2 944+7 58, discard 1145+5, write 155, cut 0:61241, write 237@2, mount, write 276 58@1
         3, flush, write 647@2, fail 3:29342, write 1193+8@3 1272@2, clean 6, cut 0:4531, write 12, cut 1:38898,
         mount, cut 0:34084, mount, cut 1:32905, mount, fail 0:17315, cut 1:61474, mount, cut 0:26121, mount, cut
         1:59868, mount, cut 1:270, mount, mount, write 252+4, cut 14:28302, write 219+7!, mount, cut 2:41321, write
         807@1!, mount, discard 261+4, cut 1:31957, write 208@2!, mount, write 906+7@1 960+2@1! 645@2 208@2 1202 218,
         flush, discard 1313+5, write 164@21 1249 158@1, read 197, cut 1:28428, flush, mount, cut 2:59007, write 1013,
         mount, write 91@2 87@2 194+2@3, flush, cut 5:61795, write 247+7@1, fail 10:62775, cut 17:46109, mount, fail
         2:54309, mount, write 293@4 122! 102@1 151@2 181@2 224@1! 199 1380 36@2, discard 1278+6, write 18 428@1,
         discard 82+2, write 53@1, discard 1101+3, write 51@1 703 896, fail 0:20453, write 975@1, discard 560+2, cut
         4:9093, write 163@9, mount, write 143@2 1183@1 127@2 1392 337@1, read 106, write 475@1 45@1 1262@1 280@2
         1159@1 1354@2 617@1 90@2 10@2 110@1 150, read 75, write 51@2 356@36 112 102@30 105 4 58, fail 0:44533, write
         145@1 176@1 86 95@10 773@2 886@2 0@3, fail 1:31597, write 454@1 1076@1, read 1300, discard 1241+6, flush,
         write 16@2, discard 164+5, write 80@1 239@1 3@1 74+4@2 1403@2, flush, verify, cut 2:62564, mount, cut
         3:54989, mount, cut 0:10666, mount, cut 5:58578, mount, cut 0:38163, mount, cut 0:50880, mount, cut 3:42725,
         mount, cut 1:51631, mount, mount, flush, cut 19:26312, write 528+6@4, cut 2:5400, mount, fail 6:44159, cut
         14:15908, mount, cut 17:60754, mount, cut 9:9660, mount, cut 0:46907, mount, cut 4:18364, mount, cut
         18:13769, mount, mount, fail 3:48924, cut 26:26955, write 271, cut 1:46028, mount, mount, cut 1:35683, write
         224+6@3, mount, cut 20:11735, write 1141@2, cut 6:39665, mount, mount, fail 1:45645, cut 14:36192, write
         156@2, cut 11:4722, mount, mount, cut 18:44172, write 1272@1, mount, cut 1:19692, write 140@30, mount, flush,
         cut 6:43691, write 241@2, fail 14:44542, cut 25:5310, mount, fail 18:5054, mount, write 97@2",
    );
}

/// The mark of a rescue decays, and all of its padding. It was taken for one that had not ended.
#[test]
fn a_rescue_without_its_mark_and_padding() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=26 dies=2 paired-pages=1
         paged blocks-per-segment=1 cache-entries=2
         logical-pages=14 endurance=100000 seed=3081715124525163431",
        "write 0 1 2 6 7 8 9 10 11 12 13 1 8 1 0 7, mount, write 0 0 1 0 2+3 1 0 0, mount, cut 11:13585, write 0+7,
         mount, cut 7:3104, write 1+7, mount, write 1, fail 0:12475, write 0, fail 0:24539 2:54551 4:6736, mount,
         write 1, cut 4:669, mount, fail 4:64430, mount, write 0, mount, write 9 0+3, mount, write 1, decay 3 3 1,
         mount",
    );
}

/// A translation page decays that only a summary names, which a cut had hit. A mount gathered its entries and wrote
/// none; the summary faded, and the next one found an older version.
#[test]
fn gathered_entries_are_written() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=5 blocks=180 dies=4 paired-pages=1
         paged blocks-per-segment=1 cache-entries=2
         logical-pages=19 endurance=100000 seed=14193426109942845173",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 2 2 0, mount, write 0 1 0 9 0, cut 2:51845, mount,
         mount, write 0 0 2 12 0, discard 1+3, write 2 0 1 0 1 0 2 0, cut 1:23171, discard 10+3, mount, fail 0:30379,
         cut 1:43410, write 2, decay 51833, mount, mount",
    );
}

/// A rescue is cut, and then the page fades that its copy was made of, so that the next mount serves an older one. The
/// mark decays behind that, and the copy would count.
#[test]
fn a_mount_erases_what_is_left_of_a_rescue() {
    for decayed in 0..12 {
        assert_holds(
            "nand page-bytes=512 spare-bytes=32 pages-per-block=8 blocks=24 dies=1 paired-pages=1
             paged blocks-per-segment=1 cache-entries=2
             logical-pages=14 endurance=100000 seed=1",
            &format!("write 0, flush, cut 0:29, write 0, cut 3:2, mount, mount, decay {decayed}, mount"),
        );
    }
}

/// A page decays behind a translation page with a discard. That looked like one that a cut had hit, and a new version
/// was made of what was there before it.
#[test]
fn a_page_decays_behind_a_translation_page() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=6 blocks=18 dies=1 paired-pages=1 paged
         blocks-per-segment=1 cache-entries=2 logical-pages=10 endurance=100000 seed=5704562180913872093",
        "write 0+3, flush, discard 2, write 0, cut 6:31123, write 3, decay 10, flush, cut 1:5778, mount, mount, mount",
    );
}

/// A segment has lost its header and its first page. It was revived for the second, and the first was taken off its
/// count, though it had not been counted: it was erased.
#[test]
fn what_is_passed_over_in_a_revived_segment_is_counted() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=8 blocks=28 dies=1 paired-pages=1 mixed-erases
         paged blocks-per-segment=1 cache-entries=2
         logical-pages=9 endurance=100000 seed=2193274085097183860",
        "mount, cut 6:56160, write 0+3, decay 0, mount, decay 0, mount, write 2, mount",
    );
}

/// The same, where a rescue takes the page off the count.
#[test]
fn a_rescue_in_front_of_a_revived_segment() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=22 dies=1 paired-pages=1 mixed-erases paged
         blocks-per-segment=1 cache-entries=2 logical-pages=11 endurance=100000 seed=10445032940659358318",
        "write 0+3, flush, mount, decay 11, decay 29, cut 1:47359, write 0, mount, write 3, decay 0, mount, write 2,
         flush, cut 8:33151, write 0, write 4+2, cut 6:44149, write 2, mount, mount",
    );
}

/// The mark of a rescue has a count in place of a page's number. Taken for that page, it was served, or what it seemed
/// to hold was lost.
#[test]
fn a_mark_is_no_page_of_a_small_device() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=5 blocks=17 dies=1 paired-pages=1
         paged blocks-per-segment=1 cache-entries=40
         logical-pages=6 endurance=100000 seed=1958335098728321369",
        "write 0 1 2 3 4 5 3 1 1 4 0 0 0, discard 3+3, write 5 0 0 0+4 4 0 1 0 0 3 0 0 0 3 0 3+3 0+4 3 0 0 0+6,
         discard 3+3, write 0 5 0+2 0 0 1 0 0 0 3 0 5 0 0 5 0, discard 1+4, write 3 1 0 0 5 3 0 2 5, discard 0+3,
         write 0 0 0 2 0 0 4 1 0 2 4, discard 5, write 0 4 3 0 0 0 0 0 0 2 0 0 5 5 5 3 3+3 1 4 4+2 0 3 2 0 4 0 3 4+2 3
         4 0 2 0 5, discard 3+2, write 3 0, cut 3:36171, write 4, mount, cut 0:43214, write 5, mount, write 0, cut
         0:32070, write 5, mount, cut 2:11978, write 0, mount, cut 1:38288, write 2, mount, write 5, discard 3+3,
         write 2 0 2 0 4 4+2 0 0 0 2 0 4 0 4 0, fail 5:39328, write 0+4, fail 3:21905, write 0+6 0 2 0 0 0 4 2,
         discard 0+3, write 0 0 4, discard 0+5, write 2 0, clean 6, write 4 0+4 0 3 0 0, cut 2:63666, write 0, decay
         2, mount, write 0 0 5 0, decay 7, discard 4+2, decay 3, write 1 0 4 2 3 0 2 1, discard 2+4, write 0 2 2 5,
         discard 0+5, write 0 0 4 5 0 5 4, discard 0+2, write 0, fail 1:28059, clean 2, write 0 0 3 0 3+2 2 0 0 3 0 0
         2, cut 7:15891, write 0+2, decay 30559, fail 2:18963, mount, write 0, verify",
    );
}

/// A translation page decays while a victim is emptied, behind the step that looked a discarded page up. It is made
/// anew, and the page comes back. But the victim was erased, since the count of its pages did not show that.
#[test]
fn what_comes_back_in_a_victim_is_moved() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=16 blocks=105 dies=3 paired-pages=1
         paged blocks-per-segment=3 cache-entries=300
         logical-pages=808 endurance=100 seed=6570162162804799208",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34
         35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68
         69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101
         102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126
         127 128 129 130 131 132 133 134 135 136 137 138 139 140 141 142 143 144 145 146 147 148 149 150 151
         152 153 154 155 156 157 158 159 160 161 162 163 164 165 166 167 168 169 170 171 172 173 174 175 176
         177 178 179 180 181 182 183 184 185 186 187 188 189 190 191 192 193 194 195 196 197 198 199 200 201
         202 203 204 205 206 207 208 209 210 211 212 213 214 215 216 217 218 219 220 221 222 223 224 225 226
         227 228 229 230 231 232 233 234 235 236 237 238 239 240 241 242 243 244 245 246 247 248 249 250 251
         252 253 254 255 256 257 258 259 260 261 262 263 264 265 266 267 268 269 270 271 272 273 274 275 276
         277 278 279 280 281 282 283 284 285 286 287 288 289 290 291 292 293 294 295 296 297 298 299 300 301
         302 303 304 305 306 307 308 309 310 311 312 313 314 315 316 317 318 319 320 321 322 323 324 325 326
         327 328 329 330 331 332 333 334 335 336 337 338 339 340 341 342 343 344 345 346 347 348 349 350 351
         352 353 354 355 356 357 358 359 360 361 362 363 364 365 366 367 368 369 370 371 372 373 374 375 376
         377 378 379 380 381 382 383 384 385 386 387 388 389 390 391 392 393 394 395 396 397 398 399 400 401
         402 403 404 405 406 407 408 409 410 411 412 413 414 415 416 417 418 419 420 421 422 423 424 425 426
         427 428 429 430 431 432 433 434 435 436 437 438 439 440 441 442 443 444 445 446 447 448 449 450 451
         452 453 454 455 456 457 458 459 460 461 462 463 464 465 466 467 468 469 470 471 472 473 474 475 476
         477 478 479 480 481 482 483 484 485 486 487 488 489 490 491 492 493 494 495 496 497 498 499 500 501
         502 503 504 505 506 507 508 509 510 511 512 513 514 515 516 517 518 519 520 521 522 523 524 525 526
         527 528 529 530 531 532 533 534 535 536 537 538 539 540 541 542 543 544 545 546 547 548 549 550 551
         552 553 554 555 556 557 558 559 560 561 562 563 564 565 566 567 568 569 570 571 572 573 574 575 576
         577 578 579 580 581 582 583 584 585 586 587 588 589 590 591 592 593 594 595 596 597 598 599 600 601
         602 603 604 605 606 607 608 609 610 611 612 613 614 615 616 617 618 619 620 621 622 623 624 625 626
         627 628 629 630 631 632 633 634 635 636 637 638 639 640 641 642 643 644 645 646 647 648 649 650 651
         652 653 654 655 656 657 658 659 660 661 662 663 664 665 666 667 668 669 670 671 672 673 674 675 676
         677 678 679 680 681 682 683 684 685 686 687 688 689 690 691 692 693 694 695 696 697 698 699 700 701
         702 703 704 705 706 707 708 709 710 711 712 713 714 715 716 717 718 719 720 721 722 723 724 725 726
         727 728 729 730 731 732 733 734 735 736 737 738 739 740 741 742 743 744 745 746 747 748 749 750 751
         752 753 754 755 756 757 758 759 760 761 762 763 764 765 766 767 768 769 770 771 772 773 774 775 776
         777 778 779 780 781 782 783 784 785 786 787 788 789 790 791 792 793 794 795 796 797 798 799 800 801
         802 803 804 805 806 807 124+6@2! 78@2 201@8 147, flush, write 134@32, flush, flush, write 93@2! 130@1
         130@2 70 12@1 325@1 80@7 154@2 98 714@1 95+6@2 22@1, discard 421+6, flush, write 92@2! 744@2, clean
         5, write 166+4@2 29@1, decay 52944, write 108@1 372@28! 672@2 40@2 763@2 115@1 666@2 232@2 73@2 253@1
         82 735@2 692@8, flush, write 64+3@2 150@2 634, read 657, write 504 422@23 492@39 158@1, flush, write
         174 448@2 758@1 19@1 155@2 101 88, read 65, write 774@28 56@39 299@1 555@3 69@1 260@2, discard 470+4,
         write 71+5@4 49@2 402@26!, discard 749+2 627+5, write 150 719@4 785 33 566@2 68@2 85+3, flush, write
         69@1 640@1, discard 327+3 769+4, write 26@11 419@18 472 193@1 146@1 116@2 14@2 571@1 588@1! 41@2,
         discard 739+3, write 20@2 73@36 104@2 22@13, flush, discard 39, read 130, write 50+7@4 79@2 152@2,
         flush, write 72 134@15 109@32 130@1 57@2, flush, read 5, write 74@2 47, flush, write 586@2 415 139@7,
         flush, write 35@1 498 269@2 634 74! 134 127 736@2 16 87@1, read 115, write 324@2 624+5@1 511@24!
         109@2 53@1, discard 55+5, write 89@2 473+5@2 338 122 785@26 56@2 74@1 439@2 351, discard 625, write
         518 619! 77 96@2, discard 20+5, decay 30719, write 638@2 287@2! 306 739@1, read 792, write 623@16
         479@2 113@2 316@7 3@26 6 141@2 116@2 529@1!, read 47, write 84+3@4! 18@19 71@1 618 6 16@2!, flush,
         write 90! 117@22 12@6 103@2 398@3 622@2, flush, write 739@1, cut 1:11025, write 47@2, decay 64321,
         cut 5:57891, mount, cut 4:56743, mount, mount, write 60@39 231@1, cut 0:35629, write 10@2, decay
         43826, mount, flush, write 35@2 253 119@38 82@1 126 97@2! 38@26, flush, clean 7, write 724@2 15
         130@33 328@2 309@1 779 16@2, read 100, discard 144+5 42+5, decay 61838, read 38, flush, discard
         124+2, decay 63579, write 75@31, cut 1:36917, write 94@1!, cut 12:2884, mount, mount, write 352@1 123
         5@27, decay 59181, write 80 111, flush, flush, decay 37319, write 77@2, flush, write 37 708@2 97@1
         102@2 43@2 34, flush, write 227+3@4, discard 393+3 159+4, write 61, read 142, write 155 295 230+6@2
         583@1 79 135@13 597@2 96@2, flush, decay 53703, write 692 58@2, discard 398, write 45@2 42@1 76@1
         146@2! 17, flush, write 53@1 236, discard 281, write 64@36 159@2 26@2, decay 34724, flush, write
         720@1! 71, flush, write 27@1 779 71@1, verify",
    );
}

/// The same when the victim has been looked at to its end, and a translation page is gathered while the cache is
/// written.
#[test]
fn what_comes_back_behind_the_last_look_is_moved() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=10 blocks=120 dies=1 paired-pages=1
         paged blocks-per-segment=1 cache-entries=40
         logical-pages=600 endurance=100000 seed=103843",
        "write 0+600, flush, write 76 331 146 0 253 300 191 82 437 305 30 93 505 479 6 442 69 392 46 421 306
         192 384 294 376 158 153 522 407 485 463 73 32 321 71 232 55 101 277 89 423 587 171 414 13 425 518 459
         483 266 133 153 131 230 481 341 132 459 300 347 485 207 147 41 358 405 219 183 564 433 136 547 314
         168 271 386 591 219 289 117 40 538 92 409 525 427 469 360 0 571 82 214 405 522 270 459 25 508 582 424
         349 515 161 537 406 108 74 496 470 455 208 10 341 460 92 81 540 375 555 227 355 532 335 389 484 473
         272 391 205 334 170 278 86 508 2 116 376 103 339 136 484 3 91 487 346 1 476 340 250 221 228 201 207
         154 463 337 6 333 235 146 156 321 417 163 10 546 366 516 419 1 78 372 126 394 480 466 123 134 87 92
         426 261 170 391 21 534 305 323 332 426 436 378 508 1 173 293 81 577 296 226 260 599 121 42 489 77 217
         308 431 167 55 262 282 581 167 421 570 182 540 355 204 523 341 225 195 554 590 209 35 279 382 462 360
         78 23 521 87 149 357 263 270 439 320 324 269 443 322 181 241 37 124 130 266 484 324 80 242 41 76 70
         77 579 520 460 27 146 265 295 35 276 364 279 419 87 351 265 236 202 495 188 333 533 122 193 134 95
         303 500 168 81 111 71 111 80 295 63 175 383 586 523 61 343 200 393 592 418 21 217 161 113 281 138 178
         518 464 47 224 47 90 365 125 249 190 459 227 521 78 435 128 421 125 241 415 525 185 79 111 251 437
         206 536 48 368 58 311 357 243 519 24 418 492 354 70 250 583 505 261 128 137 338 284 353 308 361 299
         571 264 77 108 215 505 179 433 123 523 103 165 245 358 283 291 290 199 574 280 3 26 362 169 147 575
         312 533 103 565 587 20, discard 20, write 104, discard 173+3, flush, write 421, discard 421, write
         159, clean 5, flush, write 392 503 51 217, flush, write 56, decay 53436, clean 4, discard 290+8,
         flush, write 12, discard 12 115+7 188+2, write 107 157, discard 157, flush, discard 107, write 586,
         decay 23935, discard 586, write 186 331 110 373, decay 45023, discard 373, clean 5, flush, write 432,
         discard 280+4, clean 3, write 32 11, discard 327+5, write 344 201, flush, decay 9260, discard 154+4
         201, write 48, discard 361+6, flush, clean 3, decay 15113, discard 108+7 48, write 488, clean 2,
         discard 156+3 488, decay 17477, write 465 169, discard 182, write 116 275 574, clean 2, discard
         224+3, clean 2, write 22 319, clean 3, discard 354+5, write 404 458, discard 575+9 458 88+6 404,
         decay 29610, clean 4, discard 308, write 315 313, decay 2242, write 234 544 39, flush, discard 488+4
         586+4, write 117, flush, write 430, discard 251+6, write 361, clean 5, write 231 555, verify",
    );
}

/// What a cut erase had left of a rescue was the newest copy of a page, and faded between two looks of a mount. What
/// was looked at next took its place, and was older than what it had taken the place of.
#[test]
fn the_newest_copy_fades_between_two_looks() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=7 blocks=23 dies=1 paired-pages=1 mixed-erases
         paged blocks-per-segment=1 cache-entries=40
         logical-pages=37 endurance=100000 seed=16107014232674703079",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 33 5 17 0
         23 29 10 31 23 18 2 2 5 3 4 23 21 20 30 20 24 21 16 20 26 30 22 16 24 13 29 19 6 24 33 4 19 19 33 10 34 19 35
         5 1 12 13, flush, cut 0:44072, mount, cut 3:59992, mount, cut 0:2373, mount, mount",
    );
}

/// The same of a segment whose summary fades, with the newest copy decayed.
#[test]
fn a_summary_fades_between_two_looks() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=7 blocks=27 dies=1 paired-pages=1
         paged blocks-per-segment=1 cache-entries=300
         logical-pages=50 endurance=100000 seed=1338274834291525159",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 10 12 20 14 0 1 9 11 1 12 38 25 42 9 2 25 30 39 24 36 8 42 43 18 19 49 47
         47 22 33 25 21 1 11 49 32 20 17 33 3 10 36 41 46 37 4 33 46 27 18 10 46 38 37 37 42 45 0 18 40 3 41 26 49 2
         41 36 28 33, cut 2:47831, write 34, mount, decay 30, mount, mount, mount",
    );
}

/// A mount was cut that had erased the segment with the version before the last translation page, which looked like a
/// suspect once the one behind it had faded. No segment was left to copy it to, and what was discarded came back.
#[test]
fn the_translation_page_before_the_suspect_looks_like_one() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=8 blocks=20 dies=1 paired-pages=1
         paged blocks-per-segment=1 cache-entries=2
         logical-pages=6 endurance=100000 seed=2265484861610973952",
        "write 0+6, discard 1, flush, write 3 5 4 0, cut 1:27645, write 2, cut 5:19180, mount, fail 1:28013 3:46995
         5:64928 7:30900 9:39639 11:9136 13:63517 15:44505 17:22997 19:56584 21:11899 23:22647 25:57187 27:8420
         29:15711, mount",
    );
}
