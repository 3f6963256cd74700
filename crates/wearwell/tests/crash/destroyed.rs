//! Destruction: each page and each block of a small chip is lost, one at a time, in every layout. What was written and
//! can no longer be found is an error, never zeros, except where nothing on the chip can tell: `untold` says where that
//! is.

use wearwell::logblock::Scheme;
use wearwell_emu::{EmuChip, EmuNand, EmuNor};
use wearwell_flash::{BlockAddr, Nand, Nor, NorAddr, PageAddr};

use crate::block::{block, by_stream, log_block};
use crate::block_canary::{BrokenRig as BrokenBlocks, Defect as BlockDefect};
use crate::canary::{Defect, broken, forgetful, is_caught};
use crate::damage::{Stop, outcome, used};
use crate::model::{Found, content_of};
use crate::rig::{Rig, checkpointed, nand, nor};

/// What is destroyed at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Page,
    Block,
}

/// A chip that can be destroyed.
trait Destroy: EmuChip + Clone {
    /// Blocks, and units that are destroyed one by one in each.
    fn shape(&self) -> [u32; 2];
    /// Destroys a page: on NOR, what says whose it is. False if there was nothing.
    fn destroy(&mut self, page: u32) -> bool;
    /// What can be read of any page: the logical page and its version, as often as it is there.
    fn contents(&mut self) -> Vec<(u32, u32)>;
}

impl Destroy for EmuNand {
    fn shape(&self) -> [u32; 2] {
        [self.geometry().blocks, self.geometry().pages_per_block]
    }
    fn destroy(&mut self, page: u32) -> bool {
        self.decay(PageAddr(page))
    }
    fn contents(&mut self) -> Vec<(u32, u32)> {
        let [blocks, pages] = self.shape();
        let mut data = vec![0; self.geometry().page_bytes as usize];
        let content = |page| {
            self.read(PageAddr(page), &mut data, &mut []).ok()?;
            content_of(&data[..512])
        };
        (0..blocks * pages).filter_map(content).collect()
    }
}

/// Slots of a block, and where their entries and their data begin.
const SLOTS: u32 = 8;
const ENTRIES: u32 = 64;
const DATA: u32 = 512;
/// An entry that is complete and not invalid: SPEC.md, layout `nor`.
const FLAGS: (u8, u8) = (0b1010, 0b1000);

impl Destroy for EmuNor {
    fn shape(&self) -> [u32; 2] {
        [self.geometry().blocks, SLOTS]
    }
    fn destroy(&mut self, page: u32) -> bool {
        let at = NorAddr { block: BlockAddr(page / SLOTS), offset: ENTRIES + page % SLOTS * 8 };
        let mut entry = [0; 8];
        self.read(at, &mut entry).expect("a chip with power");
        self.program(at, &[0; 8]).expect("nothing fails");
        entry[7] & FLAGS.0 == FLAGS.1
    }
    fn contents(&mut self) -> Vec<(u32, u32)> {
        let slots = 0..self.geometry().blocks * SLOTS;
        let content = |page: u32| {
            let (block, slot) = (BlockAddr(page / SLOTS), page % SLOTS);
            let (mut entry, mut data) = ([0; 8], [0; 512]);
            self.read(NorAddr { block, offset: ENTRIES + slot * 8 }, &mut entry).expect("a chip with power");
            self.read(NorAddr { block, offset: DATA + slot * 512 }, &mut data).expect("a chip with power");
            content_of(&data).filter(|_| entry[7] & FLAGS.0 == FLAGS.1)
        };
        slots.filter_map(content).collect()
    }
}

/// A layout, and what nobody can tell there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Nand,
    /// Segments of several blocks.
    Stripes,
    Checkpoint,
    Nor,
    /// Block mapping with primary blocks, and without; with log blocks that logical blocks share.
    Primary,
    Log,
    SharedLog,
}

/// What happened to a device.
#[derive(Debug, Clone, Copy)]
struct Case {
    layout: Layout,
    discards: bool,
    stop: Stop,
    unit: Unit,
}

impl Case {
    /// True if of a page of which no copy is left, nothing else says that it was there. `is_last`: the page that was
    /// destroyed is the last of its block.
    fn untold(self, is_last: bool) -> bool {
        let is_clean = self.stop == Stop::Shutdown;
        match (self.layout, self.unit) {
            // An entry is all that says whose a slot is, and a header is missing also behind a cut erase.
            (Layout::Nor, _) => true,
            // The discard map says it, or the other blocks of the segment.
            (Layout::Nand | Layout::Checkpoint, Unit::Block) => !is_clean && !self.discards,
            (Layout::Nand | Layout::Checkpoint | Layout::Stripes, _) => false,
            // After a clean shutdown no cut explains what cannot be read.
            (Layout::Primary | Layout::Log | Layout::SharedLog, Unit::Block) => !is_clean,
            (Layout::Log | Layout::SharedLog, Unit::Page) => !is_clean && is_last,
            (Layout::Primary, Unit::Page) => !is_clean,
        }
    }

    /// What may be read of a page that holds `version`, if the chip still has `left` of it.
    fn allows(self, found: Found, version: u32, left: &[u32], is_last: bool) -> bool {
        match found {
            Found::Newest => version == 0 || left.contains(&version),
            // A page without content may have been what is missing. What a merge has copied from a shared log block
            // stays there, and counts no more.
            Found::Lost => {
                let is_stale = self.layout == Layout::SharedLog;
                version == 0 || !left.contains(&version) || is_stale
            }
            Found::Older if version == 0 => self.discards,
            Found::Older => !left.contains(&version) && !left.is_empty() && !self.knows_newest(),
            Found::Zeros => left.is_empty() && self.untold(is_last),
        }
    }

    /// True if a mount knows where the newest copies lie.
    fn knows_newest(self) -> bool {
        self.layout == Layout::Checkpoint && self.stop == Stop::Shutdown
    }
}

/// Destroys each unit, mounts, and looks at all pages. Returns how many of them were lost, and how many read as zeros.
fn destroy_each<R: Rig>(rig: &R, case: Case) -> [usize; 2]
where
    R::Chip: Destroy,
{
    let (chip, model) = used(rig, case.discards, case.stop);
    let [blocks, pages] = chip.shape();
    let length = if case.unit == Unit::Block { pages } else { 1 };
    let mut counts = [0; 2];
    for first in (0..blocks * pages).step_by(length as usize) {
        let mut chip = chip.clone();
        if (first..first + length).filter(|&page| chip.destroy(page)).count() == 0 {
            continue;
        }
        let contents = chip.contents();
        let what = format!("{case:?}, page {first}");
        let damaged = outcome(rig, chip, &model, &what);
        for (lpn, &found) in (0..).zip(&damaged.held) {
            let left: Vec<u32> = contents.iter().filter(|content| content.0 == lpn).map(|content| content.1).collect();
            let version = model.newest(lpn);
            let is_allowed = case.allows(found, version, &left, first % pages + 1 == pages);
            assert!(is_allowed, "{what}: logical page {lpn} is {found:?}; it had {version}, {left:?} is left");
            let stays = found == damaged.later[lpn as usize] || lpn < 8;
            // Without its checkpoint a later mount looks at what is left.
            let is_older = case.knows_newest() && damaged.later[lpn as usize] == Found::Older;
            assert!(
                stays || is_older,
                "{what}: logical page {lpn} was {found:?}, is {:?}",
                damaged.later[lpn as usize]
            );
        }
        counts[0] += damaged.count(Found::Lost);
        counts[1] += damaged.count(Found::Zeros);
    }
    counts
}

/// Pages and blocks, after a shutdown and without, with discards and without. Zeros are found where they cannot be
/// told, or this would promise too little.
fn destroy_all<R: Rig>(layout: Layout, rig: &R)
where
    R::Chip: Destroy,
{
    for (unit, stop) in [
        (Unit::Page, Stop::Shutdown),
        (Unit::Page, Stop::PowerOff),
        (Unit::Block, Stop::Shutdown),
        (Unit::Block, Stop::PowerOff),
    ] {
        for discards in [false, true] {
            let case = Case { layout, discards, stop, unit };
            let [lost, zeros] = destroy_each(rig, case);
            assert_eq!(zeros > 0, case.untold(true), "{case:?}: {lost} pages lost, {zeros} zeros");
        }
    }
}

#[test]
fn nand_pages_and_blocks() {
    destroy_all(Layout::Checkpoint, &checkpointed(nand([512, 8, 14, 1], 1, 1, 40, "single")));
    // `damage` has the single pages.
    for (stop, discards) in
        [(Stop::Shutdown, false), (Stop::Shutdown, true), (Stop::PowerOff, false), (Stop::PowerOff, true)]
    {
        let case = |layout| Case { layout, discards, stop, unit: Unit::Block };
        destroy_each(&nand([512, 8, 14, 1], 1, 1, 40, "single"), case(Layout::Nand));
        destroy_each(&nand([512, 12, 14, 1], 1, 2, 48, "single"), case(Layout::Nand));
        destroy_each(&nand([512, 6, 28, 2], 2, 1, 60, "separate-gc"), case(Layout::Stripes));
    }
}

#[test]
fn nor_pages_and_blocks() {
    destroy_all(Layout::Nor, &nor(SLOTS, 14, 2, 48, "single"));
}

#[test]
fn pages_and_blocks_of_log_blocks() {
    destroy_all(Layout::Log, &block([512, 8, 14, 1], 1, 48, log_block("periodic:3")));
    destroy_all(Layout::Log, &block([512, 8, 14, 1], 2, 48, log_block("cost-based")));
}

#[test]
fn pages_and_blocks_of_primary_blocks() {
    destroy_all(Layout::Primary, &block([512, 8, 14, 1], 1, 48, Scheme::PrimaryReplacement));
}

#[test]
fn pages_and_blocks_of_shared_log_blocks() {
    destroy_all(Layout::SharedLog, &block([512, 8, 14, 1], 1, 48, Scheme::Fast));
    destroy_all(Layout::SharedLog, &by_stream([512, 8, 16, 1], 48));
}

/// True if a broken engine notices nothing as long as nothing is destroyed, and is caught then.
fn is_canary<R: Rig>(rig: &R, layout: Layout, unit: Unit) -> bool
where
    R::Chip: Destroy,
{
    let case = Case { layout, discards: false, stop: Stop::Shutdown, unit };
    let (chip, model) = used(rig, case.discards, case.stop);
    let whole = outcome(rig, chip, &model, "nothing is destroyed");
    assert_eq!(whole.count(Found::Newest), whole.held.len(), "{case:?}: the control");
    is_caught(|| _ = destroy_each(rig, case))
}

#[test]
fn the_canaries_of_destruction_are_caught() {
    let small = || nand([512, 8, 14, 1], 1, 1, 40, "single");
    let unrecorded = forgetful(small());
    assert!(is_canary(&unrecorded, Layout::Nand, Unit::Block), "`nand` without a map");
    let unrecorded = forgetful(checkpointed(small()));
    assert!(is_canary(&unrecorded, Layout::Checkpoint, Unit::Block), "a checkpoint without a map");
    for unit in [Unit::Page, Unit::Block] {
        let stale = broken(nor(SLOTS, 14, 2, 48, "single"), Defect::BelieveSuperseded);
        assert!(is_canary(&stale, Layout::Nor, unit), "`nor` that believes what a lost {unit:?} superseded");
        for (layout, rig) in [
            (Layout::Log, block([512, 8, 14, 1], 1, 48, log_block("periodic:3"))),
            (Layout::Primary, block([512, 8, 14, 1], 1, 48, Scheme::PrimaryReplacement)),
            (Layout::SharedLog, block([512, 8, 14, 1], 1, 48, Scheme::Fast)),
            (Layout::SharedLog, by_stream([512, 8, 16, 1], 48)),
        ] {
            let scheme = rig.config.scheme;
            let blind = BrokenBlocks(rig, BlockDefect::HideHarm);
            assert!(is_canary(&blind, layout, unit), "{scheme:?} that takes a lost {unit:?} for erased");
        }
    }
}
