//! The health of a disk.

use std::fmt;

use serde::Serialize;
use wearwell::FtlError;

use super::{Disk, DiskError, MountReport};

/// A disk with less than this percentage of its spare segments is degraded. NVMe hosts are warned at the same
/// threshold.
pub const SPARE_THRESHOLD_PERCENT: u8 = 10;

/// The condition of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Nothing is wrong.
    Healthy,
    /// Everything works, but data was lost, or few spare segments are left.
    Degraded,
    /// Nothing can be written.
    ReadOnly,
}

impl Condition {
    /// All conditions, the best first.
    pub const ALL: [Self; 3] = [Self::Healthy, Self::Degraded, Self::ReadOnly];

    /// The name in every output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::ReadOnly => "read-only",
        }
    }
}

/// The condition of a disk, the reason, and the spare left. Fields are added, never renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Health {
    /// The condition.
    pub state: Condition,
    /// The reason, as a sentence without a full stop; null for a healthy disk.
    pub why: Option<String>,
    /// Segments that may still fail before there are too few.
    pub spare_segments: u32,
    /// The same in percent of the spare segments of a chip without bad blocks, rounded down.
    pub spare_percent: u8,
    /// Segments that are bad.
    pub bad_segments: u32,
    /// Pages that were found lost since the disk was opened, when a host read them or when they had to be moved. There
    /// may be more.
    pub lost_pages: u64,
}

/// As in `read-only: …; 0 % of the spare left, 12 bad segments, 3 lost pages`.
impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.state.name())?;
        if let Some(why) = &self.why {
            write!(f, ": {why}")?;
        }
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let Self { spare_percent, bad_segments: bad, lost_pages: lost, .. } = self;
        let (bads, losts) = (plural(u64::from(*bad)), plural(*lost));
        write!(f, "; {spare_percent} % of the spare left, {bad} bad segment{bads}, {lost} lost page{losts}")
    }
}

/// What the results of commands have shown so far.
///
/// Invariant: `worn_out` is set if a command was refused for wear since the last host page was written to flash. A
/// discard may make room for cleaning.
#[derive(Debug, Default)]
pub(super) struct Symptoms {
    worn_out: Option<String>,
    /// The file system had no room for the image. Nothing is changed until the disk is mounted again.
    pub(super) is_out_of_room: bool,
    /// Mounting again stopped in the middle. Until it is done, nothing can be read either.
    pub(super) is_unmounted: bool,
    /// Something was written or discarded since the last flush.
    pub(super) is_unflushed: bool,
    /// Some of that may have been lost when the disk was mounted again. The next flush reports it once.
    pub(super) owes_loss: bool,
    /// Pages that the mount found lost.
    lost_when_mounted: u64,
    /// Logical pages that hosts could not read.
    unreadable: std::collections::BTreeSet<u32>,
}

impl Symptoms {
    /// For a disk that was just mounted.
    pub(super) fn mounted(found: MountReport) -> Self {
        let worn_out = found.read_only.then(|| "worn out: what a power cut may have hit finds no room".to_owned());
        Self { worn_out, lost_when_mounted: u64::from(found.lost_pages), ..Self::default() }
    }

    /// For the same disk, mounted again.
    pub(super) fn remounted(&self, found: MountReport) -> Self {
        Self { owes_loss: self.is_unflushed || self.owes_loss, ..Self::mounted(found) }
    }

    /// Notes that a host page was written to flash.
    pub(super) fn wrote(&mut self) {
        self.worn_out = None;
    }

    /// Notes the result of a call of the engine.
    pub(super) fn notes<T>(&mut self, done: &Result<T, DiskError>) {
        match done {
            Err(DiskError::Ftl(FtlError::WornOut { good_segments, needed_segments })) => {
                self.worn_out =
                    Some(format!("worn out: {good_segments} good segments are left, {needed_segments} are needed"));
            }
            Err(DiskError::Ftl(FtlError::Unreadable { lpn })) => {
                self.unreadable.insert(lpn.0);
            }
            // The engine has stopped in the middle of something. It must change nothing before it is mounted again.
            Err(DiskError::NoRoom) => self.is_out_of_room = true,
            _ => {}
        }
    }
}

impl Disk {
    /// The disk's health. Takes time in proportion to the number of segments.
    pub fn health(&mut self) -> Health {
        let is_off = self.is_off();
        let (stats, limits) = (self.engine.stats(), self.engine.limits());
        // Only good segments have an erase count.
        let bad_segments = limits.segments - self.engine.erase_counts().len() as u32;
        let spare_of = |good: u32| good.saturating_sub(limits.needed_segments);
        let (spare_segments, all) = (spare_of(limits.segments - bad_segments), spare_of(limits.segments));
        let spare_percent = (u64::from(spare_segments) * 100 / u64::from(all.max(1))) as u8;
        let known = self.symptoms.lost_when_mounted + stats.lost_pages;
        // A page that cleaning found lost may also be one that a host could not read. So the two are not added.
        let lost_pages = known.max(self.symptoms.unreadable.len() as u64);
        // What has to be mended first is named first: without power, more room would not help.
        let read_only = if is_off {
            Some("the power was cut; open the disk again".to_owned())
        } else if self.symptoms.is_out_of_room {
            Some("the file system has no room for the image".to_owned())
        } else {
            self.symptoms.worn_out.clone()
        };
        let degraded = if lost_pages > 0 {
            Some("the content of pages was lost".to_owned())
        } else if spare_percent < SPARE_THRESHOLD_PERCENT {
            Some(format!("{spare_segments} of {all} spare segments are left"))
        } else {
            None
        };
        let (state, why) = match (read_only, degraded) {
            (Some(why), _) => (Condition::ReadOnly, Some(why)),
            (None, Some(why)) => (Condition::Degraded, Some(why)),
            (None, None) => (Condition::Healthy, None),
        };
        Health { state, why, spare_segments, spare_percent, bad_segments, lost_pages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_is_told_in_one_line() {
        let health = Health {
            state: Condition::Degraded,
            why: Some("2 of 20 spare segments are left".to_owned()),
            spare_segments: 2,
            spare_percent: 10,
            bad_segments: 18,
            lost_pages: 1,
        };
        let told = "degraded: 2 of 20 spare segments are left; 10 % of the spare left, 18 bad segments, 1 lost page";
        assert_eq!(health.to_string(), told);
        let healthy = Health { state: Condition::Healthy, why: None, bad_segments: 0, lost_pages: 0, ..health };
        assert_eq!(healthy.to_string(), "healthy; 10 % of the spare left, 0 bad segments, 0 lost pages");
    }

    #[test]
    fn a_write_that_succeeds_ends_the_refusals() {
        let mut symptoms = Symptoms::default();
        let refused = FtlError::WornOut { good_segments: 4, needed_segments: 5 };
        symptoms.notes::<()>(&Err(DiskError::Ftl(refused)));
        symptoms.notes(&Ok(()));
        assert!(symptoms.worn_out.as_ref().is_some_and(|why| why.contains("4 good segments are left, 5 are needed")));
        symptoms.wrote();
        assert_eq!(symptoms.worn_out, None);
    }
}
