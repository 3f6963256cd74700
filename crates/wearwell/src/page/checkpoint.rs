//! The checkpoint: what a mount would find out, written at a clean shutdown (SPEC.md, "The checkpoint").
//!
//! It is a hint. It lies in pages of the log that the engine does not see, and names the segment of the mark of a clean
//! shutdown; the mark has the code of all its bytes. The mark is erased before anything else changes on flash. So a
//! checkpoint whose mark is there, with the code, is what was true when the mark was written, and still is. Any other
//! is passed over, and the mount scans. How its bytes lie is up to the log.

use alloc::vec;
use alloc::vec::Vec;

use wearwell_flash::ErrorKind;

use super::allocator::Allocator;
use super::log::checkpoint_bytes::{HEAD_BYTES, Head, ROW_BYTES, Row, Usage, decode_seal, entry_bytes};
use super::log::{CRC32, CodeOfMany, Kind, Log};
use super::map::FlatMap;
use crate::addr::{Lpn, Ppn, Seg};
use crate::clean::which::VictimChoice;
use crate::place::PlaceChoice;
use crate::segments::SegState;

/// Fills pages one after the other.
struct Writer<'a, L> {
    log: &'a mut L,
    seq: u64,
    page: Vec<u8>,
    filled: usize,
    next: u32,
    code: CodeOfMany,
}

impl<L: Log> Writer<'_, L> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), ErrorKind> {
        self.code.update(bytes);
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = rest.len().min(self.page.len() - self.filled);
            self.page[self.filled..self.filled + taken].copy_from_slice(&rest[..taken]);
            self.filled += taken;
            rest = &rest[taken..];
            if self.filled == self.page.len() {
                self.program()?;
            }
        }
        Ok(())
    }

    fn program(&mut self) -> Result<(), ErrorKind> {
        self.log.program_checkpoint(self.next, &self.page[..self.filled], self.seq)?;
        self.next += 1;
        self.filled = 0;
        Ok(())
    }

    /// The code of all that was written.
    fn end(mut self) -> Result<u32, ErrorKind> {
        if self.filled > 0 {
            self.program()?;
        }
        Ok(self.code.finalize())
    }
}

/// Reads pages one after the other.
struct Reader<'a, L> {
    log: &'a mut L,
    seq: u64,
    page: Vec<u8>,
    used: usize,
    next: u32,
    code: CodeOfMany,
}

impl<L: Log> Reader<'_, L> {
    /// Fills `bytes`. False if they cannot be read.
    fn take(&mut self, bytes: &mut [u8]) -> Result<bool, ErrorKind> {
        let mut filled = 0;
        while filled < bytes.len() {
            if self.used == self.page.len() {
                // A page with another number is left of another checkpoint.
                if self.log.read_checkpoint(self.next, &mut self.page)? != Some(self.seq) {
                    return Ok(false);
                }
                self.next += 1;
                self.used = 0;
            }
            let taken = (bytes.len() - filled).min(self.page.len() - self.used);
            bytes[filled..filled + taken].copy_from_slice(&self.page[self.used..self.used + taken]);
            (filled, self.used) = (filled + taken, self.used + taken);
        }
        self.code.update(bytes);
        Ok(true)
    }
}

/// A checkpoint that was read and is true.
pub(super) struct Checkpoint {
    pub(super) mark: Seg,
    pub(super) seq: u64,
    pub(super) host_pages: u64,
    pub(super) rows: Vec<Row>,
    /// The place of each logical page, the engine's own among them.
    pub(super) places: Vec<Ppn>,
}

impl Checkpoint {
    /// The checkpoint of the last shutdown, if nothing has changed since. `entries` is the number of pages of the map.
    pub(super) fn read<L: Log>(log: &mut L, entries: u32, page: &mut [u8]) -> Result<Option<Self>, ErrorKind> {
        let shape = log.shape();
        if log.checkpoint_pages() == 0 || !L::STORES {
            return Ok(None);
        }
        let Some(seq) = log.read_checkpoint(0, page)? else { return Ok(None) };
        let Some(head) = Head::decode(page) else { return Ok(None) };
        // The code is not checked yet, so the segment of the mark may be any number. It is checked before it is read.
        if head.seq != seq
            || (head.segments, head.entries) != (shape.segments, entries)
            || head.mark.0 >= shape.segments
        {
            return Ok(None);
        }
        // Spec P15.
        let mark = log.read_mark(head.mark, Kind::CleanMark, page)?;
        let Some(code) = mark.filter(|&mark| mark == seq).and_then(|_| decode_seal(page)) else { return Ok(None) };
        // The mark has taken the place of the first page, which is read once more for the code.
        let reader = Reader { log, seq, page: vec![0; page.len()], used: page.len(), next: 0, code: CRC32.digest() };
        Self::read_rest(reader, head, entry_bytes(shape.segments * shape.slots), code)
    }

    fn read_rest<L: Log>(
        mut reader: Reader<'_, L>,
        head: Head,
        entry_bytes: usize,
        code: u32,
    ) -> Result<Option<Self>, ErrorKind> {
        let (mut rows, mut places) = (Vec::new(), Vec::new());
        // Without memory for the tables the mount scans.
        if rows.try_reserve_exact(head.segments as usize).is_err()
            || places.try_reserve_exact(head.entries as usize).is_err()
            || !reader.take(&mut [0; HEAD_BYTES])?
        {
            return Ok(None);
        }
        for _ in 0..head.segments {
            let mut bytes = [0; ROW_BYTES];
            let is_read = reader.take(&mut bytes)?;
            let Some(row) = Row::decode(&bytes).filter(|_| is_read) else { return Ok(None) };
            rows.push(row);
        }
        let unmapped = u32::MAX >> (u32::BITS - entry_bytes as u32 * 8);
        for _ in 0..head.entries {
            let mut bytes = [0; 4];
            if !reader.take(&mut bytes[..entry_bytes])? {
                return Ok(None);
            }
            let place = u32::from_le_bytes(bytes);
            places.push(if place == unmapped { Ppn::NONE } else { Ppn(place) });
        }
        // Nothing of this is believed before the code is known to be that in the mark.
        let Head { mark, seq, host_pages, .. } = head;
        Ok((reader.code.finalize() == code).then_some(Self { mark, seq, host_pages, rows, places }))
    }
}

/// Writing.
impl<L: Log, P, V: VictimChoice, W: PlaceChoice> Allocator<L, P, FlatMap, V, W> {
    /// Writes the checkpoint of a mark that is to be written into the segment `mark`, which is open. Returns its code;
    /// none if the layout keeps no checkpoint, or has no good place for one.
    pub(super) fn write_checkpoint(&mut self, mark: Seg) -> Result<Option<u32>, ErrorKind> {
        // A checkpoint has no field for these, and a mount by it would not find them (decision 38).
        let is_certain = self.index().lost().is_empty() && self.table().unsound() == 0 && !self.log().doubts_sources();
        if self.log().checkpoint_pages() == 0 || !L::STORES || !is_certain {
            return Ok(None);
        }
        let written = self.write_checkpoint_of(mark);
        self.count_kept();
        match written {
            Ok(code) => Ok(code),
            // The place is erased before it is used again.
            Err(ErrorKind::ProgramFailed | ErrorKind::Other) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn write_checkpoint_of(&mut self, mark: Seg) -> Result<Option<u32>, ErrorKind> {
        let (good, sum) = self.table().good_erases().fold((0, 0), |(n, sum), e| (n + 1, sum + u64::from(e)));
        let mean_erases = sum.checked_div(good).unwrap_or(0) as u32;
        // The kept segments must not wear out before the others.
        let most_erases = mean_erases.max(self.rules().endurance / 2);
        // The mark takes the same number, so it is not used up before the mark is programmed (`leave_mark`).
        let seq = self.next_seq();
        let (log, index) = self.log_and_index();
        let (shape, map, table) = (log.shape(), index.map(), index.pool().table());
        let entry_bytes = entry_bytes(shape.segments * shape.slots);
        let entries = map.logical_pages();
        let bytes = HEAD_BYTES + shape.segments as usize * ROW_BYTES + entries as usize * entry_bytes;
        let pages = bytes.div_ceil(shape.page_bytes as usize) as u32;
        // The old mark is gone, so nobody believes the old checkpoint any more, and its erase may be cut.
        if !log.clear_checkpoint(pages, most_erases, mean_erases)? {
            return Ok(None);
        }
        let host_pages = index.clock().host_pages;
        let page = vec![0; shape.page_bytes as usize];
        let mut writer = Writer { log, seq, page, filled: 0, next: 0, code: CRC32.digest() };
        writer.put(&Head { mark, seq, host_pages, segments: shape.segments, entries }.encode())?;
        for seg in table.all() {
            let usage = match table.state(seg) {
                SegState::Free => Usage::Free,
                SegState::Suspect => Usage::Suspect,
                SegState::Bad => Usage::Bad,
                SegState::Open(_) | SegState::Closed(_) | SegState::Victim(_) | SegState::Erasing => {
                    Usage::InUse(table.class(seg))
                }
            };
            let dead = index.dead().of(seg);
            writer.put(&Row { erases: table.erases(seg), usage, opened: table.opened(seg), dead }.encode())?;
        }
        for lpn in (0..entries).map(Lpn) {
            // `Ppn::NONE` is all ones, and so are its low bytes.
            writer.put(&map.place_of(lpn).0.to_le_bytes()[..entry_bytes])?;
        }
        writer.end().map(Some)
    }
}
