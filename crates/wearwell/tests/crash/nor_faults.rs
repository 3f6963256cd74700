//! NOR blocks in which a program failed.
//!
//! Such a block takes no other program from then on, so that what it holds looks valid until the block is retired.

use wearwell::page::PageFtl;
use wearwell::page::log::NorLog;
use wearwell::{BlockDevice, FtlError, Inspect, Lpn};
use wearwell_emu::{EmuError, EmuNor};
use wearwell_flash::{BankAddr, BlockAddr, ErrorKind, Nor, NorAddr, NorGeometry};

use crate::canary::{BrokenRig, KEEP_RETIRED, NONE};
use crate::failing::{fail_each, run};
use crate::model::{Command, Model};
use crate::rig::{NorRig, PageRig, nor};

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
