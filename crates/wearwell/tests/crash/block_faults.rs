//! Block mapping on chips that fail without a power cut, and what a clean shutdown is good for.

use wearwell::{BlockDevice, FtlError, Inspect, Lookup, Lpn, Ppn, Rng, Sectors, WearLeveling, WriteHint};
use wearwell_emu::{BitErrors, EmuChip, Endurance, FactoryBad, Faults};
use wearwell_flash::BlockAddr;

use wearwell::logblock::Scheme;

use crate::block::{BlockRig, block, log_block};
use crate::model::{Command, Model};
use crate::rig::Rig;

type Engine = <BlockRig as Rig>::Ftl;

/// Every scheme, and every way to recycle that copies in another manner.
pub(crate) fn schemes() -> [Scheme; 5] {
    let shared = [Scheme::Fast, Scheme::FastByStream];
    [log_block("merge-only"), log_block("periodic:6"), Scheme::PrimaryReplacement, shared[0], shared[1]]
}

fn with_faults(scheme: Scheme, faults: Faults) -> BlockRig {
    let mut rig = block([512, 16, 24, 1], 1, 180, scheme);
    rig.faults = faults;
    rig
}

fn fill(rig: &BlockRig) -> (Engine, Model) {
    let mut ftl = rig.format();
    let mut model = Model::new(rig.logical_pages(), 1);
    model.fill(&mut ftl);
    (ftl, model)
}

/// Runs commands and checks every page.
fn run_checked(rig: &BlockRig, ftl: &mut Engine, model: &mut Model, seed: u64, commands: u32) {
    let what = format!("{:?}, seed {seed}", rig.config.scheme);
    let mut rng = Rng::new(seed);
    for _ in 0..commands {
        let command = rig.command(&mut rng, 1);
        model.run(ftl, command).unwrap_or_else(|error| panic!("{what}: {command:?}: {error}"));
    }
    model.check_exact(ftl).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(BlockRig::chip_of(ftl).violations(), 0, "{what}: the chip's contract was broken");
}

fn places(ftl: &Engine, pages: u32) -> Vec<Ppn> {
    (0..pages).map(|lpn| ftl.lookup(Lpn(lpn))).collect()
}

#[test]
fn factory_bad_blocks_are_left_alone() {
    for scheme in schemes() {
        let bad = [0, 7, 23].map(BlockAddr).to_vec();
        let rig = with_faults(scheme, Faults { factory_bad: FactoryBad::Blocks(bad), ..Faults::default() });
        let (mut ftl, mut model) = fill(&rig);
        for round in 0..6 {
            run_checked(&rig, &mut ftl, &mut model, round, 400);
            let in_bad = |at: &Ppn| at.is_some() && [0, 7, 23].contains(&(at.0 / 16));
            assert_eq!(places(&ftl, 180).into_iter().find(in_bad), None);
        }
        assert_eq!(ftl.erase_counts().len(), 21);
    }
}

/// Every operation of a run fails once, in runs of its own: appends, the copies and the commit of every kind of merge,
/// migrations, discard records, marks and erases.
#[test]
fn no_failing_program_or_erase_loses_anything() {
    for scheme in schemes() {
        let mut retired = 0;
        let (ops, last) = {
            let rig = block([512, 8, 24, 1], 1, 96, scheme);
            let (mut ftl, mut model) = fill(&rig);
            let first = BlockRig::chip_of(&ftl).ops();
            run_checked(&rig, &mut ftl, &mut model, 3, 120);
            (first, BlockRig::chip_of(&ftl).ops())
        };
        for op in ops..last {
            let mut rig = block([512, 8, 24, 1], 1, 96, scheme);
            // Another one soon after, but rarely in the same merge: the reserve bears one failure in each.
            rig.faults.fail_ops = vec![op, op + 24 + op % 9];
            let (mut ftl, mut model) = fill(&rig);
            run_checked(&rig, &mut ftl, &mut model, 3, 120);
            retired += ftl.stats().retired_segments;
            model.run(&mut ftl, Command::Flush).expect("flushed");
            let (mut again, _) = rig.mount(BlockRig::into_chip(ftl)).expect("mounts");
            model.check_exact(&mut again).unwrap_or_else(|error| panic!("{scheme:?}, operation {op}: {error}"));
            run_checked(&rig, &mut again, &mut model, 4, 40);
        }
        assert!(retired >= last - ops, "{scheme:?}: only {retired} segments failed in {} runs", last - ops);
    }
}

fn fading(per_read: f64, refresh_bits: u32) -> Faults {
    let bit_errors =
        BitErrors { base: 0.0, per_cycle: 0.0, per_read, per_hour: 0.0, correctable_bits: 8, refresh_bits };
    Faults { seed: 2, bit_errors: Some(bit_errors), ..Faults::default() }
}

#[test]
fn fading_data_is_moved_before_it_is_lost() {
    for scheme in schemes() {
        let rig = with_faults(scheme, fading(0.01, 4));
        let (mut ftl, mut model) = fill(&rig);
        // Pages in log blocks fade like others.
        for page in [3, 40, 77] {
            model.run(&mut ftl, Command::Write { page, stream: 0 }).expect("fits");
        }
        // Left alone, a block would be unreadable after some 800 reads.
        for _ in 0..500 {
            model.check_exact(&mut ftl).unwrap_or_else(|error| panic!("{scheme:?}: {error}"));
            while ftl.clean(64).expect("moved in time") {}
        }
        assert!(ftl.stats().wear_copies > 180, "{scheme:?}: {:?}", ftl.stats());
    }
}

fn read(ftl: &mut Engine, page: u32) -> Result<(), FtlError> {
    ftl.read(Sectors { start: u64::from(page), count: 1 }, &mut [0; 512])
}

fn write(ftl: &mut Engine, page: u32) {
    ftl.write(Sectors { start: u64::from(page), count: 1 }, &[7; 512], WriteHint::NONE).expect("fits");
}

/// Merges, migrations and mounts must not turn a loss into old data or zeros.
#[test]
fn a_lost_page_is_an_error_until_it_is_written_again() {
    for scheme in schemes() {
        let rig = with_faults(scheme, fading(0.01, 99));
        let (mut ftl, _) = fill(&rig);
        // One is lost in a data block, and one perhaps in a log block.
        write(&mut ftl, 21);
        for page in [5, 21] {
            let error = (0..100_000).find_map(|_| read(&mut ftl, page).err()).expect("it fades");
            assert_eq!(error, FtlError::Unreadable { lpn: Lpn(page) });
        }
        let is_lost = |ftl: &mut Engine, page| read(ftl, page) == Err(FtlError::Unreadable { lpn: Lpn(page) });
        let mut rng = Rng::new(1);
        for round in 0..6 {
            for _ in 0..80 {
                let page = [0, 16, 32][rng.below(3) as usize] + 6 + rng.below(9);
                if page != 21 {
                    write(&mut ftl, page);
                }
            }
            ftl.flush().expect("flushed");
            if round == 3 {
                ftl.shutdown().expect("shut down");
            }
            let mut chip = BlockRig::into_chip(ftl);
            chip.power_on();
            (ftl, _) = rig.mount(chip).expect("mounts");
            assert!(is_lost(&mut ftl, 5) && is_lost(&mut ftl, 21), "{scheme:?}, round {round}");
        }
        write(&mut ftl, 5);
        ftl.discard(Sectors { start: 21, count: 1 }).expect("fits");
        assert_eq!((read(&mut ftl, 5), read(&mut ftl, 21)), (Ok(()), Ok(())), "{scheme:?}");
        ftl.flush().expect("flushed");
        let (mut ftl, _) = rig.mount(BlockRig::into_chip(ftl)).expect("mounts");
        assert_eq!((read(&mut ftl, 5), read(&mut ftl, 21)), (Ok(()), Ok(())), "{scheme:?}, mounted");
    }
}

/// A mount copies what was programmed last before a cut, since that may fade: a record of a loss has nothing to fade.
#[test]
fn a_loss_that_was_recorded_last_stays_a_loss() {
    for scheme in schemes() {
        let rig = with_faults(scheme, fading(0.01, 4));
        let (mut ftl, _) = fill(&rig);
        // The last page of a data block, with which its merge ends.
        let error = (0..100_000).find_map(|_| read(&mut ftl, 15).err()).expect("it fades");
        while ftl.clean(64).expect("cleans") {}
        assert_eq!(read(&mut ftl, 15), Err(error), "{scheme:?}");
        let mut chip = BlockRig::into_chip(ftl);
        chip.power_on();
        let (mut ftl, _) = rig.mount(chip).expect("mounts");
        assert_eq!(read(&mut ftl, 15), Err(error), "{scheme:?}, mounted");
    }
}

#[test]
fn a_worn_out_device_says_so_and_stays_readable() {
    for scheme in schemes() {
        let endurance = Some(Endurance { cycles: 40, spread: 0.1 });
        let rig = with_faults(scheme, Faults { seed: 3, endurance, ..Faults::default() });
        let (mut ftl, mut model) = fill(&rig);
        let mut rng = Rng::new(9);
        let error = loop {
            let before = model.clone();
            if let Err(error) = model.run(&mut ftl, Command::Write { page: rng.below(180), stream: 0 }) {
                model = before;
                break error;
            }
        };
        let FtlError::WornOut { good_segments, needed_segments } = error else { panic!("{scheme:?}: {error}") };
        assert!(good_segments <= needed_segments + 1, "{scheme:?}: {good_segments} of {needed_segments} are left");
        model.check_exact(&mut ftl).unwrap_or_else(|error| panic!("{scheme:?}: {error}"));
        let again = model.clone().run(&mut ftl, Command::Write { page: 0, stream: 0 });
        assert!(matches!(again, Err(FtlError::WornOut { .. })), "{scheme:?}: it stays read-only, but {again:?}");
        let (mut ftl, _) = rig.mount(BlockRig::into_chip(ftl)).expect("mounts");
        model.check_exact(&mut ftl).unwrap_or_else(|error| panic!("{scheme:?}, mounted: {error}"));
    }
}

/// Promise 6: no command does more flash operations a page than `limits` says.
#[test]
fn operations_for_a_page_are_bounded() {
    for scheme in schemes() {
        for paired_pages in [1, 2] {
            let mut rig = block([512, 16, 24, 1], paired_pages, 180, scheme);
            rig.config.wear = WearLeveling::parse("static-threshold:2").expect("listed");
            let (mut ftl, mut model) = fill(&rig);
            let mut rng = Rng::new(5);
            let (mut seen, most) = (0, ftl.limits().max_ops_per_host_page);
            for step in 0..6000 {
                let hot = if step % 2 == 0 { 180 } else { 20 };
                let page = rng.below(hot);
                let before = BlockRig::chip_of(&ftl).ops();
                model.run(&mut ftl, Command::Write { page, stream: 0 }).expect("nothing fails");
                seen = seen.max(BlockRig::chip_of(&ftl).ops() - before);
            }
            assert!(seen <= most && seen > 1, "{scheme:?}: {seen} operations for a page, {most} are promised");
            println!("{scheme:?}: {seen} operations at most for a page, {most} promised");
        }
    }
}

#[test]
fn a_clean_shutdown_is_recognised_and_changes_no_place() {
    for scheme in schemes() {
        let rig = block([512, 16, 24, 1], 1, 180, scheme);
        let (mut ftl, mut model) = fill(&rig);
        run_checked(&rig, &mut ftl, &mut model, 6, 300);
        for page in [1, 2] {
            model.run(&mut ftl, Command::Write { page, stream: 0 }).expect("fits");
        }
        model.run(&mut ftl, Command::Shutdown).expect("shut down");
        let before = places(&ftl, 180);
        let (mut ftl, report) = rig.mount(BlockRig::into_chip(ftl)).expect("mounts");
        assert!(report.clean && report.rescued_pages == 0 && report.undone_segments == 0, "{scheme:?}: {report:?}");
        assert_eq!(places(&ftl, 180), before, "{scheme:?}");
        model.check_exact(&mut ftl).expect("all there");
        assert_eq!(ftl.stats().erases, 0, "{scheme:?}");
        // The log block is continued: one page costs one program, and the erase of the mark.
        let ops = BlockRig::chip_of(&ftl).ops();
        model.run(&mut ftl, Command::Write { page: 1, stream: 0 }).expect("writes again");
        assert_eq!(BlockRig::chip_of(&ftl).ops() - ops, 2, "{scheme:?}");
        model.run(&mut ftl, Command::Flush).expect("flushed");
        let (mut ftl, report) = rig.mount(BlockRig::into_chip(ftl)).expect("mounts");
        assert!(!report.clean, "{scheme:?}: the mark is gone as soon as something was written");
        model.check_exact(&mut ftl).expect("all there");
    }
}

/// Greatest and least erase count after many writes to a sixth of the data.
fn erases_under(scheme: Scheme, wear: &str) -> (u32, u32) {
    let mut rig = block([512, 16, 40, 1], 1, 480, scheme);
    rig.config.wear = WearLeveling::parse(wear).expect("listed");
    let (mut ftl, mut model) = fill(&rig);
    let mut rng = Rng::new(5);
    for _ in 0..20_000 {
        model.run(&mut ftl, Command::Write { page: rng.below(80), stream: 0 }).expect("fits");
    }
    model.check_exact(&mut ftl).expect("nothing is lost");
    let (most, least) = (ftl.erase_counts().into_iter().max(), ftl.erase_counts().into_iter().min());
    (most.expect("segments"), least.expect("segments"))
}

#[test]
fn static_wear_leveling_keeps_the_spread_small() {
    for scheme in [log_block("merge-only"), Scheme::PrimaryReplacement] {
        let ((most, least), (none_most, none_least)) =
            (erases_under(scheme, "static-threshold:15"), erases_under(scheme, "none"));
        let (leveled, none) = (most - least, none_most - none_least);
        assert!(leveled <= 25 && none > 2 * leveled, "{scheme:?}: spread {none} without, {leveled} with leveling");
    }
}
