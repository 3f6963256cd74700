//! What a mount finds, and what it can end in.

use alloc::vec::Vec;

use wearwell_flash::ErrorKind;

use super::config::ConfigError;
use super::log::{Log, SegmentScan, Tag};
use crate::addr::{Lpn, Ppn, Seg};
use crate::ftl::FtlError;

/// Why a chip could not be mounted or formatted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// The configuration does not fit the chip.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The layout keeps no records.
    #[error("this layout keeps no records: it can be formatted, but not mounted")]
    NoRecords,
    /// A block holds records that this engine never writes: the chip was formatted for another engine.
    #[error("segment {} holds what this engine never writes; mount it with the one that formatted it", .segment.0)]
    OtherScheme {
        /// The segment.
        segment: Seg,
    },
    /// Another version of this layout wrote the segment. Nothing was changed.
    #[error("segment {} was written by version {version} of this layout, which this one does not read", .segment.0)]
    OtherVersion {
        /// The segment.
        segment: Seg,
        /// The version in its header.
        version: u32,
    },
    /// The chip was formatted with the map elsewhere: on flash and not in memory, or the other way round. Nothing was
    /// changed.
    #[error("segment {} was written by the engine whose map lies elsewhere (on flash or in memory); mount it with that \
         one", .segment.0)]
    OtherMap {
        /// The segment.
        segment: Seg,
    },
    /// The chip was formatted for another capacity. Nothing was changed.
    #[error("segment {} was written for a device of {logical_pages} logical pages; mount it as one", .segment.0)]
    OtherCapacity {
        /// The segment.
        segment: Seg,
        /// The logical pages in its header.
        logical_pages: u32,
    },
    /// The chip holds data, but none that this layout wrote. Nothing was changed.
    #[error("the chip holds data that this layout did not write; format it if that data may be lost")]
    Foreign,
    /// There is not enough memory for the lists of pages that a cut may have hit, or of which there are copies.
    #[error("there is not enough memory to mount what is on the chip")]
    NoMemory,
    /// The chip failed.
    #[error("the chip failed: {0:?}")]
    Chip(ErrorKind),
    /// A step of the recovery failed.
    #[error(transparent)]
    Ftl(#[from] FtlError),
}

impl From<ErrorKind> for MountError {
    fn from(kind: ErrorKind) -> Self {
        Self::Chip(kind)
    }
}

/// True if a mount ended because the chip is worn out.
pub(super) fn is_worn_out<T>(ended: &Result<T, MountError>) -> bool {
    matches!(ended, Err(MountError::Ftl(FtlError::WornOut { .. })))
}

/// A device that is worn out for a step behind the recovery is mounted all the same: the next write says it again.
pub(super) fn unless_worn_out(ended: Result<(), impl Into<MountError>>) -> Result<(), MountError> {
    let ended = ended.map_err(Into::into);
    if is_worn_out(&ended) { Ok(()) } else { ended }
}

/// Takes the log from where a mount or a format finds it.
pub(crate) fn take_log<L>(log: &mut Option<L>) -> L {
    let Some(log) = log.take() else { unreachable!("the log is there until an engine takes it") };
    log
}

/// The error of a mount or a format, and the log that is back at its place.
pub(crate) fn with_log<L>(place: Option<L>, error: MountError) -> (L, MountError) {
    match place {
        Some(log) => (log, error),
        None => unreachable!("what fails gives the log back"),
    }
}

/// Refuses a segment that this configuration did not write.
pub(crate) fn check_writer(segment: Seg, scan: &SegmentScan) -> Result<(), MountError> {
    if scan.other_map {
        return Err(MountError::OtherMap { segment });
    }
    if let Some(version) = scan.other_version {
        return Err(MountError::OtherVersion { segment, version });
    }
    if let Some(logical_pages) = scan.other_capacity {
        return Err(MountError::OtherCapacity { segment, logical_pages });
    }
    Ok(())
}

/// True if these segments, in which a scan has found no record, were never formatted; false if one has a trace of this
/// layout where a scan does not look: behind a slot that a cut erase has emptied, or where a checkpoint is kept. Bad
/// segments are not to be asked: nobody erases them any more, so they may name an earlier owner.
pub(crate) fn is_blank<L: Log>(log: &mut L, segments: impl Iterator<Item = Seg>) -> Result<bool, MountError> {
    let mut is_blank = true;
    for seg in segments {
        if log.is_blank(seg)? {
            continue;
        }
        // Spec P16.
        if log.has_traces(seg)? {
            return Ok(false);
        }
        // Somebody has written here. That is foreign, unless another segment has a trace of this layout.
        is_blank = false;
    }
    if is_blank {
        return Ok(true);
    }
    for seg in log.kept_segments() {
        if !log.is_bad(seg)? && log.has_traces(seg)? {
            return Ok(false);
        }
    }
    Err(MountError::Foreign)
}

/// The report of a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MountReport {
    /// The device had been shut down, so nothing was cut.
    pub clean: bool,
    /// The chip reads as erased throughout: it was never formatted. It is mounted as an empty device. (A format for
    /// block mapping also leaves such a chip, until the first write.)
    pub never_formatted: bool,
    /// Segments that were found open.
    pub open_segments: u32,
    /// Pages that a cut may have hit and that were copied.
    pub rescued_pages: u32,
    /// Segments that are free again because everything in them can be read elsewhere: cleaning or a rescue was cut in
    /// them.
    pub undone_segments: u32,
    /// Parts of the discard map that could not be read.
    pub lost_discards: u32,
    /// Segments of which some pages are gone, and with them what they held. A page of which nothing is found then, and
    /// of which no record says that it was discarded, is an error.
    pub incomplete_segments: u32,
    /// Pages that are known to be lost: reading one is an error until it is written or discarded.
    pub lost_pages: u32,
    /// The chip is worn out, so that nothing can be written; what can be read is as the cut left it.
    pub read_only: bool,
}

/// A copy of a page, found by a scan.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) lpn: Lpn,
    pub(super) seq: u64,
    pub(super) at: Ppn,
}

/// Bytes of a copy in a list.
pub(crate) const FOUND_BYTES: usize = size_of::<Found>();

impl Found {
    pub(super) const fn new(tag: &Tag, at: Ppn) -> Self {
        Self { lpn: tag.lpn, seq: tag.seq, at }
    }
}

/// Lists as long as that of ties that it takes to settle them, with room to grow.
pub(crate) const LISTS_OF_TIES: usize = 8;

/// Lists as long as that of suspect pages that it takes to rescue them, with room to grow.
pub(crate) const LISTS_OF_SUSPECTS: usize = 4;

/// Adds to a list. How long one gets is up to what is on the chip, so that only here memory may run out.
pub(super) fn note<T>(list: &mut Vec<T>, found: T) -> Result<(), MountError> {
    list.try_reserve(1).map_err(|_| MountError::NoMemory)?;
    list.push(found);
    Ok(())
}

/// Fails unless there is memory for lists of so many pages.
pub(super) fn expect_room(pages: usize) -> Result<(), MountError> {
    Vec::<Found>::new().try_reserve_exact(pages).map_err(|_| MountError::NoMemory)
}
