//! The segment table (the lookup table of Chiang '97, section 3.4): the state of each segment.

use alloc::vec;
use alloc::vec::Vec;

use crate::addr::{Class, Seg};

/// So many segments, as a power of two, may be closed at one age clock before the numbers of [`Segments::closed`] run
/// ahead of it, by one for each time as many.
const SAME_CLOCK_BITS: u32 = 16;

/// How far the data in a segment is to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// The data is good.
    Sound,
    /// The data fades: the segment is to be emptied out of turn.
    Fading,
    /// A program in it failed: the segment is to be emptied out of turn, and retired.
    Failing,
}

/// What a segment is being used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegState {
    /// Erased, and not open.
    Free,
    /// Free, but to be erased again before it is opened, because a power cut may have left it erased in part.
    Suspect,
    /// Taking writes.
    Open(Health),
    /// Holds data and takes no more.
    Closed(Health),
    /// Chosen by cleaning or wear leveling; its valid pages are being moved.
    Victim(Health),
    /// Being erased in the background. Or the segment with the mark of a clean shutdown, which is to be erased before
    /// anything else.
    Erasing,
    /// Retired: a program or an erase failed, or it was bad from the factory.
    Bad,
}

impl SegState {
    /// How far the data is to be trusted. A segment without data is sound.
    pub fn health(self) -> Health {
        match self {
            Self::Open(health) | Self::Closed(health) | Self::Victim(health) => health,
            Self::Free | Self::Suspect | Self::Erasing | Self::Bad => Health::Sound,
        }
    }

    /// True if the segment belongs to a class: it is being filled or holds data.
    pub fn is_in_use(self) -> bool {
        matches!(self, Self::Open(_) | Self::Closed(_) | Self::Victim(_))
    }
}

/// What changes with each page that becomes valid or invalid: together, so that it is in one line of the cache.
#[derive(Debug, Clone, Copy)]
struct Row {
    invalidated: u64,
    valid: u32,
    state: SegState,
    class: Class,
}

/// The table of segments. Policies see it, and only the engine changes it.
///
/// Invariants: `valid(s)` is the number of pages of `s` that the map points to; it is 0 for free, erasing and bad
/// segments. `bad` and `unsound` are the numbers of bad and of unsound segments. `closed(s)` rises with every segment
/// that is closed; above `SAME_CLOCK_BITS` it is the age clock of that moment.
#[derive(Debug, Clone)]
pub struct Segments {
    slots: u32,
    rows: Vec<Row>,
    erases: Vec<u32>,
    opened: Vec<u64>,
    newest: Vec<u64>,
    closed: Vec<u64>,
    last_closed: u64,
    bad: u32,
    unsound: u32,
}

/// Accessors for policies.
impl Segments {
    /// Number of segments.
    pub fn count(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Data pages in a segment.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// All segments.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = Seg> + use<> {
        (0..self.count()).map(Seg)
    }

    /// Valid pages.
    #[inline]
    pub fn valid(&self, seg: Seg) -> u32 {
        self.rows[seg.index()].valid
    }

    /// Times erased.
    #[inline]
    pub fn erases(&self, seg: Seg) -> u32 {
        self.erases[seg.index()]
    }

    /// Times that each good segment was erased.
    pub fn good_erases(&self) -> impl Iterator<Item = u32> + '_ {
        self.all().filter(|&seg| self.state(seg) != SegState::Bad).map(|seg| self.erases(seg))
    }

    /// Use.
    #[inline]
    pub fn state(&self, seg: Seg) -> SegState {
        self.rows[seg.index()].state
    }

    /// Class it was opened for.
    pub fn class(&self, seg: Seg) -> Class {
        self.rows[seg.index()].class
    }

    /// Age clock when it was opened.
    #[inline]
    pub fn opened(&self, seg: Seg) -> u64 {
        self.opened[seg.index()]
    }

    /// Age clock when a page of it last became invalid, or when it was opened.
    #[inline]
    pub fn invalidated(&self, seg: Seg) -> u64 {
        self.rows[seg.index()].invalidated
    }

    /// Age clock of the newest data in it; copied data counts with its source's value.
    #[inline]
    pub fn newest(&self, seg: Seg) -> u64 {
        self.newest[seg.index()]
    }

    /// A number given when it was closed, greater than that of every segment closed before.
    #[inline]
    pub fn closed(&self, seg: Seg) -> u64 {
        self.closed[seg.index()]
    }

    /// Age clock when it was closed; after a mount, that of the mount.
    #[inline]
    pub fn sealed(&self, seg: Seg) -> u64 {
        self.closed[seg.index()] >> SAME_CLOCK_BITS
    }

    /// True if cleaning may choose the segment: closed, and neither full nor empty.
    #[inline]
    pub fn is_candidate(&self, seg: Seg) -> bool {
        let valid = self.valid(seg);
        matches!(self.state(seg), SegState::Closed(_)) && valid > 0 && valid < self.slots
    }

    /// Valid fraction u.
    pub fn utilization(&self, seg: Seg) -> f64 {
        f64::from(self.valid(seg)) / f64::from(self.slots)
    }

    /// Segments that are not retired.
    pub fn good(&self) -> u32 {
        self.count() - self.bad
    }

    /// Segments that are neither retired nor about to be retired.
    pub(crate) fn sound(&self) -> u32 {
        self.good() - self.all().filter(|&s| self.is_failing(s)).count() as u32
    }

    /// True if the segment is to be retired once it is empty.
    #[inline]
    pub(crate) fn is_failing(&self, seg: Seg) -> bool {
        self.state(seg).health() == Health::Failing
    }

    /// Segments to be emptied out of turn.
    #[inline]
    pub(crate) fn unsound(&self) -> u32 {
        self.unsound
    }

    /// The candidate with the fewest valid pages, found by looking at all. One that is to be retired comes last:
    /// emptying it gives no segment back.
    pub(crate) fn fewest_valid(&self) -> Option<Seg> {
        let candidates = self.all().filter(|&s| self.is_candidate(s));
        candidates.min_by_key(|&s| (self.is_failing(s), self.valid(s), self.erases(s), s.0))
    }

    /// The closed segment with data that was erased least often. A segment without data is about to be erased anyway.
    pub(crate) fn least_worn_with_data(&self) -> Option<Seg> {
        self.all()
            .filter(|&s| matches!(self.state(s), SegState::Closed(_)) && self.valid(s) > 0)
            .min_by_key(|&s| (self.erases(s), s.0))
    }

    /// The first closed segment with data that is to be emptied out of turn.
    pub(crate) fn first_unsound(&self) -> Option<Seg> {
        let is_waiting = |s: &Seg| matches!(self.state(*s), SegState::Closed(Health::Fading | Health::Failing));
        self.all().filter(is_waiting).find(|&s| self.valid(s) > 0)
    }

    /// Bytes the table takes.
    pub(crate) fn table_bytes(&self) -> u64 {
        self.rows.len() as u64 * Self::BYTES_PER_SEGMENT as u64
    }
}

/// Changes by the engine.
impl Segments {
    /// Bytes that the table takes for each.
    pub(crate) const BYTES_PER_SEGMENT: usize = size_of::<Row>() + size_of::<u32>() + 3 * size_of::<u64>();

    pub(crate) fn new(segments: u32, slots: u32) -> Self {
        let n = segments as usize;
        Self {
            slots,
            rows: vec![Row { invalidated: 0, valid: 0, state: SegState::Free, class: Class(0) }; n],
            erases: vec![0; n],
            opened: vec![0; n],
            newest: vec![0; n],
            closed: vec![0; n],
            last_closed: 0,
            bad: 0,
            unsound: 0,
        }
    }

    /// Opens a free segment for writes of a class.
    pub(crate) fn open(&mut self, seg: Seg, class: Class, age_clock: u64) {
        let row = &mut self.rows[seg.index()];
        assert!(row.state == SegState::Free && row.valid == 0, "only an empty, erased segment can be opened");
        *row = Row { invalidated: age_clock, valid: 0, state: SegState::Open(Health::Sound), class };
        self.opened[seg.index()] = age_clock;
        // Copies raise it to what their source has (`transfer`).
        self.newest[seg.index()] = 0;
    }

    /// Closes an open segment.
    pub(crate) fn close(&mut self, seg: Seg, age_clock: u64) {
        let SegState::Open(health) = self.state(seg) else { panic!("only an open segment can be closed") };
        self.rows[seg.index()].state = SegState::Closed(health);
        // Many segments may be closed at one clock. Their numbers rise all the same (decision 35).
        self.last_closed = (self.last_closed + 1).max(age_clock << SAME_CLOCK_BITS);
        self.closed[seg.index()] = self.last_closed;
    }

    /// Opens a closed segment again.
    pub(crate) fn reopen(&mut self, seg: Seg) {
        let SegState::Closed(health) = self.state(seg) else { panic!("only a closed segment is opened again") };
        self.rows[seg.index()].state = SegState::Open(health);
    }

    /// Makes a closed segment the victim.
    pub(crate) fn choose(&mut self, seg: Seg) {
        let SegState::Closed(health) = self.state(seg) else { panic!("only a closed segment is emptied") };
        assert!(self.valid(seg) > 0, "a segment without data is erased, not emptied");
        self.rows[seg.index()].state = SegState::Victim(health);
    }

    /// Returns a victim to the closed segments with what it still holds.
    pub(crate) fn spare(&mut self, seg: Seg) {
        let SegState::Victim(health) = self.state(seg) else { panic!("only a victim is spared") };
        self.rows[seg.index()].state = SegState::Closed(health);
    }

    /// Returns an emptied segment to the closed ones, to wait for its erase.
    pub(crate) fn put_back(&mut self, seg: Seg) {
        let (SegState::Closed(health) | SegState::Victim(health)) = self.state(seg) else {
            panic!("only what was emptied can wait")
        };
        assert!(self.valid(seg) == 0, "it holds nothing");
        self.rows[seg.index()].state = SegState::Closed(health);
    }

    /// Marks a segment without data as being erased.
    pub(crate) fn start_erase(&mut self, seg: Seg) {
        self.leave_use(seg);
        self.rows[seg.index()].state = SegState::Erasing;
    }

    /// Makes a segment free.
    pub(crate) fn release(&mut self, seg: Seg) {
        self.leave_use(seg);
        self.rows[seg.index()].state = SegState::Free;
    }

    /// Marks a free segment as suspect: it has to be erased again before it is opened.
    pub(crate) fn suspect(&mut self, seg: Seg) {
        assert!(matches!(self.state(seg), SegState::Free | SegState::Suspect), "only what is free");
        self.rows[seg.index()].state = SegState::Suspect;
    }

    /// Turns a suspect segment into a closed one without data.
    pub(crate) fn close_suspect(&mut self, seg: Seg) {
        assert!(self.state(seg) == SegState::Suspect, "what is known to be erased is free");
        self.rows[seg.index()].state = SegState::Closed(Health::Sound);
    }

    /// Takes a segment out of use for good.
    pub(crate) fn retire(&mut self, seg: Seg) {
        self.leave_use(seg);
        self.bad += u32::from(self.state(seg) != SegState::Bad);
        self.rows[seg.index()].state = SegState::Bad;
    }

    fn leave_use(&mut self, seg: Seg) {
        assert!(self.valid(seg) == 0, "a segment is emptied before it is erased or retired");
        self.unsound -= u32::from(self.state(seg).health() != Health::Sound);
    }

    /// Lowers the health of a segment to at most `health`. True if it is newly to be emptied out of turn.
    pub(crate) fn distrust(&mut self, seg: Seg, health: Health) -> bool {
        let state = &mut self.rows[seg.index()].state;
        let (SegState::Open(known) | SegState::Closed(known) | SegState::Victim(known)) = state else {
            panic!("only what holds data can fade or fail")
        };
        let was_sound = *known == Health::Sound;
        // The worst that is known stays: a failing segment whose data also fades is retired all the same.
        *known = health.max(*known);
        let is_new = was_sound && *known != Health::Sound;
        self.unsound += u32::from(is_new);
        is_new
    }

    /// Counts one more valid page, which the host wrote at `age_clock`.
    #[inline(always)]
    pub(crate) fn gain(&mut self, seg: Seg, age_clock: u64) {
        self.rows[seg.index()].valid += 1;
        self.newest[seg.index()] = age_clock;
    }

    /// Counts one valid page less. Returns how many are left.
    #[inline(always)]
    pub(crate) fn lose(&mut self, seg: Seg, age_clock: u64) -> u32 {
        let row = &mut self.rows[seg.index()];
        row.valid -= 1;
        row.invalidated = age_clock;
        row.valid
    }

    /// Moves valid pages from one segment to another.
    #[inline]
    pub(crate) fn transfer(&mut self, from: Seg, to: Seg, pages: u32) {
        self.rows[from.index()].valid -= pages;
        self.rows[to.index()].valid += pages;
        // Ages are kept by segment, so the destination takes over that of its source (decision 16).
        self.newest[to.index()] = self.newest[to.index()].max(self.newest[from.index()]);
    }

    /// Sets the erase count.
    pub(crate) fn set_erases(&mut self, seg: Seg, erases: u32) {
        self.erases[seg.index()] = erases;
    }

    /// Sets all stamps to `now`, because ages are measured in another unit from now on.
    pub(crate) fn restamp(&mut self, now: u64) {
        for stamps in [&mut self.opened, &mut self.newest] {
            stamps.fill(now);
        }
        self.rows.iter_mut().for_each(|row| row.invalidated = now);
        // The order stays.
        let mut by_close: Vec<Seg> = self.all().collect();
        by_close.sort_unstable_by_key(|&seg| self.closed(seg));
        self.last_closed = now << SAME_CLOCK_BITS;
        for seg in by_close {
            self.last_closed += 1;
            self.closed[seg.index()] = self.last_closed;
        }
    }
}

/// Entries by a mount.
impl Segments {
    /// The mount found the segment in use, opened for `class` at `opened`.
    pub(crate) fn enter_in_use(&mut self, seg: Seg, class: Class, opened: u64) {
        // It is closed as soon as its valid pages are known (`place_segments`), since lists of candidates depend on
        // these.
        self.rows[seg.index()].state = SegState::Open(Health::Sound);
        self.rows[seg.index()].class = class;
        self.stamp(seg, opened);
    }

    /// Sets all stamps of a segment to `opened`, the only time that is known.
    pub(crate) fn stamp(&mut self, seg: Seg, opened: u64) {
        self.opened[seg.index()] = opened;
        self.rows[seg.index()].invalidated = opened;
        self.newest[seg.index()] = opened;
    }

    /// The mount points the map to one more page of the segment.
    pub(crate) fn count_valid(&mut self, seg: Seg) {
        self.rows[seg.index()].valid += 1;
    }

    /// The mount points the map away from a page of the segment.
    pub(crate) fn drop_valid(&mut self, seg: Seg) {
        self.rows[seg.index()].valid -= 1;
    }
}
