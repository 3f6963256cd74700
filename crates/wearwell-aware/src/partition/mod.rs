//! Finds volumes. The search starts from LBA 0 and never looks for signatures elsewhere.
//!
//! A signature is not enough: an image file of a FAT volume, stored in another volume, has all signatures.

mod gpt;
mod mbr;

use wearwell::{FtlError, Sectors};

use crate::ext::{self, SUPERBLOCK};
use crate::fat::{Geometry, exfat};
use crate::list::List;
use crate::source::{SECTOR, Sector, Source};

/// Most partitions that are examined; further ones are ignored.
pub const MAX_PARTITIONS: usize = 8;

/// Most extended partition tables in a chain; more are an error.
pub const MAX_EXTENDED: usize = 8;

/// Most volumes with inference; further ones are ignored.
pub const MAX_VOLUMES: usize = 3;

/// LBA 0, extended tables, first sectors of partitions; and of each volume the backup.
const MAX_POINTS: usize = 1 + MAX_EXTENDED + MAX_PARTITIONS + MAX_VOLUMES;

/// Both ends of a GPT; and for each volume its tables, if they are not formatted yet.
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
    /// A sector in the chain of extended partitions is not a table.
    #[error("LBA {lba} holds no extended partition table")]
    Extended {
        /// The sector.
        lba: u64,
    },
    /// The chain of extended partitions loops, or is too long.
    #[error("the chain of extended partition tables loops or is too long at LBA {lba}")]
    Chain {
        /// The sector that was visited before, or that is one too many.
        lba: u64,
    },
    /// The header of a GUID partition table is not a header, or its fields make no sense.
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

/// Sectors whose change puts the state in doubt.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Watch {
    points: List<u64, MAX_POINTS>,
    ranges: List<(u64, u64), MAX_RANGES>,
}

impl Watch {
    pub(crate) fn point(&mut self, lba: u64) {
        if !self.points.as_slice().contains(&lba) {
            // The capacity covers everything that the limits allow.
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

/// The partitions, and the sectors that define them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Layout {
    pub(crate) partitions: List<Partition, MAX_PARTITIONS>,
    pub(crate) watch: Watch,
}

/// A range that may hold a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Partition {
    pub(crate) start: u64,
    pub(crate) sectors: u64,
    pub(crate) holds: Holds,
}

/// What a partition holds by its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Holds {
    /// A FAT or exFAT volume.
    Fat,
    /// One of Linux's own file systems.
    Linux,
    /// Unknown content.
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
    /// Adds a partition. A partition that ends beyond the device does not count, but still excludes others that overlap
    /// it. So does a partition beyond [`MAX_PARTITIONS`]. The first sector of a partition that may hold FAT is always
    /// watched, because a format writes there.
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

    /// Drops partitions that share a sector, and those with a partition table inside: the table's sector would also
    /// belong to a cluster.
    fn drop_overlapping(&mut self) {
        let (all, watch) = (self.partitions, self.watch);
        self.partitions.retain(|one| {
            let overlapping = all.as_slice().iter().filter(|other| one.has_in_common(other)).count();
            // It overlaps itself.
            overlapping == 1 && watch.next_after(one.start) >= one.end()
        });
    }
}

/// Reads the partition tables. After an error there are no partitions, but `layout` still has the sectors to watch.
pub(crate) fn find(source: &mut impl Source, layout: &mut Layout) -> Result<(), PartitionError> {
    // Also where nothing is found: a partition table may be written there later.
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
    // exFAT is told by its name alone. Its numbers are checked when the volume is opened.
    let is_volume = Geometry::parse(&first, 0, sectors).is_ok() || exfat::has_name(&first);
    match mbr::Table::parse(&first, sectors).filter(|table| !table.is_empty()) {
        // A volume whose first sector later got a partition table still has the fields of a boot sector.
        Some(_) if is_volume => Err(PartitionError::Ambiguous),
        Some(table) if table.is_protective() => gpt::find(source, layout),
        Some(table) => mbr::find(source, &table, layout),
        None if is_volume => {
            layout.add(Partition { start: 0, sectors, holds: Holds::Fat }, sectors);
            Ok(())
        }
        // ext does not use its first two sectors.
        None if sectors > SUPERBLOCK && ext::has_superblock(&read(source, SUPERBLOCK)?) => {
            layout.add(Partition { start: 0, sectors, holds: Holds::Linux }, sectors);
            Ok(())
        }
        None => {
            // A format as ext may not write LBA 0.
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
