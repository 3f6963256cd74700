//! Chips in image files: memory-mapped, sparse, and kept as they are however the process ends.
//!
//! A page of the file is in the system's cache as soon as it is written here, so it outlives the process. Only
//! [`EmuChip::sync`](crate::EmuChip::sync) makes it survive a crash of the machine. Opening an image switches the power
//! on. `layout.rs` describes the bytes. A file may hold something else before the chip ([`ImageFile::with_chip_at`]).

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::ops::{Deref, DerefMut, Range};
use std::path::{Path, PathBuf};

use memmap2::{Advice, MmapMut, MmapOptions};

use crate::error::{ImageFault, SetupError};
use crate::layout::{self, Layout};
use crate::profile::ChipProfile;
use crate::room::{self, Room};
use crate::store::Store;

/// The bytes of a chip in an image file, or in a private copy of one. The file is locked against other processes for as
/// long as this value lives.
#[derive(Debug)]
pub struct ImageStore {
    map: MmapMut,
    /// Holds the lock.
    file: File,
    /// Space that is reserved in the file; absent if changes stay in memory.
    room: Option<Room>,
    /// True if some changes are not durable.
    is_changed: bool,
}

impl Store for ImageStore {
    fn is_checked(&self) -> bool {
        true
    }

    fn bytes(&self) -> &[u8] {
        &self.map
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.is_changed = true;
        &mut self.map
    }

    fn make_room(&mut self, range: Range<usize>) -> io::Result<()> {
        self.room.as_mut().map_or(Ok(()), |room| room.make(&self.file, range))
    }

    fn release(&mut self, range: Range<usize>) {
        if let Some(room) = &mut self.room {
            room.release(range);
        }
    }

    fn give_back(&mut self) -> bool {
        self.room.as_mut().is_some_and(|room| room.give_back(&self.file))
    }

    fn is_changed(&self) -> bool {
        self.room.is_some() && self.is_changed
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.is_changed() {
            // The system writes only the pages that changed, so the cost does not grow with the map.
            self.map.flush()?;
            self.is_changed = false;
            // Not before: if the machine crashed in between, what was erased could be back, and its data gone.
            if let Some(room) = &mut self.room {
                room.settle();
            }
            // In case that there is no other time for it.
            self.give_back();
        }
        Ok(())
    }
}

/// Who else may use the file at the same time, and where changes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Nobody else; changes go into the file.
    Exclusive,
    /// Other readers; changes go into memory.
    Private,
}

/// An image file: open, and locked.
#[derive(Debug)]
pub struct ImageFile {
    path: PathBuf,
    file: File,
    access: Access,
    chip_at: u64,
}

/// Bytes of an image file before its chip. Whatever is stored here is in the system's cache at once, and outlives the
/// process.
#[derive(Debug)]
pub struct ImageHead {
    map: MmapMut,
    /// Holds the lock.
    _file: File,
}

impl ImageHead {
    /// Makes all changes durable.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn sync(&self) -> io::Result<()> {
        self.map.flush()
    }
}

impl Deref for ImageHead {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl DerefMut for ImageHead {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> SetupError {
    let path = path.to_owned();
    move |error| SetupError::Io { path, error }
}

impl ImageFile {
    /// A new, empty file. Nobody else may use it.
    ///
    /// # Errors
    /// `Io`, also if the file exists.
    pub fn create(path: &Path) -> Result<Self, SetupError> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path).map_err(io_error(path))?;
        Self::lock(path, file, Access::Exclusive)
    }

    /// An existing file, to be changed. Nobody else may use it.
    ///
    /// # Errors
    /// `Io`, `InUse`.
    pub fn open(path: &Path) -> Result<Self, SetupError> {
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(io_error(path))?;
        Self::lock(path, file, Access::Exclusive)
    }

    /// An existing file that stays as it is: changes are made in memory. Other processes may read it too.
    ///
    /// # Errors
    /// `Io`, `InUse`.
    pub fn open_private(path: &Path) -> Result<Self, SetupError> {
        // Opening a pipe would wait for a writer.
        if !fs::metadata(path).map_err(io_error(path))?.is_file() {
            return Err(SetupError::Image { path: path.to_owned(), chip_at: 0, fault: ImageFault::Foreign });
        }
        Self::lock(path, File::open(path).map_err(io_error(path))?, Access::Private)
    }

    fn lock(path: &Path, file: File, access: Access) -> Result<Self, SetupError> {
        let locked = match access {
            Access::Exclusive => file.try_lock(),
            Access::Private => file.try_lock_shared(),
        };
        match locked {
            Ok(()) => Ok(Self { path: path.to_owned(), file, access, chip_at: 0 }),
            Err(TryLockError::WouldBlock) => Err(SetupError::InUse { path: path.to_owned() }),
            Err(TryLockError::Error(error)) => Err(io_error(path)(error)),
        }
    }

    /// The chip begins at byte `chip_at`, a multiple of 4,096 (and of the machine's pages, if they are larger).
    #[must_use]
    pub fn with_chip_at(self, chip_at: u64) -> Self {
        Self { chip_at, ..self }
    }

    /// The same open file, with the same lock: it is held until all of them are gone. Of the chips in them only the one
    /// that was opened last may be used.
    ///
    /// # Errors
    /// If the system is out of files.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { path: self.path.clone(), file: self.file.try_clone()?, access: self.access, chip_at: self.chip_at })
    }

    /// The file, to read and write what lies before the chip.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Bytes before the chip, to be changed by stores. They get their space now, since a store into a hole of a full
    /// file system would end the process.
    ///
    /// # Errors
    /// If there is no space, or if they cannot be mapped.
    #[allow(unsafe_code)]
    pub fn map_head(&self, bytes: Range<u64>) -> io::Result<ImageHead> {
        assert!(self.access == Access::Exclusive && bytes.end <= self.chip_at, "ours, and not the chip's");
        let (file, len) = (self.file.try_clone()?, bytes.end - bytes.start);
        room::allocate(&file, bytes.start, len)?;
        let mut options = MmapOptions::new();
        options.offset(bytes.start).len(len as usize);
        // SAFETY: as in `map`. The bytes of a mapping of the chip are others.
        let map = unsafe { options.map_mut(&file) }?;
        Ok(ImageHead { map, _file: file })
    }

    /// Maps the bytes from the chip's first to the file's last.
    #[allow(unsafe_code)]
    fn map(self, chip_bytes: usize) -> Result<ImageStore, SetupError> {
        let mut options = MmapOptions::new();
        options.offset(self.chip_at).len(chip_bytes);
        let map = match self.access {
            // SAFETY: a mapping is unsound if something else changes the file while it exists. This value holds the
            // file's lock, which every process that opens images through this module takes first: exclusive, or shared
            // with readers. It is a regular file with all these bytes, and no process that honours the lock truncates
            // it.
            Access::Exclusive => unsafe { options.map_mut(&self.file) },
            // SAFETY: as above.
            Access::Private => unsafe { options.map_copy(&self.file) },
        };
        let map = map.map_err(io_error(&self.path))?;
        // With read-ahead, a file system may put large pages over holes. The first byte written to one would allocate
        // all of it.
        map.advise(Advice::Random).map_err(io_error(&self.path))?;
        let room = (self.access == Access::Exclusive).then(|| Room::new(self.chip_at, chip_bytes));
        Ok(ImageStore { map, file: self.file, room, is_changed: false })
    }

    /// Extends the file by `bytes` zeros for the chip. Only the chip's records take space on disk.
    pub(crate) fn extend(self, bytes: u64, layout: &Layout) -> Result<ImageStore, SetupError> {
        let len = usize::try_from(bytes).map_err(|_| SetupError::Memory { bytes })?;
        // A sum that saturates is a length that the system refuses.
        self.file.set_len(self.chip_at.saturating_add(bytes)).map_err(io_error(&self.path))?;
        let path = self.path.clone();
        let mut store = self.map(len)?;
        // Every operation changes records. None of them may find that the file system has become full.
        store.make_room(layout.records()).map_err(io_error(&path))?;
        Ok(store)
    }

    /// The existing content, checked to be a chip of this profile.
    pub(crate) fn existing(self, profile: &ChipProfile) -> Result<ImageStore, SetupError> {
        let (path, chip_at) = (self.path.clone(), self.chip_at);
        let fault = |fault| SetupError::Image { path: path.clone(), chip_at, fault };
        // An empty file cannot be mapped, and a directory or a device cannot be an image.
        let meta = self.file.metadata().map_err(io_error(&path))?;
        let chip_bytes = meta.len().saturating_sub(chip_at);
        if !meta.is_file() || chip_bytes == 0 {
            return Err(fault(ImageFault::Foreign));
        }
        let len = usize::try_from(chip_bytes).map_err(|_| SetupError::Memory { bytes: chip_bytes })?;
        let mut store = self.map(len)?;
        layout::check(&store.map, profile).map_err(fault)?;
        // As for a new chip: no operation may find the file system full when it changes a record.
        store.make_room(Layout::new(profile).records()).map_err(io_error(&path))?;
        Ok(store)
    }
}
