//! The bytes of an emulated chip: the same in memory and in an image file. All numbers are little-endian.
//!
//! | from | what |
//! | --- | --- |
//! | 0 | header, 4,096 bytes (below) |
//! | 4,096 | a record of 48 bytes for each block, filled up to whole 4,096 bytes |
//! | next | NAND: a record of eight bytes for each page, filled up likewise |
//! | next | NAND: `spare_bytes` for each page, filled up likewise |
//! | next | the data: NAND `page_bytes` for each page; NOR `block_bytes` for each block, every bit inverted |
//!
//! Header: 0 mark `WEARCHIP`; 8 version; 12 CRC-32 of bytes 16 to 255; 16 kind (0 NAND, 1 NOR); 20 page bytes; 24 spare
//! bytes; 28 pages per block; 32 block bytes; 36 blocks; 40 banks; 44 paired pages; 48 length of the name, at most
//! 128; 52 the name; 256 and 272 the clock, twice.
//!
//! Clock: 0 simulated time in nanoseconds (8 bytes); 8 the block whose record is being written, or none; 12 CRC-32 of what is
//! before it. The two are written in turn, so that a process that ends in the middle of one leaves the other.
//!
//! Block record: 0 erases; 4 endurance, 0 without a limit; 8 flags; 12 the page after the last programmed one;
//! 16 reads since the erase; 20 CRC-32 of the record with zeros here; 24 all reads; 32 all programs; 40 time of the
//! first program since the erase. A record of zeros has no checksum.
//!
//! Page record: 0 state; 1 detail; 2 the low half of the spare bytes' CRC-32, combined with state and detail; 4 CRC-32
//! of the data. Pages without content have zeros in place of the two CRCs. The checks are what the code of a real chip
//! is: damage done to the file is noticed when a page is read.
//!
//! In memory, which nothing else changes, no checksum but the header's is kept.
//!
//! # Processes that end in the middle
//!
//! A checksum does not fit a block record that was being written when the process ended. Only one can be, and the clock
//! names it before; one that fits no checksum, and that neither place of the clock names, was changed by something else. Page records are one word,
//! which is written whole.
//!
//! Zero is the erased state everywhere, so a fresh chip is a file without a single block on disk, and an erase only
//! clears the records of its pages (NAND) or the block (NOR).

use crate::error::ImageFault;
use crate::profile::{ChipKind, ChipProfile};

const MARK: &[u8; 8] = b"WEARCHIP";
const VERSION: u32 = 3;
pub(crate) const HEADER_BYTES: usize = 4096;
const CHECKED: std::ops::Range<usize> = 16..256;
const NAME_AT: usize = 52;
const NAME_MAX: usize = 128;
const CLOCKS_AT: [usize; 2] = [256, 272];
const CLOCK_BYTES: usize = 16;
/// In place of a block: no record is being written.
const NO_BLOCK: u32 = u32::MAX;
const CHECK_AT: usize = 20;
/// A century and a half: no run gets there, and sums of times beyond it cannot overflow.
const CLOCK_MAX_NS: u64 = 1 << 62;
const RECORD_BYTES: usize = 48;
pub(crate) const PAGE_RECORD_BYTES: usize = 8;

/// The whole-number fields of the header, from byte 16 on.
const FIELDS: [&str; 8] =
    ["kind", "page_bytes", "spare_bytes", "pages_per_block", "block_bytes", "blocks", "banks", "paired_pages"];

fn fields(p: &ChipProfile) -> [u32; 8] {
    let kind = match p.kind {
        ChipKind::Nand => 0,
        ChipKind::Nor => 1,
    };
    [kind, p.page_bytes, p.spare_bytes, p.pages_per_block, p.block_bytes, p.blocks, p.banks, p.paired_pages]
}

fn get_u32(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn get_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from(get_u32(bytes, at)) | u64::from(get_u32(bytes, at + 4)) << 32
}

fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// A block's flags.
pub(crate) mod flag {
    /// Bad from the factory.
    pub(crate) const FACTORY_BAD: u32 = 1;
    /// A program or an erase failed: all later ones fail, too.
    pub(crate) const GROWN_BAD: u32 = 2;
    /// Marked bad by the driver's user.
    pub(crate) const MARKED_BAD: u32 = 4;
    /// The last erase was cut off: reads as erased, but programs do not last.
    pub(crate) const WEAK_ERASE: u32 = 8;
    /// Some page of the block becomes uncorrectable at a later power-on.
    pub(crate) const FRAGILE: u32 = 16;
    /// An erase is going on. Set when an image is opened: the process ended in the middle of it.
    pub(crate) const ERASING: u32 = 32;
    /// All of them.
    pub(crate) const ALL: u32 = 63;
    /// Programs and erases fail.
    pub(crate) const BROKEN: u32 = FACTORY_BAD | GROWN_BAD | MARKED_BAD;
}

/// What the emulator keeps of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BlockRecord {
    pub(crate) erases: u32,
    /// Erases that the block survives; 0: no limit.
    pub(crate) endurance: u32,
    pub(crate) flags: u32,
    /// The lowest page behind all programmed ones: with an ascending order the next that may be programmed.
    pub(crate) next_page: u32,
    pub(crate) reads_since_erase: u32,
    pub(crate) reads: u64,
    pub(crate) programs: u64,
    pub(crate) first_program_ns: u64,
}

impl BlockRecord {
    pub(crate) fn has(&self, flags: u32) -> bool {
        self.flags & flags != 0
    }

    /// True if one more erase is more than the block survives.
    pub(crate) fn worn_out(&self) -> bool {
        self.endurance != 0 && self.erases >= self.endurance
    }
}

/// Where everything is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pages_at: usize,
    spares_at: usize,
    data_at: usize,
    /// What the chip keeps of its blocks and pages ends here; on NOR, where that and the data are not told apart, all of it.
    records_end: usize,
    len: u64,
}

impl Layout {
    pub(crate) fn new(p: &ChipProfile) -> Self {
        let filled = |bytes: u64| bytes.next_multiple_of(HEADER_BYTES as u64);
        let (pages, data_bytes) = match p.kind {
            ChipKind::Nand => (p.pages(), p.physical_bytes()),
            ChipKind::Nor => (0, u64::from(p.blocks) * u64::from(p.block_bytes)),
        };
        let pages_at = HEADER_BYTES as u64 + filled(u64::from(p.blocks) * RECORD_BYTES as u64);
        let spares_at = pages_at + filled(pages * PAGE_RECORD_BYTES as u64);
        let data_at = spares_at + filled(pages * u64::from(p.spare_bytes));
        let len = data_at + filled(data_bytes);
        let records_end = if p.kind == ChipKind::Nand { spares_at } else { len };
        // A chip beyond the address space is refused where its bytes are reserved, before these are used.
        Self {
            pages_at: pages_at as usize,
            spares_at: spares_at as usize,
            data_at: data_at as usize,
            records_end: records_end as usize,
            len,
        }
    }

    /// The bytes that are looked at and changed whatever the chip does: they need room at once.
    pub(crate) fn records(&self) -> std::ops::Range<usize> {
        0..self.records_end
    }

    /// The bytes that nothing uses: what fills up each part.
    fn unused(&self, p: &ChipProfile) -> [std::ops::Range<usize>; 5] {
        let (pages, data) = match p.kind {
            ChipKind::Nand => (p.pages() as u32, self.data(p.pages() as u32, p.page_bytes)),
            ChipKind::Nor => (0, self.data(p.blocks, p.block_bytes)),
        };
        [
            CLOCKS_AT[1] + CLOCK_BYTES..HEADER_BYTES,
            Self::block_at(p.blocks)..self.pages_at,
            self.page_records(pages, 0).start..self.spares_at,
            self.spare(pages, p.spare_bytes).start..self.data_at,
            data.start..self.len as usize,
        ]
    }

    /// Bytes of the whole chip.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The byte where a block's record begins.
    pub(crate) fn block_at(block: u32) -> usize {
        HEADER_BYTES + block as usize * RECORD_BYTES
    }

    /// The records of `count` pages from `page` on.
    pub(crate) fn page_records(&self, page: u32, count: u32) -> std::ops::Range<usize> {
        let from = self.pages_at + page as usize * PAGE_RECORD_BYTES;
        from..from + count as usize * PAGE_RECORD_BYTES
    }

    /// The bytes of spare `index`, each `bytes` long.
    pub(crate) fn spare(&self, index: u32, bytes: u32) -> std::ops::Range<usize> {
        let from = self.spares_at + index as usize * bytes as usize;
        from..from + bytes as usize
    }

    /// The bytes of data unit (page or NOR block) `index`, each `bytes` long.
    pub(crate) fn data(&self, index: u32, bytes: u32) -> std::ops::Range<usize> {
        let from = self.data_at + index as usize * bytes as usize;
        from..from + bytes as usize
    }
}

pub(crate) fn block(bytes: &[u8], block: u32) -> BlockRecord {
    let r = &bytes[Layout::block_at(block)..][..RECORD_BYTES];
    BlockRecord {
        erases: get_u32(r, 0),
        endurance: get_u32(r, 4),
        flags: get_u32(r, 8),
        next_page: get_u32(r, 12),
        reads_since_erase: get_u32(r, 16),
        reads: get_u64(r, 24),
        programs: get_u64(r, 32),
        first_program_ns: get_u64(r, 40),
    }
}

/// A block's record, with its checksum if it is `checked`.
pub(crate) fn put_block(bytes: &mut [u8], block: u32, record: &BlockRecord, checked: bool) {
    let mut r = [0; RECORD_BYTES];
    put_u32(&mut r, 0, record.erases);
    put_u32(&mut r, 4, record.endurance);
    put_u32(&mut r, 8, record.flags);
    put_u32(&mut r, 12, record.next_page);
    put_u32(&mut r, 16, record.reads_since_erase);
    put_u64(&mut r, 24, record.reads);
    put_u64(&mut r, 32, record.programs);
    put_u64(&mut r, 40, record.first_program_ns);
    if checked {
        let crc = crc32fast::hash(&r);
        put_u32(&mut r, CHECK_AT, crc);
    }
    bytes[Layout::block_at(block)..][..RECORD_BYTES].copy_from_slice(&r);
}

/// True if a block's record is as it was put there.
fn is_whole(bytes: &[u8], block: u32) -> bool {
    let stored = &bytes[Layout::block_at(block)..][..RECORD_BYTES];
    let mut record = [0; RECORD_BYTES];
    record.copy_from_slice(stored);
    put_u32(&mut record, CHECK_AT, 0);
    stored == [0; RECORD_BYTES] || get_u32(stored, CHECK_AT) == crc32fast::hash(&record)
}

/// The clock, as one of its two places has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clock {
    pub(crate) ns: u64,
    /// The block whose record was being written.
    pub(crate) block: Option<u32>,
}

/// What a place of the clock holds, if that is whole.
fn clock_in(bytes: &[u8], place: usize) -> Option<Clock> {
    let c = &bytes[CLOCKS_AT[place]..][..CLOCK_BYTES];
    let clock = Clock { ns: get_u64(c, 0), block: Some(get_u32(c, 8)).filter(|&block| block != NO_BLOCK) };
    (get_u32(c, 12) == crc32fast::hash(&c[..12]) && clock.ns <= CLOCK_MAX_NS).then_some(clock)
}

/// Both places of the clock.
pub(crate) fn clocks(bytes: &[u8]) -> [Option<Clock>; 2] {
    [clock_in(bytes, 0), clock_in(bytes, 1)]
}

pub(crate) fn put_clock(bytes: &mut [u8], place: usize, clock: Clock) {
    let mut c = [0; CLOCK_BYTES];
    put_u64(&mut c, 0, clock.ns);
    put_u32(&mut c, 8, clock.block.unwrap_or(NO_BLOCK));
    let crc = crc32fast::hash(&c[..12]);
    put_u32(&mut c, 12, crc);
    bytes[CLOCKS_AT[place]..][..CLOCK_BYTES].copy_from_slice(&c);
}

/// Blocks whose record something else than the chip has changed.
pub(crate) fn changed_blocks(bytes: &[u8], blocks: u32) -> Vec<u32> {
    let written = clocks(bytes).map(|clock| clock.and_then(|clock| clock.block));
    (0..blocks).filter(|&block| !is_whole(bytes, block) && !written.contains(&Some(block))).collect()
}

/// The places of bytes that nothing uses, and that are not zero.
pub(crate) fn changed_unused(bytes: &[u8], p: &ChipProfile) -> Vec<usize> {
    Layout::new(p).unused(p).into_iter().flatten().filter(|&at| bytes[at] != 0).collect()
}

/// Writes the header of a fresh chip.
pub(crate) fn put_header(bytes: &mut [u8], p: &ChipProfile) {
    for (i, value) in fields(p).into_iter().enumerate() {
        put_u32(bytes, CHECKED.start + 4 * i, value);
    }
    let name = stored_name(p);
    put_u32(bytes, 48, name.len() as u32);
    bytes[NAME_AT..NAME_AT + name.len()].copy_from_slice(name);
    for place in 0..CLOCKS_AT.len() {
        put_clock(bytes, place, Clock { ns: 0, block: None });
    }
    let crc = crc32fast::hash(&bytes[CHECKED]);
    put_u32(bytes, 12, crc);
    put_u32(bytes, 8, VERSION);
    bytes[..8].copy_from_slice(MARK);
}

/// The profile's name as far as the header has room for it.
fn stored_name(p: &ChipProfile) -> &[u8] {
    let len = (0..=NAME_MAX).rev().find(|&at| p.name.is_char_boundary(at)).unwrap_or(0);
    &p.name.as_bytes()[..len]
}

/// The name in a header, if it is one.
///
/// # Errors
/// `Foreign`, `Version`, `Checksum` or `Length` (too short for a header).
pub(crate) fn header_name(bytes: &[u8]) -> Result<String, ImageFault> {
    if !bytes.starts_with(MARK) {
        return Err(ImageFault::Foreign);
    }
    if bytes.len() < HEADER_BYTES {
        return Err(ImageFault::Length { found: bytes.len() as u64, expected: HEADER_BYTES as u64 });
    }
    let version = get_u32(bytes, 8);
    if version != VERSION {
        return Err(ImageFault::Version { found: version, supported: VERSION });
    }
    if get_u32(bytes, 12) != crc32fast::hash(&bytes[CHECKED]) {
        return Err(ImageFault::Checksum);
    }
    let len = (get_u32(bytes, 48) as usize).min(NAME_MAX);
    Ok(String::from_utf8_lossy(&bytes[NAME_AT..NAME_AT + len]).into_owned())
}

/// Checks that `bytes` hold a chip of this profile's shape, with block records that a run can leave. Names may differ.
///
/// # Errors
/// As [`header_name`]; `OtherChip`, `Length`, `Clock` or `Record`.
pub(crate) fn check(bytes: &[u8], p: &ChipProfile) -> Result<(), ImageFault> {
    let found = header_name(bytes)?;
    for (i, value) in fields(p).into_iter().enumerate() {
        if get_u32(bytes, CHECKED.start + 4 * i) != value {
            return Err(ImageFault::OtherChip { found, wanted: p.name.clone(), field: FIELDS[i] });
        }
    }
    let expected = Layout::new(p).len();
    if bytes.len() as u64 != expected {
        return Err(ImageFault::Length { found: bytes.len() as u64, expected });
    }
    if clocks(bytes) == [None, None] {
        return Err(ImageFault::Clock);
    }
    for b in 0..p.blocks {
        let record = block(bytes, b);
        let what = if record.flags & !flag::ALL != 0 {
            "unknown flags"
        } else if record.next_page > p.pages_per_block {
            "next page beyond the block"
        } else {
            continue;
        };
        return Err(ImageFault::Record { block: b, what, at: Layout::block_at(b) as u64 });
    }
    Ok(())
}
