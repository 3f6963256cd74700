//! What every page may hold, as a plain array beside the device.
//!
//! The model holds the engines to the table "What is promised under media faults" of the book. A fault must explain
//! each unreadable or older page: one that hit a copy of that page, or the metadata that the table names. A power
//! cut, a failing program, erase or mark, and an error of the driver's own never explain one.

use crate::content::{self, Content, SECTOR_BYTES};
use crate::device::{Device, Refusal};
use crate::failure::{Failure, Kind};
use crate::history::Step;
use crate::medium::{Decayed, Unsure};
use crate::setup::LogicalBlocks;

/// What one page may hold.
#[derive(Debug, Clone)]
struct Page {
    /// What it held at the last flush.
    flushed: Content,
    /// What was written since, oldest first.
    since: Vec<Content>,
    /// Older content, which may come back when metadata is lost.
    past: Vec<Content>,
    /// The newest content is from a command that failed, so any of `since` may be there.
    doubtful: bool,
    /// So many of the newest contents each depend on the one before: parts of the page were written and not flushed.
    parts: usize,
    /// A copy of the newest content has decayed.
    newest_decayed: bool,
    /// A copy has decayed that would count if a cut destroys newer content.
    older_decayed: bool,
    /// Some copy of the page has decayed, however old. This explains nothing, unless the record that made it old is
    /// lost too.
    has_decayed: bool,
    /// A mount may not notice that a copy is lost.
    is_unsure: bool,
    /// Something in its logical block has decayed since a mount has last succeeded (block mapping).
    block_decayed: bool,
    /// The page holds nothing, an error, or what a fault has left of it, and the record of that may have decayed.
    record_decayed: bool,
    /// A mount has found older content, and nothing was flushed since. What else is left of the page may be older yet.
    is_older: bool,
    /// A newer copy has decayed, and a mount has found content in a segment whose erase was cut so that nothing shows
    /// it. It may fade.
    is_fading: bool,
    /// A cut has undone a discard, and nothing that was written since is durable.
    is_kept: bool,
    /// A clean shutdown has recorded that it holds something, and nothing was written to it since.
    is_recorded: bool,
    /// Parts were written over so many contents that may be there that not all of what this makes is listed.
    is_vague: bool,
}

/// Most contents that are listed. Each part that is written over unknown content doubles them.
const MOST_CONTENTS: usize = 1 << 10;

impl Page {
    fn newest(&self) -> &Content {
        self.since.last().unwrap_or(&self.flushed)
    }

    fn may_be_blank(&self) -> bool {
        Self::is_blank(&self.flushed) || self.since.iter().any(Self::is_blank)
    }

    fn may_hold(&self, found: &Content) -> bool {
        self.flushed == *found || self.is_among(&self.since, found)
    }

    fn was(&self, found: &Content) -> bool {
        self.is_among(&self.past, found)
    }

    /// True if it is one of these contents, or may be made of their parts.
    fn is_among(&self, contents: &[Content], found: &Content) -> bool {
        let is_part =
            |index: usize| contents.iter().chain([&self.flushed]).any(|content| content[index] == found[index]);
        contents.contains(found) || self.is_vague && (0..found.len()).all(is_part)
    }

    fn is_newest(&self, found: &Content) -> bool {
        if self.doubtful { self.may_hold(found) } else { self.newest() == found }
    }

    /// True if what may fade is what counts: nothing was written since but parts.
    fn has_faded(&self) -> bool {
        self.is_fading && self.parts == self.since.len()
    }

    fn is_blank(content: &Content) -> bool {
        content.iter().all(|&version| version == 0)
    }

    /// From now on only `content` may be read, until the page is written again.
    fn settle_as(&mut self, content: Content) {
        let old = std::mem::replace(&mut self.flushed, content);
        self.past.push(old);
        self.past.append(&mut self.since);
        (self.doubtful, self.parts) = (false, 0);
    }

    /// A device that is mounted read-only serves `content`, which may fade: then what was there before it counts again.
    fn settle_for_now(&mut self, content: Content) {
        let Some(at) = self.since.iter().rposition(|since| *since == content) else { return self.settle_as(content) };
        self.past.extend(self.since.drain(at + 1..));
        (self.doubtful, self.parts) = (false, 0);
    }

    fn settle(&mut self) {
        // A flush does not tell which content of a failed command is there.
        if self.doubtful {
            return;
        }
        if let Some(newest) = self.since.pop() {
            self.settle_as(newest);
            (self.is_older, self.is_fading, self.is_kept) = (false, false, false);
        }
        self.parts = 0;
        self.older_decayed = self.newest_decayed;
        // A page that holds data of its own again does not depend on that record.
        self.record_decayed &= self.newest_decayed || self.is_older || Self::is_blank(&self.flushed);
    }

    /// A flush has said that the rest of the page is lost: the parts that were written are given up.
    fn give_up_parts(&mut self) {
        if !self.doubtful {
            self.since.truncate(self.since.len() - self.parts);
            self.parts = 0;
        }
    }

    /// Notes that a copy of `content` is lost.
    fn decay(&mut self, content: &Content) {
        self.has_decayed = true;
        if !self.may_hold(content) {
            return;
        }
        self.older_decayed = true;
        // If the newest content is not known, or builds on others, any copy may be the one that is needed.
        self.newest_decayed |= self.doubtful || self.parts > 0 || self.newest() == content;
    }

    /// Notes that a clean shutdown has recorded whether the page holds anything.
    fn record(&mut self) {
        self.is_recorded = !self.doubtful && !self.newest_decayed && !Self::is_blank(&self.flushed);
    }

    /// Notes that a command wrote to the page.
    fn given(&mut self, succeeded: bool, whole: bool) {
        self.is_recorded = false;
        if !succeeded {
            self.doubtful = true;
        } else if whole {
            (self.doubtful, self.newest_decayed) = (false, false);
        }
        self.parts = if whole { 0 } else { self.parts + usize::from(succeeded) };
    }
}

/// What the power has cut since a mount has last succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastCut {
    /// Nothing.
    None,
    /// Something else.
    Elsewhere,
    /// The last page of a block.
    InCommit,
}

/// The array.
#[derive(Debug, Clone)]
pub struct Model {
    pages: Vec<Page>,
    sectors_per_page: u32,
    next_version: u32,
    /// Of block mapping, which programs a page in place of one that was never written.
    blocks: Option<LogicalBlocks>,
    /// The map lies on flash. If a translation page decays, what was discarded may come back at any time.
    map_on_flash: bool,
    /// The engine may have recorded what is not mapped: what is written there later is missed by nobody.
    has_records: bool,
    /// Something has decayed. If it was the only record of a page, any page without content may be taken for the lost
    /// one.
    has_gaps: bool,
    /// A program or an erase has failed.
    pub has_failed: bool,
    /// Since the last mount that succeeded, a segment had lost all that keeps a mount from taking it for one whose
    /// erase was cut. What is left of its pages elsewhere may fade.
    pub has_lost_segment: bool,
    /// Metadata has decayed.
    has_lost_records: bool,
    /// A copy of a page has decayed.
    has_lost_copies: bool,
    /// Pages that were found unreadable or older, with an explanation.
    pub explained: u64,
}

impl Model {
    /// A device of zeros.
    pub fn new(pages: u32, sectors_per_page: u32, blocks: Option<LogicalBlocks>, map_on_flash: bool) -> Self {
        let page = Page {
            flushed: vec![0; sectors_per_page as usize],
            since: Vec::new(),
            past: Vec::new(),
            doubtful: false,
            parts: 0,
            newest_decayed: false,
            older_decayed: false,
            has_decayed: false,
            is_unsure: false,
            block_decayed: false,
            record_decayed: false,
            is_older: false,
            is_fading: false,
            is_kept: false,
            is_recorded: false,
            is_vague: false,
        };
        Self {
            pages: vec![page; pages as usize],
            sectors_per_page,
            next_version: 1,
            blocks,
            map_on_flash,
            has_records: false,
            has_gaps: false,
            has_failed: false,
            has_lost_segment: false,
            has_lost_records: false,
            has_lost_copies: false,
            explained: 0,
        }
    }

    /// True if anything has decayed.
    pub fn has_gaps(&self) -> bool {
        self.has_gaps
    }

    /// True if no page has to hold anything.
    pub fn may_be_empty(&self) -> bool {
        self.pages.iter().all(Page::may_be_blank)
    }

    /// True under block mapping if something has decayed since a mount has last succeeded.
    pub fn has_lost_blocks(&self) -> bool {
        self.pages.iter().any(|page| page.block_decayed)
    }

    /// True if an error for that page is explained.
    pub fn explains(&self, page: u32) -> bool {
        // What comes back may be a copy that has decayed.
        let is_lost =
            |page: &Page| page.newest_decayed || page.has_faded() || self.comes_back(page) && page.has_decayed;
        // A copy that is gone may have been of any page of a translation page that is gone, too.
        let is_doubted = self.map_on_flash && self.has_lost_records && self.has_lost_copies;
        self.pages.get(page as usize).is_some_and(|page| is_lost(page) || is_doubted && page.may_be_blank())
    }

    /// True if what a page held before may be there again while the device is on: its translation page was lost.
    fn comes_back(&self, page: &Page) -> bool {
        // A page that has decayed, too, may be missing when a translation page is made anew.
        let is_missed = page.newest_decayed && self.has_lost_records;
        self.map_on_flash && (page.record_decayed || is_missed)
    }

    /// Something on the chip became unreadable. Since the last mount that succeeded there was that `cut`.
    pub fn decayed(&mut self, what: &Decayed, cut: LastCut) {
        let had_gaps = std::mem::replace(&mut self.has_gaps, true);
        match what {
            Decayed::Data { page: number, content, ends_block, is_filled_last } => {
                self.has_lost_copies = true;
                if let Some(page) = self.pages.get_mut(*number as usize) {
                    page.decay(content);
                }
                let Some(blocks) = self.blocks else { return };
                let first = number / blocks.pages * blocks.pages;
                let block = self.pages.iter_mut().skip(first as usize).take(blocks.pages as usize);
                // The commit of a merge: what was discarded before it lies on in log blocks.
                let is_commit = *ends_block && number + 1 == first + blocks.pages;
                let may_be_undone = is_commit || cut != LastCut::None;
                // What the last merge has read from log blocks may have decayed before. Then it seems to have been cut.
                let is_unsure = cut == LastCut::InCommit || blocks.share_logs && had_gaps && *is_filled_last;
                for page in block {
                    page.record_decayed |= blocks.share_logs && may_be_undone && page.may_be_blank();
                    page.is_unsure |= is_unsure;
                    page.block_decayed = true;
                }
            }
            Decayed::Metadata => {
                self.has_lost_records = true;
                // It may be what fills the page of the commit that was cut, whose logical block nothing else names.
                let is_block_unsure = self.blocks.is_some() && cut == LastCut::InCommit;
                for page in &mut self.pages {
                    page.is_recorded = false;
                    page.is_unsure |= is_block_unsure;
                    page.block_decayed |= self.blocks.is_some();
                    page.record_decayed |= page.may_be_blank() || page.newest_decayed || page.is_older;
                    page.record_decayed |= self.map_on_flash && page.is_kept;
                }
            }
        }
    }

    /// A cut has hit the last page of a block. If it is the commit of a logical block of which something has decayed
    /// before, the next mount takes the block that it supersedes for one that was being erased.
    pub fn commit_was_cut(&mut self) {
        for page in &mut self.pages {
            page.is_unsure |= page.block_decayed;
        }
    }

    /// Notes that the next mount may not notice the loss of these copies.
    pub fn unsure(&mut self, copies: &[Unsure]) {
        for Unsure { page: number, content, witnesses } in copies {
            let counts = |&witness: &u32| self.pages.get(witness as usize).is_some_and(|page| !page.may_be_blank());
            let is_noticed = !self.has_records && witnesses.iter().any(counts);
            if let Some(page) = self.pages.get_mut(*number as usize) {
                page.is_unsure |= page.may_hold(content) && !is_noticed;
            }
        }
    }

    /// Notes that a clean shutdown has recorded which pages hold something.
    pub fn record(&mut self) {
        self.pages.iter_mut().for_each(Page::record);
    }

    /// Nothing on the chip says any more which pages held something at the last shutdown.
    pub fn forget_record(&mut self) {
        self.pages.iter_mut().for_each(|page| page.is_recorded = false);
    }

    /// Everything written so far is durable, except parts of a page whose rest turned out to be lost. A flush names one
    /// such page, and there may be others: of each the newest copy has decayed.
    fn settle_but(&mut self, lost: Option<u32>) {
        for (number, page) in self.pages.iter_mut().enumerate() {
            let may_be_another = lost.is_some() && page.parts > 0 && (page.newest_decayed || page.is_fading);
            match Some(number as u32) == lost {
                true => page.give_up_parts(),
                false if may_be_another => page.doubtful = true,
                false => page.settle(),
            }
        }
    }

    /// Gives a command to the device. The inner result is the device's. The outer one is a failure if a read was wrong.
    pub fn command(&mut self, device: &mut dyn Device, step: &Step) -> Result<Result<(), Refusal>, Failure> {
        let per_page = self.sectors_per_page;
        let done = match *step {
            Step::Write { page, count, stream, read_only } => {
                self.write(device, page * per_page, count * per_page, stream, read_only)
            }
            Step::Part { sector, count, stream } => self.write(device, sector, count, stream, false),
            Step::Discard { sector, count } => {
                self.has_records = true;
                self.discard(device, sector, count)
            }
            Step::Flush | Step::Shutdown => {
                self.has_records |= *step == Step::Shutdown;
                let done = if *step == Step::Flush { device.flush() } else { device.shutdown() };
                match done {
                    Ok(()) => self.settle_but(None),
                    Err(Refusal::Unreadable { page }) => self.settle_but(Some(page)),
                    Err(_) => {}
                }
                done
            }
            Step::Clean { pages } => device.clean(pages),
            Step::Policies(policies) => {
                device.set_policies(policies);
                Ok(())
            }
            Step::Read { page } => {
                self.check(device, page)?;
                Ok(())
            }
            Step::Verify => {
                for page in 0..self.pages.len() as u32 {
                    self.check(device, page)?;
                }
                Ok(())
            }
            _ => Ok(()),
        };
        Ok(done)
    }

    fn discard(&mut self, device: &mut dyn Device, sector: u32, count: u32) -> Result<(), Refusal> {
        let whole =
            (sector.div_ceil(self.sectors_per_page)..(sector + count) / self.sectors_per_page).map(|p| p as usize);
        // Before the device is asked: a cut in the command may leave the page in either state.
        for number in whole.clone() {
            let page = &mut self.pages[number];
            if page.doubtful || !Page::is_blank(page.newest()) {
                page.since.push(vec![0; self.sectors_per_page as usize]);
            }
        }
        let done = device.discard(sector, count);
        for number in whole {
            self.pages[number].given(done.is_ok(), true);
        }
        done
    }

    fn write(
        &mut self,
        device: &mut dyn Device,
        sector: u32,
        count: u32,
        stream: u16,
        read_only: bool,
    ) -> Result<(), Refusal> {
        let (per_page, end) = (self.sectors_per_page, sector + count);
        let version = self.next_version;
        self.next_version += 1;
        let mut data = vec![0; count as usize * SECTOR_BYTES];
        for (bytes, at) in data.chunks_exact_mut(SECTOR_BYTES).zip(sector..) {
            content::fill(bytes, at / per_page, at % per_page, version);
        }
        let pages = sector / per_page..end.div_ceil(per_page);
        let is_whole = |page: u32| sector <= page * per_page && (page + 1) * per_page <= end;
        for number in pages.clone() {
            let written = sector.max(number * per_page)..end.min((number + 1) * per_page);
            let update = |content: &Content| {
                let mut updated = content.clone();
                updated[(written.start - number * per_page) as usize..][..written.len()].fill(version);
                updated
            };
            let page = &mut self.pages[number as usize];
            let newest = update(page.newest());
            let may_be_past = self.map_on_flash && page.record_decayed;
            if (page.doubtful || may_be_past) && !is_whole(number) {
                // The write changes whichever content is there.
                let past = page.past.iter().filter(|_| may_be_past);
                let others: Vec<Content> = page.since.iter().chain([&page.flushed]).chain(past).map(update).collect();
                page.is_vague |= others.len() > MOST_CONTENTS;
                for other in others.into_iter().filter(|_| !page.is_vague) {
                    // Each once: they would double with every write.
                    if !page.since.contains(&other) {
                        page.since.push(other);
                    }
                }
                page.doubtful = true;
            }
            page.since.push(newest);
        }
        let done = device.write(sector, &data, stream, read_only);
        for number in pages {
            self.pages[number as usize].given(done.is_ok(), is_whole(number));
        }
        done
    }

    /// Reads a page. The outer error is for bytes that were never written there.
    fn read(&self, device: &mut dyn Device, page: u32) -> Result<Result<Content, Refusal>, Failure> {
        let per_page = self.sectors_per_page;
        // Bytes that no device returns, to detect bytes that it does not fill.
        let mut data = vec![0xEE; per_page as usize * SECTOR_BYTES];
        if let Err(refusal) = device.read(page * per_page, &mut data) {
            return Ok(Err(refusal));
        }
        let sectors = data.chunks_exact(SECTOR_BYTES).zip(0..);
        let read = sectors.map(|(bytes, index)| {
            content::version_of(bytes, page, index).ok_or_else(|| {
                Failure::new(Kind::Garbage, format!("page {page}, sector {index} begins {:02x?}", &bytes[..20]))
            })
        });
        read.collect::<Result<Content, Failure>>().map(Ok)
    }

    /// While the device is on, it must return the newest content.
    fn check(&mut self, device: &mut dyn Device, number: u32) -> Result<(), Failure> {
        let read = self.read(device, number)?;
        let (comes_back, is_explained) = (self.comes_back(&self.pages[number as usize]), self.explains(number));
        let page = &mut self.pages[number as usize];
        match read {
            Ok(found) if page.is_newest(&found) => Ok(()),
            Ok(found) if comes_back && (page.may_hold(&found) || page.was(&found)) => {
                self.explained += 1;
                page.settle_as(found);
                Ok(())
            }
            Ok(found) => Err(Failure::new(Kind::Wrong, format!("page {number} holds {found:?}, not {page:?}"))),
            Err(Refusal::Unreadable { .. }) if is_explained => {
                self.explained += 1;
                Ok(())
            }
            Err(refusal) => Err(Failure::new(Kind::Unreadable, format!("page {number}: {refusal}; it is {page:?}"))),
        }
    }

    /// After a mount a page holds what it held at the last flush, or something written since, and keeps it from now on.
    /// With `fading`, on a device that is mounted read-only, pages that were not flushed may be unreadable, or older at
    /// the next mount if nothing of them `lasts`. If the chip `hides_rescue`, what was never written may be an error.
    pub fn check_mounted(
        &mut self,
        device: &mut dyn Device,
        fading: bool,
        hides_rescue: bool,
        lasts: impl Fn(u32, &Content) -> bool,
        fades_unseen: impl Fn(u32, &Content) -> bool,
    ) -> Result<(), Failure> {
        let remains = self.map_on_flash && self.has_failed;
        for number in 0..self.pages.len() as u32 {
            let read = self.read(device, number)?;
            let page = &mut self.pages[number as usize];
            let decayed = page.newest_decayed || page.older_decayed;
            // Block mapping programs a page in place of one that was never written. This page may decay like any other.
            let blank_decayed = page.record_decayed && (self.blocks.is_some() || page.has_decayed);
            let blank_doubted = (self.has_gaps || hides_rescue) && page.may_be_blank();
            match read {
                Ok(found) => {
                    let is_older = !page.may_hold(&found);
                    let is_known = || page.was(&found) && !(page.is_recorded && Page::is_blank(&found));
                    if is_older && !((page.is_unsure || page.record_decayed || page.is_fading) && is_known()) {
                        let text = format!("page {number} holds {found:?} after a mount, not {page:?}");
                        return Err(Failure::new(Kind::Older, text));
                    }
                    self.explained += u64::from(is_older);
                    page.is_kept &= page.flushed == found;
                    page.is_kept |= !Page::is_blank(&found) && page.since.iter().any(Page::is_blank);
                    page.is_older = is_older || page.is_older && !page.since.contains(&found);
                    let is_certain = !fading || lasts(number, &found);
                    let gives_way = is_older || page.newest_decayed || self.has_lost_segment;
                    page.is_fading =
                        (gives_way || page.is_fading && page.flushed == found) && fades_unseen(number, &found);
                    // The commit that says that it was never written may fade, and what was not flushed counts again.
                    let is_unwritten = self.blocks.is_some() && Page::is_blank(&found) && page.flushed == found;
                    if is_certain {
                        page.settle_as(found);
                    } else if !is_unwritten {
                        page.settle_for_now(found);
                    }
                    // A mount that is read-only records nothing, so the next one decides again.
                    if is_certain && !(fading && is_older) {
                        (page.newest_decayed, page.older_decayed) = (false, false);
                        (page.is_unsure, page.block_decayed) = (false, false);
                        // What a failed program has left of the translation page may be all that says it.
                        page.record_decayed &= remains && page.may_be_blank();
                    }
                }
                Err(Refusal::Unreadable { .. })
                    if decayed
                        || page.is_unsure
                        || page.is_fading
                        || blank_decayed
                        || blank_doubted
                        || fading && !page.since.is_empty() =>
                {
                    self.explained += 1;
                    // A mount that is read-only records nothing, so the next one decides again.
                    if fading {
                        continue;
                    }
                    // The engine records what was missing.
                    self.has_records = true;
                    page.past.append(&mut page.since);
                    page.parts = 0;
                    (page.newest_decayed, page.older_decayed, page.doubtful) = (true, true, false);
                }
                Err(refusal) => {
                    let text = format!("page {number} after a mount: {refusal}; it is {page:?}");
                    return Err(Failure::new(Kind::Unreadable, text));
                }
            }
        }
        Ok(())
    }
}
