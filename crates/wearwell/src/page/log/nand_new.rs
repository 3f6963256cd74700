//! What a log on NAND begins with.

use alloc::vec::Vec;
use core::marker::PhantomData;

use wearwell_flash::Nand;

use super::nand::NandLog;
use super::nand_bytes::Extra;
use super::nand_groups::TagPlace;
use super::nand_layout::{Layout, NandLayoutError};
use super::{LogShape, Payload};
use crate::stats::KeptCosts;

impl<N: Nand> NandLog<N> {
    /// A log over a chip, whose segments are stripes of `blocks_per_segment` blocks on different dies.
    ///
    /// # Errors
    /// If the chip's pages or segments are too small.
    pub fn new(chip: N, blocks_per_segment: u32) -> Result<Self, NandLayoutError> {
        Self::with_payload(chip, blocks_per_segment)
    }
}

impl<N: Nand, B: Payload> NandLog<N, B> {
    /// As [`new`](NandLog::new), with bytes stored or counted.
    ///
    /// # Errors
    /// As it has.
    pub fn with_payload(chip: N, blocks_per_segment: u32) -> Result<Self, NandLayoutError> {
        let layout = Layout::new(&chip.geometry(), blocks_per_segment, true)?;
        let extra = if layout.has_tag_pages { Extra::TagPages } else { Extra::Nothing };
        Ok(Self::laid_out(chip, layout, layout.tag_pages()?, extra))
    }
}

impl<N: Nand, B: Payload, T: TagPlace> NandLog<N, B, T> {
    pub(super) fn laid_out(chip: N, layout: Layout, tag_pages: T, extra: Extra) -> Self {
        let geometry = chip.geometry();
        Self {
            layout,
            extra,
            has_failed_checkpoint: false,
            kept_costs: KeptCosts::default(),
            logical_pages: 0,
            tag_pages,
            open: Vec::new(),
            doubts_sources: false,
            page: B::zeros(geometry.page_bytes),
            spare: B::zeros(geometry.spare_bytes),
            chip,
            payload: PhantomData,
        }
    }

    /// [`Log::shape`](super::Log::shape).
    pub(super) fn shape_of_log(&self) -> LogShape {
        let of_cells = self.layout.shape();
        self.tag_pages.get().map_or(of_cells, |tag_pages| tag_pages.shape(of_cells))
    }
}
