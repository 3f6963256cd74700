//! The emulated NAND chip: its contract, its faults, and every outcome of a power cut.

use wearwell_emu::{
    BitErrors, ChipProfile, CutOutcome, EmuChip, EmuError, EmuNand, Endurance, FactoryBad, Faults, OpKind, PowerCut,
    SetupError,
};
use wearwell_flash::{BlockAddr, ChipError, ErrorKind, Nand, PageAddr, ProgramOrder};

const PAGE: usize = 512;
const SPARE: usize = 64;

/// 4 blocks of 8 pages.
fn profile() -> ChipProfile {
    ChipProfile::resolve("geometry:512:8:4").expect("valid")
}

fn chip(faults: Faults) -> EmuNand {
    EmuNand::in_memory(&profile(), faults).expect("set up")
}

fn write(chip: &mut EmuNand, page: u32, byte: u8) -> Result<(), EmuError> {
    chip.program(PageAddr(page), &[byte; PAGE], &[byte; 16])
}

/// The page's byte, checked to be the same everywhere, with the spare beyond what was given still ones.
fn look(chip: &mut EmuNand, page: u32) -> Result<u8, EmuError> {
    let (mut data, mut spare) = ([0; PAGE], [0; SPARE]);
    chip.read(PageAddr(page), &mut data, &mut spare)?;
    assert!(data.iter().chain(&spare[..16]).all(|&b| b == data[0]), "page {page} is a mix");
    assert!(spare[16..].iter().all(|&b| b == 0xFF));
    Ok(data[0])
}

/// A chip with page 0 programmed, then the power cut during the program of page 1.
fn cut_program(outcome: CutOutcome) -> EmuNand {
    let mut chip = chip(Faults::default());
    write(&mut chip, 0, 0xA0).expect("program");
    chip.arm(Some(PowerCut { at_op: 1, outcome }));
    assert_eq!(write(&mut chip, 1, 0xA1), Err(EmuError::PowerCut));
    assert!(chip.is_off());
    assert_eq!(look(&mut chip, 0), Err(EmuError::PowerCut), "nothing answers while power is off");
    assert_eq!(chip.is_bad(BlockAddr(0)), Err(EmuError::PowerCut));
    chip.power_on();
    assert_eq!(look(&mut chip, 0), Ok(0xA0));
    chip
}

/// A chip with block 0 full, then the power cut during its erase.
fn cut_erase(outcome: CutOutcome) -> EmuNand {
    let mut chip = chip(Faults::default());
    for page in 0..8 {
        write(&mut chip, page, page as u8).expect("program");
    }
    chip.arm(Some(PowerCut { at_op: 8, outcome }));
    assert_eq!(chip.erase(BlockAddr(0)), Err(EmuError::PowerCut));
    chip.power_on();
    chip
}

#[test]
fn pages_read_back_and_erase_to_ones() {
    let mut chip = chip(Faults::default());
    assert_eq!(look(&mut chip, 9), Ok(0xFF));
    write(&mut chip, 8, 1).expect("program");
    write(&mut chip, 11, 2).expect("a gap is allowed");
    let mut spare = [0; SPARE];
    chip.copy(PageAddr(11), PageAddr(0), &mut spare).expect("copy");
    assert_eq!((spare[15], spare[16]), (2, 0xFF));
    chip.copy(PageAddr(30), PageAddr(1), &mut []).expect("copying an erased page programs ones");
    assert_eq!((look(&mut chip, 8), look(&mut chip, 0), look(&mut chip, 1)), (Ok(1), Ok(2), Ok(0xFF)));
    assert_eq!(write(&mut chip, 1, 3), Err(EmuError::ProgrammedTwice(PageAddr(1))));
    chip.erase(BlockAddr(1)).expect("erase");
    assert_eq!((look(&mut chip, 8), look(&mut chip, 0)), (Ok(0xFF), Ok(2)));
    write(&mut chip, 8, 4).expect("program again");
    assert_eq!(chip.erase_counts(), [0, 1, 0, 0]);
    let counts = chip.block_counts(BlockAddr(1)).expect("block 1");
    assert_eq!((counts.erases, counts.programs), (1, 3));
    assert_eq!(chip.counts().copies, 2);
}

#[test]
fn breaches_of_the_contract_are_refused_and_counted() {
    let mut chip = chip(Faults::default());
    write(&mut chip, 3, 1).expect("program");
    let twice = write(&mut chip, 3, 2).expect_err("programmed twice");
    assert_eq!((twice, twice.kind()), (EmuError::ProgrammedTwice(PageAddr(3)), ErrorKind::Contract));
    assert_eq!(look(&mut chip, 3), Err(EmuError::Uncorrectable(PageAddr(3))), "what it held is gone");
    assert_eq!(write(&mut chip, 2, 2), Err(EmuError::OutOfOrder(PageAddr(2))));
    let outside = write(&mut chip, 32, 2).expect_err("outside");
    assert_eq!((outside, outside.kind()), (EmuError::PageOutOfRange(PageAddr(32)), ErrorKind::OutOfRange));
    assert_eq!(chip.erase(BlockAddr(4)), Err(EmuError::BlockOutOfRange(BlockAddr(4))));
    assert_eq!(chip.program(PageAddr(8), &[0; 100], &[]).map_err(|e| e.kind()), Err(ErrorKind::OutOfRange));
    assert_eq!(chip.program(PageAddr(8), &[0; PAGE], &[0; 65]).map_err(|e| e.kind()), Err(ErrorKind::OutOfRange));
    assert_eq!(chip.read(PageAddr(8), &mut [], &mut [0; 16]).map_err(|e| e.kind()), Err(ErrorKind::OutOfRange));
    assert_eq!(chip.violations(), 7);
    assert_eq!(chip.ops(), 1, "what was refused is no operation");
}

#[test]
fn an_ascending_chip_refuses_what_was_skipped_until_the_erase() {
    let mut chip = chip(Faults::default());
    assert_eq!(chip.geometry().program_order, ProgramOrder::Ascending, "unless a profile says otherwise");
    write(&mut chip, 5, 1).expect("a gap is allowed");
    assert_eq!(write(&mut chip, 2, 2), Err(EmuError::OutOfOrder(PageAddr(2))));
    assert_eq!(chip.copy(PageAddr(5), PageAddr(4), &mut []), Err(EmuError::OutOfOrder(PageAddr(4))));
    assert_eq!((look(&mut chip, 2), chip.violations()), (Ok(0xFF), 2), "refused, and still erased");
    chip.erase(BlockAddr(0)).expect("erase");
    write(&mut chip, 2, 2).expect("erased since");
}

#[test]
fn a_chip_programmed_in_any_order_takes_each_page_once() {
    let profile = ChipProfile { program_order: ProgramOrder::Any, ..profile() };
    let mut chip = EmuNand::in_memory(&profile, Faults::default()).expect("set up");
    assert_eq!(chip.geometry().program_order, ProgramOrder::Any);
    for page in [5, 2, 7, 0] {
        write(&mut chip, page, page as u8).expect("any order");
    }
    chip.copy(PageAddr(5), PageAddr(1), &mut []).expect("copies, too");
    assert_eq!((look(&mut chip, 2), look(&mut chip, 1), chip.violations()), (Ok(2), Ok(5), 0));
    assert_eq!(write(&mut chip, 0, 9), Err(EmuError::ProgrammedTwice(PageAddr(0))));
    assert_eq!(chip.violations(), 1);
    chip.erase(BlockAddr(0)).expect("erase");
    write(&mut chip, 0, 9).expect("erased since");
}

#[test]
fn a_cut_program_leaves_the_old_or_the_new_page() {
    let mut old = cut_program(CutOutcome::ProgramOld);
    assert_eq!(look(&mut old, 1), Ok(0xFF));
    write(&mut old, 1, 0xB1).expect("still erased");
    let mut new = cut_program(CutOutcome::ProgramNew);
    assert_eq!(look(&mut new, 1), Ok(0xA1));
    new.power_on();
    assert_eq!(look(&mut new, 1), Ok(0xA1));
    write(&mut new, 2, 0xB2).expect("goes on");
}

#[test]
fn a_cut_program_leaves_an_uncorrectable_page() {
    let mut chip = cut_program(CutOutcome::ProgramUncorrectable);
    assert_eq!(look(&mut chip, 1), Err(EmuError::Uncorrectable(PageAddr(1))));
    assert_eq!(chip.copy(PageAddr(1), PageAddr(8), &mut []), Err(EmuError::Uncorrectable(PageAddr(1))));
    assert_eq!(look(&mut chip, 8), Ok(0xFF), "nothing was programmed");
    assert_eq!(write(&mut chip, 1, 0), Err(EmuError::ProgrammedTwice(PageAddr(1))));
}

#[test]
fn a_cut_program_leaves_a_page_that_only_looks_erased() {
    let mut chip = cut_program(CutOutcome::ProgramLooksErased);
    assert_eq!(look(&mut chip, 1), Ok(0xFF));
    assert_eq!(write(&mut chip, 1, 0xB1), Err(EmuError::ProgrammedTwice(PageAddr(1))));
    assert_eq!(chip.violations(), 1);
    assert_eq!(look(&mut chip, 1), Err(EmuError::Uncorrectable(PageAddr(1))));
    chip.erase(BlockAddr(0)).expect("erase");
    write(&mut chip, 0, 1).expect("an erase heals it");
    write(&mut chip, 1, 1).expect("an erase heals it");
}

#[test]
fn a_cut_program_leaves_a_page_that_fails_later() {
    let mut chip = cut_program(CutOutcome::ProgramFailsLater);
    for _ in 0..7 {
        assert_eq!(look(&mut chip, 1), Ok(0xA1));
    }
    chip.copy(PageAddr(1), PageAddr(8), &mut []).expect("the eighth read");
    assert_eq!(look(&mut chip, 1), Err(EmuError::Uncorrectable(PageAddr(1))));
    assert_eq!(look(&mut chip, 8), Ok(0xA1), "the copy lasts");

    let mut chip = cut_program(CutOutcome::ProgramFailsLater);
    assert_eq!(look(&mut chip, 1), Ok(0xA1));
    chip.power_on();
    assert_eq!(look(&mut chip, 1), Err(EmuError::Uncorrectable(PageAddr(1))), "the second power-on ends it");
}

#[test]
fn a_cut_program_damages_the_pages_paired_with_it() {
    let mut p = profile();
    p.paired_pages = 3;
    let mut chip = EmuNand::in_memory(&p, Faults::default()).expect("set up");
    for page in 0..5 {
        write(&mut chip, page, page as u8).expect("program");
    }
    chip.arm(Some(PowerCut { at_op: 5, outcome: CutOutcome::ProgramPairedDamage }));
    assert_eq!(write(&mut chip, 5, 5), Err(EmuError::PowerCut));
    chip.power_on();
    for page in 0..3 {
        assert_eq!(look(&mut chip, page), Ok(page as u8));
    }
    for page in 3..6 {
        assert_eq!(look(&mut chip, page), Err(EmuError::Uncorrectable(PageAddr(page))));
    }
}

#[test]
fn a_cut_erase_leaves_old_erased_or_uncorrectable() {
    let mut old = cut_erase(CutOutcome::EraseOld);
    assert_eq!((look(&mut old, 0), look(&mut old, 7)), (Ok(0), Ok(7)));
    let mut done = cut_erase(CutOutcome::EraseDone);
    assert_eq!((look(&mut done, 0), look(&mut done, 7)), (Ok(0xFF), Ok(0xFF)));
    write(&mut done, 0, 1).expect("program");
    done.power_on();
    assert_eq!(look(&mut done, 0), Ok(1));
    let mut bad = cut_erase(CutOutcome::EraseUncorrectable);
    for page in 0..8 {
        assert_eq!(look(&mut bad, page), Err(EmuError::Uncorrectable(PageAddr(page))));
    }
    assert_eq!(write(&mut bad, 0, 1), Err(EmuError::ProgrammedTwice(PageAddr(0))));
    bad.erase(BlockAddr(0)).expect("erase");
    write(&mut bad, 0, 1).expect("an erase heals it");
}

#[test]
fn a_cut_erase_leaves_a_weak_block() {
    let mut chip = cut_erase(CutOutcome::EraseWeak);
    assert_eq!(look(&mut chip, 0), Ok(0xFF));
    write(&mut chip, 0, 1).expect("it takes programs");
    assert_eq!(look(&mut chip, 0), Ok(1));
    chip.power_on();
    assert_eq!(look(&mut chip, 0), Err(EmuError::Uncorrectable(PageAddr(0))));

    let mut chip = cut_erase(CutOutcome::EraseWeak);
    chip.power_on();
    chip.erase(BlockAddr(0)).expect("erase again");
    write(&mut chip, 0, 1).expect("program");
    chip.power_on();
    assert_eq!(look(&mut chip, 0), Ok(1));
}

#[test]
fn a_cut_mark_is_made_or_not() {
    for (outcome, marked) in [(CutOutcome::MarkOld, false), (CutOutcome::MarkNew, true)] {
        let mut chip = chip(Faults::default());
        chip.arm(Some(PowerCut { at_op: 0, outcome }));
        assert_eq!(chip.mark_bad(BlockAddr(2)), Err(EmuError::PowerCut));
        chip.power_on();
        assert_eq!(chip.is_bad(BlockAddr(2)), Ok(marked));
    }
}

#[test]
fn a_trace_tells_every_cut_point_and_a_clone_is_a_snapshot() {
    let mut start = chip(Faults::default());
    write(&mut start, 0, 1).expect("program");
    let base = start.ops();
    let run = |chip: &mut EmuNand| -> Result<(), EmuError> {
        write(chip, 1, 2)?;
        chip.copy(PageAddr(1), PageAddr(8), &mut [])?;
        chip.mark_bad(BlockAddr(3))?;
        chip.erase(BlockAddr(0))
    };
    let mut clean = start.clone();
    clean.start_trace();
    run(&mut clean).expect("clean run");
    assert_eq!(clean.trace(), [OpKind::Program, OpKind::Program, OpKind::MarkBad, OpKind::Erase]);
    for (i, kind) in clean.trace().iter().enumerate() {
        for &outcome in kind.outcomes(1) {
            let mut cut = start.clone();
            cut.arm(Some(PowerCut { at_op: base + i as u64, outcome }));
            assert_eq!(run(&mut cut), Err(EmuError::PowerCut));
            assert_eq!(cut.ops(), base + i as u64 + 1);
        }
    }
    assert_eq!((OpKind::Program.outcomes(1).len(), OpKind::Program.outcomes(3).len()), (6, 9));
    assert_eq!(look(&mut start, 0), Ok(1), "the snapshot is untouched");
}

#[test]
fn a_seeded_outcome_fits_the_operation_and_repeats() {
    let result = |seed| {
        let mut chip = chip(Faults::default());
        write(&mut chip, 0, 1).expect("program");
        chip.arm(Some(PowerCut { at_op: 1, outcome: CutOutcome::Seeded { seed } }));
        assert_eq!(chip.erase(BlockAddr(0)), Err(EmuError::PowerCut));
        chip.power_on();
        (look(&mut chip, 0), chip.erase_counts())
    };
    let results: Vec<_> = (0..32).map(result).collect();
    assert_eq!(results, (0..32).map(result).collect::<Vec<_>>());
    for seen in [Ok(1), Ok(0xFF), Err(EmuError::Uncorrectable(PageAddr(0)))] {
        assert!(results.iter().any(|r| r.0 == seen), "{seen:?} never came");
    }
}

#[test]
fn factory_bad_blocks_fail_and_are_drawn_from_the_seed() {
    let p = ChipProfile::resolve("geometry:512:8:64").expect("valid");
    let bad = |seed| {
        let faults = Faults { seed, factory_bad: FactoryBad::Count(5), ..Faults::default() };
        let mut chip = EmuNand::in_memory(&p, faults).expect("set up");
        (0..64).filter(|&b| chip.is_bad(BlockAddr(b)).expect("is_bad")).collect::<Vec<_>>()
    };
    assert_eq!((bad(1).len(), bad(1) == bad(1), bad(1) == bad(2)), (5, true, false));
    assert!((0..50).all(|seed| !bad(seed).contains(&0)), "block 0 is guaranteed");
    let faults = Faults { factory_bad: FactoryBad::Blocks(vec![BlockAddr(2)]), ..Faults::default() };
    let mut chip = chip(faults);
    assert_eq!(chip.erase(BlockAddr(2)), Err(EmuError::EraseFailed(BlockAddr(2))));
    assert_eq!(write(&mut chip, 16, 1), Err(EmuError::ProgramFailed(PageAddr(16))));
    let faults = Faults { factory_bad: FactoryBad::Blocks(vec![BlockAddr(4)]), ..Faults::default() };
    assert!(matches!(EmuNand::in_memory(&profile(), faults), Err(SetupError::Faults(_))));
}

#[test]
fn a_failed_program_breaks_the_block_but_not_what_it_holds() {
    let mut chip = chip(Faults { fail_ops: vec![1], ..Faults::default() });
    write(&mut chip, 0, 1).expect("program");
    assert_eq!(write(&mut chip, 1, 2), Err(EmuError::ProgramFailed(PageAddr(1))));
    assert_eq!(look(&mut chip, 0), Ok(1));
    assert_eq!(look(&mut chip, 1), Err(EmuError::Uncorrectable(PageAddr(1))));
    assert_eq!(write(&mut chip, 2, 3), Err(EmuError::ProgramFailed(PageAddr(2))));
    assert_eq!(chip.erase(BlockAddr(0)), Err(EmuError::EraseFailed(BlockAddr(0))));
    assert_eq!(chip.is_bad(BlockAddr(0)), Ok(false), "nobody marked it yet");
    chip.mark_bad(BlockAddr(0)).expect("mark");
    chip.power_on();
    assert_eq!(chip.is_bad(BlockAddr(0)), Ok(true));
    write(&mut chip, 8, 4).expect("other blocks go on");
    assert_eq!(chip.violations(), 0);
}

#[test]
fn fail_rates_hold_and_repeat() {
    let failures = |seed| {
        let p = ChipProfile::resolve("geometry:512:4:2000").expect("valid");
        let faults = Faults { seed, program_fail_rate: 0.1, erase_fail_rate: 0.05, ..Faults::default() };
        let mut chip = EmuNand::in_memory(&p, faults).expect("set up");
        let programs: Vec<u32> = (0..2000).filter(|&b| write(&mut chip, b * 4, 1).is_err()).collect();
        let erases = (0..2000).filter(|b| !programs.contains(b) && chip.erase(BlockAddr(*b)).is_err()).count();
        (programs, erases)
    };
    let (programs, erases) = failures(3);
    assert!((150..250).contains(&programs.len()) && (60..120).contains(&erases), "{} {erases}", programs.len());
    assert_eq!((programs, erases), failures(3));
}

#[test]
fn blocks_wear_out_at_their_own_endurance() {
    let mut chip =
        chip(Faults { seed: 5, endurance: Some(Endurance { cycles: 100, spread: 0.2 }), ..Faults::default() });
    for b in 0..4 {
        while chip.erase(BlockAddr(b)).is_ok() {}
    }
    let lives = chip.erase_counts();
    assert!(lives.iter().all(|l| (1..220).contains(l)), "{lives:?}");
    assert!(lives.windows(2).any(|w| w[0] != w[1]), "{lives:?}");
    assert_eq!(write(&mut chip, 0, 1), Err(EmuError::ProgramFailed(PageAddr(0))));
}

#[test]
fn bit_errors_grow_with_reads_and_age_until_nothing_can_be_corrected() {
    let model =
        BitErrors { base: 1.0, per_cycle: 0.0, per_read: 0.5, per_hour: 2.0, correctable_bits: 8, refresh_bits: 6 };
    let fresh = || {
        let mut chip = chip(Faults { seed: 9, bit_errors: Some(model), ..Faults::default() });
        write(&mut chip, 0, 7).expect("program");
        chip
    };
    let mut chip = fresh();
    let mut reports = Vec::new();
    while let Ok(report) = chip.read(PageAddr(0), &mut [], &mut []) {
        reports.push(report);
    }
    assert!((14..=16).contains(&reports.len()), "{}", reports.len());
    assert!(reports.is_sorted_by_key(|r| r.corrected_bits));
    assert!(reports.iter().all(|r| r.refresh_soon == (r.corrected_bits >= 6)));
    let mut chip = fresh();
    let hour_ns = 3_600_000_000_000;
    chip.time_mut().advance_to(3 * hour_ns);
    let report = chip.read(PageAddr(0), &mut [], &mut []).expect("three hours");
    assert!(report.refresh_soon && report.corrected_bits >= 7);
    chip.time_mut().advance_to(5 * hour_ns);
    assert_eq!(look(&mut chip, 0), Err(EmuError::Uncorrectable(PageAddr(0))));
    chip.erase(BlockAddr(0)).expect("erase");
    write(&mut chip, 0, 8).expect("program");
    assert_eq!(look(&mut chip, 0), Ok(8), "an erase and a program begin a new life");
}

#[test]
fn a_profile_of_the_other_kind_is_refused() {
    let nor = ChipProfile::by_name("kawaguchi-28f008sa").expect("known");
    assert!(matches!(EmuNand::in_memory(&nor, Faults::default()), Err(SetupError::WrongKind { .. })));
}

#[test]
fn operations_take_their_time() {
    let mut chip =
        EmuNand::in_memory(&ChipProfile::by_name("w25n01gv").expect("known"), Faults::default()).expect("set up");
    chip.program(PageAddr(0), &[1; 2048], &[1; 16]).expect("program");
    assert_eq!(chip.time().completion_ns(), 2064 * 20 + 250_000);
    chip.erase(BlockAddr(1)).expect("erase");
    assert_eq!(chip.time().idle_ns(), 2064 * 20 + 250_000 + 2_000_000);
}

#[test]
fn a_mixed_erase_leaves_each_page_its_own_way() {
    let mut seen = [0; 4];
    for seed in 0..20 {
        let mut chip = cut_erase(CutOutcome::EraseMixed { seed });
        let found: Vec<_> = (0..8).map(|page| look(&mut chip, page)).collect();
        chip.power_on();
        for (page, found) in (0..8).zip(found) {
            seen[match (found, look(&mut chip, page)) {
                (Ok(byte), Ok(again)) if u32::from(byte) == page && byte == again => 0,
                (Ok(byte), Err(EmuError::Uncorrectable(_))) if u32::from(byte) == page => 1,
                (Err(EmuError::Uncorrectable(_)), Err(_)) => 2,
                found => {
                    assert_eq!(found, (Ok(0xFF), Ok(0xFF)));
                    3
                }
            }] += 1;
        }
        let again = write(&mut chip, 7, 1).map_err(|error| error.kind());
        assert_eq!(again, Err(ErrorKind::Contract), "not even what reads as erased takes a program");
        chip.erase(BlockAddr(0)).expect("erase");
        write(&mut chip, 0, 1).expect("erased to the end");
    }
    assert!(seen.iter().all(|&pages| pages > 20), "{seen:?}");
}

#[test]
fn a_mixed_erase_leaves_no_page_that_can_be_programmed_in_any_order() {
    let profile = ChipProfile { program_order: ProgramOrder::Any, ..profile() };
    for seed in 0..20 {
        let mut chip = EmuNand::in_memory(&profile, Faults::default()).expect("set up");
        write(&mut chip, 3, 1).expect("program");
        chip.arm(Some(PowerCut { at_op: 1, outcome: CutOutcome::EraseMixed { seed } }));
        assert_eq!(chip.erase(BlockAddr(0)), Err(EmuError::PowerCut));
        chip.power_on();
        for page in 0..8 {
            assert_eq!(write(&mut chip, page, 2).map_err(|error| error.kind()), Err(ErrorKind::Contract));
        }
    }
}

#[test]
fn some_of_the_pages_that_share_cells_are_harmed() {
    // 7 pages in groups of 3: the last group has one.
    let profile = ChipProfile { paired_pages: 3, ..ChipProfile::resolve("geometry:512:7:5").expect("valid") };
    let (mut harmed, mut fail_later, mut fade) = ([0; 3], [0; 3], [0; 3]);
    for seed in 0..80 {
        let mut chip = EmuNand::in_memory(&profile, Faults::default()).expect("set up");
        for page in 0..5 {
            write(&mut chip, page, page as u8).expect("program");
        }
        chip.arm(Some(PowerCut { at_op: 5, outcome: CutOutcome::ProgramHarmsSomePairs { seed } }));
        assert_eq!(write(&mut chip, 5, 5), Err(EmuError::PowerCut));
        chip.power_on();
        let found: Vec<_> = (3..6).map(|page| look(&mut chip, page)).collect();
        chip.power_on();
        for (index, found) in found.into_iter().enumerate() {
            let page = 3 + index as u32;
            let again = look(&mut chip, page);
            let is_there = (0..40).all(|_| look(&mut chip, page).is_ok());
            harmed[index] += usize::from(found.is_err());
            fail_later[index] += usize::from(found.is_ok() && again.is_err());
            fade[index] += usize::from(again == Ok(page as u8) && !is_there);
        }
        assert_eq!(look(&mut chip, 2), Ok(2), "another group");
        let kept = look(&mut chip, 5);
        chip.arm(Some(PowerCut { at_op: 6, outcome: CutOutcome::ProgramHarmsSomePairs { seed } }));
        assert_eq!(write(&mut chip, 6, 6), Err(EmuError::PowerCut));
        chip.power_on();
        assert_eq!(look(&mut chip, 5), kept, "the last page is a group of its own");
    }
    let counts = [harmed, fail_later, fade];
    assert!(counts.iter().flatten().all(|&times| times > 3), "{counts:?}");
}

#[test]
fn an_interrupted_operation_happened_or_not() {
    let (mut happened, mut erased) = ([0; 2], [0; 2]);
    for seed in 0..40 {
        let mut chip = chip(Faults { seed, interrupt_ops: vec![0, 2], ..Faults::default() });
        let error = write(&mut chip, 0, 7).expect_err("interrupted");
        assert_eq!((error, error.kind()), (EmuError::Interrupted, ErrorKind::Other));
        let is_there = look(&mut chip, 0) == Ok(7);
        assert!(is_there || look(&mut chip, 0) == Ok(0xFF));
        happened[usize::from(is_there)] += 1;
        write(&mut chip, 1, 8).expect("the next one is not");
        assert_eq!(chip.erase(BlockAddr(0)), Err(EmuError::Interrupted));
        erased[usize::from(look(&mut chip, 1) == Ok(0xFF))] += 1;
        assert!(!chip.is_bad(BlockAddr(0)).expect("answers") && chip.violations() == 0);
    }
    assert!(happened.iter().chain(&erased).all(|&times| times > 8), "{happened:?} {erased:?}");
}

#[test]
fn any_page_decays_at_any_time() {
    let mut chip = chip(Faults::default());
    write(&mut chip, 0, 1).expect("program");
    write(&mut chip, 1, 2).expect("program");
    assert!(chip.decay(PageAddr(0)) && !chip.decay(PageAddr(2)) && !chip.decay(PageAddr(1 << 20)));
    assert_eq!((look(&mut chip, 0), look(&mut chip, 1)), (Err(EmuError::Uncorrectable(PageAddr(0))), Ok(2)));
    assert_eq!(chip.copy(PageAddr(0), PageAddr(8), &mut []), Err(EmuError::Uncorrectable(PageAddr(0))));
    chip.erase(BlockAddr(0)).expect("erase");
    write(&mut chip, 0, 3).expect("as good as before");
    assert_eq!(look(&mut chip, 0), Ok(3));
}

#[test]
fn what_a_cut_leaves_of_each_page_can_be_named() {
    // Bits of page 0 first: as it was, uncorrectable, as if erased, three reads, later; the rest as it was.
    let mut chip = cut_erase(CutOutcome::Each { states: 0xF5210 });
    let uncorrectable = |page| Err(EmuError::Uncorrectable(PageAddr(page)));
    assert_eq!([0, 1, 2].map(|page| look(&mut chip, page)), [Ok(0), uncorrectable(1), Ok(0xFF)]);
    chip.power_on();
    // The second power-on ends the page that fails later.
    assert_eq!([3, 3, 4, 7].map(|page| look(&mut chip, page)), [Ok(3), Ok(3), uncorrectable(4), Ok(7)]);
    assert_eq!([3, 3].map(|page| look(&mut chip, page)), [Ok(3), uncorrectable(3)]);
    assert_eq!(write(&mut chip, 2, 1).map_err(|error| error.kind()), Err(ErrorKind::Contract));
    let mut chip = cut_program(CutOutcome::Each { states: 3 });
    chip.power_on();
    assert_eq!([1, 1].map(|page| look(&mut chip, page)), [Ok(0xA1), uncorrectable(1)]);
}

#[test]
fn what_a_cut_leaves_of_a_group_can_be_named() {
    let profile = ChipProfile { paired_pages: 4, ..profile() };
    let mut chip = EmuNand::in_memory(&profile, Faults::default()).expect("set up");
    (0..2).for_each(|page| write(&mut chip, page, page as u8).expect("program"));
    chip.arm(Some(PowerCut { at_op: 2, outcome: CutOutcome::Each { states: 0x120 } }));
    assert_eq!(write(&mut chip, 2, 2), Err(EmuError::PowerCut));
    chip.power_on();
    // Its own page first, and then the earlier ones.
    let found = [2, 0, 1].map(|page| look(&mut chip, page));
    assert_eq!(found, [Ok(2), Ok(0xFF), Err(EmuError::Uncorrectable(PageAddr(1)))]);
}

#[test]
fn what_a_failure_leaves_can_be_named() {
    let gone = |page| Err(EmuError::Uncorrectable(PageAddr(page)));
    // Bits, and what is then left of page 1 by the program and of page 0 by the erase.
    for (bits, left, kept) in [(0, Ok(2), Ok(1)), (1, gone(1), gone(0)), (2, Ok(0xFF), Ok(0xFF)), (4, Ok(2), Ok(1))] {
        let fails_as = vec![(1, bits), (2, bits)];
        let mut chip = chip(Faults { fail_ops: vec![1], fails_as, ..Faults::default() });
        write(&mut chip, 0, 1).expect("program");
        assert_eq!(write(&mut chip, 1, 2), Err(EmuError::ProgramFailed(PageAddr(1))));
        assert_eq!(look(&mut chip, 1), left);
        assert_eq!(chip.erase(BlockAddr(0)), Err(EmuError::EraseFailed(BlockAddr(0))));
        assert_eq!(look(&mut chip, 0), kept);
    }
}

#[test]
fn a_mark_can_fail() {
    let mut chip = chip(Faults { fail_marks: vec![0, 1], ..Faults::default() });
    write(&mut chip, 0, 1).expect("only marks fail");
    assert_eq!(chip.mark_bad(BlockAddr(0)), Err(EmuError::MarkFailed(BlockAddr(0))));
    assert_eq!(chip.is_bad(BlockAddr(0)), Ok(false));
    chip.mark_bad(BlockAddr(0)).expect("the next one is made");
}
