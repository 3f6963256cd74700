//! A NAND chip whose image the fuzzer edits. It keeps the contract and never fails on its own.

use wearwell_flash::{BlockAddr, ErrorKind, Nand, NandGeometry, PageAddr, ProgramOrder, ReadReport};

use crate::device::{Image, LOGICAL_PAGES};
use crate::input::Input;

const CRC32: crc::Crc<u32, crc::Table<16>> = crc::Crc::<u32, crc::Table<16>>::new(&crc::CRC_32_ISO_HDLC);
const CRC24: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_24_OPENPGP);
/// Bytes of a tag, of which the last four are its checksum; in block mapping, the last three.
const TAG_BYTES: usize = 16;
const SUMMARY_HEAD_BYTES: usize = 32;

#[derive(Debug, Clone)]
struct Page {
    data: Vec<u8>,
    spare: Vec<u8>,
    programmed: bool,
    uncorrectable: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct FuzzNand {
    geometry: NandGeometry,
    pages: Vec<Page>,
    bad: Vec<bool>,
    engine: Engine,
}

/// Whose records are forged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    /// Page mapping, its map in memory.
    Pages,
    /// Page mapping, its map on flash.
    MapOnFlash,
    Blocks,
}

impl FuzzNand {
    /// A chip for an engine.
    pub(crate) fn of(engine: Engine, geometry: NandGeometry) -> Self {
        Self { engine, ..Self::new(geometry) }
    }

    pub(crate) fn new(geometry: NandGeometry) -> Self {
        let page = Page {
            data: vec![0xFF; geometry.page_bytes as usize],
            spare: vec![0xFF; geometry.spare_bytes as usize],
            programmed: false,
            uncorrectable: false,
        };
        let pages = vec![page; geometry.pages() as usize];
        Self { geometry, pages, bad: vec![false; geometry.blocks as usize], engine: Engine::Pages }
    }

    /// Changes the image: by single bytes, by moving pages about, and by records whose checksums are right.
    pub(crate) fn edit(&mut self, input: &mut Input<'_>) -> Image {
        let (operation, page) = (input.byte(), input.below(self.pages.len()));
        match operation % 9 {
            0 => {
                let at = input.below(self.geometry.page_bytes as usize);
                self.pages[page].data[at] = input.byte();
            }
            1 => {
                let tag = self.tag_of(page);
                tag[input.below(TAG_BYTES)] = input.byte();
            }
            2 => self.pages[page].uncorrectable = true,
            3 => self.pages[page] = Self::new(NandGeometry { blocks: 1, ..self.geometry }).pages.remove(0),
            4 => {
                let from = input.below(self.pages.len());
                self.pages[page] = self.pages[from].clone();
            }
            5 if self.engine == Engine::Blocks => {
                let [record @ .., what] = input.array::<13>();
                let [kind, role] = [1 + what % 5, 1 + what / 5 % 6];
                self.forge_block_tag(page, |tag| {
                    tag[..12].copy_from_slice(&record);
                    tag[12] = kind << 4 | role;
                });
            }
            6 | 7 if self.engine == Engine::Blocks => {
                let (at, value) = (input.below(13), input.byte());
                self.forge_block_tag(page, |tag| tag[at] = value);
            }
            5 => self.tag_of(page).copy_from_slice(&with_checksum(input.array::<12>())),
            6 => {
                let mut header: [u8; 20] = *b"WWsg_\0\0\0________----";
                header[4] = if self.engine == Engine::MapOnFlash { 5 } else { 2 };
                header[8..12].copy_from_slice(&input.array::<4>());
                header[12..16].copy_from_slice(&LOGICAL_PAGES.to_le_bytes());
                let checksum = CRC32.checksum(&header[..16]);
                header[16..].copy_from_slice(&checksum.to_le_bytes());
                self.pages[page].data[..20].copy_from_slice(&header);
                self.tag_of(page).copy_from_slice(&with_checksum(*b"\0\0\0\0\0\0\0\0\0\0\0\x48"));
            }
            7 => {
                let (at, value) = (input.byte(), input.byte());
                self.edit_summary(page, usize::from(at), value);
            }
            _ => self.bad[page / self.geometry.pages_per_block as usize] ^= true,
        }
        self.pages[page].programmed |= operation % 9 != 3;
        // A single erased page, or a page in the place of another, is as impossible as a forged record.
        if (3..=7).contains(&(operation % 9)) { Image::Forged } else { Image::Damaged }
    }

    /// Where the layout puts the tag: in the spare bytes, or at the end of the page if these are too few.
    fn tag_of(&mut self, page: usize) -> &mut [u8] {
        let Page { data, spare, .. } = &mut self.pages[page];
        let bytes = if spare.len() < TAG_BYTES { data } else { spare };
        let from = if bytes.len() == TAG_BYTES { 0 } else { bytes.len() - TAG_BYTES };
        &mut bytes[from..]
    }

    /// Changes a tag of block mapping and mends its checksum.
    fn forge_block_tag(&mut self, page: usize, change: impl FnOnce(&mut [u8])) {
        let tag = self.tag_of(page);
        change(tag);
        let checksum = CRC24.checksum(&tag[..13]).to_le_bytes();
        tag[13..].copy_from_slice(&checksum[..3]);
    }

    /// Changes a byte of a segment's summary and mends its checksum.
    fn edit_summary(&mut self, page: usize, at: usize, value: u8) {
        let pages_per_block = self.geometry.pages_per_block as usize;
        let last = page / pages_per_block * pages_per_block + pages_per_block - 1;
        let data = &mut self.pages[last].data;
        let end = SUMMARY_HEAD_BYTES + (pages_per_block - 2) * TAG_BYTES;
        data[at % end] = value;
        let mut digest = CRC32.digest();
        digest.update(&data[..SUMMARY_HEAD_BYTES - 4]);
        digest.update(&data[SUMMARY_HEAD_BYTES..end]);
        let checksum = digest.finalize().to_le_bytes();
        data[SUMMARY_HEAD_BYTES - 4..SUMMARY_HEAD_BYTES].copy_from_slice(&checksum);
    }

    fn page(&self, page: PageAddr) -> Result<&Page, ErrorKind> {
        self.pages.get(page.0 as usize).ok_or(ErrorKind::OutOfRange)
    }
}

fn with_checksum(record: [u8; 12]) -> [u8; TAG_BYTES] {
    let mut bytes = [0; TAG_BYTES];
    bytes[..12].copy_from_slice(&record);
    bytes[12..].copy_from_slice(&CRC32.checksum(&record).to_le_bytes());
    bytes
}

fn fill(to: &mut [u8], from: &[u8]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

impl Nand for FuzzNand {
    type Error = ErrorKind;

    fn geometry(&self) -> NandGeometry {
        self.geometry
    }

    fn read(&mut self, page: PageAddr, data: &mut [u8], spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        let stored = self.page(page)?;
        if stored.uncorrectable {
            return Err(ErrorKind::Uncorrectable);
        }
        fill(data, &stored.data);
        fill(spare, &stored.spare);
        Ok(ReadReport::default())
    }

    fn program(&mut self, page: PageAddr, data: &[u8], spare: &[u8]) -> Result<(), ErrorKind> {
        let block = self.geometry.block_of(page);
        let first = self.geometry.page(block, 0).0;
        let end = match self.geometry.program_order {
            ProgramOrder::Ascending => first + self.geometry.pages_per_block,
            ProgramOrder::Any => page.0 + 1,
        };
        let excluded = page.0 as usize..end as usize;
        assert!(excluded.end <= self.pages.len(), "a program outside the chip");
        if self.pages[excluded].iter().any(|p| p.programmed) {
            return Err(ErrorKind::Contract);
        }
        let stored = &mut self.pages[page.0 as usize];
        stored.programmed = true;
        fill(&mut stored.data, data);
        fill(&mut stored.spare, spare);
        Ok(())
    }

    fn copy(&mut self, from: PageAddr, to: PageAddr, spare: &mut [u8]) -> Result<ReadReport, ErrorKind> {
        let source = self.page(from)?.clone();
        if source.uncorrectable {
            return Err(ErrorKind::Uncorrectable);
        }
        fill(spare, &source.spare);
        self.program(to, &source.data, &source.spare)?;
        Ok(ReadReport::default())
    }

    fn erase(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        let first = self.geometry.page(block, 0).0 as usize;
        for page in &mut self.pages[first..first + self.geometry.pages_per_block as usize] {
            page.data.fill(0xFF);
            page.spare.fill(0xFF);
            page.programmed = false;
            page.uncorrectable = false;
        }
        Ok(())
    }

    fn is_bad(&mut self, block: BlockAddr) -> Result<bool, ErrorKind> {
        self.bad.get(block.0 as usize).copied().ok_or(ErrorKind::OutOfRange)
    }

    fn mark_bad(&mut self, block: BlockAddr) -> Result<(), ErrorKind> {
        self.bad[block.0 as usize] = true;
        Ok(())
    }
}
