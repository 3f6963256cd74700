//! The same proofs for block mapping: a merge, a switch or a migration that is cut is finished or undone.

use wearwell::logblock::{BlockConfig, BlockFtl, Costs, RecycleSpec, Scheme, TaggedPages};
use wearwell::page::{MountError, MountReport};
use wearwell::{Rng, WearSpec};
use wearwell_emu::{ChipProfile, EmuNand, Faults};
use wearwell_flash::ProgramOrder;

use crate::exhaustive::prove;
use crate::model::Command;
use crate::rig::{Rig, nand};
use crate::storm::{seeds, storm};

/// Block mapping over pages that may be broken on purpose.
pub(crate) struct BlockRig {
    pub(crate) profile: ChipProfile,
    pub(crate) config: BlockConfig,
    pub(crate) faults: Faults,
}

/// A small chip: `shape` is page bytes, pages a block, blocks, dies.
pub(crate) fn block(shape: [u32; 4], paired_pages: u32, logical_pages: u32, scheme: Scheme) -> BlockRig {
    let wear = WearSpec::parse("static-threshold:4").expect("listed");
    let config =
        BlockConfig { logical_pages, scheme, log_blocks: 3, wear, costs: Costs::LEE_TABLE_1, endurance: 100_000 };
    BlockRig {
        profile: nand(shape, 1, paired_pages, logical_pages, "single").0.profile,
        config,
        faults: Faults::default(),
    }
}

pub(crate) fn log_block(recycle: &str) -> Scheme {
    Scheme::LogBlock(RecycleSpec::parse(recycle).expect("listed"))
}

impl BlockRig {
    pub(crate) fn chip(&self) -> EmuNand {
        EmuNand::in_memory(&self.profile, self.faults.clone()).expect("a valid profile")
    }

    pub(crate) fn pages(&self, chip: EmuNand) -> TaggedPages<EmuNand> {
        TaggedPages::new(chip, self.profile.stripe).expect("the chip takes the layout")
    }

    /// Half of all commands are random, a sixth writes a run that begins with a block, so that log blocks get in order;
    /// the rest writes few pages again and again, so that they are migrated.
    pub(crate) fn command(&self, rng: &mut Rng, sectors_per_page: u32) -> Command {
        let (pages, per_block) = (self.config.logical_pages, self.profile.pages_per_block);
        match rng.below(6) {
            0 => {
                let page = rng.below(pages / per_block) * per_block;
                let count = if rng.below(2) == 0 { per_block } else { 1 + rng.below(per_block) };
                Command::WriteRun { page, count: count.min(pages - page) }
            }
            1 | 2 => Command::Write { page: rng.below(3), stream: 0 },
            _ => Command::random(rng, pages, sectors_per_page),
        }
    }
}

impl Rig for BlockRig {
    type Chip = EmuNand;
    type Ftl = BlockFtl<TaggedPages<EmuNand>>;

    fn format(&self) -> Self::Ftl {
        BlockFtl::format(self.pages(self.chip()), (), self.config).expect("a fresh chip can be formatted")
    }
    fn mount_or_return(&self, chip: EmuNand) -> Result<(Self::Ftl, MountReport), (EmuNand, MountError)> {
        let mounted = BlockFtl::mount_or_return(self.pages(chip), (), self.config);
        mounted.map_err(|(pages, error)| (pages.into_chip(), error))
    }
    fn chip_of(ftl: &Self::Ftl) -> &EmuNand {
        ftl.pages().chip()
    }
    fn chip_of_mut(ftl: &mut Self::Ftl) -> &mut EmuNand {
        ftl.pages_mut().chip_mut()
    }
    fn into_chip(ftl: Self::Ftl) -> EmuNand {
        ftl.into_pages().into_chip()
    }
    fn logical_pages(&self) -> u32 {
        self.config.logical_pages
    }
    fn paired_pages(&self) -> u32 {
        self.profile.paired_pages
    }
    fn command(&self, rng: &mut Rng, sectors_per_page: u32) -> Command {
        self.command(rng, sectors_per_page)
    }
}

/// As `rig`, on a chip whose pages may be programmed in any order.
fn in_any_order(mut rig: BlockRig) -> BlockRig {
    rig.profile.program_order = ProgramOrder::Any;
    rig
}

#[test]
fn log_blocks_that_are_always_merged() {
    prove(&block([512, 8, 16, 1], 1, 60, log_block("merge-only")), 1, 45, 1);
}

#[test]
fn log_blocks_that_are_migrated() {
    prove(&block([512, 8, 16, 1], 1, 60, log_block("periodic:3")), 2, 45, 1);
}

#[test]
fn log_blocks_of_pages_with_sectors() {
    prove(&block([2048, 8, 14, 1], 1, 48, log_block("optimal")), 3, 45, 4);
}

#[test]
fn log_blocks_whose_pages_share_cells() {
    prove(&block([512, 12, 14, 1], 2, 72, log_block("cost-based")), 4, 45, 4);
    prove(&block([512, 12, 14, 1], 3, 72, log_block("periodic:2")), 5, 45, 4);
}

#[test]
fn primary_and_replacement_blocks_in_any_order() {
    prove(&in_any_order(block([512, 8, 16, 1], 1, 60, Scheme::PrimaryReplacement)), 6, 45, 2);
}

#[test]
fn primary_and_replacement_blocks_in_ascending_order() {
    prove(&block([512, 8, 16, 1], 1, 60, Scheme::PrimaryReplacement), 7, 45, 4);
    prove(&block([512, 8, 16, 1], 2, 60, Scheme::PrimaryReplacement), 8, 45, 4);
}

#[test]
fn shared_log_blocks() {
    prove(&block([512, 8, 16, 1], 1, 60, Scheme::Fast), 9, 45, 2);
    prove(&block([512, 8, 16, 1], 2, 60, Scheme::Fast), 10, 45, 4);
}

#[test]
fn block_storms() {
    for seed in 0..seeds() {
        storm(&block([2048, 16, 40, 1], 1, 500, log_block("optimal")), seed, 60, 300);
        storm(&block([512, 16, 12, 1], 1, 80, log_block("periodic:4")), seed, 150, 60);
        storm(&block([512, 8, 14, 1], 2, 60, log_block("cost-based")), seed, 150, 30);
        storm(&in_any_order(block([512, 8, 20, 1], 1, 80, Scheme::PrimaryReplacement)), seed, 150, 60);
        storm(&block([512, 8, 20, 1], 3, 80, Scheme::PrimaryReplacement), seed, 150, 60);
        storm(&block([512, 8, 20, 1], 1, 80, Scheme::Fast), seed, 150, 60);
        storm(&block([1024, 12, 20, 1], 3, 120, Scheme::Fast), seed, 100, 100);
    }
}
