//! The partition table of a device with one volume behind it.

use fatfs::FatType;

use super::{FatError, SECTOR};

/// The first of the four entries, and where its fields lie.
const ENTRY: usize = 446;
const TYPE: usize = ENTRY + 4;
const FIRST_SECTOR: usize = ENTRY + 8;
const SECTORS: usize = ENTRY + 12;
const SIGNATURE: [u8; 2] = [0x55, 0xAA];

/// Sector 0 of a device (MBR) with one FAT volume of `sectors` sectors from `first_sector` on. Cylinders and heads are
/// left out: nobody reads them if the number of sectors is given.
///
/// # Errors
/// Sector numbers that do not fit the table.
pub(crate) fn table(fat: FatType, first_sector: u64, sectors: u64) -> Result<[u8; SECTOR], FatError> {
    let number =
        |number: u64| u32::try_from(number).map_err(|_| FatError::TooLarge { sectors: first_sector + sectors });
    let mut table = [0; SECTOR];
    table[TYPE] = match fat {
        FatType::Fat12 => 0x01,
        FatType::Fat16 => 0x0E,
        FatType::Fat32 => 0x0C,
    };
    table[FIRST_SECTOR..][..4].copy_from_slice(&number(first_sector)?.to_le_bytes());
    table[SECTORS..][..4].copy_from_slice(&number(sectors)?.to_le_bytes());
    table[SECTOR - SIGNATURE.len()..].copy_from_slice(&SIGNATURE);
    Ok(table)
}
