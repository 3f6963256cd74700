//! Histories of the engine with its map on flash.

use super::*;

fn paged(geometry: NandGeometry, cache_entries: u32, logical_pages: u32) -> Setup {
    Setup {
        shape: Nand(geometry),
        temper: Temper { mixed_erases: false, fading_pairs: false },
        driver: Honest,
        engine: Paged { blocks_per_segment: 1, cache_entries },
        logical_pages,
        endurance: 100_000,
        seed: 1,
    }
}

fn write(page: u32) -> Step {
    Write { page, count: 1, stream: 0, read_only: false }
}

/// The program of a translation page failed, and a cut hit the next try. What was left of both faded.
#[test]
fn two_versions_that_fade() {
    let setup = paged(
        NandGeometry {
            page_bytes: 512,
            spare_bytes: 64,
            pages_per_block: 16,
            blocks: 54,
            dies: 3,
            paired_pages: 1,
            program_order: Ascending,
        },
        2,
        551,
    );
    let history = [
        Mount,
        Write { page: 545, count: 1, stream: 0, read_only: false },
        Discard { sector: 544, count: 6 },
        Flush,
        Write { page: 536, count: 1, stream: 0, read_only: false },
        Write { page: 516, count: 1, stream: 0, read_only: false },
        Fail { after: 0, draw: 247 },
        Fail { after: 4, draw: 36437 },
        Cut { after: 7, draw: 46629 },
        Write { page: 264, count: 1, stream: 0, read_only: false },
        Mount,
    ];
    assert_holds(&setup, &history);
}

/// Programs failed in a mount that could take empty segments only, and there was one.
#[test]
fn failures_in_a_mount() {
    let setup = paged(
        NandGeometry {
            page_bytes: 2048,
            spare_bytes: 64,
            pages_per_block: 7,
            blocks: 35,
            dies: 1,
            paired_pages: 1,
            program_order: Ascending,
        },
        2,
        9,
    );
    let history = [
        Mount,
        Fail { after: 0, draw: 15282 },
        Write { page: 5, count: 1, stream: 0, read_only: false },
        Fail { after: 0, draw: 60764 },
        Fail { after: 4, draw: 55447 },
        Write { page: 3, count: 6, stream: 0, read_only: false },
        Mount,
        Write { page: 7, count: 1, stream: 0, read_only: false },
        Fail { after: 0, draw: 26204 },
        Write { page: 4, count: 1, stream: 0, read_only: false },
        Write { page: 0, count: 1, stream: 0, read_only: false },
        Mount,
        Write { page: 0, count: 1, stream: 0, read_only: false },
        Write { page: 3, count: 1, stream: 0, read_only: false },
        Fail { after: 1, draw: 28907 },
        Fail { after: 4, draw: 28763 },
        Part { sector: 11, count: 1, stream: 0 },
        Write { page: 4, count: 1, stream: 0, read_only: false },
        Fail { after: 0, draw: 5332 },
        Fail { after: 2, draw: 22508 },
        Part { sector: 20, count: 1, stream: 0 },
        Write { page: 1, count: 1, stream: 0, read_only: false },
        Write { page: 6, count: 1, stream: 0, read_only: false },
        Write { page: 2, count: 1, stream: 0, read_only: false },
        Write { page: 7, count: 1, stream: 0, read_only: false },
        Write { page: 1, count: 1, stream: 0, read_only: false },
        Mount,
        Write { page: 6, count: 1, stream: 0, read_only: false },
        Part { sector: 26, count: 1, stream: 0 },
        Write { page: 0, count: 1, stream: 0, read_only: false },
        Mount,
        Part { sector: 4, count: 1, stream: 0 },
        Mount,
        Write { page: 5, count: 1, stream: 0, read_only: false },
        Mount,
        Fail { after: 0, draw: 33927 },
        Fail { after: 2, draw: 47907 },
        Write { page: 4, count: 1, stream: 0, read_only: false },
        Mount,
        Mount,
        Fail { after: 0, draw: 58003 },
        Write { page: 7, count: 1, stream: 0, read_only: false },
        Fail { after: 0, draw: 16354 },
        Mount,
    ];
    assert_holds(&setup, &history);
}

const SMALL: NandGeometry = NandGeometry {
    page_bytes: 512,
    spare_bytes: 16,
    pages_per_block: 8,
    blocks: 40,
    dies: 1,
    paired_pages: 1,
    program_order: Ascending,
};

/// Each write survives as many failures in a row as there are segments to spare, wherever the cleaner is. What one row
/// has used up is there again for the next.
#[test]
fn failures_in_a_row() {
    let geometry = NandGeometry { blocks: 48, ..SMALL };
    for writes in 100..300 {
        let mut history = vec![Fail { after: 0, draw: 1 }];
        history.extend((0..100).map(write));
        history.extend((0..writes).map(|index| write(index * 37 % 100)));
        for _ in 0..2 {
            history.extend((0..4).map(|after| Fail { after, draw: 1 }));
            history.extend([write(5), write(6)]);
        }
        assert_holds(&paged(geometry, 4, 100), &history);
    }
}

/// A shutdown was cut in the summary behind the newest translation page. A mount could read it, and erased the older
/// translation page. Then the summary faded, and the newer page seemed to be the one that the cut had hit.
#[test]
fn a_summary_that_fades() {
    for (shutdown, draw) in (0..4).flat_map(|after| (0..60).map(move |draw| (after, draw))) {
        for erase in 0..3 {
            let mut history: Vec<Step> = (0..13).map(write).collect();
            // These fill a segment of translation pages.
            history.extend((1..4).flat_map(|sector| [Discard { sector, count: 1 }, Flush]));
            history.extend([write(5), Cut { after: shutdown, draw }, Shutdown, Mount]);
            history.extend([Cut { after: erase, draw: 1 }, write(20), Mount, Verify]);
            assert_holds(&paged(SMALL, 40, 60), &history);
        }
    }
}

/// A mount moved as many pages as a segment takes, and left more entries in the cache than there may be in service. The
/// next one moved as many again, and had no room for their entries.
#[test]
fn entries_of_two_mounts() {
    let geometry =
        NandGeometry { page_bytes: 2048, spare_bytes: 64, pages_per_block: 64, blocks: 22, dies: 2, ..SMALL };
    let geometry = NandGeometry { program_order: Any, ..geometry };
    let history = [
        write(30),
        write(65),
        write(78),
        write(102),
        write(104),
        write(0),
        Part { sector: 133, count: 1, stream: 0 },
        write(95),
        write(105),
        write(322),
        write(79),
        Part { sector: 407, count: 3, stream: 2 },
        Write { page: 56, count: 5, stream: 0, read_only: false },
        write(45),
        write(20),
        Part { sector: 109, count: 1, stream: 0 },
        Write { page: 36, count: 4, stream: 0, read_only: false },
        Write { page: 45, count: 4, stream: 0, read_only: false },
        write(19),
        write(55),
        write(24),
        Part { sector: 291, count: 4, stream: 2 },
        write(51),
        write(58),
        Part { sector: 105, count: 1, stream: 0 },
        Part { sector: 270, count: 3, stream: 0 },
        Part { sector: 50, count: 4, stream: 1 },
        write(93),
        Write { page: 97, count: 3, stream: 0, read_only: false },
        Part { sector: 419, count: 1, stream: 0 },
        write(74),
        write(105),
        write(89),
        write(90),
        write(46),
        write(78),
        write(54),
        write(314),
        write(10),
        Part { sector: 30, count: 3, stream: 0 },
        write(87),
        write(78),
        Write { page: 79, count: 2, stream: 0, read_only: false },
        write(99),
        write(24),
        Write { page: 50, count: 4, stream: 0, read_only: false },
        write(97),
        write(42),
        write(45),
        Mount,
        Write { page: 475, count: 2, stream: 0, read_only: false },
        write(98),
        write(15),
        Part { sector: 90, count: 1, stream: 0 },
        write(101),
        write(100),
        write(32),
        Mount,
        write(113),
        Part { sector: 344, count: 1, stream: 0 },
        write(72),
        write(33),
        write(27),
        write(10),
        write(36),
        write(7),
        write(82),
        write(191),
        Write { page: 70, count: 2, stream: 0, read_only: false },
        write(3),
        Part { sector: 242, count: 1, stream: 0 },
        write(59),
        write(519),
        write(457),
        write(102),
        write(62),
        write(99),
        Part { sector: 226, count: 3, stream: 2 },
        write(54),
        write(103),
        write(55),
        write(99),
        write(70),
        write(12),
        write(88),
        write(1),
        write(19),
        write(265),
        write(30),
        write(92),
        Part { sector: 1790, count: 3, stream: 1 },
        write(82),
        Write { page: 11, count: 3, stream: 0, read_only: false },
        write(95),
        write(1),
        write(74),
        Write { page: 1, count: 7, stream: 0, read_only: false },
        Write { page: 523, count: 7, stream: 0, read_only: false },
        write(47),
        write(1),
        write(46),
        write(17),
        Fail { after: 1, draw: 20192 },
        Part { sector: 143, count: 3, stream: 2 },
        write(14),
        write(3),
        Part { sector: 366, count: 3, stream: 2 },
        write(55),
        write(16),
        write(0),
        write(529),
        write(58),
        write(94),
        write(108),
        write(68),
        Part { sector: 415, count: 4, stream: 0 },
        Part { sector: 297, count: 1, stream: 0 },
        Write { page: 78, count: 7, stream: 0, read_only: false },
        Part { sector: 420, count: 9, stream: 2 },
        write(7),
        Part { sector: 277, count: 1, stream: 0 },
        write(21),
        write(41),
        write(105),
        write(88),
        write(76),
        write(70),
        write(81),
        write(384),
        write(19),
        write(8),
        Fail { after: 0, draw: 41888 },
        Part { sector: 1980, count: 1, stream: 0 },
        Part { sector: 375, count: 1, stream: 0 },
        write(5),
        write(32),
        write(54),
        write(75),
        write(20),
        Cut { after: 5, draw: 6935 },
        Part { sector: 106, count: 3, stream: 2 },
        Mount,
        Write { page: 102, count: 5, stream: 0, read_only: false },
        Mount,
        Part { sector: 253, count: 1, stream: 0 },
        Mount,
        write(37),
        Mount,
        write(470),
        Fail { after: 39, draw: 47539 },
        Fail { after: 41, draw: 49724 },
        Fail { after: 57, draw: 37284 },
        Fail { after: 58, draw: 49031 },
        Fail { after: 72, draw: 36648 },
        Mount,
        write(80),
        write(56),
        write(74),
        Part { sector: 74, count: 1, stream: 0 },
        Part { sector: 260, count: 1, stream: 0 },
        write(73),
        Discard { sector: 1047, count: 24 },
        Flush,
        write(507),
        Part { sector: 258, count: 1, stream: 0 },
        write(77),
        Fail { after: 0, draw: 12807 },
        write(16),
        write(32),
        write(373),
        write(75),
        write(104),
        Part { sector: 15, count: 3, stream: 1 },
        write(54),
        write(27),
        Part { sector: 291, count: 4, stream: 2 },
        Fail { after: 1, draw: 43532 },
        Write { page: 33, count: 2, stream: 0, read_only: false },
        write(49),
        write(32),
        write(28),
        Part { sector: 104, count: 1, stream: 0 },
        Cut { after: 8, draw: 59426 },
        Write { page: 48, count: 7, stream: 0, read_only: false },
        Mount,
        write(32),
        Part { sector: 261, count: 4, stream: 0 },
        Write { page: 65, count: 7, stream: 0, read_only: false },
        write(7),
        write(62),
        write(90),
        write(389),
        write(102),
        write(74),
        write(86),
        write(84),
        write(40),
        write(11),
        write(21),
        write(101),
        Part { sector: 381, count: 4, stream: 1 },
        Part { sector: 324, count: 1, stream: 0 },
        write(32),
        write(34),
        write(92),
        write(56),
        write(100),
        write(11),
        Part { sector: 116, count: 1, stream: 0 },
        write(47),
        Write { page: 106, count: 4, stream: 0, read_only: false },
        write(70),
        write(48),
        write(99),
        write(24),
        write(73),
        Fail { after: 0, draw: 34523 },
        write(48),
        write(93),
        Mount,
        Cut { after: 4, draw: 60269 },
        write(44),
        Mount,
    ];
    assert_holds(&paged(geometry, 8, 558), &history);
}
