//! The allocator: which open segment a page goes to, and how segments are opened, filled and closed.
//!
//! `placing` has what the placement is asked and told, `filling` how slots are filled, `closing` how segments are
//! closed before they are full, `continuing` how those that a mount found open are filled up, and `erase` how they are
//! erased and retired.

mod closing;
mod continuing;
mod erase;
mod filling;
mod placing;

use alloc::vec::Vec;

use wearwell_flash::ErrorKind;

use super::config::Rules;
use super::index::Index;
use super::log::{Log, LogShape};
use super::map::PageMap;
use super::pool::{Attention, SegmentPool};
use crate::addr::{Class, Seg};
use crate::clean::when::Supply;
use crate::clean::which::VictimChoice;
use crate::free::FreePool;
use crate::ftl::{FtlError, Probe};
use crate::place::{ClassPlacement, Opened, PlaceChoice};
use crate::segments::{SegState, Segments};
use crate::spread::EraseSpread;
use crate::stats::Stats;

/// The open segment of a class, and the slot that is written next.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenSegment {
    pub(super) seg: Seg,
    pub(super) next: u32,
    /// The slot at which it is closed, or padded first; 0 if there is none. Invariant: `next` is below it, except while
    /// the page before it is being entered.
    pub(super) stop: u32,
}

impl OpenSegment {
    // `next` and `stop` differ, so none is never taken for one to be closed.
    pub(super) const NONE: Self = Self { seg: Seg(u32::MAX), next: u32::MAX, stop: 0 };

    pub(super) fn is_open(self) -> bool {
        self.next != u32::MAX
    }
}

/// Who asks for a slot.
///
/// A host write may open a segment only if another one stays free, so that cleaning can always begin. A copy may open
/// the last one: the victim that it empties becomes free, and a segment opened like this holds only copies whose
/// originals are still there if the power fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Host,
    Copy,
}

/// Open segments, the free pool, and the log below them.
///
/// Invariants: a class has at most one open segment, and one more that is parked while its bank erases. These are the
/// segments whose state is open. When the host opens a segment, a free one is left for cleaning, and one more for
/// recovery ([`find_slot`](Self::find_slot)).
#[derive(Debug)]
pub(super) struct Allocator<L, P, M, V: VictimChoice, W: PlaceChoice> {
    log: L,
    shape: LogShape,
    probe: P,
    index: Index<M, V>,
    placement: W::Policy,
    stats: Stats,
    rules: Rules,
    free: FreePool,
    open: [OpenSegment; Class::COUNT],
    /// Open segments that are put aside while their bank erases; at most one for each class.
    parked: [OpenSegment; Class::COUNT],
    /// Closed segments that take more once there is no other place: a mount found several of a class open.
    continuable: Vec<OpenSegment>,
    next_seq: u64,
    /// A segment is being erased in the background.
    is_erasing: bool,
    /// The segment that holds the mark of a clean shutdown.
    clean_mark: Option<Seg>,
    /// A bad segment could not be marked. The next mount finds out by an erase, also behind a clean shutdown.
    has_unmarked: bool,
    spread: EraseSpread,
    /// The wear policy wants the data of the least worn segment moved.
    is_wear_due: bool,
    /// A program or an erase has failed since the mount, or the mount has found that something decayed. It may have
    /// cost slots that were counted on.
    has_failed: bool,
    /// The error of every write and discard, if the device takes no more. This is so if a segment failed that the next
    /// mount may believe, with its stale copies; or if there is no place for copies of pages that a power cut may have
    /// hit.
    writable: Result<(), FtlError>,
}

impl<L: Log, P, M, V: VictimChoice, W: PlaceChoice> Allocator<L, P, M, V, W> {
    pub(super) fn new(
        log: L,
        probe: P,
        index: Index<M, V>,
        placement: W::Policy,
        free: FreePool,
        rules: Rules,
    ) -> Self {
        Self {
            shape: log.shape(),
            log,
            probe,
            index,
            placement,
            stats: Stats::default(),
            rules,
            free,
            open: [OpenSegment::NONE; Class::COUNT],
            parked: [OpenSegment::NONE; Class::COUNT],
            continuable: Vec::new(),
            next_seq: 1,
            is_erasing: false,
            clean_mark: None,
            has_unmarked: false,
            spread: EraseSpread::default(),
            is_wear_due: false,
            has_failed: false,
            writable: Ok(()),
        }
    }

    #[inline(always)]
    pub(super) fn log(&self) -> &L {
        &self.log
    }

    /// The log, for reads, and for a mount.
    #[inline(always)]
    pub(super) fn log_mut(&mut self) -> &mut L {
        &mut self.log
    }

    /// Drops everything but the log and the probe.
    pub(super) fn into_parts(self) -> (L, P) {
        (self.log, self.probe)
    }

    /// Both at once, for what is written of the index.
    pub(super) fn log_and_index(&mut self) -> (&mut L, &Index<M, V>) {
        (&mut self.log, &self.index)
    }

    #[inline(always)]
    pub(super) fn shape(&self) -> &LogShape {
        &self.shape
    }

    #[inline(always)]
    pub(super) fn probe_mut(&mut self) -> &mut P {
        &mut self.probe
    }

    #[inline(always)]
    pub(super) fn index(&self) -> &Index<M, V> {
        &self.index
    }

    /// The index, for changes that need no flash.
    #[inline(always)]
    pub(super) fn index_mut(&mut self) -> &mut Index<M, V> {
        &mut self.index
    }

    #[inline(always)]
    pub(super) fn pool(&self) -> &SegmentPool<V> {
        self.index.pool()
    }

    /// The pool, for changes that do not concern valid pages.
    #[inline(always)]
    pub(super) fn pool_mut(&mut self) -> &mut SegmentPool<V> {
        self.index.pool_mut()
    }

    /// When the cleaner has to be called again.
    #[inline(always)]
    pub(super) fn attention(&mut self) -> &mut Attention {
        self.index.pool_mut().attention()
    }

    pub(super) fn placement(&self) -> &W::Policy {
        &self.placement
    }

    #[inline(always)]
    pub(super) fn placement_mut(&mut self) -> &mut W::Policy {
        &mut self.placement
    }

    /// Both at once, for what a mount tells the placement of the index.
    pub(super) fn placement_and_index(&mut self) -> (&mut W::Policy, &Index<M, V>) {
        (&mut self.placement, &self.index)
    }

    #[inline(always)]
    pub(super) fn stats(&self) -> &Stats {
        &self.stats
    }

    #[inline(always)]
    pub(super) fn stats_mut(&mut self) -> &mut Stats {
        &mut self.stats
    }

    /// Counts what the kept pages of the log have cost since the last time.
    pub(super) fn count_kept(&mut self) {
        self.stats.count_kept(self.log.take_kept_costs());
    }

    #[inline(always)]
    pub(super) fn table(&self) -> &Segments {
        self.index.pool().table()
    }

    pub(super) fn free(&self) -> &FreePool {
        &self.free
    }

    /// A segment is being erased in the background.
    pub(super) fn is_erasing(&self) -> bool {
        self.is_erasing
    }

    /// The segment that holds the mark of a clean shutdown.
    pub(super) fn clean_mark(&self) -> Option<Seg> {
        self.clean_mark
    }

    /// A mount has found the mark of a clean shutdown.
    pub(super) fn enter_clean_mark(&mut self, seg: Seg) {
        self.clean_mark = Some(seg);
    }

    /// A bad segment could not be marked.
    pub(super) fn has_unmarked(&self) -> bool {
        self.has_unmarked
    }

    /// Something has decayed, and what that takes may be segments that are held back.
    pub(super) fn note_damage(&mut self) {
        self.has_failed = true;
    }

    /// True if slots may be gone that were counted on: something has failed or decayed, or the device is worn out.
    pub(super) fn may_lack_slots(&self) -> bool {
        self.has_failed || self.lacks_segments()
    }

    /// True if fewer segments are good than the device needs.
    fn lacks_segments(&self) -> bool {
        self.table().sound() < self.rules.needed_segments
    }

    /// The wear policy wants the data of the least worn segment moved.
    pub(super) fn is_wear_due(&self) -> bool {
        self.is_wear_due
    }

    /// The cleaner sees to what the wear policy wants.
    pub(super) fn take_wear_due(&mut self) {
        self.is_wear_due = false;
    }

    /// The error of every write and discard, if the device takes no more.
    #[inline(always)]
    pub(super) fn writable(&self) -> Result<(), FtlError> {
        self.writable
    }

    pub(super) fn worn_out(&self) -> FtlError {
        FtlError::WornOut { good_segments: self.table().sound(), needed_segments: self.rules.needed_segments }
    }

    /// Makes the device read-only.
    pub(super) fn refuse_writes(&mut self, why: FtlError) {
        self.writable = Err(why);
        self.index.pool_mut().attention().call();
    }

    pub(super) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Replaces the rules.
    pub(super) fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
        self.hold_back();
    }

    /// Holds as many free segments back as the good ones allow. It is called again after each retirement.
    pub(super) fn hold_back(&mut self) {
        self.free.hold(self.rules.held_segments(self.table().good()));
    }

    /// Holds back one segment less for failures, because cleaning can gain none: what is invalid lies in open segments.
    /// False if only those for recovery are held back. They are held back again when a segment becomes free.
    #[cold]
    pub(super) fn hold_less(&mut self) -> bool {
        // More may be held back than are free. Giving up one that is not there would not help.
        let held = self.free.held().min(self.free.total());
        let is_more = held > self.rules.recovery_segments;
        if is_more {
            self.free.hold(held - 1);
        }
        is_more
    }
}

/// Finding slots.
impl<L: Log, P: Probe, M: PageMap<L>, V: VictimChoice, W: PlaceChoice> Allocator<L, P, M, V, W> {
    /// Begins once segments and map are known.
    pub(super) fn start(&mut self) {
        self.spread = EraseSpread::of(self.table().good_erases());
        self.hold_back();
        self.list_classes();
        self.index.pool_mut().attention().call();
    }

    /// True if the host may open no segment.
    #[inline(always)]
    pub(super) fn is_urgent(&self) -> bool {
        self.free.supply() == Supply::Urgent
    }

    /// True if there is a slot for a page of the host's, whatever its class. Waits for an erase that may give one.
    pub(super) fn has_slot(&mut self) -> Result<bool, FtlError> {
        // One erase runs at a time, so the second turn is the last.
        loop {
            if !self.is_urgent() || self.find_room().is_some() {
                return Ok(true);
            }
            if !self.is_erasing {
                return Ok(false);
            }
            self.finish_erase(true)?;
        }
    }

    /// Slots that copies can have before anything has to be cleaned. They come without an error as long as nothing
    /// fails.
    pub(super) fn slots_for_copies(&self) -> u32 {
        let slots = self.shape.slots;
        let of_open = |open: &OpenSegment| if open.is_open() { slots - open.next } else { 0 };
        let begun: u32 = self.open.iter().chain(&self.parked).chain(&self.continuable).map(of_open).sum();
        begun + (self.free.total() + u32::from(self.is_erasing)) * slots
    }

    /// The class that takes the next copy meant for `wanted`. It fails if there is no slot.
    pub(super) fn slot_for_copy(&mut self, wanted: Class) -> Result<Class, FtlError> {
        self.find_slot(wanted, Purpose::Copy)?.ok_or_else(|| self.worn_out())
    }

    /// The class whose open segment takes the next page meant for `wanted`. It is another class if no segment can be
    /// opened for `wanted`. None if only cleaning can help.
    #[inline]
    pub(super) fn find_slot(&mut self, wanted: Class, purpose: Purpose) -> Result<Option<Class>, FtlError> {
        if self.has_room(wanted) { Ok(Some(wanted)) } else { self.open_slot(wanted, purpose) }
    }

    #[cold]
    fn open_slot(&mut self, wanted: Class, purpose: Purpose) -> Result<Option<Class>, FtlError> {
        // The bank of its own segment may have ended the erase. Then no free segment has to be opened.
        if self.unpark(wanted) {
            return Ok(Some(wanted));
        }
        // Free segments may turn out bad when they are opened, but not more often than there are segments.
        for _ in 0..=self.shape.segments {
            // A page in another class is better than a segment less in reserve, so the reserve is opened only for
            // copies.
            let may_open = !self.is_urgent();
            let room = if may_open { None } else { self.find_room() };
            // A copy takes the last free segment only if no open segment of any class can take it.
            if may_open || (purpose == Purpose::Copy && room.is_none() && self.free.total() > 0) {
                if self.open_for(wanted)? {
                    return Ok(Some(wanted));
                }
            } else if room.is_some() {
                return Ok(room);
            } else if self.is_erasing {
                self.finish_erase(true)?;
            } else {
                return Ok(None);
            }
        }
        Err(self.worn_out())
    }

    /// A class that has room, if need be in a segment that was put aside, or in one that a mount found open.
    fn find_room(&mut self) -> Option<Class> {
        let classes = || (0..Class::COUNT as u8).map(Class);
        let room = classes().find(|&class| self.has_room(class));
        room.or_else(|| classes().find(|&class| self.unpark(class))).or_else(|| self.continue_another())
    }

    /// The free segment to open next, waiting for an erase if only erasing banks have one.
    fn next_free(&mut self, class: Class) -> Result<Seg, FtlError> {
        // Resting data goes to the most worn free segment, which then rests too.
        if class == Class::WEAR
            && let Some(seg) = self.free.most_worn(|s| self.table().erases(s))
            && !self.log.is_erasing(self.free.bank_of(seg))
        {
            return Ok(seg);
        }
        loop {
            let log = &mut self.log;
            if let Some(seg) = self.free.next(|bank| log.is_erasing(bank)) {
                return Ok(seg);
            }
            if !self.is_erasing {
                return Err(self.worn_out());
            }
            // One erase runs at a time, so the next turn finds no bank erasing.
            self.finish_erase(true)?;
        }
    }

    /// Opens a free segment for a class that has none open. False if the segment chosen turned out bad.
    pub(super) fn open_for(&mut self, class: Class) -> Result<bool, FtlError> {
        assert!(!self.has_room(class), "a class fills one segment at a time");
        // The mark says that nothing changed after it (Spec P4), so it goes before the first program.
        self.remove_clean_mark()?;
        let seg = self.next_free(class)?;
        // From here on it is not among the free ones, whatever fails: `retire` and `erase_again` expect that.
        self.free.remove(seg);
        // A cut may have left the segment erased in part.
        if self.table().state(seg) == SegState::Suspect
            && !self.erase_suspect(seg).inspect_err(|_| self.erase_again(seg))?
        {
            return Ok(false);
        }
        let stamp = self.index.clock().stamp();
        match self.log.open(seg, class, stamp) {
            Ok(programmed) => self.stats.meta_programs += u64::from(programmed),
            // On NOR the opening could not be programmed. On NAND a block was marked bad since the erase (Spec N1).
            Err(ErrorKind::ProgramFailed) => {
                self.retire(seg)?;
                return Ok(false);
            }
            Err(error) => {
                self.erase_again(seg);
                return Err(FtlError::Chip(error));
            }
        }
        self.index.pool_mut().table_mut().open(seg, class, stamp);
        self.placement.opened(Opened { seg, class, clock: self.index.clock().host_pages });
        let stop = self.log.stop_at(seg, 0);
        self.open[class.index()] = OpenSegment { seg, next: 0, stop };
        // The class goes on in this segment while the one it was filling waits for its bank.
        if self.parked[class.index()].is_open() {
            self.probe.turned(class.0);
        }
        // One free segment less may be what the trigger waits for.
        if self.free.usable() < self.rules.alert_below {
            self.index.pool_mut().attention().call();
        }
        Ok(true)
    }
}
