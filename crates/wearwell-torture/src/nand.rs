//! The torture's own NAND chip: an array of pages that records what was done to each.
//!
//! # Fault model
//!
//! It follows the contract on [`Nand`] and the behaviour of real parts. It does not follow the emulator.
//!
//! | what happens | what it leaves |
//! | --- | --- |
//! | a program is cut | the page erased; programmed; uncorrectable; *reads as erased* and must not be programmed; or *fading*: it reads well a few times, or until the power was off once more. Earlier pages of its group of `paired_pages` stay, become uncorrectable, or (mode `pairs`) fade, each its own way |
//! | an erase is cut | the block as it was; erased; uncorrectable; *weakly erased*: reads as erased, and must be erased again; or (mode `mixed`) each page its own way: as it was, uncorrectable, fading, reads as erased |
//! | a program fails | the page reads as erased, is uncorrectable, programmed, or fades; all later programs and erases of the block fail |
//! | an erase fails | the block as it was, uncorrectable, or reads as erased; all later programs and erases of it fail |
//! | a mark fails | no mark |
//! | `Other` | the program or the erase happened, or not |
//! | a page decays | uncorrectable, whatever it held, at any time |
//! | a read asks for a refresh | nothing |
//!
//! Breaches of the contract are recorded: [`Medium::violations`].

mod losses;
mod owners;
mod segment;
mod torn;

use std::cell::RefCell;
use std::rc::Rc;

use fastrand::Rng;
use wearwell_flash::{BlockAddr, ErrorKind, Nand, NandGeometry, PageAddr, ProgramOrder, ReadReport};

use crate::content::{self, Content};
use crate::faults::{Faults, Hit, Op};
use crate::medium::{Decayed, Layout, Medium, Unsure};
pub use crate::mode::Temper;
pub use crate::setup::Driver;
use segment::Segment;
use torn::fading;

/// The state of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    Erased,
    /// Holds what was programmed.
    Good,
    Uncorrectable,
    /// Reads as erased, and must not be programmed.
    LooksErased,
    /// As `Good`, but only for a while.
    Fading {
        reads_left: u8,
        outlasts_power_off: bool,
    },
}

impl Cell {
    fn reads_as_erased(self) -> bool {
        matches!(self, Self::Erased | Self::LooksErased)
    }

    /// True if what was programmed can be read, for now at least.
    fn is_readable(self) -> bool {
        matches!(self, Self::Good | Self::Fading { .. })
    }
}

#[derive(Debug, Clone, Copy)]
struct Page {
    cell: Cell,
    /// True if it held something and decayed.
    decayed: bool,
    /// True if it was read since the power is on, and was fading.
    was_read: bool,
}

#[derive(Debug, Clone, Default)]
struct Block {
    marked: bool,
    /// The failure, counted from the chip's first, from which on all programs and erases fail.
    broken_by: Option<u32>,
    /// Reads as erased, and must not be programmed.
    weak: bool,
    /// The first page that may be programmed next.
    next: u32,
}

/// The chip.
#[derive(Debug)]
pub struct NandChip {
    geometry: NandGeometry,
    temper: Temper,
    driver: Driver,
    pages: Vec<Page>,
    /// The bytes of all pages. They count where a page was programmed.
    data: Vec<u8>,
    spare: Vec<u8>,
    blocks: Vec<Block>,
    /// The block that was filled last. Block mapping commits a merge with the last page.
    filled_last: Option<usize>,
    faults: Faults,
    violations: Vec<String>,
    /// Random bytes.
    noise: Rng,
}

impl NandChip {
    /// A chip, erased.
    pub fn new(geometry: NandGeometry, temper: Temper, driver: Driver) -> Self {
        let pages = geometry.pages() as usize;
        Self {
            geometry,
            temper,
            driver,
            pages: vec![Page { cell: Cell::Erased, decayed: false, was_read: false }; pages],
            data: vec![0; pages * geometry.page_bytes as usize],
            spare: vec![0xFF; pages * geometry.spare_bytes as usize],
            blocks: vec![Block::default(); geometry.blocks as usize],
            filled_last: None,
            faults: Faults::default(),
            violations: Vec::new(),
            noise: Rng::with_seed(0),
        }
    }

    fn violate(&mut self, what: String) {
        self.violations.push(what);
    }

    fn powered(&self) -> Result<(), ErrorKind> {
        if self.faults.is_off() { Err(ErrorKind::Unresponsive) } else { Ok(()) }
    }

    /// The page's block, and its number in the block.
    fn split(&self, page: PageAddr) -> (usize, u32) {
        ((page.0 / self.geometry.pages_per_block) as usize, page.0 % self.geometry.pages_per_block)
    }

    fn pages_of(&mut self, block: usize) -> &mut [Page] {
        let pages = self.geometry.pages_per_block as usize;
        &mut self.pages[block * pages..][..pages]
    }

    fn check_program(&mut self, page: PageAddr) {
        let (b, offset) = self.split(page);
        let (block, cell) = (&self.blocks[b], self.pages[page.0 as usize].cell);
        let ascending = self.geometry.program_order == ProgramOrder::Ascending;
        let broken_rule = if block.marked {
            "programs a block that is marked bad"
        } else if block.broken_by.is_some() {
            "programs a block that has failed"
        } else if block.weak {
            "programs a block that is erased weakly"
        } else if cell != Cell::Erased {
            "programs a page twice, or one that only reads as erased"
        } else if ascending && offset < block.next {
            "programs a page out of order"
        } else {
            return;
        };
        self.violate(format!("the engine {broken_rule}: block {b}, page {offset}, which is {cell:?}"));
    }

    fn put(&mut self, page: PageAddr, data: &[u8], spare: &[u8], cell: Cell) {
        let at = page.0 as usize;
        self.pages[at] = Page { cell, decayed: false, was_read: false };
        let (data_bytes, spare_bytes) = (self.geometry.page_bytes as usize, self.geometry.spare_bytes as usize);
        self.data[at * data_bytes..][..data_bytes].copy_from_slice(data);
        let stored = &mut self.spare[at * spare_bytes..][..spare_bytes];
        stored.fill(0xFF);
        stored[..spare.len()].copy_from_slice(spare);
    }

    fn data_of(&self, page: usize) -> &[u8] {
        let bytes = self.geometry.page_bytes as usize;
        &self.data[page * bytes..][..bytes]
    }

    /// True if the bytes of a page say what wrote it: a header, a tag page, or a summary.
    fn has_magic(&self, page: usize) -> bool {
        self.data_of(page).starts_with(b"WW")
    }

    fn spare_of(&self, page: usize) -> &[u8] {
        let bytes = self.geometry.spare_bytes as usize;
        &self.spare[page * bytes..][..bytes]
    }

    /// The page of the host's that a page of the chip holds, if it was ever programmed with one.
    fn owner_of(&self, page: usize, sectors_per_page: u32) -> Option<(u32, Content)> {
        content::owner_of(self.data_of(page), sectors_per_page)
    }

    fn program_page(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Result<(), ErrorKind> {
        self.check_program(page);
        let (b, offset) = self.split(page);
        let hit = self.faults.strike(Op::Program);
        let was = self.pages[page.0 as usize].cell;
        if hit.is_none() && self.blocks[b].broken_by.is_none() {
            self.blocks[b].next = offset + 1;
            if offset + 1 == self.geometry.pages_per_block {
                self.filled_last = Some(b);
            }
            self.put(page, data, spare, if was == Cell::Erased { Cell::Good } else { Cell::Uncorrectable });
            return Ok(());
        }
        let draw = match hit {
            Some(Hit::Cut(draw) | Hit::Fail(draw) | Hit::Other(draw)) => draw,
            // A block that failed earlier has no draw. The page decides, so that a replay leaves the same.
            None => u64::from(page.0),
        };
        let mut rng = Rng::with_seed(draw);
        match hit {
            Some(Hit::Cut(_)) => {
                self.leave_cut_program(page, data, spare, &mut rng);
                Err(ErrorKind::Unresponsive)
            }
            Some(Hit::Other(_)) => {
                if rng.bool() {
                    self.blocks[b].next = offset + 1;
                    self.put(page, data, spare, Cell::Good);
                }
                Err(ErrorKind::Other)
            }
            Some(Hit::Fail(_)) | None => {
                self.blocks[b].next = offset + 1;
                // If the power fails before the engine has dealt with it, it is as if a cut had hit it.
                self.faults.has_cut_commit |= offset + 1 == self.geometry.pages_per_block;
                self.break_block(b);
                let cell = match rng.u8(..4) {
                    0 => Cell::LooksErased,
                    1 => Cell::Uncorrectable,
                    2 => Cell::Good,
                    _ => fading(&mut rng, 6),
                };
                self.put(page, data, spare, cell);
                if self.driver == Driver::HidesFailures { Ok(()) } else { Err(ErrorKind::ProgramFailed) }
            }
        }
    }

    fn set_all(&mut self, block: usize, cell: Cell) {
        self.filled_last = self.filled_last.filter(|&filled| filled != block);
        self.pages_of(block).iter_mut().for_each(|page| (page.cell, page.decayed) = (cell, false));
        let erased = cell == Cell::Erased;
        self.blocks[block].next = if erased { 0 } else { self.geometry.pages_per_block };
        self.blocks[block].weak = false;
    }

    fn erase_block(&mut self, block: usize) -> Result<(), ErrorKind> {
        if self.blocks[block].marked {
            self.violate(format!("the engine erases block {block}, which is marked bad"));
        }
        // An erase that the driver leaves out is no operation, so it cannot be hit.
        if self.driver == Driver::SkipsErases && self.pages_of(block).iter().all(|page| page.cell.reads_as_erased()) {
            return Ok(());
        }
        match self.faults.strike(Op::Erase) {
            Some(Hit::Cut(draw)) => {
                self.leave_cut_erase(block, &mut Rng::with_seed(draw));
                Err(ErrorKind::Unresponsive)
            }
            Some(Hit::Other(draw)) => {
                if Rng::with_seed(draw).bool() {
                    self.set_all(block, Cell::Erased);
                }
                Err(ErrorKind::Other)
            }
            Some(Hit::Fail(draw)) => Err(self.fail_erase(block, draw)),
            None if self.blocks[block].broken_by.is_some() => {
                self.faults.again.extend(self.blocks[block].broken_by);
                Err(self.fail_erase(block, block as u64))
            }
            None => {
                self.set_all(block, Cell::Erased);
                Ok(())
            }
        }
    }

    fn break_block(&mut self, block: usize) {
        self.blocks[block].broken_by.get_or_insert(self.faults.failures);
    }

    fn fail_erase(&mut self, block: usize, draw: u64) -> ErrorKind {
        self.break_block(block);
        match Rng::with_seed(draw).u8(..6) {
            0..=2 => self.set_all(block, Cell::Uncorrectable),
            3 => self.set_all(block, Cell::LooksErased),
            _ => {}
        }
        ErrorKind::EraseFailed
    }

    fn read_page(&mut self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        let refresh_soon = self.faults.strike_read();
        let stored = &mut self.pages[page.0 as usize];
        match &mut stored.cell {
            Cell::Erased | Cell::LooksErased => {
                data.fill(0xFF);
                spare.fill(0xFF);
                return Ok(ReadReport::default());
            }
            Cell::Good => {}
            Cell::Fading { reads_left, .. } if *reads_left > 0 => {
                *reads_left -= 1;
                stored.was_read = true;
            }
            cell => *cell = Cell::Uncorrectable,
        }
        if stored.cell == Cell::Uncorrectable {
            if self.driver == Driver::HidesHarm {
                data.fill(0xFF);
                spare.fill(0xFF);
                return Ok(ReadReport::default());
            }
            if self.driver == Driver::HidesDecay {
                data.fill(0xFF);
                if !spare.is_empty() {
                    spare.copy_from_slice(self.spare_of(page.0 as usize));
                }
                return Ok(ReadReport::default());
            }
            self.noise.fill(data);
            self.noise.fill(spare);
            return Err(ErrorKind::Uncorrectable);
        }
        if !data.is_empty() {
            data.copy_from_slice(self.data_of(page.0 as usize));
        }
        if !spare.is_empty() {
            spare.copy_from_slice(self.spare_of(page.0 as usize));
        }
        Ok(ReadReport { corrected_bits: 0, refresh_soon })
    }

    fn check(&mut self, page: PageAddr, fits: bool) -> Result<(), ErrorKind> {
        self.powered()?;
        if fits && u64::from(page.0) < self.geometry.pages() {
            return Ok(());
        }
        self.violate(format!("the engine passes a wrong buffer or page: {page:?}"));
        Err(ErrorKind::OutOfRange)
    }

    fn check_block(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        let is_inside = block.0 < self.geometry.blocks;
        self.check(PageAddr(0), is_inside)
    }
}

impl Medium for NandChip {
    fn faults(&mut self) -> &mut Faults {
        &mut self.faults
    }

    fn violations(&mut self) -> Vec<String> {
        std::mem::take(&mut self.violations)
    }

    fn power_on(&mut self) {
        self.faults.power_on();
        for page in &mut self.pages {
            page.was_read = false;
            if let Cell::Fading { outlasts_power_off: false, .. } = page.cell {
                page.cell = Cell::Uncorrectable;
            }
        }
    }

    fn decay(&mut self, draw: u64, layout: &Layout) -> Vec<Decayed> {
        let programmed: Vec<usize> = (0..self.pages.len()).filter(|&p| self.pages[p].cell == Cell::Good).collect();
        let Some(&page) = programmed.get(draw as usize % programmed.len().max(1)) else { return Vec::new() };
        (self.pages[page].cell, self.pages[page].decayed) = (Cell::Uncorrectable, true);
        let held: Option<(u32, Content)> = self.owner_of(page, layout.sectors_per_page);
        let ends_block = (page as u32 + 1).is_multiple_of(self.geometry.pages_per_block);
        let segment = self.segment_with(page, layout);
        let Some((page, content)) = held else { return self.gone_with_tags(segment, layout) };
        let is_filled_last = segment.is_some_and(|blocks| blocks.iter().any(|block| Some(block) == self.filled_last));
        vec![Decayed::Data { page, content, ends_block, is_filled_last }]
    }

    fn mark_empty(&mut self, draw: u64, layout: &Layout) -> bool {
        let pages = self.geometry.pages_per_block as usize;
        let is_empty = |blocks: &Segment| {
            // A header is what an erase ends with.
            let header = layout.has_summaries.then_some(blocks.first * pages);
            let mut all = blocks.iter().flat_map(|block| block * pages..(block + 1) * pages);
            let is_good = |block: usize| !self.blocks[block].marked && self.blocks[block].broken_by.is_none();
            blocks.iter().all(is_good) && all.all(|page| self.pages[page].cell == Cell::Erased || Some(page) == header)
        };
        let segments = self.segments(layout.blocks_per_segment).take(layout.segments as usize);
        let empty: Vec<Segment> = segments.filter(is_empty).collect();
        let Some(blocks) = empty.get(draw as usize % empty.len().max(1)) else { return false };
        self.blocks[blocks.first].marked = true;
        // The engine has one segment less, as if an operation had failed.
        self.faults.failures += 1;
        true
    }

    fn unsure(&self, layout: &Layout) -> Vec<Unsure> {
        let has_decayed = self.pages.iter().any(|page| page.decayed);
        if has_decayed { self.lost_unnoticed(layout) } else { Vec::new() }
    }

    fn has_lost_segment(&self, layout: &Layout) -> bool {
        let pages = self.geometry.pages_per_block as usize;
        layout.has_summaries
            && self.segments(layout.blocks_per_segment).any(|blocks| {
                // The header is the first page, and the next one in a stripe lies in the next block.
                let first_slot = blocks.iter().nth(1).map_or(blocks.first * pages + 1, |block| block * pages);
                let are_gone = self.pages[blocks.first * pages].decayed && self.pages[first_slot].decayed;
                are_gone && !self.has_summary(blocks, layout)
            })
    }

    fn hides_rescue(&self, layout: &Layout) -> bool {
        let is_of_pages = layout.has_summaries && !layout.has_counted_copies;
        is_of_pages && self.segments(layout.blocks_per_segment).any(|blocks| self.has_lost_mark(blocks, layout))
    }

    fn is_unreadable(&self, layout: &Layout) -> bool {
        let pages = self.geometry.pages_per_block as usize;
        let is_mute = |page: usize| match self.pages[page].cell {
            Cell::Erased | Cell::LooksErased | Cell::Uncorrectable => true,
            // Without its tag page neither data tells, nor a mark, nor a part of the discard map, nor padding.
            _ => layout.has_tag_pages && !self.has_magic(page),
        };
        // Nobody erases a segment with a bad block, so that what it holds may be of an earlier owner.
        let usable = self.segments(layout.blocks_per_segment).filter(|&blocks| !self.is_retired(blocks));
        usable.flat_map(Segment::iter).flat_map(|block| block * pages..(block + 1) * pages).all(is_mute)
    }

    fn has_lasting(&self, page: u32, content: &Content, layout: &Layout) -> bool {
        let held = Some((page, content.clone()));
        let holds = |at: usize| self.pages[at].cell == Cell::Good && self.owner_of(at, layout.sectors_per_page) == held;
        let is_retired = |at: usize| self.segment_with(at, layout).is_some_and(|blocks| self.is_retired(blocks));
        let lasts = |at: usize| self.has_lasting_tag(at, layout) && !self.may_be_undone(at, layout);
        (0..self.pages.len()).any(|at| holds(at) && !is_retired(at) && lasts(at))
    }

    fn fades_unseen(&self, page: u32, content: &Content, layout: &Layout) -> bool {
        let was_erased = |blocks: Segment| blocks.iter().any(|block| self.blocks[block].weak);
        let holds = |blocks: Segment, is_wanted: &dyn Fn(usize) -> bool| {
            self.in_order(blocks)
                .any(|at| is_wanted(at) && self.owner_of(at, layout.sectors_per_page) == Some((page, content.clone())))
        };
        // A copy of which nothing says whose it is does not count for a mount.
        let is_good = |at: usize| self.pages[at].cell == Cell::Good && self.has_lasting_tag(at, layout);
        let lasts = |blocks: Segment| !was_erased(blocks) && holds(blocks, &is_good);
        let fades = |blocks: Segment| {
            was_erased(blocks)
                && holds(blocks, &|at| self.pages[at].cell.is_readable())
                && (self.may_have_summary(blocks, layout)
                    || !self.shows_erase(blocks) && !self.has_lost_summary(blocks, layout))
        };
        let segments = || self.segments(layout.blocks_per_segment);
        layout.has_summaries && segments().any(fades) && !segments().any(lasts)
    }

    fn good_segments(&self, layout: &Layout) -> u32 {
        let is_good = |block: usize| self.blocks[block].broken_by.is_none() && !self.blocks[block].marked;
        let segments = self.segments(layout.blocks_per_segment).take(layout.segments as usize);
        segments.filter(|blocks| blocks.iter().all(is_good)).count() as u32
    }

    fn has_bad_segments(&self, layout: &Layout) -> bool {
        let mut segments = self.segments(layout.blocks_per_segment).take(layout.segments as usize);
        segments.any(|blocks| self.is_retired(blocks))
    }
}

/// A driver: the engine holds one, the torture keeps the chip.
#[derive(Debug, Clone)]
pub struct NandDriver(pub Rc<RefCell<NandChip>>);

impl Nand for NandDriver {
    type Error = ErrorKind;

    fn geometry(&self) -> NandGeometry {
        let chip = self.0.borrow();
        let paired_pages = if chip.driver == Driver::HidesGroups { 1 } else { chip.geometry.paired_pages };
        NandGeometry { paired_pages, ..chip.geometry }
    }

    fn read(&mut self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        let mut chip = self.0.borrow_mut();
        let g = chip.geometry;
        let fits = |buffer: &[u8], bytes: u32| buffer.is_empty() || buffer.len() == bytes as usize;
        let all_fit = fits(data, g.page_bytes) && fits(spare, g.spare_bytes);
        chip.check(page, all_fit)?;
        chip.read_page(page, data, spare)
    }

    fn program(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Result<(), ErrorKind> {
        let mut chip = self.0.borrow_mut();
        let g = chip.geometry;
        chip.check(page, data.len() == g.page_bytes as usize && spare.len() <= g.spare_bytes as usize)?;
        chip.program_page(page, data, spare)
    }

    fn copy(&mut self, from: PageAddr, to: PageAddr, spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        let mut chip = self.0.borrow_mut();
        let g = chip.geometry;
        chip.check(from, spare.is_empty() || spare.len() == g.spare_bytes as usize)?;
        chip.check(to, true)?;
        let (mut data, mut all_spare) = (vec![0; g.page_bytes as usize], vec![0; g.spare_bytes as usize]);
        let report = chip.read_page(from, &mut data, &mut all_spare)?;
        chip.program_page(to, &data, &all_spare)?;
        if !spare.is_empty() {
            spare.copy_from_slice(&all_spare);
        }
        Ok(report)
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        let mut chip = self.0.borrow_mut();
        chip.check_block(block)?;
        chip.erase_block(block.0 as usize)
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, ErrorKind> {
        let mut chip = self.0.borrow_mut();
        chip.check_block(block)?;
        Ok(chip.blocks[block.0 as usize].marked)
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        let mut chip = self.0.borrow_mut();
        chip.check_block(block)?;
        let hit = chip.faults.strike(Op::Mark);
        if let Some(Hit::Fail(_) | Hit::Other(_)) = hit {
            return Err(ErrorKind::ProgramFailed);
        }
        chip.blocks[block.0 as usize].marked = match hit {
            Some(Hit::Cut(draw)) => Rng::with_seed(draw).bool(),
            _ => true,
        };
        // Only a cut is left.
        if hit.is_some() { Err(ErrorKind::Unresponsive) } else { Ok(()) }
    }
}
