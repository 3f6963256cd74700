//! Checks an image for damage, without changing it.
//!
//! First the header, the chip's records and its pages are checked in the file. Then the disk is mounted on a private
//! copy, every mapped page is read, and the counts of valid pages are compared with the map. What a power cut may leave
//! is not damage, because a mount repairs it.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use wearwell::{FtlError, Lpn};
use wearwell_emu::{Damage, Damaged, SetupError};
use wearwell_sim::engine::EngineError;

use super::open::ImageDamage;
use super::{Disk, DiskError};

/// A fault of an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Finding {
    /// The header or the chip's own records are damaged. The image cannot be opened.
    Header {
        /// What is wrong, and at which byte.
        message: String,
    },
    /// The record of a block was changed in the file. The wear, flags or counters of that block may be wrong.
    Record {
        /// The block.
        block: u32,
        /// Its first byte in the file.
        at: u64,
    },
    /// The record of the disk's life was changed in the file. Its counters begin again.
    Life {
        /// Its first byte in the file.
        at: u64,
    },
    /// An unused byte was changed in the file. This does no harm, but something wrote to the file.
    Unused {
        /// The byte.
        at: u64,
    },
    /// A page of the chip was changed in the file.
    Page {
        /// Its block.
        block: u32,
        /// Its number in the block.
        page: u32,
        /// The part of it that does not match its check.
        what: &'static str,
        /// The first byte of that part in the file.
        at: u64,
    },
    /// The content of the chip cannot be mounted.
    Mount {
        /// Why.
        message: String,
    },
    /// Parts of the discard map were lost. Discarded data may have come back.
    LostDiscards {
        /// How many.
        parts: u32,
    },
    /// Pages are lost, of which nothing is left to be read.
    LostPages {
        /// How many.
        pages: u32,
    },
    /// A logical page cannot be read.
    Unreadable {
        /// The page.
        lpn: u32,
        /// Where the map has it.
        ppn: u32,
        /// The engine's error.
        message: String,
    },
    /// Two logical pages are mapped to one place.
    Shared {
        /// The second of them.
        lpn: u32,
        /// The place.
        ppn: u32,
    },
    /// A segment's count of valid pages does not match the map.
    ValidCount {
        /// The segment.
        segment: u32,
        /// Valid pages by its count.
        counted: u32,
        /// Host pages that the map has there.
        mapped: u32,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header { message } => f.write_str(message),
            Self::Page { block, page, what, at } => {
                write!(
                    f,
                    "page {page} of block {block} was changed: its {what}, from byte {at} on, do not fit their check"
                )
            }
            Self::Record { block, at } => {
                write!(f, "the record of block {block}, from byte {at} on, was changed: it does not fit its check")
            }
            Self::Life { at } => {
                write!(f, "the record of the disk's life, from byte {at} on, was changed: it does not fit its checks")
            }
            Self::Unused { at } => write!(f, "byte {at}, which nothing uses, was changed"),
            Self::Mount { message } => write!(f, "cannot be mounted: {message}"),
            Self::LostDiscards { parts } => {
                write!(f, "{parts} parts of the discard map cannot be read: what was discarded may have come back")
            }
            Self::LostPages { pages } => write!(f, "{pages} logical pages are lost: reading one is an error"),
            Self::Unreadable { lpn, ppn, message } => {
                write!(f, "logical page {lpn}, at physical page {ppn}, cannot be read: {message}")
            }
            Self::Shared { lpn, ppn } => {
                write!(f, "logical page {lpn} lies at physical page {ppn}, and so does another")
            }
            Self::ValidCount { segment, counted, mapped } => {
                write!(f, "segment {segment} counts {counted} valid pages, the map has {mapped} there")
            }
        }
    }
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checkup {
    /// The image.
    pub image: PathBuf,
    /// True if the last user shut the disk down; null if it could not be mounted.
    pub clean_shutdown: Option<bool>,
    /// Logical pages that were read.
    pub pages_read: u64,
    /// All faults; empty for a good image.
    pub findings: Vec<Finding>,
}

/// Checks an image.
///
/// # Errors
/// Only if it cannot be read: `InUse`, `Io`, `Setup`, or a file that is not a disk image. Everything else is a finding.
pub fn check(path: &Path) -> Result<Checkup, DiskError> {
    let mut checkup = Checkup { image: path.to_owned(), clean_shutdown: None, pages_read: 0, findings: Vec::new() };
    match look(path, &mut checkup) {
        Ok(()) => {}
        // An image that is in use, or a file that is none, says nothing about damage.
        Err(error) if error.is_refusal() => return Err(error),
        Err(error) => checkup.findings.push(finding(&error)),
    }
    Ok(checkup)
}

/// The error that keeps an image from being opened, as a finding.
fn finding(error: &DiskError) -> Finding {
    match error {
        DiskError::Header { fault, .. } => Finding::Header { message: fault.to_string() },
        DiskError::Setup(SetupError::Image { fault, chip_at, .. }) => {
            Finding::Header { message: format!("{fault}, counted from byte {chip_at}, where the chip begins") }
        }
        DiskError::Engine(EngineError::Mount(error)) => Finding::Mount { message: error.to_string() },
        error => Finding::Mount { message: error.to_string() },
    }
}

fn look(path: &Path, checkup: &mut Checkup) -> Result<(), DiskError> {
    let ImageDamage { chip_at, chip: damage, unused, life_at } = Disk::damage(path)?;
    let (mut disk, found) = Disk::open_private(path)?;
    let pages_per_block = disk.chip_profile().pages_per_block;
    checkup.clean_shutdown = disk.records_shutdowns().then_some(found.clean);
    checkup.findings.extend(life_at.map(|at| Finding::Life { at }));
    checkup.findings.extend(unused.into_iter().map(|at| Finding::Unused { at }));
    checkup.findings.extend(damage.into_iter().map(|Damage { of, what, at }| match of {
        Damaged::Block(block) => Finding::Record { block: block.0, at: chip_at + at },
        Damaged::Page(page) => {
            Finding::Page { block: page.0 / pages_per_block, page: page.0 % pages_per_block, what, at: chip_at + at }
        }
        _ => Finding::Unused { at: chip_at + at },
    }));
    if found.lost_discards > 0 {
        checkup.findings.push(Finding::LostDiscards { parts: found.lost_discards });
    }
    if found.lost_pages > 0 {
        checkup.findings.push(Finding::LostPages { pages: found.lost_pages });
    }
    check_counts(&disk, checkup);
    read_all(&mut disk, checkup);
    Ok(())
}

/// Compares the counts of valid pages with the map.
fn check_counts(disk: &Disk, checkup: &mut Checkup) {
    let limits = disk.limits();
    let rows = disk.segments();
    let mut mapped = vec![0; rows.len()];
    let mut taken = vec![false; (u64::from(limits.segments) * u64::from(limits.pages_per_segment)) as usize];
    for lpn in 0..limits.logical_pages as u32 {
        let ppn = disk.engine.lookup(Lpn(lpn));
        if ppn.is_some() {
            mapped[(ppn.0 / limits.pages_per_segment) as usize] += 1;
            if std::mem::replace(&mut taken[ppn.0 as usize], true) {
                checkup.findings.push(Finding::Shared { lpn, ppn: ppn.0 });
            }
        }
    }
    // The valid pages that do not belong to the host are the discard map, with one bit for each logical page.
    let mut own_pages = limits.logical_pages.div_ceil(8 * u64::from(disk.page_bytes()));
    for (row, mapped) in rows.iter().zip(mapped) {
        let others = u64::from(row.valid_pages.saturating_sub(mapped));
        if row.valid_pages < mapped || others > own_pages {
            let (segment, counted) = (row.segment, row.valid_pages);
            checkup.findings.push(Finding::ValidCount { segment, counted, mapped });
        } else {
            // The discard map has so many pages in all, and not in each segment.
            own_pages -= others;
        }
    }
}

/// Reads every mapped page. Reading may move a fading page, so its place is looked up first.
fn read_all(disk: &mut Disk, checkup: &mut Checkup) {
    let page_bytes = u64::from(disk.page_bytes());
    let mut page = vec![0; page_bytes as usize];
    for lpn in 0..disk.limits().logical_pages as u32 {
        let ppn = disk.engine.lookup(Lpn(lpn));
        if !ppn.is_some() {
            continue;
        }
        checkup.pages_read += 1;
        if let Err(error) = disk.read(u64::from(lpn) * page_bytes, &mut page) {
            let message = match error {
                DiskError::Ftl(FtlError::Unreadable { .. }) => "its data is gone".to_owned(),
                error => error.to_string(),
            };
            checkup.findings.push(Finding::Unreadable { lpn, ppn: ppn.0, message });
        }
    }
}
