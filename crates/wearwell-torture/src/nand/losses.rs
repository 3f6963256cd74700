//! What is lost with a page of the chip, and what shows it.

use super::owners::Owners;
use super::segment::Segment;
use super::{Cell, NandChip, Page};
use crate::medium::{Decayed, Layout, Unsure};

impl NandChip {
    /// What is gone with a page of metadata: with a tag page, what the data pages of its segment are, unless there is a
    /// summary. Of which of them is not looked at.
    pub(super) fn gone_with_tags(&self, blocks: Option<Segment>, layout: &Layout) -> Vec<Decayed> {
        let pages = self.geometry.pages_per_block as usize;
        let mut gone = vec![Decayed::Metadata];
        let Some(blocks) = blocks else { return gone };
        if layout.has_tag_pages && !self.has_summary(blocks, layout) {
            let in_segment = blocks.iter().flat_map(|block| block * pages..(block + 1) * pages);
            let owned = in_segment.filter_map(|page| self.owner_of(page, layout.sectors_per_page));
            let data = |(page, content)| Decayed::Data { page, content, ends_block: false, is_filled_last: false };
            gone.extend(owned.map(data));
        }
        gone
    }

    /// Lost copies that a mount may not notice: see [`Medium::unsure`](crate::medium::Medium::unsure).
    pub(super) fn lost_unnoticed(&self, layout: &Layout) -> Vec<Unsure> {
        let pages = self.geometry.pages_per_block as usize;
        let mut unsure = Vec::new();
        let owners = Owners::of(self, layout);
        for blocks in self.segments(layout.blocks_per_segment) {
            let header_decayed = layout.has_summaries && self.pages[blocks.first * pages].decayed;
            let in_segment = || blocks.iter().flat_map(|block| block * pages..(block + 1) * pages);
            let is_lost_tag = |page: usize| self.pages[page].decayed && owners.of_page(page).is_none();
            let tags_decayed = layout.has_tag_pages && in_segment().any(is_lost_tag);
            let is_doubted = |page: &usize| self.pages[*page].decayed || header_decayed || tags_decayed;
            let mut doubted = in_segment().filter(is_doubted).peekable();
            if doubted.peek().is_none() || layout.has_summaries && self.has_summary(blocks, layout) {
                continue;
            }
            unsure.extend(doubted.filter_map(|at| {
                let (page, content) = self.owner_of(at, layout.sectors_per_page)?;
                let witnesses = if layout.shows_losses { self.witnesses(at, blocks, &owners) } else { Vec::new() };
                Some(Unsure { page, content, witnesses })
            }));
        }
        unsure
    }

    /// Pages that a segment alone has a copy of, if one of its pages was the only copy that can be read of what it
    /// held, and lies before the last group that was programmed.
    fn witnesses(&self, lost: usize, blocks: Segment, owners: &Owners) -> Vec<u32> {
        let in_order: Vec<usize> = self.in_order(blocks).collect();
        let group = blocks.blocks * self.geometry.paired_pages as usize;
        // A scan ends at the first page that reads as erased.
        let reads_as_erased = |page: &usize| self.pages[*page].cell.reads_as_erased();
        let programmed = in_order.iter().position(reads_as_erased).unwrap_or(in_order.len());
        let is_hit = programmed <= 1 || !in_order[..(programmed - 1) / group * group].contains(&lost);
        // A rescue that has not ended, or one that an erase was cut in, counts for nothing.
        let is_data = self.pages[in_order[0]].cell == Cell::Good && owners.of_page(in_order[1]).is_some();
        if is_hit || !is_data || self.is_retired(blocks) {
            return Vec::new();
        }
        // The newest copy counts, whether it can be read or not.
        if owners.of_page(lost).is_some_and(|page| owners.may_be_read(page)) {
            return Vec::new();
        }
        let readable = in_order[..programmed].iter().filter(|&&page| self.pages[page].cell == Cell::Good);
        readable.filter_map(|&page| owners.of_page(page)).filter(|&page| owners.copies_of(page) == 1).collect()
    }

    /// True if a page reads as erased in front of one that does not, or none of the block with the header can be read.
    /// A summary that cannot be read shows nothing.
    pub(super) fn shows_erase(&self, blocks: Segment) -> bool {
        let reads_as_erased = |page: usize| self.pages[page].cell.reads_as_erased();
        let is_gone = |page: &usize| self.pages[*page].cell == Cell::Uncorrectable;
        let behind_gone = self.in_order(blocks).rev().skip_while(is_gone);
        let mut behind_erased = behind_gone.skip_while(|&page| reads_as_erased(page));
        let mut of_header = self.in_order(blocks).step_by(blocks.blocks);
        behind_erased.any(reads_as_erased) || of_header.all(|page| self.pages[page].cell == Cell::Uncorrectable)
    }

    /// True if the summary of a segment was read since the power is on, and has faded since. With the map on flash
    /// nobody looks for it again.
    pub(super) fn has_lost_summary(&self, blocks: Segment, layout: &Layout) -> bool {
        let Some(last) = self.in_order(blocks).next_back().filter(|_| !layout.has_counted_copies) else { return false };
        let Page { cell, was_read, .. } = self.pages[last];
        was_read && cell == Cell::Uncorrectable && self.owner_of(last, layout.sectors_per_page).is_none()
    }

    /// True if what says whose data a page holds lasts: it lies in the page, or metadata behind it has the tag.
    pub(super) fn has_lasting_tag(&self, at: usize, layout: &Layout) -> bool {
        let Some(blocks) = self.segment_with(at, layout).filter(|_| layout.has_tag_pages) else { return true };
        let is_metadata = |page: &usize| self.owner_of(*page, layout.sectors_per_page).is_none();
        let behind = self.in_order(blocks).skip_while(|&page| page != at).filter(is_metadata);
        let mut cells = behind.map(|page| self.pages[page].cell).filter(|cell| !cell.reads_as_erased()).peekable();
        cells.peek().is_some() && cells.all(|cell| cell == Cell::Good)
    }

    /// True if a cut erase has taken the first slot of a segment, which held no data, and left data behind it, and
    /// nothing shows that erase. With tag pages, if it has taken, or lets fade, the last slot that does not read as
    /// erased and one before it, and the first holds no data.
    pub(super) fn has_lost_mark(&self, blocks: Segment, layout: &Layout) -> bool {
        // Of few segments an erase was cut, and this is asked before each mount.
        if !blocks.iter().any(|block| self.blocks[block].weak) {
            return false;
        }
        let in_order: Vec<usize> = self.in_order(blocks).collect();
        let cell = |page: usize| self.pages[page].cell;
        let is_data = |page: usize| self.owner_of(page, layout.sectors_per_page).is_some();
        let is_taken = if layout.has_tag_pages {
            let programmed = in_order[1..].iter().copied().take_while(|&page| !cell(page).reads_as_erased());
            let lasts: Vec<bool> = programmed.map(|page| cell(page) == Cell::Good).collect();
            lasts.split_last().is_some_and(|(&last, before)| !last && before.contains(&false))
        } else {
            cell(in_order[1]) == Cell::Uncorrectable
        };
        let leaves_data = in_order[2..].iter().any(|&page| cell(page).is_readable() && is_data(page));
        is_taken && !is_data(in_order[1]) && leaves_data && !self.shows_erase(blocks)
    }

    /// True if a page may lie in a merge of block mapping whose commit fades: without it the merge is erased.
    pub(super) fn may_be_undone(&self, at: usize, layout: &Layout) -> bool {
        let last = self.segment_with(at, layout).and_then(|blocks| self.in_order(blocks).next_back());
        let fades = |cell: Cell| matches!(cell, Cell::Fading { .. } | Cell::Uncorrectable);
        !layout.has_summaries && last.is_some_and(|last| fades(self.pages[last].cell))
    }

    /// True if a segment ends with metadata that lasts, which is its summary.
    pub(super) fn has_summary(&self, blocks: Segment, layout: &Layout) -> bool {
        self.ends_in_metadata(blocks, layout, |cell| cell == Cell::Good)
    }

    /// True if it ends with metadata that can be read, whether it lasts or not.
    pub(super) fn may_have_summary(&self, blocks: Segment, layout: &Layout) -> bool {
        self.ends_in_metadata(blocks, layout, Cell::is_readable)
    }

    fn ends_in_metadata(&self, blocks: Segment, layout: &Layout, counts: impl Fn(Cell) -> bool) -> bool {
        let is_metadata = |page: &usize| self.owner_of(*page, layout.sectors_per_page).is_none();
        let mut metadata = self.in_order(blocks).rev().take_while(is_metadata).peekable();
        metadata.peek().is_some() && metadata.all(|page| counts(self.pages[page].cell))
    }
}
