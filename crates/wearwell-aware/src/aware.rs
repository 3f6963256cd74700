//! The layer.

use alloc::vec::Vec;

use wearwell::{BlockDevice, FtlError, Inspect, Limits, Lookup, Lpn, Ppn, SECTOR_BYTES, Sectors, Stats, WriteHint};

use crate::config::{Config, Mode, Streams};
use crate::ext::{self, ExtError, Found};
use crate::fat::{Geometry, Learned, Ledger, Volume, VolumeError, Width, exfat};
use crate::partition::{self, Holds, Layout, MAX_VOLUMES, Partition, PartitionError, Watch};
use crate::source::{Held, Passing, SECTOR, Source};
use crate::states::State;

/// What a sector holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Partition table, boot sector, its backup, and everything else before the allocation tables.
    Boot,
    /// Allocation table.
    Table,
    /// Root directory of FAT12 and FAT16; clusters of other directories as far as they are known.
    Directory,
    /// Everything else in a FAT volume.
    Data,
    /// The journal of ext3 or ext4, with the blocks that map it.
    Journal,
}

/// Why nothing is inferred for a part of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotUnderstood {
    /// The partition table.
    #[error(transparent)]
    Partitions(#[from] PartitionError),
    /// A FAT volume.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// A volume in a partition of Linux's type, or in none.
    #[error("the volume at LBA {start}: {error}")]
    Ext {
        /// Where it would begin.
        start: u64,
        /// What is wrong with it.
        error: ExtError,
    },
}

/// Counters of the inference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Clusters that are young or old now.
    pub pending_clusters: u64,
    /// Clusters that are dead now.
    pub dead_clusters: u64,
    /// Times a cluster became dead.
    pub committed_clusters: u64,
    /// Times a young or old cluster became live again, because it was written or a table showed it in use.
    pub cancelled_clusters: u64,
    /// Times a dead cluster became live again.
    pub revived_clusters: u64,
    /// Sectors read while dead.
    pub dead_sector_reads: u64,
    /// Times everything was read, the first time included.
    pub rebuilds: u64,
}

/// A [`BlockDevice`] in front of another. It infers from the file systems which sectors are dead, and discards them.
/// See the [crate](crate).
#[derive(Debug)]
pub struct Aware<F> {
    inner: F,
    config: Config,
    volumes: Vec<Volume>,
    journals: Vec<ext::Volume>,
    watch: Watch,
    ledger: Ledger,
    rebuilds: u64,
    not_understood: Option<NotUnderstood>,
    /// True from a change of watched sectors to the end of the next flush. There are no volumes then.
    frozen: bool,
    now_us: Option<u64>,
    epoch_us: Option<u64>,
    epoch_flushes: u32,
}

impl<F: BlockDevice> Aware<F> {
    /// Reads the partition tables and allocation tables of a device. Parts that it does not understand are not
    /// inferred.
    pub fn new(inner: F, config: Config) -> Self {
        let mut aware = Self {
            inner,
            config,
            volumes: Vec::new(),
            journals: Vec::new(),
            watch: Watch::default(),
            ledger: Ledger::default(),
            rebuilds: 0,
            not_understood: None,
            frozen: true,
            now_us: None,
            epoch_us: None,
            epoch_flushes: 0,
        };
        aware.rebuild();
        aware
    }

    /// The layer below.
    pub fn inner(&self) -> &F {
        &self.inner
    }

    /// The layer below. Writes made to it directly are not seen.
    pub fn inner_mut(&mut self) -> &mut F {
        &mut self.inner
    }

    /// Returns the layer below.
    pub fn into_inner(self) -> F {
        self.inner
    }

    /// The FAT and exFAT volumes, for which dead clusters are inferred.
    pub fn volumes(&self) -> impl Iterator<Item = &Geometry> {
        self.volumes.iter().map(|volume| &volume.geometry)
    }

    /// The known journals of ext3 and ext4.
    pub fn journals(&self) -> impl Iterator<Item = Sectors> {
        self.journals.iter().flat_map(ext::Volume::journal)
    }

    /// The last thing that was not understood, if any.
    pub fn not_understood(&self) -> Option<NotUnderstood> {
        self.not_understood
    }

    /// Counters of the inference.
    pub fn counters(&self) -> Counters {
        let count = |state| self.volumes.iter().map(|v| u64::from(v.states.count(state))).sum::<u64>();
        Counters {
            pending_clusters: count(State::Young) + count(State::Old),
            dead_clusters: count(State::Dead),
            committed_clusters: self.ledger.committed,
            cancelled_clusters: self.ledger.cancelled,
            revived_clusters: self.ledger.revived,
            dead_sector_reads: self.ledger.dead_reads,
            rebuilds: self.rebuilds,
        }
    }

    /// The state of the cluster that a sector lies in; none outside the clusters of known volumes.
    pub fn state_at(&self, lba: u64) -> Option<State> {
        let data = |v: &&Volume| (v.geometry.data_start..v.geometry.data_end()).contains(&lba);
        self.volumes.iter().find(data).map(|v| v.state(v.geometry.cluster_of(lba)))
    }

    /// The kind of a sector; none if it is not known.
    pub fn kind_at(&self, lba: u64) -> Option<Kind> {
        self.kind_run(lba).0
    }

    /// Bytes of memory of all state, without the buffers of a call in progress.
    pub fn table_bytes(&self) -> u64 {
        let states: u64 = self.volumes.iter().map(|v| v.states.bytes()).sum();
        let volumes =
            self.volumes.capacity() * size_of::<Volume>() + self.journals.capacity() * size_of::<ext::Volume>();
        (size_of::<Self>() - size_of::<F>() + volumes) as u64 + states
    }

    /// Forgets everything until the next flush.
    #[cold]
    fn freeze(&mut self) {
        self.frozen = true;
        self.volumes.clear();
        self.journals.clear();
        self.ledger.directories.clear();
    }

    /// Reads everything again.
    fn rebuild(&mut self) {
        // Volumes get their numbers anew, so the directories that are known by old numbers must go.
        self.freeze();
        self.frozen = false;
        self.rebuilds += 1;
        self.not_understood = None;
        self.epoch_us = self.now_us;
        self.epoch_flushes = 0;
        let mut layout = Layout::default();
        if let Err(error) = partition::find(&mut Held(&mut self.inner), &mut layout) {
            self.not_understood = Some(error.into());
        }
        // Also behind an error, which a write to one of these sectors may end.
        self.watch = layout.watch;
        let mut seen = 0;
        for partition in layout.partitions.as_slice().iter().filter(|partition| partition.holds == Holds::Fat) {
            match self.geometry(*partition).and_then(|geometry| {
                // Counted before it is opened: a volume without tables yet takes its room among the watched sectors,
                // too.
                seen += 1;
                self.open(geometry)
            }) {
                Ok(volume) => {
                    // Exactly, since `table_bytes` counts the capacity.
                    self.volumes.reserve_exact(1);
                    self.volumes.push(volume);
                }
                Err(error) => self.not_understood = Some(error.into()),
            }
            if seen == MAX_VOLUMES {
                break;
            }
        }
        if self.config.streams != Streams::NONE {
            layout.partitions.retain(|partition| partition.holds == Holds::Linux);
            self.find_journals(layout.partitions.as_slice(), MAX_VOLUMES - seen);
        }
    }

    /// Looks for at most `room` volumes with journals.
    fn find_journals(&mut self, partitions: &[Partition], room: usize) {
        for partition in partitions {
            if self.journals.len() == room {
                break;
            }
            let start = partition.start;
            match ext::Volume::find(&mut Held(&mut self.inner), start, partition.sectors) {
                Found::Journal(volume) => {
                    self.journals.reserve_exact(1);
                    self.journals.push(volume);
                }
                Found::None => {}
                // It may be formatted later. Then its first sector is written too.
                Found::Nothing(error) => {
                    self.watch.point(start);
                    if error != ExtError::NoSuperblock {
                        self.not_understood = Some(NotUnderstood::Ext { start, error });
                    }
                }
            }
        }
    }

    fn geometry(&mut self, partition: Partition) -> Result<Geometry, VolumeError> {
        let lba = partition.start;
        let mut sector = [0; SECTOR];
        Held(&mut self.inner).read(lba, &mut sector).map_err(|error| VolumeError::Read { lba, error })?;
        if exfat::has_name(&sector) {
            return exfat::find(&mut Held(&mut self.inner), &sector, lba, partition.sectors);
        }
        Geometry::parse(&sector, lba, partition.sectors).map_err(|error| VolumeError::Boot { lba, error })
    }

    /// Reads the tables of a volume. The sectors to watch are noted even after an error.
    fn open(&mut self, geometry: Geometry) -> Result<Volume, VolumeError> {
        if geometry.backup_boot > 0 {
            self.watch.point(geometry.start + u64::from(geometry.backup_boot));
        }
        // Its place in the list, which is short (`MAX_VOLUMES`), so the number fits.
        let number = self.volumes.len() as u8;
        let opened = Volume::open(geometry, number, &mut Held(&mut self.inner));
        match opened {
            Ok(_) if geometry.root_cluster > 0 => self.ledger.directories.add(number, geometry.root_cluster),
            // It may be in the middle of a format.
            Err(VolumeError::Table { .. }) => self.watch.range(geometry.table_start, geometry.root_start),
            _ => {}
        }
        opened
    }

    /// Learns from a write before it is passed on. False if the state is in doubt now.
    fn learn(&mut self, at: Sectors, data: &[u8]) -> bool {
        let mut passing = Passing { inner: &mut self.inner, at, data };
        for volume in &mut self.volumes {
            if volume.learn(&mut passing, self.config.mode, &mut self.ledger) != Ok(Learned::Known) {
                // What other volumes have learned is forgotten with all the rest.
                return false;
            }
            let g = &volume.geometry;
            // The root directory of FAT12 and FAT16 lies in no cluster, so the volume has not looked at it.
            for lba in at.start.max(g.root_start)..(at.start + at.count).min(g.data_start) {
                volume.note_entries(passing.new_bytes(lba), &mut self.ledger);
            }
        }
        true
    }

    /// True if a change of these sectors puts the state in doubt.
    fn is_doubtful(&self, at: Sectors) -> bool {
        self.watch.hits(at)
    }

    /// The same for a write. Some fields of exFAT's boot sector change with use (whether the volume is in use, how full
    /// it is) and are ignored.
    fn puts_in_doubt(&mut self, at: Sectors, data: &[u8]) -> bool {
        if !self.is_doubtful(at) {
            return false;
        }
        let is_exfat = self.volumes.iter().any(|v| v.geometry.width == Width::ExFat && v.geometry.start == at.start);
        // Only the boot sector itself may change so. A write that covers another watched sector is in doubt.
        if !is_exfat || self.is_doubtful(Sectors { start: at.start + 1, count: at.count - 1 }) {
            return true;
        }
        let mut held = [0; SECTOR];
        let read = Held(&mut self.inner).read(at.start, &mut held);
        read.is_err() || !data.get(..SECTOR).is_some_and(|new| exfat::differ_in_use_only(new, &held))
    }

    /// True if writes need not be examined.
    fn sees_nothing(&self) -> bool {
        self.frozen || (self.volumes.is_empty() && self.journals.is_empty())
    }

    // Not inlined, so that a device without volumes does not pay for it.
    #[inline(never)]
    fn write_seen(&mut self, at: Sectors, data: &[u8], hint: WriteHint) -> Result<(), FtlError> {
        // The layer below refuses a write that is not both, and the arithmetic on sectors must not see it.
        let is_whole = data.len() as u64 == at.count.saturating_mul(u64::from(SECTOR_BYTES));
        let is_on_device = at.end().is_some_and(|end| end <= self.inner.sectors());
        self.journals.iter_mut().for_each(|volume| volume.note(at));
        // Learned before the write, while the device still holds what the write replaces.
        let known = is_whole && is_on_device && !self.puts_in_doubt(at, data) && self.learn(at, data);
        let written = if known { self.write_by_kind(at, data, hint) } else { self.inner.write(at, data, hint) };
        // Behind a write that failed nobody knows what the sectors hold.
        if !known || written.is_err() {
            self.freeze();
        } else if self.config.mode == Mode::Paper {
            self.commit()?;
        }
        written
    }

    /// Passes a write on, split where the kind changes, with the stream of each kind. Splits lie between pages.
    fn write_by_kind(&mut self, at: Sectors, data: &[u8], hint: WriteHint) -> Result<(), FtlError> {
        if hint.stream != 0 || self.config.streams == Streams::NONE {
            return self.inner.write(at, data, hint);
        }
        let page_sectors = u64::from(self.inner.page_bytes() / SECTOR_BYTES);
        let end = at.start + at.count;
        let (mut start, mut rest) = (at.start, data);
        while start < end {
            let (kind, mut cut) = self.kind_run(start);
            // Adjacent runs of one kind stay together.
            while cut < end {
                // A page of two kinds goes where its first sector goes. `cut` lies on the device here, so the multiple
                // does not wrap.
                cut = cut.next_multiple_of(page_sectors);
                let (next, next_cut) = self.kind_run(cut);
                if next != kind {
                    break;
                }
                cut = next_cut;
            }
            let count = cut.min(end) - start;
            let (part, behind) = rest.split_at(count as usize * SECTOR);
            let mut hint = hint;
            hint.stream = self.stream_of(kind);
            self.inner.write(Sectors { start, count }, part, hint)?;
            (start, rest) = (start + count, behind);
        }
        Ok(())
    }

    fn stream_of(&self, kind: Option<Kind>) -> u16 {
        let streams = &self.config.streams;
        match kind {
            Some(Kind::Boot) => streams.boot,
            Some(Kind::Table) => streams.table,
            Some(Kind::Directory) => streams.directory,
            Some(Kind::Data) => streams.data,
            Some(Kind::Journal) => streams.journal,
            None => 0,
        }
    }

    /// The kind of a sector, and a later sector up to which all have the same kind.
    fn kind_run(&self, lba: u64) -> (Option<Kind>, u64) {
        if self.watch.hits(Sectors { start: lba, count: 1 }) {
            return (Some(Kind::Boot), lba + 1);
        }
        // Runs end before a watched sector, whose kind is another.
        let limit = self.watch.next_after(lba);
        if let Some(volume) = self.journals.iter().find(|v| (v.start..v.end()).contains(&lba)) {
            let (is_journal, end) = volume.journal_run(lba);
            return (is_journal.then_some(Kind::Journal), end.min(limit));
        }
        let Some(volume) = self.volumes.iter().find(|v| (v.geometry.start..v.geometry.data_end()).contains(&lba))
        else {
            // Sectors of no known volume reach to the next one.
            let starts = self.volumes.iter().map(|v| v.geometry.start).chain(self.journals.iter().map(|v| v.start));
            return (None, starts.filter(|&start| start > lba).min().unwrap_or(u64::MAX).min(limit));
        };
        let g = &volume.geometry;
        if g.width == Width::ExFat && (g.table_start..g.tables_end()).contains(&lba) {
            return (Some(Kind::Table), g.tables_end().min(limit));
        }
        let (kind, end) = if g.width == Width::ExFat && lba < g.data_start {
            // Behind the backup there is only the table that chains clusters.
            let boot_end = g.start + 2 * u64::from(g.backup_boot);
            if lba < boot_end { (Kind::Boot, boot_end) } else { (Kind::Table, g.data_start) }
        } else if g.width != Width::ExFat && lba < g.table_start {
            (Kind::Boot, g.table_start)
        } else if lba < g.root_start {
            (Kind::Table, g.root_start)
        } else if lba < g.data_start {
            (Kind::Directory, g.data_start)
        } else {
            let (cluster, known) = (g.cluster_of(lba), &self.ledger.directories);
            if known.contains(volume.number, cluster) {
                (Kind::Directory, g.sector_of(cluster + 1))
            } else {
                let next = known.next_after(volume.number, cluster);
                let end = next.map_or(g.data_end(), |next| g.sector_of(next));
                // exFAT's bitmap lies among the clusters, and ends a run of data before it.
                let is_before = g.width == Width::ExFat && lba < g.table_start;
                (Kind::Data, if is_before { end.min(g.table_start) } else { end })
            }
        };
        (Some(kind), end.min(limit))
    }

    /// Makes the old clusters dead.
    fn commit(&mut self) -> Result<(), FtlError> {
        self.volumes.iter_mut().try_for_each(|volume| volume.commit(&mut self.inner, &mut self.ledger))
    }

    /// True if the flush in progress ends an epoch.
    fn ends_epoch(&self) -> bool {
        match self.config.mode {
            Mode::Paper => false,
            Mode::OrderedHost => true,
            Mode::Strict => {
                let elapsed_us = match (self.epoch_us, self.now_us) {
                    // With a clock that was set back no time has passed.
                    (Some(then), Some(now)) => now.saturating_sub(then),
                    // Without the time only a HOLD of 0 is over.
                    _ => 0,
                };
                // This flush is counted already. So a least number of 0 counts as 1.
                self.epoch_flushes >= self.config.flushes && elapsed_us >= self.config.hold_us
            }
        }
    }

    /// A flush with inference. Old clusters were seen free in tables that an earlier flush made durable. So their
    /// discards may go first, and this flush makes them durable.
    fn flush_seen(&mut self) -> Result<(), FtlError> {
        self.epoch_flushes = self.epoch_flushes.saturating_add(1);
        let ends = self.ends_epoch();
        let committed = if ends { self.commit() } else { Ok(()) };
        // The error of a discard waits: what was written has to be durable all the same.
        self.inner.flush()?;
        if ends {
            // Only now is the table durable that shows these clusters free.
            self.volumes.iter_mut().for_each(|volume| volume.states.age());
            self.epoch_us = self.now_us;
            self.epoch_flushes = 0;
        }
        self.find_moved_journals();
        committed
    }

    /// Finds journals again that may have been moved.
    fn find_moved_journals(&mut self) {
        let mut place = 0;
        while let Some(known) = self.journals.get_mut(place) {
            if known.is_stale {
                let (start, sectors) = (known.start, known.sectors);
                match ext::Volume::find(&mut Held(&mut self.inner), start, sectors) {
                    Found::Journal(volume) => *known = volume,
                    // Everything is read again then, as at a mount.
                    _ => return self.rebuild(),
                }
            }
            place += 1;
        }
    }
}

impl<F: BlockDevice> BlockDevice for Aware<F> {
    fn sectors(&self) -> u64 {
        self.inner.sectors()
    }

    fn page_bytes(&self) -> u32 {
        self.inner.page_bytes()
    }

    fn read(&mut self, at: Sectors, data: &mut [u8]) -> Result<(), FtlError> {
        self.inner.read(at, data)?;
        // Behind the read, which has refused a range that is not on the device.
        for volume in &self.volumes {
            self.ledger.dead_reads += volume.blank(at, data);
        }
        Ok(())
    }

    #[inline]
    fn write(&mut self, at: Sectors, data: &[u8], hint: WriteHint) -> Result<(), FtlError> {
        if !self.sees_nothing() {
            return self.write_seen(at, data, hint);
        }
        // Also a device of which nothing is known may be formatted.
        if !self.frozen && self.is_doubtful(at) {
            self.freeze();
        }
        self.inner.write(at, data, hint)
    }

    #[inline]
    fn write_page(&mut self, lpn: Lpn, data: &[u8], hint: WriteHint) -> Result<(), FtlError> {
        let at = lpn.sectors(self.inner.page_bytes());
        if self.sees_nothing() && !self.is_doubtful(at) {
            return self.inner.write_page(lpn, data, hint);
        }
        self.write(at, data, hint)
    }

    /// Passed on. States do not change: the host's tables say which clusters are free.
    fn discard(&mut self, at: Sectors) -> Result<(), FtlError> {
        // Only the layer below checks the range, and that comes later.
        let end = at.start.saturating_add(at.count);
        let is_table = |v: &Volume| at.start < v.geometry.tables_end() && v.geometry.table_start < end;
        // A table that is discarded reads as zeros, and would call every cluster free.
        if self.is_doubtful(at) || self.volumes.iter().any(is_table) {
            self.freeze();
        }
        self.journals.iter_mut().for_each(|volume| volume.note(at));
        self.inner.discard(at)
    }

    fn flush(&mut self) -> Result<(), FtlError> {
        if !self.frozen {
            return self.flush_seen();
        }
        self.inner.flush()?;
        self.rebuild();
        Ok(())
    }

    fn clean(&mut self, budget_pages: u32) -> Result<bool, FtlError> {
        self.inner.clean(budget_pages)
    }

    fn set_time_us(&mut self, now_us: u64) {
        self.now_us = Some(now_us);
        // An epoch that began before the time was set begins now.
        self.epoch_us = self.epoch_us.or(self.now_us);
        self.inner.set_time_us(now_us);
    }

    fn shutdown(&mut self) -> Result<(), FtlError> {
        self.inner.shutdown()
    }
}

impl<F: BlockDevice + Inspect> Inspect for Aware<F> {
    fn stats(&self) -> &Stats {
        self.inner.stats()
    }

    fn reset_stats(&mut self) {
        self.inner.reset_stats();
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.inner.erase_counts()
    }

    fn limits(&self) -> Limits {
        let inner = self.inner.limits();
        Limits { table_bytes: inner.table_bytes + self.table_bytes(), ..inner }
    }
}

impl<F: BlockDevice + Lookup> Lookup for Aware<F> {
    fn lookup(&self, lpn: Lpn) -> Ppn {
        self.inner.lookup(lpn)
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.inner.holds(lpn)
    }
}
