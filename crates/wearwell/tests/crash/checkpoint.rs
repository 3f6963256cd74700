//! Mounts by the checkpoint of a clean shutdown.

use wearwell::page::{MountError, PageFtl, SegState};
use wearwell::{BlockDevice, Inspect, Lookup, Lpn, Rng, Seg};
use wearwell_emu::{EmuChip, EmuNand, OpKind, PowerCut};
use wearwell_flash::{Nand, PageAddr};

use crate::canary::{Defect, broken, caught_by};
use crate::exhaustive::{Proven, aged, begin, each_cut, prove_recovery, run};
use crate::model::{Command, Model};
use crate::rig::{NandRig, PageRig, Rig, checkpointed, nand, outcomes};
use crate::storm::{seeds, storm_of};

/// Storms in which every fourth command shuts down.
const SHUTDOWNS: u32 = 4;

fn rigs() -> [NandRig; 4] {
    [
        checkpointed(nand([512, 16, 12, 1], 1, 1, 96, "single")),
        checkpointed(nand([1024, 12, 96, 4], 4, 3, 143, "by-stream")),
        checkpointed(nand([512, 12, 16, 1], 1, 3, 53, "hot-cold-readonly")),
        checkpointed(nand([512, 12, 34, 2], 2, 2, 120, "separate-gc")),
    ]
}

/// A device that was used and shut down.
fn shut_down_device(rig: &NandRig, seed: u64, commands: u32) -> (EmuNand, Model) {
    let (mut ftl, mut model) = aged(rig);
    run(rig, &mut ftl, &mut model, seed, commands, "use");
    model.run(&mut ftl, Command::Shutdown).expect("nothing fails");
    let mut chip = NandRig::into_chip(ftl);
    chip.power_on();
    (chip, model)
}

/// The first pages of the checkpoint, in the blocks that the engine does not see.
fn kept_pages(rig: &NandRig, segments: u32) -> Vec<PageAddr> {
    let pages = rig.profile().pages_per_block;
    (segments * pages + 1..rig.profile().blocks * pages).map(PageAddr).collect()
}

/// What a mount leaves of each segment.
fn table<R: PageRig>(ftl: &PageFtl<R::Log>) -> Vec<(u32, SegState, u8, u64)> {
    let table = ftl.segments();
    let opened = |seg| if table.state(seg).is_in_use() { table.opened(seg) } else { 0 };
    table.all().map(|seg| (table.erases(seg), table.state(seg), table.class(seg).0, opened(seg))).collect()
}

#[test]
fn a_mount_by_checkpoint_knows_what_a_scan_finds() {
    let rig = checkpointed(nand([512, 16, 40, 1], 1, 1, 300, "single"));
    for seed in 0..20 {
        let (chip, mut model) = shut_down_device(&rig, seed, 100);
        let (mut known, report) = rig.mount(chip.clone()).expect("mounts");
        assert!(report.clean, "seed {seed}: {report:?}");
        let reads = NandRig::chip_of(&known).counts().reads - chip.counts().reads;
        assert!(reads <= 6, "seed {seed}: {reads} reads");
        let mut damaged = chip.clone();
        let segments = known.segments().count();
        assert!(damaged.decay(kept_pages(&rig, segments)[0]), "the checkpoint begins there");
        let (scanned, report) = rig.mount(damaged).expect("mounts");
        assert!(report.clean, "seed {seed}: {report:?}");
        assert_eq!(table::<NandRig>(&known), table::<NandRig>(&scanned), "seed {seed}");
        let mapped = |ftl: &PageFtl<<NandRig as PageRig>::Log>| {
            (0..301).map(|lpn| ftl.lookup(Lpn(lpn)).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(mapped(&known), mapped(&scanned), "seed {seed}");
        let valid: u32 = (0..segments).map(|seg| known.segments().valid(Seg(seg))).sum();
        assert_eq!(u64::from(valid), known.limits().live_pages, "seed {seed}");
        model.check_exact(&mut known).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

/// Whatever page of it is lost, the device is whole.
#[test]
fn a_damaged_checkpoint_is_passed_over() {
    let rig = checkpointed(nand([512, 16, 40, 1], 1, 1, 300, "single"));
    let (chip, model) = shut_down_device(&rig, 3, 100);
    let segments = rig.mount(chip.clone()).expect("mounts").0.segments().count();
    let mut damages = 0;
    for page in kept_pages(&rig, segments) {
        let mut damaged = chip.clone();
        if !damaged.decay(page) {
            continue;
        }
        damages += 1;
        let (mut ftl, report) = rig.mount(damaged).expect("mounts");
        assert!(report.clean);
        model.clone().check_exact(&mut ftl).unwrap_or_else(|error| panic!("{page:?}: {error}"));
    }
    assert!(damages >= 2, "{damages} pages");
}

/// The only record of a discard decays behind a shutdown. The mount by the checkpoint knows of the discard, and so does
/// the one behind the next cut, which has to scan.
#[test]
fn what_a_checkpoint_knows_of_discards_outlasts_it() {
    let rig = checkpointed(nand([512, 8, 14, 1], 1, 1, 40, "single"));
    let (mut ftl, mut model) = (rig.format(), Model::new(40, 1));
    model.fill(&mut ftl);
    // There is a part before, so that the last shutdown writes one only once.
    model.run(&mut ftl, Command::Shutdown).expect("nothing fails");
    let (mut ftl, _) = rig.mount(NandRig::into_chip(ftl)).expect("mounts");
    model.run(&mut ftl, Command::Discard { page: 3, count: 5 }).expect("nothing fails");
    model.run(&mut ftl, Command::Shutdown).expect("nothing fails");
    // Parts are numbered behind the host's pages. A slot is a page behind the header.
    let (part, slots) = (ftl.lookup(Lpn(40)), ftl.limits().pages_per_segment);
    let page = PageAddr(part.0 / slots * rig.profile().pages_per_block + 1 + part.0 % slots);
    let mut chip = NandRig::into_chip(ftl);
    chip.power_on();
    assert!(chip.decay(page), "the part lies there");
    for after in 0..6 {
        for &outcome in outcomes(OpKind::Program, 1) {
            let what = format!("operation {after} left {outcome:?}");
            let mut model = model.clone();
            let (mut ftl, report) = rig.mount(chip.clone()).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!((report.clean, report.lost_discards), (true, 0), "{what}");
            model.check_exact(&mut ftl).unwrap_or_else(|error| panic!("{what}: {error}"));
            let at_op = NandRig::chip_of(&ftl).ops() + after;
            NandRig::chip_of_mut(&mut ftl).arm(Some(PowerCut { at_op, outcome }));
            while model.run(&mut ftl, Command::Write { page: 20, stream: 0 }).is_ok() {}
            let mut chip = NandRig::into_chip(ftl);
            chip.power_on();
            let (mut ftl, report) = rig.mount(chip).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(!report.clean, "{what}: a write came in between");
            model.check_after_cut(&mut ftl).unwrap_or_else(|error| panic!("{what}: {error}"));
        }
    }
}

/// All that can be read is a page that is kept for checkpoints, be it a header. It says whose the chip is.
#[test]
fn what_is_kept_says_whose_a_chip_is() {
    let rig = checkpointed(nand([512, 16, 40, 1], 1, 1, 300, "single"));
    let (mut ftl, mut model) = (rig.format(), Model::new(300, 1));
    model.fill(&mut ftl);
    model.run(&mut ftl, Command::Shutdown).expect("nothing fails");
    let segments = ftl.segments().count();
    let mut chip = NandRig::into_chip(ftl);
    chip.power_on();
    let header = PageAddr(segments * rig.profile().pages_per_block);
    for kept in [header, kept_pages(&rig, segments)[0]] {
        let mut chip = chip.clone();
        let pages = chip.geometry().blocks * chip.geometry().pages_per_block;
        (0..pages).map(PageAddr).filter(|&page| page != kept).for_each(|page| _ = chip.decay(page));
        let (mut ftl, _) = rig.mount(chip).unwrap_or_else(|error| panic!("{kept:?} is left: {error}"));
        ftl.flush().expect("there is nothing to write");
    }
}

/// Cuts every operation of a shutdown, and of the first commands after it.
fn prove(rig: &NandRig, seed: u64) {
    const BEFORE: u32 = 6;
    const AFTER: u32 = 3;
    let (ftl, aged_model) = aged(rig);
    let mut aged_chip = NandRig::into_chip(ftl);
    aged_chip.power_on();
    let session = |cut: Option<PowerCut>| {
        let (mut ftl, mut model) = begin(rig, aged_chip.clone(), &aged_model);
        run(rig, &mut ftl, &mut model, seed, BEFORE, "before");
        NandRig::chip_of_mut(&mut ftl).start_trace();
        let first = NandRig::chip_of(&ftl).ops();
        NandRig::chip_of_mut(&mut ftl).arm(cut);
        if model.run(&mut ftl, Command::Shutdown).is_ok() {
            run(rig, &mut ftl, &mut model, seed + 1, AFTER, "after");
        }
        (ftl, model, first)
    };
    let (ftl, _, first) = session(None);
    let kinds = NandRig::chip_of(&ftl).trace().to_vec();
    let cut = |cut: PowerCut, what: &str| {
        let (ftl, model, _) = session(Some(cut));
        let chip = NandRig::into_chip(ftl);
        assert!(chip.is_off(), "{what}: the same run reaches the cut");
        (chip, model)
    };
    let mut proven = Proven::default();
    each_cut(&kinds, first, rig.paired_pages(), cut, |chip, model, what| {
        prove_recovery(rig, &chip, &model, &mut proven, what);
    });
}

#[test]
fn shutdowns_may_be_cut_anywhere() {
    prove(&checkpointed(nand([512, 12, 10, 1], 1, 1, 48, "single")), 1);
    prove(&checkpointed(nand([512, 16, 10, 1], 1, 2, 59, "single")), 2);
    prove(&checkpointed(nand([512, 6, 24, 2], 2, 1, 60, "separate-gc")), 3);
}

#[test]
fn storms_of_shutdowns() {
    for seed in 0..seeds() {
        for rig in &rigs() {
            storm_of(rig, seed, 100, 60, SHUTDOWNS);
            storm_of(rig, seed, 200, 12, SHUTDOWNS);
        }
    }
}

fn canary(defect: Defect) -> usize {
    let rig = broken(checkpointed(nand([512, 12, 12, 1], 1, 1, 66, "single")), defect);
    caught_by(&rig, |seed| {
        storm_of(&rig, seed, 60, 80, SHUTDOWNS);
        Ok(())
    })
}

#[test]
fn an_engine_that_believes_an_outdated_checkpoint_is_caught() {
    assert_eq!(canary(Defect::None), 0, "the wrapper itself breaks nothing");
    let seeds = canary(Defect::BelieveCheckpoint);
    println!("caught by {seeds} of 20 seeds");
    assert!(seeds >= 15, "caught by only {seeds} of 20 seeds");
}

#[test]
fn a_chip_is_mounted_with_the_layout_that_it_was_formatted_with() {
    let with = checkpointed(nand([512, 16, 12, 1], 1, 1, 96, "single"));
    let mut without = checkpointed(nand([512, 16, 12, 1], 1, 1, 96, "single"));
    without.0.has_checkpoint = false;
    for (made, mounted) in [(&with, &without), (&without, &with)] {
        let (chip, _) = shut_down_device(made, 1, 100);
        let refusal = mounted.mount(chip).expect_err("another layout");
        assert!(matches!(refusal, MountError::OtherVersion { .. }), "{refusal:?}");
    }
}

/// Sessions of one write: the kept blocks rest when they have been erased half as often as they bear.
#[test]
fn the_kept_blocks_do_not_wear_out_before_the_others() {
    let mut rig = checkpointed(nand([512, 16, 40, 1], 1, 1, 300, "single"));
    rig.0.endurance = 100;
    let mut chip = NandRig::into_chip(rig.format());
    let mut by_checkpoint = 0;
    for session in 0..200 {
        chip.power_on();
        let before = chip.counts().reads;
        let mut ftl = rig.mount(chip).expect("mounts").0;
        by_checkpoint += u32::from(NandRig::chip_of(&ftl).counts().reads - before < 10);
        let mut model = Model::new(300, 1);
        model.run(&mut ftl, Command::Write { page: session % 300, stream: 0 }).expect("nothing fails");
        model.run(&mut ftl, Command::Shutdown).expect("nothing fails");
        chip = NandRig::into_chip(ftl);
    }
    assert_eq!(by_checkpoint, 49, "half of what a block bears, and the format was one erase");
}

/// 1,024 blocks of 64 pages of 2 KiB, 80 % of them full.
#[test]
fn a_clean_mount_reads_sixty_four_pages() {
    let mut rig = nand([2048, 64, 1024, 1], 1, 1, 52_428, "single");
    rig.0.has_checkpoint = true;
    let mut ftl = rig.format();
    let mut rng = Rng::new(1);
    let page = vec![1; 2048];
    for number in 0..60_000 {
        let lpn = if number < 52_428 { number } else { rng.below(52_428) };
        ftl.write_page(Lpn(lpn), &page, wearwell::WriteHint::NONE).expect("nothing fails");
    }
    let mut reads = Vec::new();
    for _ in 0..2 {
        ftl.shutdown().expect("nothing fails");
        let mut chip = NandRig::into_chip(ftl);
        chip.power_on();
        let before = chip.counts().reads;
        ftl = rig.mount(chip).expect("mounts").0;
        reads.push(NandRig::chip_of(&ftl).counts().reads - before);
        ftl.write_page(Lpn(1), &page, wearwell::WriteHint::NONE).expect("nothing fails");
    }
    println!("{reads:?} reads in a mount");
    assert!(reads.iter().all(|&reads| reads <= 64), "{reads:?}");
    let mut chip = NandRig::into_chip(ftl);
    chip.power_on();
    let before = chip.counts().reads;
    let after_a_cut = NandRig::chip_of(&rig.mount(chip).expect("mounts").0).counts().reads - before;
    println!("{after_a_cut} after a cut");
}

#[test]
fn the_counters_have_what_a_checkpoint_costs() {
    for rig in rigs() {
        let (mut ftl, mut model) = aged(&rig);
        let ops = |ftl: &<NandRig as Rig>::Ftl| NandRig::chip_of(ftl).ops();
        let blocks = u64::from(rig.0.profile.stripe);
        let counted = |ftl: &<NandRig as Rig>::Ftl| ftl.stats().programmed_pages() + ftl.stats().erases * blocks;
        let before = (ops(&ftl), counted(&ftl));
        model.run(&mut ftl, Command::Shutdown).expect("nothing fails");
        let after = (ops(&ftl), counted(&ftl));
        assert_eq!(after.0 - before.0, after.1 - before.1, "{}: programs and erases of the chip", rig.0.profile.blocks);
    }
}
