//! What NAND and NOR chips have in common: bytes, power, faults, counters and a clock.

use std::hash::{Hash, Hasher};
use std::io;
use std::ops::Range;
use std::sync::atomic::{Ordering, compiler_fence};

use wearwell_flash::{BlockAddr, PageAddr};

use crate::count::Counts;
use crate::error::{EmuError, SetupError};
use crate::faults::Faults;
use crate::layout::{self, BlockRecord, Clock, Layout, flag};
use crate::power::{CutOutcome, OpKind, Power, PowerCut, PowerSwitch};
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

/// Which part of the image was changed from outside.
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

/// A change to the image that the chip did not make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// The part that changed.
    pub of: Damaged,
    /// The field that does not match its check.
    pub what: &'static str,
    /// The first byte of that field, counted from the chip's first byte in the image.
    pub at: u64,
}

/// The test interface of an emulated chip of either kind: its power, its faults, and its counters.
pub trait EmuChip {
    /// What holds the chip's bytes.
    type Store: Store;

    /// What the chip has in common with all others.
    fn body(&self) -> &Body<Self::Store>;

    /// What the chip has in common with all others.
    fn body_mut(&mut self) -> &mut Body<Self::Store>;

    /// Switches the power on. Operations in progress on the timeline are over.
    fn power_on(&mut self);

    /// Arms a power cut; `None` disarms it. On NOR a cut also tears the erases in progress. If it hits one of them,
    /// they get its outcome; otherwise each outcome is drawn from the faults' seed.
    fn arm(&mut self, cut: Option<PowerCut>) {
        self.body_mut().power.arm(cut);
    }

    /// After a cut that has left nothing of its operation: leaves this of it, as the same cut with another outcome
    /// does. False if the chip cannot.
    fn cut_again(&mut self, _outcome: CutOutcome) -> bool {
        false
    }

    /// A switch that cuts the power while another thread works on the chip.
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

    /// Starts recording the kind of every state-changing operation. The first one recorded is number
    /// [`ops`](Self::ops).
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

    /// Completed erases of every block since the chip was made.
    fn erase_counts(&self) -> Vec<u32> {
        (0..self.body().blocks).map(|b| self.body().record(BlockAddr(b)).erases).collect()
    }

    /// Changes to the image that the chip did not make. Block records are compared as they were when the image was
    /// opened, and pages as they are now; this reads everything that is programmed. A NOR chip has no checks of its
    /// data.
    fn damage(&self) -> Vec<Damage> {
        self.body().found.clone()
    }

    /// A number that two chips of a profile share if they hold the same and behave alike from here on: for a test that
    /// comes to one state in many ways. Counters but those of erases are left out, and so is the time, so faults must
    /// not depend on these.
    fn fingerprint(&self) -> u64;

    /// Calls that broke the contract, which are defects of the layer above.
    fn violations(&self) -> u64 {
        self.body().violations
    }

    /// The chip's simulated time.
    fn time(&self) -> &Timeline {
        &self.body().time
    }

    /// The chip's simulated time, for commands and for passing time.
    fn time_mut(&mut self) -> &mut Timeline {
        &mut self.body_mut().time
    }

    /// Replaces the faults from now on. Factory-bad blocks and endurances do not change: they were set when the chip
    /// was made.
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

    /// Gives some of the space of an image file back that erased blocks took at the last [`sync`](Self::sync). True if
    /// there is more. It takes a few milliseconds at most.
    fn give_back(&mut self) -> bool {
        self.body_mut().store.give_back()
    }
}

/// The state that every emulated chip has. [`EmuChip`] exposes it.
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
    /// The copy of the clock that is written next: the one with the older time.
    clock_turn: usize,
}

impl<S: Store> Body<S> {
    /// The body of a fresh chip of kind `wanted`, over the zeros that `store` makes.
    pub(crate) fn fresh(
        profile: &ChipProfile,
        faults: Faults,
        wanted: ChipKind,
        store: impl FnOnce(u64) -> Result<S, SetupError>,
    ) -> Result<Self, SetupError> {
        check_setup(profile, &faults, wanted)?;
        let mut store = store(Layout::new(profile).len())?;
        let is_checked = store.is_checked();
        make_fresh(store.bytes_mut(), profile, &faults, is_checked);
        Ok(Self::new(profile, faults, store))
    }

    /// The body of the chip in the bytes of `store`.
    pub(crate) fn new(profile: &ChipProfile, faults: Faults, store: S) -> Self {
        let bytes = store.bytes();
        let clocks = layout::clocks(bytes);
        let [first, second] = clocks.map(|clock| clock.map(|clock| clock.ns));
        let mut time = Timeline::new(profile);
        // `None` is less than any time, so a damaged copy loses.
        time.advance_to(first.max(second).unwrap_or(0));
        time.power_off();
        let found = if store.is_checked() { found(bytes, profile) } else { Vec::new() };
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
        // Spec I4: a record that the last process was writing when it ended gets a matching checksum before another
        // block is named.
        for block in clocks.into_iter().filter_map(|clock| clock?.block).filter(|&block| block < profile.blocks) {
            body.put_record(BlockAddr(block), &layout::block(body.store.bytes(), block));
        }
        body
    }

    /// The chip's part of a [`fingerprint`](EmuChip::fingerprint), but for what its pages hold.
    pub(crate) fn hash_state(&self, into: &mut impl Hasher) {
        (self.power.is_off(), self.violations).hash(into);
        for block in 0..self.blocks {
            let BlockRecord { erases, endurance, flags, next_page, .. } = self.record(BlockAddr(block));
            (erases, endurance, flags, next_page).hash(into);
        }
    }

    pub(crate) fn record(&self, block: BlockAddr) -> BlockRecord {
        layout::block(self.store.bytes(), block.0)
    }

    /// Every change of the chip's content goes through here, so the clock in the image stays current. The clock names
    /// the block before its record changes.
    pub(crate) fn put_record(&mut self, block: BlockAddr, record: &BlockRecord) {
        let is_checked = self.store.is_checked();
        if is_checked {
            self.put_clock(Some(block.0));
            compiler_fence(Ordering::SeqCst);
        }
        layout::put_block(self.store.bytes_mut(), block.0, record, is_checked);
    }

    fn put_clock(&mut self, block: Option<u32>) {
        let clock = Clock { ns: self.time.now_ns(), block };
        layout::put_clock(self.store.bytes_mut(), self.clock_turn, clock);
        self.clock_turn ^= 1;
    }

    /// Reserves space for what an operation is about to store outside the chip's records.
    pub(crate) fn make_room(&mut self, range: Range<usize>) -> Result<(), EmuError> {
        self.store.make_room(range).map_err(|_| EmuError::NoRoom)
    }

    /// Counts a breach of the contract, and fails with it.
    pub(crate) fn refuse<T>(&mut self, error: EmuError) -> Result<T, EmuError> {
        self.violations += 1;
        Err(error)
    }

    /// Passing time alone is not a change, so a flush with nothing to flush costs nothing.
    fn sync(&mut self) -> io::Result<()> {
        if !self.store.is_changed() {
            return Ok(());
        }
        // No record is being written now. Both copies of the clock have to say so.
        self.put_clock(None);
        self.put_clock(None);
        self.store.sync()
    }
}

/// Checks the profile and the faults of either kind of chip.
pub(crate) fn check_setup(profile: &ChipProfile, faults: &Faults, wanted: ChipKind) -> Result<(), SetupError> {
    profile.validate()?;
    faults.validate(profile)?;
    if profile.kind != wanted {
        return Err(SetupError::WrongKind { name: profile.name.clone(), is: profile.kind, wanted });
    }
    Ok(())
}

/// The records of an image that are not as the chip left them.
fn found(bytes: &[u8], profile: &ChipProfile) -> Vec<Damage> {
    let block =
        |block| Damage { of: Damaged::Block(BlockAddr(block)), what: "record", at: Layout::block_at(block) as u64 };
    let unused = |at| Damage { of: Damaged::Unused, what: "value", at: at as u64 };
    let blocks = layout::changed_blocks(bytes, profile.blocks).into_iter().map(block);
    blocks.chain(layout::changed_unused(bytes, profile).into_iter().map(unused)).collect()
}

/// Turns zeros into a factory-fresh chip.
fn make_fresh(bytes: &mut [u8], profile: &ChipProfile, faults: &Faults, checked: bool) {
    if let Some(endurance) = faults.endurance {
        for b in 0..profile.blocks {
            let endurance = endurance.draw(faults.seed, b);
            layout::put_block(bytes, b, &BlockRecord { endurance, ..BlockRecord::default() }, checked);
        }
    }
    for bad in faults.draw_factory_bad(profile.blocks) {
        // The record may have an endurance by now.
        let mut record = layout::block(bytes, bad.0);
        record.flags = flag::FACTORY_BAD;
        layout::put_block(bytes, bad.0, &record, checked);
    }
    layout::put_header(bytes, profile);
}
