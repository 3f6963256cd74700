//! Reserves space in the file system for a sparse image, and gives it back.
//!
//! If the file system is full, a store through a memory map into a hole ends the process by a signal. So space is
//! reserved first, where a refusal is an ordinary error.

use std::cmp::Reverse;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// The smallest reservation. No file system has smaller blocks that can be holes and be written one by one.
const BLOCK_BYTES: usize = 4096;
/// Blocks that are reserved at once where a chip is filled. For a single page, such as the header of an erased segment,
/// this would make a sparse image dense.
const PIECE_BLOCKS: usize = 16;

/// Released blocks up to this part of a chip keep their space. Cleaning erases segments all the time that are filled
/// again soon: to give their space back and to reserve it anew costs more than all else that a write does.
const KEPT_PART: usize = 32;

/// Runs of released blocks that are given back at once, the longest first. A file system may take milliseconds for
/// each, and all requests wait for that.
const RUNS_AT_ONCE: usize = 8;

/// Which blocks of a chip in a file are known to have space.
#[derive(Debug)]
pub(crate) struct Room {
    /// Where the chip begins.
    chip_at: u64,
    chip_bytes: usize,
    /// A bit for each block. An image that was just opened reserves its blocks again, which changes nothing.
    known: Vec<u64>,
    /// A bit for each block that holds nothing any more and still has its space: since the last sync, and before. Only
    /// of the latter a crash of the machine brings nothing back that is needed.
    released: Vec<u64>,
    durable: Vec<u64>,
    /// How many such blocks there are.
    released_blocks: usize,
}

impl Room {
    /// Starts with no known blocks.
    pub(crate) fn new(chip_at: u64, chip_bytes: usize) -> Self {
        let bits = vec![0; chip_bytes.div_ceil(BLOCK_BYTES).div_ceil(64)];
        Self { chip_at, chip_bytes, known: bits.clone(), released: bits.clone(), durable: bits, released_blocks: 0 }
    }

    /// Reserves space for these bytes of the chip.
    #[inline]
    pub(crate) fn make(&mut self, file: &File, range: Range<usize>) -> io::Result<()> {
        let mut blocks = range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES);
        if self.released_blocks > 0 {
            // Space that is used again must not be given back at the next sync.
            blocks.clone().for_each(|block| self.hold(block));
        }
        match blocks.find(|&block| !self.is_known(block)) {
            None => Ok(()),
            // Some of the blocks behind the first may have space. To reserve them once more changes nothing.
            Some(first) => self.ask(file, first..blocks.end),
        }
    }

    /// The whole blocks among these bytes of the chip hold nothing any more.
    pub(crate) fn release(&mut self, range: Range<usize>) {
        for block in range.start.div_ceil(BLOCK_BYTES)..range.end / BLOCK_BYTES {
            let (word, bit) = (block / 64, 1 << (block % 64));
            // A block may be erased again before the next sync. It counts once.
            self.released_blocks += usize::from((self.released[word] | self.durable[word]) & bit == 0);
            self.released[word] |= bit;
        }
    }

    /// All that was released is durable.
    pub(crate) fn settle(&mut self) {
        if self.released_blocks > 0 {
            for (durable, released) in self.durable.iter_mut().zip(&mut self.released) {
                *durable |= std::mem::take(released);
            }
        }
    }

    /// The block is to hold something again, or its space has been given back.
    fn hold(&mut self, block: usize) {
        let (word, bit) = (block / 64, 1 << (block % 64));
        self.released_blocks -= usize::from((self.released[word] | self.durable[word]) & bit != 0);
        self.released[word] &= !bit;
        self.durable[word] &= !bit;
    }

    /// Gives the space of some released blocks back to the file system, if there are many. A file system that does not
    /// take it back leaves it where it is. True if this is to be done again.
    pub(crate) fn give_back(&mut self, file: &File) -> bool {
        if self.is_kept() {
            return false;
        }
        let mut runs = runs(&self.durable);
        if runs.len() > RUNS_AT_ONCE {
            // The order among the longest does not matter, so a selection does instead of a sort.
            runs.select_nth_unstable_by_key(RUNS_AT_ONCE, |run| Reverse(run.len()));
        }
        let are_more = runs.len() > RUNS_AT_ONCE;
        for run in runs.into_iter().take(RUNS_AT_ONCE) {
            let (at, bytes) = (self.chip_at + (run.start * BLOCK_BYTES) as u64, (run.len() * BLOCK_BYTES) as u64);
            let is_given = fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, bytes).is_ok();
            for block in run {
                // Also after a refusal: it would only be repeated.
                self.hold(block);
                if is_given {
                    self.known[block / 64] &= !(1 << (block % 64));
                }
            }
        }
        are_more && !self.is_kept()
    }

    /// True if there are so few released blocks that they keep their space.
    fn is_kept(&self) -> bool {
        self.released_blocks <= self.chip_bytes / BLOCK_BYTES / KEPT_PART
    }

    fn is_known(&self, block: usize) -> bool {
        self.known[block / 64] >> (block % 64) & 1 != 0
    }

    #[cold]
    fn ask(&mut self, file: &File, wanted: Range<usize>) -> io::Result<()> {
        // The block before has space, so the chip is probably being filled in order.
        let fills = wanted.start > 0 && self.is_known(wanted.start - 1);
        let end = if fills { wanted.end.next_multiple_of(PIECE_BLOCKS) } else { wanted.end };
        let blocks = wanted.start..end.min(self.chip_bytes.div_ceil(BLOCK_BYTES));
        let bytes = blocks.start * BLOCK_BYTES..(blocks.end * BLOCK_BYTES).min(self.chip_bytes);
        allocate(file, self.chip_at + bytes.start as u64, bytes.len() as u64)?;
        for block in blocks {
            self.known[block / 64] |= 1 << (block % 64);
        }
        Ok(())
    }
}

/// The runs of bits that are set.
fn runs(bits: &[u64]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, &word) in bits.iter().enumerate() {
        let mut word = word;
        while word != 0 {
            let from = word.trailing_zeros();
            let count = (word >> from).trailing_ones();
            let start = at * 64 + from as usize;
            match runs.last_mut() {
                Some(last) if last.end == start => last.end += count as usize,
                _ => runs.push(start..start + count as usize),
            }
            // A shift by 64 is none: the whole word was one run then.
            word &= u64::MAX.checked_shl(from + count).unwrap_or(0);
        }
    }
    runs
}

/// Reserves space for these bytes of a file.
pub(crate) fn allocate(file: &File, at: u64, bytes: u64) -> io::Result<()> {
    loop {
        return match fallocate(file, FallocateFlags::empty(), at, bytes) {
            Err(Errno::INTR) => continue,
            // A file system that cannot reserve space allocates it when something is written.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => fill_holes(file, at, bytes),
            result => Ok(result?),
        };
    }
}

/// Writes a zero into every block that begins with a zero. This changes nothing but holes.
fn fill_holes(file: &File, at: u64, bytes: u64) -> io::Result<()> {
    for block in (at..at + bytes).step_by(BLOCK_BYTES) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, block)?;
        if byte == [0] {
            file.write_all_at(&byte, block)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn runs_go_over_words() {
        assert_eq!(runs(&[0b0111_0110, u64::MAX, 1, 1 << 63]), [1..3, 4..7, 64..129, 255..256]);
        assert_eq!(runs(&[0; 3]), []);
    }

    /// Every other block is released: a few runs are given back at a time, the longest first, and only what is durable.
    #[test]
    fn a_few_runs_are_given_back_at_a_time() {
        let file = tempfile::tempfile().expect("a file");
        let blocks = 8 * RUNS_AT_ONCE;
        file.write_all_at(&vec![1; blocks * BLOCK_BYTES], 0).expect("room");
        let mut room = Room::new(0, blocks * BLOCK_BYTES);
        let release = |room: &mut Room, block: usize| room.release(block * BLOCK_BYTES..(block + 1) * BLOCK_BYTES);
        (0..blocks).step_by(2).for_each(|block| release(&mut room, block));
        release(&mut room, blocks - 3);
        let all = room.released_blocks;
        assert!(!room.give_back(&file) && room.released_blocks == all, "nothing is durable");
        room.settle();
        let mut left = vec![all];
        while room.give_back(&file) {
            left.push(room.released_blocks);
        }
        left.push(room.released_blocks);
        // The last three, and one of the others for each of the other runs.
        let given: Vec<usize> = left.windows(2).map(|two| two[0] - two[1]).collect();
        assert_eq!(given[..3], [RUNS_AT_ONCE + 2, RUNS_AT_ONCE, RUNS_AT_ONCE]);
        assert!(room.is_kept() || runs(&room.durable).is_empty());
    }

    #[test]
    fn room_is_made_where_it_is_asked_for_and_nothing_changes() {
        let file = tempfile::tempfile().expect("a file");
        let chip_bytes = 80 * BLOCK_BYTES + 100;
        file.set_len((8192 + chip_bytes) as u64).expect("a hole");
        file.write_all_at(b"kept", 8192 + 70_000).expect("room");
        let mut room = Room::new(8192, chip_bytes);
        let taken_blocks = || file.metadata().expect("metadata").blocks() / 8;
        let before = taken_blocks();
        room.make(&file, 20_000..21_000).expect("room");
        let alone = taken_blocks() - before;
        assert!((2..8).contains(&alone), "{alone}");
        room.make(&file, 21_000..26_000).expect("room");
        let filling = taken_blocks() - before;
        assert!((12..30).contains(&filling), "from the one that is known to the end of the piece: {filling}");
        room.make(&file, chip_bytes - 1..chip_bytes).expect("the last piece is a short one");
        room.make(&file, 70_000..70_000).expect("nothing");
        fill_holes(&file, 8192, chip_bytes as u64).expect("room");
        assert_eq!(file.metadata().expect("metadata").len(), (8192 + chip_bytes) as u64);
        let mut bytes = vec![0; chip_bytes];
        file.read_exact_at(&mut bytes, 8192).expect("bytes");
        assert_eq!(&bytes[70_000..70_004], b"kept");
        assert!(bytes.iter().filter(|&&byte| byte != 0).count() == 4);
        assert!(file.metadata().expect("metadata").blocks() * 512 >= chip_bytes as u64);
    }
}
