//! Content that shows where and when it was written, and the expected content of every sector.
//!
//! Programs over files write their own bytes, which are kept as they are.

use thiserror::Error;
use wearwell::{SECTOR_BYTES, Sectors};

use crate::fat::SparseImage;

const SECTOR: usize = SECTOR_BYTES as usize;

/// A version of a sector: the number of the write that made it. Version 0 was never written and reads as zeros.
pub type Version = u32;

/// The version of a sector whose bytes were given by a program.
const GIVEN: Version = Version::MAX;

/// A read did not return what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("sector {sector}, byte {byte}: read something else than was written last (version {expected})")]
pub struct Mismatch {
    /// The sector.
    pub sector: u64,
    /// The first wrong byte in it.
    pub byte: u32,
    /// The version it must hold.
    pub expected: Version,
}

/// Fills a sector (512 bytes) with the content of one version.
///
/// The first word holds the version itself, mixed with the sector's number; see [`version_in`].
pub fn fill_sector(out: &mut [u8], sector: u64, version: Version) {
    if version == 0 {
        out.fill(0);
        return;
    }
    // The factor spreads the sector's number over the word. Without it, a sector and a version that swap a bit would
    // have the same key.
    let key = mix(sector.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(version));
    let (words, _) = out.as_chunks_mut::<8>();
    for (i, word) in words.iter_mut().enumerate() {
        let value = key.wrapping_add(i as u64).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        *word = (value ^ (value >> 32)).to_le_bytes();
    }
    if let Some(first) = words.first_mut() {
        *first = (u64::from(version) ^ sector_mask(sector)).to_le_bytes();
    }
}

/// The version that a sector's bytes claim to be. The claim holds if [`fill_sector`] gives the same bytes. None if no
/// version has such bytes.
pub fn version_in(bytes: &[u8], sector: u64) -> Option<Version> {
    let first = u64::from_le_bytes(*bytes.first_chunk()?);
    if first == 0 { Some(0) } else { Version::try_from(first ^ sector_mask(sector)).ok() }
}

/// Its upper half is not zero, so that no version makes the first word zero.
fn sector_mask(sector: u64) -> u64 {
    mix(sector) | 1 << 63
}

/// The finalizer of SplitMix64.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The expected content of every sector of a device.
#[derive(Debug, Clone)]
pub struct Contents {
    versions: Vec<Version>,
    last: Version,
    bytes: Vec<u8>,
    /// The bytes of sectors of version [`GIVEN`].
    given: SparseImage,
}

impl Contents {
    /// An empty device.
    pub fn new(sectors: u64) -> Self {
        Self { versions: vec![0; sectors as usize], last: 0, bytes: Vec::new(), given: SparseImage::new(sectors) }
    }

    /// Starts a new version, for the next write.
    pub fn next_version(&mut self) {
        self.last += 1;
    }

    /// Sets these sectors to the newest version, and returns its content.
    pub fn write(&mut self, at: Sectors) -> &[u8] {
        self.set(at, self.last);
        self.bytes.resize(at.count as usize * SECTOR, 0);
        for (sector, out) in (at.start..).zip(self.bytes.chunks_exact_mut(SECTOR)) {
            fill_sector(out, sector, self.last);
        }
        &self.bytes
    }

    /// Sets these sectors to the given bytes.
    pub fn give(&mut self, at: Sectors, data: &[u8]) {
        self.set(at, GIVEN);
        let (sectors, _) = data.as_chunks::<SECTOR>();
        for (sector, bytes) in (at.start..).zip(sectors) {
            self.given.write(sector, bytes);
        }
    }

    /// Sets these sectors to zeros.
    pub fn clear(&mut self, at: Sectors) {
        self.set(at, 0);
    }

    fn set(&mut self, at: Sectors, version: Version) {
        self.versions[at.start as usize..(at.start + at.count) as usize].fill(version);
    }

    /// Compares what was read. With `or_zeros` a sector may also read as zeros, as dead sectors do behind inference.
    ///
    /// # Errors
    /// The first byte that differs.
    pub fn check(&self, at: Sectors, read: &[u8], or_zeros: bool) -> Result<(), Mismatch> {
        let mut wanted = [0; SECTOR];
        for (sector, found) in (at.start..).zip(read.chunks_exact(SECTOR)) {
            let expected = self.versions[sector as usize];
            if expected == GIVEN {
                self.given.read(sector, &mut wanted);
            } else {
                fill_sector(&mut wanted, sector, expected);
            }
            if found != wanted && !(or_zeros && found.iter().all(|&byte| byte == 0)) {
                let byte = found.iter().zip(&wanted).take_while(|(found, wanted)| found == wanted).count() as u32;
                return Err(Mismatch { sector, byte, expected });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_tells_its_version_and_place() {
        let mut bytes = [0; SECTOR];
        for (sector, version) in [(0, 1), (0, 2), (7, 1), (u64::from(u32::MAX) + 9, u32::MAX), (3, 0)] {
            fill_sector(&mut bytes, sector, version);
            assert_eq!(version_in(&bytes, sector), Some(version));
            if version > 0 {
                assert_eq!(version_in(&bytes, sector + 1), None, "another sector's bytes are no version of this one");
            }
        }
    }

    #[test]
    fn a_changed_byte_an_old_version_and_a_foreign_sector_are_found() {
        let mut contents = Contents::new(64);
        let at = Sectors { start: 8, count: 2 };
        contents.next_version();
        let old = contents.write(at).to_vec();
        contents.next_version();
        let mut new = contents.write(at).to_vec();
        assert_eq!(contents.check(at, &new, false), Ok(()));
        assert!(contents.check(at, &old, false).is_err());
        assert!(contents.check(Sectors { start: 9, count: 1 }, &new[..SECTOR], false).is_err());
        new[SECTOR + 300] ^= 1;
        assert_eq!(contents.check(at, &new, false), Err(Mismatch { sector: 9, byte: 300, expected: 2 }));
        contents.clear(Sectors { start: 9, count: 1 });
        assert_eq!(contents.check(Sectors { start: 9, count: 1 }, &[0; SECTOR], false), Ok(()));
    }

    #[test]
    fn given_bytes_are_remembered_and_may_be_allowed_to_be_gone() {
        let mut contents = Contents::new(64);
        let at = Sectors { start: 8, count: 2 };
        contents.give(at, &[7; 2 * SECTOR]);
        assert_eq!(contents.check(at, &[7; 2 * SECTOR], false), Ok(()));
        let mut gone = [7; 2 * SECTOR];
        gone[..SECTOR].fill(0);
        assert!(contents.check(at, &gone, false).is_err());
        assert_eq!(contents.check(at, &gone, true), Ok(()));
        gone[9] = 1;
        assert!(contents.check(at, &gone, true).is_err());
    }
}
