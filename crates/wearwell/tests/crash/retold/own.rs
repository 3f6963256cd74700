//! Histories of this rig's own, with a word for each fault: with each an engine fails that lacks one rule.
//!
//! They are changes of the torture's histories and of [`said`](super::said). A search has found them: of all changes it
//! keeps those in which the rule decides otherwise, and changes these again (`cargo xtask canaries
//! map-earlier-cut map-goes-back map-copied-last no-free-segment read-first primary-gaps`).

use super::History;
use super::said::say;
use super::words::Words;

/// Each with the words of its faults.
const OWN: [(History, &str); 6] = [
    (
        History {
            name: "what_an_earlier_cut_has_left_fades",
            setup: Words(
                "exact nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=27 dies=1 paired-pages=1
                 mixed-erases fading-pairs paged blocks-per-segment=1 cache-entries=40 logical-pages=16 endurance=100
                 seed=10525485012325229193",
            ),
            steps:
                "write 7 12, discard 10+5, write 11 6 5 13 6, flush, write 12 1 8 5 6 8+3 0 14 1 11, fail 0, write 0,
                 fail 0, write 1 1+3, mount, fail 0, write 1 8, mount, write 15, fail 0 5, write 1, mount, fail 0 8,
                 mount, write 9, decay 0 0, mount, mount",
        },
        "0x0 0x0 0x0 0x0 0x1 0x0 0x6 17 16",
    ),
    (
        History {
            name: "a_doubted_copy_is_believed",
            setup: Words(
                "exact nand page-bytes=1024 spare-bytes=16 pages-per-block=16 blocks=42 dies=1 paired-pages=1
                 mixed-erases paged blocks-per-segment=1 cache-entries=3 logical-pages=378 endurance=100000
                 seed=6281186626596238891",
            ),
            steps: "write 112+8, mount, write 162+5, cut 2, mount, mount, write 287, part 200, write 256, part 454 382
                 416, write 315 278, part 557 53, write 341, part 47, mount, write 275 335 67 305, decay 6, mount,
                 mount, write 121 50 48 146, part 734, write 21 107 254 270 319 54, part 717 113+2@1, write 182 6 239
                 373 23 306 7, part 229, write 124 191 250 284 59 270 326 312 318 75 330, fail 1, write 178, fail 0,
                 write 143 314 253 184 26+3 120 365 209, part 225+2@2, write 19 27 37 34 73 96 336 88 20+4, part 118,
                 write 315 209 147 129 221 167 260, part 543, write 333 92 332 218, part 286 38, write 75 147 135+6 93
                 38, fail 0, write 370, part 283, write 93 36 63 22+5 127, mount, mount, write 199 223, mount, write
                 205+4, part 547+2@2, write 12 313 33 203 0 240, mount, write 19+6 46 292 212 112, part 694 644, fail
                 2, part 330+5, write 197, mount, part 290, fail 0 2, write 273+8 269 306 296, part 543, write 299+6,
                 part 624, write 222 255 127 193+8, mount, write 346 330, part 554, write 38 317 228, mount, write
                 352+8, fail 0 2 4 6 8 10 12 14 16, mount, fail 0 2 4, mount, cut 9, mount, fail 0, cut 2, mount,
                 mount, mount",
        },
        "0x0 6 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x9d16",
    ),
    (
        History {
            name: "what_was_copied_last_is_suspect",
            setup: Words(
                "exact nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=27 dies=1 paired-pages=1
                 mixed-erases fading-pairs paged blocks-per-segment=1 cache-entries=40 logical-pages=16 endurance=100
                 seed=10525485012325229193",
            ),
            steps:
                "write 7 12, discard 10+5, write 11 6 5 13 6, flush, write 12 1 8 5 6 8+3 0 14 1 11, fail 0, write 0,
                 fail 0, write 1 1+3, mount, fail 0, write 1 8, mount, write 15, fail 0 2 10 4 6 8 12, mount, cut 3,
                 write 3",
        },
        "0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x26141d",
    ),
    (
        History {
            name: "no_segment_is_empty",
            setup: Words(
                "exact nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=58 dies=2 paired-pages=1
                 mixed-erases page blocks-per-segment=1
                 policies=idle:3:4:5/d-choices:3/separate-cleaning/static-threshold:1/at-once logical-pages=209
                 endurance=100000 seed=10005250841478389631",
            ),
            steps:
                "write 0 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35
                 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69
                 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102
                 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 124 125 126 127 128 129
                 130 131 132 133 134 135 136 137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154
                 155 156 157 158 159 160 161 162 163 164 165 168 169 170 171 172 173 174 175 176 177 178 179 180 181
                 182 183 184 185 186 187 188 189 190 191 192 193 195 196 197 198 199 200 201 202 203 204 205 206 207
                 208 89 9 187 169 187 115 99 193 192 61 90 167 115 191 135 126 28 67 24 80 90 117 187 189 96 1 87 167
                 100 75 150 137 191 136 192 74 2 97 14 108 21 35 102 22 8 156 12 1 161 25 191 104 195 67 189 170 145
                 145 182 156 19 48 24 129 88 170 84 122 151 93 177 120 158 185 205 125 58 29 107 65 82 200 152 29 207
                 118 196 142 110 71 118 135 43 92 110 37 21 128 140 206 75 0 172 198 178 121 39 139 142 195 22 96 121
                 92 92 89 25 2 134 115 46 116 68 52 18 124 27 48 24 65 174 35 140 192 136 11 182 82 176 16 206 133 205
                 191 144 17 64 61 55 145 50 5 3 100 159 187 157 1 108 155 124 87 163 73 3 130 28 24 81 63 170 184 205
                 38 41 7 52 69 58 83 50 28 95 154 171 107 47 150 3 129 154 179 49 108 45 202 88 71 90 41 93 129 1 139
                 38 106 158 117 168 182 98 47 109 202 203 82 122 154 197 147 10 107 138 17 193 36 14 206 89 17 88 40
                 165 61 65 162 168 152 141 120 2 169 163 33 32 49 19 106 28 161 199 30 48 136 77 204 113 203 56 82 158
                 50 32 152 8 180 6 129 184 205 18 206 50 11 37 121 99 24 206 21 42 127 99 199 41 75 42 90 143 129 205
                 189 2 198 63 36 134 195 170 175 179 114 143 134 9 176 197 177 168 3 141 61 163 20 174 126 30 188 85
                 145 130 70 165 166 169 55 87 149 117 6 39 110 4 68 25 109 82 97 97 178 156 27 28 38 203 181 95 92 20
                 137 71 150 155 60 181 67 3 115 18 21 59 60 81 81 106 181 7 167 167 40 205 108 168 102 207 139 131 54 0
                 161 64 187 88 86 145 149 13 104 194 25 148 169 95 61 192 115 154 193 26 180 60 141 77 198 155 113 82
                 174 65 11 47 41 82 41 28 35 112 189 26 51 99 104 186 78 13 146 158 202 14 27 110 112 79 182 100 123
                 162 20 121 113 119 135 189 28 65 182 41 112 190 180 108 169 188 61 131 185 208 137 185 79 21 163 133
                 76 76 13 110 103 39 10 153 39 89 128 37 186 15 124 174 67 135 183 114 184 43 51 201 204 29, mount,
                 fail 0, discard 126, cut 5, write 68, cut 7, mount, decay 12, fail 0 5, mount",
        },
        "0x0 0x60f021 0x010 12 0x0 0x8",
    ),
    (
        History {
            name: "a_page_that_was_read_fades",
            setup: Words(
                "exact nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1
                 mixed-erases page blocks-per-segment=1
                 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once logical-pages=63
                 endurance=100000 seed=14039662212041432986",
            ),
            steps:
                "write 8 57 54 38 24 55 45 53 37 45 11 24 46 10 0 6 1 15 32 34 31 37 47 32 57 45 17 39 47 47 4 45 35 48
                 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 40 23 2 42 9 16 29 31 23 51
                 13 31 50 18, fail 0 2, mount, fail 3, cut 7, write 22, fail 0 5",
        },
        "0x0 0x0 0xb 0x0ce80660 0x0 0x0",
    ),
    (
        History {
            name: "a_gap_in_a_primary_block_lies_in_a_merge",
            setup: Words(
                "exact nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=9 dies=1 paired-pages=1 block
                 blocks-per-segment=1 scheme=primary-replacement recycle=optimal log-blocks=3 wear=swap:1
                 reclaim=at-once logical-pages=23 endurance=100 seed=7733247324407812220",
            ),
            steps:
                "write 0 13 2 1 18 15+5 9 5 4 21, mount, cut 16, write 6+6, mount, write 3 14, discard 18+4, write 13,
                 mount, write 22 10 0, cut 3, mount, decay 0, fail 0, cut 1, mount, decay 0 0, cut 1, mount, decay
                 32094 0, cut 0, mount, decay 19917 58082, mount, write 3, cut 23, write 14+7, mount, decay 38970,
                 mount, decay 49703, cut 3, mount, cut 7, mount, cut 6, mount, mount, cut 3, mount, mount, decay 28081,
                 cut 2, mount, decay 31365 0, mount, cut 4, mount, decay 26840 0",
        },
        "0x0 unwritten 34 0x0 0x0 361 0 seed:628 27 10 0x0 7 28 0x0 10 395 unwritten 0x0 0x0 0x0 28081 0x0
                 31363 49 unwritten 26840 339",
    ),
];

#[test]
fn histories_of_one_rule() {
    OWN.iter().for_each(|(history, words)| say(history, words));
}
