//! The torture's interface to a chip, NAND or NOR.

use crate::content::Content;
use crate::faults::Faults;

/// Something that became unreadable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decayed {
    /// A copy of a logical page, with what it held.
    Data {
        /// The logical page.
        page: u32,
        /// What the copy held.
        content: Content,
        /// It was the last page of its block. Block mapping commits a merge with that page.
        ends_block: bool,
        /// It lay in the segment with the block that was filled last.
        is_filled_last: bool,
    },
    /// The engine's own metadata.
    Metadata,
}

/// The engine's layout on the chip, as far as the table of promises depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Erase blocks in a segment.
    pub blocks_per_segment: u32,
    /// Segments that the engine uses. Those behind them are kept for checkpoints.
    pub segments: u32,
    /// Sectors in a page.
    pub sectors_per_page: u32,
    /// Segments have a header, and a summary of all their tags once they are full (page mapping on NAND).
    pub has_summaries: bool,
    /// Other pages say what pages of data are, until there is a summary: page mapping on NAND without spare bytes.
    pub has_tag_pages: bool,
    /// What a mount copies counts as a whole, if what lies behind shows that all of it is there (map on flash).
    pub has_counted_copies: bool,
    /// A segment of which a page cannot be read shows that something is missing: page mapping on NAND with tags beside
    /// the pages. Inference in front of it may discard what the host has not.
    pub shows_losses: bool,
}

/// A copy that is lost, and that a mount may not notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsure {
    /// The logical page.
    pub page: u32,
    /// What the copy held.
    pub content: Content,
    /// If it was the only copy of its page and no cut can have hit it: pages that its segment alone has a copy of. If
    /// one of them counts, the mount has to notice.
    pub witnesses: Vec<u32>,
}

/// A chip, as the torture sees it.
pub trait Medium {
    /// Its power and its armed faults.
    fn faults(&mut self) -> &mut Faults;

    /// The engine's breaches of the contract since the last call.
    fn violations(&mut self) -> Vec<String>;

    /// Turns the power on. Fading content may be lost now.
    fn power_on(&mut self);

    /// Makes a programmed page unreadable. Returns what is gone with it: nothing if there is none, or if this chip has
    /// no error-correcting code.
    fn decay(&mut self, draw: u64, layout: &Layout) -> Vec<Decayed>;

    /// Marks a block bad, of a segment in use that holds nothing. False if there is none, or no mark.
    fn mark_empty(&mut self, draw: u64, layout: &Layout) -> bool;

    /// Lost copies that a mount may not notice: copies that decayed and are named by no summary, and all copies in a
    /// segment without a summary whose header decayed.
    fn unsure(&self, layout: &Layout) -> Vec<Unsure>;

    /// True if header and first slot of a segment without a summary have decayed: the next mount erases the segment,
    /// and the records in it are gone.
    fn has_lost_segment(&self, layout: &Layout) -> bool;

    /// True if a cut erase has taken the mark of a rescue and left a copy behind it, and nothing shows it: a page may
    /// have been there, which has decayed. With tag pages: a tag page that names one (page mapping on NAND).
    fn hides_rescue(&self, layout: &Layout) -> bool;

    /// True if no page can be read that says what wrote it, except in segments with a block that is marked bad. Data
    /// says nothing if other pages have its tags.
    fn is_unreadable(&self, layout: &Layout) -> bool;

    /// True if a copy of that page cannot fade.
    fn has_lasting(&self, page: u32, content: &Content, layout: &Layout) -> bool;

    /// True if no copy of that page lasts, and one that can be read lies in a segment whose erase was cut so that no
    /// mount sees it: nothing shows it, or it has its summary. If the last mount has read a summary that is gone
    /// now, that shows it. A copy that no metadata names is none.
    fn fades_unseen(&self, page: u32, content: &Content, layout: &Layout) -> bool;

    /// Segments in use without a block that has failed.
    fn good_segments(&self, layout: &Layout) -> u32;

    /// True if an engine can know of a segment in use that a block of it has failed.
    fn has_bad_segments(&self, layout: &Layout) -> bool;
}
