//! The content of a disk in memory, in a compact form.

use std::fmt;

use super::SECTOR;

/// Sectors of a chunk, the unit of allocation.
const CHUNK_SECTORS: usize = 1024;

/// Bytes of a word.
const WORD: usize = 8;

/// One sector. A sector that repeats one word of 8 bytes takes no memory beyond its entry in a chunk. Empty sectors and
/// those of generated files are of this kind.
#[derive(Clone)]
enum Content {
    Repeated([u8; WORD]),
    Bytes(Box<[u8; SECTOR]>),
}

/// Sectors in memory. Sectors that were never written read as zeros.
#[derive(Clone)]
pub(crate) struct SparseImage {
    /// None where nothing was written.
    chunks: Vec<Option<Box<[Content]>>>,
}

impl fmt::Debug for SparseImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let taken = self.chunks.iter().flatten().count();
        f.debug_struct("SparseImage").field("chunks", &self.chunks.len()).field("taken", &taken).finish()
    }
}

impl SparseImage {
    pub(crate) fn new(sectors: u64) -> Self {
        Self { chunks: vec![None; sectors.div_ceil(CHUNK_SECTORS as u64) as usize] }
    }

    /// Reads one sector.
    pub(crate) fn read(&self, sector: u64, out: &mut [u8]) {
        let (chunk, place) = place_of(sector);
        match self.chunks[chunk].as_ref().map(|contents| &contents[place]) {
            None => out.fill(0),
            Some(Content::Repeated(word)) => {
                for part in out.chunks_exact_mut(WORD) {
                    part.copy_from_slice(word);
                }
            }
            Some(Content::Bytes(bytes)) => out.copy_from_slice(&bytes[..]),
        }
    }

    /// Writes one sector, `bytes`.
    pub(crate) fn write(&mut self, sector: u64, bytes: &[u8; SECTOR]) {
        let (chunk, place) = place_of(sector);
        let empty = || vec![Content::Repeated([0; WORD]); CHUNK_SECTORS].into_boxed_slice();
        let content = &mut self.chunks[chunk].get_or_insert_with(empty)[place];
        let (words, _) = bytes.as_chunks::<WORD>();
        match content {
            // Also where bytes were kept: their memory is given back.
            _ if words.iter().all(|word| *word == words[0]) => *content = Content::Repeated(words[0]),
            Content::Bytes(old) => **old = *bytes,
            Content::Repeated(_) => *content = Content::Bytes(Box::new(*bytes)),
        }
    }
}

fn place_of(sector: u64) -> (usize, usize) {
    let sector = sector as usize;
    (sector / CHUNK_SECTORS, sector % CHUNK_SECTORS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_was_written_last() {
        let mut image = SparseImage::new(5000);
        let mut out = [1; SECTOR];
        image.read(4999, &mut out);
        assert_eq!(out, [0; SECTOR]);
        let mut mixed = [7; SECTOR];
        mixed[100] = 8;
        for content in [[7; SECTOR], mixed, [9; SECTOR], [0; SECTOR], mixed] {
            image.write(4998, &content);
            image.read(4998, &mut out);
            assert_eq!(out, content);
        }
        image.read(4997, &mut out);
        assert_eq!(out, [0; SECTOR]);
    }
}
