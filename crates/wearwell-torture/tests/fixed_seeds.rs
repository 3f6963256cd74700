//! Seeds of every test run: they pass, and their runs are the same on every machine.

use wearwell_torture::mode::{self, Decay, MODES};
use wearwell_torture::run::Record;
use wearwell_torture::{replay, torture};

fn run(mode: &str, seed: u64) -> Record {
    let mode = mode::named(mode).expect("a mode of the list");
    let (rig, record) = torture(mode, seed);
    let again = replay(&rig.setup, &record.history);
    assert_eq!(again.failure, record.failure, "{} {seed}", mode.name);
    // Of short histories all are counted, and the last one is kept.
    if mode.short_histories == 0 {
        assert_eq!(again.tally, record.tally, "{} {seed}", mode.name);
    }
    record
}

#[test]
fn fixed_seeds_hold_and_repeat() {
    for name in ["page", "log-block", "nor", "aware", "paged", "trim"] {
        let mut cuts = 0;
        for seed in 1..=6 {
            let record = run(name, seed);
            assert_eq!(record.failure, None, "{name} {seed}");
            cuts += record.tally.cuts + record.tally.mount_cuts;
        }
        assert!(cuts > 200, "{name}: {cuts} cuts");
    }
}

/// Devices that refused writes with as many good segments as they need.
#[test]
fn seeds_that_once_locked_up_hold() {
    let marks = [424_247, 424_271, 8_500_083, 1_000_001_861].map(|seed| ("marks", seed));
    // More failures in a row than two, on chips with bad blocks.
    let fails = [500_088, 500_127, 500_402].map(|seed| ("fails", seed));
    // Failing blocks were to be emptied, and what was held back for failures was kept.
    let nor_fails = [424_261, 500_417].map(|seed| ("nor-fails", seed));
    for (name, seed) in marks.into_iter().chain(fails).chain(nor_fails).chain([("nor", 424_285)]) {
        assert_eq!(run(name, seed).failure, None, "{name} {seed}");
    }
}

/// The map on flash: an older page after a mount, no room or no memory in one, and a lost page of a worn-out chip.
#[test]
fn seeds_that_a_map_on_flash_failed_hold() {
    let cuts = [26, 64, 83, 130, 220, 250, 277, 349, 380].map(|seed| ("paged", seed));
    let fails = [11, 197].map(|seed| ("paged-fails", seed));
    for (name, seed) in cuts.into_iter().chain(fails) {
        assert_eq!(run(name, seed).failure, None, "{name} {seed}");
    }
}

#[test]
fn every_mode_does_what_it_is_there_for() {
    for mode in MODES {
        let (mut faults, mut mounts) = (0, 0);
        for seed in 100..104 {
            let record = run(mode.name, seed);
            faults += record.tally.faults;
            mounts += record.tally.mounts;
        }
        let decays = mode.decay != Decay::NEVER;
        let injects = mode.failures > 0 || decays || mode.refreshes || mode.other_errors || mode.marks_empty;
        assert_eq!(faults > 0, injects, "{}", mode.name);
        assert!(mounts > 10, "{}", mode.name);
    }
}
