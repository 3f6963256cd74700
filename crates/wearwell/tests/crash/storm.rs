//! Cut after cut after cut, by seed.

use wearwell::page::{ConfigError, MountError, PageFtl, Policies};
use wearwell::{BlockDevice, Inspect, Placement, Rng, WearLeveling};
use wearwell_emu::{CutOutcome, EmuChip, PowerCut};

use crate::model::{Command, Model};
use crate::rig::{NandRig, PageRig, Rig, keeping, nand, nor};

/// Runs one seed: `cycles` times, the power is cut after a random number of operations, sometimes already in the
/// mount, sometimes after a clean shutdown.
pub(crate) fn storm<R: Rig>(rig: &R, seed: u64, cycles: u32, most_ops: u32) {
    storm_of(rig, seed, cycles, most_ops, 60);
}

/// As that, and one command in so many shuts down.
pub(crate) fn storm_of<R: Rig>(rig: &R, seed: u64, cycles: u32, most_ops: u32, shutdowns: u32) {
    storm_with(rig, seed, cycles, most_ops, shutdowns, |_| {});
}

/// As that, and one command in eight is followed by something else.
fn storm_with<R: Rig>(
    rig: &R,
    seed: u64,
    cycles: u32,
    most_ops: u32,
    shutdowns: u32,
    mut between: impl FnMut(&mut R::Ftl),
) {
    let mut rng = Rng::new(seed);
    let pages = rig.logical_pages();
    let mut ftl = rig.format();
    let per_page = ftl.page_bytes() / 512;
    let mut model = Model::new(pages, per_page);
    model.fill(&mut ftl);
    let mut commands = 0;
    for cycle in 0..cycles {
        let what = format!("seed {seed}, cycle {cycle}");
        let at_op = R::chip_of(&ftl).ops() + u64::from(rng.below(most_ops));
        let outcome = CutOutcome::Seeded { seed: rng.next_u64() };
        R::chip_of_mut(&mut ftl).arm(Some(PowerCut { at_op, outcome }));
        loop {
            let command = match rng.below(shutdowns) {
                0 => Command::Shutdown,
                _ => rig.command(&mut rng, per_page),
            };
            if let Err(error) = model.run(&mut ftl, command) {
                assert!(R::chip_of(&ftl).is_off(), "{what}: {command:?} failed without a cut: {error}");
                break;
            }
            commands += 1;
            if commands % 8 == 0 {
                between(&mut ftl);
            }
        }
        let mut chip = R::into_chip(ftl);
        ftl = loop {
            chip.power_on();
            if rng.below(3) == 0 {
                let at_op = chip.ops() + u64::from(rng.below(6));
                chip.arm(Some(PowerCut { at_op, outcome: CutOutcome::Seeded { seed: rng.next_u64() } }));
            }
            match rig.mount_or_return(chip) {
                Ok((mut mounted, _)) => {
                    R::chip_of_mut(&mut mounted).arm(None);
                    break mounted;
                }
                Err((returned, error)) => {
                    assert!(returned.is_off(), "{what}: cannot be mounted: {error}");
                    chip = returned;
                }
            }
        };
        model.check_after_cut(&mut ftl).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(R::chip_of(&ftl).violations(), 0, "{what}: the chip's contract was broken");
    }
}

/// Seeds to run: a few in every test run, as many as are asked for by `cargo xtask crash`.
pub(crate) fn seeds() -> u64 {
    std::env::var("WEARWELL_CRASH_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(6)
}

#[test]
fn nand_storms() {
    for seed in 0..seeds() {
        storm(&nand([2048, 16, 40, 1], 1, 1, 380, "separate-gc"), seed, 60, 300);
        storm(&nand([512, 16, 12, 1], 1, 1, 96, "single"), seed, 150, 40);
        storm(&nand([1024, 12, 96, 4], 4, 3, 143, "by-stream"), seed, 40, 400);
        storm(&nand([512, 12, 16, 1], 1, 3, 53, "hot-cold-readonly"), seed, 150, 40);
    }
}

#[test]
fn nand_storms_with_empty_segments_kept() {
    let rigs = [
        keeping(nand([512, 16, 12, 1], 1, 1, 96, "single")),
        keeping(nand([1024, 12, 96, 4], 4, 3, 143, "by-stream")),
        keeping(fullest([512, 12, 14, 1], 1, 3, "hot-cold-readonly")),
    ];
    for seed in 0..seeds() {
        for rig in &rigs {
            storm(rig, seed, 60, 60);
            storm(rig, seed, 60, 6);
        }
    }
}

#[test]
fn nand_storms_of_early_cuts() {
    for seed in 0..seeds() {
        storm(&nand([512, 8, 12, 1], 1, 1, 40, "single"), seed, 300, 6);
        storm(&nand([512, 8, 12, 1], 1, 1, 40, "hot-cold-readonly"), seed, 300, 12);
        storm(&nand([512, 12, 14, 1], 1, 3, 53, "single"), seed, 300, 12);
        storm(&nand([512, 12, 34, 2], 2, 2, 120, "by-stream"), seed, 150, 20);
    }
}

/// Devices as full as they can be made, where padding takes the most of what cleaning gains.
#[test]
fn nand_storms_on_full_devices() {
    let rigs = [
        fullest([512, 12, 14, 1], 1, 1, "single"),
        fullest([512, 12, 14, 1], 1, 2, "single"),
        fullest([512, 12, 14, 1], 1, 3, "hot-cold-readonly"),
        fullest([512, 12, 34, 2], 2, 2, "by-stream"),
        fullest([512, 24, 40, 2], 2, 3, "separate-gc"),
        fullest([512, 24, 80, 4], 4, 2, "single"),
    ];
    for seed in 0..seeds() {
        for rig in &rigs {
            storm(rig, seed, 60, 60);
            storm(rig, seed, 60, 6);
        }
    }
}

/// Wear leveling has an open segment of its own, whose last group a cut may hit as well.
#[test]
fn nand_storms_on_full_devices_with_wear_leveling() {
    let rigs = [([512, 12, 14, 1], 1, "single"), ([512, 12, 14, 1], 3, "single"), ([512, 12, 18, 1], 3, "separate-gc")];
    for (shape, paired_pages, place) in rigs {
        for spare_pages in [0, 6, 12] {
            let mut rig = fullest(shape, 1, paired_pages, place);
            rig.0.logical_pages -= spare_pages;
            rig.0.policies.wear = WearLeveling::parse("static-threshold:1").expect("listed");
            let (mut ftl, mut rng) = (rig.format(), Rng::new(1));
            let mut model = Model::new(rig.logical_pages(), 1);
            for _ in 0..3000 {
                model.run(&mut ftl, rig.command(&mut rng, 1)).expect("nothing is cut");
            }
            assert!(ftl.stats().wear_copies > 100, "the run levels: {:?}", ftl.stats());
            for seed in 0..seeds() {
                storm(&rig, seed, 60, 60);
                storm(&rig, seed, 60, 6);
            }
        }
    }
}

/// Every placement, with as many open segments as it has classes.
#[test]
fn storms_with_every_placement() {
    for (place, _) in Placement::LIST {
        let nor = nor(8, 28, 2, 80, place);
        let rigs = [nand([512, 16, 40, 1], 1, 2, 190, place), fullest([512, 12, 34, 1], 1, 1, place)];
        for seed in 0..seeds().div_ceil(3) {
            for rig in &rigs {
                storm(rig, seed, 60, 60);
                storm(rig, seed, 60, 6);
            }
            storm(&nor, seed, 60, 60);
        }
    }
}

/// A chip with as many logical pages as the engine takes.
pub(crate) fn fullest(shape: [u32; 4], stripe: u32, paired_pages: u32, place: &str) -> NandRig {
    for logical_pages in 1.. {
        let fuller = nand(shape, stripe, paired_pages, logical_pages, place);
        let made = PageFtl::format(fuller.log(fuller.chip()), (), fuller.config());
        if let Err(MountError::Config(ConfigError::TooLarge { .. })) = made {
            return nand(shape, stripe, paired_pages, logical_pages - 1, place);
        }
        assert!(made.is_ok(), "{:?}", made.err());
    }
    unreachable!("every chip is full some time")
}

/// A change of placement closes open segments where they stand, groups that share cells not filled up. That harms
/// nothing: nobody programs the rest of such a group before the segment is erased.
#[test]
fn nand_storms_while_policies_change() {
    for seed in 0..seeds() {
        for paired_pages in [1, 2, 3] {
            let rig = nand([512, 16, 40, 1], 1, paired_pages, 190, "single");
            let mut rng = Rng::new(seed);
            storm_with(&rig, seed, 80, 60, 60, |ftl| {
                let place = Placement::LIST[rng.below(Placement::LIST.len() as u32) as usize].0;
                let place = Placement::parse(place).expect("listed");
                ftl.set_policies(Policies { place, ..ftl.policies() }).expect("it fits");
            });
        }
    }
}

#[test]
fn nor_storms() {
    for seed in 0..seeds() {
        storm(&nor(16, 32, 4, 400, "separate-cleaning"), seed, 60, 800);
        storm(&nor(8, 12, 2, 60, "single"), seed, 150, 60);
    }
}

/// Seeds that once failed.
#[test]
fn nand_storms_that_were_lost() {
    // A mount erased what a suspect page had been copied from, and was cut before it had saved that page.
    storm(&nand([512, 8, 12, 1], 1, 1, 40, "hot-cold-readonly"), 167, 300, 12);
    storm(&nand([512, 8, 12, 1], 1, 1, 40, "hot-cold-readonly"), 5, 300, 12);
    storm(&nand([512, 16, 12, 1], 1, 1, 96, "single"), 228, 150, 40);
    // A discard map was durable before the page that had been written again since the discard.
    storm(&nand([1024, 12, 96, 4], 4, 3, 143, "by-stream"), 340, 40, 400);
    storm(&nand([512, 12, 16, 1], 1, 3, 53, "hot-cold-readonly"), 23, 150, 40);
    // A rescue took the last free segment and was cut behind its end; an erase of one die of two was cut.
    storm(&nand([1024, 12, 96, 4], 4, 3, 143, "by-stream"), 210, 40, 400);
    storm(&nand([1024, 12, 96, 4], 4, 3, 143, "by-stream"), 2552, 40, 400);
    // The second part of a rescue took the last free segment.
    storm(&nand([1024, 12, 96, 4], 4, 3, 143, "by-stream"), 1026, 40, 400);
    // The erase of the segment that a rescue had filled was cut, and the copies for which it had begun were erased.
    storm(&fullest([512, 12, 34, 1], 1, 1, "warcip:6"), 57, 60, 6);
    // A segment that had lost its erase count got one that the mark of a rescue named.
    storm(&fullest([512, 12, 34, 1], 1, 1, "by-handle"), 13, 60, 6);
    storm(&nand([512, 8, 12, 1], 1, 1, 40, "single"), 255, 300, 6);
    storm(&fullest([512, 12, 14, 1], 1, 2, "single"), 349, 60, 6);
    for seed in [2, 13, 44, 3852] {
        storm(&nand([512, 12, 34, 2], 2, 2, 120, "by-stream"), seed, 150, 20);
    }
}

/// A page that reads well after a cut, and no more after the next power-on, is rescued; a clean shutdown and a mount
/// without a power cycle between them do not go back to it.
#[test]
fn a_clean_restart_does_not_go_back_to_a_torn_page() {
    let rig = nand([512, 8, 12, 1], 1, 1, 40, "single");
    for program in 0..12 {
        let mut ftl = rig.format();
        let mut model = Model::new(40, 1);
        model.fill(&mut ftl);
        model.run(&mut ftl, Command::Flush).expect("nothing fails");
        let at_op = NandRig::chip_of(&ftl).ops() + program;
        let outcome = CutOutcome::ProgramFailsLater;
        NandRig::chip_of_mut(&mut ftl).arm(Some(PowerCut { at_op, outcome }));
        for page in 0.. {
            if model.run(&mut ftl, Command::Write { page: page % 40, stream: 0 }).is_err() {
                break;
            }
        }
        let mut chip = NandRig::into_chip(ftl);
        chip.power_on();
        let (mut ftl, _) = rig.mount_or_return(chip).map_err(|(_, error)| error).expect("a mount");
        model.check_after_cut(&mut ftl).expect("what was promised");
        model.run(&mut ftl, Command::Shutdown).expect("nothing fails");
        let (ftl, _) = rig.mount_or_return(NandRig::into_chip(ftl)).map_err(|(_, error)| error).expect("a mount");
        let mut chip = NandRig::into_chip(ftl);
        chip.power_on();
        let (mut ftl, _) = rig.mount_or_return(chip).map_err(|(_, error)| error).expect("a mount");
        model.check_exact(&mut ftl).unwrap_or_else(|error| panic!("program {program}: {error}"));
    }
}
