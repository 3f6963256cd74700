//! The lookup table (Chiang '97, section 3.4): what the engine knows of each segment, one array a column.

use alloc::vec;
use alloc::vec::Vec;

use crate::addr::{Class, Seg};

/// What a segment is being used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum SegState {
    /// Erased, or to be erased before use; not open.
    Free,
    /// Taking writes.
    Open,
    /// Holds data and takes no more.
    Closed,
    /// Chosen by cleaning or wear leveling; its valid pages are being moved.
    Victim,
    /// Being erased in the background, or to be erased before anything else: the mark of a clean shutdown.
    Erasing,
    /// Retired: a program or an erase failed, or it was bad from the factory.
    Bad,
}

/// The table of segments.
///
/// Invariants: `valid[s]` is the number of pages of `s` that the map points to; it is 0 for free, erasing and
/// bad segments. A segment that is closed, not full and not empty is a candidate of the victim policy.
#[derive(Debug, Clone)]
pub struct Segments {
    /// Data pages in a segment.
    pub slots: u32,
    /// Valid pages.
    pub valid: Vec<u32>,
    /// Times erased.
    pub erases: Vec<u32>,
    /// Use.
    pub state: Vec<SegState>,
    /// Class it was opened for.
    pub class: Vec<Class>,
    /// Age clock when it was opened.
    pub opened: Vec<u64>,
    /// Age clock when a page of it last became invalid, or when it was opened.
    pub invalidated: Vec<u64>,
    /// Age clock of the newest data in it; copied data counts with its source's value.
    pub newest: Vec<u64>,
    /// Running number given when it was closed.
    pub closed: Vec<u64>,
    /// Must be erased again before it is used: a power cut may have left it erased in part.
    pub suspect: Vec<bool>,
    /// To be emptied out of turn: a program failed in it, or its data fades.
    pub urgent: Vec<bool>,
    /// To be retired once it is empty.
    pub failing: Vec<bool>,
    next_closed: u64,
    /// Segments whose state is [`SegState::Bad`]; changed only in `set_bad`.
    bad: u32,
}

impl Segments {
    pub(crate) fn new(segments: u32, slots: u32) -> Self {
        let n = segments as usize;
        Self {
            slots,
            valid: vec![0; n],
            erases: vec![0; n],
            state: vec![SegState::Free; n],
            class: vec![Class(0); n],
            opened: vec![0; n],
            invalidated: vec![0; n],
            newest: vec![0; n],
            closed: vec![0; n],
            suspect: vec![false; n],
            urgent: vec![false; n],
            failing: vec![false; n],
            next_closed: 1,
            bad: 0,
        }
    }

    /// Number of segments.
    pub fn count(&self) -> u32 {
        self.valid.len() as u32
    }

    /// All segments.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = Seg> + use<> {
        (0..self.count()).map(Seg)
    }

    /// True if cleaning may choose the segment: closed, and neither full nor empty.
    #[inline]
    pub fn is_candidate(&self, seg: Seg) -> bool {
        let valid = self.valid[seg.index()];
        self.state[seg.index()] == SegState::Closed && valid > 0 && valid < self.slots
    }

    /// Valid fraction u.
    pub fn utilization(&self, seg: Seg) -> f64 {
        f64::from(self.valid[seg.index()]) / f64::from(self.slots)
    }

    pub(crate) fn open(&mut self, seg: Seg, class: Class, age_clock: u64) {
        let i = seg.index();
        assert!(self.state[i] == SegState::Free && self.valid[i] == 0, "only an empty, free segment can be opened");
        self.state[i] = SegState::Open;
        self.class[i] = class;
        self.opened[i] = age_clock;
        self.invalidated[i] = age_clock;
        self.newest[i] = 0;
        self.suspect[i] = false;
    }

    pub(crate) fn close(&mut self, seg: Seg) {
        let i = seg.index();
        assert!(self.state[i] == SegState::Open, "only an open segment can be closed");
        self.state[i] = SegState::Closed;
        self.closed[i] = self.next_closed;
        self.next_closed += 1;
    }

    /// The candidate with the fewest valid pages, found by looking at all: for when the reserve is touched
    /// and the policy does not matter.
    pub(crate) fn fewest_valid(&self) -> Option<Seg> {
        self.all()
            .filter(|&s| self.is_candidate(s))
            .min_by_key(|&s| (self.valid[s.index()], self.erases[s.index()], s.0))
    }

    /// The closed segment with data that was erased least often. One without is about to be erased anyway.
    pub(crate) fn least_worn_with_data(&self) -> Option<Seg> {
        self.all()
            .filter(|&s| self.state[s.index()] == SegState::Closed && self.valid[s.index()] > 0)
            .min_by_key(|&s| (self.erases[s.index()], s.0))
    }

    /// Segments that are not retired.
    pub(crate) fn good(&self) -> u32 {
        self.count() - self.bad
    }

    /// Segments that are neither retired nor about to be.
    pub(crate) fn sound(&self) -> u32 {
        self.good() - self.failing.iter().filter(|&&failing| failing).count() as u32
    }

    /// Takes a segment out of use for good.
    pub(crate) fn set_bad(&mut self, seg: Seg) {
        let old = core::mem::replace(&mut self.state[seg.index()], SegState::Bad);
        self.bad += u32::from(old != SegState::Bad);
    }

    /// Bytes the table takes.
    pub(crate) fn table_bytes(&self) -> u64 {
        self.valid.len() as u64 * (4 + 4 + 1 + 1 + 8 * 4 + 3)
    }
}
