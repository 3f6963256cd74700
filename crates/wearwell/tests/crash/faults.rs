//! Chips that fail without a power cut: bad blocks, failing programs and erases, fading data, worn-out chips.

use wearwell::page::{MountError, PageConfig, PageFtl, Policies, SegState};
use wearwell::{
    BlockDevice, CleaningTrigger, FtlError, Inspect, Lpn, Placement, Reclamation, Rng, Sectors, Seg, VictimPolicy,
    WearLeveling, WriteHint,
};
use wearwell_emu::{BitErrors, EmuChip, Endurance, FactoryBad, Faults};
use wearwell_flash::{BlockAddr, Nand, PageAddr};

use crate::model::{Command, Model};
use crate::rig::{NandRig, PageRig, Rig, keeping, nand, nor};

/// Runs commands and checks every page; returns the model and how often each command failed.
fn run_checked<R: Rig>(rig: &R, ftl: &mut R::Ftl, seed: u64, commands: u32) -> Model {
    let mut rng = Rng::new(seed);
    let pages = rig.logical_pages();
    let mut model = Model::new(pages, ftl.page_bytes() / 512);
    for _ in 0..commands {
        let command = Command::random(&mut rng, pages, ftl.page_bytes() / 512);
        model.run(ftl, command).unwrap_or_else(|error| panic!("seed {seed}: {command:?}: {error}"));
    }
    model.check_exact(ftl).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    assert_eq!(R::chip_of(ftl).violations(), 0, "the chip's contract was broken");
    model
}

fn with_faults(faults: Faults) -> NandRig {
    let mut rig = nand([512, 16, 24, 1], 1, 1, 180, "separate-gc");
    rig.0.faults = faults;
    rig
}

#[test]
fn factory_bad_blocks_are_left_alone() {
    let rig = with_faults(Faults {
        factory_bad: FactoryBad::Blocks([0, 7, 23].map(BlockAddr).to_vec()),
        ..Faults::default()
    });
    let mut ftl = rig.format();
    run_checked(&rig, &mut ftl, 1, 3000);
    let bad = ftl.segments().all().filter(|&s| ftl.segments().state(s) == SegState::Bad);
    assert_eq!(bad.map(|s| s.0).collect::<Vec<_>>(), [0, 7, 23]);
}

#[test]
fn failing_programs_and_erases_lose_nothing() {
    let mut retired = 0;
    for seed in 0..40 {
        let fail_ops = vec![200 + seed * 13, 700 + seed * 7, 1500 + seed];
        let rig = with_faults(Faults { seed, fail_ops, ..Faults::default() });
        let mut ftl = rig.format();
        let mut model = run_checked(&rig, &mut ftl, seed, 2500);
        retired += ftl.stats().retired_segments;
        model.run(&mut ftl, Command::Flush).expect("flushed");
        let (mut again, _) = rig.mount(NandRig::into_chip(ftl)).expect("mounts");
        model.check_after_cut(&mut again).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    assert!(retired >= 80, "only {retired} segments failed");
}

#[test]
fn fading_data_is_moved_before_it_is_lost() {
    let bit_errors = Some(BitErrors {
        base: 0.0,
        per_cycle: 0.0,
        per_read: 0.01,
        per_hour: 0.0,
        correctable_bits: 8,
        refresh_bits: 4,
    });
    let rig = with_faults(Faults { seed: 2, bit_errors, ..Faults::default() });
    let mut ftl = rig.format();
    let mut model = Model::new(180, 1);
    model.fill(&mut ftl);
    // Every block is read 20,000 times and more; left alone it would be unreadable after some 800.
    for _ in 0..1500 {
        model.check_exact(&mut ftl).expect("readable");
        ftl.clean(64).expect("moved in time");
    }
    assert!(ftl.stats().wear_copies > 180, "{:?}", ftl.stats());
}

#[test]
fn a_lost_page_is_an_error_until_it_is_written_again() {
    let bit_errors = Some(BitErrors {
        base: 0.0,
        per_cycle: 0.0,
        per_read: 0.01,
        per_hour: 0.0,
        correctable_bits: 8,
        refresh_bits: 99,
    });
    let rig = with_faults(Faults { seed: 2, bit_errors, ..Faults::default() });
    let mut ftl = rig.format();
    let mut model = Model::new(180, 1);
    model.fill(&mut ftl);
    let mut page = [0; 512];
    let mut read = |ftl: &mut PageFtl<_>, at: u64| ftl.read(Sectors { start: at, count: 1 }, &mut page);
    let error = (0..100_000).find_map(|_| read(&mut ftl, 5).err()).expect("it fades");
    assert_eq!(error, FtlError::Unreadable { lpn: Lpn(5) });
    // Cleaning must not turn the loss into old data or zeros, nor a mount.
    let mut rng = Rng::new(1);
    for _ in 0..1500 {
        let page = 60 + rng.below(120);
        ftl.write(Sectors { start: u64::from(page), count: 1 }, &[7; 512], WriteHint::NONE).expect("fits");
    }
    assert_eq!(read(&mut ftl, 5), Err(error));
    ftl.flush().expect("flushed");
    let (mut ftl, _) = rig.mount(NandRig::into_chip(ftl)).expect("mounts");
    assert_eq!(read(&mut ftl, 5), Err(error));
    ftl.write(Sectors { start: 5, count: 1 }, &[1; 512], WriteHint::NONE).expect("fits");
    assert_eq!(read(&mut ftl, 5), Ok(()));
}

#[test]
fn a_worn_out_device_says_so_and_stays_readable() {
    let endurance = Some(Endurance { cycles: 40, spread: 0.1 });
    let rig = with_faults(Faults { seed: 3, endurance, ..Faults::default() });
    let mut ftl = rig.format();
    let pages = rig.logical_pages();
    let mut model = Model::new(pages, 1);
    let mut rng = Rng::new(9);
    let error = loop {
        let before = model.clone();
        let command = Command::Write { page: rng.below(pages), stream: 0 };
        if let Err(error) = model.run(&mut ftl, command) {
            model = before;
            break error;
        }
    };
    let FtlError::WornOut { good_segments, needed_segments } = error else { panic!("{error}") };
    assert!(good_segments <= needed_segments + 1, "{good_segments} of {needed_segments} needed are left");
    model.check_exact(&mut ftl).expect("everything is still there");
    assert!(model.clone().run(&mut ftl, Command::Write { page: 0, stream: 0 }).is_err(), "it stays read-only");
}

/// Segments of which nothing is left wait while there is room, and go when the host is idle; a mount counts what is
/// dead.
#[test]
fn empty_segments_are_kept_until_the_host_is_idle() {
    let rig = keeping(nand([512, 16, 40, 1], 1, 1, 180, "single"));
    let mut ftl = rig.format();
    let mut model = Model::new(rig.logical_pages(), 1);
    model.fill(&mut ftl);
    model.run(&mut ftl, Command::Discard { page: 0, count: 50 }).expect("nothing fails");
    model.run(&mut ftl, Command::Write { page: 0, stream: 0 }).expect("nothing fails");
    model.run(&mut ftl, Command::Flush).expect("nothing fails");
    assert_eq!((ftl.stats().erases, ftl.limits().dead_pages), (0, 50), "there is room");
    let mut ftl = rig.mount(NandRig::into_chip(ftl)).expect("a mount").0;
    model.check_after_cut(&mut ftl).expect("nothing is lost");
    // The page that was written again is not known to have been dead.
    assert_eq!(ftl.limits().dead_pages, 49);
    while ftl.clean(8).expect("nothing fails") {}
    assert!(ftl.stats().reclaimed_blocks >= 3, "{} segments were empty", ftl.stats().reclaimed_blocks);
    assert!(ftl.limits().dead_pages < 16, "{} pages are dead", ftl.limits().dead_pages);
}

#[test]
fn policies_can_be_switched_on_a_live_device() {
    let rig = nand([512, 16, 24, 1], 1, 1, 180, "single");
    let mut ftl = rig.format();
    let pages = rig.logical_pages();
    let mut model = Model::new(pages, 1);
    let mut rng = Rng::new(4);
    let pick = |rng: &mut Rng, list: &[(&'static str, &str)]| list[rng.below(list.len() as u32) as usize].0;
    for _ in 0..120 {
        let when = ["watermark:3:4", "watermark:4:6", "idle:3:4:8", "falling:6:8:4"][rng.below(4) as usize];
        ftl.set_policies(Policies {
            when: CleaningTrigger::parse(when).expect("listed"),
            which: VictimPolicy::parse(pick(&mut rng, VictimPolicy::LIST)).expect("listed"),
            place: Placement::parse(pick(&mut rng, Placement::LIST)).expect("listed"),
            wear: WearLeveling::parse(pick(&mut rng, WearLeveling::LIST)).expect("listed"),
            reclaim: Reclamation::parse(["at-once", "proactive"][rng.below(2) as usize]).expect("listed"),
        })
        .expect("the marks fit");
        for _ in 0..60 {
            let command = Command::random(&mut rng, pages, 1);
            model
                .run(&mut ftl, command)
                .unwrap_or_else(|error| panic!("{command:?} under {:?}: {error}", ftl.policies()));
        }
        model.check_exact(&mut ftl).unwrap_or_else(|error| panic!("{:?}: {error}", ftl.policies()));
    }
    assert!(
        ftl.set_policies(Policies {
            when: CleaningTrigger::parse("watermark:5:99").expect("parses"),
            ..ftl.policies()
        })
        .is_err()
    );
}

/// Erase counts after many writes to a sixth of the data, on a chip rated for `endurance` erases.
fn erases_under(wear: &str, endurance: u32) -> Vec<u32> {
    let mut rig = nand([512, 16, 40, 1], 1, 1, 380, "single");
    rig.0.policies.wear = WearLeveling::parse(wear).expect("listed");
    let config = PageConfig { endurance, ..rig.config() };
    let mut ftl = PageFtl::format(rig.log(rig.chip()), (), config).expect("a fresh chip can be formatted");
    let mut model = Model::new(380, 1);
    let mut rng = Rng::new(5);
    model.fill(&mut ftl);
    for _ in 0..30_000 {
        model.run(&mut ftl, Command::Write { page: rng.below(60), stream: 0 }).expect("fits");
    }
    model.check_exact(&mut ftl).expect("nothing is lost");
    ftl.erase_counts()
}

fn spread(erases: &[u32]) -> u32 {
    erases.iter().max().expect("segments") - erases.iter().min().expect("segments")
}

#[test]
fn static_wear_leveling_keeps_the_spread_small() {
    let (none, leveled) = (erases_under("none", 100_000), erases_under("static-threshold:15", 100_000));
    let (none, leveled) = (spread(&none), spread(&leveled));
    assert!(leveled <= 25 && none > 2 * leveled, "spread {none} without, {leveled} with leveling");
}

#[test]
fn swap_narrows_the_spread_near_the_limit_and_not_before() {
    let none = erases_under("none", 100_000);
    let most = *none.iter().max().expect("segments");
    assert_eq!(erases_under("swap:90", 2 * most), none, "far from the limit nothing is swapped");
    // The run passes the limit half way.
    let swapped = erases_under("swap:90", most / 2);
    assert!(spread(&none) > 2 * spread(&swapped), "spread {none:?} without, {swapped:?} with swapping");
}

/// Promise 6: no command does more flash operations a page than `limits` says.
fn check_operations<R: Rig>(rig: &R, seed: u64) {
    let mut ftl = rig.format();
    let pages = rig.logical_pages();
    let per_page = ftl.page_bytes() / 512;
    let mut model = Model::new(pages, per_page);
    let mut rng = Rng::new(seed);
    let most = ftl.limits().max_ops_per_host_page;
    let mut seen = 0;
    for _ in 0..6000 {
        let command = Command::Write { page: rng.below(pages), stream: rng.below(3) as u16 };
        let before = R::chip_of(&ftl).ops();
        model.run(&mut ftl, command).expect("nothing fails");
        seen = seen.max(R::chip_of(&ftl).ops() - before);
    }
    assert!(seen <= most && seen > 1, "{seen} operations for a page, {most} are promised");
    println!("{seen} operations at most for a page, {most} promised");
}

#[test]
fn operations_for_a_page_are_bounded() {
    check_operations(&nand([512, 16, 24, 1], 1, 1, 180, "single"), 1);
    check_operations(&nand([512, 16, 24, 1], 1, 1, 265, "separate-gc"), 2);
    check_operations(&nor(16, 24, 2, 300, "hot-cold-readonly"), 3);
}

#[test]
fn a_clean_shutdown_is_recognised_and_rescues_nothing() {
    let rig = nand([512, 16, 24, 1], 1, 1, 180, "single");
    let mut ftl = rig.format();
    let mut model = run_checked(&rig, &mut ftl, 6, 1000);
    model.run(&mut ftl, Command::Shutdown).expect("shut down");
    let (mut ftl, report) = rig.mount(NandRig::into_chip(ftl)).expect("mounts");
    assert!(report.clean && report.rescued_pages == 0, "{report:?}");
    model.check_exact(&mut ftl).expect("all there");
    model.run(&mut ftl, Command::Write { page: 3, stream: 0 }).expect("writes again");
    model.run(&mut ftl, Command::Flush).expect("flushed");
    let (mut ftl, report) = rig.mount(NandRig::into_chip(ftl)).expect("mounts");
    assert!(!report.clean, "the mark is gone as soon as something was written");
    model.check_exact(&mut ftl).expect("all there");
}

#[test]
fn wear_leveling_leaves_empty_segments_to_those_who_erase_them() {
    for place in ["single", "by-stream"] {
        let mut rig = nand([512, 10, 64, 1], 1, 1, 380, place);
        rig.0.policies.wear = WearLeveling::parse("static-threshold:2").expect("listed");
        let mut ftl = rig.format();
        let mut model = Model::new(380, 1);
        let mut rng = Rng::new(3);
        for _ in 0..20 {
            model.run(&mut ftl, Command::WriteRun { page: 0, count: 300 }).expect("fits");
            for _ in 0..400 {
                model.run(&mut ftl, Command::Write { page: 300 + rng.below(60), stream: 0 }).expect("fits");
            }
            model.run(&mut ftl, Command::Discard { page: 0, count: 200 }).expect("discarded");
        }
        model.check_exact(&mut ftl).expect("nothing is lost");
        assert!(ftl.stats().wear_copies > 0, "nothing was leveled");
    }
}

/// One program fails, each in its turn, on a device as full as can be: among them those of the discard map.
#[test]
fn a_program_that_fails_takes_no_discard_with_it() {
    let full = nand([512, 12, 10, 1], 1, 1, 49, "single");
    for fail_op in 150..900 {
        let mut rig = nand([512, 12, 10, 1], 1, 1, 49, "single");
        rig.0.faults = Faults { fail_ops: vec![fail_op], ..Faults::default() };
        let mut ftl = rig.format();
        let mut model = Model::new(49, 1);
        let mut rng = Rng::new(fail_op);
        for _ in 0..250 {
            let command = match rng.below(4) {
                0 => Command::Discard { page: rng.below(45), count: 1 + rng.below(4) },
                _ => Command::Write { page: rng.below(49), stream: 0 },
            };
            if let Err(error) = model.run(&mut ftl, command) {
                assert!(matches!(error, FtlError::WornOut { .. }), "{fail_op}: {error}");
                break;
            }
        }
        if model.run(&mut ftl, Command::Flush).is_ok() {
            let (mut again, _) = full.mount(NandRig::into_chip(ftl)).expect("mounts");
            model.check_after_cut(&mut again).unwrap_or_else(|error| panic!("failed operation {fail_op}: {error}"));
        }
    }
}

#[test]
fn sectors_that_were_taken_stay_when_they_cannot_be_written() {
    let mut rig = nand([2048, 16, 24, 1], 1, 1, 180, "single");
    rig.0.faults = Faults { seed: 3, endurance: Some(Endurance { cycles: 20, spread: 0.1 }), ..Faults::default() };
    let mut ftl = rig.format();
    let mut rng = Rng::new(9);
    while ftl.write(Sectors { start: 4 * u64::from(rng.below(180)), count: 4 }, &[1; 2048], WriteHint::NONE).is_ok() {}
    let part = Sectors { start: 6, count: 1 };
    ftl.write(part, &[2; 512], WriteHint::NONE).expect("a part of a page waits in the buffer");
    for _ in 0..2 {
        assert!(matches!(ftl.flush(), Err(FtlError::WornOut { .. })), "what waits is not on flash");
        let mut sector = [0; 512];
        ftl.read(part, &mut sector).expect("readable");
        assert_eq!(sector, [2; 512]);
    }
}

fn mount_what_was_handed_back<R: PageRig>(rig: &R) {
    let mut ftl = PageFtl::format(rig.log(rig.chip()), (), rig.config()).expect("a fresh chip can be formatted");
    let pages = rig.config().logical_pages;
    let mut model = Model::new(pages, 1);
    let mut rng = Rng::new(2);
    for round in 0..60 {
        for _ in 0..50 {
            let command = Command::Write { page: rng.below(pages), stream: 0 };
            model.run(&mut ftl, command).unwrap_or_else(|error| panic!("round {round}: {error}"));
        }
        ftl = PageFtl::mount(ftl.into_log(), (), rig.config()).unwrap_or_else(|error| panic!("{round}: {error}")).0;
        model.check_after_cut(&mut ftl).unwrap_or_else(|error| panic!("round {round}: {error}"));
    }
}

#[test]
fn a_log_that_was_handed_back_can_be_mounted() {
    mount_what_was_handed_back(&nand([512, 16, 24, 1], 1, 1, 180, "separate-gc"));
    mount_what_was_handed_back(&nor(16, 24, 2, 200, "single"));
}

#[test]
fn what_another_version_wrote_is_left_alone() {
    let rig = nand([512, 16, 24, 1], 1, 1, 180, "single");
    let mut chip = NandRig::into_chip(rig.format());
    let (mut header, mut tag) = ([0; 512], [0; 64]);
    chip.read(PageAddr(3 * 16), &mut header, &mut tag).expect("the header of segment 3");
    // As the first version was: without the capacity.
    header[4] = 1;
    let crc = crc32fast::hash(&header[..12]);
    header[12..16].copy_from_slice(&crc.to_le_bytes());
    chip.erase(BlockAddr(3)).expect("erased");
    chip.program(PageAddr(3 * 16), &header, &tag).expect("programmed");
    let ops = chip.ops();
    let Err((chip, error)) = rig.mount_or_return(chip) else { panic!("mounted") };
    assert_eq!(error, MountError::OtherVersion { segment: Seg(3), version: 1 });
    assert_eq!(chip.ops(), ops, "nothing was changed");
}

/// Mounts a device as one that is larger and one that is smaller.
fn mount_as_others<R: Rig>(rig: &R, other: fn(u32) -> R) {
    let logical_pages = rig.logical_pages();
    let mut chip = R::into_chip(rig.format());
    for pages in [logical_pages - 1, logical_pages + 1] {
        let Err((same, error)) = other(pages).mount_or_return(chip) else { panic!("mounted with {pages} pages") };
        assert!(matches!(error, MountError::OtherCapacity { logical_pages: found, .. } if found == logical_pages));
        chip = same;
    }
    assert!(rig.mount_or_return(chip).is_ok(), "nothing was changed");
}

#[test]
fn a_device_of_another_capacity_is_left_alone() {
    mount_as_others(&nand([512, 16, 24, 1], 1, 1, 180, "single"), |pages| {
        nand([512, 16, 24, 1], 1, 1, pages, "single")
    });
    mount_as_others(&nor(16, 24, 2, 200, "single"), |pages| nor(16, 24, 2, pages, "single"));
}
