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
//! 128; 52 the name; 256 simulated time in nanoseconds (8 bytes, outside the checksum, since it moves).
//!
//! Block record: 0 erases; 4 endurance, 0 without a limit; 8 flags; 12 the page after the last programmed one;
//! 16 reads since the erase; 24 all reads; 32 all programs; 40 time of the first program since the erase.
//!
//! Page record: 0 state; 1 detail; 2 check of the spare bytes, the low half of their CRC-32; 4 CRC-32 of the data. The
//! checks are what the code of a real chip is: damage done to the file is noticed when a page is read. In memory both
//! are zero.
//!
//! Zero is the erased state everywhere, so a fresh chip is a file without a single block on disk, and an erase only
//! clears the records of its pages (NAND) or the block (NOR).

use crate::error::ImageFault;
use crate::profile::{ChipKind, ChipProfile};

const MARK: &[u8; 8] = b"WEARCHIP";
const VERSION: u32 = 2;
pub(crate) const HEADER_BYTES: usize = 4096;
const CHECKED: std::ops::Range<usize> = 16..256;
const NAME_AT: usize = 52;
const NAME_MAX: usize = 128;
const CLOCK_AT: usize = 256;
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
        // A chip beyond the address space is refused where its bytes are reserved, before these are used.
        Self { pages_at: pages_at as usize, spares_at: spares_at as usize, data_at: data_at as usize, len }
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

pub(crate) fn put_block(bytes: &mut [u8], block: u32, record: &BlockRecord) {
    let r = &mut bytes[Layout::block_at(block)..][..RECORD_BYTES];
    put_u32(r, 0, record.erases);
    put_u32(r, 4, record.endurance);
    put_u32(r, 8, record.flags);
    put_u32(r, 12, record.next_page);
    put_u32(r, 16, record.reads_since_erase);
    put_u64(r, 24, record.reads);
    put_u64(r, 32, record.programs);
    put_u64(r, 40, record.first_program_ns);
}

pub(crate) fn clock_ns(bytes: &[u8]) -> u64 {
    get_u64(bytes, CLOCK_AT)
}

pub(crate) fn put_clock_ns(bytes: &mut [u8], ns: u64) {
    put_u64(bytes, CLOCK_AT, ns);
}

/// Writes the header of a fresh chip.
pub(crate) fn put_header(bytes: &mut [u8], p: &ChipProfile) {
    for (i, value) in fields(p).into_iter().enumerate() {
        put_u32(bytes, CHECKED.start + 4 * i, value);
    }
    let name = stored_name(p);
    put_u32(bytes, 48, name.len() as u32);
    bytes[NAME_AT..NAME_AT + name.len()].copy_from_slice(name);
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
    if clock_ns(bytes) > CLOCK_MAX_NS {
        return Err(ImageFault::Clock { ns: clock_ns(bytes) });
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
