//! What the torture needs of a chip, NAND or NOR.

use crate::content::Content;
use crate::faults::Faults;

/// What became unreadable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decayed {
    /// A copy of a logical page, with what it held.
    Data {
        /// The logical page.
        page: u32,
        /// What the copy held.
        content: Content,
    },
    /// Something that the engine keeps for itself.
    Metadata,
}

/// What the table of promises supposes of how an engine lies on its chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Erase blocks in a segment.
    pub blocks_per_segment: u32,
    /// Sectors in a page.
    pub sectors_per_page: u32,
    /// Segments have a header, and a summary of all their tags once they are full (page mapping on NAND).
    pub has_summaries: bool,
}

/// A chip, as the torture sees it.
pub trait Medium {
    /// Its power, and the faults to come.
    fn faults(&mut self) -> &mut Faults;

    /// What the engine did against the contract, since the last call.
    fn violations(&mut self) -> Vec<String>;

    /// Turns the power on. What does not last that long is gone now.
    fn power_on(&mut self);

    /// Makes a page that was programmed unreadable. `None` if there is none, or if this chip has no code to tell.
    fn decay(&mut self, draw: u64, sectors_per_page: u32) -> Option<Decayed>;

    /// Copies of which a mount may not notice that they are gone: those that decayed where no summary names them, and
    /// all in a segment whose header decayed, and that has no summary.
    fn unsure(&self, layout: &Layout) -> Vec<(u32, Content)>;

    /// Segments of so many blocks, none of which has failed.
    fn good_segments(&self, blocks_per_segment: u32) -> u32;
}
