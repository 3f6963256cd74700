//! Chips in image files: memory-mapped, sparse, and as the process left them when it ends, however it ends.
//!
//! What a page of the file holds is in the system's cache as soon as it is written here, so it outlives the process;
//! only [`EmuChip::sync`](crate::EmuChip::sync) makes it outlive the machine. Opening an image is power coming on. `layout.rs` describes
//! the bytes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use memmap2::MmapMut;

use crate::chip::check_setup;
use crate::error::{ImageFault, SetupError};
use crate::faults::Faults;
use crate::layout;
use crate::nand::EmuNand;
use crate::nor::EmuNor;
use crate::profile::{ChipKind, ChipProfile};
use crate::store::Store;

/// The bytes of a mapped image file, locked against other processes for as long as this lives.
#[derive(Debug)]
pub struct ImageStore {
    map: MmapMut,
    /// Holds the lock.
    _file: File,
}

impl Store for ImageStore {
    fn bytes(&self) -> &[u8] {
        &self.map
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }

    fn sync(&mut self) -> io::Result<()> {
        self.map.flush()
    }
}

#[allow(unsafe_code)]
fn map(file: &File) -> io::Result<MmapMut> {
    // SAFETY: a mapping is unsound if something else changes the file meanwhile. The caller holds the file's
    // exclusive lock, which every process that opens images through this module takes first; the file is a regular
    // one of the chip's full length, which nobody who honours the lock cuts short.
    unsafe { MmapMut::map_mut(file) }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> SetupError {
    let path = path.to_owned();
    move |error| SetupError::Io { path, error }
}

fn lock(file: &File, path: &Path) -> Result<(), SetupError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(SetupError::InUse { path: path.to_owned() }),
        Err(TryLockError::Error(error)) => Err(io_error(path)(error)),
    }
}

impl ImageStore {
    /// A new file of so many zeros, none of which takes room on disk.
    fn create(path: &Path, bytes: u64) -> Result<Self, SetupError> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path).map_err(io_error(path))?;
        lock(&file, path)?;
        file.set_len(bytes).map_err(io_error(path))?;
        let map = map(&file).map_err(io_error(path))?;
        Ok(Self { map, _file: file })
    }

    /// An existing file, checked to hold a chip of this profile.
    fn open(path: &Path, profile: &ChipProfile) -> Result<Self, SetupError> {
        let fault = |fault| SetupError::Image { path: path.to_owned(), fault };
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(io_error(path))?;
        lock(&file, path)?;
        // An empty file cannot be mapped, and a directory or a device is none of ours.
        let meta = file.metadata().map_err(io_error(path))?;
        if !meta.is_file() || meta.len() == 0 {
            return Err(fault(ImageFault::Foreign));
        }
        let map = map(&file).map_err(io_error(path))?;
        layout::check(&map, profile).map_err(fault)?;
        Ok(Self { map, _file: file })
    }
}

/// The name of the chip that an image holds: that of the profile it was made with.
///
/// # Errors
/// `Io`, or `Image` if the file is none.
pub fn image_chip_name(path: &Path) -> Result<String, SetupError> {
    let mut head = Vec::new();
    let file = File::open(path).map_err(io_error(path))?;
    file.take(layout::HEADER_BYTES as u64).read_to_end(&mut head).map_err(io_error(path))?;
    layout::header_name(&head).map_err(|fault| SetupError::Image { path: PathBuf::from(path), fault })
}

impl EmuNand<ImageStore> {
    /// A fresh chip in a new image file.
    ///
    /// # Errors
    /// `Profile`, `WrongKind`, `Faults`; `Io`, also if the file exists.
    pub fn create_image(path: &Path, profile: &ChipProfile, faults: Faults) -> Result<Self, SetupError> {
        Self::fresh(profile, faults, |bytes| ImageStore::create(path, bytes))
    }

    /// The chip in an image file, of a profile with the same shape. Factory-bad blocks and endurances are the file's.
    ///
    /// # Errors
    /// `Profile`, `WrongKind`, `Faults`, `Io`, `InUse`, `Image`.
    pub fn open_image(path: &Path, profile: &ChipProfile, faults: Faults) -> Result<Self, SetupError> {
        check_setup(profile, &faults, ChipKind::Nand)?;
        Ok(Self::existing(profile, faults, ImageStore::open(path, profile)?))
    }
}

impl EmuNor<ImageStore> {
    /// A fresh chip in a new image file.
    ///
    /// # Errors
    /// `Profile`, `WrongKind`, `Faults`; `Io`, also if the file exists.
    pub fn create_image(path: &Path, profile: &ChipProfile, faults: Faults) -> Result<Self, SetupError> {
        Self::fresh(profile, faults, |bytes| ImageStore::create(path, bytes))
    }

    /// The chip in an image file, of a profile with the same shape. Erases that were in progress are torn.
    ///
    /// # Errors
    /// `Profile`, `WrongKind`, `Faults`, `Io`, `InUse`, `Image`.
    pub fn open_image(path: &Path, profile: &ChipProfile, faults: Faults) -> Result<Self, SetupError> {
        check_setup(profile, &faults, ChipKind::Nor)?;
        Ok(Self::existing(profile, faults, ImageStore::open(path, profile)?))
    }
}
