//! How pages and their tags lie on NAND: the seam below the block-mapped engine.
//!
//! The engine decides which page goes where; a [`Pages`] programs, copies and erases. The layout `nand` keeps a [`Tag`]
//! in the spare bytes of each page, or in the page's last sector where the chip has too few of them.

use alloc::vec::Vec;
use core::marker::PhantomData;

use wearwell_flash::{ErrorKind, Nand, PageAddr, ProgramOrder, ReadReport};

use super::tag::{Decoded, TAG_BYTES, Tag, capacity_said};
use crate::addr::{Ppn, SECTOR_BYTES, Seg};
use crate::chip_error::kind;
use crate::page::log::{NandLayoutError, Payload, Stored, is_erased};
use crate::stripe::Stripe;

/// The shape of the flash, in the engine's terms: a segment is what Lee calls a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagesShape {
    /// Segments.
    pub segments: u32,
    /// Pages in each: N_p.
    pub pages: u32,
    /// Bytes of data in a page.
    pub page_bytes: u32,
    /// Pages after a program that a cut in it may damage lie in one group of so many; 1 if none do.
    pub group: u32,
    /// Order in which the pages of a segment may be programmed.
    pub order: ProgramOrder,
}

impl PagesShape {
    /// The first page of the group that the page before `end` lies in.
    pub(in crate::logblock) fn last_group(&self, end: u32) -> u32 {
        (end - 1) / self.group * self.group
    }
}

/// What the tag of a page says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagRead {
    /// The page reads as never programmed.
    Erased,
    /// The page cannot be read, or is none of the engine's.
    Unreadable,
    /// A tag.
    Tag(Tag),
    /// A tag of another version of the layout.
    OtherVersion(u32),
    /// A tag of a device that has so many logical pages, which are others than [`Pages::set_capacity`] said.
    OtherCapacity(u32),
}

/// A layout of tagged pages on a chip. A call that returns `Ok` has made its page durable.
pub trait Pages {
    /// False if bytes are only counted; see [`Payload`].
    const STORES: bool;
    /// True if tags are kept, so that the device can be mounted.
    const TAGGED: bool;

    /// The shape. Constant for the life of the value.
    fn shape(&self) -> PagesShape;

    /// Says how many logical pages the device has, before anything else is done. Tags record it.
    fn set_capacity(&mut self, logical_pages: u32);

    /// Programs a page with the host's bytes, zeros behind them.
    ///
    /// # Errors
    /// As the chip's.
    fn program(&mut self, at: Ppn, data: &[u8], tag: &Tag) -> Result<(), ErrorKind>;

    /// Copies a page with its tag; within the chip, where the chip can.
    ///
    /// # Errors
    /// As the chip's; `Uncorrectable` says that the source is unreadable and nothing was programmed.
    fn copy(&mut self, from: Ppn, to: Ppn) -> Result<(), ErrorKind>;

    /// Copies a page's data under another tag, whose `kind`, and without `own_seq` also whose `seq`, are taken from
    /// the source.
    ///
    /// # Errors
    /// As [`copy`](Self::copy).
    fn copy_as(&mut self, from: Ppn, to: Ppn, tag: &Tag, own_seq: bool) -> Result<(), ErrorKind>;

    /// Reads a page's data.
    ///
    /// # Errors
    /// As the chip's.
    fn read(&mut self, at: Ppn, data: &mut [u8]) -> Result<ReadReport, ErrorKind>;

    /// Reads a page's tag.
    ///
    /// # Errors
    /// As the chip's, but an unreadable page is an answer.
    fn tag(&mut self, at: Ppn) -> Result<TagRead, ErrorKind>;

    /// True if the page reads as erased, data and tag; none if it cannot be read.
    ///
    /// # Errors
    /// As the chip's, but an unreadable page is an answer.
    fn is_blank(&mut self, at: Ppn) -> Result<Option<bool>, ErrorKind>;

    /// Erases a segment.
    ///
    /// # Errors
    /// As the chip's.
    fn erase(&mut self, seg: Seg) -> Result<(), ErrorKind>;

    /// True if the segment was marked bad.
    ///
    /// # Errors
    /// As the chip's.
    fn is_bad(&mut self, seg: Seg) -> Result<bool, ErrorKind>;

    /// Marks a segment bad, durably.
    ///
    /// # Errors
    /// As the chip's.
    fn retire(&mut self, seg: Seg) -> Result<(), ErrorKind>;
}

/// `nand`: a tag with every page.
#[derive(Debug, Clone)]
pub struct TaggedPages<N, B = Stored> {
    chip: N,
    stripe: Stripe,
    payload: PhantomData<B>,
    payload_bytes: u32,
    /// Logical pages of the device.
    logical_pages: u32,
    tag_in_page: bool,
    page: Vec<u8>,
    spare: Vec<u8>,
}

impl<N: Nand> TaggedPages<N> {
    /// Pages of a chip whose segments are stripes of `blocks_per_segment` blocks on different dies.
    ///
    /// # Errors
    /// If a page cannot hold a tag beside a sector of data.
    pub fn new(chip: N, blocks_per_segment: u32) -> Result<Self, NandLayoutError> {
        Self::with_payload(chip, blocks_per_segment)
    }
}

impl<N: Nand, B: Payload> TaggedPages<N, B> {
    /// As [`new`](TaggedPages::new), with bytes stored or counted.
    ///
    /// # Errors
    /// As it has.
    pub fn with_payload(chip: N, blocks_per_segment: u32) -> Result<Self, NandLayoutError> {
        let geometry = chip.geometry();
        let (page_bytes, spare_bytes) = (geometry.page_bytes, geometry.spare_bytes);
        let tag_in_page = (spare_bytes as usize) < TAG_BYTES;
        // A tag in the page takes its last sector, and one has to be left for data.
        if page_bytes < SECTOR_BYTES * (1 + u32::from(tag_in_page)) {
            return Err(NandLayoutError::PageTooSmall { page_bytes, spare_bytes });
        }
        Ok(Self {
            stripe: Stripe::new(geometry, blocks_per_segment),
            chip,
            payload: PhantomData,
            payload_bytes: page_bytes - if tag_in_page { SECTOR_BYTES } else { 0 },
            logical_pages: 0,
            tag_in_page,
            page: B::zeros(page_bytes),
            spare: B::zeros(spare_bytes),
        })
    }

    /// The chip.
    pub fn chip(&self) -> &N {
        &self.chip
    }

    /// The chip, to set its clock or its faults.
    pub fn chip_mut(&mut self) -> &mut N {
        &mut self.chip
    }

    /// Gives the chip back.
    pub fn into_chip(self) -> N {
        self.chip
    }

    fn address(&self, at: Ppn) -> PageAddr {
        self.stripe.page(at.0)
    }

    /// Reads a page with its spare bytes.
    fn load(&mut self, at: Ppn) -> Result<ReadReport, ErrorKind> {
        let at = self.address(at);
        let spare: &mut [u8] = if self.tag_in_page { &mut [] } else { &mut self.spare };
        self.chip.read(at, &mut self.page, spare).map_err(kind)
    }

    /// The bytes of a tag that is to be programmed at `at`.
    fn encode(&self, at: Ppn, tag: &Tag) -> [u8; TAG_BYTES] {
        tag.encode(at.0 % self.stripe.pages(), self.logical_pages)
    }

    /// Programs what is loaded under a tag.
    fn store(&mut self, at: Ppn, tag: &Tag) -> Result<(), ErrorKind> {
        let tag = self.encode(at, tag);
        let at = self.address(at);
        if self.tag_in_page && B::STORES {
            let end = self.page.len() - TAG_BYTES;
            self.page[end..].copy_from_slice(&tag);
            return self.chip.program(at, &self.page, &[]).map_err(kind);
        }
        self.chip.program(at, &self.page, if B::STORES { &tag } else { &[] }).map_err(kind)
    }

    fn tag_bytes(&self) -> &[u8] {
        if self.tag_in_page { &self.page[self.page.len() - TAG_BYTES..] } else { &self.spare[..TAG_BYTES] }
    }

    /// What the bytes of a tag say.
    fn read_tag(&self, bytes: &[u8]) -> TagRead {
        match Tag::decode(bytes) {
            Some(Decoded::OtherVersion(version)) => TagRead::OtherVersion(version),
            Some(Decoded::Tag(tag, said)) => {
                // A tag that says no capacity is right under any.
                let found = said.map_or(self.logical_pages, |said| capacity_said(said, self.logical_pages));
                if found == self.logical_pages { TagRead::Tag(tag) } else { TagRead::OtherCapacity(found) }
            }
            None if is_erased(bytes) => TagRead::Erased,
            None => TagRead::Unreadable,
        }
    }
}

impl<N: Nand, B: Payload> Pages for TaggedPages<N, B> {
    const STORES: bool = B::STORES;
    const TAGGED: bool = true;

    fn shape(&self) -> PagesShape {
        let geometry = self.chip.geometry();
        let group = geometry.paired_pages;
        // A group that shares cells lies on all dies of the segment. Without shared cells a group is one page.
        let group = if group == 1 { 1 } else { group * self.stripe.blocks_per_segment() };
        PagesShape {
            segments: self.stripe.segments(),
            pages: self.stripe.pages(),
            page_bytes: self.payload_bytes,
            group,
            order: geometry.program_order,
        }
    }

    fn set_capacity(&mut self, logical_pages: u32) {
        self.logical_pages = logical_pages;
    }

    fn program(&mut self, at: Ppn, data: &[u8], tag: &Tag) -> Result<(), ErrorKind> {
        // A full page leaves no room for the tag, so that lies beside it. The data goes to the chip without a copy.
        if B::STORES && data.len() == self.page.len() {
            let tag = self.encode(at, tag);
            let at = self.address(at);
            return self.chip.program(at, data, &tag).map_err(kind);
        }
        if B::STORES {
            self.page[..data.len()].copy_from_slice(data);
            self.page[data.len()..].fill(0);
        }
        self.store(at, tag)
    }

    fn copy(&mut self, from: Ppn, to: Ppn) -> Result<(), ErrorKind> {
        let (from, to) = (self.address(from), self.address(to));
        self.chip.copy(from, to, &mut []).map(|_| ()).map_err(kind)
    }

    fn copy_as(&mut self, from: Ppn, to: Ppn, tag: &Tag, own_seq: bool) -> Result<(), ErrorKind> {
        self.load(from)?;
        let mut tag = *tag;
        if B::STORES
            && let Some(Decoded::Tag(source, _)) = Tag::decode(self.tag_bytes())
        {
            // Copies keep their number, except for a commit. The record of a loss stays one.
            tag.kind = source.kind;
            tag.seq = if own_seq { tag.seq } else { source.seq };
        }
        self.store(to, &tag)
    }

    fn read(&mut self, at: Ppn, data: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        // The chip reads whole pages, and `data` has no room for the sector with the tag.
        if self.tag_in_page && !data.is_empty() {
            let report = self.load(at)?;
            data.copy_from_slice(&self.page[..data.len()]);
            return Ok(report);
        }
        let at = self.address(at);
        self.chip.read(at, data, &mut []).map_err(kind)
    }

    fn tag(&mut self, at: Ppn) -> Result<TagRead, ErrorKind> {
        let address = self.address(at);
        let page: &mut [u8] = if self.tag_in_page { &mut self.page } else { &mut [] };
        match self.chip.read(address, page, &mut self.spare).map_err(kind) {
            // Where bytes are only counted, no tag comes back.
            Ok(_) if !B::STORES => Ok(TagRead::Erased),
            Ok(_) => Ok(self.read_tag(self.tag_bytes())),
            Err(ErrorKind::Uncorrectable) => Ok(TagRead::Unreadable),
            Err(error) => Err(error),
        }
    }

    fn is_blank(&mut self, at: Ppn) -> Result<Option<bool>, ErrorKind> {
        match self.load(at) {
            Ok(_) => Ok(Some(self.page.iter().chain(self.tag_bytes()).all(|&byte| byte == 0xFF))),
            Err(ErrorKind::Uncorrectable) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn erase(&mut self, seg: Seg) -> Result<(), ErrorKind> {
        // The last page is what says that the others are there.
        self.stripe.erase_last_first(&mut self.chip, seg)
    }

    fn is_bad(&mut self, seg: Seg) -> Result<bool, ErrorKind> {
        self.stripe.is_bad(&mut self.chip, seg)
    }

    fn retire(&mut self, seg: Seg) -> Result<(), ErrorKind> {
        self.stripe.mark_bad(&mut self.chip, seg)
    }
}
