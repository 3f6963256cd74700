//! Decay behind cuts, for block mapping: a page becomes unreadable after a cut, or after several in the mounts behind
//! it. It takes nothing with it but, at most, what else its logical block holds; and nothing reads as ones.

use wearwell::Rng;
use wearwell_emu::{EmuChip, EmuNand};
use wearwell_flash::{Nand, PageAddr};

use crate::block::BlockRig;
use crate::block_storms::rigs;
use crate::model::{Found, Model};
use crate::mount_storms::cut_within;
use crate::rig::Rig;
use crate::storm::seeds;

/// Commands with a cut, for each seed.
const CYCLES: u32 = 40;
/// Pages that decay behind each, every one in a copy of the chip.
const DECAYS: u32 = 12;

/// The logical page that the tag of a page names; none if it cannot be read or is erased.
fn tagged(chip: &mut EmuNand, page: PageAddr) -> Option<u32> {
    let mut lpn = [0; 4];
    chip.read(page, &mut [], &mut lpn).ok()?;
    Some(u32::from_le_bytes(lpn)).filter(|&lpn| lpn != u32::MAX)
}

/// Takes a page of a chip that was cut, mounts, and looks at what lies in other logical blocks.
fn take_one(rig: &BlockRig, mut chip: EmuNand, model: &Model, page: u32) -> Result<(), String> {
    let block_pages = rig.profile.pages_per_block * rig.profile.stripe;
    let Some(gone) = tagged(&mut chip, PageAddr(page)) else { return Ok(()) };
    assert!(chip.decay(PageAddr(page)), "there is a tag");
    let (mut ftl, _) = rig.mount(chip).map_err(|error| error.to_string())?;
    for lpn in 0..model.pages() {
        let found = model.judge(&mut ftl, lpn)?;
        let is_same_block = lpn / block_pages == gone / block_pages;
        // The page may have been the record of a discard.
        if is_same_block || model.may_hold(lpn, 0) {
            continue;
        }
        if found == Found::Lost || !model.may_hold(lpn, model.version(&mut ftl, lpn)?) {
            return Err(format!("page {lpn} of another logical block is {found:?}"));
        }
    }
    Ok(())
}

/// Runs commands that a cut ends, and cuts up to three mounts.
fn cut_all(rig: &BlockRig, mut ftl: <BlockRig as Rig>::Ftl, model: &mut Model, rng: &mut Rng) -> EmuNand {
    let cut = cut_within(rng, BlockRig::chip_of(&ftl).ops(), 60);
    BlockRig::chip_of_mut(&mut ftl).arm(Some(cut));
    while model.run(&mut ftl, rig.command(rng, 1)).is_ok() {}
    let mut chip = BlockRig::into_chip(ftl);
    for _ in 0..rng.below(4) {
        chip.power_on();
        chip.arm(Some(cut_within(rng, chip.ops(), 12)));
        match rig.mount_or_return(chip) {
            Ok((mounted, _)) => {
                chip = BlockRig::into_chip(mounted);
                break;
            }
            Err((returned, _)) => chip = returned,
        }
    }
    chip.power_on();
    chip.arm(None);
    chip
}

/// Lets pages decay behind cuts.
fn storm_of_decay(rig: &BlockRig, seed: u64) {
    let mut rng = Rng::new(seed);
    let (mut ftl, mut model) = (rig.format(), Model::new(rig.logical_pages(), 1));
    model.fill(&mut ftl);
    for cycle in 0..CYCLES {
        let chip = cut_all(rig, ftl, &mut model, &mut rng);
        let pages = chip.geometry().blocks * chip.geometry().pages_per_block;
        for _ in 0..DECAYS {
            let page = rng.below(pages);
            take_one(rig, chip.clone(), &model, page).unwrap_or_else(|error| {
                panic!("{:?}, seed {seed}, cycle {cycle}, page {page}: {error}", rig.config.scheme)
            });
        }
        ftl = rig.mount(chip).unwrap_or_else(|error| panic!("seed {seed}, cycle {cycle}: {error}")).0;
        model.check_after_cut(&mut ftl).unwrap_or_else(|error| panic!("seed {seed}, cycle {cycle}: {error}"));
    }
}

/// The page of a commit decayed, or another of the last merge, while the block before it was erased in part: the mount
/// took that for the data block, and served what the erase had taken as ones.
#[test]
fn a_page_that_decays_behind_a_cut_takes_no_other_block() {
    for seed in 0..seeds() {
        rigs().iter().for_each(|rig| storm_of_decay(rig, seed));
    }
}

/// A storm that failed once, before anything decayed: of two merges of a mount the first was erased before the log
/// block that both had read.
#[test]
fn a_storm_that_was_lost() {
    rigs().iter().for_each(|rig| storm_of_decay(rig, 2245));
}
