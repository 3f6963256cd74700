//! Update in place: the baseline of the FMS paper (Chiang '97, section 3.2, figure 2).
//!
//! A logical page has one place on flash for good. The first write programs it; an update reads what is valid
//! in its segment, erases the segment and writes everything back. Segments are single erase blocks.
//!
//! NAND adds a rule that the paper's NOR card does not have: pages of a block are programmed in ascending
//! order. So a first write below a page that is already programmed is an update, too.
//!
//! **Not safe against power cuts.** Between the erase and the last program the segment's data is in memory
//! alone, and what is valid is not recorded on flash, so a device can be formatted but not mounted. This is
//! what the other engines are measured against.

use std::marker::PhantomData;
use std::ops::Range;

use wearwell::page::log::{Payload, Stored};
use wearwell::page::{ConfigError, MountError};
use wearwell::pieces::{Piece, check, parts, parts_mut, pieces};
use wearwell::{BlockDevice, FtlError, Inspect, Limits, Lookup, Lpn, Ppn, SECTOR_BYTES, Sectors, Stats, WriteHint};
use wearwell_flash::{BlockAddr, ChipError, ErrorKind, Nand, NandGeometry, PageAddr};

/// What is known of a logical page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Never written, or discarded: reads as zeros.
    None,
    /// At its place.
    Valid,
    /// Its place could not be read, or not be written back.
    Lost,
}

/// An engine that updates in place, over a [`Nand`].
///
/// Invariants:
/// - `home[s]` holds logical pages `s·n` to `s·n + n − 1`, n pages in a block, each at its own offset;
/// - in every good block, pages from `next[block]` on are erased, and none below is programmed again.
#[derive(Debug)]
pub struct InPlaceFtl<N, B = Stored> {
    chip: N,
    payload: PhantomData<B>,
    geometry: NandGeometry,
    logical_pages: u32,
    content: Vec<Content>,
    live_pages: u64,
    /// The block of each logical segment.
    home: Vec<BlockAddr>,
    /// Good blocks without a logical segment; they replace blocks that fail.
    spares: Vec<BlockAddr>,
    /// Of each block: the lowest page that may be programmed.
    next: Vec<u32>,
    erases: Vec<u32>,
    bad: Vec<bool>,
    /// The system buffer of figure 2: a segment's bytes, or none where none are stored.
    buffer: Vec<u8>,
    stats: Stats,
}

impl<N: Nand> InPlaceFtl<N> {
    /// Makes an empty device of a chip: every good block is erased.
    ///
    /// # Errors
    /// [`MountError::Config`] if the logical pages do not fit into the good blocks; [`MountError::Chip`] if the
    /// chip fails.
    pub fn format(chip: N, logical_pages: u32) -> Result<Self, MountError> {
        Self::format_with_payload(chip, logical_pages)
    }
}

impl<N: Nand, B: Payload> InPlaceFtl<N, B> {
    /// As [`format`](InPlaceFtl::format), with bytes stored or counted.
    ///
    /// # Errors
    /// As it has.
    pub fn format_with_payload(mut chip: N, logical_pages: u32) -> Result<Self, MountError> {
        let geometry = chip.geometry();
        // Before anything is erased: this may be too much even for a chip without bad blocks.
        check_capacity(logical_pages, geometry.pages(), 0)?;
        let mut bad = vec![false; geometry.blocks as usize];
        let mut good = Vec::with_capacity(geometry.blocks as usize);
        for block in (0..geometry.blocks).map(BlockAddr) {
            if prepare(&mut chip, block)? {
                good.push(block);
            } else {
                bad[block.0 as usize] = true;
            }
        }
        let bad_blocks = geometry.blocks as usize - good.len();
        check_capacity(logical_pages, geometry.pages(), bad_blocks as u64 * u64::from(geometry.pages_per_block))?;
        // The capacity was checked against the good blocks, so there are as many as this takes.
        let spares = good.split_off(logical_pages.div_ceil(geometry.pages_per_block) as usize);
        Ok(Self {
            chip,
            payload: PhantomData,
            geometry,
            logical_pages,
            content: vec![Content::None; logical_pages as usize],
            live_pages: 0,
            home: good,
            spares,
            next: vec![0; geometry.blocks as usize],
            erases: vec![0; geometry.blocks as usize],
            bad,
            buffer: B::zeros(geometry.page_bytes * geometry.pages_per_block),
            stats: Stats::default(),
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

    fn sectors_per_page(&self) -> u32 {
        self.geometry.page_bytes / SECTOR_BYTES
    }

    /// Segment of a page, and its place in it.
    fn split(&self, lpn: Lpn) -> (usize, u32) {
        ((lpn.0 / self.geometry.pages_per_block) as usize, lpn.0 % self.geometry.pages_per_block)
    }

    fn page_at(&self, lpn: Lpn) -> PageAddr {
        let (segment, slot) = self.split(lpn);
        self.geometry.page(self.home[segment], slot)
    }

    fn set_content(&mut self, lpn: Lpn, content: Content) {
        let old = std::mem::replace(&mut self.content[lpn.0 as usize], content);
        self.live_pages -= u64::from(old != Content::None);
        self.live_pages += u64::from(content != Content::None);
    }

    /// Numbers of the logical pages of a segment.
    fn pages_of(&self, segment: usize) -> Range<u32> {
        let first = segment as u32 * self.geometry.pages_per_block;
        first..self.logical_pages.min(first + self.geometry.pages_per_block)
    }

    fn is_valid(&self, lpn: Lpn) -> bool {
        self.content[lpn.0 as usize] == Content::Valid
    }

    /// A page's bytes in the buffer; none where none are stored.
    fn buffered(&mut self, slot: u32) -> &mut [u8] {
        let bytes = if B::STORES { self.geometry.page_bytes as usize } else { 0 };
        &mut self.buffer[slot as usize * bytes..][..bytes]
    }

    /// Reads a page to its place in the buffer.
    fn load(&mut self, lpn: Lpn) -> Result<(), FtlError> {
        let (_, slot) = self.split(lpn);
        let page = self.page_at(lpn);
        let bytes = if B::STORES { self.geometry.page_bytes as usize } else { 0 };
        match self.chip.read(page, &mut self.buffer[slot as usize * bytes..][..bytes], &mut []) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::Uncorrectable => Err(FtlError::Unreadable { lpn }),
            Err(error) => Err(FtlError::Chip(error.kind())),
        }
    }

    /// Puts a page's new content into the buffer.
    fn compose(&mut self, piece: Piece, data: &[u8]) -> Result<(), FtlError> {
        let (_, slot) = self.split(piece.lpn);
        if piece.count < self.sectors_per_page() {
            match self.content[piece.lpn.0 as usize] {
                Content::None => self.buffered(slot).fill(0),
                Content::Valid => {
                    self.stats.merge_reads += 1;
                    self.load(piece.lpn)?;
                }
                // A part of a page does not bring back the rest.
                Content::Lost => return Err(FtlError::Unreadable { lpn: piece.lpn }),
            }
        }
        if B::STORES {
            let from = (piece.first * SECTOR_BYTES) as usize;
            self.buffered(slot)[from..from + data.len()].copy_from_slice(data);
        }
        Ok(())
    }

    fn write_piece(&mut self, piece: Piece, data: &[u8]) -> Result<(), FtlError> {
        let (segment, slot) = self.split(piece.lpn);
        let block = self.home[segment];
        // The block has failed, and there was no spare to take its place.
        if self.bad[block.0 as usize] {
            return Err(self.worn_out());
        }
        self.stats.host_pages += 1;
        self.compose(piece, data)?;
        let in_order = slot >= self.next[block.0 as usize];
        if in_order {
            match self.program(segment, slot) {
                Ok(()) => {
                    self.stats.host_programs += 1;
                    self.set_content(piece.lpn, Content::Valid);
                    return Ok(());
                }
                Err(ErrorKind::ProgramFailed) => {}
                Err(error) => return Err(FtlError::Chip(error)),
            }
        }
        // In order, but not programmed: the block has gone bad.
        self.update(piece.lpn, in_order)
    }

    /// Writes a segment anew around the page at `lpn`, whose content is in the buffer. If the block is
    /// `failed`, or fails, a spare takes its place.
    fn update(&mut self, lpn: Lpn, mut failed: bool) -> Result<(), FtlError> {
        let (segment, _) = self.split(lpn);
        self.load_others(segment, lpn)?;
        let (mut is_on_flash, mut moves) = (true, false);
        let others = loop {
            if failed {
                if let Err(error) = self.replace(segment) {
                    // While nothing was erased, the old block has all pages still.
                    if !is_on_flash {
                        self.lose(segment);
                    }
                    return Err(error);
                }
                moves = true;
            }
            // From here on the buffer may have the only copy, because the erase comes first.
            is_on_flash = false;
            match self.write_back(segment, lpn) {
                Ok(others) => break others,
                Err(ErrorKind::ProgramFailed | ErrorKind::EraseFailed) => failed = true,
                Err(error) => {
                    self.lose(segment);
                    return Err(FtlError::Chip(error));
                }
            }
        };
        // Copies to a spare block are for the block that failed, not for the update.
        *if moves { &mut self.stats.wear_copies } else { &mut self.stats.copied_pages } += others;
        self.stats.host_programs += 1;
        self.set_content(lpn, Content::Valid);
        Ok(())
    }

    /// Reads the valid pages of a segment, but for `lpn`, into the buffer.
    fn load_others(&mut self, segment: usize, lpn: Lpn) -> Result<(), FtlError> {
        for other in self.pages_of(segment).map(Lpn) {
            if other == lpn || !self.is_valid(other) {
                continue;
            }
            match self.load(other) {
                // Written back as it is, the page would read as good data.
                Err(FtlError::Unreadable { .. }) => {
                    self.stats.lost_pages += 1;
                    self.set_content(other, Content::Lost);
                }
                loaded => loaded?,
            }
        }
        Ok(())
    }

    /// Erases a segment's block, unless it is erased, and programs its valid pages and `lpn` from the buffer.
    /// Returns how many there are beside `lpn`.
    fn write_back(&mut self, segment: usize, lpn: Lpn) -> Result<u64, ErrorKind> {
        let block = self.home[segment];
        // A spare block was erased when the device was formatted.
        if self.next[block.0 as usize] > 0 {
            self.chip.erase(block).map_err(|error| error.kind())?;
            self.chip.wait_erase(self.geometry.die_of(block));
            self.next[block.0 as usize] = 0;
            self.erases[block.0 as usize] += 1;
            self.stats.erases += 1;
        }
        let mut programmed = 0;
        for page in self.pages_of(segment).map(Lpn) {
            if page == lpn || self.is_valid(page) {
                self.program(segment, self.split(page).1)?;
                programmed += 1;
            }
        }
        Ok(programmed - 1)
    }

    /// Programs a page from the buffer.
    fn program(&mut self, segment: usize, slot: u32) -> Result<(), ErrorKind> {
        let block = self.home[segment];
        let bytes = if B::STORES { self.geometry.page_bytes as usize } else { 0 };
        let data = &self.buffer[slot as usize * bytes..][..bytes];
        // Whatever comes of it: a page whose program fails may be programmed in part.
        self.next[block.0 as usize] = slot + 1;
        self.chip.program(self.geometry.page(block, slot), data, &[]).map_err(|error| error.kind())
    }

    /// Marks a segment's block bad and gives the segment a spare one.
    #[cold]
    fn replace(&mut self, segment: usize) -> Result<(), FtlError> {
        let block = self.home[segment];
        // Noted before the mark is written, which may fail.
        self.bad[block.0 as usize] = true;
        self.stats.retired_segments += 1;
        self.chip.mark_bad(block).map_err(|error| FtlError::Chip(error.kind()))?;
        self.home[segment] = self.spares.pop().ok_or_else(|| self.worn_out())?;
        Ok(())
    }

    /// A segment's data was in the buffer alone, and there it stays.
    #[cold]
    fn lose(&mut self, segment: usize) {
        for lpn in self.pages_of(segment).map(Lpn) {
            if self.is_valid(lpn) {
                self.stats.lost_pages += 1;
                self.set_content(lpn, Content::Lost);
            }
        }
    }

    fn worn_out(&self) -> FtlError {
        FtlError::WornOut {
            good_segments: self.bad.iter().filter(|&&bad| !bad).count() as u32,
            needed_segments: self.home.len() as u32,
        }
    }

    fn read_piece(&mut self, piece: Piece, out: &mut [u8]) -> Result<(), FtlError> {
        self.stats.host_reads += 1;
        let lpn = piece.lpn;
        match self.content[lpn.0 as usize] {
            Content::None => out.fill(0),
            Content::Lost => return Err(FtlError::Unreadable { lpn }),
            Content::Valid => {
                self.load(lpn)?;
                if B::STORES {
                    let (_, slot) = self.split(lpn);
                    let from = (piece.first * SECTOR_BYTES) as usize;
                    out.copy_from_slice(&self.buffered(slot)[from..][..out.len()]);
                }
            }
        }
        Ok(())
    }
}

/// Erases a block and waits for it. False if it is bad, or turns out to be.
fn prepare<N: Nand>(chip: &mut N, block: BlockAddr) -> Result<bool, MountError> {
    let kind = |error: N::Error| MountError::Chip(error.kind());
    if chip.is_bad(block).map_err(kind)? {
        return Ok(false);
    }
    match chip.erase(block) {
        Ok(()) => {
            chip.wait_erase(chip.geometry().die_of(block));
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::EraseFailed => {
            chip.mark_bad(block).map_err(kind)?;
            Ok(false)
        }
        Err(error) => Err(kind(error)),
    }
}

fn check_capacity(logical_pages: u32, physical_pages: u64, bad_pages: u64) -> Result<(), ConfigError> {
    if logical_pages == 0 {
        return Err(ConfigError::NoPages);
    }
    if physical_pages >= u64::from(u32::MAX) {
        return Err(ConfigError::TooManyPages { physical_pages });
    }
    let logical_pages = u64::from(logical_pages);
    if logical_pages + bad_pages > physical_pages {
        return Err(ConfigError::TooLarge { logical_pages, physical_pages, reserve_pages: bad_pages });
    }
    Ok(())
}

impl<N: Nand, B: Payload> BlockDevice for InPlaceFtl<N, B> {
    fn sectors(&self) -> u64 {
        u64::from(self.logical_pages) * u64::from(self.sectors_per_page())
    }

    fn page_bytes(&self) -> u32 {
        self.geometry.page_bytes
    }

    fn read(&mut self, at: Sectors, data: &mut [u8]) -> Result<(), FtlError> {
        check(at, self.sectors(), Some(data.len()), B::STORES)?;
        for (piece, out) in parts_mut(at, self.sectors_per_page(), B::STORES, data) {
            self.read_piece(piece, out)?;
        }
        Ok(())
    }

    /// Page by page, as figure 2 does: a command that updates n pages of a segment erases it n times.
    fn write(&mut self, at: Sectors, data: &[u8], _hint: WriteHint) -> Result<(), FtlError> {
        check(at, self.sectors(), Some(data.len()), B::STORES)?;
        for (piece, part) in parts(at, self.sectors_per_page(), B::STORES, data) {
            self.write_piece(piece, part)?;
        }
        Ok(())
    }

    fn discard(&mut self, at: Sectors) -> Result<(), FtlError> {
        check(at, self.sectors(), None, B::STORES)?;
        let per_page = self.sectors_per_page();
        for piece in pieces(at, per_page).filter(|piece| piece.count == per_page) {
            if self.content[piece.lpn.0 as usize] != Content::None {
                self.stats.discarded_pages += 1;
                self.set_content(piece.lpn, Content::None);
            }
        }
        Ok(())
    }

    /// Counts; every write is on flash already.
    fn flush(&mut self) -> Result<(), FtlError> {
        self.stats.flushes += 1;
        Ok(())
    }

    /// There is nothing to clean.
    fn clean(&mut self, _budget_pages: u32) -> Result<bool, FtlError> {
        Ok(false)
    }

    fn set_time_us(&mut self, _now_us: u64) {}

    /// Leaves no mark: this engine cannot be mounted.
    fn shutdown(&mut self) -> Result<(), FtlError> {
        self.flush()
    }
}

impl<N: Nand, B: Payload> Inspect for InPlaceFtl<N, B> {
    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reset_stats(&mut self) {
        self.stats.reset();
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.erases.iter().zip(&self.bad).filter(|&(_, &bad)| !bad).map(|(&erases, _)| erases).collect()
    }

    fn limits(&self) -> Limits {
        Limits {
            logical_pages: u64::from(self.logical_pages),
            physical_pages: self.geometry.pages(),
            pages_per_segment: self.geometry.pages_per_block,
            segments: self.geometry.blocks,
            needed_segments: self.home.len() as u32,
            live_pages: self.live_pages,
            dead_pages: 0,
            free_segments: self.spares.len() as u32,
            // Every page of a segment read and programmed, the page merged, an erase; blocks that fail excepted.
            max_ops_per_host_page: 2 * u64::from(self.geometry.pages_per_block) + 2,
            // A block has 4 bytes of `next`, 4 of `erases` and 1 of `bad`.
            table_bytes: self.content.len() as u64 + self.home.len() as u64 * 4 + u64::from(self.geometry.blocks) * 9,
        }
    }
}

impl<N: Nand, B: Payload> Lookup for InPlaceFtl<N, B> {
    fn lookup(&self, lpn: Lpn) -> Ppn {
        match self.content[lpn.0 as usize] {
            Content::None => Ppn::NONE,
            Content::Valid | Content::Lost => Ppn(self.page_at(lpn).0),
        }
    }
}

#[cfg(test)]
mod tests;
