//! Storms that spare no mount: cut at any depth and many times over, also after a clean shutdown.

use wearwell::{BlockDevice, Rng};
use wearwell_emu::{CutOutcome, EmuChip, PowerCut};

use crate::model::{Command, Model};
use crate::rig::{Rig, nand, nor};
use crate::storm::{fullest, seeds};

/// Power goes out at an operation, or between two commands of the host; then in up to twelve mounts, each after a
/// number of operations that reaches behind the commits of what it merges.
pub(crate) fn storm_of_mounts<R: Rig>(rig: &R, seed: u64, cycles: u32) {
    let mut rng = Rng::new(seed);
    let mut ftl = rig.format();
    let per_page = ftl.page_bytes() / 512;
    let mut model = Model::new(rig.logical_pages(), per_page);
    model.fill(&mut ftl);
    for cycle in 0..cycles {
        let what = format!("seed {seed}, cycle {cycle}");
        let in_order = rng.below(4) == 0;
        if !in_order {
            let cut = cut_within(&mut rng, R::chip_of(&ftl).ops(), 60);
            R::chip_of_mut(&mut ftl).arm(Some(cut));
        }
        let commands = if in_order { rng.below(30) } else { u32::MAX };
        for _ in 0..commands {
            let command = rig.command(&mut rng, per_page);
            if let Err(error) = model.run(&mut ftl, command) {
                assert!(R::chip_of(&ftl).is_off(), "{what}: {command:?} failed without a cut: {error}");
                break;
            }
        }
        if in_order {
            model.run(&mut ftl, Command::Shutdown).unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        ftl = mount_in_the_end(rig, R::into_chip(ftl), &mut rng, &what);
        model.check_after_cut(&mut ftl).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(R::chip_of(&ftl).violations(), 0, "{what}: the chip's contract was broken");
    }
}

pub(crate) fn cut_within(rng: &mut Rng, ops: u64, most_ops: u32) -> PowerCut {
    PowerCut { at_op: ops + u64::from(rng.below(most_ops)), outcome: CutOutcome::Seeded { seed: rng.next_u64() } }
}

/// Mounts until no cut comes in between. A chip that never fails stays writable.
fn mount_in_the_end<R: Rig>(rig: &R, mut chip: R::Chip, rng: &mut Rng, what: &str) -> R::Ftl {
    let most_ops = [2, 8, 30][rng.below(3) as usize];
    for left in (0..=rng.below(12)).rev() {
        chip.power_on();
        chip.arm((left > 0).then(|| cut_within(rng, chip.ops(), most_ops)));
        match rig.mount_or_return(chip) {
            Ok((mut mounted, report)) => {
                assert!(!report.read_only, "{what}: read-only, and nothing failed");
                R::chip_of_mut(&mut mounted).arm(None);
                return mounted;
            }
            Err((returned, error)) => {
                assert!(returned.is_off(), "{what}: cannot be mounted: {error}");
                chip = returned;
            }
        }
    }
    unreachable!("the last mount is not cut")
}

#[test]
fn of_page_mapping() {
    for seed in 0..seeds() {
        storm_of_mounts(&nand([512, 8, 12, 1], 1, 1, 40, "single"), seed, 60);
        storm_of_mounts(&nand([512, 12, 16, 1], 1, 3, 53, "hot-cold-readonly"), seed, 60);
        storm_of_mounts(&nand([512, 12, 34, 2], 2, 2, 120, "by-stream"), seed, 60);
    }
}

#[test]
fn of_page_mapping_on_full_devices() {
    let rigs = [
        fullest([512, 12, 14, 1], 1, 1, "single"),
        fullest([512, 12, 14, 1], 1, 3, "hot-cold-readonly"),
        fullest([512, 12, 28, 4], 4, 1, "by-stream"),
        fullest([512, 12, 34, 2], 2, 2, "by-stream"),
    ];
    for seed in 0..seeds() {
        rigs.iter().for_each(|rig| storm_of_mounts(rig, seed, 60));
    }
}

#[test]
fn of_page_mapping_over_nor() {
    for seed in 0..seeds() {
        storm_of_mounts(&nor(8, 12, 2, 60, "single"), seed, 60);
        storm_of_mounts(&nor(16, 32, 4, 400, "separate-cleaning"), seed, 60);
    }
}
