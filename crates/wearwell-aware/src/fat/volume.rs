//! One volume: the states of its clusters, and what is learned from a write to it.

use core::ops::Range;

use wearwell::{BlockDevice, FtlError, Sectors};

use super::boot::{BootError, FIRST_CLUSTER, Geometry, Width};
use super::table::{EntrySet, NO_ENTRIES, Window};
use crate::config::Mode;
use crate::directory::{Directories, DirectoryEntry};
use crate::source::{Passing, SECTOR, Source};
use crate::states::{State, States};

/// Why nothing is inferred for a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeError {
    /// A sector could not be read.
    #[error("sector {lba} cannot be read: {error}")]
    Read {
        /// The sector, or the first of the table it belongs to.
        lba: u64,
        /// What the device says.
        error: FtlError,
    },
    /// The first sector is not the boot sector of a FAT volume.
    #[error("the boot sector at LBA {lba}: {error}")]
    Boot {
        /// The sector.
        lba: u64,
        /// What is wrong with it.
        error: BootError,
    },
    /// An allocation table does not begin like one: it is not formatted yet, or no longer a table.
    #[error("the allocation table at LBA {lba} does not begin as one")]
    Table {
        /// Its first sector.
        lba: u64,
    },
    /// There is not enough memory for two bits a cluster.
    #[error("no memory for the states of {clusters} clusters")]
    Memory {
        /// Clusters of the volume.
        clusters: u32,
    },
}

/// The counters and the memory of all volumes.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Clusters that were young or old and became live again.
    pub(crate) cancelled: u64,
    /// Clusters that were dead and became live again.
    pub(crate) revived: u64,
    /// Clusters that became dead.
    pub(crate) committed: u64,
    /// Sectors read while dead.
    pub(crate) dead_reads: u64,
    pub(crate) directories: Directories,
}

/// A FAT or exFAT volume.
///
/// Invariant: a cluster that is not live was free in all active tables when it left that state, and neither it nor an
/// entry that shows it in use has been written since.
#[derive(Debug)]
pub(crate) struct Volume {
    pub(crate) geometry: Geometry,
    pub(crate) states: States,
    /// Its number among the volumes, used by the list of directories.
    pub(crate) number: u8,
}

/// The result of a write of a table sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Learned {
    /// The states are up to date.
    Known,
    /// The sector is no longer one of a table.
    NoTable,
}

impl Volume {
    /// Reads the tables of a volume. Clusters that are free in all tables are young, because it is not known since when
    /// they are free.
    pub(crate) fn open(geometry: Geometry, number: u8, source: &mut impl Source) -> Result<Self, VolumeError> {
        let clusters = geometry.clusters;
        let states = States::new(clusters).map_err(|_| VolumeError::Memory { clusters })?;
        let mut volume = Self { geometry, states, number };
        for index in 0..geometry.table_sectors {
            let range = Window::clusters(&geometry, index);
            // A table may be longer than its entries.
            if range.is_empty() && index > 0 {
                break;
            }
            volume.open_sector(source, index, range)?;
        }
        Ok(volume)
    }

    fn open_sector(&mut self, source: &mut impl Source, index: u64, range: Range<u32>) -> Result<(), VolumeError> {
        let mut free = NO_ENTRIES;
        for table in self.geometry.active_tables() {
            let lba = self.geometry.table_sector(table, index);
            let window =
                Window::read(&self.geometry, source, table, index).map_err(|error| VolumeError::Read { lba, error })?;
            if index == 0 && !window.begins_table(&self.geometry) {
                return Err(VolumeError::Table { lba });
            }
            let first_table = table == self.geometry.active_tables().start;
            // The first table begins the set, and others only take away from it.
            keep(&mut free, range.clone(), |cluster, was| (was || first_table) && window.entry(cluster) == 0);
        }
        for cluster in members(&free, range) {
            self.states.set(cluster - FIRST_CLUSTER, State::Young);
        }
        Ok(())
    }

    /// The clusters that have a sector in a range of sectors.
    pub(crate) fn clusters_in(&self, at: Sectors) -> Range<u32> {
        let g = &self.geometry;
        let start = at.start.max(g.data_start);
        let end = at.start.saturating_add(at.count).min(g.data_end());
        if start < end { g.cluster_of(start)..g.cluster_of(end - 1) + 1 } else { 0..0 }
    }

    /// The state of a cluster.
    pub(crate) fn state(&self, cluster: u32) -> State {
        self.states.get(cluster - FIRST_CLUSTER)
    }

    /// Learns from a write before it is passed on.
    pub(crate) fn learn<F: BlockDevice>(
        &mut self,
        passing: &mut Passing<'_, F>,
        mode: Mode,
        ledger: &mut Ledger,
    ) -> Result<Learned, FtlError> {
        let at = passing.at;
        // A write makes its cluster live whatever the tables say: they may be older than the write.
        for cluster in self.clusters_in(at) {
            self.make_live(cluster, ledger);
            self.note_directory(cluster, passing, ledger);
        }
        for table in self.geometry.active_tables() {
            let first = self.geometry.table_sector(table, 0);
            let start = at.start.max(first);
            let end = (at.start + at.count).min(first + self.geometry.table_sectors);
            for lba in start..end {
                if self.learn_table(passing, table, lba - first, mode, ledger)? == Learned::NoTable {
                    return Ok(Learned::NoTable);
                }
            }
        }
        Ok(Learned::Known)
    }

    fn make_live(&mut self, cluster: u32, ledger: &mut Ledger) {
        match self.states.set(cluster - FIRST_CLUSTER, State::Live) {
            State::Live => {}
            State::Young | State::Old => ledger.cancelled += 1,
            State::Dead => ledger.revived += 1,
        }
    }

    /// Learns from a sector of an active table before it is written.
    fn learn_table<F: BlockDevice>(
        &mut self,
        passing: &mut Passing<'_, F>,
        table: u8,
        index: u64,
        mode: Mode,
        ledger: &mut Ledger,
    ) -> Result<Learned, FtlError> {
        let new = Window::read(&self.geometry, passing, table, index)?;
        if index == 0 && !new.begins_table(&self.geometry) {
            return Ok(Learned::NoTable);
        }
        let range = Window::clusters(&self.geometry, index);
        let mut freed = NO_ENTRIES;
        keep(&mut freed, range.clone(), |cluster, _| {
            let next = new.entry(cluster);
            if next != 0 {
                self.make_live(cluster, ledger);
                // Marks of an end are no clusters, and exFAT's bits are not, either.
                if (FIRST_CLUSTER..self.geometry.cluster_end()).contains(&next) {
                    ledger.directories.follow(self.number, cluster, next);
                }
            }
            // A cluster that was free before keeps its age.
            next == 0 && self.state(cluster) == State::Live
        });
        // Where nothing was freed, no other table has to be read.
        if freed == NO_ENTRIES {
            return Ok(Learned::Known);
        }
        if mode == Mode::Paper {
            self.keep_zeroed(passing, table, index, &mut freed)?;
        } else {
            self.keep_free_elsewhere(passing, table, index, &mut freed)?;
        }
        for cluster in members(&freed, range) {
            // What the cluster holds next may be a file.
            ledger.directories.forget(self.number, cluster);
            // The `commit` right behind this write makes what is old dead.
            let state = if mode == Mode::Paper { State::Old } else { State::Young };
            self.states.set(cluster - FIRST_CLUSTER, state);
        }
        Ok(Learned::Known)
    }

    /// Keeps the entries that are free in all other active tables too.
    fn keep_free_elsewhere<F: BlockDevice>(
        &self,
        passing: &mut Passing<'_, F>,
        table: u8,
        index: u64,
        freed: &mut EntrySet,
    ) -> Result<(), FtlError> {
        for other in self.geometry.active_tables().filter(|&other| other != table) {
            // Read through the write, which may cover the other table as well.
            let window = Window::read(&self.geometry, passing, other, index)?;
            let range = Window::clusters(&self.geometry, index);
            keep(freed, range, |cluster, was| was && window.entry(cluster) == 0);
        }
        Ok(())
    }

    /// Keeps the entries that this write makes zero (FSAF '09, section 4.1: the table is read "prior to their zeroing
    /// out"). The paper considers only one table, the first.
    fn keep_zeroed<F: BlockDevice>(
        &self,
        passing: &mut Passing<'_, F>,
        table: u8,
        index: u64,
        freed: &mut EntrySet,
    ) -> Result<(), FtlError> {
        if table != self.geometry.active_tables().start {
            *freed = NO_ENTRIES;
            return Ok(());
        }
        let old = Window::read(&self.geometry, &mut passing.held(), table, index)?;
        let range = Window::clusters(&self.geometry, index);
        keep(freed, range, |cluster, was| was && old.entry(cluster) != 0);
        Ok(())
    }

    /// Remembers directories from a write to a cluster: this cluster, or the clusters that its entries name.
    fn note_directory<F: BlockDevice>(&self, cluster: u32, passing: &Passing<'_, F>, ledger: &mut Ledger) {
        let first = self.geometry.sector_of(cluster);
        let is_exfat = self.geometry.width == Width::ExFat;
        // exFAT has no such entries.
        if !is_exfat && passing.new_bytes(first).is_some_and(DirectoryEntry::begins_directory) {
            ledger.directories.add(self.number, cluster);
        }
        if ledger.directories.contains(self.number, cluster) {
            for lba in first..first + u64::from(self.geometry.cluster_sectors) {
                self.note_entries(passing.new_bytes(lba), ledger);
            }
        }
    }

    /// Remembers the directories that a sector of a directory names.
    pub(crate) fn note_entries(&self, sector: Option<&[u8]>, ledger: &mut Ledger) {
        let Some(sector) = sector else { return };
        let mut add = |cluster: u32| {
            if (FIRST_CLUSTER..self.geometry.cluster_end()).contains(&cluster) {
                ledger.directories.add(self.number, cluster);
            }
        };
        if self.geometry.width == Width::ExFat {
            DirectoryEntry::exfat_directories(sector).for_each(&mut add);
        } else {
            DirectoryEntry::directories(sector).for_each(&mut add);
        }
    }

    /// Makes the old clusters dead: discards their pages from the inner layer.
    ///
    /// A page at the end of a run is discarded too if the other clusters in it are dead, or old and about to be dead.
    pub(crate) fn commit<F: BlockDevice>(&mut self, inner: &mut F, ledger: &mut Ledger) -> Result<(), FtlError> {
        let page_sectors = u64::from(inner.page_bytes()) / SECTOR as u64;
        let mut from = 0;
        let mut done = 0;
        // The count ends the loop without a search behind the last run.
        while self.states.count(State::Old) > 0 {
            let Some(run) = self.states.next_run(from, State::Old) else { break };
            let g = &self.geometry;
            let (first, behind) = (g.sector_of(run.start + FIRST_CLUSTER), g.sector_of(run.end + FIRST_CLUSTER));
            let (floor, ceil) = (first / page_sectors * page_sectors, behind.next_multiple_of(page_sectors));
            let start = if self.is_going(floor, first) { floor } else { first.next_multiple_of(page_sectors) };
            let end = if self.is_going(behind, ceil) { ceil } else { behind / page_sectors * page_sectors };
            // The page at the border may have been discarded with the run before.
            let start = start.max(done);
            if start < end {
                inner.discard(Sectors { start, count: end - start })?;
                done = end;
            }
            // Only behind the discard: if that fails, the run stays old, and the next commit tries again.
            ledger.committed += u64::from(run.end - run.start);
            from = run.end;
            for place in run {
                self.states.set(place, State::Dead);
            }
        }
        Ok(())
    }

    /// True if all of these sectors belong to clusters that are dead or about to be dead.
    fn is_going(&self, start: u64, end: u64) -> bool {
        let g = &self.geometry;
        (start..end).all(|lba| {
            (g.data_start..g.data_end()).contains(&lba)
                && matches!(self.state(g.cluster_of(lba)), State::Old | State::Dead)
        })
    }

    /// Replaces sectors of dead clusters by zeros. Returns their number.
    pub(crate) fn blank(&self, at: Sectors, data: &mut [u8]) -> u64 {
        // Mostly nothing is dead, and then a read costs one comparison.
        if self.states.count(State::Dead) == 0 {
            return 0;
        }
        let end = at.start + at.count;
        let mut blanked = 0;
        for cluster in self.clusters_in(at).filter(|&cluster| self.state(cluster) == State::Dead) {
            let first = self.geometry.sector_of(cluster).max(at.start);
            let behind = self.geometry.sector_of(cluster + 1).min(end);
            blanked += behind - first;
            let bytes = (first - at.start) as usize * SECTOR..(behind - at.start) as usize * SECTOR;
            // Where bytes are only counted there are none.
            if let Some(bytes) = data.get_mut(bytes) {
                bytes.fill(0);
            }
        }
        blanked
    }
}

/// Updates a set: `wanted` decides for each entry of a sector, given whether it is in the set.
fn keep(set: &mut EntrySet, range: Range<u32>, mut wanted: impl FnMut(u32, bool) -> bool) {
    for (place, cluster) in range.enumerate() {
        let (word, bit) = (&mut set[place / 64], 1 << (place % 64));
        *word = if wanted(cluster, *word & bit != 0) { *word | bit } else { *word & !bit };
    }
}

/// The clusters in a set.
fn members(set: &EntrySet, range: Range<u32>) -> impl Iterator<Item = u32> {
    range.enumerate().filter(|(place, _)| set[place / 64] >> (place % 64) & 1 != 0).map(|(_, cluster)| cluster)
}
