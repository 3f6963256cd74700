//! What both kinds of emulated chip have: bytes, power, faults, counters and a clock.

use std::io;
use std::ops::Range;
use std::sync::atomic::{Ordering, compiler_fence};

use wearwell_flash::{BlockAddr, PageAddr};

use crate::count::Counts;
use crate::error::{EmuError, SetupError};
use crate::faults::Faults;
use crate::layout::{self, BlockRecord, Clock, Layout, flag};
use crate::power::{OpKind, Power, PowerCut, PowerSwitch};
use crate::profile::{ChipKind, ChipProfile};
use crate::store::Store;
use crate::timeline::Timeline;

/// Operations on one block since the chip was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockCounts {
    /// Erases.
    pub erases: u32,
    /// Programs, or on NOR program calls.
    pub programs: u64,
    /// Reads, or on NOR read calls.
    pub reads: u64,
}

/// What was changed behind the chip's back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damaged {
    /// The record of a block: its wear, its flags, its counters.
    Block(BlockAddr),
    /// A page.
    Page(PageAddr),
    /// Bytes that nothing uses, and that are zero.
    Unused,
}

/// A change that was made behind the chip's back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// To what.
    pub of: Damaged,
    /// What of it does not fit its check.
    pub what: &'static str,
    /// The first byte of that in the image, counted from the chip's first.
    pub at: u64,
}

/// An emulated chip of either kind, seen from the workbench: its power, its faults, and what happened to it.
pub trait EmuChip {
    /// Where the chip's bytes are.
    type Store: Store;

    /// What the chip has in common with all others.
    fn body(&self) -> &Body<Self::Store>;

    /// What the chip has in common with all others.
    fn body_mut(&mut self) -> &mut Body<Self::Store>;

    /// Power comes back. Whatever was in progress on the timeline is over.
    fn power_on(&mut self);

    /// Lets a power cut come, or with `None` takes a coming one back. On NOR it also tears the erases in progress:
    /// with its outcome if it hits one of them, else each as drawn from the faults' seed.
    fn arm(&mut self, cut: Option<PowerCut>) {
        self.body_mut().power.arm(cut);
    }

    /// What cuts the power while another thread works on the chip.
    fn power_switch(&self) -> PowerSwitch {
        self.body().power.switch()
    }

    /// True after a power cut, until [`power_on`](Self::power_on).
    fn is_off(&self) -> bool {
        self.body().power.is_off()
    }

    /// The number of the next state-changing operation.
    fn ops(&self) -> u64 {
        self.body().power.ops()
    }

    /// Begins to record the kind of every state-changing operation; the first is that of [`ops`](Self::ops).
    fn start_trace(&mut self) {
        self.body_mut().power.start_trace();
    }

    /// The kinds recorded since [`start_trace`](Self::start_trace).
    fn trace(&self) -> &[OpKind] {
        self.body().power.trace()
    }

    /// Operations since the chip was made or opened.
    fn counts(&self) -> Counts {
        self.body().counts
    }

    /// Operations on a block since the chip was made, or `None` outside the chip.
    fn block_counts(&self, block: BlockAddr) -> Option<BlockCounts> {
        (block.0 < self.body().blocks).then(|| {
            let BlockRecord { erases, programs, reads, .. } = self.body().record(block);
            BlockCounts { erases, programs, reads }
        })
    }

    /// Erases of every block since the chip was made, ended ones only.
    fn erase_counts(&self) -> Vec<u32> {
        (0..self.body().blocks).map(|b| self.body().record(BlockAddr(b)).erases).collect()
    }

    /// What is not as the chip left it: something else changed the image. Records of blocks as they were when the
    /// image was opened, and pages as they are; reads all that is programmed. A NOR chip cannot tell what was done to
    /// its data.
    fn damage(&self) -> Vec<Damage> {
        self.body().found.clone()
    }

    /// Calls that broke the contract: defects of the layer above.
    fn violations(&self) -> u64 {
        self.body().violations
    }

    /// The chip's simulated time.
    fn time(&self) -> &Timeline {
        &self.body().time
    }

    /// The chip's simulated time, to begin commands and let time pass.
    fn time_mut(&mut self) -> &mut Timeline {
        &mut self.body_mut().time
    }

    /// Changes what goes wrong from now on. Factory-bad blocks and endurances were settled when the chip was made.
    fn set_faults(&mut self, faults: Faults) {
        self.body_mut().faults = faults;
    }

    /// Makes everything durable, for an image file.
    ///
    /// # Errors
    /// Whatever the system says.
    fn sync(&mut self) -> io::Result<()> {
        self.body_mut().sync()
    }
}

/// What every emulated chip has, whatever its cells: [`EmuChip`] shows it.
#[derive(Debug, Clone)]
pub struct Body<S: Store> {
    blocks: u32,
    pub(crate) layout: Layout,
    pub(crate) store: S,
    pub(crate) faults: Faults,
    pub(crate) power: Power,
    pub(crate) time: Timeline,
    pub(crate) counts: Counts,
    violations: u64,
    /// Damage found when the image was opened.
    pub(crate) found: Vec<Damage>,
    /// Which place of the clock is written next: not the one that has the newer time.
    clock_turn: usize,
}

impl<S: Store> Body<S> {
    /// That of a fresh chip of kind `wanted`, over the zeros that `store` makes.
    pub(crate) fn fresh(
        profile: &ChipProfile,
        faults: Faults,
        wanted: ChipKind,
        store: impl FnOnce(u64) -> Result<S, SetupError>,
    ) -> Result<Self, SetupError> {
        check_setup(profile, &faults, wanted)?;
        let mut store = store(Layout::new(profile).len())?;
        make_fresh(store.bytes_mut(), profile, &faults, S::CHECKED);
        Ok(Self::new(profile, faults, store))
    }

    /// That of the chip in the bytes of `store`.
    pub(crate) fn new(profile: &ChipProfile, faults: Faults, store: S) -> Self {
        let bytes = store.bytes();
        let clocks = layout::clocks(bytes);
        let [first, second] = clocks.map(|clock| clock.map(|clock| clock.ns));
        let mut time = Timeline::new(profile);
        time.advance_to(first.max(second).unwrap_or(0));
        time.power_off();
        let found = if S::CHECKED { found(bytes, profile) } else { Vec::new() };
        let mut body = Self {
            blocks: profile.blocks,
            layout: Layout::new(profile),
            store,
            faults,
            power: Power::default(),
            time,
            counts: Counts::default(),
            violations: 0,
            found,
            clock_turn: usize::from(first > second),
        };
        // Spec I4: what the last process was writing when it ended gets a checksum that fits, before another block is
        // named.
        for block in clocks.into_iter().filter_map(|clock| clock?.block).filter(|&block| block < profile.blocks) {
            body.put_record(BlockAddr(block), &layout::block(body.store.bytes(), block));
        }
        body
    }

    pub(crate) fn record(&self, block: BlockAddr) -> BlockRecord {
        layout::block(self.store.bytes(), block.0)
    }

    /// Every change of the chip's content passes here, so the clock in the image keeps up. It names the block before
    /// its record changes.
    pub(crate) fn put_record(&mut self, block: BlockAddr, record: &BlockRecord) {
        if S::CHECKED {
            self.put_clock(Some(block.0));
            compiler_fence(Ordering::SeqCst);
        }
        layout::put_block(self.store.bytes_mut(), block.0, record, S::CHECKED);
    }

    fn put_clock(&mut self, block: Option<u32>) {
        let clock = Clock { ns: self.time.now_ns(), block };
        layout::put_clock(self.store.bytes_mut(), self.clock_turn, clock);
        self.clock_turn ^= 1;
    }

    /// Makes room for what an operation is about to store outside the chip's records.
    pub(crate) fn make_room(&mut self, range: Range<usize>) -> Result<(), EmuError> {
        self.store.make_room(range).map_err(|_| EmuError::NoRoom)
    }

    /// Counts a breach of the contract, and fails with it.
    pub(crate) fn refuse<T>(&mut self, error: EmuError) -> Result<T, EmuError> {
        self.violations += 1;
        Err(error)
    }

    /// Time alone is no change: a flush with nothing to flush costs nothing.
    fn sync(&mut self) -> io::Result<()> {
        if !self.store.is_changed() {
            return Ok(());
        }
        // No record is being written now, which both places have to say.
        self.put_clock(None);
        self.put_clock(None);
        self.store.sync()
    }
}

/// Checks what both kinds of chip are set up with.
pub(crate) fn check_setup(profile: &ChipProfile, faults: &Faults, wanted: ChipKind) -> Result<(), SetupError> {
    profile.validate()?;
    faults.validate(profile)?;
    if profile.kind != wanted {
        return Err(SetupError::WrongKind { name: profile.name.clone(), is: profile.kind, wanted });
    }
    Ok(())
}

/// What of an image's records is not as a chip left it.
fn found(bytes: &[u8], profile: &ChipProfile) -> Vec<Damage> {
    let block =
        |block| Damage { of: Damaged::Block(BlockAddr(block)), what: "record", at: Layout::block_at(block) as u64 };
    let unused = |at| Damage { of: Damaged::Unused, what: "value", at: at as u64 };
    let blocks = layout::changed_blocks(bytes, profile.blocks).into_iter().map(block);
    blocks.chain(layout::changed_unused(bytes, profile).into_iter().map(unused)).collect()
}

/// Turns zeros into a chip as it leaves the factory.
fn make_fresh(bytes: &mut [u8], profile: &ChipProfile, faults: &Faults, checked: bool) {
    if let Some(endurance) = faults.endurance {
        for b in 0..profile.blocks {
            let endurance = endurance.draw(faults.seed, b);
            layout::put_block(bytes, b, &BlockRecord { endurance, ..BlockRecord::default() }, checked);
        }
    }
    for bad in faults.draw_factory_bad(profile.blocks) {
        let mut record = layout::block(bytes, bad.0);
        record.flags = flag::FACTORY_BAD;
        layout::put_block(bytes, bad.0, &record, checked);
    }
    layout::put_header(bytes, profile);
}
