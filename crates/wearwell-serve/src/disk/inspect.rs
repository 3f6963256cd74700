//! The properties and the state of a disk, as tables and as JSON.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use wearwell_emu::ChipProfile;
use wearwell_sim::run::EraseCount;

use super::header::EngineChoices;
use super::{Disk, Health, SegmentRow, SegmentState};

/// Everything that is known of a disk without its host. Fields are added, never renamed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inspection {
    /// The disk's health.
    pub health: Health,
    /// The image; null for a disk in memory.
    pub image: Option<PathBuf>,
    /// The chip's whole profile.
    pub chip: ChipProfile,
    /// The engine, and its policies as the disk was made with them.
    pub engine: EngineChoices,
    /// The capacity.
    pub capacity: Capacity,
    /// The use of the map.
    pub map: MapUse,
    /// Segments by their state; only states that occur.
    pub states: Vec<StateUse>,
    /// Segments in use by the class of pages that they were opened for; empty for engines without classes.
    pub classes: Vec<ClassUse>,
    /// The wear of good segments.
    pub wear: WearSpread,
}

/// The capacity of a disk.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Capacity {
    /// Bytes for the host.
    pub host_bytes: u64,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages that the host can address.
    pub logical_pages: u64,
    /// Pages of flash that can hold data.
    pub physical_pages: u64,
    /// Segments.
    pub segments: u32,
    /// Data pages of each.
    pub pages_per_segment: u32,
    /// Over-provisioning, (T − U) / U of physical pages T and logical pages U.
    pub op: f64,
    /// Spare fraction, (T − U) / T.
    pub spare: f64,
}

/// The use of the map.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MapUse {
    /// Logical pages that are mapped.
    pub mapped_pages: u64,
    /// The same as a fraction of the host's pages.
    pub mapped: f64,
    /// Mapped pages ÷ physical pages.
    pub utilization: f64,
    /// Bytes of memory that the engine's tables take.
    pub table_bytes: u64,
    /// The digest of the map, as a run reports it.
    pub digest: String,
}

/// The segments in one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StateUse {
    /// The state.
    pub state: SegmentState,
    /// The number of segments.
    pub segments: u32,
    /// Valid pages in them.
    pub valid_pages: u64,
}

/// Segments opened for one class of pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClassUse {
    /// The class, by the numbers of the placement policy.
    pub class: u8,
    /// The number of segments.
    pub segments: u32,
    /// Valid pages in them.
    pub valid_pages: u64,
    /// The streams that have written to it since the disk was opened, where placement keeps streams apart.
    pub streams: Vec<u16>,
}

/// Erase counts of good segments.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WearSpread {
    /// The spread.
    #[serde(flatten)]
    pub erases: EraseCount,
    /// The median.
    pub p50: u32,
    /// The 90th percentile.
    pub p90: u32,
    /// The 99th percentile.
    pub p99: u32,
    /// Erases that a block is rated for.
    pub rated: u32,
    /// The mean in percent of the rated erases.
    pub percent_used: f64,
}

impl WearSpread {
    pub(super) fn of(mut counts: Vec<u32>, rated: u32) -> Self {
        let erases = EraseCount::of(&counts);
        counts.sort_unstable();
        // The least count that is not exceeded in this percentage of segments.
        let at = |percent: usize| {
            // Ranks begin with 1; of an empty list nothing is taken.
            let rank = (counts.len() * percent).div_ceil(100).max(1);
            counts.get(rank - 1).copied().unwrap_or(0)
        };
        let percent_used = erases.mean / f64::from(rated) * 100.0;
        Self { p50: at(50), p90: at(90), p99: at(99), erases, rated, percent_used }
    }
}

/// Sums by a key, in the order of the keys.
fn sums<K: Ord>(rows: &[SegmentRow], key: impl Fn(&SegmentRow) -> Option<K>) -> BTreeMap<K, (u32, u64)> {
    let mut sums = BTreeMap::new();
    for row in rows {
        if let Some(key) = key(row) {
            let (segments, valid_pages) = sums.entry(key).or_insert((0, 0));
            *segments += 1;
            *valid_pages += u64::from(row.valid_pages);
        }
    }
    sums
}

impl Disk {
    /// The properties and the state of the disk. Reads the whole map, and changes nothing.
    pub fn inspect(&mut self) -> Inspection {
        let (report, limits, rows) = (self.report(), self.limits(), self.segments());
        let good = rows.iter().filter(|row| row.state != SegmentState::Bad).map(|row| row.erases).collect();
        let states = sums(&rows, |row| Some(row.state)).into_iter();
        let classes = sums(&rows, |row| row.class).into_iter();
        Inspection {
            health: self.health(),
            image: self.path().map(ToOwned::to_owned),
            chip: self.chip_profile().clone(),
            engine: EngineChoices::of(self.plan()),
            capacity: Capacity {
                host_bytes: self.bytes(),
                page_bytes: self.page_bytes(),
                logical_pages: limits.logical_pages,
                physical_pages: limits.physical_pages,
                segments: limits.segments,
                pages_per_segment: limits.pages_per_segment,
                op: report.op,
                spare: report.spare,
            },
            map: MapUse {
                mapped_pages: report.live_pages,
                mapped: report.live_pages as f64 / limits.logical_pages as f64,
                utilization: report.utilization,
                table_bytes: limits.table_bytes,
                digest: report.map_digest,
            },
            states: states.map(|(state, (segments, valid_pages))| StateUse { state, segments, valid_pages }).collect(),
            classes: classes
                .map(|(class, (segments, valid_pages))| ClassUse {
                    class,
                    segments,
                    valid_pages,
                    streams: self.streams_of(class),
                })
                .collect(),
            wear: WearSpread::of(good, self.chip_profile().endurance_cycles),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_counts_that_occur() {
        let wear = WearSpread::of((1..=200).rev().collect(), 1000);
        assert_eq!((wear.erases.min, wear.p50, wear.p90, wear.p99, wear.erases.max), (1, 100, 180, 198, 200));
        assert_eq!(wear.percent_used, 10.05);
        assert_eq!((WearSpread::of(vec![], 10).p99, WearSpread::of(vec![7], 10).p50), (0, 7));
    }
}
