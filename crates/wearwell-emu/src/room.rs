//! Room in the file system for what a sparse image takes.
//!
//! A store through a memory map, into a hole for which the file system has no room, ends the process by a signal. So
//! room is asked for before, where refusing it is an error like others.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// What is asked for at once. An image takes that much where it would take a page; the log of an engine fills it soon.
const PIECE_BYTES: usize = 64 << 10;
/// No file system has smaller blocks with holes between them, as far as they can be written one by one.
const BLOCK_BYTES: u64 = 4096;

/// Which pieces of a chip in a file are known to have room.
#[derive(Debug)]
pub(crate) struct Room {
    /// Where the chip begins.
    chip_at: u64,
    chip_bytes: usize,
    /// A bit for each piece. Those of an image that was just opened ask again, which changes nothing.
    known: Vec<u64>,
}

impl Room {
    /// Nothing is known yet of the chip's bytes.
    pub(crate) fn new(chip_at: u64, chip_bytes: usize) -> Self {
        Self { chip_at, chip_bytes, known: vec![0; chip_bytes.div_ceil(PIECE_BYTES).div_ceil(64)] }
    }

    /// Makes room for these bytes of the chip.
    #[inline]
    pub(crate) fn make(&mut self, file: &File, range: Range<usize>) -> io::Result<()> {
        let pieces = range.start / PIECE_BYTES..range.end.div_ceil(PIECE_BYTES);
        if pieces.clone().all(|piece| self.known[piece / 64] >> (piece % 64) & 1 != 0) {
            return Ok(());
        }
        self.ask(file, pieces)
    }

    #[cold]
    fn ask(&mut self, file: &File, pieces: Range<usize>) -> io::Result<()> {
        let bytes = pieces.start * PIECE_BYTES..(pieces.end * PIECE_BYTES).min(self.chip_bytes);
        allocate(file, self.chip_at + bytes.start as u64, bytes.len() as u64)?;
        for piece in pieces {
            self.known[piece / 64] |= 1 << (piece % 64);
        }
        Ok(())
    }
}

fn allocate(file: &File, at: u64, bytes: u64) -> io::Result<()> {
    loop {
        return match fallocate(file, FallocateFlags::empty(), at, bytes) {
            Err(Errno::INTR) => continue,
            // One that cannot promise room gives it for what is written.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => fill_holes(file, at, bytes),
            result => Ok(result?),
        };
    }
}

/// Writes a zero into every block that begins with one, which changes nothing but holes.
fn fill_holes(file: &File, at: u64, bytes: u64) -> io::Result<()> {
    for block in (at..at + bytes).step_by(BLOCK_BYTES as usize) {
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
    fn room_is_made_where_it_is_asked_for_and_nothing_changes() {
        let file = tempfile::tempfile().expect("a file");
        let chip_bytes = 5 * PIECE_BYTES + 100;
        file.set_len((8192 + chip_bytes) as u64).expect("a hole");
        file.write_all_at(b"kept", 8192 + 70_000).expect("room");
        let mut room = Room::new(8192, chip_bytes);
        room.make(&file, 65_000..66_000).expect("room");
        let two = file.metadata().expect("metadata").blocks() * 512;
        assert!((2 * PIECE_BYTES as u64..4 * PIECE_BYTES as u64).contains(&two), "{two}");
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
