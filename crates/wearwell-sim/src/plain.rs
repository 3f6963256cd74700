//! `plain`: data and nothing else. What the closed forms and the papers' counts assume; it cannot be mounted.

use std::marker::PhantomData;

use wearwell::logblock::{Pages, PagesShape, Tag, TagRead};
use wearwell::page::log::{Discards, EraseProgress, Kind, Log, LogShape, Payload, SegmentScan, Source, Stored};
use wearwell::{Class, Lpn, Ppn, Seg, Stripe};
use wearwell_flash::{ChipError, ErrorKind, Nand, PageAddr, ReadReport};

/// What lies below the page-mapped engine: pages on a chip, without a record of what they are.
#[derive(Debug, Clone)]
pub struct PlainLog<N, B = Stored> {
    chip: N,
    stripe: Stripe,
    erasing: Option<Seg>,
    payload: PhantomData<B>,
}

impl<N: Nand> PlainLog<N> {
    /// A log over a chip, whose segments are stripes of `blocks_per_segment` blocks on different dies.
    pub fn new(chip: N, blocks_per_segment: u32) -> Self {
        Self::with_payload(chip, blocks_per_segment)
    }
}

impl<N: Nand, B: Payload> PlainLog<N, B> {
    /// As [`new`](PlainLog::new), with bytes stored or counted.
    pub fn with_payload(chip: N, blocks_per_segment: u32) -> Self {
        let stripe = Stripe::new(chip.geometry(), blocks_per_segment);
        Self { chip, stripe, erasing: None, payload: PhantomData }
    }

    /// The chip.
    pub fn chip(&self) -> &N {
        &self.chip
    }

    /// The chip, to set its clock or its faults.
    pub fn chip_mut(&mut self) -> &mut N {
        &mut self.chip
    }

    #[inline]
    fn address(&self, at: Ppn) -> PageAddr {
        self.stripe.page(at.0)
    }

    /// True if one of the dies that a segment lies on erases.
    fn is_erasing_in(&mut self, seg: Seg) -> bool {
        let (geometry, mut blocks) = (self.chip.geometry(), self.stripe.blocks(seg));
        blocks.any(|block| self.chip.is_erasing(geometry.die_of(block)))
    }

    fn finish(&mut self) -> Option<(Seg, Result<(), ErrorKind>)> {
        // Only a chip that stores nothing erases in the background here, and it does not fail.
        self.erasing.take().map(|seg| (seg, Ok(())))
    }
}

impl<N: Nand, B: Payload> Log for PlainLog<N, B> {
    const STORES: bool = B::STORES;
    const DISCARDS: Discards = Discards::Forgotten;

    fn shape(&self) -> LogShape {
        LogShape {
            segments: self.stripe.segments(),
            slots: self.stripe.pages(),
            overhead_pages: 0,
            data_slots: self.stripe.pages(),
            filled_slots: self.stripe.pages(),
            group_pages: 1,
            rescue_pages: u32::MAX,
            ops_per_page: 2,
            banks: self.stripe.banks(),
            page_bytes: self.chip.geometry().page_bytes,
            max_logical_pages: u32::MAX,
        }
    }

    fn set_capacity(&mut self, _logical_pages: u32) {}

    fn forget(&mut self) {
        let _ = self.wait_erase();
    }

    fn open(&mut self, _seg: Seg, _class: Class, _age_clock: u64) -> Result<u32, ErrorKind> {
        Ok(0)
    }

    #[inline(always)]
    fn append(
        &mut self,
        at: Ppn,
        _lpn: Lpn,
        _class: Class,
        _kind: Kind,
        source: Source<'_>,
        _replaces: Ppn,
    ) -> Result<(), ErrorKind> {
        let to = self.address(at);
        match source {
            Source::Host(data, _) => self.chip.program(to, data, &[]).map_err(kind),
            Source::Copy(from) | Source::Again(from, _) => {
                let from = self.address(from);
                self.chip.copy(from, to, &mut []).map(|_| ()).map_err(kind)
            }
        }
    }

    fn erase(&mut self, seg: Seg, _erases: u32) -> Result<(EraseProgress, u32), ErrorKind> {
        for block in self.stripe.blocks(seg) {
            self.chip.erase(block).map_err(kind)?;
        }
        // A NOR chip that only counts erases in the background.
        if self.is_erasing_in(seg) {
            assert!(self.erasing.is_none(), "one erase at a time");
            self.erasing = Some(seg);
            return Ok((EraseProgress::InBackground, 0));
        }
        Ok((EraseProgress::Done, 0))
    }

    fn poll_erase(&mut self) -> Option<(Seg, Result<(), ErrorKind>)> {
        let seg = self.erasing?;
        if self.is_erasing_in(seg) { None } else { self.finish() }
    }

    fn wait_erase(&mut self) -> Option<(Seg, Result<(), ErrorKind>)> {
        for block in self.stripe.blocks(self.erasing?) {
            self.chip.wait_erase(self.chip.geometry().die_of(block));
        }
        self.finish()
    }

    fn is_erasing(&mut self, bank: u32) -> bool {
        let segments_per_bank = self.stripe.segments() / self.stripe.banks();
        // It is the dies that erase, so any segment on them can tell.
        self.erasing.is_some() && self.stripe.banks() > 1 && self.is_erasing_in(Seg(bank * segments_per_bank))
    }

    fn read(&mut self, at: Ppn, _lpn: Lpn, data: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        let page = self.address(at);
        self.chip.read(page, data, &mut []).map_err(kind)
    }

    fn is_bad(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        self.stripe.is_bad(&mut self.chip, seg)
    }

    fn retire(&mut self, seg: Seg) -> Result<(), ErrorKind> {
        self.stripe.mark_bad(&mut self.chip, seg)
    }

    fn is_blank(&mut self, _seg: Seg) -> Result<bool, ErrorKind> {
        Ok(false)
    }

    fn is_half_erased(&mut self, _seg: Seg) -> Result<bool, ErrorKind> {
        Ok(false)
    }

    fn scan(&mut self, _seg: Seg) -> Result<Option<SegmentScan>, ErrorKind> {
        Ok(None)
    }
}

/// What lies below the block-mapped engine: pages on a chip, without tags.
#[derive(Debug, Clone)]
pub struct PlainPages<N, B = Stored> {
    chip: N,
    stripe: Stripe,
    payload: PhantomData<B>,
}

impl<N: Nand> PlainPages<N> {
    /// Pages of a chip whose segments are stripes of `blocks_per_segment` blocks on different dies.
    pub fn new(chip: N, blocks_per_segment: u32) -> Self {
        Self::with_payload(chip, blocks_per_segment)
    }
}

impl<N: Nand, B: Payload> PlainPages<N, B> {
    /// As [`new`](PlainPages::new), with bytes stored or counted.
    pub fn with_payload(chip: N, blocks_per_segment: u32) -> Self {
        let stripe = Stripe::new(chip.geometry(), blocks_per_segment);
        Self { chip, stripe, payload: PhantomData }
    }

    /// The chip, to set its clock or its faults.
    pub fn chip_mut(&mut self) -> &mut N {
        &mut self.chip
    }
}

impl<N: Nand, B: Payload> Pages for PlainPages<N, B> {
    const STORES: bool = B::STORES;
    const TAGGED: bool = false;

    fn shape(&self) -> PagesShape {
        let geometry = self.chip.geometry();
        PagesShape {
            segments: self.stripe.segments(),
            pages: self.stripe.pages(),
            page_bytes: geometry.page_bytes,
            group: 1,
            order: geometry.program_order,
        }
    }

    fn set_capacity(&mut self, _logical_pages: u32) {}

    #[inline]
    fn program(&mut self, at: Ppn, data: &[u8], _tag: &Tag) -> Result<(), ErrorKind> {
        self.chip.program(self.stripe.page(at.0), data, &[]).map_err(kind)
    }

    #[inline]
    fn copy(&mut self, from: Ppn, to: Ppn) -> Result<(), ErrorKind> {
        let (from, to) = (self.stripe.page(from.0), self.stripe.page(to.0));
        self.chip.copy(from, to, &mut []).map(|_| ()).map_err(kind)
    }

    fn copy_as(&mut self, from: Ppn, to: Ppn, _tag: &Tag, _own_seq: bool) -> Result<(), ErrorKind> {
        self.copy(from, to)
    }

    fn read(&mut self, at: Ppn, data: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        self.chip.read(self.stripe.page(at.0), data, &mut []).map_err(kind)
    }

    fn tag(&mut self, _at: Ppn) -> Result<TagRead, ErrorKind> {
        Ok(TagRead::Unreadable)
    }

    fn is_blank(&mut self, _at: Ppn) -> Result<Option<bool>, ErrorKind> {
        Ok(None)
    }

    fn erase(&mut self, seg: Seg) -> Result<(), ErrorKind> {
        self.stripe.erase_last_first(&mut self.chip, seg)
    }

    fn is_bad(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        self.stripe.is_bad(&mut self.chip, seg)
    }

    fn retire(&mut self, seg: Seg) -> Result<(), ErrorKind> {
        self.stripe.mark_bad(&mut self.chip, seg)
    }
}

/// The kind of a chip's error.
#[expect(clippy::needless_pass_by_value, reason = "map_err passes by value")]
fn kind(error: impl ChipError) -> ErrorKind {
    error.kind()
}
