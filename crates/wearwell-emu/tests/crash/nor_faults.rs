//! Programs that fail on NOR, whose layout changes flags in place: alone, followed by power cuts, and until the chip is
//! worn out.
//!
//! A block in which a program failed takes no other from then on, so that what it holds looks valid until the block is
//! retired.

use wearwell::page::PageFtl;
use wearwell::page::log::NorLog;
use wearwell::{Ftl, FtlError, Lpn, Rng};
use wearwell_emu::{CutOutcome, EmuChip, EmuError, EmuNor, Faults, PowerCut};
use wearwell_flash::{BankAddr, BlockAddr, ErrorKind, Nor, NorAddr, NorGeometry};

use crate::canary::{BrokenRig, KEEP_RETIRED, NONE};
use crate::model::{Command, Model};
use crate::rig::{NorRig, PageRig, Rig, nor};

/// Commands of a run in which an operation fails.
const COMMANDS: u32 = 40;
/// Operations between the one that fails and the one that is cut.
const CUTS_AFTER: [u64; 9] = [0, 1, 2, 3, 5, 8, 14, 25, 60];

/// A random command, with more discards than others have.
fn command(rng: &mut Rng, pages: u32) -> Command {
    let page = rng.below(pages);
    match rng.below(8) {
        0..=1 => Command::Discard { page, count: (1 + rng.below(4)).min(pages - page) },
        2 => Command::Clean,
        _ => Command::Write { page: page / (1 + rng.below(3)), stream: 0 },
    }
}

/// Runs commands to the end, or to an error, which is returned.
fn run<F: Ftl>(ftl: &mut F, model: &mut Model, seed: u64, commands: u32) -> Result<(), FtlError> {
    let mut rng = Rng::new(seed);
    (0..commands).try_for_each(|_| model.run(ftl, command(&mut rng, model.pages())))
}

/// A chip that was filled and then written to for a while.
fn aged<R: Rig>(rig: &R) -> (R::Chip, Model) {
    let mut ftl = rig.format();
    let pages = rig.logical_pages();
    let mut model = Model::new(pages, 1);
    for page in 0..pages {
        model.run(&mut ftl, Command::Write { page, stream: 0 }).expect("the fill fits");
    }
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
    match run(&mut ftl, &mut model, seed, COMMANDS) {
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

/// The first error that one of many runs ends with: every operation fails in one of them.
fn fail_each<R: Rig>(rig: &R, seed: u64) -> Result<u64, String> {
    let aged = aged(rig);
    let first = aged.0.ops();
    let (mut ftl, _) = rig.mount(aged.0.clone()).map_err(|error| error.to_string())?;
    run(&mut ftl, &mut aged.1.clone(), seed, COMMANDS).map_err(|error| error.to_string())?;
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

fn rigs() -> [NorRig; 3] {
    [nor(8, 14, 2, 48, "single"), nor(10, 11, 1, 40, "separate-gc"), nor(8, 20, 4, 70, "hot-cold-readonly")]
}

#[test]
fn a_program_that_fails_on_nor_costs_its_block_and_nothing_else() {
    for (rig, seed) in rigs().iter().zip(1..) {
        let retired = fail_each(rig, seed).unwrap_or_else(|error| panic!("{error}"));
        assert!(retired > 100, "only {retired} segments failed");
    }
}

/// A device that is worn out takes a command now and then; what it took, and what it held, is there after the next mount.
/// What failed may be there or not.
fn outlive<R: Rig>(rig: &R, mut ftl: R::Ftl, model: &mut Model, seed: u64) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    for _ in 0..4 * COMMANDS {
        // Whatever it says, it may say.
        let _ = model.run(&mut ftl, command(&mut rng, rig.logical_pages()));
    }
    if model.run(&mut ftl, Command::Flush).is_err() {
        return Err("nothing has to be written for a flush".into());
    }
    model.check_exact(&mut ftl)?;
    let mut chip = R::into_chip(ftl);
    chip.power_on();
    let (mut ftl, _) = rig.mount(chip).map_err(|error| format!("worn out: {error}"))?;
    model.check_after_cut(&mut ftl).map_err(|error| format!("worn out and mounted: {error}"))
}

/// Programs fail at random, and the power is cut at random, until no good block is left. Then all can still be read, also
/// after the next mount.
fn wear_down<R: Rig>(rig: &R, seed: u64, rate: f64) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let (mut chip, mut model) = aged(rig);
    chip.set_faults(Faults { seed, program_fail_rate: rate, erase_fail_rate: rate, ..Faults::default() });
    for cycle in 0..400 {
        let what = |error| format!("seed {seed}, cycle {cycle}: {error}");
        chip.power_on();
        let (mut ftl, _) = rig.mount(chip).map_err(|error| what(error.to_string()))?;
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
            return outlive(rig, ftl, &mut model, seed).map_err(what);
        }
        chip = R::into_chip(ftl);
    }
    Err(format!("seed {seed}: nothing wears out"))
}

#[test]
fn nor_wears_out_block_by_block_and_stays_readable() {
    for rig in rigs() {
        for seed in 0..crate::storm::seeds() {
            for rate in [0.0003, 0.002] {
                wear_down(&rig, seed, rate).unwrap_or_else(|error| panic!("rate {rate}: {error}"));
            }
        }
    }
}

fn broken<const DEFECT: u8>() -> BrokenRig<NorRig, DEFECT> {
    BrokenRig(nor(8, 14, 2, 48, "single"))
}

#[test]
fn a_block_that_is_retired_and_still_believed_is_noticed() {
    assert_eq!(fail_each(&broken::<NONE>(), 1).map(|_| ()), Ok(()), "the wrapper itself breaks nothing");
    let caught = (1..6).filter(|&seed| fail_each(&broken::<KEEP_RETIRED>(), seed).is_err()).count();
    assert!(caught > 2, "caught by only {caught} of 5 seeds");
}

/// A chip with a block of which no program changes a single bit, and no erase.
struct Frozen {
    chip: EmuNor,
    block: Option<BlockAddr>,
}

impl Nor for Frozen {
    type Error = EmuError;

    fn geometry(&self) -> NorGeometry {
        self.chip.geometry()
    }
    fn read(&mut self, at: NorAddr, buf: &mut [u8]) -> Result<(), EmuError> {
        self.chip.read(at, buf)
    }
    fn program(&mut self, at: NorAddr, bytes: &[u8]) -> Result<(), EmuError> {
        if Some(at.block) == self.block { Err(EmuError::NorProgramFailed(at)) } else { self.chip.program(at, bytes) }
    }
    fn erase_start(&mut self, block: BlockAddr) -> Result<(), EmuError> {
        assert_ne!(Some(block), self.block, "a block whose header cannot be cleared is not erased");
        self.chip.erase_start(block)
    }
    fn erase_ready(&mut self, bank: BankAddr) -> bool {
        self.chip.erase_ready(bank)
    }
    fn erase_finish(&mut self, bank: BankAddr) -> Result<(), EmuError> {
        self.chip.erase_finish(bank)
    }
}

/// What lies in such a block cannot be disowned: nothing is changed any more that it could contradict.
#[test]
fn a_block_that_cannot_even_be_retired_makes_the_device_read_only() {
    let rig = nor(8, 14, 2, 48, "single");
    let log = |chip| NorLog::new(chip, 8, 512).expect("the chip takes the layout");
    let new = log(Frozen { chip: rig.chip(), block: None });
    let mut ftl = PageFtl::format(new, (), rig.config()).expect("a fresh chip can be formatted");
    let mut model = Model::new(48, 1);
    for page in 0..48 {
        model.run(&mut ftl, Command::Write { page, stream: 0 }).expect("the fill fits");
    }
    ftl.log_mut().chip_mut().block = Some(BlockAddr(ftl.lookup(Lpn(3)).0 / 8));
    let refused = Err(FtlError::Chip(ErrorKind::ProgramFailed));
    for round in 0..3 {
        let mut attempted = model.clone();
        assert_eq!(attempted.run(&mut ftl, Command::Discard { page: 3, count: 1 }), refused, "round {round}");
        assert_eq!(attempted.run(&mut ftl, Command::Write { page: 4, stream: 0 }), refused, "round {round}");
        assert_eq!(ftl.flush(), Ok(()), "nothing waits");
        model.check_exact(&mut ftl).unwrap_or_else(|error| panic!("round {round}: {error}"));
        ftl = PageFtl::mount(ftl.into_log(), (), rig.config()).expect("mounts").0;
        model.check_exact(&mut ftl).unwrap_or_else(|error| panic!("round {round}, mounted: {error}"));
    }
    let mut chip = ftl.into_log().into_chip();
    chip.block = None;
    let mut ftl = PageFtl::mount(log(chip), (), rig.config()).expect("mounts").0;
    run(&mut ftl, &mut model, 1, 200).expect("it is as good as new");
    model.check_exact(&mut ftl).expect("all there");
}
