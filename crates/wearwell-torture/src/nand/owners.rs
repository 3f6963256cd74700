//! Whose copies the pages of the chip hold.

use std::collections::HashMap;

use super::{Cell, NandChip};
use crate::medium::Layout;

/// Copies of a page of the host's that do not read as erased.
#[derive(Debug, Clone, Copy, Default)]
struct Copies {
    all: u32,
    /// Those that can be read, for now at least.
    readable: u32,
}

/// Whose copy each page of the chip holds, and the copies of each page of the host's. It is made once for all questions
/// about a chip, which would look at each page of it for each page.
#[derive(Debug)]
pub(super) struct Owners {
    owners: Vec<Option<u32>>,
    copies: HashMap<u32, Copies>,
}

impl Owners {
    pub(super) fn of(chip: &NandChip, layout: &Layout) -> Self {
        let owner = |page: usize| chip.owner_of(page, layout.sectors_per_page).map(|(owner, _)| owner);
        let owners: Vec<Option<u32>> = (0..chip.pages.len()).map(owner).collect();
        let mut copies: HashMap<u32, Copies> = HashMap::new();
        for (owner, page) in owners.iter().zip(&chip.pages).filter(|(_, page)| !page.cell.reads_as_erased()) {
            let Some(owner) = owner else { continue };
            let of_owner = copies.entry(*owner).or_default();
            of_owner.all += 1;
            of_owner.readable += u32::from(page.cell != Cell::Uncorrectable);
        }
        Self { owners, copies }
    }

    /// The page of the host's that a page of the chip holds, if it was ever programmed with one.
    pub(super) fn of_page(&self, page: usize) -> Option<u32> {
        self.owners[page]
    }

    /// Copies of a page of the host's, whether they can be read or not.
    pub(super) fn copies_of(&self, page: u32) -> u32 {
        self.copies.get(&page).map_or(0, |copies| copies.all)
    }

    /// True if a copy of a page of the host's can be read.
    pub(super) fn may_be_read(&self, page: u32) -> bool {
        self.copies.get(&page).is_some_and(|copies| copies.readable > 0)
    }
}
