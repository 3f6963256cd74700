//! The rules one by one, on sectors written by hand.

use fatfs::FatType;
use wearwell::{BlockDevice, Inspect, Sectors, WriteHint};
use wearwell_aware::{
    Aware, Config, Geometry, Kind, MAX_VOLUMES, Mode, NotUnderstood, PartitionError, State, Streams, VolumeError,
};

use crate::rig::{Chip, Disk, Engine, Format, SECOND_US, geometry_of};
use crate::spy::{Seen, Spy};

const PAGE_SECTORS: u64 = 4;

/// A FAT16 volume with clusters of 2 KiB, on pages of 2 KiB that are not aligned with them.
struct Rig {
    aware: Aware<Spy<Engine>>,
    g: Geometry,
    now_us: u64,
}

impl Rig {
    fn new(config: Config) -> Self {
        Self::on(Format::new(FatType::Fat16, 20_000, 2048), config)
    }

    fn on(format: Format, config: Config) -> Self {
        let image = format.image();
        let sectors = u64::from(format.sectors).next_multiple_of(PAGE_SECTORS);
        let engine = Chip { page_bytes: 2048, sectors }.format();
        let mut disk = Disk::behind(Aware::new(Spy::new(engine), config), 0);
        disk.put_image(&image);
        disk.pass(0);
        Self { aware: disk.ftl, g: geometry_of(&image), now_us: 0 }
    }

    fn write(&mut self, start: u64, data: &[u8]) {
        let at = Sectors { start, count: data.len() as u64 / 512 };
        self.aware.write(at, data, WriteHint::NONE).expect("no faults");
    }

    fn sector(&mut self, lba: u64) -> [u8; 512] {
        let mut sector = [0; 512];
        self.aware.read(Sectors { start: lba, count: 1 }, &mut sector).expect("no faults");
        sector
    }

    /// Sets entries of one table.
    fn set(&mut self, table: u64, entries: &[(u32, u16)]) {
        let lba = self.g.table_start + table * self.g.table_sectors;
        let mut sector = self.sector(lba);
        for &(cluster, value) in entries {
            sector[cluster as usize * 2..][..2].copy_from_slice(&value.to_le_bytes());
        }
        self.write(lba, &sector);
    }

    fn set_both(&mut self, entries: &[(u32, u16)]) {
        self.set(0, entries);
        self.set(1, entries);
    }

    fn lba(&self, cluster: u32) -> u64 {
        self.g.data_start + u64::from(cluster - 2) * u64::from(self.g.cluster_sectors)
    }

    fn state(&self, cluster: u32) -> State {
        self.aware.state_at(self.lba(cluster)).expect("a cluster")
    }

    fn put(&mut self, cluster: u32, byte: u8) {
        self.write(self.lba(cluster), &vec![byte; self.g.cluster_sectors as usize * 512]);
    }

    fn flush_after(&mut self, seconds: u64) {
        self.now_us += seconds * SECOND_US;
        self.aware.set_time_us(self.now_us);
        self.aware.flush().expect("no faults");
    }
}

const END: u16 = 0xFFFF;

#[test]
fn a_freed_cluster_lives_through_one_whole_epoch() {
    let mut rig = Rig::new(Config::DEFAULT);
    assert_eq!(rig.state(5), State::Young, "free at mount");
    rig.put(5, 1);
    rig.set_both(&[(5, END)]);
    rig.flush_after(300);
    assert_eq!(rig.state(5), State::Live);
    rig.set(0, &[(5, 0)]);
    assert_eq!(rig.state(5), State::Live, "the other table shows it in use");
    rig.set(1, &[(5, 0)]);
    assert_eq!(rig.state(5), State::Young);
    rig.flush_after(59);
    assert_eq!(rig.state(5), State::Young, "the epoch is not over");
    rig.flush_after(1);
    assert_eq!(rig.state(5), State::Old);
    rig.flush_after(59);
    assert_eq!(rig.state(5), State::Old);
    assert_eq!(rig.sector(rig.lba(5)), [1; 512]);
    rig.flush_after(1);
    assert_eq!(rig.state(5), State::Dead);
    assert_eq!(rig.sector(rig.lba(5)), [0; 512]);
    assert_eq!(rig.aware.counters().dead_sector_reads, 1);
    assert_eq!(rig.aware.counters().pending_clusters, 0);
}

#[test]
fn flushes_are_counted_too() {
    let mut rig = Rig::new(Config { flushes: 3, hold_us: 10 * SECOND_US, ..Config::DEFAULT });
    rig.flush_after(100);
    rig.flush_after(100);
    assert_eq!(rig.state(5), State::Young);
    rig.flush_after(0);
    assert_eq!(rig.state(5), State::Old);
}

#[test]
fn a_write_or_an_entry_in_any_table_makes_it_live() {
    for epochs in 0..3 {
        let expected = [State::Young, State::Old, State::Dead][epochs];
        for table in 0..3 {
            let mut rig = Rig::new(Config::DEFAULT);
            for _ in 0..epochs {
                rig.flush_after(60);
            }
            assert_eq!(rig.state(7), expected);
            match table {
                2 => rig.write(rig.lba(7) + 1, &[1; 512]),
                table => rig.set(table, &[(7, 9)]),
            }
            assert_eq!(rig.state(7), State::Live);
            let counters = rig.aware.counters();
            let counted = (counters.cancelled_clusters, counters.revived_clusters);
            assert_eq!(counted, if epochs == 2 { (0, 1) } else { (1, 0) });
            assert_eq!(rig.state(8), expected);
        }
    }
}

#[test]
fn dead_clusters_become_discards_of_whole_pages() {
    let mut rig = Rig::new(Config::DEFAULT);
    assert_ne!(rig.g.data_start % PAGE_SECTORS, 0, "clusters lie across pages");
    let used: Vec<(u32, u16)> = (2..=250).map(|cluster| (cluster, END)).collect();
    rig.set_both(&used);
    rig.flush_after(60);
    rig.flush_after(60);
    rig.aware.inner_mut().take();
    rig.set_both(&[(10, 0), (11, 0), (12, 0), (20, 0)]);
    rig.flush_after(60);
    rig.aware.inner_mut().take();
    rig.flush_after(60);
    let whole = |first: u32, last: u32| {
        let start = rig.lba(first).next_multiple_of(PAGE_SECTORS);
        Seen::Discard { start, count: rig.lba(last + 1) / PAGE_SECTORS * PAGE_SECTORS - start }
    };
    let expected = [whole(10, 12), Seen::Flush];
    assert_eq!(rig.aware.inner_mut().take(), expected, "one discard, and a flush behind it; 20 has no page to itself");
    assert_eq!((rig.state(12), rig.state(20)), (State::Dead, State::Dead));
    rig.set_both(&[(13, 0), (21, 0)]);
    rig.flush_after(60);
    rig.aware.inner_mut().take();
    rig.flush_after(60);
    let shared = [13, 21].map(|cluster| rig.lba(cluster) / PAGE_SECTORS * PAGE_SECTORS);
    let [first, second] = shared.map(|start| Seen::Discard { start, count: PAGE_SECTORS });
    assert_eq!(rig.aware.inner_mut().take(), [first, second, Seen::Flush], "pages shared with dead clusters");
}

#[test]
fn an_ordered_host_waits_for_two_flushes_and_no_time() {
    let mut rig = Rig::new(Config { mode: Mode::OrderedHost, ..Config::DEFAULT });
    rig.put(5, 1);
    rig.set_both(&[(5, END)]);
    rig.set_both(&[(5, 0)]);
    rig.flush_after(0);
    assert_eq!(rig.state(5), State::Old, "the table is durable only now");
    rig.flush_after(0);
    assert_eq!(rig.state(5), State::Dead);
}

#[test]
fn the_paper_kills_at_once_by_the_first_table() {
    let mut rig = Rig::new(Config { mode: Mode::Paper, ..Config::DEFAULT });
    rig.put(5, 1);
    rig.set(0, &[(5, END)]);
    rig.flush_after(600);
    rig.flush_after(600);
    assert_eq!(rig.state(6), State::Young, "it was never zeroed");
    rig.set(1, &[(5, 0)]);
    assert_eq!(rig.state(5), State::Live);
    rig.set(0, &[(5, 0)]);
    assert_eq!(rig.state(5), State::Dead);
    assert_eq!(rig.sector(rig.lba(5)), [0; 512]);
    rig.put(5, 2);
    rig.set(0, &[(5, 0)]);
    assert_eq!(rig.state(5), State::Live, "it was zero already");
}

/// A cluster is freed and reused before the host has written either change. Then the host writes the new data, an older
/// table that still shows the cluster free, and the newer table, with a flush between each two.
#[test]
fn data_before_an_older_table_survives_unless_it_is_the_paper() {
    for (mode, survives) in [(Mode::Strict, true), (Mode::Paper, false)] {
        let mut rig = Rig::new(Config { mode, ..Config::DEFAULT });
        // Three clusters. The middle one shares all of its pages with the others.
        let all = |value| [5, 6, 7].map(|cluster| (cluster, value));
        (5..8).for_each(|cluster| rig.put(cluster, 1));
        rig.set_both(&all(END));
        rig.flush_after(300);
        (5..8).for_each(|cluster| rig.put(cluster, 2));
        rig.flush_after(10);
        rig.set_both(&all(0));
        rig.flush_after(10);
        rig.set_both(&all(END));
        rig.flush_after(300);
        assert_eq!(rig.state(6), State::Live);
        assert!(rig.sector(rig.lba(6)) == if survives { [2; 512] } else { [0; 512] }, "{mode:?}");
    }
}

#[test]
fn without_the_time_nothing_becomes_dead() {
    let image = Format::new(FatType::Fat12, 2000, 512).image();
    let engine = Chip { page_bytes: 512, sectors: 2000 }.format();
    let mut disk = Disk::behind(Aware::new(engine, Config::DEFAULT), 0);
    disk.put_image(&image);
    for _ in 0..10 {
        disk.ftl.flush().expect("no faults");
    }
    disk.ftl.set_time_us(1 << 50);
    disk.ftl.flush().expect("no faults");
    let counters = disk.ftl.counters();
    assert_eq!((counters.committed_clusters, counters.pending_clusters), (0, u64::from(geometry_of(&image).clusters)));
}

#[test]
fn a_change_of_what_is_watched_forgets_everything_until_a_flush() {
    let format = Format::new(FatType::Fat32, 70_000, 512);
    let mut rig = Rig::on(format, Config::DEFAULT);
    for lba in [0, u64::from(rig.g.backup_boot)] {
        rig.flush_after(60);
        rig.flush_after(60);
        assert_eq!(rig.state(9), State::Dead);
        let sector = rig.sector(lba);
        rig.write(lba, &sector);
        assert_eq!(rig.aware.state_at(rig.lba(9)), None);
        assert_eq!(rig.aware.volumes().count(), 0);
        rig.flush_after(1000);
        assert_eq!(rig.state(9), State::Young);
        assert_eq!(rig.state(2), State::Live, "the root directory");
    }
    rig.aware.discard(Sectors { start: rig.g.table_start + 8, count: 4 }).expect("no faults");
    assert_eq!(rig.aware.volumes().count(), 0, "a table was discarded");
}

#[test]
fn a_table_that_is_none_any_more_ends_inference_until_it_is_one_again() {
    let mut rig = Rig::new(Config::DEFAULT);
    let lba = rig.g.table_start;
    let table = rig.sector(lba);
    rig.write(lba, &[0; 512]);
    assert_eq!(rig.aware.volumes().count(), 0);
    rig.flush_after(0);
    assert_eq!(rig.aware.not_understood(), Some(NotUnderstood::Volume(VolumeError::Table { lba })));
    rig.write(lba, &table);
    rig.flush_after(0);
    assert_eq!((rig.aware.volumes().count(), rig.aware.not_understood()), (1, None));
}

#[test]
fn kinds_give_streams_where_the_host_gave_none() {
    let mut rig = Rig::new(Config::DEFAULT);
    let g = rig.g;
    let kinds =
        [(0, Kind::Boot), (g.table_start, Kind::Table), (g.root_start, Kind::Directory), (rig.lba(9), Kind::Data)];
    for (lba, kind) in kinds {
        assert_eq!(rig.aware.kind_at(lba), Some(kind));
    }
    assert_eq!(rig.aware.kind_at(g.data_end()), None);
    rig.aware.inner_mut().take();
    let all = vec![7; (rig.lba(9) - g.root_start) as usize * 512];
    rig.write(g.root_start, &all);
    let cut = g.data_start.next_multiple_of(PAGE_SECTORS);
    let expected = [
        Seen::Write { start: g.root_start, count: cut - g.root_start, stream: Streams::DEFAULT.directory },
        Seen::Write { start: cut, count: rig.lba(9) - cut, stream: Streams::DEFAULT.data },
    ];
    assert_eq!(rig.aware.inner_mut().take(), expected);
    let at = Sectors { start: g.root_start, count: 1 };
    rig.aware.write(at, &[0; 512], WriteHint::stream(4)).expect("no faults");
    assert_eq!(rig.aware.inner_mut().take(), [Seen::Write { start: g.root_start, count: 1, stream: 4 }]);
    let mut none = Rig::new(Config { streams: Streams::NONE, ..Config::DEFAULT });
    none.aware.inner_mut().take();
    none.write(g.root_start, &[0; 512]);
    assert_eq!(none.aware.inner_mut().take(), [Seen::Write { start: g.root_start, count: 1, stream: 0 }]);
}

#[test]
fn directories_are_known_by_what_passes() {
    let mut rig = Rig::new(Config::DEFAULT);
    let mut entry = [0; 512];
    entry[..11].copy_from_slice(b"SUB        ");
    (entry[11], entry[26]) = (0x10, 30);
    rig.write(rig.g.root_start, &entry);
    assert_eq!(rig.aware.kind_at(rig.lba(30) + 3), Some(Kind::Directory), "named by an entry of the root");
    let mut dots = [0; 512];
    dots[..11].copy_from_slice(b".          ");
    dots[32..43].copy_from_slice(b"..         ");
    (dots[11], dots[43]) = (0x10, 0x10);
    rig.write(rig.lba(40), &dots);
    assert_eq!(rig.aware.kind_at(rig.lba(40)), Some(Kind::Directory), "begins as one");
    rig.set_both(&[(40, 41), (41, END)]);
    assert_eq!(rig.aware.kind_at(rig.lba(41)), Some(Kind::Directory), "goes on there");
    rig.set_both(&[(40, 0), (41, 0)]);
    assert_eq!(rig.aware.kind_at(rig.lba(41)), Some(Kind::Data));
    let fat32 = Rig::on(Format::new(FatType::Fat32, 70_000, 512), Config::DEFAULT);
    assert_eq!(fat32.aware.kind_at(fat32.lba(2)), Some(Kind::Directory), "the root of FAT32");
}

#[test]
fn memory_is_two_bits_a_cluster_and_less_than_a_kibibyte() {
    let rig = Rig::on(Format::new(FatType::Fat32, 70_000, 512), Config::DEFAULT);
    let states = u64::from(rig.g.clusters) / 4;
    let bytes = rig.aware.table_bytes();
    assert!(bytes > states && bytes < states + 1024, "{bytes} bytes for {} clusters", rig.g.clusters);
    let limits = rig.aware.limits();
    assert_eq!(limits.table_bytes, rig.aware.inner().limits().table_bytes + bytes);
}

#[test]
fn as_many_volumes_as_there_can_be_fit_into_the_same_memory() {
    let format = Format::new(FatType::Fat12, 400, 512);
    let engine = Chip { page_bytes: 512, sectors: 4000 }.format();
    let mut disk = Disk::behind(Aware::new(engine, Config::DEFAULT), 0);
    let mut table = [0; 512];
    for slot in 0..MAX_VOLUMES as u32 {
        let entry = &mut table[446 + slot as usize * 16..][..16];
        entry[4] = 0x01;
        entry[8..12].copy_from_slice(&(1 + slot * 500).to_le_bytes());
        entry[12..].copy_from_slice(&400_u32.to_le_bytes());
    }
    table[510..].copy_from_slice(&[0x55, 0xAA]);
    disk.ftl.write(Sectors { start: 0, count: 1 }, &table, WriteHint::NONE).expect("no faults");
    for slot in 0..MAX_VOLUMES as u64 {
        for (sector, bytes) in (1 + slot * 500..).zip(format.image().chunks(512)) {
            disk.ftl.write(Sectors { start: sector, count: 1 }, bytes, WriteHint::NONE).expect("no faults");
        }
    }
    disk.ftl.flush().expect("no faults");
    let clusters: u64 = disk.ftl.volumes().map(|g| u64::from(g.clusters)).sum();
    assert_eq!(disk.ftl.volumes().count(), MAX_VOLUMES);
    assert!(disk.ftl.table_bytes() < clusters / 4 + 1024, "{} bytes", disk.ftl.table_bytes());
}

#[test]
fn a_volume_under_a_partition_table_is_left_alone() {
    let mut rig = Rig::new(Config::DEFAULT);
    let mut boot = rig.sector(0);
    boot[446 + 4] = 0x83;
    (boot[446 + 8], boot[446 + 13]) = (64, 1);
    rig.write(0, &boot);
    rig.flush_after(0);
    assert_eq!(rig.aware.not_understood(), Some(NotUnderstood::Partitions(PartitionError::Ambiguous)));
    assert_eq!(rig.aware.volumes().count(), 0);
}
