//! Chips in memory and in image files, as one type: an engine over it is compiled once for both.

use std::io;
use std::ops::Range;
#[cfg(target_os = "linux")]
use std::path::Path;

#[cfg(target_os = "linux")]
use crate::chip::check_setup;
use crate::error::SetupError;
use crate::faults::Faults;
#[cfg(target_os = "linux")]
use crate::image::{ImageFile, ImageStore};
#[cfg(target_os = "linux")]
use crate::layout::Layout;
use crate::nand::EmuNand;
use crate::nor::EmuNor;
#[cfg(target_os = "linux")]
use crate::profile::ChipKind;
use crate::profile::ChipProfile;
use crate::store::{MemStore, Store};

/// The bytes of a chip in memory, or in an image file.
#[derive(Debug)]
pub enum AnyStore {
    /// In memory.
    Memory(MemStore),
    /// In an image file, or in a private copy of one.
    #[cfg(target_os = "linux")]
    Image(ImageStore),
}

impl AnyStore {
    fn store(&self) -> &dyn Store {
        match self {
            Self::Memory(store) => store,
            #[cfg(target_os = "linux")]
            Self::Image(store) => store,
        }
    }

    fn store_mut(&mut self) -> &mut dyn Store {
        match self {
            Self::Memory(store) => store,
            #[cfg(target_os = "linux")]
            Self::Image(store) => store,
        }
    }
}

/// A copy lies in memory, whatever it is a copy of.
impl Clone for AnyStore {
    fn clone(&self) -> Self {
        Self::Memory(MemStore::copy_of(self.store()))
    }
}

impl Store for AnyStore {
    fn is_checked(&self) -> bool {
        match self {
            Self::Memory(store) => store.is_checked(),
            #[cfg(target_os = "linux")]
            Self::Image(store) => store.is_checked(),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Memory(store) => store.bytes(),
            #[cfg(target_os = "linux")]
            Self::Image(store) => store.bytes(),
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Memory(store) => store.bytes_mut(),
            #[cfg(target_os = "linux")]
            Self::Image(store) => store.bytes_mut(),
        }
    }

    fn make_room(&mut self, range: Range<usize>) -> io::Result<()> {
        self.store_mut().make_room(range)
    }

    fn release(&mut self, range: Range<usize>) {
        self.store_mut().release(range);
    }

    fn give_back(&mut self) -> bool {
        self.store_mut().give_back()
    }

    fn is_changed(&self) -> bool {
        self.store().is_changed()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.store_mut().sync()
    }
}

/// The constructor in memory, for both kinds of chip.
macro_rules! without_file {
    ($($chip:ident;)*) => { $(
        impl $chip<AnyStore> {
            /// A fresh chip in memory, of the same type as one in an image.
            ///
            /// # Errors
            /// `Profile`, `WrongKind`, `Faults`, `Memory`.
            pub fn without_file(profile: &ChipProfile, faults: Faults) -> Result<Self, SetupError> {
                Self::fresh(profile, faults, |bytes| Ok(AnyStore::Memory(MemStore::new(bytes)?)))
            }
        }
    )* };
}

without_file! {
    EmuNand;
    EmuNor;
}

/// The constructors over images, for both kinds of chip.
#[cfg(target_os = "linux")]
macro_rules! over_images {
    ($($chip:ident of $kind:ident;)*) => { $(
        impl $chip<AnyStore> {
            /// A fresh chip in a new image file.
            ///
            /// # Errors
            /// `Profile`, `WrongKind`, `Faults`; `Io`, also if the file exists.
            pub fn create_image(path: &Path, profile: &ChipProfile, faults: Faults) -> Result<Self, SetupError> {
                // Before the file exists: a refusal must leave none behind.
                check_setup(profile, &faults, ChipKind::$kind)?;
                Self::create_in(ImageFile::create(path)?, profile, faults)
            }

            /// A fresh chip in a file that is empty from the chip's first byte on.
            ///
            /// # Errors
            /// `Profile`, `WrongKind`, `Faults`, `Io`, `Memory`.
            pub fn create_in(file: ImageFile, profile: &ChipProfile, faults: Faults) -> Result<Self, SetupError> {
                Self::fresh(profile, faults, |bytes| Ok(AnyStore::Image(file.extend(bytes, &Layout::new(profile))?)))
            }

            /// The chip in an image file. The profile must have the same shape. Factory-bad blocks and endurances come
            /// from the file. Erases that were in progress are torn.
            ///
            /// # Errors
            /// `Profile`, `WrongKind`, `Faults`, `Io`, `InUse`, `Image`.
            pub fn open_image(path: &Path, profile: &ChipProfile, faults: Faults) -> Result<Self, SetupError> {
                Self::open_in(ImageFile::open(path)?, profile, faults)
            }

            /// As [`open_image`](Self::open_image), in a file that is open already.
            ///
            /// # Errors
            /// `Profile`, `WrongKind`, `Faults`, `Io`, `Image`.
            pub fn open_in(file: ImageFile, profile: &ChipProfile, faults: Faults) -> Result<Self, SetupError> {
                check_setup(profile, &faults, ChipKind::$kind)?;
                Ok(Self::existing(profile, faults, AnyStore::Image(file.existing(profile)?)))
            }
        }
    )* };
}

#[cfg(target_os = "linux")]
over_images! {
    EmuNand of Nand;
    EmuNor of Nor;
}
