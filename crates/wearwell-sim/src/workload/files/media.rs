//! Removable media, after FSAF '09: files of one size class are created and deleted on a volume that is mostly full
//! (section 5.1), and a digital camera (figure 1).
//!
//! The paper says that sizes range from 2 KiB to 32 MiB, that the volume was filled to 80 %, and that files are created
//! and deleted. The three classes within that range, sizes of the user's own, and the number of transactions are ours.

use std::fmt;

use super::{Draw, Files, Program};
use crate::fat::FatError;
use crate::size::{format_size, parse_size};

/// Part of the volume that is kept full.
const FULL_PERCENT: u64 = 80;

/// The largest file that can be asked for.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Bytes that a run creates by default, in files of sizes of the user's own: four times a volume of 56 MiB.
const CREATED_BYTES: u64 = 224 << 20;

/// A class of file sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// 4 to 32 MiB: scenario s1.
    Huge,
    /// 128 KiB to 2 MiB: scenario s2.
    Medium,
    /// 2 to 64 KiB: scenario s3.
    Small,
    /// From `min_bytes` to `max_bytes`, both included.
    Between {
        /// The smallest file; at least a byte.
        min_bytes: u32,
        /// The largest file; at most 64 MiB.
        max_bytes: u32,
    },
}

impl Sizes {
    /// Reads the name of a class, a size, or two sizes as in `2KiB..64KiB`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let named = [Self::Huge, Self::Medium, Self::Small].into_iter().find(|sizes| sizes.to_string() == text);
        named.or_else(|| {
            let (min, max) = text.split_once("..").unwrap_or((text, text));
            let bytes = |text| parse_size(text).ok().filter(|bytes| (1..=MAX_FILE_BYTES).contains(bytes));
            let (min_bytes, max_bytes) = (bytes(min)? as u32, bytes(max)? as u32);
            (min_bytes <= max_bytes).then_some(Self::Between { min_bytes, max_bytes })
        })
    }

    /// Bytes of the smallest and of the largest file.
    fn range_bytes(self) -> (u32, u32) {
        match self {
            Self::Huge => (4 << 20, 32 << 20),
            Self::Medium => (128 << 10, 2 << 20),
            Self::Small => (2 << 10, 64 << 10),
            Self::Between { min_bytes, max_bytes } => (min_bytes, max_bytes),
        }
    }

    /// Files that a run creates: about four times the capacity of a volume of 56 MiB.
    pub(super) fn transactions(self) -> u64 {
        match self {
            Self::Huge => 20,
            Self::Medium => 210,
            Self::Small => 6900,
            Self::Between { min_bytes, max_bytes } => {
                CREATED_BYTES.div_ceil((u64::from(min_bytes) + u64::from(max_bytes)) / 2)
            }
        }
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Huge => f.write_str("huge"),
            Self::Medium => f.write_str("medium"),
            Self::Small => f.write_str("small"),
            Self::Between { min_bytes, max_bytes } if min_bytes == max_bytes => {
                f.write_str(&format_size(min_bytes.into()))
            }
            Self::Between { min_bytes, max_bytes } => {
                write!(f, "{}..{}", format_size(min_bytes.into()), format_size(max_bytes.into()))
            }
        }
    }
}

/// The files of one class. A transaction creates a file. Before that, it deletes random files until the new one fits
/// within the fill limit.
pub(super) struct Media {
    sizes: Sizes,
    files: Vec<String>,
    created: u32,
    /// Bytes that must stay free.
    spare_bytes: u64,
}

impl Media {
    pub(super) fn new(sizes: Sizes) -> Self {
        Self { sizes, files: Vec::new(), created: 0, spare_bytes: 0 }
    }

    fn create(&mut self, bytes: u32, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        let name = format!("F{:07}", self.created);
        files.create(&name, draw.content(bytes))?;
        self.created += 1;
        self.files.push(name);
        Ok(())
    }

    /// True if a file of `bytes` bytes fits within the fill limit.
    fn fits(&self, bytes: u32, files: &mut dyn Files) -> Result<bool, FatError> {
        Ok(files.free_bytes()? >= self.spare_bytes + files.footprint_bytes(bytes.into()))
    }
}

impl Program for Media {
    fn set_up(&mut self, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        // The volume is still empty, so this is a part of all of it.
        self.spare_bytes = files.free_bytes()? * (100 - FULL_PERCENT) / 100;
        files.set_block_bytes(64 << 10);
        let (min, max) = self.sizes.range_bytes();
        let mut bytes = draw.between(min, max);
        while self.fits(bytes, files)? {
            self.create(bytes, files, draw)?;
            bytes = draw.between(min, max);
        }
        // Fills the volume until no file of the class fits.
        while self.fits(min, files)? {
            self.create(min, files, draw)?;
        }
        Ok(())
    }

    fn transact(&mut self, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        let (min, max) = self.sizes.range_bytes();
        let bytes = draw.between(min, max);
        // With no file left, the file system says whether the new one fits.
        while !self.files.is_empty() && !self.fits(bytes, files)? {
            let victim = draw.below(self.files.len() as u32) as usize;
            let victim = self.files.swap_remove(victim);
            files.remove(&victim)?;
        }
        self.create(bytes, files, draw)
    }
}

/// Photos of a run.
pub(super) const CAMERA_TRANSACTIONS: u64 = 300;

/// Bytes of a photo.
const PHOTO_BYTES: (u32, u32) = (400 << 10, 1200 << 10);
/// On a full card, the first of each group of this many photos is deleted.
const CAMERA_DELETES_ONE_OF: usize = 3;

/// A digital camera: a transaction takes a photo. When the next one does not fit, every third one is deleted.
#[derive(Default)]
pub(super) struct Camera {
    photos: Vec<String>,
    taken: u32,
}

impl Program for Camera {
    fn set_up(&mut self, files: &mut dyn Files, _draw: &mut Draw) -> Result<(), FatError> {
        files.set_block_bytes(64 << 10);
        Ok(())
    }

    fn transact(&mut self, files: &mut dyn Files, draw: &mut Draw) -> Result<(), FatError> {
        let bytes = draw.between(PHOTO_BYTES.0, PHOTO_BYTES.1);
        // Each round deletes one photo at least, so this ends.
        while !self.photos.is_empty() && !files.has_room(bytes.into())? {
            let mut kept = Vec::new();
            for (at, name) in std::mem::take(&mut self.photos).into_iter().enumerate() {
                if at % CAMERA_DELETES_ONE_OF == 0 {
                    files.remove(&name)?;
                } else {
                    kept.push(name);
                }
            }
            self.photos = kept;
        }
        let name = format!("IMG{:05}", self.taken);
        files.create(&name, draw.content(bytes))?;
        self.taken += 1;
        self.photos.push(name);
        Ok(())
    }
}
