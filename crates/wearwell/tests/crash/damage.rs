//! Damage: every page and every block of a small chip becomes unreadable, and what was there is an error, never zeros.

use wearwell::page::MountReport;
use wearwell::{BlockDevice, Rng};
use wearwell_emu::{CutOutcome, EmuChip, EmuNand, OpKind, PowerCut};
use wearwell_flash::{BlockAddr, Nand, PageAddr};

use crate::canary::{Defect, broken, is_caught};
use crate::model::{Command, Found, Model};
use crate::rig::{NandRig, PageRig, Rig, nand};

/// How the device was left before the damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Shutdown,
    PowerOff,
}

/// What all pages hold after damage.
pub(crate) struct Damaged {
    pub(crate) report: MountReport,
    pub(crate) held: Vec<Found>,
    /// The same after the next writes and another mount.
    pub(crate) later: Vec<Found>,
}

impl Damaged {
    pub(crate) fn count(&self, held: Found) -> usize {
        self.held.iter().filter(|&&h| h == held).count()
    }
}

/// A device that has cleaned, whose last pages were never written. `discards` decides whether there is a discard map.
pub(crate) fn used<R: Rig>(rig: &R, discards: bool, stop: Stop) -> (R::Chip, Model) {
    let mut ftl = rig.format();
    let pages = rig.logical_pages();
    let mut model = Model::new(pages, 1);
    let written = pages * 3 / 4;
    let mut rng = Rng::new(3);
    for page in 0..written {
        model.run(&mut ftl, Command::Write { page, stream: 0 }).expect("nothing fails");
    }
    for step in 0..5 * pages {
        let page = rng.below(written);
        let command = match step % 16 {
            7 if discards => Command::Discard { page, count: 1 },
            9 => Command::Flush,
            _ => Command::Write { page: page / 2, stream: 0 },
        };
        model.run(&mut ftl, command).expect("nothing fails");
    }
    model
        .run(&mut ftl, if stop == Stop::Shutdown { Command::Shutdown } else { Command::Flush })
        .expect("nothing fails");
    let mut chip = R::into_chip(ftl);
    chip.power_on();
    (chip, model)
}

/// As [`outcome`], and what was lost stays lost.
fn lasting_outcome<R: Rig>(rig: &R, chip: R::Chip, model: &Model, what: &str) -> Damaged {
    let damaged = outcome(rig, chip, model, what);
    assert_eq!(damaged.later[8..], damaged.held[8..], "{what}: what was lost stays lost");
    damaged
}

/// Mounts what is left and reads all of it; then writes the first pages until all segments have been cleaned, mounts
/// and reads again.
pub(crate) fn outcome<R: Rig>(rig: &R, chip: R::Chip, model: &Model, what: &str) -> Damaged {
    let (mut ftl, report) = rig.mount(chip).unwrap_or_else(|error| panic!("{what}: {error}"));
    let held = judge(&mut ftl, model, what);
    let lost = held.iter().filter(|&&held| held == Found::Lost).count();
    assert!(
        lost == 0 || report.lost_pages == 0 || lost >= report.lost_pages as usize,
        "{what}: {report:?}, {lost} lost"
    );
    let mut later = model.clone();
    for step in 0..2 * rig.logical_pages() {
        let page = step % 8;
        later.run(&mut ftl, Command::Write { page, stream: 0 }).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    later.run(&mut ftl, Command::Flush).unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut chip = R::into_chip(ftl);
    chip.power_on();
    let (mut ftl, _) = rig.mount(chip).unwrap_or_else(|error| panic!("{what}: {error}"));
    let later = judge(&mut ftl, &later, what);
    Damaged { report, held, later }
}

fn judge<F: BlockDevice>(ftl: &mut F, model: &Model, what: &str) -> Vec<Found> {
    (0..model.pages()).map(|page| model.judge(ftl, page).unwrap_or_else(|error| panic!("{what}: {error}"))).collect()
}

fn rigs() -> [NandRig; 3] {
    [
        nand([512, 8, 14, 1], 1, 1, 40, "single"),
        nand([512, 6, 28, 2], 2, 1, 60, "separate-gc"),
        nand([512, 12, 14, 1], 1, 2, 48, "single"),
    ]
}

/// Pages of all blocks, in order, block by block.
fn blocks(chip: &EmuNand) -> impl Iterator<Item = std::ops::Range<u32>> + use<> {
    let pages = chip.geometry().pages_per_block;
    (0..chip.geometry().blocks).map(move |block| block * pages..(block + 1) * pages)
}

/// Takes each page of a device, one at a time.
pub(crate) fn take_each(rig: &NandRig) {
    for (discards, stop) in [(false, Stop::Shutdown), (true, Stop::Shutdown), (false, Stop::PowerOff)] {
        let (chip, model) = used(rig, discards, stop);
        let (mut taken_for_torn, mut lost) = (0, 0);
        for page in blocks(&chip).flatten() {
            let mut chip = chip.clone();
            if !chip.decay(PageAddr(page)) {
                continue;
            }
            let what = format!("{}, discards {discards}, {stop:?}, page {page}", rig.profile().name);
            let damaged = lasting_outcome(rig, chip, &model, &what);
            lost += damaged.count(Found::Lost);
            if damaged.count(Found::Zeros) > 0 {
                assert_eq!(stop, Stop::PowerOff, "{what}: {:?}", damaged.held);
                taken_for_torn += 1;
            }
        }
        assert!(lost > 0, "the damage shows");
        // What was programmed last before the power went off looks like a program that was cut.
        assert!(taken_for_torn <= 2 * rig.profile().paired_pages, "{taken_for_torn} pages read as zeros");
    }
}

#[test]
fn a_page_that_is_gone_is_an_error() {
    rigs().iter().for_each(take_each);
}

/// Takes the summary of each segment together with each of its pages. Returns how many mounts knew of it.
pub(crate) fn take_summaries<R: Rig<Chip = EmuNand>>(rig: &R, stop: Stop) -> u32 {
    let (chip, model) = used(rig, false, stop);
    let mut incomplete = 0;
    for block in blocks(&chip) {
        for page in block.clone().take(7) {
            let mut chip = chip.clone();
            if !chip.decay(PageAddr(block.end - 1)) || !chip.decay(PageAddr(page)) {
                continue;
            }
            let what = format!("{stop:?}, summary of {block:?} and page {page}");
            let damaged = lasting_outcome(rig, chip, &model, &what);
            assert_eq!(damaged.count(Found::Zeros), 0, "{what}: {:?}", damaged.held);
            incomplete += damaged.report.incomplete_segments;
        }
    }
    incomplete
}

/// A segment without its summary is scanned page by page; if one of them is gone, so is the account of what was there.
#[test]
fn a_summary_and_a_page_that_are_gone_are_an_error() {
    let rig = nand([512, 8, 14, 1], 1, 1, 40, "single");
    for stop in [Stop::Shutdown, Stop::PowerOff] {
        let incomplete = take_summaries(&rig, stop);
        assert!(incomplete > 20, "{incomplete} mounts knew of it");
    }
}

#[test]
fn a_chip_without_any_header_is_still_ours() {
    let rig = nand([512, 8, 14, 1], 1, 1, 40, "single");
    let (mut chip, model) = used(&rig, true, Stop::PowerOff);
    for block in blocks(&chip) {
        chip.decay(PageAddr(block.start));
    }
    let damaged = lasting_outcome(&rig, chip, &model, "no headers");
    assert_eq!(damaged.count(Found::Newest), damaged.held.len(), "{:?}", damaged.held);
}

/// An erase of a stripe was cut behind its first block, so that a scan finds no tag in front of the slots that are
/// erased. All other pages decay, headers too. Whatever page is left in the other block says whose the chip is.
pub(crate) fn take_all_but_one<R: Rig<Chip = EmuNand>>(rig: &R) {
    let (chip, _) = used(rig, false, Stop::PowerOff);
    let [pages, blocks] = [chip.geometry().pages_per_block, chip.geometry().blocks];
    let mut left = 0;
    // The second blocks of the stripes lie on the second die.
    for page in blocks / 2 * pages..blocks * pages {
        let mut chip = chip.clone();
        // Nothing was programmed there.
        if !chip.clone().decay(PageAddr(page)) {
            continue;
        }
        left += 1;
        chip.erase(BlockAddr(page / pages - blocks / 2)).expect("a chip with power");
        (0..blocks * pages).filter(|&other| other != page).for_each(|other| _ = chip.decay(PageAddr(other)));
        let (mut ftl, _) = rig.mount(chip).unwrap_or_else(|error| panic!("page {page} is left: {error}"));
        ftl.flush().expect("there is nothing to write");
    }
    assert!(left > 30, "{left} pages");
}

#[test]
fn a_tag_behind_erased_slots_says_whose_a_chip_is() {
    take_all_but_one(&striped());
}

/// Cuts each erase of a run, takes each page, and looks at what is left. Returns how many pages were lost.
pub(crate) fn take_behind_erases<R: Rig<Chip = EmuNand>>(rig: &R) -> usize {
    let mut ftl = rig.format();
    let mut model = Model::new(rig.logical_pages(), 1);
    model.fill(&mut ftl);
    let mut traced = R::into_chip(ftl);
    traced.start_trace();
    let start = traced.ops();
    let run = |chip: EmuNand, model: &mut Model| {
        let mut ftl = rig.mount(chip).expect("nothing was cut").0;
        let mut rng = Rng::new(5);
        while R::chip_of(&ftl).ops() < start + 150 {
            if model.run(&mut ftl, Command::Write { page: rng.below(rig.logical_pages()), stream: 0 }).is_err() {
                break;
            }
        }
        R::into_chip(ftl)
    };
    let kinds = run(traced.clone(), &mut model.clone()).trace().to_vec();
    let mut lost = 0;
    for (index, _) in kinds.iter().enumerate().filter(|(_, kind)| **kind == OpKind::Erase) {
        let (mut chip, mut model) = (traced.clone(), model.clone());
        let outcome_of_cut = CutOutcome::EraseMixed { seed: index as u64 };
        chip.arm(Some(PowerCut { at_op: start + index as u64, outcome: outcome_of_cut }));
        let mut chip = run(chip, &mut model);
        chip.power_on();
        for page in blocks(&chip).flatten() {
            let mut chip = chip.clone();
            if chip.decay(PageAddr(page)) {
                let what = format!("operation {index}, page {page}");
                let damaged = outcome(rig, chip, &model, &what);
                for (before, after) in damaged.held.iter().zip(&damaged.later).skip(8) {
                    // What an erase has left may fade in a later mount.
                    assert!(after == before || *after == Found::Lost, "{what}: {before:?}, then {after:?}");
                }
                lost += damaged.count(Found::Lost);
            }
        }
    }
    lost
}

fn striped() -> NandRig {
    nand([512, 6, 28, 2], 2, 1, 60, "separate-gc")
}

/// A cut erase of a stripe leaves blocks of it as they were and others erased. If the copies for which it was erased
/// decay, its summary names pages that read as ones; they are neither served nor copied.
#[test]
fn what_an_erase_has_taken_never_reads_as_ones() {
    assert!(take_behind_erases(&striped()) > 0);
}

#[test]
fn the_canaries_are_caught() {
    let small = nand([512, 8, 14, 1], 1, 1, 40, "single");
    let forgets = is_caught(|| _ = take_summaries(&broken(small, Defect::ForgetGaps), Stop::PowerOff));
    assert!(forgets, "an engine that forgets what it could not read");
    let believes = is_caught(|| _ = take_behind_erases(&broken(striped(), Defect::BelieveSummaries)));
    assert!(believes, "an engine that believes summaries, whatever the pages say");
}
