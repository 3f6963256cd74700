//! A driver that gives up on an operation: it may have happened or not.

use wearwell::page::PageFtl;
use wearwell::page::log::NandLog;
use wearwell::{BlockDevice, FtlError, Rng, Sectors, WriteHint};
use wearwell_emu::{EmuChip, EmuNand};
use wearwell_flash::{BankAddr, BlockAddr, ErrorKind, Nand, NandGeometry, PageAddr, ReadReport};

use crate::model::{Command, Model};
use crate::rig::{NandRig, PageRig, checkpointed, nand};
use crate::storm::seeds;

/// A chip behind a bus that times out once in so many operations; half of those have happened.
struct TimesOut {
    chip: EmuNand,
    rng: Rng,
    once_in: u32,
}

impl TimesOut {
    fn operate(&mut self, operation: impl FnOnce(&mut EmuNand) -> Result<(), ErrorKind>) -> Result<(), ErrorKind> {
        if self.rng.below(self.once_in) > 0 {
            return operation(&mut self.chip);
        }
        if self.rng.below(2) == 0 {
            operation(&mut self.chip)?;
        }
        Err(ErrorKind::Other)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes by value")]
fn kind(error: impl wearwell_flash::ChipError) -> ErrorKind {
    error.kind()
}

impl Nand for TimesOut {
    type Error = ErrorKind;

    fn geometry(&self) -> NandGeometry {
        self.chip.geometry()
    }
    fn read(&mut self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        self.chip.read(page, data, spare).map_err(kind)
    }
    fn program(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Result<(), ErrorKind> {
        self.operate(|chip| chip.program(page, data, spare).map_err(kind))
    }
    fn copy(&mut self, from: PageAddr, to: PageAddr, spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        let mut report = ReadReport::default();
        self.operate(|chip| chip.copy(from, to, spare).map_err(kind).map(|copied| report = copied))?;
        Ok(report)
    }
    fn erase(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        self.operate(|chip| chip.erase(block).map_err(kind))
    }
    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, ErrorKind> {
        self.chip.is_bad(block).map_err(kind)
    }
    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        self.chip.mark_bad(block).map_err(kind)
    }
    fn is_erasing(&mut self, die: BankAddr) -> bool {
        self.chip.is_erasing(die)
    }
}

/// Pages have one sector: the model does not follow parts written behind a part that failed.
///
/// Commands go on past each time-out; power cycles without a word come between.
pub(crate) fn go_past(rig: &NandRig, seed: u64) -> Result<(), String> {
    let log = |chip| NandLog::new(chip, rig.profile().stripe).expect("the chip takes the layout");
    let mut rng = Rng::new(seed);
    let chip = TimesOut { chip: rig.chip(), rng: Rng::new(seed + 1), once_in: u32::MAX };
    let mut ftl = PageFtl::format(log(chip), (), rig.config()).map_err(|error| error.to_string())?;
    let mut model = Model::new(rig.config().logical_pages, ftl.page_bytes() / 512);
    model.fill(&mut ftl);
    for cycle in 0..20 {
        ftl.log_mut().chip_mut().once_in = 60;
        for _ in 0..200 {
            let command = if rng.below(60) == 0 {
                Command::Shutdown
            } else {
                Command::random(&mut rng, rig.config().logical_pages, ftl.page_bytes() / 512)
            };
            match model.run(&mut ftl, command) {
                Ok(()) | Err(FtlError::Chip(ErrorKind::Other)) => {}
                Err(error) => return Err(format!("seed {seed}, cycle {cycle}: {command:?}: {error}")),
            }
        }
        model.check_exact(&mut ftl).map_err(|error| format!("seed {seed}, cycle {cycle}: {error}"))?;
        let mut chip = ftl.into_log().into_chip();
        if chip.chip.violations() > 0 {
            return Err(format!("seed {seed}, cycle {cycle}: the chip's contract was broken"));
        }
        chip.once_in = u32::MAX;
        chip.chip.power_on();
        (ftl, _) = PageFtl::mount(log(chip), (), rig.config()).map_err(|error| error.to_string())?;
        model.check_after_cut(&mut ftl).map_err(|error| format!("seed {seed}, mount {cycle}: {error}"))?;
    }
    Ok(())
}

/// The page was programmed again; an erase that timed out lost its segment.
#[test]
fn what_may_have_been_programmed_is_not_programmed_again() {
    let rigs = [
        nand([512, 16, 16, 1], 1, 1, 90, "single"),
        nand([512, 12, 16, 1], 1, 3, 53, "hot-cold-readonly"),
        nand([512, 12, 96, 4], 4, 3, 143, "by-stream"),
    ];
    for seed in 0..seeds() {
        for rig in &rigs {
            go_past(rig, seed).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

/// Of a write that failed there may be a copy that the map does not know. A checkpoint did not say so, a discard found
/// nothing to discard, and the copy came back after a cut.
#[test]
fn a_checkpoint_does_not_hide_a_write_that_may_have_happened() {
    let rig = checkpointed(nand([512, 16, 40, 1], 1, 1, 300, "single"));
    let log = |chip| NandLog::new(chip, 1).expect("the chip takes the layout").with_checkpoint();
    const PAGE: Sectors = Sectors { start: 7, count: 1 };
    for seed in 0..10 {
        let chip = TimesOut { chip: rig.chip(), rng: Rng::new(seed), once_in: u32::MAX };
        let mut ftl = PageFtl::format(log(chip), (), rig.config()).expect("nothing fails");
        ftl.write(Sectors { start: 8, count: 1 }, &[1; 512], WriteHint::NONE).expect("nothing fails");
        ftl.log_mut().chip_mut().once_in = 1;
        assert!(ftl.write(PAGE, &[2; 512], WriteHint::NONE).is_err(), "it times out");
        ftl.log_mut().chip_mut().once_in = u32::MAX;
        ftl.shutdown().expect("nothing fails");
        let again = |ftl: PageFtl<NandLog<TimesOut>>| {
            PageFtl::mount(log(ftl.into_log().into_chip()), (), rig.config()).expect("mounts").0
        };
        ftl = again(ftl);
        ftl.write(Sectors { start: 9, count: 1 }, &[3; 512], WriteHint::NONE).expect("nothing fails");
        ftl.discard(PAGE).and_then(|()| ftl.flush()).expect("nothing fails");
        ftl = again(ftl);
        let mut page = [0; 512];
        ftl.read(PAGE, &mut page).expect("nothing fails");
        assert_eq!(page, [0; 512], "seed {seed}: it was discarded");
    }
}
