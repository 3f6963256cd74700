//! Where volumes lie: found from LBA 0 only, never by looking for signatures elsewhere.
//!
//! A signature is not enough: an image file of a FAT volume, stored in another volume, has all of them.

mod gpt;
mod mbr;

use wearwell::{FtlError, Sectors};

use crate::ext::{self, SUPERBLOCK};
use crate::fat::{Geometry, exfat};
use crate::list::List;
use crate::source::{SECTOR, Sector, Source};

/// Partitions that are looked at; more are passed by.
pub const MAX_PARTITIONS: usize = 8;

/// Extended partition tables in a chain; more are an error.
pub const MAX_EXTENDED: usize = 8;

/// Volumes with inference at once; more are passed by.
pub const MAX_VOLUMES: usize = 3;

/// LBA 0, extended tables, first sectors of partitions; and of each volume the backup.
const MAX_POINTS: usize = 1 + MAX_EXTENDED + MAX_PARTITIONS + MAX_VOLUMES;

/// Both ends of a GPT; and of each volume its tables, if they are not formatted yet.
const MAX_RANGES: usize = 2 + MAX_VOLUMES;

/// Why no partition was found, or not all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// A sector could not be read.
    #[error("sector {lba} cannot be read: {error}")]
    Read {
        /// The sector.
        lba: u64,
        /// What the device says.
        error: FtlError,
    },
    /// LBA 0 is neither a partition table with partitions nor the beginning of a volume.
    #[error("LBA 0 is neither a partition table nor a FAT boot sector, and no ext superblock follows")]
    Unknown,
    /// LBA 0 could be both a partition table and the boot sector of a volume.
    #[error("LBA 0 can be read both as a partition table and as a FAT boot sector")]
    Ambiguous,
    /// A sector of the chain of extended partitions is no table.
    #[error("the extended partition table at LBA {lba} is none")]
    Extended {
        /// The sector.
        lba: u64,
    },
    /// The chain of extended partitions comes back to itself, or is too long.
    #[error("the chain of extended partition tables loops or is too long at LBA {lba}")]
    Chain {
        /// The sector that was there already, or is one too many.
        lba: u64,
    },
    /// The header of a GUID partition table is none, or its numbers make no sense.
    #[error("the GPT header at LBA 1 has a bad {field}")]
    GptHeader {
        /// The field.
        field: &'static str,
    },
    /// A checksum of a GUID partition table is wrong.
    #[error("the GPT's {of} have checksum {found:08x}, not {stored:08x}")]
    GptChecksum {
        /// Header or entries.
        of: &'static str,
        /// As it should be.
        stored: u32,
        /// As it is.
        found: u32,
    },
}

/// Sectors whose change puts everything in doubt that was inferred.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Watch {
    points: List<u64, MAX_POINTS>,
    ranges: List<(u64, u64), MAX_RANGES>,
}

impl Watch {
    pub(crate) fn point(&mut self, lba: u64) {
        if !self.points.as_slice().contains(&lba) {
            // There is room for all that the limits allow.
            let has_room = self.points.push(lba);
            debug_assert!(has_room);
        }
    }

    pub(crate) fn range(&mut self, start: u64, end: u64) {
        let has_room = self.ranges.push((start, end));
        debug_assert!(has_room);
    }

    /// True if some of these sectors are watched.
    pub(crate) fn hits(&self, at: Sectors) -> bool {
        let end = at.start.saturating_add(at.count);
        self.points.as_slice().iter().any(|&lba| at.start <= lba && lba < end)
            || self.ranges.as_slice().iter().any(|&(first, last)| at.start < last && first < end)
    }

    /// The first watched sector behind `lba`.
    pub(crate) fn next_after(&self, lba: u64) -> u64 {
        let points = self.points.as_slice().iter().copied();
        let ranges = self.ranges.as_slice().iter().map(|&(start, _)| start);
        points.chain(ranges).filter(|&next| next > lba).min().unwrap_or(u64::MAX)
    }
}

/// The partitions, and the sectors that say so.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Layout {
    pub(crate) partitions: List<Partition, MAX_PARTITIONS>,
    pub(crate) watch: Watch,
}

/// Where a volume may lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Partition {
    pub(crate) start: u64,
    pub(crate) sectors: u64,
    pub(crate) holds: Holds,
}

/// What the type of a partition says that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Holds {
    /// A FAT or exFAT volume.
    Fat,
    /// One of Linux's own file systems.
    Linux,
    /// Something that nothing is known of.
    #[default]
    Other,
}

impl Partition {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.sectors)
    }

    fn has_in_common(&self, other: &Self) -> bool {
        self.start < other.end() && other.start < self.end()
    }
}

impl Layout {
    /// Adds a partition. One that does not lie on a device of so many sectors holds nothing, but stands where it does;
    /// so does one too many, which takes from others what it has in common with them. The first sector of one that may
    /// hold FAT is watched in any case: a format of it writes there.
    fn add(&mut self, mut partition: Partition, device_sectors: u64) {
        if partition.end() > device_sectors {
            partition.holds = Holds::Other;
        }
        if partition.sectors == 0 {
            return;
        }
        if !self.partitions.push(partition) {
            let others = self.partitions.as_mut_slice().iter_mut();
            others.filter(|other| other.has_in_common(&partition)).for_each(|other| other.holds = Holds::Other);
        } else if partition.holds == Holds::Fat {
            self.watch.point(partition.start);
        }
    }

    /// Leaves no two partitions that have a sector in common, and none with a partition table inside: the table's
    /// sector would be a cluster's, too.
    fn drop_overlapping(&mut self) {
        let (all, watch) = (self.partitions, self.watch);
        self.partitions.retain(|one| {
            let overlapping = all.as_slice().iter().filter(|other| one.has_in_common(other)).count();
            overlapping == 1 && watch.next_after(one.start) >= one.end()
        });
    }
}

/// Reads the partition tables. After an error there are no partitions, but what is to be watched is in `layout` all
/// the same.
pub(crate) fn find(source: &mut impl Source, layout: &mut Layout) -> Result<(), PartitionError> {
    layout.watch.point(0);
    let found = find_all(source, layout);
    if found.is_err() {
        layout.partitions.clear();
    }
    layout.drop_overlapping();
    found
}

fn find_all(source: &mut impl Source, layout: &mut Layout) -> Result<(), PartitionError> {
    let sectors = source.sectors();
    let first = read(source, 0)?;
    let is_volume = Geometry::parse(&first, 0, sectors).is_ok() || exfat::has_name(&first);
    match mbr::Table::parse(&first, sectors).filter(|table| !table.is_empty()) {
        // A volume that was given a table keeps the fields of its boot sector.
        Some(_) if is_volume => Err(PartitionError::Ambiguous),
        Some(table) if table.is_protective() => gpt::find(source, layout),
        Some(table) => mbr::find(source, &table, layout),
        None if is_volume => {
            layout.add(Partition { start: 0, sectors, holds: Holds::Fat }, sectors);
            Ok(())
        }
        // ext leaves its first two sectors to others.
        None if sectors > SUPERBLOCK && ext::has_superblock(&read(source, SUPERBLOCK)?) => {
            layout.add(Partition { start: 0, sectors, holds: Holds::Linux }, sectors);
            Ok(())
        }
        None => {
            // Formatting ext may leave LBA 0 as it is.
            layout.watch.point(SUPERBLOCK);
            Err(PartitionError::Unknown)
        }
    }
}

fn read(source: &mut impl Source, lba: u64) -> Result<Sector, PartitionError> {
    let mut sector = [0; SECTOR];
    source.read(lba, &mut sector).map_err(|error| PartitionError::Read { lba, error })?;
    Ok(sector)
}
