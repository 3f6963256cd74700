//! Histories that fail where an engine lacks one rule. A search has found them: of changes of the kept histories it
//! keeps those in which the rule decides otherwise, and changes these again.

use super::assert_holds;

/// Failures have left a device read-only, and its newest page is one that a cut has hit. The original that it was
/// copied from holds the same, but its erase had begun, which erased pages and the missing header show (SPEC M5).
#[test]
fn a_read_only_device_leaves_what_is_being_erased() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=27 dies=1 paired-pages=1 mixed-erases
         fading-pairs
         paged blocks-per-segment=1 cache-entries=40
         logical-pages=16 endurance=100 seed=10525485012325229193",
        "write 7 12, discard 10+5, write 11 6 5 13 6, flush, write 12 1 8 5 6 8+3 0 14 1 11, fail 0:1939, write 0,
         fail 0:45498, write 1 1+3, mount, fail 0:22728, write 1 8, mount, write 15, fail 0:55972 2:31145 4:18544
         6:14285 8:9236, mount, fail 10:5013 12:11816, mount, cut 3:10810, write 3, mount",
    );
}

/// Programs and erases fail in mounts that are cut. A rescue that takes one of the segments that are held back empties
/// others, since the next failures may take the rest (SPEC M5).
#[test]
fn a_rescue_empties_others_before_the_last_segment() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=5 blocks=40 dies=1 paired-pages=1 mixed-erases
         paged blocks-per-segment=1 cache-entries=8 policies=cost-benefit,by-handle
         logical-pages=29 endurance=100000 seed=10123785777877491991",
        "write 0 1 2 3 4 5 6 7 8 9 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 10@1 18, mount, write 0,
         mount, write 4 2, mount, write 26 8, mount, cut 3:15810, write 7+4, fail 0:51442, cut 4:40981, mount, fail
         3:62364, mount, fail 3:16842, cut 7:32926, write 15+5, mount, write 19, fail 0:24342 2:62849, write 11,
         mount, fail 1:120, write 23, fail 0:4987 0:29529, mount, write 12, mount, mount, clean 5, mount, cut 4:57790,
         mount, cut 0:3225, fail 4:29631, mount, fail 0:51043, mount, mount",
    );
}

/// A copy decayed, and the other one lies in a victim whose erase was cut. No segment is empty, so that erase had begun
/// (SPEC P5).
#[test]
fn no_segment_is_empty_beside_a_decayed_copy() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=58 dies=2 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=idle:3:4:5/d-choices:3/separate-cleaning/static-threshold:1/at-once
         logical-pages=209 endurance=100000 seed=10005250841478389631",
        "write 0 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73
         74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107
         108 109 110 111 112 113 114 115 116 117 118 119 120 121 124 125 126 127 128 129 130 131 132 133 134 135 136
         137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 156 157 158 159 160 161 162 163
         164 165 168 169 170 171 172 173 174 175 176 177 178 179 180 181 182 183 184 185 186 187 188 189 190 191 192
         193 195 196 197 198 199 200 201 202 203 204 205 206 207 208 89 9 187 169 187 115 99 193 192 61 90 167 115 191
         135 126 28 67 24 80 90 117 187 189 96 1 87 167 100 75 150 137 191 136 192 74 2 97 14 108 21 35 102 22 8 156
         12 1 161 25 191 104 195 67 189 170 145 145 182 156 19 48 24 129 88 170 84 122 151 93 177 120 158 185 205 125
         58 29 107 65 82 200 152 29 207 118 196 142 110 71 118 135 43 92 110 37 21 128 140 206 75 0 172 198 178 121 39
         139 142 195 22 96 121 92 92 89 25 2 134 115 46 116 68 52 18 124 27 48 24 65 174 35 140 192 136 11 182 82 176
         16 206 133 205 191 144 17 64 61 55 145 50 5 3 100 159 187 157 1 108 155 124 87 163 73 3 130 28 24 81 63 170
         184 205 38 41 7 52 69 58 83 50 28 95 154 171 107 47 150 3 129 154 179 49 108 45 202 88 71 90 41 93 129 1 139
         38 106 158 117 168 182 98 47 109 202 203 82 122 154 197 147 10 107 138 17 193 36 14 206 89 17 88 40 165 61 65
         162 168 152 141 120 2 169 163 33 32 49 19 106 28 161 199 30 48 136 77 204 113 203 56 82 158 50 32 152 8 180 6
         129 184 205 18 206 50 11 37 121 99 24 206 21 42 127 99 199 41 75 42 90 143 129 205 189 2 198 63 36 134 195
         170 175 179 114 143 134 9 176 197 177 168 3 141 61 163 20 174 126 30 188 85 145 130 70 165 166 169 55 87 149
         117 6 39 110 4 68 25 109 82 97 97 178 156 27 28 38 203 181 95 92 20 137 71 150 155 60 181 67 3 115 18 21 59
         60 81 81 106 181 7 167 167 40 205 108 168 102 207 139 131 54 0 161 64 187 88 86 145 149 13 104 194 25 148 169
         95 61 192 115 154 193 26 180 60 141 77 198 155 113 82 174 65 11 47 41 82 41 28 35 112 189 26 51 99 104 186 78
         13 146 158 202 14 27 110 112 79 182 100 123 162 20 121 113 119 135 189 28 65 182 41 112 190 180 108 169 188
         61 131 185 208 137 185 79 21 163 133 76 76 13 110 103 39 10 153 39 89 128 37 186 15 124 174 67 135 183 114
         184 43 51 201 204 29, mount, fail 0:31170, discard 126, cut 5:3440, write 68, cut 7:54988, mount, decay 12,
         fail 0:10049 5:30997, mount",
    );
}

/// Of two copies one lies in a segment that is erased in part, and the other in one that was open. The latter is not
/// vacated for the former (SPEC P9).
#[test]
fn a_copy_in_erasure_vacates_no_open_segment() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 37 45 11 24 46 10 0 6 1 15 31 37 47 32 57 45 17 39 47 47 4 45 35 48 59 21 48 48
         36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 40 23 2 42 9 16 29 31 23 51 13 31 50, fail
         0:18208, mount, write 18, fail 2:34140, mount, fail 3:20070, cut 12:44838 7:15259, write 22, fail 1:34593,
         mount, fail 0:32029 5:12764, mount, mount, mount",
    );
}

/// A translation page in what is left of a rescue fades while it is copied. It was not lost: what it was made from
/// counts (SPEC M13).
#[test]
fn a_translation_page_of_a_cut_rescue_fades() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=5 blocks=23 dies=1 paired-pages=1 mixed-erases
         paged blocks-per-segment=1 cache-entries=2 policies=lfs,separate-gc
         logical-pages=11 endurance=100000 seed=13586860122629282858",
        "write 5 9 1 3, mount, write 0 0 2, discard 4+5, fail 2:55810, write 1 1 0 1, mount, write 0 0 0 1 8 0 0, fail
         1:61315, write 6 0 1 0 2 5 1 10 1 4, discard 1+5, mount, write 3 6, fail 1:58680 3:28447, mount, write 8,
         mount, write 0, mount, cut 5:59144, write 0, mount, fail 0:60176, cut 3:1541, write 0, mount, cut 5:51411,
         mount, cut 4:62744, mount, cut 4:4562, mount, fail 3:34522, cut 5:55806, mount, cut 2:21470, mount, mount",
    );
}
