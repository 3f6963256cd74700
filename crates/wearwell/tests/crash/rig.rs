//! Engines on emulated chips, for either kind of flash.

use wearwell::page::log::{Log, NandLog, NorLog};
use wearwell::page::{MountError, MountReport, PageConfig, PageFtl, Policies};
use wearwell::{BlockDevice, CleaningTrigger, Inspect, Placement, Reclamation, Rng, VictimPolicy, WearLeveling};
use wearwell_emu::{ChipProfile, CutOutcome, EmuChip, EmuNand, EmuNor, Faults, OpKind};

use crate::model::Command;

/// An engine on a chip.
pub(crate) trait Rig {
    type Chip: EmuChip + Clone;
    type Ftl: BlockDevice + Inspect;
    fn format(&self) -> Self::Ftl;
    fn mount_or_return(&self, chip: Self::Chip) -> Result<(Self::Ftl, MountReport), (Self::Chip, MountError)>;
    fn chip_of(ftl: &Self::Ftl) -> &Self::Chip;
    fn chip_of_mut(ftl: &mut Self::Ftl) -> &mut Self::Chip;
    fn into_chip(ftl: Self::Ftl) -> Self::Chip;
    fn logical_pages(&self) -> u32;
    fn paired_pages(&self) -> u32;

    /// Gives the engine other policies, if it has any. Some that do not fit change nothing.
    fn set_policies(&self, _ftl: &mut Self::Ftl, _policies: Policies) {}

    /// A random command of the kind that makes this engine work.
    fn command(&self, rng: &mut Rng, sectors_per_page: u32) -> Command {
        Command::random(rng, self.logical_pages(), sectors_per_page)
    }

    fn mount(&self, chip: Self::Chip) -> Result<(Self::Ftl, MountReport), MountError> {
        self.mount_or_return(chip).map_err(|(_, error)| error)
    }
}

/// The page-mapped engine over a layout on a kind of chip.
pub(crate) trait PageRig {
    type Chip: EmuChip + Clone;
    type Log: Log;
    fn chip(&self) -> Self::Chip;
    fn log(&self, chip: Self::Chip) -> Self::Log;
    fn under(log: &Self::Log) -> &Self::Chip;
    fn under_mut(log: &mut Self::Log) -> &mut Self::Chip;
    fn take_chip(log: Self::Log) -> Self::Chip;
    fn config(&self) -> PageConfig;
    fn profile(&self) -> &ChipProfile;
}

impl<R: PageRig> Rig for R {
    type Chip = R::Chip;
    type Ftl = PageFtl<R::Log>;
    fn format(&self) -> Self::Ftl {
        PageFtl::format(self.log(self.chip()), (), self.config()).expect("a fresh chip can be formatted")
    }
    fn mount_or_return(&self, chip: Self::Chip) -> Result<(Self::Ftl, MountReport), (Self::Chip, MountError)> {
        let mounted = PageFtl::mount_or_return(self.log(chip), (), self.config());
        mounted.map_err(|(log, error)| (R::take_chip(log), error))
    }
    fn chip_of(ftl: &Self::Ftl) -> &Self::Chip {
        R::under(ftl.log())
    }
    fn chip_of_mut(ftl: &mut Self::Ftl) -> &mut Self::Chip {
        R::under_mut(ftl.log_mut())
    }
    fn into_chip(ftl: Self::Ftl) -> Self::Chip {
        R::take_chip(ftl.into_log())
    }
    fn set_policies(&self, ftl: &mut Self::Ftl, policies: Policies) {
        let _does_not_fit = ftl.set_policies(policies);
    }
    fn logical_pages(&self) -> u32 {
        self.config().logical_pages
    }
    fn paired_pages(&self) -> u32 {
        self.profile().paired_pages
    }
}

/// A chip's shape and the engine's settings.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) profile: ChipProfile,
    pub(crate) logical_pages: u32,
    pub(crate) policies: Policies,
    pub(crate) faults: Faults,
    /// The engine's.
    pub(crate) seed: u64,
    /// Erases that a block is rated for.
    pub(crate) endurance: u32,
    /// NAND: a clean shutdown leaves a checkpoint.
    pub(crate) has_checkpoint: bool,
}

pub(crate) struct NandRig(pub(crate) Setup);
pub(crate) struct NorRig(pub(crate) Setup);

fn config(setup: &Setup) -> PageConfig {
    PageConfig {
        logical_pages: setup.logical_pages,
        policies: setup.policies,
        seed: setup.seed,
        endurance: setup.endurance,
    }
}

impl PageRig for NandRig {
    type Chip = EmuNand;
    type Log = NandLog<EmuNand>;

    fn chip(&self) -> EmuNand {
        EmuNand::in_memory(&self.0.profile, self.0.faults.clone()).expect("a valid profile")
    }
    fn log(&self, chip: EmuNand) -> Self::Log {
        let log = NandLog::new(chip, self.0.profile.stripe).expect("the chip takes the layout");
        if self.0.has_checkpoint { log.with_checkpoint() } else { log }
    }
    fn under(log: &Self::Log) -> &EmuNand {
        log.chip()
    }
    fn under_mut(log: &mut Self::Log) -> &mut EmuNand {
        log.chip_mut()
    }
    fn take_chip(log: Self::Log) -> EmuNand {
        log.into_chip()
    }
    fn config(&self) -> PageConfig {
        config(&self.0)
    }
    fn profile(&self) -> &ChipProfile {
        &self.0.profile
    }
}

impl PageRig for NorRig {
    type Chip = EmuNor;
    type Log = NorLog<EmuNor>;

    fn chip(&self) -> EmuNor {
        EmuNor::in_memory(&self.0.profile, self.0.faults.clone()).expect("a valid profile")
    }
    fn log(&self, chip: EmuNor) -> Self::Log {
        NorLog::new(chip, self.0.profile.pages_per_block, self.0.profile.page_bytes).expect("the chip takes the layout")
    }
    fn under(log: &Self::Log) -> &EmuNor {
        log.chip()
    }
    fn under_mut(log: &mut Self::Log) -> &mut EmuNor {
        log.chip_mut()
    }
    fn take_chip(log: Self::Log) -> EmuNor {
        log.into_chip()
    }
    fn config(&self) -> PageConfig {
        config(&self.0)
    }
    fn profile(&self) -> &ChipProfile {
        &self.0.profile
    }
}

/// A small NAND chip: `shape` is page bytes, pages a block, blocks, dies.
pub(crate) fn nand(shape: [u32; 4], stripe: u32, paired_pages: u32, logical_pages: u32, place: &str) -> NandRig {
    let [page, pages, blocks, dies] = shape;
    let mut profile =
        ChipProfile::from_geometry_str(&format!("geometry:{page}:{pages}:{blocks}:{dies}")).expect("a geometry");
    profile.stripe = stripe;
    profile.paired_pages = paired_pages;
    NandRig(setup(profile, logical_pages, place))
}

/// A small NOR chip, whose slots are 512 bytes.
pub(crate) fn nor(slots: u32, blocks: u32, banks: u32, logical_pages: u32, place: &str) -> NorRig {
    let text = format!(
        "description = 'a small NOR chip'\nsource = 'tests'\nkind = 'nor'\npage_bytes = 512\n\
         pages_per_block = {slots}\nblock_bytes = {}\nblocks = {blocks}\nbanks = {banks}\n\
         logical_bytes = {}\nendurance_cycles = 100000\n",
        slots * 512 + 512,
        logical_pages * 512
    );
    let profile = ChipProfile::from_toml_str("small-nor", &text).expect("a profile");
    NorRig(setup(profile, logical_pages, place))
}

fn setup(profile: ChipProfile, logical_pages: u32, place: &str) -> Setup {
    let (policies, faults) = (policies(place), Faults::default());
    Setup { profile, logical_pages, policies, faults, seed: 1, endurance: 100_000, has_checkpoint: false }
}

fn policies(place: &str) -> Policies {
    Policies {
        when: CleaningTrigger::DEFAULT,
        which: VictimPolicy::Greedy,
        place: Placement::parse(place).expect("a placement"),
        wear: WearLeveling::parse("none").expect("a wear policy"),
        reclaim: Reclamation::AtOnce,
    }
}

/// The same chip, without spare bytes: its tags lie in tag pages.
pub(crate) fn spareless(mut rig: NandRig) -> NandRig {
    rig.0.profile.spare_bytes = 0;
    rig
}

/// The same chip, with three blocks more for a checkpoint.
pub(crate) fn checkpointed(mut rig: NandRig) -> NandRig {
    rig.0.profile.blocks += 3 * rig.0.profile.banks;
    rig.0.has_checkpoint = true;
    rig
}

/// The same chip, whose engine keeps empty segments for a while.
pub(crate) fn keeping(mut rig: NandRig) -> NandRig {
    rig.0.policies.reclaim = Reclamation::parse("proactive:0.1:0.3:0").expect("listed");
    rig
}

/// Every outcome of a cut during an operation of this kind.
pub(crate) fn outcomes(kind: OpKind, paired_pages: u32) -> &'static [CutOutcome] {
    kind.outcomes(paired_pages)
}
