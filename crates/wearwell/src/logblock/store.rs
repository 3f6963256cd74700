//! The store: the blocks of the chip, what each is used for, and every program and erase.
//!
//! Nothing here knows which page is the newest: those above say what a block is for, and when nothing in it is needed.
//! `erasing` has how segments are taken, erased, given back and retired, `clean_mark` the mark of a clean shutdown, and
//! `finding` what a format or a mount says of segments.

mod clean_mark;
mod erasing;
mod finding;

use alloc::vec;
use alloc::vec::Vec;

use wearwell_flash::{ErrorKind, ReadReport};

use super::addr::{Lbn, LogId};
use super::config::Rules;
use super::pages::{Pages, PagesShape, TagRead};
use super::tag::{Content, MAX_SEQ, Role, Tag};
use crate::addr::{Lpn, Ppn, Seg};
use crate::clean::reclaim::Occupancy;
use crate::dead::DeadPages;
use crate::free::FreePool;
use crate::ftl::FtlError;
use crate::spread::EraseSpread;
use crate::stats::Stats;

/// What a segment is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Erased, and in the list of free ones.
    Free,
    /// Being filled, or being erased.
    Taken,
    /// The data block of a logical block.
    Data(Lbn),
    /// A log block.
    Log(LogId),
    /// Bad.
    Bad,
}

/// The segments over [`Pages`].
///
/// Invariants: the free segments are those whose use is `Free`; `good_segments` are those that are not `Bad`, and
/// `spread` is that of their erase counts; numbers are given out once.
#[derive(Debug)]
pub(super) struct BlockStore<M, P> {
    /// What it all has cost. Those above count what they do.
    pub(super) stats: Stats,
    pages: M,
    shape: PagesShape,
    probe: P,
    rules: Rules,
    uses: Vec<Use>,
    erases: Vec<u32>,
    /// Segments with pages that read as erased after a power cut, but must not be programmed, or that may be unreadable
    /// later: they are erased first, and the mark of a clean shutdown says that there are some.
    suspect: Vec<bool>,
    /// Segments in which a program failed.
    condemned: Vec<Seg>,
    free: FreePool,
    good_segments: u32,
    spread: EraseSpread,
    erases_since_move: u32,
    is_wear_due: bool,
    /// Pages that were discarded.
    dead_pages: DeadPages,
    /// The segment that holds the mark of a clean shutdown.
    clean_mark: Option<Seg>,
    next_seq: u64,
}

impl<M: Pages, P> BlockStore<M, P> {
    /// The segments of a chip of which nothing is known yet.
    pub(super) fn new(pages: M, probe: P, rules: Rules) -> Self {
        let shape = pages.shape();
        Self {
            stats: Stats::default(),
            pages,
            shape,
            probe,
            rules,
            // A segment that a mount leaves like this is stale (`list_stale`).
            uses: vec![Use::Taken; shape.segments as usize],
            erases: vec![0; shape.segments as usize],
            suspect: vec![false; shape.segments as usize],
            condemned: Vec::new(),
            free: FreePool::new(shape.segments, 1),
            good_segments: 0,
            spread: EraseSpread::default(),
            erases_since_move: 0,
            is_wear_due: false,
            dead_pages: DeadPages::new(shape.segments),
            clean_mark: None,
            // This is greater than the number that a mount notes for a logical block without a commit.
            next_seq: 1,
        }
    }

    pub(super) fn shape(&self) -> &PagesShape {
        &self.shape
    }

    /// The pages below.
    pub(super) fn pages(&self) -> &M {
        &self.pages
    }

    /// The pages below. The store does not notice what is written behind it.
    pub(super) fn pages_mut(&mut self) -> &mut M {
        &mut self.pages
    }

    pub(super) fn probe_mut(&mut self) -> &mut P {
        &mut self.probe
    }

    /// Gives back what it was made of.
    pub(super) fn into_parts(self) -> (M, P) {
        (self.pages, self.probe)
    }

    pub(super) fn page_in(&self, seg: Seg, page: u32) -> Ppn {
        Ppn(seg.0 * self.shape.pages + page)
    }

    pub(super) fn segment_of(&self, at: Ppn) -> Seg {
        Seg(at.0 / self.shape.pages)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Seg> + use<M, P> {
        (0..self.shape.segments).map(Seg)
    }

    /// What a segment is used for.
    pub(super) fn used(&self, seg: Seg) -> Use {
        self.uses[seg.index()]
    }

    /// Times that a segment was erased.
    pub(super) fn erases(&self, seg: Seg) -> u32 {
        self.erases[seg.index()]
    }

    /// Times erased of every good segment.
    pub(super) fn good_erases(&self) -> impl Iterator<Item = u32> + '_ {
        self.erases.iter().zip(&self.uses).filter(|&(_, used)| *used != Use::Bad).map(|(&erases, _)| erases)
    }

    pub(super) fn free_segments(&self) -> u32 {
        self.free.total()
    }

    pub(super) fn good_segments(&self) -> u32 {
        self.good_segments
    }

    /// True if the data and the reserve do not fit any more: a merge might find no free segment.
    pub(super) fn is_worn_out(&self) -> bool {
        self.good_segments < self.rules.needed_segments
    }

    #[cold]
    pub(super) fn worn_out(&self) -> FtlError {
        FtlError::WornOut { good_segments: self.good_segments, needed_segments: self.rules.needed_segments }
    }

    /// Segments that are to stay free when a log block is opened, those for failures among them.
    pub(super) fn held_segments(&self) -> u32 {
        self.rules.held_segments(&self.shape, self.good_segments)
    }

    /// Segments in which a program failed, and that are still in use.
    pub(super) fn condemned(&self) -> &[Seg] {
        &self.condemned
    }

    /// A taken segment is the data block of a logical block from now on.
    pub(super) fn use_as_data(&mut self, seg: Seg, lbn: Lbn) {
        self.uses[seg.index()] = Use::Data(lbn);
    }

    /// A taken segment is a log block from now on.
    pub(super) fn use_as_log(&mut self, seg: Seg, id: LogId) {
        self.uses[seg.index()] = Use::Log(id);
    }

    /// Counts a page that the host has discarded.
    pub(super) fn add_dead_page(&mut self, at: Ppn) {
        self.dead_pages.add(self.segment_of(at));
    }

    pub(super) fn dead_pages(&self) -> u64 {
        self.dead_pages.total()
    }

    /// What the rules of reclamation look at.
    pub(super) fn occupancy(&self) -> Occupancy {
        Occupancy {
            dead_pages: self.dead_pages.total(),
            pages: u64::from(self.good_segments) * u64::from(self.shape.pages),
            used_blocks: self.good_segments - self.free.total(),
            blocks: self.good_segments,
        }
    }

    /// True if the wear policy wants the data of the least worn segment moved.
    pub(super) fn is_wear_due(&self) -> bool {
        self.is_wear_due
    }

    /// The logical block to move to the most worn free segment, if that has been erased more often than the least worn
    /// one with data: data that stays put frees a segment that has been spared (FSAF '09, section 5.1).
    pub(super) fn choose_wear_move(&mut self) -> Option<Lbn> {
        // The next move waits for as many erases again, whatever comes of this one.
        self.is_wear_due = false;
        self.erases_since_move = 0;
        let uses = (0_u32..).zip(&self.uses);
        let data = uses.filter_map(|(seg, used)| if let Use::Data(lbn) = used { Some((Seg(seg), *lbn)) } else { None });
        // Ties go to the lowest number, so that equal runs give equal results (invariant 8).
        let (seg, lbn) = data.min_by_key(|(seg, _)| (self.erases[seg.index()], seg.0))?;
        let worn = self.free.most_worn(|s| self.erases[s.index()])?;
        // Data that stays put spares its segment. That pays only for a segment that is worn more.
        (self.erases[worn.index()] > self.erases[seg.index()]).then_some(lbn)
    }

    /// Bytes of the tables.
    pub(super) fn table_bytes(&self) -> u64 {
        let segments = self.uses.len() * (size_of::<Use>() + size_of::<u32>() + 1);
        segments as u64 + self.dead_pages.table_bytes()
    }
}

/// Pages: each that is programmed gets a number and says what it is.
impl<M: Pages, P> BlockStore<M, P> {
    pub(super) fn read(&mut self, at: Ppn, data: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        self.pages.read(at, data)
    }

    pub(super) fn tag(&mut self, at: Ppn) -> Result<TagRead, ErrorKind> {
        self.pages.tag(at)
    }

    fn take_seq(&mut self) -> u64 {
        let seq = self.next_seq;
        assert!(seq <= MAX_SEQ, "sequence numbers outlast the flash");
        self.next_seq += 1;
        seq
    }

    /// Programs a page of data, with a number of its own.
    pub(super) fn program(&mut self, at: Ppn, data: &[u8], lpn: Lpn, role: Role) -> Result<(), ErrorKind> {
        self.program_as(at, data, lpn, Content::Data, role)
    }

    /// Programs a page that holds no data of the host's, with a number of its own. A record is what it holds.
    pub(super) fn program_meta(
        &mut self,
        at: Ppn,
        record: &[u8],
        lpn: Lpn,
        kind: Content,
        role: Role,
    ) -> Result<(), ErrorKind> {
        self.stats.meta_programs += 1;
        self.program_as(at, record, lpn, kind, role)
    }

    fn program_as(&mut self, at: Ppn, data: &[u8], lpn: Lpn, kind: Content, role: Role) -> Result<(), ErrorKind> {
        let erases = self.erases(self.segment_of(at));
        // A program that fails has used up its number, because the page may be on flash all the same.
        let tag = Tag { lpn, seq: self.take_seq(), erases, kind, role };
        self.pages.program(at, data, &tag)
    }

    /// Copies a page with its tag.
    pub(super) fn copy(&mut self, from: Ppn, to: Ppn) -> Result<(), ErrorKind> {
        self.pages.copy(from, to)
    }

    /// Copies a page of data that has a role of its own where it goes. Only a commit gets a number of its own.
    pub(super) fn copy_as(&mut self, from: Ppn, to: Ppn, lpn: Lpn, role: Role) -> Result<(), ErrorKind> {
        let own_seq = role.is_commit();
        // The copy of any other page takes the number of its source.
        let seq = if own_seq { self.take_seq() } else { 0 };
        let tag = Tag { lpn, seq, erases: self.erases(self.segment_of(to)), kind: Content::Data, role };
        self.pages.copy_as(from, to, &tag, own_seq)
    }
}
