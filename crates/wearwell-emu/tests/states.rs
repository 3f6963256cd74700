//! What proofs over all cuts rely on: another outcome of a cut, and a number for what a chip holds.

use wearwell_emu::{ChipProfile, EmuChip, EmuError, EmuNand, Faults, OpKind, PowerCut};
use wearwell_flash::{BlockAddr, Nand, PageAddr};

const PAGE: usize = 512;
const SPARE: usize = 64;

/// 4 blocks of 8 pages, four of which share cells.
fn chip() -> EmuNand {
    let profile = ChipProfile { paired_pages: 4, ..ChipProfile::resolve("geometry:512:8:4").expect("valid") };
    EmuNand::in_memory(&profile, Faults::default()).expect("set up")
}

/// The chip with these pages programmed, each with its number.
fn programmed(pages: &[u32]) -> EmuNand {
    let mut chip = chip();
    pages.iter().for_each(|&page| write(&mut chip, page).expect("program"));
    chip
}

fn write(chip: &mut EmuNand, page: u32) -> Result<(), EmuError> {
    chip.program(PageAddr(page), &[page as u8; PAGE], &[page as u8; 16])
}

/// All of a page's bytes.
fn read(chip: &mut EmuNand, page: u32) -> Result<(Vec<u8>, Vec<u8>), EmuError> {
    let (mut data, mut spare) = (vec![0; PAGE], vec![0; SPARE]);
    chip.read(PageAddr(page), &mut data, &mut spare).map(|_| (data, spare))
}

/// A cut that has left nothing of its operation can leave anything else instead: the chip is the one that the same cut
/// leaves with that outcome.
#[test]
fn a_cut_can_be_given_another_outcome() {
    type Act = fn(&mut EmuNand) -> Result<(), EmuError>;
    let ops: [(OpKind, Act); 4] = [
        (OpKind::Program, |chip| write(chip, 3)),
        (OpKind::Program, |chip| chip.copy(PageAddr(1), PageAddr(11), &mut [0; SPARE]).map(|_| ())),
        (OpKind::Erase, |chip| chip.erase(BlockAddr(0))),
        (OpKind::MarkBad, |chip| chip.mark_bad(BlockAddr(2))),
    ];
    for (index, (kind, op)) in ops.into_iter().enumerate() {
        let cut = |outcome| {
            let mut chip = programmed(&[0, 1, 2, 8, 9, 10]);
            chip.arm(Some(PowerCut { at_op: chip.ops(), outcome }));
            assert_eq!(op(&mut chip), Err(EmuError::PowerCut));
            chip
        };
        let nothing = cut(kind.outcomes(4)[0]);
        for &outcome in &kind.outcomes(4)[1..] {
            let (mut again, mut direct) = (nothing.clone(), cut(outcome));
            assert_ne!(again.fingerprint(), direct.fingerprint(), "operation {index}, {outcome:?} leaves something");
            assert!(again.cut_again(outcome) && !direct.cut_again(outcome));
            assert_eq!(again.fingerprint(), direct.fingerprint(), "operation {index}, {outcome:?}");
            again.power_on();
            direct.power_on();
            let mut later = nothing.clone();
            later.power_on();
            assert!(!later.cut_again(outcome), "only as long as the power is off");
            for page in 0..32 {
                assert_eq!(read(&mut again, page), read(&mut direct, page), "operation {index}, {outcome:?}");
            }
        }
    }
}

/// Chips that came to the same state in several ways have one number, and others have another.
#[test]
fn chips_that_hold_the_same_have_the_same_fingerprint() {
    let (mut a, b) = (programmed(&[0, 8, 1]), programmed(&[0, 1, 8]));
    read(&mut a, 0).expect("a read changes nothing");
    assert_eq!(a.fingerprint(), b.fingerprint());
    assert_ne!(a.fingerprint(), programmed(&[0, 1]).fingerprint());
    assert!(a.decay(PageAddr(1)));
    assert_ne!(a.fingerprint(), b.fingerprint());
}
