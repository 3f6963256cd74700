//! Tests of single components, without those above them; and of the records on flash.

mod index;
mod merger;
mod records;
mod store;

use alloc::format;

use wearwell_emu::{ChipProfile, EmuNand, Faults};

use super::merger::Merger;
use super::pages::TaggedPages;
use super::recycle::{Costs, Recycling};
use super::{BlockConfig, BlockFtl, LOG_BLOCKS, Scheme};
use crate::Reclamation;
use crate::wear::WearLeveling;

/// The merger, and what is below it.
type Below = Merger<TaggedPages<EmuNand>, ()>;

/// Segments of the chip, and pages in each.
const SEGMENTS: u32 = 16;
const PAGES: u32 = 4;
/// Logical blocks.
const BLOCKS: u32 = 5;
const DATA: [u8; 512] = [7; 512];

fn config(scheme: Scheme) -> BlockConfig {
    BlockConfig {
        logical_pages: BLOCKS * PAGES,
        scheme,
        log_blocks: LOG_BLOCKS,
        wear: WearLeveling::None,
        reclaim: Reclamation::AtOnce,
        costs: Costs::LEE_TABLE_1,
        endurance: 1000,
    }
}

/// The merger of an empty device under `log-block`.
fn merger() -> Below {
    let geometry = format!("geometry:512:{PAGES}:{SEGMENTS}:1");
    let profile = ChipProfile::from_geometry_str(&geometry).expect("a geometry");
    let chip = EmuNand::in_memory(&profile, Faults::default()).expect("it can be made");
    let pages = TaggedPages::new(chip, 1).expect("it fits");
    let ftl = BlockFtl::format(pages, (), config(Scheme::LogBlock(Recycling::MergeOnly))).expect("it fits");
    ftl.writer.recycler.merger
}

/// The next program or erase fails.
fn fail_next(below: &mut Below) {
    let chip = below.store.pages_mut().chip_mut();
    let fail_ops = [wearwell_emu::EmuChip::ops(chip)].into();
    wearwell_emu::EmuChip::set_faults(chip, Faults { fail_ops, ..Faults::default() });
}
