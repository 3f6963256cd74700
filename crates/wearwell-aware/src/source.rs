//! Sources of sectors for the parsers.

use wearwell::{BlockDevice, FtlError, SECTOR_BYTES, Sectors};

/// Bytes of a sector.
pub(crate) const SECTOR: usize = SECTOR_BYTES as usize;

/// One sector.
pub(crate) type Sector = [u8; SECTOR];

/// A source of sectors, by address.
pub(crate) trait Source {
    /// The number of sectors.
    fn sectors(&self) -> u64;

    /// Reads a sector. An address beyond the last is an error.
    fn read(&mut self, lba: u64, sector: &mut Sector) -> Result<(), FtlError>;
}

/// The current content of the device.
pub(crate) struct Held<'a, F>(pub(crate) &'a mut F);

impl<F: BlockDevice> Source for Held<'_, F> {
    fn sectors(&self) -> u64 {
        self.0.sectors()
    }

    fn read(&mut self, lba: u64, sector: &mut Sector) -> Result<(), FtlError> {
        self.0.read(Sectors { start: lba, count: 1 }, sector)
    }
}

/// The content of the device after a write that has not been passed on yet.
pub(crate) struct Passing<'a, F> {
    pub(crate) inner: &'a mut F,
    pub(crate) at: Sectors,
    /// 512 bytes for each sector of `at`.
    pub(crate) data: &'a [u8],
}

impl<F: BlockDevice> Passing<'_, F> {
    /// The new bytes of a sector, if the write covers it.
    pub(crate) fn new_bytes(&self, lba: u64) -> Option<&[u8]> {
        let place = usize::try_from(lba.checked_sub(self.at.start)?).ok()?;
        self.data.chunks_exact(SECTOR).nth(place)
    }

    /// The content of the device before the write.
    pub(crate) fn held(&mut self) -> Held<'_, F> {
        Held(self.inner)
    }
}

impl<F: BlockDevice> Source for Passing<'_, F> {
    fn sectors(&self) -> u64 {
        self.inner.sectors()
    }

    fn read(&mut self, lba: u64, sector: &mut Sector) -> Result<(), FtlError> {
        match self.new_bytes(lba) {
            Some(bytes) => sector.copy_from_slice(bytes),
            None => self.held().read(lba, sector)?,
        }
        Ok(())
    }
}

/// Little-endian numbers in a sector. Offsets are constants below 512, so these cannot fail.
pub(crate) fn u16_at(sector: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes([sector[offset], sector[offset + 1]])
}

pub(crate) fn u32_at(sector: &[u8], offset: usize) -> u32 {
    u32::from(u16_at(sector, offset)) | u32::from(u16_at(sector, offset + 2)) << 16
}

pub(crate) fn u64_at(sector: &[u8], offset: usize) -> u64 {
    u64::from(u32_at(sector, offset)) | u64::from(u32_at(sector, offset + 4)) << 32
}

/// True if the sector ends with the mark of boot sectors and partition tables.
pub(crate) fn has_signature(sector: &Sector) -> bool {
    u16_at(sector, 510) == 0xAA55
}

#[cfg(test)]
pub(crate) mod image {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// A disk in memory.
    pub(crate) struct Image(pub(crate) Vec<u8>);

    impl Image {
        pub(crate) fn new(sectors: usize) -> Self {
            Self(vec![0; sectors * SECTOR])
        }

        pub(crate) fn sector(&mut self, lba: usize) -> &mut [u8] {
            &mut self.0[lba * SECTOR..(lba + 1) * SECTOR]
        }
    }

    impl Source for Image {
        fn sectors(&self) -> u64 {
            (self.0.len() / SECTOR) as u64
        }

        fn read(&mut self, lba: u64, sector: &mut Sector) -> Result<(), FtlError> {
            let capacity = self.sectors();
            if lba >= capacity {
                return Err(FtlError::OutOfRange { start: lba, count: 1, capacity });
            }
            sector.copy_from_slice(&self.0[lba as usize * SECTOR..][..SECTOR]);
            Ok(())
        }
    }
}
