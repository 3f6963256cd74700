//! The emulated NOR chip: its contract, its background erase, its faults, and every outcome of a power cut.

use wearwell_emu::{ChipProfile, CutOutcome, EmuChip, EmuError, EmuNor, Endurance, Faults, OpKind, PowerCut};
use wearwell_flash::{BankAddr, BlockAddr, ChipError, ErrorKind, Nor, NorAddr};

const BLOCK: u32 = 4096;

/// 2 banks of 2 blocks of 4 KiB, without times.
fn profile() -> ChipProfile {
    let text = r#"
        description = "test"
        source = "test"
        kind = "nor"
        page_bytes = 512
        pages_per_block = 7
        block_bytes = 4096
        blocks = 4
        banks = 2
        endurance_cycles = 1000
    "#;
    ChipProfile::from_toml_str("test", text).expect("valid")
}

fn chip(faults: Faults) -> EmuNor {
    EmuNor::in_memory(&profile(), faults).expect("set up")
}

fn at(block: u32, offset: u32) -> NorAddr {
    NorAddr { block: BlockAddr(block), offset }
}

fn block(chip: &mut EmuNor, block: u32) -> Vec<u8> {
    let mut bytes = vec![0; BLOCK as usize];
    chip.read(at(block, 0), &mut bytes).expect("read");
    bytes
}

/// Power cut during the program of 64 bytes 0x0F over 0x3C.
fn cut_program(outcome: CutOutcome) -> Vec<u8> {
    let mut chip = chip(Faults::default());
    chip.program(at(0, 16), &[0x3C; 64]).expect("program");
    chip.arm(Some(PowerCut { at_op: 1, outcome }));
    assert_eq!(chip.program(at(0, 16), &[0x0F; 64]), Err(EmuError::PowerCut));
    assert_eq!(chip.read(at(0, 0), &mut [0]), Err(EmuError::PowerCut));
    assert_eq!((chip.erase_ready(BankAddr(0)), chip.erase_finish(BankAddr(0))), (true, Err(EmuError::PowerCut)));
    chip.power_on();
    let mut bytes = block(&mut chip, 0);
    assert!(bytes[..16].iter().chain(&bytes[80..]).all(|&b| b == 0xFF), "bytes beside the program changed");
    bytes.drain(80..);
    bytes.drain(..16);
    bytes
}

/// A block of a pattern, and power cut while it erases: after so many polls.
fn cut_erase(outcome: CutOutcome, polls: u64) -> Vec<u8> {
    let mut chip = chip(Faults::default());
    chip.program(at(1, 0), &pattern()).expect("program");
    chip.arm(Some(PowerCut { at_op: 1 + polls, outcome }));
    let started = chip.erase_start(BlockAddr(1));
    assert_eq!(started.is_ok(), polls > 0);
    for _ in 0..polls {
        assert_eq!(chip.erase_ready(BankAddr(0)), chip.is_off());
    }
    assert_eq!(chip.erase_finish(BankAddr(0)), Err(EmuError::PowerCut));
    chip.power_on();
    assert_eq!(chip.erase_finish(BankAddr(0)), Ok(()), "nothing erases after power-on");
    block(&mut chip, 1)
}

fn pattern() -> Vec<u8> {
    (0..BLOCK).map(|i| (i % 251) as u8).collect()
}

#[test]
fn programs_only_clear_bits_and_erase_sets_them() {
    let mut chip = chip(Faults::default());
    chip.program(at(2, 100), &[0xF0, 0x0F]).expect("program");
    chip.program(at(2, 100), &[0x3C, 0xFF]).expect("bits set in a program stay as they are");
    let mut bytes = [0; 4];
    chip.read(at(2, 99), &mut bytes).expect("read");
    assert_eq!(bytes, [0xFF, 0x30, 0x0F, 0xFF]);
    chip.erase_start(BlockAddr(2)).expect("erase");
    chip.erase_finish(BankAddr(1)).expect("finish");
    chip.read(at(2, 99), &mut bytes).expect("read");
    assert_eq!((bytes, chip.erase_counts()), ([0xFF; 4], vec![0, 0, 1, 0]));
    let counts = chip.block_counts(BlockAddr(2)).expect("block 2");
    assert_eq!((counts.programs, counts.reads), (2, 2));
}

#[test]
fn an_erase_goes_on_in_the_background_of_its_bank() {
    let mut chip = chip(Faults::default());
    chip.program(at(0, 0), &[0]).expect("program");
    chip.erase_start(BlockAddr(0)).expect("erase");
    let error = chip.program(at(1, 0), &[0]).expect_err("bank 0 erases");
    assert_eq!((error, error.kind()), (EmuError::BankErasing(BankAddr(0)), ErrorKind::Contract));
    assert_eq!(chip.erase_start(BlockAddr(1)), Err(EmuError::BankErasing(BankAddr(0))));
    assert_eq!(chip.read(at(0, 0), &mut [0]), Err(EmuError::BlockErasing(BlockAddr(0))));
    assert_eq!(chip.violations(), 3);
    chip.program(at(2, 0), &[0]).expect("bank 1 is free: the fourth call");
    let mut byte = [0];
    chip.read(at(1, 0), &mut byte).expect("the fifth call ends the erase");
    assert!(chip.erase_ready(BankAddr(0)));
    chip.program(at(1, 0), &[0]).expect("the bank is free again");
    chip.read(at(0, 0), &mut byte).expect("read");
    assert_eq!((byte, chip.erase_finish(BankAddr(0))), ([0xFF], Ok(())));
    chip.set_erase_calls(1);
    chip.erase_start(BlockAddr(0)).expect("erase");
    assert!(chip.erase_ready(BankAddr(0)));
}

#[test]
fn with_times_an_erase_ends_when_its_time_has_passed() {
    let mut chip = EmuNor::in_memory(&ChipProfile::by_name("kawaguchi-28f008sa").expect("known"), Faults::default())
        .expect("set up");
    chip.erase_start(BlockAddr(8)).expect("erase");
    for _ in 0..20 {
        assert!(!chip.erase_ready(BankAddr(1)));
    }
    let mut bytes = [0; 512];
    chip.read(at(9, 0), &mut bytes).expect("the erase is suspended");
    // 12 µs to suspend, 512 bytes at 4 MiB/s.
    assert_eq!(chip.time().now_ns(), 12_000 + 122_070);
    chip.time_mut().advance_to(1_000_000_000);
    assert!(!chip.erase_ready(BankAddr(1)), "the read took time from the erase");
    chip.erase_finish(BankAddr(1)).expect("finish");
    assert_eq!(chip.time().now_ns(), 1_000_134_070);
    assert!(chip.erase_ready(BankAddr(1)));
}

#[test]
fn addresses_are_checked() {
    let mut chip = chip(Faults::default());
    for result in [
        chip.program(at(0, BLOCK - 1), &[0, 0]),
        chip.program(at(4, 0), &[0]),
        chip.read(at(0, u32::MAX), &mut [0]),
        chip.erase_start(BlockAddr(4)),
        chip.erase_finish(BankAddr(2)),
    ] {
        assert_eq!(result.map_err(|e| e.kind()), Err(ErrorKind::OutOfRange));
    }
    assert_eq!(chip.violations(), 5);
}

#[test]
fn a_cut_program_clears_none_all_or_some_of_its_bits() {
    assert_eq!(cut_program(CutOutcome::NorProgramNone), [0x3C; 64]);
    assert_eq!(cut_program(CutOutcome::NorProgramAll), [0x3C & 0x0F; 64]);
    let cleared = |seed| {
        let bytes = cut_program(CutOutcome::NorProgramSome { seed });
        assert!(bytes.iter().all(|b| b & !0x3C == 0 && b & 0x0C == 0x0C), "only bits 4 and 5 may change");
        bytes.iter().map(|b| (b ^ 0x3C).count_ones()).sum::<u32>()
    };
    let (half, few, most) = (cleared(0), cleared(1), cleared(2));
    assert!((45..85).contains(&half) && (3..35).contains(&few) && (95..126).contains(&most), "{half} {few} {most}");
    assert_ne!(
        cut_program(CutOutcome::NorProgramSome { seed: 0 }),
        cut_program(CutOutcome::NorProgramSome { seed: 3 })
    );
}

#[test]
fn a_cut_erase_leaves_any_bits() {
    let ones = vec![0xFF; BLOCK as usize];
    for polls in [0, 1, 4] {
        assert_eq!(cut_erase(CutOutcome::EraseOld, polls), pattern());
        assert_eq!(cut_erase(CutOutcome::EraseDone, polls), ones);
    }
    let bits = cut_erase(CutOutcome::NorEraseBits { seed: 0 }, 2);
    assert!(bits.iter().zip(pattern()).all(|(now, old)| now & old == old), "bits are old or set");
    assert!(bits != ones && bits != pattern());
    let prefix = cut_erase(CutOutcome::NorErasePrefix { seed: 0 }, 2);
    let erased = prefix.iter().zip(pattern()).take_while(|(now, _)| **now == 0xFF).count();
    assert!(erased > 0 && erased < BLOCK as usize && prefix[erased..] == pattern()[erased..], "{erased}");
    let noise = cut_erase(CutOutcome::NorEraseNoise { seed: 0 }, 2);
    assert!(noise.iter().zip(pattern()).any(|(now, old)| now & old != old), "noise also clears bits");
    assert_eq!(noise, cut_erase(CutOutcome::NorEraseNoise { seed: 0 }, 2));
}

#[test]
fn a_cut_program_also_tears_the_erase_in_progress() {
    let run = |seed| {
        let mut chip = chip(Faults { seed, ..Faults::default() });
        chip.program(at(0, 0), &pattern()).expect("program");
        chip.erase_start(BlockAddr(0)).expect("erase");
        chip.arm(Some(PowerCut { at_op: 2, outcome: CutOutcome::NorProgramAll }));
        assert_eq!(chip.program(at(2, 0), &[0]), Err(EmuError::PowerCut));
        chip.power_on();
        let mut byte = [1];
        chip.read(at(2, 0), &mut byte).expect("read");
        assert_eq!(byte, [0]);
        block(&mut chip, 0)
    };
    let left: Vec<_> = (0..16).map(run).collect();
    assert!(left.contains(&pattern()) && left.contains(&vec![0xFF; BLOCK as usize]));
    assert!(left.iter().any(|l| *l != pattern() && l.contains(&0xFE)), "something in between");
    assert_eq!(left, (0..16).map(run).collect::<Vec<_>>());
}

#[test]
fn a_trace_tells_every_cut_point() {
    let start = chip(Faults::default());
    let run = |chip: &mut EmuNor| -> Result<(), EmuError> {
        chip.program(at(0, 0), &[0])?;
        chip.erase_start(BlockAddr(0))?;
        chip.program(at(2, 0), &[0])?;
        chip.erase_ready(BankAddr(0));
        chip.erase_finish(BankAddr(0))
    };
    let mut clean = start.clone();
    clean.start_trace();
    run(&mut clean).expect("clean run");
    use OpKind::{NorErase, NorErasing, NorProgram};
    assert_eq!(clean.trace(), [NorProgram, NorErase, NorProgram, NorErasing, NorErasing]);
    for (at_op, kind) in clean.trace().iter().enumerate() {
        for &outcome in kind.outcomes(1) {
            let mut cut = start.clone();
            cut.arm(Some(PowerCut { at_op: at_op as u64, outcome }));
            assert_eq!(run(&mut cut), Err(EmuError::PowerCut));
        }
    }
}

#[test]
fn failures_break_the_block() {
    let mut chip = chip(Faults { fail_ops: vec![1, 4], ..Faults::default() });
    chip.program(at(0, 0), &[0]).expect("program");
    let error = chip.program(at(0, 1), &[0; 64]).expect_err("fails");
    assert_eq!((error, error.kind()), (EmuError::NorProgramFailed(at(0, 1)), ErrorKind::ProgramFailed));
    assert_eq!(chip.program(at(0, 100), &[0]), Err(EmuError::NorProgramFailed(at(0, 100))));
    assert_eq!(block(&mut chip, 0)[0], 0, "what it held stays");
    chip.erase_start(BlockAddr(0)).expect("starts");
    assert_eq!(chip.erase_finish(BankAddr(0)), Err(EmuError::EraseFailed(BlockAddr(0))));
    assert_eq!(chip.erase_finish(BankAddr(0)), Ok(()), "told once");
}

#[test]
fn blocks_wear_out_at_their_own_endurance() {
    let mut chip =
        chip(Faults { seed: 5, endurance: Some(Endurance { cycles: 50, spread: 0.2 }), ..Faults::default() });
    for b in 0..4 {
        loop {
            chip.erase_start(BlockAddr(b)).expect("start");
            if chip.erase_finish(BankAddr(b / 2)).is_err() {
                break;
            }
        }
    }
    let lives = chip.erase_counts();
    assert!(lives.iter().all(|l| (1..110).contains(l)) && lives.windows(2).any(|w| w[0] != w[1]), "{lives:?}");
}
