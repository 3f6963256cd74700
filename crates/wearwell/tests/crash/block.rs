//! The same proofs for block mapping: a merge, a switch or a migration that is cut is finished or undone.

use wearwell::logblock::{BlockConfig, BlockFtl, Content, Costs, Pages, Recycling, Scheme, TagRead, TaggedPages};
use wearwell::page::{MountError, MountReport};
use wearwell::{Inspect, Ppn, Reclamation, Rng, WearLeveling};
use wearwell_emu::{ChipProfile, EmuNand, Faults};
use wearwell_flash::ProgramOrder;

use crate::exhaustive::{prove, uncut};
use crate::model::Command;
use crate::rig::{Rig, nand};
use crate::storm::{seeds, storm};

/// Block mapping on a small chip.
#[derive(Clone)]
pub(crate) struct BlockRig {
    pub(crate) profile: ChipProfile,
    pub(crate) config: BlockConfig,
    pub(crate) faults: Faults,
}

/// A small chip: `shape` is page bytes, pages a block, blocks, dies.
pub(crate) fn block(shape: [u32; 4], paired_pages: u32, logical_pages: u32, scheme: Scheme) -> BlockRig {
    let wear = WearLeveling::parse("static-threshold:4").expect("listed");
    let config = BlockConfig {
        logical_pages,
        scheme,
        log_blocks: 3,
        reclaim: Reclamation::AtOnce,
        wear,
        costs: Costs::LEE_TABLE_1,
        endurance: 100_000,
    };
    BlockRig {
        profile: nand(shape, 1, paired_pages, logical_pages, "single").0.profile,
        config,
        faults: Faults::default(),
    }
}

/// With enough log blocks for two streams to have their own.
pub(crate) fn by_stream(shape: [u32; 4], logical_pages: u32) -> BlockRig {
    let mut rig = block(shape, 1, logical_pages, Scheme::FastByStream);
    rig.config.log_blocks = 5;
    rig
}

pub(crate) fn log_block(recycle: &str) -> Scheme {
    Scheme::LogBlock(Recycling::parse(recycle).expect("listed"))
}

impl BlockRig {
    pub(crate) fn chip(&self) -> EmuNand {
        EmuNand::in_memory(&self.profile, self.faults.clone()).expect("a valid profile")
    }

    pub(crate) fn pages(&self, chip: EmuNand) -> TaggedPages<EmuNand> {
        TaggedPages::new(chip, self.profile.stripe).expect("the chip takes the layout")
    }

    /// A quarter of all commands is random, a quarter writes few pages again and again, so that they are migrated, a
    /// quarter writes a run that begins with a block, so that log blocks get in order; the rest discards and flushes.
    pub(crate) fn command(&self, rng: &mut Rng, sectors_per_page: u32) -> Command {
        let (pages, per_block) = (self.config.logical_pages, self.profile.pages_per_block);
        match rng.below(16) {
            0..=3 => {
                let page = rng.below(pages / per_block) * per_block;
                let count = if rng.below(2) == 0 { per_block } else { 1 + rng.below(per_block) };
                Command::WriteRun { page, count: count.min(pages - page) }
            }
            4..=7 => Command::Write { page: rng.below(3), stream: 0 },
            8..=9 => Command::Discard { page: rng.below(pages - 2), count: 1 + rng.below(2) },
            10 => Command::Flush,
            11 => {
                let page = rng.below(pages / per_block) * per_block;
                Command::Discard { page, count: per_block.min(pages - page) }
            }
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

/// As `rig`, but logical blocks of which nothing is left are kept for a while.
pub(crate) fn proactive(mut rig: BlockRig) -> BlockRig {
    rig.config.reclaim = Reclamation::parse("proactive:0.1:0.3:0").expect("listed");
    rig
}

/// What a proof has to cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Merge,
    Switch,
    PartialMerge,
    Migration,
    Fold,
    /// A discard record is in a log block.
    Record,
    /// A logical block of which nothing was left is erased.
    Drop,
    /// One is erased that was kept for a while.
    Reclaim,
    /// A record of dead blocks is on flash.
    DeadRecord,
    /// Wear leveling has moved a block.
    Leveling,
    /// It makes a difference that pages can be programmed in any order.
    OutOfOrder,
}
use Work::{DeadRecord, Drop, Fold, Leveling, Merge, Migration, OutOfOrder, PartialMerge, Reclaim, Record, Switch};

/// How much of this work the run of a proof does.
fn done(rig: &BlockRig, seed: u64, commands: u32, work: Work) -> u64 {
    let mut ftl = uncut(rig, seed, commands);
    let stats = *ftl.stats();
    match work {
        Merge => stats.merges,
        Switch => stats.switch_merges,
        PartialMerge => stats.partial_merges,
        Migration => stats.migrations,
        Fold => stats.folds,
        Drop => stats.free_erases,
        Reclaim => stats.reclaimed_blocks,
        Leveling => stats.wear_copies,
        OutOfOrder => {
            let mut ascending = rig.clone();
            ascending.profile.program_order = ProgramOrder::Ascending;
            u64::from(*uncut(&ascending, seed, commands).stats() != stats)
        }
        Record | DeadRecord => {
            let kind = if work == Record { Content::Trim } else { Content::Dead };
            let pages = rig.profile.pages_per_block * rig.profile.blocks;
            let is_record = |tag| matches!(tag, Ok(TagRead::Tag(tag)) if tag.kind == kind);
            (0..pages).filter(|&page| is_record(ftl.pages_mut().tag(Ppn(page)))).count() as u64
        }
    }
}

/// The proof, over the first seed's run that does all of this work.
fn prove_work(rig: &BlockRig, commands: u32, work: &[Work]) {
    let does_all = |&seed: &u64| work.iter().all(|&work| done(rig, seed, commands, work) > 0);
    let seed = (1..200).find(does_all).unwrap_or_else(|| panic!("no run does all of {work:?}"));
    prove(rig, seed, commands);
}

#[test]
fn log_blocks_that_are_always_merged() {
    let rig = block([512, 6, 14, 1], 1, 40, log_block("merge-only"));
    prove_work(&rig, 40, &[Merge, Switch, PartialMerge, Record, Drop, Leveling]);
}

#[test]
fn log_blocks_that_are_migrated() {
    let rig = block([512, 8, 14, 1], 1, 48, log_block("periodic:3"));
    prove_work(&rig, 45, &[Merge, Switch, PartialMerge, Migration, Record, Drop]);
}

#[test]
fn log_blocks_of_pages_with_sectors() {
    let rig = proactive(block([2048, 8, 14, 1], 1, 48, log_block("optimal")));
    prove_work(&rig, 45, &[Merge, Switch, Migration, Record, Reclaim, DeadRecord]);
}

#[test]
fn log_blocks_whose_pages_share_cells() {
    let rig = block([512, 12, 12, 1], 2, 60, log_block("cost-based"));
    prove_work(&rig, 45, &[Merge, Switch, Migration, Record]);
    let rig = block([512, 9, 13, 1], 3, 45, log_block("periodic:2"));
    prove_work(&rig, 45, &[Merge, Migration, PartialMerge, Record]);
}

#[test]
fn primary_and_replacement_blocks_in_any_order() {
    let rig = in_any_order(block([512, 6, 14, 1], 1, 40, Scheme::PrimaryReplacement));
    prove_work(&rig, 45, &[Fold, Record, Drop, Leveling, OutOfOrder]);
}

#[test]
fn primary_and_replacement_blocks_in_ascending_order() {
    let rig = proactive(block([512, 6, 16, 1], 1, 40, Scheme::PrimaryReplacement));
    prove_work(&rig, 45, &[Fold, Record, Reclaim, DeadRecord]);
    let rig = proactive(block([512, 8, 14, 1], 2, 48, Scheme::PrimaryReplacement));
    prove_work(&rig, 45, &[Fold, Record, Reclaim, DeadRecord]);
}

#[test]
fn shared_log_blocks() {
    let rig = block([512, 5, 13, 1], 1, 30, Scheme::Fast);
    prove_work(&rig, 40, &[Merge, Switch, PartialMerge, Record, Drop]);
    let rig = block([512, 8, 14, 1], 2, 48, Scheme::Fast);
    prove_work(&rig, 45, &[Merge, Switch, PartialMerge, Record]);
}

#[test]
fn shared_log_blocks_by_stream() {
    let rig = by_stream([512, 5, 15, 1], 30);
    prove_work(&rig, 40, &[Merge, Switch, PartialMerge, Record, Drop]);
}

#[test]
fn block_storms() {
    for seed in 0..seeds() {
        storm(&block([2048, 16, 40, 1], 1, 500, log_block("optimal")), seed, 60, 300);
        storm(&block([512, 16, 12, 1], 1, 80, log_block("periodic:4")), seed, 150, 60);
        storm(&block([512, 8, 14, 1], 2, 60, log_block("cost-based")), seed, 150, 30);
        storm(&in_any_order(block([512, 8, 20, 1], 1, 80, Scheme::PrimaryReplacement)), seed, 150, 60);
        storm(&block([512, 8, 20, 1], 3, 80, Scheme::PrimaryReplacement), seed, 150, 60);
        storm(&proactive(block([512, 8, 20, 1], 3, 80, Scheme::PrimaryReplacement)), seed, 150, 60);
        storm(&proactive(in_any_order(block([512, 8, 15, 1], 1, 80, Scheme::PrimaryReplacement))), seed, 150, 60);
        storm(&block([512, 8, 20, 1], 1, 80, Scheme::Fast), seed, 150, 60);
        storm(&by_stream([512, 8, 24, 1], 80), seed, 150, 60);
        storm(&block([1024, 12, 20, 1], 3, 120, Scheme::Fast), seed, 100, 100);
    }
}

/// Seeds that once failed.
#[test]
fn block_storms_that_were_lost() {
    // A block whose first program was torn was forgotten by a clean shutdown, and programmed again.
    storm(&block([512, 8, 20, 1], 3, 80, Scheme::PrimaryReplacement), 31, 80, 60);
    // A discarded page came back from a stale copy in a shared log block.
    storm(&block([1024, 12, 20, 1], 3, 120, Scheme::Fast), 22, 40, 100);
    // The page programmed last lay in a block that was complete but for it.
    storm(&in_any_order(block([512, 8, 20, 1], 1, 80, Scheme::PrimaryReplacement)), 87, 150, 60);
    // A primary block was erased before the merge that replaced it was known to last.
    storm(&block([512, 8, 20, 1], 3, 80, Scheme::PrimaryReplacement), 25, 150, 60);
    // What an undone merge had copied faded, and another rescue made that merge's commit count.
    storm(&block([512, 8, 20, 1], 3, 80, Scheme::PrimaryReplacement), 538, 60, 60);
    // The page programmed last lay behind the head of a log block, which the cut had harmed.
    storm(&block([512, 8, 14, 1], 2, 60, log_block("cost-based")), 560, 60, 30);
    // Cuts in several mounts left more blocks to be kept than there was room for.
    storm(&in_any_order(block([512, 8, 20, 1], 1, 80, Scheme::PrimaryReplacement)), 289, 150, 60);
}
