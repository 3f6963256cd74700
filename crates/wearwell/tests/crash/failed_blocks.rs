//! Blocks that have failed, as a mount finds them that no mark tells of it: what they hold must not come back, and what
//! a failed program has left may fade.

use wearwell::FtlError;
use wearwell::logblock::{BlockFtl, TaggedPages};
use wearwell_emu::{CutOutcome, EmuChip, EmuNand, Faults, OpKind, PowerCut};
use wearwell_flash::{BankAddr, BlockAddr, ErrorKind, Nand, NandGeometry, PageAddr, ReadReport};

use crate::block::{BlockRig, block};
use crate::block_faults::schemes;
use crate::model::{Command, Model};

/// A chip, and what fails on it.
struct Failing {
    chip: EmuNand,
    takes_marks: bool,
    /// The page of the last program that failed.
    failed: Option<PageAddr>,
}

impl Failing {
    fn of(rig: &BlockRig, takes_marks: bool) -> Self {
        Self { chip: rig.chip(), takes_marks, failed: None }
    }

    fn note<T>(&mut self, page: PageAddr, done: Result<T, ErrorKind>) -> Result<T, ErrorKind> {
        if matches!(done, Err(ErrorKind::ProgramFailed)) {
            self.failed = Some(page);
        }
        done
    }
}

fn kind<T>(done: Result<T, impl wearwell_flash::ChipError>) -> Result<T, ErrorKind> {
    done.map_err(|error| error.kind())
}

impl Nand for Failing {
    type Error = ErrorKind;

    fn geometry(&self) -> NandGeometry {
        self.chip.geometry()
    }
    fn read(&mut self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        kind(self.chip.read(page, data, spare))
    }
    fn program(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Result<(), ErrorKind> {
        let done = kind(self.chip.program(page, data, spare));
        self.note(page, done)
    }
    fn copy(&mut self, from: PageAddr, to: PageAddr, spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        let done = kind(self.chip.copy(from, to, spare));
        self.note(to, done)
    }
    fn erase(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        kind(self.chip.erase(block))
    }
    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, ErrorKind> {
        kind(self.chip.is_bad(block))
    }
    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        if self.takes_marks { kind(self.chip.mark_bad(block)) } else { Err(ErrorKind::ProgramFailed) }
    }
    fn is_erasing(&mut self, die: BankAddr) -> bool {
        self.chip.is_erasing(die)
    }
}

type Engine = BlockFtl<TaggedPages<Failing>>;

fn pages(chip: Failing) -> TaggedPages<Failing> {
    TaggedPages::new(chip, 1).expect("the chip takes the layout")
}

/// Gives a command. A mark that fails may end it; then each of its pages is old or new.
fn give(ftl: &mut Engine, model: &mut Model, command: Command, what: &str) {
    let done = model.run(ftl, command);
    let is_allowed = matches!(done, Ok(()) | Err(FtlError::Chip(ErrorKind::ProgramFailed | ErrorKind::EraseFailed)));
    assert!(is_allowed, "{what}: {command:?}: {done:?}");
}

/// An operation fails in a few writes to a logical block and the discard of all of that, which stays discarded. Returns
/// whether it was one of this kind.
fn discard_what_failed(rig: &BlockRig, op: usize, seed: u64, kind: OpKind) -> bool {
    let what = format!("{:?}, operation {op}, seed {seed}", rig.config.scheme);
    let mut ftl = BlockFtl::format(pages(Failing::of(rig, false)), (), rig.config).expect("a fresh chip");
    let mut model = Model::new(rig.config.logical_pages, 1);
    model.fill(&mut ftl);
    let chip = &mut ftl.pages_mut().chip_mut().chip;
    chip.set_faults(Faults { seed, fail_ops: vec![chip.ops() + op as u64], ..Faults::default() });
    chip.start_trace();
    for page in [0, 1, 0, 2, 0, 1, 3, 0] {
        give(&mut ftl, &mut model, Command::Write { page, stream: 0 }, &what);
    }
    let count = rig.profile.pages_per_block;
    for command in [Command::Discard { page: 0, count }, Command::Flush] {
        give(&mut ftl, &mut model, command, &what);
    }
    let chip = ftl.into_pages().into_chip();
    let is_wanted = chip.chip.trace().get(op) == Some(&kind);
    if is_wanted {
        mounted(rig, chip, &mut model, &what);
    }
    is_wanted
}

/// Lets each operation of a kind fail by itself, more than `least` of them under each scheme.
fn discard_what_each_left(kind: OpKind, least: usize) {
    for scheme in schemes() {
        let rig = block([512, 4, 24, 1], 1, 24, scheme);
        let draws = (0..40).flat_map(|op| (0..8).map(move |seed| (op, seed)));
        let failed = draws.filter(|&(op, seed)| discard_what_failed(&rig, op, seed, kind)).count();
        assert!(failed > least, "{scheme:?}: only {failed} have failed");
    }
}

/// The failed block cannot be erased, and the next mount believes what it holds: a commit has to say that it is older.
#[test]
fn what_a_block_without_a_mark_holds_stays_discarded() {
    discard_what_each_left(OpKind::Program, 60);
}

/// The erase of the discarded block fails, and its mark: a commit has to say that what it holds is older.
#[test]
fn what_a_block_holds_that_could_not_be_erased_stays_discarded() {
    discard_what_each_left(OpKind::Erase, 10);
}

/// Mounts after a power cycle, and checks what every page holds.
fn mounted(rig: &BlockRig, mut chip: Failing, model: &mut Model, what: &str) -> Engine {
    chip.chip.power_on();
    chip.chip.set_faults(Faults::default());
    let mounted = BlockFtl::mount(pages(chip), (), rig.config);
    let (mut ftl, _) = mounted.unwrap_or_else(|error| panic!("{what}: {error}"));
    model.check_after_cut(&mut ftl).unwrap_or_else(|error| panic!("{what}: {error}"));
    ftl
}

/// A program of a write fails, and a cut follows before the block is marked, or behind that. What the program has left
/// fades behind the next mount. Returns whether it was there until then.
fn fade_what_failed(rig: &BlockRig, streams: u16, [fails, cut, seed]: [u64; 3]) -> bool {
    let what = format!("{:?}, {streams} streams, {fails} fails, cut {cut} later, seed {seed}", rig.config.scheme);
    let mut ftl = BlockFtl::format(pages(Failing::of(rig, true)), (), rig.config).expect("a fresh chip");
    let mut model = Model::new(rig.config.logical_pages, 1);
    for page in 0..11 {
        let command = Command::Write { page: page * 7 % rig.config.logical_pages, stream: page as u16 % streams };
        model.run(&mut ftl, command).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    let chip = &mut ftl.pages_mut().chip_mut().chip;
    let at_op = chip.ops() + fails;
    chip.set_faults(Faults { seed, fail_ops: vec![at_op], ..Faults::default() });
    chip.arm(Some(PowerCut { at_op: at_op + 1 + cut, outcome: CutOutcome::Seeded { seed } }));
    let done = model.run(&mut ftl, Command::Write { page: rig.config.logical_pages - 1, stream: 0 });
    let mut chip = ftl.into_pages().into_chip();
    assert!(done.is_ok() || chip.chip.is_off(), "{what}: {done:?}");
    chip.chip.arm(None);
    let mut chip = mounted(rig, chip, &mut model, &what).into_pages().into_chip();
    let Some(failed) = chip.failed else { return false };
    let is_there = chip.chip.decay(failed);
    mounted(rig, chip, &mut model, &what);
    is_there
}

/// Other log blocks are padded before the block of the failed page is marked: their padding is newer, and the failed
/// page may be the last one all the same.
#[test]
fn what_a_failed_program_has_left_may_fade() {
    for scheme in schemes() {
        let mut rig = block([512, 12, 30, 1], 2, 150, scheme);
        rig.config.log_blocks = 4;
        let mut there = 0;
        for streams in 1..4 {
            for seed in 0..4 {
                let faults = (0..3).flat_map(|fails| (0..30).map(move |cut| [fails, cut, seed]));
                there += faults.filter(|&faults| fade_what_failed(&rig, streams, faults)).count();
            }
        }
        assert!(there > 10, "{scheme:?}: what failed was there {there} times");
    }
}
