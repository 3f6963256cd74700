//! Programs that fail: alone, followed by power cuts, and until the chip is worn out.
//!
//! What a failed program leaves may be readable, or not; what its block holds besides has to be moved.

use wearwell::logblock::Scheme;
use wearwell::{BlockDevice, FtlError, Inspect, Rng};
use wearwell_emu::{CutOutcome, EmuChip, Faults, PowerCut};

use crate::block::{block, log_block};
use crate::model::{Command, Model};
use crate::rig::{NandRig, NorRig, Rig, nand, nor};

/// Commands of a run in which an operation fails, before it is shut down and goes on.
const COMMANDS: u32 = 40;
/// Operations between the one that fails and the one that is cut.
const CUTS_AFTER: [u64; 9] = [0, 1, 2, 3, 5, 8, 14, 25, 60];
/// How often programs and erases fail until a chip is worn out.
const RATES: [f64; 2] = [0.0003, 0.002];

/// So many fail in a row that what is held back for failures is used up.
const RATE_OF_BURSTS: f64 = 0.2;

/// With this seed a write failed of a page that held nothing, and left a copy behind; the page was discarded, and the
/// next mount found the copy.
const LEFT_BY_A_FAILED_WRITE: u64 = 803;
/// With this seed the free segment that a copy was to open turned out bad, and the empty ones behind it were forgotten.
const EMPTIES_FORGOTTEN: u64 = 961;
/// With these seeds a mount finds no room for what the cut may have hit; or it did, before segments were held back.
const NO_ROOM_ON_NAND: u64 = 16;
const NO_ROOM_FOR_A_MERGE: u64 = 628;

/// A random command, with more discards than others have.
fn command(rng: &mut Rng, pages: u32) -> Command {
    let page = rng.below(pages);
    match rng.below(8) {
        0..=1 => Command::Discard { page, count: (1 + rng.below(4)).min(pages - page) },
        2 => Command::Clean(4),
        _ => Command::Write { page: page / (1 + rng.below(3)), stream: 0 },
    }
}

/// Runs commands to the end, or to an error, which is returned.
pub(crate) fn run<F: BlockDevice + Inspect>(
    ftl: &mut F,
    model: &mut Model,
    seed: u64,
    commands: u32,
) -> Result<(), FtlError> {
    let mut rng = Rng::new(seed);
    (0..commands).try_for_each(|_| model.run(ftl, command(&mut rng, model.pages())))
}

/// Runs commands, shuts down, and goes on as if nothing had been.
fn run_on<F: BlockDevice + Inspect>(ftl: &mut F, model: &mut Model, seed: u64) -> Result<(), FtlError> {
    run(ftl, model, seed, COMMANDS)?;
    model.run(ftl, Command::Shutdown)?;
    run(ftl, model, seed + 100, COMMANDS / 4)
}

/// A chip that was filled and then written to for a while.
fn aged<R: Rig>(rig: &R) -> (R::Chip, Model) {
    let mut ftl = rig.format();
    let pages = rig.logical_pages();
    let mut model = Model::new(pages, ftl.page_bytes() / 512);
    model.fill(&mut ftl);
    run(&mut ftl, &mut model, 99, 60).expect("nothing fails");
    model.run(&mut ftl, Command::Flush).expect("nothing fails");
    (R::into_chip(ftl), model)
}

/// Mounts after a power cycle, checks, writes on, and checks what the next mount finds.
fn go_on<R: Rig>(rig: &R, mut chip: R::Chip, model: &mut Model, seed: u64) -> Result<(), String> {
    for round in 0..2 {
        chip.power_on();
        let (mut ftl, _) = rig.mount(chip).map_err(|error| format!("mount {round}: {error}"))?;
        model.check_after_cut(&mut ftl).map_err(|error| format!("mount {round}: {error}"))?;
        run(&mut ftl, model, seed + round, COMMANDS).map_err(|error| format!("mount {round}: {error}"))?;
        model.run(&mut ftl, Command::Flush).map_err(|error| error.to_string())?;
        model.check_exact(&mut ftl).map_err(|error| format!("after mount {round}: {error}"))?;
        if R::chip_of(&ftl).violations() > 0 {
            return Err("the chip's contract was broken".into());
        }
        chip = R::into_chip(ftl);
    }
    chip.power_on();
    let (mut ftl, _) = rig.mount(chip).map_err(|error| format!("last mount: {error}"))?;
    model.check_exact(&mut ftl).map_err(|error| format!("last mount: {error}"))
}

/// One operation of a run fails; the run goes on, and is cut so many operations later, if at all.
fn fail_one<R: Rig>(rig: &R, aged: &(R::Chip, Model), seed: u64, op: u64, cut: Option<u64>) -> Result<u64, String> {
    let (mut chip, mut model) = aged.clone();
    chip.set_faults(Faults { seed, fail_ops: vec![op], ..Faults::default() });
    let (mut ftl, _) = rig.mount(chip).map_err(|error| format!("the first mount: {error}"))?;
    model.check_after_cut(&mut ftl)?;
    let outcome = CutOutcome::Seeded { seed: op };
    R::chip_of_mut(&mut ftl).arm(cut.map(|after| PowerCut { at_op: op + 1 + after, outcome }));
    match run_on(&mut ftl, &mut model, seed) {
        Err(error) if !R::chip_of(&ftl).is_off() => return Err(error.to_string()),
        Err(_) => {}
        Ok(()) => {
            R::chip_of_mut(&mut ftl).arm(None);
            model.run(&mut ftl, Command::Flush).map_err(|error| error.to_string())?;
            model.check_exact(&mut ftl)?;
        }
    }
    let retired = ftl.stats().retired_segments;
    go_on(rig, R::into_chip(ftl), &mut model, seed)?;
    Ok(retired)
}

/// The first error that one of many runs ends with: every operation fails in one of them. Otherwise, how many segments
/// were retired in all.
pub(crate) fn fail_each<R: Rig>(rig: &R, seed: u64) -> Result<u64, String> {
    let aged = aged(rig);
    let first = aged.0.ops();
    let (mut ftl, _) = rig.mount(aged.0.clone()).map_err(|error| error.to_string())?;
    run_on(&mut ftl, &mut aged.1.clone(), seed).map_err(|error| error.to_string())?;
    let last = R::chip_of(&ftl).ops();
    let mut retired = 0;
    for op in first..last {
        let what = |error| format!("seed {seed}, operation {op} of {first}..{last} fails: {error}");
        retired += fail_one(rig, &aged, seed, op, None).map_err(what)?;
        for after in CUTS_AFTER {
            let what = |error| format!("seed {seed}, operation {op} fails, cut {after} later: {error}");
            fail_one(rig, &aged, seed, op, Some(after)).map_err(what)?;
        }
    }
    Ok(retired)
}

/// A device that is worn out takes a command now and then; what it took, and what it held, is there after the next
/// mount. What failed may be there or not.
fn outlive<R: Rig>(rig: &R, mut ftl: R::Ftl, model: &mut Model, seed: u64) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    for _ in 0..4 * COMMANDS {
        // Whatever it says, it may say.
        let _ = model.run(&mut ftl, command(&mut rng, rig.logical_pages()));
    }
    match model.run(&mut ftl, Command::Flush) {
        // Discards may wait that there is no room to record.
        Ok(()) | Err(FtlError::WornOut { .. } | FtlError::Chip(_)) => {}
        Err(error) => return Err(format!("worn out and flushed: {error}")),
    }
    model.check_exact(&mut ftl)?;
    let mut chip = R::into_chip(ftl);
    chip.power_on();
    let (mut ftl, _) = rig.mount(chip).map_err(|error| format!("worn out: {error}"))?;
    model.check_held(&mut ftl).map(|_| ()).map_err(|error| format!("worn out and mounted: {error}"))
}

/// A device that could not copy what the cut may have hit takes nothing any more, and changes nothing.
fn refuse<R: Rig>(rig: &R, mut ftl: R::Ftl, model: &Model, seed: u64) -> Result<(), String> {
    let ops = R::chip_of(&ftl).ops();
    let _ = run(&mut ftl, &mut model.clone(), seed, COMMANDS);
    match model.clone().run(&mut ftl, Command::Write { page: 0, stream: 0 }) {
        Err(FtlError::WornOut { good_segments, needed_segments }) if good_segments <= needed_segments + 1 => {}
        taken => return Err(format!("a device that was mounted read-only takes a write, or could: {taken:?}")),
    }
    let part = Command::WritePart { page: 0, first: 0, count: 1 };
    if model.clone().run(&mut ftl, part).is_ok() {
        return Err("a device that was mounted read-only takes a part of a page".into());
    }
    ftl.shutdown().map_err(|error| format!("read-only and shut down: {error}"))?;
    if R::chip_of(&ftl).ops() != ops {
        return Err("a device that was mounted read-only was changed".into());
    }
    model.check_held(&mut ftl)?;
    let mut chip = R::into_chip(ftl);
    chip.power_on();
    let (mut ftl, _) = rig.mount(chip).map_err(|error| format!("read-only: {error}"))?;
    model.check_held(&mut ftl).map(|_| ()).map_err(|error| format!("read-only and mounted: {error}"))
}

/// Programs fail at random, and the power is cut at random, until no good block is left. Then all can still be read,
/// also after the next mount. Returns whether the last mount was refused its writes.
fn wear_down<R: Rig>(rig: &R, seed: u64, rate: f64) -> Result<bool, String> {
    let mut rng = Rng::new(seed);
    let (mut chip, mut model) = aged(rig);
    chip.set_faults(Faults { seed, program_fail_rate: rate, erase_fail_rate: rate, ..Faults::default() });
    for cycle in 0..400 {
        let what = |error| format!("seed {seed}, rate {rate}, cycle {cycle}: {error}");
        chip.power_on();
        let (mut ftl, found) = rig.mount(chip).map_err(|error| what(error.to_string()))?;
        if found.read_only {
            return refuse(rig, ftl, &model, seed).map(|()| true).map_err(what);
        }
        model.check_after_cut(&mut ftl).map_err(what)?;
        let at_op = R::chip_of(&ftl).ops() + u64::from(rng.below(2000));
        R::chip_of_mut(&mut ftl).arm(Some(PowerCut { at_op, outcome: CutOutcome::Seeded { seed: rng.next_u64() } }));
        let error = loop {
            if let Err(error) = model.run(&mut ftl, command(&mut rng, rig.logical_pages())) {
                break error;
            }
        };
        if !R::chip_of(&ftl).is_off() {
            R::chip_of_mut(&mut ftl).arm(None);
            let FtlError::WornOut { good_segments, needed_segments } = error else {
                return Err(what(error.to_string()));
            };
            if good_segments > needed_segments + 1 {
                return Err(what(format!("{good_segments} good segments are left, {needed_segments} are needed")));
            }
            return outlive(rig, ftl, &mut model, seed).map(|()| false).map_err(what);
        }
        chip = R::into_chip(ftl);
    }
    Err(format!("seed {seed}: nothing wears out"))
}

/// Returns how often the last mount was refused its writes.
pub(crate) fn wear_down_all<R: Rig>(what: &str, rig: &R, rates: &[f64], regressions: &[u64]) -> usize {
    let mut refused = 0;
    for seed in (0..crate::storm::seeds()).chain(regressions.iter().copied()) {
        for &rate in rates {
            let is_refused = wear_down(rig, seed, rate).unwrap_or_else(|error| panic!("{what}: {error}"));
            refused += usize::from(is_refused);
        }
    }
    refused
}

fn nor_rigs() -> [NorRig; 3] {
    [nor(8, 14, 2, 48, "single"), nor(10, 11, 1, 40, "separate-gc"), nor(8, 20, 4, 70, "hot-cold-readonly")]
}

/// One die; cells that three pages share; the same over a stripe of four dies.
fn nand_rigs() -> [NandRig; 3] {
    [
        nand([1024, 16, 16, 1], 1, 1, 96, "separate-gc"),
        nand([512, 12, 16, 1], 1, 3, 53, "hot-cold-readonly"),
        nand([512, 12, 96, 4], 4, 3, 113, "by-stream"),
    ]
}

fn schemes() -> [Scheme; 5] {
    let logs = [log_block("merge-only"), log_block("periodic:6")];
    [logs[0], logs[1], Scheme::PrimaryReplacement, Scheme::Fast, Scheme::FastByStream]
}

#[test]
fn a_program_that_fails_on_nor_costs_its_block_and_nothing_else() {
    for (rig, seed) in nor_rigs().iter().zip(1..) {
        let retired = fail_each(rig, seed).unwrap_or_else(|error| panic!("{error}"));
        assert!(retired > 100, "only {retired} segments failed");
    }
}

#[test]
fn a_program_that_fails_on_nand_costs_its_segment_and_nothing_else() {
    for (rig, seed) in nand_rigs().iter().zip(1..) {
        let retired = fail_each(rig, seed).unwrap_or_else(|error| panic!("{error}"));
        assert!(retired > 40, "only {retired} segments failed");
    }
}

/// Also where hardly a block is left beside those that are needed, as many as log blocks may take.
#[test]
fn a_program_that_fails_under_block_mapping_costs_its_block_and_nothing_else() {
    for scheme in schemes() {
        for blocks in [20, 24] {
            let rig = block([512, 8, blocks, 1], 1, 96, scheme);
            let retired = fail_each(&rig, 1).unwrap_or_else(|error| panic!("{scheme:?} with {blocks} blocks: {error}"));
            assert!(retired > 40, "{scheme:?}: only {retired} segments failed");
        }
    }
}

#[test]
fn nor_wears_out_block_by_block_and_stays_readable() {
    for rig in nor_rigs() {
        wear_down_all("NOR", &rig, &RATES, &[LEFT_BY_A_FAILED_WRITE, EMPTIES_FORGOTTEN]);
    }
}

#[test]
fn nand_wears_out_segment_by_segment_and_stays_readable() {
    for rig in nand_rigs() {
        wear_down_all("NAND", &rig, &RATES, &[NO_ROOM_ON_NAND]);
    }
    let bursts = |rig| wear_down_all("NAND", rig, &[RATE_OF_BURSTS], &[]);
    assert!(nand_rigs().iter().map(bursts).sum::<usize>() > 0, "no mount was refused its writes");
}

/// `primary-replacement` is left out of the bursts: it gives up with segments to spare.
#[test]
fn block_mapping_wears_out_block_by_block_and_stays_readable() {
    let mut refused = 0;
    for scheme in schemes() {
        let (what, rig) = (format!("{scheme:?}"), block([512, 8, 24, 1], 1, 96, scheme));
        wear_down_all(&what, &rig, &RATES, &[NO_ROOM_FOR_A_MERGE]);
        if scheme != Scheme::PrimaryReplacement {
            refused += wear_down_all(&what, &rig, &[RATE_OF_BURSTS], &[]);
        }
    }
    assert!(refused > 0, "no mount was refused its writes");
}

/// Fails each operation of a shutdown in turn, writes a page, cuts the power, and sees what the mount takes it for.
fn fail_in_shutdown<R: Rig>(what: &str, rig: &R, seed: u64) {
    let (aged, mut model) = aged(rig);
    // Segments that are empty now come before the mark's when the next write has some erased.
    let (mut ftl, _) = rig.mount(aged).expect("mounts");
    let all = Command::Discard { page: 0, count: rig.logical_pages() };
    model.run(&mut ftl, all).expect("nothing fails");
    model.run(&mut ftl, Command::Flush).expect("nothing fails");
    let chip = R::into_chip(ftl);
    let (mut ftl, _) = rig.mount(chip.clone()).expect("mounts");
    let first = R::chip_of(&ftl).ops();
    ftl.shutdown().expect("nothing fails");
    for op in first..R::chip_of(&ftl).ops() {
        let mut chip = chip.clone();
        chip.set_faults(Faults { seed, fail_ops: vec![op], ..Faults::default() });
        let (mut ftl, _) = rig.mount(chip).expect("mounts");
        ftl.shutdown().expect("a failing mark is none");
        model.clone().run(&mut ftl, Command::Write { page: 0, stream: 0 }).expect("it goes on");
        let mut chip = R::into_chip(ftl);
        chip.power_on();
        let (_, found) = rig.mount(chip).expect("mounts");
        assert!(!found.clean, "{what}, seed {seed}, operation {op}: a mark that failed is believed");
    }
}

#[test]
fn a_mark_that_failed_is_not_believed_after_the_next_write() {
    for seed in 0..8 {
        nand_rigs().iter().for_each(|rig| fail_in_shutdown("NAND", rig, seed));
        for scheme in schemes() {
            fail_in_shutdown(&format!("{scheme:?}"), &block([512, 8, 24, 1], 1, 96, scheme), seed);
        }
    }
}

/// Every program of a write fails, in one block after the other; what they leave does not outlast a discard.
fn discard_what_failed<R: Rig>(rig: &R, seed: u64) -> Result<(), String> {
    let (chip, mut model) = aged(rig);
    let (mut ftl, _) = rig.mount(chip).map_err(|error| error.to_string())?;
    let discard = Command::Discard { page: 5, count: 1 };
    // The write before leaves its block mapping a log block with room.
    for command in [Command::Write { page: 4, stream: 0 }, discard, Command::Flush] {
        model.run(&mut ftl, command).map_err(|error| error.to_string())?;
    }
    R::chip_of_mut(&mut ftl).set_faults(Faults { seed, program_fail_rate: 1.0, ..Faults::default() });
    if model.run(&mut ftl, Command::Write { page: 5, stream: 0 }).is_ok() {
        return Err("a write without a program".into());
    }
    R::chip_of_mut(&mut ftl).set_faults(Faults::default());
    if model.run(&mut ftl, discard).is_ok() {
        // There may be no room to record it.
        let _ = model.run(&mut ftl, Command::Flush);
    }
    let mut chip = R::into_chip(ftl);
    chip.power_on();
    let (mut ftl, _) = rig.mount(chip).map_err(|error| error.to_string())?;
    model.check_held(&mut ftl).map(|_| ())
}

#[test]
fn what_a_failed_write_leaves_is_discarded_with_its_page() {
    for seed in 0..8 {
        let failed = |error| panic!("seed {seed}: {error}");
        nor_rigs().iter().for_each(|rig| discard_what_failed(rig, seed).unwrap_or_else(failed));
        nand_rigs().iter().for_each(|rig| discard_what_failed(rig, seed).unwrap_or_else(failed));
        for scheme in schemes() {
            let rig = block([512, 8, 24, 1], 1, 96, scheme);
            discard_what_failed(&rig, seed).unwrap_or_else(|error| panic!("{scheme:?}, seed {seed}: {error}"));
        }
    }
}
