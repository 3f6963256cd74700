//! NOR blocks in which a program failed.
//!
//! Such a block takes no other program from then on, so that what it holds looks valid until the block is retired.

use wearwell::page::PageFtl;
use wearwell::page::log::NorLog;
use wearwell::{BlockDevice, CleaningTrigger, FtlError, Inspect, Lookup, Lpn, Rng};
use wearwell_emu::{CutOutcome, EmuChip, EmuError, EmuNor, Faults, PowerCut};
use wearwell_flash::{BankAddr, BlockAddr, ErrorKind, Nor, NorAddr, NorGeometry};

use crate::canary::{Defect, broken};
use crate::failing::{fail_each, run};
use crate::model::{Command, Model};
use crate::rig::{NorRig, PageRig, Rig, nor};

#[test]
fn a_block_that_is_retired_and_still_believed_is_noticed() {
    let rig = |defect| broken(nor(8, 14, 2, 48, "single"), defect);
    assert_eq!(fail_each(&rig(Defect::None), 1).map(|_| ()), Ok(()), "the wrapper itself breaks nothing");
    let caught = (1..6).filter(|&seed| fail_each(&rig(Defect::KeepRetired), seed).is_err()).count();
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
    model.fill(&mut ftl);
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

/// The pages of a device on 28 blocks of 6 slots, 27 of which are needed.
const MOST_PAGES: u32 = 144;

/// Runs writes until the cut that is armed, and mounts.
fn write_until_cut(
    rig: &NorRig,
    mut ftl: <NorRig as Rig>::Ftl,
    model: &mut Model,
    rng: &mut Rng,
    what: &str,
) -> <NorRig as Rig>::Ftl {
    while !NorRig::chip_of(&ftl).is_off() {
        let written = model.run(&mut ftl, Command::Write { page: rng.below(MOST_PAGES), stream: 0 });
        assert!(written.is_ok() || NorRig::chip_of(&ftl).is_off(), "{what}: {written:?}");
    }
    let mut chip = NorRig::into_chip(ftl);
    chip.power_on();
    let (mut ftl, _) = rig.mount(chip).unwrap_or_else(|error| panic!("{what}: {error}"));
    model.check_after_cut(&mut ftl).unwrap_or_else(|error| panic!("{what}: {error}"));
    ftl
}

/// A device that is as full as it may be. Each of four cuts costs a slot, and leaves a block that can be continued.
/// Then any operation fails, and a cut comes some operations later. The block that fails is found with the fewest
/// entries, and takes nothing. The room is in the others.
#[test]
fn what_cuts_have_left_open_has_room_when_a_block_fails() {
    let mut rig = nor(6, 28, 2, MOST_PAGES, "single");
    rig.0.policies.when = CleaningTrigger::parse("watermark:1:1").expect("listed");
    let (mut ftl, mut model, mut rng) = (rig.format(), Model::new(MOST_PAGES, 1), Rng::new(0));
    assert_eq!(ftl.limits().needed_segments, 27, "of 28");
    // One page holds nothing.
    for page in (1..MOST_PAGES).chain([25, 11, 18, 21, 1, 4, 15, 16]) {
        model.run(&mut ftl, Command::Write { page, stream: 0 }).expect("nothing fails");
    }
    for after in [2, 1, 3, 3] {
        let chip = NorRig::chip_of_mut(&mut ftl);
        let outcome = CutOutcome::Seeded { seed: rng.next_u64() };
        chip.arm(Some(PowerCut { at_op: chip.ops() + after, outcome }));
        ftl = write_until_cut(&rig, ftl, &mut model, &mut rng, "before");
    }
    let mut full = NorRig::into_chip(ftl);
    full.power_on();
    for (fails, cut) in (0..20).flat_map(|fails| (0..30).map(move |cut| (fails, cut))) {
        let what = format!("operation {fails} fails, cut {cut} later");
        let (mut model, mut rng) = (model.clone(), rng.clone());
        let (mut ftl, _) = rig.mount(full.clone()).unwrap_or_else(|error| panic!("{what}: {error}"));
        let chip = NorRig::chip_of_mut(&mut ftl);
        let fails = chip.ops() + fails;
        chip.set_faults(Faults { fail_ops: vec![fails], ..Faults::default() });
        chip.arm(Some(PowerCut { at_op: fails + 1 + cut, outcome: CutOutcome::Seeded { seed: cut } }));
        let mut ftl = write_until_cut(&rig, ftl, &mut model, &mut rng, &what);
        for page in 0..4 {
            let written = model.run(&mut ftl, Command::Write { page, stream: 0 });
            written.unwrap_or_else(|error| panic!("{what}, mounted: {error}"));
        }
    }
}
