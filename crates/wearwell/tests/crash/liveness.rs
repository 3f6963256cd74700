//! A device that has the segments it needs takes writes, however often it is cut in the middle of its work.
//!
//! What uses free segments up is work that is cut: a rescue of fading data, or a program that fails in the last free
//! segment. So the cuts come after a few operations, again and again, before cleaning can have made up for the last
//! one.

use wearwell::{BlockDevice, FtlError, Rng, Sectors};
use wearwell_emu::{BitErrors, CutOutcome, EmuChip, Faults, PowerCut};

use crate::model::Model;
use crate::rig::{NandRig, Rig, nand};
use crate::storm::seeds;

/// Power cuts of a run, at most.
const CYCLES: u32 = 60;

/// Every second page asks to be moved when it is read; none is ever unreadable.
const FADES: BitErrors =
    BitErrors { base: 0.5, per_cycle: 0.0, per_read: 0.0, per_hour: 0.0, correctable_bits: 8, refresh_bits: 1 };

/// What goes wrong beside the cuts.
#[derive(Clone, Copy)]
struct Trouble {
    /// Reads ask for data to be moved.
    fades: bool,
    /// Part of programs and erases that fails, in every second cycle.
    fail_rate: f64,
}

/// Cuts one seed's run again and again. Fails if writes are refused while there are segments to spare.
fn live(rig: &NandRig, seed: u64, most_ops: u32, trouble: Trouble) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let mut ftl = rig.format();
    let per_page = ftl.page_bytes() / 512;
    let mut model = Model::new(rig.logical_pages(), per_page);
    model.fill(&mut ftl);
    for cycle in 0..CYCLES {
        let what = |error: String| format!("seed {seed}, cycle {cycle}: {error}");
        let fail_rate = if rng.below(2) == 0 { trouble.fail_rate } else { 0.0 };
        NandRig::chip_of_mut(&mut ftl).set_faults(Faults {
            seed: rng.next_u64(),
            program_fail_rate: fail_rate,
            erase_fail_rate: 3.0 * fail_rate,
            bit_errors: trouble.fades.then_some(FADES),
            ..Faults::default()
        });
        cut_after(&mut ftl, &mut rng, most_ops);
        let refused = loop {
            let page = rng.below(rig.logical_pages());
            let at = Sectors { start: u64::from(page * per_page), count: u64::from(per_page) };
            let read = ftl.read(at, &mut vec![0; per_page as usize * 512]);
            let command = rig.command(&mut rng, per_page);
            if let Err(error) = read.and_then(|()| model.run(&mut ftl, command)) {
                break error;
            }
        };
        if !NandRig::chip_of(&ftl).is_off() {
            return worn_out(refused).map_err(what);
        }
        let mut chip = NandRig::into_chip(ftl);
        chip.power_on();
        let report;
        (ftl, report) = rig.mount(chip).map_err(|error| what(error.to_string()))?;
        if report.read_only {
            return Ok(());
        }
        model.check_after_cut(&mut ftl).map_err(what)?;
        if NandRig::chip_of(&ftl).violations() > 0 {
            return Err(what("the chip's contract was broken".into()));
        }
    }
    Ok(())
}

fn cut_after(ftl: &mut <NandRig as Rig>::Ftl, rng: &mut Rng, most_ops: u32) {
    let chip = NandRig::chip_of_mut(ftl);
    let at_op = chip.ops() + u64::from(rng.below(most_ops));
    chip.arm(Some(PowerCut { at_op, outcome: CutOutcome::Seeded { seed: rng.next_u64() } }));
}

/// Only a device that lacks segments may refuse to write.
fn worn_out(refused: FtlError) -> Result<(), String> {
    match refused {
        FtlError::WornOut { good_segments, needed_segments } if good_segments <= needed_segments => Ok(()),
        error => Err(error.to_string()),
    }
}

/// Lives through some seeds, and through those that were once stopped too early.
fn live_all(rig: &NandRig, most_ops: u32, trouble: Trouble, regressions: &[u64]) {
    for seed in (0..seeds()).chain(regressions.iter().copied()) {
        live(rig, seed, most_ops, trouble).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Full segments were rescued from the last free one, which gained nothing, and the cut behind it cost that one.
#[test]
fn a_device_whose_data_fades_takes_writes() {
    live_all(&nand([512, 5, 58, 2], 1, 1, 150, "single"), 40, Trouble { fades: true, fail_rate: 0.0 }, &[10, 12]);
}

/// Two operations failed before cleaning had made up for the first, and nothing free was left for the copies.
#[test]
fn a_device_with_segments_to_spare_takes_writes_when_operations_fail() {
    let trouble = Trouble { fades: false, fail_rate: 0.003 };
    live_all(&nand([512, 8, 86, 2], 2, 1, 403, "separate-gc"), 12, trouble, &[38, 48]);
    live_all(&nand([512, 16, 40, 2], 2, 2, 117, "hot-cold-readonly"), 12, trouble, &[19, 26]);
}
