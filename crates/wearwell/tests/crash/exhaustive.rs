//! Every operation × every outcome × a second cut in recovery.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use wearwell::{BlockDevice, Inspect, Rng};
use wearwell_emu::{CutOutcome, EmuChip, EmuNand, OpKind, PowerCut};
use wearwell_flash::{BlockAddr, Nand, PageAddr};

use crate::model::{Command, Model};
use crate::rig::{NandRig, Rig, keeping, nand, nor, outcomes};

/// Commands between a mount and the second cut.
const COMMANDS_AFTER_MOUNT: u32 = 2;
/// Commands that must succeed once all cuts are over.
const COMMANDS_AT_END: u32 = 12;
/// Commands that must succeed after a clean shutdown.
const COMMANDS_AFTER_SHUTDOWN: u32 = 80;

/// Runs commands until the power is cut, or to the end. True if it was cut.
pub(crate) fn run<R: Rig>(rig: &R, ftl: &mut R::Ftl, model: &mut Model, seed: u64, commands: u32, what: &str) -> bool {
    let mut rng = Rng::new(seed);
    let per_page = ftl.page_bytes() / 512;
    for _ in 0..commands {
        let command = rig.command(&mut rng, per_page);
        if let Err(error) = model.run(ftl, command) {
            assert!(R::chip_of(ftl).is_off(), "{what}: {command:?} failed without a cut: {error}");
            return true;
        }
    }
    false
}

/// Fills the device, so that the run that follows has to clean.
pub(crate) fn aged<R: Rig>(rig: &R) -> (R::Ftl, Model) {
    let mut ftl = rig.format();
    let pages = rig.logical_pages();
    let mut model = Model::new(pages, ftl.page_bytes() / 512);
    model.fill(&mut ftl);
    run(rig, &mut ftl, &mut model, 99, 60, "aging");
    (ftl, model)
}

/// Mounts and verifies; then writes on for a while, and verifies again.
fn recover<R: Rig>(rig: &R, chip: R::Chip, model: &mut Model, what: &str) {
    let mut ftl = match rig.mount(chip) {
        Ok((ftl, _)) => ftl,
        Err(error) => panic!("{what}: cannot be mounted: {error}"),
    };
    model.check_after_cut(&mut ftl).unwrap_or_else(|error| panic!("{what}: {error}"));
    write_on(rig, ftl, model, COMMANDS_AT_END, what);
}

/// Runs commands that nothing cuts, and verifies.
fn write_on<R: Rig>(rig: &R, mut ftl: R::Ftl, model: &mut Model, commands: u32, what: &str) {
    assert!(!run(rig, &mut ftl, model, 7, commands, what), "{what}: nothing is cut now");
    model.check_exact(&mut ftl).unwrap_or_else(|error| panic!("{what}, later: {error}"));
    assert_eq!(R::chip_of(&ftl).violations(), 0, "{what}: the chip's contract was broken");
}

/// Mounts, shuts down at once, and mounts again: what the mount after the cut only remembers must not be forgotten by
/// the next one, which trusts the chip.
fn shut_down<R: Rig>(rig: &R, chip: R::Chip, model: &mut Model, what: &str) {
    let what = format!("{what}; then shut down");
    let (mut ftl, _) = rig.mount(chip).unwrap_or_else(|error| panic!("{what}: {error}"));
    model.check_after_cut(&mut ftl).unwrap_or_else(|error| panic!("{what}: {error}"));
    ftl.shutdown().unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut chip = R::into_chip(ftl);
    chip.power_on();
    let (mut ftl, _) = rig.mount(chip).unwrap_or_else(|error| panic!("{what}: {error}"));
    model.check_exact(&mut ftl).unwrap_or_else(|error| panic!("{what}: {error}"));
    write_on(rig, ftl, model, COMMANDS_AFTER_SHUTDOWN, &what);
}

/// Each of these operations, with the outcomes of a cut in it. An operation that was done when the power failed leaves
/// the chip that the next one leaves if it had not begun, and by then no less was promised: one stands for both.
fn cuts(kinds: &[OpKind], paired_pages: u32) -> impl Iterator<Item = (usize, OpKind, Vec<CutOutcome>)> {
    kinds.iter().enumerate().map(move |(index, &kind)| {
        let is_last = index + 1 == kinds.len();
        let left = |outcome: &CutOutcome| is_last || Some(*outcome) != done(kind);
        (index, kind, outcomes(kind, paired_pages).iter().copied().filter(left).collect())
    })
}

/// Runs again and again what did these operations, the first of which has this number, and cuts it at each of them with
/// each outcome. `then` gets the chip, with the power on again. Where the chip can leave something else of the
/// operation that was cut, one run stands for all outcomes.
pub(crate) fn each_cut<C: EmuChip + Clone>(
    kinds: &[OpKind],
    first: u64,
    paired_pages: u32,
    run: impl Fn(PowerCut, &str) -> (C, Model),
    mut then: impl FnMut(C, Model, &str),
) {
    for (index, kind, outcomes) in cuts(kinds, paired_pages) {
        let what = |outcome| format!("operation {index} ({kind:?}) left {outcome:?}");
        let cut = |outcome| run(PowerCut { at_op: first + index as u64, outcome }, &what(outcome));
        // Of all outcomes, the first leaves nothing.
        let (nothing, model) = cut(outcomes[0]);
        for &outcome in &outcomes {
            let mut chip = nothing.clone();
            let mut model = model.clone();
            if outcome != outcomes[0] && !chip.cut_again(outcome) {
                (chip, model) = cut(outcome);
            }
            chip.power_on();
            then(chip, model, &what(outcome));
        }
    }
}

/// What a cut leaves of an operation that was done. An erase of NOR goes on beside others, so the next operation does
/// not stand for it.
fn done(kind: OpKind) -> Option<CutOutcome> {
    match kind {
        OpKind::Program => Some(CutOutcome::ProgramNew),
        OpKind::Erase => Some(CutOutcome::EraseDone),
        OpKind::MarkBad => Some(CutOutcome::MarkNew),
        OpKind::NorProgram => Some(CutOutcome::NorProgramAll),
        OpKind::NorErase | OpKind::NorErasing => None,
    }
}

/// The states that a recovery without further cuts was proven for: what the chip holds, and what the host may find. It
/// depends on nothing else, and four of five pairs of cuts leave what another pair has left.
#[derive(Default)]
pub(crate) struct Proven(HashSet<u64>);

impl Proven {
    /// True the first time.
    fn is_new(&mut self, chip: &impl EmuChip, model: &Model) -> bool {
        let mut hasher = DefaultHasher::new();
        (chip.fingerprint(), model).hash(&mut hasher);
        self.0.insert(hasher.finish())
    }
}

/// Cuts the recovery, and what follows it, at every operation with every outcome.
fn cut_recovery<R: Rig>(rig: &R, chip: &R::Chip, model: &Model, proven: &mut Proven, what: &str) {
    let mut traced = chip.clone();
    traced.start_trace();
    let start = traced.ops();
    let (mut ftl, _) = rig.mount(traced).unwrap_or_else(|error| panic!("{what}: cannot be mounted: {error}"));
    let mut after = model.clone();
    after.check_after_cut(&mut ftl).unwrap_or_else(|error| panic!("{what}: {error}"));
    run(rig, &mut ftl, &mut after, 8, COMMANDS_AFTER_MOUNT, what);
    let kinds = R::chip_of(&ftl).trace().to_vec();
    let what_of = |of: &str| format!("{what}; then, in recovery, {of}");
    let cut = |cut: PowerCut, of: &str| {
        let what = what_of(of);
        let (mut chip, mut model) = (chip.clone(), model.clone());
        chip.arm(Some(cut));
        let chip = match rig.mount_or_return(chip) {
            Ok((mut ftl, _)) => {
                model.check_after_cut(&mut ftl).unwrap_or_else(|error| panic!("{what}: {error}"));
                run(rig, &mut ftl, &mut model, 8, COMMANDS_AFTER_MOUNT, &what);
                R::into_chip(ftl)
            }
            Err((chip, _)) => chip,
        };
        (chip, model)
    };
    each_cut(&kinds, start, rig.paired_pages(), cut, |chip, mut model, of| {
        if proven.is_new(&chip, &model) {
            recover(rig, chip, &mut model, &what_of(of));
        }
    });
}

/// Recovers what a cut has left of a chip: to the end, with a shutdown behind it, and with every second cut.
pub(crate) fn prove_recovery<R: Rig>(rig: &R, chip: &R::Chip, model: &Model, proven: &mut Proven, what: &str) {
    recover(rig, chip.clone(), &mut model.clone(), what);
    shut_down(rig, chip.clone(), &mut model.clone(), what);
    cut_recovery(rig, chip, model, proven, what);
}

/// Mounts an aged chip, from which nothing was cut.
pub(crate) fn begin<R: Rig>(rig: &R, chip: R::Chip, model: &Model) -> (R::Ftl, Model) {
    let mut model = model.clone();
    let (mut ftl, _) = rig.mount(chip).expect("an unclean stop without a cut mounts");
    model.check_after_cut(&mut ftl).expect("nothing was cut");
    (ftl, model)
}

/// The engine after the run that a proof cuts, without a cut: to see what is cut.
pub(crate) fn uncut<R: Rig>(rig: &R, seed: u64, commands: u32) -> R::Ftl {
    let (aged_ftl, aged_model) = aged(rig);
    let (mut ftl, mut model) = begin(rig, R::into_chip(aged_ftl), &aged_model);
    run(rig, &mut ftl, &mut model, seed, commands, "nothing cut");
    ftl
}

/// The proof, over a run of some host commands.
pub(crate) fn prove<R: Rig>(rig: &R, seed: u64, commands: u32) {
    let (aged_ftl, aged_model) = aged(rig);
    let aged_chip = R::into_chip(aged_ftl);
    let mut traced = aged_chip.clone();
    traced.start_trace();
    let start = traced.ops();
    let (mut ftl, mut model) = begin(rig, traced, &aged_model);
    let mounted = R::chip_of(&ftl).ops() - start;
    run(rig, &mut ftl, &mut model, seed, commands, "nothing cut");
    let kinds = R::chip_of(&ftl).trace().to_vec();
    assert!(ftl.stats().erases > 0 && ftl.stats().copied_pages > 0, "the run cleans: {:?}", ftl.stats());
    let kinds = &kinds[mounted as usize..];
    let cut = |cut: PowerCut, what: &str| {
        let (mut ftl, mut model) = begin(rig, aged_chip.clone(), &aged_model);
        R::chip_of_mut(&mut ftl).arm(Some(cut));
        assert!(run(rig, &mut ftl, &mut model, seed, commands, what), "{what}: the same run reaches the cut");
        (R::into_chip(ftl), model)
    };
    let (mut cuts, mut proven) = (0, Proven::default());
    each_cut(kinds, start + mounted, rig.paired_pages(), cut, |chip, model, what| {
        prove_recovery(rig, &chip, &model, &mut proven, &format!("seed {seed}, {what}"));
        cuts += 1;
    });
    assert!(cuts > 150, "only {cuts} cuts");
}

/// All that can be read on a chip.
fn pages_of(chip: &mut EmuNand) -> Vec<Option<[Vec<u8>; 2]>> {
    let geometry = chip.geometry();
    let read = |page| {
        let [mut data, mut spare] = [geometry.page_bytes, geometry.spare_bytes].map(|bytes| vec![0; bytes as usize]);
        chip.read(PageAddr(page), &mut data, &mut spare).ok().map(|_| [data, spare])
    };
    (0..geometry.blocks * geometry.pages_per_block).map(read).collect()
}

/// So the proofs need not cut behind an operation and before the next one.
#[test]
fn an_operation_that_was_done_leaves_what_the_next_one_finds() {
    let (rig, seed) = (small_nand("single"), 1);
    let (ftl, aged_model) = aged(&rig);
    let aged_chip = NandRig::into_chip(ftl);
    let (mut ftl, mut model) = begin(&rig, aged_chip.clone(), &aged_model);
    let first = NandRig::chip_of(&ftl).ops();
    NandRig::chip_of_mut(&mut ftl).start_trace();
    run(&rig, &mut ftl, &mut model, seed, 45, "nothing cut");
    let kinds = NandRig::chip_of(&ftl).trace().to_vec();
    let left_by = |index: usize, outcome| {
        let (mut ftl, mut model) = begin(&rig, aged_chip.clone(), &aged_model);
        NandRig::chip_of_mut(&mut ftl).arm(Some(PowerCut { at_op: first + index as u64, outcome }));
        assert!(run(&rig, &mut ftl, &mut model, seed, 45, ""), "operation {index} is reached");
        let mut chip = NandRig::into_chip(ftl);
        chip.power_on();
        pages_of(&mut chip)
    };
    assert!(kinds.contains(&OpKind::Erase) && kinds.contains(&OpKind::Program), "{kinds:?}");
    for (index, pair) in kinds.windows(2).enumerate() {
        let [before, next] = [done(pair[0]), Some(outcomes(pair[1], 1)[0])].map(|outcome| outcome.expect("NAND"));
        assert_eq!(left_by(index, before), left_by(index + 1, next), "operation {index}, {pair:?}");
    }
}

fn small_nand(place: &str) -> NandRig {
    nand([512, 12, 10, 1], 1, 1, 48, place)
}

#[test]
fn nand_with_one_open_segment() {
    prove(&small_nand("single"), 1, 45);
}

#[test]
fn nand_with_copies_apart() {
    prove(&small_nand("separate-gc"), 2, 45);
}

#[test]
fn nand_with_streams() {
    prove(&nand([512, 10, 14, 1], 1, 1, 54, "by-stream"), 3, 45);
}

#[test]
fn nand_with_sectors_in_pages() {
    prove(&nand([2048, 10, 10, 1], 1, 1, 38, "single"), 4, 45);
}

#[test]
fn nand_whose_pages_share_cells() {
    prove(&nand([512, 16, 10, 1], 1, 2, 59, "single"), 5, 45);
}

#[test]
fn nand_with_empty_segments_kept() {
    prove(&keeping(small_nand("single")), 11, 45);
}

#[test]
fn nand_striped_over_dies() {
    prove(&nand([512, 6, 24, 2], 2, 1, 60, "separate-gc"), 6, 45);
}

#[test]
fn nand_whose_pages_share_cells_over_dies() {
    prove(&nand([512, 12, 20, 2], 2, 3, 59, "single"), 10, 45);
}

#[test]
fn nor_in_two_banks() {
    prove(&nor(8, 12, 2, 48, "single"), 7, 20);
}

#[test]
fn nor_in_one_bank() {
    prove(&nor(10, 10, 1, 40, "single"), 8, 30);
}

#[test]
fn nor_hot_and_cold() {
    prove(&nor(8, 16, 4, 70, "hot-cold-readonly"), 9, 30);
}

/// A device without data. The erases of all segments but one were cut, each in a session of its own, so that one header
/// is left. Wherever the next cut comes, the chip is not called foreign.
#[test]
fn the_only_header_outlasts_the_next_cut() {
    let rig = nand([512, 16, 8, 1], 1, 1, 6, "single");
    for only in 0..8 {
        let mut chip = NandRig::into_chip(rig.format());
        (0..8)
            .filter(|&block| block != only)
            .for_each(|block| chip.erase(BlockAddr(block)).expect("a chip with power"));
        for (after, kind) in (0..8).flat_map(|after| [(after, OpKind::Program), (after, OpKind::Erase)]) {
            for &outcome in outcomes(kind, 1) {
                let what = format!("segment {only} has a header, operation {after} left {outcome:?}");
                let (mut chip, mut model) = (chip.clone(), Model::new(6, 1));
                chip.arm(Some(PowerCut { at_op: chip.ops() + after, outcome }));
                let mut chip = match rig.mount_or_return(chip) {
                    Ok((mut ftl, _)) => {
                        while model.run(&mut ftl, Command::Write { page: 0, stream: 0 }).is_ok() {}
                        NandRig::into_chip(ftl)
                    }
                    Err((chip, _)) => chip,
                };
                chip.power_on();
                recover(&rig, chip, &mut model, &what);
            }
        }
    }
}
