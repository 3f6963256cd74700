//! Tests of single components, without those above them.

mod allocator;
mod cleaner;
mod discards;
mod index;

use alloc::format;

use wearwell_emu::{ChipProfile, EmuNand, Faults};

use super::cleaner::Cleaner;
use super::log::NandLog;
use super::map::FlatMap;
use super::{PageConfig, PageFtl, Policies};
use crate::addr::{Class, Lpn};
use crate::clean::which::VictimPolicy;
use crate::place::Placement;

/// The cleaner, and what is below it.
type Below = Cleaner<NandLog<EmuNand>, (), FlatMap, VictimPolicy, Placement>;

/// Segments of the chip, and slots in each: a header and a summary take the other pages.
const SEGMENTS: u32 = 12;
const SLOTS: u32 = 6;
const LOGICAL_PAGES: u32 = 30;
const DATA: [u8; 512] = [7; 512];
const HOST: Class = Class(0);

/// The cleaner of an empty device.
fn cleaner() -> Below {
    let ftl = formatted(SLOTS, SEGMENTS, LOGICAL_PAGES);
    assert_eq!(ftl.segments().slots(), SLOTS);
    ftl.cleaner
}

/// An empty device whose segments have `slots` slots, or one less if the summary takes two pages.
fn formatted(slots: u32, segments: u32, logical_pages: u32) -> PageFtl<NandLog<EmuNand>, ()> {
    let geometry = format!("geometry:512:{}:{segments}:1", slots + 2);
    let profile = ChipProfile::from_geometry_str(&geometry).expect("a geometry");
    let chip = EmuNand::in_memory(&profile, Faults::default()).expect("it can be made");
    let log = NandLog::new(chip, 1).expect("it fits");
    let config = PageConfig { logical_pages, seed: 1, policies: Policies::default(), endurance: 1000 };
    PageFtl::format(log, (), config).expect("it fits")
}

/// Writes a page for the host, if there is a slot for it without cleaning, and the program does not fail.
fn put(below: &mut Below, lpn: u32) -> bool {
    below.alloc_mut().put_wanted(Lpn(lpn), HOST, &DATA).expect("only the program may fail")
}

/// Valid pages of all segments.
fn valid(below: &Below) -> u32 {
    below.alloc().table().all().map(|seg| below.alloc().table().valid(seg)).sum()
}
