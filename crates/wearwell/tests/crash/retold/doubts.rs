//! What decay may do to a device: the table of promises, beside the model of cuts.
//!
//! A page of which a copy has decayed may be an error or older, and some others may. Of all others nothing changes.

use std::ops::Range;

use wearwell::{BlockDevice, FtlError};
use wearwell_emu::{EmuChip, EmuNand, EmuNor};
use wearwell_flash::{BlockAddr, Nand, PageAddr};

use crate::model::{Command, Content, Model, page_of};

/// A copy of a page, or metadata, that has decayed.
#[derive(Debug, Clone)]
pub(super) struct Gone {
    at: PageAddr,
    /// The page of the host's that it was a copy of, and what it held.
    copy: Option<(u32, Content)>,
}

/// A chip whose pages may decay. On NOR nobody could tell.
pub(super) trait Cells: EmuChip + Clone {
    /// Lets a page decay: of those that hold something the one of this number.
    fn decay_one(&mut self, number: u64, per_page: u32) -> Option<Gone>;
    /// What can be read of a page, if it is a copy of one of the host's.
    fn copy_in(&self, at: PageAddr, per_page: u32) -> Option<(u32, Content)>;
    /// True if a page cannot be read.
    fn is_unreadable(&self, at: PageAddr) -> bool;
    /// True if it reads as erased.
    fn is_erased(&self, at: PageAddr) -> bool;
    /// All pages.
    fn pages(&self) -> impl Iterator<Item = PageAddr>;
    /// Blocks with a bad-block mark.
    fn marked(&mut self) -> u32;
}

/// A chip like this one, with power, to look into.
fn probe_of(chip: &EmuNand) -> EmuNand {
    let mut probe = chip.clone();
    if probe.is_off() {
        probe.power_on();
    }
    probe
}

/// The bytes of a page and its spare bytes, if it can be read.
fn bytes_of(probe: &mut EmuNand, at: PageAddr) -> Option<(Vec<u8>, Vec<u8>)> {
    let geometry = probe.geometry();
    let mut bytes = (vec![0; geometry.page_bytes as usize], vec![0; geometry.spare_bytes as usize]);
    probe.read(at, &mut bytes.0, &mut bytes.1).is_ok().then_some(bytes)
}

fn reads_as_erased((data, spare): &(Vec<u8>, Vec<u8>)) -> bool {
    data.iter().chain(spare).all(|&byte| byte == 0xFF)
}

impl Cells for EmuNand {
    fn decay_one(&mut self, number: u64, per_page: u32) -> Option<Gone> {
        let mut probe = probe_of(self);
        let holds = |at: &PageAddr| bytes_of(&mut probe, *at).is_some_and(|bytes| !reads_as_erased(&bytes));
        let pages: Vec<PageAddr> = self.pages().filter(holds).collect();
        let at = *pages.get(number as usize % pages.len().max(1))?;
        let copy = self.copy_in(at, per_page);
        assert!(self.decay(at), "it holds something");
        Some(Gone { at, copy })
    }
    fn copy_in(&self, at: PageAddr, per_page: u32) -> Option<(u32, Content)> {
        page_of(&bytes_of(&mut probe_of(self), at)?.0, per_page)
    }
    fn is_unreadable(&self, at: PageAddr) -> bool {
        bytes_of(&mut probe_of(self), at).is_none()
    }
    fn is_erased(&self, at: PageAddr) -> bool {
        bytes_of(&mut probe_of(self), at).is_some_and(|bytes| reads_as_erased(&bytes))
    }
    fn pages(&self) -> impl Iterator<Item = PageAddr> {
        (0..self.geometry().pages() as u32).map(PageAddr)
    }
    fn marked(&mut self) -> u32 {
        let blocks = (0..self.geometry().blocks).map(BlockAddr);
        blocks.filter(|&block| matches!(self.is_bad(block), Ok(true))).count() as u32
    }
}

impl Cells for EmuNor {
    fn decay_one(&mut self, _: u64, _: u32) -> Option<Gone> {
        None
    }
    fn copy_in(&self, _: PageAddr, _: u32) -> Option<(u32, Content)> {
        None
    }
    fn is_unreadable(&self, _: PageAddr) -> bool {
        false
    }
    fn is_erased(&self, _: PageAddr) -> bool {
        false
    }
    fn pages(&self) -> impl Iterator<Item = PageAddr> {
        std::iter::empty()
    }
    fn marked(&mut self) -> u32 {
        0
    }
}

/// What the promises depend on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Layout {
    pub(super) pages_per_block: u32,
    pub(super) blocks_per_die: u32,
    /// Blocks in a segment, of neighboring dies.
    pub(super) stripe: u32,
    /// Block mapping: whether logical blocks share log blocks.
    pub(super) blocks: Option<bool>,
    /// Pages have their tags in pages of their own.
    pub(super) has_tag_pages: bool,
    pub(super) paired_pages: u32,
    /// A mount notices a lost page by the others of its segment. With draws this is not looked for.
    pub(super) shows_losses: bool,
}

impl Layout {
    /// True for the page that a segment begins with.
    fn is_header(&self, at: PageAddr) -> bool {
        let die = at.0 / self.pages_per_block / self.blocks_per_die;
        at.0.is_multiple_of(self.pages_per_block) && die.is_multiple_of(self.stripe)
    }

    /// The pages of a segment, by any of them.
    fn segment_of(self, at: PageAddr) -> impl Iterator<Item = PageAddr> {
        let block = at.0 / self.pages_per_block;
        let (die, index) = (block / self.blocks_per_die, block % self.blocks_per_die);
        let dies = die / self.stripe * self.stripe..(die / self.stripe + 1) * self.stripe;
        let first = move |die: u32| (die * self.blocks_per_die + index) * self.pages_per_block;
        dies.flat_map(move |die| first(die)..first(die) + self.pages_per_block).map(PageAddr)
    }

    /// The first slot behind a header.
    fn first_slot(&self, header: PageAddr) -> PageAddr {
        let is_striped = self.stripe > 1;
        PageAddr(header.0 + if is_striped { self.blocks_per_die * self.pages_per_block } else { 1 })
    }
}

/// What a cut has hit, if no mount has succeeded since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastCut {
    None,
    /// An erase or a mark. They hit no commit.
    Elsewhere,
    /// A program, of a commit for all that is known here.
    InProgram,
}

/// How often a device that is mounted read-only is read: what fades has done so then.
const WORN_READS: u32 = 20;

/// What may have become of a page.
#[derive(Debug, Clone, Copy, Default)]
struct Doubt {
    /// A copy of what it may hold has decayed: it may be an error.
    is_lost: bool,
    /// The same, and a mount may not notice: it may also be older.
    is_unsure: bool,
    /// The same, if a cut hits a commit before a mount has succeeded.
    is_unsure_behind_commit: bool,
    /// A record that it holds nothing, or is lost, may have decayed.
    has_no_record: bool,
    /// Some copy has decayed, however old.
    has_decayed: bool,
    /// A mount has found it older, and nothing was flushed since.
    is_older: bool,
    /// It was written or discarded as a whole since a copy has decayed.
    is_given: bool,
}

/// What has decayed, and what may have become of each page.
#[derive(Debug, Clone)]
pub(super) struct Doubts {
    layout: Layout,
    pages: Vec<Doubt>,
    gone: Vec<Gone>,
    has_gaps: bool,
}

impl Doubts {
    pub(super) fn new(layout: Layout, pages: u32) -> Self {
        Self { layout, pages: vec![Doubt::default(); pages as usize], gone: Vec::new(), has_gaps: false }
    }

    /// True if anything has decayed.
    pub(super) fn has_gaps(&self) -> bool {
        self.has_gaps
    }

    /// True if an error for this page is explained.
    pub(super) fn explains(&self, page: u32) -> bool {
        let doubt = self.pages[page as usize];
        !doubt.is_given && (doubt.is_lost || doubt.is_unsure)
    }

    /// Notes what has decayed.
    pub(super) fn decayed(&mut self, gone: Gone, model: &Model, last_cut: LastCut) {
        let had_gaps = std::mem::replace(&mut self.has_gaps, true);
        match &gone.copy {
            None => self.metadata_decayed(model, last_cut),
            Some((page, content)) => {
                let doubt = &mut self.pages[*page as usize];
                (doubt.has_decayed, doubt.is_given) = (true, false);
                doubt.is_lost |= model.may_hold_content(*page, content);
                self.block_decayed((*page, gone.at), had_gaps, model, last_cut);
            }
        }
        self.gone.push(gone);
    }

    /// A page of a logical block: what was discarded in it may be older, and behind a cut that may have hit the commit
    /// of another merge everything in it. Where log blocks are shared and anything has decayed before, this may be the
    /// block that was committed last.
    fn block_decayed(&mut self, (page, at): (u32, PageAddr), had_gaps: bool, model: &Model, last_cut: LastCut) {
        let Some(shares_logs) = self.layout.blocks else { return };
        let block_pages = self.layout.pages_per_block * self.layout.stripe;
        let first = page / block_pages * block_pages;
        let ends_block = (at.0 + 1).is_multiple_of(self.layout.pages_per_block);
        let is_commit = ends_block && page + 1 == first + block_pages;
        let behind_cut = last_cut != LastCut::None;
        let is_unsure = last_cut == LastCut::InProgram || behind_cut && shares_logs && had_gaps;
        for (doubt, page) in self.pages.iter_mut().zip(0..).skip(first as usize).take(block_pages as usize) {
            doubt.has_no_record |= shares_logs && (is_commit || behind_cut) && model.may_hold(page, 0);
            doubt.is_unsure |= is_unsure;
            doubt.is_unsure_behind_commit |= behind_cut;
        }
    }

    /// A cut has hit a program, and it may have been a commit.
    pub(super) fn program_was_cut(&mut self) {
        self.pages.iter_mut().for_each(|doubt| doubt.is_unsure |= doubt.is_unsure_behind_commit);
    }

    fn metadata_decayed(&mut self, model: &Model, last_cut: LastCut) {
        let is_block = self.layout.blocks.is_some();
        for (doubt, page) in self.pages.iter_mut().zip(0..) {
            doubt.is_unsure |= is_block && last_cut == LastCut::InProgram;
            doubt.is_unsure_behind_commit |= is_block && last_cut != LastCut::None;
            doubt.has_no_record |= model.may_hold(page, 0) || doubt.is_lost || doubt.is_older;
        }
    }

    /// Notes a command that has succeeded.
    pub(super) fn done(&mut self, command: Command, model: &Model) {
        let (page, count) = match command {
            Command::Write { page, .. } => (page, 1),
            Command::WriteRun { page, count }
            | Command::WriteHinted { page, count, .. }
            | Command::Discard { page, count } => (page, count),
            Command::Flush | Command::Shutdown => return self.flushed(model),
            Command::WritePart { .. } | Command::Clean(_) => return,
        };
        self.pages[page as usize..][..count as usize].iter_mut().for_each(|doubt| doubt.is_given = true);
    }

    fn flushed(&mut self, model: &Model) {
        for (doubt, page) in self.pages.iter_mut().zip(0..) {
            if doubt.is_given {
                (doubt.is_given, doubt.is_lost, doubt.is_older) = (false, false, false);
            }
            doubt.has_no_record &= doubt.is_lost || doubt.is_older || model.may_hold(page, 0);
        }
    }

    /// True if the next mount has to notice that a copy is lost. It was the only one, no cut can have hit it, and its
    /// segment alone has a copy of another page, which holds something.
    fn is_shown<C: Cells>(&self, gone: &Gone, chip: &C, model: &Model) -> bool {
        let Some((lost, _)) = gone.copy.as_ref().filter(|_| self.layout.shows_losses) else { return false };
        let copy_in = |at| chip.copy_in(at, model.sectors_per_page()).map(|(page, _)| page);
        let copies_of = |page: u32| {
            let decayed = self.gone.iter().filter_map(|gone| gone.copy.as_ref()).filter(|copy| copy.0 == page);
            chip.pages().filter(|&at| copy_in(at) == Some(page)).count() + decayed.count()
        };
        let pages: Vec<PageAddr> = self.layout.segment_of(gone.at).collect();
        let programmed = pages.iter().position(|&at| chip.is_erased(at)).unwrap_or(pages.len());
        // The last group may have been hit.
        let group = self.layout.paired_pages as usize;
        let certain = &pages[..programmed.saturating_sub(1) / group * group];
        let is_data = !chip.is_unreadable(pages[0]) && (pages[1] == gone.at || copy_in(pages[1]).is_some());
        let shows = |page: u32| copies_of(page) == 1 && !model.may_hold(page, 0);
        let is_witness = |&at: &PageAddr| copy_in(at).is_some_and(shows);
        is_data && certain.contains(&gone.at) && copies_of(*lost) == 1 && pages[..programmed].iter().any(is_witness)
    }

    /// True if the segment with this header ends with a summary, which says what lies there. With draws this is not
    /// looked for.
    fn has_summary<C: Cells>(&self, header: PageAddr, chip: &C, model: &Model) -> bool {
        let Some(last) = self.layout.segment_of(header).last().filter(|_| self.layout.shows_losses) else {
            return false;
        };
        let is_copy = || chip.copy_in(last, model.sectors_per_page()).is_some();
        !chip.is_unreadable(last) && !chip.is_erased(last) && !is_copy()
    }

    /// Notes what the next mount may not notice: copies that are gone, and all that lies in a segment whose header is.
    pub(super) fn before_mount<C: Cells>(&mut self, chip: &C, model: &Model) {
        if self.gone.is_empty() {
            return;
        }
        self.gone.retain(|gone| chip.is_unreadable(gone.at));
        let Layout { blocks, has_tag_pages, .. } = self.layout;
        let unseen = self.gone.iter().filter(|gone| !self.is_shown(gone, chip, model));
        let mut copies: Vec<(u32, Content)> = unseen.filter_map(|gone| gone.copy.clone()).collect();
        let mut has_lost_segment = false;
        for gone in self.gone.iter().filter(|_| blocks.is_none()) {
            let is_header = self.layout.is_header(gone.at);
            if is_header && !self.has_summary(gone.at, chip, model) || has_tag_pages && gone.copy.is_none() {
                copies.extend(
                    self.layout.segment_of(gone.at).filter_map(|at| chip.copy_in(at, model.sectors_per_page())),
                );
            }
            has_lost_segment |= is_header && chip.is_unreadable(self.layout.first_slot(gone.at));
        }
        for (page, content) in copies {
            self.pages[page as usize].is_unsure |= model.may_hold_content(page, &content);
        }
        if has_lost_segment {
            self.metadata_decayed(model, LastCut::None);
        }
    }

    /// Reads every page of a device that is mounted read-only, again and again. What was flushed has to be there. What
    /// a cut has hit may fade, and is an error then.
    pub(super) fn check_worn<F: BlockDevice>(&self, ftl: &mut F, model: &Model) -> Result<(), String> {
        for page in (0..WORN_READS).flat_map(|_| 0..model.pages()) {
            let doubt = self.pages[page as usize];
            match model.look(ftl, page)? {
                Ok(found) if model.may_hold_content(page, &found) || doubt.is_unsure || doubt.has_no_record => {}
                Err(FtlError::Unreadable { .. }) if self.explains(page) || !model.is_certain(page) => {}
                Err(FtlError::Unreadable { .. }) if self.has_gaps && model.may_hold(page, 0) => {}
                found => return Err(format!("page {page}, read-only: {found:?}, {doubt:?}, behind {:?}", self.gone)),
            }
        }
        Ok(())
    }

    /// Reads pages of a device in use. A page of which no copy has decayed is no error.
    pub(super) fn check_readable<F: BlockDevice>(
        &self,
        ftl: &mut F,
        model: &Model,
        mut pages: Range<u32>,
    ) -> Result<(), String> {
        pages.try_for_each(|page| match model.look(ftl, page)? {
            Ok(_) => Ok(()),
            Err(_) if self.explains(page) || self.pages[page as usize].has_decayed => Ok(()),
            Err(error) => Err(format!("page {page} in use: {error}, behind {:?}", self.gone)),
        })
    }

    /// Reads every page after a mount. What has been served must stay, and what is older must have an explanation.
    pub(super) fn check_mounted<F: BlockDevice>(&mut self, ftl: &mut F, model: &mut Model) -> Result<(), String> {
        for page in 0..model.pages() {
            let doubt = &mut self.pages[page as usize];
            match model.look(ftl, page)? {
                Ok(found) => {
                    let is_older = !model.may_hold_content(page, &found);
                    if is_older && !(doubt.is_unsure || doubt.has_no_record) {
                        return Err(format!("page {page} holds {found:?}: it is {doubt:?}, behind {:?}", self.gone));
                    }
                    model.settle(page, found);
                    *doubt = Doubt { has_decayed: doubt.has_decayed, is_older, ..Doubt::default() };
                }
                Err(FtlError::Unreadable { .. }) => {
                    let blank = self.has_gaps && model.may_hold(page, 0);
                    let no_record = doubt.has_no_record && (self.layout.blocks.is_some() || doubt.has_decayed);
                    if !(doubt.is_lost || doubt.is_unsure || no_record || blank) {
                        return Err(format!("page {page} is lost: it is {doubt:?}, behind {:?}", self.gone));
                    }
                    doubt.is_lost = true;
                    model.settle_none(page);
                    if self.layout.shows_losses {
                        // The loss is recorded.
                        let is_of_page = |gone: &&mut Gone| gone.copy.as_ref().is_some_and(|copy| copy.0 == page);
                        self.gone.iter_mut().filter(is_of_page).for_each(|gone| gone.copy = None);
                    }
                }
                Err(error) => return Err(format!("page {page}: {error}")),
            }
        }
        Ok(())
    }
}
