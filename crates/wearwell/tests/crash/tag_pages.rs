//! Chips without spare bytes, whose tags lie in tag pages: the proofs, over them.

use wearwell::Placement;
use wearwell::page::{ConfigError, MountError, PageFtl};

use crate::canary::{Defect, broken, caught, caught_by};
use crate::damage::{Stop, take_behind_erases, take_each, take_summaries};
use crate::exhaustive::prove;
use crate::failing::{fail_each, wear_down_all};
use crate::rig::{NandRig, PageRig, checkpointed, keeping, nand, spareless};
use crate::storm::{seeds, storm};
use crate::timeouts::go_past;

/// A chip without spare bytes, with as many logical pages as the engine takes.
fn fullest(shape: [u32; 4], stripe: u32, place: &str) -> NandRig {
    let rig = spareless(nand(shape, stripe, 1, u32::MAX / 2, place));
    match PageFtl::format(rig.log(rig.chip()), (), rig.config()) {
        Err(MountError::Config(ConfigError::TooLarge { physical_pages, reserve_pages, .. })) => {
            spareless(nand(shape, stripe, 1, (physical_pages - reserve_pages) as u32, place))
        }
        made => panic!("{:?}", made.err()),
    }
}

fn small(place: &str) -> NandRig {
    fullest([512, 12, 10, 1], 1, place)
}

#[test]
fn one_open_segment() {
    prove(&small("single"), 1, 45);
}

#[test]
fn copies_apart() {
    prove(&fullest([512, 12, 10, 1], 1, "separate-gc"), 2, 45);
}

#[test]
fn streams() {
    prove(&fullest([512, 10, 22, 1], 1, "by-stream"), 3, 60);
}

#[test]
fn sectors_in_pages() {
    prove(&fullest([2048, 10, 12, 1], 1, "single"), 4, 45);
}

#[test]
fn empty_segments_kept() {
    prove(&keeping(small("single")), 11, 45);
}

#[test]
fn striped_over_dies() {
    prove(&fullest([512, 6, 24, 2], 2, "separate-gc"), 6, 45);
}

#[test]
fn a_checkpoint() {
    prove(&checkpointed(small("single")), 1, 45);
}

#[test]
fn storms() {
    let rigs = [
        fullest([512, 12, 14, 1], 1, "single"),
        fullest([512, 16, 18, 1], 1, "separate-gc"),
        fullest([2048, 16, 40, 1], 1, "hot-cold-readonly"),
        fullest([512, 24, 80, 4], 4, "single"),
        keeping(fullest([512, 12, 14, 1], 1, "separate-gc")),
        checkpointed(fullest([512, 8, 14, 1], 1, "single")),
    ];
    for seed in 0..seeds() {
        for rig in &rigs {
            storm(rig, seed, 60, 300);
            storm(rig, seed, 60, 60);
            storm(rig, seed, 100, 6);
        }
    }
}

#[test]
fn storms_with_every_placement() {
    for (place, _) in Placement::LIST {
        let rig = fullest([512, 24, 64, 1], 1, place);
        for seed in 0..seeds().div_ceil(3) {
            storm(&rig, seed, 60, 60);
            storm(&rig, seed, 60, 6);
        }
    }
}

#[test]
fn a_program_that_fails_costs_its_segment_and_nothing_else() {
    let rigs = [fullest([1024, 16, 16, 1], 1, "separate-gc"), fullest([512, 12, 56, 4], 4, "single")];
    for (mut rig, seed) in rigs.into_iter().zip(1..) {
        rig.0.logical_pages -= rig.0.logical_pages / 6;
        let retired = fail_each(&rig, seed).unwrap_or_else(|error| panic!("{error}"));
        assert!(retired > 40, "only {retired} segments failed");
    }
}

#[test]
fn a_chip_wears_out_segment_by_segment_and_stays_readable() {
    let mut rig = fullest([1024, 16, 16, 1], 1, "separate-gc");
    rig.0.logical_pages -= rig.0.logical_pages / 6;
    wear_down_all("NAND", &rig, &[0.001, 0.01], &[]);
}

#[test]
fn what_may_have_been_programmed_is_not_programmed_again() {
    let mut rig = fullest([512, 16, 18, 1], 1, "separate-gc");
    rig.0.logical_pages -= rig.0.logical_pages / 6;
    for seed in 0..seeds() {
        go_past(&rig, seed).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_page_that_is_gone_is_an_error() {
    take_each(&fullest([512, 10, 14, 1], 1, "single"));
    take_each(&fullest([512, 6, 28, 2], 2, "separate-gc"));
}

#[test]
fn a_summary_and_a_page_that_are_gone_are_an_error() {
    let incomplete = take_summaries(&fullest([512, 10, 14, 1], 1, "single"), Stop::Shutdown);
    assert!(incomplete > 5, "{incomplete} mounts knew of it");
}

#[test]
fn what_an_erase_has_taken_never_reads_as_ones() {
    take_behind_erases(&fullest([512, 6, 28, 2], 2, "separate-gc"));
}

#[test]
fn the_canaries_are_caught_and_the_control_is_not() {
    let cut = |defect| caught(&broken(fullest([512, 12, 14, 1], 1, "single"), defect));
    let stormed = |defect| {
        let rig = broken(fullest([512, 10, 14, 1], 1, "single"), defect);
        caught_by(&rig, |seed| {
            storm(&rig, seed, 300, 6);
            Ok(())
        })
    };
    assert_eq!((cut(Defect::None), stormed(Defect::None)), (0, 0), "the wrapper itself breaks nothing");
    let caught = [
        ("flushes without a tag page", cut(Defect::ForgetTagPages)),
        ("serves suspect pages", cut(Defect::ServeSuspects)),
        ("believes a rescue that was cut", stormed(Defect::BelieveRescue)),
    ];
    for (what, seeds) in caught {
        println!("an engine that {what}: caught by {seeds} of 20 seeds");
        assert!(seeds >= 5, "an engine that {what} is caught by only {seeds} of 20 seeds");
    }
    let mut rig = fullest([1024, 16, 16, 1], 1, "separate-gc");
    rig.0.logical_pages -= rig.0.logical_pages / 6;
    let failed = fail_each(&broken(rig, Defect::ForgetUnsettled), 1);
    assert!(failed.is_err(), "an engine that leaves pages without their tags is caught");
}
