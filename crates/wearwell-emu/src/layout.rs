//! The bytes of an emulated chip: the same in memory and in an image file. All numbers are little-endian.
//!
//! SPEC.md ("Chip image") has every byte.
//!
//! In memory only the header has a checksum, because nothing else can change the bytes.
//!
//! # Processes that end in the middle of a store
//!
//! The checksum of a block record is wrong if the process ended while it was written. Only one record can be in this
//! state, and the clock names it before it is written. A wrong checksum in a record that neither copy of the clock
//! names is damage. Page records are one word, which is written whole.
//!
//! Zero is the erased state everywhere, so a fresh chip is a file without data blocks on disk, and an erase only clears
//! the records of its pages (NAND) or the block (NOR).

use crate::error::ImageFault;
use crate::page_record::PAGE_RECORD_BYTES;
use crate::profile::{ChipKind, ChipProfile};

const MARK: &[u8; 8] = b"WEARCHIP";
const VERSION: u32 = 3;
pub(crate) const HEADER_BYTES: usize = 4096;
const NAME_MAX: usize = 128;
/// Stands for a block: no record is being written.
const NO_BLOCK: u32 = u32::MAX;
/// 146 years. No run reaches it, and a sum of two such times cannot overflow.
const CLOCK_MAX_NS: u64 = 1 << 62;
const RECORD_BYTES: usize = record::BYTES;

/// Where the fields of the header lie.
mod header {
    use std::ops::Range;

    use super::clock;

    pub(super) const MARK: Range<usize> = 0..8;
    pub(super) const VERSION: usize = 8;
    pub(super) const CRC: usize = 12;
    pub(super) const CHECKED: Range<usize> = 16..256;
    /// The whole-number fields of the shape: four bytes each, one after the other.
    pub(super) const SHAPE: usize = 16;
    pub(super) const SHAPE_FIELDS: [&str; 8] =
        ["kind", "page_bytes", "spare_bytes", "pages_per_block", "block_bytes", "blocks", "banks", "paired_pages"];
    pub(super) const NAME_LEN: usize = 48;
    pub(super) const NAME: usize = 52;
    pub(super) const CLOCKS: [usize; 2] = [256, 272];
    pub(super) const END: usize = CLOCKS[1] + clock::BYTES;
}

/// Where the fields of a clock lie.
mod clock {
    use std::ops::Range;

    pub(super) const NS: usize = 0;
    pub(super) const BLOCK: usize = 8;
    pub(super) const CHECKED: Range<usize> = 0..12;
    pub(super) const CRC: usize = 12;
    pub(super) const BYTES: usize = 16;
}

/// Where the fields of a block's record lie.
mod record {
    pub(super) const ERASES: usize = 0;
    pub(super) const ENDURANCE: usize = 4;
    pub(super) const FLAGS: usize = 8;
    pub(super) const NEXT_PAGE: usize = 12;
    pub(super) const READS_SINCE_ERASE: usize = 16;
    pub(super) const CRC: usize = 20;
    pub(super) const READS: usize = 24;
    pub(super) const PROGRAMS: usize = 32;
    pub(super) const FIRST_PROGRAM_NS: usize = 40;
    pub(super) const BYTES: usize = 48;
}

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
    /// A program or an erase failed: all later ones fail too.
    pub(crate) const GROWN_BAD: u32 = 2;
    /// Marked bad by the layer above the driver.
    pub(crate) const MARKED_BAD: u32 = 4;
    /// The last erase was cut off: reads as erased, but programs do not last.
    pub(crate) const WEAK_ERASE: u32 = 8;
    /// Some page of the block becomes uncorrectable at a later power-on.
    pub(crate) const FRAGILE: u32 = 16;
    /// An erase is in progress. If it is set when an image is opened, the process ended in the middle of the erase.
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
    /// The lowest page above all programmed ones. With an ascending order it is the next that may be programmed.
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

    /// True if the block does not survive another erase.
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
    /// The end of the records of blocks and pages. On NOR, where records and data are not separated, the end of the
    /// chip.
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
        // A NOR chip never asks for room, so all of it counts as records.
        let records_end = if p.kind == ChipKind::Nand { spares_at } else { len };
        // A chip beyond the address space is refused where its bytes are reserved, before these numbers are used.
        Self {
            pages_at: pages_at as usize,
            spares_at: spares_at as usize,
            data_at: data_at as usize,
            records_end: records_end as usize,
            len,
        }
    }

    /// The bytes that every operation may change. They need space from the start.
    pub(crate) fn records(&self) -> std::ops::Range<usize> {
        0..self.records_end
    }

    /// The bytes that nothing uses: the padding of each part.
    fn unused(&self, p: &ChipProfile) -> [std::ops::Range<usize>; 5] {
        let (pages, data) = match p.kind {
            ChipKind::Nand => (p.pages() as u32, self.data(p.pages() as u32, p.page_bytes)),
            ChipKind::Nor => (0, self.data(p.blocks, p.block_bytes)),
        };
        [
            header::END..HEADER_BYTES,
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
    decode_block(r)
}

fn decode_block(r: &[u8]) -> BlockRecord {
    BlockRecord {
        erases: get_u32(r, record::ERASES),
        endurance: get_u32(r, record::ENDURANCE),
        flags: get_u32(r, record::FLAGS),
        next_page: get_u32(r, record::NEXT_PAGE),
        reads_since_erase: get_u32(r, record::READS_SINCE_ERASE),
        reads: get_u64(r, record::READS),
        programs: get_u64(r, record::PROGRAMS),
        first_program_ns: get_u64(r, record::FIRST_PROGRAM_NS),
    }
}

/// A block's record, with its checksum if it is `checked`.
pub(crate) fn put_block(bytes: &mut [u8], block: u32, record: &BlockRecord, checked: bool) {
    bytes[Layout::block_at(block)..][..RECORD_BYTES].copy_from_slice(&encode_block(record, checked));
}

fn encode_block(from: &BlockRecord, checked: bool) -> [u8; RECORD_BYTES] {
    let mut r = [0; RECORD_BYTES];
    put_u32(&mut r, record::ERASES, from.erases);
    put_u32(&mut r, record::ENDURANCE, from.endurance);
    put_u32(&mut r, record::FLAGS, from.flags);
    put_u32(&mut r, record::NEXT_PAGE, from.next_page);
    put_u32(&mut r, record::READS_SINCE_ERASE, from.reads_since_erase);
    put_u64(&mut r, record::READS, from.reads);
    put_u64(&mut r, record::PROGRAMS, from.programs);
    put_u64(&mut r, record::FIRST_PROGRAM_NS, from.first_program_ns);
    if checked {
        // The checksum's own bytes are still zero here, as they are when it is compared.
        let crc = crc32fast::hash(&r);
        put_u32(&mut r, record::CRC, crc);
    }
    r
}

/// True if a block's record is as it was written.
fn is_whole(bytes: &[u8], block: u32) -> bool {
    let stored = &bytes[Layout::block_at(block)..][..RECORD_BYTES];
    let mut record = [0; RECORD_BYTES];
    record.copy_from_slice(stored);
    put_u32(&mut record, record::CRC, 0);
    // A record that was never written is zero, and has no checksum.
    stored == [0; RECORD_BYTES] || get_u32(stored, record::CRC) == crc32fast::hash(&record)
}

/// One of the two copies of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clock {
    pub(crate) ns: u64,
    /// The block whose record was being written.
    pub(crate) block: Option<u32>,
}

/// Decodes a copy of the clock, if it is intact.
fn decode_clock(c: &[u8]) -> Option<Clock> {
    let block = Some(get_u32(c, clock::BLOCK)).filter(|&block| block != NO_BLOCK);
    let decoded = Clock { ns: get_u64(c, clock::NS), block };
    let is_whole = get_u32(c, clock::CRC) == crc32fast::hash(&c[clock::CHECKED]);
    (is_whole && decoded.ns <= CLOCK_MAX_NS).then_some(decoded)
}

fn encode_clock(from: Clock) -> [u8; clock::BYTES] {
    let mut c = [0; clock::BYTES];
    put_u64(&mut c, clock::NS, from.ns);
    put_u32(&mut c, clock::BLOCK, from.block.unwrap_or(NO_BLOCK));
    let crc = crc32fast::hash(&c[clock::CHECKED]);
    put_u32(&mut c, clock::CRC, crc);
    c
}

/// Both copies of the clock.
pub(crate) fn clocks(bytes: &[u8]) -> [Option<Clock>; 2] {
    header::CLOCKS.map(|at| decode_clock(&bytes[at..at + clock::BYTES]))
}

pub(crate) fn put_clock(bytes: &mut [u8], place: usize, clock: Clock) {
    bytes[header::CLOCKS[place]..][..clock::BYTES].copy_from_slice(&encode_clock(clock));
}

/// Blocks whose record was changed from outside.
pub(crate) fn changed_blocks(bytes: &[u8], blocks: u32) -> Vec<u32> {
    // The record that a process was writing when it ended may be half of one. That is no damage.
    let written = clocks(bytes).map(|clock| clock.and_then(|clock| clock.block));
    (0..blocks).filter(|&block| !is_whole(bytes, block) && !written.contains(&Some(block))).collect()
}

/// The offsets of unused bytes that are not zero.
pub(crate) fn changed_unused(bytes: &[u8], p: &ChipProfile) -> Vec<usize> {
    Layout::new(p).unused(p).into_iter().flatten().filter(|&at| bytes[at] != 0).collect()
}

/// Writes the header of a fresh chip.
pub(crate) fn put_header(bytes: &mut [u8], p: &ChipProfile) {
    for (i, value) in fields(p).into_iter().enumerate() {
        put_u32(bytes, header::SHAPE + 4 * i, value);
    }
    let name = stored_name(p);
    put_u32(bytes, header::NAME_LEN, name.len() as u32);
    bytes[header::NAME..header::NAME + name.len()].copy_from_slice(name);
    for place in 0..header::CLOCKS.len() {
        put_clock(bytes, place, Clock { ns: 0, block: None });
    }
    let crc = crc32fast::hash(&bytes[header::CHECKED]);
    put_u32(bytes, header::CRC, crc);
    put_u32(bytes, header::VERSION, VERSION);
    bytes[header::MARK].copy_from_slice(MARK);
}

/// The profile's name, cut to what the header holds.
fn stored_name(p: &ChipProfile) -> &[u8] {
    // Places behind the end are no boundary, so a short name is taken whole.
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
    // Before the code: another version may have its code over other bytes.
    let version = get_u32(bytes, header::VERSION);
    if version != VERSION {
        return Err(ImageFault::Version { found: version, supported: VERSION });
    }
    if get_u32(bytes, header::CRC) != crc32fast::hash(&bytes[header::CHECKED]) {
        return Err(ImageFault::Checksum);
    }
    // A checksum that fits does not make a length true: somebody may have computed both.
    let len = (get_u32(bytes, header::NAME_LEN) as usize).min(NAME_MAX);
    Ok(String::from_utf8_lossy(&bytes[header::NAME..header::NAME + len]).into_owned())
}

/// Checks that `bytes` hold a chip of this profile's shape, with block records that a run can write. Names may differ.
///
/// # Errors
/// As [`header_name`]; `OtherChip`, `Length`, `Clock` or `Record`.
pub(crate) fn check(bytes: &[u8], p: &ChipProfile) -> Result<(), ImageFault> {
    // Spec I1.
    let found = header_name(bytes)?;
    for (i, value) in fields(p).into_iter().enumerate() {
        if get_u32(bytes, header::SHAPE + 4 * i) != value {
            return Err(ImageFault::OtherChip { found, wanted: p.name.clone(), field: header::SHAPE_FIELDS[i] });
        }
    }
    let expected = Layout::new(p).len();
    if bytes.len() as u64 != expected {
        return Err(ImageFault::Length { found: bytes.len() as u64, expected });
    }
    // Spec I2.
    if clocks(bytes) == [None, None] {
        return Err(ImageFault::Clock);
    }
    for b in 0..p.blocks {
        let record = block(bytes, b);
        // Spec I3.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_the_spec_is_what_is_written() {
        let profile = ChipProfile::from_toml_str(
            "test",
            "description = \"\"\nsource = \"\"\nkind = \"nand\"\npage_bytes = 512\nspare_bytes = 16\n\
             pages_per_block = 4\nblocks = 8\n\
             endurance_cycles = 1000\nendurance_spread = 0.0\n",
        )
        .expect("a valid profile");
        let spec = wearwell_spec::dump("chip-header");
        let mut bytes = vec![0; HEADER_BYTES];
        put_header(&mut bytes, &profile);
        assert_eq!(bytes[..spec.len()], spec);
        assert_eq!(bytes[spec.len()..], vec![0; HEADER_BYTES - spec.len()]);
        assert_eq!(header_name(&bytes).expect("a header"), "test");
        assert_eq!(clocks(&bytes), [Some(Clock { ns: 0, block: None }); 2]);
    }

    #[test]
    fn the_records_of_the_spec_are_what_is_written() {
        let clock = Clock { ns: 1_000_000_000, block: Some(5) };
        let spec = wearwell_spec::dump("chip-clock");
        assert_eq!(encode_clock(clock).as_slice(), spec);
        assert_eq!(decode_clock(&spec), Some(clock));
        let record = BlockRecord {
            erases: 3,
            endurance: 1000,
            flags: 0,
            next_page: 2,
            reads_since_erase: 9,
            reads: 20,
            programs: 10,
            first_program_ns: 1_000_000_000,
        };
        let spec = wearwell_spec::dump("chip-block-record");
        assert_eq!(encode_block(&record, true).as_slice(), spec);
        assert_eq!(decode_block(&spec), record);
    }
}
