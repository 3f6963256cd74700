//! Page mapping, on devices without room: mostly failures have left them so.

use crate::assert_holds;

/// A program failed, the copies of a cleaning went to two segments, and the erase of the victim was cut. Its summary
/// cannot be read, and the last slot reads as erased. So it looks like a segment that was open, as the one with the
/// copy of its first page does, and that one is vacated. Two more operations fail, and no segment is left for both
/// pages. So the uncertain one was trusted, and the segment with the copy that lasts was erased for the suspect one.
/// That failed, too, the device was read-only, and the page in the victim faded.
#[test]
fn a_victim_seems_to_be_open() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9
         16 29 31 23 51 13 31 50 18, fail 0:1489 2:34140, mount, mount, fail 3:16933, cut 7:48807, write 59, cut
         1:26299, mount, fail 0:32029 5:33673, mount",
    );
}

/// The same with a victim that lost its header then: what was left of it seemed to be a rescue that had never ended.
/// The page in it counted for nothing, and was zeros. Without the rule for trusted copies it is by the third mount.
#[test]
fn zeros_behind_four_failures() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 47 32 57 45 17 39 53 41 39 27 47 47 4 45 35 48 59 21 48
         48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9 16 29 31 23 51 13 31 50 18,
         fail 0:58178 3:49318, mount, fail 3:28318, cut 7:27824, write 42, fail 1:21245 4:28635, mount, mount, mount",
    );
}

/// The rescue of both pages was there, but the program of the padding behind it failed. Its segment was given up, and
/// was still searched for copies. So the one that lasts was erased for the next attempt.
#[test]
fn a_rescue_whose_padding_fails() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39
         27 47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2
         42 9 16 29 31 23 51 13 31 50 18, fail 0:1489 2:34140, mount, mount, fail 3:16933, cut 7:48807, write 59,
         cut 1:26299, mount, fail 0:32029 7:32328, mount",
    );
}

/// The erase of a victim was cut, and has left its summary. One page of it decayed in the segment that it had been
/// copied to, so the victim seemed to be needed, and what lay there to last. But a tied copy there could not be read,
/// and its header was erased. The copy of another page counted there and faded, though the one that it had been made
/// for was good.
#[test]
fn a_page_decays_beside_two_copies_in_erasure() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=21 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=13353128246199273785",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9 16
         29 31 23 51 13 31 50 18, fail 0:62299 2:27048, mount, mount, fail 3:16933, cut 8:43661, write 59, decay 16,
         mount, mount",
    );
}

/// One cut and six failures. The only page without a copy that was certain to last was a trusted one, and no page was
/// suspect. So there was nothing to rescue, and the segment with its other copy was erased to make room for it. That
/// failed, and what was left in the victim seemed to have lost pages.
#[test]
fn room_for_a_trusted_page_takes_its_other_copy() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 37 45 11 24 46 10 0 6 1 15 32 34 31 37 47 32 57 45 17 39 47 47 4 45 35 48 59
         21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 40 23 2 42 9 16 29 31 23 51 13 31
         50 18, fail 0:62299 2:34140, mount, fail 3:16933, cut 7:15259, write 22, fail 0:32029 5:33673 8:12764,
         mount, mount",
    );
}

/// The same behind two cuts: a rescue had failed before, and the page was zeros.
#[test]
fn a_rescue_fails_and_the_other_copy_is_erased() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 34 20 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 47 32 57 45 17 39 53 41 39 27 47 47 4 45 35 48 59 21 48
         48 36 15 0 51 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 56 40 23 2 42 9 16 29 31 23 51 13 31 50 18,
         fail 0:33252 2:62139, mount, fail 0:23253 5:52709, cut 9:38749, write 24, cut 0:21461, mount, fail 4:50187
         6:24526, mount, mount",
    );
}

/// Three cuts and four failures. The only empty segment held the other copy of a page that was not certain to last
/// where it counted. A mount that erased nothing for that took no writes, though it had the segments that are needed.
#[test]
fn no_room_without_the_other_copy() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 54 38 53 38 37 45 11 24 46 10 0 6 1 15 31 37 47 32 57 45 17 39 53 41 39 27 47 47 4 45 35 48 59 21 48
         48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9 16 29 31 23 51 13 31 50
         18, fail 0:6431 2:34140, mount, mount, fail 3:50929, cut 7:38058, write 59, cut 0:42680, mount, fail
         0:48558, cut 11:11193, mount, mount",
    );
}

/// A rescue whose padding failed had left all of its copies, and the next attempt took them for copies that last.
#[test]
fn copies_of_a_rescue_that_was_given_up() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 34 38 37 45 11 24 46 10 0 6 1 15 32 34 11 59 31 37 47 32 57 45 17 39 53 41 39 27
         47 47 4 45 35 48 59 21 48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 55 40 23 2 42 9
         16 29 31 23 51 13 31 50 18, fail 0:41768 2:45119, mount, mount, fail 3:9440, cut 7:48807, write 59, fail
         0:34302 7:28599, mount",
    );
}

/// One cut and seven failures. The only page without a copy that was certain to last was a trusted one in a victim that
/// is erased in part. So the only empty segment, which had its other copy, was erased to make room. That failed, and
/// what was left in the victim seemed to have lost pages: one that was never written was an error.
#[test]
fn the_erase_that_makes_room_fails() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=25 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/d-choices:3/separate-gc/static-threshold:5/at-once
         logical-pages=63 endurance=100000 seed=14039662212041432986",
        "write 8 57 54 38 24 55 45 53 37 45 11 24 46 10 0 6 1 15 32 34 31 37 47 32 57 45 17 39 47 47 4 45 35 48 59 21
         48 48 36 15 0 31 26 30 27 12 5 61 31 14 62 58 19 61 22 28 44 43 23 3 40 23 2 42 9 16 29 31 23 51 13 31 50
         18, fail 0:57053 2:8012, mount, fail 3:16933, cut 7:15259, write 22, fail 0:32029 5:43687, mount, fail
         0:15375, mount, mount",
    );
}

/// A device without a segment more than it needs, and none free. The only empty one has the last copies of the cleaner,
/// and their originals count. Either was kept for the rescue of a part of the discard map, as if an erase of the victim
/// might have begun, so that the device took no more writes. The group of these copies had not ended, and it is ended
/// before anything is erased.
#[test]
fn the_last_copies_of_the_cleaner_are_in_the_way() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=16 blocks=80 dies=2 paired-pages=2
         page blocks-per-segment=2
         policies=watermark:1:1/greedy/hot-cold-readonly/static-threshold:1/proactive:0.05:0.5:0.01 aware
         logical-pages=839 endurance=100000 seed=7051015444645373491",
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
         486 487 488 489 490 491 492 493 494 495 496 497 498 499 500 501 502 503 504 505 506 507 508 509 510 511 512
         513 514 515 516 517 518 519 520 521 522 523 524 525 526 527 528 529 530 531 532 533 534 535 536 537 538 539
         540 541 542 543 544 545 546 547 548 549 550 551 552 553 554 555 556 557 558 559 560 561 562 563 564 565 566
         567 568 569 570 571 572 573 574 575 576 577 578 579 580 581 582 583 584 585 586 587 588 589 590 591 592 593
         594 595 596 597 598 599 600 601 602 603 604 605 606 607 608 609 610 611 612 613 614 615 616 617 618 619 620
         621 622 623 624 625 626 627 628 629 630 631 632 633 634 635 636 637 638 639 640 641 642 643 644 645 646 647
         648 649 650 651 652 653 654 655 656 657 658 659 660 661 662 663 664 665 666 667 668 669 670 671 672 673 674
         675 676 677 678 679 680 681 682 683 684 685 686 687 688 689 690 691 692 693 694 695 696 697 698 699 700 701
         702 703 704 705 706 707 708 709 710 711 712 713 714 715 716 717 718 719 720 721 722 723 724 725 726 727 728
         729 730 731 732 733 734 735 736 737 738 739 740 741 742 743 744 745 746 747 748 749 750 751 752 753 754 755
         756 757 758 759 760 761 762 763 764 765 766 767 768 769 770 771 772 773 774 775 776 777 778 779 780 781 782
         783 784 785 786 787 788 789 790 791 792 793 794 795 796 797 798 799 800 801 802 803 804 805 806 807 808 809
         810 811 812 813 814 815 816 817 818 819 820 821 822 823 824 825 826 827 828 829 830 831 832 833 834 835 836
         837 838 447@1!, read 652, write 559@22 775@1 569@1 20 73 108@2 115+3@3 498@28 776! 85 600@1, flush, discard
         632+2, write 68+8@4, part 1111@1, write 245@2, discard 387+8, cut 0:15509, write 215@1, cut 2:6875, mount,
         cut 0:33488, mount, mount, part 1677@1, cut 1:33907, write 435@2, mount, write 747@30 154@28 62@2 38@4 35@1,
         read 306, part 616+2@1, write 29+2@3 611@2, read 763, part 1537, write 428@16, part 587@1 1290+5@1, write
         315, cut 0:18965, part 656+5, mount, write 291, cut 4:6312, write 471+5@2, cut 21:4097, mount, mount, flush,
         write 303+5@4 67@1 357@1 434@31 686@1, part 757+2@1, write 544+6@1 730+2 69@35 49@28 552@2, part 1461@1
         1483@2, write 101, part 234@2 1522 1171+2@2, write 475, part 1587@2, write 247+6@1, part 655+2@1, write 509@2
         147@1, discard 688+7, clean 10, part 1489, discard 573+10, part 280+2, write 548@24 208, flush, discard
         415+4, write 546+3@4, read 612, part 1303+5@1 568+2, flush, write 834@1 10@2 826@1, verify, cut 7:11137,
         mount, mount, read 172, discard 514+12 552+7, flush, read 630, write 527@2 81@1, discard 1446, read 374, cut
         4:9545, write 295@1, cut 13:22311, mount, mount, read 828, cut 15:15344, write 490+6, cut 9:1836, mount, cut
         2:959, mount, mount, write 27@2 597@18 317@1, flush, write 527@1 671@2 290+8@1, part 644+2, write 572+6@3
         316, flush, write 702@2, read 806, write 81@1, other 0:17426, write 146@2, part 497+2, write 136@20 739@2,
         other 14:17292, write 799+7@1 106@2 243@2 544@26 417@2 28@2 558@1 505@28 605@2 716@34 468@1 663@2, part
         1393+2@2, write 690+5@1 339@29 339@2 218@15 614@35 584@2 772@1, part 252+3@1 789+2, write 36, flush, other
         22:9867, write 210+4@2, part 739@1, other 2:44347, flush, other 0:38334, write 574@23, flush, write 628@1
         660+6@4!, discard 1478+11, write 49@2, discard 1308+12, part 689@1, discard 96+5, write 582 162@1 695@19
         334@1 772@2 697@2 495+2@3, part 311+6, write 413@16, part 1067+4@1, other 7:56663, flush, write 586@2 324@2
         453+5@4 561@1, discard 790+10, part 1380+2@1, write 540@2, read 32, write 669+7, read 654, write 314@1,
         discard 658+2, write 651@2, clean 11, read 251, write 796@1! 771@12, verify, other 1:2369, shutdown, cut
         5:58571, mount, cut 3:48997, mount, cut 4:52366, mount, cut 3:44154, mount, mount, flush, discard 904+2, cut
         16:13443, write 191+6@1, other 33:56236, mount, mount, part 913@1, write 176@1, part 161+2@2, write 582@1 725
         100+2@3, cut 6:34561, write 208+4@4!, cut 2:2476, mount, cut 5:32458, mount, cut 3:51194, mount, cut 2:48452,
         mount, cut 5:2112, mount, cut 3:17460, mount, mount, read 602, write 120@2, part 1438, write 829@1, part
         1048+2@2, discard 278+6, cut 10:65087, part 1602+2@2, cut 0:336, mount, mount, write 634@2, discard 1451,
         write 682, discard 1622+10, cut 3:52419, write 321@2, cut 0:5200, mount, cut 2:51225, mount, cut 0:46148,
         mount, cut 4:4739, mount, cut 5:1722, mount, cut 3:14046, mount, cut 1:44507, mount, cut 4:65347, mount,
         mount, write 60@1, part 1100+2 1300@1 888, write 18@4, part 472@2, other 5:4160, write 157@1, other 7:57363,
         write 547@2, cut 5:64115, write 660, cut 8:50623, mount, mount, write 599@1, flush, write 48@11! 582@2 76
         700@1 794@36, cut 1:56922, mount, mount, read 437, write 837@2 593@1!, cut 8:19673, part 434+6@2, mount, cut
         0:32846, write 784@2, mount, discard 376+2, cut 0:55452, write 173@2, mount, other 1:36362, write 214@2,
         other 3:63905, write 553@1 202@2, part 1431@1, cut 2:62456, flush, cut 16:38549, mount, mount, part 169+2@2
         964+2@1, discard 1508+3 356+10, write 370+7@4 448@14, part 798, write 562@1, flush, part 683+3@2 1090+2,
         discard 162+7, other 6:60182, write 592+3@2, clean 9, write 48@2 6@1 599, part 774, write 804@36 69@26 16@2
         148+3@4! 648 169@1, other 3:44320, write 42+7@3, discard 830+8, other 2:7203, write 466, part 579+2@1, write
         145 714 48@2, discard 1420+9, write 280@1 379@2, verify, shutdown, cut 1:8353, mount, cut 1:223, mount, cut
         0:34783, mount, cut 0:53979, mount, cut 1:63566, mount, cut 1:9549, mount, cut 0:17896, mount, cut 1:182,
         mount, cut 1:18950, mount, mount, write 200@25, cut 0:49044, flush, cut 1:38200, mount, cut 0:59167, mount,
         mount, write 160@38, part 1115@1, write 300, part 418+2, write 474@2 466@1 70@2 340@1 343@1 529@22, discard
         1424, write 324@29, flush, write 424@2 128@2, discard 153+6, flush, read 668, write 639 596@1! 590@2, part
         905, write 755@1, other 5:30547, part 494+2@2, write 477 752@2, flush, write 540@1, flush, write 184@33,
         other 2:39180, write 207, part 1568@2, write 619 109@1 772+8@1 534@26 489@15 555@25, part 628, write 432,
         part 306, read 750, part 292@2, write 454@1 79+7@3, discard 54+12, write 298@39, part 652@1, other 2:18838,
         discard 1140+7, write 320@2, part 190+2@1, other 25:24228, write 393+5@4 417@26 707@2 95@1! 140+2, part
         1268@2 309+2@1, write 424@33, part 1276@2, write 661, part 648@1 213@2, read 96, write 736@2 819@8, other
         28:28092, write 98+8 214@2, part 1664@1, write 362!, discard 304+7, write 486 468@25, part 114+2@2, flush,
         flush, write 354@1 249@2, part 1589@1, write 216@1 775 443+3 118@1 533@2 695@2 403@38 416@39 169@2! 268@8,
         policies falling:5:0.5/greedy/hot-cold-readonly/none/proactive:0.05:0.5:0.01, write 725, read 586, write
         235@2 669@1 361 249 424@1, part 771+2@1, policies
         falling:4:2:3/d-choices:3/hot-cold-readonly/static-threshold:5/proactive, write 785@2 627, part 448@2, write
         159@36, read 602, write 711@2! 382@1 83@1, part 1134@1, flush, discard 950+3, part 697 494@1, write 740 68,
         clean 9, write 232@1 77@1, discard 1180, write 237@1, part 341@2, write 66+7@1 419@27 401@31 477 183@1, part
         1325+2, write 696, part 1550+2@2, discard 976+10, read 439, write 720@1, read 122, write 685, read 367, write
         314 292@4 125@2 281@2 356 762@1 118 703@1, flush, write 347@17, flush, write 347@2 470 559 426 172+8 705@11,
         discard 1086+2 774, write 432@2, discard 1219+12, part 28@1, discard 1416+7, write 346 234@1, part 703+2,
         discard 641+10, write 418@2!, discard 182+2, write 224+3@1, part 764+2@1 1418, discard 996+12, write 476@1
         264@1, part 577@1, write 821@36, part 160@1, write 642+8@3 481+4@4, part 761+2@2, write 396@2 631@2 56+8 237,
         verify, shutdown, mount, cut 4:20806, write 817@2!, mount, cut 0:46728, write 707, mount, read 731, write
         488@1, cut 0:24792, write 141@1, cut 5:53348, mount, mount, part 412 62+2@2, write 20! 27@2! 322@2, part
         1263@1, write 263@2, part 1524+2 790+2@1, cut 0:47354, write 761, cut 2:21308, mount, mount, cut 0:38447,
         write 743, mount, cut 2:34114, write 27@1, mount, flush, part 968@2, cut 9:45734, write 306@1, cut 10:15611,
         mount, cut 0:64642, mount, cut 4:49341, mount, cut 0:32065, mount, mount, write 94@16, part 382+2@1, read
         798, write 501, part 1676@1 273+4, write 703@1 793 508 562@1 312@1, part 359@2, write 170@2, clean 10, write
         233 413 534@1 220@1 529, part 846+2, write 224@12, cut 0:44521, write 276@1, other 10:30937, mount, other
         17:44968, mount, cut 14:15219, mount, mount, write 832@2, discard 970+12, write 558@2, cut 6:38165, discard
         1086+10, cut 8:56033, mount, mount, flush, write 574@2, flush, write 380, cut 5:33258, write 641@2, mount,
         discard 68+4, write 641@1 359, cut 1:4291, write 182, mount, write 163, other 6:51966, write 234+6, part
         179+2@1, other 4:38525, write 197@8, cut 4:16203, mount, mount, write 455, part 1299+2@2, write 41@36, cut
         14:33370, part 463+6@1, cut 3:26761, mount, mount, write 778, read 825, write 672@2, read 445 626, cut
         13:33611, write 275+5, mount, cut 5:28223, write 446@10, mount, other 10:20157, discard 344+11, part 956+2,
         other 12:1967, mount, mount, write 91@2, cut 3:29177, write 518@27, mount, cut 4:41692, discard 1266+10, cut
         12:31113, mount, cut 1:59392, mount, cut 0:32219, mount, cut 1:1275, mount, cut 0:14735, mount, cut 1:22411,
         mount, mount, cut 0:9409, write 783@1 302@30, mount, cut 0:64638, write 182@2, mount, write 240 275@8, cut
         9:20046, write 534, other 10:38080, mount, other 33:25993, mount, mount, write 53@2 578@2 431@35, cut
         2:15759, write 551@2, mount, discard 1356+2, cut 0:7831, write 202+5, cut 5:37298, mount, mount, part
         910+2@2, write 258, other 2:8266, write 282@2, part 1470+2@2, write 48@14, other 4:37272, write 497, part
         647@2, discard 500+3, write 257@1, part 949@2, write 306@1, other 0:51300, write 387, other 8:17718, flush,
         write 309@1 233@5 831, part 774+2@1, write 86@39, cut 0:42145, mount, cut 2:57935, mount, cut 5:42157, mount,
         mount, write 100 270@1, read 495, part 28, clean 8, write 602@1, flush, write 665!, cut 3:37463, part
         340+6@2, cut 1:20304, mount, mount, write 676@2, discard 1472+3, other 10:10966, flush, cut 5:24021, write
         23+3@4, mount",
    );
}

/// The mark of a rescue decayed, and its copy and the original are suspect. The mark puts six other pages in doubt,
/// which lie in two segments that hold another page each. They were copied to the only free segment, as if one of the
/// two became empty by that. So none was left for the suspect page, and the device took no more writes.
#[test]
fn what_is_copied_leaves_no_segment_empty() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=9 blocks=18 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:4:5/random/single/none/proactive
         logical-pages=90 endurance=100000 seed=7769916851904500617",
        "write 0 1 2 3 4 5 8 9 10 11 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40
         41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76
         77 78 79 80 81 82 83 84 85 86 87 62 14 78 85 82 21 8 48 58 4 27 55 60 66 80 6 89 23 42 5 72 64 56 44 43 75 65
         60 74 69 18 68 4 58 70 87 1 27 4 12 17 58 89 3 2 28 30 88 3 29 35 82 68 61 3 81 37 29 10 46 78 45 48 87 55 37
         71 39 80 45 78 31 73 7 27 68 17 65 74 65 64 88 25 17 24 55 60 12 23 24 0 42 49 57 36 26 48 48 19 24 30 40 11
         29 10 2 54 84 46 43 65 77 47 63 25 76 12 89 37 53 52 72 4 11 21 58 86 16 31 10 80 60 73 50 89 34 44 87 8 32
         32 22 75 70 7 23 85 75 54 44 20 18 8 75 46 9 32 86 87 24 65 15 82 34 70 65 87 58 53 60 89 18 62 76 39 19 82
         14 61 69 54 29 1 79 21 79 33 71 77 34 86 57 22 14 88 60 62 19 67 71 76 28 20 70 46 23, discard 33, write 89,
         cut 3:56020, mount, decay 19, mount",
    );
}

/// A program fails, three mounts are cut, and all pages are in doubt, in a segment of which every empty one has copies.
/// They were moved. The copies were left alone all the same, as what may still be needed, so that none of the empty
/// segments was erased for the host.
#[test]
fn copies_of_pages_that_were_moved_are_not_needed() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=64 blocks=7 dies=1 paired-pages=4 any-order
         page blocks-per-segment=1 policies=watermark:1:1/lfs/hot-cold-readonly/none/proactive
         logical-pages=10 endurance=100 seed=17350556590364876485",
        "write 3, mount, write 6 1 8, mount, write 2, cut 1:10315, mount, fail 9:18272, cut 10:20409, mount, cut
         14:56217, mount, cut 14:47632, mount, mount, write 7",
    );
}

/// The header of a segment had decayed. A cut hit the last copy of its pages, and the erase of the only empty segment
/// failed. The device was read-only, and served the page from the copy. When that faded it gave an error, although the
/// original was there: another page showed that the segment of the copy was needed, so the original was not kept in
/// mind.
#[test]
fn the_original_of_a_suspect_copy_is_read() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=32 pages-per-block=8 blocks=14 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=falling:4:2:3/lfs/hot-cold-readonly/none/at-once
         logical-pages=53 endurance=100000 seed=2297932602099189664",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 12 25 21 27 1 43 51 48 51 27 11 34 34 6 19 51 28 29 6 19 9 29 18
         51 49 15 15 46 6 14 18 46 50 18 4 30 47 30 4 17, decay 0, mount, mount, fail 0:64871, cut 5:12510, discard
         43, cut 8:21961, mount, fail 0:23630, mount",
    );
}

/// Pages decayed on a striped device without a segment to spare. There was room for copies of some of the pages that
/// this put in doubt, but not for all, and none was copied (SPEC P11).
#[test]
fn some_uncertain_pages_of_a_stripe_are_copied() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=8 pages-per-block=16 blocks=102 dies=3 paired-pages=4 any-order
         page blocks-per-segment=3 policies=idle:3:4:5/cat/single/none/proactive checkpoint
         logical-pages=423 endurance=100 seed=18200851976307671798",
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
         405 406 407 408 409 410 411 412 413 414 415 416 417 418 419 420 421 422, read 256, write 259 315 169 208@17
         382@2 261, decay 284, write 241@1 44@2 273@1 196@1, decay 42034, write 259@3 6@1 327@1 155@19! 30@2 320 230@1
         421@18 255 41+3 123@1 72@1 412@1 30@2, cut 3:40681, write 121+5@2, mount, write 393@2 129! 180@1 184@1,
         flush, write 216@2 391@2 88@2 292@1 369@2!, flush, write 83+7 104@1 112 67@1 338@1 249@2 290@27 404 222
         29@29, read 387, write 409@2 120 51 96! 342 418@1, read 156, write 55+4@4 34@2, flush, write 83, flush, write
         28 411@1 72@14 230@1 290 4@2, flush, write 339@1, flush, flush, write 82 176+7@1 330 226@1 350@2 161@1,
         discard 376+3, write 295@1 416@4 250@1 16 164@1, read 245, write 207@1 17 373, cut 4:37656, flush, mount,
         flush, flush, write 160, cut 0:64566, write 157@1, fail 12:9912, mount, write 179@2! 87@2 201@1 167@2 374
         148@36 271, decay 22108, write 154@1, fail 0:58852, write 98@12, flush, write 300 147@1 351, read 282, write
         118 351, discard 420+2, read 109, write 139 269 84 79! 309@2 155@2 10@1, policies
         idle:3:4:5/fifo/single/dynamic/at-once, write 69 402@39 267@1 304 111@2 59@25 276@1 152@2 45@2 265@2 276@35
         375@1 351@2 167@39 238@2 205@12 38@1 228 109@2 263@29 322+8@4 369@21! 231@2 417@1 235@1 63@2 63@1 25@1 290
         0@2, cut 0:45784, write 315@27, cut 94:36662, mount, cut 0:64495, mount, decay 10507, mount, write 338@2 85@2
         235@2 176@1! 79 187@14 368 246 411, flush, write 397@2 309+6@2 102 173@2 120@1 55@1 362 4@5 234@15 142+7@3
         204@7 24@2 386@2 386@2 139@19 40@36! 135, decay 32004, flush, flush, write 13, discard 115+4, write 90 11
         275@22 71@7 376@2, discard 236+2, write 239@1 37@2! 249 398@2 370@2, discard 17+4, read 336, write 27 380@2!
         119@4 88@18 147@1 407 103 222@2 296+7@1 212@1 283@32 264@1 374@1 367 268@2, discard 233+5, write 339@1! 329
         29@1 142+3@4 342@24 200 123 98@2 316 192@2, read 190, fail 29:65309, write 252+6@1 318@2 188 154@21 266@1 372
         211@1 258@1 120@22 314@1 380@26 131@1, fail 0:9165, write 327@1, discard 313+3, flush, read 142, write 181@1
         50@2 266@1, discard 291+4, write 106@2 54@33! 285 51, decay 47249, write 93@2! 158@1, verify, decay 61564,
         cut 13:22640, mount, cut 3:15254, mount, cut 19:42289, mount, cut 5:14186, mount, decay 313, mount, write
         279@1 184@2 9 148@38! 299 204@2, cut 56:58204, write 98+7@1, decay 27021, mount, cut 7:14438, write 339@2,
         cut 4:19366, mount, cut 5:54187, mount, mount, discard 137+4, write 4 124@2 353@1, policies
         watermark:4:5/random/single/none/proactive:0.05:0.5:0.01, write 135+8@3 67@1 131@15 93+5@1 330@15! 14 197!
         357@31 295@1 88+3 195@35, fail 8:61676, write 14@2 230@2, cut 8:42246, write 95@1, cut 10:22604, mount, decay
         10645, cut 17:64878, mount, decay 7798, cut 10:19793, mount, cut 8:48250, mount, cut 13:44436, mount, decay
         33898, cut 2:28657, mount, cut 14:64527, mount, cut 11:32829, mount, decay 17039, cut 18:473, mount, cut
         1:46878, mount, mount, write 360+8@1 253 2 348@1 422 403@1 254@2 144, read 72, write 125@1 348@9 162@1 204@1
         55@2 389@2 310@2 166@27 374@2, clean 9, discard 160+3, flush, write 42+6@2, discard 42+3, write 42@2 361@1
         279@1 79@2, flush, write 195@2 288@2 124@2 247@2 123+4@3, read 325, write 357@2 71@2 421 58 165 142 0@13, cut
         2:27057, write 206@2, cut 58:50910, mount, mount, write 365@1 377@2 12 25@36 251 51@1 67, cut 14:14443, write
         401, mount, discard 376+5, flush, write 409@1 2@38 260@3 114@1 132, flush, write 103@25, flush, decay 62264,
         read 78, clean 2, write 240@33 37 69 257 254, cut 0:55109, write 72@1, decay 6488, cut 1:46062, mount, cut
         0:23112, mount, mount, write 214@2 50@2 334@31, decay 913, policies watermark:4:5/fifo/single/none/at-once,
         flush, write 90 351@19 371@1 164 378, read 408, write 383@1 323, read 279, write 21+6@2 215@1 34 221@2 311@20
         77+4@3, discard 320+2, write 20@1 24@2 6 148@1 74 375, policies
         watermark:3:4/windowed-greedy:4/single/swap:1/proactive, discard 401+6, write 385@1, discard 133+6, write
         97@13 7 164@2 275@1 167 175@1 13@1 92@1 287@1 104@10 299@2 95, cut 5:12594, write 192@29, mount, write 330@4
         159@1 55@2, read 346, write 187@1 271@1!, policies watermark:3:4/lfs/single/dynamic/at-once, write 397@2
         413@9 421@2, clean 1, write 395@2 209@1 285, read 273, write 95@2 156@2 304@2, policies
         falling:4:2:3/lfs/single/none/proactive, write 418@1 402@1 185 398+3@2 268 48@1 185@1 377 95@1 280@21 299@2,
         flush, write 71! 274 174@1, fail 0:44711, flush, write 33@2 403 215@24 353@23 116 136 14@1 320+2@2, discard
         319+2, write 343+5@3 275@1 282@20 69, read 155, flush, write 172 341+3@1, fail 16:48023 25:9666, cut
         99:16850, write 278+8@2, mount, write 194+8@2 102@13, policies watermark:2:3/random/single/none/proactive,
         write 391@1 174@1 267+5@4! 417@2 389+3@1 187@1 24@1, cut 0:18987, write 197@1, cut 1:22002, mount, cut
         0:44278, mount, cut 0:46378, mount, cut 1:42305, mount, cut 0:58258, mount, cut 1:27028, mount, cut 0:59684,
         mount, cut 1:49689, mount, cut 0:36240, mount, cut 0:11462, mount, decay 42045, cut 1:29312, mount, decay
         26000, cut 1:4326, mount, decay 5126, cut 1:37868, mount, cut 1:10093, mount, cut 1:44345, mount, cut
         1:45443, mount, cut 1:64122, mount, cut 1:36780, mount, cut 0:31139, mount, cut 1:37305, mount, cut 0:52969,
         mount, mount, discard 191+2, write 60@1!, flush, write 200+6@1 108@1 323, decay 56481, write 238@2, decay
         15642, flush, discard 245+6, write 396! 266! 355 85@9 178 30@34, decay 45922, write 41@1, cut 3:46732, write
         196, decay 34193, fail 7:28299 77:17011, mount",
    );
}

/// A device that has 56 of the 58 good segments that it needs. The erase of a rescue's segment was cut, and left the
/// copies that the mount served: the other copy of one had decayed, and the erase that was to make room failed.
/// Behind the next mount the slot with the mark could no longer be read, and what lay behind it counted for nothing.
#[test]
fn a_void_segment_has_the_last_copy() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=58 dies=2 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=idle:3:4:5/d-choices:3/separate-cleaning/static-threshold:1/at-once
         logical-pages=209 endurance=100000 seed=10005250841478389631",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73
         74 75 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108
         109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 131 132 133 134 135
         136 137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 158 159 160 161 162 163 164
         165 166 167 168 169 170 171 172 173 174 175 176 177 178 179 180 181 182 183 184 185 186 187 188 189 190 191
         192 193 194 195 196 197 198 199 200 201 202 203 204 205 206 207 208 89 131 101 9 187 169 187 115 99 193 192
         61 90 167 115 191 135 126 28 67 24 80 90 117 187 189 96 190 68 99 154 11 25 153 174 1 87 167 100 75 150 137
         191 136 192 74 2 97 14 108 21 35 102 22 8 156 12 1 161 25 191 119 104 195 67 189 170 145 145 182 156 19 48 24
         129 88 170 84 122 151 93 177 120 158 185 124 191 162 205 125 58 29 107 65 82 200 152 29 207 118 196 142 110
         71 118 135 43 92 110 37 21 128 140 206 75 0 172 198 178 121 39 139 142 195 22 96 121 92 92 89 25 2 134 115 46
         116 68 52 18 124 27 65 174 35 140 192 136 11 182 82 176 16 206 133 205 191 144 17 64 61 55 145 50 5 3 100 159
         187 157 1 108 155 124 87 163 73 3 130 28 24 81 63 170 184 205 38 41 7 52 69 58 83 50 28 95 154 171 107 47 150
         3 129 154 179 49 108 45 202 88 71 90 41 93 129 1 139 38 106 158 117 168 182 98 47 109 202 203 82 122 154 197
         147 10 107 138 17 193 36 7 180 14 206 89 17 88 40 165 61 65 162 168 152 141 120 2 169 163 33 32 49 19 106 28
         161 199 30 48 136 77 204 113 203 56 82 158 50 32 152 83 65 43 8 180 6 129 184 205 18 206 97 15 170 50 11 37
         121 99 24 206 21 42 127 99 199 41 75 42 90 143 129 205 189 2 198 63 36 134 195 170 175 179 114 143 134 9 176
         197 177 168 3 141 61 163 20 174 126 30 188 85 145 130 70 165 166 169 55 87 149 117 6 39 110 4 68 25 109 82 97
         97 178 156 27 28 38 203 181 95 92 20 137 71 150 155 96 136 201 60 181 67 3 115 18 21 59 60 81 81 106 181 7
         167 167 40 205 108 168 102 207 139 131 54 0 161 156 40 64 187 88 86 145 149 13 104 194 25 148 169 95 61 192
         115 154 193 26 180 60 141 77 198 155 113 82 174 65 11 47 41 82 41 28 35 112 189 26 51 99 104 186 78 13 146
         158 202 14 27 110 112 79 182 100 123 162 20 121 113 119 135 189 28 65 182 41 112 190 180 108 169 188 189 174
         61 131 185 191 83 208 137 21 163 133 76 76 13 110 103 39 10 153 39 89 128 37 186 15 124 174 67 135 183 95 182
         114 92 72 191 141 113 57 202 169 85 184 43 51 201 78 168 204, flush, decay 6, write 29, decay 5, mount, fail
         0:25239, discard 126, decay 10, cut 7:53416, mount, write 132, decay 12, fail 0:51184, mount, mount",
    );
}

/// On such a device one copy of a page had decayed, and the other one was to be copied, but the erase that was to make
/// room failed. The copy that had decayed counted as one that had faded in that mount.
#[test]
fn a_copy_that_decayed_on_a_worn_device() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=6 blocks=58 dies=2 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=idle:3:4:5/d-choices:3/separate-cleaning/static-threshold:1/at-once
         logical-pages=209 endurance=100000 seed=10005250841478389631",
        "write 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
         38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73
         74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107
         108 109 110 111 112 113 114 115 116 117 118 119 120 121 124 125 126 127 128 129 130 131 132 133 134 135 136
         137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 156 157 158 159 160 161 162 163
         164 165 166 167 168 169 170 171 172 173 174 175 176 177 178 179 180 181 182 183 184 185 186 187 188 189 190
         191 192 193 194 195 196 197 198 199 200 201 202 203 204 205 206 207 208 89 9 187 169 187 115 99 193 192 61 90
         167 115 191 135 126 28 67 24 80 90 117 187 189 96 190 68 11 25 153 174 1 87 167 100 75 150 137 191 136 192 74
         2 97 14 108 21 35 102 22 8 156 12 1 161 25 191 119 104 195 67 189 170 145 145 182 156 19 48 24 129 88 170 84
         122 151 93 177 120 158 185 205 125 58 29 107 65 82 200 152 29 207 118 196 142 110 71 118 135 43 92 110 37 21
         128 140 206 75 0 172 198 178 121 39 139 142 195 22 96 121 92 92 89 25 2 134 115 46 116 68 52 18 124 27 48 24
         65 174 35 140 192 136 11 182 82 176 16 206 133 205 191 144 17 64 61 55 145 50 5 3 100 159 187 157 1 108 155
         124 87 163 73 3 130 28 24 81 63 170 184 205 38 41 7 52 69 58 83 50 28 95 154 171 107 47 150 3 129 154 179 49
         108 45 202 88 71 90 41 93 129 1 139 38 106 158 117 168 182 98 47 109 202 203 82 122 154 197 147 10 107 138 17
         193 36 14 206 89 17 88 40 165 61 65 162 168 152 141 120 2 169 163 33 32 49 19 106 28 161 199 30 48 136 77 204
         113 203 56 82 158 50 32 152 8 180 6 129 184 205 18 206 97 15 170 50 11 37 121 99 24 206 21 42 127 99 199 41
         75 42 90 143 129 205 189 2 198 63 36 134 195 170 175 179 114 143 134 9 176 197 177 168 3 141 61 163 20 174
         126 30 188 85 145 130 70 165 166 169 55 87 149 117 6 39 110 4 68 25 109 82 97 97 178 156 27 28 38 203 181 95
         92 20 137 71 150 155 96 136 201 60 181 67 3 115 18 21 59 60 81 81 106 181 7 167 167 40 205 108 168 102 207
         139 131 54 0 161 64 187 88 86 145 149 13 104 194 25 148 169 95 61 192 115 154 193 26 180 60 141 77 198 155
         113 82 174 65 11 47 41 82 41 28 35 112 189 26 51 99 104 186 78 13 146 158 202 14 27 110 112 79 182 100 123
         162 20 121 113 119 135 189 28 65 182 41 112 190 180 108 169 188 189 174 61 131 185 208 137 185 79 21 163 133
         76 76 13 110 103 39 10 153 39 89 128 37 186 15 124 174 67 135 183 114 92 72 191 141 113 57 202 169 85 184 43
         51 201 204, flush, decay 6, write 29, decay 4, mount, fail 0:25239, discard 126, cut 5:52819, write 68, decay
         9, cut 7:53416, mount, write 132 148, decay 12, fail 0:19371, mount, mount",
    );
}

/// Two programs of a shutdown failed, and what the first had left of a page could still be read. The mark was written
/// all the same, before those segments were empty. The next mount took what was left for a copy, and it faded.
#[test]
fn programs_fail_in_a_shutdown() {
    assert_holds(
        "nand page-bytes=1024 spare-bytes=16 pages-per-block=4 blocks=42 dies=2 paired-pages=1
         page blocks-per-segment=2 policies=watermark:1:1/windowed-greedy:4/single/none/at-once
         logical-pages=77 endurance=100000 seed=9604212476588744103",
        "write 37 1 14 2 8 0 0, discard 14+10, write 0, flush, write 65 6 14 9 59 11 28 9 12 29 12 13 11 0 36 4 4 4,
         part 16, write 1, part 67+5@1, write 0 2 1 12 14 21, part 17, write 69 7 3 4+8 3 12+7 6 8 0 13+8 8 14, mount,
         write 10, mount, write 5 11, fail 1:17189, write 13, fail 1:42911, write 13 10, fail 4:40583, mount, mount,
         part 5, fail 6:28022 9:62355 21:26866 26:30812, shutdown, mount",
    );
}

/// Two operations fail on a device with no segment to spare. To make room, the last other copies of pages were erased
/// that could not be moved, and the copy that counted faded.
#[test]
fn two_failures_leave_the_last_other_copies() {
    assert_holds(
        "nand page-bytes=512 spare-bytes=16 pages-per-block=8 blocks=12 dies=1 paired-pages=1 mixed-erases
         page blocks-per-segment=1 policies=watermark:2:3/greedy/single/none/at-once
         logical-pages=40 endurance=100000 seed=1",
        "write 0+40 27 11 26, mount, mount, write 2 16, mount, mount, cut 3:59592, write 33, fail 1:37583 4:43834,
         mount",
    );
}

/// A page has two equal copies, one of them in a segment whose erase was cut. That one counted though the other could
/// be read, and faded.
#[test]
fn one_of_two_copies_is_in_a_cut_erase() {
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
         189 174 61 131 185 208 137 185 79 21 163 133 76 76 13 110 103 39 10 153 39 89 128 37 186 15 124 174 67 135
         183 114 184 43 51 201 204 29, decay 45, mount, fail 0:31170, discard 126, cut 5:3440, write 68, decay 55, cut
         7:53416, mount, decay 12, write 3, fail 0:10049 5:19039, mount, mount",
    );
}
