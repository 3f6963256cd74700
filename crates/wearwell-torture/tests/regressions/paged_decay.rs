//! The map on flash, where pages decay.

use super::assert_holds;

/// The newest copy of a page decayed, and the erase of the segment with the copy before it was cut. That copy was
/// served, since a translation page names it, and faded behind three mounts.
#[test]
fn many_pages_decay_between_cut_writes() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=4 blocks=144 dies=4 paired-pages=1 any-order mixed-erases
         paged blocks-per-segment=4 cache-entries=2 logical-pages=6 endurance=100000 seed=14697750483675032649",
        "write 0 1 2 3 4 5 0 0 0 0, mount, write 0 0 0 0 0, cut 1:48632, write 0+6, decay 21675, mount, cut 2:21621,
         write 0, decay 4 0 0, mount, decay 48271, cut 0:45856, write 0, decay 39640, mount, decay 5, fail 0:62564,
         cut 5:25636, write 0, decay 0 3 18525, mount, write 0, cut 0:54596, write 0, decay 3, mount, cut 2:45120,
         write 0, decay 1 1 34307, mount, mount, mount",
    );
}

/// The same, with fewer pages that decay.
#[test]
fn many_pages_decay_between_fewer_writes() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=4 blocks=144 dies=4 paired-pages=1 any-order mixed-erases
         paged blocks-per-segment=4 cache-entries=2
         logical-pages=6 endurance=100000 seed=14697750483675032649",
        "write 4 5 0, mount, write 0 0 0 0 0, cut 1:48632, write 0+6, decay 7, mount, decay 0 5 7 5 6, mount, fail
         2:49688, write 0, cut 0:29899, write 0, decay 1, mount, cut 2:45120, write 0, decay 0 33, mount, mount, mount",
    );
}

/// A translation page decayed between two shutdowns, and so did a page of data, with the summary and the header of its
/// segment. The translation page was made anew without that page, which read as zeros.
#[test]
fn four_pages_decay_around_two_shutdowns() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=17 dies=1 paired-pages=1 paged
         blocks-per-segment=1 cache-entries=40 logical-pages=12 endurance=100000 seed=1625618434727208454",
        "write 0+12, decay 0, shutdown, decay 49 6, shutdown, decay 1, mount",
    );
}

/// The same, and what was left of that segment was copied to another one before the translation page was written. So it
/// was made anew once more, when nothing told any longer that something was gone.
#[test]
fn a_segment_is_emptied_that_tells_what_is_gone() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=17 dies=1 paired-pages=1 paged
         blocks-per-segment=1 cache-entries=40 logical-pages=12 endurance=100000 seed=1625618434727208454",
        "write 0+12, decay 1, shutdown, decay 49 6, shutdown, decay 1, write 9, mount",
    );
}

/// Three translation pages decayed. What lay in one segment with another of them counted for a page of data that may be
/// gone, and a page that was never written was an error.
#[test]
fn a_decayed_translation_page_is_no_page_of_data() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=8 blocks=164 dies=4 paired-pages=1 any-order mixed-erases
         paged blocks-per-segment=2 cache-entries=8 logical-pages=536 endurance=100000 seed=12757120502837404230",
        "write 436 390 74 486 252 341, decay 58144, mount, write 2, mount, write 370 174, decay 55020, write 379 208,
         decay 32560, write 425 215 512, read 276",
    );
}

/// A device that failures have made read-only found its newest page as one that a cut may have hit, and served its
/// original, which held the same. But that segment was being erased, and faded. The erase shows in front of it. To look
/// at the header alone is not enough here.
#[test]
fn a_read_only_device_serves_what_a_cut_erase_has_left() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=114 dies=3 paired-pages=1 mixed-erases
         fading-pairs
         paged blocks-per-segment=3 cache-entries=8
         logical-pages=506 endurance=100000 seed=9145985742603262542",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73
         74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107
         108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 131 132 133 134
         135 136 137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 156 157 158 159 160 161
         162 163 164 165 166 167 168 169 170 171 172 173 174 175 176 177 178 179 180 181 182 183 184 185 186 187 188
         189 190 191 192 193 194 195 196 197 198 199 200 201 202 203 204 205 206 207 208 209 210 211 212 213 214 215
         216 217 218 219 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237 238 239 240 241 242
         243 244 245 246 247 248 249 250 251 252 253 254 255 256 257 258 259 260 261 262 263 264 265 266 267 268 269
         270 271 272 273 274 275 276 277 278 279 280 281 282 283 284 285 286 287 288 289 290 291 292 293 294 295 296
         297 298 299 300 301 302 303 304 305 306 307 308 309 310 311 312 313 314 315 316 317 318 319 320 321 322 323
         324 325 326 327 328 329 330 331 332 333 334 335 336 337 338 339 340 341 342 343 344 345 346 347 348 349 350
         351 352 353 354 355 356 357 358 359 360 361 362 363 364 365 366 367 368 369 370 371 372 373 374 375 376 377
         378 379 380 381 382 383 384 385 386 387 388 389 390 391 392 393 394 395 396 397 398 399 400 401 402 403 404
         405 406 407 408 409 410 411 412 413 414 415 416 417 418 419 420 421 422 423 424 425 426 427 428 429 430 431
         432 433 434 435 436 437 438 439 440 441 442 443 444 445 446 447 448 449 450 451 452 453 454 455 456 457 458
         459 460 461 462 463 464 465 466 467 468 469 470 471 472 473 474 475 476 477 478 479 480 481 482 483 484 485
         486 487 488 489 490 491 492 493 494 495 496 497 498 499 500 501 502 503 504 505 243, discard 325+2, write
         447@1 212 170@2 19, flush, write 206@1 189@2 25@2 118@2 321@16, discard 282+4, write 77@23 18 381, read 306,
         write 269@2 228 234@2 326 366 333+7@3 63@1 190 17, discard 58, write 498@2, read 51, write 326@1, read 46,
         write 170@2 53@1, flush, write 128+2@2 139 404@2 87 244@2 432@23 158@8 190+3@4 3 187@3 246@1 246@1 302@2
         151@1 357@1 346+6@4 328@1 90@2 271@2 82+4@1 227@1, flush, write 91@2 51@1 161@4 460@2 435@24 25@2 13@1 131
         325@2 411@39 257 83@1 383@2 217 29@1 472@2 196@2!, flush, write 144+6@3 419@1 206 387@5 422 54, read 282,
         write 67@2 118@2 350@1 81, verify, shutdown, mount, discard 34, cut 21:44057, write 203, mount, cut 1:40741,
         write 41+3@1 41, mount, cut 4:11888, write 194, mount, flush, cut 3:37170, write 273@2, mount, write 7@2
         297@28, cut 6:56599, mount, mount, write 153@2, fail 1:42447, mount, cut 3:58401, write 138@1 268, mount, cut
         12:15710, write 254@1, cut 25:63171, mount, mount, cut 1:10315, write 8@1, mount, cut 1:12646, write 446@19,
         mount, fail 4:5184, write 37@1, read 224, cut 1:28956, write 35@24, mount, write 465 252@30 216+4@4 274, cut
         21:55969, write 375@2, mount, cut 1:57299, write 161@1, decay 38649, fail 4:30892, cut 18:55246, mount, fail
         6:24194 10:62157 44:42762 54:7993 89:27565, mount, cut 37:49306, write 210@2, cut 27:41424, mount, cut
         5:10139, mount, fail 26:23945, mount, discard 1+2, cut 27:17795, write 84@1, mount",
    );
}

/// The newest copy of a page decayed, and the erase of the segment with the copy before it was cut. That has left an
/// erased page in front of the copy, so that no scan finds it. The translation page named it, and the mount served it
/// there, until it faded: of a segment in doubt only the pages were copied that a scan had found (SPEC M13).
#[test]
fn a_page_that_no_scan_finds_is_copied() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=0 pages-per-block=8 blocks=27 dies=1 paired-pages=1 mixed-erases
         paged blocks-per-segment=1 cache-entries=8
         logical-pages=66 endurance=100000 seed=15592374741633103322",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 14 7 3 39 3 57 7 0 39 1 9
         47 0 57 22 46 43 56 58 45 22 5 8 9 33 42 33 55 43 54 22 6 37 57 25 35 15 48 58 18 4 60 34 10 23 20 51 49 61
         25 8 59 29 19 13 0 47 47 40 14 19 63 25 27 50 3 49 55 33 58 49 43 44 9 52 52 31 31 62 46 56 64 57 62 65 8 1
         42 55 57 8 57 41 14 40 24 16 4 32 43 65 11 2 56 30 50 65 0 36 18 34 28 42 15 23 15 32 48 56 21 14 54 26 55 22
         56 10 52 37 24 62 33 35 53 22 21 21 16 36 26 17 33 32 58 17 38 16 9 27 6 23 19 42 1 44 12 2 38 44 5 46 60 64,
         decay 1, cut 0:16, write 35, mount, mount",
    );
}

/// The copy of a page was written once more behind a failed program, and decayed. What that program had left counted
/// then, at the end of a segment. It was no suspect (SPEC M5), no mount copied it, and it faded.
#[test]
fn the_rest_of_a_failed_program_counts_again() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=6 blocks=26 dies=1 paired-pages=1
         paged blocks-per-segment=1 cache-entries=300
         logical-pages=22 endurance=100000 seed=4845693272155158503",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 9 16 7 5, mount, write 14 7+3 16+4 13 3 8 8 14
         15 9 13 3 9 5 3 1+5 15 12 20 13 18 18 12 4 16 21 20 13 17 1 3 13 16 18 5 19 11 7, discard 18+4, write 16 21
         21 0 7, discard 16, write 15 4 17 18 10 3 4 3 0+7 18 3 8, discard 21, write 15 2+4, discard 14+4, write 21 17
         19 18 3 8 17 9 0 7, discard 18+2, write 12 21 13 4 9 14 16 12 17, discard 20+2, write 4 8 2 12 8 11 5 4 21 7
         21 3 13+6, discard 5+5, write 20 14 10 20 3 14 5 11 0 12+4 20, cut 2:1771, mount, mount, write 13 5 0 10 18
         16 7 16+2, clean 11, write 2, discard 14+4, write 9 14+3 7 16 14 9 19 20 19 5 15 2 11 18 15 17 16+6 19 6 5 8
         12 16 10+4 21 19 12 17 3 15 16 4 3, discard 7+5, write 9, fail 0:30587, write 10 9 4 6 16 8 6 20 14 4 16 7+8
         14 14, discard 7+5, write 9 1 2 19 9 14 9 13 12 0 18 18 14 7 12 1 8 8, discard 19+3, write 1 13 16, discard
         1, write 6 9 5, mount, write 8 10, mount, write 10 11 12 9 9, fail 0:41863, mount, write 18 3, mount, write 6
         6 6 5 19 18+4 21, discard 21, write 9 5 19 17 12 16 1+4 7 19 15 20 5 18 19+3 18 18 5 10 5 2 4 7 18 14 11 9 9
         14 5 10 11 18 3 17, mount, write 7 3, cut 0:42827, write 8, mount, write 11 2 9 17, fail 0:32289, write 4 3 4
         1 8 13 8 17 7, cut 9:56456, write 11+7, mount, write 17 10, cut 0:33663, mount, mount, write 21 6 12, fail
         4:32115, clean 5, write 6 18 21, discard 15+5 13+3, write 16 18 17, fail 1:39442, write 19 12 11 20 20 10 8 2
         12 4 5 8 0 8 0 10 9+2 9 11 19 18, fail 11:64770, write 6+6 13, decay 42, mount, write 14 5, mount",
    );
}

/// As before, but a cut had hit the page that counted again, and others had been written since.
#[test]
fn what_an_earlier_cut_has_hit_counts_again() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=6 blocks=26 dies=1 paired-pages=1
         paged blocks-per-segment=1 cache-entries=300
         logical-pages=22 endurance=100000 seed=4845693272155158503",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 9 16 7 5, cut 1:60553, mount, mount, write 14
         7+3 16+4 13 3 8 8 14 15 9 13 3 9 5 3 1+5 15 12 20 13 18 18 12 4 16 21 20 13 17 1 3 13 16 18 5 19 11 7,
         discard 18+4, write 16 21 21 0 7, discard 16, write 15 4 17 18 10 3 4 3 0+7 18 3 8, discard 21, write 15 2+4,
         discard 14+4, write 21 17 19 18 3 8 17 9 0 7, discard 18+2, write 12 21 13 4 9 14 16 12 17, discard 20+2,
         write 4 8 2 12 8 11 5 4 21 7 21 3 13+6, discard 5+5, write 20 14 10 20 3 14 5 11 0 12+4 20, cut 3:1771,
         mount, mount, write 13 5 0 10 18 16 7 16+2, clean 11, write 2, discard 14+4, write 9 14+3 7 16 14 9 19 20 19
         5 15 2 11 18 15 17 16+6 19 6 5 8 12 16 10+4 21 19 12 17 3 15 16 4 3, discard 7+5, fail 1:21407, write 9 10 9
         4 6 16 8 6 20 14 4 16 7+8 14 14, discard 7+5, write 9 1 2 19 9 14 9 13 12 0 18 18 14 7 12 1 8 8, discard
         19+3, write 1 13 16, discard 1, write 6, flush, write 9 5, mount, write 8 10, cut 15:38351, mount, mount,
         write 10 11 12 9 9, decay 6, fail 0:61621, mount, write 18 3, mount, write 6 6 6 5 19 18+4 21, discard 21,
         write 9 5 19 17 12 16 1+4 7 19 15 20 5 18 19+3 18 18 5 10 5 2 4 7 18 14 11 9 9 14 5 10 11 18 3 17, mount,
         write 7 3 8, mount, write 11 2 9 17, fail 0:32289, write 4 3 4 1 8 13 8 17 7, cut 9:56456, write 11+7, mount,
         write 17 10, cut 0:56403, mount, mount, write 21 6 12, fail 4:32115, clean 5, write 6 18 21, discard 15+5
         13+3, write 16 18 17 19, fail 0:39442, write 12 11 20 20 10 8 2 12 4 5 8 0 8 0 10 9+2 9 11 19 18, fail
         11:51044, write 6+6 11 2 13, cut 1:15631, write 2, decay 58, mount, write 14 5, decay 15, cut 0:13493, write
         1, fail 2:7813, mount, cut 8:63883, write 6, cut 3:24112, mount, decay 49900, mount, write 5 12 3 11, discard
         10+4, write 1 1, cut 1:14882, write 21, mount, cut 5:42685, write 10, mount, write 13, cut 3:11490, write 14,
         mount, cut 2:42849, write 15, mount, write 1 9 13 2 5, cut 1:43315, write 7, mount, mount, cut 4:30541, write
         6, decay 56, mount, write 12, mount, mount, mount",
    );
}

/// A program failed, and what it left could be read. Copies of that were written, and the last of them decayed. So what
/// the failure had left counted again, and faded (SPEC M13).
#[test]
fn what_a_failed_program_has_left_counts_again() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=6 blocks=26 dies=1 paired-pages=1
         paged blocks-per-segment=1 cache-entries=300
         logical-pages=22 endurance=100000 seed=4845693272155158503",
        "write 0 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 9 16 7 5, mount, write 14 7+3 16+4 13 3 8 8 14 15
         9 13 3 9 5 3 1+5 15 12 20 13 18 18 12 4 16 21 20 13 17 1 3 13 16 18 5 19 11 7, discard 18+4, write 16 21 21 0
         7, discard 16, write 15 4 17 18 10 3 4 3 0+7 18 3 8, discard 21, write 15 2+4, discard 14+4, write 21 17 19
         18 3 8 17 9 0 7, discard 18+2, write 12 21 13 4 9 14 16 12 17, discard 20+2, write 4 8 2 12 8 11 5 4 21 7 21
         3 13+6, discard 5+5, write 20 14 10 20 3 14 5 11 0 12+4 20, cut 2:1771, mount, mount, write 13 0 10 18 16 7
         16+2 2, discard 14+4, write 9 14+3 7 16 14 9 19 20 19 5 15 2 11 18 15 17 16+6 19 6 5 8 12 16 10+4 21 19 12 17
         3 15 16 4 3, discard 7+5, write 9, fail 0:30587, write 10 9 4 6 16 8 6 20 14 4 16 7+8 14 14, discard 7+5,
         write 9 1 2 19 9 14 9 13 12 0 18 18 14 7 12 1 8 8, discard 19+3, write 1 13 16, discard 1, write 6 9 5,
         mount, write 8 10, mount, write 10 11 12 9 9, fail 0:40931, mount, write 18 3, mount, write 6 6 6 5 19 18+4
         21, discard 21, write 9 5 19 17 12 16 1+4 7 19 15 20 5 18 19+3 18 18 5 10 5 2 4 7 18 14 11 9 9 14 5 10 11 18
         3 17, mount, write 7 3 8, cut 0:36855, mount, fail 0:54779, mount, write 21 6 12, clean 5, fail 1:10616,
         write 6 18 21, discard 15+5 13+3, write 16 18 17, fail 0:54792, write 19 12 11 10 8 2 12 4 5 8 0 8 0 10 9+2 9
         11 19 1 18, fail 14:64770, write 6+6 13, decay 42, mount, write 5, mount",
    );
}

/// The newest copy of a page decayed, and the erase of the segment with the one before it was cut. Nothing showed that
/// but the missing header, so that copy was served from there, and faded (SPEC M13).
#[test]
fn a_segment_without_a_header_has_what_counts() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=5 blocks=17 dies=1 paired-pages=1 mixed-erases
         paged blocks-per-segment=1 cache-entries=3
         logical-pages=6 endurance=100000 seed=2191085332821042177",
        "write 0+3 0, fail 0:34932, write 2, fail 2:65235, mount, fail 2:60881, write 3 0, decay 9, cut 0:34227, write
         1, mount, mount",
    );
}
